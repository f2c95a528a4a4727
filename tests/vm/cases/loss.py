# SPDX-License-Identifier: GPL-2.0
"""loss.py TRUTH TREE: after losses, is every stage that the tree does tell true?"""
import collections
import sys

import gputruth
from gpucompare import NEAR, STAGES, add_stages, away, table
from tap import ok

jobs = {}
for (device, ring), own in gputruth.by(gputruth.read(sys.argv[1]), 'device', 'ring').items():
    add_stages(own)
    jobs.update({(device.replace('.', ''), j.ctx, j.seqno): j for j in own})
reported, unknown, bad, strange = 0, collections.Counter(), [], []
for row in table(sys.argv[2] + '/report'):
    if row['ctx'] is None:
        unknown['job'] += 1
        continue
    job = jobs.get((row['gpu'], int(row['ctx']), int(row['seqno'])))
    if not job:
        strange.append(row)
        continue
    for stage in STAGES[:3]:
        value = row['t_%s_ns' % stage]
        if value is None:
            unknown[stage] += 1
            continue
        reported += 1
        if away(int(value), getattr(job, stage)) >= NEAR:
            bad.append((stage, row, vars(job)))
ok(not strange, 'every row is of a job that was', strange[:3])
ok(reported > 100, '%d stages are reported' % reported)
ok(not bad, 'and all are true; unknown: %s' % dict(unknown), (len(bad), bad[:2]))
