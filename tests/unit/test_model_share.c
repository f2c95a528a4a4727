/* SPDX-License-Identifier: GPL-2.0 */
/* What one user may hold of the model's tables and memory, and that all of it is given back. */
#include <stdlib.h>

#include "../../backend/backend.h"
#include "../../fs/model/model.h"
#include "../lib/tap.h"

#define SEC   1000000000ULL
#define ALICE 1001
#define BOB   1002
#define PROCS 400
#define MIB   (1 << 20)

static struct gt_model *m;

static void begin(void)
{
	struct gt_limits limits = { 4096, 600 * SEC, PROCS, 60 * SEC };
	char name[16];

	m = gt_model_new(&limits, true);
	gt_model_gpu(m, "amdgpu0", NULL);
	for (int i = 0; i < 96; i++) {
		snprintf(name, sizeof(name), "comp_%d", i);
		gt_model_ring(m, m->gpus[0], name, GT_ENGINE_COMPUTE, NULL);
	}
}

/* A job of process @pid on a ring, which takes @ns */
static void job(uint32_t pid, uint32_t uid, uint16_t ring, uint64_t ns)
{
	static uint64_t seqno;
	uint64_t ts = gt_model_now(m);

	seqno++;
	for (int i = 0; i < 2; i++) {
		struct gt_folded folded;
		union gt_record rec;

		gt_record_init(&rec, i ? ts + ns : ts, i ? GT_COMPLETE : GT_SUBMIT);
		rec.ev.gpu = 0;
		rec.ev.ring = ring;
		rec.ev.ctx = pid;
		rec.ev.seqno = seqno;
		rec.ev.pid = pid;
		rec.ev.uid = uid;
		gt_model_event(m, &rec, &folded);
		gt_model_recorded(m, &rec);
		gt_model_done(m, &folded);
	}
}

static void event(uint8_t type, uint32_t uid, uint16_t ring, uint64_t seqno)
{
	struct gt_folded folded;
	union gt_record rec;

	gt_record_init(&rec, gt_model_now(m), type);
	rec.ev.gpu = 0;
	rec.ev.ring = ring;
	rec.ev.ctx = uid;
	rec.ev.seqno = seqno;
	rec.ev.pid = type == GT_SUBMIT ? uid : GT_NONE32;
	rec.ev.uid = type == GT_SUBMIT ? uid : GT_NONE32;
	gt_model_event(m, &rec, &folded);
	gt_model_recorded(m, &rec);
	gt_model_done(m, &folded);
}

static uint64_t ended(uint32_t uid)
{
	return gt_model_proc(m, uid)->counts.completed;
}

/* Alice has more jobs in flight than there is room for: Bob loses none of his, older or younger */
static void test_jobs(void)
{
	uint64_t refused = gt_share_refused(GT_SH_JOBS), max, n = 0;

	begin();
	max = m->limits.max_jobs;
	for (; n < 100; n++)
		event(GT_SUBMIT, BOB, 7, n);
	for (uint64_t i = 0; i < 2 * max; i++)
		event(GT_SUBMIT, ALICE, 7, i);
	ok(m->njobs > max * 7 / 8, "about as many jobs are in flight as there may be");
	refused = gt_share_refused(GT_SH_JOBS) - refused;
	ok(refused >= max + 100 && refused < max * 9 / 8 + 100, "what is beyond is counted");
	for (; n < 200; n++)
		event(GT_SUBMIT, BOB, 7, n);
	for (uint64_t i = 0; i < n; i++)
		event(GT_COMPLETE, BOB, 7, i);
	is(ended(BOB), 200, "another user's jobs are all known at their end");
	for (uint64_t i = 0; i < 1000; i++)
		event(GT_COMPLETE, ALICE, 7, i);
	is(ended(ALICE), 1000, "and so are the first ones of who has too many");
	gt_model_free(m);
}

static unsigned int of(uint32_t uid)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < m->proc_slots; i++)
		n += m->procs[i] && m->procs[i]->uid == uid;
	return n;
}

static void test_processes(void)
{
	uint64_t refused = gt_share_refused(GT_SH_PROCS);

	begin();
	for (uint32_t pid = 1000; pid < 1000 + PROCS; pid++)
		job(pid, ALICE, 0, 1000);
	is(of(ALICE), PROCS / GT_SHARE_PART, "a user has a share of the processes");
	is(gt_share_refused(GT_SH_PROCS) - refused, m->procs_refused, "what is refused is counted");
	for (uint32_t pid = 3000; pid < 3100; pid++)
		job(pid, BOB, 0, 1000);
	is(of(BOB), PROCS / GT_SHARE_PART, "another has one, too");
	for (uint32_t pid = 5000; pid < 5150; pid++)
		job(pid, 0, 0, 1000);
	is(of(0), 150, "root has no bound");
	gt_model_exit(m, gt_model_proc(m, 1000)->slot);
	job(9000, ALICE, 0, 1000);
	ok(gt_model_proc(m, 9000) && !gt_model_proc(m, 1000),
	   "one of the own that ended makes room");
	gt_model_exit(m, gt_model_proc(m, 3000)->slot);
	job(9001, ALICE, 0, 1000);
	ok(gt_model_proc(m, 3000) && !gt_model_proc(m, 9001), "but not another user's");
	job(9002, GT_NONE32, 0, 1000);
	gt_model_process(m, 9002, 5, ALICE, "x", NULL, 0);
	is(of(ALICE), PROCS / GT_SHARE_PART + 1, "who is known later is in the share all the same");
	gt_model_exit(m, gt_model_proc(m, 9000)->slot);
	gt_model_exit(m, gt_model_proc(m, 1001)->slot);
	job(9003, ALICE, 0, 1000);
	ok(!gt_model_proc(m, 9003) || of(ALICE) <= PROCS / GT_SHARE_PART, "which it fills");
	gt_model_free(m);
	begin();
	for (uint32_t pid = 1000; pid < 1000 + PROCS; pid++)
		job(pid, ALICE, 0, 1000);
	is(of(ALICE), PROCS / GT_SHARE_PART, "a model that is freed gives all of it back");
	gt_model_free(m);
}

/* Processes on many rings, of values that take many octaves: until there is no more memory */
static void test_memory(void)
{
	uint64_t before = gt_hist_memory(), own;
	const struct gt_proc *bob;

	gt_hist_set_limit(before + 64 * MIB);
	begin();
	own = gt_hist_memory();
	for (uint32_t n = 0; n < 60; n++)
		for (uint32_t pid = 100; pid < 180; pid++)
			for (uint16_t ring = 0; ring < 24; ring++)
				job(pid, ALICE, ring, 1000ull << n % 30);
	ok(gt_share_refused(GT_SH_MEMORY), "a user's share of the memory has an end");
	ok(gt_hist_memory() - own < 32 * MIB, "which others' is beyond: %" PRIu64 " KiB are used",
	   (gt_hist_memory() - own) >> 10);
	for (uint32_t n = 0; n < 60; n++)
		job(900, BOB, 5, 1000ull << n % 30);
	bob = gt_model_proc(m, 900);
	ok(bob && bob->rings && bob->rings->counts.completed == 60, "another's jobs count");
	ok(bob->rings && !bob->rings->stage[GT_ST_TOTAL].base.uncounted &&
		   !bob->rings->stage[GT_ST_TOTAL].cur.uncounted,
	   "with their times");
	for (uint32_t pid = 100; pid < 180; pid++)
		if (gt_model_proc(m, pid))
			gt_model_exit(m, gt_model_proc(m, pid)->slot);
	m->limits.proc_linger_ns = 0;
	for (int i = 0; i < 4; i++)
		gt_model_reap(m);
	is(of(ALICE), 0, "ended processes go");
	own = gt_share_refused(GT_SH_MEMORY);
	job(200, ALICE, 1, 1000);
	is(gt_share_refused(GT_SH_MEMORY), own, "and with them their memory");
	gt_model_free(m);
	is(gt_hist_memory(), before, "nothing is left");
	gt_hist_set_limit(512ull * MIB);
}

static void test_cgroups(void)
{
	uint64_t refused = gt_share_refused(GT_SH_CGROUPS);
	char path[64];

	begin();
	for (unsigned int i = 0; i < GT_MAX_CGROUPS; i++) {
		snprintf(path, sizeof(path), "/user/%u", i);
		gt_model_process(m, 10, i + 1, ALICE, "x", path, i + 2);
		gt_model_not_here(m, gt_model_proc(m, 10));
	}
	is(m->ncgroups, GT_MAX_CGROUPS / GT_SHARE_PART, "a user has a share of the cgroups");
	ok(gt_share_refused(GT_SH_CGROUPS) > refused, "what is beyond counts in the group above");
	gt_model_process(m, 11, 1, BOB, "x", "/other/b", 2);
	gt_model_not_here(m, gt_model_proc(m, 11));
	is(m->ncgroups, GT_MAX_CGROUPS / GT_SHARE_PART + 2, "others have theirs");
	gt_model_free(m);
}

int main(void)
{
	test_processes();
	test_jobs();
	test_memory();
	test_cgroups();
	return done_testing();
}
