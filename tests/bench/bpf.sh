#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bpf.sh - what BPF costs a program that causes events, and the daemon. An event map makes a system
# call that the kernel refuses a GPU event: its cost with nobody listening is the floor. A figure above its
# limit is reported, and the exit status is 1.
#
# bpf.sh ioctl - only what an ioctl costs more, where there is a GPU to ask (in a guest the mock): one on no
# GPU, one of no interest, one that is reported, for each way in which they are reported. An emulated machine's
# times are no machine's: what counts is how many times the call without us that is. In a guest:
#
#	GT_OUT=$PWD/.output GT_MODULES=$GT_OUT/vm/RELEASE/modules tests/vm/boot.sh RELEASE tests/bench/bpf.sh ioctl
set -u
O=$(readlink -f "${O:-.output}")
. "$(dirname "$0")/../lib/calls.sh"
work=$(mktemp -d)
bad=0
calls=$O/tests/bench/calls
pin="taskset -c $(($(nproc) - 1))"
count=${COUNT:-1000000}

end() {
	mountpoint -q "$work/gt" && umount "$work/gt"
	rm -rf --one-file-system "$work"
}
trap end EXIT

limit() { # limit NAME VALUE LIMIT
	local good=ok
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(a <= b) }' || { good=MISSED; bad=1; }
	printf 'limit %-34s %8.2f  (at most %s) %s\n' "$1" "$2" "$3" $good
}
less() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", a - b }'; }
stat_of() { awk -v k="$1" '$1 == k { print $2 }' "$work/gt/backends/bpf/stats"; }
cpu_ms() { awk '{ print ($14 + $15) * 10 }' "/proc/$(pgrep -f "mount.gputrace $work/gt ")/stat"; }

ioctl_costs() { # prints ns of the three
	local gpu=$1
	echo "$($pin "$calls" "$count" ioctl /dev/null 0x541b)" \
		"$($pin "$calls" "$count" ioctl "$gpu" 0xc0406400)" \
		"$($pin "$calls" "$count" ioctl "$gpu" 0xc0386441)" # FIONREAD, DRM_IOCTL_VERSION, a driver's own
}
added() { # added FLOOR NS
	awk -v a="$2" -v b="$1" 'BEGIN { printf "%+.1f ns (%.2f times)", a - b, a / b }'
}
settings() { # how long a write takes while events come as fast as may be, with a program at each of many tracepoints
	local e i t load file value
	{
		cat "$work/maps/calls.ini"
		for e in /sys/kernel/tracing/events/syscalls/sys_enter_{a,c,s}*; do
			printf '\n[syscalls/%s]\nevent = COUNTER\nwhere = __syscall_nr == 100000\n' "${e##*/}"
		done | head -n 120
	} >"$work/maps/many.ini"
	rm "$work/maps/calls.ini"
	"$O/sbin/mount.gputrace" "$work/gt" -o "events_dir=$work/maps,backend=bpf" || return
	echo "bench bpf.settings: $(stat_of tracepoints) tracepoints, each write 40 times"
	(while :; do $pin "$calls" 1000000 interest; done) >/dev/null & load=$!
	for e in level:off:normal level:stats:verbose control:stop:start control:rescan:rescan buffer_size:65536:4194304; do
		file=config/${e%%:*}
		[ "$file" != config/control ] || file=control
		for i in {1..40}; do
			for value in $(echo "${e#*:}" | tr : ' '); do
				t=${EPOCHREALTIME/./}
				echo "$value" >"$work/gt/$file" || { echo "$file: $value is refused"; bad=1; }
				echo "$value $(((${EPOCHREALTIME/./} - t) / 10))"
			done
		done | sort -k 1,1 -k 2,2n >"$work/times"
		for value in $(echo "${e#*:}" | tr : '\n' | sort -u); do
			# shellcheck disable=SC2046
			limit "bpf.settings.$value.p99.ms" $(awk -v v="$value" '$1 == v { t[n++] = $2 } END { print t[int((n - 1) * .99)] / 100 }' "$work/times") 1000
		done
	done
	kill $load
	wait $load 2>/dev/null
	echo "bench bpf.settings.lost $(stat_of tracepoint_lost)"
	umount "$work/gt"
	while pgrep -f "mount.gputrace $work/gt " >/dev/null; do sleep 0.1; done
}
ioctls() {
	local gpu floor now way
	gpu=$(ls /dev/dri/renderD* 2>/dev/null | head -n 1)
	if [ -z "$gpu" ] && [ "${GT_GUEST-}" = 1 ]; then
		modprobe -a fuse gpu-sched && insmod "$GT_MODULES/mockgpu.ko" && gpu=$(ls /dev/dri/renderD* | head -n 1)
	fi
	[ -n "$gpu" ] || { echo "no GPU here whose ioctls could be measured"; return; }
	read -ra floor < <(ioctl_costs "$gpu")
	echo "bench bpf.ioctl.floor on no GPU ${floor[0]} ns, of no interest ${floor[1]} ns, reported ${floor[2]} ns"
	for way in fentry kprobe tracepoint; do
		printf '[backend bpf]\ntracepoints = 0\nioctl_by = %s\n' $way >"$work/conf"
		"$O/sbin/mount.gputrace" "$work/gt" -o "conf=$work/conf,backend=bpf" || continue
		if [[ $(stat_of ioctl_drm_by) = $way* ]]; then
			read -ra now < <(ioctl_costs "$gpu")
			echo "bench bpf.ioctl.$way on no GPU $(added "${floor[0]}" "${now[0]}"), of no interest $(added "${floor[1]}" "${now[1]}"), reported $(added "${floor[2]}" "${now[2]}")"
			[ -n "${GT_GUEST-}" ] || [ $way = tracepoint ] ||
				limit "bpf.ioctl.$way.no_interest.ns" "$(less "${now[1]}" "${floor[1]}")" 40
		else
			echo "bpf.ioctl.$way is not to be had here: $(grep ioctl_drm_by "$work/gt/backends/bpf/stats")"
		fi
		umount "$work/gt"
		while pgrep -f "mount.gputrace $work/gt" >/dev/null; do sleep 0.1; done
	done
}

mkdir "$work/gt"
if [ "${1-}" = ioctl ]; then
	ioctls
	exit $bad
fi
calls_maps "$work/maps"
# of the maps only the call that is made: submissions that nobody completes would only fill a table
printf '[map]\ndriver = mock\n\n[syscalls/sys_enter_msync]\nevent = CUSTOM0\nname = call\nvalue = len\nwhere = start & 0x4000000000000000\n\n[initcall/initcall_level]\nevent = CUSTOM1\nname = boot\n' >"$work/maps/calls.ini"

floor=$($pin "$calls" "$count")
id=$(cat /sys/kernel/tracing/events/syscalls/sys_enter_msync/id 2>/dev/null) || { echo "bench bpf: not here"; exit 0; }
bare=$("$O/tests/bench/bare" "$id" $pin "$calls" "$count")
"$O/sbin/mount.gputrace" "$work/gt" -o "events_dir=$work/maps,backend=bpf" || exit 0
[ "$(stat_of tracepoints)" = 2 ] || { echo "bench bpf: not here"; exit 0; }

# a system call that is traced at all leaves the kernel's fast way: that is the tracepoint's cost, not ours
echo stop >"$work/gt/control"
paused=$($pin "$calls" "$count")
echo start >"$work/gt/control"
none=$($pin "$calls" "$count")
before=$(cpu_ms) n=$(stat_of tracepoint_records)
interest=$($pin "$calls" "$count" interest)
sleep 0.2
records=$(($(stat_of tracepoint_records) - n)) ns=$((($(cpu_ms) - before) * 1000000))
echo "bench bpf.floor $floor ns a call, traced with nothing reported $paused ns, of no interest $none ns, reported $interest ns; load $(cut -d' ' -f1 /proc/loadavg)"
limit bpf.no_interest.ns "$(less "$none" "$paused")" 40
echo "bench bpf.bare $bare ns a call, with a program that only submits 64 bytes"
limit bpf.record.ns "$(less "$interest" "$paused")" 240
limit bpf.record.to_bare "$(awk -v f="$floor" -v b="$bare" -v r="$interest" 'BEGIN { printf "%.2f", b > f ? (r - f) / (b - f) : 99 }')" 2
echo "bench bpf.daemon $((ns / (records ? records : 1))) ns CPU a record, with decoding, model and history, of $records"
echo "bench bpf.lost $(stat_of tracepoint_lost) of $count as fast as may be"

# at a rate: what the daemon needs, and whether all comes
for rate in 10000 100000; do
	c=$(cpu_ms) l=$(stat_of tracepoint_lost)
	$pin "$calls" $rate interest $rate >/dev/null
	sleep 0.2
	echo "bench bpf.rate $rate/s: daemon $(($(cpu_ms) - c)) ms CPU in 1 s, lost $(($(stat_of tracepoint_lost) - l))"
done
a=$(cpu_ms)
sleep 2
limit bpf.idle.cpu_ms "$(($(cpu_ms) - a))" 0
umount "$work/gt"
while pgrep -f "mount.gputrace $work/gt " >/dev/null; do sleep 0.1; done

settings

# jobs, where nobody records and where somebody does
calls_maps "$work/maps" 0000:00:01.0
floor=$($pin "$calls" "$count" jobs)
"$O/sbin/mount.gputrace" "$work/gt" -o "events_dir=$work/maps,backend=bpf,level=stats" || exit 1
echo stop >"$work/gt/control"
paused=$($pin "$calls" "$count" jobs)
echo start >"$work/gt/control"
unrecorded=$($pin "$calls" "$count" jobs)
completed() { awk '$2 ~ /^ring/ { n += $8 } END { print n + 0 }' "$work/gt/rings"; }
sleep 0.3
echo "bench bpf.jobs floor $floor ns a call, traced with nothing reported $paused ns, at level stats $unrecorded ns"
for rate in 0 10000 100000 1000000; do
	c=$(cpu_ms) b=$(completed)
	if [ $rate = 0 ]; then sleep 1; else $pin "$calls" $rate jobs $rate >/dev/null; fi
	echo "bench bpf.jobs.rate $rate/s: daemon $(($(cpu_ms) - c)) ms CPU in 1 s, jobs $(($(completed) - b)), lost $(stat_of tracepoint_lost)"
done
echo normal >"$work/gt/config/level"
reported=$($pin "$calls" "$count" jobs)
sleep 1
echo "bench bpf.jobs.recorded $reported ns a call, lost $(stat_of tracepoint_lost) records of $count as fast as may be; jobs $(completed)"
umount "$work/gt"
while pgrep -f "mount.gputrace $work/gt " >/dev/null; do sleep 0.1; done
ioctls
exit $bad
