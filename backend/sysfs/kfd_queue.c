/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The compute driver's list of queues: class/kfd/kfd/proc/PID/queues/NUMBER/{gpuid,size,type} of
 * sysfs. It tells which there are, not what they do: the first and last look at one are its begin
 * and its end. Where another backend hears of the calls that make queues, that one tells.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "kfd.h"

/* enum kfd_queue_type of the driver: 2 and 3 are its own, and in no process's list */
enum { LIST_COMPUTE = 0, LIST_SDMA = 1, LIST_SDMA_XGMI = 4, LIST_SDMA_BY_ENG_ID = 5 };

void sf_kfd_flush(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;

	if (!k->nout)
		return;
	sf->p->host->push(sf->p, k->out, k->nout);
	k->stats.pushed += k->nout;
	k->nout = 0;
}

/* The driver may tell of something behind what was seen since: of one source time never goes back
 */
union gt_record *sf_kfd_record(struct sf *sf, uint16_t gpu, enum gt_type type, uint64_t ts)
{
	struct sf_kfd *k = sf->kfd;
	union gt_record *r;

	if (k->nout == sizeof(k->out) / sizeof(k->out[0]))
		sf_kfd_flush(sf);
	k->last_ts = ts > k->last_ts ? ts : k->last_ts;
	r = &k->out[k->nout++];
	gt_record_init(r, k->last_ts, type);
	r->ev.gpu = gpu;
	return r;
}

static union gt_record *record(struct sf *sf, const struct sf_kfd_queue *q, enum gt_type type)
{
	union gt_record *r = sf_kfd_record(sf, q->gpu, type, sf->p->host->now(sf->p));

	if (type == GT_QUEUE)
		r->queue.queue = q->id;
	else
		r->ev.queue = q->id;
	return r;
}

/* Without the process: it may be no more, and is not to be met again. */
static void end(struct sf *sf, uint32_t *at)
{
	struct sf_kfd *k = sf->kfd;
	uint32_t i = *at - 1;
	struct sf_kfd_queue *q = &k->queue[i];

	*at = q->next;
	if (q->id != GT_NONE32)
		record(sf, q, GT_QUEUE_DESTROY)->ev.flags = GT_F_INFERRED;
	sf->clients->user[q->user].queues--;
	q->id = GT_NONE32;
	q->next = k->free;
	k->free = i + 1;
	k->nqueues--;
}

void sf_kfd_drop(struct sf *sf, struct sf_kfd_proc *p)
{
	while (p->first)
		end(sf, &p->first);
}

static bool over_share(const struct sf *sf, const struct sf_kfd_proc *p)
{
	const struct sf_user *user = &sf->clients->user[p->user];

	return user->uid && user->queues >= SF_KFD_QUEUES / SF_SHARE;
}

static bool has_room(const struct sf *sf, const struct sf_kfd_proc *p)
{
	return (sf->kfd->free || sf->kfd->used < SF_KFD_QUEUES) && !over_share(sf, p);
}

/* Those that are new among @n without room are counted: they stay, and are not read. */
static void refused(struct sf *sf, struct sf_kfd_proc *p, uint32_t n)
{
	uint32_t more = n > p->refused ? n - p->refused : 0;

	p->refused = n;
	if (over_share(sf, p))
		sf->clients->stats.over += more;
	else
		sf->kfd->stats.refused += more;
}

/* A new one in front of *@at; there is room */
static struct sf_kfd_queue *add(struct sf *sf, uint32_t *at, const struct sf_kfd_proc *p)
{
	struct sf_kfd *k = sf->kfd;
	struct sf_kfd_queue *q;
	uint32_t i;

	if (k->free) {
		i = k->free - 1;
		k->free = k->queue[i].next;
	} else {
		i = k->used++;
	}
	q = &k->queue[i];
	*q = (struct sf_kfd_queue){
		.id = GT_NONE32, .gpu = GT_NONE16, .user = p->user, .next = *at
	};
	sf->clients->user[p->user].queues++;
	*at = i + 1;
	k->nqueues++;
	return q;
}

static uint16_t gpu_of(const struct sf *sf, uint64_t kfd_id)
{
	for (unsigned int i = 0; kfd_id && i < sf->n; i++)
		if (sf->dev[i].kfd_id == kfd_id)
			return sf->dev[i].gpu;
	return GT_NONE16;
}

static void kind_of(uint64_t type, struct gt_queue_desc *d)
{
	if (type == LIST_COMPUTE) {
		d->kind = GT_QUEUE_COMPUTE;
		d->engine = GT_ENGINE_COMPUTE;
	} else if (type == LIST_SDMA || type == LIST_SDMA_XGMI || type == LIST_SDMA_BY_ENG_ID) {
		d->kind = GT_QUEUE_SDMA;
		d->engine = GT_ENGINE_COPY;
	}
}

static bool in_use(const struct sf_kfd *k, uint32_t id)
{
	for (uint32_t i = 0; i < k->used; i++)
		if (k->queue[i].id == id)
			return true;
	return false;
}

/* There are far more than queues: one is free. */
static uint32_t new_number(struct sf_kfd *k)
{
	uint32_t id;

	do {
		id = SF_KFD_BASE + k->last++;
		if (k->last == SF_KFD_NUMBERS) {
			k->last = 0;
			k->wrapped = true;
		}
	} while (k->wrapped && in_use(k, id));
	return id;
}

/* When one that was there before was made nobody knows: of that no event is told. */
static void tell(struct sf *sf, struct sf_kfd_queue *q, uint32_t pid, uint64_t type, uint64_t size)
{
	uint32_t uid = sf_uid(sf, pid);
	union gt_record *r;

	q->id = new_number(sf->kfd);
	if (sf->kfd->begun) {
		r = record(sf, q, GT_QUEUE_CREATE);
		r->ev.flags = GT_F_INFERRED;
		r->ev.pid = pid;
		r->ev.uid = uid;
	}
	r = record(sf, q, GT_QUEUE);
	r->queue.pid = pid;
	r->queue.uid = uid;
	kind_of(type, &r->queue);
	r->queue.size = size;
	q->kind = r->queue.kind;
	q->size = size;
	sf->kfd->unplaced = true;
}

void sf_kfd_place(struct sf *sf, struct sf_kfd_queue *q, uint32_t pid, uint64_t base)
{
	union gt_record *r = record(sf, q, GT_QUEUE);

	r->queue.pid = pid;
	r->queue.uid = sf_uid(sf, pid);
	r->queue.ctx = base;
	q->base = base;
	sf->kfd->stats.placed++;
}

/* A process of a captured tree is told before its queues: who it is, this machine does not know. */
static void introduce(struct sf *sf, uint32_t pid, uint16_t gpu)
{
	for (unsigned int i = 0; sf->root.captured && i < sf->n; i++)
		if (sf->dev[i].gpu == gpu)
			sf_kfd_tell(sf, pid, &sf->dev[i], true);
}

/* Queue @number in folder @dir of @p, in front of *@at. One whose files cannot all be read
 * is going, or coming. Return: it, or NULL */
static struct sf_kfd_queue *found(struct sf *sf, const struct sf_kfd_proc *p, uint32_t *at,
				  const char *dir, uint32_t number)
{
	uint64_t gpu, type, size;
	struct sf_kfd_queue *q;
	char path[160];

	snprintf(path, sizeof(path), "%s/%u/gpuid", dir, number);
	gpu = sf_kfd_number(&sf->root, path);
	snprintf(path, sizeof(path), "%s/%u/type", dir, number);
	type = sf_kfd_number(&sf->root, path);
	snprintf(path, sizeof(path), "%s/%u/size", dir, number);
	size = sf_kfd_number(&sf->root, path);
	if (gpu == GT_NONE64 || type == GT_NONE64 || size == GT_NONE64)
		return NULL;
	q = add(sf, at, p);
	q->number = number;
	q->gpu = gpu_of(sf, gpu);
	if (q->gpu == GT_NONE16) {
		sf->kfd->stats.strange++;
		return q;
	}
	introduce(sf, p->pid, q->gpu);
	tell(sf, q, p->pid, type, size);
	return q;
}

/* Where @p has it; most often where the one before it ended, as a folder's order stays. */
static uint32_t *known(struct sf_kfd *k, struct sf_kfd_proc *p, uint32_t *at, uint32_t number,
		       uint64_t ino)
{
	for (int again = 0; again < 2; again++, at = &p->first)
		for (; *at; at = &k->queue[*at - 1].next)
			if (k->queue[*at - 1].number == number && k->queue[*at - 1].ino == ino)
				return at;
	return NULL;
}

/* A folder that is there but cannot be opened, as there are too many files open, says nothing. */
static void look_at(struct sf *sf, struct sf_kfd_proc *p)
{
	struct sf_kfd *k = sf->kfd;
	uint32_t *at = &p->first, *had, left_out = 0;
	GT_ROOT_DIR list = NULL;
	char dir[96];
	struct dirent *e;
	int64_t number;

	snprintf(dir, sizeof(dir), SF_KFD_PROC "/%u/queues", p->pid);
	list = gt_root_dir(&sf->root, dir);
	if (!list && errno != ENOENT)
		return;
	for (uint32_t i = p->first; i; i = k->queue[i - 1].next)
		k->queue[i - 1].listed = false;
	for (int i = 0; list && i < SF_KFD_ENTRIES && (e = readdir(list)); i++) {
		struct sf_kfd_queue *q;

		if (gt_root_number(e->d_name, &number, NULL) || number < 0 || number >= GT_NONE32)
			continue;
		had = known(k, p, at, (uint32_t)number, e->d_ino);
		if (!had && !has_room(sf, p)) {
			left_out++;
			continue;
		}
		q = had ? &k->queue[*had - 1] : found(sf, p, at, dir, (uint32_t)number);
		if (!q)
			continue;
		p->changes += !had;
		q->ino = e->d_ino;
		q->listed = true;
		at = &q->next;
	}
	refused(sf, p, left_out);
	for (at = &p->first; *at;) {
		if (k->queue[*at - 1].listed) {
			at = &k->queue[*at - 1].next;
			continue;
		}
		p->changes++;
		end(sf, at);
	}
}

static bool has_unplaced(const struct sf_kfd *k, const struct sf_kfd_proc *p)
{
	for (uint32_t i = p->first; i; i = k->queue[i - 1].next)
		if (!k->queue[i - 1].base && k->queue[i - 1].id != GT_NONE32)
			return true;
	return false;
}

void sf_kfd_queues_again(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;

	for (unsigned int i = 0; i < k->n; i++) {
		if (!has_unplaced(k, &k->proc[i]))
			continue;
		k->proc[i].changes = 0;
		look_at(sf, &k->proc[i]);
	}
}

void sf_kfd_queues(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;

	for (unsigned int i = 0; i < k->n && (i < SF_KFD_TURN || !k->begun); i++)
		look_at(sf, &k->proc[k->turn++ % k->n]);
	k->begun = true;
}

void sf_kfd_forget(struct sf *sf)
{
	for (unsigned int i = 0; i < sf->kfd->n; i++)
		sf_kfd_drop(sf, &sf->kfd->proc[i]);
	sf->kfd->begun = false; /* those that are found again were there before */
	sf_kfd_flush(sf);
}

void sf_kfd_claim(struct sf *sf)
{
	const struct gt_host *host = sf->p->host;
	struct sf_kfd *k = sf->kfd;
	bool kfd = false, had = k->tells;

	for (unsigned int i = 0; i < sf->n; i++)
		kfd |= sf->dev[i].kfd_id != 0;
	/* before who sees functions that make queues, behind who knows which queue a call makes */
	k->tells = kfd && (sf->root.captured || !host->claim(sf->p, GT_CLAIM_KFD_QUEUES, 2));
	if (!kfd && !sf->root.captured)
		host->claim(sf->p, GT_CLAIM_KFD_QUEUES, -1);
	if (had && !k->tells)
		sf_kfd_forget(sf);
}

bool sf_kfd_queues_event(struct sf *sf, uint32_t pid, uint16_t gpu, enum gt_type type, uint64_t ts)
{
	const struct sf_kfd *k = sf->kfd;
	uint32_t next = 0;
	bool any = false;

	for (unsigned int i = 0; k->tells && i < k->n && !next; i++)
		if (k->proc[i].pid == pid)
			next = k->proc[i].first;
	for (const struct sf_kfd_queue *q; (q = sf_kfd_queue(k, next)); next = q->next) {
		union gt_record *r;

		if (q->gpu != gpu || q->id == GT_NONE32)
			continue;
		r = sf_kfd_record(sf, gpu, type, ts);
		r->ev.pid = pid;
		r->ev.queue = q->id;
		any = true;
	}
	return any;
}
