/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The text of gpu_sched_trace (eunomia-bpf/gpu_ext, extension/gpu_sched_trace.c; seed 003), and
 * what was saved of this product's nvidia_trace, which has its form:
 *
 *	HH:MM:SS.MICROS [CPU01] TASK_INIT    PID=1 NAME TSG=2 engine=COPY timeslice=1024 us
 * interleave=LOW runlist=0 HH:MM:SS.MICROS [CPU01] SCHEDULE     PID=1 NAME TSG=2 channels=8
 *	timeslice=1024 us interleave=LOW allowed=yes HH:MM:SS.MICROS [CPU01] WORK_SUBMIT  PID=1 NAME TSG=2
 * channel=2 token=1073741826 gpu=0 HH:MM:SS.MICROS [CPU01] TASK_DESTROY PID=1 NAME TSG=2
 *
 * Later versions write BIND for SCHEDULE and TOKEN_REQ for WORK_SUBMIT. Behind the events stands
 * how many there were of each kind, and how many were "dropped:", nobody says when.
 *
 * The tool's seconds are those of the wall clock when it prints, its microseconds those of the
 * event's own clock modulo a second: so times here begin at the first line's, a line is as long
 * behind the one before it as its microseconds say, and which second that is may be wrong by one.
 *
 * The tool names engine 1 COPY, and level 1 LOW; the driver's 1 is GR0, and MEDIUM
 * (kernel/gpu/gpu_engine_type.h, ctrl/ctrla06c.h of open-gpu-kernel-modules). nvidia_trace writes
 * the driver's names, with the engine's index: GR0, COPY3.
 *
 * A group's number is unique in its runlist only, and lines but the first do not say which that is:
 * of several of one process the newest is meant, which is marked as inferred.
 */
#include "replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS 4096u	   /* that live */
#define OWN    0x80000000u /* ids of those with an unknown runlist or number, from here on */
#define DAY    86400000000ull

enum what { INIT, SCHEDULE, TOKEN, DESTROY };

/** struct group - @id: below queues/, 0: free */
struct group {
	uint32_t id, pid, tsg, runlist;
	uint64_t nth;
};

/**
 * struct nvtext - a file that is read
 * @clock: us of the last line as written, @ts: as reckoned, @first: of the first; @any: there was
 *	one
 * @own: it has the driver's names; @made: groups so far, @own_ids: of these without a number
 * @dropped: events that the tool missed, of which no record has been made yet
 */
struct nvtext {
	struct gt_lines lines;
	struct gt_window window;
	struct gt_procs *procs;
	struct group *group;
	uint64_t clock, ts, first, made;
	uint32_t own_ids, dropped;
	uint16_t gpu;
	bool any, own, asked;
};

/** struct nvline - what is not in a line is all ones; @last: it has the last field of its kind */
struct nvline {
	enum what what;
	uint64_t us;
	uint32_t pid, tsg, runlist, channels, channel, timeslice, token;
	uint16_t cpu, interleave;
	enum gt_engine engine;
	bool own, allow, last;
	const char *comm;
	size_t comm_len;
};

struct cut {
	const char *p, *end;
};

static bool take(struct cut *c, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n))
		return false;
	c->p += n;
	return true;
}

static void blanks(struct cut *c)
{
	while (c->p < c->end && *c->p == ' ')
		c->p++;
}

static bool number(struct cut *c, uint32_t *out)
{
	const char *from = c->p;
	uint64_t v = 0;

	for (; c->p < c->end && *c->p >= '0' && *c->p <= '9' && c->p - from < 11; c->p++)
		v = v * 10 + (uint64_t)(*c->p - '0');
	if (c->p == from)
		return false;
	*out = v < GT_NONE32 ? (uint32_t)v : GT_NONE32;
	return true;
}

/* "-" is not known */
static bool number_or_none(struct cut *c, uint32_t *out)
{
	*out = GT_NONE32;
	return take(c, "-") || number(c, out);
}

static bool is_word(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(p, word, n);
}

/* "23:00:23.509353" */
static bool clock_time(struct cut *c, uint64_t *us)
{
	uint32_t h, m, s, f;
	const char *from;

	if (!number(c, &h) || !take(c, ":") || !number(c, &m) || !take(c, ":") || !number(c, &s) ||
	    !take(c, "."))
		return false;
	from = c->p;
	if (!number(c, &f) || c->p - from != 6 || h > 23 || m > 59 || s > 60)
		return false;
	*us = ((h * 60ull + m) * 60 + s) * 1000000 + f;
	return true;
}

static bool what_of(struct cut *c, enum what *what)
{
	static const struct {
		const char *word;
		enum what what;
	} words[] = { { "TASK_INIT ", INIT },  { "SCHEDULE ", SCHEDULE },
		      { "BIND ", SCHEDULE },   { "WORK_SUBMIT ", TOKEN },
		      { "TOKEN_REQ ", TOKEN }, { "TASK_DESTROY ", DESTROY } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (take(c, words[i].word)) {
			*what = words[i].what;
			return true;
		}
	return false;
}

static void engine(struct nvline *l, const char *p, size_t n)
{
	static const struct {
		const char *word;
		enum gt_engine engine;
	} own[] = { { "GR", GT_ENGINE_GRAPHICS },
		    { "COPY", GT_ENGINE_COPY },
		    { "NVDEC", GT_ENGINE_VIDEO_DECODE },
		    { "NVJPEG", GT_ENGINE_VIDEO_DECODE },
		    { "NVENC", GT_ENGINE_VIDEO_ENCODE } };

	if (is_word(p, n, "COPY") || is_word(p, n, "NVDEC") || is_word(p, n, "NVENC") ||
	    is_word(p, n, "NVJPEG")) { /* the tool's for 1 to 4: GR0 to GR3 */
		l->engine = GT_ENGINE_GRAPHICS;
		return;
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		size_t len = strlen(own[i].word);

		if (n <= len || memcmp(p, own[i].word, len) || p[len] < '0' || p[len] > '9')
			continue;
		l->engine = own[i].engine;
		l->own = true;
	}
}

static void level(struct nvline *l, const char *p, size_t n)
{
	static const char *const words[] = { "LOW", "MEDIUM", "HIGH" };

	for (uint16_t i = 0; i < 3; i++)
		if (is_word(p, n, words[i]))
			l->interleave = i;
}

static void field(struct nvline *l, const char *key, size_t len, struct cut v)
{
	static const char *const last[] = {
		[INIT] = "interleave", [SCHEDULE] = "allowed", [TOKEN] = "token", [DESTROY] = NULL
	};
	size_t n = (size_t)(v.end - v.p);

	l->last |= last[l->what] && is_word(key, len, last[l->what]);
	if (is_word(key, len, "engine"))
		engine(l, v.p, n);
	else if (is_word(key, len, "interleave"))
		level(l, v.p, n);
	else if (is_word(key, len, "allowed"))
		l->allow = is_word(v.p, n, "yes");
	else if (is_word(key, len, "runlist"))
		(void)number(&v, &l->runlist);
	else if (is_word(key, len, "timeslice"))
		(void)number(&v, &l->timeslice);
	else if (is_word(key, len, "channels"))
		(void)number(&v, &l->channels);
	else if (is_word(key, len, "channel"))
		(void)number(&v, &l->channel);
	else if (is_word(key, len, "token"))
		(void)number(&v, &l->token);
}

static void fields(struct nvline *l, struct cut c)
{
	while (blanks(&c), c.p < c.end) {
		const char *from = c.p, *eq;

		while (c.p < c.end && *c.p != ' ')
			c.p++;
		eq = memchr(from, '=', (size_t)(c.p - from));
		if (eq)
			field(l, from, (size_t)(eq - from), (struct cut){ eq + 1, c.p });
	}
}

/*
 * A name may hold blanks and all else: it ends before the last " TSG=" within its 16 bytes. One that
 * is empty ends before it begins.
 */
static bool name_and_group(struct cut *c, struct nvline *l)
{
	const char *at = NULL;

	for (const char *p = c->p - 1; p + 5 <= c->end && p <= c->p + 17; p++)
		if (!memcmp(p, " TSG=", 5))
			at = p;
	if (!at)
		return false;
	l->comm = c->p;
	l->comm_len = at > c->p ? (size_t)(at - c->p) : 0;
	while (l->comm_len && l->comm[l->comm_len - 1] == ' ')
		l->comm_len--;
	c->p = at + 5;
	return number_or_none(c, &l->tsg) && (c->p == c->end || *c->p == ' ');
}

static bool parse(const char *p, size_t len, struct nvline *l)
{
	struct cut c = { p, p + len };
	uint32_t cpu;

	memset(l, 0xff, sizeof(*l));
	l->engine = GT_ENGINE_UNKNOWN;
	l->own = l->allow = l->last = false;
	if (!clock_time(&c, &l->us) || !take(&c, " [CPU"))
		return false;
	if (!take(&c, "--")) {
		if (!number(&c, &cpu))
			return false;
		l->cpu = cpu < GT_NONE16 ? (uint16_t)cpu : GT_NONE16;
	}
	if (!take(&c, "] ") || !what_of(&c, &l->what))
		return false;
	blanks(&c);
	if (!take(&c, "PID=") || !number_or_none(&c, &l->pid))
		return false;
	blanks(&c);
	if (!name_and_group(&c, l))
		return false;
	fields(l, c);
	return true;
}

static size_t trimmed(const char *p, size_t len)
{
	while (len && (p[len - 1] == '\r' || p[len - 1] == ' '))
		len--;
	return len;
}

static bool nvtext_detect(const uint8_t *head, size_t len)
{
	const char *p = (const char *)head, *end = p + len, *nl;
	struct nvline l;

	p += gt_text_mark(p, len);
	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		if (parse(p, trimmed(p, (size_t)(nl - p)), &l))
			return true;
	}
	return false;
}

static void nvtext_close(struct gt_source *s)
{
	struct nvtext *t = s->priv;

	s->priv = NULL;
	if (!t)
		return;
	gt_window_free(&t->window);
	gt_lines_free(&t->lines);
	gt_procs_free(t->procs);
	free(t->group);
	free(t);
}

static int nvtext_open(struct gt_source *s)
{
	struct nvtext *t = calloc(1, sizeof(*t));

	s->priv = t;
	if (!t)
		return gt_source_error(s, ENOMEM, "no memory");
	t->procs = gt_procs_new();
	t->group = calloc(GROUPS, sizeof(*t->group));
	if (!t->procs || !t->group || gt_lines_init(&t->lines, 0) || gt_window_init(&t->window))
		return gt_source_error(s, ENOMEM, "no memory");
	return 0;
}

/* ns, never less than before: it stands still where no clock gets near, after as many midnights */
static uint64_t time_of(struct nvtext *t, uint64_t us)
{
	uint64_t since = us - t->clock, before = t->ts;

	if (!t->any)
		t->ts = t->first = us;
	else if (us >= t->clock)
		t->ts += since;
	else if (t->clock - us <=
		 1000000) /* the event was in the next second, and printed in this */
		t->ts += since + 1000000;
	else if (t->clock - us > DAY / 2) /* midnight */
		t->ts += since + DAY;
	if (t->ts > INT64_MAX / 1000)
		t->ts = before;
	t->any = true;
	t->clock = us;
	return t->ts * 1000;
}

/* The newest one of @l's process and number; @several: there are others */
static struct group *find(struct nvtext *t, const struct nvline *l, bool *several)
{
	struct group *found = NULL;

	*several = false;
	for (uint32_t i = 0; i < GROUPS && l->tsg != GT_NONE32; i++) {
		struct group *g = &t->group[i];

		if (!g->id || g->pid != l->pid || g->tsg != l->tsg)
			continue;
		*several |= found != NULL;
		if (!found || g->nth > found->nth)
			found = g;
	}
	return found;
}

static struct group *add(struct nvtext *t, const struct nvline *l)
{
	bool known = l->runlist < 0x8000 && l->tsg < 0x10000;
	uint32_t id = known ? l->runlist << 16 | l->tsg : OWN + t->own_ids++ % OWN;
	struct group *g = NULL, *same = NULL;

	id += !id; /* runlist 0, group 0: 0 is nobody's */
	for (uint32_t i = 0; i < GROUPS; i++)
		if (t->group[i].id == id && known)
			same = &t->group[i];
		else if (!t->group[i].id && !g)
			g = &t->group[i];
	if (same) /* of another GPU, or the end of the former was not seen */
		id = OWN + t->own_ids++ % OWN;
	if (g)
		*g = (struct group){ id, l->pid, l->tsg, l->runlist, ++t->made };
	return g;
}

static void put(struct nvtext *t, uint64_t ts, const union gt_record *r)
{
	struct gt_item it = { .ts = ts, .kind = GT_ITEM_RECORD, .rec = *r };

	(void)gt_window_put(&t->window, &it); /* it has no data, which alone takes memory */
}

static void put_process(struct nvtext *t, const struct nvline *l, uint64_t ts)
{
	char comm[GT_REPLAY_COMM];
	union gt_record r;
	const char *name;

	if (l->pid == GT_NONE32 || !l->pid || !l->comm_len)
		return;
	gt_comm_set(comm, l->comm, l->comm_len);
	name = gt_procs_emit(t->procs, l->pid, l->pid, comm);
	if (!name)
		return;
	gt_procs_record(&r, ts, l->pid, name);
	put(t, ts, &r);
}

static void put_event(struct nvtext *t, const struct nvline *l, const struct group *g, uint64_t ts,
		      bool several)
{
	static const enum gt_type types[] = { GT_QUEUE_CREATE, GT_QUEUE_SCHEDULE, GT_QUEUE_TOKEN,
					      GT_QUEUE_DESTROY };
	union gt_record r;

	gt_record_init(&r, ts, types[l->what]);
	r.ev.gpu = t->gpu;
	r.ev.cpu = l->cpu;
	r.ev.pid = l->pid;
	r.ev.queue = g ? g->id : GT_NONE32;
	r.ev.ctx = l->tsg == GT_NONE32 ? GT_NONE64 : l->tsg;
	r.ev.flags = several ? GT_F_INFERRED : 0;
	if (l->what == SCHEDULE)
		r.ev.value = l->allow;
	if (l->what == TOKEN && l->token != GT_NONE32)
		r.ev.value = l->token;
	if (l->what == TOKEN && l->channel != GT_NONE32)
		r.ev.ref = l->channel;
	put(t, ts, &r);
}

static void put_group(struct nvtext *t, const struct nvline *l, const struct group *g, uint64_t ts)
{
	union gt_record r;

	gt_record_init(&r, ts, GT_QUEUE);
	r.queue.gpu = t->gpu;
	r.queue.queue = g->id;
	r.queue.pid = g->pid;
	r.queue.ctx = g->tsg == GT_NONE32 ? GT_NONE64 : g->tsg;
	r.queue.kind = GT_QUEUE_TSG;
	r.queue.runlist = g->runlist;
	r.queue.channels = l->channels;
	r.queue.timeslice_us = l->timeslice;
	if (l->what == INIT) /* later lines do not say */
		r.queue.engine = (uint16_t)l->engine;
	r.queue.interleave = l->interleave;
	if (!t->own && l->interleave != GT_NONE16)
		r.queue.interleave = l->interleave < 2 ? l->interleave + 1 : GT_NONE16;
	put(t, ts, &r);
}

static void on_line(struct gt_source *s, struct nvtext *t, const struct nvline *l)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);
	const struct gt_gpu_desc d = { .driver = "nvidia", .minor = -1 };
	uint64_t ts = time_of(t, l->us);
	bool several = false;
	struct group *g;

	if (!t->asked)
		t->gpu = p->host->gpu(p, &d);
	t->asked = true;
	t->own |= l->own;
	g = l->what == INIT ? add(t, l) : find(t, l, &several);
	if (l->what == INIT && !g)
		gt_file_skip(&s->count, "groups_without_room", 1);
	put_process(t, l, ts);
	put_event(t, l, g, ts, several);
	if (g && (l->what == INIT || l->what == SCHEDULE))
		put_group(t, l, g, ts);
	if (g && l->what == DESTROY)
		g->id = 0;
}

/* Is it what the tool writes when it ends: "=== Statistics ===", "task_init:    5"? */
static bool is_statistics(const char *p, size_t len)
{
	static const char *const keys[] = { "===",	    "task_init",   "schedule",
					    "bind",	    "work_submit", "token_request",
					    "task_destroy", "dropped",	   "read_failed" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (len >= strlen(keys[i]) && !memcmp(p, keys[i], strlen(keys[i])))
			return true;
	return false;
}

/* What a run missed it says at its end: that was at any time until then. */
static void put_lost(struct gt_source *s, struct nvtext *t)
{
	struct gt_item it = { 0 };
	uint64_t ts = t->ts * 1000;

	gt_item_lost(&it, ts, t->first * 1000, ts, t->dropped == GT_NONE32 ? GT_NONE64 : t->dropped,
		     GT_NONE16);
	gt_file_lost(&s->count, it.rec.lost.count);
	t->dropped = 0;
	(void)gt_window_put(&t->window, &it);
}

/* "dropped:      3" */
static void statistics(struct nvtext *t, const char *p, size_t len)
{
	struct cut c = { p, p + len };
	uint32_t n;

	if (!take(&c, "dropped"))
		return;
	blanks(&c);
	if (!take(&c, ":"))
		return;
	blanks(&c);
	if (number(&c, &n) && __builtin_add_overflow(t->dropped, n, &t->dropped))
		t->dropped = GT_NONE32;
}

static int take_line(struct gt_source *s, const char *p, size_t len)
{
	struct nvtext *t = s->priv;
	struct nvline l;

	if (!p && t->dropped)
		put_lost(s, t);
	len = trimmed(p, len);
	if (!len)
		return 0;
	if (parse(p, len, &l)) {
		if (t->lines.cut && l.what != DESTROY && !l.last)
			return 0; /* what it lacks would be unknown for good; it is reported */
		on_line(s, t, &l);
	} else if (*p >= '0' && *p <= '9' && memchr(p, ':', len < 3 ? len : 3)) {
		gt_source_fault(s, GT_PLACE_LINE, t->lines.line,
				"line %llu is none of gpu_sched_trace's: \"%.*s\"",
				(unsigned long long)t->lines.line, len < 60 ? (int)len : 60, p);
	} else if (is_statistics(p, len)) {
		statistics(t, p, len);
		gt_file_skip(&s->count, "statistics", 1);
	} else {
		gt_file_skip(&s->count, "other_lines", 1);
	}
	return 0;
}

static int nvtext_next(struct gt_source *s)
{
	struct nvtext *t = s->priv;

	return gt_lines_item(s, &t->lines, &t->window, 4, take_line);
}

const struct gt_reader gt_reader_nvtext = {
	.name = "nvidia-text",
	.detect = nvtext_detect,
	.open = nvtext_open,
	.next = nvtext_next,
	.close = nvtext_close,
};
