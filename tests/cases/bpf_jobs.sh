#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Jobs from the BPF programs' records: a mock program plays jobs whose events are real system calls. What the files
# say equals what the same events give when they are recorded and replayed, bucket for bucket; it is the same where
# nobody records; and what a buffer loses is counted.
# Alone
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/calls.sh"
calls_mock
calls_maps maps 0000:00:01.0
# contexts of its own: others may play jobs on this machine
sed -i 's/0x4000000000000000/0x2000000000000000/' maps/calls.ini
maps=events_dir=$PWD/maps
mount_gt "$mnt" -o "$maps,backend=bpf" || skip "BPF does not work here"

stat_of() { value "$mnt/backends/bpf/stats" "$1"; }
completed() { awk '$2 ~ /^ring/ { n += $8 } END { print n + 0 }' "$1/rings"; }
jobs() { "$mock" -p 3 -r 3 -m calls -c $((1 << 61)) "$@"; }

# Files of statistics, those that move with the clock or the machine left out
statistics() { # statistics MNT
	local r p
	for r in "$1"/mock0/ring[0-9]*; do
		echo "# $(cat "$r/name")"
		cat "$r/latency"
		cat "$r/histogram"
		grep -E '^(submitted|committed|completed|begin_unseen|busy_ns)' "$r/stats"
	done
	for p in "$1"/proc/[0-9]*; do
		# those of a first try, before the clear, are there for a minute
		[ "$(value "$p/stats" completed)" != 0 ] || continue
		echo "# ${p##*/} $(cat "$p/comm")"
		cat "$p/latency"
		grep -E '^(submitted|committed|completed|in_flight|busy_ns)' "$p/stats"
	done
}

# Recorded as well: the same events, replayed, give the same
all_there() { python3 "$GT_SRC/tests/lib/mocktruth.py" truth.csv stream; }
cat "$mnt/events" >stream & reader=$!
wait_for 20 test -s stream
jobs -n 2000 -d 300 -o truth.csv
ok "recorded: the stream equals the truth" wait_for 20 all_there
kill $reader
wait $reader 2>/dev/null
is "$(completed "$mnt")" 2000 "recorded: every job is counted"
ok "recorded: the latencies are those of its events" python3 "$GT_SRC/tests/lib/streamlat.py" stream "$mnt"
statistics "$mnt" >live.txt
tail -n +2 "$mnt/report" 2>/dev/null | sort >live.report
mount_gt "$PWD/again" -o "replay=$PWD/stream,speed=0" || exit 1
replayed() { [ "$(completed "$PWD/again")" = 2000 ]; }
wait_for 20 replayed
statistics "$PWD/again" >replay.txt
ok "recorded: replayed, they are the same in every bucket" cmp live.txt replay.txt
ok "... and there is something in them" grep -q '^total' live.txt
is "$(grep -c . live.report)" "$(tail -n +2 "$PWD/again/report" 2>/dev/null | grep -c .)" "... and as many jobs in report"
diff live.txt replay.txt | head -20 | sed 's/^/# /'
umount_gt "$PWD/again"
is "$(value "$mnt/status" events_seen)" 6000 "recorded: each event is seen once"
is "$(value "$mnt/status" events_recorded)" 6000 "... and recorded once"

# Nobody records: all of it is counted
echo stats >"$mnt/config/level"
echo clear >"$mnt/control"
mkfifo stay
jobs -n 3000 -d 100 -k -o truth.csv <stay >playing & player=$! # those who submit stay until the daemon knows them
exec {stay}>stay
wait_for 60 grep -q played playing
counted() { [ "$(completed "$mnt")" = "$1" ]; }
ok "not recorded: every job is counted" wait_for 20 counted 3000
cat >sums.py <<'P'
# The jobs' times, by the clock before and after each call, against the sums of `latency`
import csv, sys
import glob
import tables
from tap import ok
at, sums = {}, {}
for row in csv.DictReader(open('truth.csv')):
    key = row['ring'], row['ctx'], row['seqno']
    job = at.setdefault(key, {})
    job[row['call']] = int(row['before']), int(row['after'])
for (ring, _, _), j in at.items():
    s = sums.setdefault(ring, {'n': 0, 'queue': [0, 0], 'total': [0, 0]})
    s['n'] += 1
    for stage, a, b in (('queue', 'queue', 'run'), ('total', 'queue', 'done')):
        s[stage][0] += max(0, j[b][0] - j[a][1])
        s[stage][1] += j[b][1] - j[a][0]
for d in glob.glob(sys.argv[1] + '/mock0/ring[0-9]*'):
    want = sums.pop(open(d + '/name').read().strip())
    got = tables.stages(d + '/latency')
    for stage in ('queue', 'total'):
        count, avg = int(got[stage]['count']), int(got[stage]['avg_ns'])
        ok(count == want['n'], '%s: %s of %d jobs' % (d[-5:], stage, count))
        ok(want[stage][0] <= (avg + 1) * count and avg * count <= want[stage][1],
           '%s: %s takes as long as it took' % (d[-5:], stage))
ok(not sums, 'no ring is missing')
P
python_checks sums.py "$mnt"
all_known() { [ "$(ls "$mnt/proc" | wc -l)" = 3 ]; }
wait_for 20 all_known
is "$(awk -F, '/^queue/ { print $7 }' truth.csv | sort | uniq -c | awk '{ print $2, $1 }')" \
	"$(for p in $(awk -F, '/^queue/ { print $7 }' truth.csv | sort -u); do echo "$p $(value "$mnt/proc/$p/stats" completed)"; done)" \
	"not recorded: each process's jobs are counted for it"
is "$(cat "$mnt"/proc/*/comm | sort -u)" mockjobs "... under its name"
exec {stay}>&-
wait $player
is "$(value "$mnt/status" events_seen) $(value "$mnt/status" events_filtered_level)" "9000 9000" \
	"not recorded: each event is seen, and refused"
is "$(awk '$2 ~ /^ring/ { n += $5 } END { print n }' "$mnt/rings")" 0 "not recorded: nothing is left in flight"

# Jobs in flight are listed though no record reports them
flying() { [ "$(grep -h mockjobs "$mnt"/mock0/ring*/jobs | wc -l)" -gt 4 ]; }
one_runs() { # on each ring at most, and on some
	local n all=0
	for f in "$mnt"/mock0/ring[0-9]*/jobs; do
		n=$(grep -c running "$f")
		[ "$n" -le 1 ] || return
		all=$((all + n))
	done
	[ $all -gt 0 ]
}
# The mock plays for a second. A busy machine may not read the files in that time: then it plays again
listed=0 running=0
for _ in {1..10}; do
	jobs -n 40 -d 150000 -b -o truth.csv & player=$!
	while kill -0 $player 2>/dev/null && [ "$listed$running" != 11 ]; do
		flying && listed=1
		one_runs && running=1
	done
	wait $player
	[ "$listed$running" != 11 ] || break
done
is $listed 1 "not recorded: jobs in flight are listed"
is $running 1 "... one of a ring's is running"
ok "... until they have ended" wait_for 20 sh -c "! grep -qh mockjobs $mnt/mock0/ring*/jobs"

# Many in flight
echo clear >"$mnt/control"
"$mock" -n 8000 -p 3 -r 16 -d 20 -b -m calls -c $((1 << 61)) -o /dev/null
ok "a thousand in flight: every job is counted" wait_for 20 counted 8000
is "$(awk '$2 ~ /^ring/ { n += $5 } END { print n }' "$mnt/rings")" 0 "... and none is left"
is "$(value "$mnt/status" jobs_begin_unseen)" 0 "... nor an end without a beginning"

# Recorded or not, as the level goes up and down while jobs run: each is counted, and whole
echo clear >"$mnt/control"
jobs -n 6000 -d 100 -o truth.csv & player=$!
while kill -0 $player 2>/dev/null; do
	echo normal >"$mnt/config/level"
	sleep 0.05
	echo stats >"$mnt/config/level"
	sleep 0.05
done
wait $player
ok "up and down: every job is counted" wait_for 20 counted 6000
landed() { [ "$(awk '$2 ~ /^ring/ { n += $5 } END { print n }' "$mnt/rings")" = 0 ]; }
ok "up and down: nothing is left in flight" wait_for 20 landed # records come a little later than the count
is "$(value "$mnt/status" events_seen)" 18000 "up and down: every event is seen once"
is "$(value "$mnt/status" jobs_begin_unseen)" 0 "up and down: no end without a beginning"
umount_gt "$mnt"

# A wait knows its job though no record reported it
cat >>maps/calls.ini <<'E'

[syscalls/sys_enter_madvise]
event = SYNC_WAIT_ENTER
where = start & 0x2000000000000000
ctx = start
seqno = len_in
match = ctx seqno
unknown_job = keep

[syscalls/sys_enter_mincore]
event = SYNC_WAIT_EXIT
where = start & 0x2000000000000000
ctx = start
seqno = len
match = ctx seqno
unknown_job = keep
E
mount_gt "$mnt" -o "$maps,backend=bpf,level=stats" || exit 1
cat >wait.py <<'P'
import ctypes
libc = ctypes.CDLL(None)
ctx, n = ctypes.c_uint64(0x2000000000000007), ctypes.c_uint64(3)
libc.msync(ctx, n, 8)
libc.mlock2(ctx, n, 8)
libc.madvise(ctx, n, 0)
libc.mincore(ctx, n, None)
libc.sync_file_range(-1, ctx, n, 8)
P
python3 wait.py
ok "a job and a wait for it are counted" wait_for 20 counted 1
waited() { [ "$(value "$mnt/mock0/ring0/stats" waits)" = 1 ]; }
ok "... the wait on the job's ring" wait_for 20 waited
umount_gt "$mnt"

# What the buffer loses is counted, and leaves nothing in flight
printf '[backend bpf]\nbuffer_size = 4096\n' >conf
mount_gt "$mnt" -o "conf=conf,$maps,backend=bpf" || exit 1
# The daemon takes nothing out meanwhile, however slow the mock is
daemon=$(pgrep -of "mount.gputrace $mnt( |\$)")
cleanup() { kill -CONT "$daemon" 2>/dev/null; }
kill -STOP "$daemon" || exit 1
jobs -n 3000 -d 0 -b -o /dev/null
kill -CONT "$daemon"
all_known() { [ "$(value "$mnt/status" events_seen)" = 9000 ]; } # those that were lost, too
ok "more than the buffer holds: each event is counted" wait_for 20 all_known
ok "... and some are lost" test "$(stat_of tracepoint_lost)" -gt 0
is "$(value "$mnt/status" events_lost_source)" "$(stat_of tracepoint_lost)" "... which status says, too"
ok "... nothing is left in flight" wait_for 20 landed
umount_gt "$mnt"

# Settings of older versions, which matched jobs in the kernel, do no harm
printf '[backend bpf]\nmatch = daemon\nrecord_rate = 2400\n' >conf
mount_gt "$mnt" -o "conf=conf,$maps,backend=bpf" || exit 1
jobs -n 300 -d 50 -o /dev/null
ok "with settings of older versions: every job is counted" wait_for 20 counted 300
umount_gt "$mnt"

# A map with the hardware's own times
sed -i 's/^event = COMMIT/event = START/' maps/calls.ini
mount_gt "$mnt" -o "$maps,backend=bpf" || exit 1
jobs -n 300 -d 50 -o /dev/null
ok "the hardware's own times: every job is counted" wait_for 20 counted 300
umount_gt "$mnt"
done_testing
