/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TSDL for our stream, after the Common Trace Format 1.8.3 specification. A stream of records is
 * one packet without a header. Its first record, HEADER, is the packet context: babeltrace2 2.1 aborts
 * if a packet with a clock does not say when it begins, and 2.0 wants that field to be called so. Of
 * all others `ts` and `type` are event.header; flags and cpu are event.context (within the header they
 * make babeltrace2 2.0.4 warn).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/event.h"
#include "stream.h"

#define NS_PER_S 1000000000LL

static const char *const type_names[GT_NTYPES] = GT_TYPE_NAMES;

#define OBJECT "uint16_t gpu; uint16_t ring; "
#define JOB                                                                                        \
	OBJECT "hex64_t ctx; uint64_t seqno; uint32_t pid; uint32_t tid; uint32_t uid; "           \
	       "uint32_t queue; "

/* The types of an event's `value` and `ref` that are not plain numbers. */
static const struct {
	const char *value, *ref;
} value_types[GT_NTYPES] = {
	[GT_CTX_SWITCH] = { NULL, "hex64_t" },	      [GT_ERROR] = { "enum gt_error", NULL },
	[GT_FUNCTION] = { "enum gt_function", NULL }, [GT_IOCTL_ENTER] = { "hex64_t", NULL },
	[GT_IOCTL_EXIT] = { "int64_t", NULL },
};

static const char basic_types[] =
	"/* CTF 1.8 */\n"
	"/* gputrace: 64-byte records, see gputrace-event(5). All bits set: not known. */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := hex64_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char_t;\n"
	"trace { major = 1; minor = 8; byte_order = le; };\n";

/* One list for 16 and 32 bits: the label is the same, only the container differs. */
#define ENGINES "{ UNKNOWN, GRAPHICS, COMPUTE, COPY, VIDEO_DECODE, VIDEO_ENCODE }"

static const char enums[] = "enum gt_error : uint64_t { UNKNOWN, TIMEOUT, RESET, FAULT, GUILTY };\n"
			    "enum gt_engine16 : uint16_t " ENGINES ";\n"
			    "enum gt_engine32 : uint32_t " ENGINES ";\n"
			    "enum gt_name_kind : uint32_t { CUSTOM, KERNEL, COUNTER, FUNCTION };\n"
			    "enum gt_queue_kind : uint16_t { COMPUTE, SDMA, TSG, EXEC, USER };\n"
			    "enum gt_lost_cause : uint32_t { SOURCE, READER, BEGIN };\n";
static_assert(GT_ERR_GUILTY == 4 && GT_NENGINES == 6 && GT_NAME_FUNCTION == 3 &&
		      GT_QUEUE_USER == 4 && GT_LOST_CAUSES == 3,
	      "the lists above have all of them");

static const struct {
	int id;
	const char *name, *fields;
} descriptions[] = {
	{ GT_HEADER, "HEADER",
	  "uint16_t version; uint16_t record_size; char_t magic[16]; int64_t realtime_offset; "
	  "int64_t boottime_offset; hex64_t session; uint64_t reserved;" },
	{ GT_GPU_NAME, "GPU_NAME", OBJECT "char_t name[16]; char_t dev[32];" },
	{ GT_RING_NAME, "RING_NAME",
	  OBJECT "enum gt_engine32 engine; uint32_t reserved; char_t name[40];" },
	{ GT_PROCESS, "PROCESS",
	  OBJECT "uint64_t start; uint64_t cgroup; uint32_t pid; uint32_t uid; char_t comm[16]; "
		 "uint64_t reserved;" },
	{ GT_NAME, "NAME",
	  OBJECT "uint64_t id; enum gt_name_kind kind; uint32_t part; char_t text[32];" },
	{ GT_QUEUE, "QUEUE",
	  OBJECT "hex64_t ctx; uint32_t queue; uint32_t pid; uint32_t uid; uint32_t runlist; "
		 "uint32_t timeslice_us; uint32_t channels; enum gt_queue_kind kind; "
		 "enum gt_engine16 engine; uint16_t interleave; uint16_t priority; "
		 "uint64_t size;" },
	{ GT_LOST, "LOST",
	  OBJECT "uint64_t count; uint64_t since; enum gt_lost_cause cause; "
		 "uint32_t reserved; uint64_t until; uint32_t reserved2[4];" },
	{ GT_MACHINE, "MACHINE", OBJECT "uint8_t boot_id[16]; char_t name[32];" },
	{ GT_CLOCK_SNAPSHOT, "CLOCK_SNAPSHOT",
	  OBJECT "int64_t realtime_offset; int64_t boottime_offset; uint64_t reserved[4];" },
};
#define NDESCRIPTIONS (sizeof(descriptions) / sizeof(descriptions[0]))
static_assert(NDESCRIPTIONS == GT_TYPE_END - GT_HEADER, "every description is described");

/* CTF splits the offset: whole seconds of any sign, and nanoseconds from 0 to 999999999. */
static void clock_desc(struct gt_text *t, int64_t offset)
{
	int64_t s = offset / NS_PER_S, ns = offset % NS_PER_S;

	if (ns < 0) {
		s--;
		ns += NS_PER_S;
	}
	gt_text_printf(t,
		       "clock { name = monotonic; description = \"%s\"; freq = 1000000000; "
		       "offset_s = %lld; offset = %lld; absolute = true; };\n"
		       "typealias integer { size = 64; align = 8; signed = false; "
		       "map = clock.monotonic.value; } := ts_t;\n",
		       offset ? "CLOCK_MONOTONIC" : "clock of the recording", (long long)s,
		       (long long)ns);
}

static void stream_desc(struct gt_text *t)
{
	gt_text_str(t, "enum gt_type : uint8_t {");
	for (int i = 0; i < GT_NTYPES; i++)
		gt_text_printf(t, " %s = %d,", type_names[i], i);
	for (size_t i = 0; i < NDESCRIPTIONS; i++)
		gt_text_printf(t, "%s %s = %d", i ? "," : "", descriptions[i].name,
			       descriptions[i].id);
	gt_text_str(t, " };\nstream {\n"
		       "\tpacket.context := struct { ts_t timestamp_begin; char_t header[56]; };\n"
		       "\tevent.header := struct { ts_t timestamp; enum gt_type id; };\n"
		       "\tevent.context := struct { uint8_t flags; uint16_t cpu; };\n"
		       "};\n");
}

static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";

/* A quoted string's inside: it must neither end it nor escape. */
static void quoted(struct gt_text *t, const char *s, size_t max)
{
	for (size_t i = 0; i < max && s[i]; i++)
		gt_text_ch(t, strchr(good, s[i]) ? s[i] : '_');
}

static void event_name(struct gt_text *t, int type, const char (*custom)[32])
{
	const char *s = type >= GT_CUSTOM0 ? custom[type - GT_CUSTOM0] : "";

	if (!*s) {
		gt_text_str(t, type_names[type]);
		return;
	}
	quoted(t, s, sizeof(*custom));
}

static void event_desc(struct gt_text *t, int type, const char (*custom)[32])
{
	const char *value = value_types[type].value, *ref = value_types[type].ref;

	gt_text_printf(t, "event { id = %d; name = \"", type);
	event_name(t, type, custom);
	gt_text_printf(t, "\"; fields := struct { " JOB "%s value; %s ref; }; };\n",
		       value ? value : "uint64_t", ref ? ref : "uint64_t");
}

/* Functions that were called so far. All bits set: not known. */
static void function_names(struct gt_text *t, const struct gt_ctf_functions *f)
{
	gt_text_str(t, "enum gt_function : uint64_t {");
	for (unsigned int i = 0; f && i < f->n; i++) {
		if (!f->name[i][0])
			continue;
		gt_text_str(t, " \"");
		quoted(t, f->name[i], sizeof(f->name[i]));
		gt_text_printf(t, "\" = %u,", i);
	}
	gt_text_printf(t, " \"-\" = %llu };\n", (unsigned long long)GT_NONE64);
}

void gt_ctf_metadata(struct gt_text *t, const char (*custom)[32], const struct gt_ctf_functions *f,
		     int64_t realtime_offset, uint64_t session)
{
	gt_text_str(t, basic_types);
	/* env knows signed integers only, so the session is a string */
	gt_text_printf(t,
		       "env { tracer_name = \"gputrace\"; record_version = %d; "
		       "session = \"%016llx\"; };\n",
		       GT_RECORD_VERSION, (unsigned long long)session);
	clock_desc(t, realtime_offset);
	gt_text_str(t, enums);
	function_names(t, f);
	stream_desc(t);
	for (int i = 0; i < GT_NTYPES; i++)
		event_desc(t, i, custom);
	for (size_t i = 0; i < NDESCRIPTIONS; i++)
		gt_text_printf(t, "event { id = %d; name = \"%s\"; fields := struct { %s }; };\n",
			       descriptions[i].id, descriptions[i].name, descriptions[i].fields);
}

struct list {
	struct gt_cursor *c;
	uint64_t ts;
	size_t cap;
	int err;
};

static void init(union gt_record *r, uint64_t ts, enum gt_type type)
{
	memset(r, 0xff, sizeof(*r));
	r->ev.ts = ts;
	r->ev.type = (uint8_t)type;
	r->ev.flags = 0;
}

/* A name that ends, whatever @src is, and leaves no byte of the record as it was. */
static void name(char *dst, size_t dst_size, const char *src, size_t src_size)
{
	memset(dst, 0, dst_size);
	memcpy(dst, src, strnlen(src, src_size < dst_size ? src_size : dst_size - 1));
}

static void add(struct list *l, union gt_record *r)
{
	struct gt_cursor *c = l->c;

	if (l->err || !gt_scope_has(&c->scope, r) || !gt_redact(r, &c->view))
		return;
	if (c->npre == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		union gt_record *pre = reallocarray(c->pre, cap, sizeof(*pre));

		if (!pre) {
			l->err = -ENOMEM;
			return;
		}
		c->pre = pre;
		l->cap = cap;
	}
	c->pre[c->npre++] = *r;
}

static void add_header(struct list *l)
{
	const struct gt_log *log = l->c->log;
	union gt_record r;

	init(&r, l->ts, GT_HEADER);
	r.header.version = GT_RECORD_VERSION;
	r.header.record_size = GT_RECORD_SIZE;
	name(r.header.magic, sizeof(r.header.magic), GT_RECORD_MAGIC, sizeof(GT_RECORD_MAGIC));
	r.header.realtime_offset = log->realtime_offset;
	r.header.boottime_offset = log->boottime_offset;
	r.header.session = log->session;
	r.header.reserved = 0;
	add(l, &r);
}

static void add_machine(struct list *l)
{
	const struct gt_log *log = l->c->log;
	union gt_record r = { .machine = log->machine };

	r.ev.ts = l->ts;
	if (log->wall)
		add(l, &r);
}

/* Each fill_*() makes object @i into a record under the model's lock; false: there is none. */

static bool fill_gpu(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	const struct gt_gpu *g = m->gpus[i];

	if (!g)
		return false;
	init(r, ts, GT_GPU_NAME);
	r->gpu_name.gpu = g->id;
	name(r->gpu_name.name, sizeof(r->gpu_name.name), g->name, sizeof(g->name));
	name(r->gpu_name.dev, sizeof(r->gpu_name.dev), g->dev, sizeof(g->dev));
	return true;
}

static bool fill_ring(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	const struct gt_gpu *g = m->gpus[i / GT_MAX_RINGS];
	const struct gt_ring *ring;

	if (!g || i % GT_MAX_RINGS >= g->nrings)
		return false;
	ring = g->rings[i % GT_MAX_RINGS];
	if (!ring)
		return false;
	init(r, ts, GT_RING_NAME);
	r->ring_name.gpu = g->id;
	r->ring_name.ring = ring->id;
	r->ring_name.engine = ring->engine;
	r->ring_name.reserved = 0;
	name(r->ring_name.name, sizeof(r->ring_name.name), ring->name, sizeof(ring->name));
	return true;
}

static bool fill_custom(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	if (!m->custom[i][0])
		return false;
	init(r, ts, GT_NAME);
	r->name.id = GT_CUSTOM0 + i;
	r->name.kind = GT_NAME_CUSTOM;
	r->name.part = 0;
	/* 32 bytes need no end: that is what @part is for */
	memset(r->name.text, 0, sizeof(r->name.text));
	memcpy(r->name.text, m->custom[i], strnlen(m->custom[i], sizeof(r->name.text)));
	return true;
}

/* @i counts the pieces of all names. */
static bool fill_function(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	const unsigned int piece = sizeof(r->name.text), pieces = GT_FUNCTION_NAME / piece;
	unsigned int id = i / pieces, part = i % pieces;
	const char *whole = m->functions[id];
	size_t len = strnlen(whole, GT_FUNCTION_NAME);

	if (len <= part * piece)
		return false;
	init(r, ts, GT_NAME);
	r->name.id = id;
	r->name.kind = GT_NAME_FUNCTION;
	r->name.part = part;
	memset(r->name.text, 0, piece);
	memcpy(r->name.text, whole + part * piece, strnlen(whole + part * piece, piece));
	return true;
}

static bool fill_queue(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	const struct gt_queue *q = m->queues[i];

	if (!q || q->gpu == GT_NONE16)
		return false;
	r->queue = q->desc;
	r->queue.ts = ts;
	r->queue.type = GT_QUEUE;
	r->queue.cpu = GT_NONE16;
	r->queue.gpu = q->gpu;
	r->queue.queue = q->id;
	return true;
}

static bool fill_process(struct gt_model *m, unsigned int i, union gt_record *r, uint64_t ts)
{
	const struct gt_proc *p = i < m->proc_slots ? m->procs[i] : NULL;

	if (!p || p->dead)
		return false;
	init(r, ts, GT_PROCESS);
	r->process.start = p->start ? p->start : GT_NONE64;
	r->process.cgroup = p->cgroup_id ? p->cgroup_id : GT_NONE64;
	r->process.pid = p->pid;
	r->process.uid = p->uid;
	r->process.reserved = 0;
	name(r->process.comm, sizeof(r->process.comm), p->comm, sizeof(p->comm));
	return true;
}

static void add_all(struct list *l, unsigned int n,
		    bool (*fill)(struct gt_model *, unsigned int, union gt_record *, uint64_t))
{
	for (unsigned int i = 0; i < n && !l->err; i++) {
		union gt_record r;
		bool there;

		{
			GT_MODEL_LOCK(l->c->model);
			there = fill(l->c->model, i, &r, l->ts);
		}
		if (there)
			add(l, &r);
	}
}

int gt_preamble_make(struct gt_cursor *c, uint64_t ts)
{
	struct list l = { .c = c, .ts = ts };
	unsigned int ngpus, nqueues, nprocs, nfunctions;

	{
		/* What comes after this look is in the log itself */
		GT_MODEL_LOCK(c->model);
		ngpus = c->model->ngpus;
		nqueues = c->model->nqueues;
		nprocs = c->model->proc_slots;
		nfunctions = c->model->nfunctions;
	}
	add_header(&l);
	add_machine(&l);
	add_all(&l, ngpus, fill_gpu);
	add_all(&l, ngpus * GT_MAX_RINGS, fill_ring);
	add_all(&l, sizeof(c->model->custom) / sizeof(c->model->custom[0]), fill_custom);
	add_all(&l, nfunctions * (GT_FUNCTION_NAME / sizeof(((struct gt_name *)0)->text)),
		fill_function);
	add_all(&l, nqueues, fill_queue);
	add_all(&l, nprocs, fill_process);
	return l.err;
}
