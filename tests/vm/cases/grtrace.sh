#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace.ko tells what the mock GPU did: 10,000 jobs of three processes of two users on two GPUs, under
# the scheduler's own tracepoints, those of before or after Linux 6.17 and amdgpu's at once, so each step is reported up to three
# times and written once. Then levels, and what an event costs beside ftrace and BPF.
# Early
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
. "$GT_SRC/tests/lib/grtrace.sh"
tracing=/sys/kernel/tracing/instances/grt
cleanup() {
	[ ! -d /sys/module/grtrace ] || rmmod grtrace
	[ ! -d $tracing ] || rmdir $tracing
	mock_unload
}

push() { # push JOBS OF EACH PROCESS
	as_uid 1001 "$gpujobs" --device 0 --jobs "$1" --length-us 500-900 --ring $rings --depth 60 --contexts 2 --seed 1 >/dev/null &
	as_uid 1002 "$gpujobs" --device 1 --jobs "$1" --length-us 500-900 --ring $rings --depth 60 --seed 2 >/dev/null &
	as_uid 1001 "$gpujobs" --device 1 --jobs "$1" --length-us 500-900 --ring $rings --depth 60 --seed 3 >/dev/null &
	wait
}

session() { # session FOLDER COMMAND... - what that makes, read
	local to=$1
	shift
	echo 0 >$truth
	grt_set control start
	"$@"
	ok "$to: all jobs have ended" wait_for 30 all_done
	grt_set control stop
	grt_read "$to"
	cat $truth >"$to/truth"
	cat $grt/stats >"$to/stats"
	cat $grt/rings >"$to/rings"
}

modprobe -qr virtio_gpu # its commands and waits are events as well
mock_load || exit 1
grt_load hook_unverified=1 || exit 1 # the mock was not built with this kernel
mock_names amdgpu || exit 1
session all push 3334

# Levels; what is refused changes nothing
ok "a level that is none is refused" sh -c "! echo high >$grt/level"
is "$(cat $grt/level)" normal "and changes nothing"
grt_set level stats
session counted push 20
is "$(cat $grt/level)" stats "a level stays from session to session"
grt_set level normal
python_checks "$GT_SRC/tests/vm/cases/grtrace.py"

# What it costs: the truth has the time before each tracepoint and behind it, once tracers had theirs
cost() { # cost WHO - the truth of jobs one by one
	"$gpujobs" --jobs 20 --wait --ring gfx_0.0.0 --length-us 50 >/dev/null
	echo 0 >$truth
	"$gpujobs" --jobs 100 --wait --ring gfx_0.0.0 --length-us 50 >/dev/null
	wait_for 20 all_done
	cat $truth >"cost.$1"
}
costs() {
	mock_unload_names
	cost none
	grt_set control start
	cost grtrace
	grt_set control stop
	mkdir $tracing
	echo mono >$tracing/trace_clock
	for e in $(own_names); do echo 1 >$tracing/events/gpu_scheduler/$e/enable; done
	cost ftrace
	echo 0 >$tracing/events/enable
	mount_gt "$mnt" -o backend=bpf || exit 1
	cost bpf
	umount_gt "$mnt"
	mount_gt "$mnt" -o backend=bpf,level=stats || exit 1
	cost bpf_stats
	umount_gt "$mnt"
	python_checks "$GT_SRC/tests/vm/cases/grtrace.py" cost
	grep '^# measured' py.out
}
if [ -z "${AGAIN-}" ]; then costs; else skip_ok "what an event costs" "measured on another kernel"; fi
rmmod grtrace && ok "unloaded" mock_unload
done_testing
