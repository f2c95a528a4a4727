// SPDX-License-Identifier: GPL-2.0
/*
 * grtfuzz DIR WRITES SEED [FILE...]: writes whatever to the files of grtrace in DIR, from several
 * threads, while others read these and each FILE in every way there is. Ends after that many writes
 * (0: when it is told to). It is no fault that DIR goes and comes meanwhile; a write that fails in
 * a way that a refused setting does not is one. Prints what became of the writes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define WRITERS 4
#define READERS 4
#define FILES	64
#define LONGEST 70000

static char dir[PATH_MAX], names[FILES][64];
static bool writable[FILES];
static char *more[8];
static int nfiles, nmore;
static long wanted;
static unsigned int seed;
static atomic_long writes, accepted, gone, reads, by_errno[4096], by_file[FILES];
static atomic_long faults;
static atomic_bool ended;
static void *volatile nowhere = (void *)1;

/* What each takes, some of it out of bounds */
static const struct {
	const char *name, *values[10];
} known[] = {
	{ "control", { "start", "stop" } },
	{ "enabled", { "0", "1", "y" } },
	{ "buffer_size", { "65536", "1048576", "131072", "65535", "1", "4294967296", "0" } },
	{ "buffer_mode", { "overwrite", "no-overwrite", "no_overwrite" } },
	{ "aggregator_enable", { "0", "1" } },
	{ "aggregator_window", { "10", "100", "1000", "0", "4294967295" } },
	{ "reset_stats", { "1" } },
	{ "emit",
	  { "submit 5 4 9 43", "commit 5 4 9 43", "complete 5 4 9 43 0", "custom 7 1 9 0 4711",
	    "irq 0 1 200 1", "error 5 4 9 43 1\nsubmit 6 4 9 44\nstart 6 4 9 44", "end 5 4 9 43",
	    "submit 18446744073709551615 0x1f 255 18446744073709551615" } },
	{ "level", { "off", "stats", "normal", "verbose", "0", "3", "4" } },
	{ "sampling", { "0", "100", "50", "101" } },
	{ "sampling_rate", { "0", "100", "1", "-1" } },
	{ "sampling_mode", { "static", "adaptive", "threshold" } },
	{ "sampling_threshold", { "0", "1000000", "18446744073709551615" } },
	{ "rate_limit", { "0", "1", "100000000", "100000001" } },
	{ "rate_limit_mode", { "window", "token_bucket", "0", "1", "2" } },
	{ "rate_limit_burst", { "0", "1", "100000000" } },
	{ "filter_enabled", { "0", "1" } },
	{ "filter_pid", { "", "1", "1,2,3", "!7", "4294967295" } },
	{ "filter_uid", { "", "0", "1001,1002", "!0" } },
	{ "filter_latency", { "0", "1", "4294967295" } },
	{ "filter_events", { "0", "0xffffffff", "0x3" } },
	{ "filter_engine", { "0", "0xffff", "1" } },
	{ "watchlist", { "", "0", "0,1,2,3", "255" } },
	{ "watchlist_ctx", { "", "1", "18446744073709551615" } },
	{ "config",
	  { "sample=40", "level=normal\nsample=100", "filter_pid=\nfilter_ring_id=-1",
	    "filter_type_mask=0x3\nfilter_engine_mask=0xff", "rate_limiter_mode=window", "=",
	    "level", "max_events_per_sec=0\nrate_limit_burst=5",
	    "sampling_threshold=1\nnosuch=1" } },
};

static void look(void)
{
	DIR *d = opendir(dir);
	char path[PATH_MAX + 256];
	struct dirent *e;
	struct stat st;

	while (d && nfiles < FILES && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (strlen(e->d_name) >= sizeof(names[0]) || stat(path, &st) ||
		    !S_ISREG(st.st_mode))
			continue;
		memcpy(names[nfiles], e->d_name, strlen(e->d_name) + 1);
		writable[nfiles++] = st.st_mode & 0200;
	}
	if (d)
		closedir(d);
}

static unsigned int below(unsigned int *r, unsigned int n)
{
	return (unsigned int)rand_r(r) % n;
}

static size_t valid(unsigned int *r, const char *name, char *buf)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		unsigned int n = 0;

		if (strcmp(known[i].name, name) != 0)
			continue;
		while (n < 10 && known[i].values[n])
			n++;
		return (size_t)sprintf(buf, "%s\n", known[i].values[below(r, n)]);
	}
	return (size_t)sprintf(buf, "1\n");
}

static void mutate(unsigned int *r, char *buf, size_t *n)
{
	for (unsigned int i = below(r, 4) + 1; i; i--) {
		size_t at = *n ? below(r, (unsigned int)*n) : 0;

		switch (below(r, 4)) {
		case 0:
			if (*n)
				buf[at] = (char)rand_r(r);
			break;
		case 1:
			memmove(buf + at + 1, buf + at, *n - at);
			buf[at] = "0123456789,-x=\n !"[below(r, 17)];
			(*n)++;
			break;
		case 2:
			if (*n)
				memmove(buf + at, buf + at + 1, --*n - at);
			break;
		default:
			if (*n < 2000) {
				memmove(buf + at + *n, buf + at, *n - at);
				memcpy(buf + at, buf, at < *n ? at : *n);
				*n *= 2;
			}
		}
	}
}

static size_t text(unsigned int *r, const char *name, char *buf)
{
	static const unsigned int lengths[] = { 4095, 4096, 4097, 8192, 65536, LONGEST - 1, 1000 };
	/* A setting that is taken waits for all CPUs: later there are fewer of them. */
	unsigned int what = below(r, writes < 20000 ? 8 : 64);
	size_t n;

	switch (what) {
	case 0:
		return valid(r, name, buf);
	case 1:
	case 2:
	case 3:
		n = valid(r, name, buf);
		mutate(r, buf, &n);
		return n;
	case 4: /* long, and what it begins with may be right */
		n = lengths[below(r, 7)];
		memset(buf, " 1,\nx"[below(r, 5)], n);
		valid(r, name, buf);
		return n;
	default:
		n = below(r, 65);
		for (size_t i = 0; i < n; i++)
			buf[i] = (char)rand_r(r);
		return n;
	}
}

static ssize_t by_pipe(int fd, const char *buf, size_t n)
{
	int p[2];
	ssize_t got = -1;

	if (pipe(p))
		return -1;
	if (write(p[1], buf, n > 4096 ? 4096 : n) > 0)
		got = splice(p[0], NULL, fd, NULL, 4096, SPLICE_F_NONBLOCK);
	close(p[0]);
	close(p[1]);
	return got;
}

static ssize_t put(unsigned int *r, int fd, char *buf, size_t n)
{
	struct iovec v[2] = { { buf, n / 2 }, { buf + n / 2, n - n / 2 } };

	switch (below(r, 16)) {
	case 0:
		return pwrite(fd, buf, n, below(r, 2) ? 1 : LONG_MAX - 100000);
	case 1:
		return writev(fd, v, 2);
	case 2:
		return by_pipe(fd, buf, n);
	case 3:
		return write(fd, nowhere, n);
	case 4:
		lseek(fd, below(r, 5000), SEEK_SET);
		return write(fd, buf, n);
	default:
		return write(fd, buf, n);
	}
}

/* As a setting is refused, or what was asked is not for such a file */
static bool is_refusal(int e)
{
	return e == EINVAL || e == ERANGE || e == E2BIG || e == EFAULT || e == ENOMEM ||
	       e == EAGAIN || e == EOVERFLOW || e == EFBIG || e == EBUSY || e == ESPIPE;
}

/* The module, or the folder, has gone */
static bool is_gone(int e)
{
	return e == ENOENT || e == EIO || e == ENODEV || e == ENXIO;
}

static void count(int file, ssize_t ret, int e)
{
	writes++;
	by_file[file]++;
	if (ret >= 0) {
		accepted++;
		return;
	}
	by_errno[e & 4095]++;
	if (is_gone(e))
		gone++;
	else if (!is_refusal(e) && faults++ < 10)
		printf("# %s: %s\n", names[file], strerror(e));
}

static void *writer(void *arg)
{
	static const int flags[] = { 0, 0, 0, O_TRUNC, O_APPEND, O_NONBLOCK, O_DIRECT, O_SYNC };
	unsigned int r = seed * 1000 + (unsigned int)(uintptr_t)arg;
	char *buf = malloc(2 * LONGEST), path[PATH_MAX + 64];

	while (buf && !ended && (!wanted || writes < wanted)) {
		int i = (int)below(&r, (unsigned int)nfiles), fd;

		if (!writable[i])
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		fd = open(path,
			  (below(&r, 4) ? O_WRONLY : O_RDWR) | flags[below(&r, 8)] | O_CLOEXEC);
		if (fd < 0) {
			if (errno == ENOENT)
				usleep(1000);
			continue;
		}
		for (unsigned int n = below(&r, 4) + 1; n; n--) {
			size_t len = text(&r, names[i], buf);
			ssize_t ret = put(&r, fd, buf, len);

			count(i, ret, errno);
		}
		close(fd);
	}
	free(buf);
	return NULL;
}

static void ask(unsigned int *r, int fd, int null, char *buf)
{
	static const int whences[] = { SEEK_SET, SEEK_CUR, SEEK_END };
	struct pollfd pf = { .fd = fd, .events = POLLIN | POLLPRI };
	off_t at = below(r, 100000);
	int p[2];
	void *m;

	switch (below(r, 9)) {
	case 0:
		if (read(fd, buf, below(r, LONGEST)) < 0 || read(fd, buf, 1) < 0)
			return;
		break;
	case 1:
		if (pread(fd, buf, below(r, 5000), below(r, 2) ? at : LONG_MAX - 10) < 0)
			return;
		break;
	case 2:
		lseek(fd, below(r, 2) ? at : -at, whences[below(r, 3)]);
		if (read(fd, buf, 100) < 0)
			return;
		break;
	case 3:
		if (pipe(p))
			return;
		splice(fd, NULL, p[1], NULL, 4096, SPLICE_F_NONBLOCK);
		close(p[0]);
		close(p[1]);
		break;
	case 4:
		sendfile(null, fd, below(r, 2) ? &at : NULL, below(r, LONGEST));
		break;
	case 5:
		m = mmap(NULL, 65536, PROT_READ, below(r, 2) ? MAP_SHARED : MAP_PRIVATE, fd, 0);
		if (m != MAP_FAILED)
			munmap(m, 65536);
		break;
	case 6:
		poll(&pf, 1, 0);
		break;
	case 7:
		if (read(fd, nowhere, 100) < 0 || ftruncate(fd, 10) < 0)
			return;
		break;
	default:
		while (read(fd, buf, LONGEST) > 0 && !ended)
			;
	}
}

static void *reader(void *arg)
{
	unsigned int r = seed * 1000 + 500 + (unsigned int)(uintptr_t)arg;
	char *buf = malloc(2 * LONGEST), path[PATH_MAX + 64];
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (buf && null >= 0 && !ended) {
		int i = (int)below(&r, (unsigned int)(nfiles + nmore)), fd;

		if (i < nfiles)
			snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		fd = open(i < nfiles ? path : more[i - nfiles],
			  O_RDONLY | O_CLOEXEC | O_NONBLOCK | (below(&r, 8) ? 0 : O_DIRECT));
		if (fd < 0) {
			if (errno == ENOENT)
				usleep(1000);
			continue;
		}
		for (unsigned int n = below(&r, 6) + 1; n; n--) {
			ask(&r, fd, null, buf);
			reads++;
		}
		close(fd);
		usleep(below(&r, 500));
	}
	if (null >= 0)
		close(null);
	free(buf);
	return NULL;
}

static void end(int sig)
{
	(void)sig;
	ended = true;
}

int main(int argc, char **argv)
{
	pthread_t w[WRITERS], r[READERS];

	if (argc < 4) {
		fprintf(stderr, "usage: grtfuzz DIR WRITES SEED [FILE...]\n");
		return 2;
	}
	snprintf(dir, sizeof(dir), "%s", argv[1]);
	wanted = atol(argv[2]);
	seed = (unsigned int)atol(argv[3]);
	for (int i = 4; i < argc && nmore < 8; i++)
		more[nmore++] = argv[i];
	signal(SIGTERM, end);
	signal(SIGINT, end);
	signal(SIGPIPE, SIG_IGN);
	look();
	if (!nfiles) {
		fprintf(stderr, "grtfuzz: no files in %s\n", dir);
		return 2;
	}
	for (uintptr_t i = 0; i < READERS; i++)
		pthread_create(&r[i], NULL, reader, (void *)i);
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&w[i], NULL, writer, (void *)i);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(w[i], NULL);
	ended = true;
	for (int i = 0; i < READERS; i++)
		pthread_join(r[i], NULL);
	printf("writes %ld accepted %ld gone %ld reads %ld", (long)writes, (long)accepted,
	       (long)gone, (long)reads);
	for (int e = 0; e < 4096; e++)
		if (by_errno[e])
			printf(" %s %ld", strerrorname_np(e), (long)by_errno[e]);
	printf("\n");
	for (int i = 0; i < nfiles; i++)
		if (writable[i] && wanted && !by_file[i]) {
			printf("# %s was not written to\n", names[i]);
			faults += wanted > 1000;
		}
	return faults > 0;
}
