/* SPDX-License-Identifier: GPL-2.0 */
#include "columns.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rp_column {
	C_NONE,
	C_KERNEL,
	C_AGENT,
	C_FROM,
	C_QUEUE,
	C_PID,
	C_TID,
	C_DISPATCH,
	C_CORRELATION,
	C_START,
	C_END,
	C_QUEUED,
	C_COUNTER,
	C_VALUE,
	C_FUNCTION,
	C_DIRECTION,
	C_OPERATION,
	C_BYTES,
	C_NAME,
	C_CALLS,
	C_TOTAL,
	C_MIN,
	C_MAX,
	C_FLAGS,
	C_NODE,
	C_TYPE,
	C_LOCATION,
	C_DOMAIN,
	C_GPU_ID,
	C_V, /* and GT_KERNEL_VALUES from here on */
};

/* Names in lower case, "-" as "_". Where two names mean one thing, versions differ. */
static const struct {
	const char *name;
	uint8_t what;
} known[] = {
	{ "kernel_name", C_KERNEL },
	{ "kernelname", C_KERNEL },
	{ "agent_id", C_AGENT },
	{ "gpu_id", C_GPU_ID },
	{ "destination_agent_id", C_AGENT },
	{ "source_agent_id", C_FROM },
	{ "queue_id", C_QUEUE },
	{ "process_id", C_PID },
	{ "pid", C_PID },
	{ "thread_id", C_TID },
	{ "tid", C_TID },
	{ "dispatch_id", C_DISPATCH },
	{ "index", C_DISPATCH },
	{ "correlation_id", C_CORRELATION },
	{ "start_timestamp", C_START },
	{ "beginns", C_START },
	{ "end_timestamp", C_END },
	{ "endns", C_END },
	{ "dispatchns", C_QUEUED },
	{ "counter_name", C_COUNTER },
	{ "counter_value", C_VALUE },
	{ "function", C_FUNCTION },
	{ "direction", C_DIRECTION },
	{ "operation", C_OPERATION },
	{ "allocation_size", C_BYTES },
	{ "alloc_flags", C_FLAGS },
	{ "name", C_NAME },
	{ "calls", C_CALLS },
	{ "totaldurationns", C_TOTAL },
	{ "minns", C_MIN },
	{ "maxns", C_MAX },
	{ "node_id", C_NODE },
	{ "agent_type", C_TYPE },
	{ "location_id", C_LOCATION },
	{ "domain", C_DOMAIN },
	{ "vgpr_count", C_V + GT_KV_VGPR },
	{ "arch_vgpr_count", C_V + GT_KV_VGPR },
	{ "arch_vgpr", C_V + GT_KV_VGPR },
	{ "accum_vgpr_count", C_V + GT_KV_AGPR },
	{ "accum_vgpr", C_V + GT_KV_AGPR },
	{ "sgpr_count", C_V + GT_KV_SGPR },
	{ "sgpr", C_V + GT_KV_SGPR },
	{ "lds_block_size", C_V + GT_KV_LDS },
	{ "lds_block_size_v", C_V + GT_KV_LDS },
	{ "group_segment_size", C_V + GT_KV_LDS },
	{ "lds", C_V + GT_KV_LDS },
	{ "scratch_size", C_V + GT_KV_SCRATCH },
	{ "private_segment_size", C_V + GT_KV_SCRATCH },
	{ "scr", C_V + GT_KV_SCRATCH },
	{ "grid_size_x", C_V + GT_KV_GRID_X },
	{ "grid_size", C_V + GT_KV_GRID_X },
	{ "grd", C_V + GT_KV_GRID_X },
	{ "grid_size_y", C_V + GT_KV_GRID_Y },
	{ "grid_size_z", C_V + GT_KV_GRID_Z },
	{ "workgroup_size_x", C_V + GT_KV_WORKGROUP_X },
	{ "workgroup_size", C_V + GT_KV_WORKGROUP_X },
	{ "wgr", C_V + GT_KV_WORKGROUP_X },
	{ "workgroup_size_y", C_V + GT_KV_WORKGROUP_Y },
	{ "workgroup_size_z", C_V + GT_KV_WORKGROUP_Z },
};

static uint8_t what_is(const char *name)
{
	char low[40];
	size_t n = 0;

	for (; name[n] && n < sizeof(low) - 1; n++)
		low[n] = name[n] == '-' ? '_' : (char)tolower((unsigned char)name[n]);
	low[n] = '\0';
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, low))
			return known[i].what;
	return C_NONE;
}

static bool has(uint64_t set, uint8_t what)
{
	return set >> what & 1;
}

/* Which table has these columns */
static bool decide(struct rp_columns *c, uint64_t set, const struct rp_source *s)
{
	bool times = has(set, C_START) && has(set, C_END);

	c->agents = has(set, C_NODE) && has(set, C_TYPE);
	c->kind = RP_ROW_KINDS;
	c->name = "agent_info";
	if (c->agents)
		return true;
	if (has(set, C_KERNEL) && has(set, C_COUNTER) && has(set, C_VALUE)) {
		c->kind = RP_COUNTER;
		c->name = "counter_collection";
	} else if (has(set, C_KERNEL) && times) {
		c->kind = RP_DISPATCH;
		c->name = has(set, C_GPU_ID) ? "rocprof_v1" : "kernel_trace";
	} else if (has(set, C_FUNCTION) && times) {
		c->kind = RP_API;
		c->name = "api_trace";
	} else if (has(set, C_DIRECTION) && times) {
		c->kind = RP_COPY;
		c->name = "memory_copy_trace";
	} else if (has(set, C_OPERATION) && has(set, C_FLAGS)) {
		c->kind = RP_SCRATCH;
		c->name = "scratch_memory_trace";
	} else if (has(set, C_OPERATION) && has(set, C_BYTES)) {
		c->kind = RP_ALLOC;
		c->name = "memory_allocation_trace";
	} else if (has(set, C_NAME) && has(set, C_CALLS) && has(set, C_TOTAL)) {
		c->kind = s->statistics ? RP_STAT : RP_CALLS;
		c->name = s->statistics ? "kernel_stats" : "stats";
	}
	return c->kind != RP_ROW_KINDS;
}

bool rp_columns_bind(struct rp_columns *c, const char *const *names, unsigned int n,
		     const struct rp_source *s)
{
	uint64_t set = 0;

	memset(c, 0, sizeof(*c));
	for (c->n = 0; c->n < n && c->n < RP_COLUMNS; c->n++) {
		c->what[c->n] = what_is(names[c->n]);
		/* of two columns of one meaning the first counts */
		if (c->what[c->n] && has(set, c->what[c->n]))
			c->what[c->n] = C_NONE;
		set |= 1ULL << c->what[c->n];
	}
	if (!n || !decide(c, set, s))
		return false;
	snprintf(c->first, sizeof(c->first), "%s", names[0]);
	for (unsigned int i = 0; i < c->n; i++)
		if (!c->agents && c->what[i] == C_GPU_ID)
			c->what[i] = C_AGENT; /* rocprof v1 */
	return true;
}

bool rp_columns_first(const struct rp_columns *c, const char *s, size_t len)
{
	return len && len < sizeof(c->first) && !memcmp(s, c->first, len + 1) &&
	       !isdigit((unsigned char)*s);
}

/* Digits, all of it */
static bool number(const char *s, size_t len, uint64_t *out)
{
	uint64_t v = 0;

	if (!len || len > 20)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned int d = (unsigned int)(s[i] - '0');

		if (d > 9 || (i > 17 && (__builtin_mul_overflow(v, 10, &v) ||
					 __builtin_add_overflow(v, d, &v))))
			return false;
		if (i <= 17)
			v = v * 10 + d;
	}
	*out = v;
	return true;
}

/* 4, and "Agent 4" */
static bool agent(const char *s, size_t len, uint64_t *out)
{
	size_t at = len;

	while (at && isdigit((unsigned char)s[at - 1]))
		at--;
	return number(s + at, len - at, out);
}

static bool small(const char *s, size_t len, uint32_t *out)
{
	uint64_t v;

	if (!number(s, len, &v) || v >= GT_NONE32)
		return false;
	*out = (uint32_t)v;
	return true;
}

/* 10, 10.5, 2.9e-03, -1: as printf() in the C locale, which is the daemon's, writes them */
static bool real(const char *s, size_t len, double *out)
{
	char text[64], *end;

	if (!len || len >= sizeof(text))
		return false;
	memcpy(text, s, len);
	text[len] = '\0';
	*out = strtod(text, &end);
	return !*end && !isspace((unsigned char)text[0]) && *out - *out == 0;
}

/* A time; nothing may be at the end of all times */
static bool instant(const char *s, size_t len, uint64_t *out)
{
	return number(s, len, out) && *out < INT64_MAX;
}

static bool text(struct rp_input *in, const char *s, size_t len, uint32_t *out)
{
	*out = rp_intern(in, s, len);
	return *out != GT_NONE32;
}

/* Averages and sums may be told as 44.0 */
static bool rounded(const char *s, size_t len, uint64_t *out)
{
	double v;

	if (number(s, len, out))
		return true;
	if (!real(s, len, &v) || v < 0 || v > 9e18)
		return false;
	*out = (uint64_t)v;
	return true;
}

static bool take_agent(uint8_t what, const char *s, size_t len, struct rp_agent *a)
{
	switch (what) {
	case C_NODE:
		a->key = a->node = GT_NONE64;
		if (!number(s, len, &a->node))
			return false;
		a->key = a->node;
		return true;
	case C_TYPE:
		a->gpu = len == 3 && !memcmp(s, "GPU", 3);
		return true;
	case C_LOCATION:
		return number(s, len, &a->location);
	case C_DOMAIN:
		return number(s, len, &a->domain);
	case C_GPU_ID:
		return number(s, len, &a->gpu_id);
	default:
		return true;
	}
}

bool rp_column_take(struct rp_input *in, const struct rp_columns *c, unsigned int i, const char *s,
		    size_t len, struct rp_row *r, struct rp_agent *a)
{
	uint8_t what = c->what[i];

	if (c->agents)
		return take_agent(what, s, len, a);
	if (what >= C_V) /* a value that a version leaves empty is not known */
		return !len || small(s, len, &r->v[what - C_V]);
	switch (what) {
	case C_KERNEL:
	case C_FUNCTION:
	case C_DIRECTION:
	case C_OPERATION:
	case C_NAME:
		return text(in, s, len, &r->name);
	case C_COUNTER:
		return text(in, s, len, &r->counter);
	case C_VALUE:
		return real(s, len, &r->value);
	case C_AGENT:
		return !len || agent(s, len, &r->agent);
	case C_FROM:
		return !len || agent(s, len, &r->from);
	case C_QUEUE:
		return !len || number(s, len, &r->queue);
	case C_PID:
		return small(s, len, &r->pid);
	case C_TID:
		return !len || small(s, len, &r->tid);
	case C_DISPATCH:
		return number(s, len, &r->dispatch);
	case C_CORRELATION:
		return !len || number(s, len, &r->correlation);
	case C_START:
		return instant(s, len, &r->start);
	case C_END:
		return instant(s, len, &r->end);
	case C_QUEUED:
		return instant(s, len, &r->queued);
	case C_BYTES:
	case C_CALLS:
		return number(s, len, &r->bytes);
	case C_TOTAL:
		return rounded(s, len, &r->total);
	case C_MIN:
		return rounded(s, len, &r->min);
	case C_MAX:
		return rounded(s, len, &r->max);
	default:
		return true;
	}
}
