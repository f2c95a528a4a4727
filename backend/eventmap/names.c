/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The GPU and the ring of an event.
 *
 * The host knows their numbers. A cache by the bytes of their names keeps it out of the hot path; it
 * is small, and a name that drops out of it is asked for again, with the same answer.
 *
 * An event may name no device, as those of gpu_scheduler before Linux 6.17. Then its job gives the
 * GPU, if that is known. A submission is made by a thread of the process that uses the GPU: the host
 * looks which GPUs that process has open. If these are several, or if the process has ended, the
 * context gives it: a scheduler entity belongs to one GPU for life. A context's number may be a
 * pointer that is used again, so the submitter comes first. Queues are made and destroyed by their
 * process as well. In a recording there is nobody to ask: all such events get one GPU that stands
 * for all, except those of a ring that only one device has.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define SCOPE_DEV   0x80000000u /* | map: a device by name; else the scope is a GPU's number */
#define SCOPE_MINOR 0xc0000000u /* | map: a device by the number of its card */

/** struct name - a name to look up, cut to the length of a slot */
struct name {
	const char *p;
	size_t n;
	uint64_t hash;
	uint32_t scope;
};

static struct name make_name(struct gt_slice s, uint32_t scope)
{
	struct name n = { s.p, s.n, 0, scope };

	if (n.n > sizeof(((struct gt_name_slot *)0)->text) - 1)
		n.n = sizeof(((struct gt_name_slot *)0)->text) - 1;
	n.hash = (gt_hash_bytes(n.p, n.n) + scope) * 0x9e3779b97f4a7c15ull;
	n.hash ^= n.hash >> 32;
	return n;
}

static struct gt_name_slot *slot_at(struct gt_eventmap *m, const struct name *n, unsigned int i)
{
	return &m->names[(n->hash + i) % GT_NAME_SLOTS];
}

static inline bool find_name(struct gt_eventmap *m, const struct name *n, uint16_t *id)
{
	for (unsigned int i = 0; i < GT_NAME_PROBE; i++) {
		const struct gt_name_slot *s = slot_at(m, n, i);

		if (s->hash == n->hash && s->scope == n->scope && s->len == n->n &&
		    gt_same_bytes(s->text, n->p, n->n)) {
			*id = s->id;
			return true;
		}
	}
	return false;
}

/* A name for which the host has no room is not kept: it may have room later. */
static uint16_t keep_name(struct gt_eventmap *m, const struct name *n, uint16_t id)
{
	struct gt_name_slot *s = slot_at(m, n, 0);

	if (id == GT_NONE16)
		return id;
	for (unsigned int i = 0; i < GT_NAME_PROBE; i++) {
		if (!slot_at(m, n, i)->len) {
			s = slot_at(m, n, i);
			break;
		}
	}
	s->hash = n->hash;
	s->scope = n->scope;
	s->id = id;
	s->len = (uint8_t)n->n;
	memcpy(s->text, n->p, n->n);
	return id;
}

/* Makes a file name of it: printable ASCII only, without '/' and without a leading dot */
static void clean_name(char out[GT_MAP_STR], const struct name *n)
{
	for (size_t i = 0; i < n->n; i++) {
		char c = n->p[i];

		out[i] = c > 0x20 && c < 0x7f && c != '/' && (i || c != '.') ? c : '_';
	}
	out[n->n] = '\0';
}

/* Asks the host; @tid: see struct gt_gpu_desc.pid */
static uint16_t ask_gpu(struct gt_eventmap *m, const struct gt_section *s, const char *dev,
			int minor, uint32_t tid)
{
	struct gt_gpu_desc d = {
		.driver = s->driver[0] ? s->driver : NULL,
		.dev = dev,
		.minor = minor,
		.module = s->module[0] ? s->module : NULL,
		.pid = tid,
	};

	return m->p->host->gpu(m->p, &d);
}

static uint16_t gpu_by_dev(struct gt_eventmap *m, const struct gt_section *s, struct gt_slice dev)
{
	struct name n = make_name(dev, SCOPE_DEV | s->map);
	char text[GT_MAP_STR];
	uint16_t id;

	if (find_name(m, &n, &id))
		return id;
	clean_name(text, &n);
	return keep_name(m, &n, ask_gpu(m, s, text, -1, 0));
}

static uint16_t gpu_by_minor(struct gt_eventmap *m, const struct gt_section *s, int minor)
{
	struct name n =
		make_name((struct gt_slice){ (char *)&minor, sizeof(minor) }, SCOPE_MINOR | s->map);
	uint16_t id;

	if (find_name(m, &n, &id))
		return id;
	return keep_name(m, &n, ask_gpu(m, s, NULL, minor, 0));
}

/* The device that the event names; false if it names none */
static bool gpu_by_name(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
			uint16_t *gpu)
{
	const struct gt_num *minor = &s->num[GT_NUM_MINOR];
	char buf[GT_MAP_STR];
	struct gt_slice dev;
	uint64_t v;

	if (s->dev.n && gt_tmpl_eval(&s->dev, src, buf, &dev)) {
		*gpu = gpu_by_dev(m, s, dev);
		return true;
	}
	if (minor->kind == GT_N_FIELD && gt_src_int(src, &minor->ref, &v) && v <= INT32_MAX) {
		*gpu = gpu_by_minor(m, s, (int)v);
		return true;
	}
	return false;
}

/* The only GPU of the section's driver, or the one that stands for all of them */
static uint16_t any_gpu(struct gt_eventmap *m, struct gt_section *s)
{
	if (!s->gpu_known) {
		s->gpu = ask_gpu(m, s, NULL, -1, 0);
		s->gpu_known = s->gpu != GT_NONE16;
	}
	return s->gpu;
}

static enum gt_engine engine_of(const struct gt_section *s, const struct gt_src *src)
{
	static const char *const names[GT_NENGINES] = {
		[GT_ENGINE_UNKNOWN] = "unknown",
		[GT_ENGINE_GRAPHICS] = "graphics",
		[GT_ENGINE_COMPUTE] = "compute",
		[GT_ENGINE_COPY] = "copy",
		[GT_ENGINE_VIDEO_DECODE] = "video_decode",
		[GT_ENGINE_VIDEO_ENCODE] = "video_encode",
	};
	char buf[GT_MAP_STR];
	struct gt_slice e;

	if (!s->engine.n || !gt_tmpl_eval(&s->engine, src, buf, &e))
		return GT_ENGINE_UNKNOWN;
	for (unsigned int i = 0; i < GT_NENGINES; i++)
		if (strlen(names[i]) == e.n && !strncasecmp(names[i], e.p, e.n))
			return (enum gt_engine)i;
	return GT_ENGINE_UNKNOWN;
}

static uint16_t ring_by_name(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
			     uint16_t gpu)
{
	char buf[GT_MAP_STR], text[GT_MAP_STR];
	struct gt_slice ring;
	struct name n;
	uint16_t id;

	if (!gt_tmpl_eval(&s->ring, src, buf, &ring))
		return GT_NONE16;
	n = make_name(ring, gpu);
	if (find_name(m, &n, &id))
		return id;
	clean_name(text, &n);
	return keep_name(m, &n, m->p->host->ring(m->p, gpu, text, engine_of(s, src)));
}

/* Events of a recording that name a ring alone ------------------------------------------------- */

static struct gt_ring_dev *find_ring(struct gt_eventmap *m, struct gt_slice ring)
{
	for (unsigned int i = 0; i < m->nring_devs; i++)
		if (strlen(m->ring_dev[i].ring) == ring.n &&
		    gt_same_bytes(m->ring_dev[i].ring, ring.p, ring.n))
			return &m->ring_dev[i];
	return NULL;
}

/* Notes a name, or that the ring belongs to several */
static void note_owner(struct gt_ring_dev *r, char *known, size_t len, const char *name, size_t n)
{
	if (!n)
		return;
	if (!*known && n < len) {
		memcpy(known, name, n);
		known[n] = '\0';
	} else if (strlen(known) != n || memcmp(known, name, n)) {
		r->several = true;
	}
}

static void learn(struct gt_eventmap *m, const struct gt_section *s, const struct gt_src *src)
{
	struct gt_slice ring, dev = { "", 0 };
	char mem[GT_MAP_STR], dev_mem[GT_MAP_STR];
	struct gt_ring_dev *r;

	if (!gt_tmpl_eval(&s->ring, src, mem, &ring) || !ring.n ||
	    (s->dev.n && !gt_tmpl_eval(&s->dev, src, dev_mem, &dev)))
		return;
	r = find_ring(m, ring);
	if (!r) {
		if (m->nring_devs == GT_RING_DEVS || ring.n >= sizeof(r->ring))
			return;
		r = &m->ring_dev[m->nring_devs++];
		*r = (struct gt_ring_dev){ .gpu = GT_NONE16 };
		memcpy(r->ring, ring.p, ring.n);
	}
	note_owner(r, r->dev, sizeof(r->dev), dev.p, dev.n);
	note_owner(r, r->driver, sizeof(r->driver), s->driver, strlen(s->driver));
}

static void learn_all(struct gt_tp *tp, const struct gt_src *src)
{
	for (const struct gt_section *s = tp->sections; s; s = s->next)
		if (s->use && s->ring.n && !(s->nums & 1u << GT_NUM_MINOR) &&
		    (s->dev.n || s->driver[0]) && (!src->raw || s->bound))
			learn(tp->m, s, src);
}

void gt_tp_text_ring(struct gt_tp *tp, const char *text, size_t len)
{
	struct gt_src src = gt_src_text(text, len);

	learn_all(tp, &src);
}

void gt_tp_raw_ring(struct gt_tp *tp, const void *rec, size_t len)
{
	struct gt_src src = { .raw = true, .data = rec, .len = len };

	learn_all(tp, &src);
}

/* The device of a recording that has the ring, GT_NONE16 if several have one of that name */
static uint16_t gpu_of_ring(struct gt_eventmap *m, const struct gt_section *s,
			    const struct gt_src *src)
{
	struct gt_gpu_desc d = { .minor = -1 };
	char mem[GT_MAP_STR];
	struct gt_slice ring;
	struct gt_ring_dev *r;

	if (!m->nring_devs || !gt_tmpl_eval(&s->ring, src, mem, &ring))
		return GT_NONE16;
	r = find_ring(m, ring);
	if (!r || r->several || (s->driver[0] && r->driver[0] && strcmp(s->driver, r->driver)))
		return GT_NONE16;
	if (r->gpu == GT_NONE16) {
		d.driver = r->driver[0] ? r->driver : NULL;
		d.dev = r->dev[0] ? r->dev : NULL;
		r->gpu = m->p->host->gpu(m->p, &d);
	}
	return r->gpu;
}

/* Events that name no device ------------------------------------------------------------------- */

/* Besides SUBMIT, calls of the process that uses the GPU */
#define BY_OWNER (GT_BIT(GT_QUEUE_CREATE) | GT_BIT(GT_QUEUE_DESTROY))

#define ASK_AGAIN_NS 1000000000ull /* a process may open another GPU */

/* The GPU of a thread's process, by a recent answer of the host */
static uint16_t by_thread(struct gt_eventmap *m, const struct gt_section *s, uint32_t tid,
			  uint64_t ts)
{
	struct gt_table *t = &m->submitters;
	uint32_t i = gt_table_find(t, s->map, tid);
	uint16_t gpu;

	if (i && ts - t->slots[i].a < ASK_AGAIN_NS)
		return t->slots[i].gpu;
	gpu = ask_gpu(m, s, NULL, -1, tid);
	if (!i)
		i = gt_table_add(t, s->map, tid);
	t->slots[i].a = ts;
	t->slots[i].gpu = gpu;
	return gpu;
}

static void remember_context(struct gt_eventmap *m, const struct gt_section *s, uint64_t ctx,
			     uint16_t gpu)
{
	struct gt_table *t = &m->contexts;
	uint32_t i = gt_table_find(t, s->map, ctx);

	if (!i)
		i = gt_table_add(t, s->map, ctx);
	t->slots[i].gpu = gpu;
}

static uint16_t by_context(const struct gt_eventmap *m, const struct gt_section *s, uint64_t ctx)
{
	uint32_t i = ctx == GT_NONE64 ? 0 : gt_table_find(&m->contexts, s->map, ctx);

	return i ? m->contexts.slots[i].gpu : GT_NONE16;
}

/* The GPU of an event that names no device. @tid: the thread, @ts: the time */
static uint16_t infer_gpu(struct gt_eventmap *m, struct gt_section *s, const struct gt_job *j,
			  uint32_t tid, uint64_t ts)
{
	bool submit = s->bits & GT_BIT(GT_SUBMIT), caller = submit || s->bits & BY_OWNER;
	uint16_t gpu = GT_NONE16;

	if (m->p->recording || (!s->nmatch && !caller))
		return any_gpu(m, s);
	if (!caller)
		gpu = gt_job_gpu(m, s, j);
	else if (tid && tid != GT_NONE32)
		gpu = by_thread(m, s, tid, ts);
	if (gpu == GT_NONE16)
		gpu = by_context(m, s, j->ctx);
	else if (submit && j->ctx != GT_NONE64)
		remember_context(m, s, j->ctx, gpu);
	return gpu == GT_NONE16 ? any_gpu(m, s) : gpu;
}

/* The event ------------------------------------------------------------------------------------ */

bool gt_event_place(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
		    const struct gt_evctx *c, struct gt_job *j)
{
	bool named = s->dev.n || s->nums & GT_BIT(GT_NUM_MINOR);

	if (!s->ring.n && !named && (!s->driver[0] || s->nmatch))
		return true;
	if (!gpu_by_name(m, s, src, &j->gpu)) {
		if (m->p->recording && s->ring.n && !named)
			j->gpu = gpu_of_ring(m, s, src);
		if (j->gpu == GT_NONE16)
			j->gpu = infer_gpu(m, s, j, c->tid, c->ts);
	}
	if (j->gpu == GT_NONE16)
		return false;
	if (s->ring.n)
		j->ring = ring_by_name(m, s, src, j->gpu);
	return !s->ring.n || j->ring != GT_NONE16;
}
