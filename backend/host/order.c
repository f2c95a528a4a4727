/* SPDX-License-Identifier: GPL-2.0 */
/* See order.h. Sources are few (plugins), so the oldest record is found by comparing all heads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define FIRST_CAP 256u

/**
 * struct source - one FIFO
 * @busy: it has more, and comes back by itself
 * @mark: no later record is older, by a watermark or the last record
 * @head, @count, @cap: of the ring buffers @q and @due; @cap is a power of two, or 0
 * @due: for each record, when it has waited long enough; UINT64_MAX in a recording
 */
struct source {
	bool busy;
	bool active;
	bool recording;
	uint64_t mark;
	size_t head, count, cap;
	union gt_record *q;
	uint64_t *due;
};

/** struct group - live sources, or recordings: the newest @released time, and the last @watermark */
struct group {
	uint64_t released;
	uint64_t watermark;
};

struct gt_order {
	struct gt_order_ops ops;
	struct gt_order_stats stats;
	struct group group[2]; /* by source.recording */
	unsigned int n;
	size_t pending;
	struct source s[];
};

struct gt_order *gt_order_new(unsigned int n, const struct gt_order_ops *ops)
{
	struct gt_order *o = calloc(1, sizeof(*o) + n * sizeof(o->s[0]));

	if (!o)
		return NULL;
	o->ops = *ops;
	o->n = n;
	return o;
}

void gt_order_free(struct gt_order *o)
{
	if (!o)
		return;
	for (unsigned int i = 0; i < o->n; i++) {
		free(o->s[i].q);
		free(o->s[i].due);
	}
	free(o);
}

static uint64_t head_ts(const struct source *s)
{
	return s->q[s->head].ev.ts;
}

/** struct bound - records before @ts may go out, and those at @ts if @equal */
struct bound {
	uint64_t ts;
	bool equal;
};

static bool within(const struct bound *b, uint64_t ts)
{
	return ts < b->ts || (b->equal && ts == b->ts);
}

/*
 * The bound up to which @src is ahead of the other sources of its group. Of equal times the lower source
 * number goes first. @silent false: only queued records count, not those that may still come.
 */
static struct bound bound_of(const struct gt_order *o, unsigned int src, bool silent)
{
	struct bound b = { .ts = UINT64_MAX, .equal = true };

	for (unsigned int i = 0; i < o->n; i++) {
		const struct source *s = &o->s[i];
		uint64_t ts;

		if (i == src || s->recording != o->s[src].recording)
			continue;
		if (s->count)
			ts = head_ts(s);
		else if (s->active && silent)
			ts = s->mark;
		else
			continue;
		if (ts < b.ts || (ts == b.ts && i < src)) {
			b.ts = ts;
			b.equal = i > src;
		}
	}
	return b;
}

static void release_records(struct gt_order *o, unsigned int src, const union gt_record *r,
			    size_t n)
{
	struct group *g = &o->group[o->s[src].recording];

	for (size_t i = 0; i < n; i++)
		if (r[i].ev.ts > g->released)
			g->released = r[i].ev.ts;
	o->ops.records(o->ops.arg, src, r, n);
}

/* Releases the first @n records, in at most two pieces. */
static void pop(struct gt_order *o, unsigned int src, size_t n)
{
	struct source *s = &o->s[src];

	while (n) {
		size_t part = s->cap - s->head < n ? s->cap - s->head : n;
		const union gt_record *r = s->q + s->head;

		s->head = (s->head + part) & (s->cap - 1);
		s->count -= part;
		o->pending -= part;
		n -= part;
		release_records(o, src, r, part);
	}
}

/* The source of the group with the oldest head, or -1. */
static int oldest(const struct gt_order *o, bool recording)
{
	int best = -1;

	for (unsigned int i = 0; i < o->n; i++)
		if (o->s[i].count && o->s[i].recording == recording &&
		    (best < 0 || head_ts(&o->s[i]) < head_ts(&o->s[best])))
			best = (int)i;
	return best;
}

/* Number of the first records of @src that are within @b, or older than what was released already */
static size_t ready(const struct gt_order *o, unsigned int src, const struct bound *b)
{
	const struct source *s = &o->s[src];
	uint64_t released = o->group[s->recording].released;
	size_t n = 0;

	while (n < s->count) {
		uint64_t ts = s->q[(s->head + n) & (s->cap - 1)].ev.ts;

		if (!within(b, ts) && ts >= released)
			break;
		if (ts > released)
			released = ts;
		n++;
	}
	return n;
}

/* Releases all records of the group that no source holds back. */
static void release(struct gt_order *o, bool recording)
{
	int i;

	while ((i = oldest(o, recording)) >= 0) {
		struct bound b = bound_of(o, (unsigned int)i, true);
		size_t n = ready(o, (unsigned int)i, &b);

		if (!n)
			return;
		pop(o, (unsigned int)i, n);
	}
}

/* Releases the oldest records of the group, whatever a silent source may still deliver, until @n of @src
 * are out. */
static void force(struct gt_order *o, unsigned int src, size_t n, uint64_t *counter)
{
	while (n && o->s[src].count) {
		unsigned int i = (unsigned int)oldest(o, o->s[src].recording);

		pop(o, i, 1);
		*counter += 1;
		n -= i == src;
	}
}

static bool grow(struct source *s)
{
	size_t cap = s->cap ? s->cap * 2 : FIRST_CAP;
	union gt_record *q = malloc(cap * sizeof(*q));
	uint64_t *due = malloc(cap * sizeof(*due));

	if (!q || !due) {
		free(q);
		free(due);
		return false;
	}
	for (size_t i = 0; i < s->count; i++) {
		q[i] = s->q[(s->head + i) & (s->cap - 1)];
		due[i] = s->due[(s->head + i) & (s->cap - 1)];
	}
	free(s->q);
	free(s->due);
	s->q = q;
	s->due = due;
	s->cap = cap;
	s->head = 0;
	return true;
}

static void enqueue(struct gt_order *o, unsigned int src, const union gt_record *r, uint64_t now)
{
	struct source *s = &o->s[src];
	size_t at;

	if (s->count == s->cap && s->cap < GT_ORDER_CAP && !grow(s) && !s->cap) {
		o->stats.dropped++;
		return;
	}
	if (s->count == s->cap)
		force(o, src, s->cap / 16, &o->stats.forced);
	at = (s->head + s->count) & (s->cap - 1);
	s->q[at] = *r;
	s->due[at] = s->recording ? UINT64_MAX : now + GT_ORDER_HOLD_NS;
	s->count++;
	o->pending++;
	o->stats.queued++;
}

/* Number of records of @r that may go out at once */
static size_t prefix(const struct gt_order *o, unsigned int src, const union gt_record *r, size_t n)
{
	uint64_t released = o->group[o->s[src].recording].released;
	struct bound b = bound_of(o, src, true);
	size_t i;

	if (b.ts == UINT64_MAX)
		return n;
	for (i = 0; i < n && (within(&b, r[i].ev.ts) || r[i].ev.ts < released); i++)
		if (r[i].ev.ts > released)
			released = r[i].ev.ts;
	return i;
}

void gt_order_push(struct gt_order *o, unsigned int src, const union gt_record *r, size_t n,
		   uint64_t now)
{
	struct source *s = &o->s[src];
	size_t done = s->count ? 0 : prefix(o, src, r, n);

	if (done) {
		release_records(o, src, r, done);
		o->stats.direct += done;
	}
	for (size_t i = done; i < n; i++)
		enqueue(o, src, r + i, now);
	for (size_t i = 0; i < n; i++)
		if (r[i].ev.ts > s->mark)
			s->mark = r[i].ev.ts;
}

void gt_order_watermark(struct gt_order *o, unsigned int src, uint64_t ts)
{
	if (ts > o->s[src].mark)
		o->s[src].mark = ts;
}

uint64_t gt_order_mark(const struct gt_order *o, unsigned int src)
{
	return o->s[src].mark;
}

void gt_order_busy(struct gt_order *o, unsigned int src, bool busy)
{
	o->s[src].busy = busy;
}

void gt_order_begin(struct gt_order *o, unsigned int src, bool recording)
{
	struct source *s = &o->s[src];

	/* records of an earlier run go out in the group they belonged to */
	if (s->recording != recording)
		force(o, src, s->count, &o->stats.forced);
	s->recording = recording;
	s->active = true;
	s->busy = false;
	s->mark = 0;
}

void gt_order_end(struct gt_order *o, unsigned int src)
{
	o->s[src].active = false;
}

void gt_order_rewind(struct gt_order *o, unsigned int src)
{
	struct source *s = &o->s[src];
	struct group *g = &o->group[s->recording];

	force(o, src, s->count, &o->stats.forced);
	s->mark = 0;
	g->released = 0;
	g->watermark = 0;
}

/* Releases live records that have waited long enough, and all older ones. */
static void release_due(struct gt_order *o, uint64_t now)
{
	for (unsigned int i = 0; i < o->n; i++) {
		struct source *s = &o->s[i];
		size_t n = 0;

		while (n < s->count && s->due[(s->head + n) & (s->cap - 1)] <= now)
			n++;
		force(o, i, n, &o->stats.held);
	}
}

/*
 * The time up to which the group is complete: no queued and no expected record is older. A silent live
 * source is taken to be complete up to the time that others would wait for it. A busy one gets more time,
 * since its next records are not of now.
 */
static bool complete_to(const struct gt_order *o, bool recording, uint64_t now, uint64_t *ts)
{
	bool any = false;

	*ts = UINT64_MAX;
	for (unsigned int i = 0; i < o->n; i++) {
		const struct source *s = &o->s[i];
		uint64_t hold = s->busy ? GT_ORDER_BUSY_NS : GT_ORDER_HOLD_NS, t;

		if (s->recording != recording || (!s->count && !s->active))
			continue;
		t = s->count ? head_ts(s) : s->mark;
		if (!s->count && !recording && now > hold && t < now - hold)
			t = now - hold;
		if (t < *ts)
			*ts = t;
		any = true;
	}
	return any;
}

static void emit_watermark(struct gt_order *o, bool recording, uint64_t now)
{
	struct group *g = &o->group[recording];
	uint64_t ts;

	if (!complete_to(o, recording, now, &ts) || ts <= g->watermark)
		return;
	g->watermark = ts;
	o->ops.watermark(o->ops.arg, ts);
}

uint64_t gt_order_run(struct gt_order *o, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	if (o->pending) {
		release(o, false);
		release(o, true);
		release_due(o, now);
		release(o, false);
	}
	emit_watermark(o, false, now);
	emit_watermark(o, true, now);
	for (unsigned int i = 0; i < o->n; i++)
		if (o->s[i].count && o->s[i].due[o->s[i].head] < next)
			next = o->s[i].due[o->s[i].head];
	return next == UINT64_MAX ? 0 : next;
}

void gt_order_flush(struct gt_order *o)
{
	int i;

	for (int recording = 0; recording < 2; recording++)
		while ((i = oldest(o, recording)) >= 0) {
			struct bound b = bound_of(o, (unsigned int)i, false);
			size_t n = ready(o, (unsigned int)i, &b);

			pop(o, (unsigned int)i, n ? n : 1);
		}
}

size_t gt_order_pending(const struct gt_order *o)
{
	return o->pending;
}

const struct gt_order_stats *gt_order_stats(const struct gt_order *o)
{
	return &o->stats;
}
