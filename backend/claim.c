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

static struct gt_claim *claim_of(struct gt_be *b, const char *what)
{
	for (int i = 0; i < GT_CLAIMS; i++)
		if (!strcmp(b->claim[i].what, what))
			return &b->claim[i];
	return NULL;
}

/* Who has @what instead of @self, which wants it at @rank? Of equals the first in order of name.
 * NULL: nobody */
static const struct gt_be *holder(const struct gt_be *self, const char *what, int rank)
{
	const struct gt_host_state *h = self->h;

	for (unsigned int i = 0; i < h->n; i++) {
		const struct gt_claim *c = h->be[i] == self ? NULL : claim_of(h->be[i], what);

		if (c && (c->rank > rank || (c->rank == rank && i < self->index)))
			return h->be[i];
	}
	return NULL;
}

static void look_again(struct gt_be *b)
{
	if (!b->h->level || b->h->quit || !gt_be_live(b))
		return;
	if (gt_be_ask(b, GT_CTL_RESCAN, 0) < 0 && b->told)
		gt_host_log(b->h, b, LOG_WARNING, "%s", b->info.last_error);
}

static void others_look(struct gt_be *b, const char *what)
{
	for (unsigned int i = 0; i < b->h->n; i++)
		if (b->h->be[i] != b && claim_of(b->h->be[i], what))
			look_again(b->h->be[i]);
}

static void drop(struct gt_be *b, struct gt_claim *c)
{
	struct gt_claim old = *c;

	*c = (struct gt_claim){ 0 };
	if (!holder(b, old.what, old.rank)) /* else it was not this one's */
		others_look(b, old.what);
}

void gt_claim_drop(struct gt_be *b)
{
	for (int i = 0; i < GT_CLAIMS; i++)
		if (b->claim[i].what[0])
			drop(b, &b->claim[i]);
}

const char *gt_claim_ask(struct gt_be *b, const char *what, int rank)
{
	struct gt_claim *c = claim_of(b, what);
	bool ours = c && !holder(b, what, c->rank);
	const struct gt_be *better;

	if (rank < 0) {
		if (c)
			drop(b, c);
		return NULL;
	}
	if (!c)
		c = claim_of(b, "");
	if (!c)
		return b->info.name;
	c->rank = rank;
	snprintf(c->what, sizeof(c->what), "%s", what);
	better = holder(b, what, rank);
	if (better && ours) /* at that rank not any more */
		others_look(b, what);
	if (better)
		return better->info.name;
	/* It is ours. Who had it stops before we begin. */
	if (!ours)
		others_look(b, what);
	return NULL;
}
