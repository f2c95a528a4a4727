#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A daemon that is no root's, with the capabilities that BPF takes and no other: the same jobs are counted.
# Alone
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/calls.sh"
. "$GT_SRC/tests/lib/fuse.sh"
. "$GT_SRC/tests/lib/others.sh"
is_root || skip "needs root to mount"
others_reach
calls_mock
command -v fusermount3 >/dev/null || skip "fusermount3 is not installed"
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip "kernel.perf_event_paranoid is above 2"

cleanup() {
	as_user fusermount3 -u -q "$mnt" 2>/dev/null
	fuse_restore
}
fuse_for_users
mkdir "$mnt"
chown 65534 "$mnt"
calls_maps maps 0000:00:01.0
sed -i 's/0x4000000000000000/0x1000000000000000/' maps/calls.ini # contexts of its own
chmod -R a+rX maps
mount_gt "$PWD/root" -o "events_dir=$PWD/maps,backend=bpf" || skip "BPF does not work here"
umount_gt "$PWD/root"

with() { # with CAPABILITIES COMMAND... - as an ordinary user that has these
	local caps=$1
	shift
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$caps" --ambient-caps "$caps" "$@"
}
start() { with "$1" "$GT_PROG" "$mnt" -o "events_dir=$PWD/maps,backend=bpf" 2>err; }

start +bpf,+perfmon
is $? 32 "without the right to read tracefs there is no mount"
like "$(cat err)" "tracing/events may not be read by uid 65534" "… and the reason is said"
start +dac_read_search,+perfmon
is $? 32 "nor is there one without CAP_BPF"
like "$(cat err)" "CAP_BPF|unprivileged_bpf_disabled" "… and the reason is said"
start +bpf,+perfmon,+dac_read_search
is $? 0 "with all three there is one" || exit 1
said() { as_user sed -n "s/^$1 //p" "$mnt/backends/bpf/stats"; }
"$mock" -p 3 -r 3 -n 900 -m calls -c $((1 << 60)) >/dev/null
completed() { as_user awk '$2 ~ /^ring/ { n += $8 } END { print n + 0 }' "$mnt/rings"; }
all() { [ "$(completed)" = 900 ]; }
wait_for 20 all
is "$(completed)" 900 "each of them is"
as_user fusermount3 -u "$mnt"
is $? 0 "unmounted"
wait_for 20 gone "$mnt"
done_testing
