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
like "$(cat "$mnt/last_cmd_status")" '^ok$' "… and that is reported"
is "$(stat -c '%a %u' "$jobs" "$job" "$job/program" "$job/command" | tr '\n' ' ')" "1777 0 550 0 640 0 440 0 " "modes are as of what a user makes"
ok "one is there once" sh -c "! mkdir $job 2>/dev/null"
for name in .hidden 'a b' 'a~0' $'a\nb' "$(printf 'x%.0s' {1..64})"; do
	ok "no name: ${name//$'\n'/ }" sh -c '! mkdir "$1" 2>/dev/null' sh "$jobs/$name"
done
like "$(cat "$mnt/last_cmd_status")" 'jobs/x+: a name is 1 to 63 of A-Z' "last_cmd_status says why"
ok "nothing is made elsewhere" sh -c "! mkdir $mnt/x $mnt/backends/x $job/x 2>/dev/null"
ok "no file is made" sh -c "! touch $jobs/f $job/f 2>/dev/null"
ok "its files stay" sh -c "! rm -f $job/program 2>/dev/null"
ok "README has it" grep -q 'jobs/<name>/kernel_include .*(may be written)' "$mnt/README"
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
like "$(as_user cat "$mnt/last_cmd_status")" 'uid 65534 has 8 already: rmdir one' "… and reads so"
for u in {20001..20012}; do
	for i in 1 2 3 4 5 6 7 8; do as_uid $u mkdir "$jobs/$i" 2>/dev/null; done
done
is "$(ls "$jobs" | wc -l)" 49 "all have 48 at most, root one more"
ok "… and those who come late some of them" [ "$(as_uid 20006 ls "$jobs" | wc -l)" -ge 1 ]
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

# results: picked up where the job has them go, and what is missing in them
printf '%s\n' Kind,Agent_Id,Queue_Id,Kernel_Name,Start_Timestamp,End_Timestamp >head
rows() { # rows KERNEL N
	cat head
	for i in $(seq "$2"); do echo "KERNEL_DISPATCH,Agent 4,1,$1,${i}000,${i}500"; done
}
mkdir -m 777 place
own=$PWD/place/out
job=$jobs/a
mount_gt "$mnt" -o backend=rocprof:sim || exit 1
watched() { cat /proc/"$(pgrep -f "mount.gputrace $mnt ")"/fdinfo/* 2>/dev/null | grep -c '^inotify'; }
before=$(watched)
unwatched() { [ "$(watched)" = "$before" ]; }
as_uid 12345 mkdir "$job"
reported() { as_uid 12345 cat "$job/problems" | grep -q "$1"; }
none() { ! reported "$1"; }
put() { as_uid 12345 sh -c "echo '$2' >$job/$1"; }
is "$(as_uid 12345 cat "$job/problems")" "# problem what is missing, and what to change
no_folder output_directory is not set: results are not picked up" "problems begin with what is not set"
is "$(cat "$mnt/backends/rocprof/state")" unavailable "with no folder to watch the backend waits"
put output_directory "$own"
is "$(cat "$mnt/backends/rocprof/state")" running "a job that has one starts it"
ok "a folder that is not there is reported" wait_for 60 reported '^no_folder there is no folder of uid 12345 by'
as_uid 12345 mkdir "$own"
ok "… and found when it is" wait_for 60 reported '^nothing no result is there yet: run command'
put att_buffer_size 1048576
as_uid 12345 truncate -s 1M "$own/7_agent_shader_engine_0_1.att"
ok "raw traces alone: the decoder is missing" wait_for 60 reported '^no_decoder 1 .att files, and no ui_output_agent'
ok "… and the buffer was too small" reported '^truncated .*write 2097152 to that'
put att_buffer_size 2097152
ok "… unless there was room" none '^truncated'
rm "$own"/*.att
put att 1
put kernel_include gemm
rows other 4 >t.csv
as_uid 12345 sh -c "cat t.csv >$own/.x && mv $own/.x $own/7_kernel_trace.csv"
ok "an expression that means no kernel" wait_for 60 reported '^no_match 4 kernels ran, none has kernel_include'
gpu=$mnt/amdgpu-any
[ -d "$gpu" ] || gpu=$(dirname "$(ls -d "$mnt"/*/kernels | head -n 1)")
is "$(as_uid 12345 cat "$gpu/kernels/other/stats" | awk '$1 == "calls" { print $2 }')" 4 "its results are its user's kernels"
is "$(as_user ls "$gpu" | grep -c kernels)" 0 "… and nobody else's"
put kernel_include 'ot.*'
ok "of an expression it is not known here" reported '^no_match 4 kernels ran, none was traced: .* or kernel_iterations is past'
put kernel_include other
put kernel_iterations 6-8
rm "$own/7_kernel_trace.csv"
ok "what is gone is gone" wait_for 60 reported '^nothing'
as_uid 12345 sh -c "cat t.csv >$own/.x && mv $own/.x $own/8_kernel_trace.csv"
ok "iterations that never were" wait_for 60 reported '^iterations kernel_iterations begins at 6, and what kernel_include means ran 4 times'
trace=$own/ui_output_agent_5_dispatch_1
as_uid 12345 mkdir "$trace"
ok "an empty trace" wait_for 60 reported '^empty_trace 1 of 1 ui_output_agent_\* have no code.json'
echo '{"code":[["; _Z",0,0,"other",4,0,0,0,0,0],["s_nop",0,1,"",4,0,16,68,4,496],["s_endpgm",0,2,null,4,8,8,100,0,1]],"version":"3.0.0"}' >c
as_uid 12345 sh -c "cat c >$trace/x && mv $trace/x $trace/code.json"
ok "no source of instructions" wait_for 60 reported '^no_source 2 instructions, none with a source line: env needs'
ok "… which is the only thing wrong" none '^\(empty_trace\|iterations\|no_match\)'
sed 's/"",4/"a.py:1",4/' c >d
as_uid 12345 sh -c "cat d >$trace/x && mv $trace/x $trace/code.json"
ok "… until there is" wait_for 60 none '^no_source'
is "$(as_uid 12345 grep -vc '^#' "$job/problems")" 0 "a good result has no problem"
put counters TCC_HIT_sum
ok "no counters" reported '^no_counters no counter_collection.csv'
echo nonsense >bad
as_uid 12345 sh -c "cat bad >$own/9_counter_collection.csv"
ok "a file that cannot be read" wait_for 60 reported '^file 9_counter_collection.csv refused: '
rows roots 3 >"$own/10_kernel_trace.csv"
ok "another's files in it are reported" wait_for 60 reported '^others 1 files or folders are not uid 12345'
is "$(ls "$gpu/kernels" | grep -c roots)" 0 "… and not looked at"
put output_format pftrace
ok "a format that is not read" reported '^format nothing in output_format is read here'

# folders of others
mkdir -m 755 roots
rows secret 3 >roots/1_kernel_trace.csv
chown 12345 roots/1_kernel_trace.csv
put output_directory "$PWD/roots"
ok "a folder of another user's is none" wait_for 60 reported '^no_folder there is no folder of uid 12345'
as_uid 12345 ln -s "$PWD/roots" place/link
put output_directory "$PWD/place/link"
ok "… by a link neither" wait_for 60 reported '^no_folder there is no folder of uid 12345'
# Somebody's file system may never answer, and ours waits for who looks: neither is entered
mkdir -p place/asks && "$GT_OUT/tests/tools/gpuioctl" serve "$PWD/place/asks"
pkill -STOP -f "gpuioctl serve $PWD/place/asks"
put output_directory "$PWD/place/asks/gpu"
ok "a folder of a file system that a program answers for is none" wait_for 60 reported '^no_folder there is no folder of uid 12345'
put output_directory "$PWD/place/asks"
ok "… nor where it is mounted" wait_for 60 reported '^no_folder there is no folder of uid 12345'
echo rescan >"$mnt/control"
ok "… also when all is looked for anew" wait_for 60 reported '^no_folder'
umount -l place/asks
pkill -KILL -f "gpuioctl serve $PWD/place/asks"
mkdir place/disk
if mount -t tmpfs -o uid=12345,mode=755 gputrace-test place/disk; then
	rows mounted 3 >place/disk/1_kernel_trace.csv
	chown 12345 place/disk/1_kernel_trace.csv
	put output_directory "$PWD/place/disk"
	mounted_in() { grep -q mounted "$gpu/kernel_stats"; }
	ok "a folder on a disk that was mounted meanwhile is one" wait_for 60 mounted_in
	put output_directory ""
	ok "… which is let go of" wait_for 60 umount place/disk
else
	skip_ok "a folder on a disk that was mounted meanwhile" "no mounts here"
fi
put output_directory "$mnt/backends/rocprof"
ok "… nor our own" wait_for 60 reported '^no_folder there is no folder of uid 12345'
as_uid 12345 mkdir place/deep
as_uid 12345 ln -s "$PWD/roots" place/deep/link
mkdir place/deep/roots
rows secret 3 >place/deep/roots/1_kernel_trace.csv
put output_directory "$PWD/place/deep"
ok "… nor in one's own" wait_for 60 reported "^others 1 files or folders"
is "$(ls "$gpu/kernels" | grep -c secret)" 0 "… and nothing of them is read"
as_uid 12345 mkdir place/many
as_uid 12345 sh -c 'cd place/many && seq -f d%g 2000 | xargs mkdir'
put output_directory "$PWD/place/many"
some() { [ "$(watched)" -gt $((before + 5)) ]; }
ok "of thousands of folders some are watched" wait_for 60 some
ok "… not all" [ "$(watched)" -le $((before + 40)) ]
as_uid 12345 rmdir "$job"
ok "what is looked at no more is not watched" wait_for 60 unwatched
ok "it goes on running" [ "$(cat "$mnt/backends/rocprof/state")" = running ]
umount_gt "$mnt"
ok "a recording has no jobs" test ! -d "$jobs"
mount_gt "$mnt" -o replay="$GT_SRC/tests/data/replay/sched_6.12.txt" || exit 1
ok "… when it is mounted, either" test ! -d "$jobs"
umount_gt "$mnt"
done_testing
