/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is before a line's message. Each release of ROCm has had its own form, and releases do not
 *tell which: so it is decided by what is there.
 *
 *	:3:rocdevice.cpp            :426 : 75799966442 us: 202289: [tid:0x7f674bedd880] message
 *	:3:rocdevice.cpp            :468 : 14902569084 us: [pid:32899 tid:0x71038c239180] message
 *	:3:rocdevice.cpp            :480 : 6306213494 us:  message
 *	:1:hip_code_object.cpp      :507 : 0123456789 us: [7fb360ad23c0]!	message
 *	:1:hip_code_object.cpp:507: message
 *
 * The name of the source file is padded, may be a whole path, and may be missing.
 */
#include <string.h>

#include "internal.h"

#define TRIES 8 /* places in a line that look like the begin of a log's line */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits up to @end; false: none, or too many */
static bool number(const char **p, const char *end, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	for (; s < end && is_digit(*s) && s - *p < 19; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	if (s == *p || (s < end && is_digit(*s)))
		return false;
	*p = s;
	*out = v;
	return true;
}

static int hex_of(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex(const char **p, const char *end, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	while (s < end && *s == ' ')
		s++; /* "0x 3564" is padded */
	*p = s;
	for (; s < end && hex_of(*s) >= 0 && s - *p < 16; s++)
		v = v << 4 | (uint64_t)hex_of(*s);
	if (s == *p)
		return false;
	*p = s;
	*out = v;
	return true;
}

static const char *blanks(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	return p;
}

/* "ESC [ … letter" */
static const char *colour(const char *p, const char *end)
{
	const char *s = p + 2;

	if (end - p < 3 || p[0] != '\033' || p[1] != '[')
		return p;
	while (s < end && (is_digit(*s) || *s == ';'))
		s++;
	return s < end ? s + 1 : p;
}

static void trim(const char *p, const char *end, struct gt_amd_line *out)
{
	const char *next;

	for (;; p = next) {
		next = colour(blanks(p, end), end);
		if (next < end && (*next == '!' || *next == '\t'))
			next++;
		if (next == p)
			break;
	}
	while (end > p && (end[-1] == ' ' || end[-1] == '\r'))
		end--;
	/* a colour at the end is short: "ESC [ 0 m" */
	for (size_t n = 3; n <= 8 && (size_t)(end - p) >= n && end[-1] == 'm'; n++)
		if (end[-(ptrdiff_t)n] == '\033') {
			end -= n;
			break;
		}
	while (end > p && end[-1] == ' ')
		end--;
	out->msg = p;
	out->len = (size_t)(end - p);
}

static bool begins(const char *p, const char *end, const char *with, size_t n)
{
	return (size_t)(end - p) >= n && !memcmp(p, with, n);
}

#define BEGINS(p, end, with) begins(p, end, with, sizeof(with) - 1)

/* Whose line it is, in one of the forms; where none is there, @p is the message */
static const char *thread(const char *p, const char *end, struct gt_amd_line *out)
{
	const char *s = p;
	uint64_t pid = 0;

	if (number(&s, end, &pid)) { /* "202289: [tid:0x" */
		s = blanks(s, end);
		if (!BEGINS(s, end, ": [tid:"))
			return p;
		s += 7;
	} else if (BEGINS(s, end, "[pid:")) {
		s += 5;
		if (!number(&s, end, &pid))
			return p;
		s = blanks(s, end);
		if (!BEGINS(s, end, "tid:"))
			return p;
		s = blanks(s + 4, end);
	} else if (s < end && *s == '[') {
		s++;
	} else {
		return p;
	}
	if (!hex(&s, end, &out->tid) || s == end || *s != ']')
		return p;
	if (pid < GT_NONE32)
		out->pid = (uint32_t)pid;
	return s + 1;
}

/* Behind the name's colon: "3045: 353425 us: " or, without a time, "507: " */
static const char *place(const char *p, const char *end, struct gt_amd_line *out)
{
	uint64_t line;
	const char *s;

	if (!number(&p, end, &line))
		return NULL;
	p = blanks(p, end);
	if (end - p < 2 || p[0] != ':' || p[1] != ' ')
		return NULL;
	p += 2;
	s = p;
	if (number(&s, end, &out->us) && BEGINS(s, end, " us: "))
		return s + 5;
	out->us = GT_NONE64;
	return p;
}

/* From the colon before the level */
static bool prefix(const char *p, const char *end, struct gt_amd_line *out)
{
	const char *colon = p + 2, *msg = NULL;

	if (end - p < 6 || !is_digit(p[1]) || p[2] != ':')
		return false;
	*out = (struct gt_amd_line){ .level = (uint8_t)(p[1] - '0') };
	/* A path may have colons of its own. */
	for (int i = 0; i < 4 && !msg; i++) {
		colon = memchr(colon + 1, ':', (size_t)(end - colon - 1));
		if (!colon)
			return false;
		msg = place(colon + 1, end, out);
	}
	if (!msg)
		return false;
	trim(thread(msg, end, out), end, out);
	return true;
}

bool gt_amd_line(const char *p, size_t len, struct gt_amd_line *out)
{
	const char *end = p + len, *s = p;

	if (len > GT_AMD_LINE_MAX)
		return false;
	if (len && *p == ':' && prefix(p, end, out))
		return true;
	s = colour(blanks(p, end), end);
	if (s > p && s < end && prefix(s, end, out))
		return true;
	/* What a program wrote without a newline is before it. */
	for (int i = 0; i < TRIES && (s = memchr(s, ':', (size_t)(end - s))); i++, s++)
		if (prefix(s, end, out) && out->us != GT_NONE64)
			return true;
	return false;
}
