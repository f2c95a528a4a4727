/* SPDX-License-Identifier: GPL-2.0 */
/* GPUs, rings and queues come and go, and are described: what that changes, and where it ends. */
#include <stdlib.h>

#include "../../fs/model/internal.h"
#include "modelbed.h"

/* What changed since the last call: 1: anything, 2: which objects there are, 4: @gen */
static unsigned int changed(uint64_t gen)
{
	static uint64_t was[3];
	const uint64_t now[3] = { m->gen, m->dir_gen, gen };
	unsigned int mask = 0;

	for (int i = 0; i < 3; i++) {
		mask |= (now[i] != was[i]) << i;
		was[i] = now[i];
	}
	return mask;
}

static void check_gpus(void)
{
	struct gt_gpu *g;
	char name[24];
	bool is_new;

	begin();
	(void)changed(0);
	g = gt_model_gpu(m, "amdgpu1", &is_new);
	ok(is_new && g != gpu && g->id == 1 && changed(0) == 3, "a new GPU");
	is(gt_model_ring(m, g, "gfx", GT_ENGINE_COPY, NULL)->gpu, 1, "has rings of its own");
	(void)changed(0);
	ok(gt_model_gpu(m, "amdgpu1", &is_new) == g && !is_new && !changed(0), "is new once");
	ok(gt_model_gpu(m, "amdgpu", NULL) != gpu && gt_model_gpu(m, "amdgpu00", NULL) != gpu,
	   "names that begin alike are of others");
	for (unsigned int i = m->ngpus; i < GT_MAX_GPUS; i++) {
		snprintf(name, sizeof(name), "mock%u", i);
		gt_model_gpu(m, name, NULL);
	}
	ok(m->ngpus == GT_MAX_GPUS && !gt_model_gpu(m, "one more", &is_new) && !is_new,
	   "no more than GT_MAX_GPUS");
	ok(gt_model_gpu(m, "amdgpu1", NULL) == g, "the others are still found");
	gt_model_free(m);
}

static void check_rings(void)
{
	struct gt_ring *r;
	char name[24];
	bool is_new;

	begin();
	(void)changed(gpu->gen);
	r = gt_model_ring(m, gpu, "gfy", GT_NENGINES, &is_new);
	ok(is_new && r != ring && r->id == 2 && r->gpu == 0 && changed(gpu->gen) == 7,
	   "a new ring");
	is(r->engine, GT_ENGINE_UNKNOWN, "an engine that is none is guessed");
	ok(gt_model_ring(m, gpu, "gfy", GT_ENGINE_COPY, &is_new) == r && !is_new &&
		   !changed(gpu->gen) && r->engine == GT_ENGINE_UNKNOWN,
	   "is new once");
	is(gt_model_ring(m, gpu, "x", GT_NENGINES - 1, NULL)->engine, GT_NENGINES - 1,
	   "the last engine is one");
	is_str(gt_engine_name(GT_NENGINES), "UNKNOWN", "the next is not");
	for (unsigned int i = gpu->nrings; i < GT_MAX_RINGS; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		gt_model_ring(m, gpu, name, GT_ENGINE_COPY, NULL);
	}
	ok(gpu->nrings == GT_MAX_RINGS && !gt_model_ring(m, gpu, "more", GT_ENGINE_COPY, &is_new) &&
		   !is_new,
	   "no more than GT_MAX_RINGS");
	gt_model_free(m);
}

static void check_gone(void)
{
	begin();
	job(T0, GT_SUBMIT, 1, 500);
	job(T0 + 1, GT_COMMIT, 1, 0);
	(void)changed(gpu->gen);
	gt_model_gpu_back(m, gpu);
	ok(!changed(gpu->gen), "a GPU that is there does not come back");
	gt_model_gpu_gone(m, gpu);
	ok(gpu->gone && gpu->life == 1 && changed(gpu->gen) == 7, "it goes");
	ok(ring->after_loss && ring1->after_loss && !ring->hw_jobs,
	   "what its rings did is not known");
	gt_model_gpu_gone(m, gpu);
	ok(gpu->life == 1 && !changed(gpu->gen), "once");
	gt_model_gpu_back(m, gpu);
	ok(!gpu->gone && gpu->life == 1 && changed(gpu->gen) == 7, "and comes back");
	gt_model_free(m);
}

static void check_readings(void)
{
	static struct gt_gauge gauge[GT_GAUGES_MAX + 1];
	struct gt_reading r = { .gpu = 0, .at = 5, .has = 3, .n = 2, .gauge = gauge };

	begin();
	memset(r.power, 'p', sizeof(r.power));
	memset(gauge, 1, sizeof(gauge));
	(void)changed(gpu->gen);
	ok(gt_model_reading(m, &r) && changed(gpu->gen) == 7, "a first reading");
	ok(gpu->gauges->at == 5 && gpu->gauges->has == 3 && gpu->gauges->n == 2 &&
		   !memcmp(gpu->gauges->g, gauge, 2 * sizeof(*gauge)) &&
		   strlen(gpu->gauges->power) == sizeof(r.power) - 1,
	   "is kept");
	r.at = 6;
	ok(gt_model_reading(m, &r) && changed(gpu->gen) == 5 && gpu->gauges->at == 6,
	   "the next shows the same files");
	r.has = 1;
	ok(gt_model_reading(m, &r) && changed(gpu->gen) == 7 && gpu->gauges->has == 1,
	   "one with fewer values fewer");
	r.n = GT_GAUGES_MAX;
	ok(gt_model_reading(m, &r) && gpu->gauges->n == GT_GAUGES_MAX, "as many as there may be");
	r.n++;
	(void)changed(gpu->gen);
	ok(!gt_model_reading(m, &r) && !changed(gpu->gen) && gpu->gauges->n == GT_GAUGES_MAX,
	   "more are refused");
	r.n = 1;
	r.gpu = 1;
	ok(!gt_model_reading(m, &r) && !changed(gpu->gen), "as are those of no GPU");
	gt_model_free(m);
}

/* Work that programs give to the hardware themselves is of no ring that a driver has jobs on */
static const char *const work_rings[GT_WORK_RINGS] = { "compute_queues", "copies" };

static void check_work(void)
{
	struct gt_ring *r[GT_WORK_RINGS];
	uint64_t ts = T0;

	begin();
	ok(!gt_ring_take_work(gpu, ring), "a ring of another name is none for work");
	for (int i = 0; i < GT_WORK_RINGS; i++) {
		r[i] = gt_model_ring(m, gpu, work_rings[i], GT_ENGINE_UNKNOWN, NULL);
		ok(gt_ring_take_work(gpu, r[i]) && r[i]->work && gpu->work[i] == r[i],
		   "one of its name is");
		ok(gt_ring_take_work(gpu, r[i]), "and stays it");
	}
	gt_model_free(m);
	for (unsigned int type = 0; type < GT_NTYPES; type++) {
		if (type != GT_SUBMIT && type != GT_COMMIT && type != GT_START &&
		    type != GT_COMPLETE)
			continue;
		begin();
		r[0] = gt_model_ring(m, gpu, work_rings[0], GT_ENGINE_UNKNOWN, NULL);
		event(ts++, (enum gt_type)type);
		rec.ev.ring = r[0]->id;
		rec.ev.ctx = 9;
		rec.ev.seqno = 1;
		fold();
		ok(!gt_ring_take_work(gpu, r[0]) && !r[0]->work && !gpu->work[0],
		   "not one with jobs, of which event %u tells", type);
		gt_model_free(m);
	}
}

/* What was lost somewhere may have been of a ring that is yet to be seen */
static void check_lost_before(void)
{
	begin();
	ok(!gt_model_ring(m, gpu, "a", GT_ENGINE_COPY, NULL)->after_loss, "nothing was lost");
	event(T0, GT_LOST)->lost.gpu = GT_NONE16;
	rec.lost.count = 5;
	rec.lost.cause = GT_LOST_SOURCE;
	rec.lost.until = T0 + 20;
	fold();
	ok(gt_model_ring(m, gpu, "b", GT_ENGINE_COPY, NULL)->after_loss &&
		   gt_model_ring(m, gpu, "b", GT_ENGINE_COPY, NULL)->loss_until == T0 + 20,
	   "a ring that is new after a loss is affected, as long as others");
	gt_model_free(m);
	begin();
	event(T0, GT_COMPLETE)->ev.gpu = GT_NONE16;
	fold();
	ok(ring->after_loss && gt_model_ring(m, gpu, "c", GT_ENGINE_COPY, NULL)->after_loss,
	   "as after an end that may have been of any");
	gt_model_free(m);
}

static void check_clear(void)
{
	begin();
	(void)changed(ring->gen);
	gt_model_clear(m);
	is(changed(ring->gen) & 5, 5, "who looks at a ring, or at all, sees a clear");
	(void)changed(gpu->gen);
	gt_model_clear(m);
	ok(changed(gpu->gen) & 4, "and who looks at a GPU");
	gt_model_free(m);
}

/* Queues --------------------------------------------------------------------------------------- */

static struct gt_queue *queue_event(uint64_t ts, enum gt_type type, uint32_t id, uint32_t pid)
{
	event(ts, type)->ev.queue = id;
	rec.ev.pid = pid;
	fold();
	return gt_model_queue(m, 0, id);
}

static struct gt_queue *described(uint64_t ts, uint32_t id, uint32_t pid, uint16_t flags)
{
	event(ts, GT_QUEUE)->queue.queue = id;
	rec.queue.gpu = 0;
	rec.queue.pid = pid;
	rec.queue.flags = flags;
	fold();
	return gt_model_queue(m, 0, id);
}

static void check_known(void)
{
	struct gt_queue *q;

	begin();
	(void)changed(0);
	q = queue_event(T0, GT_QUEUE_MAP, 5, GT_NONE32);
	is(changed(0), 3, "a new queue");
	ok(q->desc.type == GT_QUEUE && q->desc.gpu == 0 && q->desc.queue == 5 && q->desc.ts == T0,
	   "it is described by its number");
	ok(q->desc.uid == GT_NONE32 && q->desc.ctx == GT_NONE64 && q->desc.ring == GT_NONE16,
	   "else nothing is known");
	for (uint32_t i = 1; i < 3; i++) {
		event(T0 + i, GT_QUEUE_MAP)->ev.queue = 5;
		rec.ev.pid = 500 + i;
		rec.ev.uid = 1000 + i;
		rec.ev.ctx = 70 + i;
		rec.ev.ring = (uint16_t)(i - 1);
		fold();
		ok(q->desc.pid == 501 && q->desc.uid == 1001 && q->desc.ctx == 71 &&
			   q->desc.ring == 0,
		   "what is reported first stays");
	}
	for (int i = 0; i < 2; i++) {
		(void)changed(i ? q->gen : gpu->gen);
		described(T0 + 5, 5, 501, 0);
		is(changed(i ? q->gen : gpu->gen), 5, "what describes it is a change of %s",
		   i ? "it" : "its GPU");
	}
	ok(!gt_queue_get(m, (uint16_t)m->ngpus, 5, 0, T0) && !gt_queue_get(m, 0, GT_NONE32, 0, T0),
	   "not found without a GPU or a number");
	event(T0 + 6, GT_QUEUE_MAP)->ev.queue = 5;
	rec.ev.gpu = (uint16_t)m->ngpus;
	fold();
	is(m->nqueues, 1, "nor does an event make one");
	gt_model_free(m);
}

static void check_owner(void)
{
	struct gt_queue *q;
	struct gt_proc *p;

	begin();
	q = described(T0, 5, 500, GT_F_END_REPORTED);
	queue_event(T0 + SEC, GT_QUEUE_MAP, 5, 500);
	p = gt_model_proc(m, 500);
	gt_model_exit(m, p->slot);
	gt_model_reap(m);
	is(q->state, GT_QS_MAPPED,
	   "where its end is reported a queue lives on without its process");
	described(T0 + SEC, 5, 500, 0);
	q->last_ts = p->died + 1;
	gt_model_reap(m);
	is(q->state, GT_QS_MAPPED, "as one does with events behind its end");
	q->last_ts = p->died;
	(void)changed(gpu->gen);
	gt_model_reap(m);
	ok(q->state == GT_QS_DESTROYED && changed(gpu->gen) == 5, "others end with it");
	gt_model_free(m);
}

static unsigned int alive(void)
{
	return m->nqueues - m->free_queues;
}

static void check_forgotten(void)
{
	struct gt_queue *q[3];
	uint64_t serial;

	begin();
	for (uint32_t i = 0; i < 3; i++) {
		q[i] = queue_event(T0 + 1, GT_QUEUE_CREATE, 5 + i, GT_NONE32);
		q[i]->worked = true;
		queue_event(T0 + 5 * SEC, GT_QUEUE_DESTROY, 5 + i, GT_NONE32);
	}
	serial = q[1]->serial;
	queue_event(T0 + 5 * SEC, GT_QUEUE_CREATE, 6, GT_NONE32);
	ok(q[1]->state == GT_QS_CREATED && q[1]->serial != serial, "one comes again, as another");
	queue_event(T0 + 5 * SEC, GT_QUEUE_DESTROY, 6, GT_NONE32);
	(void)changed(0);
	gt_model_advance(m, T0 + 65 * SEC - 1);
	gt_model_reap(m);
	is(alive(), 3, "they stay for a minute");
	(void)changed(0);
	gt_model_advance(m, T0 + 65 * SEC);
	gt_model_reap(m);
	is(alive(), 0, "then all go");
	is(changed(0) & 2, 2, "which is seen");
	for (uint32_t i = 0; i < 3; i++)
		q[i] = described(T0 + 66 * SEC, 20 + i, GT_NONE32, 0);
	ok(m->nqueues == 3 && q[0] != q[1] && q[1] != q[2] && q[0] != q[2],
	   "others have their places");
	for (uint32_t i = 0; i < 3; i++)
		ok(q[i]->id == 20 + i && q[i]->state == GT_QS_CREATED && !q[i]->created &&
			   !q[i]->destroyed && !q[i]->worked && !q[i]->depth_set,
		   "and nothing of theirs");
	gt_model_free(m);
}

static const struct gt_queue_hw *hw_of(const struct gt_queue *q)
{
	return gt_model_queue_hw(m, q);
}

/* Where queues are on the hardware is read off of all of them at once */
static void check_hardware(void)
{
	struct gt_queue_hw hw[4];
	struct gt_queue *q, *other;

	begin();
	gt_model_gpu(m, "amdgpu1", NULL);
	q = queue_event(T0, GT_QUEUE_CREATE, 5, 500);
	other = queue_event(T0, GT_QUEUE_CREATE, 6, 501);
	event(T0 + 1, GT_QUEUE)->queue.queue = 6;
	rec.queue.gpu = 0;
	rec.queue.pid = 501;
	rec.queue.ctx = 0x7000;
	fold();
	ok(!hw_of(q), "nobody has looked yet");
	memset(hw, 0xff, sizeof(hw));
	hw[0].gpu = hw[1].gpu = hw[2].gpu = 0;
	hw[0].queue = 5;
	hw[0].base = 0x7000;
	hw[0].rptr = 77;
	hw[1].queue = 9;
	hw[3].gpu = 1;
	hw[3].queue = 5;
	(void)changed(0);
	gt_model_queues_hw(m, hw, 4);
	is(changed(0), 3, "that it can be known is a change of what there is");
	ok(hw_of(q) && hw_of(q)->rptr == 77 && !hw_of(other), "a queue by its number");
	gt_model_queues_hw(m, hw, 1);
	is(changed(0), 1, "the next look changes what is shown");
	hw[0].queue = GT_NONE32;
	hw[0].pid = 501;
	gt_model_queues_hw(m, hw, 1);
	ok(!hw_of(q), "what is not seen any more is not known");
	ok(hw_of(other) && hw_of(other)->rptr == 77, "a queue by its place in its process");
	hw[0].base = 0x7001;
	gt_model_queues_hw(m, hw, 1);
	ok(!hw_of(other), "which has to be that");
	hw[0].base = 0x7000;
	hw[0].gpu = 1;
	gt_model_queues_hw(m, hw, 1);
	ok(!hw_of(other), "on its own GPU");
	hw[0].gpu = 0;
	hw[0].base = GT_NONE64;
	gt_model_queues_hw(m, hw, 1);
	ok(!hw_of(other), "and known");
	hw[0].queue = 6;
	gt_model_queues_hw(m, hw, 1);
	ok(hw_of(other), "it is there again");
	queue_event(T0 + 2, GT_QUEUE_DESTROY, 6, 501);
	ok(!hw_of(other), "until it ends");
	gt_model_queues_hw(m, hw, 1);
	ok(!hw_of(other), "for good");
	queue_event(T0 + 3, GT_QUEUE_CREATE, 6, 501);
	ok(!hw_of(other), "also for the next of its number");
	gt_model_free(m);
}

static void check_share(void)
{
	struct gt_limits limits = { 64, 600 * SEC, 16, 60 * SEC };
	uint16_t account;

	m = gt_model_new(&limits, true);
	gt_model_gpu(m, "amdgpu0", NULL);
	for (uint32_t i = 0; i < 2; i++) {
		event(gt_model_now(m), GT_QUEUE_CREATE)->ev.queue = i;
		rec.ev.uid = 1001;
		fold();
	}
	event(gt_model_now(m), GT_QUEUE_DESTROY)->ev.queue = 0;
	fold();
	account = gt_account(m, 1001);
	ok(gt_share_has(account, GT_SH_QUEUES, GT_USER_QUEUES - 1, GT_MAX_QUEUES) &&
		   !gt_share_has(account, GT_SH_QUEUES, GT_USER_QUEUES, GT_MAX_QUEUES),
	   "a queue that lives is of its user's share");
	gt_model_free(m);
	ok(gt_share_has(account, GT_SH_QUEUES, GT_USER_QUEUES, GT_MAX_QUEUES) &&
		   !gt_share_has(account, GT_SH_QUEUES, GT_USER_QUEUES + 1, GT_MAX_QUEUES),
	   "all is given back, once");
}

int main(void)
{
	check_gpus();
	check_rings();
	check_gone();
	check_readings();
	check_work();
	check_lost_before();
	check_clear();
	check_known();
	check_owner();
	check_forgotten();
	check_hardware();
	check_share();
	return done_testing();
}
