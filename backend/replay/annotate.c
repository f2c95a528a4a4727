/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The text of grtrace's annotator (seed 002): ioctls of DRM devices, with whose they are; and of
 * grtrace's events in the same form, as its other tools print them.
 *
 *	[SECONDS.FRACTION] IOCTL_ENTER pid=5678 tid=5679 comm=glxgears cmd=0xc0106444 arg=0x7ffc
 *	[SECONDS.FRACTION] IOCTL_EXIT pid=5678 tid=5679 comm=glxgears ret=0 duration_ns=333000
 *	[SECONDS.FRACTION] SUBMIT ctx=0x1234 engine=GRAPHICS ring=0 seq=100
 *	[SECONDS.FRACTION] GPU SUBMIT ctx_id=0x1234, engine=GRAPHICS, ring=0, seqno=42
 *
 * The last is of merge_timeline, which leaves out whose an ioctl is.
 */
#include "lines.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE	  8192 /* lines read before the caller is asked again */
#define RINGS_MAX 4096u

/** struct annotate - @ring: the host's number and one, 0: not asked for yet */
struct annotate {
	struct gt_lines lines;
	struct gt_window window;
	struct gt_procs *procs;
	uint16_t ring[RINGS_MAX];
	bool gpu_known;
	uint16_t gpu;
};

/** struct note - a line; @ring GT_NONE32: none */
struct note {
	struct gt_event ev;
	uint32_t ring;
	enum gt_engine engine;
	const char *comm;
	size_t comm_len;
};

struct cut {
	const char *p, *end;
};

static void annotate_close(struct gt_source *s)
{
	struct annotate *a = s->priv;

	if (!a)
		return;
	gt_window_free(&a->window);
	gt_lines_free(&a->lines);
	gt_procs_free(a->procs);
	free(a);
	s->priv = NULL;
}

static int annotate_open(struct gt_source *s)
{
	struct annotate *a = calloc(1, sizeof(*a));

	s->priv = a;
	if (!a)
		return gt_source_error(s, ENOMEM, "no memory");
	a->procs = gt_procs_new();
	if (!a->procs || gt_lines_init(&a->lines, 0) || gt_window_init(&a->window))
		return gt_source_error(s, ENOMEM, "no memory");
	return 0;
}

static bool same(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(p, word, n);
}

/* Up to a blank, a comma or the end */
static size_t word(const struct cut *c)
{
	const char *q = c->p;

	while (q < c->end && *q != ' ' && *q != ',')
		q++;
	return (size_t)(q - c->p);
}

static void skip(struct cut *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == ','))
		c->p++;
}

static bool type_of(const char *p, size_t n, uint8_t *type)
{
	static const char *const names[] = GT_TYPE_NAMES;

	for (uint8_t i = 0; i <= GT_IOCTL_EXIT; i++)
		if (*names[i] == *p && same(p, n, names[i])) {
			*type = i;
			return true;
		}
	return false;
}

static enum gt_engine engine_of(const char *p, size_t n)
{
	static const char *const names[] = { "UNKNOWN", "GRAPHICS",	"COMPUTE",
					     "COPY",	"VIDEO_DECODE", "VIDEO_ENCODE" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (same(p, n, names[i]))
			return (enum gt_engine)i;
	return GT_ENGINE_UNKNOWN;
}

/* "0x1f", "42", "-22" */
static bool number(const char *p, size_t n, uint64_t *out)
{
	bool negative = n && *p == '-';
	const char *end = p + n;
	uint64_t v = 0;

	p += negative;
	if (end - p > 2 && p[0] == '0' && p[1] == 'x') {
		if (end - p > 18)
			return false;
		for (p += 2; p < end && isxdigit((unsigned char)*p); p++)
			v = v << 4 | (uint64_t)(*p <= '9' ? *p - '0' : (*p | 0x20) - 'a' + 10);
	} else {
		if (p == end || end - p > 19)
			return false;
		for (; p < end && *p >= '0' && *p <= '9'; p++)
			v = v * 10 + (uint64_t)(*p - '0');
	}
	*out = negative ? -v : v;
	return p == end;
}

/* A name may hold blanks and all else: it ends before the key that follows it, the last that can.
 */
static size_t comm_len(const struct cut *c)
{
	size_t left = (size_t)(c->end - c->p);

	for (size_t n = GT_REPLAY_COMM; n-- > 0;)
		if (n == left || (left >= n + 5 &&
				  (!memcmp(c->p + n, " cmd=", 5) || !memcmp(c->p + n, " ret=", 5))))
			return n;
	return word(c);
}

/* What an event has of @key; false: the value makes no sense. Other keys are left out. */
static bool set(struct note *t, const char *key, size_t len, const char *p, size_t n)
{
	uint64_t v = 0;

	if (same(key, len, "engine")) {
		t->engine = engine_of(p, n);
		return true;
	}
	if (!number(p, n, &v))
		return len != 3 || (memcmp(key, "pid", 3) && memcmp(key, "tid", 3));
	if (same(key, len, "pid"))
		t->ev.pid = (uint32_t)v;
	else if (same(key, len, "tid"))
		t->ev.tid = (uint32_t)v;
	else if (same(key, len, "cmd") || same(key, len, "ret") || same(key, len, "code"))
		t->ev.value = v;
	else if (same(key, len, "duration_ns"))
		t->ev.ref = v;
	else if (same(key, len, "ctx") || same(key, len, "ctx_id"))
		t->ev.ctx = v;
	else if (same(key, len, "seq") || same(key, len, "seqno"))
		t->ev.seqno = v;
	else if (same(key, len, "ring"))
		t->ring = v < RINGS_MAX ? (uint32_t)v : GT_NONE32;
	return true;
}

static bool fields(struct note *t, struct cut *c)
{
	for (skip(c); c->p < c->end; skip(c)) {
		size_t n = word(c);
		const char *key = c->p, *eq = memchr(key, '=', n);

		if (!eq) {
			c->p += n;
			continue;
		}
		c->p = eq + 1;
		if (same(key, (size_t)(eq - key), "comm")) {
			t->comm = c->p;
			t->comm_len = comm_len(c);
			c->p += t->comm_len;
			continue;
		}
		n = word(c);
		if (!set(t, key, (size_t)(eq - key), c->p, n))
			return false;
		c->p += n;
	}
	return true;
}

/* "[12.345678] WORD …" with a word that is known */
static bool parse(const char *p, size_t len, struct note *t)
{
	struct cut c = { p, p + len };
	union gt_record r;
	uint8_t type;
	uint64_t ts;
	size_t n;

	if (!len || *c.p++ != '[')
		return false;
	n = gt_line_seconds(c.p, (size_t)(c.end - c.p), &ts);
	if (!n || c.end - c.p < (ptrdiff_t)n + 2 || c.p[n] != ']' || c.p[n + 1] != ' ')
		return false;
	c.p += n + 2;
	n = word(&c);
	if (same(c.p, n, "CPU") || same(c.p, n, "GPU")) {
		c.p += n;
		skip(&c);
		n = word(&c);
	}
	if (!n || !type_of(c.p, n, &type))
		return false;
	c.p += n;
	gt_record_init(&r, ts, (enum gt_type)type);
	*t = (struct note){ .ev = r.ev, .ring = GT_NONE32 };
	return fields(t, &c);
}

static bool annotate_detect(const uint8_t *head, size_t len)
{
	const char *p = (const char *)head, *end = p + len, *nl;
	struct note t;

	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			return false;
		if (parse(p, (size_t)(nl - p), &t))
			return true;
	}
	return false;
}

static void place(struct gt_source *s, struct annotate *a, struct note *t)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);
	const struct gt_gpu_desc d = { .minor = -1 };
	char name[16];

	if (t->ring == GT_NONE32)
		return;
	if (!a->gpu_known)
		a->gpu = p->host->gpu(p, &d);
	a->gpu_known = true;
	if (!a->ring[t->ring] && a->gpu != GT_NONE16) {
		snprintf(name, sizeof(name), "ring%u", t->ring);
		a->ring[t->ring] = (uint16_t)(p->host->ring(p, a->gpu, name, t->engine) + 1);
	}
	t->ev.gpu = a->gpu;
	t->ev.ring = (uint16_t)(a->ring[t->ring] - 1);
}

/* The name of whoever acts, before the first that it does. */
static void put_process(struct annotate *a, const struct note *t)
{
	struct gt_item it = { .ts = t->ev.ts, .kind = GT_ITEM_RECORD };
	char comm[GT_REPLAY_COMM];
	const char *name;

	if (!t->comm_len || t->ev.pid == GT_NONE32 || !t->ev.pid)
		return;
	gt_comm_set(comm, t->comm, t->comm_len);
	name = gt_procs_tell(a->procs, t->ev.pid, t->ev.tid, comm);
	if (!name)
		return;
	gt_procs_record(&it.rec, t->ev.ts, t->ev.pid, name);
	(void)gt_window_put(&a->window, &it); /* it has no data, which alone takes memory */
}

static void take_line(struct gt_source *s, struct annotate *a, const char *p, size_t len)
{
	struct gt_item it = { .kind = GT_ITEM_RECORD };
	struct note t;

	while (len && (p[len - 1] == '\r' || p[len - 1] == ' '))
		len--;
	if (!len || *p != '[') { /* what a tool says of itself */
		s->skipped += len != 0;
		return;
	}
	if (!parse(p, len, &t)) {
		gt_source_fault(s, "line %llu is none of the annotator's: \"%.*s\"",
				(unsigned long long)a->lines.line, len < 60 ? (int)len : 60, p);
		return;
	}
	place(s, a, &t);
	put_process(a, &t);
	it.ts = t.ev.ts;
	it.rec.ev = t.ev;
	(void)gt_window_put(&a->window, &it);
}

static int annotate_next(struct gt_source *s)
{
	struct annotate *a = s->priv;

	for (int n = 0; !gt_window_full(&a->window, 2); n++) {
		const char *p;
		size_t len;
		int ret = gt_lines_next(s, &a->lines, true, &p, &len);

		if (ret < 0)
			return ret;
		if (!ret)
			break;
		take_line(s, a, p, len);
		if (n == PIECE)
			return 0;
	}
	return gt_window_get(&a->window, &s->item) ? 1 : -ENODATA;
}

const struct gt_reader gt_reader_annotate = {
	.name = "annotator's text",
	.detect = annotate_detect,
	.open = annotate_open,
	.next = annotate_next,
	.close = annotate_close,
};
