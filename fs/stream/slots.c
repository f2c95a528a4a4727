/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slots of the event log: made, resized, copied from. A resize copies nothing: what was kept
 * stays where it is and is read from there, until the new slots hold as much as they can.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "slots.h"

#define LOG_MIN_BYTES  65536
#define LOG_PIPE_BYTES (4 << 20) /* where nothing is kept: a reader may be so far behind */
#define TRIES	       2000
#define FREE_AT_A_TIME (8 << 20)

/* How many of @size fit into @bytes, as a power of two. */
static uint64_t pow2_fit(uint64_t bytes, size_t size)
{
	return 1ULL << (63 - __builtin_clzll(bytes / size));
}

static void *map(uint64_t n, size_t size)
{
	void *p;

	if (n > SIZE_MAX / size)
		return NULL;
	p = mmap(NULL, n * size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* A piece at a time: others need the process's map as well, for a page of theirs */
static void unmap(char *p, uint64_t n, size_t size)
{
	size_t len = n * size;

	for (size_t at = 0; p && at < len; at += FREE_AT_A_TIME)
		madvise(p + at, len - at < FREE_AT_A_TIME ? len - at : FREE_AT_A_TIME,
			MADV_DONTNEED);
	if (p)
		munmap(p, len);
}

int gt_slots_make(struct gt_slots *s, uint64_t bytes)
{
	if (!bytes)
		bytes = LOG_PIPE_BYTES;
	if (bytes < LOG_MIN_BYTES)
		bytes = LOG_MIN_BYTES;
	s->mask = pow2_fit(bytes, sizeof(*s->rec)) - 1;
	s->fin_mask = pow2_fit(bytes / 4, sizeof(*s->fin)) - 1;
	s->rec = map(s->mask + 1, sizeof(*s->rec));
	s->fin = map(s->fin_mask + 1, sizeof(*s->fin));
	if (s->rec && s->fin)
		return 0;
	gt_slots_free(s);
	return -ENOMEM;
}

void gt_slots_free(struct gt_slots *s)
{
	unmap((char *)s->rec, s->mask + 1, sizeof(*s->rec));
	unmap((char *)s->fin, s->fin_mask + 1, sizeof(*s->fin));
	s->rec = NULL;
	s->fin = NULL;
}

/* Who reads changes nothing but who is reading */
static pthread_rwlock_t *lock_of(const struct gt_log *l)
{
	return (pthread_rwlock_t *)&l->lock;
}

/* Eras --------------------------------------------------------------------------------------- */

static char *era_slot(const struct gt_log_side *s, uint64_t i)
{
	for (unsigned int k = 0; k < s->n; k++)
		if (i >= s->era[k].from && i < s->era[k].end)
			return s->era[k].mem + (i & s->era[k].mask) * s->size;
	return NULL;
}

struct gt_finished *gt_log_old_fin(const struct gt_log *l, uint64_t i)
{
	return (struct gt_finished *)era_slot(&l->fins, i);
}

static void free_era(struct gt_log_side *s, struct gt_log_era *e)
{
	unmap(e->mem, e->mask + 1, s->size);
	e->mem = NULL;
}

/* The oldest era goes out; to be freed by who has no lock */
static struct gt_log_era era_pop(struct gt_log_side *s)
{
	struct gt_log_era e = s->era[0];

	s->n--;
	memmove(s->era, s->era + 1, s->n * sizeof(s->era[0]));
	return e;
}

/* What is in use becomes an era; @head: where it ends */
static void era_push(struct gt_log_side *s, void *mem, uint64_t mask, uint64_t head)
{
	uint64_t from = head > mask + 1 ? head - (mask + 1) : 0;

	s->era[s->n++] = (struct gt_log_era){
		.mem = mem, .mask = mask, .from = from > s->since ? from : s->since, .end = head
	};
	s->since = head;
}

static void set_base(struct gt_log_side *s)
{
	atomic_store(&s->base, s->n ? s->era[0].from : s->since);
}

/* Resizing ----------------------------------------------------------------------------------- */

/** struct gone - what nobody can reach any more: eras, and so many of the newest that stays */
struct gone {
	struct gt_log_era rec[GT_LOG_ERAS + 1], fin[GT_LOG_ERAS + 1];
	unsigned int nrec, nfin;
	uint64_t recs, fins;
};

/* How much of the newest era the slots in use have no room for, though nothing has come yet */
static uint64_t too_many(struct gt_log_side *s, uint64_t keep)
{
	struct gt_log_era *e = s->n ? &s->era[s->n - 1] : NULL;
	uint64_t from;

	if (!e || keep <= e->from)
		return 0;
	from = e->from;
	e->from = keep;
	set_base(s);
	return keep - from;
}

static void forget(char *p, uint64_t len)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = ((uintptr_t)p + page - 1) / page * page - (uintptr_t)p;

	for (uint64_t at = first; len > at && len - at >= page; at += FREE_AT_A_TIME) {
		uint64_t rest = (len - at) / page * page;

		madvise(p + at, rest < FREE_AT_A_TIME ? rest : FREE_AT_A_TIME, MADV_DONTNEED);
	}
}

/* The memory of the @n that came before the newest era's first. Nobody reads them any more */
static void forget_before(const struct gt_log_side *s, uint64_t n)
{
	const struct gt_log_era *e = &s->era[s->n - 1];
	uint64_t i, run;

	if (!n)
		return;
	i = (e->from - n) & e->mask;
	run = e->mask + 1 - i < n ? e->mask + 1 - i : n;
	forget(e->mem + i * s->size, run * s->size);
	forget(e->mem, (n - run) * s->size);
}

/* Eras that lie before @keep, or are more than @max */
static unsigned int drop(struct gt_log_side *s, uint64_t keep, unsigned int max,
			 struct gt_log_era *out)
{
	unsigned int n = 0;

	while (s->n && (s->n > max || s->era[0].end <= keep))
		out[n++] = era_pop(s);
	set_base(s);
	return n;
}

static uint64_t first_kept(uint64_t head, uint64_t mask)
{
	return head > mask + 1 ? head - (mask + 1) : 0;
}

static void swap(struct gt_log *l, const struct gt_slots *s, bool none, struct gone *g)
{
	uint64_t head = atomic_load(&l->head), fin = atomic_load(&l->fin_head);

	g->nrec = drop(&l->recs, first_kept(head, s->mask), GT_LOG_ERAS - 1, g->rec);
	g->nfin = drop(&l->fins, first_kept(fin, s->fin_mask), GT_LOG_ERAS - 1, g->fin);
	era_push(&l->recs, l->rec, l->mask, head);
	era_push(&l->fins, l->fin, l->fin_mask, fin);
	l->rec = s->rec;
	l->mask = s->mask;
	l->fin = s->fin;
	l->fin_mask = s->fin_mask;
	g->nrec += drop(&l->recs, 0, none ? 0 : GT_LOG_ERAS, g->rec + g->nrec);
	g->nfin += drop(&l->fins, 0, none ? 0 : GT_LOG_ERAS, g->fin + g->nfin);
	g->recs = too_many(&l->recs, first_kept(head, s->mask));
	g->fins = too_many(&l->fins, first_kept(fin, s->fin_mask));
	if (none != atomic_load(&l->none)) {
		atomic_store(&l->from, head);
		atomic_store(&l->fin_from, fin);
	}
	atomic_store(&l->none, none);
}

/* The ingest thread is let in between two tries: it never waits for a reader */
static bool both_locks(struct gt_log *l, pthread_mutex_t *ingest)
{
	const struct timespec nap = { .tv_nsec = 200000 };

	for (int i = 0; i < TRIES; i++) {
		pthread_mutex_lock(ingest);
		if (!pthread_rwlock_trywrlock(&l->lock))
			return true;
		pthread_mutex_unlock(ingest);
		nanosleep(&nap, NULL);
	}
	return false;
}

static void free_gone(struct gt_log *l, struct gone *g)
{
	while (g->nrec)
		free_era(&l->recs, &g->rec[--g->nrec]);
	while (g->nfin)
		free_era(&l->fins, &g->fin[--g->nfin]);
}

int gt_log_resize(struct gt_log *l, uint64_t bytes, pthread_mutex_t *ingest)
{
	struct gt_slots s = { 0 };
	struct gone g = { 0 };
	int ret = gt_slots_make(&s, bytes);

	if (ret)
		return ret;
	if (!both_locks(l, ingest)) {
		gt_slots_free(&s);
		return -EBUSY;
	}
	swap(l, &s, !bytes, &g);
	pthread_rwlock_unlock(&l->lock);
	pthread_mutex_unlock(ingest);
	forget_before(&l->recs, g.recs);
	forget_before(&l->fins, g.fins);
	free_gone(l, &g);
	return 0;
}

static uint64_t used(const struct gt_log_side *s, uint64_t head, uint64_t mask)
{
	uint64_t n = head - s->since;

	n = n < mask + 1 ? n : mask + 1;
	for (unsigned int i = 0; i < s->n; i++)
		n += s->era[i].end - s->era[i].from;
	return n * s->size;
}

uint64_t gt_log_bytes(const struct gt_log *l)
{
	uint64_t n;

	pthread_rwlock_rdlock(lock_of(l));
	n = used(&l->recs, l->head, l->mask) + used(&l->fins, l->fin_head, l->fin_mask);
	pthread_rwlock_unlock(lock_of(l));
	return n;
}

void gt_log_tidy(struct gt_log *l, pthread_mutex_t *ingest)
{
	struct gone g = { 0 };

	if (!l->recs.n && !l->fins.n)
		return;
	pthread_mutex_lock(ingest);
	if (!pthread_rwlock_trywrlock(&l->lock)) {
		g.nrec = drop(&l->recs, first_kept(l->head, l->mask), GT_LOG_ERAS, g.rec);
		g.nfin = drop(&l->fins, first_kept(l->fin_head, l->fin_mask), GT_LOG_ERAS, g.fin);
		pthread_rwlock_unlock(&l->lock);
	}
	pthread_mutex_unlock(ingest);
	free_gone(l, &g);
}

void gt_log_drop_eras(struct gt_log *l)
{
	struct gone g = { 0 };

	g.nrec = drop(&l->recs, 0, 0, g.rec);
	g.nfin = drop(&l->fins, 0, 0, g.fin);
	free_gone(l, &g);
}

/* Copying ------------------------------------------------------------------------------------ */

static void copy_run(const struct gt_log *l, uint64_t at, union gt_record *out, size_t n)
{
	size_t i = at & l->mask, run = l->mask + 1 - i;

	if (run > n)
		run = n;
	memcpy(out, &l->rec[i], run * sizeof(*out));
	memcpy(out + run, l->rec, (n - run) * sizeof(*out));
}

/* From an era. Return: how many; 0: they are not there */
static size_t copy_old(const struct gt_log *l, uint64_t at, union gt_record *out, size_t n)
{
	size_t done = 0;

	for (; done < n && at + done < l->recs.since; done++) {
		const char *slot = era_slot(&l->recs, at + done);

		if (!slot)
			return 0;
		memcpy(out + done, slot, sizeof(*out));
	}
	return done;
}

bool gt_log_copy(const struct gt_log *l, uint64_t at, union gt_record *out, size_t n)
{
	size_t old = 0;
	bool whole;

	pthread_rwlock_rdlock(lock_of(l));
	if (at < l->recs.since)
		old = copy_old(l, at, out, n);
	whole = at + old >= l->recs.since || old == n;
	if (whole && n > old)
		copy_run(l, at + old, out + old, n - old);
	/* If a byte came from a later record, its writer's `writing` is seen now: see log.c */
	atomic_thread_fence(memory_order_acquire);
	whole = whole &&
		atomic_load_explicit(&l->writing, memory_order_relaxed) <= at + l->mask + 1;
	pthread_rwlock_unlock(lock_of(l));
	return whole;
}

uint64_t gt_log_oldest(const struct gt_log *l)
{
	uint64_t w = atomic_load_explicit(&l->writing, memory_order_acquire), base, mask;

	pthread_rwlock_rdlock(lock_of(l));
	mask = l->mask;
	base = atomic_load_explicit(&l->recs.base, memory_order_relaxed);
	pthread_rwlock_unlock(lock_of(l));
	w = w > mask + 1 ? w - (mask + 1) : 0;
	return w > base ? w : base;
}

bool gt_log_fin_get(const struct gt_log *l, uint64_t i, struct gt_finished *out)
{
	const struct gt_finished *f;
	bool whole;

	if (i >= atomic_load_explicit(&l->fin_head, memory_order_acquire) || i < gt_log_fin_from(l))
		return false;
	pthread_rwlock_rdlock(lock_of(l));
	f = i >= l->fins.since ? &l->fin[i & l->fin_mask] : gt_log_old_fin(l, i);
	if (f)
		*out = *f;
	atomic_thread_fence(memory_order_acquire);
	whole = f &&
		atomic_load_explicit(&l->fin_writing, memory_order_relaxed) <= i + l->fin_mask + 1;
	pthread_rwlock_unlock(lock_of(l));
	return whole;
}
