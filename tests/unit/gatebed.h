/* SPDX-License-Identifier: GPL-2.0 */
/* A gate with the real model before it, as the pipeline has them, for tests. Include it once. */
#ifndef GT_GATEBED_H
#define GT_GATEBED_H

#include <stdlib.h>

#include "../../backend/backend.h"
#include "../../fs/gate/gate.h"
#include "../../fs/model/model.h"
#include "../lib/tap.h"

#define LOG_MAX 4000000

static struct gt_config conf;
static struct gt_gate gate;
static struct gt_model *model;

/* What was recorded, in that order */
static struct {
	union gt_record *r;
	size_t n;
} out;

static inline void set(const char *key, const char *value)
{
	char err[256];

	if (gt_config_set(&conf, key, value, err, sizeof(err)))
		ok(false, "%s = %s: %s", key, value, err);
	gt_gate_configure(&gate, &conf);
}

static inline void set_n(const char *key, uint64_t n)
{
	char value[24];

	snprintf(value, sizeof(value), "%llu", (unsigned long long)n);
	set(key, value);
}

/* Two GPUs: amdgpu0 with gfx_0.0.0, comp_1.0.0 and sdma0, and i915-0 with rcs0 */
static inline void begin_with(unsigned int max_jobs)
{
	const struct gt_limits limits = { max_jobs, 600000000000ull, 1024, 60000000000ull };
	struct gt_gpu *g;

	model = gt_model_new(&limits, false);
	g = gt_model_gpu(model, "amdgpu0", NULL);
	gt_model_ring(model, g, "gfx_0.0.0", GT_ENGINE_GRAPHICS, NULL);
	gt_model_ring(model, g, "comp_1.0.0", GT_ENGINE_COMPUTE, NULL);
	gt_model_ring(model, g, "sdma0", GT_ENGINE_COPY, NULL);
	g = gt_model_gpu(model, "i915-0", NULL);
	gt_model_ring(model, g, "rcs0", GT_ENGINE_GRAPHICS, NULL);
	gt_config_init(&conf);
	gt_gate_init(&gate, model);
	gt_gate_configure(&gate, &conf);
	if (!out.r)
		out.r = malloc(LOG_MAX * sizeof(*out.r));
	out.n = 0;
}

static inline void begin(void)
{
	begin_with(65536);
}

static inline void end(void)
{
	gt_gate_destroy(&gate);
	gt_config_free(&conf);
	gt_model_free(model);
}

static inline bool adds_up(void)
{
	uint64_t sum = gate.n.recorded + gate.n.lost_source + gate.n.lost_held;

	for (unsigned int i = 0; i < GT_NREFUSALS; i++)
		sum += gate.n.refused[i];
	return gate.n.seen == sum && !gate.n.refused[GT_R_NONE];
}

static inline void keep(const union gt_record *r)
{
	if (out.n < LOG_MAX)
		out.r[out.n++] = *r;
}

/* One event, through the model and the gate as fs/pipeline.c does it; was it recorded? */
static inline bool event(union gt_record *r)
{
	const union gt_record *held;
	struct gt_folded f;
	bool pass;

	gt_model_event(model, r, &f);
	pass = gt_gate_pass(&gate, r, f.job, f.finished ? f.fin.total : GT_NONE64);
	while ((held = gt_gate_held(&gate)))
		keep(held);
	if (pass)
		keep(r);
	gt_model_done(model, &f);
	if (!adds_up())
		ok(false, "the counters do not add up after type %d", r->ev.type);
	return pass;
}

/** struct job - a job of a test: @gpu and @ring are numbers */
struct job {
	uint16_t gpu, ring;
	uint32_t pid, uid;
	uint64_t ctx, seqno;
};

static inline bool tell(const struct job *j, uint64_t ts, enum gt_type type)
{
	union gt_record r;

	gt_record_init(&r, ts, type);
	r.ev.gpu = j->gpu;
	r.ev.ring = j->ring;
	r.ev.ctx = j->ctx;
	r.ev.seqno = j->seqno;
	if (type == GT_SUBMIT) {
		r.ev.pid = r.ev.tid = j->pid;
		r.ev.uid = j->uid;
	}
	return event(&r);
}

/* Its whole life, from @ts on and of length @total; how many of its three records were recorded */
static inline unsigned int live(const struct job *j, uint64_t ts, uint64_t total)
{
	size_t before = out.n;

	tell(j, ts, GT_SUBMIT);
	tell(j, ts + total / 2, GT_COMMIT);
	tell(j, ts + total, GT_COMPLETE);
	return (unsigned int)(out.n - before);
}

#endif
