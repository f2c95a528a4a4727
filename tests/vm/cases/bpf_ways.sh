#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ioctls on the mock GPU through BPF, reported where the driver takes them, by fentry and by kprobes, and at the
# tracepoints of the system call: each tells the same. What they hold, and modules that go and come meanwhile.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
cleanup() { mock_unload; }
submit=0xc0386441 wait_job=0xc0186442 # tests/vm/mockgpu/mockgpu_drm.h
n() { value "$mnt/backends/bpf/stats" "ioctl_$1"; }
tally() { # of what is reported, but for when, how long, and by whom
	sed -nE 's/.* CPU (IOCTL_[A-Z]*) .*(cmd|result)=([^ ]*).*/\1 \3/p' "$mnt/timeline" | sort | uniq -c
}
drained() { [ "$(grep -c ' CPU IOCTL_' "$mnt/timeline")" = "$(n records)" ]; }
by() { # by WAY - mounted, with a run behind it. The backend's own tracepoints would hold modules
	printf '[backend bpf]\ntracepoints = 0\nioctl_by = %s\n' "$1" >conf
	mount_gt "$mnt" -o conf=conf,backend=bpf || exit 1
	like "$(n drm_by)" "^$1" "$1"
	"$gpujobs" --device 0 --jobs 50 --length-us 10 --ring gfx_0.0.0 --wait --seed 1 >/dev/null
	ok "$1: all are seen" [ "$(n events)" -gt 100 ]
	is "$(n records)" $(($(n events) * 2)) "$1: begin and end of each are reported"
	ok "$1: … and in the tree" wait_for 20 drained
	tally >"$1"
	is "$(n exits_missing) $(n lost)" "0 0" "$1: nothing is missed"
}
users() { # of the module drm, but for other modules
	echo $(($(cat /sys/module/drm/refcnt) - $(ls /sys/module/drm/holders | wc -l)))
}
users_are() { [ "$(users)" = "$1" ]; }

modprobe -qra virtio_gpu # whoever loaded it here before
modprobe drm
none=$(users)
mock_load timeout_ms=60000 || exit 1
some=$(users)
by fentry
like "$(cat fentry)" "50 IOCTL_ENTER $submit" "fentry: each submission"
ok "fentry holds drm ($(users) users, $some before)" test "$(users)" -gt "$some"
ok "but not the driver, which goes" mock_unload
ok "then drm is let go" wait_for 20 users_are "$none"
is "$(n drm_by)" "" "as nothing is left to be seen"
mock_load timeout_ms=60000 || exit 1
by_fentry() { [ "$(n drm_by)" = fentry ]; }
ok "the driver comes back: it is at its function again" wait_for 20 by_fentry
before=$(n events)
"$gpujobs" --device 0 --jobs 5 --length-us 10 --ring gfx_0.0.0 >/dev/null
more() { [ "$(n events)" -gt $((before + 4)) ]; }
ok "and reported" wait_for 20 more
umount_gt "$mnt"
ok "unmounted, nothing holds drm" wait_for 20 users_are "$some"

by kprobe
ok "kprobes tell what fentry does" diff fentry kprobe
is "$(users)" "$some" "and hold nothing"
# a kretprobe has room for 10 calls at once here
"$gpujobs" --device 0 --jobs 1 --length-us 15000000 --ring gfx_0.0.0 >/dev/null & waiters=($!)
for ((i = 0; i < 14; i++)); do
	"$gpujobs" --device 0 --jobs 2 --length-us 10 --ring gfx_0.0.0 --wait >/dev/null &
	waiters+=($!)
done
wait "${waiters[@]}"
reported() { grep -c "CPU IOCTL_$1 " "$mnt/timeline"; }
missing() { echo $(($(reported ENTER) - $(reported EXIT))); }
wait_for 20 drained
if [ "$(missing)" = 0 ]; then
	skip_ok "ends that it had no room for are counted" "there were never more than 10 at once"
else # the last of each is not followed by another call
	ok "ends that it had no room for are counted" sh -c "[ $(n exits_missing) -ge 1 ] && [ $(n exits_missing) -le $(missing) ]"
fi
ok "the driver goes while it has probes" mock_unload
umount_gt "$mnt"

mock_load || exit 1
by tracepoint
ok "tracepoints tell what fentry does" diff fentry tracepoint
umount_gt "$mnt"
ok "the modules can be unloaded" mock_unload
done_testing
