/* SPDX-License-Identifier: GPL-2.0 */
#include <cap-ng.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "privs.h"

struct sets {
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

/* capset(2) is of the calling thread alone, with no library's state beside it */
static int get(struct sets *s)
{
	s->head = (struct __user_cap_header_struct){ .version = _LINUX_CAPABILITY_VERSION_3 };
	return (int)syscall(SYS_capget, &s->head, s->data);
}

static uint64_t change(uint64_t on, uint64_t off)
{
	struct sets s;
	uint64_t was, now;

	if (get(&s))
		return 0;
	was = s.data[0].effective | (uint64_t)s.data[1].effective << 32;
	on &= s.data[0].permitted | (uint64_t)s.data[1].permitted << 32;
	now = (was | on) & ~off;
	if (now == was)
		return 0;
	s.data[0].effective = (uint32_t)now;
	s.data[1].effective = (uint32_t)(now >> 32);
	return syscall(SYS_capset, &s.head, s.data) ? 0 : now & ~was;
}

uint64_t gt_privs_raise(uint64_t caps)
{
	return change(caps, 0);
}

void gt_privs_lower(uint64_t caps)
{
	if (caps)
		change(0, caps);
}

/* From what capng_get_caps_process() got. What a container has not got cannot be kept. */
static void select_caps(uint64_t effective, uint64_t all)
{
	unsigned int had[64] = { 0 };

	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++)
		had[i] = (unsigned int)capng_have_capability(CAPNG_PERMITTED, i);
	capng_clear(CAPNG_SELECT_ALL);
	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++) {
		if (!had[i] || !(all >> i & 1))
			continue;
		capng_update(CAPNG_ADD, CAPNG_PERMITTED | CAPNG_BOUNDING_SET, i);
		if (effective >> i & 1)
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, i);
	}
}

int gt_privs_drop(uint64_t effective, uint64_t raised, char *err, size_t len)
{
	bool bounds;
	int ret;

	umask(077);
	if (geteuid())
		return 0;
	capng_get_caps_process();
	bounds = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
	select_caps(effective, effective | raised);
	/* otherwise the bounding set stays, and libcap-ng would complain of that in the log */
	if (bounds)
		capng_apply(CAPNG_SELECT_BOUNDS);
	/* no_new_privs does the rest */
	ret = capng_apply(CAPNG_SELECT_CAPS);
	if (ret == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		ret = -1;
	if (ret) {
		snprintf(err, len, "rights cannot be given up: %s", strerror(errno));
		return errno ? -errno : -EPERM;
	}
	return 0;
}
