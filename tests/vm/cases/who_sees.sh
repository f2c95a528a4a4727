#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tests/cases/who_sees.sh on Debian's kernels. Its stand-ins take the names of the scheduler's events,
# so that the scheduler must not be there.
# Early
# One kernel: who sees what is no matter of the kernel; and tests/cases/who_sees.sh runs on this machine's
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
mock_unload || exit 1
if [ -d /sys/module/gpu_sched ]; then
	! sched_leaked || skip "this kernel has leaked a fence of gpu_sched, which cannot go"
	rmmod gpu_sched || exit 1
fi
modprobe fuse
exec "$GT_SRC/tests/cases/who_sees.sh"
