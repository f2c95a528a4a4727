/* SPDX-License-Identifier: GPL-2.0 */
/* Libraries that have probes. */
#include <fcntl.h>
#include <unistd.h>

#include "runtime.h"
#include "bpf/runtime.skel.h"

static uint32_t slot_of(const struct rt *rt, const struct rt_library *l)
{
	return (uint32_t)(l - rt->lib);
}

static int turn_slot(struct rt *rt, const struct rt_library *l, bool on)
{
	int slots = bpf_map__fd(rt->skel->maps.slots);
	uint32_t slot = slot_of(rt, l);
	struct gt_rt_slot s;
	int ret = bpf_map_lookup_elem(slots, &slot, &s);

	if (ret)
		return ret;
	s.on = on;
	s.serial += on;
	return bpf_map_update_elem(slots, &slot, &s, BPF_ANY);
}

static struct rt_library *known(struct rt *rt, uint64_t inode)
{
	for (unsigned int i = 0; i < GT_RT_SLOTS; i++)
		if (rt->lib[i].state == RT_ON && rt->lib[i].inode == inode)
			return &rt->lib[i];
	return NULL;
}

/* A free slot, if who answers for it has not got many already. */
static struct rt_library *take_slot(struct rt *rt, uint64_t account)
{
	struct rt_library *free_one = NULL;
	unsigned int theirs = 0;

	for (unsigned int i = 0; i < GT_RT_SLOTS; i++) {
		if (rt->lib[i].state == RT_FREE)
			free_one = free_one ? free_one : &rt->lib[i];
		else if (rt->lib[i].account == account)
			theirs++;
	}
	return theirs < RT_PER_ACCOUNT || account == RT_INSTALLED ? free_one : NULL;
}

static bool is_same(const struct rt_vain *v, const struct rt_file *f)
{
	return v->runtime == f->runtime && !memcmp(&v->content, &f->content, sizeof(v->content));
}

/*
 * Was the file looked through in vain already, or have so many of theirs been of late that no more
 * are? Who makes files without end would have us look through them without end.
 */
static bool is_in_vain(struct rt *rt, const struct rt_file *f)
{
	uint64_t now = rt_now();
	unsigned int theirs = 0;

	for (unsigned int i = 0; i < RT_VAIN; i++) {
		const struct rt_vain *v = &rt->vain[i];

		if (!v->at || (v->refused && now - v->at > RT_VAIN_NS))
			continue;
		if (is_same(v, f))
			return true;
		theirs += v->account == f->account && now - v->at < RT_VAIN_NS;
	}
	if (theirs < RT_VAIN_PER_ACCOUNT)
		return false;
	rt->stats.full++;
	return true;
}

static void was_in_vain(struct rt *rt, const struct rt_file *f, bool refused)
{
	struct rt_vain *v = &rt->vain[rt->nvain++ % RT_VAIN];

	*v = (struct rt_vain){
		.content = f->content,
		.at = rt_now(),
		.account = f->account,
		.runtime = f->runtime,
		.refused = refused,
	};
	if (refused)
		rt->stats.refused++;
	else
		rt->stats.no_functions++;
}

/* The functions of the file, with the cookies for its slot. */
static int functions(struct rt *rt, struct rt_library *l, int fd, struct rt_probe *p)
{
	bool several = rt->set & (rt->set - 1);
	int n = rt_elf_find(fd, rt_runtimes[l->runtime].calls, p, RT_MAX_CALLS);

	for (int i = 0; i < n; i++) {
		p[i].cookie |= GT_RT_COOKIE(0, 0, 0, 0, 0, slot_of(rt, l));
		/* what one library calls in another is only known to be inside if it is known until
		 * when */
		if (several)
			p[i].cookie |= GT_RT_COOKIE(0, 0, 0, 0, GT_RT_RETURN, 0);
	}
	return n;
}

/* Each is a step of its own: many take long, and nobody is waited for. */
static void close_links(struct rt *rt, struct rt_library *l)
{
	while (l->nlinks) {
		rt_step(rt, 0);
		close(l->links[--l->nlinks]);
	}
}

/* Returns first: one without a begin tells nothing. */
static int attach(struct rt *rt, struct rt_library *l, int fd, const struct rt_probe *p,
		  unsigned int n)
{
	int enter = bpf_program__fd(rt->skel->progs.gt_rt_enter);
	int leave = bpf_program__fd(rt->skel->progs.gt_rt_leave);
	struct rt_probe back[RT_MAX_CALLS];
	unsigned int nback = 0;
	int ret;

	for (unsigned int i = 0; i < n; i++)
		if (GT_RT_HOW(p[i].cookie) & GT_RT_RETURN)
			back[nback++] = p[i];
	if (nback) {
		ret = rt_attach(&rt->ways, leave, fd, back, nback, true, l->links);
		if (ret < 0)
			return ret;
		l->nlinks = (unsigned int)ret;
	}
	ret = rt_attach(&rt->ways, enter, fd, p, n, false, l->links + l->nlinks);
	if (ret < 0) {
		close_links(rt, l);
		return ret;
	}
	l->nlinks += (unsigned int)ret;
	return 0;
}

static bool add(struct rt *rt, struct rt_library *l, const struct rt_file *f, int fd)
{
	struct rt_probe p[RT_MAX_CALLS];
	bool refused;
	int n;

	l->runtime = f->runtime;
	n = functions(rt, l, fd, p);
	if (n <= 0) {
		was_in_vain(rt, f, false);
		return false;
	}
	rt_step(rt, 0); /* the kernel waits for each that has it mapped */
	refused = turn_slot(rt, l, true) || attach(rt, l, fd, p, (unsigned int)n);
	rt_step(rt, f->pid);
	if (refused) {
		was_in_vain(rt, f, true);
		return false;
	}
	l->state = RT_ON;
	l->account = f->account;
	l->nprobes = (unsigned int)n;
	rt->stats.libraries++;
	rt->stats.probes += l->nprobes;
	return true;
}

static void touch(struct rt_library *l, const struct rt_file *f)
{
	if (f->pid)
		l->holder = f->pid;
	else
		l->account = RT_INSTALLED;
	l->seen = rt_now();
}

/*
 * What @fd leads to may be another file than what was mapped: an overlay has it copied before it is
 * written. The kernel puts probes on that one.
 */
static enum rt_answer add_opened(struct rt *rt, const struct rt_file *f, int fd)
{
	struct rt_library *l;
	uint64_t inode = 0;
	enum rt_answer a = rt_behind_open(rt, fd, &inode);

	if (a == RT_UNSAFE)
		rt->stats.unsafe++;
	if (a != RT_SAFE)
		return a;
	l = known(rt, inode);
	if (!l) {
		l = take_slot(rt, f->account);
		if (!l) {
			rt->stats.full++;
			rt->no_room = true;
			return RT_SAFE;
		}
		if (!add(rt, l, f, fd))
			return RT_SAFE;
		l->inode = inode;
	}
	touch(l, f);
	return RT_SAFE;
}

enum rt_answer rt_library_found(struct rt *rt, const struct rt_file *f)
{
	struct rt_library *l = f->inode ? known(rt, f->inode) : NULL;
	enum rt_answer a;
	char path[32];
	int fd;

	if (l) {
		touch(l, f);
		return RT_SAFE;
	}
	if (is_in_vain(rt, f))
		return RT_SAFE;
	/* it is a regular file; a lease on it would have us wait for its holder */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		was_in_vain(rt, f, true);
		return RT_SAFE;
	}
	a = add_opened(rt, f, fd);
	close(fd);
	return a;
}

void rt_library_drop(struct rt *rt, struct rt_library *l)
{
	l->state = RT_OUT;
	turn_slot(rt, l, false);
	rt->stats.libraries--;
	rt->stats.probes -= l->nprobes;
	rt->stats.closing++;
}

void rt_libraries_close(struct rt *rt)
{
	for (unsigned int i = 0; i < GT_RT_SLOTS; i++) {
		struct rt_library *l = &rt->lib[i];

		if (l->state != RT_OUT)
			continue;
		close_links(rt, l);
		rt_step_end(rt);
		*l = (struct rt_library){ .state = RT_FREE };
		rt->stats.closing--;
		rt->look_at_all |= rt->no_room;
		rt->no_room = false;
	}
}
