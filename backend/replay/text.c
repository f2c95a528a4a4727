/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ftrace text: `trace`, `trace_pipe` and `trace-cmd report` of every kernel (line.c). The kernel
 * prints in order of time, tools that merge or annotate not quite, so lines wait in a window and
 * leave it in order; lines of the same time stay as the file has them. The file is read in blocks,
 * so its size does not matter, and not mapped, so that nobody who cuts it short meanwhile ends the
 * daemon.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	 (256u << 10) /* and the longest line */
#define WINDOW	 4096u	      /* lines of ours that wait */
#define TEXT_MAX 8192u	      /* of a line's own text; the kernel writes at most a page */
#define CPUS	 1024u
#define PIECE	 8192 /* lines read before the caller is asked again */

/** struct slot - a line that waits; an event's @text is @len bytes of @cap */
struct slot {
	struct gt_item item;
	char *text;
	size_t cap;
};

/**
 * struct text - a file that is read
 * @off: of buf[0] in the file; @pos, @len: bytes in buf
 * @line: number of lines read
 * @order: slots by time, from @head to @tail; @unused: the others
 * @seen: time of each CPU's last line; @any: of the last of all
 */
struct text {
	char *buf;
	uint64_t off, line;
	size_t pos, len;
	bool eof, skipping;
	struct slot *slot;
	uint16_t *order, *unused;
	unsigned int head, tail, nunused;
	uint64_t seen[CPUS], any;
	bool lost_waits;
	struct gt_line lost;
};

static void rewind_text(struct gt_source *s, struct text *t)
{
	t->off = s->begin;
	t->line = 0;
	t->pos = t->len = 0;
	t->eof = t->skipping = false;
}

static void text_close(struct gt_source *s)
{
	struct text *t = s->priv;

	gt_events_free(s->events);
	s->events = NULL;
	s->priv = NULL;
	if (!t)
		return;
	for (unsigned int i = 0; t->slot && i < WINDOW; i++)
		free(t->slot[i].text);
	free(t->slot);
	free(t->order);
	free(t->unused);
	free(t->buf);
	free(t);
}

static int text_open(struct gt_source *s)
{
	struct text *t = calloc(1, sizeof(*t));

	s->priv = t;
	if (!t)
		return gt_source_error(s, ENOMEM, "no memory");
	t->buf = malloc(BLOCK);
	t->slot = calloc(WINDOW, sizeof(*t->slot));
	t->order = malloc(2 * WINDOW * sizeof(*t->order));
	t->unused = malloc(WINDOW * sizeof(*t->unused));
	if (!t->buf || !t->slot || !t->order || !t->unused)
		return gt_source_error(s, ENOMEM, "no memory");
	for (t->nunused = 0; t->nunused < WINDOW; t->nunused++)
		t->unused[t->nunused] = (uint16_t)(WINDOW - 1 - t->nunused);
	rewind_text(s, t);
	s->events = gt_events_new(s);
	return s->events ? 0 : -ENOENT;
}

static int refill(struct gt_source *s, struct text *t)
{
	ssize_t n;

	memmove(t->buf, t->buf + t->pos, t->len - t->pos);
	t->off += t->pos;
	t->len -= t->pos;
	t->pos = 0;
	if (t->len == BLOCK) {
		t->off += t->len;
		t->len = 0;
		t->skipping = true;
	}
	n = gt_source_pread(s, t->buf + t->len, BLOCK - t->len, t->off + t->len);
	if (n < 0)
		return gt_source_error(s, (int)-n, "line %llu: cannot be read: %s",
				       (unsigned long long)t->line + 1, strerror((int)-n));
	t->len += (size_t)n;
	t->eof = !n;
	return 0;
}

/* A line without its newline: 1; 0 at the end; -errno. A line too long is the empty one. */
static int get_line(struct gt_source *s, struct text *t, const char **line, size_t *len)
{
	const char *nl;
	int ret;

	while (!(nl = memchr(t->buf + t->pos, '\n', t->len - t->pos))) {
		if (t->eof && t->pos == t->len && !t->skipping)
			return 0;
		if (t->eof)
			break;
		ret = refill(s, t);
		if (ret < 0)
			return ret;
	}
	*line = t->buf + t->pos;
	*len = (nl ? (size_t)(nl - t->buf) : t->len) - t->pos;
	t->pos += *len + (nl != NULL);
	t->line++;
	if (t->skipping) {
		*len = 0;
		if (s->scanned)
			gt_source_fault(s, "line %llu: longer than %u bytes",
					(unsigned long long)t->line, BLOCK);
	} else if (!nl && s->scanned) {
		gt_source_fault(s, "line %llu: the file ends inside it, without a newline",
				(unsigned long long)t->line);
	}
	t->skipping = false;
	return 1;
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
		if (gt_line_parse(p, (size_t)(nl - p), &l) == GT_LINE_EVENT)
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
		int ret = get_line(s, t, &p, &len), ev;

		if (ret < 0)
			return ret;
		if (!ret) {
			rewind_text(s, t);
			return 1;
		}
		if (gt_line_parse(p, len, &l) != GT_LINE_EVENT)
			continue;
		ev = gt_events_by_name(s->events, l.system, l.system_len, l.event, l.event_len);
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

/* A slot goes behind all that are not later. */
static void enqueue(struct text *t, uint16_t slot)
{
	uint64_t ts = t->slot[slot].item.ts;
	unsigned int i;

	if (t->tail == 2 * WINDOW) {
		memmove(t->order, t->order + t->head, (t->tail - t->head) * sizeof(*t->order));
		t->tail -= t->head;
		t->head = 0;
	}
	for (i = t->tail; i > t->head && t->slot[t->order[i - 1]].item.ts > ts; i--)
		t->order[i] = t->order[i - 1];
	t->order[i] = slot;
	t->tail++;
}

static int enqueue_event(struct text *t, const struct gt_line *l, int ev)
{
	uint16_t i = t->unused[t->nunused - 1];
	struct slot *slot = &t->slot[i];
	size_t len = l->text_len < TEXT_MAX ? l->text_len : TEXT_MAX;

	if (slot->cap < len) {
		char *text = realloc(slot->text, len);

		if (!text)
			return -ENOMEM;
		slot->text = text;
		slot->cap = len;
	}
	if (len)
		memcpy(slot->text, l->text, len);
	slot->item = (struct gt_item){
		.ts = l->ts, .kind = GT_ITEM_TEXT, .ev = ev, .data = len ? slot->text : "", .len = len, .where = t->line,
		.ctx = {
			.ts = l->ts,
			.tid = l->tid,
			.pid = l->tgid != GT_NONE32 ? l->tgid : l->tid,
			.cpu = l->cpu,
		},
	};
	gt_comm_set(slot->item.comm, l->comm, l->comm_len);
	t->nunused--;
	enqueue(t, i);
	return 0;
}

/* A mark of lost events has no time: they were lost before the line that follows. */
static void enqueue_lost(struct gt_source *s, struct text *t, uint64_t ts)
{
	uint16_t cpu = t->lost.cpu;
	uint64_t since = cpu < CPUS && t->seen[cpu] ? t->seen[cpu] : t->any;
	uint16_t i = t->unused[--t->nunused];

	t->lost_waits = false;
	s->lost += t->lost.lost == GT_NONE64 ? 1 : t->lost.lost;
	gt_item_lost(&t->slot[i].item, ts, since, t->lost.lost, cpu);
	enqueue(t, i);
}

static int event_line(struct gt_source *s, struct text *t, const struct gt_line *l)
{
	int ev = gt_events_by_name(s->events, l->system, l->system_len, l->event, l->event_len);

	if (t->lost_waits)
		enqueue_lost(s, t, l->ts);
	t->any = l->ts;
	if (l->cpu < CPUS)
		t->seen[l->cpu] = l->ts;
	if (!gt_events_wanted(s->events, ev)) {
		s->skipped++;
		return 0;
	}
	return enqueue_event(t, l, ev);
}

/* Of one line. A mark of losses takes a slot of its own, so there are always two free. */
static int take_line(struct gt_source *s, struct text *t, const char *p, size_t len)
{
	struct gt_line l;

	switch (gt_line_parse(p, len, &l)) {
	case GT_LINE_EVENT:
		return event_line(s, t, &l);
	case GT_LINE_LOST:
		if (t->lost_waits)
			enqueue_lost(s, t, t->any);
		t->lost = l;
		t->lost_waits = true;
		return 0;
	case GT_LINE_SKIP:
		s->skipped++;
		return 0;
	case GT_LINE_BAD:
		break;
	}
	gt_source_fault(s, "line %llu is no ftrace text: \"%.*s\"", (unsigned long long)t->line,
			len < 60 ? (int)len : 60, p);
	return 0;
}

static int text_next(struct gt_source *s)
{
	struct text *t = s->priv;
	uint16_t i;

	for (int n = 0; t->nunused > 2; n++) {
		const char *p;
		size_t len;
		int ret = get_line(s, t, &p, &len);

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
	if (t->head == t->tail)
		return -ENODATA;
	/* Its text stays where it is until the next line is read. */
	i = t->order[t->head++];
	t->unused[t->nunused++] = i;
	s->item = t->slot[i].item;
	return 1;
}

const struct gt_reader gt_reader_text = {
	.name = "ftrace text",
	.detect = text_detect,
	.open = text_open,
	.scan = text_scan,
	.next = text_next,
	.close = text_close,
};
