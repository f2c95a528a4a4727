/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One line of ftrace text. What the kernel and trace-cmd print before an event's own text (Linux
 * kernel/trace/trace_output.c, trace-cmd 3.1's report, seen with its samples):
 *
 *	    COMM-TID   ( TGID) [CPU] FLAGS  SEC.FRACTION: [(+DIFF)] [SYSTEM:]EVENT: TEXT
 *	  COMM-TID     CPUFLAGS  SEC.FRACTION: EVENT: TEXT
 *	  COMM-TID     CPUFLAGS  MICROSECONDSus+: EVENT: TEXT
 *	            COMM     TID CPU FLAGS COUNT INDEX [TIME] MS.USms (+MS.USms): EVENT: TEXT
 *
 * (the last with the options latency-format and verbose; COUNT, INDEX and TIME are hexadecimal),
 * and what perf script prints (print_sample_start() of tools/perf/builtin-script.c, seen with perf
 * 6.1), where -F leaves out each field but the time, and -g has the name without its blanks:
 *
 *	            COMM     TID [CPU]  SEC.FRACTION:  SYSTEM:EVENT: TEXT
 *	            COMM     PID/TID     [CPU] MISC  SEC.FRACTION:  PERIOD  SYSTEM:EVENT: TEXT
 *	            COMM     TID [CPU]  SEC.FRACTION: PERF_RECORD_LOST lost COUNT
 *	<tab>        ADDRESS SYMBOL+0xOFFSET (FILE)
 *
 * TGID, CPU and FLAGS may be missing, and a name of 15 bytes may hold blanks, dashes, brackets and
 * all of the above. The name ends in column 16 where it was not trimmed, so that place is tried
 * first; then each dash from the left.
 */
#include "replay.h"

#include <ctype.h>
#include <string.h>

#define COMM_COLUMNS	16
#define COMM_TRIED	64 /* columns that a name of perf's may take */
#define ADDRESS_COLUMNS 16
#define HEADER_MAX	512 /* bytes that a header of perf's may take: each column is tried */

/* A place in the line; every step checks against the end. */
struct cur {
	const char *p, *end;
};

static void blanks(struct cur *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
}

static bool is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static bool take(struct cur *c, char ch)
{
	if (c->p == c->end || *c->p != ch)
		return false;
	c->p++;
	return true;
}

static bool number(struct cur *c, uint64_t *out)
{
	uint64_t v = 0;

	if (c->p == c->end || !is_digit(*c->p))
		return false;
	for (; c->p < c->end && is_digit(*c->p); c->p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*c->p - '0'), &v))
			return false;
	*out = v;
	return true;
}

/* A fraction of a second in ns; digits beyond the ninth do not count. */
static bool fraction(struct cur *c, uint64_t *ns)
{
	unsigned int n = 0;

	*ns = 0;
	for (; c->p < c->end && is_digit(*c->p); c->p++, n++)
		if (n < 9)
			*ns = *ns * 10 + (uint64_t)(*c->p - '0');
	if (!n)
		return false;
	for (; n < 9; n++)
		*ns *= 10;
	return true;
}

/* What stands behind the point is added to @v, which is seconds. */
static bool point(struct cur *c, uint64_t *v)
{
	uint64_t ns;

	return fraction(c, &ns) && !__builtin_mul_overflow(*v, 1000000000u, v) &&
	       !__builtin_add_overflow(*v, ns, v);
}

/* "12.345678:", "12345:" (a clock that does not count seconds), "12us+:" */
static bool timestamp(struct cur *c, uint64_t *ts)
{
	struct cur t = *c;
	uint64_t v;

	if (!number(&t, &v))
		return false;
	if (take(&t, '.')) {
		if (!point(&t, &v))
			return false;
	} else if (t.end - t.p >= 2 && t.p[0] == 'u' && t.p[1] == 's') {
		t.p += 2;
		if (t.p < t.end && *t.p && strchr(" +!#*@$", *t.p))
			t.p++;
		if (__builtin_mul_overflow(v, 1000u, &v))
			return false;
	}
	if (!take(&t, ':') || (t.p < t.end && *t.p != ' ' && *t.p != '\t'))
		return false;
	/* All ones is "unknown", and no clock gets near. */
	if (v >= GT_NONE64 / 2)
		return false;
	*ts = v;
	*c = t;
	return true;
}

static bool tid(struct cur *c, struct gt_line *l)
{
	uint64_t v;

	if (!number(c, &v) || v > INT32_MAX || c->p == c->end || (*c->p != ' ' && *c->p != '\t'))
		return false;
	l->tid = (uint32_t)v;
	blanks(c);
	return true;
}

/* "( 1234)" or "(-----)"; its absence is fine */
static bool tgid(struct cur *c, struct gt_line *l)
{
	uint64_t v;

	l->tgid = GT_NONE32;
	if (!take(c, '('))
		return true;
	blanks(c);
	if (number(c, &v)) {
		if (v > INT32_MAX)
			return false;
		l->tgid = (uint32_t)v;
	} else {
		while (take(c, '-'))
			;
	}
	if (!take(c, ')'))
		return false;
	blanks(c);
	return true;
}

static bool is_flag(char ch)
{
	return isalnum((unsigned char)ch) || ch == '.' || ch == '#' || ch == '*' || ch == '~';
}

/* Four to six characters of flags, perhaps a CPU's number before, and the blanks behind them. The
 * third says what interrupt it is in. A number alone is perf's, of a thread. */
static bool flags(struct cur *c, struct gt_line *l)
{
	const char *from = c->p;
	bool digits = true;

	l->interrupt = false;
	for (; c->p < c->end && is_flag(*c->p); c->p++) {
		l->interrupt |= strchr("hHsZz", *c->p) != NULL;
		digits &= is_digit(*c->p);
	}
	if (digits || c->p - from < 3 || c->p - from > 10 || c->p == c->end || *c->p != ' ')
		return false;
	blanks(c);
	return true;
}

static bool cpu_number(struct cur *c, struct gt_line *l)
{
	uint64_t v;

	if (!number(c, &v) || v >= GT_NONE16)
		return false;
	l->cpu = (uint16_t)v;
	return true;
}

/* What stands between TGID and event: CPU and flags, each of which may be missing, and the time. */
static bool cpu_flags_time(struct cur *c, struct gt_line *l)
{
	struct cur t;

	l->cpu = GT_NONE16;
	if (take(c, '[')) {
		blanks(c);
		if (!cpu_number(c, l) || !take(c, ']'))
			return false;
		blanks(c);
	}
	l->interrupt = false;
	if (timestamp(c, &l->ts))
		return true;
	t = *c;
	if (flags(&t, l) && timestamp(&t, &l->ts)) {
		if (l->cpu == GT_NONE16 && is_digit(*c->p))
			/* "1d..1": the latency layout has CPU and flags in one */
			(void)cpu_number(c, l);
		*c = t;
		return true;
	}
	return false;
}

/* The header, if the name ends at @dash. */
static bool header(const char *p, const char *dash, const char *end, struct gt_line *l,
		   struct cur *rest)
{
	struct cur c = { dash + 1, end };
	const char *from = dash - p > COMM_COLUMNS ? dash - COMM_COLUMNS : p;

	if (!tid(&c, l) || !tgid(&c, l) || !cpu_flags_time(&c, l))
		return false;
	while (from < dash && *from == ' ')
		from++;
	l->comm = from;
	l->comm_len = (size_t)(dash - from);
	*rest = c;
	return true;
}

static bool hex(struct cur *c, uint64_t *out)
{
	const char *from = c->p;
	uint64_t v = 0;

	for (; c->p < c->end && isxdigit((unsigned char)*c->p); c->p++)
		v = v << 4 | (is_digit(*c->p) ? (uint64_t)(*c->p - '0')
					      : (uint64_t)((*c->p | 0x20) - 'a' + 10));
	*out = v;
	return c->p > from && c->p - from <= 16;
}

/* "[1a6823084] 22.348ms (+0.088ms):" in us, "[00000000000003e8] 12 (+4):" of a clock without ns */
static bool verbose_time(struct cur *c, uint64_t *ts)
{
	uint64_t v, since;
	const char *colon;

	if (!take(c, '[') || !hex(c, &v) || !take(c, ']'))
		return false;
	blanks(c);
	if (!number(c, &since))
		return false;
	if (c->p < c->end && *c->p == '.' && __builtin_mul_overflow(v, 1000u, &v))
		return false;
	colon = memchr(c->p, ':', (size_t)(c->end - c->p));
	if (!colon || colon[-1] != ')' || v >= GT_NONE64 / 2)
		return false;
	c->p = colon + 1;
	*ts = v;
	return true;
}

/* The header with the options latency-format and verbose. */
static bool verbose_header(const char *p, const char *end, struct gt_line *l, struct cur *rest)
{
	struct cur c = { p + COMM_COLUMNS, end };
	const char *name = p;
	uint64_t v;

	if (end - p <= COMM_COLUMNS || !take(&c, ' '))
		return false;
	blanks(&c);
	if (!tid(&c, l) || !cpu_number(&c, l))
		return false;
	blanks(&c);
	if (!number(&c, &v)) /* flags */
		return false;
	for (int i = 0; i < 2; i++) {
		blanks(&c);
		if (!hex(&c, &v))
			return false;
	}
	blanks(&c);
	if (!verbose_time(&c, &l->ts))
		return false;
	while (name < p + COMM_COLUMNS && *name == ' ')
		name++;
	l->tgid = GT_NONE32;
	l->interrupt = false;
	l->comm = name;
	l->comm_len = (size_t)(p + COMM_COLUMNS - name);
	*rest = c;
	return true;
}

static size_t identifier(const struct cur *c)
{
	const char *q = c->p;

	while (q < c->end && (isalnum((unsigned char)*q) || *q == '_' || *q == '-' || *q == '.'))
		q++;
	return (size_t)(q - c->p);
}

static bool starts(const struct cur *c, const char *what)
{
	size_t n = strlen(what);

	return (size_t)(c->end - c->p) >= n && !memcmp(c->p, what, n);
}

/* "TID" or "PID/TID" */
static bool perf_ids(struct cur *c, struct gt_line *l)
{
	uint64_t v, group = GT_NONE32;

	if (!number(c, &v) || v > INT32_MAX)
		return false;
	if (take(c, '/')) {
		group = v;
		if (!number(c, &v) || v > INT32_MAX)
			return false;
	}
	if (c->p == c->end || *c->p != ' ')
		return false;
	l->tid = (uint32_t)v;
	l->tgid = (uint32_t)group;
	return true;
}

/* "SYSTEM:EVENT:", or another kind of record */
static bool perf_event(struct cur c)
{
	if (starts(&c, "PERF_RECORD_"))
		return true;
	for (int i = 0; i < 2; i++) {
		size_t n = identifier(&c);

		c.p += n;
		if (!n || !take(&c, ':'))
			return false;
	}
	return true;
}

/* What a line of perf's must have before its time */
enum perf_needs { PERF_IDS, PERF_CPU, PERF_NOTHING };

/* What stands between name and event. Where much is missing only an event with its system makes it
 * perf's. */
static bool perf_fields(struct cur *c, struct gt_line *l, enum perf_needs needs)
{
	struct cur t;
	uint64_t period;
	bool sample;
	size_t n;

	l->tid = l->tgid = GT_NONE32;
	l->cpu = GT_NONE16;
	l->interrupt = false;
	blanks(c);
	if (needs == PERF_IDS && !perf_ids(c, l))
		return false;
	blanks(c);
	if (take(c, '[') && (!cpu_number(c, l) || !take(c, ']')))
		return false;
	if (needs == PERF_CPU && l->cpu == GT_NONE16)
		return false;
	for (blanks(c); c->p < c->end && *c->p >= 'A' && *c->p <= 'Z';) /* "K": where it was */
		c->p++;
	blanks(c);
	n = gt_line_seconds(c->p, (size_t)(c->end - c->p), &l->ts);
	c->p += n;
	if (!n || !take(c, ':') || !take(c, ' '))
		return false;
	blanks(c);
	t = *c;
	sample = number(&t, &period) && take(&t, ' ');
	if (sample)
		blanks(&t);
	else
		t = *c;
	if (perf_event(t)) {
		*c = t;
		return true;
	}
	return needs == PERF_IDS && (sample || l->cpu != GT_NONE16);
}

/* What perf calls a thread that it has no name of: ":1234" */
static bool unnamed(const struct gt_line *l)
{
	struct cur c = { l->comm, l->comm + l->comm_len };
	uint64_t v;

	return take(&c, ':') && number(&c, &v) && c.p == c.end;
}

/* The header, if the name is what stands before @at. */
static bool perf_named(const char *p, const char *at, const char *end, struct gt_line *l,
		       struct cur *rest, enum perf_needs needs)
{
	struct cur c = { at, end };

	/* within a run of blanks each column says the same as the first */
	if (at > p && (*at != ' ' || at[-1] == ' '))
		return false;
	if (!perf_fields(&c, l, needs))
		return false;
	while (p < at && *p == ' ')
		p++;
	while (at > p && at[-1] == ' ')
		at--;
	l->comm = p;
	l->comm_len = (size_t)(at - p);
	if (unnamed(l))
		l->comm_len = 0;
	*rest = c;
	return true;
}

/* Is there a colon behind a digit, as a time has one? */
static bool may_have_time(const char *p, const char *end)
{
	const char *colon = p;

	while ((colon = memchr(colon, ':', (size_t)(end - colon))) != NULL) {
		if (colon > p && is_digit(colon[-1]))
			return true;
		colon++;
	}
	return false;
}

/* A name may look like what follows it: the longest one of up to 16 columns is taken. */
static bool perf_header(const char *p, const char *end, struct gt_line *l, struct cur *rest)
{
	ptrdiff_t len = end - p < HEADER_MAX ? end - p : HEADER_MAX;
	const char *most = p + len;
	bool found = false;

	if (!may_have_time(p, most))
		return false;
	for (int needs = PERF_IDS; !found && needs <= PERF_NOTHING; needs++) {
		ptrdiff_t i = len > COMM_COLUMNS ? COMM_COLUMNS : len - 1;

		for (; !found && i >= 0; i--)
			found = perf_named(p, p + i, most, l, rest, (enum perf_needs)needs);
		for (i = COMM_COLUMNS + 1; !found && i < len && i < COMM_TRIED; i++)
			found = perf_named(p, p + i, most, l, rest, (enum perf_needs)needs);
	}
	rest->end = end;
	return found;
}

static bool find_header(const char *p, const char *end, struct gt_line *l, struct cur *rest)
{
	const char *dash = p;

	if (end - p > COMM_COLUMNS && p[COMM_COLUMNS] == '-' &&
	    header(p, p + COMM_COLUMNS, end, l, rest))
		return true;
	while ((dash = memchr(dash, '-', (size_t)(end - dash))) != NULL) {
		if (header(p, dash, end, l, rest))
			return true;
		dash++;
	}
	return verbose_header(p, end, l, rest) || perf_header(p, end, l, rest);
}

/* "(+1724)" of `trace-cmd report --ts-diff` */
static void skip_diff(struct cur *c)
{
	struct cur t = *c;
	uint64_t v;

	if (take(&t, '(') && take(&t, '+') && number(&t, &v) && take(&t, ')')) {
		blanks(&t);
		*c = t;
	}
}

/* "mock_open <-drm_file_alloc" and, of trace-cmd, with two dashes; behind the name there may be
 * "+0x4/0x20" and " [module]" */
static bool call(struct cur c, struct gt_line *l)
{
	size_t n = identifier(&c);
	const char *name = c.p;

	c.p += n;
	if (!n || is_digit(*name))
		return false;
	while (c.p < c.end && *c.p == '+')
		for (c.p++; c.p < c.end && (isxdigit((unsigned char)*c.p) || strchr("x/", *c.p));)
			c.p++;
	blanks(&c);
	if (take(&c, '[')) {
		c.p += identifier(&c);
		if (!take(&c, ']'))
			return false;
		blanks(&c);
	}
	if (!take(&c, '<') || !take(&c, '-'))
		return false;
	l->system = NULL;
	l->system_len = 0;
	l->event = name;
	l->event_len = n;
	l->text = c.end;
	l->text_len = 0;
	return true;
}

/* "PERF_RECORD_LOST lost 5", "PERF_RECORD_LOST_SAMPLES lost 5"; others are of threads and their
 * memory */
static enum gt_line_kind perf_record(struct cur c, struct gt_line *l)
{
	if (!starts(&c, "PERF_RECORD_LOST"))
		return GT_LINE_SKIP;
	c.p += identifier(&c);
	take(&c, ':');
	blanks(&c);
	l->lost = GT_NONE64;
	if (starts(&c, "lost ")) {
		c.p += 5;
		(void)number(&c, &l->lost);
	}
	return GT_LINE_LOST;
}

/* "event: text" or "system:event: text"; anything else is of another kind of tracer */
static enum gt_line_kind event(struct cur c, struct gt_line *l)
{
	size_t n;

	blanks(&c);
	skip_diff(&c);
	if (starts(&c, "PERF_RECORD_"))
		return perf_record(c, l);
	n = identifier(&c);
	if (!n || c.p + n == c.end || c.p[n] != ':')
		return call(c, l) ? GT_LINE_CALL : GT_LINE_SKIP;
	l->system = NULL;
	l->system_len = 0;
	l->event = c.p;
	l->event_len = n;
	c.p += n + 1;
	n = identifier(&c);
	if (n && c.p + n < c.end && c.p[n] == ':') {
		l->system = l->event;
		l->system_len = l->event_len;
		l->event = c.p;
		l->event_len = n;
		c.p += n + 1;
	}
	blanks(&c);
	if (l->event_len == 8 && !memcmp(l->event, "function", 8) && call(c, l))
		return GT_LINE_CALL;
	l->text = c.p;
	l->text_len = (size_t)(c.end - c.p);
	return GT_LINE_EVENT;
}

/* "CPU:3 [LOST 27 EVENTS]" (kernel), "CPU:3 [27 EVENTS DROPPED]" (trace-cmd), both without number
 */
static bool lost(struct cur c, struct gt_line *l)
{
	if (!starts(&c, "CPU:"))
		return false;
	c.p += 4;
	if (!cpu_number(&c, l))
		return false;
	blanks(&c);
	if (!take(&c, '['))
		return false;
	if (starts(&c, "LOST "))
		c.p += 5;
	l->ts = GT_NONE64;
	if (number(&c, &l->lost))
		blanks(&c);
	else
		l->lost = GT_NONE64;
	return starts(&c, "EVENTS]") || starts(&c, "EVENTS DROPPED]");
}

/* "##### CPU 2 buffer started ####": that buffer ran over, so what was there before is not in the
 * trace */
static bool begins_late(struct cur c, struct gt_line *l)
{
	while (c.p < c.end && *c.p == '#')
		c.p++;
	blanks(&c);
	if (!starts(&c, "CPU "))
		return false;
	c.p += 4;
	if (!cpu_number(&c, l))
		return false;
	blanks(&c);
	l->ts = l->lost = GT_NONE64;
	return starts(&c, "buffer started");
}

/* A frame of perf's stacks, "\tffffffff8139bb71 schedule+0x23 ([kernel.kallsyms])": an address of
 * 16 columns, which no name that begins so leaves room for */
static bool frame(struct cur c)
{
	struct cur address;
	uint64_t v;

	if (!take(&c, '\t') || c.end - c.p < ADDRESS_COLUMNS)
		return false;
	address = (struct cur){ c.p, c.p + ADDRESS_COLUMNS };
	blanks(&address);
	c.p += ADDRESS_COLUMNS;
	return hex(&address, &v) && address.p == c.p && (c.p == c.end || *c.p == ' ');
}

/* Lines that tools print around events, and those of function_graph and of stack traces. */
static bool other(struct cur c)
{
	static const char *const known[] = { "=> ",	"{",	    "cpus=",	 "version = ",
					     "CPU ",	"---",	    "filter:",	 "<stack trace",
					     "Kernel ", "  Note: ", "trace-cmd", "PERF_RECORD_" };
	struct cur t;
	uint64_t v;

	if (c.p < c.end && *c.p == '\t') /* a frame without its address */
		return true;
	blanks(&c);
	if (c.p == c.end)
		return true;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (starts(&c, known[i]))
			return true;
	t = c;
	if (number(&t, &v) && take(&t, ')'))
		return true;
	/* With a time before: " 12.345678 |   1)   0.123 us  |  f();" */
	return memchr(c.p, '|', (size_t)(c.end - c.p)) && memchr(c.p, ')', (size_t)(c.end - c.p));
}

/* "a.dat: cpus=2" heads the text of several files */
static bool ends_in_cpus(struct cur c)
{
	static const char what[] = "cpus=";
	const char *digits = c.end;

	while (c.end > c.p && is_digit(c.end[-1]))
		c.end--;
	return c.end < digits && (size_t)(c.end - c.p) >= sizeof(what) - 1 &&
	       !memcmp(c.end - (sizeof(what) - 1), what, sizeof(what) - 1);
}

size_t gt_line_seconds(const char *p, size_t len, uint64_t *ns)
{
	struct cur c = { p, p + len };

	if (!number(&c, ns) || !take(&c, '.') || !point(&c, ns) || *ns >= GT_NONE64 / 2)
		return 0;
	return (size_t)(c.p - p);
}

enum gt_line_kind gt_line_parse(const char *p, size_t len, struct gt_line *out)
{
	struct cur c = { p, p + len }, rest;

	while (c.end > p && (c.end[-1] == '\r' || c.end[-1] == ' '))
		c.end--;
	if (c.end == p)
		return GT_LINE_SKIP;
	if (*p == '#')
		return begins_late(c, out) ? GT_LINE_LOST : GT_LINE_SKIP;
	if (lost(c, out))
		return GT_LINE_LOST;
	if (frame(c))
		return GT_LINE_SKIP;
	if (find_header(p, c.end, out, &rest))
		return event(rest, out);
	if (other(c) || ends_in_cpus(c))
		return GT_LINE_SKIP;
	return GT_LINE_BAD;
}
