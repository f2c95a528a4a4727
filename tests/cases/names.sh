#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What GPUs of recordings are called, and what a machine without a GPU shows.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
flags() { awk -v g="$1" '$1 == g { print $NF }' "$mnt/gpus"; }
pci() { awk -v g="$1" '$1 == g { print $9 }' "$mnt/gpus"; }
gpus() { awk 'NR > 1 { print $1 }' "$mnt/gpus" | sort | tr '\n' ' '; }

# No event names a device: there can be only one
cat >unnamed <<'T'
  game-10 [001] 100.000100: amdgpu_cs_ioctl: sched_job=1, timeline=gfx, context=7, seqno=1, ring_name=gfx, num_ibs=1
  game-10 [001] 100.000200: amdgpu_sched_run_job: sched_job=1, timeline=gfx, context=7, seqno=1, ring_name=gfx, num_ibs=1
  game-10 [001] 100.000900: dma_fence_signaled: driver=drm_sched timeline=gfx context=7 seqno=1
T
mount_gt "$mnt" -o replay="$PWD/unnamed" || exit 1
is "$(gpus)" "amdgpu0 " "a recording that names no device has one GPU"
is "$(flags amdgpu0)" device_unknown "… of which gpus says that its device is not known"
is "$(awk '$1 == "flags" { print $2 }' "$mnt/amdgpu0/info")" device_unknown "… and info"
ok "… with its ring" test -s "$mnt/amdgpu0/ring0/latency"
umount_gt "$mnt"

# Two devices, the later address first
job() { # job TIME DEV
	cat <<-T
	  game-10 [001] $1.000100: drm_sched_job_queue: dev=$2, fence=17:$1, ring=gfx, job count:0, hw job count:0, client_id:4
	  game-10 [001] $1.000200: drm_sched_job_run: dev=$2, fence=17:$1, ring=gfx, job count:0, hw job count:1, client_id:4
	  game-10 [001] $1.000900: drm_sched_job_done: fence=17:$1 signaled
	T
}
{ job 100 0000:83:00.0; job 101 0000:03:00.0; job 102 0000:83:00.0; } >two
mount_gt "$mnt" -o replay="$PWD/two" || exit 1
is "$(gpus)" "drm0 drm1 " "two GPUs"
is "$(pci drm0) $(pci drm1)" "0000:03:00.0 0000:83:00.0" "… are numbered by PCI address"
is "$(awk 'NR > 1 { print $2 }' "$mnt/report" | tr '\n' ' ')" "drm1 drm0 drm1 " "… and so are their jobs"
is "$(readlink "$mnt/by-id/0000:83:00.0")" ../drm1 "… and links"
ok "… in streams, too" timeout 20 sh -c "head -c 192 '$mnt/events' | grep -aq 0000:83:00.0"
umount_gt "$mnt"

# A list that names no ring is taken, and says so
mount_gt "$mnt" -o replay="$PWD/two" || exit 1
said() { printf '%s' "$2" >"$mnt/config/$1" && cat "$mnt/last_cmd_status"; }
like "$(said watchlist abc)" "no such ring now" "a watch list that names no ring"
is "$(cat "$mnt/config/watchlist")" abc "… is taken"
is "$(said watchlist drm1/gfx)" ok "one that names a ring"
is "$(said watchlist '!0')" ok "all but one"
is "$(said watchlist '')" ok "an empty one"
echo 1 >"$mnt/config/filter_enabled"
like "$(said filter_ring 'sdma*')" "no such ring now" "a filter likewise"
umount_gt "$mnt"

# A machine without a GPU, and what doctor finds
mkdir -p none/sys/bus/pci/devices none/proc
mount_gt "$mnt" -o sysroot=none 2>err || exit 1
is "$(gpus)" "" "no GPU, none shown"
like "$(cat err)" "no GPU .*$mnt/doctor" "mounting says so"
is "$(wc -l <err)" 1 "… in one line"
like "$(cat "$mnt/doctor")" "^gpu none-found" "doctor, too"
like "$(cat "$mnt/doctor")" "no PCI display controller" "… and why"
is "$(ls -d "$mnt"/sim* 2>/dev/null)" "" "nothing is simulated"
is "$(cat "$mnt/backends/sim/state")" off "… by nobody"
umount_gt "$mnt"

device() { # device BDF CLASS VENDOR [DRIVER]
	mkdir -p "none/sys/bus/pci/devices/$1"
	echo "$2" >"none/sys/bus/pci/devices/$1/class"
	echo "$3" >"none/sys/bus/pci/devices/$1/vendor"
	echo 0x744c >"none/sys/bus/pci/devices/$1/device"
	[ -z "${4:-}" ] || ln -s "../../drivers/$4" "none/sys/bus/pci/devices/$1/driver"
}
device 0000:03:00.0 0x030000 0x1002
device 0000:04:00.0 0x030200 0x10de vfio-pci
device 0000:05:00.0 0x038000 0x8086
device 0000:06:00.0 0x120000 0x1002 amdgpu
device 0000:07:00.0 0x020000 0x8086
mkdir -p none/sys/module/xe
mount_gt "$mnt" -o sysroot=none 2>err || exit 1
why() { awk -v d="$1" '/^device/ { on = $2 == d } /^(backend|gpu)/ { on = 0 } on' "$mnt/doctor" | tr '\n' ' '; }
like "$(why 0000:03:00.0)" "1002:744c has-no-driver.*amdgpu, is not loaded.*modprobe amdgpu" "a driver that is not loaded"
like "$(why 0000:04:00.0)" "is-given-away.*virtual machine" "a GPU of a virtual machine"
like "$(why 0000:05:00.0)" "xe is loaded but does not serve it" "a probe that failed"
like "$(why 0000:06:00.0)" "failed.*amdgpu serves it but made no DRM device" "… half way"
is "$(why 0000:07:00.0)" "" "a network card is no GPU"
like "$(cat "$mnt/doctor")" "see each device below" "doctor leads to them"
umount_gt "$mnt"

# Beside a GPU that works
rm -r none/sys/bus/pci/devices/0000:0[3567]*
PYTHONPATH=$GT_SRC/tests/lib PYTHONDONTWRITEBYTECODE=1 python3 -c "
import gputree
gputree.amdgpu('none', 1, '0000:08:00.0')"
mount_gt "$mnt" -o sysroot=none || exit 1
is "$(head -n 1 "$mnt/doctor")" "gpus      amdgpu0" "doctor begins with the GPU"
like "$(why 0000:04:00.0)" "is-given-away" "… has what a virtual machine took"
ok "… and counts it as no problem" sh -c "sed '/^\$/q' '$mnt/doctor' | grep -qE '^problems +none$'" || cat "$mnt/doctor"
device 0000:03:00.0 0x030000 0x1002
ok "… but a driver that is not loaded" sh -c "sed '/^\$/q' '$mnt/doctor' | grep -qE '^problems +1, which follow$'"
umount_gt "$mnt"
done_testing
