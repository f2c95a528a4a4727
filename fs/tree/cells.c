/* SPDX-License-Identifier: GPL-2.0 */
/* Cells of tables, and names copied from the model. */
#include <stdlib.h>
#include <string.h>

#include "../../backend/ioctls.h"
#include "lines.h"

/* Rings or processes that are copied under one lock: some microseconds. */
#define COPY_AT_ONCE 64

static void gap(struct gt_text *t)
{
	if (t->len && t->buf[t->len - 1] != '\n')
		gt_text_ch(t, ' ');
}

void gt_cell(struct gt_text *t, const char *s)
{
	gap(t);
	gt_text_str(t, s ? s : "-");
}

void gt_cell_word(struct gt_text *t, const char *s, size_t max)
{
	gap(t);
	if (s)
		gt_text_word(t, s, max);
	else
		gt_text_dash(t);
}

void gt_cell_u64(struct gt_text *t, uint64_t v)
{
	gap(t);
	if (v == GT_NONE64)
		gt_text_dash(t);
	else
		gt_text_u64(t, v);
}

void gt_known_kv(struct gt_text *t, const char *key, uint64_t v)
{
	if (v != GT_NONE64)
		gt_text_kv(t, key, v);
}

void gt_known_gkv(struct gt_text *t, const char *key, uint64_t v)
{
	if (v != GT_NONE64)
		gt_text_gkv(t, key, v);
}

void gt_cell_u32(struct gt_text *t, uint32_t v)
{
	gt_cell_u64(t, v == GT_NONE32 ? GT_NONE64 : v);
}

void gt_cell_ring(struct gt_text *t, uint16_t ring)
{
	if (ring == GT_NONE16) {
		gt_cell(t, NULL);
		return;
	}
	gt_cell(t, "ring");
	gt_text_u64(t, ring);
}

void gt_cell_ratio(struct gt_text *t, uint64_t n, uint64_t d)
{
	gap(t);
	if (d)
		gt_text_milli(t, (uint64_t)((unsigned __int128)n * 1000 / d), 2);
	else
		gt_text_dash(t);
}

void gt_time(struct gt_text *t, uint64_t ts)
{
	char nsec[10] = ".";
	uint64_t rest = ts % GT_SEC;

	for (int i = 9; i > 0; i--, rest /= 10)
		nsec[i] = (char)('0' + rest % 10);
	gt_text_u64(t, ts / GT_SEC);
	gt_text_mem(t, nsec, sizeof(nsec));
}

void gt_cell_time(struct gt_text *t, uint64_t ts)
{
	gap(t);
	if (ts == GT_NONE64)
		gt_text_dash(t);
	else
		gt_time(t, ts);
}

void gt_pad(struct gt_text *t, size_t from, size_t width)
{
	while (!t->failed && t->len - from < width)
		gt_text_ch(t, ' ');
}

uint64_t gt_percent(uint64_t ns, uint64_t window)
{
	if (!window)
		return 0;
	if (ns > window)
		ns = window;
	return (uint64_t)((unsigned __int128)ns * 100000 / window);
}

struct gt_ring *gt_ring_next(const struct gt_show *s, struct gt_ring_pos *p)
{
	const struct gt_model *m = s->app->model;
	bool one = s->obj.kind != GT_DIR_ROOT;
	unsigned int end = one ? s->obj.gpu + 1U : m->ngpus;

	if (one && p->gpu < s->obj.gpu)
		p->gpu = s->obj.gpu;
	for (; p->gpu < end && p->gpu < m->ngpus; p->gpu++, p->ring = 0)
		if (!m->gpus[p->gpu]->gone && p->ring < m->gpus[p->gpu]->nrings)
			return m->gpus[p->gpu]->rings[p->ring++];
	return NULL;
}

/* Rings are never fewer than they were: room is made for those of now, more are left out. */
static int take_rings(struct gt_model *m, struct gt_names *n, unsigned int gpu)
{
	struct gt_name_ring *to;
	unsigned int nrings, at = 0;

	{
		GT_MODEL_LOCK(m);
		nrings = m->gpus[gpu]->nrings;
		memcpy(n->gpu[gpu].name, m->gpus[gpu]->name, sizeof(n->gpu[gpu].name));
		memcpy(n->gpu[gpu].driver, m->gpus[gpu]->driver, sizeof(n->gpu[gpu].driver));
	}
	to = calloc(nrings ? nrings : 1, sizeof(*to));
	if (!to)
		return -1;
	n->gpu[gpu].ring = to;
	n->gpu[gpu].nrings = nrings;
	while (at < nrings) {
		GT_MODEL_LOCK(m);
		for (unsigned int i = 0; i < COPY_AT_ONCE && at < nrings; i++, at++) {
			const struct gt_ring *r = m->gpus[gpu]->rings[at];

			memcpy(to[at].name, r->name, sizeof(to[at].name));
			to[at].engine = r->engine;
		}
	}
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct gt_name_proc *p = a, *q = b;

	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	return (int)p->dead - (int)q->dead;
}

static int take_procs(struct gt_model *m, struct gt_names *n)
{
	unsigned int slots, at = 0, room;
	size_t kept = 0;

	{
		GT_MODEL_LOCK(m);
		slots = m->proc_slots;
	}
	room = slots;
	n->proc = calloc(room ? room : 1, sizeof(*n->proc));
	if (!n->proc)
		return -1;
	while (at < slots) {
		GT_MODEL_LOCK(m);
		if (slots > m->proc_slots)
			slots = m->proc_slots;
		for (unsigned int i = 0; i < COPY_AT_ONCE && at < slots; i++, at++) {
			const struct gt_proc *p = m->procs[at];
			struct gt_name_proc *to = &n->proc[n->nprocs];

			if (!p)
				continue;
			to->uid = p->uid;
			to->first_ts = p->first_ts;
			to->pid = p->pid;
			to->dead = p->dead;
			memcpy(to->comm, p->comm, sizeof(to->comm));
			n->nprocs++;
		}
	}
	qsort(n->proc, n->nprocs, sizeof(*n->proc), by_pid);
	for (size_t i = 0; i < n->nprocs; i++)
		if (!kept || n->proc[kept - 1].pid != n->proc[i].pid)
			n->proc[kept++] = n->proc[i];
	n->nprocs = kept;
	return 0;
}

static int take_kernels(struct gt_model *m, struct gt_names *n)
{
	unsigned int room;
	{
		GT_MODEL_LOCK(m);
		room = m->nkernels;
	}
	n->kernel = calloc(room ? room : 1, sizeof(*n->kernel));
	if (!n->kernel)
		return -1;
	while (n->nkernels < room) {
		unsigned int end = room - n->nkernels > 64 ? n->nkernels + 64 : room;
		GT_MODEL_LOCK(m);

		for (; n->nkernels < end; n->nkernels++)
			memcpy(n->kernel[n->nkernels], m->kernels[n->nkernels]->dir,
			       sizeof(*n->kernel));
	}
	return 0;
}

static int take_functions(struct gt_model *m, struct gt_names *n)
{
	unsigned int room;

	{
		GT_MODEL_LOCK(m);
		room = m->nfunctions;
	}
	n->function = calloc(room ? room : 1, sizeof(*n->function));
	if (!n->function)
		return -1;
	while (n->nfunctions < room) {
		unsigned int some = room - n->nfunctions;
		GT_MODEL_LOCK(m);

		if (some > COPY_AT_ONCE)
			some = COPY_AT_ONCE;
		memcpy(n->function[n->nfunctions], m->functions[n->nfunctions],
		       some * sizeof(*n->function));
		n->nfunctions += some;
	}
	return 0;
}

struct gt_names *gt_names_take(struct gt_model *m)
{
	struct gt_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	{
		GT_MODEL_LOCK(m);
		n->ngpus = m->ngpus;
		memcpy(n->custom, m->custom, sizeof(n->custom));
	}
	for (unsigned int i = 0; i < n->ngpus; i++)
		if (take_rings(m, n, i))
			goto fail;
	if (take_procs(m, n) || take_functions(m, n) || take_kernels(m, n))
		goto fail;
	return n;
fail:
	gt_names_free(n);
	return NULL;
}

void gt_names_free(struct gt_names *n)
{
	if (!n)
		return;
	for (unsigned int i = 0; i < n->ngpus; i++)
		free(n->gpu[i].ring);
	free(n->proc);
	free(n->function);
	free(n->kernel);
	free(n);
}

const char *gt_names_gpu(const struct gt_names *n, uint16_t gpu)
{
	return gpu < n->ngpus ? n->gpu[gpu].name : NULL;
}

const struct gt_name_ring *gt_names_ring(const struct gt_names *n, uint16_t gpu, uint16_t ring)
{
	if (gpu >= n->ngpus || ring >= n->gpu[gpu].nrings)
		return NULL;
	return &n->gpu[gpu].ring[ring];
}

const char *gt_names_value(const struct gt_names *n, const struct gt_event *e)
{
	if (e->type == GT_FUNCTION && e->value < n->nfunctions)
		return n->function[e->value];
	if (e->type == GT_DISPATCH && !(e->flags & GT_F_LATE) && e->ref < n->nkernels)
		return n->kernel[e->ref];
	if (e->type == GT_IOCTL_ENTER)
		return gt_ioctl_name(e->gpu < n->ngpus ? n->gpu[e->gpu].driver : NULL, e->value);
	return NULL;
}

const char *gt_names_comm(const struct gt_names *n, const struct gt_event *e)
{
	const struct gt_name_proc *p;
	size_t lo = 0, hi = n->nprocs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (n->proc[mid].pid < e->pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	p = lo < n->nprocs ? &n->proc[lo] : NULL;
	/* who has the pid now may be another than who had it then */
	return p && p->pid == e->pid && gt_was(p->uid, p->first_ts, e) ? p->comm : NULL;
}
