/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that the kernel lacks: how a BPF program follows the pointers to each field, from the
 * words of ftrace's own probes (backend/lib/kernel_types.c), and the format of what it
 * then sends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tracepoint.h"

static int base_of(const char *name, const char *format, struct gt_bpf_field *out, char *err,
		   size_t len)
{
	struct tp_field f;
	unsigned int arg;

	if (!format) {
		if (sscanf(name, "arg%u", &arg) != 1 || arg < 1 || arg > GT_BPF_ARGS)
			return gb_sentence(err, len, EINVAL, "$%s: only $arg1 to $arg%d", name,
					   GT_BPF_ARGS);
		out->base = GT_BPF_ARG;
		out->from = (uint16_t)(arg - 1);
		return 0;
	}
	while (tp_field_next(&format, &f)) {
		if (strcmp(f.name, name))
			continue;
		if (!f.string && !f.chars && f.size > 8)
			return gb_sentence(err, len, EINVAL, "$%s is no number", name);
		out->base = f.string ? GT_BPF_STRING : f.chars ? GT_BPF_CHARS : GT_BPF_NUMBER;
		out->bytes = (uint8_t)(f.size > 8 ? 8 : f.size);
		out->from = (uint16_t)f.off;
		return 0;
	}
	return gb_sentence(err, len, EINVAL, "its source has no field %s", name);
}

int tp_follow(const char *fetch, const char *format, struct gt_bpf_field *out, char type[8],
	      char *err, size_t len)
{
	const char *p = fetch;
	int32_t off[GT_BPF_LOADS];
	char name[64];
	unsigned int n = 0, bits = 64;
	char *end;

	*out = (struct gt_bpf_field){ 0 };
	while (*p == '+' || *p == '-') {
		if (n == GT_BPF_LOADS)
			return gb_sentence(err, len, EINVAL, "more than %d pointers in a row",
					   GT_BPF_LOADS);
		off[n++] = (int32_t)strtol(p, &end, 10);
		p = end + (*end == '(');
	}
	/* The outermost is the last to be followed. */
	for (unsigned int i = 0; i < n; i++)
		out->off[i] = off[n - 1 - i];
	out->n = n;
	if (sscanf(p, "$%63[A-Za-z0-9_]", name) != 1 || !(p = strchr(p, ':')))
		return gb_sentence(err, len, EINVAL, "'%s' is not understood", fetch);
	p++;
	out->text = !strcmp(p, "string");
	if (!out->text && (sscanf(p + 1, "%u", &bits) != 1 || !bits || bits > 64 || bits % 8))
		return gb_sentence(err, len, EINVAL, "'%s' is not understood", fetch);
	out->size = (uint8_t)(bits / 8);
	snprintf(type, 8, "%s", out->text ? "char" : p);
	return base_of(name, format, out, err, len);
}

/* "	field:u64 NAME;	offset:8;	size:8;	signed:0;" */
static size_t describe(char *to, size_t room, const char *name, const char *type,
		       const struct gt_bpf_field *f)
{
	int n;

	if (f->text)
		n = snprintf(to, room, "\tfield:char %s[%d];\toffset:%u;\tsize:%d;\tsigned:0;\n",
			     name, GT_BPF_TEXT, f->to, GT_BPF_TEXT);
	else
		n = snprintf(to, room, "\tfield:%s %s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", type,
			     name, f->to, f->size, *type == 's');
	return (size_t)n < room ? (size_t)n : 0;
}

/** tp_make() - the fields of a synthetic tracepoint's record, in @tp, and its format; fields that
 * cannot be had are left out, the first of them is in @why; -EPROTOTYPE: @source is another than the
 * map means */
static int tp_make(const struct gt_types *types, const struct gt_probe *probe,
		   const struct gt_source *source, struct gt_bpf_tp *tp, char out[TP_FORMAT],
		   char *why, size_t len)
{
	char fetch[GT_FETCH], type[8], err[200];
	unsigned int at = 8; /* common_type and so on, which nobody reads */
	size_t used;

	memset(tp, 0, sizeof(*tp)); /* it is compared byte by byte */
	why[0] = '\0';
	used = (size_t)snprintf(out, TP_FORMAT, "name: %s\nID: 0\nformat:\n", probe->name);
	for (unsigned int i = 0; i < probe->n; i++) {
		struct gt_bpf_field f;
		int ret = gt_fetch(types, source, probe->field[i].expr, fetch, err, sizeof(err));

		if (ret == -EPROTOTYPE)
			return gb_sentence(why, len, -ret, "%s", err);
		if (!ret)
			ret = tp_follow(fetch, source->format, &f, type, err, sizeof(err));
		if (!ret && (tp->nfield == GT_BPF_FIELDS || at + GT_BPF_TEXT > GT_BPF_RAW_MAX))
			ret = gb_sentence(err, sizeof(err), E2BIG, "a record has no room for it");
		if (ret) {
			if (!why[0])
				snprintf(why, len, "%s: %s", probe->field[i].name, err);
			continue;
		}
		f.to = (uint16_t)at;
		at += f.text ? GT_BPF_TEXT : 8;
		tp->field[tp->nfield++] = f;
		if (f.base == GT_BPF_ARG && f.from >= tp->nargs)
			tp->nargs = (uint8_t)(f.from + 1);
		used += describe(out + used, TP_FORMAT - used, probe->field[i].name, type, &f);
	}
	tp->len = (uint16_t)at;
	return tp->nfield ? 0 : -EINVAL;
}

/*
 * Tracepoints that this kernel lacks, from programs at others, or at functions, that follow the
 * pointers to what the maps want. The rules are those of backend/ftrace/synth.c: those of a
 * family are made together or not at all, as a job cannot be submitted in one way and end in
 * another.
 */

static void collect(struct tp_state *t)
{
	for (unsigned int i = 0; i < t->n; i++) {
		struct tp_slot *s = &t->slot[i];

		s->probed = gt_tp_probe(s->tp) != NULL;
		s->exists = gt_tracepoint_exists((void *)(uintptr_t)t->b->p->tracefs,
						 gt_tp_system(s->tp), gt_tp_event(s->tp));
		s->want = s->probed && !s->exists && !s->refused && !t->reported_by[0];
	}
}

/* The slot of the same family that keeps @s from being made, if any */
static const struct tp_slot *spoiler(const struct tp_state *t, const struct tp_slot *s)
{
	const struct gt_probe *b = gt_tp_probe(s->tp);

	for (unsigned int i = 0; b && b->family && i < t->n; i++) {
		const struct gt_probe *o = gt_tp_probe(t->slot[i].tp);

		if (o && o->family == b->family && (t->slot[i].exists || t->slot[i].refused))
			return &t->slot[i];
	}
	return NULL;
}

static void settle(struct tp_state *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		if (t->slot[i].want && spoiler(t, &t->slot[i]))
			t->slot[i].want = false;
}

static const char *btf_dir(const struct tp_state *t)
{
	return t->b->o->btf && *t->b->o->btf ? t->b->o->btf : GT_BTF_DIR;
}

/* Types are those of one module at a time: nearly always the same one. */
static const struct gt_types *tp_types(struct tp_state *t, const char *module, char *err,
				       size_t len)
{
	if (t->types.kernel && !strcmp(t->module, module))
		return &t->types;
	gt_types_free(&t->types);
	snprintf(t->module, sizeof(t->module), "%s", module);
	return gt_types_load(&t->types, btf_dir(t), module, err, len) ? NULL : &t->types;
}

/** tp_types_having() - likewise those that have @tracepoint: @module's, or whichever module's */
static const struct gt_types *tp_types_having(struct tp_state *t, const char *module,
					      const char *tracepoint, char *err, size_t len)
{
	if (!tp_types(t, module, err, len))
		return NULL;
	if (gt_type_tracepoint(&t->types, tracepoint))
		return &t->types;
	snprintf(t->module, sizeof(t->module), "?"); /* no module's name */
	if (!gt_types_of_tracepoint(&t->types, btf_dir(t), tracepoint))
		return &t->types;
	gb_sentence(err, len, ENOENT, "the kernel's types do not have them");
	return NULL;
}

/* What is attached to stays as it is while the module with the types it was made from is the same: the
 * kernel's types are read once for it. A function's module may go meanwhile. */
static bool made_already(struct tp_slot *s, const char *module)
{
	uint64_t instance = *module ? gb_module_instance(module) : 0;
	bool same = s->how == TP_MADE && s->instance == instance;

	s->instance = instance;
	return same;
}

/* Returns 0, or -errno with the reason in @s->why. */
static int prepare(struct tp_state *t, struct tp_slot *s)
{
	const struct gt_probe *b = gt_tp_probe(s->tp);
	gt_live_auto_free char *format = NULL;
	const struct gt_types *types;
	struct gt_source source;
	char made[TP_FORMAT], file[PATH_MAX], err[200] = "";
	int ret;

	s->by_args = !b->function &&
		     (s->how == TP_MADE_ARGS || (tp_prefers_args(t, s) && tp_args_prepare(t, s)));
	if (s->by_args || made_already(s, b->function ? b->scope : b->module))
		return 0;
	snprintf(file, sizeof(file), "events/%s/%s/format", b->scope, b->name);
	if (!b->function && !(format = gt_live_read(t->b->p->tracefs, file, NULL)))
		return gb_sentence(s->why, sizeof(s->why), ENOENT, "the kernel has no %s/%s",
				   b->scope, b->name);
	types = tp_types(t, b->function ? b->scope : b->module, s->why, sizeof(s->why));
	if (!types)
		return -ENOENT;
	source = b->function ? gt_source_function(types, b->name) : gt_source_record(format);
	ret = tp_make(types, b, &source, &s->conf, made, s->why, sizeof(s->why));
	if (ret)
		return ret;
	if (!gt_tp_bind(s->tp, made, strlen(made), NULL, err, sizeof(err)))
		return 0;
	if (!s->why[0])
		snprintf(s->why, sizeof(s->why), "%s", err);
	return -EINVAL;
}

void tp_standins_retry(struct tp_state *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		t->slot[i].refused = t->slot[i].ready = false;
}

void tp_standins_update(struct tp_state *t)
{
	unsigned int i;

	collect(t);
	do {
		settle(t);
		for (i = 0; i < t->n && (!t->slot[i].want || t->slot[i].ready); i++)
			;
		if (i == t->n)
			break;
		t->slot[i].ready = !prepare(t, &t->slot[i]);
		t->slot[i].refused = !t->slot[i].ready;
		t->slot[i].want = t->slot[i].ready;
	} while (true);
	for (i = 0; i < t->n; i++)
		gt_tp_set_synth(t->slot[i].tp, t->slot[i].want);
}

/* The event that the kernel has, itself or the source of a synthetic tracepoint */
static const char *source_event(const struct tp_slot *s)
{
	return s->exists ? gt_tp_event(s->tp) : gt_tp_probe(s->tp)->name;
}

bool tp_args_prepare(struct tp_state *t, struct tp_slot *s)
{
	const struct gt_probe *a = s->nolink ? NULL : gt_tp_args(s->tp);
	const struct gt_types *types;
	struct gt_source of;
	char format[TP_FORMAT];

	if (!a)
		return false;
	s->noargs[0] = '\0';
	types = tp_types_having(t, a->scope, source_event(s), s->noargs, sizeof(s->noargs));
	if (!types)
		return false;
	of = gt_source_tracepoint(types, source_event(s));
	return !tp_make(types, a, &of, &s->conf, format, s->noargs, sizeof(s->noargs)) &&
	       !gt_tp_bind(s->tp, format, strlen(format), NULL, s->noargs, sizeof(s->noargs));
}

static const char *reason(const struct tp_state *t, const struct tp_slot *s)
{
	const struct tp_slot *other = s->refused ? NULL : spoiler(t, s);

	if (t->reported_by[0])
		return "another backend reads the tracepoints";
	if (other)
		return other->exists ? "the kernel has others of its kind" : other->why;
	return s->why[0] ? s->why : "no section of the event maps in use needs it";
}

bool tp_standins_emit(const struct tp_state *t, const struct tp_slot *s, char *buf, size_t len)
{
	const char *system = gt_tp_system(s->tp), *event = gt_tp_event(s->tp);

	if (!s->probed)
		return false;
	if (s->exists)
		snprintf(buf, len, "probe %s/%s not needed: the kernel has it", system, event);
	else if (!s->want)
		snprintf(buf, len, "probe_missing %s/%s: %s", system, event, reason(t, s));
	else
		snprintf(buf, len, "probe %s/%s made%s%s", system, event,
			 s->why[0] ? ", without " : "", s->why);
	return true;
}
