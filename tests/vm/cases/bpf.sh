#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tracepoints by BPF programs instead of ftrace: the mock GPU's 10,000 jobs give the same files, under the
# scheduler's old tracepoints (with what they lack followed to by the kernel's types), and Linux 6.17's. What
# is recorded by BPF and replayed has the same histograms, and where nobody records they are the same.
# Early
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
cleanup() { mock_unload; }

counted() {
	[ "$(awk '$2 ~ /^ring/ { n += $8 } END { print n + 0 }' "$mnt/rings")" = $(($(wc -l <$truth) - 1)) ]
}

record() { # record FILE
	[ -z "$reader" ] || { kill "$reader" && wait "$reader" 2>/dev/null; }
	rm -f "$1"
	cat "$mnt/events" >"$1" & reader=$!
	wait_for 20 test -s "$1"
}

# An event is missed that comes while the program that would report it runs on that CPU. Then all is cleared, and
# pushed again, some times: of tens of thousands of events a few are missed each time (Linux 7.0 and later, where a
# task can be preempted within the program). $missed: of the last push; $reader copies the records of it to STREAM.
# events_missed is a second or two behind
missed() { echo $(($(stat_of bpf events_skipped) + $(stat_of bpf tracepoint_lost))); }
# What was missed is reported behind it, and after that the start of each ring's next job is not known
missed_told() { [[ $(stat_of bpf events_missed) =~ ^(unknown:|$(stat_of bpf events_skipped))$ ]]; }
push_whole() { # push_whole WHAT JOBS [STREAM]
	local try=0 was=-1
	while [ "$(missed)" != "$was" ] && [ $((++try)) -le $(($2 > 1000 ? 3 : 10)) ]; do
		wait_for 20 missed_told
		[ $try = 1 ] || { mock_each_ring && wait_for 5 counted; }
		was=$(missed)
		echo clear >"$mnt/control"
		echo 0 >$truth
		[ -z "${3-}" ] || record "$3"
		mock_push "$2"
		ok "$1: the mock has ended all jobs" wait_for 20 all_done
		wait_for 20 counted
	done
	missed=$(($(missed) - was))
	none_in_flight() { missed_told && [ "$(value "$mnt/status" jobs_in_flight)" = 0 ]; }
	ok "$1: no job is in flight, whatever was missed" wait_for 20 none_in_flight
	echo "# $1: missed in the last of $try pushes: $missed"
	[ $missed != 0 ] || ok "$1: the tree has counted them all" wait_for 20 counted
}

latencies() { # of all time, by ring
	for f in "$mnt"/*/ring[0-9]*/latency; do
		[ ! -f "$f" ] || sed "s|^|${f#"$mnt/"} |" "$f"
	done
}

stat_of() { value "$mnt/backends/$1/stats" "$2"; }

flags() { if [ $missed = 0 ]; then echo "$1"; else echo ":missed=$missed"; fi; }

round() { # round WHAT JOBS [:contexts]
	mount_gt "$mnt" -o "backend=$both" || exit 1
	like "$(cat "$mnt/doctor")" "tracepoints_reported_by bpf" "$1: BPF reports the tracepoints"
	# the first of all may have been reported by the old names before the new ones were heard
	"$gpujobs" --device 0 --jobs 2 --ring gfx_0.0.0 --length-us 100000 >/dev/null && wait_for 20 counted
	local missed reader=
	push_whole "$1" "$2" stream
	cat $truth >truth
	echo "# $1"
	python_checks "$GT_SRC/tests/lib/gpucompare.py" truth "$mnt$(flags "${3-}")"
	is "$(stat_of ftrace events)" 0 "$1: ftrace reported nothing"
	[ $missed != 0 ] || is "$(value "$mnt/status" events_lost_source)" 0 "$1: nothing was lost"
	# those from before the clear are in the report, too; and an ioctl that was missed is no job's
	joined() {
		[ "$(awk -v n=$(($(wc -l <truth) - 1 - missed)) -v missed="$(stat_of bpf ioctl_missed)" \
			'NR > 1 { n--; if ($8 == "-") missed-- } END { print (n <= 0 && missed >= 0) }' "$mnt/report")" = 1 ]
	}
	ok "$1: each job has the time of the ioctl that submitted it" wait_for 20 joined || {
		echo "$(count_rows "$mnt/report") jobs in the report, $(($(wc -l <truth) - 1)) in the truth"
		awk 'NR > 1 && $8 == "-"' "$mnt/report" | head -n 5
		awk '/^IOCTL/' "$mnt/events_by_type"
		grep -E '^(ioctl_(records|events|exits_missing|missed|lost)|lost|events_)' "$mnt/backends/bpf/stats"
		grep -E 'late|lost|dropped|refused' "$mnt/status"
	} | sed 's/^/# /'
	echo "# $1: missed: events $(stat_of bpf events_missed), ioctls $(stat_of bpf ioctl_missed)"
	grep -E "^(probe|events_missed|records_invalid|unmatched)" "$mnt/backends/bpf/stats"
	is "$(ls -d "$mnt"/*-any 2>/dev/null)" "" "$1: nothing is of an unknown GPU"
	latencies >live
	cat "$mnt/report" >live.report
	is "$(stat_of bpf records_out_of_order)" 0 "$1: no record came after later ones were handed over"
	kill $reader
	wait $reader 2>/dev/null
	umount_gt "$mnt"
	mount_gt "$mnt" -o "replay=$PWD/stream" || exit 1
	same() { latencies >replayed && diff live replayed; }
	if [ $missed = 0 ]; then
		wait_for 20 same
		ok "$1: recorded and replayed, the latencies are the same" same || {
			diff live.report "$mnt/report" | head -n 10
		} | sed 's/^/# /'
	fi
	umount_gt "$mnt"
}

quiet() { # nobody records: the jobs are counted all the same
	mount_gt "$mnt" -o "backend=$both,level=stats" || exit 1
	local missed
	push_whole "not recorded" "$1"
	cat $truth >truth
	echo "# not recorded"
	python_checks "$GT_SRC/tests/lib/gpucompare.py" truth "$mnt$(flags :unrecorded)"
	is "$(value "$mnt/status" events_recorded)" 0 "not recorded: there is no record"
	is "$(awk '$2 ~ /^ring/ { n += $5 } END { print n + 0 }' "$mnt/rings")" 0 "not recorded: nothing is left in flight"
	umount_gt "$mnt"
}

mock_load || exit 1
both=bpf:ftrace
mount_gt "$mnt" -o backend=bpf || exit 1
like "$(grep "^tracepoint" "$mnt/backends/bpf/stats")" "^tracepoint running" "tracepoints are reported by BPF" || exit 1
like "$(cat "$mnt/backends/bpf/stats")" "^tracepoint gpu_scheduler/drm_sched_job_done by_arguments" "what comes in interrupts, by its arguments" || exit 1
like "$(cat "$mnt/backends/bpf/stats")" "^modules_pinned .*echo off" "a module with tracepoints in use cannot be unloaded: the stats say it"
held=$(cat /sys/module/gpu_sched/refcnt)
echo off >"$mnt/config/level"
let_go() { [ "$(cat /sys/module/gpu_sched/refcnt)" -lt "$held" ]; }
ok "… and switched off it can" wait_for 20 let_go
umount_gt "$mnt"
round "the scheduler's own names" 100
quiet 100
mock_names amdgpu || exit 1
# two tracepoints tell each of these jobs
round "all names at once" 3334 :contexts
ok "the modules can be unloaded when nobody is attached" mock_unload
done_testing
