/* SPDX-License-Identifier: GPL-2.0 */
/* Words as sh(1) takes them, and as it is given them. */
#include <errno.h>
#include <string.h>

#include "jobs.h"

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
