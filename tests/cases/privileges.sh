#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What root's daemon has left of root's rights after the start, in each of its threads, and that it can do
# all it must with that.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/uprobes.sh"
is_root || skip "needs root to mount"
sanitized() { nm "$GT_PROG" | grep -q __asan_init; }
if sanitized; then log=$PWD/log; fi # where it reports to
mock=$(uprobes_mock)
cleanup() {
	[ -z "${job-}" ] || { pkill -KILL -P "$job"; kill -KILL "$job"; } 2>/dev/null
	uprobes_remove
}

daemon() { pgrep -f "mount.gputrace $mnt( |\$)"; }
field() { # field NAME - of every thread, each value once
	sed -n "s/^$1:[[:space:]]*//p" /proc/"$pid"/task/*/status | sort -u | xargs
}
# bits of capabilities by name, as linux/capability.h numbers them, and as far as this machine has them
caps() {
	local c n=0
	for c in "$@"; do
		case $c in dac_read_search) c=2 ;; sys_ptrace) c=19 ;; sys_admin) c=21 ;; syslog) c=34 ;;
		perfmon) c=38 ;; bpf) c=39 ;; checkpoint_restore) c=40 ;; esac
		n=$((n | 1 << c))
	done
	printf '%016x' $((n & 0x$(sed -n 's/^CapPrm:[[:space:]]*//p' /proc/self/status)))
}
check() { # check WHAT "EFFECTIVE" "PERMITTED"
	pid=$(daemon)
	ok "$1: several threads" [ "$(ls /proc/"$pid"/task | wc -l)" -ge 4 ]
	is "$(field CapEff)" "$(caps $2)" "$1: in force"
	is "$(field CapPrm)" "$(caps $3)" "$1: at hand"
	is "$(field CapBnd)" "$(caps $3)" "$1: no program gets more"
	is "$(field CapInh) $(field CapAmb)" "$(caps) $(caps)" "$1: none is handed on"
	is "$(field NoNewPrivs)" 1 "$1: no new privileges"
	is "$(field Umask)" 0077 "$1: umask"
	is "$(field Seccomp)" 2 "$1: system calls are filtered"
	ok "$1: no file is open that need not be" wait_for 20 none_open # it may be at one just now
	none_open || echo "# $1: $(open_files)"
}
none_open() { [ -z "$(open_files)" ]; }
# … but for what is no file, the mount, what a backend reads, and the history of a replay, which has no name
open_files() {
	find /proc/"$pid"/fd -lname '/*' ! -lname /dev/null ! -lname /dev/fuse ! -lname "/proc/$pid/mountinfo" \
		! -lname "${log-none}" ! -lname '/memfd:gputrace*' ! -lname '/sys/kernel/*/trac*' ! -lname "$PWD/theirs/*" \
		! -lname "$PWD/#* (deleted)" -printf '%l '
}
ends() { # ends WHAT - by SIGTERM, and leaves nothing
	kill -TERM "$pid"
	ok "$1: ends" wait_for 20 gone "$mnt"
	ok "$1: SIGTERM unmounts" sh -c "! grep -q ' $mnt ' /proc/self/mountinfo"
}

printf '[backend sim]\nrate = 2000\nusers = 2\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
check sim sys_ptrace "sys_ptrace sys_admin dac_read_search"
ok "a user's own namespaces are looked at: the view is the user's" as_user grep -q . "$mnt/report"
is "$(setpriv --reuid 65534 --regid 4242 --clear-groups cat "$mnt/last_cmd_status")" ok "… and who that is"
ends sim

# A recording that only its owner can read is root's to play, not what parses it
mkdir -m 700 theirs
cp "$GT_SRC"/tests/data/replay/*.dat "$GT_SRC/tests/data/replay/sched_6.12.txt" theirs/
chmod 600 theirs/*
chown -R 65534 theirs
for rec in theirs/*; do
	mount_gt "$mnt" -o replay="$rec" || exit 1
	check "$rec" sys_ptrace "sys_ptrace sys_admin dac_read_search"
	ok "$rec: is played" grep -q '^total  *[0-9]' "$mnt"/*/ring0/latency
	echo off >"$mnt/config/level"
	echo normal >"$mnt/config/level"
	is "$(cat "$mnt/backends/replay/last_error")" "" "$rec: … and again"
	ends "$rec"
done

# What a plugin may not do, though root's capabilities have nothing against it
mkdir -m 755 include plugins
ln -s "$GT_SRC/backend" include/gputrace
int80=int80 no_int80=
if [ "$(uname -m)" = x86_64 ]; then # a kernel without calls of 32 bits answers with a fault
	echo 'int main(void) { long r = 20; __asm__ volatile("int $0x80" : "+a"(r) : : "memory"); return r <= 0; }' >int80.c
	gcc -o int80 int80.c && ./int80 2>/dev/null || {
		int80= no_int80=-DNO_INT80
		skip_ok "int80 is refused" "this kernel has no system calls by int 0x80"
	}
fi
ok "a plugin that tries what it may not" gcc -std=gnu11 -D_GNU_SOURCE $no_int80 -Iinclude -fPIC -shared \
	-o plugins/calls.so "$GT_SRC/tests/plugin/calls.c"
mkdir -p place/empty kept
ln -s /etc/passwd place/link
ln -s .. place/out
printf '[main]\nkeep = %s/kept/settings\n[backend calls]\nplace = %s/place\n' "$PWD" "$PWD" >conf
mount_gt "$mnt" -o conf=conf,plugin_dir="$PWD/plugins",backend=calls || exit 1
call() { sed -n "s/^call_$1 //p" "$mnt/backends/calls/stats"; }
also=
sanitized || also="execve ptrace process_vm_readv"
[ "$(uname -m)" != x86_64 ] || also="$also $int80 x32"
for c in socket_inet socket_netlink unshare setns clone_newuser setuid chmod chown keyctl perf_event_open \
	prlimit_other mmap_exec mprotect_exec tgkill_other tkill kill sigqueue setown fiosetown siocspgrp $also; do
	is "$(call $c)" EPERM "$c is refused"
done
if sanitized; then
	skip_ok "no file is opened for writing" "a sanitizer writes its report"
else
	[ "$(uname -m)" != x86_64 ] || old="open_old creat"
	for c in open_write open_both open_append open_neither open_truncate open_make open_new open_unnamed truncate \
		rename renameat2 link symlink unlink unlinkat rmdir mkdir mknod utimensat setxattr ${old-}; do
		is "$(call $c)" EPERM "no file is changed: $c is refused"
	done
	is "$(call openat2)" ENOSYS "openat2 is not there, so that openat is taken"
fi
is "$(call open_read) $(call open_memory)" "0 0" "a file is opened for reading, and one in memory made"
is "$(call file_in) $(call file_mkdir) $(call file_deep) $(call file_remove)" "0 0 0 0" "the host opens, makes and removes what the plugin writes"
is "$(cat place/in place/dir/in)" xx "… which is written"
ok "… a folder is removed" test ! -e place/empty
is "$(call file_both)" EINVAL "… not for reading as well"
is "$(call file_up)" EXDEV "… not what is above it"
is "$(call file_beside) $(call file_etc)" "EACCES EACCES" "… nor beside it, nor elsewhere"
is "$(call file_link) $(call file_through) $(call file_mkdir_out)" "ELOOP ELOOP ELOOP" "… nor through a link"
ok "… and nothing is made there" test ! -e beside -a ! -e placement
writer=$(pgrep -f "^gputrace-write $mnt *\$")
is "$(cat /proc/"$writer"/comm)" gputrace-write "a process of its own writes"
for f in CapEff CapPrm CapBnd CapInh CapAmb; do
	is "$(sed -n "s/^$f:[[:space:]]*//p" /proc/"$writer"/status)" 0000000000000000 "… without rights: $f"
done
is "$(sed -nE 's/^(NoNewPrivs|Seccomp):[[:space:]]*//p' /proc/"$writer"/status | xargs)" "1 2" "… and with few system calls"
echo 333 >"$mnt/config/aggregator_window"
is "$(cat "$mnt/last_cmd_status")" ok "a setting is kept"
ok "… in the file" grep -qx 'aggregator_window = 333' kept/settings
kill -KILL "$writer"
ok "doctor says that it has ended" wait_for 20 grep -q '^writer ended' "$mnt/doctor"
echo 444 >"$mnt/config/aggregator_window"
like "$(cat "$mnt/last_cmd_status")" "set, but not kept" "… and nothing is kept then"
is "$(call clone3)" ENOSYS "clone3 is not there, so that clone is taken"
is "$(call tgkill_own) $(call kill_0)" "0 0" "a signal to itself is not refused, nor the question who is there"
is "$(call asked_for)" 0 "a call that the plugin names is made"
umount_gt "$mnt"
mount_gt "$mnt" -o conf=conf,plugin_dir="$PWD/plugins",backend=calls || exit 1
writer=$(pgrep -f "^gputrace-write $mnt *\$")
kill -KILL "$(daemon)"
no_writer() { [ ! -e /proc/"$writer" ]; }
ok "what writes ends with the daemon" wait_for 20 no_writer
umount -l "$mnt"

if mount_gt "$mnt" -o backend=bpf; then
	check bpf sys_ptrace "sys_ptrace sys_admin dac_read_search perfmon bpf checkpoint_restore"
	echo hsa >"$mnt/backends/bpf/runtimes"
	check "bpf, runtimes on" sys_ptrace "sys_ptrace sys_admin dac_read_search perfmon bpf checkpoint_restore"
	ends bpf
else
	skip_ok "the bpf backend's rights" "it cannot run here"
fi

if uprobes_usable; then
	uprobes_add "$mock" new
	mount_gt "$mnt" -o backend=ftrace || exit 1
	check ftrace "sys_ptrace syslog" "sys_ptrace syslog sys_admin dac_read_search"
	setpriv --reuid 1001 --regid 1001 --clear-groups "$mock" -n 100000 -r 1 -p 1 -d 2000 -m new -o /dev/null &
	job=$!
	theirs() { grep -qx 1001 "$mnt"/proc/*/uid; }
	ok "another user's jobs are seen, with their user" wait_for 60 theirs
	echo off >"$mnt/config/level"
	echo normal >"$mnt/config/level"
	is "$(cat "$mnt/backends/ftrace/state")" running "tracing is taken up again"
	pkill -KILL -P "$job"
	kill -KILL "$job"
	wait "$job" 2>/dev/null
	job=
	ends ftrace
	is "$(find /sys/kernel/tracing/instances -maxdepth 1 -name "gputrace-$pid")" "" "ftrace: its instance is gone"
else
	skip_ok "the ftrace backend's rights" "$uprobes_why"
fi
done_testing
