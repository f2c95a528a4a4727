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

int main(void)
{
	test_hostile_counters();
	test_names();
	test_reported();
	test_bounds();
	return done_testing();
}
