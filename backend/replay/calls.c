/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A line of the function tracer as the live backend tells a call: what an event map says of that
 * function, in a section [function/NAME], or a FUNCTION with its name. What a saved stream has are
 * FUNCTIONs already, by numbers of whoever wrote it, which are others in another file, or behind
 * where two were joined.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "play.h"

#define SYSTEM "function"

static int section(struct gt_events *e, const char *name, size_t len)
{
	char text[GT_FUNCTION_NAME];

	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	if (!gt_events_known(e, SYSTEM, text))
		return -1;
	return gt_events_by_name(e, SYSTEM, sizeof(SYSTEM) - 1, text, len);
}

int gt_call_event(struct gt_events *e, const char *name, size_t len)
{
	size_t base = gt_callname_base(name, len);
	int ev = len < GT_FUNCTION_NAME ? section(e, name, len) : -1;

	return ev >= 0 || base == len || base >= GT_FUNCTION_NAME ? ev : section(e, name, base);
}

/* Number of a function, and before its first the records of its name; how many */
static int named(struct gt_calls *c, struct gt_source *s, const char *name, size_t len, uint64_t ts,
		 uint64_t *id, union gt_record *out)
{
	uint32_t i = gt_callname_id(name, len);
	bool told = i != GT_NONE32 && c->named[i];

	*id = i == GT_NONE32 ? GT_NONE64 : i;
	if (i == GT_NONE32)
		gt_source_fault(s,
				"%llu ns: a function more than %d, or of a longer name than %d: "
				"it has none",
				(unsigned long long)ts, GT_MAX_FUNCTIONS, GT_FUNCTION_NAME - 1);
	if (i == GT_NONE32 || told)
		return 0;
	c->named[i] = true;
	return (int)gt_callname_records(i, ts, out);
}

int gt_call_records(struct gt_calls *c, struct gt_source *s, const struct gt_item *it,
		    union gt_record *out)
{
	uint64_t id;
	int n = named(c, s, it->data, it->len, it->ts, &id, out);

	gt_record_init(&out[n], it->ts, GT_FUNCTION);
	out[n].ev.cpu = it->ctx.cpu;
	out[n].ev.tid = it->ctx.tid;
	out[n].ev.pid = it->ctx.pid;
	out[n].ev.value = id;
	return n + 1;
}

void gt_call_learn(struct gt_source *s, const struct gt_name *n)
{
	if (!s->said)
		s->said = calloc(GT_MAX_FUNCTIONS, sizeof(*s->said));
	if (s->said && n->id < GT_MAX_FUNCTIONS)
		gt_callname_piece(s->said[n->id], n);
}

int gt_call_again(struct gt_calls *c, struct gt_source *s, const union gt_record *r,
		  union gt_record *out)
{
	const char *name = s->said && r->ev.value < GT_MAX_FUNCTIONS ? s->said[r->ev.value] : "";
	uint64_t id = GT_NONE64;
	int n = *name ? named(c, s, name, strlen(name), r->ev.ts, &id, out) : 0;

	out[n] = *r;
	out[n].ev.value = id;
	return n + 1;
}
