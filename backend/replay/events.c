/* SPDX-License-Identifier: GPL-2.0 */
/* The tracepoints of one recording, and the event maps that say what they mean. */
#include "replay.h"

#include "../eventmap/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct gt_eventmap_stats *gt_events_stats(const struct gt_events *e);

#define KINDS_MAX  8192u
#define HASH_SIZE  32768u /* a power of two, well above KINDS_MAX */
#define IDS	   65536u /* common_type is 16 bits wide */
#define NAME_MAX_  64u
#define FORMAT_MAX (64u << 10)
#define DEVS_MAX   64u
#define NO_KIND	   UINT16_MAX

struct kind {
	char *system; /* NULL: not known */
	char *name;
	struct gt_tp *tp; /* NULL: no map has use for it, or its format does not fit */
	bool seen, odd;
	bool commits; /* hand-overs of its jobs are in the recording, too */
};

struct gt_events {
	struct gt_source *s;
	struct gt_eventmap *map;
	struct gt_procs *procs;
	struct kind *kind;
	unsigned int n;
	uint16_t *hash, *by_id;
	char devs[DEVS_MAX][GT_REPLAY_DEV];
	const char *driver[DEVS_MAX];
	unsigned int ndevs;
};

static bool nothing_present(void *arg, const char *system, const char *event)
{
	return false;
}

void gt_events_free(struct gt_events *e)
{
	if (!e)
		return;
	for (unsigned int i = 0; i < e->n; i++) {
		free(e->kind[i].system);
		free(e->kind[i].name);
	}
	if (e->map)
		gt_eventmap_free(e->map);
	gt_procs_free(e->procs);
	free(e->kind);
	free(e->hash);
	free(e->by_id);
	free(e);
}

struct gt_events *gt_events_new(struct gt_source *s)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);
	struct gt_events *e = calloc(1, sizeof(*e));
	char err[512] = "";

	if (!e)
		goto fail;
	e->s = s;
	e->kind = calloc(KINDS_MAX, sizeof(*e->kind));
	e->hash = malloc(HASH_SIZE * sizeof(*e->hash));
	e->by_id = malloc(IDS * sizeof(*e->by_id));
	e->procs = gt_procs_new();
	if (!e->kind || !e->hash || !e->by_id || !e->procs)
		goto fail;
	memset(e->hash, 0xff, HASH_SIZE * sizeof(*e->hash));
	memset(e->by_id, 0xff, IDS * sizeof(*e->by_id));
	e->map = gt_eventmap_load(p, p->events_dir, err, sizeof(err));
	if (!e->map) {
		p->host->error(p, ENOENT, "no event map: %s", *err ? err : "no memory");
		gt_events_free(e);
		return NULL;
	}
	if (*err && gt_replay_reported(s->r))
		p->host->error(p, EINVAL, "%s", err);
	gt_eventmap_select(e->map, nothing_present, NULL, 3);
	return e;
fail:
	gt_source_error(s, ENOMEM, "no memory");
	gt_events_free(e);
	return NULL;
}

static uint32_t hash_of(const char *system, size_t system_len, const char *name, size_t name_len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < system_len; i++)
		h = (h ^ (uint8_t)system[i]) * 16777619u;
	for (size_t i = 0; i < name_len; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619u;
	return (h ^ h >> 15) & (HASH_SIZE - 1);
}

static bool same(const char *a, const char *b, size_t len)
{
	if (!a || !len)
		return !a && !len;
	return !strncmp(a, b, len) && !a[len];
}

/* The slot of the hash that has it, or would have it. */
static uint16_t *lookup(const struct gt_events *e, const char *system, size_t system_len,
			const char *name, size_t name_len)
{
	uint32_t i = hash_of(system, system_len, name, name_len);

	for (;; i = (i + 1) & (HASH_SIZE - 1)) {
		const struct kind *k = &e->kind[e->hash[i]];

		if (e->hash[i] == NO_KIND ||
		    (same(k->system, system, system_len) && same(k->name, name, name_len)))
			return &e->hash[i];
	}
}

static int add(struct gt_events *e, uint16_t *slot, const char *system, size_t system_len,
	       const char *name, size_t name_len)
{
	struct kind *k = &e->kind[e->n];

	if (e->n == KINDS_MAX)
		return -ENOSPC;
	k->system = system_len ? strndup(system, system_len) : NULL;
	k->name = strndup(name, name_len);
	if (!k->name || (system_len && !k->system)) {
		free(k->system);
		free(k->name);
		return -ENOMEM;
	}
	k->tp = gt_eventmap_find(e->map, k->system, k->name);
	*slot = (uint16_t)e->n;
	return (int)e->n++;
}

static void bind(struct gt_events *e, struct kind *k, const char *format, size_t len)
{
	char err[256] = "";

	if (k->tp && gt_tp_bind(k->tp, format, len, NULL, err, sizeof(err)) < 0) {
		gt_source_fault(e->s, GT_PLACE_NONE, 0, "tracepoint %s: %s", k->name, err);
		k->tp = NULL;
		k->odd = true;
	}
}

int gt_events_add(struct gt_events *e, const char *system, const char *name, int id,
		  const char *format, size_t len)
{
	size_t system_len = system ? strlen(system) : 0, name_len = strlen(name);
	uint16_t *slot = lookup(e, system, system_len, name, name_len);
	int i = *slot;

	if (id < 0 || id >= (int)IDS || e->by_id[id] != NO_KIND)
		return -EEXIST;
	if (i == NO_KIND)
		i = add(e, slot, system, system_len, name, name_len);
	if (i < 0)
		return i;
	e->by_id[id] = (uint16_t)i;
	bind(e, &e->kind[i], format, len < FORMAT_MAX ? len : FORMAT_MAX);
	return i;
}

int gt_events_by_id(const struct gt_events *e, unsigned int id)
{
	return id < IDS && e->by_id[id] != NO_KIND ? e->by_id[id] : -1;
}

int gt_events_by_name(struct gt_events *e, const char *system, size_t system_len, const char *name,
		      size_t name_len)
{
	uint16_t *slot;
	int i;

	if (system_len >= NAME_MAX_ || name_len >= NAME_MAX_)
		return -1;
	slot = lookup(e, system, system_len, name, name_len);
	if (*slot != NO_KIND)
		return *slot;
	i = add(e, slot, system, system_len, name, name_len);
	return i < 0 ? -1 : i;
}

bool gt_events_known(const struct gt_events *e, const char *system, const char *name)
{
	return gt_eventmap_find(e->map, system, name) != NULL;
}

bool gt_events_wanted(const struct gt_events *e, int ev)
{
	return ev >= 0 && e->kind[ev].tp;
}

/* As the event maps clean a name (eventmap/names.c), so that it is the same GPU. */
static void clean(char *dev)
{
	for (char *p = dev; *p; p++)
		if (*p <= 0x20 || *p >= 0x7f || *p == '/' || (p == dev && *p == '.'))
			*p = '_';
}

/* The driver that a map has for the device of its events; the scheduler's maps have none. */
static const char *driver_of(const struct gt_tp *tp)
{
	for (const struct gt_section *s = tp->sections; s; s = s->next)
		if (s->use && s->dev.n && *s->driver)
			return s->driver;
	return NULL;
}

/* Kept in order; a name that is there already may get its driver. */
static void learn_dev(struct gt_events *e, char *dev, const char *driver)
{
	unsigned int i = 0;
	int c = 1;

	clean(dev);
	while (i < e->ndevs && (c = strcmp(dev, e->devs[i])) > 0)
		i++;
	if (i < e->ndevs && !c) {
		if (!e->driver[i])
			e->driver[i] = driver;
		return;
	}
	if (e->ndevs == DEVS_MAX)
		return;
	memmove(e->devs[i + 1], e->devs[i], (e->ndevs - i) * sizeof(*e->devs));
	memmove(&e->driver[i + 1], &e->driver[i], (e->ndevs - i) * sizeof(*e->driver));
	e->ndevs++;
	strcpy(e->devs[i], dev);
	e->driver[i] = driver;
}

void gt_events_seen(struct gt_events *e, int ev, const void *data, size_t len, bool raw)
{
	struct kind *k = &e->kind[ev];
	char dev[sizeof(e->devs[0])];

	k->seen = true;
	if (!k->tp)
		return;
	if (raw)
		gt_tp_raw_ring(k->tp, data, len);
	else
		gt_tp_text_ring(k->tp, data, len);
	if (raw ? gt_tp_raw_dev(k->tp, data, len, dev, sizeof(dev))
		: gt_tp_text_dev(k->tp, data, len, dev, sizeof(dev)))
		learn_dev(e, dev, driver_of(k->tp));
}

static bool present(void *arg, const char *system, const char *event)
{
	const struct gt_events *e = arg;

	for (unsigned int i = 0; i < e->n; i++) {
		const struct kind *k = &e->kind[i];

		if (k->seen && !strcmp(k->name, event) &&
		    (!system || !k->system || !strcmp(k->system, system)))
			return true;
	}
	return false;
}

/* Has @tp a section in use that emits @type? Of map @map, GT_NONE16: of any; returns it */
static uint16_t map_with(const struct gt_tp *tp, enum gt_type type, uint16_t map)
{
	for (const struct gt_section *s = tp ? tp->sections : NULL; s; s = s->next)
		if (s->use && s->bits & GT_BIT(type) && (map == GT_NONE16 || s->map == map))
			return s->map;
	return GT_NONE16;
}

static bool has_commits(const struct gt_events *e, uint16_t map)
{
	for (unsigned int i = 0; i < e->n; i++)
		if (e->kind[i].seen && map_with(e->kind[i].tp, GT_COMMIT, map) != GT_NONE16)
			return true;
	return false;
}

void gt_events_select(struct gt_events *e, int level)
{
	gt_eventmap_select(e->map, present, e, level < 2 ? 2 : level);
	for (unsigned int i = 0; i < e->n; i++) {
		struct kind *k = &e->kind[i];

		k->tp = k->odd ? NULL : gt_eventmap_find(e->map, k->system, k->name);
	}
	for (unsigned int i = 0; i < e->n; i++) {
		uint16_t map = map_with(e->kind[i].tp, GT_SUBMIT, GT_NONE16);

		e->kind[i].commits = map != GT_NONE16 && has_commits(e, map);
	}
}

int gt_events_decode(struct gt_events *e, const struct gt_item *it, union gt_record *out)
{
	const struct kind *k = &e->kind[it->ev];
	uint64_t malformed = gt_events_stats(e)->malformed;
	int n;

	if (!k->tp)
		return 0;
	if (it->kind == GT_ITEM_RAW)
		n = gt_tp_raw(k->tp, &it->ctx, it->data, it->len, out, GT_TP_MAX_RECORDS);
	else
		n = gt_tp_text(k->tp, &it->ctx, it->data, it->len, out, GT_TP_MAX_RECORDS);
	for (int i = 0; k->commits && i < n; i++)
		if (out[i].ev.type == GT_SUBMIT)
			out[i].ev.flags |= GT_F_COMMITS;
	if (gt_events_stats(e)->malformed == malformed)
		return n;
	if (it->where)
		gt_source_fault(e->s, GT_PLACE_LINE, it->where,
				"line %llu: %s: its fields are not as the event map says",
				(unsigned long long)it->where, k->name);
	else
		gt_source_fault(e->s, GT_PLACE_NS, it->ts,
				"%s at %llu ns: its fields are not as the event map says", k->name,
				(unsigned long long)it->ts);
	return n;
}

const char (*gt_events_devs(const struct gt_events *e, unsigned int *n))[GT_REPLAY_DEV]
{
	*n = e->ndevs;
	return e->devs;
}

const char *gt_events_driver(const struct gt_events *e, unsigned int i)
{
	return e->driver[i];
}

static const struct gt_eventmap_stats *gt_events_stats(const struct gt_events *e)
{
	return gt_eventmap_stats(e->map);
}

struct gt_procs *gt_events_procs(struct gt_events *e)
{
	return e->procs;
}
