// SPDX-License-Identifier: GPL-2.0
/*
 * Whether a tracepoint passes what its probe takes. The kernel calls a probe with whatever the
 * tracepoint has, and what a module built for this very kernel knows of a driver's structures is
 * what the kernel's headers say: a driver that was built from other sources, or a kernel of a
 * vendor, may have the name and nothing else. So its types are asked: for each tracepoint there is
 * a typedef of the function that is called at it (include/trace/bpf_probe.h):
 *
 *	typedef void (*btf_trace_NAME)(void *data, ARGUMENTS)
 *
 * From its arguments the pointers are followed by the types themselves, never by a name alone: two
 * modules may have structures of one name. The kernel has no function for modules that does this
 * in all its versions, so the types are read here. Nothing is taken for granted of what is read.
 */
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#endif
#include <linux/btf.h>

#include "btf.h"

#define CHAIN_MAX  32 /* typedefs and qualifiers before a type; more is a cycle */
#define DEPTH_MAX  8  /* nameless structs and unions in each other */
#define STRUCT_MAX 16 /* that one check looks into */

/* Kinds that headers of older kernels do not have */
#define KIND_TYPE_TAG 18
#define KIND_ENUM64   19

/**
 * struct grt_btf - types of the kernel, or of a module on top of those
 * @base: the kernel's, NULL: these are
 * @types: their descriptions, one behind the other
 * @strings: their names
 * @strings_len: bytes of these
 * @strings_from: what precedes them: those of @base
 * @first: number of the first type here
 * @n: how many there are
 * @at: where each begins in @types
 */
struct grt_btf {
	const struct grt_btf *base;
	const u8 *types;
	const char *strings;
	u32 strings_len, strings_from, first, n;
	u32 *at;
};

/* Words behind the description of a type that it has itself; -1: a kind that is not known here */
static int words_behind(const struct btf_type *t)
{
	u32 n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 1;
	case BTF_KIND_ARRAY:
		return 3;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return n * 2;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case KIND_ENUM64:
		return n * 3;
	default:
		return -1;
	}
}

/* Counts the types, and notes where they are once there is room for it. Return: 0 or -EINVAL */
static int walk(struct grt_btf *b, u32 len)
{
	u32 at = 0;

	b->n = 0;
	while (len - at >= sizeof(struct btf_type)) {
		const struct btf_type *t = (const void *)(b->types + at);
		int words = words_behind(t);

		if (words < 0 || (len - at - sizeof(*t)) / 4 < (u32)words)
			return -EINVAL;
		if (b->at)
			b->at[b->n] = at;
		b->n++;
		at += sizeof(*t) + words * 4;
	}
	return at == len ? 0 : -EINVAL;
}

/**
 * grt_btf_new() - reads types
 * @data: as the kernel has them; they are used until grt_btf_free()
 * @len: bytes of these
 * @base: the kernel's, where these are a module's; NULL: these are the kernel's
 *
 * Return: them, NULL if they are none, or there is no memory
 */
struct grt_btf *grt_btf_new(const void *data, size_t len, const struct grt_btf *base)
{
	const struct btf_header *h = data;
	struct grt_btf *b;
	size_t body;

	if (len < 24 || h->magic != BTF_MAGIC || h->version != BTF_VERSION || h->hdr_len > len ||
	    h->hdr_len < 24)
		return NULL;
	body = len - h->hdr_len;
	if (h->type_off % 4 || h->hdr_len % 4 || h->type_off > body ||
	    h->type_len > body - h->type_off || h->str_off > body ||
	    h->str_len > body - h->str_off || !h->str_len)
		return NULL;
	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return NULL;
	b->base = base;
	b->types = (const u8 *)data + h->hdr_len + h->type_off;
	b->strings = (const char *)data + h->hdr_len + h->str_off;
	b->strings_len = h->str_len;
	b->strings_from = base ? base->strings_len : 0;
	b->first = base ? base->first + base->n : 1;
	if (b->strings[b->strings_len - 1] || walk(b, h->type_len))
		goto no;
	b->at = kvcalloc(b->n ? b->n : 1, sizeof(*b->at), GFP_KERNEL);
	if (b->at && !walk(b, h->type_len))
		return b;
no:
	grt_btf_free(b);
	return NULL;
}

/** grt_btf_free() - of grt_btf_new(), or NULL; not those that it is on top of */
void grt_btf_free(struct grt_btf *b)
{
	if (b)
		kvfree(b->at);
	kfree(b);
}

/* NULL: void, or a number that no type has */
static const struct btf_type *type_at(const struct grt_btf *b, u32 id)
{
	while (b && id < b->first)
		b = b->base;
	return b && id - b->first < b->n ? (const void *)(b->types + b->at[id - b->first]) : NULL;
}

static const char *string_at(const struct grt_btf *b, u32 off)
{
	while (b->base && off < b->strings_from)
		b = b->base;
	off -= b->strings_from;
	return off < b->strings_len ? b->strings + off : "";
}

static u32 kind(const struct btf_type *t)
{
	return t ? BTF_INFO_KIND(t->info) : BTF_KIND_UNKN;
}

/* What the type is without typedefs and qualifiers; NULL: void, or there is no end of them */
static const struct btf_type *plain(const struct grt_btf *b, u32 id)
{
	const struct btf_type *t = type_at(b, id);

	for (int i = 0; t; i++) {
		switch (kind(t)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case KIND_TYPE_TAG:
			if (i == CHAIN_MAX)
				return NULL;
			t = type_at(b, t->type);
			continue;
		}
		break;
	}
	return t;
}

static bool is_struct(const struct btf_type *t)
{
	return kind(t) == BTF_KIND_STRUCT || kind(t) == BTF_KIND_UNION;
}

/* Bytes of a type; 0: it has none, or too many */
static u32 size_of(const struct grt_btf *b, u32 id)
{
	const struct btf_type *t = plain(b, id);
	u32 many = 1;

	for (int i = 0; kind(t) == BTF_KIND_ARRAY && i < DEPTH_MAX; i++) {
		const struct btf_array *a = (const void *)(t + 1);

		if (a->nelems > S32_MAX / many)
			return 0;
		many *= a->nelems;
		if (!many)
			return 0;
		t = plain(b, a->type);
	}
	switch (kind(t)) {
	case BTF_KIND_PTR:
		return sizeof(void *) * many;
	case BTF_KIND_INT:
	case BTF_KIND_ENUM:
	case KIND_ENUM64:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return t->size > S32_MAX / many ? 0 : t->size * many;
	default:
		return 0;
	}
}

/* struct where: a member; @bits: it is a bit field, or does not begin with a byte */
struct where {
	u32 type, off;
	bool bits;
};

/* The member of that name, or NULL: whatever lies at 0; in nameless structs as well */
static bool find_member(const struct grt_btf *b, const struct btf_type *in, const char *name,
			int depth, struct where *w)
{
	const struct btf_member *m = (const void *)(in + 1);
	u32 n = BTF_INFO_VLEN(in->info);
	bool fields = BTF_INFO_KFLAG(in->info);

	for (u32 i = 0; i < n; i++) {
		const char *is = string_at(b, m[i].name_off);
		u32 bit = fields ? BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset;
		const struct btf_type *t = plain(b, m[i].type);

		if (name ? !strcmp(is, name) : !bit) {
			w->type = m[i].type;
			w->off += bit / 8;
			w->bits = bit % 8 || (fields && BTF_MEMBER_BITFIELD_SIZE(m[i].offset));
			return true;
		}
		if (*is || !is_struct(t) || depth == DEPTH_MAX)
			continue;
		if (find_member(b, t, name, depth + 1, w)) {
			w->off += bit / 8;
			return true;
		}
	}
	return false;
}

/* The structs that a check has come to */
struct seen {
	const struct btf_type *type[STRUCT_MAX];
	int n;
};

static const char *name_of(const struct grt_btf *b, const struct btf_type *t)
{
	return t ? string_at(b, t->name_off) : "";
}

static int fail(char *why, size_t len, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, len, fmt, ap);
	va_end(ap);
	return error;
}

/* Return: 0, also where it is in there already, or -EINVAL */
static int see(struct seen *s, const struct btf_type *t, char *why, size_t len)
{
	for (int i = 0; i < s->n; i++)
		if (s->type[i] == t)
			return 0;
	if (s->n == STRUCT_MAX)
		return fail(why, len, -EINVAL, "it leads to more than %d structs", STRUCT_MAX);
	s->type[s->n++] = t;
	return 0;
}

static int check_member(const struct grt_btf *b, const struct grt_member *m,
			const struct btf_type *in, struct seen *s, char *why, size_t len)
{
	const char *name = m->name ? m->name : "its begin";
	const struct btf_type *to;
	struct where w = { 0 };
	u32 size;

	if (!is_struct(in))
		return fail(why, len, -ENOENT, "its types lack the members of struct %s", m->type);
	if (!find_member(b, in, m->name, 0, &w))
		return fail(why, len, -EINVAL, "struct %s has no member %s", m->type, name);
	size = size_of(b, w.type);
	if (w.bits || w.off != m->off || size != m->size)
		return fail(why, len, -EINVAL,
			    "struct %s has %s, %u bytes, at %u instead of %u bytes at %u", m->type,
			    name, size, w.off, m->size, m->off);
	if (!m->to)
		return 0;
	to = plain(b, w.type);
	if (kind(to) == BTF_KIND_PTR)
		to = plain(b, to->type);
	if ((!is_struct(to) && kind(to) != BTF_KIND_FWD) || strcmp(name_of(b, to), m->to))
		return fail(why, len, -EINVAL, "struct %s has %s, which is no struct %s", m->type,
			    name, m->to);
	return see(s, to, why, len);
}

/* Types may describe a struct twice: each that an argument leads to has to be the same */
static int check_members(const struct grt_btf *b, const struct grt_member *m, struct seen *s,
			 char *why, size_t len)
{
	int known, found, r = 0;

	do {
		known = s->n;
		for (const struct grt_member *row = m; row && row->type; row++) {
			found = 0;
			for (int i = 0; i < s->n && !r; i++) {
				if (strcmp(name_of(b, s->type[i]), row->type))
					continue;
				r = check_member(b, row, s->type[i], s, why, len);
				found++;
			}
			if (!r && !found)
				r = fail(why, len, -EINVAL, "nothing leads to a struct %s",
					 row->type);
			if (r)
				return r;
		}
	} while (s->n != known);
	return 0;
}

/* The next word of "struct NAME *, u32"; a struct has its name in @name. Return: false: no more */
static bool next_word(const char **args, char name[64])
{
	const char *p = *args, *end;
	size_t n = 0;

	while (*p == ' ' || *p == ',')
		p++;
	if (!*p)
		return false;
	end = p + strcspn(p, ",");
	name[0] = '\0';
	if (!strncmp(p, "struct ", 7)) {
		p += 7;
		n = strcspn(p, " *,");
		n = n > 63 ? 63 : n;
		memcpy(name, p, n);
		name[n] = '\0';
	}
	*args = end;
	return true;
}

/* Whether the tracepoint's argument of type @id is a pointer to struct @name; "": a number of 32
 * bits */
static int check_arg(const struct grt_btf *b, u32 id, const char *name, struct seen *s, int i,
		     char *why, size_t len)
{
	const struct btf_type *t = plain(b, id);

	if (!*name)
		return (kind(t) == BTF_KIND_INT || kind(t) == BTF_KIND_ENUM) && t->size == 4
			       ? 0
			       : fail(why, len, -EINVAL, "argument %d is no number of 32 bits", i);
	t = kind(t) == BTF_KIND_PTR ? plain(b, t->type) : NULL;
	if ((!is_struct(t) && kind(t) != BTF_KIND_FWD) || strcmp(name_of(b, t), name))
		return fail(why, len, -EINVAL, "argument %d is no pointer to a struct %s", i, name);
	return see(s, t, why, len);
}

/* The function that is called at it; NULL: these types do not have it */
static const struct btf_type *prototype(const struct grt_btf *b, const char *tracepoint)
{
	static const char prefix[] = "btf_trace_";

	for (const struct grt_btf *in = b; in; in = in->base)
		for (u32 id = in->first; id - in->first < in->n; id++) {
			const struct btf_type *t = type_at(in, id);
			const char *name;

			if (kind(t) != BTF_KIND_TYPEDEF)
				continue;
			name = name_of(in, t);
			if (strncmp(name, prefix, sizeof(prefix) - 1) ||
			    strcmp(name + sizeof(prefix) - 1, tracepoint))
				continue;
			t = plain(b, t->type);
			t = kind(t) == BTF_KIND_PTR ? plain(b, t->type) : NULL;
			return kind(t) == BTF_KIND_FUNC_PROTO ? t : NULL;
		}
	return NULL;
}

/**
 * grt_btf_check() - whether a tracepoint is what a probe was written for
 * @b: types of the module that has it, or the kernel's
 * @tracepoint: its name
 * @args: what the probe takes behind its first argument, in C: "struct drm_sched_job *, u32"
 * @members: what the probe reads of these, up to one without a type; NULL: nothing
 * @why: out: if it is not, what differs
 * @len: bytes of @why
 *
 * Return: 0; -EINVAL: it is not; -ENOENT: these types do not say
 */
int grt_btf_check(const struct grt_btf *b, const char *tracepoint, const char *args,
		  const struct grt_member *members, char *why, size_t len)
{
	const struct btf_type *proto = prototype(b, tracepoint);
	const struct btf_param *p;
	struct seen s = { .n = 0 };
	const char *rest = args;
	int has, takes = 0, r = 0;
	char name[64];

	if (!proto)
		return fail(why, len, -ENOENT, "its types do not have it");
	p = (const void *)(proto + 1);
	has = (int)BTF_INFO_VLEN(proto->info) - 1;
	while (next_word(&rest, name))
		takes++;
	if (has != takes)
		return fail(why, len, -EINVAL, "it has %d arguments instead of %d", has, takes);
	rest = args;
	for (int i = 1; !r && next_word(&rest, name); i++)
		r = check_arg(b, p[i].type, name, &s, i, why, len);
	return r ? r : check_members(b, members, &s, why, len);
}
