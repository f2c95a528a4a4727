#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# virtio-gpu: commands of a program that sets a mode and shows frames are the jobs of virtio_gpu0, as
# many as tracefs counts in an instance of the case's own.
. "$GT_SRC/tests/lib/case.sh"

ls /sys/bus/virtio/drivers/virtio_gpu/virtio* >/dev/null 2>&1 || modprobe virtio_gpu
card=$(cd /sys/bus/virtio/drivers/virtio_gpu/virtio* 2>/dev/null && cd ../drm && ls -d card*) ||
	skip "no virtio GPU: GT_GUEST_ARGS='-device virtio-gpu-pci'"
modeset=$GT_OUT/tests/tools/modeset
own=/sys/kernel/tracing/instances/gt-virtio
cleanup() { rmdir $own 2>/dev/null; }

mkdir $own
own() { echo "$1" | tee $own/events/virtio_gpu/virtio_gpu_cmd_{queue,response}/enable >/dev/null; }
count() { grep -c "virtio_gpu_cmd_$1: .* vq=$2 " $own/trace; }
idle() { # every command has its response, and has had for a while
	local n
	[ "$(count queue 0)" = "$(count response 0)" ] || return 1
	n=$(count queue 0)
	read -rt 0.3 <> <(:)
	[ "$(count queue 0)" = "$n" ]
}
ring() { echo "$gpu/by-name/$1"; }
jobs() { # jobs RING KEY; 0 while the ring is not known
	{ value "$(ring "$1")/stats" "$2" || echo 0; } 2>/dev/null
}
caught_up() { [ "$(jobs control completed)" = "$(count response 0)" ]; }

in_flight() { count_rows "$(ring control)/jobs" 2>/dev/null || :; }

compare() { # compare WHAT FRAMES - with what tracefs has counted since the last clear
	local left
	left=$(in_flight) # of a driver that was unloaded: nobody reports their end
	ok "$1: a program shows $2 frames" "$modeset" --cursor --frames "$2" "/dev/dri/$card"
	wait_for 20 idle
	ok "$1: commands come, some for each frame" [ "$(count queue 0)" -gt $((2 * $2)) ]
	ok "$1: all completions are seen" wait_for 20 caught_up
	is "$(jobs control submitted)" "$(count queue 0)" "$1: commands are jobs of the ring control"
	is "$(jobs control completed)" "$(count response 0)" "$1: … each completed"
	is "$(jobs control errors)" 0 "$1: … without an error"
	is "$(in_flight)" "${left:-0}" "$1: none is in flight"
	cursors=$(count response 1)
	cursors_told() { [ "$(jobs cursor completed)" = "$cursors" ]; }
	[ "$cursors" = 0 ] || wait_for 20 cursors_told
	[ "$cursors" = 0 ] || is "$(jobs cursor completed)" "$cursors" "$1: cursor commands, as the kernel reports their end"
	[ "$cursors" = 0 ] && ok "$1: no ring where no end is reported" [ ! -e "$(ring cursor)" ]
}

gpu=$mnt/virtio_gpu0
mount_gt "$mnt" -o backend=ftrace || exit 1
is "$(awk 'NR > 1 { print $1, $8, $9 }' "$mnt/gpus") $(value "$gpu/info" card)" \
	"virtio_gpu0 virtio_gpu $(basename "$(readlink -f "/sys/class/drm/$card/device")") $card" "one GPU, found by sysfs"
wait_for 20 grep -qx running "$mnt/backends/ftrace/state"
own 1
compare "cold" 20
is "$(cd "$gpu/by-name" && echo control)" control "the ring has the queue's name"

# Plausible: each took time, and no more than there was
read -r uptime _ </proc/uptime
for s in exec total; do
	median=$(stage "$(ring control)/latency" $s p50_ns) max=$(stage "$(ring control)/latency" $s max_ns)
	ok "$s: median $median ns, $max at most" [ "$median" -gt 0 -a "$max" -lt "${uptime%.*}000000000" ]
	is "$(stage "$(ring control)/latency" $s count)" "$(jobs control completed)" "$s of every command"
done
ok "commands are submitted and handed over in one" [ "$(stage "$(ring control)/latency" queue max_ns)" = 0 ]
ok "the program is known by name" grep -q ' modeset ' "$gpu/report"
is "$(value "$mnt/status" jobs_begin_unseen)" 0 "no response without a command"

# The driver goes, with its tracepoints, and comes back while mounted
own 0
ok "the driver is unloaded while mounted" wait_for 20 modprobe -r virtio_gpu
ok "… its GPU goes" wait_for 20 [ ! -e "$gpu" ]
modprobe virtio_gpu
wait_for 20 test -e "/dev/dri/$card"
ok "… and comes back" wait_for 20 test -e "$gpu/info"
running() { grep -q 1 /sys/kernel/tracing/instances/gputrace-*/events/virtio_gpu/virtio_gpu_cmd_queue/enable; }
ok "… and its tracepoints are used again" wait_for 20 running
echo >$own/trace
own 1
echo clear >"$mnt/control"
compare "loaded again" 5
own 0
ok "unmounted" umount_gt "$mnt"
done_testing
