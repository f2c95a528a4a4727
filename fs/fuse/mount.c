/* SPDX-License-Identifier: GPL-2.0 */
/* Mounting and unmounting, also in another mount namespace; mountinfo. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "../helper.h"
#include "../privileges.h"
#include "fuse.h"

#define TYPE "fuse.gputrace"

/* mountinfo writes blank, tab, newline and backslash as \NNN */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] && s[2] && s[3]) {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = 0;
}

/*
 * Splits "36 35 0:57 / /mnt2 rw,noatime master:1 - fuse.gputrace gputrace rw" if it is of our type.
 * Only fields 3 and 5 matter.
 */
static bool ours(char *line, char **dev, char **dir)
{
	char *dash = strstr(line, " - "), *save = NULL, *f = NULL;

	if (!dash || strncmp(dash + 3, TYPE " ", sizeof(TYPE)))
		return false;
	*dash = 0;
	*dev = NULL;
	for (int i = 0; i < 5; i++) {
		f = strtok_r(i ? NULL : line, " ", &save);
		if (i == 2)
			*dev = f;
	}
	if (!f)
		return false;
	unescape(f);
	*dir = f;
	return true;
}

/* The first mount of ours that is at @dir, or has device number @dev if there is no @dir. */
static bool find(int fd, const char *dir, const char *dev, char *found_dev)
{
	char *line = NULL, *its_dev, *its_dir;
	size_t cap = 0;
	bool found = false;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f) {
		if (fd >= 0)
			close(fd);
		return !found_dev; /* not known: nothing is ended on a guess */
	}
	rewind(f);
	while (!found && getline(&line, &cap, f) > 0) {
		if (!ours(line, &its_dev, &its_dir))
			continue;
		found = dir ? !strcmp(its_dir, dir) : !strcmp(its_dev, dev);
		if (found && found_dev)
			snprintf(found_dev, GT_DEV_LEN, "%s", its_dev);
	}
	free(line);
	fclose(f);
	return found;
}

bool gt_mounted(int fd, const char *dir, char *dev)
{
	char unused[GT_DEV_LEN];

	return find(dup(fd), dir, NULL, dev ? dev : unused);
}

bool gt_mounted_dev(int fd, const char *dev)
{
	return find(dup(fd), NULL, dev, NULL);
}

static int fusermount_lazy(const char *dir)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		execlp("fusermount3", "fusermount3", "-u", "-z", "-q", "--", dir, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status ? -EPERM : 0;
}

/* statfs(2) asks whoever serves it; what stat(2) says may be remembered from when somebody did. */
static bool mount_dead(const char *dir)
{
	struct statfs st;

	return statfs(dir, &st) < 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

int gt_mount_resolve(const char *dir, char *out, char *err, unsigned long len)
{
	if (realpath(dir, out))
		return 0;
	if (errno == ENOENT) {
		snprintf(err, len, "%s: %s: a mount point has to be made first (mkdir -p %s)", dir,
			 strerror(ENOENT), dir);
		return -ENOENT;
	}
	if (errno != ENOTCONN && errno != ECONNABORTED) {
		snprintf(err, len, "%s: %s", dir, strerror(errno));
		return -errno;
	}
	snprintf(out, PATH_MAX, "%s", dir);
	return 0;
}

int gt_mount_prepare(int fd, const char *dir, char *err, unsigned long len)
{
	bool there = gt_mounted(fd, dir, NULL);
	struct stat st;

	if (there && mount_dead(dir)) {
		if (umount2(dir, MNT_DETACH) < 0 && fusermount_lazy(dir) < 0) {
			snprintf(err, len,
				 "%s: a stale mount is there and cannot be taken away: %s", dir,
				 strerror(errno));
			return -EBUSY;
		}
		there = gt_mounted(fd, dir, NULL);
	}
	if (there) {
		snprintf(err, len, "%s: gputrace is already mounted there", dir);
		return -EBUSY;
	}
	if (stat(dir, &st) < 0) {
		snprintf(err, len, "%s: %s", dir, strerror(errno));
		return -errno;
	}
	if (!S_ISDIR(st.st_mode)) {
		snprintf(err, len, "%s: not a directory", dir);
		return -ENOTDIR;
	}
	return 0;
}

/*
 * A hardened unit of systemd lives in a mount namespace of its own, where a mount reaches nobody
 * else. So this process, which is forked while there are no threads, enters the namespace that
 * everybody is in, and keeps no right but that to mount. The daemon, which has to do with what
 * others say, never has it there. The end of the daemon is the end of the socket between the two.
 *
 * Of an ordinary user's daemon it has no more rights than that one, and only has fusermount3 unmount.
 */

#define TYPE "fuse.gputrace"

/* What the daemon asks for, once; the session's descriptor comes with it */
struct request {
	unsigned long flags;
	char source[64];
	char options[1024];
};

/* What is answered; mountinfo comes with the first one */
struct answer {
	int err;
	char why[512];
	char dir[PATH_MAX];
	char dev[GT_DEV_LEN];
};

/* --- the process -------------------------------------------------------------------------------
 */

/* Descriptors of mountinfo: reading one in two processes would mix them up, it has one offset. */
struct place {
	int mountinfo, own;
};

/* /proc is that of the daemon's namespace; what it says of this process is what is where it is now.
 */
static int enter(const char *ns, struct place *p, struct answer *a)
{
	int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1, ret = 0;

	if (ns) {
		fd = open(ns, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0 || setns(fd, CLONE_NEWNS)) {
			ret = -errno;
			snprintf(a->why, sizeof(a->why), "mountns=%s: %s", ns, strerror(-ret));
		}
	}
	p->mountinfo = openat(self, "mountinfo", O_RDONLY | O_CLOEXEC);
	p->own = openat(self, "mountinfo", O_RDONLY | O_CLOEXEC);
	if (!ret && (p->mountinfo < 0 || p->own < 0)) {
		ret = -errno;
		snprintf(a->why, sizeof(a->why), "/proc/self/mountinfo: %s", strerror(-ret));
	}
	if (fd >= 0)
		close(fd);
	if (self >= 0)
		close(self);
	return ret;
}

static int mount_it(const struct request *r, const char *dir, int fuse)
{
	char options[sizeof(r->options) + 96];

	if (fuse < 0)
		return -EBADF;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0%s", fuse,
		 r->options);
	return mount(r->source, dir, TYPE, r->flags, options) ? -errno : 0;
}

/*
 * It may be gone already, and something else there: another daemon's mount, too, which gets the device
 * number that has become free. Of this one the session's descriptor is closed.
 */
static bool is_left(int mountinfo, const char *dir, const char *dev)
{
	char its[GT_DEV_LEN];

	return *dev && gt_mounted(mountinfo, dir, its) && !strcmp(its, dev) && mount_dead(dir);
}

static int give_up_rights(struct answer *a)
{
	int err = gt_privs_drop(1ULL << CAP_SYS_ADMIN, 0, a->why, sizeof(a->why));

	if (!err)
		err = gt_seccomp_drop("", a->why, sizeof(a->why));
	return err == -EOPNOTSUPP ? 0 : err;
}

static int settle(const char *ns, const char *dir, struct place *p, struct answer *a)
{
	int err = enter(ns, p, a);

	if (!err)
		err = gt_mount_resolve(dir, a->dir, a->why, sizeof(a->why));
	if (!err)
		err = gt_mount_prepare(p->own, a->dir, a->why, sizeof(a->why));
	return err ? err : give_up_rights(a);
}

static void serve(int sock, const char *ns, const char *dir)
{
	static struct answer a;
	struct place p = { -1, -1 };
	struct request r;
	int fuse;

	a.err = settle(ns, dir, &p, &a);
	if (gt_helper_send(sock, &a, sizeof(a), a.err ? -1 : p.mountinfo) || a.err)
		return;
	close(p.mountinfo);
	if (gt_helper_receive(sock, &r, sizeof(r), &fuse))
		return;
	r.source[sizeof(r.source) - 1] = r.options[sizeof(r.options) - 1] = 0;
	a.err = mount_it(&r, a.dir, fuse);
	/* the daemon's alone from here on: the session ends with it */
	if (fuse >= 0)
		close(fuse);
	if (!a.err)
		gt_mounted(p.own, a.dir, a.dev);
	if (!gt_helper_send(sock, &a, sizeof(a), -1))
		gt_helper_wait(sock);
	if (is_left(p.own, a.dir, a.dev))
		umount2(a.dir, MNT_DETACH);
}

/* An ordinary user's: fusermount3 has the right to unmount. Nothing of the caller's reaches it. */
static void watch(int sock, const char *dir)
{
	char dev[GT_DEV_LEN];
	int unused, fd;

	if (chdir("/") || gt_helper_receive(sock, dev, sizeof(dev), &unused))
		return;
	dev[GT_DEV_LEN - 1] = 0;
	gt_helper_wait(sock);
	fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (!is_left(fd, dir, dev) || close_range(STDERR_FILENO + 1, ~0u, 0) || clearenv() ||
	    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1))
		return;
	execlp("fusermount3", "fusermount3", "-u", "-z", "-q", "--", dir, (char *)NULL);
}

/* --- the daemon --------------------------------------------------------------------------------
 */

int gt_mounter_watch(struct gt_mounter *m, const char *dir, char *err, size_t len)
{
	int ret = gt_helper_start("gputrace-mount", -1, &m->sock, err, len);

	if (ret > 0) {
		watch(m->sock, dir);
		_exit(0);
	}
	m->mountinfo = -1;
	m->watches = true;
	snprintf(m->dir, sizeof(m->dir), "%s", dir);
	return ret;
}

void gt_mounter_report(struct gt_mounter *m, const char *dev)
{
	char text[GT_DEV_LEN] = "";

	snprintf(text, sizeof(text), "%s", dev);
	gt_helper_send(m->sock, text, sizeof(text), -1);
}

int gt_mounter_start(struct gt_mounter *m, const char *ns, const char *dir, char *err, size_t len)
{
	static struct answer a;
	int ret;

	m->mountinfo = -1;
	ret = gt_helper_start("gputrace-mount", -1, &m->sock, err, len);
	if (ret < 0)
		return ret;
	if (ret) {
		serve(m->sock, ns, dir);
		_exit(0);
	}
	snprintf(a.why, sizeof(a.why), "the process that mounts does not answer");
	if (gt_helper_receive(m->sock, &a, sizeof(a), &m->mountinfo))
		a.err = -EPIPE;
	if (a.err)
		snprintf(err, len, "%s", a.why);
	else
		snprintf(m->dir, sizeof(m->dir), "%s", a.dir);
	return a.err;
}

/* Those of root's mounts as they are without this process: libfuse's own are not the kernel's. */
static void translate(const char *fuse, struct request *r)
{
	char list[sizeof(r->options)], *save = NULL;
	size_t n = 0;

	r->flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	snprintf(r->source, sizeof(r->source), "gputrace");
	n += (size_t)snprintf(r->options, sizeof(r->options), ",allow_other,default_permissions");
	snprintf(list, sizeof(list), "%s", fuse ? fuse : "");
	for (char *o = strtok_r(list, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
		if (!strcmp(o, "ro"))
			r->flags |= MS_RDONLY;
		else if (!strncmp(o, "fsname=", 7))
			snprintf(r->source, sizeof(r->source), "%s", o + 7);
		else if ((!strncmp(o, "max_read=", 9) || strstr(o, "context=")) &&
			 n + strlen(o) + 2 < sizeof(r->options))
			n += (size_t)snprintf(r->options + n, sizeof(r->options) - n, ",%s", o);
	}
}

/* By the process beside the daemon */
static int mount_there(struct gt_mounter *m, const struct request *r, int fuse, char *dev)
{
	static struct answer a;
	int unused, ret;

	ret = gt_helper_send(m->sock, r, sizeof(*r), fuse);
	if (!ret)
		ret = gt_helper_receive(m->sock, &a, sizeof(a), &unused);
	if (ret || a.err)
		return ret ? ret : a.err;
	snprintf(dev, GT_DEV_LEN, "%.*s", GT_DEV_LEN - 1, a.dev);
	return 0;
}

static int mount_here(const struct gt_mounter *m, const struct request *r, int fuse, char *dev)
{
	uint64_t caps = gt_privs_raise(1ULL << CAP_SYS_ADMIN);
	int fd, ret;

	ret = mount_it(r, m->dir, fuse);
	gt_privs_lower(caps);
	if (ret)
		return ret;
	fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	gt_mounted(fd, m->dir, dev);
	if (fd >= 0)
		close(fd);
	return 0;
}

void gt_mounter_open(struct gt_mounter *m)
{
	m->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (m->fuse < 0)
		m->fuse = -errno;
}

int gt_mounter_mount(struct gt_mounter *m, char *dev)
{
	struct request r = { 0 };
	int fd = m->fuse, ret;

	m->fuse = -EBADF;
	if (fd < 0)
		return fd;
	translate(m->options, &r);
	ret = m->sock < 0 ? mount_here(m, &r, fd, dev) : mount_there(m, &r, fd, dev);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

void gt_mounter_stop(struct gt_mounter *m)
{
	if (m->sock < 0)
		return;
	shutdown(m->sock, SHUT_WR);
	gt_helper_wait(m->sock);
	close(m->sock);
	m->sock = -1;
}

void gt_mounter_lost(const struct gt_mounter *m)
{
	syslog(LOG_WARNING,
	       "%s: the process beside the daemon has been killed: if the daemon is, too, "
	       "the mount stays",
	       m->dir);
}

void gt_mounter_finish(const struct gt_mounter *m, const char *dev)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	if (is_left(fd, m->dir, dev) && umount2(m->dir, MNT_DETACH))
		syslog(LOG_WARNING, "%s: cannot be unmounted: %s", m->dir, strerror(errno));
	if (fd >= 0)
		close(fd);
}
