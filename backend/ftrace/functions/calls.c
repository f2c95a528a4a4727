/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a call to a record: a FUNCTION with a small number for the function, with a name that goes before
 * its first; or what an event map says of that function, in a section [function/NAME].
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/callname.h"
#include "../internal.h"

/*
 * Which address is which function: /proc/kallsyms, of which only what the filter means is kept. It
 * is ten megabytes with a GPU driver loaded, so it is read in pieces and never held as a whole.
 */

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

#define IN_INTERRUPT 0x18 /* common_flags: TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ */
#define FLAGS_OFF    2	  /* of common_flags, a byte behind common_type */

/* By number of the function: its name is in the stream. Numbers are the same in all instances. */
static bool reported[GT_MAX_FUNCTIONS];

int ft_calls_format(struct ft *ft)
{
	struct ft_functions *fn = &ft->functions;
	const char *ip;
	unsigned int id, off;

	free(fn->format);
	fn->id = -1;
	/* an instance has no folder of these */
	fn->format = gt_live_read(ft->p->tracefs, "events/ftrace/function/format", &fn->format_len);
	ip = fn->format ? strstr(fn->format, " ip;") : NULL;
	ip = ip ? strstr(ip, "offset:") : NULL;
	if (!ip || sscanf(ip, "offset:%u; size:8;", &off) != 1 || off > 64 ||
	    !(ip = strstr(fn->format, "ID: ")) || sscanf(ip, "ID: %u", &id) != 1 || id >= FT_MAX_ID)
		return -1;
	fn->ip = off;
	fn->id = (int)id;
	return fn->id;
}

static struct gt_tp *section_of(struct ft *ft, const char *name)
{
	struct gt_tp *tp = gt_eventmap_find(ft->map, FT_FUNCTION_NAME, name);
	size_t len = strlen(name), n = gt_callname_base(name, len);
	char base[GT_FUNCTION_NAME];

	if (tp || n == len)
		return tp;
	snprintf(base, sizeof(base), "%.*s", (int)n, name);
	return gt_eventmap_find(ft->map, FT_FUNCTION_NAME, base);
}

/* Is it something that a program does to a queue, which another backend reports, with the queue's
 * number? Then the call is shown as what it is, a call, and no event is counted twice. */
static bool is_reported(const struct ft *ft, const struct gt_tp *tp)
{
	const uint32_t acts =
		1u << GT_QUEUE_CREATE | 1u << GT_QUEUE_DESTROY | 1u << GT_QUEUE_SCHEDULE;

	return ft->queues_by[0] && !(gt_tp_types(tp) & ~acts) && gt_tp_of(tp, "amdgpu");
}

void ft_calls_bind(struct ft *ft, struct ft_syms *s)
{
	struct ft_functions *fn = &ft->functions;
	char err[200];

	for (size_t i = 0; s && i < s->n; i++) {
		struct ft_sym *sym = &s->sym[i];

		sym->tp = section_of(ft, ft_sym_name(s, sym));
		if (sym->tp && is_reported(ft, sym->tp))
			sym->tp = NULL;
		if (sym->tp &&
		    gt_tp_bind(sym->tp, fn->format, fn->format_len, NULL, err, sizeof(err))) {
			snprintf(ft->bind_error, sizeof(ft->bind_error), "%.250s", err);
			sym->tp = NULL;
		}
	}
}

static void emit_name(struct ft *ft, uint64_t ts, uint32_t id)
{
	union gt_record r[GT_CALLNAME_RECORDS];
	unsigned int n = gt_callname_records(id, ts, r);

	for (unsigned int i = 0; i < n; i++)
		ft_out(ft, &r[i]);
	reported[id] = true;
}

/* The number of a function that is called, with its name emitted. */
static uint64_t number(struct ft *ft, uint64_t ts, const struct ft_syms *s, struct ft_sym *sym)
{
	if (!sym) {
		ft->functions.unknown++;
		return GT_NONE64;
	}
	if (sym->id == GT_NONE32)
		sym->id = gt_callname_id(ft_sym_name(s, sym), strlen(ft_sym_name(s, sym)));
	if (sym->id == GT_NONE32) {
		ft->functions.unnamed++;
		return GT_NONE64;
	}
	if (!reported[sym->id])
		emit_name(ft, ts, sym->id);
	return sym->id;
}

static struct ft_sym *find(struct ft *ft, uint64_t ip, const struct ft_syms **in)
{
	struct ft_functions *fn = &ft->functions;
	struct ft_sym *sym;

	*in = fn->syms;
	sym = ft_syms_find(fn->syms, ip);
	if (sym || !fn->before)
		return sym;
	*in = fn->before;
	return ft_syms_find(fn->before, ip);
}

static void out(struct ft *ft, union gt_record *r, bool interrupt)
{
	union gt_record process;

	if (interrupt)
		r->ev.tid = GT_NONE32;
	else if (gt_tasks_own(ft->tasks, r, &process))
		ft_out(ft, &process);
	ft_out(ft, r);
}

void ft_call(struct ft *ft, const struct gt_evctx *c, const uint8_t *data, uint32_t len)
{
	bool interrupt = data[FLAGS_OFF] & IN_INTERRUPT;
	union gt_record r[GT_TP_MAX_RECORDS];
	const struct ft_syms *in;
	struct ft_sym *sym;
	uint64_t ip;
	int n = 1;

	if (len < ft->functions.ip + sizeof(ip)) {
		ft->stats.unknown++;
		return;
	}
	memcpy(&ip, data + ft->functions.ip, sizeof(ip));
	ft->functions.calls++;
	sym = find(ft, ip, &in);
	if (!sym && ft_functions_missed(ft, c->ts))
		sym = find(ft, ip, &in);
	if (sym && sym->tp) {
		n = gt_tp_raw(sym->tp, c, data, len, r, GT_TP_MAX_RECORDS);
	} else {
		gt_record_init(&r[0], c->ts, (enum gt_type)GT_FUNCTION);
		r[0].ev.cpu = c->cpu;
		r[0].ev.tid = c->tid;
		r[0].ev.value = number(ft, c->ts, in, sym);
	}
	for (int i = 0; i < n; i++)
		out(ft, &r[i], interrupt);
}
