/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rights.h"

uint64_t gt_rights(uint64_t on, uint64_t off)
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
