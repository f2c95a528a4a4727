#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ioctls on /dev/kfd through BPF: AMD's compute driver needs no GPU to be asked for its version. Its function
# has a probe, which does not hold the driver, and is put on the next one.
. "$GT_SRC/tests/lib/case.sh"
[ "${GT_GUEST-}" = 1 ] || skip "a driver is loaded: for guests (tests/vm/run.sh)"
modprobe -q amdgpu && wait_for 20 test -c /dev/kfd || skip "this kernel has no compute driver of AMD's"
cleanup() { [ ! -d /sys/module/amdgpu ] || rmmod amdgpu; }
version() { python3 -c 'import fcntl; fcntl.ioctl(open("/dev/kfd", "rb"), 0x80084b01, bytes(8))'; }
version || skip "/dev/kfd cannot be asked without a GPU"
n() { value "$mnt/backends/bpf/stats" "ioctl_$1"; }

printf '[backend bpf]\ntracepoints = 0\n' >conf
mount_gt "$mnt" -o conf=conf,backend=bpf || exit 1
like "$(cat "$mnt/doctor")" "ioctl_kfd_by kprobe kfd_ioctl$" "kfd_ioctl() has a kprobe"
version
reached() { [ "$(n "$1")" -ge "$2" ]; }
ok "what is not wanted is counted" wait_for 20 reached unwanted 1
echo verbose >"$mnt/config/level"
reported() { version && grep -q "CPU IOCTL_EXIT .* result=0 .*command=KFD_GET_VERSION" "$mnt/timeline"; }
ok "at level verbose all are reported" wait_for 20 reported
ok "amdgpu goes while it has a probe" rmmod amdgpu
none() { [ -z "$(n kfd_by)" ]; }
ok "and it is let go" wait_for 20 none
before=$(n events)
modprobe amdgpu
probed() { [ "$(n kfd_by)" = kprobe ] && version && [ "$(n events)" -gt "$before" ]; }
ok "the next one has a probe, too" wait_for 20 probed
umount_gt "$mnt"
done_testing
