/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "daemon.h"

static int result = -1; /* write end of the pipe to the process that waits */
static int null = -1;	/* /dev/null, from when it may still be opened for writing */

/* What the background process says: an exit code, then the reason. */
struct verdict {
	int code;
	char why[1024];
};

void gt_daemon_print(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void wait_for_verdict(int fd, pid_t child)
{
	struct verdict v = { 0 };
	size_t got = 0;
	ssize_t n;
	int status;

	while (got < sizeof(v) &&
	       ((n = read(fd, (char *)&v + got, sizeof(v) - got)) > 0 || (n < 0 && errno == EINTR)))
		got += n > 0 ? (size_t)n : 0;
	if (got < sizeof(v)) {
		/* it died without a word */
		waitpid(child, &status, 0);
		gt_daemon_print("the daemon died while it started%s",
				WIFSIGNALED(status) ? " (by a signal)" : "");
		_exit(32);
	}
	if (v.code)
		gt_daemon_print("%s", v.why);
	_exit(v.code);
}

int gt_daemon_detach(bool foreground)
{
	int fds[2];
	pid_t pid;

	if (foreground)
		return 0;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid) {
		close(fds[1]);
		wait_for_verdict(fds[0], pid);
	}
	close(fds[0]);
	result = fds[1];
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	setsid();
	return chdir("/") ? -errno : 0;
}

static void say(int code, const char *why)
{
	struct verdict v = { .code = code };

	snprintf(v.why, sizeof(v.why), "%s", why);
	if (write(result, &v, sizeof(v)) < 0)
		return; /* nobody waits any more */
	close(result);
	result = -1;
}

/* sd_notify(3): a datagram to the service manager's socket; an abstract one's name begins with @. */
static void notify(const char *text)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(a.sun_path))
		return;
	strcpy(a.sun_path, path);
	if (*path == '@')
		*a.sun_path = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&a,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))) < 0)
		syslog(LOG_WARNING, "NOTIFY_SOCKET=%s: %s", path, strerror(errno));
	close(fd);
}

void gt_daemon_ready(void)
{
	if (result < 0) {
		notify("READY=1");
		return;
	}
	say(0, "");
	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
#ifndef __SANITIZE_ADDRESS__ /* a sanitizer's report must not be lost */
	dup2(null, STDERR_FILENO);
#endif
	if (null > STDERR_FILENO)
		close(null);
	null = -1;
}

void gt_daemon_failed(const char *why, int code)
{
	if (result >= 0)
		say(code, why);
	else
		gt_daemon_print("%s", why);
}
