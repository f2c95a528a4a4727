#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Filters, sampling and the level narrow what is recorded; statistics and blame stay as they are, and blame
# counts as many jobs as status and rings.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
truth="python3 $GT_SRC/tests/lib/ringtruth.py"

$truth generate 3 | $truth damage never 2 >never.txt
played() { grep -q '^state ended$' "$mnt/status"; }
shown() { # shown SETTING... - the tables of never.txt, and how many jobs there are of a kind
	printf '%s\n' '[trace]' "$@" >conf
	mount_gt "$mnt" -o conf=conf,replay=never.txt,speed=0 || exit 1
	wait_for 60 played
	(cd "$mnt" && cat blame rings top perf ./*/ring*/blame) >tables
	reports=$(count_rows "$mnt/report")
	flying=$(value "$mnt/status" jobs_in_flight)
	depths=$(awk '$2 ~ /^ring/ { n += $5 } END { print n }' "$mnt/rings")
	blames=$(value "$mnt/blame_stats" jobs_in_flight)
	finished=$(value "$mnt/blame_stats" jobs_finished)
	unrecorded=$(value "$mnt/blame_stats" jobs_without_record)
	completed=$(awk '$2 ~ /^ring/ { n += $8 } END { print n }' "$mnt/rings")
	umount_gt "$mnt"
}
shown 'level = normal'
mv tables unfiltered
all=$reports pid=$(awk 'NR > 1 { print $1; exit }' unfiltered)
ok "some jobs never end" [ "$flying" -gt 0 ]
for conf in "filter_pid = $pid" 'sampling = 10' 'filter_latency = 100000' 'level = stats'; do
	shown 'filter_enabled = 1' "$conf"
	ok "$conf: fewer jobs have a record: $reports of $all" [ "$reports" -lt "$all" ]
	ok "$conf: blame, rings, top and perf are as without" diff unfiltered tables
	is "$blames $blames" "$flying $depths" "$conf: blame has as many in flight as status and rings"
	is "$finished" "$completed" "$conf: … and as many that have finished"
done
is "$unrecorded" 0 "none is left out"
shown 'level = stats' '[buffers]' 'history_size = 0'
is "$unrecorded" "$completed" "without a history all are left out, which blame says"
is "$blames $finished" "$flying $completed" "… and counted"
done_testing
