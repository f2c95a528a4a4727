/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every program of every object has a rule for being entered twice on its CPU, and keeps it: an
 * entry is small and jumps, a body gives its level back as its last act, all others are at what the
 * kernel guards in their way. A program that is not in the table fails here, and is not loaded.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <glob.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../backend/bpf/internal.h"
#include "../../backend/bpf/rules.h"
#include "../lib/tap.h"

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i })
#define EXIT	      INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define TAIL_CALL     INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_tail_call)
#define CALL_FUNCTION INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1)
#define STORE(off)    INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 1, off, 0)
#define COPY(d, s)    INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD(d, i)     INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define LOAD(d, s)    INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, 8, 0)

static char said[GB_SENTENCE];

static int check(const char *name, const struct bpf_insn *insn, size_t n)
{
	said[0] = '\0';
	return gb_rule_check(name, insn, n, said, sizeof(said));
}
#define CHECK(name, ...)                                                                           \
	check(name, (const struct bpf_insn[]){ __VA_ARGS__ },                                      \
	      sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))

static void made(void)
{
	ok(!CHECK("gt_hand_over", STORE(-48), TAIL_CALL, EXIT), "an entry as it should be");
	ok(CHECK("gt_hand_over", STORE(-48), EXIT) == -EPERM && strstr(said, "no tail call"),
	   "one that does not jump: %s", said);
	ok(CHECK("gt_hand_over", STORE(-64), TAIL_CALL, EXIT) == -EPERM &&
		   strstr(said, "64 bytes of stack"),
	   "one with a large stack: %s", said);
	ok(CHECK("gt_hand_over", COPY(2, 10), ADD(2, -72), TAIL_CALL, EXIT) == -EPERM &&
		   strstr(said, "72 bytes of stack"),
	   "... by address: %s", said);
	ok(CHECK("gt_hand_over", COPY(2, 10), COPY(3, 2), ADD(3, -80), TAIL_CALL, EXIT) == -EPERM,
	   "... by a copy of it: %s", said);
	ok(!CHECK("gt_hand_over", COPY(2, 10), LOAD(2, 1), ADD(2, -80), TAIL_CALL, EXIT),
	   "a number is no address");
	ok(CHECK("gt_hand_over", CALL_FUNCTION, TAIL_CALL, EXIT) == -EPERM &&
		   strstr(said, "calls a function"),
	   "one that calls a function: %s", said);
	ok(!CHECK("gt_args_0", STORE(-64), EXIT), "a body may have a large stack");
	ok(CHECK("gt_args_6", EXIT) == -EPERM, "of a level that there is not: %s", said);
	ok(CHECK("gt_args", EXIT) == -EPERM, "of none: %s", said);
	ok(CHECK("gt_new", EXIT) == -EPERM && strstr(said, "gt_new has no rule") &&
		   strstr(said, "not loaded"),
	   "a program without a rule: %s", said);
}

#ifdef __x86_64__
static void images(void)
{
	static const uint8_t with[] = { 0x49, 0xb9, 1,	  2,	3,    4, 5, 6, 7, 8,
					0x65, 0x4c, 0x03, 0x0c, 0x25, 9, 9, 9, 9 };
	/* add %gs:..., %rax: a map's value of this CPU */
	static const uint8_t without[] = { 0x65, 0x48, 0x03, 0x04, 0x25, 9, 9, 9, 9 };

	ok(gb_has_private_stack(with, sizeof(with)), "the kernel's code of a private stack");
	ok(!gb_has_private_stack(without, sizeof(without)), "... of none");
}
#endif

/* Where the kernel calls it, by its section */
static bool fits(enum gb_rule rule, const char *section)
{
	bool call = !strncmp(section, "tracepoint/syscalls/", 20);
	bool perf = !strncmp(section, "tracepoint", 10) || !strcmp(section, "kprobe") ||
		    !strcmp(section, "kretprobe");

	switch (rule) {
	case GB_PERF:
		return perf && !call;
	case GB_CALL:
		return call || !strcmp(section, "tracepoint"); /* attached to by name */
	case GB_TRAMPOLINE:
		return !strcmp(section, "fentry") || !strcmp(section, "fexit");
	case GB_ITER:
		return !strncmp(section, "iter/", 5);
	case GB_ENTRY:
	case GB_BODY:
		return !strcmp(section, "raw_tracepoint") || !strcmp(section, "uprobe") ||
		       !strcmp(section, "uretprobe");
	default:
		return false;
	}
}

static bool is_store(const struct bpf_insn *p)
{
	return (BPF_CLASS(p->code) == BPF_STX || BPF_CLASS(p->code) == BPF_ST) && p->dst_reg != 10;
}

/* The last write gives the level back: behind it the program may run again, on the same stack, so
 * nothing is left to do but to return 0. A body has one end. */
static bool ends_well(const struct bpf_insn *insn, size_t n)
{
	size_t exits = 0, i = 0;

	for (size_t k = 0; k < n; k++) {
		if (insn[k].code != (BPF_JMP | BPF_EXIT))
			continue;
		exits++;
		i = k;
	}
	if (exits != 1)
		return false;
	while (i &&
	       (insn[i - 1].code == (BPF_ALU | BPF_MOV | BPF_K) ||
		insn[i - 1].code == (BPF_ALU64 | BPF_MOV | BPF_K)) &&
	       !insn[i - 1].dst_reg)
		i--;
	return i >= 2 && is_store(&insn[i - 1]) && is_store(&insn[i - 2]) &&
	       insn[i - 2].off == insn[i - 1].off + 4;
}

static bool used[64];

static void tick(const char *name, enum gb_rule rule)
{
	enum gb_rule r;
	const char *row;

	for (unsigned int i = 0; (row = gb_rule_row(i, &r)); i++)
		if (r == rule && !strncmp(row, name, strlen(row)) &&
		    (rule == GB_BODY ? name[strlen(row)] == '_' : !name[strlen(row)]))
			used[i % 64] = true;
}

static void program(const struct bpf_program *p)
{
	const char *name = bpf_program__name(p), *section = bpf_program__section_name(p);
	enum gb_rule rule = gb_rule_of(name);

	ok(rule != GB_NO_RULE, "%s has a rule", name);
	ok(!check(name, bpf_program__insns(p), bpf_program__insn_cnt(p)), "%s keeps it%s", name,
	   said);
	ok(fits(rule, section), "%s is in %s", name, section);
	if (rule == GB_BODY)
		ok(ends_well(bpf_program__insns(p), bpf_program__insn_cnt(p)),
		   "%s gives its level back as its last act", name);
	tick(name, rule);
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static void objects(void)
{
	char self[4096], pattern[4200];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct bpf_program *p;
	enum gb_rule rule;
	const char *row;
	glob_t g = { 0 };

	self[n < 0 ? 0 : n] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(pattern, sizeof(pattern), "%s/../obj/bpf/*.bpf.o", self);
	if (glob(pattern, 0, NULL, &g))
		g.gl_pathc = 0;
	ok(g.gl_pathc >= 5, "%zu objects", g.gl_pathc);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct bpf_object *o = bpf_object__open(g.gl_pathv[i]);

		ok(o, "%s", strrchr(g.gl_pathv[i], '/') + 1);
		if (!o)
			continue;
		bpf_object__for_each_program (p, o)
			program(p);
		bpf_object__close(o);
	}
	globfree(&g);
	for (unsigned int i = 0; (row = gb_rule_row(i, &rule)); i++)
		ok(i < 64 && used[i], "a program of the row %s", row);
}

int main(void)
{
	libbpf_set_print(quiet);
	made();
#ifdef __x86_64__
	images();
#endif
	objects();
	return done_testing();
}
