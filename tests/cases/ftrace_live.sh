#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The ftrace backend in the daemon, live: a mock program plays jobs, uprobes with the names of the
# GPU scheduler's tracepoints tell of them, and the stream equals the truth, event for event.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/uprobes.sh"
is_root || skip "needs root to mount"
mock=$GT_OUT/tests/tools/mockjobs
[ -x "$mock" ] || skip "tests/tools/mockjobs is not built"
uprobes_usable || skip "$uprobes_why"
cleanup() { uprobes_remove; }

records() { echo $(($(stat -c %s stream) / 64)); }

for names in old new; do
	ok "$names: stand-ins for the tracepoints" uprobes_add "$mock" $names
	mount_gt "$mnt" -o backend=ftrace || exit 1
	instance=$uprobes_tracefs/instances/gputrace-$(pgrep -f "mount.gputrace $mnt( |\$)")
	ok "$names: an instance of its own" test -d "$instance"
	like "$(cat "$mnt/doctor")" 'ftrace' "$names: doctor tells of the backend"
	rm -f stream # else the wait would see an earlier one
	cat "$mnt/events" >stream & reader=$!
	wait_for 10 test -s stream
	ok "$names: the mock runs" "$mock" -n 2000 -p 3 -r 3 -d 300 -m $names -o truth.csv
	all_there() { python3 "$GT_SRC/tests/lib/mocktruth.py" truth.csv stream; }
	wait_for 20 all_there
	ok "$names: the stream equals the truth" all_there
	echo "# $names: $(records) records"
	kill $reader
	wait $reader 2>/dev/null
	umount_gt "$mnt"
	ok "$names: the instance is gone" test ! -e "$instance"
	uprobes_remove
done
done_testing
