#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace's selftest of that name, against the tree: start and stop, the stream, counters.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

printf '[backend sim]\nrate = 20000\n' >conf
ok "the tree is mounted" mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
echo stop >"$mnt/control"
is "$(cat "$mnt/control")" "stop" "stop"
ended() { awk '$1 == "SUBMIT" { a = $2 } $1 == "COMPLETE" { b = $2 } END { exit !(a == b) }' "$mnt/events_by_type"; }
wait_for 20 ended
echo clear >"$mnt/control"
is "$(value "$mnt/status" events_seen)" 0 "clear: nothing has been seen"
timeout 100 head -c 65536 "$mnt/events" >stream & reader=$!
echo start >"$mnt/control"
is "$(cat "$mnt/control")" "start" "start"
wait $reader
is "$?" 0 "a reader gets events"
is "$(stat -c %s stream)" 65536 "of 64 bytes each"
is "$(head -c 40 stream | tail -c 24 | tr -d '\0' | head -c 15)" gputrace-stream "the first is the header"
more() { [ "$(value "$mnt/status" events_recorded)" -gt 5000 ]; }
ok "counters go up" wait_for 20 more
ok "rings have what they did" awk '$8 > 0 { n++ } END { exit !n }' "$mnt/rings"
ok "the tree is unmounted" umount_gt "$mnt"
done_testing
