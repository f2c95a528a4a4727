/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records from the programs: put in order of time, completed by their parts, handed over.
 *
 * The programs of GT_BPF_CPUS CPUs write into one ring buffer, in the order in which they reserved.
 * A program may stand still at any place, preempted or with its whole CPU (a virtual machine's), so
 * no time is long enough to wait for what is older. Until which time everything has come is known
 * since a program reads the clock after it has reserved (gt_reserve_bytes()): a drain reads the
 * clock, then up to where the buffers are reserved, and then the buffers. If it has read all up to
 * there, no older record can come. GB_SLACK_NS is for clocks that differ between CPUs.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <unistd.h>

#include "bpf.h"

static int gb_ring_take(void *ctx, void *data, size_t size);

/* The ring buffer is made: how large it may be, and what the programs and the daemon share beside
 * it. */

static int64_t cpus(void)
{
	return MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

static unsigned int groups_of(int64_t ncpus)
{
	return (unsigned int)((ncpus + GT_BPF_CPUS - 1) / GT_BPF_CPUS);
}

/* How many CPUs share a buffer, of @ncpus */
static int64_t sharing(int64_t ncpus)
{
	return MIN(ncpus, GT_BPF_CPUS);
}

size_t gb_ring_size(int64_t asked, int64_t ncpus, int64_t memory)
{
	int64_t page = sysconf(_SC_PAGESIZE), size = page;
	int64_t cap = MIN(GB_RING_MAX, memory / 64) / groups_of(ncpus);
	int64_t want = asked > cap / sharing(ncpus) ? cap : asked * sharing(ncpus);

	while (size < want && size <= cap / 2)
		size *= 2;
	return (size_t)size;
}

static size_t wanted_size(const struct gb_options *o)
{
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

	return gb_ring_size(o->buffer_size, cpus(), memory);
}

/* kernel/bpf/ringbuf.c: the consumer's page, then the producer's. libbpf has them, too, but shows
 * them only from 1.3 on. */
static int map_positions(struct gb_buffer *buf)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, buf->fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	buf->read = (const unsigned long *)at;
	buf->reserved = (const unsigned long *)(at + page);
	return 0;
}

static int open_buffer(struct gb_ring *ring, struct gb_buffer *buf, size_t size)
{
	int ret;

	*buf = (struct gb_buffer){ .ring = ring };
	buf->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "gt_ring", 0, 0, (uint32_t)size, NULL);
	if (buf->fd < 0)
		return buf->fd;
	ret = map_positions(buf);
	if (ret)
		return ret;
	buf->rb = ring_buffer__new(buf->fd, gb_ring_take, buf, NULL);
	return buf->rb ? 0 : -errno;
}

static void close_buffers(struct gb_buffer *buf, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ring_buffer__free(buf[i].rb);
		if (buf[i].read)
			munmap((void *)(uintptr_t)buf[i].read, 2 * (size_t)sysconf(_SC_PAGESIZE));
		if (buf[i].fd >= 0)
			close(buf[i].fd);
	}
	free(buf);
}

/* @n of them, of *@size bytes or, as the kernel locks all of it in memory, less; NULL with errno */
static struct gb_buffer *make_buffers(struct gb_ring *ring, unsigned int n, size_t *size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int ret = 0;

	/* in a control group what is left must do for the daemon itself */
	for (;; *size /= 4) {
		struct gb_buffer *buf = calloc(n, sizeof(*buf));

		if (!buf)
			return NULL;
		for (unsigned int i = 0; i < n; i++)
			buf[i].fd = -1;
		for (unsigned int i = 0; i < n && !ret; i++)
			ret = open_buffer(ring, &buf[i], *size);
		if (!ret)
			return buf;
		close_buffers(buf, n);
		if (ret != -ENOMEM || *size < 4 * page) {
			errno = -ret;
			return NULL;
		}
		ret = 0;
	}
}

/* The programs write there from now on. The kernel waits for those that still write elsewhere
 * (kernel/bpf/syscall.c, maybe_wait_bpf_programs()). CPUs that come online later share with others. */
static int use_buffers(const struct gb_ring *ring, const struct gb_buffer *buf)
{
	int ret = 0;

	for (uint32_t i = 0; i < ring->groups && !ret; i++)
		ret = bpf_map_update_elem(ring->rings_fd, &i, &buf[i % ring->n_buffers].fd,
					  BPF_ANY);
	return ret;
}

static int make_rings(struct gb_ring *ring, struct gb_options *o)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);

	ring->n_buffers = groups_of(cpus());
	ring->groups = MAX(groups_of(libbpf_num_possible_cpus()), 1u);
	ring->size = wanted_size(o);
	ring->buffer = make_buffers(ring, ring->n_buffers, &ring->size);
	if (!ring->buffer)
		return -errno;
	o->buffer_size = (int64_t)ring->size / sharing(cpus()); /* what it reads as from now on */
	opts.inner_map_fd = (uint32_t)ring->buffer[0].fd;
	ring->rings_fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "gt_rings", 4, 4, ring->groups, &opts);
	return ring->rings_fd < 0 ? ring->rings_fd : use_buffers(ring, ring->buffer);
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

static int make_maps(struct gb_ring *ring, struct gb_options *o)
{
	int ret = make_rings(ring, o);

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

static void set_wake_level(struct gb_ring *ring)
{
	gb_say(&ring->wake->level, (uint32_t)MIN(GB_LEVEL, ring->size / 4));
}

int gb_ring_open(struct gb *b, char *err, size_t len)
{
	struct gb_ring *ring = &b->ring;
	int ret;

	*ring = (struct gb_ring){ .rings_fd = -1, .wake_fd = -1, .count_fd = -1 };
	ret = make_maps(ring, b->o);
	if (ret)
		return gb_refused(-ret, "the ring buffer", "", err, len);
	if (!make_room(ring))
		return gb_sentence(err, len, ENOMEM, "no memory");
	set_wake_level(ring);
	gb_say(&ring->wake->idle, 1);
	return gb_ring_watch(b, true, err, len);
}

static int watch(struct gb *b, const struct gb_buffer *buf, bool on, char *err, size_t len)
{
	int ret = 0;

	for (unsigned int i = 0; buf && i < b->ring.n_buffers && !ret; i++)
		ret = b->p->host->watch(b->p, ring_buffer__epoll_fd(buf[i].rb), on);
	return ret ? gb_sentence(err, len, -ret, "the ring buffer cannot be waited for: %s",
				 strerror(-ret))
		   : 0;
}

int gb_ring_watch(struct gb *b, bool on, char *err, size_t len)
{
	return watch(b, b->ring.buffer, on, err, len);
}

bool gb_ring_fits(const struct gb *b)
{
	return b->ring.size == wanted_size(b->o);
}

void gb_ring_close(struct gb *b)
{
	struct gb_ring *ring = &b->ring;

	if (ring->buffer)
		close_buffers(ring->buffer, ring->n_buffers);
	if (ring->wake)
		munmap(ring->wake, (size_t)sysconf(_SC_PAGESIZE));
	for (int i = 0; i < 3; i++) {
		int fd = i == 0 ? ring->rings_fd : i == 1 ? ring->wake_fd : ring->count_fd;

		if (fd >= 0)
			close(fd);
	}
	free(ring->waiting);
	free(ring->bytes);
	free(ring->spare);
}

#define RECORD_MAX ((sizeof(struct gt_bpf_raw) + GT_BPF_RAW_MAX + 7) & ~7ul)

/* bpf/common.h writes two layouts */
static bool sound(const void *data, size_t size)
{
	const struct gt_bpf_raw *raw = data;

	if (size == sizeof(union gt_record))
		return true;
	return size >= sizeof(*raw) && raw->type == GT_BPF_RAW && raw->len <= size - sizeof(*raw);
}

/** gb_ring_take() - libbpf's callback: a record waits from now on; -ENOSPC: the buffer has had its
 * share */
static int gb_ring_take(void *ctx, void *data, size_t size)
{
	struct gb_buffer *buf = ctx;
	struct gb_ring *ring = buf->ring;

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
	return --buf->room ? 0 : -ENOSPC; /* the rest stays in the ring */
}

void gb_ring_pause(struct gb *b, bool on)
{
	gb_say(&b->ring.wake->paused, on);
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

void gb_ring_flush(struct gb *b)
{
	if (b->ring.nout)
		b->p->host->push(b->p, b->ring.out, b->ring.nout);
	b->ring.reported += b->ring.nout;
	b->ring.nout = 0;
}

void gb_out(struct gb *b, const union gt_record *r)
{
	if (b->ring.nout == GB_OUT)
		gb_ring_flush(b);
	b->ring.out[b->ring.nout++] = *r;
}

static void emit_loss(struct gb *b, unsigned int part, union gt_record *r, uint64_t count)
{
	r->lost.count = count;
	if (gb_part(part)->lost)
		gb_part(part)->lost(b, &r->lost);
	gb_out(b, r);
}

/* A program reports what had no room before. Some of it may have been reported by look_for_losses().
 */
static void heard_of_loss(struct gb *b, unsigned int part, union gt_record *r)
{
	struct gb_loss *l = &b->ring.loss[part];

	l->heard += r->lost.count;
	if (l->heard <= l->reported)
		return;
	emit_loss(b, part, r, l->heard - l->reported);
	l->reported = l->heard;
}

/* The next record of its program there counts what had no room. There may be none for long. Records up
 * to @until have been handed over, and what is counted came up to now. */
static void look_for_losses(struct gb *b, uint64_t until)
{
	struct gt_bpf_count c;
	union gt_record r;

	if (!gb_said(&b->ring.wake->lost))
		return;
	gb_say(&b->ring.wake->lost, 0);
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++) {
		struct gb_loss *l = &b->ring.loss[i];

		if (b->state[i] || !gb_ring_counts(b, i, &c) || c.lost <= l->reported)
			continue;
		r.lost = (struct gt_lost){ .ts = until,
					   .until = b->p->host->now(b->p),
					   .type = GT_LOST,
					   .cpu = GT_NONE16,
					   .gpu = GT_NONE16,
					   .ring = GT_NONE16,
					   .since = b->ring.last ? b->ring.last : until,
					   .cause = GT_LOST_SOURCE };
		emit_loss(b, i, &r, c.lost - l->reported);
		l->reported = c.lost;
	}
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
		gb_part(part)->raw(b, raw);
		return true;
	}
	memcpy(&r, data, sizeof(r));
	r.ev.flags &= (1 << GT_BPF_PART_SHIFT) - 1;
	if (r.ev.type == GT_LOST)
		heard_of_loss(b, part, &r);
	else if (gb_part(part)->record && gb_part(part)->record(b, &r))
		gb_out(b, &r);
	return true;
}

/* Completes the first @n records that wait, and hands them over. The others move up. */
static void hand_over(struct gb *b, uint32_t n)
{
	struct gb_ring *ring = &b->ring;
	uint8_t *bytes = ring->bytes;
	uint32_t used = 0;

	for (uint32_t i = 0; i < n; i++) {
		ring->late += ring->waiting[i].ts <= ring->until;
		ring->left_out += !complete(b, ring->bytes + ring->waiting[i].at);
	}
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

/* How many records each buffer may give now: as many as have room at once, whatever their size */
static uint32_t share_of_room(const struct gb_ring *ring)
{
	size_t room = MIN(GB_WAITING - ring->n, (GB_BYTES - ring->used) / RECORD_MAX);

	return (uint32_t)room / ring->n_buffers;
}

/*
 * Reads a buffer, of which drain() knows how far it was reserved at @now, or later. What is reserved
 * behind that is younger. Where there is too much to be read at once an earlier drain's mark says as
 * much, up to an earlier time.
 */
static void take(struct gb_buffer *buf, uint64_t now, struct gb_drained *d)
{
	unsigned long read;
	bool full;

	if (!buf->mark_ts) {
		buf->mark = buf->upto;
		buf->mark_ts = now;
	}
	full = !buf->room || ring_buffer__consume(buf->rb) == -ENOSPC;
	read = __atomic_load_n(buf->read, __ATOMIC_ACQUIRE);
	if ((long)(read - buf->mark) >= 0) {
		buf->until = buf->mark_ts;
		buf->mark_ts = 0;
	}
	if ((long)(read - buf->upto) >= 0)
		buf->until = now;
	else if (!full)
		d->held = true; /* the first record that is left is not written yet */
	d->full |= full;
}

/* Reads the buffers. Return: until which time all of it has come, @now at most */
static uint64_t take_all(struct gb *b, uint64_t now, struct gb_drained *d)
{
	struct gb_ring *ring = &b->ring;
	uint32_t before = ring->n, share = share_of_room(ring);
	uint64_t until = now;

	*d = (struct gb_drained){ 0 };
	for (unsigned int i = 0; i < ring->n_buffers; i++) {
		ring->buffer[i].upto = __atomic_load_n(ring->buffer[i].reserved, __ATOMIC_ACQUIRE);
		ring->buffer[i].room = share;
	}
	for (unsigned int i = 0; i < ring->n_buffers; i++) {
		take(&ring->buffer[i], now, d);
		until = MIN(until, ring->buffer[i].until);
	}
	d->some = ring->n != before;
	sort(ring);
	return MAX(until, ring->until);
}

/* Hands over what is older than @until */
static void drain(struct gb *b, uint64_t until, struct gb_drained *d)
{
	struct gb_ring *ring = &b->ring;
	uint32_t n;

	ring->drains++;
	until = take_all(b, until, d);
	ring->full += d->full;
	n = ripe(ring, until);
	if (d->full && n < ring->n / 2 && !share_of_room(ring)) {
		n = ring->n / 2; /* more than fits: the older half goes */
		until = MAX(until, ring->waiting[n - 1].ts);
	}
	hand_over(b, n);
	b->quiet = !d->some;
	if (b->quiet)
		look_for_losses(b, until);
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++)
		if (!b->state[i] && gb_part(i)->round)
			gb_part(i)->round(b, until);
	gb_ring_flush(b);
	ring->until = until;
	b->p->host->watermark(b->p, until);
}

/*
 * In how many ns to look next. While records come, now and then. When none do, the programs are
 * informed that the next one is to wake us (0); one that came before they knew is found by one look
 * more.
 */
static uint64_t rest(struct gb *b, const struct gb_drained *d, bool woken)
{
	struct gb_ring *ring = &b->ring;

	if (!d->some && !ring->n && !d->held) {
		if (gb_said(&ring->wake->idle))
			return 0;
		gb_say(&ring->wake->idle, 1);
	} else if (d->full || d->held || (ring->n && (woken || !d->some))) {
		return GB_SLACK_NS; /* the first after a while, and the last, need not wait */
	}
	return GB_DRAIN_NS;
}

/* In @ns, 0: if something comes; but when a part is due */
static void come_again(struct gb *b, uint64_t ns)
{
	uint64_t now = b->due ? b->p->host->now(b->p) : 0;
	uint64_t left = b->due > now ? b->due - now : 1;

	if (b->due && (!ns || left < ns))
		ns = left;
	if (ns)
		b->p->host->timer(b->p, ns);
}

int gb_ring_drain(struct gb *b)
{
	struct gb_ring *ring = &b->ring;
	uint64_t reported = ring->reported;
	struct gb_drained d;

	drain(b, b->p->host->now(b->p) - GB_SLACK_NS, &d);
	come_again(b, rest(b, &d, !ring->flowing));
	ring->flowing = d.some;
	return (int)(ring->reported - reported);
}

void gb_ring_drain_all(struct gb *b)
{
	struct gb_drained d;

	drain(b, b->p->host->now(b->p), &d);
	/* a program may have woken us for what is gone now */
	come_again(b, GB_DRAIN_NS);
}

/* Empties the buffers that nobody writes to since @since: what is younger waits for the others. */
static void drain_gone(struct gb *b, uint64_t since)
{
	struct gb_drained d;

	do
		drain(b, since, &d);
	while (d.full);
}

/* The kernel waits for the programs that still write (see use_buffers()), so all is written then. */
void gb_ring_drain_last(struct gb *b)
{
	struct gb_drained d;

	use_buffers(&b->ring, b->ring.buffer);
	do
		drain(b, b->p->host->now(b->p), &d);
	while (d.some || d.full);
}

int gb_ring_resize(struct gb *b, char *err, size_t len)
{
	struct gb_ring *ring = &b->ring;
	struct gb_buffer *old = ring->buffer, *buf, *gone;
	uint64_t since = b->p->host->now(b->p);
	size_t size = wanted_size(b->o);
	int ret;

	buf = make_buffers(ring, ring->n_buffers, &size);
	if (!buf)
		return gb_refused(errno, "buffer_size", "", err, len);
	ret = watch(b, buf, true, err, len);
	if (!ret && (ret = use_buffers(ring, buf))) {
		gb_refused(-ret, "buffer_size", "", err, len);
		use_buffers(ring, old);
	}
	/* What nobody writes to any more is read to its end. */
	gone = ret ? buf : old;
	ring->buffer = gone;
	drain_gone(b, since);
	ring->buffer = ret ? old : buf;
	ring->size = ret ? ring->size : size;
	set_wake_level(ring);
	watch(b, gone, false, NULL, 0);
	close_buffers(gone, ring->n_buffers);
	b->o->buffer_size = (int64_t)ring->size / sharing(cpus());
	return ret;
}

/** gb_ring_count() - of counters @key of gt_count, likewise: added to @sum */
static bool gb_ring_count(const struct gb *b, uint32_t key, struct gt_bpf_count *sum)
{
	int cpus = libbpf_num_possible_cpus();
	gb_auto_free struct gt_bpf_count *c = cpus > 0 ? calloc((size_t)cpus, sizeof(*c)) : NULL;

	if (!c || bpf_map_lookup_elem(b->ring.count_fd, &key, c))
		return false;
	for (int cpu = 0; cpu < cpus; cpu++) {
		sum->seen += c[cpu].seen;
		sum->other += c[cpu].other;
		sum->sent += c[cpu].sent;
		sum->lost += c[cpu].lost;
		sum->unreported += c[cpu].unreported;
	}
	return true;
}

bool gb_ring_counts(const struct gb *b, unsigned int i, struct gt_bpf_count *out)
{
	bool ok;

	*out = (struct gt_bpf_count){ 0 };
	ok = gb_ring_count(b, i, out);
	for (uint32_t k = 0; i == GT_BPF_TRACEPOINT && k < b->tracepoints; k++)
		ok &= gb_ring_count(b, GT_BPF_PARTS + k, out);
	return ok;
}
