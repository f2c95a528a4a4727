#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A user writes results to hurt others: they come in bounds, and nobody waits for them.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
flood="env PYTHONDONTWRITEBYTECODE=1 python3 $GT_SRC/tests/lib/rpflood.py"

chmod 755 .
mkdir -m 777 place
printf '[backend sim]\nrate = 0\n' >quiet
printf '[backend sim]\nrate = 20000\n' >busy
chmod 644 quiet busy
now=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))')
rows() { # rows KERNEL N [NS] - CSV of N dispatches, NS apart
	awk -v k="$1" -v n="$2" -v by="${3:-1000}" -v now="$now" 'BEGIN {
		print "Kind,Agent_Id,Queue_Id,Kernel_Name,Start_Timestamp,End_Timestamp"
		for (i = 0; i < n; i++)
			printf "KERNEL_DISPATCH,Agent 4,1,%s,%.0f,%.0f\n", k, now - 1e9 + i * by, now - 1e9 + i * by + 500
	}'
}
jobs=$mnt/backends/rocprof/jobs
job_of() { # job_of UID - a job with a folder of that user's
	rm -rf "place/$1"
	as_uid "$1" mkdir "place/$1"
	as_uid "$1" mkdir "$jobs/j" && as_uid "$1" sh -c "echo $PWD/place/$1 >$jobs/j/output_directory"
}
give() { # give UID FILE NAME - moved there, as its user
	cp "$2" place/new && chown "$1" place/new && mv place/new "place/$1/$3"
}
dispatches() { awk '$1 == "DISPATCH" { n = $2 } END { print n + 0 }' "$mnt/events_by_type"; }
problem() { as_uid "$1" cat "$jobs/j/problems" | grep -qE "$2"; }
user() { awk -v u="$1" -v c="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) at = i } $1 == u { print $at }' \
	"$mnt/backends/rocprof/users"; }

# views in place of tables
mount_gt "$mnt" -o conf=quiet,backend=rocprof:sim || exit 1
job_of 12345
$flood recursive recursive.db
give 12345 recursive.db 1_results.db
ok "a query that goes on without an end is refused" wait_for 60 problem 12345 '1_results.db refused: has a query that calls itself'
$flood function function.db
give 12345 function.db 2_results.db
ok "so is one with functions" wait_for 60 problem 12345 '2_results.db refused: has a query that calls itself, or a function'
is "$(dispatches)" 0 "… nothing of them is counted"
$flood again again.db
truncate -s 1T again.db # a file may be of any size, and hold nothing
echo 0 >"$mnt/backends/rocprof/user_rows"
give 12345 again.db 3_results.db
ok "more rows than have room in the file are refused" wait_for 60 problem 12345 '3_results.db refused: has more rows than [0-9]+ bytes'
ok "… and what came till then is no more than that" [ "$(dispatches)" -le 1048576 ]
is "$(user 12345 failed)" 1 "… which counts as a failure, as it took rows till then"
ok "a database of ROCm 7, where views are what they are" python3 -c "
import sys
sys.path.insert(0, '$GT_SRC/tests/lib')
import rocprof
rocprof.database('good.db', 500)"
before=$(dispatches)
job_of 12346
give 12346 good.db 4_results.db
has() { [ "$(dispatches)" = "$1" ]; }
ok "… is read as it was" wait_for 60 has $((before + 500))

# whose GPU it was, the file alone says
gpu=$mnt/amdgpu-claimed
like "$(cat "$gpu/info")" '^flags claimed$' "a GPU that is not here, or not the user's, is reported apart"
like "$(cat "$mnt/gpus")" '^amdgpu-claimed .* claimed$' "… in gpus, too"

# a file under a lease cannot be opened without waiting for whoever has the lease
rows leased 3 >place/12345/.l
chown 12345 place/12345/.l
mkfifo go
as_uid 12345 python3 -c '
import fcntl, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
f = open(sys.argv[1], "r+")
fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
sys.stdin.readline()' place/12345/.l <go >lease &
exec {go}>go
wait_for 60 grep -q held lease
mv place/12345/.l place/12345/5_kernel_trace.csv
leased() { grep -q '5_kernel_trace.csv: somebody has a lease on it' "$mnt/backends/rocprof/problems"; }
ok "a file under a lease is not opened yet, which is reported" wait_for 60 leased
ok "… to its owner, too" problem 12345 '5_kernel_trace.csv leased: somebody has a lease on it'
echo >&$go
exec {go}>&-
wait
calls() { # calls UID KERNEL - dispatches of that user's
	as_uid "$1" cat "$mnt"/*/kernels/"$2"/stats 2>/dev/null | awk '$1 == "calls" { print $2 }'
}
ran() { [ "$(calls "$1" "$2")" = "$3" ]; }
ok "… and read when that has ended" wait_for 60 ran 12345 leased 3
umount_gt "$mnt"

# a share of the history: others' records fill it, then a user's file has more than there is room for
mount_gt "$mnt" -o conf=busy,backend=rocprof:sim,history_size=1048576 || exit 1
is_full() { [ "$(value "$mnt/status" history_bytes)" = "$(value "$mnt/status" history_max_bytes)" ]; }
ok "the history is full of others' records" wait_for 60 is_full
echo 0 >"$mnt/backends/sim/rate"
echo 0 >"$mnt/backends/rocprof/user_rows"
job_of 12345
rows flood 100000 >flood.csv
give 12345 flood.csv 1_kernel_trace.csv
ok "a user's file has 100,000 rows" wait_for 60 ran 12345 flood 100000
python3 - "$mnt/timeline" >shares <<'P'
import sys
lines = [l for l in open(sys.argv[1]) if not l.startswith('#')]
own = sum(' DISPATCH ' in l for l in lines)
print(len(lines), own, round(100 * own / len(lines)))
P
read -r all own percent <shares
echo "# $own of $all records in the history are that user's"
ok "… which have no more than a quarter of the history" [ "$own" -gt 0 -a "$percent" -le 25 ]
ok "… the others' are there" [ $((all - own)) -ge 6000 ]
over=$(value "$mnt/status" events_over_share)
ok "what was beyond is counted" [ "$over" -ge 90000 ]
is "$(awk '$1 == "history_user_percent" { print $2 }' "$mnt/filter_stats")" "$over" "… by its reason"
is "$(user 12345 over_share)" "$over" "… by user"
ok "… and to that user" problem 12345 '^history [0-9]+ rows are in statistics, but not in the history, of which uid 12345'
like "$(cat "$mnt/doctor")" "^lost $over records of users' own files in the history" "… and doctor says why"
ok "every event went somewhere" python3 -c "
import sys
sys.path.insert(0, '$GT_SRC/tests/lib')
import records
assert records.seen_is_the_sum(records.keyed('$mnt/status'))"
umount_gt "$mnt"

# a setting is written again and again, directories come and go: others' results are read all the same
mount_gt "$mnt" -o conf=quiet,backend=rocprof:sim || exit 1
job_of 12345
touch place/busy
as_uid 12345 bash -c 'while [ -e "$2" ] && mkdir "$1/k" && rmdir "$1/k" && echo 1 >"$1/j/att_target_cu"; do sleep 0.05; done' \
	busy "$jobs" "$PWD/place/busy" &
busy=$!
as_uid 12346 mkdir "$jobs/h"
rm -rf place/12346
as_uid 12346 mkdir place/12346
rows there 3 >there.csv
give 12346 there.csv 1_kernel_trace.csv
as_uid 12346 sh -c "echo $PWD/place/12346 >$jobs/h/output_directory"
ok "results that were there before the job, while another user changes jobs" wait_for 20 ran 12346 there 3
ok "… which goes on" kill -0 $busy
rm place/busy
wait $busy
for i in {1..9}; do as_uid 12345 mkdir "$jobs/many$i"; done 2>/dev/null
ok "directories beyond a user's share are counted" [ "$(value "$mnt/status" userdirs_refused)" -gt 0 ]
umount_gt "$mnt"

# what others write makes no row count twice, and changes no count of calls
mount_gt "$mnt" -o conf=quiet,backend=rocprof:sim || exit 1
echo 0 >"$mnt/backends/rocprof/user_rows"
job_of 12345
job_of 12346
numbered() { rows "$1" "$2" | awk -F, -v OFS=, '{ print $0, NR == 1 ? "Dispatch_Id" : NR }'; }
numbered once 5 >once.csv
numbered flood 200000 >flood.csv
api() { printf '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs"\n"hipLaunchKernel",%s,%s,100,50,1,%s\n' "$@"; }
api 26 605 110 >honest_api.csv
api 18446744073709551606 18446744073709550000 18446744073709551000 >hostile_api.csv
give 12346 once.csv 1_kernel_trace.csv
give 12346 honest_api.csv 1_hip_api_stats.csv
ok "a user's results" wait_for 60 ran 12346 once 5
give 12345 hostile_api.csv 1_hip_api_stats.csv
give 12345 flood.csv 1_kernel_trace.csv
ok "another user has 200,000 dispatches" wait_for 60 ran 12345 flood 200000
give 12346 once.csv again_kernel_trace.csv
again() { grep -q "^read .*12346.*again_kernel_trace.csv" "$mnt/backends/rocprof/files"; }
ok "the first one's come once more" wait_for 60 again
is "$(calls 12346 once)" 5 "… and count once"
launches() { awk '$1 == 12346 && $NF == "hipLaunchKernel" { print $2, $3, $5 }' "$mnt/backends/rocprof/calls"; }
ok "calls of one user are not another's" wait_for 20 eval '[ "$(launches)" = "26 605 110" ]'
umount_gt "$mnt"

# rows come no faster than they may, and nobody waits for another's
mount_gt "$mnt" -o conf=quiet,backend=rocprof:sim || exit 1
echo 1000 >"$mnt/backends/rocprof/user_rows" # the flood takes three minutes, as long as nobody ends it
job_of 12345
job_of 12346
rows flood 200000 >flood.csv
rows honest 3 >honest.csv
give 12345 flood.csv 1_kernel_trace.csv
waits() { [ "$(user 12345 waits)" -gt 0 ]; }
ok "rows beyond a user's rate wait" wait_for 60 waits
give 12346 honest.csv 1_kernel_trace.csv
ok "another user's are read meanwhile" wait_for 60 ran 12346 honest 3
is "$(user 12345 reading)" 1 "… before the flood has ended"
echo 0 >"$mnt/backends/rocprof/user_rows"
ok "none is lost" wait_for 60 ran 12345 flood 200000
umount_gt "$mnt"

# files that take all the time they may
mount_gt "$mnt" -o conf=quiet,backend=rocprof:sim || exit 1
job_of 12345
job_of 12346
$flood slow slow.db 2000
for i in $(seq 64); do give 12345 slow.db "${i}_results.db"; done
reads() { [ "$(user 12345 reading)" = 1 ]; }
ok "64 slow files begin to be read" wait_for 60 reads
give 12346 honest.csv 1_kernel_trace.csv
ok "an honest user's file is read beside them" wait_for 60 ran 12346 honest 3
ok "… of which one is being read" wait_for 60 reads
idles() {
	local reader
	for reader in $(pgrep -P "$(pgrep -of "mount.gputrace $mnt( |\$)")"); do
		[ "$(chrt -p "$reader" | awk '/policy/ { print $NF }')" = SCHED_IDLE ] && return
	done
	return 1
}
ok "… with the CPU time that nobody else wants" wait_for 60 idles
umount_gt "$mnt"

# as many users as have a reader at a time
mkdir -m 777 all
printf '[backend sim]\nrate = 0\n[backend rocprof]\ndirs = %s\n' "$PWD/all" >all.conf
mount_gt "$mnt" -o conf=all.conf,backend=rocprof:sim || exit 1
for u in 1 2 3 4 5 6 7 8; do
	cp slow.db all/.new
	chown 2000$u all/.new
	mv all/.new all/${u}_results.db
done
all_read() { [ "$(awk 'NR > 1 { n += $3 } END { print n }' "$mnt/backends/rocprof/users")" = 8 ]; }
ok "eight users have a slow file each" wait_for 60 all_read
cp honest.csv all/.new
chown 12346 all/.new
mv all/.new all/9_kernel_trace.csv
ok "another user gets a place" wait_for 60 ran 12346 honest 3
is "$(grep -c ': took too long while others waited' "$mnt/backends/rocprof/problems")" 1 "… that of who had one longest, which is reported"
umount_gt "$mnt"
done_testing
