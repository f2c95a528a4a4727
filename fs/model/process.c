/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes: by slot, and by pid for the living or the last dead. Identity is pid and start time. A
 * slot is reused only after its process was freed, and that happens only when no job is left of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define DEAD_LOOKED_AT	  64 /* when room is needed at once */
#define EXPIRED_AT_A_TIME 64
#define FREED_AT_A_TIME	  256 /* each is folded into two totals: some ms with the lock held */

int gt_procs_init(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;

	p->dead_head = p->dead_tail = GT_NONE32;
	m->procs = gt_mem_get(m->limits.max_procs * sizeof(*m->procs), false);
	p->free_slots = gt_mem_get(m->limits.max_procs * sizeof(*p->free_slots), false);
	if (!m->procs || !p->free_slots)
		return -ENOMEM;
	return gt_map_init(&p->pids, p->salt[0]);
}

void gt_procs_destroy(struct gt_model *m)
{
	struct gt_model_private *p = m->priv;

	for (unsigned int i = 0; m->procs && i < m->proc_slots; i++) {
		if (!m->procs[i])
			continue;
		gt_prings_free(m, m->procs[i]);
		gt_mem_put(m->procs[i], sizeof(*m->procs[i]));
	}
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
	if (gt_map_get(&priv->pids, p->pid) == p->slot)
		gt_map_del(&priv->pids, p->pid);
	priv->last = NULL; /* its process may be this one */
	gt_group_leave(m, p);
	gt_prings_free(m, p);
	m->procs[p->slot] = NULL;
	priv->free_slots[priv->nfree++] = p->slot;
	gt_mem_put(p, sizeof(*p));
	m->nprocs--;
	m->dir_gen++;
	m->gen++;
}

/* Room for one more: the process that died first and has no jobs left goes */
static bool make_room(struct gt_model *m)
{
	uint32_t prev = GT_NONE32, slot = m->priv->dead_head;

	for (unsigned int i = 0; i < DEAD_LOOKED_AT && slot != GT_NONE32; i++) {
		if (!m->procs[slot]->inflight) {
			proc_free(m, m->procs[slot], prev);
			return true;
		}
		prev = slot;
		slot = m->procs[slot]->dead_next;
	}
	return false;
}

static struct gt_proc *proc_new(struct gt_model *m, uint32_t pid, uint64_t ts)
{
	struct gt_model_private *priv = m->priv;
	struct gt_proc *p = NULL;

	if (m->nprocs < m->limits.max_procs || make_room(m))
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

/* Sources do not tell the namespaces of this machine's processes: /proc does, a moment later. */
static void join(struct gt_model *m, struct gt_proc *p, const struct gt_ns *ns)
{
	if (ns || p->not_here || !m->wall)
		gt_group_join(m, p, ns);
}

struct gt_proc *gt_proc_met(struct gt_model *m, uint32_t pid, uint32_t uid, uint64_t ts,
			    struct gt_folded *f)
{
	struct gt_proc *p;

	if (pid == GT_NONE32 || !pid) /* 0 is the idle task */
		return NULL;
	p = gt_model_proc(m, pid);
	if (!p || (p->dead && ts > p->died)) {
		p = proc_new(m, pid, ts);
		f->new_proc = p;
	}
	if (p && unlikely(p->uid == GT_NONE32) && uid != GT_NONE32) {
		p->uid = uid;
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
		p = NULL; /* told of before its death, it is that one */
	}
	if (!p)
		p = proc_new(m, pid, m->now);
	if (!p)
		return NULL;
	p->start = start ? start : p->start;
	p->uid = uid != GT_NONE32 ? uid : p->uid;
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
	p->gen++;
	m->gen++;
}

/* Some of the processes at a time: what they did more than 10 s ago takes less room folded */
static void expire_some(struct gt_model *m)
{
	uint64_t now = gt_model_now(m);

	for (unsigned int i = 0; i < EXPIRED_AT_A_TIME && i < m->proc_slots; i++) {
		struct gt_proc *p;

		if (m->priv->expire_at >= m->proc_slots)
			m->priv->expire_at = 0;
		p = m->procs[m->priv->expire_at++];
		if (p)
			gt_prings_expire(p, now);
	}
}

void gt_procs_reap(struct gt_model *m)
{
	uint32_t prev = GT_NONE32, slot = m->priv->dead_head, next;
	uint64_t now = gt_model_now(m);
	unsigned int freed = 0;

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
