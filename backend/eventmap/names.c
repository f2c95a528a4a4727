/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers of GPUs and rings. The host knows them; a cache by the name's bytes keeps it out of the
 * hot path. The cache is small and a name may push another out: then the host is asked again, and
 * says the same.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define SCOPE_DEV   0x80000000u /* | map: a device by name; else the scope is a GPU's number */
#define SCOPE_MINOR 0xc0000000u /* | map: a device by the number of its card */

/** struct name - a name that is looked up, cut to what a slot holds */
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

static inline bool find(struct gt_eventmap *m, const struct name *n, uint16_t *id)
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

/* What the host has no room for is not kept, as it may have some later. */
static uint16_t keep(struct gt_eventmap *m, const struct name *n, uint16_t id)
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

void gt_names_forget(struct gt_eventmap *m)
{
	memset(m->names, 0, sizeof(m->names));
}

/* Names become names of files: nothing but printable ASCII, no '/', no dot in front. */
static void clean(char out[GT_MAP_STR], const struct name *n)
{
	for (size_t i = 0; i < n->n; i++) {
		char c = n->p[i];

		out[i] = c > 0x20 && c < 0x7f && c != '/' && (i || c != '.') ? c : '_';
	}
	out[n->n] = '\0';
}

uint16_t gt_gpu_ask(struct gt_eventmap *m, const struct gt_section *s, const char *dev, int minor,
		    uint32_t tid)
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

	if (find(m, &n, &id))
		return id;
	clean(text, &n);
	return keep(m, &n, gt_gpu_ask(m, s, text, -1, 0));
}

static uint16_t gpu_by_minor(struct gt_eventmap *m, const struct gt_section *s, int minor)
{
	struct name n =
		make_name((struct gt_slice){ (char *)&minor, sizeof(minor) }, SCOPE_MINOR | s->map);
	uint16_t id;

	if (find(m, &n, &id))
		return id;
	return keep(m, &n, gt_gpu_ask(m, s, NULL, minor, 0));
}

bool gt_gpu_told(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
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

uint16_t gt_gpu_any(struct gt_eventmap *m, struct gt_section *s)
{
	if (!s->gpu_known) {
		s->gpu = gt_gpu_ask(m, s, NULL, -1, 0);
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

uint16_t gt_ring_of(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
		    uint16_t gpu)
{
	char buf[GT_MAP_STR], text[GT_MAP_STR];
	struct gt_slice ring;
	struct name n;
	uint16_t id;

	if (!gt_tmpl_eval(&s->ring, src, buf, &ring))
		return GT_NONE16;
	n = make_name(ring, gpu);
	if (find(m, &n, &id))
		return id;
	clean(text, &n);
	return keep(m, &n, m->p->host->ring(m->p, gpu, text, engine_of(s, src)));
}
