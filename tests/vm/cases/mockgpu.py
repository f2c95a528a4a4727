# SPDX-License-Identifier: GPL-2.0
"""What mockgpu.sh has collected of the mock GPU: its truths in truth.*, what gpujobs said in *.out,
a trace and a client's fdinfo. mockgpu.py PID: of the gpujobs that was traced."""
import collections
import os
import re
import sys
from gputruth import read, by
from tap import ok

ETIME = 62
UNORDERED = 'comp_1.0.1'


def said(*names):
    """The jobs that gpujobs submitted"""
    lines = [l.split() for n in names for l in open(n + '.out') if not l.startswith('failed')]
    return sorted((ring, int(ctx), int(seqno)) for ring, ctx, seqno in lines)


def every_job():
    jobs = read('truth.all')
    ok(len(jobs) == 800 and sorted((j.ring, j.ctx, j.seqno) for j in jobs) == said('a', 'b'),
       'the truth has every job')
    ok({(j.device, j.uid, j.comm) for j in jobs} == {
        ('mockgpu.0', 0, 'gpujobs'), ('mockgpu.1', 65534, 'gpujobs')}, 'who submitted it')
    ok(len(by(jobs, 'pid', 'client')) == 2 and all(j.pid == j.tid for j in jobs), 'by process and file')
    ok(all(j.t_submit <= j.t_run <= j.t_hw_start < j.t_hw_end <= j.t_done for j in jobs),
       'times in their order')
    ok(all(j.t_hw_end - j.t_hw_start >= j.length for j in jobs), 'worked on as long as was asked for')
    ok(all(j.result == 0 for j in jobs), 'all succeeded')
    ok(all([j.seqno for j in js] == list(range(1, len(js) + 1)) for js in by(jobs, 'ctx').values()),
       'contexts count their jobs')
    for (device, ring), js in by(jobs, 'device', 'ring').items():
        js.sort(key=lambda j: j.t_run)
        alone = all(a.t_hw_end <= b.t_hw_start for a, b in zip(js, js[1:]))
        ordered = all(a.t_done <= b.t_done for a, b in zip(js, js[1:]))
        if ring != UNORDERED:
            ok(alone and ordered, '%s of %s: one after the other' % (ring, device))


def fence(text):
    m = re.search(r'fence=(\d+):(\d+)', text) or re.search(r'context=(\d+),? seqno=(\d+)', text)
    return int(m[1]), int(m[2])


def traced(waiter):
    events = collections.defaultdict(list)
    for line in open('trace'):
        m = re.match(r' *\S+-(\d+) +(\S+) +\S+ +(\d+)\.(\d+): (\w+): (.*)', line)
        if m:
            events[m[5]].append((int(m[1]), int(m[3] + m[4]), m[6], m[2]))
    jobs = {(j.ctx, j.seqno): j for j in read('truth.trace')}
    stages = (('t_submit', 'drm_sched_job', 'drm_sched_job_queue', 'amdgpu_cs_ioctl'),
              ('t_run', 'drm_run_job', 'drm_sched_job_run', 'amdgpu_sched_run_job'),
              ('t_done', 'drm_sched_process_job', 'drm_sched_job_done', None))
    ok(len(jobs) == 100 and all(len(events[n]) == 100 for s in stages for n in s[1:] if n),
       'an event of each name for each job', {n: len(e) for n, e in events.items()})
    # a step's names are reported one behind the other on one CPU; meanwhile another CPU may report another job
    for n in (n for s in stages for n in s[1:] if n):
        events[n].sort(key=lambda e: e[3])
    pointers, same, amdgpu = {}, True, True
    for when, old, new, amd in stages:
        off = []
        for i, (_, us, text, _) in enumerate(events[new]):
            key = fence(text)
            pointer = re.search(r'fence=(\w+)', events[old][i][2])[1]
            same &= pointers.setdefault(pointer, key) == key
            amdgpu &= not amd or fence(events[amd][i][2]) == key
            off += [abs(t - getattr(jobs[key], when) / 1000) for t in (us, events[old][i][1])]
        print('# measured %s: events from the truth, us: median %.1f, most %.1f' % (
            when, sorted(off)[len(off) // 2], max(off)))
    ok(same and len(pointers) == 100, 'old and new events are of the same job, by its finished fence')
    ok(amdgpu, "amdgpu's are too")
    ok(all('dev=mockgpu.0' in e[2] and e[0] == waiter for e in events['drm_sched_job_queue']),
       'device and submitter')
    ok(len(events['drm_sched_job_add_dep']) == 99, 'dependencies')
    ok(len(events['drm_sched_job_unschedulable']) == len(events['drm_sched_job_wait_dep']) > 0,
       'waiting for them')
    starts, ends = ([(e[0], fence(e[2])) for e in events['dma_fence_wait_' + n]] for n in ('start', 'end'))
    ok(len(starts) == 100 and starts == ends and {pid for pid, _ in starts} == {waiter},
       'waits are of the waiting process')


def layout(path, name):
    """Fields and text of an event in a file of `format` files. Its number is the kernel's, and so
    is whether a string is signed."""
    text = open(path).read() + '\n'
    text = text[text.index('name: %s\n' % name):]
    text = text[:text.index('\n', text.index('print fmt:'))]
    text = re.sub(r'ID: \d+', '', text)
    return re.sub(r'(__data_loc.*signed:)\d', r'\1', text)


def formats():
    for version, system, names in (
            ('6.12', 'gpu_scheduler', ('drm_sched_job_queue', 'drm_sched_job_run', 'drm_sched_job_done')),
            ('6.1', 'amdgpu', ('amdgpu_cs_ioctl', 'amdgpu_sched_run_job'))):
        for name in names:
            got = layout('/sys/kernel/tracing/events/%s/%s/format' % (system, name), name)
            want = layout('%s/tests/data/format/%s.txt' % (os.environ['GT_SRC'], version), name)
            ok(got == want, '%s is as Linux %s has it' % (name, version))


def hung():
    jobs = read('truth.hang')
    bad = [j for j in jobs if j.result]
    ok([(j.ring, j.seqno, j.result) for j in bad] == [
        ('sdma0', 1, -ETIME), (UNORDERED, 1, -ETIME)], 'hung jobs failed')
    ok(all(j.t_hw_end - j.t_hw_start > 300e6 for j in bad), 'after the timeout')
    ok(len(jobs) == 16 and all(j.t_done for j in jobs), 'all the others ended')
    one, *others = [j for j in jobs if j.ring == 'sdma0']
    ok(all(j.t_hw_start >= one.t_hw_end for j in others), 'those behind it waited')
    one, *others = [j for j in jobs if j.ring == UNORDERED]
    ok(any(j.t_run > one.t_run and j.t_done < one.t_done for j in others),
       'but not on the ring that works on several')


def used():
    info = dict(l.rstrip().split(':\t') for l in open('fdinfo') if ':\t' in l)
    jobs = read('truth.used')
    ok(info['drm-driver'] == 'mockgpu' and info['drm-memory-vram'] == '3072 KiB', 'memory')
    ok({j.client for j in jobs} == {int(info['drm-client-id'])}, 'client')
    for engine, ring in ('gfx', 'gfx'), ('compute', 'comp'), ('dma', 'sdma'), ('dec', 'vcn_dec'):
        ran = sum(j.t_hw_end - j.t_hw_start for j in jobs if j.ring.startswith(ring))
        ok(ran > 0 and info['drm-engine-' + engine] == '%d ns' % ran, 'drm-engine-' + engine)


every_job()
traced(int(sys.argv[1]))
formats()
hung()
used()
