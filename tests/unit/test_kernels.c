/* SPDX-License-Identifier: GPL-2.0 */
/* Kernels in the model: names of directories, what they show, and that there is an end to it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/backend.h"
#include "../../fs/model/internal.h"
#include "../lib/tap.h"

static const struct gt_limits limits = { .max_jobs = 64, .max_procs = 64 };
static struct gt_model *m;
static uint16_t gpu;

static void begin(bool live)
{
	bool is_new;

	m = gt_model_new(&limits, live);
	gpu = gt_model_gpu(m, "amdgpu0", &is_new)->id;
}

static uint32_t kernel_of(const char *name, size_t len, uint32_t uid)
{
	struct gt_kernel_desc d;

	gt_kernel_init(&d);
	d.gpu = gpu;
	d.uid = uid;
	d.name = name;
	d.len = len;
	return gt_model_kernel(m, &d);
}

static const char *dir_of(const char *name)
{
	uint32_t id = kernel_of(name, strlen(name), 1000);

	return id == GT_NONE32 ? "none" : m->kernels[id]->dir;
}

static void test_names(void)
{
	const struct gt_kernel *other;
	char long_name[70000];

	begin(false);
	is_str(dir_of("gemm_64x64.kd"), "gemm_64x64.kd", "a plain name is the directory's");
	ok(!strncmp(dir_of("void add<1>(int*)"), "add_1_int~", 10),
	   "else what is readable, and a hash: %s", dir_of("void add<1>(int*)"));
	ok(strcmp(dir_of("add<1>(int*)"), dir_of("add<1>(int&)")), "names that read alike differ");
	ok(!strpbrk(dir_of("../../etc/passwd"), "/") && *dir_of("../../etc/passwd") != '.',
	   "no way up: %s", dir_of("../../etc/passwd"));
	ok(*dir_of("\n\"") == '~', "nothing readable: %s", dir_of("\n\""));
	ok(strcmp(dir_of("gemm_64x64.kd~1"), "gemm_64x64.kd"), "a name cannot pass for another");
	is(kernel_of("gemm_64x64.kd", 13, 1000), 0, "the same name is the same kernel");
	ok(kernel_of("gemm_64x64.kd", 13, 1001) != 0, "another user's is another");
	ok(gt_model_kernel_dir(m, gpu, 1000, "gemm_64x64.kd") == m->kernels[0],
	   "it is found by its directory");
	ok(!gt_model_kernel_dir(m, gpu, 1000, "gemm"), "what is none is not");
	other = m->kernels[kernel_of("gemm_64x64.kd", 13, 1001)];
	is_str(other->dir, "gemm_64x64.kd", "another user's name does not tell that there is one");
	ok(gt_model_kernel_dir(m, gpu, 1001, "gemm_64x64.kd") == other, "… and is theirs");
	is_str(m->kernels[0]->alias, "gemm_64x64.kd",
	       "for those who see all the first has the name");
	is_str(other->alias, "gemm_64x64.kd~u1001", "… the next says whose it is");
	ok(gt_model_kernel_alias(m, gpu, "gemm_64x64.kd") == m->kernels[0] &&
		   gt_model_kernel_alias(m, gpu, "gemm_64x64.kd~u1001") == other,
	   "… and both are found");
	ok(!gt_model_kernel_dir(m, gpu, 1001, "gemm_64x64.kd~u1001"),
	   "that is no name of their own");
	memset(long_name, 'a', sizeof(long_name));
	is(m->kernels[kernel_of(long_name, sizeof(long_name), 1)]->len, GT_KERNEL_NAME_MAX,
	   "a name is cut");
	ok(m->kernels[m->nkernels - 1]->cut &&
		   strlen(m->kernels[m->nkernels - 1]->dir) < GT_KERNEL_DIR,
	   "… and says so");
	gt_model_free(m);
}

static void test_reported(void)
{
	struct gt_kernel_desc d;
	struct gt_summary all;
	struct gt_folded f;
	union gt_record r;
	struct gt_kernel *k;

	begin(false);
	gt_kernel_init(&d);
	d.gpu = gpu;
	d.uid = 1;
	d.name = "k";
	d.len = 1;
	d.value[GT_KV_VGPR] = 32;
	d.id = gt_model_kernel(m, &d);
	k = m->kernels[d.id];
	d.value[GT_KV_VGPR] = 64;
	d.ts = 1000;
	d.queue_ns = 7;
	is(gt_model_kernel(m, &d), d.id, "more is reported by its number");
	ok(k->min[GT_KV_VGPR] == 32 && k->max[GT_KV_VGPR] == 64 && k->min[GT_KV_LDS] == GT_NONE32,
	   "a range of what is known");
	for (unsigned int i = 1; i <= 40; i++) {
		gt_record_init(&r, i * 1000, GT_DISPATCH);
		r.ev.gpu = gpu;
		r.ev.ref = d.id;
		r.ev.value = i;
		gt_model_event(m, &r, &f);
	}
	gt_stage_summary(&k->exec, 0, &all, NULL);
	ok(k->dispatches == 40 && all.count == 40 && all.sum == 820 && all.max == 40,
	   "dispatches are counted");
	is(k->kept[(k->dispatches - 1) % GT_KERNEL_KEPT].exec_ns, 40, "… the last ones kept");
	is(gt_stage_count(&k->queue), 1, "a wait before one");
	gt_record_init(&r, 50000, GT_DISPATCH);
	r.ev.gpu = gpu;
	r.ev.ref = 12345;
	gt_model_event(m, &r, &f);
	is(k->dispatches, 40, "one of no kernel is nobody's");
	gt_model_counter(m, d.id, "SQ_WAVES", 2.5);
	gt_model_counter(m, d.id, "SQ_WAVES", 1.5);
	gt_model_counter(m, d.id, "SQ_WAVES", 1.0 / 0.0);
	ok(k->ncounters == 1 && k->counter[0].count == 2 && k->counter[0].sum == 4 &&
		   k->counter[0].min == 1.5,
	   "counters; what is no number is refused");
	for (unsigned int i = 0; i < 2 * GT_KERNEL_COUNTERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "C%u", i);
		gt_model_counter(m, d.id, name, 1);
	}
	is(k->ncounters, GT_KERNEL_COUNTERS, "there is an end to counters");
	gt_model_kernel_text(m, d.id, GT_KT_HOTSPOTS, "one\n");
	gt_model_kernel_text(m, d.id, GT_KT_HOTSPOTS, "another\n");
	is_str(k->text[GT_KT_HOTSPOTS], "another\n", "a text replaces the one before");
	is(m->kernel_bytes, 1 + strlen("another\n"), "… in the account too");
	gt_model_clear(m);
	ok(!k->dispatches && !gt_stage_count(&k->exec) && !k->counter[0].count,
	   "clear begins anew");
	gt_model_free(m);
}

static void test_bounds(void)
{
	char name[32];
	unsigned int n = 0;

	begin(true);
	for (unsigned int i = 0; i < GT_USER_KERNELS + 10; i++) {
		snprintf(name, sizeof(name), "k%u", i);
		n += kernel_of(name, strlen(name), 1000) != GT_NONE32;
	}
	is(n, GT_USER_KERNELS, "a user has a share");
	ok(kernel_of("k", 1, 1001) != GT_NONE32, "… and others have room");
	is(m->kernels_refused, 10, "what was refused is counted");
	for (unsigned int i = 0; i < 2 * GT_MAX_KERNELS; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		kernel_of(name, strlen(name), 0);
	}
	is(m->nkernels, GT_MAX_KERNELS, "there is an end to kernels");
	gt_model_free(m);
}

static uint32_t fnv(uint32_t h, const char *s)
{
	while (*s)
		h = (h ^ (uint8_t)*s++) * 16777619u;
	return h;
}

static void word_of(uint32_t i, char w[5])
{
	for (int k = 0; k < 4; k++, i >>= 6)
		w[k] = (char)('0' + (i & 63));
	w[4] = '\0';
}

/* Two words of four letters that FNV-1a takes from @h to the same; 0: none were found */
static uint32_t collide(uint32_t h, char a[5], char b[5])
{
	static uint32_t seen[1 << 22];

	memset(seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < 1 << 21; i++) {
		uint32_t to, at;

		word_of(i * 2654435761u >> 8, a);
		to = fnv(h, a);
		for (at = to >> 10; seen[at]; at = (at + 1) % (1 << 22)) {
			word_of((seen[at] - 1) * 2654435761u >> 8, b);
			if (fnv(h, b) == to && strcmp(a, b))
				return to;
		}
		seen[at] = i + 1;
	}
	return 0;
}

static int by_hash(const void *a, const void *b)
{
	uint32_t x = ((const struct gt_kernel_counter *)a)->hash;
	uint32_t y = ((const struct gt_kernel_counter *)b)->hash;

	return (x > y) - (x < y);
}

/* Names that meet in a hash that everybody knows */
static void test_hostile_counters(void)
{
	char word[11][2][5], name[48];
	struct gt_kernel_counter *sorted;
	unsigned int others = 0;
	uint32_t h = 2166136261u, id;
	struct gt_kernel *k;

	for (int i = 0; i < 11; i++)
		h = collide(h, word[i][0], word[i][1]);
	ok(h, "names are made up");
	begin(false);
	id = kernel_of("k", 1, 1000);
	for (unsigned int n = 0; n < 2048; n++) {
		*name = '\0';
		for (int i = 0; i < 11; i++)
			strcat(name, word[i][n >> i & 1]);
		others += fnv(2166136261u, name) != h;
		gt_model_counter(m, id, name, n);
	}
	k = m->kernels[id];
	ok(!others && k->ncounters == 2048, "2048 names of one hash");
	sorted = malloc(2048 * sizeof(*sorted));
	memcpy(sorted, k->counter, 2048 * sizeof(*sorted));
	qsort(sorted, 2048, sizeof(*sorted), by_hash);
	for (unsigned int i = 1; i < 2048; i++)
		others += sorted[i].hash == sorted[i - 1].hash;
	ok(others < 10, "… do not meet in the model's: %u", others);
	free(sorted);
	gt_model_free(m);
}

/* A name becomes a directory's name as it is if all of it is plain */
static void test_plain(void)
{
	char name[74];

	begin(false);
	is_str(dir_of("azAZ09_-.+"), "azAZ09_-.+", "all that is plain stays");
	is_str(dir_of("b__"), "b__", "at the end, too");
	ok(!strncmp(dir_of("a b"), "a_b~", 4), "a blank does not: %s", dir_of("a b"));
	ok(!strncmp(dir_of("void x"), "x~", 2), "nor \"void \": %s", dir_of("void x"));
	ok(!strncmp(dir_of("void "), "void~", 5), "which alone is a name: %s", dir_of("void "));
	ok(!strncmp(dir_of(".a"), "a~", 2), "nor a point in front: %s", dir_of(".a"));
	memset(name, 'n', sizeof(name));
	name[73] = '\0';
	ok(!strncmp(dir_of(name), name, 72) && dir_of(name)[72] == '~', "73 letters are cut");
	name[72] = '\0';
	is_str(dir_of(name), name, "72 are whole");
	gt_model_free(m);
}

/* A kernel of each of two GPUs */
static struct gt_kernel *kernels[2];

static void begin_two(bool live)
{
	begin(live);
	gt_model_gpu(m, "amdgpu1", NULL);
	for (gpu = 0; gpu < 2; gpu++)
		kernels[gpu] = m->kernels[kernel_of("k", 1, 1000)];
	gpu = 0;
}

/* Do those who look at a kernel, at its GPU, at anything see a change since the last call? */
static bool changed(const struct gt_kernel *k)
{
	static uint64_t was[3];
	const uint64_t now[3] = { k->gen, m->gpus[k->gpu]->gen, m->gen };
	bool all = now[0] != was[0] && now[1] != was[1] && now[2] != was[2];

	memcpy(was, now, sizeof(was));
	return all;
}

static uint32_t described(struct gt_kernel_desc *d)
{
	uint32_t id = gt_model_kernel(m, d);
	uint32_t of = d->id;

	gt_kernel_init(d);
	d->id = of;
	return id;
}

static void test_described(void)
{
	struct gt_kernel_desc d;
	struct gt_kernel *k;
	uint64_t dirs;

	begin_two(false);
	k = kernels[0];
	ok(kernels[1] != k && kernels[1]->gpu == 1, "another GPU's kernel is another");
	ok(gt_model_kernel_alias(m, 1, "k") == kernels[1], "found by its alias");
	ok(!gt_model_kernel_alias(m, 1, "j") && !gt_model_kernel_alias(m, 2, "k"), "no other is");
	ok(k->calls == GT_NONE64 && k->total_ns == GT_NONE64 && k->min_ns == GT_NONE64 &&
		   k->max_ns == GT_NONE64,
	   "how often it was called is not known");
	gt_kernel_init(&d);
	d.id = k->id;
	(void)changed(k);
	for (uint32_t v = 32; v >= 16; v -= 16) {
		d.value[GT_KV_VGPR] = v;
		described(&d);
		ok(changed(k), "who looks sees that more is known");
	}
	ok(k->min[GT_KV_VGPR] == 16 && k->max[GT_KV_VGPR] == 32, "the least and the most");
	d.queue_ns = 5;
	described(&d);
	d.ts = 1000;
	described(&d);
	is(gt_stage_count(&k->queue), 0, "a wait counts with its time alone");
	d.calls = 3;
	d.total_ns = 60;
	d.min_ns = 10;
	d.max_ns = 30;
	described(&d);
	described(&d);
	ok(k->calls == 3 && k->total_ns == 60 && k->min_ns == 10 && k->max_ns == 30,
	   "statistics are kept where no others come");
	(void)changed(k);
	gt_model_clear(m);
	ok(k->calls == GT_NONE64 && k->total_ns == GT_NONE64 && k->min_ns == GT_NONE64 &&
		   k->max_ns == GT_NONE64 && changed(k),
	   "a clear forgets them");
	is(k->min[GT_KV_VGPR], 16, "but not what it is like");

	d.id = m->nkernels;
	is(described(&d), GT_NONE32, "a number of no kernel");
	gt_kernel_init(&d);
	d.name = "new";
	d.len = 3;
	d.gpu = (uint16_t)m->ngpus;
	is(gt_model_kernel(m, &d), GT_NONE32, "a GPU that is none");
	is(m->kernels_refused, 2, "both are counted");
	d.gpu = 1;
	dirs = m->dir_gen;
	ok(gt_model_kernel(m, &d) == 2 && m->dir_gen != dirs, "a new one is a new directory");
	dirs = m->dir_gen;
	ok(gt_model_kernel(m, &d) == 2 && m->dir_gen == dirs, "which it is once");
	gt_model_free(m);
}

static union gt_record *of_kernel(const struct gt_kernel *k, enum gt_type type, uint64_t ts)
{
	static union gt_record r;

	gt_record_init(&r, ts, type);
	r.ev.gpu = 0;
	r.ev.ref = k->id;
	return &r;
}

static void test_dispatched(void)
{
	static const uint64_t ts[] = { 2000, 1000, 3000, 1500 };
	struct gt_kernel *k;
	struct gt_folded f;

	begin_two(false);
	k = kernels[0];
	for (int i = 0; i < 4; i++) {
		(void)changed(k);
		gt_model_event(m, of_kernel(k, GT_DISPATCH, ts[i]), &f);
		ok(changed(k), "who looks sees each dispatch");
	}
	ok(k->first_ts == 1000 && k->last_ts == 3000, "from the first to the last");
	ok(k->dispatches == 4 && !gt_stage_count(&k->exec), "how long they took is not known");
	gt_model_event(m, of_kernel(kernels[1], GT_DISPATCH, 4000), &f);
	is(kernels[1]->dispatches, 0, "none of another GPU's");
	gt_model_free(m);
}

/* That one of them has ended may come later, and says how long it took */
static void test_ran(void)
{
	union gt_record *r;
	uint64_t gen;

	begin_two(false);
	r = of_kernel(kernels[0], GT_END, 5000);
	gen = kernels[0]->gen;
	gt_kernel_ran(m, &r->ev);
	ok(!gt_stage_count(&kernels[0]->exec) && kernels[0]->gen == gen,
	   "an end that does not say how long it took is none");
	r->ev.value = 7;
	gt_kernel_ran(m, &r->ev);
	ok(gt_stage_count(&kernels[0]->exec) == 1 && !kernels[0]->dispatches &&
		   kernels[0]->gen != gen,
	   "one that does is counted, and seen");
	r->ev.ref = kernels[1]->id;
	gt_kernel_ran(m, &r->ev);
	r->ev.ref = 2;
	gt_kernel_ran(m, &r->ev);
	is(gt_stage_count(&kernels[1]->exec), 0, "none of another GPU's, or of no kernel");
	gt_model_free(m);
}

static void test_counters(void)
{
	char name[64];
	struct gt_kernel *k;
	struct gt_kernel_counter *c;

	begin_two(false);
	k = kernels[0];
	(void)changed(k);
	gt_model_counter(m, k->id, "C", 2.5);
	ok(changed(k), "who looks sees a reading");
	gt_model_counter(m, k->id, "C", 1.5);
	gt_model_counter(m, k->id, "C", 3.5);
	c = &k->counter[0];
	ok(c->min == 1.5 && c->max == 3.5 && c->sum == 7.5, "the least, the most, the sum");
	(void)changed(k);
	gt_model_clear(m);
	ok(changed(k), "who looks sees the clear");
	gt_model_counter(m, k->id, "C", 2.0);
	ok(c->min == 2 && c->max == 2 && c->sum == 2 && c->count == 1, "after it, the new alone");
	gt_model_counter(m, 2, "C", 1);
	gt_model_counter(m, k->id, "C", 0.0 / 0.0);
	is(m->counters_refused, 2, "of no kernel, or no number: counted");
	memset(name, 'n', 63);
	name[63] = '\0';
	gt_model_counter(m, k->id, name, 1);
	name[GT_KERNEL_COUNTER - 1] = 'x';
	gt_model_counter(m, k->id, name, 1);
	is(k->ncounters, 2, "names are compared as they are kept");
	name[GT_KERNEL_COUNTER - 2] = 'x';
	gt_model_counter(m, k->id, name, 1);
	is(k->ncounters, 3, "to their last letter");
	gt_model_free(m);
}

static void counters_to(struct gt_kernel *k, unsigned int n)
{
	char name[16];

	for (unsigned int i = k->ncounters; i < n; i++) {
		snprintf(name, sizeof(name), "C%u", i);
		gt_model_counter(m, k->id, name, 1);
	}
}

/* Beyond the few that each kernel may have, counters are of what all have together */
static void test_many_counters(void)
{
	begin_two(false);
	counters_to(kernels[0], GT_KERNEL_FEW);
	is(m->many_counters, 0, "few counters are not counted");
	counters_to(kernels[0], GT_KERNEL_FEW + 1);
	is(m->many_counters, GT_KERNEL_FEW, "the room for more is");
	m->many_counters = GT_MANY_COUNTERS - GT_KERNEL_FEW + 1;
	counters_to(kernels[1], GT_KERNEL_FEW + 1);
	ok(kernels[1]->ncounters == GT_KERNEL_FEW && m->counters_refused == 1,
	   "there is an end to them");
	m->many_counters--;
	counters_to(kernels[1], GT_KERNEL_FEW + 1);
	ok(kernels[1]->ncounters == GT_KERNEL_FEW + 1 && m->many_counters == GT_MANY_COUNTERS,
	   "the last room may be taken");
	gt_model_free(m);
}

static void test_texts(void)
{
	static char text[GT_KERNEL_TEXT_MAX + 2];
	struct gt_kernel *k;
	uint64_t bytes;

	begin_two(false);
	k = kernels[0];
	bytes = m->kernel_bytes;
	memset(text, 't', sizeof(text) - 1);
	(void)changed(k);
	gt_model_kernel_text(m, k->id, GT_KT_HOTSPOTS, text);
	ok(changed(k), "who looks sees a text");
	is(strlen(k->text[GT_KT_HOTSPOTS]), GT_KERNEL_TEXT_MAX - 1, "a long one is cut");
	is(m->kernel_bytes, bytes + GT_KERNEL_TEXT_MAX - 1, "and counted as it is kept");
	gt_model_kernel_text(m, k->id, GT_KERNEL_TEXTS, "x");
	gt_model_kernel_text(m, 2, GT_KT_HOTSPOTS, "x");
	ok(!changed(k) && m->kernel_bytes == bytes + GT_KERNEL_TEXT_MAX - 1,
	   "a text of no kind, or of no kernel, is none");
	gt_model_kernel_text(m, k->id, GT_KT_HOTSPOTS, NULL);
	ok(!k->text[GT_KT_HOTSPOTS] && m->kernel_bytes == bytes, "no text takes it away");
	m->kernel_bytes = GT_KERNEL_BYTES - 2;
	ok(kernel_of("abc", 3, 1) == GT_NONE32, "there is an end to names and texts");
	ok(kernel_of("ab", 2, 1) != GT_NONE32 && m->kernel_bytes == GT_KERNEL_BYTES,
	   "the last bytes may be taken");
	m->kernel_bytes = bytes + 2;
	gt_model_free(m);
}

static bool has_whole_share(uint16_t account, enum gt_share what, uint64_t all)
{
	return gt_share_has(account, what, all / GT_SHARE_PART, all) &&
	       !gt_share_has(account, what, all / GT_SHARE_PART + 1, all);
}

/* All that a user has is given back with the model: kernels, names, texts and counters */
static void test_share(void)
{
	uint16_t account;

	begin_two(true);
	account = kernels[0]->account;
	ok(account, "a user has an account");
	counters_to(kernels[0], GT_KERNEL_FEW);
	counters_to(kernels[1], GT_KERNEL_FEW + 1);
	gt_model_kernel_text(m, kernels[0]->id, GT_KT_HOTSPOTS, "text");
	ok(gt_share_has(account, GT_SH_TEXTS, GT_KERNEL_BYTES / GT_SHARE_PART - 6,
			GT_KERNEL_BYTES) &&
		   !gt_share_has(account, GT_SH_TEXTS, GT_KERNEL_BYTES / GT_SHARE_PART - 5,
				 GT_KERNEL_BYTES),
	   "six bytes of its share are taken");
	gt_model_free(m);
	ok(has_whole_share(account, GT_SH_KERNELS, GT_MAX_KERNELS), "kernels are given back");
	ok(has_whole_share(account, GT_SH_TEXTS, GT_KERNEL_BYTES), "names and texts are");
	ok(has_whole_share(account, GT_SH_COUNTERS, GT_MANY_COUNTERS), "counters are");
}

static void name_function(uint64_t id, uint32_t part, const char *text)
{
	struct gt_folded f;
	union gt_record r;

	gt_record_init(&r, 1000, (enum gt_type)GT_NAME);
	r.name.id = id;
	r.name.kind = GT_NAME_FUNCTION;
	r.name.part = part;
	memset(r.name.text, 0, sizeof(r.name.text));
	memcpy(r.name.text, text, strlen(text));
	gt_model_event(m, &r, &f);
}

static const char *function(unsigned int id)
{
	return id < m->nfunctions ? m->functions[id] : "no room";
}

static void test_functions(void)
{
	uint64_t gen;
	unsigned int room;

	begin(false);
	gen = m->gen;
	name_function(3, 0, "three");
	is_str(function(3), "three", "a function has a name");
	ok(m->gen != gen, "which is a change");
	is_str(function(2), "", "others have none yet");
	room = m->nfunctions;
	name_function(room - 1, 0, "last");
	is(m->nfunctions, room, "the last that there is room for");
	name_function(room, 0, "next");
	ok(m->nfunctions > room && !strcmp(function(room), "next"), "there is more room");
	is_str(function(room + 1), "", "with no names in it");
	room = m->nfunctions;
	name_function(2 * room, 0, "far");
	is_str(function(2 * room), "far", "and as much as it takes");
	name_function(GT_MAX_FUNCTIONS - 1, 0, "end");
	is_str(function(GT_MAX_FUNCTIONS - 1), "end", "the last number there is");
	is_str(function(3), "three", "names stay");
	gen = m->gen;
	room = m->nfunctions;
	name_function(GT_MAX_FUNCTIONS, 0, "beyond");
	ok(m->gen == gen && m->nfunctions == room, "a greater one has no name");
	name_function(4, GT_FUNCTION_NAME / 32, "beyond");
	is(m->gen, gen, "nor is there more of a name than fits");
	gt_model_free(m);
}

int main(void)
{
	test_hostile_counters();
	test_names();
	test_reported();
	test_bounds();
	test_plain();
	test_described();
	test_dispatched();
	test_ran();
	test_counters();
	test_many_counters();
	test_texts();
	test_share();
	test_functions();
	return done_testing();
}
