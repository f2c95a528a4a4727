/* SPDX-License-Identifier: GPL-2.0 */
/* A model with a GPU of two rings, and events for it. */
#ifndef GT_MODELBED_H
#define GT_MODELBED_H

#include "../../backend/backend.h"
#include "../../fs/model/model.h"
#include "../lib/tap.h"

#define SEC 1000000000ULL
#define MS  1000000ULL
#define T0  (100 * SEC)

static struct gt_model *m;
static struct gt_gpu *gpu;
static struct gt_ring *ring, *ring1;
static struct gt_folded folded;
static union gt_record rec;

static inline void begin_with(unsigned int max_jobs, unsigned int max_procs)
{
	struct gt_limits limits = { max_jobs, 600 * SEC, max_procs, 60 * SEC };

	m = gt_model_new(&limits, false);
	gpu = gt_model_gpu(m, "amdgpu0", NULL);
	ring = gt_model_ring(m, gpu, "gfx", GT_ENGINE_UNKNOWN, NULL);
	ring1 = gt_model_ring(m, gpu, "sdma0", GT_ENGINE_UNKNOWN, NULL);
}

static inline void begin(void)
{
	begin_with(64, 16);
}

static inline union gt_record *event(uint64_t ts, enum gt_type type)
{
	gt_record_init(&rec, ts, type);
	rec.ev.gpu = 0;
	return &rec;
}

static inline void fold(void)
{
	gt_model_event(m, &rec, &folded);
	gt_model_recorded(m, &rec);
	gt_model_done(m, &folded);
}

/* One event of job @seqno of ring 0; @pid 0: not reported */
static inline void job(uint64_t ts, enum gt_type type, uint64_t seqno, uint32_t pid)
{
	event(ts, type);
	rec.ev.ring = 0;
	rec.ev.ctx = 9;
	rec.ev.seqno = seqno;
	if (pid)
		rec.ev.pid = pid;
	fold();
}

static inline uint64_t sum(const struct gt_ring *r, enum gt_stage_id stage)
{
	struct gt_summary s;

	gt_stage_summary(&r->stage[stage], m->now, &s, NULL);
	return s.sum;
}

static inline uint64_t count(const struct gt_ring *r, enum gt_stage_id stage)
{
	return gt_stage_count(&r->stage[stage]);
}

#endif
