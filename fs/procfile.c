/* SPDX-License-Identifier: GPL-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "procfile.h"

ssize_t gt_proc_read(uint32_t pid, const char *name, char *buf, size_t len)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, len - 1);
	close(fd);
	buf[n > 0 ? n : 0] = 0;
	return n;
}
