/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of a device that tell its state: amdgpu's own (drivers/gpu/drm/amd/pm/amdgpu_pm.c), the
 * frequencies of i915 (i915_sysfs.c, gt/intel_gt_sysfs_pm.c) and xe (xe_gt_freq.c), and hwmon
 * (Documentation/hwmon/sysfs-interface.rst). Names are found by listing folders, which wakes no
 * device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MHZ 1000000

/** struct known - a file by its name; @key NULL: a table of levels, whose keys begin with its name
 */
struct known {
	const char *name, *key;
	uint8_t kind, how;
	int32_t factor;
};

static const struct known in_device[] = {
	{ "mem_info_vram_total", "vram_total_bytes", GT_GAUGE_MEMORY, SF_NUMBER, 1 },
	{ "mem_info_vram_used", "vram_used_bytes", GT_GAUGE_MEMORY, SF_NUMBER, 1 },
	{ "mem_info_vis_vram_total", "vis_vram_total_bytes", GT_GAUGE_MEMORY, SF_NUMBER, 1 },
	{ "mem_info_vis_vram_used", "vis_vram_used_bytes", GT_GAUGE_MEMORY, SF_NUMBER, 1 },
	{ "mem_info_gtt_total", "gtt_total_bytes", GT_GAUGE_MEMORY, SF_NUMBER, 1 },
	{ "mem_info_gtt_used", "gtt_used_bytes", GT_GAUGE_MEMORY, SF_NUMBER, 1 },
	{ "gpu_busy_percent", "gpu_busy_percent", GT_GAUGE_BUSY, SF_PERCENT, 1 },
	{ "mem_busy_percent", "mem_busy_percent", GT_GAUGE_BUSY, SF_PERCENT, 1 },
	{ "vcn_busy_percent", "vcn_busy_percent", GT_GAUGE_BUSY, SF_PERCENT, 1 },
	{ "pp_dpm_sclk", "sclk", GT_GAUGE_CLOCK, SF_LEVELS, MHZ },
	{ "pp_dpm_mclk", "mclk", GT_GAUGE_CLOCK, SF_LEVELS, MHZ },
	{ "pp_dpm_socclk", "socclk", GT_GAUGE_CLOCK, SF_LEVELS, MHZ },
	{ "pp_dpm_fclk", "fclk", GT_GAUGE_CLOCK, SF_LEVELS, MHZ },
	{ "pp_dpm_vclk", "vclk", GT_GAUGE_CLOCK, SF_LEVELS, MHZ },
	{ "pp_dpm_vclk1", "vclk1", GT_GAUGE_CLOCK, SF_LEVELS, MHZ },
	{ "pp_dpm_dclk", "dclk", GT_GAUGE_CLOCK, SF_LEVELS, MHZ },
	{ "pp_dpm_dclk1", "dclk1", GT_GAUGE_CLOCK, SF_LEVELS, MHZ },
	{ "pp_dpm_dcefclk", "dcefclk", GT_GAUGE_CLOCK, SF_LEVELS, MHZ },
	{ 0 },
};

static const struct known in_card[] = {
	{ "gt_act_freq_mhz", "gt_act_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ "gt_cur_freq_mhz", "gt_cur_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ "gt_min_freq_mhz", "gt_min_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ "gt_max_freq_mhz", "gt_max_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ 0 },
};

static const struct known in_gt[] = {
	{ "rps_act_freq_mhz", "act_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ "rps_cur_freq_mhz", "cur_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ "rps_min_freq_mhz", "min_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ "rps_max_freq_mhz", "max_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ "act_freq", "act_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ "cur_freq", "cur_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ "min_freq", "min_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ "max_freq", "max_hz", GT_GAUGE_CLOCK, SF_NUMBER, MHZ },
	{ 0 },
};

/** struct channel - hwmon: "temp1_input" has @type "temp" and @item "input"; the key ends with
 * @unit */
static const struct channel {
	const char *type, *item, *unit;
	uint8_t kind;
	bool label; /* the channel's label is the begin of its key */
} channels[] = {
	{ "temp", "input", "_millicelsius", GT_GAUGE_TEMPERATURE, true },
	{ "temp", "crit", "_crit_millicelsius", GT_GAUGE_TEMPERATURE, true },
	{ "temp", "emergency", "_emergency_millicelsius", GT_GAUGE_TEMPERATURE, true },
	{ "fan", "input", "_rpm", GT_GAUGE_TEMPERATURE, false },
	{ "power", "average", "_average_uw", GT_GAUGE_POWER, false },
	{ "power", "input", "_input_uw", GT_GAUGE_POWER, false },
	{ "power", "cap", "_cap_uw", GT_GAUGE_POWER, false },
	{ "power", "cap_max", "_cap_max_uw", GT_GAUGE_POWER, false },
	{ "power", "max", "_max_uw", GT_GAUGE_POWER, false },
	{ "power", "rated_max", "_rated_max_uw", GT_GAUGE_POWER, false },
	{ "power", "crit", "_crit_uw", GT_GAUGE_POWER, false },
	{ "energy", "input", "_uj", GT_GAUGE_POWER, false },
	{ "freq", "input", "_hz", GT_GAUGE_CLOCK, true },
};

/* --- which there are ------------------------------------------------------------------------- */

static struct sf_attr *append(struct sf_device *d, const char *dir, const char *name, uint8_t kind)
{
	unsigned int alike = 0;
	struct sf_attr *a;

	for (unsigned int i = 0; i < d->nattrs; i++)
		alike += d->attr[i].kind == kind;
	if (alike == SF_KIND)
		return NULL;
	if (!d->attr)
		d->attr = calloc(SF_ATTRS, sizeof(*d->attr));
	if (!d->attr)
		return NULL;
	a = &d->attr[d->nattrs];
	if (asprintf(&a->path, "%s/%s", dir, name) < 0) {
		a->path = NULL;
		return NULL;
	}
	a->kind = kind;
	d->has |= (uint16_t)(1U << kind);
	d->nattrs++;
	return a;
}

static void add_known(struct sf_device *d, const char *dir, const char *name, const struct known *k,
		      const char *prefix)
{
	struct sf_attr *a;

	while (k->name && strcmp(k->name, name))
		k++;
	a = k->name ? append(d, dir, name, k->kind) : NULL;
	if (!a)
		return;
	snprintf(a->key, sizeof(a->key), "%.16s%s", prefix, k->key);
	a->how = k->how;
	a->factor = k->factor;
}

static void add_channel(struct sf_device *d, const char *dir, const char *name)
{
	for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
		const struct channel *c = &channels[i];
		size_t type = strlen(c->type), digits;
		struct sf_attr *a;

		if (strncmp(name, c->type, type))
			continue;
		digits = strspn(name + type, "0123456789");
		if (!digits || digits > 2 || name[type + digits] != '_' ||
		    strcmp(name + type + digits + 1, c->item))
			continue;
		a = append(d, dir, name, c->kind);
		if (!a)
			return;
		snprintf(a->key, sizeof(a->key), "%.*s%s", (int)(type + digits), name, c->unit);
		if (c->label)
			snprintf(a->label, sizeof(a->label), "%.*s_label", (int)(type + digits),
				 name);
		snprintf(a->suffix, sizeof(a->suffix), "%s", c->unit);
		a->how = SF_NUMBER;
		a->factor = 1;
		return;
	}
}

/* In order of name, so that what is shown does not move about: folders are listed in no order */
static int by_key(const void *a, const void *b)
{
	const struct sf_attr *x = a, *y = b;

	return x->kind != y->kind ? x->kind - y->kind : strcmp(x->key, y->key);
}

struct entries {
	DIR *d;
	unsigned int left;
};

/* Names in a folder, and no more than there can be in one that the kernel made */
static const char *next(struct entries *e)
{
	struct dirent *de = e->d && e->left ? readdir(e->d) : NULL;

	if (!de)
		return NULL;
	e->left--;
	return de->d_name;
}

static void look_known(const struct gt_root *root, struct sf_device *d, const char *dir,
		       const struct known *k, const char *prefix)
{
	GT_ROOT_DIR list = gt_root_dir(root, dir);
	struct entries e = { list, SF_ENTRIES };
	const char *name;

	while ((name = next(&e)))
		add_known(d, dir, name, k, prefix);
}

/* hwmon/hwmon3/…: the number is another after each boot */
static void look_hwmon(const struct gt_root *root, struct sf_device *d)
{
	char dir[sizeof(d->path) + 8], sub[sizeof(dir) + 32];
	GT_ROOT_DIR list = NULL;
	struct entries e = { NULL, 64 };
	const char *name;

	snprintf(dir, sizeof(dir), "%s/hwmon", d->path);
	e.d = list = gt_root_dir(root, dir);
	while ((name = next(&e))) {
		GT_ROOT_DIR one = NULL;
		struct entries files = { NULL, SF_ENTRIES };

		if (strncmp(name, "hwmon", 5) || strlen(name) > 24)
			continue;
		snprintf(sub, sizeof(sub), "%s/%.24s", dir, name);
		files.d = one = gt_root_dir(root, sub);
		while ((name = next(&files)))
			add_channel(d, sub, name);
	}
}

/* A few of each: what there is not is not found */
static void look_gts(const struct gt_root *root, struct sf_device *d)
{
	char dir[sizeof(d->path) + 64], prefix[32];

	for (int gt = 0; gt < 4; gt++) {
		snprintf(dir, sizeof(dir), "sys/class/drm/card%d/gt/gt%d", d->minor, gt);
		snprintf(prefix, sizeof(prefix), "gt%d_", gt);
		look_known(root, d, dir, in_gt, prefix);
		for (int tile = 0; tile < 4; tile++) {
			snprintf(dir, sizeof(dir), "%s/tile%d/gt%d/freq0", d->path, tile, gt);
			snprintf(prefix, sizeof(prefix), "tile%d_gt%d_", tile, gt);
			look_known(root, d, dir, in_gt, prefix);
		}
	}
}

void sf_attrs_find(const struct gt_root *root, struct sf_device *d)
{
	char card[64];

	snprintf(card, sizeof(card), "sys/class/drm/card%d", d->minor);
	look_known(root, d, d->path, in_device, "");
	look_known(root, d, card, in_card, "");
	look_gts(root, d);
	look_hwmon(root, d);
	if (d->nattrs)
		qsort(d->attr, d->nattrs, sizeof(*d->attr), by_key);
}

void sf_attrs_free(struct sf_device *d)
{
	for (unsigned int i = 0; i < d->nattrs; i++)
		free(d->attr[i].path);
	free(d->attr);
	d->attr = NULL;
	d->nattrs = 0;
}

/* --- what they tell -------------------------------------------------------------------------- */

/* "edge" of temp1_label: the key is then edge_millicelsius. Only words that can be one */
static void read_label(struct sf *sf, struct sf_attr *a)
{
	char path[256], word[20];
	const char *slash = strrchr(a->path, '/');

	a->labelled = true;
	if (!*a->label || !slash)
		return;
	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - a->path), a->path, a->label);
	gt_root_word(&sf->root, path, word, sizeof(word));
	for (char *c = word; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	if (!*word || strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(word) ||
	    strlen(word) > 12)
		return;
	snprintf(a->key, sizeof(a->key), "%s%s", word, a->suffix);
}

static void tell(struct sf_attr *a, const char *suffix, int64_t v)
{
	struct gt_gauge *g = &a->gauge[a->n++];

	g->kind = a->kind;
	g->value = v;
	snprintf(g->key, sizeof(g->key), "%.*s%s", (int)(sizeof(g->key) - 1 - strlen(suffix)),
		 a->key, suffix);
}

/* "500Mhz *" of a line "0: 500Mhz *", in Hz; "S: …" while it sleeps deeply. GT_NONE64: it is none
 */
static uint64_t level_of(const char *line, size_t len, bool *current)
{
	const char *colon = memchr(line, ':', len < 4 ? len : 4), *at, *end;
	int64_t mhz;

	if (!colon || colon == line)
		return GT_NONE64;
	at = colon + 1 + strspn(colon + 1, " ");
	if (*at < '0' || *at > '9' || gt_root_number(at, &mhz, &end) == -ERANGE ||
	    strncasecmp(end, "Mhz", 3) || mhz > INT64_MAX / MHZ)
		return GT_NONE64;
	*current = memchr(end, '*', (size_t)(line + len - end));
	return (uint64_t)mhz * MHZ;
}

bool sf_levels(const char *text, uint64_t out[3])
{
	size_t len;

	out[0] = out[1] = out[2] = GT_NONE64;
	for (const char *line = text; *line; line += len + (line[len] == '\n')) {
		bool current = false;
		uint64_t hz;

		len = strcspn(line, "\n");
		hz = level_of(line, len, &current);
		if (hz == GT_NONE64)
			continue;
		if (current)
			out[0] = hz;
		if (out[1] == GT_NONE64 || hz < out[1])
			out[1] = hz;
		if (out[2] == GT_NONE64 || hz > out[2])
			out[2] = hz;
	}
	return out[1] != GT_NONE64;
}

static bool take_levels(struct sf_attr *a, const char *text)
{
	static const char *const suffix[3] = { "_level_hz", "_min_hz", "_max_hz" };
	uint64_t hz[3];

	if (!sf_levels(text, hz))
		return false;
	for (int i = 0; i < 3; i++)
		if (hz[i] != GT_NONE64)
			tell(a, suffix[i], (int64_t)hz[i]);
	return true;
}

static bool take_text(struct sf_attr *a, const char *text)
{
	int64_t v;

	if (a->how == SF_LEVELS)
		return take_levels(a, text);
	if (gt_root_number(text, &v, NULL) || (v < 0 && a->kind != GT_GAUGE_TEMPERATURE) ||
	    (a->how == SF_PERCENT && v > 100) || __builtin_mul_overflow(v, a->factor, &v))
		return false;
	tell(a, "", v);
	return true;
}

void sf_attr_read(struct sf *sf, struct sf_attr *a, uint64_t now)
{
	char text[4096];
	uint64_t cost;
	ssize_t n;

	if (now < a->due)
		return;
	if (!a->labelled)
		read_label(sf, a);
	n = gt_root_read(&sf->root, a->path, text, a->how == SF_LEVELS ? sizeof(text) : 64);
	cost = sf->p->host->now(sf->p) - now;
	a->due = now + cost * SF_SLOW;
	a->at = now;
	a->n = 0;
	sf->stats.reads++;
	sf->stats.slow += cost > 10000000;
	if (n <= 0 || !take_text(a, text))
		sf->stats.bad++;
}
