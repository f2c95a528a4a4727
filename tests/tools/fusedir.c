/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fusedir DIR MOUNT - shows DIR's files at MOUNT, to be read only. Says "ready" when it is there.
 * Ends when it is unmounted. Stopped (SIGSTOP), it is a file system whose server does not answer:
 * nothing of it is kept in the kernel's caches.
 */
#define FUSE_USE_VERSION 31
#include <fuse3/fuse.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int dir;

static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int get(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	return fstatat(dir, below(path), st, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

static int list(const char *path, void *buf, fuse_fill_dir_t fill, off_t off,
		struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	fill(buf, ".", NULL, 0, 0);
	fill(buf, "..", NULL, 0, 0);
	return 0;
}

static int open_file(const char *path, struct fuse_file_info *fi)
{
	int fd = openat(dir, below(path), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	return 0;
}

static int read_file(const char *path, char *buf, size_t n, off_t at, struct fuse_file_info *fi)
{
	ssize_t got = pread((int)fi->fh, buf, n, at);

	return got < 0 ? -errno : (int)got;
}

static int release(const char *path, struct fuse_file_info *fi)
{
	close((int)fi->fh);
	return 0;
}

static void *ready(struct fuse_conn_info *conn, struct fuse_config *cfg)
{
	cfg->attr_timeout = cfg->entry_timeout = 0;
	puts("ready");
	fflush(stdout);
	return NULL;
}

static const struct fuse_operations ops = {
	.init = ready,
	.getattr = get,
	.readdir = list,
	.open = open_file,
	.read = read_file,
	.release = release,
};

int main(int argc, char **argv)
{
	char *args[] = { argv[0], "-f", "-s", "-o", "default_permissions,allow_other", NULL, NULL };

	if (argc != 3)
		return 2;
	dir = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		perror(argv[1]);
		return 1;
	}
	args[5] = argv[2];
	return fuse_main(6, args, &ops, NULL);
}
