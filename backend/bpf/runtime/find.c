/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Libraries that processes have mapped. A process's maps tell the name, as it was opened; the file
 * itself is what /proc/PID/map_files leads to, in whatever mount namespace it is, under whatever
 * name, deleted or not. It is opened with O_PATH first, so that nothing is asked of its file
 * system, and left alone if somebody's program might have to answer (check.c).
 */
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime.h"

#define LINE	   8192	      /* a line that is longer is left out */
#define MAX_TEXT   (8u << 20) /* of one process's maps */
#define MAX_OFFERS 64	      /* libraries of one process */
#define STATX	   (STATX_TYPE | STATX_INO | STATX_SIZE | STATX_CTIME)

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

/* Hands on @f, of which there is the descriptor, if it is a file that may be touched. */
static enum rt_answer hand_on(struct rt *rt, struct rt_file *f, enum rt_answer a,
			      enum rt_answer (*found)(struct rt *rt, const struct rt_file *f))
{
	struct statx st;

	if (a == RT_UNSAFE)
		rt->stats.unsafe++;
	if (a != RT_SAFE || statx(f->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX, &st) ||
	    !S_ISREG(st.stx_mode))
		return a;
	f->content = (struct rt_content){
		.dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
		.ino = st.stx_ino,
		.size = st.stx_size,
		.ctime = st.stx_ctime.tv_sec * 1000000000 + st.stx_ctime.tv_nsec,
	};
	return found(rt, f);
}

static enum rt_answer offer(struct rt *rt, struct rt_file *f, const char *range,
			    enum rt_answer (*found)(struct rt *rt, const struct rt_file *f))
{
	enum rt_answer a;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%s", f->pid, range);
	f->fd = open(path, O_PATH | O_CLOEXEC);
	if (f->fd < 0)
		return RT_SAFE; /* it was unmapped meanwhile */
	rt->stats.found++;
	a = hand_on(rt, f, rt_behind_mapping(rt, f, strtoull(range, NULL, 16)), found);
	close(f->fd);
	return a;
}

bool rt_look(struct rt *rt, uint32_t pid,
	     enum rt_answer (*found)(struct rt *rt, const struct rt_file *f))
{
	struct lines l = { .left = MAX_TEXT };
	struct rt_file f = { .pid = pid };
	unsigned int offers = 0;
	char *line, range[40];
	bool later = false;

	if (rt_is_busy(rt, pid))
		return false;
	l.fd = open_of(pid, "maps");
	if (l.fd < 0)
		return true;
	rt->stats.looks++;
	while (offers < MAX_OFFERS && (line = next_line(&l))) {
		f.runtime = runtime_of_line(line, range, sizeof(range));
		if (f.runtime < 0 || !(rt->set & 1U << f.runtime))
			continue;
		offers++;
		later |= offer(rt, &f, range, found) == RT_LATER;
	}
	if (!l.left || offers == MAX_OFFERS)
		rt->stats.cut++;
	close(l.fd);
	return !later;
}

static void look_at_file(struct rt *rt, const char *path,
			 enum rt_answer (*found)(struct rt *rt, const struct rt_file *f))
{
	const char *base = strrchr(path, '/') + 1;
	struct rt_file f = { .account = RT_INSTALLED };

	f.runtime = rt_runtime_of(base);
	if (f.runtime < 0 || !(rt->set & 1U << f.runtime))
		return;
	f.fd = open(path, O_PATH | O_CLOEXEC);
	if (f.fd < 0)
		return;
	hand_on(rt, &f, rt_behind_file(rt, &f), found);
	close(f.fd);
}

void rt_look_at_folders(struct rt *rt,
			enum rt_answer (*found)(struct rt *rt, const struct rt_file *f))
{
	char pattern[128];
	glob_t g;

	rt_step(rt, 0);
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
	rt_step_end(rt);
}
