/* SPDX-License-Identifier: GPL-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../procfile.h"
#include "writelog.h"

struct caller {
	uint64_t used; /* gen of the write; 0: free */
	uint32_t uid, session;
	char sentence[GT_WRITELOG_SENTENCE];
};

struct gt_writelog {
	pthread_mutex_t lock;
	uint64_t gen;
	uint64_t nrefused; /* ever; entry i is at i % GT_WRITELOG_ERRORS */
	struct gt_refused refused[GT_WRITELOG_ERRORS];
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

/* The caller's entry, or the one to give to them: free, or the longest unused. Lock held. */
static struct caller *entry_of(struct gt_writelog *w, uint32_t uid, uint32_t session)
{
	struct caller *oldest = &w->caller[0];

	for (struct caller *c = w->caller; c < w->caller + GT_WRITELOG_CALLERS; c++) {
		if (c->used && c->uid == uid && c->session == session)
			return c;
		if (c->used < oldest->used)
			oldest = c;
	}
	return oldest;
}

void gt_writelog_status(struct gt_writelog *w, uint32_t uid, uint32_t session, const char *sentence)
{
	struct caller *c;

	LOCK(w);
	c = entry_of(w, uid, session);
	c->used = ++w->gen;
	c->uid = uid;
	c->session = session;
	snprintf(c->sentence, sizeof(c->sentence), "%s", sentence);
}

void gt_writelog_refused(struct gt_writelog *w, const struct gt_refused *r)
{
	struct gt_refused *to;

	LOCK(w);
	to = &w->refused[w->nrefused++ % GT_WRITELOG_ERRORS];
	*to = *r;
	to->realtime = (int64_t)time(NULL);
	w->gen++;
}

uint64_t gt_writelog_gen(struct gt_writelog *w)
{
	LOCK(w);
	return w->gen;
}

void gt_writelog_show_status(struct gt_writelog *w, struct gt_text *t, const struct gt_view *v)
{
	uint32_t session = gt_writelog_session(v->pid);
	const struct caller *c;

	LOCK(w);
	c = entry_of(w, v->uid, session);
	if (c->used && c->uid == v->uid && c->session == session)
		gt_text_str(t, c->sentence);
	else
		gt_text_str(t, "ok");
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

void gt_writelog_show_errors(struct gt_writelog *w, struct gt_text *t, const struct gt_view *v)
{
	const struct gt_refused *r;
	uint64_t i;

	LOCK(w);
	i = w->nrefused > GT_WRITELOG_ERRORS ? w->nrefused - GT_WRITELOG_ERRORS : 0;
	for (; i < w->nrefused; i++) {
		r = &w->refused[i % GT_WRITELOG_ERRORS];
		if (v->all)
			show_refused(t, r, r->pid);
		else if (v->ns == r->ns && (v->there || v->uid == r->uid))
			show_refused(t, r, r->own_pid);
	}
}
