/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies a file to standard output as a runtime with threads of its own does, Go's say: whatever is
 * opened is given to epoll, edge-triggered; where that is accepted, as it is for files on FUSE
 * though they are regular ones, the descriptor is made non-blocking, and read again when epoll says
 * so. The buffer has the size that fstat(2) says and some more, and grows until a read gives 0.
 * Meanwhile a thread of the runtime interrupts the reading one by SIGURG, to have its turn.
 *
 *	pollread FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define MORE 512 /* bytes of room */
#define WAIT_MS                                                                                    \
	60000 /* a text is there at once: a reader that epoll forgets would wait for good  \
		       */

static void preempt(int sig)
{
}

static void *preempter(void *reader)
{
	for (;;) {
		usleep(200);
		pthread_kill(*(pthread_t *)reader, SIGURG);
	}
	return NULL;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static ssize_t read_when_ready(int fd, int ep, char *buf, size_t len)
{
	struct epoll_event ev;
	ssize_t n;
	int ready;

	for (;;) {
		n = read(fd, buf, len);
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return n;
		if (errno == EINTR)
			continue;
		do {
			ready = epoll_wait(ep, &ev, 1, WAIT_MS);
		} while (ready < 0 && errno == EINTR);
		if (!ready)
			errno = ETIMEDOUT;
		if (ready <= 0)
			return -1;
	}
}

int main(int argc, char **argv)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	struct sigaction sa = { .sa_handler = preempt, .sa_flags = SA_RESTART };
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int ep = epoll_create1(EPOLL_CLOEXEC);
	pthread_t reader = pthread_self(), other;
	size_t used = 0, size;
	struct stat st;
	char *buf;
	ssize_t n;

	if (fd < 0 || ep < 0)
		fail("pollread: open");
	if (sigaction(SIGURG, &sa, NULL) || pthread_create(&other, NULL, preempter, &reader))
		fail("pollread: SIGURG");
	if (!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) && fcntl(fd, F_SETFL, O_NONBLOCK))
		fail("pollread: O_NONBLOCK");
	if (fstat(fd, &st))
		fail("pollread: fstat");
	size = (size_t)st.st_size + MORE;
	buf = malloc(size);
	while (buf && (n = read_when_ready(fd, ep, buf + used, size - used)) > 0) {
		used += (size_t)n;
		if (used == size)
			buf = realloc(buf, size *= 2);
	}
	if (!buf || n < 0)
		fail("pollread: read");
	for (size_t at = 0; at < used; at += (size_t)n) {
		n = write(STDOUT_FILENO, buf + at, used - at);
		if (n < 0 && errno != EINTR)
			fail("pollread: write");
		n = n < 0 ? 0 : n;
	}
	return 0;
}
