/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel's programs report of NVIDIA's driver (bpf/nvidia.h), on its way to a tree. */
#ifndef GT_TEST_NVBED_H
#define GT_TEST_NVBED_H

#include <stdlib.h>

#include "../../backend/bpf/nvidia.h"
#include "../lib/treebed.h"

#define SEC 1000000000ull

static struct {
	unsigned int n, type[GT_TYPE_END];
	union gt_record last[GT_TYPE_END];
} pushed;

/* To the model, as the pipeline does */
static inline void take(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	struct gt_folded f;

	for (size_t i = 0; i < n; i++) {
		union gt_record copy = r[i];

		pushed.n++;
		pushed.type[r[i].ev.type]++;
		pushed.last[r[i].ev.type] = r[i];
		GT_MODEL_LOCK(app.model);
		gt_model_event(app.model, &copy, &f);
		gt_model_done(app.model, &f);
	}
}

static inline uint16_t gpu_named(struct gt_plugin *p, const struct gt_gpu_desc *d)
{
	char name[32];

	snprintf(name, sizeof(name), "nv-%s", d->dev ? d->dev + 5 : "any");
	GT_MODEL_LOCK(app.model);
	return make_gpu(name)->id;
}

static const struct gt_host host = { .push = take, .gpu = gpu_named };
static struct gt_plugin plugin = { .host = &host };
static struct gb backend = { .p = &plugin };
static struct gv *v;
static struct gt_bpf_nv n;
/* The only process that is there, as the kernel knows it: pid and number alike */
static uint32_t alive;
static unsigned int looks;

static inline uint32_t gen_of(struct gv *of, uint32_t pid)
{
	looks++;
	return pid == alive ? pid : 0;
}

static inline void restart(uint32_t driver)
{
	if (v) {
		gv_tables_free(v);
		free(v);
	}
	v = calloc(1, sizeof(*v));
	if (!v || gv_tables_new(v))
		abort();
	v->b = &backend;
	v->driver = driver;
	v->destroys = true;
	v->gen_of = gen_of;
	n = (struct gt_bpf_nv){
		.ts = 10 * SEC, .cpu = 1, .pid = 637320, .tid = 637320, .uid = 1000
	};
	strcpy(n.comm, "python3");
	memset(&pushed, 0, sizeof(pushed));
}

static inline void flush(void)
{
	take(&plugin, backend.ring.out, backend.ring.nout);
	backend.ring.nout = 0;
}

static inline void round_at(uint64_t until)
{
	gv_round(v, until);
	flush();
}

/* Some records were lost; then there is no process but @left */
static inline void lost(uint32_t left)
{
	alive = left;
	v->lost = true;
	v->looked = 0;
	round_at(n.ts);
}

static inline void tell(uint16_t kind)
{
	n.kind = kind;
	n.ts += 1000;
	gv_record(v, &n);
	flush();
}

/* Hooks ------------------------------------------------------------------------------------- */

static inline void init(uint64_t us, uint32_t tsg, uint16_t engine, uint32_t runlist)
{
	n.ts = us * 1000 - 1000;
	n.hook.tsg = tsg;
	n.hook.runlist = runlist;
	n.hook.channels = GT_NONE32;
	n.hook.timeslice = 1024;
	n.hook.interleave = 0;
	n.hook.allow = 0xff;
	n.hook.engine = engine;
	tell(GT_NV_INIT);
}

static inline void bind(uint64_t us, uint32_t tsg, uint32_t runlist, uint32_t channels,
			uint8_t allow)
{
	n.ts = us * 1000 - 1000;
	n.hook.tsg = tsg;
	n.hook.runlist = runlist;
	n.hook.channels = channels;
	n.hook.timeslice = 1024;
	n.hook.interleave = 1;
	n.hook.allow = allow;
	n.hook.engine = GT_NONE16;
	tell(GT_NV_BIND);
}

static inline void destroy(uint64_t us, uint32_t tsg)
{
	n.ts = us * 1000 - 1000;
	memset(&n.hook, 0xff, sizeof(n.hook));
	n.hook.tsg = tsg;
	tell(GT_NV_DESTROY);
}

static inline void token(uint32_t tsg, uint32_t channel, uint32_t value)
{
	n.token.tsg = tsg;
	n.token.channel = channel;
	n.token.token = value;
	tell(GT_NV_TOKEN);
}

static inline const char *q(const char *gpu, uint32_t id, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/queues/%u/%s", gpu, id, file);
	return show(path, &root_view);
}

#define ID(runlist, tsg) ((runlist) << 16 | (tsg))

static inline void check_line(const char *what, const char *line)
{
	static char out[GT_BACKEND_TEXT_MAX];
	const struct gv_counted c = { .dropped = 7, .read_failed = 8 };

	setenv("TZ", "UTC", 1);
	gv_trace_text(v, &c, 22 * 3600 * (int64_t)SEC, out, sizeof(out));
	if (!ok(strstr(out, line), "%s", what))
		printf("# no \"%s\" in:\n# %s\n", line, out);
}

/* RM calls ----------------------------------------------------------------------------------- */

static inline void call(uint16_t kind, uint32_t client, uint32_t object, uint32_t parent,
			uint32_t value)
{
	n.rm.client = client;
	n.rm.object = object;
	n.rm.parent = parent;
	n.rm.value = value;
	n.rm.gen = n.pid;
	tell(kind);
}

/* A client of file 0x100000005, a device and a group with two channels */
static inline void rm_begin(uint32_t client, uint32_t engine)
{
	call(GT_NV_CLIENT, client, client, 5, 1);
	call(GT_NV_DEVICE, client, 0x80, client, 0);
	call(GT_NV_GROUP, client, 0xa0, 0x80, engine);
	call(GT_NV_CHANNEL, client, 0xc0, 0xa0, GT_NONE32);
	call(GT_NV_CHANNEL, client, 0xc1, 0xa0, GT_NONE32);
}

#define OWN(i) (GV_OWN_ID + (i))

static inline void end(uint16_t kind, uint32_t file)
{
	memset(&n.rm, 0, sizeof(n.rm));
	n.rm.gen = n.pid;
	n.rm.file = (struct gt_nv_file){ file, 1 };
	tell(kind);
}

static inline void as(uint32_t pid)
{
	n.pid = n.tid = pid;
}

/* A client of file 0x100000000 | @file, with a device, number @gpu */
static inline void client(uint32_t handle, uint32_t file, uint32_t gpu)
{
	call(GT_NV_CLIENT, handle, handle, file, 1);
	call(GT_NV_DEVICE, handle, 0x80, handle, gpu);
}

/* A group of a device, as calls and hooks report it, scheduled */
static inline void group(uint32_t of, uint32_t handle, uint32_t dev, uint32_t runlist, uint32_t tsg)
{
	call(GT_NV_ENTER, of, 0, dev, GT_NV_GROUP);
	init(n.ts / 1000 + 2, tsg, 1, runlist);
	call(GT_NV_GROUP, of, handle, dev, 1);
	call(GT_NV_ENTER, of, handle, 0, GT_NV_SCHEDULE);
	bind(n.ts / 1000 + 2, tsg, runlist, 1, 1);
	call(GT_NV_SCHEDULE, of, handle, 0, 1);
}

static inline void now_destroy(uint32_t tsg)
{
	destroy(n.ts / 1000 + 2, tsg);
}

static inline const char *state(uint32_t runlist, uint32_t tsg)
{
	return q("nv-any", ID(runlist, tsg), "state");
}

#endif
