/* SPDX-License-Identifier: GPL-2.0 */
/* What doctor and backends/bpf/stats say. */
#include <inttypes.h>
#include <string.h>

#include "internal.h"

bool gb_missed_by(const struct bpf_program *prog, uint64_t *n)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
		return false;
	*n += info.recursion_misses;
	return true;
}

uint64_t gb_missed(const struct bpf_object *o)
{
	struct bpf_program *p;
	uint64_t n = 0;

	bpf_object__for_each_program (p, o)
		if (bpf_program__fd(p) >= 0 && !strstr(bpf_program__name(p), "_again"))
			gb_missed_by(p, &n);
	return n;
}

static void part(struct gt_details *t, struct gb *b, unsigned int i)
{
	const char *name = gb_part(i)->name;
	struct gt_bpf_count c;

	gt_detail(t, "%s %s%s\n", name, b->state[i] ? "unavailable: " : "running", b->why[i]);
	if (b->state[i] || !gb_ring_counts(b, i, &c))
		return;
	gt_detail(t, "%s_events %" PRIu64 "\n", name, c.seen);
	gt_detail(t, "%s_other %" PRIu64 "\n", name, c.other);
	gt_detail(t, "%s_records %" PRIu64 "\n", name, c.sent);
	gt_detail(t, "%s_lost %" PRIu64 "\n", name, c.lost);
	if (gb_part(i)->doctor)
		gb_part(i)->doctor(b, t);
}

void gb_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	struct gt_details t = { buf, len };
	struct gb *b = p->priv;

	if (!b)
		return;
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++)
		part(&t, b, i);
	gt_detail(&t, "buffer_total %zu\n", b->ring.size);
	gt_detail(&t, "ring_drains %" PRIu64 "\n", b->ring.drains);
	gt_detail(&t, "ring_drains_full %" PRIu64 "\n", b->ring.full);
	gt_detail(&t, "left_out %" PRIu64 "\n", b->ring.left_out);
	gt_detail(&t, "late %" PRIu64 "\n", b->ring.late);
}
