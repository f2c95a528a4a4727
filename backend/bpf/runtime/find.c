/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Libraries that processes have mapped. A process's maps tell the name, as it was opened; the file
 * itself is what /proc/PID/map_files leads to, in whatever mount namespace it is, under whatever
 * name, deleted or not. It is opened with O_PATH first, so that nothing is asked of its file
 * system, and left alone if that is FUSE: a program of the user would be asked, and might never
 * answer.
 */
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime.h"

#define LINE	   8192	      /* a line that is longer is left out */
#define MAX_TEXT   (8u << 20) /* of one process's maps or mounts */
#define MAX_OFFERS 64	      /* libraries of one process */

/* Where they are installed on this machine: the loader's folders, ROCm's and CUDA's, WSL's. */
static const char *const folders[] = {
	"/usr/lib/*-linux-gnu", "/usr/lib64",	  "/usr/lib",	      "/lib64",
	"/usr/local/lib",	"/opt/rocm*/lib", "/opt/rocm*/lib64", "/usr/local/cuda*/lib64",
	"/usr/lib/wsl/lib",
};

/** struct lines - a text that is read line by line; @left: of MAX_TEXT */
struct lines {
	int fd;
	size_t len, at, left;
	char buf[LINE];
};

static bool fill(struct lines *l)
{
	ssize_t n;

	memmove(l->buf, l->buf + l->at, l->len - l->at);
	l->len -= l->at;
	l->at = 0;
	if (l->len == sizeof(l->buf) || !l->left)
		return false;
	n = read(l->fd, l->buf + l->len, sizeof(l->buf) - l->len);
	if (n <= 0)
		return false;
	l->left = (size_t)n < l->left ? l->left - (size_t)n : 0;
	l->len += (size_t)n;
	return true;
}

/* The next line, without its end; NULL: that was all, or as much as is read. */
static char *next_line(struct lines *l)
{
	bool skip = false;

	for (;;) {
		char *line = l->buf + l->at, *end = memchr(line, '\n', l->len - l->at);

		if (end && !skip) {
			*end = 0;
			l->at = (size_t)(end + 1 - l->buf);
			return line;
		}
		if (end) {
			l->at = (size_t)(end + 1 - l->buf);
			skip = false;
			continue;
		}
		if (l->len - l->at == sizeof(l->buf)) { /* it is no line of ours */
			l->at = l->len;
			skip = true;
		}
		if (!fill(l))
			return NULL;
	}
}

static int open_of(uint32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * Is the file system mounted as @id one that the kernel answers for? One that was unmounted
 * meanwhile is not known.
 */
static bool is_safe(uint32_t pid, uint64_t id)
{
	struct lines l = { .fd = open_of(pid, "mountinfo"), .left = MAX_TEXT };
	bool safe = false;
	char *line;

	while (l.fd >= 0 && (line = next_line(&l))) {
		char *type;

		if (strtoull(line, NULL, 10) != id)
			continue;
		type = strstr(line, " - ");
		safe = type && strncmp(type + 3, "fuse", 4);
		break;
	}
	if (l.fd >= 0)
		close(l.fd);
	return safe;
}

/* Fills the rest of @f in, of which there is the descriptor; false: it is nothing for us. */
static bool identify(struct rt *rt, struct rt_file *f)
{
	struct statx st;

	if (statx(f->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_INO | STATX_MNT_ID, &st) ||
	    !S_ISREG(st.stx_mode))
		return false;
	if (!(st.stx_mask & STATX_MNT_ID) ||
	    !is_safe(f->pid ? f->pid : (uint32_t)getpid(), st.stx_mnt_id)) {
		rt->stats.unsafe++;
		return false;
	}
	f->dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	f->ino = st.stx_ino;
	return true;
}

/* "7f…-7f… r-xp 00000000 08:01 1234   /usr/lib/libcuda.so.1 (deleted)": which runtime's, or -1 */
static int runtime_of_line(const char *line, char *range, size_t len)
{
	unsigned long long from, to;
	const char *base;
	char perms[8];

	if (sscanf(line, "%llx-%llx %7s", &from, &to, perms) != 3 || perms[2] != 'x')
		return -1;
	base = strrchr(line, '/');
	if (!base)
		return -1;
	snprintf(range, len, "%llx-%llx", from, to);
	return rt_runtime_of(base + 1);
}

static void offer(struct rt *rt, struct rt_file *f, const char *range,
		  void (*found)(struct rt *rt, const struct rt_file *f))
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%s", f->pid, range);
	f->fd = open(path, O_PATH | O_CLOEXEC);
	if (f->fd < 0)
		return; /* it was unmapped meanwhile */
	rt->stats.found++;
	if (identify(rt, f))
		found(rt, f);
	close(f->fd);
}

static uint32_t uid_of(uint32_t pid)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) ? GT_NONE32 - 1 : st.st_uid;
}

void rt_look(struct rt *rt, uint32_t pid, void (*found)(struct rt *rt, const struct rt_file *f))
{
	struct lines l = { .fd = open_of(pid, "maps"), .left = MAX_TEXT };
	struct rt_file f = { .pid = pid };
	unsigned int offers = 0;
	char *line, range[40];

	if (l.fd < 0)
		return;
	rt->stats.looks++;
	while (offers < MAX_OFFERS && (line = next_line(&l))) {
		f.runtime = runtime_of_line(line, range, sizeof(range));
		if (f.runtime < 0 || !(rt->set & 1U << f.runtime))
			continue;
		f.uid = uid_of(pid);
		offers++;
		offer(rt, &f, range, found);
	}
	if (!l.left || offers == MAX_OFFERS)
		rt->stats.cut++;
	close(l.fd);
}

static void look_at_file(struct rt *rt, const char *path,
			 void (*found)(struct rt *rt, const struct rt_file *f))
{
	const char *base = strrchr(path, '/') + 1;
	struct rt_file f = { .uid = GT_NONE32 };

	f.runtime = rt_runtime_of(base);
	if (f.runtime < 0 || !(rt->set & 1U << f.runtime))
		return;
	f.fd = open(path, O_PATH | O_CLOEXEC);
	if (f.fd < 0)
		return;
	if (identify(rt, &f))
		found(rt, &f);
	close(f.fd);
}

void rt_look_at_folders(struct rt *rt, void (*found)(struct rt *rt, const struct rt_file *f))
{
	char pattern[128];
	glob_t g;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		for (int r = 0; r < RT_RUNTIMES; r++) {
			snprintf(pattern, sizeof(pattern), "%s/%s*.so*", folders[i],
				 rt_runtimes[r].library);
			if (!(rt->set & 1U << r) || glob(pattern, GLOB_NOSORT, NULL, &g))
				continue;
			for (size_t k = 0; k < g.gl_pathc; k++)
				look_at_file(rt, g.gl_pathv[k], found);
			globfree(&g);
		}
}
