#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# mount(8)'s helper convention, daemonising, the ends of a mount.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

code() { "$@" >out 2>err; echo $?; }
mkdir "$mnt" other

is "$(code "$GT_PROG")" 1 "no directory: wrong invocation"
like "$(cat err)" "which directory" "… and it says what is missing"
is "$(code "$GT_PROG" "$mnt" -o nonsense=1)" 1 "an unknown option is refused"
like "$(cat err)" "nonsense" "… by name"
for wrong in --foreground:--foreground -q:-q -fq:-q --help=1:--help=1 -o:-o; do
	is "$(code "$GT_PROG" "$mnt" "${wrong%%:*}")" 1 "option ${wrong%%:*} is refused"
	like "$(cat err)" "option ${wrong#*:} " "… by name"
done
is "$(code "$GT_PROG" "$mnt" -o foreground,nonsense)" 1 "an unknown mount option without a value is refused"
like "$(cat err)" "'nonsense'" "… by name"
is "$(code "$GT_PROG" "$mnt" -o remount)" 1 "remount is refused"
is "$(code "$GT_PROG" "$mnt" -o sampling=101)" 1 "a value out of bounds is refused"
like "$(cat err)" "100" "… and its bounds are reported"
is "$(code "$GT_PROG" "$mnt/none")" 32 "a directory that is not there"
like "$(cat err)" "$mnt/none: No such file or directory: .*mkdir" "… is said, and what to do"
is "$(code "$GT_PROG" "$mnt" -o replay=none.dat)" 32 "a recording that is not there"
like "$(cat err)" "none.dat" "… is reported by name"
head -c 4096 /dev/urandom >noise
is "$(code "$GT_PROG" none.dat "$mnt")" 32 "… by its name before the directory"
like "$(cat err)" "none.dat: No such file" "… and says so"
is "$(code "$GT_PROG" none.dat "$mnt" -o replay=none.dat)" 1 "both ways at once"
cp "$GT_SRC/tests/data/replay/sched_6.12.txt" a:b.txt
ok "a recording before the directory" "$GT_PROG" a:b.txt "$mnt"
ok "… is played" wait_for 60 grep -q '^state ended$' "$mnt/status"
umount_gt "$mnt"
is "$(code "$GT_PROG" "$mnt" -f -o backend=sim)" 0 "-f checks"
is "$(code "$GT_PROG" "$mnt" -f -o replay="$GT_SRC/tests/data/replay/sched_6.12.txt")" 0 "… a recording as well"
ok "… and mounts nothing" sh -c "! mountpoint -q $mnt"
printf '[trace]\nlevel = loud\n' >bad.conf
is "$(code "$GT_PROG" "$mnt" -o conf=bad.conf)" 1 "a bad configuration is refused"
like "$(cat err)" "bad.conf:2: " "… with file and line"
printf '[trace]\nlewel = normal\n' >bad.conf
is "$(code "$GT_PROG" "$mnt" -o conf=bad.conf)" 1 "an unknown key is refused"
like "$(cat err)" "bad.conf:2: .*lewel" "… with file and line"
printf '[backend sim]\nseed = 1\nrate = fast\n' >bad.conf
ok "a bad value of a backend is refused" sh -c "! $GT_PROG $mnt -o conf=bad.conf 2>err"
like "$(cat err)" "bad.conf:3: .*rate" "… with file and line"
printf '[backend sim]\nspeed = 1\n' >bad.conf
ok "an unknown key of a backend is refused" sh -c "! $GT_PROG $mnt -o conf=bad.conf 2>err"
like "$(cat err)" "bad.conf:2: .*speed" "… with file and line"
printf '[backend nope]\nx = 1\n' >bad.conf # is refused below
refused() { # refused CODE OPTIONS SENTENCE - by a mount and by -f
	local how
	for how in -n -f; do
		is "$(code "$GT_PROG" "$mnt" $how -o "$2")" "$1" "$how refuses $2"
		like "$(cat err)" "$3" "… and says why"
	done
}
refused 1 backend=nosuch "nosuch"
refused 1 max_read=abc,backend=sim "max_read=abc"
refused 1 max_read=,backend=sim "max_read="
refused 1 conf=bad.conf "bad.conf:2: .*nope"
refused 32 replay=noise "noise" # no recording
mkdir results # what is wrong with them only their reader finds
printf 'Kind,Agent_Id,Queue_Id\nKERNEL_DISPATCH,x,y\n' >results/1_kernel_trace.csv
refused 32 replay=results "1_kernel_trace.csv: "
is "$(code "$GT_PROG" --help)" 0 "--help"
like "$(cat out)" "sampling" "… lists the keys"
is "$(code "$GT_PROG" --version)" 0 "--version"

ok "SOURCE DIR with fstab's options" mount_gt "$mnt" -n -o rw,nofail,_netdev,user,x-systemd.automount,backend=sim
like "$(grep " $mnt " /proc/mounts)" "^gputrace .* fuse.gputrace .*nosuid.*nodev.*noexec.*allow_other" "type and options shown"
is "$(code "$GT_PROG" "$mnt" -f -o backend=sim)" 0 "-f checks what is to be mounted there next"
is "$(code "$GT_PROG" "$mnt" -o backend=sim)" 32 "a second mount there is refused"
like "$(cat err)" "already mounted" "… and says so"

exec 7<"$mnt/events"
is "$(code umount "$mnt")" 32 "umount is refused while a pipe is open"
exec 7<&-
ok "umount" wait_for 60 umount "$mnt"
ok "… ends the daemon" wait_for 20 gone "$mnt"

for sig in TERM INT; do
	mount_gt "$mnt" -o backend=sim
	cat "$mnt/events" >stream.$sig & reader=$!
	wait_for 20 test -s stream.$sig
	pkill -$sig -f "mount.gputrace $mnt"
	wait $reader
	is $? 0 "SIG$sig gives a blocked reader end of file"
	ok "… ends the daemon" wait_for 20 gone "$mnt"
	ok "… and the mount" sh -c "! mountpoint -q $mnt"
done

mount_gt "$mnt" -o backend=sim
echo stop >"$mnt/control"
(cat "$mnt/events" >stream.lazy; echo $? >rc.lazy) &
wait_for 20 test -s stream.lazy
umount -l "$mnt"
ok "a lazy umount ends a reader that waits" wait_for 20 test -s rc.lazy
is "$(cat rc.lazy)" 0 "… with end of file"
ok "… and the daemon" wait_for 20 gone "$mnt"

mount_gt "$mnt" -o backend=sim
mkdir -p bound
mount --bind "$mnt" bound
umount -l "$mnt"
ok "bound elsewhere it lives on" grep -q . bound/version
umount bound
ok "… until that is unmounted, too" wait_for 20 gone "$mnt"

mount_gt "$mnt" -o backend=sim
pkill -KILL -f "mount.gputrace $mnt"
wait_for 20 gone "$mnt"
like "$(ls "$mnt" 2>&1)" "not connected|abort" "a killed daemon leaves a stale mount"
ok "… which the next one takes over" mount_gt "$mnt" -o backend=sim
ok "… and serves" test -s "$mnt/README"
is "$(grep -c " $mnt " /proc/mounts)" 1 "… alone"
umount_gt "$mnt"

mount_gt "$mnt" -o backend=sim,max_read=65536
like "$(grep " $mnt " /proc/mounts)" "max_read=65536" "max_read= is the kernel's"
ok "… and it serves" test -s "$mnt/README"
umount_gt "$mnt"

parts() { # parts daemon|process - pids of the two that auto_unmount makes
	local pid name=mount.gputrace
	[ "$1" = daemon ] || name=gputrace-mount
	for pid in $(pgrep -f "mount.gputrace $mnt "); do [ "$(cat "/proc/$pid/comm")" != $name ] || echo "$pid"; done
}
mount_gt "$mnt" -o backend=sim,auto_unmount
kill -KILL $(parts daemon)
ok "auto_unmount: a killed daemon leaves no process" wait_for 20 gone "$mnt"
ok "… and no mount" sh -c "! grep -q ' $mnt ' /proc/self/mountinfo"
mount_gt "$mnt" -o backend=sim,auto_unmount,max_read=65536,ro,fsname=other
like "$(grep " $mnt " /proc/mounts)" "^other .* fuse.gputrace ro,.*nosuid.*nodev.*noexec.*allow_other.*max_read=65536" "auto_unmount: with the same options otherwise"
ok "… it serves" test -s "$mnt/README"
pkill -TERM -f "mount.gputrace $mnt"
ok "… SIGTERM to all of it" wait_for 20 gone "$mnt"
ok "… unmounts" sh -c "! grep -q ' $mnt ' /proc/self/mountinfo"
mount_gt "$mnt" -o backend=sim,auto_unmount
kill -KILL $(parts process)
ok "auto_unmount: it serves on when its process is killed" test -s "$mnt/README"
kill -TERM $(parts daemon)
ok "… ends" wait_for 20 gone "$mnt"
ok "… and unmounts by itself" sh -c "! grep -q ' $mnt ' /proc/self/mountinfo"

mount_gt "$mnt" -o backend=sim,ro
like "$( (echo 5 >"$mnt/config/sampling") 2>&1)" "Read-only file system" "ro: refused"
is "$(cat "$mnt/config/sampling")" 100 "… and the setting is as it was"
umount_gt "$mnt"

"$GT_PROG" "$mnt" -o backend=sim,foreground & pid=$!
mounts+=("$mnt")
ok "foreground stays" wait_for 20 mountpoint -q "$mnt"
ok "… there" kill -0 $pid
kill $pid
wait $pid
is $? 0 "… and ends well"
done_testing
