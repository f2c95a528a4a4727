# SPDX-License-Identifier: GPL-2.0
"""windows.py watch TREE WINDOWS OUT: what aggregate and perf said of sim0's rings, a line a window.
windows.py check TRUTH OUT LENGTH_MS: does sim's ground truth say the same of each of these spans?"""
import collections
import csv
import sys
import time

from tap import ok


def table(path):
    rows = [line.split() for line in open(path)]
    return {r[1]: r for r in rows if r[0] == 'sim0'}, {r[0]: r for r in rows if r[0].startswith('sim0/')}


def watch(tree, windows, out):
    """A row of perf is of the window that aggregate reported before and after it. Until so many of each ring were seen."""
    seen = {}
    end = time.monotonic() + 120
    while time.monotonic() < end:
        rings = collections.Counter(ring for ring, _ in seen)
        if rings and min(rings.values()) >= int(windows):
            break
        before, perf, after = table(tree + '/aggregate')[0], table(tree + '/perf')[1], table(tree + '/aggregate')[0]
        for ring, row in before.items():
            if row[9] != '-' and row == after[ring]:
                seen[ring, row[9]] = row + perf['sim0/' + ring][1:]
        time.sleep(0.02)
    with open(out, 'w') as f:
        f.writelines(' '.join(row) + '\n' for row in seen.values())


Job = collections.namedtuple('Job', 'submit start complete')


def load(truth):
    jobs, events, last = collections.defaultdict(list), collections.defaultdict(list), {}
    for line in open(truth):
        words = line.rstrip('\n').split(',')
        if words[0] == 'gpu':
            continue
        if words[0].startswith('#'):
            if words[3]:
                events['ring' + words[3]].append(int(words[1]))
            continue
        ring, steps = 'ring' + words[1], words[8:13]
        events[ring] += [int(t) for t in steps if t]
        if not steps[0]:
            continue
        done = int(steps[4]) if steps[4] else float('inf')
        jobs[ring].append((int(steps[0]), int(steps[1]) if steps[1] else float('inf'), done))
    out = {}
    for ring, found in jobs.items():  # the start is the later of the hand-over and the end of the job before
        last, out[ring] = 0, []
        for submit, commit, done in sorted(found, key=lambda j: (j[2], j[1])):
            out[ring].append(Job(submit, max(commit, last), done))
            last = done
    return out, events


def reckon(jobs, events, start, end):
    total = [j.complete - j.submit for j in jobs if start <= j.complete < end]
    area = sum(max(0, min(j.complete, end) - max(j.submit, start)) for j in jobs)
    busy = sum(max(0, min(j.complete, end) - max(j.start, start)) for j in jobs)
    steps = sorted([(j.submit, 1) for j in jobs if j.submit < end] + [(j.complete, -1) for j in jobs if j.complete < end])
    depth = peak = 0
    for ts, by in steps:
        if ts >= start:
            peak = max(peak, depth)
        depth += by
        if ts >= start:
            peak = max(peak, depth)
    n = len(total)
    return [sum(start <= t < end for t in events), sum(total) // n if n else '-', min(total) if n else '-',
            max(total) if n else '-', area / (end - start), max(peak, depth)], 100 * busy / (end - start), \
        sum(total) / n / 1000 if n else '-'


def near(a, b):
    return a == b if '-' in (a, b) else abs(float(a) - b) <= 0.0101


def check(truth, out, length):
    jobs, events = load(truth)
    bad = n = odd = 0
    for line in open(out):
        row = line.split()
        start = int(row[9].replace('.', ''))
        end = start + int(row[10])
        odd += int(row[10]) != int(length) * 1000000
        want, busy, latency = reckon(jobs[row[1]], events[row[1]], start, end)
        exact = [str(w) for w in want[:4] + want[5:]] == row[3:7] + row[8:9]
        if not (exact and near(row[7], want[4]) and near(row[11], busy) and row[12] in ('0.00', '-') and
                near(row[13], latency)):
            bad += 1
            print('#', ' '.join(row), '\n# wanted', want, busy, latency)
        n += 1
    rings = len({line.split()[1] for line in open(out)})
    ok(n > 4 * rings and not bad, '%s ms: %d windows of %d rings are as the ground truth says' % (length, n, rings))
    ok(odd <= rings, '%s ms: they are of that length, but for the first' % length)


(watch if sys.argv[1] == 'watch' else check)(*sys.argv[2:])
