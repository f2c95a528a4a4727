/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A line of the function tracer as the live backend tells a call: what an event map says of that
 * function, in a section [function/NAME], or a FUNCTION with its name.
 */
#include <stdio.h>

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

int gt_call_records(struct gt_calls *c, struct gt_source *s, const struct gt_item *it,
		    union gt_record *out)
{
	uint32_t id = gt_callname_id(it->data, it->len);
	int n = 0;

	if (id == GT_NONE32)
		gt_source_fault(s,
				"line %llu: a function more than %d, or of a longer name than %d: "
				"it has none",
				(unsigned long long)it->where, GT_MAX_FUNCTIONS,
				GT_FUNCTION_NAME - 1);
	else if (!c->named[id])
		n = (int)gt_callname_records(id, it->ts, out);
	if (n)
		c->named[id] = true;
	gt_record_init(&out[n], it->ts, GT_FUNCTION);
	out[n].ev.cpu = it->ctx.cpu;
	out[n].ev.tid = it->ctx.tid;
	out[n].ev.pid = it->ctx.pid;
	out[n].ev.value = id == GT_NONE32 ? GT_NONE64 : id;
	return n + 1;
}
