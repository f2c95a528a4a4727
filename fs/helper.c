/* SPDX-License-Identifier: GPL-2.0 */
/* A helper process, and the packets between it and the daemon. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helper.h"

#define HIGH 16 /* above the numbers that descriptors are moved to */

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(sizeof(int))];
};

int gt_helper_send(int sock, const void *data, size_t len, int fd)
{
	union control c = { .align = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { (void *)data, len };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&c.align), &fd, sizeof(fd));
		h.msg_control = &c;
		h.msg_controllen = sizeof(c);
	}
	do {
		n = sendmsg(sock, &h, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? 0 : -EPIPE;
}

int gt_helper_receive(int sock, void *data, size_t len, int *fd)
{
	union control c;
	struct iovec iov = { data, len };
	struct msghdr h = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)
	};
	ssize_t n;

	*fd = -1;
	do {
		n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n > 0 && h.msg_controllen >= sizeof(c.align) && c.align.cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(&c.align), sizeof(*fd));
	return n == (ssize_t)len ? 0 : -EPIPE;
}

void gt_helper_wait(int sock)
{
	char end;

	while (recv(sock, &end, 1, 0) < 0 && errno == EINTR)
		;
}

/* The signals that end the daemon are not for this process, which ends after it. */
static void stand_alone(const char *name, int sock, int keep)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	unsigned int last = keep < 0 ? GT_HELPER_SOCK : GT_HELPER_KEPT;

	prctl(PR_SET_NAME, name);
	setsid();
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		signal(ends[i], SIG_IGN);
	for (int i = 0; i <= STDERR_FILENO; i++)
		if (null >= 0)
			dup2(null, i);
	sock = fcntl(sock, F_DUPFD_CLOEXEC, HIGH);
	if (keep >= 0)
		keep = fcntl(keep, F_DUPFD_CLOEXEC, HIGH);
	if (dup2(sock, GT_HELPER_SOCK) < 0 ||
	    (last == GT_HELPER_KEPT && dup2(keep, GT_HELPER_KEPT) < 0) ||
	    close_range(last + 1, ~0u, 0))
		_exit(1);
}

int gt_helper_start(const char *name, int keep, int *sock, char *err, size_t len)
{
	int pair[2], ret;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		ret = -errno;
		snprintf(err, len, "no socket: %s", strerror(-ret));
		return ret;
	}
	fflush(NULL);
	pid = fork();
	ret = pid < 0 ? -errno : !pid;
	if (pid < 0)
		snprintf(err, len, "no process: %s", strerror(-ret));
	if (!pid)
		stand_alone(name, pair[1], keep);
	*sock = pid ? pair[0] : GT_HELPER_SOCK;
	if (pid)
		close(pair[1]);
	return ret;
}
