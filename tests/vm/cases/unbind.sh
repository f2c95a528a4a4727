#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# GPUs that come and go under load: a driver loaded after the daemon began, unbind, bind, fifty times.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
cleanup() {
	jobs -p | xargs -r kill -KILL 2>/dev/null
	wait
	mock_unload
}
gpu=$mnt/mockgpu0 other=$mnt/mockgpu1
tracing() { grep -q running "$mnt/backends/ftrace/state"; }
counted() { [ "$(value "$1/stats" completed)" = "$2" ]; }

# Nothing is there when it begins; the log is small, so that memory is the same from soon on
printf '[buffers]\nhistory_size = 262144\n[backend sim]\njobs = 10\n' >conf
mount_gt "$mnt" -o conf=conf || exit 1
is "$(cd "$mnt" && echo mock*)" "mock*" "no GPU to begin with"
mock_load || exit 1
ok "a driver that is loaded later: its GPUs are found" wait_for 20 test -d "$other"
ok "... both" test -d "$gpu"
ok "... and its tracepoints" wait_for 100 tracing # BPF programs are loaded, in an emulated guest
mkfifo hold
warm() { # warm N COUNT - jobs of a process that stays until GPU N counts so many
	local ret
	"$gpujobs" --device "$1" --jobs 15 --ring gfx_0.0.0,comp_1.0.0,sdma0 --length-us 500 --hold <hold >/dev/null &
	exec 9>hold
	wait_for 30 counted "$mnt/mockgpu$1" "$2"
	ret=$?
	exec 9>&-
	wait $!
	return $ret
}
ok "jobs of the one are counted" warm 0 15
ok "... of the other too" warm 1 15
rings=$(ls -l "$gpu/by-name" | awk '/->/ { print $(NF - 2), $NF }')
is "$(echo "$rings" | wc -l)" 3 "three rings"

# Open files, by one who has begun before the load makes all slow
cat >watch.py <<'P'
import errno, os, select, sys
gpu = sys.argv[1]
files = [gpu + '/' + f for f in ('ring0/latency', 'stats', 'info', 'rings', 'by-name/sdma0/jobs')]
fds = [os.open(f, os.O_RDONLY) for f in files]
for fd in fds:
    os.pread(fd, 65536, 0)
poll = select.poll()
poll.register(fds[2], select.POLLPRI) # info: it changes with nothing else
poll.poll(0)
os.pread(fds[2], 65536, 0)
print('open', flush=True)
said = []
while True:
    r = poll.poll(60000)
    said.append(r)
    if not r or r[0][1] & select.POLLERR:
        break
    try:
        os.pread(fds[2], 65536, 0)
    except OSError:
        pass
print('polled', 'POLLERR' if said[-1] else 'nothing', flush=True)
def tell():
    for f, fd in zip(files, fds):
        try:
            os.pread(fd, 65536, 0)
            print(os.path.basename(f), 'readable', flush=True)
        except OSError as e:
            print(os.path.basename(f), errno.errorcode[e.errno], flush=True)
tell()
sys.stdin.readline()
tell()
P
mkfifo go
python3 watch.py "$gpu" <go >watched &
watcher=$!
exec 8>go
ok "files are open" wait_for 60 grep -q open watched

# Unbound under load
as_user "$gpujobs" --device 1 --jobs 100 --ring gfx_0.0.0,sdma0 --length-us 40000-60000 --depth 4 >/dev/null &
steady=$!
"$gpujobs" --device 0 --jobs 1000000 --ring gfx_0.0.0,sdma0 --length-us 40000-60000 --depth 4 >/dev/null 2>&1 &
victim=$!
more() { [ "$(value "$gpu/stats" completed)" -gt 20 ]; }
ok "both are at work" wait_for 20 more
cat "$mnt/events" >root.events &
root_reader=$!
(cat "$gpu/events" >/dev/null) 2>events.err &
(cat "$gpu/trace" >/dev/null) 2>trace.err &
(cat "$gpu/ring1/trace" >/dev/null) 2>idle.err & # nothing comes: this read is parked
readers=$(jobs -p | tail -n 3)
# all four have their files open
waiting() { [ "$(value "$mnt/status" readers)" = 4 ] && [ "$(value "$mnt/status" reads_blocked)" -ge 1 ]; }
ok "a reader is parked" wait_for 20 waiting
mock_unbind 0
ok "its directory goes" wait_for 20 eval '[ ! -e "$gpu" ]'
is "$(ls "$mnt" | grep -c mock)" 1 "the listing is without it"
is "$(awk '/^mock/ { print $1 }' "$mnt/gpus")" mockgpu1 "gpus too"
is "$(grep -c mockgpu0 "$mnt/rings" "$mnt/perf" "$mnt/aggregate" "$mnt/top" | grep -vc ':0$')" 0 "and all tables"
for r in $readers; do wait "$r"; done
like "$(cat events.err)" "No such device" "cat of events ends with ENODEV"
like "$(cat trace.err)" "No such device" "... of trace"
like "$(cat idle.err)" "No such device" "... and one that was parked"
gone="latency ENODEV
stats ENODEV
info ENODEV
rings ENODEV
jobs ENODEV"
ok "open files are reported" wait_for 20 grep -q '^jobs' watched
is "$(tail -n +2 watched)" "polled POLLERR
$gone" "who polls wakes, and each open file gives ENODEV"
wait $victim
is $? 3 "the program that used it has noticed"
ok "root's reader goes on" kill -0 $root_reader
wait $steady
is $? 0 "the other GPU's jobs end"
ok "and are counted exactly" wait_for 20 counted "$other" 115
# from Linux 7.0 on the kernel skips an event now and then, which bpf's statistics say
bpf_stat() { value "$mnt/backends/bpf/stats" "$1"; }
missed=$(bpf_stat events_skipped) submitted=$(value "$other/stats" submitted)
is "$(awk '/mockgpu.1/' $truth | wc -l)" 115 "... as the truth has them"
ok "... and submitted, but for $missed that were missed" test "$submitted" -le 115 -a $((submitted + missed)) -ge 115

# Bound again
mock_bind 0
ok "bound again, it is back" wait_for 20 test -d "$gpu"
is "$(ls -l "$gpu/by-name" | awk '/->/ { print $(NF - 2), $NF }')" "$rings" "with the rings it had"
before=$(value "$gpu/stats" completed)
ok "its counts go on" warm 0 $((before + 15))
echo >&8
exec 8>&-
wait $watcher
is "$(tail -n 5 watched)" "$gone" "what was open before stays ENODEV"
is "$(awk '/^mock/ { print $1 }' "$mnt/gpus" | tr '\n' ' ')" "mockgpu0 mockgpu1 " "gpus has both"
kill $root_reader
ok "in the root's pipe is nothing but whole records" eval '[ $(($(stat -c %s root.events) % 64)) = 0 ]'

# Fifty times, with readers
pid=$(pgrep -f "mount.gputrace $mnt( |\$)")
# but for the descriptors of callers and processes, which stay until these are seen to have ended
sizes() { echo "$(ls -l "/proc/$pid/fd" | grep -vc pidfd) $(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")"; }
pause() { read -rt 0.5 <> <(:) || :; }
while pause; do cat "$gpu"/ring*/latency "$gpu/info" "$mnt/gpus" "$mnt/rings"; done >/dev/null 2>&1 &
while pause; do cat "$gpu/trace"; done >/dev/null 2>&1 &
rounds() {
	local i
	for ((i = 0; i < $1; i++)); do
		mock_unbind 0
		wait_for 20 eval '[ ! -e "$gpu" ]' || echo "round $i: still there"
		mock_bind 0
		wait_for 20 test -d "$gpu" || echo "round $i: not back"
	done
}
is "$(rounds 5)" "" "five rounds"
# KIND COUNT of its descriptors, numbers left out
kinds() { ls -l "/proc/$pid/fd" | awk 'NR > 1 { sub(/.* -> /, ""); gsub(/[0-9]+/, "N"); print }' | sort | uniq -c; }
calm() { # a GPU that has come back is still attached to for a while
	local was=$fds
	fds=$(sizes)
	pause
	[ "${fds% *}" = "${was% *}" ]
}
# What a daemon has once it may come to have in some round; what it leaks, it leaks in all
for _ in 1 2 3; do
	fds=
	wait_for 20 calm
	a=$fds
	kinds >kinds.before
	is "$(rounds 15)" "" "fifteen more"
	fds=
	wait_for 20 calm
	b=$fds
	kinds >kinds.after
	[ $((${b% *} - ${a% *})) -gt 1 ] || [ $((${b#* } - ${a#* })) -ge 1024 ] || break
done
[ $((${b% *} - ${a% *})) -le 1 ] || diff kinds.before kinds.after | sed 's/^/# /'
ok "no descriptors more ($a, $b)" [ $((${b% *} - ${a% *})) -le 1 ]
ok "no memory more (KiB: $a, $b)" [ $((${b#* } - ${a#* })) -lt 1024 ]
ok "and all is counted still" warm 0 $((before + 30))
counts() { awk '$1 == "submitted" || $1 == "completed" { print $2 }' "$gpu/stats" | uniq | wc -l; }
is "$(counts)" 1 "nothing is in flight"
jobs -p | xargs -r kill 2>/dev/null
wait
mock_unbind 0 # what still reads of it ends
ok "unmount" wait_for 20 umount "$mnt"
done_testing
