#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every file of a simulation and of recordings of each kind is a value, keyed lines or a table, as gputrace-files(5) says.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

formats() { # formats WHAT OPTIONS - of a mount
	mount_gt "$mnt" -o "$2" || exit 1
	$3
	python_checks "$GT_SRC/tests/lib/formats.py" "$mnt" "$1"
	python_checks "$GT_SRC/tests/lib/formats.py" "$mnt" "$1, to another user" 65534
	GT_PYTHON="unshare --pid --fork --mount-proc python3" \
		python_checks "$GT_SRC/tests/lib/formats.py" "$mnt" "$1, in another PID namespace"
	umount_gt "$mnt"
}
busy() { wait_for 60 eval '[ "$(count_rows "$mnt/report")" -gt 100 ]'; }
played() { wait_for 60 grep -q '^state ended$' "$mnt/status"; }

formats "a simulation" backend=sim busy
PYTHONPATH=$GT_SRC/tests/lib python3 "$GT_SRC/tests/lib/ringtruth.py" generate 3 >trace.txt
formats "ftrace's text" replay=trace.txt played
formats "a trace.dat" replay="$GT_SRC/tests/data/replay/sched_6.12_v7.dat" played
python3 "$GT_SRC/tests/lib/rocprof.py" generate run 1
formats "results of rocprofv3" replay=run played
done_testing
