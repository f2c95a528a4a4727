/* SPDX-License-Identifier: GPL-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"

#define TRIES	 5
#define JUMP_NS	 1000u	     /* less is the noise of measuring */
#define APART_NS 1000000000u /* points of a line */
#define SLEW	 2000u	     /* 1/SLEW: the rate that adjtimex(2) gives at most, 500 ppm */

static uint64_t plus(uint64_t ts, int64_t by)
{
	if (by < 0)
		return ts > 0 - (uint64_t)by ? ts - (0 - (uint64_t)by) : 0;
	return ts < UINT64_MAX - (uint64_t)by ? ts + (uint64_t)by : UINT64_MAX;
}

static uint64_t apart(int64_t a, int64_t b)
{
	return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

/* Jumps ---------------------------------------------------------------------------------------- */

static void better(struct gt_clock_piece *p, int64_t offset, uint64_t uncertainty)
{
	if (uncertainty >= p->uncertainty)
		return;
	p->offset = offset;
	p->uncertainty = uncertainty;
}

/*
 * The jump was after the last measurement. A jump wakes the host, which measures at once: so a time that
 * may belong to either piece is taken for the older one's. If the clock went back, the newer piece is
 * used from the present time on.
 */
static struct gt_clock_piece jumped(const struct gt_clock_steps *s, uint64_t at, uint64_t mono,
				    int64_t offset)
{
	const struct gt_clock_piece *last = &s->piece[s->n - 1];
	struct gt_clock_piece p = { .offset = offset, .since = mono };

	p.jump = apart(offset, last->offset);
	p.from = offset < last->offset ? plus(plus(mono, -last->offset), 1) : at;
	p.doubt = plus(s->looked, -offset);
	return p;
}

bool gt_clock_steps_add(struct gt_clock_steps *s, uint64_t at, uint64_t mono, uint64_t uncertainty)
{
	int64_t offset = (int64_t)(mono - at);
	struct gt_clock_piece p = { .offset = offset }, *last = &s->piece[s->n ? s->n - 1 : 0];
	bool first = !s->n;

	if (!first &&
	    apart(offset, last->offset) <= JUMP_NS + 2 * (uncertainty + last->uncertainty)) {
		better(last, offset, uncertainty);
		s->looked = mono;
		return false;
	}
	if (!first)
		p = jumped(s, at, mono, offset);
	p.uncertainty = uncertainty;
	if (s->n == GT_CLOCK_PIECES)
		memmove(s->piece, s->piece + 1, --s->n * sizeof(*s->piece));
	s->piece[s->n++] = p;
	s->looked = mono;
	s->changes += !first;
	return !first;
}

/* @at as CLOCK_MONOTONIC; @uncertainty: ns, may be NULL */
static uint64_t steps_mono(const struct gt_clock_steps *s, uint64_t at, uint64_t *uncertainty)
{
	static const struct gt_clock_piece none = { .uncertainty = GT_NONE64 };
	const struct gt_clock_piece *p = s->n ? &s->piece[0] : &none, *next = NULL;

	for (unsigned int i = s->n; i-- > 1;) {
		if (at >= s->piece[i].from) {
			p = &s->piece[i];
			break;
		}
		next = &s->piece[i];
	}
	if (uncertainty)
		*uncertainty = next && at >= next->doubt && next->jump > p->uncertainty
				       ? next->jump
				       : p->uncertainty;
	return plus(at, p->offset);
}

/* Rates ---------------------------------------------------------------------------------------- */

/* Drops every other point, but not the newest. */
static void thin(struct gt_clock_line *l)
{
	unsigned int n = 0;

	for (unsigned int i = 1; i < l->n; i += 2)
		l->point[n++] = l->point[i];
	l->n = n;
}

void gt_clock_line_add(struct gt_clock_line *l, uint64_t at, uint64_t mono, uint64_t uncertainty)
{
	struct gt_clock_point p = { at, mono, uncertainty }, *last;

	if (l->n && (at <= l->point[l->n - 1].at || mono <= l->point[l->n - 1].mono))
		l->n = 0; /* the counter was reset */
	last = l->n ? &l->point[l->n - 1] : NULL;
	if (last && mono - last->mono < APART_NS) {
		if (l->n > 1 && uncertainty < last->uncertainty)
			*last = p;
		return;
	}
	if (l->n == GT_CLOCK_POINTS)
		thin(l);
	l->point[l->n++] = p;
}

/* From @a at the rate between @a and @b */
static uint64_t along(const struct gt_clock_point *a, const struct gt_clock_point *b, uint64_t at)
{
	__int128 ran = (__int128)at - a->at, rate = b->mono - a->mono;
	__int128 mono = a->mono + ran * rate / (__int128)(b->at - a->at);

	return mono < 0 ? 0 : mono > UINT64_MAX ? UINT64_MAX : (uint64_t)mono;
}

uint64_t gt_clock_line_mono(const struct gt_clock_line *l, uint64_t at, uint64_t *uncertainty)
{
	struct gt_clock_point one, two;
	uint64_t mono, far = 0;
	unsigned int i = 1;

	if (uncertainty)
		*uncertainty = GT_NONE64;
	if (!l->n)
		return at;
	while (i + 1 < l->n && at > l->point[i].at)
		i++;
	one = l->point[i - 1];
	two = l->n > 1 ? l->point[i] : (struct gt_clock_point){ one.at + 1, one.mono + 1, 0 };
	mono = along(&one, &two, at);
	if (at < one.at)
		far = one.mono - mono;
	else if (l->n == 1 || at > two.at)
		far = mono - (l->n > 1 ? two.mono : one.mono);
	if (uncertainty)
		*uncertainty =
			(one.uncertainty > two.uncertainty ? one.uncertainty : two.uncertainty) +
			far / SLEW;
	return mono;
}

/* This machine -------------------------------------------------------------------------------- */

static const struct {
	clockid_t id;
	const char *name;
} clocks[GT_CLOCK_IDS] = {
	[GT_CLOCK_ID_MONOTONIC] = { CLOCK_MONOTONIC, "CLOCK_MONOTONIC" },
	[GT_CLOCK_ID_BOOTTIME] = { CLOCK_BOOTTIME, "CLOCK_BOOTTIME" },
	[GT_CLOCK_ID_MONOTONIC_RAW] = { CLOCK_MONOTONIC_RAW, "CLOCK_MONOTONIC_RAW" },
	[GT_CLOCK_ID_REALTIME] = { CLOCK_REALTIME, "CLOCK_REALTIME" },
};

const char *gt_clock_name(enum gt_clock_id clock)
{
	return clock < GT_CLOCK_IDS ? clocks[clock].name : "-";
}

static uint64_t read_clock(void *arg, enum gt_clock_id clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clocks[clock].id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The best of several tries: @clock between two readings of CLOCK_MONOTONIC */
static struct gt_clock_point measure(const struct gt_clocks *c, enum gt_clock_id clock)
{
	struct gt_clock_point best = { .uncertainty = GT_NONE64 };

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = c->read(c->arg, GT_CLOCK_ID_MONOTONIC);
		uint64_t at = c->read(c->arg, clock);
		uint64_t took = c->read(c->arg, GT_CLOCK_ID_MONOTONIC) - before;

		if ((took + 1) / 2 < best.uncertainty)
			best = (struct gt_clock_point){ at, before + took / 2, (took + 1) / 2 };
	}
	return best;
}

bool gt_clocks_measure(struct gt_clocks *c)
{
	struct gt_clock_point boot = measure(c, GT_CLOCK_ID_BOOTTIME);
	struct gt_clock_point real = measure(c, GT_CLOCK_ID_REALTIME);
	struct gt_clock_point raw = measure(c, GT_CLOCK_ID_MONOTONIC_RAW);
	bool slept = gt_clock_steps_add(&c->boottime, boot.at, boot.mono, boot.uncertainty);
	bool set = gt_clock_steps_add(&c->realtime, real.at, real.mono, real.uncertainty);

	gt_clock_line_add(&c->raw, raw.at, raw.mono, raw.uncertainty);
	return slept || set;
}

void gt_clocks_init(struct gt_clocks *c, uint64_t (*read)(void *arg, enum gt_clock_id clock),
		    void *arg)
{
	memset(c, 0, sizeof(*c));
	c->read = read ? read : read_clock;
	c->arg = arg;
	gt_clocks_measure(c);
}

uint64_t gt_clocks_mono(const struct gt_clocks *c, enum gt_clock_id clock, uint64_t ts,
			uint64_t *uncertainty)
{
	switch (clock) {
	case GT_CLOCK_ID_BOOTTIME:
		return steps_mono(&c->boottime, ts, uncertainty);
	case GT_CLOCK_ID_REALTIME:
		return steps_mono(&c->realtime, ts, uncertainty);
	case GT_CLOCK_ID_MONOTONIC_RAW:
		return gt_clock_line_mono(&c->raw, ts, uncertainty);
	default:
		if (uncertainty)
			*uncertainty = clock == GT_CLOCK_ID_MONOTONIC ? 0 : GT_NONE64;
		return ts;
	}
}

int64_t gt_clocks_offset(const struct gt_clocks *c, enum gt_clock_id clock, uint64_t *uncertainty)
{
	uint64_t now = clock < GT_CLOCK_IDS ? c->read(c->arg, clock) : 0;

	return (int64_t)(gt_clocks_mono(c, clock, now, uncertainty) - now);
}

size_t gt_clocks_lines(const struct gt_clocks *c, enum gt_clock_id clock, char *buf, size_t len)
{
	uint64_t uncertainty;
	int64_t offset = gt_clocks_offset(c, clock, &uncertainty);
	int n = snprintf(buf, len,
			 "clock %s\nclock_offset_ns %lld\nclock_uncertainty_ns %llu\n"
			 "clock_measured between_readings\n",
			 gt_clock_name(clock), (long long)offset, (unsigned long long)uncertainty);

	return n < 0 || !len ? 0 : (size_t)n < len ? (size_t)n : len - 1;
}
