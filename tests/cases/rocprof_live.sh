#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Folders that are watched: results are picked up when they appear, and as they grow.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
results="python3 $GT_SRC/tests/lib/rocprof.py"

chmod 755 .
mkdir watched later
printf '[backend rocprof]\ndirs = %s\n' "$PWD/watched" >conf
mount_gt "$mnt" -o conf=conf,backend=rocprof || exit 1
is "$(cat "$mnt/backends/rocprof/state")" running "it waits for results"
seen() { awk -v t="$1" '$1 == t { n = $2 } END { print n + 0 }' "$mnt/events_by_type"; }
has() { [ "$(seen DISPATCH)" = "$1" ]; }
now=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))')
row() { echo "KERNEL_DISPATCH,Agent 4,1,4242,$1,k,$1,$((now - 1000000 + $1 * 100)),$((now - 1000000 + $1 * 100 + 50))"; }

f=watched/host/4194301_kernel_trace.csv
mkdir watched/host
{
	echo Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp
	for i in 1 2 3; do row $i; done
	row 4 | head -c 30
} >$f
ok "a table is read as far as its rows are whole" wait_for 60 has 3
row 4 | tail -c +31 >>$f
ok "… and on when it grows" wait_for 60 has 4
for i in 5 6 7; do row $i; done >>$f
ok "… and again" wait_for 60 has 7
gpu=$mnt/amdgpu-any
[ -d "$gpu" ] || gpu=$(dirname "$(ls -d "$mnt"/*/kernels | head -n 1)")
is "$(value "$gpu/kernels/k/stats" calls)" 7 "each row counts once"
is "$(value "$gpu/kernels/k/stats" exec_ns)" 350 "… with its time"
like "$(cat "$mnt/clocks")" '^rocprof +CLOCK_BOOTTIME ' "its clock is reported"
is "$(grep -c ' DISPATCH ' "$mnt/timeline")" 7 "the timeline has them"
ok "… at the time of this machine's other events" python3 - "$mnt/timeline" "$now" <<'P'
import re, sys, time
off = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
t = [float(re.match(r'\[([0-9.]+)\]', l)[1]) for l in open(sys.argv[1]) if ' DISPATCH ' in l]
assert abs(t[0] - (int(sys.argv[2]) - off) / 1e9) < 60, (t, off)
P
is "$(grep -c 'pid=4194301' "$mnt/timeline")" 0 "a pid that is no such process of theirs is not taken"

# whole files
$results database made.db 500
mv made.db watched/host/9_results.db
ok "a database that is moved there is read" wait_for 60 has 507
mkfifo go
$results writing watched/host/9_results.db 300 500 <go >state &
exec {go}>go
wait_for 60 grep -q writing state
busy() { grep -q '^being_written *rocpd ' "$mnt/backends/rocprof/files"; }
ok "one that is being written is left alone" wait_for 60 busy
is "$(seen DISPATCH)" 507 "… what was there counts"
echo >&$go
exec {go}>&-
wait
ok "… and read on when it has been" wait_for 60 has 807

# others'
ln -s /etc/shadow watched/host/x_kernel_trace.csv
linked() { grep -q 'x_kernel_trace.csv: is a symbolic link' "$mnt/backends/rocprof/problems"; }
ok "a link is named, and not followed" wait_for 60 linked
cp $f watched/88_kernel_trace.csv
chown 12345 watched/88_kernel_trace.csv
ok "a user's results" wait_for 60 has 814
like "$(cat "$mnt/amdgpu-claimed/info")" '^flags claimed$' "… on a GPU of their own: this machine has none that they name"
own() { [ "$(as_uid 12345 ls "$mnt/amdgpu-claimed/kernels" | wc -l)" = 1 ]; }
ok "… are there for that user, and no others" wait_for 60 own
is "$(as_user ls "$gpu" "$mnt/amdgpu-claimed" | grep -c kernels)" 0 "… and for nobody else"

# another folder
echo "$PWD/watched,$PWD/later" >"$mnt/backends/rocprof/dirs"
cp $f later/99_kernel_trace.csv
ok "folders can be added" wait_for 60 has 821
ok "it goes on running" [ "$(cat "$mnt/backends/rocprof/state")" = running ]
umount_gt "$mnt"
done_testing
