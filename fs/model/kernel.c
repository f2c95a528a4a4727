/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernels: found by GPU, user and name. Their names are anybody's bytes: a directory gets a safe
 * one, which says so by a part of the name's hash where it is not the name itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define READABLE 72 /* bytes of a name that its directory's begins with */

static uint64_t hash_bytes(uint64_t h, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3ULL;
	return h ^ h >> 29;
}

/* Nobody can choose names whose keys meet: the salt is not known */
static uint64_t key_of(const struct gt_model *m, const struct gt_kernel_desc *d, size_t len)
{
	uint64_t h = hash_bytes(m->priv->salt[0] ^ d->hash, d->name, len);

	return gt_mix(h ^ ((uint64_t)d->uid << 16 | d->gpu), m->priv->salt[1]);
}

static uint64_t alias_key(const struct gt_model *m, uint16_t gpu, const char *alias)
{
	return hash_bytes(m->priv->salt[2] ^ gpu, alias, strlen(alias));
}

static uint64_t dir_key(const struct gt_model *m, uint16_t gpu, uint32_t uid, const char *dir)
{
	return gt_mix(alias_key(m, gpu, dir) ^ uid, m->priv->salt[1]);
}

struct gt_kernel *gt_model_kernel_alias(const struct gt_model *m, uint16_t gpu, const char *alias)
{
	uint32_t i = gt_map_get(&m->priv->kernel_aliases, alias_key(m, gpu, alias));
	struct gt_kernel *k = i == GT_NONE32 ? NULL : m->kernels[i];

	return k && k->gpu == gpu && !strcmp(k->alias, alias) ? k : NULL;
}

struct gt_kernel *gt_model_kernel_dir(const struct gt_model *m, uint16_t gpu, uint32_t uid,
				      const char *dir)
{
	uint32_t i = gt_map_get(&m->priv->kernel_dirs, dir_key(m, gpu, uid, dir));
	struct gt_kernel *k = i == GT_NONE32 ? NULL : m->kernels[i];

	return k && k->gpu == gpu && k->uid == uid && !strcmp(k->dir, dir) ? k : NULL;
}

static bool plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.' || c == '+';
}

/* What people would call it: without "void ", and what is not plain becomes one "_" a run. True: it
 * is the whole name, unchanged. */
static bool readable(char out[READABLE + 1], const char *s, size_t len)
{
	size_t n = 0, i = 0;
	bool same = true;

	if (len > 5 && !memcmp(s, "void ", 5)) {
		i = 5;
		same = false;
	}
	for (; i < len && n < READABLE; i++) {
		if (plain(s[i]) && !(s[i] == '.' && !n)) {
			out[n++] = s[i];
			continue;
		}
		same = false;
		if (n && out[n - 1] != '_')
			out[n++] = '_';
	}
	same &= i == len && n;
	while (n && out[n - 1] == '_' && !same)
		n--;
	out[n] = '\0';
	return same;
}

/* No directory's name has a "u" after a "~": so an alias is nobody's own name */
static bool take_names(struct gt_model *m, struct gt_kernel *k)
{
	uint64_t dir = dir_key(m, k->gpu, k->uid, k->dir), alias = alias_key(m, k->gpu, k->dir);

	snprintf(k->alias, sizeof(k->alias), "%s", k->dir);
	if (gt_map_get(&m->priv->kernel_aliases, alias) != GT_NONE32) {
		snprintf(k->alias, sizeof(k->alias), "%s~u%u", k->dir, k->uid);
		alias = alias_key(m, k->gpu, k->alias);
	}
	if (gt_map_set(&m->priv->kernel_dirs, dir, k->id))
		return false;
	if (!gt_map_set(&m->priv->kernel_aliases, alias, k->id))
		return true;
	gt_map_del(&m->priv->kernel_dirs, dir);
	return false;
}

/* False: no name is free, which takes thousands of attempts to make it so */
static bool name_dir(struct gt_model *m, struct gt_kernel *k, uint64_t hash)
{
	uint32_t part = (uint32_t)(hash_bytes(0xcbf29ce484222325ULL ^ hash, k->name, k->len) >> 13);
	char base[READABLE + 1];
	bool same = readable(base, k->name, k->len) && !k->cut;

	for (unsigned int i = 1; i <= GT_MAX_KERNELS; i++) {
		int n = snprintf(k->dir, sizeof(k->dir), "%s", base);

		if (!same || i > 1)
			n += snprintf(k->dir + n, sizeof(k->dir) - (size_t)n, "~%08x", part);
		if (i > 1)
			snprintf(k->dir + n, sizeof(k->dir) - (size_t)n, "~%u", i);
		if (gt_map_get(&m->priv->kernel_dirs, dir_key(m, k->gpu, k->uid, k->dir)) ==
		    GT_NONE32)
			return take_names(m, k);
	}
	return false;
}

/* Room ---------------------------------------------------------------------------------------- */

static unsigned int of_user(const struct gt_model *m, uint32_t uid)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < m->nkernels; i++)
		n += m->kernels[i]->uid == uid;
	return n;
}

/* What a recording tells is one person's */
static bool shares(const struct gt_model *m, uint32_t uid)
{
	return m->wall && uid && uid != GT_NONE32;
}

static bool has_room(const struct gt_model *m, const struct gt_kernel_desc *d)
{
	return d->gpu < m->ngpus && m->nkernels < GT_MAX_KERNELS &&
	       !(shares(m, d->uid) && of_user(m, d->uid) >= GT_USER_KERNELS);
}

/* @size bytes more for names and texts of a kernel of @uid's */
static char *take_bytes(struct gt_model *m, const char *from, size_t size, uint32_t uid)
{
	size_t limit = shares(m, uid) ? GT_KERNEL_BYTES / 2 : GT_KERNEL_BYTES;
	char *p = m->kernel_bytes + size <= limit ? malloc(size + 1) : NULL;

	if (!p)
		return NULL;
	memcpy(p, from, size);
	p[size] = '\0';
	m->kernel_bytes += size;
	return p;
}

static void free_kernel(struct gt_kernel *k)
{
	gt_stage_reset(&k->exec);
	gt_stage_reset(&k->queue);
	gt_mem_put(k->kept, GT_KERNEL_KEPT * sizeof(*k->kept));
	gt_mem_put(k->counter, GT_KERNEL_COUNTERS * sizeof(*k->counter));
	for (unsigned int i = 0; i < GT_KERNEL_TEXTS; i++)
		free(k->text[i]);
	free(k->name);
	gt_mem_put(k, sizeof(*k));
}

static struct gt_kernel *make(struct gt_model *m, const struct gt_kernel_desc *d, size_t len)
{
	struct gt_kernel *k = has_room(m, d) ? gt_mem_get(sizeof(*k), true) : NULL;

	if (!k)
		return NULL;
	k->id = m->nkernels;
	k->uid = d->uid;
	k->gpu = d->gpu;
	k->cut = d->hash || len < d->len;
	k->len = len;
	memset(k->min, 0xff, sizeof(k->min));
	memset(k->max, 0xff, sizeof(k->max));
	k->calls = k->total_ns = k->min_ns = k->max_ns = GT_NONE64;
	gt_stage_init(&k->exec);
	gt_stage_init(&k->queue);
	k->name = take_bytes(m, d->name, len, d->uid);
	if (k->name && name_dir(m, k, d->hash))
		return k;
	if (k->name)
		m->kernel_bytes -= len;
	free_kernel(k);
	return NULL;
}

static struct gt_kernel *find(struct gt_model *m, const struct gt_kernel_desc *d)
{
	size_t len = d->len < GT_KERNEL_NAME_MAX ? d->len : GT_KERNEL_NAME_MAX;
	uint64_t key = key_of(m, d, len);
	uint32_t i = gt_map_get(&m->priv->kernels, key);
	struct gt_kernel *k;

	if (i != GT_NONE32) {
		k = m->kernels[i];
		return k->uid == d->uid && k->gpu == d->gpu ? k : NULL;
	}
	k = make(m, d, len);
	if (!k)
		return NULL;
	if (gt_map_set(&m->priv->kernels, key, k->id)) {
		gt_map_del(&m->priv->kernel_dirs, dir_key(m, k->gpu, k->uid, k->dir));
		gt_map_del(&m->priv->kernel_aliases, alias_key(m, k->gpu, k->alias));
		m->kernel_bytes -= k->len;
		free_kernel(k);
		return NULL;
	}
	m->kernels[m->nkernels++] = k;
	m->dir_gen++;
	return k;
}

/* What is told ------------------------------------------------------------------------------------
 */

static void touch(struct gt_model *m, struct gt_kernel *k)
{
	k->gen++;
	m->gpus[k->gpu]->gen++;
	m->gen++;
}

static void told_value(struct gt_kernel *k, unsigned int i, uint32_t v)
{
	if (v == GT_NONE32)
		return;
	if (k->min[i] == GT_NONE32 || v < k->min[i])
		k->min[i] = v;
	if (k->max[i] == GT_NONE32 || v > k->max[i])
		k->max[i] = v;
}

uint32_t gt_model_kernel(struct gt_model *m, const struct gt_kernel_desc *d)
{
	struct gt_kernel *k;

	if (d->id != GT_NONE32)
		k = d->id < m->nkernels ? m->kernels[d->id] : NULL;
	else
		k = d->name ? find(m, d) : NULL;
	if (!k) {
		m->kernels_refused++;
		return GT_NONE32;
	}
	for (unsigned int i = 0; i < GT_KERNEL_VALUES; i++)
		told_value(k, i, d->value[i]);
	if (d->queue_ns != GT_NONE64 && d->ts != GT_NONE64)
		gt_stage_add(&k->queue, d->ts, d->queue_ns);
	if (d->calls != GT_NONE64) {
		k->calls = d->calls;
		k->total_ns = d->total_ns;
		k->min_ns = d->min_ns;
		k->max_ns = d->max_ns;
	}
	touch(m, k);
	return k->id;
}

void gt_kernel_dispatched(struct gt_model *m, const struct gt_event *e)
{
	struct gt_kernel *k = e->ref < m->nkernels ? m->kernels[e->ref] : NULL;

	if (!k || k->gpu != e->gpu)
		return;
	if (!k->kept)
		k->kept = gt_mem_get(GT_KERNEL_KEPT * sizeof(*k->kept), true);
	if (k->kept)
		k->kept[k->dispatches % GT_KERNEL_KEPT] =
			(struct gt_kernel_dispatch){ e->ts,    e->value, e->ctx,
						     e->seqno, e->pid,	 e->queue };
	k->dispatches++;
	if (e->value != GT_NONE64)
		gt_stage_add(&k->exec, e->ts, e->value);
	if (!k->first_ts || e->ts < k->first_ts)
		k->first_ts = e->ts;
	if (e->ts > k->last_ts)
		k->last_ts = e->ts;
	k->gen++;
}

static struct gt_kernel_counter *counter_of(struct gt_kernel *k, const char *name)
{
	struct gt_kernel_counter *c;

	for (unsigned int i = 0; i < k->ncounters; i++)
		if (!strncmp(k->counter[i].name, name, GT_KERNEL_COUNTER - 1))
			return &k->counter[i];
	if (!k->counter)
		k->counter = gt_mem_get(GT_KERNEL_COUNTERS * sizeof(*c), true);
	if (!k->counter || k->ncounters == GT_KERNEL_COUNTERS)
		return NULL;
	c = &k->counter[k->ncounters++];
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

void gt_model_counter(struct gt_model *m, uint32_t kernel, const char *name, double value)
{
	struct gt_kernel *k = kernel < m->nkernels ? m->kernels[kernel] : NULL;
	struct gt_kernel_counter *c = k && value - value == 0 ? counter_of(k, name) : NULL;

	if (!c) {
		m->counters_refused++;
		return;
	}
	if (!c->count || value < c->min)
		c->min = value;
	if (!c->count || value > c->max)
		c->max = value;
	c->sum += value;
	c->count++;
	touch(m, k);
}

void gt_model_kernel_text(struct gt_model *m, uint32_t kernel, enum gt_kernel_text which,
			  const char *text)
{
	struct gt_kernel *k = kernel < m->nkernels ? m->kernels[kernel] : NULL;

	if (!k || which >= GT_KERNEL_TEXTS)
		return;
	if (k->text[which])
		m->kernel_bytes -= strlen(k->text[which]);
	free(k->text[which]);
	k->text[which] =
		text ? take_bytes(m, text, strnlen(text, GT_KERNEL_TEXT_MAX - 1), k->uid) : NULL;
	touch(m, k);
}

/* --- */

void gt_kernels_clear(struct gt_model *m)
{
	for (unsigned int i = 0; i < m->nkernels; i++) {
		struct gt_kernel *k = m->kernels[i];

		gt_stage_reset(&k->exec);
		gt_stage_reset(&k->queue);
		k->dispatches = k->first_ts = k->last_ts = 0;
		k->calls = k->total_ns = k->min_ns = k->max_ns = GT_NONE64;
		for (unsigned int c = 0; c < k->ncounters; c++) {
			k->counter[c].count = 0;
			k->counter[c].sum = 0;
		}
		k->gen++;
	}
}

int gt_kernels_init(struct gt_model *m)
{
	int ret = gt_map_init(&m->priv->kernels, m->priv->salt[1]);

	if (!ret)
		ret = gt_map_init(&m->priv->kernel_dirs, m->priv->salt[2]);
	if (!ret)
		ret = gt_map_init(&m->priv->kernel_aliases, m->priv->salt[2]);
	return ret;
}

void gt_kernels_destroy(struct gt_model *m)
{
	for (unsigned int i = 0; i < m->nkernels; i++)
		free_kernel(m->kernels[i]);
	gt_map_destroy(&m->priv->kernels);
	gt_map_destroy(&m->priv->kernel_dirs);
	gt_map_destroy(&m->priv->kernel_aliases);
}
