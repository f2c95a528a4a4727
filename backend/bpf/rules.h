/* SPDX-License-Identifier: GPL-2.0 */
/* Which programs are safe when they are entered again on their CPU, and why: bpf/level.h. */
#ifndef GT_BPF_RULES_H
#define GT_BPF_RULES_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * enum gb_rule - what keeps a program from being entered twice on its CPU, or from harm then
 * @GB_PERF: bpf_prog_active, with preemption disabled: records of tracepoints other than system
 *	calls', kprobes and kretprobes
 * @GB_CALL: system calls' tracepoints: likewise, since Linux 7.0 each program's own guard, where a
 *	task may be preempted. Such a program is at nothing else
 * @GB_TRAMPOLINE: fentry and fexit: each program's own guard; a task may be preempted
 * @GB_ITER: an iterator, which one thread of the daemon reads; it never has a private stack
 * @GB_ENTRY, @GB_BODY: the program sees to it itself
 */
enum gb_rule { GB_NO_RULE, GB_PERF, GB_CALL, GB_TRAMPOLINE, GB_ITER, GB_ENTRY, GB_BODY };

/** gb_rule_of() - of program @name */
enum gb_rule gb_rule_of(const char *name);
/** gb_rule_row() - row @i: the program's name, a body's without its level; NULL: no more */
const char *gb_rule_row(unsigned int i, enum gb_rule *rule);
/** gb_rule_check() - may this program be loaded? 0, or -EPERM with the sentence */
int gb_rule_check(const char *name, const struct bpf_insn *insn, size_t n, char *err, size_t len);
/** gb_has_private_stack() - does the kernel's code of a program use one? */
bool gb_has_private_stack(const uint8_t *image, size_t n);
/** gb_rules_before() - may the programs of @o be loaded? 0, or -errno with the sentence */
int gb_rules_before(const struct bpf_object *o, char *err, size_t len);
/** gb_rules_after() - may they be used, now that they are? Likewise */
int gb_rules_after(const struct bpf_object *o, char *err, size_t len);

#endif
