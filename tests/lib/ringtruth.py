#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Everything that a tree should say of a recording of amdgpu's own events, computed without gputrace
from the raw text, and compared with a mounted tree, file by file.

    ringtruth.py generate SEED                  an invented recording: processes and contexts on in-order rings
    ringtruth.py compare TRACE.txt MNT          every ring, process and user, blame, and what they add up to
    ringtruth.py damage KIND SEED < TRACE.txt   the recording with something missing or too much:
                                                front, ends1, ends10, ends50, twice, lost, reused
    ringtruth.py against WHOLE.txt TRACE.txt MNT
                                                of the damaged TRACE the tree invents nothing: each time of a
                                                job in `report` is that of the undamaged recording, or unknown

The rules, as tests/lib/jobs.py has them: a job is (timeline, context, seqno), submitted by amdgpu_cs_ioctl,
handed over by amdgpu_sched_run_job, ended by dma_fence_signaled. It ran from the later of its hand-over and
the timeline's previous end. Its end was missed, and it counts no more, as soon as

- a later job of its context has ended,
- it is submitted once more, or another job of its context with a lower number is, ten milliseconds later,
- events were lost (a line "CPU:3 [LOST 7 EVENTS]").

Then when the next one began is not known, nor where a job of another context that was handed over earlier
has not ended. A job that ends after all is matched with its end. An end of a job that was not seen, of a
context with others, is an end on their ring; one that says again within a millisecond what one has said is none.
"""
import os
import random
import re
import sys

LINE = re.compile(r'^\s*(.+)-(\d+)\s+\[(\d+)\]\s+\S+\s+(\d+)\.(\d+): (\w+): (.*)')
LOST = re.compile(r'^CPU:(\d+) \[LOST (\d+) EVENTS\]')
KINDS = {'amdgpu_cs_ioctl': 'submit', 'amdgpu_sched_run_job': 'run', 'dma_fence_signaled': 'end'}
STAGES = ('queue', 'hw_wait', 'exec', 'total')
ORDER = 10**7   # records of one moment may come in another order
AGAIN = 10**6   # a second end is the first one, said again
STRAYS = 4      # so many ends behind that of a job handed over later, and a ring has no order


class Job:
    def __init__(self, ring, ctx, seqno, t):
        self.ring, self.ctx, self.seqno, self.seen = ring, ctx, seqno, t
        self.submit = self.run = self.pid = None
        self.unknown = False            # when it began
        self.why = None                 # of one that ended unseen


class Ring:
    def __init__(self, name, t):
        self.name, self.t0, self.at = name, t, t
        self.area = self.peak = 0
        self.submitted = self.committed = self.completed = self.unmatched = 0
        self.ended = {}                 # when, by key
        self.live, self.gone = {}, {}   # jobs in flight, and those that ended unseen, by key
        self.dropped = []               # those of the latter whose key another job has now
        self.hw, self.passed = [], {}   # jobs at the hardware by hand-over; those that were passed, when
        self.strays, self.ordered = 0, True
        self.last = 0
        self.after_loss = False
        self.busy, self.jobs = [], []

    def to(self, t):
        if t > self.at:
            self.area += len(self.live) * (t - self.at)
            self.at = t
        self.peak = max(self.peak, len(self.live))


class Truth:
    def __init__(self, path):
        self.rings, self.first, self.last = {}, None, 0
        self.comm, self.lost, self.order = {}, 0, []
        self.place = {}                 # the ring of a context; None: several
        waiting = t = 0
        for line in open(path, errors='replace'):
            m = LOST.match(line)
            if m:
                if waiting:
                    self.lose(t, waiting)
                waiting = int(m[2])
                continue
            m = LINE.match(line)
            if not m:
                continue
            t = int(m[4]) * 10**9 + int(m[5].ljust(9, '0'))
            if waiting:
                self.lose(t, waiting)
                waiting = 0
            if m[6] in KINDS:
                self.event(t, KINDS[m[6]], m[1].strip(), int(m[2]), dict(re.findall(r'(\w+)=([^,\s]+)', m[7])))
        if waiting:
            self.lose(t, waiting)
        for r in self.rings.values():
            r.to(self.last)

    def lose(self, t, n):
        self.lost += n
        self.first = t if self.first is None else self.first
        self.last = max(self.last, t)
        for r in self.rings.values():
            for j in list(r.live.values()):
                self.miss(r, j, t, 'lost')
            r.hw, r.passed, r.after_loss = [], {}, True

    def miss(self, r, j, t, why):
        r.to(t)
        del r.live[(j.ctx, j.seqno)]
        r.gone[(j.ctx, j.seqno)] = j
        j.why = why
        if j in r.hw:
            r.hw.remove(j)
        r.passed.pop(j, None)

    def event(self, t, kind, comm, tid, kv):
        name, key = kv['timeline'], (int(kv['context']), int(kv['seqno']))
        r = self.rings.get(name)
        if kind == 'end' and not (r and (key in r.live or key in r.gone)):
            self.stranger(t, key)
            return
        if kind != 'end':
            self.place[key[0]] = name if self.place.get(key[0], name) == name else None
        if not r:
            r = self.rings[name] = Ring(name, t)
            r.after_loss = self.lost > 0
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
        if not j and kind != 'end':
            r.to(t)
            j = r.live[key] = Job(name, *key, t)
        r.to(t)
        getattr(self, kind)(r, j, key, t, comm, tid)
        r.to(t)

    def submit(self, r, j, key, t, comm, tid):
        if j.submit is not None:
            return
        j.submit, j.pid = t, tid
        self.comm[tid] = comm
        r.submitted += 1

    def run(self, r, j, key, t, comm, tid):
        if j.run is not None:
            return
        j.run = t
        r.committed += 1
        r.hw.append(j)

    def alone(self, r, j, t):
        """False: when it began is not known, as others were at the hardware before it"""
        if j in r.passed:
            r.strays += 1
            r.ordered = r.ordered and r.strays < STRAYS and t <= r.passed.pop(j) + ORDER
            return False
        if j not in r.hw:
            return True
        at = r.hw.index(j)
        if not r.ordered:
            r.hw.remove(j)
            return True
        for o in r.hw[:at]:
            r.passed[o] = t
        del r.hw[:at + 1]
        return at == 0

    def end(self, r, j, key, t, comm, tid):
        alone = self.alone(r, j, t)
        early = lambda o: o.seqno < key[1] or (
            o.seqno > key[1] and j.submit is not None and j.submit > o.seen + ORDER)
        missed = []
        for o in [o for o in r.live.values() if o.ctx == key[0] and o is not j]:
            if not early(o):            # nobody behind it is looked for
                break
            missed.append(o)
        for o in missed:
            self.miss(r, o, t, 'superseded')
        r.completed += 1
        del r.live[key]
        j.end, j.start = t, max(j.run, r.last) if j.run is not None else None
        hand = max(j.run, j.submit or 0) if j.run is not None else None
        if hand is not None:
            j.start = min(max(hand, r.last), t)
            r.busy.append((j.start, t))
        j.unknown |= not alone or bool(missed) or r.after_loss
        r.after_loss = False
        known = hand is not None and not j.unknown
        j.times = {'queue': hand - j.submit if hand is not None and j.submit is not None else None,
                   'hw_wait': j.start - hand if known else None,
                   'exec': t - j.start if known else None,
                   'total': t - j.submit if j.submit is not None else None}
        r.last = max(r.last, t)
        r.ended[key] = t
        r.jobs.append(j)
        self.order.append(j)

    def stranger(self, t, key):
        """The end of a job that was not seen; of no job at all if none of its context was"""
        r = self.rings.get(self.place.get(key[0]))
        if not r or t <= r.ended.get(key, -AGAIN) + AGAIN:
            return
        self.last = max(self.last, t)
        r.ended[key] = t
        for o in [o for o in r.live.values() if o.ctx == key[0]]:
            if o.seqno >= key[1]:
                break
            self.miss(r, o, t, 'superseded')
        r.completed += 1
        r.unmatched += 1
        r.after_loss = False
        r.last = max(r.last, t)

    def unseen(self, r):
        return list(r.gone.values()) + r.dropped


def covered(spans, begin=0, end=1 << 62):
    total = at = 0
    for a, b in sorted(spans):
        a, b = max(a, at, begin), min(b, end)
        total += max(0, b - a)
        at = max(at, b)
    return total


# What the tree says ---------------------------------------------------------------------------

def keyed(path):
    return dict(line.split(None, 1) for line in open(path) if ' ' in line)


def table(path):
    rows, names = [], None
    for line in open(path):
        f = line.split()
        if names is None:
            names = f[1:] if f[0] == '#' else f
        elif f[0] != '#':
            rows.append(dict(zip(names, f)))
    return rows


def stages_of(path, label=''):
    got = {}
    for line in open(path):
        f = line.split()
        if label and f[0] != label:
            continue
        f = f[1:] if label else f
        if '=' in f[1]:
            got[f[0]] = {k: int(v) for k, v in (x.split('=') for x in f[1:])}
    return got


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

    def stages(self, what, got, jobs):
        for st in STAGES:
            v = [j.times[st] for j in jobs if j.times[st] is not None]
            g = got.get(st, {})
            self.same('%s %s count' % (what, st), g.get('count', 0), len(v))
            if v and g.get('count'):
                self.same('%s %s avg' % (what, st), g['avg_ns'], sum(v) // len(v))
                self.same('%s %s min' % (what, st), g['min_ns'], min(v))
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
    c.same('status jobs_in_flight', stats['jobs_in_flight'], sum(len(r.live) for r in truth.rings.values()))
    c.same('status jobs_ended_unseen', stats['jobs_ended_unseen'],
           sum(len(truth.unseen(r)) for r in truth.rings.values()))
    return finish(c, truth)


def finish(c, truth):
    print('# %s' % {n: '%d jobs, %d in flight, %d unseen' % (
        len(r.jobs), len(r.live), len(truth.unseen(r))) for n, r in truth.rings.items()})
    print('# %d values compared, %d differ' % (c.n, len(c.bad)))
    for b in c.bad[:30]:
        print('#', b)
    return 1 if c.bad or not truth.order else 0


def one_ring(c, truth, mnt, row, r):
    d = '%s/%s/%s' % (mnt, row['gpu'], row['ring'])
    stats, depth = keyed(d + '/stats'), keyed(d + '/depth')
    # a job that runs is busy, too
    busy = r.busy + ([(max(r.hw[0].run, r.last), truth.last)] if r.hw else [])
    want = {'submitted': r.submitted, 'completed': r.completed, 'in_flight': len(r.live),
            'unmatched': r.unmatched, 'ended_unseen': len(truth.unseen(r)), 'busy_ns': covered(r.busy)}
    for k, v in want.items():
        c.same('%s stats %s' % (r.name, k), stats[k], v)
    c.same(r.name + ' committed', stats.get('committed', 0), r.committed)
    c.same(r.name + ' depth now', depth['now'], len(r.live))
    c.same(r.name + ' depth peak', depth['peak'], r.peak)
    now = truth.last
    if now > r.t0:
        c.near(r.name + ' depth avg', depth['avg'], r.area / (now - r.t0))
    c.stages(r.name, stages_of(d + '/latency'), r.jobs)
    c.same(r.name + ' rings depth', row['depth'], len(r.live))
    for k in ('submitted', 'completed'):
        c.same('%s rings %s' % (r.name, k), row[k], getattr(r, k))
    whole = now - truth.first
    if whole:
        c.near(r.name + ' rings busy_percent', row['busy_percent'], 100 * covered(busy) / whole)
        util = dict(f.split('=') for f in keyed(d + '/utilization')['busy'].split())
        c.same(r.name + ' utilization total', util['total_ns'], covered(r.busy))
        if whole < 10 * 10**9:
            c.near(r.name + ' utilization avg10', util['avg10'], 100 * covered(busy) / whole)
            c.near(r.name + ' utilization avg60', util['avg60'], 100 * covered(busy) / whole)
    jobs = {(int(x['ctx']), int(x['seqno'])): x for x in table(d + '/jobs')}
    c.same(r.name + ' jobs', sorted(jobs), sorted(r.live))
    running = [k for k, x in jobs.items() if x['state'] == 'running']
    c.same(r.name + ' running', running, [(r.hw[0].ctx, r.hw[0].seqno)] if r.hw else [])


def processes(c, truth, mnt, rings):
    for pid in sorted(truth.comm):
        d = '%s/proc/%d' % (mnt, pid)
        stats = keyed(d + '/stats')
        jobs = [j for j in truth.order if j.pid == pid]
        live = [j for r in truth.rings.values() for j in r.live.values() if j.pid == pid]
        gone = [j for r in truth.rings.values() for j in truth.unseen(r) if j.pid == pid]
        c.same('%d in_flight' % pid, stats['in_flight'], len(live))
        c.same('%d ended_unseen' % pid, stats['ended_unseen'], len(gone))
        c.same('%d submitted' % pid, stats['submitted'], len([j for j in jobs + live + gone if j.submit is not None]))
        c.same('%d completed' % pid, stats['completed'], len(jobs))
        for name, row in rings.items():
            own = [j for j in jobs if j.ring == name]
            c.stages('%d %s' % (pid, name), stages_of(d + '/latency', '%s/%s' % (row['gpu'], row['ring'])), own)
    busy = {}
    for j in truth.order:
        if j.pid is not None and j.times['exec'] is not None:
            busy.setdefault((j.pid, rings[j.ring]['engine']), []).append((j.start, j.end))
    top = {(int(x['pid']), x['engine']): x for x in table(mnt + '/top')}
    whole, used = truth.last - truth.first, {}
    for (_, e), spans in busy.items():
        used[e] = used.get(e, 0) + covered(spans)
    if not whole:
        return
    c.same('top', sorted(top), sorted(k for k, v in busy.items() if covered(v)))
    for k, spans in busy.items():
        if k not in top:
            continue
        c.near('top %s busy' % (k,), top[k]['busy_percent'], 100 * covered(spans) / whole)
        if used[k[1]]:
            c.near('top %s share' % (k,), top[k]['share_percent'], 100 * covered(spans) / used[k[1]])
        c.same('top %s jobs' % (k,), top[k]['jobs'], len([
            j for j in truth.order if j.pid == k[0] and rings[j.ring]['engine'] == k[1] and j.submit is not None]))
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
    names = {r['ring']: n for n, r in rings.items()}
    return {(names[x['ring']], int(x['ctx']), int(x['seqno']), x['end']): x for x in table(mnt + '/report')}


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
    names = {r['ring']: n for n, r in rings.items()}
    got, pairs = {}, {}
    for x in table(mnt + '/blame'):
        k = (names[x['ring']], x['waiter_pid'])
        got[k] = got.get(k, 0) + int(x['wait_ns'])
        if x['held_by'] in ('self', 'process'):
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
                a, b = j.start - t['hw_wait'] - (t['queue'] or 0), j.start
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


def generate(seed):
    """Two timelines and four processes, each with a context on each; every ring runs one job after another,
    in the order of hand-over, of which it takes three at once"""
    r, lines = random.Random(int(seed)), []

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
            ctx = base + 10 * p
            job = 'sched_job=%d, timeline=%s, context=%d, seqno=%d, ring_name=ffff91cb1ab1bdd0, num_ibs=1' % (
                k, ring, ctx, seqno[p])
            put(t, ('game', 'browser', 'Xorg', 'video')[p], 500 + p, p, 'amdgpu_cs_ioctl', job)
            put(run, ring, 199, p, 'amdgpu_sched_run_job', job)
            put(free, '<idle>', 0, p, 'dma_fence_signaled', 'driver=amd_sched timeline=%s context=%d seqno=%d' % (
                ring, ctx, seqno[p]))
    print('# tracer: nop\n#')
    for _, line in sorted(lines, key=lambda x: x[0]):
        print(line)
    return 0


# Damage ----------------------------------------------------------------------------------------

def damage(kind, seed):
    r = random.Random(int(seed))
    lines = [x for x in sys.stdin]
    head, out = [x for x in lines if x.startswith('#')], []
    lines = [x for x in lines if not x.startswith('#')]
    share = {'ends1': .01, 'ends10': .1, 'ends50': .5}.get(kind, 0)
    if kind == 'front':
        lines = lines[r.randrange(len(lines) // 10, len(lines) // 2):]
    if kind == 'lost':
        at = sorted(r.sample(range(len(lines)), 12))
        for a in reversed(at):
            n = r.randrange(1, 40)
            cpu = int(LINE.match(lines[a])[3])
            lines[a:a + n] = ['CPU:%d [LOST %d EVENTS]\n' % (cpu, n)]
    for x in lines:
        m = LINE.match(x)
        if share and m and m[6] == 'dma_fence_signaled' and r.random() < share:
            continue
        out.append(x)
        if kind == 'twice' and r.random() < .1:
            out.append(x)
    if kind == 'reused':
        out = reuse(out)
    sys.stdout.writelines(head + out)


def reuse(lines):
    """In the middle each context's numbers begin again from 1, and ends of jobs from before are missing"""
    base, out, half = {}, [], len(lines) // 2
    for i, x in enumerate(lines):
        m = LINE.match(x)
        if i < half or not m or m[6] not in KINDS:
            out.append(x)
            continue
        kv = dict(re.findall(r'(\w+)=([^,\s]+)', m[7]))
        k = kv['context']
        if m[6] == 'amdgpu_cs_ioctl':
            base.setdefault(k, int(kv['seqno']) - 1)
        if k not in base or int(kv['seqno']) <= base[k]:
            continue
        out.append(re.sub(r'seqno=\d+', 'seqno=%d' % (int(kv['seqno']) - base[k]), x))
    return out


def against(whole, path, mnt):
    """Times of the damaged recording, by when the job ended: those of the whole one, or unknown"""
    good, c, n = Truth(whole), Check(), 0
    rings = {r['name']: r for r in table(mnt + '/rings')}
    by_end = {(j.ring, j.end, j.pid): j for j in good.order}
    cut = Truth(path)
    first = {r.name: min([j.end for j in r.jobs], default=0) for r in cut.rings.values()}
    pid_of = {(j.ring, j.end): j.pid for j in cut.order}
    for (ring, ctx, seqno, end), x in report_rows(mnt, rings).items():
        t = int(end.replace('.', ''))
        j = by_end.get((ring, t, pid_of.get((ring, t)))) or by_end.get((ring, t, None))
        if not j or t == first.get(ring):
            continue                    # what ran before a recording begins nobody knows
        for st in ('queue', 'hw_wait', 'exec'):
            if x['t_%s_ns' % st] != '-' and j.times[st] is not None:
                n += 1
                c.same('report %s %d:%d %s' % (ring, ctx, seqno, st), x['t_%s_ns' % st], j.times[st])
    print('# %d times are known, %d invented' % (n, len(c.bad)))
    for b in c.bad[:10]:
        print('#', b)
    return 1 if c.bad else 0


if __name__ == '__main__':
    sys.exit({'generate': generate, 'compare': compare, 'damage': damage, 'against': against}[sys.argv[1]](*sys.argv[2:]))
