/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time that threads spend in waits for the GPU and in its ioctls. A source that tells only entry
 * and exit is matched by thread, in a table where a thread may push out others: then the exit
 * counts, and its time is not known.
 */
#include "internal.h"

enum { IN_IOCTL, IN_WAIT };

#define WAYS 4 /* threads that share their places */

static struct gt_inside *set_of(struct gt_model *m, uint32_t tid, uint8_t kind)
{
	uint64_t h = gt_mix(((uint64_t)kind << 32 | tid) ^ m->priv->salt[2], m->priv->salt[1]);

	return &m->priv->inside[h % (GT_TIDS / WAYS) * WAYS];
}

static struct gt_inside *inside(struct gt_model *m, uint32_t tid, uint8_t kind)
{
	struct gt_inside *i = set_of(m, tid, kind);

	for (unsigned int k = 0; k < WAYS; k++, i++)
		if (i->used && i->tid == tid && i->kind == kind)
			return i;
	return NULL;
}

/* The thread's place, else one that is free, else that of who has been inside for longest */
static struct gt_inside *place(struct gt_model *m, uint32_t tid, uint8_t kind)
{
	struct gt_inside *own = inside(m, tid, kind), *i = set_of(m, tid, kind), *best = i;

	for (unsigned int k = 0; k < WAYS && !own; k++, i++) {
		if (!i->used)
			return i;
		if (i->since < best->since)
			best = i;
	}
	return own ? own : best;
}

static void enter(struct gt_model *m, const struct gt_event *e, uint8_t kind)
{
	if (e->tid == GT_NONE32)
		return;
	*place(m, e->tid, kind) = (struct gt_inside){
		.tid = e->tid, .kind = kind, .used = 1, .entered = true, .since = e->ts
	};
}

/* How long the thread was inside: as @told, or since it entered; GT_NONE64 if that is not known */
static uint64_t leave(const struct gt_inside *i, const struct gt_event *e, uint64_t told)
{
	if (told != GT_NONE64)
		return told;
	return i && i->entered && e->ts >= i->since ? e->ts - i->since : GT_NONE64;
}

static void wait_exit(struct gt_model *m, struct gt_where *w, const struct gt_event *e)
{
	struct gt_inside *i = e->tid == GT_NONE32 ? NULL : inside(m, e->tid, IN_WAIT);
	uint64_t ns = leave(i, e, e->value);

	GT_COUNT(m, w, waits, 1);
	if (ns != GT_NONE64)
		GT_COUNT(m, w, wait_ns, ns);
	if (i)
		i->used = 0;
}

/* The jobs that were submitted in the ioctl, which took @ns until @end, know that now. */
static void tell_jobs(struct gt_model *m, const struct gt_inside *i, uint64_t end, uint64_t ns,
		      struct gt_folded *f)
{
	for (unsigned int k = 0; k < i->n; k++) {
		struct gt_job *j = &m->jobs[i->job[k].index];

		/* by an ioctl before this one, whose end was not told */
		if (ns == GT_NONE64 || i->job[k].at > end || end - i->job[k].at > ns)
			continue;
		if (i->job[k].number != GT_NONE64)
			f->late[f->nlate++] = i->job[k].number;
		else if (j->live && j->seen == i->job[k].seen)
			j->ioctl = ns;
	}
	f->ioctl = ns;
}

static void ioctl_exit(struct gt_model *m, struct gt_where *w, const struct gt_event *e,
		       struct gt_folded *f)
{
	struct gt_inside *i = e->tid == GT_NONE32 ? NULL : inside(m, e->tid, IN_IOCTL);
	uint64_t ns = leave(i, e, e->ref);

	GT_COUNT(m, w, ioctls, 1);
	if (ns != GT_NONE64)
		GT_COUNT(m, w, ioctl_ns, ns);
	if (!i)
		return;
	i->used = 0;
	tell_jobs(m, i, e->ts, ns, f);
}

/* Somebody waits for a job that is in flight, or no longer does */
static void job_waited(struct gt_model *m, struct gt_where *w, const struct gt_event *e)
{
	struct gt_job *j;

	if (!w->ring)
		return;
	j = gt_job_find(m, e, gt_event_hash(m, e));
	if (!j)
		return;
	if (e->type == GT_SYNC_WAIT_EXIT)
		j->waiting = 0;
	else if (!j->waiting)
		j->waiting = e->ts;
}

void gt_wait_event(struct gt_model *m, struct gt_where *w, const struct gt_event *e,
		   struct gt_folded *f)
{
	switch (e->type) {
	case GT_SYNC_WAIT_ENTER:
		enter(m, e, IN_WAIT);
		job_waited(m, w, e);
		break;
	case GT_SYNC_WAIT_EXIT:
		wait_exit(m, w, e);
		job_waited(m, w, e);
		break;
	case GT_IOCTL_ENTER:
		enter(m, e, IN_IOCTL);
		break;
	case GT_IOCTL_EXIT:
		ioctl_exit(m, w, e, f);
		break;
	}
}

/*
 * While the ioctl lasts a job's time in it is not known, and the field says where the thread is in
 * the table: numbers that no time is.
 */
#define MARKS (GT_TIDS * GT_IOCTL_JOBS)

static uint64_t mark(const struct gt_model *m, const struct gt_inside *i, unsigned int k)
{
	return GT_NONE64 - 1 - ((uint64_t)(i - m->priv->inside) * GT_IOCTL_JOBS + k);
}

uint64_t gt_wait_ioctl(uint64_t ioctl)
{
	return ioctl < GT_NONE64 - MARKS ? ioctl : GT_NONE64;
}

void gt_wait_submit(struct gt_model *m, struct gt_job *j, uint32_t tid, uint64_t ts)
{
	struct gt_inside *i;

	if (tid == GT_NONE32)
		return;
	i = inside(m, tid, IN_IOCTL);
	if (!i) {
		i = place(m, tid, IN_IOCTL);
		*i = (struct gt_inside){ .tid = tid, .kind = IN_IOCTL, .used = 1, .since = ts };
	}
	if (i->n == GT_IOCTL_JOBS) {
		if (i->entered)
			return;
		i->n = 0; /* only the last can be of an ioctl that is still to be told */
	}
	i->job[i->n].index = (uint32_t)(j - m->jobs);
	i->job[i->n].seen = j->seen;
	i->job[i->n].at = ts;
	i->job[i->n].number = GT_NONE64;
	j->ioctl = mark(m, i, i->n++);
}

void gt_model_logged(struct gt_model *m, const struct gt_folded *f, uint64_t number)
{
	const struct gt_job *j = f->job;
	struct gt_inside *i;
	uint64_t at;

	if (!f->finished || !j || j->ioctl == GT_NONE64 || j->ioctl < GT_NONE64 - MARKS)
		return;
	at = GT_NONE64 - 1 - j->ioctl;
	i = &m->priv->inside[at / GT_IOCTL_JOBS];
	at %= GT_IOCTL_JOBS;
	if (i->used && at < i->n && i->job[at].index == (uint32_t)(j - m->jobs) &&
	    i->job[at].seen == j->seen)
		i->job[at].number = number;
}
