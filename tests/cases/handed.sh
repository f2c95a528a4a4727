#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Descriptors that one user hands to another, or root to a user: what is read and written by them is what who opened
# them may. Files read by splice, sendfile and io_uring, while others read them. A change of `visibility` meanwhile.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to become other users"

printf '[backend sim]\nrate = 5000\njobs = 2000\nusers = 3\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
done_jobs() { [ "$(awk '/^total/ { sub("count=", "", $2); n += $2 } END { print n + 0 }' "$mnt"/sim0/ring*/latency)" = 2000 ]; }
ok "sim has done its jobs" wait_for 60 done_jobs
still() { cat "$mnt/report" >before && sleep 0.2 && cmp before "$mnt/report"; }
ok "and nothing more comes" wait_for 20 still

cat >uring.py <<'P'
# read(2) by io_uring, without a library
import ctypes, mmap, os, struct

libc = ctypes.CDLL(None, use_errno=True)
SETUP, ENTER, READ = 425, 426, 22

def syscall(*args):
    n = libc.syscall(*[ctypes.c_long(a) for a in args])
    if n < 0:
        raise OSError(ctypes.get_errno(), 'io_uring')
    return n

class Ring:
    def __init__(self):
        params = ctypes.create_string_buffer(120)
        self.fd = syscall(SETUP, 4, ctypes.addressof(params))
        w = struct.unpack('30I', params.raw)
        self.sq = w[10:18]  # head tail ring_mask ring_entries flags dropped array
        self.cq = w[20:28]  # head tail ring_mask ring_entries overflow cqes flags
        self.sqm = mmap.mmap(self.fd, self.sq[6] + w[0] * 4, offset=0)
        self.cqm = mmap.mmap(self.fd, self.cq[5] + w[1] * 16, offset=0x8000000)
        self.sqes = mmap.mmap(self.fd, w[0] * 64, offset=0x10000000)

    def read(self, fd, size, offset):
        buf = ctypes.create_string_buffer(size)
        tail, = struct.unpack_from('I', self.sqm, self.sq[1])
        mask, = struct.unpack_from('I', self.sqm, self.sq[2])
        at = tail & mask
        struct.pack_into('=BBHiQQI36x', self.sqes, at * 64, READ, 0, 0, fd, offset & (1 << 64) - 1,
                         ctypes.addressof(buf), size)
        struct.pack_into('I', self.sqm, self.sq[6] + 4 * at, at)
        struct.pack_into('I', self.sqm, self.sq[1], tail + 1)
        syscall(ENTER, self.fd, 1, 1, 1, 0, 0)
        head, = struct.unpack_from('I', self.cqm, self.cq[0])
        mask, = struct.unpack_from('I', self.cqm, self.cq[2])
        res, = struct.unpack_from('=8xi', self.cqm, self.cq[5] + 16 * (head & mask))
        struct.pack_into('I', self.cqm, self.cq[0], head + 1)
        if res < 0:
            raise OSError(-res, 'io_uring')
        return buf.raw[:res]
P

cat >handed.py <<'P'
import errno, hashlib, os, pickle, socket, struct, sys
from tap import ok
import uring

top = sys.argv[1]
report, events, sampling = (os.path.join(top, n) for n in ('report', 'events', 'config/sampling'))
owners = {os.stat(os.path.join(top, 'proc', p)).st_uid for p in os.listdir(os.path.join(top, 'proc'))}
one = min(owners)

def be(uid):
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(uid, uid, uid)

# What @f returns in a process of @uid; an error as its name
def run_as(uid, f, *args):
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            be(uid)
            got = f(*args)
        except OSError as e:
            got = errno.errorcode[e.errno]
        os.write(w, pickle.dumps(got))
        os._exit(0)
    os.close(w)
    data = os.fdopen(r, 'rb').read()
    os.waitpid(pid, 0)
    return pickle.loads(data)

# The same with a descriptor that comes over a socket. opener(): in a process of @by
def handed(by, opener, to, f):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if not pid:
        be(by) if by else None
        socket.send_fds(a, [b'x'], [opener()])
        os._exit(0)
    def receive():
        fd = socket.recv_fds(b, 1, 1)[1][0]
        return f(fd)
    got = run_as(to, receive)
    os.waitpid(pid, 0)
    return got

def digest(data):
    return hashlib.sha256(data).hexdigest()

def whole(fd):
    data = b''
    while True:
        piece = os.pread(fd, 1 << 20, len(data))
        if not piece:
            return data
        data += piece

def text(fd):
    return digest(whole(fd))

def opens(path, flags=os.O_RDONLY):
    return lambda: os.open(path, flags | os.O_NONBLOCK)

def read_text(path):
    return text(os.open(path, os.O_RDONLY))

roots, ones = run_as(0, read_text, report), run_as(one, read_text, report)
ok(roots != ones, 'a report differs by reader')
ok(handed(0, opens(report), one, text) == roots, 'a text that root opened is what root sees, whoever reads it')
ok(handed(one, opens(report), 0, text) == ones, 'one that a user opened what the user sees, root too')
again = lambda fd: read_text('/proc/self/fd/%d' % fd)
ok(handed(0, opens(report), one, again) == ones, 'who opens it again sees what is their own')
ok(handed(one, opens(report), 0, again) == roots, '… root too')
in_dir = lambda fd: text(os.open('report', os.O_RDONLY, dir_fd=fd))
ok(handed(0, opens(top), one, in_dir) == ones, 'by a folder that root opened a user finds what is the own')

# Pipes: their first records name processes
def uids(data):
    return sorted({struct.unpack_from('<I', data, i + 36)[0] for i in range(0, len(data), 64) if data[i + 8] == 67})
def all_uids(fd):
    data = b''
    try:
        while True:
            piece = os.read(fd, 1 << 16)
            if not piece:
                break
            data += piece
    except BlockingIOError:
        pass
    return uids(data)
ok(run_as(one, lambda: all_uids(opens(events)())) == [one], "a user's pipe names the user's processes")
ok(handed(one, opens(events), 0, all_uids) == [one], '… and when root reads it')
ok(handed(0, opens(events), one, all_uids) == sorted(owners), "root's names all, whoever reads it")

# Settings
def write(text):
    def f(fd):
        os.write(fd, text)
        return 'written'
    return f
def setting():
    return open(sampling).read()
ok(run_as(one, opens(sampling, os.O_WRONLY)) == 'EACCES', 'a user cannot open a setting to write it')
ok(handed(0, opens(sampling, os.O_WRONLY), one, write(b'71')) == 'written' and setting() == '71\n',
   'by a descriptor that root opened for it a user writes')
def fails(fd):
    try:
        os.write(fd, b'no number')
    except OSError as e:
        return errno.errorcode[e.errno], open(os.path.join(top, 'last_cmd_status')).read()
got = handed(0, opens(sampling, os.O_WRONLY), one, fails)
ok(got[0] == 'EINVAL' and 'sampling' in got[1], 'what is wrong with it is said to who wrote', got)
ok(handed(one, opens(sampling), 0, write(b'72')) == 'EBADF', 'by one to read root does not write')
ok(handed(0, opens(sampling), one, lambda fd: os.open('/proc/self/fd/%d' % fd, os.O_WRONLY)) == 'EACCES',
   'and who opens it again to write needs the right for it')
ok(setting() == '71\n', 'the setting is what was written')

# Other ways to read
def by_splice(fd):
    r, w = os.pipe()
    data = b''
    while True:
        try:
            n = os.splice(fd, w, 65536)
        except BlockingIOError:
            return data
        if not n:
            return data
        while n:
            piece = os.read(r, n)
            data += piece
            n -= len(piece)
def by_sendfile(fd):
    mem = os.memfd_create('copy')
    while os.sendfile(mem, fd, None, 1 << 20):
        pass
    return whole(mem)
def by_uring(fd):
    ring, data = uring.Ring(), b''
    while True:
        try:
            piece = ring.read(fd, 1 << 16, len(data))
        except BlockingIOError:
            return data
        if not piece:
            return data
        data += piece
def has_uring():
    uring.Ring()
    return True
ways = {'splice': by_splice, 'sendfile': by_sendfile, 'io_uring': by_uring}
if run_as(one, has_uring) is not True:
    print('# no io_uring: %s' % run_as(one, has_uring))
    del ways['io_uring']
for name, way in ways.items():
    ok(run_as(one, lambda: digest(way(opens(report)()))) == ones, '%s gives a user the text that read does' % name)
    ok(handed(0, opens(report), one, lambda fd: digest(way(fd))) == roots, '… and of a descriptor of root what root sees')
    # the kernel asks for no more than stat says there is: of a pipe that is nothing
    got = run_as(one, lambda: uids(way(opens(events)())))
    ok(got in ([], [one], 'EINVAL'), "… and of events no more than the user's own", got)

# What @data, which the user's sendfile or read returned, is. In the middle of the race the kernel has the page of one
# byte by which it learns that it must ask: a sendfile that has begun reads it, or ends where it is.
def kind(data, own):
    if data in (own, b'\n'):
        return 'own'
    return 'part of own' if data[:1] in (own[:1], b'\n') and own[1:].startswith(data[1:]) else digest(data)

# A user reads the page cache of a text by sendfile, while root opens and reads the same one
def race(rounds):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if not pid:
        be(one)
        fd = os.open(report, os.O_RDONLY)
        socket.send_fds(a, [b'x'], [fd])
        seen, own = set(), whole(fd)
        for i in range(rounds):
            os.lseek(fd, 0, 0)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            try:
                seen.add(kind(by_sendfile(fd), own))
            except OSError as e:
                seen.add(errno.errorcode[e.errno])
            seen.add(text(fd))
        a.send(pickle.dumps(seen))
        os._exit(0)
    a.close()
    fd = socket.recv_fds(b, 1, 1)[1][0]
    b.setblocking(False)
    n, data = 0, None
    while data is None:
        mine = os.open('/proc/self/fd/%d' % fd, os.O_RDONLY)
        assert text(mine) == roots
        os.close(mine)
        n += 1
        try:
            data = b.recv(1 << 16)
        except BlockingIOError:
            pass
    os.waitpid(pid, 0)
    return pickle.loads(data), n
seen, n = race(100)
ok(seen <= {ones, 'own', 'part of own', 'EACCES'}, "a user's sendfile of a text that root opens gets none of root's (%d times)" % n, seen)

# visibility holds for what is opened from then on
def set_visibility(v):
    open(os.path.join(top, 'config/visibility'), 'w').write(v)
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
def follow():
    be(one)
    fds, pipes = {}, {}
    while True:
        v = a.recv(100).decode()
        fds[v], pipes[v] = os.open(report, os.O_RDONLY), opens(events)()
        a.send(pickle.dumps({k: text(fd) for k, fd in fds.items()}))
        if v == 'redacted':
            a.recv(100)
            a.send(pickle.dumps({k: all_uids(fd) for k, fd in pipes.items()}))
            os._exit(0)
pid = os.fork()
if not pid:
    follow()
texts = []
for v in ('all', 'owner', 'redacted'):
    set_visibility(v)
    b.send(v.encode())
    texts.append(pickle.loads(b.recv(1 << 16)))
ok(len(set(texts[-1].values())) == 3 and texts[-1]['redacted'] == ones, 'three visibilities, three texts')
ok(all(t[k] == texts[-1][k] for t in texts for k in t), 'a descriptor shows what it did when it was opened')
b.send(b'pipes')
got = pickle.loads(b.recv(1 << 16))
ok(got == {'all': sorted(owners), 'owner': [one], 'redacted': [one]}, 'pipes too', got)
os.waitpid(pid, 0)
P
python_checks handed.py "$mnt"
done_testing
