/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process has no capability, few system calls, and opens a path only from the folder that it
 * was found in at the start, through no link and not out of it. Where the kernel has Landlock, that
 * holds it to the same folders.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../backend/lib/file.h"
#include "helper.h"
#include "privileges.h"
#include "writer.h"

#define TEXT_MAX (64 << 10)
#define KEPT	 (GT_FILE_OPS + 0u) /* an op of its own */

/* What the daemon asks; the text of KEPT follows in a packet of its own */
struct request {
	uint32_t op;
	int32_t flags;
	uint32_t len;
	char path[PATH_MAX];
};

/* @ret: 0 or -errno; a descriptor comes with it, and then a second answer */
struct answer {
	int32_t ret;
	bool landlocked;
	char why[256];
};

/* The process -----------------------------------------------------------------------------------
 */

/**
 * struct place - what may be written: @path, and unless it is a @file all that is in it
 * @real: where it is, through links that are there at the start
 * @dir: the folder that @path is in, as that may come again with a module; -1: @path was not there
 * yet, and may come with a mount
 */
struct place {
	char path[PATH_MAX], real[PATH_MAX];
	size_t len;
	int dir;
	bool file;
};

static struct place places[GT_WRITER_PLACES];
static unsigned int nplaces;
static const char *kept_name, *kept_path;

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folder that @path is in */
static int open_parent(const char *path)
{
	char parent[PATH_MAX];

	snprintf(parent, sizeof(parent), "%.*s.", (int)(base_of(path) - path), path);
	return open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void add_place(const char *path)
{
	struct place *p = &places[nplaces];
	struct stat st;

	if (nplaces == GT_WRITER_PLACES || snprintf(p->path, PATH_MAX, "%s", path) >= PATH_MAX)
		return;
	nplaces++;
	p->len = strlen(p->path);
	while (p->len > 1 && p->path[p->len - 1] == '/')
		p->path[--p->len] = '\0';
	p->dir = -1;
	if (!realpath(p->path, p->real) || stat(p->real, &st)) {
		memcpy(p->real, p->path, p->len + 1);
		return;
	}
	p->file = !S_ISDIR(st.st_mode);
	p->dir = open_parent(p->real);
}

/* openat2(2) itself: through no link, and not out of the folder */
static int beneath(int dir, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC),
				.mode = flags & O_CREAT ? 0600 : 0,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Makes or removes folder @path */
static int folder(int dir, const char *path, enum gt_file_op op)
{
	const char *name = base_of(path);
	char parent[PATH_MAX];
	int at, ret;

	snprintf(parent, sizeof(parent), "%.*s.", (int)(name - path), path);
	at = beneath(dir, parent, O_PATH | O_DIRECTORY);
	if (at < 0)
		return at;
	ret = op == GT_FILE_MKDIR ? mkdirat(at, name, 0750) : unlinkat(at, name, AT_REMOVEDIR);
	ret = ret ? -errno : 0;
	close(at);
	return ret;
}

static int perform_at(int dir, const char *path, enum gt_file_op op, int flags)
{
	const int fine = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NONBLOCK | O_NOFOLLOW |
			 O_NOCTTY | O_CLOEXEC;

	if (op != GT_FILE_OPEN)
		return folder(dir, path, op);
	if ((flags & O_ACCMODE) != O_WRONLY || (flags & ~fine))
		return -EINVAL;
	return beneath(dir, path, flags);
}

static int perform_in(const struct place *p, const char *rest, enum gt_file_op op, int flags)
{
	const char *name = base_of(p->real);
	int dir = p->dir < 0 ? open_parent(p->real) : p->dir, top, ret;

	if (dir < 0)
		return -errno;
	if (!*rest) {
		ret = op == GT_FILE_OPEN ? perform_at(dir, name, op, flags) : -EACCES;
	} else {
		top = beneath(dir, name, O_PATH | O_DIRECTORY);
		ret = top < 0 ? top : perform_at(top, rest + 1, op, flags);
		if (top >= 0)
			close(top);
	}
	if (p->dir < 0)
		close(dir);
	return ret;
}

/* A descriptor, 0, or -errno */
static int perform(const char *path, enum gt_file_op op, int flags)
{
	if (op >= GT_FILE_OPS)
		return -EINVAL;
	for (unsigned int i = 0; i < nplaces; i++) {
		const char *rest = path + places[i].len;

		if (!strncmp(path, places[i].path, places[i].len) &&
		    (!*rest || (*rest == '/' && !places[i].file)))
			return perform_in(&places[i], rest, op, flags);
	}
	return -EACCES;
}

static int write_all(int fd, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, text + at, len - at);

		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	return fsync(fd) ? -errno : 0;
}

static int replace(int dir, const char *name, const char *text, size_t len)
{
	char next[NAME_MAX + 1];
	int fd, ret;

	if (snprintf(next, sizeof(next), "%s.new", name) >= (int)sizeof(next))
		return -ENAMETOOLONG;
	unlinkat(dir, next, 0);
	fd = openat(dir, next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = write_all(fd, text, len);
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && renameat(dir, next, dir, name))
		ret = -errno;
	if (ret)
		unlinkat(dir, next, 0);
	else
		fsync(dir);
	return ret;
}

static void allow(int set, int folder_fd, uint64_t what)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = what, .parent_fd = folder_fd };

	syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* What is not there yet may come with a mount, as of debugfs, which hides the folder that it will
 * be in: the kernel then goes by the one above that. */
static void allow_later(int set, const char *path, uint64_t what)
{
	char parent[PATH_MAX];
	int n = (int)(base_of(path) - path), dir;

	while (n > 1 && path[n - 1] == '/')
		n--;
	snprintf(parent, sizeof(parent), "%.*s", n, path);
	dir = open_parent(parent);
	if (dir < 0)
		return;
	allow(set, dir, what);
	close(dir);
}

/* True: the kernel has Landlock, and holds this process to its files. All that it does not list is
 * allowed, so that only what changes something is there. */
static bool keep_to_places(void)
{
	const uint64_t truncate = 1ULL << 14; /* LANDLOCK_ACCESS_FS_TRUNCATE, Linux 6.2 */
	const uint64_t refer = 1ULL << 13;
	uint64_t changes = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
			   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
			   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
			   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
			   LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr all;
	int set;
	bool done;

	if (abi < 1)
		return false;
	changes |= (abi >= 2 ? refer : 0) | (abi >= 3 ? truncate : 0);
	all = (struct landlock_ruleset_attr){ .handled_access_fs = changes };
	set = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all.handled_access_fs), 0);
	if (set < 0)
		return false;
	for (unsigned int i = 0; i < nplaces; i++)
		if (places[i].dir >= 0)
			allow(set, places[i].dir, changes & ~refer);
		else
			allow_later(set, places[i].real, changes & ~refer);
	if (kept_name)
		allow(set, GT_HELPER_KEPT, changes & ~refer);
	done = !syscall(SYS_landlock_restrict_self, set, 0);
	close(set);
	return done;
}

static int settle(const struct gt_writer_conf *c, struct answer *a)
{
	int err;

	for (unsigned int i = 0; i < c->n; i++)
		add_place(c->path[i]);
	kept_path = c->kept;
	kept_name = c->kept ? base_of(c->kept) : NULL;
	err = gt_privs_drop(0, 0, a->why, sizeof(a->why));
	if (err)
		return err;
	a->landlocked = keep_to_places();
	err = gt_seccomp_only(
		"recvmsg sendmsg openat openat2 mkdirat unlinkat renameat renameat2 write "
		"fsync close exit_group rt_sigreturn restart_syscall",
		a->why, sizeof(a->why));
	return err == -EOPNOTSUPP ? 0 : err;
}

/* Its descriptor is closed here before the daemon goes on: files of tracefs act on the last close.
 */
static int reply(int sock, int ret)
{
	struct answer a = { .ret = ret < 0 ? ret : 0 };
	int err = gt_helper_send(sock, &a, sizeof(a), ret > 0 ? ret : -1);

	if (ret <= 0)
		return err;
	close(ret);
	return err ? err : gt_helper_send(sock, &a, sizeof(a), -1);
}

static void serve(int sock, const struct gt_writer_conf *c)
{
	static char text[TEXT_MAX];
	static struct request r;
	struct answer a = { 0 };
	int unused;

	a.ret = settle(c, &a);
	if (gt_helper_send(sock, &a, sizeof(a), -1) || a.ret)
		return;
	while (!gt_helper_receive(sock, &r, sizeof(r), &unused)) {
		int ret;

		r.path[sizeof(r.path) - 1] = '\0';
		if (r.op != KEPT)
			ret = perform(r.path, (enum gt_file_op)r.op, r.flags);
		else if (r.len > sizeof(text) || gt_helper_receive(sock, text, r.len, &unused))
			return;
		else if (!kept_path || strcmp(r.path, kept_path))
			ret = -EACCES;
		else
			ret = replace(GT_HELPER_KEPT, kept_name, text, r.len);
		if (reply(sock, ret))
			return;
	}
}

/* "mount.gputrace DIR …" would be one more daemon to who looks for one. The words lie one behind
 * the other, in whatever order they are listed by now. */
static void rename_process(char **argv, const char *dir)
{
	char *begin = argv[0], *end = argv[0];

	for (int i = 0; argv[i]; i++) {
		begin = argv[i] < begin ? argv[i] : begin;
		end = argv[i] + strlen(argv[i]) > end ? argv[i] + strlen(argv[i]) : end;
	}
	memset(begin, 0, (size_t)(end - begin));
	snprintf(begin, (size_t)(end - begin) + 1, "gputrace-write %s", dir);
}

/* The daemon ------------------------------------------------------------------------------------
 */

int gt_writer_start(struct gt_writer *w, const struct gt_writer_conf *c, char *err, size_t len)
{
	struct answer a = { .ret = -EPIPE,
			    .why = "the process that opens files for writing does not answer" };
	int ret, unused;

	if (geteuid() || (!c->n && !c->kept))
		return 0;
	ret = gt_helper_start("gputrace-write", c->kept ? c->folder : -1, &w->sock, err, len);
	if (ret < 0)
		return ret;
	if (ret) {
		if (c->argv)
			rename_process(c->argv, c->dir);
		serve(w->sock, c);
		_exit(0);
	}
	if (gt_helper_receive(w->sock, &a, sizeof(a), &unused))
		a.ret = -EPIPE;
	w->landlocked = a.landlocked;
	if (a.ret)
		snprintf(err, len, "%s", a.why);
	return a.ret;
}

void gt_writer_stop(struct gt_writer *w)
{
	if (w->sock >= 0)
		close(w->sock);
	w->sock = -1;
}

bool gt_writer_lost(const struct gt_writer *w)
{
	struct pollfd p = { .fd = w->sock };

	return w->sock >= 0 && poll(&p, 1, 0) > 0;
}

/* With the lock held; a descriptor, 0 or -errno */
static int ask(struct gt_writer *w, const struct request *r, const char *text)
{
	struct answer a;
	int fd, unused, ret;

	ret = gt_helper_send(w->sock, r, sizeof(*r), -1);
	if (!ret && r->op == KEPT)
		ret = gt_helper_send(w->sock, text, r->len, -1);
	if (!ret)
		ret = gt_helper_receive(w->sock, &a, sizeof(a), &fd);
	if (!ret && fd >= 0)
		ret = gt_helper_receive(w->sock, &a, sizeof(a), &unused);
	if (ret)
		return ret;
	return a.ret || fd < 0 ? a.ret : fd;
}

static int ask_for(struct gt_writer *w, uint32_t op, const char *path, int flags, const char *text,
		   size_t len)
{
	struct request *r = calloc(1, sizeof(*r));
	int ret = r ? 0 : -ENOMEM;

	if (r && snprintf(r->path, sizeof(r->path), "%s", path) >= (int)sizeof(r->path))
		ret = -ENAMETOOLONG;
	if (!ret) {
		r->op = op;
		r->flags = flags;
		r->len = (uint32_t)len;
		pthread_mutex_lock(&w->lock);
		ret = ask(w, r, text);
		pthread_mutex_unlock(&w->lock);
	}
	free(r);
	return ret;
}

int gt_writer_file(struct gt_writer *w, enum gt_file_op op, const char *path, int flags)
{
	if (w->sock < 0)
		return gt_file_here(op, path, flags);
	return op < GT_FILE_OPS ? ask_for(w, op, path, flags, NULL, 0) : -EINVAL;
}

int gt_writer_replace(struct gt_writer *w, int folder_fd, const char *path, const char *text,
		      size_t len)
{
	if (len > TEXT_MAX)
		return -E2BIG;
	if (!w || w->sock < 0)
		return replace(folder_fd, base_of(path), text, len);
	return ask_for(w, KEPT, path, 0, text, len);
}
