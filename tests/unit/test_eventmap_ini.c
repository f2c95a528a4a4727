/* SPDX-License-Identifier: GPL-2.0 */
/* Event maps: their syntax and its faults, formats as they may come, bounds, hostile input. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../backend/eventmap/internal.h"
#include "../lib/maphost.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char dir[TMP_PATH_MAX];
static char err[512];

static void put(const char *name, const char *text)
{
	tmp_put(dir, name, text, strlen(text));
}

static struct gt_eventmap *load(void)
{
	struct gt_eventmap *m;

	memset(&maphost, 0, sizeof(maphost));
	m = gt_eventmap_load(&maphost_plugin, dir, err, sizeof(err));
	if (m)
		gt_eventmap_select(m, NULL, NULL, 3);
	return m;
}

/* One map with this text, and nothing else. */
static struct gt_eventmap *load_text(const char *text)
{
	put("a.ini", text);
	return load();
}

static union gt_record got[GT_TP_MAX_RECORDS];

static int line(struct gt_eventmap *m, const char *event, const char *text)
{
	struct gt_evctx c = { .ts = 1, .tid = 7, .pid = 5, .cpu = 1 };
	struct gt_tp *tp = gt_eventmap_find(m, NULL, event);

	memset(got, 0, sizeof(got));
	return tp ? gt_tp_text(tp, &c, text, strlen(text), got, GT_TP_MAX_RECORDS) : -1;
}

static void test_faults(void)
{
	static const struct {
		const char *text;
		int line;
		const char *words;
	} bad[] = {
		{ "[a/b]\nevent = SUBMITS\n", 2, "'SUBMITS'" },
		{ "[a/b]\nevent = IRQ\ncolour = red\n", 3, "no key 'colour'" },
		{ "[a/b]\nevent = IRQ\nevent = IRQ\n", 3, "'event' is given twice" },
		{ "[a/b]\nevent = IRQ\nunless = c\nunless_live = d\n", 4,
		  "unless and unless_live" },
		{ "[ab]\nevent = IRQ\n", 1, "[ab] is neither" },
		{ "[/b]\nevent = IRQ\n", 1, "[/b] is neither" },
		{ "[a/]\nevent = IRQ\n", 1, "[a/] is neither" },
		{ "[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/b]\nevent = "
		  "IRQ\n",
		  1, "/b] is neither" },
		{ "event = IRQ\n", 1, "before any section" },
		{ "[map]\nname = x\n", 2, "no key 'name'" },
		{ "[map]\ndriver = a b\n", 2, "'a b' is not a name" },
		{ "[a/b]\nevent IRQ\n", 2, "'key = value'" },
		{ "[a/b\n", 1, "without ']'" },
		{ "[a/b]\n", 1, "[a/b] has no event" },
		{ "[a/b]\nevent = IRQ\n  [c/d]\n", 3, "a section begins" },
		{ "[a/b]\nevent = SUBMIT\n", 1, "need ring" },
		{ "[a/b]\nevent = CUSTOM1\n", 1, "name is needed" },
		{ "[a/b]\nevent = IRQ\nname = x\n", 1, "name is needed" },
		{ "[a/b]\nevent = CUSTOM1 IRQ\nname = x\n", 2, "'IRQ' is too much" },
		{ "[a/b]\nevent = IRQ IRQ\n", 2, "'IRQ' is too much" },
		{ "[a/b]\nevent = IRQ\nlevel = loud\n", 3, "level: 'loud'" },
		{ "[a/b]\nevent = IRQ\nunknown_job = some\n", 3, "unknown_job: 'some'" },
		{ "[a/b]\nevent = IRQ\nunknown_job = ignore\n", 1, "unknown_job needs match" },
		{ "[a/b]\nevent = IRQ\nmatch = fence\n", 1, "match names fence" },
		{ "[a/b]\nevent = IRQ\nmatch = ctx || seqno\n", 3, "too many '|'" },
		{ "[a/b]\nevent = IRQ\nmatch = moon\n", 3, "match: 'moon'" },
		{ "[a/b]\nevent = IRQ\nring = x\nmatch = order\n", 1, "order stands alone" },
		{ "[a/b]\nevent = IRQ\nring = {x\n", 3, "without '}'" },
		{ "[a/b]\nevent = IRQ\nring = x}\n", 3, "'x}'" },
		{ "[a/b]\nevent = IRQ\nring = {}\n", 3, "ring: ''" },
		{ "[a/b]\nevent = IRQ\nring = {a}{b}{c}{d}{e}\n", 3, "'{a}{b}{c}{d}{e}'" },
		{ "[a/b]\nevent = IRQ\nring =\n", 3, "empty template" },
		{ "[a/b]\nevent = IRQ\nctx = a@b:x\n", 3, "behind ':'" },
		{ "[a/b]\nevent = IRQ\nctx = a@%z\n", 3, "behind '%'" },
		{ "[a/b]\nevent = IRQ\nvalue = 12x\n", 3, "'12x' is not a number" },
		{ "[a/b]\nevent = IRQ\nvalue = a * b\n", 3, "behind '*'" },
		{ "[a/b]\nevent = IRQ\nwhere = a < 3\n", 3, "'a < 3' has none" },
		{ "[a/b]\nevent = IRQ\nwhere = a ~\n", 3, "where: 'a ~'" },
		{ "[a/b]\nevent = IRQ\nctx = a + b * c\n", 3, "behind '*'" },
		{ "[a/b]\nevent = IRQ\nctx = a +\n", 3, "ctx: ''" },
		{ "[a/b]\nevent = JOB_WAITS\nctx = c\nref = r\n", 1, "needs ctx, ref" },
		{ "[a/b]\nevent = JOB_WAITS IRQ\n", 2, "'IRQ' is too much" },
		{ "[a/b]\nevent = JOB_DEPENDS\nname = x\n", 3, "has a name already" },
		{ "[a/b]\nevent = IRQ\nrequires =\n", 3, "no tracepoint" },
		{ "[a/b]\nevent = COMMIT\nring = x\nctx = c\nmatch = ctx\nunknown_job = "
		  "same_file\n",
		  1, "unknown_job = same_file" },
		{ "[a/b]\nevent = IRQ\nwhere = a == b\n", 3, "where: 'a == b'" },
	};
	char place[TMP_PATH_MAX + 32];

	put("b.ini", "[good/one]\nevent = IRQ\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct gt_eventmap *m = load_text(bad[i].text);

		snprintf(place, sizeof(place), "%s/a.ini:%d: ", dir, bad[i].line);
		ok(m && !strncmp(err, place, strlen(place)) && strstr(err, bad[i].words) &&
			   gt_eventmap_find(m, "good", "one") && !gt_eventmap_each(m, 1),
		   "line %d, %s: %s", bad[i].line, bad[i].words, err);
		gt_eventmap_free(m);
	}
	tmp_drop(dir, "b.ini");
}

static void test_files(void)
{
	static char big[GT_MAP_FILE_SIZE + 64];
	struct gt_eventmap *m;

	tmp_drop(dir, "a.ini");
	ok(!load(), "no map at all");
	ok(strstr(err, dir) && strstr(err, "*.ini"), "is reported: %s", err);
	ok(!gt_eventmap_load(&maphost_plugin, "/nonexistent/x", err, sizeof(err)), "no folder");
	ok(strstr(err, "/nonexistent/x"), "is reported: %s", err);

	memset(big, ';', sizeof(big) - 1);
	ok(!load_text(big) && strstr(err, "not a file of at most"), "a file that is too big");
	big[199] = '\0';
	ok(!load_text(big) && strstr(err, "a.ini:1: a line of more than 198"), "a line too long");
	big[198] = '\0';
	ok(!load_text(big) && !strstr(err, "a line of more"), "one that just fits: %s", err);

	put("b.ini", "[x/y]\nevent = CUSTOM3\nname = two\n");
	m = load_text("[x/y]\nevent = CUSTOM3\nname = one\n");
	ok(m && strstr(err, "b.ini:1: CUSTOM3 is called one already"), "two names of one event");
	is(m ? line(m, "y", "") : 0, 1, "an event of it");
	is(maphost.last.name.id, GT_CUSTOM0 + 3, "the first is reported");
	is_str(maphost.last.name.text, "one", "by name");
	gt_eventmap_free(m);
	tmp_drop(dir, "b.ini");

	for (int live = 0; live < 2; live++) {
		const char *key = live ? "unless_live" : "unless";

		snprintf(big, sizeof(big), "[x/y]\nevent = IRQ\n%s = c d\n%s = e\n", key, key);
		m = load_text(big);
		ok(m, "%s over two lines: %s", key, err);
		gt_eventmap_free(m);
	}
}

static bool refused(const char *says)
{
	struct gt_eventmap *m = load();

	gt_eventmap_free(m);
	return !m && strstr(err, says);
}

static void test_trust(void)
{
	static const char good[] = "[x/y]\nevent = CUSTOM3\nname = one\n";
	char file[TMP_PATH_MAX + 8], other[TMP_PATH_MAX + 8];
	struct gt_eventmap *m;

	snprintf(file, sizeof(file), "%s/b.ini", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	tmp_drop(dir, "a.ini");
	put("b.ini", good);
	chmod(file, 0664);
	ok(refused("/b.ini can be written by others: chmod go-w it"),
	   "a map that others can write: %s", err);
	if (!geteuid() && !chmod(file, 0644) && !chown(file, 12345, 0))
		ok(refused("/b.ini belongs to uid 12345: chown it to root"),
		   "a map of somebody else's: %s", err);
	unlink(file);
	put("other", good);
	ok(!symlink(other, file) && refused("/b.ini: a link, which is not followed"),
	   "a link to a map: %s", err);
	unlink(file);
	ok(!mkfifo(file, 0600) && refused("/b.ini is not a regular file"),
	   "a FIFO does not keep it waiting: %s", err);
	put("a.ini", good);
	m = load();
	ok(m && strstr(err, "/b.ini is not"), "the others are read all the same");
	gt_eventmap_free(m);
	tmp_drop(dir, "a.ini");
	unlink(file);
	unlink(other);
	chmod(dir, 0777);
	ok(refused("can be written by others"), "a folder that others can write: %s", err);
	chmod(dir, 0700);
}

/* A source may leave out what a tracepoint's only event does not want, and nothing where it has several */
static void test_condition(void)
{
	static const char format[] = "name: b\nID: 7\nformat:\n"
				     "\tfield:int bad;\toffset:8;\tsize:4;\tsigned:1;\n\n"
				     "print fmt: \"bad=%d\", REC->bad\n";
	struct gt_tp_condition c = { 0 };

	for (int both = 0; both < 2; both++) {
		struct gt_eventmap *m = load_text(
			both ? "[map]\ndriver = some\n[a/b]\nevent = IRQ\nwhere = bad & 0x6\n"
			       "[a/b 2]\nevent = ERROR\nwhere = bad == 1\n"
			     : "[map]\ndriver = some\n[a/b]\nevent = IRQ\nwhere = bad & 0x6\n");
		struct gt_tp *tp = m ? gt_eventmap_find(m, "a", "b") : NULL;

		ok(tp && !gt_tp_bind(tp, format, sizeof(format) - 1, NULL, err, sizeof(err)) &&
			   gt_tp_condition(tp, &c) == !both,
		   "%d conditions on a tracepoint", both + 1);
		gt_eventmap_free(m);
	}
	ok(c.off == 8 && c.size == 4 && c.sign && c.bits && c.value == 6, "the only one as it is");
}

static void test_syntax(void)
{
	static const char text[] =
		"; a comment\n# another\n[map]\ndriver = some\n"
		"[a/a_name_that_is_longer_than_what_inih_itself_would_keep_of_it]\n"
		"event = IRQ\nvalue = v@the value * 1000 ; 1000\n"
		"[a/b]\nevent = SUBMIT,COMMIT\nring = {n||{k|zero,one}x\n"
		"[a/b 2]\nevent = ERROR\nwhere = bad & 0x6\nvalue = 3\n";
	struct gt_eventmap *m;

	m = load_text(text);
	ok(!m && strstr(err, "'{n': '{' without '}'"), "a template that does not close");
	gt_eventmap_free(m);
	m = load_text("[map]\ndriver = some\n"
		      "[a/a_name_that_is_longer_than_what_inih_itself_would_keep_of_it]\n"
		      "event = IRQ\nvalue = v@the value * 1000 ; a comment\n"
		      "[a/b]\nevent = SUBMIT,COMMIT\nring = {n} || {k|zero,One}x\n"
		      "[a/b 2]\nevent = ERROR\nwhere = bad & 0x6\nvalue = 3\n");
	ok(m && !err[0], "a map of all sorts");
	if (!m)
		return;
	is(line(m, "a_name_that_is_longer_than_what_inih_itself_would_keep_of_it", "the value: 7"),
	   1, "a long name");
	is(got[0].ev.value, 7000, "a key of two words, and a factor");
	is_str(maphost.gpu[0], "some - -1", "the driver");
	is(line(m, "b", "n=../x, bad=1"), 2, "one section's condition does not hold");
	is_str(maphost.ring[0], "0 _._x 0",
	       "a ring's name becomes a file's, so it is made harmless");
	is(line(m, "b", "k=1, bad=5"), 3, "both sections hold");
	is_str(maphost.ring[1], "0 onex 0", "the second template, from a list");
	ok(got[2].ev.type == GT_ERROR && got[2].ev.value == 3, "and the second section");
	line(m, "b", "k=9 bad=0");
	is_str(maphost.ring[2], "0 9x 0", "beyond the list");
	line(m, "b", "k=Two bad=0");
	is_str(maphost.ring[3], "0 twox 0", "a word");
	is(line(m, "b", "n=ffff91cb1ab1bdd0 bad=0"), 0, "a pointer is no name");
	gt_eventmap_free(m);
}

static const char head[] = "name: b\nID: 77\nformat:\n"
			   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n";

static struct gt_tp *bind(struct gt_eventmap *m, const char *fields, int *rc)
{
	struct gt_tp *tp = m ? gt_eventmap_find(m, "a", "b") : NULL;
	char text[2000];
	int id = 0;

	snprintf(text, sizeof(text), "%s%s\nprint fmt: \"field:int x; offset:0; size:4;\"\n", head,
		 fields);
	*rc = tp ? gt_tp_bind(tp, text, strlen(text), &id, err, sizeof(err)) : -1;
	is(id, 77, "the event's number");
	return tp;
}

static int raw(struct gt_tp *tp, const void *rec, size_t len)
{
	struct gt_evctx c = { .ts = 1, .tid = 7, .pid = 5, .cpu = 1 };

	return gt_tp_raw(tp, &c, rec, len, got, GT_TP_MAX_RECORDS);
}

static void test_bind(void)
{
	/* unaligned, as uprobes lay their fields out; a relative string; one in a fixed array */
	uint8_t rec[64] = {
		[8] = 0xfe, 0xff, [11] = 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x08
	};
	uint32_t loc = 3 | 4 << 16;
	struct gt_eventmap *m =
		load_text("[a/b]\nevent = SUBMIT\nring = {n}-{c}\nctx = ctx\nseqno = s\nref = r\n");
	struct gt_tp *tp;
	int rc;

	memcpy(rec + 20, &loc, 4);
	memcpy(rec + 27, "abc", 4);
	memcpy(rec + 32, "wxyz", 4);
	tp = bind(m,
		  "\tfield:s16 s;\toffset:8;\tsize:2;\tsigned:1;\n"
		  "\tfield:unsigned long __probe_ip;\toffset:11;\tsize:8;\tsigned:0;\n"
		  "\tfield:u64 ctx;\toffset:11;\tsize:8;\n"
		  "\tfield:__rel_loc char[] n;\toffset:20;\tsize:4;\tsigned:0;\n"
		  "\tfield:char c[4];\toffset:32;\tsize:4;\tsigned:0;\n"
		  "\tfield:struct thing * r;\toffset:40;\tsize:8;\tsigned:0;\n",
		  &rc);
	is(rc, 0, "an odd format can be bound");
	is(raw(tp, rec, sizeof(rec)), 1, "a record of it");
	is_str(maphost.ring[0], "0 abc-wxyz 0", "strings");
	is(got[0].ev.seqno, (uint64_t)-2, "a signed field");
	is(got[0].ev.ctx, 0x0877665544332211, "an unaligned one");
	is(got[0].ev.ref, GT_NONE64, "a pointer is not for records");
	is(raw(tp, rec, 35), 0, "a record that ends within a string");
	memset(rec + 11, 0xff, 6);
	memset(rec + 17, 0x88, 1);
	memset(rec + 18, 0xff, 1);
	raw(tp, rec, sizeof(rec));
	is(got[0].ev.ctx, GT_NONE64, "nor is an address in an integer");

	bind(m, "\tfield:char c[4];\toffset:32;\tsize:4;\tsigned:0;\n", &rc);
	is(rc, -EINVAL, "a field that is needed is missing");
	ok(strstr(err, "a/b") && strstr(err, "'n' (a.ini:1)"), "is reported: %s", err);
	is(raw(tp, rec, sizeof(rec)), 0, "such a tracepoint gives nothing");
	bind(m,
	     "\tfield:const char * n;\toffset:8;\tsize:8;\n\tfield:char "
	     "c[4];\toffset:99999;\tsize:4;\n",
	     &rc);
	is(rc, -EINVAL, "a pointer to a string, an offset beyond reason");
	gt_eventmap_free(m);
}

static void test_bounds(void)
{
	struct gt_eventmap *m =
		load_text("[a/sub]\nevent = SUBMIT\nring = {r}\nctx = #e\nseqno = s\n"
			  "fence = f\nmatch = fence\n"
			  "[a/end]\nevent = COMPLETE\nfence = f\nmatch = fence\n");
	const struct gt_eventmap_stats *st;
	char text[100];
	int records = 0;

	if (!ok(m && !err[0], "a map for many jobs"))
		return;
	st = gt_eventmap_stats(m);
	for (int i = 1; i <= GT_MAP_JOBS + 10; i++) {
		snprintf(text, sizeof(text), "r=x e=1 s=%d f=%x", i, i);
		records += line(m, "sub", text);
	}
	is(records, GT_MAP_JOBS + 10, "more jobs than can be remembered");
	is(st->forgotten, 10, "the oldest are forgotten");
	is(line(m, "end", "f=5") + got[0].ev.ring, 1 + GT_NONE16, "such a one ends on no ring");
	is(line(m, "end", "f=c"), 1, "one that is remembered has");
	for (int i = 1; i <= 3 * GT_MAP_SMALL; i++) {
		snprintf(text, sizeof(text), "r=x e=%x s=1 f=1", i % 2 ? 0xabcdef : i);
		line(m, "sub", text);
		if (i == 1)
			records = (int)got[0].ev.ctx;
	}
	line(m, "sub", "r=x e=abcdef s=1 f=1");
	is(got[0].ev.ctx, records, "a pointer in use keeps its number");
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "r=r%d e=1 s=1 f=1", i);
		line(m, "sub", text);
	}
	ok(st->malformed > 2000 && line(m, "sub", "r=r1 e=1 s=1 f=1") == 1,
	   "more rings than the host has room for");
	gt_eventmap_free(m);
}

static uint32_t state = 1;

static uint32_t rnd(uint32_t n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

/* Every shipped section, fed with its own kind of lines and formats, changed at random. */
static void test_hostile(void)
{
	static const char seed[] = "dev=0000:03:00.0, fence=12:1, ring=gfx, engine=1:0, ctx=3, "
				   "seqno=4, id=5 entity=0x12 completed?=1 name=\"a\" vq=0 vdev=1";
	char *format = read_text(source_path("tests/data/format/6.12.txt"));
	struct gt_eventmap *m;
	struct gt_tp *tp;
	char text[1500];
	uint8_t rec[96];

	m = gt_eventmap_load(&maphost_plugin, source_path("conf/events.d"), err, sizeof(err));
	if (!ok(m && format, "the shipped maps"))
		return;
	gt_eventmap_select(m, NULL, NULL, 3);
	for (int round = 0; round < 300; round++) {
		for (unsigned int i = 0; (tp = gt_eventmap_each(m, i)); i++) {
			struct gt_evctx c = { .ts = (uint64_t)round };
			size_t at = rnd((uint32_t)strlen(format)), n = rnd(1400);

			snprintf(text, sizeof(text), "%.*s", (int)n, format + at);
			for (int k = 0; k < 6 && n; k++)
				text[rnd((uint32_t)n)] = (char)rnd(256);
			gt_tp_bind(tp, text, n, NULL, err, sizeof(err));
			for (size_t k = 0; k < sizeof(rec); k++)
				rec[k] = (uint8_t)rnd(rnd(2) ? 4 : 256);
			gt_tp_raw(tp, &c, rec, rnd(sizeof(rec) + 1), got, (int)rnd(5));
			memcpy(text, seed, sizeof(seed));
			for (int k = 0; k < 8; k++)
				text[rnd(sizeof(seed) - 1)] = (char)rnd(256);
			gt_tp_text(tp, &c, text, rnd(sizeof(seed)), got, (int)rnd(5));
			gt_tp_text_dev(tp, text, sizeof(seed), text + 1000, rnd(9));
		}
	}
	ok(true, "hostile formats, records and lines do no harm");
	gt_eventmap_free(m);
	free(format);
}

int main(void)
{
	if (!tmp_dir(dir, "gt-map"))
		return 1;
	test_faults();
	test_files();
	test_trust();
	test_condition();
	test_syntax();
	test_bind();
	test_bounds();
	test_hostile();
	tmp_drop(dir, "a.ini");
	rmdir(dir);
	return done_testing();
}
