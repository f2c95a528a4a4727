#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A tracepoint of the right name with another number of arguments is never hooked by grtrace.ko, and one of a module
# that was not built with this kernel only on demand: grtrace names both in debugfs and once in the kernel's log, relay
# in doctor. bpf and ftrace see by the types that it is another one.
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

modprobe -qr virtio_gpu # its commands and waits are events as well
if [ -d /sys/module/gpu_sched ]; then
	! sched_leaked || skip "this kernel has leaked a fence of gpu_sched, which cannot go"
	rmmod gpu_sched || exit 1
fi

# Instead of the scheduler; before grtrace, and behind it
insmod "$GT_MODULES/othergrt.ko" || exit 1
strange="its module was not built with this kernel"
for order in "is there first" "comes later"; do
	dmesg -C
	if [ "$order" = "comes later" ]; then
		rmmod othergrt
		grt_load && grt_set control start
		insmod "$GT_MODULES/othergrt.ko"
	else
		grt_load && grt_set control start
	fi
	is "$(row drm_run_job)" "drm_run_job othergrt 0 refused it has 1 arguments instead of 2" "$order: too few arguments"
	for t in drm_sched_job drm_sched_process_job drm_sched_job_queue drm_sched_job_run drm_sched_job_done; do
		is "$(row $t)" "$t othergrt 0 unverified $strange" "$order: $t"
	done
	is "$(grep -c '^tracepoint\..*=1' $grt/stats) $(grep tracepoints_ $grt/stats | tr '\n' ' ')" "$(awk '$3 == 1' $grt/tracepoints | wc -l) tracepoints_refused=1 tracepoints_unverified=5 " "$order: stats counts them"
	echo 1000 >/sys/module/othergrt/parameters/fire
	is "$(awk '$2 == "othergrt" && $3' $grt/tracepoints)" "" "$order: none is hooked"
	is "$(grep ^events_seen= $grt/stats)" events_seen=0 "$order: none is seen"
	grt_set control stop
	mount_gt "$mnt" -o backend=sim:relay:bpf:ftrace || exit 1
	cp "$mnt/doctor" doctor.out
	cp "$mnt/backends/relay/stats" relay.out
	umount_gt "$mnt"
	for f in doctor.out relay.out; do
		like "$(cat $f)" "tracepoint_refused drm_run_job of othergrt: it has 1 arguments instead of 2$" "$order: relay names what is refused, $f"
		like "$(cat $f)" "tracepoint_unverified drm_sched_job of othergrt: $strange; grtrace's parameter hook_unverified=1 " "$order: … and what is not verified, $f"
	done
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

# The kernel's own scheduler is hooked, the mock's amdgpu on demand
job() {
	grt_set control start
	"$gpujobs" --jobs 10 --length-us 200 --ring gfx_0.0.0 --wait >/dev/null
	wait_for 20 all_done
	grt_set control stop
}
mock_load && mock_names amdgpu && grt_load || exit 1
set -- $(own_names)
job
is "$(grt_recorded SUBMIT) $(grt_recorded COMMIT) $(grt_recorded COMPLETE)" "10 10 10" "the kernel's own scheduler"
is "$(row "$1")" "$1 gpu_sched 0 fits -" "fits"
is "$(grep ^duplicates $grt/stats)" duplicates=0 "the mock's amdgpu is not hooked"
echo 1 >/sys/module/grtrace/parameters/hook_unverified
job
is "$(grt_recorded SUBMIT) $(grt_recorded COMMIT) $(grt_recorded COMPLETE)" "10 10 10" "on demand it is: each step is recorded once"
is "$(grep ^duplicates $grt/stats)" duplicates=50 "… though it is reported again"
like "$(row amdgpu_cs_ioctl)" "^amdgpu_cs_ioctl mockgpu_amdgpu 0 allowed $strange$" "… and allowed"
mount_gt "$mnt" -o backend=sim:relay || exit 1
unlike "$(cat "$mnt/doctor")" tracepoint_unverified "… for relay, too"
umount_gt "$mnt"
mock_unload_names
for m in virtio_gpu i915 amdgpu; do
	modprobe -q $m || echo "# $m cannot be loaded"
done
grep -v '^#' $grt/tracepoints | sed 's/^/# /'
is "$(awk 'NR > 1 && $4 != "fits"' $grt/tracepoints)" "" "no tracepoint of this kernel and its drivers is refused"
like "$(cat $grt/tracepoints)" "^virtio_gpu_cmd_queue virtio_gpu 0 fits -$" "virtio_gpu's has the arguments of this kernel"
for m in amdgpu i915 virtio_gpu; do
	modprobe -qr $m
done
ok "unloaded" eval 'rmmod grtrace && mock_unload'
done_testing
