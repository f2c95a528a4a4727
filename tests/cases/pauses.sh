#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Averages leave out the time in which nothing was observed: level off, and stop.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

printf '[backend sim]\nrate = 2000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
python_checks "$GT_SRC/tests/lib/pauses.py" "$mnt"
jobs() { awk '$2 ~ /^ring/ { n += $8 } END { print n + 0 }' "$mnt/rings"; }
before=$(jobs)
echo off >"$mnt/config/level"
echo normal >"$mnt/config/level"
went_on() { [ "$(jobs)" -gt $((before + 1000)) ]; }
ok "after a pause it goes on" wait_for 20 went_on
is "$(awk 'NR > 1 { print $1, $3, $4 }' "$mnt/top" | sort | uniq -d)" "" "each process has one row in top for each engine"
umount_gt "$mnt"
done_testing
