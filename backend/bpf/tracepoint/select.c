/* SPDX-License-Identifier: GPL-2.0 */
/* Which tracepoints the program is attached to: those that the event maps want and there are. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "bpf/tracepoint.skel.h"
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

	*out = (struct gt_bpf_tp){ .fixed = 8 };
	while (tp_field_next(&format, &f)) {
		unsigned int end = f.off + f.size;

		if (end > GT_BPF_RAW_MAX || f.off > GT_BPF_RAW_MAX ||
		    (f.string && out->nstring == GT_BPF_STRINGS)) {
			whole = false;
			continue;
		}
		if (end > out->fixed)
			out->fixed = (uint16_t)end;
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
	return &t->slot[t->n++];
}

static uint32_t index_of(const struct tp_state *t, const struct tp_slot *s)
{
	return (uint32_t)(s - t->slot);
}

static void detach(struct tp_state *t, struct tp_slot *s)
{
	static const struct gt_bpf_tp none;
	uint32_t index = index_of(t, s);

	if (s->args)
		tp_args_unlink(t, s);
	bpf_link__destroy(s->link);
	bpf_map__update_elem(t->skel->maps.tps, &index, sizeof(index), &none, sizeof(none), 0);
	s->link = NULL;
	s->how = TP_OFF;
}

void tp_detach_all(struct tp_state *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		if (t->slot[i].how)
			detach(t, &t->slot[i]);
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

const struct bpf_program *tp_more_program(const struct tracepoint_bpf *o, enum tp_more which)
{
	return which == TP_CALLED ? o->progs.gt_called : o->progs.gt_record_call;
}

/* NULL with errno */
static const struct bpf_program *more(struct tp_state *t, enum tp_more which)
{
	struct tracepoint_bpf *o;
	struct bpf_program *p;
	char why[GB_SENTENCE];
	int ret;

	if (t->more[which])
		return tp_more_program(t->more[which], which);
	o = tracepoint_bpf__open();
	if (!o)
		return NULL;
	bpf_object__for_each_program (p, o->obj)
		bpf_program__set_autoload(p, p == tp_more_program(o, which));
	ret = tp_load_more(t, o->obj, why, sizeof(why));
	if (ret) {
		tracepoint_bpf__destroy(o);
		errno = -ret;
		return NULL;
	}
	t->more[which] = o;
	return tp_more_program(o, which);
}

/* In the module that the map names, as another may have a function of that name; but some kernels
 * find none by both (6.6), and it may be part of the kernel. */
static struct bpf_link *link_to_function(struct tp_state *t, const struct gt_probe *b,
					 const struct bpf_kprobe_opts *opts)
{
	const struct bpf_program *prog = more(t, TP_CALLED);
	struct bpf_link *link = NULL;
	char name[256];

	if (!prog)
		return NULL;
	snprintf(name, sizeof(name), "%s:%s", b->scope, b->name);
	if (b->scope[0])
		link = bpf_program__attach_kprobe_opts(prog, name, opts);
	return link ? link : bpf_program__attach_kprobe_opts(prog, b->name, opts);
}

/* A cookie of 0 would be none: a kernel without them would take it. */
static struct bpf_link *link_to(struct tp_state *t, struct tp_slot *s)
{
	const struct gt_probe *b = gt_tp_probe(s->tp);
	LIBBPF_OPTS(bpf_tracepoint_opts, tp, .bpf_cookie = index_of(t, s) + 1);
	LIBBPF_OPTS(bpf_kprobe_opts, kp, .bpf_cookie = index_of(t, s) + 1);
	const struct bpf_program *prog = t->skel->progs.gt_record;
	const char *system, *event;

	if (s->wanted == TP_ARGS || s->wanted == TP_MADE_ARGS)
		return tp_args_link(t, s);
	if (s->wanted == TP_MADE && b->function)
		return link_to_function(t, b, &kp);
	system = s->wanted == TP_RAW ? gt_tp_system(s->tp) : b->scope;
	event = s->wanted == TP_RAW ? gt_tp_event(s->tp) : b->name;
	if (!strcmp(system, "syscalls"))
		prog = more(t, TP_RECORD_CALL);
	return prog ? bpf_program__attach_tracepoint_opts(prog, system, event, &tp) : NULL;
}

static bool by_owner(const struct gt_tp *tp)
{
	uint64_t types = gt_tp_types(tp);

	for (unsigned int i = 0; i < GT_NTYPES; i++)
		if (types >> i & 1 && gt_tasks_owner(i))
			return true;
	return false;
}

/* What the maps would only ignore need not come. */
static void set_where(struct tp_slot *s)
{
	struct gt_tp_condition w;

	s->conf.test = GT_BPF_ANY;
	if (!gt_tp_condition(s->tp, &w) || w.off + 8 > GT_BPF_RAW_MAX)
		return;
	s->conf.test = w.bits ? GT_BPF_BITS : w.unlike ? GT_BPF_UNLIKE : GT_BPF_EQUAL;
	s->conf.at = w.off;
	s->conf.size = (uint8_t)w.size;
	s->conf.sign = w.sign;
	s->conf.value = w.value;
}

/* The maps first: an event of an attached tracepoint is reported. */
static int attach(struct tp_state *t, struct tp_slot *s)
{
	uint32_t index = index_of(t, s);
	int ret;

	if (s->wanted != TP_RAW)
		s->conf = (struct gt_bpf_tp){ .fixed = s->made.len };
	s->conf.made = s->wanted != TP_RAW;
	s->conf.owner = by_owner(s->tp);
	set_where(s);
	ret = !s->conf.made ? 0
			    : bpf_map__update_elem(t->skel->maps.made, &index, sizeof(index),
						   &s->made, sizeof(s->made), 0);
	if (!ret)
		ret = bpf_map__update_elem(t->skel->maps.tps, &index, sizeof(index), &s->conf,
					   sizeof(s->conf), 0);
	if (ret || s->how == s->wanted)
		return ret;
	s->how = s->wanted;
	s->link = link_to(t, s);
	if (s->link)
		return 0;
	ret = -errno;
	detach(t, s);
	return ret;
}

static void cannot(struct tp_state *t, struct tp_slot *s, int err)
{
	char why[GB_SENTENCE];

	gb_refused(-err, "it cannot be attached to", "", why, sizeof(why));
	fault(t, s, why);
	snprintf(t->bind_error, sizeof(t->bind_error), "%.255s", why);
}

/* What is attached to stays as it is: the kernel's types are read once for it. */
static enum tp_how want_own(struct tp_state *t, struct tp_slot *s)
{
	s->by_args = s->how == TP_ARGS || tp_args_prepare(t, s);
	if (s->by_args)
		return TP_ARGS;
	return bind(t, s) ? TP_RAW : TP_OFF;
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
			detach(t, &t->slot[i]);
	t->attached = 0;
	/* The ends of jobs before their beginnings: who is seen to begin is seen to end. */
	for (unsigned int i = 0; i < 2 * t->n; i++) {
		struct tp_slot *s = &t->slot[i % t->n];
		int ret;

		if (ends_jobs(s) != (i < t->n))
			continue;
		ret = s->wanted ? attach(t, s) : 0;
		t->attached += s->how != TP_OFF;
		if (!ret)
			continue;
		if (s->by_args) { /* in another way then */
			if (!s->nolink)
				gb_refused(-ret, "its arguments", "", s->noargs, sizeof(s->noargs));
			s->nolink = true;
			s->ready = false;
			again = true;
			continue;
		}
		cannot(t, s, ret);
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
