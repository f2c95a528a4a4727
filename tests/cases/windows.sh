#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# aggregate and perf of windows of any length, against the simulation's ground truth: every number of every
# window that was seen; and what a change, clear and off do to them.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

export GPUTRACE_TEST=1
for ms in 130 333 1000; do
	printf '[trace]\naggregator_window = %d\n[backend sim]\nrate = 20000\nseed = 3\ntruth = %s/truth.csv\n' \
		$ms "$PWD" >conf
	mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
	ok "$ms ms: watched" python3 "$GT_SRC/tests/lib/windows.py" watch "$mnt" 12 seen
	umount_gt "$mnt"
	python_checks "$GT_SRC/tests/lib/windows.py" check truth.csv seen $ms
done

printf '[backend sim]\nrate = 20000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
lengths() { awk 'NR > 1 { print $11 }' "$mnt/aggregate" | sort -u; }
all_are() { [ "$(lengths)" = "$1" ]; }
ok "a second, as configured" wait_for 20 all_are 1000000000
echo 200 >"$mnt/config/aggregator_window"
ok "another length" wait_for 20 all_are 200000000
echo 0 >"$mnt/config/aggregator_enable"
is "$(lengths)" - "off: there are none"
is "$(awk 'NR > 1 { print $2, $3, $4 }' "$mnt/perf" | sort -u)" "- - -" "… nor is anything known of them"
echo 1 >"$mnt/config/aggregator_enable"
ok "on again" wait_for 20 all_are 200000000
is "$(cat "$mnt/config/aggregator_window")" 200 "of the length that it had"
over() { awk 'NR > 1 && $2 > 100 { exit 1 }' "$mnt/perf"; }
ok "never over 100 %" over
umount_gt "$mnt"
done_testing
