/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>

#include "../../backend/backend.h"
#include "../../fs/gate/gate.h"
#include "../lib/tap.h"

static union gt_record record(enum gt_type type, uint64_t ctx, uint64_t seqno)
{
	union gt_record r;

	gt_record_init(&r, 1000, type);
	r.ev.gpu = 1;
	r.ev.ring = 3;
	r.ev.ctx = ctx;
	r.ev.seqno = seqno;
	return r;
}

static bool adds_up(const struct gt_gate *g)
{
	uint64_t sum = g->n.recorded + g->n.lost_source + g->n.lost_held;

	for (unsigned int i = 0; i < GT_NREFUSALS; i++)
		sum += g->n.refused[i];
	return g->n.seen == sum && !g->n.refused[GT_R_NONE];
}

static bool pass(struct gt_gate *g, enum gt_type type, uint64_t ctx, uint64_t seqno,
		 struct gt_job *job)
{
	union gt_record r = record(type, ctx, seqno);
	bool yes = gt_gate_pass(g, &r, job, GT_NONE64);

	if (!adds_up(g))
		ok(false, "the counters do not add up after type %d", type);
	return yes;
}

static struct gt_config conf;

/* A gate as gputrace.conf would make it with nothing in it */
static void begin(struct gt_gate *g)
{
	gt_config_free(&conf);
	gt_config_init(&conf);
	gt_gate_init(g, NULL);
	gt_gate_configure(g, &conf);
}

static void set(struct gt_gate *g, const char *key, const char *value)
{
	char err[256];

	if (gt_config_set(&conf, key, value, err, sizeof(err)))
		ok(false, "%s = %s: %s", key, value, err);
	gt_gate_configure(g, &conf);
}

static void set_n(struct gt_gate *g, const char *key, unsigned int n)
{
	char value[16];

	snprintf(value, sizeof(value), "%u", n);
	set(g, key, value);
}

static const char *const levels[] = { "off", "stats", "normal", "verbose" };

/* Which types a level lets through, as a mask. */
static uint64_t types_at(int level)
{
	struct gt_gate g;
	uint64_t mask = 0;

	begin(&g);
	set(&g, "level", levels[level]);
	for (int type = 0; type < GT_NTYPES; type++) {
		if (pass(&g, (enum gt_type)type, 1, 1, NULL))
			mask |= GT_BIT(type);
	}
	is(g.n.seen, GT_NTYPES, "level %d: all are seen", level);
	is(g.n.recorded, __builtin_popcountll(mask), "level %d: what passes is recorded", level);
	is(g.n.refused[GT_R_LEVEL], GT_NTYPES - __builtin_popcountll(mask),
	   "level %d: the rest counts", level);
	gt_gate_destroy(&g);
	return mask;
}

static void test_levels(void)
{
	const uint64_t verbose = GT_BIT(GT_IRQ) | GT_BIT(GT_CTX_SWITCH);
	const uint64_t all = (GT_BIT(GT_NTYPES - 1) << 1) - 1;

	is(types_at(GT_LEVEL_OFF), 0, "off records nothing");
	is(types_at(GT_LEVEL_STATS), 0, "stats records nothing");
	is(types_at(GT_LEVEL_NORMAL), all & ~verbose, "normal records all but two types");
	is(types_at(GT_LEVEL_VERBOSE), all, "verbose records all");
}

static void test_descriptions(void)
{
	struct gt_gate g;
	union gt_record r;
	bool all = true;

	begin(&g);
	set(&g, "level", "off");
	set(&g, "sampling", "0");
	for (int type = GT_HEADER; type < GT_TYPE_END; type++)
		all &= pass(&g, (enum gt_type)type, GT_NONE64, 0, NULL);
	ok(all, "descriptions pass at level off");
	r = record(GT_LOST, 0, 0);
	r.lost.count = 41;
	r.lost.cause = GT_LOST_READER;
	ok(gt_gate_pass(&g, &r, NULL, GT_NONE64), "a reader's LOST passes");
	is(g.n.seen, 0, "and neither these nor that is counted");
	r.lost.cause = GT_LOST_SOURCE;
	ok(gt_gate_pass(&g, &r, NULL, GT_NONE64) && g.n.seen == 41 && g.n.lost_source == 41 &&
		   adds_up(&g),
	   "a source's loss is counted with its number");
	is(g.n.uncounted, 0, "which is known");
	r.lost.count = GT_NONE64;
	gt_gate_pass(&g, &r, NULL, GT_NONE64);
	ok(g.n.lost_source == 41 && g.n.uncounted == 1,
	   "one of unknown number is none, but marked");
	for (int i = 0; i < 3; i++) {
		r.lost.count = GT_NONE64 - 16;
		gt_gate_pass(&g, &r, NULL, GT_NONE64);
	}
	ok(g.n.lost_source == GT_LOST_MAX && g.n.seen == GT_LOST_MAX && adds_up(&g),
	   "counts that cannot be end the sum at its bound");
	g.n.seen -= GT_LOST_MAX - 42;
	g.n.lost_source = 42;
	for (int type = GT_NTYPES; type < 256; type++) {
		if (!gt_type_known((unsigned int)type) && pass(&g, (enum gt_type)type, 1, 1, NULL))
			ok(false, "type %d passes", type);
	}
	is(g.n.refused[GT_R_TYPE], 256 - GT_NTYPES - (GT_TYPE_END - GT_HEADER),
	   "unknown types never pass");
	gt_gate_destroy(&g);
}

/* Records of jobs (@ctx, 0 .. @n-1) that pass at @percent. */
static unsigned int share(unsigned int percent, uint64_t ctx, uint64_t salt, unsigned int n)
{
	struct gt_gate g;
	unsigned int passed = 0;

	begin(&g);
	set_n(&g, "sampling", percent);
	g.wanted.salt = salt;
	for (unsigned int i = 0; i < n; i++)
		passed += pass(&g, GT_SUBMIT, ctx, i, NULL);
	is(g.n.refused[GT_R_SAMPLING], n - passed, "%u %%: the rest is sampled out", percent);
	is(g.rings[1][3].sampled_out, n - passed, "%u %%: in its ring too", percent);
	gt_gate_destroy(&g);
	return passed;
}

static void test_share(void)
{
	unsigned int a = share(25, 7, 0, 100000);

	ok(a > 24500 && a < 25500, "25 %% of ctx 7: %u", a);
	is(share(25, 7, 0, 100000), a, "the same jobs every time");
	ok(share(25, 7, 99, 100000) != a, "other jobs with another salt");
	is(share(0, 7, 0, 1000), 0, "0 %%: none");
	is(share(100, 7, 0, 1000), 1000, "100 %%: all");
}

static void test_jobs_are_whole(void)
{
	static const enum gt_type life[] = { GT_SUBMIT, GT_COMMIT, GT_START, GT_END, GT_COMPLETE };
	unsigned int whole = 0, none = 0, unmatched = 0;
	struct gt_gate g;

	begin(&g);
	for (unsigned int i = 0; i < 1000; i++) {
		struct gt_job job = { .ctx = 5, .seqno = i, .gpu = 1, .ring = 3 };
		unsigned int passed = 0;

		for (unsigned int k = 0; k < 5; k++) {
			set_n(&g, "sampling", k % 2 ? 100 : 50); /* changed while it is in flight */
			passed += pass(&g, life[k], 5, i, &job);
		}
		whole += passed == 5;
		none += passed == 0;
		set(&g, "sampling", "50");
		unmatched += pass(&g, GT_COMPLETE, 5, i, NULL) == (passed == 5);
	}
	is(whole + none, 1000, "every job is recorded as a whole or not at all");
	ok(whole > 430 && whole < 570, "half of them: %u", whole);
	is(unmatched, 1000, "a completion without its job is decided likewise");
	gt_gate_destroy(&g);
}

static void test_no_job(void)
{
	struct gt_job job = { .ctx = 5, .seqno = 1 };
	struct gt_gate g;

	begin(&g);
	set(&g, "sampling", "0");
	ok(pass(&g, GT_SYNC_WAIT_ENTER, 5, 1, NULL), "a wait is not sampled");
	ok(pass(&g, GT_SYNC_WAIT_EXIT, 5, 1, &job) && !job.recorded,
	   "nor does it decide for the job it waits for");
	ok(pass(&g, GT_QUEUE_MAP, GT_NONE64, 0, NULL), "nor a queue's event");
	ok(pass(&g, GT_IOCTL_ENTER, GT_NONE64, 0, NULL), "nor an ioctl");
	ok(pass(&g, GT_ERROR, GT_NONE64, 0, NULL), "nor an error of no job");
	ok(!pass(&g, GT_ERROR, 5, 1, NULL), "an error of a job is");
	set(&g, "level", "stats");
	set(&g, "sampling", "100");
	job.recorded = 0;
	ok(!pass(&g, GT_SUBMIT, 5, 1, &job) && g.n.refused[GT_R_LEVEL] == 1, "level is the first");
	set(&g, "level", "normal");
	ok(!pass(&g, GT_COMPLETE, 5, 1, &job) && g.n.refused[GT_R_LEVEL] == 2,
	   "a job that began while nobody recorded is not recorded from its middle on");
	gt_gate_destroy(&g);
}

static void test_rings_and_clear(void)
{
	struct gt_gate g;
	union gt_record r = record(GT_SUBMIT, 1, 1);

	begin(&g);
	gt_gate_pass(&g, &r, NULL, GT_NONE64);
	is(g.rings[1][3].seen, 1, "a ring's own counter");
	r.ev.gpu = GT_MAX_GPUS;
	ok(gt_gate_pass(&g, &r, NULL, GT_NONE64), "a GPU out of range has none");
	r.ev.gpu = GT_NONE16;
	r.ev.ring = GT_NONE16;
	ok(gt_gate_pass(&g, &r, NULL, GT_NONE64), "nor has an unknown one");
	is(g.n.recorded, 3, "all are recorded");
	set(&g, "sampling", "33");
	gt_gate_clear(&g);
	ok(!g.n.seen && !g.n.recorded && !g.rings[1][3].seen && adds_up(&g), "clear");
	is(g.wanted.share, GT_SHARE_ALL * 33 / 100, "clear leaves settings");
	gt_gate_destroy(&g);
}

/* Rings beyond the bounds have no counters, and take no others' */
static void test_no_ring(void)
{
	static const uint16_t at[][2] = { { GT_MAX_GPUS, 3 },
					  { GT_MAX_GPUS, 3 },
					  { 1, GT_MAX_RINGS },
					  { 1, GT_NONE16 },
					  { GT_NONE16, 3 } };
	union gt_record r = record(GT_SUBMIT, 1, 1);
	struct gt_gate g;

	begin(&g);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		r.ev.gpu = at[i][0];
		r.ev.ring = at[i][1];
		gt_gate_pass(&g, &r, NULL, GT_NONE64);
		is(g.nowhere.seen, i + 1, "GPU %u, ring %u", at[i][0], at[i][1]);
	}
	r.ev.gpu = GT_MAX_GPUS - 1;
	r.ev.ring = GT_MAX_RINGS - 1;
	gt_gate_pass(&g, &r, NULL, GT_NONE64);
	ok(g.rings[GT_MAX_GPUS - 1] && g.rings[GT_MAX_GPUS - 1][GT_MAX_RINGS - 1].seen == 1,
	   "the last has counters");
	gt_gate_destroy(&g);
}

/* Of events that are of no job */
static void test_lone(void)
{
	union gt_record r = record(GT_QUEUE_MAP, GT_NONE64, 0);
	struct gt_gate g;

	begin(&g);
	set(&g, "filter_enabled", "1");
	set(&g, "filter_pid", "100");
	r.ev.pid = 200;
	ok(!gt_gate_pass(&g, &r, NULL, GT_NONE64) && g.n.refused[GT_R_PID] == 1,
	   "filters are for them, too");
	r.ev.pid = 100;
	ok(gt_gate_pass(&g, &r, NULL, GT_NONE64), "who is listed passes");
	set(&g, "rate_limit", "1");
	r.ev.ts = 5000000000;
	ok(gt_gate_pass(&g, &r, NULL, GT_NONE64), "one in a second passes");
	ok(!gt_gate_pass(&g, &r, NULL, GT_NONE64) && g.n.refused[GT_R_RATE] == 1,
	   "another is more than the limit");
	g.users = true;
	ok(gt_gate_pass(&g, &r, NULL, GT_NONE64),
	   "what is of users' own files has bounds of its own");
	g.users = false;
	r.ev.ts += 1000000000;
	ok(gt_gate_pass(&g, &r, NULL, GT_NONE64), "… and takes nothing of the limit");
	ok(adds_up(&g), "all are counted");
	gt_gate_destroy(&g);
}

/* sampling_stats: the share since settings changed last */
static void test_since_change(void)
{
	union gt_record r = record(GT_QUEUE_MAP, GT_NONE64, 0);
	const struct gt_gate_ring *ring;
	struct gt_gate g;

	begin(&g);
	r.ev.gpu = r.ev.ring = 0;
	for (int i = 0; i < 5; i++)
		gt_gate_pass(&g, &r, NULL, GT_NONE64);
	ring = &g.rings[0][0];
	ok(ring->seen == 5 && !ring->seen_before && !ring->recorded_before, "all from the start");
	set(&g, "filter_pid", "100");
	r.ev.pid = 200;
	gt_gate_pass(&g, &r, NULL, GT_NONE64);
	ok(ring->seen == 6 && ring->seen_before == 5 && ring->recorded_before == 5,
	   "... to a change");
	gt_gate_pass(&g, &r, NULL, GT_NONE64);
	is(ring->seen_before, 5, "the next record is no change");
	gt_gate_clear(&g);
	ok(!ring->seen && !ring->seen_before && !ring->recorded_before,
	   "after a clear, from there");
	gt_gate_destroy(&g);
}

/* What the history has no room for was recorded in vain */
static void test_no_room(void)
{
	union gt_record r = record(GT_SUBMIT, 1, 1);
	struct gt_gate g;

	begin(&g);
	gt_gate_pass(&g, &r, NULL, GT_NONE64);
	gt_gate_pass(&g, &r, NULL, GT_NONE64);
	gt_gate_no_room(&g, &r);
	ok(g.n.recorded == 1 && g.n.refused[GT_R_SHARE] == 1 && g.rings[1][3].recorded == 1,
	   "it is refused for its user's share");
	r = record(GT_PROCESS, 0, 0);
	gt_gate_pass(&g, &r, NULL, GT_NONE64);
	gt_gate_no_room(&g, &r);
	ok(g.n.recorded == 1 && g.n.refused[GT_R_SHARE] == 1 && adds_up(&g),
	   "what is no event does not count");
	gt_gate_destroy(&g);
}

/* A job that no table has cannot wait for its end */
static void test_not_held(void)
{
	struct gt_job job = { .ctx = 5, .seqno = 1, .gpu = 1, .ring = 3 };
	struct gt_gate g;

	begin(&g);
	set(&g, "sampling_mode", "threshold");
	ok(!pass(&g, GT_SUBMIT, 5, 1, &job) && !pass(&g, GT_COMPLETE, 5, 1, &job),
	   "a job that cannot be held is not recorded");
	is(g.n.lost_held, 2, "its records are lost");
	gt_gate_destroy(&g);
}

/* The share of jobs follows the load in one mode alone */
static void test_adaptive(void)
{
	struct gt_gate g;

	begin(&g);
	for (int adaptive = 0; adaptive < 2; adaptive++) {
		set(&g, "sampling_mode", adaptive ? "adaptive" : "static");
		set(&g, "sampling", "50");
		is(g.wanted.share, GT_SHARE_ALL / 2, "sampling 50 %%");
		for (uint64_t t = 10; t < 13; t++) /* a CPU that does nothing else */
			gt_gate_adapt(&g, t * 1000000000, t * 1000000000);
		if (adaptive)
			ok(g.wanted.share < GT_SHARE_ALL / 3, "what is too much is less next time");
		else
			is(g.wanted.share, GT_SHARE_ALL / 2, "whatever the load");
	}
	set(&g, "sampling_mode", "threshold");
	is(g.wanted.share, GT_SHARE_ALL, "where jobs are slow or not all are looked at");
	gt_gate_destroy(&g);
}

static void test_sums(void)
{
	struct gt_gate_counts n = { 0 };

	for (unsigned int i = 0; i < GT_NREFUSALS; i++)
		n.refused[i] = 1ull << i;
	is(gt_gate_filtered(&n),
	   1ull << GT_R_TYPE | 1ull << GT_R_LATENCY | 1ull << GT_R_EVENTS | 1ull << GT_R_RING |
		   1ull << GT_R_ENGINE | 1ull << GT_R_PID | 1ull << GT_R_UID |
		   1ull << GT_R_WATCHLIST | 1ull << GT_R_CTX,
	   "what filters refuse");
	is(gt_gate_sampled(&n), 1ull << GT_R_SAMPLING | 1ull << GT_R_THRESHOLD,
	   "what sampling leaves out");
}

int main(void)
{
	test_levels();
	test_descriptions();
	test_share();
	test_jobs_are_whole();
	test_no_job();
	test_rings_and_clear();
	test_no_ring();
	test_lone();
	test_since_change();
	test_no_room();
	test_not_held();
	test_adaptive();
	test_sums();
	gt_config_free(&conf);
	return done_testing();
}
