/* SPDX-License-Identifier: GPL-2.0 */
/*
 * crowd MODE N FILE RATE - a hostile user's N processes, for fairness.sh. Together they read FILE
 * RATE times a second, 0: as often as they can. Says "ready" when they are at work, ends with its
 * standard input, or after a minute, and then prints how often a second FILE was read.
 *
 * plain: each opens, reads and closes FILE in a loop
 *
 * apart: the same, each in a PID namespace of its own
 *
 * storm: each makes a PID namespace, in which one process reads FILE once, and another, and so on
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* struct shared - @started: processes that have read once; @reads: by all */
static struct shared {
	atomic_uint started;
	_Atomic unsigned long long reads;
} * shared;

static const char *path;
static uint64_t interval; /* ns between two reads of a process; 0: none */
static uint64_t offset;	  /* of this process's reads: they do not all come at once */

/* Of this process's end the one that made it need not know: it may be in another namespace. */
static pid_t process(unsigned long flags)
{
	pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0);

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void read_once(void)
{
	static char buf[1 << 16];
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return;
	if (read(fd, buf, sizeof(buf)) >= 0)
		shared->reads++;
	close(fd);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Until it is time for the next one; who is late has no more of them to do. */
static void pace(uint64_t *next)
{
	uint64_t now = now_ns();
	struct timespec ts;

	*next = *next + interval > now ? *next + interval : now;
	ts = (struct timespec){ (time_t)(*next / 1000000000), (long)(*next % 1000000000) };
	if (interval)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static void read_on(void)
{
	uint64_t next = now_ns() + offset - interval;

	for (unsigned int i = 0;; i++) {
		pace(&next);
		read_once();
		if (!i)
			shared->started++;
	}
}

#define APART (CLONE_NEWUSER | CLONE_NEWPID)

static void storm(void)
{
	uint64_t next = now_ns() + offset - interval;

	for (unsigned int i = 0;; i++) {
		pid_t pid;

		pace(&next);
		pid = process(APART);
		if (!pid) {
			read_once();
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
		if (!i)
			shared->started++;
	}
}

static void the_end(int sig)
{
	kill(0, SIGKILL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned long flags;
		void (*run)(void);
	} modes[] = { { "plain", 0, read_on }, { "apart", APART, read_on }, { "storm", 0, storm } };
	unsigned int n = argc == 5 ? (unsigned int)atoi(argv[2]) : 0, mode = 0;
	uint64_t began;
	char c;

	while (n && mode < 3 && strcmp(argv[1], modes[mode].name))
		mode++;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!n || mode == 3 || shared == MAP_FAILED) {
		fprintf(stderr, "crowd: see the head of crowd.c\n");
		return 2;
	}
	path = argv[3];
	if (atof(argv[4]) > 0)
		interval = (uint64_t)(n * 1e9 / atof(argv[4]));
	setpgid(0, 0);
	alarm(60);
	signal(SIGALRM, the_end);
	for (unsigned int i = 0; i < n; i++) {
		pid_t pid = process(modes[mode].flags);

		if (!pid) {
			offset = interval * i / n;
			modes[mode].run();
			_exit(0);
		}
		if (pid < 0) {
			perror("crowd");
			kill(0, SIGKILL);
		}
	}
	while (shared->started < n)
		usleep(10000);
	puts("ready");
	fflush(stdout);
	shared->reads = 0;
	began = now_ns();
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	printf("%.0f\n", (double)shared->reads * 1e9 / (double)(now_ns() - began));
	fflush(stdout);
	the_end(0);
	return 0;
}
