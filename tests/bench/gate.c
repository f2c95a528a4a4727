/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the gate alone costs an event: jobs of three records, 4096 in flight, records from memory.
 *`all`: every filter, watch list, sampling and the rate limit are on, with full lists that hold
 * what comes; `refused`: the same, of jobs that sampling leaves out; `held`: threshold sampling,
 * which keeps half of the jobs; `plain`: as without a configuration. Beside it the floor: the same
 * loop, which looks at the job and counts.
 *
 *	gate [ROUNDS]		prints `bench NAME VALUE UNIT`; medians
 */
#include <string.h>

#include "../../backend/backend.h"
#include "../../fs/gate/gate.h"
#include "../../fs/model/model.h"
#define NAME "gate"
#include "bench.h"

#define IN_FLIGHT 4096
#define EVENTS	  (3 * 65536) /* 12 MiB of records */
#define RINGS	  16
#define PROCS	  64

static union gt_record record[EVENTS] __attribute__((aligned(64)));
static uint32_t job_of[EVENTS];
static struct gt_model *model;

/* Event @i is of job (i / 3 - how far its step is behind); every second job is slow */
static void fill(void)
{
	static const uint8_t types[] = { GT_SUBMIT, GT_COMMIT, GT_COMPLETE };
	static const uint32_t behind[] = { 0, IN_FLIGHT / 2, IN_FLIGHT - 1 };

	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t k = (i / 3 + EVENTS / 3 - behind[i % 3]) % (EVENTS / 3);
		union gt_record *r = &record[i];

		gt_record_init(r, 1000000000ull + i * 1000ull, types[i % 3]);
		r->ev.gpu = 0;
		r->ev.ring = k % RINGS;
		r->ev.ctx = 1 + (k * 2654435761u >> 16) % 64;
		r->ev.seqno = k;
		r->ev.pid = r->ev.tid = 1000 + (k * 2246822519u >> 16) % PROCS;
		r->ev.uid = 2000 + (k * 3266489917u >> 16) % 64;
		job_of[i] = k % IN_FLIGHT;
	}
}

static void make_model(void)
{
	const struct gt_limits limits = { IN_FLIGHT, 600000000000ull, 1024, 60000000000ull };
	char name[16];
	struct gt_gpu *g;

	model = gt_model_new(&limits, false);
	expect(model, "no memory");
	g = gt_model_gpu(model, "bench0", NULL);
	for (int i = 0; i < RINGS; i++) {
		snprintf(name, sizeof(name), "gfx_%d", i);
		gt_model_ring(model, g, name, GT_ENGINE_GRAPHICS, NULL);
	}
}

/* What the model does to a job before the gate sees its event */
static struct gt_job *job(uint32_t i)
{
	struct gt_job *j = &model->jobs[job_of[i]];

	if (record[i].ev.type == GT_SUBMIT) {
		j->recorded = 0;
		j->live = 1;
		j->seen = record[i].ev.ts;
	}
	return j;
}

/* Time goes on: no round is at the time of the one before */
static void next_round(void)
{
	for (uint32_t i = 0; i < EVENTS; i++)
		record[i].ev.ts += EVENTS * 1000ull;
}

static double floor_round(void)
{
	uint64_t t0 = now_ns(), n = 0;

	for (uint32_t i = 0; i < EVENTS; i++) {
		struct gt_job *j = job(i);

		n += j->recorded == 0;
		__asm__ volatile("" : "+r"(n) : : "memory");
	}
	sink = n;
	return (double)(now_ns() - t0) / EVENTS;
}

static double gate_round(struct gt_gate *g)
{
	uint64_t t0 = now_ns();

	for (uint32_t i = 0; i < EVENTS; i++) {
		uint64_t total = record[i].ev.type == GT_COMPLETE ? (record[i].ev.seqno & 1) * 1000
								  : GT_NONE64;

		sink = gt_gate_pass(g, &record[i], job(i), total);
		while (gt_gate_held(g))
			;
	}
	return (double)(now_ns() - t0) / EVENTS;
}

static void set(struct gt_config *c, const char *key, const char *value)
{
	char err[256];

	if (gt_config_set(c, key, value, err, sizeof(err)))
		expect(false, err);
}

static void set_full(struct gt_config *c, const char *key, unsigned int from)
{
	char list[1024] = "";
	size_t n = 0;

	for (unsigned int i = 0; i < GT_LIST_MAX; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%u", i ? "," : "", from + i);
	set(c, key, list);
}

static void everything(struct gt_config *c)
{
	set(c, "filter_enabled", "1");
	set_full(c, "filter_pid", 1000);
	set_full(c, "filter_uid", 2000);
	set_full(c, "watchlist_ctx", 1);
	set(c, "filter_ring", "bench0/gfx_*");
	set(c, "filter_engine", "GRAPHICS");
	set(c, "filter_events", "0xffffffff");
	set(c, "watchlist", "!200");
	set(c, "sampling", "99");
	set(c, "rate_limit_mode", "token_bucket");
	set(c, "rate_limit", "1000000000");
	set(c, "rate_limit_burst", "1000000");
}

static void measure(const char *name, const struct gt_config *c, int rounds)
{
	double cost[MAX_ROUNDS], base[MAX_ROUNDS];
	struct gt_gate g;

	gt_gate_init(&g, model);
	gt_gate_configure(&g, c);
	gate_round(&g);
	for (int k = 0; k < rounds; k++) {
		next_round();
		base[k] = floor_round();
		cost[k] = gate_round(&g);
	}
	expect(g.n.seen == (uint64_t)(rounds + 1) * EVENTS, "events are missing");
	printf("bench gate_%s %.1f ns\n", name, median(cost, rounds));
	printf("bench gate_%s_floor %.1f ns\n", name, median(base, rounds));
	printf("# %s: %.1f %% recorded\n", name, 100.0 * (double)g.n.recorded / (double)g.n.seen);
	gt_gate_destroy(&g);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 15;
	struct gt_config c;

	expect(rounds > 0 && rounds <= MAX_ROUNDS, "1 to 101 rounds");
	pin();
	fill();
	make_model();
	gt_config_init(&c);
	measure("plain", &c, rounds);
	everything(&c);
	measure("all", &c, rounds);
	set(&c, "sampling", "1");
	measure("refused", &c, rounds);
	set(&c, "sampling_mode", "threshold");
	set(&c, "sampling_threshold", "500");
	measure("held", &c, rounds);
	gt_config_free(&c);
	gt_model_free(model);
	return 0;
}
