/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.dat of version 6 without libtracecmd, for files that it refuses, such as gpuvis's sample of
 * Linux 4.11. Each CPU's pages are walked in turn and the CPUs merged by time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/ring_pages.h"
#include "replay.h"

/*
 * Is a trace.dat of version 7 whole? libtracecmd plays a file with its last options cut off
 * without a word, and without the buffers in them. trace-cmd.dat.v7(5): behind the page size
 * and the two strings of the compression stands the place of the first section of options; the
 * last option of each says where the next one is, and trace-cmd writes the last one last.
 */

#define VERSION_AT	   10
#define SECTIONS_MAX	   64
#define OPTIONS_MAX	   65536
#define SECTION_COMPRESSED 1
#define SECTION_STRINGS	   15

struct section {
	uint16_t id, flags;
	uint32_t description;
	uint64_t size;
};

static bool read_at(struct gt_source *s, uint64_t off, void *buf, size_t len)
{
	return gt_source_pread(s, buf, len, off) == (ssize_t)len;
}

/* Where the first options are; false: not for us to say. */
static bool first_section(struct gt_source *s, uint64_t *at)
{
	uint8_t head[256] = { 0 };
	ssize_t n = gt_source_pread(s, head, sizeof(head), 0);
	size_t i = VERSION_AT + 2 + 2 + 4;

	if (n < (ssize_t)i || memcmp(head + VERSION_AT, "7", 2) || head[VERSION_AT + 2])
		return false;
	for (int strings = 0; strings < 2 && i < (size_t)n; strings++)
		i += strnlen((char *)head + i, (size_t)n - i) + 1;
	if (i + sizeof(*at) > (size_t)n)
		return false;
	memcpy(at, head + i, sizeof(*at));
	return true;
}

/* Behind the last options come the names of the sections, if anything. */
static bool strings_whole(struct gt_source *s, uint64_t at)
{
	struct section h;

	if (at >= s->size)
		return true;
	if (!read_at(s, at, &h, sizeof(h)))
		return false;
	return h.id != SECTION_STRINGS || h.size <= s->size - at - sizeof(h);
}

/* The section's DONE option: 1 with @next, 0 if there is none to be read, -1 cut short. */
static int follow(struct gt_source *s, uint64_t at, uint64_t *next)
{
	struct section h;
	uint64_t off = at + sizeof(h), end;

	if (at >= s->size || !read_at(s, at, &h, sizeof(h)))
		return -1;
	if (h.id || h.flags & SECTION_COMPRESSED)
		return 0;
	if (h.size > s->size || off > s->size - h.size)
		return -1;
	end = off + h.size;
	for (int i = 0; i < OPTIONS_MAX && off + 6 <= end; i++) {
		uint16_t id;
		uint32_t size;

		if (!read_at(s, off, &id, sizeof(id)) || !read_at(s, off + 2, &size, sizeof(size)))
			return -1;
		if (!id && !read_at(s, off + 6, next, sizeof(*next)))
			return -1;
		if (!id)
			return *next || strings_whole(s, end) ? 1 : -1;
		off += 6 + (uint64_t)size;
	}
	return 0;
}

bool gt_head7_whole(struct gt_source *s, char *text, size_t len)
{
	uint64_t at = 0;

	if (!first_section(s, &at))
		return true;
	for (int i = 0; i < SECTIONS_MAX && at; i++) {
		uint64_t next = 0;
		int ret = follow(s, at, &next);

		if (ret < 0) {
			snprintf(text, len,
				 "byte %llu: the file ends before or inside its options, which "
				 "begin at byte %llu",
				 (unsigned long long)s->size, (unsigned long long)at);
			return false;
		}
		at = ret ? next : 0;
	}
	return true;
}

/*
 * The header of a trace.dat of version 6, by trace-cmd.dat.v6(5). Only what is of use is
 * kept; every size is checked against the file's before anything is read or allocated.
 */

#define TEXT_MAX   (8u << 20) /* of what is kept: formats, names of threads */
#define CPUS_MAX   4096u
#define SYSTEM_MAX 128u
#define OPTION_MAX 256u
#define EVENTS_MAX 65536u /* a tracepoint's number has 16 bits; systems are fewer */

#define OPTION_DATE   1
#define OPTION_BUFFER 3 /* the buffer of another instance */
#define OPTION_OFFSET 7

/* Where in the file it reads; @what is said when the file ends there. @events: formats so far */
struct cur {
	struct gt_source *s;
	uint64_t off;
	const char *what;
	uint32_t events;
};

static int cut(const struct cur *c)
{
	return gt_source_error(c->s, EBADMSG, "byte %llu: the file ends inside %s",
			       (unsigned long long)c->off, c->what);
}

static int odd(const struct cur *c, unsigned long long value)
{
	return gt_source_error(c->s, EBADMSG, "byte %llu: %s: %llu makes no sense",
			       (unsigned long long)c->off, c->what, value);
}

static int get(struct cur *c, void *buf, size_t len)
{
	if (gt_source_pread(c->s, buf, len, c->off) != (ssize_t)len)
		return cut(c);
	c->off += len;
	return 0;
}

static int get16(struct cur *c, uint16_t *v)
{
	return get(c, v, sizeof(*v));
}

static int get32(struct cur *c, uint32_t *v)
{
	return get(c, v, sizeof(*v));
}

static int get64(struct cur *c, uint64_t *v)
{
	return get(c, v, sizeof(*v));
}

static int skip(struct cur *c, uint64_t len)
{
	if (len > c->s->size || c->off > c->s->size - len)
		return cut(c);
	c->off += len;
	return 0;
}

/* @len bytes in memory of their own, with a NUL behind. */
static int get_text(struct cur *c, uint64_t len, char **out)
{
	int ret;

	if (len > c->s->size)
		return cut(c);
	if (len > TEXT_MAX)
		return odd(c, len);
	*out = malloc(len + 1);
	if (!*out)
		return gt_source_error(c->s, ENOMEM, "no memory");
	ret = get(c, *out, len);
	if (ret < 0) {
		free(*out);
		*out = NULL;
		return ret;
	}
	(*out)[len] = '\0';
	return 0;
}

static int get_magic(struct cur *c, const char *want, size_t len)
{
	char have[16];
	int ret = get(c, have, len);

	if (!ret && memcmp(have, want, len))
		return gt_source_error(c->s, EBADMSG, "byte %llu: no %s",
				       (unsigned long long)c->off - len, c->what);
	return ret;
}

/* A string with its NUL, at most @len bytes. */
static int get_string(struct cur *c, char *out, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int ret = get(c, &out[i], 1);

		if (ret < 0 || !out[i])
			return ret;
	}
	return odd(c, len);
}

static int initial(struct cur *c, struct gt_head6 *h)
{
	uint8_t b[2];
	int ret;

	c->what = "the initial format";
	ret = get_magic(c, "\x17\x08\x44tracing6", 12);
	if (!ret)
		ret = get(c, b, sizeof(b));
	if (ret < 0)
		return ret;
	if (b[0])
		return gt_source_error(c->s, EOPNOTSUPP,
				       "was recorded on a machine of the other byte order");
	h->long_size = b[1];
	return get32(c, &h->page_size);
}

static int headers(struct cur *c, struct gt_head6 *h)
{
	uint64_t len = 0;
	int ret;

	c->what = "header_page";
	ret = get_magic(c, "header_page", 12);
	if (!ret)
		ret = get64(c, &len);
	if (!ret)
		ret = get_text(c, len, &h->header_page);
	h->page_len = len;
	c->what = "header_event";
	if (!ret)
		ret = get_magic(c, "header_event", 13);
	if (!ret)
		ret = get64(c, &len);
	if (!ret)
		ret = get_text(c, len, &h->header_event);
	h->event_len = len;
	return ret;
}

/* "name: NAME" and "ID: NUMBER" of a format; a format without is left out. */
static void add_format(struct gt_source *s, const char *system, const char *text, size_t len)
{
	const char *name = strstr(text, "name: "), *id = strstr(text, "\nID: ");
	char copy[SYSTEM_MAX];
	size_t n;

	if (!name || !id)
		return;
	name += 6;
	n = strcspn(name, "\n");
	if (!n || n >= sizeof(copy))
		return;
	memcpy(copy, name, n);
	copy[n] = '\0';
	gt_events_add(s->events, system, copy, atoi(id + 5), text, len);
}

static int formats(struct cur *c, const char *system, uint32_t n)
{
	c->what = "the event formats";
	/* The file may have holes, so its size alone is no bound. */
	if (n > EVENTS_MAX - c->events)
		return odd(c, n);
	c->events += n;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t len;
		char *text = NULL;
		int ret = get64(c, &len);

		if (!ret)
			ret = get_text(c, len, &text);
		if (ret < 0)
			return ret;
		if (system)
			add_format(c->s, system, text, len);
		free(text);
	}
	return 0;
}

static int systems(struct cur *c)
{
	uint32_t n, events;
	int ret;

	c->what = "the ftrace formats";
	ret = get32(c, &n);
	if (!ret)
		ret = formats(c, NULL, n);
	if (!ret)
		ret = get32(c, &n);
	if (!ret && n > EVENTS_MAX)
		return odd(c, n);
	for (uint32_t i = 0; !ret && i < n; i++) {
		char system[SYSTEM_MAX];

		ret = get_string(c, system, sizeof(system));
		if (!ret)
			ret = get32(c, &events);
		if (!ret)
			ret = formats(c, system, events);
	}
	return ret;
}

/* kallsyms and printk formats are of no use here; then who was who */
static int tables(struct cur *c, struct gt_head6 *h)
{
	static const char *const names[] = { "kallsyms", "the printk formats" };
	uint64_t len = 0;
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		uint32_t size = 0;

		c->what = names[i];
		ret = get32(c, &size);
		if (!ret)
			ret = skip(c, size);
	}
	c->what = "the names of threads";
	if (!ret)
		ret = get64(c, &len);
	if (!ret)
		ret = get_text(c, len, &h->cmdlines);
	h->cmdlines_len = len;
	return ret;
}

static int option(struct cur *c, struct gt_head6 *h, uint16_t id, uint32_t size)
{
	char text[OPTION_MAX] = "";
	int ret;

	if (id == OPTION_BUFFER)
		gt_source_fault(c->s, GT_PLACE_BYTE, c->off,
				"byte %llu: the events of another instance are left out",
				(unsigned long long)c->off);
	if ((id != OPTION_DATE && id != OPTION_OFFSET) || size >= sizeof(text))
		return skip(c, size);
	ret = get(c, text, size);
	if (!ret)
		/* both are added, as libtracecmd does */
		h->offset = (int64_t)((uint64_t)h->offset + (uint64_t)strtoll(text, NULL, 0));
	return ret;
}

static int options(struct cur *c, struct gt_head6 *h)
{
	c->what = "the options";
	for (;;) {
		uint16_t id;
		uint32_t size;
		int ret = get16(c, &id);

		if (ret || !id)
			return ret;
		ret = get32(c, &size);
		if (!ret)
			ret = option(c, h, id, size);
		if (ret)
			return ret;
	}
}

static int places(struct cur *c, struct gt_head6 *h)
{
	h->cpu = calloc(h->cpus, sizeof(*h->cpu));
	if (!h->cpu)
		return gt_source_error(c->s, ENOMEM, "no memory");
	for (uint32_t i = 0; i < h->cpus; i++) {
		struct gt_cpu6 *cpu = &h->cpu[i];
		int ret = get64(c, &cpu->off);

		if (!ret)
			ret = get64(c, &cpu->size);
		if (ret < 0)
			return ret;
		if (cpu->size <= c->s->size && cpu->off <= c->s->size - cpu->size)
			continue;
		gt_source_fault(
			c->s, GT_PLACE_BYTE, c->off - 16,
			"byte %llu: data of CPU %u, %llu bytes at %llu, is beyond the file's end",
			(unsigned long long)c->off - 16, i, (unsigned long long)cpu->size,
			(unsigned long long)cpu->off);
		cpu->off = cpu->off < c->s->size ? cpu->off : c->s->size;
		cpu->size = c->s->size - cpu->off;
	}
	return 0;
}

static int data(struct cur *c, struct gt_head6 *h)
{
	char kind[10];
	int ret;

	c->what = "the number of CPUs";
	ret = get32(c, &h->cpus);
	if (!ret && (!h->cpus || h->cpus > CPUS_MAX))
		return odd(c, h->cpus);
	c->what = "the head of the data";
	if (!ret)
		ret = get(c, kind, sizeof(kind));
	if (!ret && !memcmp(kind, "options  ", sizeof(kind))) {
		ret = options(c, h);
		c->what = "the head of the data";
		if (!ret)
			ret = get(c, kind, sizeof(kind));
	}
	if (ret)
		return ret;
	if (!memcmp(kind, "latency  ", sizeof(kind))) {
		h->text = c->off;
		return 0;
	}
	if (memcmp(kind, "flyrecord", sizeof(kind)))
		return gt_source_error(c->s, EBADMSG, "byte %llu: neither flyrecord nor latency",
				       (unsigned long long)c->off - sizeof(kind));
	return places(c, h);
}

/** gt_head6_read() - reads it and adds its tracepoints to s->events; -errno with the sentence reported
 */
static int gt_head6_read(struct gt_source *s, struct gt_head6 *h)
{
	struct cur c = { .s = s };
	int ret = initial(&c, h);

	if (!ret)
		ret = headers(&c, h);
	if (!ret)
		ret = systems(&c);
	if (!ret)
		ret = tables(&c, h);
	if (!ret)
		ret = data(&c, h);
	return ret;
}

static void gt_head6_free(struct gt_head6 *h)
{
	free(h->header_page);
	free(h->header_event);
	free(h->cmdlines);
	free(h->cpu);
	memset(h, 0, sizeof(*h));
}

#define PIECE	    16384 /* records walked before the caller is asked again */
#define PID_AT	    4	  /* common_pid, behind type, flags and preempt_count */
#define THREADS_MAX 262144u

/**
 * struct cpu - a CPU's pages
 * @off, @end: of the next page in the file
 * @ev: its next record, if @have; @lost: so many were lost before it
 * @last: time of the record before; @begun: its first has been taken
 */
struct cpu {
	uint64_t off, end, lost, last;
	uint8_t *page;
	struct gt_page_iter it;
	struct gt_page_event ev;
	bool have, begun;
};

struct thread {
	uint32_t tid;
	char comm[GT_REPLAY_COMM];
};

/**
 * struct dat6 - a file
 * @thread: names, by tid
 * @begin: time of its first record
 * @at: first reading: the CPU that is read
 */
struct dat6 {
	struct gt_head6 head;
	struct gt_page_format format;
	struct cpu *cpu;
	struct thread *thread;
	uint64_t begin;
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
		c->have = c->begun = false;
		memset(&c->it, 0, sizeof(c->it));
	}
	d->begin = 0;
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
		return gt_source_error(s, EBADMSG, "its header_page says pages of %u bytes",
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
		gt_source_fault(s, GT_PLACE_BYTE, c->off,
				"byte %llu: a page of CPU %u is cut short",
				(unsigned long long)c->off, (unsigned int)(c - d->cpu));
	ret = gt_page_begin(&c->it, &d->format, c->page, n > 0 ? (size_t)n : 0);
	if (ret < 0 && s->scanned)
		gt_source_fault(s, GT_PLACE_BYTE, c->off,
				"byte %llu: a page of CPU %u makes no sense",
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
				s, GT_PLACE_BYTE, (c->off - d->format.size),
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

/* The CPU with the next record; @gap: one with records behind a gap that was not reported yet, or NULL */
static struct cpu *earliest(struct gt_source *s, struct dat6 *d, struct cpu **gap)
{
	struct cpu *first = NULL;

	*gap = NULL;
	for (unsigned int i = 0; i < d->head.cpus; i++) {
		struct cpu *c = &d->cpu[i];

		if (!c->have && !advance(s, d, c))
			continue;
		if (c->lost)
			*gap = c;
		if (!first || c->ev.ts < first->ev.ts)
			first = c;
	}
	if (first && !d->begin)
		d->begin = first->ev.ts;
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

/* As soon as the last record before it has been read: other CPUs go on within the gap. */
static void set_lost(struct gt_source *s, const struct dat6 *d, struct cpu *c)
{
	uint64_t since = shifted(d, c->last ? c->last : d->begin);

	gt_file_lost(&s->count, c->lost);
	gt_item_lost(&s->item, since, since, shifted(d, c->ev.ts), c->lost, (uint16_t)(c - d->cpu));
	c->lost = 0;
	c->begun = true;
}

/* The first record of a CPU, and nothing says that there were others before */
static bool set_begin(struct gt_source *s, const struct dat6 *d, struct cpu *c)
{
	bool later = !c->begun && !c->last && c->ev.ts > d->begin;

	c->begun = true;
	if (later)
		gt_item_begin(&s->item, shifted(d, c->ev.ts), shifted(d, d->begin),
			      (uint16_t)(c - d->cpu));
	return later;
}

static int dat6_next(struct gt_source *s)
{
	struct dat6 *d = s->priv;

	for (int i = 0; i < PIECE; i++) {
		struct cpu *gap, *c = earliest(s, d, &gap);
		int ev;

		if (!c)
			return -ENODATA;
		if (gap) {
			set_lost(s, d, gap);
			return 1;
		}
		if (set_begin(s, d, c))
			return 1;
		c->have = false;
		c->last = c->ev.ts;
		ev = gt_events_by_id(s->events, id_of(&c->ev));
		if (gt_events_wanted(s->events, ev)) {
			set_item(s, d, c, ev);
			return 1;
		}
		gt_source_skip(s, 1);
	}
	return 0;
}

const struct gt_reader gt_reader_dat6 = {
	.name = "trace.dat-6",
	.open = dat6_open,
	.scan = dat6_scan,
	.next = dat6_next,
	.close = dat6_close,
};
