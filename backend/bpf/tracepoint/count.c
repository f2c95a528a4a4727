/* SPDX-License-Identifier: GPL-2.0 */
/* Which tracepoints' jobs the program counts, and the maps that it counts into. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "count.h"
#include "bpf/tracepoint.skel.h"

#define LOCK_TRIES 20000 /* some 100 us: whoever holds it has been taken off its CPU */

static_assert((int)GT_K_INT == GT_PIECE_INT && (int)GT_K_DYN == GT_PIECE_DYN &&
		      (int)GT_K_REL == GT_PIECE_REL && (int)GT_K_CHARS == GT_PIECE_CHARS,
	      "kinds of pieces");
static_assert(GT_K_BY_FENCE == GT_KEY_FENCE && GT_K_BY_CTX == GT_KEY_CTX &&
		      GT_K_BY_SEQNO == GT_KEY_SEQNO && GT_K_BY_RING == GT_KEY_RING &&
		      (int)GT_K_PIECES == GT_TP_PIECES,
	      "keys");
static_assert((int)GT_K_LEFT >= (int)GT_NREFUSALS, "every reason has a counter");
static_assert(sizeof(struct gt_k_job) == 128 && sizeof(struct gt_k_line) == 64, "cache lines");

bool tc_lock(struct gt_k_ring *r)
{
	for (unsigned int i = 0; i < LOCK_TRIES; i++) {
		if (!__atomic_load_n(&r->lock, __ATOMIC_RELAXED) &&
		    __sync_bool_compare_and_swap(&r->lock, 0, GT_K_DAEMON))
			return true;
	}
	return false;
}

void tc_unlock(struct gt_k_ring *r)
{
	__atomic_store_n(&r->lock, 0, __ATOMIC_RELEASE);
}

bool tc_free(const struct gt_k_ring *r)
{
	for (unsigned int i = 0; i < LOCK_TRIES; i++)
		if (!__atomic_load_n(&r->lock, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

static void *map(struct tp_count *c, unsigned int i, const struct bpf_map *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = (bpf_map__value_size(m) + 7ul) / 8 * 8 * bpf_map__max_entries(m);
	void *p;

	len = (len + page - 1) / page * page;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(m), 0);
	if (p == MAP_FAILED)
		return NULL;
	c->map[i].p = p;
	c->map[i].len = len;
	return p;
}

static bool map_all(struct tp_count *c, const struct tracepoint_bpf *skel)
{
	c->ctl = map(c, 0, skel->maps.k_ctl);
	c->ring_keys = map(c, 1, skel->maps.k_ring_keys);
	c->rings = map(c, 2, skel->maps.k_rings);
	c->pair_keys = map(c, 3, skel->maps.k_pair_keys);
	c->pairs = map(c, 4, skel->maps.k_pairs);
	c->job_keys = map(c, 5, skel->maps.k_job_keys);
	c->jobs = map(c, 6, skel->maps.k_jobs);
	c->octs = map(c, 7, skel->maps.k_octs);
	c->wanted = map(c, 8, skel->maps.k_wanted);
	c->bucket = calloc((size_t)GT_K_OCTS * GT_HIST_SUB, sizeof(*c->bucket));
	return c->ctl && c->ring_keys && c->rings && c->pair_keys && c->pairs && c->job_keys &&
	       c->jobs && c->octs && c->wanted && c->bucket;
}

int tc_start(struct tp_state *t)
{
	struct tp_count *c = calloc(1, sizeof(*c));
	uint64_t seed = 0;

	if (!c)
		return -ENOMEM;
	t->count = c;
	if (t->b->o->match && !strcmp(t->b->o->match, "daemon"))
		c->off = "the setting match is daemon";
	else if (gt_tasks_foreign(t->tasks))
		c->off = "not in the first PID namespace, whose pids the kernel tells";
	else if (!map_all(c, t->skel))
		c->off = "no memory to map what is counted";
	if (c->off)
		return 0;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = t->b->p->host->now(t->b->p);
	c->ctl->seed = seed | 1;
	tc_wanted(t);
	tc_thin(t);
	return 0;
}

static void end_all(struct tp_state *t)
{
	struct tp_count *c = t->count;

	for (unsigned int i = 0; i < GT_K_JOBS; i++)
		c->job_keys[i / GT_K_WAYS].key[i % GT_K_WAYS] = GT_K_FREE;
	for (unsigned int i = 0; i < GT_K_PAIRS; i++)
		c->pairs[i].inflight = c->pairs[i].jobs = 0;
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		c->rings[i].depth = c->rings[i].hw[0] = c->rings[i].hw[1] = 0;
	tc_fold(t, t->b->p->host->now(t->b->p), false);
}

/* No program runs any more. What is in flight is known to nobody then. */
void tc_stop(struct tp_state *t)
{
	struct tp_count *c = t->count;

	if (!c)
		return;
	if (!c->off) {
		tc_fold(t, t->b->p->host->now(t->b->p), false);
		end_all(t);
		t->b->p->host->counting(t->b->p, false);
	}
	t->b->due = 0;
	for (unsigned int i = 0; i < sizeof(c->map) / sizeof(c->map[0]); i++)
		if (c->map[i].p)
			munmap(c->map[i].p, c->map[i].len);
	free(c->bucket);
	free(c);
	t->count = NULL;
}

static struct gt_k_piece piece(const struct gt_tp_piece *p)
{
	return (struct gt_k_piece){ .off = p->off, .size = p->size, .kind = p->kind };
}

static bool within(const struct gt_k_piece *p)
{
	return !p->size || p->off + p->size <= GT_BPF_RAW_MAX;
}

/* Of a wait: the key of the job that it is for */
static bool describe_wait(const struct tp_slot *s, struct gt_k_tp *out)
{
	struct gt_tp_where w;
	struct gt_tp_job j;

	*out = (struct gt_k_tp){ 0 };
	if (!s->how || !gt_tp_wait(s->tp, &j) ||
	    (gt_tp_where(s->tp, &w) && s->conf.test == GT_BPF_ANY))
		return false;
	out->key = j.key;
	out->ctx = piece(&j.ctx);
	out->seqno = piece(&j.seqno);
	if (!within(&out->ctx) || !within(&out->seqno))
		return false;
	out->roles = GT_K_WAIT;
	return true;
}

#define MAPS 512 /* files: no more than sections */

/* What is known of a map's jobs; @spoilt: they cannot be counted here; @submits: they are submitted
 */
struct of_map {
	bool spoilt, submits;
};

/* How the events of @s are counted, as far as they can be */
static bool describe(const struct tp_slot *s, struct gt_k_tp *out, const struct of_map map[MAPS])
{
	struct gt_tp_where w;
	struct gt_tp_job j;
	bool good;

	*out = (struct gt_k_tp){ 0 };
	if (!s->how || !gt_tp_job(s->tp, &j) || j.map >= MAPS || map[j.map].spoilt)
		return false;
	/* the condition is the program's matter then */
	if (gt_tp_where(s->tp, &w) && s->conf.test == GT_BPF_ANY)
		return false;
	out->begins = j.begins;
	out->known = j.known;
	out->vague = j.vague;
	out->submits = map[j.map].submits;
	out->key = j.key;
	out->ring = j.npiece || j.types != 1u << GT_COMPLETE;
	out->n = (uint8_t)j.npiece;
	out->seed = j.seed;
	out->ctx = piece(&j.ctx);
	out->seqno = piece(&j.seqno);
	out->fence = piece(&j.fence);
	good = within(&out->ctx) && within(&out->seqno) && within(&out->fence);
	for (unsigned int i = 0; i < j.npiece; i++) {
		out->piece[i] = piece(&j.piece[i]);
		good &= within(&out->piece[i]);
	}
	out->roles = (j.types >> GT_SUBMIT & 1 ? GT_K_SUBMIT : 0) |
		     (j.types >> GT_COMMIT & 1 ? GT_K_COMMIT : 0) |
		     (j.types >> GT_COMPLETE & 1 ? GT_K_COMPLETE : 0);
	return good;
}

/* Jobs whose end, say, cannot be counted here are not begun here either. */
static void look_at_maps(const struct tp_state *t, struct of_map map[MAPS])
{
	struct gt_k_tp conf;
	struct gt_tp_job j;

	for (uint32_t i = 0; i < t->n; i++) {
		if (!t->slot[i].wanted || !gt_tp_job(t->slot[i].tp, &j) || j.map >= MAPS)
			continue;
		map[j.map].submits |= j.types >> GT_SUBMIT & 1;
		map[j.map].spoilt |= !describe(&t->slot[i], &conf, map);
	}
}

void tc_select(struct tp_state *t)
{
	struct of_map map[MAPS] = { 0 };
	struct tp_count *c = t->count;
	struct gt_k_tp conf;

	if (!c || c->off)
		return;
	c->sections = 0;
	look_at_maps(t, map);
	for (uint32_t i = 0; i < t->n; i++) {
		bool counts = describe(&t->slot[i], &conf, map);

		if (!counts && !describe_wait(&t->slot[i], &conf))
			conf = (struct gt_k_tp){ 0 };
		if (!bpf_map__update_elem(t->skel->maps.k_tps, &i, sizeof(i), &conf, sizeof(conf),
					  0))
			c->sections += counts;
	}
	/* who a ring is may have changed with what there is */
	for (unsigned int i = 0; i < GT_K_RINGS; i++) {
		c->ring[i].known = false;
		c->rings[i].refused = 0;
		if (tc_ring_used(c, i))
			tc_place(t, i);
	}
	__atomic_store_n(&c->ctl->on, c->sections > 0, __ATOMIC_SEQ_CST);
}

/* As fs/model's lost_on_ring(): what occupies the hardware is not known any more */
static void lose(struct gt_k_ring *r)
{
	bool locked = tc_lock(r);

	__atomic_store_n(&r->after_loss, 1, __ATOMIC_RELAXED);
	if (!locked)
		return;
	r->hw[0] = r->hw[1] = 0;
	r->epoch++;
	tc_unlock(r);
}

void tc_lost(struct tp_state *t)
{
	struct tp_count *c = t->count;

	if (!c || c->off)
		return;
	for (unsigned int i = 0; i < GT_K_RINGS; i++)
		if (tc_ring_used(c, i))
			lose(&c->rings[i]);
}

void tc_look(struct tp_state *t)
{
	struct tp_count *c = t->count;

	if (!c || c->off)
		return;
	tc_wanted(t);
	if (t->b->resumed)
		tc_lost(t);
}

void tc_doctor(const struct tp_state *t, struct gt_details *out)
{
	const struct tp_count *c = t->count;

	if (!c)
		return;
	if (c->off) {
		gt_detail(out, "counted_in daemon: %s\n", c->off);
		return;
	}
	gt_detail(out, "counted_in %s\n", c->sections ? "kernel" : "daemon: no map's jobs can be");
	gt_detail(out, "counted_tracepoints %u\n", c->sections);
	gt_detail(out, "count_folds %" PRIu64 "\n", c->folds);
	gt_detail(out, "count_fold_ns %" PRIu64 "\n", c->folds ? c->fold_ns / c->folds : 0);
	gt_detail(out, "count_no_ring %" PRIu64 "\n", c->ctl->no_ring);
	gt_detail(out, "count_no_job %" PRIu64 "\n", c->ctl->no_job);
	gt_detail(out, "count_no_pair %" PRIu64 "\n", c->ctl->no_pair);
	gt_detail(out, "count_singly %" PRIu64 "\n", c->tales);
	gt_detail(out, "count_later %" PRIu64 "\n", c->ctl->owed);
	gt_detail(out, "record_share %u/1024\n", c->ctl->share);
	gt_detail(out, "records_thinned %" PRIu64 "\n", c->left[GT_R_RATE]);
	gt_detail(out, "count_unplaced %" PRIu64 "\n", c->unplaced);
	tc_left_doctor(c, out);
}
