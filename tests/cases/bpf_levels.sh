#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A hundred changes of the level in a row while events come: each is done when the write returns, and true. Off, no
# event is counted; on, they come. What is off is detached a while later, and status counts it until then.
# Alone
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/calls.sh"
. "$GT_SRC/tests/lib/levels.sh"
calls_mock
# Tracepoints that are read from their records take longest to be detached; most of these never fire
calls_maps maps
for e in /sys/kernel/tracing/events/syscalls/sys_enter_{s,t}*; do
	[ "${e##*/}" = sys_enter_sync_file_range ] || printf '\n[syscalls/%s]\nevent = COUNTER\nwhere = __syscall_nr == 100000\n' "${e##*/}"
done | head -n 120 >>maps/calls.ini
mount_gt "$mnt" -o "events_dir=$PWD/maps,backend=bpf" || skip "BPF does not work here"
programs=$(value "$mnt/backends/bpf/stats" tracepoints)
ok "a program for each of many tracepoints" [ "$programs" -ge 20 ]

load() { while "$mock" -n 200 -p 2 -r 3 -d 300 -m calls -o /dev/null; do :; done; }
load & levels_load=$!
ok "events come" wait_for 20 levels_events_come
levels_change 100
kill $levels_load
wait $levels_load 2>/dev/null

# Back before it is detached: the same programs go on
before=$(value "$mnt/backends/bpf/stats" tracepoints)
echo off >"$mnt/config/level"
ok "off: status says that something is still attached" [ -n "$(value "$mnt/status" detaching)" ]
echo normal >"$mnt/config/level"
ok "on again: nothing is left to be detached" wait_for 60 levels_detached
is "$(value "$mnt/backends/bpf/stats" tracepoints)" "$before" "… and all are attached"
echo off >"$mnt/config/level"
ok "off: in the end nothing is attached" wait_for 60 levels_detached
# By now there are no programs of ours; other tests may have some
echo normal >"$mnt/config/level"
is "$(value "$mnt/backends/bpf/stats" tracepoints)" "$before" "on again after that: all are attached"
n=$(levels_events)
"$mock" -n 100 -p 2 -r 3 -d 300 -m calls -o /dev/null
reported() { [ "$(levels_events)" -ge $((n + 300)) ]; }
ok "… and report" wait_for 20 reported
umount_gt "$mnt"

# What came before is counted, or lost and counted: also with more in the buffers than the daemon takes at once, and
# with more than had room
come() { awk '/^(SUBMIT|COMMIT|COMPLETE) / { n += $2 } END { print n }' "$mnt/events_by_type"; }
calls_maps few
for size in 4194304 65536; do
	printf '[buffers]\nbuffer_size = %d\n' $size >conf
	mount_gt "$mnt" -o "conf=conf,events_dir=$PWD/few,backend=bpf" || exit 1
	daemon=$(pgrep -f "^[^ ]*mount.gputrace $mnt ")
	kill -STOP "$daemon"
	"$mock" -n 20000 -p 2 -r 3 -d 0 -b -m calls -o /dev/null
	{ echo off >"$mnt/config/level"; } & writer=$!
	kill -CONT "$daemon"
	wait $writer
	lost=$(value "$mnt/status" events_lost_source)
	is $(($(come) + lost)) 60000 "off: all that came is counted, with buffers of $size ($lost are lost)"
	umount_gt "$mnt"
done
done_testing
