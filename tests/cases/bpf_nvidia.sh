#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Queues of NVIDIA's driver from calls of its resource manager, without a driver: the device nodes are
# ours, opened by name only, so that each call enters the kernel and fails; the setting nvidia_any_result
# has such a call count, and the answers are what the caller wrote there itself. The guest has a driver
# that answers (tests/vm/cases/nvidia.sh).
# Alone
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/nvidia.sh"
is_root || skip "needs root to make device nodes"
mknod ctl c 195 255 2>err && mknod other c 1 3 || skip "no device node can be made: $(cat err)"
grep -q '^195 ' /proc/devices && skip "this machine has NVIDIA's driver, whose devices these would be"

mount_gt "$mnt" -o backend=bpf 2>err || skip "BPF cannot be used: $(cat err)"
like "$(cat "$mnt/backends/bpf/stats")" "^nvidia unavailable: no driver has NVIDIA's devices: .*modprobe nvidia" \
	"without a driver that is what it says"
like "$(cat "$mnt/backends/bpf/nvidia_trace")" "^unavailable: no driver has" "the text says so too"
is "$(grep -cxE 'backend_texts|nvidia_queues' "$mnt/features")" 2 "features tells"
umount_gt "$mnt"

# A file that was opened by name only takes no call: who has no right to a device can have one
printf '[backend bpf]\nnvidia_any_result = 1\n' >any.conf
mount_gt "$mnt" -o backend=bpf,conf="$PWD/any.conf" || exit 1
nv_begin ctl
nv alloc 0 0 0xc1d 0x41 0
nv alloc 0xc1d 0xc1d 0x80 $device 0
nv alloc 0xc1d 0x80 0xa0 $tsg 0x0a
nv_end
is "$(value "$mnt/backends/bpf/stats" nvidia_events) $(value "$mnt/backends/bpf/stats" nvidia_records)" "0 0" "calls on such a file are none"
if [ -e /sys/module/nvidia/version ] || [ -e /proc/driver/nvidia/version ]; then
	skip_ok "a driver whose version is not known has none" "this machine has one"
else
	is "$(value "$mnt/backends/bpf/stats" nvidia_driver)" "" "a driver whose version is not known has none"
fi
umount_gt "$mnt"

printf '[backend bpf]\nnvidia_any_result = 1\no_path = 1\n' >any.conf
mount_gt "$mnt" -o backend=bpf,conf="$PWD/any.conf" || exit 1
stats=$mnt/backends/bpf/stats trace=$mnt/backends/bpf/nvidia_trace queues=$mnt/nvidia-any/queues
like "$(cat "$stats")" "^nvidia running: .*tracepoints of ioctl\(\).*no hooks" "what it sees"
is "$(tail -n 7 "$trace")" "=== Statistics ===
task_init:    0
bind:         0
token_request: 0
task_destroy: 0
dropped:      0
read_failed:  0" "nothing yet"

first=2147483648 began=$(($(date +%s) - 2))
nv_begin ctl
nv alloc 0 0 0xc1d 0x41 0
is "$nv_answer" "9 0 0xc1d" "a call on a device that nobody answers for: EBADF"
nv alloc 0xc1d 0xc1d 0x80 $device 0
nv alloc 0xc1d 0x80 0xa0 $tsg 0x0a
nv alloc 0xc1d 0xa0 0xc0 $channel 0
nv layout xfer
nv alloc 0xc1d 0xa0 0xc1 $channel 0
nv layout 32
nv alloc 0xc1d 0xa0 0xc2 $channel 0
ok "a queue with its channels, in every layout of the call" wait_for 20 reads "$queues/$first/channels" 3
is "$(cat "$queues/$first/"{type,engine,state,pid,uid})" "tsg
COPY
created
$nv_pid
0" "what it is, and whose"
ok "… no runlist, which the call does not tell" test ! -e "$queues/$first/runlist"
ok "… nor a level" test ! -e "$queues/$first/interleave"
nv control 0xc1d 0xa0 $schedule 1
nv control 0xc1d 0xa0 $set_timeslice 2048
nv control 0xc1d 0xa0 $set_interleave 2
ok "it is scheduled" wait_for 20 reads "$queues/$first/interleave" HIGH
is "$(cat "$queues/$first/"{state,timeslice_us})" "mapped
2048" "with a timeslice"
nv status 3
nv control 0xc1d 0xa0 $schedule 1
nv alloc 0xc1d 0x80 0xa1 $tsg 1
nv free 0xc1d 0xa0
nv status 0
ok "refused" wait_for 20 reads "$queues/$first/state" denied
nv control 0xc1d 0xc0 $get_token 1073741826
nv thread free 0xc1d 0xa0
ok "another thread ends it" wait_for 20 reads "$queues/$first/state" destroyed
is "$(ls "$queues")" $first "what failed made none, and ended none"

cat "$trace" >trace.txt
line() { # line NUMBER
	sed -n "$1s/^[0-9:]*\.[0-9]* \[CPU[0-9]*\] //p" trace.txt
}
who=$(printf 'PID=%-6u %-16s TSG=-   ' "$nv_pid" nvcalls)
is "$(line 1)" "TASK_INIT    $who engine=COPY1   " "as gpu_sched_trace prints it: INIT"
is "$(line 2)" "BIND         $who channels=3 allowed=yes" "BIND"
is "$(line 3)" "BIND         $who channels=3 allowed=no" "refused"
is "$(line 4)" "TOKEN_REQ    $who token=1073741826" "TOKEN_REQ"
is "$(line 5)" "TASK_DESTROY $who" "DESTROY"
like "$(cat trace.txt)" "^task_destroy: 1" "statistics"
at=$(date -d "today $(sed -n '1s/ .*//p' trace.txt)" +%s) now=$(date +%s)
# Of the day, which may have ended since
ok "the time is when it was" test $(((at - began + 86400) % 86400)) -le $((now + 2 - began))
# Whose processes these are is for those who may know of all
as_user cat "$trace" >seen 2>err
is "$(cat seen)" "" "an ordinary user sees no lines"
like "$(cat err)" "Permission denied" "and is refused"
is "$(as_user cat "$queues/$first/engine")" COPY "but the queue is there"
is "$(as_user cat "$queues/$first/pid" 2>&1 | sed 's/.*: //')" "No such file or directory" "without its owner"

# The end of a file is the end of what came by it
nv alloc 0xc1d 0x80 0xa2 $tsg 1
ok "another queue, of an id that is free" wait_for 20 reads "$queues/$first/state" created
is "$(cat "$queues/$first/engine")" GRAPHICS "a new one"
nv dup
nv close
nv swap
nv alloc 0xc1d 0x80 0xa1 $tsg 1
ok "one of two descriptors is closed: the other goes on" wait_for 20 reads "$queues/$((first + 1))/state" created
is "$(cat "$queues/$first/state")" created "and nothing has gone"
nv close
ok "is gone with the file" wait_for 20 reads "$queues/$first/state" destroyed
nv open
nv alloc 0 0 0xc1e 0x41 0
nv alloc 0xc1e 0xc1e 0x80 $device 0
nv alloc 0xc1e 0x80 0xa3 $tsg 1
ok "a third" wait_for 20 reads "$queues/$first/state" created
one=$nv_pid one_in=$nv_in
# Another process with the same handles, and another device
nv_begin other
nv alloc 0 0 0xc1e 0x41 0
nv alloc 0xc1e 0x80 0xa3 $tsg 1
nv_end
nv_begin ctl setpriv --reuid 65534 --regid 65534 --clear-groups
nv free 0xc1e 0xa3
nv alloc 0xc1e 0x80 0xa3 $tsg 0x0b
ok "another process may say what it likes of its own" wait_for 20 reads "$queues/$((first + 1))/pid" "$nv_pid"
is "$(cat "$queues/$first/"{pid,state})" "$one
created" "not of others'"
nv_kill
ok "killed: its queue is gone" wait_for 20 reads "$queues/$((first + 1))/state" destroyed
is "$(cat "$queues/$first/state")" created "and no other's"

nv_pid=$one nv_in=$one_in
nv_end
ok "the end of the process" wait_for 20 reads "$queues/$first/state" destroyed

# What ended in a pause is looked for at its end
nv_begin ctl
nv alloc 0 0 0xc1f 0x41 0
nv alloc 0xc1f 0xc1f 0x80 $device 0
nv alloc 0xc1f 0x80 0xa4 $tsg 1
alive() { [ "$(value "$stats" nvidia_queues)" = "$1" ]; }
ok "a queue lives" wait_for 20 alive 1
echo stop >"$mnt/control"
nv_end
ok "of its end in a pause nothing is reported" alive 1
echo start >"$mnt/control"
ok "the end of the pause finds out" wait_for 20 alive 0

# One user's processes leave room for others'
nv_begin ctl setpriv --reuid 65534 --regid 65534 --clear-groups
before=$(value "$stats" nvidia_processes_refused)
nv many 1100 alloc 0 0 0xc20 0x41 0
is "$nv_answer" 1100 "1100 processes of a user"
refused() { [ "$(value "$stats" nvidia_processes_refused)" = "$1" ]; }
ok "have a share of 1024, and the rest is counted" wait_for 20 refused $((before + 76))
crowd=$nv_pid crowd_in=$nv_in
nv_begin ctl setpriv --reuid 65533 --regid 65533 --clear-groups
nv alloc 0 0 0xc20 0x41 0
nv alloc 0xc20 0xc20 0x80 $device 0
nv alloc 0xc20 0x80 0xa5 $tsg 1
ok "another user's queue is seen" wait_for 20 alive 1
nv_end
ok "and its end" wait_for 20 alive 0
nv_pid=$crowd nv_in=$crowd_in
nv_end
is "$(value "$stats" nvidia_calls_refused)" 0 "no call was without room"

# Each is counted
seen() { awk -v t="$1" '$1 == t { print $2 }' "$mnt/events_by_type"; }
before=$(seen QUEUE_CREATE)
is "$before" 7 "calls on other devices make none"
{
	echo "alloc 0 0 1 0x41 0"
	echo "alloc 1 1 2 $device 0"
	for ((i = 0; i < 2000; i++)); do
		echo "alloc 1 2 3 $tsg 1"
		echo "free 1 3"
	done
} | "$nvcalls" ctl >/dev/null
all_seen() { [ "$(seen QUEUE_CREATE) $(seen QUEUE_DESTROY)" = "$((before + 2000)) $((before + 2000))" ]; }
ok "2000 queues, each made and ended" wait_for 20 all_seen
is "$(ls "$queues" | wc -l)" 2 "take no more room than one"
like "$(cat "$stats")" "^nvidia_queues_refused 0" "none was refused"
is "$(value "$stats" nvidia_read_failed) $(value "$stats" nvidia_lost)" "0 0" "nor lost"

done_testing
