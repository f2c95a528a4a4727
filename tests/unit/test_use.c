/* SPDX-License-Identifier: GPL-2.0 */
/* fs/model/process.c: what is read off of processes, while they live, when they have ended, and added
 * up. */
#include <stdlib.h>

#include "../../fs/model/model.h"
#include "../lib/tap.h"

#define SEC 1000000000ULL

static struct gt_model *m;
static uint64_t now;

static void use(uint32_t pid, uint64_t since, uint64_t at, uint64_t gfx, uint64_t vram)
{
	struct gt_use_engine e = { .name = "gfx", .ns = gfx };
	struct gt_use_region r = { "vram", GT_NONE64, vram, GT_NONE64, GT_NONE64, GT_NONE64 };
	struct gt_usage u = { .pid = pid,
			      .since = since,
			      .at = at,
			      .engine = &e,
			      .nengines = 1,
			      .region = &r,
			      .nregions = vram != GT_NONE64,
			      .memory = true };
	struct gt_folded f = { 0 };

	ok(gt_model_usage(m, &u, &f), "usage of %u", pid);
}

static const struct gt_use *use_of(uint32_t pid)
{
	return gt_model_proc(m, pid)->uses;
}

static void test_process(void)
{
	const struct gt_use *u;

	use(10, now - SEC, now, SEC / 2, 4096);
	u = use_of(10);
	is(gt_use_bytes(u), 4096, "memory");
	is(u->engines->busy.total_ns, SEC / 2, "engine time");
	ok(llabs((long long)gt_use_ns(u, now, SEC) - (long long)SEC / 2) < 1000,
	   "is spread over the time that it is of");
	ok(llabs((long long)gt_use_ns(u, now, SEC / 4) - (long long)SEC / 8) < 1000, "… alike");
	use(10, now, now + SEC, 0, GT_NONE64);
	is(gt_use_bytes(u), GT_NONE64, "what it no longer holds is not known, rather than 0");
	use(10, now, now, UINT64_MAX / 2, 7);
	use(10, now - 1000 * SEC, now, UINT64_MAX - 1, 7);
	is(u->engines->busy.total_ns, UINT64_MAX, "a sum ends at the greatest there is");
	ok(gt_use_ns(u, now, 10 * SEC) <= 10 * SEC, "and no time is more than there was");
}

static void test_end(void)
{
	struct gt_usage none = { .pid = 20, .since = now, .at = now + 5 * SEC, .memory = true };
	struct gt_folded f = { 0 };
	struct gt_work w = { 0 };
	uint32_t user;

	use(20, now - SEC, now, 300, 100);
	use(21, now - SEC, now, 30, 50);
	gt_model_process(m, 20, 1, 1000, "a", "/x", 0);
	gt_model_process(m, 21, 1, 1000, "b", "/x", 0);
	gt_model_not_here(m, gt_model_proc(m, 20));
	gt_model_not_here(m, gt_model_proc(m, 21));
	user = gt_model_user(m, 1000);
	is(gt_group_work(m, user, m->groups[user]->serial, GT_WORK_USES, &w), 0, "a user's");
	is(gt_use_bytes(w.uses), 150, "memory of both");
	is(w.uses->engines->busy.total_ns, 330, "engine time of both");
	gt_work_free(&w);
	gt_model_exit(m, gt_model_proc(m, 20)->slot);
	is(gt_use_bytes(use_of(20)), GT_NONE64, "who ended holds nothing");
	is(use_of(20)->engines->busy.total_ns, 300, "what it did stays");
	gt_model_usage(m, &none, &f);
	ok(!f.new_proc && gt_model_proc(m, 20)->dead, "that it holds nothing makes no process");
	is(gt_group_work(m, user, m->groups[user]->serial, GT_WORK_USES, &w), 0,
	   "the user's again");
	is(gt_use_bytes(w.uses), 50, "memory of who lives");
	is(w.uses->engines->busy.total_ns, 330, "engine time of both");
	gt_work_free(&w);
	gt_model_clear(m);
	is(use_of(21)->engines->busy.total_ns, 0, "a clear begins anew");
	is(gt_use_bytes(use_of(21)), 50, "but for what is held");
}

static void test_bounds(void)
{
	struct gt_use_engine e[GT_USE_ENGINES];
	struct gt_usage u = {
		.pid = 30, .since = now, .at = now, .engine = e, .nengines = GT_USE_ENGINES
	};
	struct gt_folded f = { 0 };

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < GT_USE_ENGINES; i++) {
			e[i] = (struct gt_use_engine){ .ns = 1 };
			snprintf(e[i].name, sizeof(e[i].name), "e%d-%d", round, i);
		}
		is(gt_model_usage(m, &u, &f), false, "more engines than there is room for, %d",
		   round);
	}
	is(use_of(30)->nengines, GT_USE_ENGINES, "as many as there is room for");
	u.gpu = 5;
	is(gt_model_usage(m, &u, &f), false, "a GPU that there is not");
}

int main(void)
{
	const struct gt_limits limits = { .max_jobs = 64,
					  .max_procs = 16,
					  .proc_linger_ns = 60 * SEC };
	bool is_new;

	m = gt_model_new(&limits, true);
	if (!m || !gt_model_gpu(m, "gpu0", &is_new))
		return 1;
	now = gt_model_now(m) / SEC * SEC + 100 * SEC; /* where a slot of busy time ends */
	test_process();
	test_end();
	test_bounds();
	gt_model_free(m);
	return done_testing();
}
