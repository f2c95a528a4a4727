/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.dat of version 6 without libtracecmd, for files that it refuses, such as gpuvis's sample of
 * Linux 4.11. Each CPU's pages are walked in turn and the CPUs merged by time.
 */
#include "internal.h"

#include "../eventmap/pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE	    16384 /* records walked before the caller is asked again */
#define PID_AT	    4	  /* common_pid, behind type, flags and preempt_count */
#define THREADS_MAX 262144u

/**
 * struct cpu - a CPU's pages
 * @off, @end: of the next page in the file
 * @ev: its next record, if @have; @lost: so many were lost before it
 * @last: time of the record before
 */
struct cpu {
	uint64_t off, end, lost, last;
	uint8_t *page;
	struct gt_page_iter it;
	struct gt_page_event ev;
	bool have;
};

struct thread {
	uint32_t tid;
	char comm[GT_REPLAY_COMM];
};

/**
 * struct dat6 - a file
 * @thread: names, by tid
 * @at: first reading: the CPU that is read
 */
struct dat6 {
	struct gt_head6 head;
	struct gt_page_format format;
	struct cpu *cpu;
	struct thread *thread;
	unsigned int threads, at;
};

static void dat6_close(struct gt_source *s)
{
	struct dat6 *d = s->priv;

	gt_events_free(s->events);
	s->events = NULL;
	s->priv = NULL;
	if (!d)
		return;
	for (unsigned int i = 0; d->cpu && i < d->head.cpus; i++)
		free(d->cpu[i].page);
	free(d->cpu);
	free(d->thread);
	gt_head6_free(&d->head);
	free(d);
}

static int by_tid(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Lines "TID NAME". */
static void name_threads(struct dat6 *d)
{
	const char *p = d->head.cmdlines;
	size_t lines = 1;

	for (const char *q = p; (q = strchr(q, '\n')) != NULL; q++)
		lines++;
	if (lines > THREADS_MAX)
		lines = THREADS_MAX;
	d->thread = calloc(lines, sizeof(*d->thread));
	while (d->thread && *p && d->threads < lines) {
		size_t len = strcspn(p, "\n");
		char *name;
		unsigned long tid = strtoul(p, &name, 10);

		if (name > p && *name == ' ' && name < p + len && tid <= INT32_MAX) {
			struct thread *t = &d->thread[d->threads++];

			name++;
			t->tid = (uint32_t)tid;
			gt_comm_set(t->comm, name, (size_t)(p + len - name));
		}
		p += len + (p[len] == '\n');
	}
	if (d->thread)
		qsort(d->thread, d->threads, sizeof(*d->thread), by_tid);
}

static void to_begin(struct dat6 *d)
{
	for (unsigned int i = 0; i < d->head.cpus; i++) {
		struct cpu *c = &d->cpu[i];

		c->off = d->head.cpu[i].off;
		c->end = c->off + d->head.cpu[i].size;
		c->lost = c->last = 0;
		c->have = false;
		memset(&c->it, 0, sizeof(c->it));
	}
	d->at = 0;
}

static int make_cpus(struct gt_source *s, struct dat6 *d)
{
	d->cpu = calloc(d->head.cpus, sizeof(*d->cpu));
	for (unsigned int i = 0; d->cpu && i < d->head.cpus; i++) {
		if (!d->head.cpu[i].size)
			continue;
		d->cpu[i].page = malloc(d->format.size);
		if (!d->cpu[i].page)
			return gt_source_error(s, ENOMEM, "no memory");
	}
	if (!d->cpu)
		return gt_source_error(s, ENOMEM, "no memory");
	to_begin(d);
	return 0;
}

static int dat6_open(struct gt_source *s)
{
	struct dat6 *d = calloc(1, sizeof(*d));
	const struct gt_head6 *h;
	int ret;

	s->priv = d;
	if (!d)
		return gt_source_error(s, ENOMEM, "no memory");
	s->events = gt_events_new(s);
	if (!s->events)
		return -ENOENT;
	ret = gt_head6_read(s, &d->head);
	if (ret < 0)
		return ret;
	h = &d->head;
	if (h->text) {
		s->begin = h->text;
		return gt_source_reopen(s, &gt_reader_text);
	}
	if (gt_page_format_parse(&d->format, h->header_page, h->page_len, h->header_event,
				 h->event_len, false) < 0)
		return gt_source_error(s, EBADMSG,
				       "its header_page or header_event makes no sense");
	if (d->format.size > 16u << 20)
		return gt_source_error(s, EBADMSG, "its header_page tells pages of %u bytes",
				       d->format.size);
	name_threads(d);
	return make_cpus(s, d);
}

/* The next page of a CPU; false at its end. */
static bool turn(struct gt_source *s, struct dat6 *d, struct cpu *c)
{
	size_t want = d->format.size;
	ssize_t n;
	int ret;

	if (c->off >= c->end)
		return false;
	if (c->end - c->off < want)
		want = (size_t)(c->end - c->off);
	n = gt_source_pread(s, c->page, want, c->off);
	if (n < (ssize_t)want && s->scanned)
		gt_source_fault(s, "byte %llu: a page of CPU %u is cut short",
				(unsigned long long)c->off, (unsigned int)(c - d->cpu));
	ret = gt_page_begin(&c->it, &d->format, c->page, n > 0 ? (size_t)n : 0);
	if (ret < 0 && s->scanned)
		gt_source_fault(s, "byte %llu: a page of CPU %u makes no sense",
				(unsigned long long)c->off, (unsigned int)(c - d->cpu));
	if (ret < 0 && !c->it.p)
		c->it.end = c->it.p = c->page;
	if (c->it.missed)
		c->lost = c->lost == GT_NONE64 || c->it.missed == GT_PAGE_MISSED_UNKNOWN
				  ? GT_NONE64
				  : c->lost + c->it.missed;
	c->off += want;
	return true;
}

/* The next record of a CPU; false at its end. */
static bool advance(struct gt_source *s, struct dat6 *d, struct cpu *c)
{
	for (;;) {
		bool was_bad = c->it.malformed;

		c->have = c->it.p && gt_page_next(&c->it, &c->ev);
		if (c->have)
			return true;
		if (c->it.malformed && !was_bad && s->scanned)
			gt_source_fault(
				s,
				"byte %llu: a page of CPU %u makes no sense from its byte %zu on",
				(unsigned long long)(c->off - d->format.size),
				(unsigned int)(c - d->cpu), (size_t)(c->it.p - c->page));
		if (!turn(s, d, c))
			return false;
	}
}

static unsigned int id_of(const struct gt_page_event *ev)
{
	uint16_t id = GT_NONE16;

	if (ev->len >= sizeof(id))
		memcpy(&id, ev->data, sizeof(id));
	return id;
}

static int dat6_scan(struct gt_source *s)
{
	struct dat6 *d = s->priv;

	for (int i = 0; i < PIECE && d->at < d->head.cpus; i++) {
		struct cpu *c = &d->cpu[d->at];
		int ev;

		if (!advance(s, d, c)) {
			d->at++;
			continue;
		}
		ev = gt_events_by_id(s->events, id_of(&c->ev));
		if (ev >= 0)
			gt_events_seen(s->events, ev, c->ev.data, c->ev.len, true);
	}
	if (d->at < d->head.cpus)
		return 0;
	to_begin(d);
	return 1;
}

static struct cpu *earliest(struct gt_source *s, struct dat6 *d)
{
	struct cpu *first = NULL;

	for (unsigned int i = 0; i < d->head.cpus; i++) {
		struct cpu *c = &d->cpu[i];

		if (!c->have && !advance(s, d, c))
			continue;
		if (!first || c->ev.ts < first->ev.ts)
			first = c;
	}
	return first;
}

static uint64_t shifted(const struct dat6 *d, uint64_t ts)
{
	return ts + (uint64_t)d->head.offset;
}

static void set_comm(const struct dat6 *d, uint32_t tid, char out[GT_REPLAY_COMM])
{
	struct thread key = { .tid = tid };
	const struct thread *t = NULL;

	if (d->threads)
		t = bsearch(&key, d->thread, d->threads, sizeof(key), by_tid);
	if (t)
		memcpy(out, t->comm, GT_REPLAY_COMM);
	else
		gt_comm_set(out, tid ? "" : "<idle>", tid ? 0 : 6);
}

static void set_item(struct gt_source *s, struct dat6 *d, struct cpu *c, int ev)
{
	struct gt_item *it = &s->item;
	uint32_t tid = GT_NONE32;

	if (c->ev.len >= PID_AT + sizeof(tid))
		memcpy(&tid, c->ev.data + PID_AT, sizeof(tid));
	it->ts = shifted(d, c->ev.ts);
	it->kind = GT_ITEM_RAW;
	it->ev = ev;
	it->ctx = (struct gt_evctx){
		.ts = it->ts, .tid = tid, .pid = tid, .cpu = (uint16_t)(c - d->cpu)
	};
	it->data = c->ev.data;
	it->len = c->ev.len;
	it->where = 0;
	set_comm(d, tid, it->comm);
}

static int dat6_next(struct gt_source *s)
{
	struct dat6 *d = s->priv;

	for (int i = 0; i < PIECE; i++) {
		struct cpu *c = earliest(s, d);
		uint64_t lost;
		int ev;

		if (!c)
			return -ENODATA;
		lost = c->lost;
		if (lost) {
			c->lost = 0;
			s->lost += lost == GT_NONE64 ? 1 : lost;
			gt_item_lost(&s->item, shifted(d, c->ev.ts), shifted(d, c->last), lost,
				     (uint16_t)(c - d->cpu));
			return 1;
		}
		c->have = false;
		c->last = c->ev.ts;
		ev = gt_events_by_id(s->events, id_of(&c->ev));
		if (gt_events_wanted(s->events, ev)) {
			set_item(s, d, c, ev);
			return 1;
		}
		s->skipped++;
	}
	return 0;
}

const struct gt_reader gt_reader_dat6 = {
	.name = "trace.dat version 6",
	.open = dat6_open,
	.scan = dat6_scan,
	.next = dat6_next,
	.close = dat6_close,
};
