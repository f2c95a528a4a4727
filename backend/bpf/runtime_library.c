/* SPDX-License-Identifier: GPL-2.0 */
/* Libraries that have probes. */
#include <elf.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime.h"
#include "bpf/runtime.skel.h"

/*
 * Who would have to answer if a file were touched. Not only FUSE asks a program of the
 * user, and not only where the file lies on FUSE directly: a user can mount an overlay with
 * lower folder is FUSE, and the kernel itself reads the file when it is asked for probes on it,
 * while no process of the machine can fork. What has no answer is left alone.
 *
 * The kernel's program (bpf/runtime.bpf.c) says what is below an overlay. Whether there is more
 * between that file and the overlay (metacopy, with attributes and data in two files: since Linux
 * 6.15 anybody's overlay can have it) is not to be seen, so overlays count only if they were
 * mounted by the administrator.
 */

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

/* Which @inode probes on the open file @fd are on, and whether it may be read */
static enum rt_answer behind_open(struct rt *rt, int fd, uint64_t *inode)
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

/*
 * Where functions are in a library, whoever made it. Nothing of it is mapped, as its owner may cut
 * it short meanwhile, and every number in it is bounded before memory is taken for it: neither
 * holds for libelf. elf(5) has the layout.
 */

#define MAX_SEGMENTS 64
#define MAX_SECTIONS 4096
#define MAX_SYMBOLS  (1u << 16)
#define MAX_STRINGS  (4u << 20)
#define PIECE	     4096 /* symbols read at a time */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

/* @by_name: the @ncalls functions that are looked for: a file has up to MAX_SYMBOLS names */
struct elf {
	int fd;
	const struct rt_call *by_name[RT_MAX_CALLS];
	unsigned int ncalls;
	Elf64_Ehdr head;
	Elf64_Phdr seg[MAX_SEGMENTS];
	Elf64_Shdr symbols;
	char *strings;
	uint64_t strings_len;
};

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
	while (n) {
		ssize_t got = at <= INT64_MAX ? pread(fd, to, n, (off_t)at) : -1;

		if (got <= 0)
			return false;
		to = (char *)to + got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return true;
}

static bool read_head(struct elf *e)
{
	const unsigned char *id = e->head.e_ident;

	if (!read_at(e->fd, &e->head, sizeof(e->head), 0) || memcmp(id, ELFMAG, SELFMAG) ||
	    id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB ||
	    e->head.e_machine != MACHINE || e->head.e_type != ET_DYN)
		return false;
	if (e->head.e_phnum > MAX_SEGMENTS || e->head.e_phentsize != sizeof(Elf64_Phdr) ||
	    e->head.e_shnum > MAX_SECTIONS || e->head.e_shentsize != sizeof(Elf64_Shdr))
		return false;
	return read_at(e->fd, e->seg, e->head.e_phnum * sizeof(Elf64_Phdr), e->head.e_phoff);
}

static bool read_strings(struct elf *e, const Elf64_Shdr *s)
{
	if (s->sh_type != SHT_STRTAB || !s->sh_size || s->sh_size > MAX_STRINGS)
		return false;
	e->strings = calloc(1, s->sh_size + 1);
	e->strings_len = s->sh_size;
	return e->strings && read_at(e->fd, e->strings, s->sh_size, s->sh_offset);
}

/* The dynamic symbols' table and its names: what a loader looks names up in. */
static bool read_symbols(struct elf *e)
{
	gb_auto_free Elf64_Shdr *sec = calloc(e->head.e_shnum + 1u, sizeof(*sec));

	if (!sec || !read_at(e->fd, sec, e->head.e_shnum * sizeof(*sec), e->head.e_shoff))
		return false;
	for (unsigned int i = 0; i < e->head.e_shnum; i++) {
		if (sec[i].sh_type != SHT_DYNSYM)
			continue;
		e->symbols = sec[i];
		return sec[i].sh_entsize == sizeof(Elf64_Sym) && sec[i].sh_link < e->head.e_shnum &&
		       read_strings(e, &sec[sec[i].sh_link]);
	}
	return false;
}

/* Where in the file the code at @addr is; GT_NONE64: it is no code of the file. */
static uint64_t place_of(const struct elf *e, uint64_t addr)
{
	for (unsigned int i = 0; i < e->head.e_phnum; i++) {
		const Elf64_Phdr *p = &e->seg[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && addr >= p->p_vaddr &&
		    addr - p->p_vaddr < p->p_filesz && p->p_offset <= INT64_MAX - p->p_filesz)
			return addr - p->p_vaddr + p->p_offset;
	}
	return GT_NONE64;
}

static int compare(const void *a, const void *b)
{
	const struct rt_call *const *x = a, *const *y = b;

	return strcmp((*x)->symbol, (*y)->symbol);
}

static int compare_name(const void *name, const void *c)
{
	const struct rt_call *const *y = c;

	return strcmp(name, (*y)->symbol);
}

static void sort_calls(struct elf *e, const struct rt_call *c)
{
	for (; c->symbol && e->ncalls < RT_MAX_CALLS; c++)
		e->by_name[e->ncalls++] = c;
	qsort(e->by_name, e->ncalls, sizeof(*e->by_name), compare);
}

static const struct rt_call *call_of(const struct elf *e, const char *name)
{
	const struct rt_call **c =
		bsearch(name, e->by_name, e->ncalls, sizeof(*e->by_name), compare_name);

	return c ? *c : NULL;
}

static unsigned int add_probe(struct rt_probe *out, unsigned int n, const struct rt_call *c,
			      uint64_t at)
{
	for (unsigned int i = 0; i < n; i++)
		if (out[i].offset == at)
			return n;
	out[n].offset = at;
	out[n].cookie = GT_RT_COOKIE(c->type, c->ctx, c->bytes, c->times, c->how, 0);
	return n + 1;
}

static unsigned int take(const struct elf *e, const Elf64_Sym *s, struct rt_probe *out,
			 unsigned int n)
{
	const struct rt_call *c;
	uint64_t at;

	if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF ||
	    s->st_name >= e->strings_len)
		return n;
	c = call_of(e, e->strings + s->st_name);
	if (!c)
		return n;
	at = place_of(e, s->st_value);
	return at == GT_NONE64 ? n : add_probe(out, n, c, at);
}

static int find(struct elf *e, struct rt_probe *out, unsigned int max)
{
	uint64_t total = e->symbols.sh_size / sizeof(Elf64_Sym), at = e->symbols.sh_offset;
	gb_auto_free Elf64_Sym *sym = calloc(PIECE, sizeof(*sym));
	unsigned int n = 0;

	if (!sym)
		return -ENOMEM;
	if (total > MAX_SYMBOLS)
		return -ENOEXEC;
	while (total && n < max) {
		unsigned int piece = total < PIECE ? (unsigned int)total : PIECE;

		if (!read_at(e->fd, sym, piece * sizeof(*sym), at))
			return -ENOEXEC;
		for (unsigned int i = 0; i < piece && n < max; i++)
			n = take(e, &sym[i], out, n);
		at += piece * sizeof(*sym);
		total -= piece;
	}
	return (int)n;
}

int rt_elf_find(int fd, const struct rt_call *calls, struct rt_probe *out, unsigned int max)
{
	struct elf e = { .fd = fd };
	int ret = -ENOEXEC;

	sort_calls(&e, calls);
	if (read_head(&e) && read_symbols(&e))
		ret = find(&e, out, max);
	free(e.strings);
	return ret;
}

/*
 * Probes on functions of files. The kernel takes a path: that of a descriptor, /proc/self/fd/N,
 * leads to the file itself, whatever its name is there, if it has one left.
 *
 * libbpf of Debian 12 (1.1) does not know the way for all of a library at once, struct
 * bpf_attr.link_create.uprobe_multi of Linux 6.6; one by one the kernel takes seconds to remove
 * them.
 */

#define UPROBE_MULTI	    48 /* enum bpf_attach_type: BPF_TRACE_UPROBE_MULTI */
#define UPROBE_MULTI_RETURN 1  /* BPF_F_UPROBE_MULTI_RETURN */
#define UPROBE_PMU	    "/sys/bus/event_source/devices/uprobe/"

/** struct multi_attr - union bpf_attr's link_create with uprobe_multi, include/uapi/linux/bpf.h */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, reserved;
};

static int multi(int prog, const char *path, const struct rt_probe *p, unsigned int n,
		 bool at_return)
{
	uint64_t offsets[RT_MAX_CALLS], cookies[RT_MAX_CALLS];
	struct multi_attr a = { .prog_fd = (uint32_t)prog, .attach_type = UPROBE_MULTI, .cnt = n };
	int fd;

	for (unsigned int i = 0; i < n; i++) {
		offsets[i] = p[i].offset;
		cookies[i] = p[i].cookie;
	}
	a.path = (uintptr_t)path;
	a.offsets = (uintptr_t)offsets;
	a.cookies = (uintptr_t)cookies;
	a.multi_flags = at_return ? UPROBE_MULTI_RETURN : 0;
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof(a));
	return fd < 0 ? -errno : fd;
}

static int single(const struct rt_ways *w, int prog, const char *path, const struct rt_probe *p,
		  bool at_return)
{
	struct perf_event_attr a = { .type = (uint32_t)w->type };

	a.config = at_return ? 1ull << w->retprobe : 0;
	a.config1 = (uintptr_t)path; /* uprobe_path */
	a.config2 = p->offset;	     /* probe_offset */
	return gb_perf_link(prog, &a, p->cookie);
}

/**
 * rt_attach() - program @prog at @n places of the file @fd
 * @at_return: when the functions return
 * @links: what to close, @n at most. Probes that the kernel refuses are left out.
 * Return: how many links there are, or -errno if there is none
 */
static int rt_attach(const struct rt_ways *w, int prog, int fd, const struct rt_probe *p,
		     unsigned int n, bool at_return, int *links)
{
	int link = -ENOENT, got = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (w->multi) {
		link = multi(prog, path, p, n, at_return);
		if (link >= 0) {
			links[0] = link;
			return 1;
		}
	}
	/* one that the kernel does not take makes it refuse all */
	for (unsigned int i = 0; i < n; i++) {
		link = w->multi ? multi(prog, path, &p[i], 1, at_return)
				: single(w, prog, path, &p[i], at_return);
		if (link >= 0)
			links[got++] = link;
	}
	return got ? got : link;
}

int rt_ways_find(struct rt_ways *w, char *err, size_t len)
{
	*w = (struct rt_ways){ 0 };
	if (gb_read_number(UPROBE_PMU "type", "%d", &w->type) ||
	    gb_read_number(UPROBE_PMU "format/retprobe", "config:%d", &w->retprobe) ||
	    w->retprobe < 0 || w->retprobe > 63)
		return gb_sentence(err, len, EOPNOTSUPP,
				   "the kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
	return 0;
}

bool rt_knows_multi(int prog)
{
	static const struct rt_probe nowhere = { 0, 0 };
	int link = multi(prog, "/", &nowhere, 1, false);

	if (link >= 0)
		close(link);
	return link == -EBADF; /* it finds fault with the path only */
}

void rt_multi_type(struct bpf_program *prog)
{
	bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)UPROBE_MULTI);
}

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
	uint64_t now = gb_now();
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
		.at = gb_now(),
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

/* Returns first: one without a begin reports nothing. */
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

static bool add_library(struct rt *rt, struct rt_library *l, const struct rt_file *f, int fd)
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
	l->seen = gb_now();
}

/*
 * What @fd leads to may be another file than what was mapped: an overlay has it copied before it is
 * written. The kernel puts probes on that one.
 */
static enum rt_answer add_opened(struct rt *rt, const struct rt_file *f, int fd)
{
	struct rt_library *l;
	uint64_t inode = 0;
	enum rt_answer a = behind_open(rt, fd, &inode);

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
		if (!add_library(rt, l, f, fd))
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
