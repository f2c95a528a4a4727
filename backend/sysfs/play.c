/* SPDX-License-Identifier: GPL-2.0 */
/* Plays saved dumps: opens the files, has a child read them (play_child.c), and tells what is in
 * them: queues, and where they are on the hardware. A dump has no time: all of it is at 0. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../detail.h"
#include "kfd_rows.h"
#include "play.h"

#define FILES	64
#define WAIT_NS 1000000u
#define POLL_MS 2
#define POLLS	100	      /* until one that is to end is waited for no more */
#define SILENCE 120000000000u /* ns before the child is given up: its own limit comes first */
#define SAID	(sizeof(struct sf_played) + SF_ROWS * sizeof(struct sf_row))

/**
 * struct play - @said: @len bytes that have come of the child @pid through @fd
 * @began: when it was begun; @fds: the files, @n of them
 * @rows: what it said; @told: queues
 */
struct play {
	int fd, fds[FILES];
	unsigned int n;
	pid_t pid;
	uint8_t *said;
	size_t len;
	uint64_t began;
	struct sf_played head;
	struct sf_rows rows;
	unsigned int told;
	bool ended;
};

bool sf_play_knows(const char *path, const uint8_t *head, size_t len)
{
	return head && sf_dump_begins((const char *)head, len);
}

int sf_play_probe(struct gt_plugin *p, const char *files)
{
	return files && *files ? 0 : p->host->error(p, ENOENT, "no dump to play");
}

static void close_files(struct play *y)
{
	while (y->n)
		close(y->fds[--y->n]);
}

static pid_t left; /* a child that was killed, and has not ended yet */

static bool is_left(void)
{
	if (left && waitpid(left, NULL, WNOHANG))
		left = 0;
	return left;
}

/* One that waits for a disk, or for NFS, does not end before it has an answer, killed or not. */
static void reap(pid_t pid)
{
	for (int i = 0; i < POLLS; i++) {
		if (waitpid(pid, NULL, WNOHANG))
			return;
		poll(NULL, 0, POLL_MS);
	}
	left = pid;
}

static void end_child(struct play *y)
{
	if (y->fd >= 0)
		close(y->fd);
	y->fd = -1;
	if (y->pid <= 0)
		return;
	kill(-y->pid, SIGKILL);
	kill(y->pid, SIGKILL);
	reap(y->pid);
	y->pid = 0;
}

void sf_play_stop(struct gt_plugin *p)
{
	struct play *y = p->priv;

	close_files(y);
	end_child(y);
	free(y->said);
	free(y->rows.row);
	free(y);
	p->priv = NULL;
}

static int open_file(struct gt_plugin *p, struct play *y, const char *path)
{
	int fd = y->n == FILES ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (y->n == FILES)
		return p->host->error(p, E2BIG, "more than %d files", FILES);
	if (fd < 0)
		return p->host->error(p, errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return p->host->error(p, EINVAL, "%s: is not a regular file", path);
	}
	y->fds[y->n++] = fd;
	return 0;
}

static int open_files(struct gt_plugin *p, struct play *y, const char *files)
{
	char *list = strdup(files), *save = NULL;
	int ret = list ? 0 : -ENOMEM;

	for (char *f = ret ? NULL : strtok_r(list, ":", &save); f && !ret;
	     f = strtok_r(NULL, ":", &save))
		ret = open_file(p, y, f);
	free(list);
	return ret;
}

/* The pipe is 3, the files follow; 0 to 2 are /dev/null; nothing else stays open. */
static void arrange(const struct play *y, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), high[FILES + 1];

	for (unsigned int i = 0; i < y->n; i++)
		high[i] = fcntl(y->fds[i], F_DUPFD_CLOEXEC, SF_PLAY_FIRST + FILES);
	high[y->n] = fcntl(out, F_DUPFD_CLOEXEC, SF_PLAY_FIRST + FILES);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup2(high[y->n], SF_PLAY_OUT) < 0)
		_exit(1);
	for (unsigned int i = 0; i < y->n; i++)
		if (dup2(high[i], SF_PLAY_FIRST + (int)i) < 0)
			_exit(1);
	if (close_range(SF_PLAY_FIRST + y->n, ~0u, 0) < 0)
		_exit(1);
}

static int start_child(struct gt_plugin *p, struct play *y)
{
	pid_t self = getpid();
	int pipes[2];

	if (is_left())
		return p->host->error(p, EBUSY,
				      "the last reader hangs yet: a file does not answer");
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return p->host->error(p, errno, "no pipe: %s", strerror(errno));
	y->pid = fork();
	if (!y->pid) {
		arrange(y, pipes[1]);
		sf_play_child(y->n, self);
	}
	close(pipes[1]);
	close_files(y);
	y->fd = pipes[0];
	if (y->pid < 0 || fcntl(y->fd, F_SETFL, O_NONBLOCK) < 0)
		return p->host->error(p, EAGAIN, "no process: %s", strerror(errno));
	setpgid(y->pid, y->pid); /* both sides do it: whoever comes first */
	return 0;
}

int sf_play_start(struct gt_plugin *p, const char *files)
{
	struct play *y = calloc(1, sizeof(*y));
	int ret = y ? 0 : -ENOMEM;

	if (ret)
		return ret;
	p->priv = y;
	y->fd = -1;
	y->said = malloc(SAID + 1);
	y->rows.row = calloc(SF_ROWS, sizeof(*y->rows.row));
	y->began = p->host->now(p);
	ret = y->said && y->rows.row ? open_files(p, y, files) : -ENOMEM;
	if (!ret)
		ret = start_child(p, y);
	if (ret)
		sf_play_stop(p);
	else
		p->host->timer(p, 1);
	return ret;
}

static bool is_row(const uint8_t *row)
{
	const uint8_t *q = row + offsetof(struct sf_row, q);

	return q[offsetof(struct gt_queue_hw, sdma)] <= 1 &&
	       q[offsetof(struct gt_queue_hw, active)] <= 1;
}

/* What is said is checked: it is of a process that has read what anybody may have written. */
static bool take(struct play *y)
{
	if (y->len < sizeof(y->head))
		return false;
	memcpy(&y->head, y->said, sizeof(y->head));
	if (y->head.n > SF_ROWS || y->len != sizeof(y->head) + y->head.n * sizeof(struct sf_row))
		return false;
	for (size_t at = sizeof(y->head); at < y->len; at += sizeof(struct sf_row))
		if (!is_row(y->said + at))
			return false;
	y->rows.n = (unsigned int)y->head.n;
	memcpy(y->rows.row, y->said + sizeof(y->head), y->rows.n * sizeof(struct sf_row));
	for (unsigned int i = 0; i < y->rows.n; i++)
		if (y->rows.row[i].q.nslots > GT_QUEUE_SLOTS || y->rows.row[i].q.pid > INT32_MAX)
			return false;
	return true;
}

static uint16_t gpu_of(struct gt_plugin *p, uint32_t gpu_id)
{
	struct gt_gpu_desc d = { .driver = "amdgpu", .minor = -1 };
	char dev[32];

	snprintf(dev, sizeof(dev), "kfd-%u", gpu_id);
	d.dev = dev;
	return p->host->gpu(p, &d);
}

static int by_gpu(const void *a, const void *b)
{
	const struct sf_row *x = a, *y = b;

	return (x->gpu_id > y->gpu_id) - (x->gpu_id < y->gpu_id);
}

/* GPUs are met in the order of their numbers, whatever the dump begins with. */
static void name_gpus(struct gt_plugin *p, struct sf_rows *all)
{
	struct sf_row *copy = calloc(all->n + 1, sizeof(*copy));

	if (copy)
		memcpy(copy, all->row, all->n * sizeof(*copy));
	if (copy)
		qsort(copy, all->n, sizeof(*copy), by_gpu);
	for (unsigned int i = 0; copy && i < all->n; i++)
		if (!i || copy[i].gpu_id != copy[i - 1].gpu_id)
			gpu_of(p, copy[i].gpu_id);
	free(copy);
	for (unsigned int i = 0; i < all->n; i++)
		all->row[i].q.gpu = gpu_of(p, all->row[i].gpu_id);
}

static void describe(struct gt_plugin *p, const struct gt_queue_hw *q)
{
	union gt_record r;

	gt_record_init(&r, 0, GT_QUEUE);
	r.queue.gpu = q->gpu;
	r.queue.queue = q->queue;
	r.queue.pid = q->pid ? q->pid : GT_NONE32;
	r.queue.kind = q->sdma ? GT_QUEUE_SDMA : GT_QUEUE_COMPUTE;
	r.queue.engine = q->sdma ? GT_ENGINE_COPY : GT_ENGINE_COMPUTE;
	r.queue.size = q->size;
	r.queue.ctx = q->pid ? q->base : GT_NONE64;
	p->host->push(p, &r, 1);
}

/* Queues first: where they are is told of those that are known. */
static int tell_queues(struct gt_plugin *p, struct play *y)
{
	name_gpus(p, &y->rows);
	for (unsigned int i = 0; i < y->rows.n; i++) {
		struct gt_queue_hw *q = &y->rows.row[i].q;

		if (q->gpu == GT_NONE16)
			continue;
		q->queue = i + 1;
		describe(p, q);
		y->told++;
	}
	y->rows.cut += y->head.cut + y->rows.n - y->told;
	y->rows.bad = y->head.bad;
	if (!y->told)
		p->host->error(p, ENODATA, "no queue is in what was dumped");
	p->host->timer(p, 1);
	return (int)y->told + 1;
}

static int tell_slots(struct gt_plugin *p, struct play *y)
{
	struct gt_queue_hw *q = calloc(y->told + 1, sizeof(*q));
	size_t n = 0;

	for (unsigned int i = 0; q && i < y->rows.n; i++)
		if (y->rows.row[i].q.gpu != GT_NONE16)
			q[n++] = y->rows.row[i].q;
	p->host->queues_hw(p, q, n);
	free(q);
	y->ended = true;
	return -ENODATA;
}

static int failed(struct gt_plugin *p, struct play *y)
{
	end_child(y);
	y->rows.n = 0;
	y->ended = true;
	p->host->error(p, EIO, "the reader failed on these files");
	return -ENODATA;
}

/* 1: all has come; 0: not yet; -1: it hangs, or said too much */
static int receive(struct gt_plugin *p, struct play *y)
{
	ssize_t n;

	do {
		n = read(y->fd, y->said + y->len, SAID + 1 - y->len);
		y->len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && y->len <= SAID);
	if (!n)
		return 1;
	if (n > 0 || (errno != EAGAIN && errno != EINTR))
		return -1;
	return p->host->now(p) - y->began > SILENCE ? -1 : 0;
}

int sf_play_drain(struct gt_plugin *p)
{
	struct play *y = p->priv;
	int got;

	if (y->ended)
		return -ENODATA;
	if (y->fd < 0)
		return tell_slots(p, y);
	got = receive(p, y);
	if (!got) {
		p->host->timer(p, WAIT_NS);
		return 1;
	}
	if (got < 0 || !take(y))
		return failed(p, y);
	end_child(y);
	return tell_queues(p, y);
}

void sf_play_doctor(const struct gt_plugin *p, char *buf, size_t len)
{
	const struct play *y = p->priv;
	struct gt_details t = { buf, len };

	gt_detail(&t, "kfd_queues %u\nkfd_dump_bad_lines %" PRIu64 "\nkfd_dump_cut %" PRIu64 "\n",
		  y->told, y->rows.bad, y->rows.cut);
}

void sf_play_show(struct gt_plugin *p, char *buf, size_t len)
{
	struct play *y = p->priv;

	sf_rows_print(&y->rows, buf, len);
}
