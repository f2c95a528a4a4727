/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one event costs from memory: matched, folded into every statistic, gated and appended to the
 * log, as the pipeline does it, with 4096 jobs in flight. Records come in pieces of 64 KiB, as
 * sources deliver them. Beside it the floor: a look-up in a table of 4096 and one counter, over the
 * same records, in the same run, on the same CPU. `local`: every process uses one ring of 16;
 *`spread`: each of the 64 uses all of them.
 *
 *	ingest [ROUNDS]		prints `bench NAME VALUE UNIT` and `ratio NAME X`; medians
 */
#include <string.h>

#include "../../backend/backend.h"
#include "../../fs/gate/gate.h"
#include "../../fs/model/model.h"
#include "../../fs/stream/stream.h"
#define NAME "ingest"
#include "bench.h"

#define RINGS	  16
#define PROCS	  64
#define IN_FLIGHT 4096
#define PIECE	  1024 /* records: 64 KiB */
#define PIECES	  600  /* of a round */
#define STEP_NS	  1000 /* between events: a million a second */

static uint32_t scatter(uint32_t x)
{
	x *= 0x9e3779b1u;
	return x ^ x >> 15;
}

/* Event @type of job number @job */
static void put(union gt_record *r, uint64_t ts, enum gt_type type, uint32_t job, bool spread)
{
	uint32_t ring = job % RINGS;

	gt_record_init(r, ts, type);
	r->ev.cpu = 0;
	r->ev.gpu = 0;
	r->ev.ring = (uint16_t)ring;
	r->ev.ctx = 100 + ring;
	r->ev.seqno = job / RINGS + 1;
	if (type != GT_SUBMIT)
		return;
	/* spread: every process on every ring; else four processes a ring */
	r->ev.pid = 1000 + (spread ? scatter(job) % PROCS : ring * 4 + scatter(job) % 4);
	r->ev.tid = r->ev.pid;
	r->ev.uid = 1000;
}

/**
 * struct source - an endless stream of jobs: each is handed over when half as many as are in flight
 *	were submitted after it, and ends when all were
 */
struct source {
	uint64_t ts;
	uint32_t job;	  /* next to be submitted */
	unsigned int due; /* what comes next: 0 SUBMIT, 1 COMMIT, 2 COMPLETE */
	bool spread;
};

static bool source_next(struct source *s, union gt_record *r)
{
	static const enum gt_type types[] = { GT_SUBMIT, GT_COMMIT, GT_COMPLETE };
	static const uint32_t behind[] = { 0, IN_FLIGHT / 2, IN_FLIGHT };
	unsigned int due = s->due;
	uint32_t job = s->job;

	s->due = (due + 1) % 3;
	s->job += due == 2;
	if (job < behind[due])
		return false;
	s->ts += STEP_NS + scatter(job) % 256;
	put(r, s->ts, types[due], job - behind[due], s->spread);
	return true;
}

static void fill(struct source *s, union gt_record *r)
{
	for (size_t n = 0; n < PIECE;)
		n += source_next(s, &r[n]);
}

static void floor_piece(const union gt_record *r)
{
	static struct {
		uint64_t ctx, seqno, count;
	} table[4096];

	for (size_t i = 0; i < PIECE; i++) {
		uint64_t h = (r[i].ev.ctx * 0x9e3779b97f4a7c15ULL ^ r[i].ev.seqno) *
			     0xbf58476d1ce4e5b9ULL;
		size_t at = h >> 52;

		if (table[at].ctx != r[i].ev.ctx || table[at].seqno != r[i].ev.seqno) {
			table[at].ctx = r[i].ev.ctx;
			table[at].seqno = r[i].ev.seqno;
		}
		table[at].count++;
	}
	sink = table[7].count;
}

static struct gt_model *model_made(void)
{
	struct gt_limits limits = { 65536, 600000000000ULL, 16384, 60000000000ULL };
	struct gt_model *m = gt_model_new(&limits, false);
	struct gt_gpu *g = m ? gt_model_gpu(m, "bench0", NULL) : NULL;
	char name[16];

	for (int i = 0; g && i < RINGS; i++) {
		snprintf(name, sizeof(name), "gfx_%d", i);
		gt_model_ring(m, g, name, GT_ENGINE_UNKNOWN, NULL);
	}
	return m;
}

static void model_piece(struct gt_model *m, union gt_record *r)
{
	struct gt_folded f;
	GT_MODEL_LOCK(m);

	for (size_t i = 0; i < PIECE + GT_FETCH_AHEAD; i++) {
		if (i < PIECE)
			gt_model_fetch(m, &r[i]);
		if (i < GT_FETCH_AHEAD)
			continue;
		gt_model_event(m, &r[i - GT_FETCH_AHEAD], &f);
		gt_model_done(m, &f);
	}
}

/* What fs/pipeline.c does with one record */
static void ingest_one(struct gt_model *m, struct gt_gate *gate, struct gt_log *log,
		       union gt_record *r)
{
	struct gt_folded f;

	gt_model_event(m, r, &f);
	if (gt_gate_pass(gate, r, f.job, f.finished ? f.fin.total : GT_NONE64)) {
		gt_log_append(log, r);
		gt_model_recorded(m, r);
		if (f.finished)
			gt_log_finished(log, &f.fin);
	}
	gt_model_done(m, &f);
}

static void ingest_piece(struct gt_model *m, struct gt_gate *gate, struct gt_log *log,
			 union gt_record *r)
{
	GT_MODEL_LOCK(m);

	for (size_t i = 0; i < PIECE + GT_FETCH_AHEAD; i++) {
		if (i < PIECE)
			gt_model_fetch(m, &r[i]);
		if (i >= GT_FETCH_AHEAD)
			ingest_one(m, gate, log, &r[i - GT_FETCH_AHEAD]);
	}
}

/**
 * struct setup - one model, the rest of the pipeline if @log, and the stream that feeds it
 */
struct setup {
	struct gt_model *model;
	struct gt_gate gate;
	struct gt_log *log;
	struct source source;
};

/* Both take turns piece by piece, so that they see the same machine; ns an event of each */
static void round_of(struct setup *s, double *base, double *cost)
{
	static union gt_record r[PIECE] __attribute__((aligned(64)));
	uint64_t t0, t1, t2, sum[2] = { 0 };

	for (int i = 0; i < PIECES; i++) {
		fill(&s->source, r);
		t0 = now_ns();
		floor_piece(r);
		t1 = now_ns();
		if (s->log)
			ingest_piece(s->model, &s->gate, s->log, r);
		else
			model_piece(s->model, r);
		t2 = now_ns();
		sum[0] += t1 - t0;
		sum[1] += t2 - t1;
	}
	*base = (double)sum[0] / (PIECES * PIECE);
	*cost = (double)sum[1] / (PIECES * PIECE);
}

static void check(const struct setup *s)
{
	const struct gt_model *m = s->model;

	expect(!m->counts.begin_unseen && !m->counts.dropped_table_full && !m->prings_refused,
	       "jobs are missing");
	expect(m->njobs >= IN_FLIGHT - 1 && m->njobs <= IN_FLIGHT + 1, "not 4096 jobs in flight");
	expect(m->counts.completed > IN_FLIGHT, "no job ended");
	expect(s->gate.n.recorded == s->gate.n.seen, "records were refused");
}

static void measure(bool spread, bool whole, int rounds)
{
	const char *how = spread ? "spread" : "local", *what = whole ? "" : "_model";
	struct setup s = { .source = { .ts = 1000000000ULL, .spread = spread } };
	double base[MAX_ROUNDS], cost[MAX_ROUNDS];

	s.model = model_made();
	s.log = whole ? gt_log_new(64U << 20, false) : NULL;
	expect(s.model && (s.log || !whole), "no memory");
	gt_gate_init(&s.gate, s.model);
	for (int k = 0; k < 3; k++) /* memory is touched for the first time */
		round_of(&s, &base[0], &cost[0]);
	for (int k = 0; k < rounds; k++)
		round_of(&s, &base[k], &cost[k]);
	check(&s);
	printf("bench ingest_%s%s %.1f ns\n", how, what, median(cost, rounds));
	if (whole) {
		printf("bench ingest_%s_floor %.1f ns\n", how, median(base, rounds));
		printf("ratio ingest_%s_to_floor %.2f\n", how,
		       median(cost, rounds) / median(base, rounds));
	}
	gt_log_free(s.log);
	gt_gate_destroy(&s.gate);
	gt_model_free(s.model);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 15;

	expect(rounds > 0 && rounds <= MAX_ROUNDS, "1 to 101 rounds");
	pin();
	for (int i = 0; i < 4; i++)
		measure(i & 2, i & 1, rounds);
	return 0;
}
