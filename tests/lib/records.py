# SPDX-License-Identifier: GPL-2.0
"""What a pipe gave, read: records of a job by job, and others."""
import struct

EVENT = struct.Struct('<QBBHHHQQIIIIQQ')
CALLS = (0, 1, 3)  # SUBMIT, COMPLETE, COMMIT
LATE = 1  # a flag: came after its time, as on a machine that stood still


def records(path):
    """each record's fields, in order"""
    data = open(path, 'rb').read()
    for i in range(0, len(data) - 63, 64):
        yield EVENT.unpack_from(data, i)


def own_time(ts, flags, ref):
    """when it happened: the stream's time but for what came late"""
    return ref if flags & LATE else ts


def jobs_and_others(path):
    """[(time, type)] by job, and times of events that are of none; names and the like are left out"""
    jobs, others = {}, []
    for ts, kind, flags, _, gpu, ring, ctx, seqno, *_, ref in records(path):
        ts = own_time(ts, flags, ref)
        if kind in CALLS:
            jobs.setdefault((gpu, ring, ctx, seqno), []).append((ts, kind))
        elif kind < 32:
            others.append(ts)
    return jobs, others


def whole(jobs):
    return bool(jobs) and all(sorted(k for _, k in v) == sorted(CALLS) for v in jobs.values())


def keyed(path):
    """the numbers of a flat-keyed file"""
    out = {}
    for line in open(path):
        f = line.split()
        if len(f) == 2 and f[1].isdigit():
            out[f[0]] = int(f[1])
    return out


# what became of an event, each in `status` behind "events_"
PARTS = ('recorded', 'filtered_level', 'filtered', 'sampled_out', 'rate_limited', 'over_share', 'lost_source', 'dropped_hold_full')


def seen_is_the_sum(status):
    return status['events_seen'] == sum(status['events_' + p] for p in PARTS)
