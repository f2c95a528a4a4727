/* SPDX-License-Identifier: GPL-2.0 */
#include "internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Anybody can write any pid into a file of theirs: of this machine's processes it must be one that
 * is there, of that user, and that was there then.
 */
bool rp_pid_is_theirs(uint32_t pid, uint32_t uid, uint64_t ts)
{
	unsigned long long ticks = 0;
	char path[64], text[1024];
	struct stat st;
	ssize_t n;
	char *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = fstat(fd, &st) < 0 || st.st_uid != uid ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int i = 0; at && i < 20; i++) /* field 22; the name was the second */
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &ticks) != 1)
		return false;
	return ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK)) <= ts;
}
