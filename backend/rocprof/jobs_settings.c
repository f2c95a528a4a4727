/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files of a job, and what each setting may be. What is written there is quoted for YAML and
 * for sh(1) later; that it is one line of plain ASCII is seen to here, so that neither has anything
 * else to hide.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"

/* Words as sh(1) takes them, and as it is given them. */

/* struct split - @q: the quote that is open, 0: none; @in: within a word */
struct split {
	char *to, q;
	bool in;
	int n;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

/* One character of the line, or two after a backslash; how many */
static size_t take(struct split *w, const char *s)
{
	if (w->q != '\'' && *s == '\\') {
		if (!s[1])
			return 0;
		if (w->q && !strchr("\\\"$`", s[1]))
			*w->to++ = '\\';
		*w->to++ = s[1];
		return 2;
	}
	if (*s == w->q)
		w->q = 0;
	else if (!w->q && (*s == '\'' || *s == '"'))
		w->q = *s;
	else
		*w->to++ = *s;
	return 1;
}

int rp_words(const char *line, char *buf, char *word[], int max)
{
	struct split w = { .to = buf };
	size_t n;

	for (const char *s = line; *s; s += n) {
		n = 1;
		if (!w.q && blank(*s)) {
			if (w.in)
				*w.to++ = '\0';
			w.in = false;
			continue;
		}
		if (!w.in && w.n == max)
			return -E2BIG;
		if (!w.in)
			word[w.n++] = w.to;
		w.in = true;
		n = take(&w, s);
		if (!n)
			return -EINVAL;
	}
	if (w.q)
		return -EINVAL;
	*w.to = '\0';
	return w.n;
}

void rp_quote(struct gt_details *d, const char *s, const char *quote)
{
	size_t n;

	gt_detail(d, "'");
	for (; *s; s += n + (s[n] == '\'')) {
		n = strcspn(s, "'");
		gt_detail(d, "%.*s%s", (int)n, s, s[n] ? quote : "");
	}
	gt_detail(d, "'");
}

char *rp_list_next(char **list)
{
	char *item = strsep(list, ","), *end;

	if (!item)
		return NULL;
	while (blank(*item))
		item++;
	for (end = item + strlen(item); end > item && blank(end[-1]); end--)
		;
	*end = '\0';
	return item;
}

/*
 * Is it a regular expression as rocprofv3 takes it: std::regex, of the ECMAScript grammar? It is
 * only looked through, from left to right: to compile what anybody wrote may take all memory.
 */

#define DEPTH  32   /* of parentheses */
#define REPEAT 1000 /* of {m,n} */

/* struct scan - @atom: there is something that a quantifier may follow; @ahead: a bit for each open
 * group: it only looks ahead */
struct scan {
	const char *s;
	size_t i;
	unsigned int depth;
	uint64_t ahead;
	bool atom;
	const char *wrong;
};

static void wrong(struct scan *c, const char *what)
{
	if (!c->wrong)
		c->wrong = what;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* After a backslash; the character that it means, -1: a class of them */
static int escape(struct scan *c)
{
	char e = c->s[c->i];
	unsigned int digits = e == 'x' ? 2 : e == 'u' ? 4 : 0;

	if (!e) {
		wrong(c, "a backslash at the end");
		return -1;
	}
	c->i++;
	for (; digits; digits--)
		if (!is_hex(c->s[c->i++])) {
			c->i--;
			wrong(c, "\\x takes two hexadecimal digits, \\u four");
			return -1;
		}
	if (is_digit(e) && e != '0')
		wrong(c, "a reference to a group");
	if (strchr("abefghijklmopqyzACEFGHIJKLMNOPQRTUVXYZ", e) && !strchr("bfB", e))
		wrong(c, "an escape that there is not");
	return strchr("dDsSwWbBxufnrtv0", e) ? -1 : e;
}

/* One character or class within brackets; -1: no single one */
static int in_bracket(struct scan *c)
{
	char kind = c->s[c->i + 1];
	const char *end;

	if (c->s[c->i] == '\\') {
		c->i++;
		return escape(c);
	}
	if (c->s[c->i] != '[' || !kind || !strchr(":.=", kind))
		return (unsigned char)c->s[c->i++];
	static const char *const classes[] = {
		"alpha", "digit", "alnum", "upper", "lower", "space",
		"punct", "print", "graph", "cntrl", "blank", "xdigit"
	};
	end = strchr(c->s + c->i + 2, ':');
	for (size_t k = 0; kind == ':' && end && end[1] == ']' && k < 12; k++)
		if (strlen(classes[k]) == (size_t)(end - c->s) - c->i - 2 &&
		    !memcmp(classes[k], c->s + c->i + 2, strlen(classes[k]))) {
			c->i = (size_t)(end - c->s) + 2;
			return -1;
		}
	wrong(c, "a class that there is not");
	c->i++;
	return -1;
}

static void bracket(struct scan *c)
{
	int from, to;

	c->i++;
	if (c->s[c->i] == '^')
		c->i++;
	while (c->s[c->i] && c->s[c->i] != ']' && !c->wrong) {
		from = in_bracket(c);
		if (c->s[c->i] != '-' || !c->s[c->i + 1] || c->s[c->i + 1] == ']')
			continue;
		c->i++;
		to = in_bracket(c);
		if (from < 0 || to < 0 || from > to)
			wrong(c, "a range that goes backwards, or of a class");
	}
	if (!c->s[c->i])
		wrong(c, "a [ that is not closed");
	else
		c->i++;
	c->atom = true;
}

static unsigned int regex_number(struct scan *c)
{
	unsigned int v = 0;

	if (!is_digit(c->s[c->i]))
		wrong(c, "a { without a number");
	for (; is_digit(c->s[c->i]); c->i++)
		v = v > REPEAT ? v : v * 10 + (unsigned int)(c->s[c->i] - '0');
	return v;
}

static void braces(struct scan *c)
{
	unsigned int min, max;

	c->i++;
	min = max = regex_number(c);
	if (c->s[c->i] == ',') {
		c->i++;
		if (c->s[c->i] != '}')
			max = regex_number(c);
	}
	if (c->s[c->i] != '}')
		wrong(c, "a { that is not closed");
	else if (min > max || max > REPEAT)
		wrong(c, "a { } that goes backwards, or past 1000");
	else
		c->i++;
}

static void quantifier(struct scan *c)
{
	if (!c->atom) {
		wrong(c, "nothing that could be repeated");
		return;
	}
	if (c->s[c->i] == '{')
		braces(c);
	else
		c->i++;
	if (c->s[c->i] == '?') /* not greedy */
		c->i++;
	c->atom = false;
}

static void open_group(struct scan *c)
{
	bool ahead = false;

	c->i++;
	if (c->s[c->i] == '?') {
		if (!c->s[c->i + 1] || !strchr(":=!", c->s[c->i + 1]))
			wrong(c, "a (? that there is not");
		else
			ahead = c->s[c->i + 1] != ':';
		c->i += 2 * !c->wrong;
	}
	if (++c->depth > DEPTH)
		wrong(c, "too many parentheses in one another");
	c->ahead = c->ahead << 1 | ahead;
	c->atom = false;
}

static void close_group(struct scan *c)
{
	if (!c->depth) {
		wrong(c, "a ) too much");
		return;
	}
	c->depth--;
	c->i++;
	c->atom = !(c->ahead & 1);
	c->ahead >>= 1;
}

static void step(struct scan *c)
{
	switch (c->s[c->i]) {
	case '\\':
		c->i++;
		c->atom = c->s[c->i] != 'b' && c->s[c->i] != 'B';
		escape(c);
		break;
	case '[':
		bracket(c);
		break;
	case '(':
		open_group(c);
		break;
	case ')':
		close_group(c);
		break;
	case '*':
	case '+':
	case '?':
	case '{':
		quantifier(c);
		break;
	case '|':
	case '^':
	case '$':
		c->i++;
		c->atom = false;
		break;
	default:
		c->i++;
		c->atom = true;
	}
}

const char *rp_regex_check(const char *s, size_t *at)
{
	struct scan c = { .s = s };

	while (s[c.i] && !c.wrong) {
		*at = c.i;
		step(&c);
	}
	if (!c.wrong && c.depth) {
		*at = c.i;
		wrong(&c, "a ( that is not closed");
	}
	return c.wrong;
}

/*
 * Counters by passes: a block of the hardware reads few at once, and rocprofv3 that is asked for
 * more in one job lets each kernel run again, by which some GPUs hang. What is computed from we do
 * not know which counters has a pass of its own.
 */

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

static int plain(const char *v, size_t most, char *err, size_t len)
{
	if (strlen(v) > most) {
		snprintf(err, len, "at most %zu bytes, this has %zu", most, strlen(v));
		return -E2BIG;
	}
	for (const char *c = v; *c; c++)
		if (*c < ' ' || *c > '~') {
			snprintf(err, len, "only printable ASCII, not byte %zu",
				 (size_t)(c - v) + 1);
			return -EINVAL;
		}
	return 0;
}

static int check_words(const char *v, const char *what, char **word, char *buf, char *err,
		       size_t len)
{
	int n = plain(v, 4095, err, len);

	if (n)
		return n;
	n = rp_words(v, buf, word, RP_JOB_WORDS);
	if (n == -EINVAL)
		snprintf(err, len, "a quote, or a backslash at the end, is open");
	else if (n < 0)
		snprintf(err, len, "at most %d %s", RP_JOB_WORDS, what);
	return n;
}

static int check_program(const char *v, char *err, size_t len)
{
	char buf[4096], *word[RP_JOB_WORDS];
	int n = check_words(v, "words", word, buf, err, len);

	if (n <= 0)
		return n;
	if (**word && **word != '-')
		return 0;
	snprintf(err, len, "a program, then its arguments");
	return -EINVAL;
}

static int check_env(const char *v, char *err, size_t len)
{
	char buf[4096], *word[RP_JOB_WORDS];
	int n = check_words(v, "variables", word, buf, err, len);

	for (int i = 0; i < n; i++) {
		size_t k = strcspn(word[i], "=");

		if (word[i][k] && k && !isdigit((unsigned char)*word[i]) &&
		    strspn(word[i],
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == k)
			continue;
		snprintf(err, len, "NAME=VALUE, blanks between two, not '%.64s'", word[i]);
		return -EINVAL;
	}
	return n < 0 ? n : 0;
}

static int check_regex(const char *v, char *err, size_t len)
{
	int ret = plain(v, RP_JOB_LONG, err, len);
	const char *wrong;
	size_t at = 0;

	if (ret)
		return ret;
	wrong = rp_regex_check(v, &at);
	if (!wrong)
		return 0;
	snprintf(err, len, "no regular expression: %s, at character %zu", wrong, at + 1);
	return -EINVAL;
}

/* "3" or "2-4"; what is left of @s after it, NULL: it is neither */
static const char *range(const char *s, uint64_t *from, uint64_t *to)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return NULL;
	*from = *to = strtoull(s, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return NULL;
		*to = strtoull(end + 1, &end, 10);
	}
	return end;
}

static int check_iterations(const char *v, char *err, size_t len)
{
	int ret = plain(v, RP_JOB_LONG, err, len), n = 0;
	char list[RP_JOB_LONG + 1], *rest = list, *item;
	uint64_t from, to;

	if (ret)
		return ret;
	strcpy(list, v);
	while (*v && (item = rp_list_next(&rest))) {
		const char *end = range(item, &from, &to);

		if (!end || *end || ++n > RP_JOB_RANGES) {
			snprintf(err, len, "up to %d numbers and ranges, as 1,3-5", RP_JOB_RANGES);
			return -EINVAL;
		}
		if (from > to || to > 1000000000) {
			snprintf(err, len, "'%.32s' goes backwards, or past 1000000000", item);
			return -ERANGE;
		}
	}
	return 0;
}

static int check_counters(const char *v, char *err, size_t len)
{
	struct rp_passes p;
	int ret = plain(v, 4095, err, len);

	if (ret)
		return ret;
	if (rp_passes(&p, v)) {
		snprintf(err, len, "at most %d counters", RP_JOB_COUNTERS_MAX);
		return -E2BIG;
	}
	for (unsigned int i = 0; i < p.n; i++) {
		const char *s = p.name[i];

		while (isalnum((unsigned char)*s) || *s == '_')
			s++;
		if (*s || s == p.name[i] || isdigit((unsigned char)*p.name[i]) ||
		    s - p.name[i] > 64) {
			snprintf(err, len, "'%.64s' is no name of a counter", p.name[i]);
			return -EINVAL;
		}
		for (unsigned int k = 0; k < i; k++)
			if (!strcmp(p.name[k], p.name[i])) {
				snprintf(err, len, "%.64s is there twice", p.name[i]);
				return -EINVAL;
			}
	}
	return 0;
}

/* A list of some of @of, none twice */
static int check_some(const char *v, const char *const *of, char *err, size_t len)
{
	char list[256], *rest = list, *item;
	unsigned int seen = 0, i;

	if (strlen(v) >= sizeof(list))
		return -E2BIG;
	strcpy(list, v);
	while (*v && (item = rp_list_next(&rest))) {
		for (i = 0; of[i] && strcmp(of[i], item); i++)
			;
		if (of[i] && !(seen & 1u << i)) {
			seen |= 1u << i;
			continue;
		}
		snprintf(err, len, "'%.32s' is not one of", item);
		for (i = 0; of[i]; i++)
			if (strlen(err) + strlen(of[i]) + 2 < len)
				strcat(strcat(err, i ? "," : " "), of[i]);
		return -EINVAL;
	}
	return 0;
}

static int check_traces(const char *v, char *err, size_t len)
{
	static const char *const names[] = {
		"kernel",	  "hip",  "hsa",     "marker", "memory_copy", "memory_allocation",
		"scratch_memory", "rccl", "runtime", "sys",    NULL
	};

	return check_some(v, names, err, len);
}

static int check_formats(const char *v, char *err, size_t len)
{
	static const char *const names[] = { "csv", "json", "pftrace", "otf2", "rocpd", NULL };

	if (*v)
		return check_some(v, names, err, len);
	snprintf(err, len, "some of csv,json,pftrace,otf2,rocpd");
	return -EINVAL;
}

/* A number, 0x… too */
uint64_t rp_job_number(const char *v, char **end)
{
	bool hex = v[0] == '0' && (v[1] == 'x' || v[1] == 'X');

	return strtoull(v, end, hex ? 16 : 10);
}

static int number(const char *v, uint64_t min, uint64_t max, char *err, size_t len)
{
	bool hex = v[0] == '0' && (v[1] == 'x' || v[1] == 'X');
	uint64_t n;
	char *end;

	errno = 0;
	n = rp_job_number(v, &end);
	if (*end || !isxdigit((unsigned char)v[hex ? 2 : 0])) {
		snprintf(err, len, "a number, decimal or 0x and hexadecimal");
		return -EINVAL;
	}
	if (!errno && n >= min && n <= max)
		return 0;
	snprintf(err, len, "%" PRIu64 " to %" PRIu64, min, max);
	return -ERANGE;
}

#define NUMBER(name, min, max)                                                                     \
	static int check_##name(const char *v, char *err, size_t len)                              \
	{                                                                                          \
		return number(v, min, max, err, len);                                              \
	}
NUMBER(bool, 0, 1)
NUMBER(cu, 0, 15)
NUMBER(se, 1, UINT32_MAX)
NUMBER(simd, 0, 15)
NUMBER(buffer, 1 << 20, 2147483648u)
NUMBER(activity, 0, 16)
NUMBER(consecutive, 0, 1000000)

static int check_gpus(const char *v, char *err, size_t len)
{
	char list[256], *rest = list, *item;
	int ret = 0;

	if (strlen(v) >= sizeof(list))
		return -E2BIG;
	strcpy(list, v);
	while (*v && !ret && (item = rp_list_next(&rest)))
		ret = number(item, 0, 255, err, len);
	return ret;
}

static int check_path(const char *v, char *err, size_t len)
{
	int ret = plain(v, RP_JOB_LONG, err, len);

	if (ret || !*v)
		return ret;
	for (const char *s = v; *s == '/'; s += strcspn(s, "/")) {
		size_t n = strcspn(++s, "/");

		if ((n == 1 && *s == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
			ret = -EINVAL;
	}
	if (*v == '/' && v[strspn(v, "/")] && !ret)
		return 0;
	snprintf(err, len, "a whole path, from / on, without . and ..");
	return -EINVAL;
}

static int check_container(const char *v, char *err, size_t len)
{
	size_t n = strspn(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");

	if (!v[n] && n <= 128 && (!n || isalnum((unsigned char)*v)))
		return 0;
	snprintf(err, len, "name or id of a container: A-Z a-z 0-9 _ . -");
	return -EINVAL;
}

static const struct gt_userdir_file files[] = {
	[RP_JOB_PROGRAM] = { "program",
			     "what to run, with its arguments; quotes as for sh, nothing is "
			     "expanded",
			     .check = check_program },
	[RP_JOB_INCLUDE] = { "kernel_include",
			     "kernels to look at: a regular expression; empty: all",
			     .check = check_regex },
	[RP_JOB_EXCLUDE] = { "kernel_exclude", "kernels to leave out", .check = check_regex },
	[RP_JOB_ITERATIONS] = { "kernel_iterations",
				"which runs of each kernel, from 1, as 1,3-5; empty: rocprofv3's "
				"default",
				.check = check_iterations },
	[RP_JOB_COUNTERS] = { "counters",
			      "hardware counters, with commas; read in as many runs as they need",
			      .check = check_counters },
	[RP_JOB_TRACES] = { "traces", "what to trace: kernel, hip, hsa, marker, memory_copy, …",
			    .def = "kernel", .check = check_traces },
	[RP_JOB_ATT] = { "att", "0, 1: a thread trace, of each instruction", .def = "0",
			 .check = check_bool },
	[RP_JOB_ATT_CU] = { "att_target_cu", "compute unit to trace the instructions of",
			    .def = "1", .check = check_cu },
	[RP_JOB_ATT_SE] = { "att_shader_engine_mask", "shader engines that are traced",
			    .def = "0xf", .check = check_se },
	[RP_JOB_ATT_SIMD] = { "att_simd_select", "SIMDs: a mask on gfx9, else a number",
			      .def = "0xf", .check = check_simd },
	[RP_JOB_ATT_BUFFER] = { "att_buffer_size", "bytes for the trace, 1 MiB to 2 GiB",
				.def = "100663296", .check = check_buffer },
	[RP_JOB_ATT_SERIALIZE] = { "att_serialize_all", "0, 1: other kernels wait too", .def = "0",
				   .check = check_bool },
	[RP_JOB_ATT_ACTIVITY] = { "att_activity",
				  "how often counters of activity are read, 1 to 16 (gfx9); 0: not",
				  .def = "0", .check = check_activity },
	[RP_JOB_ATT_CONSECUTIVE] = { "att_consecutive_kernels",
				     "so many dispatches in one trace; 0: each its own", .def = "0",
				     .check = check_consecutive },
	[RP_JOB_ATT_GPUS] = { "att_gpu_index", "GPUs that are traced, by number; empty: all",
			      .check = check_gpus },
	[RP_JOB_ATT_LIBRARY] = { "att_library_path",
				 "folder of the trace decoder; empty: rocprofv3's",
				 .check = check_path },
	[RP_JOB_FOLDER] = { "output_directory",
			    "where results go, a whole path; they are picked up there",
			    .flags = GT_USERDIR_STARTS, .check = check_path },
	[RP_JOB_FORMATS] = { "output_format",
			     "csv, json, rocpd (these are read here), pftrace, otf2", .def = "csv",
			     .check = check_formats },
	[RP_JOB_ENV] = { "env",
			 "environment: NAME=VALUE with blanks between; for the source of "
			 "instructions at first",
			 .def = "FLYDSL_DEBUG_ENABLE_DEBUG_INFO=1 TRITON_DISABLE_LINE_INFO=0",
			 .check = check_env },
	[RP_JOB_CONTAINER] = { "container", "where it runs; empty: on this machine",
			       .check = check_container },
	[RP_JOB_YAML] = { "input.yaml", "what rocprofv3 -i takes", .show = rp_job_yaml },
	[RP_JOB_COMMAND] = { "command", "the lines to run, for sh", .show = rp_job_command },
	[RP_JOB_PROBLEMS] = { "problems", "what is missing in the results, and what to change",
			      .show = rp_job_problems },
	[RP_JOB_FILES] = { 0 },
};

const struct gt_backend_userdirs rp_jobs = {
	.name = "jobs",
	.help = "what to ask rocprofv3 for: mkdir jobs/<name>, write its files, run its command",
	.files = files,
};
