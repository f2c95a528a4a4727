/* SPDX-License-Identifier: GPL-2.0 */
#include <csv.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocprof.h"

enum rp_column {
	C_NONE,
	C_OTHER, /* known, and of no use here */
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
	{ "kind", C_OTHER },
	{ "guid", C_OTHER },
	{ "kernel_id", C_OTHER },
	{ "stream_id", C_OTHER },
	{ "queue_index", C_OTHER },
	{ "wave_size", C_OTHER },
	{ "fbar", C_OTHER },
	{ "sig", C_OTHER },
	{ "obj", C_OTHER },
	{ "completens", C_OTHER },
	{ "durationns", C_OTHER },
	{ "hostduration", C_OTHER },
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
	{ "vgpr", C_V + GT_KV_VGPR },
	{ "arch_vgpr_count", C_V + GT_KV_VGPR },
	{ "arch_vgpr", C_V + GT_KV_VGPR },
	{ "accum_vgpr_count", C_V + GT_KV_AGPR },
	{ "accum_vgpr", C_V + GT_KV_AGPR },
	{ "sgpr_count", C_V + GT_KV_SGPR },
	{ "sgpr", C_V + GT_KV_SGPR },
	{ "lds_block_size", C_V + GT_KV_LDS },
	{ "lds_block_size_v", C_V + GT_KV_LDS },
	{ "group_segment_size", C_V + GT_KV_LDS },
	{ "lds_per_workgroup", C_V + GT_KV_LDS },
	{ "lds", C_V + GT_KV_LDS },
	{ "scratch_size", C_V + GT_KV_SCRATCH },
	{ "private_segment_size", C_V + GT_KV_SCRATCH },
	{ "scratch_per_workitem", C_V + GT_KV_SCRATCH },
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

static uint8_t look_up(const char *low)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, low))
			return known[i].what;
	return C_NONE;
}

/* rocprof-compute joins the tables of several runs: obj_3 is the column obj of the fourth. */
static uint8_t what_is(const char *name)
{
	char low[40];
	size_t n = 0, digits;
	uint8_t what;

	for (; name[n] && n < sizeof(low) - 1; n++)
		low[n] = name[n] == '-' ? '_' : (char)tolower((unsigned char)name[n]);
	low[n] = '\0';
	what = look_up(low);
	for (digits = n; digits && isdigit((unsigned char)low[digits - 1]); digits--)
		;
	if (what || digits == n || !digits || low[digits - 1] != '_')
		return what;
	low[digits - 1] = '\0';
	return look_up(low) ? C_OTHER : C_NONE;
}

static bool has(uint64_t set, uint8_t what)
{
	return set >> what & 1;
}

static const char *missing_time(uint64_t set)
{
	bool named = has(set, C_KERNEL) || has(set, C_FUNCTION) || has(set, C_DIRECTION);

	if (!named || has(set, C_START) == has(set, C_END))
		return NULL;
	return has(set, C_START) ? "End_Timestamp" : "Start_Timestamp";
}

/* Which table has these columns */
static bool decide(struct rp_columns *c, uint64_t set, const struct rp_source *s)
{
	bool times = has(set, C_START) && has(set, C_END);
	bool wide = has(set, C_KERNEL) && has(set, C_GPU_ID) && !has(set, C_COUNTER);

	c->timed = times;
	c->agents = has(set, C_NODE) && has(set, C_TYPE);
	c->kind = RP_ROW_KINDS;
	c->name = "agent_info";
	if (c->agents) {
		c->counters = 0;
		return true;
	}
	if (has(set, C_KERNEL) && has(set, C_COUNTER) && has(set, C_VALUE)) {
		c->kind = RP_COUNTER;
		c->name = "counter_collection";
	} else if (wide && (times || c->counters)) {
		c->kind = times ? RP_DISPATCH : RP_COUNTER;
		c->name = c->counters ? "counters_by_column" : "rocprof_v1";
	} else if (has(set, C_KERNEL) && times) {
		c->kind = RP_DISPATCH;
		c->name = "kernel_trace";
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
		c->kind = s->statistics == RP_STATS_CALLS ? RP_CALLS : RP_STAT;
		c->either = s->statistics == RP_STATS_EITHER;
		c->name = s->statistics == RP_STATS_KERNELS ? "kernel_stats" : "stats";
	}
	if (!wide) /* what no version is known to write is not a counter */
		c->counters = 0;
	return c->kind != RP_ROW_KINDS;
}

bool rp_columns_bind(struct rp_columns *c, const char *const *names, unsigned int n,
		     const struct rp_source *s)
{
	uint64_t set = 0;

	c->agents = c->either = false;
	c->counters = 0;
	for (c->n = 0; c->n < n && c->n < RP_COLUMNS; c->n++) {
		uint8_t what = what_is(names[c->n]);

		c->counter[c->n] = GT_NONE32;
		/* of two columns of one meaning the first counts */
		if (what && has(set, what))
			what = C_OTHER;
		c->counters += what == C_NONE && *names[c->n];
		c->what[c->n] = what;
		set |= 1ULL << what;
	}
	if (!n || !decide(c, set, s)) {
		if (!c->missing)
			c->missing = missing_time(set);
		return false;
	}
	snprintf(c->first, sizeof(c->first), "%s", names[0]);
	for (unsigned int i = 0; i < c->n; i++)
		if (!c->agents && c->what[i] == C_GPU_ID)
			c->what[i] = C_AGENT; /* rocprof v1 */
		else if (c->counters && c->what[i] == C_NONE && *names[i])
			c->counter[i] = 0; /* its name is emitted when the header has been read */
	return true;
}

/** rp_columns_separator() - what is between the names of the header that @text begins with; 0:
 * nothing that is known. Where a comma is in numbers, a semicolon is */
static char rp_columns_separator(const char *text, size_t len)
{
	const char *nl = memchr(text, '\n', len);
	size_t line = nl ? (size_t)(nl - text) : len;

	return memchr(text, ',', line) ? ',' : memchr(text, ';', line) ? ';' : 0;
}

/* No name of a column has a comma, a semicolon or a quote in it. */
bool rp_columns_known(const char *text, size_t len)
{
	static const struct rp_source s = { .statistics = RP_STATS_EITHER };
	const char *nl = memchr(text, '\n', len), *end = nl ? nl : text + len;
	struct rp_columns *c = calloc(1, sizeof(*c));
	char(*name)[64] = calloc(RP_COLUMNS, sizeof(*name));
	const char **names = calloc(RP_COLUMNS, sizeof(*names));
	char separator = rp_columns_separator(text, len);
	unsigned int n = 0;
	bool bound;

	for (const char *p = text + rp_columns_mark(text, len), *comma;
	     names && name && p < end && n < RP_COLUMNS; p = comma + 1) {
		size_t w = 0;

		comma = memchr(p, separator, (size_t)(end - p));
		if (!comma)
			comma = end;
		for (; p < comma; p++)
			if (*p != '"' && *p != '\r' && w < sizeof(*name) - 1)
				name[n][w++] = *p;
		names[n] = name[n];
		n++;
	}
	bound = c && names && name && rp_columns_bind(c, names, n, &s);
	free(names);
	free(name);
	free(c);
	return bound;
}

/** rp_column_reading() - a counter's cell: 1 with @value; 0: it has none; -1: it is no number */
static int rp_column_reading(const char *s, size_t len, double *value)
{
	char text[64], *end, *comma;

	if (!len)
		return 0;
	if (len >= sizeof(text) || isspace((unsigned char)*s))
		return -1;
	memcpy(text, s, len);
	text[len] = '\0';
	comma = strchr(text, ','); /* where a semicolon is between columns */
	if (comma)
		*comma = '.';
	*value = strtod(text, &end);
	if (*end)
		return -1;
	return *value - *value == 0; /* "nan" and "inf": a share of nothing */
}

/** rp_columns_first() - does a row that begins so repeat a header? */
static bool rp_columns_first(const struct rp_columns *c, const char *s, size_t len)
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

/* A time; nothing may be at the end of all times. rocprof-compute writes the average of several
 * runs' */
static bool instant(const char *s, size_t len, uint64_t *out)
{
	const char *dot = memchr(s, '.', len);

	for (const char *p = dot; p && ++p < s + len;)
		if (!isdigit((unsigned char)*p))
			return false;
	return number(s, dot ? (size_t)(dot - s) : len, out) && *out < INT64_MAX;
}

static bool text(struct rp_input *in, const char *s, size_t len, uint32_t *out)
{
	*out = rp_intern(in, s, len);
	return *out != GT_NONE32;
}

/* Averages and sums may be written as 44.0 */
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
		return text(in, s, len, &r->name);
	case C_NAME:
		if (c->either && rp_is_call(s, len))
			r->kind = RP_CALLS;
		return text(in, s, len, &r->name);
	case C_COUNTER:
		return text(in, s, len, &r->counter);
	case C_VALUE:
		return real(s, len, &r->value);
	case C_DOMAIN: /* of calls, "HIP_RUNTIME_API" */
		if (r->kind == RP_API && len > 7 && !memcmp(s, "MARKER_", 7))
			r->kind = RP_MARKER;
		return true;
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

/*
 * CSV tables of every version, split by libcsv: what a column is, its name says (csv.c). A row
 * that does not fit is left out and counted; a second header, as where files were put together,
 * begins anew. What is behind one that is not known is left out, row by row.
 */

#define PIECE	 (64u << 10)
#define CELL_MAX (4u << 20) /* bytes: what is longer is a fault */

/**
 * struct rp_csv - a table being read
 * @cells: of the row at hand so far; @bad: it does not fit
 * @had_header: there was a header that is known; @lost: it is the one before that is not
 * @head, @nhead: cells of the header, of which there are @wide
 * @reading: of counters that are columns, of the row at hand
 * @numbers: of a counter's column: it has had a number; @words: cells before it that were none
 */
struct rp_csv {
	struct csv_parser parser;
	struct rp_columns columns;
	bool have_header, had_header, lost, bad, in_header;
	unsigned int cells;
	uint64_t off, end;
	struct rp_row row;
	struct rp_agent agent;
	char **head;
	unsigned int nhead, wide;
	struct rp_cell {
		double value;
		uint32_t counter;
	} * reading;
	unsigned int nreadings;
	bool numbers[RP_COLUMNS];
	uint32_t words[RP_COLUMNS];
	char buf[PIECE];
};

static bool csv_detect(const char *head, size_t len)
{
	size_t line = 0;

	while (line < len && head[line] != '\n')
		line++;
	if (memchr(head, '\0', len) || head[0] == '{' || head[0] == '[')
		return false;
	return rp_columns_separator(head, line);
}

static void free_head(struct rp_csv *c)
{
	for (unsigned int i = 0; i < c->nhead; i++)
		free(c->head[i]);
	free(c->head);
	c->head = NULL;
	c->nhead = c->wide = 0;
}

static void head_cell(struct rp_csv *c, const char *s, size_t len)
{
	char **more =
		c->wide++ < RP_COLUMNS ? reallocarray(c->head, c->nhead + 1, sizeof(*more)) : NULL;

	if (!more)
		return;
	c->head = more;
	c->head[c->nhead] = strndup(s, len < 64 ? len : 64);
	c->nhead += c->head[c->nhead] != NULL;
}

/* Until a column has a number it may be one of words, which is no counter. */
static void no_number(struct rp_input *in, struct rp_csv *c, unsigned int i)
{
	if (c->numbers[i])
		rp_fault(in, "row %llu, column %.40s: is no number: left out",
			 (unsigned long long)in->line, c->head[i]);
	else if (c->words[i] < UINT32_MAX)
		c->words[i]++;
}

static void take_reading(struct rp_input *in, struct rp_csv *c, unsigned int i, const char *s,
			 size_t len)
{
	struct rp_cell *to = &c->reading[c->nreadings];
	int got = rp_column_reading(s, len, &to->value);

	if (got < 0)
		no_number(in, c, i);
	if (got <= 0)
		return;
	if (!c->numbers[i] && c->words[i])
		rp_fault(in, "column %.40s has %u cells without a number before row %llu: left out",
			 c->head[i], c->words[i], (unsigned long long)in->line);
	c->numbers[i] = true;
	to->counter = c->columns.counter[i];
	c->nreadings++;
}

/* The table's last row was read. */
static void end_table(struct rp_input *in, struct rp_csv *c)
{
	for (unsigned int i = 0; c->have_header && i < c->columns.n; i++)
		if (c->words[i] && !c->numbers[i])
			rp_fault(in, "column %.40s has no numbers: it is left out", c->head[i]);
	memset(c->words, 0, sizeof(c->words));
	memset(c->numbers, 0, sizeof(c->numbers));
}

static void on_cell(void *data, size_t len, void *arg)
{
	struct rp_input *in = arg;
	struct rp_csv *c = in->priv;
	const char *s = data ? data : "";
	unsigned int i = c->cells++;

	in->line += !i;
	if (!i && (!c->have_header || rp_columns_first(&c->columns, s, len))) {
		c->in_header = true;
		end_table(in, c);
		free_head(c);
	}
	if (c->in_header) {
		head_cell(c, s, len);
		return;
	}
	if (!i) {
		rp_row_init(&c->row, c->columns.kind);
		memset(&c->agent, 0xff, sizeof(c->agent));
		c->agent.gpu = false;
		c->bad = false;
		c->nreadings = 0;
	}
	if (i < c->columns.n && rp_columns_counter(&c->columns, i))
		take_reading(in, c, i, s, len);
	else if (i < c->columns.n &&
		 !rp_column_take(in, &c->columns, i, s, len, &c->row, &c->agent))
		c->bad = true;
}

/* Their names are emitted; of two columns of one name the first counts. */
static void name_counters(struct rp_input *in, struct rp_csv *c)
{
	struct rp_columns *col = &c->columns;
	uint64_t seen[RP_NAMES / 64] = { 0 };
	struct rp_cell *room;

	room = col->counters ? reallocarray(c->reading, col->counters, sizeof(*room)) : NULL;
	if (room)
		c->reading = room;
	for (unsigned int i = 0; i < col->n; i++) {
		if (!rp_columns_counter(col, i))
			continue;
		col->counter[i] = room ? rp_intern(in, c->head[i], strlen(c->head[i])) : GT_NONE32;
		if (col->counter[i] == GT_NONE32)
			continue;
		if (seen[col->counter[i] / 64] >> col->counter[i] % 64 & 1)
			col->counter[i] = GT_NONE32;
		else
			seen[col->counter[i] / 64] |= 1ULL << col->counter[i] % 64;
	}
}

/* csv_open() says what is before the first header. */
static void no_header(struct rp_input *in, struct rp_csv *c)
{
	if (!c->had_header)
		return;
	if (c->lost)
		rp_fault(in, "row %llu is behind a header that is not known: left out",
			 (unsigned long long)in->line);
	else
		rp_fault(in,
			 "row %llu is a header of no table of rocprof's: what is behind it is left "
			 "out",
			 (unsigned long long)in->line);
	c->lost = true;
}

static void end_header(struct rp_input *in, struct rp_csv *c)
{
	c->in_header = false;
	c->have_header =
		c->wide <= RP_COLUMNS && c->nhead == c->wide &&
		rp_columns_bind(&c->columns, (const char *const *)c->head, c->nhead, in->s);
	if (!c->have_header) {
		no_header(in, c);
		return;
	}
	c->had_header = true;
	c->lost = false;
	rp_table(in, c->columns.name);
	name_counters(in, c);
}

static void emit_readings(struct rp_input *in, struct rp_csv *c)
{
	struct rp_row r = c->row;

	r.kind = c->columns.timed ? RP_READING : RP_COUNTER;
	r.queued = GT_NONE64; /* that is the dispatch's */
	for (unsigned int i = 0; i < c->nreadings; i++, r.kind = RP_READING) {
		r.counter = c->reading[i].counter;
		r.value = c->reading[i].value;
		rp_emit(in, &r);
	}
}

static void on_row(int end, void *arg)
{
	struct rp_input *in = arg;
	struct rp_csv *c = in->priv;
	unsigned int cells = c->cells;
	struct rp_row *r = &c->row;

	c->cells = 0;
	if (c->in_header) {
		end_header(in, c);
		return;
	}
	if (!cells || !c->have_header)
		return;
	if (cells != c->columns.n || c->bad) {
		rp_fault(in, "row %llu does not fit its header: left out",
			 (unsigned long long)in->line);
		return;
	}
	if (c->columns.agents) {
		rp_emit_agent(in, &c->agent);
		return;
	}
	if (r->start != GT_NONE64 && r->end != GT_NONE64 && r->end < r->start) {
		rp_fault(in, "row %llu ends before it begins: left out",
			 (unsigned long long)in->line);
		return;
	}
	if (!c->columns.counters || c->columns.timed)
		rp_emit(in, r);
	if (c->columns.counters)
		emit_readings(in, c);
}

/* Behind the last newline: what follows may not be whole yet */
static uint64_t whole_lines(struct rp_input *in, struct rp_csv *c)
{
	uint64_t end = in->s->size, from = end > PIECE ? end - PIECE : 0;
	ssize_t n = rp_pread(in, c->buf, PIECE, from);
	const char *nl = n > 0 ? memrchr(c->buf, '\n', (size_t)n) : NULL;

	return nl ? from + (uint64_t)(nl - c->buf) + 1 : 0;
}

static void set_separator(struct rp_input *in, struct rp_csv *c)
{
	ssize_t n = rp_pread(in, c->buf, sizeof(c->buf), c->off);

	if (n > 0 && rp_columns_separator(c->buf, (size_t)n) == ';')
		csv_set_delim(&c->parser, ';');
}

static int csv_open(struct rp_input *in)
{
	struct rp_csv *c = calloc(1, sizeof(*c));

	in->priv = c;
	if (!c || csv_init(&c->parser, CSV_APPEND_NULL))
		return rp_fail(in, "no memory");
	csv_set_blk_size(&c->parser, PIECE); /* a long cell is copied once for each block */
	c->end = in->s->live ? whole_lines(in, c) : in->s->size;
	if (!c->end)
		return 0;
	if (rp_pread(in, c->buf, 3, 0) == 3)
		c->off = rp_columns_mark(c->buf, 3);
	set_separator(in, c);
	/* as much as shows what it is */
	while (!c->have_header) {
		ssize_t n = rp_pread(in, c->buf, 4096, c->off);

		if (n <= 0 || in->line > 8)
			break;
		for (ssize_t i = 0; i < n && !c->have_header; i++, c->off++)
			csv_parse(&c->parser, &c->buf[i], 1, on_cell, on_row, in);
	}
	if (c->have_header && !c->columns.agents && in->s->at[0] > c->off)
		c->off = in->s->at[0];
	if (!c->have_header && c->wide > RP_COLUMNS)
		return rp_fail(in, "has a header of more than %u columns", RP_COLUMNS);
	if (!c->have_header && c->columns.missing)
		return rp_fail(in, "has no column %s: play the table as the profiler wrote it",
			       c->columns.missing);
	if (!c->have_header)
		return rp_fail(in,
			       "has no header of a table of rocprof's: \"%.40s\" ...: "
			       "play the table as the profiler wrote it, with its first line",
			       c->nhead ? c->head[0] : "");
	return 0;
}

static bool csv_first(const struct rp_input *in)
{
	const struct rp_csv *c = in->priv;

	return c->columns.agents;
}

/* Number of the row that is being split: it counts once its first cell is whole. */
static uint64_t at_hand(struct rp_input *in)
{
	const struct rp_csv *c = in->priv;

	in->line += !c->cells;
	return in->line;
}

static int csv_feed(struct rp_input *in)
{
	struct rp_csv *c = in->priv;
	uint64_t at[RP_PLACES] = { c->off }, left = c->end > c->off ? c->end - c->off : 0;
	uint64_t most = c->columns.counters ? PIECE / 8 : PIECE; /* each cell gives a row */
	ssize_t n = rp_pread(in, c->buf, left < most ? left : most, c->off);

	if (n < 0)
		return rp_fail(in, "cannot be read: %s", strerror((int)-n));
	if (n == 0) {
		if (!in->s->live)
			csv_fini(&c->parser, on_cell, on_row, in);
		end_table(in, c);
		rp_emit_at(in, at);
		return 0;
	}
	c->off += (uint64_t)n;
	if (csv_parse(&c->parser, c->buf, (size_t)n, on_cell, on_row, in) != (size_t)n)
		return rp_fail(in, "row %llu: %s", (unsigned long long)at_hand(in),
			       csv_strerror(csv_error(&c->parser)));
	if (c->parser.entry_pos > CELL_MAX)
		return rp_fail(in, "row %llu has a cell of more than %u bytes",
			       (unsigned long long)at_hand(in), CELL_MAX);
	return 1;
}

static void csv_close(struct rp_input *in)
{
	struct rp_csv *c = in->priv;

	in->priv = NULL;
	if (!c)
		return;
	csv_free(&c->parser);
	free_head(c);
	free(c->reading);
	free(c);
}

const struct rp_format rp_format_csv = {
	.name = "csv",
	.detect = csv_detect,
	.open = csv_open,
	.first = csv_first,
	.feed = csv_feed,
	.close = csv_close,
};
