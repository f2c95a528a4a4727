/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that use the driver, and of their RM objects those that queues hang on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../../../fs/model/mix.h"
#include "nvidia.h"

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

/* A user's place; 0: there are too many users, whose processes are then left out. */
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

uint32_t gv_proc(struct gv_at *at, uint32_t gen, bool make)
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

uint32_t gv_obj_new(struct gv_at *at, uint32_t p, uint16_t kind, uint32_t handle)
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

void gv_obj_end(struct gv_at *at, uint32_t o)
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

void gv_proc_end(struct gv_at *at, uint32_t p)
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

void gv_proc_exit(struct gv_at *at, uint32_t p)
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

void gv_file_end(struct gv_at *at, struct gt_nv_file file)
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
