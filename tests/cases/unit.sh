#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The systemd unit: it is installed and sound, and what it leaves the daemon is enough. Its capabilities
# and namespaces are applied by hand, its system calls are compared with those that the daemon makes.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

ok "make install" make -s -C "$GT_SRC" O="$GT_OUT" DESTDIR="$PWD/root" PREFIX=/usr MOUNTDIR=/usr/sbin install
unit=$PWD/root/usr/lib/systemd/system/gputrace.service
is "$(sed -n 's/^ExecStart=//p' "$unit")" "/usr/sbin/mount.gputrace /gputrace -o foreground,mountns=/proc/1/ns/mnt" "it starts what was installed"
is "$(sed -n '/^g/p' root/usr/lib/sysusers.d/gputrace.conf)" "g gputrace -" "the group is made"
is "$(stat -c %a root/usr/lib/tmpfiles.d/gputrace.conf)" 644 "the folder too"

# The daemon's surroundings as the unit makes them, but for what hides where the test itself lies
caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr A-Z a-z | sed 's/cap_/+/g; s/ /,/g')
cat >surroundings <<-'END'
	set -e
	mount --bind "$PWD" "$PWD"
	cd "$PWD"
	mount -o remount,bind,ro /
	mount -o remount,bind,ro /sys
	mount -t proc -o hidepid=2 proc /proc
	exec "$@"
END
printf '[backend sim]\nrate = 2000\n' >conf
mkdir -p "$mnt"
ours=/proc/$$/ns/mnt
daemon() { # the one that is not the process beside it
	local p
	for p in $(pgrep -f "^[^ ]*mount.gputrace $mnt "); do
		[ "$(cat "/proc/$p/comm")" = gputrace-mount ] || echo "$p"
	done
}
unit() { # unit OPTIONS - COMMAND before it
	(umask 077; exec unshare -mn --propagation private sh surroundings $trace setpriv --bounding-set "-all,$caps" \
		--inh-caps -all --no-new-privs "$GT_PROG" "$mnt" -o "foreground,mountns=$ours,$1") &
	ok "the unit's rights are enough to mount: $1" wait_for 60 mountpoint -q "$mnt"
	pid=$(daemon)
}
# what a service manager with Type=notify hears, and that the tree is there by then
manager() {
	timeout 60 python3 -c 'if True:
		import os, socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(sys.argv[1])
		open("bound", "w")
		print(s.recv(100).decode(), os.path.ismount(sys.argv[2]))' "$PWD/notify" "$mnt" >reported &
	reported=$!
	wait_for 60 [ -e bound ]
	rm bound
}
live() {
	mounts+=("$mnt")
	trace=
	command -v strace >/dev/null && trace="strace -f -qq -o calls -e trace=all"
	unit conf=conf,backend=sim
	ok "another process reads it" grep -q '^state ' "$mnt/status"
	ok "a user too" as_user grep -q . "$mnt/report"
	is "$(as_user cat "$mnt/last_cmd_status")" ok "… whose view is found"
	is "$(grep " $mnt " "/proc/$pid/mountinfo")" "" "where the daemon is, it is not mounted"
	ok "… and little to write" awk '$5 == "/" { ro = $6 ~ /^ro(,|$)/ } END { exit !ro }' "/proc/$pid/mountinfo"
	is "$(sed -n 's/^NoNewPrivs:[[:space:]]*//p' "/proc/$pid/status")" 1 "no new privileges"
	is "$(find "/proc/$pid/fd" -lname "/*" ! -lname "/dev/*" ! -lname "/proc/*" ! -lname "/memfd:*" -printf '%l\n' | grep -vF "$PWD/")" "" "no other file is open"
	beside=$(pgrep -f "^[^ ]*mount.gputrace $mnt " | grep -vx "$pid")
	is "$(sed -n 's/^\(CapPrm\|Seccomp\):[[:space:]]*//p' "/proc/$beside/status" | xargs)" "0000000000200000 2" "the process that mounts has CAP_SYS_ADMIN only"
	is "$(find "/proc/$beside/fd" -lname "/*" ! -lname /dev/null ! -lname "*/mountinfo")" "" "… and no file open"
	echo off >"$mnt/config/level" && echo normal >"$mnt/config/level"
	timeout 60 head -c 64000 "$mnt/events" >/dev/null
	kill -TERM "$pid"
	ok "it unmounts and ends" wait_for 60 gone "$mnt"
	ok "… outside" sh -c "! grep -q ' $mnt ' /proc/self/mountinfo"
	wait
	trace=
	manager
	NOTIFY_SOCKET=$PWD/notify unit conf=conf,backend=sim
	wait "$reported"
	is "$(cat reported)" "READY=1 True" "the service manager hears when it is mounted"
	umount "$mnt"
	ok "it ends when it is unmounted" wait_for 60 gone "$mnt"
	wait
	unit conf=conf,backend=sim
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	ok "one that is killed leaves no process" wait_for 60 gone "$mnt"
	ok "… and no mount" sh -c "! grep -q ' $mnt ' /proc/self/mountinfo"
	wait
}
if ! nsenter --mount=$ours test -e "$PWD/conf"; then
	skip_ok "what the unit leaves the daemon" "in a chroot, mountns= means other paths than these"
elif unshare -mn --propagation private sh surroundings true 2>err; then
	live
else
	skip_ok "what the unit leaves the daemon" "its namespaces cannot be made: $(head -n 1 err)"
fi

for bad in "mountns=/nowhere" "mountns=$PWD/conf" "mountns=/proc/self/ns/net"; do
	ok "$bad is refused" sh -c '! "$@" 2>err' - "$GT_PROG" "$mnt" -o "$bad,backend=sim"
	like "$(cat err)" "${bad%%=*}=.*: " "… which says why"
done

if command -v systemd-analyze >/dev/null && [ -e calls ]; then
	# everything since it gave up its rights, without strace's and setpriv's own part
	sed -n '/PR_SET_NO_NEW_PRIVS/,$p' calls | sed -nE 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' | sort -u >made
	systemd-analyze syscall-filter 2>/dev/null >sets
	names() { # names SET - its system calls, those of the sets in it too
		awk -v set="@$1" '/^@/ { at = $1 } /^ +[@a-z_]/ { in_set[at] = in_set[at] " " $1 }
			function show(s, n, a, i) { n = split(in_set[s], a, " "); for (i = 1; i <= n; i++) if (a[i] ~ /^@/) show(a[i]); else print a[i] }
			END { show(set) }' sets
	}
	{ names system-service | sort -u | comm -23 - <({ names resources; names privileged; } | sort -u); names mount; printf "%s\n" capset seccomp setns landlock_{create_ruleset,add_rule,restrict_self}; names default; } | sort -u >allowed
	is "$(comm -23 made allowed | grep -vxE 'setrlimit|prlimit64' | xargs)" "" "the unit lets it make the system calls it makes"
	ok "… of which there are some" [ "$(wc -l <made)" -gt 20 ]
else
	skip_ok "the system calls that the unit lets it make" "systemd-analyze or strace is not installed, or there was no daemon"
fi
if command -v systemd-analyze >/dev/null; then
	score=$(systemd-analyze security --offline=true "$unit" 2>&1 | sed -n 's/.*level for .*: \([0-9.]*\).*/\1/p')
	ok "systemd-analyze rates it 3.0 or better: $score" awk "BEGIN { exit !(${score:-10} <= 3.0) }"
else
	skip_ok "what systemd-analyze says of the unit" "it is not installed"
fi
done_testing
