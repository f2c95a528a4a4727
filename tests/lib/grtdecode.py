# SPDX-License-Identifier: GPL-2.0
"""grtrace's relay files (grtrace(5)), as a page says they are: decoded without any of our C."""
import collections
import struct

HEADER = struct.Struct('<HHIQQQ')
EVENT = struct.Struct('<HHIIIIIIIQQ')
INFO = struct.Struct('<IHHQQQIIIIqq')
META = struct.Struct('<HHHH10s6x16s32s')
RING = struct.Struct('<HH4x16s32s32s')
STREAM_INFO, METADATA, RING_INFO, CUSTOM = 256, 257, 258, 25
MAGIC, STOPPED, OVERWRITE = 0x52545247, 1 << 33, 1 << 32

Event = collections.namedtuple(
    'Event', 'session cpu ts gseq cseq type engine ring ctx seqno pid tid uid value ref name')


def text(b):
    return b.split(b'\0')[0].decode()


class File:
    """One CPU's file. faults: what is not as the page says; lost: by gaps in cseq, by session."""

    def __init__(self, path, cpu):
        self.cpu, self.data = cpu, open(path, 'rb').read()
        self.events, self.faults, self.sessions = [], [], []
        self.lost, self.rings, self.types, self.info = collections.Counter(), {}, {}, None
        self.next = 0
        at = 0
        while at < len(self.data):
            size = self.record(at)
            if not size:
                break
            at += size

    def fault(self, at, what):
        self.faults.append('%d: %s' % (at, what))

    def record(self, at):
        if at + HEADER.size > len(self.data):
            return self.fault(at, 'a cut header')
        kind, size, cpu, ts, gseq, cseq = HEADER.unpack_from(self.data, at)
        if size < HEADER.size or size % 8 or at + size > len(self.data) or cpu != self.cpu:
            return self.fault(at, 'type %d size %d cpu %d' % (kind, size, cpu))
        body = self.data[at + HEADER.size:at + size]
        if kind == STREAM_INFO:
            self.stream_info(at, body)
        if not self.info:
            return self.fault(at, 'no STREAM_INFO at the beginning') or size
        self.gap(at, cseq, kind)
        if kind == METADATA:
            self.metadata(body)
        elif kind == RING_INFO:
            engine, ring, driver, name, dev = RING.unpack(body)
            self.rings[ring] = (text(dev), text(name), text(driver), engine)
        elif kind < 32:
            self.event(at, kind, ts, gseq, cseq, body)
        return size

    def stream_info(self, at, body):
        self.info = dict(zip(
            'magic version header session start features clock cpus subbuf_size subbufs realtime '
            'boottime'.split(), INFO.unpack(body)))
        if self.info['magic'] != MAGIC or self.info['version'] != 1 or self.info['clock'] != 1:
            self.fault(at, self.info)
        if [self.info['session']] != self.sessions[-1:]:
            self.sessions.append(self.info['session'])
            self.next = 0

    def gap(self, at, cseq, kind):
        if cseq < self.next:
            self.fault(at, 'cseq %d after %d' % (cseq, self.next - 1))
        self.lost[self.info['session']] += cseq - self.next
        self.next = cseq + (kind < 32)

    def metadata(self, body):
        types, tsize, engines, esize, fields, driver, model = META.unpack_from(body)
        for i in range(types):
            number, size, name = struct.unpack_from('<HH20s', body, META.size + i * tsize)
            self.types[number] = text(name)
        self.fields = tuple(fields)

    def event(self, at, kind, ts, gseq, cseq, body):
        engine, ring, ctx, seqno, pid, tid, uid, chi, shi, value, ref = EVENT.unpack_from(body)
        if ring != 0xffff and ring not in self.rings:
            self.fault(at, 'ring %d without a name' % ring)
        self.events.append(Event(
            self.info['session'], self.cpu, ts, gseq, cseq, self.types.get(kind, kind), engine,
            ring, ctx | chi << 32, seqno | shi << 32, pid, tid, uid, value, ref,
            text(body[48:]) if kind == CUSTOM else None))


def read(folder='.', name='events'):
    """Files events0, events1 ... in a folder"""
    import glob
    import re
    found = [(int(re.search(r'(\d+)$', p)[1]), p) for p in glob.glob('%s/%s*' % (folder, name))
             if re.search(r'/%s\d+$' % name, p)]
    return [File(p, cpu) for cpu, p in sorted(found)]
