/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The thread that looks for libraries and puts probes on them. It sleeps until it is asked for
 * something, or the program on mmap(2) reports a process that has mapped a file of a library's
 * name; and while something is on, for some seconds at most: then it looks whether each library is
 * still mapped by whom it was seen with last.
 */
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime.h"
#include "bpf/runtime.skel.h"

/*
 * Libraries that processes have mapped. A process's maps have the name, as it was opened; the file
 * itself is what /proc/PID/map_files leads to, in whatever mount namespace it is, under whatever
 * name, deleted or not. It is opened with O_PATH first, so that nothing is asked of its file
 * system, and left alone if somebody's program might have to answer (runtime_library.c).
 */

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

/**
 * rt_look() - at what process @pid has mapped
 * However much that is, no more than some MiB of it is read. A process with mappings that are being
 * changed when the look begins is not waited for; who begins with it meanwhile is, and that can be
 * without end: the kernel waits for a page that a program of the user is to deliver.
 * @found: is called for each library that may be touched, once for each mapping of it; the
 *	descriptor is closed afterwards
 * Return: false: not all was to be seen now
 */
static bool rt_look(struct rt *rt, uint32_t pid,
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

/** rt_look_at_folders() - calls @found for each library that is installed on this machine, with pid 0 */
static void rt_look_at_folders(struct rt *rt,
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

/*
 * What it takes to look at others' mappings, open what they map, and ask for probes: one by one the
 * kernel gives those to CAP_SYS_ADMIN only (since 6.15 and its stable versions: "perf: Revert to
 * requiring CAP_SYS_ADMIN for uprobes"), which the daemon has at hand to mount.
 */
#define RIGHTS (1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_PERFMON | 1ull << CAP_CHECKPOINT_RESTORE)

/* Those of this thread alone; what the daemon has not got stays away. */
static void rights(const struct rt *rt, bool on)
{
	const uint64_t admin = 1ull << CAP_SYS_ADMIN;
	const uint64_t mine = RIGHTS | (rt->ways.multi ? gb_perf_rights() : admin);
	const uint64_t start_only = 1ull << CAP_BPF | admin;

	gt_caps_set(on ? mine : 0, mine | start_only);
}

/* The process's place; if it is to be made, a free one. NULL: there is none. */
static struct rt_turn *turn_of(struct rt *rt, uint32_t pid, bool make)
{
	struct rt_turn *free_one = NULL;
	uint64_t now = gb_now();

	for (unsigned int i = 0; i < RT_PENDING; i++) {
		struct rt_turn *t = &rt->turn[i];

		if (t->pid == pid)
			return t;
		if (!free_one && !t->wanted && t->due <= now)
			free_one = t;
	}
	if (!make || !free_one)
		return NULL;
	*free_one = (struct rt_turn){ .pid = pid };
	return free_one;
}

static void put_on_list(struct rt *rt, uint32_t pid)
{
	struct rt_turn *t = turn_of(rt, pid, true);

	if (!t) {
		rt->look_at_all = true;
		return;
	}
	t->wanted = true;
	rt->stats.put_off += t->due > gb_now();
}

int rt_on_mapped(void *ctx, void *data, size_t size)
{
	const struct gt_rt_mapped *m = data;

	if (size == sizeof(*m))
		put_on_list(ctx, m->pid);
	return 0;
}

/* What cannot be seen now is looked at again, later and later. */
static void look_at(struct rt *rt, uint32_t pid)
{
	struct rt_turn *t;
	bool all;

	rt_step(rt, pid);
	all = rt_look(rt, pid, rt_library_found);
	rt_step_end(rt);
	if (!all)
		put_on_list(rt, pid);
	t = turn_of(rt, pid, false);
	if (!t)
		return;
	t->pause = all || !t->pause ? RT_PAUSE_NS : t->pause * 2;
	if (t->pause > RT_PAUSE_MAX_NS)
		t->pause = RT_PAUSE_MAX_NS;
	t->due = gb_now() + t->pause;
}

static bool is_pid(const char *name, uint32_t *pid)
{
	char *end;
	unsigned long n = strtoul(name, &end, 10);

	*pid = (uint32_t)n;
	return n && n < GT_NONE32 && !*end;
}

static bool has_orders(struct rt *rt)
{
	bool some;

	pthread_mutex_lock(&rt->lock);
	some = rt->quit || rt->asked != rt->taken;
	pthread_mutex_unlock(&rt->lock);
	return some;
}

/* false: not at all of them, as there are orders */
static bool look_at_processes(struct rt *rt)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	bool all = d;
	uint32_t pid;

	while (all && (e = readdir(d))) {
		if (is_pid(e->d_name, &pid))
			look_at(rt, pid);
		all = !has_orders(rt);
	}
	if (d)
		closedir(d);
	return all;
}

/* Everywhere; then what is neither mapped by anybody nor installed goes. */
static void look_everywhere(struct rt *rt)
{
	uint64_t began = gb_now();

	rt->look_at_all = false;
	for (unsigned int i = 0; i < GT_RT_SLOTS; i++)
		if (rt->lib[i].account == RT_INSTALLED)
			rt->lib[i].account = 0; /* nobody's, until it is found again */
	rt_look_at_folders(rt, rt_library_found);
	if (!look_at_processes(rt)) {
		rt->look_at_all = true;
		return;
	}
	for (unsigned int i = 0; i < GT_RT_SLOTS; i++)
		if (rt->lib[i].state == RT_ON && rt->lib[i].seen < began)
			rt_library_drop(rt, &rt->lib[i]);
	rt->stats.full_looks++;
	rt->all_due = gb_now() + RT_ALL_NS;
}

/* Installed ones stay; of others one process that has it is enough. */
static void check(struct rt *rt)
{
	uint64_t now = gb_now();

	rt->check_due = now + RT_CHECK_NS;
	for (unsigned int i = 0; i < GT_RT_SLOTS; i++) {
		struct rt_library *l = &rt->lib[i];

		if (l->state != RT_ON || l->account == RT_INSTALLED)
			continue;
		if (l->holder && l->seen < now)
			look_at(rt, l->holder);
		rt->look_at_all |= now > l->seen && now - l->seen > RT_LINGER_NS;
	}
}

static void trigger(struct rt *rt, bool on)
{
	struct bpf_program *prog[2] = { rt->skel->progs.gt_rt_mmap, rt->skel->progs.gt_rt_mmapped };
	const char *const name[2] = { "sys_enter_mmap", "sys_exit_mmap" };

	for (int i = 0; i < 2; i++) {
		if (on && rt->trigger[i] < 0)
			rt->trigger[i] = gb_link_to_tracepoint(rt->tracefs, "syscalls", name[i],
							       bpf_program__fd(prog[i]));
		if (!on && rt->trigger[i] >= 0) {
			close(rt->trigger[i]);
			rt->trigger[i] = -1;
		}
	}
}

/* The rest goes on telling, unless it depends on there being others: see functions() in runtime_library.c.
 */
static void turn_to(struct rt *rt, unsigned int want)
{
	bool several = want & (want - 1), had_several = rt->set & (rt->set - 1);

	for (unsigned int i = 0; i < GT_RT_SLOTS; i++) {
		struct rt_library *l = &rt->lib[i];

		if (l->state == RT_ON && (!(want & 1u << l->runtime) || several != had_several))
			rt_library_drop(rt, l);
	}
	rt->set = want;
	trigger(rt, want != 0);
	if (want)
		look_everywhere(rt);
}

static bool lost_some(struct rt *rt)
{
	uint64_t n = rt->unreported;
	uint32_t zero = 0;
	bool some;

	bpf_map_lookup_elem(bpf_map__fd(rt->skel->maps.unreported), &zero, &n);
	gb_missed_by(bpf_program__fd(rt->skel->progs.gt_rt_mmap), &n);
	gb_missed_by(bpf_program__fd(rt->skel->progs.gt_rt_mmapped), &n);
	some = n != rt->unreported;
	rt->unreported = n;
	return some;
}

/* Where the time for it has come. @now: everywhere, at once */
static void look(struct rt *rt, bool now)
{
	uint64_t t = gb_now();

	ring_buffer__consume(rt->mapped);
	rt->look_at_all |= lost_some(rt);
	if (t >= rt->check_due)
		check(rt);
	if (now || (rt->look_at_all && t >= rt->all_due))
		look_everywhere(rt);
	for (unsigned int i = 0; i < RT_PENDING && !has_orders(rt); i++) {
		if (!rt->turn[i].wanted || rt->turn[i].due > t)
			continue;
		rt->turn[i].wanted = false;
		look_at(rt, rt->turn[i].pid);
	}
}

static uint64_t next_due(const struct rt *rt)
{
	uint64_t due = rt->check_due;

	if (rt->look_at_all && rt->all_due < due)
		due = rt->all_due;
	for (unsigned int i = 0; i < RT_PENDING; i++)
		if (rt->turn[i].wanted && rt->turn[i].due < due)
			due = rt->turn[i].due;
	return due;
}

static int ms_until(uint64_t due)
{
	uint64_t now = gb_now();

	return due > now ? (int)((due - now) / 1000000) + 1 : 0;
}

/* Until there is something to do: orders, or after a rest that lasts until @rested, mappings. */
static void sleep_now(struct rt *rt, bool on, uint64_t rested)
{
	struct pollfd fds[2] = {
		{ .fd = rt->wake, .events = POLLIN },
		{ .fd = ring_buffer__epoll_fd(rt->mapped), .events = POLLIN },
	};
	uint64_t n;

	if (!poll(fds, 1, on ? ms_until(rested) : -1))
		poll(fds, 2, ms_until(next_due(rt)));
	if (fds[0].revents && read(rt->wake, &n, sizeof(n)) < 0)
		return;
}

/* What is asked of the thread now; false: to end. */
static bool orders(struct rt *rt, unsigned int *want, bool *all)
{
	bool quit;

	pthread_mutex_lock(&rt->lock);
	quit = rt->quit;
	*want = rt->want;
	rt->taken = rt->asked;
	*all = rt->look;
	rt->look = false;
	pthread_mutex_unlock(&rt->lock);
	return !quit;
}

static void emit_done(struct rt *rt)
{
	pthread_mutex_lock(&rt->lock);
	rt->done = rt->taken;
	pthread_cond_broadcast(&rt->cond);
	pthread_mutex_unlock(&rt->lock);
}

/* Who waited for it gets the answer; if nobody does any more, what is its goes with it. */
static void end(struct rt *rt)
{
	bool left;

	pthread_mutex_lock(&rt->lock);
	rt->ended = true;
	left = rt->left;
	pthread_cond_broadcast(&rt->cond);
	pthread_mutex_unlock(&rt->lock);
	if (left)
		rt_free(rt);
}

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void *rt_thread(void *arg)
{
	unsigned int want = 0;
	struct rt *rt = arg;
	uint64_t began = 0;
	bool all, asked;

	/* its own: of another thread it would be a file that is written */
	pthread_setname_np(pthread_self(), "gt-runtimes");
	rights(rt, false);
	while (orders(rt, &want, &all)) {
		asked = all || want != rt->set;
		rights(rt, true);
		if (want != rt->set)
			turn_to(rt, want);
		else if (want)
			look(rt, all);
		rights(rt, false);
		emit_done(rt);
		rt_libraries_close(rt);
		/* it has a quarter of a CPU at most, whatever processes map */
		sleep_now(rt, want, asked ? 0 : gb_now() + 3 * (cpu_time() - began));
		began = cpu_time();
	}
	turn_to(rt, 0);
	rt_libraries_close(rt);
	end(rt);
	return NULL;
}
