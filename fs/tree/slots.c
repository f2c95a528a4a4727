/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a queue is on the hardware, and its descriptor in memory: what a backend reads off when
 * somebody looks. Addresses are of a process's memory: they show only to those who may know it.
 */
#include <errno.h>

#include "lines.h"

#define TICK_NS (GT_SEC / 4) /* so long a text may be shown again */

/* Such a queue is in the hardware's; one that only its program's runtime tells of nobody finds. */
static bool may_have(const struct gt_model *m, const struct gt_queue *q)
{
	return m->hw_round && q->state != GT_QS_DESTROYED && !q->runtime &&
	       (q->desc.kind == GT_QUEUE_COMPUTE || q->desc.kind == GT_QUEUE_SDMA);
}

bool gt_has_slots(const struct gt_show *s)
{
	const struct gt_queue *q;

	GT_MODEL_LOCK(s->app->model);
	q = gt_obj_queue(s);
	return q && may_have(s->app->model, q);
}

uint64_t gt_gen_slots(const struct gt_show *s)
{
	return gt_gen_mix(gt_gen_object_only(s), gt_model_now(s->app->model) / TICK_NS);
}

/* Copied; @sees: the caller may know whose it is. -EAGAIN: not known now */
static int take(const struct gt_show *s, struct gt_queue_hw *out, bool *sees)
{
	const struct gt_model *m = s->app->model;
	const struct gt_queue_hw *hw;
	const struct gt_queue *q;

	if (!gt_app_look(s->app, GT_LOOK_SLOTS))
		return -EAGAIN; /* what was told last may be of any time */
	GT_MODEL_LOCK(s->app->model);
	q = gt_obj_queue(s);
	if (!q)
		return -ENODEV;
	hw = gt_model_queue_hw(m, q);
	if (!hw)
		return -EAGAIN;
	*out = *hw;
	*sees = gt_view_sees(&s->view, q->desc.pid, q->desc.uid, GT_PIDNS_NOW);
	return 0;
}

static int unavailable(struct gt_text *t, int err)
{
	if (err == -EAGAIN)
		gt_text_str(t, "unavailable\n");
	return err == -EAGAIN ? 0 : err;
}

/* "0.1.2 inst=0 pipe=1 queue=2 vmid=8 rptr=16 wptr=32", as in backends/sysfs/hqds. An address space
 * is of one process: queues that have the same are of the same */
static void slot_line(struct gt_text *t, const struct gt_queue_slot *p, bool sdma, bool sees)
{
	if (sdma) {
		gt_text_str(t, "sdma");
	} else {
		gt_text_u64(t, p->inst);
		gt_text_ch(t, '.');
	}
	gt_text_u64(t, p->pipe);
	gt_text_ch(t, '.');
	gt_text_u64(t, p->queue);
	if (!sdma)
		gt_known_gkv(t, "inst", p->inst);
	gt_known_gkv(t, sdma ? "engine" : "pipe", p->pipe);
	gt_known_gkv(t, "queue", p->queue);
	if (sees)
		gt_known_gkv(t, "vmid", p->vmid == GT_NONE16 ? GT_NONE64 : p->vmid);
	gt_known_gkv(t, "rptr", p->rptr);
	gt_known_gkv(t, "wptr", p->wptr);
	gt_text_ch(t, '\n');
}

int gt_show_hqd(struct gt_text *t, const struct gt_show *s)
{
	struct gt_queue_hw hw;
	bool sees;
	int err = take(s, &hw, &sees);

	if (err)
		return unavailable(t, err);
	gt_text_kv(t, "slots", hw.nslots);
	for (unsigned int i = 0; i < hw.nslots; i++)
		slot_line(t, &hw.slot[i], hw.sdma, sees);
	return 0;
}

static void address(struct gt_text *t, const char *name, uint64_t v)
{
	if (v == GT_NONE64)
		return;
	gt_text_str(t, name);
	gt_text_ch(t, ' ');
	gt_text_hex(t, v);
	gt_text_ch(t, '\n');
}

int gt_show_mqd(struct gt_text *t, const struct gt_show *s)
{
	struct gt_queue_hw hw;
	bool sees;
	int err = take(s, &hw, &sees);

	if (err)
		return unavailable(t, err);
	gt_known_kv(t, "active", hw.active);
	gt_known_kv(t, "size_bytes", hw.size);
	gt_known_kv(t, "rptr", hw.rptr);
	gt_known_kv(t, "wptr", hw.wptr);
	if (!sees)
		return 0;
	address(t, "address", hw.address);
	address(t, "doorbell", hw.doorbell);
	address(t, "base", hw.base);
	return 0;
}
