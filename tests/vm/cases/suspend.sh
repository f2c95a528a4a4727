#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernel freezes every process before it sleeps, readers that are parked too; they go on after it
# and have lost nothing. Streams say when the clock was set.
. "$GT_SRC/tests/lib/case.sh"

modprobe -a fuse 2>/dev/null
[ -w /sys/power/pm_test ] || skip "this kernel has no pm_test"
echo 0 >/sys/module/suspend/parameters/pm_test_delay
echo freezer >/sys/power/pm_test
cleanup() { echo none >/sys/power/pm_test; }
daemon() { pgrep -f "mount.gputrace $mnt "; }
armed() { grep -qs '^209 ' /proc/"$(daemon)"/task/*/syscall; } # the guard is in its io_submit
suspend() { wait_for 60 armed && echo freeze >/sys/power/state; }
recorded() { value "$mnt/status" events_recorded; }
steady() { # nothing is recorded any more
	local n
	n=$(recorded)
	read -rt 0.3 <> <(:)
	[ "$(recorded)" = "$n" ]
}
parked() { # so many reads
	[ "$(value "$mnt/status" reads_blocked)" = "$1" ]
}

python=$(python3 -c 'import sys; print(sys.executable)')
cat >read.py <<'P'
import os, sys
f = os.open(sys.argv[1], os.O_RDONLY)
while True:
    try:
        b = os.read(f, 4096)
    except OSError as e:
        os.write(1, os.strerror(e.errno).encode())
        break
    os.write(1, b)
P
cat >count.py <<'P'
# each reader has every event that was recorded since, or is reported how many it lacks
import struct, sys
from tap import ok
want = int(sys.argv[1])
for name in sys.argv[2:]:
    data = open(name, 'rb').read()
    got = lost = 0
    for at in range(0, len(data), 64):
        if data[at + 8] < 32:
            got += 1
        elif data[at + 8] == 70:  # GT_LOST
            lost += struct.unpack_from('<Q', data, at + 16)[0]
    ok(len(data) % 64 == 0 and got + lost == want, '%s: %d read, %d reported lost, %d recorded' % (name, got, lost, want))
P
printf '[backend sim]\nrate = 2000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
echo stop >"$mnt/control"
wait_for 20 steady
before=$(recorded)
readers=()
for i in 0 1 2 3; do
	cat "$mnt/events" >"cat.$i" & readers+=($!)
	busybox cat "$mnt/events" >"busybox.$i" & readers+=($!)
	"$python" read.py "$mnt/events" >"python.$i" & readers+=($!)
	setpriv --reuid 65534 --regid 65534 --clear-groups cat "$mnt/events" >"user.$i" & readers+=($!)
	cat "$mnt/trace" >"trace.$i" & readers+=($!)
done
ok "20 readers are parked" wait_for 60 parked 20
for i in 1 2; do
	ok "suspend $i with 20 parked readers" suspend
done
ok "they are parked again" wait_for 60 parked 20
echo start >"$mnt/control"
wait_for 20 test -s trace.0
for i in 1; do
	ok "suspend $i while events come" suspend
done
echo stop >"$mnt/control"
wait_for 20 steady
ok "… and again" wait_for 60 parked 20
python_checks count.py $(($(recorded) - before)) cat.? busybox.? python.? user.?
is "$(cat trace.? | sort -u | wc -l)" "$(wc -l <trace.0)" "the lines of trace are the same for all"

# Others, at work: what is caught in the middle of a request may be reported EINTR, and no more
echo start >"$mnt/control"
for f in status report top; do
	again_and_again cat "$mnt/$f" >/dev/null 2>"$f.err" & readers+=($!)
	again_and_again ls -l "$mnt/sim0" >/dev/null 2>"ls.$f.err" & readers+=($!)
done
for i in 1; do
	ok "suspend $i with texts read all the time" suspend
done
is "$(grep -hv 'Interrupted system call' ./*.err)" "" "a text caught in it says EINTR, if anything"
ok "texts are read" cat "$mnt/status"

# The clock is set by an hour: streams get the new offset
cat >clock.py <<'P'
import struct, sys
from tap import ok
data = open(sys.argv[1], 'rb').read()
records = [data[at:at + 64] for at in range(0, len(data) - 63, 64)]
real, boot = struct.unpack_from('<qq', records[0], 32)
set_ = [struct.unpack_from('<qq', r, 16) for r in records if r[8] == 72]  # CLOCK_SNAPSHOT
ok(set_ and abs(set_[0][0] - real - 3600 * 10**9) < 5 * 10**9, 'CLOCK_SNAPSHOT: CLOCK_REALTIME went on by an hour', (real, set_))
ok(set_ and abs(set_[0][1] - boot) < 10**9, 'CLOCK_BOOTTIME did not', (boot, set_))
P
cat "$mnt/events" >clock & readers+=($!)
wait_for 20 test -s clock
date -s "@$(($(date +%s) + 3600))" >/dev/null
snapshot() { python3 -c 'import sys; d = open("clock", "rb").read(); sys.exit(72 not in d[8::64])'; }
ok "a clock that is set is in the stream" wait_for 60 snapshot
date -s "@$(($(date +%s) - 3600))" >/dev/null
python_checks clock.py clock

kill -STOP "$(daemon)"
kill -CONT "$(daemon)"
ok "a daemon that was stopped goes on" wait_for 20 cat "$mnt/status" # the first may be caught by EINTR
kill "${readers[@]}"
wait "${readers[@]}" 2>/dev/null
ok "no descriptor is left open" wait_for 20 grep -qx 'readers 0' "$mnt/status"
ok "unmounted" umount_gt "$mnt"

mount_gt "$mnt" -o conf=conf,backend=sim
echo stop >"$mnt/control"
wait_for 20 steady
"$python" read.py "$mnt/events" >killed &
reader=$!
wait_for 60 parked 1
kill -KILL "$(daemon)"
wait "$reader"
is "$(tail -c 32 killed)" "Software caused connection abort" "readers of a daemon that is killed are reported"
umount -l "$mnt"

max=$(cat /proc/sys/fs/aio-max-nr)
echo 0 >/proc/sys/fs/aio-max-nr
mount_gt "$mnt" -o conf=conf,backend=sim
like "$(cat "$mnt/doctor")" '^  remedy sysctl fs.aio-max-nr' "doctor says where it cannot be"
ok "and the rest works" test -s "$mnt/status"
umount_gt "$mnt"
echo "$max" >/proc/sys/fs/aio-max-nr
done_testing
