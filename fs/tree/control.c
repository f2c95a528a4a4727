/* SPDX-License-Identifier: GPL-2.0 */
/* The root's `control`: commands for the daemon. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../gpu_names.h"
#include "tree.h"

uint64_t gt_gen_control(const struct gt_show *s)
{
	return __atomic_load_n(&s->app->stopped, __ATOMIC_RELAXED);
}

int gt_show_control(struct gt_text *t, const struct gt_show *s)
{
	bool stopped = gt_gen_control(s);

	if (s->app->replay)
		gt_text_str(t, stopped ? "pause\n" : "play\n");
	else
		gt_text_str(t, stopped ? "stop\n" : "start\n");
	return 0;
}

int gt_show_available_control(struct gt_text *t, const struct gt_show *s)
{
	gt_text_str(t, "start stop clear rescan");
	gt_text_str(t, s->app->replay ? " play pause seek\n" : "\n");
	return 0;
}

static int ask(struct gt_app *app, enum gt_control what, int64_t arg, char *err, size_t len)
{
	int ret;

	if (!app->host) {
		snprintf(err, len, "no backend is running");
		return -EOPNOTSUPP;
	}
	ret = gt_host_control(app->host, what, arg, err, len);
	if (!ret)
		*err = '\0';
	return ret;
}

static int set_stopped(struct gt_app *app, bool stop, char *err, size_t len)
{
	int ret = ask(app, stop ? GT_CTL_PAUSE : GT_CTL_RESUME, 0, err, len);

	if (!ret)
		__atomic_store_n(&app->stopped, stop, __ATOMIC_RELAXED);
	if (!ret && !stop)
		app->seeking = 0;
	return ret;
}

static int run(struct gt_app *app, char *err, size_t len)
{
	return set_stopped(app, false, err, len);
}

static int stop(struct gt_app *app, char *err, size_t len)
{
	return set_stopped(app, true, err, len);
}

/* All of it under one lock, which the ingest thread holds while it folds and appends: no reader of
 * a file sees statistics without their records, or the other way round. */
static int clear(struct gt_app *app, char *err, size_t len)
{
	GT_MODEL_LOCK(app->model);

	gt_model_clear(app->model);
	gt_gate_clear(app->gate);
	gt_log_clear(app->log);
	return 0;
}

static int rescan(struct gt_app *app, char *err, size_t len)
{
	int ret = app->naming ? gt_naming_scan(app->naming) : 0;

	if (ret < 0) {
		snprintf(err, len, "rescan: /sys cannot be read: %s", strerror(-ret));
		return ret;
	}
	return ask(app, GT_CTL_RESCAN, 0, err, len);
}

static const struct word {
	const char *name;
	bool replay; /* only there */
	int (*fn)(struct gt_app *app, char *err, size_t len);
} words[] = {
	{ "start", false, run },     { "stop", false, stop }, { "clear", false, clear },
	{ "rescan", false, rescan }, { "play", true, run },   { "pause", true, stop },
};

static int bad_seek(const char *at, int ret, char *err, size_t len)
{
	gt_parse_at = at;
	snprintf(err, len,
		 ret == -ERANGE ? "seek: that is further than a clock goes"
				: "seek takes [+-]N[.N] and s, ms, us or ns: seek +5s");
	return ret;
}

/* [+-]N[.N][s|ms|us|ns] as ns; bare numbers are seconds */
static int parse_span(const char *s, int64_t *out, char *err, size_t len)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = { { "", 1000000000 },
		      { "s", 1000000000 },
		      { "ms", 1000000 },
		      { "us", 1000 },
		      { "ns", 1 } };
	bool back = *s == '-';
	const char *p = s + (*s == '-' || *s == '+'), *first = p;
	int64_t v = 0, part = 0, whole = 1;
	bool over = false;

	for (; *p >= '0' && *p <= '9'; p++)
		over |= __builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, *p - '0', &v);
	if (p == first)
		return bad_seek(p, -EINVAL, err, len);
	if (*p == '.' && p[1] >= '0' && p[1] <= '9')
		for (p++; *p >= '0' && *p <= '9'; p++)
			if (whole <
			    1000000000) { /* what is behind the ninth place is less than 1 ns */
				part = part * 10 + (*p - '0');
				whole *= 10;
			}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(p, units[i].name))
			continue;
		if (over || __builtin_mul_overflow(v, units[i].ns, &v) ||
		    __builtin_add_overflow(v, part * units[i].ns / whole, &v))
			return bad_seek(first, -ERANGE, err, len);
		*out = back ? -v : v;
		return 0;
	}
	return bad_seek(p, -EINVAL, err, len);
}

static int need_replay(struct gt_app *app, const char *word, char *err, size_t len)
{
	if (app->replay)
		return 0;
	snprintf(err, len, "%s: only where a recording is played (mount with -o replay=FILE)",
		 word);
	return -EOPNOTSUPP;
}

/* A seek was refused, before which it was stopped, or not. What can only be played whole plays now */
static void stop_as_before(struct gt_app *app, bool stopped)
{
	bool plays = gt_host_replaying(app->host);
	char err[256];

	if (!stopped && plays)
		gt_host_control(app->host, GT_CTL_RESUME, 0, err, sizeof(err));
	__atomic_store_n(&app->stopped, stopped && !plays, __ATOMIC_RELAXED);
}

#define SEEK_MS 1000 /* so long it is waited for: then it goes on by itself */

/* Where it plays, or will once the seek that is under way has ended */
static uint64_t place(struct gt_app *app)
{
	if (app->seeking && gt_host_drained(app->host, SEEK_MS))
		app->seeking = 0;
	return app->seeking ? app->seeking - 1 : gt_model_now(app->model);
}

/*
 * To a time as `trace` has it; with a sign, from where it plays. As fast as a recording is read there is no
 * place to look at but where it is paused.
 */
static int seek(struct gt_app *app, const char *span, char *err, size_t len)
{
	bool stopped = __atomic_load_n(&app->stopped, __ATOMIC_RELAXED);
	int64_t ns, now;
	int ret = need_replay(app, "seek", err, len);

	span += strspn(span, " \t");
	if (!ret)
		ret = parse_span(span, &ns, err, len);
	if (ret)
		return ret;
	if (!app->paced)
		set_stopped(app, true, err, len);
	if (*span == '+' || *span == '-') {
		now = (int64_t)place(app);
		if (now >= 0 && __builtin_add_overflow(ns, now, &ns))
			ns = INT64_MAX;
	}
	ns = ns > 0 ? ns : 0;
	ret = ask(app, GT_CTL_SEEK, ns, err, len);
	if (!ret)
		app->seeking = gt_host_drained(app->host, SEEK_MS) ? 0 : (uint64_t)ns + 1;
	else if (!app->paced && app->host)
		stop_as_before(app, stopped);
	return ret;
}

int gt_store_control(const struct gt_show *s, const char *value, char *err, size_t len)
{
	const struct word *w;
	int ret;

	if (!strcmp(value, "seek") || !strncmp(value, "seek ", 5) || !strncmp(value, "seek\t", 5))
		return seek(s->app, value + 4, err, len);
	for (w = words; w < words + sizeof(words) / sizeof(words[0]); w++) {
		if (strcmp(value, w->name))
			continue;
		ret = w->replay ? need_replay(s->app, w->name, err, len) : 0;
		return ret ? ret : w->fn(s->app, err, len);
	}
	gt_parse_at = value;
	snprintf(err, len, "control takes start, stop, clear or rescan%s",
		 s->app->replay ? ", play, pause or seek [+-]N[.N][s|ms|us|ns]" : "");
	return -EINVAL;
}
