#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""blametruth.py TRUTH.csv BLAME - for whom sim's jobs waited, ns by ns, against a saved `blame` of
all GPUs, whose last lines say from when on it is."""
import bisect
import csv
import re
import sys


class Held:
    """What one process had held of a ring, at any time."""

    def __init__(self):
        self.starts, self.before, self.ends, self.sum = [], [], [], 0

    def add(self, start, end):
        self.starts.append(start)
        self.ends.append(end)
        self.before.append(self.sum)
        self.sum += end - start

    def upto(self, t):
        i = bisect.bisect_right(self.starts, t) - 1
        return 0 if i < 0 else self.before[i] + min(t, self.ends[i]) - self.starts[i]


def truth_of(path, since):
    """{(pid, gpu, ring): {holder pid or 'idle': [ns, jobs]}}"""
    rings, want = {}, {}
    for r in csv.DictReader(open(path)):
        if r.get('ctx') and r.get('complete'):
            start = int(r['submit']) + int(r['queue'] or 0) + int(r['hw_wait'])
            rings.setdefault((r['gpu'], r['ring']), []).append((start, start + int(r['exec']), int(r['submit']), r['pid']))
    for (gpu, ring), jobs in rings.items():
        held, last = {}, 0
        for start, end, _, pid in sorted(jobs):
            assert start >= last, 'jobs of a ring run one by one'
            last = end
            held.setdefault(pid, Held()).add(start, end)
        for start, _, submit, pid in jobs:
            submit = max(submit, since)
            left = start - submit
            if left <= 0:
                continue
            to = want.setdefault((pid, gpu, ring), {})
            for who, h in held.items():
                ns = h.upto(start) - h.upto(submit)
                left -= ns
                if ns:
                    row = to.setdefault(who, [0, 0])
                    row[0] += ns
                    row[1] += 1
            if left:
                row = to.setdefault('idle', [0, 0])
                row[0] += left
                row[1] += 1
    return want


def shown(path):
    got, names, since = {}, None, None
    for line in open(path):
        f = line.split()
        if names is None:
            names = f[1:]
        elif f[0] == '#':
            m = re.match(r'# from (\d+)\.(\d{9}) to .* 0 in flight$', line)
            since = int(m[1]) * 10**9 + int(m[2]) if m else since
        else:
            r = dict(zip(names, f))
            who = r['holder_pid'] if r['held_by'] in ('self', 'process') else r['held_by']
            got.setdefault((r['waiter_pid'], r['gpu'][3:], r['ring'][4:]), {})[who] = [int(r['wait_ns']), int(r['jobs'])]
    return got, since


def main(truth, blame):
    got, since = shown(blame)
    want = truth_of(truth, since)
    bad = ['%s: %s, truth %s' % (k, got.get(k), want.get(k)) for k in want.keys() | got.keys() if want.get(k) != got.get(k)]
    print('# %d waiters, %d rows' % (len(want), sum(len(r) for r in want.values())))
    for b in sorted(bad)[:5]:
        print('#', b)
    return 1 if bad or not want else 0


sys.exit(main(*sys.argv[1:]))
