/* SPDX-License-Identifier: GPL-2.0 */
/* One record as a line of `trace`; and the key=value pairs that `timeline` shows as well. */
#include <stdio.h>
#include <string.h>

#include "../../backend/ioctls.h"
#include "lines.h"

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
	case GT_IOCTL_EXIT: /* -1 is -EPERM, and all ones: not told apart, so neither is claimed */
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

void gt_event_keys(struct gt_text *t, const struct gt_event *e, const char *name)
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

void gt_lost_line(struct gt_text *t, const struct gt_lost *l)
{
	gt_text_ch(t, '[');
	gt_time(t, l->ts);
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
	gt_pad(t, at, 18);
	gt_cell_u64(t, e->cpu == GT_NONE16 ? GT_NONE64 : e->cpu);
	gt_pad(t, at, 22);
	gt_text_ch(t, ' ');
	source(t, e, w);
	gt_pad(t, at, 46);
	gt_cell_word(t, w->type[0] ? w->type : gt_type_name(e->type), sizeof(w->type));
	gt_pad(t, at, 62);
	gt_cell_u32(t, gt_view_pid(v, e->pid, e->ts));
	gt_pad(t, at, 70);
	gt_cell_word(t, w->comm[0] ? w->comm : NULL, sizeof(w->comm));
	gt_pad(t, at, 87);
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
