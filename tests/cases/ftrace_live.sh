#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The ftrace backend in the daemon, live: a mock program plays jobs, uprobes with the names of the
# GPU scheduler's tracepoints report them, and the stream equals the truth, event for event.
# Quick
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/uprobes.sh"
is_root || skip "needs root to mount"
mock=$(uprobes_mock)
[ -x "$mock" ] || skip "tests/tools/mockjobs is not built"
uprobes_usable || skip "$uprobes_why"
cleanup() { uprobes_remove; }

records() { echo $(($(stat -c %s stream) / 64)); }

for names in old new; do
	ok "$names: stand-ins for the tracepoints" uprobes_add "$mock" $names
	mount_gt "$mnt" -o backend=ftrace || exit 1
	instance=$uprobes_tracefs/instances/gputrace-$(pgrep -f "mount.gputrace $mnt( |\$)")
	ok "$names: an instance of its own" test -d "$instance"
	like "$(cat "$mnt/doctor")" 'ftrace' "$names: doctor reports the backend"
	rm -f stream # else the wait would see an earlier one
	cat "$mnt/events" >stream & reader=$!
	wait_for 20 test -s stream
	ok "$names: the mock runs" "$mock" -n 2000 -p 3 -r 3 -d 300 -m $names -o truth.csv
	all_there() { python3 "$GT_SRC/tests/lib/mocktruth.py" truth.csv stream; }
	wait_for 20 all_there
	ok "$names: the stream equals the truth" all_there
	ok "$names: the latencies are those of its events" python3 "$GT_SRC/tests/lib/streamlat.py" stream "$mnt"
	grep -m 1 . "$mnt/trace" >first & first=$!
	two_read() { [ "$(value "$mnt/status" readers)" = 2 ]; }
	wait_for 20 two_read
	"$mock" -n 20 -p 1 -r 1 -d 300 -m $names -o /dev/null
	wait $first
	like "$(cat first)" "SUBMIT|COMMIT|COMPLETE" "$names: trace shows them"
	echo "# $names: $(records) records"
	kill $reader
	wait $reader 2>/dev/null
	ended() { ! grep -L dead "$mnt"/proc/*/state | grep -q .; }
	ok "$names: processes that have ended are dead" wait_for 20 ended
	umount_gt "$mnt"
	ok "$names: the instance is gone" test ! -e "$instance"
	uprobes_remove
done

# Functions, where the kernel cannot; the guest's cases have one that can
uprobes_add "$mock" new
mount_gt "$mnt" -o backend=ftrace || exit 1
functions=$mnt/backends/ftrace/functions
if head -c 1 "$uprobes_tracefs/set_ftrace_filter" >/dev/null 2>&1; then
	skip_ok "functions without a function tracer" "this kernel has one"
else
	like "$(echo 'amdgpu_*' 2>&1 >"$functions")" "not supported" "functions without a function tracer: EOPNOTSUPP"
	like "$(cat "$mnt/last_cmd_status")" "no function tracer .*CONFIG_FUNCTION_TRACER|does not let its functions be traced" "… with the reason"
fi
like "$(echo 'schedule:traceoff' 2>&1 >"$functions")" "Invalid argument" "a command among functions: EINVAL"
like "$(cat "$mnt/last_cmd_status")" "functions: 'schedule:traceoff' " "… with the reason"
is "$(cat "$functions")" "" "… and there are none"
ok "none may be asked for" sh -c "echo > $functions"
ok "100 GB of buffer may be asked" sh -c "echo 100000000000 >$mnt/backends/ftrace/buffer_size"
is "$(value "$mnt/backends/ftrace/stats" buffer_asked)" 100000000000 "… and stats say so"
is "$(value "$mnt/backends/ftrace/stats" buffer_granted)" "$(cat "$mnt/backends/ftrace/buffer_size")" "… and what was granted"
umount_gt "$mnt"
uprobes_remove

# both names offered at once, one after the other, in one mount
uprobes_add "$mock" old && uprobes_add "$mock" new
mount_gt "$mnt" -o backend=ftrace || exit 1
finished() { awk '/^exec/ { n += $2 } END { print n + 0 }' "$mnt"/drm*/ring[0-9]*/latency 2>/dev/null || echo 0; }
n=0
for names in old new; do
	"$mock" -n 300 -p 1 -r 1 -d 300 -m $names -o truth.csv
	n=$((n + $(grep -c '^done,' truth.csv)))
	reached() { [ "$(finished)" = $n ]; }
	ok "both offered: the $names ones are counted once ($n jobs)" wait_for 20 reached
done
umount_gt "$mnt"
uprobes_remove

# Killed in the middle, and nothing happens any more
printf '[limits]\nmax_job_age_s = 1\nproc_linger_s = 1\n' >conf
uprobes_add "$mock" new
mount_gt "$mnt" -o conf=conf,backend=ftrace || exit 1
"$mock" -n 100000 -p 2 -r 2 -d 3000 -m new -o /dev/null & mocks=$!
in_flight() { [ "$(value "$mnt/status" jobs_in_flight)" -gt 0 ]; }
ok "jobs are in flight" wait_for 20 in_flight
pkill -STOP -P $mocks
pkill -KILL -P $mocks
kill $mocks
wait $mocks 2>/dev/null
none_left() { [ "$(value "$mnt/status" jobs_in_flight)" = 0 ]; }
ok "hung jobs leave by age though no event comes" wait_for 20 none_left
no_dirs() { ! ls "$mnt/proc" | grep -q .; }
ok "dead processes too" wait_for 20 no_dirs
umount_gt "$mnt"
done_testing
