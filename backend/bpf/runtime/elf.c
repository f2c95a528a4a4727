/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where functions are in a library, whoever made it. Nothing of it is mapped, as its owner may cut
 * it short meanwhile, and every number in it is bounded before memory is taken for it: neither
 * holds for libelf. elf(5) has the layout.
 */
#include <elf.h>
#include <unistd.h>

#include "runtime.h"

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

static unsigned int add(struct rt_probe *out, unsigned int n, const struct rt_call *c, uint64_t at)
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
	return at == GT_NONE64 ? n : add(out, n, c, at);
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
