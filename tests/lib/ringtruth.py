#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Everything that a tree should say of a recording of amdgpu's own events, computed without gputrace
from the raw text, and compared with a mounted tree, file by file.

    ringtruth.py generate SEED                  an invented recording: processes and contexts on in-order rings
    ringtruth.py compare TRACE.txt MNT          every ring, process and user, blame, and what they add up to
    ringtruth.py damage KIND SEED < TRACE.txt   the recording with something missing or too much: front,
                                                fronts, unmarked, many, middle, cpu, ends1, ends10, ends50,
                                                noends, ringends, lateends, never, twice, lost,
                                                reused, order, clock
    ringtruth.py against KIND WHOLE.txt TRACE.txt MNT
                                                of the damaged TRACE the tree invents nothing: each time of a
                                                job in `report` is that of the undamaged recording, or unknown;
                                                what is in flight may be; files agree with each other

The rules, as tests/lib/jobs.py has them: a job is (timeline, context, seqno), submitted by amdgpu_cs_ioctl,
handed over by amdgpu_sched_run_job, ended by dma_fence_signaled. It ran from the later of its hand-over and
the timeline's previous end; where a recording has no hand-over at all, a submission is one. Its end was missed, and it counts no more, as soon as

- a later job of its context has ended,
- it is submitted once more, or another job of its context with a lower number is, ten milliseconds later,
- events were lost (a line "CPU:3 [LOST 7 EVENTS]": between that CPU's last line and the next one; before
  "##### CPU 3 buffer started ####" from the recording's beginning on), when that gap begins or ends,
- a later job ended of the context of one that was seen before another CPU's first line, and so was it: then the CPU
  had lines before, which are lost, and a job that began to run by then may have waited for an end that is missing. If
  one of these ends after all, those behind it may run still, and so may those behind the one that showed the loss.
  Without that, a CPU whose lines begin later than others' had nothing to say; and where the kernel's head says that
  nothing was overwritten, and the file has as many lines.
- no end has come on its timeline so far, though 64 jobs are at the hardware, which has had some for more than a
  second: the timeline lacks ends, with all others if none has any end; if one has, only if this has hand-overs. Then
  nothing is in flight there, nor known of depth and busy time, up to the first end, before which its jobs' begins are
  not known.

Then when the next one began is not known, nor where a job of another context that was handed over earlier
has not ended. A job that ends after all is matched with its end. An end of a job that was not seen, of a
context with others, is an end on their ring; one that says again within a millisecond what one has said is none.
Where an end comes before other events of its job, those count for ten milliseconds, and the job is not in flight.
Of a job that was handed over before it was submitted neither time is to be trusted. A job that ended on one CPU
before it was submitted or handed over on another shows that their clocks differ, and so do three that were handed over
on one much before they were submitted on another. A CPU that differs from several differs from all; of two of which
neither differs from a third, both do, but for one that agrees with a third: soon after jobs were submitted on one they
were handed over on the other, and the other way round. From then on no time is made of two such CPUs' times, nor, of a
job, how it ran if one of the last eight ends on its ring was on such a CPU. How long the ring worked for it is not
known then, so how busy the ring, its engine and the process were is not, where that was a part of the time; nor where
a job was handed over after its end, or its process was not known at its end. Of a job that was submitted and handed
over by two clocks the hand-over's counts.
Lines are in order of time, whichever way the file has them.
"""
import collections
import os
import random
import re
import sys

from tables import one_row, rows as table, stages

LINE = re.compile(r'^\s*(.+)-(\d+)\s+\[(\d+)\]\s+(?:\S+\s+)?(\d+)\.(\d+): (\w+): +(.*)')
HEAD = re.compile(r'^# entries-in-buffer/entries-written: (\d+)/(\d+)')
LOST = re.compile(r'^CPU:(\d+) \[LOST (\d+) EVENTS\]|^##### CPU (\d+) buffer started')
AMDGPU = {'amdgpu_cs_ioctl': 'submit', 'amdgpu_sched_run_job': 'run', 'dma_fence_signaled': 'end'}
SCHEDULER = {'drm_sched_job_queue': 'submit', 'drm_sched_job_run': 'run', 'drm_sched_job_done': 'end'}
KINDS = AMDGPU | SCHEDULER  # a recording of the scheduler has ends twice: its own say enough
STAGES = ('queue', 'hw_wait', 'exec', 'total')
ORDER = 10**7   # records of one moment may come in another order
SLIP = {'order': 10**6, 'clock': 2 * 10**6}     # so much a time of these may be wrong
BEGIN = 'begin'
NO_END, NO_END_NS = 64, 10**9
RACE = 10**5    # so late a submission may be noted after a hand-over by the same clock
ENDS = 8        # of the last ones of a ring each may have come after the latest, by another clock
RACES = 3       # so many that are noted later show that clocks differ
AGAIN = 10**6   # a second end is the first one, said again
EARLY = 32      # ends that lacked an event of their job are remembered, of a ring
STRAY = 4       # an end behind that of a job handed over later counts like so many ends in order
STRAYS = 16     # so many more such ends than that, and a ring has no order


class Job:
    def __init__(self, ring, ctx, seqno, t):
        self.ring, self.ctx, self.seqno, self.seen = ring, ctx, seqno, t
        self.submit = self.run = self.pid = None
        self.unknown = self.unclear = False     # when it began; how long the ring worked for it
        self.why = None                 # of one that ended unseen
        self.mixed = set()              # times that are made of two clocks


class Ring:
    def __init__(self, name, t):
        self.name, self.t0, self.at = name, t, t
        self.area = self.peak = 0
        self.submitted = self.committed = self.completed = self.unmatched = 0
        self.ended = {}                 # when, by key
        self.early = collections.deque(maxlen=EARLY)    # ends before other events of their job
        self.live, self.gone = {}, {}   # jobs in flight, and those that ended unseen, by key
        self.dropped = []               # those of the latter whose key another job has now
        self.hw, self.passed = [], {}   # jobs at the hardware by hand-over; those that were passed, when
        self.strays, self.ordered = 0, True
        self.last = self.gap_end = self.loss_until = self.begun = self.lost_until = 0
        self.after_loss = self.commits = self.gap = self.lacks = False
        self.since = 0                  # the hardware has had jobs since then
        self.from_ = self.cut = 0       # averages begin then; busy time before is not counted
        self.before = 0                 # how many had ended by then
        self.busy, self.jobs = [], []
        self.unclear = []               # when it worked for a time that is not known

    def to(self, t):
        if t > self.at:
            self.area += len(self.live) * (t - self.at)
            self.at = t
        self.peak = max(self.peak, len(self.live))


def when(m):
    return int(m[4]) * 10**9 + int(m[5].ljust(9, '0'))


def fields(m):
    kv = dict(re.findall(r'(\w+)=([^,\s]+)', m[7]))
    if m[6] in SCHEDULER:
        kv['context'], kv['seqno'] = kv['fence'].split(':')
        kv['timeline'] = kv.get('ring')         # an end names the fence alone
    return kv


def records(path):
    """Each event and each loss of a recording: when, how many were lost and until when, the line; and BEGIN where a
    CPU's lines begin later than those of others, and nothing says why, nor that the file has all that was recorded"""
    seen, waiting, first, t = {}, None, None, 0
    lines = open(path, errors='replace').readlines()
    heads = [m for m in map(HEAD.match, lines) if m]
    is_all = heads and heads[-1][1] == heads[-1][2] == str(sum(bool(LINE.match(x)) for x in lines))
    kinds = SCHEDULER if any(': drm_sched_job_queue: ' in x for x in lines) else AMDGPU
    for line in lines:
        lost, m = LOST.match(line), LINE.match(line)
        first = when(m) if m and first is None else first
        if m and int(m[3]) not in seen and when(m) > first and not is_all and not (waiting and waiting[0] == int(m[3])):
            yield when(m), BEGIN, None
        if waiting and (lost or m):
            yield seen.get(waiting[0], first or 0), (waiting[1], when(m) if m else t), None
        waiting = (int(lost[1] or lost[3]), int(lost[2] or 0)) if lost else None if m else waiting
        if not m:
            continue
        t = seen[int(m[3])] = when(m)
        if m[6] in kinds:
            yield t, None, m
    if waiting:
        yield seen.get(waiting[0], first or 0), (waiting[1], t), None


class Truth:
    def __init__(self, path):
        self.rings, self.first, self.last = {}, None, 0
        self.comm, self.lost, self.losses, self.uncounted, self.order = {}, 0, 0, 0, []
        self.loss_until = self.gap_end = self.begun = self.front_until = self.from_ = 0
        self.strayed = False            # a job ended on a ring that is not known
        self.place = {}                 # the ring of a context; None: several
        self.late = collections.Counter()   # submissions of jobs that had ended, by process
        self.seen, self.differ = {}, set()  # CPUs of a job's events; pairs of CPUs with clocks that differ
        self.races, self.soon = collections.Counter(), set()    # by pair: of hand-over and submission, and back
        self.unclear = collections.defaultdict(list)    # likewise, for a process on a ring
        self.end_cpus, self.mixed = collections.defaultdict(lambda: collections.deque(maxlen=ENDS)), set()
        lines = sorted(records(path), key=lambda x: x[0])
        self.hands = any(m and KINDS[m[6]] == 'run' for _, _, m in lines)
        for t, n, m in lines:
            self.gaps(max(t, self.last))
            if n == BEGIN:
                self.begun = max(self.begun, t)
                self.last = max(self.last, t)
            elif n:
                self.lose(max(t, self.last), *n)
            else:
                self.event(t, KINDS[m[6]], m[1].strip(), int(m[2]), fields(m), int(m[3]))
        for r in self.rings.values():
            r.to(self.last)

    def lose(self, t, n, until):
        """What is in flight may have ended in the gap, what comes within it as well"""
        self.lost += n
        self.losses, self.uncounted = self.losses + 1, self.uncounted + (n == 0)
        self.first = t if self.first is None else self.first
        self.last = max(self.last, t)
        self.loss_until, self.gap_end = max(self.loss_until, until), max(self.gap_end, until, t)
        if t <= self.first and until > t:
            self.front_until = max(self.front_until, until)
        for r in self.rings.values():
            for j in list(r.live.values()):
                self.miss(r, j, t, 'lost')
            r.hw, r.passed = [], {}
            self.in_gap(r, t)

    def in_gap(self, r, t):
        r.after_loss, r.loss_until, r.gap_end = self.losses > 0 or self.strayed, self.loss_until, self.gap_end
        r.gap = r.gap_end > t

    def front(self, t, missed, job):
        """Jobs that were @missed show that CPUs that began late have lost what was before"""
        if not any(o.seen <= self.begun for o in missed):
            return
        for r in self.rings.values():
            for j in list(r.live.values()):
                if j.seen <= self.begun and j is not job:
                    self.miss(r, j, t, 'lost')
                    if j.run is not None or not r.commits:
                        r.after_loss, r.lost_until = True, max(r.lost_until, self.handed(r, j) or j.seen)
            r.gap_end, r.begun = max(r.gap_end, self.begun), max(r.begun, self.begun)
        self.begun = 0
        self.front_ended(t)

    def front_ended(self, t):
        """What was before is not known: averages, depths and busy times begin again"""
        self.from_ = t
        self.unclear.clear()
        for r in self.rings.values():
            self.ring_front_ended(r, t)
            r.busy, r.unclear, r.cut = [], [], t

    def ring_front_ended(self, r, t):
        r.area, r.peak, r.t0, r.at, r.from_, r.before = 0, len(r.live), t, t, t, r.completed

    def gaps(self, t):
        for r in self.rings.values():
            if r.gap and r.gap_end < t:
                r.gap = False
                for j in [j for j in r.live.values() if j.seen <= r.gap_end]:
                    self.miss(r, j, t, 'lost')
        if self.front_until and self.front_until < t:
            self.front_ended(self.front_until)
            self.front_until = 0

    def miss(self, r, j, t, why):
        r.to(t)
        del r.live[(j.ctx, j.seqno)]
        r.gone[(j.ctx, j.seqno)] = j
        j.why = why
        if j in r.hw:
            r.hw.remove(j)
        r.passed.pop(j, None)

    def clocks(self, t, kind, ring, key, cpu):
        """Which times of the job are made of two clocks"""
        seen = self.seen.get((ring, key))
        if seen is None or (kind == 'submit' and kind in seen):
            seen = self.seen[(ring, key)] = {}
        late = set()
        if kind == 'end':
            seen['end'], seen['t'] = cpu, t
        elif kind not in seen:
            if 'end' in seen and seen['t'] <= t < seen['t'] + 10**9:
                self.differ.add(frozenset((cpu, seen['end'])))
                late.add('late')
            if kind == 'run':
                seen['hand'] = t
                if 'submit' in seen and t - seen['begin'] < RACE:
                    self.soon.add((seen['submit'], cpu))
            else:
                seen['begin'] = t
            if kind == 'submit' and 'run' in seen and seen['hand'] + RACE <= t < seen['hand'] + 10**9:
                self.races[(seen['run'], cpu)] += 1
                if self.races[(seen['run'], cpu)] >= RACES:
                    self.differ.add(frozenset((cpu, seen['run'])))
        seen.setdefault(kind, cpu)
        pairs = [pair for pair in self.differ if len(pair) == 2]
        n = collections.Counter(c for pair in pairs for c in pair)
        agree = {a for a, b in self.soon if a != b and (b, a) in self.soon and frozenset((a, b)) not in self.differ}
        odd = {c for pair in pairs for c in pair if n[c] > 1 or (all(n[o] == 1 for o in pair) and c not in agree)}
        def two(a, b):
            return None not in (a, b) and a != b and (frozenset((a, b)) in self.differ or a in odd or b in odd)
        submit, run, ends = seen.get('submit'), seen.get('run'), self.end_cpus[ring]
        if kind != 'end':
            return late | ({'queue'} if two(submit, run) else set())
        hand = submit if run is None else run
        hw = two(hand, cpu) or any(two(o, cpu) or two(o, hand) for o in ends)
        ends.append(cpu)
        return ({'total'} if two(submit, cpu) else set()) | ({'hw'} if hw else set())

    def event(self, t, kind, comm, tid, kv, cpu):
        key = (int(kv['context']), int(kv['seqno']))
        name = kv['timeline'] or self.place.get(key[0])
        r = self.rings.get(name)
        ring = name if kind != 'end' or (r and (key in r.live or key in r.gone)) else self.place.get(key[0])
        self.mixed = self.clocks(t, kind, ring, key, cpu) if ring else set()
        if kind == 'end' and not (r and (key in r.live or key in r.gone)):
            self.stranger(t, key)
            if not kv['timeline'] and key[0] not in self.place:     # a job ended, on any of the rings
                self.first, self.last = t if self.first is None else self.first, max(t, self.last)
                self.strayed = True
                for x in self.rings.values():
                    x.after_loss = True
            return
        if kind != 'end':
            self.place[key[0]] = name if self.place.get(key[0], name) == name else None
        if not r:
            lacks = any(x.lacks for x in self.rings.values()) and not any(x.last for x in self.rings.values())
            r = self.rings[name] = Ring(name, t)
            r.lacks, r.from_, r.cut = lacks, self.from_, self.from_
            self.in_gap(r, max(t, self.last))
            r.gap = self.losses > 0 and r.gap_end >= t
        if self.first is None:
            self.first = t
        self.last = max(self.last, t)
        j = r.live.get(key) or r.gone.get(key)
        if j and kind == 'submit' and j.submit is not None and t > j.submit + ORDER:
            if key in r.live:
                self.miss(r, j, t, 'again')
            del r.gone[key]
            r.dropped.append(j)
            j = None
        if j and key in r.gone and (kind == 'end' or getattr(j, kind) is None):
            del r.gone[key]
            r.to(t)
            r.live[key] = j
            j.unknown |= j.why != 'lost'
            j.why = None
        if not j and kind != 'end' and self.came_early(r, key, kind, t, comm, tid):
            return
        if not j and kind != 'end':
            r.to(t)
            j = r.live[key] = Job(name, *key, t)
        r.to(t)
        if kind == 'end':
            self.ends(r, t)
        getattr(self, kind)(r, j, key, t, comm, tid)
        if not r.last:
            self.no_end(r, j, t)
        r.to(t)

    def no_end(self, r, job, t):
        """Does the ring lack ends?"""
        if not r.lacks and len(r.hw) >= NO_END and t > r.since + NO_END_NS:
            none = not any(x.last for x in self.rings.values())
            for x in self.rings.values():
                if none or (x is r and r.commits):
                    x.lacks = True
                    for j in list(x.live.values()):
                        self.miss(x, j, t, 'lost')
        if r.lacks and (job.ctx, job.seqno) in r.live:
            self.miss(r, job, t, 'lost')

    def ends(self, r, t):
        if r.lacks:
            for x in self.rings.values():
                x.begun = max(x.begun, t) if x.lacks else x.begun
                x.lacks = False

    def at_hardware(self, r, j, t):
        if not r.hw:
            r.since = t
        r.hw.append(j)

    def came_early(self, r, key, kind, t, comm, tid):
        """Has the event's job ended before it? Then it counts, and no job begins"""
        job = next((job for job in r.early if job['key'] == key and t <= job['t'] + ORDER), None)
        seen = job and job['seen']
        if seen is None or kind in seen:
            return seen is not None
        seen.add(kind)
        if kind == 'submit':
            job['pid'] = tid
        if 'late' in self.mixed:
            if job['pid'] is not None:
                self.unclear[(job['pid'], r.name)].append(t)
            if kind != 'submit' or not r.commits:
                r.unclear.append((job['t'], t))
        if kind == 'submit':
            self.comm[tid] = comm
            self.late[tid] += 1
            r.submitted += 1
        else:
            r.committed += 1
            self.commits(r)
        return True

    def submit(self, r, j, key, t, comm, tid):
        if j.submit is not None:
            return
        j.submit, j.pid = t, tid
        j.mixed |= self.mixed
        self.comm[tid] = comm
        r.submitted += 1
        if self.hands:
            self.commits(r)
        if not r.commits:
            self.at_hardware(r, j, t)

    def run(self, r, j, key, t, comm, tid):
        if j.run is not None:
            return
        j.run = t
        j.mixed |= self.mixed
        r.committed += 1
        self.commits(r)
        self.at_hardware(r, j, t)

    def commits(self, r):
        if not r.commits:
            r.commits, r.hw, r.passed = True, [], {}

    def alone(self, r, j, t):
        """False: when it began is not known, as others were at the hardware before it"""
        if not (r.ordered and r.commits):
            r.passed.pop(j, None)
            if j in r.hw:
                r.hw.remove(j)
            return True
        if j in r.passed:
            r.strays += STRAY
            r.ordered = r.strays < STRAY * STRAYS and t <= r.passed.pop(j) + ORDER
            return False
        if j not in r.hw:
            return True
        at = r.hw.index(j)
        for o in r.hw[:at]:
            r.passed[o] = t
        del r.hw[:at + 1]
        if at == 0:
            r.strays = max(0, r.strays - 1)
        return at == 0

    def handed(self, r, j):
        """When the hardware got the job; None: not known"""
        if not r.commits and j.submit is not None and j.submit > r.gap_end:
            return j.submit
        return j.run if j.run is None or 'queue' in j.mixed else max(j.run, j.submit or 0)

    def end(self, r, j, key, t, comm, tid):
        alone = self.alone(r, j, t)
        early = lambda o: o.seqno < key[1] or (
            o.seqno > key[1] and j.submit is not None and j.submit > o.seen + ORDER)
        missed = []
        for o in [o for o in r.live.values() if o.ctx == key[0]]:
            if o is j or not early(o):  # nobody behind it is looked for
                break
            missed.append(o)
        for o in missed:
            self.miss(r, o, t, 'superseded')
        self.front(t, missed, j)
        r.completed += 1
        del r.live[key]
        j.end, j.start = t, None
        two_clocks = 'queue' in j.mixed
        hand = self.handed(r, j)
        if hand is not None:
            j.start = min(max(hand, r.last), t)
            (r.unclear if 'hw' in self.mixed else r.busy).append((j.start, t))
            j.unclear = 'hw' in self.mixed
            if j.unclear:
                self.unclear[(j.pid, r.name)].append(t)
        # handed over before it was submitted: neither time is to be trusted
        skewed = j.run is not None and j.submit is not None and j.run < j.submit and not two_clocks
        j.unknown |= not alone or bool(missed) or r.after_loss or (j.start is not None and j.start < r.begun) or \
            (skewed and j.start == hand) or \
            'hw' in self.mixed
        r.after_loss = t < r.loss_until or (j.seen if hand is None else hand) < r.lost_until
        known = hand is not None and not j.unknown
        queue = j.run is not None and j.submit is not None and not skewed and not two_clocks
        j.times = {'queue': hand - j.submit if queue else None,
                   'hw_wait': j.start - hand if known and not skewed else None,
                   'exec': t - j.start if known else None,
                   'total': t - j.submit if j.submit is not None and not skewed and 'total' not in self.mixed else None}
        r.last = max(r.last, t)
        r.ended[key] = t
        seen = {k for k in ('submit', 'run') if getattr(j, k) is not None}
        if seen < ({'submit', 'run'} if r.commits or r.completed <= EARLY else {'submit'}):
            r.early.append({'t': t, 'key': key, 'seen': seen, 'pid': j.pid})
        r.jobs.append(j)
        self.order.append(j)

    def stranger(self, t, key):
        """The end of a job that was not seen; of no job at all if none of its context was"""
        r = self.rings.get(self.place.get(key[0]))
        if r:
            self.ends(r, t)
        if not r or t <= r.ended.get(key, -AGAIN) + AGAIN:
            return
        self.last = max(self.last, t)
        r.ended[key] = t
        r.early.append({'t': t, 'key': key, 'seen': set(), 'pid': None})
        missed = []
        for o in [o for o in r.live.values() if o.ctx == key[0]]:
            if o.seqno >= key[1]:
                break
            missed.append(o)
        for o in missed:
            self.miss(r, o, t, 'superseded')
        self.front(t, missed, None)
        if r.completed == r.unmatched:
            self.ring_front_ended(r, t)
        r.completed += 1
        r.unmatched += 1
        r.after_loss = t < r.loss_until
        r.last = max(r.last, t)

    def running(self, r):
        """Since when the oldest job at the hardware runs, until now"""
        return [(max(r.hw[0].run or r.hw[0].submit, r.last), self.last)] if runs(r) else []

    def runner(self, r):
        """Whose job that is; None: not known, nor when it began"""
        return r.hw[0].pid if r.hw and not r.hw[0].unknown and not r.after_loss else None

    def unseen(self, r):
        return list(r.gone.values()) + r.dropped


def covered(spans, begin=0, end=1 << 62):
    total = at = 0
    for a, b in sorted(spans):
        a, b = max(a, at, begin), min(b, end)
        total += max(0, b - a)
        at = max(at, b)
    return total


def clear(unclear, now=0, window=1 << 62):
    """Is it known how busy it was within the window before now?"""
    return not unclear or (window < now and max(unclear) <= now - window)


# What the tree says ---------------------------------------------------------------------------

def keyed(path):
    return dict(line.split(None, 1) for line in open(path) if ' ' in line)


class Check:
    def __init__(self):
        self.bad, self.n = [], 0

    def same(self, what, got, want):
        self.n += 1
        if str(got).strip() != str(want):
            self.bad.append('%s: %s, wanted %s' % (what, str(got).strip(), want))

    def near(self, what, got, want, by=0.011):
        self.n += 1
        if got is None or abs(float(got) - want) > by:
            self.bad.append('%s: %s, wanted %.3f' % (what, got, want))

    def share(self, what, got, part, whole, known):
        if not known or got == '-':
            self.same(what, got, '-' if not known else 100 * part / whole)
        else:
            self.near(what, got, 100 * part / whole)

    def stages(self, what, got, jobs):
        for st in STAGES:
            v = [j.times[st] for j in jobs if j.times[st] is not None]
            g = got.get(st, {})
            self.same('%s %s count' % (what, st), g.get('count', 0), len(v))
            if v and g.get('count'):
                self.same('%s %s avg' % (what, st), g['avg_ns'], sum(v) // len(v))
                self.same('%s %s total' % (what, st), g['total_ns'], sum(v))
                self.same('%s %s max' % (what, st), g['max_ns'], max(v))


def compare(path, mnt):
    truth, c = Truth(path), Check()
    rings = {r['name']: r for r in table(mnt + '/rings')}
    c.same('rings', sorted(rings), sorted(truth.rings))
    # observed is what the recording has, from its first event
    stats = keyed(mnt + '/status')
    for name, r in truth.rings.items():
        one_ring(c, truth, mnt, rings[name], r)
    processes(c, truth, mnt, rings)
    users(c, truth, mnt)
    report(c, truth, mnt, rings)
    blame(c, truth, mnt, rings)
    lacks = any(r.lacks and not r.last for r in truth.rings.values())
    c.same('status jobs_in_flight', stats.get('jobs_in_flight'),
           None if lacks else sum(len(r.live) for r in truth.rings.values()))
    # how many a loss of no number has lost is not known, nor is it none
    c.same('status losses_uncounted', stats.get('losses_uncounted', 0), truth.uncounted)
    c.same('status events_lost_source', stats.get('events_lost_source'), truth.lost if truth.lost or not truth.uncounted else None)
    c.same('status jobs_ended_unseen', stats['jobs_ended_unseen'],
           sum(len(truth.unseen(r)) for r in truth.rings.values()))
    return finish(c, truth)


def finish(c, truth):
    print('# %s' % {n: '%d jobs, %d in flight, %d unseen' % (
        len(r.jobs), len(r.live), len(truth.unseen(r))) for n, r in truth.rings.items()})
    print('# %d values compared, %d differ' % (c.n, len(c.bad)))
    for b in c.bad[:30]:
        print('#', b)
    return 1 if c.bad or not truth.comm else 0


def runs(r):
    return r.hw and (r.commits or r.last)


def unhanded(r):
    """Others have hand-overs, of this timeline none was seen, or neither was a hand-over of any nor an end: how long it
    was busy is not known"""
    return (r.commits and not r.committed and r.completed) or (r.submitted and not r.commits and not r.last)


def observed_from(r):
    """When its averages begin; of a ring of which only ends are reported nothing is known anyway"""
    return r.from_ if r.submitted or r.commits else 0


def clipped(spans, r):
    return [(max(a, r.cut), b) for a, b in spans if b > r.cut]


def submitted(r):
    """Unknown where only what comes after a submission was seen"""
    return '-' if not r.submitted and (r.committed or r.completed) else r.submitted


def one_ring(c, truth, mnt, row, r):
    d = '%s/%s/%s' % (mnt, row['gpu'], row['ring'])
    stats, depth = keyed(d + '/stats'), keyed(d + '/depth')
    busy = clipped(r.busy + truth.running(r), r)    # a job that runs is busy, too
    want = {'submitted': submitted(r), 'completed': r.completed, 'in_flight': len(r.live),
            'begin_unseen': r.unmatched, 'ended_unseen': len(truth.unseen(r)),
            'busy_ns': '-' if r.unclear or unhanded(r) else covered(clipped(r.busy, r))}
    if r.lacks and not r.last:          # what is not known is left out
        lacks_ends(c, truth, d, row, r, stats)
        return
    for k, v in want.items():
        c.same('%s stats %s' % (r.name, k), stats.get(k, '-'), v)
    # a CPU's loss may have been of any ring
    c.same(r.name + ' rings lost', row['lost'], '-' if truth.losses else 0)
    c.same(r.name + ' stats lost', stats.get('lost', '-'), '-' if truth.losses else 0)
    c.same(r.name + ' committed', stats.get('committed', 0), r.committed)
    c.same(r.name + ' depth now', depth['now'], len(r.live))
    c.same(r.name + ' depth peak', depth['peak'], r.peak)
    now = truth.last
    if now > r.t0:
        c.near(r.name + ' depth avg', depth['avg'], r.area / (now - r.t0))
    c.stages(r.name, stages(d + '/latency'), r.jobs)
    c.same(r.name + ' rings depth', row['depth'], len(r.live))
    for k in ('submitted', 'completed'):
        c.same('%s rings %s' % (r.name, k), row[k], want[k])
    whole = now - max(truth.first, observed_from(r))
    if whole:
        ends = [b for _, b in r.unclear]
        c.share(r.name + ' rings busy_percent', row['busy_percent'], covered(busy), whole, clear(ends) and not unhanded(r))
        util = one_row(d + '/utilization')
        ends += [now] * bool(unhanded(r))
        c.same(r.name + ' utilization total', util.get('total_ns', '-').strip(), covered(busy) if clear(ends) else '-')
        for n in (10, 60):
            if whole < n * 10**9:
                c.share('%s utilization avg%d' % (r.name, n), util.get('avg%d_percent' % n, '-').strip(), covered(busy), whole,
                        clear(ends, now, n * 10**9))
    rates = {x['jobs']: x['avg10_per_second'] for x in table(d + '/throughput')}
    for k, n, ns in (('submitted', r.submitted, now - truth.first),
                     ('completed', r.completed - (r.before if observed_from(r) else 0), whole)):
        if k in rates and ns < 10 * 10**9:
            c.near('%s throughput %s' % (r.name, k), rates[k], n * 10**9 / ns) if ns else c.same(
                '%s throughput %s' % (r.name, k), rates[k], '-')
    window(c, mnt, row, r, busy)
    jobs = {(int(x['ctx']), int(x['seqno'])): x for x in table(d + '/jobs')}
    c.same(r.name + ' jobs', sorted(jobs), sorted(r.live))
    running = [k for k, x in jobs.items() if x['state'] == 'running']
    c.same(r.name + ' running', running, [(r.hw[0].ctx, r.hw[0].seqno)] if runs(r) else [])


def window(c, mnt, row, r, busy):
    """The last one that has ended, of which `perf` is"""
    ring = '%s/%s' % (row['gpu'], row['ring'])
    w = next(x for x in table(mnt + '/aggregate') if '%s/%s' % (x['gpu'], x['ring']) == ring)
    if w['start_s'] == '-' or runs(r):
        return
    begin, ns = int(w['start_s'].replace('.', '')), int(w['window_ns'])
    known = not unhanded(r) and not [1 for a, b in r.unclear if a < begin + ns and b > begin]
    got = next(x['utilization_percent'] for x in table(mnt + '/perf') if x['ring_id'] == ring)
    if got != '-' or not known:         # nothing was observed
        c.share(r.name + ' perf', got, covered(busy, begin, begin + ns), ns, known)


def lacks_ends(c, truth, d, row, r, stats):
    want = {'submitted': submitted(r), 'completed': None, 'in_flight': None, 'busy_ns': None,
            'ended_unseen': len(truth.unseen(r))}
    for k, v in want.items():
        c.same('%s stats %s' % (r.name, k), stats.get(k, '-'), '-' if v is None else v)
    for k in ('depth', 'busy_percent', 'completed', 'exec_source'):
        c.same('%s rings %s' % (r.name, k), row[k], '-')
    c.same(r.name + ' depth', open(d + '/depth').read(), 'unavailable')
    c.same(r.name + ' utilization', sorted(one_row(d + '/utilization')), ['engine', 'source'])
    c.same(r.name + ' jobs', len(table(d + '/jobs')), 0)
    c.stages(r.name, stages(d + '/latency'), [])


def processes(c, truth, mnt, rings):
    for pid in sorted(truth.comm):
        d = '%s/proc/%d' % (mnt, pid)
        stats = keyed(d + '/stats')
        jobs = [j for j in truth.order if j.pid == pid]
        live = [j for r in truth.rings.values() for j in r.live.values() if j.pid == pid]
        gone = [j for r in truth.rings.values() for j in truth.unseen(r) if j.pid == pid]
        own = [r for r in truth.rings.values() if any(j.pid == pid for j in truth.unseen(r) + r.jobs + list(r.live.values()))]
        lacks = [r for r in own if r.lacks and not r.last]
        c.same('%d in_flight' % pid, stats.get('in_flight'), None if lacks else len(live))
        c.same('%d ended_unseen' % pid, stats['ended_unseen'], len(gone))
        c.same('%d submitted' % pid, stats['submitted'],
               len([j for j in jobs + live + gone if j.submit is not None]) + truth.late[pid])
        c.same('%d completed' % pid, stats.get('completed'), None if lacks and len(lacks) == len(own) else len(jobs))
        for name, row in rings.items():
            own = [j for j in jobs if j.ring == name]
            c.stages('%d %s' % (pid, name), stages(d + '/latency', gpu=row['gpu'], ring=row['ring']), own)
    busy, by_ring = {}, {}
    spans = [(j.pid, j.ring, (j.start, j.end)) for j in truth.order if j.times['exec'] is not None]
    spans += [(truth.runner(r), r.name, s) for r in truth.rings.values() for s in truth.running(r)]
    for pid, ring, span in spans:
        if pid is None or span[0] == span[1]:
            continue
        # before the beginning of averages it counts as 0
        busy.setdefault((pid, rings[ring]['engine']), []).extend(clipped([span], truth.rings[ring]))
        by_ring.setdefault((pid, ring), []).extend(clipped([span], truth.rings[ring]))
    for (pid, ring), s in by_ring.items():
        at = rings[ring]['gpu'], rings[ring]['ring']
        got = [x['total_ns'] for x in table('%s/proc/%d/utilization' % (mnt, pid)) if (x['gpu'], x['ring']) == at][0]
        c.same('%d %s utilization total' % (pid, ring), got, covered(s) if clear(truth.unclear[(pid, ring)]) else '-')
    # what a ring did for nobody who is known, or for somebody it is not known how long
    for ring, span in [(j.ring, (j.start, j.end)) for j in truth.order
                       if j.start is not None and not j.unclear and (j.pid is None or j.times['exec'] is None)] + [
                           (r.name, s) for r in truth.rings.values() for s in truth.running(r) if truth.runner(r) is None]:
        busy.setdefault((None, rings[ring]['engine']), []).extend(clipped([span], truth.rings[ring]))
    number = lambda pid: None if pid == '-' else int(pid)
    top = {(number(x['pid']), x['engine']): x for x in table(mnt + '/top') if x['busy_percent'] != '-' and (
        x['pid'] != '-' or float(x['busy_percent']) > 0)}
    began, used = {}, {}
    for r in truth.rings.values():
        e = rings[r.name]['engine']
        began[e] = min(began.get(e, truth.last), observed_from(r))
    whole = lambda e: truth.last - max(truth.first or 0, began[e])
    unclear = {(pid, rings[ring]['engine']) for (pid, ring), t in truth.unclear.items() if t}
    engines = {e for _, e in unclear}
    busy = {k: v for k, v in busy.items() if k not in unclear}
    for (_, e), spans in busy.items():
        used[e] = used.get(e, 0) + covered(spans)
    if truth.last == truth.first:
        return
    c.same('top', sorted(top, key=str), sorted((
        k for k, v in busy.items() if k[0] is not None or (covered(v) and covered(v) >= whole(k[1]) / 10000)), key=str))
    for engine in used:
        of = [x for x in rings.values() if x['engine'] == engine]
        if len(of) == 1 and engine not in engines and of[0]['busy_percent'] != '-':
            c.near('top %s in all' % engine, sum(float(x['busy_percent']) for k, x in top.items() if k[1] == engine),
                   float(of[0]['busy_percent']), .01 * (1 + len(top)))
    for k, spans in busy.items():
        if k not in top:
            continue
        c.near('top %s busy' % (k,), top[k]['busy_percent'], 100 * covered(spans) / whole(k[1]))
        if used[k[1]]:
            c.share('top %s share' % (k,), top[k]['share_percent'], covered(spans), used[k[1]], k[1] not in engines)
        c.same('top %s jobs' % (k,), top[k]['jobs'], len([
            j for j in truth.order if j.pid == k[0] and rings[j.ring]['engine'] == k[1] and (
                j.submit is not None or j.pid is None)]))
    for x in top.values():
        c.same('top over 100', float(x['busy_percent']) > 100, False)


def users(c, truth, mnt):
    """Of a recording's processes the user is not known: then there is no total of one"""
    for uid in os.listdir(mnt + '/users'):
        stats = keyed('%s/users/%s/stats' % (mnt, uid))
        pids = [p for p in truth.comm if open('%s/proc/%d/uid' % (mnt, p)).read().strip() == uid]
        own = [j for r in truth.rings.values() for j in r.live.values() if j.pid in pids]
        gone = [j for r in truth.rings.values() for j in truth.unseen(r) if j.pid in pids]
        c.same('user %s in_flight' % uid, stats['in_flight'], len(own))
        c.same('user %s ended_unseen' % uid, stats['ended_unseen'], len(gone))
        c.same('user %s completed' % uid, stats['completed'], len([j for j in truth.order if j.pid in pids]))


def report_rows(mnt, rings):
    names = {(r['gpu'], r['ring']): n for n, r in rings.items()}
    return {(names[(x['gpu'], x['ring'])], int(x['ctx']), int(x['seqno']), x['end_s']): x for x in table(mnt + '/report')}


def stamp(t):
    return '%d.%09d' % (t // 10**9, t % 10**9)


def report(c, truth, mnt, rings):
    rows = report_rows(mnt, rings)
    c.same('report rows', len(rows), len(truth.order))
    for j in truth.order:
        x = rows.get((j.ring, j.ctx, j.seqno, stamp(j.end)))
        if not x:
            c.same('report %s %d:%d' % (j.ring, j.ctx, j.seqno), 'absent', 'there')
            continue
        for st in ('queue', 'hw_wait', 'exec'):
            v = j.times[st]
            c.same('report %d:%d %s' % (j.ctx, j.seqno, st), x['t_%s_ns' % st], '-' if v is None else v)


def blame(c, truth, mnt, rings):
    """Who waited for how long: the sum of the rows of each, and for whom. At a time the job that began first
    and has not ended holds the ring; where that is not known it is nobody's."""
    if any(r.live for r in truth.rings.values()):
        return                          # what waits now is another question
    names = {(r['gpu'], r['ring']): n for n, r in rings.items()}
    got, pairs = {}, {}
    for x in table(mnt + '/blame'):
        k = (names[(x['gpu'], x['ring'])], x['waiter_pid'])
        got[k] = got.get(k, 0) + int(x['wait_ns'])
        if x['blocked_by'] in ('self', 'process'):
            p = k + (x['holder_pid'],)
            pairs[p] = pairs.get(p, 0) + int(x['wait_ns'])
    want, want_pairs = {}, {}
    for name, r in truth.rings.items():
        holds, at = [], 0
        known = [j for j in r.jobs if j.times['exec'] is not None]
        for j in sorted(known, key=lambda j: (j.start, j.end)):
            a = max(j.start, at)
            if j.end > a:
                holds.append((a, j.end, str(j.pid) if j.pid is not None else '-'))
                at = j.end
        for j in r.jobs:
            t = j.times
            if t['exec'] is not None:
                a, b = j.start - (t['hw_wait'] or 0) - (t['queue'] or 0), j.start
            elif t['total'] is not None and t['queue'] is not None:
                a, b = j.submit, j.submit + t['queue']
            else:
                continue
            k = (name, str(j.pid) if j.pid is not None else '-')
            if b > a:
                want[k] = want.get(k, 0) + b - a
            for x, y, who in holds:
                ns = min(b, y) - max(a, x)
                if ns > 0:
                    want_pairs[k + (who,)] = want_pairs.get(k + (who,), 0) + ns
    c.same('blame', sorted(got.items()), sorted(want.items()))
    c.same('blame by pair', sorted(pairs.items()), sorted(want_pairs.items()))


def generate(seed, kind='amdgpu'):
    """Two timelines and four processes, each with a context on each; every ring runs one job after another,
    in the order of hand-over, of which it takes three at once"""
    r, lines, cpus = random.Random(int(seed)), [], random.Random(int(seed) + 1)

    def put(t, comm, pid, cpu, event, text):
        lines.append((t, '%16s-%-5d [%03d] .... %d.%06d: %s: %s' % (
            comm, pid, cpu, t // 10**6, t % 10**6, event, text)))

    for ring, base, n in (('gfx', 100, 900), ('sdma0', 200, 200)):
        t = free = 7000 * 10**6 + r.randrange(10**5)
        ends, seqno = [], [1000 * i for i in range(4)]
        for k in range(n):
            p = r.choice((0, 0, 1, 2, 3))
            t += r.randrange(1, 3600 if ring == 'gfx' else 12000)
            run = max(t + r.randrange(2, 60), ends[-3] if len(ends) > 2 else 0)
            if ends:
                run = max(run, last + 1)
            last = run
            free = max(run, free) + r.randrange(5, 3000)
            ends.append(free)
            seqno[p] += 1
            ctx, who = base + 10 * p, (('game', 'browser', 'Xorg', 'video')[p], 500 + p)
            if kind == 'scheduler':
                fence = 'fence=%d:%d' % (ctx, seqno[p])
                job = 'dev=0000:03:00.0, %s, ring=%s, job count:0, hw job count:0, client_id:%d' % (fence, ring, p)
                put(t, *who, p, 'drm_sched_job_queue', job)
                put(run, ring, 199, cpus.randrange(4), 'drm_sched_job_run', job)
                put(free, '<idle>', 0, cpus.choice((0, 0, 3)), 'drm_sched_job_done', fence + ' signaled')
                continue
            job = 'sched_job=%d, timeline=%s, context=%d, seqno=%d, ring_name=ffff91cb1ab1bdd0, num_ibs=1' % (
                k, ring, ctx, seqno[p])
            put(t, *who, p, 'amdgpu_cs_ioctl', job)
            put(run, ring, 199, cpus.randrange(4), 'amdgpu_sched_run_job', job)
            put(free, '<idle>', 0, cpus.choice((0, 0, 3)), 'dma_fence_signaled', 'driver=amd_sched timeline=%s context=%d seqno=%d' % (
                ring, ctx, seqno[p]))
    print('# tracer: nop\n#')
    for _, line in sorted(lines, key=lambda x: x[0]):
        print(line)
    return 0


# Damage ----------------------------------------------------------------------------------------

def damage(kind, seed):
    r = random.Random(int(seed))
    lines = [x for x in sys.stdin]
    head = [x for x in lines if x.startswith('#')]
    lines = [x for x in lines if not x.startswith('#')]
    if any(': drm_sched_job_queue: ' in x for x in lines):  # a job's events have one name each
        lines = [x for x in lines if (m := LINE.match(x)) and m[6] in SCHEDULER]
    how = {'front': front, 'fronts': fronts, 'unmarked': lambda r, x: fronts(r, x, False), 'many': many,
           'middle': middle, 'cpu': one_cpu, 'never': never, 'twice': twice,
           'lost': lost, 'reused': lambda r, x: reuse(x), 'order': order, 'clock': clock}
    ends = {'noends': lambda i, x: True, 'lateends': lambda i, x: i < len(lines) * 2 // 3,
            'ringends': lambda i, x: 'timeline=gfx' in x}.get(kind)
    if ends:
        sys.stdout.writelines(head + [x for i, x in enumerate(lines) if not (is_end(x) and ends(i, x))])
        return
    share = {'ends1': .01, 'ends10': .1, 'ends50': .5}.get(kind)
    out = [x for x in lines if not (is_end(x) and r.random() < share)] if share else how[kind](r, lines)
    sys.stdout.writelines(head + out)


def is_end(line):
    m = LINE.match(line)
    return m and KINDS.get(m[6]) == 'end'


def front(r, lines):
    return lines[r.randrange(len(lines) // 10, len(lines) // 2):]


def fronts(r, lines, marked=True):
    """Each CPU's buffer has run over at another place, but for one's"""
    t = [when(LINE.match(x)) for x in lines]
    cpu = [int(LINE.match(x)[3]) for x in lines]
    begin = {c: r.randrange(t[0], t[len(t) // 2]) for c in sorted(set(cpu))}
    begin[r.choice(sorted(begin))] = 0
    out, begun = [], set()
    for at, c, x in zip(t, cpu, lines):
        if at < begin[c]:
            continue
        if marked and c not in begun and begin[c]:
            out.append('##### CPU %d buffer started ####\n' % c)
        begun.add(c)
        out.append(x)
    return out


def many(r, lines):
    """Many CPUs, of which some have little to do: nothing is missing"""
    return [re.sub(r'\[\d+\]', '[%03d]' % min(r.randrange(64), r.randrange(64)), x, count=1) for x in lines]


def middle(r, lines):
    """A stretch is missing, and nothing says so"""
    at = r.randrange(len(lines) // 4, len(lines) // 2)
    return lines[:at] + lines[at + r.randrange(20, len(lines) // 4):]


def one_cpu(r, lines):
    cpus = sorted({m[3] for m in map(LINE.match, lines) if m})
    gone = r.choice(cpus)
    return [x for x in lines if not (m := LINE.match(x)) or m[3] != gone]


def never(r, lines):
    """Ends are missing: of a few jobs that follow one another, of a context from somewhere on, and of the last"""
    ends = [i for i, x in enumerate(lines) if is_end(x)]
    gone = set(ends[len(ends) - r.randrange(1, 6):])
    for _ in range(5):
        at = r.randrange(len(ends))
        gone.update(ends[at:at + r.randrange(1, 5)])
    at = r.randrange(len(ends))
    ctx = fields(LINE.match(lines[ends[at]]))['context']
    gone.update(i for i in ends[at:] if fields(LINE.match(lines[i]))['context'] == ctx)
    return [x for i, x in enumerate(lines) if i not in gone]


def twice(r, lines):
    return [y for x in lines for y in ([x, x] if r.random() < .1 else [x])]


def lost(r, lines):
    for a in sorted(r.sample(range(len(lines)), 12), reverse=True):
        n = r.randrange(1, 40)
        lines[a:a + n] = ['CPU:%d [LOST %d EVENTS]\n' % (int(LINE.match(lines[a])[3]), n)]
    return lines


def at_time(line, t):
    """The line at another time"""
    m = LINE.match(line)
    return '%s%d.%06d%s' % (line[:m.start(4)], t // 10**9, t % 10**9 // 1000, line[m.end(5):])


def order(r, lines):
    """One in ten has changed places with one that is less than a millisecond later, and their times, or not"""
    t = [when(LINE.match(x)) for x in lines]
    moved, keep = set(), r.random() < .5
    for i in range(len(lines)):
        near = [k for k in range(i + 1, min(i + 40, len(lines))) if t[k] - t[i] < SLIP['order'] and k not in moved]
        if not near or i in moved or r.random() > .1:
            continue
        k = r.choice(near)
        moved.update((i, k))
        lines[i], lines[k] = lines[k], lines[i]
        if not keep:
            lines[i], lines[k] = at_time(lines[i], t[i]), at_time(lines[k], t[k])
    return lines


def clock(r, lines):
    """The clock of one CPU is two milliseconds ahead, or behind; whoever wrote the file sorted it, or not"""
    cpus = sorted({m[3] for m in map(LINE.match, lines) if m})
    one, by, by_time = r.choice(cpus), r.choice((-1, 1)) * SLIP['clock'], r.random() < .5
    out = [at_time(x, when(m) + by) if (m := LINE.match(x)) and m[3] == one else x for x in lines]
    return sorted(out, key=lambda x: when(LINE.match(x))) if by_time else out


def reuse(lines):
    """In the middle each context's numbers begin again from 1, and ends of jobs from before are missing"""
    base, out, half = {}, [], len(lines) // 2
    for i, x in enumerate(lines):
        m = LINE.match(x)
        if i < half or not m or m[6] not in KINDS:
            out.append(x)
            continue
        kv = fields(m)
        k = kv['context']
        if KINDS[m[6]] == 'submit':
            base.setdefault(k, int(kv['seqno']) - 1)
        if k not in base or int(kv['seqno']) <= base[k]:
            continue
        out.append(re.sub(r'(seqno=|fence=\d+:)\d+', r'\g<1>%d' % (int(kv['seqno']) - base[k]), x))
    return out


def against(kind, whole, path, mnt):
    """Nothing is made up: times, jobs in flight, and what files say of one another"""
    c, n = Check(), 0
    rings = {r['name']: r for r in table(mnt + '/rings')}
    if kind in SLIP:
        n = slipped(c, Truth(whole), Truth(path), mnt, rings, SLIP[kind])
    elif kind == 'cpu':
        n = less_seen(c, Truth(whole), mnt, rings)
    else:
        n = unchanged(c, Truth(whole), Truth(path), mnt, rings, begun(path) if kind == 'unmarked' else 0)
    in_flight(c, path, mnt, rings)
    bounds(c, path, mnt, rings)
    print('# %d times are known, %d values are wrong' % (n, len(c.bad)))
    for b in c.bad[:10]:
        print('#', b)
    return 1 if c.bad else 0


def known(x, j):
    for st in ('queue', 'hw_wait', 'exec'):
        if x['t_%s_ns' % st] != '-' and j.times[st] is not None:
            yield st, int(x['t_%s_ns' % st]), j.times[st]


def begun(path):
    """When the last CPU's lines begin: before that nothing says which are missing"""
    return max((t for t, n, _ in records(path) if n == BEGIN), default=0)


def unchanged(c, good, cut, mnt, rings, since):
    """By when the job ended: the times of the whole recording"""
    by_end = {(j.ring, j.end, j.pid): j for j in good.order}
    first = {r.name: min([j.end for j in r.jobs], default=0) for r in cut.rings.values()}
    pid_of = {(j.ring, j.end): j.pid for j in cut.order}
    n = 0
    for (ring, ctx, seqno, end), x in report_rows(mnt, rings).items():
        t = int(end.replace('.', ''))
        j = by_end.get((ring, t, pid_of.get((ring, t)))) or by_end.get((ring, t, None))
        if not j or t == first.get(ring) or t <= since:
            continue                    # what ran before a recording begins nobody knows
        for st, got, want in known(x, j):
            n += 1
            c.same('report %s %d:%d %s' % (ring, ctx, seqno, st), got, want)
    return n


def by_key(good, mnt, rings):
    jobs = {(j.ring, j.ctx, j.seqno): j for j in good.order}
    for (ring, ctx, seqno, end), x in report_rows(mnt, rings).items():
        if (ring, ctx, seqno) in jobs:
            yield '%s %d:%d' % (ring, ctx, seqno), x, jobs[(ring, ctx, seqno)]


def slipped(c, good, cut, mnt, rings, slip):
    """Both ends of a stage may be wrong; when the job before it ended is another's time, and may rarely be missed, as
    where hand-overs and ends of two jobs changed places alike"""
    n = far = wrong = 0
    for what, x, j in by_key(good, mnt, rings):
        got = {st: (v, w) for st, v, w in known(x, j)}
        n += len(got)
        wrong += sum(abs(a - b) > 2000 for a, b in got.values())
        if 'queue' in got:
            c.near('report %s queue' % what, *got['queue'], by=2 * slip)
        if 'exec' in got and 'hw_wait' in got:
            c.near('report %s hw_wait and exec' % what, got['hw_wait'][0] + got['exec'][0], got['hw_wait'][1] +
                   got['exec'][1], by=2 * slip)
        if 'exec' in got:
            far += abs(got['exec'][0] - got['exec'][1]) > 2 * slip
    if slip == SLIP['clock'] and cut.differ:    # but for those before the first that shows it; where none does, all
        c.same('times made of two clocks, more than ten', wrong > 10, False)
    c.same('jobs that began at another time, more than one in two hundred', far > len(good.order) / 200, False)
    return n


def less_seen(c, good, mnt, rings):
    """A job that was not seen at all may have run before another: that then seems to have begun earlier"""
    n = 0
    for what, x, j in by_key(good, mnt, rings):
        got = {st: (v, w) for st, v, w in known(x, j)}
        n += len(got)
        if 'queue' in got:
            c.same('report %s queue' % what, *got['queue'])
        if len(got) == 3:
            c.same('report %s hw_wait and exec' % what, got['hw_wait'][0] + got['exec'][0], sum(
                got[st][1] for st in ('hw_wait', 'exec')))
            c.same('report %s begins too late' % what, got['hw_wait'][0] > got['hw_wait'][1], False)
    return n


def in_flight(c, path, mnt, rings):
    """A job in flight is one of the recording that did not end, nor did a later one of its context after it;
    and all files have as many"""
    began, ended, place = {}, {}, {}
    for t, _, m in sorted(records(path), key=lambda x: x[0]):
        if m:
            kv = fields(m)
            key = (int(kv['context']), int(kv['seqno']))
            place.setdefault(key[0], kv['timeline'])
            key = (place[key[0]], *key)
            (ended if KINDS[m[6]] == 'end' else began)[key] = t
    total = 0
    for name, row in rings.items():
        d = '%s/%s/%s' % (mnt, row['gpu'], row['ring'])
        jobs = [(name, int(x['ctx']), int(x['seqno'])) for x in table(d + '/jobs')]
        total += len(jobs)
        if row['depth'] == '-':
            c.same('%s in flight in jobs' % name, len(jobs), 0)
            continue
        for what, v in (('stats', keyed(d + '/stats')['in_flight']), ('depth', keyed(d + '/depth')['now']),
                        ('rings', row['depth'])):
            c.same('%s in flight in %s' % (name, what), v, len(jobs))
        for k in jobs:
            c.same('%s is in the recording' % (k,), k in began, True)
            over = [e for e, t in ended.items() if e[:2] == k[:2] and e[2] >= k[2] and t >= began.get(k, 0) - ORDER]
            c.same('%s has ended' % (k,), over[:1], [])
    pids = [p for p in os.listdir(mnt + '/proc') if p.isdigit()]
    own = sum(int(keyed('%s/proc/%s/stats' % (mnt, p)).get('in_flight', 0)) for p in pids)
    c.same('jobs in flight', keyed(mnt + '/status').get('jobs_in_flight', total), total)
    c.same('more of processes', own > total, False)


def bounds(c, path, mnt, rings):
    """No time is longer than the recording, no share above all of it"""
    t = [x for x, _, _ in records(path)]
    whole, busy = max(t) - min(t), {}
    for name, row in rings.items():
        util = one_row('%s/%s/%s/utilization' % (mnt, row['gpu'], row['ring']))
        c.same(name + ' is unknown in one file', 'total_ns' in util, row['busy_percent'] != '-')
        if row['busy_percent'] == '-':
            busy[row['engine']] = 100
            continue
        c.same(name + ' busy for longer', int(util['total_ns']) > whole, False)
        c.same(name + ' busy over 100', float(row['busy_percent']) > 100, False)
        busy[row['engine']] = busy.get(row['engine'], 0) + float(row['busy_percent'])
    for x in table(mnt + '/perf'):
        c.same('perf over 100', x['utilization_percent'] != '-' and float(x['utilization_percent']) > 100, False)
    for x in table(mnt + '/top'):
        c.same('top over its rings', x['busy_percent'] != '-' and float(x['busy_percent']) > busy[x['engine']] + .02, False)
    for k, x in report_rows(mnt, rings).items():
        for st in ('queue', 'hw_wait', 'exec'):
            v = x['t_%s_ns' % st]
            c.same('report %s %s' % (k, st), v == '-' or 0 <= int(v) <= whole, True)


if __name__ == '__main__':
    sys.exit({'generate': generate, 'compare': compare, 'damage': damage, 'against': against}[sys.argv[1]](*sys.argv[2:]))
