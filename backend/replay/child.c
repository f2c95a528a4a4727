/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The child process that reads a trace.dat with libtracecmd, which on a damaged file may crash,
 * exit, hang or take all memory. It has limits, no descriptor but the file and the pipe, and tells
 * what it reads in frames. The first reading is done by a child of its own: if that one crashes,
 * the second reading still gives what it can.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <trace-cmd/trace-cmd.h>
#include <unistd.h>

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
	uint64_t *last; /* time by CPU */
	unsigned int records;
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

static void put_lost(struct child *c, const struct tep_record *rec, uint64_t since)
{
	struct gt_frame f = { .kind = GT_FRAME_LOST,
			      .ts = rec->ts,
			      .cpu = (uint32_t)rec->cpu,
			      .missed = rec->missed_events > 0 ? (uint64_t)rec->missed_events
							       : GT_NONE64 };

	put(c, &f, &since, sizeof(since));
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
	if (rec->missed_events && !c->scanning)
		put_lost(c, rec, *last);
	*last = rec->ts;
	f.id = rec->size >= 2 && rec->data ? tep_data_type(tep, rec) : -1;
	if (!wanted(c, tep, f.id))
		return 0;
	f.tid = (uint32_t)tep_data_pid(tep, rec);
	comm = tep_data_comm_from_pid(tep, (int)f.tid);
	gt_comm_set(f.comm, comm ? comm : "", comm ? strnlen(comm, GT_REPLAY_COMM) : 0);
	put(c, &f, rec->data, (size_t)rec->size);
	return 0;
}

static void read_all(struct child *c)
{
	memset(c->known, UNKNOWN, IDS);
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

/* "libtracecmd refuses this file: " and what it wrote to stderr, its first line */
static void refuse(struct child *c, int err)
{
	char says[160], text[256];
	ssize_t n = read(SAYS_FD, says, sizeof(says) - 1);

	if (n > 0)
		says[n] = '\0';
	else
		snprintf(says, sizeof(says), "%s", err ? strerror(err) : "");
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
	int says[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
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

void gt_child_main(int fd, uint64_t size, int out, pid_t parent, const struct gt_events *e)
{
	struct child *c;

	gt_child_begin(parent);
	arrange(fd, out);
	/* Compressed data goes to a file of its own. */
	gt_child_limit((256ull << 20) + 64 * size, CPU_S + size / (4 << 20), MEMORY);
	if (gt_child_confine())
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
	put_kind(c, GT_FRAME_END, "");
	_exit(0);
}
