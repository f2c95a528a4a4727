/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event log: a ring of records in memory, one writer, any number of readers with a cursor each.
 * Appending never waits; a reader that was lapped learns how much it missed. The log is the
 * history too: report and timeline look back in it.
 */
#ifndef GT_STREAM_H
#define GT_STREAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../backend/event.h"
#include "../access/access.h"
#include "../model/model.h"
#include "../text/text.h"

/* So many resizes ago what was kept is still there, as far as the size allows */
#define GT_LOG_ERAS 4

/** struct gt_log_era - slots that a resize left behind: they hold numbers @from to @end - 1, and
 * nobody writes to them any more but gt_log_fin_ioctl() */
struct gt_log_era {
	char *mem;
	uint64_t mask, from, end;
};

/**
 * struct gt_log_side - what is kept of records, or of finished jobs, besides the slots in use
 * @fd: of the file that the slots in use are in, -1: memory
 * @room: the first number for which there is no room in that file yet; UINT64_MAX: memory
 * @since: the first number that is in those
 * @base: the least number that is in any; read without the lock
 */
struct gt_log_side {
	size_t size; /* of one */
	int fd;
	uint64_t room;
	uint64_t since;
	_Atomic uint64_t base;
	unsigned int n;
	struct gt_log_era era[GT_LOG_ERAS]; /* oldest first */
};

#define GT_FIN_BLOCK 4096

/** struct gt_fin_block - of so many finished jobs: a bit for each ring and pid, which some share */
struct gt_fin_block {
	_Atomic uint64_t rings, pids;
};

/* Records that were kept so long may be pushed out by a user who has the whole share */
#define GT_LOG_KEPT_NS 600000000000ull
/* If nobody else has recorded anything for so long, a user may fill the whole history */
#define GT_LOG_ALONE_NS 10000000000ull
#define GT_LOG_OWNERS	256

/** struct gt_log_owners - owner of each slot, as gt_log_owner() numbers them; @n: slots of each */
struct gt_log_owners {
	uint8_t *of;
	uint64_t mask, n[GT_LOG_OWNERS];
};

/**
 * struct gt_log_users - users with records of their own files
 * @refused: records beyond shares
 * @last, @last_ts: the owner of the last record, and its time; @other_ts: of the last one of another owner
 */
struct gt_log_users {
	struct gt_log_owners rec, fin;
	uint64_t refused;
	unsigned int last;
	uint64_t last_ts, other_ts;
	struct gt_log_user {
		uint32_t uid;
		bool used;
		uint64_t refused;
	} user[GT_LOG_OWNERS];
};

struct gt_log {
	/* Readers hold it while they copy, never longer; gt_log_resize() only tries to have it
	 * alone */
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
	_Atomic uint64_t epoch; /* gt_log_reset(): who began to read before is at the end */

	/* finished jobs, newest last; readers copy and check `fin_writing` as above */
	struct gt_finished *fin;
	uint64_t fin_mask;
	_Atomic uint64_t fin_head;
	_Atomic uint64_t fin_writing;
	_Atomic uint64_t fin_from;
	struct gt_fin_block *blocks; /* what is where in a file; NULL: there is none */

	/* finished jobs without a record, for blame: beside the others, which they do not push out.
	 * Of each, `ioctl` is the number that the next job with a record has, or will have */
	struct gt_finished *bare;
	uint64_t bare_mask, bare_since; /* the first that these slots have held */
	_Atomic uint64_t bare_head, bare_writing, bare_from;

	/* of a history in a file: what the file had no room for, and why: an errno */
	_Atomic uint64_t unkept;
	_Atomic int full;

	struct gt_log_users *users; /* NULL: there was no such record; the ingest thread's */
	unsigned int user_percent;  /* of the history, that one of them may have; 100: any */

	uint64_t session;
	bool wall;		   /* times are of this machine's clock; else the rest is 0 */
	struct gt_machine machine; /* where its events are seen */
	_Atomic int64_t realtime_offset, boottime_offset;
};

#define GT_LOG_BARE_MAX 131072 /* jobs without a record; at most a quarter of those with one */

/** gt_log_new() - @bytes for records and finished jobs, a power of two of each; at least 64 KiB,
 * but 0: nothing is kept. Untouched memory costs nothing. */
struct gt_log *gt_log_new(uint64_t bytes, bool wall);
void gt_log_free(struct gt_log *l);
/**
 * gt_log_clocks() - measures the other clocks' offsets again, and appends a record if one has changed by
 *	a millisecond or more: the machine was suspended, or its clock was set. The ingest thread's
 */
void gt_log_clocks(struct gt_log *l);
/**
 * gt_log_to_file() - an empty log, before anybody uses it, gets its slots in unlinked files in
 *@dir: so many that nothing is overwritten. They grow with the log, up to GT_LOG_FILE_MAX records,
 * as long as a twentieth of the file system, or 1 GiB, stays free; what comes then is not kept, and
 * counted in
 *	@unkept
 *
 * Return: 0 or -errno, and the log is as it was.
 */
int gt_log_to_file(struct gt_log *l, const char *dir);

#define GT_LOG_FILE_MAX (1ULL << 28)

/** gt_log_bytes() - memory, or of the file, that has been touched: what was never written costs
 * nothing */
uint64_t gt_log_bytes(const struct gt_log *l);
/** gt_log_bare_bytes() - likewise of jobs without a record, which are not among those */
uint64_t gt_log_bare_bytes(const struct gt_log *l);
/** gt_log_room_bytes() - the most that it takes, unless it was larger before a resize */
uint64_t gt_log_room_bytes(const struct gt_log *l);
/**
 * gt_log_resize() - another size, 0: none; what is kept stays, as much as there is room for
 * @ingest: what the ingest thread holds while it appends: held for a few loads and stores, and
 * nothing is copied: the old slots are read on until the new ones have as much
 *
 * Return: 0, -ENOMEM, -EBUSY: somebody read all the time, or -EOPNOTSUPP: it is in a file. One
 * thread at a time.
 */
int gt_log_resize(struct gt_log *l, uint64_t bytes, pthread_mutex_t *ingest);
/** gt_log_tidy() - slots that a resize left and nobody can reach any more are freed. Likewise */
void gt_log_tidy(struct gt_log *l, pthread_mutex_t *ingest);
/** gt_log_copy() - records @at to @at + @n - 1, at most up to the head. False: they are not there
 */
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
/** gt_log_bare_from() - likewise of jobs without a record */
static inline uint64_t gt_log_bare_from(const struct gt_log *l)
{
	return atomic_load(&l->none) ? atomic_load(&l->bare_head) : atomic_load(&l->bare_from);
}

/** gt_log_append() - one record, ingest thread; a ts below the floor makes it late */
void gt_log_append(struct gt_log *l, const union gt_record *r);
/** gt_log_owner() - number of @uid, owner of a file that records come from; 0: there is no bound.
 * Ingest thread, as what follows */
unsigned int gt_log_owner(struct gt_log *l, uint32_t uid);
/** gt_log_has_room() - may another record of @owner's be kept @now, with a @finished job? If not, it
 * is counted */
bool gt_log_has_room(struct gt_log *l, unsigned int owner, uint64_t now, bool finished);
/** gt_log_over_share() - so many of @uid's could not */
uint64_t gt_log_over_share(const struct gt_log *l, uint32_t uid);
/** gt_log_append_of(), gt_log_finished_of() - as those without it, what is @owner's */
void gt_log_append_of(struct gt_log *l, const union gt_record *r, unsigned int owner);
uint64_t gt_log_finished_of(struct gt_log *l, const struct gt_finished *f, unsigned int owner);
/** gt_log_finished() - keeps a finished job for `report`; ingest thread. Return: its number */
uint64_t gt_log_finished(struct gt_log *l, const struct gt_finished *f);
/** gt_log_finished_bare() - keeps a finished job that has no record, for `blame`; likewise */
void gt_log_finished_bare(struct gt_log *l, const struct gt_finished *f);
/** gt_log_fin_ioctl() - what job @number took to submit has become known; ingest thread */
void gt_log_fin_ioctl(struct gt_log *l, uint64_t number, uint64_t ns);
/** gt_log_floor() - time has come to @ts */
void gt_log_floor(struct gt_log *l, uint64_t ts);
/** gt_log_clear() - the history starts again; open readers go on where they are. Any thread */
void gt_log_clear(struct gt_log *l);
/** gt_log_reset() - time starts again, as does the history, and what a file has is given back. Ingest
 * thread */
void gt_log_reset(struct gt_log *l);

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
	uint64_t at, epoch;
	uint64_t missed;     /* ever, for stats */
	uint64_t unreported; /* of these, those that no LOST record has counted yet */
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
 * Return: how many; 0 if there is none now. A LOST record counts what was overwritten.
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

#define GT_FINS 128

/**
 * struct gt_fins - a walk along finished jobs, which copies some at a time
 * @base: number of the first in @job; those from @from to @end - 1 are whole
 * @rings, @pids: bits of those that the walk is for; all at first
 * @bare: along those without a record
 */
struct gt_fins {
	const struct gt_log *l;
	bool bare;
	uint64_t base, from, end;
	uint64_t rings, pids;
	struct gt_finished job[GT_FINS];
};
static inline void gt_fins_init(struct gt_fins *w, const struct gt_log *l)
{
	w->l = l;
	w->bare = false;
	w->from = w->end = 0;
	w->rings = w->pids = UINT64_MAX;
}
static inline uint64_t gt_fin_ring_bit(uint16_t gpu, uint16_t ring)
{
	return 1ULL << ((gpu * 5U + ring) & 63);
}
static inline uint64_t gt_fin_pid_bit(uint32_t pid)
{
	return 1ULL << (pid * 2654435769U >> 26);
}
/** gt_fins_before() - at most @i, and not below @least: behind which the next job of the walk may be,
 *	going back; what lies between has none */
uint64_t gt_fins_before(const struct gt_fins *w, uint64_t i, uint64_t least);
/** gt_fins_after() - at least @i, and not above @end: where the next may be, going on */
uint64_t gt_fins_after(const struct gt_fins *w, uint64_t i, uint64_t end);
/**
 * gt_fins_get() - finished job number @i (0 .. fin_head-1); NULL: it is overwritten
 * @back: the walk goes on with the one before it, not with the one behind it
 * What is returned is there until the next call.
 */
const struct gt_finished *gt_fins_get(struct gt_fins *w, uint64_t i, bool back);

/** struct gt_ctf_functions - names of functions by id; "" if unknown */
struct gt_ctf_functions {
	unsigned int n;
	const char (*name)[GT_FUNCTION_NAME];
};

/**
 * gt_ctf_metadata() - appends the CTF 1.8 metadata (TSDL) that describes a stream of records
 * @custom: gt_model.custom, names of the seven CUSTOM events; "" if unnamed. Characters
 *	that are not [A-Za-z0-9_.:-] are printed as `_`. The model's lock is not taken: pass a copy
 * @f: gt_model.functions, a copy too; NULL: none. A name is the label of its number
 * @realtime_offset: gt_log.realtime_offset; 0 if times are those of a recording
 * @session: gt_log.session
 */
void gt_ctf_metadata(struct gt_text *t, const char (*custom)[32], const struct gt_ctf_functions *f,
		     int64_t realtime_offset, uint64_t session);

/**
 * gt_preamble_make() - fills @c->pre with what a reader must know before its first record
 * @c: log, model, view and scope are set; the array is owned by the cursor
 * @ts: time that all of it carries
 *
 * HEADER, then GPUs, rings, names of CUSTOM events and of functions, queues and living processes of the scope, as
 * the view may see them. The model's lock is held for one object at a time. Return: 0 or -ENOMEM.
 */
int gt_preamble_make(struct gt_cursor *c, uint64_t ts);

#endif
