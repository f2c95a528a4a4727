#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""unseencalls.py MNT... - makes the system calls of tests/lib/calls.sh, and leaves out ends of jobs

Daemons at each MNT see the same calls. After each part every one of them has to say what is computed here,
by lists of jobs: how many were submitted and ended, ended unseen and are in flight, of each ring and of the
process, and how many of them had a known exec. Nothing of it is shared with what is tested."""
import ctypes
import os
import platform
import random
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
import tables  # noqa: E402
from records import keyed  # noqa: E402

NUMBERS = {'x86_64': (26, 325, 277, 149), 'aarch64': (227, 284, 84, 228)}
MSYNC, MLOCK2, SYNC_FILE_RANGE, MLOCK = NUMBERS[platform.machine()]
FLAG = 1 << 62
BASE = 1 << 61  # no other test has such contexts
NAMES = ('gfx', 'comp_1.1.0', 'comp_1.2.0')
libc = ctypes.CDLL(None, use_errno=True)
u64 = ctypes.c_uint64


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Job:
    def __init__(self, ring, ctx, seqno):
        self.ring, self.ctx, self.seqno = ring, ctx, seqno
        self.queued = self.handed = self.place = self.ended = self.gone = None
        self.after = False  # an end that was missed is in the way of its exec


class Ring:
    def __init__(self):
        self.jobs, self.places, self.floor = [], 0, 0
        self.submitted = self.ended = self.known = self.later = 0
        self.strays, self.free, self.lost, self.passed_at = 0, False, False, 0
        self.peak = 0
        self.slow = 0  # second events of an end that came too late to be taken for such

    def in_flight(self):
        return sum(1 for o in self.jobs if not o.ended and not o.gone)


class World:
    """what was called, and what follows from it"""
    def __init__(self):
        self.rings = [Ring() for _ in NAMES]
        self.tell = True  # the calls are seen

    def queue(self, job):
        libc.syscall(MSYNC, u64(FLAG | job.ctx), u64(job.seqno), u64(8 + job.ring))
        if not self.tell:
            return
        r = self.rings[job.ring]
        for o in r.jobs:
            if (o.ctx, o.seqno) == (job.ctx, job.seqno) and not o.ended:
                o.gone = o.gone or 'replaced'
        job.queued = now()
        r.jobs.append(job)
        r.submitted += 1
        r.peak = max(r.peak, r.in_flight())

    def hand(self, job):
        libc.syscall(MLOCK2, u64(FLAG | job.ctx), u64(job.seqno), u64(8 + job.ring))
        if not self.tell:
            return
        r = self.rings[job.ring]
        r.places += 1
        job.handed, job.place = now(), r.places

    def end(self, job):
        before = now()
        libc.syscall(SYNC_FILE_RANGE, -1, u64(FLAG | job.ctx), u64(job.seqno), u64(8 + job.ring))
        if not self.tell:
            return
        if job.ended:  # a second event of one end
            self.rings[job.ring].slow += now() - job.ended > 800_000
            return
        r = self.rings[job.ring]
        known = job.handed is not None and not r.lost and job.gone in (None, 'lost')
        r.lost = False
        if not r.free and job.place and job.place > r.floor and job.gone != 'lost':
            earlier = [o for o in r.jobs if o.place and r.floor < o.place < job.place and not o.ended and not o.gone]
            if earlier:
                known, r.floor, r.passed_at = False, job.place, now()
            else:
                r.strays = max(0, r.strays - 1)
        elif not r.free and job.place and job.gone != 'lost':
            known = False
            r.strays += 4
            r.free = r.strays >= 64 or now() - r.passed_at > 10_000_000
        job.gone = None
        r.peak = max(r.peak, r.in_flight())  # if it was thought to have ended, it is back for a moment
        job.ended = before
        for o in r.jobs:
            if o.ctx == job.ctx and o.seqno < job.seqno and not o.ended and not o.gone:
                o.gone, known = 'superseded', False
        r.ended += 1
        r.known += known

    def reset(self, ring):
        libc.syscall(MLOCK, u64(FLAG | BASE), u64(8 + ring))
        r = self.rings[ring]
        for o in r.jobs:
            if o.place and not o.ended and not o.gone:
                o.gone = 'reset'
        r.floor, r.lost = r.places, True

    def paused(self):
        """the source misses what comes"""
        for r in self.rings:
            for o in r.jobs:
                if not o.ended and not o.gone:
                    o.gone = 'lost'
            r.floor, r.lost = r.places, True

    def expected(self, ring):
        r = self.rings[ring]
        return {
            'submitted': r.submitted,
            'completed': r.ended,
            'ended_unseen': sum(1 for o in r.jobs if o.gone),
            'in_flight': r.in_flight(),
            'peak': r.peak,
            'begin_unseen': 0,
            'exec': r.known,
        }


def shown(mnt, name):
    if not os.path.isdir(mnt + '/mock0'):
        return {}
    for d in sorted(os.listdir(mnt + '/mock0')):
        path = '%s/mock0/%s' % (mnt, d)
        if d[:4] == 'ring' and d[4:].isdigit() and open(path + '/name').read().strip() == name:
            break
    else:
        return {}
    stats = keyed(path + '/stats')
    out = {k: stats.get(k) for k in ('submitted', 'completed', 'ended_unseen', 'in_flight', 'begin_unseen')}
    out['in_flight'] = len(open(path + '/jobs').read().splitlines()) - 1
    depth = int(open(path + '/depth').readline().split()[1])
    if depth != out['in_flight']:
        out['in_flight'] = 'listed %d, depth %d' % (out['in_flight'], depth)
    out['peak'] = int(keyed(path + '/depth')['peak'])
    latency = tables.stages(path + '/latency')
    if 'exec' in latency:
        out['exec'] = latency['exec']['count']
    return out


SLOW = {'completed': 1, 'begin_unseen': 1, 'exec': -1}  # what a late second event may do to each ring


def fits(value, want, more):
    return value is not None and (
        value == want or isinstance(value, int) and min(want, want + more) <= value <= max(want, want + more))


class Part:
    """of the test"""
    n, failed = 0, 0

    @classmethod
    def check(cls, world, mounts, what):
        bad = ['?']
        end = time.monotonic() + (10 if cls.failed else 60)
        while bad and time.monotonic() < end:
            bad, slow = [], sum(r.slow for r in world.rings)
            for mnt in mounts:
                for i, name in enumerate(NAMES):
                    is_, want = shown(mnt, name), world.expected(i)
                    bad += ['%s %s: %s is %s, wanted %s' % (os.path.basename(mnt), name, k, is_.get(k), want[k])
                            for k in want if not fits(is_.get(k), want[k], SLOW.get(k, 0) * slow)]
                own = '%s/proc/%d/stats' % (mnt, os.getpid())
                own = keyed(own) if os.path.exists(own) else {}
                want = sum(world.expected(i)['ended_unseen'] for i in range(len(NAMES))) - world_dead
                if own.get('ended_unseen') != want:
                    bad.append('%s: ended_unseen of the process is %s, wanted %d'
                               % (os.path.basename(mnt), own.get('ended_unseen'), want))
            time.sleep(0.1)
        cls.n += 1
        cls.failed += bool(bad)
        print('%s %d - %s' % ('not ok' if bad else 'ok', cls.n, what))
        for line in bad[:8]:
            print('# ' + line)
        for mnt in mounts if bad else ():
            missed = keyed(mnt + '/backends/bpf/stats').get('events_missed')
            print('# %s: %s events kept from the programs' % (os.path.basename(mnt), missed))
        sys.stdout.flush()


world_dead = 0  # jobs that another process left


def play(world, rng, n, missing=0.0, twice=0.0, late=0.0, ctx0=0):
    """@n jobs in order of hand-over on each ring; some ends are left out, or come late, or twice"""
    flight, delayed = [[] for _ in NAMES], []
    seqno = {}
    left = n
    while left or any(flight):
        ring = rng.randrange(len(NAMES))
        if left and rng.random() < 0.5 and len(flight[ring]) < 12:
            ctx = BASE + ctx0 + ring * 10 + rng.randrange(4)
            seqno[ctx] = seqno.get(ctx, 0) + 1
            job = Job(ring, ctx, seqno[ctx])
            world.queue(job)
            flight[ring].append(job)
            left -= 1
            continue
        waiting = [j for j in flight[ring] if not j.handed]
        if waiting and rng.random() < 0.6:
            world.hand(waiting[0])
            continue
        if not flight[ring] or not flight[ring][0].handed:
            continue
        job = flight[ring].pop(0)
        what = rng.random()
        if what < missing:
            if rng.random() < late:
                delayed.append(job)
            continue
        world.end(job)
        if rng.random() < twice:
            world.end(job)
    for job in delayed:
        world.end(job)


def one(world, ring, ctx, seqno, to='end'):
    job = Job(ring, BASE + ctx, seqno)
    world.queue(job)
    if to != 'queue':
        world.hand(job)
    if to == 'end':
        world.end(job)
    return job


def tell(mounts, word):
    for mnt in mounts:
        with open(mnt + '/control', 'w') as f:
            f.write(word)


def seen(mnt, kind):
    rows = [line.split() for line in open(mnt + '/events_by_type')]
    return sum(int(row[1]) for row in rows if row[0] == kind)


def settle(world, mounts):
    """all that was called has been delivered"""
    want = {'SUBMIT': sum(r.submitted for r in world.rings), 'COMMIT': sum(r.places for r in world.rings)}
    end = time.monotonic() + 30
    while any(seen(mnt, kind) < n for mnt in mounts for kind, n in want.items()) and time.monotonic() < end:
        time.sleep(0.02)


def scenes(mounts):
    global world_dead
    world, rng = World(), random.Random(19)
    for ring in range(len(NAMES)):
        one(world, ring, ring * 10, 1)
        one(world, ring, ring * 10, 2)
    Part.check(world, mounts, 'nothing is missing yet')
    play(world, rng, 400, ctx0=100)
    Part.check(world, mounts, 'all ends are seen')
    play(world, rng, 400, twice=0.3, ctx0=200)
    Part.check(world, mounts, 'a second event of an end is none')
    play(world, rng, 400, missing=0.1, ctx0=300)
    Part.check(world, mounts, '10 % of the ends are missing')
    play(world, rng, 400, missing=0.5, ctx0=400)
    Part.check(world, mounts, '50 % of the ends are missing')

    one(world, 0, 500, 1, 'hand')
    job = one(world, 0, 500, 2, 'hand')
    world.end(job)
    first = world.rings[0].jobs[-2]
    Part.check(world, mounts, 'one is superseded')
    world.end(first)
    Part.check(world, mounts, '... and its end comes after all')

    job = one(world, 1, 510, 7, 'hand')
    time.sleep(0.03)
    one(world, 1, 510, 7)
    Part.check(world, mounts, 'another job has the number of one whose end is missing')

    jobs = [one(world, r, 520 + r, s, 'hand') for s in (1, 2) for r in range(3)]
    jobs += [one(world, 2, 530, s, 'queue') for s in range(1, 4)]
    settle(world, mounts)
    tell(mounts, 'stop')
    world.paused()
    world.tell = False
    Part.check(world, mounts, 'paused: none is in flight')
    world.end(jobs[0])
    world.tell = True
    tell(mounts, 'start')
    time.sleep(0.2)
    world.end(jobs[3])
    Part.check(world, mounts, '... and one comes back when its end is seen')
    for r in range(3):
        one(world, r, 540, 1)
        one(world, r, 540, 2)
    Part.check(world, mounts, '... and the next are as ever')

    jobs = [one(world, r, 545 + r, 1, 'hand') for r in range(3)]
    settle(world, mounts)
    tell(mounts, 'rescan')
    world.paused()
    Part.check(world, mounts, 'another look for GPUs is such a pause')
    for job in jobs:
        world.end(job)
    Part.check(world, mounts, '... and they come back')
    for r in range(3):
        one(world, r, 548, 1)

    hung = one(world, 1, 550, 1, 'hand')
    kept = one(world, 1, 551, 1, 'queue')
    settle(world, mounts)
    world.reset(1)
    Part.check(world, mounts, 'a reset: what the hardware had is gone, what the scheduler keeps is not')
    world.hand(kept)
    world.end(kept)
    one(world, 1, 552, 1)
    Part.check(world, mounts, '... that is handed over later')
    del hung

    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(write)
        for s in range(1, 31):
            one(world, 0, 560, s, 'queue')
        one(world, 0, 561, 1, 'hand')
        os.read(read, 1)
        os._exit(0)
    for s in range(1, 31):
        job = Job(0, BASE + 560, s)
        job.queued = now()
        world.rings[0].jobs.append(job)
    job = Job(0, BASE + 561, 1)
    world.rings[0].places += 1
    job.queued, job.handed, job.place = now(), now(), world.rings[0].places
    world.rings[0].jobs.append(job)
    world.rings[0].submitted += 31
    world.rings[0].peak = max(world.rings[0].peak, world.rings[0].in_flight())
    Part.check(world, mounts, 'a process has jobs in the queue')
    os.close(write)
    os.waitpid(child, 0)
    for o in world.rings[0].jobs:
        if o.ctx == BASE + 560:
            o.gone = 'dead'
    world_dead = 30
    Part.check(world, mounts, '... and has ended: what was not handed over is gone')
    world.end(job)
    Part.check(world, mounts, '... and what was, ends')


def main(*mounts):
    scenes(mounts)
    print('1..%d' % Part.n)
    return 1 if Part.failed else 0


sys.exit(main(*sys.argv[1:]))
