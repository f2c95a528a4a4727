/* SPDX-License-Identifier: GPL-2.0 */
/* What doctor and backends/bpf/stats say. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

void gb_line(struct gb_text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->p, t->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->left) {
		/* A line that does not fit is left out whole. */
		*t->p = '\0';
		return;
	}
	t->p += n;
	t->left -= (size_t)n;
}

static void part(struct gb_text *t, struct gb *b, unsigned int i)
{
	const char *name = gb_part(i)->name;
	struct gt_bpf_count c;

	gb_line(t, "%s %s%s\n", name, b->state[i] ? "unavailable: " : "running", b->why[i]);
	if (b->state[i] || !gb_ring_counts(b, i, &c))
		return;
	gb_line(t, "%s_events %" PRIu64 "\n", name, c.seen);
	gb_line(t, "%s_other %" PRIu64 "\n", name, c.other);
	gb_line(t, "%s_records %" PRIu64 "\n", name, c.sent);
	gb_line(t, "%s_lost %" PRIu64 "\n", name, c.lost);
	if (gb_part(i)->doctor)
		gb_part(i)->doctor(b, t);
}

void gb_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	struct gb_text t = { buf, len };
	struct gb *b = p->priv;

	if (!b)
		return;
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++)
		part(&t, b, i);
	gb_line(&t, "buffer_total %zu\n", b->ring.size);
	gb_line(&t, "ring_drains %" PRIu64 "\n", b->ring.drains);
	gb_line(&t, "ring_drains_full %" PRIu64 "\n", b->ring.full);
	gb_line(&t, "left_out %" PRIu64 "\n", b->ring.left_out);
}
