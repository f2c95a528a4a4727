/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One queue that two sources tell of: the driver, and the program's runtime (GT_F_RUNTIME), each by
 * a number of its own. They are the same if the memory that their packets are in is: same process,
 * same address (@ctx), and same user, as a log's writer can tell of any process; a recording is one
 * person's. From then on the driver's number is both's, in records as well.
 */
#include "internal.h"

#define ALIAS(gpu, id) ((uint64_t)(gpu) << 32 | (id))

static uint64_t address_key(const struct gt_model *m, uint32_t pid, uint64_t ctx, bool runtime)
{
	return gt_mix(ctx ^ m->priv->salt[0], (uint64_t)pid << 1 | runtime) | 1;
}

/* It lives, and is at @ctx of that process of that user. */
static bool is_at(const struct gt_model *m, const struct gt_queue *q, uint32_t pid, uint32_t uid,
		  uint64_t ctx)
{
	return q->gpu != GT_NONE16 && q->state != GT_QS_DESTROYED && q->desc.pid == pid &&
	       q->desc.ctx == ctx && (!m->wall || q->desc.uid == uid);
}

/* The one that lives and is at @ctx of that process; NULL: none that is known */
static struct gt_queue *at_address(const struct gt_model *m, uint32_t pid, uint32_t uid,
				   uint64_t ctx, bool runtime)
{
	uint32_t slot;
	struct gt_queue *q;

	if (pid == GT_NONE32 || ctx == GT_NONE64 || !ctx || (m->wall && uid == GT_NONE32))
		return NULL;
	slot = gt_map_get(&m->priv->addresses, address_key(m, pid, ctx, runtime));
	q = slot == GT_NONE32 ? NULL : m->queues[slot];
	return q && is_at(m, q, pid, uid, ctx) ? q : NULL;
}

struct gt_queue *gt_join_of_driver(const struct gt_model *m, uint32_t pid, uint64_t ctx)
{
	uint32_t slot = gt_map_get(&m->priv->addresses, address_key(m, pid, ctx, false));
	struct gt_queue *q = slot == GT_NONE32 ? NULL : m->queues[slot];

	return q && is_at(m, q, pid, q->desc.uid, ctx) ? q : NULL;
}

static void forget_address(struct gt_model *m, struct gt_queue *q)
{
	if (q->address && gt_map_get(&m->priv->addresses, q->address) == q->slot)
		gt_map_del(&m->priv->addresses, q->address);
	q->address = 0;
}

void gt_join_drop(struct gt_model *m, struct gt_queue *q)
{
	forget_address(m, q);
	if (q->alias != GT_NONE64)
		gt_map_del(&m->priv->aliases, q->alias);
	q->alias = GT_NONE64;
}

static void set_alias(struct gt_model *m, struct gt_queue *q, uint64_t alias)
{
	if (q->alias != GT_NONE64)
		gt_map_del(&m->priv->aliases, q->alias);
	q->alias = gt_map_set(&m->priv->aliases, alias, q->slot) ? GT_NONE64 : alias;
}

/* The runtime's number is another queue's from now on. */
static void drop_alias(struct gt_model *m, uint64_t alias)
{
	uint32_t slot = gt_map_get(&m->priv->aliases, alias);

	if (slot == GT_NONE32)
		return;
	m->queues[slot]->alias = GT_NONE64;
	gt_map_del(&m->priv->aliases, alias);
}

/* What the driver says of it stays, in the record as well. */
#define KEEP(to, from, field, none)                                                                \
	do {                                                                                       \
		if ((from)->field != (none))                                                       \
			(to)->field = (from)->field;                                               \
	} while (0)

static void keep_known(struct gt_queue_desc *d, const struct gt_queue_desc *known)
{
	KEEP(d, known, kind, GT_NONE16);
	KEEP(d, known, engine, GT_NONE16);
	KEEP(d, known, priority, GT_NONE16);
	KEEP(d, known, ring, GT_NONE16);
	if (known->size)
		KEEP(d, known, size, GT_NONE64);
	d->flags |= known->flags & GT_F_END_TOLD;
}

static struct gt_queue *by_alias(const struct gt_model *m, uint64_t alias)
{
	uint32_t slot = m->priv->aliases.n ? gt_map_get(&m->priv->aliases, alias) : GT_NONE32;

	return slot == GT_NONE32 ? NULL : m->queues[slot];
}

/* The driver's queue that its runtime makes or describes as @id of @gpu. The number may have been
 * another's, whose end was not told. */
static struct gt_queue *meant_by_runtime(struct gt_model *m, const union gt_record *r, uint16_t gpu,
					 uint32_t id)
{
	bool begins = r->ev.type == GT_QUEUE_CREATE;
	uint32_t pid = begins ? r->ev.pid : r->queue.pid, uid = begins ? r->ev.uid : r->queue.uid;
	uint64_t ctx = begins ? r->ev.ctx : r->queue.ctx, alias = ALIAS(gpu, id);
	struct gt_queue *q = by_alias(m, alias);
	const struct gt_queue *own;

	if (q && is_at(m, q, pid, uid, ctx))
		return q;
	drop_alias(m, alias);
	own = gt_model_queue(m, gpu, id);
	if (!begins && own && own->state != GT_QS_DESTROYED)
		return NULL;
	q = at_address(m, pid, uid, ctx, false);
	if (q)
		set_alias(m, q, alias);
	return q;
}

/* The driver's queue that number @id of @gpu means; NULL: none but itself */
static struct gt_queue *meant(struct gt_model *m, const union gt_record *r, uint16_t gpu,
			      uint32_t id)
{
	const struct gt_event *e = &r->ev;
	bool runtime = e->flags & GT_F_RUNTIME;
	struct gt_queue *q;

	if (runtime && (e->type == GT_QUEUE_CREATE || e->type == GT_QUEUE))
		return meant_by_runtime(m, r, gpu, id);
	q = by_alias(m, ALIAS(gpu, id));
	if (q && runtime && e->type == GT_QUEUE_DESTROY)
		drop_alias(m, ALIAS(gpu, id)); /* the number is free from now on */
	return q;
}

void gt_join_record(struct gt_model *m, union gt_record *r)
{
	uint32_t *id = r->ev.type == GT_QUEUE ? &r->queue.queue : &r->ev.queue;
	struct gt_queue *q;

	if (*id == GT_NONE32 || r->ev.gpu >= m->ngpus)
		return;
	q = meant(m, r, r->ev.gpu, *id);
	if (!q)
		return;
	r->ev.gpu = q->gpu;
	*id = q->id;
	if (r->ev.type == GT_QUEUE)
		keep_known(&r->queue, &q->desc);
}

void gt_join_met(struct gt_model *m, struct gt_queue *q, bool runtime)
{
	const struct gt_queue_desc *d = &q->desc;
	struct gt_queue *other;

	if (q->address || d->pid == GT_NONE32 || d->ctx == GT_NONE64 || !d->ctx ||
	    q->state == GT_QS_DESTROYED)
		return;
	q->runtime = runtime;
	q->address = address_key(m, d->pid, d->ctx, runtime);
	if (gt_map_set(&m->priv->addresses, q->address, q->slot))
		q->address = 0;
	other = runtime ? NULL : at_address(m, d->pid, d->uid, d->ctx, true);
	if (!other) /* told by the runtime before it was by the driver? */
		return;
	set_alias(m, q, ALIAS(other->gpu, other->id));
	if (d->channels == GT_NONE32)
		q->desc.channels = other->desc.channels;
	gt_queue_joined(m, other, q);
}
