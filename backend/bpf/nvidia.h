/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to the NVIDIA part of the BPF backend (nvidia.c): from the records of bpf/nvidia.bpf.c to
 * queues. nvidia_rm.c (what each record means, processes, RM objects, GPUs), nvidia_queue.c (queues, numbers
 * of engines, the text of nvidia_trace).
 *
 * The content of an RM call was read from its caller's memory: it concerns that process only. All
 * tables have bounds, for a user too, and what is refused is counted. Index 0 of each is nobody.
 */
#ifndef GV_NVIDIA_H
#define GV_NVIDIA_H

#include "../../bpf/nvidia.h"
#include "bpf.h"

#define GV_MAX_OBJS    65536
#define GV_USER_OBJS   8192
#define GV_MAX_TSGS    4096
#define GV_USER_TSGS   1024
#define GV_MAX_USERS   256
#define GV_MAX_IDS     16   /* GPUs of a process */
#define GV_MAX_GPUS    64   /* of this machine */
#define GV_MAX_CALLS   4096 /* threads inside a call, as far as remembered */
#define GV_LINES       384  /* that nvidia_trace shows */
#define GV_BUCKETS     32768
#define GV_HOOK_DRIVER 575 /* the release that the patched module was made from */

/* A queue without its object, file or process is left to the hook that reports its end, so
 * long. Nor is it looked more often which processes have ended unheard. */
#define GV_PATIENCE_NS 1000000000ull

/* Queues that the driver does not number for us have ids from here on; others runlist << 16 | TSG
 */
#define GV_OWN_ID 0x80000000u

/**
 * struct gv_obj - an object of the RM
 * @kind: GT_NV_CLIENT, _DEVICE, _GROUP or _CHANNEL
 * @up: above it, 0: nothing that is known; @first: the newest below it; @prev, @next: beside it
 * @chain: next of its bucket, or of the free ones
 * @file: that a client came by; @files, @files_prev: next and last in that one's bucket
 * @tsg: a group's queue; 0: it has ended
 */
struct gv_obj {
	uint32_t client, handle, proc;
	uint32_t up, first, prev, next;
	uint32_t chain, files, files_prev;
	uint32_t tsg;
	uint16_t kind, gpu;
	struct gt_nv_file file;
};

/**
 * struct gv_proc - a process
 * @gen: see bpf/nvidia.h, 0 not known
 * @first: its newest object that is below none; @tsgs: its newest queue
 * @chain: next of its bucket, or of the free ones
 * @gone: it has ended, but files that clients of it came by are open elsewhere
 * @ids: RM's answer on its GPUs
 */
struct gv_proc {
	uint32_t pid, gen, uid, user;
	uint32_t first, tsgs, chain;
	bool gone;
	uint32_t nids;
	struct {
		uint32_t number, id;
	} ids[GV_MAX_IDS];
};

/** struct gv_user - @procs and @tsgs 0: nobody's */
struct gv_user {
	uint32_t uid, procs, objs, tsgs;
};

/**
 * struct gv_tsg - a queue
 * @hooked: the hooks report it, so that RM calls do not again
 * @proc: 0: what it hung on went at @left, and its end is about to be emitted
 * @prev, @next: beside it in its process's list, or in gv.leaving; @chain: next of its bucket, or
 * of the free ones
 * @call: number of the gv_call in which it was made
 * @runlist, @tsg: the driver's numbers, GT_NONE32 not known; @channels: GT_NONE32 not known
 */
struct gv_tsg {
	bool used, hooked;
	uint16_t gpu;
	uint32_t id, proc, pid, uid, user, obj;
	uint32_t runlist, tsg, channels;
	uint32_t prev, next, chain, call;
	uint64_t left;
};

/** struct gv_call - a thread is inside an RM call, or has a file closed; @tsg: made in it */
struct gv_call {
	uint32_t tid, pid, kind, client, object, parent, tsg;
};

/** struct gv_line - one of nvidia_trace; @kind: GT_NV_INIT and so on; unknown is all ones */
struct gv_line {
	uint64_t ts;
	uint16_t kind, cpu, engine;
	uint8_t interleave, allow;
	bool rm; /* @engine is an NV2080_ENGINE_TYPE */
	uint32_t pid, tsg, runlist, channels, timeslice, token;
	char comm[16];
};

/**
 * struct gv - the part
 * @driver: main version, 0 not known; @pci: GPUs that the driver has, @any: one that is not known
 * @release: a probe reports the end of a file; @destroys: a hook that of a queue; @gen_of:
 * number of process @pid now, 0 none
 * @salt: of the buckets; @own: a bit for each id from GV_OWN_ID on that is in use
 * @leaving: queues that are, newest first
 * @lost: processes may have ended unheard, since gv_round() looked for that at @looked
 * @refused: objects, queues, processes for which there was no room
 * @unmatched: of hooks, for an unknown queue; @ambiguous: or could be several
 */
struct gv {
	struct gb *b;
	uint32_t driver;
	unsigned int npci;
	char pci[GV_MAX_GPUS][16];
	bool release, destroys, lost;
	uint64_t looked;
	uint32_t (*gen_of)(struct gv *v, uint32_t pid);
	void *priv; /* of nvidia.c */

	uint64_t salt[2];
	struct gv_obj *obj;
	struct gv_proc *proc;
	struct gv_tsg *tsg;
	uint32_t nobjs, free_objs, nprocs, free_procs, ntsgs, free_tsgs;
	uint32_t obj_bucket[GV_BUCKETS], proc_bucket[GV_BUCKETS], file_bucket[GV_BUCKETS];
	uint32_t tsg_bucket[GV_BUCKETS], leaving;
	uint64_t own[GV_MAX_TSGS / 64];
	struct gv_user user[GV_MAX_USERS];
	struct gv_call call[GV_MAX_CALLS];

	uint64_t objs_refused, tsgs_refused, procs_refused, unmatched, ambiguous;
	uint64_t reported[GT_NV_DESTROY + 1];
	uint64_t lines;
	struct gv_line line[GV_LINES];
};

/** struct gv_at - what happens now, for all that comes of it; @flags: of ends, GT_F_INFERRED: @n is
 * nobody */
struct gv_at {
	struct gv *v;
	const struct gt_bpf_nv *n;
	uint8_t flags;
};

/* nvidia_queue.c */

/** gv_engine() - what kind of engine a number means
 * @rm: it is an RM_ENGINE_TYPE of driver @driver, else an NV2080_ENGINE_TYPE
 * @name: 16 bytes: the driver's name for it, "COPY3"; "" not known */
enum gt_engine gv_engine(uint32_t driver, bool rm, uint32_t number, char name[16]);
/** gv_driver_parse() - main version in what the driver says of itself; 0: none */
uint32_t gv_driver_parse(const char *text);
uint32_t gv_driver_read(void);

/* nvidia_rm.c */
void gv_gpus_read(struct gv *v, const char *folder);
/** gv_gpu_any() - number of the GPU where nothing says which */
uint16_t gv_gpu_any(struct gv *v);

/* nvidia_rm.c */
int gv_tables_new(struct gv *v);
/** gv_bucket() - of three numbers, one of GV_BUCKETS */
uint32_t gv_bucket(const struct gv *v, uint32_t a, uint32_t b, uint32_t c);
void gv_tables_free(struct gv *v);
uint32_t gv_obj(const struct gv *v, uint32_t p, uint32_t client, uint32_t handle);

/* nvidia_queue.c */

/** gv_tsg_new() - index of a new queue of process @p; 0: no room
 * @runlist, @tsg: GT_NONE32: the id is of our own making */
uint32_t gv_tsg_new(struct gv_at *at, uint32_t p, uint16_t gpu, uint32_t runlist, uint32_t tsg);
/** gv_tsg_end() - emits its end */
void gv_tsg_end(struct gv_at *at, uint32_t t, uint8_t flags);
/** gv_tsg_leave() - what it hung on has gone: it ends now, or where hooks report its end then */
void gv_tsg_leave(struct gv_at *at, uint32_t t);
/** gv_tsg_same() - the queue of @gpu that the driver calls so, whoever's; 0: none */
uint32_t gv_tsg_same(struct gv *v, uint16_t gpu, uint32_t runlist, uint32_t tsg);
/** struct gv_key - which queue a hook means; @gpu, @runlist: GT_NONE: it is not known
 * @fits: how well; 0 not at all. NULL: all that have these numbers do alike */
struct gv_key {
	uint16_t gpu;
	uint32_t runlist, tsg;
	unsigned int (*fits)(struct gv_at *at, const struct gv_tsg *q);
};
/** gv_tsg_find() - which of the queues in a process's list, or in gv.leaving, fits best; 0: none
 * @several: do others so, too? */
uint32_t gv_tsg_find(struct gv_at *at, uint32_t list, const struct gv_key *key, bool *several);
/** gv_tsg_event() - emits @type of @t */
void gv_tsg_event(struct gv_at *at, uint32_t t, enum gt_type type, uint64_t value, uint64_t ref);
/** gv_tsg_desc() - a QUEUE record of @t with what is always known, for more to be filled in */
void gv_tsg_desc(struct gv_at *at, uint32_t t, union gt_record *r);

/* nvidia_rm.c: what each hook of the patched module means */

/* nvidia_rm.c */

bool gv_record(struct gv *v, const struct gt_bpf_nv *n);
/** gv_round() - all is emitted up to @until: finds out what must have ended without a report */
void gv_round(struct gv *v, uint64_t until);
/** gv_forsake() - @ts: from now on nobody reports the queues' ends: they are their processes' */
void gv_forsake(struct gv *v, uint64_t ts);

/* nvidia_queue.c */

/** gv_line() - a line with what is known of queue @t (0: none) */
struct gv_line gv_line(const struct gv_at *at, uint16_t kind, uint32_t t);
/** gv_trace() - keeps a line of at->n; @line: with the fields of its kind */
void gv_trace(struct gv_at *at, struct gv_line line);
/** struct gv_counted - counters that the kernel keeps */
struct gv_counted {
	uint64_t dropped, read_failed;
};
/** gv_trace_text() - all lines, oldest first, and statistics
 * @offset: CLOCK_REALTIME minus CLOCK_MONOTONIC, ns */
void gv_trace_text(const struct gv *v, const struct gv_counted *c, int64_t offset, char *buf,
		   size_t len);

#endif
