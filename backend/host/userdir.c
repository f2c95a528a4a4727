/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User directories: those that users make in a backend's directory. The host keeps them; the plugin
 * checks settings and writes the texts. Any thread changes gt_be.made, so that no user's request waits
 * for the ingest thread. That thread copies what has changed to gt_be.known, which the plugin reads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "internal.h"

#define INODE_BITS 0xffffffu /* bits of a serial that fit into an inode number */

static unsigned int nfiles(const struct gt_be *b)
{
	const struct gt_userdir_file *f = b->info.userdirs ? b->info.userdirs->files : NULL;
	unsigned int n = 0;

	while (f && f[n].name)
		n++;
	return n;
}

static void free_userdir(struct gt_userdir *m, unsigned int n)
{
	for (unsigned int i = 0; m && m->value && i < n; i++)
		free(m->value[i]);
	if (m)
		free(m->value);
	free(m);
}

void gt_userdir_free_all(struct gt_be *b)
{
	for (unsigned int i = 0; i < GT_USERDIR_MAX; i++) {
		free_userdir(b->made[i], nfiles(b));
		free_userdir(b->known[i], nfiles(b));
		b->made[i] = b->known[i] = NULL;
	}
}

/* Index of the directory of @made with that serial, -1 if it is gone */
static int index_of(struct gt_userdir *const *made, uint64_t serial)
{
	for (int i = 0; i < GT_USERDIR_MAX; i++)
		if (made[i] && made[i]->serial == serial)
			return i;
	return -1;
}

/* The ingest thread ---------------------------------------------------------------------------- */

/* A copy with settings of its own; NULL: no memory */
static struct gt_userdir *copy_whole(const struct gt_userdir *m, unsigned int n)
{
	struct gt_userdir *copy = malloc(sizeof(*copy));
	bool all;

	if (!copy)
		return NULL;
	*copy = *m;
	copy->value = calloc(n + 1, sizeof(*copy->value));
	all = copy->value;
	for (unsigned int i = 0; all && i < n; i++) {
		copy->value[i] = m->value[i] ? strdup(m->value[i]) : NULL;
		all = copy->value[i] || !m->value[i];
	}
	if (all)
		return copy;
	free_userdir(copy, n);
	return NULL;
}

/* Copies what has changed. Where memory is short it is tried again later. Return: what to notify the plugin of */
static enum gt_userdir_news take_news(struct gt_be *b)
{
	enum gt_userdir_news news;
	bool all = true;
	GT_HOST_LOCK(b->h);

	for (unsigned int i = 0; i < GT_USERDIR_MAX; i++) {
		struct gt_userdir *m = b->made[i], *copy;

		if (!b->made_changed[i])
			continue;
		copy = m ? copy_whole(m, nfiles(b)) : NULL;
		if (m && !copy) {
			all = false;
			continue;
		}
		free_userdir(b->known[i], nfiles(b));
		b->known[i] = copy;
		b->made_changed[i] = false;
	}
	if (!all) {
		atomic_store(&b->h->userdirs_changed, true);
		return GT_USERDIR_NO_NEWS;
	}
	news = b->news;
	b->news = GT_USERDIR_NO_NEWS;
	return news;
}

void gt_userdirs_take(struct gt_host_state *h)
{
	if (!atomic_exchange(&h->userdirs_changed, false))
		return;
	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];
		enum gt_userdir_news news = b->info.userdirs ? take_news(b) : GT_USERDIR_NO_NEWS;

		if (h->quit)
			continue; /* the plugins are stopped */
		if (news && b->started)
			gt_be_ask(b, GT_CTL_USERDIR, 0);
		else if (news == GT_USERDIR_MAY_START)
			gt_be_retry(b);
	}
}

void gt_userdir_show(struct gt_host_state *h, struct gt_call *c)
{
	struct gt_be *b = h->be[c->index];
	int at = index_of(b->known, c->serial);
	struct gt_userdir m;

	if (at < 0) {
		c->ret = -ENODEV;
		return;
	}
	m = *b->known[at];
	m.whole &= c->whole; /* no more than the caller may see */
	b->info.userdirs->files[c->file].show(&b->p, &m, c->value, c->big, GT_USERDIR_TEXT_MAX);
	c->big[GT_USERDIR_TEXT_MAX - 1] = 0;
}

/* Any thread ---------------------------------------------------------------------------------- */

static bool good_name(const char *s)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-";
	size_t n = strspn(s, plain);

	if (!n)
		return false;
	while (s[n] == '.' || (s[n] && strchr(plain, s[n])))
		n++;
	return !s[n] && n < GT_USERDIR_NAME;
}

/* How many one user may have, where others have @others: half of what they leave at most */
static unsigned int most_of(unsigned int others)
{
	unsigned int half = others < GT_USERDIR_ALL ? (GT_USERDIR_ALL - others) / 2 : 0;

	return half > GT_USERDIR_USER ? GT_USERDIR_USER : half ? half : 1;
}

/* May @m be made, too? The host's lock held */
static int check_quota(const struct gt_be *b, const struct gt_userdir *m, char *err, size_t len)
{
	unsigned int all = 0, users = 0, own = 0;

	for (unsigned int i = 0; i < GT_USERDIR_MAX; i++) {
		const struct gt_userdir *old = b->made[i];

		if (old && old->uid == m->uid && !strcmp(old->name, m->name))
			return -EEXIST;
		all += old != NULL;
		users += old && !old->whole;
		own += old && !old->whole && old->uid == m->uid;
	}
	if (!m->whole && own >= most_of(users - own)) {
		b->h->userdirs_refused++;
		snprintf(err, len, "uid %u has %u already: rmdir one", m->uid, own);
		return -EDQUOT;
	}
	if (all >= GT_USERDIR_MAX || (!m->whole && users >= GT_USERDIR_ALL)) {
		b->h->userdirs_refused++;
		snprintf(err, len, "there are too many already");
		return -ENOSPC;
	}
	return 0;
}

static bool inode_taken(const struct gt_host_state *h, uint64_t serial)
{
	for (unsigned int i = 0; i < h->n; i++)
		for (unsigned int at = 0; at < GT_USERDIR_MAX; at++)
			if (h->be[i]->made[at] &&
			    !((h->be[i]->made[at]->serial ^ serial) & INODE_BITS))
				return true;
	return false;
}

/* The inode number is made of it. It is random, so that it does not reveal how many directories others
 * made, and unique among those that exist. 0: there were no random bytes. The host's lock held */
static uint64_t new_serial(const struct gt_host_state *h)
{
	uint64_t serial = 0;

	do {
		if (getrandom(&serial, sizeof(serial), GRND_NONBLOCK) != sizeof(serial))
			return 0;
	} while (!(serial & INODE_BITS) || inode_taken(h, serial));
	return serial;
}

/* With the settings' defaults, and without a serial; NULL: no memory */
static struct gt_userdir *new_userdir(const struct gt_be *b, const char *name, uint32_t uid,
				      bool whole)
{
	const struct gt_userdir_file *f = b->info.userdirs->files;
	struct gt_userdir m = { .uid = uid, .whole = whole }, *copy;
	unsigned int n = nfiles(b);

	m.value = calloc(n + 1, sizeof(*m.value));
	if (!m.value)
		return NULL;
	for (unsigned int i = 0; i < n; i++)
		if (f[i].check)
			m.value[i] = (char *)(uintptr_t)(f[i].def ? f[i].def : "");
	strcpy(m.name, name);
	copy = copy_whole(&m, n);
	free(m.value);
	return copy;
}

/* Backend @i, if users make directories there, with file @f (-1: whatever files); else NULL */
static struct gt_be *backend_of(struct gt_host_state *h, unsigned int i, int f)
{
	if (i >= h->n || !h->be[i]->info.userdirs || f >= (int)nfiles(h->be[i]))
		return NULL;
	return h->be[i];
}

/* Directory @at has changed. The host's lock held */
static void set_changed(struct gt_be *b, unsigned int at, enum gt_userdir_news news)
{
	b->made_changed[at] = true;
	if (news > b->news)
		b->news = news;
	atomic_store(&b->h->userdirs_changed, true);
}

/* The ingest thread shall take what has changed. */
static void wake(struct gt_host_state *h)
{
	if (gt_host_in_ingest(h))
		gt_userdirs_take(h);
	else
		gt_host_wake(h);
}

/* Puts @m where there is room for it. 0, or -errno with a sentence in @err */
static int add(struct gt_be *b, struct gt_userdir *m, char *err, size_t len)
{
	GT_HOST_LOCK(b->h);
	int ret = check_quota(b, m, err, len);

	if (ret)
		return ret;
	m->serial = new_serial(b->h);
	if (!m->serial)
		return -ENOMEM;
	for (unsigned int i = 0; i < GT_USERDIR_MAX; i++) {
		if (b->made[i])
			continue;
		b->made[i] = m;
		set_changed(b, i, GT_USERDIR_NO_NEWS);
		return 0;
	}
	return -ENOSPC;
}

uint64_t gt_host_userdirs_refused(const struct gt_host_state *h)
{
	return atomic_load(&h->userdirs_refused);
}

int gt_host_userdir_make(struct gt_host_state *h, unsigned int i, const char *name, uint32_t uid,
			 bool whole, char *err, size_t len)
{
	struct gt_be *b = backend_of(h, i, -1);
	struct gt_userdir *m;
	int ret;

	*err = '\0';
	if (!b)
		return -ENODEV;
	if (!good_name(name)) {
		snprintf(err, len,
			 "a name is 1 to %d of A-Z a-z 0-9 _ . + -, and does not begin with a dot",
			 GT_USERDIR_NAME - 1);
		return -EINVAL;
	}
	m = new_userdir(b, name, uid, whole);
	if (!m)
		return -ENOMEM;
	ret = add(b, m, err, len);
	if (ret)
		free_userdir(m, nfiles(b));
	else
		wake(h);
	return ret;
}

/* Takes it away; NULL: it is gone */
static struct gt_userdir *cut(struct gt_be *b, uint64_t serial)
{
	struct gt_userdir *m;
	GT_HOST_LOCK(b->h);
	int at = index_of(b->made, serial);

	if (at < 0)
		return NULL;
	m = b->made[at];
	b->made[at] = NULL;
	set_changed(b, (unsigned int)at, GT_USERDIR_NEWS);
	return m;
}

int gt_host_userdir_remove(struct gt_host_state *h, unsigned int i, uint64_t serial)
{
	struct gt_be *b = backend_of(h, i, -1);
	struct gt_userdir *m = b ? cut(b, serial) : NULL;

	if (!m)
		return -ENODEV;
	free_userdir(m, nfiles(b));
	wake(h);
	return 0;
}

/* Exchanges setting @f of directory @serial for *@value; false: the directory is gone */
static bool exchange(struct gt_be *b, uint64_t serial, unsigned int f, char **value, bool whole)
{
	char *old;
	GT_HOST_LOCK(b->h);
	int at = index_of(b->made, serial);

	if (at < 0)
		return false;
	old = b->made[at]->value[f];
	b->made[at]->value[f] = *value;
	*value = old;
	/* a setting made with fewer rights is used with those */
	b->made[at]->whole &= whole;
	set_changed(b, (unsigned int)at,
		    b->info.userdirs->files[f].flags & GT_USERDIR_STARTS ? GT_USERDIR_MAY_START
									 : GT_USERDIR_NEWS);
	return true;
}

int gt_host_userdir_set(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			const char *value, bool whole, char *err, size_t len)
{
	struct gt_be *b = backend_of(h, i, (int)f);
	char *copy;
	bool found;
	int ret;

	*err = '\0';
	if (!b)
		return -ENODEV;
	if (!b->info.userdirs->files[f].check || strlen(value) >= GT_HOST_VALUE_LEN)
		return -E2BIG;
	ret = b->info.userdirs->files[f].check(value, err, len);
	if (ret)
		return ret;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	found = exchange(b, serial, f, &copy, whole);
	free(copy);
	if (!found)
		return -ENODEV;
	wake(h);
	return 0;
}

int gt_host_userdir_show(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			 const char *path, bool whole, char *buf, size_t len)
{
	struct gt_be *b = backend_of(h, i, (int)f);
	struct gt_call *c = b ? gt_call_new(GT_CALL_USERDIR_SHOW) : NULL;

	*buf = '\0';
	if (!c)
		return b ? -ENOMEM : -ENODEV;
	c->big = b->info.userdirs->files[f].show ? calloc(1, GT_USERDIR_TEXT_MAX) : NULL;
	if (!c->big) {
		gt_call_put(h, c);
		return -ENOMEM;
	}
	c->index = i;
	c->serial = serial;
	c->file = f;
	c->whole = whole;
	snprintf(c->value, sizeof(c->value), "%s", path);
	return gt_call_finish(h, c, buf, len);
}

/* Copies without the settings, which are the host's; an empty one for NULL */
static void copy_userdir(struct gt_userdir *out, const struct gt_userdir *m)
{
	memset(out, 0, sizeof(*out));
	if (!m)
		return;
	*out = *m;
	out->value = NULL;
}

bool gt_host_userdir_at(struct gt_host_state *h, unsigned int i, unsigned int at,
			struct gt_userdir *out)
{
	if (i >= h->n || at >= GT_USERDIR_MAX)
		return false;
	GT_HOST_LOCK(h);
	copy_userdir(out, h->be[i]->made[at]);
	return true;
}

bool gt_host_userdir_find(struct gt_host_state *h, unsigned int i, uint64_t serial,
			  struct gt_userdir *out)
{
	int at;

	if (i >= h->n)
		return false;
	GT_HOST_LOCK(h);
	at = index_of(h->be[i]->made, serial);
	copy_userdir(out, at < 0 ? NULL : h->be[i]->made[at]);
	return at >= 0;
}

int gt_host_userdir_get(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			char *buf, size_t len)
{
	const char *value;
	int at;

	if (i >= h->n || f >= nfiles(h->be[i]))
		return -ENOENT;
	GT_HOST_LOCK(h);
	at = index_of(h->be[i]->made, serial);
	if (at < 0)
		return -ENODEV;
	value = h->be[i]->made[at]->value[f];
	snprintf(buf, len, "%s", value ? value : "");
	return 0;
}
