/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Times reading, as a median of rounds:
 *
 *	reads pread FILE             ns of a pread at 0 on an open descriptor
 *	reads open FILE              ns of open + read + close
 *	reads stream FILE MEGABYTES  MB/s in pieces of 128 KiB, of what waits in it
 *	reads each FILE SECONDS      us of open + read + close: median, 99th percentile and the
 *	                             longest of one every millisecond
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 31
#define TIMES  1000

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

#define EACH_MAX 1000000

static int each(const char *path, double seconds)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	double *t = calloc(EACH_MAX, sizeof(*t)), start = now(), end = start + seconds * 1e9;
	int n = 0;

	for (; t && n < EACH_MAX && start < end; n++) {
		start = now();
		if (reopen(path))
			return fail(path);
		t[n] = now() - start;
		nanosleep(&pause, NULL);
	}
	if (!n)
		return 2;
	qsort(t, (size_t)n, sizeof(*t), by_value);
	printf("%.0f %.0f %.0f\n", t[n / 2] / 1e3, t[n - 1 - n / 100] / 1e3, t[n - 1] / 1e3);
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
	if (argc == 4 && !strcmp(argv[1], "each"))
		return each(argv[2], atof(argv[3]));
	return 2;
}
