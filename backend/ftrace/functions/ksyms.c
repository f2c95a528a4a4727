/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which address is which function: /proc/kallsyms, of which only what the filter means is kept. It
 * is ten megabytes with a GPU driver loaded, so it is read in pieces and never held as a whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../internal.h"

#define LINE_MAX_LEN 1024 /* a longer line is none of the kernel's: KSYM_NAME_LEN is 512 */

struct reading {
	struct ft_syms *s;
	struct ft_filter *f;
	uint64_t any; /* all addresses, or-ed */
	bool failed;
};

void ft_syms_free(struct ft_syms *s)
{
	if (!s)
		return;
	free(s->sym);
	free(s->names);
	free(s);
}

/* Room for one more of @n elements; false: no memory */
static bool grow(void **p, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap ? *cap * 2 : 1024;
	void *q;

	if (n < *cap)
		return true;
	while (more <= n)
		more *= 2;
	q = reallocarray(*p, more, size);
	if (!q)
		return false;
	*p = q;
	*cap = more;
	return true;
}

static bool add(struct ft_syms *s, uint64_t addr, const char *name)
{
	size_t n = strnlen(name, GT_FUNCTION_NAME - 1);

	if (s->n == FT_SYMS) {
		s->cut = true;
		return true;
	}
	if (!grow((void **)&s->sym, &s->cap, s->n, sizeof(*s->sym)) ||
	    !grow((void **)&s->names, &s->room, s->len + n, 1))
		return false;
	s->sym[s->n++] = (struct ft_sym){ .addr = addr, .name = (uint32_t)s->len, .id = GT_NONE32 };
	memcpy(s->names + s->len, name, n);
	s->names[s->len + n] = '\0';
	s->len += n + 1;
	return true;
}

/* "ffffffffc0343760 t name	[module]"; types of text are t, T, w and W */
static void line(struct reading *r, char *text)
{
	char *end, *name, *module;
	uint64_t addr = strtoull(text, &end, 16);

	if (end == text || end[0] != ' ' || !end[1] || end[2] != ' ')
		return;
	r->any |= addr;
	if (!strchr("tTwW", end[1]))
		return;
	name = end + 3;
	module = name + strcspn(name, " \t");
	if (*module)
		*module++ = '\0';
	module += strspn(module, " \t[");
	module[strcspn(module, "]")] = '\0';
	/* An empty name would come before each that is meant by the module alone. */
	if (*name && ft_filter_takes(r->f, name, *module ? module : NULL) && !add(r->s, addr, name))
		r->failed = true;
}

/* Lines out of @fd; what is longer than LINE_MAX_LEN is passed over. */
static int read_lines(int fd, struct reading *r)
{
	char buf[65536 + LINE_MAX_LEN];
	size_t have = 0;
	ssize_t got;

	while ((got = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0 ||
	       (got < 0 && errno == EINTR)) {
		char *p = buf, *nl;

		have += got > 0 ? (size_t)got : 0;
		buf[have] = '\0';
		for (; (nl = memchr(p, '\n', have - (size_t)(p - buf))); p = nl + 1) {
			*nl = '\0';
			line(r, p);
		}
		have -= (size_t)(p - buf);
		if (have > LINE_MAX_LEN)
			have = 0;
		memmove(buf, p, have);
		if (r->failed)
			return ENOMEM;
	}
	return got < 0 ? errno : 0;
}

/* Of several names of one address the kernel's own first one comes first. */
static int by_addr(const void *a, const void *b)
{
	const struct ft_sym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void sort(struct ft_syms *s)
{
	size_t n = 0;

	qsort(s->sym, s->n, sizeof(*s->sym), by_addr);
	for (size_t i = 0; i < s->n; i++)
		if (!n || s->sym[n - 1].addr != s->sym[i].addr)
			s->sym[n++] = s->sym[i];
	s->n = n;
}

struct ft_syms *ft_syms_read(const char *path, struct ft_filter *f)
{
	ft_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct reading r = { .f = f };
	int err;

	if (fd < 0)
		return NULL;
	r.s = calloc(1, sizeof(*r.s));
	err = r.s ? read_lines(fd, &r) : ENOMEM;
	if (!err && !r.any)
		err = ENODATA;
	if (err) {
		ft_syms_free(r.s);
		errno = err;
		return NULL;
	}
	if (r.s->n)
		sort(r.s);
	return r.s;
}

struct ft_sym *ft_syms_find(const struct ft_syms *s, uint64_t ip)
{
	size_t lo = 0, hi = s ? s->n : 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->sym[mid].addr <= ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && ip - s->sym[lo - 1].addr <= FT_SYM_DISTANCE ? &s->sym[lo - 1] : NULL;
}
