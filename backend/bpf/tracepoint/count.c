/* SPDX-License-Identifier: GPL-2.0 */
/* Which tracepoints' jobs the program counts, and the maps that it counts into. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "bpf/tracepoint.skel.h"
#include "count.h"

static unsigned int pair_of(const struct tp_count *c, uint32_t ring, uint32_t pid, uint64_t start);

static bool tc_ring_used(const struct tp_count *c, unsigned int i);
static uint64_t tc_start_of(const struct tp_state *t, uint64_t start);
static void tc_one(struct tp_state *t, const struct gt_k_tale *tale, uint32_t aged);
static bool tc_lock(struct gt_k_ring *r);
static void tc_unlock(struct gt_k_ring *r);
static bool tc_free(const struct gt_k_ring *r);
static void tc_lose(struct gt_k_ring *r);

/*
 * Which jobs are in records: the program decides that as the gate would, by two sets of settings of
 * which one holds. A change is written into the other, and then that one holds: no program sees
 * half of it. A program that still looks at the set into which the next change is written sees that
 * by its number, and leaves the job to the gate.
 */

/* As gt_type_refused() has it, of the types that are counted */
static uint32_t type_reasons(const struct gt_wanted *w)
{
	uint32_t why = 0;

	for (unsigned int type = 0; type < GT_TALLY_TYPES; type++)
		why |= (uint32_t)gt_type_refused(w, type) << type * 8;
	return why;
}

static uint64_t about(const struct tp_state *t, unsigned int i)
{
	const struct tc_ring *r = &t->count->ring[i];
	const struct gt_host *host = t->b->p->host;

	if (!r->known)
		return 0;
	return GT_K_PLACED | (uint64_t)host->ring_refused(t->b->p, r->gpu, r->ring) << 32 |
	       (uint64_t)r->gpu << 16 | r->ring;
}

static void emit_about(const struct tp_state *t, unsigned int i, uint32_t which)
{
	__atomic_store_n(&t->count->rings[i].about[which & 1], about(t, i), __ATOMIC_RELAXED);
}

/* Its number is 0 while it is written. */
static void write_settings(struct tp_state *t, const struct gt_wanted *w, uint32_t which)
{
	struct tp_count *c = t->count;
	struct gt_wanted *to = &c->wanted[which];
	size_t from = sizeof(to->gen);

	__atomic_store_n(&to->gen, 0, __ATOMIC_SEQ_CST);
	memcpy((char *)to + from, (const char *)w + from, sizeof(*w) - from);
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		emit_about(t, i, which);
	__atomic_store_n(&to->gen, ++c->serial, __ATOMIC_SEQ_CST);
}

void tc_wanted(struct tp_state *t)
{
	const struct gt_host *host = t->b->p->host;
	struct tp_count *c = t->count;
	struct gt_wanted w;
	uint32_t which;

	if (!c || c->off)
		return;
	host->wanted(t->b->p, &w);
	if (t->b->level < 2)
		w.types = 0;
	which = !(c->ctl->settings & 1);
	write_settings(t, &w, which);
	__atomic_store_n(&c->ctl->types, type_reasons(&w), __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->ctl->settings, which, __ATOMIC_SEQ_CST);
}

/** tc_placed() - likewise of ring @i alone: it is known since just now, or is not any more */
static void tc_placed(struct tp_state *t, unsigned int i)
{
	emit_about(t, i, t->count->ctl->settings);
}

/** tc_left_doctor() - lines of doctor: what did not leave the kernel */
static void tc_left_doctor(const struct tp_count *c, struct gt_details *out)
{
	static const char *const names[GT_NREFUSALS] = {
		[GT_R_LEVEL] = "level",		[GT_R_EVENTS] = "filter_events",
		[GT_R_RING] = "filter_ring",	[GT_R_ENGINE] = "filter_engine",
		[GT_R_PID] = "filter_pid",	[GT_R_UID] = "filter_uid",
		[GT_R_WATCHLIST] = "watchlist", [GT_R_CTX] = "watchlist_ctx",
		[GT_R_SAMPLING] = "sampling",	[GT_R_RATE] = "record_rate",
	};

	for (unsigned int i = 0; i < GT_NREFUSALS; i++)
		if (names[i] && c->left[i])
			gt_detail(out, "left_in_kernel_%s %" PRIu64 "\n", names[i], c->left[i]);
}

/* Jobs in flight: what the program could not count, and those that never end. */

static struct gt_k_pair *proc_ring_of(struct tp_count *c, const struct gt_k_job *j)
{
	return j->pair < GT_K_PAIRS ? &c->pairs[j->pair] : NULL;
}

/* Counts the events noted in @j->owed, which the program could not count. The ring's lock is held. */
static void settle(struct tp_count *c, struct gt_k_ring *r, struct gt_k_job *j)
{
	struct gt_k_bank *b = &r->bank[c->ctl->bank & 1];
	uint32_t owed = __atomic_exchange_n(&j->owed, 0, __ATOMIC_SEQ_CST);
	struct gt_k_pair *p = proc_ring_of(c, j);
	struct gt_k_sum *s = p ? &p->bank[c->ctl->bank & 1] : NULL;

	if (!(j->flags & GT_K_ENTERED)) {
		gt_k_enter(r, b, j);
		gt_k_link(c->jobs, r, j);
	}
	j->flags |= GT_K_ENTERED | (owed & GT_K_COMMIT ? GT_K_LATE : 0);
	if (j->flags & GT_K_UNSEEN && owed & GT_K_COMMIT && j->commit > j->unseen)
		gt_k_back(c->jobs, r, b, p, s, j, j->commit);
	if (owed & GT_K_SUBMIT)
		gt_k_submitted(c->ctl, r, b, j);
	if (owed & GT_K_COMMIT)
		gt_k_committed(c->ctl, r, b, j);
	gt_k_more(c->ctl, b, j, owed);
	if (j->flags & GT_K_UNSEEN) /* handed over before that was found */
		gt_k_hw_leave(r, j);
	if (!s)
		return;
	s->submitted += !!(owed & GT_K_SUBMIT);
	s->committed += !!(owed & GT_K_COMMIT);
	if (!s->first)
		s->first = j->seen;
}

/* As the program's first sight of the job; false: its pair has to be made yet */
static bool enter_pair(struct tp_count *c, struct gt_k_job *j)
{
	unsigned int i = pair_of(c, j->ring, j->pid, j->start);

	if (i >= GT_K_PAIRS)
		return false;
	j->pair = i;
	c->pairs[i].jobs++;
	c->pairs[i].inflight += !(j->flags & GT_K_REC);
	return true;
}

/* The job's next event would have what is owed counted, but none may come for long. While we have
 * the ring's lock a job that has its key keeps it. */
static void pay(struct tp_count *c, const uint64_t *key, uint64_t was, struct gt_k_job *j)
{
	uint16_t at = __atomic_load_n(&j->ring, __ATOMIC_RELAXED);
	struct gt_k_ring *r = &c->rings[at % GT_K_RINGS];

	if (!tc_lock(r))
		return;
	if (__atomic_load_n(key, __ATOMIC_SEQ_CST) == was && j->ring == at &&
	    ((j->flags & GT_K_ENTERED) || enter_pair(c, j)))
		settle(c, r, j);
	tc_unlock(r);
}

/* It ended while another held the ring, and is to be counted now, with the ring's lock held. @e:
 * what is known of it */
static void count_end(struct tp_count *c, struct gt_k_ring *r, struct gt_k_job *j,
		      struct gt_k_ended *e)
{
	struct gt_k_bank *b = &r->bank[c->ctl->bank & 1];
	struct gt_k_pair *p = proc_ring_of(c, j);
	struct gt_k_sum *s = p ? &p->bank[c->ctl->bank & 1] : NULL;
	bool next = r->late == j->self; /* nothing has ended since, that is counted */
	bool sure = next && r->unsure == r->unsure_was && r->strangers == c->ctl->strangers &&
		    !(j->flags & GT_K_UNSEEN);
	uint32_t loss = r->after_loss;

	settle(c, r, j);
	if (j->flags & GT_K_UNSEEN)
		gt_k_back(c->jobs, r, b, p, s, j, j->done);
	gt_k_unlink(c->jobs, r, j);
	gt_k_pair_leaves(p, j);
	if (!next)
		j->flags |= GT_K_LATE;
	sure &= gt_k_hw_end(r, j, j->done);
	gt_k_finish(c->ctl, r, b, j, j->done, sure, e);
	gt_k_distrust(j, e);
	if (!next)
		r->after_loss = loss; /* that is for the next job that ends */
	if (s) {
		s->completed++;
		s->busy += e->pair_busy;
	}
	j->flags &= (uint8_t)~GT_K_ENTERED;
	if (next)
		__atomic_store_n(&r->late, 0, __ATOMIC_SEQ_CST);
}

/* Return: false: it is not counted; maybe a program has done so just now */
static bool bury(struct tp_state *t, const uint64_t *key, struct gt_k_job *j)
{
	uint16_t at = __atomic_load_n(&j->ring, __ATOMIC_RELAXED);
	struct tp_count *c = t->count;
	struct gt_k_ring *r = &c->rings[at % GT_K_RINGS];
	struct gt_k_tale tale;
	struct gt_k_ended e;

	if (!tc_lock(r))
		return false;
	if (__atomic_load_n(key, __ATOMIC_SEQ_CST) != GT_K_ENDED || j->ring != at) {
		tc_unlock(r);
		return false;
	}
	tale = (struct gt_k_tale){ .start = j->start,
				   .pid = j->pid,
				   .uid = j->uid,
				   .ring = j->ring,
				   .reported = j->reported,
				   .counted = proc_ring_of(c, j) != NULL };
	count_end(c, r, j, &e);
	tc_unlock(r);
	memcpy(tale.v, e.v, sizeof(tale.v));
	tale.busy = e.pair_busy;
	tc_one(t, &tale, 0);
	return true;
}

/* It does not end. Those in records the model gives up itself. */
static bool give_up(struct tp_state *t, struct gt_k_job *j, uint64_t at)
{
	struct tp_count *c = t->count;
	struct gt_k_ring *r = &c->rings[j->ring % GT_K_RINGS];
	struct gt_k_pair *p = proc_ring_of(c, j);
	struct gt_k_tale tale = { .start = j->start,
				  .pid = j->pid,
				  .uid = j->uid,
				  .ring = j->ring,
				  .reported = j->reported };

	if (!tc_lock(r))
		return false;
	settle(c, r, j);
	gt_k_unlink(c->jobs, r, j);
	gt_k_pair_leaves(p, j);
	gt_k_leave(r, j, at);
	j->flags &= (uint8_t)~GT_K_ENTERED;
	tc_unlock(r);
	if (j->flags & GT_K_UNSEEN)
		return true;
	c->aged++;
	if (j->flags & GT_K_REC)
		return true;
	memset(tale.v, 0xff, sizeof(tale.v));
	if (p)
		c->pair[j->pair].aged++;
	else
		tc_one(t, &tale, 1);
	return true;
}

static void note(struct tc_fly *to, const struct gt_k_job *j, const struct gt_k_ring *r)
{
	to->ring = j->ring;
	to->job = (struct gt_tally_job){
		.ctx = j->ctx,
		.seqno = j->seqno,
		.seen = j->seen,
		.submit = j->submit,
		.commit = j->commit,
		.pid = j->pid,
		.uid = j->uid,
		.hw = gt_k_at_hw(r, j),
		.reported = (j->reported & GT_K_SUBMIT ? GT_TALLY_SUBMITTED : 0) |
			    (j->reported & GT_K_COMMIT ? GT_TALLY_COMMITTED : 0),
	};
}

static void free_key(struct tp_count *c, uint64_t *key)
{
	__atomic_store_n(key, GT_K_FREE, __ATOMIC_SEQ_CST);
	if (key >= c->job_keys[GT_K_HOT].key)
		__atomic_fetch_sub(&c->ctl->spilled, 1, __ATOMIC_SEQ_CST);
}

/* The end of @j, which was in flight at @until, was missed. */
static void unseen(struct tp_state *t, struct gt_k_job *j, uint64_t until, enum gt_unseen why)
{
	unsigned int i = j->ring % GT_K_RINGS;
	struct tp_count *c = t->count;
	struct gt_k_ring *r = &c->rings[i];
	struct gt_k_pair *p;
	uint32_t bank;

	if (!tc_lock(r))
		return;
	/* nobody else puts it in, or takes it out, now */
	if ((j->flags & (GT_K_ENTERED | GT_K_UNSEEN)) == GT_K_ENTERED && j->ring == i &&
	    j->seen <= until) {
		p = proc_ring_of(c, j);
		bank = c->ctl->bank & 1;
		gt_k_unseen(c->jobs, r, &r->bank[bank], p, p ? &p->bank[bank] : NULL, j, until,
			    (uint8_t)why);
	}
	tc_unlock(r);
}

void tc_all_unseen(struct tp_state *t, uint64_t at)
{
	struct tp_count *c = t->count;

	for (unsigned int i = 0; i < GT_K_JOBS; i++) {
		uint64_t *key = &c->job_keys[i / GT_K_WAYS].key[i % GT_K_WAYS];
		uint64_t was = __atomic_load_n(key, __ATOMIC_ACQUIRE);

		/* one that nobody has counted yet would be in flight afterwards */
		if (was != GT_K_FREE && was != GT_K_BUSY && was != GT_K_ENDED &&
		    __atomic_load_n(&c->jobs[i].owed, __ATOMIC_RELAXED))
			pay(c, key, was, &c->jobs[i]);
		if (c->jobs[i].flags & GT_K_ENTERED)
			unseen(t, &c->jobs[i], at, GT_UNSEEN_LOST);
	}
}

/* The hardware of its ring was reset, or its submitter has ended while the scheduler had it */
static bool found_unseen(struct tp_state *t, struct gt_k_job *j, uint64_t at)
{
	const struct tc_ring *s = &t->count->ring[j->ring % GT_K_RINGS];
	bool commits = t->count->rings[j->ring % GT_K_RINGS].commits;
	const struct gt_host *host = t->b->p->host;

	if (s->reset && (!commits || j->reported & GT_K_COMMIT) &&
	    (commits ? j->commit : j->seen) <= s->reset) {
		unseen(t, j, at, GT_UNSEEN_RESET);
		return true;
	}
	if (!commits || j->reported & GT_K_COMMIT || j->pid == GT_NONE32 ||
	    at < j->seen + GT_UNSEEN_DEAD_NS || !host->process_ended ||
	    !host->process_ended(t->b->p, j->pid, tc_start_of(t, j->start)))
		return false;
	unseen(t, j, at, GT_UNSEEN_DEAD);
	return true;
}

/* It is kept in case that its end comes after all. */
static bool is_over(struct tp_state *t, const struct gt_k_job *j, uint64_t was, uint64_t at)
{
	const struct gt_plugin *p = t->b->p;
	uint64_t age, most = p->job_age;

	if (!(j->flags & GT_K_UNSEEN)) {
		age = at > j->seen ? at - j->seen : 0;
		return most && age > most;
	}
	if (t->count->unseen > TC_UNSEEN || !most)
		most = GT_UNSEEN_SHORT_NS;
	age = at > j->unseen ? at - j->unseen : 0;
	return was == GT_K_LONE || age > most;
}

/* The model hears that until it certainly has the job's records. */
static void note_gone(struct tp_count *c, const struct gt_k_job *j, uint64_t at)
{
	if (j->flags & GT_K_VAGUE || j->unseen_why != GT_UNSEEN_SUPERSEDED || c->ngone == TC_GONE ||
	    at > j->unseen + GT_UNSEEN_SHORT_NS)
		return;
	c->gone[c->ngone++] = (struct tc_fly){
		.ring = j->ring,
		.job = { .ctx = j->ctx, .seqno = j->seqno, .seen = j->unseen },
	};
}

static void look(struct tp_state *t, uint64_t *key, struct gt_k_job *j, uint64_t at)
{
	struct tp_count *c = t->count;
	uint64_t was = __atomic_load_n(key, __ATOMIC_ACQUIRE);

	if (was == GT_K_FREE || was == GT_K_BUSY)
		return;
	if (was == GT_K_ENDED) {
		if (bury(t, key, j))
			free_key(c, key);
		return;
	}
	if (__atomic_load_n(&j->owed, __ATOMIC_RELAXED))
		pay(c, key, was, j);
	if (is_over(t, j, was, at) && __sync_bool_compare_and_swap(key, was, GT_K_BUSY)) {
		if (give_up(t, j, at))
			free_key(c, key);
		else
			__atomic_store_n(key, was, __ATOMIC_SEQ_CST);
		return;
	}
	if (j->flags & GT_K_UNSEEN || found_unseen(t, j, at)) {
		c->unseen_now++;
		if (j->flags & GT_K_REC)
			note_gone(c, j, at);
		return;
	}
	if (j->flags & GT_K_REC)
		return;
	c->ring[j->ring % GT_K_RINGS].now_flying += at > j->seen ? at - j->seen : 0;
	if (was != GT_K_LONE && c->nfly < TC_FLYING)
		note(&c->fly[c->nfly++], j, &c->rings[j->ring % GT_K_RINGS]);
}

static int by_ring(const void *a, const void *b)
{
	const struct tc_fly *x = a, *y = b;

	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return x->job.seen < y->job.seen ? -1 : x->job.seen > y->job.seen;
}

/** tc_list() - the jobs in flight on ring @i, into tp_count.job. How many */
static unsigned int tc_list(struct tp_count *c, unsigned int i)
{
	unsigned int n = 0, at = 0, to = c->nfly;

	while (at < to) { /* the first of the ring's */
		unsigned int mid = at + (to - at) / 2;

		if (c->fly[mid].ring < i)
			at = mid + 1;
		else
			to = mid;
	}
	for (; at < c->nfly && c->fly[at].ring == i; at++)
		c->job[n++] = c->fly[at].job;
	return n;
}

/** tc_gone() - those in records that ended unseen, into tp_count.left_unseen. How many */
static unsigned int tc_gone(struct tp_count *c, unsigned int i)
{
	unsigned int n = 0;

	for (unsigned int k = 0; k < c->ngone; k++)
		if (c->gone[k].ring == i)
			c->left_unseen[n++] = c->gone[k].job;
	return n;
}

/* Resets that the model knows of since the last look: what the hardware had is gone */
static void look_at_resets(struct tp_state *t)
{
	const struct gt_host *host = t->b->p->host;

	for (unsigned int i = 0; host->ring_reset && i < GT_K_RINGS; i++) {
		struct tc_ring *s = &t->count->ring[i];
		uint64_t reset;

		if (!s->known || !tc_ring_used(t->count, i))
			continue;
		reset = host->ring_reset(t->b->p, s->gpu, s->ring);
		if (reset == s->reset)
			continue;
		s->reset = reset;
		tc_lose(&t->count->rings[i]);
	}
}

void tc_flying(struct tp_state *t, uint64_t at)
{
	struct tp_count *c = t->count;

	look_at_resets(t);
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		c->ring[i].now_flying = 0;
	c->nfly = c->ngone = c->unseen_now = 0;
	for (unsigned int i = 0; i < GT_K_JOBS; i++)
		look(t, &c->job_keys[i / GT_K_WAYS].key[i % GT_K_WAYS], &c->jobs[i], at);
	c->unseen = c->unseen_now;
	qsort(c->fly, c->nfly, sizeof(c->fly[0]), by_ring);
}

/*
 * What the program counted goes to the model. The program is given the other bank; once each ring's
 * lock was free nobody writes into this one any more, and it is read and emptied at leisure. That
 * is done at the end of each quarter of a second, which is what times are kept by, and before
 * somebody looks.
 */

#define IDLE_FOLDS 40		 /* then a pair without jobs is given back */
#define HANGS_NS   1000000000ull /* between folds if all there is are jobs that do not end */

static bool live(uint64_t key)
{
	return key != GT_K_FREE && key != GT_K_BUSY;
}

/** tc_ring_used() - is there a ring of number @i? */
static bool tc_ring_used(const struct tp_count *c, unsigned int i)
{
	return live(c->ring_keys[i / GT_K_WAYS].key[i % GT_K_WAYS]);
}

/* The program writes into the other bank, and nobody into the one that is returned; -1: somebody
 * may still */
static int flip(struct tp_count *c)
{
	uint32_t bank = c->ctl->bank & 1;
	bool all = true;

	__atomic_store_n(&c->ctl->bank, !bank, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < GT_K_RINGS; i++) {
		if (tc_ring_used(c, i))
			all &= tc_free(&c->rings[i]);
	}
	return all ? (int)bank : -1;
}

/** tc_place() - finds out who ring @i is; false: nobody knows */
static bool tc_place(struct tp_state *t, unsigned int i)
{
	struct gt_k_ring *r = &t->count->rings[i];
	struct tc_ring *to = &t->count->ring[i];
	struct gt_evctx c = { .tid = r->tid, .pid = r->pid, .cpu = (uint16_t)r->cpu };

	if (to->known || r->refused)
		return to->known;
	to->known = r->index < t->n &&
		    gt_tp_place(t->slot[r->index].tp, &c, r->data, r->len, &to->gpu, &to->ring);
	r->refused = !to->known;
	tc_placed(t, i);
	return to->known;
}

static bool sum_empty(const struct gt_k_sum *s)
{
	return !(s->submitted | s->committed | s->completed | s->unseen | s->back);
}

/* Gives back a pair that has not been used for long */
static void rest(struct tp_count *c, unsigned int i)
{
	struct gt_k_pair *p = &c->pairs[i];
	struct gt_k_ring *r = &c->rings[p->ring % GT_K_RINGS];

	if (p->jobs || ++c->pair[i].idle < IDLE_FOLDS || !tc_lock(r))
		return;
	if (!p->jobs && sum_empty(&p->bank[0]) && sum_empty(&p->bank[1]))
		__atomic_store_n(&c->pair_keys[i / GT_K_WAYS].key[i % GT_K_WAYS], GT_K_FREE,
				 __ATOMIC_RELEASE);
	tc_unlock(r);
	c->pair[i].idle = 0;
}

/* Pairs with something to report are put into the lists of their rings */
static void gather(struct tp_count *c, unsigned int bank)
{
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		c->ring[i].pairs = 0;
	for (unsigned int i = 0; i < GT_K_PAIRS; i++) {
		const struct gt_k_pair *p = &c->pairs[i];
		struct tc_ring *r = &c->ring[p->ring % GT_K_RINGS];

		if (!live(c->pair_keys[i / GT_K_WAYS].key[i % GT_K_WAYS]))
			continue;
		if (sum_empty(&p->bank[bank]) && !c->pair[i].aged &&
		    p->inflight == c->pair[i].reported) {
			rest(c, i);
			continue;
		}
		c->pair[i].idle = 0;
		c->pair[i].next = r->pairs;
		r->pairs = (uint16_t)(i + 1);
	}
}

static struct gt_tally_bucket *stage(const struct tp_count *c, const struct gt_k_stage *from,
				     unsigned int bank, struct gt_tally_stage *to,
				     struct gt_tally_bucket *b)
{
	*to = (struct gt_tally_stage){
		.sum = from->sum, .max = from->max, .min = ~from->under, .bucket = b
	};
	for (uint32_t o = 0; o < GT_K_OCT; o++) {
		const struct gt_k_octave *oct;

		if (!from->oct[o] || from->oct[o] > GT_K_OCTS)
			continue;
		oct = &c->octs[bank * GT_K_OCTS + from->oct[o] - 1u];
		for (uint32_t k = 0; k < GT_HIST_SUB; k++)
			if (oct->n[k])
				*b++ = (struct gt_tally_bucket){ o * GT_HIST_SUB + k, oct->n[k] };
	}
	to->nbucket = (uint32_t)(b - to->bucket);
	return b;
}

/** tc_start_of() - when a process began, by /proc */
static uint64_t tc_start_of(const struct tp_state *t, uint64_t start)
{
	return start - start % t->tick; /* by /proc */
}

static void emit_pair(struct tp_state *t, unsigned int i, unsigned int bank,
		      struct gt_tally_proc *to, struct gt_tally_bucket **b)
{
	struct tp_count *c = t->count;
	struct gt_k_pair *p = &c->pairs[i];
	const struct gt_k_sum *s = &p->bank[bank];

	memcpy(c->comm[i], p->comm, sizeof(c->comm[i]));
	c->comm[i][sizeof(c->comm[i]) - 1] = '\0';
	*to = (struct gt_tally_proc){ .pid = p->pid,
				      .uid = p->uid,
				      .start = tc_start_of(t, p->start),
				      .first = s->first,
				      .comm = c->comm[i],
				      .submitted = s->submitted,
				      .committed = s->committed,
				      .completed = s->completed,
				      .busy_ns = s->busy,
				      .inflight = p->inflight,
				      .aged = c->pair[i].aged,
				      .unseen = s->unseen,
				      .back = s->back };
	for (unsigned int k = 0; k < GT_NSTAGES; k++)
		*b = stage(c, &s->stage[k], bank, &to->stage[k], *b);
	c->pair[i].reported = to->inflight;
	c->pair[i].aged = 0;
	memset(&p->bank[bank], 0, sizeof(p->bank[bank]));
}

static uint64_t hw_since(const struct gt_k_ring *r)
{
	unsigned int by = r->commits ? 1 : 0;

	return r->hw[by] ? r->hw_since[by] : 0;
}

static struct gt_tally ring_now(const struct gt_k_ring *r, const struct tc_ring *s)
{
	return (struct gt_tally){ .gpu = s->gpu,
				  .ring = s->ring,
				  .at = s->since,
				  .since = s->since,
				  .completed = s->completed,
				  .depth = s->depth,
				  .peak = s->depth,
				  .hw_since = s->hw_since,
				  .last_end = s->last_end,
				  .commits = r->commits };
}

/* Of one ring; was there anything? */
static bool emit_ring(struct tp_state *t, unsigned int i, unsigned int bank, uint64_t at)
{
	struct tp_count *c = t->count;
	struct gt_k_ring *r = &c->rings[i];
	struct gt_k_bank *b = &r->bank[bank];
	struct tc_ring *s = &c->ring[i];
	struct gt_tally_bucket *next = c->bucket;
	uint64_t area = r->area, since = hw_since(r);
	unsigned int listed = tc_list(c, i), gone = tc_gone(c, i);
	uint32_t peak = b->peak > r->inflight ? b->peak : r->inflight;
	struct gt_tally tally;

	/* a job that was listed may have ended before the banks were changed, and nothing since */
	if (!b->last && !b->peak && r->inflight == s->inflight && r->depth == s->depth &&
	    since == s->hw_since && !s->pairs && listed == s->listed && !gone)
		return false;
	/* those in flight at the last fold were so when this one's time began */
	peak = peak > s->inflight ? peak : s->inflight;
	s->inflight = r->inflight;
	s->listed = listed;
	s->completed = r->completed;
	s->depth = r->depth;
	s->hw_since = since;
	s->last_end = r->last_end;
	tally = ring_now(r, s);
	tally.at = at;
	memcpy(tally.seen, b->seen, sizeof(tally.seen));
	memcpy(tally.left, b->left, sizeof(tally.left));
	for (unsigned int k = 0; k < GT_NREFUSALS; k++)
		c->left[k] += b->left[k];
	c->begun += b->wanted;
	tally.busy_ns = b->busy;
	tally.peak = peak;
	tally.area = area + s->now_flying - (s->area + s->flying);
	tally.first = b->first;
	tally.last = b->last;
	tally.proc = c->proc;
	for (unsigned int p = s->pairs; p; p = c->pair[p - 1].next)
		emit_pair(t, p - 1, bank, &c->proc[tally.nproc++], &next);
	if (b->unseen | b->back)
		c->proc[tally.nproc++] = (struct gt_tally_proc){
			.pid = GT_NONE32, .uid = GT_NONE32, .unseen = b->unseen, .back = b->back
		};
	s->area = area;
	s->flying = s->now_flying;
	s->since = at;
	tally.job = c->job;
	tally.njob = listed;
	tally.gone = c->left_unseen;
	tally.ngone = gone;
	memset(b, 0, sizeof(*b));
	if (tc_place(t, i)) {
		tally.gpu = s->gpu;
		tally.ring = s->ring;
		t->b->p->host->tally(t->b->p, &tally);
	} else {
		c->unplaced +=
			tally.seen[GT_SUBMIT] + tally.seen[GT_COMMIT] + tally.seen[GT_COMPLETE];
	}
	return true;
}

static void empty_octaves(struct tp_count *c, unsigned int bank)
{
	uint32_t n = c->ctl->next[bank];

	n = n < GT_K_OCTS ? n : GT_K_OCTS;
	memset(&c->octs[bank * GT_K_OCTS], 0, n * sizeof(*c->octs));
	c->ctl->next[bank] = 0;
}

bool tc_fold(struct tp_state *t, uint64_t now, bool in_time)
{
	uint64_t began = t->b->p->host->now(t->b->p), slot = now - now % TC_SLOT_NS;
	struct tp_count *c = t->count;
	uint64_t at = in_time && slot > c->at ? slot - 1 : now;
	bool some = false;
	int bank;

	if (at < c->at)
		at = c->at;
	tc_flying(t, at);
	bank = flip(c);
	if (bank < 0)
		return true;
	gather(c, (unsigned int)bank);
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		if (tc_ring_used(c, i))
			some |= emit_ring(t, i, (unsigned int)bank, at);
	empty_octaves(c, (unsigned int)bank);
	c->at = at;
	c->folds++;
	c->fold_ns += t->b->p->host->now(t->b->p) - began;
	return some;
}

#define PER_JOB 3 /* records */
#define PER_SEC (1000000000ull / TC_SLOT_NS)

/* How many jobs may be in records until the next fold in time, and which share of them that is, as
 * far as the last quarter of a second shows */
/* How many jobs may be in records until the next fold in time */
static void thin(struct tp_state *t)
{
	uint64_t rate = (uint64_t)t->b->o->record_rate, limit = rate / PER_JOB / PER_SEC;
	struct gt_k_ctl *ctl = t->count->ctl;
	uint64_t begun = t->count->begun;

	limit = rate && !limit ? 1 : limit;
	ctl->share = begun > limit ? (uint32_t)(limit * 1024 / begun) + 1 : 1024;
	ctl->limit = (uint32_t)limit;
	__atomic_store_n(&ctl->taken, 0, __ATOMIC_RELAXED);
	t->count->begun = 0;
}

static void due(struct tp_state *t, uint64_t at)
{
	t->count->due = at;
	tp_due(t);
}

void tc_wake(struct tp_state *t)
{
	uint64_t now = t->b->p->host->now(t->b->p);

	if (!t->count || t->count->off || t->count->due)
		return;
	t->b->p->host->counting(t->b->p, true);
	t->count->begun = 0;
	thin(t);
	due(t, now - now % TC_SLOT_NS + TC_SLOT_NS);
}

static bool hangs(const struct tp_count *c)
{
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		if (c->ring[i].depth)
			return true;
	return false;
}

/* Nothing came: the next event says so, and what comes just before it is believed is found now. */
static bool sleep_now(struct tp_state *t, uint64_t now)
{
	struct tp_count *c = t->count;

	if (hangs(c))
		return false;
	__atomic_store_n(&c->ctl->awake, 0, __ATOMIC_SEQ_CST);
	if (!tc_fold(t, now, false))
		return true;
	__atomic_store_n(&c->ctl->awake, 1, __ATOMIC_SEQ_CST);
	return false;
}

void tc_round(struct tp_state *t)
{
	uint64_t now = t->b->p->host->now(t->b->p);
	struct tp_count *c = t->count;

	if (!c || c->off)
		return;
	if (!c->due && __atomic_load_n(&c->ctl->awake, __ATOMIC_RELAXED))
		tc_wake(t);
	if (!c->due || now < c->due)
		return;
	if (tc_fold(t, now, true)) {
		thin(t);
		due(t, now - now % TC_SLOT_NS + TC_SLOT_NS);
	} else if (sleep_now(t, now)) {
		due(t, 0);
		t->b->p->host->counting(t->b->p, false);
	} else {
		due(t, now - now % HANGS_NS + HANGS_NS);
	}
}

/* Number of the pair; GT_K_PAIRS if it is not in the table */
static unsigned int pair_of(const struct tp_count *c, uint32_t ring, uint32_t pid, uint64_t start)
{
	for (unsigned int i = 0; i < GT_K_PAIRS; i++)
		if (live(c->pair_keys[i / GT_K_WAYS].key[i % GT_K_WAYS]) &&
		    c->pairs[i].ring == ring && c->pairs[i].pid == pid &&
		    c->pairs[i].start == start)
			return i;
	return GT_K_PAIRS;
}

static uint32_t inflight_of(const struct tp_count *c, const struct gt_k_tale *tale)
{
	unsigned int i = pair_of(c, tale->ring, tale->pid, tale->start);

	return i < GT_K_PAIRS ? c->pair[i].reported : 0;
}

/** tc_one() - a tally of one job alone: values @v (GT_NONE64: none) */
static void tc_one(struct tp_state *t, const struct gt_k_tale *tale, uint32_t aged)
{
	struct tp_count *c = t->count;
	struct gt_tally_bucket b[GT_NSTAGES];
	struct gt_tally_proc p = { .pid = tale->pid,
				   .uid = tale->uid,
				   .start = tc_start_of(t, tale->start),
				   .aged = aged };
	struct gt_tally tally;

	if (tale->ring >= GT_K_RINGS || !tc_ring_used(c, tale->ring) || !tc_place(t, tale->ring))
		return;
	/* as of the last fold, so that nothing else is reported twice */
	tally = ring_now(&c->rings[tale->ring], &c->ring[tale->ring]);
	if (!tally.at)
		tally.at = t->b->p->host->now(t->b->p);
	p.first = tally.at;
	tally.proc = &p;
	tally.nproc = 1;
	tally.unlisted = true;
	p.inflight = inflight_of(c, tale);
	if (!tale->counted) {
		p.submitted = !!(tale->reported & GT_K_SUBMIT);
		p.committed = !!(tale->reported & GT_K_COMMIT);
		p.completed = !aged;
		p.busy_ns = tale->busy;
	}
	for (unsigned int i = 0; i < GT_NSTAGES; i++) {
		if (tale->v[i] == GT_NONE64)
			continue;
		b[i] = (struct gt_tally_bucket){ gt_hist_bucket(tale->v[i]), 1 };
		p.stage[i] =
			(struct gt_tally_stage){ tale->v[i], tale->v[i], tale->v[i], &b[i], 1 };
	}
	t->b->p->host->tally(t->b->p, &tally);
}

void tc_known(struct tp_state *t, const struct gt_bpf_raw *raw, struct gt_evctx *c)
{
	if (!raw->known || !t->count || t->count->off || raw->nth >= GT_K_RINGS ||
	    !tc_ring_used(t->count, raw->nth) || !tc_place(t, raw->nth))
		return;
	c->known = true;
	c->gpu = t->count->ring[raw->nth].gpu;
	c->ring = raw->known == GT_BPF_GPU ? GT_NONE16 : t->count->ring[raw->nth].ring;
	c->ctx = raw->known == GT_BPF_JOB ? raw->exec : GT_NONE64;
}

void tc_tale(struct tp_state *t, const void *data, size_t len)
{
	struct gt_k_tale tale;

	if (!t->count || t->count->off || len < sizeof(tale))
		return;
	memcpy(&tale, data, sizeof(tale));
	t->count->tales++;
	tc_one(t, &tale, 0);
}

#define LOCK_TRIES 20000 /* some 100 us: whoever holds it has been taken off its CPU */

static_assert((int)GT_K_INT == GT_PIECE_INT && (int)GT_K_DYN == GT_PIECE_DYN &&
		      (int)GT_K_REL == GT_PIECE_REL && (int)GT_K_CHARS == GT_PIECE_CHARS,
	      "kinds of pieces");
static_assert(GT_K_BY_FENCE == GT_KEY_FENCE && GT_K_BY_CTX == GT_KEY_CTX &&
		      GT_K_BY_SEQNO == GT_KEY_SEQNO && GT_K_BY_RING == GT_KEY_RING &&
		      (int)GT_K_PIECES == GT_TP_PIECES,
	      "keys");
static_assert((int)GT_K_LEFT >= (int)GT_NREFUSALS, "every reason has a counter");
static_assert(sizeof(struct gt_k_job) == 128 && sizeof(struct gt_k_line) == 64, "cache lines");

/** tc_lock() - a ring's; false: not to be had now */
static bool tc_lock(struct gt_k_ring *r)
{
	for (unsigned int i = 0; i < LOCK_TRIES; i++) {
		if (!__atomic_load_n(&r->lock, __ATOMIC_RELAXED) &&
		    __sync_bool_compare_and_swap(&r->lock, 0, GT_K_DAEMON))
			return true;
	}
	return false;
}

static void tc_unlock(struct gt_k_ring *r)
{
	__atomic_store_n(&r->lock, 0, __ATOMIC_RELEASE);
}

/** tc_free() - waits until nobody has a ring's lock; false: somebody has it for long */
static bool tc_free(const struct gt_k_ring *r)
{
	for (unsigned int i = 0; i < LOCK_TRIES; i++)
		if (!__atomic_load_n(&r->lock, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

static void *map(struct tp_count *c, unsigned int i, const struct bpf_map *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = (bpf_map__value_size(m) + 7ul) / 8 * 8 * bpf_map__max_entries(m);
	void *p;

	len = (len + page - 1) / page * page;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m), 0);
	if (p == MAP_FAILED)
		return NULL;
	c->map[i].p = p;
	c->map[i].len = len;
	return p;
}

static bool map_all(struct tp_count *c, const struct tracepoint_bpf *skel)
{
	c->ctl = map(c, 0, skel->maps.k_ctl);
	c->ring_keys = map(c, 1, skel->maps.k_ring_keys);
	c->rings = map(c, 2, skel->maps.k_rings);
	c->pair_keys = map(c, 3, skel->maps.k_pair_keys);
	c->pairs = map(c, 4, skel->maps.k_pairs);
	c->job_keys = map(c, 5, skel->maps.k_job_keys);
	c->jobs = map(c, 6, skel->maps.k_jobs);
	c->octs = map(c, 7, skel->maps.k_octs);
	c->wanted = map(c, 8, skel->maps.k_wanted);
	c->bucket = calloc((size_t)GT_K_OCTS * GT_HIST_SUB, sizeof(*c->bucket));
	return c->ctl && c->ring_keys && c->rings && c->pair_keys && c->pairs && c->job_keys &&
	       c->jobs && c->octs && c->wanted && c->bucket;
}

int tc_start(struct tp_state *t)
{
	struct tp_count *c = calloc(1, sizeof(*c));
	uint64_t seed = 0;

	if (!c)
		return -ENOMEM;
	t->count = c;
	if (t->b->o->match && !strcmp(t->b->o->match, "daemon"))
		c->off = "the setting match is daemon";
	else if (gt_tasks_foreign(t->tasks))
		c->off = "the kernel reports pids of the first PID namespace, and this is another";
	else if (!map_all(c, t->skel))
		c->off = "no memory to map what is counted";
	if (c->off)
		return 0;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = t->b->p->host->now(t->b->p);
	c->ctl->seed = seed | 1;
	tc_wanted(t);
	thin(t);
	return 0;
}

static void end_all(struct tp_state *t)
{
	struct tp_count *c = t->count;

	tc_all_unseen(t, t->b->p->host->now(t->b->p));
	for (unsigned int i = 0; i < GT_K_JOBS; i++)
		c->job_keys[i / GT_K_WAYS].key[i % GT_K_WAYS] = GT_K_FREE;
	for (unsigned int i = 0; i < GT_K_PAIRS; i++)
		c->pairs[i].inflight = c->pairs[i].jobs = 0;
	for (unsigned int i = 0; i < GT_K_RINGS; i++) {
		gt_k_hw_forget(&c->rings[i]);
		c->rings[i].depth = 0;
	}
	tc_fold(t, t->b->p->host->now(t->b->p), false);
}

/* No program runs any more. What is in flight is known to nobody then. */
void tc_stop(struct tp_state *t)
{
	struct tp_count *c = t->count;

	if (!c)
		return;
	if (!c->off) {
		tc_fold(t, t->b->p->host->now(t->b->p), false);
		end_all(t);
		t->b->p->host->counting(t->b->p, false);
	}
	t->b->due = 0;
	for (unsigned int i = 0; i < sizeof(c->map) / sizeof(c->map[0]); i++)
		if (c->map[i].p)
			munmap(c->map[i].p, c->map[i].len);
	free(c->bucket);
	free(c);
	t->count = NULL;
}

static struct gt_k_piece piece(const struct gt_tp_piece *p)
{
	return (struct gt_k_piece){ .off = p->off, .size = p->size, .kind = p->kind };
}

static bool within(const struct gt_k_piece *p)
{
	return !p->size || p->off + p->size <= GT_BPF_RAW_MAX;
}

/* Of a wait: the key of the job that it is for */
static bool describe_wait(const struct tp_slot *s, struct gt_k_tp *out)
{
	struct gt_tp_condition w;
	struct gt_tp_job j;

	*out = (struct gt_k_tp){ 0 };
	if (!s->how || !gt_tp_wait(s->tp, &j) ||
	    (gt_tp_condition(s->tp, &w) && s->conf.test == GT_BPF_ANY))
		return false;
	out->key = j.key;
	out->ctx = piece(&j.ctx);
	out->seqno = piece(&j.seqno);
	if (!within(&out->ctx) || !within(&out->seqno))
		return false;
	out->roles = GT_K_WAIT;
	return true;
}

#define MAPS 512 /* files: no more than sections */

/* What is known of a map's jobs; @spoilt: they cannot be counted here; @submits: they are submitted
 */
struct of_map {
	bool spoilt, submits;
};

/* How the events of @s are counted, as far as they can be */
static bool describe(const struct tp_slot *s, struct gt_k_tp *out, const struct of_map map[MAPS])
{
	struct gt_tp_condition w;
	struct gt_tp_job j;
	bool good;

	*out = (struct gt_k_tp){ 0 };
	if (!s->how || !gt_tp_job(s->tp, &j) || j.map >= MAPS || map[j.map].spoilt)
		return false;
	/* the condition is the program's matter then */
	if (gt_tp_condition(s->tp, &w) && s->conf.test == GT_BPF_ANY)
		return false;
	out->begins = j.begins;
	out->known = j.known;
	out->vague = j.vague;
	out->submits = map[j.map].submits;
	out->key = j.key;
	out->ring = j.npiece || j.types != GT_BIT(GT_COMPLETE);
	out->n = (uint8_t)j.npiece;
	out->seed = j.seed;
	out->ctx = piece(&j.ctx);
	out->seqno = piece(&j.seqno);
	out->fence = piece(&j.fence);
	good = within(&out->ctx) && within(&out->seqno) && within(&out->fence);
	for (unsigned int i = 0; i < j.npiece; i++) {
		out->piece[i] = piece(&j.piece[i]);
		good &= within(&out->piece[i]);
	}
	out->roles = (j.types >> GT_SUBMIT & 1 ? GT_K_SUBMIT : 0) |
		     (j.types >> GT_COMMIT & 1 ? GT_K_COMMIT : 0) |
		     (j.types >> GT_COMPLETE & 1 ? GT_K_COMPLETE : 0);
	return good;
}

/* Jobs with an end, say, that cannot be counted here are not begun here either. */
static void look_at_maps(const struct tp_state *t, struct of_map map[MAPS])
{
	struct gt_k_tp conf;
	struct gt_tp_job j;

	for (uint32_t i = 0; i < t->n; i++) {
		if (!t->slot[i].wanted || !gt_tp_job(t->slot[i].tp, &j) || j.map >= MAPS)
			continue;
		map[j.map].submits |= j.types >> GT_SUBMIT & 1;
		map[j.map].spoilt |= !describe(&t->slot[i], &conf, map);
	}
}

void tc_select(struct tp_state *t)
{
	struct of_map map[MAPS] = { 0 };
	struct tp_count *c = t->count;
	struct gt_k_tp conf;

	if (!c || c->off)
		return;
	c->sections = 0;
	look_at_maps(t, map);
	for (uint32_t i = 0; i < t->n; i++) {
		bool counts = describe(&t->slot[i], &conf, map);

		if (!counts && !describe_wait(&t->slot[i], &conf))
			conf = (struct gt_k_tp){ 0 };
		if (!bpf_map__update_elem(t->skel->maps.k_tps, &i, sizeof(i), &conf, sizeof(conf),
					  0))
			c->sections += counts;
	}
	/* who a ring is may have changed with what there is */
	for (unsigned int i = 0; i < GT_K_RINGS; i++) {
		c->ring[i].known = false;
		c->rings[i].refused = 0;
		if (tc_ring_used(c, i))
			tc_place(t, i);
	}
	__atomic_store_n(&c->ctl->on, c->sections > 0, __ATOMIC_SEQ_CST);
}

/* As fs/model's lost_on_ring(): what occupies the hardware is not known any more */
static void tc_lose(struct gt_k_ring *r)
{
	bool locked = tc_lock(r);

	__atomic_store_n(&r->after_loss, 1, __ATOMIC_RELAXED);
	if (!locked)
		return;
	gt_k_hw_forget(r);
	tc_unlock(r);
}

void tc_lost(struct tp_state *t)
{
	struct tp_count *c = t->count;

	if (!c || c->off)
		return;
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		if (tc_ring_used(c, i))
			tc_lose(&c->rings[i]);
	tc_all_unseen(t, t->b->p->host->now(t->b->p));
}

void tc_look(struct tp_state *t)
{
	struct tp_count *c = t->count;

	if (!c || c->off)
		return;
	tc_wanted(t);
	if (t->b->resumed)
		tc_lost(t);
}

void tc_doctor(const struct tp_state *t, struct gt_details *out)
{
	const struct tp_count *c = t->count;

	if (!c)
		return;
	if (c->off) {
		gt_detail(out, "counted_in daemon: %s\n", c->off);
		return;
	}
	gt_detail(out, "counted_in %s\n", c->sections ? "kernel" : "daemon: no map's jobs can be");
	gt_detail(out, "counted_tracepoints %u\n", c->sections);
	gt_detail(out, "count_folds %" PRIu64 "\n", c->folds);
	gt_detail(out, "count_fold_ns %" PRIu64 "\n", c->folds ? c->fold_ns / c->folds : 0);
	gt_detail(out, "count_no_ring %" PRIu64 "\n", c->ctl->no_ring);
	gt_detail(out, "count_no_job %" PRIu64 "\n", c->ctl->no_job);
	gt_detail(out, "count_no_pair %" PRIu64 "\n", c->ctl->no_pair);
	gt_detail(out, "count_singly %" PRIu64 "\n", c->tales);
	gt_detail(out, "count_later %" PRIu64 "\n", c->ctl->owed);
	gt_detail(out, "record_share %u/1024\n", c->ctl->share);
	gt_detail(out, "records_thinned %" PRIu64 "\n", c->left[GT_R_RATE]);
	gt_detail(out, "count_unplaced %" PRIu64 "\n", c->unplaced);
	tc_left_doctor(c, out);
}
