/* SPDX-License-Identifier: GPL-2.0 */
/* What several parts ask of the kernel, or of this thread's rights. */
#include <linux/capability.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

uint64_t gb_perf_rights(void)
{
	return gb_paranoid() > 2 ? 1ull << CAP_SYS_ADMIN : 0;
}

int gb_paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int paranoid = 0;

	if (f && fscanf(f, "%d", &paranoid) != 1)
		paranoid = 0;
	if (f)
		fclose(f);
	return paranoid;
}

uint64_t gb_module_instance(const char *module)
{
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return stat(path, &st) ? 0 : st.st_ino;
}
