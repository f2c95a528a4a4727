#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# control, level and sampling: parsing, errors and words, and what they change.
# Quick
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/simruns.sh"
is_root || skip "needs root to mount"

printf '[backend sim]\nrate = 20000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1

cat >set.py <<'P'
import errno, os, sys, subprocess
from tap import ok
m = sys.argv[1]
def write(path, data, flags=os.O_WRONLY):
    fd = os.open(m + '/' + path, flags)
    try:
        os.write(fd, data)
        return 0
    except OSError as e:
        return e.errno
    finally:
        os.close(fd)
def read(path):
    return open(m + '/' + path).read()
S = 'config/sampling'
fd = os.open(m + '/' + S, os.O_RDWR)
os.write(fd, b'42')
ok(os.pread(fd, 99, 0) == b'42\n', 'what was written reads back on the same descriptor')
os.close(fd)
# what each setting takes and refuses: tests/lib/settings.py
ok(write(S, b' 50 ') == 0 and read(S) == '50\n', 'blanks around a value are no part of it')
for v in b'-1', b'0x10', os.urandom(200):
    got = write(S, v)
    ok(got in (errno.EINVAL, errno.ERANGE) and read(S) == '50\n', 'sampling refuses %r with %s' % (v[:20], errno.errorcode.get(got)))
write(S, b'z' * 4097)
ok('4096' in read('last_cmd_status'), 'last_cmd_status says how long a value may be: ' + read('last_cmd_status').strip())
write(S, b'abc')
ok('abc' in read('error_log') and 'sampling' in read('error_log'), 'error_log has path and value')
before = read('error_log').count('abc')
fd = os.open(m + '/' + S, os.O_WRONLY)
for _ in range(3):
    try:
        os.write(fd, b'qqq')
    except OSError:
        pass
os.close(fd)
ok(read('error_log').count('qqq') == 1, 'the same refused write on one descriptor is logged once')
for i in range(20):
    write(S, b'bad%d' % i)
ok(sum('bad' in l for l in read('error_log').splitlines()) <= 16 and 'bad19' in read('error_log') and 'bad3' not in read('error_log'), 'error_log keeps the last 8')
write(S, b'50')
ok(read('last_cmd_status').strip() == 'ok', 'last_cmd_status: ok after a good write')
for cmd in ('echo 11 > F', 'echo 12 >> F', 'echo 13 | tee F >/dev/null', 'printf 14 | dd of=F 2>/dev/null',
            'printf 15 > F', "python3 -c \"open('F','w').write('16')\"", 'busybox sh -c "echo 17 > F"', 'truncate -s 0 F', 'truncate -s 5000 F; echo 18 > F'):
    subprocess.run(['bash', '-c', cmd.replace('F', m + '/' + S)], check=False)
    want = [w for w in cmd.split() if w.strip("'()\"").isdigit() and w != '0' and w != '5000']
    now = read(S).strip()
    ok(now in ('11', '12', '13', '14', '15', '16', '17', '18'), '%s: %s' % (cmd, now))
ok(read(S) == '18\n', 'the last one counts')
ok(read('config/level') == 'normal\n', 'level: choices')
for v in ('verbose', 'stats', '2', 'normal'):
    write('config/level', v.encode())
ok(read('config/level') == 'normal\n', 'level takes names and numbers')
ok(write('config/level', b'loud') == errno.EINVAL, 'level refuses others')
ok(write('control', b'jump') == errno.EINVAL, 'control refuses others')
ok(write('control', b'pause') in (errno.EOPNOTSUPP, errno.EINVAL), 'pause needs a replay')
ok(read('control') == 'start\n', 'control reads its choices')
for f in ('README', 'status', 'gpus'):
    try:
        os.open(m + '/' + f, os.O_WRONLY)
        ok(False, f + ' is not writable')
    except OSError as e:
        ok(e.errno in (errno.EACCES, errno.EPERM), f + ' is not writable')
for f, e in (('nothing', (errno.ENOENT, errno.EPERM)), ('config/new', (errno.EPERM, errno.EACCES))):
    try:
        os.open(m + '/' + f, os.O_WRONLY | os.O_CREAT)
        ok(False, 'no new files')
    except OSError as x:
        ok(x.errno in e + (errno.EACCES,), 'no new files: ' + f)
# what a write that gave no value leaves behind
import resource, signal
def said(what, path, flags, want):
    write(S, b'50')
    try:
        os.close(os.open(m + '/' + path, flags))
        ok(False, what + ': refused')
    except OSError as e:
        ok(want in read('last_cmd_status'), '%s: %s' % (what, read('last_cmd_status').strip()))
said('a text', 'status', os.O_WRONLY | os.O_TRUNC, 'status: it cannot be written')
said('both ways', 'gpus', os.O_RDWR, 'gpus: it cannot be written')
said('a name that is not there', 'config/sampl\ning', os.O_WRONLY | os.O_CREAT, 'config/sampl?ing: there is no such file')
write(S, b'50')
subprocess.run(['truncate', '-s', '0', m + '/status'], stderr=subprocess.DEVNULL)
ok('status: it cannot be written' in read('last_cmd_status'), 'truncating it: ' + read('last_cmd_status').strip())
ok('config/sampl?ing uid=0' in read('error_log'), 'error_log has them too')
# the kernel cuts or refuses these itself: errno says so, and nothing came here
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
write(S, b'50')
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
got = write(S, b'60')
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
ok(got == errno.EFBIG and read(S) == '50\n', 'a file size limit: EFBIG, and no value comes', got)
ok(read('last_cmd_status') == 'ok\n', '… which last_cmd_status cannot say')
P
python_checks set.py "$mnt"

# statistics do not depend on what is recorded
echo 0 >"$mnt/config/sampling"
ends() { awk '$1 == "COMPLETE" { print $3 }' "$mnt/events_by_type"; }
a=$(total)
more() { [ "$(total)" -gt $((a + 1000)) ]; }
ok "sampling 0: statistics go on" wait_for 60 more
none_recorded() { # while they go on; jobs that were in flight have ended by then
	local before
	a=$(total) before=$(ends)
	wait_for 60 more && [ "$(ends)" = "$before" ]
}
ok "… and nothing is recorded any more" wait_for 60 none_recorded
is "$(value "$mnt/status" level)" normal "status tells the level"
echo stats >"$mnt/config/level"
a=$(total)
ok "level stats: statistics go on" wait_for 20 more
echo off >"$mnt/config/level"
nothing_comes() { a=$(value "$mnt/status" events_seen); read -rt 0.3 -u "$never"; [ "$(value "$mnt/status" events_seen)" = "$a" ]; }
ok "level off: nothing comes" wait_for 20 nothing_comes
echo normal >"$mnt/config/level"
a=$(total)
ok "level normal: it goes on" wait_for 20 more
echo stop >"$mnt/control"
is "$(cat "$mnt/control")" "stop" "control: stopped"
# sim's jobs that were in flight go on to their end
ok "… nothing comes" wait_for 20 nothing_comes
echo clear >"$mnt/control"
is "$(total)" 0 "clear: counters start again"
is "$(value "$mnt/status" events_seen)" 0 "… all of them"
is "$(cat "$mnt/config/sampling")" 0 "… settings stay"
echo start >"$mnt/control"
a=0
ok "start: it goes on" wait_for 20 more
echo 5000000000000 >"$mnt/backends/sim/clock_offset"
like "$(cat "$mnt/clocks")" "^sim .* 5000000000000 .*by_hand" "clock_offset is a setting, and clocks tells it"
monotonic() { python3 -c 'import time; print(int(time.monotonic()))'; } # uptime has the time of suspends, too
ahead() { [ "$(timeout 20 head -n 1 "$mnt/trace" | sed 's/^\[\([0-9]*\).*/\1/')" -gt $(($(monotonic) + 4000)) ]; }
ok "… which moves the source's times" wait_for 60 ahead
ok "rescan" sh -c "echo rescan > $mnt/control"
umount_gt "$mnt"
done_testing
