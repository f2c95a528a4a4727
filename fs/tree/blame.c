/* SPDX-License-Identifier: GPL-2.0 */
/*
 * blame: who waited, where, and for whom. A row for each process on each ring and each that held
 * the ring meanwhile; the rows of a waiter add up to what its jobs waited in the last seconds.
 * While a dependency keeps a job it does not wait for its ring, but for whoever has the other job.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gather.h"

#define WAITERS 100
#define OWNERS	8 /* of jobs that a waiter's depend on, that are counted apart */

/** struct owner - of those; @pid and @uid GT_NONE32: not known; @ts: when */
struct owner {
	uint32_t pid, uid;
	uint64_t ts, ns, jobs;
};

/**
 * struct waiter - one process on one ring; @waited of the party tells how long
 * @lanes: of its ring, once @shared
 * @owner: @owners of them; @others: those beyond
 */
struct waiter {
	uint32_t party;
	bool shared;
	struct gt_held_lanes lanes;
	unsigned int owners;
	struct owner owner[OWNERS], others;
};

/**
 * struct blame - those that waited longest, in that order
 * @left: more that the caller may be shown
 */
struct blame {
	struct gt_gathered g;
	unsigned int n;
	uint32_t left;
	struct waiter w[WAITERS];
	struct gt_held_waiter share[WAITERS];
};

static void blame_done(struct blame **b)
{
	if (*b)
		gt_gathered_done(&(*b)->g);
	free(*b);
}

static enum gt_see see(const struct gt_show *s, const struct gt_gathered_party *p)
{
	return gt_see(&s->view, p->pid, p->uid, p->ts);
}

/* Who waits --------------------------------------------------------------------------------- */

/** struct only - the process whose waits are asked for; @pid GT_NONE32: everybody's */
struct only {
	uint32_t pid;
	uint64_t met;
};

static int find_only(const struct gt_show *s, struct only *o)
{
	const struct gt_proc *p;
	int err;

	*o = (struct only){ .pid = GT_NONE32 };
	if (s->obj.kind != GT_DIR_PROC)
		return 0;
	GT_MODEL_LOCK(s->app->model);
	p = gt_obj_known_proc(s, &err);
	if (!p)
		return err;
	*o = (struct only){ p->pid, p->first_ts };
	return 0;
}

static bool wanted(const struct gt_show *s, const struct only *o, const struct gt_gathered_party *p)
{
	if (!p->waited)
		return false;
	if (o->pid != GT_NONE32)
		return p->pid == o->pid && p->met == o->met && see(s, p) == GT_SEE_WHOLE;
	return see(s, p) != GT_SEE_NOT;
}

static void insert(struct blame *b, uint32_t party)
{
	const struct gt_gathered_party *all = b->g.party;
	unsigned int at = b->n;

	while (at && all[party].waited > all[b->w[at - 1].party].waited)
		at--;
	b->left += b->n == WAITERS;
	if (at == WAITERS)
		return;
	if (b->n < WAITERS)
		b->n++;
	for (unsigned int i = b->n - 1; i > at; i--)
		b->w[i].party = b->w[i - 1].party;
	b->w[at].party = party;
}

static void find_waiters(struct blame *b, const struct gt_show *s, const struct only *o)
{
	for (uint32_t i = 0; i < b->g.parties; i++)
		if (wanted(s, o, &b->g.party[i]))
			insert(b, i);
	for (unsigned int i = 0; i < b->n; i++)
		b->g.held[b->w[i].party].waiter = (uint8_t)(i + 1);
}

/* For whom ---------------------------------------------------------------------------------- */

/* All waiters of one ring at once */
static int share_out(struct blame *b, uint32_t ring)
{
	struct gt_held_lanes lanes;
	int err = gt_held_by(&b->g.ring[ring].held, b->g.held, b->share, &lanes);

	for (unsigned int i = 0; !err && i < b->n; i++) {
		if (b->g.party[b->w[i].party].ring != ring)
			continue;
		b->w[i].lanes = lanes;
		b->w[i].shared = true;
	}
	return err;
}

static int share_all(struct blame *b)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < b->n; i++)
		if (!b->w[i].shared)
			err = share_out(b, b->g.party[b->w[i].party].ring);
	return err;
}

static void add_owner(const struct gt_held_ring *r, const struct gt_held_job *j, struct waiter *w)
{
	uint64_t ns = gt_held_kept(r, j);
	struct owner *o = w->owner;

	if (!ns)
		return;
	while (o < w->owner + w->owners && (o->pid != j->kept_pid || o->uid != j->kept_uid))
		o++;
	if (o == w->owner + OWNERS) {
		o = &w->others;
	} else if (o == w->owner + w->owners) {
		*o = (struct owner){ .pid = j->kept_pid, .uid = j->kept_uid, .ts = j->kept_to };
		w->owners++;
	}
	o->ns += ns;
	o->jobs++;
}

static void find_owners(struct blame *b)
{
	for (uint32_t k = 0; k < b->g.rings; k++) {
		const struct gt_held_ring *r = &b->g.ring[k].held;

		for (uint32_t i = 0; i < r->n; i++) {
			uint8_t waiter = b->g.held[r->job[i].who].waiter;

			if (waiter)
				add_owner(r, &r->job[i], &b->w[waiter - 1]);
		}
	}
}

/* Rows -------------------------------------------------------------------------------------- */

#define ROWS (GT_HELD_KINDS + OWNERS + 3) /* of a waiter */

/**
 * struct row - @who: a party, or GT_NONE32: nobody, or several
 * @owner: the owner of a dependency's jobs, instead; NULL: the wait was for the ring
 * @reason: what the wait was for
 */
struct row {
	const char *by;
	uint32_t who;
	const struct owner *owner;
	uint64_t ns, jobs; /* jobs GT_NONE64: not told */
	const char *reason;
};

/* @i: of a waiter */
static struct row row_of(const struct blame *b, unsigned int i, unsigned int kind)
{
	const struct waiter *w = &b->w[i];
	struct row r = { "process", GT_NONE32, NULL, b->share[i].ns[kind], b->share[i].jobs[kind],
			 "ring" };

	if (kind == GT_HELD_OTHERS)
		r.by = "others";
	else if (kind == GT_HELD_IDLE)
		r.by = "idle";
	else if (kind == GT_HELD_UNKNOWN)
		r.by = "unknown";
	else
		r.who = w->lanes.who[kind];
	/* of whom no pid is known, it may be anybody */
	if (r.who == w->party && b->g.party[r.who].pid != GT_NONE32)
		r.by = "self";
	return r;
}

static struct row owner_row(const struct blame *b, const struct waiter *w, const struct owner *o)
{
	struct row r = { "process", GT_NONE32, o, o->ns, o->jobs, "dependency" };

	if (o == &w->others)
		r.by = "others";
	else if (o->pid == GT_NONE32)
		r.by = "unknown";
	else if (o->pid == b->g.party[w->party].pid)
		r.by = "self";
	return r;
}

static bool is_hidden(const struct blame *b, const struct gt_show *s, const struct row *r)
{
	if (strcmp(r->by, "process"))
		return false;
	if (r->owner)
		return gt_see(&s->view, r->owner->pid, r->owner->uid, r->owner->ts) != GT_SEE_WHOLE;
	return see(s, &b->g.party[r->who]) != GT_SEE_WHOLE;
}

/* Who may not be known become one row together for each reason, or none. */
static unsigned int take_rows(const struct blame *b, const struct gt_show *s, unsigned int i,
			      struct row rows[ROWS])
{
	/* one job may have waited for several of them: how many did is not told */
	struct row hidden = { "process", GT_NONE32, NULL, 0, GT_NONE64, "ring" };
	struct row kept = { "process", GT_NONE32, NULL, 0, GT_NONE64, "dependency" };
	const struct waiter *w = &b->w[i];
	unsigned int n = 0;

	for (unsigned int k = 0; k <= w->owners; k++) {
		struct row r = owner_row(b, w, k < w->owners ? &w->owner[k] : &w->others);

		if (!r.ns)
			continue;
		if (is_hidden(b, s, &r))
			kept.ns += r.ns;
		else
			rows[n++] = r;
	}
	for (unsigned int k = 0; k < GT_HELD_KEPT; k++) {
		struct row r = row_of(b, i, k);

		if (!r.ns)
			continue;
		if (is_hidden(b, s, &r))
			hidden.ns += r.ns;
		else
			rows[n++] = r;
	}
	if (hidden.ns && gt_view_blanks(&s->view))
		rows[n++] = hidden;
	if (kept.ns && gt_view_blanks(&s->view))
		rows[n++] = kept;
	return n;
}

/* Longest first, by a sort that needs no more than a few dozen rows */
static void sort(struct row *rows, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++) {
		struct row r = rows[i];
		unsigned int at = i;

		for (; at && r.ns > rows[at - 1].ns; at--)
			rows[at] = rows[at - 1];
		rows[at] = r;
	}
}

static void who_cells(struct gt_text *t, const struct gt_show *s, const struct gt_gathered_party *p)
{
	bool whole = p && see(s, p) == GT_SEE_WHOLE;

	gt_cell_u32(t, whole ? gt_view_pid(&s->view, p->pid, p->ts) : GT_NONE32);
	gt_cell_word(t, whole && p->comm[0] ? p->comm : NULL, 16);
}

static void owner_cells(struct gt_text *t, const struct gt_show *s, const struct owner *o)
{
	bool whole = o->pid != GT_NONE32 && gt_see(&s->view, o->pid, o->uid, o->ts) == GT_SEE_WHOLE;
	char comm[16] = "";

	if (whole) {
		GT_MODEL_LOCK(s->app->model);
		const struct gt_proc *p = gt_model_proc(s->app->model, o->pid);

		if (p && p->uid == o->uid)
			memcpy(comm, p->comm, sizeof(comm));
	}
	gt_cell_u32(t, whole ? gt_view_pid(&s->view, o->pid, o->ts) : GT_NONE32);
	gt_cell_word(t, comm[0] ? comm : NULL, sizeof(comm));
}

/* @i: of a waiter */
static void show_waiter(struct gt_text *t, const struct gt_show *s, const struct blame *b,
			unsigned int i)
{
	const struct gt_gathered_party *p = &b->g.party[b->w[i].party];
	const struct gt_gathered_ring *ring = &b->g.ring[p->ring];
	struct row rows[ROWS];
	unsigned int n = take_rows(b, s, i, rows);
	char gpu[16];
	{
		GT_MODEL_LOCK(s->app->model);
		memcpy(gpu, s->app->model->gpus[ring->gpu]->name, sizeof(gpu));
	}
	sort(rows, n);
	for (const struct row *r = rows; r < rows + n; r++) {
		who_cells(t, s, p);
		gt_cell_word(t, gpu, sizeof(gpu));
		gt_cell_ring(t, ring->ring);
		gt_cell(t, r->by);
		if (r->owner)
			owner_cells(t, s, r->owner);
		else
			who_cells(t, s, r->who == GT_NONE32 ? NULL : &b->g.party[r->who]);
		gt_cell_u64(t, r->ns);
		gt_cell_ratio(t, gt_percent(r->ns, p->waited), 1000);
		gt_cell_u64(t, r->jobs);
		gt_cell(t, r->reason);
		gt_text_ch(t, '\n');
	}
}

/* What the table is of, and what it leaves out */
static void foot(struct gt_text *t, const struct blame *b)
{
	gt_text_str(t, "# from ");
	gt_time(t, b->g.from);
	gt_text_str(t, " to ");
	gt_time(t, b->g.until > b->g.from ? b->g.until : b->g.from);
	gt_text_printf(t, ": %u finished jobs, %u in flight\n", b->g.finished, b->g.flying);
	if (b->g.overtaken)
		gt_text_printf(
			t, "# %u jobs in flight left out: later ones of their context have ended\n",
			b->g.overtaken);
	if (b->g.cut)
		gt_text_str(t, "# older jobs left out: too many for the history or this table\n");
	if (b->g.left)
		gt_text_printf(t, "# %llu jobs in flight left out\n",
			       (unsigned long long)b->g.left);
	if (b->left)
		gt_text_printf(t, "# %u waiters left out that waited less\n", b->left);
}

int gt_show_blame(struct gt_text *t, const struct gt_show *s)
{
	__attribute__((cleanup(blame_done))) struct blame *b = calloc(1, sizeof(*b));
	struct only only;
	int err;

	if (!b)
		return -ENOMEM;
	err = find_only(s, &only);
	if (!err)
		err = gt_gather(&b->g, s);
	if (err)
		return err;
	find_waiters(b, s, &only);
	err = share_all(b);
	if (err)
		return err;
	find_owners(b);
	gt_text_str(t, "# waiter_pid waiter_comm gpu ring held_by holder_pid holder_comm wait_ns "
		       "share_percent jobs reason\n");
	for (unsigned int i = 0; i < b->n && !t->failed; i++)
		show_waiter(t, s, b, i);
	foot(t, b);
	return 0;
}
