/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The GPUs that sysfs lists, and the files of a device with its state: amdgpu's own
 * (drivers/gpu/drm/amd/pm/amdgpu_pm.c), frequencies of i915 (i915_sysfs.c, gt/intel_gt_sysfs_pm.c) and
 * xe (xe_gt_freq.c), and hwmon (Documentation/hwmon/sysfs-interface.rst). Files are found by listing
 * folders, which wakes no device. A device that sleeps is not woken.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysfs.h"

#define MHZ 1000000

/** struct known - a file by its name */
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

/** struct channel - a file of hwmon: "temp1_input" has @type "temp" and @item "input"; @unit ends the
 * key */
static const struct channel {
	const char *type, *item, *unit;
	uint8_t kind;
	bool label; /* the channel's label starts the key */
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

/* Files: which exist --------------------------------------------------------------------------- */

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

/* By name, so that the order is always the same: folders are listed in any order */
static int by_key(const void *a, const void *b)
{
	const struct sf_attr *x = a, *y = b;

	return x->kind != y->kind ? x->kind - y->kind : strcmp(x->key, y->key);
}

struct entries {
	DIR *d;
	unsigned int left;
};

/* The next name of a folder, of a bounded number: a captured tree may hold anything */
static const char *next_entry(struct entries *e)
{
	struct dirent *de = e->d && e->left ? readdir(e->d) : NULL;

	if (!de)
		return NULL;
	e->left--;
	return de->d_name;
}

static void add_known_files(const struct gt_root *root, struct sf_device *d, const char *dir,
			    const struct known *k, const char *prefix)
{
	GT_ROOT_DIR list = gt_root_dir(root, dir);
	struct entries e = { list, SF_ENTRIES };
	const char *name;

	while ((name = next_entry(&e)))
		add_known(d, dir, name, k, prefix);
}

/* hwmon/hwmon3/…: the number differs after each boot */
static void add_hwmon(const struct gt_root *root, struct sf_device *d)
{
	char dir[sizeof(d->path) + 8], sub[sizeof(dir) + 32];
	GT_ROOT_DIR list = NULL;
	struct entries e = { NULL, 64 };
	const char *name;

	snprintf(dir, sizeof(dir), "%s/hwmon", d->path);
	e.d = list = gt_root_dir(root, dir);
	while ((name = next_entry(&e))) {
		GT_ROOT_DIR one = NULL;
		struct entries files = { NULL, SF_ENTRIES };

		if (strncmp(name, "hwmon", 5) || strlen(name) > 24)
			continue;
		snprintf(sub, sizeof(sub), "%s/%.24s", dir, name);
		files.d = one = gt_root_dir(root, sub);
		while ((name = next_entry(&files)))
			add_channel(d, sub, name);
	}
}

/* Tries a few numbers of each; most do not exist. */
static void add_gts(const struct gt_root *root, struct sf_device *d)
{
	char dir[sizeof(d->path) + 64], prefix[32];

	for (int gt = 0; gt < 4; gt++) {
		snprintf(dir, sizeof(dir), "sys/class/drm/card%d/gt/gt%d", d->minor, gt);
		snprintf(prefix, sizeof(prefix), "gt%d_", gt);
		add_known_files(root, d, dir, in_gt, prefix);
		for (int tile = 0; tile < 4; tile++) {
			snprintf(dir, sizeof(dir), "%s/tile%d/gt%d/freq0", d->path, tile, gt);
			snprintf(prefix, sizeof(prefix), "tile%d_gt%d_", tile, gt);
			add_known_files(root, d, dir, in_gt, prefix);
		}
	}
}

static void attrs_find(const struct gt_root *root, struct sf_device *d)
{
	char card[64];

	snprintf(card, sizeof(card), "sys/class/drm/card%d", d->minor);
	add_known_files(root, d, d->path, in_device, "");
	add_known_files(root, d, card, in_card, "");
	add_gts(root, d);
	add_hwmon(root, d);
	if (d->nattrs)
		qsort(d->attr, d->nattrs, sizeof(*d->attr), by_key);
}

static void attrs_free(struct sf_device *d)
{
	for (unsigned int i = 0; i < d->nattrs; i++)
		free(d->attr[i].path);
	free(d->attr);
	d->attr = NULL;
	d->nattrs = 0;
}

/* Files: their values -------------------------------------------------------------------------- */

/* With "edge" in temp1_label the key is edge_millicelsius; other text than a word is ignored. */
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

static void add_gauge(struct sf_attr *a, const char *suffix, int64_t v)
{
	struct gt_gauge *g = &a->gauge[a->n++];

	g->kind = a->kind;
	g->value = v;
	snprintf(g->key, sizeof(g->key), "%.*s%s", (int)(sizeof(g->key) - 1 - strlen(suffix)),
		 a->key, suffix);
}

/* Hz of a line "0: 500Mhz *"; in deep sleep also "S: …". GT_NONE64: it is no such line */
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
			add_gauge(a, suffix[i], (int64_t)hz[i]);
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
	add_gauge(a, "", v);
	return true;
}

static void attr_read(struct sf *sf, struct sf_attr *a, uint64_t now)
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

/* Devices -------------------------------------------------------------------------------------- */

/* "card12" is 12; anything else -1 */
static int card_of(const char *name)
{
	int64_t n;

	return strncmp(name, "card", 4) || gt_root_number(name + 4, &n, NULL) || n < 0 ||
			       n > 1048575
		       ? -1
		       : (int)n;
}

/* Minor number of the render node of @card; -1: none */
static int render_of(const struct gt_root *root, const char *card)
{
	char path[128];
	GT_ROOT_DIR list = NULL;
	struct dirent *e;
	int64_t n;

	snprintf(path, sizeof(path), "sys/class/drm/%.24s/device/drm", card);
	list = gt_root_dir(root, path);
	for (int i = 0; list && i < SF_ENTRIES && (e = readdir(list)); i++)
		if (!strncmp(e->d_name, "renderD", 7) && !gt_root_number(e->d_name + 7, &n, NULL) &&
		    n >= 0 && n <= 1048575)
			return (int)n;
	return -1;
}

/* vgem and vkms are for tests of programs; a device without a render node is a display only */
static bool is_gpu(const struct gt_root *root, const char *card)
{
	char path[128], driver[16];

	snprintf(path, sizeof(path), "sys/class/drm/%.24s/device/driver", card);
	gt_root_link(root, path, driver, sizeof(driver));
	return *driver && strcmp(driver, "vgem") && strcmp(driver, "vkms") &&
	       render_of(root, card) >= 0;
}

bool sf_devices_any(const struct gt_root *root)
{
	GT_ROOT_DIR list = gt_root_dir(root, "sys/class/drm");
	struct dirent *e;

	for (int i = 0; list && i < SF_ENTRIES && (e = readdir(list)); i++)
		if (card_of(e->d_name) >= 0 && is_gpu(root, e->d_name))
			return true;
	return false;
}

void sf_devices_free(struct sf *sf)
{
	for (unsigned int i = 0; i < sf->n; i++)
		attrs_free(&sf->dev[i]);
	sf->n = 0;
}

static void add_device(struct sf *sf, const char *card)
{
	struct gt_gpu_desc desc = { .minor = card_of(card), .listed = true };
	struct sf_device *d = &sf->dev[sf->n];

	if (desc.minor < 0 || !is_gpu(&sf->root, card))
		return;
	*d = (struct sf_device){ .minor = desc.minor, .gpu = sf->p->host->gpu(sf->p, &desc) };
	if (d->gpu == GT_NONE16)
		return;
	d->render = render_of(&sf->root, card);
	snprintf(d->path, sizeof(d->path), "sys/class/drm/%.24s/device", card);
	attrs_find(&sf->root, d);
	sf->n++;
}

bool sf_devices_scan(struct sf *sf)
{
	GT_ROOT_DIR list = gt_root_dir(&sf->root, "sys/class/drm");
	struct sf_device was[SF_DEVICES];
	unsigned int n = sf->n;
	struct dirent *e;
	bool same;

	memcpy(was, sf->dev, sizeof(was));
	sf_devices_free(sf);
	for (int i = 0; list && i < SF_ENTRIES && sf->n < SF_DEVICES && (e = readdir(list)); i++)
		add_device(sf, e->d_name);
	sf_kfd_find(sf);
	same = sf->n == n;
	for (unsigned int i = 0; same && i < n; i++)
		same = was[i].minor == sf->dev[i].minor && was[i].render == sf->dev[i].render &&
		       was[i].gpu == sf->dev[i].gpu;
	return !same;
}

/*
 * Documentation/power/runtime_pm.rst. Only an active device may be read: reading one that is about to
 * sleep would keep it awake.
 */
bool sf_device_awake(struct sf *sf, const struct sf_device *d, char *word, size_t len)
{
	char path[sizeof(d->path) + 32];

	snprintf(path, sizeof(path), "%s/power/runtime_status", d->path);
	gt_root_word(&sf->root, path, word, len);
	return !*word || !strcmp(word, "active") || !strcmp(word, "unsupported");
}

static void read_device(struct sf *sf, struct sf_device *d)
{
	struct gt_gauge g[GT_GAUGES_MAX];
	uint64_t now = sf->p->host->now(sf->p);
	struct gt_reading r = { .gpu = d->gpu, .has = d->has, .at = now, .gauge = g };
	bool is_awake = sf_device_awake(sf, d, r.power, sizeof(r.power));

	sf->stats.asleep += !is_awake;
	for (unsigned int i = 0; is_awake && i < d->nattrs; i++) {
		struct sf_attr *a = &d->attr[i];

		attr_read(sf, a, sf->p->host->now(sf->p));
		if (a->at + SF_STALE_NS < now)
			continue;
		for (unsigned int k = 0; k < a->n && r.n < GT_GAUGES_MAX; k++)
			g[r.n++] = a->gauge[k];
	}
	sf->p->host->reading(sf->p, &r);
}

void sf_devices_read(struct sf *sf)
{
	for (unsigned int i = 0; i < sf->n; i++)
		read_device(sf, &sf->dev[i]);
}
