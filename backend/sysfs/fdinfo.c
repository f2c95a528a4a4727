/* SPDX-License-Identifier: GPL-2.0 */
#include <string.h>

#include "../sysroot.h"
#include "fdinfo.h"

static bool is_name(const char *s, size_t len)
{
	if (!len || len >= GT_USE_NAME)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-",
			    s[i]))
			return false;
	return true;
}

static struct sf_engine *engine_of(struct sf_fdinfo *f, const char *name, size_t len)
{
	struct sf_engine *e = f->engine;

	if (!is_name(name, len))
		return NULL;
	while (e < f->engine + f->nengines &&
	       (strlen(e->name) != len || memcmp(e->name, name, len)))
		e++;
	if (e < f->engine + f->nengines)
		return e;
	if (f->nengines == GT_USE_ENGINES)
		return NULL;
	f->nengines++;
	*e = (struct sf_engine){
		.ns = GT_NONE64, .cycles = GT_NONE64, .total_cycles = GT_NONE64, .max_hz = GT_NONE64
	};
	memcpy(e->name, name, len);
	return e;
}

static struct gt_use_region *region_of(struct sf_fdinfo *f, const char *name, size_t len)
{
	struct gt_use_region *r = f->region;

	if (!is_name(name, len))
		return NULL;
	while (r < f->region + f->nregions &&
	       (strlen(r->name) != len || memcmp(r->name, name, len)))
		r++;
	if (r < f->region + f->nregions)
		return r;
	if (f->nregions == GT_USE_REGIONS)
		return NULL;
	f->nregions++;
	memset(r, 0xff, sizeof(*r));
	memset(r->name, 0, sizeof(r->name));
	memcpy(r->name, name, len);
	return r;
}

/* "12 KiB", "300 MHz", "5": by the unit behind it */
static bool value_of(const char *s, uint64_t *out)
{
	static const struct {
		const char *unit;
		uint64_t factor;
	} units[] = {
		{ "KiB", 1024 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { "Hz", 1 },
		{ "KHz", 1000 }, { "kHz", 1000 },    { "MHz", 1000000 }, { "GHz", 1000000000 }
	};
	const char *end;
	uint64_t factor = 1;
	int64_t v;

	s += strspn(s, " \t");
	if (gt_root_number(s, &v, &end) || v < 0)
		return false;
	end += strspn(end, " \t");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].unit);

		if (!strncmp(end, units[i].unit, n) && (!end[n] || end[n] == '\n'))
			factor = units[i].factor;
	}
	return !__builtin_mul_overflow((uint64_t)v, factor, out) && *out != GT_NONE64;
}

/* A driver may print a key twice: amdgpu does so for its two kinds of decoders. */
static void add(uint64_t *to, uint64_t v)
{
	if (*to == GT_NONE64)
		*to = v;
	else if (__builtin_add_overflow(*to, v, to) || *to == GT_NONE64)
		*to = GT_NONE64 - 1;
}

#define BEGINS(s, len, word)                                                                       \
	((len) > sizeof(word) - 1 && !memcmp(s, word, sizeof(word) - 1) &&                         \
	 ((s) += sizeof(word) - 1, (len) -= sizeof(word) - 1, true))

/* engine-gfx, engine-capacity-gfx, cycles-gfx, total-cycles-gfx, maxfreq-gfx; false: none of these
 */
static bool take_engine(struct sf_fdinfo *f, const char *key, size_t len, uint64_t v)
{
	struct sf_engine *e;

	if (BEGINS(key, len, "engine-capacity-")) {
		e = engine_of(f, key, len);
		if (e && v && v < 65536)
			e->capacity = (uint32_t)v;
	} else if (BEGINS(key, len, "engine-")) {
		e = engine_of(f, key, len);
		if (e)
			add(&e->ns, v);
	} else if (BEGINS(key, len, "total-cycles-")) {
		e = engine_of(f, key, len);
		if (e)
			e->total_cycles = v;
	} else if (BEGINS(key, len, "cycles-")) {
		e = engine_of(f, key, len);
		if (e)
			add(&e->cycles, v);
	} else if (BEGINS(key, len, "maxfreq-")) {
		e = engine_of(f, key, len);
		if (e)
			e->max_hz = v;
	} else {
		return false;
	}
	return true;
}

/* memory-vram is the older name of resident-vram, and gives way to it. */
static void take_region(struct sf_fdinfo *f, const char *key, size_t len, uint64_t v)
{
	struct gt_use_region *r;

	if (BEGINS(key, len, "memory-")) {
		r = region_of(f, key, len);
		if (r && r->resident == GT_NONE64)
			r->resident = v;
	} else if (BEGINS(key, len, "resident-")) {
		r = region_of(f, key, len);
		if (r)
			r->resident = v;
	} else if (BEGINS(key, len, "total-")) {
		r = region_of(f, key, len);
		if (r)
			r->total = v;
	} else if (BEGINS(key, len, "shared-")) {
		r = region_of(f, key, len);
		if (r)
			r->shared = v;
	} else if (BEGINS(key, len, "active-")) {
		r = region_of(f, key, len);
		if (r)
			r->active = v;
	} else if (BEGINS(key, len, "purgeable-")) {
		r = region_of(f, key, len);
		if (r)
			r->purgeable = v;
	}
}

static void take_line(struct sf_fdinfo *f, const char *key, size_t len, const char *value)
{
	uint64_t v;

	if (!BEGINS(key, len, "drm-"))
		return;
	if (len == 6 && !memcmp(key, "driver", 6)) {
		f->drm = true;
		return;
	}
	if (!value_of(value, &v))
		return;
	if (len == 9 && !memcmp(key, "client-id", 9))
		f->id = v;
	else if (!take_engine(f, key, len, v))
		take_region(f, key, len, v);
}

void sf_fdinfo_parse(const char *text, struct sf_fdinfo *out)
{
	const char *line, *end;

	memset(out, 0, sizeof(*out));
	out->id = GT_NONE64;
	/* a line without an end may be cut */
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		const char *colon = memchr(line, ':', (size_t)(end - line));

		if (colon)
			take_line(out, line, (size_t)(colon - line), colon + 1);
	}
}

static uint64_t more(uint64_t old, uint64_t now)
{
	return now != GT_NONE64 && now > old ? now - old : 0;
}

static uint64_t part(uint64_t n, uint64_t of, uint64_t time)
{
	unsigned __int128 v = of ? (unsigned __int128)n * time / of : 0;

	return v < GT_NONE64 ? (uint64_t)v : GT_NONE64 - 1;
}

uint64_t sf_engine_busy(const struct sf_engine *old, const struct sf_engine *now, uint64_t dt)
{
	uint64_t cycles, total;

	if (now->ns != GT_NONE64)
		return more(old && old->ns != GT_NONE64 ? old->ns : 0, now->ns);
	if (now->cycles == GT_NONE64)
		return 0;
	cycles = more(old && old->cycles != GT_NONE64 ? old->cycles : 0, now->cycles);
	if (now->total_cycles != GT_NONE64) {
		/* those of the engine since it was switched on: since when this client was made
		 * nobody says */
		total = old && old->total_cycles != GT_NONE64
				? more(old->total_cycles, now->total_cycles)
				: 0;
		return part(cycles < total ? cycles : total, total, dt);
	}
	return now->max_hz != GT_NONE64 ? part(cycles, now->max_hz, 1000000000) : 0;
}
