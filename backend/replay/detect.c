/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a file is, by its content. A new kind of recording is a file with a struct gt_reader and a
 * line in the table.
 */
#include "../lib/file.h"
#include "../lib/recording.h"
#include "play.h"
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In this order: what has a magic number comes first, text last. */
static const struct gt_reader *const readers[] = {
	&gt_reader_stream,   &gt_reader_dat,	&gt_reader_grtrace,
	&gt_reader_annotate, &gt_reader_nvtext, &gt_reader_text,
};

#define HOLES_MATTER (256u << 20)
#define NREADERS     (sizeof(readers) / sizeof(*readers))

ssize_t gt_source_pread(const struct gt_source *s, void *buf, size_t len, uint64_t off)
{
	return off > INT64_MAX ? 0 : gt_pread(s->fd, buf, len, off);
}

/* A file's bytes in a sentence must not do anything to a terminal. */
static void printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
			*text = '?';
}

int gt_source_error(struct gt_source *s, int err, const char *fmt, ...)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printable(text);
	(void)gt_replay_reported(s->r);
	return p->host->error(p, err, "%s: %s", s->path, text);
}

void gt_source_skip(struct gt_source *s, uint64_t n)
{
	s->count.events += n;
	gt_file_skip(&s->count, "other_tracepoints", n);
}

void gt_source_fault(struct gt_source *s, enum gt_place place, uint64_t at, const char *fmt, ...)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);
	char text[320];
	va_list ap;

	gt_file_damaged(&s->count, place, at);
	if (!gt_replay_reported(s->r))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printable(text);
	p->host->error(p, EBADMSG, "%s: %s", s->path, text);
}

void gt_item_lost(struct gt_item *it, uint64_t ts, uint64_t since, uint64_t until, uint64_t count,
		  uint16_t cpu)
{
	gt_record_init(&it->rec, ts, GT_LOST);
	it->rec.lost.cpu = cpu;
	it->rec.lost.count = count;
	it->rec.lost.since = since < ts ? since : ts;
	it->rec.lost.until = until > ts ? until : 0;
	it->rec.lost.cause = GT_LOST_SOURCE;
	it->kind = GT_ITEM_RECORD;
	it->ts = ts;
}

void gt_item_begin(struct gt_item *it, uint64_t ts, uint64_t since, uint16_t cpu)
{
	gt_item_lost(it, ts, since, 0, 0, cpu);
	it->rec.lost.cause = GT_LOST_BEGIN;
}

static const struct gt_reader *detect(struct gt_source *s, int *err)
{
	uint8_t *head = malloc(GT_REPLAY_HEAD);
	const struct gt_reader *found = NULL;
	ssize_t n;

	if (!head) {
		*err = gt_source_error(s, ENOMEM, "no memory");
		return NULL;
	}
	n = gt_source_pread(s, head, GT_REPLAY_HEAD, 0);
	for (size_t i = 0; n > 0 && i < NREADERS && !found; i++)
		if (readers[i]->detect(head, (size_t)n))
			found = readers[i];
	free(head);
	if (n < 0)
		*err = gt_source_error(s, (int)-n, "cannot be read: %s", strerror((int)-n));
	else if (!n)
		*err = gt_source_error(s, ENODATA, "is empty");
	else if (!found)
		*err = gt_source_error(
			s, EINVAL,
			"is no recording that is known here: neither a saved stream "
			"nor trace.dat nor grtrace's records nor text of "
			"ftrace, grtrace's annotator or gpu_sched_trace, nor results "
			"of rocprof, a log of AMD's runtime or a dump of KFD's queues");
	return found;
}

bool gt_replay_knows(const char *path, const uint8_t *head, size_t len)
{
	for (size_t i = 0; head && i < NREADERS; i++)
		if (readers[i]->detect(head, len))
			return true;
	return false;
}

int gt_source_reopen(struct gt_source *s, const struct gt_reader *reader)
{
	if (s->reader)
		s->reader->close(s);
	s->reader = reader;
	return reader->open(s);
}

/* File systems that compress, or write later, say less than there is: of little it is no matter. */
static uint64_t without_holes(uint64_t size, uint64_t stored)
{
	if (stored < HOLES_MATTER)
		stored = HOLES_MATTER;
	return stored < size ? stored : size;
}

int gt_source_open(struct gt_replay *r, struct gt_source *s, const char *path)
{
	const struct gt_reader *reader;
	const char *damage;
	struct stat st;
	int err = 0;

	s->r = r;
	s->fd = -1;
	s->path = strdup(path);
	if (!s->path)
		return -ENOMEM;
	s->fd = gt_recording_open(gt_replay_plugin(r), path, &damage);
	if (s->fd < 0)
		return gt_source_error(s, -s->fd, "cannot be opened: %s", strerror(-s->fd));
	if (fstat(s->fd, &st) < 0)
		return gt_source_error(s, errno, "cannot be read: %s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return gt_source_error(s, EISDIR,
				       "is a folder without a result of rocprof: "
				       "name the files of other recordings one by one");
	if (!S_ISREG(st.st_mode))
		return gt_source_error(s, EINVAL, "is not a regular file");
	s->size = (uint64_t)st.st_size;
	s->stored = without_holes(s->size, (uint64_t)st.st_blocks * 512);
	if (damage)
		gt_source_fault(s, GT_PLACE_NONE, 0, "%s", damage);
	reader = detect(s, &err);
	return reader ? gt_source_reopen(s, reader) : err;
}

void gt_source_close(struct gt_source *s)
{
	if (s->reader)
		s->reader->close(s);
	s->reader = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	free(s->path);
	s->path = NULL;
	free(s->said);
	s->said = NULL;
	gt_clocks_free(s);
}
