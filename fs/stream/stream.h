/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event log: a ring of records in memory, one writer, any number of readers with a cursor each.
 * Appending never waits; a reader that was lapped is told how much it missed. The log is the
 * history too: report and timeline look back in it.
 */
#ifndef GT_STREAM_H
#define GT_STREAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../access/view.h"
#include "../model/model.h"

/* So many resizes ago what was kept is still there, as far as the size allows */
#define GT_LOG_ERAS 4

/** struct gt_log_era - slots that a resize left behind: they hold numbers @from to @end - 1, and nobody
 * writes to them any more but gt_log_fin_ioctl() */
struct gt_log_era {
	char *mem;
	uint64_t mask, from, end;
};

/**
 * struct gt_log_side - what is kept of records, or of finished jobs, besides the slots in use
 * @since: the first number that is in those
 * @base: the least number that is in any; read without the lock
 */
struct gt_log_side {
	size_t size; /* of one */
	uint64_t since;
	_Atomic uint64_t base;
	unsigned int n;
	struct gt_log_era era[GT_LOG_ERAS]; /* oldest first */
};

struct gt_log {
	/* Readers hold it while they copy, never longer; gt_log_resize() only tries to have it alone */
	pthread_rwlock_t lock;
	_Atomic bool none; /* nothing is kept: the slots are for open readers only */
	struct gt_log_side recs, fins;

	union gt_record *rec; /* capacity is a power of two */
	uint64_t mask;
	_Atomic uint64_t head; /* records ever appended */
	_Atomic uint64_t
		writing; /* head + what is being written: a slot below writing-capacity is gone */
	_Atomic uint64_t floor; /* no record to come has a lower ts */
	_Atomic uint64_t from; /* the history's first record: what was the head at the last clear */
	_Atomic uint64_t late; /* records that came after their time */

	/* finished jobs, newest last; readers copy and check `fin_writing` as above */
	struct gt_finished *fin;
	uint64_t fin_mask;
	_Atomic uint64_t fin_head;
	_Atomic uint64_t fin_writing;
	_Atomic uint64_t fin_from;

	uint64_t session;
	int64_t realtime_offset, boottime_offset;
};

/** gt_log_new() - @bytes is rounded down to a power of two records; at least 64 KiB, but
 * 0: nothing is kept. Untouched
 * memory costs nothing. */
struct gt_log *gt_log_new(uint64_t bytes, bool wall);
void gt_log_free(struct gt_log *l);

/** gt_log_bytes() - memory that has been touched: what was never written costs nothing */
uint64_t gt_log_bytes(const struct gt_log *l);
/**
 * gt_log_resize() - another size, 0: none; what is kept stays, as much as there is room for
 * @ingest: what the ingest thread holds while it appends: held for a few loads and stores, and nothing
 *	is copied: the old slots are read on until the new ones have as much
 *
 * Return: 0, -ENOMEM, or -EBUSY: somebody read all the time. One thread at a time.
 */
int gt_log_resize(struct gt_log *l, uint64_t bytes, pthread_mutex_t *ingest);
/** gt_log_tidy() - slots that a resize left and nobody can reach any more are freed. Likewise */
void gt_log_tidy(struct gt_log *l, pthread_mutex_t *ingest);
/** gt_log_copy() - records @at to @at + @n - 1, at most up to the head. False: they are not there */
bool gt_log_copy(const struct gt_log *l, uint64_t at, union gt_record *out, size_t n);
/** gt_log_oldest() - the oldest record that is whole now */
uint64_t gt_log_oldest(const struct gt_log *l);
/** gt_log_from(), gt_log_fin_from() - where the history begins, if it is not overwritten */
static inline uint64_t gt_log_from(const struct gt_log *l)
{
	return atomic_load(&l->none) ? atomic_load(&l->head) : atomic_load(&l->from);
}
static inline uint64_t gt_log_fin_from(const struct gt_log *l)
{
	return atomic_load(&l->none) ? atomic_load(&l->fin_head) : atomic_load(&l->fin_from);
}

/** gt_log_append() - one record, ingest thread; a ts below the floor makes it late */
void gt_log_append(struct gt_log *l, const union gt_record *r);
/** gt_log_finished() - keeps a finished job for `report`; ingest thread. Return: its number */
uint64_t gt_log_finished(struct gt_log *l, const struct gt_finished *f);
/** gt_log_fin_ioctl() - what job @number took to submit has become known; ingest thread */
void gt_log_fin_ioctl(struct gt_log *l, uint64_t number, uint64_t ns);
/** gt_log_floor() - time has come to @ts */
void gt_log_floor(struct gt_log *l, uint64_t ts);
/** gt_log_clear() - the history starts again; open readers go on where they are. Any thread */
void gt_log_clear(struct gt_log *l);

/**
 * struct gt_scope - which records a pipe shows: GT_NONE of a field is "any"
 */
struct gt_scope {
	uint16_t gpu, ring;
	uint32_t pid, queue;
};

/**
 * struct gt_cursor - one reader's place
 * @at: next record of the log
 * @pre: names it must be sent first
 */
struct gt_cursor {
	struct gt_log *log;
	struct gt_model *model;
	struct gt_view view;
	struct gt_scope scope;
	uint64_t at;
	uint64_t missed; /* ever, for stats */
	uint64_t untold; /* of these, those no LOST record has told yet */
	uint64_t last_ts;
	union gt_record *pre;
	size_t npre, pre_at;
};

/**
 * gt_cursor_init() - a reader that starts at now: HEADER and the names of everything in its scope
 *	come first
 */
int gt_cursor_init(struct gt_cursor *c, struct gt_log *l, struct gt_model *m,
		   const struct gt_view *v, const struct gt_scope *s);
/** gt_cursor_history() - sets it to the oldest record kept instead, for report and timeline */
void gt_cursor_history(struct gt_cursor *c);
void gt_cursor_destroy(struct gt_cursor *c);
/**
 * gt_cursor_read() - copies whole records that the view may see, redacted where it must
 * Return: how many; 0 if there is none now. A LOST record tells what was overwritten.
 */
size_t gt_cursor_read(struct gt_cursor *c, union gt_record *out, size_t max);
/** gt_cursor_ready() - would gt_cursor_read() give something? May say yes for records out of scope
 */
bool gt_cursor_ready(const struct gt_cursor *c);

/** gt_scope_has() - does a pipe of this scope show @r? LOST passes wherever it may concern the
 * scope */
bool gt_scope_has(const struct gt_scope *s, const union gt_record *r);

/** gt_redact() - blanks what @v may not know; false: the record is left out altogether */
bool gt_redact(union gt_record *r, const struct gt_view *v);

/** gt_translate() - pids as @v knows them, of a record that gt_redact() let pass */
void gt_translate(union gt_record *r, const struct gt_view *v);

/** gt_log_fin_get() - finished job number @i (0 .. fin_head-1); false if it is overwritten */
bool gt_log_fin_get(const struct gt_log *l, uint64_t i, struct gt_finished *out);

#endif
