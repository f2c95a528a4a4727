/* SPDX-License-Identifier: GPL-2.0 */
/* Fields of an event as text and raw, what is made of them, and which device has a ring of a recording. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../backend/eventmap/internal.h"
#include "../lib/maphost.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char dir[TMP_PATH_MAX];
static char err[512];
static struct gt_eventmap *m;
static union gt_record got[GT_TP_MAX_RECORDS];

static void put(const char *name, const char *text)
{
	tmp_put(dir, name, text, strlen(text));
}

static void load(void)
{
	memset(&maphost, 0, sizeof(maphost));
	m = gt_eventmap_load(&maphost_plugin, dir, err, sizeof(err));
	if (m)
		gt_eventmap_select(m, NULL, NULL, 3);
	else
		ok(false, "a map: %s", err);
}

static int line(const char *event, const char *text)
{
	struct gt_evctx c = { .ts = 1, .tid = 7, .pid = 5, .cpu = 1 };
	struct gt_tp *tp = gt_eventmap_find(m, NULL, event);

	memset(got, 0, sizeof(got));
	return tp ? gt_tp_text(tp, &c, text, strlen(text), got, GT_TP_MAX_RECORDS) : -1;
}

#define NONE GT_NONE64

/* The value of a field in a line */
static void values(const char *event)
{
	static const struct {
		const char *line;
		uint64_t value;
	} known[] = {
		{ "v=5", 5 },
		{ "v: 5", 5 },
		{ "v =5", 5 },
		{ "v \t= \t5", 5 },
		{ "v=5,", 5 },
		{ "v=5)", 5 },
		{ "v=5\tx", 5 },
		{ "v=5\nx", 5 },
		{ "v=5\rx", 5 },
		{ "v=\"5\"", 5 },
		{ "v=\"5", 5 },
		{ "v=\"5\"6", 5 },
		{ "(v=5)", 5 },
		{ "-v=5", 5 },
		{ "xv=3 v=5", 5 },
		{ "_v=3 v=5", 5 },
		{ "9v=3 v=5", 5 },
		{ "v v=5", 5 },
		{ "vv=3 v=5", 5 },
		{ "v=5 v=3", 5 },
		{ "v=-3", (uint64_t)-3 },
		{ "v=0x10", 16 },
		{ "v=0X1f", 31 },
		{ "v=0xFa", 0xfa },
		{ "v=9223372036854775807", INT64_MAX },
		{ "v=0x7fffffffffffffff", INT64_MAX },
		{ "v=0", 0 },
		{ "v=9", 9 },
		{ "v", NONE },
		{ "v ", NONE },
		{ "v=", NONE },
		{ "v= ", NONE },
		{ "v=\"\"", NONE },
		{ "v=-", NONE },
		{ "v=0x", NONE },
		{ "v=0xg", NONE },
		{ "v=0x/", NONE },
		{ "v=0x:", NONE },
		{ "v=0x@", NONE },
		{ "v=0x`", NONE },
		{ "v=0x00000000000000001", NONE },
		{ "v=1a", NONE },
		{ "v=/", NONE },
		{ "v=:", NONE },
		{ "v=18446744073709551616", NONE },
		{ "v=18446744073709551620", NONE },
		{ "v=99999999999999999999", NONE },
		{ "v=18374686479671623680", NONE }, /* an address */
		{ "v=18374686479671623679", 0xfeffffffffffffff },
		{ "v=18446744073709486079", NONE },
		{ "v=18446744073709486080", 0xffffffffffff0000 },
		{ "w=5", NONE },
		{ "", NONE },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		is(line(event, known[i].line), 1, "\"%s\"", known[i].line);
		is(got[0].ev.value, known[i].value, "... its value");
	}
}

static void value(const char *event, const char *text, uint64_t want)
{
	(void)line(event, text);
	is(got[0].ev.value, want, "%s of \"%s\"", event, text);
}

/* Values by their place, and pieces of them */
static void places(void)
{
	value("token0", "7, 8, 9", 7);
	value("token0", "  7 , 8", 7);
	value("token0", "7\n8, 9", 7);
	value("token2", "7,8,9", 9);
	value("token2", "7, 8,\t9 \t", 9);
	value("token2", "7, 8", NONE);
	value("token2", "7, 8,", NONE);
	value("token2", "7, 8, x v=4", NONE);
	value("token2", "7 v=4", 4);
	value("token0", ", 8 v=4", 4);
	value("piece0", "k=7:8:9", 7);
	value("piece0", "k=7", 7);
	value("piece1", "k=7:8:9", 8);
	value("piece1", "k=7:8", 8);
	value("piece1", "k=7", NONE);
	value("piece1", "k=7:", NONE);
	value("piece1", "k=7 v=4", 4);
	value("both", "a, 1:2", 2);
	value("words", "two words: 6", 6);
	value("words", "v=4", 4);
	value("sum", "a=2 b=3", 2 * 10 + 3 * 100);
	value("sum", "a=2", 20);
	value("sum", "b=3", NONE);
}

static const char *ring_of(const char *event, const char *text)
{
	unsigned int n = maphost.rings;
	int records = line(event, text);

	return records <= 0	   ? "none"
	       : maphost.rings > n ? strchr(maphost.ring[n], ' ') + 1
				   : "again";
}

static void ring(const char *text, const char *want)
{
	char with[128];

	snprintf(with, sizeof(with), "%s 0", want);
	is_str(ring_of("ring", text), strcmp(want, "none") ? with : want, "a ring of \"%s\"", text);
}

static void strings(void)
{
	char text[128] = "r=", want[128] = "";

	ring("r=gfx", "gfx");
	ring("r=\"g x\"", "g_x");
	ring("r=.a.b/c", "_a.b_c");
	ring("r=!~", "!~");
	ring("r=\"a\x7f"
	     "b\x1f\"",
	     "a_b_");
	ring("r=x\xc3\xbc", "x__");
	ring("r=(fault)", "none");
	ring("r=(faulty", "(faulty");
	ring("r=(faul", "(faul");
	ring("r=0x12345678a", "0x12345678a");
	ring("r=0x12345678ab", "none");
	ring("r=12345678abcdef0", "12345678abcdef0");
	ring("r=12345678abcdef01", "none");
	ring("r=12345678abcdef01a", "12345678abcdef01a");
	ring("r=123456789abcdefg", "123456789abcdefg");
	ring("k=0", "x-zero");
	ring("k=2", "x-two");
	ring("k=3", "x-3");
	ring("k=TWO-3", "x-two-3");
	ring("k=18446744073709551615", "x-18446744073709551615");
	ring("x=1", "none");
	is_str(ring_of("empty", "k=0"), "none", "a word that is empty");
	is_str(ring_of("empty", "k=1"), "one 0", "another is not");
	for (int i = 0; i < 70; i++)
		strcat(text, "n");
	for (int i = 0; i < (int)sizeof(((struct gt_name_slot *)0)->text) - 1; i++)
		strcat(want, "n");
	ring(text, want);
	is_str(ring_of("ring", want + strlen(want) - 3), "none", "no key, no ring");
	strcat(text, "x");
	is_str(ring_of("ring", text), "again", "names are compared as they are kept");
	text[strlen(want) + 1] = 'x';
	ok(strcmp(ring_of("ring", text), "again"), "to their last letter");
}

/* Pointers become small numbers, which mean nothing but whether they are the same */
static uint64_t pointer(const char *text)
{
	char l[64];

	snprintf(l, sizeof(l), "p=%s", text);
	(void)line("pointer", l);
	return got[0].ev.ctx;
}

static void pointers(void)
{
	uint64_t a = pointer("12ab");

	ok(a != NONE && pointer("12ab") == a && pointer("0x12ab") == a && pointer("12AB") == a,
	   "a pointer, in any form");
	ok(pointer("12ac") != a && pointer("12ac") != NONE, "another");
	is(pointer("(null)"), NONE, "none");
	is(pointer("(____ptrval____)"), NONE, "one that is not shown");
	is(pointer("0"), NONE, "zero");
	is(pointer("0x0"), NONE, "in any form");
	is(pointer(""), NONE, "nothing");
	ok(pointer("what") != NONE && pointer("what") == pointer("what") &&
		   pointer("what") != pointer("that"),
	   "what is no number is by its letters");
}

/* Of [a/raw]: at 8 a string of 4 bytes, at 12 where another is, at 16 relative, at 20 a number */
static const char format[] = "name: raw\nID: 7\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:char c[4];\toffset:8;\tsize:4;\tsigned:0;\n"
			     "\tfield:__data_loc char[] d;\toffset:12;\tsize:4;\tsigned:0;\n"
			     "\tfield:__rel_loc char[] r;\toffset:16;\tsize:4;\tsigned:0;\n"
			     "\tfield:u32 n;\toffset:20;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";

struct raw {
	char head[8], c[4];
	uint16_t d_at, d_len, r_at, r_len;
	uint32_t n;
	char text[16];
};

static const char *raw_ring(const struct raw *rec, size_t len)
{
	struct gt_evctx c = { .ts = 1 };
	struct gt_tp *tp = gt_eventmap_find(m, "a", "raw");
	unsigned int n = maphost.rings;

	if (gt_tp_raw(tp, &c, rec, len, got, GT_TP_MAX_RECORDS) != 1)
		return "none";
	return maphost.rings > n ? strchr(maphost.ring[n], ' ') + 1 : "again";
}

static void raw_strings(void)
{
	struct raw rec = { .c = "abcd",
			   .d_at = 24,
			   .d_len = 5,
			   .r_at = 9,
			   .r_len = 3,
			   .n = 1,
			   .text = "data\0rel" };
	struct gt_tp *tp = gt_eventmap_find(m, "a", "raw");

	is(gt_tp_bind(tp, format, sizeof(format) - 1, NULL, err, sizeof(err)), 0, "raw: %s", err);
	is_str(raw_ring(&rec, sizeof(rec)), "abcd-data-rel-one 0", "strings of all kinds");
	rec.c[3] = '\0';
	is_str(raw_ring(&rec, sizeof(rec)), "abc-data-rel-one 0", "one that ends before its field");
	rec.c[0] = '\0';
	is_str(raw_ring(&rec, sizeof(rec)), "none", "an empty one is none");
	memcpy(rec.c, "bcde", 4);
	rec.d_len = 4;
	is_str(raw_ring(&rec, sizeof(rec)), "bcde-data-rel-one 0", "one without a NUL");
	rec.d_len = 8;
	rec.c[0] = 'c';
	is_str(raw_ring(&rec, sizeof(rec)), "ccde-data-rel-one 0",
	       "or with more than that behind it");
	rec.d_len = 1;
	rec.c[0] = 'd';
	is_str(raw_ring(&rec, sizeof(rec)), "dcde-d-rel-one 0", "of one letter");
	rec.d_at = 28;
	is_str(raw_ring(&rec, sizeof(rec)), "none", "of a NUL alone it is none");
	rec.d_len = 0;
	is_str(raw_ring(&rec, sizeof(rec)), "none", "nor of nothing");
	rec.d_at = sizeof(rec) - 3;
	rec.d_len = 3;
	memcpy(rec.text + 13, "end", 3);
	is_str(raw_ring(&rec, sizeof(rec)), "dcde-end-rel-one 0", "to the record's last byte");
	is_str(raw_ring(&rec, sizeof(rec) - 1), "none", "and no further");
	rec.d_at = 24;
	rec.d_len = 5;
	rec.r_at = sizeof(rec) - 3 - 20;
	rec.c[0] = 'e';
	is_str(raw_ring(&rec, sizeof(rec)), "ecde-data-end-one 0", "a relative one, too");
	rec.r_at++;
	is_str(raw_ring(&rec, sizeof(rec)), "none", "no further");
	memcpy(rec.text, "(fault)", 8);
	rec.r_at = 4;
	rec.r_len = 3;
	rec.d_len = 8;
	is_str(raw_ring(&rec, sizeof(rec)), "none", "one that the kernel could not read");
	memcpy(rec.text, "(faulty", 8);
	is_str(raw_ring(&rec, sizeof(rec)), "ecde-(faulty-(fa-one 0",
	       "what only looks alike is one");
	rec.n = 5;
	is_str(raw_ring(&rec, sizeof(rec)), "ecde-(faulty-(fa-5 0", "a number beyond its words");
}

static void fields(void)
{
	put("a.ini",
	    "[a/value]\nevent = IRQ\nvalue = v\n"
	    "[a/token0]\nevent = IRQ\nvalue = v@%0\n"
	    "[a/token2]\nevent = IRQ\nvalue = v@%2\n"
	    "[a/piece0]\nevent = IRQ\nvalue = v@k:0\n"
	    "[a/piece1]\nevent = IRQ\nvalue = v@k:1\n"
	    "[a/both]\nevent = IRQ\nvalue = v@%1:1\n"
	    "[a/words]\nevent = IRQ\nvalue = v@two words\n"
	    "[a/sum]\nevent = IRQ\nvalue = a * 10 + b * 100\n"
	    "[a/ring]\nevent = COMMIT\nring = {r} || x-{k|zero,one,two}\nctx = c\nmatch = ring\n"
	    "[a/empty]\nevent = COMMIT\nring = {k|,one}\nctx = c\nmatch = ring\n"
	    "[a/pointer]\nevent = IRQ\nctx = #p\n"
	    "[a/raw]\nevent = COMMIT\nring = {c}-{d}-{r}-{n|zero,one}\nctx = n\nmatch = ring\n");
	load();
	values("value");
	places();
	strings();
	pointers();
	raw_strings();
	gt_eventmap_free(m);
}

/* Whose a ring is ------------------------------------------------------------------------------ */

static void seen(const char *event, const char *text)
{
	gt_tp_text_ring(gt_eventmap_find(m, NULL, event), text, strlen(text));
}

static void owner(const char *event, const char *text, const char *want, const char *what)
{
	if (line(event, text) != 1)
		is_str("none", want, "%s", what);
	else
		is_str(got[0].ev.gpu < maphost.gpus ? maphost.gpu[got[0].ev.gpu] : "?", want, "%s",
		       what);
}

#define JOB "ring = {ring}\nctx = c\nseqno = s\n"

static void load_owners(void)
{
	put("a.ini",
	    "[map]\ndriver = alpha\n[s/full]\nevent = SUBMIT\ndev = {dev}\n" JOB
	    "[s/off]\nevent = IRQ\n[s/off 2]\nevent = SUBMIT\ndev = {dev}\nrequires = nothing\n" JOB
	    "[s/minor]\nevent = SUBMIT\nminor = dev\n" JOB);
	put("b.ini", "[s/card]\nevent = IRQ\nminor = dev\n[s/only]\nevent = COMMIT\n" JOB
		     "[s/dev]\nevent = SUBMIT\ndev = {dev}\n" JOB);
	put("c.ini", "[map]\ndriver = beta\n[s/beta]\nevent = COMMIT\n" JOB);
	put("d.ini", "[map]\ndriver = gamma\n[s/gamma]\nevent = SUBMIT\n" JOB);
	load();
}

static bool nothing_present(void *arg, const char *system, const char *event)
{
	return false;
}

static void owners(void)
{
	unsigned int calls;

	load_owners();
	owner("only", "ring=gfx", "- - -1", "a ring that no device has may be of any GPU");
	calls = maphost.calls;
	(void)line("only", "ring=gfx");
	is(maphost.calls, calls, "which is asked for once");
	seen("full", "dev=d0 ring=gfx");
	seen("full", "dev=d0 ring=gfx");
	owner("only", "ring=gfx", "alpha d0 -1", "a ring of one device");
	calls = maphost.calls;
	owner("only", "ring=gfx", "alpha d0 -1", "found again");
	is(maphost.calls, calls, "it is asked for once");
	owner("only", "ring=gf", "- - -1", "a shorter name is another ring");
	owner("beta", "ring=gfx", "beta - -1", "another driver has no such ring");
	seen("dev", "dev=d0 ring=gfx");
	owner("only", "ring=gfx", "alpha d0 -1", "an event without a driver changes nothing");
	seen("full", "dev=d1 ring=gfx");
	owner("only", "ring=gfx", "- - -1", "a ring that two devices have may be of any");
	seen("full", "dev=d00 ring=sdma");
	seen("full", "dev=d0 ring=sdma");
	owner("only", "ring=sdma", "- - -1", "likewise if the names of the devices begin alike");
	seen("gamma", "ring=3d");
	owner("only", "ring=3d", "gamma - -1", "a ring of a driver with one device");
	seen("gamma", "ring=comp");
	seen("full", "dev=d0 ring=comp");
	owner("only", "ring=comp", "- - -1", "a ring that two drivers have may be of any");
	seen("dev", "dev=d7 ring=blt");
	owner("only", "ring=blt", "- d7 -1", "a device of no known driver");
	owner("beta", "ring=blt", "- d7 -1", "its driver may be any");
	seen("dev", "ring=vcn");
	seen("full", "dev=d0");
	owner("only", "ring=vcn", "- - -1", "an event without a device changes nothing");
	seen("minor", "dev=0 ring=vce");
	owner("only", "ring=vce", "- - -1", "nor does one with the number of a card");
	gt_eventmap_free(m);

	load_owners();
	gt_eventmap_select(m, nothing_present, NULL, 3);
	seen("off", "dev=d0 ring=gfx");
	owner("only", "ring=gfx", "- - -1", "nor does one that is not used");
	gt_eventmap_free(m);
}

static void owner_bounds(void)
{
	char text[160];

	load_owners();
	seen("full", "dev=d0 ring=a_name_of_39_letters_which_has_its_room");
	seen("full", "dev=d0 ring=a_name_of_40_letters_which_has_not_its_x");
	owner("only", "ring=a_name_of_39_letters_which_has_its_room", "alpha d0 -1",
	      "a ring's name of 39 letters");
	owner("only", "ring=a_name_of_40_letters_which_has_not_its_x", "- - -1",
	      "of 40 is too long");
	for (int i = 1; i < 256; i++) {
		snprintf(text, sizeof(text), "dev=d0 ring=r%d", i);
		seen("full", text);
	}
	owner("only", "ring=r255", "alpha d0 -1", "256 rings");
	seen("full", "dev=d0 ring=more");
	owner("only", "ring=more", "- - -1", "are all");
	seen("full", "dev=d1 ring=r255");
	owner("only", "ring=r255", "- - -1", "of which another device may have one");
	owner("minor", "dev=2147483647 ring=a", "alpha - 2147483647",
	      "the greatest number of a card");
	owner("minor", "dev=2147483648 ring=a", "alpha - -1", "what is greater is none");
	owner("minor", "dev=-1 ring=a", "alpha - -1", "nor is what is less than 0");
	owner("minor", "ring=a", "alpha - -1", "nor nothing");
	owner("card", "dev=3", "- - 3", "of no driver and no ring, too");
	owner("full", "ring=a_name_of_39_letters_which_has_its_room", "alpha - -1",
	      "an event that may name its device is of that alone");
	gt_eventmap_free(m);
}

/* Raw records teach as well, if their fields are known */
static void raw_owner(void)
{
	static const char fmt[] =
		"name: full\nID: 7\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\n"
		"\tfield:char dev[4];\toffset:16;\tsize:4;\tsigned:0;\n"
		"\tfield:char ring[4];\toffset:20;\tsize:4;\tsigned:0;\n"
		"\tfield:u32 c;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:u32 s;\toffset:12;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";
	static const char rec[24] = "\7\0              d0\0\0gfx";
	struct gt_tp *tp;

	load_owners();
	tp = gt_eventmap_find(m, "s", "full");
	gt_tp_raw_ring(tp, rec, sizeof(rec));
	owner("only", "ring=gfx", "- - -1", "a record of unknown fields changes nothing");
	is(gt_tp_bind(tp, fmt, sizeof(fmt) - 1, NULL, err, sizeof(err)), 0, "once they are known");
	gt_tp_raw_ring(tp, rec, 23);
	owner("only", "ring=gfx", "- - -1", "nor does one that is cut");
	gt_tp_raw_ring(tp, rec, sizeof(rec));
	owner("only", "ring=gfx", "alpha d0 -1", "a whole one does");
	gt_eventmap_free(m);
}

/* Names drop out of a small cache, and come back as they were */
static void many_names(void)
{
	char text[64], dev[64];
	unsigned int wrong = 0, calls;

	put("a.ini", "[map]\ndriver = alpha\n[s/full]\nevent = SUBMIT\ndev = {dev}\n" JOB);
	load();
	for (int round = 0; round < 2; round++) {
		for (unsigned int d = 0; d < 30; d++) {
			for (unsigned int r = 0; r < 2; r++) {
				snprintf(text, sizeof(text), "dev=d%u ring=r%u", d, r);
				snprintf(dev, sizeof(dev), "alpha d%u -1", d);
				if (line("full", text) != 1 ||
				    strcmp(maphost.gpu[got[0].ev.gpu], dev))
					wrong++;
				snprintf(dev, sizeof(dev), "%u r%u 0", got[0].ev.gpu, r);
				wrong += strcmp(maphost.ring[got[0].ev.ring], dev) != 0;
			}
		}
	}
	is(wrong, 0, "each device has rings of its own");
	calls = maphost.calls;
	for (unsigned int d = 0; d < 30; d++) {
		snprintf(text, sizeof(text), "dev=d%u ring=r1", d);
		(void)line("full", text);
	}
	is(maphost.calls, calls, "the host is asked for each once");
	maphost.full = true;
	for (int i = 0; i < 2; i++)
		is(line("full", "dev=d1 ring=new"), 0, "a ring for which it has no room");
	maphost.full = false;
	is(line("full", "dev=d1 ring=new"), 1, "is asked for again");
	gt_eventmap_free(m);
}

int main(void)
{
	if (!tmp_dir(dir, "gt-fields"))
		return !ok(false, "a folder");
	fields();
	owners();
	owner_bounds();
	raw_owner();
	for (char name[] = "b.ini"; *name < 'e'; ++*name)
		tmp_drop(dir, name);
	many_names();
	tmp_drop(dir, "a.ini");
	rmdir(dir);
	return done_testing();
}
