/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loads the event maps, decides which sections are in use, and binds them to `format` files (Linux
 * kernel/trace/trace_events.c, f_show()):
 *
 *	ID: 1343
 *	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *	field:__data_loc char[] name;	offset:24;	size:4;	signed:1;
 *
 * The declaration is C, more or less: the name is its last word, or the one before "[N]".
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/file.h"
#include "internal.h"

static uint32_t name_hash(const char *event)
{
	return (uint32_t)gt_hash_bytes(event, strlen(event)) % GT_TP_HASH;
}

static struct gt_tp *find_tp(const struct gt_eventmap *m, const char *system, const char *event,
			     bool used)
{
	struct gt_tp *tp = m->hash[name_hash(event)];

	for (; tp; tp = tp->hnext)
		if (!strcmp(tp->event, event) && (!system || !strcmp(tp->system, system)) &&
		    (tp->use || !used))
			return tp;
	return NULL;
}

static struct gt_tp *find_or_create_tp(struct gt_eventmap *m, const struct gt_section *s)
{
	struct gt_tp *tp = find_tp(m, s->system, s->event, false), **end;

	if (tp)
		return tp;
	tp = calloc(1, sizeof(*tp));
	if (!tp)
		return NULL;
	tp->m = m;
	strcpy(tp->system, s->system);
	strcpy(tp->event, s->event);
	for (end = &m->hash[name_hash(s->event)]; *end; end = &(*end)->hnext)
		;
	*end = tp;
	m->tps[m->ntps++] = tp;
	return tp;
}

/* Another name that an earlier file gives the custom event of @s, or NULL */
static const char *other_name(const struct gt_eventmap *m, const struct gt_section *s)
{
	const char *have;

	if (s->types[0] < GT_CUSTOM0)
		return NULL;
	have = m->custom[s->types[0] - GT_CUSTOM0];
	return have[0] && strcmp(have, s->name) ? have : NULL;
}

static int add_sections(struct gt_eventmap *m, struct gt_section *list)
{
	const uint64_t jobs =
		GT_BIT(GT_SUBMIT) | GT_BIT(GT_COMMIT) | GT_BIT(GT_START) | GT_BIT(GT_COMPLETE);
	int rc = 0;

	while (list) {
		struct gt_section *s = list, **end;
		struct gt_tp *tp = find_or_create_tp(m, s);

		list = s->next;
		s->next = NULL;
		if (!tp) {
			gt_sections_free(s);
			rc = -ENOMEM;
			continue;
		}
		s->map = (uint16_t)m->nmaps;
		s->tp = tp;
		/* events of jobs must match each other: the probes of a map come all together */
		if (s->probe && s->bits & jobs)
			s->probe->family = s->map + 1u;
		for (end = &tp->sections; *end; end = &(*end)->next)
			;
		*end = s;
		m->nsections++;
		if (s->types[0] >= GT_CUSTOM0)
			strcpy(m->custom[s->types[0] - GT_CUSTOM0], s->name);
	}
	return rc;
}

/* Do custom names of a file clash with each other or with those of earlier files? */
static bool names_clash(const struct gt_eventmap *m, const struct gt_section *list, char *err,
			size_t len)
{
	for (const struct gt_section *s = list; s; s = s->next) {
		const char *other = other_name(m, s);

		for (const struct gt_section *o = list; o != s && !other; o = o->next)
			if (s->types[0] >= GT_CUSTOM0 && o->types[0] == s->types[0] &&
			    strcmp(o->name, s->name))
				other = o->name;
		if (!other)
			continue;
		snprintf(err, len, "%s:%d: CUSTOM%d is called %s already", s->file, s->line,
			 s->types[0] - GT_CUSTOM0, other);
		return true;
	}
	return false;
}

/* The whole file, NUL-terminated; NULL with a sentence. */
static char *read_file(int dir, const char *base, char *err, size_t len)
{
	int fd = gt_trusted_open(dir, base, S_IFREG, err, len);
	char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st)) {
		snprintf(err, len, "%s: %s", base, strerror(errno));
	} else if (st.st_size > GT_MAP_FILE_SIZE) {
		snprintf(err, len, "%s: not a file of at most %d bytes", base, GT_MAP_FILE_SIZE);
	} else if (!(text = calloc(1, GT_MAP_FILE_SIZE + 1))) {
		snprintf(err, len, "%s: no memory", base);
	} else if ((n = read(fd, text, GT_MAP_FILE_SIZE)) < 0 || strlen(text) != (size_t)n) {
		snprintf(err, len, "%s: %s", base, n < 0 ? strerror(errno) : "not a text");
		free(text);
		text = NULL;
	}
	close(fd);
	return text;
}

static bool load_file(struct gt_eventmap *m, int dir, const char *base, char *err, size_t len)
{
	char *text = read_file(dir, base, err, len);
	struct gt_section *list = NULL;
	int n;

	if (!text)
		return false;
	n = gt_ini_read(text, base, &list, err, len);
	free(text);
	if (n < 0)
		return false;
	if (m->nsections + (unsigned int)n > GT_MAP_SECTIONS) {
		snprintf(err, len, "%s: more than %d sections in all", base, GT_MAP_SECTIONS);
	} else if (!names_clash(m, list, err, len)) {
		m->nmaps++;
		if (!add_sections(m, list))
			return true;
		snprintf(err, len, "%s: no memory", base);
		return false;
	}
	gt_sections_free(list);
	return false;
}

static int is_map(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 4 && !strcmp(d->d_name + n - 4, ".ini");
}

/* @err gets the first fault only. */
static int load_dir(struct gt_eventmap *m, const char *dir, char *err, size_t len)
{
	int fd = gt_trusted_open(AT_FDCWD, dir, S_IFDIR, err, len), n = -1;
	struct dirent **list = NULL;
	char fault[640];

	if (fd >= 0) {
		n = scandirat(fd, ".", &list, is_map, alphasort);
		if (n < 0)
			snprintf(err, len, "%s: %s", dir, strerror(errno));
	}
	for (int i = 0; i < n; i++) {
		fault[0] = '\0';
		if (i >= GT_MAP_FILES)
			snprintf(fault, sizeof(fault), "%s: more than %d maps", list[i]->d_name,
				 GT_MAP_FILES);
		else
			load_file(m, fd, list[i]->d_name, fault, sizeof(fault));
		if (fault[0] && len && !err[0])
			snprintf(err, len, "%s/%s", dir, fault);
		free(list[i]);
	}
	free(list);
	if (fd >= 0)
		close(fd);
	if (n >= 0 && !m->nsections && len && !err[0])
		snprintf(err, len, "%s: no event map (*.ini) here", dir);
	return m->nsections ? 0 : -ENOENT;
}

struct gt_eventmap *gt_eventmap_load(struct gt_plugin *p, const char *dir, char *err, size_t len)
{
	struct gt_eventmap *m = calloc(1, sizeof(*m));

	if (len)
		err[0] = '\0';
	if (!m || gt_tables_init(m)) {
		snprintf(err, len, "no memory for the event maps");
		gt_eventmap_free(m);
		return NULL;
	}
	m->p = p;
	if (!load_dir(m, dir, err, len))
		return m;
	gt_eventmap_free(m);
	return NULL;
}

void gt_eventmap_free(struct gt_eventmap *m)
{
	if (!m)
		return;
	for (unsigned int i = 0; i < m->ntps; i++) {
		gt_sections_free(m->tps[i]->sections);
		free(m->tps[i]);
	}
	gt_tables_free(m);
	free(m);
}

/* "system/event" or "event": the event, and the system in @system or NULL */
static const char *split_name(const char *name, char *buf, size_t len, const char **system)
{
	const char *slash = strchr(name, '/');

	*system = slash ? buf : NULL;
	if (!slash)
		return name;
	snprintf(buf, len, "%.*s", (int)(slash - name), name);
	return slash + 1;
}

static bool any_exists(const char (*names)[2 * GT_MAP_NAME], unsigned int n,
		       gt_tracepoint_exists_fn present, void *arg)
{
	char buf[2 * GT_MAP_NAME];
	const char *system, *event;

	for (unsigned int i = 0; i < n; i++) {
		event = split_name(names[i], buf, sizeof(buf), &system);
		if (present(arg, system, event))
			return true;
	}
	return false;
}

/* What `unless`, `unless_live` and `requires` decide */
static bool is_wanted(struct gt_eventmap *m, struct gt_section *s, gt_tracepoint_exists_fn present,
		      void *arg)
{
	bool others = present && any_exists(s->unless, s->nunless, present, arg);

	s->second = others && s->live && m->p->recording;
	return !present || ((!others || s->second) &&
			    (!s->nrequires || any_exists(s->requires, s->nrequires, present, arg)));
}

static void find_heard(struct gt_eventmap *m, struct gt_section *s)
{
	char buf[2 * GT_MAP_NAME];
	const char *system, *event;

	for (unsigned int i = 0; i < s->nheard; i++) {
		event = split_name(s->heard[i], buf, sizeof(buf), &system);
		s->heard_tp[i] = gt_eventmap_find(m, system, event);
	}
}

void gt_eventmap_refresh(struct gt_eventmap *m, gt_tracepoint_exists_fn present, void *arg)
{
	for (unsigned int i = 0; i < m->ntps; i++)
		m->tps[i]->gone =
			!m->tps[i]->synth && !present(arg, m->tps[i]->system, m->tps[i]->event);
}

void gt_eventmap_select(struct gt_eventmap *m, gt_tracepoint_exists_fn present, void *arg,
			int level)
{
	memset(m->names, 0, sizeof(m->names)); /* devices may have come or gone */
	for (unsigned int i = 0; i < m->ntps; i++) {
		struct gt_tp *tp = m->tps[i];

		tp->use = false;
		for (struct gt_section *s = tp->sections; s; s = s->next) {
			s->gpu_known = false;
			s->use = s->level <= level && is_wanted(m, s, present, arg) &&
				 !gt_synth_replaces(s);
			tp->use |= s->use;
		}
	}
	for (unsigned int i = 0; i < m->ntps; i++)
		for (struct gt_section *s = m->tps[i]->sections; s; s = s->next)
			find_heard(m, s);
	gt_dedup_select(m, present, arg);
}

struct gt_tp *gt_eventmap_each(struct gt_eventmap *m, unsigned int i)
{
	for (unsigned int k = 0; k < m->ntps; k++)
		if (m->tps[k]->use && i-- == 0)
			return m->tps[k];
	return NULL;
}

struct gt_tp *gt_eventmap_find(struct gt_eventmap *m, const char *system, const char *event)
{
	return find_tp(m, system, event, true);
}

const char *gt_tp_system(const struct gt_tp *tp)
{
	return tp->system;
}

const char *gt_tp_event(const struct gt_tp *tp)
{
	return tp->event;
}

const struct gt_eventmap_stats *gt_eventmap_stats(const struct gt_eventmap *m)
{
	return &m->stats;
}

/* Binding to a `format` file ----------------------------------------------------------------- */

#define FIELDS_MAX 64

struct fmt_field {
	char name[GT_MAP_NAME];
	struct gt_field f;
};

struct format {
	struct fmt_field field[FIELDS_MAX];
	unsigned int n;
	int id;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Parses "key:NUMBER;" within a line; false if it is missing or out of range */
static bool attribute(const char *line, const char *key, long max, long *v)
{
	const char *p = strstr(line, key);
	char *end;

	if (!p)
		return false;
	p += strlen(key);
	*v = strtol(p, &end, 10);
	return end != p && *v >= 0 && *v <= max;
}

static bool has_word(const char *decl, const char *w)
{
	size_t n = strlen(w);

	for (const char *p = decl; (p = strstr(p, w)); p += n)
		if ((p == decl || !is_word(p[-1])) && !is_word(p[n]))
			return true;
	return false;
}

static enum gt_kind kind_of(const char *decl, bool array, long size)
{
	bool chars = has_word(decl, "char") || has_word(decl, "u8") || has_word(decl, "uint8_t");

	if (has_word(decl, "__data_loc") || has_word(decl, "__rel_loc")) {
		if (size != 4 || !chars)
			return GT_K_NONE;
		return has_word(decl, "__data_loc") ? GT_K_DYN : GT_K_REL;
	}
	if (array)
		return chars ? GT_K_CHARS : GT_K_NONE;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return GT_K_NONE;
	return strchr(decl, '*') ? GT_K_PTR : GT_K_INT;
}

/* Cuts the name off @decl, the text between "field:" and ';'. */
static bool split_decl(char *decl, char name[GT_MAP_NAME], bool *array)
{
	size_t n = strlen(decl), end;

	while (n && isspace((unsigned char)decl[n - 1]))
		n--;
	*array = n && decl[n - 1] == ']';
	if (*array) {
		while (n && decl[n - 1] != '[')
			n--;
		n -= n > 0;
	}
	end = n;
	while (n && is_word(decl[n - 1]))
		n--;
	if (end == n || end - n >= GT_MAP_NAME)
		return false;
	memcpy(name, decl + n, end - n);
	name[end - n] = '\0';
	decl[n] = '\0';
	return true;
}

/* A line that does not look like a field is skipped: a map that needs the field reports it. */
static void parse_field_line(struct format *fmt, const char *line)
{
	const char *p = strstr(line, "field:"), *semi = p ? strchr(p, ';') : NULL;
	struct fmt_field *f = &fmt->field[fmt->n];
	long off, size, sign = 0;
	char decl[160];
	bool array;

	if (!semi || fmt->n == FIELDS_MAX)
		return;
	p += strlen("field:");
	if ((size_t)(semi - p) >= sizeof(decl))
		return;
	memcpy(decl, p, (size_t)(semi - p));
	decl[semi - p] = '\0';
	if (!split_decl(decl, f->name, &array) || !attribute(semi, "offset:", UINT16_MAX, &off) ||
	    !attribute(semi, "size:", UINT16_MAX, &size))
		return;
	attribute(semi, "signed:", 1, &sign);
	f->f = (struct gt_field){ .kind = kind_of(decl, array, size),
				  .sign = sign > 0,
				  .off = (uint16_t)off,
				  .size = (uint16_t)size };
	fmt->n++;
}

static void parse_format(struct format *fmt, const char *text, size_t len)
{
	const char *end = text + len;
	char line[512];

	fmt->n = 0;
	fmt->id = -1;
	while (text < end) {
		const char *nl = memchr(text, '\n', end - text);
		size_t n = (size_t)((nl ? nl : end) - text);
		long id;

		if (n && n < sizeof(line)) {
			memcpy(line, text, n);
			line[n] = '\0';
			if (!strncmp(line, "ID:", 3) && attribute(line, "ID:", INT_MAX, &id))
				fmt->id = (int)id;
			else if (strncmp(line, "print fmt:", 10))
				parse_field_line(fmt, line);
		}
		text += n + 1;
	}
}

enum gt_format_kind gt_format_field(const char *format, size_t len, const char *name,
				    unsigned int *size)
{
	static const uint8_t kinds[] = {
		[GT_K_PTR] = GT_F_POINTER,
		[GT_K_DYN] = GT_F_STRING,
		[GT_K_REL] = GT_F_STRING,
		[GT_K_CHARS] = GT_F_STRING,
	};
	struct format fmt;

	parse_format(&fmt, format, len);
	for (unsigned int i = 0; i < fmt.n; i++) {
		const struct gt_field *f = &fmt.field[i].f;

		if (strcmp(fmt.field[i].name, name))
			continue;
		*size = f->size;
		if (f->kind == GT_K_INT)
			return f->sign ? GT_F_SIGNED : GT_F_UNSIGNED;
		return kinds[f->kind];
	}
	return GT_F_ABSENT;
}

static bool bind_ref(struct gt_ref *r, const struct format *fmt)
{
	r->raw = (struct gt_field){ .kind = GT_K_NONE };
	for (unsigned int i = 0; i < fmt->n; i++) {
		if (!strcmp(fmt->field[i].name, r->field)) {
			r->raw = fmt->field[i].f;
			return r->raw.kind != GT_K_NONE;
		}
	}
	return false;
}

static bool bind_num(struct gt_num *n, const struct format *fmt)
{
	switch (n->kind) {
	case GT_N_NONE:
		return false;
	case GT_N_CONST:
		return true;
	case GT_N_FIELD:
		if (n->more.field[0] && (!bind_ref(&n->more, fmt) || n->more.raw.kind != GT_K_INT))
			n->more.raw.kind = GT_K_NONE;
		if (bind_ref(&n->ref, fmt) && n->ref.raw.kind == GT_K_INT)
			return true;
		n->ref.raw.kind = GT_K_NONE; /* a pointer must not get into a record */
		return false;
	default:
		return bind_ref(&n->ref, fmt) &&
		       (n->ref.raw.kind == GT_K_INT || n->ref.raw.kind == GT_K_PTR);
	}
}

static bool bind_alt(struct gt_alt *a, const struct format *fmt)
{
	bool whole = true;

	for (unsigned int i = 0; i < a->n; i++) {
		struct gt_part *p = &a->part[i];

		if (p->has_ref && (!bind_ref(&p->ref, fmt) || p->ref.raw.kind == GT_K_PTR))
			whole = false;
	}
	return whole;
}

static bool bind_tmpl(struct gt_tmpl *t, const struct format *fmt)
{
	t->raw_alt = -1;
	for (int i = 0; i < t->n && t->raw_alt < 0; i++)
		if (bind_alt(&t->alt[i], fmt))
			t->raw_alt = (int8_t)i;
	return t->raw_alt >= 0;
}

/* The first field of a template that the record lacks */
static const char *missing_field(const struct gt_tmpl *t)
{
	for (unsigned int i = 0; i < t->alt[0].n; i++)
		if (t->alt[0].part[i].has_ref && t->alt[0].part[i].ref.raw.kind == GT_K_NONE)
			return t->alt[0].part[i].ref.field;
	return t->alt[0].part[0].ref.field;
}

/* NULL if all fields of an alternative are in the record, else one that is missing */
static const char *bind_match(const struct gt_section *s, uint8_t nums)
{
	const char *missing = NULL;

	for (unsigned int i = 0; i < s->nmatch; i++) {
		uint8_t need = 0, alt = s->match[i];

		need |= alt & GT_M_FENCE ? 1u << GT_NUM_FENCE : 0;
		need |= alt & GT_M_CTX ? 1u << GT_NUM_CTX : 0;
		need |= alt & GT_M_SEQNO ? 1u << GT_NUM_SEQNO : 0;
		if ((need & nums) == need)
			return NULL;
		need &= ~nums;
		if (!missing)
			missing = s->num[__builtin_ctz(need)].ref.field;
	}
	return missing;
}

static bool bind_cond(struct gt_cond *c, const struct format *fmt)
{
	bool number;

	if (!bind_ref(&c->ref, fmt))
		return false;
	number = c->ref.raw.kind == GT_K_INT;
	return c->op == GT_OP_ENDS ? !number && c->ref.raw.kind != GT_K_PTR : number;
}

/* Return: NULL, or a field that is needed and missing */
static const char *bind_section(struct gt_section *s, const struct format *fmt)
{
	const char *missing = NULL;
	uint8_t nums = 0;

	for (unsigned int i = 0; i < GT_NUM_IDS; i++)
		if (bind_num(&s->num[i], fmt))
			nums |= (uint8_t)(1u << i);
	bind_tmpl(&s->dev, fmt);
	bind_tmpl(&s->engine, fmt);
	if (!bind_tmpl(&s->ring, fmt) && s->ring.n)
		missing = missing_field(&s->ring);
	if (s->where.op && !bind_cond(&s->where, fmt))
		missing = s->where.ref.field;
	if (!missing && s->nmatch && s->unknown_job != GT_UNKNOWN_KEEP)
		missing = bind_match(s, nums);
	s->bound = !missing;
	return missing;
}

int gt_tp_bind(struct gt_tp *tp, const char *format, size_t len, int *id, char *err, size_t errlen)
{
	struct format fmt;
	bool usable = false;

	if (errlen)
		err[0] = '\0';
	parse_format(&fmt, format, len);
	if (id)
		*id = fmt.id;
	for (struct gt_section *s = tp->sections; s; s = s->next) {
		const char *missing = bind_section(s, &fmt);

		if (!missing)
			usable = true;
		else if (errlen && !err[0])
			snprintf(err, errlen, "%s/%s has no usable field '%s' (%s:%d)", tp->system,
				 tp->event, missing, s->file, s->line);
	}
	return usable ? 0 : -EINVAL;
}
