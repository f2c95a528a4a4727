/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where records begin, and what is missing between them.
 *
 * A record is known by its header: the file's own CPU, a number that goes on from the last one, a
 * size that can be. Where one is not as it must be, the next place is looked for at which one is:
 * first behind the last record's header, as its size may have been the wrong one.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"

/* What grtrace's records mean: grtrace(5). A payload may be shorter or longer than it is known. */

#define CUSTOMS	  (GT_CUSTOM6 - GT_CUSTOM0 + 1)
#define NAME_SIZE sizeof(((struct grt_custom *)0)->name)

/* What the numbers of grtrace(5) are, and what METADATA may call other ones */
static const struct kind {
	const char *name;
	uint16_t type;
	uint8_t kind;
} kinds[] = {
	{ "SUBMIT", GRT_SUBMIT, GT_SUBMIT },
	{ "COMPLETE", GRT_COMPLETE, GT_COMPLETE },
	{ "CTX_SWITCH", GRT_CTX_SWITCH, GT_CTX_SWITCH },
	{ "COMMIT", GRT_COMMIT, GT_COMMIT },
	{ "START", GRT_START, GT_START },
	{ "END", GRT_END, GT_END },
	{ "IRQ", GRT_IRQ, GT_IRQ },
	{ "SYNC_WAIT_ENTER", GRT_SYNC_WAIT_ENTER, GT_SYNC_WAIT_ENTER },
	{ "SYNC_WAIT_EXIT", GRT_SYNC_WAIT_EXIT, GT_SYNC_WAIT_EXIT },
	{ "ERROR", GRT_ERROR, GT_ERROR },
	{ "CUSTOM", GRT_CUSTOM, GT_GRT_CUSTOM },
	{ "STREAM_INFO", GRT_STREAM_INFO, GT_GRT_STREAM_INFO },
	{ "METADATA", GRT_METADATA, GT_GRT_METADATA },
	{ "RING", GRT_RING, GT_GRT_RING },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static const struct kind *kind_called(const char *name, size_t len)
{
	for (size_t i = 0; i < KINDS; i++)
		if (!strncmp(kinds[i].name, name, len) && !kinds[i].name[len])
			return &kinds[i];
	return NULL;
}

/* Its number from now on: another that it had is nothing any more. */
static void set_type(uint8_t types[GT_GRT_TYPES], unsigned int type, const struct kind *k)
{
	for (unsigned int i = 0; i < GT_GRT_TYPES; i++)
		if (types[i] == k->kind)
			types[i] = GT_GRT_UNKNOWN;
	types[type] = k->kind;
}

/* "SUBMIT=0", up to a comma, a blank or the end */
static bool parse_type(uint8_t types[GT_GRT_TYPES], const char *word, size_t len)
{
	const char *eq = memchr(word, '=', len);
	const struct kind *k = eq ? kind_called(word, (size_t)(eq - word)) : NULL;
	unsigned long v;
	char *end;

	if (!k || !isdigit((unsigned char)eq[1]))
		return false;
	v = strtoul(eq + 1, &end, 10);
	if (end != word + len || v >= GT_GRT_TYPES)
		return false;
	set_type(types, (unsigned int)v, k);
	return true;
}

int gt_grt_set_init(struct gt_grt_set *s, struct gt_plugin *p, const char *types, char *err,
		    size_t len)
{
	size_t n;

	*s = (struct gt_grt_set){ .p = p };
	memset(s->types, GT_GRT_UNKNOWN, sizeof(s->types));
	for (size_t i = 0; i < KINDS; i++)
		s->types[kinds[i].type] = kinds[i].kind;
	for (const char *w = types ? types : ""; *w; w += n + strspn(w + n, ", ")) {
		n = strcspn(w, ", ");
		if (n && !parse_type(s->types, w, n)) {
			snprintf(err, len,
				 "\"%.*s\" is not NAME=NUMBER, such as SUBMIT=0, with a name that "
				 "grtrace(5) has and a number below %u",
				 n < 40 ? (int)n : 40, w, GT_GRT_TYPES);
			return -EINVAL;
		}
	}
	return 0;
}

static enum gt_engine engine_of(unsigned int bits)
{
	static const struct {
		uint16_t bit;
		enum gt_engine engine;
	} engines[] = {
		{ GRT_ENGINE_GRAPHICS, GT_ENGINE_GRAPHICS },
		{ GRT_ENGINE_COMPUTE, GT_ENGINE_COMPUTE },
		{ GRT_ENGINE_COPY, GT_ENGINE_COPY },
		{ GRT_ENGINE_VIDEO_DECODE, GT_ENGINE_VIDEO_DECODE },
		{ GRT_ENGINE_VIDEO_ENCODE, GT_ENGINE_VIDEO_ENCODE },
	};

	for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++)
		if (bits == engines[i].bit)
			return engines[i].engine;
	return GT_ENGINE_UNKNOWN;
}

/* Names become names of files: printable, no '/', no dot in front. @out: @len bytes and a NUL */
static void clean(char *out, const char *name, size_t len)
{
	size_t n = strnlen(name, len);

	for (size_t i = 0; i < n; i++)
		out[i] = name[i] > ' ' && name[i] < 0x7f && name[i] != '/' ? name[i] : '_';
	if (n && *out == '.')
		*out = '_';
	out[n] = '\0';
}

static void register_ring(struct gt_grt *g, unsigned int id, const struct gt_gpu_desc *d,
			  const char *name, enum gt_engine engine)
{
	struct gt_plugin *p = g->set->p;
	struct gt_grt_ring *r = &g->ring[id];

	r->gpu = p->host->gpu(p, d);
	r->ring = r->gpu == GT_NONE16 ? GT_NONE16 : p->host->ring(p, r->gpu, name, engine);
}

static uint64_t hash(const uint8_t *p, size_t n)
{
	uint64_t h = 1469598103934665603ull;

	while (n--)
		h = (h ^ *p++) * 1099511628211ull;
	return h | 1;
}

static void gt_grt_ring_info(struct gt_grt *g, const uint8_t *payload, size_t n)
{
	char driver[sizeof(((struct grt_ring_info *)0)->driver) + 1];
	char name[sizeof(((struct grt_ring_info *)0)->name) + 1];
	char dev[sizeof(((struct grt_ring_info *)0)->dev) + 1];
	struct gt_gpu_desc d = { .driver = driver, .minor = -1 };
	struct grt_ring_info info = { 0 };
	uint64_t reported;

	memcpy(&info, payload, n < sizeof(info) ? n : sizeof(info));
	if (n < offsetof(struct grt_ring_info, dev) || info.ring_id >= GT_GRT_RINGS)
		return;
	/* it comes again in each sub-buffer */
	reported = hash((const uint8_t *)&info, sizeof(info));
	if (g->ring[info.ring_id].reported == reported)
		return;
	g->ring[info.ring_id].reported = reported;
	clean(driver, info.driver, sizeof(info.driver));
	clean(name, info.name, sizeof(info.name));
	clean(dev, info.dev, sizeof(info.dev));
	d.dev = *dev ? dev : NULL;
	if (!*name)
		snprintf(name, sizeof(name), "ring%u", info.ring_id);
	register_ring(g, info.ring_id, &d, name, engine_of(info.engine_class));
}

/* A ring that no record names: of the driver that METADATA names. */
static const struct gt_grt_ring *ring_of(struct gt_grt *g, unsigned int id, unsigned int engine)
{
	struct gt_gpu_desc d = { .driver = g->driver, .minor = -1 };
	struct gt_grt_ring *r = &g->ring[id];
	char name[16];

	if (r->reported)
		return r;
	snprintf(name, sizeof(name), "ring%u", id);
	register_ring(g, id, &d, name, engine_of(engine));
	r->reported = 1;
	return r;
}

static bool widths_fit(const struct grt_metadata *m)
{
	static const uint8_t ours[sizeof(m->field_sizes)] = { 2, 2, 4, 8, 8, 8, 2, 2, 4, 4 };

	return !memcmp(m->field_sizes, ours, sizeof(ours));
}

static void gt_grt_metadata(struct gt_grt *g, const uint8_t *payload, size_t n)
{
	struct grt_metadata m;
	struct grt_type_info t;

	if (n < sizeof(m))
		return;
	memcpy(&m, payload, sizeof(m));
	g->n.layout += !widths_fit(&m);
	clean(g->driver, m.driver, sizeof(m.driver));
	payload += sizeof(m);
	n -= sizeof(m);
	for (; m.types && m.type_size >= sizeof(t) && n >= m.type_size; m.types--) {
		const struct kind *k;

		memcpy(&t, payload, sizeof(t));
		k = kind_called(t.name, strnlen(t.name, sizeof(t.name)));
		if (k && t.type < GT_GRT_TYPES && g->types[t.type] != k->kind)
			set_type(g->types, t.type, k);
		payload += m.type_size;
		n -= m.type_size;
	}
}

/* A name's number; -EAGAIN: it is new, and @out has it; -ENOSPC */
static int custom(struct gt_grt *g, const struct grt_header *h, const char *name,
		  union gt_record *out)
{
	char text[NAME_SIZE + 1];
	int i;

	clean(text, name, NAME_SIZE);
	for (i = 0; i < CUSTOMS && *g->set->custom[i]; i++)
		if (!strcmp(g->set->custom[i], text))
			return i;
	if (i == CUSTOMS || !*text)
		return -ENOSPC;
	strcpy(g->set->custom[i], text);
	gt_record_init(out, h->ts, GT_NAME);
	out->name.id = (uint64_t)(GT_CUSTOM0 + i);
	out->name.kind = GT_NAME_CUSTOM;
	out->name.part = 0;
	memset(out->name.text, 0, sizeof(out->name.text));
	memcpy(out->name.text, text, strlen(text));
	return -EAGAIN;
}

/* What a type's value and ref are here: see enum gt_type and enum grt_type */
static void set_values(struct gt_event *ev, const struct grt_event *e)
{
	switch (ev->type) {
	case GT_SUBMIT:
		ev->ref = e->value;
		break;
	case GT_CTX_SWITCH:
		ev->ref = e->value;
		break;
	case GT_IRQ:
	case GT_SYNC_WAIT_EXIT:
		ev->value = e->value;
		break;
	case GT_ERROR:
		ev->value = e->value <= GT_ERR_GUILTY ? e->value : GT_ERR_UNKNOWN;
		break;
	case GT_CUSTOM0 ... GT_CUSTOM6:
		ev->value = e->value;
		ev->ref = e->ref;
		break;
	default: /* COMPLETE's result and the times since SUBMIT are kept elsewhere here */
		break;
	}
}

static void set_place(struct gt_grt *g, struct gt_event *ev, const struct grt_event *e)
{
	const struct gt_grt_ring *r;

	if (e->ring_id == GRT_NONE16)
		return;
	if (e->ring_id >= GT_GRT_RINGS) {
		g->n.ringless++;
		return;
	}
	r = ring_of(g, e->ring_id, e->engine_class);
	ev->gpu = r->gpu;
	ev->ring = r->ring;
}

/** gt_grt_event() - an event into @out; @n: bytes of payload, which may be fewer or more than are
 * known. 1; 0: left out, and counted; -EAGAIN: @out has what must be emitted before it */
static int gt_grt_event(struct gt_grt *g, const struct grt_header *h, unsigned int kind,
			const uint8_t *payload, size_t n, union gt_record *out)
{
	struct gt_event *ev = &out->ev;
	struct grt_event e;
	int i;

	memset(&e, 0xff, sizeof(e));
	e.ctx_high = e.seqno_high = 0;
	memcpy(&e, payload, n < sizeof(e) ? n : sizeof(e));
	if (kind == GT_GRT_CUSTOM) {
		i = n >= sizeof(struct grt_custom)
			    ? custom(g, h, (const char *)payload + sizeof(e), out)
			    : -ENOSPC;
		g->n.unnamed += i == -ENOSPC;
		if (i < 0)
			return i == -EAGAIN ? i : 0;
		kind = GT_CUSTOM0 + (unsigned int)i;
	}
	gt_record_init(out, h->ts, (enum gt_type)kind);
	ev->cpu = (uint16_t)h->cpu;
	if (n >= offsetof(struct grt_event, seqno))
		ev->ctx = (uint64_t)e.ctx_high << 32 | e.ctx_id;
	if (n >= offsetof(struct grt_event, pid))
		ev->seqno = (uint64_t)e.seqno_high << 32 | e.seqno;
	ev->pid = e.pid;
	ev->tid = e.tid;
	ev->uid = e.uid;
	set_place(g, ev, &e);
	set_values(ev, &e);
	return 1;
}

#define HEADER	   sizeof(struct grt_header)
#define INFO_NEEDS (HEADER + offsetof(struct grt_stream_info, start_ts))
#define CPUS	   65536u
#define AHEAD	   (1ull << 32) /* events that can be lost in a row */
#define MOST	   (1ull << 44) /* that a session can have */
#define BACK_NS	   1000000000ull
#define FAR_NS	   (1ull << 40) /* a quiet GPU, or a damaged time? The next record shows */

enum found { NO, YES, MORE };

static void get_header(const uint8_t *p, struct grt_header *h)
{
	memcpy(h, p, sizeof(*h));
}

int gt_grt_init(struct gt_grt *g, struct gt_grt_set *s, uint32_t cpu, bool whole)
{
	*g = (struct gt_grt){ .set = s, .cpu = cpu, .whole = whole };
	g->buf = malloc(GT_GRT_CAP);
	g->ring = calloc(GT_GRT_RINGS, sizeof(*g->ring));
	memcpy(g->types, s->types, sizeof(g->types));
	return g->buf && g->ring ? 0 : -ENOMEM;
}

void gt_grt_free(struct gt_grt *g)
{
	free(g->buf);
	free(g->ring);
	g->buf = NULL;
	g->ring = NULL;
}

/* The last record stays as long as the present one may prove that its size was wrong. */
uint8_t *gt_grt_room(struct gt_grt *g, size_t *len)
{
	size_t from = g->prev < g->pos ? g->prev : g->pos;

	if (from) {
		memmove(g->buf, g->buf + from, g->len - from);
		g->off += from;
		g->len -= from;
		g->pos -= from;
		g->prev = 0;
	}
	*len = GT_GRT_CAP - g->len;
	return g->buf + g->len;
}

void gt_grt_filled(struct gt_grt *g, size_t n)
{
	g->len += n;
}

void gt_grt_end(struct gt_grt *g)
{
	g->eof = true;
}

/* At least INFO_NEEDS bytes */
static bool is_info(const uint8_t *p)
{
	struct grt_stream_info i;
	struct grt_header h;

	get_header(p, &h);
	memcpy(&i, p + HEADER, offsetof(struct grt_stream_info, start_ts));
	return i.magic == GRT_MAGIC && i.version == GRT_VERSION && i.header_size == HEADER &&
	       i.session_id && h.size >= HEADER + sizeof(i) && !(h.size & 1) && h.cpu < CPUS &&
	       h.cseq < MOST;
}

static bool is_info_record(const struct gt_grt *g, const struct grt_header *h)
{
	return h->size >= INFO_NEEDS && is_info(g->buf + g->pos);
}

static bool size_can_be(const struct gt_grt *g, const struct grt_header *h)
{
	return h->size >= HEADER && !(h->size & 1) &&
	       (!g->info.subbuf_size || h->size <= g->info.subbuf_size);
}

static bool follows(const struct gt_grt *g, const struct grt_header *h)
{
	return size_can_be(g, h) && h->cpu == g->cpu && (!g->numbered || h->cseq - g->next < AHEAD);
}

/* Is there a record at @p, where the last one ends? */
static enum found record_at(const struct gt_grt *g, const uint8_t *p, size_t n)
{
	struct grt_header h;

	if (n < HEADER)
		return MORE;
	get_header(p, &h);
	if (follows(g, &h))
		return YES;
	if (n < INFO_NEEDS)
		return MORE;
	return is_info(p) ? YES : NO;
}

/* Without a number to go by, a record is one with a size that leads to the next. */
static enum found chained(const struct gt_grt *g, const uint8_t *p, size_t n)
{
	struct grt_header h, next;

	get_header(p, &h);
	if (!size_can_be(g, &h) || h.type >= GT_GRT_TYPES || h.cpu >= CPUS ||
	    (g->cpu != GT_NONE32 && h.cpu != g->cpu))
		return NO;
	if (n < h.size + HEADER)
		return MORE;
	get_header(p + h.size, &next);
	return size_can_be(g, &next) && next.cpu == h.cpu && next.type < GT_GRT_TYPES &&
			       next.cseq - h.cseq < AHEAD && next.ts - h.ts < FAR_NS
		       ? YES
		       : NO;
}

/* Is there a record at @p, which may be anywhere? */
static enum found any_at(const struct gt_grt *g, const uint8_t *p, size_t n)
{
	struct grt_header h;

	if (n < INFO_NEEDS)
		return MORE;
	if (is_info(p))
		return YES;
	if (!g->numbered)
		return chained(g, p, n);
	get_header(p, &h);
	return follows(g, &h) && h.ts + BACK_NS - g->last_ts < FAR_NS ? YES : NO;
}

static void report_damage(struct gt_grt *g, uint64_t at, const char *what)
{
	g->n.damaged++;
	if (g->fault)
		g->fault(g->arg, at, what);
}

/*
 * Moves to the next place where a record is; false: there is none yet. Where the last one's size
 * was wrong that may be inside what was taken for it, before @g->mark: then nothing was skipped.
 */
static bool sync(struct gt_grt *g)
{
	struct grt_header h;
	enum found f = NO;

	for (; g->pos < g->len; g->pos++) {
		f = any_at(g, g->buf + g->pos, g->len - g->pos);
		if (f == YES || (f == MORE && !g->eof))
			break;
	}
	g->prev = g->pos;
	g->synced = f == YES && g->pos < g->len;
	if (g->synced && g->cpu == GT_NONE32) {
		get_header(g->buf + g->pos, &h);
		g->cpu = h.cpu;
	}
	if (!g->synced && !g->eof)
		return false;
	if (g->off + g->pos > g->mark) {
		if (!g->reported)
			report_damage(g, g->mark, "no record begins where one must");
		g->n.skipped += g->off + g->pos - g->mark;
		g->mark = g->off + g->pos;
	}
	return g->synced;
}

static void look_from(struct gt_grt *g, size_t pos, bool reported)
{
	g->mark = g->off + g->pos;
	g->pos = pos;
	g->synced = false;
	g->reported = reported;
}

static void out_of_sync(struct gt_grt *g)
{
	report_damage(g, g->off + g->pos, "no record begins where one must");
	look_from(g, (g->prev < g->pos ? g->prev : g->pos) + 1, true);
}

/* The rest of a sub-buffer, as those have it who map a file instead of reading it. It ends before a
 * header, and its first bytes may be zeros, too. At least INFO_NEEDS bytes */
static bool skip_padding(struct gt_grt *g)
{
	static const uint8_t zeros[HEADER];
	const uint8_t *p = g->buf + g->pos;
	bool zero = !memcmp(p, zeros, offsetof(struct grt_header, cpu));

	if (!g->padded && memcmp(p, zeros, HEADER))
		return false;
	/* once more behind the last zeros: 256 has a zero in front */
	g->padded = zero;
	g->pos += 2;
	g->prev = g->pos;
	g->n.padding += 2;
	return true;
}

/* A new session: numbers begin anew. What was lost between the two is not known to be anything. */
static bool cut_session(struct gt_grt *g, const struct grt_header *h,
			const struct grt_stream_info *i, union gt_record *out)
{
	uint64_t before = g->last_ts;
	bool first = !g->numbered;

	g->n.sessions++;
	g->session = i->session_id;
	g->info = *i;
	g->cpu = h->cpu;
	g->numbered = true;
	g->next = !first || g->whole ? 0 : h->cseq;
	g->last_ts = 0;
	g->gseq_min = GT_NONE64;
	g->gseq_max = g->events = g->lost = 0;
	memset(g->ring, 0, GT_GRT_RINGS * sizeof(*g->ring));
	memcpy(g->types, g->set->types, sizeof(g->types));
	if (!before)
		return false;
	gt_record_init(out, before, GT_LOST);
	out->lost.cpu = (uint16_t)g->cpu;
	out->lost.count = 0;
	out->lost.since = before;
	out->lost.cause = GT_LOST_SOURCE;
	out->lost.until = i->start_ts > before ? i->start_ts : before;
	return true;
}

static bool stream_info(struct gt_grt *g, const struct grt_header *h, const uint8_t *p,
			union gt_record *out)
{
	struct grt_stream_info i;

	memcpy(&i, p + HEADER, sizeof(i));
	if (g->session ? i.session_id != g->session : !g->numbered || !follows(g, h))
		return cut_session(g, h, &i, out);
	/* the same one, or the first that comes where its beginning was not seen */
	g->session = i.session_id;
	g->info = i;
	return false;
}

static bool gap(struct gt_grt *g, const struct grt_header *h, union gt_record *out)
{
	uint64_t n = h->cseq - g->next;

	if (!g->numbered) {
		g->numbered = true;
		g->next = h->cseq;
		return false;
	}
	if (!n)
		return false;
	if (n >= MOST) { /* back to a STREAM_INFO of before: a piece of the file is there twice */
		g->next = h->cseq;
		return false;
	}
	g->n.lost += n;
	g->lost += n;
	g->n.gaps++;
	g->next = h->cseq;
	gt_record_init(out, g->last_ts ? g->last_ts : h->ts, GT_LOST);
	out->lost.cpu = (uint16_t)h->cpu;
	out->lost.count = n;
	out->lost.since = g->last_ts ? g->last_ts : g->info.start_ts;
	out->lost.cause = GT_LOST_SOURCE;
	out->lost.until = h->ts;
	return true;
}

/* A time far from the last one is believed if the record behind says the same, or there is none.
 * Taken as it is, a damaged one would make all that follow late. */
static enum found time_can_be(const struct gt_grt *g, const struct grt_header *h)
{
	uint64_t last = g->last_ts;
	struct grt_header next;

	if (h->ts >= GT_NONE64 / 2 || (g->now && h->ts > g->now))
		return NO;
	if (h->ts - last < FAR_NS || last - h->ts < BACK_NS || !last || (g->now && h->ts > last))
		return YES;
	if (g->len - g->pos < h->size + HEADER)
		return !g->eof ? MORE : h->ts > last ? YES : NO;
	get_header(g->buf + g->pos + h->size, &next);
	return next.ts - h->ts < FAR_NS || h->ts - next.ts < BACK_NS ? YES : NO;
}

static void done(struct gt_grt *g, const struct grt_header *h)
{
	g->prev = g->pos;
	g->pos += h->size;
}

static void numbered(struct gt_grt *g, const struct grt_header *h)
{
	g->next = h->cseq + 1;
	g->events++;
	if (h->gseq < g->gseq_min)
		g->gseq_min = h->gseq;
	if (h->gseq > g->gseq_max)
		g->gseq_max = h->gseq;
}

static void description(struct gt_grt *g, const struct grt_header *h, unsigned int kind)
{
	const uint8_t *payload = g->buf + g->pos + HEADER;

	if (kind == GT_GRT_METADATA)
		gt_grt_metadata(g, payload, h->size - HEADER);
	else if (kind == GT_GRT_RING)
		gt_grt_ring_info(g, payload, h->size - HEADER);
	else if (kind != GT_GRT_STREAM_INFO)
		g->n.unknown++;
	g->n.descriptions += kind != GT_GRT_UNKNOWN;
}

/* Below 256 events, which are numbered, whatever they are */
static bool is_event(const struct grt_header *h, unsigned int kind)
{
	return kind < GT_NTYPES || kind == GT_GRT_CUSTOM ||
	       (kind == GT_GRT_UNKNOWN && h->type < 256);
}

/* 1: @out is set; 0: on to the next */
static int take(struct gt_grt *g, const struct grt_header *h, union gt_record *out)
{
	const uint8_t *p = g->buf + g->pos;
	unsigned int kind = h->type < GT_GRT_TYPES ? g->types[h->type] : GT_GRT_UNKNOWN;
	int ret = 0;

	if (is_info_record(g, h)) {
		kind = GT_GRT_STREAM_INFO;
		if (stream_info(g, h, p, out))
			return 1; /* and on with this record, which begins the session */
	}
	if (gap(g, h, out))
		return 1;
	if (!is_event(h, kind)) {
		description(g, h, kind);
	} else if (kind == GT_GRT_UNKNOWN) {
		g->n.unknown++;
	} else {
		ret = gt_grt_event(g, h, kind, p + HEADER, h->size - HEADER, out);
		if (ret == -EAGAIN)
			return 1;
		g->n.records += ret > 0;
	}
	if (is_event(h, kind))
		numbered(g, h);
	g->last_ts = h->ts;
	done(g, h);
	return ret;
}

/* Nothing more will come: if not its size was wrong, this is the file's last record. */
static void cut_record(struct gt_grt *g)
{
	size_t n = g->pos;

	while (n < g->len && !g->buf[n])
		n++;
	if (n == g->len && (g->padded || n - g->pos >= HEADER)) {
		g->n.padding += g->len - g->pos;
		g->pos = g->prev = g->len;
		return;
	}
	g->n.cut++;
	report_damage(g, g->off + g->pos, "the file ends inside a record");
	look_from(g, g->pos + 1, true);
}

static void bad_time(struct gt_grt *g, const struct grt_header *h)
{
	g->n.times++;
	report_damage(g, g->off + g->pos, "a record's time makes no sense");
	done(g, h);
}

/* Is there a whole record at g->pos? NO: it is seen to, and the next is to be looked at */
static enum found whole(struct gt_grt *g, struct grt_header *h)
{
	enum found f = record_at(g, g->buf + g->pos, g->len - g->pos);

	if (f == NO) {
		if (!skip_padding(g))
			out_of_sync(g);
		return NO;
	}
	if (f == YES) {
		g->padded = false;
		get_header(g->buf + g->pos, h);
	}
	if (f == YES && g->len - g->pos >= h->size) {
		/* what begins a session goes on from nothing */
		f = follows(g, h) ? time_can_be(g, h) : YES;
		if (f == NO)
			bad_time(g, h);
		return f;
	}
	if (!g->eof)
		return MORE;
	cut_record(g);
	return NO;
}

int gt_grt_next(struct gt_grt *g, union gt_record *out)
{
	struct grt_header h;
	enum found f;
	int ret;

	while (g->len > g->pos) {
		if (!g->synced && !sync(g))
			return 0;
		f = whole(g, &h);
		if (f == MORE)
			return 0;
		ret = f == YES ? take(g, &h, out) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

/* A record that says what follows, of any version: at least INFO_NEEDS bytes */
static bool says_info(const uint8_t *p, unsigned int *version)
{
	struct grt_stream_info i;
	struct grt_header h;

	get_header(p, &h);
	memcpy(&i, p + HEADER, offsetof(struct grt_stream_info, start_ts));
	if (i.magic != GRT_MAGIC || h.cpu >= CPUS || i.header_size % 2 || i.header_size > 1024)
		return false;
	*version = i.version;
	return true;
}

bool gt_grt_detect(const uint8_t *head, size_t len, unsigned int *version)
{
	struct gt_grt g = { .cpu = GT_NONE32 };

	*version = 0;
	for (size_t at = 0; at + INFO_NEEDS <= len; at++)
		if (says_info(head + at, version))
			return true;
	return len >= INFO_NEEDS && chained(&g, head, len) == YES;
}
