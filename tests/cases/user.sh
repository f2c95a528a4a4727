#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# An ordinary user mounts a recording in a directory of their own.
# Alone
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/fuse.sh"
. "$GT_SRC/tests/lib/others.sh"
is_root || skip "needs root to become another user"
command -v fusermount3 >/dev/null || skip "fusermount3 is not installed"
others_reach

cleanup() {
	as_user fusermount3 -u -q "$mnt" 2>/dev/null
	fuse_restore
}
fuse_for_users
mkdir "$mnt"
chown 65534 "$mnt"
rec=$GT_SRC/tests/data/replay/sched_6.12.txt
cp "$rec" rec.txt
chmod 644 rec.txt

as_user "$GT_PROG" "$mnt" -o replay=rec.txt 2>err
is $? 0 "mounted by uid 65534"
mounts+=("$mnt")
is "$(as_user stat -c %u "$mnt")" 65534 "it belongs to them"
ok "reads" as_user sh -c "grep -q '^total  *[0-9]' $mnt/*/ring0/latency"
ok "its settings are the user's" as_user sh -c "echo 7 > $mnt/config/sampling"
is "$(as_user cat "$mnt/config/sampling")" 7 "… and kept"
like "$(as_user sed -n 2p "$mnt/report")" "[0-9]" "… who sees whose jobs they are"
ok "root is kept out, as of every FUSE mount" sh -c "! ls $mnt 2>/dev/null"
ok "unmounts" as_user fusermount3 -u "$mnt"
ok "the daemon ends" wait_for 20 gone "$mnt"

unmounted() { ! grep -q " $mnt " /proc/self/mountinfo; }
as_user "$GT_PROG" "$mnt" -o replay=rec.txt,auto_unmount 2>err
is $? 0 "auto_unmount"
beside= daemon=
for pid in $(pgrep -f "mount.gputrace $mnt "); do
	if [ "$(cat "/proc/$pid/comm")" = gputrace-mount ]; then beside=$pid; else daemon=$pid; fi
done
is "$(find "/proc/$beside/fd" -lname '/*' ! -lname /dev/null)" "" "the process beside it has no file open"
kill -KILL "$daemon"
ok "a killed daemon leaves no process" wait_for 20 gone "$mnt"
ok "… and no mount" wait_for 20 unmounted
as_user "$GT_PROG" "$mnt" -o replay=rec.txt,auto_unmount
ok "it reads" as_user sh -c "grep -q '^total  *[0-9]' $mnt/*/ring0/latency"
pkill -TERM -f "mount.gputrace $mnt "
ok "SIGTERM ends it all" wait_for 20 gone "$mnt"
ok "… and the mount" wait_for 20 unmounted
done_testing
