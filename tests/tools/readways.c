/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads all that the caller may of mounted trees, in each way there is, and says which planted
 * secrets are in it. For tests/cases/who_sees.sh.
 *
 *	readways [-p EVENTS | -u UID] SECRETS PATHS NAME=DIR...
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
 * Pipes are left out but with -p, and then only they are read: what comes while EVENTS are seen
 * from all processes together. With -u root has everything open and mapped, and reads it before
 * that user opens it and again before that user reads.
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
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../lib/secrets.h"

#define PATHS	   4096
#define CONTENT	   (1 << 20) /* of one file; none comes near */
#define PATIENCE_S 60

static char *paths[PATHS];
static bool listed[PATHS]; /* a directory said that it is there */
static unsigned int npaths;
static const char *tree; /* NAME of the one that is read */
static char *content;
static uid_t reader;
static bool pipes;
static uint64_t events;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static void say(const char *path, const char *way, const char *buf, size_t len)
{
	char found[4096];

	gt_secrets_in(found, sizeof(found), buf, len);
	printf("%s\t%s\t%s\t%s\n", tree, path, way, found);
}

static void say_error(const char *path, const char *way, int err)
{
	printf("%s\t%s\t%s\t%s\n", tree, path, way, strerrorname_np(err));
}

/* Ways of reading: bytes in @content, or a negative errno -----------------------------------------
 */

static int64_t by_read(int fd)
{
	size_t len = 0;
	ssize_t n;

	while (len < CONTENT && (n = read(fd, content + len, CONTENT - len)) != 0) {
		if (n < 0)
			return len ? (int64_t)len : -errno;
		len += (size_t)n;
	}
	return (int64_t)len;
}

/* What has been gathered in a file without a name */
static int64_t gathered(int mem)
{
	ssize_t n = pread(mem, content, CONTENT, 0);

	return n < 0 ? -errno : n;
}

static int64_t by_sendfile(int fd)
{
	int mem = memfd_create("sendfile", 0);
	size_t len = 0;
	ssize_t n = 1;
	int64_t ret;

	while (len < CONTENT && n > 0) {
		n = sendfile(mem, fd, NULL, CONTENT - len);
		len += n > 0 ? (size_t)n : 0;
	}
	ret = n < 0 && !len ? -errno : gathered(mem);
	close(mem);
	return ret;
}

/* As the kernel likes it: shared mappings of such files are refused up to now. */
static char *map_of(int fd, size_t size)
{
	char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	return map != MAP_FAILED ? map : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
}

/* write(2) of what cannot be faulted in is EFAULT, where a look at it would be SIGBUS. */
static int64_t by_mmap(int fd)
{
	struct stat st = { .st_size = 0 };
	size_t size, done = 0;
	ssize_t n = 1;
	int64_t ret;
	char *map;
	int mem;

	fstat(fd, &st);
	size = st.st_size ? (size_t)st.st_size : 4096;
	size = size > CONTENT ? CONTENT : size;
	map = map_of(fd, size);
	if (map == MAP_FAILED)
		return -errno;
	mem = memfd_create("mmap", 0);
	for (; done < size && n > 0; done += n > 0 ? (size_t)n : 0)
		n = write(mem, map + done, size - done);
	munmap(map, size);
	ret = gathered(mem);
	close(mem);
	return ret;
}

static const struct way {
	const char *name;
	int64_t (*get)(int fd);
} ways[] = { { "read", by_read }, { "sendfile", by_sendfile }, { "mmap", by_mmap } };

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* Root reads it by @fd, and no page of that may be what the reader gets. */
static void look_as_root(int fd, const struct way *w)
{
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
		w->get(fd);
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

static void read_one(const char *at, const char *path, const struct way *w)
{
	int root = reader ? open_as(0, at) : -1, fd;
	char *map = MAP_FAILED;
	int64_t n;

	if (root >= 0)
		map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, root, 0);
	look_as_root(root, w);
	fd = open_as(reader, at);
	look_as_root(root, w);
	as(reader);
	n = fd < 0 ? fd : w->get(fd);
	as(0);
	if (n < 0)
		say_error(path, w->name, (int)-n);
	else
		say(path, w->name, content, (size_t)n);
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
	for (size_t i = 0; there && S_ISREG(st.st_mode) && !is_pipe(path) && i < WAYS; i++)
		read_one(at, path, &ways[i]);
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

static void wait_for_events(const char *dir)
{
	uint64_t before = seen(dir);

	for (int i = 0; seen(dir) - before < events; i++) {
		if (i == PATIENCE_S * 100) {
			fprintf(stderr, "readways: %s: nothing happens\n", dir);
			exit(2);
		}
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
}

static void read_pipes(const char *dir, const struct way *w)
{
	int fd[PATHS], err[PATHS];
	int64_t n;
	char *at;

	for (unsigned int i = 0; i < npaths; i++) {
		fd[i] = err[i] = -1;
		if (!is_pipe(paths[i]))
			continue;
		if (asprintf(&at, "%s/%s", dir, paths[i]) < 0)
			fail("asprintf");
		fd[i] = open(at, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		err[i] = errno;
		free(at);
	}
	if (events && w == ways) /* no other way gets anything from a pipe */
		wait_for_events(dir);
	for (unsigned int i = 0; i < npaths; i++) {
		if (!is_pipe(paths[i]))
			continue;
		n = fd[i] < 0 ? -err[i] : w->get(fd[i]);
		if (n < 0)
			say_error(paths[i], w->name, (int)-n);
		else
			say(paths[i], w->name, content, (size_t)n);
		if (fd[i] >= 0)
			close(fd[i]);
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
		add_path(line);
	}
	fclose(f);
}

static void read_tree(char *arg, const char *extra)
{
	char *dir = strchr(arg, '=');

	if (!dir)
		fail(arg);
	*dir++ = '\0';
	tree = arg;
	read_paths(extra);
	if (!pipes)
		visit_all(dir);
	for (size_t i = 0; pipes && i < WAYS; i++)
		read_pipes(dir, &ways[i]);
}

static int usage(void)
{
	fputs("usage: readways [-p EVENTS | -u UID] SECRETS PATHS NAME=DIR...\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "p:u:")) != -1) {
		if (c == 'p') {
			pipes = true;
			events = strtoull(optarg, NULL, 10);
		} else if (c == 'u')
			reader = (uid_t)strtoul(optarg, NULL, 10);
		else
			return usage();
	}
	if (argc - optind < 3)
		return usage();
	content = malloc(CONTENT);
	if (!content || (reader && setgroups(0, NULL)))
		fail("readways");
	if (gt_secrets_read(argv[optind]))
		fail(argv[optind]);
	for (int i = optind + 2; i < argc; i++)
		read_tree(argv[i], argv[optind + 1]);
	return 0;
}
