/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Libraries that have probes.
 *
 * Two overlays of one file are two inodes to whoever looks, and one to the kernel's probes: each
 * call would be told twice. The program sees at the first call of a library which inode is mapped
 * really; the slot that came first tells of it, others are silent until that one is dropped.
 */
#include <fcntl.h>
#include <unistd.h>

#include "runtime.h"
#include "bpf/runtime.skel.h"

static uint32_t slot_of(const struct rt *rt, const struct rt_library *l)
{
	return (uint32_t)(l - rt->lib);
}

/* Makes room for who comes next under the inode that @slot told of. */
static void disown(struct rt *rt, uint32_t slot, uint32_t state)
{
	int slots = bpf_map__fd(rt->skel->maps.slots), owners = bpf_map__fd(rt->skel->maps.owners);
	struct gt_rt_slot s;
	uint32_t owner;

	if (bpf_map_lookup_elem(slots, &slot, &s))
		return;
	s.state = state;
	bpf_map_update_elem(slots, &slot, &s, BPF_ANY);
	if (!bpf_map_lookup_elem(owners, &s.inode, &owner) && owner == slot)
		bpf_map_delete_elem(owners, &s.inode);
	for (uint32_t i = 0; i < GT_RT_SLOTS; i++)
		if (!bpf_map_lookup_elem(slots, &i, &s) && s.state == GT_RT_AGAIN) {
			s.state = GT_RT_NEW;
			bpf_map_update_elem(slots, &i, &s, BPF_ANY);
		}
}

static struct rt_library *known(struct rt *rt, const struct rt_file *f)
{
	for (unsigned int i = 0; i < GT_RT_SLOTS; i++) {
		struct rt_library *l = &rt->lib[i];

		if (l->state == RT_ON && l->dev == f->dev && l->ino == f->ino)
			return l;
	}
	return NULL;
}

/* A free slot, if the user has not got many already. */
static struct rt_library *take_slot(struct rt *rt, uint32_t uid)
{
	struct rt_library *free_one = NULL;
	unsigned int theirs = 0;

	for (unsigned int i = 0; i < GT_RT_SLOTS; i++) {
		if (rt->lib[i].state == RT_FREE)
			free_one = free_one ? free_one : &rt->lib[i];
		else if (rt->lib[i].uid == uid)
			theirs++;
	}
	return theirs < RT_PER_USER || !uid || uid == GT_NONE32 ? free_one : NULL;
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

static void close_links(struct rt_library *l)
{
	while (l->nlinks)
		close(l->links[--l->nlinks]);
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
		close_links(l);
		return ret;
	}
	l->nlinks += (unsigned int)ret;
	return 0;
}

static int open_slot(struct rt *rt, uint32_t slot)
{
	int slots = bpf_map__fd(rt->skel->maps.slots);
	struct gt_rt_slot s;
	int ret = bpf_map_lookup_elem(slots, &slot, &s);

	if (ret)
		return ret;
	s = (struct gt_rt_slot){ .state = GT_RT_NEW, .serial = s.serial + 1 };
	return bpf_map_update_elem(slots, &slot, &s, BPF_ANY);
}

static void add(struct rt *rt, struct rt_library *l, const struct rt_file *f, int fd)
{
	struct rt_probe p[RT_MAX_CALLS];
	int n;

	l->runtime = f->runtime;
	n = functions(rt, l, fd, p);
	if (n <= 0) {
		rt->stats.no_functions++;
		return;
	}
	if (open_slot(rt, slot_of(rt, l)) || attach(rt, l, fd, p, (unsigned int)n)) {
		rt->stats.refused++;
		return;
	}
	l->state = RT_ON;
	l->dev = f->dev;
	l->ino = f->ino;
	l->uid = f->uid;
	l->holder = f->pid;
	l->nprobes = (unsigned int)n;
	rt->stats.libraries++;
	rt->stats.probes += l->nprobes;
}

void rt_library_found(struct rt *rt, const struct rt_file *f)
{
	struct rt_library *l = known(rt, f);
	char path[32];
	int fd;

	if (!l) {
		l = take_slot(rt, f->uid);
		if (!l) {
			rt->stats.full++;
			return;
		}
		/* it is a regular file; a lease on it would have us wait for its holder */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0) {
			rt->stats.refused++;
			return;
		}
		add(rt, l, f, fd);
		close(fd);
	} else if (f->pid) {
		l->holder = f->pid;
	} else {
		l->uid = GT_NONE32;
	}
	l->seen = rt_now();
}

void rt_library_drop(struct rt *rt, struct rt_library *l)
{
	l->state = RT_OUT;
	disown(rt, slot_of(rt, l), GT_RT_OFF);
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
		close_links(l);
		/* a call that was on its way may have made itself known meanwhile */
		disown(rt, i, GT_RT_OFF);
		*l = (struct rt_library){ .state = RT_FREE };
		rt->stats.closing--;
	}
}
