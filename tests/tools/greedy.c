/* SPDX-License-Identifier: GPL-2.0 */
/*
 * greedy MODE ... - takes as much of a mounted tree as it gets. Prints what it got, then "ready",
 * and keeps it until its standard input ends.
 *
 * files N P FLAG PATH...: N opens in each of P processes; FLAG: o, p for O_PATH, d for directories
 *
 * reads N PATH...: N threads, each with a descriptor of its own, read without end in a storm of
 * signals
 *
 * polls N PATH...: N descriptors are read and polled
 *
 * part PATH...: opens each and reads 100 bytes, again and again, until refused
 *
 * bomb N DIR: N processes at once read all files below DIR
 *
 * writes PATH...: 1.5 MiB in one write, and into what cannot be written
 *
 * names DIR...: names that nobody has
 *
 * reap PATH...: opens each; when a line comes on standard input, reads
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void wait_for_end(void)
{
	char c;

	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
}

/* How often each errno came; 0 is success */
static _Atomic unsigned int *seen;

static void tell(void)
{
	for (int e = 0; e < 200; e++)
		if (seen[e])
			printf("%s %u\n", e ? strerrorname_np(e) : "got", seen[e]);
}

static int open_one(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	seen[fd < 0 ? errno : 0]++;
	return fd;
}

static int do_files(int argc, char **argv)
{
	int n = atoi(argv[0]), procs = atoi(argv[1]), done[2], end[2];
	int flags = argv[2][0] == 'p' ? O_PATH : argv[2][0] == 'd' ? O_DIRECTORY : 0;
	char c;

	if (pipe(done) || pipe(end))
		return 1;
	for (int p = 0; p < procs; p++) {
		if (fork())
			continue;
		close(end[1]);
		for (int i = 0; i < n; i++)
			open_one(argv[3 + i % (argc - 3)], flags);
		if (write(done[1], "", 1) != 1 || read(end[0], &c, 1) < 0)
			_exit(1);
		_exit(0);
	}
	for (int p = 0; p < procs; p++)
		if (read(done[0], &c, 1) != 1)
			return 1;
	tell();
	wait_for_end();
	close(end[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}

static atomic_uint waiting;

static void on_signal(int sig)
{
}

static void *reader(void *path)
{
	int fd = open_one(path, O_RDONLY);
	char buf[4096];

	while (fd >= 0) {
		ssize_t n;

		waiting++;
		n = read(fd, buf, sizeof(buf));
		waiting--;
		if (n < 0)
			seen[errno]++;
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int do_reads(int argc, char **argv)
{
	int n = atoi(argv[0]), started = 0;
	pthread_t *t = calloc((size_t)n, sizeof(*t));
	struct sigaction sa = { .sa_handler = on_signal };
	struct pollfd in = { .fd = 0, .events = POLLIN };
	pthread_attr_t attr;

	sigaction(SIGUSR1, &sa, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (; t && started < n; started++)
		if (pthread_create(&t[started], &attr, reader, argv[1 + started % (argc - 1)]))
			break;
	for (int turn = 0; turn < 20; turn++) {
		for (int i = 0; i < started; i++)
			pthread_kill(t[i], SIGUSR1);
		poll(&in, 1, 20);
	}
	tell();
	printf("waiting %u\n", atomic_load(&waiting));
	wait_for_end();
	return 0;
}

static int do_polls(int argc, char **argv)
{
	int n = atoi(argv[0]), refused = 0, ep = epoll_create1(0);
	static struct epoll_event got[4096];
	char buf[100];

	for (int i = 0; i < n; i++) {
		int fd = open_one(argv[1 + i % (argc - 1)], O_RDONLY);
		struct epoll_event ev = { .events = EPOLLET, .data.fd = fd };

		if (fd >= 0 && read(fd, buf, sizeof(buf)) >= 0)
			epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	}
	for (int i = epoll_wait(ep, got, 4096, 0) - 1; i >= 0; i--)
		refused += (got[i].events & EPOLLERR) != 0;
	tell();
	printf("refused %d\n", refused);
	wait_for_end();
	return 0;
}

static int do_part(int argc, char **argv)
{
	char buf[100];
	int refused = 0;

	for (int i = 0; i < 2000 && refused < 2 * argc; i++) {
		int fd = open_one(argv[i % argc], O_RDONLY);

		if (fd < 0)
			refused++;
		else if (read(fd, buf, sizeof(buf)) < 0)
			seen[errno]++;
	}
	tell();
	wait_for_end();
	return 0;
}

static int read_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + ftw->base;
	char buf[65536];
	int fd;

	if (type != FTW_F || !strcmp(name, "events") || !strcmp(name, "trace"))
		return 0;
	fd = open_one(path, O_RDONLY);
	if (fd < 0)
		return 0;
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	return 0;
}

static int do_bomb(int argc, char **argv)
{
	int n = atoi(argv[0]), status, bad = 0;

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(nftw(argv[1], read_file, 16, FTW_PHYS) != 0);
		bad += pid < 0;
	}
	while (wait(&status) > 0)
		bad += !WIFEXITED(status);
	tell();
	printf("bad %d\n", bad);
	wait_for_end();
	return 0;
}

static int do_writes(int argc, char **argv)
{
	size_t size = 3U << 19;
	char *big = malloc(size);

	if (!big)
		return 1;
	memset(big, '9', size);
	for (int i = 0; i < argc; i++) {
		int fd = open(argv[i], O_WRONLY);

		if (fd < 0) {
			seen[errno]++;
			fd = open(argv[i], O_RDONLY);
		}
		for (size_t n = 4096; n <= size && fd >= 0;
		     n = n < size && n * 8 > size ? size : n * 8)
			if (write(fd, big, n) >= 0)
				printf("%s took %zu bytes\n", argv[i], n);
			else
				seen[errno]++;
	}
	tell();
	return 0;
}

static void try_name(int dir, const char *name)
{
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		printf("there is a \"%s\"\n", name);
	else
		seen[errno]++;
	if (!mkdirat(dir, name, 0777) || !symlinkat("/etc/shadow", dir, name) ||
	    !unlinkat(dir, name, 0) || openat(dir, name, O_CREAT | O_RDWR, 0666) >= 0)
		printf("made \"%s\"\n", name);
}

static int do_names(int argc, char **argv)
{
	static const char *const names[] = {
		"...",
		"..%2f",
		" ",
		"\n",
		"%n%s%n%s",
		"\xff\xfe",
		"\xc0\xaf",
		"\xe2\x80\xae",
		"ring-1",
		"ring00",
		"ring0x",
		"ring99999999999999999999",
		"0",
		"-1",
		"4294967296",
		"+1",
		"18446744073709551616",
		"1\n",
		"events\n",
		"EVENTS",
		"%2e%2e",
		"\x1b[2J",
		"\xf0\x9f\x92\xa9",
	};
	static const char *const up[] = { "../..", ".././..", "./.", "../../../../../../../.." };
	char dots[255], longest[256], toolong[257];
	struct stat st;

	memset(longest, 'a', 255);
	memset(toolong, 'a', 256);
	for (size_t i = 0; i < sizeof(dots) - 1; i += 2)
		memcpy(dots + i, "\xc3\xa4", 2);
	dots[254] = longest[255] = toolong[256] = 0;
	for (int i = 0; i < argc; i++) {
		int dir = open(argv[i], O_DIRECTORY);

		if (dir < 0)
			continue;
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			try_name(dir, names[k]);
		try_name(dir, dots);
		try_name(dir, longest);
		try_name(dir, toolong);
		for (size_t k = 0; k < sizeof(up) / sizeof(*up); k++)
			if (fstatat(dir, up[k], &st, 0))
				printf("%s/%s: %s\n", argv[i], up[k], strerror(errno));
		close(dir);
	}
	tell();
	return 0;
}

static int do_reap(int argc, char **argv)
{
	int *fd = calloc((size_t)argc, sizeof(*fd));
	char buf[65536];

	for (int i = 0; fd && i < argc; i++)
		fd[i] = open(argv[i], O_RDONLY | O_NONBLOCK);
	puts("ready");
	fflush(stdout);
	if (!fd || read(0, buf, 1) != 1)
		return 1;
	for (int i = 0; i < argc; i++) {
		struct pollfd p = { .fd = fd[i], .events = POLLIN | POLLPRI };
		struct stat st;
		ssize_t n = pread(fd[i], buf, sizeof(buf), 0);

		if (n < 0 && errno == ESPIPE)
			n = read(fd[i], buf, sizeof(buf));
		seen[fd[i] < 0 || n < 0 ? errno : 0]++;
		poll(&p, 1, 0);
		fstat(fd[i], &st);
	}
	tell();
	wait_for_end();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
		int least;
	} modes[] = {
		{ "files", do_files, 4 }, { "reads", do_reads, 2 }, { "polls", do_polls, 2 },
		{ "part", do_part, 1 },	  { "bomb", do_bomb, 2 },   { "writes", do_writes, 1 },
		{ "names", do_names, 1 }, { "reap", do_reap, 1 },
	};
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	signal(SIGPIPE, SIG_IGN);
	seen = mmap(NULL, 200 * sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	if (seen == MAP_FAILED)
		return 1;
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(argv[1], modes[i].name) && argc - 2 >= modes[i].least)
			return modes[i].run(argc - 2, argv + 2);
	fprintf(stderr, "greedy: see the head of greedy.c\n");
	return 2;
}
