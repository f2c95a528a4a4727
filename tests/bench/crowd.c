/* SPDX-License-Identifier: GPL-2.0 */
/*
 * crowd MODE N FILE RATE BURN - a hostile user's N processes, for fairness.sh. Together they read FILE
 * RATE times a second, 0: as often as they can, and after each read burn BURN ns of CPU time. Says
 * "ready" when they are at work, ends with its standard input, or after a minute, and then prints how
 * often a second FILE was read.
 *
 * plain: each opens, reads and closes FILE in a loop
 *
 * apart: the same, each in a PID namespace of its own
 *
 * storm: each makes a PID namespace, in which one process reads FILE once, and another, and so on
 *
 * write: each writes a megabyte to FILE, instead
 *
 * dirs: each makes directory FILE with its pid behind that, and removes it
 */
#include <errno.h>
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
#include <sys/stat.h>
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
static uint64_t burn;
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

static void write_once(void)
{
	static char buf[1000000];
	int fd = open(path, O_WRONLY);

	memset(buf, 'a', sizeof(buf));
	if (fd < 0)
		return;
	if (pwrite(fd, buf, sizeof(buf), 0)) /* which is refused */
		shared->reads++;
	close(fd);
}

static void dir_once(void)
{
	char dir[4200];

	snprintf(dir, sizeof(dir), "%s%d", path, getpid());
	if (!mkdir(dir, 0700) || errno == EDQUOT)
		shared->reads++;
	rmdir(dir);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
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

/* One read, or what is done in its place */
static void act(void (*once)(void))
{
	uint64_t until;

	once();
	for (until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + burn;
	     burn && clock_ns(CLOCK_THREAD_CPUTIME_ID) < until;)
		;
}

static void go_on(void (*once)(void))
{
	uint64_t next = now_ns() + offset - interval;

	for (unsigned int i = 0;; i++) {
		pace(&next);
		act(once);
		if (!i)
			shared->started++;
	}
}

#define APART (CLONE_NEWUSER | CLONE_NEWPID)

static void storm(void (*once)(void))
{
	uint64_t next = now_ns() + offset - interval;

	for (unsigned int i = 0;; i++) {
		pid_t pid;

		pace(&next);
		pid = process(APART);
		if (!pid) {
			act(once);
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
		void (*run)(void (*once)(void));
		void (*once)(void);
	} modes[] = { { "plain", 0, go_on, read_once },
		      { "apart", APART, go_on, read_once },
		      { "storm", 0, storm, read_once },
		      { "write", 0, go_on, write_once },
		      { "dirs", 0, go_on, dir_once } };
	const unsigned int nmodes = sizeof(modes) / sizeof(*modes);
	unsigned int n = argc == 6 ? (unsigned int)atoi(argv[2]) : 0, mode = 0;
	uint64_t began;
	char c;

	while (n && mode < nmodes && strcmp(argv[1], modes[mode].name))
		mode++;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!n || mode == nmodes || shared == MAP_FAILED) {
		fprintf(stderr, "crowd: see the head of crowd.c\n");
		return 2;
	}
	path = argv[3];
	if (atof(argv[4]) > 0)
		interval = (uint64_t)(n * 1e9 / atof(argv[4]));
	burn = strtoull(argv[5], NULL, 10);
	setpgid(0, 0);
	alarm(60);
	signal(SIGALRM, the_end);
	for (unsigned int i = 0; i < n; i++) {
		pid_t pid = process(modes[mode].flags);

		if (!pid) {
			offset = interval * i / n;
			modes[mode].run(modes[mode].once);
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
