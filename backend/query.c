/* SPDX-License-Identifier: GPL-2.0 */
/* What other threads ask of the host, see host.h: copies under its lock, or requests to the thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host_internal.h"

unsigned int gt_host_count(struct gt_host_state *h)
{
	return h->n;
}

bool gt_host_info(struct gt_host_state *h, unsigned int i, struct gt_backend_info *out)
{
	if (i >= h->n)
		return false;
	GT_HOST_LOCK(h);
	*out = h->be[i]->info;
	return true;
}

int gt_host_clock_offset(struct gt_host_state *h, unsigned int i, int64_t ns)
{
	if (i >= h->n)
		return -ENODEV;
	GT_HOST_LOCK(h);
	atomic_store_explicit(&h->be[i]->clock_offset, ns, memory_order_relaxed);
	h->be[i]->info.clock_offset = ns;
	return 0;
}

int gt_host_find(struct gt_host_state *h, const char *name)
{
	for (unsigned int i = 0; i < h->n; i++)
		if (!strcmp(h->be[i]->info.name, name))
			return (int)i;
	return -ENOENT;
}

void gt_host_clocks(struct gt_host_state *h, struct gt_clocks *out)
{
	GT_HOST_LOCK(h);

	gt_clocks_look(&h->clocks);
	*out = h->clocks;
}

void gt_host_merge(struct gt_host_state *h, struct gt_host_merge *out)
{
	GT_HOST_LOCK(h);

	*out = h->merge;
}

bool gt_host_replaying(struct gt_host_state *h)
{
	GT_HOST_LOCK(h);

	for (unsigned int i = 0; i < h->n; i++) {
		enum gt_backend_state s = h->be[i]->info.state;

		if (h->be[i]->p.recording && (s == GT_BS_RUNNING || s == GT_BS_PAUSED))
			return true;
	}
	return false;
}

#define FRESH_NS 5000000 /* so old may be what is read */
#define FRESH_MS 50	 /* so long a reader waits */

void gt_host_fresh(struct gt_host_state *h)
{
	struct gt_call *c;

	if (!atomic_load_explicit(&h->counting, memory_order_relaxed) ||
	    gt_host_now() - atomic_load_explicit(&h->folded, memory_order_relaxed) < FRESH_NS)
		return;
	c = gt_call_new(GT_CALL_FOLD);
	if (!c)
		return;
	gt_call_run(h, c, FRESH_MS);
	gt_call_put(h, c);
}

void gt_host_do_fold(struct gt_host_state *h)
{
	/* several may have asked at once */
	if (gt_host_now() - atomic_load_explicit(&h->folded, memory_order_relaxed) < FRESH_NS)
		return;
	for (unsigned int i = 0; i < h->n; i++)
		if (h->be[i]->counting && gt_be_live(h->be[i]))
			h->be[i]->be->fold(&h->be[i]->p);
	atomic_store_explicit(&h->folded, gt_host_now(), memory_order_relaxed);
}

bool gt_host_look(struct gt_host_state *h, unsigned int what)
{
	struct gt_call *c;
	int ret;

	if (!atomic_load_explicit(&h->lookers, memory_order_relaxed))
		return true;
	c = gt_call_new(GT_CALL_LOOK);
	if (!c)
		return false;
	c->arg = what;
	ret = gt_call_run(h, c, what & GT_LOOK_SLOTS ? GT_HOST_CALL_MS : FRESH_MS);
	gt_call_put(h, c);
	return !ret;
}

void gt_host_met(struct gt_host_state *h, uint32_t pid)
{
	for (unsigned int i = 0; i < h->n; i++) {
		struct gt_be *b = h->be[i];

		if (b->be && b->be->size >= offsetof(struct gt_backend, met) + sizeof(b->be->met) &&
		    b->be->met && gt_be_live(b))
			b->be->met(&b->p, pid);
	}
}

void gt_be_looks(struct gt_be *b, bool on)
{
	bool can = b->be->size >= offsetof(struct gt_backend, look) + sizeof(b->be->look) &&
		   b->be->look;

	if (on == b->looks || !can)
		return;
	b->looks = on;
	if (on)
		b->h->lookers++;
	else
		b->h->lookers--;
}

void gt_host_do_look(struct gt_host_state *h, unsigned int what)
{
	for (unsigned int i = 0; i < h->n; i++)
		if (h->be[i]->looks && gt_be_live(h->be[i]))
			h->be[i]->be->look(&h->be[i]->p, what);
}

/* A request, done; its sentence or answer in @out. */
static int run(struct gt_host_state *h, struct gt_call *c, char *out, size_t len)
{
	int ret = gt_call_run(h, c, GT_HOST_CALL_MS);

	if (ret == -ETIMEDOUT)
		gt_call_late(h, c, out, len);
	else if (ret || c->kind == GT_CALL_DOCTOR)
		snprintf(out, len, "%s", c->text);
	else if (c->kind == GT_CALL_FILE)
		snprintf(out, len, "%s", c->big);
	gt_call_put(h, c);
	return ret;
}

int gt_host_doctor(struct gt_host_state *h, unsigned int i, char *buf, size_t len)
{
	struct gt_call *c;

	buf[0] = 0;
	if (i >= h->n)
		return -ENOENT;
	c = gt_call_new(GT_CALL_DOCTOR);
	if (!c)
		return -ENOMEM;
	c->index = i;
	return run(h, c, buf, len);
}

int gt_host_file(struct gt_host_state *h, unsigned int i, unsigned int f, char *buf, size_t len)
{
	struct gt_call *c;

	buf[0] = 0;
	if (i >= h->n || !h->be[i]->info.files)
		return -ENOENT;
	c = gt_call_new(GT_CALL_FILE);
	if (!c)
		return -ENOMEM;
	c->index = i;
	c->file = f;
	c->big = calloc(1, GT_BACKEND_TEXT_MAX);
	if (c->big)
		return run(h, c, buf, len);
	gt_call_put(h, c);
	return -ENOMEM;
}

int gt_host_option_get(struct gt_host_state *h, unsigned int i, const char *name, char *buf,
		       size_t len)
{
	const struct gt_option *o = i < h->n ? gt_options_find(h->be[i], name) : NULL;

	if (!o)
		return -ENOENT;
	GT_HOST_LOCK(h);
	gt_options_print(h->be[i], o, buf, len);
	return 0;
}

int gt_host_option_set(struct gt_host_state *h, unsigned int i, const char *name, const char *value,
		       char *err, size_t len)
{
	struct gt_call *c;

	err[0] = 0;
	if (i >= h->n || strlen(name) >= sizeof(c->name))
		return -ENOENT;
	if (strlen(value) >= sizeof(c->value)) {
		snprintf(err, len, "%s: longer than %zu bytes", name, sizeof(c->value) - 1);
		return -E2BIG;
	}
	c = gt_call_new(GT_CALL_SET);
	if (!c)
		return -ENOMEM;
	c->index = i;
	strcpy(c->name, name);
	strcpy(c->value, value);
	return run(h, c, err, len);
}

int gt_host_control(struct gt_host_state *h, enum gt_control what, int64_t arg, char *err,
		    size_t len)
{
	struct gt_call *c = gt_call_new(GT_CALL_CONTROL);

	err[0] = 0;
	if (!c)
		return -ENOMEM;
	c->what = what;
	c->arg = arg;
	return run(h, c, err, len);
}

void gt_host_rescan(struct gt_host_state *h)
{
	atomic_store(&h->rescan, true);
	gt_host_wake(h);
}

void gt_host_tell_wanted(struct gt_host_state *h)
{
	atomic_store(&h->wanted, true);
	gt_host_wake(h);
}

bool gt_host_drained(struct gt_host_state *h, int timeout_ms)
{
	uint64_t end = gt_host_now() + (uint64_t)timeout_ms * 1000000, seq;
	struct timespec until = { .tv_sec = (time_t)(end / 1000000000),
				  .tv_nsec = (long)(end % 1000000000) };
	bool done;

	if (!h->threaded)
		return false;
	GT_HOST_LOCK(h);
	h->waiters++;
	seq = h->quiet_seq;
	gt_host_wake(h);
	while (h->quiet_seq == seq)
		if (pthread_cond_timedwait(&h->cond, &h->lock, &until) == ETIMEDOUT)
			break;
	done = h->quiet_seq != seq;
	h->waiters--;
	return done;
}
