/* SPDX-License-Identifier: GPL-2.0 */
/* Which records a reader gets, and what of them: by the pipe's scope, and by who reads. */
#include "stream.h"

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
