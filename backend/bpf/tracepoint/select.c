/* SPDX-License-Identifier: GPL-2.0 */
/* Which tracepoints the program is attached to: those that the event maps want and there are. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "internal.h"

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

void tp_detach_all(struct tp_state *t)
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

bool tp_in_interrupts(const struct tp_slot *s)
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

int tp_select(struct tp_state *t)
{
	t->bind_error[0] = '\0';
	tp_standins_retry(t);
	while (select_once(t))
		;
	return (int)t->attached;
}
