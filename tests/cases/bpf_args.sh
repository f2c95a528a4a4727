#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Events of interrupts, reported by their tracepoint's arguments: none is lost while a program of another tracepoint
# runs on that CPU, as the kernel does to those that are reported by their records. A process calls msync() without
# end, another of the same CPU has a timer run out, again and again; each time is one event.
# Alone
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
[ -r /sys/kernel/tracing/events/timer/itimer_expire/id ] || skip "no tracepoint of timers"
[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no types"
expirations=500

make_map() { # make_map KEY… - the map, with more keys for the timer
	mkdir -p maps
	cat >maps/timers.ini <<MAP
[map]
driver = mock

[syscalls/sys_enter_msync]
event = CUSTOM1
name = msync
where = len == 1
value = len

[timer/itimer_expire]
event = COUNTER
value = which
$*

[initcall/initcall_level]
event = CUSTOM2
name = boot
MAP
}

cat >busy.py <<'P'
import mmap
m = mmap.mmap(-1, 4096)
while True:
    m.flush()
P
cat >expire.py <<'P'
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
for _ in range(int(sys.argv[1])):
    signal.setitimer(signal.ITIMER_REAL, 0.0001)
    signal.sigwait([signal.SIGALRM])
P
stat_of() { value "$mnt/backends/bpf/stats" "$1"; }
come() { awk '$1 == "COUNTER" { print $2 }' "$mnt/events_by_type"; }
lost() { value "$mnt/status" events_lost_source; }
reported() { [ $(($(come) + $(lost))) -ge $expirations ]; }
some_lost() { [ $(($(come) + $(lost))) = $expirations ] && [ "$(lost)" -gt 0 ]; }
all_come() { [ "$(come)" = $expirations ]; }

# A machine may have processes that no BPF program sees, as a sandbox its keeper: the kernel runs none where such a
# one is interrupted. And another process may have an alarm of its own. So there are some tries, each when nothing more
# comes of the one before.
nothing_comes() {
	local n=$(($(come) + $(lost)))
	reported && return
	read -rt 4 -u "$never"
	[ $(($(come) + $(lost))) = $n ]
}
one=$(taskset -cp $$)
one=${one##*[ ,-]} # a CPU that we may use
expire() { # expire COMMAND... - expirations, until it succeeds
	local try=0
	while
		echo clear >"$mnt/control"
		missed=$(stat_of events_missed)
		taskset -c "$one" python3 expire.py $expirations
		wait_for 60 nothing_comes
		! "$@" && [ $((++try)) -lt 8 ]
	do :; done
}
run() { # run COMMAND... - the same beside the busy process
	taskset -c "$one" python3 busy.py & local busy=$!
	expire "$@"
	kill $busy
	wait $busy 2>/dev/null
}

# By its record: some are missed, and that is reported; it shows that there is something to miss
make_map
mount_gt "$mnt" -o "events_dir=$PWD/maps,backend=bpf" || skip "BPF does not work here"
is "$(grep -c by_arguments "$mnt/backends/bpf/stats")" 0 "without the key args it is reported by its record"
run some_lost
come=$(come) lost=$(lost)
echo "# by record: $come came, $lost reported as lost"
if value "$mnt/backends/bpf/stats" events_missed | grep -q unknown; then
	ok "by its record: no more than there are" test "$come" -le $expirations
else
	is $((come + lost)) $expirations "by its record: what was missed is reported as lost"
	ok "… and counted" test "$(stat_of events_missed)" -ge "$lost"
	ok "… some were" test "$lost" -gt 0
fi
umount_gt "$mnt"

# By its arguments: all come
make_map 'args = which=$arg1'
mount_gt "$mnt" -o "events_dir=$PWD/maps,backend=bpf" || exit 1
like "$(cat "$mnt/backends/bpf/stats")" "^tracepoint timer/itimer_expire by_arguments" "with it, by its arguments"
run all_come
is "$(come)" $expirations "by its arguments: all come"
is "$(lost)" 0 "… nothing is lost"
is "$(stat_of events_missed)" "$missed" "… nor missed"
umount_gt "$mnt"

# An event within the program of its own tracepoint: the kernel skips it, and that is a loss. A process makes files
# and removes them, which frees memory at once, and more of it in interrupts, when nobody can see the files any more.
if [ -r /sys/kernel/tracing/events/kmem/kmem_cache_free/id ]; then
	mkdir again
	cat >again/memory.ini <<'MAP'
[map]
driver = mock

[kmem/kmem_cache_free]
event = COUNTER
args = ptr=$arg2
value = ptr
where = ptr == 1

[initcall/initcall_level]
event = CUSTOM2
name = boot
MAP
	cat >files.py <<'P'
import os
while True:
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY))
    os.unlink("file")
P
	mount_gt "$mnt" -o "events_dir=$PWD/again,backend=bpf" || exit 1
	like "$(cat "$mnt/backends/bpf/stats")" "^tracepoint kmem/kmem_cache_free by_arguments" "a tracepoint of tasks and of interrupts"
	taskset -c "$one" python3 files.py & files=$!
	some_missed() { [ "$(stat_of events_missed)" -gt 0 ]; }
	wait_for 60 some_missed
	ok "an event within the program of its own tracepoint is missed" some_missed
	kill $files
	wait $files 2>/dev/null
	same() { missed=$(stat_of events_missed) && [ "$(lost)" = "$missed" ] && [ "$(stat_of events_missed)" = "$missed" ]; }
	ok "… and reported as lost" wait_for 60 same
	umount_gt "$mnt"
fi

# What cannot be followed to, or is no argument: by its record then, and said why
make_map 'args = which=$arg1<no_such_thing>->which'
mount_gt "$mnt" -o "events_dir=$PWD/maps,backend=bpf" || exit 1
stats=$(cat "$mnt/backends/bpf/stats")
like "$stats" "^tracepoint timer/itimer_expire$" "a type that there is not: by its record"
like "$stats" "^arguments_unavailable timer/itimer_expire: .*no_such_thing" "… and said why"
umount_gt "$mnt"
make_map 'args = which=$arg2<task_struct>->pid'
mount_gt "$mnt" -o "events_dir=$PWD/maps,backend=bpf" || exit 1
stats=$(cat "$mnt/backends/bpf/stats")
like "$stats" "^tracepoint timer/itimer_expire$" "an argument that is something else: by its record"
like "$stats" "^arguments_unavailable timer/itimer_expire: .arg2 .*task_struct" "… and said why"
umount_gt "$mnt"
make_map 'args = which=$arg5'
mount_gt "$mnt" -o "events_dir=$PWD/maps,backend=bpf" || exit 1
stats=$(cat "$mnt/backends/bpf/stats")
like "$stats" "^tracepoint timer/itimer_expire$" "an argument that there is not: by its record"
like "$stats" "^arguments_unavailable timer/itimer_expire: .*arg5" "… and said why"
run come
ok "… and they come" test "$(come)" -gt 0
umount_gt "$mnt"
make_map 'args = which'
mount_gt "$mnt" -o "events_dir=$PWD/maps,backend=bpf" 2>err
like "$(cat err "$mnt/doctor" 2>/dev/null)" "timers.ini:13: args: 'which' " "a fault in the map has its line"
umount_gt "$mnt" 2>/dev/null
done_testing
