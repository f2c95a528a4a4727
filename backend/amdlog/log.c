/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a log's messages to records. A kernel's name is a line of its own before the packet's; where
 * a log has no packets' lines (level 3) the name alone is the dispatch. A copy is a call of the
 * API, then a command, then what carries it out: it is told once.
 *
 * The process is the one that a line tells, or the file's name, but only one that was seen to be of
 * the file's owner: anybody can write a log with another's pid, or one that nobody has yet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../whose.h"
#include "internal.h"

int gt_amd_log_init(struct gt_amd_log *l, struct gt_amd *a)
{
	memset(l, 0, sizeof(*l));
	l->a = a;
	l->gpu = GT_NONE16;
	l->uid = GT_NONE32;
	l->since = a->since;
	l->queue = calloc(GT_AMD_QUEUES, sizeof(*l->queue));
	l->packet = calloc(GT_AMD_SIGNALS, sizeof(*l->packet));
	l->out = malloc(GT_AMD_RECORDS * sizeof(*l->out));
	if (!l->queue || !l->packet || !l->out)
		return -ENOMEM;
	return gt_amd_map_init(&l->queues, 2 * GT_AMD_QUEUES);
}

void gt_amd_log_free(struct gt_amd_log *l)
{
	for (uint32_t i = 0; l->queue && i < GT_AMD_QUEUES; i++) {
		if (l->queue[i].hwq)
			gt_amd_number_put(&l->a->numbers, l->queue[i].id);
		free(l->queue[i].open);
	}
	free(l->queue);
	free(l->packet);
	free(l->out);
	gt_amd_map_free(&l->queues);
	memset(l, 0, sizeof(*l));
}

/* Whose it is
 * -------------------------------------------------------------------------------------- */

/* CLOCK_BOOTTIME of a line's time. After a suspend meanwhile it is too late, never too early. */
static uint64_t boottime(uint64_t ts)
{
	struct timespec b, m;

	clock_gettime(CLOCK_MONOTONIC, &m);
	clock_gettime(CLOCK_BOOTTIME, &b);
	return ts + (uint64_t)(b.tv_sec - m.tv_sec) * 1000000000u + (uint64_t)b.tv_nsec -
	       (uint64_t)m.tv_nsec;
}

/* One that has ended leaves lines that are still to be read; it was there when others were. */
static bool is_theirs(struct gt_amd_log *l, struct gt_amd_pid *p, uint64_t ts)
{
	enum gt_whose whose;

	if (l->a->p->recording)
		return true;
	whose = gt_whose(p->pid, l->uid, boottime(ts));
	return whose == GT_WHOSE_THEIRS || (whose == GT_WHOSE_GONE && p->good);
}

uint32_t gt_amd_log_pid(struct gt_amd_log *l, uint32_t pid, uint64_t ts)
{
	struct gt_amd_pid *p = &l->pids[0];

	if (!pid)
		return GT_NONE32;
	for (unsigned int i = 0; i < GT_AMD_PIDS && p->pid != pid; i++)
		p = &l->pids[i];
	if (p->pid != pid) {
		p = &l->pids[l->next_pid++ % GT_AMD_PIDS];
		*p = (struct gt_amd_pid){ .pid = pid };
	} else if (p->round == l->a->round) {
		return p->good ? pid : GT_NONE32;
	}
	p->good = is_theirs(l, p, ts);
	p->round = l->a->round;
	return p->good ? pid : GT_NONE32;
}

static uint32_t whose(struct gt_amd_log *l, const struct gt_amd_line *line, uint64_t ts)
{
	uint32_t pid = line->pid ? line->pid : l->pid, is = gt_amd_log_pid(l, pid, ts);

	if (!l->pid)
		l->pid = line->pid;
	if (pid && is == GT_NONE32 && l->blamed != pid) {
		l->blamed = pid;
		l->a->forged++;
	}
	return is;
}

static uint16_t gpu_of(struct gt_amd_log *l, uint32_t pid)
{
	struct gt_plugin *p = l->a->p;
	struct gt_gpu_desc d = { .driver = "amdgpu", .minor = -1 };

	if (l->gpu != GT_NONE16)
		return l->gpu;
	d.pid = p->recording || pid == GT_NONE32 ? 0 : pid;
	l->gpu = p->host->gpu(p, &d);
	if (l->gpu == GT_NONE16 && d.pid) { /* it has several, or is gone */
		d.pid = 0;
		l->gpu = p->host->gpu(p, &d);
	}
	return l->gpu;
}

/* Records
 * ------------------------------------------------------------------------------------------ */

void gt_amd_log_event(struct gt_amd_log *l, enum gt_type type, uint64_t ts, uint32_t pid,
		      struct gt_amd_queue *q, union gt_record *r)
{
	uint16_t gpu = gpu_of(l, pid);

	if (q)
		gt_amd_queue_tell(l, q, ts);
	gt_record_init(r, ts, type);
	r->ev.gpu = gpu;
	r->ev.pid = pid;
	r->ev.uid = l->uid;
	if (q)
		r->ev.queue = q->id;
}

/* Kernels and copies
 * ------------------------------------------------------------------------------- */

static struct gt_amd_thread *thread_of(struct gt_amd_log *l, uint64_t tid)
{
	struct gt_amd_thread *t = &l->thread[(tid * 0x9e3779b97f4a7c15ull >> 40) % GT_AMD_THREADS];

	if (t->tid != tid) {
		if (t->kernel_ts || t->copy_ts)
			gt_amd_log_settle(l, true); /* rare: two threads of one place */
		*t = (struct gt_amd_thread){ .tid = tid };
	}
	return t;
}

static uint64_t hash_of(const struct gt_amd_log *l, const char *p, size_t len)
{
	uint64_t h = l->queues.salt ^ len, w;

	for (; len; p += sizeof(w), len -= sizeof(w)) {
		w = 0;
		memcpy(&w, p, len < sizeof(w) ? len : sizeof(w));
		h = (h ^ w) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
		if (len < sizeof(w))
			break;
	}
	return h | 1;
}

/* Its number, which the host knows by its name. Names come again and again: the last ones are kept.
 */
static uint64_t kernel_of(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts,
			  uint32_t pid)
{
	struct gt_plugin *p = l->a->p;
	struct gt_kernel_desc d;
	struct gt_amd_name *n;
	uint64_t h;

	if (ts < l->since)
		return GT_NONE64;
	h = hash_of(l, m->name, m->len);
	n = &l->name[h % GT_AMD_NAMES];
	if (n->hash == h)
		return n->id == GT_NONE32 ? GT_NONE64 : n->id;
	gt_kernel_init(&d);
	d.uid = l->uid;
	d.gpu = gpu_of(l, pid);
	d.name = m->name;
	d.len = m->len;
	*n = (struct gt_amd_name){ h, d.gpu == GT_NONE16 ? GT_NONE32 : p->host->kernel(p, &d) };
	return n->id == GT_NONE32 ? GT_NONE64 : n->id;
}

static void settle_kernel(struct gt_amd_log *l, struct gt_amd_thread *t)
{
	union gt_record r;

	if (!t->kernel_ts)
		return;
	gt_amd_log_event(l, GT_DISPATCH, t->kernel_ts, t->kernel_pid, NULL, &r);
	r.ev.ref = t->kernel;
	gt_amd_log_put(l, &r);
	l->n.dispatches++;
	t->kernel_ts = 0;
}

static void copy(struct gt_amd_log *l, uint64_t ts, uint32_t pid, uint64_t bytes)
{
	union gt_record r;

	gt_amd_log_event(l, GT_COPY, ts, pid, NULL, &r);
	r.ev.value = bytes;
	gt_amd_log_put(l, &r);
	l->n.copies++;
}

static void settle_copy(struct gt_amd_log *l, struct gt_amd_thread *t)
{
	if (t->copy_ts)
		copy(l, t->copy_ts, t->copy_pid, t->copy_bytes);
	t->copy_ts = 0;
}

void gt_amd_log_settle(struct gt_amd_log *l, bool all)
{
	for (unsigned int i = 0; i < GT_AMD_THREADS; i++) {
		if (all || !l->has_packets)
			settle_kernel(l, &l->thread[i]);
		settle_copy(l, &l->thread[i]);
	}
}

static void on_call(struct gt_amd_log *l, struct gt_amd_thread *t, const struct gt_amd_msg *m,
		    uint64_t ts, uint32_t pid)
{
	l->has_calls = true;
	settle_kernel(l, t);
	settle_copy(l, t);
	if (m->what != GT_AMD_CALL || !gt_amd_is_copy(m->name, m->len))
		return;
	t->copy_ts = ts;
	t->copy_pid = pid;
	t->copy_bytes = m->number;
}

/* A copy that was called for is this command; the size of any other is not told. */
static void on_command(struct gt_amd_log *l, struct gt_amd_thread *t, const struct gt_amd_msg *m,
		       uint64_t ts, uint32_t pid)
{
	l->has_commands = true;
	l->n.commands++;
	if (!gt_amd_is_copy(m->name, m->len))
		return;
	copy(l, ts, pid, t->copy_ts ? t->copy_bytes : GT_NONE64);
	t->copy_ts = 0;
}

static void on_abort(struct gt_amd_log *l, const struct gt_amd_msg *m, uint64_t ts, uint32_t pid)
{
	struct gt_amd_queue *q = m->hwq == GT_NONE64 ? NULL : gt_amd_queue(l, m->hwq, pid);
	union gt_record r;

	gt_amd_log_event(l, GT_ERROR, ts, pid, q, &r);
	r.ev.value = GT_ERR_FAULT;
	gt_amd_log_put(l, &r);
}

static void on_packet(struct gt_amd_log *l, struct gt_amd_thread *t, const struct gt_amd_msg *m,
		      uint64_t ts, uint32_t pid)
{
	bool named = m->what == GT_AMD_DISPATCH && t->kernel_ts;

	gt_amd_packet(l, m, ts, pid, named ? t->kernel : GT_NONE64);
	if (named)
		t->kernel_ts = 0;
}

static void on_message(struct gt_amd_log *l, const struct gt_amd_line *line,
		       const struct gt_amd_msg *m, uint64_t ts)
{
	struct gt_amd_thread *t = thread_of(l, line->tid);
	uint32_t pid = whose(l, line, ts);

	switch (m->what) {
	case GT_AMD_DISPATCH:
	case GT_AMD_BARRIER:
		on_packet(l, t, m, ts, pid);
		break;
	case GT_AMD_KERNEL:
		settle_kernel(l, t);
		t->kernel_ts = ts;
		t->kernel_pid = pid;
		t->kernel = kernel_of(l, m, ts, pid);
		break;
	case GT_AMD_SIGNAL:
	case GT_AMD_HANDLER:
		gt_amd_packet_signal(l, m, ts);
		break;
	case GT_AMD_COMMAND:
		on_command(l, t, m, ts, pid);
		break;
	case GT_AMD_CALL:
	case GT_AMD_RETURN:
		on_call(l, t, m, ts, pid);
		break;
	case GT_AMD_COPY:
		if (!l->has_calls && !l->has_commands)
			copy(l, ts, pid, m->number);
		break;
	case GT_AMD_ABORT:
		on_abort(l, m, ts, pid);
		break;
	default:
		gt_amd_queue_message(l, m, ts, pid);
	}
}

void gt_amd_log_line(struct gt_amd_log *l, const char *p, size_t len)
{
	struct gt_amd_line line;
	struct gt_amd_msg m;

	l->n.lines++;
	if (!gt_amd_line(p, len, &line)) {
		l->n.foreign++;
		return;
	}
	l->has_packets |= line.level >= 4;
	gt_amd_message(&line, &m);
	if (line.us != GT_NONE64 && line.us > UINT64_MAX / 1000) {
		l->n.damaged++;
		return;
	}
	if (line.us != GT_NONE64)
		l->now = line.us * 1000;
	if (m.what == GT_AMD_OTHER || m.what == GT_AMD_ASKED)
		l->n.other++;
	else if (m.what == GT_AMD_BAD || !l->now)
		l->n.damaged++;
	else
		on_message(l, &line, &m, l->now);
}

void gt_amd_log_end(struct gt_amd_log *l)
{
	gt_amd_log_settle(l, true);
	for (uint32_t i = 0; i < GT_AMD_QUEUES; i++)
		if (l->queue[i].hwq && l->count + 4 < GT_AMD_RECORDS)
			gt_amd_queue_delete(l, &l->queue[i], l->now, l->queue[i].pid);
}
