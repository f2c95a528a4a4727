/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups of processes: users, and cgroups in their hierarchy. An event costs nothing here: what a
 * group's processes did is added up when somebody asks, and what a process did is folded into its
 * groups when it is freed. So a total has everything from a process's first event on, though its
 * user and cgroup are known later only, and keeps it.
 *
 * When there are too many cgroups, one without processes goes, and its total into the group above,
 * as with a cgroup that is removed; a new one for which there is no room counts in the group above.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/*
 * Shares of what the model holds. Each user of this machine, but root, has a GT_SHARE_PART'th of
 * each table and of the memory, so that nobody's processes, queues or kernels leave none to others.
 * An account is a number, which objects and their histograms keep: what was taken for it is given
 * back to it. It is free for another user once nothing is left of it.
 */

#define REST GT_ACCOUNTS /* users for whom there is no account share one */

static struct account {
	uint32_t uid;
	bool used;
	_Atomic uint64_t n[GT_NSHARES];
} accounts[GT_ACCOUNTS + 1];

static _Atomic uint64_t refused[GT_NSHARES];

static bool is_empty(const struct account *a)
{
	for (unsigned int i = 0; i < GT_NSHARES; i++)
		if (a->n[i])
			return false;
	return true;
}

uint16_t gt_account(const struct gt_model *m, uint32_t uid)
{
	uint16_t free = REST;

	if (!m->wall || !uid || uid == GT_NONE32) /* a recording has one owner */
		return 0;
	for (uint16_t i = 1; i < REST; i++) {
		struct account *a = &accounts[i];

		if (a->used && a->uid == uid)
			return i;
		if (free == REST && (!a->used || is_empty(a)))
			free = i;
	}
	accounts[free].used = true;
	accounts[free].uid = uid;
	return free;
}

bool gt_share_has(uint16_t account, enum gt_share what, uint64_t n, uint64_t all)
{
	uint64_t most = all / GT_SHARE_PART ? all / GT_SHARE_PART : 1;

	return !account || accounts[account].n[what] + n <= most;
}

bool gt_share_take(uint16_t account, enum gt_share what, uint64_t n, uint64_t all)
{
	if (!gt_share_has(account, what, n, all)) {
		gt_share_refuse(what);
		return false;
	}
	gt_share_add(account, what, n);
	return true;
}

void gt_share_add(uint16_t account, enum gt_share what, uint64_t n)
{
	if (account)
		atomic_fetch_add_explicit(&accounts[account].n[what], n, memory_order_relaxed);
}

void gt_share_give(uint16_t account, enum gt_share what, uint64_t n)
{
	if (account)
		atomic_fetch_sub_explicit(&accounts[account].n[what], n, memory_order_relaxed);
}

void gt_share_refuse(enum gt_share what)
{
	atomic_fetch_add_explicit(&refused[what], 1, memory_order_relaxed);
}

uint64_t gt_share_refused(enum gt_share what)
{
	return atomic_load_explicit(&refused[what], memory_order_relaxed);
}

/* What several processes did together, or one that is no more: ring by ring, folded. */

#define WORK_MAX_RINGS 1024 /* of several processes; of one see GT_PROC_MAX_RINGS */

void gt_counts_add(struct gt_counts *to, const struct gt_counts *c)
{
	to->submitted += c->submitted;
	to->committed += c->committed;
	to->completed += c->completed;
	to->errors += c->errors;
	to->lost += c->lost;
	to->uncounted += c->uncounted;
	to->given_up += c->given_up;
	to->dropped_table_full += c->dropped_table_full;
	to->begin_unseen += c->begin_unseen;
	to->ended_unseen += c->ended_unseen;
	to->waits += c->waits;
	to->wait_ns += c->wait_ns;
	to->ioctls += c->ioctls;
	to->ioctl_ns += c->ioctl_ns;
	to->launches += c->launches;
	to->copies += c->copies;
	to->copy_bytes = gt_sum(to->copy_bytes, c->copy_bytes);
}

static struct gt_proc_ring *ring_of(struct gt_work *w, uint16_t gpu, uint16_t ring)
{
	struct gt_proc_ring *r = w->rings;

	while (r && (r->gpu != gpu || r->ring != ring))
		r = r->next;
	if (r || w->nrings == WORK_MAX_RINGS)
		return r;
	r = w->account ? gt_mem_get_for(w->account, sizeof(*r)) : gt_mem_get(sizeof(*r), false);
	if (!r)
		return NULL;
	r->account = w->account;
	r->gpu = gpu;
	r->ring = ring;
	gt_stages_init(r->stage, w->account);
	r->next = w->rings;
	w->rings = r;
	w->nrings++;
	return r;
}

/** gt_work_running() - of that process a job runs there since @since, too; not at all if that is after
 *	@now */
static void gt_work_running(struct gt_work *w, const struct gt_proc_ring *from, uint64_t since,
			    uint64_t now)
{
	struct gt_proc_ring *to = ring_of(w, from->gpu, from->ring);
	struct gt_busy more = { 0 };

	since = from->busy.end > since ? from->busy.end : since;
	if (!to || since >= now)
		return;
	gt_busy_add(&more, since, now);
	gt_busy_fold(&to->busy, &more);
}

/** gt_work_fold() - adds one process's work on one ring; @what: GT_WORK_*. 0 or -ENOMEM */
static int gt_work_fold(struct gt_work *w, const struct gt_proc_ring *from, unsigned int what)
{
	struct gt_proc_ring *to = ring_of(w, from->gpu, from->ring);

	if (!to)
		return -ENOMEM;
	to->inflight += from->inflight;
	gt_counts_add(&to->counts, &from->counts);
	if (what & GT_WORK_BUSY)
		gt_busy_fold(&to->busy, &from->busy);
	else
		gt_busy_fold_total(&to->busy, &from->busy);
	for (unsigned int i = 0; (what & GT_WORK_STAGES) && i < GT_NSTAGES; i++)
		gt_stage_fold(&to->stage[i], &from->stage[i]);
	return 0;
}

void gt_work_free(struct gt_work *w)
{
	struct gt_proc_ring *next;

	for (struct gt_proc_ring *r = w->rings; r; r = next) {
		next = r->next;
		gt_stages_reset(r->stage);
		gt_mem_put_for(r->account, r, sizeof(*r));
	}
	gt_uses_free(w->uses);
	memset(w, 0, sizeof(*w));
}

static void gt_work_expire(struct gt_work *w, uint64_t now)
{
	for (struct gt_proc_ring *r = w->rings; r; r = r->next)
		for (unsigned int i = 0; i < GT_NSTAGES; i++)
			gt_stage_expire(&r->stage[i], now);
}

#define MAX_DEPTH 32 /* what is deeper counts in the group at that depth */
#define LOOKED_AT 64 /* slots, each time the lock is held */
#define TRIES	  8

static void group_free(struct gt_group *g)
{
	gt_work_free(&g->gone);
	gt_share_give(g->account, GT_SH_CGROUPS, g->cgroup);
	gt_mem_put_for(g->account, g, sizeof(*g));
}

int gt_groups_init(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;

	m->groups[0] = gt_mem_get(sizeof(*m->groups[0]), false);
	if (!m->groups[0])
		return -ENOMEM;
	*m->groups[0] = (struct gt_group){ .parent = GT_NONE32, .uid = GT_NONE32, .cgroup = true };
	m->ngroups = 1;
	return gt_map_init(&p->groups, p->salt[2]);
}

void gt_groups_destroy(struct gt_model *m)
{
	for (unsigned int i = 0; i < m->ngroups; i++) {
		if (!m->groups[i])
			continue;
		group_free(m->groups[i]);
	}
	gt_map_destroy(&m->priv->groups);
}

/* 64 salted bits: that two names have the same is not to be had on purpose */
static uint64_t key_of(const struct gt_model *m, uint32_t parent, const char *name, size_t len)
{
	uint64_t h = gt_mix(parent ^ m->priv->salt[0], m->priv->salt[1]) ^ len;

	for (size_t i = 0; i < len; i++)
		h = gt_mix(h ^ (uint8_t)name[i], m->priv->salt[2]);
	return h;
}

/* Something that is counted in group @i moved to where it counts in another way */
static void left(struct gt_model *m, uint32_t i)
{
	for (; i != GT_NONE32; i = m->groups[i]->parent)
		m->groups[i]->left++;
}

static void fold_into(struct gt_model *m, struct gt_group *g, const struct gt_counts *counts,
		      const struct gt_proc_ring *rings, const struct gt_use *uses)
{
	g->gone.account = g->account;
	if (gt_uses_fold(&g->gone.uses, g->gone.account, uses, false))
		m->prings_refused++;
	gt_counts_add(&g->gone.counts, counts);
	for (; rings; rings = rings->next)
		if (gt_work_fold(&g->gone, rings, GT_WORK_BUSY | GT_WORK_STAGES))
			m->prings_refused++;
}

/* The cgroup that nothing is in any more and that was left first goes into its parent */
static bool make_room(struct gt_model *m)
{
	uint32_t best = GT_NONE32;
	struct gt_group *g;

	for (unsigned int i = 1; i < m->ngroups; i++) {
		g = m->groups[i];
		if (g && g->cgroup && !g->members && !g->below &&
		    (best == GT_NONE32 || g->last < m->groups[best]->last))
			best = i;
	}
	if (best == GT_NONE32)
		return false;
	g = m->groups[best];
	fold_into(m, m->groups[g->parent], &g->gone.counts, g->gone.rings, g->gone.uses);
	left(m, best);
	m->groups[g->parent]->below--;
	gt_map_del(&m->priv->groups, key_of(m, g->parent, g->name, strlen(g->name)));
	group_free(g);
	m->groups[best] = NULL;
	m->ncgroups--;
	m->cgroups_merged++;
	m->dir_gen++;
	return true;
}

/* Who has many uids must not keep all others from a total for as long as the daemon runs */
static bool drop_user(struct gt_model *m)
{
	uint32_t best = GT_NONE32;
	struct gt_group *g;

	for (unsigned int i = 1; i < m->ngroups; i++) {
		g = m->groups[i];
		if (g && !g->cgroup && !g->members &&
		    (best == GT_NONE32 || g->last < m->groups[best]->last))
			best = i;
	}
	if (best == GT_NONE32)
		return false;
	g = m->groups[best];
	gt_map_del(&m->priv->groups, key_of(m, GT_NONE32, (const char *)&g->uid, 4));
	group_free(g);
	m->groups[best] = NULL;
	m->nusers--;
	m->users_evicted++;
	m->dir_gen++;
	return true;
}

static uint32_t take_slot(struct gt_model *m)
{
	for (unsigned int i = 1; i < m->ngroups; i++)
		if (!m->groups[i])
			return i;
	return m->ngroups < GT_MAX_GROUPS ? m->ngroups : GT_NONE32;
}

static uint32_t group_new(struct gt_model *m, uint64_t key, const struct gt_group *like)
{
	uint32_t i = take_slot(m);
	struct gt_group *g = i == GT_NONE32 ? NULL : gt_mem_get_for(like->account, sizeof(*g));

	if (!g || gt_map_set(&m->priv->groups, key, i)) {
		gt_mem_put_for(like->account, g, sizeof(*g));
		return GT_NONE32;
	}
	*g = *like;
	g->serial = ++m->priv->group_serial;
	m->groups[i] = g;
	if (i == m->ngroups)
		m->ngroups++;
	m->dir_gen++;
	m->gen++;
	return i;
}

uint32_t gt_model_user(const struct gt_model *m, uint32_t uid)
{
	uint32_t i = gt_map_get(&m->priv->groups, key_of(m, GT_NONE32, (const char *)&uid, 4));

	return i != GT_NONE32 && !m->groups[i]->cgroup && m->groups[i]->uid == uid ? i : GT_NONE32;
}

static uint32_t user_of(struct gt_model *m, uint32_t uid)
{
	const struct gt_group like = { .parent = GT_NONE32,
				       .uid = uid,
				       .account = gt_account(m, uid) };
	uint32_t i = gt_model_user(m, uid);

	if (i == GT_NONE32 && (m->nusers < GT_MAX_USERS || drop_user(m))) {
		i = group_new(m, key_of(m, GT_NONE32, (const char *)&uid, 4), &like);
		m->nusers += i != GT_NONE32;
	}
	m->users_refused += i == GT_NONE32;
	return i;
}

/* The cgroup @name in @parent, made if it is not there; GT_NONE32 if there are too many */
static uint32_t child(struct gt_model *m, uint32_t parent, const char *name, size_t len,
		      uint16_t account)
{
	struct gt_group like = {
		.parent = parent, .uid = GT_NONE32, .cgroup = true, .account = account
	};
	uint64_t key = key_of(m, parent, name, len);
	uint32_t i = gt_map_get(&m->priv->groups, key);

	if (i != GT_NONE32)
		return i;
	if (!gt_share_take(account, GT_SH_CGROUPS, 1, GT_MAX_CGROUPS))
		return GT_NONE32;
	m->groups[parent]->below++; /* not to make room of it */
	if (m->ncgroups < GT_MAX_CGROUPS || make_room(m)) {
		memcpy(like.name, name, len);
		i = group_new(m, key, &like);
	}
	if (i != GT_NONE32) {
		m->ncgroups++;
		return i;
	}
	m->groups[parent]->below--;
	gt_share_give(account, GT_SH_CGROUPS, 1);
	return GT_NONE32;
}

static uint32_t cgroup_of(struct gt_model *m, const char *path, uint16_t account)
{
	uint32_t i = 0, next;
	unsigned int depth = 0;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		size_t len = strcspn(path, "/");

		next = depth++ < MAX_DEPTH && len < sizeof(m->groups[0]->name)
			       ? child(m, i, path, len, account)
			       : GT_NONE32;
		if (next == GT_NONE32) {
			m->cgroups_refused++;
			return i;
		}
		i = next;
		path += len;
	}
	return i;
}

/* The owner of the work that is counted in @g: kept to what is so of all of it */
static void merge(struct gt_group *g, uint32_t uid, const struct gt_ns *ns)
{
	unsigned int n = 0;

	if (!g->counted) {
		g->uid = uid;
		g->ns = *ns;
	}
	g->counted = true;
	g->mixed |= g->uid != uid || uid == GT_NONE32;
	for (unsigned int i = 0; i < g->ns.n; i++)
		for (unsigned int k = 0; k < ns->n; k++)
			if (g->ns.id[i] == ns->id[k])
				g->ns.id[n++] = ns->id[k];
	g->ns.n = n;
}

static void join(struct gt_model *m, uint32_t i, uint32_t uid, const struct gt_ns *ns)
{
	if (i == GT_NONE32)
		return;
	m->groups[i]->members++;
	for (; i != GT_NONE32; i = m->groups[i]->parent)
		merge(m->groups[i], uid, ns);
}

void gt_group_join(struct gt_model *m, struct gt_proc *p, const struct gt_ns *ns)
{
	static const struct gt_ns none;

	if (!p->user_counted && p->uid != GT_NONE32) {
		p->user_counted = true;
		p->user = user_of(m, p->uid);
		join(m, p->user, p->uid, ns ? ns : &none);
	}
	if (p->group == GT_NONE32 && p->cgroup[0] == '/') {
		p->group = cgroup_of(m, p->cgroup, p->account);
		join(m, p->group, p->uid, ns ? ns : &none);
	}
}

static void leave(struct gt_model *m, uint32_t i, const struct gt_proc *p)
{
	struct gt_group *g = i == GT_NONE32 ? NULL : m->groups[i];

	if (!g)
		return;
	fold_into(m, g, &p->counts, p->rings, p->uses);
	g->members--;
	g->last = m->now;
	left(m, i);
}

void gt_group_leave(struct gt_model *m, const struct gt_proc *p)
{
	leave(m, p->user, p);
	leave(m, p->group, p);
}

void gt_groups_clear(struct gt_model *m)
{
	for (unsigned int i = 0; i < m->ngroups; i++) {
		if (!m->groups[i])
			continue;
		gt_work_free(&m->groups[i]->gone);
		m->groups[i]->left++;
	}
}

/* Some at a time: what was done more than 10 s ago takes less room folded */
void gt_groups_expire(struct gt_model *m, uint64_t now)
{
	for (unsigned int n = 0; n < LOOKED_AT && n < m->ngroups; n++) {
		struct gt_group *g = m->groups[m->priv->group_expired++ % m->ngroups];

		if (g)
			gt_work_expire(&g->gone, now);
	}
}

struct gt_group *gt_model_group(const struct gt_model *m, uint32_t i, uint64_t serial)
{
	struct gt_group *g = i < m->ngroups ? m->groups[i] : NULL;

	return g && g->serial == serial ? g : NULL;
}

static bool within(const struct gt_model *m, uint32_t i, uint32_t top)
{
	while (i != top && i != GT_NONE32)
		i = m->groups[i]->parent;
	return i == top;
}

/**
 * struct sum - adding up under way
 * @at: next slot, of processes, then of groups; @ring: rings of it that are done, oldest first: new
 *	ones come before them in the list
 * @heavy: enough was done while the lock is held
 */
struct sum {
	struct gt_model *m;
	uint32_t top;
	unsigned int what, at, ring;
	struct gt_work *out;
	bool heavy;
	int err;
};

/* Histograms take long: then one ring each time the lock is held. @p: the process of the rings,
 * NULL: of processes that are gone. True: all of it is done */
static bool add_rings(struct sum *s, const struct gt_proc *p, const struct gt_proc_ring *rings,
		      unsigned int n)
{
	while (s->ring < n && !s->err) {
		const struct gt_proc_ring *r = rings;

		for (unsigned int skip = n - 1 - s->ring; skip; skip--)
			r = r->next;
		s->err = gt_work_fold(s->out, r, s->what);
		if (p && s->what & GT_WORK_BUSY)
			gt_work_running(s->out, r, gt_pring_running(s->m, r, p->slot),
					gt_model_now(s->m));
		s->ring++;
		s->heavy = s->what & GT_WORK_STAGES;
		if (s->heavy)
			break;
	}
	if (s->ring < n && !s->err)
		return false;
	s->ring = 0;
	return true;
}

static bool add_proc(struct sum *s, const struct gt_proc *p)
{
	if (!p || (!within(s->m, p->group, s->top) && p->user != s->top))
		return true;
	if (!s->ring) {
		gt_counts_add(&s->out->counts, &p->counts);
		s->out->inflight += p->inflight;
		if (s->what & GT_WORK_USES)
			s->err = gt_uses_fold(&s->out->uses, 0, p->uses, true);
	}
	return add_rings(s, p, p->rings, p->nrings);
}

static bool add_gone(struct sum *s, uint32_t i)
{
	const struct gt_group *g = s->m->groups[i];

	if (!g || !within(s->m, i, s->top))
		return true;
	if (!s->ring) {
		gt_counts_add(&s->out->counts, &g->gone.counts);
		if (s->what & GT_WORK_USES)
			s->err = gt_uses_fold(&s->out->uses, 0, g->gone.uses, false);
	}
	return add_rings(s, NULL, g->gone.rings, g->gone.nrings);
}

/* Some of the slots, with the lock held; false: that was all */
static bool add_some(struct sum *s, bool groups)
{
	unsigned int slots = groups ? s->m->ngroups : s->m->proc_slots;

	s->heavy = false;
	for (unsigned int n = 0; n < LOOKED_AT && !s->heavy && !s->err && s->at < slots; n++)
		s->at += groups ? add_gone(s, s->at) : add_proc(s, s->m->procs[s->at]);
	return !s->err && s->at < slots;
}

/* -EAGAIN: a process of it was freed meanwhile, and may be counted twice or not at all */
static int sum_up(struct gt_model *m, uint32_t i, uint64_t serial, unsigned int what,
		  struct gt_work *out)
{
	struct sum s = { .m = m, .top = i, .what = what, .out = out };
	uint64_t since = 0;
	bool more = true, first = true;

	for (int groups = 0; groups < 2; groups++, s.at = s.ring = 0, more = true) {
		while (more) {
			GT_MODEL_LOCK(m);
			const struct gt_group *g = gt_model_group(m, i, serial);

			if (!g)
				return -ENODEV;
			since = first ? g->left : since;
			first = false;
			if (g->left != since)
				return -EAGAIN;
			more = add_some(&s, groups);
		}
		if (s.err)
			return s.err;
	}
	return 0;
}

int gt_group_work(struct gt_model *m, uint32_t i, uint64_t serial, unsigned int what,
		  struct gt_work *out)
{
	int err = -EAGAIN;

	for (unsigned int n = 0; n < TRIES && err == -EAGAIN; n++) {
		gt_work_free(out);
		err = sum_up(m, i, serial, what, out);
	}
	if (err)
		gt_work_free(out);
	return err;
}
