/* SPDX-License-Identifier: GPL-2.0 */
/* Queues: by GPU and id; their state follows QUEUE_* events, what they are follows QUEUE records.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "internal.h"

static struct gt_queue *gt_join_of_driver(const struct gt_model *m, uint32_t pid, uint64_t ctx);
static void gt_queue_joined(struct gt_model *m, struct gt_queue *q, struct gt_queue *to);

/* Where queues are on the hardware: what a source reads off of all of them at once. */

static struct gt_queue *queue_of(const struct gt_model *m, const struct gt_queue_hw *hw)
{
	struct gt_queue *q = hw->queue != GT_NONE32
				     ? gt_model_queue((struct gt_model *)m, hw->gpu, hw->queue)
			     : hw->base == GT_NONE64 ? NULL
						     : gt_join_of_driver(m, hw->pid, hw->base);

	return q && q->gpu == hw->gpu && q->state != GT_QS_DESTROYED ? q : NULL;
}

void gt_model_queues_hw(struct gt_model *m, const struct gt_queue_hw *hw, size_t n)
{
	m->hw_round++;
	m->gen++;
	if (m->hw_round == 1)
		m->dir_gen++;
	for (size_t i = 0; i < n; i++) {
		struct gt_queue *q = queue_of(m, &hw[i]);

		if (q && !q->hw)
			q->hw = gt_mem_get(sizeof(*q->hw), true);
		if (!q || !q->hw)
			continue;
		*q->hw = hw[i];
		q->hw_round = m->hw_round;
	}
}

/** gt_queue_hw_drop() - @q is no more, or another from now on */
static void gt_queue_hw_drop(struct gt_queue *q)
{
	gt_mem_put(q->hw, sizeof(*q->hw));
	q->hw = NULL;
}

/*
 * One queue that two sources report: the driver, and the program's runtime (GT_F_RUNTIME), each by
 * a number of its own. They are the same if the memory that their packets are in is: same process,
 * same address (@ctx), and same user, as a log's writer can name any process; a recording is one
 * person's. From then on the driver's number is both's, in records as well.
 */

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

/** gt_join_of_driver() - the queue that the driver reported at address @ctx of @pid; NULL: none */
static struct gt_queue *gt_join_of_driver(const struct gt_model *m, uint32_t pid, uint64_t ctx)
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

/** gt_join_drop() - @q is no more, or another from now on */
static void gt_join_drop(struct gt_model *m, struct gt_queue *q)
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
	d->flags |= known->flags & GT_F_END_REPORTED;
}

static struct gt_queue *by_alias(const struct gt_model *m, uint64_t alias)
{
	uint32_t slot = m->priv->aliases.n ? gt_map_get(&m->priv->aliases, alias) : GT_NONE32;

	return slot == GT_NONE32 ? NULL : m->queues[slot];
}

/* The driver's queue that its runtime makes or describes as @id of @gpu. The number may have been
 * another's, with an end that was not reported. */
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

/** gt_join_more() - more is known of @q, by the @runtime or the driver */
static void gt_join_more(struct gt_model *m, struct gt_queue *q, bool runtime)
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
	if (!other) /* reported by the runtime before the driver did? */
		return;
	set_alias(m, q, ALIAS(other->gpu, other->id));
	if (d->channels == GT_NONE32)
		q->desc.channels = other->desc.channels;
	gt_queue_joined(m, other, q);
}

#define REAP_PIECE	4096 /* looked at in a second, the model being locked: less than 1 ms */
#define ENDED_LOOKED_AT 64   /* when room is needed at once */

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

static void free_slot(struct gt_model *m, struct gt_queue *q)
{
	gt_join_drop(m, q);
	gt_queue_hw_drop(q);
	gt_queue_clear(q, m->now);
	q->gpu = GT_NONE16;
	desc_unknown(q, m->now);
	q->next_free = m->priv->free_queues;
	m->priv->free_queues = q->slot + 1;
	m->free_queues++;
}

/* A user's share -------------------------------------------------------------------------------
 */

static bool has_room(const struct gt_model *m, uint32_t uid)
{
	uint16_t account = gt_account(m, uid);

	return gt_share_has(account, GT_SH_QUEUES, 1, GT_MAX_QUEUES) ||
	       gt_share_take(account, GT_SH_QUEUES, 1, GT_MAX_QUEUES); /* which counts it */
}

static void uncount(struct gt_queue *q)
{
	if (q->counted)
		gt_share_give(q->account, GT_SH_QUEUES, 1);
	q->counted = false;
}

/* @q, which lives, is @uid's: what is reported first stays */
static void count(struct gt_model *m, struct gt_queue *q, uint32_t uid)
{
	uint16_t account;

	if (q->counted || q->state == GT_QS_DESTROYED)
		return;
	account = gt_account(m, uid);
	if (!account)
		return;
	gt_share_add(account, GT_SH_QUEUES, 1);
	q->account = account;
	q->counted = true;
}

/* The end --------------------------------------------------------------------------------------
 *
 * Those that are destroyed are in a list, by their end: from its head they make room.
 */

static void list_ended(struct gt_model *m, struct gt_queue *q)
{
	struct gt_model_private *p = m->priv;

	q->ended_prev = p->ended_tail;
	q->ended_next = 0;
	if (p->ended_tail)
		m->queues[p->ended_tail - 1]->ended_next = q->slot + 1;
	else
		p->ended_head = q->slot + 1;
	p->ended_tail = q->slot + 1;
}

static void unlist_ended(struct gt_model *m, struct gt_queue *q)
{
	struct gt_model_private *p = m->priv;

	if (q->ended_prev)
		m->queues[q->ended_prev - 1]->ended_next = q->ended_next;
	else
		p->ended_head = q->ended_next;
	if (q->ended_next)
		m->queues[q->ended_next - 1]->ended_prev = q->ended_prev;
	else
		p->ended_tail = q->ended_prev;
}

static void set_state(struct gt_model *m, struct gt_queue *q, int state, uint64_t ts)
{
	bool had_ended = q->state == GT_QS_DESTROYED;

	q->state = state;
	if (state == GT_QS_DESTROYED && !had_ended) {
		q->destroyed = ts;
		if (q->depth_set)
			gt_queue_set_depth(q, 0, ts);
		uncount(q);
		gt_queue_hw_drop(q);
		list_ended(m, q);
	} else if (state != GT_QS_DESTROYED && had_ended) {
		unlist_ended(m, q);
	}
}

static void forget(struct gt_model *m, struct gt_queue *q)
{
	gt_map_del(&m->priv->queues, queue_key(q->gpu, q->id));
	unlist_ended(m, q);
	free_slot(m, q);
	m->dir_gen++;
	m->gen++;
}

/* Forgets @max queues that ended at or before @until, if no job is left of them */
static bool forget_ended(struct gt_model *m, uint64_t until, unsigned int look_at, unsigned int max)
{
	uint32_t next = m->priv->ended_head;
	unsigned int n = 0;

	for (; next && look_at && n < max; look_at--) {
		struct gt_queue *q = m->queues[next - 1];

		next = q->ended_next;
		if (q->destroyed > until)
			break;
		if (q->depth.now)
			continue;
		forget(m, q);
		n++;
	}
	return n;
}

/* A free slot with nothing in it, or a new one; NULL if there are too many queues. */
static struct gt_queue *take_slot(struct gt_model *m)
{
	struct gt_queue *q;

	if (!m->priv->free_queues && m->nqueues == GT_MAX_QUEUES)
		forget_ended(m, UINT64_MAX, ENDED_LOOKED_AT, 1);
	if (m->priv->free_queues) {
		q = m->queues[m->priv->free_queues - 1];
		m->priv->free_queues = q->next_free;
		m->free_queues--;
		return q;
	}
	q = m->nqueues < GT_MAX_QUEUES ? gt_mem_get(sizeof(*q), false) : NULL;
	if (!q)
		return NULL;
	q->slot = m->nqueues;
	m->queues[m->nqueues++] = q;
	return q;
}

static struct gt_queue *queue_new(struct gt_model *m, uint16_t gpu, uint32_t id, uint32_t uid,
				  uint64_t ts)
{
	struct gt_queue *q = has_room(m, uid) ? take_slot(m) : NULL;

	if (q && gt_map_set(&m->priv->queues, queue_key(gpu, id), q->slot)) {
		free_slot(m, q);
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
	q->depth_set = q->worked = q->runtime = false;
	q->address = 0;
	q->alias = GT_NONE64;
	q->state = GT_QS_CREATED;
	q->account = 0;
	q->counted = false;
	count(m, q, uid);
	desc_unknown(q, ts);
	gt_stages_init(q->stage, q->account);
	gt_depth_reset(&q->depth, ts);
	m->dir_gen++;
	m->gen++;
	return q;
}

struct gt_queue *gt_queue_get(struct gt_model *m, uint16_t gpu, uint32_t id, uint32_t uid,
			      uint64_t ts)
{
	struct gt_queue *q;

	if (id == GT_NONE32 || gpu >= m->ngpus)
		return NULL;
	q = gt_model_queue(m, gpu, id);
	return q ? q : queue_new(m, gpu, id, uid, ts);
}

/* Ids are used again: what has one that ended is another queue; false: of a user with too many */
static bool create_again(struct gt_model *m, struct gt_queue *q, uint32_t uid, uint64_t ts)
{
	if (q->state != GT_QS_DESTROYED)
		return true;
	if (!has_room(m, uid)) {
		m->queues_refused++;
		return false;
	}
	gt_join_drop(m, q);
	gt_queue_clear(q, ts);
	desc_unknown(q, ts);
	q->serial = ++m->priv->queue_serial;
	return true;
}

static void add_depth(struct gt_queue *to, struct gt_queue *from, uint64_t now)
{
	struct gt_depth *a = &to->depth, *b = &from->depth;

	gt_depth_to(a, now);
	gt_depth_to(b, now);
	a->integral += b->integral;
	a->t0 = b->t0 < a->t0 ? b->t0 : a->t0;
	a->peak = b->peak > a->peak ? b->peak : a->peak;
	if (from->depth_set)
		gt_queue_set_depth(to, b->now, now);
}

/** gt_queue_joined() - @q, which the runtime reported, is @to, which the driver reports: that has
 * what was counted, and @q is none */
static void gt_queue_joined(struct gt_model *m, struct gt_queue *q, struct gt_queue *to)
{
	gt_counts_add(&to->counts, &q->counts);
	for (unsigned int i = 0; i < GT_NSTAGES; i++)
		gt_stage_fold(&to->stage[i], &q->stage[i]);
	add_depth(to, q, m->now);
	to->worked |= q->worked;
	to->last_ts = q->last_ts > to->last_ts ? q->last_ts : to->last_ts;
	to->gen++;
	memset(&q->counts, 0, sizeof(q->counts));
	gt_stages_reset(q->stage);
	set_state(m, q, GT_QS_DESTROYED, m->now);
	if (!q->depth.now)
		forget(m, q);
}

/* What becomes of it; false: it is not to be followed */
static bool turn(struct gt_model *m, struct gt_queue *q, const struct gt_event *e)
{
	switch (e->type) {
	case GT_QUEUE_CREATE:
		if (!create_again(m, q, e->uid, e->ts))
			return false;
		set_state(m, q, GT_QS_CREATED, e->ts);
		q->created = e->ts;
		break;
	case GT_QUEUE_SCHEDULE:
		set_state(m, q, e->value ? GT_QS_MAPPED : GT_QS_DENIED, e->ts);
		break;
	case GT_QUEUE_MAP: /* some drivers map a queue before they say that it is made */
		if (!create_again(m, q, e->uid, e->ts))
			return false;
		set_state(m, q, GT_QS_MAPPED, e->ts);
		break;
	case GT_QUEUE_UNMAP:
		set_state(m, q, GT_QS_UNMAPPED, e->ts);
		break;
	case GT_QUEUE_DESTROY:
		set_state(m, q, GT_QS_DESTROYED, e->ts);
		break;
	}
	return true;
}

/* Of a queue that the driver reports, the driver knows what the state is; the runtime who uses it. */
void gt_queue_event(struct gt_model *m, struct gt_queue *q, const struct gt_event *e)
{
	bool runtime = e->flags & GT_F_RUNTIME;

	if ((!runtime || !q->address || q->runtime) && !turn(m, q, e))
		return;
	count(m, q, e->uid);
	if (q->desc.pid == GT_NONE32)
		q->desc.pid = e->pid;
	if (q->desc.uid == GT_NONE32)
		q->desc.uid = e->uid;
	if (q->desc.ctx == GT_NONE64)
		q->desc.ctx = e->ctx;
	if (q->desc.ring == GT_NONE16)
		q->desc.ring = e->ring;
	gt_join_more(m, q, runtime);
}

/* A field of the record replaces what was known; all ones replace nothing */
#define SET(to, from, field)                                                                       \
	do {                                                                                       \
		if ((from)->field != (__typeof__((from)->field))UINT64_MAX)                        \
			(to)->field = (from)->field;                                               \
	} while (0)

/* A runtime that is followed from its middle reports no begin: the number may be one's that ended.
 * False: of a user with too many */
static bool describe_again(struct gt_model *m, struct gt_queue *q, const struct gt_queue_desc *d)
{
	if (!(d->flags & GT_F_RUNTIME) || q->state != GT_QS_DESTROYED || !q->runtime ||
	    (q->desc.pid == d->pid && q->desc.uid == d->uid && q->desc.ctx == d->ctx))
		return true;
	if (!create_again(m, q, d->uid, d->ts))
		return false;
	set_state(m, q, GT_QS_CREATED, d->ts);
	q->created = 0;
	return true;
}

void gt_queue_describe(struct gt_model *m, const struct gt_queue_desc *d, struct gt_folded *f)
{
	struct gt_queue *q = gt_queue_get(m, d->gpu, d->queue, d->uid, d->ts);

	if (!q || !describe_again(m, q, d))
		return;
	SET(&q->desc, d, ring);
	SET(&q->desc, d, ctx);
	SET(&q->desc, d, pid);
	SET(&q->desc, d, uid);
	SET(&q->desc, d, runlist);
	SET(&q->desc, d, timeslice_us);
	SET(&q->desc, d, channels);
	SET(&q->desc, d, kind);
	SET(&q->desc, d, engine);
	SET(&q->desc, d, interleave);
	SET(&q->desc, d, priority);
	if (d->size)
		SET(&q->desc, d, size);
	q->desc.flags = d->flags & GT_F_END_REPORTED;
	gt_proc_get(m, d->pid, d->uid, d->ts, f);
	count(m, q, d->uid);
	gt_join_more(m, q, d->flags & GT_F_RUNTIME);
	q->gen++;
	m->gpus[q->gpu]->gen++;
	m->gen++;
}

/*
 * A process's end is the end of its queues, which perhaps no source reports; not where one does, as what
 * a file has lives on with those that were given the file. One that the model does not
 * have made room, or found none: this machine's own /proc shows whether it is there, if all are its.
 */
static bool owner_ended(struct gt_model *m, const struct gt_queue *q)
{
	const struct gt_proc *p;

	if (q->desc.pid == GT_NONE32 || q->desc.flags & GT_F_END_REPORTED)
		return false;
	p = gt_model_proc(m, q->desc.pid);
	if (p)
		return p->dead && q->last_ts <= p->died;
	return m->wall && !m->priv->elsewhere && kill((pid_t)q->desc.pid, 0) && errno == ESRCH;
}

static void end_with_owner(struct gt_model *m, struct gt_queue *q, uint64_t now)
{
	if (!owner_ended(m, q))
		return;
	set_state(m, q, GT_QS_DESTROYED, now);
	q->gen++;
	m->gpus[q->gpu]->gen++;
	m->gen++;
}

/* A piece at a time: the model is locked meanwhile. */
void gt_queues_reap(struct gt_model *m)
{
	uint64_t now = gt_model_now(m), linger = m->limits.proc_linger_ns;

	for (unsigned int n = 0; n < REAP_PIECE && n < m->nqueues; n++) {
		struct gt_queue *q = m->queues[m->priv->queue_reaped++ % m->nqueues];

		if (q->gpu != GT_NONE16 && q->state != GT_QS_DESTROYED)
			end_with_owner(m, q, now);
	}
	if (now >= linger)
		forget_ended(m, now - linger, REAP_PIECE, REAP_PIECE);
}

int gt_queues_init(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;
	int ret = gt_map_init(&p->queues, p->salt[1]);

	ret = ret ? ret : gt_map_init(&p->addresses, p->salt[1]);
	return ret ? ret : gt_map_init(&p->aliases, p->salt[1]);
}

void gt_queues_destroy(struct gt_model *m)
{
	for (unsigned int i = 0; i < m->nqueues; i++) {
		uncount(m->queues[i]);
		gt_stages_reset(m->queues[i]->stage);
		gt_queue_hw_drop(m->queues[i]);
		gt_mem_put(m->queues[i], sizeof(*m->queues[i]));
	}
	gt_map_destroy(&m->priv->aliases);
	gt_map_destroy(&m->priv->addresses);
	gt_map_destroy(&m->priv->queues);
}
