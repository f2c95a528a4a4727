#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What keeps BPF from working is said, exactly, and ftrace does its part: the kernel's types are hidden, a
# capability is missing, no tracepoint is there.
# Alone
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/calls.sh"
calls_mock
calls_maps maps
maps=events_dir=$PWD/maps
mount_gt "$mnt" -o "$maps,backend=bpf" || skip "BPF does not work here"
umount_gt "$mnt"

counted() { [ "$(awk '$2 ~ /^ring/ { n += $8 } END { print n + 0 }' "$mnt/rings" 2>/dev/null)" = "$1" ]; }

instead() { # instead WHAT SENTENCE - the daemon says it, and ftrace reports jobs
	like "$(cat "$mnt/doctor")" "$2" "$1: doctor says why"
	"$mock" -n 100 -p 1 -r 2 -d 100 -m calls -o /dev/null
	ok "$1: ftrace tells instead" wait_for 20 counted 100
	umount_gt "$mnt"
}

printf '[backend bpf]\nbtf = %s\n' "$PWD/none" >conf
mount_gt "$mnt" -o "conf=conf,$maps,backend=bpf:ftrace" || exit 1
instead "no types" "$PWD/none/vmlinux cannot be read .*CONFIG_DEBUG_INFO_BTF"

for cap in bpf perfmon; do
	name=CAP_${cap^^}
	mkdir -p "$mnt"
	mounts+=("$mnt")
	setpriv --bounding-set "-$cap" "$GT_PROG" "$mnt" -o "$maps,backend=bpf:ftrace" || exit 1
	instead "no $name" "$name is missing"
done

# both wanted, only one possible: none at all is an error that says it
printf '[backend bpf]\nbtf = %s\n' "$PWD/none" >conf
out=$("$GT_PROG" "$mnt" -o "conf=conf,$maps,backend=bpf" 2>&1) && umount_gt "$mnt"
like "$out" "vmlinux cannot be read" "alone it does not mount, and says why"

# Each part alone: what is in the way of one does not keep the others from working
mkdir empty
printf '[nosuch/nothing]\nevent = CUSTOM0\nname = nothing\n' >empty/none.ini
mount_gt "$mnt" -o "events_dir=$PWD/empty,backend=bpf" || exit 1
like "$(cat "$mnt/doctor")" "tracepoint unavailable: .*none of the GPU tracepoints" \
	"no tracepoint of the maps: that part says so"
like "$(cat "$mnt/doctor")" "ioctl running" "... and another runs"
umount_gt "$mnt"
done_testing
