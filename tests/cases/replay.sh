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
		gpu=$(awk 'NR > 1 { print $1; exit }' "$mnt/gpus")
		ok "$n: as computed, sampling $sampling" $jobs compare "$f" "$mnt/$gpu"
		rows=$(count_rows "$mnt/report")
		all=$(awk '$1 == "completed" { n += $2 } END { print n + 0 }' "$mnt/$gpu"/ring*/stats)
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
	gpu=$(awk 'NR > 1 { print $1; exit }' "$mnt/gpus")
	is "$(stage "$mnt/$gpu/by-name/gfx/latency" total count)" 639 "639 jobs on gfx"
	is "$(stage "$mnt/$gpu/by-name/gfx/latency" exec count)" 638 "… of which one began when is not known"
	umount_gt "$mnt"
}

# what a tree says, without what differs by the clock's resolution
shape() { # shape MNT
	local g r
	for g in $(awk 'NR > 1 { print $1 }' "$1/gpus"); do
		for r in "$1/$g"/ring[0-9]*; do
			echo "$g ${r##*/} $(cat "$r/name") $(cat "$r/engine") $(awk 'NR > 1 { print $1, $2 }' "$r/latency" | tr '\n' ' ')"
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
	ok "$k: it has jobs" grep -q 'exec [1-9]' dat.$k
	runs=$(grep -cE ': (drm_run_job):' "$samples/$k/trace.dat.txt")
	is "$(grep -o 'exec [0-9]*' dat.$k | awk '{ n += $2 } END { print n }')" "$(grep -c drm_sched_process_job: "$samples/$k/trace.dat.txt")" "$k: each job once ($runs runs)"
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

# What was left out stays in stats and doctor after the end, with the place of the first damage
stat_of() { awk -v k="$2" '$1 == k { print $2 }' "$mnt/backends/$1/stats"; }
awk 'NR == 20 { for (i = 0; i < 500; i++) print "garbage", i, "\x01" } { print } NR == 9 { print "# a comment" }' "$GT_SRC/tests/data/replay/sched_6.12.txt" >garbage.txt
mount_gt "$mnt" -o replay=garbage.txt 2>err || exit 1
like "$(cat err)" "garbage.txt: line 21 is no ftrace text" "the mount warns of a damaged recording"
wait_for 20 grep -q ended "$mnt/backends/replay/state"
is "$(stat_of replay file0_damaged)" 500 "each line of garbage is counted, after the end too"
is "$(stat_of replay file0_damaged_first_line)" "$(grep -an -m1 garbage garbage.txt | cut -d: -f1)" "… with the first one's number"
is "$(($(stat_of replay file0_used) + $(stat_of replay file0_skipped_other_tracepoints) + $(stat_of replay file0_skipped_without_record)))" "$(stat_of replay file0_events)" "events are used, or skipped"
is "$(stat_of replay file0_events)" "$(grep -acE '^ .*\] .*[0-9]: [a-z_]+: ' garbage.txt)" "all events are counted"
is "$(stat_of replay file0_skipped_comments)" "$(grep -ac '^#\|^cpus=' garbage.txt)" "so are comments"
like "$(cat "$mnt/doctor")" "file0_damaged_first_line 21" "doctor says it too"
umount_gt "$mnt"

amd() { printf ':3:rocvirtual.cpp           :%s us: [pid:77 tid:0x7f01] %s\n' "3596: $1" "$2"; }
for i in {1..24}; do
	if [ $((i % 4)) = 3 ]; then amd 99999999999999999 'ShaderName : bad'; else amd $((1000 + i)) "ShaderName : kernel_$i"; fi
done >damaged.log
printf ':3:rocvirtual.cpp           :3596: 1025 us: [pid:77' >>damaged.log
mount_gt "$mnt" -o replay=damaged.log 2>err || exit 1
like "$(cat err)" 'damaged.log: line 3 ' "the mount warns of a damaged log of AMD's runtime"
wait_for 20 grep -q ended "$mnt/backends/amdlog/state"
is "$(stat_of amdlog file0_damaged) $(stat_of amdlog file0_damaged_first_line)" "7 3" "6 damaged lines and one that is cut"
is "$(stat_of amdlog file0_used)" 18 "the others are used"
umount_gt "$mnt"

printf '%s\n' '# tracer: nop' '          <idle>-0     [003] d... 1.000001: sched_switch: prev_comm=a prev_pid=0' >other.txt
mount_gt "$mnt" -o replay=other.txt 2>err
like "$(cat err)" "other.txt: has no event that an event map names" "a recording of other things says so where it is mounted"
like "$(cat "$mnt/doctor")" "other.txt: has no event that an event map names" "… and in doctor"
umount_gt "$mnt"

printf '%s\n' '# tracer: nop' '  <...>-199   [003] .... 1.000001: dma_fence_signaled: driver=amd_sched timeline=sdma0 context=122 seqno=1735030' >ends.txt
mount_gt "$mnt" -o replay=ends.txt 2>err
like "$(cat err)" "ends.txt: none of its events gives a record" "one of ends alone says so"
umount_gt "$mnt"

for cut in 5000 -1; do # at its end, and bytes in its middle
	python3 - "$GT_SRC/tests/data/replay/sched_6.12_v7.dat" $cut <<'P'
import sys
d, cut = bytearray(open(sys.argv[1], 'rb').read()), int(sys.argv[2])
if cut > 0:
    d = d[:-cut]
else:
    d[len(d) // 3:] = b'\xff' * (len(d) - len(d) // 3)
open('bad.dat', 'wb').write(d)
P
	"$GT_PROG" "$mnt" -o replay=bad.dat 2>err && mounts+=("$mnt")
	unlike "$(cat err)" "Operation not permitted|Unknown error" "trace.dat that is damaged ($cut): $(cat err)"
done

mkdir folder
"$GT_PROG" "$mnt" -o replay=folder 2>err && mounts+=("$mnt")
like "$(cat err)" "folder: is a folder without a result of rocprof" "an empty folder is no recording"
echo '{}' >braces
"$GT_PROG" "$mnt" -o replay=braces 2>err && mounts+=("$mnt")
like "$(cat err)" "results of rocprof, a log of AMD's runtime or a dump of KFD's queues" "what is known is named"

# Nobody ever writes to it, and it is not waited for
mkfifo pipe
"$GT_PROG" "$mnt" -o replay=pipe 2>err && mounts+=("$mnt")
like "$(cat err)" "pipe: is not a regular file" "a FIFO is no recording"

# Its reader is no process of a recording
mount_gt "$mnt" -o replay="$GT_SRC/tests/data/replay/sched_6.12.txt" || exit 1
unlike "$(ls "$mnt"; grep '^self' "$mnt/README")" '^self' "a recording's tree lists no self"
is "$(readlink "$mnt/self")" "" "… and has none"
umount_gt "$mnt"

# Where no event can be used, nothing was seen at any time
grep drm_sched_job_queue: "$GT_SRC/tests/data/replay/sched_6.12.txt" | sed 's/fence=/other=/' >other.txt
mount_gt "$mnt" -o replay=other.txt 2>err || exit 1
wait_for 20 grep -q ended "$mnt/backends/replay/state"
like "$(cat err)" "drm_sched_job_queue: its fields are not as the event map says" "fields of other names: the mount warns"
is "$(value "$mnt/blame_stats" jobs_finished) $(value "$mnt/blame_stats" from_s)" "0 " "… and blame_stats does not say from when on it is"
umount_gt "$mnt"

# How many a loss has lost is not made up where nobody says
awk '/drm_sched_job_queue:/ && ++n == 20 { print "CPU:1 [LOST EVENTS]" } { print }' "$GT_SRC/tests/data/replay/sched_6.12.txt" >unknown.txt
sed 's/LOST EVENTS/LOST 5 EVENTS/' unknown.txt >known.txt
for f in known unknown; do
	mount_gt "$mnt" -o replay=$f.txt 2>err || exit 1
	wait_for 20 grep -q ended "$mnt/backends/replay/state"
	for k in status:events_lost_source status:losses_uncounted backends/replay/stats:lost \
		backends/replay/stats:losses_uncounted backends/replay/stats:file0_lost backends/replay/stats:file0_losses_uncounted; do
		echo "$k $(value "$mnt/${k%:*}" "${k#*:}")"
	done >$f.values
	grep ' LOST ' "$mnt/trace" >$f.trace
	umount_gt "$mnt"
done
is "$(cut -d ' ' -f 2 known.values | tr '\n' ' ')" "5  5  5  " "a loss of 5 events is 5 everywhere"
is "$(cut -d ' ' -f 2 unknown.values | tr '\n' ' ')" " 1  1  1 " "… and one that says no number is no number, but marked"
like "$(cat known.trace)" 'LOST 5 records' "… in trace, too"
like "$(cat unknown.trace)" 'LOST records' "… where it has no number"

# A CPU that begins late, while a job that ended out of turn seems to lack its end: the kernel's head says whether
# events were overwritten, if the file has all that were recorded
late_cpu() { # late_cpu KEPT/WRITTEN
	echo "# entries-in-buffer/entries-written: $1   #P:2"
	awk '{ f = $4 == "done" ? "" : ", ring=" $5; printf " t-1 [00%d] ..... 1.%06d: drm_sched_job_%s: %sfence=%s%s%s\n", $1, $2, $4,
		f ? "dev=card0, " : "", $3, f, $4 == "done" ? " signaled" : ", job count:0, hw job count:0, client_id:1" }' <<-E
		1 100 5:1 queue a
		1 101 5:1 run a
		1 102 5:2 queue a
		1 103 5:2 run a
		1 104 6:1 queue b
		1 105 6:1 run b
		0 109 7:1 queue a
		1 110 5:2 done
		0 111 5:1 done
		0 112 6:1 done
	E
}
for head in 10/10 11/11 10/90; do
	late_cpu $head >late_cpu.txt
	mount_gt "$mnt" -o replay=late_cpu.txt,speed=0 || exit 1
	wait_for 20 grep -q ended "$mnt/backends/replay/state"
	[ $head = 10/10 ] && want=7000 || want=-
	is "$(awk '$5 == 6 { print $11 }' "$mnt/report")" $want "a CPU begins late, $head are there: exec is $want"
	ok "… as computed" python3 "$GT_SRC/tests/lib/ringtruth.py" compare late_cpu.txt "$mnt"
	umount_gt "$mnt"
done

# Two recordings, whose clocks differ by 54 years: what each says is of its own time
python3 "$GT_SRC/tests/lib/ringtruth.py" generate 3 >early.txt
awk 'match($0, /[0-9]+\.[0-9]+: /) {
	split(substr($0, RSTART, RLENGTH - 2), t, ".")
	$0 = substr($0, 1, RSTART - 1) (1700000000 + t[1]) "." t[2] ": " substr($0, RSTART + RLENGTH)
} { print }' "$GT_SRC/tests/data/replay/sched_6.12.txt" >late.txt
for f in early late early.txt:late; do
	mount_gt "$mnt" -o replay=$f.txt || exit 1
	wait_for 20 grep -q ended "$mnt/backends/replay/state"
	awk 'NR > 1 { $2 = "-"; print }' "$mnt/rings" | sort >"$f.rings"
	awk 'NR > 1 { $1 = $1; print }' "$mnt/top" | sort >"$f.top"
	for d in "$mnt"/*/ring[0-9]*; do echo "$(basename "$(dirname "$d")") $(tr '\n' ' ' <"$d/depth")"; done | sort >"$f.depth"
	umount_gt "$mnt"
done
for t in rings top depth; do
	ok "two recordings of different clocks: $t has what it has of each alone" sh -c "sort early.$t late.$t | diff - early.txt:late.$t"
done

# a stream saved from events is a recording
mount_gt "$mnt" -o backend=sim || exit 1
echo stop >"$mnt/control"
timeout 120 cat "$mnt/events" >saved & saver=$!
wait_for 60 test -s saved
echo start >"$mnt/control"
more() { [ "$(stat -c %s saved)" -gt 200000 ]; }
wait_for 60 more
kill $saver
wait $saver 2>/dev/null
umount_gt "$mnt"
mount_gt "$mnt" -o replay=saved
completes=$(python3 -c "
d = open('saved', 'rb').read()
print(sum(1 for i in range(0, len(d) - 63, 64) if d[i + 8] == 1))")
is "$(awk '$1 == "COMPLETE" { print $2 }' "$mnt/events_by_type")" "$completes" "a saved stream replays every record"
is "$(awk 'NR > 1 { print $1; exit }' "$mnt/gpus")" sim0 "… with its GPU's name"
umount_gt "$mnt"
# One of release 0.1, which counted these 40 jobs
mount_gt "$mnt" -o replay="$GT_SRC/tests/data/replay/stream_v1"
is "$(od -An -j12 -N2 -tu2 "$GT_SRC/tests/data/replay/stream_v1" | xargs)" 1 "a stream of record version 1"
is "$(value "$mnt/sim0/stats" completed)" 40 "… has its jobs"
is "$(awk '$1 == "COMPLETE" { print $2 }' "$mnt/events_by_type")" 40 "… and events"
umount_gt "$mnt"
head -c 100000 saved >cut
mount_gt "$mnt" -o replay=cut
like "$(cat "$mnt/backends/replay/last_error")" "cut" "a stream cut inside a record says so"
umount_gt "$mnt"
# Played again, and to any time: what is shown at a time does not depend on the way there
state_is() { [ "$(cat "$mnt/backends/replay/state")" = "$1" ]; }
shown_now() { cat "$mnt"/*/ring*/stats "$mnt"/*/ring*/latency "$mnt"/*/ring*/histogram "$mnt"/proc/*/stats "$mnt/report" "$mnt/events_by_type"; }
f=$GT_SRC/tests/data/replay/sched_6.12.txt
read -r from to <<<"$(awk '$3 == "COMPLETE" || /drm_sched|dma_fence/ { sub(":", "", $3); if (!n++) a = $3; b = $3 } END { print a, b }' "$f")"
half=$(awk -v a="$from" -v b="$to" 'BEGIN { printf "%.6f", (a + b) / 2 }')
before() { # before T: submissions up to then, as another program counts them
	awk -v t="$1" '/drm_sched_job_queue:/ { sub(":", "", $3); n += $3 + 0 < t + 0 } END { print n + 0 }' "$f"
}
submits() { awk '$1 == "SUBMIT" { print $2 }' "$mnt/events_by_type"; }
mount_gt "$mnt" -o replay="$f" || exit 1
wait_for 20 state_is ended
shown_now >end.1
echo "seek $half" >"$mnt/control"
wait_for 20 state_is paused
half_way() { [ "$(submits)" = "$(before "$half")" ]; }
ok "seek T shows what was until then ($(before "$half") of $(before 1e9) submissions)" wait_for 20 half_way
ok "… which is some, and not all" [ "$(before "$half")" -gt 0 -a "$(before "$half")" -lt "$(before 1e9)" ]
like "$(cat "$mnt/control")" '^pause$' "… and is paused there, where speed is 0"
shown_now >half.1
echo 'seek +1ms' >"$mnt/control"
echo 'seek -1ms' >"$mnt/control"
ok "forth and back" wait_for 20 half_way
shown_now >half.2
ok "… gives the same statistics and report" cmp half.1 half.2
timeout 120 cat "$mnt/events" >piped & piper=$!
wait_for 60 test -s piped
echo play >"$mnt/control"
wait_for 20 state_is ended
ok "a reader that waited where it was paused gets the rest, and the end" wait $piper
shown_now >end.2
ok "played on to the end, all is as at first" cmp end.1 end.2
echo clear >"$mnt/control"
is "$(submits)" "" "clear empties it"
echo play >"$mnt/control"
wait_for 20 state_is ended
shown_now >end.3
ok "… and play after the end brings all back" cmp end.1 end.3
timeout 60 cp "$mnt/events" again
is "$(python3 -c "
d = open('again', 'rb').read()
print(sum(1 for i in range(0, len(d), 64) if d[i + 8] == 0))")" "$(before 1e9)" "with its events"
echo off >"$mnt/config/level"
echo normal >"$mnt/config/level"
like "$(cat "$mnt/config/level" "$mnt/backends/replay/state" | tr '\n' ' ')" '^normal ended $' "after the end the level goes off and back"
shown_now >end.4
ok "… and what was played stays" cmp end.1 end.4
echo "seek $half" >"$mnt/control"
ok "half way" wait_for 20 half_way
echo off >"$mnt/config/level"
is "$(submits)" "$(before "$half")" "… level off keeps what was played until then"
ok "… while which nothing plays" sh -c "! echo play 2>/dev/null >$mnt/control"
echo normal >"$mnt/config/level"
is "$(submits) $(cat "$mnt/backends/replay/state")" "$(before "$half") paused" "… and it is paused there still"
echo play >"$mnt/control"
wait_for 20 state_is ended
shown_now >end.5
ok "… from off it goes on from there: each event once, none late" cmp end.1 end.5
echo 'seek 0' >"$mnt/control"
is "$(awk 'END { print NR }' "$mnt/report")" 1 "seek 0 is before the first event"
echo play >"$mnt/control"
ok "play goes on from there" wait_for 20 state_is ended
umount_gt "$mnt"
mount_gt "$mnt" -o replay="$f",speed=0.001 || exit 1 # 70 ms take more than a minute
timeout 120 cat "$mnt/events" >piped & piper=$!
some() { [ "$(submits)" -gt 0 ]; }
wait_for 60 some
echo off >"$mnt/config/level"
n=$(submits) p=$(value "$mnt/backends/replay/stats" position_ns)
is "$(cat "$mnt/backends/replay/state")" paused "level off while it plays is a pause"
echo normal >"$mnt/config/level"
is "$(cat "$mnt/backends/replay/state")" running "… after which it plays on"
ok "… from there: $n jobs were submitted" [ "$(submits)" -ge "$n" ]
ok "… and at its pace: it is not at the end" [ $(($(value "$mnt/backends/replay/stats" position_ns) - p)) -lt 35000000 ]
ok "… with the reader that waited" kill -0 $piper
echo "seek $half" >"$mnt/control"
ok "a reader of events is at the end when time goes back or is left out" wait $piper
like "$(cat "$mnt/control")" '^play$' "with a speed it plays on"
ok "from there" wait_for 20 sh -c "[ \$(awk '\$1 == \"SUBMIT\" { print \$2 }' $mnt/events_by_type) -ge $(before "$half") ]"
umount_gt "$mnt"
mount_gt "$mnt" -o replay=damaged.log 2>/dev/null || exit 1
wait_for 20 grep -q ended "$mnt/backends/amdlog/state"
n=$(awk '$1 == "DISPATCH" { print $2 }' "$mnt/events_by_type")
echo play >"$mnt/control"
wait_for 20 grep -q ended "$mnt/backends/amdlog/state"
is "$(awk '$1 == "DISPATCH" { print $2 }' "$mnt/events_by_type")" "$n" "a log of AMD's runtime is played again"
umount_gt "$mnt"
done_testing
