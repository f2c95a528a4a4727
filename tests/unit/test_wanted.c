/* SPDX-License-Identifier: GPL-2.0 */
/* fs/gate/gate.h: which jobs and events are wanted in records. */
#include <stdlib.h>

#include "../../backend/backend.h"
#include "../../fs/gate/gate.h"
#include "../lib/tap.h"

static struct gt_wanted all_wanted(void)
{
	struct gt_wanted w = { .types = UINT32_MAX, .events = UINT32_MAX, .share = GT_SHARE_ALL };

	memset(w.pid, 0xff, sizeof(w.pid));
	memset(w.uid, 0xff, sizeof(w.uid));
	memset(w.ctx, 0xff, sizeof(w.ctx));
	return w;
}

static struct gt_wanted_job a_job(void)
{
	return (struct gt_wanted_job){ .ctx = 7, .seqno = 1, .pid = 100, .uid = 1000, .ring = 2 };
}

/* Lists of every length have what is in them, and nothing beside it */
static void test_lists(void)
{
	unsigned int bad = 0;

	for (uint32_t n = 1; n <= GT_WANTED_LIST; n++) {
		struct gt_wanted w = all_wanted();

		for (uint32_t i = 0; i < n; i++) {
			w.pid[i] = 10 + i * 3;
			w.ctx[i] = (1ull << 40) + i * 3;
		}
		for (uint32_t i = 0; i < n; i++) {
			bad += !gt_wanted_has32(w.pid, 10 + i * 3);
			bad += gt_wanted_has32(w.pid, 9 + i * 3) +
			       gt_wanted_has32(w.pid, 11 + i * 3);
			bad += !gt_wanted_has64(w.ctx, (1ull << 40) + i * 3);
			bad += gt_wanted_has64(w.ctx, (1ull << 40) + i * 3 + 1);
		}
		bad += gt_wanted_has32(w.pid, 0) + gt_wanted_has32(w.pid, UINT32_MAX - 1);
		bad += gt_wanted_has32(w.pid, UINT32_MAX) + gt_wanted_has64(w.ctx, UINT64_MAX);
	}
	is(bad, 0, "every list of 1 to 64 has what it has");
}

static void test_order(void)
{
	struct gt_wanted w = all_wanted();
	struct gt_wanted_job j = a_job();

	is(gt_job_refused(&w, &j), GT_R_NONE, "without a filter every job is wanted");
	w.share = 0;
	is(gt_job_refused(&w, &j), GT_R_SAMPLING, "none of no share");
	w.ctx[0] = 8;
	w.nctx = 1;
	is(gt_job_refused(&w, &j), GT_R_CTX, "contexts go before sampling");
	j.refused |= 1u << GT_R_WATCHLIST;
	is(gt_job_refused(&w, &j), GT_R_WATCHLIST, "the watch list before these");
	w.uid[0] = 1001;
	w.nuid = 1;
	is(gt_job_refused(&w, &j), GT_R_UID, "users before it");
	w.pid[0] = 101;
	w.npid = 1;
	is(gt_job_refused(&w, &j), GT_R_PID, "processes before these");
	j.refused |= 1u << GT_R_ENGINE;
	is(gt_job_refused(&w, &j), GT_R_ENGINE, "engines before these");
	j.refused |= 1u << GT_R_RING;
	is(gt_job_refused(&w, &j), GT_R_RING, "rings before these");
	w.events = ~GT_WANTED_JOB_TYPES;
	is(gt_job_refused(&w, &j), GT_R_EVENTS, "that no event of jobs is wanted before rings");
	w.types = 0;
	is(gt_job_refused(&w, &j), GT_R_LEVEL, "and the level before all");
}

static void test_filters(void)
{
	struct gt_wanted w = all_wanted();
	struct gt_wanted_job j = a_job();

	w.pid[0] = 100;
	w.uid[0] = 1000;
	w.npid = w.nuid = 1;
	is(gt_job_refused(&w, &j), GT_R_NONE, "a job that lists have is wanted");
	j.pid = UINT32_MAX;
	is(gt_job_refused(&w, &j), GT_R_PID, "one whose process is not known is not");
	j.pid = 100;
	j.uid = UINT32_MAX;
	is(gt_job_refused(&w, &j), GT_R_UID, "nor one whose user is not");
	w.npid = w.nuid = 0;
	w.ctx[0] = 7;
	w.nctx = 1;
	is(gt_job_refused(&w, &j), GT_R_NONE, "a context that is watched");
	w.ctx_but = 1;
	is(gt_job_refused(&w, &j), GT_R_CTX, "one that is left out");
	j.ctx = 8;
	is(gt_job_refused(&w, &j), GT_R_NONE, "and another");
}

static void test_types(void)
{
	static const enum gt_type own[] = { GT_SUBMIT, GT_COMPLETE, GT_COMMIT,
					    GT_START,  GT_END,	    GT_ERROR };
	struct gt_wanted w = all_wanted();
	struct gt_wanted_job j = a_job();
	uint32_t types = 0;

	for (unsigned int i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		types |= 1u << own[i];
		w.events = 1u << own[i];
		is(gt_job_refused(&w, &j), GT_R_NONE, "type %d alone: jobs are wanted", own[i]);
	}
	is(types, GT_WANTED_JOB_TYPES, "these are the types of jobs");
	w.types = 1u << GT_SUBMIT | 1u << GT_COMPLETE;
	w.events = 1u << GT_COMPLETE | 1u << GT_IRQ;
	is(gt_type_refused(&w, GT_IRQ), GT_R_LEVEL, "the level comes first");
	is(gt_type_refused(&w, GT_SUBMIT), GT_R_EVENTS, "then filter_events");
	is(gt_type_refused(&w, GT_COMPLETE), GT_R_NONE, "what both want");
}

/* The choice is even over contexts that count, and of a smaller share all are in the greater. */
static void test_share(void)
{
	struct gt_wanted some = all_wanted(), more = all_wanted();
	unsigned int n = 0, lost = 0, slice[10] = { 0 }, uneven = 0;

	some.share = GT_SHARE_ALL / 10;
	more.share = GT_SHARE_ALL / 5;
	for (unsigned int i = 0; i < 200000; i++) {
		struct gt_wanted_job j = { .ctx = i % 7, .seqno = i / 7, .ring = i % 3 };
		bool in = !gt_job_refused(&some, &j);

		n += in;
		lost += in && gt_job_refused(&more, &j);
		slice[gt_wanted_draw(&some, &j) * 10 >> 32]++;
	}
	ok(n > 19600 && n < 20400, "a tenth is a tenth: %u of 200000", n); /* 3 sigma: 402 */
	is(lost, 0, "a greater share has all of the smaller");
	for (unsigned int i = 0; i < 10; i++)
		uneven += slice[i] < 19600 || slice[i] > 20400;
	is(uneven, 0, "and every tenth is a tenth");
}

int main(void)
{
	test_lists();
	test_order();
	test_filters();
	test_types();
	test_share();
	return done_testing();
}
