/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directories that users make in a backend's own: the host keeps them, the plugin says what a
 * setting may be and writes the texts. Changes are made in the ingest thread; what others only look
 * at they copy.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "host_internal.h"

#define GT_MADE_INODE 0xffffffu /* of a serial: what an inode's number has room for */

static unsigned int nfiles(const struct gt_be *b)
{
	const struct gt_made_file *f = b->info.made ? b->info.made->files : NULL;
	unsigned int n = 0;

	while (f && f[n].name)
		n++;
	return n;
}

static void free_made(struct gt_made *m, unsigned int n)
{
	for (unsigned int i = 0; m && m->value && i < n; i++)
		free(m->value[i]);
	if (m)
		free(m->value);
	free(m);
}

void gt_made_free_all(struct gt_be *b)
{
	for (unsigned int i = 0; i < GT_MADE_MAX; i++) {
		free_made(b->made[i], nfiles(b));
		b->made[i] = NULL;
	}
}

const struct gt_made *gt_made_nth(const struct gt_be *b, unsigned int i)
{
	for (unsigned int at = 0; at < GT_MADE_MAX; at++)
		if (b->made[at] && !i--)
			return b->made[at];
	return NULL;
}

/* Place of what has number @serial, -1: it has gone */
static int place_of(const struct gt_be *b, uint64_t serial)
{
	for (int i = 0; i < GT_MADE_MAX; i++)
		if (b->made[i] && b->made[i]->serial == serial)
			return i;
	return -1;
}

/* Requests, in the ingest thread ------------------------------------------------------------- */

static bool good_name(const char *s)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-";
	size_t n = strspn(s, plain);

	if (!n)
		return false;
	while (s[n] == '.' || (s[n] && strchr(plain, s[n])))
		n++;
	return !s[n] && n < GT_MADE_NAME;
}

/* Is there room for one more of @c's user? */
static int room(const struct gt_be *b, struct gt_call *c)
{
	unsigned int all = 0, own = 0;

	for (unsigned int i = 0; i < GT_MADE_MAX; i++) {
		all += b->made[i] != NULL;
		own += b->made[i] && b->made[i]->uid == c->uid;
	}
	if (!c->whole && own >= GT_MADE_USER) {
		snprintf(c->text, sizeof(c->text), "uid %u has %u already: rmdir one", c->uid, own);
		return -EDQUOT;
	}
	if (all >= GT_MADE_MAX - (c->whole ? 0 : GT_MADE_LEFT)) {
		snprintf(c->text, sizeof(c->text), "there are too many already");
		return -ENOSPC;
	}
	return 0;
}

static int may_make(const struct gt_be *b, struct gt_call *c)
{
	if (!good_name(c->name)) {
		snprintf(c->text, sizeof(c->text),
			 "a name is 1 to %d of A-Z a-z 0-9 _ . + -, and does not begin with a dot",
			 GT_MADE_NAME - 1);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < GT_MADE_MAX; i++)
		if (b->made[i] && b->made[i]->uid == c->uid && !strcmp(b->made[i]->name, c->name))
			return -EEXIST;
	return room(b, c);
}

static bool has_like(const struct gt_host_state *h, uint64_t serial)
{
	for (unsigned int i = 0; i < h->n; i++)
		for (unsigned int at = 0; at < GT_MADE_MAX; at++)
			if (h->be[i]->made[at] &&
			    !((h->be[i]->made[at]->serial ^ serial) & GT_MADE_INODE))
				return true;
	return false;
}

/* An inode's number is made of it: by chance, so that it tells nobody how many others there were.
 * Of those that are there no two have the same. 0: no number was to be had */
static uint64_t new_serial(const struct gt_host_state *h)
{
	uint64_t serial = 0;

	do {
		if (getrandom(&serial, sizeof(serial), GRND_NONBLOCK) != sizeof(serial))
			return 0;
	} while (!(serial & GT_MADE_INODE) || has_like(h, serial));
	return serial;
}

static struct gt_made *new_made(const struct gt_be *b, const struct gt_call *c)
{
	const struct gt_made_file *f = b->info.made->files;
	struct gt_made *m = calloc(1, sizeof(*m));
	unsigned int n = nfiles(b);

	if (!m)
		return NULL;
	m->value = calloc(n + 1, sizeof(*m->value));
	for (unsigned int i = 0; m->value && i < n; i++) {
		m->value[i] = f[i].check ? strdup(f[i].def ? f[i].def : "") : NULL;
		if (f[i].check && !m->value[i]) {
			free_made(m, n);
			return NULL;
		}
	}
	if (!m->value) {
		free(m);
		return NULL;
	}
	strcpy(m->name, c->name);
	m->uid = c->uid;
	m->whole = c->whole;
	m->serial = new_serial(b->h);
	if (m->serial)
		return m;
	free_made(m, n);
	return NULL;
}

/* Whoever is at work with it looks again; who could not begin may now have a reason to. */
static void tell(struct gt_be *b, bool starts)
{
	if (gt_be_live(b))
		gt_be_ask(b, GT_CTL_MADE, 0);
	else if (starts)
		gt_be_retry(b);
}

static int make(struct gt_be *b, struct gt_call *c)
{
	struct gt_made *m;
	int ret = may_make(b, c);

	if (ret)
		return ret;
	m = new_made(b, c);
	if (!m)
		return -ENOMEM;
	GT_HOST_LOCK(b->h);
	for (unsigned int i = 0; i < GT_MADE_MAX; i++)
		if (!b->made[i]) {
			b->made[i] = m;
			break;
		}
	return 0;
}

static int unmake(struct gt_be *b, const struct gt_call *c)
{
	int at = place_of(b, c->serial);
	struct gt_made *m;

	if (at < 0)
		return -ENODEV;
	{
		GT_HOST_LOCK(b->h);
		m = b->made[at];
		b->made[at] = NULL;
	}
	free_made(m, nfiles(b));
	tell(b, false);
	return 0;
}

static int set(struct gt_be *b, struct gt_call *c)
{
	const struct gt_made_file *f = &b->info.made->files[c->file];
	int at = place_of(b, c->serial), ret;
	char *value, *old;

	if (at < 0)
		return -ENODEV;
	ret = f->check(c->value, c->text, sizeof(c->text));
	if (ret)
		return ret;
	value = strdup(c->value);
	if (!value)
		return -ENOMEM;
	{
		GT_HOST_LOCK(b->h);
		old = b->made[at]->value[c->file];
		b->made[at]->value[c->file] = value;
		/* what is named with fewer rights is looked at with them */
		b->made[at]->whole &= c->whole;
	}
	free(old);
	tell(b, f->flags & GT_MADE_STARTS);
	return 0;
}

/* As one who sees no more than who asks */
static int show(struct gt_be *b, struct gt_call *c)
{
	int at = place_of(b, c->serial);
	struct gt_made m;

	if (at < 0)
		return -ENODEV;
	m = *b->made[at];
	m.whole &= c->whole;
	b->info.made->files[c->file].show(&b->p, &m, c->value, c->big, GT_MADE_TEXT_MAX);
	c->big[GT_MADE_TEXT_MAX - 1] = 0;
	return 0;
}

void gt_made_perform(struct gt_host_state *h, struct gt_call *c)
{
	struct gt_be *b = h->be[c->index];

	if (c->kind == GT_CALL_MAKE)
		c->ret = make(b, c);
	else if (c->kind == GT_CALL_UNMAKE)
		c->ret = unmake(b, c);
	else if (c->kind == GT_CALL_MADE_SET)
		c->ret = set(b, c);
	else
		c->ret = show(b, c);
}

/* Any thread ---------------------------------------------------------------------------------- */

/* A request about made thing @serial of backend @i, NULL: it has no such thing; @f: a file of it,
 * -1: none; @text: empty from here on */
static struct gt_call *call_of(struct gt_host_state *h, enum gt_call_kind kind, unsigned int i,
			       uint64_t serial, int f, char *text)
{
	struct gt_call *c;

	text[0] = 0;
	if (i >= h->n || !h->be[i]->info.made || f >= (int)nfiles(h->be[i]))
		return NULL;
	c = gt_call_new(kind);
	if (!c)
		return NULL;
	c->index = i;
	c->serial = serial;
	c->file = f < 0 ? 0 : (unsigned int)f;
	return c;
}

static int finish(struct gt_host_state *h, struct gt_call *c, char *err, size_t len)
{
	int ret = gt_call_run(h, c, GT_HOST_CALL_MS);

	if (ret == -ETIMEDOUT)
		gt_call_late(h, c, err, len);
	else if (ret)
		snprintf(err, len, "%s", c->text);
	else if (c->big)
		snprintf(err, len, "%s", c->big);
	gt_call_put(h, c);
	return ret;
}

int gt_host_make(struct gt_host_state *h, unsigned int i, const char *name, uint32_t uid,
		 bool whole, char *err, size_t len)
{
	struct gt_call *c = call_of(h, GT_CALL_MAKE, i, 0, -1, err);

	if (!c)
		return -ENOMEM;
	/* one that is too long stays so */
	snprintf(c->name, sizeof(c->name), "%s", strlen(name) < GT_MADE_NAME ? name : "");
	c->uid = uid;
	c->whole = whole;
	return finish(h, c, err, len);
}

int gt_host_unmake(struct gt_host_state *h, unsigned int i, uint64_t serial, char *err, size_t len)
{
	struct gt_call *c = call_of(h, GT_CALL_UNMAKE, i, serial, -1, err);

	return c ? finish(h, c, err, len) : -ENOMEM;
}

int gt_host_made_set(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
		     const char *value, bool whole, char *err, size_t len)
{
	struct gt_call *c = call_of(h, GT_CALL_MADE_SET, i, serial, (int)f, err);

	if (!c)
		return -ENOMEM;
	if (!h->be[i]->info.made->files[f].check || strlen(value) >= sizeof(c->value)) {
		gt_call_put(h, c);
		return -E2BIG;
	}
	c->whole = whole;
	strcpy(c->value, value);
	return finish(h, c, err, len);
}

int gt_host_made_show(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
		      const char *path, bool whole, char *buf, size_t len)
{
	struct gt_call *c = call_of(h, GT_CALL_MADE_SHOW, i, serial, (int)f, buf);

	if (!c)
		return -ENOMEM;
	c->big = h->be[i]->info.made->files[f].show ? calloc(1, GT_MADE_TEXT_MAX) : NULL;
	if (!c->big) {
		gt_call_put(h, c);
		return -ENOMEM;
	}
	c->whole = whole;
	snprintf(c->value, sizeof(c->value), "%s", path);
	return finish(h, c, buf, len);
}

/* Without the values: those are the host's */
static void copy_of(struct gt_made *out, const struct gt_made *m)
{
	memset(out, 0, sizeof(*out));
	if (!m)
		return;
	*out = *m;
	out->value = NULL;
}

bool gt_host_made_at(struct gt_host_state *h, unsigned int i, unsigned int at, struct gt_made *out)
{
	if (i >= h->n || at >= GT_MADE_MAX)
		return false;
	GT_HOST_LOCK(h);
	copy_of(out, h->be[i]->made[at]);
	return true;
}

bool gt_host_made_find(struct gt_host_state *h, unsigned int i, uint64_t serial,
		       struct gt_made *out)
{
	int at;

	if (i >= h->n)
		return false;
	GT_HOST_LOCK(h);
	at = place_of(h->be[i], serial);
	copy_of(out, at < 0 ? NULL : h->be[i]->made[at]);
	return at >= 0;
}

int gt_host_made_get(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
		     char *buf, size_t len)
{
	const char *value;
	int at;

	if (i >= h->n || f >= nfiles(h->be[i]))
		return -ENOENT;
	GT_HOST_LOCK(h);
	at = place_of(h->be[i], serial);
	if (at < 0)
		return -ENODEV;
	value = h->be[i]->made[at]->value[f];
	snprintf(buf, len, "%s", value ? value : "");
	return 0;
}
