/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procfile.h"

#define USUAL	 2048	   /* which most fit in */
#define TEXT_MAX (1 << 20) /* 65536 groups (NGROUPS_MAX) of ten digits take 704 KiB */

static int open_file(uint32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

ssize_t gt_proc_read(uint32_t pid, const char *name, char *buf, size_t len)
{
	int fd = open_file(pid, name);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, len - 1);
	close(fd);
	buf[n > 0 ? n : 0] = 0;
	return n;
}

/* To the end, or until @len are full; -errno */
static ssize_t read_on(int fd, char *buf, size_t len)
{
	size_t got = 0;
	ssize_t n = 1;

	while (n > 0 && got < len) {
		n = read(fd, buf + got, len - got);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			got += (size_t)n;
	}
	return n < 0 ? -errno : (ssize_t)got;
}

char *gt_proc_text(uint32_t pid, const char *name)
{
	size_t size = USUAL, used = 0;
	char *buf = NULL;
	ssize_t n = 0;
	int fd = open_file(pid, name);

	while (fd >= 0 && size <= TEXT_MAX) {
		char *more = realloc(buf, size);

		if (!more)
			break;
		buf = more;
		n = read_on(fd, buf + used, size - used);
		if (n < 0)
			break;
		used += (size_t)n;
		if (used < size) {
			buf[used] = 0;
			close(fd);
			return buf;
		}
		size *= 2;
	}
	if (fd >= 0)
		close(fd);
	free(buf);
	return NULL;
}

void gt_proc_textp(char **text)
{
	free(*text);
}

const char *gt_proc_line(const char *text, const char *key)
{
	size_t n = strlen(key);

	while (text && strncmp(text, key, n)) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + n : NULL;
}
