#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""streamlat.py STREAM MNT: do the rings' `latency` files say what the saved stream's records give, when
the stages are worked out here from SUBMIT, COMMIT and COMPLETE alone?"""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(__file__))
import tables  # noqa: E402
from jobs import check  # noqa: E402


def main(stream, mnt):
    gpus, rings, open_jobs, last, want = {}, {}, {}, {}, {}
    data = open(stream, 'rb').read()
    for at in range(0, len(data) - 63, 64):
        ts, kind, flags, _, gpu, ring, ctx, seqno = struct.unpack_from('<QBBHHHQQ', data, at)
        if flags & 1:  # it came after its time, which it tells apart
            ts = struct.unpack_from('<Q', data, at + 56)[0]
        if kind == 65:
            gpus[gpu] = data[at + 16:at + 32].split(b'\0')[0].decode()
        if kind not in (0, 1, 3):
            continue
        key = (gpu, ring, ctx, seqno)
        if kind == 0:
            open_jobs[key] = [ts, None]
        elif kind == 3:
            open_jobs.setdefault(key, [None, None])[1] = ts
        elif key in open_jobs:
            submit, run = open_jobs.pop(key)
            start = max(run, last.get((gpu, ring), 0))
            last[gpu, ring] = ts
            s = want.setdefault((gpu, ring), {'queue': [], 'hw_wait': [], 'exec': [], 'total': []})
            s['queue'].append(run - submit)
            s['hw_wait'].append(start - run)
            s['exec'].append(ts - start)
            s['total'].append(ts - submit)
    bad = [] if want else ['no job']
    for (gpu, ring), stages in want.items():
        got = tables.stages('%s/%s/ring%d/latency' % (mnt, gpus[gpu], ring))
        for stage, values in stages.items():
            bad += check('%s/ring%d' % (gpus[gpu], ring), stage, values, got.get(stage, {}))
    for b in bad:
        print('#', b)
    print('#', {k: len(v['exec']) for k, v in want.items()})
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
