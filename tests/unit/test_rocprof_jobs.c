/* SPDX-License-Identifier: GPL-2.0 */
/* Jobs of the rocprof backend: expressions, words, passes, and the largest texts there can be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/rocprof/jobs.h"
#include "../lib/tap.h"

static void test_regex(void)
{
	static const char *const good[] = {
		"",
		"a",
		"a|b",
		"(a)(b)*",
		"[]a",
		"[^]]",
		"a{2}",
		"a{2,}?",
		"\\(\\)\\[",
		"[\\]-a]",
		"(?!a)b",
		"[a-c-]",
		"\\bab\\B",
		"\\x41\\u0041",
		"a]}",
		"[[:digit:]x]",
		"^$",
		"()*",
		"|",
		"\\.\\*\\$",
		"[.*+?(){}|^$]",
	};
	static const char *const bad[] = {
		"(",	")",	"[",	   "[a",     "*",	"a|+",	   "^*",
		"a***", "a{",	"a{2",	   "a{,2}",  "a{2,1}",	"a{1001}", "\\",
		"[\\",	"\\xg", "\\u12",   "[b-a]",  "[a-\\d]", "[[:x:]]", "(?a)",
		"(?",	"((",	"[[.a.]]", "\\1(a)", "\\i",	"\\z",	   "(?=a)*",
	};
	size_t at;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ok(!rp_regex_check(good[i], &at), "an expression: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(rp_regex_check(bad[i], &at) && at <= strlen(bad[i]), "none: %s", bad[i]);
	rp_regex_check("ab(c*", &at);
	is(at, 5, "where it is wrong");
}

/* Words of a line, a "|" after each */
static const char *words(const char *line)
{
	static char out[512];
	char buf[256], *word[4];
	int n = rp_words(line, buf, word, 4);

	snprintf(out, sizeof(out), "%d ", n);
	for (int i = 0; i < n; i++)
		strcat(strcat(out, word[i]), "|");
	return out;
}

static void test_words(void)
{
	is_str(words(""), "0 ", "no word");
	is_str(words(" a\t b "), "2 a|b|", "blanks are between words");
	is_str(words("'a b'\"c d\"e"), "1 a bc de|", "quotes join");
	is_str(words("'' \"\""), "2 ||", "empty words");
	is_str(words("\\' 'a\\' \"\\\"\\$\\a\""), "3 '|a\\|\"$\\a|",
	       "backslashes as sh takes them");
	is_str(words("a b c d"), "4 a|b|c|d|", "as many as there is room for");
	is_str(words("a b c d e"), "-7 ", "one too many");
	is_str(words("a '"), "-22 ", "an open quote");
	is_str(words("a \\"), "-22 ", "an open backslash");
}

static void test_passes(void)
{
	struct rp_passes p;

	is(rp_passes(&p, ""), 0, "no counter");
	is(p.passes, 0, "… takes no pass");
	is(rp_passes(&p, "TCC_A,TCC_B,SQ_A,TCC_C,TCC_D,TCC_E,SQ_B"), 0, "two blocks");
	is(p.passes, 2, "… the hardware reads each at once");
	is(p.pass[5], 1, "… the fifth of a block has to wait");
	is(p.pass[6], 0, "… the other block's not");
	is(rp_passes(&p, "GPUBusy,SQ_A,VALU_x,XYZ_A"), 0, "of no known block");
	is(p.passes, 4, "… each alone");
	is(rp_passes(&p, "GRBM_A,GRBM_B,GRBM_C"), 0, "a block that reads two");
	is(p.passes, 2, "… takes another pass for a third");
}

static void put(char **v, const char *value)
{
	free(*v);
	*v = strdup(value);
}

/* What fits in the settings fits in the texts */
static void test_longest(void)
{
	static char buf[GT_USERDIR_TEXT_MAX], path[4096], value[4096];
	char *v[RP_JOB_FILES] = { 0 };
	struct gt_userdir m = { .name = "longest", .value = v };
	char err[256];
	size_t n = 0;

	for (unsigned int i = 0; i < RP_JOB_FILES; i++)
		v[i] = strdup(rp_jobs.files[i].def ? rp_jobs.files[i].def : "");
	for (unsigned int i = RP_JOB_INCLUDE; i <= RP_JOB_FOLDER; i++)
		if (i == RP_JOB_INCLUDE || i == RP_JOB_EXCLUDE || i == RP_JOB_FOLDER) {
			memset(value, '\'', RP_JOB_LONG);
			value[RP_JOB_LONG] = '\0';
			value[0] = i == RP_JOB_FOLDER ? '/' : value[0];
			is(rp_jobs.files[i].check(value, err, sizeof(err)), 0, "the longest %s",
			   rp_jobs.files[i].name);
			put(&v[i], value);
		}
	for (unsigned int i = 0; i < RP_JOB_COUNTERS_MAX; i++)
		n += (size_t)snprintf(value + n, sizeof(value) - n, "%sC%02d%060d", i ? "," : "", i,
				      0);
	is(rp_jobs.files[RP_JOB_COUNTERS].check(value, err, sizeof(err)), 0, "the most counters");
	put(&v[RP_JOB_COUNTERS], value);
	memset(path, '\'', sizeof(path) - 1);
	rp_job_yaml(NULL, &m, path, buf, sizeof(buf));
	ok(strlen(buf) < sizeof(buf) / 2, "input.yaml fits: %zu", strlen(buf));
	is(rp_job_runs(&m), RP_JOB_COUNTERS_MAX, "… with as many runs");
	memset(value, '\'', 4095);
	value[4094] = '\0';
	for (n = 0; n < 4093; n += 2)
		value[n] = '\\';
	put(&v[RP_JOB_PROGRAM], value);
	is(rp_jobs.files[RP_JOB_PROGRAM].check(value, err, sizeof(err)), 0, "the longest program");
	rp_job_command(NULL, &m, path, buf, sizeof(buf));
	ok(strlen(buf) < sizeof(buf) / 2 && strstr(buf, "# 3.") && buf[strlen(buf) - 1] == '\n',
	   "command fits: %zu", strlen(buf));
	for (unsigned int i = 0; i < RP_JOB_FILES; i++)
		free(v[i]);
}

int main(void)
{
	test_regex();
	test_words();
	test_passes();
	test_longest();
	return done_testing();
}
