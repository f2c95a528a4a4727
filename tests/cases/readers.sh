#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every reader gets the whole text, of short, long and very long files, as root and as a user.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount for others"

printf '[backend sim]\nrate = 20000\njobs = 5000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim,visibility=all || exit 1
done_jobs() { [ "$(awk '/^total/ { n += $2 } END { print n + 0 }' "$mnt"/sim0/ring*/latency)" = 5000 ]; }
ok "sim has done its jobs" wait_for 60 done_jobs

cat >readers.py <<'P'
import os, sys, mmap
def whole(p):
    return open(p, 'rb').read()
def sendfile(p, q):
    fd = os.open(p, os.O_RDONLY); out = os.open(q, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    size = os.fstat(fd).st_size; n = 0
    while True:
        k = os.sendfile(out, fd, None, 1 << 20)
        if not k: break
        n += k
    os.close(fd); os.close(out)
    return n == size
def pieces(p):
    fd = os.open(p, os.O_RDONLY); s = b''
    while True:
        b = os.read(fd, 7)
        if not b: break
        s += b
    os.close(fd)
    return s
path, copy = sys.argv[1:]
want = whole(path)
assert len(want) == os.stat(path).st_size or sys.argv[1].endswith(('report', 'timeline', 'blame')), 'stat'
fd = os.open(path, os.O_RDONLY)
assert os.fstat(fd).st_size == len(want), 'fstat %d %d' % (os.fstat(fd).st_size, len(want))
os.close(fd)
assert sendfile(path, copy), 'sendfile'
assert whole(copy) == want, 'sendfile content'
if len(want) < 100000: assert pieces(path) == want, 'pieces'
P
readers() { # readers FILE
	local f=$1 n=${1#"$mnt"/}
	cat "$f" >want
	ok "$n: python, fstat, sendfile" python3 readers.py "$f" copy
	ok "$n: cp" sh -c "cp $f copy && cmp copy want"
	ok "$n: busybox cat" sh -c "busybox cat $f | cmp - want"
	ok "$n: busybox cat to a file" sh -c "busybox cat $f >copy && cmp copy want"
	ok "$n: busybox cp" sh -c "rm -f copy; busybox cp $f copy && cmp copy want"
	ok "$n: wc -c" [ "$(wc -c <"$f")" = "$(stat -c %s want)" ]
	ok "$n: head -n -1" sh -c "head -n -1 want >h; head -n -1 $f | cmp - h"
	ok "$n: tail -n 3" sh -c "tail -n 3 want >h; tail -n 3 $f | cmp - h"
	ok "$n: tail -c 10" sh -c "tail -c 10 want >h; tail -c 10 $f | cmp - h"
	ok "$n: less" sh -c "LESS= less $f </dev/null | cmp - want"
	[ "$(stat -c %s want)" -gt 100000 ] || ok "$n: dd bs=1" sh -c "dd bs=1 if=$f of=copy 2>/dev/null && cmp copy want"
	ok "$n: a runtime that polls, and is interrupted" sh -c "$GT_OUT/tests/tools/pollread $f | cmp - want"
	ok "$n: an ordinary user" sh -c "setpriv --reuid 65534 --regid 65534 --clear-groups cat $f >/dev/null"
}
for f in README version sim0/ring0/name report timeline sim0/ring0/histogram; do
	readers "$mnt/$f"
done
ok "rsync of texts" sh -c "rsync -a --exclude events --exclude trace $mnt/config $mnt/sim0/ring0 rs/ && cmp rs/ring0/name $mnt/sim0/ring0/name && cmp rs/config/level $mnt/config/level"
ok "tar of texts" sh -c "tar -C $mnt --exclude events --exclude trace -cf t.tar sim0/ring0 README && tar -xf t.tar && cmp README $mnt/README"
cat "$mnt/report" "$mnt/timeline" "$mnt"/sim0/ring*/report >/dev/null
few_held() { [ "$(value "$mnt/status" snapshot_bytes)" -lt 200000 ]; }
ok "a long text goes with its last descriptor" wait_for 20 few_held
ok "report is longer than a page" [ "$(wc -c <"$mnt/report")" -gt 100000 ]

cat >snap.py <<'P'
import os, sys
m = sys.argv[1]
p = m + '/config/sampling'
fd = os.open(p, os.O_RDONLY)
assert os.pread(fd, 100, 0) == b'100\n'
assert os.pread(fd, 100, 1) == b'00\n'
open(p, 'w').write('25')
assert os.pread(fd, 100, 1) == b'00\n', 'one state until the start is read again'
assert os.pread(fd, 100, 0) == b'25\n', 'pread at 0 is a new snapshot'
os.lseek(fd, 0, 0)
assert os.read(fd, 100) == b'25\n'
open(p, 'w').write('100')
P
ok "a text is a snapshot per open, pread at 0 takes a new one" python3 snap.py "$mnt"
ino() { stat -c %i "$1"; }
is "$(ino "$mnt/README")" "$(ino "$mnt/README")" "a file keeps its inode number"
is "$(find "$mnt" -printf '%i\n' | sort | uniq -d | head -n 1)" "" "inode numbers are unique"
umount_gt "$mnt"
done_testing
