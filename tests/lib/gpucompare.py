#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""gpucompare.py TRUTH TREE[:contexts|:unrecorded|:missed=N]...: does the tree say what the mock GPU did?

TRUTH is a copy of debugfs mockgpu/truth, taken when all jobs had ended; TREE a mounted tree that saw all
of them. Counts must be equal. The truth tells a time before and one after the tracer had its turn, so a
stage is known to lie between two values; each job's must be within NEAR of that, and the means within
1 %. With `:contexts` the tree must tell each job's own fence context and number, but for the very first job:
by an old name, it may have been reported before the new ones were heard. With `:unrecorded` there is no report.
A ring that works on all its jobs at once is taken for an ordered one at first: when one of its jobs passed another
on the way, hw_wait and exec of both may be unknown, until fs/model/internal.h says that it has no order; and always
where both were of one context, which no real ring has.
With `:threads` the tree knows the thread that submitted a job, and takes it for the process.
With `:renumbered` GPUs have numbers as they came: which is which is known by their processes, each of which has one.
With `:unnamed` it may not know what a process is called, as its source does not say so.
With `:missed=N` the tracer says that it missed N events; then only counts are compared, to that many.
"""
import collections
import itertools
import os
import sys

import gputruth
import tables
from tap import ok

NEAR = 50_000  # ns
STRAY, STRAYS = 4, 16  # as in fs/model/internal.h
SLACK = 16  # a tracer may see events of two CPUs in another order
STAGES = ('queue', 'hw_wait', 'exec', 'total')
KEYS = {stage: 't_%s_ns' % stage for stage in STAGES}


def table(path):
    """Rows of a table, as dicts; '-' is None."""
    return [{k: None if v == '-' else v for k, v in row.items()} for row in tables.rows(path)]


def flat(path):
    return {k: int(v) for k, v in (line.split() for line in open(path))}


def add_stages(jobs):
    """Each stage of a ring's jobs as (least, most); the start of a job is inferred as the tree does it."""
    last = (0, 0)
    for j in sorted(jobs, key=lambda j: j.t_done):
        submit, run, done = (j.before_submit, j.t_submit), (j.before_run, j.t_run), (j.before_done, j.t_done)
        start = max(last[0], run[0]), max(last[1], run[1])
        last = done
        for stage, a, b in zip(STAGES, (submit, run, start, submit), (run, start, done, done)):
            setattr(j, stage, (max(0, b[0] - a[1]), b[1] - a[0]))
    for j, passed in out_of_order(jobs):
        j.passed = passed
    for of_context in gputruth.by(jobs, 'device', 'ring', 'ctx').values():
        for j, passed in out_of_order(of_context):
            j.passed_own = passed


def out_of_order(jobs):
    """(job, whether it ended before one that was handed over before it, or after one that was later)"""
    order = sorted(jobs, key=lambda j: j.t_run)
    latest = list(itertools.accumulate((j.t_done for j in order), max, initial=0))
    earliest = list(itertools.accumulate((j.t_done for j in reversed(order)), min, initial=float('inf')))[::-1]
    return [(j, j.t_done < latest[i] or j.t_done > earliest[i + 1]) for i, j in enumerate(order)]


def out_of_turn(jobs):
    """How many jobs passed another, or were passed, until the ring has no order"""
    steps = sorted([(j.t_run, 0, i) for i, j in enumerate(jobs)] + [(j.t_done, 1, i) for i, j in enumerate(jobs)])
    hardware, passed, score, n = [], set(), 0, 0
    for _, done, i in steps:
        if not done:
            hardware.append(i)
        elif i in passed:
            n, score = n + 1, score + STRAY
            if score >= STRAY * STRAYS:
                break
        elif i in hardware:
            at = hardware.index(i)
            passed.update(o for o in hardware[:at] if jobs[o].ctx != jobs[i].ctx)  # those are superseded
            del hardware[:at + 1]
            n, score = n + (at > 0), score if at else max(0, score - 1)
    return n


def may_lack(j, stage):
    return j.passed and stage in ('hw_wait', 'exec')


def mean(jobs, stage, count):
    """Of the @count jobs of which the stage is known, as (least, most)."""
    may = [getattr(j, stage) for j in jobs if may_lack(j, stage)]
    without = len(jobs) - count
    low = sum(getattr(j, stage)[0] for j in jobs) - sum(sorted((v[0] for v in may), reverse=True)[:without])
    high = sum(getattr(j, stage)[1] for j in jobs) - sum(sorted(v[1] for v in may)[:without])
    return low / count, high / count


def away(value, between):
    return max(between[0] - value, value - between[1], 0)


def check_counts(tree, ring, jobs):
    d = '%s/%s/by-name/%s/' % (tree, *ring)
    s = flat(d + 'stats')
    got = [s['submitted'], s['committed'], s['completed'], s['in_flight']]
    ok(got == [len(jobs)] * 3 + [0], '%s/%s: %d jobs' % (*ring, len(jobs)), got)
    latency = tables.stages(d + 'latency')
    for stage in STAGES:
        got = latency[stage]
        own = sum(may_lack(j, stage) and j.passed_own for j in jobs)
        may = sum(may_lack(j, stage) for j in jobs) - own
        least = max(len(jobs) - own - min(may, out_of_turn(jobs) + SLACK), 1)
        ok(least <= got['count'] <= len(jobs), '%s/%s: jobs with %s' % (*ring, stage), (got['count'], least, len(jobs)))
        want = mean(jobs, stage, max(got['count'], 1))
        ok(want[0] * .99 <= got['avg_ns'] <= want[1] * 1.01, '%s/%s: mean of %s' % (*ring, stage), (got, want))
        if not any(may_lack(j, stage) for j in jobs):
            want = min(getattr(j, stage)[0] for j in jobs), max(getattr(j, stage)[1] for j in jobs)
            ok(want[0] - NEAR <= got['p50_ns'] and got['max_ns'] <= want[1] + NEAR,
               '%s/%s: median and max of %s' % (*ring, stage), (got, want))


def check_owners(tree, jobs, named):
    users = collections.Counter()
    for (pid, uid, comm), own in sorted(gputruth.by(jobs, 'pid', 'uid', 'comm').items()):
        d = '%s/proc/%d/' % (tree, pid)
        got = sum(int(r['count']) for r in tables.rows(d + 'latency') if r['stage'] == 'total')
        known = named or os.path.exists(d + 'comm')
        who = int(open(d + 'uid').read()), open(d + 'comm').read().strip() if known else comm
        ok(got == len(own) and who == (uid, comm), 'process %d (%s of user %d): %d jobs' % (pid, comm, uid, len(own)),
           (got, who))
        users[who[0]] += got
    want = {uid: len(own) for (uid,), own in gputruth.by(jobs, 'uid').items()}
    ok(users == want, 'users: %s' % want, users)


def check_rows(ring, jobs, rows, contexts, threads, first):
    """report: a row for each job, each stage near the truth."""
    # In the order of their ends: the tracer's and the truth's are the same but for two CPUs at once
    rows, jobs = sorted(rows, key=lambda r: int(r['end_s'].replace('.', ''))), sorted(jobs, key=lambda j: j.t_done)
    name = '%s/%s' % ring
    ok(len(rows) == len(jobs), '%s: %d rows of report' % (name, len(jobs)), len(rows))
    strange, worst, wide = [], (0, ''), 0
    for r, j in zip(rows, jobs):
        other = contexts and (int(r['ctx']), int(r['seqno'])) != (j.ctx, j.seqno)
        if int(r['pid']) != (j.tid if threads else j.pid) or (other and j is not first):
            strange.append((r, j))
        wide += any(getattr(j, s)[1] - getattr(j, s)[0] > NEAR for s in STAGES)
        for stage in STAGES[:3]:
            took = r[KEYS[stage]]
            if took is None and may_lack(j, stage):
                continue
            if took is None:
                strange.append((stage, r, vars(j)))
                continue
            far = away(int(took), getattr(j, stage))
            if far > worst[0]:
                worst = far, '%s of %d:%d' % (stage, j.ctx, j.seqno), r, vars(j)
    ok(not strange, '%s: each row is its job\'s, with all its times' % name, strange[:1])
    ok(worst[0] < NEAR, '%s: stages at most %d ns away, %d of %d known to no more than %d us' % (
        name, worst[0], wide, len(jobs), NEAR / 1000), worst)


def check_top(tree, jobs):
    uid = {j.pid: j.uid for j in jobs}
    got = {int(r['pid']): int(r['uid']) for r in table(tree + '/top') if r['pid']}
    ok(got and got.items() <= uid.items(), 'top has only those processes, with their users', got)


def check_idle(tree):
    left = [r for ring in table(tree + '/rings') for r in table('%s/%s/%s/jobs' % (tree, ring['gpu'], ring['ring']))]
    ok(not left, 'no job is in flight', left)


def check_missed(tree, jobs, rings, missed):
    """The tracer saw all events but @missed: as many submissions and ends at most are not counted."""
    less, more = {}, {}
    for (gpu, ring), own in rings.items():
        s = flat('%s/%s/by-name/%s/stats' % (tree, gpu, ring))
        for what in 'submitted', 'completed':
            less[ring, what] = max(0, len(own) - s[what])
            more[ring, what] = max(0, s[what] - len(own))
    ok(sum(less.values()) <= missed, 'no more is not counted than the %d events that were missed' % missed, less)
    ok(not any(more.values()), '... and nothing twice', more)


def renumbered(tree, rings):
    """The truth of each ring by the tree's name of its GPU"""
    device_of = {j.pid: gpu for (gpu, _), own in rings.items() for j in own}
    gpu_of = {device_of.get(int(r['pid'])): r['gpu'] for r in table(tree + '/report')}
    return {(gpu_of.get(gpu), name): own for (gpu, name), own in rings.items()}


def check_tree(tree, jobs, rings, *flags):
    if 'renumbered' in flags:
        rings = renumbered(tree, rings)
    first = min(jobs, key=lambda j: j.t_submit)
    names = {(r['gpu'], r['ring']): r['name'] for r in table(tree + '/rings')}
    rows = collections.defaultdict(list)
    for r in table(tree + '/report'):
        rows[r['gpu'], names[r['gpu'], r['ring']]].append(r)
    for ring, own in sorted(rings.items()):
        check_counts(tree, ring, own)
        if 'unrecorded' not in flags:
            check_rows(ring, own, rows.pop(ring, []), 'contexts' in flags, 'threads' in flags, first)
    ok(not rows, 'no row is of another ring', list(rows))
    check_idle(tree)


def main(truth, *trees):
    jobs = gputruth.read(truth)
    bad = [vars(j) for j in jobs if None in (j.t_submit, j.t_run, j.t_done)]
    ok(jobs and not bad, 'the truth is whole: %d jobs' % len(jobs), bad[:3])
    rings = {(d.replace('.', ''), name): own for (d, name), own in gputruth.by(jobs, 'device', 'ring').items()}
    for own in rings.values():
        add_stages(own)
    trees = [tree.split(':') for tree in trees]
    for tree, *flags in trees:  # a process that has ended is there for a minute, which is not long in a guest
        if any(flag.startswith('missed=') or flag == 'threads' for flag in flags):
            continue
        print('# processes of', tree)
        check_owners(tree, jobs, 'unnamed' not in flags)
        check_top(tree, jobs)
    for tree in trees:
        print('# rings of', tree[0])
        missed = [int(flag[7:]) for flag in tree[1:] if flag.startswith('missed=')]
        if missed:
            check_missed(tree[0], jobs, rings, *missed)
            continue
        check_tree(tree[0], jobs, rings, *tree[1:])


if __name__ == '__main__':
    main(*sys.argv[1:])
