/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a backend: selected, probed, started, stopped, quarantined. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "internal.h"

/* Can it work here? */
static void probe(struct gt_be *b)
{
	int ret;

	gt_be_clear_error(b);
	gt_be_set_state(b, GT_BS_OFF);
	ret = b->be->probe(&b->p);
	b->usable = ret >= 0;
	if (ret < 0)
		gt_be_fail(b, GT_BS_UNAVAILABLE, "probe", ret);
}

void gt_be_want(struct gt_be *b, bool plays)
{
	b->wanted = true;
	b->p.recording = plays || (b->be && b->be->flags & GT_BACKEND_RECORDING);
}

/* Marks the backends that conf.backends names. */
static int select_named(struct gt_host_state *h, char *err, size_t len)
{
	const char *s = h->conf.backends;

	while (*s) {
		size_t n = strcspn(s, ":");
		bool found = !n; /* an empty name, as in "a:" */

		for (unsigned int i = 0; i < h->n; i++)
			if (strlen(h->be[i]->info.name) == n &&
			    !memcmp(h->be[i]->info.name, s, n)) {
				gt_be_want(h->be[i], false);
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

static void select_default(struct gt_host_state *h)
{
	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (!b->be || (b->be->flags & (GT_BACKEND_DEMAND | GT_BACKEND_SIMULATED)))
			continue;
		gt_be_want(b, false);
		probe(b);
	}
}

static bool is_replay(const struct gt_host_state *h)
{
	return h->conf.replay && *h->conf.replay;
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

	if (is_replay(h)) {
		probe_wanted(h);
		return 0;
	}
	if (!h->conf.backends || !*h->conf.backends) {
		select_default(h);
		return 0;
	}
	ret = select_named(h, err, len);
	if (!ret)
		probe_wanted(h);
	return ret;
}

/* None for a plugin that was built before these existed */
static uint64_t caps_of(const struct gt_be *b, bool start)
{
	if (!b->be || !GT_HAS(b->be, start_caps))
		return 0;
	return start ? b->be->start_caps : b->be->caps;
}

int gt_be_ask(struct gt_be *b, enum gt_control what, int64_t arg)
{
	bool rescans = what == GT_CTL_RESCAN || what == GT_CTL_LEVEL || what == GT_CTL_RESUME;
	uint64_t caps;
	int ret;

	if (!b->be->control || b->info.state == GT_BS_ENDED)
		return -EOPNOTSUPP;
	gt_be_clear_error(b);
	if (what == GT_CTL_SEEK && b->p.recording)
		gt_order_rewind(b->h->order, b->index);
	caps = b->h->conf.raise && rescans ? b->h->conf.raise(caps_of(b, true)) : 0;
	ret = b->be->control(&b->p, what, arg);
	if (caps)
		b->h->conf.lower(caps);
	if (ret < 0)
		return ret;
	if (what == GT_CTL_PAUSE) {
		gt_be_set_state(b, GT_BS_PAUSED);
		if (!ret)
			gt_be_blind(b);
		if (!b->p.recording) /* a paused recording keeps the others waiting */
			gt_order_end(b->h->order, b->index);
	} else if (what == GT_CTL_RESCAN && arg && !ret) {
		gt_be_blind(b); /* it may have missed events meanwhile */
	} else if (what == GT_CTL_RESUME && b->info.state == GT_BS_PAUSED) {
		gt_be_set_state(b, GT_BS_RUNNING);
		if (!b->p.recording)
			gt_order_begin(b->h->order, b->index, false);
	}
	b->drained = b->empty = false;
	return 0;
}

/* Does it run and refresh sensors on demand? */
static void set_refreshes(struct gt_be *b, bool on)
{
	if (on == b->refreshes || !GT_HAS(b->be, refresh_sensors) || !b->be->refresh_sensors)
		return;
	b->refreshes = on;
	if (on)
		b->h->refreshers++;
	else
		b->h->refreshers--;
}

/* Drops what the host keeps for a backend that runs */
static void forget(struct gt_be *b)
{
	gt_be_unwatch_all(b);
	b->timer = b->rest = 0;
	b->empties = 0;
	b->due = false;
	set_refreshes(b, false);
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

unsigned int gt_host_detaching(const struct gt_host_state *h)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < h->n; i++) {
		const struct gt_backend *be = h->be[i]->be;

		if (be && GT_HAS(be, detaching) && be->detaching)
			n += be->detaching();
	}
	return n;
}

void gt_host_syscalls(const struct gt_host_state *h, char *buf, size_t len)
{
	size_t used = 0;

	*buf = 0;
	for (unsigned int i = 0; i < h->n && used < len; i++) {
		const struct gt_backend *be = h->be[i]->wanted ? h->be[i]->be : NULL;

		if (be && GT_HAS(be, syscalls) && be->syscalls)
			used += (size_t)snprintf(buf + used, len - used, "%s ", be->syscalls);
	}
}

void gt_host_writes(struct gt_host_state *h, void (*add)(void *arg, const char *path), void *arg)
{
	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (b->wanted && b->be && GT_HAS(b->be, writes) && b->be->writes)
			b->be->writes(&b->p, add, arg);
	}
}

static void start(struct gt_be *b)
{
	struct gt_host_state *h = b->h;
	uint64_t caps;
	int ret;

	gt_be_clear_error(b);
	gt_be_set_state(b, GT_BS_OFF);
	free(b->detail);
	b->detail = NULL;
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
	if (b->p.recording)
		atomic_store(&h->playing, true);
	set_refreshes(b, true);
	gt_be_set_state(b, GT_BS_RUNNING);
	if (!b->has_error) { /* start() may report something though it succeeds */
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
	bool stays = b->be->flags & GT_BACKEND_STAYS; /* it may show more than records */

	if (!stays && b->p.recording && !b->info.records && !b->info.last_error[0])
		gt_host_hooks.error(&b->p, ENODATA, "the recording has nothing that can be shown");
	if (!stays) {
		gt_be_stop(b, GT_BS_ENDED);
		return;
	}
	gt_be_set_state(b, GT_BS_ENDED);
	forget(b);
}

/* Keeps the text of doctor(): users read what a recording held long after its end. */
static void keep_detail(struct gt_be *b)
{
	char *text = b->be->doctor ? calloc(1, GT_BACKEND_DOCTOR_MAX) : NULL;

	if (!text)
		return;
	b->be->doctor(&b->p, text, GT_BACKEND_DOCTOR_MAX);
	text[GT_BACKEND_DOCTOR_MAX - 1] = 0;
	b->detail = strdup(text);
	free(text);
}

void gt_be_stop(struct gt_be *b, enum gt_backend_state s)
{
	if (!b->started)
		return;
	if (b->info.state == GT_BS_ENDED)
		s = GT_BS_ENDED; /* it does not start again */
	if (s != GT_BS_OFF)
		keep_detail(b);
	b->started = false;
	/* The state first: an error that stop() reports must not replace the reason of a quarantine. */
	gt_be_set_state(b, s);
	b->be->stop(&b->p);
	gt_be_blind(b);
	forget(b);
}

/* "a: cannot because …; b: …", of the selected backends */
static void explain_failure(struct gt_host_state *h, char *err, size_t len)
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

/* Was it named in backend=, and can a setting start it later? */
static bool may_begin(const struct gt_host_state *h, const struct gt_be *b)
{
	return h->conf.backends && *h->conf.backends && b->wanted && b->be &&
	       b->be->flags & GT_BACKEND_LATER && !b->p.recording &&
	       b->info.state == GT_BS_UNAVAILABLE;
}

int gt_host_start_all(struct gt_host_state *h, char *err, size_t len)
{
	bool any = false;

	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (h->level && b->usable && b->wanted && b->info.state == GT_BS_OFF)
			start(b);
		any |= h->level ? b->started : b->usable;
		any |= may_begin(h, b);
	}
	if (any || h->conf.may_be_empty) /* a tree without a GPU; doctor shows the reason */
		return 0;
	explain_failure(h, err, len);
	return -ENODEV;
}

/* Asks all running backends. If none can, the sentence is of the first that gave a reason. */
static int ask_all(struct gt_host_state *h, enum gt_control what, int64_t arg, char *err,
		   size_t len)
{
	int result = -EOPNOTSUPP;
	bool any = false;

	snprintf(err, len, "%s", h->level ? "no running backend can do that" : "the level is off");
	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];
		int ret;

		if (!b->started)
			continue;
		ret = gt_be_ask(b, what, arg);
		any |= ret >= 0;
		if (ret >= 0 || result != -EOPNOTSUPP)
			continue;
		if (ret == -EOPNOTSUPP && !(b->be->control && b->has_error))
			continue; /* it does not know this request */
		result = ret;
		snprintf(err, len, "%s: %s", b->info.name,
			 b->has_error ? b->info.last_error : strerror(-ret));
	}
	return any ? 0 : result;
}

static void try_again(struct gt_be *b)
{
	probe(b);
	if (b->usable && b->h->level)
		start(b);
}

/* Tries backends again that could not work here; with @all also those that failed while they ran. */
static int rescan(struct gt_host_state *h, bool all, char *err, size_t len)
{
	int ret = ask_all(h, GT_CTL_RESCAN, all, err, len);

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
}

static void begin_anew(struct gt_be *b)
{
	if (b->started) {
		gt_be_set_state(b, GT_BS_RUNNING);
		gt_be_stop(b, GT_BS_OFF);
	}
	gt_order_flush(b->h->order);
	gt_order_rewind(b->h->order, b->index);
	GT_HOST_LOCK(b->h);
	b->info.state = GT_BS_OFF;
	b->info.records = b->info.lost = b->info.uncounted = b->info.malformed = 0;
	b->info.last_error[0] = 0;
}

/* False: it cannot, and plays on; @err is the reason if it gives one */
static bool seek_one(struct gt_be *b, uint64_t to, char *err, size_t len)
{
	if (!gt_be_ask(b, GT_CTL_SEEK, to > INT64_MAX ? INT64_MAX : (int64_t)to))
		return true;
	if (b->has_error)
		snprintf(err, len, "%s: %s", b->info.name, b->info.last_error);
	if (b->h->paused)
		gt_be_ask(b, GT_CTL_RESUME, 0);
	return false;
}

/*
 * Plays recordings again from their beginning, so that what is shown at a time of a recording does not
 * depend on what was played before.
 */
static int play_again(struct gt_host_state *h, uint64_t to, char *err, size_t len)
{
	bool can = false;
	int ret;

	if (!h->sink.reset || !h->level) {
		snprintf(err, len, "%s",
			 h->level ? "it cannot be played again" : "the level is off");
		return -EOPNOTSUPP;
	}
	for (unsigned int i = 0; i < h->n; i++)
		if (h->be[i]->p.recording)
			begin_anew(h->be[i]);
	h->delivered = true; /* readers have reached the end */
	ret = h->sink.reset(h->sink.arg);
	if (ret)
		snprintf(err, len, "%s", strerror(-ret));
	else
		ret = gt_host_start_all(h, err, len);
	if (ret || !to)
		return ret;
	snprintf(err, len, "these recordings can only be played from their beginning to their end");
	for (unsigned int i = 0; i < h->n; i++)
		if (h->be[i]->p.recording && h->be[i]->started)
			can |= seek_one(h->be[i], to, err, len);
	return can ? 0 : -EOPNOTSUPP;
}

/* A recording that has ended stays as it is. */
static void stop_all(struct gt_host_state *h)
{
	for (unsigned int i = 0; i < h->n; i++)
		if (!h->be[i]->p.recording || h->be[i]->info.state != GT_BS_ENDED)
			gt_be_stop(h->be[i], GT_BS_OFF);
}

/* A player starts at its first record: what it delivered before is dropped first. */
static int start_all(struct gt_host_state *h, char *err, size_t len)
{
	bool ended = false;

	if (!is_replay(h))
		return gt_host_start_all(h, err, len);
	for (unsigned int i = 0; i < h->n; i++) {
		if (h->be[i]->p.recording && h->be[i]->info.state == GT_BS_OFF && h->sink.reset)
			return play_again(h, 0, err, len);
		ended |= h->be[i]->p.recording && h->be[i]->info.state == GT_BS_ENDED;
	}
	return ended ? 0 : gt_host_start_all(h, err, len);
}

/* Reports each ring of the set bits of @known: does one that runs report it? */
static void report_rings(const struct gt_sink *s, uint16_t gpu, unsigned int from, uint64_t known,
			 uint64_t on)
{
	for (unsigned int i = 0; i < 64; i++)
		if (known & 1ULL << i)
			s->ring_observing(s->arg, gpu, (uint16_t)(from + i), on & 1ULL << i);
}

static void observing_rings(struct gt_host_state *h)
{
	const struct gt_sink *s = &h->sink;
	uint64_t known, on, work = 0, work_on = 0;

	for (unsigned int i = 0; i < h->n; i++) {
		work |= h->be[i]->work;
		work_on |= h->running & 1ULL << i ? h->be[i]->work : 0;
	}
	for (uint16_t gpu = 0; gpu < GT_HOST_GPUS; gpu++) {
		for (unsigned int k = 0; k < GT_HOST_RINGS / 64; k++) {
			known = on = 0;
			for (unsigned int i = 0; i < h->n; i++) {
				known |= h->be[i]->rings[gpu][k];
				on |= h->running & 1ULL << i ? h->be[i]->rings[gpu][k] : 0;
			}
			report_rings(s, gpu, k * 64, known, on);
		}
		if (work & 1ULL << gpu)
			s->ring_observing(s->arg, gpu, GT_NONE16, work_on & 1ULL << gpu);
	}
}

void gt_host_observing(struct gt_host_state *h)
{
	unsigned int what = 0;
	uint64_t running = 0;

	for (unsigned int i = 0; i < h->n; i++) {
		if (h->be[i]->started)
			what |= GT_OBSERVES_USE;
		if (h->be[i]->started && h->be[i]->info.state == GT_BS_RUNNING)
			running |= 1ULL << i;
	}
	what |= running ? GT_OBSERVES_EVENTS : 0;
	if (h->sink.observing && (!h->observing_known || what != h->observing))
		h->sink.observing(h->sink.arg, what);
	h->observing = what;
	h->observing_known = true;
	if (!h->sink.ring_observing || (!h->rings_new && running == h->running))
		return;
	h->running = running;
	if (!running) /* of no ring then, see @observing */
		return;
	h->rings_new = false;
	observing_rings(h);
}

/* Level off: recordings stand still (see is_frozen() of ingest.c), and later go on from there. */
static void freeze_all(struct gt_host_state *h)
{
	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (!b->p.recording)
			gt_be_stop(b, GT_BS_OFF);
		else if (b->started && b->info.state == GT_BS_RUNNING)
			gt_be_ask(b, GT_CTL_PAUSE, 0);
	}
}

static void unfreeze_all(struct gt_host_state *h)
{
	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (!b->p.recording || !b->started)
			continue;
		gt_be_ask(b, GT_CTL_LEVEL, h->level);
		if (b->info.state == GT_BS_PAUSED && !h->paused)
			gt_be_ask(b, GT_CTL_RESUME, 0);
	}
}

static int try_level(struct gt_host_state *h, int level, char *err, size_t len)
{
	int old = h->level, ret;

	h->level = level;
	/* records that wait in the merge go out before the caller's gate closes */
	if (!level && is_replay(h)) {
		freeze_all(h);
		gt_order_run(h->order, gt_host_now());
	} else if (!level) {
		stop_all(h);
		gt_order_flush(h->order);
	}
	if (!level || level == old)
		return 0;
	if (!old && is_replay(h))
		unfreeze_all(h);
	ret = old ? ask_all(h, GT_CTL_LEVEL, level, err, len) : start_all(h, err, len);
	if (old && ret == -EOPNOTSUPP)
		return 0; /* then the gate alone applies it */
	if (ret)
		h->level = old;
	return ret;
}

static int set_level(struct gt_host_state *h, int level, char *err, size_t len)
{
	int ret = try_level(h, level, err, len);

	if (h->sink.level)
		h->sink.level(h->sink.arg, h->level);
	return ret;
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
		if (is_replay(h) && !h->level) {
			snprintf(err, len, "the level is off");
			return -EOPNOTSUPP;
		}
		if (is_replay(h) && h->level && !atomic_load(&h->playing)) {
			h->paused = what == GT_CTL_PAUSE;
			return h->paused ? 0 : play_again(h, 0, err, len);
		}
		ret = ask_all(h, what, arg, err, len);
		if (!ret)
			h->paused = what == GT_CTL_PAUSE;
		return ret;
	case GT_CTL_SEEK:
		if (!is_replay(h))
			return ask_all(h, what, arg, err, len);
		return play_again(h, arg > 0 ? (uint64_t)arg : 0, err, len);
	case GT_CTL_USERDIR: /* of one backend: userdir.c */
		break;
	}
	snprintf(err, len, "no such request");
	return -EINVAL;
}
