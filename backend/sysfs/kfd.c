/* SPDX-License-Identifier: GPL-2.0 */
/*
 * AMD's compute driver: its processes and their queues (class/kfd/kfd of sysfs, by
 * drivers/gpu/drm/amd/amdkfd/kfd_process.c), which no counter of fdinfo shows, and which queues
 * are on the hardware (debugfs).
 *
 * The list of queues, class/kfd/kfd/proc/PID/queues/NUMBER/{gpuid,size,type}, has the queues that
 * exist, not what they do: the first and the last sight of a queue are taken for its beginning and its
 * end. If another backend sees the calls that make queues, that one reports them.
 *
 * To dump the slots wakes all GPUs and takes long. It is done only when a user reads the file, all
 * GPUs are awake, and no more than a fiftieth of the time goes into it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sysfs.h"

#define DIR_NODES "sys/class/kfd/kfd/topology/nodes"

static uint64_t read_number(const struct gt_root *root, const char *path)
{
	char text[32];
	int64_t n;

	/* some are without a line's end */
	if (gt_root_read(root, path, text, sizeof(text)) <= 0 || gt_root_number(text, &n, NULL) ||
	    n < 0)
		return GT_NONE64;
	return (uint64_t)n;
}

/* Parses "drm_render_minor 128" of a node's properties; -1: none */
static int64_t render_of(const struct gt_root *root, const char *node)
{
	static const char key[] = "drm_render_minor ";
	char path[128], text[4096];
	const char *line;
	int64_t n;

	snprintf(path, sizeof(path), DIR_NODES "/%.16s/properties", node);
	gt_root_read(root, path, text, sizeof(text));
	line = strstr(text, key);
	return line && !gt_root_number(line + sizeof(key) - 1, &n, NULL) ? n : -1;
}

/* GPU ID of topology node @name; 0: none, as a CPU's node */
static uint32_t gpu_of_node(const struct gt_root *root, const char *name)
{
	char path[128];
	int64_t node;
	uint64_t id;

	if (gt_root_number(name, &node, NULL))
		return 0;
	snprintf(path, sizeof(path), DIR_NODES "/%.16s/gpu_id", name);
	id = read_number(root, path);
	return id < GT_NONE32 ? (uint32_t)id : 0;
}

void sf_kfd_find(struct sf *sf)
{
	GT_ROOT_DIR list = gt_root_dir(&sf->root, DIR_NODES);
	struct dirent *e;

	for (int i = 0; list && i < SF_ENTRIES && (e = readdir(list)); i++) {
		uint32_t id = gpu_of_node(&sf->root, e->d_name);
		int64_t render = id ? render_of(&sf->root, e->d_name) : -1;

		for (unsigned int k = 0; render >= 0 && k < sf->n; k++)
			if (sf->dev[k].render == render && !sf->dev[k].kfd_id)
				sf->dev[k].kfd_id = id;
	}
}

static bool is_known(const struct sf *sf, uint32_t id)
{
	for (unsigned int i = 0; i < sf->n; i++)
		if (sf->dev[i].kfd_id == id)
			return true;
	return false;
}

/* Is each GPU of the driver one of the devices? */
static bool all_known(const struct sf *sf)
{
	GT_ROOT_DIR list = gt_root_dir(&sf->root, DIR_NODES);
	struct dirent *e;
	bool any = false;

	for (int i = 0; list && (e = readdir(list)); i++) {
		uint32_t id = gpu_of_node(&sf->root, e->d_name);

		if (i == SF_ENTRIES || (id && !is_known(sf, id)))
			return false;
		any |= id;
	}
	return any;
}

/* Reports what process @pid uses of @d; @anyway: also if only that it uses it is known */
static void report_process(struct sf *sf, uint32_t pid, const struct sf_device *d, bool anyway)
{
	struct gt_use_kfd kfd;
	uint64_t now = sf->p->host->now(sf->p);
	struct gt_usage u = { .gpu = d->gpu, .pid = pid, .since = now, .at = now, .kfd = &kfd };
	char path[128];

	snprintf(path, sizeof(path), SF_KFD_PROC "/%u/vram_%u", pid, d->kfd_id);
	kfd.vram = read_number(&sf->root, path);
	snprintf(path, sizeof(path), SF_KFD_PROC "/%u/sdma_%u", pid, d->kfd_id);
	kfd.sdma_us = read_number(&sf->root, path);
	snprintf(path, sizeof(path), SF_KFD_PROC "/%u/stats_%u/evicted_ms", pid, d->kfd_id);
	kfd.evicted_ms = read_number(&sf->root, path);
	snprintf(path, sizeof(path), SF_KFD_PROC "/%u/stats_%u/cu_occupancy", pid, d->kfd_id);
	kfd.cu_occupancy = read_number(&sf->root, path);
	if (anyway || kfd.vram != GT_NONE64 || kfd.sdma_us != GT_NONE64 ||
	    kfd.evicted_ms != GT_NONE64)
		sf_emit_usage(sf, &u);
}

/* Queues --------------------------------------------------------------------------------------- */

/* enum kfd_queue_type; 2 and 3 are the driver's own queues, which are in no process's list */
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

/* An event of the driver may be older than the last record; but time of one source never goes back. */
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

static union gt_record *queue_record(struct sf *sf, const struct sf_kfd_queue *q, enum gt_type type)
{
	union gt_record *r = sf_kfd_record(sf, q->gpu, type, sf->p->host->now(sf->p));

	if (type == GT_QUEUE)
		r->queue.queue = q->id;
	else
		r->ev.queue = q->id;
	return r;
}

/* The record has no process: one that has ended must not be looked up again. */
static void end_queue(struct sf *sf, uint32_t *at)
{
	struct sf_kfd *k = sf->kfd;
	uint32_t i = *at - 1;
	struct sf_kfd_queue *q = &k->queue[i];

	*at = q->next;
	if (q->id != GT_NONE32)
		queue_record(sf, q, GT_QUEUE_DESTROY)->ev.flags = GT_F_INFERRED;
	sf->clients->user[q->user].queues--;
	q->id = GT_NONE32;
	q->next = k->free;
	k->free = i + 1;
	k->nqueues--;
}

static void end_queues(struct sf *sf, struct sf_kfd_proc *p)
{
	while (p->first)
		end_queue(sf, &p->first);
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

/* Counts the new ones among @n queues without room, which are not read. */
static void count_refused(struct sf *sf, struct sf_kfd_proc *p, uint32_t n)
{
	uint32_t more = n > p->refused ? n - p->refused : 0;

	p->refused = n;
	if (over_share(sf, p))
		sf->clients->stats.over += more;
	else
		sf->kfd->stats.refused += more;
}

/* Inserts a queue before *@at; there must be room. */
static struct sf_kfd_queue *add_queue(struct sf *sf, uint32_t *at, const struct sf_kfd_proc *p)
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

static void set_kind(uint64_t type, struct gt_queue_desc *d)
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

/* There are far more numbers than queues, so one is free. */
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

/* A queue that is older than the backend gets no QUEUE_CREATE: nobody knows when that was. */
static void announce(struct sf *sf, struct sf_kfd_queue *q, uint32_t pid, uint64_t type,
		     uint64_t size)
{
	uint32_t uid = sf_uid(sf, pid);
	union gt_record *r;

	q->id = new_number(sf->kfd);
	if (sf->kfd->begun) {
		r = queue_record(sf, q, GT_QUEUE_CREATE);
		r->ev.flags = GT_F_INFERRED;
		r->ev.pid = pid;
		r->ev.uid = uid;
	}
	r = queue_record(sf, q, GT_QUEUE);
	r->queue.pid = pid;
	r->queue.uid = uid;
	set_kind(type, &r->queue);
	r->queue.size = size;
	q->kind = r->queue.kind;
	q->size = size;
	sf->kfd->unplaced = true;
}

static void set_place(struct sf *sf, struct sf_kfd_queue *q, uint32_t pid, uint64_t base)
{
	union gt_record *r = queue_record(sf, q, GT_QUEUE);

	r->queue.pid = pid;
	r->queue.uid = sf_uid(sf, pid);
	r->queue.ctx = base;
	q->base = base;
	sf->kfd->stats.placed++;
}

/* A process of a captured tree is reported before its queues: this machine does not know it. */
static void announce_process(struct sf *sf, uint32_t pid, uint16_t gpu)
{
	for (unsigned int i = 0; sf->root.captured && i < sf->n; i++)
		if (sf->dev[i].gpu == gpu)
			report_process(sf, pid, &sf->dev[i], true);
}

/* Reads queue @number in folder @dir of @p and inserts it before *@at. NULL: not all of its files can
 * be read, as while it is made or destroyed */
static struct sf_kfd_queue *read_queue(struct sf *sf, const struct sf_kfd_proc *p, uint32_t *at,
				       const char *dir, uint32_t number)
{
	uint64_t gpu, type, size;
	struct sf_kfd_queue *q;
	char path[160];

	snprintf(path, sizeof(path), "%s/%u/gpuid", dir, number);
	gpu = read_number(&sf->root, path);
	snprintf(path, sizeof(path), "%s/%u/type", dir, number);
	type = read_number(&sf->root, path);
	snprintf(path, sizeof(path), "%s/%u/size", dir, number);
	size = read_number(&sf->root, path);
	if (gpu == GT_NONE64 || type == GT_NONE64 || size == GT_NONE64)
		return NULL;
	q = add_queue(sf, at, p);
	q->number = number;
	q->gpu = gpu_of(sf, gpu);
	if (q->gpu == GT_NONE16) {
		sf->kfd->stats.strange++;
		return q;
	}
	announce_process(sf, p->pid, q->gpu);
	announce(sf, q, p->pid, type, size);
	return q;
}

/* Finds a known queue of @p, mostly right at @at: the order in a folder stays the same. */
static uint32_t *find_listed(struct sf_kfd *k, struct sf_kfd_proc *p, uint32_t *at, uint32_t number,
			     uint64_t ino)
{
	for (int again = 0; again < 2; again++, at = &p->first)
		for (; *at; at = &k->queue[*at - 1].next)
			if (k->queue[*at - 1].number == number && k->queue[*at - 1].ino == ino)
				return at;
	return NULL;
}

/* A folder that exists and cannot be opened, as with too many open files, changes nothing. */
static void read_queues(struct sf *sf, struct sf_kfd_proc *p)
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
		had = find_listed(k, p, at, (uint32_t)number, e->d_ino);
		if (!had && !has_room(sf, p)) {
			left_out++;
			continue;
		}
		q = had ? &k->queue[*had - 1] : read_queue(sf, p, at, dir, (uint32_t)number);
		if (!q)
			continue;
		p->changes += !had;
		q->ino = e->d_ino;
		q->listed = true;
		at = &q->next;
	}
	count_refused(sf, p, left_out);
	for (at = &p->first; *at;) {
		if (k->queue[*at - 1].listed) {
			at = &k->queue[*at - 1].next;
			continue;
		}
		p->changes++;
		end_queue(sf, at);
	}
}

static bool has_unplaced(const struct sf_kfd *k, const struct sf_kfd_proc *p)
{
	for (uint32_t i = p->first; i; i = k->queue[i - 1].next)
		if (!k->queue[i - 1].base && k->queue[i - 1].id != GT_NONE32)
			return true;
	return false;
}

/* Reads the queues of processes with one that has no place, and counts changes from then on. */
static void reread_queues(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;

	for (unsigned int i = 0; i < k->n; i++) {
		if (!has_unplaced(k, &k->proc[i]))
			continue;
		k->proc[i].changes = 0;
		read_queues(sf, &k->proc[i]);
	}
}

void sf_kfd_queues(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;

	for (unsigned int i = 0; i < k->n && (i < SF_KFD_TURN || !k->begun); i++)
		read_queues(sf, &k->proc[k->turn++ % k->n]);
	k->begun = true;
}

void sf_kfd_forget(struct sf *sf)
{
	for (unsigned int i = 0; i < sf->kfd->n; i++)
		end_queues(sf, &sf->kfd->proc[i]);
	sf->kfd->begun = false; /* queues found again are not new */
	sf_kfd_flush(sf);
}

void sf_kfd_claim(struct sf *sf)
{
	const struct gt_host *host = sf->p->host;
	struct sf_kfd *k = sf->kfd;
	bool kfd = false, had = k->reports;

	for (unsigned int i = 0; i < sf->n; i++)
		kfd |= sf->dev[i].kfd_id != 0;
	/* a rank above backends that see calls of functions, and below those that know the queue of a call */
	k->reports = kfd && (sf->root.captured || !host->claim(sf->p, GT_CLAIM_KFD_QUEUES, 2));
	if (!kfd && !sf->root.captured)
		host->claim(sf->p, GT_CLAIM_KFD_QUEUES, -1);
	if (had && !k->reports)
		sf_kfd_forget(sf);
}

bool sf_kfd_queues_event(struct sf *sf, uint32_t pid, uint16_t gpu, enum gt_type type, uint64_t ts)
{
	const struct sf_kfd *k = sf->kfd;
	uint32_t next = 0;
	bool any = false;

	for (unsigned int i = 0; k->reports && i < k->n && !next; i++)
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

/* Places on the hardware ----------------------------------------------------------------------- */

#define DIR_DEBUG "sys/kernel/debug/kfd/"
#define ASLEEP_NS 100000000u /* how long a GPU that slept is taken to sleep */

/*
 * A dump has a process's queues without their numbers, the newest first. The list in sysfs has
 * numbers, and folders with inodes in the order in which they were made. They are matched if all
 * queues of a process agree, one by one.
 */

static int by_age(const void *a, const void *b)
{
	const struct sf_kfd_queue *x = *(const struct sf_kfd_queue *const *)a;
	const struct sf_kfd_queue *y = *(const struct sf_kfd_queue *const *)b;

	return (x->ino < y->ino) - (x->ino > y->ino);
}

static bool alike(const struct sf_row *r, const struct sf_kfd_queue *q)
{
	return q->gpu != GT_NONE16 && r->q.gpu == q->gpu &&
	       q->kind == (r->q.sdma ? GT_QUEUE_SDMA : GT_QUEUE_COMPUTE) &&
	       (r->q.size == GT_NONE64 || r->q.size == q->size);
}

/* @first, @end: the rows of one process */
static void match_process(const struct sf_kfd *k, const struct sf_rows *all, unsigned int first,
			  unsigned int end)
{
	const struct sf_kfd_queue *of[SF_ROWS], *q = NULL;
	unsigned int n = 0;

	for (unsigned int i = 0; i < k->n && !q; i++)
		if (k->proc[i].pid == all->row[first].q.pid)
			q = sf_kfd_queue(k, k->proc[i].first);
	for (; q && n < SF_ROWS; q = sf_kfd_queue(k, q->next))
		of[n++] = q;
	if (n != end - first)
		return;
	qsort(of, n, sizeof(of[0]), by_age);
	for (unsigned int i = 0; i < n; i++)
		if (!alike(&all->row[first + i], of[i]))
			return;
	for (unsigned int i = 0; i < n; i++)
		all->row[first + i].q.queue = of[i]->id;
}

static void match_all(const struct sf_kfd *k, const struct sf_rows *all)
{
	unsigned int end;

	for (unsigned int i = 0; i < all->n; i = end) {
		for (end = i + 1; end < all->n && all->row[end].q.pid == all->row[i].q.pid;)
			end++;
		if (all->row[i].q.pid)
			match_process(k, all, i, end);
	}
}

/* Reads a whole file of debugfs. NULL: it cannot be read, or is too long, which is counted: queues in
 * the part cut off would seem to be on no hardware */
static char *read_dump(const struct sf *sf, const char *path, struct sf_rows *all)
{
	int fd = gt_root_fd(&sf->root, path);
	char *text = fd < 0 ? NULL : malloc(SF_DUMP_MAX);
	size_t n = 0;
	ssize_t got = 1;

	while (text && n < SF_DUMP_MAX - 1 && (got = read(fd, text + n, SF_DUMP_MAX - 1 - n)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		close(fd);
	all->cut += text && got > 0;
	if (got) {
		free(text);
		return NULL;
	}
	if (text)
		text[n] = '\0';
	return text;
}

/* A GPU that is not known yet may sleep. */
static bool all_awake(struct sf *sf)
{
	char word[16];

	for (unsigned int i = 0; i < sf->n; i++)
		if (sf->dev[i].kfd_id && !sf_device_awake(sf, &sf->dev[i], word, sizeof(word)))
			return false;
	return all_known(sf);
}

static bool parse_dump(struct sf *sf, const char *path,
		       void (*fn)(void *, const struct sf_dumped *), struct sf_rows *all)
{
	char *text = read_dump(sf, path, all);

	if (text)
		all->bad += sf_dump_parse(text, fn, all, NULL);
	free(text);
	return text;
}

/* Reports the rows with a known process and GPU. */
static void report_rows(struct sf *sf, const struct sf_rows *all)
{
	struct gt_queue_hw *q = calloc(all->n + 1, sizeof(*q));
	size_t n = 0;

	for (unsigned int i = 0; q && i < all->n; i++)
		if (all->row[i].q.pid && all->row[i].q.gpu != GT_NONE16)
			q[n++] = all->row[i].q;
	sf_kfd_hw_report(sf, q, n);
	free(q);
}

static bool take_mqds(struct sf *sf, struct sf_rows *all)
{
	if (!all->row || !parse_dump(sf, DIR_DEBUG "mqds", sf_rows_mqd, all))
		return false;
	for (unsigned int i = 0; i < all->n; i++)
		all->row[i].q.gpu = gpu_of(sf, all->row[i].gpu_id);
	match_all(sf->kfd, all);
	return true;
}

static bool take_all(struct sf *sf, struct sf_rows *all)
{
	return take_mqds(sf, all) && parse_dump(sf, DIR_DEBUG "hqds", sf_rows_hqd, all);
}

static struct sf_rows new_rows(void)
{
	return (struct sf_rows){ .row = calloc(SF_ROWS, sizeof(struct sf_row)),
				 .most = SF_ROWS / SF_SHARE };
}

static void read_slots(struct sf *sf, char *buf, size_t len)
{
	struct sf_rows all = new_rows();

	sf->kfd->stats.dumps++;
	if (take_all(sf, &all)) {
		sf_rows_print(&all, buf, len);
	} else {
		all.n = 0;
		snprintf(buf, len, "unavailable\n");
	}
	report_rows(sf, &all);
	sf->kfd->stats.dump_bad += all.bad;
	sf->kfd->stats.dump_cut += all.cut;
	free(all.row);
}

/*
 * The list has no addresses of packets, by which a program's runtime names a queue; descriptors in
 * memory have them. They are read when there is a new queue, without asking the GPU.
 */

static const struct sf_kfd_proc *proc_of(const struct sf_kfd *k, uint32_t pid)
{
	for (unsigned int i = 0; i < k->n; i++)
		if (k->proc[i].pid == pid)
			return &k->proc[i];
	return NULL;
}

static struct sf_kfd_queue *queue_of(struct sf_kfd *k, const struct sf_kfd_proc *p, uint32_t id)
{
	for (uint32_t at = p->first; at && id != GT_NONE32; at = k->queue[at - 1].next)
		if (k->queue[at - 1].id == id)
			return &k->queue[at - 1];
	return NULL;
}

/* Only of processes with the same queues before and after the dump: else a row may be of a queue that
 * was made meanwhile. */
static void place_all(struct sf *sf, const struct sf_rows *all)
{
	struct sf_kfd *k = sf->kfd;

	for (unsigned int i = 0; i < all->n; i++) {
		const struct gt_queue_hw *r = &all->row[i].q;
		const struct sf_kfd_proc *p = r->pid ? proc_of(k, r->pid) : NULL;
		struct sf_kfd_queue *q = p ? queue_of(k, p, r->queue) : NULL;

		if (!q || q->base || !r->base || r->base == GT_NONE64)
			continue;
		if (p->changes)
			k->unplaced = true;
		else
			set_place(sf, q, r->pid, r->base);
	}
}

static void find_places(struct sf *sf)
{
	struct sf_rows all = new_rows();

	reread_queues(sf);
	if (take_mqds(sf, &all)) {
		reread_queues(sf);
		place_all(sf, &all);
	}
	sf->kfd->stats.dump_bad += all.bad;
	sf->kfd->stats.dump_cut += all.cut;
	free(all.row);
}

void sf_kfd_find_places(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;
	uint64_t began = sf->p->host->now(sf->p);

	if (!k->unplaced || began < k->place_due)
		return;
	if (all_awake(sf)) {
		k->unplaced = false;
		if (gt_root_is(&sf->root, DIR_DEBUG "mqds"))
			find_places(sf);
	}
	k->place_due = began + (sf->p->host->now(sf->p) - began) * SF_SLOW;
}

void sf_kfd_hw_report(struct sf *sf, const struct gt_queue_hw *q, size_t n)
{
	sf->kfd->reported = n;
	if (sf->kfd->hw)
		sf->p->host->queues_hw(sf->p, q, n);
}

void sf_kfd_hw_begin(struct sf *sf)
{
	free(sf->kfd->table); /* GPUs and queues may have other numbers now */
	sf->kfd->table = NULL;
	sf->kfd->table_due = sf->kfd->asleep_until = 0;
	sf->kfd->hw |= gt_root_is(&sf->root, DIR_DEBUG "hqds");
	sf_kfd_hw_report(sf, NULL, 0);
}

bool sf_kfd_hw_look(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;
	uint64_t began = sf->p->host->now(sf->p);

	if (began < k->asleep_until)
		return false;
	if (!all_awake(sf)) {
		k->table_due = 0;
		k->asleep_until = began + ASLEEP_NS;
		if (k->reported)
			sf_kfd_hw_report(sf, NULL, 0);
		return false;
	}
	if (k->table && began < k->table_due)
		return true;
	sf_kfd_look(sf, false);
	free(k->table);
	k->table = malloc(GT_BACKEND_TEXT_MAX);
	if (k->table)
		read_slots(sf, k->table, GT_BACKEND_TEXT_MAX);
	k->table_due = began + (sf->p->host->now(sf->p) - began) * SF_SLOW;
	return k->table;
}

void sf_kfd_show(struct gt_plugin *p, char *buf, size_t len)
{
	const struct sf *sf = p->priv;

	snprintf(buf, len, "%s", sf_kfd_hw_look(p->priv) ? sf->kfd->table : "unavailable\n");
}

/* Processes ------------------------------------------------------------------------------------ */

static int by_pid(const void *a, const void *b)
{
	const struct sf_kfd_proc *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Lists processes in k->listed, by pid; *@whole false: not all. Return: their number, or -errno */
static int list_processes(struct sf *sf, bool *whole)
{
	GT_ROOT_DIR dir = gt_root_dir(&sf->root, SF_KFD_PROC);
	struct sf_kfd_proc *out = sf->kfd->listed;
	struct dirent *e;
	unsigned int n = 0;
	int64_t pid;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	for (int i = 0; (e = readdir(dir)); i++) {
		if (i == SF_ENTRIES) {
			*whole = false;
			break;
		}
		if (gt_root_number(e->d_name, &pid, NULL) || pid <= 0 || pid > INT32_MAX)
			continue;
		if (!sf->root.captured &&
		    pid == getpid()) /* the daemon itself, as it gets events */
			continue;
		out[n++] = (struct sf_kfd_proc){ .pid = (uint32_t)pid, .ino = e->d_ino };
	}
	qsort(out, n, sizeof(*out), by_pid);
	return (int)n;
}

/* Does a process exist that the list may have no room for? */
static bool is_there(const struct sf *sf, const struct sf_kfd_proc *p)
{
	char path[64];

	snprintf(path, sizeof(path), SF_KFD_PROC "/%u", p->pid);
	return gt_root_inode(&sf->root, path, false) == p->ino;
}

static void end_process(struct sf *sf, struct sf_kfd_proc *p)
{
	end_queues(sf, p);
	sf->clients->user[p->user].kfd--;
}

/* Keeps known processes with their queues; the queues of those that have ended end. */
static void keep_known(struct sf *sf, unsigned int n, bool whole)
{
	struct sf_kfd *k = sf->kfd;
	struct sf_kfd_proc *now = k->listed, *end = now + n;
	unsigned int kept = 0;

	for (unsigned int i = 0; i < k->n; i++) {
		struct sf_kfd_proc *p = &k->proc[i];

		while (now < end && now->pid < p->pid)
			now++;
		if (now < end && now->pid == p->pid)
			now->known = now->ino == p->ino;
		if (now < end && now->pid == p->pid ? now->known : !whole && is_there(sf, p))
			k->proc[kept++] = *p;
		else
			end_process(sf, p);
	}
	k->n = kept;
}

/* Adds new processes while there is room; one user's processes cannot take the room of others. */
static void add_processes(struct sf *sf, unsigned int n, bool whole)
{
	struct sf_kfd *k = sf->kfd;
	unsigned int begin = n ? k->fresh % n : 0, asked = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct sf_kfd_proc *p = &k->listed[(begin + i) % n];
		struct sf_user *user;

		if (p->known)
			continue;
		if (k->n == SF_KFD_PROCS || (k->begun && asked++ == SF_KFD_NEW)) {
			k->fresh = begin + i;
			whole = false;
			break;
		}
		user = sf_user_of(sf, p->pid);
		if (user->uid && user->kfd >= SF_KFD_PROCS / SF_SHARE) {
			whole = false;
			continue;
		}
		user->kfd++;
		p->user = (uint16_t)(user - sf->clients->user);
		k->proc[k->n++] = *p;
	}
	k->stats.cut += !whole;
}

static void update_processes(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;
	bool whole = true;
	int n = list_processes(sf, &whole);

	if (n < 0)
		return;
	keep_known(sf, (unsigned int)n, whole);
	add_processes(sf, (unsigned int)n, whole);
	qsort(k->proc, k->n, sizeof(k->proc[0]), by_pid);
}

/* Reports what processes use of the devices that are awake: some at a time, in turn */
static void report_some(struct sf *sf)
{
	struct sf_kfd *k = sf->kfd;
	const struct sf_device *d[SF_DEVICES];
	unsigned int n = 0, pairs;
	char word[16];

	for (unsigned int i = 0; k->n && i < sf->n; i++)
		if (sf->dev[i].kfd_id && sf_device_awake(sf, &sf->dev[i], word, sizeof(word)))
			d[n++] = &sf->dev[i];
	pairs = k->n * n;
	for (unsigned int i = 0; i < (pairs > SF_KFD_ALL ? SF_KFD_PAIRS : pairs); i++) {
		unsigned int at = k->pair++ % pairs;

		report_process(sf, k->proc[at / n].pid, d[at % n], false);
	}
}

void sf_kfd_look(struct sf *sf, bool numbers)
{
	bool any = sf->kfd->n;

	for (unsigned int i = 0; i < sf->n; i++)
		any |= sf->dev[i].kfd_id != 0;
	if (!any)
		return;
	sf->kfd->stats.looks++;
	update_processes(sf);
	if (numbers)
		report_some(sf);
	if (sf->kfd->reports) {
		sf_kfd_queues(sf);
		sf_kfd_find_places(sf);
	}
	sf_kfd_flush(sf);
}

struct sf_kfd *sf_kfd_new(void)
{
	return calloc(1, sizeof(struct sf_kfd));
}

void sf_kfd_free(struct sf_kfd *k)
{
	if (k)
		free(k->table);
	free(k);
}
