/* SPDX-License-Identifier: GPL-2.0 */
/* Exclusive claims: which backend has one, and which others are asked to look again, and when. */
#include <stdio.h>
#include <string.h>

#include "../../backend/host/internal.h"
#include "../lib/tap.h"

static struct gt_host_state h = { .level = 2, .n = 3 };
static struct gt_be be[3];
static unsigned int asked[3];
static const char *holder[3];

/* A plugin that is asked to look again asks for its claim again. */
static int control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	struct gt_be *b = (struct gt_be *)(void *)p;

	if (what != GT_CTL_RESCAN)
		return 0;
	asked[b->index]++;
	holder[b->index] = gt_claim_ask(b, "things", (int)b->index);
	return 0;
}

static const struct gt_backend vtable = { .size = sizeof(vtable), .control = control };

static void set_up(void)
{
	static const char *const names[] = { "low", "middle", "high" };

	pthread_mutex_init(&h.lock, NULL);
	for (unsigned int i = 0; i < 3; i++) {
		be[i] = (struct gt_be){ .h = &h, .index = i, .be = &vtable };
		be[i].started = true;
		snprintf(be[i].info.name, sizeof(be[i].info.name), "%s", names[i]);
		h.be[i] = &be[i];
	}
}

static void ask(unsigned int i)
{
	holder[i] = gt_claim_ask(&be[i], "things", (int)i);
}

static bool has(unsigned int i)
{
	return !holder[i];
}

static void forget(void)
{
	memset(asked, 0, sizeof(asked));
}

static void better_ones(void)
{
	ask(0);
	ok(has(0), "the only one has it");
	ask(1);
	ok(has(1), "a better one has it");
	ok(asked[0] == 1 && !has(0), "the other was asked to look again, and lost it");
	is_str(holder[0], "middle", "which name it gets");
	forget();
	ask(0);
	ok(!has(0) && !asked[1], "asking again changes nothing");
	ask(2);
	ok(has(2) && asked[0] == 1 && asked[1] == 1, "the best one: both others looked again");
	is_str(holder[1], "high", "and know who it is");
}

static void lowered(void)
{
	forget();
	holder[2] = gt_claim_ask(&be[2], "things", 0);
	ok(!has(2) && has(1), "one that has it asks for less: the next has it");
	ok(asked[1] == 1, "and was asked to look again");
	forget();
	holder[2] = gt_claim_ask(&be[2], "things", 0);
	ok(!asked[0] && !asked[1], "asked again at the same rank, no other is asked");
	ask(2);
	ok(has(2) && !has(1), "for more: it is back, and the other knows");
}

static void leaving(void)
{
	forget();
	gt_claim_drop(&be[1]);
	ok(!asked[0] && !asked[2], "one that had it not goes: nobody is asked");
	ask(1);
	gt_claim_drop(&be[2]);
	ok(has(1) && asked[1] == 1, "the best goes: the next has it");
	ok(asked[0] == 1 && !has(0), "and the last knows");
	forget();
	gt_claim_ask(&be[1], "things", -1);
	ok(has(0) && asked[0] == 1, "given up: the last has it");
	forget();
	be[0].started = false;
	ask(1);
	gt_claim_drop(&be[1]);
	is(asked[0], 0, "one that does not run is not asked");
}

static void apart(void)
{
	be[0].started = true;
	forget();
	gt_claim_ask(&be[1], "others", 9);
	ask(0);
	ok(has(0), "what others claim is another matter");
	ask(1);
	ok(has(1) && !has(0) && !gt_claim_ask(&be[1], "others", 9), "one may have both");
	gt_claim_ask(&be[1], "others", -1);
	ok(has(1) && asked[0] == 1, "and give up one");
	for (int i = 0; i < GT_CLAIMS; i++)
		gt_claim_ask(&be[2], (const char *[]){ "a", "b", "c", "d" }[i], 1);
	is_str(gt_claim_ask(&be[2], "e", 1), "high", "but not more than there is room for");
	gt_claim_drop(&be[1]);
	ok(has(0), "who goes has nothing any more");
	forget();
	ask(1);
	forget();
	h.level = 0;
	gt_claim_drop(&be[1]);
	is(asked[0], 0, "nobody is asked when all end");
}

int main(void)
{
	set_up();
	better_ones();
	lowered();
	leaving();
	apart();
	return done_testing();
}
