/* SPDX-License-Identifier: GPL-2.0 */
/* What the backend tells of itself: counters, and a table of the logs that it follows. */
#include <stdio.h>
#include <string.h>

#include "../detail.h"
#include "internal.h"

static void sum(const struct gt_amd *a, struct gt_amd_counts *to)
{
	uint64_t *t = (uint64_t *)to;

	*to = a->gone;
	for (unsigned int f = 0; f < a->n; f++)
		for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
			t[i] += ((const uint64_t *)&a->file[f]->log.n)[i];
}

void gt_amd_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	const struct gt_amd *a = p->priv;
	struct gt_details t = { buf, len };
	struct gt_amd_counts n;
	size_t clock;

	if (!len)
		return;
	*buf = '\0';
	if (!a)
		return;
	sum(a, &n);
	clock = p->host->clock_lines(p, GT_CLOCK_ID_MONOTONIC, buf, len);
	t.p += clock;
	t.left -= clock;
#define LINE(key, v) gt_detail(&t, key " %llu\n", (unsigned long long)(v))
	LINE("logs", a->n);
	LINE("logs_closed", a->closed);
	LINE("logs_refused", a->refused);
	LINE("logs_over_share", a->over);
	LINE("folders", a->nfolders);
	LINE("folders_cut", a->left_out);
	LINE("lines", n.lines);
	LINE("lines_foreign", n.foreign);
	LINE("lines_other", n.other);
	LINE("lines_damaged", n.damaged);
	LINE("lines_too_long", n.too_long);
	LINE("lines_cut", n.cut);
	LINE("queues", n.queues);
	LINE("queues_refused", n.refused);
	LINE("dispatches", n.dispatches);
	LINE("barriers", n.barriers);
	LINE("completions", n.completions);
	LINE("commands", n.commands);
	LINE("copies", n.copies);
	LINE("events_before_the_start", n.older);
	LINE("pids_of_others", a->forged);
}

/* A name as anybody may have given it: no byte of it makes a line or a column. */
static void word(struct gt_details *t, const char *s)
{
	for (; *s; s++)
		if (*s > ' ' && *s < 0x7f && *s != '\\')
			gt_detail(t, "%c", *s);
		else
			gt_detail(t, "\\%03o", (unsigned char)*s);
}

/* The last ones that were left out, and why */
static void faults(struct gt_details *t, const struct gt_amd *a)
{
	uint64_t n = a->faults < GT_AMD_FAULTS ? a->faults : GT_AMD_FAULTS;

	for (uint64_t i = a->faults - n; i < a->faults; i++) {
		gt_detail(t, "# left_out ");
		word(t, a->fault[i % GT_AMD_FAULTS]);
		gt_detail(t, "\n");
	}
}

static const char *state_of(const struct gt_amd_file *f)
{
	return f->gone ? "deleted" : f->eof ? "read" : "reading";
}

void gt_amd_show_files(struct gt_plugin *p, char *buf, size_t len)
{
	const struct gt_amd *a = p->priv;
	struct gt_details t = { buf, len };

	if (!len)
		return;
	*buf = '\0';
	gt_detail(&t, "# log state uid pid bytes lines foreign damaged records truncated\n");
	for (unsigned int i = 0; a && i < a->n; i++) {
		const struct gt_amd_file *f = a->file[i];
		const struct gt_amd_counts *n = &f->log.n;
		char pid[12] = "-";

		if (f->log.pid)
			snprintf(pid, sizeof(pid), "%u", f->log.pid);
		word(&t, f->path);
		gt_detail(&t, " %s %u %s %llu %llu %llu %llu %llu %llu\n", state_of(f), f->log.uid,
			  pid, (unsigned long long)f->off, (unsigned long long)n->lines,
			  (unsigned long long)n->foreign,
			  (unsigned long long)(n->damaged + n->too_long),
			  (unsigned long long)n->records, (unsigned long long)f->truncated);
	}
	if (a)
		faults(&t, a);
}
