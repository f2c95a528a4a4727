/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints that the event maps name: one program for all. Which tracepoint it runs for, its
 * cookie says, and a map says what of its record is told; what that means is found out in user
 * space, by the code that reads the same records from ftrace.
 */
#include "ring.h"
#include "jobs.h"

#include <asm/ptrace.h>
#include <bpf/bpf_tracing.h>

#define PART GT_BPF_TRACEPOINT

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_BPF_TPS);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_tp);
} tps SEC(".maps");

/* Of events that are made: see struct gt_bpf_made */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_made);
} made SEC(".maps");

/* No program of a tracepoint or kprobe interrupts another on its CPU (trace_call_bpf()), so one is
 * enough. */
struct scratch {
	struct gt_bpf_raw raw; /* its data follows */
	struct gt_k_record rec;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, uint32_t);	 /* process */
	__type(value, uint64_t); /* its start: the number may be used again */
} told SEC(".maps");

char LICENSE[] SEC("license") = "GPL";

/* Says who the running process is, once: it may have ended before the daemon can ask. @start: its
 * begin, 0: to be found out */
static __always_inline void tell_process(uint64_t ts, uint32_t pid, uint64_t start)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct task_struct *leader;
	uint64_t *known;
	struct gt_bpf_count *n = gt_counts(PART);
	union gt_record *r;

	if (!start)
		start = BPF_CORE_READ(task, group_leader, start_boottime);
	known = bpf_map_lookup_elem(&told, &pid);
	if (known && *known == start)
		return;
	r = n ? gt_try_reserve(n, PART, ts, GT_PROCESS) : NULL;
	if (!r)
		return;
	leader = BPF_CORE_READ(task, group_leader);
	r->process.start = start;
	r->process.pid = pid;
	r->process.uid = (uint32_t)bpf_get_current_uid_gid();
	__builtin_memset(r->process.comm, 0, sizeof(r->process.comm));
	bpf_probe_read_kernel_str(r->process.comm, sizeof(r->process.comm), &leader->comm);
	gt_submit(r, PART);
	bpf_map_update_elem(&told, &pid, &start, BPF_ANY);
}

/* Everything of a record but its data */
static __always_inline void begin(struct scratch *s, uint64_t ts, uint64_t index, uint64_t len)
{
	uint64_t id = bpf_get_current_pid_tgid();

	s->raw = (struct gt_bpf_raw){
		.ts = ts,
		.type = GT_BPF_RAW,
		.flags = PART << GT_BPF_PART_SHIFT,
		.cpu = bpf_get_smp_processor_id(),
		.index = index,
		.len = len,
		.tid = (uint32_t)id,
		.pid = id >> 32,
		.uid = (uint32_t)bpf_get_current_uid_gid(),
	};
}

/* Where a record is put together; NULL: nothing is told now */
static __always_inline struct scratch *scratch(struct gt_bpf_count *n)
{
	uint32_t zero = 0;

	if (gt_paused())
		return NULL;
	n->seen++;
	return bpf_map_lookup_elem(&scratches, &zero);
}

/* The event is counted here, or a record tells of it, or both. */
static __always_inline void end(struct scratch *s, const struct gt_bpf_tp *tp, uint32_t index,
				uint64_t len)
{
	struct gt_k_event e = { .ts = bpf_ktime_get_ns() };
	struct gt_k_ctl *c = k_control();
	int what;

	gt_opaque(len);
	if (len > GT_BPF_RAW_MAX)
		len = GT_BPF_RAW_MAX;
	what = gt_k_count(index, c, &s->rec, len, &e);
	if (what != GT_K_PASS && c && !c->awake)
		k_wake(c, e.ts);
	if (what == GT_K_QUIET)
		return;
	begin(s, e.ts, index, len);
	if (what != GT_K_PASS) {
		s->raw.counted = 1;
		s->raw.hw_wait = e.end.v[GT_ST_HW_WAIT];
		s->raw.exec = e.end.v[GT_ST_EXEC];
		s->raw.nth = e.job;
	}
	if (e.known && e.ring != GT_NONE32) {
		s->raw.known = 1;
		s->raw.nth = e.ring;
		s->raw.exec = e.ctx;
	}
	if (tp->owner)
		tell_process(e.ts, s->raw.pid, e.start);
	gt_send(PART, s->raw.ts, s, sizeof(s->raw) + len);
}

/* Is it an event of interest? What may be an address is for user space to judge. */
static __always_inline bool meets(const struct gt_bpf_tp *tp, const struct scratch *s)
{
	uint32_t at = tp->at;
	uint64_t v;

	if (tp->test == GT_BPF_ANY || at > GT_BPF_RAW_MAX)
		return true;
	v = *(const uint64_t *)(s->rec.data + at);
	if (tp->size == 4)
		v = tp->sign ? (uint64_t)(int64_t)(int32_t)v : (uint32_t)v;
	else if (tp->size == 2)
		v = tp->sign ? (uint64_t)(int64_t)(int16_t)v : (uint16_t)v;
	else if (tp->size == 1)
		v = tp->sign ? (uint64_t)(int64_t)(int8_t)v : (uint8_t)v;
	if (v >= 0xff00000000000000ull && v < 0xffffffffffff0000ull)
		return true;
	if (tp->test == GT_BPF_BITS)
		return v & tp->value;
	return (v == tp->value) == (tp->test == GT_BPF_EQUAL);
}

/* Where the last of the record's strings ends */
static __always_inline uint32_t strings_end(const struct gt_bpf_tp *tp, const struct scratch *s)
{
	uint32_t last = tp->fixed;

	for (unsigned int i = 0; i < GT_BPF_STRINGS && i < tp->nstring; i++) {
		uint32_t at = tp->string[i] & ~GT_BPF_REL, to;

		if (at > GT_BPF_RAW_MAX)
			break;
		to = *(const uint32_t *)(s->rec.data + at);
		to = (to & 0xffff) + (to >> 16) + (tp->string[i] & GT_BPF_REL ? at + 4 : 0);
		if (to > last)
			last = to;
	}
	return last < GT_BPF_RAW_MAX ? last : GT_BPF_RAW_MAX;
}

SEC("tracepoint")
int gt_raw(void *ctx)
{
	uint32_t index = (uint32_t)bpf_get_attach_cookie(ctx) - 1;
	struct gt_bpf_tp *tp = bpf_map_lookup_elem(&tps, &index);
	struct gt_bpf_count *n = gt_counts(PART);
	uint64_t fixed, more;
	struct scratch *s;

	if (!tp || !tp->fixed || !n)
		return 0;
	s = scratch(n);
	if (!s)
		return 0;
	fixed = tp->fixed;
	if (fixed > GT_BPF_RAW_MAX || bpf_probe_read_kernel(s->rec.data, fixed, ctx)) {
		gt_missed(n, bpf_ktime_get_ns());
		return 0;
	}
	if (!meets(tp, s)) {
		n->other++;
		return 0;
	}
	more = strings_end(tp, s) - fixed;
	gt_opaque(more);
	if (more > GT_BPF_RAW_MAX)
		more = 0;
	if (more && bpf_probe_read_kernel(s->rec.data + fixed, more, ctx + fixed)) {
		gt_missed(n, bpf_ktime_get_ns());
		return 0;
	}
	end(s, tp, index, fixed + more);
	return 0;
}

/* What there is at the beginning of the way: a number, or an address of characters. */
static __always_inline uint64_t base(const struct gt_bpf_field *f, uint64_t rec,
				     const uint64_t *arg)
{
	uint32_t word = 0, bytes = f->bytes;
	uint64_t v = 0;

	switch (f->base) {
	case GT_BPF_ARG:
		return f->from < 6 ? arg[f->from] : 0;
	case GT_BPF_STRING:
		bpf_probe_read_kernel(&word, sizeof(word), (void *)(rec + f->from));
		return rec + (word & 0xffff);
	case GT_BPF_CHARS:
		return rec + f->from;
	default:
		if (bytes <= sizeof(v))
			bpf_probe_read_kernel(&v, bytes, (void *)(rec + f->from));
		return v;
	}
}

static __always_inline void put_text(uint8_t *to, uint64_t from)
{
	static const char fault[8] = "(fault)";

	if (bpf_probe_read_kernel_str(to, GT_BPF_TEXT, (void *)from) < 0)
		__builtin_memcpy(to, fault, sizeof(fault));
}

/* One field, from @v on. What cannot be followed to is unknown. */
static __always_inline void follow(const struct gt_bpf_field *f, struct scratch *s, uint64_t v)
{
	uint32_t to = f->to, size = f->size, n = f->n, k;
	uint8_t *out;

	if (to > GT_BPF_RAW_MAX - GT_BPF_TEXT)
		return;
	out = s->rec.data + to;
	for (k = 0; k < GT_BPF_LOADS - 1 && k + 1 < n; k++)
		if (bpf_probe_read_kernel(&v, sizeof(v), (void *)(v + f->off[k])))
			v = 0;
	if (n)
		v += f->off[k];
	if (f->text) {
		put_text(out, v);
		return;
	}
	*(uint64_t *)out = n ? ~0ull : v;
	if (n && size <= sizeof(v) && bpf_probe_read_kernel(out, size, (void *)v))
		*(uint64_t *)out = ~0ull;
}

static __always_inline int make(uint64_t index, uint64_t rec, const uint64_t *arg)
{
	uint32_t key = (uint32_t)index;
	struct gt_bpf_made *m = bpf_map_lookup_elem(&made, &key);
	struct gt_bpf_tp *tp = bpf_map_lookup_elem(&tps, &key);
	struct gt_bpf_count *n = gt_counts(PART);
	struct scratch *s;

	if (!m || !tp || !tp->fixed || !n)
		return 0;
	s = scratch(n);
	if (!s)
		return 0;
	for (unsigned int i = 0; i < GT_BPF_FIELDS && i < m->n; i++)
		follow(&m->field[i], s, base(&m->field[i], rec, arg));
	end(s, tp, index, m->len);
	return 0;
}

SEC("tracepoint")
int gt_made(void *ctx)
{
	void *at = ctx;
	uint64_t rec = 0, none[6] = { 0 };

	/* the address, as a number that the verifier lets us calculate with */
	if (bpf_probe_read_kernel(&rec, sizeof(rec), &at))
		return 0;
	return make(bpf_get_attach_cookie(ctx) - 1, rec, none);
}

SEC("kprobe")
int gt_called(struct pt_regs *ctx)
{
	uint64_t arg[6] = { PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx),
			    PT_REGS_PARM4(ctx), PT_REGS_PARM5(ctx), 0 };

	return make(bpf_get_attach_cookie(ctx) - 1, 0, arg);
}
