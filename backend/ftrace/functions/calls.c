/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a call to a record: a FUNCTION with a small number for the function, whose name goes before
 * its first; or what an event map says of that function, in a section [function/NAME].
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../callname.h"
#include "../internal.h"

#define IN_INTERRUPT 0x18 /* common_flags: TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ */
#define FLAGS_OFF    2	  /* of common_flags, a byte behind common_type */

static bool told[GT_MAX_FUNCTIONS]; /* names, by number; of all instances, as the numbers are */

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

/* Is it something that a program does to a queue, which another backend tells of, with the queue's
 * number? Then the call is shown as what it is, a call, and no event is counted twice. */
static bool is_told(const struct ft *ft, const struct gt_tp *tp)
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
		if (sym->tp && is_told(ft, sym->tp))
			sym->tp = NULL;
		if (sym->tp &&
		    gt_tp_bind(sym->tp, fn->format, fn->format_len, NULL, err, sizeof(err))) {
			snprintf(ft->bind_error, sizeof(ft->bind_error), "%.250s", err);
			sym->tp = NULL;
		}
	}
}

static void tell_name(struct ft *ft, uint64_t ts, uint32_t id)
{
	union gt_record r[GT_CALLNAME_RECORDS];
	unsigned int n = gt_callname_records(id, ts, r);

	for (unsigned int i = 0; i < n; i++)
		ft_out(ft, &r[i]);
	told[id] = true;
}

/* The number of a function that is called, its name told. */
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
	if (!told[sym->id])
		tell_name(ft, ts, sym->id);
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
