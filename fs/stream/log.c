/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The writer's side of the event log.
 *
 * Both rings work alike: `writing` is raised before a slot is overwritten, `head` after. A reader
 * copies slots below head and then looks at writing: slot i was still whole if writing <= i +
 * capacity. The copy races with the writer on purpose, and what it may have torn is thrown away.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "slots.h"

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

/* A clock minus CLOCK_MONOTONIC: the try whose two looks at MONOTONIC are nearest to each other. */
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

static uint64_t new_session(void)
{
	uint64_t s;

	if (getrandom(&s, sizeof(s), GRND_NONBLOCK) != sizeof(s))
		s = clock_ns(CLOCK_REALTIME);
	return s;
}

/*
 * @bytes are for records; a quarter of that again is for finished jobs. 0: nothing is kept, and readers of
 * pipes have some room all the same. @wall: times are CLOCK_MONOTONIC of this machine, and the offsets of
 * other clocks are measured; else they are 0. Return: NULL if there is no memory.
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
	l->rec = s.rec;
	l->mask = s.mask;
	l->fin = s.fin;
	l->fin_mask = s.fin_mask;
	l->none = !bytes;
	l->session = new_session();
	if (wall) {
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
	s = (struct gt_slots){ l->rec, l->fin, l->mask, l->fin_mask };
	gt_slots_free(&s);
	gt_log_drop_eras(l);
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
	uint64_t head = atomic_load_explicit(&l->head, memory_order_relaxed);
	uint64_t floor = atomic_load_explicit(&l->floor, memory_order_relaxed);
	union gt_record *slot = &l->rec[head & l->mask];

	begin_write(&l->writing, head);
	*slot = *r;
	if (r->ev.ts < floor || r->ev.ts > TS_MAX)
		clamp(l, slot, floor);
	else
		atomic_store_explicit(&l->floor, r->ev.ts, memory_order_release);
	atomic_store_explicit(&l->head, head + 1, memory_order_release);
}

void gt_log_floor(struct gt_log *l, uint64_t ts)
{
	if (ts > atomic_load_explicit(&l->floor, memory_order_relaxed) && ts <= TS_MAX)
		atomic_store_explicit(&l->floor, ts, memory_order_release);
}

uint64_t gt_log_finished(struct gt_log *l, const struct gt_finished *f)
{
	uint64_t head = atomic_load_explicit(&l->fin_head, memory_order_relaxed);

	begin_write(&l->fin_writing, head);
	l->fin[head & l->fin_mask] = *f;
	atomic_store_explicit(&l->fin_head, head + 1, memory_order_release);
	return head;
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
}
