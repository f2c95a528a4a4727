/* SPDX-License-Identifier: GPL-2.0 */
/* Files of /proc; pidfds that report ends of processes; container names by cgroup paths. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "access/access.h"
#include "processes.h"

#define USUAL	 2048	   /* which most fit in */
#define TEXT_MAX (1 << 20) /* 65536 groups (NGROUPS_MAX) of ten digits take 704 KiB */

static int open_file(uint32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

ssize_t gt_proc_read(uint32_t pid, const char *name, char *buf, size_t len)
{
	int fd = open_file(pid, name);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, len - 1);
	close(fd);
	buf[n > 0 ? n : 0] = 0;
	return n;
}

/* To the end, or until @len are full; -errno */
static ssize_t read_on(int fd, char *buf, size_t len)
{
	size_t got = 0;
	ssize_t n = 1;

	while (n > 0 && got < len) {
		n = read(fd, buf + got, len - got);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			got += (size_t)n;
	}
	return n < 0 ? -errno : (ssize_t)got;
}

char *gt_proc_text(uint32_t pid, const char *name)
{
	size_t size = USUAL, used = 0;
	char *buf = NULL;
	ssize_t n = 0;
	int fd = open_file(pid, name);

	while (fd >= 0 && size <= TEXT_MAX) {
		char *more = realloc(buf, size);

		if (!more)
			break;
		buf = more;
		n = read_on(fd, buf + used, size - used);
		if (n < 0)
			break;
		used += (size_t)n;
		if (used < size) {
			buf[used] = 0;
			close(fd);
			return buf;
		}
		size *= 2;
	}
	if (fd >= 0)
		close(fd);
	free(buf);
	return NULL;
}

void gt_proc_textp(char **text)
{
	free(*text);
}

const char *gt_proc_line(const char *text, const char *key)
{
	size_t n = strlen(key);

	while (text && strncmp(text, key, n)) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + n : NULL;
}

#define ENDED_BATCH 64

static_assert(GT_MAX_NS == GT_PIDNS_DEPTH, "as many are kept of a process");

/* What is kept for a watched process: epoll gives it back. Freed when the process ends. */
struct watched {
	int fd;
	uint32_t pid, slot;
};

int gt_procwatch_new(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

/* proc(5): field 22 of stat is the start in clock ticks since boot; comm may hold any byte but NUL
 */
static uint64_t start_ns(const char *stat)
{
	const char *p = strrchr(stat, ')');
	unsigned long long ticks;

	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu", &ticks) != 1)
		return 0;
	return ticks * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void comm_of(const char *stat, char *comm, size_t len)
{
	const char *a = strchr(stat, '('), *b = strrchr(stat, ')');
	size_t n = a && b && b > a ? (size_t)(b - a - 1) : 0;

	if (n >= len)
		n = len - 1;
	if (n)
		memcpy(comm, a + 1, n);
	comm[n] = 0;
}

static uint32_t uid_of(uint32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) ? GT_NONE32 : st.st_uid;
}

/* The unified hierarchy's line "0::/path", else the first one. */
static void cgroup_of(uint32_t pid, char *out, size_t len)
{
	gt_proc_auto char *text = gt_proc_text(pid, "cgroup");
	const char *line = gt_proc_line(text, "0::"), *p;
	size_t n;

	*out = 0;
	if (!text)
		return;
	p = line ? line : text;
	p += strcspn(p, "/\n");
	n = strcspn(p, "\n");
	if (n < len) { /* a path that is cut is another's */
		memcpy(out, p, n);
		out[n] = 0;
	}
}

/* False: it has ended already. */
static bool watch(int epfd, uint32_t pid, uint32_t slot)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct watched *w = malloc(sizeof(*w));

	if (!w)
		return true;
	w->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	w->pid = pid;
	w->slot = slot;
	ev.data.ptr = w;
	if (w->fd < 0 || epoll_ctl(epfd, EPOLL_CTL_ADD, w->fd, &ev)) {
		bool ended = w->fd < 0 && errno == ESRCH;

		if (w->fd >= 0)
			close(w->fd);
		free(w);
		return !ended;
	}
	return true;
}

void gt_procwatch_add(struct gt_model *m, int epfd, uint32_t pid)
{
	gt_proc_auto char *status = gt_proc_text(pid, "status");
	char stat[1024], comm[16], cgroup[GT_CGROUP_MAX];
	struct gt_proc *p = gt_model_proc(m, pid);
	struct gt_ns ns;
	uint64_t from = p ? p->first_ts : gt_model_now(m);
	bool there = status && *status && gt_proc_read(pid, "stat", stat, sizeof(stat)) > 0;

	if (there && p && p->start && p->start != start_ns(stat))
		there = false; /* another has its number already */
	gt_pidns_add(pid, from, there ? start_ns(stat) : 0, there ? status : NULL);
	if (there) {
		comm_of(stat, comm, sizeof(comm));
		cgroup_of(pid, cgroup, sizeof(cgroup));
		ns.n = gt_pidns_chain(pid, ns.id);
		p = gt_model_process_in(m, pid, start_ns(stat), uid_of(pid), comm, cgroup, 0, &ns);
		if (!p || epfd < 0 || watch(epfd, pid, p->slot))
			return;
	}
	/* ended already: nothing will report that any more */
	p = gt_model_proc(m, pid);
	if (p)
		gt_model_exit(m, p->slot);
}

void gt_procwatch_ended(struct gt_model *m, int epfd)
{
	struct epoll_event ev[ENDED_BATCH];
	int n = epoll_wait(epfd, ev, ENDED_BATCH, 0);

	for (int i = 0; i < n; i++) {
		struct watched *w = ev[i].data.ptr;
		GT_MODEL_LOCK(m);

		if (w->slot < m->proc_slots && m->procs[w->slot] &&
		    m->procs[w->slot]->pid == w->pid && !m->procs[w->slot]->dead)
			gt_model_exit(m, w->slot);
		epoll_ctl(epfd, EPOLL_CTL_DEL, w->fd, NULL);
		close(w->fd);
		free(w);
	}
}

/*
 * The one table of how runtimes name their cgroups, and a matcher for it. Where several apply, as
 * in a container that runs in a pod or a machine, the innermost counts.
 *
 * Names as the runtimes' cgroup drivers make them (cgroupfs: a directory each; systemd: slices and
 * scopes): runc's and crun's documentation of cgroupsPath, kubelet's of cgroup drivers, podman's
 * --cgroup-parent, Slurm's cgroup.conf(5), systemd.slice(5).
 */

/* Which name of the runtime counts: a container's before its pod's, a unit's last */
enum rank { BY_UNIT = 1, BY_JOB, BY_POD, BY_CONTAINER };

/**
 * struct pattern - consecutive components of a path, whole ones
 * @names: '*' is any text within a component, and
 *	%c  a container's id: 64 hexadecimal digits
 *	%n  a container's name: the rest of the component, or up to what follows
 *	%p  a pod's uid: 36 characters with '-' or, from systemd's drivers, '_'; or 32 digits, of
 *	    static pods
 *	%q  a podman pod's id: 64 hexadecimal digits
 *	%j  a job's number, %s its step: a number or a word
 *	%u  a unit's name up to what follows, which is part of it
 *	%d  a number that says nothing here
 */
struct pattern {
	const char *names, *runtime;
	enum rank rank;
};

static const struct pattern patterns[] = {
	{ "%u.slice", "systemd", BY_UNIT },
	{ "%u.scope", "systemd", BY_UNIT },
	{ "%u.service", "systemd", BY_UNIT },

	{ "slurm*/uid_%d/job_%j", "slurm", BY_JOB },
	{ "slurm*/uid_%d/job_%j/step_%s", "slurm", BY_JOB },
	{ "*slurmstepd.scope/job_%j", "slurm", BY_JOB },
	{ "*slurmstepd.scope/job_%j/step_%s", "slurm", BY_JOB },

	{ "*kubepods*-pod%p.slice", "kubernetes", BY_POD },
	{ "kubepods/pod%p", "kubernetes", BY_POD },
	{ "kubepods/*/pod%p", "kubernetes", BY_POD },
	{ "*libpod_pod_%q.slice", "podman", BY_POD },
	{ "libpod_parent/%q", "podman", BY_POD },

	{ "kubepods/pod%p/%c", "kubernetes", BY_CONTAINER },
	{ "kubepods/*/pod%p/%c", "kubernetes", BY_CONTAINER },
	{ "docker/%c", "docker", BY_CONTAINER },
	{ "docker-%c.scope", "docker", BY_CONTAINER },
	{ "default/%c", "containerd", BY_CONTAINER },
	{ "nerdctl-%c.scope", "containerd", BY_CONTAINER },
	{ "cri-containerd-%c.scope", "containerd", BY_CONTAINER },
	{ "*kubepods*-pod%p.slice:cri-containerd:%c", "containerd", BY_CONTAINER },
	{ "crio-%c", "cri-o", BY_CONTAINER },
	{ "crio-%c.scope", "cri-o", BY_CONTAINER },
	{ "libpod-%c", "podman", BY_CONTAINER },
	{ "libpod-%c.scope", "podman", BY_CONTAINER },
	{ "lxc/%n", "lxc", BY_CONTAINER },
	{ "lxc.payload/%n", "lxc", BY_CONTAINER },
	{ "lxc.payload.%n", "lxc", BY_CONTAINER },
	{ "systemd-nspawn@%n.service", "systemd-nspawn", BY_CONTAINER },
};

/** struct span - a piece of the path */
struct span {
	const char *at;
	size_t len;
};

/** struct found - what a pattern's letters stood for */
struct found {
	struct span container, pod, job, step, unit;
};

static size_t count(const char *s, bool (*is)(char c))
{
	size_t n = 0;

	while (s[n] && is(s[n]))
		n++;
	return n;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* 8-4-4-4-12, or 32 digits; 0: neither */
static size_t pod_uid(const char *s)
{
	if (count(s, is_hex) == 32)
		return 32;
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' && s[i] != '_' : !is_hex(s[i]))
			return 0;
	}
	return 36;
}

/* How long what @letter stands for is at @s; 0: it is not that. Names are of any length: see
 * match() */
static size_t length_of(char letter, const char *s)
{
	switch (letter) {
	case 'c':
	case 'q':
		return count(s, is_hex) == 64 ? 64 : 0;
	case 'p':
		return pod_uid(s);
	case 's':
		return count(s, is_word);
	default:
		return count(s, is_digit);
	}
}

static void keep(struct found *f, char letter, const char *at, size_t len)
{
	struct span span = { at, len };

	if (letter == 'c' || letter == 'n')
		f->container = span;
	else if (letter == 'p' || letter == 'q')
		f->pod = span;
	else if (letter == 'j')
		f->job = span;
	else if (letter == 's')
		f->step = span;
	else if (letter == 'u')
		f->unit = span;
}

static bool match(const char *p, const char *s, struct found *f);

/* Text of any length within the component: the longest that lets the rest match */
static bool match_any(char letter, const char *p, const char *s, struct found *f)
{
	size_t max = strcspn(s, "/"), min = letter == '*' ? 0 : 1;

	for (size_t n = max + 1; n-- > min;) {
		if (match(p, s + n, f)) {
			keep(f, letter, s, n);
			return true;
		}
	}
	return false;
}

/* As deep as the pattern has letters; no pattern has more than two of any length. */
static bool match(const char *p, const char *s, struct found *f)
{
	for (; *p; p++, s++) {
		size_t n;

		if (*p == '*')
			return match_any('*', p + 1, s, f);
		if (*p == '%' && (p[1] == 'n' || p[1] == 'u'))
			return match_any(p[1], p + 2, s, f);
		if (*p == '%') {
			n = length_of(p[1], s);
			if (!n)
				return false;
			keep(f, p[1], s, n);
			p++;
			s += n - 1;
		} else if (*p != *s) {
			return false;
		}
	}
	return !*s || *s == '/';
}

static void copy(char *out, size_t size, const struct span *s)
{
	if (s->len >= size)
		return;
	memcpy(out, s->at, s->len);
	out[s->len] = '\0';
}

/* systemd's names cannot hold dashes: there a pod's uid has '_' */
static void copy_pod(struct gt_container *c, const struct span *s)
{
	copy(c->pod, sizeof(c->pod), s);
	for (char *p = c->pod; *p; p++)
		if (*p == '_')
			*p = '-';
}

static bool is_slice(const char *unit)
{
	size_t len = strlen(unit);

	return len > 6 && !strcmp(unit + len - 6, ".slice");
}

/* The innermost service or scope; a slice only while there is none */
static void copy_unit(struct gt_container *c, const struct pattern *p, struct span s)
{
	if (!strcmp(p->names, "%u.slice") && *c->unit && !is_slice(c->unit))
		return;
	s.len += strlen(p->names + 2);
	copy(c->unit, sizeof(c->unit), &s);
}

static void copy_job(struct gt_container *c, const struct found *f)
{
	snprintf(c->job, sizeof(c->job), f->step.len ? "%.*s.%.*s" : "%.*s",
		 f->job.len < 20 ? (int)f->job.len : 20, f->job.at,
		 f->step.len < 40 ? (int)f->step.len : 40, f->step.at ? f->step.at : "");
}

static void fill(struct gt_container *c, const struct pattern *p, const struct found *f,
		 enum rank *rank)
{
	if (f->container.len)
		copy(c->container, sizeof(c->container), &f->container);
	if (f->pod.len)
		copy_pod(c, &f->pod);
	if (f->job.len)
		copy_job(c, f);
	if (f->unit.len)
		copy_unit(c, p, f->unit);
	if (p->rank < *rank)
		return;
	*rank = p->rank;
	c->runtime = p->runtime;
}

void gt_container_of(const char *path, struct gt_container *c)
{
	const size_t npatterns = sizeof(patterns) / sizeof(patterns[0]);
	enum rank rank = BY_UNIT;

	*c = (struct gt_container){ .runtime = "" };
	for (const char *s = path; s; s = strchr(s, '/')) {
		s += strspn(s, "/");
		for (size_t i = 0; *s && i < npatterns; i++) {
			struct found f = { 0 };

			if (match(patterns[i].names, s, &f))
				fill(c, &patterns[i], &f, &rank);
		}
	}
}
