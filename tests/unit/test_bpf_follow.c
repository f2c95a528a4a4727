/* SPDX-License-Identifier: GPL-2.0 */
/* What the BPF programs know: which bytes of a record there are, and the way to a field. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../backend/bpf/tracepoint.h"
#include "../lib/tap.h"

static const char format[] =
	"name: drm_sched_job\nID: 42\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:struct drm_sched_entity * entity;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:struct dma_fence * fence;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:char comm[16];\toffset:28;\tsize:16;\tsigned:0;\n"
	"\tfield:__rel_loc char[] dev;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 args[100];\toffset:48;\tsize:400;\tsigned:0;\n"
	"\nprint fmt: \"field:none; offset:9; size:9;\"\n";

static void layouts(void)
{
	struct gt_bpf_tp tp;

	tp_layout(format, &tp);
	is(tp.len, 48, "up to the last field that there is room for");
	is(tp.nstring, 2, "two strings");
	is(tp.string[0], 24, "one by its offset");
	is(tp.string[1], 44 | GT_BPF_REL, "one from behind its word");
	tp_layout("", &tp);
	is(tp.len, 8, "an empty format: nothing but what all have");
	tp_layout("field:int a;\toffset:x;\tsize:4;", &tp);
	is(tp.len, 8, "a broken one too");
}

static void fields(void)
{
	const char *p = format;
	struct tp_field f;
	unsigned int n = 0;

	while (tp_field_next(&p, &f) && strcmp(f.name, "comm"))
		n++;
	is(n, 5, "comm is the sixth");
	ok(f.chars && !f.string && f.off == 28 && f.size == 16, "characters right there");
	tp_field_next(&p, &f);
	is_str(f.name, "dev", "the brackets of a string are its type's");
}

static int follow(const char *fetch, const char *fmt, struct gt_bpf_field *f, char type[8],
		  char *err)
{
	return tp_follow(fetch, fmt, f, type, err, GB_SENTENCE);
}

static void ways(void)
{
	struct gt_bpf_field f;
	char type[8], err[GB_SENTENCE] = "";

	is(follow("+0(+24(-72($fence))):string", format, &f, type, err), 0, "to a string");
	ok(f.n == 3 && f.off[0] == -72 && f.off[1] == 24 && f.off[2] == 0, "the innermost first");
	ok(f.text && f.base == GT_BPF_NUMBER && f.from == 16 && f.bytes == 8, "from the pointer");
	is_str(type, "char", "which is characters");
	is(follow("+32($arg1):u32", NULL, &f, type, err), 0, "from an argument");
	ok(f.n == 1 && f.off[0] == 32 && f.base == GT_BPF_ARG && f.from == 0 && f.size == 4,
	   "the first, four bytes");
	is_str(type, "u32", "of that type");
	is(follow("$name:string", format, &f, type, err), 0, "a string of the record itself");
	ok(!f.n && f.text && f.base == GT_BPF_STRING && f.from == 24, "at its word");
	is(follow("$comm:string", format, &f, type, err), 0, "one that lies there");
	ok(f.base == GT_BPF_CHARS && f.from == 28, "at its place");
	is(follow("$nosuch:u64", format, &f, type, err), -EINVAL, "a field that is not: %s", err);
	is(follow("+0($arg9):u64", NULL, &f, type, err), -EINVAL, "too many arguments: %s", err);
	is(follow("+0($args):u64", format, &f, type, err), -EINVAL, "what is no number: %s", err);
	is(follow("+0(+0(+0(+0(+0(+0(+0(+0(+0($fence))))))))):u64", format, &f, type, err), -EINVAL,
	   "too far: %s", err);
	is(follow("+0($fence):u99", format, &f, type, err), -EINVAL, "no such type: %s", err);
	is(follow("+0(", format, &f, type, err), -EINVAL, "cut off: %s", err);
}

int main(void)
{
	layouts();
	fields();
	ways();
	return done_testing();
}
