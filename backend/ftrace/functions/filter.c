/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The setting `functions`: the kernel's own syntax (Linux Documentation/trace/ftrace.rst, "Filter
 * commands"), less its commands. Those act on the whole kernel (traceoff, snapshot, dump) or on
 * whatever else somebody traces, so they are no filter.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"

#define BETWEEN " \t\n,"

/* One of "[a-z]", "[!a-z]"; *@p moves behind it. NULL for a bracket that stands for itself. */
static const char *set_end(const char *p)
{
	p++;
	p += *p == '!';
	if (*p)
		p++; /* a ']' in the first place is a member */
	p = strchr(p, ']');
	return p ? p + 1 : NULL;
}

static bool in_set(const char *p, const char *end, char c)
{
	bool negate = p[1] == '!', found = false;

	for (p += 1 + negate; p < end - 1; p++) {
		char from = *p, to = from;

		if (p[1] == '-' && p + 2 < end - 1) {
			to = p[2];
			p += 2;
		}
		found |= from <= c && c <= to;
	}
	return found != negate;
}

/* Does what stands at @p mean @c? *@next: behind it. */
static bool one(const char *p, char c, const char **next)
{
	const char *end = *p == '[' ? set_end(p) : NULL;

	*next = p + 1;
	if (end) {
		*next = end;
		return in_set(p, end, c);
	}
	if (*p == '?')
		return true;
	if (*p == '\\' && p[1]) {
		p++;
		*next = p + 1;
	}
	return *p == c;
}

bool ft_glob(const char *pattern, const char *s)
{
	const char *p = pattern, *star = NULL, *from = NULL, *next;

	while (*s) {
		if (*p == '*') {
			star = ++p;
			from = s;
		} else if (*p && one(p, *s, &next)) {
			p = next;
			s++;
		} else if (star) { /* the last star takes one more */
			p = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

/* Return: 0, or -EINVAL with a sentence about word @text, of @n bytes */
static int __attribute__((format(printf, 5, 6)))
refuse(const char *text, size_t n, char *err, size_t len, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(err, len, "functions: '%.*s' %s", (int)(n < 80 ? n : 80), text, why);
	return -EINVAL;
}

static bool good(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.$*?[]!^-\\", c));
}

/* ":mod:MODULE" or nothing, at @p within the word @text */
static int take_module(struct ft_word *w, const char *text, size_t n, const char *p, char *err,
		       size_t len)
{
	size_t left = n - (size_t)(p - text);

	if (left < 5 || strncmp(p, ":mod:", 5))
		return refuse(text, n, err, len,
			      "is a command: here only names, patterns and :mod:MODULE are taken");
	p += 5;
	left -= 5;
	w->others = left && *p == '!';
	p += w->others;
	left -= w->others;
	if (!left || left >= sizeof(w->module))
		return refuse(text, n, err, len, "names no module of at most %zu letters",
			      sizeof(w->module) - 1);
	w->plain = !w->others;
	for (size_t i = 0; i < left; i++) {
		if (!good(p[i]))
			return refuse(text, n, err, len, "has more behind the module's name");
		w->plain &= !strchr("*?[\\", p[i]);
		w->module[i] = p[i];
	}
	/* a module's file may have dashes, its name never has */
	for (char *d = w->module; w->plain && (d = strchr(d, '-'));)
		*d = '_';
	return 0;
}

static int take_word(struct ft_word *w, const char *text, size_t n, char *err, size_t len)
{
	const char *p = text, *end = text + n;
	size_t name;

	w->away = *p == '!';
	p += w->away;
	for (name = 0; p + name < end && p[name] != ':'; name++)
		if (!good(p[name]))
			return refuse(text, n, err, len, "has a character that no function has");
	if (name >= sizeof(w->name))
		return refuse(text, n, err, len, "has more than %zu letters", sizeof(w->name) - 1);
	/* the kernel takes it for the place of a function in its list */
	if (name && isdigit((unsigned char)*p))
		return refuse(text, n, err, len, "is a number, not the name of a function");
	memcpy(w->name, p, name);
	if (p + name < end)
		return take_module(w, text, n, p + name, err, len);
	return name ? 0 : refuse(text, n, err, len, "has no name");
}

static size_t next_word(const char **text)
{
	*text += strspn(*text, BETWEEN);
	return strcspn(*text, BETWEEN);
}

int ft_filter_parse(const char *text, struct ft_filter **out, char *err, size_t len)
{
	struct ft_filter *f;
	const char *p = text;
	unsigned int n = 0;
	bool any = false;
	int ret = 0;

	*out = NULL;
	for (size_t k; (k = next_word(&p)); p += k)
		n++;
	if (!n)
		return 0;
	if (n > FT_WORDS)
		return refuse(text, strlen(text), err, len, "has more than %d words", FT_WORDS);
	f = calloc(1, sizeof(*f) + n * sizeof(*f->word));
	if (!f) {
		snprintf(err, len, "functions: no memory");
		return -ENOMEM;
	}
	p = text;
	for (size_t k; !ret && (k = next_word(&p)); p += k) {
		ret = take_word(&f->word[f->n], p, k, err, len);
		any |= !f->word[f->n++].away;
	}
	if (!ret && !any)
		ret = refuse(text, strlen(text), err, len, "only takes away: nothing is left");
	if (ret)
		free(f);
	else
		*out = f;
	return ret;
}

void ft_filter_print(const struct ft_word *w, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s%s%s%s", w->away ? "!" : "", w->name, *w->module ? ":mod:" : "",
		 w->others ? "!" : "", w->module);
}

static bool means(const struct ft_word *w, const char *name, const char *module)
{
	if (*w->module && (module && ft_glob(w->module, module)) == w->others)
		return false;
	return !*w->name || ft_glob(w->name, name);
}

bool ft_filter_takes(struct ft_filter *f, const char *name, const char *module)
{
	bool taken = false;

	for (unsigned int i = 0; i < f->n; i++) {
		struct ft_word *w = &f->word[i];

		if (!means(w, name, module))
			continue;
		w->hit = true;
		taken = !w->away;
	}
	return taken;
}
