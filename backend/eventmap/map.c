/* SPDX-License-Identifier: GPL-2.0 */
/* Loading the event maps, and which of their sections are in use. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../trusted.h"
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

static struct gt_tp *make_tp(struct gt_eventmap *m, const struct gt_section *s)
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

/* The name that custom event @s has in another file; NULL if it is the same, or there is none. */
static const char *other_name(const struct gt_eventmap *m, const struct gt_section *s)
{
	const char *have;

	if (s->types[0] < GT_CUSTOM0)
		return NULL;
	have = m->custom[s->types[0] - GT_CUSTOM0];
	return have[0] && strcmp(have, s->name) ? have : NULL;
}

/* What tells jobs must tell them alike: a map's probes for it come together. */
static void set_family(struct gt_section *s)
{
	const uint32_t jobs =
		1u << GT_SUBMIT | 1u << GT_COMMIT | 1u << GT_START | 1u << GT_COMPLETE;

	if (s->probe && s->bits & jobs)
		s->probe->family = s->map + 1u;
}

static int add_sections(struct gt_eventmap *m, struct gt_section *list)
{
	int rc = 0;

	while (list) {
		struct gt_section *s = list, **end;
		struct gt_tp *tp = make_tp(m, s);

		list = s->next;
		s->next = NULL;
		if (!tp) {
			gt_sections_free(s);
			rc = -ENOMEM;
			continue;
		}
		s->map = (uint16_t)m->nmaps;
		s->tp = tp;
		set_family(s);
		for (end = &tp->sections; *end; end = &(*end)->next)
			;
		*end = s;
		m->nsections++;
		if (s->types[0] >= GT_CUSTOM0)
			strcpy(m->custom[s->types[0] - GT_CUSTOM0], s->name);
	}
	return rc;
}

/* The custom names of a file, among themselves and against those of earlier files. */
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

/* Only the first fault is told. */
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

static int init_tables(struct gt_eventmap *m)
{
	uint64_t seed = 0, *lost = &m->stats.forgotten;

	/* without one, only chains may get longer */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uintptr_t)m;
	if (gt_table_init(&m->jobs, GT_MAP_JOBS, seed, lost) ||
	    gt_table_init(&m->numbers, GT_MAP_SMALL, seed, lost) ||
	    gt_table_init(&m->waits, GT_MAP_SMALL, seed, lost) ||
	    gt_table_init(&m->fifos, GT_MAP_SMALL, seed, lost) ||
	    gt_table_init(&m->submitters, GT_MAP_SMALL, seed, &m->reasked) ||
	    gt_table_init(&m->contexts, GT_MAP_SMALL, seed, &m->reasked))
		return -ENOMEM;
	return 0;
}

struct gt_eventmap *gt_eventmap_load(struct gt_plugin *p, const char *dir, char *err, size_t len)
{
	struct gt_eventmap *m = calloc(1, sizeof(*m));

	if (len)
		err[0] = '\0';
	if (!m || init_tables(m)) {
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
	gt_table_free(&m->jobs);
	gt_table_free(&m->numbers);
	gt_table_free(&m->waits);
	gt_table_free(&m->fifos);
	gt_table_free(&m->submitters);
	gt_table_free(&m->contexts);
	free(m);
}

/* "system/event" or "event": the event, and the system in @system or NULL */
static const char *split(const char *name, char *buf, size_t len, const char **system)
{
	const char *slash = strchr(name, '/');

	*system = slash ? buf : NULL;
	if (!slash)
		return name;
	snprintf(buf, len, "%.*s", (int)(slash - name), name);
	return slash + 1;
}

static bool any_present(const char (*names)[2 * GT_MAP_NAME], unsigned int n,
			gt_eventmap_present present, void *arg)
{
	char buf[2 * GT_MAP_NAME];
	const char *system, *event;

	for (unsigned int i = 0; i < n; i++) {
		event = split(names[i], buf, sizeof(buf), &system);
		if (present(arg, system, event))
			return true;
	}
	return false;
}

/* As far as `unless` and `with` decide */
static bool is_wanted(const struct gt_section *s, gt_eventmap_present present, void *arg)
{
	return !present || (!any_present(s->unless, s->nunless, present, arg) &&
			    (!s->nwith || any_present(s->with, s->nwith, present, arg)));
}

static void find_heard(struct gt_eventmap *m, struct gt_section *s)
{
	char buf[2 * GT_MAP_NAME];
	const char *system, *event;

	for (unsigned int i = 0; i < s->nheard; i++) {
		event = split(s->heard[i], buf, sizeof(buf), &system);
		s->heard_tp[i] = gt_eventmap_find(m, system, event);
	}
}

void gt_eventmap_look(struct gt_eventmap *m, gt_eventmap_present present, void *arg)
{
	for (unsigned int i = 0; i < m->ntps; i++)
		m->tps[i]->gone =
			!m->tps[i]->stand_in && !present(arg, m->tps[i]->system, m->tps[i]->event);
}

void gt_eventmap_select(struct gt_eventmap *m, gt_eventmap_present present, void *arg, int level)
{
	gt_names_forget(m); /* devices may have come or gone */
	for (unsigned int i = 0; i < m->ntps; i++) {
		struct gt_tp *tp = m->tps[i];

		tp->use = false;
		for (struct gt_section *s = tp->sections; s; s = s->next) {
			s->gpu_known = false;
			s->use = s->level <= level && is_wanted(s, present, arg) &&
				 !gt_told_by_probe(s);
			tp->use |= s->use;
		}
	}
	for (unsigned int i = 0; i < m->ntps; i++)
		for (struct gt_section *s = m->tps[i]->sections; s; s = s->next)
			find_heard(m, s);
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
