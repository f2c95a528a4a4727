# SPDX-License-Identifier: GPL-2.0
"""What grtrace.sh has read, a folder for each session, against the mock GPU's truth.
grtrace.py cost: what a tracer costs, by the truths cost.*"""
import collections
import statistics
import sys
from grtdecode import read
from gputruth import read as truth_of
from tap import ok

STEPS = {'SUBMIT': ('before_submit', 't_submit'), 'COMMIT': ('before_run', 't_run'),
         'COMPLETE': ('before_done', 't_done')}
NONE = 0xffffffffffffffff


def stats(folder):
    return {k: int(v) for k, v in (line.strip().split('=') for line in open(folder + '/stats'))}


def session(folder):
    """Its events, by job and step; and its truth"""
    files = read(folder)
    ok(not [f.faults for f in files if f.faults], folder + ': records are as grtrace(5) says',
       [f.faults[:3] for f in files])
    ok(not any(sum(f.lost.values()) for f in files), folder + ': nothing is lost')
    rings = {}
    for f in files:
        rings.update(f.rings)
    events = sorted((e for f in files for e in f.events), key=lambda e: e.gseq)
    ok([e.gseq for e in events] == list(range(len(events))), folder + ': every number is there once')
    return events, rings, truth_of(folder + '/truth')


def jobs_of(events, rings):
    jobs = collections.defaultdict(lambda: collections.defaultdict(list))
    for e in events:
        if e.type in STEPS:
            dev, name = rings[e.ring][:2]
            jobs[dev, name, e.ctx, e.seqno][e.type].append(e)
    return jobs


def key(j):
    return j.device, j.ring, j.ctx, j.seqno


def everything():
    events, rings, truth = session('all')
    jobs, s = jobs_of(events, rings), stats('all')
    ok(len(truth) == 10002 and set(jobs) == {key(j) for j in truth}, 'every job, its ring and GPU',
       (len(truth), len(jobs)))
    ok(all({t: len(e) for t, e in got.items()} == dict.fromkeys(STEPS, 1) for got in jobs.values()),
       'each step once')
    ok(s['duplicates'] == 10002 * 5, 'though others reported it again', s)
    bad = [(j, e) for j in truth for t, (e, *_) in jobs[key(j)].items()
           if (e.pid, e.tid, e.uid) != (j.pid, j.tid, j.uid)]
    ok(not bad, "each event has its job's process, thread and user", bad[:2])
    bad = [(t, e, j) for j in truth for t, (e, *_) in jobs[key(j)].items()
           if not getattr(j, STEPS[t][0]) <= e.ts <= getattr(j, STEPS[t][1])]
    ok(not bad, 'times are between those before and behind the tracepoint', bad[:2])
    ok(all(jobs[key(j)]['COMPLETE'][0].value == j.result % (1 << 64) for j in truth), 'results')
    ok(all(e['COMPLETE'][0].ref == e['COMPLETE'][0].ts - e['SUBMIT'][0].ts for e in jobs.values()),
       'how long each took')
    for by in ('device', 'ring'), ('pid',):
        want = collections.Counter(tuple(getattr(j, n) for n in by) for j in truth)
        got = collections.Counter(
            (e.pid,) if by == ('pid',) else rings[e.ring][:2] for e in events if e.type == 'COMPLETE')
        ok(got == want, 'jobs by %s' % ' and '.join(by), (got, want))
    waits = [e for e in events if e.type.startswith('SYNC_WAIT')]
    on = {e.tid: 0 for e in waits}
    deep = [on.__setitem__(e.tid, on[e.tid] + (1 if e.type.endswith('ENTER') else -1)) or on[e.tid]
            for e in waits]
    ok(waits and set(deep) == {0, 1} and not any(on.values()), 'waits begin and end')
    ok({e.tid for e in waits} <= {j.tid for j in truth}, 'and are of who waits')
    ok(s['writes_ok'] == len(events) and s['events_seen'] == len(events), 'the counters agree', s)


def counted():
    """At level stats no event is written, and each is counted"""
    events, _, truth = session('counted')
    s = stats('counted')
    ok(not events and s['writes_ok'] == 0, 'counted: nothing is written', (len(events), s))
    ok(s['events_seen'] == s['filtered_level'] >= 3 * len(truth) > 0, 'counted: each is counted', s)
    ok(s['duplicates'] == 5 * len(truth), 'counted: once', s)


def costs():
    def median(who, step):
        before, behind = STEPS[step]
        return statistics.median(getattr(j, behind) - getattr(j, before) for j in truth_of('cost.' + who))

    cost = {w: sum(median(w, s) - median('none', s) for s in STEPS) / 3
            for w in ('grtrace', 'ftrace', 'bpf', 'bpf_stats')}
    print('# measured ns an event in the guest (emulated): ' + ', '.join(
        '%s %.0f' % (w, c) for w, c in cost.items()))
    print('# measured grtrace costs %.2f of ftrace, %.2f of bpf, %.2f of bpf at level stats' % tuple(
        cost['grtrace'] / max(cost[w], 1) for w in ('ftrace', 'bpf', 'bpf_stats')))
    ok(cost['grtrace'] > 0, 'it costs something', cost)


if sys.argv[1:] == ['cost']:
    costs()
else:
    everything()
    counted()
