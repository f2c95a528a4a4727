/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers of engines. NV2080_ENGINE_TYPE_* (class/cl2080_notification.h) is what programs say, and
 * was only added to. RM_ENGINE_TYPE_* (kernel/gpu/gpu_engine_type.h) is what the driver says
 * inside, and changed: with 535.113.01 NVJPEG began at 0x35, with 560.35 at 0x36, with 570 an
 * NVENC3 came in between. Where the change was between those is not known, so there nothing is
 * claimed.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "nvidia.h"

struct range {
	uint8_t first, last, index; /* index of the first, with @one: none */
	bool one;
	uint8_t engine;
	const char *name;
};

static const struct range nv2080[] = {
	{ 0x01, 0x08, 0, false, GT_ENGINE_GRAPHICS, "GR" },
	{ 0x09, 0x12, 0, false, GT_ENGINE_COPY, "COPY" },
	{ 0x13, 0x1a, 0, false, GT_ENGINE_VIDEO_DECODE, "NVDEC" },
	{ 0x1b, 0x1d, 0, false, GT_ENGINE_VIDEO_ENCODE, "NVENC" },
	{ 0x22, 0x22, 0, true, GT_ENGINE_UNKNOWN, "SW" },
	{ 0x26, 0x26, 0, true, GT_ENGINE_UNKNOWN, "SEC2" },
	{ 0x2b, 0x32, 0, false, GT_ENGINE_VIDEO_DECODE, "NVJPEG" },
	{ 0x33, 0x33, 0, false, GT_ENGINE_UNKNOWN, "OFA" },
	{ 0x34, 0x3d, 10, false, GT_ENGINE_COPY, "COPY" },
	{ 0x3e, 0x3e, 1, false, GT_ENGINE_UNKNOWN, "OFA" },
	{ 0x3f, 0x3f, 3, false, GT_ENGINE_VIDEO_ENCODE, "NVENC" },
	{ 0 },
};

/* The same with every driver from 535 on */
static const struct range rm_all[] = {
	{ 0x01, 0x08, 0, false, GT_ENGINE_GRAPHICS, "GR" },
	{ 0x09, 0x1c, 0, false, GT_ENGINE_COPY, "COPY" },
	{ 0x1d, 0x24, 0, false, GT_ENGINE_VIDEO_DECODE, "NVDEC" },
	{ 0x25, 0x27, 0, false, GT_ENGINE_VIDEO_ENCODE, "NVENC" },
	{ 0 },
};

static const struct range rm_535[] = {
	{ 0x2c, 0x2c, 0, true, GT_ENGINE_UNKNOWN, "SW" },
	{ 0x30, 0x30, 0, true, GT_ENGINE_UNKNOWN, "SEC2" },
	{ 0x35, 0x3c, 0, false, GT_ENGINE_VIDEO_DECODE, "NVJPEG" },
	{ 0x3d, 0x3d, 0, false, GT_ENGINE_UNKNOWN, "OFA" },
	{ 0 },
};

static const struct range rm_560[] = {
	{ 0x28, 0x28, 3, false, GT_ENGINE_VIDEO_ENCODE, "NVENC" }, /* reserved before 570 */
	{ 0x2d, 0x2d, 0, true, GT_ENGINE_UNKNOWN, "SW" },
	{ 0x31, 0x31, 0, true, GT_ENGINE_UNKNOWN, "SEC2" },
	{ 0x36, 0x3d, 0, false, GT_ENGINE_VIDEO_DECODE, "NVJPEG" },
	{ 0x3e, 0x3f, 0, false, GT_ENGINE_UNKNOWN, "OFA" },
	{ 0 },
};

static const struct range *find(const struct range *r, uint32_t number)
{
	for (; r && r->name; r++)
		if (number >= r->first && number <= r->last)
			return r;
	return NULL;
}

/* Before 535 the driver's own numbers were a program's, at least as far as the first copy engines.
 */
static const struct range *find_rm(uint32_t driver, uint32_t number)
{
	const struct range *r;

	if (driver < 535)
		return number <= 0x12 ? find(nv2080, number) : NULL;
	r = find(rm_all, number);
	if (r)
		return r;
	return find(driver == 535 ? rm_535 : driver >= 560 ? rm_560 : NULL, number);
}

enum gt_engine gv_engine(uint32_t driver, bool rm, uint32_t number, char name[16])
{
	const struct range *r = rm ? find_rm(driver, number) : find(nv2080, number);

	name[0] = '\0';
	if (!r)
		return GT_ENGINE_UNKNOWN;
	if (r->one)
		snprintf(name, 16, "%s", r->name);
	else
		snprintf(name, 16, "%s%u", r->name,
			 (unsigned int)(number - r->first + r->index) & 0xff);
	return (enum gt_engine)r->engine;
}

/* "575.57.08", or the line of /proc/driver/nvidia/version that has such a word */
uint32_t gv_driver_parse(const char *text)
{
	for (const char *s = text; *s; s++) {
		uint32_t major = 0;
		int n = 0;

		if (s > text && !isspace((unsigned char)s[-1]))
			continue;
		for (; isdigit((unsigned char)s[n]) && n < 6; n++)
			major = major * 10 + (uint32_t)(s[n] - '0');
		if (n && s[n] == '.' && isdigit((unsigned char)s[n + 1]))
			return major;
	}
	return 0;
}

uint32_t gv_driver_read(void)
{
	static const char *const paths[] = { "/sys/module/nvidia/version",
					     "/proc/driver/nvidia/version" };
	uint32_t found = 0;
	char line[256];

	for (size_t i = 0; i < 2 && !found; i++) {
		FILE *f = fopen(paths[i], "re");

		if (!f)
			continue;
		if (fgets(line, sizeof(line), f))
			found = gv_driver_parse(line);
		fclose(f);
	}
	return found;
}

/*
 * Queues: TSGs. The driver numbers them for each runlist of a GPU, so that number alone is no name;
 * programs name them by a handle, which is no name for others.
 */

/* The key is the id, so that it can be found where the hooks say no more than a number. */
static uint32_t id_of(uint32_t runlist, uint32_t tsg)
{
	if (runlist >= GV_OWN_ID >> 16 || tsg > 0xffff)
		return GT_NONE32;
	return runlist << 16 | tsg;
}

/* The lowest id of ours that is free: an id is used again, as the model keeps each for a while. */
static uint32_t own_id(struct gv *v)
{
	uint32_t i = 0;

	while (!~v->own[i])
		i++;
	i = i * 64 + (uint32_t)__builtin_ctzll(~v->own[i]);
	v->own[i / 64] |= 1ull << i % 64;
	return GV_OWN_ID + i;
}

static uint32_t *bucket_of(struct gv *v, uint16_t gpu, uint32_t id)
{
	return &v->tsg_bucket[gv_bucket(v, gpu, id, 0)];
}

static uint32_t same_id(struct gv *v, uint16_t gpu, uint32_t id)
{
	uint32_t t = *bucket_of(v, gpu, id);

	while (t && (v->tsg[t].gpu != gpu || v->tsg[t].id != id))
		t = v->tsg[t].chain;
	return t;
}

static uint32_t take(struct gv *v)
{
	uint32_t t = v->free_tsgs;

	if (t)
		v->free_tsgs = v->tsg[t].chain;
	else if (v->ntsgs < GV_MAX_TSGS)
		t = ++v->ntsgs;
	return t;
}

static uint32_t *list_of(struct gv *v, const struct gv_tsg *q)
{
	return q->proc ? &v->proc[q->proc].tsgs : &v->leaving;
}

static void enlist(struct gv *v, uint32_t t)
{
	struct gv_tsg *q = &v->tsg[t];
	uint32_t *list = list_of(v, q);

	q->prev = 0;
	q->next = *list;
	v->tsg[*list].prev = t;
	*list = t;
}

/* From its list, and from what it was made as and in */
static void detach(struct gv *v, uint32_t t)
{
	struct gv_tsg *q = &v->tsg[t];

	*(q->prev ? &v->tsg[q->prev].next : list_of(v, q)) = q->next;
	v->tsg[q->next].prev = q->prev;
	if (q->obj)
		v->obj[q->obj].tsg = 0;
	q->obj = 0;
	if (v->call[q->call].tsg == t)
		v->call[q->call].tsg = 0;
}

static void enter(struct gv *v, uint32_t t)
{
	uint32_t *bucket = bucket_of(v, v->tsg[t].gpu, v->tsg[t].id);

	v->tsg[t].chain = *bucket;
	*bucket = t;
	enlist(v, t);
}

static void forget(struct gv *v, uint32_t t)
{
	struct gv_tsg *q = &v->tsg[t];
	uint32_t *i = bucket_of(v, q->gpu, q->id);

	while (*i != t)
		i = &v->tsg[*i].chain;
	*i = q->chain;
	detach(v, t);
	if (q->id >= GV_OWN_ID)
		v->own[(q->id - GV_OWN_ID) / 64] &= ~(1ull << (q->id - GV_OWN_ID) % 64);
	v->user[q->user].tsgs--;
	*q = (struct gv_tsg){ .chain = v->free_tsgs };
	v->free_tsgs = t;
}

/*
 * Has the driver given @q's numbers to another queue, which @p has made? It has if there is one
 * GPU. Where there are several, the answer that a process got shows which one it
 * uses, and it may claim another one.
 */
static bool is_over(const struct gv *v, const struct gv_tsg *q, uint32_t p)
{
	return v->npci <= 1 || !q->proc || q->proc == p;
}

uint32_t gv_tsg_new(struct gv_at *at, uint32_t p, uint16_t gpu, uint32_t runlist, uint32_t tsg)
{
	struct gv *v = at->v;
	const struct gv_proc *proc = &v->proc[p];
	struct gv_user *user = &v->user[proc->user];
	uint32_t id = id_of(runlist, tsg), old, t;

	old = id == GT_NONE32 ? 0 : same_id(v, gpu, id);
	if (old && is_over(v, &v->tsg[old], p)) /* its end was not heard */
		gv_tsg_end(at, old, GT_F_INFERRED);
	else if (old)
		id = GT_NONE32;
	t = proc->uid && user->tsgs >= GV_USER_TSGS ? 0 : take(v);
	if (!t) {
		v->tsgs_refused++;
		return 0;
	}
	user->tsgs++;
	v->tsg[t] = (struct gv_tsg){
		.used = true,
		.gpu = gpu,
		.id = id == GT_NONE32 ? own_id(v) : id,
		.proc = p,
		.pid = proc->pid,
		.uid = proc->uid,
		.user = proc->user,
		.runlist = runlist,
		.tsg = tsg,
		.channels = GT_NONE32,
	};
	enter(v, t);
	return t;
}

static void init(struct gv_at *at, const struct gv_tsg *q, union gt_record *r, enum gt_type type)
{
	gt_record_init(r, at->n->ts, type);
	r->ev.cpu = at->n->cpu;
	r->ev.gpu = q->gpu;
}

/* One that has ended must not be made anew. */
static uint32_t pid_of(const struct gv *v, const struct gv_tsg *q)
{
	return v->proc[q->proc].gone ? GT_NONE32 : q->pid;
}

void gv_tsg_event(struct gv_at *at, uint32_t t, enum gt_type type, uint64_t value, uint64_t ref)
{
	const struct gv_tsg *q = &at->v->tsg[t];
	union gt_record r;

	init(at, q, &r, type);
	r.ev.queue = q->id;
	r.ev.pid = pid_of(at->v, q);
	r.ev.uid = q->uid;
	r.ev.tid = at->n->pid == q->pid ? at->n->tid : GT_NONE32;
	r.ev.ctx = q->tsg == GT_NONE32 ? GT_NONE64 : q->tsg;
	r.ev.value = value;
	r.ev.ref = ref;
	gb_out(at->v->b, &r);
}

void gv_tsg_desc(struct gv_at *at, uint32_t t, union gt_record *r)
{
	const struct gv_tsg *q = &at->v->tsg[t];

	init(at, q, r, GT_QUEUE);
	r->queue.flags = at->v->release ? GT_F_END_REPORTED : 0;
	r->queue.queue = q->id;
	r->queue.pid = pid_of(at->v, q);
	r->queue.uid = q->uid;
	r->queue.ctx = q->tsg == GT_NONE32 ? GT_NONE64 : q->tsg;
	r->queue.runlist = q->runlist;
	r->queue.channels = q->channels;
	r->queue.kind = GT_QUEUE_TSG;
}

void gv_tsg_end(struct gv_at *at, uint32_t t, uint8_t flags)
{
	struct gv_tsg *q = &at->v->tsg[t];
	union gt_record r;

	init(at, q, &r, GT_QUEUE_DESTROY);
	r.ev.flags = flags | at->flags;
	r.ev.queue = q->id;
	r.ev.pid = pid_of(at->v, q);
	r.ev.uid = q->uid;
	r.ev.tid = at->n->pid == q->pid ? at->n->tid : GT_NONE32;
	gb_out(at->v->b, &r);
	if (!q->hooked)
		gv_trace(at, gv_line(at, GT_NV_DESTROY, t));
	forget(at->v, t);
}

void gv_tsg_leave(struct gv_at *at, uint32_t t)
{
	struct gv *v = at->v;
	struct gv_tsg *q = &v->tsg[t];

	if (!q->hooked || !v->destroys) {
		gv_tsg_end(at, t, 0);
		return;
	}
	detach(v, t);
	q->proc = 0;
	q->left = at->n->ts;
	enlist(v, t);
}

uint32_t gv_tsg_same(struct gv *v, uint16_t gpu, uint32_t runlist, uint32_t tsg)
{
	uint32_t id = id_of(runlist, tsg);

	return id == GT_NONE32 ? 0 : same_id(v, gpu, id);
}

static bool is_meant(const struct gv_tsg *q, const struct gv_key *key, uint16_t any)
{
	return q->hooked && q->tsg == key->tsg &&
	       (key->runlist == GT_NONE32 || q->runlist == key->runlist) &&
	       (key->gpu == GT_NONE16 || key->gpu == q->gpu || key->gpu == any || q->gpu == any);
}

uint32_t gv_tsg_find(struct gv_at *at, uint32_t list, const struct gv_key *key, bool *several)
{
	struct gv *v = at->v;
	uint16_t any = key->gpu == GT_NONE16 ? GT_NONE16 : gv_gpu_any(v);
	unsigned int best = 0, by;
	uint32_t found = 0;

	*several = false;
	for (uint32_t t = list; t; t = v->tsg[t].next) {
		if (!is_meant(&v->tsg[t], key, any))
			continue;
		by = key->fits ? key->fits(at, &v->tsg[t]) : 1;
		if (by && by == best)
			*several = true;
		if (by <= best)
			continue;
		best = by;
		found = t;
		*several = false;
	}
	return found;
}

/*
 * nvidia_trace: the lines of gpu_sched_trace (eunomia-bpf/gpu_ext, extension/gpu_sched_trace.c),
 * with times that are the events' own and the driver's names of engines and levels. What is not
 * known is
 * "-" in a column, and left out among the rest.
 */

struct gv_line gv_line(const struct gv_at *at, uint16_t kind, uint32_t t)
{
	struct gv_line l;

	memset(&l, 0xff, sizeof(l));
	l.kind = kind;
	l.rm = at->n->kind > GT_NV_DESTROY;
	if (t) {
		l.tsg = at->v->tsg[t].tsg;
		l.runlist = at->v->tsg[t].runlist;
		l.channels = at->v->tsg[t].channels;
	}
	return l;
}

void gv_trace(struct gv_at *at, struct gv_line line)
{
	struct gv *v = at->v;

	line.ts = at->n->ts;
	line.cpu = at->n->cpu;
	line.pid = at->n->pid;
	memcpy(line.comm, at->n->comm, sizeof(line.comm));
	v->reported[line.kind]++;
	v->line[v->lines++ % GV_LINES] = line;
}

struct out {
	char *p;
	size_t left;
};

static void __attribute__((format(printf, 2, 3))) put(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(o->p, o->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= o->left) {
		*o->p = '\0';
		o->left = 1; /* nothing more fits either */
		return;
	}
	o->p += n;
	o->left -= (size_t)n;
}

static void put_number(struct out *o, const char *before, uint32_t v, const char *after)
{
	if (v != GT_NONE32)
		put(o, "%s%u%s", before, v, after);
}

static void put_head(struct out *o, const struct gv_line *l, int64_t offset)
{
	static const char *const names[] = { [GT_NV_INIT] = "TASK_INIT",
					     [GT_NV_BIND] = "BIND",
					     [GT_NV_TOKEN] = "TOKEN_REQ",
					     [GT_NV_DESTROY] = "TASK_DESTROY" };
	uint64_t at = l->ts + (uint64_t)offset;
	time_t sec = (time_t)(at / 1000000000);
	char clock[16] = "", comm[17] = "", tsg[16] = "-", pid[16] = "-", cpu[8] = "--";
	struct tm tm;

	if (localtime_r(&sec, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	memcpy(comm, l->comm, 16);
	for (char *c = comm; *c; c++) /* no name makes a line of its own */
		*c = *c < ' ' || *c > '~' ? '?' : *c;
	if (l->tsg != GT_NONE32)
		snprintf(tsg, sizeof(tsg), "%u", l->tsg);
	if (l->pid != GT_NONE32)
		snprintf(pid, sizeof(pid), "%u", l->pid);
	if (l->cpu != GT_NONE16)
		snprintf(cpu, sizeof(cpu), "%02u", l->cpu);
	put(o, "%s.%06u [CPU%s] %-12s PID=%-6s %-16s TSG=%-4s", clock,
	    (unsigned int)(at % 1000000000 / 1000), cpu, names[l->kind], pid, *comm ? comm : "-",
	    tsg);
}

static void put_level(struct out *o, const struct gv_line *l)
{
	static const char *const levels[] = { "LOW", "MEDIUM", "HIGH" };

	if (l->interleave < 3)
		put(o, " interleave=%s", levels[l->interleave]);
	else if (l->interleave != 0xff)
		put(o, " interleave=%u", l->interleave);
}

static void put_line(struct out *o, const struct gv *v, const struct gv_line *l, int64_t offset)
{
	char engine[16] = "";

	put_head(o, l, offset);
	switch (l->kind) {
	case GT_NV_INIT:
		if (l->engine != GT_NONE16)
			gv_engine(v->driver || l->rm ? v->driver : GV_HOOK_DRIVER, !l->rm,
				  l->engine, engine);
		if (*engine)
			put(o, " engine=%-8s", engine);
		else if (l->engine != GT_NONE16)
			put(o, " engine=0x%-6x", l->engine);
		put_number(o, " timeslice=", l->timeslice, " us");
		put_level(o, l);
		put_number(o, " runlist=", l->runlist, "");
		break;
	case GT_NV_BIND:
		put_number(o, " channels=", l->channels, "");
		put_number(o, " timeslice=", l->timeslice, " us");
		put_level(o, l);
		put(o, " allowed=%s", l->allow ? "yes" : "no");
		break;
	case GT_NV_TOKEN:
		put_number(o, " channel=", l->channels, "");
		put_number(o, " token=", l->token, "");
		break;
	}
	put(o, "\n");
}

void gv_trace_text(const struct gv *v, const struct gv_counted *c, int64_t offset, char *buf,
		   size_t len)
{
	uint64_t first = v->lines > GV_LINES ? v->lines - GV_LINES : 0;
	struct out o = { buf, len };

	*buf = '\0';
	for (uint64_t i = first; i < v->lines; i++)
		put_line(&o, v, &v->line[i % GV_LINES], offset);
	put(&o,
	    "\n=== Statistics ===\n"
	    "task_init:    %" PRIu64 "\n"
	    "bind:         %" PRIu64 "\n"
	    "token_request: %" PRIu64 "\n"
	    "task_destroy: %" PRIu64 "\n"
	    "dropped:      %" PRIu64 "\n"
	    "read_failed:  %" PRIu64 "\n",
	    v->reported[GT_NV_INIT], v->reported[GT_NV_BIND], v->reported[GT_NV_TOKEN],
	    v->reported[GT_NV_DESTROY], c->dropped, c->read_failed);
}
