/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tracepoint that the event maps name. The daemon loads the program for the way in which a
 * tracepoint is read once for each tracepoint, with a constant gt_tp of its own that says what is
 * sent (backend/bpf/tracepoint_program.c). The verifier knows the constant, so it checks and keeps
 * only the code for that tracepoint. What the record means is found out in user space, by the code
 * that reads ftrace's records.
 *
 * A program fills its record in the ring buffer, between a reservation and a submission, and keeps
 * nothing else but counters. It does not run twice at once on a CPU:
 *
 * - gt_record, gt_called: the kernel disables preemption, and skips a program for a tracepoint's
 *   record or a function while another such program runs on that CPU (trace_call_bpf()).
 * - gt_args: the kernel skips a raw tracepoint's program while the same one runs on that CPU, since
 *   Linux 6.1 (__bpf_trace_run()). Before, it runs within itself, which does no harm.
 *
 * The kernel counts what it skips (recursion_misses), and the daemon reports that as a loss.
 */
#include "common.h"

#include <asm/ptrace.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

const volatile struct gt_bpf_tp gt_tp = { 0 };

/* The serial of the one program that sends a tracepoint's events; 0: none. A program that is
 * attached and sends nothing is to be detached, which takes a while. */
volatile uint16_t gt_serving[GT_BPF_TPS];

/* The tracepoint's counters; NULL: nothing is to be sent */
static __always_inline struct gt_bpf_count *begin(void)
{
	struct gt_bpf_count *c = NULL;

	if (gt_serving[gt_tp.index] == gt_tp.serial && !gt_paused())
		c = gt_counts(GT_BPF_PARTS + gt_tp.index);
	if (c)
		gt_add(c->seen, 1);
	return c;
}

/* Everything of a record but its data. The clock is read after the reservation, see gt_reserve(). */
static __always_inline void fill_head(struct gt_bpf_raw *r, uint32_t len)
{
	uint64_t id = bpf_get_current_pid_tgid();

	r->ts = bpf_ktime_get_ns();
	r->type = GT_BPF_RAW;
	r->flags = GT_BPF_TRACEPOINT << GT_BPF_PART_SHIFT;
	r->cpu = bpf_get_smp_processor_id();
	r->index = gt_tp.index;
	r->serial = gt_tp.serial;
	r->len = len;
	r->tid = (uint32_t)id;
	r->pid = id >> 32;
	r->uid = (uint32_t)bpf_get_current_uid_gid();
	r->start = 0;
	/* the process may have ended before the daemon can ask /proc */
	if (gt_tp.owner) {
		struct task_struct *leader = bpf_get_current_task_btf()->group_leader;

		r->start = leader->start_boottime;
		bpf_probe_read_kernel(r->comm, sizeof(r->comm), &leader->comm);
	}
}

/* What may be an address is for user space to judge. */
static __always_inline bool is_of_interest(uint64_t v)
{
	bool is_signed = gt_tp.test_signed;

	if (gt_tp.test_size == 4)
		v = is_signed ? (uint64_t)(int64_t)(int32_t)v : (uint32_t)v;
	else if (gt_tp.test_size == 2)
		v = is_signed ? (uint64_t)(int64_t)(int16_t)v : (uint16_t)v;
	else if (gt_tp.test_size == 1)
		v = is_signed ? (uint64_t)(int64_t)(int8_t)v : (uint8_t)v;
	if (v >= 0xff00000000000000ull && v < 0xffffffffffff0000ull)
		return true;
	if (gt_tp.test == GT_BPF_BITS)
		return v & gt_tp.test_value;
	return (v == gt_tp.test_value) == (gt_tp.test == GT_BPF_EQUAL);
}

/* The kernel's record ------------------------------------------------------------------------- */

/* Bytes of the record at @ctx, up to the end of the last of its strings */
static __always_inline uint32_t record_len(void *ctx)
{
	uint32_t last = gt_tp.len;

	for (unsigned int i = 0; i < GT_BPF_STRINGS && i < gt_tp.nstring; i++) {
		uint32_t at = gt_tp.string[i] & ~GT_BPF_REL, end = 0;

		bpf_probe_read_kernel(&end, sizeof(end), ctx + at);
		end = (end & 0xffff) + (end >> 16) + (gt_tp.string[i] & GT_BPF_REL ? at + 4 : 0);
		if (end > last)
			last = end;
	}
	return last;
}

/* Sends @len bytes of the record at @ctx, @room at most */
static __always_inline void send_record(struct gt_bpf_count *c, void *ctx, uint32_t len,
					uint32_t room)
{
	struct gt_bpf_raw *r = gt_reserve_bytes(c, GT_BPF_TRACEPOINT, sizeof(*r) + room);

	if (!r)
		return;
	gt_opaque(len);
	if (len > room)
		len = room;
	if (bpf_probe_read_kernel(r->data, len, ctx)) {
		gt_discard(r, c);
		gt_missed(c, bpf_ktime_get_ns());
		return;
	}
	fill_head(r, len);
	gt_submit(r, c);
}

static __always_inline void emit_record(struct gt_bpf_count *c, void *ctx)
{
	uint32_t len, few = gt_tp.len + (gt_tp.nstring ? GT_BPF_SHORT : 0);
	uint64_t v = 0;

	if (gt_tp.test != GT_BPF_ANY) {
		bpf_probe_read_kernel(&v, sizeof(v), ctx + gt_tp.test_at);
		if (!is_of_interest(v)) {
			gt_add(c->other, 1);
			return;
		}
	}
	len = record_len(ctx);
	if (len <= few)
		send_record(c, ctx, len, few);
	else
		send_record(c, ctx, len, GT_BPF_RAW_MAX);
}

/* A record of fields that are followed to ------------------------------------------------------ */

/* Where the way to a field begins: a number, or an address of characters. @rec is the address of
 * the record of the source, @arg are its arguments; only one of them is valid. */
static __always_inline uint64_t base_of(const volatile struct gt_bpf_field *f, uint64_t rec,
					const uint64_t *arg)
{
	uint64_t v = 0;
	uint32_t word = 0;

	switch (f->base) {
	case GT_BPF_ARG:
		return arg && f->from < GT_BPF_ARGS ? arg[f->from] : 0;
	case GT_BPF_STRING:
		bpf_probe_read_kernel(&word, sizeof(word), (void *)(rec + f->from));
		return rec + (word & 0xffff);
	case GT_BPF_CHARS:
		return rec + f->from;
	default:
		if (f->bytes <= sizeof(v))
			bpf_probe_read_kernel(&v, f->bytes, (void *)(rec + f->from));
		return v;
	}
}

/* The address of a field; the field itself if no pointer leads to it */
static __always_inline uint64_t follow(const volatile struct gt_bpf_field *f, uint64_t rec,
				       const uint64_t *arg)
{
	uint64_t v = base_of(f, rec, arg);
	uint32_t n = f->n;

	for (unsigned int k = 0; k < GT_BPF_LOADS - 1 && k + 1 < n; k++)
		if (bpf_probe_read_kernel(&v, sizeof(v), (void *)(v + f->off[k])))
			v = 0;
	return n && n <= GT_BPF_LOADS ? v + f->off[n - 1] : v;
}

/* A field that is a number; one that cannot be read is unknown: all ones */
static __always_inline uint64_t number_of(const volatile struct gt_bpf_field *f, uint64_t rec,
					  const uint64_t *arg)
{
	uint64_t at = follow(f, rec, arg), v = ~0ull;

	if (!f->n)
		return at;
	if (f->size > sizeof(v) || bpf_probe_read_kernel(&v, f->size, (void *)at))
		v = ~0ull;
	return v;
}

static __always_inline void put_text(uint8_t *to, uint64_t from)
{
	static const char fault[8] = "(fault)";

	if (bpf_probe_read_kernel_str(to, GT_BPF_TEXT, (void *)from) < 0)
		__builtin_memcpy(to, fault, sizeof(fault));
}

static __always_inline void emit_fields(struct gt_bpf_count *c, uint64_t rec, const uint64_t *arg)
{
	struct gt_bpf_raw *r;

	if (gt_tp.test != GT_BPF_ANY &&
	    !is_of_interest(
		    number_of(&gt_tp.field[gt_tp.test_at & (GT_BPF_FIELDS - 1)], rec, arg))) {
		gt_add(c->other, 1);
		return;
	}
	r = gt_reserve_bytes(c, GT_BPF_TRACEPOINT, sizeof(*r) + gt_tp.len);
	if (!r)
		return;
	for (unsigned int i = 0; i < GT_BPF_FIELDS && i < gt_tp.nfield; i++) {
		const volatile struct gt_bpf_field *f = &gt_tp.field[i];

		if (f->text)
			put_text(r->data + f->to, follow(f, rec, arg));
		else
			*(uint64_t *)(r->data + f->to) = number_of(f, rec, arg);
	}
	fill_head(r, gt_tp.len);
	gt_submit(r, c);
}

/* The programs --------------------------------------------------------------------------------- */

/* An address as a number that the verifier lets us calculate with */
static __always_inline uint64_t address(void *p)
{
	uint64_t v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), &p);
	return v;
}

/* At a tracepoint, after the kernel has made its record */
SEC("tracepoint")
int gt_record(void *ctx)
{
	struct gt_bpf_count *c = begin();

	if (!c)
		return 0;
	if (gt_tp.nfield)
		emit_fields(c, address(ctx), NULL);
	else
		emit_record(c, ctx);
	return 0;
}

/* At a tracepoint, with its arguments. More than it has must not be read. */
SEC("raw_tracepoint")
int gt_args(struct bpf_raw_tracepoint_args *ctx)
{
	struct gt_bpf_count *c = begin();
	uint64_t arg[GT_BPF_ARGS];

	if (!c)
		return 0;
#pragma unroll
	for (unsigned int i = 0; i < GT_BPF_ARGS; i++)
		arg[i] = gt_tp.nargs > i ? ctx->args[i] : 0;
	emit_fields(c, 0, arg);
	return 0;
}

/* At the begin of a function */
SEC("kprobe")
int gt_called(struct pt_regs *ctx)
{
	uint64_t arg[GT_BPF_ARGS] = {
		PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx),
		PT_REGS_PARM4(ctx), PT_REGS_PARM5(ctx),
	};
	struct gt_bpf_count *c = begin();

	if (c)
		emit_fields(c, 0, arg);
	return 0;
}
