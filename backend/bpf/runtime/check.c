/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose answer would be waited for if a file were touched. Not only FUSE asks a program of the
 * user, and not only to whom the file lies on FUSE directly: a user can mount an overlay whose
 * lower folder is FUSE, and the kernel itself reads the file when it is asked for probes on it,
 * while no process of the machine can fork. What has no answer is left alone.
 *
 * The kernel's program (bpf/runtime_check.h) says what is below an overlay. Whether there is more
 * between that file and the overlay (metacopy, whose attributes and data are two files: since Linux
 * 6.15 anybody's overlay can have it) is not to be seen, so overlays count only if they were
 * mounted by the administrator.
 */
#include <linux/magic.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime.h"
#include "bpf/runtime.skel.h"

#define BUSY_TRIES 50

/* File systems that the kernel alone answers for, from memory or a disk of this machine. Those that
 * linux/magic.h lacks: fs/…/super.c of each. */
static const uint32_t locals[] = {
	EXT4_SUPER_MAGIC, /* ext2 and ext3 likewise */
	XFS_SUPER_MAGIC,   BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,	    TMPFS_MAGIC,
	RAMFS_MAGIC,	   SQUASHFS_MAGIC,    EROFS_SUPER_MAGIC_V1, ISOFS_SUPER_MAGIC,
	MSDOS_SUPER_MAGIC, EXFAT_SUPER_MAGIC, REISERFS_SUPER_MAGIC, NILFS_SUPER_MAGIC,
	0x3153464a, /* jfs */
	0xca451a4e, /* bcachefs */
	0x2fc12fc1, /* zfs */
	0x7366746e, /* ntfs3 */
};

bool rt_is_local(uint64_t magic)
{
	for (size_t i = 0; i < sizeof(locals) / sizeof(*locals); i++)
		if (locals[i] == magic)
			return true;
	return false;
}

/* The program runs on thread @tid when its iterator is read. */
static int ask(struct rt *rt, uint32_t tid)
{
	union bpf_iter_link_info info = { .task.tid = tid };
	LIBBPF_OPTS(bpf_link_create_opts, o, .iter_info = &info, .iter_info_len = sizeof(info));
	int link, iter, ret = 0;
	char c;

	link = bpf_link_create(bpf_program__fd(rt->skel->progs.gt_rt_look), 0, BPF_TRACE_ITER, &o);
	if (link < 0)
		return link;
	iter = bpf_iter_create(link);
	if (iter < 0 || read(iter, &c, 1) < 0)
		ret = -errno;
	if (iter >= 0)
		close(iter);
	close(link);
	return ret;
}

static struct gt_rt_check behind(struct rt *rt, uint32_t tid, int fd, uint64_t addr)
{
	struct gt_rt_check c = { .fd = fd, .addr = addr };
	int map = bpf_map__fd(rt->skel->maps.check);
	const uint32_t zero = 0;

	if (bpf_map_update_elem(map, &zero, &c, BPF_ANY) || ask(rt, tid) ||
	    bpf_map_lookup_elem(map, &zero, &c))
		c.state = GT_RT_UNKNOWN;
	return c;
}

bool rt_can_look(struct rt *rt)
{
	return !ask(rt, (uint32_t)getpid());
}

bool rt_is_busy(struct rt *rt, uint32_t pid)
{
	return behind(rt, pid, -1, 0).state == GT_RT_BUSY;
}

enum rt_answer rt_behind_mapping(struct rt *rt, struct rt_file *f, uint64_t addr)
{
	const struct gt_rt_check c = behind(rt, f->pid, f->fd, addr);

	f->inode = c.inode;
	f->account = c.account;
	if (c.state == GT_RT_BUSY)
		return RT_LATER;
	return c.state == GT_RT_KNOWN && rt_is_local(c.magic) && !(c.stacked && c.by_user)
		       ? RT_SAFE
		       : RT_UNSAFE;
}

enum rt_answer rt_behind_file(struct rt *rt, const struct rt_file *f)
{
	const struct gt_rt_check c = behind(rt, (uint32_t)getpid(), f->fd, 0);
	bool fine = rt_is_local(c.magic) || (c.magic == OVERLAYFS_SUPER_MAGIC && !c.by_user);

	return c.state == GT_RT_KNOWN && fine ? RT_SAFE : RT_UNSAFE;
}

/* Other threads of ours map and unmap, too. */
static enum rt_answer behind_ours(struct rt *rt, struct rt_file *f, uint64_t addr)
{
	enum rt_answer a = RT_LATER;

	for (int i = 0; i < BUSY_TRIES && a == RT_LATER; i++) {
		if (i)
			sched_yield();
		a = rt_behind_mapping(rt, f, addr);
	}
	return a;
}

enum rt_answer rt_behind_open(struct rt *rt, int fd, uint64_t *inode)
{
	struct rt_file own = { .fd = fd, .pid = (uint32_t)getpid() };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	enum rt_answer a = RT_UNSAFE;

	if (map == MAP_FAILED)
		return a;
	a = behind_ours(rt, &own, (uintptr_t)map);
	*inode = own.inode;
	munmap(map, page);
	return a;
}
