/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.dat, of any version that libtracecmd reads. The library works in a child process (this file)
 * and this side takes its frames, believes nothing, and waits for nothing without a bound. Where
 * the library fails on a file of version 6, our own reader has it (tracedat6.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <trace-cmd/trace-cmd.h>
#include <unistd.h>

#include "../lib/sandbox.h"
#include "replay.h"

/*
 * The child process that reads a trace.dat with libtracecmd, which on a damaged file may crash,
 * exit, hang or take all memory. It has limits, no descriptor but the file and the pipe, and sends
 * what it reads in frames. The first reading is done by a child of its own: if that one crashes,
 * the second reading still gives what it can.
 */

#define FILE_FD	   3
#define OUT_FD	   4
#define SAYS_FD	   5 /* reading end of what the library writes to stderr */
#define OUT_SIZE   65536u
#define MEMORY	   (4ull << 30) /* above what the daemon itself has mapped */
#define CPU_S	   30		/* and a second for each 4 MiB of the file */
#define CPUS	   4096
#define IDS	   65536
#define BUFFERS	   64
#define ALIVE	   (1u << 18) /* records */
#define FORMAT_MAX 65536

enum known { UNKNOWN, WANTED, UNWANTED };

struct child {
	const struct gt_events *events;
	struct tracecmd_input *in[BUFFERS];
	int n;
	bool scanning;
	uint8_t *known; /* enum known by id */
	uint64_t begin; /* time of the first record */
	uint64_t *last; /* time by CPU */
	unsigned int records;
	uint64_t skipped; /* records no map has use for */
	size_t len;
	uint8_t out[OUT_SIZE];
};

static void put_out(struct child *c)
{
	size_t done = 0;

	while (done < c->len) {
		ssize_t n = write(OUT_FD, c->out + done, c->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0); /* nobody listens any more */
		done += (size_t)n;
	}
	c->len = 0;
}

static void put_bytes(struct child *c, const void *data, size_t len)
{
	while (len) {
		size_t n = OUT_SIZE - c->len < len ? OUT_SIZE - c->len : len;

		memcpy(c->out + c->len, data, n);
		c->len += n;
		data = (const uint8_t *)data + n;
		len -= n;
		if (c->len == OUT_SIZE)
			put_out(c);
	}
}

/* A frame is written in whole or, if the next record kills this process, not at all. */
static void put(struct child *c, struct gt_frame *f, const void *data, size_t len)
{
	if (len > GT_FRAME_MAX)
		return;
	if (c->len + sizeof(*f) + len > OUT_SIZE)
		put_out(c);
	f->len = (uint32_t)len;
	put_bytes(c, f, sizeof(*f));
	put_bytes(c, data, len);
}

static void put_kind(struct child *c, enum gt_frame_kind kind, const char *text)
{
	struct gt_frame f = { .kind = kind };

	put(c, &f, text, strlen(text));
	put_out(c);
}

/* libtraceevent keeps no text of a format; this is as the kernel would write it. */
static size_t fields(char *out, size_t len, const struct tep_format_field *f)
{
	size_t used = 0;

	for (; f; f = f->next) {
		int n = snprintf(out + used, len - used,
				 "\tfield:%s %s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", f->type,
				 f->name, f->offset, f->size, !!(f->flags & TEP_FIELD_IS_SIGNED));

		if (n < 0 || (size_t)n >= len - used)
			break;
		used += (size_t)n;
	}
	return used;
}

static void put_format(struct child *c, const struct tep_event *ev, bool wanted)
{
	struct gt_frame f = { .kind = GT_FRAME_FORMAT, .id = ev->id };
	char *text = malloc(FORMAT_MAX);
	int n;
	size_t used;

	if (!text)
		_exit(1);
	n = snprintf(text, FORMAT_MAX, "%.100s%c%.100s%c", ev->system, 0, ev->name, 0);
	used = (size_t)n;
	if (wanted) {
		used += (size_t)snprintf(text + used, FORMAT_MAX - used,
					 "name: %.100s\nID: %d\nformat:\n", ev->name, ev->id);
		used += fields(text + used, FORMAT_MAX - used, ev->format.common_fields);
		used += fields(text + used, FORMAT_MAX - used, ev->format.fields);
	}
	put(c, &f, text, used);
	free(text);
}

static bool wanted(struct child *c, struct tep_handle *tep, int id)
{
	const struct tep_event *ev;

	if (id < 0 || id >= IDS)
		return false;
	if (c->known[id] != UNKNOWN)
		return c->known[id] == WANTED;
	c->known[id] = UNWANTED;
	ev = tep_find_event(tep, id);
	if (!ev || !ev->system || !ev->name)
		return false;
	if (gt_events_known(c->events, ev->system, ev->name))
		c->known[id] = WANTED;
	put_format(c, ev, c->known[id] == WANTED);
	return c->known[id] == WANTED;
}

/* In either reading: the first says where gaps begin, as other CPUs go on within them. */
static void put_lost(struct child *c, const struct tep_record *rec, uint64_t since)
{
	uint64_t gap[2] = { since, rec->ts };
	struct gt_frame f = { .kind = GT_FRAME_LOST,
			      .ts = rec->ts,
			      .cpu = (uint32_t)rec->cpu,
			      .missed = rec->missed_events > 0 ? (uint64_t)rec->missed_events
							       : GT_NONE64 };

	put(c, &f, gap, sizeof(gap));
}

static void put_begin(struct child *c, const struct tep_record *rec)
{
	struct gt_frame f = {
		.kind = GT_FRAME_BEGIN, .ts = rec->ts, .cpu = (uint32_t)rec->cpu, .missed = c->begin
	};

	put(c, &f, "", 0);
}

static int on_record(struct tracecmd_input *in, struct tep_record *rec, int cpu, void *arg)
{
	struct child *c = arg;
	struct tep_handle *tep = tracecmd_get_tep(in);
	uint64_t *last = &c->last[rec->cpu >= 0 && rec->cpu < CPUS ? rec->cpu : 0];
	struct gt_frame f = { .kind = c->scanning ? GT_FRAME_SEEN : GT_FRAME_EVENT,
			      .ts = rec->ts,
			      .cpu = (uint32_t)rec->cpu };
	const char *comm;

	if (++c->records % ALIVE == 0)
		put_kind(c, GT_FRAME_ALIVE, "");
	if (!c->begin)
		c->begin = rec->ts;
	if (rec->missed_events)
		put_lost(c, rec, *last ? *last : c->begin);
	else if (!*last && rec->ts > c->begin && !c->scanning)
		put_begin(c, rec);
	*last = rec->ts;
	f.id = rec->size >= 2 && rec->data ? tep_data_type(tep, rec) : -1;
	if (!wanted(c, tep, f.id)) {
		c->skipped++;
		return 0;
	}
	f.tid = (uint32_t)tep_data_pid(tep, rec);
	comm = tep_data_comm_from_pid(tep, (int)f.tid);
	gt_comm_set(f.comm, comm ? comm : "", comm ? strnlen(comm, GT_REPLAY_COMM) : 0);
	put(c, &f, rec->data, (size_t)rec->size);
	return 0;
}

static void read_all(struct child *c)
{
	memset(c->known, UNKNOWN, IDS);
	c->begin = 0;
	memset(c->last, 0, CPUS * sizeof(*c->last));
	tracecmd_iterate_events_multi(c->in, c->n, on_record, c);
	put_out(c);
}

static void first_reading(struct child *c)
{
	pid_t self = getpid(), pid;
	char text[96] = "";
	int status = 0;

	put_out(c);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(0);
		c->scanning = true;
		read_all(c);
		_exit(0);
	}
	if (pid < 0)
		snprintf(text, sizeof(text), "it was read only once: no process");
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "libtracecmd failed on this file (signal %d)",
			 WTERMSIG(status));
	else if (WEXITSTATUS(status))
		snprintf(text, sizeof(text), "libtracecmd failed on this file (exit status %d)",
			 WEXITSTATUS(status));
	if (*text)
		put_kind(c, GT_FRAME_FAULT, text);
	put_kind(c, GT_FRAME_SCANNED, "");
}

/* "libtracecmd refuses this file: " and what it wrote to stderr, its first line. Its errno is any
 * call's that failed on the way. */
static void refuse(struct child *c, int err)
{
	char says[160], text[256];
	ssize_t n = read(SAYS_FD, says, sizeof(says) - 1);

	if (n > 0)
		says[n] = '\0';
	else
		snprintf(says, sizeof(says), "%s",
			 err == ENOMEM ? strerror(err) : "it is cut or damaged");
	says[strcspn(says, "\r\n")] = '\0';
	snprintf(text, sizeof(text), "libtracecmd refuses this file%s%s", *says ? ": " : "", says);
	put_kind(c, GT_FRAME_FAIL, text);
	_exit(0);
}

static void open_all(struct child *c)
{
	int n;

	errno = 0;
	c->in[0] = tracecmd_open_fd(FILE_FD, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!c->in[0])
		refuse(c, errno);
	if (tep_is_file_bigendian(tracecmd_get_tep(c->in[0])) != tep_is_bigendian()) {
		put_kind(c, GT_FRAME_FAIL, "was recorded on a machine of the other byte order");
		_exit(0);
	}
	n = tracecmd_buffer_instances(c->in[0]);
	for (c->n = 1; c->n <= n && c->n < BUFFERS; c->n++) {
		c->in[c->n] = tracecmd_buffer_instance_handle(c->in[0], c->n - 1);
		if (!c->in[c->n])
			break;
	}
	if (c->n <= n)
		put_kind(c, GT_FRAME_FAULT, "some of its buffers cannot be read");
	put_kind(c, GT_FRAME_OPEN, "");
}

/* The file is 3, the pipe 4, what the library says goes to 5; nothing else stays open. */
static void arrange(int fd, int out)
{
	int says[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int high[4];

	if (null < 0 || pipe2(says, O_CLOEXEC | O_NONBLOCK) < 0)
		_exit(1);
	high[0] = fcntl(fd, F_DUPFD_CLOEXEC, 16);
	high[1] = fcntl(out, F_DUPFD_CLOEXEC, 16);
	high[2] = fcntl(says[0], F_DUPFD_CLOEXEC, 16);
	high[3] = fcntl(says[1], F_DUPFD_CLOEXEC, 16);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(high[3], 2) < 0 ||
	    dup2(high[0], FILE_FD) < 0 || dup2(high[1], OUT_FD) < 0 || dup2(high[2], SAYS_FD) < 0 ||
	    close_range(SAYS_FD + 1, ~0u, 0) < 0)
		_exit(1);
}

/**
 * gt_child_main() - reads a trace.dat with libtracecmd; the whole of the child process
 * @fd: the file, of @size bytes without its holes; @out: where frames go; @parent: who started it
 * @e: the maps, to know what is of use
 *
 * It does not return: it ends the process.
 */
static void __attribute__((noreturn))
gt_child_main(int fd, uint64_t size, int out, pid_t parent, const struct gt_events *e)
{
	struct gt_frame end = { .kind = GT_FRAME_END };
	struct child *c;

	gt_child_begin(parent);
	arrange(fd, out);
	/* Compressed data goes to a file of its own. */
	gt_child_limit((256ull << 20) + 64 * size, CPU_S + size / (4 << 20), MEMORY);
	if (gt_child_confine_dat())
		_exit(1);
	c = calloc(1, sizeof(*c));
	if (!c)
		_exit(1);
	c->events = e;
	c->known = calloc(1, IDS);
	c->last = calloc(CPUS, sizeof(*c->last));
	if (!c->known || !c->last || lseek(FILE_FD, 0, SEEK_SET) < 0)
		_exit(1);
	open_all(c);
	first_reading(c);
	read_all(c);
	end.missed = c->skipped;
	put(c, &end, "", 0);
	put_out(c);
	_exit(0);
}

#define BUF	   (2u * GT_FRAME_MAX)
#define PIECE	   4096		/* frames taken before the caller is asked again */
#define SILENCE	   10000000000u /* ns without a word before the child is given up */
#define POLL_MS	   2
#define GAPS_MAX   65536 /* that are known before they begin */
#define VERSION_AT 10	 /* in the file: behind 0x17 0x08 0x44 "tracing"; then its byte order */

/* Events that a CPU lost */
struct gap {
	uint64_t since, until, count;
	uint16_t cpu;
};

/**
 * struct dat - the child and what it wrote
 * @since: when something came last
 * @over: nothing comes any more
 * @gap: those that the first reading found, @gaps, by @since; @gap_at: the next one; @gap_seen: those
 *	that the second one has come across
 * @held: the item behind a gap, if @holds
 */
struct dat {
	pid_t pid;
	int fd;
	uint8_t *buf;
	size_t pos, len;
	uint64_t since, patience;
	bool over;
	struct gap *gap;
	unsigned int gaps, gap_at, gap_seen;
	struct gt_item held;
	bool holds;
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

/* @await: its pipe is closed, so it is about to end, and its exit status matters */
static int reap(struct dat *d, bool await)
{
	int status = d->pid > 0 ? gt_reap(d->pid, await, NULL) : -1;

	d->pid = 0;
	return status;
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
	free(d->gap);
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
			gt_source_fault(s, GT_PLACE_NONE, 0, "%.*s", (int)f.len,
					(const char *)data);
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
		gt_source_fault(s, GT_PLACE_NONE, 0, "%s", cut);
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
		gt_source_fault(s, GT_PLACE_NONE, 0, "%.*s", (int)f->len, (const char *)data);
		return 0;
	case GT_FRAME_END:
		gt_source_skip(s, f->missed);
		d->over = true;
		reap(d, false);
		return -ENODATA;
	default:
		return 0;
	}
}

static uint16_t cpu_of(const struct gt_frame *f)
{
	return f->cpu < GT_NONE16 ? (uint16_t)f->cpu : GT_NONE16;
}

static struct gap gap_of(const struct gt_frame *f, const uint8_t *data)
{
	uint64_t times[2] = { 0 };

	memcpy(times, data, f->len < sizeof(times) ? f->len : sizeof(times));
	return (struct gap){ times[0], times[1], f->missed, cpu_of(f) };
}

static void add_gap(struct dat *d, const struct gt_frame *f, const uint8_t *data)
{
	if (!d->gap)
		d->gap = malloc(GAPS_MAX * sizeof(*d->gap));
	if (d->gap && d->gaps < GAPS_MAX)
		d->gap[d->gaps++] = gap_of(f, data);
}

static int by_since(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	return (x->since > y->since) - (x->since < y->since);
}

static int dat_scan(struct gt_source *s)
{
	struct dat *d = s->priv;
	char text[256];
	const uint8_t *data;
	struct gt_frame f;

	for (int i = 0; i < PIECE; i++) {
		int ret = frame(s, &f, &data, text, sizeof(text)), ev;

		if (ret < 0)
			return gt_source_error(s, -ret, "%s", text);
		if (!ret)
			return 0;
		if (f.kind == GT_FRAME_SCANNED) {
			if (d->gaps)
				qsort(d->gap, d->gaps, sizeof(*d->gap), by_since);
			return 1;
		}
		if (f.kind == GT_FRAME_LOST) {
			add_gap(d, &f, data);
			continue;
		}
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

static int set_lost(struct gt_source *s, const struct gap *g, uint64_t ts)
{
	gt_file_lost(&s->count, g->count);
	gt_item_lost(&s->item, ts, g->since, g->until, g->count, g->cpu);
	return 1;
}

/* 1 if the frame made an item */
static int take(struct gt_source *s, const struct gt_frame *f, const uint8_t *data)
{
	struct gt_item *it = &s->item;
	struct dat *d = s->priv;

	if (f->kind == GT_FRAME_LOST && d->gap_seen < d->gaps) {
		d->gap_seen++; /* it is among those that are known */
		return 0;
	}
	if (f->kind == GT_FRAME_LOST) {
		struct gap g = gap_of(f, data);

		return set_lost(s, &g, f->ts);
	}
	if (f->kind == GT_FRAME_BEGIN) {
		gt_item_begin(it, f->ts, f->missed, cpu_of(f));
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

/* What a gap that begins before the item leaves for later is held: its data stays until then. */
static int gaps_first(struct gt_source *s, struct dat *d)
{
	if (d->gap_at == d->gaps || d->gap[d->gap_at].since >= d->held.ts) {
		s->item = d->held;
		d->holds = false;
		return 1;
	}
	d->gap_at++;
	return set_lost(s, &d->gap[d->gap_at - 1], d->gap[d->gap_at - 1].since);
}

static int next_item(struct gt_source *s, struct dat *d)
{
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

static int dat_next(struct gt_source *s)
{
	struct dat *d = s->priv;
	int ret;

	if (d->holds)
		return gaps_first(s, d);
	ret = next_item(s, d);
	if (d->gap_at == d->gaps || (ret < 0 && ret != -ENODATA) || !ret)
		return ret;
	if (ret < 0) {
		const struct gap *g = &d->gap[d->gap_at++];

		return set_lost(s, g, g->since);
	}
	d->held = s->item;
	d->holds = true;
	return gaps_first(s, d);
}

const struct gt_reader gt_reader_dat = {
	.name = "trace.dat",
	.detect = dat_detect,
	.open = dat_open,
	.scan = dat_scan,
	.next = dat_next,
	.close = dat_close,
};
