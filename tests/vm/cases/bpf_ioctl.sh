#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ioctls on the mock GPU through BPF, beside the scheduler's events through ftrace: each job of two users has
# the time of the ioctl that submitted it, also when it ends within; a process killed in a wait. Told at the
# driver's function, by fentry, and by kprobes and tracepoints; modules that go and come meanwhile.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
cleanup() {
	mock_unload
	[ ! -d /sys/module/amdgpu ] || modprobe -r amdgpu
}
submit=0xc0386441 wait_job=0xc0186442 # tests/vm/mockgpu/mockgpu_drm.h

mock_load && mock_names || exit 1
mount_gt "$mnt" -o backend=bpf:ftrace || exit 1
blocker=$(sed -n 's/^ *ioctl unavailable: //p' "$mnt/doctor")
is "$blocker" "" "the part for ioctls runs"
n() { value "$mnt/backends/bpf/stats" "ioctl_$1"; }
is "$(n drm_by)" fentry "the calls are told where the driver takes them"
is "$(n devices)" "$(ls -d /sys/class/drm/card[0-9]* /sys/class/drm/renderD* | grep -cv -- -)" "every card and render node"

# Jobs of 1 us end while their ioctl still returns; those of 2 ms long after
setpriv --reuid 1001 --regid 1001 --clear-groups "$gpujobs" --device 0 --jobs 1000 --length-us 1 --ring gfx_0.0.0,sdma0 --depth 60 --seed 1 >/dev/null & one=$!
setpriv --reuid 1002 --regid 1002 --clear-groups "$gpujobs" --device 1 --jobs 500 --length-us 2000 --ring comp_1.0.0 --depth 60 --seed 2 >/dev/null & two=$!
wait $one $two
ok "the mock has ended all jobs" wait_for 20 all_done
rows() { [ "$(grep -vc '^#' "$mnt/report")" = 1500 ]; }
ok "all are in the report" wait_for 20 rows
known() { [ "$(awk '!/^#/ && $9 == "-"' "$mnt/report" | wc -l)" = 0 ]; }
ok "each with the time of its ioctl" wait_for 20 known
is "$(awk '!/^#/ && $9 >= 1000000000' "$mnt/report" | wc -l)" 0 "none took a second"
cat "$mnt/timeline" >timeline
is "$(grep -c "IOCTL_ENTER .* cmd=$submit" timeline)" 1500 "timeline: an ioctl for each submission"
is "$(grep -c 'SUBMIT .* us after ioctl)' timeline)" 1500 "timeline: and how long after it the job was there"
is "$(grep -c IOCTL_ENTER timeline)" "$(grep -c IOCTL_EXIT timeline)" "timeline: what begins ends"
is "$(as_uid 1001 grep -c 'IOCTL_ENTER.*comm=gpujobs' "$mnt/timeline")" \
	"$(grep -c "IOCTL_ENTER .*pid=$one " timeline)" "a user sees whose the own are"
is "$(n no_gpu) $(n table_full) $(n unreadable)" "0 0 0" "none was of another device, or left out"

# A wait for a job that never ends
setpriv --reuid 1001 --regid 1001 --clear-groups "$gpujobs" --device 0 --jobs 1 --hang --ring gfx_0.0.0 --wait >/dev/null 2>&1 & hung=$!
inside() { grep -q "pid=$hung .*cmd=$wait_job" "$mnt/timeline"; }
ok "a process waits" wait_for 20 inside
kill -KILL $hung
wait $hung 2>/dev/null
left() { [ "$(grep -c "IOCTL_ENTER.*pid=$hung " "$mnt/timeline")" = "$(grep -c "IOCTL_EXIT.*pid=$hung " "$mnt/timeline")" ]; }
ok "killed, it has left the ioctl" wait_for 20 left
ok "the job ends by its timeout" wait_for 30 all_done
is "$(value "$mnt/status" events_lost_source)" 0 "nothing was lost"

# A device that comes later
mock_unbind 1
mock_bind 1
again() {
	"$gpujobs" --device 1 --jobs 1 --length-us 10 --ring sdma0 >/dev/null
	[ "$(grep -c "IOCTL_ENTER .* cmd=$submit" "$mnt/timeline")" -gt "$before" ]
}
before=$(grep -c "IOCTL_ENTER .* cmd=$submit" "$mnt/timeline")
echo rescan >"$mnt/control"
ok "bound anew its ioctls are told" wait_for 20 again
umount_gt "$mnt"
ok "the modules can be unloaded" mock_unload

# Each way tells the same. The backend's tracepoints would hold the mock's modules.
modprobe -qra virtio_gpu # whoever loaded it here before
mock_load || exit 1
told() { [ "$(value "$mnt/backends/bpf/stats" records)" = "$1" ]; }
tally() { # of what is told, but for when, how long, and by whom
	sed -nE 's/.* CPU (IOCTL_[A-Z]*) .*(cmd|result)=([^ ]*).*/\1 \3/p' "$mnt/timeline" | sort | uniq -c
}
by() { # by WAY - mounted, with a run behind it
	printf '[backend bpf]\ntracepoints = 0\nioctl_by = %s\n' "$1" >conf
	mount_gt "$mnt" -o conf=conf,backend=bpf || exit 1
	is "$(n drm_by)" "$1" "$1"
	"$gpujobs" --device 0 --jobs 50 --length-us 10 --ring gfx_0.0.0 --wait --seed 1 >/dev/null
	all() { [ "$(n records)" = $(($(n events) * 2)) ]; }
	wait_for 20 all
	tally >"$1"
	is "$(grep -c . "$1") $(n unended) $(n lost)" "$(grep -c . fentry) 0 0" "$1: all is told"
}
by fentry
like "$(cat fentry)" "50 IOCTL_ENTER $submit" "fentry: each submission"
held() { [ "$(cat /sys/module/drm/refcnt)" -gt "$(ls /sys/module/drm/holders | wc -l)" ]; }
free() { ! held; }
ok "fentry holds drm" held
ok "but not the driver, which goes" mock_unload
ok "then drm is let go" wait_for 20 free
is "$(n drm_by)" "" "as nothing is left to be seen"
mock_load || exit 1
by_fentry() { [ "$(n drm_by)" = fentry ]; }
ok "the driver comes back: it is at its function again" wait_for 20 by_fentry
before=$(n events)
"$gpujobs" --device 0 --jobs 5 --length-us 10 --ring gfx_0.0.0 >/dev/null
more() { [ "$(n events)" -gt $((before + 4)) ]; }
ok "and told" wait_for 20 more
umount_gt "$mnt"

by kprobe
ok "kprobes tell what fentry does" diff fentry kprobe
ok "and hold nothing" wait_for 20 free
# a kretprobe has room for 10 calls at once here
for ((i = 0; i < 14; i++)); do
	"$gpujobs" --device $((i % 2)) --jobs 2 --length-us 1000000 --ring gfx_0.0.0,comp_1.0.0 --seed "$i" --wait >/dev/null &
	waiters[i]=$!
done
wait "${waiters[@]}"
unended() { [ "$(n unended)" -ge 1 ]; }
ok "ends that kprobes could not tell are counted" wait_for 20 unended
ok "the driver goes" mock_unload
umount_gt "$mnt"
mock_load || exit 1
by tracepoint
ok "tracepoints tell what fentry does" diff fentry tracepoint
umount_gt "$mnt"
COUNT=20000 "$GT_SRC/tests/bench/bpf.sh" ioctl >bench.out 2>&1
sed -n 's/^bench/# bench/p' bench.out
is "$(grep -c '^bench bpf.ioctl' bench.out)" 4 "what it costs is measured"

# AMD's compute driver needs no GPU to be asked for its version
if modprobe amdgpu && wait_for 20 test -c /dev/kfd; then
	printf '[backend bpf]\ntracepoints = 0\n' >conf
	mount_gt "$mnt" -o conf=conf,backend=bpf || exit 1
	like "$(cat "$mnt/doctor")" "ioctl_kfd_by kprobe kfd_ioctl$" "kfd_ioctl() has a kprobe"
	echo verbose >"$mnt/config/level"
	version() { python3 -c 'import fcntl; print(fcntl.ioctl(open("/dev/kfd", "rb"), 0x80084b01, bytes(8)).hex())'; }
	if version >/dev/null 2>version.err; then
		told_version() { grep -q "CPU IOCTL_EXIT .* result=0 .*command=KFD_GET_VERSION" "$mnt/timeline"; }
		ok "its ioctls are told" wait_for 20 told_version
	else
		skip_ok "its ioctls are told" "$(tail -n 1 version.err)"
	fi
	ok "amdgpu goes while it has a probe" modprobe -r amdgpu
	modprobe amdgpu
	probed() { [ "$(n kfd_by)" = kprobe ] && version >/dev/null && [ "$(n events)" -gt "$1" ]; }
	before=$(n events)
	[ -s version.err ] || ok "the next one is probed, too" wait_for 20 probed "$before"
	umount_gt "$mnt"
else
	skip_ok "kfd_ioctl() has a kprobe" "this kernel's amdgpu has no compute driver"
fi
done_testing
