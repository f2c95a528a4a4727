/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The thread that looks for libraries and puts probes on them. It sleeps until it is asked for
 * something, or the program on mmap(2) tells of a process that has mapped a file of a library's
 * name; and while something is on, for some seconds at most: then it looks whether each library is
 * still mapped by whom it was seen with last.
 */
#include <dirent.h>
#include <linux/capability.h>
#include <poll.h>
#include <unistd.h>

#include "runtime.h"
#include "bpf/runtime.skel.h"

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

	gb_rights(on ? mine : 0, mine | start_only);
}

static void put_on_list(struct rt *rt, uint32_t pid)
{
	for (unsigned int i = 0; i < rt->npending; i++)
		if (rt->pending[i] == pid)
			return;
	if (rt->npending == RT_PENDING)
		rt->look_at_all = true;
	else
		rt->pending[rt->npending++] = pid;
}

int rt_on_mapped(void *ctx, void *data, size_t size)
{
	const struct gt_rt_mapped *m = data;

	if (size == sizeof(*m))
		put_on_list(ctx, m->pid);
	return 0;
}

/* What cannot be seen now is looked at again. */
static void look_at(struct rt *rt, uint32_t pid)
{
	if (!rt_look(rt, pid, rt_library_found))
		put_on_list(rt, pid);
}

static bool is_pid(const char *name, uint32_t *pid)
{
	char *end;
	unsigned long n = strtoul(name, &end, 10);

	*pid = (uint32_t)n;
	return n && n < GT_NONE32 && !*end;
}

static void look_at_processes(struct rt *rt)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	uint32_t pid;

	while (d && (e = readdir(d)))
		if (is_pid(e->d_name, &pid))
			look_at(rt, pid);
	if (d)
		closedir(d);
}

/* Everywhere; then what is neither mapped by anybody nor installed goes. */
static void look_everywhere(struct rt *rt)
{
	uint64_t began = rt_now();

	rt->look_at_all = false;
	for (unsigned int i = 0; i < GT_RT_SLOTS; i++)
		if (rt->lib[i].uid == GT_NONE32)
			rt->lib[i].uid = 0;
	rt_look_at_folders(rt, rt_library_found);
	look_at_processes(rt);
	for (unsigned int i = 0; i < GT_RT_SLOTS; i++)
		if (rt->lib[i].state == RT_ON && rt->lib[i].seen < began)
			rt_library_drop(rt, &rt->lib[i]);
}

/* Installed ones stay; of others one process that has it is enough. */
static void check(struct rt *rt)
{
	uint64_t now = rt_now();
	bool gone = false;

	for (unsigned int i = 0; i < GT_RT_SLOTS; i++) {
		struct rt_library *l = &rt->lib[i];

		if (l->state != RT_ON || l->uid == GT_NONE32)
			continue;
		if (l->holder && l->seen < now)
			look_at(rt, l->holder);
		gone |= now > l->seen && now - l->seen > RT_LINGER_NS;
	}
	if (gone)
		look_everywhere(rt);
}

static void trigger(struct rt *rt, bool on)
{
	struct bpf_program *prog[2] = { rt->skel->progs.gt_rt_mmap, rt->skel->progs.gt_rt_mmapped };
	const char *const name[2] = { "syscalls/sys_enter_mmap", "syscalls/sys_exit_mmap" };

	for (int i = 0; i < 2; i++) {
		if (on && rt->trigger[i] < 0)
			rt->trigger[i] = rt_attach_tracepoint(rt->tracefs, name[i],
							      bpf_program__fd(prog[i]));
		if (!on && rt->trigger[i] >= 0) {
			close(rt->trigger[i]);
			rt->trigger[i] = -1;
		}
	}
}

/* The rest goes on telling, unless it depends on there being others: see functions() in library.c.
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
	uint64_t n = rt->untold;
	uint32_t zero = 0;
	bool some;

	bpf_map_lookup_elem(bpf_map__fd(rt->skel->maps.untold), &zero, &n);
	some = n != rt->untold;
	rt->untold = n;
	return some;
}

static void look(struct rt *rt, bool all)
{
	uint32_t pids[RT_PENDING];
	unsigned int n;

	ring_buffer__consume(rt->mapped);
	if (lost_some(rt) || all)
		rt->look_at_all = true;
	if (rt->look_at_all)
		look_everywhere(rt);
	n = rt->npending;
	memcpy(pids, rt->pending, sizeof(pids));
	rt->npending = 0;
	for (unsigned int i = 0; i < n; i++)
		look_at(rt, pids[i]);
}

/* Until there is something to do; true: the time is up for a check. */
static bool sleep_now(struct rt *rt, int ms)
{
	struct pollfd fds[2] = {
		{ .fd = rt->wake, .events = POLLIN },
		{ .fd = ring_buffer__epoll_fd(rt->mapped), .events = POLLIN },
	};
	uint64_t n;

	if (!poll(fds, 2, ms))
		return true;
	if (fds[0].revents && read(rt->wake, &n, sizeof(n)) < 0)
		return false;
	return false;
}

/* What is asked of the thread now; false: to end. */
static bool orders(struct rt *rt, unsigned int *want, uint64_t *asked, bool *all)
{
	bool quit;

	pthread_mutex_lock(&rt->lock);
	quit = rt->quit;
	*want = rt->want;
	*asked = rt->asked;
	*all = rt->look;
	rt->look = false;
	pthread_mutex_unlock(&rt->lock);
	return !quit;
}

static void tell_done(struct rt *rt, uint64_t asked)
{
	pthread_mutex_lock(&rt->lock);
	rt->done = asked;
	pthread_cond_broadcast(&rt->cond);
	pthread_mutex_unlock(&rt->lock);
}

void *rt_thread(void *arg)
{
	unsigned int want = 0;
	struct rt *rt = arg;
	uint64_t asked;
	bool all, due = false;

	rights(rt, false);
	while (orders(rt, &want, &asked, &all)) {
		rights(rt, true);
		if (want != rt->set)
			turn_to(rt, want);
		else if (want)
			look(rt, all);
		if (want && due)
			check(rt);
		rights(rt, false);
		tell_done(rt, asked);
		rt_libraries_close(rt);
		due = sleep_now(rt, !want ? -1 : rt->npending ? RT_AGAIN_MS : RT_CHECK_MS);
	}
	turn_to(rt, 0);
	rt_libraries_close(rt);
	return NULL;
}
