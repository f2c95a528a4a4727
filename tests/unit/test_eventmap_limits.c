/* SPDX-License-Identifier: GPL-2.0 */
/* Limits of event maps: how long, how many, what is just beyond; and formats of tracepoints. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../backend/eventmap/internal.h"
#include "../lib/maphost.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char dir[TMP_PATH_MAX];
static char err[1024];

/* Are all maps read without a complaint? */
static bool are_read(void)
{
	struct gt_eventmap *m = gt_eventmap_load(&maphost_plugin, dir, err, sizeof(err));

	gt_eventmap_free(m);
	return m && !err[0];
}

static bool is_read(const char *text)
{
	tmp_put(dir, "a.ini", text, strlen(text));
	return are_read();
}

/* @n letters */
static const char *letters(unsigned int n)
{
	static char word[256];

	memset(word, 'w', n);
	word[n] = '\0';
	return word;
}

/* Between @before and @after a word of @n letters is read, one of more is not */
static void most(unsigned int n, const char *before, const char *after, const char *what)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s%s%s", before, letters(n), after);
	ok(is_read(text), "%s of %u letters: %s", what, n, err);
	snprintf(text, sizeof(text), "%s%s%s", before, letters(n + 1), after);
	ok(!is_read(text), "not of %u: %s", n + 1, err);
}

static void lengths(void)
{
	most(63, "[", "/b]\nevent = IRQ\n", "a system");
	most(63, "[a/", "]\nevent = IRQ\n", "an event");
	most(63, "[a/", " 2]\nevent = IRQ\n", "an event with a number");
	most(31, "[map]\ndriver = ", "\n[a/b]\nevent = IRQ\n", "a driver");
	most(31, "[map]\nmodule = ", "\n[a/b]\nevent = IRQ\n", "a module");
	most(31, "[a/b]\nevent = CUSTOM0\nname = ", "\n", "a name");
	most(sizeof(((struct gt_ref *)0)->field) - 1, "[a/b]\nevent = IRQ\nvalue = ", "\n",
	     "a field");
	most(sizeof(((struct gt_ref *)0)->key) - 1, "[a/b]\nevent = IRQ\nvalue = v@", "\n",
	     "a key");
	most(127, "[a/b]\nevent = IRQ\nunless = ", "\n", "another tracepoint");
	most(23, "[a/b]\nevent = IRQ\nring = ", "{r}\n", "text in a template");
	most(95, "[a/b]\nevent = IRQ\nring = {r|", "}\n", "a list of words");
	most(31, "[a/b]\nevent = IRQ\nwhere = f ~ ", "\n", "the end of a string");
}

static void syntax(void)
{
	static const struct {
		bool good;
		const char *text;
	} maps[] = {
		{ true, "[a-b/c-d]\nevent = IRQ\n" },
		{ true, "[a_9/c_9 12]\nevent = IRQ\n" },
		{ false, "[a.b/c]\nevent = IRQ\n" },
		{ false, "[a/b x]\nevent = IRQ\n" },
		{ false, " [a/b]\nevent = IRQ\n" },
		{ true, "[map]\ndriver =\n[a/b]\nevent = IRQ\n" },
		{ true, "[a/b]\nevent = SUBMIT COMMIT,START END\nring = r\n" },
		{ false, "[a/b]\nevent = SUBMIT COMMIT START END COMPLETE\nring = r\n" },
		{ false, "[a/b]\nevent = CUSTOM0 CUSTOM1\nname = x\n" },
		{ false, "[a/b]\nevent = IRQ CUSTOM0\nname = x\n" },
		{ false, "[a/b]\nevent =\n" },
		{ true, "[a/b]\nevent = IRQ\nunless = a b c d e f g h\n" },
		{ false, "[a/b]\nevent = IRQ\nunless = a b c d e f g h i\n" },
		{ true, "[a/b]\nevent = IRQ\nrequires = a b c d e f g h\n" },
		{ false, "[a/b]\nevent = IRQ\nrequires = a b c d e f g h i\n" },
		{ true, "[a/b]\nevent = IRQ\nunless_heard = a b c d e f g h\n" },
		{ false, "[a/b]\nevent = IRQ\nunless_heard = a b c d e f g h i\n" },
		{ true, "[a/b]\nevent = IRQ\nring = {a}{b}{c}{d} || {a}\n" },
		{ false, "[a/b]\nevent = IRQ\nring = {a}{b}{c}{d}e\n" },
		{ false, "[a/b]\nevent = IRQ\nring = a || b || c\n" },
		{ true, "[a/b]\nevent = IRQ\nring = {a|x,y!}\n" },
		{ false, "[a/b]\nevent = IRQ\nring = {a|x y}\n" },
		{ false, "[a/b]\nevent = IRQ\nring = {a|x/y}\n" },
		{ false, "[a/b]\nevent = IRQ\nring = a || \n" },
		{ true, "[a/b]\nevent = IRQ\nring = r\nctx = c\nseqno = s\nfence = f\n"
			"match = ctx | seqno ring | ring | fence\n" },
		{ false, "[a/b]\nevent = IRQ\nring = r\nctx = c\nseqno = s\nfence = f\n"
			 "match = ctx | seqno | ring | fence | ctx seqno\n" },
		{ false, "[a/b]\nevent = IRQ\nctx = c\nmatch = ctx |\n" },
		{ false, "[a/b]\nevent = IRQ\nctx = c\nmatch = | ctx\n" },
		{ false, "[a/b]\nevent = IRQ\nctx = c\nmatch = seqno\n" },
		{ false, "[a/b]\nevent = IRQ\nctx = c\nmatch = ring\n" },
		{ false, "[a/b]\nevent = COMPLETE\nring = r\nctx = c\nmatch = order ctx\n" },
		{ false, "[a/b]\nevent = IRQ\nring = r\nmatch = order\n" },
		{ true, "[a/b]\nevent = COMPLETE\nring = r\nmatch = order\n" },
		{ true, "[a/b]\nevent = IRQ\nvalue = v@k:9\nref = v@%9:0\n" },
		{ false, "[a/b]\nevent = IRQ\nvalue = v@k:10\n" },
		{ false, "[a/b]\nevent = IRQ\nvalue = v@k:x\n" },
		{ false, "[a/b]\nevent = IRQ\nvalue = v@%10\n" },
		{ false, "[a/b]\nevent = IRQ\nvalue = v@\n" },
		{ false, "[a/b]\nevent = IRQ\nvalue = @k\n" },
		{ false, "[a/b]\nevent = IRQ\nvalue = v.w\n" },
		{ true, "[a/b]\nevent = IRQ\nvalue = 18446744073709551615\n" },
		{ false, "[a/b]\nevent = IRQ\nvalue = 18446744073709551616\n" },
		{ true, "[a/b]\nevent = IRQ\nvalue = 0x10\nctx = #a\nseqno = a*2+b*3\n" },
		{ false, "[a/b]\nevent = IRQ\nvalue = 5 x\n" },
		{ false, "[a/b]\nevent = IRQ\nvalue = a * x\n" },
		{ false, "[a/b]\nevent = IRQ\nvalue = a + b * x\n" },
		{ true, "[a/b]\nevent = IRQ\nwhere = a != 3\n" },
		{ true, "[a/b]\nevent = IRQ\nwhere = a & 0xff\n" },
		{ false, "[a/b]\nevent = IRQ\nwhere = a & -1\n" },
		{ true, "[a/b]\nevent = IRQ\nlevel = verbose\n" },
		{ true, "[a/b]\nevent = IRQ\nlevel = normal\n" },
		{ true, "[a/b]\nevent = SUBMIT\nctx = c\nmatch = ctx\nunknown_job = ignore\n" },
		{ false, "[a/b]\nevent = SUBMIT\nctx = c\nmatch = ctx\nunknown_job = keep\n" },
		{ true, "[a/b]\nevent = IRQ\nctx = c\nmatch = ctx\nunknown_job = keep\n" },
		{ true, "[a/b]\nevent = IRQ\nctx = c\nmatch = ctx\nunknown_job = same_file\n" },
		{ true,
		  "[a/b]\nevent = IRQ\nring = r\nctx = c\nmatch = ctx\nunknown_job = ring\n" },
		{ false, "[a/b]\nevent = IRQ\nctx = c\nmatch = ctx\nunknown_job = ring\n" },
		{ true, "[a/b]\nevent = JOB_DEPENDS\nctx = c\nref = r\nvalue = v\n" },
		{ false, "[a/b]\nevent = JOB_DEPENDS\nctx = c\nvalue = v\n" },
		{ true, "[a/b]\nevent = CUSTOM0\nname = x\n[a/c]\nevent = CUSTOM0\nname = x\n" },
		{ false, "[a/b]\nevent = CUSTOM0\nname = x\n[a/c]\nevent = CUSTOM0\nname = y\n" },
		{ true, "[a/b]\nevent = CUSTOM0\nname = x\n[a/c]\nevent = CUSTOM1\nname = y\n" },
		{ true, "[a/b]\nevent = CUSTOM6\nname = x\n" },
		{ false, "[a/b]\nevent = IRQ\n[a/c]\n" },
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		ok(is_read(maps[i].text) == maps[i].good, "%s: %s%s", maps[i].good ? "good" : "bad",
		   maps[i].text, err);
}

/* Names of one event in two files */
static void names(void)
{
	static const char two[] = "[a/c]\nevent = CUSTOM0\nname = two\n";

	tmp_put(dir, "b.ini", two, strlen(two));
	ok(!is_read("[a/b]\nevent = CUSTOM0\nname = one\n") && strstr(err, "CUSTOM0 is called one"),
	   "the first event of its own has one name: %s", err);
	ok(is_read("[a/b]\nevent = CUSTOM0\nname = two\n"), "which may be given twice");
	ok(is_read("[a/b]\nevent = CUSTOM1\nname = one\n"), "another has its own");
	tmp_drop(dir, "b.ini");
}

static void sizes(void)
{
	static char big[GT_MAP_FILE_SIZE + 2];
	char *p = big;

	memset(big, '\n', sizeof(big));
	memcpy(big, "[a/b]\nevent = IRQ", 17);
	tmp_put(dir, "a.ini", big, GT_MAP_FILE_SIZE);
	ok(are_read(), "a file may have 64 KiB: %s", err);
	tmp_put(dir, "a.ini", big, GT_MAP_FILE_SIZE + 1);
	ok(!are_read(), "and no byte more: %s", err);
	tmp_put(dir, "a.ini", "[a/b]\nevent = IRQ\n\0", 19);
	ok(!are_read() && strstr(err, "not a text"), "it is text: %s", err);
	tmp_put(dir, "a.ini", "", 0);
	ok(!are_read() && strstr(err, "no event map"), "an empty one has no map: %s", err);
	for (int i = 0; i < GT_MAP_SECTIONS; i++)
		p += sprintf(p, "[a/b %d]\nevent = IRQ\n", i);
	tmp_put(dir, "a.ini", big, (size_t)(p - big));
	ok(are_read(), "512 sections: %s", err);
	tmp_put(dir, "b.ini", "[a/b]\nevent = IRQ\n", 18);
	ok(!are_read() && strstr(err, "more than 512 sections in all"), "not in all files: %s",
	   err);
	tmp_drop(dir, "b.ini");
	p += sprintf(p, "[a/b 512]\nevent = IRQ\n");
	tmp_put(dir, "a.ini", big, (size_t)(p - big));
	ok(!are_read() && strstr(err, "more than 512 sections"), "nor in one: %s", err);
}

static void files(void)
{
	char name[24];

	ok(is_read("[a/b]\nevent = IRQ\n"), "a map");
	tmp_put(dir, ".b.ini", "what", 4);
	tmp_put(dir, "b.ini2", "what", 4);
	tmp_put(dir, ".ini", "what", 4);
	tmp_put(dir, "ini", "what", 4);
	ok(are_read(), "other files are none: %s", err);
	tmp_drop(dir, ".b.ini");
	tmp_drop(dir, "b.ini2");
	tmp_drop(dir, ".ini");
	tmp_drop(dir, "ini");
	for (int i = 1; i <= GT_MAP_FILES; i++) {
		if (i == GT_MAP_FILES)
			ok(are_read(), "64 files: %s", err);
		snprintf(name, sizeof(name), "m%d.ini", i);
		tmp_put(dir, name, "[a/b]\nevent = IRQ\n", 18);
	}
	ok(!are_read() && strstr(err, "more than 64 maps"), "and no more: %s", err);
	for (int i = 1; i <= GT_MAP_FILES; i++) {
		snprintf(name, sizeof(name), "m%d.ini", i);
		tmp_drop(dir, name);
	}
}

static enum gt_format_kind kind(const char *line, const char *name, unsigned int *size)
{
	*size = 0;
	return gt_format_field(line, strlen(line), name, size);
}

#define AT "\toffset:8;\tsize:"

static void formats(void)
{
	static const struct {
		const char *line;
		int kind;
		unsigned int size;
	} fields[] = {
		{ "\tfield:int x;" AT "4;\tsigned:1;\n", GT_F_SIGNED, 4 },
		{ "\tfield:int x;" AT "4;\tsigned:1;", GT_F_SIGNED, 4 },
		{ "\tfield:u64 x;" AT "8;\tsigned:0;\n", GT_F_UNSIGNED, 8 },
		{ "\tfield:u16 x ;" AT "2;\n", GT_F_UNSIGNED, 2 },
		{ "\tfield:unsigned char x;" AT "1;\n", GT_F_UNSIGNED, 1 },
		{ "\tfield:struct y * x;" AT "8;\n", GT_F_POINTER, 8 },
		{ "\tfield:char x[16];" AT "16;\n", GT_F_STRING, 16 },
		{ "\tfield:char x[16] ;" AT "16;\n", GT_F_STRING, 16 },
		{ "\tfield:u8 x[6];" AT "6;\n", GT_F_STRING, 6 },
		{ "\tfield:uint8_t x[6];" AT "6;\n", GT_F_STRING, 6 },
		{ "\tfield:__data_loc char[] x;" AT "4;\n", GT_F_STRING, 4 },
		{ "\tfield:__rel_loc char[] x;" AT "4;\n", GT_F_STRING, 4 },
		{ "\tfield:__data_loc char[] x;" AT "8;\n", -1, 8 },
		{ "\tfield:__data_loc int[] x;" AT "4;\n", -1, 4 },
		{ "\tfield:int x[4];" AT "16;\n", -1, 16 },
		{ "\tfield:charm x[4];" AT "4;\n", -1, 4 },
		{ "\tfield:my_char x[4];" AT "4;\n", -1, 4 },
		{ "\tfield:int x;" AT "3;\n", -1, 3 },
		{ "\tfield:int x;" AT "16;\n", -1, 16 },
		{ "\tfield:int x;\toffset:65535;\tsize:4;\n", GT_F_UNSIGNED, 4 },
		{ "\tfield:int x;\toffset:0;\tsize:4;\n", GT_F_UNSIGNED, 4 },
		{ "\tfield:int x;\toffset:65536;\tsize:4;\n", GT_F_ABSENT, 0 },
		{ "\tfield:int x;\toffset:-1;\tsize:4;\n", GT_F_ABSENT, 0 },
		{ "\tfield:int x;\toffset:;\tsize:4;\n", GT_F_ABSENT, 0 },
		{ "\tfield:int x;\tsize:4;\n", GT_F_ABSENT, 0 },
		{ "\tfield:int x;\toffset:8;\n", GT_F_ABSENT, 0 },
		{ "\tfield:int x;\toffset:8;\tsize:65536;\n", GT_F_ABSENT, 0 },
		{ "\tfield:int y;" AT "4;\n", GT_F_ABSENT, 0 },
		{ "\tfield:int xx;" AT "4;\n", GT_F_ABSENT, 0 },
		{ "\tfield:;" AT "4;\n", GT_F_ABSENT, 0 },
		{ "\tfield:int x" AT "4\n", GT_F_ABSENT, 0 },
		{ "print fmt: field:int x;" AT "4;\n", GT_F_ABSENT, 0 },
		{ "\tfield:int a;" AT "4;\n\n\tfield:u8 x;" AT "1;\n", GT_F_UNSIGNED, 1 },
		{ "", GT_F_ABSENT, 0 },
	};
	static char many[65 * 40];
	char line[1024];
	unsigned int size;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		int got = kind(fields[i].line, "x", &size);

		if (fields[i].kind >= 0)
			is(got, fields[i].kind, "%s", fields[i].line);
		else
			ok(got != GT_F_SIGNED && got != GT_F_UNSIGNED && got != GT_F_POINTER &&
				   got != GT_F_STRING,
			   "of no use: %s", fields[i].line);
		is(size, fields[i].size, "... its size");
	}
	for (unsigned int n = 63; n < 65; n++) {
		snprintf(line, sizeof(line), "\tfield:int %s;" AT "4;\n", letters(n));
		is(kind(line, letters(n), &size) == GT_F_UNSIGNED, n == 63, "a name of %u letters",
		   n);
	}
	for (unsigned int n = 157; n < 159; n++) {
		snprintf(line, sizeof(line), "\tfield:%s x;" AT "4;\n", letters(n));
		is(kind(line, "x", &size) == GT_F_UNSIGNED, n == 157, "a type of %u letters", n);
	}
	for (int i = 0; i < 65; i++)
		sprintf(many + strlen(many), "\tfield:int f%d;" AT "4;\n", i);
	ok(kind(many, "f63", &size) && !kind(many, "f64", &size), "64 fields, and no more");
	for (unsigned int n = 511; n < 513; n++) {
		snprintf(line, sizeof(line), "\tfield:int x;%*s\n", (int)n - 13, AT "4;");
		is(kind(line, "x", &size) == GT_F_UNSIGNED, n == 511, "a line of %u letters", n);
	}
}

int main(void)
{
	if (!tmp_dir(dir, "gt-limits"))
		return !ok(false, "a folder");
	lengths();
	syntax();
	names();
	sizes();
	files();
	formats();
	tmp_drop(dir, "a.ini");
	rmdir(dir);
	return done_testing();
}
