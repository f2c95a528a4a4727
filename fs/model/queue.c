/* SPDX-License-Identifier: GPL-2.0 */
/* Queues: by GPU and id; their state follows QUEUE_* events, what they are follows QUEUE records.
 */
#include <string.h>

#include "internal.h"

#define REAP_PIECE 1024

static uint64_t queue_key(uint16_t gpu, uint32_t id)
{
	return (uint64_t)gpu << 32 | id;
}

struct gt_queue *gt_model_queue(struct gt_model *m, uint16_t gpu, uint32_t id)
{
	uint32_t i = gt_map_get(&m->priv->queues, queue_key(gpu, id));

	return i == GT_NONE32 ? NULL : m->queues[i];
}

static void desc_unknown(struct gt_queue *q, uint64_t ts)
{
	memset(&q->desc, 0xff, sizeof(q->desc));
	q->desc.ts = ts;
	q->desc.type = GT_QUEUE;
	q->desc.flags = 0;
	q->desc.gpu = q->gpu;
	q->desc.queue = q->id;
}

void gt_queue_clear(struct gt_queue *q, uint64_t now)
{
	memset(&q->counts, 0, sizeof(q->counts));
	gt_stages_reset(q->stage);
	gt_depth_reset(&q->depth, now);
	q->gen++;
}

/* A free slot with nothing in it, or a new one; NULL if there are too many queues. */
static struct gt_queue *take_slot(struct gt_model *m, uint32_t *slot)
{
	struct gt_queue *q = NULL;

	if (m->priv->free_queues) {
		*slot = m->priv->free_queues - 1;
		q = m->queues[*slot];
		m->priv->free_queues = q->next_free;
		m->free_queues--;
	} else if (m->nqueues < GT_MAX_QUEUES) {
		*slot = m->nqueues;
		q = gt_mem_get(sizeof(*q), false);
		if (q)
			m->queues[m->nqueues++] = q;
	}
	return q;
}

static void free_slot(struct gt_model *m, struct gt_queue *q, uint32_t slot)
{
	gt_queue_clear(q, m->now);
	q->gpu = GT_NONE16;
	desc_unknown(q, m->now);
	q->next_free = m->priv->free_queues;
	m->priv->free_queues = slot + 1;
	m->free_queues++;
}

static struct gt_queue *queue_new(struct gt_model *m, uint16_t gpu, uint32_t id, uint64_t ts)
{
	uint32_t slot;
	struct gt_queue *q = take_slot(m, &slot);

	if (q && gt_map_set(&m->priv->queues, queue_key(gpu, id), slot)) {
		free_slot(m, q, slot);
		q = NULL;
	}
	if (!q) {
		m->queues_refused++;
		return NULL;
	}
	q->id = id;
	q->gpu = gpu;
	q->serial = ++m->priv->queue_serial;
	q->created = q->destroyed = 0;
	q->state = GT_QS_CREATED;
	desc_unknown(q, ts);
	gt_stages_init(q->stage);
	gt_depth_reset(&q->depth, ts);
	m->dir_gen++;
	m->gen++;
	return q;
}

struct gt_queue *gt_queue_met(struct gt_model *m, uint16_t gpu, uint32_t id, uint64_t ts)
{
	struct gt_queue *q;

	if (id == GT_NONE32 || gpu >= m->ngpus)
		return NULL;
	q = gt_model_queue(m, gpu, id);
	return q ? q : queue_new(m, gpu, id, ts);
}

void gt_queue_event(struct gt_model *m, struct gt_queue *q, const struct gt_event *e)
{
	switch (e->type) {
	case GT_QUEUE_CREATE:
		if (q->state == GT_QS_DESTROYED) { /* ids are used again: this is another queue */
			gt_queue_clear(q, e->ts);
			desc_unknown(q, e->ts);
			q->serial = ++m->priv->queue_serial;
		}
		q->state = GT_QS_CREATED;
		q->created = e->ts;
		break;
	case GT_QUEUE_SCHEDULE:
		q->state = e->value ? GT_QS_MAPPED : GT_QS_DENIED;
		break;
	case GT_QUEUE_MAP:
		q->state = GT_QS_MAPPED;
		break;
	case GT_QUEUE_UNMAP:
		q->state = GT_QS_UNMAPPED;
		break;
	case GT_QUEUE_DESTROY:
		q->state = GT_QS_DESTROYED;
		q->destroyed = e->ts;
		break;
	}
	if (q->desc.pid == GT_NONE32)
		q->desc.pid = e->pid;
	if (q->desc.uid == GT_NONE32)
		q->desc.uid = e->uid;
	if (q->desc.ctx == GT_NONE64)
		q->desc.ctx = e->ctx;
	if (q->desc.ring == GT_NONE16)
		q->desc.ring = e->ring;
}

/* A field that the record tells replaces what was known; all ones tell nothing */
#define TELL(to, from, field)                                                                      \
	do {                                                                                       \
		if ((from)->field != (__typeof__((from)->field))UINT64_MAX)                        \
			(to)->field = (from)->field;                                               \
	} while (0)

void gt_queue_describe(struct gt_model *m, const struct gt_queue_desc *d, struct gt_folded *f)
{
	struct gt_queue *q = gt_queue_met(m, d->gpu, d->queue, d->ts);

	if (!q)
		return;
	TELL(&q->desc, d, ring);
	TELL(&q->desc, d, ctx);
	TELL(&q->desc, d, pid);
	TELL(&q->desc, d, uid);
	TELL(&q->desc, d, runlist);
	TELL(&q->desc, d, timeslice_us);
	TELL(&q->desc, d, channels);
	TELL(&q->desc, d, kind);
	TELL(&q->desc, d, engine);
	TELL(&q->desc, d, interleave);
	TELL(&q->desc, d, priority);
	if (d->size)
		TELL(&q->desc, d, size);
	gt_proc_met(m, d->pid, d->uid, d->ts, f);
	q->gen++;
	m->gpus[q->gpu]->gen++;
	m->gen++;
}

/* A process's end is the end of its queues, which no source may tell. */
static void end_with_owner(struct gt_model *m, struct gt_queue *q, uint64_t now)
{
	const struct gt_proc *p = q->desc.pid == GT_NONE32 ? NULL : gt_model_proc(m, q->desc.pid);

	if (!p || !p->dead || q->state == GT_QS_DESTROYED || q->last_ts > p->died)
		return;
	q->state = GT_QS_DESTROYED;
	q->destroyed = now;
	q->gen++;
	m->gpus[q->gpu]->gen++;
	m->gen++;
}

/* A piece at a time: the model is locked meanwhile. */
void gt_queues_reap(struct gt_model *m)
{
	uint64_t now = gt_model_now(m);

	for (unsigned int n = 0; n < REAP_PIECE && n < m->nqueues; n++) {
		uint32_t slot = m->priv->queue_reaped++ % m->nqueues;
		struct gt_queue *q = m->queues[slot];

		if (q->gpu != GT_NONE16)
			end_with_owner(m, q, now);
		if (q->gpu == GT_NONE16 || q->state != GT_QS_DESTROYED || q->depth.now ||
		    now < q->destroyed + m->limits.proc_linger_ns)
			continue;
		gt_map_del(&m->priv->queues, queue_key(q->gpu, q->id));
		free_slot(m, q, slot);
		m->dir_gen++;
		m->gen++;
	}
}

void gt_queues_destroy(struct gt_model *m)
{
	for (unsigned int i = 0; i < m->nqueues; i++) {
		gt_stages_reset(m->queues[i]->stage);
		gt_mem_put(m->queues[i], sizeof(*m->queues[i]));
	}
	gt_map_destroy(&m->priv->queues);
}
