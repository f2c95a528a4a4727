/* SPDX-License-Identifier: GPL-2.0 */
/* What the program could not count of a job in flight, as its ring was taken, the daemon counts. */
#include <stdlib.h>

#include "../../backend/bpf/tracepoint/count.h"
#include "../lib/tap.h"

#define RING 3
#define PAIR 5

static struct gt_plugin p;
static struct gb b = { .p = &p };
static struct tp_count c;
static struct tp_state t = { .b = &b, .count = &c };

static struct gt_k_job *job(unsigned int i, uint32_t owed, uint8_t flags)
{
	c.job_keys[i / GT_K_WAYS].key[i % GT_K_WAYS] = gt_k_key(i * 64 + 64);
	c.jobs[i] = (struct gt_k_job){ .ring = RING,
				       .pair = flags & GT_K_ENTERED ? PAIR : GT_NONE32,
				       .pid = 7,
				       .start = 100,
				       .seen = 50,
				       .submit = 50,
				       .commit = 60,
				       .owed = owed,
				       .flags = flags };
	return &c.jobs[i];
}

int main(void)
{
	struct gt_k_bank *bank;
	struct gt_k_pair *pair;
	struct gt_k_job *j;

	c.ctl = calloc(1, sizeof(*c.ctl));
	c.job_keys = calloc(GT_K_JOBS / GT_K_WAYS, sizeof(*c.job_keys));
	c.jobs = calloc(GT_K_JOBS, sizeof(*c.jobs));
	c.rings = calloc(GT_K_RINGS, sizeof(*c.rings));
	c.pair_keys = calloc(GT_K_PAIRS / GT_K_WAYS, sizeof(*c.pair_keys));
	c.pairs = calloc(GT_K_PAIRS, sizeof(*c.pairs));
	if (!c.ctl || !c.job_keys || !c.jobs || !c.rings || !c.pair_keys || !c.pairs)
		return 1;
	bank = &c.rings[RING].bank[0];
	pair = &c.pairs[PAIR];

	j = job(0, 0, GT_K_ENTERED);
	tc_flying(&t, 1000);
	is(bank->seen[GT_SUBMIT] + bank->seen[GT_COMMIT], 0, "nothing is owed, nothing is counted");
	j = job(0, GT_K_COMMIT, GT_K_ENTERED);
	tc_flying(&t, 1000);
	is(bank->seen[GT_COMMIT], 1, "a hand-over that is owed is counted");
	is(pair->bank[0].committed, 1, "... for its process, too");
	is(j->owed, 0, "... and owed no more");
	tc_flying(&t, 1000);
	is(bank->seen[GT_COMMIT], 1, "... nor counted again");

	j = job(0, 3 * GT_K_MORE(GT_SUBMIT) + 2 * GT_K_MORE(GT_COMMIT), GT_K_ENTERED);
	tc_flying(&t, 1000);
	is(bank->seen[GT_SUBMIT], 3, "submissions that were seen again");
	is(bank->seen[GT_COMMIT], 3, "... and hand-overs");
	is(pair->bank[0].committed, 1, "... which are not the process's");

	j = job(1, GT_K_SUBMIT, 0);
	tc_flying(&t, 1000);
	is(j->owed, GT_K_SUBMIT, "a first event whose pair nobody has made waits");
	c.pair_keys[PAIR / GT_K_WAYS].key[PAIR % GT_K_WAYS] = gt_k_key(2);
	pair->ring = RING;
	pair->pid = 7;
	pair->start = 100;
	tc_flying(&t, 1000);
	is(j->owed, 0, "... until there is one");
	is(bank->seen[GT_SUBMIT], 4, "... and is counted then");
	is(pair->jobs, 1, "... as a job of the pair");
	is(j->pair, PAIR, "... which the job remembers");
	is(c.rings[RING].depth, 1, "... and of the ring");

	j = job(2, GT_K_COMMIT, GT_K_ENTERED);
	c.rings[RING].lock = 1;
	tc_flying(&t, 1000);
	is(j->owed, GT_K_COMMIT, "while the ring is taken it is owed");
	c.rings[RING].lock = 0;
	c.job_keys[0].key[2] = GT_K_BUSY;
	tc_flying(&t, 1000);
	is(j->owed, GT_K_COMMIT, "... and while the job ends");
	is(c.rings[RING].lock, 0, "the ring is left free");
	free(c.ctl);
	free(c.job_keys);
	free(c.jobs);
	free(c.rings);
	free(c.pair_keys);
	free(c.pairs);
	return done_testing();
}
