/* SPDX-License-Identifier: GPL-2.0 */
/* The files of the `files` option: opened, read by the child, emitted to the host as fast as they
 * come. */
#include "../lib/detail.h"
#include "../lib/sandbox.h"
#include "../lib/recording.h"
#include "rocprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_MAX 65536	  /* frames a call of drain() */
#define DRAIN_NS  5000000 /* and its time, of a recording */
#define WAIT_NS	  1000000 /* until the child is asked again */

int rp_probe(struct gt_plugin *p)
{
	const struct rp_options *o = p->options;

	if (p->recording && (!o->files || !*o->files))
		return p->host->error(p, ENOENT, "no results to read: mount with -o replay=FOLDER");
	if (p->recording && o->speed && strcmp(o->speed, "0"))
		return p->host->error(
			p, EINVAL, "results are read as fast as it goes: speed= is not for them");
	if (!p->recording && (!o->dirs || !*o->dirs) && !rp_jobs_wait(p))
		return p->host->error(
			p, ENOENT,
			"no folder is watched for results: write one to backends/rocprof/dirs, "
			"then rescan to control, set dirs in section [backend rocprof], or "
			"mkdir a job in backends/rocprof/jobs");
	return 0;
}

void rp_stop(struct gt_plugin *p)
{
	struct rp *r = p->priv;

	if (!r)
		return;
	for (unsigned int i = 0; i < RP_READERS; i++)
		if (r->reader[i].on)
			rp_reader_end(r, &r->reader[i], NULL);
	for (unsigned int i = 0; i < RP_USERS; i++)
		if (r->user[i].left)
			gt_reap_leave(r->user[i].left);
	rp_emitter_free(r->emitter);
	if (r->files.live && r->files.inotify >= 0)
		close(r->files.inotify);
	rp_files_free(&r->files);
	free(r);
	p->priv = NULL;
}

/* Those that came after the host had unpacked the others, or more than are read */
static int say_packed(struct rp *r, const char *files)
{
	return r->p->host->error(r->p, ENOTSUP,
				 "%s: %u results in it are compressed, and left out: name each in "
				 "replay=, or unpack them",
				 files, r->files.packed);
}

static int say_none(struct rp *r, const char *files)
{
	for (unsigned int i = 0; i < r->files.n; i++)
		if (*r->files.file[i].error)
			return r->p->host->error(r->p, ENOENT, "%s: no results in it: %s %s", files,
						 rp_base_of(r->files.file[i].path),
						 r->files.file[i].error);
	return r->p->host->error(r->p, ENOENT, "%s: no results in it", files);
}

/* Whatever of it can be read, is: only nothing at all is a failure. */
static int open_files(struct rp *r, const char *files)
{
	char *list = strdup(files), *rest = list;
	unsigned int good = 0;
	int ret = list ? 0 : -ENOMEM, bad = 0;

	for (char *f = ret ? NULL : gt_path_next(&rest, ':'); f; f = gt_path_next(&rest, ':'))
		bad = rp_files_add(r->p, &r->files, f);
	free(list);
	rp_files_once(&r->files);
	for (unsigned int i = 0; i < r->files.n; i++)
		good += r->files.file[i].source.fd >= 0;
	if (ret || (good && !r->files.packed))
		return ret;
	if (r->files.packed)
		bad = say_packed(r, files);
	if (good)
		return 0;
	return bad ? bad : say_none(r, files);
}

static void watch_pipe(struct rp *r, struct rp_reader *rd, bool on)
{
	if (rd->watched != on)
		r->p->host->watch(r->p, rd->child.fd, on);
	rd->watched = on;
}

int rp_reader_begin(struct rp *r, struct rp_reader *rd, const struct rp_source *s)
{
	uint64_t cpu_s = rp_child_cpu(s, rd->n);
	int ret = -ENOMEM;

	rd->idle = rd->dry = rd->watched = false;
	rd->child = (struct rp_child){ .fd = -1 };
	rd->begun = r->p->host->now(r->p);
	rd->said = rp_said_new(r->emitter, rd->index, rd->n);
	if (rd->user)
		cpu_s = rp_user_begins(r, rd->user, cpu_s, &rd->idle);
	if (rd->said)
		ret = rp_child_start(r->p, &rd->child, s, rd->n, cpu_s);
	rd->on = true;
	r->reading++;
	if (!ret && rd->idle)
		rp_child_idle(&rd->child);
	if (!ret && rd->user)
		watch_pipe(r, rd, true);
	return ret;
}

/* A reading that failed half-way is not tried again: its rows would be emitted twice. */
static void mark(struct rp_file *f, bool failed)
{
	f->state = failed ? "failed" : "read";
	f->once = f->source.live && (failed || !strcmp(f->table, "json"));
}

void rp_reader_end(struct rp *r, struct rp_reader *rd, const char *failed)
{
	uint64_t cpu_ns = 0;
	bool refused = false;
	pid_t left;

	watch_pipe(r, rd, false);
	left = rp_child_end(&rd->child, &cpu_ns);
	if (left && rd->user) {
		rd->user->left = left;
		rd->user->left_at = r->p->host->now(r->p);
	} else if (left) {
		gt_reap_leave(left);
	}
	rp_said_free(rd->said);
	rd->said = NULL;
	rd->on = false;
	r->reading--;
	r->ended = r->p->recording;
	for (unsigned int i = 0; i < rd->n; i++) {
		struct rp_file *f = &r->files.file[rd->index[i]];

		f->read = false;
		refused |= !strcmp(f->state, "refused") && f->rows;
		if (strcmp(f->state, "reading")) /* it says already what came of it */
			continue;
		mark(f, failed);
		if (failed && !*f->error)
			snprintf(f->error, sizeof(f->error), "%s", failed);
	}
	if (rd->user)
		rp_user_ended(r, rd->user, cpu_ns, failed || refused);
	if (r->files.later && !r->dirty)
		r->dirty = r->p->host->now(r->p);
}

static int read_files(struct rp *r)
{
	struct rp_reader *rd = &r->reader[0];
	struct rp_source s[RP_FILES];
	int ret;

	for (unsigned int i = 0; i < r->files.n; i++) {
		struct rp_file *f = &r->files.file[i];

		if (f->source.fd < 0)
			continue;
		f->state = "reading";
		f->read = true;
		s[rd->n] = f->source;
		rd->index[rd->n++] = (uint16_t)i;
	}
	ret = rp_reader_begin(r, rd, s);
	rp_files_close(&r->files);
	return ret;
}

int rp_start(struct gt_plugin *p)
{
	const struct rp_options *o = p->options;
	struct rp *r = calloc(1, sizeof(*r));
	int ret = rp_probe(p);

	if (!r)
		return p->host->error(p, ENOMEM, "no memory");
	p->priv = r;
	r->p = p;
	if (!ret && !p->recording)
		ret = rp_watch_start(r);
	else if (!ret)
		ret = open_files(r, o->files);
	if (!ret && p->recording) {
		r->emitter = rp_emitter_new(p, &r->files);
		ret = r->emitter ? read_files(r) : p->host->error(p, ENOMEM, "no memory");
	}
	if (ret < 0)
		rp_stop(p);
	else
		p->host->timer(p, 1);
	return ret;
}

/* Is it a row that waits? Where a seek ends it does, if the recording is paused. */
static bool waits_for_play(struct rp *r, const struct rp_row *row)
{
	if (r->seek && rp_row_ts(row) < r->seek)
		return false;
	if (r->seek)
		r->stood = r->seek;
	r->seek = 0;
	return r->paused;
}

#define HELD 2

/* As rp_child_next(); HELD: the next row waits */
static int next_frame(struct rp *r, struct rp_reader *rd, struct rp_frame *f, const uint8_t **data,
		      char *err, size_t len)
{
	int ret;

	if (r->held) {
		if (waits_for_play(r, &r->row))
			return HELD;
		r->held = false;
		*f = r->frame;
		*data = (const uint8_t *)&r->row;
		return 1;
	}
	ret = rp_child_next(r->p, &rd->child, f, data, err, len);
	if (ret <= 0 || !(r->paused || r->seek) || f->kind != RP_ROW || f->len != sizeof(r->row))
		return ret;
	memcpy(&r->row, *data, sizeof(r->row));
	r->held = waits_for_play(r, &r->row);
	r->frame = *f;
	return r->held ? HELD : ret;
}

/* May another frame be taken? What is more than its user's share waits in the pipe */
static bool may_take(struct rp *r, struct rp_reader *rd, uint64_t now)
{
	bool dry = !rp_user_may(r, rd->user, now);

	if (dry && !rd->dry)
		rd->user->waits++;
	if (dry != rd->dry) {
		rd->dry = dry;
		watch_pipe(r, rd, !dry);
	}
	if (dry)
		rd->child.since = now; /* it is we who are silent */
	return !dry;
}

int rp_hear(struct rp *r, struct rp_reader *rd, uint64_t ns, bool *waits)
{
	uint64_t now = r->p->host->now(r->p), until = now + ns;
	const uint8_t *data;
	struct rp_frame f;
	char err[128];
	int n = 0, ret = 0;

	for (unsigned int i = 1; i < DRAIN_MAX; i++) {
		if (rd->user && !may_take(r, rd, now)) {
			*waits = true;
			break;
		}
		ret = next_frame(r, rd, &f, &data, err, sizeof(err));
		if (ret <= 0 || ret == HELD) {
			*waits = !ret;
			break;
		}
		if (f.kind == RP_END) {
			rp_reader_end(r, rd, NULL);
			return n;
		}
		if (rd->user)
			rp_user_took(rd->user);
		ret = rp_emit_frame(r->emitter, rd->said, &f, data);
		if (ret < 0) {
			snprintf(err, sizeof(err), "the reader failed on these files");
			break;
		}
		n += ret;
		if (i % 16) /* some take a millisecond each */
			continue;
		now = r->p->host->now(r->p);
		if (now >= until)
			break;
	}
	if (ret >= 0)
		return n;
	rp_reader_end(r, rd, err); /* what it emitted until then stays */
	r->p->host->error(r->p, EIO, "%s", err);
	return n;
}

static void emit_position(struct rp *r)
{
	uint64_t pos = rp_emitter_position(r->emitter);

	if (r->stood > pos)
		pos = r->stood;
	if (pos)
		r->p->host->watermark(r->p, pos);
}

int rp_set(struct gt_plugin *p, const struct gt_option *o)
{
	return p->recording ? p->host->error(p, EOPNOTSUPP, "a recording is played")
			    : rp_watch_look(p->priv);
}

/* The reader waits as long as nobody takes what it says. */
static int control_recording(struct rp *r, enum gt_control what, int64_t arg)
{
	switch (what) {
	case GT_CTL_PAUSE:
		r->paused = true;
		emit_position(r);
		r->p->host->timer(r->p, 0);
		return 0;
	case GT_CTL_RESUME:
		r->paused = false;
		break;
	case GT_CTL_SEEK:
		r->seek = arg > 0 ? (uint64_t)arg : 0;
		break;
	default:
		return -EOPNOTSUPP;
	}
	r->reader[0].child.since = r->p->host->now(r->p);
	r->p->host->timer(r->p, 1);
	return 0;
}

int rp_control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	if (p->recording)
		return control_recording(p->priv, what, arg);
	if (what == GT_CTL_USERDIR)
		return rp_watch_soon(p->priv);
	if (what != GT_CTL_RESCAN)
		return -EOPNOTSUPP;
	return rp_watch_look(p->priv);
}

/* All that was to be played was refused: a tree of nothing would say so nowhere. -errno */
static int say_nothing(struct rp *r)
{
	const struct rp_file *first = NULL;
	unsigned int n = 0;
	bool read = false;

	for (unsigned int i = 0; i < r->files.n; i++) {
		const struct rp_file *f = &r->files.file[i];

		if (f->rows)
			return 0;
		read |= !strcmp(f->state, "read");
		n++;
		if (!first && *f->error)
			first = f;
	}
	if (!first && n)
		r->p->host->error(r->p, ENODATA, "none of its files has a row that can be shown");
	if (!first || read)
		return 0;
	if (n == 1)
		return r->p->host->error(r->p, EBADMSG, "%s: %s", first->path, first->error);
	return r->p->host->error(r->p, EBADMSG, "%s: %s; nor can %u other files be read",
				 first->path, first->error, n - 1);
}

int rp_drain(struct gt_plugin *p)
{
	struct rp *r = p->priv;
	bool waits = false;
	int n;

	if (!p->recording)
		return rp_watch_drain(r);
	if (r->ended)
		return -ENODATA;
	n = rp_hear(r, &r->reader[0], DRAIN_NS, &waits);
	rp_emit_flush(r->emitter);
	if (r->ended && say_nothing(r) < 0)
		return -EBADMSG;
	emit_position(r);
	if (r->held && r->paused && !r->seek)
		return n;
	p->host->timer(p, waits ? WAIT_NS : 1);
	return n ? n : 1;
}

/* A file that was not read has no table: why, the table `files` says. */
static const char *kind_of(const struct rp_file *f)
{
	if (strcmp(f->state, "read") && strcmp(f->state, "reading") && !f->count.events)
		return f->state;
	return *f->table ? f->table : f->state;
}

void rp_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	struct rp *r = p->priv;
	uint64_t rows = 0, faults = 0;
	unsigned int refused = 0;
	struct gt_details d = { buf, len };

	if (!len)
		return;
	*buf = '\0';
	if (!r)
		return;
	for (unsigned int i = 0; i < r->files.n; i++) {
		rows += r->files.file[i].rows;
		faults += r->files.file[i].faults;
		refused += !strcmp(r->files.file[i].state, "refused");
	}
	gt_detail(&d, "files %u\nfiles_refused %u\nfiles_left_out %u\n", r->files.n, refused,
		  r->files.left_out);
	gt_detail(&d, "files_compressed %u\nfolders_too_deep %u\n", r->files.packed, r->files.deep);
	if (p->recording)
		gt_detail(&d, "files_other %u\n", r->files.others);
	for (unsigned int i = 0; p->recording && i < r->files.others && i < RP_OTHERS; i++)
		gt_detail(&d, "file_other%u %s\n", i, r->files.other[i]);
	gt_detail(&d, "rows %llu\nfaults %llu\n", (unsigned long long)rows,
		  (unsigned long long)faults);
	if (r->emitter)
		rp_emitter_detail(r->emitter, &d);
	if (!p->recording)
		gt_detail(&d, "folders %u\nreaders_left %u\n", r->files.watches, gt_reap_left());
	if (!p->recording && d.left > 256)
		p->host->clock_lines(p, GT_CLOCK_ID_BOOTTIME, d.p, d.left);
	for (unsigned int i = 0; p->recording && i < r->files.n; i++)
		gt_file_detail(&d, i, r->files.file[i].path, kind_of(&r->files.file[i]),
			       &r->files.file[i].count);
}

#define PATH_WORD 512 /* bytes of a path that are shown */
#define ROW_MAX	  1000
static_assert(RP_LIVE_FILES * ROW_MAX < GT_BACKEND_TEXT_MAX, "all rows fit");
static_assert(PATH_WORD + sizeof(((struct rp_file *)0)->error) + 3 < ROW_MAX, "problems, too");

void rp_show_files(struct gt_plugin *p, char *buf, size_t len)
{
	const struct rp *r = p->priv;
	struct gt_details d = { buf, len };
	char path[PATH_WORD];

	for (unsigned int i = 0; r && i < r->files.n; i++) {
		const struct rp_file *f = &r->files.file[i];

		gt_word(path, sizeof(path), f->path);
		gt_detail(&d, "%s %s ", f->state, *f->table ? f->table : "-");
		if (f->uid == GT_NONE32)
			gt_detail(&d, "-");
		else
			gt_detail(&d, "%u", f->uid);
		gt_detail(&d, " %llu %llu %s\n", (unsigned long long)f->rows,
			  (unsigned long long)f->faults, path);
	}
}

void rp_show_problems(struct gt_plugin *p, char *buf, size_t len)
{
	const struct rp *r = p->priv;
	struct gt_details d = { buf, len };
	char path[PATH_WORD];

	for (unsigned int i = 0; r && i < r->files.n; i++) {
		const struct rp_file *f = &r->files.file[i];

		gt_word(path, sizeof(path), f->path);
		if (*f->error)
			gt_detail(&d, "%s: %s\n", path, f->error);
	}
}

void rp_file_calls(struct gt_plugin *p, char *buf, size_t len)
{
	const struct rp *r = p->priv;

	*buf = '\0';
	if (r && r->emitter)
		rp_show_calls(r->emitter, buf, len);
}

void rp_file_allocations(struct gt_plugin *p, char *buf, size_t len)
{
	const struct rp *r = p->priv;

	*buf = '\0';
	if (r && r->emitter)
		rp_show_allocations(r->emitter, buf, len);
}
