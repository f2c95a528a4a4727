#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""gatetruth.py TRUTH.csv MNT STREAM WANTED [KEY COUNT]... - what the gate let through against the truth.

WANTED is a Python expression of a job: pid uid gpu ring name engine ctx seqno total; `types` is which of its
events there should be, else all. KEY: of filter_stats, which must have refused what is not wanted."""
import csv
import fnmatch
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
import tables  # noqa: E402
from jobs import check  # noqa: E402
from records import keyed, own_time, records, seen_is_the_sum  # noqa: E402

TIMES = {0: 'submit', 3: 'commit', 4: 'start', 5: 'end', 1: 'complete'}


def jobs_of(truth, mnt):
    engines = {}
    for r in csv.DictReader(open(truth)):
        if not r.get('ctx') or not r.get('complete') or r['gpu'].startswith('#'):
            continue
        where = '%s/sim%s/ring%s' % (mnt, r['gpu'], r['ring'])
        if where not in engines:
            engines[where] = open(where + '/engine').read().strip()
        j = {k: int(r[k], 0) for k in ('gpu', 'ring', 'ctx', 'seqno', 'pid', 'uid', 'total')}
        j.update(name=r['ring_name'], engine=engines[where],
                 times={t: int(r[c]) for t, c in TIMES.items() if r[c] != ''})
        yield j


def statistics(jobs, mnt):
    rings, bad = {}, []
    for j in jobs:
        rings.setdefault((j['gpu'], j['ring']), []).append(j['total'])
    for (gpu, ring), values in rings.items():
        got = tables.stages('%s/sim%s/ring%s/latency' % (mnt, gpu, ring))
        bad += check('sim%s/ring%s' % (gpu, ring), 'total', values, got.get('total', {}))
    return bad


def stream_of(path):
    """events by key: own time, and what is wrong with their order"""
    seen, bad, last = {}, [], 0
    for i, (ts, kind, flags, _, gpu, ring, ctx, seqno, *_, ref) in enumerate(records(path)):
        if ts < last:
            bad.append('time goes back at record %d' % i)
        last = ts
        if kind not in TIMES:
            continue
        key = (gpu, ring, ctx, seqno, kind)
        if key in seen:
            bad.append('twice in the stream: %s' % (key,))
        seen[key] = own_time(ts, flags, ref)
    return seen, bad


def main(truth, mnt, stream, wanted, *keys):
    jobs = list(jobs_of(truth, mnt))
    seen, bad = stream_of(stream)
    bad += statistics(jobs, mnt)
    expected, rest, names = {}, 0, {'glob': fnmatch.fnmatchcase}
    types = eval(os.environ.get('TYPES', 'None'))
    for j in jobs:
        yes = eval(wanted, names, j)
        for kind, ts in j['times'].items():
            if yes and (types is None or kind in types):
                expected[(j['gpu'], j['ring'], j['ctx'], j['seqno'], kind)] = ts
            else:
                rest += 1
    for key in list(expected.keys() - seen.keys())[:5]:
        bad.append('not in the stream: %s' % (key,))
    for key in list(seen.keys() - expected.keys())[:5]:
        bad.append('should not be in the stream: %s' % (key,))
    for key in [k for k in expected.keys() & seen.keys() if expected[k] != seen[k]][:5]:
        bad.append('%s: %d, truth %d' % (key, seen[key], expected[key]))
    if not expected or not rest:
        bad.append('a test of nothing: %d wanted, %d not' % (len(expected), rest))
    s, f = keyed(mnt + '/status'), keyed(mnt + '/filter_stats')
    if not seen_is_the_sum(s):
        bad.append('seen is not the sum: %s' % s)
    if keys and sum(f[k] for k in keys) < rest:
        bad.append('%s refused %d, which should be %d' % (keys, sum(f[k] for k in keys), rest))
    print('# %d jobs, %d records wanted, %d not' % (len(jobs), len(expected), rest))
    for b in bad[:20]:
        print('#', b)
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
