/* SPDX-License-Identifier: GPL-2.0 */
/* What grtrace's records mean: grtrace(5). A payload may be shorter or longer than it is known. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"

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

void gt_grt_ring_info(struct gt_grt *g, const uint8_t *payload, size_t n)
{
	char driver[sizeof(((struct grt_ring_info *)0)->driver) + 1];
	char name[sizeof(((struct grt_ring_info *)0)->name) + 1];
	char dev[sizeof(((struct grt_ring_info *)0)->dev) + 1];
	struct gt_gpu_desc d = { .driver = driver, .minor = -1 };
	struct grt_ring_info info = { 0 };
	uint64_t told;

	memcpy(&info, payload, n < sizeof(info) ? n : sizeof(info));
	if (n < offsetof(struct grt_ring_info, dev) || info.ring_id >= GT_GRT_RINGS)
		return;
	/* it is told again in each sub-buffer */
	told = hash((const uint8_t *)&info, sizeof(info));
	if (g->ring[info.ring_id].told == told)
		return;
	g->ring[info.ring_id].told = told;
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

	if (r->told)
		return r;
	snprintf(name, sizeof(name), "ring%u", id);
	register_ring(g, id, &d, name, engine_of(engine));
	r->told = 1;
	return r;
}

static bool widths_fit(const struct grt_metadata *m)
{
	static const uint8_t ours[sizeof(m->field_sizes)] = { 2, 2, 4, 8, 8, 8, 2, 2, 4, 4 };

	return !memcmp(m->field_sizes, ours, sizeof(ours));
}

void gt_grt_metadata(struct gt_grt *g, const uint8_t *payload, size_t n)
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

/* A name's number; -EAGAIN: it is new, and @out tells it; -ENOSPC */
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
	default: /* COMPLETE's result and the times since SUBMIT are told otherwise here */
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

int gt_grt_event(struct gt_grt *g, const struct grt_header *h, unsigned int kind,
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
