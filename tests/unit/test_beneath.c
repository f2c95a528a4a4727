/* SPDX-License-Identifier: GPL-2.0 */
/* backend/beneath.c: paths that lead out, through links, and into other mounts. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../backend/lib/file.h"
#include "../lib/tap.h"
#include "../lib/top.h"

static int folder = -1;

/* What is read there, or the error as a number */
static const char *at(int dir, const char *path, unsigned int how)
{
	int fd = gt_beneath(dir, path, O_RDONLY | O_NONBLOCK, how);
	static char text[64];
	ssize_t n;

	if (fd < 0) {
		snprintf(text, sizeof(text), "%d", fd);
		return text;
	}
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return text;
}

static const char *error(int err)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", err);
	return text;
}

static void make(void)
{
	mkdir(top_at("in"), 0755);
	top_put("plain", "plain");
	top_put("in/inner", "inner");
	if (symlink("in", top_at("to")) || symlink("/in/inner", top_at("whole")) ||
	    symlink("../../../in/inner", top_at("up")) || symlink("/etc/passwd", top_at("out")) ||
	    symlink("loop", top_at("loop")) || symlink("plain", top_at("last")))
		ok(false, "links");
}

static void test_root(void)
{
	is_str(at(folder, "in/inner", GT_BENEATH_ROOT), "inner", "the folder as /: a path");
	is_str(at(folder, "/in//./inner", GT_BENEATH_ROOT), "inner", "… a whole one");
	is_str(at(folder, "../../../plain", GT_BENEATH_ROOT), "plain", "… .. ends at the top");
	is_str(at(folder, "in/../to/../in/inner", GT_BENEATH_ROOT), "inner", "… and goes back");
	is_str(at(folder, "whole", GT_BENEATH_ROOT), "inner", "… a whole link leads within");
	is_str(at(folder, "up", GT_BENEATH_ROOT), "inner", "… one that goes up as well");
	is_str(at(folder, "out", GT_BENEATH_ROOT), error(-ENOENT), "… and one that leads out");
	is_str(at(folder, "loop", GT_BENEATH_ROOT), error(-ELOOP), "… one to itself ends");
	is_str(at(folder, "plain/x", GT_BENEATH_ROOT), error(-ENOTDIR), "… a file is no folder");
	is_str(at(folder, "", GT_BENEATH_ROOT), error(-ENOENT), "… an empty path is none");
}

static void test_links(void)
{
	int fd = gt_beneath(folder, "last", O_PATH | O_NOFOLLOW, GT_BENEATH_ROOT);
	char target[16] = "";

	ok(fd >= 0 && readlinkat(fd, "", target, sizeof(target) - 1) > 0,
	   "a link itself is opened");
	is_str(target, "plain", "… to be read");
	close(fd);
	is_str(at(folder, "in/inner", GT_BENEATH_NO_LINKS), "inner", "without links: a path");
	is_str(at(AT_FDCWD, top_at("in/inner"), GT_BENEATH_NO_LINKS), "inner", "… a whole one");
	is_str(at(folder, "to/inner", GT_BENEATH_NO_LINKS), error(-ELOOP), "… a link on the way");
	is_str(at(folder, "last", GT_BENEATH_NO_LINKS), error(-ELOOP), "… a link at the end");
	is_str(at(folder, "in/../plain", GT_BENEATH_NO_LINKS), error(-EXDEV), "… nor back");
}

static void test_mounts(void)
{
	const unsigned int how = GT_BENEATH_NO_LINKS | GT_BENEATH_MOUNT;
	int root = open("/", O_PATH | O_DIRECTORY), fd;

	is_str(at(folder, "in/inner", how), "inner", "in one mount: a path");
	is_str(at(root, "proc/self/comm", how), error(-EXDEV), "… another mount is refused");
	fd = gt_beneath(root, ".", O_RDONLY | O_DIRECTORY, how);
	ok(fd >= 0, "… the folder itself is not");
	ok(gt_mount_of(fd) == gt_mount_of(root), "… and is of that mount");
	close(fd);
	fd = gt_beneath(root, "proc", O_PATH, GT_BENEATH_NO_LINKS);
	ok(fd >= 0 && gt_mount_of(fd) != gt_mount_of(root),
	   "which may be left where that is asked");
	close(fd);
	close(root);
}

static unsigned int open_fds(void)
{
	unsigned int n = 0;

	for (int i = 0; i < 256; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

int main(void)
{
	unsigned int before;

	if (!top_make())
		return 1;
	folder = open(top, O_PATH | O_DIRECTORY);
	make();
	before = open_fds();
	test_root();
	test_links();
	test_mounts();
	is(open_fds(), before, "nothing stays open");
	top_drop();
	return done_testing();
}
