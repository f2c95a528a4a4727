#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Recordings show the same numbers as an independent computation, under any setting.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
jobs="python3 $GT_SRC/tests/lib/jobs.py"

$jobs generate 7 >invented.txt
files=(invented.txt)
sample=$GT_SRC/../shared/samples/ftrace/gpuvis/amdgpu_4.11_gpu_events_rendered.txt
if [ -f "$sample" ]; then files+=("$sample"); else skip_ok "the real 4.11 recording" "../shared is not here"; fi

for f in "${files[@]}"; do
	n=$(basename "$f")
	for sampling in 100 25 0; do
		mount_gt "$mnt" -o replay="$f",sampling=$sampling || exit 1
		gpu=$(awk '!/^#/ { print $1; exit }' "$mnt/gpus")
		ok "$n: as computed, sampling $sampling" $jobs compare "$f" "$mnt/$gpu"
		rows=$(grep -vc '^#' "$mnt/report")
		all=$(awk '/^exec count/ { sub("count=", "", $2); n += $2 } END { print n + 0 }' "$mnt/$gpu"/ring*/latency)
		case $sampling in
		100) is "$rows" "$all" "$n: every job is in the report" ;;
		25) ok "$n: a quarter of the jobs is in the report ($rows of $all)" [ "$rows" -gt $((all / 8)) -a "$rows" -lt $((all / 2)) ] ;;
		0) is "$rows" 0 "$n: no job is in the report" ;;
		esac
		ok "$n: the sum of what was seen is exact" python3 - "$mnt/status" <<'P'
import sys
s = dict(l.split() for l in open(sys.argv[1]) if len(l.split()) == 2)
parts = [k for k in s if k.startswith(('events_recorded', 'events_filtered', 'events_sampled', 'events_rate', 'events_lost'))]
total = sum(int(s[k]) for k in parts)
assert int(s['events_seen']) == total, (s['events_seen'], {k: s[k] for k in parts})
P
		umount_gt "$mnt"
	done
done
[ ${#files[@]} = 1 ] || {
	mount_gt "$mnt" -o replay="$sample"
	gpu=$(awk '!/^#/ { print $1; exit }' "$mnt/gpus")
	is "$(stage "$mnt/$gpu/by-name/gfx/latency" exec count)" 639 "639 jobs on gfx"
	umount_gt "$mnt"
}

# what a tree says, without what differs by the clock's resolution
shape() { # shape MNT
	local g r
	for g in $(awk '!/^#/ { print $1 }' "$1/gpus"); do
		for r in "$1/$g"/ring*; do
			echo "$g ${r##*/} $(cat "$r/name") $(cat "$r/engine") $(awk '/count=/ { print $1, $2 }' "$r/latency" | tr '\n' ' ')"
		done
		ls "$1/$g/proc" | tr '\n' ' '
		echo
	done
	for p in "$1"/proc/*; do echo "${p##*/} $(cat "$p/comm")"; done
}
samples=$GT_SRC/../shared/samples/guest
for k in 6.1 6.12; do
	[ -d "$samples/$k" ] || { skip_ok "guest recording $k" "../shared is not here"; continue; }
	mount_gt "$mnt" -o replay="$samples/$k/trace.dat" && shape "$mnt" >dat.$k && umount_gt "$mnt"
	mount_gt "$mnt" -o replay="$samples/$k/trace.dat.txt" && shape "$mnt" >txt.$k && umount_gt "$mnt"
	ok "$k: trace.dat and its text give the same tree" diff dat.$k txt.$k
	ok "$k: it has jobs" grep -q 'exec count=[1-9]' dat.$k
	runs=$(grep -cE ': (drm_run_job):' "$samples/$k/trace.dat.txt")
	is "$(grep -o 'exec count=[0-9]*' dat.$k | awk -F= '{ n += $2 } END { print n }')" "$(grep -c drm_sched_process_job: "$samples/$k/trace.dat.txt")" "$k: each job once ($runs runs)"
done

# text of the function tracer: calls, by function and process, as another program counts them
counted() { # counted FILE: calls by function and process, which an interrupt has none of
	sed -nE 's/^.*-([0-9]+) +\[[0-9]+\] +([^ ]+) +[0-9]+\.[0-9]+: (function: +)?([A-Za-z_][A-Za-z0-9_.]*) <--? ?[A-Za-z_].*/\2 \4 \1/p' "$1" |
		awk '{ print $2, substr($1, 3, 1) ~ /[hHs]/ ? "-" : $3 }' | sort | uniq -c
}
shown() {
	awk '$3 == "FUNCTION" { f = p = "-"
		for (i = 4; i <= NF; i++) { if ($i ~ /^pid=/) p = substr($i, 5); if ($i ~ /^function=/) f = substr($i, 10) }
		print f, p }' "$mnt/timeline" | sort | uniq -c
}
awk 'BEGIN { print "# tracer: function"
	for (i = 0; i < 300; i++)
		printf "%16s-%-5d %s%s %10.6f: %s%s_%d %s drm_%d\n", i % 2 ? "prog" : "a b-1", 100 + i % 4, i % 3 ? "[001] " : "[000] ", i % 11 ? "....." : "d.h1.", 5 + i / 1000,
			i % 5 ? "" : "function:             ", "amdgpu_fn", i % 7, i % 5 ? "<-" : "<--", i }' >calls.txt
for f in calls.txt "$samples"/6.1/function.*.txt; do
	[ -f "$f" ] || { skip_ok "the guest's function tracer" "../shared is not here"; continue; }
	mount_gt "$mnt" -o replay="$f" || exit 1
	is "$(shown)" "$(counted "$f")" "${f##*/}: calls by function and process"
	is "$(awk '$1 == "FUNCTION" { print $2 }' "$mnt/events_by_type")" "$(grep -cE '<--? ?[A-Za-z_]' "$f")" "… all of them"
	umount_gt "$mnt"
done

printf '%s\n' '# tracer: nop' '          <idle>-0     [003] d... 1.000001: sched_switch: prev_comm=a prev_pid=0' >other.txt
mount_gt "$mnt" -o replay=other.txt
like "$(cat "$mnt/doctor")" "other.txt: has no event that an event map names" "a recording of other things says why the tree is empty"
umount_gt "$mnt"

# Nobody ever writes to it, and it is not waited for
mkfifo pipe
"$GT_PROG" "$mnt" -o replay=pipe 2>err && mounts+=("$mnt")
like "$(cat err)" "pipe: is not a regular file" "a FIFO is no recording"

# a stream saved from events is a recording
mount_gt "$mnt" -o backend=sim || exit 1
echo stop >"$mnt/control"
timeout 30 cat "$mnt/events" >saved & saver=$!
wait_for 20 test -s saved
echo start >"$mnt/control"
more() { [ "$(stat -c %s saved)" -gt 200000 ]; }
wait_for 30 more
kill $saver
wait $saver 2>/dev/null
umount_gt "$mnt"
mount_gt "$mnt" -o replay=saved
completes=$(python3 -c "
d = open('saved', 'rb').read()
print(sum(1 for i in range(0, len(d) - 63, 64) if d[i + 8] == 1))")
is "$(awk '$1 == "COMPLETE" { print $2 }' "$mnt/events_by_type")" "$completes" "a saved stream replays every record"
is "$(awk '!/^#/ { print $1; exit }' "$mnt/gpus")" sim0 "… with its GPU's name"
umount_gt "$mnt"
head -c 100000 saved >cut
mount_gt "$mnt" -o replay=cut
like "$(cat "$mnt/backends/replay/last_error")" "cut" "a stream cut inside a record says so"
umount_gt "$mnt"
mount_gt "$mnt" -o replay="$GT_SRC/tests/data/replay/sched_6.12.txt",speed=0.01 || exit 1
ok "a replay does not go back" sh -c "! echo 'seek -1s' 2>/dev/null >$mnt/control"
like "$(cat "$mnt/last_cmd_status")" 'forward only' "… and says why"
umount_gt "$mnt"
done_testing
