// SPDX-License-Identifier: GPL-2.0
/*
 * grtfuzz DIR WRITES SEED [FILE...]: writes whatever to the files of grtrace in DIR, from several
 * threads, while others read these and each FILE in every way there is. Ends after that many
 * writes. A write that fails in a way that a refused setting does not is a fault. Prints what
 * became of the writes.
 *
 * grtfuzz --reload MODULE.ko DIR ROUNDS SEED [FILE...]: the same, while grtrace is unloaded and
 * loaded that many times. It is no fault then that the files go and come.
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
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define WRITERS 4
#define READERS 4
#define FILES	64
#define LONGEST 70000
#define MANY	5000
#define TRIES	1000 /* to unload it once */

static char dir[PATH_MAX], names[FILES][64];
static bool writable[FILES];
static char *more[8];
static int nfiles, nmore;
static long wanted, rounds;
static const char *module;
static unsigned int seed;
static atomic_long writes, accepted, gone, reads, by_errno[4096], by_file[FILES];
static atomic_long opens[4096]; /* that failed, by errno */
static atomic_long faults, reloads, pinned;
static atomic_bool ended;
static atomic_int holders;	    /* who has a file open that keeps the module */
static _Atomic int64_t pause_until; /* nobody opens another before */
static void *volatile nowhere = (void *)1;

/* What each takes, some of it out of bounds */
static const struct {
	const char *name, *values[10];
} known[] = {
	{ "control", { "start", "stop" } },
	{ "buffer_size", { "65536", "1048576", "131072", "65535", "1", "4294967296", "0" } },
	{ "buffer_mode", { "overwrite", "no-overwrite", "no_overwrite" } },
	{ "level", { "off", "stats", "normal", "verbose", "3", "high" } },
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
	/* A setting that is taken waits for all CPUs: later there are fewer of them */
	unsigned int what = below(r, writes < MANY ? 8 : 256);
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

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* An open file keeps the module, and of so many threads one always has one: so all pause now and
 * then (reloader()). To be followed by a release() where it returns true. */
static bool hold(void)
{
	while (!ended) {
		holders++;
		if (now_ns() >= pause_until)
			return true;
		holders--;
		usleep(50);
	}
	return false;
}

static void release(void)
{
	holders--;
}

static int open_counted(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0) {
		opens[errno & 4095]++;
		usleep(200);
	}
	return fd;
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
		if (!hold())
			break;
		fd = open_counted(path, (below(&r, 4) ? O_WRONLY : O_RDWR) | flags[below(&r, 8)]);
		for (unsigned int n = fd < 0 ? 0 : below(&r, writes < MANY ? 4 : 32) + 1; n; n--) {
			size_t len = text(&r, names[i], buf);
			ssize_t ret = put(&r, fd, buf, len);

			count(i, ret, errno);
		}
		if (fd >= 0)
			close(fd);
		release();
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

static bool is_relay(const char *name)
{
	return strncmp(name, "events", 6) == 0 && name[6] >= '0' && name[6] <= '9';
}

static void *reader(void *arg)
{
	unsigned int r = seed * 1000 + 500 + (unsigned int)(uintptr_t)arg;
	char *buf = malloc(2 * LONGEST), path[PATH_MAX + 64];
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (buf && null >= 0 && !ended) {
		int i = (int)below(&r, (unsigned int)(nfiles + nmore)), fd;
		/* relay's files and those of /proc do not keep the module: they go while they are
		 * read */
		bool keeps = i < nfiles && !is_relay(names[i]);

		if (i < nfiles)
			snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (keeps && !hold())
			break;
		fd = open_counted(i < nfiles ? path : more[i - nfiles],
				  O_RDONLY | O_NONBLOCK | (below(&r, 8) ? 0 : O_DIRECT));
		for (unsigned int n = fd < 0 ? 0 : below(&r, 6) + 1; n; n--) {
			ask(&r, fd, null, buf);
			reads++;
		}
		if (fd >= 0)
			close(fd);
		if (keeps)
			release();
		usleep(below(&r, writes < MANY ? 500 : 10000));
	}
	if (null >= 0)
		close(null);
	free(buf);
	return NULL;
}

/* Unloads it while others open its files: nobody has one open, and they begin again shortly before,
 * at any time during the unloading, or behind it. @took: ns that the last one took. Returns false
 * if it cannot be unloaded. */
static bool unload(unsigned int *r, int64_t *took)
{
	for (int i = 0; i < TRIES; i++) {
		int64_t began;

		pause_until = INT64_MAX;
		while (holders)
			usleep(50);
		began = now_ns();
		if (below(r, 4)) {
			pause_until = began + *took * below(r, 1200) / 1000;
		} else {
			pause_until = began;
			usleep(below(r, 200));
		}
		began = now_ns();
		if (!syscall(SYS_delete_module, "grtrace", O_NONBLOCK)) {
			*took = now_ns() - began;
			return true;
		}
		if (errno != EAGAIN && errno != EBUSY) {
			printf("# delete_module: %s\n", strerror(errno));
			return false;
		}
		pinned++;
		/* something is written and read meanwhile */
		pause_until = 0;
		usleep(below(r, 20000));
	}
	printf("# it could not be unloaded: a file was open each time\n");
	return false;
}

static bool load(void)
{
	int fd = open(module, O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && !syscall(SYS_finit_module, fd, "", 0);

	if (!ok)
		printf("# %s: %s\n", module, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ok;
}

static void *reloader(void *arg)
{
	unsigned int r = seed * 1000 + 900;
	int64_t took = 10000000;
	char path[PATH_MAX + 64];

	(void)arg;
	while (!ended && reloads < rounds) {
		int fd;

		if (!unload(&r, &took))
			break;
		usleep(below(&r, 2000));
		pause_until = 0;
		if (!load())
			break;
		reloads++;
		/* it mostly goes while it traces */
		snprintf(path, sizeof(path), "%s/control", dir);
		fd = below(&r, 4) ? open(path, O_WRONLY | O_CLOEXEC) : -1;
		if (fd >= 0) {
			faults += write(fd, "start", 5) != 5;
			close(fd);
		}
		usleep(below(&r, 100000));
	}
	pause_until = 0;
	faults += reloads < rounds;
	ended = true;
	return NULL;
}

static void end(int sig)
{
	(void)sig;
	ended = true;
}

static void print_errors(const char *what, atomic_long *n)
{
	printf("%s", what);
	for (int e = 0; e < 4096; e++)
		if (n[e])
			printf(" %s %ld", strerrorname_np(e), (long)n[e]);
	printf("\n");
}

static int usage(void)
{
	fprintf(stderr, "usage: grtfuzz DIR WRITES SEED [FILE...]\n"
			"       grtfuzz --reload MODULE.ko DIR ROUNDS SEED [FILE...]\n");
	return 2;
}

int main(int argc, char **argv)
{
	pthread_t w[WRITERS], r[READERS], reload;
	int files = 4;

	if (argc > 2 && !strcmp(argv[1], "--reload")) {
		module = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc < 4 || atol(argv[2]) < 1)
		return usage();
	*(module ? &rounds : &wanted) = atol(argv[2]);
	snprintf(dir, sizeof(dir), "%s", argv[1]);
	seed = (unsigned int)atol(argv[3]);
	for (; files < argc && nmore < 8; files++)
		more[nmore++] = argv[files];
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
	if (module) {
		pthread_create(&reload, NULL, reloader, NULL);
		pthread_join(reload, NULL);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(w[i], NULL);
	ended = true;
	for (int i = 0; i < READERS; i++)
		pthread_join(r[i], NULL);
	if (module)
		printf("reloads %ld pinned %ld ", (long)reloads, (long)pinned);
	printf("writes %ld accepted %ld gone %ld reads %ld", (long)writes, (long)accepted,
	       (long)gone, (long)reads);
	print_errors("", by_errno);
	print_errors("not opened", opens);
	for (int i = 0; i < nfiles; i++)
		if (writable[i] && wanted && !by_file[i]) {
			printf("# %s was not written to\n", names[i]);
			faults += wanted > 1000;
		}
	return faults > 0;
}
