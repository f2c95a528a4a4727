/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of a queue's directory. What its source does not report is absent; the owner of the queue shows
 * only to those who may know.
 */
#include <errno.h>

#include "internal.h"

/*
 * Where a queue is on the hardware, and its descriptor in memory: what a backend reads off when
 * somebody looks. Addresses are of a process's memory: they show only to those who may know it.
 */

#define TICK_NS (GT_SEC / 4) /* so long a text may be shown again */

/* Such a queue is in the hardware's; one that only its program's runtime reports is not found. */
static bool may_have(const struct gt_model *m, const struct gt_queue *q)
{
	return m->hw_round && q->state != GT_QS_DESTROYED && !q->runtime &&
	       (q->desc.kind == GT_QUEUE_COMPUTE || q->desc.kind == GT_QUEUE_SDMA);
}

static bool gt_has_slots(const struct gt_show *s)
{
	const struct gt_queue *q;

	GT_MODEL_LOCK(s->app->model);
	q = gt_obj_queue(s);
	return q && may_have(s->app->model, q);
}

static uint64_t gt_gen_slots(const struct gt_show *s)
{
	return gt_gen_mix(gt_gen_object_only(s), gt_model_now(s->app->model) / TICK_NS);
}

/* Copied; @sees: the caller may see the owner. -EAGAIN: not known now */
static int take_slots(const struct gt_show *s, struct gt_queue_hw *out, bool *sees)
{
	const struct gt_model *m = s->app->model;
	const struct gt_queue_hw *hw;
	const struct gt_queue *q;

	if (!gt_app_look(s->app, GT_REFRESH_SLOTS))
		return -EAGAIN; /* the last report may be of any time */
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

/* As in backends/sysfs/hqds. An address space is of one process: queues that have the same are of
 * the same */
static void slot_row(struct gt_text *t, const struct gt_queue_slot *p, bool sdma, bool sees)
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
	gt_cell_u64(t, sees && p->vmid != GT_NONE16 ? p->vmid : GT_NONE64);
	gt_cell_u64(t, p->rptr);
	gt_cell_u64(t, p->wptr);
	gt_text_ch(t, '\n');
}

static int gt_show_hqd(struct gt_text *t, const struct gt_show *s)
{
	struct gt_queue_hw hw;
	bool sees;
	int err = take_slots(s, &hw, &sees);

	if (err)
		return err == -EAGAIN ? -ENODATA : err;
	for (unsigned int i = 0; i < hw.nslots; i++)
		slot_row(t, &hw.slot[i], hw.sdma, sees);
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

static int gt_show_mqd(struct gt_text *t, const struct gt_show *s)
{
	struct gt_queue_hw hw;
	bool sees;
	int err = take_slots(s, &hw, &sees);

	if (err)
		return err == -EAGAIN ? -ENODATA : err;
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

static const char *const kinds[] = {
	[GT_QUEUE_COMPUTE] = "compute", [GT_QUEUE_SDMA] = "sdma", [GT_QUEUE_TSG] = "tsg",
	[GT_QUEUE_EXEC] = "exec",	[GT_QUEUE_USER] = "user",
};

static const char *const states[] = {
	[GT_QS_CREATED] = "created", [GT_QS_MAPPED] = "mapped",	      [GT_QS_UNMAPPED] = "unmapped",
	[GT_QS_DENIED] = "denied",   [GT_QS_DESTROYED] = "destroyed",
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/** struct desc - what is known of a queue, copied */
struct desc {
	struct gt_queue_desc d;
	int state;
	uint64_t created;
	struct gt_counts counts;
	struct gt_depth depth;
	bool depth_known;
	unsigned int reported; /* GT_REPORTS_JOBS, GT_REPORTS_SUBMITS */
};

static int take_queue(const struct gt_show *s, struct desc *out)
{
	const struct gt_queue *q;

	GT_MODEL_LOCK(s->app->model);
	q = gt_obj_queue(s);
	if (!q)
		return -ENODEV;
	out->d = q->desc;
	out->state = q->state;
	out->created = q->created;
	out->counts = q->counts;
	out->depth = q->depth;
	out->depth_known = q->depth_set || !q->worked;
	out->reported = q->worked || q->depth.peak || q->counts.completed ? GT_REPORTS_JOBS : 0;
	if (out->reported && !q->worked)
		out->reported |= GT_REPORTS_SUBMITS;
	return 0;
}

static uint64_t wide16(uint16_t v)
{
	return v == GT_NONE16 ? GT_NONE64 : v;
}

static uint64_t wide32(uint32_t v)
{
	return v == GT_NONE32 ? GT_NONE64 : v;
}

static bool sees(const struct gt_show *s, const struct desc *q)
{
	return gt_view_sees(&s->view, q->d.pid, q->d.uid, GT_PIDNS_NOW);
}

/* A number that is GT_NONE64 where it is not known, or not this caller's to know. */
static uint64_t pid_of(const struct gt_show *s, const struct desc *q)
{
	return sees(s, q) ? wide32(gt_view_pid(&s->view, q->d.pid, GT_PIDNS_NOW)) : GT_NONE64;
}

static uint64_t uid_of(const struct gt_show *s, const struct desc *q)
{
	return sees(s, q) ? wide32(q->d.uid) : GT_NONE64;
}

static uint64_t priority_of(const struct gt_show *s, const struct desc *q)
{
	return wide16(q->d.priority);
}

static uint64_t runlist_of(const struct gt_show *s, const struct desc *q)
{
	return wide32(q->d.runlist);
}

static uint64_t timeslice_us_of(const struct gt_show *s, const struct desc *q)
{
	return wide32(q->d.timeslice_us);
}

static uint64_t size_of(const struct gt_show *s, const struct desc *q)
{
	return q->d.size ? q->d.size : GT_NONE64;
}

static uint64_t channels_of(const struct gt_show *s, const struct desc *q)
{
	return wide32(q->d.channels);
}

static int show_number(struct gt_text *t, const struct gt_show *s,
		       uint64_t (*of)(const struct gt_show *, const struct desc *))
{
	struct desc q;
	int err = take_queue(s, &q);

	if (err)
		return err;
	gt_cell_u64(t, of(s, &q));
	gt_text_ch(t, '\n');
	return 0;
}

static bool has_number(const struct gt_show *s,
		       uint64_t (*of)(const struct gt_show *, const struct desc *))
{
	struct desc q;

	return !take_queue(s, &q) && of(s, &q) != GT_NONE64;
}

/* show_pid() and has_pid() and so on */
#define NUMBER(name)                                                                               \
	static int show_##name(struct gt_text *t, const struct gt_show *s)                         \
	{                                                                                          \
		return show_number(t, s, name##_of);                                               \
	}                                                                                          \
	static bool has_##name(const struct gt_show *s)                                            \
	{                                                                                          \
		return has_number(s, name##_of);                                                   \
	}

NUMBER(pid)
NUMBER(uid)
NUMBER(priority)
NUMBER(runlist)
NUMBER(timeslice_us)
NUMBER(channels)
NUMBER(size)

static const char *type_word(const struct desc *q)
{
	return q->d.kind < COUNT(kinds) ? kinds[q->d.kind] : NULL;
}

static const char *engine_word(const struct desc *q)
{
	if (q->d.engine == GT_ENGINE_UNKNOWN || q->d.engine >= GT_NENGINES)
		return NULL;
	return gt_engine_name((enum gt_engine)q->d.engine);
}

static const char *state_word(const struct desc *q)
{
	return q->state >= 0 && (size_t)q->state < COUNT(states) ? states[q->state] : NULL;
}

static int show_word(struct gt_text *t, const struct gt_show *s,
		     const char *(*of)(const struct desc *))
{
	struct desc q;
	int err = take_queue(s, &q);

	if (err)
		return err;
	gt_cell(t, of(&q));
	gt_text_ch(t, '\n');
	return 0;
}

static bool has_word(const struct gt_show *s, const char *(*of)(const struct desc *))
{
	struct desc q;

	return !take_queue(s, &q) && of(&q);
}

#define WORD(name)                                                                                 \
	static int show_##name(struct gt_text *t, const struct gt_show *s)                         \
	{                                                                                          \
		return show_word(t, s, name##_word);                                               \
	}                                                                                          \
	static bool has_##name(const struct gt_show *s)                                            \
	{                                                                                          \
		return has_word(s, name##_word);                                                   \
	}

WORD(type)
WORD(engine)
WORD(state)

/* NVA06C_CTRL_INTERLEAVE_LEVEL_*, ctrl/ctrla06c.h of NVIDIA's open kernel modules */
static const char *const levels[] = { "LOW", "MEDIUM", "HIGH" };

static bool has_interleave(const struct gt_show *s)
{
	struct desc q;

	return !take_queue(s, &q) && q.d.interleave != GT_NONE16;
}

static int show_interleave(struct gt_text *t, const struct gt_show *s)
{
	struct desc q;
	int err = take_queue(s, &q);

	if (err)
		return err;
	if (q.d.kind == GT_QUEUE_TSG && q.d.interleave < COUNT(levels))
		gt_cell(t, levels[q.d.interleave]);
	else
		gt_cell_u64(t, wide16(q.d.interleave));
	gt_text_ch(t, '\n');
	return 0;
}

static bool has_created(const struct gt_show *s)
{
	struct desc q;

	return !take_queue(s, &q) && q.created;
}

static int show_created(struct gt_text *t, const struct gt_show *s)
{
	struct desc q;
	int err = take_queue(s, &q);

	if (err)
		return err;
	gt_cell_time(t, q.created ? q.created : GT_NONE64);
	gt_text_ch(t, '\n');
	return 0;
}

static bool has_ring(const struct gt_show *s)
{
	struct desc q;

	return !take_queue(s, &q) && q.d.ring != GT_NONE16;
}

static int show_ring(struct gt_text *t, const struct gt_show *s)
{
	struct desc q;
	int err = take_queue(s, &q);

	if (err)
		return err;
	gt_cell_ring(t, q.d.ring);
	gt_text_ch(t, '\n');
	return 0;
}

static bool has_jobs(const struct gt_show *s)
{
	struct desc q;

	return !take_queue(s, &q) && (q.counts.submitted || q.counts.completed);
}

/* Of work that is no ring's job the amount is reported, or not known */
static bool has_depth(const struct gt_show *s)
{
	struct desc q;

	return !take_queue(s, &q) && q.depth_known &&
	       (q.depth.peak || q.counts.submitted || q.counts.completed);
}

static int show_depth(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct desc q;
	int err = take_queue(s, &q);

	if (!err)
		gt_depth_lines(t, s->app->model, &q.depth, NULL, now);
	return err;
}

static int latency(struct gt_text *t, const struct gt_show *s, bool last10)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_summary sum[2];

	for (enum gt_stage_id st = 0; st < GT_NSTAGES; st++) {
		{
			GT_MODEL_LOCK(s->app->model);
			const struct gt_queue *q = gt_obj_queue(s);

			if (!q)
				return -ENODEV;
			gt_stage_summary(&q->stage[st], now, &sum[0], &sum[1]);
		}
		/* which stages a queue's source has shows in the first value */
		gt_stage_row(t, st, sum[0].count ? &sum[last10] : NULL);
	}
	return 0;
}

static int show_latency(struct gt_text *t, const struct gt_show *s)
{
	return latency(t, s, false);
}

static int show_latency_10s(struct gt_text *t, const struct gt_show *s)
{
	return latency(t, s, true);
}

static int show_stats(struct gt_text *t, const struct gt_show *s)
{
	struct desc q;
	int err = take_queue(s, &q);

	if (!err)
		gt_counts_lines(t, &q.counts, q.reported, q.depth_known ? q.depth.now : GT_NONE64);
	return err;
}

#define FIELD(n, text)                                                                             \
	{                                                                                          \
		.name = #n, .mode = 0444, .flags = GT_FILE_VIEW, .show = show_##n,                 \
		.exists = has_##n, .gen = gt_gen_object_only, .help = text                         \
	}

/* To read them may take as long as the hardware does */
#define GT_FILE_SLOTS(n, of, form, names, text)                                                    \
	{                                                                                          \
		.name = n, .mode = 0444, .flags = GT_FILE_VIEW | GT_FILE_LOOKS | (form),           \
		.show = of, .exists = gt_has_slots, .gen = gt_gen_slots, .fields = names,          \
		.help = text                                                                       \
	}

const struct gt_file gt_queue_files[] = {
	FIELD(type, "compute, sdma, tsg, exec or user"),
	FIELD(pid, "process that made it"),
	FIELD(uid, "user of that process"),
	FIELD(engine, "GRAPHICS COMPUTE COPY VIDEO_DECODE VIDEO_ENCODE"),
	FIELD(priority, "as the driver numbers it"),
	FIELD(state, "created, mapped, unmapped, denied or destroyed"),
	FIELD(created, "when, seconds of the trace's clock"),
	FIELD(ring, "ring of this GPU that it runs on"),
	FIELD(runlist, "hardware runlist that it is on"),
	FIELD(timeslice_us, "how long it may run before another"),
	FIELD(interleave,
	      "how often it comes in turn: a TSG's LOW, MEDIUM or HIGH, else the driver's number"),
	FIELD(channels, "channels in it"),
	FIELD(size, "bytes of its ring in memory"),
	{ .name = "depth",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_KEYED,
	  .show = show_depth,
	  .exists = has_depth,
	  .gen = gt_gen_depth,
	  .fields = GT_DEPTH_KEYS,
	  .help = "jobs, or packets, submitted and not complete: now, average since clear, peak" },
	{ .name = "latency",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_latency,
	  .exists = has_jobs,
	  .gen = gt_gen_object_only,
	  .fields = GT_STAGE_COLUMNS,
	  .help = "as a ring's latency" },
	{ .name = "latency_10s",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_latency_10s,
	  .exists = has_jobs,
	  .gen = gt_gen_object,
	  .fields = GT_STAGE_COLUMNS,
	  .help = "the same of the last 10 s" },
	{ .name = "stats",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW | GT_FILE_KEYED,
	  .show = show_stats,
	  .gen = gt_gen_object_only,
	  .fields = GT_COUNTS_KEYS,
	  .help = "counters since the start or the last clear" },
	GT_FILE_SLOTS("hqd", gt_show_hqd, 0, "slot vmid rptr wptr",
		      "slots of the hardware that it is in, with their pointers"),
	GT_FILE_SLOTS("mqd", gt_show_mqd, GT_FILE_KEYED,
		      "active size_bytes rptr wptr address doorbell base",
		      "its descriptor in memory, as it was saved last"),
	GT_FILE_EVENTS("queue"),
	GT_FILE_TRACE("queue"),
	{ 0 },
};
