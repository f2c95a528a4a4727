/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process that reads the files: a fork with limits, no rights, few system calls, and no
 * descriptor but the files and a pipe. It is waited for without a bound nowhere, not even when it
 * has been killed, and what it says is checked.
 */
#include "internal.h"
#include "../lib/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
