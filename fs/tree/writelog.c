/* SPDX-License-Identifier: GPL-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../procfile.h"
#include "writelog.h"

/* Whose an entry is, and when it was made. @apart: in another PID namespace */
struct writer {
	uint64_t used; /* gen of the write; 0: free */
	uint32_t uid;
	bool apart;
};

struct caller {
	struct writer by;
	uint32_t session;
	char sentence[GT_WRITELOG_STATUS];
};

struct refused {
	struct writer by;
	struct gt_refused r;
};

struct gt_writelog {
	pthread_mutex_t lock;
	uint64_t gen;
	struct refused refused[GT_WRITELOG_ERRORS];
	struct caller caller[GT_WRITELOG_CALLERS];
};

static void unlock(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}

#define LOCK(w)                                                                                    \
	__attribute__((cleanup(unlock), unused)) pthread_mutex_t *locked_ = &(w)->lock;            \
	pthread_mutex_lock(locked_)

struct gt_writelog *gt_writelog_new(void)
{
	struct gt_writelog *w = calloc(1, sizeof(*w));

	if (w)
		pthread_mutex_init(&w->lock, NULL);
	return w;
}

void gt_writelog_free(struct gt_writelog *w)
{
	if (!w)
		return;
	pthread_mutex_destroy(&w->lock);
	free(w);
}

uint32_t gt_writelog_session(uint32_t pid)
{
	unsigned int session = 0;
	char buf[512], *p;

	if (!pid || gt_proc_read(pid, "stat", buf, sizeof(buf)) <= 0)
		return 0;
	/* comm may hold anything, a ')' too: fields begin behind the last one (proc(5)) */
	p = strrchr(buf, ')');
	if (!p || sscanf(p + 1, " %*c %*d %*d %u", &session) != 1)
		return 0;
	return session;
}

/* Entries that begin with a struct writer, see writelog.h; Lock held. */
struct table {
	void *entries;
	size_t size;
	unsigned int n, share;
};

static struct writer *at(const struct table *t, unsigned int i)
{
	return (struct writer *)((char *)t->entries + i * t->size);
}

static bool same(const struct writer *a, const struct writer *b)
{
	return a->uid == b->uid && a->apart == b->apart;
}

/* How many entries are @who's; *@oldest of them, or NULL */
static unsigned int count(const struct table *t, const struct writer *who, struct writer **oldest)
{
	unsigned int n = 0;

	*oldest = NULL;
	for (unsigned int i = 0; i < t->n; i++) {
		struct writer *e = at(t, i);

		if (!e->used || !same(e, who))
			continue;
		n++;
		if (!*oldest || e->used < (*oldest)->used)
			*oldest = e;
	}
	return n;
}

/* The oldest entry of who has most, which is @who rather than another; @own: how many @who has */
static struct writer *of_most(const struct table *t, struct writer *oldest, unsigned int own)
{
	struct writer *best = oldest, *e;
	unsigned int most = own;

	for (unsigned int i = 0; i < t->n; i++) {
		unsigned int n = count(t, at(t, i), &e);

		if (!e || (!e->uid && !e->apart) || n < most ||
		    (n == most && best == oldest && own))
			continue;
		if (n > most || !best || e->used < best->used)
			best = e;
		most = n;
	}
	return best;
}

static struct writer *room(const struct table *t, const struct writer *who)
{
	struct writer *oldest, *free_one = NULL;
	unsigned int own = count(t, who, &oldest);

	for (unsigned int i = 0; i < t->n && !free_one; i++)
		if (!at(t, i)->used)
			free_one = at(t, i);
	if (own >= t->share)
		return oldest;
	return free_one ? free_one : of_most(t, oldest, own);
}

static struct caller *find(struct gt_writelog *w, const struct writer *who, uint32_t session)
{
	for (struct caller *c = w->caller; c < w->caller + GT_WRITELOG_CALLERS; c++)
		if (c->by.used && same(&c->by, who) && c->session == session)
			return c;
	return NULL;
}

void gt_writelog_status(struct gt_writelog *w, uint32_t uid, uint64_t ns, uint32_t session,
			const char *sentence)
{
	const struct table t = { w->caller, sizeof(*w->caller), GT_WRITELOG_CALLERS,
				 GT_WRITELOG_CALLERS_1 };
	const struct writer who = { .uid = uid, .apart = ns != GT_PIDNS_OWN };
	struct caller *c;

	LOCK(w);
	c = find(w, &who, session);
	if (!c)
		c = (struct caller *)room(&t, &who);
	c->by = who;
	c->by.used = ++w->gen;
	c->session = session;
	snprintf(c->sentence, sizeof(c->sentence), "%s", sentence);
}

void gt_writelog_refused(struct gt_writelog *w, const struct gt_refused *r)
{
	const struct table t = { w->refused, sizeof(*w->refused), GT_WRITELOG_ERRORS,
				 GT_WRITELOG_ERRORS_1 };
	const struct writer who = { .uid = r->uid, .apart = r->ns != GT_PIDNS_OWN };
	struct refused *to;

	LOCK(w);
	to = (struct refused *)room(&t, &who);
	to->by = who;
	to->by.used = ++w->gen;
	to->r = *r;
	to->r.realtime = (int64_t)time(NULL);
}

uint64_t gt_writelog_gen(struct gt_writelog *w)
{
	LOCK(w);
	return w->gen;
}

void gt_writelog_show_status(struct gt_writelog *w, struct gt_text *t, const struct gt_view *v)
{
	const struct writer who = { .uid = v->uid, .apart = v->ns != GT_PIDNS_OWN };
	uint32_t session = gt_writelog_session(v->pid);
	const struct caller *c;

	LOCK(w);
	c = find(w, &who, session);
	gt_text_str(t, c ? c->sentence : "ok");
	gt_text_ch(t, '\n');
}

/* Printable ASCII as it is, all else as \xNN; returns how many columns it takes. */
static size_t quoted(struct gt_text *t, unsigned char c)
{
	if (c >= 0x20 && c < 0x7f && c != '\\' && c != '"') {
		gt_text_ch(t, (char)c);
		return 1;
	}
	gt_text_printf(t, "\\x%02x", c);
	return 4;
}

static void show_refused(struct gt_text *t, const struct gt_refused *r, uint32_t pid)
{
	size_t kept = r->len < sizeof(r->value) ? r->len : sizeof(r->value), column = 0, caret = 0;
	const char *name = strerrorname_np(r->err);
	time_t when = (time_t)r->realtime;
	char date[32] = "-";
	struct tm tm;

	if (gmtime_r(&when, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	gt_text_printf(t, "[%s] %s uid=%u", date, r->path, r->uid);
	if (pid)
		gt_text_gkv(t, "pid", pid);
	gt_text_printf(t, " %s\n    \"", name ? name : "EIO");
	for (size_t i = 0; i < kept; i++) {
		if (i == r->at)
			caret = column;
		column += quoted(t, (unsigned char)r->value[i]);
	}
	if (r->at == kept)
		caret = column;
	gt_text_str(t, kept < r->len ? "\"...\n" : "\"\n");
	if (r->at <= kept)
		gt_text_printf(t, "%*s^\n", (int)caret + 5, "");
	gt_text_printf(t, "    %s\n", r->sentence);
}

/* The first one after that of @used, or NULL. Lock held. */
static const struct refused *next(const struct gt_writelog *w, uint64_t used)
{
	const struct refused *best = NULL;

	for (const struct refused *e = w->refused; e < w->refused + GT_WRITELOG_ERRORS; e++)
		if (e->by.used > used && (!best || e->by.used < best->by.used))
			best = e;
	return best;
}

void gt_writelog_show_errors(struct gt_writelog *w, struct gt_text *t, const struct gt_view *v)
{
	const struct refused *e;
	uint64_t used = 0;

	LOCK(w);
	for (; (e = next(w, used)); used = e->by.used) {
		const struct gt_refused *r = &e->r;

		if (v->all)
			show_refused(t, r, r->pid);
		else if (v->ns == r->ns && (v->there || v->uid == r->uid))
			show_refused(t, r, r->own_pid);
	}
}
