/* SPDX-License-Identifier: GPL-2.0 */
/* From an event's fields to records. */
#include <string.h>

#include "internal.h"

#define BIT(type) (1u << (type))
#define HEARD_NS  1000000000ULL /* `unless_heard` */

/* What a process's own thread does in a call, so that pid is the caller's. */
#define BY_TASK                                                                                    \
	(BIT(GT_SUBMIT) | BIT(GT_SYNC_WAIT_ENTER) | BIT(GT_SYNC_WAIT_EXIT) | BIT(GT_IOCTL_ENTER) | \
	 BIT(GT_IOCTL_EXIT) | BIT(GT_QUEUE_CREATE) | BIT(GT_LAUNCH) | (0x7fu << GT_CUSTOM0))
/* What is told from interrupts, or by whoever happens to run: no thread did it. */
#define BY_NOBODY                                                                                  \
	(BIT(GT_COMPLETE) | BIT(GT_CTX_SWITCH) | BIT(GT_START) | BIT(GT_END) | BIT(GT_IRQ) |       \
	 BIT(GT_ERROR) | BIT(GT_COUNTER) | BIT(GT_CLOCK) | BIT(GT_POWER))

/* What became of an event in a section, if not records. The higher one is counted. */
enum result { RES_MALFORMED = -3, RES_IGNORED, RES_UNMATCHED };

static uint64_t num_given(struct gt_eventmap *m, const struct gt_num *n, const struct gt_src *src)
{
	uint64_t v, more;

	switch (n->kind) {
	case GT_N_CONST:
		return n->constant;
	case GT_N_FIELD:
		if (!gt_src_int(src, &n->ref, &v))
			return GT_NONE64;
		v *= n->scale;
		if (n->more.field[0] && gt_src_int(src, &n->more, &more))
			v += more * n->more_scale;
		return v;
	case GT_N_NUMBERED:
		return gt_src_key(src, &n->ref, &v) ? gt_number(m, v) : GT_NONE64;
	default:
		return GT_NONE64;
	}
}

static inline uint64_t num(struct gt_eventmap *m, const struct gt_section *s, enum gt_num_id id,
			   const struct gt_src *src)
{
	return s->nums & BIT(id) ? num_given(m, &s->num[id], src) : GT_NONE64;
}

static uint32_t narrow(uint64_t v)
{
	return v < GT_NONE32 ? (uint32_t)v : GT_NONE32;
}

static bool holds(const struct gt_cond *c, uint64_t v)
{
	switch (c->op) {
	case GT_OP_EQ:
		return v == c->value;
	case GT_OP_NE:
		return v != c->value;
	default:
		return v & c->value;
	}
}

static bool ends_with(struct gt_slice s, const char *text)
{
	size_t n = strlen(text);

	return s.n >= n && !memcmp(s.p + s.n - n, text, n);
}

/* Returns 0 if the condition holds, or why not. */
static int meets(const struct gt_cond *c, const struct gt_src *src)
{
	struct gt_slice s;
	uint64_t v;

	if (c->op == GT_OP_ENDS) {
		if (!(src->raw ? gt_raw_str(src, &c->ref.raw, &s)
			       : gt_text_value(src, &c->ref, &s)))
			return RES_MALFORMED;
		return ends_with(s, c->text) ? 0 : RES_IGNORED;
	}
	if (!gt_src_int(src, &c->ref, &v))
		return RES_MALFORMED;
	return holds(c, v) ? 0 : RES_IGNORED;
}

/* GPU and ring, as the event tells them or lets conclude. Without a name of either, the job may
 * tell.
 */
static bool place(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
		  const struct gt_evctx *c, struct gt_job *j)
{
	bool named = s->dev.n || s->nums & BIT(GT_NUM_MINOR);

	if (!s->ring.n && !named && (!s->driver[0] || s->nmatch))
		return true;
	if (!gt_gpu_told(m, s, src, &j->gpu))
		j->gpu = gt_gpu_concluded(m, s, j, c->tid, c->ts);
	if (j->gpu == GT_NONE16)
		return false;
	if (s->ring.n)
		j->ring = gt_ring_of(m, s, src, j->gpu);
	return !s->ring.n || j->ring != GT_NONE16;
}

/* Tells the end of jobs, and no more: of one that is known in any case */
static bool ends(const struct gt_section *s)
{
	return (s->only == GT_ONLY_DEFAULT || s->only == GT_ONLY_FILE) &&
	       s->bits == BIT(GT_COMPLETE) && !s->ring.n;
}

/* Another tracepoint tells the same jobs, and did so later than @since. */
static bool heard_since(const struct gt_section *s, uint64_t since)
{
	for (unsigned int i = 0; i < s->nheard; i++)
		if (s->heard_tp[i] && !s->heard_tp[i]->gone && s->heard_tp[i]->heard > since)
			return true;
	return false;
}

/* … and just now: those of another CPU may be a little ahead. */
static bool heard_better(const struct gt_section *s, uint64_t ts)
{
	return heard_since(s, ts > HEARD_NS ? ts - HEARD_NS : 0);
}

/* Returns 0 if the event may be told, or why not. */
static int find_job(struct gt_eventmap *m, const struct gt_section *s, const struct gt_evctx *c,
		    struct gt_job *j)
{
	uint64_t ctx = j->ctx;
	enum gt_found found = gt_job_resolve(m, s, j);

	if (s->only == GT_ONLY_FILE && gt_job_context_known(m, s, ctx))
		gt_job_context_ended(m, j);
	if (found == GT_JOB_FOUND)
		return 0;
	if (s->only == GT_ONLY_ANY) {
		if (c->known && j->gpu == GT_NONE16) {
			j->gpu = c->gpu;
			j->ring = c->ring;
			if (c->ctx != GT_NONE64)
				j->ctx = c->ctx;
		} else if (j->gpu == GT_NONE16) {
			gt_job_context_place(m, j);
		}
		return 0;
	}
	if (s->only == GT_ONLY_RING) {
		/* What it says of a job may be anything: a probe that could not follow a pointer
		 * leaves what the kernel's buffer held before. */
		j->ctx = j->seqno = GT_NONE64;
		return 0;
	}
	if (found == GT_JOB_NO_KEY)
		return RES_MALFORMED;
	/* most are of other files' jobs, which end as those files say */
	if (s->only == GT_ONLY_FILE && !gt_job_context_known(m, s, ctx))
		return RES_IGNORED;
	if (s->ring.n)
		return s->only == GT_ONLY_KNOWN ? RES_UNMATCHED : 0;
	if (ends(s)) {
		if (heard_better(s, c->ts))
			return RES_IGNORED;
		/* The beginning was lost. That some ring was busy until now is told nevertheless:
		 * the next job there cannot have been worked on before. */
		m->stats.unmatched++;
		gt_job_context_place(m, j);
		return 0;
	}
	/* a fence that is of no job, like the scheduler's and the hardware's own */
	if (s->only == GT_ONLY_KNOWN && !gt_job_context_known(m, s, ctx))
		return RES_IGNORED;
	return RES_UNMATCHED;
}

/* @out[0] is made but for what depends on the type. */
static int emit(struct gt_eventmap *m, const struct gt_section *s, const struct gt_evctx *c,
		union gt_record *out, int max)
{
	int n = s->ntypes < max ? s->ntypes : max;

	for (int i = n - 1; i >= 0; i--) {
		uint32_t bit = BIT(s->types[i]);

		if (i)
			out[i] = out[0];
		out[i].ev.type = s->types[i];
		if (!(bit & BY_NOBODY))
			out[i].ev.tid = c->tid;
		if (s->flags) /* whoever runs the scheduler; the model finds the fence's process */
			out[i].ev.tid = GT_NONE32;
		if (bit & BY_TASK && !(s->nums & BIT(GT_NUM_PID)) && !(s->flags && s->nmatch))
			out[i].ev.pid = c->pid;
	}
	m->stats.decoded += (uint64_t)n;
	return n;
}

/*
 * The name of a custom event, before its first. Time 0: it goes ahead of whatever the source still
 * holds back, and takes its neighbour's time in the stream.
 */
static void push_name(struct gt_eventmap *m, const struct gt_section *s)
{
	union gt_record r;

	if (m->named & BIT(s->types[0]))
		return;
	gt_record_init(&r, 0, GT_NAME);
	r.name.id = s->types[0];
	r.name.kind = GT_NAME_CUSTOM;
	r.name.part = 0;
	memcpy(r.name.text, s->name, sizeof(r.name.text));
	m->named |= BIT(s->types[0]);
	m->p->host->push(m->p, &r, 1);
}

/*
 * A fence that had signaled before its event came, as of work that was done by then: its job ends
 * as it begins. The fences of a context signal in order.
 */
static int end_at_once(struct gt_eventmap *m, const struct gt_section *s, const struct gt_job *j,
		       const union gt_record *begun, union gt_record *out)
{
	gt_job_forget(m, s, j);
	*out = *begun;
	out->ev.type = GT_COMPLETE;
	out->ev.flags |= GT_F_INFERRED;
	out->ev.tid = GT_NONE32;
	out->ev.value = out->ev.ref = GT_NONE64;
	m->stats.decoded++;
	return 1;
}

static bool is_wait(const struct gt_section *s, enum gt_type type, const struct gt_job *j)
{
	return s->types[0] == type && j->ctx != GT_NONE64 && j->seqno != GT_NONE64;
}

/* What the event tells of its job; false if it is malformed. */
static bool read_job(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
		     const struct gt_evctx *c, struct gt_job *j)
{
	*j = (struct gt_job){ .gpu = GT_NONE16, .ring = GT_NONE16, .pid = GT_NONE32 };
	j->ctx = num(m, s, GT_NUM_CTX, src);
	j->seqno = num(m, s, GT_NUM_SEQNO, src);
	if (s->nums & BIT(GT_NUM_PID))
		j->pid = narrow(num(m, s, GT_NUM_PID, src));
	else if (s->bits & BIT(GT_SUBMIT))
		j->pid = c->pid;
	if (s->nums & BIT(GT_NUM_FENCE) && !gt_src_key(src, &s->num[GT_NUM_FENCE].ref, &j->fence))
		j->fence = 0;
	return place(m, s, src, c, j);
}

static int decode(struct gt_tp *tp, struct gt_section *s, const struct gt_src *src,
		  const struct gt_evctx *c, union gt_record *out, int max)
{
	struct gt_eventmap *m = tp->m;
	struct gt_event *ev = &out->ev;
	struct gt_job j;
	int res, n;

	if (max <= 0)
		return 0;
	res = s->where.op ? meets(&s->where, src) : 0;
	if (res)
		return res;
	if (!read_job(m, s, src, c, &j))
		return RES_MALFORMED;
	if (gt_twice_told(m, tp, s, c, &j))
		return RES_IGNORED;
	/* Where another tells of the jobs, only a submission begins one: the hand-over of a job
	 * that the other has told of would be that of a second. */
	if (s->nheard && s->nmatch && !ends(s) && !(s->bits & BIT(GT_SUBMIT)) && heard_since(s, 0) &&
	    !gt_job_known(m, s, &j))
		return RES_IGNORED;
	res = s->nmatch ? find_job(m, s, c, &j) : 0;
	if (res)
		return res;
	gt_twice_note(m, s, c, &j);

	gt_record_init(out, c->ts, GT_SUBMIT);
	ev->value = num(m, s, GT_NUM_VALUE, src);
	if (is_wait(s, GT_SYNC_WAIT_ENTER, &j))
		gt_wait_enter(m, c->tid, c->ts, &j);
	else if (is_wait(s, GT_SYNC_WAIT_EXIT, &j))
		ev->value = gt_wait_exit(m, c->tid, c->ts, &j);
	ev->flags = s->flags;
	ev->cpu = c->cpu;
	ev->gpu = j.gpu;
	ev->ring = j.ring;
	ev->ctx = j.ctx;
	ev->seqno = j.seqno;
	ev->pid = j.pid;
	ev->queue = narrow(num(m, s, GT_NUM_QUEUE, src));
	ev->ref = num(m, s, GT_NUM_REF, src);
	if (s->types[0] >= GT_CUSTOM0)
		push_name(m, s);
	n = emit(m, s, c, out, max);
	if (s->bits & BIT(GT_SUBMIT) && n < max && gt_job_ended_before(m, &j))
		n += end_at_once(m, s, &j, out, out + n);
	return n;
}

static void count(struct gt_eventmap_stats *st, int res)
{
	if (res == RES_UNMATCHED)
		st->unmatched++;
	else if (res == RES_IGNORED)
		st->ignored++;
	else
		st->malformed++;
}

/* Every section in use has its turn. An event that gave nothing is counted once. */
static int run(struct gt_tp *tp, const struct gt_src *src, const struct gt_evctx *c,
	       union gt_record *out, int max)
{
	int total = 0, res = RES_MALFORMED;

	tp->heard = c->ts;
	for (struct gt_section *s = tp->sections; s; s = s->next) {
		int n;

		if (!s->use || (src->raw && !s->bound))
			continue;
		n = s->nheard && !ends(s) && heard_better(s, c->ts)
			    ? RES_IGNORED
			    : decode(tp, s, src, c, out + total, max - total);
		if (n > 0)
			total += n;
		else if (n < 0 && n > res)
			res = n;
	}
	if (!total)
		count(&tp->m->stats, res);
	return total;
}

int gt_tp_raw(struct gt_tp *tp, const struct gt_evctx *c, const void *rec, size_t len,
	      union gt_record *out, int max)
{
	struct gt_src src = { .raw = true, .data = rec, .len = len };

	return run(tp, &src, c, out, max);
}

uint32_t gt_tp_types(const struct gt_tp *tp)
{
	uint32_t types = 0;

	for (const struct gt_section *s = tp->sections; s; s = s->next)
		if (s->use)
			types |= s->bits;
	return types;
}

bool gt_tp_of(const struct gt_tp *tp, const char *driver)
{
	for (const struct gt_section *s = tp->sections; s; s = s->next)
		if (s->use && strcmp(s->driver, driver))
			return false;
	return true;
}

static size_t line_length(size_t len)
{
	return len < GT_MAP_TEXT_MAX ? len : GT_MAP_TEXT_MAX;
}

int gt_tp_text(struct gt_tp *tp, const struct gt_evctx *c, const char *text, size_t len,
	       union gt_record *out, int max)
{
	struct gt_src src = { .data = text, .len = line_length(len) };

	return run(tp, &src, c, out, max);
}

static bool dev_of(const struct gt_tp *tp, const struct gt_src *src, char *buf, size_t buflen)
{
	for (const struct gt_section *s = tp->sections; s; s = s->next) {
		char mem[GT_MAP_STR];
		struct gt_slice dev;

		if (!s->use || !s->dev.n || (src->raw && !s->bound))
			continue;
		if (!gt_tmpl_eval(&s->dev, src, mem, &dev) || !buflen)
			continue;
		if (dev.n > buflen - 1)
			dev.n = buflen - 1;
		memcpy(buf, dev.p, dev.n);
		buf[dev.n] = '\0';
		return true;
	}
	return false;
}

bool gt_tp_text_dev(struct gt_tp *tp, const char *text, size_t len, char *buf, size_t buflen)
{
	struct gt_src src = { .data = text, .len = line_length(len) };

	return dev_of(tp, &src, buf, buflen);
}

bool gt_tp_raw_dev(struct gt_tp *tp, const void *rec, size_t len, char *buf, size_t buflen)
{
	struct gt_src src = { .raw = true, .data = rec, .len = len };

	return dev_of(tp, &src, buf, buflen);
}
