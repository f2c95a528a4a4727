/* SPDX-License-Identifier: GPL-2.0 */
/* Settings that are lists: what is taken and refused, with errno, place and words. */
#include <errno.h>
#include <stdlib.h>

#include "../../backend/lib/recording.h"
#include "../../conf/config.h"
#include "../../conf/list.h"
#include "../../fs/model/model.h"
#include "../../fs/text/text.h"
#include "../lib/tap.h"

static void test_numbers(void)
{
	static const struct {
		const char *value;
		int err, at;
	} bad[] = {
		{ "1,,2", -EINVAL, 2 },
		{ ",1", -EINVAL, 0 },
		{ "1,", -EINVAL, 2 },
		{ "1 ,2", -EINVAL, 1 },
		{ "x", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "0x10", -EINVAL, 1 },
		{ "1,!2", -EINVAL, 2 },
		{ "!", -EINVAL, 1 },
		{ "!1,!", -EINVAL, 4 },
		{ "1,99999", -ERANGE, 2 },
		{ "1;2", -EINVAL, 1 },
		{ "18446744073709551616", -ERANGE, 0 },
	};
	struct gt_numbers n;
	char err[128];

	is(gt_list_numbers("", 9, true, &n, err, sizeof(err)), 0, "an empty list");
	is(n.n, 0, "has nothing");
	is(gt_list_numbers("5,3,5,1", 9, true, &n, err, sizeof(err)), 0, "numbers");
	ok(n.n == 3 && n.v[0] == 1 && n.v[1] == 3 && n.v[2] == 5 && !n.but, "upwards, each once");
	is(gt_list_numbers("!5", 9, true, &n, err, sizeof(err)), 0, "all but");
	ok(n.n == 1 && n.but, "is reported");
	is(gt_list_numbers("!5", 9, false, &n, err, sizeof(err)), -EINVAL, "where it may be");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		gt_parse_at = NULL;
		*err = '\0';
		is(gt_list_numbers(bad[i].value, 65535, true, &n, err, sizeof(err)), bad[i].err,
		   "'%s'", bad[i].value);
		is(gt_parse_at - bad[i].value, bad[i].at, "the place of the fault");
		ok(*err, "and a sentence: %s", err);
	}
}

static void test_bounds(void)
{
	char list[4096] = "", err[128];
	struct gt_patterns p;
	struct gt_numbers n;

	for (int i = 0; i < GT_LIST_MAX; i++)
		snprintf(list + strlen(list), 16, "%s%d", i ? "," : "", i);
	is(gt_list_numbers(list, 99, true, &n, err, sizeof(err)), 0, "64 values");
	is(gt_list_rings(list, true, &p, err, sizeof(err)), 0, "64 rings");
	strcat(list, ",64");
	is(gt_list_numbers(list, 99, true, &n, err, sizeof(err)), -E2BIG, "65 are too many");
	is(gt_list_rings(list, true, &p, err, sizeof(err)), -E2BIG, "of rings, too");
	memset(list, 'a', 200);
	list[200] = '\0';
	is(gt_list_rings(list, true, &p, err, sizeof(err)), -EINVAL, "no name is as long");
}

static void test_rings(void)
{
	static const char *const bad[] = {
		"a b", "a\tb", "/", "a/", "/b", "a/b/c", "1,a\x7f", "!"
	};
	static const char *const good[] = { "0",      "!0",	 "sdma*",     "a/b",	 "*/*",
					    "[a-c]?", "!a,!b/c", "gfx_0.0.0", "\xc3\xa4" };
	struct gt_patterns p;
	char err[128];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is(gt_list_rings(bad[i], true, &p, err, sizeof(err)), -EINVAL, "'%s'", bad[i]);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		is(gt_list_rings(good[i], true, &p, err, sizeof(err)), 0, "'%s'", good[i]);
}

static void test_glob(void)
{
	static const struct {
		const char *pattern, *s;
		bool yes;
	} g[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "a*b*c", "aXbYc", true },
		{ "a*b*c", "aXbY", false },
		{ "?", "a", true },
		{ "?", "", false },
		{ "[a-c]", "b", true },
		{ "[a-c]", "d", false },
		{ "[!a-c]", "d", true },
		{ "[]]", "]", true },
		{ "[a", "[a", true },
		{ "[a", "a", false },
		{ "[", "[", true },
		{ "*[0-9]", "ring12", true },
		{ "[a-]", "-", true },
		{ "**", "x", true },
		{ "*a", "aaaa", true },
	};
	char pattern[96], s[4000];

	for (size_t i = 0; i < sizeof(g) / sizeof(g[0]); i++)
		is(gt_glob(g[i].pattern, g[i].s), g[i].yes, "%s: %s", g[i].pattern, g[i].s);
	for (int i = 0; i < 47; i++)
		memcpy(pattern + i * 2, "*a", 3);
	strcat(pattern, "b");
	memset(s, 'a', sizeof(s));
	s[sizeof(s) - 1] = '\0';
	ok(!gt_glob(pattern, s), "a pattern that others never come to an end with");
}

static void test_masks(void)
{
	uint64_t mask;
	char err[128];

	is(gt_list_events("", &mask, err, sizeof(err)), 0, "no events named");
	is(mask, UINT64_MAX, "are all, those to come too");
	is(gt_list_events("0x3", &mask, err, sizeof(err)), 0, "a mask");
	is(mask, 3, "as grtrace has it");
	is(gt_list_events("0xFFFFFFFF", &mask, err, sizeof(err)), 0,
	   "all types of record version 1");
	is(mask, UINT32_MAX, "are the first 32 bits");
	is(gt_list_events("SUBMIT,complete,IRQ", &mask, err, sizeof(err)), 0, "names");
	is(mask, 1 << GT_SUBMIT | 1 << GT_COMPLETE | 1 << GT_IRQ, "are their bits");
	is(gt_list_events("0x8000000000000000", &mask, err, sizeof(err)), 0, "type 63");
	is(mask, 1ull << 63, "has the last bit");
	is(gt_list_events("0x10000000000000000", &mask, err, sizeof(err)), -ERANGE,
	   "too many bits");
	is(gt_list_events("0x", &mask, err, sizeof(err)), -EINVAL, "no digits");
	is(gt_list_events("0x3,SUBMIT", &mask, err, sizeof(err)), -EINVAL, "a mask and more");
	is(gt_list_events("SUBMIT,NOTHING", &mask, err, sizeof(err)), -EINVAL, "no such name");
	for (unsigned int e = 0; e < GT_NENGINES; e++) {
		is(gt_list_engines(gt_engine_name((enum gt_engine)e), &mask, err, sizeof(err)), 0,
		   "engine %s", gt_engine_name((enum gt_engine)e));
		is(mask, 1u << e, "has the bit of its number");
	}
}

/* gputrace.conf, mount options and config/ have this one parser; its words name the key where files
 * do not */
static void test_config(void)
{
	struct gt_config c;
	char err[256];

	gt_config_init(&c);
	is_str(c.filter_pid, "", "a list is empty by default");
	is(gt_config_set(&c, "filter_pid", "1,2", err, sizeof(err)), 0, "a list");
	is(gt_config_set(&c, "filter_pid", "1,x", err, sizeof(err)), -EINVAL, "a bad one");
	ok(!strncmp(err, "filter_pid: ", 12), "is reported by key: %s", err);
	is_str(c.filter_pid, "1,2", "the old value stays");
	is(gt_config_set(&c, "filter_enabled", "2", err, sizeof(err)), -ERANGE, "no yes, no no");
	is(gt_config_set(&c, "sampling_mode", "3", err, sizeof(err)), -ERANGE, "no such choice");
	is(gt_config_set(&c, "sampling_mode", "thresh", err, sizeof(err)), -EINVAL, "none either");
	gt_config_free(&c);
}

/* Paths with what stands between two of them in their names */
static void test_paths(void)
{
	static const char *const names[] = { "a",   "a:b",   ":",      "\\",	"a\\", "a\\\\",
					     "\\:", "a\\:b", "\\a\\b", "\\\\:", ":\\", "b" };
	enum { N = sizeof(names) / sizeof(names[0]) };
	char list[256] = "", *rest = list, *path, alone[] = "a\\";
	unsigned int same = 0;

	for (size_t i = 0; i < N; i++) {
		char *escaped = gt_path_escape(names[i], ':');

		strcat(strcat(list, i ? ":" : ""), escaped);
		free(escaped);
	}
	for (size_t i = 0; (path = gt_path_next(&rest, ':')); i++)
		same += i < N && !strcmp(path, names[i]);
	is(same, N, "colons and backslashes in paths are as they were");
	strcpy(list, "::a\\b::c\\:d:");
	rest = list;
	is_str(gt_path_next(&rest, ':'), "a\\b", "a backslash before something else is one");
	is_str(gt_path_next(&rest, ':'), "c:d", "a colon with one before it is one");
	ok(!gt_path_next(&rest, ':'), "nothing is between two colons");
	rest = alone;
	is_str(gt_path_next(&rest, ':'), "a\\", "a backslash at the very end is one, too");
}

int main(void)
{
	test_paths();
	test_numbers();
	test_bounds();
	test_rings();
	test_glob();
	test_masks();
	test_config();
	return done_testing();
}
