/* SPDX-License-Identifier: GPL-2.0 */
/* The files of the `files` option: opened, read by the child, told to the host as fast as they
 * come. */
#include "../detail.h"
#include "play.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_MAX 65536	  /* frames a call of drain() */
#define DRAIN_NS  5000000 /* and its time */
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
	if (r->reading)
		rp_child_end(&r->child);
	rp_teller_free(r->teller);
	if (r->files.live && r->files.inotify >= 0)
		close(r->files.inotify);
	rp_files_free(&r->files);
	free(r);
	p->priv = NULL;
}

/* Whatever of it can be read, is: only nothing at all is a failure. */
static int open_files(struct rp *r, const char *files)
{
	char *list = strdup(files), *save = NULL;
	unsigned int good = 0;
	int ret = list ? 0 : -ENOMEM, bad = 0;

	for (char *f = ret ? NULL : strtok_r(list, ":", &save); f; f = strtok_r(NULL, ":", &save))
		bad = rp_files_add(r->p, &r->files, f);
	free(list);
	rp_files_once(&r->files);
	for (unsigned int i = 0; i < r->files.n; i++)
		good += r->files.file[i].source.fd >= 0;
	if (!ret && !good)
		ret = bad ? bad : r->p->host->error(r->p, ENOENT, "%s: no results in it", files);
	return ret;
}

static int read_files(struct rp *r)
{
	struct rp_source s[RP_FILES];
	unsigned int n = 0;
	int ret;

	/* those that could not be opened go to the end, so that both sides count alike */
	for (unsigned int i = 0; i < r->files.n; i++) {
		struct rp_file tmp = r->files.file[i];

		if (tmp.source.fd < 0)
			continue;
		r->files.file[i] = r->files.file[n];
		r->files.file[n] = tmp;
		r->files.file[n].state = "reading";
		s[n++] = tmp.source;
	}
	ret = rp_child_start(r->p, &r->child, s, n);
	r->reading = true;
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
	r->child.fd = -1;
	if (!ret && !p->recording)
		ret = rp_watch_start(r);
	else if (!ret)
		ret = open_files(r, o->files);
	if (!ret && p->recording) {
		r->teller = rp_teller_new(p, &r->files);
		ret = r->teller ? read_files(r) : p->host->error(p, ENOMEM, "no memory");
	}
	if (ret < 0)
		rp_stop(p);
	else
		p->host->timer(p, 1);
	return ret;
}

/* Where a reading @failed that got on, what was told is not told again by another. */
static void finish(struct rp *r, bool failed)
{
	rp_child_end(&r->child);
	r->reading = false;
	r->ended = r->p->recording;
	for (unsigned int i = 0; i < r->files.n; i++) {
		struct rp_file *f = &r->files.file[i];

		if (strcmp(f->state, "reading"))
			continue;
		f->state = failed ? "failed" : "read";
		f->once = f->source.live && (failed || !strcmp(f->table, "json"));
	}
}

int rp_hear(struct rp *r, bool *waits)
{
	uint64_t until = r->p->host->now(r->p) + DRAIN_NS;
	const uint8_t *data;
	struct rp_frame f;
	char err[128];
	int n = 0, ret;

	for (unsigned int i = 1; i < DRAIN_MAX; i++) {
		ret = rp_child_next(r->p, &r->child, &f, &data, err, sizeof(err));
		if (ret <= 0) {
			*waits = !ret;
			break;
		}
		if (f.kind == RP_END) {
			finish(r, false);
			return n;
		}
		ret = rp_tell(r->teller, &f, data);
		if (ret < 0) {
			snprintf(err, sizeof(err), "the reader failed on these files");
			break;
		}
		n += ret;
		if (i % 256 == 0 && r->p->host->now(r->p) >= until)
			break;
	}
	if (ret >= 0)
		return n;
	finish(r, true); /* what was told until then stands */
	r->p->host->error(r->p, EIO, "%s", err);
	return n;
}

int rp_set(struct gt_plugin *p, const struct gt_option *o)
{
	return p->recording ? p->host->error(p, EOPNOTSUPP, "a recording is played")
			    : rp_watch_look(p->priv);
}

int rp_control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	if (!p->recording && what == GT_CTL_MADE)
		return rp_watch_soon(p->priv);
	if (p->recording || what != GT_CTL_RESCAN)
		return -EOPNOTSUPP;
	return rp_watch_look(p->priv);
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
	n = rp_hear(r, &waits);
	rp_tell_flush(r->teller);
	if (rp_teller_position(r->teller))
		p->host->watermark(p, rp_teller_position(r->teller));
	p->host->timer(p, waits ? WAIT_NS : 1);
	return n ? n : 1;
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
	gt_detail(&d, "files %u\nfiles_refused %u\nfiles_left_out %u\nrows %llu\nfaults %llu\n",
		  r->files.n, refused, r->files.left_out, (unsigned long long)rows,
		  (unsigned long long)faults);
	if (!p->recording)
		gt_detail(&d, "folders %u\nreaders_left %u\n", r->files.watches, rp_child_left());
	if (!p->recording && d.left > 256)
		p->host->clock_lines(p, GT_CLOCK_ID_BOOTTIME, d.p, d.left);
}

void rp_path_word(char *out, size_t len, const char *s)
{
	size_t i;

	for (i = 0; s[i] && i < len - 1; i++)
		out[i] = s[i] <= ' ' || s[i] >= 0x7f ? '?' : s[i];
	out[i] = '\0';
}

void rp_show_files(struct gt_plugin *p, char *buf, size_t len)
{
	const struct rp *r = p->priv;
	struct gt_details d = { buf, len };
	char path[512];

	gt_detail(&d, "# state table uid rows faults path error\n");
	for (unsigned int i = 0; r && i < r->files.n && d.left > 1024; i++) {
		const struct rp_file *f = &r->files.file[i];

		rp_path_word(path, sizeof(path), f->path);
		gt_detail(&d, "%s %s ", f->state, *f->table ? f->table : "-");
		if (f->uid == GT_NONE32)
			gt_detail(&d, "-");
		else
			gt_detail(&d, "%u", f->uid);
		gt_detail(&d, " %llu %llu %s %s\n", (unsigned long long)f->rows,
			  (unsigned long long)f->faults, path, *f->error ? f->error : "-");
	}
}

void rp_file_calls(struct gt_plugin *p, char *buf, size_t len)
{
	const struct rp *r = p->priv;

	*buf = '\0';
	if (r && r->teller)
		rp_show_calls(r->teller, buf, len);
}

void rp_file_memory(struct gt_plugin *p, char *buf, size_t len)
{
	const struct rp *r = p->priv;

	*buf = '\0';
	if (r && r->teller)
		rp_show_memory(r->teller, buf, len);
}
