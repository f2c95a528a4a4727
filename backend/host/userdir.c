/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User directories: those that users make in a backend's directory. The host keeps them; the plugin
 * checks settings and writes the texts. The ingest thread alone changes them, other threads read
 * copies.
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
		b->made[i] = NULL;
	}
}

/* Index of the directory with that serial, -1 if it is gone */
static int index_of(const struct gt_be *b, uint64_t serial)
{
	for (int i = 0; i < GT_USERDIR_MAX; i++)
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
	return !s[n] && n < GT_USERDIR_NAME;
}

/* May the user of @c make one more? */
static int check_quota(const struct gt_be *b, struct gt_call *c)
{
	unsigned int all = 0, own = 0;

	for (unsigned int i = 0; i < GT_USERDIR_MAX; i++) {
		all += b->made[i] != NULL;
		own += b->made[i] && b->made[i]->uid == c->uid;
	}
	if (!c->whole && own >= GT_USERDIR_PER_USER) {
		snprintf(c->text, sizeof(c->text), "uid %u has %u already: rmdir one", c->uid, own);
		return -EDQUOT;
	}
	if (all >= GT_USERDIR_MAX - (c->whole ? 0 : GT_USERDIR_RESERVED)) {
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
			 GT_USERDIR_NAME - 1);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < GT_USERDIR_MAX; i++)
		if (b->made[i] && b->made[i]->uid == c->uid && !strcmp(b->made[i]->name, c->name))
			return -EEXIST;
	return check_quota(b, c);
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
 * made, and unique among those that exist. 0: there were no random bytes */
static uint64_t new_serial(const struct gt_host_state *h)
{
	uint64_t serial = 0;

	do {
		if (getrandom(&serial, sizeof(serial), GRND_NONBLOCK) != sizeof(serial))
			return 0;
	} while (!(serial & INODE_BITS) || inode_taken(h, serial));
	return serial;
}

static struct gt_userdir *new_userdir(const struct gt_be *b, const struct gt_call *c)
{
	const struct gt_userdir_file *f = b->info.userdirs->files;
	struct gt_userdir *m = calloc(1, sizeof(*m));
	unsigned int n = nfiles(b);

	if (!m)
		return NULL;
	m->value = calloc(n + 1, sizeof(*m->value));
	for (unsigned int i = 0; m->value && i < n; i++) {
		m->value[i] = f[i].check ? strdup(f[i].def ? f[i].def : "") : NULL;
		if (f[i].check && !m->value[i]) {
			free_userdir(m, n);
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
	free_userdir(m, n);
	return NULL;
}

/* Notifies a running plugin of a change; one that could not work may be able to start now. */
static void notify(struct gt_be *b, bool starts)
{
	if (b->started)
		gt_be_ask(b, GT_CTL_USERDIR, 0);
	else if (starts)
		gt_be_retry(b);
}

static int make_dir(struct gt_be *b, struct gt_call *c)
{
	struct gt_userdir *m;
	int ret = may_make(b, c);

	if (ret)
		return ret;
	m = new_userdir(b, c);
	if (!m)
		return -ENOMEM;
	GT_HOST_LOCK(b->h);
	for (unsigned int i = 0; i < GT_USERDIR_MAX; i++)
		if (!b->made[i]) {
			b->made[i] = m;
			break;
		}
	return 0;
}

static int remove_dir(struct gt_be *b, const struct gt_call *c)
{
	int at = index_of(b, c->serial);
	struct gt_userdir *m;

	if (at < 0)
		return -ENODEV;
	{
		GT_HOST_LOCK(b->h);
		m = b->made[at];
		b->made[at] = NULL;
	}
	free_userdir(m, nfiles(b));
	notify(b, false);
	return 0;
}

static int set(struct gt_be *b, struct gt_call *c)
{
	const struct gt_userdir_file *f = &b->info.userdirs->files[c->file];
	int at = index_of(b, c->serial), ret;
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
		/* a setting made with fewer rights is used with those */
		b->made[at]->whole &= c->whole;
	}
	free(old);
	notify(b, f->flags & GT_USERDIR_STARTS);
	return 0;
}

/* Shows no more than the caller may see */
static int show(struct gt_be *b, struct gt_call *c)
{
	int at = index_of(b, c->serial);
	struct gt_userdir m;

	if (at < 0)
		return -ENODEV;
	m = *b->made[at];
	m.whole &= c->whole;
	b->info.userdirs->files[c->file].show(&b->p, &m, c->value, c->big, GT_USERDIR_TEXT_MAX);
	c->big[GT_USERDIR_TEXT_MAX - 1] = 0;
	return 0;
}

void gt_userdir_serve(struct gt_host_state *h, struct gt_call *c)
{
	struct gt_be *b = h->be[c->index];

	if (c->kind == GT_CALL_MKDIR)
		c->ret = make_dir(b, c);
	else if (c->kind == GT_CALL_RMDIR)
		c->ret = remove_dir(b, c);
	else if (c->kind == GT_CALL_USERDIR_SET)
		c->ret = set(b, c);
	else
		c->ret = show(b, c);
}

/* Any thread ---------------------------------------------------------------------------------- */

/*
 * A request about user directory @serial of backend @i, and its file @f, -1: none. @text becomes "".
 * NULL: the backend has no such file, or there is no memory
 */
static struct gt_call *new_call(struct gt_host_state *h, enum gt_call_kind kind, unsigned int i,
				uint64_t serial, int f, char *text)
{
	struct gt_call *c;

	text[0] = 0;
	if (i >= h->n || !h->be[i]->info.userdirs || f >= (int)nfiles(h->be[i]))
		return NULL;
	c = gt_call_new(kind);
	if (!c)
		return NULL;
	c->index = i;
	c->serial = serial;
	c->file = f < 0 ? 0 : (unsigned int)f;
	return c;
}

int gt_host_userdir_make(struct gt_host_state *h, unsigned int i, const char *name, uint32_t uid,
			 bool whole, char *err, size_t len)
{
	struct gt_call *c = new_call(h, GT_CALL_MKDIR, i, 0, -1, err);

	if (!c)
		return -ENOMEM;
	/* a name that is too long becomes "", which is refused as well */
	snprintf(c->name, sizeof(c->name), "%s", strlen(name) < GT_USERDIR_NAME ? name : "");
	c->uid = uid;
	c->whole = whole;
	return gt_call_finish(h, c, err, len);
}

int gt_host_userdir_remove(struct gt_host_state *h, unsigned int i, uint64_t serial, char *err,
			   size_t len)
{
	struct gt_call *c = new_call(h, GT_CALL_RMDIR, i, serial, -1, err);

	return c ? gt_call_finish(h, c, err, len) : -ENOMEM;
}

int gt_host_userdir_set(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			const char *value, bool whole, char *err, size_t len)
{
	struct gt_call *c = new_call(h, GT_CALL_USERDIR_SET, i, serial, (int)f, err);

	if (!c)
		return -ENOMEM;
	if (!h->be[i]->info.userdirs->files[f].check || strlen(value) >= sizeof(c->value)) {
		gt_call_put(h, c);
		return -E2BIG;
	}
	c->whole = whole;
	strcpy(c->value, value);
	return gt_call_finish(h, c, err, len);
}

int gt_host_userdir_show(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			 const char *path, bool whole, char *buf, size_t len)
{
	struct gt_call *c = new_call(h, GT_CALL_USERDIR_SHOW, i, serial, (int)f, buf);

	if (!c)
		return -ENOMEM;
	c->big = h->be[i]->info.userdirs->files[f].show ? calloc(1, GT_USERDIR_TEXT_MAX) : NULL;
	if (!c->big) {
		gt_call_put(h, c);
		return -ENOMEM;
	}
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
	at = index_of(h->be[i], serial);
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
	at = index_of(h->be[i], serial);
	if (at < 0)
		return -ENODEV;
	value = h->be[i]->made[at]->value[f];
	snprintf(buf, len, "%s", value ? value : "");
	return 0;
}
