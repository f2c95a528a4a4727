/* SPDX-License-Identifier: GPL-2.0 */
/* grtrace's records: what they mean, what is missing, and what may be anything. */
#include <errno.h>

#include "../../backend/relay/decode.h"
#include "../lib/grtstream.h"
#include "../lib/maphost.h"
#include "../lib/tap.h"

#define MAX 4096

/** struct got - what a stream gave; @faults: places reported as damaged */
struct got {
	union gt_record r[MAX];
	unsigned int n, faults;
	uint64_t first_fault;
	struct gt_grt g;
	struct gt_grt_set set;
};

static void on_fault(void *arg, uint64_t at, const char *what)
{
	struct got *got = arg;

	if (!got->faults++)
		got->first_fault = at;
}

static void drain(struct got *got)
{
	while (got->n < MAX && gt_grt_next(&got->g, &got->r[got->n]))
		got->n++;
}

static void feed(struct got *got, const uint8_t *p, size_t len)
{
	while (len) {
		size_t room, n;
		uint8_t *to = gt_grt_room(&got->g, &room);

		n = len < room ? len : room;
		memcpy(to, p, n);
		gt_grt_filled(&got->g, n);
		drain(got);
		p += n;
		len -= n;
	}
}

static struct got *begin(uint32_t cpu, bool whole, const char *types)
{
	struct got *got = calloc(1, sizeof(*got));
	char err[200] = "";

	memset(&maphost, 0, sizeof(maphost));
	if (gt_grt_set_init(&got->set, &maphost_plugin, types, err, sizeof(err)) ||
	    gt_grt_init(&got->g, &got->set, cpu, whole))
		tap_ok(false, "begin: %s", err);
	got->g.fault = on_fault;
	got->g.arg = got;
	return got;
}

static void finish(struct got *got)
{
	gt_grt_end(&got->g);
	drain(got);
}

static struct got *decode(const struct gs *s)
{
	struct got *got = begin(GT_NONE32, true, "");

	feed(got, s->p, s->len);
	finish(got);
	return got;
}

static void drop(struct got *got)
{
	gt_grt_free(&got->g);
	free(got);
}

static unsigned int count(const struct got *got, unsigned int type)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < got->n; i++)
		n += got->r[i].ev.type == type;
	return n;
}

static struct gs session(uint64_t id)
{
	struct gs s = { .cpu = 1, .ts = 1000 };

	gs_start(&s, id);
	gs_metadata(&s);
	gs_ring(&s, 0, "0000:04:00.0", "gfx_0.0.0", GRT_ENGINE_GRAPHICS);
	return s;
}

static void meaning(void)
{
	struct gs s = session(1);
	struct grt_event e = gs_job(0, 0x500000007, 0x300000002);
	struct got *got;

	e.pid = 42;
	e.tid = 43;
	e.uid = 1000;
	e.value = 99;
	e.ref = 5;
	gs_event(&s, GRT_SUBMIT, &e);
	gs_event(&s, GRT_COMMIT, &e);
	gs_event(&s, GRT_COMPLETE, &e);
	gs_event(&s, GRT_SYNC_WAIT_EXIT, &e);
	e.value = 77;
	gs_event(&s, GRT_ERROR, &e);
	e.ring_id = GRT_NONE16;
	gs_event(&s, GRT_IRQ, &e);
	got = decode(&s);
	is(got->n, 6, "each event is reported");
	is(got->faults, 0, "and nothing is wrong");
	ok(got->r[0].ev.type == GT_SUBMIT && got->r[0].ev.ctx == 0x500000007 &&
		   got->r[0].ev.seqno == 0x300000002 && got->r[0].ev.pid == 42 &&
		   got->r[0].ev.tid == 43 && got->r[0].ev.uid == 1000 && got->r[0].ev.cpu == 1,
	   "the fields of a submit");
	is(got->r[0].ev.ref, 99, "its value is the DRM client");
	is(got->r[2].ev.value, GT_NONE64, "a COMPLETE's result is no time");
	is(got->r[3].ev.value, 99, "a wait's is");
	is(got->r[4].ev.value, GT_ERR_UNKNOWN, "an error that is none of ours is unknown");
	is(got->r[5].ev.ring, GT_NONE16, "of no ring");
	is_str(maphost.gpu[0], "mockgpu 0000:04:00.0 -1", "the ring's device");
	is_str(maphost.ring[0], "0 gfx_0.0.0 1", "its name and engine");
	is(got->r[0].ev.ts + 500, got->r[5].ev.ts, "times are the records'");
	drop(got);
	free(s.p);
}

/* As the documents' roadmap has it: no more than engine, ring, context and number. */
static void bare(void)
{
	struct gs s = { .cpu = 3, .ts = 5000 };
	const struct {
		uint16_t engine, ring;
		uint32_t ctx, seqno;
	} e = { GRT_ENGINE_COPY, 2, 0x1234, 100 };
	struct got *got;

	gs_start(&s, 9);
	gs_put(&s, GRT_SUBMIT, sizeof(struct grt_header) + sizeof(e), &e, sizeof(e));
	gs_put(&s, GRT_START, sizeof(struct grt_header) + 4, &e, 4);
	gs_put(&s, GRT_END, sizeof(struct grt_header), NULL, 0);
	got = decode(&s);
	is(got->n, 3, "short payloads are taken");
	ok(got->r[0].ev.ctx == 0x1234 && got->r[0].ev.seqno == 100 && got->r[0].ev.pid == GT_NONE32,
	   "with what they have");
	ok(got->r[1].ev.ring == 0 && got->r[1].ev.ctx == GT_NONE64 &&
		   got->r[1].ev.seqno == GT_NONE64,
	   "what is not there is unknown");
	is(got->r[2].ev.ring, GT_NONE16, "the ring, too");
	is_str(maphost.ring[0], "0 ring2 3", "a ring without a name has its number");
	drop(got);
	free(s.p);
}

static void types(void)
{
	static const struct grt_type_info other[] = { { 40, 48, "SUBMIT" },
						      { 0, 48, "COMPLETE" },
						      { 41, 48, "SOMETHING" } };
	struct gs s = { .cpu = 0, .ts = 1 };
	struct grt_event e = gs_job(0, 1, 1);
	struct got *got;
	char err[200];

	gs_start(&s, 1);
	gs_metadata_of(&s, other, 3);
	gs_event(&s, 40, &e);
	gs_event(&s, 0, &e);
	gs_event(&s, 1, &e);
	gs_event(&s, 41, &e);
	got = decode(&s);
	ok(got->n == 2 && got->r[0].ev.type == GT_SUBMIT && got->r[1].ev.type == GT_COMPLETE,
	   "METADATA says which number is which type");
	is(got->g.n.unknown, 2, "others are counted");
	drop(got);
	s.len = 0;
	gs_start(&s, 1);
	gs_event(&s, 40, &e);
	gs_event(&s, 0, &e);
	got = begin(GT_NONE32, true, "SUBMIT=40, START=0");
	feed(got, s.p, s.len);
	ok(got->n == 2 && got->r[0].ev.type == GT_SUBMIT && got->r[1].ev.type == GT_START,
	   "where it says nothing the setting does");
	is(gt_grt_set_init(&got->set, &maphost_plugin, "SUBMIT=512", err, sizeof(err)), -EINVAL,
	   "a number too high is refused: %s", err);
	is(gt_grt_set_init(&got->set, &maphost_plugin, "FOO=1", err, sizeof(err)), -EINVAL,
	   "a name that is none, too");
	drop(got);
	free(s.p);
}

static void custom(void)
{
	struct gs s = session(1);
	struct grt_custom c = { .event = gs_job(0, 1, 2), .name = "vm_fault" };
	struct got *got;

	c.event.value = 3;
	for (int i = 0; i < 9; i++) {
		c.name[8] = i ? (char)('0' + i) : 0;
		gs_put(&s, GRT_CUSTOM, sizeof(struct grt_header) + sizeof(c), &c, sizeof(c));
		gs_put(&s, GRT_CUSTOM, sizeof(struct grt_header) + sizeof(c), &c, sizeof(c));
	}
	got = decode(&s);
	is(count(got, GT_NAME), 7, "seven names have a number");
	ok(got->r[0].ev.type == GT_NAME && !strcmp(got->r[0].name.text, "vm_fault") &&
		   got->r[0].name.id == GT_CUSTOM0 && got->r[1].ev.type == GT_CUSTOM0 &&
		   got->r[1].ev.value == 3 && got->r[2].ev.type == GT_CUSTOM0,
	   "a name is reported before its first event");
	is(got->g.n.unnamed, 4, "those of others are counted");
	is(got->g.n.lost + got->faults, 0, "and nothing else is wrong");
	drop(got);
	free(s.p);
}

static void gaps(void)
{
	struct gs s = session(1);
	struct got *got;

	gs_submit(&s, 0, 1);
	s.cseq += 5;
	s.gseq += 9;
	gs_submit(&s, 0, 2);
	s.cseq += 3;
	gs_info(&s, 1); /* says that there are some more before it */
	gs_submit(&s, 0, 3);
	got = decode(&s);
	is(got->n, 5, "three events and two gaps");
	ok(got->r[1].ev.type == GT_LOST && got->r[1].lost.count == 5 &&
		   got->r[1].lost.ts == got->r[0].ev.ts &&
		   got->r[1].lost.until == got->r[2].ev.ts && got->r[1].lost.cpu == 1 &&
		   got->r[1].lost.cause == GT_LOST_SOURCE,
	   "a gap in cseq is reported where it begins, with its end");
	ok(got->r[3].ev.type == GT_LOST && got->r[3].lost.count == 3,
	   "one that a description tells");
	ok(got->g.n.lost == 8 && got->g.n.gaps == 2, "both are counted");
	is(got->g.gseq_max, s.gseq - 1, "gseq says up to where all CPUs are");
	drop(got);
	free(s.p);
}

/* What is left of a file in overwrite mode, or of one that somebody else read before. */
static void overwritten(void)
{
	struct gs s = { .cpu = 0, .ts = 9000, .cseq = 100, .gseq = 300 };
	struct got *got;

	gs_info(&s, 4);
	gs_submit(&s, 0, 1);
	got = decode(&s);
	ok(got->n == 2 && got->r[0].ev.type == GT_LOST && got->r[0].lost.count == 100,
	   "a saved file that does not begin with its session lost what came before");
	drop(got);
	got = begin(0, false, "");
	feed(got, s.p, s.len);
	finish(got);
	is(got->n, 1, "live it is what was before this daemon");
	drop(got);
	free(s.p);
}

static void sessions(void)
{
	struct gs s = session(1);
	struct got *got;

	gs_submit(&s, 0, 1);
	gs_start(&s, 2);
	gs_ring(&s, 0, "0000:05:00.0", "other", 0);
	gs_submit(&s, 0, 2);
	gs_start(&s, 3);
	s.cseq = 2;
	gs_submit(&s, 0, 3);
	got = decode(&s);
	is(got->g.n.sessions, 3, "three sessions");
	ok(got->r[1].ev.type == GT_LOST && got->r[1].lost.count == 0 &&
		   got->r[1].lost.until > got->r[1].ev.ts,
	   "what is between two is cut, and none of it lost");
	is(got->r[2].ev.gpu, 1, "numbers of rings are the session's");
	ok(got->n == 6 && got->r[4].ev.type == GT_LOST && got->r[4].lost.count == 2,
	   "a session whose begin is missing lost it");
	drop(got);
	free(s.p);
}

/* Everything that must not matter, in one stream; @good: submits that must come through */
static struct gs odd(unsigned int *good)
{
	struct gs s = session(1);
	struct grt_event e = gs_job(0, 7, 0);
	uint8_t junk[333];

	memset(junk, 0xa5, sizeof(junk));
	gs_submit(&s, 0, 1);
	gs_put(&s, 200, 32, NULL, 0);			 /* an unknown event without payload */
	gs_put(&s, 30000, 32 + 4242, NULL, 0);		 /* an unknown description */
	gs_put(&s, GRT_SUBMIT, 32 + 200, &e, sizeof(e)); /* longer than is known */
	memset(gs_room(&s, 512), 0, 512);		 /* padding */
	gs_submit(&s, 0, 2);
	gs_put(&s, GRT_SUBMIT, 0, &e, sizeof(e)); /* sizes that cannot be */
	gs_submit(&s, 0, 3);
	gs_put(&s, GRT_SUBMIT, 65535, NULL, 0)->size = 65535;
	s.len -= 65535 - 80;
	gs_submit(&s, 0, 4);
	gs_put(&s, GRT_SUBMIT, 33, &e, sizeof(e))->size = 33;
	gs_submit(&s, 0, 5);
	gs_put(&s, 201, 80, NULL, 0)->size = 60010; /* one that only the next record denies */
	gs_submit(&s, 0, 6);
	for (int i = 0; i < 2000; i++)
		gs_submit(&s, 0, 7);
	memcpy(gs_room(&s, sizeof(junk)), junk, sizeof(junk));
	gs_submit(&s, 0, 8);
	gs_submit(&s, 0, 9)->ts = 1ull << 60; /* a time that makes no sense */
	gs_submit(&s, 0, 10);
	gs_start(&s, 2); /* another session in the middle */
	gs_submit(&s, 0, 11);
	*good = 2010; /* all but those with bad sizes and the bad time */
	return s;
}

static void hostile(void)
{
	unsigned int good;
	struct gs s = odd(&good);
	struct got *got;

	gs_submit(&s, 0, 12);
	s.len -= 20; /* cut */
	got = decode(&s);
	is(count(got, GT_SUBMIT), good, "what is right comes through");
	is(got->r[got->n - 1].ev.seqno, 11, "up to the last whole record");
	is(got->g.n.damaged, 7, "each damaged place is reported");
	is(got->g.n.unknown, 3, "unknown types are counted");
	is(got->g.n.padding, 512, "padding is no damage");
	is(got->g.n.times, 1, "a time that makes no sense is counted");
	is(got->g.n.cut, 1, "so is a cut record");
	is(got->g.n.lost, 4, "what was damaged is lost");
	is(got->g.n.sessions, 2, "and another session begins");
	drop(got);
	free(s.p);
}

static bool same_records(const struct got *a, const struct got *b)
{
	return a->n == b->n && !memcmp(a->r, b->r, a->n * sizeof(a->r[0])) &&
	       a->faults == b->faults && !memcmp(&a->g.n, &b->g.n, sizeof(a->g.n));
}

/* In two reads, at every byte; and byte by byte. */
static void splits(void)
{
	unsigned int good, bad = 0;
	struct gs s = odd(&good);
	struct got *whole, *got;

	s.len -= 5 * 80; /* the end would be long for this */
	whole = decode(&s);
	for (size_t at = 0; at <= s.len; at += at < 10000 || at > s.len - 2000 ? 1 : 997) {
		got = begin(GT_NONE32, true, "");
		feed(got, s.p, at);
		feed(got, s.p + at, s.len - at);
		finish(got);
		bad += !same_records(whole, got);
		drop(got);
	}
	is(bad, 0, "the same in two reads, wherever the first ends");
	got = begin(GT_NONE32, true, "");
	for (size_t at = 0; at < s.len; at++)
		feed(got, s.p + at, 1);
	finish(got);
	ok(same_records(whole, got), "the same byte by byte");
	drop(got);
	drop(whole);
	free(s.p);
}

/* A reader that comes in the middle: live, without the beginning of anything. */
static void middle(void)
{
	struct gs s = session(1);
	struct got *got;
	size_t at;

	for (int i = 0; i < 10; i++)
		gs_submit(&s, 0, (uint64_t)i);
	at = s.len - 5 * 80 - 13;
	gs_info(&s, 1);
	gs_submit(&s, 0, 10);
	got = begin(1, false, "");
	feed(got, s.p + at, s.len - at);
	is(count(got, GT_SUBMIT), 6, "records are found by each other");
	is(got->g.n.lost, 0, "what came before was not lost here");
	is(got->g.n.skipped, 13, "bytes before the first are counted");
	is(got->g.session, 1, "and the session is known once it is reported");
	drop(got);
	free(s.p);
}

static void detection(void)
{
	struct gs s = session(1);
	unsigned int version = 0;
	uint8_t text[4096];

	ok(gt_grt_detect(s.p, s.len, &version) && version == 1,
	   "a stream is known by its beginning");
	memset(text, 'G', sizeof(text));
	ok(!gt_grt_detect(text, sizeof(text), &version), "text is none");
	memset(text, 0, sizeof(text));
	ok(!gt_grt_detect(text, sizeof(text), &version), "zeros are none");
	s.p[36] = 2;
	ok(gt_grt_detect(s.p, s.len, &version) && version == 2, "another version is reported");
	free(s.p);
}

int main(void)
{
	meaning();
	bare();
	types();
	custom();
	gaps();
	overwritten();
	sessions();
	hostile();
	splits();
	middle();
	detection();
	return done_testing();
}
