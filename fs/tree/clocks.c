/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The root's `clocks`. A plugin tells of its own clock in its doctor() lines: `clock NAME`,
 * `clock_offset_ns N` (to be added to it to have CLOCK_MONOTONIC), `clock_uncertainty_ns N`,
 * `clock_measured TEXT`; what it does not tell is not known. This machine's clocks are measured by
 * the host: at the start, and again when one was set or the machine slept.
 */
#include <string.h>

#include "../../backend/clock.h"
#include "about.h"
#include "lines.h"

static void show_row(struct gt_text *t, const char *name, enum gt_clock_id id, int64_t offset,
		     uint64_t uncertainty)
{
	gt_text_printf(t, "%s %s %lld %llu between two readings of CLOCK_MONOTONIC", name,
		       gt_clock_name(id), (long long)offset, (unsigned long long)uncertainty);
}

/* The offset now, since when, and the ones before: a machine slept or the clock was set */
static void show_steps(struct gt_text *t, const char *name, enum gt_clock_id id,
		       const struct gt_clock_steps *s)
{
	for (unsigned int i = s->n; i-- > 0;) {
		const struct gt_clock_piece *p = &s->piece[i];

		show_row(t, name, id, p->offset, p->uncertainty);
		if (p->since) {
			gt_text_str(t, ", since ");
			gt_time(t, p->since);
		}
		if (i + 1 < s->n) {
			gt_text_str(t, p->since ? " and until " : ", until ");
			gt_time(t, p[1].since);
		}
		gt_text_ch(t, '\n');
	}
}

static void show_machine(struct gt_text *t, struct gt_host_state *h)
{
	struct gt_clocks c;
	uint64_t uncertainty;
	int64_t offset;

	if (h)
		gt_host_clocks(h, &c);
	else
		gt_clocks_init(&c, NULL, NULL);
	show_steps(t, "boottime", GT_CLOCK_ID_BOOTTIME, &c.boottime);
	show_steps(t, "realtime", GT_CLOCK_ID_REALTIME, &c.realtime);
	offset = gt_clocks_offset(&c, GT_CLOCK_ID_MONOTONIC_RAW, &uncertainty);
	show_row(t, "monotonic_raw", GT_CLOCK_ID_MONOTONIC_RAW, offset, uncertainty);
	gt_text_str(t, ", has a rate of its own\n");
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
		show_machine(t, h);
	}
	for (unsigned int i = 0; i < n; i++)
		show_backend(t, h, i);
	return 0;
}
