/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints that this kernel lacks, told by programs at others, or at functions, that follow the
 * pointers to what the maps want. The rules are those of backend/ftrace/standin.c: those of a
 * family are made together or not at all, as a job cannot be submitted in one way and end in
 * another.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static void collect(struct tp_state *t)
{
	for (unsigned int i = 0; i < t->n; i++) {
		struct tp_slot *s = &t->slot[i];

		s->probed = gt_tp_probe(s->tp) != NULL;
		s->own = gt_live_present((void *)(uintptr_t)t->b->p->tracefs, gt_tp_system(s->tp),
					 gt_tp_event(s->tp));
		s->want = s->probed && !s->own && !s->refused && !t->told_by[0];
	}
}

/* The slot of the same family that keeps @s from being made, if any */
static const struct tp_slot *spoiler(const struct tp_state *t, const struct tp_slot *s)
{
	const struct gt_probe *b = gt_tp_probe(s->tp);

	for (unsigned int i = 0; b && b->family && i < t->n; i++) {
		const struct gt_probe *o = gt_tp_probe(t->slot[i].tp);

		if (o && o->family == b->family && (t->slot[i].own || t->slot[i].refused))
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
const struct gt_types *tp_types(struct tp_state *t, const char *module, char *err, size_t len)
{
	if (t->types.kernel && !strcmp(t->module, module))
		return &t->types;
	gt_types_free(&t->types);
	snprintf(t->module, sizeof(t->module), "%s", module);
	return gt_types_load(&t->types, btf_dir(t), module, err, len) ? NULL : &t->types;
}

const struct gt_types *tp_types_having(struct tp_state *t, const char *module,
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

/* What is attached to stays as it is while the module whose types it was made with is the same: the
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

	s->by_args = !b->function && (s->how == TP_MADE_ARGS || tp_args_prepare(t, s));
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
	ret = tp_make(types, b, &source, &s->made, made, s->why, sizeof(s->why));
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
		gt_tp_stand_in(t->slot[i].tp, t->slot[i].want);
}

static const char *reason(const struct tp_state *t, const struct tp_slot *s)
{
	const struct tp_slot *other = s->refused ? NULL : spoiler(t, s);

	if (t->told_by[0])
		return "another backend tells of the tracepoints";
	if (other)
		return other->own ? "the kernel has others of its kind" : other->why;
	return s->why[0] ? s->why : "no section of the event maps in use needs it";
}

bool tp_standins_tell(const struct tp_state *t, const struct tp_slot *s, char *buf, size_t len)
{
	const char *system = gt_tp_system(s->tp), *event = gt_tp_event(s->tp);

	if (!s->probed)
		return false;
	if (s->own)
		snprintf(buf, len, "probe %s/%s not needed: the kernel has it", system, event);
	else if (!s->want)
		snprintf(buf, len, "probe_missing %s/%s: %s", system, event, reason(t, s));
	else
		snprintf(buf, len, "probe %s/%s made%s%s", system, event,
			 s->why[0] ? ", without " : "", s->why);
	return true;
}
