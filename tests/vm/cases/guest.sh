#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guest has what the other cases build on.
. "$GT_SRC/tests/lib/case.sh"

is "$(id -u)" 0 "cases run as root"
is "$(as_user id -u)" 65534 "and as an ordinary user"
modprobe -a gpu-sched fuse
events=$(ls /sys/kernel/tracing/events/gpu_scheduler)
ok "the scheduler's tracepoints" grep -qxE 'drm_sched_job(_queue)?' <<<"$events"
ok "tracefs" grep -qw function /sys/kernel/tracing/available_tracers
ok "debugfs" test -d /sys/kernel/debug/tracing
ok "types of the kernel" test -s /sys/kernel/btf/gpu_sched
like " $(cat /proc/cmdline) " " panic_on_warn=1 " "a warning ends the guest"
like " $(cat /proc/cmdline) " " slub_debug=FZPU " "and what the kernel's allocator finds is reported"
mount_gt "$mnt" -o backend=sim
ok "a tree is mounted" test -s "$mnt/version"
ok "and unmounted" umount_gt "$mnt"
done_testing
