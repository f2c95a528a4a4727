#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""grtrace's files made from an invented recording (jobs.py generate), by grtrace(5) and not by our code.

    grtrace.py dump TRACE.txt DIR [SHIFT_NS]   DIR/events0..3, times later by SHIFT_NS
    grtrace.py annotate TRACE.txt              the annotator's text: each submission is in an ioctl
    grtrace.py drop FILE COUNT                 takes COUNT events out of its middle
    grtrace.py damage FILE                     what no producer should write, in its middle
    grtrace.py live TRACE.txt DIR SESSION      appended to DIR/events0..3 as happening from now on: it takes as long
"""
import os
import re
import struct
import sys
import time

LINE = re.compile(r'^\s*(.+)-(\d+)\s+\[(\d+)\]\s+\S+\s+(\d+)\.(\d+): (\w+): (.*)')
TYPES = {'amdgpu_cs_ioctl': 0, 'amdgpu_sched_run_job': 3, 'dma_fence_signaled': 1}
NAMES = {0: 'SUBMIT', 1: 'COMPLETE', 3: 'COMMIT'}
ENGINES = {'gfx': 1, 'sdma0': 4}
CONTEXTS = {'gfx': 4929, 'sdma0': 123}
HEADER = struct.Struct('<HHIQQQ')
NONE32, NONE64 = 0xffffffff, 0xffffffffffffffff


def record(kind, cpu, ts, gseq, cseq, payload):
    return HEADER.pack(kind, HEADER.size + len(payload), cpu, ts, gseq, cseq) + payload


def stream_info(session, start):
    return struct.pack('<IHHQQQIIIIqq', 0x52545247, 1, HEADER.size, session, start, 1, 1, 4, 1 << 18, 16, 0, 0)


def metadata():
    rows = b''.join(struct.pack('<HH20s', n, 48, NAMES[n].encode()) for n in NAMES)
    return struct.pack('<HHHH10s6s16s32s', len(NAMES), 24, 0, 16, bytes((2, 2, 4, 8, 8, 8, 2, 2, 4, 4)), b'',
                       b'amdgpu', b'') + rows


def ring_info(i, name):
    return struct.pack('<HHI16s32s32s', ENGINES[name], i, 0, b'amdgpu', name.encode(), b'0000:04:00.0')


def events(path):
    for line in open(path):
        m = LINE.match(line)
        if not m or m[6] not in TYPES:
            continue
        kv = dict(re.findall(r'(\w+)=([^,\s]+)', m[7]))
        ring, context = kv['timeline'], int(kv['context'])
        if CONTEXTS[ring] != context:
            continue
        ts = int(m[4]) * 10**9 + int(m[5].ljust(9, '0'))
        yield ts, int(m[3]), TYPES[m[6]], ring, context, int(kv['seqno']), int(m[2]), m[1].strip()


def dump(path, folder, shift, session=77, mode='wb'):
    os.makedirs(folder, exist_ok=True)
    rings = list(ENGINES)
    out, cseq, start = {}, {}, next(events(path))[0] + shift - 1000
    for cpu in range(4):
        out[cpu] = bytearray(record(256, cpu, start, 0, 0, stream_info(session, start)))
        out[cpu] += record(257, cpu, start, 0, 0, metadata())
        for i, name in enumerate(rings):
            out[cpu] += record(258, cpu, start, 0, 0, ring_info(i, name))
        cseq[cpu] = 0
    for gseq, (ts, cpu, kind, ring, context, seqno, pid, _) in enumerate(events(path)):
        who = pid if kind == 0 else NONE32
        payload = struct.pack('<HHIIIIIIIQQ', ENGINES[ring], rings.index(ring), context, seqno, who, who, NONE32, 0, 0,
                              NONE64, NONE64)
        out[cpu] += record(kind, cpu, ts + shift, gseq, cseq[cpu], payload)
        cseq[cpu] += 1
    for cpu in out:
        open(os.path.join(folder, 'events%d' % cpu), mode).write(out[cpu])


def live(path, folder, session):
    times = [e[0] for e in events(path)]
    shift = time.monotonic_ns() + 2000 - times[0]
    while time.monotonic_ns() < times[-1] + shift:
        time.sleep(0.01)
    dump(path, folder, shift, session, 'ab')


def annotate(path):
    lines = []
    for ts, _, kind, _, _, _, pid, comm in events(path):
        if kind == 0:
            for at, what in ((ts - 1000, 'IOCTL_ENTER pid=%d tid=%d comm=%s cmd=0xc0186444 arg=0x7ffc1234'),
                             (ts + 1000, 'IOCTL_EXIT pid=%d tid=%d comm=%s ret=0 duration_ns=2000')):
                lines.append((at, '[%d.%09d] ' % (at // 10**9, at % 10**9) + what % (pid, pid, comm)))
    for _, line in sorted(lines):
        print(line)


def split(data):
    at = 0
    while at < len(data):
        size = HEADER.unpack_from(data, at)[1]
        yield data[at:at + size]
        at += size


def drop(path, count):
    records = list(split(open(path, 'rb').read()))
    middle = len(records) // 2
    del records[middle:middle + count]
    open(path, 'wb').write(b''.join(records))


def damage(path):
    records = list(split(open(path, 'rb').read()))
    middle = len(records) // 2
    kind, size, cpu, ts, gseq, cseq = HEADER.unpack_from(records[middle])
    for at, bad in enumerate((record(300, cpu, ts, gseq, cseq, b'?' * 77 + b'!'),
                              HEADER.pack(0, 0, cpu, ts, gseq, cseq) + b'x' * 48,
                              HEADER.pack(0, 65535, cpu, ts, gseq, cseq) + b'y' * 48, b'\xa5' * 333)):
        records.insert(middle + 5 * at, bad)
    open(path, 'wb').write(b''.join(records)[:-30])


def main(what, path, *rest):
    if what == 'dump':
        dump(path, rest[0], int(rest[1]) if len(rest) > 1 else 0)
    elif what == 'live':
        live(path, rest[0], int(rest[1]))
    elif what == 'annotate':
        annotate(path)
    elif what == 'drop':
        drop(path, int(rest[0]))
    else:
        damage(path)


if __name__ == '__main__':
    main(*sys.argv[1:])
