# SPDX-License-Identifier: GPL-2.0
"""stress.py links: a line for each raw tracepoint with a BPF program: how often that ran, and was left out.
stress.py exact FOLDER: counters of before and after, as stress.sh took them: what the mock fired is what was
counted, lost, or left out by the kernel."""
import collections
import ctypes
import os
import re
import struct
import sys

# The types of events that tracepoints report, by backend; others tell the same under another name
TELLS = {
    'SUBMIT': ('drm_sched_job', 'drm_sched_job_queue', 'amdgpu_cs_ioctl'),
    'COMMIT': ('drm_run_job', 'drm_sched_job_run', 'amdgpu_sched_run_job'),
    'COMPLETE': ('drm_sched_process_job', 'drm_sched_job_done'),
    'SYNC_WAIT_ENTER': ('dma_fence_wait_start',), 'SYNC_WAIT_EXIT': ('dma_fence_wait_end',),
    'job_dependency': ('drm_sched_job_unschedulable', 'drm_sched_job_add_dep')}
EACH = 'job_dependency'  # there are two for a job
# Before Linux 6.17 ftrace sees jobs by events that the daemon makes of the kernel's (event probes). Such an event enters
# the ring buffer from inside the event that it is made of. The kernel has room for one such entry on a CPU, whatever
# interrupts what; it drops a second one and counts it nowhere (kernel/trace/ring_buffer.c, trace_recursive_lock()).
MADE = {'SUBMIT': 'drm_sched_job', 'COMMIT': 'drm_run_job', 'COMPLETE': 'drm_sched_process_job'}
MADE_DROPPED = 1000  # at most one of so many
CALLS = {'hipLaunchKernel': ('LAUNCH',), 'hipMemcpyAsync': ('COPY',),
         'hipStreamSynchronize': ('SYNC_WAIT_ENTER', 'SYNC_WAIT_EXIT')}
RAW_TRACEPOINT = 1


# BPF ----------------------------------------------------------------------------------------------

def bpf(cmd, attr):
    """bpf(2). Returns what it does, and attr as it is then; None: no"""
    nr = {'x86_64': 321, 'aarch64': 280}[os.uname().machine]
    buf = ctypes.create_string_buffer(attr.ljust(128, b'\0'), 128)
    r = ctypes.CDLL(None, use_errno=True).syscall(nr, cmd, buf, 128)
    return (r, buf.raw) if r >= 0 else None


def info_of(fd, size, fill=b''):
    out = ctypes.create_string_buffer(fill.ljust(size, b'\0'), size)
    return out.raw if bpf(15, struct.pack('<IIQ', fd, size, ctypes.addressof(out))) else None


def links():
    at = 0
    while True:
        got = bpf(31, struct.pack('<III', at, 0, 0))  # BPF_LINK_GET_NEXT_ID
        if not got:
            return
        at = struct.unpack_from('<I', got[1], 4)[0]
        got = bpf(30, struct.pack('<I', at))
        if not got:
            continue
        info = info_of(got[0], 64)
        kind, _, prog = struct.unpack_from('<III', info) if info else (0, 0, 0)
        if kind == RAW_TRACEPOINT:
            name = ctypes.create_string_buffer(64)
            info_of(got[0], 64, struct.pack('<IIIIQI', 0, 0, 0, 0, ctypes.addressof(name), 64))
        os.close(got[0])
        got = bpf(13, struct.pack('<I', prog)) if kind == RAW_TRACEPOINT else None
        if got:
            info = info_of(got[0], 224)
            os.close(got[0])
            print(name.value.decode(), prog, *struct.unpack_from('<QQ', info, 200))


# Counters -----------------------------------------------------------------------------------------

def pairs(path):
    """KEY VALUE or KEY=VALUE; what is no number is left out"""
    out = collections.Counter()
    for line in open(path):
        m = re.match(r'(\S+?)(?:=| +)(\d+)(\s|$)', line)
        if m:
            out[m[1]] = int(m[2])
    return out


class Snap:
    def __init__(self, folder):
        self.fired, self.nested, self.turns = collections.Counter(), collections.Counter(), collections.Counter()
        for line in open(folder + '/counts'):
            what, cpu, *rest = line.split()
            if what == 'fired':
                self.fired[rest[0], rest[1]] += int(rest[2])
            elif what == 'nested':
                self.nested[rest[0]] += int(rest[1])
            elif what == 'turns':
                self.turns[rest[0]] += int(rest[1])
        self.grtrace = pairs(folder + '/grtrace')
        self.types = {m: pairs('%s/%s.types' % (folder, m)) for m in ('bpf', 'ftrace', 'relay')}
        self.stats = {m: pairs('%s/%s.stats' % (folder, m)) for m in self.types}
        self.status = {m: pairs('%s/%s.status' % (folder, m)) for m in self.types}
        self.ioctls = sum(int(line) for line in open(folder + '/ioctls'))
        self.calls = collections.Counter()
        for line in open(folder + '/calls'):
            name, n = line.split()
            self.calls[name] += int(n)
        self.links = {}
        for line in open(folder + '/links'):
            name, prog, ran, missed = line.split()
            self.links[name, prog] = int(ran), int(missed)
        self.attached = {m: [line.split()[1].split('/')[1] for line in open('%s/%s.stats' % (folder, m))
                             if line.startswith('tracepoint ') and '/' in line] for m in ('bpf', 'ftrace')}
        self.attached['relay'] = [k[11:] for k, v in self.grtrace.items() if k.startswith('tracepoint.') and v]


def exact(folder):
    a, b = Snap(folder + '/before'), Snap(folder + '/after')
    fired = collections.Counter()
    for (name, _), n in (b.fired - a.fired).items():
        fired[name] += n
    by_context = collections.Counter()
    for (_, context), n in (b.fired - a.fired).items():
        by_context[context] += n
    nested, turns = b.nested - a.nested, b.turns - a.turns
    print('# measured stress: %s: fired %d %s, nested %s' % (folder, sum(fired.values()), dict(by_context), dict(nested)))
    print('# turns', dict(turns))
    ok(nested['hardirq'] > 100 and nested['softirq'] > 10, folder + ': interrupts come within others\' events', nested)
    ok(min(turns[k] for k in ('timer1', 'softtimer', 'tasklet', 'ipi', 'irqwork', 'hog', 'fifo', 'fifolow')) > 10,
       folder + ': every kind of firer had its turns', turns)

    # The kernel itself counts how often a program ran
    for (name, prog), (ran, missed) in sorted(b.links.items()):
        was = a.links.get((name, prog))
        if not was:  # another one, beside the first
            ok(any(n == name for n, _ in a.links), '%s: %s had a program all the time' % (folder, name))
            continue
        ran, missed = ran - was[0], missed - was[1]
        ok(ran + missed == fired[name], '%s: %s: ran %d and left out %d is fired' % (folder, name, ran, missed),
           fired[name])

    for m in 'bpf', 'ftrace', 'relay':
        tree(folder, m, a, b, fired)
    ok(min((b.calls - a.calls)[f] for f in (*CALLS, 'driver')) > 0, folder + ': calls of runtimes, and of a driver', b.calls - a.calls)
    ioctls(folder, a, b)


def delta(m, of, a, b, key):
    return getattr(b, of)[m][key] - getattr(a, of)[m][key]


def told_of(m, a, b):
    """What came of tracepoints, lost, and left out"""
    types = {t: delta(m, 'types', a, b, t) for t in TELLS}
    if m == 'bpf':
        lost = delta(m, 'stats', a, b, 'tracepoint_lost') + delta(m, 'stats', a, b, 'events_missed')
        return types, lost, delta(m, 'stats', a, b, 'ignored')
    if m == 'ftrace':
        return types, delta(m, 'stats', a, b, 'lost'), delta(m, 'stats', a, b, 'ignored')
    return types, delta(m, 'stats', a, b, 'lost_events'), b.grtrace['duplicates'] - a.grtrace['duplicates']


def tree(folder, m, a, b, fired):
    types, lost, left = told_of(m, a, b)
    types = {t: n for t, n in types.items() if any(name in b.attached[m] for name in TELLS[t])}
    # What a kernel lacks is made of the other name's
    most = {t: max(fired[n] for n in TELLS[t]) for t in types}
    if EACH in types:
        most[EACH] = sum(fired[n] for n in TELLS[EACH] if n in b.attached[m])
    want = sum(fired[n] or most[t] * (t != EACH) for t in types for n in TELLS[t] if n in b.attached[m])
    calls = b.calls - a.calls
    if m == 'bpf':  # waits of runtimes' calls are of the same types
        more = sum(calls[f] * len(types_of) for f, types_of in CALLS.items())
        types['calls'] = sum(delta(m, 'types', a, b, t) for t in ('LAUNCH', 'COPY'))
        lost += delta(m, 'stats', a, b, 'runtime_lost')
        want += more
        most = {t: most[t] + (calls['hipStreamSynchronize'] if 'WAIT' in t else 0) for t in most}
        most['calls'] = calls['hipLaunchKernel'] + calls['hipMemcpyAsync']
    if m == 'relay':  # a driver that calls grtrace reports one job
        want += len(types) * calls['driver']
        most = {t: n + calls['driver'] for t, n in most.items()}
    print('# measured stress: %s: %s: fired %d, counted %d, reported by others %d, lost %d, skipped by the kernel %d' % (
        folder, m, want, sum(types.values()), left, lost, delta(m, 'stats', a, b, 'events_missed')))
    print('#', types, most, dict(calls))
    if m == 'ftrace':
        dropped = {t: most[t] - types[t] for t in MADE if t in types and not lost and fired[MADE[t]]}
        if any(dropped.values()) and all(0 <= n * MADE_DROPPED <= most[t] for t, n in dropped.items()):
            print('# dropped by the kernel and not counted:', dropped)
            types = {t: n + dropped.get(t, 0) for t, n in types.items()}
    ok(sum(types.values()) + left + lost == want, '%s: %s: counted and lost is fired' % (folder, m),
       (types, left, lost, want))
    ok(all(types[t] <= most[t] for t in most), '%s: %s: of no type more than was fired' % (folder, m), (types, most))
    if not lost:
        ok(types == most, '%s: %s: each type' % (folder, m), (types, most))
    ok(delta(m, 'status', a, b, 'events_lost_source') >= lost, '%s: %s: status has the losses' % (folder, m),
       (delta(m, 'status', a, b, 'events_lost_source'), lost))


def ioctls(folder, a, b):
    """Each of those that were counted was reported; others, of processes that were interrupted, are more"""
    want, got = b.ioctls - a.ioctls, delta('bpf', 'types', a, b, 'IOCTL_ENTER')
    print('# measured stress: %s: ioctls of jobs %d, all %d' % (folder, want, got))
    ok(got + delta('bpf', 'stats', a, b, 'ioctl_lost') >= want > 100, folder + ': ioctls', (got, want))


if sys.argv[1] == 'links':
    links()
else:
    from tap import ok
    exact(sys.argv[2])
