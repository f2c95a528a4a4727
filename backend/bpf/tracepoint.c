/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints that the event maps name, seen by a BPF program. Only one backend may: gt_host.claim.
 * Where BPF works it is this one, as it knows who did what without asking later.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <syslog.h>

#include "tracepoint.h"

/* Which tracepoints the program is attached to: those that the event maps want and there are. */

/* Which bytes of a tracepoint's record are sent: those that its `format` file says there are. */

/* The C name at the end of a declaration: "char name[32]" -> "name" */
static void name_of(const char *decl, size_t n, char name[32])
{
	const char *bracket = memchr(decl, '[', n), *end = bracket ? bracket : decl + n;
	const char *begin = end;

	while (begin > decl && begin[-1] != ' ' && begin[-1] != '*')
		begin--;
	snprintf(name, 32, "%.*s", (int)(end - begin), begin);
}

bool tp_field_next(const char **p, struct tp_field *f)
{
	const char *decl = strstr(*p, "field:"), *end, *off, *size;

	end = decl ? strchr(decl, ';') : NULL;
	off = end ? strstr(end, "offset:") : NULL;
	size = off ? strstr(off, "size:") : NULL;
	if (!size || sscanf(off, "offset:%u", &f->off) != 1 ||
	    sscanf(size, "size:%u", &f->size) != 1)
		return false;
	decl += strlen("field:");
	f->rel = !strncmp(decl, "__rel_loc", 9);
	f->string = f->rel || !strncmp(decl, "__data_loc", 10);
	name_of(decl, (size_t)(end - decl), f->name);
	f->chars = !f->string && memchr(decl, '[', (size_t)(end - decl)) &&
		   !strncmp(decl + strspn(decl, " "), "char", 4);
	/* __data_loc char[] name: the brackets are the type's */
	if (f->string) {
		const char *at = end;

		while (at > decl && at[-1] != ' ' && at[-1] != ']')
			at--;
		snprintf(f->name, sizeof(f->name), "%.*s", (int)(end - at), at);
	}
	*p = size;
	return true;
}

bool tp_layout(const char *format, struct gt_bpf_tp *out)
{
	bool whole = true;
	struct tp_field f;

	memset(out, 0, sizeof(*out)); /* it is compared byte by byte */
	out->len = 8;
	while (tp_field_next(&format, &f)) {
		unsigned int end = f.off + f.size;

		if (end > GT_BPF_RAW_MAX || f.off > GT_BPF_RAW_MAX ||
		    (f.string && out->nstring == GT_BPF_STRINGS)) {
			whole = false;
			continue;
		}
		if (end > out->len)
			out->len = (uint16_t)end;
		if (f.string)
			out->string[out->nstring++] = (uint16_t)(f.off | (f.rel ? GT_BPF_REL : 0));
	}
	return whole;
}

static struct tp_slot *slot_of(struct tp_state *t, struct gt_tp *tp)
{
	for (unsigned int i = 0; i < t->n; i++)
		if (t->slot[i].tp == tp)
			return &t->slot[i];
	if (t->n == GT_BPF_TPS)
		return NULL;
	t->slot[t->n] = (struct tp_slot){ .tp = tp };
	t->b->tracepoints = t->n + 1;
	return &t->slot[t->n++];
}

static uint32_t index_of(const struct tp_state *t, const struct tp_slot *s)
{
	return (uint32_t)(s - t->slot);
}

/* Switches the slot's program off. It is detached @ns later, unless it is taken back. */
static void let_go(struct tp_state *t, struct tp_slot *s, uint64_t ns)
{
	if (!s->now)
		return;
	tp_program_off(t, s->now);
	t->missed_gone += tp_program_missed(s->now);
	s->last = gb_detach_later(tp_program_free, s->now, ns);
	s->now = NULL;
	s->how = TP_OFF;
}

/* A tracepoint that is attached to in another way, or not at all, next */
static void release(struct tp_state *t, struct tp_slot *s)
{
	t->gap |= s->how && s->wanted;
	let_go(t, s, GB_KEEP_NS);
}

/* Takes the slot's last program back if it does what is wanted. */
static bool take_back(struct tp_state *t, struct tp_slot *s)
{
	struct tp_program *p = gb_detach_cancel(s->last);

	s->last = 0;
	if (!p)
		return false;
	if (p->how != s->wanted || p->instance != s->instance ||
	    memcmp(&p->conf, &s->conf, sizeof(p->conf)) != 0) {
		gb_detach_later(tp_program_free, p, 0);
		return false;
	}
	t->missed_gone -= tp_program_missed(p);
	s->now = p;
	s->how = p->how;
	tp_program_on(t, p);
	return true;
}

/** tp_detach_all() - all programs are switched off, and detached behind the scenes */
static void tp_detach_all(struct tp_state *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		let_go(t, &t->slot[i], 0);
	t->attached = 0;
}

/* What is in the way of a tracepoint: reported here, and by the part if it has none then. */
static void fault(struct tp_state *t, struct tp_slot *s, const char *what)
{
	char was[sizeof(s->error)];

	memcpy(was, s->error, sizeof(was));
	snprintf(s->error, sizeof(s->error), "%.50s/%.50s: %.130s", gt_tp_system(s->tp),
		 gt_tp_event(s->tp), what);
	snprintf(t->bind_error, sizeof(t->bind_error), "%s", s->error);
	if (strcmp(was, s->error) != 0)
		t->b->p->host->log(t->b->p, LOG_WARNING, "%s", s->error);
}

/* Takes the kernel's own format; false if what the maps want is not in it. */
static bool bind(struct tp_state *t, struct tp_slot *s)
{
	gt_live_auto_free char *format = NULL;
	char file[PATH_MAX], err[200] = "its format cannot be read";
	size_t len = 0;

	snprintf(file, sizeof(file), "events/%s/%s/format", gt_tp_system(s->tp),
		 gt_tp_event(s->tp));
	format = gt_live_read(t->b->p->tracefs, file, &len);
	if (format && !gt_tp_bind(s->tp, format, len, NULL, err, sizeof(err))) {
		if (!tp_layout(format, &s->conf))
			fault(t, s, "some of its fields are left out, as there are too many");
		return true;
	}
	fault(t, s, err);
	return false;
}

static bool by_owner(const struct gt_tp *tp)
{
	uint64_t types = gt_tp_types(tp);

	for (unsigned int i = 0; i < GT_NTYPES; i++)
		if (types >> i & 1 && gt_tasks_owner(i))
			return true;
	return false;
}

/* Where the program finds what is @off bytes into the record: there, or in the field that is put
 * there; false: nowhere */
static bool find_tested(const struct gt_bpf_tp *conf, uint16_t off, uint16_t *at)
{
	*at = off;
	if (!conf->nfield)
		return off + 8 <= GT_BPF_RAW_MAX;
	for (*at = 0; *at < conf->nfield; ++*at)
		if (conf->field[*at].to == off && !conf->field[*at].text)
			return true;
	return false;
}

/* What the maps would only ignore need not come. */
static void set_where(struct tp_slot *s)
{
	struct gt_bpf_tp *conf = &s->conf;
	struct gt_tp_condition w;

	conf->test = GT_BPF_ANY;
	if (!gt_tp_condition(s->tp, &w) || !find_tested(conf, w.off, &conf->test_at))
		return;
	conf->test = w.bits ? GT_BPF_BITS : w.unlike ? GT_BPF_UNLIKE : GT_BPF_EQUAL;
	conf->test_size = (uint8_t)w.size;
	conf->test_signed = w.sign;
	conf->test_value = w.value;
}

/* The ring's counters of a tracepoint count on when it is attached to again. */
static int attach(struct tp_state *t, struct tp_slot *s, char *err, size_t len)
{
	int ret;

	s->conf.index = (uint16_t)index_of(t, s);
	s->conf.owner = by_owner(s->tp);
	set_where(s);
	if (s->how == s->wanted && !memcmp(&s->conf, &s->now->conf, sizeof(s->conf)))
		return 0;
	release(t, s);
	if (take_back(t, s))
		return 0;
	ret = tp_program_make(t, s, &s->now, err, len);
	if (!ret)
		s->how = s->wanted;
	return ret;
}

static void cannot(struct tp_state *t, struct tp_slot *s, const char *why)
{
	fault(t, s, why);
	snprintf(t->bind_error, sizeof(t->bind_error), "%.255s", why);
}

/* Events that are reported in interrupts, too */
#define INTERRUPTS (GT_BIT(GT_COMPLETE) | GT_BIT(GT_START) | GT_BIT(GT_END) | GT_BIT(GT_IRQ))

/** tp_in_interrupts() - is the tracepoint one of interrupts, too? */
static bool tp_in_interrupts(const struct tp_slot *s)
{
	return gt_tp_types(s->tp) & INTERRUPTS;
}

/*
 * A record is not seen while another record's program runs on that CPU, arguments only while the
 * same tracepoint's program does, so arguments are better. But since Linux 7.0 a task can be
 * preempted within a program of arguments: until it goes on nobody's event of that tracepoint is
 * seen on that CPU. So there what only tasks do is read from the records.
 */
bool tp_prefers_args(const struct tp_state *t, const struct tp_slot *s)
{
	return !t->preemptible || tp_in_interrupts(s);
}

/* What is attached to stays as it is: the kernel's types are read once for it. */
static enum tp_how want_own(struct tp_state *t, struct tp_slot *s)
{
	s->by_args = s->how == TP_ARGS || (tp_prefers_args(t, s) && tp_args_prepare(t, s));
	if (s->by_args)
		return TP_ARGS;
	if (bind(t, s))
		return TP_RAW;
	s->by_args = !tp_prefers_args(t, s) && tp_args_prepare(t, s);
	return s->by_args ? TP_ARGS : TP_OFF;
}

/* How each is to be attached. What does not fit the maps is left. */
static void want(struct tp_state *t)
{
	struct tp_slot *s;
	struct gt_tp *tp;

	for (unsigned int i = 0; i < t->n; i++)
		t->slot[i].wanted = TP_OFF;
	if (t->reported_by[0])
		return;
	for (unsigned int i = 0; (tp = gt_eventmap_each(t->map, i)); i++) {
		s = slot_of(t, tp);
		if (!s)
			continue;
		if (s->want)
			s->wanted = s->by_args ? TP_MADE_ARGS : TP_MADE;
		else if (gt_tracepoint_exists((void *)(uintptr_t)t->b->p->tracefs, gt_tp_system(tp),
					      gt_tp_event(tp)))
			s->wanted = want_own(t, s);
	}
}

static bool ends_jobs(const struct tp_slot *s)
{
	return gt_tp_types(s->tp) & (GT_BIT(GT_COMPLETE) | GT_BIT(GT_END));
}

/* Returns true if it is to be done again, as one of our events turned out to be of no use, or to
 * be reported in another way. */
static bool select_once(struct tp_state *t)
{
	void *tracefs = (void *)(uintptr_t)t->b->p->tracefs;
	bool again = false;
	struct gt_tp *tp;

	gt_eventmap_select(t->map, gt_tracepoint_exists, tracefs,
			   t->b->level > 2 ? t->b->level : 2);
	t->nowhere = 0;
	for (unsigned int i = 0; (tp = gt_eventmap_each(t->map, i)); i++)
		t->nowhere += !slot_of(t, tp);
	tp_standins_update(t);
	gt_eventmap_select(t->map, gt_tracepoint_exists, tracefs,
			   t->b->level > 2 ? t->b->level : 2);
	want(t);
	/* First of all these, or a job could be reported in two ways. */
	for (unsigned int i = 0; i < t->n; i++)
		if (t->slot[i].how && t->slot[i].how != t->slot[i].wanted)
			release(t, &t->slot[i]);
	t->attached = 0;
	/* The ends of jobs before their beginnings: who is seen to begin is seen to end. */
	for (unsigned int i = 0; i < 2 * t->n; i++) {
		struct tp_slot *s = &t->slot[i % t->n];
		char why[GB_SENTENCE];
		int ret;

		if (ends_jobs(s) != (i < t->n))
			continue;
		ret = s->wanted ? attach(t, s, why, sizeof(why)) : 0;
		t->attached += s->how != TP_OFF;
		if (!ret)
			continue;
		if (s->by_args) { /* in another way then */
			snprintf(s->noargs, sizeof(s->noargs), "%.199s", why);
			s->nolink = true;
			s->ready = false;
			again = true;
			continue;
		}
		cannot(t, s, why);
		if (s->wanted == TP_MADE) {
			snprintf(s->why, sizeof(s->why), "%.200s", t->bind_error);
			s->error[0] = '\0';
			s->refused = again = true;
		}
	}
	gt_types_free(&t->types);
	return again;
}

/** tp_select() - attaches to what the maps want and the kernel has, and leaves the rest. How many
 * are attached, or -ENOMEM */
static int tp_select(struct tp_state *t)
{
	t->bind_error[0] = '\0';
	tp_standins_retry(t);
	while (select_once(t))
		;
	return (int)t->attached;
}

/*
 * From a tracepoint's record to ours: by the event maps, as from ftrace. Only who did it is known
 * better: the programs report thread, process and user of the moment.
 */

#define MISSED_NS 1000000000ull /* between questions how many events the kernel left out */

/* What the thread's own doing is, is the process's; otherwise the trace of ftrace and this report the
 * same: what the tracepoint itself says, completed by /proc. */
static void out(struct tp_state *t, const struct gt_bpf_raw *raw, union gt_record *r)
{
	union gt_record process;
	/* 0: an interrupt that found nobody at work */
	bool own = raw->pid && r->ev.type < GT_NTYPES && gt_tasks_owner(r->ev.type) &&
		   (r->ev.pid == raw->pid || r->ev.pid == raw->tid || r->ev.pid == GT_NONE32);

	if (own && !gt_tasks_foreign(t->tasks)) {
		r->ev.pid = raw->pid;
		r->ev.uid = raw->uid;
	} else if (gt_tasks_fill(t->tasks, r, &process)) {
		gb_out(t->b, &process);
	}
	gb_out(t->b, r);
}

/* Says who the process of an event is, once: it may have ended before anybody can ask /proc. */
static void emit_process(struct tp_state *t, const struct gt_bpf_raw *raw)
{
	struct tp_process *known = &t->process[raw->pid % TP_PROCESSES];
	union gt_record r;

	if (known->pid == raw->pid && known->start == raw->start)
		return;
	*known = (struct tp_process){ .pid = raw->pid, .start = raw->start };
	gt_record_init(&r, raw->ts, (enum gt_type)GT_PROCESS);
	r.process.cpu = raw->cpu;
	r.process.start = raw->start - raw->start % t->tick; /* as /proc rounds it */
	r.process.pid = raw->pid;
	r.process.uid = raw->uid;
	snprintf(r.process.comm, sizeof(r.process.comm), "%.15s", raw->comm);
	gb_out(t->b, &r);
}

static void tp_raw(struct gb *b, const struct gt_bpf_raw *raw)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];
	struct tp_slot *s = raw->index < t->n ? &t->slot[raw->index] : NULL;
	bool foreign = gt_tasks_foreign(t->tasks);
	union gt_record r[GT_TP_MAX_RECORDS];
	struct gt_evctx c = {
		.ts = raw->ts,
		.tid = raw->tid,
		.pid = foreign ? GT_NONE32 : raw->pid,
		.cpu = raw->cpu,
	};
	int n;

	/* else the maps may have been bound to another layout since */
	if (!s || !s->now || s->now->serial != raw->serial) {
		t->unknown++;
		return;
	}
	t->heard = true;
	if (raw->ts > t->round + GB_DRAIN_NS) {
		t->round = raw->ts;
		gt_tasks_round(t->tasks, raw->ts);
	}
	if (raw->start && raw->pid && !foreign)
		emit_process(t, raw);
	n = gt_tp_raw(s->tp, &c, raw->data, raw->len, r, GT_TP_MAX_RECORDS);
	for (int i = 0; i < n; i++)
		out(t, raw, &r[i]);
}

/** tp_skipped() - how many events the kernel has kept from the programs by now; false: it does not
 * say */
static bool tp_skipped(const struct tp_state *t, uint64_t *n)
{
	*n = t->missed_gone;
	for (unsigned int i = 0; i < t->n; i++)
		if (t->slot[i].now && !gb_missed_by(t->slot[i].now->prog, n))
			return false;
	return true;
}

/** tp_forget_skipped() - those of a pause, in which nothing was to be reported, are no loss */
static void tp_forget_skipped(struct tp_state *t)
{
	uint64_t now;

	if (tp_skipped(t, &now) && now > t->missed)
		t->missed = now;
	t->asked = t->b->p->host->now(t->b->p);
}

/* Records up to @until have been handed over; what was missed came at any time up to now, so the gap
 * ends now: a job that is still to be handed over may lack its end, too. */
static void emit_missed(struct tp_state *t, uint64_t until)
{
	uint64_t missed;
	union gt_record r;

	if (!tp_skipped(t, &missed))
		return;
	if (missed > t->missed) {
		gt_record_init(&r, until, (enum gt_type)GT_LOST);
		r.lost.count = missed - t->missed;
		r.lost.since = t->asked;
		r.lost.cause = GT_LOST_SOURCE;
		r.lost.reserved = 0;
		r.lost.until = t->b->p->host->now(t->b->p);
		memset(r.lost.reserved2, 0, sizeof(r.lost.reserved2));
		gb_out(t->b, &r);
	}
	t->missed = missed > t->missed ? missed : t->missed;
	t->asked = until;
	t->heard = false;
}

/* Also when a burst has ended, and once more some time after it: what is missed does not wake us.
 */
static void tp_round(struct gb *b, uint64_t until)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];
	uint64_t missed = t->missed, again = 0;
	bool heard = t->heard;

	if (until > t->asked + MISSED_NS || (b->quiet && heard) ||
	    (t->ask_again && until >= t->ask_again)) {
		emit_missed(t, until);
		if (heard || missed != t->missed)
			again = until + MISSED_NS;
		t->ask_again = again;
		b->due = again ? again + GB_SLACK_NS : 0; /* a round reports what was so long ago */
	}
}

/*
 * Above ftrace's, but where events may be missed that the kernel does not count (before Linux 6.7,
 * see may_miss()): there ftrace reports, where both can.
 */
#define RANK	       2
#define RANK_UNCOUNTED 0

static int probe(struct gb *b, char *err, size_t len)
{
	const struct gb_options *o = b->p->options;
	int ret;

	if (!o->tracepoints)
		return gb_sentence(err, len, ECANCELED, "the setting tracepoints is 0");
	ret = gb_tracefs(b, NULL, err, len);
	return ret ? ret : gt_live_check(b->p, err, len);
}

static void shadow_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	struct gb *b = ((struct tp_shadow *)p)->b;
	union gt_record named;

	for (size_t i = 0; i < n; i++) {
		named = r[i];
		/* Names emitted while the maps are loaded have no event's time. */
		if (!named.ev.ts)
			named.ev.ts = b->ring.last ? b->ring.last : b->p->host->now(b->p);
		gb_out(b, &named);
	}
}

static uint16_t shadow_gpu(struct gt_plugin *p, const struct gt_gpu_desc *desc)
{
	struct gb *b = ((struct tp_shadow *)p)->b;
	const struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];

	/* the kernel's thread ids are not those of our /proc */
	if (desc->pid && gt_tasks_foreign(t->tasks))
		return GT_NONE16;
	return b->p->host->gpu(b->p, desc);
}

static uint16_t shadow_ring(struct gt_plugin *p, uint16_t gpu, const char *name, enum gt_engine e)
{
	struct gt_plugin *real = ((struct tp_shadow *)p)->b->p;

	return real->host->ring(real, gpu, name, e);
}

static void stop(struct gb *b)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];

	b->priv[GT_BPF_TRACEPOINT] = NULL;
	if (!t)
		return;
	tp_detach_all(t);
	tp_template_free(t);
	b->due = 0;
	gt_tasks_free(t->tasks);
	gt_eventmap_free(t->map);
	free(t);
}

static int load_maps(struct tp_state *t, char *err, size_t len)
{
	struct tp_shadow *s = &t->shadow;

	s->b = t->b;
	s->p = *t->b->p;
	s->host = (struct gt_host){ .push = shadow_push, .gpu = shadow_gpu, .ring = shadow_ring };
	s->p.host = &s->host;
	t->map = gt_eventmap_load(&s->p, s->p.events_dir, t->map_error, sizeof(t->map_error));
	if (!t->map)
		return gb_sentence(err, len, EINVAL, "%s", t->map_error);
	if (t->map_error[0])
		t->b->p->host->log(t->b->p, LOG_WARNING, "%s", t->map_error);
	return 0;
}

/* Can events come in interrupts, while a program of a record runs that keeps theirs from running? */
static bool may_miss(const struct tp_state *t)
{
	for (unsigned int i = 0; i < t->n; i++) {
		const struct tp_slot *s = &t->slot[i];

		if ((s->how == TP_RAW || s->how == TP_MADE) && tp_in_interrupts(s))
			return true;
	}
	return false;
}

/* Asks for the tracepoints, and takes them. Where none can be had others may try. */
static int take(struct tp_state *t, char *err, size_t len)
{
	struct gb *b = t->b;
	const char *by =
		b->p->host->claim ? b->p->host->claim(b->p, GT_CLAIM_TRACEPOINTS, t->rank) : NULL;
	int n;

	t->gap = by && !t->reported_by[0] && t->attached;
	snprintf(t->reported_by, sizeof(t->reported_by), "%s", by ? by : "");
	n = tp_select(t);
	if (t->gap)
		gt_live_report_handover(b->p);
	if (n || t->reported_by[0]) {
		if (t->uncounted && t->rank == RANK && may_miss(t)) {
			tp_detach_all(t); /* before another begins */
			t->rank = RANK_UNCOUNTED;
			return take(t, err, len);
		}
		return 0;
	}
	snprintf(err, len, "%s",
		 t->bind_error[0] ? t->bind_error
				  : "of the tracepoints that there are none is for this level");
	if (b->p->host->claim)
		b->p->host->claim(b->p, GT_CLAIM_TRACEPOINTS, -1);
	return -ENOENT;
}

static int begin(struct tp_state *t, char *err, size_t len)
{
	int ret = load_maps(t, err, len);

	if (!ret)
		ret = tp_template_load(t, err, len);
	return ret ? ret : take(t, err, len);
}

static int start(struct gb *b, char *err, size_t len)
{
	struct tp_state *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return gb_sentence(err, len, ENOMEM, "no memory");
	b->priv[GT_BPF_TRACEPOINT] = t;
	t->b = b;
	t->uncounted = gb_kernel_before(6, 7);
	t->preemptible = !gb_kernel_before(7, 0);
	t->rank = RANK;
	t->tick = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	/* a record has its process, and nobody records threads for the kernel's lists */
	t->tasks = gt_tasks_new(NULL);
	ret = t->tasks ? begin(t, err, len) : gb_sentence(err, len, ENOMEM, "no memory");
	if (ret)
		stop(b);
	return ret;
}

/* What came is reported in the way that it was chosen for. */
static int look(struct gb *b, char *err, size_t len)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];
	int ret;

	gt_eventmap_refresh(t->map, gt_tracepoint_exists, (void *)(uintptr_t)b->p->tracefs);
	if (gb_said(&b->ring.wake->paused))
		tp_forget_skipped(t);
	gb_ring_drain_all(b);
	ret = take(t, err, len);
	if (ret)
		stop(b);
	return ret;
}

static void emit_slot(const struct tp_slot *s, struct gt_details *out)
{
	const char *system = gt_tp_system(s->tp), *event = gt_tp_event(s->tp);
	bool by_args = s->how == TP_ARGS || s->how == TP_MADE_ARGS;

	if (!s->how)
		return;
	gt_detail(out, "tracepoint %s/%s%s%s%s\n", system, event, by_args ? " by_arguments" : "",
		  by_args && s->noargs[0] ? ", without " : "", by_args ? s->noargs : "");
	if (s->noargs[0] && !by_args)
		gt_detail(out, "arguments_unavailable %s/%s: %s\n", system, event, s->noargs);
}

static void doctor(struct gb *b, struct gt_details *out)
{
	struct tp_state *t = b->priv[GT_BPF_TRACEPOINT];
	struct gt_bpf_count c;
	const struct gt_eventmap_stats *m = gt_eventmap_stats(t->map);
	bool counted = gb_ring_counts(b, GT_BPF_TRACEPOINT, &c);
	char reported[500];
	uint64_t skipped;

	gt_detail(out, "tracepoints %u\n", t->attached);
	if (t->reported_by[0])
		gt_detail(out, "tracepoints_reported_by %s\n", t->reported_by);
	gt_detail(out, "ignored %" PRIu64 "\n", m->ignored + (counted ? c.other : 0));
	gt_detail(out, "unmatched %" PRIu64 "\n", m->unmatched);
	gt_detail(out, "malformed %" PRIu64 "\n", m->malformed);
	gt_detail(out, "jobs_forgotten %" PRIu64 "\n", m->forgotten);
	gt_detail(out, "events_unknown %" PRIu64 "\n", t->unknown);
	if (t->uncounted && may_miss(t))
		gt_detail(out, "events_missed unknown: before Linux 6.7 the kernel does not count "
			       "what it keeps from a program while another runs\n");
	else
		gt_detail(out, "events_missed %" PRIu64 "\n", t->missed);
	if (tp_skipped(t, &skipped))
		gt_detail(out, "events_skipped %" PRIu64 "\n", skipped);
	if (gt_tasks_foreign(t->tasks))
		gt_detail(out,
			  "pids unknown: the kernel reports pids of the first PID namespace, and "
			  "this is another\n");
	if (t->map_error[0])
		gt_detail(out, "event_map_error %s\n", t->map_error);
	for (unsigned int i = 0; i < t->n; i++)
		if (t->slot[i].error[0])
			gt_detail(out, "tracepoint_error %s\n", t->slot[i].error);
	if (t->nowhere)
		gt_detail(out, "tracepoint_error %u more than there is room for are left out\n",
			  t->nowhere);
	if (t->attached)
		gt_detail(out,
			  "modules_pinned those of the tracepoints below: while they are attached "
			  "to, a driver cannot be unloaded; `echo off > config/level` lets go\n");
	for (unsigned int i = 0; i < t->n; i++)
		if (tp_standins_emit(t, &t->slot[i], reported, sizeof(reported)))
			gt_detail(out, "%s\n", reported);
	for (unsigned int i = 0; i < t->n; i++)
		emit_slot(&t->slot[i], out);
}

const struct gb_part gb_tracepoint = {
	.name = "tracepoint",
	.shows = true,
	.parks = true,
	.probe = probe,
	.start = start,
	.stop = stop,
	.raw = tp_raw,
	.round = tp_round,
	.look = look,
	.doctor = doctor,
};
