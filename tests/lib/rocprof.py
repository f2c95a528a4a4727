#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Results of rocprofv3, read without gputrace.

generate FOLDER SEED      a run: devices, dispatches, counters, copies, calls
database FILE N           a rocpd database of so many dispatches
writing FILE N FIRST      adds dispatches to one, and ends when a line comes
sum FILE AGENT COUNTER    of a counter's readings on one device
compare FILE... -- MNT    do the kernels of all GPUs in MNT have these files' counts, sums and percentiles?
"""
import csv
import glob
import gzip
import json
import math
import os
import random
import re
import sqlite3
import sys

import tables

START = 10 ** 9  # ns since boot: a live daemon refuses times that have not come yet

KERNELS = ['void add<float, 256>(float*, float const*, int)', 'mul(float*, int)', '__amd_rocclr_copyBuffer',
           'quote "x", comma', '../../../etc/passwd', 'line\nbreak', 'void conv<2>(half*)']


def generate(folder, seed):
    r = random.Random(seed)
    os.makedirs(folder, exist_ok=True)

    def table(name, head, rows):
        with open(f'{folder}/4242_{name}.csv', 'w', newline='') as f:
            w = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC)
            w.writerow(head)
            w.writerows(rows)

    table('agent_info', ['Node_Id', 'Agent_Type', 'Location_Id', 'Domain', 'Gpu_Id'],
          [[0, 'CPU', 0, 0, 0], [2, 'GPU', 29952, 0, 12605], [3, 'GPU', 1280, 0, 12606]])
    rows, counters, t = [], [], START
    for i in range(3000):
        k = r.choice(KERNELS)
        ns = int(r.lognormvariate(9, 1)) + 1
        rows.append(['KERNEL_DISPATCH', f'Agent {r.choice((2, 3))}', 1 + i % 3, 0, 4242, i + 1, KERNELS.index(k), k,
                     i + 100, t, t + ns, 1024, 0, 32, 4, 112, 256, 1, 1, 256 * (1 + i % 5), 1, 1])
        t += r.randrange(20000)
        if i < 200:
            hits = r.randrange(1000)
            for c, v in (('TCC_HIT_sum', hits), ('TCC_MISS_sum', 1000 - hits), ('TCC_EA0_RDREQ_sum', 400),
                         ('TCC_EA0_RDREQ_32B_sum', 100)):
                counters.append([i + 1, rows[-1][1], k, c, v])
    table('kernel_trace', ['Kind', 'Agent_Id', 'Queue_Id', 'Stream_Id', 'Thread_Id', 'Dispatch_Id', 'Kernel_Id',
                           'Kernel_Name', 'Correlation_Id', 'Start_Timestamp', 'End_Timestamp', 'LDS_Block_Size',
                           'Scratch_Size', 'VGPR_Count', 'Accum_VGPR_Count', 'SGPR_Count', 'Workgroup_Size_X',
                           'Workgroup_Size_Y', 'Workgroup_Size_Z', 'Grid_Size_X', 'Grid_Size_Y', 'Grid_Size_Z'], rows)
    table('counter_collection', ['Dispatch_Id', 'Agent_Id', 'Kernel_Name', 'Counter_Name', 'Counter_Value'], counters)
    table('memory_copy_trace', ['Kind', 'Direction', 'Source_Agent_Id', 'Destination_Agent_Id', 'Correlation_Id',
                                'Start_Timestamp', 'End_Timestamp'],
          [['MEMORY_COPY', 'MEMORY_COPY_HOST_TO_DEVICE', 'Agent 0', 'Agent 2', i, START + i, START + 2 * i]
           for i in range(50)])
    table('hip_api_trace', ['Domain', 'Function', 'Process_Id', 'Thread_Id', 'Correlation_Id', 'Start_Timestamp',
                            'End_Timestamp'],
          [['HIP_RUNTIME_API', r.choice(('hipLaunchKernel', 'hipMalloc')), 4242, 4242, i, START + i * 10,
            START + i * 10 + 7] for i in range(500)])


TABLES = {
    'string': 'string TEXT NOT NULL',
    'info_process': 'nid INTEGER, pid INTEGER NOT NULL, command TEXT',
    'info_thread': 'nid INTEGER, pid INTEGER, tid INTEGER NOT NULL',
    'info_agent': 'nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER, extdata JSONB DEFAULT "{}"',
    'info_pmc': 'name TEXT NOT NULL',
    'info_kernel_symbol': 'kernel_name TEXT, display_name TEXT, sgpr_count INTEGER, arch_vgpr_count INTEGER, '
                          'accum_vgpr_count INTEGER',
    'event': 'category_id INTEGER, correlation_id INTEGER',
    'pmc_event': 'event_id INTEGER, pmc_id INTEGER NOT NULL, value REAL',
    'region': 'nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER',
    'kernel_dispatch': 'nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, '
                       'queue_id INTEGER, stream_id INTEGER, start BIGINT, end BIGINT, private_segment_size INTEGER, '
                       'group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER, '
                       'workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, '
                       'event_id INTEGER',
    'memory_copy': 'nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, '
                   'dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, event_id INTEGER',
    'memory_allocate': 'nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, type TEXT, level TEXT, start BIGINT, '
                       'end BIGINT, size INTEGER, event_id INTEGER',
}


def dispatches(db, n, first, seed):
    r, t = random.Random(seed), START + first * 10000
    for i in range(first, first + n):
        k, ns = r.randrange(len(KERNELS)), int(r.lognormvariate(9, 1)) + 1
        db.execute('INSERT INTO rocpd_event_u (id, correlation_id) VALUES (?, ?)', (i + 1, i + 7))
        db.execute('INSERT INTO rocpd_kernel_dispatch_u VALUES (?, 1, 4242, 1, 3, ?, ?, 1, 1, ?, ?, 0, 64, 256, 1, 1, '
                   '4096, 1, 1, ?)', (i + 1, k + 1, i + 1, t, t + ns, i + 1))
        db.execute('INSERT INTO rocpd_pmc_event_u (event_id, pmc_id, value) VALUES (?, 1, 2.5)', (i + 1,))
        t += r.randrange(20000)


def database(path, n):
    """A rocpd database: each table has its run's id in its name, and a view without it"""
    db = sqlite3.connect(path)
    for t, columns in TABLES.items():
        db.execute(f'CREATE TABLE rocpd_{t}_u (id INTEGER PRIMARY KEY AUTOINCREMENT, {columns})')
        db.execute(f'CREATE VIEW rocpd_{t} AS SELECT * FROM rocpd_{t}_u')
    db.execute('INSERT INTO rocpd_info_process_u VALUES (4242, 1, 4242, "x")')
    db.execute('INSERT INTO rocpd_info_thread_u VALUES (1, 1, 4242, 4243)')
    db.execute('INSERT INTO rocpd_info_pmc_u VALUES (1, "SQ_WAVES")')
    for i, (kind, place) in enumerate((('CPU', 0), ('GPU', 1280), ('GPU', 29952)), 1):
        db.execute('INSERT INTO rocpd_info_agent_u VALUES (?, 1, 4242, ?, ?, ?)',
                   (i, kind, i - 1, json.dumps({'location_id': place, 'domain': 0, 'gpu_id': 5 * i})))
    for i, k in enumerate(KERNELS, 1):
        db.execute('INSERT INTO rocpd_info_kernel_symbol_u VALUES (?, ?, ?, 112, 32, 4)', (i, f'_Z{i}', k))
    db.execute('INSERT INTO rocpd_string_u VALUES (1, "MEMORY_COPY_HOST_TO_DEVICE"), (2, "hipLaunchKernel"), '
               '(3, "MARKER_CORE_RANGE_API")')
    dispatches(db, n, 0, 5)
    for i in range(20):
        db.execute('INSERT INTO rocpd_memory_copy_u VALUES (?, 1, 4242, 1, ?, ?, 1, 3, 1, 4096, NULL)',
                   (i + 1, START + i * 50, START + i * 50 + 9))
        db.execute('INSERT INTO rocpd_region_u VALUES (?, 1, 4242, 1, ?, ?, 2, NULL)',
                   (i + 1, START + i * 70, START + i * 70 + 5))
    db.execute('INSERT INTO rocpd_event_u VALUES (?, 3, 1)', (1 << 30,))
    db.execute('INSERT INTO rocpd_region_u VALUES (21, 1, 4242, 1, ?, ?, 2, ?)', (START, START + 5, 1 << 30))
    db.execute('INSERT INTO rocpd_memory_allocate_u VALUES (1, 1, 4242, 1, 3, "ALLOC", "REAL", 5, 6, 8192, NULL)')
    db.commit()
    db.close()


def writing(path, n, first):
    """Adds to a database, and commits on a line of input"""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute('BEGIN IMMEDIATE')
    dispatches(db, n, first, 6)
    print('writing', flush=True)
    sys.stdin.readline()
    db.execute('COMMIT')
    db.close()


def plain(path):
    return gzip.open(path, 'rt', newline='') if path.endswith('.gz') else open(path, newline='')


def of_csv(path):
    with plain(path) as f:
        for row in csv.DictReader(f):
            row = {k.lower().replace('-', '_'): v for k, v in row.items() if k}
            name = row.get('kernel_name', row.get('kernelname'))
            begin = row.get('start_timestamp', row.get('beginns'))
            if name is not None and begin and 'counter_name' not in row:
                yield name, int(row.get('end_timestamp', row.get('endns'))) - int(begin)


def of_json(path):
    for run in json.load(plain(path)).get('rocprofiler-sdk-tool', ()):
        names = {s['kernel_id']: s['formatted_kernel_name'] for s in run['kernel_symbols']}
        for d in run['buffer_records']['kernel_dispatch']:
            yield names[d['dispatch_info']['kernel_id']], d['end_timestamp'] - d['start_timestamp']


def of_db(path):
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    yield from db.execute('SELECT s.display_name, d.end - d.start FROM rocpd_kernel_dispatch d '
                          'JOIN rocpd_info_kernel_symbol s ON s.id = d.kernel_id')


def expected(paths):
    all_ = {}
    for p in paths:
        for f in sorted(glob.glob(p + '/**', recursive=True)) if os.path.isdir(p) else [p]:
            read = {'.csv': of_csv, '.json': of_json, '.db': of_db}.get(os.path.splitext(f.removesuffix('.gz'))[1])
            for name, ns in read(f) if read else ():
                all_.setdefault(name, []).append(ns)
    return all_


def shown(mnt):
    for d in glob.glob(glob.escape(mnt) + '/*/kernels/*'):
        name = open(d + '/name', newline='').read()[:-1]
        name = re.sub(r'\\([0-3][0-7]{2})', lambda m: chr(int(m[1], 8)), name)
        if not os.path.exists(d + '/latency'):
            continue
        keys = tables.stages(d + '/latency')['exec']
        stats = dict(line.split() for line in open(d + '/stats'))
        yield name, {k: int(v) for k, v in keys.items()}, stats


def near(value, ns, p):
    """Within 1 % of the exact percentile, or of a neighbour of it"""
    at = max(0, math.ceil(p * len(ns)) - 1)
    return any(abs(value - ns[i]) <= 0.01 * ns[i] + 1 for i in range(max(0, at - 1), min(len(ns), at + 2)))


def compare(paths, mnt):
    want, bad, seen, per = expected(paths), [], {}, {}
    for name, k, stats in shown(mnt):
        s = seen.setdefault(name, [0, 0, [], []])
        s[0] += k['count']
        s[1] += int(stats['exec_ns'])
        s[2].append(int(stats['min_ns']))
        s[3].append(k['max_ns'])
        per.setdefault(name, []).append(k)
    for name in set(want) | set(seen):
        ns = sorted(want.get(name, []))
        got = seen.get(name, [0, 0, [0], [0]])
        if [got[0], got[1], min(got[2]), max(got[3])] != [len(ns), sum(ns), ns[0] if ns else 0, ns[-1] if ns else 0]:
            bad.append(f'{name[:60]!r}: {got} is not {len(ns)} {sum(ns)}')
        elif len(per[name]) == 1:  # percentiles of one GPU
            for key, p in (('p50_ns', .5), ('p90_ns', .9), ('p99_ns', .99)):
                if not near(per[name][0][key], ns, p):
                    bad.append(f'{name[:60]!r}: {key} {per[name][0][key]} is not that of {len(ns)}')
    print(f'{len(want)} kernels, {sum(map(len, want.values()))} dispatches')
    print('\n'.join(bad[:10]))
    return not bad and want


if __name__ == '__main__':
    if sys.argv[1] == 'generate':
        generate(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == 'database':
        database(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == 'writing':
        writing(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1] == 'sum':
        print(sum(int(r['Counter_Value']) for r in csv.DictReader(open(sys.argv[2], newline=''))
                  if r['Agent_Id'] == sys.argv[3] and r['Counter_Name'] == sys.argv[4]))
    elif sys.argv[1] == 'compare':
        at = sys.argv.index('--')
        sys.exit(0 if compare(sys.argv[2:at], sys.argv[at + 1]) else 1)
