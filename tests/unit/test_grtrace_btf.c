// SPDX-License-Identifier: GPL-2.0
/* grtrace.ko's check of a tracepoint's prototype by the kernel's types, compiled as a program. */
#include <bpf/btf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "../lib/kmod.h"
#include "../lib/tap.h"

#define GFP_KERNEL		 0
#define S32_MAX			 INT32_MAX
#define kzalloc(n, flags)	 calloc(1, n)
#define kvcalloc(n, size, flags) calloc(n, size)
#define kfree(p)		 free(p)
#define kvfree(p)		 free(p)

#include "../../backend/relay/kmod/btf.c"

/* What a probe was built with */
struct sched {
	const char *name;
	void *dev;
};
struct fence {
	u64 context;
	int error;
};
struct sfence {
	struct fence finished;
	struct sched *sched;
	char text[24];
};
struct job {
	u64 pad;
	struct sfence *s_fence;
	struct sched *sched;
};

static const struct grt_member of_job[] = {
	GRT_MEMBER_TO(job, s_fence, sfence),
	GRT_MEMBER_TO(job, sched, sched),
	GRT_MEMBER_TO(sfence, finished, fence),
	GRT_MEMBER_TO(sfence, sched, sched),
	GRT_MEMBER(sfence, text),
	GRT_MEMBER(sched, name),
	GRT_MEMBER(fence, context),
	GRT_MEMBER(fence, error),
	{},
};
static const struct grt_member of_outer[] = {
	GRT_BEGINS_WITH(outer, job),
	GRT_MEMBER_TO(job, sched, sched),
	GRT_MEMBER(sched, name),
	{},
};

/* What is different from that */
enum change {
	NOTHING,
	MOVED,	  /* sfence.sched lies elsewhere */
	RENAMED,  /* fence.error has another name */
	RESIZED,  /* fence.context has 4 bytes */
	BITS,	  /* fence.error is a bit field */
	ANOTHER,  /* job.sched leads to another struct */
	ARRAY,	  /* sfence.text has 8 bytes */
	NAMELESS, /* fence.error is in a nameless union: that is the same */
	TWICE,	  /* there is another struct sched, with its name elsewhere */
	LACKS,	  /* job is only announced */
	CHANGES
};

static struct btf *base, *mod;
static char why[120];

static int member(struct btf *b, const char *name, int type, u32 off)
{
	return btf__add_field(b, name, type, off * 8, 0);
}

static int add_sched(struct btf *b, int text, u32 off)
{
	int id = btf__add_struct(b, "sched", 16);

	member(b, "name", text, off);
	return id;
}

static int add_fence(struct btf *b, enum change c, int u64_, int s32, int u32_)
{
	int un = 0, id;

	if (c == NAMELESS) {
		un = btf__add_union(b, NULL, 4);
		member(b, "seen", u32_, 0);
		member(b, "error", s32, 0);
	}
	id = btf__add_struct(b, "fence", 16);
	member(b, "context", c == RESIZED ? u32_ : u64_, 0);
	if (c == BITS)
		btf__add_field(b, "error", s32, 64, 31);
	else
		member(b, un ? NULL : c == RENAMED ? "result" : "error", un ? un : s32, 8);
	return id;
}

/* typedef void (*btf_trace_NAME)(void *, …) */
static void add_trace(struct btf *b, const char *name, const int *args, int n)
{
	int data = btf__add_ptr(b, 0), proto = btf__add_func_proto(b, 0);
	char text[64];

	btf__add_func_param(b, "data", data);
	for (int i = 0; i < n; i++)
		btf__add_func_param(b, "arg", args[i]);
	snprintf(text, sizeof(text), "btf_trace_%s", name);
	btf__add_typedef(b, text, btf__add_ptr(b, proto));
}

/* The kernel has fence, and a module the rest */
static void make(enum change c)
{
	int u64_, s32, u32_, ch, text, fence, sched, other, sfence, psfence, psched, pother, job,
		pjob;
	int outer, texts, pscheds;

	base = btf__new_empty();
	u64_ = btf__add_int(base, "u64", 8, 0);
	s32 = btf__add_int(base, "int", 4, BTF_INT_SIGNED);
	u32_ = btf__add_typedef(base, "u32", btf__add_int(base, "unsigned int", 4, 0));
	ch = btf__add_int(base, "char", 1, BTF_INT_SIGNED);
	text = btf__add_ptr(base, btf__add_const(base, ch));
	fence = add_fence(base, c, u64_, s32, u32_);
	add_trace(base, "wait", (int[]){ btf__add_ptr(base, fence) }, 1);

	mod = btf__new_empty_split(base);
	sched = add_sched(mod, text, 0);
	psched = btf__add_ptr(mod, btf__add_volatile(mod, btf__add_const(mod, sched)));
	other = btf__add_struct(mod, "other", 16);
	member(mod, "name", text, 0);
	pother = btf__add_ptr(mod, other);
	pscheds = c == TWICE ? btf__add_ptr(mod, add_sched(mod, text, 8)) : psched;
	texts = btf__add_array(mod, s32, ch, c == ARRAY ? 8 : 24);
	sfence = btf__add_struct(mod, "sfence", 48);
	member(mod, "finished", fence, 0);
	member(mod, "sched", pscheds, c == MOVED ? 40 : 16);
	member(mod, "text", texts, 24);
	psfence = btf__add_ptr(mod, sfence);
	if (c == LACKS) {
		job = btf__add_fwd(mod, "job", BTF_FWD_STRUCT);
	} else {
		job = btf__add_struct(mod, "job", 24);
		member(mod, "pad", u64_, 0);
		member(mod, "s_fence", psfence, 8);
		member(mod, "sched", c == ANOTHER ? pother : psched, 16);
	}
	pjob = btf__add_typedef(mod, "job_t", btf__add_ptr(mod, job));
	add_trace(mod, "job", (int[]){ pjob, pother }, 2);
	add_trace(mod, "flags", (int[]){ pjob, u32_ }, 2);
	add_trace(mod, "swapped", (int[]){ pother, pjob }, 2);
	outer = btf__add_struct(mod, "outer", 32);
	if (c != LACKS)
		member(mod, "base", job, 0);
	add_trace(mod, "outer", (int[]){ btf__add_ptr(mod, outer) }, 1);
	add_trace(mod, "long", (int[]){ pjob, u64_ }, 2);
	add_trace(mod, "struct", (int[]){ job }, 1);
	btf__add_typedef(mod, "btf_trace_none", u64_);
	btf__add_typedef(mod, "loop", (int)btf__type_cnt(mod));
	add_trace(mod, "loop", (int[]){ (int)btf__type_cnt(mod) - 1, pother }, 2);
}

static void gone(void)
{
	btf__free(mod);
	btf__free(base);
}

static struct grt_btf *of(struct btf *b, const struct grt_btf *on)
{
	u32 n = 0;
	const void *data = btf__raw_data(b, &n);

	return grt_btf_new(data, n, on);
}

/* These words; none where nothing is wrong */
static void says(const char *words)
{
	ok(*words ? strstr(why, words) != NULL : !*why, "and why: %s", why);
}

#define JOB_ARGS "struct job *, struct other *"

static void test_changes(void)
{
	static const struct {
		int ret;
		const char *why;
	} want[CHANGES] = {
		[NOTHING] = { 0, "" },
		[MOVED] = { -EINVAL, "sfence has sched, 8 bytes, at 40" },
		[RENAMED] = { -EINVAL, "fence has no member error" },
		[RESIZED] = { -EINVAL, "fence has context, 4 bytes" },
		[BITS] = { -EINVAL, "fence has error" },
		[ANOTHER] = { -EINVAL, "no struct sched" },
		[ARRAY] = { -EINVAL, "sfence has text, 8 bytes" },
		[NAMELESS] = { 0, "" },
		[TWICE] = { -EINVAL, "sched has name, 8 bytes, at 8" },
		[LACKS] = { -ENOENT, "struct job" },
	};

	for (int c = 0; c < CHANGES; c++) {
		struct grt_btf *k, *m;

		make((enum change)c);
		k = of(base, NULL);
		m = of(mod, k);
		why[0] = '\0';
		ok(k && m && k->n + 1 == btf__type_cnt(base) &&
			   k->n + m->n + 1 == btf__type_cnt(mod),
		   "change %d: all types are read", c);
		is(grt_btf_check(m, "job", JOB_ARGS, of_job, why, sizeof(why)), want[c].ret,
		   "change %d", c);
		says(want[c].why);
		grt_btf_free(m);
		grt_btf_free(k);
		gone();
	}
}

static void test_arguments(void)
{
	static const struct {
		const char *name, *args;
		const struct grt_member *members;
		int ret;
		const char *why;
	} rows[] = {
		{ "wait", "struct fence *", of_job + 6, 0, "" },
		{ "flags", "struct job *, u32", of_job, 0, "" },
		{ "flags", "struct job *, unsigned int", NULL, 0, "" },
		{ "outer", "struct outer *", of_outer, 0, "" },
		{ "swapped", JOB_ARGS, of_job, -EINVAL, "argument 1 is no pointer" },
		{ "job", "struct job *, struct job *", NULL, -EINVAL, "argument 2 is no pointer" },
		{ "job", "struct job *", of_job, -EINVAL, "2 arguments" },
		{ "outer", JOB_ARGS, of_job, -EINVAL, "1 arguments" },
		{ "job", "struct job *, u32", NULL, -EINVAL, "argument 2 is no number" },
		{ "long", "struct job *, u32", NULL, -EINVAL, "argument 2 is no number" },
		{ "struct", "struct job *", NULL, -EINVAL, "argument 1 is no pointer" },
		{ "loop", JOB_ARGS, NULL, -EINVAL, "argument 1 is no pointer" },
		{ "flags", "struct job *, u32", of_job + 4, -EINVAL, "struct sfence" },
		{ "none", JOB_ARGS, NULL, -ENOENT, "do not have it" },
		{ "nosuch", JOB_ARGS, NULL, -ENOENT, "do not have it" },
		{ "jo", JOB_ARGS, NULL, -ENOENT, "do not have it" },
	};
	struct grt_btf *k, *m;

	make(NOTHING);
	k = of(base, NULL);
	m = of(mod, k);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		why[0] = '\0';
		is(grt_btf_check(m, rows[i].name, rows[i].args, rows[i].members, why, sizeof(why)),
		   rows[i].ret, "%s(%s)", rows[i].name, rows[i].args);
		says(rows[i].why);
	}
	is(grt_btf_check(k, "job", JOB_ARGS, of_job, why, sizeof(why)), -ENOENT,
	   "the kernel's own have no module's");
	grt_btf_free(m);
	grt_btf_free(k);
	gone();
}

/* Whatever is in the file: nothing beyond it is read (with SAN=all that is seen) */
static void test_damaged(void)
{
	u32 n = 0, bn = 0, whole = 0;
	const void *good, *bgood;
	unsigned int seed = 4711;
	struct grt_btf *k, *m;
	u8 *data, *bdata;

	make(NOTHING);
	good = btf__raw_data(mod, &n);
	bgood = btf__raw_data(base, &bn);
	for (u32 i = 0; i < 20000; i++) {
		u32 cut = i % 4 ? n : (u32)rand_r(&seed) % n, flips = i % 5;

		data = malloc(cut ? cut : 1);
		bdata = malloc(bn);
		memcpy(data, good, cut);
		memcpy(bdata, bgood, bn);
		while (flips-- && cut) {
			data[(u32)rand_r(&seed) % cut] = (u8)rand_r(&seed);
			bdata[(u32)rand_r(&seed) % bn] = (u8)rand_r(&seed);
		}
		k = grt_btf_new(bdata, bn, NULL);
		m = k ? grt_btf_new(data, cut, k) : NULL;
		if (m)
			whole += grt_btf_check(m, "job", JOB_ARGS, of_job, why, sizeof(why)) == 0;
		grt_btf_free(m);
		grt_btf_free(k);
		free(data);
		free(bdata);
	}
	ok(whole > 2000 && whole < 15000, "20000 damaged files are read: %u fit", whole);
	gone();
}

/* Those of this machine, if it has any */
static void test_real(void)
{
	FILE *f = fopen("/sys/kernel/btf/vmlinux", "re");
	size_t cap = 64u << 20, n;
	struct btf *theirs;
	struct grt_btf *k;
	char *data;

	if (!f) {
		ok(true, "this kernel's types # skip it has none");
		return;
	}
	data = malloc(cap);
	n = data ? fread(data, 1, cap, f) : 0;
	fclose(f);
	theirs = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	k = grt_btf_new(data, n, NULL);
	ok(k && theirs && k->n + 1 == btf__type_cnt(theirs), "this kernel's %u types",
	   k ? k->n : 0);
	is(k ? grt_btf_check(k, "sched_process_fork", "struct task_struct *, struct task_struct *",
			     NULL, why, sizeof(why))
	     : -1,
	   0, "a tracepoint of this kernel");
	is(k ? grt_btf_check(k, "sched_process_fork", "struct task_struct *, struct mm_struct *",
			     NULL, why, sizeof(why))
	     : -1,
	   -EINVAL, "is not what it is not");
	grt_btf_free(k);
	btf__free(theirs);
	free(data);
}

int main(void)
{
	test_changes();
	test_arguments();
	test_damaged();
	test_real();
	return done_testing();
}
