#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Kernels and copies of a rocprof recording, read without gputrace, against every file that shows them.

worktruth.py FILE... -- MNT

Work is counted per GPU and engine, queue, process and kernel: how many, least, average, most, sum, and the union of
their times, which no file may exceed. Then files of the tree are compared with one another. GPUs and queues are matched
by their numbers, as each recording has its own names for them.
"""
import csv
import glob
import gzip
import json
import os
import re
import sqlite3
import sys

import tables
from tables import rows as table

NONE = '-'


class Job:
    def __init__(self, kind, gpu, queue, pid, name, start, end, number=None):
        self.key = number and (kind, gpu, queue, number, start, end)
        self.kind, self.gpu, self.queue, self.pid, self.name = kind, gpu, queue, pid, name
        self.start, self.end, self.ns = start, end, end - start


def of_csv(path):
    pid = re.match(r'(\d+)_', os.path.basename(path))
    with open(path, newline='') as f:
        for r in csv.DictReader(f):
            if 'Counter_Name' in r or not r.get('Start_Timestamp'):
                continue
            own = int(r.get('Process_Id') or (pid[1] if pid else -1))
            start, end = int(r['Start_Timestamp']), int(r['End_Timestamp'])
            if r.get('Kernel_Name') is not None:
                yield Job('COMPUTE', r['Agent_Id'], r['Queue_Id'], own, r['Kernel_Name'], start, end,
                          r.get('Dispatch_Id') or r.get('Correlation_Id'))
            elif r.get('Direction') is not None:
                to_host = 'DEVICE_TO_HOST' in r['Direction']
                yield Job('COPY', r['Source_Agent_Id' if to_host else 'Destination_Agent_Id'], None, own, None, start, end,
                          r.get('Correlation_Id'))


def of_json(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as f:
        runs = json.load(f).get('rocprofiler-sdk-tool', ())
    for run in runs:
        names = {s['kernel_id']: s['formatted_kernel_name'] for s in run['kernel_symbols']}
        pid, records = run['metadata']['pid'], run['buffer_records']
        for d in records['kernel_dispatch']:
            i = d['dispatch_info']
            yield Job('COMPUTE', i['agent_id']['handle'], i['queue_id']['handle'], pid, names[i['kernel_id']],
                      d['start_timestamp'], d['end_timestamp'], i['dispatch_id'])


def of_db(path):
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    for r in db.execute('SELECT d.agent_id, d.queue_id, p.pid, s.display_name, d.start, d.end FROM '
                        'rocpd_kernel_dispatch d JOIN rocpd_info_kernel_symbol s ON s.id = d.kernel_id '
                        'JOIN rocpd_info_process p ON p.id = d.pid'):
        yield Job('COMPUTE', *r)
    for r in db.execute('SELECT c.dst_agent_id, p.pid, c.start, c.end FROM rocpd_memory_copy c '
                        'JOIN rocpd_info_process p ON p.id = c.pid'):
        yield Job('COPY', r[0], None, r[1], None, r[2], r[3])


def jobs_of(paths):
    """Those of all files; the same number, device, queue, begin and end again are the same one"""
    out, seen = [], set()
    for p in paths:
        for f in sorted(glob.glob(glob.escape(p) + '/*')) if os.path.isdir(p) else [p]:
            end = f[:-3] if f.endswith('.gz') else f
            read = {'.csv': of_csv, '.json': of_json, '.db': of_db}.get(os.path.splitext(end)[1])
            for j in read(f) if read else ():
                if not j.key or j.key not in seen:
                    out.append(j)
                seen.add(j.key)
    return out


def union(jobs):
    total, until = 0, 0
    for start, end in sorted((j.start, j.end) for j in jobs):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def numbers(jobs):
    ns = [j.ns for j in jobs]
    return len(ns), sum(ns), sum(ns) // len(ns), max(ns), min(ns)


def by(jobs, key):
    out = {}
    for j in jobs:
        out.setdefault(key(j), []).append(j)
    return out


# The tree -----------------------------------------------------------------------------------------

def text(path):
    with open(path, newline='') as f:
        return f.read()


def keyed(path):
    return dict(line.split(None, 1) for line in text(path).splitlines() if ' ' in line)


def stages(path, **where):
    g = tables.stages(path, **where).get('exec')
    return tuple(g[k] for k in ('count', 'total_ns', 'avg_ns', 'max_ns')) if g else None


AVERAGES = ('avg1_percent', 'avg10_percent', 'avg60_percent')


def busy(path, **where):
    """Of the row with these cells: how long, and averages"""
    for row in tables.rows(path):
        if all(row[k] == v for k, v in where.items()):
            return int(row['total_ns']), [float(row[k]) for k in AVERAGES]
    return None, []


class Check:
    def __init__(self):
        self.bad, self.n = [], 0

    def same(self, what, got, want):
        self.n += 1
        if got != want:
            self.bad.append(f'{what}: {got} is not {want}')

    def below(self, what, got, most):
        self.n += 1
        if not all(v <= most for v in got):
            self.bad.append(f'{what}: {got} is over {most}')


def check_gpu(c, gpu, name, jobs):
    engines = by(jobs, lambda j: j.kind)
    rings = {r['engine']: r for r in table(gpu + '/rings')}
    c.same(f'{name}: engines of rings', sorted(rings), sorted(engines))
    for e, work in engines.items():
        ring = gpu + '/' + rings[e]['ring'] if e in rings else None
        total, avgs = busy(gpu + '/utilization', engine=e)
        c.same(f'{name} {e}: utilization total_ns', total, union(work))
        c.below(f'{name} {e}: utilization', avgs, 100)
        if not ring:
            continue
        c.same(f'{name} {e}: ring latency', stages(ring + '/latency'), numbers(work)[:4])
        c.same(f'{name} {e}: ring busy', tables.one_row(ring + '/utilization')['total_ns'], str(union(work)))
        c.same(f'{name} {e}: ring stats', keyed(ring + '/stats').get('completed'), str(len(work)))
        c.same(f'{name} {e}: submitted is not known', keyed(ring + '/stats').get('submitted'), None)
        c.same(f'{name} {e}: nor the depth', rings[e]['depth'], NONE)
        c.same(f'{name} {e}: rings completed', rings[e]['completed'], str(len(work)))
        rows = list(table(ring + '/report'))
        c.same(f'{name} {e}: report', sorted(int(r['t_exec_ns']) for r in rows), sorted(j.ns for j in work))
        c.same(f'{name} {e}: … its engine', {r['engine'] for r in rows}, {e})
    c.same(f'{name}: stats', keyed(gpu + '/stats').get('completed'), str(len(jobs)))
    kernels = [j for j in jobs if j.kind == 'COMPUTE']
    queues = sorted(numbers(q) for q in by(kernels, lambda j: j.queue).values())
    shown = [(stages(q + '/latency'), keyed(q + '/stats')) for q in glob.glob(glob.escape(gpu) + '/queues/*')
             if os.path.exists(q + '/latency')]
    c.same(f'{name}: queues latency', sorted(s for s, _ in shown), sorted(q[:4] for q in queues))
    c.same(f'{name}: queues stats', sorted(int(k.get('completed', -1)) for _, k in shown), sorted(q[0] for q in queues))
    c.same(f'{name}: queues submitted', {k.get('submitted') for _, k in shown} - {None}, set())
    check_kernels(c, gpu, name, by(kernels, lambda j: j.name))


def check_kernels(c, gpu, name, kernels):
    if not kernels:
        return
    whole, total, rows = {}, sum(j.ns for k in kernels.values() for j in k), list(table(gpu + '/kernel_stats'))
    for r in rows:
        long_name = text(f'{gpu}/kernels/{r["kernel"]}/name')[:-1]
        whole[re.sub(r'\\([0-3][0-7]{2})', lambda m: chr(int(m[1], 8)), long_name)] = r
    c.same(f'{name}: kernel_stats names', sorted(whole), sorted(kernels))
    for k, jobs in kernels.items():
        r, (n, ns, avg, most, least) = whole.get(k, {}), numbers(jobs)
        c.same(f'{name} {k[:50]}: kernel_stats', [r.get(x) for x in ('calls', 'total_ns', 'avg_ns', 'min_ns', 'max_ns')],
               [str(v) for v in (n, ns, avg, least, most)])
        c.same(f'{name} {k[:50]}: share', abs(float(r.get('share_percent', -1)) - 100 * ns / total) <= 0.01, True)
        c.same(f'{name} {k[:50]}: its stats', keyed(f'{gpu}/kernels/{r.get("kernel")}/stats').get('exec_ns'), r.get('total_ns'))
    c.same(f'{name}: longest first', [r['kernel'] for r in rows],
           [r['kernel'] for r in sorted(rows, key=lambda r: (-int(r['total_ns']), -int(r['calls']), r['kernel']))])


def check_processes(c, mnt, jobs, gpus):
    observed = max(j.end for j in jobs) - min(j.start for j in jobs)
    top = {(r['pid'], r['gpu'], r['engine']): r for r in table(mnt + '/top')}
    want = by(jobs, lambda j: (str(j.pid), gpus[j.gpu], j.kind))
    of_engine = by(jobs, lambda j: (j.gpu, j.kind))
    known = {('-' if k[0] == '-1' else k[0],) + k[1:]: v for k, v in want.items()}
    c.same('top: rows', sorted(top), sorted(known))
    for k, work in known.items():
        r, ns = top.get(k), union(work)
        if not r:
            continue
        c.same(f'top {k}: jobs', r['jobs'], str(len(work)))
        if observed:
            c.same(f'top {k}: busy_percent', abs(float(r['busy_percent']) - 100 * ns / observed) <= 0.01, True)
        used = sum(union(v) for v in by(of_engine[work[0].gpu, work[0].kind], lambda j: j.pid).values())
        c.same(f'top {k}: share', abs(float(r['share_percent']) - 100 * ns / used) <= 0.01, True)
    for pid, work in by(jobs, lambda j: j.pid).items():
        if pid == -1:
            continue
        d, sum_ns = f'{mnt}/proc/{pid}', 0
        for (gpu, engine), own in by(work, lambda j: (gpus[j.gpu], j.kind)).items():
            ring = next((r['ring'] for r in table(f'{mnt}/{gpu}/rings') if r['engine'] == engine), None)
            c.same(f'{pid}: latency {gpu} {engine}', stages(d + '/latency', gpu=gpu, ring=ring), numbers(own)[:4])
            ns, avgs = busy(d + '/utilization', gpu=gpu, ring=ring)
            c.same(f'{pid}: utilization {gpu} {engine}', ns, union(own))
            c.below(f'{pid}: utilization {gpu} {engine}', avgs, 100)
            sum_ns += union(own)
        stats = keyed(d + '/stats')
        c.same(f'{pid}: stats', [stats.get(k) for k in ('completed', 'busy_ns', 'submitted', 'in_flight')],
               [str(len(work)), str(sum_ns), None, None])
        c.same(f'{pid}: report', sum(1 for _ in table(d + '/report')), len(work))


def check_users(c, mnt, jobs):
    """The processes' own sums: who the user is, their files say"""
    users, pids = {}, {str(j.pid) for j in jobs if j.pid != -1}
    for p in pids:
        if os.path.exists(f'{mnt}/proc/{p}/uid'):
            users.setdefault(text(f'{mnt}/proc/{p}/uid').strip(), []).append(p)
    for u, own in users.items():
        stats = [keyed(f'{mnt}/proc/{p}/stats') for p in own]
        got = keyed(f'{mnt}/users/{u}/stats')
        for k in ('completed', 'busy_ns'):
            c.same(f'users/{u}: {k}', int(got.get(k, -1)), sum(int(s.get(k, 0)) for s in stats))
        c.same(f'users/{u}: submitted', got.get('submitted'), None)
    c.same('there are users', bool(users) or not pids, True)


def main(paths, mnt):
    jobs, c = jobs_of(paths), Check()
    work = by(jobs, lambda j: j.gpu)
    shown = [r['gpu'] for r in table(mnt + '/gpus') if glob.glob(f'{mnt}/{r["gpu"]}/ring[0-9]*')]

    def mark(n, kinds):
        return n, tuple(sorted(kinds))
    # one that has as many kernels and copies, busy as long, is that one
    have = {mark(int(keyed(f'{mnt}/{g}/stats').get('completed', 0)), (busy(f'{mnt}/{g}/utilization', engine=r['engine'])[0]
            for r in table(f'{mnt}/{g}/rings'))): g for g in shown}
    gpus = {}
    for g, own in work.items():
        gpus[g] = have.get(mark(len(own), (union(v) for v in by(own, lambda j: j.kind).values())))
        c.same(f'a GPU with {len(own)} jobs, busy {union(own)}, is among {have}', gpus[g] is not None, True)
    if None not in gpus.values():
        c.same('GPUs with work', sorted(shown), sorted(gpus.values()))
        for g, own in work.items():
            check_gpu(c, f'{mnt}/{gpus[g]}', gpus[g], own)
        check_processes(c, mnt, jobs, gpus)
        check_users(c, mnt, jobs)
        c.same('report', sum(1 for _ in table(mnt + '/report')), len(jobs))
        seen = {r['type']: int(r['seen']) for r in table(mnt + '/events_by_type')}
        c.same('events', [seen.get('DISPATCH', 0), seen.get('COPY', 0)],
               [sum(j.kind == k for j in jobs) for k in ('COMPUTE', 'COPY')])
    print(f'{len(jobs)} jobs, {len(work)} GPUs, {c.n} comparisons')
    print('\n'.join(c.bad[:20]))
    return bool(jobs) and not c.bad


if __name__ == '__main__':
    at = sys.argv.index('--')
    sys.exit(0 if main(sys.argv[1:at], sys.argv[at + 1]) else 1)
