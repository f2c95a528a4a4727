/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report: a row for each finished job of the history, and who made it wait. Walks the log without
 * the model's lock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/lib/ioctl_names.h"
#include "blame.h"
#include "internal.h"

/* One record as a line of `trace`; and the key=value pairs that `timeline` shows as well. */

/* Blanks up to column @width, counted from byte @from of the text */
static void pad(struct gt_text *t, size_t from, size_t width)
{
	while (!t->failed && t->len - from < width)
		gt_text_ch(t, ' ');
}

const char *gt_type_name(unsigned int type)
{
	static const char *const names[GT_NTYPES] = GT_TYPE_NAMES;

	return type < GT_NTYPES ? names[type] : NULL;
}

/* What value and ref mean, by type; NULL: nothing. */
static const struct {
	const char *value, *ref;
} meaning[GT_NTYPES] = {
	[GT_SUBMIT] = { NULL, "client" },
	[GT_COMPLETE] = { "exec_ns", NULL },
	[GT_END] = { "exec_ns", NULL },
	[GT_CTX_SWITCH] = { NULL, "from" },
	[GT_IRQ] = { "source", NULL },
	[GT_SYNC_WAIT_EXIT] = { "waited_ns", NULL },
	[GT_QUEUE_SCHEDULE] = { "allowed", NULL },
	[GT_QUEUE_TOKEN] = { "token", "channel" },
	[GT_IOCTL_EXIT] = { NULL, "inside_ns" },
	[GT_DISPATCH] = { "exec_ns", NULL }, /* the kernel is named */
	[GT_COPY] = { "bytes", "time_ns" },
	[GT_COUNTER] = { "reading", "counter" },
	[GT_CLOCK] = { "hz", NULL },
	[GT_POWER] = { "uw", NULL },
	[GT_CUSTOM0... GT_CUSTOM6] = { "value", "ref" },
};

static void error_key(struct gt_text *t, uint64_t code)
{
	const char *name = gt_error_name(code);

	if (code == GT_ERR_UNKNOWN || code == GT_NONE64)
		return;
	gt_text_str(t, " error=");
	if (name)
		gt_text_str(t, name);
	else
		gt_text_u64(t, code);
}

static void value_key(struct gt_text *t, const struct gt_event *e, const char *function)
{
	switch (e->type) {
	case GT_FUNCTION:
		if (e->value == GT_NONE64)
			break;
		gt_text_str(t, " function=");
		if (function && *function)
			gt_text_word(t, function, GT_FUNCTION_NAME);
		else
			gt_text_u64(t, e->value);
		break;
	case GT_ERROR:
		error_key(t, e->value);
		break;
	case GT_IOCTL_ENTER:
		if (e->value == GT_NONE64)
			break;
		gt_text_str(t, " cmd=");
		gt_text_hex(t, e->value);
		break;
	case GT_IOCTL_EXIT: /* -1 is -EPERM, and all ones: ambiguous, so neither is claimed */
		if (e->value == GT_NONE64)
			break;
		gt_text_str(t, " result=");
		gt_text_i64(t, (int64_t)e->value);
		break;
	default:
		if (e->flags & GT_F_DEPENDS)
			break;
		if (meaning[e->type].value && e->value != GT_NONE64)
			gt_text_gkv(t, meaning[e->type].value, e->value);
	}
}

/* The fence, and the process of its job if that is another. What came late has its time in ref. */
static void dependency_keys(struct gt_text *t, const struct gt_event *e)
{
	if (e->value != GT_NONE64 && e->ref != GT_NONE64 && !(e->flags & GT_F_LATE)) {
		gt_text_str(t, e->flags & GT_F_WAITS ? " waits_for=" : " depends_on=");
		gt_text_u64(t, e->ref);
		gt_text_ch(t, ':');
		gt_text_u64(t, e->value);
	}
	if (e->tid != GT_NONE32 && e->tid != e->pid)
		gt_text_gkv(t, "of_pid", e->tid);
}

/** gt_event_keys() - " key=value" for what the type's value and ref mean, queue, and flags
 * @name: of the function that a FUNCTION's value means, or of an ioctl's command; NULL or "": not
 *	known */
static void gt_event_keys(struct gt_text *t, const struct gt_event *e, const char *name)
{
	if (e->type >= GT_NTYPES)
		return;
	value_key(t, e, name);
	if (e->flags & GT_F_DEPENDS)
		dependency_keys(t, e);
	if (e->flags & GT_F_LATE) {
		if (e->ref != GT_NONE64) {
			gt_text_str(t, " late_from=");
			gt_time(t, e->ref);
		}
	} else if (e->type == GT_COUNTER && e->ref == GT_COUNTER_DEPTH) {
		gt_text_str(t, " counter=depth");
	} else if (e->type == GT_COMPLETE && e->ring == GT_NONE16 && e->ref != GT_NONE64) {
		gt_text_gkv(t, "total_ns", e->ref);
	} else if (meaning[e->type].ref && e->ref != GT_NONE64 && !(e->flags & GT_F_DEPENDS)) {
		gt_text_gkv(t, meaning[e->type].ref, e->ref);
	}
	if ((e->type == GT_IOCTL_ENTER || e->type == GT_IOCTL_EXIT) && name && *name) {
		gt_text_str(t, " command=");
		gt_text_str(t, name);
	}
	if (e->type == GT_DISPATCH && name && *name) {
		gt_text_str(t, " kernel=");
		gt_text_str(t, name);
	}
	if (e->tid != GT_NONE32 && e->tid != e->pid && !(e->flags & GT_F_DEPENDS))
		gt_text_gkv(t, "tid", e->tid);
	if (e->queue != GT_NONE32)
		gt_text_gkv(t, "queue", e->queue);
	if (e->flags & GT_F_LATE)
		gt_text_str(t, " late");
	if (e->flags & GT_F_INFERRED)
		gt_text_str(t, " inferred");
	if (e->flags & GT_F_REDACTED)
		gt_text_str(t, " redacted");
}

static void gt_lost_line(struct gt_text *t, const struct gt_lost *l)
{
	if (l->cause == GT_LOST_BEGIN)
		return;
	gt_text_ch(t, '[');
	gt_time(t, l->ts);
	/* of a source that could not be read for a while it is not known what was lost */
	if (!l->count) {
		gt_text_str(t, "] GAP in what a source reports\n");
		return;
	}
	gt_text_str(t, "] LOST");
	if (l->count != GT_NONE64) {
		gt_text_ch(t, ' ');
		gt_text_u64(t, l->count);
	}
	gt_text_str(t, l->cause == GT_LOST_READER ? " records (reader too slow)\n"
						  : " records (source's buffer ran over)\n");
}

static_assert(GT_KERNEL_DIR <= GT_FUNCTION_NAME, "a kernel's name fits");

/** struct words - what a line names, copied under the model's lock; "" unknown */
struct words {
	char gpu[16], ring[40], comm[16], type[32], name[GT_FUNCTION_NAME];
};

/* Of an ioctl that begins, or ends if its begin was seen; NULL: not known */
static const char *command_of(struct gt_trace_past *past, const struct gt_event *e,
			      const struct gt_gpu *g)
{
	uint32_t tid = e->tid != GT_NONE32 ? e->tid : e->pid;
	unsigned int i = tid % (sizeof(past->in) / sizeof(past->in[0]));
	const char *command = NULL;

	if (e->type == GT_IOCTL_ENTER)
		command = gt_ioctl_name(g ? g->driver : NULL, e->value);
	if (!past || tid == GT_NONE32)
		return command;
	if (e->type == GT_IOCTL_ENTER) {
		past->in[i].tid = tid;
		past->in[i].command = command;
	} else if (e->type == GT_IOCTL_EXIT && past->in[i].tid == tid) {
		past->in[i].tid = 0;
		return past->in[i].command;
	}
	return command;
}

static void take_words(struct gt_model *m, const struct gt_event *e, struct gt_trace_past *past,
		       struct words *w)
{
	const struct gt_gpu *g;
	const struct gt_proc *p;
	const char *command;

	memset(w, 0, sizeof(*w));
	GT_MODEL_LOCK(m);
	g = e->gpu < m->ngpus ? m->gpus[e->gpu] : NULL;
	if (g)
		memcpy(w->gpu, g->name, sizeof(w->gpu));
	if (g && e->ring < g->nrings)
		memcpy(w->ring, g->rings[e->ring]->name, sizeof(w->ring));
	p = e->pid != GT_NONE32 ? gt_model_proc(m, e->pid) : NULL;
	if (p && gt_was(p->uid, p->first_ts, e))
		memcpy(w->comm, p->comm, sizeof(w->comm));
	if (e->type >= GT_CUSTOM0 && e->type <= GT_CUSTOM6)
		memcpy(w->type, m->custom[e->type - GT_CUSTOM0], sizeof(w->type));
	if (e->type == GT_FUNCTION && e->value < m->nfunctions)
		memcpy(w->name, m->functions[e->value], sizeof(w->name));
	if (e->type == GT_DISPATCH && !(e->flags & GT_F_LATE) && e->ref < m->nkernels)
		memcpy(w->name, m->kernels[e->ref]->dir, sizeof(m->kernels[e->ref]->dir));
	command = command_of(past, e, g);
	if (command)
		snprintf(w->name, sizeof(w->name), "%s", command);
}

/* amdgpu0/ring2(sdma0) */
static void source(struct gt_text *t, const struct gt_event *e, const struct words *w)
{
	if (!w->gpu[0]) {
		gt_text_dash(t);
		return;
	}
	gt_text_word(t, w->gpu, sizeof(w->gpu));
	if (e->ring == GT_NONE16)
		return;
	gt_text_str(t, "/ring");
	gt_text_u64(t, e->ring);
	if (!w->ring[0])
		return;
	gt_text_ch(t, '(');
	gt_text_word(t, w->ring, sizeof(w->ring));
	gt_text_ch(t, ')');
}

static void job_cell(struct gt_text *t, const struct gt_event *e)
{
	gt_cell_u64(t, e->ctx);
	gt_text_ch(t, ':');
	if (e->seqno == GT_NONE64)
		gt_text_dash(t);
	else
		gt_text_u64(t, e->seqno);
}

static void event_line(struct gt_text *t, const struct gt_event *e, const struct gt_view *v,
		       const struct words *w)
{
	size_t at = t->len;

	gt_text_ch(t, '[');
	gt_time(t, e->ts);
	gt_text_ch(t, ']');
	pad(t, at, 18);
	gt_cell_u64(t, e->cpu == GT_NONE16 ? GT_NONE64 : e->cpu);
	pad(t, at, 22);
	gt_text_ch(t, ' ');
	source(t, e, w);
	pad(t, at, 46);
	gt_cell_word(t, w->type[0] ? w->type : gt_type_name(e->type), sizeof(w->type));
	pad(t, at, 62);
	gt_cell_u32(t, gt_view_pid(v, e->pid, e->ts));
	pad(t, at, 70);
	gt_cell_word(t, w->comm[0] ? w->comm : NULL, sizeof(w->comm));
	pad(t, at, 87);
	job_cell(t, e);
	gt_event_keys(t, e, w->name);
	gt_text_ch(t, '\n');
}

void gt_trace_line(struct gt_text *t, struct gt_app *app, const struct gt_view *v,
		   const union gt_record *r, struct gt_trace_past *past)
{
	struct words w;

	if (r->ev.type == GT_LOST)
		gt_lost_line(t, &r->lost);
	if (r->ev.type >= GT_NTYPES)
		return;
	take_words(app->model, &r->ev, past, &w);
	event_line(t, &r->ev, v, &w);
}

/*
 * timeline: CPU and GPU events of the history, merged by time, with what can be concluded from two
 * of them as a note. Walks the log with a cursor, twice: to count, and to write.
 */

#define BATCH 256 /* records read at a time */

/* Notes look back this far: entries of tables that are overwritten as hashes collide. */
#define NJOBS	 32768
#define NTHREADS 4096
#define NPROCS	 1024

/* A queue that a runtime reports is taken to be the one that the driver made so long before or
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
		uint64_t driver,
			runtime; /* when each last reported that it made, or lent, a queue */
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
	struct gt_scope scope = gt_tree_scope(s->app, &s->obj, &s->view);
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
	if (e->type >= GT_CUSTOM0 && e->flags & GT_F_WAITS && !j->waits)
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

/* What the runtime and the driver report of one queue, within QUEUE_NS */
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
		note(t, q->runtime, e->ts, " us after the runtime reported a queue)");
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

/* When it happened: what came late, as a job that was held back until its end, has that in ref. */
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
	return walk(&c, rows, t);
}

int gt_show_timeline_stats(struct gt_text *t, const struct gt_show *s)
{
	__attribute__((cleanup(ctx_done))) struct ctx c = { .s = s };
	const struct extent *x = &c.x;
	uint64_t observed, rows;
	int err;

	c.x.end = atomic_load(&s->app->log->head);
	err = walk(&c, count_all, NULL);
	if (err)
		return err;
	rows = x->events < GT_ROWS_MAX ? x->events : GT_ROWS_MAX;
	gt_text_kv(t, "events", x->events);
	if (x->events) {
		gt_text_kv(t, "duration_ns", x->last - x->first);
		observed = gt_observed_between(s->app->model, x->first, x->last);
		if (observed) {
			gt_text_str(t, "events_per_second ");
			gt_text_milli(
				t,
				(uint64_t)((unsigned __int128)x->events * 1000 * GT_SEC / observed),
				2);
			gt_text_ch(t, '\n');
		}
	}
	gt_text_kv(t, "older_events_left_out", x->events - rows);
	return 0;
}

/* jobs: what is in flight on a ring now. */

#define LOOKS_AT_ONCE 256 /* looked at under one lock */

/* Where to go on: behind the last one taken; if that has ended, from the oldest still there. */
static uint32_t resume(const struct gt_model *m, const struct gt_ring *r, struct gt_flight *w)
{
	const struct gt_job *j;

	if (w->idx == GT_NONE32)
		return r->jobs_head;
	j = &m->jobs[w->idx];
	if (j->live && j->live != GT_JOB_UNSEEN && j->ring == r->id && j->gpu == r->gpu &&
	    j->seen == w->seen && j->ctx == w->ctx && j->seqno == w->seqno)
		return j->ring_next;
	if (w->seen > w->after)
		w->after = w->seen;
	return r->jobs_head;
}

/* From START, or else the oldest of those that occupy the hardware. */
static bool runs(const struct gt_ring *r, const struct gt_job *j, struct gt_flight *w)
{
	if (j->reported & GT_JOB_END)
		return false;
	if (r->starts)
		return j->reported & GT_JOB_START;
	if (w->running || !gt_ring_sees_hw(r) || !gt_job_is_on_hw(r, j))
		return false;
	w->running = true;
	return true;
}

static void take(const struct gt_model *m, const struct gt_ring *r, const struct gt_job *j,
		 struct gt_flight *w, struct gt_flying *to)
{
	const struct gt_proc *p = j->proc < m->proc_slots ? m->procs[j->proc] : NULL;

	to->job = *j;
	gt_depend_of(m, j, &to->dep);
	to->running = runs(r, j, w);
	to->uid = j->uid;
	to->first_ts = GT_NONE64;
	to->comm[0] = 0;
	if (!p || p->pid != j->pid)
		return;
	if (to->uid == GT_NONE32)
		to->uid = p->uid;
	to->first_ts = p->first_ts;
	memcpy(to->comm, p->comm, sizeof(to->comm));
}

int gt_flight_take(const struct gt_model *m, const struct gt_ring *r, struct gt_flight *w,
		   struct gt_flying out[GT_FLIGHT_ROWS], bool *more)
{
	uint32_t at = resume(m, r, w);
	int n = 0;

	for (int looks = 0; at != GT_NONE32 && looks < LOOKS_AT_ONCE && n < GT_FLIGHT_ROWS;
	     looks++) {
		const struct gt_job *j = &m->jobs[at];

		w->idx = at;
		w->seen = j->seen;
		w->ctx = j->ctx;
		w->seqno = j->seqno;
		if (!w->after || j->seen > w->after)
			take(m, r, j, w, &out[n++]);
		at = j->ring_next;
	}
	*more = at != GT_NONE32;
	return n;
}

/* Return: jobs copied, or -ENODEV; @more: there may be others. */
static int take_some(const struct gt_show *s, struct gt_flight *w, struct gt_flying *rows,
		     bool *more)
{
	const struct gt_ring *r;

	GT_MODEL_LOCK(s->app->model);
	r = gt_obj_ring(s);
	return r ? gt_flight_take(s->app->model, r, w, rows, more) : -ENODEV;
}

static const char *state(const struct gt_flying *row)
{
	if (row->running)
		return "running";
	if (row->job.reported & GT_JOB_END)
		return "ended";
	return row->job.reported & (GT_JOB_COMMIT | GT_JOB_START) ? "committed" : "queued";
}

static void job_row(struct gt_text *t, const struct gt_flying *row, const struct gt_view *v,
		    uint64_t now)
{
	const struct gt_job *j = &row->job;
	enum gt_see see = gt_see(v, j->pid, j->uid, j->seen);
	uint64_t since = j->reported & GT_JOB_SUBMIT ? j->submit : j->seen;
	bool whole = see == GT_SEE_WHOLE;

	if (see == GT_SEE_NOT)
		return;
	gt_cell_u64(t, whole ? j->ctx : GT_NONE64);
	gt_cell_u64(t, j->seqno);
	gt_cell_u32(t, whole ? gt_view_pid(v, j->pid, j->seen) : GT_NONE32);
	gt_cell(t, state(row));
	gt_cell_u64(t, now > since ? now - since : 0);
	gt_cell_comm(t, whole ? row->comm : "");
	gt_text_ch(t, '\n');
}

int gt_show_jobs(struct gt_text *t, const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	struct gt_flight w = GT_FLIGHT_BEGIN;
	struct gt_flying rows[GT_FLIGHT_ROWS];
	bool more = true;
	/* jobs that come while we walk must not keep us for ever */
	unsigned int left = s->app->model->limits.max_jobs;

	while (more && left && !t->failed) {
		int n = take_some(s, &w, rows, &more);

		if (n < 0)
			return n;
		left -= (unsigned int)n < left ? (unsigned int)n : left;
		for (int i = 0; i < n; i++)
			job_row(t, &rows[i], &s->view, now);
	}
	return 0;
}

/* Ages move with every nanosecond while anything is in flight. */
uint64_t gt_gen_jobs(const struct gt_show *s)
{
	uint64_t now = gt_model_now(s->app->model);
	const struct gt_ring *r;

	GT_MODEL_LOCK(s->app->model);
	r = gt_obj_ring(s);
	if (!r)
		return 0;
	return gt_gen_mix(r->gen, r->jobs_head == GT_NONE32 ? 0 : now);
}

/**
 * struct filter - of which objects
 * @from, @until: a process's own time: its pid may have been another's before and after
 * @rings, @pids: bits for gt_fins
 */
struct filter {
	const struct gt_show *s;
	uint64_t rings, pids;
	uint16_t gpu, ring;
	uint32_t pid;
	uint64_t from, until;
};

static bool wanted(const struct filter *f, const struct gt_finished *j)
{
	enum gt_see see = gt_see(&f->s->view, j->pid, j->uid, j->end);

	if (see == GT_SEE_NOT || (f->gpu != GT_NONE16 && j->gpu != f->gpu) ||
	    (f->ring != GT_NONE16 && j->ring != f->ring))
		return false;
	if (f->pid == GT_NONE32)
		return true;
	return see == GT_SEE_WHOLE && j->pid == f->pid && j->end >= f->from && j->end < f->until;
}

static bool all_wanted(const struct filter *f)
{
	return gt_view_whole(&f->s->view) && f->gpu == GT_NONE16 && f->pid == GT_NONE32;
}

static int make_filter(struct filter *f, const struct gt_show *s)
{
	const struct gt_proc *p, *later;

	*f = (struct filter){ .s = s,
			      .rings = GT_NONE64,
			      .pids = GT_NONE64,
			      .gpu = GT_NONE16,
			      .ring = GT_NONE16,
			      .pid = GT_NONE32,
			      .until = GT_NONE64 };
	if (s->obj.kind == GT_DIR_ROOT)
		return 0;
	f->gpu = s->obj.gpu;
	if (s->obj.kind == GT_DIR_RING)
		f->ring = s->obj.ring;
	if (s->obj.kind != GT_DIR_PROC)
		return 0;
	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_proc(s);
	if (!p)
		return -ENODEV;
	f->pid = p->pid;
	f->pids = gt_fin_pid_bit(p->pid);
	f->from = p->first_ts;
	later = gt_model_proc(s->app->model, p->pid);
	if (later && later != p && later->first_ts > p->first_ts)
		f->until = later->first_ts;
	return 0;
}

/* Who made it wait -------------------------------------------------------------------------- */

/**
 * struct holders - of the history's jobs, who held their ring longest while they waited
 * @longest: of each of g.job, see gt_held_longest()
 * @next: of each ring, the first of its jobs that no row has been made of
 */
struct holders {
	struct gt_gathered g;
	uint32_t *longest, *next;
};

static void holders_done(struct holders *h)
{
	gt_gathered_done(&h->g);
	free(h->longest);
	free(h->next);
}

static int find_holders(struct holders *h, const struct filter *f)
{
	struct gt_gathered *g = &h->g;
	int err = gt_gather(g, f->s, GT_NONE64, GT_GATHER_MORE);

	if (err)
		return err;
	h->longest = malloc((g->njobs + 1ULL) * sizeof(*h->longest));
	h->next = calloc(g->rings + 1ULL, sizeof(*h->next));
	if (!h->longest || !h->next)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->parties; i++)
		g->held[i].waiter = f->pid == GT_NONE32 || g->party[i].pid == f->pid;
	for (uint32_t k = 0; !err && k < g->rings; k++) {
		const struct gt_held_ring *r = &g->ring[k].held;

		if (r->n)
			err = gt_held_longest(r, g->held, h->longest + (r->job - g->job));
	}
	return err;
}

/* Who made job @nr of the history wait; each ring's come in this order */
static struct gt_blame_name holder_of(const struct gt_show *s, struct holders *h,
				      const struct gt_finished *j, uint64_t nr)
{
	const struct gt_gathered *g = &h->g;
	const struct gt_held_job *job = NULL;
	uint32_t who = GT_NONE32;

	if (j->gpu < GT_MAX_GPUS && g->base[j->gpu] != GT_NONE32 && j->ring < g->nrings[j->gpu]) {
		uint32_t ring = g->base[j->gpu] + j->ring, *next = &h->next[ring];
		const struct gt_held_ring *r = &g->ring[ring].held;

		while (*next < r->n && r->job[*next].nr < gt_gather_nr(nr))
			++*next;
		job = &r->job[*next];
		if (*next < r->n && job->nr == gt_gather_nr(nr))
			who = h->longest[job - g->job];
	}
	if (who == GT_HELD_OWNER)
		return gt_blame_owner(s, job->kept_pid, job->kept_uid, job->kept_to);
	return gt_blame_party(s, who == GT_NONE32 ? NULL : &g->party[who]);
}

/* Rows -------------------------------------------------------------------------------------- */

/* Why it was not handed over at once. @v NULL: whoever asks may not know of this job either */
static void reason_cells(struct gt_text *t, const struct gt_names *n, const struct gt_finished *j,
			 struct gt_model *m, const struct gt_view *v)
{
	struct gt_dependency d;
	bool kept = gt_depend_get(m, v ? j->dep : 0, &d), whole;

	whole = kept && d.job && gt_see(v, d.pid, d.uid, j->end) == GT_SEE_WHOLE;
	gt_cell(t, !kept ? NULL : d.job ? "job" : "fence");
	gt_cell_u64(t, d.waited);
	gt_cell(t, whole ? gt_names_gpu(n, d.gpu) : NULL);
	gt_cell_ring(t, whole ? d.ring : GT_NONE16);
	gt_cell_u64(t, whole ? d.seqno : GT_NONE64);
	gt_cell_u32(t, whole ? gt_view_pid(v, d.pid, j->end) : GT_NONE32);
}

static void known_time(struct gt_text *t, uint64_t ts, bool known)
{
	if (known)
		gt_cell_time(t, ts);
	else
		gt_cell(t, NULL);
}

/* When it was submitted, and when the hardware began it */
static void time_cells(struct gt_text *t, const struct gt_finished *j)
{
	uint64_t ran = j->exec == GT_NONE64	  ? GT_NONE64
		       : j->complete == GT_NONE64 ? j->exec
						  : j->exec + j->complete;

	known_time(t, j->end - j->total, j->total <= j->end);
	known_time(t, j->end - ran, ran <= j->end);
	gt_cell_u64(t, j->total);
}

/* Numbers and times of kernels and copies are their process's own, as gt_redact() has it */
static void blank_work(struct gt_finished *j)
{
	j->seqno = j->ioctl = j->queue = j->hw_wait = j->exec = GT_NONE64;
	j->cpu_wait = j->complete = j->total = GT_NONE64;
}

/* The history's job number @nr */
static void report_row(struct gt_text *t, const struct gt_names *n, const struct gt_finished *job,
		       uint64_t nr, struct holders *h, const struct gt_show *s)
{
	const struct gt_view *v = &s->view;
	bool whole = gt_see(v, job->pid, job->uid, job->end) == GT_SEE_WHOLE;
	const struct gt_name_ring *r = gt_names_ring(n, job->gpu, job->ring);
	struct gt_blame_name holder = holder_of(s, h, job, nr);
	struct gt_finished own = *job;
	const struct gt_finished *j = &own;

	if (!whole && (!r || r->work))
		blank_work(&own);
	gt_cell_time(t, j->end);
	gt_cell(t, gt_names_gpu(n, j->gpu));
	gt_cell_ring(t, j->ring);
	gt_cell(t, r ? gt_engine_name(r->engine) : NULL);
	gt_cell_u64(t, whole ? j->ctx : GT_NONE64);
	gt_cell_u64(t, j->seqno);
	gt_cell_u32(t, whole ? gt_view_pid(v, j->pid, j->end) : GT_NONE32);
	gt_cell_u64(t, j->ioctl);
	gt_cell_u64(t, j->queue);
	gt_cell_u64(t, j->hw_wait);
	gt_cell_u64(t, j->exec);
	gt_cell_u64(t, j->cpu_wait);
	gt_cell_u64(t, j->complete);
	reason_cells(t, n, j, s->app->model, whole ? v : NULL);
	time_cells(t, j);
	gt_cell_u32(t, holder.pid);
	gt_cell_comm(t, whole ? j->comm : "");
	gt_cell_comm(t, holder.comm);
	gt_text_ch(t, '\n');
}

static void walk_begin(struct gt_fins *fins, const struct filter *f)
{
	gt_fins_init(fins, f->s->app->log);
	fins->rings = f->rings;
	fins->pids = f->pids;
}

/**
 * older() - how many of jobs @from to @head - 1 are more than a report holds
 * @first: the first one that it does hold
 */
static uint64_t older(const struct filter *f, uint64_t from, uint64_t head, uint64_t *first)
{
	uint64_t rows = 0;
	struct gt_fins fins;

	*first = from;
	if (all_wanted(f)) { /* then none has to be looked at */
		if (head - from > GT_ROWS_MAX)
			*first = head - GT_ROWS_MAX;
		return *first - from;
	}
	walk_begin(&fins, f);
	for (uint64_t i = head; (i = gt_fins_before(&fins, i, from)) > from; i--) {
		const struct gt_finished *j = gt_fins_get(&fins, i - 1, true);

		if (!j)
			break;
		if (wanted(f, j) && ++rows == GT_ROWS_MAX)
			*first = i - 1;
	}
	return rows > GT_ROWS_MAX ? rows - GT_ROWS_MAX : 0;
}

/* The first job before @head that may still be there. A resize leaves out what does not fit, and a clear
 * may have come after @head was read */
static uint64_t oldest(const struct gt_log *l, uint64_t head)
{
	uint64_t from = gt_log_fin_from(l), base = atomic_load(&l->fins.base);

	from = from > base ? from : base;
	if (head > l->fin_mask + 1 && from < head - l->fin_mask - 1)
		from = head - l->fin_mask - 1;
	return from < head ? from : head;
}

int gt_show_report(struct gt_text *t, const struct gt_show *s)
{
	__attribute__((cleanup(gt_names_freep))) struct gt_names *n = NULL;
	__attribute__((cleanup(holders_done))) struct holders h = { 0 };
	struct gt_log *l = s->app->log;
	uint64_t head = atomic_load(&l->fin_head), from = oldest(l, head), first;
	struct gt_fins fins;
	struct filter f;
	int err = make_filter(&f, s);

	if (!err)
		err = find_holders(&h, &f);
	if (err)
		return err;
	if (f.gpu != GT_NONE16)
		f.rings = h.g.bits;
	n = gt_names_take(s->app->model);
	if (!n)
		return -ENOMEM;
	older(&f, from, head, &first);
	walk_begin(&fins, &f);
	for (uint64_t i = first; (i = gt_fins_after(&fins, i, head)) < head && !t->failed; i++) {
		const struct gt_finished *j = gt_fins_get(&fins, i, false);

		/* one that was overwritten meanwhile was among the oldest */
		if (j && wanted(&f, j))
			report_row(t, n, j, i, &h, s);
	}
	return 0;
}

int gt_show_report_stats(struct gt_text *t, const struct gt_show *s)
{
	struct gt_log *l = s->app->log;
	uint64_t head = atomic_load(&l->fin_head), first, rows = 0, left;
	struct gt_fins fins;
	struct filter f;
	int err = make_filter(&f, s);

	if (err)
		return err;
	left = older(&f, oldest(l, head), head, &first);
	walk_begin(&fins, &f);
	for (uint64_t i = first; (i = gt_fins_after(&fins, i, head)) < head; i++) {
		const struct gt_finished *j = gt_fins_get(&fins, i, false);

		rows += j && wanted(&f, j);
	}
	gt_text_kv(t, "rows", rows);
	gt_text_kv(t, "older_rows_left_out", left);
	return 0;
}
