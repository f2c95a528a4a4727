/* SPDX-License-Identifier: GPL-2.0 */
/* Queues: by GPU and id; their state follows QUEUE_* events, what they are follows QUEUE records.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "internal.h"

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
 *
 * What a recording tells is one person's. Of a live source's, a user whose id is not known yet, or
 * root, has none.
 */

static bool has_share(const struct gt_model *m, uint32_t uid)
{
	return m->wall && uid && uid != GT_NONE32;
}

static bool has_room(const struct gt_model *m, uint32_t uid)
{
	uint32_t n = has_share(m, uid) ? gt_map_get(&m->priv->queue_users, uid) : 0;

	return n == GT_NONE32 || n < GT_USER_QUEUES;
}

static void uncount(struct gt_model *m, struct gt_queue *q)
{
	struct gt_map *users = &m->priv->queue_users;
	uint32_t n = q->user == GT_NONE32 ? 0 : gt_map_get(users, q->user);

	if (n == 1)
		gt_map_del(users, q->user);
	else if (n && n != GT_NONE32)
		gt_map_set(users, q->user, n - 1);
	q->user = GT_NONE32;
}

/* @q, which lives, is @uid's: what it is told first stays */
static void count(struct gt_model *m, struct gt_queue *q, uint32_t uid)
{
	struct gt_map *users = &m->priv->queue_users;
	uint32_t n;

	if (q->user != GT_NONE32 || q->state == GT_QS_DESTROYED || !has_share(m, uid))
		return;
	n = gt_map_get(users, uid);
	if (!gt_map_set(users, uid, n == GT_NONE32 ? 1 : n + 1))
		q->user = uid;
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
		if (q->depth_told)
			gt_queue_told_depth(q, 0, ts);
		uncount(m, q);
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
	q->depth_told = q->worked = q->runtime = false;
	q->address = 0;
	q->alias = GT_NONE64;
	q->state = GT_QS_CREATED;
	q->user = GT_NONE32;
	count(m, q, uid);
	desc_unknown(q, ts);
	gt_stages_init(q->stage);
	gt_depth_reset(&q->depth, ts);
	m->dir_gen++;
	m->gen++;
	return q;
}

struct gt_queue *gt_queue_met(struct gt_model *m, uint16_t gpu, uint32_t id, uint32_t uid,
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
	if (from->depth_told)
		gt_queue_told_depth(to, b->now, now);
}

void gt_queue_joined(struct gt_model *m, struct gt_queue *q, struct gt_queue *to)
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

/* Of a queue that the driver tells of, it knows what the state is; the runtime who uses it. */
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
	gt_join_met(m, q, runtime);
}

/* A field that the record tells replaces what was known; all ones tell nothing */
#define TELL(to, from, field)                                                                      \
	do {                                                                                       \
		if ((from)->field != (__typeof__((from)->field))UINT64_MAX)                        \
			(to)->field = (from)->field;                                               \
	} while (0)

/* A runtime that is followed from its middle tells no begin: the number may be one's that ended.
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
	struct gt_queue *q = gt_queue_met(m, d->gpu, d->queue, d->uid, d->ts);

	if (!q || !describe_again(m, q, d))
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
	q->desc.flags = d->flags & GT_F_END_TOLD;
	gt_proc_met(m, d->pid, d->uid, d->ts, f);
	count(m, q, d->uid);
	gt_join_met(m, q, d->flags & GT_F_RUNTIME);
	q->gen++;
	m->gpus[q->gpu]->gen++;
	m->gen++;
}

/*
 * A process's end is the end of its queues, which no source may tell; not where one does, as what
 * a file has lives on with those that were given the file. One that the model does not
 * have made room, or found none: this machine's own tells whether it is there, if all are its.
 */
static bool owner_ended(struct gt_model *m, const struct gt_queue *q)
{
	const struct gt_proc *p;

	if (q->desc.pid == GT_NONE32 || q->desc.flags & GT_F_END_TOLD)
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
	ret = ret ? ret : gt_map_init(&p->aliases, p->salt[1]);
	return ret ? ret : gt_map_init(&p->queue_users, p->salt[2]);
}

void gt_queues_destroy(struct gt_model *m)
{
	for (unsigned int i = 0; i < m->nqueues; i++) {
		gt_stages_reset(m->queues[i]->stage);
		gt_queue_hw_drop(m->queues[i]);
		gt_mem_put(m->queues[i], sizeof(*m->queues[i]));
	}
	gt_map_destroy(&m->priv->aliases);
	gt_map_destroy(&m->priv->addresses);
	gt_map_destroy(&m->priv->queues);
	gt_map_destroy(&m->priv->queue_users);
}
