#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tracepoints by BPF programs, in the daemon: a mock program plays jobs whose events are real system
# calls, and the stream equals the truth, event for event, as it does by ftrace. One of the two tells, and
# never both.
# Alone
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/calls.sh"
calls_mock
calls_maps maps
maps=events_dir=$PWD/maps
mount_gt "$mnt" -o "$maps,backend=bpf" || skip "BPF does not work here"
like "$(cat "$mnt/backends/bpf/stats")" '^tracepoint running' "the tracepoints are reported by BPF"
is "$(value "$mnt/backends/bpf/stats" tracepoints)" 4 "all four of the maps"
umount_gt "$mnt"

stat_of() { value "$mnt/backends/$1/stats" "$2"; }
but() { # but BACKEND KEY KEY - the one less the other, at one look: other programs' calls go on
	awk -v a="$2" -v b="$3" '$1 == a { n += $2 } $1 == b { n -= $2 } END { print n + 0 }' "$mnt/backends/$1/stats"
}

play() { # play WHAT JOBS - runs the mock while a stream is read, and compares
	rm -f stream
	cat "$mnt/events" >stream & local reader=$!
	wait_for 20 test -s stream
	"$mock" -n "$2" -p 3 -r 3 -d 300 -m calls -o truth.csv
	all_there() { python3 "$GT_SRC/tests/lib/mocktruth.py" truth.csv stream; }
	wait_for 20 all_there
	ok "$1: the stream equals the truth" all_there
	kill $reader
	wait $reader 2>/dev/null
}

for backend in bpf ftrace bpf:ftrace; do
	mount_gt "$mnt" -o "$maps,backend=$backend" || exit 1
	play "$backend" 2000
	ok "$backend: the latencies are those of its events" python3 "$GT_SRC/tests/lib/streamlat.py" stream "$mnt"
	is "$(awk '$2 ~ /^ring/ { n += $8 } END { print n }' "$mnt/rings")" 2000 "$backend: all jobs are counted once"
	# one that had ended before the daemon came to it is in no namespace that is known, and not listed
	is "$(comm -13 <(awk -F, '/^queue/ { print $7 }' truth.csv | sort -u) <(ls "$mnt/proc" | sort))" "" \
		"$backend: no process but those that submitted"
	is "$(cat "$mnt"/proc/*/comm 2>/dev/null | grep -vx mockjobs)" "" "$backend: with their name"
	is "$(value "$mnt/status" events_lost_source)" 0 "$backend: nothing was lost"
	case $backend in
	bpf:ftrace)
		is "$(but bpf tracepoint_events tracepoint_other)" 6000 "both: BPF tells"
		is "$(stat_of ftrace events)" 0 "both: ftrace does not"
		like "$(cat "$mnt/doctor")" "tracepoints_reported_by bpf" "both: doctor says so" ;;
	esac
	umount_gt "$mnt"
done

# Other buffers take the place of those that are written to, while they are
mount_gt "$mnt" -o "$maps,backend=bpf" || exit 1
sizes() {
	for size in 65536 1048576 262144 4194304 131072; do
		echo $size >"$mnt/config/buffer_size" || echo "$size refused"
		[ "$(cat "$mnt/config/buffer_size")" = $size ] || echo "$size reads $(cat "$mnt/config/buffer_size")"
	done
}
until_stop() { while [ ! -e stop ]; do sizes; done; }
until_stop >said & changing=$!
play "other buffers meanwhile" 2000
touch stop
wait $changing
is "$(cat said)" "" "other buffers: each size is taken"
is "$(value "$mnt/status" events_lost_source)" 0 "other buffers: nothing was lost"
is "$(stat_of bpf records_out_of_order)" 0 "other buffers: nothing came late"
ok "other buffers: one that is too large is cut" sh -c "echo 1T >'$mnt/config/buffer_size'"
granted=$(cat "$mnt/config/buffer_size") total=$(stat_of bpf buffer_total)
ok "other buffers: to $granted bytes, $total in all" [ "$total" -le $((256 << 20)) ] && [ "$granted" -lt 1099511627776 ]
umount_gt "$mnt"

# What BPF is not to do, or cannot, ftrace does
printf '[backend bpf]\ntracepoints = 0\n' >conf
mount_gt "$mnt" -o "conf=conf,$maps,backend=bpf:ftrace" || exit 1
like "$(cat "$mnt/doctor")" "tracepoint unavailable: .*setting tracepoints" "switched off: doctor says so"
play "switched off" 300
# dpkg, too, makes such system calls
is "$(but ftrace events ignored)" 900 "switched off: ftrace tells"
umount_gt "$mnt"

# What the maps would only ignore is left out in the kernel already
mount_gt "$mnt" -o "$maps,backend=bpf" || exit 1
python3 -c 'import mmap
m = mmap.mmap(-1, 4096)
for _ in range(10): m.flush()'
ignored() { [ "$(stat_of bpf ignored)" -ge 10 ]; }
ok "system calls that the map's condition leaves out are counted" wait_for 20 ignored
is "$(stat_of bpf tracepoint_records)" 0 "... and none of them left the kernel"
umount_gt "$mnt"

# A buffer that is far too small: what does not fit is reported as lost in its place, to the last event
printf '[backend bpf]\nbuffer_size = 4096\n' >conf
mount_gt "$mnt" -o "conf=conf,$maps,backend=bpf" || exit 1
rm -f stream
cat "$mnt/events" >stream & reader=$!
wait_for 20 test -s stream
# The daemon takes nothing out meanwhile, however slow the mock is
daemon=$(pgrep -f "mount.gputrace $mnt")
ok "the daemon is stopped" kill -STOP $daemon
"$mock" -n 3000 -p 2 -r 3 -d 0 -b -m calls -o /dev/null
kill -CONT $daemon
lost() { [ "$(stat_of bpf tracepoint_lost)" -gt 0 ]; }
ok "more than the buffer holds: some are lost" wait_for 20 lost
cat >sum.py <<'P'
import collections, struct, sys
data, n, lost, last = open('stream', 'rb').read(), 0, 0, 0
for at in range(0, len(data) - 63, 64):
    ts, kind = struct.unpack_from('<QB', data, at)
    if kind == 70:
        lost += struct.unpack_from('<Q', data, at + 16)[0]
    n += kind < 32
    if ts < last:
        sys.exit('time goes back')
    last = ts
counted, status = int(sys.argv[1]), int(sys.argv[2])
print(n, lost)
sys.exit(n + lost != 9000 or lost != counted or lost != status)
P
all_there() { python3 sum.py "$(stat_of bpf tracepoint_lost)" "$(value "$mnt/status" events_lost_source)"; }
ok "... and reported, the last of them too: with them it is all that there was" wait_for 20 all_there
all_there | sed 's/^/# events, lost: /'
kill $reader
wait $reader 2>/dev/null
umount_gt "$mnt"

# More than any machine has: less is granted, which the file says; and it is the ring's alone if it is all CPUs'
printf '[buffers]\nbuffer_size = 1099511627776\n' >conf
mount_gt "$mnt" -o "conf=conf,$maps,backend=bpf:ftrace" || exit 1
granted=$(cat "$mnt/backends/bpf/buffer_size") total=$(stat_of bpf buffer_total)
ok "a terabyte for each CPU is asked for: it runs" grep -q "tracepoint running" "$mnt/backends/bpf/stats"
ok "… no more than 256 MiB are granted" test "$total" -le 268435456
ok "… and no more than a 64th of the memory" test "$total" -le $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 16))
is "$granted" $((total / $(getconf _NPROCESSORS_ONLN))) "… the file says how much that is for a CPU"
umount_gt "$mnt"

# Stopped and started, looked for anew: nothing twice, nothing left out
mount_gt "$mnt" -o "$maps,backend=bpf:ftrace" || exit 1
echo stop >"$mnt/control"
"$mock" -n 50 -p 1 -r 1 -d 10 -m calls -o /dev/null
echo start >"$mnt/control"
play "stopped and started" 300
for i in 1 2 3; do echo rescan >"$mnt/control"; done
play "looked for anew" 300
is "$(awk '$2 ~ /^ring/ { n += $8 } END { print n }' "$mnt/rings")" 600 "all jobs but those in between are counted once"
is "$(stat_of ftrace events)" 0 "ftrace reported nothing"
umount_gt "$mnt"

# However a look falls between an event and the daemon's waking up, the next event is reported at once
mount_gt "$mnt" -o "$maps,backend=bpf" || exit 1
sent() { [ "$(stat_of bpf tracepoint_records)" -ge $1 ] && [ "$(types_of SUBMIT)" = $((jobs)) ]; }
types_of() { awk -v t="$1" '$1 == t { print $2 }' "$mnt/events_by_type"; }
jobs=0
for i in $(seq 30); do
	"$mock" -n 3 -p 1 -r 1 -d 0 -m calls -o /dev/null & mocker=$!
	echo rescan >"$mnt/control"
	wait $mocker
	jobs=$((jobs + 3))
done
"$mock" -n 1 -p 1 -r 1 -d 0 -m calls -o /dev/null
jobs=$((jobs + 1))
ok "looked for anew while events come: the last is not left in the ring" wait_for 20 sent $((3 * jobs))

# What waits when it ends is reported
cat "$mnt/events" >stream & reader=$!
wait_for 20 test -s stream
"$mock" -n 200 -p 1 -r 1 -d 0 -m calls -o /dev/null
echo off >"$mnt/config/level"
jobs=$((jobs + 200))
all_told() { [ "$(types_of COMPLETE)" = $jobs ]; }
ok "switched off at once: what had come is counted" wait_for 20 all_told
kill $reader
wait $reader 2>/dev/null
umount_gt "$mnt"
done_testing
