#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tests/cases/who_sees.sh on Debian's kernels. Its stand-ins take the names of the scheduler's events,
# so that the scheduler must not be there.
# Early
# One kernel: who sees what is no matter of the kernel; and tests/cases/who_sees.sh runs on this machine's
for m in mockgpu_names mockgpu_amdgpu mockgpu gpu_sched; do
	[ ! -d /sys/module/$m ] || rmmod $m || exit 1
done
modprobe fuse
exec "$GT_SRC/tests/cases/who_sees.sh"
