#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tables of rocprof v1, v2 and rocprof-compute, where each counter is a column, read without gputrace.

generate FILE COLUMNS ROWS   one of so many counters
compare FILE MNT             do the GPUs of MNT have its counters, and its kernels theirs?
"""
import csv
import glob
import math
import random
import re
import sys

import tables

ABOUT = set('''index kernelname kernel_name gpu_id queue_id queue_index pid tid grd wgr lds scr vgpr arch_vgpr accum_vgpr sgpr fbar
wave_size sig obj dispatchns beginns endns completens durationns dispatch_id grid_size workgroup_size lds_per_workgroup
scratch_per_workitem start_timestamp end_timestamp correlation_id kernel_id hostduration'''.split())


def generate(path, columns, rows):
    r = random.Random(columns)
    with open(path, 'w', newline='') as f:
        w = csv.writer(f)
        w.writerow(['Dispatch_ID', 'Kernel_Name', 'GPU_ID', 'Grid_Size', 'wave_size', 'obj'] +
                   [f'TCC_EA_RDREQ[{i}]' for i in range(columns)] + ['wave_size_1', 'obj_1', 'Start_Timestamp', 'End_Timestamp'])
        for i in range(rows):
            w.writerow([i, f'k{i % 3}(int, "x")', 2 + i % 2, 256, 64, '0x7f'] +
                       [r.choice(('', r.randrange(1 << 40), f'{r.random():.6f}')) for _ in range(columns)] +
                       [64, '0x7f', f'{10 ** 12 + 1000 * i}.5', 10 ** 12 + 1000 * i + 700])


def shown(path):
    for r in tables.rows(path):
        if '-' not in r.values():
            yield r['counter'], (int(r['readings']), float(r['sum']), float(r['min']), float(r['max']))


def add(to, key, v):
    n, total, least, most = to.get(key, (0, 0.0, math.inf, -math.inf))
    to[key] = (n + 1, total + v, min(least, v), max(most, v))


def compare(path, mnt):
    gpus, kernels, bad = {}, {}, []
    for row in csv.DictReader(open(path, newline='', encoding='utf-8-sig')):
        name = next(v for k, v in row.items() if k.lower() in ('kernelname', 'kernel_name'))
        for k, v in row.items():
            low = k.lower().replace('-', '_')
            if low in ABOUT or re.sub(r'_\d+$', '', low) in ABOUT or not v:
                continue
            if math.isfinite(float(v)):
                add(gpus, k, float(v))
                add(kernels, (name, k), float(v))
    got_gpus, got_kernels = {}, {}

    def join(to, key, v):
        a = to.get(key, (0, 0.0, math.inf, -math.inf))
        to[key] = (a[0] + v[0], a[1] + v[1], min(a[2], v[2]), max(a[3], v[3]))

    for f in glob.glob(glob.escape(mnt) + '/*/counters'):
        for k, v in shown(f):
            join(got_gpus, k, v)
    for d in glob.glob(glob.escape(mnt) + '/*/kernels/*'):
        name = re.sub(r'\\([0-3][0-7]{2})', lambda m: chr(int(m[1], 8)), open(d + '/name', newline='').read()[:-1])
        for k, v in shown(d + '/counters'):
            join(got_kernels, (name, k), v)
    for want, got in ((gpus, got_gpus), (kernels, got_kernels)):
        for k in set(want) | set(got):
            a, b = want.get(k), got.get(k)
            if not a or not b or a[0] != b[0] or any(abs(x - y) > 1e-9 * abs(x) + 1e-5 for x, y in zip(a[1:], b[1:])):
                bad.append(f'{k}: {b} is not {a}')
    print(f'{len(gpus)} counters, {len(kernels)} of kernels')
    print('\n'.join(bad[:10]))
    return bool(gpus) and not bad


if __name__ == '__main__':
    if sys.argv[1] == 'generate':
        generate(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(0 if compare(sys.argv[2], sys.argv[3]) else 1)
