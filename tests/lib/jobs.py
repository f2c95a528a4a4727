#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Latencies of an amdgpu recording, computed without gputrace, and compared with a mounted tree.

    jobs.py generate SEED > trace.txt     an invented recording in the layout of Linux 4.11
    jobs.py compare trace.txt GPU_DIR     counts and means exactly, percentiles within 1 %

The rule (gpuvis): a job is (timeline, context, seqno); amdgpu_cs_ioctl submits it, amdgpu_sched_run_job
hands it over, dma_fence_signaled of that context and seqno ends it. The hardware begins at the later of
the hand-over and the timeline's previous end. Jobs of a context end in order: those before one that ends
have ended unseen, and when that one began is not known, nor where one of another context that was
handed over before it has not ended. Where one of those was seen before another CPU's first line, that
CPU's buffer had run over: jobs from before may have ended, and nobody knows when those began that were
handed over by then, nor when the next one began on a ring that had such a job.
"""
import math
import os
import random
import re
import sys

import tables

LINE = re.compile(r'^\s*(.+)-(\d+)\s+\[(\d+)\]\s+\S+\s+(\d+)\.(\d+): (\w+): (.*)')


def jobs(path):
    open_jobs, last, out, passed, gone, cpus, begun, front = {}, {}, {}, set(), set(), set(), 0, 0
    unsure = set()  # rings of which a job may have ended, and nobody knows when
    for line in open(path, errors='replace'):
        m = LINE.match(line)
        if m and m[3] not in cpus:
            begun = int(m[4]) * 10**9 + int(m[5].ljust(9, '0')) if cpus else 0
            cpus.add(m[3])
        if not m or m[6] not in ('amdgpu_cs_ioctl', 'amdgpu_sched_run_job', 'dma_fence_signaled'):
            continue
        t = int(m[4]) * 10**9 + int(m[5].ljust(9, '0'))
        kv = dict(re.findall(r'(\w+)=([^,\s]+)', m[7]))
        ring, key = kv['timeline'], (kv['timeline'], kv['context'], kv['seqno'])
        if m[6] == 'amdgpu_cs_ioctl':
            open_jobs[key] = [t, None]
        elif m[6] == 'amdgpu_sched_run_job':
            open_jobs.setdefault(key, [None, None])[1] = t
        elif key in open_jobs and open_jobs[key][1] is not None:
            submit, run = open_jobs.pop(key)
            start = max(run, last.get(ring, 0))
            missed = [k for k in open_jobs if k[:2] == key[:2] and int(k[2]) < int(key[2]) and k not in gone]
            ahead = [k for k, (_, r) in open_jobs.items()
                     if k[0] == ring and k not in passed | gone and r is not None and r <= run]
            passed.update(ahead)
            if any(min(x for x in open_jobs[k] if x is not None) <= begun for k in missed):
                front = begun
                gone.update(k for k, x in open_jobs.items() if min(y for y in x if y is not None) <= begun)
                unsure.update(k[0] for k in gone & open_jobs.keys() if open_jobs[k][1] is not None)
            for k in missed:
                del open_jobs[k]
            last[ring] = t
            s = out.setdefault(ring, {'queue': [], 'hw_wait': [], 'exec': [], 'total': []})
            if submit is not None:
                s['queue'].append(run - submit)
                s['total'].append(t - submit)
            if not missed and not ahead and start >= front and ring not in unsure:
                s['hw_wait'].append(start - run)
                s['exec'].append(t - start)
            unsure.discard(ring)
    return out


def percentile(values, p):
    return sorted(values)[max(0, math.ceil(p * len(values)) - 1)]


def check(ring, stage, want, got):
    bad = []
    if got.get('count', 0) != len(want):
        return ['%s %s: count %s, wanted %d' % (ring, stage, got.get('count'), len(want))]
    if not want:
        return []
    exact = {'avg_ns': sum(want) // len(want), 'total_ns': sum(want), 'max_ns': max(want)}
    for key, value in exact.items():
        if got[key] != value:
            bad.append('%s %s: %s %d, wanted %d' % (ring, stage, key, got[key], value))
    for key, p in (('p50_ns', .5), ('p90_ns', .9), ('p99_ns', .99)):
        value = percentile(want, p)
        if abs(got[key] - value) > value * .01:
            bad.append('%s %s: %s %d, exact %d' % (ring, stage, key, got[key], value))
    return bad


def compare(path, gpu):
    want, bad = jobs(path), []
    if not want:
        bad.append('no job in ' + path)
    for ring, stages in want.items():
        got = tables.stages(os.path.join(gpu, 'by-name', ring, 'latency'))
        for stage, values in stages.items():
            bad += check(ring, stage, values, got.get(stage, {}))
        print('#', ring, {k: len(v) for k, v in stages.items()})
    for b in bad:
        print('#', b)
    return 1 if bad else 0


def generate(seed):
    """Two timelines, FIFO execution, jobs without a submission, jobs that never end, other fences."""
    r, lines = random.Random(seed), []

    def put(t, comm, pid, event, text):
        lines.append((t, '%16s-%-5d [%03d] .... %d.%06d: %s: %s' % (
            comm, pid, r.randrange(4), t // 10**6, t % 10**6, event, text)))

    for ring, context, n in (('gfx', 4929, 700), ('sdma0', 123, 60)):
        t = run = free = 630659 * 10**6 + r.randrange(10**5)
        for seqno in range(1000, 1000 + n):
            t += r.randrange(1, 4000)
            run = max(t + r.randrange(2, 900), run + 1)
            end = max(run, free) + r.randrange(5, 5000)
            free = end
            job = 'sched_job=%d, timeline=%s, context=%d, seqno=%d, ring_name=ffff91cb1ab1bdd0, num_ibs=1' % (
                seqno * 3, ring, context, seqno)
            fence = 'driver=amd_sched timeline=%s context=%d seqno=%d'
            if ring == 'gfx' or seqno % 3:
                put(t, 'Render Thread-x' if seqno % 2 else 'steam', 25155 + seqno % 2, 'amdgpu_cs_ioctl', job)
            put(run, ring, 199, 'amdgpu_sched_run_job', job)
            put(run + 1, '<...>', 199, 'dma_fence_signaled', fence % (ring, context - 1, seqno))
            if seqno % 50 != 7:
                put(end, '<idle>', 0, 'dma_fence_signaled', fence % (ring, context, seqno))
            put(end, '<idle>', 0, 'dma_fence_signaled', 'driver=amdgpu timeline=%s context=4 seqno=%d' % (
                ring, seqno))
    print('# tracer: nop\n#')
    for _, line in sorted(lines, key=lambda x: x[0]):
        print(line)
    return 0


if __name__ == '__main__':
    if sys.argv[1] == 'generate':
        sys.exit(generate(int(sys.argv[2])))
    sys.exit(compare(sys.argv[2], sys.argv[3]))
