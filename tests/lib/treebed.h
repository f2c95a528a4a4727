/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small machine for tests of fs/tree: the real model, gate and log, and a host of two backends
 * that is this header's own, so that no plugin is needed. Include it once, in the file with main().
 */
#ifndef GT_TREEBED_H
#define GT_TREEBED_H

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../backend/lib/clock.h"
#include "../../fs/model/model.h"
#include "../../fs/tree/tree.h"
#include "squeeze.h"
#include "tap.h"

static struct gt_app app;
static struct gt_config conf;
static struct gt_gate gate;
static const struct gt_view root_view = { .all = true, .visibility = GT_VIS_REDACTED };

/* The host ------------------------------------------------------------------------------------ */

static const struct gt_option options[] = {
	{ "buffer_size", GT_OPT_INT, GT_OPT_RUNTIME | GT_OPT_HIDDEN, 0, "", 4096, 1 << 20, "" },
	{ "cpu", GT_OPT_STR, GT_OPT_RUNTIME, 0, "", 0, 0, "CPUs to trace" },
	{ "path", GT_OPT_STR, 0, 0, "", 0, 0, "file" },
	{ "state", GT_OPT_STR, 0, 0, "", 0, 0, "a name that is taken" },
	{ "secret", GT_OPT_STR, GT_OPT_HIDDEN, 0, "", 0, 0, "for tests" },
	{ 0 },
};
static char cpu_option[32] = "all";
/* What a source takes at most, -1: it refuses; what it has. The second one has no buffers at first */
static int64_t buffer_max[2] = { 1 << 20, 0 }, buffer_now[2] = { 4096, 4096 };
static int asked = -1, answer, locked_calls;
static bool refuse_seek, seeks_slowly;
static int64_t asked_arg;

/* Every call of the host: the model's lock must be free then. */
static inline void not_locked(void)
{
	if (pthread_mutex_trylock(&app.model->lock)) {
		locked_calls++;
		return;
	}
	pthread_mutex_unlock(&app.model->lock);
}

const char *gt_backend_state_name(enum gt_backend_state s)
{
	return s == GT_BS_RUNNING ? "running" : "unavailable";
}
static void no_show(struct gt_plugin *p, char *buf, size_t len)
{
}
static const struct gt_backend_file own_files[] = {
	{ "seen", "what it saw", no_show, NULL }, { "state", "a name of ours", no_show, NULL },
	{ "../up", "no name", no_show, NULL },	  { "nothing", "no hook", NULL, NULL },
	{ "last", "the last", no_show, NULL },	  { 0 },
};
/* Directories that users make: backends/ftrace/made/<name>/, each with a setting and a text */
static int check_word(const char *value, char *err, size_t len)
{
	snprintf(err, len, "a word");
	return strchr(value, ' ') ? -EINVAL : 0;
}
static void show_path(struct gt_plugin *p, const struct gt_userdir *m, const char *path, char *buf,
		      size_t len)
{
	snprintf(buf, len, "%s\n", path);
}
static const struct gt_userdir_file made_files[] = {
	{ "word", "a word", 0, "first", check_word, NULL },
	{ "path", "where it is", 0, NULL, NULL, show_path },
	{ 0 },
};
static const struct gt_backend_userdirs own_made = { "made", "for tests", made_files };
static struct gt_userdir made[4];
static char made_word[4][64];

int gt_host_userdir_make(struct gt_host_state *h, unsigned int i, const char *name, uint32_t uid,
			 bool whole, char *err, size_t len)
{
	static uint64_t serial;
	unsigned int at;

	not_locked();
	for (at = 0; at < 4 && made[at].serial; at++)
		if (made[at].uid == uid && !strcmp(made[at].name, name))
			return -EEXIST;
	if (i || at == 4)
		return -ENOSPC;
	snprintf(made[at].name, sizeof(made[at].name), "%s", name);
	made[at].uid = uid;
	made[at].whole = whole;
	made[at].serial = ++serial;
	strcpy(made_word[at], "first");
	return 0;
}
bool gt_host_userdir_at(struct gt_host_state *h, unsigned int i, unsigned int at,
			struct gt_userdir *out)
{
	not_locked();
	if (i || at >= 4)
		return false;
	*out = made[at];
	return true;
}
static inline int made_place(uint64_t serial)
{
	for (int at = 0; serial && at < 4; at++)
		if (made[at].serial == serial)
			return at;
	return -1;
}
bool gt_host_userdir_find(struct gt_host_state *h, unsigned int i, uint64_t serial,
			  struct gt_userdir *out)
{
	int at = made_place(serial);

	not_locked();
	if (at >= 0)
		*out = made[at];
	return at >= 0;
}
uint64_t gt_host_userdirs_refused(const struct gt_host_state *h)
{
	return 0;
}
int gt_host_userdir_remove(struct gt_host_state *h, unsigned int i, uint64_t serial)
{
	int at = made_place(serial);

	not_locked();
	if (at < 0)
		return -ENODEV;
	made[at].serial = 0;
	return 0;
}
int gt_host_userdir_get(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			char *buf, size_t len)
{
	int at = made_place(serial);

	not_locked();
	if (at < 0)
		return -ENODEV;
	snprintf(buf, len, "%s", made_word[at]);
	return 0;
}
int gt_host_userdir_set(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			const char *value, bool whole, char *err, size_t len)
{
	int at = made_place(serial), ret = at < 0 ? -ENODEV : check_word(value, err, len);

	not_locked();
	if (!ret)
		snprintf(made_word[at], sizeof(made_word[at]), "%s", value);
	return ret;
}
int gt_host_userdir_show(struct gt_host_state *h, unsigned int i, uint64_t serial, unsigned int f,
			 const char *path, bool whole, char *buf, size_t len)
{
	not_locked();
	if (made_place(serial) < 0)
		return -ENODEV;
	show_path(NULL, NULL, path, buf, len);
	return 0;
}
static unsigned int looks;
static bool look_late;
bool gt_host_refresh_sensors(struct gt_host_state *h, unsigned int what)
{
	not_locked();
	looks++;
	return !look_late;
}

int gt_host_file(struct gt_host_state *h, unsigned int i, unsigned int f, char *buf, size_t len)
{
	not_locked();
	snprintf(buf, len, "file %u of %u\n", f, i);
	return 0;
}
unsigned int gt_host_count(struct gt_host_state *h)
{
	return 2;
}
bool gt_host_info(struct gt_host_state *h, unsigned int i, struct gt_backend_info *out)
{
	not_locked();
	memset(out, 0, sizeof(*out));
	if (i > 1)
		return false;
	strcpy(out->name, i ? "sim" : "ftrace");
	strcpy(out->version, "1");
	out->state = i ? GT_BS_UNAVAILABLE : GT_BS_RUNNING;
	strcpy(out->last_error, i ? "not here:\nbackend forged running" : "");
	out->options = i && !buffer_max[1] ? NULL : options;
	if (i && buffer_max[1])
		out->state = GT_BS_RUNNING;
	out->files = i ? NULL : own_files;
	out->userdirs = i ? NULL : &own_made;
	return true;
}
int gt_host_clock_offset(struct gt_host_state *h, unsigned int i, int64_t ns)
{
	return 0;
}

int gt_host_find(struct gt_host_state *h, const char *name)
{
	return -ENOENT;
}
int gt_host_doctor(struct gt_host_state *h, unsigned int i, char *buf, size_t len)
{
	not_locked();
	snprintf(buf, len, "clock CLOCK_MONOTONIC\nclock_offset_ns 0");
	return 0;
}
int gt_host_option_get(struct gt_host_state *h, unsigned int i, const char *name, char *buf,
		       size_t len)
{
	not_locked();
	if (!strcmp(name, "buffer_size"))
		snprintf(buf, len, "%" PRId64, buffer_now[i]);
	else
		snprintf(buf, len, "%s", cpu_option);
	return 0;
}
int gt_host_option_set(struct gt_host_state *h, unsigned int i, const char *name, const char *value,
		       char *err, size_t len)
{
	not_locked();
	if (!strcmp(name, "buffer_size")) {
		snprintf(err, len, "it cannot now");
		if (buffer_max[i] < 0)
			return -EBUSY;
		buffer_now[i] = atoll(value) < buffer_max[i] ? atoll(value) : buffer_max[i];
		return 0;
	}
	if (!strcmp(value, "bad")) {
		snprintf(err, len, "no such CPU");
		return -EINVAL;
	}
	snprintf(cpu_option, sizeof(cpu_option), "%s", value);
	return 0;
}
int gt_host_control(struct gt_host_state *h, enum gt_control what, int64_t arg, char *err,
		    size_t len)
{
	not_locked();
	asked = (int)what;
	asked_arg = arg;
	if (what == GT_CTL_SEEK && refuse_seek) {
		snprintf(err, len, "seek refused");
		return -EOPNOTSUPP;
	}
	snprintf(err, len, "no running backend can do that");
	return answer;
}
bool gt_host_drained(struct gt_host_state *h, int timeout_ms)
{
	return !seeks_slowly;
}

bool gt_host_replaying(struct gt_host_state *h)
{
	not_locked();
	return app.replay;
}
unsigned int gt_host_detaching(const struct gt_host_state *h)
{
	return 0;
}

uint64_t gt_host_cpu_ns(struct gt_host_state *h)
{
	not_locked();
	return 42;
}
static uint64_t made_up_clock(void *arg, enum gt_clock_id clock)
{
	return 100000000000; /* all show the same */
}
/* It slept for an hour, which was seen at 60 s */
void gt_host_clocks(struct gt_host_state *h, struct gt_clocks *out)
{
	not_locked();
	gt_clocks_init(out, made_up_clock, NULL);
	out->boottime = (struct gt_clock_steps){ 0 };
	gt_clock_steps_add(&out->boottime, 10000000000, 10000000000, 20);
	gt_clock_steps_add(&out->boottime, 3660000000000, 60000000000, 30);
}

/* A machine ------------------------------------------------------------------------------------ */

static inline struct gt_gpu *make_gpu(const char *name)
{
	bool is_new;

	return gt_model_gpu(app.model, name, &is_new);
}

static inline void make_ring(struct gt_gpu *g, const char *name)
{
	bool is_new;

	gt_model_ring(app.model, g, name, GT_ENGINE_COMPUTE, &is_new);
}

static inline void make_proc(uint32_t pid, uint32_t uid, uint16_t gpu)
{
	static uint64_t ts = 1000;
	struct gt_folded f;
	union gt_record r;

	gt_model_process(app.model, pid, pid * 10, uid, "prog", "/cg", 1);
	if (gpu == GT_NONE16)
		return;
	gt_record_init(&r, ts += 10, GT_SUBMIT);
	r.ev.gpu = gpu;
	r.ev.ring = 0;
	r.ev.ctx = 1;
	r.ev.seqno = ts;
	r.ev.pid = pid;
	r.ev.uid = uid;
	gt_model_event(app.model, &r, &f);
	gt_model_done(app.model, &f);
}

static inline void make_queue(uint16_t gpu, uint32_t id, uint32_t pid, uint32_t uid)
{
	struct gt_folded f;
	union gt_record r;

	gt_record_init(&r, 5000, GT_QUEUE);
	r.queue.gpu = gpu;
	r.queue.queue = id;
	r.queue.pid = pid;
	r.queue.uid = uid;
	r.queue.kind = GT_QUEUE_COMPUTE;
	gt_model_event(app.model, &r, &f);
	gt_model_done(app.model, &f);
}

static inline void make_machine(void)
{
	static const struct gt_limits limits = { .max_jobs = 65536,
						 .max_job_age_ns = 600000000000,
						 .max_procs = 16384,
						 .proc_linger_ns = 60000000000 };
	struct gt_gpu *g;

	app.model = gt_model_new(&limits, false);
	gt_config_init(&conf);
	gt_gate_init(&gate, app.model);
	gt_gate_configure(&gate, &conf);
	app.gate = &gate;
	app.conf = &conf;
	app.log = gt_log_new(65536, false);
	app.host = (struct gt_host_state *)&conf; /* never looked into: the calls are above */
	app.writes = gt_writelog_new();
	app.mountpoint = "/mnt/gpu";

	GT_MODEL_LOCK(app.model);
	g = make_gpu("amdgpu0");
	make_ring(g, "gfx_0.0.0");
	make_ring(g, "a/b%\xff");
	make_ring(g, "..");
	make_ring(make_gpu("i915-0"), "rcs0");
	make_proc(100, 1000, 0);
	make_proc(200, 2000, 1);
	make_proc(300, GT_NONE32, 0);
	make_queue(0, 7, 100, 1000);
	make_queue(1, 7, 200, 2000);
	make_queue(1, 9, 100, 1000);
}

/* Helpers -------------------------------------------------------------------------------------- */

/* Walks @path from the root; 0 and the entry, or the errno of the first failure. */
static inline int find(const char *path, const struct gt_view *v, struct gt_entry *e)
{
	char copy[512], *save, *name;
	struct gt_obj dir = gt_tree_root;
	int ret;

	snprintf(copy, sizeof(copy), "%s", path);
	ret = gt_tree_entry(&app, &dir, v, e);
	for (name = strtok_r(copy, "/", &save); name && !ret; name = strtok_r(NULL, "/", &save)) {
		dir = e->obj;
		ret = gt_tree_lookup(&app, &dir, name, v, e);
	}
	return ret;
}

static char text[262144];

static inline const char *show(const char *path, const struct gt_view *v)
{
	struct gt_show s = { .app = &app, .view = *v };
	struct gt_entry e;
	struct gt_text t;

	if (find(path, v, &e) || !e.file || !e.file->show)
		return "(none)";
	s.obj = e.obj;
	s.file = e.file;
	gt_text_init(&t, sizeof(text) - 1);
	if (gt_tree_show(&t, &s))
		return "(error)";
	memcpy(text, t.buf ? t.buf : "", t.len);
	text[t.len] = '\0';
	gt_text_free(&t);
	return text;
}

/* The same without the blanks that line columns up */
static inline __attribute__((unused)) const char *table(const char *path, const struct gt_view *v)
{
	show(path, v);
	return squeeze(text);
}

static inline int put_raw(const char *path, const char *data, size_t len, const struct gt_view *v,
			  bool repeat)
{
	struct gt_show s = { .app = &app, .view = *v };
	struct gt_entry e;
	int ret = find(path, v, &e);

	if (ret)
		return ret;
	s.obj = e.obj;
	s.file = e.file;
	return gt_tree_store(&s, v, e.file->name, data, len, repeat);
}

static inline int put(const char *path, const char *data)
{
	return put_raw(path, data, strlen(data), &root_view, false);
}

struct names {
	unsigned int n;
	char all[65536];
	uint64_t next;
	unsigned int max; /* stop after so many; 0: never */
};

static inline bool collect(void *arg, const char *name, ino_t ino, mode_t type, uint64_t next)
{
	struct names *l = arg;
	size_t at = strlen(l->all);

	snprintf(l->all + at, sizeof(l->all) - at, "%s ", name);
	l->next = next;
	return ++l->n != l->max;
}

static inline const char *list(const char *path, const struct gt_view *v)
{
	static struct names l;
	struct gt_entry e;

	memset(&l, 0, sizeof(l));
	if (find(path, v, &e) || gt_tree_readdir(&app, &e.obj, v, 0, collect, &l))
		return "(error)";
	return l.all;
}

static inline void free_machine(void)
{
	gt_writelog_free(app.writes);
	gt_log_free(app.log);
	gt_gate_destroy(&gate);
	gt_model_free(app.model);
	gt_config_free(&conf);
}

#endif
