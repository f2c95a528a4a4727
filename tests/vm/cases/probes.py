# SPDX-License-Identifier: GPL-2.0
"""Jobs, errors and waits of probes.sh against the mock's truth."""
import collections
import struct

import gputruth
from tap import ok

SUBMIT, WAIT_ENTER, WAIT_EXIT = 0, 7, 8
jobs = gputruth.read('truth.txt')
# "mockgpu0/ring1/name:sdma0"
ring_names = {}
for line in open('names'):
    gpu, ring, name = line.strip().split('/')
    ring_names[gpu, ring] = name.split(':')[1]


def place(gpu, ring):
    """Device and ring as the truth has them."""
    return 'mockgpu.' + gpu[-1], ring_names.get((gpu, ring), ring)


reported = collections.Counter()
for r in (line.split() for line in open('report').readlines()[1:]):
    reported[place(r[1], r[2]) + (int(r[4]), int(r[5]), int(r[6]))] += 1
true = collections.Counter((j.device, j.ring, j.ctx, j.seqno, j.pid) for j in jobs)
ok(reported == true, 'each job by device, ring, context, seqno and owner',
   list(((reported - true) + (true - reported)).items())[:4])
ok(len({j.device for j in jobs}) == 2 and len({j.uid for j in jobs}) == 2, 'two devices, two users')

# "MNT/mockgpu1/errors:time_s gpu ring ctx seqno pid error"
hung = [(j.device, j.ring, str(j.ctx), str(j.seqno), str(j.pid)) for j in jobs if j.result]
errors = [line.split(':', 1)[1].split() for line in open('errors') if ':time_s ' not in line]
ok(len(hung) == 1, 'one job hung', hung)
timeouts = [place(e[1], e[2]) + tuple(e[3:6]) for e in errors if e[6] == 'timeout']
ok(timeouts == hung, 'its timeout, with its owner', errors)
resets = [place(e[1], e[2]) + (e[5],) for e in errors if e[6] == 'reset']
ok(resets == [j[:2] + ('-',) for j in hung], "and the reset of its ring, which is nobody's", errors)

# Records: ts, type, flags, cpu, gpu, ring, ctx, seqno, pid, tid, uid, queue, value, ref
stream = open('stream', 'rb').read()
records = list(struct.iter_unpack('<QBBHHHQQIIIIQQ', stream[:len(stream) // 64 * 64]))
places = {(r[6], r[7]): (r[4], r[5], r[8]) for r in records if r[1] == SUBMIT}
for what, name in (WAIT_ENTER, 'begin'), (WAIT_EXIT, 'end'):
    waits = [r for r in records if r[1] == what]
    wrong = [r for r in waits if (r[4], r[5], r[8]) != places.get((r[6], r[7]))]
    ok(len(waits) >= len(jobs) and not wrong,
       '%d waits %s with GPU, ring and process of their job' % (len(waits), name), wrong[:3])
