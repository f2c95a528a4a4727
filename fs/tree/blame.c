/* SPDX-License-Identifier: GPL-2.0 */
/*
 * blame: who waited, where, and for whom. A row for each process on each ring and each that held
 * the ring meanwhile; the rows of a waiter add up to what its jobs waited in the last seconds.
 * While a dependency keeps a job it does not wait for its ring, but for whoever has the other job.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "blame.h"

static void gt_gather_flights(struct gt_gathered *g, struct gt_gathered_ring *r);

/*
 * Finished jobs of the last seconds, for blame: a walk along the history without the model's lock,
 * and all jobs sorted by ring.
 */

/* Late ones may lie between newer ones: so many older ones in a row, and there are no more */
#define OLDER_IN_A_ROW 256

void gt_gathered_done(struct gt_gathered *g)
{
	free(g->ring);
	free(g->job);
	free(g->party);
	free(g->held);
	free(g->slot);
}

/* Parties --------------------------------------------------------------------------------- */

/* With a salt, for whoever wrote a recording chose what is in it */
static uint32_t hash(const struct gt_gathered *g, const struct gt_gathered_party *p)
{
	uint64_t who =
		gt_mix(((uint64_t)p->uid << 32 | p->pid) ^ g->salt[0], p->first_ts ^ g->salt[1]);

	return (uint32_t)gt_mix(who ^ p->ring, g->salt[0] | 1) & (g->slots - 1);
}

static bool same(const struct gt_gathered_party *a, const struct gt_gathered_party *b)
{
	return a->pid == b->pid && a->first_ts == b->first_ts && a->uid == b->uid &&
	       a->ring == b->ring;
}

static uint32_t party_of(struct gt_gathered *g, const struct gt_gathered_party *party)
{
	uint32_t at = hash(g, party);

	for (; g->slot[at]; at = (at + 1) & (g->slots - 1))
		if (same(&g->party[g->slot[at] - 1], party))
			break;
	if (!g->slot[at]) {
		g->party[g->parties] = *party;
		g->held[g->parties] = (struct gt_held_party){ 0 };
		g->slot[at] = ++g->parties;
	}
	return g->slot[at] - 1;
}

/** gt_gather_add() - one job of a process, and its party, which is found or made; there is room */
static void gt_gather_add(struct gt_gathered *g, const struct gt_gathered_party *party,
			  const struct gt_held_job *j)
{
	g->job[g->njobs] = *j;
	g->job[g->njobs++].who = party_of(g, party);
}

/* The history ----------------------------------------------------------------------------- */

/**
 * struct walk - along the history's jobs in the order in which they ended, with and without a
 * record
 * @i, @k: where it is among those with one, and those without: before these, or behind them
 * @holes: it goes on where those without are not there any more; @bare_end: it has come there
 */
struct walk {
	struct gt_fins fins, bare;
	uint64_t i, k;
	bool holes, bare_end;
};

static void walk_begin(struct walk *w, const struct gt_gathered *g)
{
	gt_fins_init(&w->fins, g->app->log);
	gt_fins_init(&w->bare, g->app->log);
	w->fins.rings = g->bits;
	w->bare.bare = true;
	w->i = w->k = 0;
	w->holes = g->all;
	w->bare_end = false;
}

/** struct step - a job of the history; @nr: in its order; @over: it had not ended at that number */
struct step {
	const struct gt_finished *job;
	uint64_t nr, at;
	bool bare;
};

/* What is without a record comes before the job with one that has its number */
static struct step recorded(const struct gt_finished *j, uint64_t i)
{
	return (struct step){ j, gt_gather_nr(i), i, false };
}

static struct step unrecorded(const struct gt_finished *j, uint64_t k)
{
	return (struct step){ j, gt_gather_nr(j->ioctl) - 1, k, true };
}

/* The one before. NULL: there is none, or it is not there any more */
static struct step step_back(struct walk *w)
{
	const struct gt_log *l = w->fins.l;
	const struct gt_finished *j = NULL, *b = NULL;

	w->i = gt_fins_before(&w->fins, w->i, gt_log_fin_from(l));
	if (!w->bare_end && w->k > gt_log_bare_from(l)) {
		b = gt_fins_get(&w->bare, w->k - 1, true);
		w->bare_end = !b;
		if (!b && !w->holes)
			return (struct step){ .job = NULL };
	}
	if (b && b->ioctl >= w->i) {
		w->k--;
		return unrecorded(b, w->k);
	}
	if (w->i)
		j = gt_fins_get(&w->fins, w->i - 1, true);
	if (!j)
		return (struct step){ .job = NULL };
	w->i--;
	return recorded(j, w->i);
}

/* The next, before @head and @bare. @gap: some are not there any more. NULL: there is none */
static struct step step_on(struct walk *w, uint64_t head, uint64_t bare, bool *gap)
{
	const struct gt_finished *b = NULL, *j;

	while (w->k < bare && !(b = gt_fins_get(&w->bare, w->k, false))) {
		w->k = w->bare.from > w->k ? w->bare.from : w->k + 1;
		*gap |= !w->holes;
	}
	for (;; w->i++) {
		w->i = gt_fins_after(&w->fins, w->i, head);
		if (b && b->ioctl <= w->i)
			return unrecorded(b, w->k++);
		if (w->i >= head)
			break;
		j = gt_fins_get(&w->fins, w->i, false);
		if (j)
			return recorded(j, w->i++);
		*gap = true; /* overwritten, or cleared, since */
	}
	return b ? unrecorded(b, w->k++) : (struct step){ .job = NULL };
}

static struct gt_gathered_ring *ring_of(const struct gt_gathered *g, const struct step *s)
{
	const struct gt_finished *j = s->job;
	struct gt_gathered_ring *r;

	if (j->gpu >= GT_MAX_GPUS || g->base[j->gpu] == GT_NONE32 || j->ring >= g->nrings[j->gpu])
		return NULL;
	r = &g->ring[g->base[j->gpu] + j->ring];
	return s->at < (s->bare ? r->bare_head : r->head) ? r : NULL;
}

/**
 * find_first() - goes back to the first one to look at: so that the window is covered, and of each
 *	ring the last job before it, which shows whether any is missing between them
 */
static void find_first(struct gt_gathered *g, struct walk *w)
{
	const struct gt_log *l = g->app->log;
	unsigned int older = 0, open = 0;
	uint64_t oldest = 0;
	uint32_t n = 0;

	while (n < g->jobs) {
		struct step s = step_back(w);
		const struct gt_finished *j = s.job;
		struct gt_gathered_ring *r;
		bool inside;

		if (!j)
			break;
		r = ring_of(g, &s);
		inside = j->end >= g->from;
		n += r != NULL;
		oldest = j->end;
		older = inside ? 0 : older + 1;
		if (r && !r->closed) {
			open += inside && !r->inside;
			r->inside |= inside;
			r->closed = !inside || j->nth == 1;
			open -= r->closed && r->inside;
		}
		if (older >= OLDER_IN_A_ROW && !open)
			return;
	}
	/* at the beginning, or where a clear was, there is no more; else it is not kept */
	if (oldest > g->from &&
	    ((w->i && w->i != gt_log_fin_from(l)) || (!w->holes && w->k > gt_log_bare_from(l)))) {
		g->from = oldest;
		g->cut = true;
	}
}

/* The ring's numbers between those looked at so far and @nth are missing. @inside: all that ended
 * since is of the window */
static void count_missing(struct gt_gathered_ring *r, uint32_t nth, bool inside)
{
	int32_t n = (int32_t)(nth - r->counted - 1);

	if (n < 0) { /* it came late */
		r->missing -= r->missing > 0;
		return;
	}
	*(inside ? &r->missing : &r->maybe) += (uint32_t)n;
	r->counted = nth;
}

/*
 * Since when nothing else had ended on the ring when @j did: GT_NONE64 if any is missing before it,
 * as what was not recorded.
 */
static uint64_t link_to(struct gt_gathered_ring *r, const struct gt_finished *j, uint64_t ended)
{
	bool next = r->linked ? j->nth == r->nth + 1 : j->nth == 1;
	uint64_t quiet = next ? r->ended : GT_NONE64;

	if (!next) /* jobs that are missing between may have ended at any time up to then */
		ended = j->end;
	if (ended > r->ended)
		r->ended = ended;
	r->nth = j->nth;
	r->linked = true;
	return quiet;
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return what == GT_NONE64 ? from : what < from ? from - what : 0;
}

static void add_finished(struct gt_gathered *g, struct gt_gathered_ring *r,
			 const struct gt_finished *j, uint64_t nr)
{
	uint64_t ended = less(j->end, j->complete);
	struct gt_held_job h = { .start = GT_NONE64, .end = ended, .nr = nr };
	struct gt_dependency d;
	struct gt_gathered_party party = { .ring = (uint32_t)(r - g->ring),
					   .pid = j->pid,
					   .uid = j->uid,
					   .first_ts = j->first_ts,
					   .ts = j->end };

	count_missing(r, j->nth, r->inside);
	r->inside = j->end >= g->from;
	h.quiet = link_to(r, j, ended);
	if (j->end < g->from)
		return;
	r->listed++;
	if (j->exec != GT_NONE64) {
		h.start = h.wait_to = less(ended, j->exec);
		h.wait_from = less(less(h.start, j->hw_wait), j->queue);
	} else if (j->total != GT_NONE64 && j->queue != GT_NONE64) {
		h.wait_from = less(j->end, j->total);
		h.wait_to = h.wait_from + j->queue;
	}
	if (gt_depend_get(g->app->model, j->dep, &d) && d.waited != GT_NONE64) {
		h.kept_from = d.since;
		h.kept_to = d.since + d.waited;
		h.kept_pid = d.pid;
		h.kept_uid = d.uid;
	}
	memcpy(party.comm, j->comm, sizeof(party.comm));
	g->finished++;
	gt_gather_add(g, &party, &h);
}

/*
 * Of the ring's completions, those that were nowhere. What may be of the window or of before is
 * bounded by what the ring counts by the second.
 */
static void add_unlisted(struct gt_gathered *g, struct gt_gathered_ring *r)
{
	uint64_t known;

	if ((int32_t)(r->completed - r->counted) > 0)
		count_missing(r, r->completed + 1, r->inside);
	known = r->listed + r->missing;
	/* nor is it known how many there are before the window that others have cut */
	if (r->maybe && !g->cut && r->of_window > known) {
		uint64_t more = r->of_window - known;

		r->missing += more < r->maybe ? more : r->maybe;
	}
	g->unlisted += r->missing;
}

static void walk_history(struct gt_gathered *g)
{
	uint64_t head = 0, bare = 0;
	bool gap = false;
	struct step s;
	struct walk w;

	for (uint32_t k = 0; k < g->rings; k++) {
		head = g->ring[k].head > head ? g->ring[k].head : head;
		bare = g->ring[k].bare_head > bare ? g->ring[k].bare_head : bare;
	}
	walk_begin(&w, g);
	w.i = head;
	w.k = bare;
	find_first(g, &w);
	for (uint32_t k = 0; k < g->rings; k++)
		g->ring[k].inside = false;
	while ((s = step_on(&w, head, bare, &gap)).job) {
		const struct gt_finished *j = s.job;
		struct gt_gathered_ring *r = ring_of(g, &s);

		if (gap && j->end > g->from) {
			g->from = j->end;
			g->cut = true;
		}
		gap = false;
		if (r)
			add_finished(g, r, j, s.nr);
	}
	for (uint32_t k = 0; k < g->rings; k++) /* of others nothing is known */
		add_unlisted(g, &g->ring[k]);
}

/* All together ---------------------------------------------------------------------------- */

static bool asked_for(const struct gt_show *s, unsigned int gpu, unsigned int ring)
{
	return (s->obj.gpu == GT_NONE16 || s->obj.gpu == gpu) &&
	       (s->obj.kind != GT_DIR_RING || s->obj.ring == ring);
}

static int list_rings(struct gt_gathered *g, const struct gt_show *s)
{
	const struct gt_model *m = s->app->model;
	uint32_t life[GT_MAX_GPUS];

	{
		GT_MODEL_LOCK(s->app->model);
		if (s->obj.kind != GT_DIR_ROOT && s->obj.gpu != GT_NONE16 && !gt_obj_gpu(s))
			return -ENODEV;
		for (unsigned int i = 0; i < GT_MAX_GPUS; i++) {
			g->base[i] = GT_NONE32;
			if (i >= m->ngpus || m->gpus[i]->gone || !asked_for(s, i, s->obj.ring))
				continue;
			life[i] = m->gpus[i]->life;
			g->nrings[i] = m->gpus[i]->nrings;
			g->base[i] = g->rings;
			g->rings += g->nrings[i];
		}
		g->from = m->cleared;
		g->until = m->now;
	}
	g->ring = calloc(g->rings + 1ULL, sizeof(*g->ring));
	if (!g->ring)
		return -ENOMEM;
	for (uint16_t i = 0; i < GT_MAX_GPUS; i++)
		for (uint16_t k = 0; g->base[i] != GT_NONE32 && k < g->nrings[i]; k++)
			g->ring[g->base[i] + k] =
				(struct gt_gathered_ring){ .gpu = i, .ring = k, .life = life[i] };
	for (uint32_t k = 0; k < g->rings; k++)
		if (asked_for(s, g->ring[k].gpu, g->ring[k].ring))
			g->bits |= gt_fin_ring_bit(g->ring[k].gpu, g->ring[k].ring);
	return 0;
}

static int make_room(struct gt_gathered *g)
{
	size_t max = GT_GATHER_JOBS + g->jobs;

	/* a power of two, and at least twice as many */
	for (g->slots = 1; g->slots < 2 * max; g->slots *= 2)
		;
	/* what is not used of these is never touched */
	g->job = malloc(max * sizeof(*g->job));
	g->party = malloc(max * sizeof(*g->party));
	g->held = malloc(max * sizeof(*g->held));
	g->slot = calloc(g->slots, sizeof(*g->slot));
	if (!g->job || !g->party || !g->held || !g->slot)
		return -ENOMEM;
	if (getrandom(g->salt, sizeof(g->salt), GRND_NONBLOCK) != (ssize_t)sizeof(g->salt))
		g->salt[0] = g->salt[1] = gt_mix((uintptr_t)g->job, 0x9e3779b97f4a7c15ULL);
	return 0;
}

/* Each ring's jobs together, those of the history first: for most rings they are in order then */
static int sort_by_ring(struct gt_gathered *g, uint32_t flying)
{
	struct gt_held_job *to = malloc((g->njobs + 1ULL) * sizeof(*to));
	struct gt_held_job *at = to;

	if (!to)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->njobs; i++)
		g->ring[g->party[g->job[i].who].ring].held.n++;
	for (uint32_t k = 0; k < g->rings; at += g->ring[k++].held.n)
		g->ring[k].held.job = at;
	for (uint32_t k = 0; k < g->rings; k++)
		g->ring[k].held.n = 0;
	for (uint32_t n = 0, i = flying; n < g->njobs; n++, i++) {
		const struct gt_held_job *j = &g->job[i < g->njobs ? i : i - g->njobs];
		struct gt_held_ring *r = &g->ring[g->party[j->who].ring].held;

		to[(r->job - to) + r->n++] = *j;
		g->party[j->who].waited += gt_held_waited(r, j);
	}
	free(g->job);
	g->job = to;
	return 0;
}

int gt_gather(struct gt_gathered *g, const struct gt_show *s, uint64_t ns, uint32_t jobs)
{
	uint64_t now = gt_model_now(s->app->model);
	uint32_t flying;
	int err;

	*g = (struct gt_gathered){ .app = s->app, .jobs = jobs, .all = ns == GT_NONE64 };
	err = list_rings(g, s);
	if (!err)
		err = make_room(g);
	if (err)
		return err;
	/* of a recording all of it */
	if (s->app->model->wall && now > ns && now - ns > g->from)
		g->from = now - ns;
	for (uint32_t k = 0; k < g->rings; k++) {
		struct gt_gathered_ring *r = &g->ring[k];

		if (!asked_for(s, r->gpu, r->ring))
			continue;
		gt_gather_flights(g, r);
		if (r->held.until > g->until)
			g->until = r->held.until;
	}
	flying = g->njobs;
	walk_history(g);
	for (uint32_t k = 0; k < g->rings; k++)
		g->ring[k].held.from = g->from;
	return sort_by_ring(g, flying);
}

/* Jobs in flight, for blame: who waits now, and who holds the ring now. */

/** struct clock - of a ring's state what says when its jobs began to run, copied */
struct clock {
	uint64_t now, last_end, loss_until, gap_end;
	uint32_t passed;
	uint16_t epoch;
	bool commits, starts, after_loss;
};

/* Of the ring's completions, those of the last seconds; of a recording all */
static uint64_t completed_in(const struct gt_model *m, const struct gt_ring *r)
{
	const unsigned int window = GT_GATHER_NS / GT_SEC;
	struct gt_typecount c;

	if (!m->wall || gt_counted(m, m->now, GT_GATHER_NS) < GT_GATHER_NS)
		return r->counts.completed;
	gt_ring_jobs(r, &c);
	return gt_types_rate(&c, GT_COMPLETE, m->now, window, GT_GATHER_NS) * window / 1000;
}

static void take_clock(const struct gt_model *m, const struct gt_ring *r, struct clock *c)
{
	*c = (struct clock){ .now = m->now,
			     .last_end = r->last_end,
			     .loss_until = r->loss_until,
			     .gap_end = r->gap_end,
			     .passed = r->hw_passed,
			     .epoch = r->hw_epoch,
			     .commits = r->commits,
			     .starts = r->starts,
			     .after_loss = r->after_loss };
}

/* Before a ring's first end nobody knows whether what was submitted has been handed over */
static bool reports_hand_over(const struct clock *c)
{
	return c->commits || c->starts || c->last_end;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t hand_over(const struct clock *c, const struct gt_job *j)
{
	return reports_hand_over(c) ? gt_job_hand_over(j, c->commits, c->gap_end) : GT_NONE64;
}

static bool at_hw(const struct clock *c, const struct gt_job *j)
{
	return j->hw_epoch == c->epoch && gt_job_not_passed(j, c->passed);
}

/* It has begun, as its source says */
static void begun(const struct clock *c, const struct gt_job *j, struct gt_held_job *h)
{
	bool ended = j->reported & GT_JOB_END;

	h->wait_to = later(j->start, h->wait_from);
	/* after a loss, what ran before it may have ended long ago */
	if (!ended && !at_hw(c, j))
		return;
	h->start = h->wait_to;
	h->end = ended ? later(j->end, h->start) : c->now;
}

/* It was handed over at @hand; the oldest of those runs since the one before has ended */
static void handed_over(const struct clock *c, const struct gt_flying *f, uint64_t hand,
			struct gt_held_job *h)
{
	if (c->after_loss || !at_hw(c, &f->job)) {
		h->wait_to = hand;
		return;
	}
	h->wait_to = c->now;
	if (!f->running)
		return;
	h->wait_to = h->start = later(hand, c->last_end);
	h->end = c->now;
}

/* What would be known of it if time ended now. False: nothing */
static bool describe(const struct clock *c, const struct gt_flying *f, struct gt_held_job *h)
{
	const struct gt_job *j = &f->job;
	uint64_t hand = hand_over(c, j);
	bool concluded =
		(j->reported & GT_JOB_END) && j->start && hand != GT_NONE64 && !c->after_loss;

	*h = (struct gt_held_job){ .start = GT_NONE64,
				   .quiet = c->after_loss ? GT_NONE64 : c->last_end,
				   .nr = GT_NONE64 };
	h->wait_from = j->reported & GT_JOB_SUBMIT ? j->submit : hand;
	if (h->wait_from == GT_NONE64)
		h->wait_from = j->reported & GT_JOB_START ? j->start : c->now;
	h->wait_to = h->wait_from;
	if ((j->reported & GT_JOB_START) || concluded)
		begun(c, j, h);
	else if (j->reported & GT_JOB_END)
		h->wait_to = hand == GT_NONE64 ? h->wait_from : hand;
	else if (!c->starts && hand != GT_NONE64)
		handed_over(c, f, hand, h);
	else if (reports_hand_over(c) && h->wait_from >= c->loss_until)
		h->wait_to = c->now;
	else if (hand != GT_NONE64) /* it may have begun in a loss */
		h->wait_to = hand;
	if (f->dep.since) {
		h->kept_from = f->dep.since;
		h->kept_to = f->dep.waited == GT_NONE64 ? h->wait_to : f->dep.since + f->dep.waited;
		h->kept_pid = f->dep.pid;
		h->kept_uid = f->dep.uid;
	}
	return h->wait_to > h->wait_from || h->start != GT_NONE64;
}

/* The walk -------------------------------------------------------------------------------- */

static void add(struct gt_gathered *g, const struct gt_gathered_ring *r, const struct clock *c,
		const struct gt_flying *f)
{
	struct gt_gathered_party party = { .ring = (uint32_t)(r - g->ring),
					   .pid = f->job.pid,
					   .uid = f->uid,
					   .first_ts = f->first_ts,
					   .ts = f->job.seen };
	struct gt_held_job h;

	if (!describe(c, f, &h))
		return;
	memcpy(party.comm, f->comm, sizeof(party.comm));
	gt_gather_add(g, &party, &h);
}

/* Return: jobs copied, -1 if the ring has gone. The first look says what time it is on the ring. */
static int take_some(struct gt_gathered *g, struct gt_gathered_ring *r, struct gt_flight *w,
		     struct clock *c, struct gt_flying *rows, bool *more)
{
	const struct gt_show s = {
		.app = g->app,
		.obj = { .kind = GT_DIR_RING, .gpu = r->gpu, .ring = r->ring, .life = r->life }
	};
	struct gt_model *m = g->app->model;
	const struct gt_ring *ring;
	bool first = w->idx == GT_NONE32;

	GT_MODEL_LOCK(m);
	ring = gt_obj_ring(&s);
	if (!ring)
		return -1;
	take_clock(m, ring, c);
	if (first) {
		/* jobs go from flight to history under the lock */
		r->head = atomic_load(&g->app->log->fin_head);
		r->bare_head = atomic_load(&g->app->log->bare_head);
		r->completed = (uint32_t)ring->counts.completed;
		r->of_window = completed_in(m, ring);
		r->held.until = c->now;
		r->held.quiet = c->after_loss || (ring->hw_jobs && !reports_hand_over(c))
					? GT_NONE64
					: c->last_end;
	}
	return gt_flight_take(m, ring, w, rows, more);
}

/** gt_gather_flights() - what follows from a ring's state and its jobs in flight; sets its until and head */
static void gt_gather_flights(struct gt_gathered *g, struct gt_gathered_ring *r)
{
	struct gt_flight w = GT_FLIGHT_BEGIN;
	struct gt_flying rows[GT_FLIGHT_ROWS];
	/* jobs that come while we walk must not keep us for ever */
	unsigned int left = g->app->model->limits.max_jobs;
	bool more = true;
	struct clock c;

	while (more && left) {
		int n = take_some(g, r, &w, &c, rows, &more);

		if (n < 0)
			return;
		left -= (unsigned int)n < left ? (unsigned int)n : left;
		g->flying += (unsigned int)n;
		for (int i = 0; i < n; i++) {
			if (g->njobs < GT_GATHER_JOBS)
				add(g, r, &c, &rows[i]);
			else
				g->left++;
		}
	}
}

#define WAITERS 100
#define OWNERS	8 /* of jobs that a waiter's depend on, that are counted apart */

/** struct owner - of those; @pid and @uid GT_NONE32: not known; @ts: when */
struct owner {
	uint32_t pid, uid;
	uint64_t ts, ns, jobs;
};

/**
 * struct waiter - one process on one ring; @waited of the party has the time
 * @lanes: of its ring, once @shared
 * @owner: @owners of them; @others: those beyond
 */
struct waiter {
	uint32_t party;
	bool shared;
	struct gt_held_lanes lanes;
	unsigned int owners;
	struct owner owner[OWNERS], others;
};

/**
 * struct blame - those that waited longest, in that order
 * @left: more that the caller may be shown
 */
struct blame {
	struct gt_gathered g;
	unsigned int n;
	uint32_t left;
	struct waiter w[WAITERS];
	struct gt_held_waiter share[WAITERS];
};

static void blame_done(struct blame **b)
{
	if (*b)
		gt_gathered_done(&(*b)->g);
	free(*b);
}

static enum gt_see see(const struct gt_show *s, const struct gt_gathered_party *p)
{
	return gt_see(&s->view, p->pid, p->uid, p->ts);
}

/* Who waits --------------------------------------------------------------------------------- */

/** struct only - the process with the waits that are asked for; @pid GT_NONE32: everybody's */
struct only {
	uint32_t pid;
	uint64_t first_ts;
};

static int find_only(const struct gt_show *s, struct only *o)
{
	const struct gt_proc *p;
	int err;

	*o = (struct only){ .pid = GT_NONE32 };
	if (s->obj.kind != GT_DIR_PROC)
		return 0;
	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	if (!p)
		return err;
	*o = (struct only){ p->pid, p->first_ts };
	return 0;
}

static bool wanted(const struct gt_show *s, const struct only *o, const struct gt_gathered_party *p)
{
	if (!p->waited)
		return false;
	if (o->pid != GT_NONE32)
		return p->pid == o->pid && p->first_ts == o->first_ts && see(s, p) == GT_SEE_WHOLE;
	return see(s, p) != GT_SEE_NOT;
}

static void insert(struct blame *b, uint32_t party)
{
	const struct gt_gathered_party *all = b->g.party;
	unsigned int at = b->n;

	while (at && all[party].waited > all[b->w[at - 1].party].waited)
		at--;
	b->left += b->n == WAITERS;
	if (at == WAITERS)
		return;
	if (b->n < WAITERS)
		b->n++;
	for (unsigned int i = b->n - 1; i > at; i--)
		b->w[i].party = b->w[i - 1].party;
	b->w[at].party = party;
}

static void find_waiters(struct blame *b, const struct gt_show *s, const struct only *o)
{
	for (uint32_t i = 0; i < b->g.parties; i++)
		if (wanted(s, o, &b->g.party[i]))
			insert(b, i);
	for (unsigned int i = 0; i < b->n; i++)
		b->g.held[b->w[i].party].waiter = (uint8_t)(i + 1);
}

/* For whom ---------------------------------------------------------------------------------- */

/* All waiters of one ring at once */
static int share_out(struct blame *b, uint32_t ring)
{
	struct gt_held_lanes lanes;
	int err = gt_held_by(&b->g.ring[ring].held, b->g.held, b->share, &lanes);

	for (unsigned int i = 0; !err && i < b->n; i++) {
		if (b->g.party[b->w[i].party].ring != ring)
			continue;
		b->w[i].lanes = lanes;
		b->w[i].shared = true;
	}
	return err;
}

static int share_all(struct blame *b)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < b->n; i++)
		if (!b->w[i].shared)
			err = share_out(b, b->g.party[b->w[i].party].ring);
	return err;
}

static void add_owner(const struct gt_held_ring *r, const struct gt_held_job *j, struct waiter *w)
{
	uint64_t ns = gt_held_kept(r, j);
	struct owner *o = w->owner;

	if (!ns)
		return;
	while (o < w->owner + w->owners && (o->pid != j->kept_pid || o->uid != j->kept_uid))
		o++;
	if (o == w->owner + OWNERS) {
		o = &w->others;
	} else if (o == w->owner + w->owners) {
		*o = (struct owner){ .pid = j->kept_pid, .uid = j->kept_uid, .ts = j->kept_to };
		w->owners++;
	}
	o->ns += ns;
	o->jobs++;
}

static void find_owners(struct blame *b)
{
	for (uint32_t k = 0; k < b->g.rings; k++) {
		const struct gt_held_ring *r = &b->g.ring[k].held;

		for (uint32_t i = 0; i < r->n; i++) {
			uint8_t waiter = b->g.held[r->job[i].who].waiter;

			if (waiter)
				add_owner(r, &r->job[i], &b->w[waiter - 1]);
		}
	}
}

/* Rows -------------------------------------------------------------------------------------- */

#define ROWS (GT_HELD_KINDS + OWNERS + 3) /* of a waiter */

/**
 * struct row - @who: a party, or GT_NONE32: nobody, or several
 * @owner: the owner of a dependency's jobs, instead; NULL: the wait was for the ring
 * @reason: what the wait was for; NULL: unknown
 */
struct row {
	const char *by;
	uint32_t who;
	const struct owner *owner;
	uint64_t ns, jobs; /* jobs GT_NONE64: not known */
	const char *reason;
};

/* @i: of a waiter */
static struct row row_of(const struct blame *b, unsigned int i, unsigned int kind)
{
	const struct waiter *w = &b->w[i];
	struct row r = { "process", GT_NONE32, NULL, b->share[i].ns[kind], b->share[i].jobs[kind],
			 "ring" };

	if (kind == GT_HELD_OTHERS)
		r.by = "others";
	else if (kind == GT_HELD_IDLE)
		r.by = "idle";
	else if (kind == GT_HELD_UNKNOWN)
		r.by = "unknown";
	else
		r.who = w->lanes.who[kind];
	if (kind == GT_HELD_IDLE) /* the ring was free */
		r.reason = NULL;
	/* of whom no pid is known, it may be anybody */
	if (r.who == w->party && b->g.party[r.who].pid != GT_NONE32)
		r.by = "self";
	return r;
}

static struct row owner_row(const struct blame *b, const struct waiter *w, const struct owner *o)
{
	struct row r = { "process", GT_NONE32, o, o->ns, o->jobs, "dependency" };

	if (o == &w->others)
		r.by = "others";
	else if (o->pid == GT_NONE32)
		r.by = "unknown";
	else if (o->pid == b->g.party[w->party].pid)
		r.by = "self";
	return r;
}

static bool is_hidden(const struct blame *b, const struct gt_show *s, const struct row *r)
{
	if (strcmp(r->by, "process"))
		return false;
	if (r->owner)
		return gt_see(&s->view, r->owner->pid, r->owner->uid, r->owner->ts) != GT_SEE_WHOLE;
	return see(s, &b->g.party[r->who]) != GT_SEE_WHOLE;
}

/* Who may not be known become one row together for each reason, or none. */
static unsigned int take_rows(const struct blame *b, const struct gt_show *s, unsigned int i,
			      struct row rows[ROWS])
{
	/* one job may have waited for several of them: how many did is not known */
	struct row hidden = { "process", GT_NONE32, NULL, 0, GT_NONE64, "ring" };
	struct row kept = { "process", GT_NONE32, NULL, 0, GT_NONE64, "dependency" };
	const struct waiter *w = &b->w[i];
	unsigned int n = 0;

	for (unsigned int k = 0; k <= w->owners; k++) {
		struct row r = owner_row(b, w, k < w->owners ? &w->owner[k] : &w->others);

		if (!r.ns)
			continue;
		if (is_hidden(b, s, &r))
			kept.ns += r.ns;
		else
			rows[n++] = r;
	}
	for (unsigned int k = 0; k < GT_HELD_KEPT; k++) {
		struct row r = row_of(b, i, k);

		if (!r.ns)
			continue;
		if (is_hidden(b, s, &r))
			hidden.ns += r.ns;
		else
			rows[n++] = r;
	}
	if (hidden.ns && gt_view_blanks(&s->view))
		rows[n++] = hidden;
	if (kept.ns && gt_view_blanks(&s->view))
		rows[n++] = kept;
	return n;
}

/* Longest first, by a sort that needs no more than a few dozen rows */
static void sort(struct row *rows, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++) {
		struct row r = rows[i];
		unsigned int at = i;

		for (; at && r.ns > rows[at - 1].ns; at--)
			rows[at] = rows[at - 1];
		rows[at] = r;
	}
}

struct gt_blame_name gt_blame_party(const struct gt_show *s, const struct gt_gathered_party *p)
{
	struct gt_blame_name name = { .pid = GT_NONE32 };

	if (!p || see(s, p) != GT_SEE_WHOLE)
		return name;
	name.pid = gt_view_pid(&s->view, p->pid, p->ts);
	memcpy(name.comm, p->comm, sizeof(name.comm));
	return name;
}

struct gt_blame_name gt_blame_owner(const struct gt_show *s, uint32_t pid, uint32_t uid,
				    uint64_t ts)
{
	struct gt_blame_name name = { .pid = GT_NONE32 };
	const struct gt_proc *p;

	if (pid == GT_NONE32 || gt_see(&s->view, pid, uid, ts) != GT_SEE_WHOLE)
		return name;
	name.pid = gt_view_pid(&s->view, pid, ts);
	GT_MODEL_LOCK(s->app->model);
	p = gt_model_proc(s->app->model, pid);
	if (p && p->uid == uid)
		memcpy(name.comm, p->comm, sizeof(name.comm));
	return name;
}

void gt_cell_comm(struct gt_text *t, const char comm[16])
{
	gt_cell_word(t, comm[0] ? comm : NULL, 16);
}

/* @i: of a waiter */
static void show_waiter(struct gt_text *t, const struct gt_show *s, const struct blame *b,
			unsigned int i)
{
	const struct gt_gathered_party *p = &b->g.party[b->w[i].party];
	const struct gt_gathered_ring *ring = &b->g.ring[p->ring];
	struct row rows[ROWS];
	unsigned int n = take_rows(b, s, i, rows);
	struct gt_blame_name waiter = gt_blame_party(s, p);
	char gpu[16];
	{
		GT_MODEL_LOCK(s->app->model);
		memcpy(gpu, s->app->model->gpus[ring->gpu]->name, sizeof(gpu));
	}
	sort(rows, n);
	for (const struct row *r = rows; r < rows + n; r++) {
		const struct gt_gathered_party *by =
			r->who == GT_NONE32 ? NULL : &b->g.party[r->who];
		struct gt_blame_name holder =
			r->owner ? gt_blame_owner(s, r->owner->pid, r->owner->uid, r->owner->ts)
				 : gt_blame_party(s, by);

		gt_cell_u32(t, waiter.pid);
		gt_cell_word(t, gpu, sizeof(gpu));
		gt_cell_ring(t, ring->ring);
		gt_cell(t, r->by);
		gt_cell_u32(t, holder.pid);
		gt_cell_u64(t, r->ns);
		gt_cell_ratio(t, gt_percent(r->ns, p->waited), 1000);
		gt_cell_u64(t, r->jobs);
		gt_cell(t, r->reason);
		gt_cell_comm(t, waiter.comm);
		gt_cell_comm(t, holder.comm);
		gt_text_ch(t, '\n');
	}
}

/* Who waited, without the holders */
static int take_waiters(struct blame *b, const struct gt_show *s)
{
	struct only only;
	int err = find_only(s, &only);

	if (!err)
		err = gt_gather(&b->g, s, GT_GATHER_NS, GT_GATHER_JOBS);
	if (!err)
		find_waiters(b, s, &only);
	return err;
}

int gt_show_blame(struct gt_text *t, const struct gt_show *s)
{
	__attribute__((cleanup(blame_done))) struct blame *b = calloc(1, sizeof(*b));
	int err = b ? take_waiters(b, s) : -ENOMEM;

	if (!err)
		err = share_all(b);
	if (err)
		return err;
	find_owners(b);
	for (unsigned int i = 0; i < b->n && !t->failed; i++)
		show_waiter(t, s, b, i);
	return 0;
}

int gt_show_blame_stats(struct gt_text *t, const struct gt_show *s)
{
	__attribute__((cleanup(blame_done))) struct blame *b = calloc(1, sizeof(*b));
	int err = b ? take_waiters(b, s) : -ENOMEM;

	if (err)
		return err;
	if (b->g.from) { /* 0: of a recording no event could be used */
		gt_text_str(t, "from_s ");
		gt_time(t, b->g.from);
		gt_text_str(t, "\nto_s ");
		gt_time(t, b->g.until > b->g.from ? b->g.until : b->g.from);
		gt_text_ch(t, '\n');
	}
	gt_text_kv(t, "jobs_finished", b->g.finished + b->g.unlisted);
	gt_text_kv(t, "jobs_in_flight", b->g.flying);
	gt_text_kv(t, "jobs_without_record", b->g.unlisted);
	gt_text_kv(t, "older_jobs_left_out", b->g.cut);
	gt_text_kv(t, "jobs_in_flight_left_out", b->g.left);
	gt_text_kv(t, "waiters_left_out", b->left);
	return 0;
}
