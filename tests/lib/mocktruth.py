#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""mocktruth.py TRUTH.csv STREAM: is what the mock says it did (tests/tools/mockjobs.c) what a saved
stream of records has, event for event? Calls of one ring and type follow one another, so the k-th
record of a ring and type is its k-th call, and its time lies within the call. A few records may come late, by
a CPU that stood still between an event's time and its place in a buffer: these tell their own time apart."""
import collections
import csv
import struct
import sys

CALLS = {'queue': 0, 'run': 3, 'done': 1}
NAMES = {0: 'SUBMIT', 3: 'COMMIT', 1: 'COMPLETE'}
RING_NAME, LOST, NONE32, LATE = 66, 70, 0xffffffff, 1


def read_stream(path):
    rings, events, last, bad, late = {}, collections.defaultdict(list), 0, [], 0
    data = open(path, 'rb').read()
    for at in range(0, len(data) - 63, 64):
        ts, kind, flags, cpu, gpu, ring = struct.unpack_from('<QBBHHH', data, at)
        if kind == RING_NAME:
            rings[gpu, ring] = data[at + 24:at + 64].split(b'\0')[0].decode()
        elif kind == LOST:
            bad.append('events were lost')
        elif kind in NAMES:
            pid, tid = struct.unpack_from('<II', data, at + 32)
            own = struct.unpack_from('<Q', data, at + 56)[0] if flags & LATE else ts
            late += flags & LATE
            events[kind, rings.get((gpu, ring))].append((own, flags & ~LATE, pid, tid))
        if ts < last:
            bad.append('time goes back at record %d' % (at // 64))
        last = ts
    for e in events.values():
        e.sort()
    if late * 640 > len(data):
        bad.append('more than a tenth came late: %d' % late)
    return events, bad


def main(truth, stream):
    events, bad = read_stream(stream)
    calls = collections.defaultdict(list)
    for row in csv.DictReader(open(truth)):
        calls[CALLS[row['call']], row['ring']].append(row)
    for (kind, ring), rows in calls.items():
        got = events.pop((kind, ring), [])
        what = '%s of %s' % (NAMES[kind], ring)
        if len(got) != len(rows):
            bad.append('%s: %d records, %d calls' % (what, len(got), len(rows)))
        for k, ((ts, flags, pid, tid), row) in enumerate(zip(got, rows)):
            if flags or not int(row['before']) <= ts <= int(row['after']):
                bad.append('%s: record %d (flags %d) is not at its call' % (what, k, flags))
            elif kind == 0 and tid != int(row['tid']):
                bad.append('%s: record %d is of another thread' % (what, k))
            elif kind == 0 and pid not in (int(row['pid']), NONE32):
                bad.append('%s: record %d is of process %d' % (what, k, pid))
    bad += ['%s of %s: not in the truth' % (NAMES[k], r) for k, r in events]
    for line in bad[:20]:
        print(line)
    return 1 if bad or not calls else 0


sys.exit(main(*sys.argv[1:]))
