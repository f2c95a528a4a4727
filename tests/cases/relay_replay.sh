#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Dumps of grtrace's relay files, one of each CPU, show the same numbers as an independent computation; what is
# missing or damaged in them is reported; the annotator's text has the jobs' processes, by another clock, too.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
jobs="python3 $GT_SRC/tests/lib/jobs.py"
grtrace="python3 $GT_SRC/tests/lib/grtrace.py"

$jobs generate 7 >invented.txt
$grtrace dump invented.txt dump
dumps=dump/events0:dump/events1:dump/events2:dump/events3

mount_gt "$mnt" -o replay=$dumps || exit 1
is "$(awk 'NR > 1 { print $1 }' "$mnt/gpus")" amdgpu0 "the GPU that the records name"
ok "as computed" $jobs compare invented.txt "$mnt/amdgpu0"
is "$(cat "$mnt/amdgpu0/by-name/sdma0/engine")" COPY "a ring's engine is reported"
is "$(cat "$mnt/backends/replay/last_error")" "" "nothing is wrong with them"
is "$(value "$mnt/status" events_lost_source)" 0 "nothing is lost"
submits=$(grep -c amdgpu_cs_ioctl invented.txt)
is "$(awk '$1 == "SUBMIT" { print $2 }' "$mnt/events_by_type")" "$submits" "each submission once"
umount_gt "$mnt"

mount_gt "$mnt" -o replay=$dumps,speed=0.001
like "$(cat "$mnt/backends/replay/stats")" "file0_kind grtrace-dump" "what the files are"
umount_gt "$mnt"

mount_gt "$mnt" -o replay=dump/events3:dump/events0:dump/events2:dump/events1
ok "in another order they are the same" $jobs compare invented.txt "$mnt/amdgpu0"
umount_gt "$mnt"

# another clock than the annotator's, which is right
$grtrace dump invented.txt late 1000000
$grtrace annotate invented.txt >annotated.txt
printf '[backend replay]\nrelay_clock_offset = -1000000\n' >conf
mount_gt "$mnt" -o conf=conf,replay=late/events0:late/events1:late/events2:late/events3:annotated.txt || exit 1
ok "with the clock's offset, as computed" $jobs compare invented.txt "$mnt/amdgpu0"
is "$(cat "$mnt/proc/25155/comm") $(cat "$mnt/proc/25156/comm")" 'steam Render Thread-x' "it tells who submitted"
rows=$(count_rows "$mnt/report")
is "$(awk 'NR > 1 && $8 != "-"' "$mnt/report" | wc -l)" "$(awk 'NR > 1 && $9 != "-"' "$mnt/report" | wc -l)" "each job that was submitted has its ioctl's time"
ok "… which there are ($rows)" [ "$rows" -gt 700 ]
is "$(cat "$mnt/backends/replay/relay_clock_offset")" -1000000 "the setting is a file"
umount_gt "$mnt"

$grtrace drop dump/events2 25
mount_gt "$mnt" -o replay=$dumps
is "$(value "$mnt/status" events_lost_source)" 25 "what a file lacks is lost"
like "$(cat "$mnt/doctor")" "lost 25 events" "… and by doctor"
umount_gt "$mnt"

$grtrace dump invented.txt dump
$grtrace damage dump/events1
mount_gt "$mnt" -o replay=$dumps
like "$(cat "$mnt/backends/replay/last_error")" "events1: byte [0-9]+: " "damage is reported with its place"
is "$(value "$mnt/status" events_lost_source)" 0 "of what no event was taken away nothing is lost"
is "$(awk '$1 == "SUBMIT" || $1 == "COMMIT" || $1 == "COMPLETE" { n += $2 } END { print n }' "$mnt/events_by_type")" \
	"$(($(grep -cE 'cs_ioctl|run_job|context=4929 seq|context=123 seq' invented.txt) - 1))" "every event but the one cut is there"
umount_gt "$mnt"

printf '\011' | dd of=dump/events0 bs=1 seek=36 conv=notrunc 2>/dev/null
"$GT_PROG" "$mnt" -o replay=dump/events0 2>err && mounts+=("$mnt")
like "$(cat err)" "grtrace's records of version" "another version is refused"
done_testing
