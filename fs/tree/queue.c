/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of a queue's directory. What its source does not tell is absent; whose queue it is shows
 * only to those who may know.
 */
#include <errno.h>

#include "lines.h"

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
};

static int take(const struct gt_show *s, struct desc *out)
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
	out->depth_known = q->depth_told || !q->worked;
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
	int err = take(s, &q);

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

	return !take(s, &q) && of(s, &q) != GT_NONE64;
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
	int err = take(s, &q);

	if (err)
		return err;
	gt_cell(t, of(&q));
	gt_text_ch(t, '\n');
	return 0;
}

static bool has_word(const struct gt_show *s, const char *(*of)(const struct desc *))
{
	struct desc q;

	return !take(s, &q) && of(&q);
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

	return !take(s, &q) && q.d.interleave != GT_NONE16;
}

static int show_interleave(struct gt_text *t, const struct gt_show *s)
{
	struct desc q;
	int err = take(s, &q);

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

	return !take(s, &q) && q.created;
}

static int show_created(struct gt_text *t, const struct gt_show *s)
{
	struct desc q;
	int err = take(s, &q);

	if (err)
		return err;
	gt_cell_time(t, q.created ? q.created : GT_NONE64);
	gt_text_ch(t, '\n');
	return 0;
}

static bool has_ring(const struct gt_show *s)
{
	struct desc q;

	return !take(s, &q) && q.d.ring != GT_NONE16;
}

static int show_ring(struct gt_text *t, const struct gt_show *s)
{
	struct desc q;
	int err = take(s, &q);

	if (err)
		return err;
	gt_cell_ring(t, q.d.ring);
	gt_text_ch(t, '\n');
	return 0;
}

static bool has_jobs(const struct gt_show *s)
{
	struct desc q;

	return !take(s, &q) && (q.counts.submitted || q.counts.completed);
}

/* Of work that is no ring's job how much there is is told, or not known */
static bool has_depth(const struct gt_show *s)
{
	struct desc q;

	return !take(s, &q) && q.depth_known &&
	       (q.depth.peak || q.counts.submitted || q.counts.completed);
}

static int show_depth(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct desc q;
	int err = take(s, &q);

	if (!err)
		gt_depth_lines(t, &q.depth, now);
	return err;
}

static int show_latency(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_summary all, last10;

	for (enum gt_stage_id st = 0; st < GT_NSTAGES; st++) {
		{
			GT_MODEL_LOCK(s->app->model);
			const struct gt_queue *q = gt_obj_queue(s);

			if (!q)
				return -ENODEV;
			gt_stage_summary(&q->stage[st], now, &all, &last10);
		}
		if (all.count) /* a queue's source tells no stage before its first value */
			gt_stage_line(t, gt_stage_names[st], &all, &last10);
	}
	return 0;
}

static int show_stats(struct gt_text *t, const struct gt_show *s)
{
	struct desc q;
	int err = take(s, &q);

	if (!err)
		gt_counts_lines(t, &q.counts, 0, q.depth_known ? q.depth.now : GT_NONE64);
	return err;
}

#define FIELD(n, text)                                                                             \
	{                                                                                          \
		.name = #n, .mode = 0444, .flags = GT_FILE_VIEW, .show = show_##n,                 \
		.exists = has_##n, .gen = gt_gen_object_only, .help = text                         \
	}

/* To read them may take as long as the hardware does */
#define GT_FILE_SLOTS(n, of, text)                                                                 \
	{                                                                                          \
		.name = n, .mode = 0444, .flags = GT_FILE_VIEW | GT_FILE_LONG | GT_FILE_AGAIN,     \
		.show = of, .exists = gt_has_slots, .gen = gt_gen_slots, .help = text              \
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
	  .flags = GT_FILE_VIEW,
	  .show = show_depth,
	  .exists = has_depth,
	  .gen = gt_gen_depth,
	  .help = "jobs, or packets, submitted and not complete: now, average since clear, peak" },
	{ .name = "latency",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_latency,
	  .exists = has_jobs,
	  .gen = gt_gen_object,
	  .help = "as a ring's latency" },
	{ .name = "stats",
	  .mode = 0444,
	  .flags = GT_FILE_VIEW,
	  .show = show_stats,
	  .gen = gt_gen_object_only,
	  .help = "counters since the start or the last clear" },
	GT_FILE_SLOTS("hqd", gt_show_hqd, "slots of the hardware that it is in, with their pointers"),
	GT_FILE_SLOTS("mqd", gt_show_mqd, "its descriptor in memory, as it was saved last"),
	GT_FILE_EVENTS("queue"),
	GT_FILE_TRACE("queue"),
	{ 0 },
};
