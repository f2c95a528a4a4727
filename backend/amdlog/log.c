/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a log's messages to records. A kernel's name is a line of its own before the packet's; where
 * a log has no packets' lines (level 3) the name alone is the dispatch. A copy is a call of the
 * API, then a command, then what carries it out: it is emitted once.
 *
 * The process is the one in a line, or in the file's name, but only one that was seen to be of
 * the file's owner: anybody can write a log with another's pid, or one that nobody has yet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "../lib/file.h"
#include "amdlog.h"

static struct gt_amd_queue *queue_at(struct gt_amd_log *l, uint64_t hwq, uint32_t pid);

static void gt_amd_log_event(struct gt_amd_log *l, enum gt_type type, uint64_t ts, uint32_t pid,
			     struct gt_amd_queue *q, union gt_record *r);

/* Maps from the log's pointers, by a hash that nobody outside can guess, and numbers of queues. */

static int gt_amd_map_init(struct gt_amd_map *m, uint32_t cap)
{
	m->cap = cap;
	m->used = 0;
	m->slot = calloc(cap, sizeof(*m->slot));
	if (getrandom(&m->salt, sizeof(m->salt), GRND_NONBLOCK) < 0)
		m->salt = (uintptr_t)m->slot * 0x9e3779b97f4a7c15ull;
	return m->slot ? 0 : -ENOMEM;
}

static void gt_amd_map_free(struct gt_amd_map *m)
{
	free(m->slot);
	m->slot = NULL;
}

static uint32_t place(const struct gt_amd_map *m, uint64_t key)
{
	uint64_t h = (key ^ m->salt) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 32 ^ m->salt) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32) & (m->cap - 1);
}

/* Its slot, or the empty one where it would be */
static struct gt_amd_slot *find_entry(const struct gt_amd_map *m, uint64_t key)
{
	uint32_t i = place(m, key);

	while (m->slot[i].key && m->slot[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slot[i];
}

/** gt_amd_map_get() - GT_NONE32 if there is none */
static uint32_t gt_amd_map_get(const struct gt_amd_map *m, uint64_t key)
{
	const struct gt_amd_slot *s = key ? find_entry(m, key) : NULL;

	return s && s->key ? s->value : GT_NONE32;
}

/** gt_amd_map_set() - false: it is full */
static bool gt_amd_map_set(struct gt_amd_map *m, uint64_t key, uint32_t value)
{
	struct gt_amd_slot *s = key ? find_entry(m, key) : NULL;

	if (!s || (!s->key && m->used >= m->cap / 4 * 3))
		return false;
	m->used += !s->key;
	*s = (struct gt_amd_slot){ key, value };
	return true;
}

/* Those behind it that would not be found any more move up. */
static void gt_amd_map_del(struct gt_amd_map *m, uint64_t key)
{
	struct gt_amd_slot *s = key ? find_entry(m, key) : NULL;
	uint32_t i, mask = m->cap - 1;

	if (!s || !s->key)
		return;
	m->used--;
	s->key = 0;
	for (i = (uint32_t)(s - m->slot + 1) & mask; m->slot[i].key; i = (i + 1) & mask) {
		struct gt_amd_slot moved = m->slot[i];

		m->slot[i].key = 0;
		*find_entry(m, moved.key) = moved;
	}
}

/* GT_NONE32: too many live */
static uint32_t take_number(struct gt_amd_numbers *n)
{
	if (!n->free)
		n->free = calloc(GT_AMD_QUEUES_ALL, sizeof(*n->free));
	if (n->nfree)
		return n->free[--n->nfree];
	if (!n->free || n->used == GT_AMD_QUEUES_ALL)
		return GT_NONE32;
	return GT_AMD_QUEUE_BASE + n->used++;
}

static void gt_amd_number_put(struct gt_amd_numbers *n, uint32_t number)
{
	if (number != GT_NONE32 && n->free && n->nfree < GT_AMD_QUEUES_ALL)
		n->free[n->nfree++] = number;
}

/*
 * Packets of queues. A line reports each as it is written into its queue, newer ones with the
 * queue's indices: wptr - rptr packets are in it. The signal that it carries marks its end.
 * Mostly a barrier carries one, for the kernels before it: they have ended when it has.
 */

static struct gt_amd_packet *slot(struct gt_amd_log *l, uint64_t signal)
{
	return &l->packet[signal * 0x9e3779b97f4a7c15ull >> 52 & (GT_AMD_SIGNALS - 1)];
}

static void remember(struct gt_amd_queue *q, uint64_t ts, uint32_t pid, uint32_t wptr)
{
	if (!q->open)
		q->open = calloc(GT_AMD_OPEN, sizeof(*q->open));
	if (!q->open)
		return;
	if (q->nopen == GT_AMD_OPEN) { /* nobody waits for the oldest */
		q->first++;
		q->nopen--;
	}
	q->open[(q->first + q->nopen++) % GT_AMD_OPEN] =
		(struct gt_amd_open){ q->packets, ts, pid, wptr };
}

static void depth(struct gt_amd_log *l, struct gt_amd_queue *q, uint32_t n, uint64_t ts,
		  uint32_t pid)
{
	union gt_record r;

	if (n == q->depth)
		return;
	q->depth = n;
	gt_amd_log_event(l, GT_COUNTER, ts, pid, q, &r);
	r.ev.value = n;
	r.ev.ref = GT_COUNTER_DEPTH;
	gt_amd_log_put(l, &r);
}

static uint64_t wide(uint32_t v)
{
	return v == GT_NONE32 ? GT_NONE64 : v;
}

/* DISPATCH (of @kernel, GT_NONE64 unknown) and BARRIER */
static void packet_began(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts,
			 uint32_t pid, uint64_t kernel)
{
	struct gt_amd_queue *q = queue_at(l, m->hwq, pid);
	bool reported = m->rptr != GT_NONE32 && m->wptr != GT_NONE32;
	union gt_record r;

	if (!q)
		return;
	if (m->what == GT_AMD_DISPATCH) {
		gt_amd_log_event(l, GT_DISPATCH, ts, pid, q, &r);
		r.ev.seqno = wide(m->wptr);
		r.ev.ref = kernel;
		gt_amd_log_put(l, &r);
		l->n.dispatches++;
		remember(q, ts, pid, m->wptr);
	} else {
		l->n.barriers++;
	}
	/* Both count packets for ever, in 32 bits; one that is ahead is of another time. */
	if (reported && m->wptr - m->rptr <= INT32_MAX)
		depth(l, q, m->wptr - m->rptr, ts, pid);
	if (m->signal && m->signal != GT_NONE64)
		*slot(l, m->signal) =
			(struct gt_amd_packet){ .signal = m->signal,
						.hwq = q->hwq,
						.nth = q->packets,
						.kernel = kernel,
						.queue = (uint32_t)(q - l->queue),
						.pid = pid,
						.wptr = m->wptr,
						.barrier = m->what == GT_AMD_BARRIER };
	q->packets++;
}

static void complete(struct gt_amd_log *l, struct gt_amd_queue *q, const struct gt_amd_open *o,
		     uint64_t ts, bool inferred)
{
	union gt_record r;

	gt_amd_log_event(l, GT_COMPLETE, ts, o->pid, q, &r);
	r.ev.seqno = wide(o->wptr);
	r.ev.ref = ts > o->ts ? ts - o->ts : 0;
	r.ev.flags = inferred ? GT_F_INFERRED : 0;
	gt_amd_log_put(l, &r);
	l->n.completions++;
}

/* Its dispatch has ended, or with a barrier all before it have */
static void end(struct gt_amd_log *l, struct gt_amd_queue *q, const struct gt_amd_packet *p,
		uint64_t ts)
{
	uint32_t keep = 0;

	for (uint32_t i = 0; i < q->nopen; i++) {
		struct gt_amd_open o = q->open[(q->first + i) % GT_AMD_OPEN];

		if (p->barrier ? o.nth < p->nth : o.nth == p->nth)
			complete(l, q, &o, ts, p->barrier);
		else
			q->open[(q->first + keep++) % GT_AMD_OPEN] = o;
	}
	q->nopen = keep;
}

/** gt_amd_packet_signal() - SIGNAL, HANDLER */
static void gt_amd_packet_signal(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts)
{
	struct gt_amd_packet *p = slot(l, m->signal);
	struct gt_amd_queue *q;
	union gt_record r;

	if (p->signal != m->signal || !m->signal)
		return;
	q = &l->queue[p->queue];
	if (q->hwq != p->hwq) { /* deleted meanwhile */
		p->signal = 0;
		return;
	}
	if (!p->done)
		end(l, q, p, ts);
	p->done = true;
	if (m->what != GT_AMD_SIGNAL)
		return;
	if (!p->barrier && m->end >= m->start) {
		gt_amd_log_event(l, GT_END, ts, p->pid, q, &r);
		r.ev.seqno = wide(p->wptr);
		r.ev.value = m->end - m->start;
		r.ev.ref = p->kernel;
		gt_amd_log_put(l, &r);
	}
	p->signal = 0;
}

/*
 * Hardware queues. The runtime makes a few and lends them to streams: `users` is how many have one.
 * Its address names it, until it is deleted.
 */

/* A user may have a part of all queues, as of all logs */
static bool has_enough(const struct gt_amd_log *l)
{
	const struct gt_amd *a = l->a;
	uint32_t n = 0;

	for (unsigned int i = 0; i < a->n && l->uid && !a->p->recording; i++)
		n += a->file[i]->log.uid == l->uid ? a->file[i]->log.queues.used : 0;
	return n >= GT_AMD_QUEUES_ALL / GT_AMD_SHARE;
}

/* A log that began before it was followed, or has lost lines, names queues that it never made.
 */
static struct gt_amd_queue *queue_new(struct gt_amd_log *l, uint64_t hwq, uint32_t pid)
{
	struct gt_amd_queue *q = NULL;

	if (has_enough(l))
		return NULL;
	for (uint32_t i = 0; i < GT_AMD_QUEUES && !q; i++)
		if (!l->queue[i].hwq)
			q = &l->queue[i];
	if (!q || !gt_amd_map_set(&l->queues, hwq, (uint32_t)(q - l->queue)))
		return NULL;
	*q = (struct gt_amd_queue){ .hwq = hwq,
				    .id = take_number(&l->a->numbers),
				    .pid = pid,
				    .users = GT_NONE32,
				    .depth = GT_NONE32,
				    .priority = GT_NONE32 };
	if (q->id == GT_NONE32) {
		gt_amd_map_del(&l->queues, hwq);
		q->hwq = 0;
		return NULL;
	}
	l->n.queues++;
	return q;
}

static struct gt_amd_queue *find_queue(struct gt_amd_log *l, uint64_t hwq)
{
	uint32_t i = hwq == GT_NONE64 ? GT_NONE32 : gt_amd_map_get(&l->queues, hwq);

	return i == GT_NONE32 ? NULL : &l->queue[i];
}

/* The queue at @hwq; made if it is new. NULL: there are too many */
static struct gt_amd_queue *queue_at(struct gt_amd_log *l, uint64_t hwq, uint32_t pid)
{
	struct gt_amd_queue *q = find_queue(l, hwq);

	if (!q && hwq && hwq != GT_NONE64)
		q = queue_new(l, hwq, pid);
	if (!q)
		l->n.refused++;
	return q;
}

/** gt_amd_queue_emit() - its description, if the current one was not emitted */
static void gt_amd_queue_emit(struct gt_amd_log *l, struct gt_amd_queue *q, uint64_t ts)
{
	union gt_record r;

	if (q->reported || l->gpu == GT_NONE16 || ts < l->since)
		return;
	gt_record_init(&r, ts, GT_QUEUE);
	r.queue.gpu = l->gpu;
	r.queue.queue = q->id;
	r.queue.pid = q->pid;
	r.queue.uid = l->uid;
	r.queue.ctx = q->hwq;
	r.queue.flags = GT_F_RUNTIME;
	r.queue.kind = GT_QUEUE_COMPUTE;
	r.queue.engine = GT_ENGINE_COMPUTE;
	r.queue.channels = q->users;
	if (q->priority < GT_NONE16)
		r.queue.priority = (uint16_t)q->priority;
	r.queue.size = q->size;
	gt_amd_log_put(l, &r);
	q->reported = true;
}

static void emit_queue(struct gt_amd_log *l, struct gt_amd_queue *q, enum gt_type type, uint64_t ts,
		       uint32_t pid)
{
	union gt_record r;

	gt_amd_log_event(l, type, ts, pid, q, &r);
	r.ev.ctx = q->hwq; /* by which its driver knows it */
	r.ev.flags = GT_F_RUNTIME;
	gt_amd_log_put(l, &r);
}

/** gt_amd_queue_delete() - emits its end, and forgets it */
static void gt_amd_queue_delete(struct gt_amd_log *l, struct gt_amd_queue *q, uint64_t ts,
				uint32_t pid)
{
	emit_queue(l, q, GT_QUEUE_DESTROY, ts, pid);
	gt_amd_map_del(&l->queues, q->hwq);
	gt_amd_number_put(&l->a->numbers, q->id);
	free(q->open);
	*q = (struct gt_amd_queue){ 0 };
}

/* At an address that is in use already the end of the former one was not logged. */
static void created(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts, uint32_t pid)
{
	struct gt_amd_queue *q = find_queue(l, m->hwq);

	if (q)
		gt_amd_queue_delete(l, q, ts, pid);
	q = queue_at(l, m->hwq, pid);
	if (!q)
		return;
	q->size = m->size == GT_NONE64 ? 0 : m->size;
	q->priority = m->priority;
	/* It may have the number of one that ended: what is emitted before its begin would be that
	 * one's. */
	q->reported = true;
	emit_queue(l, q, GT_QUEUE_CREATE, ts, pid);
	q->reported = false;
	gt_amd_queue_emit(l, q, ts);
}

static void users(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts, uint32_t pid)
{
	struct gt_amd_msg made = { .hwq = m->hwq,
				   .size = l->made.size,
				   .priority = l->made.priority };
	struct gt_amd_queue *q = find_queue(l, m->hwq);
	uint32_t n = m->number < GT_NONE32 ? (uint32_t)m->number : GT_NONE32;

	if (!q && m->what == GT_AMD_ACQUIRED && l->made.ts)
		created(l, &made, l->made.ts, pid);
	if (m->what == GT_AMD_ACQUIRED)
		l->made.ts = 0;
	q = queue_at(l, m->hwq, pid);
	if (!q)
		return;
	q->reported &= q->users == n;
	q->users = n;
	gt_amd_queue_emit(l, q, ts);
	if (!!n == q->mapped)
		return;
	q->mapped = n;
	emit_queue(l, q, n ? GT_QUEUE_MAP : GT_QUEUE_UNMAP, ts, pid);
}

/** gt_amd_queue_message() - CREATED, ACQUIRED, SELECTED, RELEASED, DELETED */
static void gt_amd_queue_message(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts,
				 uint32_t pid)
{
	struct gt_amd_queue *q;

	switch (m->what) {
	case GT_AMD_CREATED:
		if (m->hwq != GT_NONE64)
			created(l, m, ts, pid);
		else
			l->made = (struct gt_amd_made){ ts, m->size, m->priority };
		break;
	case GT_AMD_DELETED:
		q = find_queue(l, m->hwq);
		if (q)
			gt_amd_queue_delete(l, q, ts, pid);
		break;
	default:
		users(l, m, ts, pid);
	}
}

int gt_amd_log_init(struct gt_amd_log *l, struct gt_amd *a)
{
	memset(l, 0, sizeof(*l));
	l->a = a;
	l->gpu = GT_NONE16;
	l->uid = GT_NONE32;
	l->since = a->since;
	l->queue = calloc(GT_AMD_QUEUES, sizeof(*l->queue));
	l->packet = calloc(GT_AMD_SIGNALS, sizeof(*l->packet));
	l->out = malloc(GT_AMD_RECORDS * sizeof(*l->out));
	if (!l->queue || !l->packet || !l->out)
		return -ENOMEM;
	return gt_amd_map_init(&l->queues, 2 * GT_AMD_QUEUES);
}

void gt_amd_log_free(struct gt_amd_log *l)
{
	for (uint32_t i = 0; l->queue && i < GT_AMD_QUEUES; i++) {
		if (l->queue[i].hwq)
			gt_amd_number_put(&l->a->numbers, l->queue[i].id);
		free(l->queue[i].open);
	}
	free(l->queue);
	free(l->packet);
	free(l->out);
	gt_amd_map_free(&l->queues);
	memset(l, 0, sizeof(*l));
}

/* Owners
 * -------------------------------------------------------------------------------------- */

/* CLOCK_BOOTTIME of a line's time. After a suspend meanwhile it is too late, never too early. */
static uint64_t boottime(uint64_t ts)
{
	struct timespec b, m;

	clock_gettime(CLOCK_MONOTONIC, &m);
	clock_gettime(CLOCK_BOOTTIME, &b);
	return ts + (uint64_t)(b.tv_sec - m.tv_sec) * 1000000000u + (uint64_t)b.tv_nsec -
	       (uint64_t)m.tv_nsec;
}

/* One that has ended leaves lines that are still to be read; it was there when others were. */
static bool is_theirs(struct gt_amd_log *l, struct gt_amd_pid *p, uint64_t ts)
{
	enum gt_process_owner owner;

	if (l->a->p->recording)
		return true;
	owner = gt_process_owner(p->pid, l->uid, boottime(ts));
	return owner == GT_OWNER_SAME || (owner == GT_OWNER_GONE && p->good);
}

uint32_t gt_amd_log_pid(struct gt_amd_log *l, uint32_t pid, uint64_t ts)
{
	struct gt_amd_pid *p = &l->pids[0];

	if (!pid)
		return GT_NONE32;
	for (unsigned int i = 0; i < GT_AMD_PIDS && p->pid != pid; i++)
		p = &l->pids[i];
	if (p->pid != pid) {
		p = &l->pids[l->next_pid++ % GT_AMD_PIDS];
		*p = (struct gt_amd_pid){ .pid = pid };
	} else if (p->round == l->a->round) {
		return p->good ? pid : GT_NONE32;
	}
	p->good = is_theirs(l, p, ts);
	p->round = l->a->round;
	return p->good ? pid : GT_NONE32;
}

static uint32_t owner_of(struct gt_amd_log *l, const struct gt_amd_line *line, uint64_t ts)
{
	uint32_t pid = line->pid ? line->pid : l->pid, is = gt_amd_log_pid(l, pid, ts);

	if (!l->pid)
		l->pid = line->pid;
	if (pid && is == GT_NONE32 && l->blamed != pid) {
		l->blamed = pid;
		l->a->forged++;
	}
	return is;
}

static uint16_t gpu_of(struct gt_amd_log *l, uint32_t pid)
{
	struct gt_plugin *p = l->a->p;
	struct gt_gpu_desc d = { .driver = "amdgpu", .minor = -1 };

	if (l->gpu != GT_NONE16)
		return l->gpu;
	d.pid = p->recording || pid == GT_NONE32 ? 0 : pid;
	d.uid = p->recording || l->uid == GT_NONE32 ? 0 : l->uid;
	l->gpu = p->host->gpu(p, &d);
	if (l->gpu == GT_NONE16 && d.pid) { /* it has several, or is gone */
		d.pid = 0;
		l->gpu = p->host->gpu(p, &d);
	}
	return l->gpu;
}

/* Records
 * ------------------------------------------------------------------------------------------ */

/** gt_amd_log_event() - an event of a line's time and process, to be filled; it is of @q, NULL:
 * none */
static void gt_amd_log_event(struct gt_amd_log *l, enum gt_type type, uint64_t ts, uint32_t pid,
			     struct gt_amd_queue *q, union gt_record *r)
{
	uint16_t gpu = gpu_of(l, pid);

	if (q)
		gt_amd_queue_emit(l, q, ts);
	gt_record_init(r, ts, type);
	r->ev.gpu = gpu;
	r->ev.pid = pid;
	r->ev.uid = l->uid;
	if (q)
		r->ev.queue = q->id;
}

/* Kernels and copies
 * ------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct gt_amd_log *l, const char *p, size_t len)
{
	uint64_t h = l->queues.salt ^ len, w;

	for (; len; p += sizeof(w), len -= sizeof(w)) {
		w = 0;
		memcpy(&w, p, len < sizeof(w) ? len : sizeof(w));
		h = (h ^ w) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
		if (len < sizeof(w))
			break;
	}
	return h | 1;
}

/* Its number, which the host knows by its name. Names come again and again: the last ones are kept.
 */
static uint64_t kernel_of(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts,
			  uint32_t pid)
{
	struct gt_plugin *p = l->a->p;
	struct gt_kernel_desc d;
	struct gt_amd_name *n;
	uint64_t h;

	if (ts < l->since)
		return GT_NONE64;
	h = hash_of(l, m->name, m->len);
	n = &l->name[h % GT_AMD_NAMES];
	if (n->hash == h)
		return n->id == GT_NONE32 ? GT_NONE64 : n->id;
	gt_kernel_init(&d);
	d.uid = l->uid;
	d.gpu = gpu_of(l, pid);
	d.name = m->name;
	d.len = m->len;
	*n = (struct gt_amd_name){ h, d.gpu == GT_NONE16 ? GT_NONE32 : p->host->kernel(p, &d) };
	return n->id == GT_NONE32 ? GT_NONE64 : n->id;
}

static void settle_kernel(struct gt_amd_log *l, struct gt_amd_thread *t)
{
	union gt_record r;

	if (!t->kernel_ts)
		return;
	gt_amd_log_event(l, GT_DISPATCH, t->kernel_ts, t->kernel_pid, NULL, &r);
	r.ev.ref = t->kernel;
	gt_amd_log_put(l, &r);
	l->n.dispatches++;
	t->kernel_ts = 0;
}

static void copy(struct gt_amd_log *l, uint64_t ts, uint32_t pid, uint64_t bytes)
{
	union gt_record r;

	gt_amd_log_event(l, GT_COPY, ts, pid, NULL, &r);
	r.ev.value = bytes;
	gt_amd_log_put(l, &r);
	l->n.copies++;
}

static void settle_copy(struct gt_amd_log *l, struct gt_amd_thread *t)
{
	if (t->copy_ts)
		copy(l, t->copy_ts, t->copy_pid, t->copy_bytes);
	t->copy_ts = 0;
}

/* A command that runs a kernel is a dispatch only where the log has nothing nearer to it. */
static void settle_command(struct gt_amd_log *l, struct gt_amd_thread *t)
{
	union gt_record r;

	if (!t->command_ts)
		return;
	if (!l->has_kernels) {
		gt_amd_log_event(l, GT_DISPATCH, t->command_ts, t->command_pid, NULL, &r);
		gt_amd_log_put(l, &r);
		l->n.dispatches++;
	}
	t->command_ts = 0;
}

static void settle(struct gt_amd_log *l, struct gt_amd_thread *t, bool all)
{
	if (all || !l->has_packets)
		settle_kernel(l, t);
	settle_command(l, t);
	settle_copy(l, t);
}

void gt_amd_log_settle(struct gt_amd_log *l, bool all)
{
	for (unsigned int i = 0; i < GT_AMD_THREADS; i++)
		settle(l, &l->thread[i], all);
}

static bool waits(const struct gt_amd_thread *t)
{
	return t->kernel_ts || t->copy_ts || t->command_ts;
}

/* In one of the places that its number may have. If all others wait for something the first is
 * displaced: its record goes out as it is. */
static struct gt_amd_thread *thread_of(struct gt_amd_log *l, uint64_t tid)
{
	unsigned int at = (tid * 0x9e3779b97f4a7c15ull >> 40) % GT_AMD_THREADS;
	struct gt_amd_thread *idle = NULL;

	for (unsigned int i = 0; i < GT_AMD_PLACES; i++) {
		struct gt_amd_thread *t = &l->thread[(at + i) % GT_AMD_THREADS];

		if (t->tid == tid)
			return t;
		if (!idle && !waits(t))
			idle = t;
	}
	if (!idle) {
		idle = &l->thread[at];
		settle(l, idle, true);
	}
	*idle = (struct gt_amd_thread){ .tid = tid };
	return idle;
}

static void on_call(struct gt_amd_log *l, struct gt_amd_thread *t, const struct gt_amd_msg *m,
		    uint64_t ts, uint32_t pid)
{
	l->has_calls = true;
	settle_kernel(l, t);
	settle_copy(l, t);
	if (m->what != GT_AMD_CALL || !gt_amd_is_copy(m->name, m->len))
		return;
	t->copy_ts = ts;
	t->copy_pid = pid;
	t->copy_bytes = m->number;
}

/* A copy that was called for is this command; the size of any other is not known. */
static void on_command(struct gt_amd_log *l, struct gt_amd_thread *t, const struct gt_amd_msg *m,
		       uint64_t ts, uint32_t pid)
{
	l->has_commands = true;
	l->n.commands++;
	settle_command(l, t);
	if (gt_amd_is_kernel(m->name, m->len)) {
		t->command_ts = ts;
		t->command_pid = pid;
		return;
	}
	if (!gt_amd_is_copy(m->name, m->len))
		return;
	copy(l, ts, pid, t->copy_ts ? t->copy_bytes : GT_NONE64);
	t->copy_ts = 0;
}

static void on_abort(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts, uint32_t pid)
{
	struct gt_amd_queue *q = m->hwq == GT_NONE64 ? NULL : queue_at(l, m->hwq, pid);
	union gt_record r;

	gt_amd_log_event(l, GT_ERROR, ts, pid, q, &r);
	r.ev.value = GT_ERR_FAULT;
	gt_amd_log_put(l, &r);
}

/* What it was to run is in the line before, or in none. */
static void on_refused(struct gt_amd_log *l, struct gt_amd_thread *t, uint64_t ts, uint32_t pid)
{
	union gt_record r;

	gt_amd_log_event(l, GT_ERROR, ts, pid, NULL, &r);
	r.ev.value = GT_ERR_UNKNOWN;
	gt_amd_log_put(l, &r);
	l->n.refused_dispatches++;
	t->kernel_ts = t->command_ts = 0;
}

static void on_packet(struct gt_amd_log *l, struct gt_amd_thread *t, const struct gt_amd_msg *m,
		      uint64_t ts, uint32_t pid)
{
	bool named = m->what == GT_AMD_DISPATCH && t->kernel_ts;

	packet_began(l, m, ts, pid, named ? t->kernel : GT_NONE64);
	if (named)
		t->kernel_ts = 0;
}

static void on_message(struct gt_amd_log *l, const struct gt_amd_line *line,
		       const struct gt_amd_msg *m, uint64_t ts)
{
	struct gt_amd_thread *t = thread_of(l, line->tid);
	uint32_t pid = owner_of(l, line, ts);

	switch (m->what) {
	case GT_AMD_DISPATCH:
		l->has_kernels = true;
		/* fall through */
	case GT_AMD_BARRIER:
		on_packet(l, t, m, ts, pid);
		break;
	case GT_AMD_REFUSED:
		on_refused(l, t, ts, pid);
		break;
	case GT_AMD_KERNEL:
		l->has_kernels = true;
		settle_kernel(l, t);
		t->kernel_ts = ts;
		t->kernel_pid = pid;
		t->kernel = kernel_of(l, m, ts, pid);
		break;
	case GT_AMD_SIGNAL:
	case GT_AMD_HANDLER:
		gt_amd_packet_signal(l, m, ts);
		break;
	case GT_AMD_COMMAND:
		on_command(l, t, m, ts, pid);
		break;
	case GT_AMD_CALL:
	case GT_AMD_RETURN:
		on_call(l, t, m, ts, pid);
		break;
	case GT_AMD_COPY:
		if (!l->has_calls && !l->has_commands)
			copy(l, ts, pid, m->number);
		break;
	case GT_AMD_ABORT:
		on_abort(l, m, ts, pid);
		break;
	default:
		gt_amd_queue_message(l, m, ts, pid);
	}
}

void gt_amd_log_damaged(struct gt_amd_log *l, const char *what, const char *text)
{
	struct gt_plugin *plugin = l->a->p;

	if (!gt_file_damaged(&l->filecount, GT_PLACE_LINE, l->n.lines) || !plugin->recording)
		return;
	plugin->host->error(
		plugin, EBADMSG, what ? "%s: line %llu %s" : "%s: line %llu is damaged: \"%s\"",
		gt_amd_file_of(l)->path, (unsigned long long)l->n.lines, what ? what : text);
}

static void damaged(struct gt_amd_log *l, const struct gt_amd_item *item)
{
	l->n.damaged++;
	gt_amd_log_damaged(l, NULL, item->text);
}

static void other(struct gt_amd_log *l)
{
	l->n.other++;
	gt_file_skip(&l->filecount, "other_messages", 1);
}

/* Is it a message? */
static bool is_message(struct gt_amd_log *l, const struct gt_amd_item *item)
{
	if (item->kind == GT_AMD_MESSAGE)
		return true;
	if (item->kind == GT_AMD_DAMAGED) {
		damaged(l, item);
		return false;
	}
	l->n.foreign++;
	gt_file_skip(&l->filecount, "foreign_lines", item->kind == GT_AMD_FOREIGN);
	if (!l->first_foreign)
		l->first_foreign = l->n.lines;
	return false;
}

/* A call that copies nothing only ends what was before it. */
static bool is_used(const struct gt_amd_msg *m)
{
	bool call = m->what == GT_AMD_CALL || m->what == GT_AMD_RETURN;

	return !call || gt_amd_is_copy(m->name, m->len);
}

void gt_amd_log_line(struct gt_amd_log *l, const struct gt_amd_item *item)
{
	const struct gt_amd_line *line = &item->line;
	const struct gt_amd_msg *m = &item->msg;

	l->n.lines++;
	l->line.headed = item->headed;
	if (item->kind == GT_AMD_MESSAGE)
		l->line.line = *line;
	if (!is_message(l, item))
		return;
	l->filecount.events++;
	l->has_packets |= line->level >= 4;
	if (gt_amd_item_bad(item)) {
		damaged(l, item);
		return;
	}
	if (line->us != GT_NONE64)
		l->now = line->us * 1000;
	if (m->what == GT_AMD_OTHER || m->what == GT_AMD_ASKED) {
		other(l);
		return;
	}
	if (!l->now) {
		l->n.untimed++;
		gt_file_skip(&l->filecount, "untimed_messages", 1);
		return;
	}
	if (is_used(m)) {
		l->n.used++;
		l->filecount.used++;
	} else {
		other(l);
	}
	on_message(l, line, m, l->now);
}

void gt_amd_log_end(struct gt_amd_log *l)
{
	gt_amd_log_settle(l, true);
	for (uint32_t i = 0; i < GT_AMD_QUEUES; i++)
		if (l->queue[i].hwq && l->count + 4 < GT_AMD_RECORDS)
			gt_amd_queue_delete(l, &l->queue[i], l->now, l->queue[i].pid);
}
