/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ftrace text: `trace`, `trace_pipe`, `trace-cmd report` and `perf script` of every kernel
 * (line.c). The kernel prints in order of time, tools that merge or annotate not quite, so lines
 * wait in a window and leave it in order; lines of the same time stay as the file has them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay.h"

static void gt_lines_rewind(struct gt_lines *t, uint64_t begin);
static bool gt_window_get(struct gt_window *w, struct gt_item *out);

/*
 * Lines of a file, read in blocks: its size does not matter, and it is not mapped, so that nobody
 * who cuts it short meanwhile ends the daemon.
 */

#define SKIP_MAX                                                                                   \
	(16u << 20) /* bytes of a line that is too long, before the caller is asked again */

int gt_lines_init(struct gt_lines *t, uint64_t begin)
{
	*t = (struct gt_lines){ .buf = malloc(GT_LINE_MAX) };
	gt_lines_rewind(t, begin);
	return t->buf ? 0 : -1;
}

void gt_lines_free(struct gt_lines *t)
{
	free(t->buf);
	t->buf = NULL;
}

static void gt_lines_rewind(struct gt_lines *t, uint64_t begin)
{
	t->off = begin;
	t->line = 0;
	t->pos = t->len = 0;
	t->eof = t->skipping = false;
}

/* A hole has no newline, and may be larger than anybody can read. */
static void pass_hole(const struct gt_source *s, struct gt_lines *t)
{
	off_t data = lseek(s->fd, (off_t)t->off, SEEK_DATA);
	uint64_t to = data < 0 && errno == ENXIO ? s->size : data < 0 ? 0 : (uint64_t)data;

	if (to > t->off)
		t->off = to;
}

static int refill(struct gt_source *s, struct gt_lines *t)
{
	ssize_t n;

	memmove(t->buf, t->buf + t->pos, t->len - t->pos);
	t->off += t->pos;
	t->len -= t->pos;
	t->pos = 0;
	if (t->len == GT_LINE_MAX) {
		t->off += t->len;
		t->len = 0;
		t->skipping = true;
		pass_hole(s, t);
	}
	n = gt_source_pread(s, t->buf + t->len, GT_LINE_MAX - t->len, t->off + t->len);
	if (n < 0)
		return gt_source_error(s, (int)-n, "line %llu: cannot be read: %s",
				       (unsigned long long)t->line + 1, strerror((int)-n));
	t->len += (size_t)n;
	t->eof = !n;
	return 0;
}

int gt_lines_next(struct gt_source *s, struct gt_lines *t, bool report, const char **line,
		  size_t *len)
{
	uint64_t from = t->off;
	const char *nl;
	int ret;

	while (!(nl = memchr(t->buf + t->pos, '\n', t->len - t->pos))) {
		if (t->eof && t->pos == t->len && !t->skipping)
			return -ENODATA;
		if (t->eof)
			break;
		if (t->skipping && t->off - from > SKIP_MAX)
			return 0;
		ret = refill(s, t);
		if (ret < 0)
			return ret;
	}
	*line = t->buf + t->pos;
	*len = (nl ? (size_t)(nl - t->buf) : t->len) - t->pos;
	t->pos += *len + (nl != NULL);
	t->cut = !nl;
	if (!t->line++) {
		size_t mark = gt_text_mark(*line, *len);

		*line += mark;
		*len -= mark;
	}
	if (t->skipping) {
		*len = 0;
		if (report)
			gt_source_fault(s, GT_PLACE_LINE, t->line,
					"line %llu: longer than %u bytes",
					(unsigned long long)t->line, GT_LINE_MAX);
	} else if (!nl && report) {
		gt_source_fault(s, GT_PLACE_LINE, t->line,
				"line %llu: the file ends inside it, without a newline",
				(unsigned long long)t->line);
	}
	t->skipping = false;
	return 1;
}

int gt_lines_item(struct gt_source *s, struct gt_lines *t, struct gt_window *w, unsigned int room,
		  int (*take)(struct gt_source *s, const char *p, size_t len))
{
	uint64_t from = gt_lines_at(t);

	for (int n = 0; !gt_window_full(w, room); n++) {
		const char *p = NULL;
		size_t len = 0;
		int ret = gt_lines_next(s, t, true, &p, &len);
		bool end = ret == -ENODATA;

		if (ret <= 0 && !end)
			return ret;
		ret = take(s, end ? NULL : p, end ? 0 : len);
		if (ret < 0)
			return gt_source_error(s, -ret, "no memory");
		if (end)
			break;
		if (n == GT_LINES_PIECE || gt_lines_at(t) - from >= GT_LINES_BYTES)
			return 0;
	}
	return gt_window_get(w, &s->item) ? 1 : -ENODATA;
}

/*
 * What writes text writes it nearly in order of time: what comes waits in a window and leaves it in
 * order.
 */

#define SIZE GT_WINDOW_MAX

int gt_window_init(struct gt_window *w)
{
	w->slot = calloc(SIZE, sizeof(*w->slot));
	w->order = malloc(2 * SIZE * sizeof(*w->order));
	w->unused = malloc(SIZE * sizeof(*w->unused));
	if (!w->slot || !w->order || !w->unused)
		return -1;
	w->head = w->tail = 0;
	for (w->nunused = 0; w->nunused < SIZE; w->nunused++)
		w->unused[w->nunused] = (uint16_t)(SIZE - 1 - w->nunused);
	return 0;
}

void gt_window_free(struct gt_window *w)
{
	for (unsigned int i = 0; w->slot && i < SIZE; i++)
		free(w->slot[i].data);
	free(w->slot);
	free(w->order);
	free(w->unused);
	*w = (struct gt_window){ 0 };
}

/* Puts a slot in its place by time, behind those of the same time. */
static void enqueue(struct gt_window *w, uint16_t slot)
{
	uint64_t ts = w->slot[slot].item.ts;
	unsigned int i;

	if (w->tail == 2 * SIZE) {
		memmove(w->order, w->order + w->head, (w->tail - w->head) * sizeof(*w->order));
		w->tail -= w->head;
		w->head = 0;
	}
	for (i = w->tail; i > w->head && w->slot[w->order[i - 1]].item.ts > ts; i--)
		w->order[i] = w->order[i - 1];
	w->order[i] = slot;
	w->tail++;
}

int gt_window_put(struct gt_window *w, const struct gt_item *it)
{
	uint16_t i = w->unused[w->nunused - 1];
	struct gt_waiting *slot = &w->slot[i];

	if (slot->cap < it->len) {
		char *data = realloc(slot->data, it->len);

		if (!data)
			return -ENOMEM;
		slot->data = data;
		slot->cap = it->len;
	}
	slot->item = *it;
	slot->item.data = it->len ? slot->data : "";
	if (it->len)
		memcpy(slot->data, it->data, it->len);
	w->nunused--;
	enqueue(w, i);
	return 0;
}

/** gt_window_get() - the first item; its data stays until the next is put; false: there is none
 */
static bool gt_window_get(struct gt_window *w, struct gt_item *out)
{
	uint16_t i;

	if (w->head == w->tail)
		return false;
	i = w->order[w->head++];
	w->unused[w->nunused++] = i;
	*out = w->slot[i].item;
	return true;
}

/*
 * A line of the function tracer as the live backend emits a call: what an event map says of that
 * function, in a section [function/NAME], or a FUNCTION with its name. What a saved stream has are
 * FUNCTIONs already, by numbers of whoever wrote it, which are others in another file, or behind
 * where two were joined.
 */

#define SYSTEM "function"

static int section(struct gt_events *e, const char *name, size_t len)
{
	char text[GT_FUNCTION_NAME];

	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	if (!gt_events_known(e, SYSTEM, text))
		return -1;
	return gt_events_by_name(e, SYSTEM, sizeof(SYSTEM) - 1, text, len);
}

/** gt_call_event() - index of what an event map makes of a call of @name, or -1 */
static int gt_call_event(struct gt_events *e, const char *name, size_t len)
{
	size_t base = gt_callname_base(name, len);
	int ev = len < GT_FUNCTION_NAME ? section(e, name, len) : -1;

	return ev >= 0 || base == len || base >= GT_FUNCTION_NAME ? ev : section(e, name, base);
}

/* Number of a function, and before its first the records of its name; how many */
static int named(struct gt_calls *c, struct gt_source *s, const char *name, size_t len, uint64_t ts,
		 uint64_t *id, union gt_record *out)
{
	uint32_t i = gt_callname_id(name, len);
	bool reported = i != GT_NONE32 && c->named[i];

	*id = i == GT_NONE32 ? GT_NONE64 : i;
	if (i == GT_NONE32)
		gt_source_fault(s, GT_PLACE_NS, ts,
				"%llu ns: a function more than %d, or of a longer name than %d: "
				"it has none",
				(unsigned long long)ts, GT_MAX_FUNCTIONS, GT_FUNCTION_NAME - 1);
	if (i == GT_NONE32 || reported)
		return 0;
	c->named[i] = true;
	return (int)gt_callname_records(i, ts, out);
}

int gt_call_records(struct gt_calls *c, struct gt_source *s, const struct gt_item *it,
		    union gt_record *out)
{
	uint64_t id;
	int n = named(c, s, it->data, it->len, it->ts, &id, out);

	gt_record_init(&out[n], it->ts, GT_FUNCTION);
	out[n].ev.cpu = it->ctx.cpu;
	out[n].ev.tid = it->ctx.tid;
	out[n].ev.pid = it->ctx.pid;
	out[n].ev.value = id;
	return n + 1;
}

void gt_call_learn(struct gt_source *s, const struct gt_name *n)
{
	if (!s->said)
		s->said = calloc(GT_MAX_FUNCTIONS, sizeof(*s->said));
	if (s->said && n->id < GT_MAX_FUNCTIONS)
		gt_callname_piece(s->said[n->id], n);
}

int gt_call_again(struct gt_calls *c, struct gt_source *s, const union gt_record *r,
		  union gt_record *out)
{
	const char *name = s->said && r->ev.value < GT_MAX_FUNCTIONS ? s->said[r->ev.value] : "";
	uint64_t id = GT_NONE64;
	int n = *name ? named(c, s, name, strlen(name), r->ev.ts, &id, out) : 0;

	out[n] = *r;
	out[n].ev.value = id;
	return n + 1;
}

#define TEXT_MAX 8192u /* of a line's own text; the kernel writes at most a page */
#define CPUS	 1024u

/**
 * struct text - a file that is read
 * @seen: time of each CPU's last line; @any: of the last of all; @first: of the first;
 *	@left: of the last that left the window
 * @recorded: events that the kernel's head says it recorded, if it had all of them yet; 0: it does not
 *	say so. @lines_seen: lines of events, at the first reading
 */
struct text {
	struct gt_lines lines;
	struct gt_window window;
	uint64_t seen[CPUS], any, first, left;
	uint64_t recorded, lines_seen;
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

	for (p += gt_text_mark(p, len); p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		if (nl - p >= 9 && !memcmp(p, "# tracer:", 9))
			return true;
		/* of perf, with a header that may be longer than what is looked at here */
		if (nl - p >= 13 && !memcmp(p, "# captured on", 13))
			return true;
		if (has_event(gt_line_parse(p, (size_t)(nl - p), &l)))
			return true;
	}
	return false;
}

/* "# entries-in-buffer/entries-written: 900/900   #P:2": none was overwritten if both are the same
 * (kernel/trace/trace.c, print_event_info()) */
static void look_at_head(struct text *t, const char *p, size_t len)
{
	unsigned long long kept, written;
	char line[96];

	snprintf(line, sizeof(line), "%.*s", (int)(len < sizeof(line) ? len : sizeof(line)), p);
	if (sscanf(line, "# entries-in-buffer/entries-written: %llu/%llu", &kept, &written) == 2)
		t->recorded = kept == written ? written : 0;
}

/* Has the file all that was recorded? Then a CPU that begins late had nothing to report before. */
static bool is_all(const struct text *t)
{
	return t->recorded && t->recorded == t->lines_seen;
}

/* The first reading: which events occur, which devices they name, who leads a thread group. */
static int text_scan(struct gt_source *s)
{
	struct text *t = s->priv;
	uint64_t from = gt_lines_at(&t->lines);

	for (int i = 0; i < GT_LINES_PIECE && gt_lines_at(&t->lines) - from < GT_LINES_BYTES; i++) {
		const char *p;
		size_t len;
		struct gt_line l;
		int ret = gt_lines_next(s, &t->lines, false, &p, &len), ev;
		enum gt_line_kind kind;

		if (ret == -ENODATA) {
			gt_lines_rewind(&t->lines, s->begin);
			return 1;
		}
		if (ret <= 0)
			return ret;
		if (len && *p == '#')
			look_at_head(t, p, len);
		kind = gt_line_parse(p, len, &l);
		if (!has_event(kind))
			continue;
		t->lines_seen++;
		ev = event_of(s, &l, kind);
		if (ev >= 0)
			gt_events_seen(s->events, ev, l.text, l.text_len, false);
		if (l.tgid == l.tid && l.tid != GT_NONE32) {
			char comm[GT_REPLAY_COMM];

			gt_comm_set(comm, l.comm, l.comm_len);
			gt_procs_learn(gt_events_procs(s->events), l.tid, comm);
		}
	}
	return 0;
}

/* As the live backend has it: an interrupt's calls are nobody's, and what a worker of the kernel
 * does to a queue it does for whoever has that. Of a name that is too long to have a number only so
 * much waits in the window as shows that it is. */
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

/*
 * Events were lost between the last line of the mark's CPU and @until. Of a CPU without a line so
 * far, or of one that is not known, they may be from the beginning on.
 */
static void enqueue_lost(struct gt_source *s, struct text *t, uint64_t until)
{
	uint16_t cpu = t->lost.cpu;
	uint64_t since = cpu < CPUS && t->seen[cpu] ? t->seen[cpu] : t->first;
	struct gt_item it = { 0 };

	t->lost_waits = false;
	gt_file_lost(&s->count, t->lost.lost);
	gt_item_lost(&it, since > t->left ? since : t->left, since, until, t->lost.lost, cpu);
	(void)gt_window_put(&t->window, &it); /* it has no data, which alone takes memory */
}

/* The first line of its CPU, and nothing says that there were others before */
static void enqueue_begin(struct text *t, const struct gt_line *l)
{
	struct gt_item it = { 0 };

	gt_item_begin(&it, l->ts, t->first, l->cpu);
	(void)gt_window_put(&t->window, &it);
}

static int event_line(struct gt_source *s, struct text *t, const struct gt_line *l,
		      enum gt_line_kind kind)
{
	int ev = event_of(s, l, kind);

	if (!t->any)
		t->first = l->ts;
	if (l->cpu < CPUS && !t->seen[l->cpu] && l->ts > t->first && !is_all(t) &&
	    !(t->lost_waits && t->lost.cpu == l->cpu))
		enqueue_begin(t, l);
	if (t->lost_waits)
		enqueue_lost(s, t, l->ts);
	t->any = l->ts;
	if (l->cpu < CPUS)
		t->seen[l->cpu] = l->ts;
	if (kind == GT_LINE_EVENT && !gt_events_wanted(s->events, ev)) {
		gt_source_skip(s, 1);
		return 0;
	}
	return enqueue_event(t, l, ev, kind);
}

/* Of one line. Marks of losses and of a CPU's begin take slots of their own. */
static int take_line(struct gt_source *s, const char *p, size_t len)
{
	static const char graph[] = "# tracer: function_graph";
	struct text *t = s->priv;
	enum gt_line_kind kind;
	struct gt_line l;

	if (!p && t->lost_waits)
		enqueue_lost(s, t, t->any);
	if (!p)
		return 0;
	kind = gt_line_parse(p, len, &l);
	switch (kind) {
	case GT_LINE_EVENT:
	case GT_LINE_CALL:
		return event_line(s, t, &l, kind);
	case GT_LINE_LOST:
		if (t->lost_waits)
			enqueue_lost(s, t, t->any);
		t->lost = l;
		if (l.ts == GT_NONE64) { /* the next line's time ends the gap */
			t->lost_waits = true;
			return 0;
		}
		if (!t->any)
			t->first = t->any = l.ts;
		enqueue_lost(s, t, l.ts);
		return 0;
	case GT_LINE_SKIP:
		if (len >= sizeof(graph) - 1 && !memcmp(p, graph, sizeof(graph) - 1))
			s->empty = "is of the tracer function_graph, which does not say when a "
				   "function "
				   "was called: the tracer function does";
		gt_file_skip(&s->count, "comments", 1);
		return 0;
	case GT_LINE_BAD:
		break;
	}
	gt_source_fault(s, GT_PLACE_LINE, t->lines.line, "line %llu is no ftrace text: \"%.*s\"",
			(unsigned long long)t->lines.line, len < 60 ? (int)len : 60, p);
	return 0;
}

/* It came when later ones had left the window. */
static void count_late(struct gt_source *s, struct text *t)
{
	const struct gt_item *it = &s->item;

	if (it->ts >= t->left) {
		t->left = it->ts;
		return;
	}
	if (it->kind == GT_ITEM_RECORD && it->rec.lost.cause == GT_LOST_BEGIN)
		return; /* as the line does that it belongs to */
	s->count.late++;
	if (t->left - it->ts <= s->count.late_ns)
		return;
	s->count.late_ns = t->left - it->ts;
	s->count.late_cpu = it->kind == GT_ITEM_RECORD ? it->rec.lost.cpu : it->ctx.cpu;
}

static int text_next(struct gt_source *s)
{
	struct text *t = s->priv;
	int ret = gt_lines_item(s, &t->lines, &t->window, 4, take_line);

	if (ret > 0)
		count_late(s, t);
	return ret;
}

const struct gt_reader gt_reader_text = {
	.name = "ftrace-text",
	.detect = text_detect,
	.open = text_open,
	.scan = text_scan,
	.next = text_next,
	.close = text_close,
};
