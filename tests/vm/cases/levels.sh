#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A hundred changes of the level in a row while jobs are at work, with the backends that a mount has by default: each
# is done, and true. Then a job that is submitted is seen to end, a driver can be unloaded once all is detached, and the
# jobs of a killed process are not in flight for ever.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
. "$GT_SRC/tests/lib/levels.sh"
cleanup() {
	touch stop
	wait
	mock_unload
}

mock_load || exit 1
mock_names amdgpu || exit 1
mount_gt "$mnt" -o backend=bpf:ftrace:sysfs || exit 1
like "$(cat "$mnt/doctor")" "tracepoints_reported_by bpf" "BPF reports the tracepoints"
load() { while [ ! -e stop ]; do "$gpujobs" --device "$1" --jobs 50 --ring $rings --length-us 50-900 --depth 12 --seed "$1" >/dev/null; done; }
load 0 &
load 1 &
ok "events come" wait_for 60 levels_events_come
levels_change 100

# Killed in the middle of it, with a change of the level behind
"$gpujobs" --device 0 --jobs 100 --ring $rings --length-us 5000-6000 --depth 60 >/dev/null & killed=$!
read -rt 0.3 -u "$never"
kill -9 $killed
wait $killed 2>/dev/null
touch stop
wait
echo stats >"$mnt/config/level"
echo normal >"$mnt/config/level"
none_in_flight() { [ "$(value "$mnt/status" jobs_in_flight)" = 0 ]; }
ok "no job is in flight: not of the killed process either" wait_for 60 none_in_flight
echo clear >"$mnt/control"
is "$(value "$mnt/status" jobs_in_flight)" 0 "nor behind clear"
"$gpujobs" --device 1 --jobs 20 --ring gfx_0.0.0 --length-us 500 >/dev/null
counted() { [ "$(awk '$2 ~ /^ring/ { n += $8 } END { print n + 0 }' "$mnt/rings")" = 20 ]; }
ok "jobs are counted" wait_for 20 counted

echo off >"$mnt/config/level"
ok "off: in the end nothing is attached" wait_for 60 levels_detached
ok "… and the drivers can be unloaded" mock_unload
umount_gt "$mnt"
done_testing
