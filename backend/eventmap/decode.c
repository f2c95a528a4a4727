/* SPDX-License-Identifier: GPL-2.0 */
/* From the fields of an event to records. */
#include <string.h>

#include "internal.h"

#define HEARD_NS 1000000000ULL /* `unless_heard` */

/* Types that a process's own thread causes by a system call: pid is the caller's */
#define BY_TASK                                                                                    \
	(GT_BIT(GT_SUBMIT) | GT_BIT(GT_SYNC_WAIT_ENTER) | GT_BIT(GT_SYNC_WAIT_EXIT) |              \
	 GT_BIT(GT_IOCTL_ENTER) | GT_BIT(GT_IOCTL_EXIT) | GT_BIT(GT_QUEUE_CREATE) |                \
	 GT_BIT(GT_LAUNCH) | (0x7fu << GT_CUSTOM0))
/* Types that come from interrupts, or from any thread that happens to run: no thread caused them */
#define BY_NOBODY                                                                                  \
	(GT_BIT(GT_COMPLETE) | GT_BIT(GT_CTX_SWITCH) | GT_BIT(GT_START) | GT_BIT(GT_END) |         \
	 GT_BIT(GT_IRQ) | GT_BIT(GT_ERROR) | GT_BIT(GT_COUNTER) | GT_BIT(GT_CLOCK) |               \
	 GT_BIT(GT_POWER))

/* Why a section gave no record for an event. Of several sections the highest one is counted. */
enum result { RES_MALFORMED = -3, RES_IGNORED, RES_UNMATCHED };

static uint64_t eval_num(struct gt_eventmap *m, const struct gt_num *n, const struct gt_src *src)
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
	return s->nums & GT_BIT(id) ? eval_num(m, &s->num[id], src) : GT_NONE64;
}

static uint32_t narrow(uint64_t v)
{
	return v < GT_NONE32 ? (uint32_t)v : GT_NONE32;
}

/* Evaluates a condition: 0 if it holds, else a result */
static int check_condition(const struct gt_cond *c, const struct gt_src *src)
{
	struct gt_slice s;
	uint64_t v;
	bool holds;

	if (c->op == GT_OP_ENDS) {
		size_t n = strlen(c->text);

		if (!gt_src_str(src, &c->ref, &s))
			return RES_MALFORMED;
		holds = s.n >= n && !memcmp(s.p + s.n - n, c->text, n);
		return holds ? 0 : RES_IGNORED;
	}
	if (!gt_src_int(src, &c->ref, &v))
		return RES_MALFORMED;
	if (c->op == GT_OP_AND)
		holds = v & c->value;
	else
		holds = (v == c->value) == (c->op == GT_OP_EQ);
	return holds ? 0 : RES_IGNORED;
}

/* Does the section report ends of jobs and nothing else? */
static bool ends_only(const struct gt_section *s)
{
	return s->bits == GT_BIT(GT_COMPLETE) && !s->ring.n;
}

/* … and only those of known jobs? */
static bool ends_known(const struct gt_section *s)
{
	return (s->unknown_job == GT_UNKNOWN_DEFAULT || s->unknown_job == GT_UNKNOWN_SAME_FILE) &&
	       ends_only(s);
}

/* Has another tracepoint reported the same jobs, later than @since? */
static bool heard_since(const struct gt_section *s, uint64_t since)
{
	for (unsigned int i = 0; i < s->nheard; i++)
		if (s->heard_tp[i] && !s->heard_tp[i]->gone && s->heard_tp[i]->heard > since)
			return true;
	return false;
}

/* Finds the job of an event and completes @j: 0, or why the event gives no record */
static int find_job(struct gt_eventmap *m, const struct gt_section *s, struct gt_job *j)
{
	uint64_t ctx = j->ctx;
	enum gt_found found = gt_job_resolve(m, s, j);

	if (s->unknown_job == GT_UNKNOWN_SAME_FILE && gt_job_context_known(m, s, ctx))
		gt_job_context_ended(m, j);
	if (found == GT_JOB_FOUND)
		return 0;
	if (s->second && gt_job_is_done(m, j))
		return RES_IGNORED;
	if (s->unknown_job == GT_UNKNOWN_KEEP) {
		if (j->gpu == GT_NONE16)
			gt_job_context_place(m, j);
		return 0;
	}
	if (s->unknown_job == GT_UNKNOWN_RING) {
		/* The fields of the job may be garbage: a probe that cannot follow a pointer leaves
		 * what the kernel's buffer held before. */
		j->ctx = j->seqno = GT_NONE64;
		return 0;
	}
	if (found == GT_JOB_NO_KEY)
		return RES_MALFORMED;
	/* most are of jobs of other files, and sections there report the end */
	if (s->unknown_job == GT_UNKNOWN_SAME_FILE && !gt_job_context_known(m, s, ctx))
		return RES_IGNORED;
	if (s->ring.n)
		return s->unknown_job == GT_UNKNOWN_IGNORE ? RES_UNMATCHED : 0;
	/* a fence of no job, such as the scheduler's and the hardware's own */
	if (s->unknown_job == GT_UNKNOWN_IGNORE && !gt_job_context_known(m, s, ctx))
		return RES_IGNORED;
	if (ends_only(s)) {
		/* A job of the other tracepoint, see decode(). That one's last event may be long
		 * ago, if nothing ran or the machine was suspended. */
		if (m->given || heard_since(s, 0))
			return RES_IGNORED;
		/* The job's beginning was lost. Its end is still reported: some ring was busy up to
		 * now, and cannot have worked on its next job before. */
		gt_job_context_place(m, j);
		if (s->unknown_job == GT_UNKNOWN_IGNORE && j->ring == GT_NONE16)
			return RES_UNMATCHED;
		m->stats.unmatched++;
		return 0;
	}
	return RES_UNMATCHED;
}

/* Completes @out[0] for each type of the section, as so many records. */
static int emit(struct gt_eventmap *m, const struct gt_section *s, const struct gt_evctx *c,
		union gt_record *out, int max)
{
	int n = s->ntypes < max ? s->ntypes : max;

	for (int i = n - 1; i >= 0; i--) {
		uint64_t bit = GT_BIT(s->types[i]);

		if (i)
			out[i] = out[0];
		out[i].ev.type = s->types[i];
		if (!(bit & BY_NOBODY))
			out[i].ev.tid = c->tid;
		if (s->flags) /* any thread runs the scheduler; the model finds the fence's process */
			out[i].ev.tid = GT_NONE32;
		if (bit & BY_TASK && !(s->nums & GT_BIT(GT_NUM_PID)) && !(s->flags && s->nmatch))
			out[i].ev.pid = c->pid;
	}
	m->stats.decoded += (uint64_t)n;
	return n;
}

/*
 * Pushes the name of a custom type before its first event. With time 0 it goes ahead of everything
 * that the source still holds back, and gets the time of the next record in the stream.
 */
static void push_name(struct gt_eventmap *m, const struct gt_section *s)
{
	union gt_record r;

	if (m->named & GT_BIT(s->types[0]))
		return;
	gt_record_init(&r, 0, GT_NAME);
	r.name.id = s->types[0];
	r.name.kind = GT_NAME_CUSTOM;
	r.name.part = 0;
	memcpy(r.name.text, s->name, sizeof(r.name.text));
	m->named |= GT_BIT(s->types[0]);
	m->p->host->push(m->p, &r, 1);
}

/*
 * The fence had signaled before the event of its job came: the job ends as it begins. The fences of
 * a context signal in order.
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

/* Reads the fields of a job; false if the event is malformed */
static bool read_job(struct gt_eventmap *m, struct gt_section *s, const struct gt_src *src,
		     const struct gt_evctx *c, struct gt_job *j)
{
	*j = (struct gt_job){ .gpu = GT_NONE16, .ring = GT_NONE16, .pid = GT_NONE32 };
	j->ctx = num(m, s, GT_NUM_CTX, src);
	j->seqno = num(m, s, GT_NUM_SEQNO, src);
	if (s->nums & GT_BIT(GT_NUM_PID))
		j->pid = narrow(num(m, s, GT_NUM_PID, src));
	else if (s->bits & GT_BIT(GT_SUBMIT))
		j->pid = c->pid;
	if (s->nums & GT_BIT(GT_NUM_FENCE) &&
	    !gt_src_key(src, &s->num[GT_NUM_FENCE].ref, &j->fence))
		j->fence = 0;
	return gt_event_place(m, s, src, c, j);
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
	res = s->where.op ? check_condition(&s->where, src) : 0;
	if (res)
		return res;
	if (!read_job(m, s, src, c, &j))
		return RES_MALFORMED;
	if (gt_dedup_is_duplicate(m, tp, s, c, &j))
		return RES_IGNORED;
	/* Where another tracepoint reports the same jobs, only a submission begins one: a hand-over
	 * of a job that the other one has reported would begin it a second time. */
	if (s->nheard && s->nmatch && !ends_known(s) && !(s->bits & GT_BIT(GT_SUBMIT)) &&
	    heard_since(s, 0) && !gt_job_known(m, s, &j))
		return RES_IGNORED;
	res = s->nmatch ? find_job(m, s, &j) : 0;
	if (res)
		return res;
	gt_dedup_note(m, s, c, &j);
	if (tp->linked)
		gt_dedup_begun(m, s, c, &j);

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
	if (s->bits & GT_BIT(GT_SUBMIT) && n < max && gt_job_ended_before(m, &j))
		n += end_at_once(m, s, &j, out, out + n);
	return n;
}

/* Decodes an event by every section in use. One that gives no record is counted once. */
static int run(struct gt_tp *tp, const struct gt_src *src, const struct gt_evctx *c,
	       union gt_record *out, int max)
{
	int total = 0, res = RES_MALFORMED;

	tp->heard = c->ts;
	for (struct gt_section *s = tp->sections; s; s = s->next) {
		int n;

		if (!s->use || (src->raw && !s->bound))
			continue;
		tp->m->given = total > 0;
		if (s->nheard && !ends_known(s) &&
		    heard_since(s, c->ts > HEARD_NS ? c->ts - HEARD_NS : 0)) {
			n = RES_IGNORED;
			if (s->links)
				gt_dedup_skipped(tp->m, s, src, c);
		} else {
			n = decode(tp, s, src, c, out + total, max - total);
		}
		if (n > 0)
			total += n;
		else if (n < 0 && n > res)
			res = n;
	}
	if (total)
		return total;
	if (res == RES_UNMATCHED)
		tp->m->stats.unmatched++;
	else if (res == RES_IGNORED)
		tp->m->stats.ignored++;
	else
		tp->m->stats.malformed++;
	return 0;
}

int gt_tp_raw(struct gt_tp *tp, const struct gt_evctx *c, const void *rec, size_t len,
	      union gt_record *out, int max)
{
	struct gt_src src = { .raw = true, .data = rec, .len = len };

	return run(tp, &src, c, out, max);
}

uint64_t gt_tp_types(const struct gt_tp *tp)
{
	uint64_t types = 0;

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

int gt_tp_text(struct gt_tp *tp, const struct gt_evctx *c, const char *text, size_t len,
	       union gt_record *out, int max)
{
	struct gt_src src = gt_src_text(text, len);

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
	struct gt_src src = gt_src_text(text, len);

	return dev_of(tp, &src, buf, buflen);
}

bool gt_tp_raw_dev(struct gt_tp *tp, const void *rec, size_t len, char *buf, size_t buflen)
{
	struct gt_src src = { .raw = true, .data = rec, .len = len };

	return dev_of(tp, &src, buf, buflen);
}

/* The only bound section in use, or NULL */
static const struct gt_section *only_section(const struct gt_tp *tp)
{
	const struct gt_section *only = NULL;

	for (const struct gt_section *s = tp->sections; s; s = s->next) {
		if (!s->use || !s->bound)
			continue;
		if (only)
			return NULL;
		only = s;
	}
	return only;
}

/* Does a section in use name the tracepoint in `unless_heard`? */
static bool is_heard(const struct gt_tp *tp)
{
	const struct gt_eventmap *m = tp->m;

	for (unsigned int i = 0; i < m->ntps; i++)
		for (const struct gt_section *s = m->tps[i]->sections; s; s = s->next)
			for (unsigned int k = 0; s->use && k < s->nheard; k++)
				if (s->heard_tp[k] == tp)
					return true;
	return false;
}

bool gt_tp_condition(const struct gt_tp *tp, struct gt_tp_condition *out)
{
	const struct gt_section *only = only_section(tp);
	const struct gt_field *f;

	if (!only || !only->where.op || is_heard(tp))
		return false;
	f = &only->where.ref.raw;
	if (f->kind != GT_K_INT)
		return false;
	*out = (struct gt_tp_condition){
		.off = f->off,
		.size = f->size,
		.sign = f->sign,
		.bits = only->where.op == GT_OP_AND,
		.unlike = only->where.op == GT_OP_NE,
		.value = only->where.value,
	};
	return true;
}
