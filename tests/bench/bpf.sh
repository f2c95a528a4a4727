#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bpf.sh - what BPF costs the program whose events are told, and the daemon. An event map makes a system
# call that the kernel refuses a GPU event: its cost with nobody listening is the floor. A figure above a
# limit of the fifth issue is told, and the exit status is 1.
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
	printf 'limit %-34s %8.1f  (at most %s) %s\n' "$1" "$2" "$3" $good
}
less() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", a - b }'; }
stat_of() { awk -v k="$1" '$1 == k { print $2 }' "$work/gt/backends/bpf/stats"; }
cpu_ms() { awk '{ print ($14 + $15) * 10 }' "/proc/$(pgrep -f "mount.gputrace $work/gt")/stat"; }

mkdir "$work/gt"
calls_maps "$work/maps"
# of the maps only the call that is made: submissions that nobody completes would only fill a table
printf '[map]\ndriver = mock\n\n[syscalls/sys_enter_msync]\nevent = CUSTOM0\nname = call\nvalue = len\nwhere = start & 0x4000000000000000\n\n[initcall/initcall_level]\nevent = CUSTOM1\nname = boot\n' >"$work/maps/calls.ini"

floor=$($pin "$calls" "$count")
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
echo "bench bpf.floor $floor ns a call, traced with nothing told $paused ns, of no interest $none ns, told $interest ns; load $(cut -d' ' -f1 /proc/loadavg)"
limit bpf.no_interest.ns "$(less "$none" "$paused")" 40
limit bpf.record.ns "$(less "$interest" "$paused")" 240 # 150 with matching, 90 for the record
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
exit $bad
