/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records from the programs: put in order of time, completed by their parts, handed over.
 *
 * All programs write into one ring, in the order in which they reserved; they read the clock before
 * that. What came in the last GB_SLACK_NS therefore waits for the next drain.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define RECORD_MAX ((sizeof(struct gt_bpf_raw) + GT_BPF_RAW_MAX + 7) & ~7ul)

/* bpf/ring.h writes two layouts */
static bool sound(const void *data, size_t size)
{
	const struct gt_bpf_raw *raw = data;

	if (size == sizeof(union gt_record))
		return true;
	return size >= sizeof(*raw) && raw->type == GT_BPF_RAW && raw->len <= size - sizeof(*raw);
}

static int on_record(void *ctx, void *data, size_t size)
{
	struct gb_ring *ring = ctx;

	if (size > RECORD_MAX || !sound(data, size)) {
		ring->left_out++;
		return 0;
	}
	ring->waiting[ring->n++] = (struct gb_wait){
		.ts = ((const struct gt_bpf_raw *)data)->ts,
		.at = ring->used,
		.len = (uint32_t)size,
	};
	memcpy(ring->bytes + ring->used, data, size);
	ring->used += (uint32_t)(size + 7) & ~7u;
	/* the rest stays in the ring */
	return ring->n == GB_WAITING || ring->used > GB_BYTES - RECORD_MAX ? -ENOSPC : 0;
}

/* A power of two of pages is what the kernel takes. */
static size_t size_of(int64_t asked)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page;

	while (size < (size_t)asked)
		size *= 2;
	return size;
}

static int make_maps(struct gb_ring *ring)
{
	ring->fd =
		bpf_map_create(BPF_MAP_TYPE_RINGBUF, "gt_ring", 0, 0, (uint32_t)ring->size, NULL);
	if (ring->fd < 0)
		return ring->fd;
	ring->wake_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "gt_wake", 4, sizeof(struct gt_bpf_wake),
				       1, NULL);
	if (ring->wake_fd < 0)
		return ring->wake_fd;
	ring->count_fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "gt_count", 4,
					sizeof(struct gt_bpf_count), GT_BPF_PARTS, NULL);
	return ring->count_fd < 0 ? ring->count_fd : 0;
}

static void tell(const struct gb_ring *ring)
{
	struct gt_bpf_wake w = { .idle = ring->idle, .level = GB_LEVEL, .paused = ring->paused };
	uint32_t zero = 0;

	if (w.level > ring->size / 4)
		w.level = (uint32_t)ring->size / 4;
	bpf_map_update_elem(ring->wake_fd, &zero, &w, BPF_ANY);
}

void gb_ring_pause(struct gb *b, bool on)
{
	b->ring.paused = on;
	tell(&b->ring);
}

static bool make_room(struct gb_ring *ring)
{
	ring->waiting = calloc(GB_WAITING, sizeof(*ring->waiting));
	ring->bytes = malloc(GB_BYTES);
	ring->spare = malloc(GB_BYTES);
	return ring->waiting && ring->bytes && ring->spare;
}

int gb_ring_open(struct gb *b, char *err, size_t len)
{
	struct gb_ring *ring = &b->ring;
	int ret;

	*ring = (struct gb_ring){ .fd = -1, .wake_fd = -1, .count_fd = -1 };
	ring->size = size_of(b->o->buffer_size);
	ret = make_maps(ring);
	if (ret)
		return gb_refused(-ret, "the ring buffer", "", err, len);
	if (!make_room(ring))
		return gb_sentence(err, len, ENOMEM, "no memory");
	ring->rb = ring_buffer__new(ring->fd, on_record, ring, NULL);
	if (!ring->rb)
		return gb_sentence(err, len, errno, "the ring buffer cannot be mapped: %s",
				   strerror(errno));
	ring->idle = true;
	tell(ring);
	return b->p->host->watch(b->p, ring_buffer__epoll_fd(ring->rb), true);
}

void gb_ring_close(struct gb *b)
{
	struct gb_ring *ring = &b->ring;

	if (ring->rb) {
		b->p->host->watch(b->p, ring_buffer__epoll_fd(ring->rb), false);
		ring_buffer__free(ring->rb);
	}
	for (int i = 0; i < 3; i++) {
		int fd = i == 0 ? ring->fd : i == 1 ? ring->wake_fd : ring->count_fd;

		if (fd >= 0)
			close(fd);
	}
	free(ring->waiting);
	free(ring->bytes);
	free(ring->spare);
}

/* Of one time: in the order in which they were written */
static int by_time(const void *a, const void *b)
{
	const struct gb_wait *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void sort(struct gb_ring *ring)
{
	bool sorted = true;

	for (uint32_t i = 1; i < ring->n && sorted; i++)
		sorted = ring->waiting[i - 1].ts <= ring->waiting[i].ts;
	if (!sorted)
		qsort(ring->waiting, ring->n, sizeof(*ring->waiting), by_time);
}

static void flush(struct gb *b)
{
	if (b->ring.nout)
		b->p->host->push(b->p, b->ring.out, b->ring.nout);
	b->ring.told += b->ring.nout;
	b->ring.nout = 0;
}

void gb_out(struct gb *b, const union gt_record *r)
{
	if (b->ring.nout == GB_OUT)
		flush(b);
	b->ring.out[b->ring.nout++] = *r;
}

static bool complete(struct gb *b, const void *data)
{
	const struct gt_bpf_raw *raw = data;
	unsigned int part = raw->flags >> GT_BPF_PART_SHIFT;
	union gt_record r;

	if (part >= GT_BPF_PARTS || b->state[part])
		return false;
	b->ring.last = raw->ts;
	if (raw->type == GT_BPF_RAW) {
		if (!gb_part(part)->raw)
			return false;
		gb_part(part)->raw(b, raw, raw + 1, raw->len);
		return true;
	}
	memcpy(&r, data, sizeof(r));
	r.ev.flags &= (1 << GT_BPF_PART_SHIFT) - 1;
	if (r.ev.type == GT_LOST && gb_part(part)->lost)
		gb_part(part)->lost(b, &r.lost);
	if (r.ev.type == GT_LOST || gb_part(part)->record(b, &r))
		gb_out(b, &r);
	return true;
}

/* Completes the first @n records that wait, and hands them over. The others move up. */
static void hand_over(struct gb *b, uint32_t n)
{
	struct gb_ring *ring = &b->ring;
	uint8_t *bytes = ring->bytes;
	uint32_t used = 0;

	for (uint32_t i = 0; i < n; i++)
		ring->left_out += !complete(b, ring->bytes + ring->waiting[i].at);
	for (uint32_t i = n; i < ring->n; i++) {
		struct gb_wait *w = &ring->waiting[i];

		memcpy(ring->spare + used, ring->bytes + w->at, w->len);
		ring->waiting[i - n] = (struct gb_wait){ .ts = w->ts, .at = used, .len = w->len };
		used += (w->len + 7) & ~7u;
	}
	ring->bytes = ring->spare;
	ring->spare = bytes;
	ring->used = used;
	ring->n -= n;
}

static uint32_t ripe(const struct gb_ring *ring, uint64_t until)
{
	uint32_t lo = 0, hi = ring->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (ring->waiting[mid].ts <= until)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Hands over what is older than @until; did anything come? */
static bool drain(struct gb *b, uint64_t until)
{
	struct gb_ring *ring = &b->ring;
	uint32_t before = ring->n, n;
	bool full, some;

	ring->drains++;
	full = ring_buffer__consume(ring->rb) == -ENOSPC;
	ring->full += full;
	some = ring->n != before || before;
	sort(ring);
	n = ripe(ring, until);
	if (full && n < ring->n / 2)
		n = ring->n / 2; /* more in a millisecond than fits: the older half goes */
	hand_over(b, n);
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++)
		if (!b->state[i] && gb_part(i)->round)
			gb_part(i)->round(b, until);
	flush(b);
	b->p->host->watermark(b->p, until);
	return some;
}

int gb_ring_drain(struct gb *b)
{
	struct gb_ring *ring = &b->ring;
	uint64_t told = ring->told;

	if (drain(b, b->p->host->now(b->p) - GB_SLACK_NS))
		ring->empty = 0;
	else
		ring->empty++;
	if (ring->empty < 2) {
		b->p->host->timer(b->p, ring->n ? GB_SLACK_NS : GB_DRAIN_NS);
		ring->idle = ring->empty;
		if (ring->idle)
			tell(ring); /* what came before this is found by the next drain */
	}
	return (int)(ring->told - told);
}

void gb_ring_drain_all(struct gb *b)
{
	drain(b, b->p->host->now(b->p));
}

bool gb_ring_counts(const struct gb *b, unsigned int i, struct gt_bpf_count *out)
{
	int cpus = libbpf_num_possible_cpus();
	gb_auto_free struct gt_bpf_count *c = cpus > 0 ? calloc((size_t)cpus, sizeof(*c)) : NULL;

	*out = (struct gt_bpf_count){ 0 };
	if (!c || bpf_map_lookup_elem(b->ring.count_fd, &i, c))
		return false;
	for (int cpu = 0; cpu < cpus; cpu++) {
		out->seen += c[cpu].seen;
		out->other += c[cpu].other;
		out->sent += c[cpu].sent;
		out->lost += c[cpu].lost;
		out->untold += c[cpu].untold;
	}
	return true;
}
