/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a backend: who is asked for, probed, started, stopped, quarantined. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "host_internal.h"

/* Can it work here, and has it a GPU to show? */
static bool probe(struct gt_be *b)
{
	int ret;

	gt_be_clear_error(b);
	gt_be_set_state(b, GT_BS_OFF);
	ret = b->be->probe(&b->p);
	b->usable = ret >= 0;
	if (ret < 0)
		gt_be_fail(b, GT_BS_UNAVAILABLE, "probe", ret);
	return ret == 0;
}

/* Marks what conf.backends names. */
static int select_named(struct gt_host_state *h, char *err, size_t len)
{
	const char *s = h->conf.backends;

	while (*s) {
		size_t n = strcspn(s, ":");
		bool found = !n; /* an empty name, as in "a:" */

		for (unsigned int i = 0; i < h->n; i++)
			if (strlen(h->be[i]->info.name) == n &&
			    !memcmp(h->be[i]->info.name, s, n)) {
				h->be[i]->wanted = true;
				found = true;
			}
		if (!found) {
			snprintf(err, len, "no backend '%.*s' in %s", (int)(n < 64 ? n : 64), s,
				 h->conf.plugin_dir);
			return -ENOENT;
		}
		s += n + (s[n] == ':');
	}
	return 0;
}

static bool select_default(struct gt_host_state *h, uint32_t with, uint32_t without)
{
	bool any = false;

	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (!b->be || (b->be->flags & without) || (b->be->flags & with) != with)
			continue;
		b->wanted = true;
		any |= probe(b);
	}
	return any;
}

static void probe_wanted(struct gt_host_state *h)
{
	for (unsigned int i = 0; i < h->n; i++)
		if (h->be[i]->wanted && h->be[i]->be)
			probe(h->be[i]);
}

int gt_host_select(struct gt_host_state *h, char *err, size_t len)
{
	int ret = 0;

	if (h->conf.replay && *h->conf.replay) {
		probe_wanted(h);
		return 0;
	}
	if (!h->conf.backends || !*h->conf.backends) {
		bool any = select_default(h, 0, GT_BACKEND_DEMAND | GT_BACKEND_FALLBACK);

		if (!any && !h->conf.has_gpu)
			select_default(h, GT_BACKEND_FALLBACK, GT_BACKEND_DEMAND);
		return 0;
	}
	ret = select_named(h, err, len);
	if (!ret)
		probe_wanted(h);
	return ret;
}

/* A plugin that was built before these were there needs none. */
static uint64_t caps_of(const struct gt_be *b, bool start)
{
	if (!b->be || b->be->size < offsetof(struct gt_backend, start_caps) + sizeof(uint64_t))
		return 0;
	return start ? b->be->start_caps : b->be->caps;
}

int gt_be_ask(struct gt_be *b, enum gt_control what, int64_t arg)
{
	bool looks = what == GT_CTL_RESCAN || what == GT_CTL_LEVEL || what == GT_CTL_RESUME;
	uint64_t caps;
	int ret;

	if (!b->be->control || b->info.state == GT_BS_ENDED)
		return -EOPNOTSUPP;
	gt_be_clear_error(b);
	if (what == GT_CTL_SEEK && b->p.recording)
		gt_order_rewind(b->h->order, b->index);
	caps = b->h->conf.raise && looks ? b->h->conf.raise(caps_of(b, true)) : 0;
	ret = b->be->control(&b->p, what, arg);
	if (caps)
		b->h->conf.lower(caps);
	if (ret < 0)
		return ret;
	if (what == GT_CTL_PAUSE) {
		gt_be_set_state(b, GT_BS_PAUSED);
		gt_order_end(b->h->order, b->index);
	} else if (what == GT_CTL_RESUME && b->info.state == GT_BS_PAUSED) {
		gt_be_set_state(b, GT_BS_RUNNING);
		gt_order_begin(b->h->order, b->index, b->p.recording);
	}
	b->drained = b->empty = false;
	return 0;
}

static void forget(struct gt_be *b)
{
	gt_be_unwatch_all(b);
	b->timer = b->rest = 0;
	b->empties = 0;
	b->due = false;
	gt_be_counting(b, false);
	gt_be_looks(b, false);
	gt_order_end(b->h->order, b->index);
	gt_claim_drop(b);
}

uint64_t gt_host_caps(const struct gt_host_state *h, bool start)
{
	uint64_t caps = 0;

	for (unsigned int i = 0; i < h->n; i++)
		if (h->be[i]->wanted)
			caps |= caps_of(h->be[i], start);
	return caps;
}

void gt_host_syscalls(const struct gt_host_state *h, char *buf, size_t len)
{
	size_t used = 0;

	*buf = 0;
	for (unsigned int i = 0; i < h->n && used < len; i++) {
		const struct gt_backend *be = h->be[i]->wanted ? h->be[i]->be : NULL;

		if (be && be->size >= offsetof(struct gt_backend, syscalls) + sizeof(char *) &&
		    be->syscalls)
			used += (size_t)snprintf(buf + used, len - used, "%s ", be->syscalls);
	}
}

static void start(struct gt_be *b)
{
	struct gt_host_state *h = b->h;
	uint64_t caps;
	int ret;

	gt_be_clear_error(b);
	gt_be_set_state(b, GT_BS_OFF);
	b->drained = b->empty = false;
	gt_order_begin(h->order, b->index, b->p.recording);
	caps = h->conf.raise ? h->conf.raise(caps_of(b, true)) : 0;
	ret = b->be->start(&b->p);
	if (h->conf.lower)
		h->conf.lower(caps);
	if (ret < 0) {
		forget(b);
		gt_be_fail(b, GT_BS_QUARANTINED, "start", ret);
		return;
	}
	b->started = true;
	gt_be_looks(b, true);
	gt_be_set_state(b, GT_BS_RUNNING);
	if (!b->told) { /* a plugin that runs may have something to say all the same */
		GT_HOST_LOCK(h);
		b->info.last_error[0] = 0;
	}
	gt_host_log(h, b, LOG_INFO, "running");
	if (h->level != 2)
		gt_be_ask(b, GT_CTL_LEVEL, h->level);
	if (h->paused)
		gt_be_ask(b, GT_CTL_PAUSE, 0);
}

void gt_be_end(struct gt_be *b)
{
	if (!(b->be->flags & GT_BACKEND_STAYS)) {
		gt_be_stop(b, GT_BS_ENDED);
		return;
	}
	gt_be_set_state(b, GT_BS_ENDED);
	forget(b);
}

void gt_be_stop(struct gt_be *b, enum gt_backend_state s)
{
	if (!b->started)
		return;
	if (b->info.state == GT_BS_ENDED)
		s = GT_BS_ENDED; /* it is not begun again */
	b->started = false;
	/* The state goes first: what a quarantined plugin complains of in stop() does not hide why.
	 */
	gt_be_set_state(b, s);
	b->be->stop(&b->p);
	forget(b);
}

/* "a: cannot because …; b: …" of what was asked for */
static void tell_why(struct gt_host_state *h, char *err, size_t len)
{
	size_t n = 0;

	for (unsigned int i = 0; i < h->n && n < len; i++) {
		const struct gt_be *b = h->be[i];

		if ((b->wanted || !b->be) && b->info.last_error[0])
			n += (size_t)snprintf(err + n, len - n, "%s%s: %s", n ? "; " : "",
					      b->info.name, b->info.last_error);
	}
	if (!n)
		snprintf(err, len, "no backend for this machine in %s", h->conf.plugin_dir);
}

int gt_host_start_all(struct gt_host_state *h, char *err, size_t len)
{
	bool any = false;

	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (h->level && b->usable && b->wanted && b->info.state == GT_BS_OFF)
			start(b);
		any |= h->level ? b->started : b->usable;
	}
	if (any)
		return 0;
	tell_why(h, err, len);
	return -ENODEV;
}

/* Asks everyone who runs. The first who refuses for a reason gives the sentence if nobody could. */
static int ask_all(struct gt_host_state *h, enum gt_control what, int64_t arg, char *err,
		   size_t len)
{
	int result = -EOPNOTSUPP;
	bool any = false;

	snprintf(err, len, "no running backend can do that");
	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];
		int ret;

		if (!gt_be_live(b))
			continue;
		ret = gt_be_ask(b, what, arg);
		any |= ret == 0;
		if (ret == 0 || result != -EOPNOTSUPP)
			continue;
		if (ret == -EOPNOTSUPP && !(b->be->control && b->told))
			continue; /* it has nothing to say to this */
		result = ret;
		snprintf(err, len, "%s: %s", b->info.name,
			 b->told ? b->info.last_error : strerror(-ret));
	}
	return any ? 0 : result;
}

static int set_level(struct gt_host_state *h, int level, char *err, size_t len)
{
	int old = h->level, ret;

	h->level = level;
	if (!level)
		for (unsigned int i = 0; i < h->n; i++)
			gt_be_stop(h->be[i], GT_BS_OFF);
	if (!level || level == old)
		return 0;
	if (!old)
		return gt_host_start_all(h, err, len);
	ret = ask_all(h, GT_CTL_LEVEL, level, err, len);
	return ret == -EOPNOTSUPP ? 0 : ret; /* then the gate alone does it */
}

static void try_again(struct gt_be *b)
{
	probe(b);
	if (b->usable && b->h->level)
		start(b);
}

/* What cannot work may be able to now; what failed while it ran is tried only where @all is asked
 * for. */
static int rescan(struct gt_host_state *h, bool all, char *err, size_t len)
{
	int ret = ask_all(h, GT_CTL_RESCAN, 0, err, len);

	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (!b->wanted || !b->be ||
		    (b->info.state != GT_BS_UNAVAILABLE &&
		     !(all && b->info.state == GT_BS_QUARANTINED)))
			continue;
		try_again(b);
	}
	return ret == -EOPNOTSUPP ? 0 : ret;
}

void gt_be_retry(struct gt_be *b)
{
	if (b->wanted && b->info.state == GT_BS_UNAVAILABLE)
		try_again(b);
}

void gt_host_do_rescan(struct gt_host_state *h)
{
	char err[GT_HOST_DOCTOR_LEN];

	if (atomic_exchange(&h->rescan, false))
		rescan(h, false, err, sizeof(err));
	if (atomic_exchange(&h->wanted, false))
		ask_all(h, GT_CTL_WANTED, 0, err, sizeof(err));
}

int gt_host_do_control(struct gt_host_state *h, enum gt_control what, int64_t arg, char *err,
		       size_t len)
{
	int ret;

	switch (what) {
	case GT_CTL_LEVEL:
		if (arg >= 0 && arg <= 3)
			return set_level(h, (int)arg, err, len);
		snprintf(err, len, "level is 0 to 3");
		return -ERANGE;
	case GT_CTL_RESCAN:
		return rescan(h, true, err, len);
	case GT_CTL_PAUSE:
	case GT_CTL_RESUME:
		ret = ask_all(h, what, arg, err, len);
		if (!ret)
			h->paused = what == GT_CTL_PAUSE;
		return ret;
	case GT_CTL_SEEK:
		return ask_all(h, what, arg, err, len);
	case GT_CTL_MADE: /* of one backend: made.c */
		break;
	case GT_CTL_WANTED:
		ret = ask_all(h, what, arg, err, len);
		return ret == -EOPNOTSUPP ? 0 : ret; /* then the gate alone does it */
	}
	snprintf(err, len, "no such request");
	return -EINVAL;
}
