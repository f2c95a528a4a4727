/* SPDX-License-Identifier: GPL-2.0 */
/* Filters and watch lists: which jobs are recorded, and what the rest counts as. */
#include "gatebed.h"

static struct job a_job(uint16_t gpu, uint16_t ring)
{
	static uint64_t seqno;

	return (struct job){ gpu, ring, 100, 1000, 7, ++seqno };
}

/* Rings that are recorded, a bit each: amdgpu0's three, then i915-0's */
static unsigned int rings_with(const char *key, const char *value)
{
	static uint64_t ts = 1000;
	unsigned int mask = 0;

	set(key, value);
	for (unsigned int i = 0; i < 4; i++) {
		struct job j = a_job(i / 3, i % 3);
		unsigned int n = live(&j, ts += 1000, 100);

		mask |= (n == 3) << i;
		if (n != 0 && n != 3)
			ok(false, "%s=%s: %u records of a job", key, value, n);
	}
	set(key, "");
	return mask;
}

static void test_rings(void)
{
	static const struct {
		const char *value;
		unsigned int mask;
	} lists[] = {
		{ "", 15 },	    { "0", 9 },	    { "1,2", 6 },	  { "ring1", 2 },
		{ "gfx_0.0.0", 1 }, { "sdma*", 4 }, { "*a0", 4 },	  { "amdgpu0/ring0", 1 },
		{ "amdgpu0/0", 1 }, { "*/0", 9 },   { "i915-0/*", 8 },	  { "amdgpu?/[cs]*", 6 },
		{ "nothing*", 0 },  { "7", 0 },	    { "rcs0,sdma0", 12 }, { "[a-f]omp*", 2 },
		{ "[!g]*", 14 },    { "ring", 0 },
	};

	begin();
	set("filter_enabled", "1");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		is(rings_with("filter_ring", lists[i].value), lists[i].mask, "filter_ring %s",
		   lists[i].value);
	is(rings_with("watchlist", "amdgpu?/[cs]*"), 6, "watchlist amdgpu?/[cs]*: likewise");
	is(rings_with("watchlist", "!2"), 11, "watchlist !2: all but");
	is(rings_with("watchlist", "!0,!1"), 4, "!0,!1");
	is(rings_with("watchlist", "!0,1"), 4, "!0,1 is the same");
	is(rings_with("filter_engine", "GRAPHICS"), 9, "an engine");
	is(rings_with("filter_engine", "copy,Compute"), 6, "two, in any case");
	is(rings_with("filter_engine", "0x2"), 9, "a mask");
	is(gate.n.refused[GT_R_RING] % 3, 0, "whole jobs are refused");
	set("filter_enabled", "0");
	is(rings_with("filter_ring", "1"), 15, "filter_enabled 0: filters do nothing");
	is(rings_with("watchlist", "1"), 2, "but watch lists do");
	set("filter_ring", "1");
	set("filter_enabled", "1");
	set("filter_enabled", "0");
	is(rings_with("watchlist", ""), 15, "one that was on is forgotten");
	end();
}

static void test_owners(void)
{
	struct job a = { 0, 0, 100, 1000, 7, 1 }, b = { 0, 0, 200, 2000, 8, 1 };

	begin();
	set("filter_enabled", "1");
	set("filter_pid", "100,300");
	is(live(&a, 1000, 100), 3, "filter_pid: one that is listed");
	is(live(&b, 2000, 100), 0, "one that is not");
	is(gate.n.refused[GT_R_PID], 3, "its events count there");
	set("filter_pid", "");
	set("filter_uid", "2000");
	a.seqno = b.seqno = 2;
	is(live(&a, 3000, 100), 0, "filter_uid: one that is not listed");
	is(live(&b, 4000, 100), 3, "one that is");
	set("filter_uid", "");
	set("watchlist_ctx", "!7");
	a.seqno = b.seqno = 3;
	is(live(&a, 5000, 100), 0, "watchlist_ctx: one left out");
	is(live(&b, 6000, 100), 3, "the rest is not");
	set("watchlist_ctx", "7");
	a.seqno = b.seqno = 4;
	is(live(&a, 7000, 100), 3, "only it");
	is(live(&b, 8000, 100), 0, "not the rest");
	is(gate.n.refused[GT_R_CTX], 6, "both count there");
	end();
}

/* A filter that is set while a job is in flight is for those to come. */
static void test_in_flight(void)
{
	struct job a = { 0, 0, 100, 1000, 7, 1 }, b = { 0, 0, 200, 2000, 8, 1 };

	begin();
	set("filter_enabled", "1");
	ok(tell(&a, 1000, GT_SUBMIT), "a job is recorded");
	set("filter_pid", "200");
	ok(tell(&a, 1100, GT_COMPLETE), "to its end, though a filter is set meanwhile");
	a.seqno = 2;
	ok(!tell(&a, 1200, GT_SUBMIT), "its next is not");
	set("filter_pid", "");
	ok(!tell(&a, 1300, GT_COMPLETE), "nor its next one's end, once the filter is gone");
	is(live(&b, 2000, 100), 3, "others are");
	end();
}

static void test_events(void)
{
	struct job a = { 0, 0, 100, 1000, 7, 1 };

	begin();
	set("filter_enabled", "1");
	set("filter_events", "SUBMIT,COMPLETE");
	is(live(&a, 1000, 100), 2, "filter_events: single records of a job are left out");
	is(gate.n.refused[GT_R_EVENTS], 1, "and count there");
	set("filter_events", "0x8");
	a.seqno = 2;
	is(live(&a, 2000, 100), 1, "a mask");
	is(out.r[2].ev.type, GT_COMMIT, "its bits are the types' numbers");
	end();
}

/* Events may come before their ring has its name */
static void test_named_later(void)
{
	struct job a = { 0, 3, 100, 1000, 7, 1 };

	begin();
	set("watchlist", "vcn*");
	is(live(&a, 1000, 100), 0, "a ring that nobody has named yet is on no list");
	gt_model_ring(model, model->gpus[0], "vcn_dec_0", GT_ENGINE_VIDEO_DECODE, NULL);
	a.seqno = 2;
	is(live(&a, 2000, 100), 3, "once it is, it is");
	end();
}

/* Of a GPU that the model does not have, or of none */
static void test_nowhere(void)
{
	struct job a = { GT_NONE16, GT_NONE16, 100, 1000, 7, 1 }, b = { 2, 0, 100, 1000, 8, 1 };

	begin();
	is(live(&a, 1000, 100) + live(&b, 1000, 100), 6, "a job of no known ring");
	set("filter_enabled", "1");
	set("filter_engine", "GRAPHICS");
	a.seqno = b.seqno = 2;
	is(live(&a, 2000, 100) + live(&b, 2000, 100), 0, "is of no engine that is wanted");
	is(gate.n.refused[GT_R_ENGINE], 6, "and counts there");
	set("filter_engine", "");
	a.seqno = b.seqno = 3;
	is(live(&a, 3000, 100) + live(&b, 3000, 100), 6, "when none is wanted, all are");
	end();
}

static void test_clear(void)
{
	struct job a = { 0, 0, 100, 1000, 7, 1 };

	begin();
	set("sampling", "50");
	for (; a.seqno < 200; a.seqno++)
		tell(&a, 1000 + a.seqno, GT_SUBMIT);
	gt_gate_clear(&gate);
	for (a.seqno = 1; a.seqno < 200; a.seqno++)
		tell(&a, 2000 + a.seqno, GT_COMPLETE);
	is(out.n % 2, 0, "jobs in flight are recorded whole, or not");
	is(gate.n.recorded, out.n / 2, "what comes after is counted");
	end();
}

int main(void)
{
	test_rings();
	test_owners();
	test_in_flight();
	test_events();
	test_named_later();
	test_nowhere();
	test_clear();
	return done_testing();
}
