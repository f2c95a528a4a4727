/* SPDX-License-Identifier: GPL-2.0 */
/* config/: what is recorded. A setting is applied to the gate, and passed on to backends that can apply it. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "../../conf/list.h"
#include "../../conf/profile.h"
#include "../processes.h"
#include "internal.h"
#include "tree.h"

static int gt_setting_value(const struct gt_show *s, const char *value, struct gt_conf_value *v,
			    char *err, size_t len);

/* The owner of an entry, and when it was made. @apart: in another PID namespace */
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

/* Entries that begin with a struct writer, see tree.h; lock held. */
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

/** gt_writelog_refused() - one more line of the error log; @r->realtime is filled in */
static void gt_writelog_refused(struct gt_writelog *w, const struct gt_refused *r)
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

/* Printable ASCII as it is, all else as \NNN; returns how many columns it takes. */
static size_t quoted(struct gt_text *t, unsigned char c)
{
	if (c >= 0x20 && c < 0x7f && c != '\\' && c != '"') {
		gt_text_ch(t, (char)c);
		return 1;
	}
	gt_text_printf(t, "\\%03o", c);
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

/* A write to a setting: checked as a whole, stored, and reported in last_cmd_status and error_log. */

#define VALUE_MAX 4096

/* The kernel has checked this already, but it lets capabilities pass, and mount options decide it.
 */
static int may_write(const struct gt_show *s, char *err, size_t len)
{
	struct gt_perms p = gt_perms_of(s->app, &s->obj, s->file);
	char said[64];

	if (gt_perms_may(&p, &s->view, 2))
		return 0;
	gt_perms_say(&p, said, sizeof(said));
	snprintf(err, len, "uid %u may not write this setting: it has %s", s->view.uid, said);
	return -EACCES;
}

/* @len: as it was written; @value has it without what gt_parse_trim() takes off, if it fits */
static int try_store(const struct gt_show *s, const char *value, bool text, size_t len, char *err,
		     size_t errlen)
{
	int ret;

	if (!s->file->store) {
		snprintf(err, errlen, "%s cannot be written", s->file->name);
		return -EACCES;
	}
	if (s->view.ns != GT_PIDNS_OWN) {
		snprintf(err, errlen, "settings are not for processes of another PID namespace");
		return -EPERM;
	}
	ret = may_write(s, err, errlen);
	if (ret)
		return ret;
	if (len > VALUE_MAX) {
		snprintf(err, errlen, "a value has at most %d bytes, this one %zu", VALUE_MAX, len);
		return -E2BIG;
	}
	if (!text) {
		gt_parse_at = value + strlen(value);
		snprintf(err, errlen, "a value is one line of text, this one has a NUL byte");
		return -EINVAL;
	}
	if (strchr(value, '\n')) {
		gt_parse_at = strchr(value, '\n');
		snprintf(err, errlen, "a value is one line; each write is one whole value");
		return -EINVAL;
	}
	ret = s->file->store(s, value, err, errlen);
	if (!ret && s->obj.kind == GT_DIR_CONFIG)
		gt_setting_changed(s, err, errlen);
	if (ret && !*err)
		snprintf(err, errlen, "%s", strerror(-ret));
	return ret;
}

#define LINES_MAX 20 /* of one second in the log */

/* Who is logged next: a user who writes all the time does not fill the log */
static bool may_log(void)
{
	static _Atomic uint64_t second;
	static _Atomic unsigned int lines;
	uint64_t now = (uint64_t)time(NULL);

	if (atomic_exchange(&second, now) != now)
		lines = 0;
	return lines++ < LINES_MAX;
}

/* A setting or command that holds from now on, and who wanted it */
static void log_change(const struct gt_refused *r)
{
	char value[GT_WRITELOG_VALUE + 1];
	size_t n = r->len < GT_WRITELOG_VALUE ? r->len : GT_WRITELOG_VALUE;

	if (!may_log())
		return;
	for (size_t i = 0; i < n; i++)
		value[i] = r->value[i] >= ' ' && r->value[i] < 0x7f ? r->value[i] : '?';
	value[n] = '\0';
	syslog(LOG_NOTICE, "%s: '%s'%s by uid %u, pid %u", r->path, value, n < r->len ? "..." : "",
	       r->uid, r->pid);
}

static void log_refused(struct gt_app *app, const struct gt_refused *r, bool repeat)
{
	struct gt_writelog *w = app->writes;
	char line[GT_WRITELOG_STATUS];

	if (r->err)
		snprintf(line, sizeof(line), "%s: %s", r->path, r->sentence);
	else
		snprintf(line, sizeof(line), "%s", *r->sentence ? r->sentence : "ok");
	gt_writelog_status(w, r->uid, r->ns, gt_writelog_session(r->pid), line);
	if (r->err && !repeat)
		gt_writelog_refused(w, r);
}

int gt_tree_store(const struct gt_show *s, const struct gt_view *writer, const char *path,
		  const char *data, size_t len, bool repeat)
{
	struct gt_refused r = { .uid = writer->uid,
				.pid = writer->pid,
				.own_pid = writer->own_pid,
				.ns = writer->ns,
				.at = GT_NONE32 };
	char value[VALUE_MAX + 1] = "";
	bool raw = len > VALUE_MAX || memchr(data, '\0', len);
	uintptr_t at;
	int ret;

	if (len <= VALUE_MAX) {
		memcpy(value, data, len);
		gt_parse_trim(value, len);
	}
	gt_parse_at = NULL;
	ret = try_store(s, value, !raw, len, r.sentence, sizeof(r.sentence));
	at = (uintptr_t)gt_parse_at;
	r.err = -ret;
	/* what was to be parsed; or what was written, if it was not even a line of text */
	r.len = raw ? len : strlen(value);
	memcpy(r.value, raw ? data : value, r.len < sizeof(r.value) ? r.len : sizeof(r.value));
	if (at >= (uintptr_t)value && at <= (uintptr_t)value + r.len)
		r.at = (uint32_t)(at - (uintptr_t)value);
	gt_tree_path(s->app, &s->obj, path, r.path, sizeof(r.path));
	if (s->app->writes)
		log_refused(s->app, &r, repeat);
	if (!ret &&
	    s->obj.kind != GT_DIR_MADE) /* what is a user's own is not the machine's business */
		log_change(&r);
	return ret;
}

void gt_store_report(struct gt_app *app, const struct gt_view *v, const char *path,
		     const char *value, int ret, const char *sentence)
{
	struct gt_refused r = { .uid = v->uid,
				.pid = v->pid,
				.own_pid = v->own_pid,
				.ns = v->ns,
				.err = -ret,
				.len = strlen(value),
				.at = GT_NONE32 };

	snprintf(r.path, sizeof(r.path), "%s", path);
	memcpy(r.value, value, r.len < sizeof(r.value) ? r.len : sizeof(r.value));
	snprintf(r.sentence, sizeof(r.sentence), "%s", ret ? sentence : "");
	if (app->writes)
		log_refused(app, &r, false);
}

void gt_tree_refused(struct gt_app *app, const struct gt_obj *dir, const char *name,
		     const struct gt_view *v, int err, const char *why)
{
	char path[GT_WRITELOG_PATH];

	gt_tree_path(app, dir, name, path, sizeof(path));
	/* anybody makes up names: none may look like another line */
	for (char *c = path; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			*c = '?';
	gt_store_report(app, v, path, "", err, why ? why : strerror(-err));
}

/* What settings have in common: as options.def says they are read, checked and shown. */

const struct gt_conf_item *gt_setting(const char *name)
{
	return gt_conf_item(name);
}

static void *place(const struct gt_show *s, const struct gt_conf_item *it)
{
	return (char *)s->app->conf + it->off;
}

/** gt_setting_now() - a number, yes-or-no or choice as it is; takes the model's lock */
static int64_t gt_setting_now(const struct gt_show *s)
{
	const struct gt_conf_item *it = gt_setting(s->file->name);
	GT_MODEL_LOCK(s->app->model);

	return it->type == GT_CONF_BOOL ? *(bool *)place(s, it) : *(int64_t *)place(s, it);
}

void gt_setting_set(const struct gt_show *s, int64_t value)
{
	struct gt_conf_value v = { .n = value };

	gt_conf_swap(s->app->conf, gt_setting(s->file->name), &v);
}

/* A list as it is */
static void list_now(const struct gt_show *s, const struct gt_conf_item *it,
		     char out[GT_CONF_PATHLEN])
{
	GT_MODEL_LOCK(s->app->model);

	snprintf(out, GT_CONF_PATHLEN, "%s", *(char **)place(s, it));
}

static uint64_t gt_gen_setting(const struct gt_show *s)
{
	const struct gt_conf_item *it = gt_setting(s->file->name);
	char list[GT_CONF_PATHLEN];
	uint64_t h = 0xcbf29ce484222325;

	if (it->type != GT_CONF_LIST)
		return (uint64_t)gt_setting_now(s);
	list_now(s, it, list);
	for (const char *p = list; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3;
	return h;
}

static int gt_show_setting(struct gt_text *t, const struct gt_show *s)
{
	char value[GT_CONF_PATHLEN];
	{
		GT_MODEL_LOCK(s->app->model);
		gt_conf_text(s->app->conf, gt_setting(s->file->name), value, sizeof(value));
	}
	gt_text_str(t, value);
	gt_text_ch(t, '\n');
	return 0;
}

#define AVAILABLE "available_"

/* What the choice that the file's name ends with takes */
static int show_available(struct gt_text *t, const struct gt_show *s)
{
	gt_text_str(t, gt_setting(s->file->name + strlen(AVAILABLE))->names);
	gt_text_ch(t, '\n');
	return 0;
}

static void say_setting(const struct gt_conf_item *it, char *err, size_t len)
{
	if (it->type == GT_CONF_CHOICE)
		snprintf(err, len, "%s takes one of: %s; or its number, from 0", it->key,
			 it->names);
	else if (it->type == GT_CONF_BOOL)
		snprintf(err, len, "%s is 0 or 1: %s", it->key, it->help);
	else
		snprintf(err, len, "%s is a whole number, %" PRId64 " to %" PRId64 ": %s", it->key,
			 it->min, it->max, it->help);
}

int gt_setting_parse(const struct gt_show *s, const char *value, int64_t *out, char *err,
		     size_t len)
{
	struct gt_conf_value v;
	int ret = gt_setting_value(s, value, &v, err, len);

	*out = v.n;
	return ret;
}

/** gt_setting_value() - the same of a setting of any type; for gt_conf_swap() */
static int gt_setting_value(const struct gt_show *s, const char *value, struct gt_conf_value *v,
			    char *err, size_t len)
{
	const struct gt_conf_item *it = gt_setting(s->file->name);
	int ret = gt_conf_parse(it, value, v, err, len);

	if (ret && ret != -ENOMEM && it->type != GT_CONF_LIST)
		say_setting(it, err, len);
	return ret;
}

/*
 * config/buffer_size: asked of every source that has buffers, read back as granted. Each source
 * bounds what it takes by the machine's memory; one may refuse what another grants, and then the
 * sentence says who did what. And config/visibility.
 */

#define KEY "buffer_size"

/* One that runs, or will when level is no longer off */
static bool has_buffers(const struct gt_app *app, const struct gt_backend_info *info)
{
	bool off = info->state == GT_BS_OFF && app->conf->level == GT_LEVEL_OFF;
	const struct gt_option *o = info->options;

	if (info->state != GT_BS_RUNNING && info->state != GT_BS_PAUSED && !off)
		return false;
	while (o && o->name && strcmp(o->name, KEY))
		o++;
	return o && o->name;
}

static int64_t granted(struct gt_app *app, unsigned int i)
{
	char value[32] = "";

	if (gt_host_option_get(app->host, i, KEY, value, sizeof(value)))
		return -1;
	return strtoll(value, NULL, 10);
}

/* The least of all: every source has as much for each CPU */
static int gt_show_buffer_size(struct gt_text *t, const struct gt_show *s)
{
	struct gt_app *app = s->app;
	struct gt_backend_info info;
	int64_t least = -1;

	for (unsigned int i = 0; app->host && gt_host_info(app->host, i, &info); i++) {
		int64_t v = has_buffers(app, &info) ? granted(app, i) : -1;

		if (v >= 0 && (least < 0 || v < least))
			least = v;
	}
	gt_text_i64(t, least >= 0 ? least : gt_setting_now(s));
	gt_text_ch(t, '\n');
	return 0;
}

/** struct answers - of the sources, and what they said: "NAME SENTENCE; NAME SENTENCE" */
struct answers {
	unsigned int took, refused;
	int err; /* of the first that refused */
	char said[512];
};

static void say_sources(struct answers *a, const char *name, const char *what)
{
	size_t n = strlen(a->said);

	snprintf(a->said + n, sizeof(a->said) - n, "%s%s %s", n ? "; " : "", name, what);
}

static void ask(struct gt_app *app, unsigned int i, const char *name, int64_t bytes,
		struct answers *a)
{
	char value[24], why[256] = "", what[320];
	int64_t now;
	int ret;

	snprintf(value, sizeof(value), "%" PRId64, bytes);
	ret = gt_host_option_set(app->host, i, KEY, value, why, sizeof(why));
	now = granted(app, i);
	if (ret) {
		a->refused++;
		a->err = a->err ? a->err : ret;
		snprintf(what, sizeof(what), "keeps %" PRId64 ": %s", now, why);
		say_sources(a, name, what);
		return;
	}
	a->took++;
	snprintf(what, sizeof(what), "grants %" PRId64, now);
	if (now != bytes)
		say_sources(a, name, what);
}

static int gt_store_buffer_size(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_app *app = s->app;
	struct gt_backend_info info;
	struct answers a = { 0 };
	int64_t bytes;
	int ret = gt_setting_parse(s, value, &bytes, err, len);

	if (ret)
		return ret;
	for (unsigned int i = 0; app->host && gt_host_info(app->host, i, &info); i++)
		if (has_buffers(app, &info))
			ask(app, i, info.name, bytes, &a);
	if (!a.took && !a.refused)
		snprintf(a.said, sizeof(a.said), "no source here has buffers");
	snprintf(err, len, "%s", a.said);
	if (a.refused && !a.took)
		return a.err;
	GT_MODEL_LOCK(app->model);
	gt_setting_set(s, bytes);
	return 0;
}

/* What is in effect: of a recording's history, which is in a file, what would be */
static int gt_show_history_size(struct gt_text *t, const struct gt_show *s)
{
	const struct gt_log *l = s->app->log;
	int64_t asked = gt_setting_now(s);
	bool room = asked && l->recs.fd < 0;

	gt_text_i64(t, room ? (int64_t)gt_log_room_bytes(l) : asked);
	gt_text_ch(t, '\n');
	return 0;
}

/* Nothing is copied, and events go on meanwhile. */
static int gt_store_history_size(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_app *app = s->app;
	int64_t bytes;
	int ret = gt_setting_parse(s, value, &bytes, err, len);

	if (ret || bytes == gt_setting_now(s))
		return ret;
	ret = gt_log_resize(app->log, (uint64_t)bytes, &app->model->lock);
	if (ret) {
		snprintf(err, len, "%s",
			 ret == -EOPNOTSUPP
				 ? "the history of a replay is the whole recording, in a file"
			 : ret == -EBUSY ? "somebody reads the history all the time"
					 : strerror(-ret));
		return ret;
	}
	GT_MODEL_LOCK(app->model);
	gt_setting_set(s, bytes);
	app->model->gen++;
	return 0;
}

/* What a file shows is settled when it is opened, and so is who may see it. */
static int gt_store_visibility(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_model *m = s->app->model;
	int64_t v;
	int ret = gt_setting_parse(s, value, &v, err, len);

	if (ret)
		return ret;
	GT_MODEL_LOCK(m);
	gt_setting_set(s, v);
	m->dir_gen++; /* who may look into which process's directory */
	m->gen++;
	return 0;
}

/*
 * Sources attach nothing at `off`, have more events at `verbose`, and at `stats` some count what
 * needs no record then. The host says 0 where nobody minds: then the gate alone does it.
 */
static int report_sources(struct gt_app *app, int64_t from, int64_t to, char *err, size_t len)
{
	int ret;

	if (from == to)
		return 0;
	ret = gt_host_control(app->host, GT_CTL_LEVEL, to, err, len);
	if (!ret)
		*err = '\0';
	return ret;
}

static void set_level(const struct gt_show *s, int64_t level)
{
	GT_MODEL_LOCK(s->app->model);
	gt_setting_set(s, level);
	gt_gate_configure(s->app->gate, s->app->conf);
}

static int store_level(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_app *app = s->app;
	int64_t level, from = gt_setting_now(s);
	int ret = gt_setting_parse(s, value, &level, err, len);

	if (ret)
		return ret;
	/* The gate opens before the sources do, and closes after them: their first and last events
	 * must pass it. */
	if (level > from)
		set_level(s, level);
	if (app->host)
		ret = report_sources(app, from, level, err, len);
	/* One that has begun may be done yet: then the host says so, see gt_sink.level */
	if (!ret || (level > from && ret != -EINPROGRESS))
		set_level(s, ret ? from : level);
	return ret;
}

static void set_gated(const struct gt_show *s, struct gt_conf_value *v)
{
	GT_MODEL_LOCK(s->app->model);

	gt_conf_swap(s->app->conf, gt_setting(s->file->name), v);
	gt_gate_configure(s->app->gate, s->app->conf);
}

/* What the gate does holds when the write returns. */
static int store_gated(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_conf_value v;
	int ret = gt_setting_value(s, value, &v, err, len);

	if (ret)
		return ret;
	set_gated(s, &v);
	gt_conf_drop(&v);
	*err = '\0';
	return 0;
}

static bool filters_on(const struct gt_app *app)
{
	GT_MODEL_LOCK(app->model);
	return app->conf->filter_enabled;
}

static int store_filter(const struct gt_show *s, const char *value, char *err, size_t len)
{
	int ret = store_gated(s, value, err, len);

	if (!ret && *value && !filters_on(s->app))
		snprintf(err, len, "%s is set, but does nothing while filter_enabled is 0",
			 s->file->name);
	return ret;
}

/* Is there a ring that a list of them names, or of a mask of engines? */
static bool any_ring(const struct gt_show *s, const struct gt_patterns *list, uint64_t engines)
{
	const struct gt_show all = { .app = s->app, .obj = { .kind = GT_DIR_ROOT } };
	struct gt_ring_pos p = { 0 };
	const struct gt_ring *r;

	GT_MODEL_LOCK(s->app->model);
	while ((r = gt_ring_next(&all, &p)))
		if (list ? gt_ring_matches(list, s->app->model->gpus[r->gpu]->name, r->id, r->name)
			 : engines >> r->engine & 1)
			return true;
	return false;
}

static bool any_process(const struct gt_show *s, const struct gt_numbers *pids)
{
	GT_MODEL_LOCK(s->app->model);
	for (unsigned int i = 0; i < pids->n; i++)
		if (gt_model_proc(s->app->model, (uint32_t)pids->v[i]))
			return true;
	return false;
}

static bool any_user(const struct gt_show *s, const struct gt_numbers *uids)
{
	GT_MODEL_LOCK(s->app->model);
	for (unsigned int i = 0; i < uids->n; i++)
		if (gt_model_user(s->app->model, (uint32_t)uids->v[i]) != GT_NONE32)
			return true;
	return false;
}

/* Is there any of what the setting names now? @what: one of these */
static bool names_any(const struct gt_show *s, const char *value, const char **what)
{
	const char *name = s->file->name;
	struct gt_patterns rings;
	struct gt_numbers list;
	uint64_t engines;
	char err[64];

	if (!strcmp(name, "filter_pid")) {
		*what = "process";
		return gt_list_numbers(value, UINT32_MAX, false, &list, err, sizeof(err)) ||
		       any_process(s, &list);
	}
	if (!strcmp(name, "filter_uid")) {
		*what = "user";
		return gt_list_numbers(value, UINT32_MAX, false, &list, err, sizeof(err)) ||
		       any_user(s, &list);
	}
	*what = "ring";
	if (!strcmp(name, "filter_engine"))
		return gt_list_engines(value, &engines, err, sizeof(err)) ||
		       any_ring(s, NULL, engines);
	return gt_list_rings(value, true, &rings, err, sizeof(err)) || any_ring(s, &rings, 0);
}

/* One that names nothing is taken, as rings and processes come and go; who made a slip has to hear of it */
static int store_names(const struct gt_show *s, const char *value, char *err, size_t len)
{
	int ret = strcmp(s->file->name, "watchlist") ? store_filter(s, value, err, len)
						     : store_gated(s, value, err, len);
	const char *what;

	if (!ret && *value && !*err && !names_any(s, value, &what))
		snprintf(err, len, "%s is set, but there is no such %s now", s->file->name, what);
	return ret;
}

/* Windows begin anew, at once: none is of two lengths. */
static int store_aggregator(const struct gt_show *s, const char *value, char *err, size_t len)
{
	struct gt_config *c = s->app->conf;
	int64_t v, window;
	int ret = gt_setting_parse(s, value, &v, err, len);

	if (ret || v == gt_setting_now(s))
		return ret;
	{
		GT_MODEL_LOCK(s->app->model);
		gt_setting_set(s, v);
		window = c->aggregator_enable ? c->aggregator_window : 0;
	}
	gt_model_windows(s->app->model, (uint64_t)window * 1000000);
	return 0;
}

/* The help of each key: help_sampling */
#define GT_INT(section, key, def, min, max, unit, h) static const char help_##key[] = h;
#define GT_BOOL(section, key, def, h)		     static const char help_##key[] = h;
#define GT_CHOICE(section, key, def, names, h)	     static const char help_##key[] = h;
#define GT_LIST(section, key, kind, h)		     static const char help_##key[] = h;
#include "../../conf/options.def"

/* One with a value that a key of options.def describes; @store makes it so */
#define SETTING(key, fn)                                                                           \
	{                                                                                          \
		.name = #key, .mode = 0664, .show = gt_show_setting, .store = fn,                  \
		.gen = gt_gen_setting, .help = help_##key                                          \
	}

/* Beside a setting that is a choice */
#define CHOICES(n)                                                                                 \
	{                                                                                          \
		.name = AVAILABLE n, .mode = 0444, .flags = GT_FILE_STATIC,                        \
		.show = show_available, .help = "what " n " takes"                                 \
	}

const struct gt_file gt_config_files[] = {
	SETTING(level, store_level),
	CHOICES("level"),
	SETTING(profile, gt_store_profile),
	CHOICES("profile"),
	SETTING(sampling, store_gated),
	SETTING(sampling_mode, store_gated),
	CHOICES("sampling_mode"),
	SETTING(sampling_budget, store_gated),
	SETTING(sampling_threshold, store_gated),
	SETTING(rate_limit, store_gated),
	SETTING(rate_limit_mode, store_gated),
	CHOICES("rate_limit_mode"),
	SETTING(rate_limit_burst, store_gated),
	SETTING(filter_enabled, store_gated),
	SETTING(filter_pid, store_names),
	SETTING(filter_uid, store_names),
	SETTING(filter_ring, store_names),
	SETTING(filter_engine, store_names),
	SETTING(filter_latency, store_filter),
	SETTING(filter_events, store_filter),
	SETTING(watchlist, store_names),
	SETTING(watchlist_ctx, store_gated),
	SETTING(aggregator_enable, store_aggregator),
	SETTING(aggregator_window, store_aggregator),
	{ .name = "buffer_size",
	  .mode = 0664,
	  .show = gt_show_buffer_size,
	  .store = gt_store_buffer_size,
	  .help = help_buffer_size },
	{ .name = "history_size",
	  .mode = 0664,
	  .show = gt_show_history_size,
	  .store = gt_store_history_size,
	  .gen = gt_gen_setting,
	  .help = help_history_size },
	SETTING(visibility, gt_store_visibility),
	CHOICES("visibility"),
	{ 0 },
};
