/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ways.h"

static int64_t by_read(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size && (n = read(fd, buf + len, size - len)) != 0) {
		if (n < 0)
			return len ? (int64_t)len : -errno;
		len += (size_t)n;
	}
	return (int64_t)len;
}

/* What has been gathered in a file without a name */
static int64_t gathered(int mem, char *buf, size_t size)
{
	ssize_t n = pread(mem, buf, size, 0);

	return n < 0 ? -errno : n;
}

static int64_t by_sendfile(int fd, char *buf, size_t size)
{
	int mem = memfd_create("sendfile", 0);
	size_t len = 0;
	ssize_t n = 1;
	int64_t ret;

	while (len < size && n > 0) {
		n = sendfile(mem, fd, NULL, size - len);
		len += n > 0 ? (size_t)n : 0;
	}
	ret = n < 0 && !len ? -errno : gathered(mem, buf, size);
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
static int64_t by_mmap(int fd, char *buf, size_t size)
{
	struct stat st = { .st_size = 0 };
	size_t len, done = 0;
	ssize_t n = 1;
	int64_t ret;
	char *map;
	int mem;

	fstat(fd, &st);
	len = st.st_size ? (size_t)st.st_size : 4096;
	len = len > size ? size : len;
	map = map_of(fd, len);
	if (map == MAP_FAILED)
		return -errno;
	mem = memfd_create("mmap", 0);
	for (; done < len && n > 0; done += n > 0 ? (size_t)n : 0)
		n = write(mem, map + done, len - done);
	munmap(map, len);
	ret = gathered(mem, buf, size);
	close(mem);
	return ret;
}

const struct gt_way gt_ways[GT_WAYS] = {
	{ "read", by_read },
	{ "sendfile", by_sendfile },
	{ "mmap", by_mmap },
};
