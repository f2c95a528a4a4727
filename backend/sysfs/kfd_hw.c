/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which queues are on the hardware, and where: what debugfs dumps of the compute driver. To dump
 * the slots wakes the GPUs, all of them, and takes long: it is done only for who reads the file,
 * when all are awake, and no more often than takes a fiftieth of the time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../detail.h"
#include "client.h"
#include "kfd.h"
#include "kfd_dump.h"

#define DIR_DEBUG "sys/kernel/debug/kfd/"
#define DUMP_MAX  (8u << 20)
#define ROWS	  1024

/**
 * struct row - a queue: @pid 0: of a slot that no descriptor is known of
 * @id: below queues/, GT_NONE32 unknown; @slots: where it is mapped, "" nowhere
 */
struct row {
	uint32_t gpu_id, pid, id;
	bool sdma;
	struct sf_hw hw;
	char slots[96];
};

struct rows {
	struct sf *sf;
	struct row *row;
	unsigned int n;
};

static struct row *add(struct rows *all, const struct sf_dumped *q, const struct sf_hw *hw)
{
	struct row *r = &all->row[all->n];

	if (all->n == ROWS) {
		all->sf->kfd->stats.dump_cut++;
		return NULL;
	}
	all->n++;
	*r = (struct row){ .gpu_id = q->gpu_id, .pid = q->pid, .id = GT_NONE32, .hw = *hw };
	r->sdma = q->kind == SF_DUMP_MQD_SDMA || q->kind == SF_DUMP_HQD_SDMA;
	return r;
}

static void on_mqd(void *arg, const struct sf_dumped *q)
{
	struct sf_hw hw;

	if ((q->kind == SF_DUMP_MQD || q->kind == SF_DUMP_MQD_SDMA) && q->pid && sf_dump_hw(q, &hw))
		add(arg, q, &hw);
}

/* A doorbell is of one queue of a GPU. An SDMA queue is known by its ring alone, which several
 * processes may have at the same address: then nobody knows whose it is. */
static struct row *mapped(const struct rows *all, uint32_t gpu_id, bool sdma,
			  const struct sf_hw *hw)
{
	struct row *found = NULL;

	for (unsigned int i = 0; hw->base != GT_NONE64 && i < all->n; i++) {
		struct row *r = &all->row[i];

		if (r->gpu_id != gpu_id || r->sdma != sdma || r->hw.base != hw->base ||
		    r->hw.doorbell != hw->doorbell)
			continue;
		if (found)
			return NULL;
		found = r;
	}
	return found;
}

static void on_hqd(void *arg, const struct sf_dumped *q)
{
	bool sdma = q->kind == SF_DUMP_HQD_SDMA;
	struct sf_hw hw;
	struct row *r;
	size_t used;

	if ((q->kind != SF_DUMP_HQD && !sdma) || !sf_dump_hw(q, &hw) || !hw.active)
		return;
	r = mapped(arg, q->gpu_id, sdma, &hw);
	r = r ? r : add(arg, q, &hw);
	if (!r)
		return;
	r->hw.vmid = hw.vmid;
	r->hw.rptr = hw.rptr; /* memory has what was last saved */
	r->hw.wptr = hw.wptr;
	used = strlen(r->slots);
	if (sdma)
		snprintf(r->slots + used, sizeof(r->slots) - used, "%ssdma%u.%u", used ? "," : "",
			 q->pipe, q->queue);
	else
		snprintf(r->slots + used, sizeof(r->slots) - used, "%s%u.%u.%u", used ? "," : "",
			 q->inst, q->pipe, q->queue);
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

static uint16_t gpu_of(const struct sf *sf, uint32_t kfd_id)
{
	for (unsigned int i = 0; i < sf->n; i++)
		if (sf->dev[i].kfd_id == kfd_id)
			return sf->dev[i].gpu;
	return GT_NONE16;
}

static bool alike(const struct sf *sf, const struct row *r, const struct sf_kfd_queue *q)
{
	return q->gpu != GT_NONE16 && gpu_of(sf, r->gpu_id) == q->gpu &&
	       q->kind == (r->sdma ? GT_QUEUE_SDMA : GT_QUEUE_COMPUTE) &&
	       (r->hw.size == GT_NONE64 || r->hw.size == q->size);
}

/* Rows @first to @end are of one process. */
static void match(const struct rows *all, unsigned int first, unsigned int end)
{
	const struct sf_kfd *k = all->sf->kfd;
	const struct sf_kfd_queue *of[ROWS], *q = NULL;
	unsigned int n = 0;

	for (unsigned int i = 0; i < k->n && !q; i++)
		if (k->proc[i].pid == all->row[first].pid)
			q = sf_kfd_queue(k, k->proc[i].first);
	for (; q && n < ROWS; q = sf_kfd_queue(k, q->next))
		of[n++] = q;
	if (n != end - first)
		return;
	qsort(of, n, sizeof(of[0]), by_age);
	for (unsigned int i = 0; i < n; i++)
		if (!alike(all->sf, &all->row[first + i], of[i]))
			return;
	for (unsigned int i = 0; i < n; i++)
		all->row[first + i].id = of[i]->id;
}

static void match_all(const struct rows *all)
{
	unsigned int end;

	for (unsigned int i = 0; i < all->n; i = end) {
		for (end = i + 1; end < all->n && all->row[end].pid == all->row[i].pid;)
			end++;
		if (all->row[i].pid)
			match(all, i, end);
	}
}

/* ------------------------------------------------------------------------------------------------
 */

static void number(struct gt_details *t, const char *fmt, uint64_t v)
{
	char text[32] = "-";

	if (v != GT_NONE64)
		snprintf(text, sizeof(text), fmt, v);
	gt_detail(t, " %s", text);
}

static void print(const struct rows *all, char *buf, size_t len)
{
	struct gt_details t = { buf, len };

	gt_detail(&t,
		  "# kfd_id pid queue type active vmid doorbell base size_bytes rptr wptr slots\n");
	for (unsigned int i = 0; i < all->n; i++) {
		const struct row *r = &all->row[i];
		char line[320];
		struct gt_details l = { line, sizeof(line) };

		gt_detail(&l, "%u", r->gpu_id);
		number(&l, "%" PRIu64, r->pid ? r->pid : GT_NONE64);
		number(&l, "%" PRIu64, r->id == GT_NONE32 ? GT_NONE64 : r->id);
		gt_detail(&l, " %s %d", r->sdma ? "sdma" : "compute", r->hw.active);
		number(&l, "%" PRIu64, r->hw.vmid);
		number(&l, "0x%" PRIx64, r->hw.doorbell);
		number(&l, "0x%" PRIx64, r->hw.base);
		number(&l, "%" PRIu64, r->hw.size);
		number(&l, "%" PRIu64, r->hw.rptr);
		number(&l, "%" PRIu64, r->hw.wptr);
		if (t.left <= strlen(line) + sizeof(r->slots) + 2) {
			all->sf->kfd->stats.dump_cut++;
			continue;
		}
		gt_detail(&t, "%s %s\n", line, *r->slots ? r->slots : "-");
	}
}

/* All of a file of debugfs, which is at most @DUMP_MAX; NULL: it cannot be read */
static char *read_dump(const struct sf *sf, const char *path)
{
	int fd = gt_root_fd(&sf->root, path);
	char *text = fd < 0 ? NULL : malloc(DUMP_MAX);
	size_t n = 0;
	ssize_t got = 1;

	while (text && n < DUMP_MAX - 1 && (got = read(fd, text + n, DUMP_MAX - 1 - n)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		close(fd);
	if (got < 0) {
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

static bool take(struct rows *all, const char *path, void (*fn)(void *, const struct sf_dumped *))
{
	char *text = read_dump(all->sf, path);

	if (text)
		all->sf->kfd->stats.dump_bad += sf_dump_parse(text, fn, all);
	free(text);
	return text;
}

static void dump(struct sf *sf, char *buf, size_t len)
{
	struct rows all = { .sf = sf, .row = calloc(ROWS, sizeof(struct row)) };

	snprintf(buf, len, "unavailable\n");
	sf->kfd->stats.dumps++;
	if (all.row && take(&all, DIR_DEBUG "mqds", on_mqd)) {
		match_all(&all);
		if (take(&all, DIR_DEBUG "hqds", on_hqd))
			print(&all, buf, len);
	}
	free(all.row);
}

void sf_kfd_show(struct gt_plugin *p, char *buf, size_t len)
{
	struct sf *sf = p->priv;
	struct sf_kfd *k = sf->kfd;
	uint64_t began = p->host->now(p), took;

	if (!all_awake(sf)) {
		snprintf(buf, len, "unavailable\n");
		return;
	}
	if (!k->table || began >= k->table_due) {
		sf_kfd_look(sf, false);
		free(k->table);
		k->table = malloc(GT_BACKEND_TEXT_MAX);
		if (k->table)
			dump(sf, k->table, GT_BACKEND_TEXT_MAX);
		took = p->host->now(p) - began;
		k->table_due = began + took * SF_SLOW;
	}
	snprintf(buf, len, "%s", k->table ? k->table : "");
}
