/* SPDX-License-Identifier: GPL-2.0 */
/* What a plugin calls: struct gt_host of backend.h. Always from within a hook, in one thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <syslog.h>
#include <unistd.h>

#include "host_internal.h"

#define AHEAD_NS 1000000000u /* of this clock, that a live source's may be */
#define LOOK_NS	 10000000u   /* clocks are looked at this often while times are converted */

static struct gt_be *be_of(struct gt_plugin *p)
{
	return (struct gt_be *)(void *)p;
}

/*
 * Events, and the descriptions that a plugin may send: the rest is the daemon's to write. One later
 * than @latest would make every later record of everybody late.
 */
static bool may_push(const union gt_record *r, uint64_t latest)
{
	if (r->ev.ts > latest)
		return false;
	return r->ev.type < GT_NTYPES || (r->ev.type >= GT_PROCESS && r->ev.type < GT_TYPE_END);
}

static void count(struct gt_be *b, const union gt_record *r, size_t n, size_t bad)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < n; i++)
		if (r[i].ev.type == GT_LOST && r[i].lost.cause == GT_LOST_SOURCE)
			lost += r[i].lost.count;
	GT_HOST_LOCK(b->h);
	b->info.records += n;
	b->info.lost += lost;
	b->info.malformed += bad;
}

/* A time of the source in the records' clock; one that would pass either end stays at it. */
static uint64_t shifted(const struct gt_be *b, uint64_t ts)
{
	int64_t by = atomic_load_explicit(&b->clock_offset, memory_order_relaxed);
	uint64_t d = by < 0 ? 0 - (uint64_t)by : (uint64_t)by;

	if (by < 0)
		return ts > d ? ts - d : 0;
	return ts < UINT64_MAX - d ? ts + d : UINT64_MAX;
}

/* Now, of a live source; where the user moves its clock, that is his to know. */
static uint64_t bounded(const struct gt_be *b, uint64_t ahead)
{
	if (b->p.recording || atomic_load_explicit(&b->clock_offset, memory_order_relaxed))
		return UINT64_MAX;
	return gt_host_now() + ahead;
}

static void push(struct gt_be *b, const union gt_record *r, size_t n)
{
	uint64_t now = gt_host_now();
	union gt_record moved;

	if (!atomic_load_explicit(&b->clock_offset, memory_order_relaxed)) {
		gt_order_push(b->h->order, b->index, r, n, now);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		moved = r[i];
		moved.ev.ts = shifted(b, moved.ev.ts);
		gt_order_push(b->h->order, b->index, &moved, 1, now);
	}
}

static void hook_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	struct gt_be *b = be_of(p);
	uint64_t latest = bounded(b, AHEAD_NS);

	if (!b->h->order || !r)
		return;
	while (n) {
		size_t good = 0;

		while (good < n && may_push(&r[good], latest))
			good++;
		if (good)
			push(b, r, good);
		count(b, r, good, good < n);
		good += good < n; /* the bad one is left out */
		r += good;
		n -= good;
	}
}

static const char *hook_claim(struct gt_plugin *p, const char *what, int rank)
{
	return gt_claim_ask(be_of(p), what, rank);
}

static void hook_watermark(struct gt_plugin *p, uint64_t ts)
{
	struct gt_be *b = be_of(p);
	uint64_t latest = bounded(b, 0); /* nobody knows the future */

	if (ts > latest)
		ts = latest;
	if (b->h->order)
		gt_order_watermark(b->h->order, b->index, shifted(b, ts));
}

static uint16_t hook_gpu(struct gt_plugin *p, const struct gt_gpu_desc *desc)
{
	struct gt_be *b = be_of(p);

	return b->h->sink.gpu(b->h->sink.arg, desc, p->recording);
}

static uint16_t hook_ring(struct gt_plugin *p, uint16_t gpu, const char *name,
			  enum gt_engine engine)
{
	struct gt_be *b = be_of(p);

	if (gpu == GT_NONE16 || !name)
		return GT_NONE16;
	return b->h->sink.ring(b->h->sink.arg, gpu, name, engine);
}

static uint32_t hook_kernel(struct gt_plugin *p, const struct gt_kernel_desc *d)
{
	struct gt_be *b = be_of(p);

	if (!b->h->sink.kernel || d->gpu == GT_NONE16)
		return GT_NONE32;
	return b->h->sink.kernel(b->h->sink.arg, d);
}

static void hook_counter(struct gt_plugin *p, uint32_t kernel, const char *name, double value)
{
	struct gt_be *b = be_of(p);

	if (b->h->sink.counter && name)
		b->h->sink.counter(b->h->sink.arg, kernel, name, value);
}

static void hook_kernel_text(struct gt_plugin *p, uint32_t kernel, enum gt_kernel_text which,
			     const char *text)
{
	struct gt_be *b = be_of(p);

	if (b->h->sink.kernel_text && which < GT_KERNEL_TEXTS)
		b->h->sink.kernel_text(b->h->sink.arg, kernel, which, text);
}

static uint64_t moved(const struct gt_be *b, uint64_t ts)
{
	return ts ? shifted(b, ts) : 0;
}

static void hook_tally(struct gt_plugin *p, const struct gt_tally *t)
{
	struct gt_be *b = be_of(p);
	uint64_t now = gt_host_now();
	struct gt_tally m = *t;

	m.at = shifted(b, m.at < now ? m.at : now);
	m.since = moved(b, m.since);
	m.first = moved(b, m.first);
	m.last = moved(b, m.last);
	m.last_end = moved(b, m.last_end);
	m.hw_since = moved(b, m.hw_since);
	b->h->delivered = true;
	b->h->sink.tally(b->h->sink.arg, &m);
}

static void hook_reading(struct gt_plugin *p, const struct gt_reading *r)
{
	struct gt_be *b = be_of(p);

	if (r->gpu != GT_NONE16 && r->n <= GT_GAUGES_MAX && b->h->sink.reading)
		b->h->sink.reading(b->h->sink.arg, r);
}

static void hook_usage(struct gt_plugin *p, const struct gt_usage *u)
{
	struct gt_be *b = be_of(p);

	if (u->gpu == GT_NONE16 || u->nengines > GT_USE_ENGINES || u->nregions > GT_USE_REGIONS ||
	    !b->h->sink.usage)
		return;
	b->h->delivered = true;
	b->h->sink.usage(b->h->sink.arg, u);
}

static void hook_queues_hw(struct gt_plugin *p, const struct gt_queue_hw *q, size_t n)
{
	const struct gt_sink *s = &be_of(p)->h->sink;

	for (size_t i = 0; i < n; i++)
		if (q[i].nslots > GT_QUEUE_SLOTS)
			return;
	if (s->queues_hw)
		s->queues_hw(s->arg, q, n);
}

static bool can_fold(const struct gt_be *b)
{
	return b->be->size >= offsetof(struct gt_backend, fold) + sizeof(b->be->fold) &&
	       b->be->fold;
}

void gt_be_counting(struct gt_be *b, bool on)
{
	if (on == b->counting || (on && !can_fold(b)))
		return;
	b->counting = on;
	if (on)
		b->h->counting++;
	else
		b->h->counting--;
}

static void hook_counting(struct gt_plugin *p, bool on)
{
	gt_be_counting(be_of(p), on);
}

static void hook_wanted(struct gt_plugin *p, struct gt_wanted *out)
{
	const struct gt_sink *s = &be_of(p)->h->sink;

	*out = (struct gt_wanted){ .types = UINT32_MAX,
				   .events = UINT32_MAX,
				   .share = GT_SHARE_ALL };
	if (s->wanted)
		s->wanted(s->arg, out);
}

static uint32_t hook_ring_refused(struct gt_plugin *p, uint16_t gpu, uint16_t ring)
{
	const struct gt_sink *s = &be_of(p)->h->sink;

	return s->ring_refused ? s->ring_refused(s->arg, gpu, ring) : 0;
}

static bool forget(struct gt_be *b, int fd)
{
	for (unsigned int i = 0; i < b->nfds; i++)
		if (b->fds[i] == fd) {
			b->fds[i] = b->fds[--b->nfds];
			return true;
		}
	return false;
}

static int unwatch(struct gt_be *b, int fd)
{
	if (!forget(b, fd))
		return -ENOENT;
	/* A descriptor closed before it was unwatched is gone from epoll already. */
	epoll_ctl(b->h->epfd, EPOLL_CTL_DEL, fd, NULL);
	return 0;
}

static int remember(struct gt_be *b, int fd)
{
	if (b->nfds >= GT_HOST_MAX_WATCHES)
		return -ENOSPC;
	if (!(b->nfds & (b->nfds - 1))) { /* full at each power of two */
		int *fds = realloc(b->fds, (b->nfds ? b->nfds * 2 : 1) * sizeof(*fds));

		if (!fds)
			return -ENOMEM;
		b->fds = fds;
	}
	b->fds[b->nfds++] = fd;
	return 0;
}

static int listen_to(struct gt_be *b, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	ev.data.u64 = (uint64_t)(b->index + 1) << 32 | (uint32_t)fd;
	return epoll_ctl(b->h->epfd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static int hook_watch(struct gt_plugin *p, int fd, bool on)
{
	struct gt_be *b = be_of(p);
	int ret;

	if (!on)
		return unwatch(b, fd);
	/* The number of a descriptor that was closed without a word may be in use again. */
	for (unsigned int i = 0; i < b->h->n; i++)
		if (forget(b->h->be[i], fd))
			epoll_ctl(b->h->epfd, EPOLL_CTL_DEL, fd, NULL);
	ret = remember(b, fd);
	if (ret)
		return ret;
	ret = listen_to(b, fd);
	if (ret)
		forget(b, fd);
	return ret;
}

void gt_be_mute(struct gt_be *b, bool on)
{
	for (unsigned int i = 0; i < b->nfds; i++)
		if (on)
			epoll_ctl(b->h->epfd, EPOLL_CTL_DEL, b->fds[i], NULL);
		else
			listen_to(b, b->fds[i]); /* unless it was closed meanwhile */
}

void gt_be_unwatch_all(struct gt_be *b)
{
	while (b->nfds)
		unwatch(b, b->fds[0]);
}

static void hook_timer(struct gt_plugin *p, uint64_t ns)
{
	struct gt_be *b = be_of(p);
	uint64_t now = gt_host_now();

	if (!ns)
		b->timer = 0;
	else
		b->timer = ns < UINT64_MAX - now ? now + ns : UINT64_MAX;
}

static int hook_error(struct gt_plugin *p, int err, const char *fmt, ...)
{
	struct gt_be *b = be_of(p);
	char text[sizeof(b->info.last_error)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *s = text; *s; s++)
		if ((unsigned char)*s < ' ')
			*s = ' '; /* one line, whatever a file or device name had in it */
	GT_HOST_LOCK(b->h);
	if (b->info.state != GT_BS_QUARANTINED) { /* the first fault is the one to show */
		memcpy(b->info.last_error, text, sizeof(text));
		b->told = true;
	}
	return err > 0 ? -err : err < 0 ? err : -EIO;
}

static void hook_log(struct gt_plugin *p, int priority, const char *fmt, ...)
{
	struct gt_be *b = be_of(p);
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_host_log(b->h, b, priority, "%s", text);
}

/* A look costs less than a microsecond; a jump that was not yet told is found by it. */
static uint64_t hook_monotonic(struct gt_plugin *p, enum gt_clock_id clock, uint64_t ts,
			       uint64_t *uncertainty)
{
	struct gt_host_state *h = be_of(p)->h;

	if (uncertainty)
		*uncertainty = GT_NONE64;
	if (p->recording)
		return ts;
	GT_HOST_LOCK(h);
	if (gt_host_now() - h->clocks.boottime.looked > LOOK_NS)
		gt_clocks_look(&h->clocks);
	return gt_clocks_mono(&h->clocks, clock, ts, uncertainty);
}

static size_t hook_clock_lines(struct gt_plugin *p, enum gt_clock_id clock, char *buf, size_t len)
{
	struct gt_host_state *h = be_of(p)->h;
	int n;

	if (p->recording) {
		n = snprintf(buf, len, "clock %s\n", gt_clock_name(clock));
		return n < 0 || !len ? 0 : (size_t)n < len ? (size_t)n : len - 1;
	}
	GT_HOST_LOCK(h);
	gt_clocks_look(&h->clocks);
	return gt_clocks_lines(&h->clocks, clock, buf, len);
}

static const struct gt_made *hook_made(struct gt_plugin *p, unsigned int i)
{
	return gt_made_nth(be_of(p), i);
}

static uint64_t hook_now(struct gt_plugin *p)
{
	return gt_host_now();
}

const struct gt_host gt_host_hooks = {
	.push = hook_push,
	.watermark = hook_watermark,
	.reading = hook_reading,
	.usage = hook_usage,
	.queues_hw = hook_queues_hw,
	.gpu = hook_gpu,
	.ring = hook_ring,
	.watch = hook_watch,
	.timer = hook_timer,
	.error = hook_error,
	.log = hook_log,
	.claim = hook_claim,
	.tally = hook_tally,
	.counting = hook_counting,
	.wanted = hook_wanted,
	.ring_refused = hook_ring_refused,
	.kernel = hook_kernel,
	.counter = hook_counter,
	.kernel_text = hook_kernel_text,
	.monotonic = hook_monotonic,
	.clock_lines = hook_clock_lines,
	.made = hook_made,
	.now = hook_now,
};

void gt_be_clear_error(struct gt_be *b)
{
	GT_HOST_LOCK(b->h);

	b->told = false;
}

void gt_be_fail(struct gt_be *b, enum gt_backend_state s, const char *doing, int err)
{
	{
		GT_HOST_LOCK(b->h);

		if (!b->told)
			snprintf(b->info.last_error, sizeof(b->info.last_error), "%s failed: %s",
				 doing, strerror(err < 0 ? -err : EIO));
		b->info.state = s;
	}
	gt_host_log(b->h, b, s == GT_BS_UNAVAILABLE ? LOG_INFO : LOG_ERR, "%s: %s",
		    gt_backend_state_name(s), b->info.last_error);
}
