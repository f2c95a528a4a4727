#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every tracepoint fired from tasks, softirqs and interrupts at once, nested in one another, with all backends at
# work: the kernel has nothing to complain of, and what was fired is what was counted, lost or left out by the
# kernel, exactly. First while nothing changes, then while settings, daemons, drivers and modules come and go, and
# then again while nothing does.
#
# STRESS_SECONDS: of firing. make test-vm has few, and only some of the changes are made then; make stress many. It
# takes some ten minutes even so, most of them to mount and to load programs in an emulated machine: not in make test.
# Long
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
. "$GT_SRC/tests/lib/grtrace.sh"
. "$GT_SRC/tests/lib/mockrt.sh"
. "$GT_SRC/tests/lib/nvidia.sh"
[ -n "${STRESS_SECONDS-}" ] || skip "takes ten minutes: make test-vm and make stress run it"
seconds=$STRESS_SECONDS
stress=/sys/kernel/debug/mockgpu_stress
by=(bpf ftrace relay)
home=$PWD
nvctl=/dev/nvidiactl
players=()
cleanup() {
	touch "$home/stop"
	[ ! -e $stress/run ] || echo 0 >$stress/run
	[ ${#players[@]} = 0 ] || kill "${players[@]}" 2>/dev/null
	kill_progs
	wait
	for m in mockgpu_stress mockgrt grtrace nvidia; do [ ! -d /sys/module/$m ] || rmmod $m; done
	mock_unload
	rm -f $nvctl
	cd "$home" && mountpoint -q here && umount -l here
}

# What runs meanwhile ------------------------------------------------------------------------------

until_stop() { # with a pause each time: an emulated machine is slow
	while [ ! -e "$home/stop" ]; do
		"$@" || :
		read -rt "$rest" -u "$never" || :
	done
}
jobs_of() { # jobs_of DEVICE SEED [COMMAND...] - jobs of a process, whose lines say how many ioctls these are
	local dev=$1 seed=$2
	shift 2
	"$@" "$gpujobs" --device "$dev" --jobs 100 --ring $rings --length-us 50-900 --depth 12 --contexts 2 --seed "$seed" >/dev/null 2>&1 || return
	echo 202
}
calls_of() { # calls_of PROGRAM FUNCTION N - a line for each N calls
	tell "$1" "$2 $3" && echo "$2 $3"
}
queues_of() { # NVIDIA's hooks
	nv_begin $nvctl && nv alloc 0 0 0xc1d 0x41 0 && nv alloc 0xc1d 0xc1d 0x80 $device 0 || return
	for i in {1..20}; do
		nv alloc 0xc1d 0x80 0xa0 $tsg 0x0b "$i"
		nv alloc 0xc1d 0xa0 0xa00 $channel 0
		nv control 0xc1d 0xa0 $schedule 1
		nv control 0xc1d 0xa00 $get_token 0
		nv free 0xc1d 0xa0
	done
	nv_end
}
driver_of() { # a driver that calls grtrace itself, in an interrupt, too
	insmod "$GT_MODULES/mockgrt.ko" || return
	echo driver 1
	rmmod mockgrt
}
play() { # play - what uses GPUs, until stop_playing
	rm -f "$home/stop"
	until_stop jobs_of 0 1 as_uid 1001 >>jobs.1 & players=($!)
	until_stop jobs_of 1 2 chrt -f 10 >>jobs.2 & players+=($!)
	until_stop calls_of hog hipLaunchKernel 200 >>calls.1 & players+=($!)
	until_stop calls_of mid hipStreamSynchronize 10 >>calls.2 & players+=($!)
	until_stop calls_of top hipMemcpyAsync 20 >>calls.3 & players+=($!)
	until_stop queues_of >/dev/null 2>&1 & players+=($!)
	until_stop driver_of >>calls.4 2>/dev/null & players+=($!)
	echo 1 >$stress/run
}
stop_playing() {
	echo 0 >$stress/run
	touch "$home/stop"
	wait "${players[@]}"
	players=()
}

pace() { # pace TURNS REST - so many in each 100 ms; seconds that others rest between what they do
	echo "$1" >/sys/module/mockgpu_stress/parameters/most
	rest=$2
}

# What is held against what -------------------------------------------------------------------------

snap() { # snap FOLDER - all counters
	local m
	mkdir -p "$1"
	cat $stress/counts >"$1/counts"
	cat $grt/stats >"$1/grtrace"
	for m in "${by[@]}"; do
		cat $m/events_by_type >"$1/$m.types"
		cat $m/status >"$1/$m.status"
		cat $m/backends/$m/stats >"$1/$m.stats"
	done
	cat jobs.* 2>/dev/null >"$1/ioctls"
	cat calls.* 2>/dev/null >"$1/calls"
}
settled() { # nothing is on its way any more: what the kernel skipped is known after a second or two
	rm -rf now
	snap now
	cat now/*.types now/grtrace >now.all
	value now/bpf.stats events_missed >>now.all
	if ! cmp -s now.all was.all; then
		mv now.all was.all
		changed=$SECONDS
	fi
	[ $SECONDS -gt $((changed + 3)) ]
}
still() { # still FOLDER SECONDS - nothing changes
	rm -rf "$1"
	ok "$1: nothing is on its way before it" wait_for 200 settled
	snap "$1/before"
	python3 "$GT_SRC/tests/vm/cases/stress.py" links >"$1/before/links"
	play
	sleep "$2"
	ok "$1: all stop" stop_playing
	ok "$1: nothing is on its way behind it" wait_for 200 settled
	snap "$1/after"
	python3 "$GT_SRC/tests/vm/cases/stress.py" links >"$1/after/links"
	python_checks "$GT_SRC/tests/vm/cases/stress.py" exact "$1"
}

# What changes --------------------------------------------------------------------------------------

set_all() { local m; for m in "${by[@]}"; do echo "$2" >$m/"$1"; done; }
put() { # put FILE VALUE - a setting that takes longer than a write may is made all the same
	local why
	[[ $1 != */config/* ]] || [ "$(cat "$1")" != "$2" ] || return 0
	why=$({ echo "$2" >"$1"; } 2>&1) || { [[ $1 == */config/* ]] && [[ $why == *"timed out"* || $why == *"in progress"* ]]; }
}
surely() { # surely FILE VALUE - of all, when they have done what came before
	local m
	for m in "${by[@]}"; do ok "$m: $1 is $2" wait_for 300 put "$m/$1" "$2"; done
}
change() { # change NTH
	case $(($1 % 16)) in
	0) set_all config/level off ;;
	1) echo normal >bpf/config/level ;;
	2) set_all config/level verbose ;;
	3) echo stats >bpf/config/level ;;
	4) set_all config/buffer_size 65536 ;;
	5) set_all config/level normal ;;
	6) set_all control clear ;;
	7) echo "" >bpf/backends/bpf/runtimes ;;
	8) set_all control rescan ;;
	9) echo hip >bpf/backends/bpf/runtimes ;;
	10) set_all config/buffer_size 4194304 ;;
	11) # unless a driver holds it just now
		rmmod grtrace && grt_load hook_unverified=1
		;;
	12) rmmod mockgpu_amdgpu && insmod "$GT_MODULES/mockgpu_amdgpu.ko" ;;
	13) mock_unbind 1 && mock_bind 1 ;;
	14) rmmod nvidia && insmod "$GT_MODULES/nvidia.ko" ;;
	15) # another daemon beside them
		mount_gt "$PWD/second" -o backend=bpf:ftrace && cat second/status >/dev/null && umount_gt "$PWD/second"
		;;
	esac
	changes=$((changes + 1))
}
changing() { # changing SECONDS
	local end=$((SECONDS + $1)) i=0 least=16
	# where there is no time for all each kernel has others
	[ "$seconds" -gt 24 ] || { i=$(($(uname -r | cksum | cut -d ' ' -f 1) % 15)) && least=$((i + 1)); }
	changes=0 up=$(cut -d . -f 1 /proc/uptime)
	pace 20 1 # daemons are to keep up with their settings
	play
	while [ $SECONDS -lt $end ] || [ $i -lt $least ]; do
		echo "$i at $(cut -d ' ' -f 1 /proc/uptime)" >>change.log
		change $i >>change.log 2>&1
		i=$((i + 1))
	done
	ok "changing: all stop" stop_playing
	echo "# measured stress: $changes changes, $(($(cut -d . -f 1 /proc/uptime) - up)) s"
}

# --------------------------------------------------------------------------------------------------

complaints() { # what the kernel says that is no matter of course: a machine that is emulated is slow
	dmesg -l emerg,alert,crit,err,warn | sed "0,/$from_here/d" | grep -vE \
		'loading out-of-tree module|Automounting of tracing|mockgrt: Unknown symbol|module verification failed|hrtimer: interrupt took|perf: interrupt took|RT throttling activated|clocksource:|TSC found unstable|NMI handler .* took too long'
	dmesg | grep -Ef "$GT_SRC/tests/vm/complaints"
}

[ "$(nproc)" -ge 2 ] || skip "for two CPUs"
from_here='gputrace: the stress begins'
echo "<4>$from_here" >/dev/kmsg
echo 1 >/proc/sys/kernel/panic_on_oops
[ ! -w /sys/kernel/debug/sched/preempt ] || echo full >/sys/kernel/debug/sched/preempt
modprobe -qr virtio_gpu # its commands and waits are events as well
modprobe fuse
ok "the mock GPU, grtrace, NVIDIA's mock and who fires are loaded" \
	eval 'mock_load truth_max=1 && grt_load hook_unverified=1 && insmod "$GT_MODULES/nvidia.ko" && insmod "$GT_MODULES/mockgpu_stress.ko"' || exit 1
mknod -m 666 $nvctl c 195 255
# What the guest has from its host is on a file system of the network, where no probe is put
mkdir here
mount -t tmpfs tmpfs here && cd here || exit 1
mkdir lib
build HIP libamdhip64.so.6 && gcc -O2 -o calls "$GT_SRC/tests/mockrt/calls.c" -ldl || skip "no compiler"
prog hog "$PWD/lib/libamdhip64.so.6"
prog mid "$PWD/lib/libamdhip64.so.6" chrt -f 5
prog top "$PWD/lib/libamdhip64.so.6" chrt -f 20
for m in "${by[@]}"; do mount_gt "$PWD/$m" -o "backend=$m:sysfs" || exit 1; done
mnt=$PWD/bpf
ok "the calls of runtimes are reported" eval 'echo hip >bpf/backends/bpf/runtimes && wait_for 200 stat_is libraries 1'
echo 1 >/proc/sys/kernel/bpf_stats_enabled

pace 150 0.3
still alone $((seconds / 4))
# the scheduler's other names, and amdgpu's beside them
mock_names amdgpu || exit 1
surely control rescan
changing $((seconds / 2))
surely config/level normal
surely config/buffer_size 4194304
ok "the calls of runtimes are recorded" eval 'wait_for 100 put bpf/backends/bpf/runtimes hip && wait_for 200 stat_is libraries 1'
surely control clear
pace 150 0.3
still again $((seconds / 4))
for m in "${by[@]}"; do umount_gt "$PWD/$m"; done
echo 0 >/proc/sys/kernel/bpf_stats_enabled
is "$(complaints)" "" "the kernel has nothing to complain of"
done_testing
