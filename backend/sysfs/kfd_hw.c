/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which queues are on the hardware, and where: what debugfs dumps of the compute driver. To dump
 * the slots wakes the GPUs, all of them, and takes long: it is done only for who reads the file,
 * when all are awake, and no more often than takes a fiftieth of the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "kfd.h"
#include "kfd_rows.h"

#define DIR_DEBUG "sys/kernel/debug/kfd/"
#define ASLEEP_NS 100000000u /* so long a GPU that slept is taken to sleep */

static uint16_t gpu_of(const struct sf *sf, uint32_t kfd_id)
{
	for (unsigned int i = 0; i < sf->n; i++)
		if (sf->dev[i].kfd_id == kfd_id)
			return sf->dev[i].gpu;
	return GT_NONE16;
}

/* Whose they are --------------------------------------------------------------------------------
 *
 * A dump has a process's queues, and not their numbers: those that were made last come first. The
 * list in sysfs has numbers, and folders whose inodes are in the order in which they were made.
 * They are matched if all of a process's are alike, one by one.
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

/* Rows @first to @end are of one process. */
static void match(const struct sf_kfd *k, const struct sf_rows *all, unsigned int first,
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
			match(k, all, i, end);
	}
}

/* ------------------------------------------------------------------------------------------------
 */

/* All of a file of debugfs; NULL: it cannot be read, or is too long, which is counted: who is in
 * its end would seem to be on no hardware */
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

/* One that is not known, as it came since, may sleep. */
static bool all_awake(struct sf *sf)
{
	char word[16];

	for (unsigned int i = 0; i < sf->n; i++)
		if (sf->dev[i].kfd_id && !sf_device_awake(sf, &sf->dev[i], word, sizeof(word)))
			return false;
	return sf_kfd_all_known(sf);
}

static bool take(struct sf *sf, const char *path, void (*fn)(void *, const struct sf_dumped *),
		 struct sf_rows *all)
{
	char *text = read_dump(sf, path, all);

	if (text)
		all->bad += sf_dump_parse(text, fn, all);
	free(text);
	return text;
}

/* Those of a process that is known, on a GPU that is */
static void tell(struct sf *sf, const struct sf_rows *all)
{
	struct gt_queue_hw *q = calloc(all->n + 1, sizeof(*q));
	size_t n = 0;

	for (unsigned int i = 0; q && i < all->n; i++)
		if (all->row[i].q.pid && all->row[i].q.gpu != GT_NONE16)
			q[n++] = all->row[i].q;
	sf_kfd_hw_tell(sf, q, n);
	free(q);
}

static bool take_mqds(struct sf *sf, struct sf_rows *all)
{
	if (!all->row || !take(sf, DIR_DEBUG "mqds", sf_rows_mqd, all))
		return false;
	for (unsigned int i = 0; i < all->n; i++)
		all->row[i].q.gpu = gpu_of(sf, all->row[i].gpu_id);
	match_all(sf->kfd, all);
	return true;
}

static bool take_all(struct sf *sf, struct sf_rows *all)
{
	return take_mqds(sf, all) && take(sf, DIR_DEBUG "hqds", sf_rows_hqd, all);
}

static struct sf_rows new_rows(void)
{
	return (struct sf_rows){ .row = calloc(SF_ROWS, sizeof(struct sf_row)),
				 .most = SF_ROWS / SF_SHARE };
}

static void dump(struct sf *sf, char *buf, size_t len)
{
	struct sf_rows all = new_rows();

	sf->kfd->stats.dumps++;
	if (take_all(sf, &all)) {
		sf_rows_print(&all, buf, len);
	} else {
		all.n = 0;
		snprintf(buf, len, "unavailable\n");
	}
	tell(sf, &all);
	sf->kfd->stats.dump_bad += all.bad;
	sf->kfd->stats.dump_cut += all.cut;
	free(all.row);
}

/* Where their packets are
 * ---------------------------------------------------------------------------
 *
 * The list has not that, by which a program's runtime calls a queue: descriptors in memory have.
 * They are read when there is a new queue; what runs on the GPU is not asked.
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

/* Those of processes whose queues are the same before the dump and behind it: else a row may be of
 * one that came meanwhile */
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
			sf_kfd_place(sf, q, r->pid, r->base);
	}
}

static void find_places(struct sf *sf)
{
	struct sf_rows all = new_rows();

	sf_kfd_queues_again(sf);
	if (take_mqds(sf, &all)) {
		sf_kfd_queues_again(sf);
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

/* ------------------------------------------------------------------------------------------------
 */

void sf_kfd_hw_tell(struct sf *sf, const struct gt_queue_hw *q, size_t n)
{
	sf->kfd->told = n;
	if (sf->kfd->hw)
		sf->p->host->queues_hw(sf->p, q, n);
}

void sf_kfd_hw_begin(struct sf *sf)
{
	free(sf->kfd->table); /* may be of GPUs, and queues, that have other numbers now */
	sf->kfd->table = NULL;
	sf->kfd->table_due = sf->kfd->asleep_until = 0;
	sf->kfd->hw |= gt_root_is(&sf->root, DIR_DEBUG "hqds");
	sf_kfd_hw_tell(sf, NULL, 0);
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
		if (k->told)
			sf_kfd_hw_tell(sf, NULL, 0);
		return false;
	}
	if (k->table && began < k->table_due)
		return true;
	sf_kfd_look(sf, false);
	free(k->table);
	k->table = malloc(GT_BACKEND_TEXT_MAX);
	if (k->table)
		dump(sf, k->table, GT_BACKEND_TEXT_MAX);
	k->table_due = began + (sf->p->host->now(sf->p) - began) * SF_SLOW;
	return k->table;
}

void sf_kfd_show(struct gt_plugin *p, char *buf, size_t len)
{
	const struct sf *sf = p->priv;

	snprintf(buf, len, "%s", sf_kfd_hw_look(p->priv) ? sf->kfd->table : "unavailable\n");
}
