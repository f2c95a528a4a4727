/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The root's `clocks`. A plugin tells of its own clock in its doctor() lines: `clock NAME`,
 * `clock_offset_ns N` (to be added to it to have CLOCK_MONOTONIC), `clock_uncertainty_ns N`,
 * `clock_measured TEXT`; what it does not tell is not known.
 */
#include <string.h>
#include <time.h>

#include "about.h"

static int64_t now_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The tightest of some tries: @id between two readings of CLOCK_MONOTONIC */
static void show_system(struct gt_text *t, const char *name, const char *clock, clockid_t id)
{
	int64_t best = INT64_MAX, offset = 0, before, at, after;

	for (int i = 0; i < 5; i++) {
		before = now_ns(CLOCK_MONOTONIC);
		at = now_ns(id);
		after = now_ns(CLOCK_MONOTONIC);
		if (after - before < best) {
			best = after - before;
			offset = before + best / 2 - at;
		}
	}
	gt_text_printf(t, "%s %s %lld %lld between two readings of CLOCK_MONOTONIC\n", name, clock,
		       (long long)offset, (long long)(best + 1) / 2);
}

/* Value of line "@key value" in @text, up to its end; "-" if there is none */
static void show_value(struct gt_text *t, const char *text, const char *key, bool one_word)
{
	size_t n = strlen(key), len;
	const char *p = text;

	while (p && (strncmp(p, key, n) || p[n] != ' ')) {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	if (!p) {
		gt_text_dash(t);
		return;
	}
	p += n + 1;
	len = strcspn(p, "\n");
	if (one_word)
		gt_text_word(t, p, len);
	else
		gt_text_mem(t, p, len);
}

static void show_backend(struct gt_text *t, struct gt_host_state *h, unsigned int i)
{
	struct gt_backend_info info;
	char text[4096] = "";

	if (!gt_host_info(h, i, &info) || info.state == GT_BS_OFF || info.state == GT_BS_REFUSED ||
	    info.state == GT_BS_UNAVAILABLE || gt_host_doctor(h, i, text, sizeof(text)))
		return;
	gt_text_word(t, info.name, sizeof(info.name));
	gt_text_ch(t, ' ');
	show_value(t, text, "clock", true);
	gt_text_ch(t, ' ');
	if (info.clock_offset)
		gt_text_i64(t, info.clock_offset);
	else
		show_value(t, text, "clock_offset_ns", true);
	gt_text_ch(t, ' ');
	show_value(t, text, "clock_uncertainty_ns", true);
	gt_text_ch(t, ' ');
	if (info.clock_offset)
		gt_text_str(t, "set by hand");
	else
		show_value(t, text, "clock_measured", false);
	gt_text_ch(t, '\n');
}

int gt_show_clocks(struct gt_text *t, const struct gt_show *s)
{
	struct gt_host_state *h = s->app->host;
	unsigned int n = h ? gt_host_count(h) : 0;

	gt_text_str(t, "# source clock offset_to_monotonic_ns uncertainty_ns measured\n");
	if (s->app->replay) {
		gt_text_str(t, "records recording 0 0 times stay those of the recording\n");
	} else {
		gt_text_str(t, "records CLOCK_MONOTONIC 0 0 by definition\n");
		show_system(t, "boottime", "CLOCK_BOOTTIME", CLOCK_BOOTTIME);
		show_system(t, "realtime", "CLOCK_REALTIME", CLOCK_REALTIME);
	}
	for (unsigned int i = 0; i < n; i++)
		show_backend(t, h, i);
	return 0;
}
