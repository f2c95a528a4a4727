/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stream saved from an `events` pipe (gputrace-event(5)), or several one behind the other. Its
 * numbers of GPUs and rings are those of the daemon that wrote it; the names that come before their
 * first use say which of this host's they are.
 */
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	   (256u << 10)
#define RECORD_MAX 4096u
#define GPUS_MAX   1024u
#define RINGS_MAX  4096u
#define PIECE	   4096 /* records without an item before the caller is asked again */

struct ring_map {
	uint16_t gpu, ring; /* the file's */
	uint16_t host;
};

/**
 * struct stream - a saved stream
 * @off: of buf[0] in the file; @pos, @len: bytes in buf
 * @size: of a record in the file; what is behind the first 64 bytes is of a later version
 * @gpu: the host's number by the file's
 */
struct stream {
	uint8_t *buf;
	uint64_t off;
	size_t pos, len;
	size_t size;
	uint64_t last;
	uint16_t *gpu;
	struct ring_map *ring;
	unsigned int rings;
	bool eof;
};

static bool is_header(const union gt_record *r)
{
	return r->ev.type == GT_HEADER &&
	       !memcmp(r->header.magic, GT_RECORD_MAGIC, sizeof(GT_RECORD_MAGIC));
}

static bool stream_detect(const uint8_t *head, size_t len)
{
	union gt_record r;

	if (len < offsetof(struct gt_header, magic) + sizeof(GT_RECORD_MAGIC))
		return false;
	memset(&r, 0, sizeof(r));
	memcpy(&r, head, len < sizeof(r) ? len : sizeof(r));
	return is_header(&r);
}

/* A header begins new numbers: of another run of the daemon, perhaps. */
static int take_header(struct gt_source *s, struct stream *st, const struct gt_header *h)
{
	if (!h->version || h->version > GT_RECORD_VERSION)
		return gt_source_error(
			s, EPROTONOSUPPORT,
			"byte %llu: a stream of version %u; versions up to %u are known here",
			(unsigned long long)(st->off + st->pos), h->version, GT_RECORD_VERSION);
	if (h->record_size < GT_RECORD_SIZE || h->record_size > RECORD_MAX)
		return gt_source_error(s, EPROTO, "byte %llu: records of %u bytes",
				       (unsigned long long)(st->off + st->pos), h->record_size);
	st->size = h->record_size;
	st->rings = 0;
	st->last = 0;
	memset(st->gpu, 0xff, GPUS_MAX * sizeof(*st->gpu));
	if (s->said)
		memset(s->said, 0, GT_MAX_FUNCTIONS * sizeof(*s->said));
	return 0;
}

static void stream_close(struct gt_source *s)
{
	struct stream *st = s->priv;

	if (!st)
		return;
	free(st->buf);
	free(st->gpu);
	free(st->ring);
	free(st);
	s->priv = NULL;
}

static int stream_open(struct gt_source *s)
{
	struct stream *st = calloc(1, sizeof(*st));

	s->priv = st;
	if (!st)
		return gt_source_error(s, ENOMEM, "no memory");
	st->buf = malloc(BLOCK);
	st->gpu = malloc(GPUS_MAX * sizeof(*st->gpu));
	st->ring = malloc(RINGS_MAX * sizeof(*st->ring));
	if (!st->buf || !st->gpu || !st->ring)
		return gt_source_error(s, ENOMEM, "no memory");
	memset(st->gpu, 0xff, GPUS_MAX * sizeof(*st->gpu));
	st->size = GT_RECORD_SIZE;
	s->empty = "is a stream without an event";
	/* The first record is read here, so that a version that is not known fails the start. */
	if (gt_source_pread(s, st->buf, GT_RECORD_SIZE, 0) != GT_RECORD_SIZE)
		return gt_source_error(s, EBADMSG, "ends inside its first record");
	return take_header(s, st, (const struct gt_header *)st->buf);
}

/* At least two records in the buffer, or the file's last. */
static int fill(struct gt_source *s, struct stream *st)
{
	ssize_t n;

	if (st->eof || st->len - st->pos >= 2 * RECORD_MAX)
		return 0;
	memmove(st->buf, st->buf + st->pos, st->len - st->pos);
	st->off += st->pos;
	st->len -= st->pos;
	st->pos = 0;
	n = gt_source_pread(s, st->buf + st->len, BLOCK - st->len, st->off + st->len);
	if (n < 0)
		return gt_source_error(s, (int)-n, "byte %llu: cannot be read: %s",
				       (unsigned long long)(st->off + st->len), strerror((int)-n));
	if ((size_t)n < BLOCK - st->len)
		st->eof = true;
	st->len += (size_t)n;
	return 0;
}

static uint16_t host_ring(const struct stream *st, uint16_t gpu, uint16_t ring)
{
	for (unsigned int i = 0; i < st->rings; i++)
		if (st->ring[i].gpu == gpu && st->ring[i].ring == ring)
			return st->ring[i].host;
	return GT_NONE16;
}

/* Numbers of the file to those of the host, in a record's first 16 bytes. */
static void map_numbers(const struct stream *st, struct gt_event *ev)
{
	uint16_t gpu = ev->gpu;

	ev->ring = ev->ring == GT_NONE16 ? GT_NONE16 : host_ring(st, gpu, ev->ring);
	ev->gpu = gpu < GPUS_MAX ? st->gpu[gpu] : GT_NONE16;
}

/* "amdgpu0", "i915-0", "amdgpu-any": a driver and a number */
static void learn_gpu(struct gt_source *s, struct stream *st, const struct gt_gpu_name *g)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);
	char name[sizeof(g->name) + 1] = "", driver[sizeof(name)], dev[sizeof(g->dev) + 1] = "";
	struct gt_gpu_desc desc = { .driver = driver, .dev = dev, .minor = -1 };
	size_t n;

	memcpy(name, g->name, sizeof(g->name));
	memcpy(dev, g->dev, sizeof(g->dev));
	strcpy(driver, name);
	n = strlen(driver);
	if (n > 4 && !strcmp(driver + n - 4, "-any")) {
		driver[n - 4] = '\0';
		desc.dev = NULL;
	} else {
		while (n && driver[n - 1] >= '0' && driver[n - 1] <= '9')
			n--;
		if (n && driver[n - 1] == '-')
			n--;
		driver[n] = '\0';
		if (!*dev)
			desc.dev = name;
	}
	if (g->gpu < GPUS_MAX)
		st->gpu[g->gpu] = p->host->gpu(p, &desc);
}

static void learn_ring(struct gt_source *s, struct stream *st, const struct gt_ring_name *r)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);
	enum gt_engine engine = r->engine < GT_NENGINES ? (enum gt_engine)r->engine : 0;
	uint16_t gpu = r->gpu < GPUS_MAX ? st->gpu[r->gpu] : GT_NONE16;
	char name[sizeof(r->name) + 1] = "";
	unsigned int i;

	memcpy(name, r->name, sizeof(r->name));
	for (i = 0; i < st->rings; i++)
		if (st->ring[i].gpu == r->gpu && st->ring[i].ring == r->ring)
			break;
	if (gpu == GT_NONE16 || !*name || r->ring == GT_NONE16 || i == RINGS_MAX)
		return;
	st->ring[i] = (struct ring_map){ r->gpu, r->ring, p->host->ring(p, gpu, name, engine) };
	if (i == st->rings)
		st->rings++;
}

/*
 * Times in a stream never go back, so a record that is later than the one behind it has a damaged
 * time: taken as it is, it would make every later one late.
 */
static bool time_is_damaged(const struct stream *st, const union gt_record *r)
{
	union gt_record next;

	if (st->pos + st->size + GT_RECORD_SIZE > st->len)
		return r->ev.ts < st->last;
	memcpy(&next, st->buf + st->pos + st->size, sizeof(next));
	return r->ev.ts > next.ev.ts && next.ev.ts >= st->last && !is_header(&next);
}

/* 1: s->item is set; 0: the record was for the reader itself, or nobody */
static int take(struct gt_source *s, struct stream *st, union gt_record *r)
{
	unsigned long long at = st->off + st->pos;

	if (is_header(r))
		return take_header(s, st, &r->header);
	if (!gt_type_known(r->ev.type) || r->ev.type == GT_HEADER) {
		gt_source_fault(s, GT_PLACE_BYTE, at,
				"byte %llu: a record of type %u, which is not known", at,
				r->ev.type);
		return 0;
	}
	if (r->ev.ts == GT_NONE64 || time_is_damaged(st, r)) {
		gt_source_fault(s, GT_PLACE_BYTE, at, "byte %llu: the record's time makes no sense",
				at);
		return 0;
	}
	st->last = r->ev.ts;
	if (r->ev.type == GT_GPU_NAME)
		learn_gpu(s, st, &r->gpu_name);
	else if (r->ev.type == GT_RING_NAME)
		learn_ring(s, st, &r->ring_name);
	if (r->ev.type == GT_GPU_NAME || r->ev.type == GT_RING_NAME || r->ev.type > GT_LOST)
		return 0;
	if (r->ev.type == GT_NAME && r->name.kind == GT_NAME_FUNCTION) {
		gt_call_learn(s, &r->name);
		return 0;
	}
	if (r->ev.type == GT_PROCESS)
		r->process.comm[sizeof(r->process.comm) - 1] = '\0';
	if (r->ev.type == GT_LOST)
		gt_file_lost(&s->count, r->lost.count);
	map_numbers(st, &r->ev);
	s->item.kind = GT_ITEM_RECORD;
	s->item.ts = r->ev.ts;
	s->item.rec = *r;
	return 1;
}

static int at_end(struct gt_source *s, const struct stream *st)
{
	if (st->len > st->pos)
		gt_source_fault(s, GT_PLACE_BYTE, (st->off + st->pos),
				"byte %llu: ends inside a record, %zu bytes of %zu",
				(unsigned long long)(st->off + st->pos), st->len - st->pos,
				st->size);
	return -ENODATA;
}

static int stream_next(struct gt_source *s)
{
	struct stream *st = s->priv;

	for (int i = 0; i < PIECE; i++) {
		union gt_record r;
		int ret = fill(s, st);

		if (ret < 0)
			return ret;
		if (st->len - st->pos < st->size)
			return at_end(s, st);
		memcpy(&r, st->buf + st->pos, sizeof(r));
		ret = take(s, st, &r);
		if (ret < 0)
			return ret;
		st->pos += st->size;
		if (ret)
			return ret;
	}
	return 0;
}

const struct gt_reader gt_reader_stream = {
	.name = "stream",
	.detect = stream_detect,
	.open = stream_open,
	.next = stream_next,
	.close = stream_close,
};
