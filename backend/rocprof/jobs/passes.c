/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters by passes: a block of the hardware reads few at once, and rocprofv3 that is asked for
 * more in one job lets each kernel run again, by which some GPUs hang. What is computed from we do
 * not know which counters has a pass of its own.
 */
#include <errno.h>
#include <string.h>

#include "jobs.h"

/* How many a block reads at once, on every GPU; never more than 4 */
static const struct {
	const char *name;
	unsigned int most;
} blocks[] = {
	{ "SQ", 4 },   { "SQC", 4 },  { "TA", 2 },   { "TD", 2 },   { "TCP", 4 },  { "TCC", 4 },
	{ "TCA", 4 },  { "CPC", 2 },  { "CPF", 2 },  { "SPI", 2 },  { "GRBM", 2 }, { "GDS", 4 },
	{ "GL1A", 4 }, { "GL1C", 4 }, { "GL2A", 4 }, { "GL2C", 4 }, { "GCEA", 2 },
};
#define BLOCKS (sizeof(blocks) / sizeof(blocks[0]))

/* "TCC_HIT_sum" is of TCC; BLOCKS: of none that is known */
static size_t block_of(const char *counter)
{
	size_t n = strcspn(counter, "_"), i;

	for (i = 0; i < BLOCKS; i++)
		if (counter[n] && strlen(blocks[i].name) == n &&
		    !memcmp(blocks[i].name, counter, n))
			break;
	return i;
}

/* Is there room for one more of @block in @pass? */
static bool fits(const struct rp_passes *p, unsigned int pass, size_t block)
{
	unsigned int used = 0;

	for (unsigned int i = 0; i < p->n; i++) {
		size_t other = p->pass[i] == pass ? block_of(p->name[i]) : BLOCKS + 1;

		if (other == BLOCKS)
			return false;
		used += other == block;
	}
	return used < blocks[block].most;
}

static unsigned int pass_for(const struct rp_passes *p, const char *counter)
{
	size_t block = block_of(counter);
	unsigned int pass = 0;

	if (block == BLOCKS)
		return p->passes;
	while (pass < p->passes && !fits(p, pass, block))
		pass++;
	return pass;
}

int rp_passes(struct rp_passes *p, const char *list)
{
	char *rest = p->text, *name;

	p->n = p->passes = 0;
	if (strlen(list) >= sizeof(p->text))
		return -E2BIG;
	strcpy(p->text, list);
	while (*list && (name = rp_list_next(&rest))) {
		unsigned int pass;

		if (p->n == RP_JOB_COUNTERS_MAX)
			return -E2BIG;
		pass = pass_for(p, name);
		p->name[p->n] = name;
		p->pass[p->n++] = pass;
		if (pass == p->passes)
			p->passes++;
	}
	return 0;
}
