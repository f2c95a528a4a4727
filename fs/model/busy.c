/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Busy time as a union of intervals. The latest disjoint intervals are kept, so that one which
 * overlaps them adds only what was not covered. When there are too many, the oldest become one with
 * the gaps between them: that may miss busy time, but never counts any twice.
 */
#include <string.h>

#include "internal.h"

void gt_busy_reset(struct gt_busy *b)
{
	memset(b, 0, sizeof(*b));
}

void gt_busy_restart(struct gt_busy *b, uint64_t now)
{
	gt_busy_reset(b);
	b->end = now;
}

/* [@start, @end) of one slot number */
static void slot_add(struct gt_busy *b, uint64_t no, uint64_t ns)
{
	unsigned int i = (unsigned int)(no % GT_BUSY_SLOTS);

	if (b->slot_no[i] < no) {
		b->slot_no[i] = no;
		b->slot_ns[i] = 0;
	}
	if (b->slot_no[i] == no)
		b->slot_ns[i] += (uint32_t)ns;
}

/* A piece that was not covered before */
static void piece_add(struct gt_busy *b, uint64_t start, uint64_t end)
{
	uint64_t no = start / GT_BUSY_SLOT_NS, last = end / GT_BUSY_SLOT_NS, edge;

	b->total_ns += end - start;
	if (last - no >= GT_BUSY_SLOTS) { /* longer than all slots: they show its end */
		no = last - GT_BUSY_SLOTS + 1;
		start = no * GT_BUSY_SLOT_NS;
	}
	for (; no < last; no++, start = edge) {
		edge = (no + 1) * GT_BUSY_SLOT_NS;
		slot_add(b, no, edge - start);
	}
	if (end > start)
		slot_add(b, no, end - start);
}

/* What the slot being filled has gathered goes where readers of older time look */
static void pending_flush(struct gt_busy *b)
{
	if (b->pending)
		slot_add(b, b->slot_end / GT_BUSY_SLOT_NS - 1, b->pending);
	b->pending = 0;
}

/* The latest interval joins those before it, the older half of which become one if need be */
static void latest_push(struct gt_busy *b)
{
	const unsigned int half = GT_BUSY_OPEN / 2;

	if (b->end <= b->start)
		return;
	if (b->ncov >= GT_BUSY_OPEN - 1) { /* one is left for cov_join() */
		b->cov[0].end = b->cov[half - 1].end;
		memmove(&b->cov[1], &b->cov[half], (b->ncov - half) * sizeof(b->cov[0]));
		b->ncov -= half - 1;
	}
	b->cov[b->ncov].start = b->start;
	b->cov[b->ncov++].end = b->end;
}

/* Adds what of [@start, @end) is not covered; @i: past the last interval that begins before @end */
static void add_uncovered(struct gt_busy *b, uint64_t start, uint64_t end, unsigned int i)
{
	while (end > start) {
		if (!i || b->cov[i - 1].end <= start) {
			piece_add(b, start, end);
			return;
		}
		i--;
		if (b->cov[i].end < end)
			piece_add(b, b->cov[i].end, end);
		end = b->cov[i].start < end ? b->cov[i].start : end;
	}
}

/* [@start, @end) joins cov[@from] to cov[@to - 1], all of which it touches */
static void cov_join(struct gt_busy *b, uint64_t start, uint64_t end, unsigned int from,
		     unsigned int to)
{
	if (from == to) {
		memmove(&b->cov[from + 1], &b->cov[from], (b->ncov - from) * sizeof(b->cov[0]));
		b->ncov++;
	} else {
		start = b->cov[from].start < start ? b->cov[from].start : start;
		end = b->cov[to - 1].end > end ? b->cov[to - 1].end : end;
		memmove(&b->cov[from + 1], &b->cov[to], (b->ncov - to) * sizeof(b->cov[0]));
		b->ncov -= to - from - 1;
	}
	b->cov[from].start = start;
	b->cov[from].end = end;
}

/* An interval that overlaps others, or runs into another slot */
static void add_slow(struct gt_busy *b, uint64_t start, uint64_t end)
{
	unsigned int from, to;

	pending_flush(b);
	latest_push(b);
	for (to = b->ncov; to && b->cov[to - 1].start > end; to--)
		;
	for (from = to; from && b->cov[from - 1].end >= start; from--)
		;
	add_uncovered(b, start, end, to);
	cov_join(b, start, end, from, to);
	b->ncov--;
	b->start = b->cov[b->ncov].start;
	b->end = b->cov[b->ncov].end;
	b->slot_end = (b->end / GT_BUSY_SLOT_NS + 1) * GT_BUSY_SLOT_NS;
}

void gt_busy_add(struct gt_busy *b, uint64_t start, uint64_t end)
{
	uint64_t news; /* from here on nothing is covered */

	if (unlikely(end <= start))
		return;
	news = start < b->end ? b->end : start;
	if (unlikely(start < b->start || end > b->slot_end ||
		     news + GT_BUSY_SLOT_NS < b->slot_end)) {
		add_slow(b, start, end);
		return;
	}
	if (end <= news)
		return;
	if (start > b->end) {
		latest_push(b);
		b->start = start;
	}
	b->end = end;
	b->total_ns += end - news;
	b->pending += end - news;
}

void gt_busy_spread(struct gt_busy *b, uint64_t since, uint64_t end, uint64_t ns)
{
	const uint64_t all = GT_BUSY_SLOT_NS * (GT_BUSY_SLOTS - 1);
	uint64_t from, edge;

	b->total_ns = gt_sum(b->total_ns, ns);
	if (end <= since || !ns)
		return;
	for (from = end - since > all ? end - all : since; from < end; from = edge) {
		uint64_t no = from / GT_BUSY_SLOT_NS, share;
		unsigned int i = (unsigned int)(no % GT_BUSY_SLOTS);

		edge = (no + 1) * GT_BUSY_SLOT_NS < end ? (no + 1) * GT_BUSY_SLOT_NS : end;
		share = (uint64_t)((unsigned __int128)ns * (edge - from) / (end - since));
		if (share > UINT32_MAX / 2)
			share = UINT32_MAX / 2;
		if (b->slot_no[i] == no && b->slot_ns[i] > UINT32_MAX / 2)
			continue;
		if (b->slot_no[i] <= no)
			slot_add(b, no, share);
	}
}

static void slot_fold(struct gt_busy *b, uint64_t no, uint64_t ns)
{
	unsigned int i = (unsigned int)(no % GT_BUSY_SLOTS);
	uint64_t had = b->slot_no[i] == no ? b->slot_ns[i] : 0;

	if (b->slot_no[i] > no)
		return;
	b->slot_no[i] = no;
	b->slot_ns[i] = (uint32_t)(had + ns < GT_BUSY_SLOT_NS ? had + ns : GT_BUSY_SLOT_NS);
}

void gt_busy_fold_total(struct gt_busy *to, const struct gt_busy *from)
{
	to->total_ns += from->total_ns;
	gt_busy_unclear(to, from->unclear);
}

void gt_busy_fold(struct gt_busy *to, const struct gt_busy *from)
{
	gt_busy_fold_total(to, from);
	for (unsigned int i = 0; i < GT_BUSY_SLOTS; i++)
		if (from->slot_ns[i])
			slot_fold(to, from->slot_no[i], from->slot_ns[i]);
	if (from->pending)
		slot_fold(to, from->slot_end / GT_BUSY_SLOT_NS - 1, from->pending);
}

static uint64_t overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
	start = start > from ? start : from;
	end = end < to ? end : to;
	return end > start ? end - start : 0;
}

uint64_t gt_busy_between(const struct gt_busy *b, uint64_t from, uint64_t to)
{
	uint64_t sum = overlap(b->start, b->end, from, to);

	for (unsigned int i = 0; i < b->ncov; i++)
		sum += overlap(b->cov[i].start, b->cov[i].end, from, to);
	return sum < b->total_ns ? sum : b->total_ns;
}

uint64_t gt_busy_ns(const struct gt_busy *b, uint64_t now, uint64_t window)
{
	uint64_t since, sum = 0;

	if (unlikely(!gt_busy_known(b, now, window)))
		return GT_NONE64;
	if (window == GT_ALL)
		return b->total_ns;
	if (window > (GT_BUSY_SLOTS - 1) * GT_BUSY_SLOT_NS)
		window = (GT_BUSY_SLOTS - 1) * GT_BUSY_SLOT_NS;
	if (!now || !window)
		return 0;
	since = now > window ? now - window : 0;
	for (uint64_t no = since / GT_BUSY_SLOT_NS; no <= (now - 1) / GT_BUSY_SLOT_NS; no++) {
		unsigned int i = (unsigned int)(no % GT_BUSY_SLOTS);
		uint64_t lo = no * GT_BUSY_SLOT_NS, hi = lo + GT_BUSY_SLOT_NS, ns;

		ns = b->slot_no[i] == no ? b->slot_ns[i] : 0;
		if (b->slot_end == hi)
			ns += b->pending;
		if (lo < since) /* the slot that the window cuts: its share */
			ns = ns * (hi - since) / GT_BUSY_SLOT_NS;
		lo = lo < since ? since : lo;
		hi = hi > now ? now : hi;
		sum += ns < hi - lo ? ns : hi - lo;
	}
	return sum;
}

/* When nothing was observed: averages leave that time out. */

static void end_pause(struct gt_pauses *p, uint64_t now)
{
	gt_busy_add(&p->time, p->since, now);
	p->since = 0;
	p->changed = now;
}

static void observe(struct gt_pauses *p, bool on, uint64_t now)
{
	if (on && p->since)
		end_pause(p, now);
	else if (!on && !p->since)
		p->since = p->changed = now;
}

static void pause_rings(struct gt_model *m, uint64_t now)
{
	GT_MODEL_LOCK(m);

	pthread_mutex_lock(&m->priv->pauses_lock);
	for (uint16_t g = 0; g < m->ngpus; g++)
		for (unsigned int i = 0; i < m->gpus[g]->nrings; i++)
			if (m->gpus[g]->rings[i]->pauses)
				observe(m->gpus[g]->rings[i]->pauses, false, now);
	pthread_mutex_unlock(&m->priv->pauses_lock);
}

void gt_model_observe(struct gt_model *m, enum gt_observation what, bool on)
{
	struct gt_model_private *v = m->priv;
	struct gt_pauses *p = &v->pauses[what];
	uint64_t now = gt_model_now(m);

	if (!m->wall) /* the time of a recording stands still meanwhile */
		return;
	pthread_mutex_lock(&v->pauses_lock);
	if (!p->changed) /* sources take a while to start */
		p->since = p->changed = __atomic_load_n(&m->cleared, __ATOMIC_RELAXED);
	observe(p, on, now);
	if (on && !p->begun) /* a ring's first event came a little before this */
		v->pauses_cleared = now;
	p->begun |= on;
	pthread_mutex_unlock(&v->pauses_lock);
	if (what == GT_OBSERVED_EVENTS && !on) /* gt_model_observe_ring() ends each ring's pause */
		pause_rings(m, now);
}

/* The first pause of a ring alone: until now it had those that all have. */
static struct gt_pauses *ring_pauses(struct gt_model *m, struct gt_ring *r)
{
	if (!r->pauses && (r->pauses = gt_mem_get(sizeof(*r->pauses), false)))
		*r->pauses = m->priv->pauses[GT_OBSERVED_EVENTS];
	return r->pauses;
}

static void observe_ring(struct gt_model *m, struct gt_ring *r, bool on, uint64_t now)
{
	if (on && !r->pauses)
		return;
	pthread_mutex_lock(&m->priv->pauses_lock);
	if (ring_pauses(m, r)) {
		observe(r->pauses, on, now);
		m->priv->pauses[GT_OBSERVED_EVENTS].changed = now;
	}
	pthread_mutex_unlock(&m->priv->pauses_lock);
}

void gt_model_observe_ring(struct gt_model *m, uint16_t gpu, uint16_t ring, bool on)
{
	uint64_t now = gt_model_now(m);
	struct gt_gpu *g;
	GT_MODEL_LOCK(m);

	if (!m->wall || gpu >= m->ngpus)
		return;
	g = m->gpus[gpu];
	if (ring < g->nrings)
		observe_ring(m, g->rings[ring], on, now);
	for (int i = 0; ring == GT_NONE16 && i < GT_WORK_RINGS; i++)
		if (g->work[i])
			observe_ring(m, g->work[i], on, now);
}

void gt_pauses_clear(struct gt_model *m, uint64_t now)
{
	struct gt_model_private *v = m->priv;

	pthread_mutex_lock(&v->pauses_lock);
	for (int i = 0; i < GT_NOBSERVED; i++)
		gt_busy_restart(&v->pauses[i].time, now);
	for (uint16_t g = 0; g < m->ngpus; g++)
		for (unsigned int i = 0; i < m->gpus[g]->nrings; i++)
			if (m->gpus[g]->rings[i]->pauses)
				gt_busy_restart(&m->gpus[g]->rings[i]->pauses->time, now);
	v->pauses_cleared = now;
	pthread_mutex_unlock(&v->pauses_lock);
}

/* How much of [@from, @to) is in sessions in which @e was; with pauses_lock */
static uint64_t in_sessions(const struct gt_model_private *v, struct gt_extent e, uint64_t from,
			    uint64_t to)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i <= v->nsessions; i++) {
		struct gt_session s =
			i < v->nsessions ? v->sessions[i] : (struct gt_session){ v->session, to };

		if (e.last && (e.first > s.to || e.last < s.from))
			continue;
		s.from = s.from > from ? s.from : from;
		s.to = s.to < to ? s.to : to;
		sum += s.to > s.from ? s.to - s.from : 0;
	}
	return sum;
}

/* Of the time of sessions in which @e was */
static uint64_t observed(const struct gt_model *m, enum gt_observation what, struct gt_extent e,
			 uint64_t now, uint64_t window)
{
	const struct gt_pauses *p = e.pauses ? e.pauses : &m->priv->pauses[what];
	uint64_t counted = gt_counted(m, now, window), paused = 0;
	uint64_t from = counted < window ? 0 : now - window;

	if (e.since > now - counted)
		counted = now > e.since ? now - e.since : 0;
	pthread_mutex_lock(&m->priv->pauses_lock);
	if (m->priv->nsessions)
		counted = in_sessions(m->priv, e, now - counted, now);
	if (p->since || (p->time.total_ns && p->time.end > from)) /* most windows have no pause */
		paused = gt_busy_running_ns(&p->time, p->since ? p->since : UINT64_MAX, now,
					    counted < window ? GT_ALL : window);
	pthread_mutex_unlock(&m->priv->pauses_lock);
	paused = paused < counted ? paused : counted;
	/* of the slot that such a window cuts, the part that counts may be of the pause */
	if (paused && from && counted - paused < GT_BUSY_SLOT_NS)
		return 0;
	return counted - paused;
}

uint64_t gt_observed(const struct gt_model *m, enum gt_observation what, uint64_t now,
		     uint64_t window)
{
	return observed(m, what, (struct gt_extent){ 0 }, now, window);
}

uint64_t gt_observed_of(const struct gt_model *m, struct gt_extent e, uint64_t now, uint64_t window)
{
	return observed(m, GT_OBSERVED_EVENTS, e, now, window);
}

uint64_t gt_observed_between(const struct gt_model *m, uint64_t from, uint64_t to)
{
	return gt_observed_between_of(m, (struct gt_extent){ 0 }, from, to);
}

uint64_t gt_observed_between_of(const struct gt_model *m, struct gt_extent e, uint64_t from,
				uint64_t to)
{
	struct gt_model_private *v = m->priv;
	const struct gt_pauses *p = e.pauses ? e.pauses : &v->pauses[GT_OBSERVED_EVENTS];
	uint64_t all, paused, since;

	from = from > e.since ? from : e.since;
	all = to > from ? to - from : 0;
	pthread_mutex_lock(&v->pauses_lock);
	if (v->nsessions)
		all = in_sessions(v, e, from, to);
	from = from > v->pauses_cleared ? from : v->pauses_cleared;
	paused = gt_busy_between(&p->time, from, to);
	since = p->since > from ? p->since : from;
	if (p->since && to > since)
		paused += to - since;
	pthread_mutex_unlock(&v->pauses_lock);
	return all > paused ? all - paused : 0;
}

uint64_t gt_observed_changed(const struct gt_model *m)
{
	uint64_t at = 0;

	pthread_mutex_lock(&m->priv->pauses_lock);
	for (int i = 0; i < GT_NOBSERVED; i++)
		at = m->priv->pauses[i].changed > at ? m->priv->pauses[i].changed : at;
	pthread_mutex_unlock(&m->priv->pauses_lock);
	return at;
}

/* Recordings ----------------------------------------------------------------------------- */

void gt_session_break(struct gt_model *m, uint64_t ts)
{
	struct gt_model_private *v = m->priv;
	unsigned int n = v->nsessions;

	pthread_mutex_lock(&v->pauses_lock);
	if (n < GT_SESSIONS) { /* a recording that mixes clocks all the time is one session then */
		v->sessions[n] = (struct gt_session){ n ? v->session : m->cleared, m->now };
		v->nsessions++;
		v->session = ts;
	}
	pthread_mutex_unlock(&v->pauses_lock);
}

struct gt_extent gt_ring_extent(const struct gt_ring *r)
{
	return (struct gt_extent){ r->first_ts, r->last_ts, gt_ring_since(r), r->pauses };
}

/* Of two rings of an engine those of the one that is observed longer: it has none, or has none now, or the
 * latest that began */
static const struct gt_pauses *fewer(const struct gt_pauses *a, const struct gt_pauses *b)
{
	if (!a || !b || !a->since)
		return a && b ? a : NULL;
	return !b->since || b->since > a->since ? b : a;
}

struct gt_extent gt_engine_extent(const struct gt_gpu *g, enum gt_engine engine)
{
	struct gt_extent all = { 0 };
	bool any = false;

	for (unsigned int i = 0; i < g->nrings; i++) {
		struct gt_extent e = gt_ring_extent(g->rings[i]);

		if (g->rings[i]->engine == engine) {
			all.pauses = any ? fewer(all.pauses, e.pauses) : e.pauses;
			all.since = any && all.since < e.since ? all.since : e.since;
			any = true;
		}
		if (!e.last)
			continue;
		all.first = !all.last || e.first < all.first ? e.first : all.first;
		all.last = e.last > all.last ? e.last : all.last;
	}
	return all;
}
