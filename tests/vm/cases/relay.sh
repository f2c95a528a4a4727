#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The mock GPU's 10,000 jobs by grtrace, by BPF and by ftrace at the same time: three trees with the same counts,
# each of which says what the mock did. So do recordings of all three kinds, played. Then two sessions of grtrace's, and
# the module going under load.
# Early
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
. "$GT_SRC/tests/lib/grtrace.sh"
by=(relay bpf ftrace)
tracing=/sys/kernel/tracing/instances/recorded
cleanup() {
	jobs -p | xargs -r kill 2>/dev/null
	wait
	mock_unload
	[ ! -d /sys/module/grtrace ] || rmmod grtrace
	[ ! -d $tracing ] || rmdir $tracing
}

run_jobs() { "$gpujobs" --device 0 --jobs "$1" --length-us 200-400 --ring $rings >/dev/null; }
stat_of() { value "relay/backends/relay/stats" "$1"; }
counted() { # counted N TREE... - each has counted as many jobs
	local n=$1 m
	shift
	for m; do [ "$(awk '$2 ~ /^ring/ { n += $8 } END { print n + 0 }' "$m/rings")" = "$n" ] || return; done
}

mock_load && grt_load || exit 1
for m in "${by[@]}"; do mount_gt "$PWD/$m" -o "backend=$m" || exit 1; done
is "$(cat $grt/control) $(stat_of tracing)" "start started-here" "the daemon starts grtrace" || exit 1
# the first of all may have been reported by the old names before the new ones were heard
"$gpujobs" --device 0 --jobs 2 --ring gfx_0.0.0 --length-us 100000 >/dev/null
ok "the first jobs are seen by all" wait_for 20 counted 2 "${by[@]}" || exit 1
# Linux 7.0 and later skip a BPF program that stands still, preempted, for other tasks' events (bpf.sh); then again
bpf_stat() { value bpf/backends/bpf/stats "$1"; }
missed() { echo $(($(bpf_stat events_skipped) + $(bpf_stat tracepoint_lost))); }
missed_told() { [[ $(bpf_stat events_missed) =~ ^(unknown:|$(bpf_stat events_skipped))$ ]]; }
before=-1 try=0
while [ "$(missed)" != "$before" ] && [ $((++try)) -le 3 ]; do
	wait_for 20 missed_told # behind it, and then the start of each ring's next job is not known
	[ $try = 1 ] || { mock_each_ring && wait_for 5 counted $(($(wc -l <$truth) - 1)) "${by[@]}"; }
	before=$(missed)
	for m in "${by[@]}"; do echo clear >"$m/control"; done
	echo 0 >$truth
	mock_push 3334
	ok "the mock has ended all jobs" wait_for 20 all_done
	n=$(($(wc -l <$truth) - 1))
	wait_for 20 counted $n relay ftrace
done
missed=$(($(missed) - before)) all=("${by[@]}")
[ $missed = 0 ] || all=(relay ftrace) # what BPF lacks then is compared with how much it says that it missed
ok "all $n are counted, by ${all[*]}" wait_for 20 counted $n "${all[@]}" ||
	{
		for m in "${by[@]}"; do
			echo "$m: $(awk '$2 ~ /^ring/ { n += $8 } END { print n + 0 }' "$m/rings") jobs"
			grep -E '^(events|records|jobs)_' "$m/status"
		done
		grep -E '^(events_missed|lost)' bpf/backends/bpf/stats
		grep -E '=[1-9]' $grt/stats
		grep -E ' [1-9]' relay/backends/relay/stats
	} | sed 's/^/# /'
none_in_flight() { missed_told && [ "$(value bpf/status jobs_in_flight)" = 0 ]; }
ok "no job is in flight by BPF, whatever it missed" wait_for 20 none_in_flight || cat bpf/*/ring*/jobs | head -n 40 | sed 's/^/# /'
cat $truth >truth
python_checks "$GT_SRC/tests/lib/gpucompare.py" truth "$PWD/relay:contexts" "$PWD/ftrace" "$PWD/bpf$([ $missed = 0 ] || echo ":missed=$missed")"
for m in "${all[@]}"; do
	is "$(value "$m/status" events_lost_source)" 0 "$m: nothing was lost"
	awk '{ print $1, $3, $7, $8, $9, $10 }' "$m/rings" | sort >"$m.rings"
	grep -E '^(SUBMIT|COMMIT|COMPLETE) ' "$m/events_by_type" | awk '{ print $1, $2 }' >>"$m.rings"
done
for m in "${all[@]:1}"; do ok "the same counts by relay and by $m" diff relay.rings $m.rings; done
is "$(stat_of damaged) $(stat_of unknown_types) $(stat_of session_elsewhere)" "0 0 0" "relay: nothing is damaged, unknown or elsewhere"
umount_gt "$PWD/bpf"

# What others save of the same jobs, played: the same truth. Of grtrace's own files each record goes to one reader.
in_stream() { [ "$(od -An -v -tu1 -w64 "$1.stream" | awk '$9 == 1' | wc -l)" -ge "$2" ]; } # COMPLETE
played() { grep -q '^state ended$' "$mnt/status"; }
play() { # play FILE... [FLAG] - against the truth of its jobs, played.truth
	ok "$1 is mounted" mount_gt "$mnt" -o "replay=$1,speed=0" || return
	ok "$1 is played" wait_for 60 played
	python_checks "$GT_SRC/tests/lib/gpucompare.py" played.truth "$mnt${2-}"
	umount_gt "$mnt"
}
push() { # some jobs, and their truth
	echo 0 >$truth
	mock_push 100
	ok "all saved jobs have ended" wait_for 20 all_done
	cat $truth >played.truth
	n=$(($(wc -l <played.truth) - 1))
}
readers=()
for m in relay ftrace; do
	cat $m/events >$m.stream & readers+=($!)
	ok "$m: a reader has begun" wait_for 20 test -s $m.stream
done
mkdir $tracing
echo mono >$tracing/trace_clock
for e in $(own_names); do echo 1 >$tracing/events/gpu_scheduler/$e/enable; done
push
for m in relay ftrace; do ok "$m: all are in the stream" wait_for 60 in_stream $m $n; done
kill "${readers[@]}"
wait "${readers[@]}" 2>/dev/null
cat $tracing/trace >trace.txt
rmdir $tracing
umount_gt "$PWD/ftrace"
play relay.stream :contexts:unnamed
play ftrace.stream
if new_names; then play trace.txt :threads:renumbered; else skip_ok "trace.txt" "before Linux 6.17 it does not say which GPU an event is of"; fi
umount_gt "$PWD/relay"
grt_set control start
push
grt_set control stop
grt_read saved
play saved/events0:saved/events1 :contexts:unnamed:renumbered
mount_gt "$PWD/relay" -o backend=relay || exit 1

# Two sessions, and the time between them, which is nobody's
echo clear >relay/control
echo stop >relay/control
is "$(cat $grt/control)" stop "stop stops grtrace"
run_jobs 20
echo start >relay/control
run_jobs 30
ok "another session has its jobs, and not those between" wait_for 20 counted 30 relay
is "$(value relay/status events_lost_source)" 0 "… and nothing is lost"

# A buffer that is too small while the daemon does not run
echo 65536 >relay/config/buffer_size
is "$(cat $grt/buffer_size $grt/control relay/config/buffer_size | xargs)" "65536 start 65536" "a smaller buffer, while it runs"
daemon=$(pgrep -f "mount.gputrace $PWD/relay ")
kill -STOP "$daemon"
"$gpujobs" --device 0 --jobs 1500 --ring $rings --length-us 100-200 --depth 40 >/dev/null
wait_for 20 all_done
kill -CONT "$daemon"
reported() { # only what comes behind a gap, on that CPU, reports it
	run_jobs 10
	lost=$(sed -n 's/^lost_events=//p' $grt/stats)
	[ "$(value relay/status events_lost_source)" = "$lost" ]
}
ok "each event that the buffer had no room for is reported" wait_for 20 reported
ok "… and there were some: $lost" test "$lost" -gt 100

# The module goes under load, and comes
again_and_again "$gpujobs" --device 1 --jobs 200 --length-us 100-300 --ring $rings --depth 40 >/dev/null & load=$!
ok "unloaded under load, with its files open" rmmod grtrace
ok "… which is reported" wait_for 20 grep -q "grtrace is not loaded" relay/backends/relay/last_error
grt_load
reads() { [ "$(stat_of files) $(stat_of tracing)" = "2 started-here" ]; }
ok "loaded again it is read again" wait_for 20 reads
kill $load
wait $load 2>/dev/null
echo clear >relay/control
run_jobs 40 # on the GPU that had no load
here() { [ "$(awk '$1 == "mockgpu0" { n += $8 } END { print n + 0 }' relay/rings)" = 40 ]; }
ok "… and jobs are counted as before" wait_for 20 here
umount_gt "$PWD/relay"
is "$(cat $grt/control)" stop "at its end the daemon stops what it started"
done_testing
