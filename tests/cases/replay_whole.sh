#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A replay keeps the whole recording: whoever opens events or trace reads it from its first event to its end, whatever
# history_size says, and the history is in a file.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

ended() { grep -q ended "$mnt"/backends/"${1:-replay}"/state; }
# records of a stream by type, without what only describes
types() { python3 -c "
import sys, collections
d = open(sys.argv[1], 'rb').read()
assert len(d) % 64 == 0
c = collections.Counter(d[i + 8] for i in range(0, len(d), 64))
print(*('%d:%d' % k for k in sorted(c.items()) if k[0] < 64))" "$1"; }
read_by() { babeltrace2 --names none "$1" 2>bt.err | wc -l; }

data=$GT_SRC/tests/data/replay
text=$data/sched_6.12.txt
mount_gt "$mnt" -o replay="$text" || exit 1
wait_for 20 ended
ok "events ends by itself" timeout 60 cp "$mnt/events" first
timeout 60 cat "$mnt/events" >second
ok "… and gives the same bytes again" cmp first second
# 0 SUBMIT, 1 COMPLETE, 3 COMMIT: what conf/events.d says of these tracepoints, counted by another program
submits=$(grep -c ': drm_sched_job_queue:' "$text") commits=$(grep -c ': drm_sched_job_run:' "$text")
is "$(types first | tr ' ' '\n' | grep -E '^[03]:' | tr '\n' ' ')" "0:$submits 3:$commits " "every submission and hand-over is there"
mkdir ctf
cp first ctf/events
cp "$mnt/metadata" ctf/
is "$(read_by ctf)" $(($(stat -c %s first) / 64 - 1)) "babeltrace2 reads every record"
is "$(cat bt.err)" "" "… without a word of complaint"
timeout 60 cat "$mnt/trace" >lines
is "$(wc -l <lines)" "$(types first | tr ' ' '\n' | awk -F: '{ n += $2 } END { print n }')" "trace has a line for each event"
gpu=$(awk '$1 !~ /^(#|gpu$)/ { print $1; exit }' "$mnt/gpus")
timeout 60 cp "$mnt/$gpu/events" one
is "$(types one)" "$(python3 -c "
import struct
d = open('first', 'rb').read()
n = next(struct.unpack_from('<H', d, i + 12)[0] for i in range(0, len(d), 64) if d[i + 8] == 65 and d[i + 16:i + 32].rstrip(b'\\0') == b'$gpu')
open('of_gpu', 'wb').write(b''.join(d[i:i + 64] for i in range(0, len(d), 64) if d[i + 8] < 64 and struct.unpack_from('<H', d, i + 12)[0] == n))")$(types of_gpu)" "a GPU's pipe gives its events, and ends"
umount_gt "$mnt"

# what was converted is a recording, with the same events
mount_gt "$mnt" -o replay=first || exit 1
wait_for 20 ended
timeout 60 cp "$mnt/events" third
is "$(types third)" "$(types first)" "a stream that was read from a replay plays the same"
umount_gt "$mnt"
for f in sched_6.12_v6.dat sched_6.12_v7.dat; do
	mount_gt "$mnt" -o replay="$data/$f" || exit 1
	wait_for 20 ended
	timeout 60 cp "$mnt/events" dat
	is "$(types dat)" "$(types first)" "$f gives the events of its text"
	umount_gt "$mnt"
done

# more than any history in memory would keep
python3 - first big <<'P'
import struct, sys
with open(sys.argv[2], 'wb') as out:
    out.write(open(sys.argv[1], 'rb').read(64))
    for i in range(300000):
        out.write(struct.pack('<QBBHHHQQIIIIQQ', 1000 + i * 1000, i % 2, 0, 0, 0xffff, 0xffff, 7, i // 2 + 1, 100, 100,
                              0xffffffff, 0xffffffff, 2**64 - 1, 2**64 - 1))
P
printf '[buffers]\nhistory_size = 65536\n' >conf
mount_gt "$mnt" -o conf="$PWD/conf",replay=big || exit 1
wait_for 60 ended
timeout 60 cp "$mnt/events" whole
is "$(types whole)" "0:150000 1:150000" "300000 events with a history_size of 1024 records"
is "$(awk '$1 == "history_unkept" { print $2 }' "$mnt/status")" 0 "none is left out"
ok "history_size says that it is not for a replay" sh -c "! echo 1048576 2>/dev/null >$mnt/config/history_size"
like "$(cat "$mnt/last_cmd_status")" "whole recording, in a file" "… and why"
ok "what is read is in a file without a name" sh -c "ls -l /proc/$(pgrep -f "mount.gputrace $mnt ")/fd | grep -q 'deleted'"
umount_gt "$mnt"

# a folder with little room: a clear error, and all else goes on
mkdir small
if mount -t tmpfs -o size=20m none small 2>/dev/null; then
	TMPDIR=$PWD/small mount_gt "$mnt" -o replay=big 2>err || exit 1
	like "$(cat err)" "history is full" "mount warns where a folder has no room for the history"
	seen=$(awk '$1 == "SUBMIT" { print $2 }' "$mnt/events_by_type") unkept=$(awk '$1 == "history_unkept" { print $2 }' "$mnt/status")
	is "$seen" 150000 "statistics have all events"
	timeout 60 cp "$mnt/events" part
	is "$(($(types part | tr ' ' '\n' | awk -F: '{ n += $2 } END { print n }') + unkept))" 300000 "those that are not in the history are counted"
	like "$(cat "$mnt/doctor")" "history full: $unkept events" "doctor says so"
	umount_gt "$mnt"
	umount small
else
	skip_ok "a full file system" "no tmpfs here"
fi
done_testing
