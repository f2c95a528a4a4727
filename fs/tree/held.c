/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time on a ring is cut into pieces with one holder each. A sweep along them adds up what each
 * holder has held so far; what one held during a wait is the sum at its end less that at its begin.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/event.h"
#include "blame.h"

_Static_assert(GT_HELD_KINDS <= 64, "work.seen");

/* Instead of a party */
#define NOBODY	   (GT_NONE32 - 1)
#define UNREPORTED (GT_NONE32 - 2)

/** struct piece - from the end of the one before it to @end, @who held the ring */
struct piece {
	uint64_t end;
	uint32_t who;
};

/** struct instant - a job begins or ends to wait for the ring, before or after another kept it */
struct instant {
	uint64_t at;
	uint32_t job;
	bool ends, kept;
};

/** struct wait - of a job, within the window: for the ring but from @kept_from to @kept_to */
struct wait {
	uint64_t from, kept_from, kept_to, to;
};

/** struct work - what is freed in the end */
struct work {
	const struct gt_held_ring *r;
	const struct gt_held_job **order; /* those with a known start, by it */
	uint64_t *quiet; /* of each and all behind it, and the ring: the earliest */
	struct piece *piece;
	struct instant *instant;
	uint64_t *seen; /* of each job that was kept: a bit for each who held the ring before */
	uint32_t norder, npieces, ninstants;
};

static void work_done(struct work *w)
{
	free(w->order);
	free(w->quiet);
	free(w->piece);
	free(w->instant);
	free(w->seen);
}

static uint64_t clip(uint64_t t, const struct gt_held_ring *r)
{
	return t < r->from ? r->from : t > r->until ? r->until : t;
}

uint64_t gt_held_waited(const struct gt_held_ring *r, const struct gt_held_job *j)
{
	uint64_t from = clip(j->wait_from, r), to = clip(j->wait_to, r);

	return from < to ? to - from : 0;
}

static uint64_t between(uint64_t t, uint64_t from, uint64_t to)
{
	return t < from ? from : t > to ? to : t;
}

static struct wait wait_of(const struct gt_held_ring *r, const struct gt_held_job *j)
{
	struct wait w = { .from = clip(j->wait_from, r), .to = clip(j->wait_to, r) };

	if (w.to < w.from)
		w.to = w.from;
	w.kept_from = between(j->kept_from, w.from, w.to);
	w.kept_to = between(j->kept_to, w.kept_from, w.to);
	return w;
}

uint64_t gt_held_kept(const struct gt_held_ring *r, const struct gt_held_job *j)
{
	struct wait w = wait_of(r, j);

	return w.kept_to - w.kept_from;
}

/* Order ----------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct gt_held_job *x = *(const struct gt_held_job *const *)a;
	const struct gt_held_job *y = *(const struct gt_held_job *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int by_instant(const void *a, const void *b)
{
	const struct instant *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Jobs of a ring that ends them in order need no sorting */
static int put_in_order(struct work *w)
{
	const struct gt_held_ring *r = w->r;
	bool sorted = true;
	uint64_t quiet = r->quiet;

	w->order = malloc((r->n + 1ULL) * sizeof(*w->order));
	w->quiet = malloc((r->n + 1ULL) * sizeof(*w->quiet));
	if (!w->order || !w->quiet)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->job[i].start == GT_NONE64)
			continue;
		w->order[w->norder] = &r->job[i];
		sorted &=
			!w->norder || by_start(&w->order[w->norder - 1], &w->order[w->norder]) < 0;
		w->norder++;
	}
	if (!sorted)
		qsort(w->order, w->norder, sizeof(*w->order), by_start);
	w->quiet[w->norder] = quiet;
	for (uint32_t i = w->norder; i--; w->quiet[i] = quiet)
		if (w->order[i]->quiet < quiet)
			quiet = w->order[i]->quiet;
	return 0;
}

/* Pieces ---------------------------------------------------------------------------------- */

static uint64_t piece_end(const struct work *w)
{
	return w->npieces ? w->piece[w->npieces - 1].end : w->r->from;
}

static void add_piece(struct work *w, uint64_t end, uint32_t who)
{
	end = clip(end, w->r);
	if (end <= piece_end(w))
		return;
	if (w->npieces && w->piece[w->npieces - 1].who == who)
		w->piece[w->npieces - 1].end = end;
	else
		w->piece[w->npieces++] = (struct piece){ end, who };
}

/* Up to @end nobody is seen to hold it, and since @quiet nobody does */
static void add_gap(struct work *w, uint64_t end, uint64_t quiet)
{
	add_piece(w, quiet < end ? quiet : end, UNREPORTED);
	add_piece(w, end, NOBODY);
}

static int cut_pieces(struct work *w)
{
	w->piece = malloc((3ULL * w->norder + 2) * sizeof(*w->piece));
	if (!w->piece)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->norder; i++) {
		add_gap(w, w->order[i]->start, w->quiet[i]);
		add_piece(w, w->order[i]->end, w->order[i]->who);
	}
	add_gap(w, w->r->until, w->quiet[w->norder]);
	return 0;
}

/* Lanes ----------------------------------------------------------------------------------- */

static void lane_for(struct gt_held_lanes *l, const struct gt_held_party *party, uint32_t who)
{
	unsigned int at = l->n;

	while (at && party[who].held > party[l->who[at - 1]].held)
		at--;
	if (at == GT_HELD_LANES)
		return;
	if (l->n < GT_HELD_LANES)
		l->n++;
	memmove(&l->who[at + 1], &l->who[at], (l->n - 1 - at) * sizeof(*l->who));
	l->who[at] = who;
}

static void give_lanes(const struct work *w, struct gt_held_party *party, struct gt_held_lanes *l)
{
	uint64_t from = w->r->from;

	for (uint32_t i = 0; i < w->npieces; from = w->piece[i++].end)
		if (w->piece[i].who < UNREPORTED)
			party[w->piece[i].who].held += w->piece[i].end - from;
	l->n = 0;
	for (uint32_t i = 0; i < w->npieces; i++) {
		uint32_t who = w->piece[i].who;

		if (who >= UNREPORTED || party[who].lane == GT_HELD_OTHERS)
			continue;
		party[who].lane = GT_HELD_OTHERS; /* looked at */
		lane_for(l, party, who);
	}
	for (unsigned int i = 0; i < l->n; i++)
		party[l->who[i]].lane = (uint8_t)i;
}

static unsigned int lane_of(const struct gt_held_party *party, uint32_t who)
{
	return who == NOBODY ? GT_HELD_IDLE : who == UNREPORTED ? GT_HELD_UNKNOWN : party[who].lane;
}

/* The sweep ------------------------------------------------------------------------------- */

static int list_instants(struct work *w, const struct gt_held_party *party)
{
	const struct gt_held_ring *r = w->r;
	struct wait wait;

	w->instant = malloc((4ULL * r->n + 1) * sizeof(*w->instant));
	w->seen = calloc(r->n + 1ULL, sizeof(*w->seen));
	if (!w->instant || !w->seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct gt_held_job *j = &r->job[i];

		if (!party[j->who].waiter || !gt_held_waited(r, j))
			continue;
		wait = wait_of(r, j);
		w->instant[w->ninstants++] = (struct instant){ wait.from, i, false, false };
		w->instant[w->ninstants++] = (struct instant){ wait.to, i, true, false };
		if (wait.kept_from == wait.kept_to)
			continue;
		w->instant[w->ninstants++] = (struct instant){ wait.kept_from, i, true, true };
		w->instant[w->ninstants++] = (struct instant){ wait.kept_to, i, false, true };
	}
	qsort(w->instant, w->ninstants, sizeof(*w->instant), by_instant);
	return 0;
}

/**
 * struct sweep - as time goes on
 * @now: so far; @piece: the one that it is in
 * @sum: what each has held; @last: until when, at last
 */
struct sweep {
	uint64_t now;
	const struct piece *piece;
	uint64_t sum[GT_HELD_KINDS], last[GT_HELD_KINDS];
};

static void sweep_to(struct sweep *s, const struct gt_held_party *party, uint64_t t)
{
	while (s->now < t) {
		uint64_t end = s->piece->end < t ? s->piece->end : t;
		unsigned int lane = lane_of(party, s->piece->who);

		s->sum[lane] += end - s->now;
		s->last[lane] = s->now = end;
		if (end == s->piece->end)
			s->piece++;
	}
}

/*
 * Differences of sums are right whatever wraps around before the last is added. Of a job that was
 * kept, @seen says who held the ring before that: they count for one job though they do again.
 */
static void note_instant(const struct sweep *s, const struct instant *i, const struct wait *wait,
			 uint64_t *seen, struct gt_held_waiter *w)
{
	bool kept = wait->kept_from < wait->kept_to;
	uint64_t from = kept && !i->kept ? wait->kept_to : wait->from;

	if (!i->ends) {
		for (unsigned int k = 0; k < GT_HELD_KINDS; k++)
			w->ns[k] -= s->sum[k];
		return;
	}
	for (unsigned int k = 0; k < GT_HELD_KINDS; k++) {
		uint64_t bit = 1ULL << k;

		w->ns[k] += s->sum[k];
		if (s->last[k] <= from || *seen & bit)
			continue;
		w->jobs[k]++;
		*seen |= i->kept ? bit : 0;
	}
	if (i->kept) {
		w->ns[GT_HELD_KEPT] += wait->kept_to - wait->kept_from;
		w->jobs[GT_HELD_KEPT]++;
	}
}

int gt_held_by(const struct gt_held_ring *r, struct gt_held_party *party,
	       struct gt_held_waiter *waiter, struct gt_held_lanes *lanes)
{
	__attribute__((cleanup(work_done))) struct work w = { .r = r };
	struct sweep s = { .now = r->from };

	if (put_in_order(&w) || cut_pieces(&w) || list_instants(&w, party))
		return -ENOMEM;
	give_lanes(&w, party, lanes);
	s.piece = w.piece;
	for (uint32_t i = 0; i < w.ninstants; i++) {
		uint32_t n = w.instant[i].job;
		const struct gt_held_job *j = &r->job[n];
		struct wait wait = wait_of(r, j);

		sweep_to(&s, party, w.instant[i].at);
		note_instant(&s, &w.instant[i], &wait, &w.seen[n],
			     &waiter[party[j->who].waiter - 1]);
	}
	return 0;
}

/* The longest ----------------------------------------------------------------------------- */

#define MAX_LOOKS (1U << 26)

/**
 * struct longest - of one job's wait, so far
 * @who, @ns: the process that held the ring longest; @unknown: ns of which nobody knows
 */
struct longest {
	uint32_t who;
	uint64_t ns, unknown;
};

/* The first piece that ends after @t */
static const struct piece *piece_at(const struct work *w, uint64_t t)
{
	uint32_t from = 0, to = w->npieces;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (w->piece[mid].end <= t)
			from = mid + 1;
		else
			to = mid;
	}
	return &w->piece[from];
}

/* Adds what each held from @from to @to. Return: pieces looked at */
static uint32_t add_held(const struct work *w, struct gt_held_party *party, uint64_t from,
			 uint64_t to, struct longest *l)
{
	const struct piece *p = piece_at(w, from), *first = p;

	for (; from < to; from = p++->end) {
		uint64_t ns = (p->end < to ? p->end : to) - from;

		if (p->who == UNREPORTED)
			l->unknown += ns;
		if (p->who >= UNREPORTED)
			continue;
		party[p->who].held += ns;
		if (party[p->who].held > l->ns)
			*l = (struct longest){ p->who, party[p->who].held, l->unknown };
	}
	return (uint32_t)(p - first);
}

static void forget_held(const struct work *w, struct gt_held_party *party, uint64_t from,
			uint64_t to)
{
	for (const struct piece *p = piece_at(w, from); from < to; from = p++->end)
		if (p->who < UNREPORTED)
			party[p->who].held = 0;
}

/* Return: pieces looked at */
static uint32_t longest_of(const struct work *w, struct gt_held_party *party,
			   const struct gt_held_job *j, uint32_t *longest)
{
	struct wait wait = wait_of(w->r, j);
	struct longest l = { .who = GT_NONE32 };
	uint64_t kept = wait.kept_to - wait.kept_from;
	uint32_t looks;

	/* what lies outside the window */
	l.unknown = (j->wait_to > j->wait_from ? j->wait_to - j->wait_from : 0) -
		    gt_held_waited(w->r, j);
	looks = add_held(w, party, wait.from, wait.kept_from, &l);
	looks += add_held(w, party, wait.kept_to, wait.to, &l);
	forget_held(w, party, wait.from, wait.kept_from);
	forget_held(w, party, wait.kept_to, wait.to);
	if (kept && j->kept_pid == GT_NONE32)
		l.unknown += kept;
	else if (kept > l.ns)
		l = (struct longest){ GT_HELD_OWNER, kept, l.unknown };
	*longest = l.ns > l.unknown ? l.who : GT_NONE32;
	return looks;
}

int gt_held_longest(const struct gt_held_ring *r, struct gt_held_party *party, uint32_t *longest)
{
	__attribute__((cleanup(work_done))) struct work w = { .r = r };
	uint32_t looks = 0;

	if (put_in_order(&w) || cut_pieces(&w))
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct gt_held_job *j = &r->job[i];

		longest[i] = GT_NONE32;
		if (party[j->who].waiter && looks < MAX_LOOKS && gt_held_waited(r, j))
			looks += longest_of(&w, party, j, &longest[i]);
	}
	return 0;
}
