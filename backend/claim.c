/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What only one backend may tell of: see gt_host.claim. Two that see the same events would count
 * each twice; so the one that is best at it tells, and the others are asked to look again whenever
 * that changes.
 */
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "host_internal.h"

static bool same(const struct gt_be *a, const struct gt_be *b)
{
	return a != b && a->claim.what[0] && b->claim.what[0] &&
	       !strcmp(a->claim.what, b->claim.what);
}

/* Has @a what both want? Of equals the first in order of name. */
static bool beats(const struct gt_be *a, const struct gt_be *b)
{
	return a->claim.rank > b->claim.rank ||
	       (a->claim.rank == b->claim.rank && a->index < b->index);
}

/* Who has what @claim is about instead of it; @self's own does not count. NULL: nobody */
static const struct gt_be *holder(const struct gt_be *claim, const struct gt_be *self)
{
	const struct gt_host_state *h = self->h;

	for (unsigned int i = 0; i < h->n; i++)
		if (h->be[i] != self && same(h->be[i], claim) && beats(h->be[i], claim))
			return h->be[i];
	return NULL;
}

static void look_again(struct gt_be *b)
{
	if (!b->h->level || b->h->quit || !gt_be_live(b))
		return;
	if (gt_be_ask(b, GT_CTL_RESCAN, 0) < 0 && b->told)
		gt_host_log(b->h, b, LOG_WARNING, "%s", b->info.last_error);
}

void gt_claim_drop(struct gt_be *b)
{
	struct gt_be old = { .index = b->index, .claim = b->claim };

	b->claim = (struct gt_claim){ 0 };
	if (holder(&old, b))
		return; /* it was not this one's */
	for (unsigned int i = 0; i < b->h->n; i++)
		if (b->h->be[i] != b && same(b->h->be[i], &old))
			look_again(b->h->be[i]);
}

const char *gt_claim_ask(struct gt_be *b, const char *what, int rank)
{
	const struct gt_be *better;
	struct gt_claim was = b->claim;
	struct gt_host_state *h = b->h;

	if (rank < 0) {
		gt_claim_drop(b);
		return NULL;
	}
	b->claim.rank = rank;
	snprintf(b->claim.what, sizeof(b->claim.what), "%s", what);
	better = holder(b, b);
	if (better)
		return better->info.name;
	/* It is ours. Who had it stops before we begin. */
	for (unsigned int i = 0; !was.what[0] && i < h->n; i++)
		if (same(h->be[i], b))
			look_again(h->be[i]);
	return NULL;
}
