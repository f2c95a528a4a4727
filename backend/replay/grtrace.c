/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What `cat events0 >file` saved of grtrace's relay files: one CPU's, so several are played
 * together. backend/relay decodes it. Pids have no names here: an annotator's text tells them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../relay/decode.h"
#include "play.h"

#define PIECE (16u << 20) /* bytes without a record before the caller is asked again */

/** struct dump - @set: what it shares with others; its @own if it is the first of them */
struct dump {
	struct gt_grt g;
	struct gt_grt_set own, *set;
	uint64_t at;
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
	gt_source_fault(arg, "byte %llu: %s", (unsigned long long)at, what);
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

/* Bytes that were read; 0 at the end, -errno told */
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
		s->lost += s->item.rec.lost.count;
	s->skipped = d->g.n.unknown;
	s->item.kind = GT_ITEM_RECORD;
	s->item.ts = s->item.rec.ev.ts;
	return 1;
}

const struct gt_reader gt_reader_grtrace = {
	.name = "grtrace dump",
	.detect = dump_detect,
	.open = dump_open,
	.next = dump_next,
	.close = dump_close,
};
