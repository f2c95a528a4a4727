/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reader's place in the event log, and which records the reader gets. One thread at a time uses a
 * cursor; reads lock nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "stream.h"

#define SCAN_MAX 65536 /* records looked at in one call */
#define LAPS_MAX 8     /* times the writer may outrun one call before it gives up */
/* Records between the oldest and where a reader goes on that was lapped */
#define AHEAD(log) (((log)->mask + 1) / 16)

/*
 * If the writer has overwritten the cursor's next record, goes on at a later one. Not at the very
 * oldest, which would be gone before it could be copied, but a little ahead of the writer.
 */
static void lapped(struct gt_cursor *c)
{
	uint64_t to = gt_log_oldest(c->log);
	uint64_t head = atomic_load_explicit(&c->log->head, memory_order_acquire);

	if (c->at >= to)
		return;
	/* what a resize took is gone, and nobody is about to overwrite what follows */
	if (to > atomic_load_explicit(&c->log->recs.base, memory_order_acquire))
		to += AHEAD(c->log);
	if (to > head)
		to = head;
	c->missed += to - c->at;
	c->unreported += to - c->at;
	c->at = to;
}

static size_t give_preamble(struct gt_cursor *c, union gt_record *out, size_t max)
{
	size_t n = c->npre - c->pre_at;

	if (n > max)
		n = max;
	if (n)
		memcpy(out, c->pre + c->pre_at, n * sizeof(*out));
	c->pre_at += n;
	if (c->pre && c->pre_at == c->npre) {
		free(c->pre);
		c->pre = NULL;
	}
	return n;
}

/* Says what was overwritten, with the next record's time. False: the writer took that one too. */
static bool report_lost(struct gt_cursor *c, union gt_record *out)
{
	union gt_record next;

	if (!gt_log_copy(c->log, c->at, &next, 1))
		return false;
	out->lost = (struct gt_lost){
		.ts = next.ev.ts,
		.type = GT_LOST,
		.cpu = GT_NONE16,
		.gpu = c->scope.gpu,
		.ring = c->scope.ring,
		.count = c->unreported,
		.since = c->last_ts,
		.cause = GT_LOST_READER,
	};
	c->unreported = 0;
	return true;
}

static bool whole_log(const struct gt_cursor *c)
{
	const struct gt_scope *s = &c->scope;

	return gt_view_whole(&c->view) && s->gpu == GT_NONE16 && s->ring == GT_NONE16 &&
	       s->pid == GT_NONE32 && s->queue == GT_NONE32;
}

/*
 * Moves to the front what the reader may see. A process's pipe must not show by what it delivers that
 * a blanked record is that process's, so it shows none of these.
 */
static size_t narrow(const struct gt_cursor *c, union gt_record *r, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!gt_scope_has(&c->scope, &r[i]) || !gt_redact(&r[i], &c->view))
			continue;
		if (c->scope.pid != GT_NONE32 && r[i].ev.flags & GT_F_REDACTED)
			continue;
		if (kept != i)
			r[kept] = r[i];
		kept++;
	}
	return kept;
}

/*
 * One round: copies what there is, up to @max and @scan, in pieces that a writer at full speed
 * cannot outrun. Return: records given, or -EAGAIN when the writer was faster all the same.
 */
static ssize_t step(struct gt_cursor *c, union gt_record *out, size_t max, size_t *scan)
{
	size_t piece = AHEAD(c->log), n;

	lapped(c);
	n = atomic_load_explicit(&c->log->head, memory_order_acquire) - c->at;
	if (!n)
		*scan = 0;
	if (n && c->unreported)
		return report_lost(c, out) ? 1 : -EAGAIN;
	n = n < max ? n : max;
	n = n < *scan ? n : *scan;
	n = n < piece ? n : piece;
	if (!gt_log_copy(c->log, c->at, out, n))
		return -EAGAIN;
	c->at += n;
	*scan -= n;
	return (ssize_t)(whole_log(c) ? n : narrow(c, out, n));
}

size_t gt_cursor_read(struct gt_cursor *c, union gt_record *out, size_t max)
{
	size_t n = give_preamble(c, out, max), scan = SCAN_MAX;

	for (int laps = 0; n < max && scan && laps < LAPS_MAX;) {
		ssize_t got = step(c, out + n, max - n, &scan);

		if (got < 0) {
			laps++;
			continue;
		}
		n += (size_t)got;
		if (n)
			c->last_ts = out[n - 1].ev.ts;
	}
	return n;
}

bool gt_cursor_ready(const struct gt_cursor *c)
{
	return c->pre_at < c->npre ||
	       c->at != atomic_load_explicit(&c->log->head, memory_order_acquire);
}

/*
 * The floor is read before the place: whatever is appended from there on is not below it.
 * Return: 0 or -ENOMEM, then there is nothing to destroy.
 */
int gt_cursor_init(struct gt_cursor *c, struct gt_log *l, struct gt_model *m,
		   const struct gt_view *v, const struct gt_scope *s)
{
	uint64_t floor = atomic_load_explicit(&l->floor, memory_order_acquire);
	int err;

	*c = (struct gt_cursor){ .log = l, .model = m, .view = *v, .scope = *s, .last_ts = floor };
	c->epoch = atomic_load(&l->epoch);
	c->at = atomic_load_explicit(&l->head, memory_order_acquire);
	err = gt_preamble_make(c, floor);
	if (err)
		gt_cursor_destroy(c);
	return err;
}

/*
 * To be called before the first read. What comes first carries the oldest record's time then, not
 * to be above it.
 */
void gt_cursor_history(struct gt_cursor *c)
{
	uint64_t from = gt_log_from(c->log);
	union gt_record first;

	c->at = gt_log_oldest(c->log);
	if (c->at < from)
		c->at = from;
	if (c->at >= atomic_load_explicit(&c->log->head, memory_order_acquire))
		return;
	if (!gt_log_copy(c->log, c->at, &first, 1))
		first.ev.ts = 0; /* gone this instant: nothing that follows is below 0 */
	if (first.ev.ts < c->last_ts)
		c->last_ts = first.ev.ts;
	for (size_t i = 0; i < c->npre; i++)
		c->pre[i].ev.ts = c->last_ts;
}

/** gt_cursor_destroy() - frees what is the cursor's; it may be called twice */
void gt_cursor_destroy(struct gt_cursor *c)
{
	free(c->pre);
	c->pre = NULL;
	c->npre = c->pre_at = 0;
}

/* Which records a reader gets, and which of their fields: by the scope of the pipe and the view. */

static bool is(const struct gt_event *e, enum gt_type_class class)
{
#define CLASS(name, number, class, level) GT_CLASS_##class,
	static const uint8_t classes[GT_NTYPES] = { GT_TYPES(CLASS) };
#undef CLASS

	return classes[e->type] == class;
}

static bool same16(uint16_t want, uint16_t got)
{
	return want == GT_NONE16 || want == got;
}

static bool same32(uint32_t want, uint32_t got)
{
	return want == GT_NONE32 || want == got;
}

/* As above, but what the record leaves open concerns everybody. */
static bool open16(uint16_t want, uint16_t got)
{
	return got == GT_NONE16 || same16(want, got);
}

bool gt_scope_has(const struct gt_scope *s, const union gt_record *r)
{
	switch (r->ev.type) {
	case GT_HEADER:
	case GT_MACHINE:
	case GT_CLOCK_SNAPSHOT:
		return true;
	case GT_GPU_NAME:
		return same16(s->gpu, r->ev.gpu);
	case GT_RING_NAME:
		return same16(s->gpu, r->ev.gpu) && same16(s->ring, r->ev.ring);
	case GT_PROCESS:
		return same32(s->pid, r->process.pid);
	case GT_NAME:
	case GT_LOST:
		return open16(s->gpu, r->ev.gpu) && open16(s->ring, r->ev.ring);
	case GT_QUEUE:
		return same16(s->gpu, r->ev.gpu) && open16(s->ring, r->ev.ring) &&
		       same32(s->pid, r->queue.pid) && same32(s->queue, r->queue.queue);
	default:
		return same16(s->gpu, r->ev.gpu) && same16(s->ring, r->ev.ring) &&
		       same32(s->pid, r->ev.pid) && same32(s->queue, r->ev.queue);
	}
}

static bool nobodys(const struct gt_event *e)
{
	return e->pid == GT_NONE32 && e->tid == GT_NONE32 && e->uid == GT_NONE32 &&
	       e->queue == GT_NONE32 && e->ctx == GT_NONE64;
}

/*
 * What anybody may know about a ring is in value and seqno, but not a token, with which another's
 * doorbell is rung, nor which fence a job depends on. Without a ring they are of what a process
 * did, or of what its owner's files say of it: sizes, times and numbers of its kernels, calls and
 * copies.
 */
static void blank_numbers(struct gt_event *e, bool somebodys)
{
	bool theirs = somebodys && (e->ring == GT_NONE16 || is(e, GT_CLASS_OWN));

	if (theirs)
		e->seqno = GT_NONE64;
	if (e->type == GT_QUEUE_TOKEN || e->flags & GT_F_DEPENDS ||
	    (theirs && !is(e, GT_CLASS_CALL)))
		e->value = GT_NONE64;
}

/*
 * Whoever may see a job need not see the one that it waits for. Of that the record has the process
 * only, which is the same or another: of another only those know who see everybody's.
 */
static void redact_dependency(struct gt_event *e, const struct gt_view *v)
{
	if (!(e->flags & GT_F_DEPENDS) || gt_view_whole(v) ||
	    (e->tid == e->pid && e->pid != GT_NONE32))
		return;
	e->value = GT_NONE64;
	if (!(e->flags & GT_F_LATE))
		e->ref = GT_NONE64;
	e->tid = GT_NONE32;
	e->flags |= GT_F_REDACTED;
}

static bool redact_event(struct gt_event *e, const struct gt_view *v)
{
	bool somebodys = !nobodys(e);

	if (gt_view_sees(v, e->pid, e->uid, e->ts)) {
		redact_dependency(e, v);
		if (v->ns != GT_PIDNS_OWN && e->tid != e->pid)
			e->tid = GT_NONE32; /* only of processes is it known what they are called
					       there */
		return true;
	}
	if (!somebodys) {
		if (is(e, GT_CLASS_DEVICE))
			return true;
	} else if (!gt_view_blanks(v)) {
		return false;
	}
	blank_numbers(e, somebodys);
	e->pid = GT_NONE32;
	e->tid = GT_NONE32;
	e->uid = GT_NONE32;
	e->queue = GT_NONE32;
	e->ctx = GT_NONE64;
	e->ref = GT_NONE64;
	e->flags |= GT_F_REDACTED;
	return true;
}

static bool redact_queue(struct gt_queue_desc *q, const struct gt_view *v)
{
	if (gt_view_sees(v, q->pid, q->uid, q->ts))
		return true;
	if (!gt_view_blanks(v))
		return false;
	q->pid = GT_NONE32;
	q->uid = GT_NONE32;
	q->ctx = GT_NONE64;
	q->flags |= GT_F_REDACTED;
	return true;
}

/* A time at which the pid was this process's: the record's own may be before it began. */
static uint64_t since(const struct gt_process *p)
{
	return p->start == GT_NONE64 ? p->ts : gt_pidns_since(p->start);
}

/*
 * A record with an unknown uid is somebody else's. A visibility that is none of the three counts
 * as the strictest.
 */
bool gt_redact(union gt_record *r, const struct gt_view *v)
{
	if (r->ev.type < GT_NTYPES)
		return redact_event(&r->ev, v);
	if (r->ev.type == GT_PROCESS)
		return gt_view_sees(v, r->process.pid, r->process.uid, since(&r->process));
	if (r->ev.type == GT_QUEUE)
		return redact_queue(&r->queue, v);
	return true;
}

void gt_translate(union gt_record *r, const struct gt_view *v)
{
	if (v->ns == GT_PIDNS_OWN)
		return;
	if (r->ev.type < GT_NTYPES) {
		r->ev.pid = gt_view_pid(v, r->ev.pid, r->ev.ts);
		r->ev.tid = r->ev.tid == GT_NONE32 ? GT_NONE32 : r->ev.pid;
	} else if (r->ev.type == GT_PROCESS) {
		r->process.pid = gt_view_pid(v, r->process.pid, since(&r->process));
	} else if (r->ev.type == GT_QUEUE) {
		r->queue.pid = gt_view_pid(v, r->queue.pid, r->queue.ts);
	}
}
