#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a user sees of the numbers that the daemon gives to files: file handles, inode numbers, fdinfo. None is an address
# of the daemon, and none says how much others do.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount for others"

printf '[backend sim]\nrate = 2000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
daemon=$(pgrep -f "mount.gputrace $mnt( |\$)")
first_jobs() { [ "$(awk '$1 == "events_recorded" { print $2 }' "$mnt/status")" -gt 100 ]; }
ok "sim is at work" wait_for 20 first_jobs

cat >handles.py <<'P'
import ctypes, os, re, struct, sys
from tap import ok

libc = ctypes.CDLL(None, use_errno=True)
top, daemon = sys.argv[1:]
ranges = [tuple(int(x, 16) for x in line.split()[0].split('-')) for line in open('/proc/%s/maps' % daemon)]
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)

class Handle(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_uint), ('type', ctypes.c_int), ('data', ctypes.c_ubyte * 128)]

def handle(path):
    h, mount = Handle(128, 0), ctypes.c_int()
    if libc.name_to_handle_at(-100, os.fsencode(path), ctypes.byref(h), ctypes.byref(mount), 0):
        raise OSError(ctypes.get_errno(), path)
    return bytes(h.data)[:h.bytes]

def is_address(n):
    return any(a <= n < b for a, b in ranges)

# every 8 bytes of it, wherever they begin, in both orders of the words that fuse makes of an id
def addresses(data):
    found = []
    for i in range(0, len(data) - 7, 4):
        high, low = struct.unpack_from('=II', data, i)
        found += [n for n in (high << 32 | low, low << 32 | high) if is_address(n)]
    return found

def id_of(data):
    high, low, generation = struct.unpack_from('=III', data)
    return high << 32 | low, generation

paths = [top]
for d, dirs, files in os.walk(top):
    paths += [os.path.join(d, n) for n in dirs + files if not os.path.islink(os.path.join(d, n))]
handles = {}
for p in paths:
    try:
        handles[p] = handle(p)
    except OSError: # queues go
        if '/queues' not in p:
            raise
ok(len(handles) > 200, 'handles of %d names' % len(handles))
bad = ['%s: %x' % (p, n) for p, h in handles.items() for n in addresses(h)]
ok(not bad, 'no file handle has an address of the daemon: %s' % bad[:3])
generations = {id_of(h)[1] for h in handles.values()}
ok(generations == {0}, 'generations say nothing: %s' % generations)
bad = []
for d in {os.path.dirname(p) for p in paths[1:]}:
    try:
        if os.access(d, os.R_OK | os.X_OK):
            bad += [e.path for e in os.scandir(d)
                    if is_address(e.inode()) or is_address(e.stat(follow_symlinks=False).st_ino)]
    except OSError:
        if '/queues' not in d:
            raise
ok(not bad, 'nor has an inode number: %s' % bad[:3])

# Inode numbers and positions in a directory: places in tables would say how many others there are
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.readdir.argtypes = libc.telldir.argtypes = [ctypes.c_void_p]
libc.telldir.restype = ctypes.c_long

def positions(path):
    d, at = libc.opendir(os.fsencode(path)), []
    while libc.readdir(d):
        at.append(libc.telldir(d))
    return at

proc = os.path.join(top, 'proc')
inodes = {e.name: e.inode() for e in os.scandir(proc) if e.is_dir()}
bad = [n for n, i in inodes.items() if os.lstat(os.path.join(proc, n)).st_ino != i]
ok(len(inodes) > 2 and not bad, 'inode numbers of %d processes are those of the listing: %s' % (len(inodes), bad))
bad = [n for n, i in inodes.items() for bits in range(48) if i >> bits & 0x3fffff == int(n)]
ok(len(bad) < 2, 'no inode number has its pid: %s' % bad)
at = positions(proc)[2:]
near = [b - a for a, b in zip(at, at[1:]) if abs(b - a) < 1000]
ok(len(at) == len(set(at)) > 2 and len(near) < 2, 'positions in proc/ are no places in a table: %s' % at)

# Handles of one text, looked up again and again: were they counted, the distance would say what others did meanwhile
ids = [id_of(handle(os.path.join(top, 'version')))[0] for i in range(100)]
ok(len(set(ids)) == 100, 'each look at a text gives another id')
near = [b - a for a, b in zip(ids, ids[1:]) if abs(b - a) < 1 << 24]
ok(not near, 'and none says how many there were between: %s' % near[:3])

# What the kernel shows of them in /proc/self/fdinfo: of an open file, and of watches
def fdinfo(fd):
    return open('/proc/self/fdinfo/%d' % fd).read()

watch = libc.inotify_init()
bad, seen = [], 0
for p in paths[:100]:
    if libc.inotify_add_watch(watch, os.fsencode(p), 0x2) < 0:
        continue
    seen += 1
    if os.path.isfile(p):
        try:
            fd = os.open(p, os.O_RDONLY)
        except OSError:
            continue
        bad += [n for n in re.findall(r'\w+', fdinfo(fd)) if re.fullmatch('[0-9a-f]+', n) and is_address(int(n, 16))]
        os.close(fd)
shown = fdinfo(watch)
for h in re.findall(r'f_handle:(\w+)', shown):
    bad += ['%x' % n for n in addresses(bytes.fromhex(h))]
ok('f_handle:' in shown, 'fdinfo of inotify shows handles of %d watches' % seen)
ok(not bad, 'fdinfo shows no address of the daemon: %s' % bad[:3])
P
python_checks handles.py "$mnt" "$daemon"
done_testing
