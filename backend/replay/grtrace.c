/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads files that `cat events0 >file` saved from grtrace's relay files. A file has one CPU's records, so
 * several are played together. backend/relay decodes them. They have no names of processes; the text of
 * grtrace's annotator has.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../relay/decode.h"
#include "replay.h"

#define PIECE (16u << 20) /* bytes without a record before the caller is asked again */

/** struct dump - @set: what it shares with others; its @own if it is the first of them; @unknown:
 * records of a type that nobody knows, as counted up to now */
struct dump {
	struct gt_grt g;
	struct gt_grt_set own, *set;
	uint64_t at, unknown;
	int64_t offset;
	bool ended;
};

static bool dump_detect(const uint8_t *head, size_t len)
{
	unsigned int version;

	return gt_grt_detect(head, len, &version);
}

static void fault(void *arg, uint64_t at, const char *what)
{
	gt_source_fault(arg, GT_PLACE_BYTE, at, "byte %llu: %s", (unsigned long long)at, what);
}

/* Files that are played together are of one producer. */
static struct gt_grt_set *shared(struct gt_source *s)
{
	struct gt_source *o;

	for (unsigned int i = 0; (o = gt_replay_source(s->r, i)) != NULL && o != s; i++)
		if (o->reader == &gt_reader_grtrace && o->priv)
			return ((struct dump *)o->priv)->set;
	return NULL;
}

static int check_version(struct gt_source *s, uint8_t *buf, size_t len)
{
	ssize_t n = gt_source_pread(s, buf, len, 0);
	unsigned int version = 0;

	if (n > 0)
		gt_grt_detect(buf, (size_t)n, &version);
	if (version && version != GRT_VERSION)
		return gt_source_error(s, EPROTONOSUPPORT,
				       "grtrace's records of version %u; version %u is known here",
				       version, GRT_VERSION);
	return 0;
}

static int dump_open(struct gt_source *s)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);
	const struct gt_replay_options *o = p->options;
	struct dump *d = calloc(1, sizeof(*d));
	char err[200];

	s->priv = d;
	if (!d)
		return gt_source_error(s, ENOMEM, "no memory");
	d->offset = o->relay_clock_offset;
	d->set = shared(s);
	if (!d->set) {
		d->set = &d->own;
		if (gt_grt_set_init(d->set, p, o->relay_types, err, sizeof(err)))
			return p->host->error(p, EINVAL, "relay_types: %s", err);
	}
	if (gt_grt_init(&d->g, d->set, GT_NONE32, true))
		return gt_source_error(s, ENOMEM, "no memory");
	d->g.fault = fault;
	d->g.arg = s;
	return check_version(s, d->g.buf, GT_REPLAY_HEAD);
}

static void dump_close(struct gt_source *s)
{
	struct dump *d = s->priv;

	if (!d)
		return;
	gt_grt_free(&d->g);
	free(d);
	s->priv = NULL;
}

/* Bytes that were read; 0 at the end, -errno reported */
static ssize_t read_on(struct gt_source *s, struct dump *d)
{
	size_t room;
	uint8_t *to = gt_grt_room(&d->g, &room);
	ssize_t n = gt_source_pread(s, to, room, d->at);

	if (n < 0)
		return gt_source_error(s, (int)-n, "byte %llu: cannot be read: %s",
				       (unsigned long long)d->at, strerror((int)-n));
	gt_grt_filled(&d->g, (size_t)n);
	d->at += (uint64_t)n;
	if (!n)
		gt_grt_end(&d->g);
	return n;
}

static uint64_t shifted(uint64_t ts, int64_t by)
{
	if (ts >= GT_NONE64 / 2)
		return ts;
	if (by < 0)
		return ts > (uint64_t)-by ? ts - (uint64_t)-by : 0;
	return ts + (uint64_t)by;
}

static void shift(union gt_record *r, int64_t by)
{
	r->ev.ts = shifted(r->ev.ts, by);
	if (r->ev.type != GT_LOST)
		return;
	r->lost.since = shifted(r->lost.since, by);
	r->lost.until = shifted(r->lost.until, by);
}

static int dump_next(struct gt_source *s)
{
	struct dump *d = s->priv;
	uint64_t from = d->at;

	while (!gt_grt_next(&d->g, &s->item.rec)) {
		ssize_t n = d->ended ? 0 : read_on(s, d);

		if (n < 0)
			return (int)n;
		if (d->ended)
			return -ENODATA;
		d->ended = !n;
		if (d->at - from > PIECE)
			return 0;
	}
	if (d->offset)
		shift(&s->item.rec, d->offset);
	if (s->item.rec.ev.type == GT_LOST)
		gt_file_lost(&s->count, s->item.rec.lost.count);
	gt_source_skip(s, d->g.n.unknown - d->unknown);
	d->unknown = d->g.n.unknown;
	s->item.kind = GT_ITEM_RECORD;
	s->item.ts = s->item.rec.ev.ts;
	return 1;
}

const struct gt_reader gt_reader_grtrace = {
	.name = "grtrace-dump",
	.detect = dump_detect,
	.open = dump_open,
	.next = dump_next,
	.close = dump_close,
};

/*
 * The text of grtrace's annotator (seed 002): ioctls of DRM devices with their processes; and of
 * grtrace's events in the same form, as its other tools print them.
 *
 *	[SECONDS.FRACTION] IOCTL_ENTER pid=5678 tid=5679 comm=glxgears cmd=0xc0106444 arg=0x7ffc
 *	[SECONDS.FRACTION] IOCTL_EXIT pid=5678 tid=5679 comm=glxgears ret=0 duration_ns=333000
 *	[SECONDS.FRACTION] SUBMIT ctx=0x1234 engine=GRAPHICS ring=0 seq=100
 *	[SECONDS.FRACTION] GPU SUBMIT ctx_id=0x1234, engine=GRAPHICS, ring=0, seqno=42
 *
 * The last is of merge_timeline, which leaves out the process of an ioctl.
 */

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

	for (p += gt_text_mark(p, len); p < end; p = nl + 1) {
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
	name = gt_procs_emit(a->procs, t->ev.pid, t->ev.tid, comm);
	if (!name)
		return;
	gt_procs_record(&it.rec, t->ev.ts, t->ev.pid, name);
	(void)gt_window_put(&a->window, &it); /* it has no data, which alone takes memory */
}

static int take_line(struct gt_source *s, const char *p, size_t len)
{
	struct gt_item it = { .kind = GT_ITEM_RECORD };
	struct annotate *a = s->priv;
	struct note t;

	while (len && (p[len - 1] == '\r' || p[len - 1] == ' '))
		len--;
	if (!len || *p != '[') { /* what a tool says of itself */
		if (len)
			gt_file_skip(&s->count, "other_lines", 1);
		return 0;
	}
	if (!parse(p, len, &t)) {
		gt_source_fault(s, GT_PLACE_LINE, a->lines.line,
				"line %llu is none of the annotator's: \"%.*s\"",
				(unsigned long long)a->lines.line, len < 60 ? (int)len : 60, p);
		return 0;
	}
	place(s, a, &t);
	put_process(a, &t);
	it.ts = t.ev.ts;
	it.rec.ev = t.ev;
	return gt_window_put(&a->window, &it);
}

static int annotate_next(struct gt_source *s)
{
	struct annotate *a = s->priv;

	return gt_lines_item(s, &a->lines, &a->window, 2, take_line);
}

const struct gt_reader gt_reader_annotate = {
	.name = "annotator-text",
	.detect = annotate_detect,
	.open = annotate_open,
	.next = annotate_next,
	.close = annotate_close,
};
