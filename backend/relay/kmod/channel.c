// SPDX-License-Identifier: GPL-2.0
/*
 * The relay channel: a buffer for each CPU, its file events<cpu>, and how a record gets there. Each
 * sub-buffer begins with STREAM_INFO and METADATA, and names its rings before the first event of each.
 *
 * relay_reserve() hands out room that a reader may see before it is filled. So records are written
 * first, and the buffer's offset moves behind them then, as relay_write() does it.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/debugfs.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/timekeeping.h>

#include "internal.h"

#define SUBBUFS	     16
#define SIZE_MIN     (SUBBUFS * 4096)
#define SIZE_MAX_CPU (256u << 20)

struct head_info {
	struct grt_header h;
	struct grt_stream_info s;
} __packed;

struct head_meta {
	struct grt_header h;
	struct grt_metadata m;
	struct grt_type_info types[GRT_TYPES_USED];
	struct grt_engine_info engines[GRT_ENGINES_USED];
} __packed;

struct ring_record {
	struct grt_header h;
	struct grt_ring_info r;
} __packed;

#define HEAD_SIZE (sizeof(struct head_info) + sizeof(struct head_meta))
static_assert(sizeof(struct head_info) % 8 == 0 && sizeof(struct head_meta) % 8 == 0);
static_assert(sizeof(struct ring_record) % 8 == 0);
static_assert(HEAD_SIZE + sizeof(struct ring_record) + 128 < 4096);

u32 grt_buffer_size = 4 << 20;
bool grt_overwrite;

static struct rchan *chan; /* changes with CPUs kept from coming and going */
static struct dentry *parent;
static int cpu_state = -EINVAL; /* of CPU hotplug, that calls cpu_comes() */

static const struct head_meta meta = {
	.m = {
		.types = GRT_TYPES_USED,
		.type_size = sizeof(struct grt_type_info),
		.engines = GRT_ENGINES_USED,
		.engine_size = sizeof(struct grt_engine_info),
		.field_sizes = { 2, 2, 4, 8, 8, 8, 2, 2, 4, 4 },
	},
	.types = {
#define X(number, text, payload) { .type = number, .size = sizeof(payload), .name = text },
		GRT_TYPES(X)
#undef X
	},
	.engines = {
#define X(bit, text) { .engine_class = bit, .name = text },
		GRT_ENGINES(X)
#undef X
	},
};

static void header(struct grt_header *h, u16 type, size_t size, u32 cpu, u64 ts,
		   const struct grt_cpu *c)
{
	h->type = type;
	h->size = size;
	h->cpu = cpu;
	h->ts = ts;
	h->gseq = c->gseq;
	h->cseq = c->cseq;
}

static void write_info(struct head_info *i, const struct grt_cpu *c, u32 cpu, u64 ts)
{
	header(&i->h, GRT_STREAM_INFO, sizeof(*i), cpu, ts, c);
	i->s = (struct grt_stream_info){
		.magic = GRT_MAGIC,
		.version = GRT_VERSION,
		.header_size = sizeof(struct grt_header),
		.session_id = grt_session.id,
		.start_ts = grt_session.started,
		.feature_bits = READ_ONCE(grt_session.features),
		.clock_src = CLOCK_MONOTONIC,
		.nr_cpus = num_possible_cpus(),
		.subbuf_size = grt_buffer_size / SUBBUFS,
		.n_subbufs = SUBBUFS,
		.realtime_offset = grt_session.realtime,
		.boottime_offset = grt_session.boottime,
	};
}

/* Whether the reader would have to make room for another sub-buffer first, so that @spare are left.
 * The one that is being filled stays the last of a lap: relay's own test is later, and a reader
 * that comes in between takes the full buffer for an overwritten one and leaves out a sub-buffer.
 */
static bool is_full(const struct rchan_buf *buf, unsigned int spare)
{
	return !grt_overwrite &&
	       buf->subbufs_produced - READ_ONCE(buf->subbufs_consumed) + 1 + spare >= SUBBUFS;
}

/* What every sub-buffer begins with */
static void begin(struct rchan_buf *buf, void *subbuf)
{
	struct grt_cpu *c = *per_cpu_ptr(grt_cpus, buf->cpu);
	u64 ts = ktime_get_mono_fast_ns();
	struct head_meta *m = subbuf + sizeof(struct head_info);
	const struct grt_ring *first = grt_ring_at(0);

	if (!grt_session.id)
		return;
	write_info(subbuf, c, buf->cpu, ts);
	*m = meta;
	header(&m->h, GRT_METADATA, sizeof(*m), buf->cpu, ts, c);
	if (first)
		memcpy(m->m.driver, first->driver, sizeof(m->m.driver));
	smp_wmb(); /* whoever sees the offset sees what is before it */
	subbuf_start_reserve(buf, HEAD_SIZE);
	c->session = grt_session.id;
	c->sub++;
}

#ifdef HAVE_PREV_PADDING
static int subbuf_start(struct rchan_buf *buf, void *subbuf, void *prev, size_t padding)
#else
static int subbuf_start(struct rchan_buf *buf, void *subbuf, void *prev)
#endif
{
	begin(buf, subbuf);
	return 1;
}

/*
 * What relay_switch_subbuf() does, in an order in which a reader on another CPU finds nothing wrong
 * after any step. There the number of sub-buffers is increased while offset and data still are the
 * old one's: a reader that has read all of that takes the whole next one for written. It gets what
 * was there a lap ago, counts the sub-buffer as read, and then goes back by a lap.
 *
 * Here the old one is empty for a reader until its padding is known, and the new one until its head
 * is there. For this no sub-buffer is filled to its last byte, which relay takes for another state.
 */
static void switch_subbuf(struct rchan_buf *buf)
{
	size_t old = buf->subbufs_produced % SUBBUFS, new = (buf->subbufs_produced + 1) % SUBBUFS;
	size_t size = chan->subbuf_size, padding = size - buf->offset;

	if (!buf->offset) { /* it has no head yet */
		begin(buf, buf->data);
		return;
	}
	/* all of it is padding: for a reader that had looked before, and finds itself there now. Where
	 * the oldest are overwritten a reader may be in the middle of it. */
	if (!grt_overwrite)
		WRITE_ONCE(buf->padding[new], size);
	smp_wmb();
	WRITE_ONCE(buf->offset, 0);
	smp_wmb();
	WRITE_ONCE(buf->subbufs_produced, buf->subbufs_produced + 1);
	smp_wmb();
	WRITE_ONCE(buf->padding[old], padding);
	smp_wmb();
	WRITE_ONCE(buf->data, buf->start + new *size);
	smp_wmb();
	WRITE_ONCE(buf->padding[new], 0);
	if (buf->subbufs_produced - READ_ONCE(buf->subbufs_consumed) >= SUBBUFS)
		(*per_cpu_ptr(grt_cpus, buf->cpu))->n.overruns++;
	begin(buf, buf->data);
	smp_mb(); /* who waits from now on sees it, all others are woken */
	if (waitqueue_active(&buf->read_wait))
		irq_work_queue(&buf->wakeup_work);
}

/*
 * relay makes a buffer's file before it sets up what the file is opened with, its reference count
 * among others: an open in between makes it free the buffer while it is used. So relay gets the
 * folder in place of a file, and make_file() makes the files when the buffers are whole.
 */
static struct dentry *create_buf_file(const char *name, struct dentry *dir, umode_t mode,
				      struct rchan_buf *buf, int *is_global)
{
	return parent;
}

static int remove_buf_file(struct dentry *dentry)
{
	if (dentry != parent)
		debugfs_remove(dentry);
	return 0;
}

static void make_file(unsigned int cpu)
{
	struct rchan_buf *buf = chan ? *per_cpu_ptr(chan->buf, cpu) : NULL;
	struct dentry *file;
	char name[24];

	if (!buf || buf->dentry != parent)
		return;
	snprintf(name, sizeof(name), "events%u", cpu);
	file = debugfs_create_file(name, 0400, parent, buf, &relay_file_operations);
	buf->dentry = IS_ERR(file) ? NULL : file;
}

/* relay makes the buffer of a CPU that was not there before when it comes */
static int cpu_comes(unsigned int cpu)
{
	make_file(cpu);
	return 0;
}

static const struct rchan_callbacks callbacks = {
	.subbuf_start = subbuf_start,
	.create_buf_file = create_buf_file,
	.remove_buf_file = remove_buf_file,
};

static void write_ring(struct ring_record *p, const struct grt_cpu *c, u32 cpu, u64 ts,
		       const struct grt_ring *ring)
{
	header(&p->h, GRT_RING, sizeof(*p), cpu, ts, c);
	p->r.engine_class = ring->engine;
	p->r.ring_id = ring->id;
	p->r.reserved = 0;
	memcpy(p->r.driver, ring->driver, sizeof(p->r.driver));
	memcpy(p->r.name, ring->name, sizeof(p->r.name));
	memcpy(p->r.dev, ring->dev, sizeof(p->r.dev));
}

static void write_event(void *p, const struct grt_cpu *c, size_t size, u32 cpu, u64 ts,
			const struct grt_report *r, const struct grt_event *ev)
{
	header(p, r->type, size, cpu, ts, c);
	memcpy(p + sizeof(struct grt_header), ev, sizeof(*ev));
	if (r->type == GRT_CUSTOM) {
		struct grt_custom *custom = p + sizeof(struct grt_header);

		memset(custom->name, 0, sizeof(custom->name));
		memcpy(custom->name, r->name, strnlen(r->name, sizeof(custom->name)));
	}
}

/**
 * grt_channel_write() - a record of an event into this CPU's buffer; interrupts are off
 * @c: this CPU's; its cseq is the event's number, and the next one's afterwards
 * @ts: when
 * @r: what
 * @ev: its payload
 *
 * Return: false if there was no room
 */
bool grt_channel_write(struct grt_cpu *c, u64 ts, const struct grt_report *r,
		       const struct grt_event *ev)
{
	struct rchan_buf *buf = *this_cpu_ptr(chan->buf);
	size_t size = sizeof(struct grt_header) +
		      (r->type == GRT_CUSTOM ? sizeof(struct grt_custom) : sizeof(*ev));
	size_t need = size, name = r->ring ? sizeof(struct ring_record) : 0;
	bool next = c->session != grt_session.id || !buf || buf->offset + size >= chan->subbuf_size;
	void *p;

	/* A new sub-buffer knows no ring yet */
	if (next || (r->ring && c->named[r->ring->id] != c->sub))
		need += name;
	next |= buf && buf->offset + need >= chan->subbuf_size;
	if (!buf || (next && is_full(buf, 1))) {
		c->cseq++;
		return false;
	}
	if (next)
		switch_subbuf(buf);
	p = buf->data + buf->offset;
	if (need > size) {
		write_ring(p, c, buf->cpu, ts, r->ring);
		c->named[r->ring->id] = c->sub;
		p += name;
	}
	write_event(p, c, size, buf->cpu, ts, r, ev);
	smp_wmb(); /* whoever sees the offset sees what is before it */
	WRITE_ONCE(buf->offset, buf->offset + need);
	c->n.bytes += need;
	c->cseq++;
	return true;
}

/**
 * grt_channel_mark() - each CPU's file begins another sub-buffer, with a STREAM_INFO as things are
 * now; while nothing is written
 *
 * Events leave room for one, so that the end of a full buffer has the number of those that were lost there.
 */
void grt_channel_mark(void)
{
	u64 gseq = grt_gseq_now();
	int cpu;

	cpus_read_lock();
	for_each_possible_cpu(cpu) {
		struct rchan_buf *buf = *per_cpu_ptr(chan->buf, cpu);

		(*per_cpu_ptr(grt_cpus, cpu))->gseq = gseq;
		if (buf && !is_full(buf, 0))
			switch_subbuf(buf);
	}
	cpus_read_unlock();
}

/** grt_channel_consumed() - Return: sub-buffers that were read */
u64 grt_channel_consumed(void)
{
	u64 n = 0;
	int cpu;

	if (!chan) /* there was no memory for another size, and none for the old one */
		return 0;
	for_each_possible_cpu(cpu) {
		struct rchan_buf *buf = *per_cpu_ptr(chan->buf, cpu);

		n += buf ? buf->subbufs_consumed : 0;
	}
	return n;
}

static void drop(void)
{
	struct rchan *old = chan;

	cpus_read_lock();
	chan = NULL;
	cpus_read_unlock();
	if (old)
		relay_close(old);
}

/** grt_channel_exit() - the end of them; nothing writes any more */
void grt_channel_exit(void)
{
	if (cpu_state >= 0)
		cpuhp_remove_state_nocalls(cpu_state);
	drop();
}

static int reopen(u32 bytes)
{
	unsigned int cpu;

	drop(); /* both would want the same names */
	cpus_read_lock();
	chan = relay_open("events", parent, bytes / SUBBUFS, SUBBUFS, &callbacks, NULL);
	for_each_possible_cpu(cpu)
		make_file(cpu);
	cpus_read_unlock();
	if (!chan)
		return -ENOMEM;
	grt_buffer_size = bytes;
	return 0;
}

/**
 * grt_channel_size() - makes the buffers that large, empty and unread; while nothing is written
 * @bytes: for each CPU; rounded up to pages in each sub-buffer
 *
 * Return: 0, -ERANGE, or -ENOMEM: then they are as large as before, if even that can be had
 */
int grt_channel_size(u32 bytes)
{
	u32 size = PAGE_ALIGN(DIV_ROUND_UP(bytes, SUBBUFS)) * SUBBUFS;

	if (bytes < SIZE_MIN || bytes > SIZE_MAX_CPU)
		return -ERANGE;
	if ((u64)size * num_online_cpus() > (u64)totalram_pages() << (PAGE_SHIFT - 2))
		return -ENOMEM;
	grt_session.id = 0; /* no heads until the next start makes another */
	if (!reopen(size))
		return 0;
	if (reopen(grt_buffer_size))
		reopen(SIZE_MIN);
	return -ENOMEM;
}

/** grt_channel_ready() - Return: 0, or -ENOMEM where there are no buffers, and none to be had */
int grt_channel_ready(void)
{
	return chan ? 0 : reopen(grt_buffer_size);
}

/** grt_channel_init() - the files. Return: 0 or -errno */
int grt_channel_init(struct dentry *dir)
{
	parent = dir;
	cpu_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "gpu/grtrace:online", cpu_comes,
					      NULL);
	return cpu_state < 0 ? cpu_state : grt_channel_size(grt_buffer_size);
}
