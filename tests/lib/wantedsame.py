#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""wantedsame.py A B TRUTH.csv:UID... [-- WANTED [TYPES]] - or wantedsame.py A

Two daemons at A and B saw the same jobs under the same settings, A.stream and B.stream are what their
`events` gave: do both tell the same, in records and in every counter, and do the counters add up? WANTED is
a Python expression of a job (pid uid name ctx seqno): those that ought to be in records; TYPES: of which
types of events there ought to be records. Of A alone: do its counters add up, and is each job whole?"""
import csv
import glob
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
import tables  # noqa: E402
from records import PARTS, keyed, records, seen_is_the_sum  # noqa: E402

CALLS = {'queue': 0, 'run': 3, 'done': 1}
WAIT = 7
bad = []


def columns(path, names):
    lines = open(path).read().splitlines()
    head = lines[0].split()
    at = [head.index(n) for n in names]
    return sorted(tuple(line.split()[i] for i in at) for line in lines[1:])


def ring_names(mnt):
    return {int(d.rsplit('ring', 1)[1]): open(d + '/name').read().strip()
            for d in glob.glob(mnt + '/mock0/ring[0-9]*')}


def stream_of(mnt):
    names, seen = ring_names(mnt), {}
    for _, kind, _, _, _, ring, ctx, seqno, pid, _, uid, *_ in records(mnt + '.stream'):
        if kind not in CALLS.values() and kind != WAIT:
            continue
        key = (names.get(ring), ctx, seqno, kind)
        if key in seen:
            bad.append('%s: twice in the stream: %s' % (mnt, key))
        seen[key] = (pid, uid) if kind == 0 else ()
    return seen


def processes(mnt):
    out = {}
    for d in glob.glob(mnt + '/proc/[0-9]*'):
        s = keyed(d + '/stats')
        out[os.path.basename(d)] = {k: s.get(k) for k in ('submitted', 'committed', 'completed', 'in_flight')}
    return out


def latencies(mnt):
    """how many jobs had which stage; times differ, as each has its own look at the clock"""
    out = {}
    for path in glob.glob(mnt + '/mock0/ring[0-9]*/latency'):
        for stage, numbers in tables.stages(path).items():
            out[os.path.dirname(path)[-5:], stage] = numbers['count']
    return out


def compare_latencies(a, b):
    """where a ring's lock was not to be had, exec and hw_wait of a job and of the next are not known"""
    first, second = latencies(a), latencies(b)
    later = keyed(a + '/backends/bpf/stats').get('count_later', 0) - int(os.environ.get('LATER', 0))
    for key in first.keys() | second.keys():
        less = second.get(key, 0) - first.get(key, 0)
        if less and not (key[1] in ('exec', 'hw_wait') and 0 < less <= 2 * later):
            bad.append('%s: %s and %s' % (key, first.get(key), second.get(key)))


def everything(mnt):
    status = keyed(mnt + '/status')
    if not seen_is_the_sum(status):
        bad.append('%s: seen is not the sum: %s' % (mnt, status))
    return {
        'status': {k: v for k, v in status.items() if k.startswith('events_')},
        'filter_stats': open(mnt + '/filter_stats').read(),
        'sampling_stats': open(mnt + '/sampling_stats').read(),
        'events_by_type': columns(mnt + '/events_by_type', ('type', 'seen', 'recorded')),
        'rings': columns(mnt + '/rings', ('gpu', 'ring', 'name', 'engine', 'depth', 'submitted', 'completed', 'errors', 'lost')),
        'processes': processes(mnt),
    }


def jobs_of(truths):
    for arg in truths:
        path, uid = arg.rsplit(':', 1)
        jobs = {}
        for row in csv.DictReader(open(path)):
            key = row['ring'], int(row['ctx']) | 1 << 62, int(row['seqno'])
            jobs.setdefault(key, {'uid': int(uid), 'name': key[0], 'ctx': key[1], 'seqno': key[2]})
            if row['call'] == 'queue':
                jobs[key]['pid'] = int(row['pid'])
        yield from jobs.values()


def check_whole(stream):
    lives = {}
    for name, ctx, seqno, kind in stream:
        if kind != WAIT:
            lives.setdefault((name, ctx, seqno), set()).add(kind)
    if any(len(v) != 3 for v in lives.values()):
        bad.append('a job is in records in part')
    return len(lives)


def whole(mnt):
    """of one daemon alone"""
    stream, status = stream_of(mnt), everything(mnt)['status']
    print('# %d jobs of %s in records, %d records' % (check_whole(stream), mnt, len(stream)))
    if status['events_recorded'] != len(stream):
        bad.append('%d recorded, %d in the stream' % (status['events_recorded'], len(stream)))


def both(a, b, *args):
    cut = args.index('--') if '--' in args else len(args)
    wanted = args[cut + 1:]
    first, second = stream_of(a), stream_of(b)
    for one, other, name in ((first, second, b), (second, first, a)):
        for key in list(one.keys() - other.keys())[:3]:
            bad.append('not in the stream of %s: %s' % (name, key))
    for key in [k for k in first.keys() & second.keys() if first[k] != second[k]][:3]:
        bad.append('%s: %s and %s' % (key, first[key], second[key]))
    here, there = everything(a), everything(b)
    for what in here:
        if here[what] != there[what]:
            bad.append('%s: %s\n and %s' % (what, here[what], there[what]))
    compare_latencies(a, b)
    if here['status']['events_recorded'] != len(first):
        bad.append('%d recorded, %d in the stream' % (here['status']['events_recorded'], len(first)))
    if wanted:
        types = eval(wanted[1]) if len(wanted) > 1 else set(CALLS.values())
        expected = {(j['name'], j['ctx'], j['seqno'], t) for j in jobs_of(args[:cut])
                    if eval(wanted[0], {}, j) for t in types}
        if expected != first.keys():
            bad.append('%d records ought to be there, of those %d are, and %d others'
                       % (len(expected), len(expected & first.keys()), len(first.keys() - expected)))
    else:
        check_whole(first)
    print('# %d records, %s' % (len(first), ' '.join('%s %d' % (p, here['status']['events_' + p]) for p in PARTS)))


def main(*args):
    if len(args) == 1:
        whole(*args)
    else:
        both(*args)
    for line in bad[:12]:
        print('\n'.join('# ' + part for part in line.split('\n')))
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
