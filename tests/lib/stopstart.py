# SPDX-License-Identifier: GPL-2.0
# stopstart.py MOUNT PID ROUNDS: a daemon is stopped (SIGSTOP) and goes on, again and again, while others
# open, read and close its files: its guard (fs/fuse/guard.c) answers what the session is in the middle of,
# and takes what they close. Only a sanitizer sees what goes wrong then.
import glob, os, signal, sys, time

mnt, pid, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def nonblocking(path, flags):
    return os.open(path, flags | os.O_NONBLOCK)


def read(name):
    while True:
        try:
            with open(mnt + '/' + name, 'rb', buffering=0, opener=nonblocking) as f:
                f.read(65536)
        except OSError:  # EINTR, or ENOENT of a request that was not done
            pass


def tasks(name):
    return [open(f).read() for f in glob.glob('/proc/%d/task/*/%s' % (pid, name))]


def wait(what, condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit('not ' + what)
        time.sleep(0.002)


readers = []
for name in ['status', 'events', 'sim0/ring0/trace', 'sim0/stats'] * 16:
    readers.append(os.fork())
    if not readers[-1]:
        read(name)
try:
    for i in range(rounds):
        wait('armed', lambda: any(s.startswith('209 ') for s in tasks('syscall')))
        os.kill(pid, signal.SIGSTOP)
        # the guard is, when it has answered all
        wait('stopped', lambda: all(s.rpartition(') ')[2][0] == 'T' for s in tasks('stat')))
        os.kill(pid, signal.SIGCONT)
finally:
    for r in readers:
        os.kill(r, signal.SIGKILL)
