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

static int on_record(void *ctx, void *data, size_t size)
{
	struct gb_ring *ring = ctx;

	if (size != sizeof(union gt_record)) {
		ring->left_out++;
		return 0;
	}
	memcpy(&ring->waiting[ring->n++], data, size);
	/* the rest stays in the ring */
	return ring->n == GB_WAITING ? -ENOSPC : 0;
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
	ring->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "gt_ring", 0, 0, (uint32_t)ring->size,
				  NULL);
	if (ring->fd < 0)
		return ring->fd;
	ring->wake_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "gt_wake", 4,
				       sizeof(struct gt_bpf_wake), 1, NULL);
	if (ring->wake_fd < 0)
		return ring->wake_fd;
	ring->count_fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "gt_count", 4,
					sizeof(struct gt_bpf_count), GT_BPF_PARTS, NULL);
	return ring->count_fd < 0 ? ring->count_fd : 0;
}

static void set_idle(struct gb_ring *ring, bool idle)
{
	struct gt_bpf_wake w = { .idle = idle, .level = GB_LEVEL };
	uint32_t zero = 0;

	if (w.level > ring->size / 4)
		w.level = (uint32_t)ring->size / 4;
	bpf_map_update_elem(ring->wake_fd, &zero, &w, BPF_ANY);
}

int gb_ring_open(struct gb *b, char *err, size_t len)
{
	struct gb_ring *ring = &b->ring;
	int ret;

	*ring = (struct gb_ring){ .fd = -1, .wake_fd = -1, .count_fd = -1 };
	ring->size = size_of(b->o->buffer_size);
	ret = make_maps(ring);
	if (ret == -EPERM)
		return gb_sentence(err, len, EPERM,
				   "the kernel refuses BPF: it takes CAP_BPF and CAP_PERFMON (or root), and no "
				   "lockdown beyond integrity");
	if (ret)
		return gb_sentence(err, len, -ret, "no BPF map could be made: %s", strerror(-ret));
	ring->waiting = calloc(GB_WAITING, sizeof(*ring->waiting));
	if (!ring->waiting)
		return gb_sentence(err, len, ENOMEM, "no memory");
	ring->rb = ring_buffer__new(ring->fd, on_record, ring, NULL);
	if (!ring->rb)
		return gb_sentence(err, len, errno, "the ring buffer cannot be mapped: %s",
				   strerror(errno));
	set_idle(ring, true);
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
}

static int by_time(const void *a, const void *b)
{
	const union gt_record *x = a, *y = b;

	return x->ev.ts < y->ev.ts ? -1 : x->ev.ts > y->ev.ts;
}

static void sort(struct gb_ring *ring)
{
	bool sorted = true;

	for (unsigned int i = 1; i < ring->n && sorted; i++)
		sorted = ring->waiting[i - 1].ev.ts <= ring->waiting[i].ev.ts;
	if (!sorted)
		qsort(ring->waiting, ring->n, sizeof(*ring->waiting), by_time);
}

/* Completes the first @n records that wait, and hands them over; returns how many there are then. */
static int hand_over(struct gb *b, unsigned int n)
{
	struct gb_ring *ring = &b->ring;
	unsigned int out = 0;
	int told = 0;

	for (unsigned int i = 0; i < n; i++) {
		union gt_record *r = &ring->waiting[out];
		unsigned int part;

		*r = ring->waiting[i];
		part = r->ev.flags >> GT_BPF_PART_SHIFT;
		r->ev.flags &= (1 << GT_BPF_PART_SHIFT) - 1;
		if (part >= GT_BPF_PARTS || b->state[part] ||
		    (r->ev.type != GT_LOST && !gb_part(part)->record(b, r))) {
			ring->left_out++;
			continue;
		}
		told++;
		if (++out == GB_OUT || i + 1 == n) {
			b->p->host->push(b->p, ring->waiting, out);
			out = 0;
		}
	}
	if (out)
		b->p->host->push(b->p, ring->waiting, out);
	return told;
}

static unsigned int ripe(const struct gb_ring *ring, uint64_t until)
{
	unsigned int lo = 0, hi = ring->n;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (ring->waiting[mid].ev.ts <= until)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int gb_ring_drain(struct gb *b)
{
	struct gb_ring *ring = &b->ring;
	uint64_t begin = b->p->host->now(b->p), until = begin - GB_SLACK_NS;
	unsigned int before = ring->n, n;
	int told;

	ring->drains++;
	if (ring_buffer__consume(ring->rb) == -ENOSPC)
		ring->full++;
	sort(ring);
	n = ripe(ring, until);
	if (ring->n == GB_WAITING && n < ring->n / 2)
		n = ring->n / 2; /* more in a millisecond than fits: the older half goes */
	told = hand_over(b, n);
	ring->empty = ring->n == before && !before ? ring->empty + 1 : 0;
	memmove(ring->waiting, ring->waiting + n, (ring->n - n) * sizeof(*ring->waiting));
	ring->n -= n;
	b->p->host->watermark(b->p, until);
	if (ring->empty < 2) {
		b->p->host->timer(b->p, ring->empty ? GB_DRAIN_NS : ring->n ? GB_SLACK_NS : GB_DRAIN_NS);
		if (ring->empty)
			set_idle(ring, true); /* what came before this is found by the next drain */
	}
	return told;
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
