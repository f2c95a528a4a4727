/* SPDX-License-Identifier: GPL-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "drmfds.h"

#define DRM_MAJOR 226 /* Documentation/admin-guide/devices.txt */

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static bool known(const unsigned int *minors, int n, unsigned int minor)
{
	for (int i = 0; i < n; i++)
		if (minors[i] == minor)
			return true;
	return false;
}

int gt_drmfds(uint32_t pid, unsigned int *minors, int max)
{
	__attribute__((cleanup(close_dir))) DIR *dir = NULL;
	struct dirent *e;
	struct stat st;
	char path[32];
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	for (int i = 0; i < GT_DRMFDS_LOOK && n < max && (e = readdir(dir)); i++) {
		/* the link is followed by the kernel to the file itself, whatever its name is there
		 */
		if (fstatat(dirfd(dir), e->d_name, &st, 0) || !S_ISCHR(st.st_mode) ||
		    major(st.st_rdev) != DRM_MAJOR || known(minors, n, minor(st.st_rdev)))
			continue;
		minors[n++] = minor(st.st_rdev);
	}
	return n;
}
