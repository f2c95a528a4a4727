/* SPDX-License-Identifier: GPL-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../detail.h"
#include "kfd_rows.h"

/* A process's descriptors come one after the other. */
static bool has_room(const struct sf_rows *all, uint32_t pid)
{
	unsigned int n = 0;

	while (all->most && pid && n < all->n && all->row[all->n - 1 - n].q.pid == pid)
		n++;
	return all->n < SF_ROWS && (!all->most || n < all->most);
}

static struct sf_row *add(struct sf_rows *all, const struct sf_dumped *q, const struct sf_hw *hw)
{
	struct sf_row *r = &all->row[all->n];

	if (!has_room(all, q->pid)) {
		all->cut++;
		return NULL;
	}
	all->n++;
	*r = (struct sf_row){
		.gpu_id = q->gpu_id, .vmid = hw->vmid, .rptr = hw->rptr, .wptr = hw->wptr
	};
	r->q = (struct gt_queue_hw){
		.gpu = GT_NONE16,
		.queue = GT_NONE32,
		.pid = q->pid,
		.sdma = q->kind == SF_DUMP_MQD_SDMA || q->kind == SF_DUMP_HQD_SDMA,
		.active = hw->active,
		.address = hw->mqd,
		.doorbell = hw->doorbell,
		.base = hw->base,
		.size = hw->size,
		.rptr = hw->rptr,
		.wptr = hw->wptr,
	};
	return r;
}

void sf_rows_mqd(void *arg, const struct sf_dumped *q)
{
	struct sf_hw hw;

	if ((q->kind == SF_DUMP_MQD || q->kind == SF_DUMP_MQD_SDMA) && q->pid && sf_dump_hw(q, &hw))
		add(arg, q, &hw);
}

/* A doorbell is of one queue of a GPU. An SDMA queue is known by its ring alone, which several
 * processes may have at the same address: then nobody knows whose it is. */
static struct sf_row *mapped(const struct sf_rows *all, uint32_t gpu_id, bool sdma,
			     const struct sf_hw *hw)
{
	struct sf_row *found = NULL;

	for (unsigned int i = 0; hw->base != GT_NONE64 && i < all->n; i++) {
		struct sf_row *r = &all->row[i];

		if (r->gpu_id != gpu_id || r->q.sdma != sdma || r->q.base != hw->base ||
		    r->q.doorbell != hw->doorbell)
			continue;
		if (found)
			return NULL;
		found = r;
	}
	return found;
}

void sf_rows_hqd(void *arg, const struct sf_dumped *q)
{
	struct sf_rows *all = arg;
	bool sdma = q->kind == SF_DUMP_HQD_SDMA;
	struct sf_hw hw;
	struct sf_row *r;

	if ((q->kind != SF_DUMP_HQD && !sdma) || !sf_dump_hw(q, &hw) || !hw.active)
		return;
	r = mapped(all, q->gpu_id, sdma, &hw);
	r = r ? r : add(all, q, &hw);
	if (!r || r->q.nslots == GT_QUEUE_SLOTS) {
		all->cut += r != NULL;
		return;
	}
	r->vmid = hw.vmid;
	r->rptr = hw.rptr; /* memory has what was last saved */
	r->wptr = hw.wptr;
	r->q.slot[r->q.nslots++] = (struct gt_queue_slot){
		.inst = (uint16_t)q->inst,
		.pipe = (uint16_t)q->pipe,
		.queue = (uint16_t)q->queue,
		.vmid = hw.vmid == GT_NONE64 ? GT_NONE16 : (uint16_t)hw.vmid,
		.rptr = hw.rptr,
		.wptr = hw.wptr,
	};
}

static void number(struct gt_details *t, const char *fmt, uint64_t v)
{
	char text[32] = "-";

	if (v != GT_NONE64)
		snprintf(text, sizeof(text), fmt, v);
	gt_detail(t, " %s", text);
}

static void slots(const struct gt_queue_hw *q, char *buf, size_t len)
{
	struct gt_details t = { buf, len };

	gt_detail(&t, "%s", q->nslots ? " " : " -");
	for (unsigned int i = 0; i < q->nslots; i++) {
		const struct gt_queue_slot *s = &q->slot[i];

		if (q->sdma)
			gt_detail(&t, "%ssdma%u.%u", i ? "," : "", s->pipe, s->queue);
		else
			gt_detail(&t, "%s%u.%u.%u", i ? "," : "", s->inst, s->pipe, s->queue);
	}
}

void sf_rows_print(struct sf_rows *all, char *buf, size_t len)
{
	struct gt_details t = { buf, len };

	gt_detail(&t,
		  "# kfd_id pid queue type active vmid doorbell base size_bytes rptr wptr slots\n");
	for (unsigned int i = 0; i < all->n; i++) {
		const struct sf_row *r = &all->row[i];
		const struct gt_queue_hw *q = &r->q;
		char line[640];
		struct gt_details l = { line, sizeof(line) };

		gt_detail(&l, "%u", r->gpu_id);
		number(&l, "%" PRIu64, q->pid ? q->pid : GT_NONE64);
		number(&l, "%" PRIu64, q->queue == GT_NONE32 ? GT_NONE64 : q->queue);
		gt_detail(&l, " %s %d", q->sdma ? "sdma" : "compute", q->active);
		number(&l, "%" PRIu64, r->vmid);
		number(&l, "0x%" PRIx64, q->doorbell);
		number(&l, "0x%" PRIx64, q->base);
		number(&l, "%" PRIu64, q->size);
		number(&l, "%" PRIu64, r->rptr);
		number(&l, "%" PRIu64, r->wptr);
		slots(q, l.p, l.left);
		if (t.left <= strlen(line) + 2) {
			all->cut++;
			continue;
		}
		gt_detail(&t, "%s\n", line);
	}
}
