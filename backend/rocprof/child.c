/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process that reads the files: a fork with limits, no rights, few system calls, and no
 * descriptor but the files and a pipe. It is waited for without a bound nowhere, not even when it
 * has been killed, and what it says is checked.
 */
#include "internal.h"
#include "../replay/internal.h" /* gt_child_*() */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT_FD	 3
#define FIRST_FD 4
#define MEMORY	 (1ull << 30) /* above what the daemon itself has mapped */
#define CPU_S	 30	      /* and a second for each 4 MiB, */
#define CPU_MOST 1800	      /* but no more than that: a file may be of any size, and empty */
#define BUF	 (1u << 20)
#define PIPE	 (1 << 20)
#define SILENCE	 30000000000u /* ns without a word before it is given up */
#define POLL_MS	 2
#define POLLS	 100 /* until one that is to end is waited for no more */

/* The pipe is 3, the files follow; 0 to 2 are /dev/null; nothing else stays open. */
static void arrange(struct rp_source *s, unsigned int n, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), high;

	for (unsigned int i = 0; i < n; i++)
		s[i].fd = fcntl(s[i].fd, F_DUPFD_CLOEXEC, FIRST_FD + RP_FILES + 1);
	high = fcntl(out, F_DUPFD_CLOEXEC, FIRST_FD + RP_FILES + 1);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup2(high, OUT_FD) < 0)
		_exit(1);
	for (unsigned int i = 0; i < n; i++) {
		if (dup2(s[i].fd, FIRST_FD + (int)i) < 0)
			_exit(1);
		s[i].fd = FIRST_FD + (int)i;
	}
	if (close_range(FIRST_FD + n, ~0u, 0) < 0)
		_exit(1);
}

static void __attribute__((noreturn))
child(struct rp_source *s, unsigned int n, int out, pid_t parent)
{
	uint64_t cpu = 0, key[2] = { 0 };

	gt_child_begin(parent);
	for (unsigned int i = 0; i < n; i++)
		cpu += s[i].size / (4 << 20);
	arrange(s, n, out);
	gt_child_limit(0, CPU_S + (cpu < CPU_MOST ? cpu : CPU_MOST), MEMORY);
	if (getrandom(key, sizeof(key), 0) != sizeof(key) || gt_child_confine())
		_exit(1);
	rp_read_all(s, n, key, OUT_FD);
}

/* They outlive a stop of the backend. */
static struct {
	pid_t pid[RP_CHILDREN_LEFT];
	unsigned int n;
} left;

int rp_child_full(struct gt_plugin *p)
{
	return p->host->error(p, EBUSY,
			      "%u readers hang where results are: a file system does not answer",
			      left.n);
}

int rp_child_start(struct gt_plugin *p, struct rp_child *c, const struct rp_source *s,
		   unsigned int n)
{
	struct rp_source *copy = calloc(n, sizeof(*copy));
	pid_t self = getpid();
	int pipes[2];

	c->fd = -1;
	c->pid = 0;
	c->pos = c->len = 0;
	c->buf = malloc(BUF);
	c->since = p->host->now(p);
	if (rp_child_left() == RP_CHILDREN_LEFT) {
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
		child(copy, n, pipes[1], self);
	free(copy);
	close(pipes[1]);
	c->fd = pipes[0];
	if (c->pid < 0 || fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0)
		return p->host->error(p, EAGAIN, "no process: %s", strerror(errno));
	setpgid(c->pid, c->pid); /* both sides do it: whoever comes first */
	return 0;
}

static bool has_ended(pid_t pid)
{
	siginfo_t si = { 0 };

	return !waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) && si.si_pid == pid;
}

unsigned int rp_child_left(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < left.n; i++)
		if (!waitpid(left.pid[i], NULL, WNOHANG))
			left.pid[n++] = left.pid[i];
	left.n = n;
	return n;
}

void rp_child_leave(pid_t pid)
{
	if (left.n < RP_CHILDREN_LEFT)
		left.pid[left.n++] = pid;
}

static bool await_end(pid_t pid)
{
	for (int i = 0; i < POLLS; i++) {
		if (has_ended(pid))
			return true;
		poll(NULL, 0, POLL_MS);
	}
	return false;
}

/* What waitpid() says if it ended by itself, else -1. One that waits for a disk, or for NFS, does
 * not end before it has an answer, killed or not. */
static int reap(struct rp_child *c, bool await)
{
	bool itself = false;
	int status = -1;

	if (c->pid <= 0)
		return -1;
	itself = await && await_end(c->pid);
	kill(-c->pid, SIGKILL);
	kill(c->pid, SIGKILL);
	if (!await_end(c->pid))
		rp_child_leave(c->pid);
	else
		waitpid(c->pid, &status, WNOHANG);
	c->pid = 0;
	return itself ? status : -1;
}

void rp_child_end(struct rp_child *c)
{
	if (c->fd >= 0)
		close(c->fd);
	reap(c, false);
	free(c->buf);
	c->buf = NULL;
	c->fd = -1;
	c->pos = c->len = 0;
}

static int give_up(struct rp_child *c, char *err, size_t len, const char *why)
{
	int status = reap(c, !why);

	if (why)
		snprintf(err, len, "%s", why);
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
		if (p->host->now(p) - c->since > SILENCE)
			return give_up(c, err, len, "the reader hangs on these files");
		if (poll(&pfd, 1, POLL_MS) <= 0)
			return 0;
		n = read(c->fd, c->buf + c->len, BUF - c->len);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
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
