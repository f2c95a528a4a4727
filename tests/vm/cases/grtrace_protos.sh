#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A tracepoint of the right name with other arguments, or with other structures behind them: grtrace.ko
# does not hook it, and names it in debugfs and once in the kernel's log; relay, bpf and ftrace name it
# in doctor. One whose arguments cannot be checked is hooked only on demand.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
. "$GT_SRC/tests/lib/grtrace.sh"
cleanup() {
	local m
	for m in grtrace othergrt othergrt_old; do
		[ ! -d /sys/module/$m ] || rmmod $m
	done
	mock_unload
}
row() { # row TRACEPOINT - what grtrace says of it
	grep "^$1 " $grt/tracepoints
}
logged() { # logged TRACEPOINT - lines of the kernel's log
	dmesg | grep -c "grtrace: tracepoint $1 of "
}
fire() {
	echo "$1" >/sys/module/othergrt/parameters/fire
}

modprobe -qr virtio_gpu # its commands and waits are events as well
if [ -d /sys/module/gpu_sched ]; then
	! sched_leaked || skip "this kernel has leaked a fence of gpu_sched, which cannot go"
	rmmod gpu_sched || exit 1
fi

# Instead of the scheduler; before grtrace, and behind it
insmod "$GT_MODULES/othergrt.ko" || exit 1
for order in "is there first" "comes later"; do
	dmesg -C
	if [ "$order" = "comes later" ]; then
		rmmod othergrt
		grt_load && grt_set control start
		insmod "$GT_MODULES/othergrt.ko"
	else
		grt_load && grt_set control start
	fi
	is "$(row drm_sched_job)" "drm_sched_job othergrt 0 refused argument 1 is no pointer to a struct drm_sched_job" "$order: arguments in another order"
	is "$(row drm_run_job)" "drm_run_job othergrt 0 refused it has 1 arguments instead of 2" "$order: too few"
	is "$(row drm_sched_process_job)" "drm_sched_process_job othergrt 0 refused argument 1 is no pointer to a struct drm_sched_fence" "$order: a number"
	like "$(row drm_sched_job_queue)" "^drm_sched_job_queue othergrt 0 refused struct drm_sched_job has s_fence, 8 bytes, at 24 instead of 8 bytes at [0-9]+$" "$order: members elsewhere"
	is "$(row drm_sched_job_run)" "drm_sched_job_run othergrt 0 refused argument 2 is no pointer to a struct drm_sched_entity" "$order: the second argument"
	is "$(row drm_sched_job_done)" "drm_sched_job_done othergrt 0 refused argument 1 is no pointer to a struct drm_sched_fence" "$order: another struct"
	is "$(grep -c '^tracepoint\..*=1' $grt/stats) $(grep tracepoints_ $grt/stats | tr '\n' ' ')" "$(awk '$3 == 1' $grt/tracepoints | wc -l) tracepoints_refused=6 tracepoints_unverified=0 " "$order: stats counts them"
	echo 1 >/sys/module/grtrace/parameters/hook_unverified
	grt_set control stop
	grt_set control start
	fire 1000
	is "$(awk '$2 == "othergrt" && $3' $grt/tracepoints)" "" "$order: none is hooked, not even on demand"
	is "$(grep ^events_seen= $grt/stats)" events_seen=0 "$order: none is seen"
	grt_set control stop
	mount_gt "$mnt" -o backend=sim:relay:bpf:ftrace || exit 1
	cp "$mnt/doctor" doctor.out
	cp "$mnt/backends/relay/stats" relay.out
	umount_gt "$mnt"
	for f in doctor.out relay.out; do
		like "$(cat $f)" "tracepoint_refused drm_sched_job of othergrt: argument 1 is no pointer to a struct drm_sched_job$" "$order: relay names it, $f"
	done
	grt_set control start
	for t in drm_sched_job drm_run_job drm_sched_process_job drm_sched_job_queue drm_sched_job_run drm_sched_job_done; do
		is "$(logged $t)" 1 "$order: the kernel's log names $t once"
	done
	rmmod grtrace
done
rmmod othergrt

# bpf and ftrace: the arguments and the records of the old names, of which the new ones would be made
dmesg -C
insmod "$GT_MODULES/othergrt_old.ko" || exit 1
for b in bpf ftrace; do
	mount_gt "$mnt" -o backend=sim:$b || exit 1
	cp "$mnt/doctor" doctor.out
	[ $b = bpf ] && no="" || no="another gpu_scheduler/drm_sched_job: "
	like "$(cat doctor.out)" "probe_missing gpu_scheduler/drm_sched_job_queue: $no.fence is no pointer to a struct dma_fence$" "$b names what it does not make an event of"
	[ $b = ftrace ] || like "$(cat doctor.out)" "gpu_scheduler/drm_(sched|run)_job: .*" "$b names what it does not attach to"
	echo 1000 >/sys/module/othergrt_old/parameters/fire
	grep -E 'gpu_scheduler/' doctor.out | sed 's/^/# /'
	umount_gt "$mnt"
done
rmmod othergrt_old

# Without types: only how many arguments there are is known, and the real ones are hooked on demand
objcopy -R .BTF "$GT_MODULES/othergrt.ko" othergrt.ko
insmod ./othergrt.ko || exit 1
grt_load || exit 1
is "$(row drm_sched_job)" "drm_sched_job othergrt 0 unverified no types in /sys/kernel/btf/othergrt" "no types"
is "$(row drm_run_job)" "drm_run_job othergrt 0 refused it has 1 arguments instead of 2" "no types, another number of arguments"
grt_set control start
fire 1000
is "$(grep ^events_seen= $grt/stats)" events_seen=0 "no types: none is hooked"
rmmod grtrace && rmmod othergrt
objcopy -R .BTF "$(modinfo -n gpu-sched)" gpu-sched.ko
modprobe -a $(modinfo -F depends gpu-sched | tr , ' ') drm
insmod ./gpu-sched.ko || exit 1
grt_load || exit 1
mock_load || exit 1
grt_set control start
job() {
	"$gpujobs" --jobs 10 --length-us 200 --ring gfx_0.0.0 --wait >/dev/null
	wait_for 20 all_done
}
job
is "$(grt_recorded SUBMIT)" 0 "the scheduler without types is not hooked"
like "$(grep ^tracepoints_unverified $grt/stats)" "=[3-9]$" "and counted"
grt_set control stop
echo 1 >/sys/module/grtrace/parameters/hook_unverified
grt_set control start
job
is "$(grt_recorded SUBMIT) $(grt_recorded COMMIT) $(grt_recorded COMPLETE)" "10 10 10" "but on demand"
grt_set control stop
rmmod grtrace && mock_unload && rmmod gpu_sched

# With them it is hooked
mock_load && grt_load || exit 1
grt_set control start
job
is "$(grt_recorded SUBMIT) $(grt_recorded COMMIT) $(grt_recorded COMPLETE)" "10 10 10" "the scheduler with types"
like "$(cat $grt/tracepoints)" "^drm_[a-z_]* gpu_sched 1 fits -$" "fits"
grt_set control stop
for m in virtio_gpu i915 amdgpu; do
	modprobe -q $m || echo "# $m cannot be loaded"
done
grep -v '^#' $grt/tracepoints | sed 's/^/# /'
is "$(awk 'NR > 1 && $4 != "fits"' $grt/tracepoints)" "" "no tracepoint of this kernel and its drivers is refused"
like "$(cat $grt/tracepoints)" "^virtio_gpu_cmd_queue virtio_gpu 0 fits -$" "of virtio_gpu's two prototypes it has one"
for m in amdgpu i915 virtio_gpu; do
	modprobe -qr $m
done
ok "unloaded" eval 'rmmod grtrace && mock_unload'
done_testing
