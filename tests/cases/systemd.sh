#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The unit under a systemd of its own: first process of new namespaces and a cgroup, whose root is this
# machine's, read only, with what `make install` brings laid over it. No unit runs there but those named here.
# Alone
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to make namespaces"
from=/usr/lib/systemd
[ -x $from/systemd ] || skip "systemd is not installed"
! nm "$GT_PROG" | grep -q __asan_init || skip "the unit refuses what a sanitizer does at the end"
cgroups=$(findmnt -rno TARGET -t cgroup2 | head -n 1)
cg=$cgroups/gputrace-test-$$
[ -n "$cgroups" ] || skip "no cgroup2 is mounted"
mkdir "$cg" 2>err || skip "no cgroup can be made: $(cat err)"

init= outer=
cgroup_gone() {
	find "$cg" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -d "$cg" ]
}
cleanup() {
	kill -KILL $init $outer 2>/dev/null # the first process, and with it all others there
	wait
	wait_for 20 cgroup_gone
}

ok "make install" make -s -C "$GT_SRC" O="$GT_OUT" DESTDIR="$PWD/up" PREFIX=/usr MOUNTDIR=/usr/sbin install
chmod 755 up
printf '[main]\nbackend = sim\nkeep = /var/lib/gputrace/settings\n' >up/etc/gputrace.conf
echo 0123456789abcdef0123456789abcdef >up/etc/machine-id
mkdir -p units/sysinit.target.wants nothing tmp
cp $from/system/{sysinit,basic,local-fs,paths,sockets,slices,timers,shutdown,umount}.target units/
cp $from/system/systemd-journald{.service,.socket,-dev-log.socket} up$from/system/gputrace.service units/
ln -s ../systemd-journald.service units/sysinit.target.wants/
printf '[Service]\nExecStart=/usr/bin/sleep infinity\nProtectSystem=strict\n' >units/other.service

cat >boot <<-'END'
	set -e
	mount --make-rprivate /
	mount -t tmpfs -o mode=755 tmpfs tmp
	cp -a up tmp/
	mkdir tmp/work tmp/root
	root=$PWD/tmp/root
	mount -t overlay -o "lowerdir=/,upperdir=$PWD/tmp/up,workdir=$PWD/tmp/work" overlay "$root"
	mount -t proc proc "$root/proc"
	mount --bind "$root/proc/sys" "$root/proc/sys"
	mount -o remount,bind,ro "$root/proc/sys"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	for d in dev run tmp; do mount -t tmpfs -o mode=755 tmpfs "$root/$d"; done
	for d in null zero full random urandom tty fuse; do
		: >"$root/dev/$d"
		mount --bind "/dev/$d" "$root/dev/$d"
	done
	: >console
	: >"$root/dev/console"
	mount --bind console "$root/dev/console"
	mount --bind units "$root/usr/lib/systemd/system"
	mount --bind nothing "$root/usr/lib/systemd/system-generators"
	mount --bind nothing "$root/etc/systemd"
	mkdir "$root/run/old"
	cd "$root"
	pivot_root . run/old
	umount -l /run/old
	mount --make-rshared /
	exec env -i container=test PATH="$PATH" /usr/lib/systemd/systemd --unit=basic.target --show-status=no
END
(
	echo $BASHPID >"$cg/cgroup.procs" || exit # systemd would take the one of this test for its own
	exec unshare -mpCiun --propagation private --fork --kill-child sh boot
) >booting 2>&1 &
outer=$!
inside() { nsenter -t "$init" -a env -i PATH="$PATH" "$@"; }
is_up() { inside systemctl is-active -q basic.target; }
booted() {
	kill -0 $outer 2>/dev/null || return 0
	init=$(pgrep -P $outer) && is_up
}
wait_for 60 booted
is_up 2>/dev/null || skip "systemd does not start: $(cat console booting 2>/dev/null | tail -n 1)"

is "$(inside systemd-sysusers gputrace.conf 2>&1 | grep -v '^Creating group')" "" "systemd-sysusers has no complaint"
ok "… and the group is there" inside getent group gputrace
is "$(inside systemd-tmpfiles --create gputrace.conf 2>&1)" "" "systemd-tmpfiles neither"
is "$(inside stat -c '%a %U' /gputrace)" "755 root" "… and the folder is there"
is "$(inside systemd-analyze verify --man=no gputrace.service 2>&1)" "" "systemd-analyze verify neither"

show() { inside systemctl show -P "$1" "${2:-gputrace}"; }
mounts_of() { inside grep -c ' /gputrace .* - fuse.gputrace ' "/proc/$1/mountinfo"; }
serves() { # serves WHAT
	is "$(inside head -n 1 /gputrace/status 2>&1)" "state running" "$1: it is there"
	is "$(mounts_of 1) $(mounts_of "$other")" "1 1" "… once, in another unit's namespace too"
	is "$(inside head -n 1 "/proc/$other/root/gputrace/status" 2>&1)" "state running" "… where it can be read"
}
is_gone() { # is_gone WHAT
	is "$(mounts_of 1) $(mounts_of "$other")" "0 0" "$1: it is mounted nowhere"
	is "$(inside ls -A /gputrace 2>&1)" "" "… and the folder can be read"
}

inside systemctl start other
other=$(show MainPID other)
ok "systemctl start" inside systemctl start gputrace
serves "when that returns"
as() { inside setpriv --reuid 65534 --clear-groups --regid "$@"; }
is "$(as 65534 cat /gputrace/last_cmd_status 2>&1)" ok "a user reads it"
ok "… and writes nothing" as 65534 sh -c '! echo off 2>/dev/null >/gputrace/config/level'
ok "who is in the group does" as "$(inside getent group gputrace | cut -d: -f3)" sh -c 'echo off >/gputrace/config/level'
level_logged() {
	inside journalctl -q -u gputrace -o cat | grep -qE "^config/level: 'off' by uid 65534, pid [1-9][0-9]*\$"
}
ok "… and the log says who it was" wait_for 60 level_logged
is "$(inside cat /gputrace/last_cmd_status /gputrace/config/level | grep -c kept) $(inside stat -c '%a %U' /var/lib/gputrace/settings)" \
	"0 600 root" "… and it is kept"

# bits of capabilities, as far as this machine has them
caps() { printf '%016x' $(($1 & 0x$(sed -n 's/^CapPrm:[[:space:]]*//p' /proc/self/status))); }
rights() { # rights PID
	inside sed -nE 's/^(CapEff|CapPrm|CapAmb|NoNewPrivs|Seccomp|Umask):\s*//p' "/proc/$1/status" | xargs
}
daemon=$(show MainPID)
named() { # named COMM - the unit's process
	local p
	for p in $(inside cat /sys/fs/cgroup/system.slice/gputrace.service/cgroup.procs); do
		[ "$(inside cat "/proc/$p/comm")" != "$1" ] || echo "$p"
	done
}
is_allowed() { show SystemCallFilter | tr ' ' '\n' | grep -qx "$1"; }
ok "the unit allows that readers of results are idle" eval "is_allowed sched_setscheduler && is_allowed ioprio_set"
is "$(rights "$daemon")" "0077 $(caps 0x280004) $(caps 0x80000) $(caps 0) 1 2" "the daemon's rights are those that it keeps"
is "$(rights "$(named gputrace-mount)")" "0077 $(caps 0x200000) $(caps 0x200000) $(caps 0) 1 2" "… and those of the process that mounts"
is "$(rights "$(named gputrace-write)")" "0077 $(caps 0) $(caps 0) $(caps 0) 1 2" "… and of the one that writes, none"
is "$(inside journalctl -q -u gputrace -p warning -o cat)" "" "nothing was to be warned of"

ok "systemctl restart" inside systemctl restart gputrace
serves "when that returns"
is "$(inside cat /gputrace/config/level)" "off" "… with the setting that was kept"
inside sh -c 'echo normal >/gputrace/config/level'
ok "systemctl stop" inside systemctl stop gputrace
is_gone "when that returns"
is "$(show Result)" success "it ended well"

inside systemctl start gputrace
inside kill -KILL "$(show MainPID)"
again() { [ "$(show NRestarts) $(show ActiveState)" = "1 active" ]; }
ok "one that is killed is started again" wait_for 60 again
serves "after that"
inside systemctl kill -s KILL gputrace
again() { [ "$(show NRestarts) $(show ActiveState)" = "2 active" ]; }
ok "one that is killed with the process beside it, too" wait_for 60 again
serves "after that"
inside umount /gputrace
ended() { [ "$(show ActiveState)" = inactive ]; }
ok "one that is unmounted ends" wait_for 60 ended
is_gone "after that"

printf 'backend = sim\n[nonsense]\n' | inside tee /etc/gputrace.conf >/dev/null
is "$(inside systemctl start gputrace 2>/dev/null; echo $?)" 1 "a wrong configuration fails systemctl start"
is "$(show NRestarts) $(show ExecMainStatus)" "0 1" "… and is not tried again"
fault_logged() { inside journalctl -q -u gputrace -o cat | grep -q 'gputrace.conf:'; }
ok "… and the log says why" wait_for 60 fault_logged
is_gone "after that"
done_testing
