/* SPDX-License-Identifier: GPL-2.0 */
/*
 * JSON of rocprofv3, streamed by yajl: a value is known by its key and the keys above it, whatever
 * else there is. Names and devices come before the records that mean them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json_stream.h"

/* Where the walk is, and what is known there */
#define RP_JSON_DEPTH	32
#define RP_SYMBOLS	(1u << 20)
#define RP_KINDS_MAX	64   /* kinds of records with named operations */
#define RP_OPERATIONS	2048 /* of a kind */
#define RP_READINGS	64   /* counters read in one dispatch */
#define RP_COUNTERS	4096
#define RP_NOT_INTERNED (GT_NONE32 - 1)

/** struct rp_symbol - a kernel as its code object has it, or a counter; @id: of its name, once sent
 */
struct rp_symbol {
	char *name;
	size_t len;
	uint32_t id;
	uint32_t vgpr, agpr, sgpr;
};

/**
 * struct rp_json - a file being read
 * @level: the maps and arrays that the value is in, from 1 on
 * @row, @agent, @symbol: the one that is being read; @rank: how good the symbol's name is
 * @handle: of the device or counter that is being read; @kind, @operation: of a record
 * @reading: counters of a dispatch, as they come before its end
 */
struct rp_json {
	struct rp_walk walk;
	unsigned int depth;
	struct {
		bool map;
		uint8_t key;
	} level[RP_JSON_DEPTH];
	uint32_t pid;
	struct rp_row row;
	struct rp_agent agent;
	struct rp_symbol symbol;
	unsigned int rank;
	uint64_t handle, symbol_id, kernel, kind, operation;
	struct rp_symbol *symbols;
	uint64_t nsymbols;
	struct {
		uint64_t handle;
		struct rp_symbol name;
	} counter[RP_COUNTERS];
	unsigned int ncounters;
	struct {
		uint64_t handle;
		double value;
	} reading[RP_READINGS];
	unsigned int nreadings;
	struct rp_symbol *names[RP_KINDS_MAX]; /* of operations, RP_OPERATIONS each */
	unsigned int nnames[RP_KINDS_MAX], nkinds;
};

#define PIECE (64u << 10)

int rp_walk_begin(struct rp_input *in, struct rp_walk *w, const yajl_callbacks *callbacks)
{
	w->buf = malloc(PIECE);
	w->yajl = yajl_alloc(callbacks, NULL, in);
	if (!w->buf || !w->yajl)
		return rp_fail(in, "no memory");
	yajl_config(w->yajl, yajl_dont_validate_strings, 1);
	in->walk = w;
	return 0;
}

uint64_t rp_walk_at(const struct rp_walk *w)
{
	return w->off + yajl_get_bytes_consumed(w->yajl);
}

int rp_walk_piece(struct rp_input *in, struct rp_walk *w)
{
	ssize_t n = rp_pread(in, w->buf, PIECE, w->off);
	yajl_status status;

	if (n < 0)
		return rp_fail(in, "cannot be read: %s", strerror((int)-n));
	status = n ? yajl_parse(w->yajl, (unsigned char *)w->buf, (size_t)n)
		   : yajl_complete_parse(w->yajl);
	if (status == yajl_status_ok) {
		w->off += (uint64_t)n;
		return n > 0;
	}
	if (!n)
		return rp_fail(in, "is cut: it ends within its JSON, at byte %llu",
			       (unsigned long long)w->off);
	return rp_fail(in,
		       status == yajl_status_client_canceled ? "is nested too deeply at byte %llu"
							     : "is no JSON from byte %llu on",
		       (unsigned long long)rp_walk_at(w));
}

void rp_walk_done(struct rp_walk *w)
{
	if (w->yajl)
		yajl_free(w->yajl);
	w->yajl = NULL;
	free(w->buf);
	w->buf = NULL;
}

/*
 * What the values of rocprofv3's JSON mean. The file is a map of one array; its elements are
 * runs; a run has sections; of these some are arrays of elements, others maps of such arrays.
 */

#define RUN	3 /* level of a run's map; its keys are sections */
#define ELEMENT 5 /* of an element of a section that is an array */
#define TABLE	4 /* of the map of a section of tables; its keys are tables */
#define RECORD	6 /* of an element of a table */
#define READING 8 /* of a counter's reading, in a record's "records" */

/* clang-format off */
#define KEYS(X) \
	X(METADATA, "metadata") \
	X(AGENTS, "agents") \
	X(COUNTERS, "counters") \
	X(STRINGS, "strings") \
	X(SYMBOLS, "kernel_symbols") \
	X(CALLBACKS, "callback_records") \
	X(BUFFERS, "buffer_records") \
	X(DISPATCHES, "kernel_dispatch") \
	X(HIP, "hip_api") \
	X(HSA, "hsa_api") \
	X(MARKER, "marker_api") \
	X(RCCL, "rccl_api") \
	X(ROCDECODE, "rocdecode_api") \
	X(ROCJPEG, "rocjpeg_api") \
	X(COPIES, "memory_copy") \
	X(ALLOCS, "memory_allocation") \
	X(SCRATCHES, "scratch_memory") \
	X(COLLECTION, "counter_collection") \
	X(PID, "pid") \
	X(ID, "id") \
	X(HANDLE, "handle") \
	X(GPU_ID, "gpu_id") \
	X(LOCATION, "location_id") \
	X(DOMAIN, "domain") \
	X(NODE, "node_id") \
	X(TYPE, "type") \
	X(KERNEL, "kernel_id") \
	X(FORMATTED, "formatted_kernel_name") \
	X(DEMANGLED, "demangled_kernel_name") \
	X(MANGLED, "kernel_name") \
	X(SGPR, "sgpr_count") \
	X(VGPR, "arch_vgpr_count") \
	X(AGPR, "accum_vgpr_count") \
	X(KIND, "kind") \
	X(OPERATION, "operation") \
	X(OPERATIONS, "operations") \
	X(THREAD, "thread_id") \
	X(CORRELATION, "correlation_id") \
	X(INTERNAL, "internal") \
	X(START, "start_timestamp") \
	X(END, "end_timestamp") \
	X(AGENT, "agent_id") \
	X(QUEUE, "queue_id") \
	X(DISPATCH, "dispatch_id") \
	X(PRIVATE, "private_segment_size") \
	X(GROUP, "group_segment_size") \
	X(WORKGROUP, "workgroup_size") \
	X(GRID, "grid_size") \
	X(AX, "x") \
	X(AY, "y") \
	X(AZ, "z") \
	X(DST, "dst_agent_id") \
	X(SRC, "src_agent_id") \
	X(BYTES, "bytes") \
	X(SIZE, "allocation_size") \
	X(NAME, "name") \
	X(COUNTER, "counter_id") \
	X(VALUE, "value")
/* clang-format on */

enum {
	K_NONE,
#define X(name, text) K_##name,
	KEYS(X)
#undef X
};

static uint8_t rp_json_key(const char *s, size_t len)
{
	static const struct {
		const char *text;
		size_t len;
	} keys[] = { { "", 0 },
#define X(name, text) { text, sizeof(text) - 1 },
		     KEYS(X)
#undef X
	};

	for (uint8_t i = 1; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].len == len && !memcmp(keys[i].text, s, len))
			return i;
	return K_NONE;
}

static uint8_t section(const struct rp_json *j)
{
	return j->depth >= RUN ? j->level[RUN].key : K_NONE;
}

static uint8_t table(const struct rp_json *j)
{
	return j->depth >= TABLE && j->level[TABLE].map ? j->level[TABLE].key : K_NONE;
}

static bool is_api(uint8_t t)
{
	return t == K_HIP || t == K_HSA || t == K_MARKER || t == K_RCCL || t == K_ROCDECODE ||
	       t == K_ROCJPEG;
}

static uint16_t row_kind(const struct rp_json *j)
{
	uint8_t t = table(j);

	if (section(j) == K_CALLBACKS)
		return t == K_COLLECTION ? RP_COUNTER : RP_ROW_KINDS;
	if (section(j) != K_BUFFERS)
		return RP_ROW_KINDS;
	if (t == K_DISPATCHES)
		return RP_DISPATCH;
	if (t == K_COPIES)
		return RP_COPY;
	if (t == K_ALLOCS)
		return RP_ALLOC;
	if (t == K_SCRATCHES)
		return RP_SCRATCH;
	return t == K_MARKER ? RP_MARKER : is_api(t) ? RP_API : RP_ROW_KINDS;
}

/* Names ------------------------------------------------------------------------------------------
 */

static void set_name(struct rp_symbol *s, const char *text, size_t len)
{
	free(s->name);
	s->name = malloc(len + 1);
	s->len = s->name ? len : 0;
	if (s->name)
		memcpy(s->name, text, len);
	s->id = RP_NOT_INTERNED;
}

/* A name is sent when it is first meant: code objects have many that never run */
static uint32_t intern(struct rp_input *in, struct rp_symbol *s)
{
	if (s && s->name && s->id == RP_NOT_INTERNED)
		s->id = rp_intern(in, s->name, s->len);
	return s && s->name ? s->id : GT_NONE32;
}

static void keep_symbol(struct rp_json *j)
{
	uint64_t room = j->nsymbols ? j->nsymbols : 1024;
	struct rp_symbol *more;

	if (!j->symbol.name || j->symbol_id >= RP_SYMBOLS)
		return;
	while (room <= j->symbol_id)
		room *= 2;
	if (room > j->nsymbols) {
		more = reallocarray(j->symbols, room, sizeof(*more));
		if (!more)
			return;
		j->symbols = more;
		memset(&j->symbols[j->nsymbols], 0, (room - j->nsymbols) * sizeof(*more));
		j->nsymbols = room;
	}
	free(j->symbols[j->symbol_id].name);
	j->symbols[j->symbol_id] = j->symbol;
	j->symbol.name = NULL;
}

static void keep_counter(struct rp_json *j)
{
	if (!j->symbol.name || j->ncounters == RP_COUNTERS)
		return;
	j->counter[j->ncounters].handle = j->handle;
	j->counter[j->ncounters++].name = j->symbol;
	j->symbol.name = NULL;
}

static void keep_operation(struct rp_json *j, const char *s, size_t len)
{
	unsigned int kind = j->nkinds ? j->nkinds - 1 : 0;

	if (!j->nkinds || j->nkinds > RP_KINDS_MAX || j->nnames[kind] == RP_OPERATIONS)
		return;
	if (!j->names[kind])
		j->names[kind] = calloc(RP_OPERATIONS, sizeof(*j->names[kind]));
	if (j->names[kind])
		set_name(&j->names[kind][j->nnames[kind]++], s, len);
}

static struct rp_symbol *operation_of(struct rp_json *j)
{
	if (j->kind >= RP_KINDS_MAX || !j->names[j->kind] || j->operation >= j->nnames[j->kind])
		return NULL;
	return &j->names[j->kind][j->operation];
}

/* Rows -------------------------------------------------------------------------------------------
 */

static void use_symbol(struct rp_input *in, struct rp_json *j)
{
	struct rp_symbol *s = j->kernel < j->nsymbols ? &j->symbols[j->kernel] : NULL;

	j->row.name = intern(in, s);
	if (j->row.name == GT_NONE32) {
		rp_fault(in, "a dispatch of kernel %llu, which has no name",
			 (unsigned long long)j->kernel);
		return;
	}
	j->row.v[GT_KV_VGPR] = s->vgpr;
	j->row.v[GT_KV_AGPR] = s->agpr;
	j->row.v[GT_KV_SGPR] = s->sgpr;
}

static void emit_readings(struct rp_input *in, struct rp_json *j)
{
	for (unsigned int i = 0; i < j->nreadings; i++) {
		unsigned int c = 0;

		while (c < j->ncounters && j->counter[c].handle != j->reading[i].handle)
			c++;
		if (c == j->ncounters) {
			rp_fault(in, "a reading of counter %llu, which has no name: left out",
				 (unsigned long long)j->reading[i].handle);
			continue;
		}
		j->row.counter = intern(in, &j->counter[c].name);
		j->row.value = j->reading[i].value;
		rp_emit(in, &j->row);
	}
}

static void emit(struct rp_input *in, struct rp_json *j)
{
	struct rp_row *r = &j->row;
	bool timed = r->start < INT64_MAX && r->end < INT64_MAX;

	if (r->kind != RP_COUNTER && (!timed || r->end < r->start)) {
		rp_fault(in, timed ? "a record ends before it begins: left out"
				   : "a record has no times: left out");
		return;
	}
	r->pid = j->pid;
	if (r->kind == RP_DISPATCH || r->kind == RP_COUNTER)
		use_symbol(in, j);
	else
		r->name = intern(in, operation_of(j));
	if (r->kind == RP_COUNTER)
		emit_readings(in, j);
	else
		rp_emit(in, r);
}

/** rp_json_begin() - a map begins, the innermost level; rp_json_end() - it ends */
static void rp_json_begin(struct rp_input *in, struct rp_json *j)
{
	if (j->depth == ELEMENT) {
		memset(&j->agent, 0xff, sizeof(j->agent));
		j->agent.gpu = false;
		free(j->symbol.name);
		memset(&j->symbol, 0, sizeof(j->symbol));
		j->symbol.vgpr = j->symbol.agpr = j->symbol.sgpr = GT_NONE32;
		j->rank = 0;
		j->handle = j->symbol_id = GT_NONE64;
	}
	if (j->depth == RECORD && section(j) == K_STRINGS && table(j) == K_BUFFERS)
		j->nkinds++;
	if (j->depth == RECORD && row_kind(j) < RP_ROW_KINDS) {
		rp_row_init(&j->row, row_kind(j));
		j->kernel = j->kind = j->operation = GT_NONE64;
		j->nreadings = 0;
	}
	if (j->depth == READING && row_kind(j) == RP_COUNTER)
		j->handle = GT_NONE64;
}

static void rp_json_end(struct rp_input *in, struct rp_json *j)
{
	uint8_t s = section(j);

	if (j->depth == ELEMENT && s == K_AGENTS && j->handle != GT_NONE64) {
		j->agent.key = j->handle;
		rp_emit_agent(in, &j->agent);
	} else if (j->depth == ELEMENT && s == K_SYMBOLS) {
		keep_symbol(j);
	} else if (j->depth == ELEMENT && s == K_COUNTERS) {
		keep_counter(j);
	} else if (j->depth == RECORD && row_kind(j) < RP_ROW_KINDS) {
		emit(in, j);
	}
}

static void rp_json_text(struct rp_input *in, struct rp_json *j, uint8_t key, const char *s,
			 size_t len)
{
	unsigned int rank = key == K_FORMATTED ? 3 : key == K_DEMANGLED ? 2 : key == K_MANGLED;

	if (section(j) == K_SYMBOLS && rank > j->rank) {
		set_name(&j->symbol, s, len);
		j->rank = rank;
	} else if (section(j) == K_COUNTERS && key == K_NAME && j->depth == ELEMENT) {
		set_name(&j->symbol, s, len);
	} else if (section(j) == K_STRINGS && table(j) == K_BUFFERS && key == K_OPERATIONS) {
		keep_operation(j, s, len);
	}
}

/* Values -----------------------------------------------------------------------------------------
 */

static uint32_t small(uint64_t v)
{
	return v < GT_NONE32 ? (uint32_t)v : GT_NONE32;
}

static void agent_value(struct rp_json *j, uint8_t key, uint8_t parent, uint64_t v)
{
	struct rp_agent *a = &j->agent;

	if (key == K_HANDLE && parent == K_ID)
		j->handle = v;
	else if (key == K_NODE)
		a->node = v;
	else if (key == K_GPU_ID)
		a->gpu_id = v;
	else if (key == K_LOCATION)
		a->location = v;
	else if (key == K_DOMAIN)
		a->domain = v;
	else if (key == K_TYPE && j->depth == ELEMENT)
		a->gpu = v == 2;
}

static void symbol_value(struct rp_json *j, uint8_t key, uint64_t v)
{
	if (key == K_KERNEL)
		j->symbol_id = v;
	else if (key == K_VGPR)
		j->symbol.vgpr = small(v);
	else if (key == K_AGPR)
		j->symbol.agpr = small(v);
	else if (key == K_SGPR)
		j->symbol.sgpr = small(v);
}

static void handle_value(struct rp_json *j, uint8_t parent, uint64_t v)
{
	if (parent == K_AGENT || parent == K_DST)
		j->row.agent = v;
	else if (parent == K_SRC)
		j->row.from = v;
	else if (parent == K_QUEUE)
		j->row.queue = v;
	else if (parent == K_COUNTER)
		j->handle = v;
}

static void reading_value(struct rp_input *in, struct rp_json *j, double d)
{
	if (j->depth != READING || row_kind(j) != RP_COUNTER)
		return;
	if (j->nreadings == RP_READINGS) {
		rp_fault(in, "a dispatch has more than %u readings: the rest is left out",
			 RP_READINGS);
		return;
	}
	j->reading[j->nreadings].handle = j->handle;
	j->reading[j->nreadings++].value = d;
}

static void record_value(struct rp_input *in, struct rp_json *j, uint8_t key, uint8_t parent,
			 uint64_t v, double d)
{
	struct rp_row *r = &j->row;

	switch (key) {
	case K_HANDLE:
		handle_value(j, parent, v);
		break;
	case K_KIND:
		j->kind = v;
		break;
	case K_OPERATION:
		j->operation = v;
		break;
	case K_THREAD:
		r->tid = small(v);
		break;
	case K_INTERNAL:
		r->correlation = v;
		break;
	case K_START:
		r->start = v;
		break;
	case K_END:
		r->end = v;
		break;
	case K_KERNEL:
		j->kernel = v;
		break;
	case K_DISPATCH:
		r->dispatch = v;
		break;
	case K_PRIVATE:
		r->v[GT_KV_SCRATCH] = small(v);
		break;
	case K_GROUP:
		r->v[GT_KV_LDS] = small(v);
		break;
	case K_AX:
	case K_AY:
	case K_AZ:
		if (parent == K_WORKGROUP)
			r->v[GT_KV_WORKGROUP_X + key - K_AX] = small(v);
		else if (parent == K_GRID)
			r->v[GT_KV_GRID_X + key - K_AX] = small(v);
		break;
	case K_BYTES:
	case K_SIZE:
		r->bytes = v;
		break;
	case K_VALUE:
		reading_value(in, j, d);
		break;
	}
}

/** rp_json_number() - @v: as a whole number, GT_NONE64 if it is none; @d: as any */
static void rp_json_number(struct rp_input *in, struct rp_json *j, uint8_t key, uint8_t parent,
			   uint64_t v, double d)
{
	switch (section(j)) {
	case K_METADATA:
		if (key == K_PID && j->depth == TABLE)
			j->pid = small(v);
		break;
	case K_AGENTS:
		agent_value(j, key, parent, v);
		break;
	case K_SYMBOLS:
		symbol_value(j, key, v);
		break;
	case K_COUNTERS:
		if (key == K_HANDLE && parent == K_ID)
			j->handle = v;
		break;
	case K_CALLBACKS:
	case K_BUFFERS:
		if (j->depth >= RECORD)
			record_value(in, j, key, parent, v, d);
		break;
	}
}

static void free_names(struct rp_symbol *s, uint64_t n)
{
	for (uint64_t i = 0; s && i < n; i++)
		free(s[i].name);
	free(s);
}

static void rp_json_free(struct rp_json *j)
{
	free_names(j->symbols, j->nsymbols);
	for (unsigned int i = 0; i < RP_KINDS_MAX; i++)
		free_names(j->names[i], j->nnames[i]);
	for (unsigned int i = 0; i < j->ncounters; i++)
		free(j->counter[i].name.name);
	free(j->symbol.name);
}

static bool json_detect(const char *head, size_t len)
{
	char first[128];

	rp_squeeze(first, head, len);
	return first[0] == '{' && strstr(first, "\"rocprofiler-sdk-tool\"");
}

/* Where in the file something is: the key of the map that is @up levels above the value */
static uint8_t key_at(const struct rp_json *j, unsigned int up)
{
	return up < j->depth ? j->level[j->depth - up].key : 0;
}

/* The nearest key above that of the value: an array has none of its own */
static uint8_t parent_key(const struct rp_json *j)
{
	for (unsigned int up = 1; up < j->depth; up++)
		if (j->level[j->depth - up].map)
			return key_at(j, up);
	return 0;
}

static int on_key(void *arg, const unsigned char *s, size_t len)
{
	struct rp_json *j = ((struct rp_input *)arg)->priv;

	j->level[j->depth].key = rp_json_key((const char *)s, len);
	return 1;
}

static int enter(struct rp_json *j, bool map)
{
	if (j->depth + 1 == RP_JSON_DEPTH)
		return 0;
	j->depth++;
	j->level[j->depth].map = map;
	j->level[j->depth].key = 0;
	return 1;
}

static int on_map(void *arg)
{
	struct rp_input *in = arg;
	struct rp_json *j = in->priv;

	if (!enter(j, true))
		return 0;
	rp_json_begin(in, j);
	return 1;
}

static int on_map_end(void *arg)
{
	struct rp_input *in = arg;
	struct rp_json *j = in->priv;

	rp_json_end(in, j);
	j->depth--;
	return 1;
}

static int on_array(void *arg)
{
	struct rp_json *j = ((struct rp_input *)arg)->priv;

	return enter(j, false);
}

static int on_array_end(void *arg)
{
	struct rp_json *j = ((struct rp_input *)arg)->priv;

	j->depth--;
	return 1;
}

static int on_text(void *arg, const unsigned char *s, size_t len)
{
	struct rp_input *in = arg;
	struct rp_json *j = in->priv;
	uint8_t key = j->level[j->depth].map ? key_at(j, 0) : parent_key(j);

	rp_json_text(in, j, key, (const char *)s, len);
	return 1;
}

static int on_number(void *arg, const char *s, size_t len)
{
	struct rp_input *in = arg;
	struct rp_json *j = in->priv;
	char text[48], *end;
	uint64_t v;

	if (!j->level[j->depth].map || !len || len >= sizeof(text))
		return 1;
	memcpy(text, s, len);
	text[len] = '\0';
	errno = 0;
	v = *text == '-' ? GT_NONE64 : strtoull(text, &end, 10);
	if (*text == '-' || errno || *end)
		v = GT_NONE64;
	rp_json_number(in, j, key_at(j, 0), parent_key(j), v, strtod(text, NULL));
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_number = on_number,
	.yajl_string = on_text,
	.yajl_start_map = on_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_map_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_array_end,
};

/* A file that is still being written does not end in a brace */
static bool whole(const struct rp_input *in)
{
	char tail[64];
	ssize_t n = rp_pread(in, tail, sizeof(tail),
			     in->s->size > sizeof(tail) ? in->s->size - sizeof(tail) : 0);

	while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == ' '))
		n--;
	return n > 0 && tail[n - 1] == '}';
}

static int json_open(struct rp_input *in)
{
	struct rp_json *j = calloc(1, sizeof(*j));

	in->priv = j;
	if (!j)
		return rp_fail(in, "no memory");
	if (in->s->live && !whole(in))
		return rp_fail(in, "is being written");
	j->pid = in->s->pid;
	return rp_walk_begin(in, &j->walk, &callbacks);
}

static bool json_first(const struct rp_input *in)
{
	return false;
}

static int json_feed(struct rp_input *in)
{
	struct rp_json *j = in->priv;

	return rp_walk_piece(in, &j->walk);
}

static void json_close(struct rp_input *in)
{
	struct rp_json *j = in->priv;

	in->priv = NULL;
	if (!j)
		return;
	rp_walk_done(&j->walk);
	rp_json_free(j);
	free(j);
}

const struct rp_format rp_format_json = {
	.name = "json",
	.detect = json_detect,
	.open = json_open,
	.first = json_first,
	.feed = json_feed,
	.close = json_close,
};
