/* SPDX-License-Identifier: GPL-2.0 */
/* The ring buffer is made: how large it may be, and what the programs and the daemon share beside
 * it. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include "internal.h"

size_t gb_ring_size(int64_t asked, int64_t ncpus, int64_t memory)
{
	int64_t page = sysconf(_SC_PAGESIZE), cap = MIN(GB_RING_MAX, memory / 64), size = page;
	int64_t want = asked > cap / ncpus ? cap : asked * ncpus;

	while (size < want && size <= cap / 2)
		size *= 2;
	return (size_t)size;
}

/* As large as may be, else smaller: the kernel locks all of it in memory. */
static int make_ring(struct gb_ring *ring, struct gb_options *o)
{
	int64_t ncpus = MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)page;

	ring->size = gb_ring_size(o->buffer_size, ncpus, memory);
	for (;; ring->size /= 2) {
		ring->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "gt_ring", 0, 0,
					  (uint32_t)ring->size, NULL);
		if (ring->fd != -ENOMEM || ring->size <= page)
			break;
	}
	if (ring->fd < 0)
		return ring->fd;
	o->buffer_size = (int64_t)ring->size / ncpus; /* what it reads as from now on */
	return 0;
}

static int make_wake(struct gb_ring *ring)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	void *at;

	ring->wake_fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "gt_wake", 4, sizeof(*ring->wake), 1, &opts);
	if (ring->wake_fd < 0)
		return ring->wake_fd;
	at = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
		  ring->wake_fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	ring->wake = at;
	return 0;
}

/* kernel/bpf/ringbuf.c: the consumer's page, then the producer's. libbpf has them, too, but tells
 * them only from 1.3 on. */
static int map_positions(struct gb_ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, ring->fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	ring->read = (const unsigned long *)at;
	ring->reserved = (const unsigned long *)(at + page);
	return 0;
}

static int make_maps(struct gb_ring *ring, struct gb_options *o)
{
	int ret = make_ring(ring, o);

	if (!ret)
		ret = map_positions(ring);
	if (!ret)
		ret = make_wake(ring);
	if (ret)
		return ret;
	ring->count_fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "gt_count", 4,
					sizeof(struct gt_bpf_count), GT_BPF_COUNTS, NULL);
	return ring->count_fd < 0 ? ring->count_fd : 0;
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
	ret = make_maps(ring, b->o);
	if (ret)
		return gb_refused(-ret, "the ring buffer", "", err, len);
	if (!make_room(ring))
		return gb_sentence(err, len, ENOMEM, "no memory");
	ring->rb = ring_buffer__new(ring->fd, gb_ring_take, ring, NULL);
	if (!ring->rb)
		return gb_sentence(err, len, errno, "the ring buffer cannot be mapped: %s",
				   strerror(errno));
	gb_say(&ring->wake->level, (uint32_t)MIN(GB_LEVEL, ring->size / 4));
	gb_say(&ring->wake->idle, 1);
	ret = b->p->host->watch(b->p, ring_buffer__epoll_fd(ring->rb), true);
	return ret ? gb_sentence(err, len, -ret, "the ring buffer cannot be waited for: %s",
				 strerror(-ret))
		   : 0;
}

void gb_ring_close(struct gb *b)
{
	struct gb_ring *ring = &b->ring;

	if (ring->rb) {
		b->p->host->watch(b->p, ring_buffer__epoll_fd(ring->rb), false);
		ring_buffer__free(ring->rb);
	}
	if (ring->read)
		munmap((void *)(uintptr_t)ring->read, 2 * (size_t)sysconf(_SC_PAGESIZE));
	if (ring->wake)
		munmap(ring->wake, (size_t)sysconf(_SC_PAGESIZE));
	for (int i = 0; i < 3; i++) {
		int fd = i == 0 ? ring->fd : i == 1 ? ring->wake_fd : ring->count_fd;

		if (fd >= 0)
			close(fd);
	}
	free(ring->waiting);
	free(ring->bytes);
	free(ring->spare);
}
