/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ftrace text: `trace`, `trace_pipe` and `trace-cmd report` of every kernel (line.c). The kernel
 * prints in order of time, tools that merge or annotate not quite, so lines wait in a window and
 * leave it in order; lines of the same time stay as the file has them.
 */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 8192u /* of a line's own text; the kernel writes at most a page */
#define CPUS	 1024u
#define PIECE	 8192 /* lines read before the caller is asked again */

/**
 * struct text - a file that is read
 * @seen: time of each CPU's last line; @any: of the last of all
 */
struct text {
	struct gt_lines lines;
	struct gt_window window;
	uint64_t seen[CPUS], any;
	bool lost_waits;
	struct gt_line lost;
};

static void text_close(struct gt_source *s)
{
	struct text *t = s->priv;

	gt_events_free(s->events);
	s->events = NULL;
	s->priv = NULL;
	if (!t)
		return;
	gt_window_free(&t->window);
	gt_lines_free(&t->lines);
	free(t);
}

static int text_open(struct gt_source *s)
{
	struct text *t = calloc(1, sizeof(*t));

	s->priv = t;
	if (!t)
		return gt_source_error(s, ENOMEM, "no memory");
	if (gt_lines_init(&t->lines, s->begin) || gt_window_init(&t->window))
		return gt_source_error(s, ENOMEM, "no memory");
	s->events = gt_events_new(s);
	return s->events ? 0 : -ENOENT;
}

static bool has_event(enum gt_line_kind kind)
{
	return kind == GT_LINE_EVENT || kind == GT_LINE_CALL;
}

static int event_of(struct gt_source *s, const struct gt_line *l, enum gt_line_kind kind)
{
	if (kind == GT_LINE_CALL)
		return gt_call_event(s->events, l->event, l->event_len);
	return gt_events_by_name(s->events, l->system, l->system_len, l->event, l->event_len);
}

static bool text_detect(const uint8_t *head, size_t len)
{
	const char *p = (const char *)head, *end = p + len, *nl;
	struct gt_line l;

	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		if (nl - p >= 9 && !memcmp(p, "# tracer:", 9))
			return true;
		if (has_event(gt_line_parse(p, (size_t)(nl - p), &l)))
			return true;
	}
	return false;
}

/* The first reading: which events occur, which devices they name, who leads a thread group. */
static int text_scan(struct gt_source *s)
{
	struct text *t = s->priv;

	for (int i = 0; i < PIECE; i++) {
		const char *p;
		size_t len;
		struct gt_line l;
		int ret = gt_lines_next(s, &t->lines, false, &p, &len), ev;
		enum gt_line_kind kind;

		if (ret < 0)
			return ret;
		if (!ret) {
			gt_lines_rewind(&t->lines, s->begin);
			return 1;
		}
		kind = gt_line_parse(p, len, &l);
		if (!has_event(kind))
			continue;
		ev = event_of(s, &l, kind);
		if (ev >= 0)
			gt_events_seen(s->events, ev, l.text, l.text_len, false);
		if (l.tgid == l.tid) {
			char comm[GT_REPLAY_COMM];

			gt_comm_set(comm, l.comm, l.comm_len);
			gt_procs_learn(gt_events_procs(s->events), l.tid, comm);
		}
	}
	return 0;
}

/* As the live backend has it: an interrupt's calls are nobody's, and what a worker of the kernel
 * does to a queue it does for whoever has that. Of a name that is too long to have a number only so
 * much waits in the window as tells that it is. */
static void call_item(struct gt_item *it, const struct gt_line *l, int ev)
{
	if (ev < 0) {
		it->kind = GT_ITEM_CALL;
		it->data = l->event;
		it->len = l->event_len < GT_FUNCTION_NAME ? l->event_len : GT_FUNCTION_NAME;
	}
	if (l->interrupt)
		it->ctx.tid = GT_NONE32;
	if (l->interrupt || (ev >= 0 && !strncmp(it->comm, "kworker", 7)))
		it->ctx.pid = GT_NONE32;
}

static int enqueue_event(struct text *t, const struct gt_line *l, int ev, enum gt_line_kind kind)
{
	struct gt_item it = {
		.ts = l->ts,
		.kind = GT_ITEM_TEXT,
		.ev = ev,
		.data = l->text,
		.len = l->text_len < TEXT_MAX ? l->text_len : TEXT_MAX,
		.where = t->lines.line,
		.ctx = {
			.ts = l->ts,
			.tid = l->tid,
			.pid = l->tgid != GT_NONE32 ? l->tgid : l->tid,
			.cpu = l->cpu,
		},
	};

	gt_comm_set(it.comm, l->comm, l->comm_len);
	if (kind == GT_LINE_CALL)
		call_item(&it, l, ev);
	return gt_window_put(&t->window, &it);
}

/* A mark of lost events has no time: they were lost before the line that follows. */
static void enqueue_lost(struct gt_source *s, struct text *t, uint64_t ts)
{
	uint16_t cpu = t->lost.cpu;
	uint64_t since = cpu < CPUS && t->seen[cpu] ? t->seen[cpu] : t->any;
	struct gt_item it = { 0 };

	t->lost_waits = false;
	s->lost += t->lost.lost == GT_NONE64 ? 1 : t->lost.lost;
	gt_item_lost(&it, ts, since, t->lost.lost, cpu);
	(void)gt_window_put(&t->window, &it); /* it has no data, which alone takes memory */
}

static int event_line(struct gt_source *s, struct text *t, const struct gt_line *l,
		      enum gt_line_kind kind)
{
	int ev = event_of(s, l, kind);

	if (t->lost_waits)
		enqueue_lost(s, t, l->ts);
	t->any = l->ts;
	if (l->cpu < CPUS)
		t->seen[l->cpu] = l->ts;
	if (kind == GT_LINE_EVENT && !gt_events_wanted(s->events, ev)) {
		s->skipped++;
		return 0;
	}
	return enqueue_event(t, l, ev, kind);
}

/* Of one line. A mark of losses takes a slot of its own, so there are always two free. */
static int take_line(struct gt_source *s, struct text *t, const char *p, size_t len)
{
	static const char graph[] = "# tracer: function_graph";
	struct gt_line l;
	enum gt_line_kind kind = gt_line_parse(p, len, &l);

	switch (kind) {
	case GT_LINE_EVENT:
	case GT_LINE_CALL:
		return event_line(s, t, &l, kind);
	case GT_LINE_LOST:
		if (t->lost_waits)
			enqueue_lost(s, t, t->any);
		t->lost = l;
		t->lost_waits = true;
		return 0;
	case GT_LINE_SKIP:
		if (len >= sizeof(graph) - 1 && !memcmp(p, graph, sizeof(graph) - 1))
			s->empty = "is of the tracer function_graph, which does not say when a "
				   "function "
				   "was called: the tracer function does";
		s->skipped++;
		return 0;
	case GT_LINE_BAD:
		break;
	}
	gt_source_fault(s, "line %llu is no ftrace text: \"%.*s\"",
			(unsigned long long)t->lines.line, len < 60 ? (int)len : 60, p);
	return 0;
}

static int text_next(struct gt_source *s)
{
	struct text *t = s->priv;

	for (int n = 0; !gt_window_full(&t->window, 3); n++) {
		const char *p;
		size_t len;
		int ret = gt_lines_next(s, &t->lines, true, &p, &len);

		if (ret < 0)
			return ret;
		if (!ret && t->lost_waits)
			enqueue_lost(s, t, t->any);
		if (!ret)
			break;
		ret = take_line(s, t, p, len);
		if (ret < 0)
			return gt_source_error(s, -ret, "no memory");
		if (n == PIECE)
			return 0;
	}
	return gt_window_get(&t->window, &s->item) ? 1 : -ENODATA;
}

const struct gt_reader gt_reader_text = {
	.name = "ftrace text",
	.detect = text_detect,
	.open = text_open,
	.scan = text_scan,
	.next = text_next,
	.close = text_close,
};
