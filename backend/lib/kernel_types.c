/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types of the running kernel, from /sys/kernel/btf, and the translation of an event map's expression
 * to the kernel's: offsets come from these types, so a map fits every kernel that has the members.
 *
 * The types are freed as soon as the probes are made: those of a kernel take some 15 MB.
 *
 * The kernel's syntax: Linux Documentation/trace/kprobetrace.rst and eprobetrace.rst. +OFF(X) is the
 * value at OFF bytes after address X, and the X of a string is the address of its first character.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "threads.h"

#define CHAIN_MAX 32 /* typedefs and qualifiers of a type; more is a cycle */
#define DEPTH_MAX 8  /* nested anonymous structs and unions */

enum type_class {
	CLASS_NONE, /* cannot be in a record */
	CLASS_NUMBER,
	CLASS_STRING,	  /* an array of characters */
	CLASS_STRING_PTR, /* a pointer to characters */
};

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
	/* A driver that is part of the kernel has its types there; a missing type shows later. */
	if (!t->module)
		snprintf(t->lacks, sizeof(t->lacks),
			 ", and %.50s cannot be read: is the module loaded, and the kernel built "
			 "with "
			 "CONFIG_DEBUG_INFO_BTF_MODULES?",
			 path);
	return 0;
}

/* Loads the types of the module that has the tracepoint, if there is one. */
static void load_module_of(struct gt_types *t, const char *dir, const char *tracepoint)
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
	libbpf_print_fn_t old;

	if (gt_type_tracepoint(t, tracepoint))
		return 0;
	old = libbpf_set_print(quiet);
	btf__free(t->module);
	t->module = NULL;
	load_module_of(t, dir, tracepoint);
	libbpf_set_print(old);
	return t->module ? 0 : -ENOENT;
}

/* libbpf has one print function for the whole process: that of another backend is restored. */
int gt_types_load(struct gt_types *t, const char *dir, const char *module, char *err, size_t len)
{
	libbpf_print_fn_t old = libbpf_set_print(quiet);
	int ret;

	*t = (struct gt_types){ 0 };
	ret = load(t, dir, module, err, len);
	libbpf_set_print(old);
	return ret;
}

static const struct btf *btf_of(const struct gt_types *t)
{
	return t->module ? t->module : t->kernel;
}

/* Strips typedefs and qualifiers; NULL: no type, or a cycle */
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

/* A type by name, 0: none. First in the module: the kernel may have a struct of the same name. */
static uint32_t find_type(const struct gt_types *t, const char *name, uint32_t kind)
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

static int find_composite(const struct gt_types *t, const char *name, uint32_t *id, char *err,
			  size_t len)
{
	uint32_t found = find_type(t, name, BTF_KIND_STRUCT);

	if (!found)
		found = find_type(t, name, BTF_KIND_UNION);
	if (!found) {
		snprintf(err, len, "no struct %s in the kernel's types%s", name, t->lacks);
		return -ENOENT;
	}
	*id = found;
	return 0;
}

/* Finds a member, in anonymous ones as well, and adds to *@off. 1: found, 0: not, -1: a bit field */
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

static int add_member(const struct gt_types *t, uint32_t *id, const char *name, int64_t *off,
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

/** type_target() - the type that pointer *@id points to; -EINVAL: it is no pointer */
static int type_target(const struct gt_types *t, uint32_t *id)
{
	const struct btf_type *type = resolve(btf_of(t), id);

	if (!type || !btf_is_ptr(type))
		return -EINVAL;
	*id = type->type;
	return 0;
}

/*
 * Linux include/trace/bpf_probe.h declares the function that is called at each tracepoint:
 *	typedef void (*btf_trace_NAME)(void *data, TP_PROTO)
 */
uint32_t gt_type_tracepoint(const struct gt_types *t, const char *name)
{
	const struct btf *btf = btf_of(t);
	const struct btf_type *type;
	char typedefed[160];
	uint32_t id;

	snprintf(typedefed, sizeof(typedefed), "btf_trace_%.100s", name);
	id = find_type(t, typedefed, BTF_KIND_TYPEDEF);
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
	uint32_t id = find_type(t, name, BTF_KIND_FUNC);
	const struct btf_type *type = id ? btf__type_by_id(btf_of(t), id) : NULL;

	if (!type)
		return 0;
	id = type->type;
	type = btf__type_by_id(btf_of(t), id);
	return type && btf_is_func_proto(type) ? id : 0;
}

/** type_parameter() - type of parameter @n (from 0) of a function; -EINVAL if it has fewer */
static int type_parameter(const struct gt_types *t, uint32_t function, unsigned int n, uint32_t *id)
{
	const struct btf_type *type = btf__type_by_id(btf_of(t), function);

	if (!function || !type || !btf_is_func_proto(type) || n >= btf_vlen(type) ||
	    !btf_params(type)[n].type) /* void: "..." */
		return -EINVAL;
	*id = btf_params(type)[n].type;
	return 0;
}

/** type_spell() - the type in C without qualifiers, as "struct sched" or "u64"; "" if anonymous */
static void type_spell(const struct gt_types *t, uint32_t id, char *buf, size_t len)
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

/* Are these the same type, or two descriptions of it? */
static bool same_type(const struct gt_types *t, uint32_t a, uint32_t b)
{
	char names[2][160];

	if (!resolve(btf_of(t), &a) || !resolve(btf_of(t), &b))
		return false;
	type_spell(t, a, names[0], sizeof(names[0]));
	type_spell(t, b, names[1], sizeof(names[1]));
	return a == b || (*names[0] && !strcmp(names[0], names[1]));
}

static bool is_char(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = resolve(btf, &id);
	const char *name = t ? btf__name_by_offset(btf, t->name_off) : NULL;

	return t && btf_is_int(t) && t->size == 1 && name && !strcmp(name, "char");
}

static enum type_class number(uint32_t size, bool sign, char type[8])
{
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return CLASS_NONE;
	snprintf(type, 8, "%c%u", sign ? 's' : 'u', size * 8);
	return CLASS_NUMBER;
}

/* @type: gets the kernel's word for a number, "u32" */
static enum type_class class_of(const struct gt_types *types, uint32_t id, char type[8])
{
	const struct btf *btf = btf_of(types);
	const struct btf_type *t = resolve(btf, &id);

	if (!t)
		return CLASS_NONE;
	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
		snprintf(type, 8, "x%zu", btf__pointer_size(btf) == 4 ? (size_t)32 : 64);
		return is_char(btf, t->type) ? CLASS_STRING_PTR : CLASS_NUMBER;
	case BTF_KIND_ARRAY:
		return is_char(btf, btf_array(t)->type) ? CLASS_STRING : CLASS_NONE;
	case BTF_KIND_INT:
		return number(t->size, btf_int_encoding(t) & BTF_INT_SIGNED, type);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return number(t->size, btf_kflag(t), type);
	default:
		return CLASS_NONE;
	}
}

/* Expressions -------------------------------------------------------------------------------- */

#define LOADS_MAX 12	      /* FETCH_INSN_MAX is 16 */
#define OFF_MAX	  (1ll << 24) /* no struct is larger */

/**
 * struct walk - an expression that is being translated
 * @value: the kernel's expression so far: an address, or at first a plain value
 * @base: the type of a plain value
 * @name: the field or argument that @value is, "" later: then @arg is the type of an argument, or
 *	@decl the type of a field in the format
 * @off: to be added to @value
 * @type: of the value at that address if @place, else of what the sum points to
 */
struct walk {
	const struct gt_types *t;
	char value[GT_FETCH];
	char base[8];
	char name[128], decl[128];
	uint32_t arg;
	int64_t off;
	uint32_t type;
	bool place;
	int loads;
	char *err;
	size_t len;
};

static int __attribute__((format(printf, 2, 3))) fail(struct walk *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->err, w->len, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* The source differs from what the expression was written for */
static int __attribute__((format(printf, 2, 3))) mismatch(struct walk *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->err, w->len, fmt, ap);
	va_end(ap);
	return -EPROTOTYPE;
}

/* The type of a field: "struct dma_fence *" of "	field:const struct dma_fence * fence;" */
static void declared_type(const char *format, const char *name, char *buf, size_t len)
{
	static const char *const qualifiers[] = { "const ", "volatile " };
	size_t n = strlen(name);

	*buf = '\0';
	for (const char *p = format; (p = strstr(p, "field:"));) {
		const char *begin = p + strlen("field:"), *end = begin + strcspn(begin, ";\n");

		p = end;
		if ((size_t)(end - begin) <= n || memcmp(end - n, name, n) != 0 ||
		    !strchr(" *", end[-(long)n - 1]))
			continue;
		for (size_t i = 0; i < 2; i++)
			if (!strncmp(begin, qualifiers[i], strlen(qualifiers[i])))
				begin += strlen(qualifiers[i]);
		for (end -= n; end > begin && end[-1] == ' ';)
			end--;
		snprintf(buf, len, "%.*s", (int)(end - begin), begin);
		return;
	}
}

static int base_field(struct walk *w, const char *format, const char *name)
{
	unsigned int size = 0;

	declared_type(format, name, w->decl, sizeof(w->decl));
	switch (gt_format_field(format, strlen(format), name, &size)) {
	case GT_F_STRING:
		snprintf(w->base, sizeof(w->base), "string");
		return 0;
	case GT_F_SIGNED:
		snprintf(w->base, sizeof(w->base), "s%u", (size * 8) & 127);
		return 0;
	case GT_F_UNSIGNED:
		snprintf(w->base, sizeof(w->base), "u%u", (size * 8) & 127);
		return 0;
	case GT_F_POINTER:
		snprintf(w->base, sizeof(w->base), "x%u", (size * 8) & 127);
		return 0;
	default:
		return fail(w, "its source has no field %s", name);
	}
}

/* An argument is a register, so a value that fits into one */
static int base_argument(struct walk *w, const struct gt_source *s, unsigned int n)
{
	char type[8];

	if (!s->function)
		return mismatch(w, "the kernel's types do not have its arguments");
	if (type_parameter(w->t, s->function, s->first + n - 1, &w->arg))
		return mismatch(w, "it has no argument $arg%u", n);
	if (class_of(w->t, w->arg, type) == CLASS_NONE)
		return mismatch(w, "$arg%u is neither a number nor a pointer", n);
	snprintf(w->base, sizeof(w->base), "x%zu", sizeof(void *) * 8);
	return 0;
}

static int begin(struct walk *w, const struct gt_source *s, const char *name)
{
	const char *digits = name + 3;

	if (snprintf(w->value, sizeof(w->value), "$%s", name) >= (int)sizeof(w->value))
		return fail(w, "%s is too long a name", name);
	snprintf(w->name, sizeof(w->name), "%s", name);
	if (s->format)
		return base_field(w, s->format, name);
	if (strncmp(name, "arg", 3) || *digits < '1' || strspn(digits, "0123456789") > 2 ||
	    digits[strspn(digits, "0123456789")])
		return fail(w, "$%s is none of a function's arguments $arg1, $arg2, …", name);
	return base_argument(w, s, (unsigned int)atoi(digits));
}

/* Reads the pointer at the current place: it becomes the value. */
static int load_pointer(struct walk *w)
{
	char old[GT_FETCH];

	if (++w->loads > LOADS_MAX)
		return fail(w, "more than %d pointers in a row", LOADS_MAX);
	memcpy(old, w->value, sizeof(old));
	if (snprintf(w->value, sizeof(w->value), "%+lld(%s)", (long long)w->off, old) >=
	    (int)sizeof(w->value))
		return fail(w, "longer than the kernel takes");
	w->off = 0;
	w->place = false;
	return 0;
}

static int member(struct walk *w, const char *name)
{
	if (add_member(w->t, &w->type, name, &w->off, w->err, w->len))
		return -ENOENT;
	if (w->off > OFF_MAX || w->off < -OFF_MAX)
		return fail(w, "%s lies too far away", name);
	return 0;
}

/* Does the expression start with a pointer to a @to? A field of type "void *" may be one; what it
 * points to is read with faults handled. */
static int check_base(struct walk *w, uint32_t to)
{
	char spelled[128], want[132];
	uint32_t is = w->arg;

	type_spell(w->t, to, spelled, sizeof(spelled));
	snprintf(want, sizeof(want), "%s *", spelled);
	if (w->arg ? !type_target(w->t, &is) && same_type(w->t, is, to)
		   : !strcmp(w->decl, want) || !strcmp(w->decl, "void *"))
		return 0;
	return mismatch(w, "$%s is no pointer to a %s", w->name,
			*spelled ? spelled : "nameless type");
}

/* If there are several structs of that name, the one that the argument points to */
static int find_struct(struct walk *w, const char *name, bool whole, uint32_t *id)
{
	char spelled[128];
	uint32_t to = w->arg;

	if (whole && *w->name && w->arg && !type_target(w->t, &to)) {
		type_spell(w->t, to, spelled, sizeof(spelled));
		if (!strncmp(spelled, "struct ", 7) && !strcmp(spelled + 7, name)) {
			*id = to;
			return 0;
		}
	}
	return find_composite(w->t, name, id, w->err, w->len);
}

/* "T.m.n": a pointer to that member of a T becomes a pointer to the T */
static int cast(struct walk *w, char *name)
{
	uint32_t id = 0, in;
	int64_t off = 0;
	char *next;
	int ret;

	if (w->place && type_target(w->t, &w->type))
		return fail(w, "what stands before <%s> is no pointer", name);
	if (w->place && load_pointer(w))
		return -EINVAL;
	next = strchr(name, '.');
	if (next)
		*next++ = '\0';
	ret = find_struct(w, name, !next, &id);
	in = id;
	while (!ret && next) {
		char *m = next;

		next = strchr(m, '.');
		if (next)
			*next++ = '\0';
		ret = add_member(w->t, &in, m, &off, w->err, w->len);
	}
	if (!ret && *w->name)
		ret = check_base(w, in);
	w->name[0] = '\0';
	w->off -= off;
	w->type = id;
	return ret;
}

static int arrow(struct walk *w, const char *name)
{
	if (w->place && type_target(w->t, &w->type))
		return fail(w, "what stands before ->%s is no pointer", name);
	if (w->place && load_pointer(w))
		return -EINVAL;
	w->place = true;
	return member(w, name);
}

static int step(struct walk *w, struct gt_probe_step *s)
{
	switch (s->kind) {
	case GT_P_CAST:
		return cast(w, s->name);
	case GT_P_ARROW:
		return arrow(w, s->name);
	default:
		return member(w, s->name);
	}
}

/* Writes the result with the kernel's type of an argument. */
static int finish(struct walk *w, char out[GT_FETCH])
{
	char type[8] = "";
	int n;

	if (!w->place && w->off)
		return fail(w, "of the struct that is meant no member is named");
	if (!w->place) {
		n = snprintf(out, GT_FETCH, "%s:%s", w->value, w->base);
		return n < GT_FETCH ? 0 : fail(w, "longer than the kernel takes");
	}
	switch (class_of(w->t, w->type, type)) {
	case CLASS_STRING_PTR:
		if (load_pointer(w))
			return -EINVAL;
		snprintf(type, sizeof(type), "string");
		break;
	case CLASS_STRING:
		snprintf(type, sizeof(type), "string");
		break;
	case CLASS_NUMBER:
		break;
	default:
		return fail(w, "what it leads to is neither a number nor a string");
	}
	n = snprintf(out, GT_FETCH, "%+lld(%s):%s", (long long)w->off, w->value, type);
	return n < GT_FETCH ? 0 : fail(w, "longer than the kernel takes");
}

struct gt_source gt_source_record(const char *format)
{
	return (struct gt_source){ .format = format };
}

struct gt_source gt_source_tracepoint(const struct gt_types *t, const char *name)
{
	return (struct gt_source){ .function = gt_type_tracepoint(t, name), .first = 1 };
}

struct gt_source gt_source_function(const struct gt_types *t, const char *name)
{
	return (struct gt_source){ .function = gt_type_function(t, name) };
}

int gt_fetch(const struct gt_types *t, const struct gt_source *s, const char *expr,
	     char out[GT_FETCH], char *err, size_t len)
{
	struct walk w = { .t = t, .err = err, .len = len };
	struct gt_probe_step next;
	int ret;

	if (!gt_probe_expr_ok(expr) || !gt_probe_next(&expr, &next))
		return fail(&w, "not an expression");
	ret = begin(&w, s, next.name);
	while (!ret && gt_probe_next(&expr, &next))
		ret = step(&w, &next);
	return ret ? ret : finish(&w, out);
}
