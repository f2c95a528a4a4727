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
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include "stream.h"

#define LOG_MIN_BYTES 65536
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

/*
 * @bytes are for records; a quarter of that again is for finished jobs. @wall: times are
 * CLOCK_MONOTONIC of this machine, and the offsets of other clocks are measured; else they are 0.
 * Return: NULL if there is no memory.
 */
struct gt_log *gt_log_new(uint64_t bytes, bool wall)
{
	struct gt_log *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	if (bytes < LOG_MIN_BYTES)
		bytes = LOG_MIN_BYTES;
	l->mask = pow2_fit(bytes, sizeof(*l->rec)) - 1;
	l->fin_mask = pow2_fit(bytes / 4, sizeof(*l->fin)) - 1;
	l->rec = map(l->mask + 1, sizeof(*l->rec));
	l->fin = map(l->fin_mask + 1, sizeof(*l->fin));
	if (!l->rec || !l->fin) {
		gt_log_free(l);
		return NULL;
	}
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
	if (!l)
		return;
	if (l->rec)
		munmap(l->rec, (l->mask + 1) * sizeof(*l->rec));
	if (l->fin)
		munmap(l->fin, (l->fin_mask + 1) * sizeof(*l->fin));
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

	/* a reader has the old or the new: it is one word */
	if (number < head && head - number <= l->fin_mask + 1)
		__atomic_store_n(&l->fin[number & l->fin_mask].ioctl, ns, __ATOMIC_RELAXED);
}

bool gt_log_fin_get(const struct gt_log *l, uint64_t i, struct gt_finished *out)
{
	if (i >= atomic_load_explicit(&l->fin_head, memory_order_acquire) ||
	    i < atomic_load_explicit(&l->fin_from, memory_order_relaxed))
		return false;
	*out = l->fin[i & l->fin_mask];
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&l->fin_writing, memory_order_relaxed) <= i + l->fin_mask + 1;
}

void gt_log_clear(struct gt_log *l)
{
	atomic_store(&l->from, atomic_load(&l->head));
	atomic_store(&l->fin_from, atomic_load(&l->fin_head));
}
