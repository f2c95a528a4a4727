#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Asking rocprofv3: jobs made with mkdir, their settings, the file and the lines that they give.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

chmod 755 .
mount_gt "$mnt" -o backend=rocprof:sim || exit 1
jobs=$mnt/backends/rocprof/jobs

# mkdir and rmdir
job=$jobs/a
ok "mkdir makes a job" mkdir "$job"
is "$(ls "$jobs")" a "… which is there"
like "$(cat "$mnt/last_cmd_status")" '^ok$' "… and that is told"
is "$(stat -c '%a %u' "$jobs" "$job" "$job/program" "$job/command" | tr '\n' ' ')" "1777 0 550 0 640 0 440 0 " "modes are as of what a user makes"
ok "one is there once" sh -c "! mkdir $job 2>/dev/null"
for name in .hidden 'a b' 'a~0' $'a\nb' "$(printf 'x%.0s' {1..64})"; do
	ok "no name: ${name//$'\n'/ }" sh -c '! mkdir "$1" 2>/dev/null' sh "$jobs/$name"
done
like "$(cat "$mnt/last_cmd_status")" 'jobs/x+: a name is 1 to 63 of A-Z' "last_cmd_status says why"
ok "nothing is made elsewhere" sh -c "! mkdir $mnt/x $mnt/backends/x $job/x 2>/dev/null"
ok "no file is made" sh -c "! touch $jobs/f $job/f 2>/dev/null"
ok "its files stay" sh -c "! rm -f $job/program 2>/dev/null"
ok "README tells of it" grep -q 'jobs/<name>/kernel_include .*(may be written)' "$mnt/README"
exec 9>>"$job/counters"
ok "rmdir removes it" rmdir "$job"
is "$(ls "$jobs")" "" "… and it is gone"
ok "… also for who has it open" sh -c "! echo x >&9 2>/dev/null"
exec 9<&-
ok "it can be made again" mkdir "$job"

# users
ok "anybody makes their own" as_uid 12345 mkdir "$jobs/mine" "$jobs/a"
ok "… writes it" as_uid 12345 sh -c "echo gemm >$jobs/a/kernel_include"
is "$(as_uid 12345 ls "$jobs" | tr '\n' ' ')" "a mine " "… sees theirs alone"
is "$(ls "$jobs" | tr '\n' ' ')" "a a~12345 mine~12345 " "root sees all, and whose they are"
is "$(cat "$job/kernel_include") $(cat "$jobs/a~12345/kernel_include")" " gemm" "… each with its own settings"
is "$(as_user ls "$jobs")" "" "others see nothing"
ok "… reach nothing" sh -c "! setpriv --reuid 65534 --regid 65534 --clear-groups ls '$jobs/mine' '$jobs/mine~12345' 2>/dev/null"
ok "… take no name from anybody" as_user mkdir "$jobs/mine"
ok "… remove nothing" sh -c "! setpriv --reuid 65534 --regid 65534 --clear-groups rmdir '$jobs/a' '$jobs/mine~12345' 2>/dev/null"
for i in 2 3 4 5 6 7 8; do as_user mkdir "$jobs/n$i"; done
ok "a user has 8 at most" sh -c "! setpriv --reuid 65534 --regid 65534 --clear-groups mkdir $jobs/n9 2>err"
like "$(as_user cat "$mnt/last_cmd_status")" 'uid 65534 has 8 already: rmdir one' "… and is told so"
for u in 20001 20002 20003 20004 20005; do
	for i in 1 2 3 4 5 6 7 8; do as_uid $u mkdir "$jobs/$i" 2>/dev/null; done
done
is "$(ls "$jobs" | wc -l)" 48 "all have 48 at most"
ok "root still makes one" mkdir "$jobs/roots"
for d in "$jobs"/*~2000?; do rmdir "$d"; done
ok "root removes others'" [ "$(ls "$jobs" | wc -l)" = 12 ]
umount_gt "$mnt"
mount_gt "$mnt" -o backend=rocprof:sim,visibility=all || exit 1
is "$(ls "$jobs")" "" "they end with the mount"
as_uid 12345 mkdir "$jobs/a"
ok "with visibility=all others look" as_user grep -q 'rocprofv3' "$jobs/a~12345/command"
ok "… and write nothing" sh -c "! setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'echo x >$jobs/a~12345/program' 2>/dev/null"

# settings
mkdir "$job"
python_checks "$GT_SRC/tests/lib/rocprofjobs.py" "$job" "$mnt"
umount_gt "$mnt"
ok "a recording has no jobs" test ! -d "$jobs"
mount_gt "$mnt" -o replay="$GT_SRC/tests/data/replay/sched_6.12.txt" || exit 1
ok "… when it is mounted, either" test ! -d "$jobs"
umount_gt "$mnt"
done_testing
