/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The maps as shipped against the events that kernels have: tests/data/format, a file for each
 * kernel. Each event of a system that has a map is in a map, or in the list of those that are left
 * out; each field that a map names is there, and each word that it looks for in text is printed.
 */
#include <dirent.h>
#include <stdlib.h>

#include "../../backend/eventmap/internal.h"
#include "../lib/maphost.h"
#include "../lib/tap.h"

#define KERNELS_MAX 16
#define WORD	    160

static struct kernel {
	char name[32];
	char *text;
} kernels[KERNELS_MAX];
static int nkernels;
static char *ignored;

/* What is wrong, a line each */
static char faults[1 << 16];
static int nfaults;

static void __attribute__((format(printf, 1, 2))) fault(const char *fmt, ...)
{
	size_t n = strlen(faults);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(faults + n, sizeof(faults) - n, fmt, ap);
	va_end(ap);
	n = strlen(faults);
	snprintf(faults + n, sizeof(faults) - n, "\n");
	nfaults++;
}

/** struct event - one of a kernel's: @format is NULL if only its name is there */
struct event {
	const char *kernel;
	char system[GT_MAP_NAME], name[GT_MAP_NAME];
	const char *format;
	size_t len;
};

/* The list of what is left out --------------------------------------------------------------- */

static bool next_line(const char **p, char *line, size_t size)
{
	size_t n = strcspn(*p, "\n");

	if (!**p)
		return false;
	snprintf(line, size, "%.*s", (int)n, *p);
	*p += n + ((*p)[n] == '\n');
	return true;
}

static bool is_like(const char *pattern, const char *word)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return !strncmp(pattern, word, n - 1);
	return !strcmp(pattern, word);
}

static bool is_left_out(const struct event *e)
{
	char line[WORD], word[2 * GT_MAP_NAME + 2];

	snprintf(word, sizeof(word), "%s/%s", e->system, e->name);
	for (const char *p = ignored; next_line(&p, line, sizeof(line));)
		if (line[0] != '#' && is_like(line, word))
			return true;
	return false;
}

static bool field_is_left_out(const struct event *e, const char *field)
{
	char line[WORD], word[3 * GT_MAP_NAME + 40];

	snprintf(word, sizeof(word), "field %s %s/%s %s", e->kernel, e->system, e->name, field);
	for (const char *p = ignored; next_line(&p, line, sizeof(line));)
		if (is_like(line, word))
			return true;
	return false;
}

/* Fields ------------------------------------------------------------------------------------- */

static bool in_record(const struct event *e, const char *field)
{
	unsigned int size;

	return gt_format_field(e->format, e->len, field, &size) != GT_F_ABSENT;
}

/* The format that printf() would get */
static void printed(const struct event *e, char *out, size_t size)
{
	const char *p = memmem(e->format, e->len, "print fmt: \"", 12), *end;

	out[0] = '\0';
	if (!p)
		return;
	p += 12;
	for (end = p; *end && *end != '\n' && (*end != '"' || end[-1] == '\\'); end++)
		;
	snprintf(out, size, "%.*s", (int)(end - p), p);
}

/* Does text have what the map looks for? The same search as in a saved trace, but in the format. */
static bool in_text(const struct event *e, const struct gt_ref *r)
{
	struct gt_ref whole = *r;
	struct gt_slice s;
	char text[2000];
	struct gt_src src = { .data = text };

	printed(e, text, sizeof(text));
	src.len = strlen(text);
	whole.piece = -1;
	return gt_src_str(&src, &whole, &s);
}

static void check_ref(const struct event *e, const struct gt_section *s, const struct gt_ref *r)
{
	if (!in_record(e, r->field) && !field_is_left_out(e, r->field))
		fault("%s: %s/%s has no field %s (%s:%d)", e->kernel, e->system, e->name, r->field,
		      s->file, s->line);
}

static void check_text(const struct event *e, const struct gt_section *s, const struct gt_ref *r)
{
	const char *key = r->key[0] ? r->key : r->field;

	if (in_record(e, r->field) && !in_text(e, r) && !field_is_left_out(e, key))
		fault("%s: %s/%s does not print %s (%s:%d)", e->kernel, e->system, e->name, key,
		      s->file, s->line);
}

static void check_num(const struct event *e, const struct gt_section *s, const struct gt_num *n)
{
	if (n->kind == GT_N_NONE || n->kind == GT_N_CONST)
		return;
	check_ref(e, s, &n->ref);
	check_text(e, s, &n->ref);
	if (!n->more.field[0])
		return;
	check_ref(e, s, &n->more);
	check_text(e, s, &n->more);
}

/* The first of a template's alternatives that the record has counts; one there must be. */
static void check_tmpl(const struct event *e, const struct gt_section *s, const struct gt_tmpl *t)
{
	for (unsigned int i = 0; i < t->n; i++) {
		const struct gt_alt *a = &t->alt[i];
		bool whole = true;

		for (unsigned int k = 0; k < a->n; k++)
			whole &= !a->part[k].has_ref || in_record(e, a->part[k].ref.field);
		if (!whole && i + 1 < t->n)
			continue;
		for (unsigned int k = 0; k < a->n; k++) {
			if (!a->part[k].has_ref)
				continue;
			check_ref(e, s, &a->part[k].ref);
			check_text(e, s, &a->part[k].ref);
		}
		return;
	}
}

static void check_section(const struct event *e, const struct gt_section *s)
{
	if (s->where.op) {
		check_ref(e, s, &s->where.ref);
		check_text(e, s, &s->where.ref);
	}
	for (unsigned int i = 0; i < GT_NUM_IDS; i++)
		check_num(e, s, &s->num[i]);
	check_tmpl(e, s, &s->dev);
	check_tmpl(e, s, &s->ring);
	check_tmpl(e, s, &s->engine);
}

/* Events ------------------------------------------------------------------------------------- */

static bool next_event(const struct kernel *k, const char **p, struct event *e)
{
	const char *at = strncmp(*p, "system: ", 8) ? strstr(*p, "\nsystem: ") : *p, *end;

	if (!at)
		return false;
	at += *at == '\n';
	end = strstr(at, "\nsystem: ");
	*p = end ? end : at + strlen(at);
	*e = (struct event){ .kernel = k->name, .format = at, .len = (size_t)(*p - at) };
	if (sscanf(at, "system: %63s\nname: %63s", e->system, e->name) != 2)
		return false;
	if (!memmem(at, e->len, "\nformat:", 8))
		e->format = NULL;
	return true;
}

static struct gt_tp *tp_of(struct gt_eventmap *m, const struct event *e)
{
	return gt_eventmap_find(m, e->system, e->name);
}

static bool has_map(struct gt_eventmap *m, const char *system)
{
	struct gt_tp *tp;

	for (unsigned int i = 0; (tp = gt_eventmap_each(m, i)); i++)
		if (!strcmp(tp->system, system))
			return true;
	return false;
}

static void check_event(struct gt_eventmap *m, const struct event *e)
{
	struct gt_tp *tp = tp_of(m, e);
	char err[256];

	if (!tp) {
		if (has_map(m, e->system) && !is_left_out(e))
			fault("%s: %s/%s is in no map, and not left out either", e->kernel,
			      e->system, e->name);
		return;
	}
	if (is_left_out(e))
		fault("%s: %s/%s is in a map, and left out as well", e->kernel, e->system, e->name);
	if (!strcmp(e->system, "function")) /* calls have no fields of their own */
		return;
	if (!e->format) {
		fault("%s: %s/%s is in a map, but its fields are not known", e->kernel, e->system,
		      e->name);
		return;
	}
	if (gt_tp_bind(tp, e->format, e->len, NULL, err, sizeof(err)))
		fault("%s: %s", e->kernel, err);
	for (const struct gt_section *s = tp->sections; s; s = s->next)
		check_section(e, s);
}

static int check_kernel(struct gt_eventmap *m, const struct kernel *k)
{
	const char *p = k->text;
	struct event e;
	int n = 0;

	while (next_event(k, &p, &e)) {
		check_event(m, &e);
		n++;
	}
	return n;
}

/* An entry of the list that no kernel has any more */
static void check_list(void)
{
	char line[WORD], word[2 * GT_MAP_NAME + 2];

	for (const char *p = ignored; next_line(&p, line, sizeof(line));) {
		bool found = false;

		if (!line[0] || line[0] == '#' || !strncmp(line, "field ", 6))
			continue;
		for (int i = 0; i < nkernels && !found; i++) {
			const char *q = kernels[i].text;
			struct event e;

			while (!found && next_event(&kernels[i], &q, &e)) {
				snprintf(word, sizeof(word), "%s/%s", e.system, e.name);
				found = is_like(line, word);
			}
		}
		if (!found)
			fault("%s is left out, but no kernel has it", line);
	}
}

/* Tests -------------------------------------------------------------------------------------- */

static struct gt_eventmap *load(void)
{
	char err[512];
	struct gt_eventmap *m =
		gt_eventmap_load(&maphost_plugin, source_path("conf/events.d"), err, sizeof(err));

	if (!m || err[0]) {
		printf("# %s\n", err);
		exit(!ok(false, "the maps can be loaded"));
	}
	gt_eventmap_select(m, NULL, NULL, 3);
	return m;
}

static void forget_faults(void)
{
	faults[0] = '\0';
	nfaults = 0;
}

static void show_faults(void)
{
	char line[400];

	for (const char *p = faults; next_line(&p, line, sizeof(line));)
		printf("# %s\n", line);
}

static int is_format(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && !strcmp(d->d_name + n - 4, ".txt");
}

static void read_kernels(void)
{
	const char *dir = source_path("tests/data/format");
	struct dirent **list;
	char path[700];
	int n = scandir(dir, &list, is_format, alphasort);

	for (int i = 0; i < n; i++) {
		struct kernel *k = &kernels[nkernels];

		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (nkernels < KERNELS_MAX) {
			snprintf(k->name, sizeof(k->name), "%.*s", (int)strlen(list[i]->d_name) - 4,
				 list[i]->d_name);
			k->text = read_text(path);
			nkernels++;
		}
		free(list[i]);
	}
	free(list);
	snprintf(path, sizeof(path), "%s/ignored", dir);
	ignored = read_text(path);
}

/* A function that no kernel has is a call that never comes. */
static void check_functions(struct gt_eventmap *m)
{
	struct gt_tp *tp;

	for (unsigned int i = 0; (tp = gt_eventmap_each(m, i)); i++) {
		bool found = strcmp(tp->system, "function") != 0;

		for (int k = 0; k < nkernels && !found; k++) {
			const char *p = kernels[k].text;
			struct event e;

			while (!found && next_event(&kernels[k], &p, &e))
				found = tp_of(m, &e) == tp;
		}
		if (!found)
			fault("no kernel has %s/%s", tp->system, tp->event);
	}
}

static void test_kernels(void)
{
	struct gt_eventmap *m = load();

	ok(nkernels >= 7 && ignored[0], "%d kernels", nkernels);
	for (int i = 0; i < nkernels; i++) {
		int n = check_kernel(m, &kernels[i]);

		if (!ok(n > 1 && !nfaults, "%s: %d events are as the maps say, or left out",
			kernels[i].name, n))
			show_faults();
		forget_faults();
	}
	check_list();
	if (!ok(!nfaults, "what is left out is there"))
		show_faults();
	forget_faults();
	check_functions(m);
	if (!ok(!nfaults, "each function is in a kernel"))
		show_faults();
	forget_faults();
	gt_eventmap_free(m);
}

static const struct kernel *kernel_of(const char *name)
{
	for (int i = 0; i < nkernels; i++)
		if (!strcmp(kernels[i].name, name))
			return &kernels[i];
	return &kernels[0];
}

/* Every @from of the kernel's text is @to: the check says @what */
static void test_changed(const char *kernel, const char *from, const char *to, const char *what)
{
	struct gt_eventmap *m = load();
	struct kernel k = *kernel_of(kernel);
	char *text = calloc(1, 1 << 19), *end = text;
	const char *p = k.text, *at;

	while ((at = strstr(p, from))) {
		end += sprintf(end, "%.*s%s", (int)(at - p), p, to);
		p = at + strlen(from);
	}
	strcpy(end, p);
	k.text = text;
	forget_faults();
	check_kernel(m, &k);
	if (!ok(nfaults && strstr(faults, what), "%s is noticed", what))
		show_faults();
	forget_faults();
	free(text);
	gt_eventmap_free(m);
}

int main(void)
{
	read_kernels();
	test_kernels();
	test_changed("7.3", " doorbell_index;", " doorbell;",
		     "7.3: amdgpu/amdgpu_userq_emit_fence has no field doorbell_index");
	test_changed("7.3", "doorbell=%llu", "index=%llu",
		     "7.3: amdgpu/amdgpu_userq_destroy_end does not print doorbell");
	test_changed("7.3", "name: xe_exec_queue_create\n", "name: xe_exec_queue_made\n",
		     "7.3: xe/xe_exec_queue_made is in no map, and not left out either");
	test_changed("6.18", "unsigned int context;", "unsigned int ctx;",
		     "6.18: dma_fence/dma_fence_signaled has no usable field 'context'");
	test_changed("7.3", "name: remove_queue_mes_on_reset_option", "name: remove_queue_mes_now",
		     "7.3: function/remove_queue_mes_now is in no map, and not left out either");
	for (int i = 0; i < nkernels; i++)
		free(kernels[i].text);
	free(ignored);
	return done_testing();
}
