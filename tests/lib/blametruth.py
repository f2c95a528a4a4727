#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""blametruth.py TRUTH.csv BLAME REPORT - for whom sim's jobs waited, ns by ns, against a saved `blame`
of all GPUs, whose last lines say from when on it is, and against the columns of a saved `report`."""
import bisect
import csv
import sys

import tables


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


def ns(seconds):
    return int(seconds.replace('.', ''))


def wrong_rows(path, truth):
    """Rows of a report whose times or holder are not the truth's, and how many were looked at."""
    jobs, rings, bad, looked, first = {}, {}, [], 0, None
    for r in csv.DictReader(open(truth)):
        if r.get('ctx') and r.get('complete'):
            start = int(r['submit']) + int(r['queue'] or 0) + int(r['hw_wait'])
            jobs[r['gpu'], r['ring'], int(r['ctx'], 0), r['seqno']] = (start, r)
            rings.setdefault((r['gpu'], r['ring']), {}).setdefault(r['pid'], []).append((start, start + int(r['exec'])))
    held = {}
    for ring, pids in rings.items():
        for pid, runs in pids.items():
            for start, end in sorted(runs):
                held.setdefault(ring, {}).setdefault(pid, Held()).add(start, end)
    for row in tables.rows(path):
        key = (row['gpu'][3:], row['ring'][4:], int(row['ctx'], 0), row['seqno'])
        start, r = jobs[key]
        submit = int(r['submit'])
        first = first or ns(row['end_s'])
        if submit < first:  # what came before is not in the history
            continue
        looked += 1
        want = {pid: h.upto(start) - h.upto(submit) for pid, h in held[key[:2]].items()}
        most = max(want.values())
        good = want.get(row['blocked_by_pid']) == most if most else row['blocked_by_pid'] == row['blocked_by_comm'] == '-'
        if not good or (ns(row['submit_s']), ns(row['start_s']), row['total_ns']) != (submit, start, r['total']):
            bad.append('%s: %s, truth %s' % (key, row, want))
    return bad, looked


def shown(path):
    got, stats = {}, dict(line.split() for line in open(path + '_stats'))
    for r in tables.rows(path):
        who = r['holder_pid'] if r['blocked_by'] in ('self', 'process') else r['blocked_by']
        got.setdefault((r['waiter_pid'], r['gpu'][3:], r['ring'][4:]), {})[who] = [int(r['wait_ns']), int(r['jobs'])]
    return got, ns(stats['from_s']) if stats['jobs_in_flight'] == '0' else None


def main(truth, blame, report):
    got, since = shown(blame)
    want = truth_of(truth, since)
    bad = ['%s: %s, truth %s' % (k, got.get(k), want.get(k)) for k in want.keys() | got.keys() if want.get(k) != got.get(k)]
    print('# %d waiters, %d rows' % (len(want), sum(len(r) for r in want.values())))
    rows, looked = wrong_rows(report, truth)
    print('# %d rows of report' % looked)
    bad += rows + ([] if looked else ['no rows of report'])
    for b in sorted(bad)[:5]:
        print('#', b)
    return 1 if bad or not want else 0


sys.exit(main(*sys.argv[1:]))
