/* SPDX-License-Identifier: GPL-2.0 */
#include <fcntl.h>
#include <stdio.h>

#include "live.h"

#define FILE_MAX (4u << 20)

int gt_live_access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}

char *gt_live_read(const char *dir, const char *file, size_t *len)
{
	gt_live_auto_free char *buf = NULL;
	gt_live_auto_close int fd = -1;
	size_t n = 0, cap = 0;
	char path[PATH_MAX], *more;
	ssize_t got;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		if (n + 1 >= cap) {
			cap = cap ? cap * 2 : 8192;
			more = realloc(buf, cap);
			if (!more)
				return NULL;
			buf = more;
		}
		got = read(fd, buf + n, cap - n - 1);
		if (got < 0)
			return NULL;
		n += (size_t)got;
	} while (got && n < FILE_MAX);
	buf[n] = '\0';
	if (len)
		*len = n;
	more = buf;
	buf = NULL;
	return more;
}
