#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""truth.py TRUTH.csv MNT STREAM - what sim did against what the tree says, event for event."""
import csv
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
import tables  # noqa: E402
from jobs import check  # noqa: E402
from records import own_time, records  # noqa: E402

STAGES = (('queue', 'queue'), ('hw_wait', 'hw_wait'), ('exec', 'exec'), ('complete', 'complete_ns'), ('total', 'total'))
TIMES = (('submit', 0), ('commit', 3), ('start', 4), ('end', 5), ('complete', 1))


def main(truth, mnt, stream):
    bad, rings, procs, events = [], {}, {}, {}
    rows = [r for r in csv.DictReader(open(truth)) if r.get('ctx') and r.get('complete')]
    for r in rows:
        for key, col in STAGES:
            if r[col] != '':
                rings.setdefault((r['gpu'], r['ring']), {}).setdefault(key, []).append(int(r[col]))
                procs.setdefault((r['pid'], r['gpu'], r['ring']), {}).setdefault(key, []).append(int(r[col]))
        for col, kind in TIMES:
            if r[col] != '':
                events[(int(r['gpu']), int(r['ring']), int(r['ctx'], 0), int(r['seqno']), kind)] = (int(r[col]), int(r['pid']))
    for (gpu, ring), stages in rings.items():
        got = tables.stages('%s/sim%s/ring%s/latency' % (mnt, gpu, ring))
        for s, values in stages.items():
            bad += check('sim%s/ring%s' % (gpu, ring), s, values, got.get(s, {}))
    for (pid, gpu, ring), stages in procs.items():
        got = tables.stages('%s/proc/%s/latency' % (mnt, pid), gpu='sim' + gpu, ring='ring' + ring)
        for s, values in stages.items():
            bad += check('proc/%s' % pid, s, values, got.get(s, {}))
    seen = {}
    for ts, kind, flags, _, gpu, ring, ctx, seqno, pid, *_, ref in records(stream):
        if kind in (0, 1, 3, 4, 5):
            key = (gpu, ring, ctx, seqno, kind)
            if key in seen:
                bad.append('twice in the stream: %s' % (key,))
            seen[key] = (own_time(ts, flags, ref), pid)
    for key in list(events.keys() - seen.keys())[:5]:
        bad.append('not in the stream: %s' % (key,))
    for key in list(seen.keys() - events.keys())[:5]:
        bad.append('never happened: %s' % (key,))
    wrong = [k for k in events.keys() & seen.keys() if events[k] != seen[k]]
    for k in wrong[:5]:
        bad.append('%s: %s, truth %s' % (k, seen[k], events[k]))
    print('# %d jobs, %d events, %d rings' % (len(rows), len(events), len(rings)))
    for b in bad[:20]:
        print('#', b)
    return 1 if bad or not rows else 0


sys.exit(main(*sys.argv[1:]))
