/* SPDX-License-Identifier: GPL-2.0 */
/* A write to a setting: checked as a whole, stored, and told in last_cmd_status and error_log. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "node.h"
#include "perms.h"
#include "setting.h"
#include "writelog.h"

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

/* Whose turn it is to be logged: who writes all the time does not fill the log */
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

static void tell(struct gt_app *app, const struct gt_refused *r, bool repeat)
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

int gt_tree_store(const struct gt_show *s, const char *path, const char *data, size_t len,
		  bool repeat)
{
	struct gt_refused r = { .uid = s->view.uid,
				.pid = s->view.pid,
				.own_pid = s->view.own_pid,
				.ns = s->view.ns,
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
		tell(s->app, &r, repeat);
	if (!ret && s->obj.kind != GT_DIR_MADE) /* what is a user's own is not the machine's business */
		log_change(&r);
	return ret;
}

void gt_store_tell(struct gt_app *app, const struct gt_view *v, const char *path, const char *value,
		   int ret, const char *sentence)
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
		tell(app, &r, false);
}
