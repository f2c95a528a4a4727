/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process without rights takes the lines apart, as whoever writes a log may have put anything
 * there. It gets a block of bytes, says of each line what it is, and knows nothing more of it when
 * it gets the next. What it says is checked here: that it is whole, and of what kind. Numbers may
 * be any, as in a log.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "amdlog.h"

#define MEMORY	 (64u << 20)
#define SAID_MAX (4u << 20)
#define WAIT_MS	 5000 /* for a block; it takes a few */
/* Lines of a block, of which a log's have some 100 bytes: what is said of more is not used in time, and has to be said
 * again */
#define LINES_MAX 8192

/* What is asked; @len bytes follow. See gt_amd_read() */
struct request {
	uint32_t len;
	bool skip, last;
	struct gt_amd_head head;
};

/* struct said - of a line; of a message the line and the message follow, and @len bytes of its
 * name; with @bad its begin */
struct said {
	uint8_t kind, headed, bad;
	uint32_t len;
};

/* A line -----------------------------------------------------------------------------------------
 */

/* The message of the line before, which had none; false: this is no such message */
static bool join(struct gt_amd_head *h, const char *p, size_t len, struct gt_amd_line *line)
{
	bool headed = h->headed;

	h->headed = false;
	if (!headed || gt_amd_line_begins(p, len))
		return false;
	*line = h->line;
	gt_amd_line_message(p, len, line);
	return line->len;
}

static enum gt_amd_kind kind_of(struct gt_amd_head *h, const char *p, size_t len,
				struct gt_amd_line *line)
{
	if (memchr(p, '\0', len)) /* a hole, of a disk that was full or a machine that crashed */
		return GT_AMD_DAMAGED;
	if (gt_amd_line(p, len, line)) {
		h->headed = !line->len;
		h->line = *line;
		return GT_AMD_MESSAGE;
	}
	if (join(h, p, len, line))
		return GT_AMD_MESSAGE;
	if (gt_amd_line_begins(p, len))
		return GT_AMD_DAMAGED;
	return len ? GT_AMD_FOREIGN : GT_AMD_EMPTY;
}

/* The begin of a line, such that it does nothing to a terminal */
static void excerpt(const char *p, size_t len, char text[GT_AMD_EXCERPT])
{
	for (size_t i = 0; i < len && i < GT_AMD_EXCERPT - 1; i++)
		text[i] = p[i] >= ' ' && p[i] < 0x7f ? p[i] : '?';
}

void gt_amd_item(struct gt_amd_head *h, const char *p, size_t len, struct gt_amd_item *item)
{
	*item = (struct gt_amd_item){ .kind = GT_AMD_EMPTY };
	item->kind = kind_of(h, p, len, &item->line);
	item->headed = h->headed;
	if (item->kind == GT_AMD_MESSAGE)
		gt_amd_message(&item->line, &item->msg);
	if (gt_amd_item_bad(item))
		excerpt(p, len, item->text);
}

/* The process ------------------------------------------------------------------------------------
 */

/** struct answer - what is said of a block: @n bytes, at most SAID_MAX */
struct answer {
	char *said;
	size_t n;
};

static void append(struct answer *a, const void *data, size_t len)
{
	memcpy(a->said + a->n, data, len);
	a->n += len;
}

/* False: there is no room for it */
static bool say(struct answer *a, struct gt_amd_item *item)
{
	bool message = item->kind == GT_AMD_MESSAGE;
	struct said s = { .kind = (uint8_t)item->kind,
			  .headed = item->headed,
			  .bad = gt_amd_item_bad(item),
			  .len = message ? (uint32_t)item->msg.len : 0 };
	const char *name = item->msg.name;

	if (a->n + sizeof(s) + sizeof(*item) + s.len > SAID_MAX)
		return false;
	item->line.msg = item->msg.name = NULL;
	append(a, &s, sizeof(s));
	if (message) {
		append(a, &item->line, sizeof(item->line));
		append(a, &item->msg, sizeof(item->msg));
	}
	if (s.len)
		append(a, name, s.len);
	if (s.bad)
		append(a, item->text, sizeof(item->text));
	return true;
}

static void take_apart(struct request *q, const char *p, struct answer *a)
{
	const char *end = p + q->len, *at = p, *nl;
	struct gt_amd_item item;
	unsigned int lines = 0;

	for (; (nl = memchr(at, '\n', (size_t)(end - at))); at = nl + 1) {
		if (q->skip) {
			q->skip = q->head.headed = false;
			continue;
		}
		gt_amd_item(&q->head, at, (size_t)(nl - at), &item);
		if (!say(a, &item) || ++lines == LINES_MAX)
			return;
	}
	if (q->last && at < end) {
		gt_amd_item(&q->head, at, (size_t)(end - at), &item);
		say(a, &item);
	}
}

static void reader(void *unused)
{
	struct answer a = { .said = malloc(SAID_MAX) };
	char *block = malloc(GT_AMD_BLOCK);
	struct request q;
	uint32_t n;

	while (a.said && block && gt_sandbox_read(&q, sizeof(q)) && q.len <= GT_AMD_BLOCK &&
	       gt_sandbox_read(block, q.len)) {
		a.n = 0;
		take_apart(&q, block, &a);
		n = (uint32_t)a.n;
		gt_sandbox_write(&n, sizeof(n));
		gt_sandbox_write(a.said, a.n);
	}
}

/* This side --------------------------------------------------------------------------------------
 */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* All of @data to the process, or from it */
static int move(int fd, void *data, size_t len, bool to, uint64_t until)
{
	struct pollfd p = { .fd = fd, .events = to ? POLLOUT : POLLIN };

	for (char *at = data; len;) {
		ssize_t n = to ? send(fd, at, len, MSG_NOSIGNAL) : read(fd, at, len);
		uint64_t now;

		if (n > 0) {
			at += n;
			len -= (size_t)n;
			continue;
		}
		if (!n || (errno != EAGAIN && errno != EINTR))
			return -EPROTO;
		now = now_ms();
		if (now >= until || poll(&p, 1, (int)(until - now)) == 0)
			return -EPROTO;
	}
	return 0;
}

static int exchange(struct gt_amd_reader *r, struct request *q, const char *p)
{
	uint64_t until = now_ms() + WAIT_MS;
	int fd = r->child.fd, ret;
	uint32_t n;

	ret = move(fd, q, sizeof(*q), true, until);
	if (!ret)
		ret = move(fd, (void *)p, q->len, true, until);
	if (!ret)
		ret = move(fd, &n, sizeof(n), false, until);
	if (!ret && n > SAID_MAX)
		ret = -EPROTO;
	if (!ret)
		ret = move(fd, r->said, n, false, until);
	if (!ret)
		r->len = n;
	return ret;
}

static int begin(struct gt_amd_reader *r)
{
	const struct gt_sandbox_conf c = { .memory = MEMORY, .run = reader };

	if (!r->said)
		r->said = malloc(SAID_MAX);
	if (!r->said)
		return -ENOMEM;
	return r->child.pid > 0 ? 0 : gt_sandbox_start(&r->child, &c);
}

int gt_amd_read(struct gt_amd_reader *r, const struct gt_amd_head *h, const char *p, size_t len,
		bool skip, bool last)
{
	struct request q = { .len = (uint32_t)len, .skip = skip, .last = last, .head = *h };
	int ret;

	r->len = r->at = 0;
	q.head.line.msg = NULL;
	if (!len || (!last && !memchr(p, '\n', len)))
		return 0;
	ret = begin(r);
	if (!ret)
		ret = exchange(r, &q, p);
	if (!ret && !r->len && !skip) /* there is a line */
		ret = -EPROTO;
	if (ret)
		gt_sandbox_end(&r->child);
	return ret;
}

/* The next @len bytes of what was said, NULL: there are not so many */
static const char *take(struct gt_amd_reader *r, size_t len)
{
	const char *p = r->said + r->at;

	if (r->len - r->at < len)
		return NULL;
	r->at += len;
	return p;
}

static bool copy(struct gt_amd_reader *r, void *to, size_t len)
{
	const char *p = take(r, len);

	if (p)
		memcpy(to, p, len);
	return p;
}

bool gt_amd_next(struct gt_amd_reader *r, struct gt_amd_item *item)
{
	struct said s;

	*item = (struct gt_amd_item){ .kind = GT_AMD_EMPTY };
	if (!copy(r, &s, sizeof(s)) || s.kind >= GT_AMD_KINDS)
		return false;
	item->kind = (enum gt_amd_kind)s.kind;
	item->headed = s.headed;
	if (item->kind == GT_AMD_MESSAGE) {
		if (!copy(r, &item->line, sizeof(item->line)) ||
		    !copy(r, &item->msg, sizeof(item->msg)))
			return false;
		item->line.msg = NULL;
		item->msg.len = s.len;
		item->msg.name = take(r, s.len);
		if (!item->msg.name || item->msg.what > GT_AMD_BAD || s.len > GT_AMD_LINE_MAX ||
		    (item->msg.what == GT_AMD_KERNEL && !s.len))
			return false;
	}
	if (s.bad && !copy(r, item->text, sizeof(item->text)))
		return false;
	item->text[sizeof(item->text) - 1] = '\0';
	return true;
}

void gt_amd_reader_end(struct gt_amd_reader *r)
{
	gt_sandbox_end(&r->child);
	free(r->said);
	r->said = NULL;
}
