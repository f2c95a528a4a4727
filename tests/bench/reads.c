/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Times reading, as a median of rounds:
 *
 *	reads pread FILE             ns of a pread at 0 on an open descriptor
 *	reads open FILE              ns of open + read + close
 *	reads stream FILE MEGABYTES  MB/s in pieces of 128 KiB, of what waits in it
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 31
#define TIMES 1000

static char buf[128 << 10];

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int reopen(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, buf, sizeof(buf)) <= 0)
		return -1;
	return close(fd);
}

static int text(const char *path, int opens)
{
	double t[ROUNDS];
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return fail(path);
	for (int r = 0; r < ROUNDS; r++) {
		t[r] = now();
		for (int i = 0; i < TIMES; i++)
			if (opens ? reopen(path) : pread(fd, buf, sizeof(buf), 0) <= 0)
				return fail(path);
		t[r] = (now() - t[r]) / TIMES;
	}
	close(fd);
	qsort(t, ROUNDS, sizeof(*t), by_value);
	printf("%.0f\n", t[ROUNDS / 2]);
	return 0;
}

/* A descriptor that is open since before the data came is 0: `reads stream - MB 0<events` */
static int stream(const char *path, double megabytes)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY) : STDIN_FILENO;
	double start, bytes = 0;

	if (fd < 0)
		return fail(path);
	start = now();
	while (bytes < megabytes * 1e6) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n <= 0)
			return fail(path);
		bytes += (double)n;
	}
	printf("%.0f\n", bytes / (now() - start) * 1e3);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "pread"))
		return text(argv[2], 0);
	if (argc == 3 && !strcmp(argv[1], "open"))
		return text(argv[2], 1);
	if (argc == 4 && !strcmp(argv[1], "stream"))
		return stream(argv[2], atof(argv[3]));
	return 2;
}
