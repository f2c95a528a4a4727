#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# NVIDIA's queues with a driver that answers (tests/vm/mocknv): document 004's run through the hooks of the
# patched module, the same hooks by their older names, and a stock module, whose calls alone tell.
# Early
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/nvidia.sh"
[ "${GT_GUEST-}" = 1 ] || skip "the mock driver is for guests (tests/vm/run.sh)"

ctl=/dev/nvidiactl
stats=$mnt/backends/bpf/stats trace=$mnt/backends/bpf/nvidia_trace queues=$mnt/nvidia-any/queues
functions=/sys/kernel/tracing/available_filter_functions
unload() { # fails while anybody has its device open
	local m ret=0
	for m in nvidia nvidia_old nvidia_stock; do
		[ ! -d /sys/module/$m ] || rmmod $m || ret=1
	done
	return $ret
}
gone_all() { ! pgrep -f "^$nvcalls $ctl\$" >/dev/null; }
cleanup() {
	mountpoint -q $functions && umount $functions
	[ ${#started[@]} = 0 ] || kill -KILL "${started[@]}" 2>/dev/null
	wait_for 20 gone_all
	unload
	rm -f $ctl
}
says() { grep -qE "$1" "$stats"; }
all_destroyed() { [ -z "$(cat "$queues"/*/state | grep -v destroyed)" ]; }
group() { # group HANDLE ENGINE NUMBER CHANNELS - with its channels
	local i
	nv alloc 0xc1d 0x80 "$1" $tsg "$2" "$3"
	for ((i = 0; i < $4; i++)); do nv alloc 0xc1d "$1" $(($1 * 16 + i)) $channel 0; done
}
started=()
begin() { # a process with a client and a device
	nv_begin $ctl "$@"
	started+=("$nv_pid")
	nv alloc 0 0 0xc1d 0x41 0
	nv alloc 0xc1d 0xc1d 0x80 $device 0
}

modprobe fuse
ok "the patched module is loaded" insmod "$GT_MODULES/nvidia.ko" || exit 1
mknod -m 666 $ctl c 195 255
begin # one from before the daemon
group 0xa0 0x0b 5 1
old=$nv_pid old_in=$nv_in
mount_gt "$mnt" -o backend=bpf || exit 1
like "$(cat "$stats")" '^nvidia running: RM calls by nvidia_unlocked_ioctl\(\), end of files by nvidia_close\(\), hooks of the patched module$' "what is seen"
like "$(cat "$stats")" '^nvidia_driver 575$' "the driver's version"

# Document 004
begin
doc=$nv_pid doc_in=$nv_in doc_out=$nv_out
group 0xa0 0x0b 2 0
is "$nv_answer" "0 0 0xa0" "a call succeeds"
group 0xa1 0x0c 0 0
group 0xa2 1 1 8
nv control 0xc1d 0xa2 $schedule 1
group 0xa3 0x0b 3 4
nv control 0xc1d 0xa3 $schedule 1
group 0xa4 0x0c 1 4
nv control 0xc1d 0xa4 $schedule 1
q() { echo "$queues/$(($1 << 16 | $2))"; } # q RUNLIST TSG
ok "the last queue" wait_for 20 reads "$(q 14 1)/state" mapped
is "$(ls "$queues" | sort -n | paste -sd ' ')" "1 851970 851971 917504 917505" "five queues, by runlist and number"
is "$(cat "$(q 0 1)/"{type,engine,runlist,timeslice_us,interleave,channels,state,pid,uid})" "tsg
GRAPHICS
0
1024
MEDIUM
8
mapped
$nv_pid
0" "the document's COPY with LOW is graphics with MEDIUM"
is "$(cat "$(q 13 3)/"{engine,runlist,channels,interleave})" "COPY
13
4
MEDIUM" "its UNKNOWN is a copy engine"
is "$(cat "$(q 13 2)/"{engine,state})" "COPY
created" "one that was not scheduled"
nv thread free 0xc1d 0xa1
ok "destroyed from another thread" wait_for 20 reads "$(q 14 0)/state" destroyed
nv thread free 0xc1d 0xa0
nv thread free 0xc1d 0xa4
ok "one of two TSG 1" wait_for 20 reads "$(q 14 1)/state" destroyed
is "$(cat "$(q 0 1)/state")" mapped "the other stays"
nv thread free 0xc1d 0xa3
nv thread free 0xc1d 0xa2
ok "all are gone" wait_for 20 all_destroyed
like "$(cat "$stats")" '^ioctl_nvidia_by kprobe nvidia_unlocked_ioctl$' "its calls themselves are reported where the driver takes them"
calls() { grep -c "IOCTL_EXIT .*pid=$nv_pid .* result=0 inside_ns=[0-9]* command=NV_ESC_RM_$1" "$mnt/timeline"; }
all_calls() { [ "$(calls ALLOC) $(calls CONTROL) $(calls FREE)" = "23 3 5" ]; }
ok "each, by name" wait_for 20 all_calls
is "$(value "$stats" ioctl_no_gpu)" 0 "none is of no GPU"
sed -n "s/^[0-9:.]* \[CPU[0-9]*\] //; s/ PID=$nv_pid *nvcalls  */ /; s/ *\$//; /^=/q; /./p" "$trace" | grep -v '^=' >lines
cat >wanted <<'L'
TASK_INIT    TSG=2    engine=COPY2    timeslice=1024 us interleave=LOW runlist=13
TASK_INIT    TSG=0    engine=COPY3    timeslice=1024 us interleave=LOW runlist=14
TASK_INIT    TSG=1    engine=GR0      timeslice=1024 us interleave=LOW runlist=0
BIND         TSG=1    channels=8 timeslice=1024 us interleave=MEDIUM allowed=yes
TASK_INIT    TSG=3    engine=COPY2    timeslice=1024 us interleave=LOW runlist=13
BIND         TSG=3    channels=4 timeslice=1024 us interleave=MEDIUM allowed=yes
TASK_INIT    TSG=1    engine=COPY3    timeslice=1024 us interleave=LOW runlist=14
BIND         TSG=1    channels=4 timeslice=1024 us interleave=MEDIUM allowed=yes
TASK_DESTROY TSG=0
TASK_DESTROY TSG=2
TASK_DESTROY TSG=1
TASK_DESTROY TSG=3
TASK_DESTROY TSG=1
L
ok "nvidia_trace has the document's lines, corrected" diff wanted lines
is "$(sed -n '/^===/,$p' "$trace" | awk '/:/ { print $2 }' | paste -sd ' ')" "5 3 0 5 0 0" "and its statistics"
is "$(value "$stats" nvidia_unmatched) $(value "$stats" nvidia_ambiguous)" "0 0" "no end without its queue"

# Two processes, and the same number on two runlists; which of them goes, the hooks do not say
up() { cut -d . -f 1 /proc/uptime; }
later() { [ "$(up)" -gt $((seconds + $1)) ]; } # the model looks each second
mapped() { # mapped RUNLIST TSG
	[ "$(cat "$(q "$1" "$2")/state")" = mapped ]
}
begin
group 0xa0 1 5 1
nv control 0xc1d 0xa0 $schedule 1
stays=$nv_pid stays_in=$nv_in stays_out=$nv_out
ok "one" wait_for 20 mapped 0 5
nv_pid=$old nv_in=$old_in
nv_end
unmatched() { [ "$(value "$stats" nvidia_unmatched)" = "$1" ]; }
ok "a process ends whose queue of that number was never heard of" wait_for 20 unmatched 1
is "$(cat "$(q 0 5)/state")" mapped "the one that is known is another's"
begin
group 0xa0 0x0b 5 1
nv control 0xc1d 0xa0 $schedule 1
ok "the other" wait_for 20 mapped 13 5
nv_kill
ok "is killed" wait_for 20 reads "$(q 13 5)/state" destroyed
is "$(cat "$(q 0 5)/state")" mapped "the first goes on"
nv_pid=$stays nv_in=$stays_in nv_out=$stays_out

# Two files of one process: what goes with one leaves the other, and a file has several descriptors
nv dup
nv close
nv open
nv alloc 0 0 0xc2d 0x41 0
nv alloc 0xc2d 0xc2d 0x80 $device 0
nv alloc 0xc2d 0x80 0xa0 $tsg 0x0b 5
nv alloc 0xc2d 0xa0 0xa00 $channel 0
nv control 0xc2d 0xa0 $schedule 1
ok "a queue by another file" wait_for 20 mapped 13 5
is "$(cat "$(q 0 5)/state")" mapped "one of two descriptors of the first is closed"
nv swap
nv close
ok "then the other" wait_for 20 reads "$(q 0 5)/state" destroyed
is "$(cat "$(q 13 5)/state")" mapped "what came by the other file goes on"
nv swap

# A child has what its parent had, which then ends
nv_fork
started+=("$nv_pid")
nv control 0xc2d 0xa0 $set_timeslice 3000
is "$nv_answer" "0 0 0xbb8" "a child goes on with the client"
child=$nv_pid child_in=$nv_in
ok "its parent has ended, as is known" wait_for 20 reads "$mnt/proc/$stays/state" dead
seconds=$(up)
ok "and what it left would be gone" wait_for 20 later 2
begin
group 0xa0 1 6 1
ok "all is reported so far" wait_for 20 reads "$(q 0 6)/state" created
is "$(cat "$(q 13 5)/state")" mapped "its queue is there, though its maker has ended"
nv_end
ok "another" wait_for 20 reads "$(q 0 6)/state" destroyed
is "$(cat "$(q 13 5)/state")" mapped "leaves it alone"
nv_pid=$child nv_in=$child_in
nv_end
ok "it goes with the child" wait_for 20 all_destroyed

# The patched driver refuses; tokens
nv_pid=$doc nv_in=$doc_in nv_out=$doc_out
echo 1 >/sys/module/nvidia/parameters/deny
group 0xa5 1 7 2
nv control 0xc1d 0xa5 $schedule 1
is "$nv_answer" "0 3 0x1" "a schedule is refused"
ok "denied" wait_for 20 reads "$(q 0 7)/state" denied
like "$(cat "$trace")" "BIND .*TSG=7 .* allowed=no$" "and reported"
echo 0 >/sys/module/nvidia/parameters/deny
nv control 0xc1d 0xa5 $schedule 1
ok "then allowed" wait_for 20 reads "$(q 0 7)/state" mapped
nv control 0xc1d $((0xa50)) $get_token 0
seen() { awk -v t="$1" '$1 == t { print $2 }' "$mnt/events_by_type"; }
token_seen() { [ "$(seen QUEUE_TOKEN)" = 1 ]; }
ok "a token" wait_for 20 token_seen
is "$(seen SUBMIT | grep -v "^0$")" "" "is no submit"
nv control 0xc1d 0xa5 $set_timeslice 4000
ok "a call that has no hook" wait_for 20 reads "$(q 0 7)/timeslice_us" 4000
nv_kill
ok "the process is killed" wait_for 20 all_destroyed

# A user's, with the same numbers as another's
begin setpriv --reuid 1001 --regid 1001 --clear-groups
group 0xa0 1 5 1
ok "an ordinary user's queue" wait_for 20 reads "$(q 0 5)/uid" 1001
is "$(as_uid 1001 cat "$(q 0 5)/pid")" "$nv_pid" "who sees it"
is "$(as_uid 1002 cat "$(q 0 5)/engine")" GRAPHICS "others see the queue"
is "$(as_uid 1002 cat "$(q 0 5)/pid" 2>&1 | sed 's/.*: //')" "No such file or directory" "not whose"
is "$(as_uid 1001 cat "$trace" 2>&1 | sed 's/.*: //')" "Permission denied" "the lines are for who may know of all"
nv_end
ok "the end" wait_for 20 all_destroyed

# Other modules, while it runs
ok "nothing holds the patched module" unload || exit 1
ok "one with older names" insmod "$GT_MODULES/nvidia_old.ko" || exit 1
rescan
ok "older names of the hooks" wait_for 100 says '^nvidia running: .* hooks of the patched module$'
begin
group 0xa0 0x13 9 3
nv control 0xc1d 0xa0 $schedule 1
ok "they tell" wait_for 20 reads "$(q 21 9)/channels" 3
is "$(cat "$(q 21 9)/engine")" VIDEO_DECODE "a decoder"
nv control 0xc1d $((0xa00)) $get_token 0
token_seen() { [ "$(seen QUEUE_TOKEN)" = 2 ]; }
ok "a token" wait_for 20 token_seen
nv_end
ok "the end" wait_for 20 all_destroyed

ok "nor that one" unload || exit 1
ok "a stock module" insmod "$GT_MODULES/nvidia_stock.ko" || exit 1
rescan
ok "is one by what it lacks" wait_for 100 says '^nvidia running: RM calls by nvidia_unlocked_ioctl\(\), end of files by nvidia_close\(\), no hooks: no function nv_gpu_sched_task_init can be probed: the nvidia module is not the patched one$'
begin
nv alloc 0xc1d 0x80 0 $tsg 0x0b 0
like "$nv_answer" "^0 0 0xca" "the driver chooses a handle"
nv alloc 0xc1d "${nv_answer##* }" 0 $channel 0
first=$queues/2147483648
ok "calls report a queue, by that handle" wait_for 20 reads "$first/channels" 1
is "$(cat "$first/engine")" COPY "what it is"
nv alloc 0xc1d 0x80 0xa9 $tsg 1 3
nv alloc 0xc1d 0xa9 0xc9 $channel 0
nv control 0xc1d 0xa9 $schedule 1
ok "and of another" wait_for 20 reads "$queues/2147483649/state" mapped
is "$(cat "$queues/2147483649/"{engine,channels})" "GRAPHICS
1" "what it is"
nv control 0xc1d 0xa9 0xa06c0104 0 # GET_TIMESLICE
ok "a timeslice that was asked for" wait_for 20 reads "$queues/2147483649/timeslice_us" 1024
nv free 0xc1d 0xdead
is "$nv_answer" "0 49 0xdead" "what is not there cannot be freed"
all_calls() { [ "$(calls ALLOC) $(calls CONTROL) $(calls FREE)" = "6 2 1" ]; }
ok "the calls themselves are reported as well" wait_for 20 all_calls
nv close
ok "its file is closed" wait_for 20 all_destroyed
nv_end

# Functions cannot be looked up: the calls go on
ok "it can go, too" unload || exit 1
: >none
mount --bind none $functions
ok "the patched module again" insmod "$GT_MODULES/nvidia.ko" || exit 1
rescan
ok "no functions: it says so" wait_for 100 says "^nvidia running: RM calls by tracepoints of ioctl\(\), end of files by close\(\), no hooks: functions cannot be probed: $functions: it is empty\$"
begin
nv alloc 0xc1d 0x80 0xa0 $tsg 1 3
ok "calls tell" wait_for 20 reads "$first/state" created
nv close
ok "so does the last close" wait_for 20 all_destroyed
nv_end
umount $functions
is "$(value "$stats" nvidia_lost) $(value "$stats" nvidia_read_failed)" "0 0" "nothing is lost"
umount_gt "$mnt"
ok "the module can go" rmmod nvidia
done_testing
