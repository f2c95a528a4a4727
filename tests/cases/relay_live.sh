#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace live, without its module: a folder of files as it has them, which grow. What is written to them is in the
# tree as computed; sessions, losses, CPUs and the folder come and go; grtrace is started and stopped; who else
# reads is reported; and where the kernel forbids relay files, that is reported.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
jobs="python3 $GT_SRC/tests/lib/jobs.py"
grtrace="python3 $GT_SRC/tests/lib/grtrace.py"
fake=$PWD/fake
stat_of() { value "$mnt/backends/relay/stats" "$1"; }
make_fake() {
	mkdir -p "$fake"
	for f in events0 events1 events2 events3; do : >"$fake/$f"; done
	echo 0 >"$fake/enabled"
	echo normal >"$fake/level"
	echo 4194304 >"$fake/buffer_size"
	echo stop >"$fake/control"
}
# a daemon that does not run meanwhile finds all of it at once, as if it had come at its time
batch() { # batch TRACE SESSION
	kill -STOP "$daemon"
	$grtrace live "$1" "$fake" "$2"
	kill -CONT "$daemon"
}
submits() { awk '$1 == "SUBMIT" { print $2 }' "$mnt/events_by_type"; }
has() { [ "$(submits)" = "$1" ]; }

$jobs generate 7 >invented.txt
n=$(grep -c amdgpu_cs_ioctl invented.txt)
printf '[backend relay]\npath = %s\nbuffer_size = 65536\n' "$fake" >conf
mkdir "$mnt"
"$GT_PROG" "$mnt" -o backend=relay,conf=conf 2>err && mounts+=("$mnt")
like "$(cat err "$mnt/doctor" 2>/dev/null)" "there is no $fake: grtrace is not loaded" "without its folder it says what to do"
make_fake
if mountpoint -q "$mnt"; then echo rescan >"$mnt/control"; else mount_gt "$mnt" -o backend=relay,conf=conf || exit 1; fi
is "$(cat "$mnt/backends/relay/state")" running "with it, it runs" || exit 1
daemon=$(pgrep -f "mount.gputrace $mnt ")
is "$(stat_of files)" 4 "it reads each CPU's file"
is "$(cat "$fake/control")" start "tracing is started"
is "$(cat "$fake/buffer_size") $(cat "$mnt/config/buffer_size")" "65536 65536" "with the buffer that was asked for"
is "$(stat_of tracing)" started-here "… and says so"

batch invented.txt 1
ok "the tree has each submission" wait_for 60 has "$n"
ok "as computed" wait_for 60 $jobs compare invented.txt "$mnt/amdgpu0"
is "$(value "$mnt/status" events_lost_source)" 0 "nothing is lost"
is "$(stat_of damaged) $(stat_of records_out_of_order)" "0 0" "nor damaged, nor late"
is "$(stat_of session)" 1 "the session is known"

batch invented.txt 2
ok "another session in the same files" wait_for 60 has $((2 * n))
is "$(stat_of sessions)" 8 "… is one in each of them"
is "$(value "$mnt/status" events_lost_source)" 0 "… and loses nothing"

# What was written before a pause was observed, whether it was read or not. With nothing to read a daemon looks twice
# a second only, so all that comes at once is unread.
later() { # later SESSION - $came is what has yet to come
	came=$PWD/came
	mkdir -p "$came"
	$grtrace live invented.txt "$came" "$1"
	local drains
	drains=$(stat_of drains)
	idle() { [ "$(stat_of drains)" -ge $((drains + 8)) ]; }
	wait_for 60 idle
}
later 3
for f in events0 events1 events2 events3; do cat "$came/$f" >>"$fake/$f"; done
echo off >"$mnt/config/level"
ok "what is in the files is in the tree when the level is off" has $((3 * n))
is "$(value "$mnt/status" events_filtered_level)" 0 "… and was recorded"
echo normal >"$mnt/config/level"
for i in 4 5 6; do # a second goes by between two looks at the folder
	echo stop >"$mnt/control"
	rm "$fake"/events[0-3]
	for f in events0 events1 events2 events3; do : >"$fake/$f"; done
	echo start >"$mnt/control"
	$grtrace live invented.txt "$fake" $i
done
echo stop >"$mnt/control"
ok "when it starts again grtrace's new files are read at once" has $((6 * n))
echo start >"$mnt/control"

: >"$fake/control"
echo 131072 >"$mnt/config/buffer_size"
is "$(cat "$fake/buffer_size") $(cat "$mnt/backends/relay/buffer_size" "$fake/control" | xargs)" "131072 131072 start" "another size of buffer is asked of it"
is "$(value "$mnt/status" events_lost_source)" 0 "… and no number of events is made up for what is lost meanwhile"
: >"$fake/control"
echo 131072 >"$mnt/config/buffer_size"
is "$(cat "$fake/control")" "" "the size that it has is asked without an end of tracing"
mv "$fake/control" control
mkdir "$fake/control"
ok "where it does not start again, that is an error" eval '! echo 262144 >"$mnt/config/buffer_size"'
like "$(cat "$mnt/backends/relay/last_error")" "could not be started again" "… which is reported"
rmdir "$fake/control"
mv control "$fake/control"
echo 131072 >"$mnt/config/buffer_size"
is "$(cat "$fake/control") $(stat_of tracing)" "start started-here" "… and mended by the next"
was=$(stat_of files)
: >"$fake/events4"
files() { [ "$(stat_of files)" = "$1" ]; }
ok "a CPU that comes is read" wait_for 60 files $((was + 1))

# A link leads to what is somebody else's, and a FIFO to whoever writes to it, or nobody
ln -s "$PWD/invented.txt" "$fake/events5"
mkdir "$fake/events7"
mkfifo "$fake/events6"
ok "a FIFO is read, a link and a folder are not" wait_for 60 files $((was + 2))
# when its writer has gone it is ready for ever
waited_for() {
	local fd
	for fd in $(cat /proc/"$daemon"/fdinfo/* | awk '$1 == "tfd:" { print $2 }'); do
		[ "$(readlink "/proc/$daemon/fd/$fd")" != "$fake/events6" ] || return 0
	done
	return 1
}
ok "… and not waited for, as that would not end" eval '! wait_for 1 waited_for'

# More processes than it looks at in one go lie in front of that one
setsid python3 -c 'import os, signal
for _ in range(1000):
    if not os.fork():
        signal.pause()
open("crowded", "w")
signal.pause()' & crowd=$!
wait_for 60 test -e crowded
sleep 1000 <"$fake/events1" & reader=$!
reported() { grep -q "^other_readers 1$" "$mnt/backends/relay/stats"; }
ok "another reader is reported" wait_for 120 reported
ok "… and keeps its buffers" eval '! echo 262144 >"$mnt/config/buffer_size"'
is "$(cat "$fake/control") $(cat "$fake/buffer_size")" "start 131072" "… without an end of tracing"
is "$(cat "$mnt/config/buffer_size")" 131072 "… which is what config tells"
kill -KILL $reader -- -$crowd
wait $reader $crowd 2>/dev/null

echo verbose >"$mnt/config/level"
like "$(cat "$fake/level")" "^verbose" "at level verbose grtrace tells more"
echo normal >"$mnt/config/level"
like "$(cat "$fake/level")" "^normal" "… and less again"
echo stats >"$fake/level"
like "$(cat "$mnt/doctor")" "left_out_by_grtrace level is stats" "what grtrace leaves out is reported"
echo normal >"$fake/level"
printf '%s\n' '# tracepoint module hooked arguments reason' 'drm_run_job gpu_sched 1 fits -' 'drm_sched_job gpu_sched 0 refused it has 3 arguments instead of 2' \
	'virtio_gpu_cmd_queue virtio_gpu 0 unverified its module was not built with this kernel' >"$fake/tracepoints"
like "$(cat "$mnt/doctor")" "tracepoint_refused drm_sched_job of gpu_sched: it has 3 arguments instead of 2$" "a tracepoint that grtrace does not hook is named"
like "$(cat "$mnt/backends/relay/stats")" "tracepoint_unverified virtio_gpu_cmd_queue of virtio_gpu: its module was not built with this kernel; .*hook_unverified=1" "… and one that it cannot check"
is "$(grep -c '^ *tracepoint_' "$mnt/backends/relay/stats")" 2 "… and no other"
rm "$fake/tracepoints"
umount_gt "$mnt"
like "$(cat "$fake/control")" "^stop" "tracing is stopped in the end"

make_fake
echo 1 >"$fake/enabled"
mount_gt "$mnt" -o backend=relay,conf=conf
is "$(cat "$fake/control") $(stat_of tracing)" "stop not-started-here" "tracing that was on is not begun"
ok "… and its buffers are left alone" eval '! echo 131072 >"$mnt/config/buffer_size"'
is "$(cat "$fake/buffer_size") $(cat "$mnt/config/buffer_size")" "4194304 4194304" "… which is what config tells"
umount_gt "$mnt"

mv "$fake/events1" events1
ln -s "$PWD/events1" "$fake/events1"
rm -r "$fake"/events[02-7]
mount_gt "$mnt" -o backend=relay:sim,conf=conf
like "$(cat "$mnt/doctor")" "is a link, a folder or a device" "where there are links only, that is reported"
umount_gt "$mnt"
rm "$fake/events1"
make_fake

exec 5<"$fake/events0"
mount_gt "$mnt" -o backend=relay,conf=conf
like "$(cat "$mnt/backends/relay/last_error")" "take each other's records" "who reads already is reported at the start"
exec 5<&-
umount_gt "$mnt"

secure=/sys/kernel/security
cleanup() { [ -z "$ours" ] || umount $secure; }
ours=
[ -e $secure/lockdown ] || { mount -t securityfs none $secure 2>/dev/null && ours=1; }
if grep -qsF -e '[integrity]' -e '[confidentiality]' $secure/lockdown; then
	mount_gt "$mnt" -o backend=relay:sim
	like "$(grep -A1 '^backend relay' "$mnt/doctor")" "locked down .* forbids relay files.* instead" "doctor reports lockdown, and who serves instead"
	umount_gt "$mnt"
else
	skip_ok "doctor reports lockdown" "this kernel is not locked down"
fi
done_testing
