/* SPDX-License-Identifier: GPL-2.0 */
/* Probes of the event maps: their syntax, and what becomes of them by a kernel's types. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../backend/eventmap/internal.h"
#include "../../backend/ftrace/ftrace.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char dir[TMP_PATH_MAX];
static char err[300];

/* Syntax -------------------------------------------------------------------------------------- */

static void test_expr(void)
{
	static const char *const good[] = {
		"$name", "$arg1", "$a<b>", "$a<b>->c", "$a<b.c.d>->e.f->g", "$a<b>->c<d.e>->f.g",
	};
	static const char *const bad[] = {
		"",
		"name",
		"$",
		"$1",
		"$a->b",
		"$a.b",
		"$a<>",
		"$a<b.>",
		"$a<b->c",
		"$a<b>.c",
		"$a<b>->",
		"$a<b>->c.",
		"$a$b",
		"$a<b>->c<d>",
		"$a<b><c>->d",
		"$a<b>->c:u32",
		"$a<b>->c)->d",
		"$a<b>->c d",
		"$a<b>->c\n",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ok(gt_probe_expr_ok(good[i]), "an expression: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!gt_probe_expr_ok(bad[i]), "none: '%.8s'", bad[i]);
}

static struct gt_section *ini(const char *text)
{
	struct gt_section *list = NULL;

	err[0] = '\0';
	return gt_ini_read(text, "a.ini", &list, err, sizeof(err)) > 0 ? list : NULL;
}

static void test_ini(void)
{
	struct gt_section *s = ini("[map]\nmodule = m\n[a/b]\nevent = IRQ\n"
				   "probe = c/d x=$x\n\ty=$x<t>->u\n\tz=$x<t>->v\n");

	ok(s && s->probe, "a probe over several lines (%s)", err);
	if (!s || !s->probe)
		return;
	is_str(s->probe->scope, "c", "system of its source");
	is_str(s->probe->name, "d", "event of its source");
	is_str(s->probe->module, "m", "the map's module has the types");
	ok(!s->probe->function && s->probe->n == 3, "three fields of an event");
	is_str(s->probe->field[2].name, "z", "the last one's name");
	is_str(s->probe->field[2].expr, "$x<t>->v", "and expression");
	gt_sections_free(s);
	s = ini("[a/b]\nevent = IRQ\nprobe = fn\n");
	ok(s && s->probe->function && !s->probe->scope[0], "a function of the kernel itself");
	gt_sections_free(s);
	s = ini("[a/b]\nevent = IRQ\nprobe = m:fn x=$arg1\n");
	is_str(s ? s->probe->scope : "", "m", "a function's module");
	gt_sections_free(s);
	s = ini("[map]\nmodule = m\n[a/b]\nevent = IRQ\nargs = x=$arg1<t>->u\n\ty=$arg2\n");
	ok(s && s->args && !s->probe, "arguments over several lines (%s)", err);
	if (!s || !s->args)
		return;
	is_str(s->args->scope, "m", "the map's module has the types");
	is_str(s->args->name, "b", "they are the tracepoint's own");
	ok(s->args->function && s->args->n == 2, "two fields, as of a function");
	gt_sections_free(s);
}

static void test_faults(void)
{
	static const struct {
		const char *value, *says;
	} bad[] = {
		{ "probe =\n", "a.ini:3: probe: no source" },
		{ "probe = a/b/c\n", "neither system/event nor [module:]function" },
		{ "probe = /b\n", "neither system/event" },
		{ "probe = a:\n", "neither system/event" },
		{ "probe = a-b:c\n", "neither system/event" },
		{ "probe = a/b;rm\n", "neither system/event" },
		{ "probe = a/b x\n", "'x' is not FIELD=EXPRESSION" },
		{ "probe = a/b =$x\n", "is not FIELD=EXPRESSION" },
		{ "probe = a/b x=$x x=$y\n", "field x is given twice" },
		{ "probe = a/b x=@0\n", "'@0' is not $FIELD" },
		{ "probe = a/b x=$x:string\n", "is not $FIELD" },
		{ "args =\n", "a.ini:3: args: no field" },
		{ "args = a/b x=$arg1\n", "'a/b' is not FIELD=EXPRESSION" },
		{ "args = x=$arg1 x=$arg2\n", "field x is given twice" },
		{ "probe = a/b\n a=$x b=$x c=$x d=$x e=$x f=$x g=$x h=$x i=$x j=$x k=$x\n"
		  " l=$x m=$x n=$x o=$x p=$x q=$x\n",
		  "a.ini:5: probe: more than 16 fields" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[400];

		snprintf(text, sizeof(text), "[a/b]\nevent = IRQ\n%s", bad[i].value);
		ok(!ini(text) && strstr(err, bad[i].says), "refused: %s", err);
	}
	ok(!ini("[a/b]\nevent = ERROR\nctx = c\nmatch = ctx\nunknown_job = ring\n") &&
		   strstr(err, "unknown_job = ring needs ring"),
	   "refused: %s", err);
}

/* 1000 members in a line of the file, and what a program might hand over itself */
static void test_long(void)
{
	char *text = malloc(1 << 14), *p = text;
	struct gt_probe_step s;
	const char *at;
	int n = 0;

	p += sprintf(p, "$a<b>->c");
	for (int i = 0; i < 1000; i++)
		p += sprintf(p, "->m%d", i);
	ok(gt_probe_expr_ok(text), "1000 members are an expression");
	for (at = text; gt_probe_next(&at, &s);)
		n++;
	is(n, 1003, "each is a step");
	memset(text, 'x', 5000);
	text[0] = '$';
	text[5000] = '\0';
	ok(!gt_probe_expr_ok(text), "a name of 5000 letters is none");
	p = text + sprintf(text, "[a/b]\nevent = IRQ\nprobe = a/b x=$x<b>");
	for (int i = 0; i < 45; i++)
		p += sprintf(p, "->ab");
	ok(!ini(text) && strstr(err, "a line of more than"), "refused: %s", err);
	free(text);
}

/* Types ---------------------------------------------------------------------------------------- */

static struct btf *base, *mod;

/* Ends a struct's or union's member list that btf__add_struct() began. */
static void field(struct btf *b, const char *name, int type, uint32_t offset)
{
	if (btf__add_field(b, name, type, offset * 8, 0))
		abort();
}

static void save(const struct btf *b, const char *name)
{
	char path[TMP_PATH_MAX + 64];
	uint32_t n = 0;
	const void *data = btf__raw_data(b, &n);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!data || !f || fwrite(data, 1, n, f) != n)
		abort();
	fclose(f);
}

/*
 * vmlinux:	struct kobj { const char *name; }; struct device { u64 pad; struct kobj kobj; };
 *		struct list { struct list *next; }; struct far { char pad[1000000]; struct far
 **next;
 *}; mod:		struct sched { const char *name; u64 pad; struct { struct list pending; };
 *			union { s32 error; struct { u8 flag; u16 half; }; }; struct device *dev;
 *			char text[16]; u32 bits:3; enum state state; u64 big[4]; volatile loop
 * cycle; } struct fence { u64 a, b; struct sched *sched; struct list list; } struct node { struct
 * node *next; u64 value; }
 */
static int add_base(void)
{
	int u64, ch, ptr, kobj;

	base = btf__new_empty();
	u64 = btf__add_int(base, "u64", 8, 0);
	ch = btf__add_int(base, "char", 1, BTF_INT_SIGNED);
	ptr = btf__add_ptr(base, btf__add_const(base, ch));
	kobj = btf__add_struct(base, "kobj", 8);
	field(base, "name", ptr, 0);
	btf__add_struct(base, "device", 16);
	field(base, "pad", u64, 0);
	field(base, "kobj", kobj, 8);
	btf__add_struct(base, "list", 8);
	field(base, "next", btf__type_cnt(base), 0);
	btf__add_ptr(base, (int)btf__type_cnt(base) - 1);
	btf__add_struct(base, "far", 1000008);
	field(base, "next", (int)btf__type_cnt(base), 1000000);
	btf__add_ptr(base, (int)btf__type_cnt(base) - 1);
	save(base, "vmlinux");
	return ptr;
}

static int add_union(void)
{
	int s32 = btf__add_int(mod, "int", 4, BTF_INT_SIGNED);
	int u16 = btf__add_int(mod, "u16", 2, 0), in, un;
	int flag = btf__add_typedef(mod, "flag_t", btf__add_int(mod, "u8", 1, 0));

	in = btf__add_struct(mod, NULL, 4);
	field(mod, "flag", flag, 0);
	field(mod, "half", u16, 2);
	/* a type that is its own typedef */
	btf__add_typedef(mod, "loop", (int)btf__type_cnt(mod));
	un = btf__add_union(mod, NULL, 4);
	field(mod, "error", s32, 0);
	field(mod, NULL, in, 0);
	return un;
}

/* typedef void (*btf_trace_NAME)(void *data, FIRST, SECOND) */
static void add_tracepoint(const char *name, int first, int second)
{
	int data = btf__add_ptr(mod, 0), proto = btf__add_func_proto(mod, 0);
	char type[64];

	btf__add_func_param(mod, "data", data);
	btf__add_func_param(mod, "first", first);
	btf__add_func_param(mod, "second", second);
	snprintf(type, sizeof(type), "btf_trace_%s", name);
	btf__add_typedef(mod, type, btf__add_ptr(mod, proto));
}

/* void NAME(FIRST *) */
static void add_function(const char *name, int first)
{
	int proto;

	first = btf__add_ptr(mod, first);
	proto = btf__add_func_proto(mod, 0);
	btf__add_func_param(mod, "first", first);
	btf__add_func_param(mod, NULL, 0); /* ... */
	btf__add_func(mod, name, BTF_FUNC_STATIC, proto);
}

static void add_mod(int name)
{
	int u64 = btf__find_by_name(base, "u64"), ch = btf__find_by_name(base, "char");
	int list = btf__find_by_name(base, "list"), un, anon, text, state, big, dev, sched, loop;

	mod = btf__new_empty_split(base);
	un = add_union();
	loop = btf__find_by_name(mod, "loop");
	anon = btf__add_struct(mod, NULL, 8);
	field(mod, "pending", list, 0);
	text = btf__add_array(mod, u64, ch, 16);
	big = btf__add_array(mod, u64, u64, 4);
	dev = btf__add_ptr(mod, btf__find_by_name(base, "device"));
	state = btf__add_enum(mod, "state", 4);
	btf__add_enum_value(mod, "IDLE", 0);
	sched = btf__add_struct(mod, "sched", 112);
	field(mod, "name", name, 0);
	field(mod, "pad", u64, 8);
	field(mod, NULL, anon, 16);
	field(mod, NULL, un, 24);
	field(mod, "dev", dev, 32);
	field(mod, "text", text, 40);
	btf__add_field(mod, "bits", state, 56 * 8, 3);
	field(mod, "state", state, 60);
	field(mod, "big", big, 64);
	field(mod, "cycle", loop, 96);
	btf__add_struct(mod, "fence", 32);
	field(mod, "a", u64, 0);
	field(mod, "b", u64, 8);
	field(mod, "sched", (int)btf__type_cnt(mod) + 1, 16);
	field(mod, "list", list, 24);
	btf__add_ptr(mod, (int)btf__type_cnt(mod)); /* unused: keeps the numbers apart */
	btf__add_ptr(mod, sched);
	add_tracepoint("queue", (int)btf__type_cnt(mod) - 1, u64);
	add_tracepoint("big", big, btf__add_ptr(mod, sched));
	add_function("on_sched", sched);
	add_function("on_half", btf__find_by_name(mod, "u16"));
	add_function("on_list", btf__add_const(mod, list));
	add_function("on_far", btf__find_by_name(base, "far"));
	add_function("on_device", btf__find_by_name(base, "device"));
	/* another struct of a name that the kernel has */
	btf__add_struct(mod, "device", 8);
	field(mod, "number", u64, 0);
	add_function("on_own_device", (int)btf__type_cnt(mod) - 1);
	save(mod, "mod");
}

static const char format[] =
	"ID: 1\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\n\tfield:struct fence * fence;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:const u64 *b;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:void * nothing;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:int count;\toffset:20;\tsize:4;\tsigned:1;\n";

static const struct {
	const char *expr, *want; /* with a blank in it: a part of the sentence */
	const char *of;		 /* a function, or "queue" or "big": a tracepoint; NULL: a record */
} walks[] = {
	{ "$name", "$name:string", NULL },
	{ "$count", "$count:s32", NULL },
	{ "$fence", "$fence:x64", NULL },
	{ "$fence<fence>", "$fence:x64", NULL },
	{ "$arg2", "$arg2:x64", "queue" },
	{ "$arg1<sched>", "$arg1:x64", "queue" },
	{ "$fence<fence>->b", "+8($fence):u64", NULL },
	{ "$b<fence.b>->a", "-8($b):u64", NULL },
	{ "$nothing<fence>->a", "+0($nothing):u64", NULL },
	{ "$b<fence.b>->sched->name", "+0(+0(+8($b))):string", NULL },
	{ "$b<fence.b>->sched->dev->kobj.name", "+0(+8(+32(+8($b)))):string", NULL },
	{ "$fence<fence>->sched->text", "+40(+16($fence)):string", NULL },
	{ "$arg1<sched>->error", "+24($arg1):s32", "on_sched" },
	{ "$arg1<sched>->error", "+24($arg1):s32", "queue" },
	{ "$arg1<sched>->flag", "+24($arg1):u8", "on_sched" },
	{ "$arg1<sched>->half", "+26($arg1):u16", "on_sched" },
	{ "$arg1<sched>->state", "+60($arg1):u32", "on_sched" },
	{ "$arg1<sched>->dev", "+32($arg1):x64", "on_sched" },
	{ "$arg1<sched.half>->pending.next<fence.list>->a", "-24(-10($arg1)):u64", "on_half" },
	{ "$arg1<device>->kobj.name", "+0(+8($arg1)):string", "on_device" },
	{ "$arg1<device>->number", "+0($arg1):u64", "on_own_device" },
	{ "$gone", "no field gone", NULL },
	{ "$fence<fence>->c", "struct fence has no member c", NULL },
	{ "$fence<fence.c>->a", "struct fence has no member c", NULL },
	{ "$fence<nosuch>->a", "no struct nosuch", NULL },
	{ "$fence<fence>->a->b", "before ->b is no pointer", NULL },
	{ "$fence<fence>->a<sched>->name", "before <sched> is no pointer", NULL },
	{ "$fence<fence>->a.b", "member b is no struct", NULL },
	{ "$fence<fence>->sched.name", "member name is no struct", NULL },
	{ "$fence<fence>->list", "neither a number nor a string", NULL },
	{ "$b<fence.b>", "no member is named", NULL },
	{ "$arg1<sched>->big", "neither a number nor a string", "on_sched" },
	{ "$arg1<sched>->bits", "member bits of struct sched is a bit field", "on_sched" },
	{ "$arg1<sched>->cycle", "neither a number nor a string", "on_sched" },
	{ "$arg1<sched>->cycle.x", "member x is no struct", "on_sched" },
	{ "$arg0", "$arg0 is none of", "on_sched" },
	{ "$arg123", "$arg123 is none of", "on_sched" },
	{ "$retval", "$retval is none of", "on_sched" },
};

/* Sources of the right name that are others: nothing of them is to be trusted. */
static const struct {
	const char *expr, *want, *of;
} others[] = {
	{ "$fence<sched>->name", "$fence is no pointer to a struct sched", NULL },
	{ "$fence<fence.b>->a", "$fence is no pointer to a u64", NULL },
	{ "$fence<sched.pending>->name", "$fence is no pointer to a struct list", NULL },
	{ "$b<fence>->a", "$b is no pointer to a struct fence", NULL },
	{ "$count<fence>->a", "$count is no pointer to a struct fence", NULL },
	{ "$arg1<fence>->a", "$arg1 is no pointer to a struct fence", "queue" },
	{ "$arg1<fence>", "$arg1 is no pointer to a struct fence", "queue" },
	{ "$arg1<fence.sched>->a", "$arg1 is no pointer to a nameless type", "queue" },
	{ "$arg2<sched>->name", "$arg2 is no pointer to a struct sched", "queue" },
	{ "$arg3", "it has no argument $arg3", "queue" },
	{ "$arg1", "$arg1 is neither a number nor a pointer", "big" },
	{ "$arg1<sched>->name", "$arg1 is neither a number nor a pointer", "big" },
	{ "$arg1<fence>->a", "$arg1 is no pointer to a struct fence", "on_sched" },
	{ "$arg1<sched.half>->name", "$arg1 is no pointer to a u16", "on_sched" },
	{ "$arg2", "it has no argument $arg2", "on_sched" },
	{ "$arg1", "the kernel's types do not have its arguments", "nosuch" },
	{ "$arg1<device>->kobj.name", "struct device has no member kobj", "on_own_device" },
};

static struct gt_source source_of(const struct gt_types *t, const char *of)
{
	if (!of)
		return gt_source_record(format);
	return !strcmp(of, "queue") || !strcmp(of, "big") ? gt_source_tracepoint(t, of)
							  : gt_source_function(t, of);
}

/* Does the expression become @want, or is it refused with @want in the sentence? Returns what gt_fetch() did */
static int fetch_is(const struct gt_types *t, const char *expr, const char *of, const char *want)
{
	struct gt_source s = source_of(t, of);
	char out[GT_FETCH];
	int ret = gt_fetch(t, &s, expr, out, err, sizeof(err));

	if (ret)
		ok(strstr(err, want), "%s: %s", expr, err);
	else
		is_str(out, want, "%s", expr);
	return ret;
}

static void test_walks(void)
{
	struct gt_types t;
	char out[GT_FETCH], deep[1 << 13] = "$arg1<list>";
	struct gt_source s;

	is(gt_types_load(&t, dir, "mod", err, sizeof(err)), 0, "the types are read");
	for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++)
		fetch_is(&t, walks[i].expr, walks[i].of, walks[i].want);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		int ret = fetch_is(&t, others[i].expr, others[i].of, others[i].want);

		if (i + 1 < sizeof(others) / sizeof(others[0]))
			is(ret, -EPROTOTYPE, "which has only the name");
	}
	for (int i = 0; i < 1000; i++)
		strcat(deep, "->next");
	s = source_of(&t, "on_list");
	ok(gt_fetch(&t, &s, deep, out, err, sizeof(err)) && strstr(err, "more than 12 pointers"),
	   "a chain of 1000: %s", err);
	ok(!gt_fetch(&t, &s, "$arg1<list>->next->next->next->next->next->next->next", out, err,
		     sizeof(err)) &&
		   strlen(out) < GT_FETCH,
	   "seven: %s", out);
	s = source_of(&t, "on_far");
	ok(gt_fetch(&t, &s, "$arg1<far>->next->next->next->next->next->next->next", out, err,
		    sizeof(err)) &&
		   strstr(err, "longer than"),
	   "seven far apart: %s", err);
	memset(deep, 'x', 80);
	deep[0] = '$';
	deep[80] = '\0';
	s = source_of(&t, NULL);
	ok(gt_fetch(&t, &s, deep, out, err, sizeof(err)) && strstr(err, "is too long a name"),
	   "a name of 79 letters");
	gt_types_free(&t);
}

static void test_tracepoints(void)
{
	struct gt_types t;

	is(gt_types_load(&t, dir, "mod", err, sizeof(err)), 0, "the types are read");
	ok(gt_type_tracepoint(&t, "queue"), "a module's tracepoint");
	ok(!gt_type_tracepoint(&t, "nosuch"), "one that there is not");
	ok(gt_type_function(&t, "on_sched") && !gt_type_function(&t, "queue"),
	   "a function is none");
	gt_types_free(&t);

	is(gt_types_load(&t, dir, "", err, sizeof(err)), 0, "the kernel's own types");
	ok(!gt_type_tracepoint(&t, "queue"), "have no module's tracepoint");
	is(gt_types_of_tracepoint(&t, dir, "queue"), 0, "the module is found");
	ok(gt_type_tracepoint(&t, "queue"), "with the tracepoint");
	ok(gt_types_of_tracepoint(&t, dir, "nosuch"), "none has one that there is not");
	gt_types_free(&t);
}

static void test_no_types(void)
{
	struct gt_types t;
	struct gt_source s;
	char out[GT_FETCH];
	FILE *f;

	is(gt_types_load(&t, dir, "other", err, sizeof(err)), 0, "a module without types");
	s = gt_source_record("\tfield:struct sched * s;\toffset:8;\tsize:8;\tsigned:0;\n"
			     "\tfield:struct device * d;\toffset:16;\tsize:8;\tsigned:0;\n");
	ok(gt_fetch(&t, &s, "$s<sched>->name", out, err, sizeof(err)) &&
		   strstr(err, "CONFIG_DEBUG_INFO_BTF_MODULES"),
	   "its structs are missing: %s", err);
	is(gt_fetch(&t, &s, "$d<device>->kobj.name", out, err, sizeof(err)), 0,
	   "the kernel's own are not");
	gt_types_free(&t);
	ok(gt_types_load(&t, "/nonexistent", "", err, sizeof(err)) &&
		   strstr(err, "CONFIG_DEBUG_INFO_BTF"),
	   "a kernel without types: %s", err);
	gt_types_free(&t);
	if (!chdir(dir) && (f = fopen("vmlinux", "w"))) {
		fputs("\x9f\xeb\x01 no types at all", f);
		fclose(f);
	}
	ok(gt_types_load(&t, ".", "mod", err, sizeof(err)), "types that are none");
	gt_types_free(&t);
	unlink("vmlinux");
	unlink("mod");
	ok(!chdir("..") && !rmdir(dir), "cleaned up");
}

int main(void)
{
	if (!tmp_dir(dir, "gt-btf"))
		return 1;
	test_expr();
	test_ini();
	test_faults();
	test_long();
	add_mod(add_base());
	test_walks();
	test_tracepoints();
	test_no_types();
	btf__free(mod);
	btf__free(base);
	return done_testing();
}
