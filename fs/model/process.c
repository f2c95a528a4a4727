/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes: by slot, and by pid for the living or the last dead. Identity is pid and start time. A
 * slot is reused only after its process was freed, and that happens only when no job is left of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* What one process does on one ring: made at its first job there, freed with the process. */

#define NEAR(p, ring) ((p)->near[(ring) % (sizeof((p)->near) / sizeof((p)->near[0]))])

/* The second ring of one engine: from here on their busy time is kept together, too */
static void join_engine(struct gt_model *m, const struct gt_proc *p, struct gt_proc_ring *pr)
{
	const struct gt_gpu *g = m->gpus[pr->gpu];
	struct gt_proc_ring *o = p->rings;

	while (o && (o->gpu != pr->gpu || g->rings[o->ring]->engine != g->rings[pr->ring]->engine))
		o = o->next;
	if (!o)
		return;
	if (!o->engine) {
		o->engine = gt_mem_get_for(o->account, sizeof(*o->engine));
		if (!o->engine)
			return;
		*o->engine = o->busy;
		o->first = true;
	}
	pr->engine = o->engine;
}

static struct gt_proc_ring *pring_new(struct gt_model *m, struct gt_proc *p, uint16_t gpu,
				      uint16_t ring)
{
	struct gt_proc_ring *pr = NULL;

	if (p->nrings < GT_PROC_MAX_RINGS)
		pr = gt_mem_get_for(p->account, sizeof(*pr));
	if (!pr) {
		m->prings_refused++;
		return NULL;
	}
	pr->gpu = gpu;
	pr->ring = ring;
	pr->account = p->account;
	gt_stages_init(pr->stage, pr->account);
	if (m->priv->since)
		gt_busy_restart(&pr->busy, m->priv->since);
	join_engine(m, p, pr);
	pr->next = p->rings;
	p->rings = pr;
	p->nrings++;
	return pr;
}

struct gt_proc_ring *gt_pring(struct gt_model *m, struct gt_proc *p, uint16_t gpu, uint16_t ring)
{
	struct gt_proc_ring *pr = NEAR(p, ring);

	if (likely(pr && pr->ring == ring && pr->gpu == gpu))
		return pr;
	for (pr = p->rings; pr; pr = pr->next) {
		if (pr->ring == ring && pr->gpu == gpu)
			break;
	}
	if (!pr)
		pr = pring_new(m, p, gpu, ring);
	if (pr)
		NEAR(p, ring) = pr;
	return pr;
}

static void gt_prings_free(struct gt_model *m, struct gt_proc *p)
{
	struct gt_proc_ring *next;

	for (struct gt_proc_ring *pr = p->rings; pr; pr = next) {
		next = pr->next;
		gt_stages_reset(pr->stage);
		if (pr->first)
			gt_mem_put_for(pr->account, pr->engine, sizeof(*pr->engine));
		gt_mem_put_for(pr->account, pr, sizeof(*pr));
	}
	gt_uses_free(p->uses);
	p->uses = NULL;
}

void gt_prings_restart(struct gt_proc *p, uint64_t now)
{
	for (struct gt_proc_ring *pr = p->rings; pr; pr = pr->next) {
		gt_busy_restart(&pr->busy, now);
		if (pr->first)
			gt_busy_restart(pr->engine, now);
	}
}

void gt_prings_clear(struct gt_proc *p, uint64_t now)
{
	for (struct gt_proc_ring *pr = p->rings; pr; pr = pr->next) {
		memset(&pr->counts, 0, sizeof(pr->counts));
		gt_stages_reset(pr->stage);
	}
	gt_prings_restart(p, now);
	gt_uses_clear(p->uses, now);
}

static void gt_prings_expire(struct gt_proc *p, uint64_t now)
{
	for (struct gt_proc_ring *pr = p->rings; pr; pr = pr->next) {
		for (unsigned int i = 0; i < GT_NSTAGES; i++)
			gt_stage_expire(&pr->stage[i], now);
	}
}

/*
 * Time that threads spend in waits for the GPU and in its ioctls. A source that reports only entry
 * and exit is matched by thread, in a table where a thread may push out others: then the exit
 * counts, and its time is not known.
 */

enum { IN_IOCTL, IN_WAIT };

#define WAYS 4 /* threads that share their places */

static struct gt_inside *set_of(struct gt_model *m, uint32_t tid, uint8_t kind)
{
	uint64_t h = gt_mix(((uint64_t)kind << 32 | tid) ^ m->priv->salt[2], m->priv->salt[1]);

	return &m->priv->inside[h % (GT_TIDS / WAYS) * WAYS];
}

static struct gt_inside *inside(struct gt_model *m, uint32_t tid, uint8_t kind)
{
	struct gt_inside *i = set_of(m, tid, kind);

	for (unsigned int k = 0; k < WAYS; k++, i++)
		if (i->used && i->tid == tid && i->kind == kind)
			return i;
	return NULL;
}

/* The thread's place, else one that is free, else that of who has been inside for longest */
static struct gt_inside *place(struct gt_model *m, uint32_t tid, uint8_t kind)
{
	struct gt_inside *own = inside(m, tid, kind), *i = set_of(m, tid, kind), *best = i;

	for (unsigned int k = 0; k < WAYS && !own; k++, i++) {
		if (!i->used)
			return i;
		if (i->since < best->since)
			best = i;
	}
	return own ? own : best;
}

static void enter(struct gt_model *m, const struct gt_event *e, uint8_t kind)
{
	if (e->tid == GT_NONE32)
		return;
	*place(m, e->tid, kind) = (struct gt_inside){
		.tid = e->tid, .kind = kind, .used = 1, .entered = true, .since = e->ts
	};
}

/* How long the thread was inside: as @reported, or since it entered; GT_NONE64 if that is not known */
static uint64_t leave(const struct gt_inside *i, const struct gt_event *e, uint64_t reported)
{
	if (reported != GT_NONE64)
		return reported;
	return i && i->entered && e->ts >= i->since ? e->ts - i->since : GT_NONE64;
}

static void wait_exit(struct gt_model *m, struct gt_where *w, const struct gt_event *e)
{
	struct gt_inside *i = e->tid == GT_NONE32 ? NULL : inside(m, e->tid, IN_WAIT);
	uint64_t ns = leave(i, e, e->value);

	GT_COUNT(m, w, waits, 1);
	if (ns != GT_NONE64)
		GT_COUNT(m, w, wait_ns, ns);
	if (i)
		i->used = 0;
}

/* The jobs that were submitted in the ioctl, which took @ns until @end, know that now. */
static void report_jobs(struct gt_model *m, const struct gt_inside *i, uint64_t end, uint64_t ns,
			struct gt_folded *f)
{
	for (unsigned int k = 0; k < i->n; k++) {
		struct gt_job *j = &m->jobs[i->job[k].index];

		/* by an ioctl before this one, with an end that was not reported */
		if (ns == GT_NONE64 || i->job[k].at > end || end - i->job[k].at > ns)
			continue;
		if (i->job[k].number != GT_NONE64)
			f->late[f->nlate++] = i->job[k].number;
		else if (j->live && j->seen == i->job[k].seen)
			j->ioctl = ns;
	}
	f->ioctl = ns;
}

static void ioctl_exit(struct gt_model *m, struct gt_where *w, const struct gt_event *e,
		       struct gt_folded *f)
{
	struct gt_inside *i = e->tid == GT_NONE32 ? NULL : inside(m, e->tid, IN_IOCTL);
	uint64_t ns = leave(i, e, e->ref);

	GT_COUNT(m, w, ioctls, 1);
	if (ns != GT_NONE64)
		GT_COUNT(m, w, ioctl_ns, ns);
	if (!i)
		return;
	i->used = 0;
	report_jobs(m, i, e->ts, ns, f);
}

/* Somebody waits for a job that is in flight, or no longer does */
static void job_waited(struct gt_model *m, struct gt_where *w, const struct gt_event *e)
{
	struct gt_job *j;

	if (!w->ring)
		return;
	j = gt_job_find(m, e, gt_event_hash(m, e));
	if (!j)
		return;
	if (e->type == GT_SYNC_WAIT_EXIT)
		j->waiting = 0;
	else if (!j->waiting)
		j->waiting = e->ts;
}

void gt_wait_event(struct gt_model *m, struct gt_where *w, const struct gt_event *e,
		   struct gt_folded *f)
{
	switch (e->type) {
	case GT_SYNC_WAIT_ENTER:
		enter(m, e, IN_WAIT);
		job_waited(m, w, e);
		break;
	case GT_SYNC_WAIT_EXIT:
		wait_exit(m, w, e);
		job_waited(m, w, e);
		break;
	case GT_IOCTL_ENTER:
		enter(m, e, IN_IOCTL);
		break;
	case GT_IOCTL_EXIT:
		ioctl_exit(m, w, e, f);
		break;
	}
}

/*
 * While the ioctl lasts a job's time in it is not known, and the field says where the thread is in
 * the table: numbers that no time is.
 */
#define MARKS (GT_TIDS * GT_IOCTL_JOBS)

static uint64_t mark(const struct gt_model *m, const struct gt_inside *i, unsigned int k)
{
	return GT_NONE64 - 1 - ((uint64_t)(i - m->priv->inside) * GT_IOCTL_JOBS + k);
}

uint64_t gt_wait_ioctl(uint64_t ioctl)
{
	return ioctl < GT_NONE64 - MARKS ? ioctl : GT_NONE64;
}

void gt_wait_submit(struct gt_model *m, struct gt_job *j, uint32_t tid, uint64_t ts)
{
	struct gt_inside *i;

	if (tid == GT_NONE32)
		return;
	i = inside(m, tid, IN_IOCTL);
	if (!i) {
		i = place(m, tid, IN_IOCTL);
		*i = (struct gt_inside){ .tid = tid, .kind = IN_IOCTL, .used = 1, .since = ts };
	}
	if (i->n == GT_IOCTL_JOBS) {
		if (i->entered)
			return;
		i->n = 0; /* only the last can be of an ioctl that is not reported yet */
	}
	i->job[i->n].index = (uint32_t)(j - m->jobs);
	i->job[i->n].seen = j->seen;
	i->job[i->n].at = ts;
	i->job[i->n].number = GT_NONE64;
	j->ioctl = mark(m, i, i->n++);
}

void gt_model_logged(struct gt_model *m, const struct gt_folded *f, uint64_t number)
{
	const struct gt_job *j = f->job;
	struct gt_inside *i;
	uint64_t at;

	if (!f->finished || !j || j->ioctl == GT_NONE64 || j->ioctl < GT_NONE64 - MARKS)
		return;
	at = GT_NONE64 - 1 - j->ioctl;
	i = &m->priv->inside[at / GT_IOCTL_JOBS];
	at %= GT_IOCTL_JOBS;
	if (i->used && at < i->n && i->job[at].index == (uint32_t)(j - m->jobs) &&
	    i->job[at].seen == j->seen)
		i->job[at].number = number;
}

/*
 * What is read off of processes, by GPU: how long engines worked for them, and memory that they
 * hold. What ended keeps the busy time that was seen, and holds nothing.
 */

static struct gt_use *use_of(struct gt_use **list, uint16_t gpu, uint16_t account)
{
	struct gt_use *u = gt_use_of(*list, gpu);

	if (u)
		return u;
	u = gt_mem_get_for(account, sizeof(*u));
	if (!u)
		return NULL;
	u->gpu = gpu;
	u->account = account;
	u->next = *list;
	*list = u;
	return u;
}

static struct gt_use_busy *engine_of(struct gt_use *u, const char *name)
{
	struct gt_use_busy *e = u->engines;

	while (e && strncmp(e->name, name, sizeof(e->name)))
		e = e->next;
	if (e || u->nengines == GT_USE_ENGINES)
		return e;
	e = gt_mem_get_for(u->account, sizeof(*e));
	if (!e)
		return NULL;
	memcpy(e->name, name, sizeof(e->name));
	e->name[sizeof(e->name) - 1] = '\0';
	e->next = u->engines;
	u->engines = e;
	u->nengines++;
	return e;
}

/* False: there is no room for all of it */
static bool add_engines(struct gt_use *u, const struct gt_usage *from)
{
	bool all = true;

	for (unsigned int i = 0; i < from->nengines; i++) {
		const struct gt_use_engine *e = &from->engine[i];
		struct gt_use_busy *b = engine_of(u, e->name);

		all &= b != NULL;
		if (!b)
			continue;
		b->capacity = e->capacity > b->capacity ? e->capacity : b->capacity;
		gt_busy_spread(&b->busy, from->since, from->at, e->ns);
	}
	return all;
}

static uint64_t busy_of(const struct gt_usage *u)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < u->nengines; i++)
		ns = gt_sum(ns, u->engine[i].ns);
	return ns;
}

bool gt_model_usage(struct gt_model *m, const struct gt_usage *u, struct gt_folded *f)
{
	struct gt_gpu *g = u->gpu < m->ngpus ? m->gpus[u->gpu] : NULL;
	struct gt_use *of_gpu = g ? use_of(&g->use, u->gpu, 0) : NULL, *own;
	struct gt_proc *p = NULL;
	bool all;

	if (g && (u->nengines || u->nregions || u->kfd))
		p = gt_proc_get(m, u->pid, GT_NONE32, u->at, f);
	else if (g) /* that it holds nothing any more makes no process */
		p = gt_model_proc(m, u->pid);

	own = p ? use_of(&p->uses, u->gpu, p->account) : NULL;
	if (!own || !of_gpu)
		return false;
	all = add_engines(own, u);
	all &= add_engines(of_gpu, u);
	if (u->memory && !p->dead) {
		own->nregions = u->nregions;
		memcpy(own->region, u->region, u->nregions * sizeof(*u->region));
	}
	if (u->kfd && !p->dead) {
		own->kfd = *u->kfd;
		own->kfd_at = u->at;
	}
	if (busy_of(u) && u->at > p->last_ts)
		p->last_ts = u->at;
	gt_set_now(m, u->at);
	p->gen++;
	g->gen++;
	m->gen++;
	return all;
}

void gt_uses_free(struct gt_use *u)
{
	struct gt_use *next;

	for (; u; u = next) {
		struct gt_use_busy *e, *after;

		next = u->next;
		for (e = u->engines; e; e = after) {
			after = e->next;
			gt_mem_put_for(u->account, e, sizeof(*e));
		}
		gt_mem_put_for(u->account, u, sizeof(*u));
	}
}

void gt_uses_clear(struct gt_use *u, uint64_t now)
{
	for (; u; u = u->next)
		for (struct gt_use_busy *e = u->engines; e; e = e->next)
			gt_busy_restart(&e->busy, now);
}

/** gt_uses_ended() - their process holds nothing any more */
static void gt_uses_ended(struct gt_use *u)
{
	for (; u; u = u->next) {
		u->nregions = 0;
		u->kfd_at = 0;
	}
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a == GT_NONE64 ? b : b == GT_NONE64 ? a : gt_sum(a, b);
}

static void fold_region(struct gt_use *to, const struct gt_use_region *from)
{
	struct gt_use_region *r = to->region;

	while (r < to->region + to->nregions && strncmp(r->name, from->name, sizeof(r->name)))
		r++;
	if (r == to->region + GT_USE_REGIONS)
		return;
	if (r == to->region + to->nregions) {
		*r = *from;
		to->nregions++;
		return;
	}
	r->total = add(r->total, from->total);
	r->resident = add(r->resident, from->resident);
	r->shared = add(r->shared, from->shared);
	r->active = add(r->active, from->active);
	r->purgeable = add(r->purgeable, from->purgeable);
}

int gt_uses_fold(struct gt_use **to, uint16_t account, const struct gt_use *from, bool memory)
{
	for (; from; from = from->next) {
		struct gt_use *u = use_of(to, from->gpu, account);

		if (!u)
			return -ENOMEM;
		for (const struct gt_use_busy *e = from->engines; e; e = e->next) {
			struct gt_use_busy *b = engine_of(u, e->name);

			if (!b)
				return -ENOMEM;
			b->capacity = e->capacity > b->capacity ? e->capacity : b->capacity;
			gt_busy_fold(&b->busy, &e->busy);
		}
		for (unsigned int i = 0; memory && i < from->nregions; i++)
			fold_region(u, &from->region[i]);
	}
	return 0;
}

uint64_t gt_use_ns(const struct gt_use *u, uint64_t now, uint64_t window)
{
	uint64_t ns = 0;

	if (!u || !u->engines)
		return GT_NONE64;
	for (const struct gt_use_busy *e = u->engines; e; e = e->next)
		ns += gt_busy_ns(&e->busy, now, window);
	return ns;
}

uint64_t gt_use_engine_ns(const struct gt_use *u, unsigned int e, uint64_t now, uint64_t window)
{
	uint64_t ns = GT_NONE64;

	for (const struct gt_use_busy *b = u ? u->engines : NULL; b; b = b->next)
		if (gt_engine_guess(b->name) == (enum gt_engine)e)
			ns = add(ns, gt_busy_ns(&b->busy, now, window) /
					     (b->capacity ? b->capacity : 1));
	return ns;
}

uint64_t gt_use_bytes(const struct gt_use *u)
{
	uint64_t bytes = GT_NONE64;

	for (unsigned int i = 0; u && i < u->nregions; i++)
		bytes = add(bytes, u->region[i].resident != GT_NONE64 ? u->region[i].resident
								      : u->region[i].total);
	return bytes == GT_NONE64 && u && u->kfd_at ? u->kfd.vram : bytes;
}

#define DEAD_LOOKED_AT	  64   /* when room is needed at once, */
#define OWN_LOOKED_AT	  1024 /* for one of the same user's */
#define EXPIRED_AT_A_TIME 64
#define FREED_AT_A_TIME	  256 /* each is folded into two totals: some ms with the lock held */

int gt_procs_init(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;

	p->dead_head = p->dead_tail = p->bury = GT_NONE32;
	m->procs = gt_mem_get(m->limits.max_procs * sizeof(*m->procs), false);
	p->free_slots = gt_mem_get(m->limits.max_procs * sizeof(*p->free_slots), false);
	m->nobody = gt_mem_get(sizeof(*m->nobody), false);
	if (!m->procs || !p->free_slots || !m->nobody)
		return -ENOMEM;
	m->nobody->slot = m->nobody->pid = m->nobody->uid = GT_NONE32;
	return gt_map_init(&p->pids, p->salt[0]);
}

void gt_procs_destroy(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;

	for (unsigned int i = 0; m->procs && i < m->proc_slots; i++) {
		if (!m->procs[i])
			continue;
		gt_prings_free(m, m->procs[i]);
		gt_share_give(m->procs[i]->account, GT_SH_PROCS, 1);
		gt_mem_put(m->procs[i], sizeof(*m->procs[i]));
	}
	if (m->nobody)
		gt_prings_free(m, m->nobody);
	gt_mem_put(m->nobody, sizeof(*m->nobody));
	gt_mem_put(m->procs, m->limits.max_procs * sizeof(*m->procs));
	gt_mem_put(p->free_slots, m->limits.max_procs * sizeof(*p->free_slots));
	gt_map_destroy(&p->pids);
}

/* Frees the dead process @p; @prev: the one that died before it, or GT_NONE32 */
static void proc_free(struct gt_model *m, struct gt_proc *p, uint32_t prev)
{
	struct gt_model_private *priv = m->priv;

	if (prev == GT_NONE32)
		priv->dead_head = p->dead_next;
	else
		m->procs[prev]->dead_next = p->dead_next;
	if (priv->dead_tail == p->slot)
		priv->dead_tail = prev;
	if (priv->bury == p->slot)
		priv->bury = p->dead_next;
	if (gt_map_get(&priv->pids, p->pid) == p->slot)
		gt_map_del(&priv->pids, p->pid);
	priv->last = NULL; /* its process may be this one */
	gt_group_leave(m, p);
	gt_prings_free(m, p);
	m->procs[p->slot] = NULL;
	priv->free_slots[priv->nfree++] = p->slot;
	gt_share_give(p->account, GT_SH_PROCS, 1);
	gt_mem_put(p, sizeof(*p));
	m->nprocs--;
	m->dir_gen++;
	m->gen++;
}

/* Room for one more: the process that died first and has no jobs left goes; of @account, if any */
static bool make_room(struct gt_model *m, uint16_t account)
{
	uint32_t prev = GT_NONE32, slot = m->priv->dead_head;

	for (unsigned int i = account ? OWN_LOOKED_AT : DEAD_LOOKED_AT; i && slot != GT_NONE32;
	     i--) {
		const struct gt_proc *p = m->procs[slot];

		if (!p->inflight && (!account || p->account == account)) {
			proc_free(m, m->procs[slot], prev);
			return true;
		}
		prev = slot;
		slot = m->procs[slot]->dead_next;
	}
	return false;
}

/* Is there room in the share of @account, or can there be? */
static bool share_has(struct gt_model *m, uint16_t account)
{
	uint64_t all = m->limits.max_procs;

	return gt_share_has(account, GT_SH_PROCS, 1, all) || make_room(m, account) ||
	       gt_share_take(account, GT_SH_PROCS, 1, all); /* which counts that there is none */
}

static struct gt_proc *proc_new(struct gt_model *m, uint32_t pid, uint32_t uid, uint64_t ts)
{
	struct gt_model_private *priv = m->priv;
	struct gt_proc *p = NULL;

	if (share_has(m, gt_account(m, uid)) &&
	    (m->nprocs < m->limits.max_procs || make_room(m, 0)))
		p = gt_mem_get(sizeof(*p), false);
	if (!p) {
		m->procs_refused++;
		return NULL;
	}
	p->slot = priv->nfree ? priv->free_slots[priv->nfree - 1] : m->proc_slots;
	if (gt_map_set(&priv->pids, pid, p->slot)) {
		gt_mem_put(p, sizeof(*p));
		m->procs_refused++;
		return NULL;
	}
	if (priv->nfree)
		priv->nfree--;
	else
		m->proc_slots++;
	m->procs[p->slot] = p;
	m->nprocs++;
	m->dir_gen++;
	m->gen++;
	p->pid = pid;
	p->uid = p->user = p->group = GT_NONE32;
	p->first_ts = p->last_ts = ts;
	p->dead_next = GT_NONE32;
	return p;
}

struct gt_proc *gt_model_proc(struct gt_model *m, uint32_t pid)
{
	uint32_t slot = gt_map_get(&m->priv->pids, pid);

	return slot == GT_NONE32 ? NULL : m->procs[slot];
}

/* Sources do not report the namespaces of this machine's processes: /proc has them, a moment later. */
static void join(struct gt_model *m, struct gt_proc *p, const struct gt_ns *ns)
{
	if (ns || p->not_here || !m->wall)
		gt_group_join(m, p, ns);
}

/*
 * The owner of the process becomes known, at times after its first event: then it is in the share in any
 * case, and one of the user's that has ended makes room.
 */
static void owned(struct gt_model *m, struct gt_proc *p)
{
	uint16_t account = p->account ? 0 : gt_account(m, p->uid);

	if (!account)
		return;
	if (!gt_share_has(account, GT_SH_PROCS, 1, m->limits.max_procs))
		make_room(m, account);
	p->account = account;
	gt_share_add(account, GT_SH_PROCS, 1);
}

struct gt_proc *gt_proc_get(struct gt_model *m, uint32_t pid, uint32_t uid, uint64_t ts,
			    struct gt_folded *f)
{
	struct gt_proc *p;

	if (pid == GT_NONE32 || !pid) /* 0 is the idle task */
		return NULL;
	p = gt_model_proc(m, pid);
	if (!p || (p->dead && ts > p->died)) {
		p = proc_new(m, pid, uid, ts);
		f->new_proc = p;
	}
	if (p && unlikely(p->uid == GT_NONE32) && uid != GT_NONE32) {
		p->uid = uid;
		owned(m, p);
		join(m, p, NULL);
	}
	return p;
}

static void keep_text(char *to, size_t size, const char *text)
{
	size_t len;

	if (!text || !*text)
		return;
	len = strnlen(text, size - 1);
	memcpy(to, text, len);
	memset(to + len, 0, size - len);
}

struct gt_proc *gt_model_process(struct gt_model *m, uint32_t pid, uint64_t start, uint32_t uid,
				 const char *comm, const char *cgroup, uint64_t cgroup_id)
{
	return gt_model_process_in(m, pid, start, uid, comm, cgroup, cgroup_id, NULL);
}

struct gt_proc *gt_model_process_in(struct gt_model *m, uint32_t pid, uint64_t start, uint32_t uid,
				    const char *comm, const char *cgroup, uint64_t cgroup_id,
				    const struct gt_ns *ns)
{
	struct gt_proc *p;

	if (pid == GT_NONE32 || !pid)
		return NULL;
	if (start == GT_NONE64)
		start = 0;
	p = gt_model_proc(m, pid);
	if (p && start && p->start && p->start != start) {
		gt_model_exit(m, p->slot);
		p = NULL;
	} else if (p && p->dead && (!start || start != p->start) && m->now > p->died) {
		p = NULL; /* reported before its death, it is that one */
	}
	if (!p)
		p = proc_new(m, pid, uid, m->now);
	if (!p)
		return NULL;
	p->start = start ? start : p->start;
	p->uid = uid != GT_NONE32 ? uid : p->uid;
	owned(m, p);
	p->cgroup_id = cgroup_id && cgroup_id != GT_NONE64 ? cgroup_id : p->cgroup_id;
	keep_text(p->comm, sizeof(p->comm), comm);
	keep_text(p->cgroup, sizeof(p->cgroup), cgroup);
	join(m, p, ns);
	p->gen++;
	m->gen++;
	return p;
}

void gt_model_not_here(struct gt_model *m, struct gt_proc *p)
{
	p->not_here = m->priv->elsewhere = true;
	join(m, p, NULL);
}

void gt_model_exit(struct gt_model *m, uint32_t slot)
{
	struct gt_model_private *priv = m->priv;
	struct gt_proc *p = slot < m->proc_slots ? m->procs[slot] : NULL;

	if (!p || p->dead)
		return;
	gt_group_join(m, p, NULL);
	p->dead = true;
	gt_uses_ended(p->uses);
	p->died = gt_model_now(m);
	p->dead_next = GT_NONE32;
	if (priv->dead_tail == GT_NONE32)
		priv->dead_head = slot;
	else
		m->procs[priv->dead_tail]->dead_next = slot;
	priv->dead_tail = slot;
	if (priv->bury == GT_NONE32)
		priv->bury = slot;
	p->gen++;
	m->gen++;
}

/* Some of the processes at a time: what they did more than 10 s ago takes less room folded */
static void expire_some(struct gt_model *m)
{
	uint64_t now = gt_model_now(m);

	gt_prings_expire(m->nobody, now);
	for (unsigned int i = 0; i < EXPIRED_AT_A_TIME && i < m->proc_slots; i++) {
		struct gt_proc *p;

		if (m->priv->expire_at >= m->proc_slots)
			m->priv->expire_at = 0;
		p = m->procs[m->priv->expire_at++];
		if (p)
			gt_prings_expire(p, now);
	}
}

/* The first of the dead that ended by @died and may have jobs queued; @done: that have none now */
static const struct gt_proc *to_bury(struct gt_model *m, uint64_t died, bool done)
{
	uint32_t *at = &m->priv->bury;

	for (; *at != GT_NONE32; *at = m->procs[*at]->dead_next) {
		const struct gt_proc *p = m->procs[*at];

		if (p->died > died)
			break;
		if (!done && p->inflight)
			return p;
	}
	return NULL;
}

/*
 * What processes had queued when they ended, once all that they did before has been delivered. All
 * jobs are looked at once for all of them: by process, each would walk the same rings.
 */
static void bury(struct gt_model *m, uint64_t now)
{
	struct gt_model_private *priv = m->priv;

	if (!priv->bury_at) {
		if (now < GT_UNSEEN_DEAD_NS || !to_bury(m, now - GT_UNSEEN_DEAD_NS, false))
			return;
		priv->burying = now - GT_UNSEEN_DEAD_NS;
	}
	if (gt_jobs_buried(m, priv->burying))
		to_bury(m, priv->burying, true);
}

void gt_procs_reap(struct gt_model *m)
{
	uint32_t prev = GT_NONE32, slot, next;
	uint64_t now = gt_model_now(m);
	unsigned int freed = 0;

	bury(m, now);
	slot = m->priv->dead_head;

	for (; slot != GT_NONE32 && freed < FREED_AT_A_TIME; slot = next) {
		struct gt_proc *p = m->procs[slot];

		next = p->dead_next;
		if (now < p->died || now - p->died <= m->limits.proc_linger_ns)
			break;
		if (p->inflight) {
			prev = slot;
			continue;
		}
		proc_free(m, p, prev);
		freed++;
	}
	expire_some(m);
	gt_groups_expire(m, now);
}
