/* SPDX-License-Identifier: GPL-2.0 */
/*
 * relay N SEED: N streams of grtrace's records, of all kinds that there are and such as there
 * should not be, with random bytes changed, are decoded in pieces of random sizes, twice. None may
 * crash or hang; both times the same comes out, each record is well formed, and the counters agree
 * with it.
 */
#include <stdio.h>
#include <unistd.h>

#include "../../backend/relay/decode.h"
#include "../lib/fuzz.h"
#include "../lib/grtstream.h"
#include "../lib/maphost.h"

/** struct sum - what came out; @bad: records that are not well formed */
struct sum {
	uint64_t records, lost, hash, bad, damaged;
	struct gt_grt_stats n;
};

static void event(struct gs *s)
{
	struct grt_custom c = { .event = gs_job((uint16_t)(rnd() % 8), rnd() % 4, rnd() % 100) };
	unsigned int type = rnd() % 8 ? (unsigned int)(rnd() % 10) : GRT_CUSTOM;

	c.name[0] = (char)('a' + rnd() % 9);
	if (rnd() % 16 == 0)
		c.event.ring_id = (uint16_t)rnd();
	gs_put(s, type, sizeof(struct grt_header) + sizeof(c) - (type == GRT_CUSTOM ? 0 : 16), &c,
	       sizeof(c) - (type == GRT_CUSTOM ? 0 : 16));
}

static void odd(struct gs *s)
{
	switch (rnd() % 8) {
	case 0:
		gs_put(s, rnd() & 0xffff, 32 + rnd() % 2000 * 2, NULL, 0);
		break;
	case 1:
		gs_put(s, rnd() % 300, 80, NULL, 0)->size = (uint16_t)rnd();
		break;
	case 2:
		memset(gs_room(s, rnd() % 600), 0, 0);
		break;
	case 3:
		memset(gs_room(s, 50), (int)(rnd() & 0xff), 50);
		break;
	case 4:
		s->cseq += rnd() % 1000;
		break;
	case 5:
		gs_put(s, 1, 80, NULL, 0)->size = rnd() % 2 ? 0 : 65535;
		break;
	case 6:
		gs_put(s, 0, 80, NULL, 0)->ts = rnd();
		break;
	default:
		s->cseq = s->gseq = 0;
		gs_start(s, rnd() % 3);
		break;
	}
}

static void build(struct gs *s)
{
	unsigned int n = (unsigned int)(rnd() % 300);

	s->len = 0;
	s->cpu = (uint32_t)(rnd() % 4);
	s->gseq = s->cseq = 0;
	s->ts = rnd() % 2 ? 1000 : rnd() >> 2;
	if (rnd() % 8)
		gs_start(s, 1);
	if (rnd() % 4)
		gs_metadata(s);
	while (n--) {
		if (rnd() % 16 == 0)
			odd(s);
		else if (rnd() % 16 == 0)
			gs_ring(s, (uint16_t)(rnd() % 8), rnd() % 2 ? "0000:04:00.0" : "", "r/\n",
				1);
		else
			event(s);
	}
	for (unsigned int times = rnd() % 2 ? (unsigned int)(rnd() % 32) : 0; times && s->len;
	     times--)
		s->p[rnd() % s->len] = (uint8_t)rnd();
	if (rnd() % 4 == 0)
		s->len = s->len ? rnd() % s->len : 0;
}

static void check(struct sum *sum, const union gt_record *r)
{
	const struct gt_event *ev = &r->ev;

	if (ev->type >= GT_NTYPES && ev->type != GT_LOST && ev->type != GT_NAME)
		sum->bad++;
	if (ev->type < GT_NTYPES && ((ev->gpu != GT_NONE16 && ev->gpu >= maphost.gpus) ||
				     (ev->ring != GT_NONE16 && ev->ring >= maphost.rings)))
		sum->bad++;
	if (ev->ts >= GT_NONE64 / 2)
		sum->bad++;
	sum->records += ev->type < GT_NTYPES;
	if (ev->type == GT_LOST)
		sum->lost += r->lost.count;
	for (size_t i = 0; i < sizeof(*r); i++)
		sum->hash = (sum->hash ^ r->bytes[i]) * 1099511628211ull;
}

static void on_fault(void *arg, uint64_t at, const char *text)
{
	((struct sum *)arg)->damaged++;
}

static struct sum decode(const struct gs *s, bool whole)
{
	struct sum sum = { .hash = 0 };
	struct gt_grt_set set;
	struct gt_grt g;
	union gt_record r;
	char err[200];
	size_t at = 0;

	memset(&maphost, 0, sizeof(maphost));
	if (gt_grt_set_init(&set, &maphost_plugin, "", err, sizeof(err)) ||
	    gt_grt_init(&g, &set, GT_NONE32, whole))
		_exit(2);
	g.fault = on_fault;
	g.arg = &sum;
	while (!g.eof) {
		size_t room, n = 1 + rnd() % (rnd() % 8 ? 200 : 100000);
		uint8_t *to = gt_grt_room(&g, &room);

		n = n < room ? n : room;
		n = n < s->len - at ? n : s->len - at;
		if (n)
			memcpy(to, s->p + at, n);
		at += n;
		gt_grt_filled(&g, n);
		if (!n)
			gt_grt_end(&g);
		while (gt_grt_next(&g, &r))
			check(&sum, &r);
	}
	sum.n = g.n;
	sum.bad += sum.records != g.n.records || sum.lost != g.n.lost || sum.damaged != g.n.damaged;
	sum.bad += g.pos != g.len;
	gt_grt_free(&g);
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t records = 0, lost = 0, damaged = 0;
	struct gs s = { 0 };
	long n, bad = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: relay N SEED\n");
		return 2;
	}
	n = atol(argv[1]);
	fuzz_begin(argv[2]);
	for (long i = 0; i < n; i++) {
		uint64_t seed = state;
		struct sum a, b;
		bool whole;

		snprintf(what, sizeof(what), "relay: stream %ld", i);
		alarm(LIMIT_S);
		build(&s);
		whole = rnd() % 2;
		a = decode(&s, whole);
		b = decode(&s, whole);
		if (a.bad || memcmp(&a, &b, sizeof(a))) {
			fprintf(stderr, "relay: stream %ld (state %llx): %llu bad, %s\n", i,
				(unsigned long long)seed, (unsigned long long)a.bad,
				a.hash == b.hash ? "the same records" : "not the same");
			bad++;
		}
		records += a.records;
		lost += a.lost;
		damaged += a.damaged;
	}
	printf("relay: %ld streams, %llu records, %llu lost, %llu damaged places, %ld bad\n", n,
	       (unsigned long long)records, (unsigned long long)lost, (unsigned long long)damaged,
	       bad);
	free(s.p);
	return bad != 0;
}
