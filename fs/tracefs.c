/* SPDX-License-Identifier: GPL-2.0 */
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tracefs.h"

#define PLACE "/sys/kernel/tracing"

static int mounted_at(char *out, unsigned long len)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *e;

	*out = 0;
	if (!f)
		return -1;
	while ((e = getmntent(f))) {
		/* the usual place before an automount under debugfs */
		if (strcmp(e->mnt_type, "tracefs") || (*out && strcmp(e->mnt_dir, PLACE)))
			continue;
		snprintf(out, len, "%s", e->mnt_dir);
	}
	endmntent(f);
	return *out ? 0 : -1;
}

void gt_tracefs_find(const char *wanted, char *out, unsigned long len)
{
	if (wanted && *wanted) {
		snprintf(out, len, "%s", wanted);
		return;
	}
	if (!mounted_at(out, len))
		return;
	if (!geteuid() &&
	    !mount("tracefs", PLACE, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		snprintf(out, len, PLACE);
}
