/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The jobs of the last seconds, by ring: those of the history and those in flight, as what blame is
 * worked out from. Costs nothing while nobody asks.
 */
#ifndef GT_GATHER_H
#define GT_GATHER_H

#include "../model/mix.h"
#include "held.h"
#include "lines.h"

#define GT_GATHER_NS   (10 * GT_SEC)
#define GT_GATHER_JOBS 131072 /* of the history, and as many in flight: some 10 ms */

/**
 * struct gt_gathered_ring - one ring
 * @held: its jobs, and what is known of its time
 * @head: jobs of the history from that number on had not ended at held.until
 * @linked: the history's last job that was looked at is number @nth of the ring's; all that ended
 *	before it had by @ended
 * @inside, @closed: it has jobs in the window, and one from before is known to be the one before
 */
struct gt_gathered_ring {
	uint16_t gpu, ring;
	uint32_t life;
	struct gt_held_ring held;
	uint64_t head;
	bool linked, inside, closed;
	uint32_t nth;
	uint64_t ended;
};

/**
 * struct gt_gathered_party - one process on one ring
 * @met: tells it from others with its pid; GT_NONE64 unknown
 * @ts: a time when it was there, for views
 * @waited: ns within the window
 */
struct gt_gathered_party {
	uint32_t ring; /* index in gt_gathered.ring */
	uint32_t pid, uid;
	uint64_t met, ts, waited;
	char comm[16];
};

/**
 * struct gt_gathered_ctx - a context with a job that waits: jobs of one run in order of their seqno
 * @done: the highest that has ended, @any has
 */
struct gt_gathered_ctx {
	uint64_t ctx, done;
	uint32_t ring;
	bool any;
};

/** struct gt_gathered_flight - a job in flight; @ctx: index, GT_NONE32 if it is not one that waits
 */
struct gt_gathered_flight {
	uint64_t seqno;
	uint32_t ctx;
};

/**
 * struct gt_gathered - all of it; gt_gathered_done() frees
 * @base: of each GPU: index of its first ring; GT_NONE32: not asked for, or gone
 * @from, @until: the window; a ring's own ends may differ by what happened while we looked
 * @finished, @flying: jobs of either kind in it
 * @overtaken: jobs in flight that count for nothing, as later ones of their context have ended:
 *their own end was missed
 * @cut: jobs of the last seconds that are older than @from were left out, for there are too many
 * @left: jobs in flight that were left out, likewise
 */
struct gt_gathered {
	struct gt_app *app;
	uint32_t base[GT_MAX_GPUS], nrings[GT_MAX_GPUS];
	struct gt_gathered_ring *ring;
	uint32_t rings;
	struct gt_held_job *job;
	uint32_t njobs;
	struct gt_gathered_party *party;
	struct gt_held_party *held; /* of each party */
	uint32_t parties;
	uint32_t *slot;			   /* hash table of parties: index + 1 */
	struct gt_gathered_flight *flight; /* of the first jobs */
	struct gt_gathered_ctx *ctx;
	uint32_t *ctx_slot; /* as slot */
	uint32_t ctxs;
	uint64_t salt[2];
	uint64_t from, until;
	uint32_t finished, flying, overtaken;
	bool cut;
	uint64_t left;
};

/** gt_gather() - of the rings that s->obj is about. 0, -ENODEV or -ENOMEM; @g is to be freed anyway
 */
int gt_gather(struct gt_gathered *g, const struct gt_show *s);
void gt_gathered_done(struct gt_gathered *g);

/* Its parts, between these files: gather.c, flights.c */
/** gt_gather_flights() - what a ring's state and jobs in flight tell; sets its until and head */
void gt_gather_flights(struct gt_gathered *g, struct gt_gathered_ring *r);
/** gt_gather_flights_room() - for them: 0 or -ENOMEM */
int gt_gather_flights_room(struct gt_gathered *g);
/** gt_gather_ended() - a job of the history */
void gt_gather_ended(struct gt_gathered *g, uint32_t ring, uint64_t ctx, uint64_t seqno);
/** gt_gather_overtaken() - when all are looked at: whose end must have been missed is left out */
void gt_gather_overtaken(struct gt_gathered *g);
/** gt_gather_add() - one job of a process, whose party is found or made; there is room */
void gt_gather_add(struct gt_gathered *g, const struct gt_gathered_party *whose,
		   const struct gt_held_job *j);

#endif
