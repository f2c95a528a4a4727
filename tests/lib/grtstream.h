/* SPDX-License-Identifier: GPL-2.0 */
/* Streams of grtrace's records, written by hand: right ones, and such as no producer should write.
 */
#ifndef GT_TESTS_GRTSTREAM_H
#define GT_TESTS_GRTSTREAM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/relay/kmod/format.h"

/** struct gs - one CPU's stream; @gseq, @cseq, @ts: of the next record */
struct gs {
	uint8_t *p;
	size_t len, cap;
	uint32_t cpu;
	uint64_t gseq, cseq, ts;
};

static inline void *gs_room(struct gs *s, size_t n)
{
	if (s->len + n > s->cap) {
		s->cap = (s->len + n) * 2 + 4096;
		s->p = realloc(s->p, s->cap);
	}
	memset(s->p + s->len, 0, n);
	s->len += n;
	return s->p + s->len - n;
}

/* where a size is odd, what follows is not aligned */
typedef struct grt_header gs_header __attribute__((aligned(1)));

/** gs_put() - a record of any type and size; its payload's first @n bytes are @payload's */
static inline gs_header *gs_put(struct gs *s, unsigned int type, size_t size, const void *payload,
				size_t n)
{
	uint8_t *p = gs_room(
		s, size > sizeof(struct grt_header) + n ? size : sizeof(struct grt_header) + n);
	struct grt_header h = {
		.type = (uint16_t)type,
		.size = (uint16_t)size,
		.cpu = s->cpu,
		.ts = s->ts,
		.gseq = s->gseq,
		.cseq = s->cseq,
	};

	memcpy(p, &h, sizeof(h));
	if (n)
		memcpy(p + sizeof(h), payload, n);
	s->ts += 100;
	if (type < 256) {
		s->gseq++;
		s->cseq++;
	}
	return (gs_header *)p;
}

static inline void gs_info(struct gs *s, uint64_t session)
{
	struct grt_stream_info i = {
		.magic = GRT_MAGIC,
		.version = GRT_VERSION,
		.header_size = sizeof(struct grt_header),
		.session_id = session,
		.start_ts = s->ts,
		.clock_src = 1,
		.nr_cpus = 2,
	};

	gs_put(s, GRT_STREAM_INFO, sizeof(struct grt_header) + sizeof(i), &i, sizeof(i));
}

/** gs_start() - what begins a session */
static inline void gs_start(struct gs *s, uint64_t session)
{
	s->gseq = s->cseq = 0;
	gs_info(s, session);
}

#define GS_ROW(number, text, payload) { number, sizeof(payload), text },
static const struct grt_type_info gs_types[] = { GRT_TYPES(GS_ROW) };
#undef GS_ROW

static inline void gs_metadata_of(struct gs *s, const struct grt_type_info *types, unsigned int n)
{
	struct {
		struct grt_metadata m;
		struct grt_type_info t[32];
	} __attribute__((packed)) d = { .m = {
						.types = (uint16_t)n,
						.type_size = sizeof(*types),
						.field_sizes = { 2, 2, 4, 8, 8, 8, 2, 2, 4, 4 },
						.driver = "mockgpu",
					} };
	size_t size = sizeof(d.m) + n * sizeof(*types);

	memcpy(d.t, types, n * sizeof(*types));
	gs_put(s, GRT_METADATA, sizeof(struct grt_header) + size, &d, size);
}

static inline void gs_metadata(struct gs *s)
{
	gs_metadata_of(s, gs_types, GRT_TYPES_USED);
}

static inline void gs_ring(struct gs *s, uint16_t id, const char *dev, const char *name,
			   uint16_t engine)
{
	struct grt_ring_info r = { .engine_class = engine, .ring_id = id, .driver = "mockgpu" };

	strncpy(r.name, name, sizeof(r.name) - 1);
	strncpy(r.dev, dev, sizeof(r.dev) - 1);
	gs_put(s, GRT_RING, sizeof(struct grt_header) + sizeof(r), &r, sizeof(r));
}

static inline struct grt_event gs_job(uint16_t ring, uint64_t ctx, uint64_t seqno)
{
	return (struct grt_event){
		.ring_id = ring,
		.ctx_id = (uint32_t)ctx,
		.ctx_high = (uint32_t)(ctx >> 32),
		.seqno = (uint32_t)seqno,
		.seqno_high = (uint32_t)(seqno >> 32),
		.pid = GRT_NONE32,
		.tid = GRT_NONE32,
		.uid = GRT_NONE32,
		.value = GRT_NONE64,
		.ref = GRT_NONE64,
	};
}

static inline gs_header *gs_event(struct gs *s, unsigned int type, const struct grt_event *e)
{
	return gs_put(s, type, sizeof(struct grt_header) + sizeof(*e), e, sizeof(*e));
}

static inline gs_header *gs_submit(struct gs *s, uint16_t ring, uint64_t seqno)
{
	struct grt_event e = gs_job(ring, 7, seqno);

	return gs_event(s, GRT_SUBMIT, &e);
}

#endif
