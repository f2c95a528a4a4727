/* SPDX-License-Identifier: GPL-2.0 */
/*
 * timeline: CPU and GPU events of the history, merged by time, with what can be concluded from two
 * of them as a note. Walks the log with a cursor, twice: to count, and to write.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

#define BATCH 256 /* records read at a time */

/* Notes look back this far: entries of tables that are overwritten as hashes collide. */
#define NJOBS	 32768
#define NTHREADS 4096
#define NPROCS	 1024

/* A queue that a runtime tells of is taken to be the one that the driver made so long before or
 * after */
#define QUEUE_NS 20000000

/** struct memory - times that notes are made of; 0 is unknown */
struct memory {
	struct job_times {
		uint64_t ctx, seqno, submit, commit, start, waits;
		uint16_t gpu, ring;
	} job[NJOBS];
	struct thread_times {
		uint32_t tid;
		uint64_t ioctl;
		const char *command; /* of that ioctl */
	} thread[NTHREADS];
	struct queue_times {
		uint32_t pid;
		uint64_t driver, runtime; /* when each told last that it made, or lent, a queue */
		uint64_t driver_at, runtime_at; /* where its packets are */
	} queue[NPROCS];
};

/**
 * struct extent - what the history holds
 * @begin: place in the log from where the newest GT_ROWS_MAX events are
 * @skip: of the events from there, so many are older than those
 */
struct extent {
	uint64_t begin, end;
	uint64_t events, skip;
	uint64_t first, last;
};

struct ctx {
	const struct gt_show *s;
	struct gt_names *names;
	struct memory *mem;
	struct extent x;
};

static void ctx_done(struct ctx *c)
{
	gt_names_free(c->names);
	free(c->mem);
}

static int open_history(struct gt_cursor *c, const struct gt_show *s)
{
	struct gt_scope scope = gt_tree_scope(s->app, &s->obj);
	int err = gt_cursor_init(c, s->app->log, s->app->model, &s->view, &scope);

	if (!err)
		gt_cursor_history(c);
	return err;
}

/** struct place - a place in the log, and how many events are before it */
struct place {
	uint64_t at, before;
};

/*
 * Reads the next batch. False at the end of what was there when the walk began: not as soon as a
 * read gives nothing, for that may mean that none of very many records was in scope.
 */
static bool next_batch(struct gt_cursor *c, uint64_t end, union gt_record *r, size_t *got)
{
	uint64_t at = c->at;

	*got = at < end ? gt_cursor_read(c, r, BATCH) : 0;
	return *got || c->at > at;
}

static void note_extent(struct extent *x, const union gt_record *r)
{
	if (r->ev.type >= GT_NTYPES)
		return;
	if (!x->events++)
		x->first = r->ev.ts;
	x->last = r->ev.ts;
}

/*
 * Only some places are kept: each time the table is full, every second one is dropped and from
 * then on half as many are kept. The one chosen is at most a table's entry too early.
 */
#define NPLACES 1024

static void count(struct gt_cursor *c, struct extent *x)
{
	struct place place[NPLACES], here;
	union gt_record r[BATCH];
	unsigned int n = 0, every = 1, batch = 0;
	size_t got;

	for (here = (struct place){ c->at, 0 }; next_batch(c, x->end, r, &got);
	     here = (struct place){ c->at, x->events }) {
		if (n == NPLACES) {
			for (n = 0; n < NPLACES / 2; n++)
				place[n] = place[2 * n];
			every *= 2;
		}
		if (batch++ % every == 0)
			place[n++] = here;
		for (size_t i = 0; i < got; i++)
			note_extent(x, &r[i]);
	}
	if (!n)
		place[n++] = here;
	x->skip = x->events > GT_ROWS_MAX ? x->events - GT_ROWS_MAX : 0;
	while (n > 1 && place[n - 1].before > x->skip)
		n--;
	x->begin = place[n - 1].at;
	x->skip -= place[n - 1].before;
}

static struct job_times *job_of(struct memory *m, const struct gt_event *e)
{
	uint64_t h;

	if (e->ctx == GT_NONE64 || e->seqno == GT_NONE64 || e->ring == GT_NONE16)
		return NULL;
	h = gt_gen_mix(gt_gen_mix(e->ctx, e->seqno), (uint64_t)e->gpu << 16 | e->ring);
	return &m->job[h >> 32 & (NJOBS - 1)];
}

static bool is_job(const struct job_times *j, const struct gt_event *e)
{
	return j && j->ctx == e->ctx && j->seqno == e->seqno && j->gpu == e->gpu &&
	       j->ring == e->ring;
}

static void note(struct gt_text *t, uint64_t from, uint64_t to, const char *what)
{
	if (!from || to < from)
		return;
	gt_text_str(t, " (");
	gt_text_milli(t, to - from, to - from < 10000 ? 1 : 0);
	gt_text_str(t, what);
}

static struct thread_times *thread_of(struct memory *m, const struct gt_event *e)
{
	uint32_t tid = e->tid != GT_NONE32 ? e->tid : e->pid;

	return tid == GT_NONE32 ? NULL : &m->thread[tid % NTHREADS];
}

/* The ioctl that the thread leaves, if it was seen to enter */
static const char *command_left(struct memory *m, const struct gt_event *e)
{
	const struct thread_times *th = thread_of(m, e);

	return th && th->ioctl && th->tid == (e->tid != GT_NONE32 ? e->tid : e->pid) ? th->command
										     : NULL;
}

/* @command: of an IOCTL_ENTER */
static void thread_notes(struct gt_text *t, struct memory *m, const struct gt_event *e,
			 const char *command)
{
	struct thread_times *th = thread_of(m, e);
	uint32_t tid = e->tid != GT_NONE32 ? e->tid : e->pid;

	if (!th)
		return;
	if (e->type == GT_IOCTL_ENTER)
		*th = (struct thread_times){ tid, e->ts, command };
	if (th->tid != tid)
		return;
	if (e->type == GT_SUBMIT)
		note(t, th->ioctl, e->ts, " us after ioctl)");
	if (e->type == GT_IOCTL_EXIT)
		th->ioctl = 0;
}

static void job_notes(struct gt_text *t, struct memory *m, const struct gt_event *e)
{
	struct job_times *j = job_of(m, e);

	if (!j)
		return;
	if (e->type == GT_SUBMIT) {
		*j = (struct job_times){ e->ctx, e->seqno, e->ts, 0, 0, 0, e->gpu, e->ring };
		return;
	}
	if (!is_job(j, e))
		return;
	if (e->flags & GT_F_WAITS && !j->waits)
		j->waits = e->ts;
	switch (e->type) {
	case GT_COMMIT:
		note(t, j->submit, e->ts, " us queue wait)");
		note(t, j->waits, e->ts, " us since a dependency kept it)");
		j->commit = e->ts;
		break;
	case GT_START:
		note(t, j->commit, e->ts, " us hardware wait)");
		j->start = e->ts;
		break;
	case GT_END:
		note(t, j->start, e->ts, " us execution)");
		break;
	case GT_COMPLETE:
		note(t, j->submit, e->ts, " us after submit)");
		break;
	default:
		break;
	}
}

static bool other_queue(uint64_t at, const struct gt_event *e)
{
	return at != GT_NONE64 && e->ctx != GT_NONE64 && at != e->ctx;
}

/* What the runtime and the driver tell of one queue, within QUEUE_NS */
static void queue_notes(struct gt_text *t, struct memory *m, const struct gt_event *e)
{
	struct queue_times *q = &m->queue[e->pid % NPROCS];
	bool runtime = e->flags & GT_F_RUNTIME;

	if (e->pid == GT_NONE32 ||
	    (e->type != GT_QUEUE_CREATE && !(runtime && e->type == GT_QUEUE_MAP)))
		return;
	if (q->pid != e->pid)
		*q = (struct queue_times){ .pid = e->pid };
	if (runtime && e->ts - q->driver <= QUEUE_NS && !other_queue(q->driver_at, e))
		note(t, q->driver, e->ts, " us after the driver made a queue)");
	else if (!runtime && e->ts - q->runtime <= QUEUE_NS && !other_queue(q->runtime_at, e))
		note(t, q->runtime, e->ts, " us after the runtime told of a queue)");
	if (runtime) {
		q->runtime = e->ts;
		q->runtime_at = e->ctx;
	} else {
		q->driver = e->ts;
		q->driver_at = e->ctx;
	}
}

/* Where it happened: a ring, or the CPU. */
static void where(struct gt_text *t, const struct gt_names *n, const struct gt_event *e)
{
	const char *gpu = gt_names_gpu(n, e->gpu);
	const struct gt_name_ring *r = gt_names_ring(n, e->gpu, e->ring);
	bool cpu = e->type == GT_SYNC_WAIT_ENTER || e->type == GT_SYNC_WAIT_EXIT ||
		   e->type == GT_IOCTL_ENTER || e->type == GT_IOCTL_EXIT || e->type == GT_LAUNCH ||
		   e->type == GT_FUNCTION;

	if (cpu || !gpu) {
		gt_text_str(t, "CPU");
		return;
	}
	gt_text_word(t, gpu, 16);
	if (!r)
		return;
	gt_text_ch(t, '/');
	gt_text_word(t, r->name, sizeof(r->name));
}

/* When it happened: what came late, as a job that was held back until its end, tells that in ref. */
static struct gt_event in_time(const struct gt_event *e)
{
	struct gt_event own = *e;

	if (e->flags & GT_F_LATE)
		own.ts = e->ref == GT_NONE64 ? 0 : e->ref;
	return own;
}

static void event(struct gt_text *t, struct ctx *c, const struct gt_event *e)
{
	const struct gt_event own = in_time(e);
	const char *custom = e->type >= GT_CUSTOM0 && e->type <= GT_CUSTOM6
				     ? c->names->custom[e->type - GT_CUSTOM0]
				     : "";
	uint32_t pid = gt_view_pid(&c->s->view, e->pid, e->ts);
	const char *comm = e->pid != GT_NONE32 ? gt_names_comm(c->names, e) : NULL;
	const char *name;

	gt_text_ch(t, '[');
	gt_time(t, e->ts);
	gt_text_str(t, "] ");
	where(t, c->names, e);
	gt_cell_word(t, custom[0] ? custom : gt_type_name(e->type), 32);
	gt_known_gkv(t, "cpu", e->cpu == GT_NONE16 ? GT_NONE64 : e->cpu);
	gt_known_gkv(t, "pid", pid == GT_NONE32 ? GT_NONE64 : pid);
	if (comm && comm[0]) {
		gt_text_str(t, " comm=");
		gt_text_word(t, comm, 16);
	}
	gt_known_gkv(t, "ctx", e->ctx);
	gt_known_gkv(t, "seqno", e->seqno);
	name = e->type == GT_IOCTL_EXIT ? command_left(c->mem, e) : gt_names_value(c->names, e);
	gt_event_keys(t, e, name);
	thread_notes(t, c->mem, &own, name);
	job_notes(t, c->mem, &own);
	queue_notes(t, c->mem, &own);
	gt_text_ch(t, '\n');
}

static void rows(struct gt_text *t, struct ctx *c, struct gt_cursor *cur)
{
	union gt_record r[BATCH];
	uint64_t skip = c->x.skip, left = c->x.events;
	size_t got;

	if (left > GT_ROWS_MAX)
		left = GT_ROWS_MAX;
	if (cur->at < c->x.begin)
		cur->at = c->x.begin;
	while (left && !t->failed && next_batch(cur, c->x.end, r, &got)) {
		for (size_t i = 0; i < got && left; i++) {
			if (r[i].ev.type == GT_LOST && !skip)
				gt_lost_line(t, &r[i].lost);
			if (r[i].ev.type >= GT_NTYPES)
				continue;
			if (skip) {
				skip--;
				continue;
			}
			left--;
			event(t, c, &r[i].ev);
		}
	}
}

static void head(struct gt_text *t, const struct extent *x)
{
	uint64_t ns = x->events ? x->last - x->first : 0;

	gt_text_str(t, "# events: ");
	gt_text_u64(t, x->events);
	gt_text_str(t, "\n# duration: ");
	gt_time(t, ns);
	gt_text_str(t, " s\n# rate: ");
	if (ns)
		gt_text_milli(t, (uint64_t)((unsigned __int128)x->events * 1000 * GT_SEC / ns), 2);
	else
		gt_text_dash(t);
	gt_text_str(t, " events/s\n");
}

static int walk(struct ctx *c, void (*fn)(struct gt_text *, struct ctx *, struct gt_cursor *),
		struct gt_text *t)
{
	struct gt_cursor cur;
	int err = open_history(&cur, c->s);

	if (err)
		return err;
	fn(t, c, &cur);
	gt_cursor_destroy(&cur);
	return 0;
}

static void count_all(struct gt_text *t, struct ctx *c, struct gt_cursor *cur)
{
	count(cur, &c->x);
}

int gt_show_timeline(struct gt_text *t, const struct gt_show *s)
{
	__attribute__((cleanup(ctx_done))) struct ctx c = { .s = s };
	int err;

	c.names = gt_names_take(s->app->model);
	c.mem = calloc(1, sizeof(*c.mem));
	if (!c.names || !c.mem)
		return -ENOMEM;
	c.x.end = atomic_load(&s->app->log->head);
	err = walk(&c, count_all, NULL);
	if (err)
		return err;
	head(t, &c.x);
	err = walk(&c, rows, t);
	if (!err && c.x.events > GT_ROWS_MAX)
		gt_text_printf(t, "# %llu older events left out\n",
			       (unsigned long long)(c.x.events - GT_ROWS_MAX));
	return err;
}
