/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What keeps each program from harm when it is entered again on its CPU: the rules of bpf/level.h.
 *
 * A program that is in no row is not loaded, nor is one that does not keep its rule: what it would
 * do is crash a kernel, at some time.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "rules.h"

#define STACK_MIN                                                                                  \
	64 /* kernel/bpf/verifier.c, BPF_PRIV_STACK_MIN_SIZE: from that on it may be private */

static const struct {
	const char *name;
	enum gb_rule rule;
} rows[] = {
	/* args.bpf.c */
	{ "gt_hand_over", GB_ENTRY },
	{ "gt_hand_over_again", GB_ENTRY },
	/* tracepoint.bpf.c */
	{ "gt_args", GB_BODY },
	{ "gt_record", GB_PERF },
	{ "gt_record_call", GB_CALL },
	{ "gt_called", GB_PERF },
	/* runtime.bpf.c */
	{ "gt_rt_enter", GB_ENTRY },
	{ "gt_rt_enter", GB_BODY },
	{ "gt_rt_leave", GB_ENTRY },
	{ "gt_rt_leave", GB_BODY },
	{ "gt_rt_mmap", GB_CALL },
	{ "gt_rt_mmapped", GB_CALL },
	{ "gt_rt_look", GB_ITER },
	/* ioctl.bpf.c */
	{ "gt_ioctl_enter", GB_CALL },
	{ "gt_ioctl_enter_again", GB_CALL },
	{ "gt_ioctl_exit", GB_CALL },
	{ "gt_ioctl_exit_again", GB_CALL },
	{ "gt_ioctl_close", GB_CALL },
	{ "gt_ioctl_fentry", GB_TRAMPOLINE },
	{ "gt_ioctl_fentry_again", GB_TRAMPOLINE },
	{ "gt_ioctl_fexit", GB_TRAMPOLINE },
	{ "gt_ioctl_fexit_again", GB_TRAMPOLINE },
	{ "gt_ioctl_kprobe", GB_PERF },
	{ "gt_ioctl_kretprobe", GB_PERF },
	{ "gt_ioctl_release", GB_PERF },
	{ "gt_ioctl_exec", GB_PERF },
	{ "gt_ioctl_exit_process", GB_PERF },
	/* nvidia.bpf.c */
	{ "gt_nv_ioctl", GB_CALL },
	{ "gt_nv_ioctl_end", GB_CALL },
	{ "gt_nv_close", GB_CALL },
	{ "gt_nv_unlocked_ioctl", GB_PERF },
	{ "gt_nv_unlocked_ioctl_end", GB_PERF },
	{ "gt_nv_release", GB_PERF },
	{ "gt_nv_exec", GB_PERF },
	{ "gt_nv_exit", GB_PERF },
	{ "gt_nv_task_init", GB_PERF },
	{ "gt_nv_bind", GB_PERF },
	{ "gt_nv_bind_end", GB_PERF },
	{ "gt_nv_token_request", GB_PERF },
	{ "gt_nv_task_destroy", GB_PERF },
};

/* A body is called NAME_LEVEL */
static bool is_row(unsigned int i, const char *name)
{
	size_t n = strlen(rows[i].name);

	if (strncmp(name, rows[i].name, n) != 0)
		return false;
	if (rows[i].rule != GB_BODY)
		return !name[n];
	return name[n] == '_' && name[n + 1] >= '0' && name[n + 1] < '0' + GT_BPF_LEVELS &&
	       !name[n + 2];
}

enum gb_rule gb_rule_of(const char *name)
{
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (is_row(i, name))
			return rows[i].rule;
	return GB_NO_RULE;
}

const char *gb_rule_row(unsigned int i, enum gb_rule *rule)
{
	if (i >= sizeof(rows) / sizeof(rows[0]))
		return NULL;
	*rule = rows[i].rule;
	return rows[i].name;
}

/* Bytes of stack: how far below its top (register 10) anything is read, written or pointed to */
static int stack_of(const struct bpf_insn *insn, size_t n)
{
	bool top[16] = { [BPF_REG_10] = true }; /* a copy of it, for all that is known */
	int deepest = 0;

	for (size_t i = 0; i < n; i++) {
		const struct bpf_insn *p = &insn[i];
		uint8_t class = BPF_CLASS(p->code);
		int at = 0;

		if (class == BPF_LDX && top[p->src_reg])
			at = p->off;
		else if ((class == BPF_STX || class == BPF_ST) && top[p->dst_reg])
			at = p->off;
		else if (p->code == (BPF_ALU64 | BPF_ADD | BPF_K) && top[p->dst_reg])
			at = p->imm;
		if (class == BPF_LDX || (class == BPF_ALU64 && BPF_OP(p->code) == BPF_MOV))
			top[p->dst_reg] = p->dst_reg == BPF_REG_10 ||
					  (class == BPF_ALU64 && BPF_SRC(p->code) == BPF_X &&
					   top[p->src_reg]);
		if (p->code == (BPF_LD | BPF_IMM | BPF_DW))
			top[p->dst_reg] = false;
		deepest = at < deepest ? at : deepest;
	}
	return -deepest;
}

static bool is_call(const struct bpf_insn *p)
{
	return p->code == (BPF_JMP | BPF_CALL);
}

static int entry(const char *name, const struct bpf_insn *insn, size_t n, char *err, size_t len)
{
	bool jumps = false;

	for (size_t i = 0; i < n; i++) {
		if (is_call(&insn[i]) && insn[i].src_reg == BPF_PSEUDO_CALL)
			return gb_sentence(err, len, EPERM, "program %s calls a function", name);
		jumps |= is_call(&insn[i]) && !insn[i].src_reg && insn[i].imm == BPF_FUNC_tail_call;
	}
	if (!jumps)
		return gb_sentence(err, len, EPERM, "program %s has no tail call", name);
	if (stack_of(insn, n) >= STACK_MIN)
		return gb_sentence(err, len, EPERM, "program %s has %d bytes of stack", name,
				   stack_of(insn, n));
	return 0;
}

int gb_rule_check(const char *name, const struct bpf_insn *insn, size_t n, char *err, size_t len)
{
	char what[120];
	int ret = 0;

	switch (gb_rule_of(name)) {
	case GB_NO_RULE:
		ret = gb_sentence(what, sizeof(what), EPERM, "program %s has no rule", name);
		break;
	case GB_ENTRY:
		ret = entry(name, insn, n, what, sizeof(what));
		break;
	default:
		break;
	}
	if (ret)
		gb_sentence(err, len, EPERM,
			    "%s: entered twice on a CPU it could crash this kernel, so it is not "
			    "loaded; this is a fault of gputrace",
			    what);
	return ret;
}

bool gb_has_private_stack(const uint8_t *image, size_t n)
{
#ifdef __x86_64__
	/* arch/x86/net/bpf_jit_comp.c, emit_priv_frame_ptr(): add %gs:this_cpu_off, %r9, which no
	 * register of a program is kept in */
	static const uint8_t frame[] = { 0x65, 0x4c, 0x03, 0x0c, 0x25 };

	return memmem(image, n, frame, sizeof(frame));
#else
	return false;
#endif
}

/* Not every kernel shows the image to everybody: then there is nothing to see. */
static int look_at(const struct bpf_program *p, char *err, size_t len)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	gb_auto_free uint8_t *image = NULL;
	uint32_t n;

	if (bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size))
		return 0;
	n = info.jited_prog_len;
	image = n ? calloc(1, n) : NULL;
	if (!image)
		return 0;
	info = (struct bpf_prog_info){ .jited_prog_len = n, .jited_prog_insns = (uintptr_t)image };
	if (bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size) ||
	    !gb_has_private_stack(image, n))
		return 0;
	return gb_sentence(err, len, EOPNOTSUPP,
			   "this kernel gave program %s a private stack: entered twice on a CPU it "
			   "could crash the kernel, so it is not used; please report this kernel",
			   bpf_program__name(p));
}

int gb_rules_before(const struct bpf_object *o, char *err, size_t len)
{
	struct bpf_program *p;
	int ret = 0;

	for (p = bpf_object__next_program(o, NULL); p && !ret; p = bpf_object__next_program(o, p))
		if (bpf_program__autoload(p))
			ret = gb_rule_check(bpf_program__name(p), bpf_program__insns(p),
					    bpf_program__insn_cnt(p), err, len);
	return ret;
}

int gb_rules_after(const struct bpf_object *o, char *err, size_t len)
{
	struct bpf_program *p;

	for (p = bpf_object__next_program(o, NULL); p; p = bpf_object__next_program(o, p)) {
		int ret = bpf_program__autoload(p) && gb_rule_of(bpf_program__name(p)) == GB_ENTRY
				  ? look_at(p, err, len)
				  : 0;

		if (ret)
			return ret;
	}
	return 0;
}
