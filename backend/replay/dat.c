/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.dat, of any version that libtracecmd reads. The library works in a child process (child.c)
 * and this side takes its frames, believes nothing, and waits for nothing without a bound. Where
 * the library fails on a file of version 6, our own reader has it (dat6.c).
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUF	   (2u * GT_FRAME_MAX)
#define PIECE	   4096		/* frames taken before the caller is asked again */
#define SILENCE	   10000000000u /* ns without a word before the child is given up */
#define POLL_MS	   2
#define VERSION_AT 10 /* in the file: behind 0x17 0x08 0x44 "tracing"; then its byte order */

/**
 * struct dat - the child and what it wrote
 * @since: when something came last
 * @told: the first reading is over; @over: nothing comes any more
 */
struct dat {
	pid_t pid;
	int fd;
	uint8_t *buf;
	size_t pos, len;
	uint64_t since, patience;
	bool over;
};

static bool dat_detect(const uint8_t *head, size_t len)
{
	return len > VERSION_AT && !memcmp(head, "\x17\x08\x44tracing", VERSION_AT);
}

static uint64_t now(struct gt_source *s)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);

	return p->host->now(p);
}

static bool has_ended(pid_t pid)
{
	siginfo_t si = { 0 };

	return !waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) && si.si_pid == pid;
}

/* Ends the child and its own; what waitpid() says if it ended by itself, else -1. */
static int reap(struct dat *d, bool await)
{
	int status = -1;
	bool itself = false;

	if (d->pid <= 0)
		return -1;
	/* One whose pipe is closed is about to end, and how is what one wants to know. */
	for (int i = 0; await && i < 100 && !(itself = has_ended(d->pid)); i++)
		poll(NULL, 0, POLL_MS);
	kill(-d->pid, SIGKILL);
	kill(d->pid, SIGKILL);
	while (waitpid(d->pid, &status, 0) < 0 && errno == EINTR)
		;
	d->pid = 0;
	return itself ? status : -1;
}

static void dat_close(struct gt_source *s)
{
	struct dat *d = s->priv;

	gt_events_free(s->events);
	s->events = NULL;
	s->priv = NULL;
	if (!d)
		return;
	if (d->fd >= 0)
		close(d->fd);
	reap(d, false);
	free(d->buf);
	free(d);
}

static void say_status(char *text, size_t len, int status)
{
	if (status >= 0 && WIFSIGNALED(status))
		snprintf(text, len, "libtracecmd failed on this file (signal %d)",
			 WTERMSIG(status));
	else if (status >= 0 && WEXITSTATUS(status))
		snprintf(text, len, "libtracecmd failed on this file (exit status %d)",
			 WEXITSTATUS(status));
	else
		snprintf(text, len, "libtracecmd stopped on this file");
}

/* The child is not heard of any more: @text says why. Returns -EIO. */
static int give_up(struct dat *d, char *text, size_t len, const char *why)
{
	int status = reap(d, !why);

	d->over = true;
	if (why)
		snprintf(text, len, "%s", why);
	else
		say_status(text, len, status);
	return -EIO;
}

/* More bytes: 1; none yet: 0; -EIO with @text. */
static int receive(struct gt_source *s, struct dat *d, char *text, size_t len)
{
	struct pollfd p = { .fd = d->fd, .events = POLLIN };
	ssize_t n;

	memmove(d->buf, d->buf + d->pos, d->len - d->pos);
	d->len -= d->pos;
	d->pos = 0;
	n = read(d->fd, d->buf + d->len, BUF - d->len);
	if (n < 0 && errno == EAGAIN) {
		if (now(s) - d->since > d->patience)
			return give_up(d, text, len, "libtracecmd hangs on this file");
		if (poll(&p, 1, POLL_MS) <= 0)
			return 0;
		n = read(d->fd, d->buf + d->len, BUF - d->len);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return give_up(d, text, len, NULL);
	d->since = now(s);
	d->len += (size_t)n;
	return 1;
}

/* The next frame and its payload: 1; 0: not here yet; -EIO with @text. */
static int frame(struct gt_source *s, struct gt_frame *f, const uint8_t **data, char *text,
		 size_t len)
{
	struct dat *d = s->priv;

	for (;;) {
		size_t have = d->len - d->pos;
		int ret;

		if (have >= sizeof(*f)) {
			memcpy(f, d->buf + d->pos, sizeof(*f));
			if (f->len > GT_FRAME_MAX || f->kind >= GT_FRAME_KINDS)
				return give_up(d, text, len, "libtracecmd failed on this file");
			if (have >= sizeof(*f) + f->len) {
				*data = d->buf + d->pos + sizeof(*f);
				d->pos += sizeof(*f) + f->len;
				return 1;
			}
		}
		ret = receive(s, d, text, len);
		if (ret <= 0)
			return ret;
	}
}

static int start_child(struct gt_source *s, struct dat *d)
{
	pid_t self = getpid();
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return gt_source_error(s, errno, "no pipe: %s", strerror(errno));
	d->pid = fork();
	if (!d->pid)
		gt_child_main(s->fd, s->stored, pipes[1], self, s->events);
	close(pipes[1]);
	d->fd = pipes[0];
	if (d->pid < 0)
		return gt_source_error(s, errno, "no process: %s", strerror(errno));
	/* Both sides do it: whoever comes first, the group is there when it is killed. */
	setpgid(d->pid, d->pid);
	if (fcntl(d->fd, F_SETFL, O_NONBLOCK) < 0)
		return gt_source_error(s, errno, "no pipe: %s", strerror(errno));
	d->since = now(s);
	d->patience = SILENCE + s->stored * 100; /* 10 MB a second, where it must be unpacked */
	return 0;
}

/* Was it recorded on a machine of the other byte order? The library would not always say so. */
static bool other_order(struct gt_source *s)
{
	char head[16] = "";
	size_t n;

	if (gt_source_pread(s, head, sizeof(head) - 1, VERSION_AT) < 3)
		return false;
	n = strlen(head);
	return n < sizeof(head) - 2 && head[n + 1] == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

/* Waits until the library has opened the file, or has not: then @text says why. */
static int await_open(struct gt_source *s, char *text, size_t len)
{
	const uint8_t *data;
	struct gt_frame f;
	int ret;

	for (;;) {
		ret = frame(s, &f, &data, text, len);
		if (ret < 0)
			return ret;
		if (ret && f.kind == GT_FRAME_OPEN)
			return 0;
		if (ret && f.kind == GT_FRAME_FAULT)
			gt_source_fault(s, "%.*s", (int)f.len, (const char *)data);
		if (ret && f.kind == GT_FRAME_FAIL) {
			snprintf(text, len, "%.*s", (int)f.len, (const char *)data);
			return -EBADMSG;
		}
	}
}

static int dat_open(struct gt_source *s)
{
	struct dat *d = calloc(1, sizeof(*d));
	char text[256] = "", cut[128] = "", version[4] = "";
	int ret;

	s->priv = d;
	if (!d)
		return gt_source_error(s, ENOMEM, "no memory");
	d->fd = -1;
	if (other_order(s))
		return gt_source_error(s, EOPNOTSUPP,
				       "was recorded on a machine of the other byte order");
	d->buf = malloc(BUF);
	if (!d->buf)
		return gt_source_error(s, ENOMEM, "no memory");
	s->events = gt_events_new(s);
	if (!s->events)
		return -ENOENT;
	ret = start_child(s, d);
	if (ret < 0)
		return ret;
	ret = await_open(s, text, sizeof(text));
	if (!gt_head7_whole(s, cut, sizeof(cut)) && !ret)
		gt_source_fault(s, "%s", cut);
	if (!ret)
		return 0;
	if (gt_source_pread(s, version, 2, VERSION_AT) == 2 && !memcmp(version, "6", 2))
		return gt_source_reopen(s, &gt_reader_dat6);
	return gt_source_error(s, EBADMSG, "%s%s%s", cut, *cut ? ": " : "", text);
}

static void add_format(struct gt_source *s, const struct gt_frame *f, const uint8_t *data)
{
	const char *p = (const char *)data, *end = p + f->len;
	const char *name = memchr(p, '\0', f->len), *format;
	int ev;

	if (!name || ++name == end)
		return;
	format = memchr(name, '\0', (size_t)(end - name));
	if (!format)
		return;
	format++;
	ev = gt_events_add(s->events, p, name, f->id, format, (size_t)(end - format));
	if (ev >= 0)
		gt_events_seen(s->events, ev, format, 0, true);
}

/* What may come in either reading. */
static int common_frame(struct gt_source *s, const struct gt_frame *f, const uint8_t *data)
{
	struct dat *d = s->priv;

	switch (f->kind) {
	case GT_FRAME_FORMAT:
		add_format(s, f, data);
		return 0;
	case GT_FRAME_FAULT:
		gt_source_fault(s, "%.*s", (int)f->len, (const char *)data);
		return 0;
	case GT_FRAME_END:
		d->over = true;
		reap(d, false);
		return -ENODATA;
	default:
		return 0;
	}
}

static int dat_scan(struct gt_source *s)
{
	char text[256];
	const uint8_t *data;
	struct gt_frame f;

	for (int i = 0; i < PIECE; i++) {
		int ret = frame(s, &f, &data, text, sizeof(text)), ev;

		if (ret < 0)
			return gt_source_error(s, -ret, "%s", text);
		if (!ret)
			return 0;
		if (f.kind == GT_FRAME_SCANNED)
			return 1;
		if (f.kind != GT_FRAME_SEEN) {
			ret = common_frame(s, &f, data);
			if (ret < 0)
				return ret;
			continue;
		}
		ev = gt_events_by_id(s->events, (unsigned int)f.id);
		if (ev >= 0)
			gt_events_seen(s->events, ev, data, f.len, true);
	}
	return 0;
}

static uint16_t cpu_of(const struct gt_frame *f)
{
	return f->cpu < GT_NONE16 ? (uint16_t)f->cpu : GT_NONE16;
}

/* 1 if the frame made an item */
static int take(struct gt_source *s, const struct gt_frame *f, const uint8_t *data)
{
	struct gt_item *it = &s->item;
	uint64_t since = 0;

	if (f->kind == GT_FRAME_LOST) {
		memcpy(&since, data, f->len < sizeof(since) ? f->len : sizeof(since));
		s->lost += f->missed == GT_NONE64 ? 1 : f->missed;
		gt_item_lost(it, f->ts, since, f->missed, cpu_of(f));
		return 1;
	}
	if (f->kind != GT_FRAME_EVENT)
		return common_frame(s, f, data);
	it->ev = gt_events_by_id(s->events, (unsigned int)f->id);
	if (!gt_events_wanted(s->events, it->ev))
		return 0;
	it->ts = f->ts;
	it->kind = GT_ITEM_RAW;
	it->ctx = (struct gt_evctx){ .ts = f->ts, .tid = f->tid, .pid = f->tid, .cpu = cpu_of(f) };
	it->data = data;
	it->len = f->len;
	it->where = 0;
	memcpy(it->comm, f->comm, sizeof(it->comm));
	it->comm[sizeof(it->comm) - 1] = '\0';
	return 1;
}

static int dat_next(struct gt_source *s)
{
	struct dat *d = s->priv;
	char text[256];
	const uint8_t *data;
	struct gt_frame f;

	for (int i = 0; i < PIECE && !d->over; i++) {
		int ret = frame(s, &f, &data, text, sizeof(text));

		if (ret < 0)
			return gt_source_error(s, -ret, "%s", text);
		if (!ret)
			return 0;
		ret = take(s, &f, data);
		if (ret)
			return ret;
	}
	return d->over ? -ENODATA : 0;
}

const struct gt_reader gt_reader_dat = {
	.name = "trace.dat",
	.detect = dat_detect,
	.open = dat_open,
	.scan = dat_scan,
	.next = dat_next,
	.close = dat_close,
};
