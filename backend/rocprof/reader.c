/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The child process that reads results, how it is started and ended, and its work: all files are read a piece at a time, and their rows go out by time. Within a
 * file rows come nearly in order (of begin, where we want that of the end): some thousand of them
 * wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/file.h"
#include "../lib/heap.h"
#include "../lib/sandbox.h"
#include "json_stream.h"
#include "rocprof.h"

#define OUT_SIZE  (256u << 10)
#define WINDOW	  4096	     /* rows of a file that wait for earlier ones */
#define ROWS_MAX  (1u << 18) /* that one piece of a file may give */
#define HEAD	  65536
#define SENTENCES 4   /* faults of a file that are reported in words */
#define ALIVE	  256 /* pieces without a word */

static const struct rp_format *const formats[] = {
	&rp_format_db, &rp_format_json, &rp_format_v1json, &rp_format_att, &rp_format_csv,
};

struct rp_reading {
	int out;
	size_t len;
	uint8_t *buf;
	unsigned int n, silent;
	uint64_t key[2]; /* of their hashes */
	uint64_t *hash;	 /* of names, by place; @id beside it */
	uint32_t *id;
	uint32_t names;
	struct rp_input in[RP_FILES];
};

/* Frames ------------------------------------------------------------------------------------------
 */

static void put_out(struct rp_reading *r)
{
	size_t done = 0;

	while (done < r->len) {
		ssize_t n = write(r->out, r->buf + done, r->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0); /* nobody listens any more */
		done += (size_t)n;
	}
	r->len = 0;
	r->silent = 0;
}

static void put(struct rp_reading *r, enum rp_kind kind, unsigned int file, const void *a,
		size_t alen, const void *b, size_t blen)
{
	struct rp_frame f = { .len = (uint32_t)(alen + blen),
			      .kind = (uint16_t)kind,
			      .file = (uint16_t)file };

	if (r->len + sizeof(f) + f.len > OUT_SIZE)
		put_out(r);
	memcpy(r->buf + r->len, &f, sizeof(f));
	r->len += sizeof(f);
	memcpy(r->buf + r->len, a, alen);
	r->len += alen;
	if (blen)
		memcpy(r->buf + r->len, b, blen);
	r->len += blen;
}

void rp_emit_agent(struct rp_input *in, const struct rp_agent *a)
{
	put(in->r, RP_AGENT, in->index, a, sizeof(*a), NULL, 0);
}

void rp_emit_at(struct rp_input *in, const uint64_t at[RP_PLACES])
{
	put(in->r, RP_AT, in->index, at, RP_PLACES * sizeof(*at), NULL, 0);
}

void rp_table(struct rp_input *in, const char *what)
{
	put(in->r, RP_TABLE, in->index, what, strlen(what), NULL, 0);
}

static struct rp_where where_of(const struct rp_input *in)
{
	if (in->walk && in->walk->yajl)
		return (struct rp_where){ GT_PLACE_BYTE, rp_walk_at(in->walk) };
	return (struct rp_where){ in->line ? GT_PLACE_ROW : GT_PLACE_NONE, in->line };
}

static void sentence(struct rp_input *in, enum rp_kind kind, const char *fmt, va_list ap)
{
	struct rp_where where = where_of(in);
	char text[200];
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	put(in->r, kind, in->index, &where, sizeof(where), text,
	    n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void rp_fault(struct rp_input *in, const char *fmt, ...)
{
	va_list ap;

	if (in->faults++ >= SENTENCES) {
		struct rp_where where = where_of(in);

		put(in->r, RP_FAULT, in->index, &where, sizeof(where), NULL, 0);
		return;
	}
	va_start(ap, fmt);
	sentence(in, RP_FAULT, fmt, ap);
	va_end(ap);
}

int rp_fail(struct rp_input *in, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sentence(in, RP_FAIL, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

/* Names -------------------------------------------------------------------------------------------
 */

static inline uint64_t rotate(uint64_t x, unsigned int n)
{
	return x << n | x >> (64 - n);
}

static inline void sip(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32) + v[3];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

/* SipHash-1-3: who does not know the key finds no two names that are taken for one */
static uint64_t hash_of(const uint64_t key[2], const char *s, size_t len)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
			  key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573 };
	uint64_t m, last = (uint64_t)len << 56;

	for (; len >= 8; s += 8, len -= 8) {
		memcpy(&m, s, 8);
		v[3] ^= m;
		sip(v);
		v[0] ^= m;
	}
	m = 0;
	memcpy(&m, s, len);
	last |= m;
	v[3] ^= last;
	sip(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (unsigned int i = 0; i < 3; i++)
		sip(v);
	m = v[0] ^ v[1] ^ v[2] ^ v[3];
	return m ? m : 1;
}

/* Of a name that is sent in part only: the same in each reading, as the kernel it means is */
static uint64_t whole_hash(const char *s, size_t len)
{
	static const uint64_t fixed[2] = { 1, 2 };

	return hash_of(fixed, s, len);
}

uint32_t rp_intern(struct rp_input *in, const char *text, size_t len)
{
	struct rp_reading *r = in->r;
	uint64_t h = hash_of(r->key, text, len);
	size_t i = h % (2 * RP_NAMES);
	struct rp_name n = { .id = r->names };

	while (r->hash[i] && r->hash[i] != h)
		i = (i + 1) % (2 * RP_NAMES);
	if (r->hash[i])
		return r->id[i];
	if (r->names == RP_NAMES)
		return GT_NONE32;
	r->hash[i] = h;
	r->id[i] = r->names++;
	n.hash = len > GT_KERNEL_NAME_MAX ? whole_hash(text, len) : 0;
	put(r, RP_NAME, in->index, &n, sizeof(n), text,
	    len > GT_KERNEL_NAME_MAX ? GT_KERNEL_NAME_MAX : len);
	return n.id;
}

void rp_emit_text(struct rp_input *in, const char *kernel, size_t klen, enum gt_kernel_text which,
		  const char *text, size_t len)
{
	struct rp_text t = { .agent = in->s->agent,
			     .name = rp_intern(in, kernel, klen),
			     .which = which };

	put(in->r, RP_TEXT, in->index, &t, sizeof(t), text,
	    len < GT_KERNEL_TEXT_MAX ? len : GT_KERNEL_TEXT_MAX);
}

/* Rows --------------------------------------------------------------------------------------------
 */

void rp_row_init(struct rp_row *r, enum rp_row_kind kind)
{
	memset(r, 0xff, sizeof(*r));
	r->value = 0;
	r->kind = (uint16_t)kind;
}

static bool more_room(struct rp_input *in)
{
	unsigned int room = in->room ? 2 * in->room : 2 * WINDOW;
	void *heap = reallocarray(in->heap, room, sizeof(*in->heap));
	void *row, *spare;

	if (!heap || room > ROWS_MAX)
		return false;
	in->heap = heap;
	row = reallocarray(in->row, room, sizeof(*in->row));
	if (!row)
		return false;
	in->row = row;
	spare = reallocarray(in->spare, room, sizeof(*in->spare));
	if (!spare)
		return false;
	in->spare = spare;
	while (in->room < room)
		in->spare[in->nspare++] = in->room++;
	return true;
}

static bool before(const struct rp_wait *a, const struct rp_wait *b)
{
	return a->ts != b->ts ? a->ts < b->ts : (int32_t)(a->seq - b->seq) < 0;
}

static void no_times(struct rp_input *in)
{
	if (in->line)
		rp_fault(in, "row %llu has no times: left out", (unsigned long long)in->line);
	else
		rp_fault(in, "a record has no times: left out");
}

void rp_emit(struct rp_input *in, const struct rp_row *r)
{
	bool untimed = !r->start && !r->end; /* 0 is a time that the profiler did not get */
	uint32_t at;

	if (untimed && !rp_row_reads(r)) {
		no_times(in);
		return;
	}
	if (rp_row_reads(r) && !isfinite(r->value)) {
		rp_fault(in, "a reading of a counter is no number: left out");
		return;
	}
	if (!in->nspare && !more_room(in)) {
		rp_fault(in, "too many rows at once: some are left out");
		return;
	}
	at = in->spare[--in->nspare];
	in->row[at] = *r;
	in->row[at].file = in->index;
	if (untimed)
		in->row[at].start = in->row[at].end = GT_NONE64;
	if (in->row[at].pid == GT_NONE32)
		in->row[at].pid = in->s->pid;
	in->heap[in->n].ts = rp_row_ts(r);
	in->heap[in->n].at = at;
	in->heap[in->n].seq = in->seq++;
	GT_HEAP_RISE(in->heap, in->n, before);
	in->n++;
}

static void take_first(struct rp_input *in)
{
	uint32_t at = in->heap[0].at;

	put(in->r, RP_ROW, in->index, &in->row[at], sizeof(*in->row), NULL, 0);
	in->spare[in->nspare++] = at;
	in->heap[0] = in->heap[--in->n];
	if (in->n)
		GT_HEAP_SINK(in->heap, in->n, 0, before);
}

/* Files -------------------------------------------------------------------------------------------
 */

/* File systems compress, and may say only seconds later how many blocks a file has */
#define STORED_PACKED 16
#define STORED_LEAST  (16ull << 20)

uint64_t rp_stored(const struct rp_source *s)
{
	struct stat st;
	uint64_t most;

	if (fstat(s->fd, &st) < 0)
		return s->size;
	most = (uint64_t)st.st_blocks * 512 * STORED_PACKED;
	most = most > STORED_LEAST ? most : STORED_LEAST;
	return s->size < most ? s->size : most;
}

ssize_t rp_pread(const struct rp_input *in, void *buf, size_t len, uint64_t off)
{
	if (off >= in->s->size)
		return 0;
	return gt_pread(in->s->fd, buf, len < in->s->size - off ? len : in->s->size - off, off);
}

static int open_input(struct rp_input *in)
{
	char *head = malloc(HEAD);
	ssize_t n = head ? rp_pread(in, head, HEAD, 0) : -ENOMEM;

	if (n > 0)
		for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]) && !in->format; i++)
			if (formats[i]->detect(head, (size_t)n))
				in->format = formats[i];
	free(head);
	if (n < 0)
		return rp_fail(in, "cannot be read: %s", strerror((int)-n));
	if (!n)
		return rp_fail(in, "is empty");
	if (!in->format)
		return rp_fail(in, "is no result of rocprof that is known here: play what "
				   "rocprofv3 wrote with -f csv, json or rocpd");
	rp_table(in, in->format->name);
	return in->format->open(in);
}

static void feed(struct rp_input *in)
{
	int ret = in->format->feed(in);

	if (ret > 0 && ++in->r->silent % ALIVE == 0) {
		put(in->r, RP_ALIVE, in->index, "", 0, NULL, 0);
		put_out(in->r);
	}
	if (ret > 0)
		return;
	in->ended = true;
	in->format->close(in);
	close(in->s->fd);
}

static void open_all(struct rp_reading *r, const struct rp_source *s)
{
	for (unsigned int i = 0; i < r->n; i++) {
		struct rp_input *in = &r->in[i];

		in->r = r;
		in->s = &s[i];
		in->index = (uint16_t)i;
		in->ended = open_input(in) < 0;
		if (in->ended && in->format)
			in->format->close(in);
		while (!in->ended && in->format->first(in))
			feed(in);
	}
}

/* Of files that come @last, or of all others */
static void merge(struct rp_reading *r, bool last)
{
	for (;;) {
		struct rp_input *first = NULL;

		for (unsigned int i = 0; i < r->n; i++) {
			struct rp_input *in = &r->in[i];

			if (in->ended && !in->n)
				continue;
			if (in->format->last != last)
				continue;
			while (!in->ended && in->n < WINDOW)
				feed(in);
			if (in->n && (!first || in->heap[0].ts < first->heap[0].ts))
				first = in;
		}
		if (!first)
			return;
		take_first(first);
	}
}

/** rp_read_all() - the whole of the child's work: frames of all of @s to @out; does not return
 * @key: a secret */
static void __attribute__((noreturn))
rp_read_all(const struct rp_source *s, unsigned int n, const uint64_t key[2], int out)
{
	struct rp_reading *r = calloc(1, sizeof(*r));

	if (!r)
		_exit(1);
	r->out = out;
	memcpy(r->key, key, sizeof(r->key));
	r->n = n < RP_FILES ? n : RP_FILES;
	r->buf = malloc(OUT_SIZE);
	r->hash = calloc(2 * RP_NAMES, sizeof(*r->hash));
	r->id = calloc(2 * RP_NAMES, sizeof(*r->id));
	if (!r->buf || !r->hash || !r->id)
		_exit(1);
	open_all(r, s);
	merge(r, false);
	merge(r, true);
	put(r, RP_END, 0, "", 0, NULL, 0);
	put_out(r);
	_exit(0);
}

/*
 * The process that reads the files: a fork with limits, no rights, few system calls, and no
 * descriptor but the files and a pipe. It is waited for without a bound nowhere, not even when it
 * has been killed, and what it says is checked.
 */

#define MEMORY	     (1ull << 30) /* above what the daemon itself has mapped */
#define CPU_S	     30		  /* and a second for each 4 MiB, */
#define CPU_MOST     1800	  /* but no more than that */
#define BUF	     (1u << 20)
#define PIPE	     (1 << 20)
#define SILENCE	     30000000000u   /* ns without a word before it is given up */
#define IDLE_SILENCE (20 * SILENCE) /* likewise where others leave it little of the CPU */
#define POLL_MS	     2

static void __attribute__((noreturn))
child(struct rp_source *s, unsigned int n, int out, pid_t parent, uint64_t cpu_s)
{
	uint64_t key[2] = { 0 };
	int fds[RP_FILES];

	for (unsigned int i = 0; i < n; i++)
		fds[i] = s[i].fd;
	gt_child_begin(parent);
	gt_child_arrange(out, fds, n);
	for (unsigned int i = 0; i < n; i++)
		s[i].fd = fds[i];
	gt_child_limit(0, cpu_s, MEMORY);
	if (getrandom(key, sizeof(key), 0) != sizeof(key) || gt_child_confine())
		_exit(1);
	rp_read_all(s, n, key, GT_SANDBOX_IO);
}

int rp_child_full(struct gt_plugin *p)
{
	return p->host->error(p, EBUSY,
			      "%u readers hang where results are: a file system does not answer",
			      gt_reap_left());
}

uint64_t rp_child_cpu(const struct rp_source *s, unsigned int n)
{
	uint64_t more = 0;

	for (unsigned int i = 0; i < n; i++)
		more += rp_stored(&s[i]) / (4 << 20);
	return CPU_S + (more < CPU_MOST ? more : CPU_MOST);
}

/* What a user's reader is denied is of no concern to it: it then reads as others do */
void rp_child_idle(struct rp_child *c)
{
	const struct sched_param none = { 0 };

	c->idle = true;
	sched_setscheduler(c->pid, SCHED_IDLE, &none);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, c->pid,
		IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

int rp_child_start(struct gt_plugin *p, struct rp_child *c, const struct rp_source *s,
		   unsigned int n, uint64_t cpu_s)
{
	struct rp_source *copy = calloc(n, sizeof(*copy));
	pid_t self = getpid();
	int pipes[2];

	c->fd = -1;
	c->pid = 0;
	c->pos = c->len = 0;
	c->cpu_ns = 0;
	c->idle = false;
	c->buf = malloc(BUF);
	c->since = p->host->now(p);
	if (gt_reap_left() >= RP_CHILDREN_LEFT) {
		free(copy);
		return rp_child_full(p);
	}
	if (!c->buf || !copy || pipe2(pipes, O_CLOEXEC) < 0) {
		free(copy);
		return p->host->error(p, ENOMEM, "no memory, or no pipe");
	}
	memcpy(copy, s, n * sizeof(*copy));
	fcntl(pipes[0], F_SETPIPE_SZ, PIPE);
	c->pid = fork();
	if (!c->pid)
		child(copy, n, pipes[1], self, cpu_s);
	free(copy);
	close(pipes[1]);
	c->fd = pipes[0];
	if (c->pid < 0 || fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0)
		return p->host->error(p, EAGAIN, "no process: %s", strerror(errno));
	setpgid(c->pid, c->pid); /* both sides do it: whoever comes first */
	return 0;
}

static uint64_t ns_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

/* As gt_reap(); @await: its pipe is closed, so it is about to end, and its exit status matters */
static int reap(struct rp_child *c, bool await)
{
	struct rusage used;
	int status;

	if (c->pid <= 0)
		return -1;
	status = gt_reap(c->pid, await, &used);
	c->cpu_ns = ns_of(&used.ru_utime) + ns_of(&used.ru_stime);
	c->pid = 0;
	return status;
}

/* An idle one may need long for its end, and is not waited for */
pid_t rp_child_end(struct rp_child *c, uint64_t *cpu_ns)
{
	pid_t left = c->idle && c->pid > 0 && !gt_child_ended(c->pid) ? c->pid : 0;

	if (c->fd >= 0)
		close(c->fd);
	if (left) {
		c->cpu_ns = gt_child_cpu_ns(c->pid);
		gt_child_kill(left);
		c->pid = 0;
	}
	reap(c, false);
	if (cpu_ns)
		*cpu_ns = c->cpu_ns;
	free(c->buf);
	c->buf = NULL;
	c->fd = -1;
	c->pos = c->len = 0;
	return left;
}

static int give_up(struct rp_child *c, char *err, size_t len, const char *why)
{
	int status = reap(c, !why);

	if (why)
		snprintf(err, len, "%s", why);
	else if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		snprintf(err, len, "takes more CPU time than a reading may: the rest is left out");
	else if (status >= 0 && WIFSIGNALED(status))
		snprintf(err, len, "the reader failed on these files (signal %d)",
			 WTERMSIG(status));
	else
		snprintf(err, len, "the reader failed on these files");
	return -EIO;
}

/* More bytes: 1; none yet: 0; -EIO */
static int receive(struct gt_plugin *p, struct rp_child *c, char *err, size_t len)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLIN };
	ssize_t n;

	memmove(c->buf, c->buf + c->pos, c->len - c->pos);
	c->len -= c->pos;
	c->pos = 0;
	n = read(c->fd, c->buf + c->len, BUF - c->len);
	if (n < 0 && errno == EAGAIN) {
		if (p->host->now(p) - c->since > (c->idle ? IDLE_SILENCE : SILENCE))
			return give_up(c, err, len, "the reader hangs on these files");
		if (!p->recording || poll(&pfd, 1, POLL_MS) <= 0)
			return 0;
		n = read(c->fd, c->buf + c->len, BUF - c->len);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (!n && c->idle && !gt_child_ended(c->pid) && p->host->now(p) - c->since <= SILENCE)
		return 0; /* reap() would wait for it */
	if (n <= 0)
		return give_up(c, err, len, NULL);
	c->since = p->host->now(p);
	c->len += (size_t)n;
	return 1;
}

int rp_child_next(struct gt_plugin *p, struct rp_child *c, struct rp_frame *f, const uint8_t **data,
		  char *err, size_t len)
{
	for (;;) {
		size_t have = c->len - c->pos;
		int ret;

		if (have >= sizeof(*f)) {
			memcpy(f, c->buf + c->pos, sizeof(*f));
			if (f->len > RP_FRAME_MAX || f->kind >= RP_KINDS)
				return give_up(c, err, len, "the reader failed on these files");
			if (have >= sizeof(*f) + f->len) {
				*data = c->buf + c->pos + sizeof(*f);
				c->pos += sizeof(*f) + f->len;
				return 1;
			}
		}
		ret = receive(p, c, err, len);
		if (ret <= 0)
			return ret;
	}
}
