/* SPDX-License-Identifier: GPL-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "whose.h"

enum gt_whose gt_whose(uint32_t pid, uint32_t uid, uint64_t ts)
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
		return GT_WHOSE_GONE;
	if (fstat(fd, &st) < 0)
		st.st_uid = ~uid;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return GT_WHOSE_GONE;
	if (st.st_uid != uid)
		return GT_WHOSE_OTHERS;
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int i = 0; at && i < 20; i++) /* field 22; the name was the second */
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &ticks) != 1)
		return GT_WHOSE_OTHERS;
	return ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK)) <= ts ? GT_WHOSE_THEIRS
									      : GT_WHOSE_OTHERS;
}
