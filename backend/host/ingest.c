/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ingest thread, and the requests that other threads make to it.
 *
 * The thread waits for descriptors, one timer and requests, calls drain(), merges, and hands records
 * over to the sink. With nothing to do it sleeps, and no timer is armed.
 *
 * Plugin hooks are called from this thread only: another thread leaves a request and waits. A plugin
 * that hangs must not hang the readers of the tree as well, so the wait has a limit; after that the
 * request belongs to the ingest thread alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* Requests ---------------------------------------------------------------------------------- */

struct gt_call *gt_call_new(enum gt_call_kind kind)
{
	struct gt_call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->kind = kind;
	c->refs = 1;
	return c;
}

void gt_call_put(struct gt_host_state *h, struct gt_call *c)
{
	bool last;

	{
		GT_HOST_LOCK(h);
		last = --c->refs == 0;
	}
	if (!last)
		return;
	free(c->big);
	free(c);
}

static void doctor(struct gt_host_state *h, struct gt_call *c)
{
	struct gt_be *b = h->be[c->index];

	if (!b->started && b->detail)
		snprintf(c->big, GT_BACKEND_DOCTOR_MAX, "%s", b->detail);
	if (!b->started || !b->be->doctor)
		return;
	b->be->doctor(&b->p, c->big, GT_BACKEND_DOCTOR_MAX);
	c->big[GT_BACKEND_DOCTOR_MAX - 1] = 0;
}

static void show_file(struct gt_host_state *h, struct gt_call *c)
{
	struct gt_be *b = h->be[c->index];

	if (!b->started)
		return;
	b->info.files[c->file].show(&b->p, c->big, GT_BACKEND_TEXT_MAX);
	c->big[GT_BACKEND_TEXT_MAX - 1] = 0;
}

static void refresh_sensors(struct gt_host_state *h, unsigned int what)
{
	for (unsigned int i = 0; i < h->n; i++)
		if (h->be[i]->refreshes && h->be[i]->started)
			h->be[i]->be->refresh_sensors(&h->be[i]->p, what);
}

static void perform(struct gt_host_state *h, struct gt_call *c)
{
	switch (c->kind) {
	case GT_CALL_DOCTOR:
		doctor(h, c);
		break;
	case GT_CALL_FILE:
		show_file(h, c);
		break;
	case GT_CALL_SET:
		c->ret = gt_options_set(h->be[c->index], c->name, c->value, c->text,
					sizeof(c->text));
		break;
	case GT_CALL_CONTROL:
		c->ret = gt_host_do_control(h, c->what, c->arg, c->text, sizeof(c->text));
		break;
	case GT_CALL_REFRESH:
		refresh_sensors(h, (unsigned int)c->arg);
		break;
	case GT_CALL_USERDIR_SHOW:
		gt_userdir_show(h, c);
		break;
	case GT_CALL_START:
		c->ret = gt_host_start_all(h, c->text, sizeof(c->text));
		break;
	}
}

static struct gt_call *take_call(struct gt_host_state *h)
{
	struct gt_call *c;
	GT_HOST_LOCK(h);

	h->stuck = false;
	c = h->calls;
	if (c) {
		h->calls = c->next;
		c->begun = true;
	}
	return c;
}

void gt_call_serve(struct gt_host_state *h)
{
	struct gt_call *c;

	for (;;) {
		c = take_call(h);
		gt_userdirs_take(h); /* a request sees what its caller changed before it */
		if (!c)
			return;
		perform(h, c);
		gt_host_observing(h);
		{
			GT_HOST_LOCK(h);
			c->done = true;
			pthread_cond_broadcast(&h->cond);
		}
		gt_call_put(h, c);
	}
}

static void enqueue(struct gt_host_state *h, struct gt_call *c)
{
	struct gt_call **at = &h->calls;
	GT_HOST_LOCK(h);

	while (*at)
		at = &(*at)->next;
	c->refs++;
	c->next = NULL;
	*at = c;
}

/*
 * The wait for @c was too long: a request that has not begun is cancelled, and its caller gets an
 * error. One that only refreshes what is shown stays, for the next reader. Lock held
 */
static void cancel(struct gt_host_state *h, struct gt_call *c)
{
	struct gt_call **at = &h->calls;

	if (c->begun || c->kind == GT_CALL_REFRESH)
		return;
	while (*at && *at != c)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = c->next;
	c->refs--;
}

static bool wait_done(struct gt_host_state *h, struct gt_call *c, int ms)
{
	struct timespec until = gt_host_deadline(ms < 0 ? 0 : ms);
	GT_HOST_LOCK(h);

	while (!c->done)
		if (ms < 0)
			pthread_cond_wait(&h->cond, &h->lock);
		else if (pthread_cond_timedwait(&h->cond, &h->lock, &until) == ETIMEDOUT)
			break;
	if (ms < 0 || ms >= GT_HOST_CALL_MS) /* a shorter wait proves nothing */
		h->stuck = !c->done;
	if (!c->done)
		cancel(h, c);
	return c->done;
}

void gt_call_late(struct gt_host_state *h, const struct gt_call *c, char *out, size_t len)
{
	GT_HOST_LOCK(h);

	snprintf(out, len, "a backend has not answered for %d s%s", GT_HOST_CALL_MS / 1000,
		 c->begun ? ": what was asked for may be done yet" : "");
}

void gt_host_wake(struct gt_host_state *h)
{
	const uint64_t one = 1;

	/* EAGAIN: 2^64 - 2 wake-ups are pending, which is enough. */
	if (write(h->eventfd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		gt_host_log(h, NULL, LOG_ERR, "eventfd: %s", strerror(errno));
}

/* Does it change something, rather than ask? */
static bool changes(const struct gt_call *c)
{
	return c->kind == GT_CALL_SET || c->kind == GT_CALL_CONTROL;
}

int gt_call_run(struct gt_host_state *h, struct gt_call *c, int ms)
{
	if (gt_host_in_ingest(h)) {
		perform(h, c);
		return c->ret;
	}
	if (ms >= 0) {
		GT_HOST_LOCK(h);
		if (h->stuck) /* a read of doctor has many requests: only the first waits */
			return -ETIMEDOUT;
	}
	enqueue(h, c);
	gt_host_wake(h);
	if (wait_done(h, c, ms))
		return c->ret;
	return c->begun && changes(c) ? -EINPROGRESS : -ETIMEDOUT;
}

int gt_call_finish(struct gt_host_state *h, struct gt_call *c, char *out, size_t len)
{
	int ret = gt_call_run(h, c, GT_HOST_CALL_MS);

	if (ret == -ETIMEDOUT || ret == -EINPROGRESS)
		gt_call_late(h, c, out, len);
	else
		snprintf(out, len, "%s", !ret && c->big ? c->big : c->text);
	gt_call_put(h, c);
	return ret;
}

/* The thread -------------------------------------------------------------------------------- */

#define BATCH 64

/*
 * A descriptor that stays readable though drain() takes nothing from it, or a timer that is always due,
 * would keep the thread busy: after EMPTY_DRAINS empty drains, each within QUICK_NS of the one before, the
 * plugin is not called for REST_NS.
 */
#define EMPTY_DRAINS 64
#define QUICK_NS     1000000u
#define REST_NS	     20000000u

static void order_records(void *arg, unsigned int src, const union gt_record *r, size_t n)
{
	struct gt_host_state *h = arg;
	const struct gt_be *b = h->be[src];
	uint32_t flags = b->be && !b->p.recording ? b->be->flags : 0;

	h->delivered = true;
	h->sink.records(h->sink.arg, r, n, flags & GT_BACKEND_LIVE_PIDS, flags & GT_BACKEND_USERS);
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

/* Is it a recording that stands still because the level is off? */
static bool is_frozen(const struct gt_be *b)
{
	const struct gt_host_state *h = b->h;

	return !h->level && b->p.recording && b->started && h->conf.replay && *h->conf.replay;
}

static bool is_resting(struct gt_be *b, uint64_t now)
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
	if (!b->empty || began - b->drained_at > QUICK_NS)
		b->empties = 0;
	b->drained_at = ended;
	if (b->empty && ++b->empties >= EMPTY_DRAINS) {
		b->rest = b->drained_at = ended + REST_NS;
		gt_be_mute(b, true);
	}
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

/* When a clock is set or the machine sleeps, read() fails with ECANCELED. */
static void check_clocks(struct gt_host_state *h)
{
	uint64_t drop;
	ssize_t n = read(h->clockfd, &drop, sizeof(drop));
	GT_HOST_LOCK(h);

	if (n < 0 && errno == ECANCELED)
		gt_clocks_measure(&h->clocks);
}

/* Marks the backend of the event; a descriptor of the host (backend number 0) only wakes. */
static void mark_due(struct gt_host_state *h, const struct epoll_event *ev)
{
	uint64_t index = ev->data.u64 >> 32;
	int fd = (int)(uint32_t)ev->data.u64;
	uint64_t drop;

	if (!index && fd == h->clockfd) {
		check_clocks(h);
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

		if (!b->started || is_frozen(b) || is_resting(b, now))
			continue;
		if (b->timer && b->timer <= now) {
			b->timer = 0;
			b->due = true;
		}
		if (b->due)
			drain(b);
	}
}

/* Sets the timer to the first thing that is due, unless it is set to that already. */
static void arm(struct gt_host_state *h, uint64_t order_due)
{
	uint64_t first = order_due;
	struct itimerspec it;

	for (unsigned int i = 0; i < h->n; i++) {
		uint64_t due = h->be[i]->rest ? h->be[i]->rest : h->be[i]->timer;

		if (due && !is_frozen(h->be[i]) && (!first || due < first))
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
 * Has no backend anything left? That is if its last drain found nothing, or no timer asks for
 * another one. The caller knows that no descriptor does.
 */
static bool is_quiet(const struct gt_host_state *h)
{
	for (unsigned int i = 0; i < h->n; i++) {
		const struct gt_be *b = h->be[i];

		if (is_frozen(b))
			continue;
		if ((b->info.state == GT_BS_RUNNING ||
		     (b->info.state == GT_BS_PAUSED && b->p.recording)) && /* it seeks */
		    b->timer &&
		    !(b->drained && b->empty))
			return false;
	}
	return !gt_order_pending(h->order);
}

/* Sleeps until there is something; before that it answers gt_host_drained(). */
static int wait_events(struct gt_host_state *h, struct epoll_event *ev)
{
	bool waiters;
	int n;

	{
		GT_HOST_LOCK(h);
		waiters = h->waiters;
	}
	if (waiters) {
		n = epoll_wait(h->epfd, ev, BATCH, 0);
		if (n)
			return n;
		if (is_quiet(h)) {
			GT_HOST_LOCK(h);
			h->quiet_seq++;
			pthread_cond_broadcast(&h->cond);
		}
	}
	return epoll_wait(h->epfd, ev, BATCH, -1);
}

static bool all_played(const struct gt_host_state *h)
{
	for (unsigned int i = 0; i < h->n; i++)
		if (h->be[i]->p.recording &&
		    (h->be[i]->info.state == GT_BS_RUNNING || h->be[i]->info.state == GT_BS_PAUSED))
			return false;
	return !gt_order_pending(h->order);
}

/* Merges what came, notifies the sink, and arms the timer. @began: start of the round */
static void finish_round(struct gt_host_state *h, uint64_t began)
{
	uint64_t due = gt_order_run(h->order, began);

	if (atomic_load(&h->playing) && all_played(h)) {
		atomic_store(&h->playing, false);
		h->delivered = true; /* readers are at the end */
	}
	gt_host_observing(h);
	if (h->delivered)
		h->sink.idle(h->sink.arg);
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
