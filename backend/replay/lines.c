/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines of a file, read in blocks: its size does not matter, and it is not mapped, so that nobody
 * who cuts it short meanwhile ends the daemon.
 */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

int gt_lines_init(struct gt_lines *t, uint64_t begin)
{
	*t = (struct gt_lines){ .buf = malloc(GT_LINE_MAX) };
	gt_lines_rewind(t, begin);
	return t->buf ? 0 : -1;
}

void gt_lines_free(struct gt_lines *t)
{
	free(t->buf);
	t->buf = NULL;
}

void gt_lines_rewind(struct gt_lines *t, uint64_t begin)
{
	t->off = begin;
	t->line = 0;
	t->pos = t->len = 0;
	t->eof = t->skipping = false;
}

static int refill(struct gt_source *s, struct gt_lines *t)
{
	ssize_t n;

	memmove(t->buf, t->buf + t->pos, t->len - t->pos);
	t->off += t->pos;
	t->len -= t->pos;
	t->pos = 0;
	if (t->len == GT_LINE_MAX) {
		t->off += t->len;
		t->len = 0;
		t->skipping = true;
	}
	n = gt_source_pread(s, t->buf + t->len, GT_LINE_MAX - t->len, t->off + t->len);
	if (n < 0)
		return gt_source_error(s, (int)-n, "line %llu: cannot be read: %s",
				       (unsigned long long)t->line + 1, strerror((int)-n));
	t->len += (size_t)n;
	t->eof = !n;
	return 0;
}

int gt_lines_next(struct gt_source *s, struct gt_lines *t, bool tell, const char **line,
		  size_t *len)
{
	const char *nl;
	int ret;

	while (!(nl = memchr(t->buf + t->pos, '\n', t->len - t->pos))) {
		if (t->eof && t->pos == t->len && !t->skipping)
			return 0;
		if (t->eof)
			break;
		ret = refill(s, t);
		if (ret < 0)
			return ret;
	}
	*line = t->buf + t->pos;
	*len = (nl ? (size_t)(nl - t->buf) : t->len) - t->pos;
	t->pos += *len + (nl != NULL);
	t->line++;
	if (t->skipping) {
		*len = 0;
		if (tell)
			gt_source_fault(s, "line %llu: longer than %u bytes",
					(unsigned long long)t->line, GT_LINE_MAX);
	} else if (!nl && tell) {
		gt_source_fault(s, "line %llu: the file ends inside it, without a newline",
				(unsigned long long)t->line);
	}
	t->skipping = false;
	return 1;
}
