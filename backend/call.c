/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests from other threads. Hooks are called from the ingest thread only, so whoever wants one
 * called leaves a request and waits. A plugin that hangs must not hang the readers of the tree too:
 * the wait is bounded, and the request then belongs to the ingest thread alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "host_internal.h"

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

	if (!gt_be_live(b) || !b->be->doctor)
		return;
	b->be->doctor(&b->p, c->text, sizeof(c->text));
	c->text[sizeof(c->text) - 1] = 0;
}

static void show_file(struct gt_host_state *h, struct gt_call *c)
{
	struct gt_be *b = h->be[c->index];

	if (!gt_be_live(b))
		return;
	b->info.files[c->file].show(&b->p, c->big, GT_BACKEND_TEXT_MAX);
	c->big[GT_BACKEND_TEXT_MAX - 1] = 0;
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
	case GT_CALL_FOLD:
		gt_host_do_fold(h);
		break;
	case GT_CALL_LOOK:
		gt_host_do_look(h, (unsigned int)c->arg);
		break;
	case GT_CALL_MAKE:
	case GT_CALL_UNMAKE:
	case GT_CALL_MADE_SET:
	case GT_CALL_MADE_SHOW:
		gt_made_perform(h, c);
		break;
	case GT_CALL_START:
		c->ret = gt_host_start_all(h, c->text, sizeof(c->text));
		break;
	}
}

static struct gt_call *take(struct gt_host_state *h)
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

	while ((c = take(h))) {
		perform(h, c);
		{
			GT_HOST_LOCK(h);
			c->done = true;
			pthread_cond_broadcast(&h->cond);
		}
		gt_call_put(h, c);
	}
}

static void leave(struct gt_host_state *h, struct gt_call *c)
{
	struct gt_call **at = &h->calls;
	GT_HOST_LOCK(h);

	while (*at)
		at = &(*at)->next;
	c->refs++;
	c->next = NULL;
	*at = c;
}

/* It was waited for in vain: what has not begun is not done any more, as who asked is told so. What
 * only brings up to date what is shown is, for whoever asks next. With the lock held */
static void withdraw(struct gt_host_state *h, struct gt_call *c)
{
	struct gt_call **at = &h->calls;

	if (c->begun || c->kind == GT_CALL_FOLD || c->kind == GT_CALL_LOOK)
		return;
	while (*at && *at != c)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = c->next;
	c->refs--;
}

static struct timespec deadline(int ms)
{
	uint64_t t = gt_host_now() + (uint64_t)ms * 1000000;

	return (struct timespec){ .tv_sec = (time_t)(t / 1000000000),
				  .tv_nsec = (long)(t % 1000000000) };
}

static bool wait_done(struct gt_host_state *h, struct gt_call *c, int ms)
{
	struct timespec until = deadline(ms < 0 ? 0 : ms);
	GT_HOST_LOCK(h);

	while (!c->done)
		if (ms < 0)
			pthread_cond_wait(&h->cond, &h->lock);
		else if (pthread_cond_timedwait(&h->cond, &h->lock, &until) == ETIMEDOUT)
			break;
	if (ms < 0 || ms >= GT_HOST_CALL_MS) /* others are not waited for until it is sure */
		h->stuck = !c->done;
	if (!c->done)
		withdraw(h, c);
	return c->done;
}

void gt_call_late(struct gt_host_state *h, const struct gt_call *c, char *out, size_t len)
{
	GT_HOST_LOCK(h);

	snprintf(out, len, "a backend has not answered for %d s%s", GT_HOST_CALL_MS / 1000,
		 c->begun ? ": what was asked for may be done yet" : "");
}

/* Who waited once in vain shall not do so for each line of doctor: all readers wait too. */
static bool is_stuck(struct gt_host_state *h)
{
	GT_HOST_LOCK(h);

	return h->stuck;
}

void gt_host_wake(struct gt_host_state *h)
{
	const uint64_t one = 1;

	/* EAGAIN: 2^64 - 2 wake-ups wait already, which is enough. */
	if (write(h->eventfd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		gt_host_log(h, NULL, LOG_ERR, "eventfd: %s", strerror(errno));
}

int gt_call_run(struct gt_host_state *h, struct gt_call *c, int ms)
{
	if (!h->threaded || pthread_equal(pthread_self(), h->thread)) {
		perform(h, c);
		return c->ret;
	}
	if (ms >= 0 && is_stuck(h))
		return -ETIMEDOUT;
	leave(h, c);
	gt_host_wake(h);
	return wait_done(h, c, ms) ? c->ret : -ETIMEDOUT;
}
