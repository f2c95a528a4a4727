/* SPDX-License-Identifier: GPL-2.0 */
/* A model with a few GPUs, processes and events, and how its files are read: for tests of texts. */
#ifndef GT_TEST_SHOWN_H
#define GT_TEST_SHOWN_H

#include <errno.h>
#include <stdlib.h>

#include "../../fs/model/model.h"
#include "../../fs/tree/internal.h"
#include "../lib/squeeze.h"
#include "../lib/tap.h"

#define US 1000ULL
#define MS (1000 * US)
#define S  (1000 * MS)

static struct gt_app app;
static const struct gt_view __attribute__((unused))
root = { .all = true, .visibility = GT_VIS_REDACTED };
static const struct gt_view __attribute__((unused))
user = { .uid = 1000, .visibility = GT_VIS_REDACTED };
static const struct gt_view __attribute__((unused))
owner = { .uid = 1000, .visibility = GT_VIS_OWNER };

static bool recorded = true; /* what is fed, as far as filters go */

/* Feeding ----------------------------------------------------------------------------------- */

static inline void feed(union gt_record *r)
{
	struct gt_folded f;

	GT_MODEL_LOCK(app.model);
	gt_model_event(app.model, r, &f);
	if (recorded) {
		gt_log_append(app.log, r);
		gt_model_recorded(app.model, r);
	}
	if (f.finished && recorded)
		gt_model_logged(app.model, &f, gt_log_finished(app.log, &f.fin));
	else if (f.finished)
		gt_log_finished_bare(app.log, &f.fin);
	for (unsigned int i = 0; i < f.nlate; i++)
		gt_log_fin_ioctl(app.log, f.late[i], f.ioctl);
	gt_model_done(app.model, &f);
}

static inline union gt_record event(uint64_t ts, enum gt_type type, uint16_t ring, uint64_t ctx,
				    uint64_t seqno)
{
	union gt_record r;

	gt_record_init(&r, ts, type);
	r.ev.cpu = 3;
	r.ev.gpu = 0;
	r.ev.ring = ring;
	r.ev.ctx = ctx;
	r.ev.seqno = seqno;
	return r;
}

static inline void job_event(uint64_t ts, enum gt_type type, uint16_t ring, uint64_t ctx,
			     uint64_t seqno)
{
	union gt_record r = event(ts, type, ring, ctx, seqno);

	feed(&r);
}

static inline void submit(uint64_t ts, uint16_t ring, uint64_t ctx, uint64_t seqno, uint32_t pid)
{
	union gt_record r = event(ts, GT_SUBMIT, ring, ctx, seqno);

	r.ev.pid = r.ev.tid = pid;
	r.ev.uid = pid;
	feed(&r);
}

static inline void ioctl_event(uint64_t ts, enum gt_type type, uint32_t pid, uint64_t value)
{
	union gt_record r = event(ts, type, GT_NONE16, GT_NONE64, GT_NONE64);

	r.ev.pid = r.ev.tid = r.ev.uid = pid;
	r.ev.value = value;
	feed(&r);
}

static inline void error_event(uint64_t ts, uint64_t code)
{
	union gt_record r = event(ts, GT_ERROR, 0, 6, 2);

	r.ev.value = code;
	feed(&r);
}

static inline void make_gpus(void)
{
	struct gt_model *m = app.model;
	struct gt_gpu *g;

	GT_MODEL_LOCK(m);
	g = gt_model_gpu(m, "amdgpu0", NULL);
	strcpy(g->driver, "amdgpu");
	strcpy(g->pci, "0000:04:00.0");
	strcpy(g->card, "card0");
	strcpy(g->render, "renderD128");
	g->kfd_id = 7;
	gt_model_ring(m, g, "gfx_0.0.0", GT_ENGINE_UNKNOWN, NULL);
	gt_model_ring(m, g, "sdma 0", GT_ENGINE_COPY, NULL);
	g = gt_model_gpu(m, "v3d-any", NULL);
	strcpy(g->driver, "v3d");
	g->any = true;
	gt_model_process(m, 1000, 77, 1000, "glxgears", "/user.slice", 0);
	gt_model_process(m, 2000, 88, 2000, "#x y\nz", NULL, 0);
}

static inline void make_queue(void)
{
	union gt_record r;

	gt_record_init(&r, 99 * S, GT_QUEUE);
	r.queue.gpu = 0;
	r.queue.queue = 9;
	r.queue.pid = r.queue.uid = 2000;
	r.queue.kind = GT_QUEUE_TSG;
	r.queue.runlist = 13;
	r.queue.engine = GT_ENGINE_COMPUTE;
	r.queue.interleave = 1;
	feed(&r);
}

/* Two jobs that wait for each other on gfx, one measured on sdma, then two in flight. */
static inline void make_events(void)
{
	const uint64_t t = 100 * S;

	ioctl_event(t, GT_IOCTL_ENTER, 1000, 0xc0186444);
	submit(t + 121 * US, 0, 5, 1, 1000);
	ioctl_event(t + 130 * US, GT_IOCTL_EXIT, 1000, 0);
	job_event(t + 171 * US, GT_COMMIT, 0, 5, 1);
	submit(t + 200 * US, 0, 6, 1, 2000);
	job_event(t + 300 * US, GT_COMMIT, 0, 6, 1);
	job_event(t + 1171 * US, GT_COMPLETE, 0, 5, 1);
	job_event(t + 2171 * US, GT_COMPLETE, 0, 6, 1);
	submit(t + 3 * MS, 1, 7, 1, 1000);
	job_event(t + 3 * MS + 5 * US, GT_COMMIT, 1, 7, 1);
	job_event(t + 3 * MS + 8 * US, GT_START, 1, 7, 1);
	job_event(t + 4 * MS, GT_END, 1, 7, 1);
	job_event(t + 4 * MS + 2 * US, GT_COMPLETE, 1, 7, 1);
	submit(t + 500 * MS, 0, 5, 2, 1000);
	submit(t + 600 * MS, 0, 6, 2, 2000);
	job_event(t + 700 * MS, GT_COMMIT, 0, 5, 2);
	error_event(t + 750 * MS, GT_ERR_TIMEOUT);
	submit(t + 800 * MS, 0, 5, 3, 1000);
	job_event(t + 810 * MS, GT_COMMIT, 0, 5, 3);
	gt_model_advance(app.model, t + 1 * S);
}

static inline void setup(uint64_t bytes)
{
	static const struct gt_limits limits = { 1024, 600 * S, 64, 60 * S };

	app = (struct gt_app){ .model = gt_model_new(&limits, false),
			       .log = gt_log_new(bytes ? bytes : 1, false) };
	make_gpus();
}

static inline void teardown(void)
{
	gt_model_free(app.model);
	gt_log_free(app.log);
}

/* Reading ----------------------------------------------------------------------------------- */

static const struct gt_obj __attribute__((unused))
at_root = { .kind = GT_DIR_ROOT, .gpu = GT_NONE16, .ring = GT_NONE16 };
static const struct gt_obj __attribute__((unused))
at_gpu = { .kind = GT_DIR_GPU, .ring = GT_NONE16 };
static const struct gt_obj __attribute__((unused))
at_any = { .kind = GT_DIR_GPU, .gpu = 1, .ring = GT_NONE16 };
static const struct gt_obj __attribute__((unused)) at_gfx = { .kind = GT_DIR_RING };
static const struct gt_obj __attribute__((unused)) at_sdma = { .kind = GT_DIR_RING, .ring = 1 };
static const struct gt_obj __attribute__((unused))
at_queue = { .kind = GT_DIR_QUEUE, .ring = GT_NONE16, .start = 1 };
static const struct gt_obj __attribute__((unused))
at_proc = { .kind = GT_DIR_PROC, .gpu = GT_NONE16, .ring = GT_NONE16, .pid = 1000, .start = 77 };
static const struct gt_obj __attribute__((unused))
at_cgroups = { .kind = GT_DIR_CGROUP, .gpu = GT_NONE16, .ring = GT_NONE16 };

static const struct gt_obj __attribute__((unused)) at_other = {
	.kind = GT_DIR_PROC, .gpu = GT_NONE16, .ring = GT_NONE16, .id = 1, .pid = 2000, .start = 88
};

static inline const struct gt_file *files_of(const struct gt_obj *o)
{
	switch (o->kind) {
	case GT_DIR_GPU:
		return gt_gpu_files;
	case GT_DIR_RING:
		return gt_ring_files;
	case GT_DIR_QUEUE:
		return gt_queue_files;
	case GT_DIR_PROC:
		return gt_proc_files;
	case GT_DIR_CGROUP:
		return gt_group_files;
	default:
		return gt_root_files;
	}
}

static inline struct gt_show show_of(const struct gt_obj *o, const char *name,
				     const struct gt_view *v)
{
	const struct gt_file *f = files_of(o);

	while (f->name && strcmp(f->name, name))
		f++;
	return (struct gt_show){ .app = &app, .obj = *o, .view = *v, .file = f };
}

/* The text; or the errno's name, or "absent". @name NULL: frees what the last call returned */
static inline const char *text(const struct gt_obj *o, const char *name, const struct gt_view *v)
{
	static struct gt_text t;
	struct gt_show s;
	int err;

	if (!name) {
		gt_text_free(&t);
		return NULL;
	}
	s = show_of(o, name, v);
	if (!s.file->name || (s.file->exists && !s.file->exists(&s)))
		return "absent";
	gt_text_free(&t);
	gt_text_init(&t, 0);
	err = gt_tree_show(&t, &s);
	gt_text_ch(&t, '\0');
	return err ? strerrorname_np(-err) : squeeze(t.buf);
}

static inline bool begins(const char *t, const char *with)
{
	return !strncmp(t, with, strlen(with));
}

static inline uint64_t gen(const struct gt_obj *o, const char *name)
{
	struct gt_show s = show_of(o, name, &root);

	return s.file->gen(&s);
}

#define SHOWS(obj, name, view, want)                                                               \
	is_str(text(&(obj), name, &(view)), want, #obj " " name " for " #view)

#endif
