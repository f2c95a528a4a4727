/* SPDX-License-Identifier: GPL-2.0 */
#include <string.h>
#include <sys/mman.h>

#include "hold.h"

#define SWEEP_NS 1000000000u

static void *map(size_t n, size_t size)
{
	void *p = mmap(NULL, n * size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t n, size_t size)
{
	if (p)
		munmap(p, n * size);
}

void gt_hold_init(struct gt_hold *h, const struct gt_job *jobs, uint32_t njobs)
{
	*h = (struct gt_hold){ .jobs = jobs, .njobs = njobs, .free = GT_NONE32, .out = GT_NONE32 };
}

void gt_hold_destroy(struct gt_hold *h)
{
	unmap(h->chain, h->njobs, sizeof(*h->chain));
	unmap(h->rec, GT_HOLD_RECORDS, sizeof(*h->rec));
	unmap(h->next, GT_HOLD_RECORDS, sizeof(*h->next));
	gt_hold_init(h, h->jobs, h->njobs);
}

/* Memory is mapped when something is held for the first time, and touched as it is needed. */
static bool ready(struct gt_hold *h)
{
	if (h->chain)
		return true;
	h->chain = map(h->njobs, sizeof(*h->chain));
	h->rec = map(GT_HOLD_RECORDS, sizeof(*h->rec));
	h->next = map(GT_HOLD_RECORDS, sizeof(*h->next));
	if (h->chain && h->rec && h->next)
		return true;
	gt_hold_destroy(h);
	return false;
}

struct gt_chain *gt_hold_chain(const struct gt_hold *h, const struct gt_job *job)
{
	return &h->chain[job - h->jobs];
}

bool gt_hold_begin(struct gt_hold *h, const struct gt_job *job)
{
	if (job < h->jobs || job >= h->jobs + h->njobs || !ready(h))
		return false;
	gt_hold_drop(h, gt_hold_chain(h, job)); /* of who had its place before, and never ended */
	return true;
}

static uint32_t take(struct gt_hold *h)
{
	uint32_t i = h->free;

	if (i == GT_NONE32)
		return h->fresh < GT_HOLD_RECORDS ? h->fresh++ : GT_NONE32;
	h->free = h->next[i];
	return i;
}

bool gt_hold_put(struct gt_hold *h, const struct gt_job *job, const union gt_record *r)
{
	struct gt_chain *c = gt_hold_chain(h, job);
	uint32_t i = take(h);

	if (i == GT_NONE32)
		return false;
	h->rec[i] = *r;
	h->next[i] = GT_NONE32;
	if (c->n)
		h->next[c->last] = i;
	else
		c->first = i;
	c->last = i;
	c->n++;
	h->held++;
	return true;
}

void gt_hold_drop(struct gt_hold *h, struct gt_chain *c)
{
	if (c->n) {
		h->next[c->last] = h->free;
		h->free = c->first;
		h->held -= c->n;
	}
	c->n = c->counted = 0;
}

void gt_hold_release(struct gt_hold *h, struct gt_chain *c)
{
	if (!c->n)
		return;
	h->out = c->first;
	h->held -= c->n;
	c->n = c->counted = 0;
}

const union gt_record *gt_hold_next(struct gt_hold *h)
{
	uint32_t i = h->out;

	if (i == GT_NONE32)
		return NULL;
	h->out = h->next[i];
	h->next[i] = h->free; /* nothing is held before the next call */
	h->free = i;
	return &h->rec[i];
}

uint64_t gt_hold_bytes(const struct gt_hold *h)
{
	if (!h->chain)
		return 0;
	return h->njobs * sizeof(*h->chain) +
	       h->fresh * (sizeof(*h->rec) + (uint64_t)sizeof(*h->next));
}

void gt_hold_sweep(struct gt_hold *h, uint64_t now)
{
	bool back = now < h->swept; /* a time in the future was told before */

	if (!back && now - h->swept < SWEEP_NS)
		return;
	h->swept = now;
	if (back)
		return;
	for (uint32_t i = 0; i < h->njobs; i++)
		if (h->chain[i].n &&
		    (!h->jobs[i].live || (h->jobs[i].recorded & GT_JOB_STATE) != GT_JOB_HELD))
			gt_hold_drop(h, &h->chain[i]);
}
