/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The writer's side of the event log.
 *
 * Both rings work alike: `writing` is raised before a slot is overwritten, `head` after. A reader
 * copies slots below head and then looks at writing: slot i was still whole if writing <= i +
 * capacity. The copy races with the writer on purpose, and what it may have torn is thrown away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../../backend/lib/file.h"
#include "stream.h"

/* Memory of the event log */
struct gt_slots {
	union gt_record *rec;
	struct gt_finished *fin, *bare;
	uint64_t mask, fin_mask, bare_mask;
};

static void gt_slots_free(struct gt_slots *s);

/*
 * The slots of the event log: made, resized, copied from. A resize copies nothing: what was kept
 * stays where it is and is read from there, until the new slots hold as much as they can.
 */

#define LOG_MIN_BYTES  65536
#define LOG_PIPE_BYTES (4 << 20) /* where nothing is kept: a reader may be so far behind */
#define TRIES	       2000
#define CLOCK_STEP     1000000 /* ns by which an offset has changed when readers get it */
#define FREE_AT_A_TIME (8 << 20)
#define TRIM	       (64 << 10)   /* of an era: less is not worth a system call */
#define GROW	       (4ULL << 20) /* of a file at a time */
#define SPARE_MAX      (1ULL << 30)

/* Jobs get a quarter of the bytes at least. What copy_fins() takes at a time goes round the slots once */
_Static_assert(LOG_MIN_BYTES / 4 / sizeof(struct gt_finished) >= GT_FINS,
	       "the smallest log has a slot for each job of a window");

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

/* At least what copy_bare() takes at a time */
static uint64_t bare_slots(uint64_t fins)
{
	uint64_t n = fins / 4 < GT_LOG_BARE_MAX ? fins / 4 : GT_LOG_BARE_MAX;

	return n < GT_FINS ? GT_FINS : n;
}

/** gt_slots_make() - @bytes for records and finished jobs together; 0: as much as open readers need.
 * 0 or -ENOMEM */
static int gt_slots_make(struct gt_slots *s, uint64_t bytes)
{
	bool none = !bytes;

	if (none)
		bytes = LOG_PIPE_BYTES + LOG_MIN_BYTES; /* nobody reads of the jobs */
	if (bytes < LOG_MIN_BYTES)
		bytes = LOG_MIN_BYTES;
	s->mask = pow2_fit(none ? LOG_PIPE_BYTES : bytes - bytes / 4, sizeof(*s->rec)) - 1;
	s->fin_mask = pow2_fit(bytes - (s->mask + 1) * sizeof(*s->rec), sizeof(*s->fin)) - 1;
	s->bare_mask = bare_slots(s->fin_mask + 1) - 1;
	s->rec = map(s->mask + 1, sizeof(*s->rec));
	s->fin = map(s->fin_mask + 1, sizeof(*s->fin));
	s->bare = map(s->bare_mask + 1, sizeof(*s->bare));
	if (s->rec && s->fin && s->bare)
		return 0;
	gt_slots_free(s);
	return -ENOMEM;
}

static void gt_slots_free(struct gt_slots *s)
{
	unmap((char *)s->rec, s->mask + 1, sizeof(*s->rec));
	unmap((char *)s->fin, s->fin_mask + 1, sizeof(*s->fin));
	unmap((char *)s->bare, s->bare_mask + 1, sizeof(*s->bare));
	s->rec = NULL;
	s->fin = s->bare = NULL;
}

/* Files -------------------------------------------------------------------------------------- */

/* Slots for all that there may ever be: a file with a hole costs nothing, nor do addresses. */
static void *map_file(const char *dir, uint64_t n, size_t size, int *fd)
{
	void *p = MAP_FAILED;

	*fd = gt_unnamed_file(dir);
	if (*fd >= 0 && !ftruncate(*fd, (off_t)(n * size)))
		p = mmap(NULL, n * size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* A page of a file that has no room on its file system would end the process where it is written.
 */
static int grow(int fd, uint64_t off, uint64_t len)
{
	struct statvfs st;

	if (!fstatvfs(fd, &st)) {
		uint64_t spare = (uint64_t)st.f_blocks * st.f_frsize / 20;

		spare = spare < SPARE_MAX ? spare : SPARE_MAX;
		if ((uint64_t)st.f_bavail * st.f_frsize < len + spare)
			return ENOSPC;
	}
	return posix_fallocate(fd, (off_t)off, (off_t)len);
}

/** gt_log_room() - has @s, in a file, room for number @head? The file grows if need be; ingest
 * thread */
static bool gt_log_room(struct gt_log *l, struct gt_log_side *s, char *mem, uint64_t mask,
			uint64_t head)
{
	uint64_t n = GROW / s->size, at = head & mask, off = at * s->size,
		 page = (uint64_t)sysconf(_SC_PAGESIZE);
	int err = l->full;

	if (n > mask + 1 - at)
		n = mask + 1 - at;
	if (!err && head - atomic_load(&s->base) > mask)
		err = EFBIG;
	if (!err)
		err = grow(s->fd, off, n * s->size);
	if (err) {
		l->full = err;
		return false;
	}
	s->room = head + n;
	/* what is written stays in the file, and in no memory of this process */
	if (off >= GROW)
		madvise(mem + (off - GROW) / page * page, GROW, MADV_DONTNEED);
	return true;
}

/** gt_slots_of() - what @l has */
static struct gt_slots gt_slots_of(const struct gt_log *l)
{
	return (struct gt_slots){ l->rec, l->fin, l->bare, l->mask, l->fin_mask, l->bare_mask };
}

/** gt_slots_use() - @l has @s from now on */
static void gt_slots_use(struct gt_log *l, const struct gt_slots *s)
{
	l->rec = s->rec;
	l->mask = s->mask;
	l->fin = s->fin;
	l->fin_mask = s->fin_mask;
	l->bare = s->bare;
	l->bare_mask = s->bare_mask;
}

int gt_log_to_file(struct gt_log *l, const char *dir)
{
	struct gt_slots old = gt_slots_of(l), s = { .mask = 0 };
	int rec_fd = -1, fin_fd = -1, err;

	s.mask = GT_LOG_FILE_MAX - 1;
	s.fin_mask = GT_LOG_FILE_MAX / 2 - 1;	      /* a job is two events at least */
	s.bare_mask = bare_slots(s.fin_mask + 1) - 1; /* they stay in memory */
	s.bare = map(s.bare_mask + 1, sizeof(*s.bare));
	s.rec = map_file(dir, s.mask + 1, sizeof(*s.rec), &rec_fd);
	if (s.rec && s.bare)
		s.fin = map_file(dir, s.fin_mask + 1, sizeof(*s.fin), &fin_fd);
	err = errno;
	if (s.fin)
		err = grow(rec_fd, 0, GROW); /* a folder that is full already is none */
	if (s.fin && !err)
		err = grow(fin_fd, 0, GROW);
	if (!s.fin || err) {
		gt_slots_free(&s);
		if (rec_fd >= 0)
			close(rec_fd);
		if (fin_fd >= 0)
			close(fin_fd);
		return -err;
	}
	gt_slots_free(&old);
	gt_slots_use(l, &s);
	l->recs.fd = rec_fd;
	l->fins.fd = fin_fd;
	l->recs.room = GROW / sizeof(*s.rec);
	l->fins.room = GROW / sizeof(*s.fin);
	/* without, each job is looked at */
	l->blocks = calloc((s.fin_mask + 1) / GT_FIN_BLOCK, sizeof(*l->blocks));
	return 0;
}

static void start_again(struct gt_log_side *s, uint64_t head, uint64_t slots)
{
	if (s->fd < 0)
		return;
	s->since = s->room = head;
	atomic_store(&s->base, head);
	fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)(slots * s->size));
}

void gt_log_reset(struct gt_log *l)
{
	pthread_rwlock_wrlock(&l->lock); /* who copies has what was there */
	gt_log_clear(l);
	start_again(&l->recs, l->head, l->mask + 1);
	start_again(&l->fins, l->fin_head, l->fin_mask + 1);
	if (l->blocks)
		memset(l->blocks, 0, (l->fin_mask + 1) / GT_FIN_BLOCK * sizeof(*l->blocks));
	l->floor = l->late = l->unkept = 0;
	l->full = 0;
	l->epoch++;
	pthread_rwlock_unlock(&l->lock);
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

/** gt_log_old_fin() - finished job @i, if it is in an era; NULL. With what the ingest thread holds,
 * or the log's lock */
static struct gt_finished *gt_log_old_fin(const struct gt_log *l, uint64_t i)
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

/** struct gone - what nobody can reach any more: eras, so many of the oldest that stays, and the
 * jobs without a record */
struct gone {
	struct gt_finished *bare;
	uint64_t bare_slots;
	struct gt_log_era rec[GT_LOG_ERAS + 1], fin[GT_LOG_ERAS + 1];
	unsigned int nrec, nfin;
	uint64_t recs, fins;
};

/* How many of the oldest era lie before @keep, and leave it; 0: they are less than @least bytes */
static uint64_t trim(struct gt_log_side *s, uint64_t keep, uint64_t least)
{
	struct gt_log_era *e = s->n ? &s->era[0] : NULL;
	uint64_t from;

	if (!e || keep <= e->from || (keep - e->from) * s->size < least)
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

/* The memory of the @n that came before the oldest era's first. Nobody reads them any more */
static void forget_before(const struct gt_log_side *s, uint64_t n)
{
	const struct gt_log_era *e = &s->era[0];
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

	g->bare = l->bare;
	g->bare_slots = l->bare_mask + 1;
	l->bare_since = atomic_load(&l->bare_head);
	atomic_store(&l->bare_from, l->bare_since);
	g->nrec = drop(&l->recs, first_kept(head, s->mask), GT_LOG_ERAS - 1, g->rec);
	g->nfin = drop(&l->fins, first_kept(fin, s->fin_mask), GT_LOG_ERAS - 1, g->fin);
	era_push(&l->recs, l->rec, l->mask, head);
	era_push(&l->fins, l->fin, l->fin_mask, fin);
	gt_slots_use(l, s);
	if (l->users) /* owners of these slots are not known */
		l->users->rec.mask = l->users->fin.mask = UINT64_MAX;
	g->nrec += drop(&l->recs, 0, none ? 0 : GT_LOG_ERAS, g->rec + g->nrec);
	g->nfin += drop(&l->fins, 0, none ? 0 : GT_LOG_ERAS, g->fin + g->nfin);
	g->recs = trim(&l->recs, first_kept(head, s->mask), 0);
	g->fins = trim(&l->fins, first_kept(fin, s->fin_mask), 0);
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
	forget_before(&l->recs, g->recs);
	forget_before(&l->fins, g->fins);
	unmap((char *)g->bare, g->bare_slots, sizeof(*g->bare));
	while (g->nrec)
		free_era(&l->recs, &g->rec[--g->nrec]);
	while (g->nfin)
		free_era(&l->fins, &g->fin[--g->nfin]);
}

int gt_log_resize(struct gt_log *l, uint64_t bytes, pthread_mutex_t *ingest)
{
	struct gt_slots s = { 0 };
	struct gone g = { 0 };
	int ret = l->recs.fd >= 0 ? -EOPNOTSUPP : gt_slots_make(&s, bytes);

	if (ret)
		return ret;
	if (!both_locks(l, ingest)) {
		gt_slots_free(&s);
		return -EBUSY;
	}
	swap(l, &s, !bytes, &g);
	pthread_rwlock_unlock(&l->lock);
	pthread_mutex_unlock(ingest);
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

uint64_t gt_log_bare_bytes(const struct gt_log *l)
{
	uint64_t n;

	pthread_rwlock_rdlock(lock_of(l));
	n = atomic_load(&l->bare_head) - l->bare_since;
	n = n < l->bare_mask + 1 ? n : l->bare_mask + 1;
	pthread_rwlock_unlock(lock_of(l));
	return n * sizeof(*l->bare);
}

uint64_t gt_log_room_bytes(const struct gt_log *l)
{
	uint64_t n;

	pthread_rwlock_rdlock(lock_of(l));
	n = (l->mask + 1) * sizeof(*l->rec) + (l->fin_mask + 1) * sizeof(*l->fin);
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
		g.recs = trim(&l->recs, first_kept(l->head, l->mask), TRIM);
		g.fins = trim(&l->fins, first_kept(l->fin_head, l->fin_mask), TRIM);
		pthread_rwlock_unlock(&l->lock);
	}
	pthread_mutex_unlock(ingest);
	free_gone(l, &g);
}

/** gt_log_drop_eras() - all of them; nobody may read */
static void gt_log_drop_eras(struct gt_log *l)
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
	if (at < atomic_load_explicit(&l->recs.base, memory_order_relaxed)) {
		pthread_rwlock_unlock(lock_of(l));
		return false;
	}
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

/* From the slots in use. Of a file by a system call: pages that are mapped would count as memory of
 * this process, as many as the recording has */
static bool copy_fins(const struct gt_log *l, uint64_t at, struct gt_finished *out, size_t n)
{
	size_t i = at & l->fin_mask, run = l->fin_mask + 1 - i;

	if (run > n)
		run = n;
	if (l->fins.fd < 0) {
		memcpy(out, &l->fin[i], run * sizeof(*out));
		memcpy(out + run, l->fin, (n - run) * sizeof(*out));
		return true;
	}
	return pread(l->fins.fd, out, run * sizeof(*out), (off_t)(i * sizeof(*out))) ==
		       (ssize_t)(run * sizeof(*out)) &&
	       pread(l->fins.fd, out + run, (n - run) * sizeof(*out), 0) ==
		       (ssize_t)((n - run) * sizeof(*out));
}

/* Jobs @w->base to @w->end - 1; what is not there before @i, or behind it, cuts them. Lock held */
static void copy_window(struct gt_fins *w, uint64_t i)
{
	const struct gt_log *l = w->l;
	uint64_t at = w->base, since = l->fins.since;

	for (; at < w->end && at < since; at++) {
		const struct gt_finished *f = gt_log_old_fin(l, at);

		if (f)
			w->job[at - w->base] = *f;
		else if (at < i)
			w->from = at + 1;
		else
			w->end = at;
	}
	if (at < w->end && !copy_fins(l, at, &w->job[at - w->base], w->end - at))
		w->end = at;
}

/* Likewise of those without a record */
static void copy_bare(struct gt_fins *w)
{
	const struct gt_log *l = w->l;

	for (uint64_t at = w->base; at < w->end; at++)
		w->job[at - w->base] = l->bare[at & l->bare_mask];
}

/* Up to GT_FINS of them, one of which is @i */
static void load(struct gt_fins *w, uint64_t i, bool back)
{
	const struct gt_log *l = w->l;
	const _Atomic uint64_t *writing = w->bare ? &l->bare_writing : &l->fin_writing;
	uint64_t head =
		atomic_load_explicit(w->bare ? &l->bare_head : &l->fin_head, memory_order_acquire);
	uint64_t least = w->bare ? gt_log_bare_from(l) : gt_log_fin_from(l), oldest, slots;

	w->from = w->end = 0;
	if (i >= head || i < least)
		return;
	w->from = !back ? i : i - least < GT_FINS ? least : i + 1 - GT_FINS;
	w->end = back ? i + 1 : head - i < GT_FINS ? head : i + GT_FINS;
	w->base = w->from;
	pthread_rwlock_rdlock(lock_of(l));
	slots = (w->bare ? l->bare_mask : l->fin_mask) + 1;
	if (w->bare)
		copy_bare(w);
	else
		copy_window(w, i);
	/* see gt_log_copy() */
	atomic_thread_fence(memory_order_acquire);
	oldest = atomic_load_explicit(writing, memory_order_relaxed);
	oldest = oldest > slots ? oldest - slots : 0;
	if (w->bare && oldest < l->bare_since)
		oldest = l->bare_since;
	pthread_rwlock_unlock(lock_of(l));
	if (oldest > w->from)
		w->from = oldest;
}

const struct gt_finished *gt_fins_get(struct gt_fins *w, uint64_t i, bool back)
{
	if (i < w->from || i >= w->end)
		load(w, i, back);
	return i >= w->from && i < w->end ? &w->job[i - w->base] : NULL;
}

/* Is there none in the block of job @i? */
static bool has_none(const struct gt_fins *w, uint64_t i)
{
	const struct gt_fin_block *b = w->l->blocks;

	if (!b)
		return false;
	b += (i & w->l->fin_mask) / GT_FIN_BLOCK;
	return !(atomic_load_explicit(&b->rings, memory_order_relaxed) & w->rings) ||
	       !(atomic_load_explicit(&b->pids, memory_order_relaxed) & w->pids);
}

uint64_t gt_fins_before(const struct gt_fins *w, uint64_t i, uint64_t least)
{
	while (i > least && has_none(w, i - 1))
		i = (i - 1) / GT_FIN_BLOCK * GT_FIN_BLOCK;
	return i > least ? i : least;
}

uint64_t gt_fins_after(const struct gt_fins *w, uint64_t i, uint64_t end)
{
	while (i < end && has_none(w, i))
		i = (i / GT_FIN_BLOCK + 1) * GT_FIN_BLOCK;
	return i < end ? i : end;
}

/*
 * A user's share of the history. Users write files that sources read: as many records as they like.
 * Who owns a slot is kept beside it, for such records only. A user who has the whole share pushes
 * out what is the user's own, what is not kept any more, and others' records that are older than
 * GT_LOG_KEPT_NS; what would push out others' newer ones is refused. Ingest thread.
 */

#define FIRST 1	  /* 0: nobody's own: of the kernel, or of the daemon */
#define REST  255 /* users for whom there is no account share one */

/* So many slots, all of nobody */
static bool fits(struct gt_log_owners *o, uint64_t mask)
{
	if (o->of && o->mask == mask)
		return true;
	free(o->of);
	*o = (struct gt_log_owners){ .of = calloc(mask + 1, 1), .mask = mask };
	return o->of;
}

/* What the slots have is nobody's */
static void forget_owners(struct gt_log_owners *o)
{
	if (o->of)
		memset(o->of, 0, o->mask + 1);
	memset(o->n, 0, sizeof(o->n));
}

static unsigned int account(struct gt_log_users *u, uint32_t uid)
{
	unsigned int i = uid * 2654435769u % (REST - FIRST), at = REST;

	for (unsigned int n = FIRST; n < REST; n++, i = (i + 1) % (REST - FIRST)) {
		const struct gt_log_user *user = &u->user[FIRST + i];

		if (user->used && user->uid == uid)
			return FIRST + i;
		if (!user->used || (at == REST && !u->rec.n[FIRST + i] && !u->fin.n[FIRST + i]))
			at = FIRST + i;
		if (!user->used)
			break;
	}
	if (at != REST) /* nobody's yet, or of one who has nothing in the history any more */
		u->user[at] = (struct gt_log_user){ .used = true, .uid = uid };
	return at;
}

unsigned int gt_log_owner(struct gt_log *l, uint32_t uid)
{
	struct gt_log_users *u = l->users;

	if (!uid || uid == GT_NONE32 || l->user_percent >= 100 || l->recs.fd >= 0 || l->none)
		return 0;
	if (!u)
		u = l->users = calloc(1, sizeof(*u));
	if (!u || !fits(&u->rec, l->mask) || !fits(&u->fin, l->fin_mask))
		return 0;
	return account(u, uid);
}

/* Has nobody else recorded anything for GT_LOG_ALONE_NS? */
static bool is_alone(const struct gt_log_users *u, unsigned int owner, uint64_t now)
{
	uint64_t others = u->last == owner ? u->other_ts : u->last_ts;

	return !others || others + GT_LOG_ALONE_NS < now;
}

/* @ts: as it is in the log, where it goes forward only: users write old times as they like */
static void note_owner(struct gt_log_users *u, unsigned int owner, uint64_t ts)
{
	if (owner != u->last)
		u->other_ts = u->last_ts;
	u->last = owner;
	u->last_ts = ts;
}

/* What a slot has that is written next: its number, and the time of it */
static bool has_room(const struct gt_log *l, const struct gt_log_owners *o, unsigned int owner,
		     uint64_t head, uint64_t from, uint64_t ts, uint64_t now)
{
	uint64_t slots = o->mask + 1;
	bool free_slot = head < slots || head - slots < from;

	if (o->n[owner] < slots * l->user_percent / 100)
		return true;
	if (!free_slot && ts + GT_LOG_KEPT_NS < now)
		return true;
	return is_alone(l->users, owner, now) && (free_slot || o->of[head & o->mask] == owner);
}

bool gt_log_has_room(struct gt_log *l, unsigned int owner, uint64_t now, bool finished)
{
	struct gt_log_users *u = l->users;
	uint64_t head = l->head, fin = l->fin_head;

	if (!owner)
		return true;
	if (has_room(l, &u->rec, owner, head, l->from, l->rec[head & l->mask].ev.ts, now) &&
	    (!finished ||
	     has_room(l, &u->fin, owner, fin, l->fin_from, l->fin[fin & l->fin_mask].end, now)))
		return true;
	u->user[owner].refused++;
	u->refused++;
	return false;
}

uint64_t gt_log_over_share(const struct gt_log *l, uint32_t uid)
{
	for (unsigned int i = FIRST; l->users && i < REST; i++)
		if (l->users->user[i].used && l->users->user[i].uid == uid)
			return l->users->user[i].refused;
	return 0;
}

/** gt_log_own() - record or job @number is written for @owner, see gt_log_owner() */
static void gt_log_own(struct gt_log_owners *o, uint64_t mask, uint64_t number, unsigned int owner)
{
	uint8_t *of;

	if (!o->of || o->mask != mask) /* resized: all are nobody's from then on */
		return;
	of = &o->of[number & mask];
	if (*of)
		o->n[*of]--;
	if (owner)
		o->n[owner]++;
	*of = (uint8_t)owner;
}

static void gt_log_users_free(struct gt_log *l)
{
	if (!l->users)
		return;
	free(l->users->rec.of);
	free(l->users->fin.of);
	free(l->users);
	l->users = NULL;
}

/*
 * 146 years. A time above this is garbage, and were it believed, one such record would make all
 * that follow late; babeltrace2 stops where ts + realtime offset passes 63 bits.
 */
#define TS_MAX (1ULL << 62)

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* A clock minus CLOCK_MONOTONIC: the try with the smallest time between its two reads of MONOTONIC. */
static int64_t clock_offset(clockid_t id)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 8; i++) {
		uint64_t before = clock_ns(CLOCK_MONOTONIC), there = clock_ns(id);
		uint64_t gap = clock_ns(CLOCK_MONOTONIC) - before;

		if (gap >= best)
			continue;
		best = gap;
		offset = (int64_t)(there - (before + gap / 2));
	}
	return offset;
}

/* The boot id as 16 bytes; all ones where it cannot be read */
static void read_boot_id(uint8_t id[16])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	char text[64] = "";
	const char *p = text;

	memset(id, 0xff, 16);
	if (!f)
		return;
	if (fgets(text, sizeof(text), f))
		for (int i = 0; i < 16 && sscanf(p, "%2hhx", &id[i]) == 1; i++) {
			p += 2;
			p += *p == '-';
		}
	fclose(f);
}

static struct gt_machine this_machine(void)
{
	union gt_record r;
	struct utsname u;

	gt_record_init(&r, 0, GT_MACHINE);
	read_boot_id(r.machine.boot_id);
	memset(r.machine.name, 0, sizeof(r.machine.name));
	if (!uname(&u))
		memcpy(r.machine.name, u.nodename, strnlen(u.nodename, sizeof(r.machine.name)));
	return r.machine;
}

static uint64_t new_session(void)
{
	uint64_t s;

	if (getrandom(&s, sizeof(s), GRND_NONBLOCK) != sizeof(s))
		s = clock_ns(CLOCK_REALTIME);
	return s;
}

/*
 * @bytes are for records and finished jobs together. 0: nothing is kept, and readers of pipes have
 * some room all the same. @wall: times are CLOCK_MONOTONIC of this machine,
 * and the offsets of other clocks are measured; else they are 0. Return: NULL if there is no
 * memory.
 */
struct gt_log *gt_log_new(uint64_t bytes, bool wall)
{
	struct gt_log *l = calloc(1, sizeof(*l));
	struct gt_slots s = { 0 };

	if (!l || gt_slots_make(&s, bytes)) {
		free(l);
		return NULL;
	}
	pthread_rwlock_init(&l->lock, NULL);
	l->recs.size = sizeof(*l->rec);
	l->fins.size = sizeof(*l->fin);
	l->recs.fd = l->fins.fd = -1;
	l->recs.room = l->fins.room = UINT64_MAX;
	gt_slots_use(l, &s);
	l->none = !bytes;
	l->user_percent = 100;
	l->session = new_session();
	l->wall = wall;
	if (wall) {
		l->machine = this_machine();
		l->realtime_offset = clock_offset(CLOCK_REALTIME);
		l->boottime_offset = clock_offset(CLOCK_BOOTTIME);
	}
	return l;
}

/** gt_log_free() - no cursor may be in use any more; NULL is nothing */
void gt_log_free(struct gt_log *l)
{
	struct gt_slots s;

	if (!l)
		return;
	s = gt_slots_of(l);
	gt_slots_free(&s);
	if (l->recs.fd >= 0)
		close(l->recs.fd);
	if (l->fins.fd >= 0)
		close(l->fins.fd);
	gt_log_drop_eras(l);
	free(l->blocks);
	gt_log_users_free(l);
	pthread_rwlock_destroy(&l->lock);
	free(l);
}

/* A ring's slot is about to be overwritten: no store to it may be seen before this one. */
static void begin_write(_Atomic uint64_t *writing, uint64_t head)
{
	atomic_store_explicit(writing, head + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

/* Time goes forward only: @r gets the floor's, and if it is an event keeps its own in ref. */
static void clamp(struct gt_log *l, union gt_record *r, uint64_t floor)
{
	if (r->ev.type < GT_NTYPES) {
		l->late++;
		r->ev.flags |= GT_F_LATE;
		r->ev.ref = r->ev.ts;
	}
	r->ev.ts = floor;
}

void gt_log_append(struct gt_log *l, const union gt_record *r)
{
	gt_log_append_of(l, r, 0);
}

void gt_log_append_of(struct gt_log *l, const union gt_record *r, unsigned int owner)
{
	uint64_t head = atomic_load_explicit(&l->head, memory_order_relaxed);
	uint64_t floor = atomic_load_explicit(&l->floor, memory_order_relaxed);
	union gt_record *slot = &l->rec[head & l->mask];

	if (head >= l->recs.room && !gt_log_room(l, &l->recs, (char *)l->rec, l->mask, head)) {
		l->unkept++;
		return;
	}
	if (l->users)
		gt_log_own(&l->users->rec, l->mask, head, owner);
	begin_write(&l->writing, head);
	*slot = *r;
	if (r->ev.ts < floor || r->ev.ts > TS_MAX)
		clamp(l, slot, floor);
	else
		atomic_store_explicit(&l->floor, r->ev.ts, memory_order_release);
	if (l->users && r->ev.type < GT_NTYPES) /* descriptions come with a user's records, too */
		note_owner(l->users, owner, slot->ev.ts);
	atomic_store_explicit(&l->head, head + 1, memory_order_release);
}

static bool differ(int64_t a, int64_t b)
{
	return a - b >= CLOCK_STEP || b - a >= CLOCK_STEP;
}

void gt_log_clocks(struct gt_log *l)
{
	int64_t realtime = l->wall ? clock_offset(CLOCK_REALTIME) : 0;
	int64_t boottime = l->wall ? clock_offset(CLOCK_BOOTTIME) : 0;
	union gt_record r;

	if (!differ(realtime, l->realtime_offset) && !differ(boottime, l->boottime_offset))
		return;
	l->realtime_offset = realtime;
	l->boottime_offset = boottime;
	gt_record_init(&r, 0, GT_CLOCK_SNAPSHOT); /* it gets the time of the last record */
	r.clock_snapshot.realtime_offset = realtime;
	r.clock_snapshot.boottime_offset = boottime;
	gt_log_append(l, &r);
}

void gt_log_floor(struct gt_log *l, uint64_t ts)
{
	if (ts > atomic_load_explicit(&l->floor, memory_order_relaxed) && ts <= TS_MAX)
		atomic_store_explicit(&l->floor, ts, memory_order_release);
}

/* Nobody else writes them */
static void note_block(struct gt_log *l, uint64_t head, const struct gt_finished *f)
{
	struct gt_fin_block *b = &l->blocks[(head & l->fin_mask) / GT_FIN_BLOCK];
	uint64_t rings = atomic_load_explicit(&b->rings, memory_order_relaxed);
	uint64_t pids = atomic_load_explicit(&b->pids, memory_order_relaxed);

	atomic_store_explicit(&b->rings, rings | gt_fin_ring_bit(f->gpu, f->ring),
			      memory_order_relaxed);
	atomic_store_explicit(&b->pids, pids | gt_fin_pid_bit(f->pid), memory_order_relaxed);
}

uint64_t gt_log_finished(struct gt_log *l, const struct gt_finished *f)
{
	return gt_log_finished_of(l, f, 0);
}

uint64_t gt_log_finished_of(struct gt_log *l, const struct gt_finished *f, unsigned int owner)
{
	uint64_t head = atomic_load_explicit(&l->fin_head, memory_order_relaxed);

	if (head >= l->fins.room && !gt_log_room(l, &l->fins, (char *)l->fin, l->fin_mask, head))
		return head;
	if (l->blocks)
		note_block(l, head, f);
	if (l->users)
		gt_log_own(&l->users->fin, l->fin_mask, head, owner);
	begin_write(&l->fin_writing, head);
	l->fin[head & l->fin_mask] = *f;
	atomic_store_explicit(&l->fin_head, head + 1, memory_order_release);
	return head;
}

void gt_log_finished_bare(struct gt_log *l, const struct gt_finished *f)
{
	uint64_t head = atomic_load_explicit(&l->bare_head, memory_order_relaxed);
	struct gt_finished *slot = &l->bare[head & l->bare_mask];

	if (atomic_load_explicit(&l->none, memory_order_relaxed))
		return;
	begin_write(&l->bare_writing, head);
	*slot = *f;
	slot->ioctl = atomic_load_explicit(&l->fin_head, memory_order_relaxed);
	atomic_store_explicit(&l->bare_head, head + 1, memory_order_release);
}

void gt_log_fin_ioctl(struct gt_log *l, uint64_t number, uint64_t ns)
{
	uint64_t head = atomic_load_explicit(&l->fin_head, memory_order_relaxed);

	struct gt_finished *f;

	if (number >= head || head - number > l->fin_mask + 1)
		return;
	f = number >= l->fins.since ? &l->fin[number & l->fin_mask] : gt_log_old_fin(l, number);
	if (f) /* a reader has the old or the new: it is one word */
		__atomic_store_n(&f->ioctl, ns, __ATOMIC_RELAXED);
}

void gt_log_clear(struct gt_log *l)
{
	atomic_store(&l->from, atomic_load(&l->head));
	atomic_store(&l->fin_from, atomic_load(&l->fin_head));
	atomic_store(&l->bare_from, atomic_load(&l->bare_head));
	if (l->users) {
		forget_owners(&l->users->rec);
		forget_owners(&l->users->fin);
	}
}
