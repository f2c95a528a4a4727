#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace.ko: comes and goes under load, with CPUs and drivers coming and going; a buffer that is too
# small; two sessions. What was read and what was lost is what was done, and the kernel has nothing to
# complain of.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
. "$GT_SRC/tests/lib/grtrace.sh"
cleanup() {
	jobs -p | xargs -r kill 2>/dev/null
	wait
	echo 1 >/sys/devices/system/cpu/cpu1/online
	[ ! -d /sys/module/mockgrt ] || rmmod mockgrt
	[ ! -d /sys/module/grtrace ] || rmmod grtrace
	mock_unload
}
ran() { # ran JOBS [DEVICE] - short ones, and all have ended
	"$gpujobs" --device "${2:-0}" --jobs "$1" --length-us 200-400 --ring $rings --depth 40 >/dev/null
	wait_for 20 all_done
}
bg() { # jobs until it is killed
	again_and_again "$gpujobs" --device "$1" --jobs 500 --length-us 100-300 --ring $rings --depth 40 >/dev/null
}

modprobe -qr virtio_gpu # its commands and waits are events as well
# With a CPU away, that has a buffer when it comes; before the scheduler is there: its tracepoints are found then
echo 0 >/sys/devices/system/cpu/cpu1/online
grt_load || exit 1
is "$(cd $grt && echo events[0-9]*)" "events0" "a file for each CPU that is there"
echo 1 >/sys/devices/system/cpu/cpu1/online
is "$(cd $grt && echo events[0-9]*)" "events0 events1" "and for one that comes"
is "$(cat $grt/control)" "stop" "it does nothing until it is asked to"
grt_set control start
mock_load || exit 1
ran 40
grt_set control stop
is "$(grt_recorded SUBMIT) $(grt_recorded COMMIT) $(grt_recorded COMPLETE)" "40 40 40" "a driver that comes later"
like "$(cat $grt/rings)" "^[0-9]+ COPY sdma0 mockgpu mockgpu.0$" "a ring, its driver and its device"

# The smallest buffer, nobody reads until the end; then with the oldest overwritten
for mode in no-overwrite overwrite; do
	grt_set buffer_mode $mode
	grt_set buffer_size 65536
	grt_set control start
	ran 600
	grt_set control stop
	rm -rf $mode
	grt_read $mode
	cp $grt/stats $mode/stats
	cp $grt/events_by_type $mode/types
done
grt_set buffer_mode no-overwrite
grt_set buffer_size 1048576

# Two sessions in one file; another start while it runs changes nothing
grt_set control start
ran 30
grt_set control start
grt_set control stop
grt_set control start
ran 20
ok "a file that is only read cannot be written" sh -c "! echo 1 >$grt/stats"
grt_set control stop
grt_read sessions
cp $grt/rings sessions/table

# Each call of a driver once, some of them in an interrupt
grt_set level verbose
grt_set control start
insmod "$GT_MODULES/mockgrt.ko"
ok "a driver that calls it holds it" sh -c "! rmmod grtrace"
rmmod mockgrt
grt_set control stop
grt_set level normal
grt_read calls

# A CPU goes and comes under load
grt_set control start
bg 0 & load=$!
for _ in 1 2; do
	grt_set /sys/devices/system/cpu/cpu1/online 0
	grt_read hotplug
	grt_set /sys/devices/system/cpu/cpu1/online 1
	grt_read hotplug
done
many() { grt_read hotplug && [ "$(grt_recorded COMPLETE)" -gt 400 ]; }
wait_for 20 many
grt_set control stop
kill $load; wait $load 2>/dev/null
grt_read hotplug
cp $grt/stats hotplug/stats

# A reader has a file open while the module goes, a driver goes while it is hooked
wait_for 20 all_done
grt_set control start
mock_names amdgpu || exit 1
ran 20
mock_unload || exit 1
if sched_leaked; then
	skip_ok "a driver goes while it is hooked" "this kernel has leaked a fence of gpu_sched"
else
	rmmod gpu_sched && ok "a driver goes while it is hooked" true
fi
mock_load || exit 1
ran 20
grt_set control stop
set -- $(own_names)
like "$(grep "^tracepoint.$2=" $grt/stats)" "=0$" "and is hooked again when it comes back"

# It goes under load, with a file open, and comes again
bg 0 & load=$!
bg 1 & load2=$!
rounds=0
for _ in 1 2 3; do
	exec 7<$grt/events0
	grt_set control start
	wait_for 20 eval '[ "$(grt_recorded COMPLETE)" -gt 100 ]'
	rmmod grtrace || break
	head -c 100 <&7 >/dev/null 2>&1
	exec 7<&-
	grt_load || break
	rounds=$((rounds + 1))
done
is $rounds 3 "unloaded and loaded under load"
kill $load $load2; wait $load $load2 2>/dev/null
ok "unloaded" rmmod grtrace
ok "nothing of it is left" [ ! -e $grt ]
ok "the mock GPU can go" eval 'wait_for 20 all_done && mock_unload'
python_checks "$GT_SRC/tests/vm/cases/grtrace_load.py"
done_testing
