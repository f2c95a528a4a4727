/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each record of bpf/nvidia.bpf.c means: RM calls, and the end of files and processes. Hooks
 * are in this file.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../lib/hash.h"
#include "nvidia.h"

static void gv_obj_end(struct gv_at *at, uint32_t o);
static void gv_proc_end(struct gv_at *at, uint32_t p);
static void gv_on_tsg_init(struct gv_at *at);
static void gv_on_bind(struct gv_at *at);
static void gv_on_token(struct gv_at *at);
static void gv_on_destroy(struct gv_at *at);

/*
 * Which GPU. A program opens one by a number that RM gave it, and asked RM before which GPU that is
 * (GPU_GET_ID_INFO): a GPU id is domain << 16 | bus << 8 | device of its PCI address. The numbers
 * depend on the order in which GPUs were first used, so without that answer they mean nothing.
 *
 * Answers are read from the program's memory: a GPU that the driver does not have is none.
 */

#define MAX_LOOKED 256 /* objects of a process that are looked at for its devices */

void gv_gpus_read(struct gv *v, const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	unsigned int x;
	char dot;

	v->npci = 0;
	while (d && (e = readdir(d)) && v->npci < GV_MAX_GPUS)
		if (strlen(e->d_name) == 12 &&
		    sscanf(e->d_name, "%4x:%2x:%2x%c%1x", &x, &x, &x, &dot, &x) == 5)
			snprintf(v->pci[v->npci++], sizeof(v->pci[0]), "%.15s", e->d_name);
	if (d)
		closedir(d);
}

uint16_t gv_gpu_any(struct gv *v)
{
	struct gt_gpu_desc d = { .driver = "nvidia", .minor = -1 };

	return v->b->p->host->gpu(v->b->p, &d);
}

static uint16_t by_id(struct gv *v, uint32_t id)
{
	struct gt_gpu_desc d = { .driver = "nvidia", .minor = -1 };
	char pci[16];

	snprintf(pci, sizeof(pci), "%04x:%02x:%02x.0", id >> 16, id >> 8 & 0xff, id & 0xff);
	for (unsigned int i = 0; i < v->npci; i++)
		if (!strcmp(v->pci[i], pci))
			d.dev = pci;
	return d.dev ? v->b->p->host->gpu(v->b->p, &d) : gv_gpu_any(v);
}

/** gv_gpu_of() - number of the GPU that RM calls number @number to process @p */
static uint16_t gv_gpu_of(struct gv *v, const struct gv_proc *p, uint32_t number)
{
	for (uint32_t i = 0; i < p->nids; i++)
		if (p->ids[i].number == number)
			return by_id(v, p->ids[i].id);
	return gv_gpu_any(v);
}

/* What follows @o, or is below it, where a device can be: a client's, or nobody's that is known; 0:
 * that was all */
static uint32_t next_device(const struct gv *v, uint32_t o)
{
	if (v->obj[o].kind == GT_NV_CLIENT && v->obj[o].first)
		return v->obj[o].first;
	if (!v->obj[o].next && v->obj[o].up)
		o = v->obj[o].up;
	return v->obj[o].next;
}

/** gv_gpu_of_proc() - of the only GPU that @p has opened, else gv_gpu_any(); so it is where it has
 * a lot of objects */
static uint16_t gv_gpu_of_proc(struct gv *v, const struct gv_proc *p)
{
	uint16_t gpu = GT_NONE16;
	unsigned int looked = 0;

	for (uint32_t o = p->first; o; o = next_device(v, o)) {
		if (++looked > MAX_LOOKED)
			return gv_gpu_any(v);
		if (v->obj[o].kind != GT_NV_DEVICE)
			continue;
		if (gpu != GT_NONE16 && gpu != v->obj[o].gpu)
			return gv_gpu_any(v);
		gpu = v->obj[o].gpu;
	}
	return gpu == GT_NONE16 ? gv_gpu_any(v) : gpu;
}

/* Processes that use the driver, and of their RM objects those that queues hang on. */

/* Handles are what programs make of them: without a salt they could be made to collide. */
static void make_salt(struct gv *v)
{
	if (getrandom(v->salt, sizeof(v->salt), GRND_NONBLOCK) != (ssize_t)sizeof(v->salt))
		v->salt[0] = (uint64_t)(uintptr_t)v;
	for (unsigned int i = 0; i < 2; i++) /* odd and far from 0: they are factors too */
		v->salt[i] =
			gt_mix(v->salt[i] | 1, 0x9e3779b97f4a7c15ULL + i) | 0x8000000000000001ULL;
}

uint32_t gv_bucket(const struct gv *v, uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t h = gt_mix(((uint64_t)a << 32 | b) ^ v->salt[0], v->salt[1]);

	return (uint32_t)(gt_mix(h ^ c, v->salt[0]) % GV_BUCKETS);
}

int gv_tables_new(struct gv *v)
{
	make_salt(v);
	/* what is not used is not in memory */
	v->obj = calloc(GV_MAX_OBJS + 1, sizeof(*v->obj));
	v->proc = calloc(GT_BPF_OWNERS + 1, sizeof(*v->proc));
	v->tsg = calloc(GV_MAX_TSGS + 1, sizeof(*v->tsg));
	return v->obj && v->proc && v->tsg ? 0 : -ENOMEM;
}

void gv_tables_free(struct gv *v)
{
	free(v->obj);
	free(v->proc);
	free(v->tsg);
}

/* A user's place; 0: there are too many users; their processes are then left out. */
static uint32_t user_of(struct gv *v, uint32_t uid)
{
	uint32_t spare = 0;

	for (uint32_t i = 1; i < GV_MAX_USERS; i++) {
		const struct gv_user *u = &v->user[i];
		bool used = u->procs || u->tsgs;

		if (used && u->uid == uid)
			return i;
		if (!used && !spare)
			spare = i;
	}
	if (spare)
		v->user[spare] = (struct gv_user){ .uid = uid };
	return spare;
}

static uint32_t proc_new(struct gv *v, uint32_t pid, uint32_t uid)
{
	uint32_t *bucket = &v->proc_bucket[gv_bucket(v, pid, 0, 0)], p = v->free_procs;
	uint32_t user = user_of(v, uid);

	if (!user || (!p && v->nprocs == GT_BPF_OWNERS) ||
	    (uid && v->user[user].procs >= GT_BPF_USER_OWNERS)) {
		v->procs_refused++;
		return 0;
	}
	if (p)
		v->free_procs = v->proc[p].chain;
	else
		p = ++v->nprocs;
	v->proc[p] = (struct gv_proc){ .pid = pid, .uid = uid, .user = user, .chain = *bucket };
	*bucket = p;
	v->user[user].procs++;
	return p;
}

/* Index of the process of at->n; @make: enters it. 0: none, or no room */
static uint32_t proc_at(struct gv_at *at, uint32_t gen, bool make)
{
	struct gv *v = at->v;
	uint32_t p = v->proc_bucket[gv_bucket(v, at->n->pid, 0, 0)];

	while (p && v->proc[p].pid != at->n->pid)
		p = v->proc[p].chain;
	if (p && gen && v->proc[p].gen && v->proc[p].gen != gen) { /* its pid is in use again */
		gv_proc_end(at, p);
		p = 0;
	}
	if (!p && make)
		p = proc_new(v, at->n->pid, at->n->uid);
	if (p && gen)
		v->proc[p].gen = gen;
	return p;
}

static void unchain(uint32_t *at, uint32_t what, uint32_t next)
{
	if (*at == what)
		*at = next;
}

uint32_t gv_obj(const struct gv *v, uint32_t p, uint32_t client, uint32_t handle)
{
	uint32_t o = v->obj_bucket[gv_bucket(v, p, client, handle)];

	while (o &&
	       (v->obj[o].proc != p || v->obj[o].client != client || v->obj[o].handle != handle))
		o = v->obj[o].chain;
	return o;
}

static uint32_t obj_take(struct gv *v, const struct gv_proc *proc)
{
	struct gv_user *user = &v->user[proc->user];
	uint32_t o = v->free_objs;

	if ((!o && v->nobjs == GV_MAX_OBJS) || (proc->uid && user->objs >= GV_USER_OBJS)) {
		v->objs_refused++;
		return 0;
	}
	if (o)
		v->free_objs = v->obj[o].chain;
	else
		o = ++v->nobjs;
	user->objs++;
	return o;
}

/* What @kind of object is below: what RM says if it can be above, else the client. All that is
 * above another is of a lower kind, so that no process makes rings, or more than four floors. */
static uint32_t above(const struct gv *v, uint32_t p, uint16_t kind, uint32_t client,
		      uint32_t parent)
{
	uint32_t o = gv_obj(v, p, client, parent);

	if (!o || v->obj[o].kind >= kind)
		o = gv_obj(v, p, client, client);
	return o && v->obj[o].kind < kind ? o : 0;
}

static uint32_t *list_of(struct gv *v, const struct gv_obj *obj)
{
	return obj->up ? &v->obj[obj->up].first : &v->proc[obj->proc].first;
}

static uint32_t *file_bucket(struct gv *v, struct gt_nv_file file)
{
	return &v->file_bucket[gv_bucket(v, file.high, file.low, 0)];
}

static void link_file(struct gv *v, uint32_t o, struct gt_nv_file file)
{
	uint32_t *bucket = file_bucket(v, file);

	v->obj[o].file = file;
	v->obj[o].files = *bucket;
	v->obj[*bucket].files_prev = o;
	*bucket = o;
}

/** gv_obj_new() - one that was there under that name ends. 0: no room */
static uint32_t gv_obj_new(struct gv_at *at, uint32_t p, uint16_t kind, uint32_t handle)
{
	struct gv *v = at->v;
	uint32_t client = at->n->rm.client, *bucket, *list, o;
	struct gv_obj *obj;

	o = gv_obj(v, p, client, handle);
	if (o)
		gv_obj_end(at, o);
	o = obj_take(v, &v->proc[p]);
	if (!o)
		return 0;
	bucket = &v->obj_bucket[gv_bucket(v, p, client, handle)];
	obj = &v->obj[o];
	*obj = (struct gv_obj){
		.client = client,
		.handle = handle,
		.proc = p,
		.up = above(v, p, kind, client, at->n->rm.parent),
		.chain = *bucket,
		.kind = kind,
		.gpu = GT_NONE16,
	};
	*bucket = o;
	list = list_of(v, obj);
	obj->next = *list;
	v->obj[*list].prev = o;
	*list = o;
	if (kind == GT_NV_CLIENT)
		link_file(v, o, at->n->rm.file);
	return o;
}

static void obj_drop(struct gv *v, uint32_t o)
{
	struct gv_obj *obj = &v->obj[o];
	uint32_t *i = &v->obj_bucket[gv_bucket(v, obj->proc, obj->client, obj->handle)];

	while (*i && *i != o)
		i = &v->obj[*i].chain;
	unchain(i, o, obj->chain);
	if (obj->kind == GT_NV_CLIENT) {
		i = file_bucket(v, obj->file);
		*(obj->files_prev ? &v->obj[obj->files_prev].files : i) = obj->files;
		v->obj[obj->files].files_prev = obj->files_prev;
	}
	*(obj->prev ? &v->obj[obj->prev].next : list_of(v, obj)) = obj->next;
	v->obj[obj->next].prev = obj->prev;
	v->user[v->proc[obj->proc].user].objs--;
	*obj = (struct gv_obj){ .chain = v->free_objs };
	v->free_objs = o;
}

/** gv_obj_end() - with all below it */
static void gv_obj_end(struct gv_at *at, uint32_t o)
{
	struct gv *v = at->v;
	uint32_t tsg;

	while (v->obj[o].first)
		gv_obj_end(at, v->obj[o].first);
	tsg = v->obj[o].tsg;
	obj_drop(v, o);
	if (tsg)
		gv_tsg_leave(at, tsg);
}

/* Its pid may be another's from now on. */
static void proc_hide(struct gv *v, uint32_t p)
{
	uint32_t *i = &v->proc_bucket[gv_bucket(v, v->proc[p].pid, 0, 0)];

	while (*i && *i != p)
		i = &v->proc[*i].chain;
	unchain(i, p, v->proc[p].chain);
	v->proc[p].gone = true;
}

/** gv_proc_end() - with all that it has */
static void gv_proc_end(struct gv_at *at, uint32_t p)
{
	struct gv *v = at->v;
	struct gv_proc *proc = &v->proc[p];

	while (proc->first)
		gv_obj_end(at, proc->first);
	while (proc->tsgs)
		gv_tsg_leave(at, proc->tsgs);
	if (!proc->gone)
		proc_hide(v, p);
	v->user[proc->user].procs--;
	*proc = (struct gv_proc){ .chain = v->free_procs };
	v->free_procs = p;
}

/** gv_proc_exit() - but for what came by files: their ends are reported */
static void gv_proc_exit(struct gv_at *at, uint32_t p)
{
	struct gv *v = at->v;
	uint32_t next;

	for (uint32_t o = v->proc[p].first; o; o = next) {
		next = v->obj[o].next;
		if (v->obj[o].kind != GT_NV_CLIENT)
			gv_obj_end(at, o);
	}
	for (uint32_t t = v->proc[p].tsgs; t; t = next) {
		next = v->tsg[t].next;
		if (!v->tsg[t].obj)
			gv_tsg_leave(at, t);
	}
	proc_hide(v, p);
	if (!v->proc[p].first)
		gv_proc_end(at, p);
}

/** gv_file_end() - every client that came by @file */
static void gv_file_end(struct gv_at *at, struct gt_nv_file file)
{
	struct gv *v = at->v;
	uint32_t next, p;

	for (uint32_t o = *file_bucket(v, file); o; o = next) {
		next = v->obj[o].files;
		if (v->obj[o].file.low != file.low || v->obj[o].file.high != file.high)
			continue;
		p = v->obj[o].proc;
		gv_obj_end(at, o);
		if (v->proc[p].gone && !v->proc[p].first)
			gv_proc_end(at, p);
	}
}

static struct gv_call *call_of(struct gv *v, uint32_t tid)
{
	return &v->call[tid % GV_MAX_CALLS];
}

/** gv_inside() - the call that the thread is inside; NULL: none, or not of @kind (0: any) */
static struct gv_call *gv_inside(struct gv_at *at, uint32_t kind)
{
	struct gv_call *c = call_of(at->v, at->n->tid);

	if (c->tid != at->n->tid || c->pid != at->n->pid)
		return NULL;
	return !kind || c->kind == kind ? c : NULL;
}

/** gv_enter() - it is inside one of @kind from now on */
static struct gv_call *gv_enter(struct gv_at *at, uint32_t kind)
{
	struct gv_call *c = call_of(at->v, at->n->tid);

	*c = (struct gv_call){ .tid = at->n->tid, .pid = at->n->pid, .kind = kind };
	return c;
}

/** gv_queue_of() - the queue of object @o, a group or a channel of it; 0: none that is known */
static uint32_t gv_queue_of(const struct gv *v, uint32_t o)
{
	if (o && v->obj[o].kind == GT_NV_CHANNEL)
		o = v->obj[o].up;
	return o && v->obj[o].kind == GT_NV_GROUP ? v->obj[o].tsg : 0;
}

static void on_enter(struct gv_at *at)
{
	const struct gt_bpf_nv *n = at->n;
	struct gv_call *c = gv_enter(at, n->rm.value);

	c->client = n->rm.client;
	c->object = n->rm.object;
	c->parent = n->rm.parent;
}

/* Calls of process @p that succeeded --------------------------------------------------- */

static void on_client(struct gv_at *at, uint32_t p)
{
	gv_obj_new(at, p, GT_NV_CLIENT, at->n->rm.object);
}

static void on_device(struct gv_at *at, uint32_t p)
{
	uint32_t o = gv_obj_new(at, p, GT_NV_DEVICE, at->n->rm.object);

	if (o)
		at->v->obj[o].gpu = gv_gpu_of(at->v, &at->v->proc[p], at->n->rm.value);
}

static void emit_group(struct gv_at *at, uint32_t t)
{
	struct gv_line l = gv_line(at, GT_NV_INIT, 0);
	uint32_t engine = at->n->rm.value;
	union gt_record r;
	char name[16];

	at->v->tsg[t].channels = 0;
	l.engine = engine < GT_NONE16 ? (uint16_t)engine : GT_NONE16;
	gv_trace(at, l);
	gv_tsg_event(at, t, GT_QUEUE_CREATE, GT_NONE64, GT_NONE64);
	gv_tsg_desc(at, t, &r);
	r.queue.engine = (uint16_t)gv_engine(at->v->driver, false, engine, name);
	gb_out(at->v->b, &r);
}

static void on_group(struct gv_at *at, uint32_t p)
{
	struct gv *v = at->v;
	const struct gt_bpf_nv *n = at->n;
	struct gv_call *c = gv_inside(at, GT_NV_GROUP);
	uint32_t o = gv_obj_new(at, p, GT_NV_GROUP, n->rm.object), dev, t;

	if (!o)
		return;
	t = c ? c->tsg : 0;
	if (!t) {
		dev = gv_obj(v, p, n->rm.client, n->rm.parent);
		t = gv_tsg_new(at, p,
			       dev && v->obj[dev].kind == GT_NV_DEVICE ? v->obj[dev].gpu
								       : gv_gpu_any(v),
			       GT_NONE32, GT_NONE32);
	}
	if (!t)
		return;
	v->obj[o].tsg = t;
	v->tsg[t].obj = o;
	if (!v->tsg[t].hooked)
		emit_group(at, t);
}

static void count_channel(struct gv_at *at, uint32_t group, int by)
{
	uint32_t t = at->v->obj[group].tsg;
	union gt_record r;

	if (!t || at->v->tsg[t].channels == GT_NONE32)
		return;
	at->v->tsg[t].channels += (uint32_t)by;
	gv_tsg_desc(at, t, &r);
	gb_out(at->v->b, &r);
}

static void on_channel(struct gv_at *at, uint32_t p)
{
	struct gv *v = at->v;
	uint32_t group = gv_obj(v, p, at->n->rm.client, at->n->rm.parent);

	if (group && v->obj[group].kind == GT_NV_GROUP &&
	    gv_obj_new(at, p, GT_NV_CHANNEL, at->n->rm.object))
		count_channel(at, group, 1);
}

static void on_free(struct gv_at *at, uint32_t p)
{
	struct gv *v = at->v;
	uint32_t o = gv_obj(v, p, at->n->rm.client, at->n->rm.object), group;

	if (!o)
		return;
	group = v->obj[o].kind == GT_NV_CHANNEL ? v->obj[o].up : 0;
	gv_obj_end(at, o);
	if (group)
		count_channel(at, group, -1);
}

/* The queue that a call is about; 0: none that is known */
static uint32_t queue(struct gv_at *at, uint32_t p)
{
	return gv_queue_of(at->v, gv_obj(at->v, p, at->n->rm.client, at->n->rm.object));
}

static void on_schedule(struct gv_at *at, uint32_t p)
{
	bool on = at->n->rm.value, refused = at->n->rm.status;
	uint32_t t = queue(at, p);
	struct gv_line l = gv_line(at, GT_NV_BIND, t);

	if (t && !on && !refused)
		gv_tsg_event(at, t, GT_QUEUE_UNMAP, GT_NONE64, GT_NONE64);
	if (!t || !on || at->v->tsg[t].hooked)
		return;
	l.allow = !refused;
	gv_trace(at, l);
	gv_tsg_event(at, t, GT_QUEUE_SCHEDULE, !refused, GT_NONE64);
}

static void on_rm_token(struct gv_at *at, uint32_t p)
{
	uint32_t t = queue(at, p);
	struct gv_line l = gv_line(at, GT_NV_TOKEN, t);

	if (!t || at->v->tsg[t].hooked)
		return;
	l.channels = GT_NONE32; /* the handle is the program's, and no channel's number */
	l.token = at->n->rm.value;
	gv_trace(at, l);
	gv_tsg_event(at, t, GT_QUEUE_TOKEN, at->n->rm.value, GT_NONE64);
}

/* Timeslice, level, number */
static void on_value(struct gv_at *at, uint32_t p)
{
	uint32_t t = queue(at, p), value = at->n->rm.value;
	union gt_record r;

	if (!t)
		return;
	if (at->n->kind == GT_NV_INFO && !at->v->tsg[t].hooked)
		at->v->tsg[t].tsg = value;
	gv_tsg_desc(at, t, &r);
	if (at->n->kind == GT_NV_TIMESLICE)
		r.queue.timeslice_us = value;
	if (at->n->kind == GT_NV_INTERLEAVE)
		r.queue.interleave = value < GT_NONE16 ? (uint16_t)value : GT_NONE16;
	gb_out(at->v->b, &r);
}

static void on_gpu_id(struct gv_at *at, uint32_t p)
{
	struct gv_proc *proc = &at->v->proc[p];
	uint32_t i = 0;

	while (i < proc->nids && proc->ids[i].number != at->n->rm.number)
		i++;
	if (i == GV_MAX_IDS)
		return;
	proc->nids = i == proc->nids ? i + 1 : proc->nids;
	proc->ids[i].number = at->n->rm.number;
	proc->ids[i].id = at->n->rm.value;
}

/* Ends ------------------------------------------------------------------------------ */

static void on_close(struct gv_at *at)
{
	gv_enter(at, GT_NV_CLOSE);
	gv_file_end(at, at->n->rm.file);
}

static void on_exit_of(struct gv_at *at, uint32_t p)
{
	if (at->v->release)
		gv_proc_exit(at, p);
	else
		gv_proc_end(at, p);
}

static void on_exec(struct gv_at *at, uint32_t p)
{
	if (!at->v->release) /* else what was not kept open is reported as closed */
		gv_proc_end(at, p);
}

/*
 * What a record means: it reports something, or that a process has done something. @makes: which may
 * be the first that is heard of it
 */
static const struct {
	void (*handle)(struct gv_at *at);
	void (*did)(struct gv_at *at, uint32_t p);
	bool makes;
} kinds[GT_NV_KINDS] = {
	[GT_NV_INIT] = { .handle = gv_on_tsg_init },
	[GT_NV_BIND] = { .handle = gv_on_bind },
	[GT_NV_TOKEN] = { .handle = gv_on_token },
	[GT_NV_DESTROY] = { .handle = gv_on_destroy },
	[GT_NV_CLIENT] = { .did = on_client, .makes = true },
	[GT_NV_DEVICE] = { .did = on_device, .makes = true },
	[GT_NV_GROUP] = { .did = on_group, .makes = true },
	[GT_NV_CHANNEL] = { .did = on_channel, .makes = true },
	[GT_NV_FREE] = { .did = on_free },
	[GT_NV_SCHEDULE] = { .did = on_schedule },
	[GT_NV_TIMESLICE] = { .did = on_value },
	[GT_NV_INTERLEAVE] = { .did = on_value },
	[GT_NV_INFO] = { .did = on_value },
	[GT_NV_RM_TOKEN] = { .did = on_rm_token },
	[GT_NV_GPU_ID] = { .did = on_gpu_id, .makes = true },
	[GT_NV_ENTER] = { .handle = on_enter },
	[GT_NV_CLOSE] = { .handle = on_close },
	[GT_NV_EXIT] = { .did = on_exit_of },
	[GT_NV_EXEC] = { .did = on_exec },
};

bool gv_record(struct gv *v, const struct gt_bpf_nv *n)
{
	struct gv_at at = { .v = v, .n = n };
	uint32_t p;

	if (n->kind >= GT_NV_KINDS)
		return false;
	if (kinds[n->kind].handle)
		kinds[n->kind].handle(&at);
	if (!kinds[n->kind].did)
		return false;
	p = proc_at(&at, n->rm.gen, kinds[n->kind].makes);
	if (p)
		kinds[n->kind].did(&at, p);
	if (call_of(v, n->tid)->tid == n->tid)
		*call_of(v, n->tid) = (struct gv_call){ 0 };
	return false;
}

/* A process with an end that was missed has ended; and what ended ones had, as the closing of their
 * files may not have been heard either. */
static void look_for_ends(struct gv_at *at)
{
	struct gv *v = at->v;

	for (uint32_t p = 1; p <= v->nprocs; p++) {
		const struct gv_proc *proc = &v->proc[p];
		uint32_t gen = proc->pid && !proc->gone ? v->gen_of(v, proc->pid) : 0;

		if (proc->pid && (!gen || (proc->gen && proc->gen != gen)))
			gv_proc_end(at, p);
	}
}

void gv_round(struct gv *v, uint64_t until)
{
	const struct gt_bpf_nv nobody = {
		.ts = until, .cpu = GT_NONE16, .pid = GT_NONE32, .tid = GT_NONE32
	};
	struct gv_at at = { .v = v, .n = &nobody, .flags = GT_F_INFERRED };

	if (v->lost && until >= v->looked + GV_PATIENCE_NS) {
		v->lost = false;
		v->looked = until;
		look_for_ends(&at);
	}
	for (uint32_t t = v->leaving, next; t; t = next) {
		next = v->tsg[t].next;
		if (v->tsg[t].left + GV_PATIENCE_NS <= until)
			gv_tsg_end(&at, t, 0);
	}
}

/* Without the processes: one that has ended must not be made anew. */
void gv_forsake(struct gv *v, uint64_t ts)
{
	const struct gt_bpf_nv nobody = { .ts = ts, .cpu = GT_NONE16 };
	struct gv_at at = { .v = v, .n = &nobody };
	union gt_record r;

	v->release = false;
	for (uint32_t t = 1; t <= v->ntsgs; t++) {
		if (!v->tsg[t].used)
			continue;
		gv_tsg_desc(&at, t, &r);
		r.queue.pid = r.queue.uid = GT_NONE32;
		gb_out(v->b, &r);
	}
}

/*
 * What the hooks of the patched module mean. They have numbers, of which TSG's is one of its
 * runlist, and of neither runlist nor GPU when it ends. So which queue is meant is concluded: from
 * the RM call that the hook runs inside, which names the object (and so the GPU), or from what the
 * process has. Queues of other processes are never meant, but for those that are leaving: their end
 * may come from anybody, as the driver has workers for it.
 */

/* The GPU that object @o is of; GT_NONE16: it is not known */
static uint16_t gpu_of(const struct gv *v, uint32_t o)
{
	while (o && v->obj[o].kind != GT_NV_DEVICE)
		o = v->obj[o].up;
	return o ? v->obj[o].gpu : GT_NONE16;
}

/* The object that call @c (NULL: none) of process @p is about; 0: it is not known */
static uint32_t object_of(const struct gv *v, uint32_t p, const struct gv_call *c)
{
	return c ? gv_obj(v, p, c->client, c->object) : 0;
}

static void gv_on_tsg_init(struct gv_at *at)
{
	struct gv *v = at->v;
	const struct gt_bpf_nv *n = at->n;
	struct gv_line l = gv_line(at, GT_NV_INIT, 0);
	uint32_t p = proc_at(at, 0, true), dev, t;
	struct gv_call *c = gv_inside(at, GT_NV_GROUP);
	union gt_record r;
	char name[16];
	uint16_t gpu;

	l.tsg = n->hook.tsg;
	l.runlist = n->hook.runlist;
	l.timeslice = n->hook.timeslice;
	l.interleave = n->hook.interleave;
	l.engine = n->hook.engine;
	gv_trace(at, l);
	if (!p || n->hook.tsg == GT_NONE32)
		return;
	dev = c ? gv_obj(v, p, c->client, c->parent) : 0;
	gpu = gpu_of(v, dev);
	t = gv_tsg_new(at, p, gpu == GT_NONE16 ? gv_gpu_of_proc(v, &v->proc[p]) : gpu,
		       n->hook.runlist, n->hook.tsg);
	if (!t)
		return;
	v->tsg[t].hooked = true;
	if (!c) /* its begin was not reported: hooks were about to be there, or to go */
		c = gv_enter(at, GT_NV_GROUP);
	c->tsg = t;
	v->tsg[t].call = (uint32_t)(c - v->call);
	gv_tsg_event(at, t, GT_QUEUE_CREATE, GT_NONE64, GT_NONE64);
	gv_tsg_desc(at, t, &r);
	/* the level of that moment: RM sets another right after, which the first BIND has */
	r.queue.engine = (uint16_t)gv_engine(v->driver ? v->driver : GV_HOOK_DRIVER, true,
					     n->hook.engine, name);
	r.queue.timeslice_us = n->hook.timeslice;
	gb_out(v->b, &r);
}

/* A queue from before we looked: it is known from now on. With one GPU its numbers are its name, so
 * if one of that name is known that is it, made by a process that has given its file to this one.
 */
static uint32_t found_late(struct gv_at *at)
{
	struct gv *v = at->v;
	uint32_t p = proc_at(at, 0, true), t = 0;
	uint16_t gpu;

	if (!p || at->n->hook.tsg == GT_NONE32)
		return 0;
	gpu = gv_gpu_of_proc(v, &v->proc[p]);
	if (v->npci <= 1)
		t = gv_tsg_same(v, gpu, at->n->hook.runlist, at->n->hook.tsg);
	if (!t)
		t = gv_tsg_new(at, p, gpu, at->n->hook.runlist, at->n->hook.tsg);
	if (t)
		v->tsg[t].hooked = true;
	return t;
}

/* The queue that a hook inside a call of @kind is about, if it has these numbers, else the one of
 * this process that has. 0: none, or @several */
static uint32_t meant(struct gv_at *at, uint32_t kind, uint32_t runlist, uint32_t tsg,
		      bool *several)
{
	struct gv *v = at->v;
	uint32_t p = proc_at(at, 0, false), o = object_of(v, p, gv_inside(at, kind)), t;
	struct gv_key key = { .gpu = gpu_of(v, o), .runlist = runlist, .tsg = tsg };
	struct gv_tsg *q;

	*several = false;
	t = gv_queue_of(v, o);
	q = &v->tsg[t];
	if (t && !q->hooked && tsg != GT_NONE32) { /* made before the hooks were there */
		q->hooked = true;
		q->tsg = tsg;
	}
	if (t && q->tsg == tsg && q->runlist == GT_NONE32)
		q->runlist = runlist;
	if (t && q->hooked && q->tsg == tsg && (runlist == GT_NONE32 || q->runlist == runlist))
		return t;
	t = gv_tsg_find(at, v->proc[p].tsgs, &key, several);
	v->ambiguous += *several;
	return *several ? 0 : t;
}

static void gv_on_bind(struct gv_at *at)
{
	struct gv *v = at->v;
	const struct gt_bpf_nv *n = at->n;
	struct gv_line l;
	union gt_record r;
	bool several;
	uint32_t t = meant(at, GT_NV_SCHEDULE, n->hook.runlist, n->hook.tsg, &several);

	if (!t && !several)
		t = found_late(at);
	l = gv_line(at, GT_NV_BIND, t);
	l.tsg = n->hook.tsg;
	l.channels = n->hook.channels;
	l.timeslice = n->hook.timeslice;
	l.interleave = n->hook.interleave;
	l.allow = n->hook.allow;
	gv_trace(at, l);
	if (!t)
		return;
	v->tsg[t].channels = n->hook.channels;
	gv_tsg_desc(at, t, &r);
	r.queue.timeslice_us = n->hook.timeslice;
	r.queue.interleave = n->hook.interleave == 0xff ? GT_NONE16 : n->hook.interleave;
	gb_out(v->b, &r);
	gv_tsg_event(at, t, GT_QUEUE_SCHEDULE, n->hook.allow, GT_NONE64);
}

static void gv_on_token(struct gv_at *at)
{
	bool several;
	uint32_t t = meant(at, GT_NV_RM_TOKEN, GT_NONE32, at->n->token.tsg, &several);
	struct gv_line l = gv_line(at, GT_NV_TOKEN, t);

	l.tsg = at->n->token.tsg;
	l.channels = at->n->token.channel;
	l.token = at->n->token.token;
	gv_trace(at, l);
	if (t)
		gv_tsg_event(at, t, GT_QUEUE_TOKEN, at->n->token.token, at->n->token.channel);
	else if (!several)
		at->v->unmatched++;
}

/* Ends ------------------------------------------------------------------------------------ */

/* Does the call that frees an object take @q along? 2: it does; 1: perhaps, as something is not
 * known: what @q hangs on, or what is freed */
static unsigned int is_freed(struct gv_at *at, const struct gv_tsg *q)
{
	const struct gv *v = at->v;
	const struct gv_call *c = gv_inside(at, GT_NV_FREE);
	uint32_t o = q->obj, freed = object_of(v, q->proc, c);

	if (!o)
		return 1;
	if (v->obj[o].client != c->client)
		return 0;
	if (!freed)
		return c->object == c->client || gpu_of(v, o) == GT_NONE16;
	while (o && o != freed)
		o = v->obj[o].up;
	return o ? 2 : 0;
}

/* Can @q go with a file? It cannot if it came by one: that was reported when it was closed. */
static unsigned int is_no_files(struct gv_at *at, const struct gv_tsg *q)
{
	uint32_t o = q->obj;

	while (o && at->v->obj[o].up)
		o = at->v->obj[o].up;
	return !o || at->v->obj[o].kind != GT_NV_CLIENT;
}

static unsigned int is_left_by_this(struct gv_at *at, const struct gv_tsg *q)
{
	return q->pid == at->n->pid;
}

/* Whatever this process left comes first. */
static unsigned int is_left(struct gv_at *at, const struct gv_tsg *q)
{
	return 1 + is_left_by_this(at, q);
}

/* Which of process @p's ends; 0: none. It is the newest where several may be meant and nothing is
 * known. */
static uint32_t ends(struct gv_at *at, uint32_t p, const struct gv_call *c)
{
	struct gv *v = at->v;
	struct gv_key key = { .gpu = GT_NONE16, .runlist = GT_NONE32, .tsg = at->n->hook.tsg };
	bool several;
	uint32_t t;

	if (c && c->kind == GT_NV_FREE) {
		key.gpu = gpu_of(v, object_of(v, p, c));
		key.fits = is_freed;
	} else if (c && c->kind == GT_NV_CLOSE) {
		key.fits = is_no_files;
	}
	t = gv_tsg_find(at, v->proc[p].tsgs, &key, &several);
	v->ambiguous += several;
	return t;
}

static uint32_t left(struct gv_at *at,
		     unsigned int (*fits)(struct gv_at *at, const struct gv_tsg *q))
{
	const struct gv_key key = {
		.gpu = GT_NONE16, .runlist = GT_NONE32, .tsg = at->n->hook.tsg, .fits = fits
	};
	bool several; /* which is the same: all of them end */

	return gv_tsg_find(at, at->v->leaving, &key, &several);
}

/* The queue that is destroyed: one that is being freed, or that goes with the file that is closed
 * now, or that this process left, or has; or that another left. 0: none that is known */
static uint32_t destroyed(struct gv_at *at)
{
	struct gv *v = at->v;
	const struct gv_call *c = gv_inside(at, 0);
	uint32_t kind = c ? c->kind : 0, p = proc_at(at, 0, false), t = 0;

	if (kind == GT_NV_GROUP && v->tsg[c->tsg].tsg == at->n->hook.tsg)
		t = c->tsg; /* it could not be made after all */
	if (!t && kind == GT_NV_CLOSE)
		t = left(at, is_left);
	if (!t && kind != GT_NV_FREE)
		t = left(at, is_left_by_this);
	if (!t)
		t = ends(at, p, c);
	return t ? t : left(at, is_left);
}

static void gv_on_destroy(struct gv_at *at)
{
	struct gv_line l = gv_line(at, GT_NV_DESTROY, 0);
	uint32_t t = destroyed(at);

	l.tsg = at->n->hook.tsg;
	gv_trace(at, l);
	if (t)
		gv_tsg_end(at, t, 0);
	else
		at->v->unmatched++;
}
