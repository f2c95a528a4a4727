/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernels: found by GPU, user and name. Their names are anybody's bytes: a directory gets a safe
 * one, which says so by a part of the name's hash where it is not the name itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/lib/ioctl_names.h"
#include "internal.h"

/* Names of functions by number, from NAME records. */

static bool make_room(struct gt_model *m, uint64_t id)
{
	unsigned int n = m->nfunctions ? 2 * m->nfunctions : 64;
	void *p;

	if (id < m->nfunctions)
		return true;
	if (id >= GT_MAX_FUNCTIONS)
		return false;
	while (n <= id)
		n *= 2;
	p = reallocarray(m->functions, n, sizeof(*m->functions));
	if (!p)
		return false;
	m->functions = p;
	memset(m->functions[m->nfunctions], 0, (n - m->nfunctions) * sizeof(*m->functions));
	m->nfunctions = n;
	return true;
}

void gt_function_name(struct gt_model *m, const struct gt_name *n)
{
	if (n->part >= GT_CALLNAME_RECORDS || !make_room(m, n->id))
		return;
	gt_callname_piece(m->functions[n->id], n);
	m->gen++;
}

#define READABLE 72 /* bytes of a name that its directory's begins with */

static uint64_t hash_bytes(uint64_t h, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3ULL;
	return h ^ h >> 29;
}

/* Nobody can choose names with colliding keys: the salt is not known */
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

/* Of each, with its places by hash */
#define COUNTER_BYTES (sizeof(struct gt_kernel_counter) + 2 * sizeof(uint16_t))

/* @size bytes more for names and texts, of @account's share */
static char *take_bytes(struct gt_model *m, const char *from, size_t size, uint16_t account)
{
	char *p = NULL;

	if (m->kernel_bytes + size <= GT_KERNEL_BYTES &&
	    gt_share_take(account, GT_SH_TEXTS, size, GT_KERNEL_BYTES)) {
		p = malloc(size + 1);
		if (!p)
			gt_share_give(account, GT_SH_TEXTS, size);
	}
	if (!p)
		return NULL;
	memcpy(p, from, size);
	p[size] = '\0';
	m->kernel_bytes += size;
	return p;
}

static void give_bytes(struct gt_model *m, char *p, size_t size, uint16_t account)
{
	if (!p)
		return;
	m->kernel_bytes -= size;
	gt_share_give(account, GT_SH_TEXTS, size);
	free(p);
}

static void free_kernel(struct gt_model *m, struct gt_kernel *k)
{
	unsigned int many = k->counters_room > GT_KERNEL_FEW ? k->counters_room - GT_KERNEL_FEW : 0;

	gt_stage_reset(&k->exec);
	gt_stage_reset(&k->queue);
	gt_mem_put_for(k->account, k->kept, GT_KERNEL_KEPT * sizeof(*k->kept));
	gt_mem_put_for(k->account, k->counter, k->counters_room * COUNTER_BYTES);
	gt_share_give(k->account, GT_SH_COUNTERS, many);
	for (unsigned int i = 0; i < GT_KERNEL_TEXTS; i++)
		give_bytes(m, k->text[i], k->text[i] ? strlen(k->text[i]) : 0, k->account);
	give_bytes(m, k->name, k->len, k->account);
	gt_share_give(k->account, GT_SH_KERNELS, 1);
	gt_mem_put_for(k->account, k, sizeof(*k));
}

static struct gt_kernel *make(struct gt_model *m, const struct gt_kernel_desc *d, size_t len)
{
	uint16_t account = gt_account(m, d->uid);
	struct gt_kernel *k;

	if (d->gpu >= m->ngpus || m->nkernels == GT_MAX_KERNELS ||
	    !gt_share_take(account, GT_SH_KERNELS, 1, GT_MAX_KERNELS))
		return NULL;
	k = gt_mem_get_for(account, sizeof(*k));
	if (!k) {
		gt_share_give(account, GT_SH_KERNELS, 1);
		return NULL;
	}
	k->id = m->nkernels;
	k->uid = d->uid;
	k->account = account;
	k->gpu = d->gpu;
	k->cut = d->hash || len < d->len;
	k->len = len;
	memset(k->min, 0xff, sizeof(k->min));
	memset(k->max, 0xff, sizeof(k->max));
	k->calls = k->total_ns = k->min_ns = k->max_ns = GT_NONE64;
	gt_stage_init_for(&k->exec, account);
	gt_stage_init_for(&k->queue, account);
	k->name = take_bytes(m, d->name, len, account);
	if (k->name && name_dir(m, k, d->hash))
		return k;
	free_kernel(m, k);
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
		free_kernel(m, k);
		return NULL;
	}
	m->kernels[m->nkernels++] = k;
	m->dir_gen++;
	return k;
}

/* What is shown ------------------------------------------------------------------------------------
 */

static void touch(struct gt_model *m, struct gt_kernel *k)
{
	k->gen++;
	m->gpus[k->gpu]->gen++;
	m->gen++;
}

static void count_value(struct gt_kernel *k, unsigned int i, uint32_t v)
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
		count_value(k, i, d->value[i]);
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
		k->kept = gt_mem_get_for(k->account, GT_KERNEL_KEPT * sizeof(*k->kept));
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

void gt_kernel_ran(struct gt_model *m, const struct gt_event *e)
{
	struct gt_kernel *k = e->ref < m->nkernels ? m->kernels[e->ref] : NULL;

	if (!k || k->gpu != e->gpu || e->value == GT_NONE64)
		return;
	gt_stage_add(&k->exec, e->ts, e->value);
	k->gen++;
}

/* With the salt in each step: a recording has whatever names somebody chose, thousands of them */
static uint32_t counter_hash(const struct gt_model *m, const char *name)
{
	uint64_t h = m->priv->salt[0];

	for (unsigned int i = 0; i < GT_KERNEL_COUNTER - 1 && name[i]; i++)
		h = gt_mix(h ^ (uint8_t)name[i], m->priv->salt[1] | 1);
	return (uint32_t)h;
}

/* Where a counter is in k->counter_at, or where it would be */
static uint16_t *counter_slot(const struct gt_kernel *k, const char *name, uint32_t hash)
{
	unsigned int n = 2 * k->counters_room, i = hash % n;

	for (; k->counter_at[i]; i = (i + 1) % n) {
		const struct gt_kernel_counter *c = &k->counter[k->counter_at[i] - 1];

		if (c->hash == hash && !strncmp(c->name, name, GT_KERNEL_COUNTER - 1))
			break;
	}
	return &k->counter_at[i];
}

static bool more_counters(struct gt_model *m, struct gt_kernel *k)
{
	unsigned int room = k->counters_room ? 2 * k->counters_room : 16;
	unsigned int many = room > GT_KERNEL_FEW ? room / 2 : 0;
	struct gt_kernel_counter *more;

	if (room > GT_KERNEL_COUNTERS || (many && m->many_counters + many > GT_MANY_COUNTERS) ||
	    !gt_share_take(k->account, GT_SH_COUNTERS, many, GT_MANY_COUNTERS))
		return false;
	more = gt_mem_get_for(k->account, room * COUNTER_BYTES);
	if (!more) {
		gt_share_give(k->account, GT_SH_COUNTERS, many);
		return false;
	}
	m->many_counters += many;
	if (k->ncounters)
		memcpy(more, k->counter, k->ncounters * sizeof(*more));
	gt_mem_put_for(k->account, k->counter, k->counters_room * COUNTER_BYTES);
	k->counter = more;
	k->counters_room = room;
	k->counter_at = (uint16_t *)(more + room);
	for (unsigned int i = 0; i < k->ncounters; i++)
		*counter_slot(k, more[i].name, more[i].hash) = (uint16_t)(i + 1);
	return true;
}

static struct gt_kernel_counter *counter_of(struct gt_model *m, struct gt_kernel *k,
					    const char *name)
{
	uint32_t hash = counter_hash(m, name);
	struct gt_kernel_counter *c;
	uint16_t *at;

	if (!k->counters_room && !more_counters(m, k))
		return NULL;
	at = counter_slot(k, name, hash);
	if (*at)
		return &k->counter[*at - 1];
	if (k->ncounters == k->counters_room) {
		if (!more_counters(m, k))
			return NULL;
		at = counter_slot(k, name, hash);
	}
	c = &k->counter[k->ncounters++];
	*at = (uint16_t)k->ncounters;
	c->hash = hash;
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

void gt_model_counter(struct gt_model *m, uint32_t kernel, const char *name, double value)
{
	struct gt_kernel *k = kernel < m->nkernels ? m->kernels[kernel] : NULL;
	struct gt_kernel_counter *c = k && value - value == 0 ? counter_of(m, k, name) : NULL;

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
	give_bytes(m, k->text[which], k->text[which] ? strlen(k->text[which]) : 0, k->account);
	k->text[which] =
		text ? take_bytes(m, text, strnlen(text, GT_KERNEL_TEXT_MAX - 1), k->account)
		     : NULL;
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
		free_kernel(m, m->kernels[i]);
	gt_map_destroy(&m->priv->kernels);
	gt_map_destroy(&m->priv->kernel_dirs);
	gt_map_destroy(&m->priv->kernel_aliases);
}
