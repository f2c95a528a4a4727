/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is it a regular expression as rocprofv3 takes it: std::regex, of the ECMAScript grammar? It is
 * only looked through, from left to right: to compile what anybody wrote may take all memory.
 */
#include <string.h>

#include "jobs.h"

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

static unsigned int number(struct scan *c)
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
	min = max = number(c);
	if (c->s[c->i] == ',') {
		c->i++;
		if (c->s[c->i] != '}')
			max = number(c);
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
