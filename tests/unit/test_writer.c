/* SPDX-License-Identifier: GPL-2.0 */
/* fs/writer.c: the process that opens files for writing, and what it refuses. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../fs/writer.h"
#include "../lib/tap.h"
#include "../lib/top.h"

static struct gt_writer w = GT_WRITER_NONE;

/* What came of it; what is opened holds @text then */
static int file(enum gt_file_op op, const char *path, int flags, const char *text)
{
	int fd = gt_writer_file(&w, op, path, flags);

	if (fd <= 0)
		return fd;
	if (write(fd, text, strlen(text)) < 0)
		ok(false, "%s is written", path);
	close(fd);
	return 0;
}

static const char *content(const char *path)
{
	static char text[64];
	int fd = open(top_at(path), O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static bool start(void)
{
	char folder[512], one[512], late[512], kept[512], err[256] = "";
	const char *paths[] = { folder, one, late };
	struct gt_writer_conf c = { .n = 3, .path = paths, .kept = kept, .dir = "" };
	int ret;

	snprintf(folder, sizeof(folder), "%s/", top_at("folder"));
	snprintf(one, sizeof(one), "%s", top_at("one"));
	snprintf(late, sizeof(late), "%s", top_at("late"));
	snprintf(kept, sizeof(kept), "%s", top_at("kept"));
	c.folder = open(top, O_RDONLY | O_DIRECTORY);
	ret = gt_writer_start(&w, &c, err, sizeof(err));
	close(c.folder);
	is(ret, 0, "it starts: %s", err);
	ok(w.sock >= 0, "it is a process");
	return !ret;
}

static void test_places(void)
{
	const int make = O_WRONLY | O_CREAT | O_TRUNC;

	is(file(GT_FILE_OPEN, top_at("folder/new"), make, "new"), 0, "a file in the folder");
	is_str(content("folder/new"), "new", "… is written");
	is(file(GT_FILE_MKDIR, top_at("folder/dir"), 0, NULL), 0, "a folder in it is made");
	is(file(GT_FILE_OPEN, top_at("folder/dir/in"), make, "in"), 0, "… and a file there");
	is(file(GT_FILE_RMDIR, top_at("folder/dir"), 0, NULL), -ENOTEMPTY, "… it is not empty");
	unlink(top_at("folder/dir/in"));
	is(file(GT_FILE_RMDIR, top_at("folder/dir"), 0, NULL), 0, "… and then removed");
	is(file(GT_FILE_OPEN, top_at("one"), O_WRONLY | O_APPEND, "+"), 0, "a file that was there");
	is_str(content("one"), "1+", "… is appended to");
	is(file(GT_FILE_OPEN, top_at("late/file"), make, ""), -ENOENT, "a folder yet to come");
	mkdir(top_at("late"), 0755);
	is(file(GT_FILE_OPEN, top_at("late/file"), make, "late"), 0, "… has come");
	unlink(top_at("late/file"));
	rmdir(top_at("late"));
	mkdir(top_at("late"), 0755);
	is(file(GT_FILE_OPEN, top_at("late/file"), make, "later"), 0, "… and comes again");
	is_str(content("late/file"), "later", "… with its file");
}

static void test_refused(void)
{
	const int make = O_WRONLY | O_CREAT;

	if (symlink("../secret", top_at("folder/link")) || symlink("..", top_at("folder/up")))
		ok(false, "links");
	is(file(GT_FILE_OPEN, top_at("secret"), O_WRONLY, "!"), -EACCES, "another file");
	is(file(GT_FILE_OPEN, top_at("folders"), make, "!"), -EACCES, "one with a longer name");
	is(file(GT_FILE_OPEN, top_at("one/x"), make, "!"), -EACCES, "one in a file");
	is(file(GT_FILE_OPEN, "/etc/passwd", O_WRONLY, ""), -EACCES, "one of the system");
	is(file(GT_FILE_OPEN, "", make, "!"), -EACCES, "no name");
	is(file(GT_FILE_OPEN, top_at("folder/../secret"), O_WRONLY, "!"), -EXDEV, "above it");
	is(file(GT_FILE_OPEN, top_at("folder/link"), O_WRONLY, "!"), -ELOOP, "a link");
	is(file(GT_FILE_OPEN, top_at("folder/up/secret"), O_WRONLY, "!"), -ELOOP, "through a link");
	is(file(GT_FILE_MKDIR, top_at("folder/up/dir"), 0, NULL), -ELOOP,
	   "a folder through a link");
	is(file(GT_FILE_MKDIR, top_at("folder/../dir"), 0, NULL), -EXDEV, "a folder above it");
	is(file(GT_FILE_RMDIR, top_at("folder"), 0, NULL), -EACCES, "the folder itself");
	is(file(GT_FILE_OPEN, top_at("one"), O_RDWR, "!"), -EINVAL, "to be read, too");
	is(file(GT_FILE_OPEN, top_at("one"), O_WRONLY | O_PATH, "!"), -EINVAL, "with other flags");
	is(file((enum gt_file_op)9, top_at("one"), O_WRONLY, "!"), -EINVAL, "another request");
	is(file(GT_FILE_OPEN, top_at("kept"), make, "!"), -EACCES, "what is kept is not opened");
	is_str(content("secret"), "secret", "nothing was written");
	ok(access(top_at("dir"), F_OK) && access(top_at("folders"), F_OK), "nothing was made");
}

static void test_kept(void)
{
	static char large[70000];
	char kept[512], other[512];

	snprintf(kept, sizeof(kept), "%s", top_at("kept"));
	snprintf(other, sizeof(other), "%s", top_at("secret"));
	is(gt_writer_replace(&w, -1, kept, "first", 5), 0, "a file is kept");
	is_str(content("kept"), "first", "… and read");
	is(gt_writer_replace(&w, -1, kept, "2", 1), 0, "it is kept again");
	is_str(content("kept"), "2", "… in place of the other");
	is(gt_writer_replace(&w, -1, kept, "", 0), 0, "it may be empty");
	is_str(content("kept"), "", "… and is");
	is(gt_writer_replace(&w, -1, other, "!", 1), -EACCES, "another is not");
	is(gt_writer_replace(&w, -1, kept, large, sizeof(large)), -E2BIG, "one that is too large");
	is_str(content("secret"), "secret", "… and stays");
	ok(access(top_at("kept.new"), F_OK), "nothing is left");
}

static void test_end(void)
{
	struct gt_writer none = GT_WRITER_NONE;
	int fd, status;

	ok(!gt_writer_lost(&w), "it runs");
	shutdown(w.sock, SHUT_RDWR);
	ok(gt_writer_lost(&w), "it has ended");
	is(file(GT_FILE_OPEN, top_at("one"), O_WRONLY, "!"), -EPIPE, "… and opens nothing more");
	gt_writer_stop(&w);
	ok(wait(&status) > 0 && WIFEXITED(status) && !WEXITSTATUS(status), "by itself");
	fd = gt_writer_file(&none, GT_FILE_OPEN, top_at("one"), O_WRONLY);
	ok(fd >= 0, "without one this process opens it");
	close(fd);
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # skip only root's daemon has one\n");
		return 77;
	}
	if (!top_make())
		return 1;
	mkdir(top_at("folder"), 0755);
	top_put("one", "1");
	top_put("secret", "secret");
	if (start()) {
		printf("# landlock %d\n", w.landlocked);
		test_places();
		test_refused();
		test_kept();
		test_end();
	}
	top_drop();
	return done_testing();
}
