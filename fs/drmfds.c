/* SPDX-License-Identifier: GPL-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "drmfds.h"
#include "privs.h"

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

/*
 * The kernel follows the link to the file itself, whatever its name is there. What is known of the
 * file must do: one that would first ask a file system, as FUSE does, may wait for ever for it.
 */
static bool is_drm(int dir, const char *name, unsigned int *minor)
{
	struct statx st;

	if (statx(dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st))
		return false;
	*minor = st.stx_rdev_minor;
	return S_ISCHR(st.stx_mode) && st.stx_rdev_major == DRM_MAJOR;
}

static int look_at(uint32_t pid, unsigned int *minors, int max, unsigned int *look)
{
	__attribute__((cleanup(close_dir))) DIR *dir = NULL;
	struct dirent *e;
	unsigned int minor;
	char path[32];
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		if (!*look)
			return -E2BIG;
		--*look;
		if (!is_drm(dirfd(dir), e->d_name, &minor) || known(minors, n, minor))
			continue;
		if (n == max)
			return -E2BIG;
		minors[n++] = minor;
	}
	return n;
}

int gt_drmfds(uint32_t pid, unsigned int *minors, int max, unsigned int *look)
{
	/* the folder is its user's alone, to open and to look a name up */
	uint64_t caps = gt_privs_raise(1ULL << CAP_DAC_READ_SEARCH);
	int n = look_at(pid, minors, max, look);

	gt_privs_lower(caps);
	return n;
}
