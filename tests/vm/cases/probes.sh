#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Events of our own, made from the kernel's types: devices, contexts, timeouts of the scheduler.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"

tracing=/sys/kernel/tracing
dynamic=$tracing/dynamic_events
stats=$mnt/backends/ftrace/stats

own_events() { own_names | sed -E 's|[^ ]+|gpu_scheduler/&|g'; }
ours() { grep -c ":gputrace_$1/" $dynamic; }
all_told() { [ "$(count_rows "$mnt/report")" = "$1" ]; }
daemon_of() { pgrep -f "mount.gputrace $1( |\$)"; }
tracepoints() { sed -n "s/^tracepoint //; T; s/gputrace_[0-9]*/ours/; /dma_fence/!p" "$stats" | sort | paste -sd " "; }
sorted() { printf '%s\n' $1 | sort | paste -sd " "; }

cleanup() {
	mountpoint -q /sys/kernel/btf && umount /sys/kernel/btf
	for e in gt_other/mine gputrace_1/mine; do echo "-:$e" >>$dynamic; done 2>/dev/null
	mock_unload
}

# Two processes, of two users, on rings of the same names
run_jobs() {
	as_user $gpujobs --device 0 --jobs 100 --ring gfx_0.0.0,sdma0 --length-us 200-900 --depth 8 --contexts 2 >jobs0 &
	$gpujobs --device 1 --jobs 100 --ring gfx_0.0.0,sdma0,comp_1.0.1 --length-us 200-900 --depth 8 >jobs1
	wait $!
}

# What is there already: somebody's, one of a live process, one of a dead gputrace
modprobe -qra virtio_gpu amdgpu i915 xe # whoever loaded them here before
modprobe -a fuse gpu-sched
sh -c : &
dead=$!
wait
{
	echo "p:gt_other/mine vfs_read"
	echo "p:gputrace_1/mine vfs_read"
	echo "p:gputrace_$dead/left vfs_read"
} >>$dynamic
ok "the mock is loaded" mock_load timeout_ms=400
mount_gt "$mnt" -o backend=ftrace
pid=$(daemon_of "$mnt")
jobs="ours/drm_sched_job_queue ours/drm_sched_job_run ours/drm_sched_job_done" made=5
waits= # from the same kernel on: why a job waits
if new_names; then jobs=$(own_events) made=2 waits=" gpu_scheduler/drm_sched_job_unschedulable"; fi
errors="ours/drm_sched_job_timedout ours/drm_sched_stop"
is "$(tracepoints)" "$(sorted "$jobs $errors$waits")" "our events are used, and none of those they are made of"
is "$(ours "$dead")" 0 "those of a dead gputrace are gone"
is "$(ours 1)" 1 "those of a live process are there"
is "$(grep -c :gt_other/ $dynamic)" 1 "and other people's"
is "$(cat "$tracing/events/gputrace_$pid/enable")" 0 "they are off outside of our instance"

cat "$mnt/events" >stream &
reader=$!
ok "a reader of the stream" wait_for 20 test -s stream
run_jobs
$gpujobs --device 1 --jobs 3 --hang --depth 3 >jobs2
ok "all jobs end" wait_for 20 all_done
ok "and are reported" wait_for 20 all_told 203
# what waits for the last one is woken behind it
woken() { [ "$(value "$mnt/events_by_type" SYNC_WAIT_EXIT)" = "$(value "$mnt/events_by_type" SYNC_WAIT_ENTER)" ]; }
ok "so are the waits" wait_for 20 woken
read_all() { [ $(($(stat -c %s stream) / 64)) -ge "$(value "$mnt/status" events_recorded)" ]; }
ok "the reader has all" wait_for 20 read_all
kill $reader
cat $truth >truth.txt
cp "$mnt/report" "$mnt/gpus" .
grep -H . "$mnt"/mockgpu*/errors >errors
(cd "$mnt" && grep -H . mockgpu*/ring[0-9]*/name) >names
python_checks "$GT_SRC/tests/vm/cases/probes.py"
cp "$stats" .
is "$(value stats malformed) $(value stats unmatched) $(value stats ignored) $(value stats lost)" "0 0 0 0" "nothing is left over"

# gpu_sched itself stays as long as events are made of its tracepoints
ok "the driver can go" mock_unload

# Killed: what is left goes with the next start
kill -9 "$pid"
ok "the daemon is killed" wait_for 20 gone "$mnt"
is "$(ours "$pid")" $made "its events are left"
umount -l "$mnt"
mount_gt "$mnt" -o backend=ftrace
is "$(ours "$pid") $(ours "$(daemon_of "$mnt")")" "0 $made" "the next start removes them, and makes its own"
umount_gt "$mnt"
is "$(cut -d' ' -f1 $dynamic | paste -sd ' ')" "p:gt_other/mine p:gputrace_1/mine" "in the end only others' are there"

# Somebody looks into the instance
mount_gt "$mnt" -o backend=ftrace
pid=$(daemon_of "$mnt")
exec 7<"$tracing/instances/gputrace-$pid/trace"
umount_gt "$mnt"
is "$(ours "$pid")" 0 "an instance that is held does not keep our events"
exec 7<&-
mount_gt "$mnt" -o backend=ftrace
ok "it goes with the next start" test ! -e "$tracing/instances/gputrace-$pid"
umount_gt "$mnt"

# Turned off: as if there were none
mock_load
printf '[backend ftrace]\nprobes = 0\n' >off.conf
mount_gt "$mnt" -o backend=ftrace,conf="$PWD/off.conf"
like "$(cat "$stats")" "^probe_missing gpu_scheduler/drm_sched_job_timedout: the setting probes is 0" "probes = 0: stats says so"
is "$(tracepoints)" "$(sorted "$(own_events)$waits")" "the kernel's own events are used"
run_jobs
ok "all jobs are reported" wait_for 20 all_told 200
umount_gt "$mnt"

# The newer events are there, beside the old ones, and none of the kernel's types
mock_names
mkdir none
mount --bind none /sys/kernel/btf
mount_gt "$mnt" -o backend=ftrace
like "$(cat "$stats")" "^probe gpu_scheduler/drm_sched_job_queue not needed" "the kernel's own event is preferred"
like "$(tracepoints)" "(^| )gpu_scheduler/drm_sched_job_queue( |$)" "and used"
like "$(cat "$stats")" "^probe_missing gpu_scheduler/drm_sched_job_timedout: .*CONFIG_DEBUG_INFO_BTF" "no types: stats says so"
umount_gt "$mnt"
done_testing
