/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads all that the caller may of mounted trees, in each way there is, and says which planted
 * secrets are in it. For tests/cases/who_sees.sh.
 *
 *	readways [-p EVENTS] [-r] [-t TOP,...] [-u UID] SECRETS PATHS NAME=DIR...
 *
 * SECRETS: lines "who kind value": a value that is a number is looked for as decimal word and as 4
 * or 8 bytes in memory, a long one as hexadecimal word too, any other as it stands. PATHS: names
 * below DIR that are looked up though no directory lists them. It prints, with tabs between:
 *
 *	NAME  path  way  result
 *
 * way: stat (a word for mode and type stands before it), listed (yes or no), list, link, read,
 * sendfile, mmap; result: an error's name, or who:kind of each secret found, or "." for none.
 *
 * A file is opened once for the three, or read alone with -r. With -t only what stands in DIR
 * itself is looked at, and what is below those of its directories.
 *
 * Pipes are left out but with -p: they are opened before anything else is looked at, and read when
 * all else has been and EVENTS were seen from all processes together. With -u root has everything
 * open and mapped, and reads it before that user opens it and again before that user reads.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../lib/secrets.h"
#include "../lib/ways.h"

#define PATHS	   4096
#define PIPES	   900	     /* of all trees together; a process may have 1024 files */
#define CONTENT	   (1 << 20) /* of one file; none comes near */
#define TREES	   8
#define PATIENCE_S 60

static char *paths[PATHS];
static bool listed[PATHS]; /* a directory said that it is there */
static unsigned int npaths;
static const char *tree;      /* NAME of the one that is read */
static char *content, *first; /* what came now, and by the first way */
static const char *tops;      /* -t */
static unsigned int nways;    /* of gt_ways */
static uid_t reader;
static bool pipes;
static uint64_t events;
static char found[4096];

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static bool wanted(const char *path)
{
	size_t top = strcspn(path, "/"), n;

	if (!tops || !path[top])
		return true;
	for (const char *t = tops; *t; t += n + (t[n] == ',')) {
		n = strcspn(t, ",");
		if (n == top && !strncmp(t, path, n))
			return true;
	}
	return false;
}

static void say(const char *path, const char *way, const char *buf, size_t len)
{
	gt_secrets_in(found, sizeof(found), buf, len);
	printf("%s\t%s\t%s\t%s\n", tree, path, way, found);
}

static void say_error(const char *path, const char *way, int err)
{
	printf("%s\t%s\t%s\t%s\n", tree, path, way, strerrorname_np(err));
}

/* Most ways give the same bytes, which are searched once. */
static void say_ways(int fd, const char *path)
{
	int64_t n, before = -1;
	char *swap;

	for (unsigned int i = 0; i < nways; i++) {
		if (i)
			lseek(fd, 0, SEEK_SET); /* one that cannot gives less, which is seen */
		n = gt_ways[i].get(fd, content, CONTENT);
		if (n < 0) {
			say_error(path, gt_ways[i].name, (int)-n);
			continue;
		}
		if (n != before || memcmp(content, first, (size_t)n))
			gt_secrets_in(found, sizeof(found), content, (size_t)n);
		printf("%s\t%s\t%s\t%s\n", tree, path, gt_ways[i].name, found);
		before = n;
		swap = first, first = content, content = swap;
	}
}

/* Root reads it by @fd, and no page of that may be what the reader gets. */
static void look_as_root(int fd)
{
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		gt_ways[0].get(fd, content, CONTENT);
}

static void as(uid_t uid)
{
	if (reader && seteuid(uid))
		fail("seteuid");
}

static int open_as(uid_t uid, const char *at)
{
	int fd;

	as(uid);
	fd = open(at, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = -errno;
	as(0);
	return fd;
}

static void read_one(const char *at, const char *path)
{
	int root = reader ? open_as(0, at) : -1, fd;
	char *map = MAP_FAILED;

	if (root >= 0)
		map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, root, 0);
	if (map != MAP_FAILED)
		madvise(map, 4096, MADV_POPULATE_READ);
	look_as_root(root);
	fd = open_as(reader, at);
	look_as_root(root);
	as(reader);
	if (fd < 0)
		say_error(path, gt_ways[0].name, -fd);
	else
		say_ways(fd, path);
	as(0);
	if (fd >= 0)
		close(fd);
	if (map != MAP_FAILED)
		munmap(map, 4096);
	if (root >= 0)
		close(root);
}

/* The tree --------------------------------------------------------------------------------------
 */

static bool is_pipe(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return !strcmp(name, "events") || !strcmp(name, "trace");
}

/* Its index; the last one's where there are too many */
static unsigned int add_path(const char *path)
{
	unsigned int i = 0;

	while (i < npaths && strcmp(paths[i], path))
		i++;
	if (i < npaths || i == PATHS)
		return i < PATHS ? i : PATHS - 1;
	paths[i] = strdup(path);
	if (!paths[i])
		fail("strdup");
	listed[i] = false;
	npaths++;
	return i;
}

/* As the reader: what lstat says of it; false if there is nothing to go on with */
static bool look(const char *at, const char *path, struct stat *st)
{
	char way[32], ids[64];

	if (lstat(at, st)) {
		say_error(path, "stat", errno);
		return false;
	}
	snprintf(way, sizeof(way), "%04o%c stat", st->st_mode & 07777,
		 S_ISDIR(st->st_mode)	? 'd'
		 : S_ISLNK(st->st_mode) ? 'l'
					: 'f');
	snprintf(ids, sizeof(ids), "%u\n%u\n", st->st_uid, st->st_gid);
	say(path, way, ids, strlen(ids));
	return true;
}

static void list(const char *at, const char *path)
{
	DIR *d = opendir(at);
	size_t len = 0;
	struct dirent *e;
	char *sub;

	if (!d) {
		say_error(path, "list", errno);
		return;
	}
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		len += (size_t)snprintf(content + len, CONTENT - len, "%s\n", e->d_name);
		if (asprintf(&sub, "%s%s%s", path, *path ? "/" : "", e->d_name) < 0)
			fail("asprintf");
		if (wanted(sub))
			listed[add_path(sub)] = true;
		free(sub);
	}
	closedir(d);
	say(path, "list", content, len);
}

static void follow(const char *at, const char *path)
{
	ssize_t n = readlink(at, content, CONTENT);

	if (n < 0)
		say_error(path, "link", errno);
	else
		say(path, "link", content, (size_t)n);
}

static void visit(const char *dir, const char *path)
{
	struct stat st;
	char *at;
	bool there;

	if (asprintf(&at, "%s/%s", dir, path) < 0)
		fail("asprintf");
	as(reader);
	there = look(at, path, &st);
	if (there && S_ISDIR(st.st_mode))
		list(at, path);
	else if (there && S_ISLNK(st.st_mode))
		follow(at, path);
	as(0);
	if (there && S_ISREG(st.st_mode) && !is_pipe(path))
		read_one(at, path);
	free(at);
}

/* What lists there are make @paths longer on the way. */
static void visit_all(const char *dir)
{
	for (unsigned int i = 0; i < npaths; i++)
		visit(dir, paths[i]);
	for (unsigned int i = 0; i < npaths; i++)
		printf("%s\t%s\tlisted\t%s\n", tree, paths[i], listed[i] ? "yes" : "no");
}

/* Pipes -----------------------------------------------------------------------------------------
 */

static uint64_t seen(const char *dir)
{
	unsigned long long n, sum = 0;
	char path[4096], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/events_by_type", dir);
	f = fopen(path, "re");
	if (!f)
		fail(path);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %llu", &n) == 1)
			sum += n;
	fclose(f);
	return sum;
}

static void wait_for_events(const char *dir, uint64_t before)
{
	for (int i = 0; seen(dir) - before < events; i++) {
		if (i == PATIENCE_S * 100) {
			fprintf(stderr, "readways: %s: nothing happens\n", dir);
			exit(2);
		}
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
}

/** struct pipe_end - @fd: open, or a negative errno */
static struct pipe_end {
	const char *tree, *path;
	int fd;
} ends[PIPES];

static unsigned int nends;

static void open_pipes(const char *name, const char *dir)
{
	char *at;

	for (unsigned int i = 0; i < npaths; i++) {
		if (!is_pipe(paths[i]))
			continue;
		if (nends == PIPES || asprintf(&at, "%s/%s", dir, paths[i]) < 0)
			fail("pipes");
		ends[nends++] = (struct pipe_end){ name, paths[i], open_as(reader, at) };
		free(at);
	}
}

/* Whoever reads one way after another gets by the first what came up to now. */
static void read_pipes(void)
{
	for (struct pipe_end *p = ends; p < ends + nends; p++) {
		tree = p->tree;
		if (p->fd < 0) {
			say_error(p->path, gt_ways[0].name, -p->fd);
			continue;
		}
		say_ways(p->fd, p->path);
		close(p->fd);
	}
}

/* Beginning ---------------------------------------------------------------------------------------
 */

static void read_paths(const char *name)
{
	char line[4096];
	FILE *f = fopen(name, "re");

	if (!f)
		fail(name);
	npaths = 0;
	add_path("");
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (wanted(line))
			add_path(line);
	}
	fclose(f);
}

/* Splits NAME=DIR. */
static char *dir_of(char *arg)
{
	char *dir = strchr(arg, '=');

	if (!dir)
		fail(arg);
	*dir++ = '\0';
	return dir;
}

static void read_trees(char **args, int n, const char *extra)
{
	uint64_t before[TREES] = { 0 };
	char *dir[TREES];

	for (int i = 0; i < n; i++) {
		dir[i] = dir_of(args[i]);
		read_paths(extra);
		if (pipes)
			open_pipes(args[i], dir[i]);
		if (events)
			before[i] = seen(dir[i]);
	}
	for (int i = 0; i < n; i++) {
		tree = args[i];
		read_paths(extra);
		visit_all(dir[i]);
	}
	for (int i = 0; events && i < n; i++)
		wait_for_events(dir[i], before[i]);
	read_pipes();
}

static int usage(void)
{
	fputs("usage: readways [-p EVENTS] [-r] [-t TOP,...] [-u UID] SECRETS PATHS NAME=DIR...\n",
	      stderr);
	return 2;
}

static int options(int argc, char **argv)
{
	int c;

	nways = GT_WAYS;
	while ((c = getopt(argc, argv, "p:u:rt:")) != -1) {
		if (c == 'p') {
			pipes = true;
			events = strtoull(optarg, NULL, 10);
		} else if (c == 'u')
			reader = (uid_t)strtoul(optarg, NULL, 10);
		else if (c == 'r')
			nways = 1;
		else if (c == 't')
			tops = optarg;
		else
			return -1;
	}
	return argc - optind < 3 || argc - optind > 2 + TREES ? -1 : 0;
}

int main(int argc, char **argv)
{
	if (options(argc, argv))
		return usage();
	content = malloc(CONTENT);
	first = malloc(CONTENT);
	if (!content || !first || (reader && setgroups(0, NULL)))
		fail("readways");
	argv += optind, argc -= optind;
	if (gt_secrets_read(argv[0]))
		fail(argv[0]);
	read_trees(argv + 2, argc - 2, argv[1]);
	return 0;
}
