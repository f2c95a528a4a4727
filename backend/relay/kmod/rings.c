// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: a number for each name on each device. Schedulers come and go, and several may serve one
 * ring; so a scheduler's address only says where to look first, and the names decide.
 */
#include <linux/device.h>
#include <linux/hash.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "internal.h"

#define CACHE_BITS 9

static struct grt_ring rings[GRT_RINGS];
static unsigned int count;
static struct grt_ring *cache[1 << CACHE_BITS];
static DEFINE_RAW_SPINLOCK(lock); /* for what was not seen before only */

static const struct {
	const char *part;
	u16 engine;
	bool anywhere; /* not only at the beginning */
} guesses[] = {
	/* the first that fits wins; the same as gt_engine_guess() has */
	{ "gfx", GRT_ENGINE_GRAPHICS, false },	    { "comp", GRT_ENGINE_COMPUTE, false },
	{ "sdma", GRT_ENGINE_COPY, false },	    { "enc", GRT_ENGINE_VIDEO_ENCODE, true },
	{ "vce", GRT_ENGINE_VIDEO_ENCODE, false },  { "dec", GRT_ENGINE_VIDEO_DECODE, true },
	{ "uvd", GRT_ENGINE_VIDEO_DECODE, false },  { "vcn", GRT_ENGINE_VIDEO_DECODE, false },
	{ "jpeg", GRT_ENGINE_VIDEO_DECODE, true },  { "rcs", GRT_ENGINE_GRAPHICS, false },
	{ "bcs", GRT_ENGINE_COPY, false },	    { "vecs", GRT_ENGINE_VIDEO_DECODE, false },
	{ "vcs", GRT_ENGINE_VIDEO_DECODE, false },  { "ccs", GRT_ENGINE_COMPUTE, false },
	{ "render", GRT_ENGINE_GRAPHICS, true },    { "graphics", GRT_ENGINE_GRAPHICS, true },
	{ "compute", GRT_ENGINE_COMPUTE, true },    { "csd", GRT_ENGINE_COMPUTE, true },
	{ "v3d_bin", GRT_ENGINE_GRAPHICS, false },  { "v3d_tfu", GRT_ENGINE_COPY, false },
	{ "copy", GRT_ENGINE_COPY, true },	    { "blt", GRT_ENGINE_COPY, true },
	{ "dma", GRT_ENGINE_COPY, false },	    { "3d", GRT_ENGINE_GRAPHICS, false },
	{ "fragment", GRT_ENGINE_GRAPHICS, false }, { "vertex", GRT_ENGINE_GRAPHICS, false },
};

/* GRT_ENGINE_*, by a ring's name; 0: it is not in it */
static u16 engine_of(const char *ring)
{
	for (int i = 0; i < ARRAY_SIZE(guesses); i++) {
		size_t n = strlen(guesses[i].part);

		for (const char *p = ring; *p; p++) {
			if (!strncasecmp(p, guesses[i].part, n))
				return guesses[i].engine;
			if (!guesses[i].anywhere)
				break;
		}
	}
	return 0;
}

/** grt_engine_name() - Return: of one GRT_ENGINE_* */
const char *grt_engine_name(u16 engine)
{
	switch (engine) {
#define X(bit, text)                                                                               \
	case bit:                                                                                  \
		return text;
		GRT_ENGINES(X)
#undef X
	}
	return "UNKNOWN";
}

/** grt_ring_count() - Return: how many there are */
unsigned int grt_ring_count(void)
{
	return smp_load_acquire(&count);
}

/** grt_ring_at() - Return: ring number @i, NULL if there is none yet */
struct grt_ring *grt_ring_at(unsigned int i)
{
	return i < grt_ring_count() ? &rings[i] : NULL;
}

/* Names longer than ours are the same where they begin alike */
static bool is_same(const struct grt_ring *r, const char *name, const char *dev)
{
	return !strncmp(r->name, name, sizeof(r->name) - 1) &&
	       !strncmp(r->dev, dev, sizeof(r->dev) - 1);
}

static struct grt_ring *find(const char *name, const char *dev)
{
	for (unsigned int i = 0; i < count; i++)
		if (is_same(&rings[i], name, dev))
			return &rings[i];
	return NULL;
}

static struct grt_ring *add(const char *name, const char *devname, const struct device *dev)
{
	const struct device_driver *driver = dev ? READ_ONCE(dev->driver) : NULL;
	struct grt_ring *r = &rings[count];

	if (count == GRT_RINGS)
		return NULL;
	r->id = count;
	r->engine = engine_of(name);
	strscpy_pad(r->name, name, sizeof(r->name));
	strscpy_pad(r->dev, devname, sizeof(r->dev));
	strscpy_pad(r->driver, driver ? driver->name : "", sizeof(r->driver));
	smp_store_release(&count, count + 1);
	return r;
}

/**
 * grt_ring_of() - the ring of that name on that device
 * @key: where to look first: the scheduler's address, or the like
 * @name: its name
 * @dev: its device; may be NULL
 *
 * Return: it; NULL where there are too many
 */
struct grt_ring *grt_ring_of(const void *key, const char *name, const struct device *dev)
{
	const char *devname = dev ? dev_name(dev) : "";
	struct grt_ring **slot = &cache[hash_ptr(key, CACHE_BITS)], *r = READ_ONCE(*slot);
	unsigned long flags;

	if (!name)
		return NULL;
	if (!devname)
		devname = "";
	if (r && is_same(r, name, devname))
		return r;
	raw_spin_lock_irqsave(&lock, flags);
	r = find(name, devname);
	if (!r)
		r = add(name, devname, dev);
	if (r)
		smp_store_release(slot, r);
	raw_spin_unlock_irqrestore(&lock, flags);
	return r;
}

/* Which ring a fence context's jobs were given to last: a wait knows only the fence */
#define CTX_BITS 10
static u64 of_ctx[1 << CTX_BITS];

/** grt_ring_learn() - a job of that fence context was given to @r */
void grt_ring_learn(u64 ctx, const struct grt_ring *r)
{
	u64 *at = &of_ctx[hash_64(ctx, CTX_BITS)], now = ctx << 16 | (r->id + 1);

	if (READ_ONCE(*at) != now)
		WRITE_ONCE(*at, now);
}

/** grt_ring_of_ctx() - Return: the ring that a fence context's jobs go to; NULL: not known */
struct grt_ring *grt_ring_of_ctx(u64 ctx)
{
	u64 at = READ_ONCE(of_ctx[hash_64(ctx, CTX_BITS)]);

	return at && at >> 16 == (ctx & (~0ull >> 16)) ? grt_ring_at((at & 0xffff) - 1) : NULL;
}
