/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types of this kernel, as /sys/kernel/btf has them: where a member lies in its struct, and what it
 * is. Only what probes ask (fetch.c); the types are freed as soon as the probes are made, as those
 * of a kernel take some 15 MB.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "live.h"

#define CHAIN_MAX 32 /* typedefs and qualifiers before a type; more is a cycle */
#define DEPTH_MAX 8  /* nameless structs and unions in each other */

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

void gt_types_free(struct gt_types *t)
{
	btf__free(t->module);
	btf__free(t->kernel);
	*t = (struct gt_types){ 0 };
}

static int load(struct gt_types *t, const char *dir, const char *module, char *err, size_t len)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/vmlinux", dir);
	t->kernel = btf__parse(path, NULL);
	if (!t->kernel) {
		snprintf(err, len, "%s cannot be read (%s): the kernel needs CONFIG_DEBUG_INFO_BTF",
			 path, strerror(errno));
		return -ENOENT;
	}
	snprintf(path, sizeof(path), "%s/%s", dir, module);
	if (!*module)
		return 0;
	t->module = btf__parse_split(path, t->kernel);
	/* A driver that is part of the kernel has its types there: a type that is missing tells. */
	if (!t->module)
		snprintf(t->lacks, sizeof(t->lacks),
			 ", and %.50s cannot be read: is the module loaded, and the kernel built "
			 "with "
			 "CONFIG_DEBUG_INFO_BTF_MODULES?",
			 path);
	return 0;
}

/* The module whose types have the tracepoint; none may have. */
static void load_having(struct gt_types *t, const char *dir, const char *tracepoint)
{
	DIR *d = opendir(dir);
	char path[PATH_MAX];

	for (struct dirent *e; d && (e = readdir(d));) {
		if (*e->d_name == '.' || !strcmp(e->d_name, "vmlinux"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		t->module = btf__parse_split(path, t->kernel);
		if (t->module && gt_type_tracepoint(t, tracepoint))
			break;
		btf__free(t->module);
		t->module = NULL;
	}
	if (d)
		closedir(d);
}

int gt_types_of_tracepoint(struct gt_types *t, const char *dir, const char *tracepoint)
{
	libbpf_print_fn_t complain;

	if (gt_type_tracepoint(t, tracepoint))
		return 0;
	complain = libbpf_set_print(quiet);
	btf__free(t->module);
	t->module = NULL;
	load_having(t, dir, tracepoint);
	libbpf_set_print(complain);
	return t->module ? 0 : -ENOENT;
}

/* libbpf has one way to complain for the whole process: what another backend set comes back. */
int gt_types_load(struct gt_types *t, const char *dir, const char *module, char *err, size_t len)
{
	libbpf_print_fn_t complain = libbpf_set_print(quiet);
	int ret;

	*t = (struct gt_types){ 0 };
	ret = load(t, dir, module, err, len);
	libbpf_set_print(complain);
	return ret;
}

static const struct btf *btf_of(const struct gt_types *t)
{
	return t->module ? t->module : t->kernel;
}

/* The type behind typedefs and qualifiers; NULL: there is none, or no end. */
static const struct btf_type *resolve(const struct btf *btf, uint32_t *id)
{
	const struct btf_type *t = btf__type_by_id(btf, *id);

	for (int i = 0; t && (btf_is_mod(t) || btf_is_typedef(t)); i++) {
		if (i == CHAIN_MAX)
			return NULL;
		*id = t->type;
		t = btf__type_by_id(btf, *id);
	}
	return t;
}

/* A module's own goes first: it may have a struct of a name that the kernel has, too. 0: none */
static uint32_t find(const struct gt_types *t, const char *name, uint32_t kind)
{
	const struct btf *btf = btf_of(t);
	uint32_t n = btf__type_cnt(btf), own = t->module ? btf__type_cnt(t->kernel) : n;
	int found;

	for (uint32_t id = own; id < n; id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *is = btf__name_by_offset(btf, type->name_off);

		if (btf_kind(type) == kind && is && !strcmp(is, name))
			return id;
	}
	found = btf__find_by_name_kind(t->kernel, name, kind);
	return found > 0 ? (uint32_t)found : 0;
}

int gt_type_find(const struct gt_types *t, const char *name, uint32_t *id, char *err, size_t len)
{
	uint32_t found = find(t, name, BTF_KIND_STRUCT);

	if (!found)
		found = find(t, name, BTF_KIND_UNION);
	if (!found) {
		snprintf(err, len, "no struct %s in the kernel's types%s", name, t->lacks);
		return -ENOENT;
	}
	*id = found;
	return 0;
}

/* Looks into nameless members too; 1: found, 0: not, -1: a bit field. Adds to *@off. */
static int find_member(const struct btf *btf, uint32_t *id, const char *name, int64_t *off,
		       int depth)
{
	const struct btf_type *t = resolve(btf, id);

	if (!t || !btf_is_composite(t) || depth == DEPTH_MAX)
		return 0;
	for (unsigned int i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *is = btf__name_by_offset(btf, m->name_off);
		uint32_t bit = btf_member_bit_offset(t, i), inner = m->type;
		int64_t at = 0;
		int found = 0;

		if (is && !strcmp(is, name))
			found = btf_member_bitfield_size(t, i) || bit % 8 ? -1 : 1;
		else if (is && !*is)
			found = find_member(btf, &inner, name, &at, depth + 1);
		if (!found)
			continue;
		*id = inner;
		*off += at + bit / 8;
		return found;
	}
	return 0;
}

int gt_type_member(const struct gt_types *t, uint32_t *id, const char *name, int64_t *off,
		   char *err, size_t len)
{
	const struct btf *btf = btf_of(t);
	uint32_t in = *id;
	const struct btf_type *type = resolve(btf, &in);
	const char *of = type ? btf__name_by_offset(btf, type->name_off) : NULL;
	int found = find_member(btf, id, name, off, 0);

	if (found > 0)
		return 0;
	if (found < 0)
		snprintf(err, len, "member %s of struct %s is a bit field", name, of ? of : "");
	else if (!type || !btf_is_composite(type))
		snprintf(err, len, "what should have a member %s is no struct", name);
	else
		snprintf(err, len, "struct %s has no member %s", of ? of : "", name);
	return -ENOENT;
}

int gt_type_target(const struct gt_types *t, uint32_t *id)
{
	const struct btf_type *type = resolve(btf_of(t), id);

	if (!type || !btf_is_ptr(type))
		return -EINVAL;
	*id = type->type;
	return 0;
}

/*
 * Linux include/trace/bpf_probe.h has, for each, what the function is that is called at it:
 *	typedef void (*btf_trace_NAME)(void *data, TP_PROTO)
 */
uint32_t gt_type_tracepoint(const struct gt_types *t, const char *name)
{
	const struct btf *btf = btf_of(t);
	const struct btf_type *type;
	char typedefed[160];
	uint32_t id;

	snprintf(typedefed, sizeof(typedefed), "btf_trace_%.100s", name);
	id = find(t, typedefed, BTF_KIND_TYPEDEF);
	if (!id)
		return 0;
	type = resolve(btf, &id);
	if (!type || !btf_is_ptr(type))
		return 0;
	id = type->type;
	type = resolve(btf, &id);
	return type && btf_is_func_proto(type) ? id : 0;
}

uint32_t gt_type_function(const struct gt_types *t, const char *name)
{
	uint32_t id = find(t, name, BTF_KIND_FUNC);
	const struct btf_type *type = id ? btf__type_by_id(btf_of(t), id) : NULL;

	if (!type)
		return 0;
	id = type->type;
	type = btf__type_by_id(btf_of(t), id);
	return type && btf_is_func_proto(type) ? id : 0;
}

int gt_type_parameter(const struct gt_types *t, uint32_t function, unsigned int n, uint32_t *id)
{
	const struct btf_type *type = btf__type_by_id(btf_of(t), function);

	if (!function || !type || !btf_is_func_proto(type) || n >= btf_vlen(type) ||
	    !btf_params(type)[n].type) /* void: "..." */
		return -EINVAL;
	*id = btf_params(type)[n].type;
	return 0;
}

void gt_type_spell(const struct gt_types *t, uint32_t id, char *buf, size_t len)
{
	const struct btf *btf = btf_of(t);
	const struct btf_type *type = btf__type_by_id(btf, id);
	const char *name;

	for (int i = 0; type && btf_is_mod(type) && i < CHAIN_MAX; i++)
		type = btf__type_by_id(btf, type->type);
	name = type ? btf__name_by_offset(btf, type->name_off) : NULL;
	if (!name || !*name)
		*buf = '\0';
	else if (btf_is_composite(type) || btf_is_fwd(type))
		snprintf(buf, len, "%s %s",
			 btf_is_union(type) || (btf_is_fwd(type) && btf_kflag(type)) ? "union"
										     : "struct",
			 name);
	else
		snprintf(buf, len, "%s", name);
}

bool gt_type_same(const struct gt_types *t, uint32_t a, uint32_t b)
{
	char names[2][160];

	if (!resolve(btf_of(t), &a) || !resolve(btf_of(t), &b))
		return false;
	gt_type_spell(t, a, names[0], sizeof(names[0]));
	gt_type_spell(t, b, names[1], sizeof(names[1]));
	return a == b || (*names[0] && !strcmp(names[0], names[1]));
}

static bool is_char(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = resolve(btf, &id);
	const char *name = t ? btf__name_by_offset(btf, t->name_off) : NULL;

	return t && btf_is_int(t) && t->size == 1 && name && !strcmp(name, "char");
}

static enum gt_class number(uint32_t size, bool sign, char type[8])
{
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return GT_CLASS_NONE;
	snprintf(type, 8, "%c%u", sign ? 's' : 'u', size * 8);
	return GT_CLASS_NUMBER;
}

enum gt_class gt_type_class(const struct gt_types *types, uint32_t id, char type[8])
{
	const struct btf *btf = btf_of(types);
	const struct btf_type *t = resolve(btf, &id);

	if (!t)
		return GT_CLASS_NONE;
	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
		snprintf(type, 8, "x%zu", btf__pointer_size(btf) == 4 ? (size_t)32 : 64);
		return is_char(btf, t->type) ? GT_CLASS_STRING_PTR : GT_CLASS_NUMBER;
	case BTF_KIND_ARRAY:
		return is_char(btf, btf_array(t)->type) ? GT_CLASS_STRING : GT_CLASS_NONE;
	case BTF_KIND_INT:
		return number(t->size, btf_int_encoding(t) & BTF_INT_SIGNED, type);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return number(t->size, btf_kflag(t), type);
	default:
		return GT_CLASS_NONE;
	}
}
