/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints that the event maps name: one program for all that are read from their records, one for
 * functions, and one for all that are read from their arguments (args.bpf.c). Which tracepoint it
 * runs for, its cookie says, and a map says what of its record is sent; what that means is found
 * out in user space, by the code that reads the same records from ftrace.
 */
#define GT_COUNTS_OF_LEVEL
#include "ring.h"
#include "level.h"

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
	__uint(max_entries, GT_BPF_TPS);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_made);
} made SEC(".maps");

/** struct scratch - what a program works with: the stack has no room for it. Of a level; @data: twice
 * as much as is sent, so that any part of a record, behind any other, ends within */
struct scratch {
	struct gt_bpf_raw raw;
	uint8_t data[2 * GT_BPF_RAW_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GT_BPF_LEVELS);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

GT_BODIES(gt_next, GT_BPF_LEVELS);
GT_MARKS_MAP;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, uint32_t);	 /* process */
	__type(value, uint64_t); /* its start: the number may be used again */
} reported SEC(".maps");

char LICENSE[] SEC("license") = "GPL";

/* Says who the running process is, once: it may have ended before the daemon can ask. @n: the
 * program's counters */
static __always_inline void emit_process(struct gt_bpf_count *n, uint64_t ts, uint32_t pid)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	uint64_t start = BPF_CORE_READ(task, group_leader, start_boottime), *known;
	struct task_struct *leader;
	union gt_record *r;

	known = bpf_map_lookup_elem(&reported, &pid);
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
	bpf_map_update_elem(&reported, &pid, &start, BPF_ANY);
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

/* Sends the record of an event. The clock is read here: see level_time() */
static __always_inline void send(struct gt_bpf_level *l, struct gt_bpf_count *n, struct scratch *s,
				 const struct gt_bpf_tp *tp, uint32_t index, uint64_t len)
{
	uint64_t ts = level_time(l);

	gt_opaque(len);
	if (len > GT_BPF_RAW_MAX)
		len = GT_BPF_RAW_MAX;
	begin(s, ts, index, len);
	if (tp->owner)
		emit_process(n, ts, s->raw.pid);
	gt_send(n, PART, ts, s, sizeof(s->raw) + len);
}

/* Is it an event of interest? What may be an address is for user space to judge. */
static __always_inline bool meets(const struct gt_bpf_tp *tp, const struct scratch *s)
{
	uint32_t at = tp->at;
	uint64_t v;

	if (tp->test == GT_BPF_ANY || at > GT_BPF_RAW_MAX)
		return true;
	v = *(const uint64_t *)(s->data + at);
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
		to = *(const uint32_t *)(s->data + at);
		to = (to & 0xffff) + (to >> 16) + (tp->string[i] & GT_BPF_REL ? at + 4 : 0);
		if (to > last)
			last = to;
	}
	return last < GT_BPF_RAW_MAX ? last : GT_BPF_RAW_MAX;
}

/* As much of the tracepoint's record as is sent; ~0: it is of no interest, or cannot be read */
static __always_inline uint64_t read_record(struct gt_bpf_count *n, struct scratch *s,
					    const struct gt_bpf_tp *tp, void *ctx)
{
	uint64_t fixed = tp->fixed, more;

	if (fixed > GT_BPF_RAW_MAX || bpf_probe_read_kernel(s->data, fixed, ctx)) {
		gt_missed(n, bpf_ktime_get_ns());
		return ~0ull;
	}
	if (!meets(tp, s)) {
		n->other++;
		return ~0ull;
	}
	more = strings_end(tp, s) - fixed;
	gt_opaque(more);
	if (more > GT_BPF_RAW_MAX)
		more = 0;
	if (more && bpf_probe_read_kernel(s->data + fixed, more, ctx + fixed)) {
		gt_missed(n, bpf_ktime_get_ns());
		return ~0ull;
	}
	return fixed + more;
}

/* What there is at the beginning of the way: a number, or an address of characters. */
static __always_inline uint64_t base(const struct gt_bpf_field *f, uint64_t rec,
				     const struct gt_bpf_args *a)
{
	uint32_t word = 0, bytes = f->bytes, from = f->from;
	uint64_t v = 0;

	switch (f->base) {
	case GT_BPF_ARG:
		return a && from < GT_BPF_ARGS ? a->arg[from] : 0;
	case GT_BPF_STRING:
		bpf_probe_read_kernel(&word, sizeof(word), (void *)(rec + from));
		return rec + (word & 0xffff);
	case GT_BPF_CHARS:
		return rec + from;
	default:
		if (bytes <= sizeof(v))
			bpf_probe_read_kernel(&v, bytes, (void *)(rec + from));
		return v;
	}
}

static __always_inline void put_text(uint8_t *to, uint64_t from)
{
	static const char fault[8] = "(fault)";

	if (bpf_probe_read_kernel_str(to, GT_BPF_TEXT, (void *)from) < 0)
		__builtin_memcpy(to, fault, sizeof(fault));
}

/* One field: @rec is the address of its source's record, or @a the arguments. What cannot be
 * followed to is unknown. */
__noinline int follow(const struct gt_bpf_field *f, struct scratch *s, uint64_t rec,
		      const struct gt_bpf_args *a)
{
	uint32_t to, size, n;
	uint8_t *out;
	uint64_t v;

	if (!f || !s)
		return 0;
	to = f->to;
	size = f->size;
	n = f->n;
	if (to > GT_BPF_RAW_MAX - GT_BPF_TEXT)
		return 0;
	v = base(f, rec, a);
	out = s->data + to;
	/* Linux 6.1 takes no loop that the compiler begins in its middle */
#pragma unroll
	for (unsigned int k = 0; k < GT_BPF_LOADS - 1; k++)
		if (k + 1 < n && bpf_probe_read_kernel(&v, sizeof(v), (void *)(v + f->off[k])))
			v = 0;
	if (n)
		v += f->off[(n - 1) & (GT_BPF_LOADS - 1)];
	if (f->text) {
		put_text(out, v);
		return 0;
	}
	*(uint64_t *)out = n ? ~0ull : v;
	if (n && size <= sizeof(v) && bpf_probe_read_kernel(out, size, (void *)v))
		*(uint64_t *)out = ~0ull;
	return 0;
}

/* The record of an event that is made; ~0: it is of no interest */
static __always_inline uint64_t make(struct gt_bpf_count *n, struct scratch *s,
				     const struct gt_bpf_tp *tp, uint32_t index, uint64_t rec,
				     const struct gt_bpf_args *a)
{
	struct gt_bpf_made *m = bpf_map_lookup_elem(&made, &index);

	if (!m)
		return ~0ull;
	for (unsigned int i = 0; i < GT_BPF_FIELDS && i < m->n; i++)
		follow(&m->field[i], s, rec, a);
	if (meets(tp, s))
		return m->len;
	n->other++;
	return ~0ull;
}

/* An address as a number that the verifier lets us calculate with; 0: none */
static __always_inline uint64_t address(void *p)
{
	uint64_t v = 0;

	return bpf_probe_read_kernel(&v, sizeof(v), &p) ? 0 : v;
}

/* An event of tracepoint @index, by who has taken @level, which is @l: @ctx is its record, or its
 * source's; NULL: there are only @a */
static __always_inline void emit_level(struct gt_bpf_level *l, uint32_t level, uint32_t index,
				       void *ctx, const struct gt_bpf_args *a)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &level);
	struct gt_bpf_tp *tp = bpf_map_lookup_elem(&tps, &index);
	struct gt_bpf_count *n;
	uint64_t len;

	if (!s || !tp || !tp->fixed)
		return;
	n = gt_counts(gt_bpf_counts_of(PART, level));
	if (!n)
		return;
	n->seen++;
	if (ctx && !tp->made)
		len = read_record(n, s, tp, ctx);
	else
		len = make(n, s, tp, index, ctx ? address(ctx) : 0, a);
	if (len != ~0ull)
		send(l, n, s, tp, index, len);
}

/* A level that nobody has, GT_BPF_LEVELS: there is none, and that is counted, or nothing is sent
 * now */
static __always_inline uint32_t enter(struct gt_bpf_levels *all)
{
	struct gt_bpf_count *n;

	if (!all || gt_paused())
		return GT_BPF_LEVELS;
#define TAKE(i)                                                                                    \
	if (level_take(&all->level[i]))                                                            \
		return i;
	GT_EACH_LEVEL(TAKE)
	n = gt_counts(gt_bpf_counts_of(PART, GT_BPF_LEVELS));
	if (n)
		gt_missed_shared(n, bpf_ktime_get_ns());
	return GT_BPF_LEVELS;
}

/* Of a record at @ctx, or of a function with @regs: the arguments are in the level, as they take room
 * on the stack */
static __always_inline int emit_here(uint32_t index, void *ctx, struct pt_regs *regs)
{
	struct gt_bpf_levels *all = levels_here();
	uint32_t level = enter(all);
	struct gt_bpf_args *a = NULL;

	if (level >= GT_BPF_LEVELS)
		return 0;
	if (regs) {
		a = &all->level[level].args;
		a->arg[0] = PT_REGS_PARM1(regs);
		a->arg[1] = PT_REGS_PARM2(regs);
		a->arg[2] = PT_REGS_PARM3(regs);
		a->arg[3] = PT_REGS_PARM4(regs);
		a->arg[4] = PT_REGS_PARM5(regs);
		for (unsigned int i = 5; i < GT_BPF_ARGS; i++)
			a->arg[i] = 0;
	}
	emit_level(&all->level[level], level, index, ctx, a);
	level_release(&all->level[level]);
	return 0;
}

/* Rule: kept by the kernel, at tracepoints' records but those of system calls */
SEC("tracepoint")
int gt_record(void *ctx)
{
	return emit_here((uint32_t)bpf_get_attach_cookie(ctx) - 1, ctx, NULL);
}

/* Rule: kept by the kernel, at system calls' tracepoints: since Linux 7.0 the guard of those is not
 * that of the others, so one program at both would be entered twice */
SEC("tracepoint")
int gt_record_call(void *ctx)
{
	return emit_here((uint32_t)bpf_get_attach_cookie(ctx) - 1, ctx, NULL);
}

/* Rule: kept by the kernel, at functions */
SEC("kprobe")
int gt_called(struct pt_regs *ctx)
{
	return emit_here((uint32_t)bpf_get_attach_cookie(ctx) - 1, NULL, ctx);
}

/* Rule: bodies, of the entries in args.bpf.c */
#define BODY(n)                                                                                    \
	SEC("raw_tracepoint")                                                                      \
	int gt_args_##n(void *ctx)                                                                 \
	{                                                                                          \
		struct gt_bpf_levels *all = levels_here();                                         \
                                                                                                   \
		if (!all)                                                                          \
			return 0;                                                                  \
		emit_level(&all->level[n], n, all->level[n].of - 1, NULL, &all->level[n].args);    \
		level_release(&all->level[n]);                                                     \
		return 0;                                                                          \
	}
GT_EACH_LEVEL(BODY)
