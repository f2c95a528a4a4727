/* SPDX-License-Identifier: GPL-2.0 */
/* What several parts ask of the kernel, or of this thread's rights. */
#include <linux/capability.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

uint64_t gb_rights(uint64_t on, uint64_t off)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3];
	uint64_t was, now;

	if (syscall(SYS_capget, &head, d))
		return 0;
	was = d[0].effective | (uint64_t)d[1].effective << 32;
	on &= d[0].permitted | (uint64_t)d[1].permitted << 32;
	now = (was & ~off) | on;
	d[0].effective = (uint32_t)now;
	d[1].effective = (uint32_t)(now >> 32);
	return now == was || syscall(SYS_capset, &head, d) ? 0 : now & ~was;
}

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
