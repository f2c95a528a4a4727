#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The binary pipe: babeltrace2 prints every record; blocking, polling, interrupts, slow readers.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount for others"

printf '[backend sim]\nrate = 20000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1

mkdir t
cat "$mnt/metadata" >t/metadata
timeout 60 head -c $((64 * 40000)) "$mnt/events" >t/events
records=$(($(stat -c %s t/events) / 64))
ok "whole records only" [ $(($(stat -c %s t/events) % 64)) = 0 ]
babeltrace2 t >printed 2>warnings
is $? 0 "babeltrace2 reads a raw cat"
is "$(wc -l <printed)" $((records - 1)) "… and prints every record but the first, the packet context"
is "$(cat warnings)" "" "… without a word of warning"
ok "there are many" [ $records -gt 1000 ]
like "$(head -n 1 printed)" "header = \"@\"" "which is the header"
for e in SUBMIT COMMIT COMPLETE RING_NAME PROCESS; do like "$(cat printed)" " $e:" "$e is among them"; done
for scope in sim0 sim0/ring0; do
	mkdir -p s
	cat "$mnt/metadata" >s/metadata
	timeout 60 head -c $((64 * 3000)) "$mnt/$scope/events" >s/events
	is "$(babeltrace2 s 2>&1 | wc -l)" $(($(stat -c %s s/events) / 64 - 1)) "$scope/events too"
done
is "$(babeltrace2 s | grep -E ' (SUBMIT|COMMIT|COMPLETE):' | grep -vc 'ring = 0,')" 0 "a ring's pipe has only that ring"

head -c $((64 * 100 + 17)) t/events >cut
mkdir c && cp t/metadata c/ && cp cut c/events
babeltrace2 c >out 2>err
ok "a file cut inside a record is an error" [ $? != 0 ]
is "$(wc -l <out)" 99 "… after every whole record"
timeout 60 head -c $((64 * 3000)) "$mnt/events" >later
mkdir two && cp t/metadata two/ && cat t/events later >two/events
is "$(babeltrace2 two 2>&1 | wc -l)" $((records + $(stat -c %s later) / 64 - 1)) "saved streams may be appended"
ok "head -n reads a text pipe without complaint" sh -c "head -n 5 $mnt/trace 2>&1 | wc -l | grep -qx 5"

cat >pipe.py <<'P'
import errno, os, select, signal, struct, sys, time, fcntl
from tap import ok
m = sys.argv[1]
def err(f):
    try:
        f()
    except OSError as e:
        return e.errno
    return 0
fd = os.open(m + '/events', os.O_RDONLY)
ok(err(lambda: os.read(fd, 63)) == errno.EINVAL, 'a read of less than a record is EINVAL')
ok(len(os.read(fd, 64)) == 64, 'a record')
ok(len(os.read(fd, 100)) == 64, 'whole records only')
ok(err(lambda: os.lseek(fd, 0, 0)) == errno.ESPIPE, 'a pipe cannot seek')
ok(os.fstat(fd).st_size == 0, 'size 0')
os.close(fd)

# sim hands over no new job once stopped, but finishes those in flight
def until(fn):
    end = time.monotonic() + 60
    while not fn():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
def ended():
    n = dict(l.split()[:2] for l in open(m + '/events_by_type') if not l.startswith('type '))
    return n.get('SUBMIT') == n.get('COMPLETE')
def rest(fd):
    until(ended)
    p = select.poll()
    p.register(fd, select.POLLIN)
    data = b''
    while p.poll(500):
        data += os.read(fd, 1 << 17)
    return data

open(m + '/control', 'w').write('stop')
fd = os.open(m + '/events', os.O_RDONLY | os.O_NONBLOCK)
data = rest(fd)
ok(data[8] == 64 and data[16:30] == b'gputrace-strea', 'HEADER first, though nothing happens')
ok(err(lambda: os.read(fd, 64)) == errno.EAGAIN, 'O_NONBLOCK: EAGAIN')
p = select.poll()
p.register(fd, select.POLLIN)
ok(p.poll(0) == [], 'poll: nothing')
ep = select.epoll()
ep.register(fd, select.EPOLLIN)
open(m + '/control', 'w').write('start')
ok(p.poll(60000)[0][1] & select.POLLIN, 'poll wakes when data comes')
ok(ep.poll(60)[0][1] & select.EPOLLIN, 'epoll too')
ok(len(os.read(fd, 1 << 17)) >= 64, '… and it is there')
flags = fcntl.fcntl(fd, fcntl.F_GETFL)
fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)
ok(len(os.read(fd, 1 << 17)) >= 64, 'the flag can be taken away')

open(m + '/control', 'w').write('stop')
fcntl.fcntl(fd, fcntl.F_SETFL, flags)
rest(fd)
fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)
class Alarm(Exception):
    pass
def ring(*a):
    raise Alarm
signal.signal(signal.SIGALRM, ring)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    os.read(fd, 64)
    ok(False, 'a signal interrupts a parked read')
except Alarm:
    ok(True, 'a signal interrupts a parked read')
pid = os.fork()
if not pid:
    os.read(fd, 64)
    os._exit(0)
while open('/proc/%d/stat' % pid).read().split()[2] != 'S':
    time.sleep(0.01)
os.kill(pid, signal.SIGKILL)
ok(until(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid), 'SIGKILL ends a parked reader')

last = 0
open(m + '/control', 'w').write('start')
back = 0
for _ in range(200):
    d = os.read(fd, 1 << 17)
    for i in range(0, len(d), 64):
        ts = struct.unpack_from('<Q', d, i)[0]
        back += ts < last
        last = ts
ok(back == 0, 'time never goes back')

s = os.open(m + '/sim0/ring0/latency', os.O_RDONLY)
p = select.poll()
p.register(s, select.POLLPRI)
os.pread(s, 4096, 0)
def ten_changes():  # what it took, as a part of the time in which there may be ten of them
    t = time.monotonic()
    for _ in range(10):
        if not p.poll(60000):
            return 0
        os.pread(s, 4096, 0)
    return (time.monotonic() - t) / 0.45
took = ten_changes()
ok(took > 0.9, 'a stats file tells POLLPRI at most every 50 ms (10 times in %.2f s)' % (took * 0.45))
p = select.poll()
s = os.open(m + '/status', os.O_RDONLY)
p.register(s, select.POLLPRI)
took = ten_changes()
ok(took > 0.9, 'so does one with no generation of its own (10 times in %.2f s)' % (took * 0.45))
s = os.open(m + '/sim0/ring0/stats', os.O_RDONLY)
a = open(m + '/sim0/ring0/stats').read()
until(lambda: open(m + '/sim0/ring0/stats').read() != a)
open(m + '/control', 'w').write('stop')
until(ended)
a = os.pread(s, 4096, 0)
p = select.poll()
p.register(s, select.POLLPRI)
ok(p.poll(60000) != [] and os.pread(s, 4096, 0) != a, 'what changed between open and the first read is reported')
def calm():
    os.pread(s, 4096, 0)
    return p.poll(200) == []
ok(until(calm), 'and then no more')
s = os.open(m + '/config/sampling', os.O_RDONLY)
p = select.poll()
p.register(s, select.POLLPRI)
os.pread(s, 4096, 0)
ok(p.poll(100) == [], 'a setting that stays')
if os.fork() == 0:
    time.sleep(0.3)
    open(m + '/config/sampling', 'w').write('50')
    os._exit(0)
ok(p.poll(60000) != [], 'a setting that changes wakes its pollers')
open(m + '/config/sampling', 'w').write('100')
open(m + '/control', 'w').write('start')
for name in 'rings', 'sim0/rings', 'aggregate', 'perf', 'events_by_type', 'sim0/utilization', 'sim0/ring0/depth':
    a = open(m + '/' + name).read()
    ok(until(lambda: open(m + '/' + name).read() != a), name + ' is not served stale')
f = os.open(m + '/trace', os.O_RDONLY)
lines = b''
while lines.count(b'\n') < 100:
    lines += os.read(f, 4096)
rows = lines.split(b'\n')[:-1]
ok(all(l.startswith(b'[') for l in rows), 'trace: one line an event')
one = b''
while len(one) < 200:
    one += os.read(f, 1)
ok(b'\n' in one, 'trace read byte by byte')
def recorded():
    return int(dict(l.split() for l in open(m + '/status'))['events_recorded'])
before = recorded()
until(lambda: recorded() > before + 10000) # more lines than one read has
size = len(os.read(f, 1 << 20))
ok(size == 65536, 'a long read has what others wait for a moment only', size)
P
python_checks pipe.py "$mnt"

# a reader that sleeps reads what it missed, and slows nobody
umount_gt "$mnt"
printf '[backend sim]\nrate = 200000\n[buffers]\nhistory_size = 65536\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
cat >slow.py <<'P'
import os, struct, sys, time
m = sys.argv[1]
fd = os.open(m + '/events', os.O_RDONLY)
def key(name):
    return int(dict(l.split() for l in open(m + '/status') if len(l.split()) == 2)[name])
os.read(fd, 64)
first = key('events_recorded')
while key('events_recorded') < first + 20000:
    time.sleep(0.01)
lost = got = 0
for _ in range(50):
    d = os.read(fd, 1 << 16)
    for i in range(0, len(d), 64):
        if d[i + 8] == 70:
            lost += struct.unpack_from('<Q', d, i + 16)[0]
        elif d[i + 8] < 32:
            got += 1
    if lost:
        break
print(lost, got)
assert lost > 1000, (lost, got)
P
ok "a slow reader gets a LOST record with the count" python3 slow.py "$mnt"
umount_gt "$mnt"

# More readers wait than the guard of fs/fuse/guard.c has AIO operations for: a 64th of the machine's, if others
# have left it so many
aio=$(cat /proc/sys/fs/aio-max-nr) used=$(cat /proc/sys/fs/aio-nr) n=1000
if [ "${aio:-0}" -ge 32768 ] && [ "$aio" -le 65536 ] && [ $((used + aio / 32)) -lt "$aio" ]; then
	printf '[backend sim]\nrate = 1000\njobs = 10\n[limits]\nmax_pipes = 4096\n' >conf
	mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
	cat >many.py <<'P'
import os, signal, sys, threading
m, n = sys.argv[1], int(sys.argv[2])
threading.stack_size(65536)
def read(fd):
    while os.read(fd, 65536):
        pass
for i in range(n):
    threading.Thread(target=read, args=(os.open(m + '/events', os.O_RDONLY),), daemon=True).start()
signal.pause()
P
	(
		ulimit -n 4096
		exec python3 many.py "$mnt" $n
	) &
	reader=$!
	ok "$n readers wait" wait_for 60 grep -qx "reads_blocked $n" "$mnt/status"
	unguarded() { # some, and not all
		local u
		u=$(value "$mnt/status" unguarded)
		[ "$u" -gt 0 ] && [ "$u" -lt $n ] && grep -q "^suspend may-fail [0-9]* reads " "$mnt/doctor"
	}
	ok "… of which doctor and status say that some are not guarded" wait_for 60 unguarded
	kill $reader
	wait $reader 2>/dev/null
	ok "… and no more when they are gone" wait_for 60 sh -c "! grep -q '^suspend' $mnt/doctor"
	umount_gt "$mnt"
else
	skip_ok "more readers than a suspend can answer" "fs.aio-max-nr is $aio"
fi
done_testing
