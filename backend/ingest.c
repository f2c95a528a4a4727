/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ingest thread: waits for descriptors, one timer and requests, calls drain(), merges, and
 * hands over to the sink. With nothing to do it sleeps, and no timer is armed.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <syslog.h>
#include <unistd.h>

#include "host_internal.h"

#define BATCH 64

/*
 * A plugin whose descriptor stays readable though drain() takes nothing from it, or whose timer is
 * always due, would have the thread run in circles: after so many empty drains, each within
 * HEELS_NS of the one before, it rests.
 */
#define EMPTY_DRAINS 64
#define HEELS_NS     1000000u
#define REST_NS	     20000000u

static void order_records(void *arg, unsigned int src, const union gt_record *r, size_t n)
{
	struct gt_host_state *h = arg;
	const struct gt_be *b = h->be[src];

	h->delivered = true;
	h->sink.records(h->sink.arg, r, n,
			b->be && (b->be->flags & GT_BACKEND_LIVE_PIDS) && !b->p.recording);
}

static void order_watermark(void *arg, uint64_t ts)
{
	struct gt_host_state *h = arg;

	h->delivered = true;
	h->sink.watermark(h->sink.arg, ts);
}

struct gt_order_ops gt_host_order_ops(struct gt_host_state *h)
{
	return (struct gt_order_ops){
		.arg = h,
		.records = order_records,
		.watermark = order_watermark,
	};
}

static void count_empty(struct gt_be *b, uint64_t began, uint64_t ended)
{
	if (!b->empty || began - b->drained_at > HEELS_NS)
		b->empties = 0;
	b->drained_at = ended;
	if (!b->empty || ++b->empties < EMPTY_DRAINS)
		return;
	b->rest = b->drained_at = ended + REST_NS;
	gt_be_mute(b, true);
}

static bool rests(struct gt_be *b, uint64_t now)
{
	if (b->rest > now)
		return true;
	if (b->rest)
		gt_be_mute(b, false);
	b->rest = 0;
	return false;
}

static void drain(struct gt_be *b)
{
	uint64_t began = gt_host_now(), ended;
	int ret;

	b->due = false;
	gt_be_clear_error(b);
	ret = b->be->drain(&b->p);
	ended = gt_host_now();
	b->drained = true;
	b->empty = ret == 0;
	gt_order_busy(b->h->order, b->index, b->timer);
	count_empty(b, began, ended);
	{
		GT_HOST_LOCK(b->h);
		b->info.drains++;
		b->info.drain_ns += ended - began;
	}
	if (ret == -ENODATA) {
		gt_host_log(b->h, b, LOG_INFO, "ended");
		gt_be_end(b);
	} else if (ret < 0) {
		gt_be_fail(b, GT_BS_QUARANTINED, "drain", ret);
		gt_be_stop(b, GT_BS_QUARANTINED);
	}
}

static bool watches(const struct gt_be *b, int fd)
{
	for (unsigned int i = 0; i < b->nfds; i++)
		if (b->fds[i] == fd)
			return true;
	return false;
}

/* A clock was set or the machine slept: read() says ECANCELED, and there is nothing to read. */
static void look_at_clocks(struct gt_host_state *h)
{
	uint64_t drop;
	ssize_t n = read(h->clockfd, &drop, sizeof(drop));
	GT_HOST_LOCK(h);

	if (n < 0 && errno == ECANCELED)
		gt_clocks_look(&h->clocks);
}

/* Notes whose turn it is; a descriptor of ours (data 0) only wakes. */
static void mark_due(struct gt_host_state *h, const struct epoll_event *ev)
{
	uint64_t index = ev->data.u64 >> 32;
	int fd = (int)(uint32_t)ev->data.u64;
	uint64_t drop;

	if (!index && fd == h->clockfd) {
		look_at_clocks(h);
	} else if (!index) {
		if (fd == h->timerfd)
			h->armed = 0; /* it fires once */
		if (read(fd, &drop, sizeof(drop)) < 0 && errno != EAGAIN)
			gt_host_log(h, NULL, LOG_ERR, "wake-up: %s", strerror(errno));
	} else if (index <= h->n && watches(h->be[index - 1], fd)) {
		h->be[index - 1]->due = true;
	} else {
		epoll_ctl(h->epfd, EPOLL_CTL_DEL, fd, NULL);
	}
}

static void drain_due(struct gt_host_state *h)
{
	uint64_t now = gt_host_now();

	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (!gt_be_live(b) || rests(b, now))
			continue;
		if (b->timer && b->timer <= now) {
			b->timer = 0;
			b->due = true;
		}
		if (b->due)
			drain(b);
	}
}

/* Sets the one timer to whatever comes first, if that is not what it is set to. */
static void arm(struct gt_host_state *h, uint64_t order_due)
{
	uint64_t first = order_due;
	struct itimerspec it;

	for (unsigned int i = 0; i < h->n; i++) {
		uint64_t due = h->be[i]->rest ? h->be[i]->rest : h->be[i]->timer;

		if (due && (!first || due < first))
			first = due;
	}
	if (first == h->armed)
		return;
	memset(&it, 0, sizeof(it));
	it.it_value.tv_sec = (time_t)(first / 1000000000);
	it.it_value.tv_nsec = (long)(first % 1000000000);
	if (timerfd_settime(h->timerfd, TFD_TIMER_ABSTIME, &it, NULL) < 0)
		gt_host_log(h, NULL, LOG_ERR, "timer: %s", strerror(errno));
	else
		h->armed = first;
}

/*
 * Nobody has anything left: the last drain found nothing, or no timer calls for another; that no
 * descriptor does the caller knows.
 */
static bool is_quiet(const struct gt_host_state *h)
{
	for (unsigned int i = 0; i < h->n; i++) {
		const struct gt_be *b = h->be[i];

		if (b->info.state == GT_BS_RUNNING && b->timer && !(b->drained && b->empty))
			return false;
	}
	return !gt_order_pending(h->order);
}

static bool somebody_waits(struct gt_host_state *h)
{
	GT_HOST_LOCK(h);

	return h->waiters;
}

static void tell_quiet(struct gt_host_state *h)
{
	GT_HOST_LOCK(h);

	h->quiet_seq++;
	pthread_cond_broadcast(&h->cond);
}

/* Sleeps until there is something; those who wait for quiet are told before. */
static int wait_events(struct gt_host_state *h, struct epoll_event *ev)
{
	int n;

	if (somebody_waits(h)) {
		n = epoll_wait(h->epfd, ev, BATCH, 0);
		if (n)
			return n;
		if (is_quiet(h))
			tell_quiet(h);
	}
	return epoll_wait(h->epfd, ev, BATCH, -1);
}

static void copy_merge_stats(struct gt_host_state *h)
{
	const struct gt_order_stats *s = gt_order_stats(h->order);
	GT_HOST_LOCK(h);

	h->merge = (struct gt_host_merge){
		.direct = s->direct,
		.queued = s->queued,
		.held = s->held,
		.forced = s->forced,
		.dropped = s->dropped,
		.pending = gt_order_pending(h->order),
	};
}

/* Merges what came, tells the sink, and sees to the next wake-up. @began: of the round */
static void finish_round(struct gt_host_state *h, uint64_t began)
{
	uint64_t due = gt_order_run(h->order, began);

	if (h->delivered) {
		h->sink.idle(h->sink.arg);
		copy_merge_stats(h);
	}
	h->delivered = false;
	arm(h, due);
}

void *gt_host_ingest(void *arg)
{
	struct gt_host_state *h = arg;
	struct epoll_event ev[BATCH];
	uint64_t began = gt_host_now();

	while (!h->quit) {
		int n;

		gt_call_serve(h);
		gt_host_do_rescan(h);
		finish_round(h, began);
		if (h->quit)
			break;
		n = wait_events(h, ev);
		began = gt_host_now();
		if (n < 0 && errno != EINTR) {
			gt_host_log(h, NULL, LOG_CRIT, "epoll: %s", strerror(errno));
			break;
		}
		for (int i = 0; i < n; i++)
			mark_due(h, &ev[i]);
		drain_due(h);
	}
	for (unsigned int i = 0; i < h->n; i++)
		gt_be_stop(h->be[i], GT_BS_OFF);
	gt_order_flush(h->order);
	finish_round(h, gt_host_now());
	return NULL;
}
