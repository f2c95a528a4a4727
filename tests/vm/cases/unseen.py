# SPDX-License-Identifier: GPL-2.0
"""unseen.py PROGRAM TREE GPUJOBS BACKEND[,OPTION...]: what jobs leave whose beginning or end was not observed.

Work goes on all the time, by two processes on two rings. After each thing that is done to the daemon the
processes are stopped (not ended), and with the last of their jobs ended, every file of the tree must say what the
mock GPU's own log says of the time that was observed. When that began and ended is known as the time before and
after the write that asked for it, so a count lies between two numbers.
"""
import collections
import glob
import os
import signal
import subprocess
import sys
import time

import gputruth
from gpucompare import NEAR, STAGES, add_stages, away, table
from tap import ok

PROG, MNT, GPUJOBS, HOW = sys.argv[1:5]
BACKEND = HOW.split(',')[0]
RINGS = 'gfx_0.0.0', 'sdma0'
EVENTS = 'submit', 'run', 'done'
SETTLE = 30     # s at most, on a busy machine, until nothing is left of what has ended
HIDDEN = 12     # jobs of a process, at most, that are in flight at once: so many ends may be hidden
SLACK = 60e6    # ns: a busy time is so exact, per time that the daemon looked away


def now():
    return time.monotonic_ns()


def wait(condition, limit=20):
    end = now() + limit * 10**9
    while not condition():
        if now() > end:
            return False
        time.sleep(0.05)
    return True


def keyed(path):
    out = {}
    for line in open(path):
        words = line.split()
        out[words[0]] = words[1]
    return out


def put(path, value):
    """A daemon that loads programs may take longer to answer than a caller waits"""
    def done():
        try:
            with open(MNT + '/' + path, 'w') as f:
                f.write(value)
        except TimeoutError:
            return False
        return True
    if not wait(done, 200):
        raise TimeoutError(path)


class Observed:
    """When the daemon looked: [from, to, known] in ns; what lies beyond them was not seen, but for the time of a
    change, of which nothing is known"""
    def __init__(self):
        self.at, self.vague = [], []    # (time from which, looks); (from, to)

    def change(self, looks, do):
        a = now()
        do()
        b = now()
        self.vague.append((a, b))
        self.at.append((b, looks))

    def seen(self, a, b):
        """Of an event between @a and @b: True, False, None: not known"""
        if any(a <= to and b >= start for start, to in self.vague):
            return None
        looks = [l for t, l in self.at if t <= a]
        return looks[-1] if looks else False

    def spans(self, end):
        marks = sorted(self.at) + [(end, False)]
        return [(t, marks[i + 1][0]) for i, (t, looks) in enumerate(marks[:-1]) if looks]


observed = Observed()
died = {}       # processes that were killed, and when
blind = 0       # events of which the daemon cannot know that they were not shown


def event(j, what):
    after = getattr(j, 't_' + what)
    return None if after is None else observed.seen(getattr(j, 'before_' + what), after)


class Load:
    """A process of gpujobs, and a file with a line for each job that it has submitted"""
    def __init__(self, uid, seed, jobs, depth, length, rings=RINGS):
        self.said = open('load%d' % seed, 'wb')
        self.p = subprocess.Popen(
            ['setpriv', '--reuid', str(uid), '--regid', str(uid), '--clear-groups', 'stdbuf', '-oL', GPUJOBS,
             '--device', '0', '--jobs', str(jobs), '--ring', ','.join(rings), '--length-us', length,
             '--depth', str(depth), '--contexts', '2', '--seed', str(seed)], stdout=self.said)

    def submitted(self):
        return os.fstat(self.said.fileno()).st_size // len('sdma0 1 1\n')

    def signal(self, s):
        os.kill(self.p.pid, s)


loads = [Load(1001, 1, 10000000, 12, '20000-40000'), Load(1002, 2, 10000000, 12, '20000-40000')]


def work(n=40):
    """Goes on until so many jobs more were submitted"""
    was = sum(l.submitted() for l in loads)
    return wait(lambda: sum(l.submitted() for l in loads) >= was + n, 60)


def ring_dirs():
    """{name: path} of the rings that the tree has"""
    return {os.path.basename(p): os.path.realpath(p) for p in glob.glob(MNT + '/mockgpu0/by-name/*')}


def leftovers():
    """What a file says is there, though nothing is"""
    bad = []
    for name, d in ring_dirs().items():
        s, depth = keyed(d + '/stats'), keyed(d + '/depth')
        if s['in_flight'] != '0':
            bad.append('%s/stats: in_flight %s' % (name, s['in_flight']))
        if depth['now'] != '0':
            bad.append('%s/depth: now %s' % (name, depth['now']))
        for row in open(d + '/jobs').read().splitlines()[1:]:
            bad.append('%s/jobs: %s' % (name, row))
        avg1 = table(d + '/utilization')[0]['avg1_percent']
        if avg1 != '0.00':
            bad.append('%s/utilization: avg1_percent %s' % (name, avg1))
    for r in table(MNT + '/rings'):
        if r['depth'] != '0':
            bad.append('rings: %s' % r)
    for r in table(MNT + '/perf'):
        if list(r.values())[1] not in ('0.00', None):
            bad.append('perf: %s' % r)
    for r in table(MNT + '/mockgpu0/utilization'):
        if r['avg1_percent'] not in ('0.00', None):
            bad.append('mockgpu0/utilization: %s' % r)
    for what in glob.glob(MNT + '/proc/[0-9]*/stats') + glob.glob(MNT + '/users/*/stats') + [MNT + '/mockgpu0/stats']:
        try:
            s = keyed(what)
        except OSError:     # it has just gone
            continue
        if s['in_flight'] != '0':
            bad.append('%s: in_flight %s' % (what[len(MNT):], s['in_flight']))
    for r in table(MNT + '/top'):
        if r['busy_percent'] not in ('0.00', None):
            bad.append('top: %s' % r)
    n = keyed(MNT + '/status')['jobs_in_flight']
    if n != '0':
        bad.append('status: jobs_in_flight ' + n)
    return bad


def between(bad, what, got, least, most):
    if not least <= got <= most:
        bad.append('%s: %d, truth %d to %d' % (what, got, least, most))


def most_at_once(spans):
    depth = peak = 0
    for _, step in sorted([(a, 1) for a, _ in spans] + [(b, -1) for _, b in spans]):
        depth += step
        peak = max(peak, depth)
    return peak


def covered(spans):
    total = at = 0
    for a, b in sorted(spans):
        a = max(a, at)
        total += max(0, b - a)
        at = max(at, b)
    return total


def clipped(spans, within):
    return [(max(a, x), min(b, y)) for a, b in spans for x, y in within if max(a, x) < min(b, y)]


def strangers(own):
    """Jobs whose end was observed, but before it nothing of their context since the daemon looked again: which ring
    such an end is of is not known, so it may not be counted"""
    seen = {}
    for j in own:
        for what in 'submit', 'run':
            if event(j, what):
                seen.setdefault(j.ctx, []).append(getattr(j, 't_' + what))
    starts = [t for t, looks in observed.at if looks]
    def known(j):
        since = max([t for t in starts if t <= j.t_done], default=0)
        return any(since <= t < j.before_done for t in seen.get(j.ctx, ()))
    return [j for j in own if event(j, 'done') and not known(j)]


def freed_by(j):
    """A job that was queued when its process was killed: the scheduler freed it without an event"""
    return died[j.pid] + SETTLE * 10**9


def check_counts(jobs, lost):
    bad, said = [], []
    end = now()
    dirs = ring_dirs()
    for (ring,), own in gputruth.by(jobs, 'ring').items():
        if ring not in dirs:
            bad.append('%s is missing' % ring)
            continue
        s = {k: int(v) for k, v in keyed(dirs[ring] + '/stats').items() if v.isdigit()}
        n = {w: collections.Counter(event(j, w) for j in own if getattr(j, 't_' + w)) for w in EVENTS}
        for what, key in zip(EVENTS, ('submitted', 'committed', 'completed')):
            least = n[what][True] - lost - (len(strangers(own)) if what == 'done' else 0)
            between(bad, '%s %s' % (ring, key), s[key], least, n[what][True] + n[what][None])
        seen = [j for j in own if event(j, 'submit') or event(j, 'run')]
        maybe = [j for j in own if None in (event(j, 'submit'), event(j, 'run')) and j not in seen]
        # of a process that was killed there is no end
        unseen = [j for j in seen if event(j, 'done') is False or j.t_done is None]
        vague = [j for j in seen + maybe if j.t_done and event(j, 'done') is None] + \
            [j for j in maybe if event(j, 'done') is False or j.t_done is None]
        between(bad, ring + ' ended_unseen', s['ended_unseen'], len(unseen) - lost, len(unseen) + len(vague) + lost)
        strange = [j for j in own if event(j, 'done') and event(j, 'submit') is False and event(j, 'run') is False]
        vague = [j for j in own if event(j, 'done') is not False and j not in strange and
                 not (event(j, 'submit') or event(j, 'run'))]
        between(bad, ring + ' begin_unseen', s['begin_unseen'], 0, len(strange) + len(vague) + lost)
        for key in 'given_up', 'dropped_table_full':
            between(bad, '%s %s' % (ring, key), s[key], 0, 0)
        peak = int(keyed(dirs[ring] + '/depth')['peak'])
        # jobs whose ends were kept from the daemon count until a later one of their context has ended
        between(bad, ring + ' peak', peak, 1, most_at_once(
            [(j.before_submit, j.t_done or freed_by(j)) for j in own if j.t_submit]) + 1 + (blind and HIDDEN))
        spans = [(j.t_hw_start, j.t_hw_end) for j in own if j.t_hw_start and j.t_hw_end]
        most = covered(clipped(spans, [(a - SLACK, b + SLACK) for a, b in observed.spans(end) + observed.vague]))
        between(bad, ring + ' busy_ns', s['busy_ns'], 0, int(most * 1.05) + SLACK)
        said.append('%s: %d of %d ended, %d unseen, %d unmatched, peak %d, busy %d of %d ms' % (
            ring, s['completed'], len(own), s['ended_unseen'], s['begin_unseen'], peak, s['busy_ns'] / 1e6, most / 1e6))
    return bad, said


def check_report(jobs):
    """A row is a job's, and each of its stages is true or unknown"""
    if 'level=stats' in HOW:
        return []
    known = {('mockgpu0', j.ctx, j.seqno): j for j in jobs}
    for _, own in gputruth.by([j for j in jobs if j.t_run and j.t_done], 'ring').items():
        add_stages(own)
    bad = []
    for row in table(MNT + '/report'):
        if row['ctx'] is None:
            continue
        j = known.get((row['gpu'], int(row['ctx']), int(row['seqno'])))
        if not j or not hasattr(j, 'total'):
            bad.append('report: %s' % row)
            continue
        for stage in STAGES[:3]:
            value = row['t_%s_ns' % stage]
            if value is not None and away(int(value), getattr(j, stage)) >= NEAR:
                bad.append('report: %s of %d:%d is %s, truth %s' % (stage, j.ctx, j.seqno, value, getattr(j, stage)))
    return bad


def lost_events():
    n = int(keyed(MNT + '/status')['events_lost_source'])
    path = MNT + '/backends/bpf/stats'
    if BACKEND == 'bpf':    # Linux 7 skips some
        s = keyed(path)
        n += int(s['events_skipped']) if s.get('events_skipped', '-').isdigit() else 0
    return n + blind


def ended():
    return all(j.t_done or j.result is not None for j in gputruth.read())


def quiet():
    for l in loads:
        l.signal(signal.SIGSTOP)
    ok(wait(ended, 60), 'the mock has ended all jobs')


def check(what):
    quiet()
    bad = ['?']
    def nothing():
        bad[:] = leftovers()
        return not bad
    began = now()
    wait(nothing, SETTLE)
    took = (now() - began) / 1e9
    ok(not bad, '%s: nothing is left %.1f s later' % (what, took), bad[:8])
    jobs = gputruth.read()
    bad, said = check_counts(jobs, lost_events())
    bad += check_users(jobs)
    for s in said:
        print('#', s)
    print('# lost: %d' % lost_events())
    ok(not bad, what + ': the counts are the truth', bad)
    bad = check_report(jobs)
    ok(not bad, what + ': no time is made up', (len(bad), bad[:4]))
    for l in loads:
        l.signal(signal.SIGCONT)


def mount():
    subprocess.run([PROG, MNT, '-o', 'conf=conf,backend=' + BACKEND], check=True)
    for option in HOW.split(',')[1:]:
        put('config/' + option.split('=')[0], option.split('=')[1])


def pid_of_daemon():
    r = subprocess.run(['pgrep', '-f', '^[^ ]*mount.gputrace %s( |$)' % MNT], stdout=subprocess.PIPE, text=True)
    return int(r.stdout.split()[0])


LEVEL = 'stats' if 'level=stats' in HOW else 'normal'


def began():
    """In the midst of work"""


def off_and_on():
    for i in range(2):
        observed.change(False, lambda: put('config/level', 'off'))
        work()
        observed.change(True, lambda: put('config/level', LEVEL))
        work()


def stop_and_start():
    for i in range(2):
        observed.change(False, lambda: put('control', 'stop'))
        work()
        observed.change(True, lambda: put('control', 'start'))
        work()


def rescan():
    observed.change(True, lambda: put('control', 'rescan'))
    work()


def overflow():
    pid = pid_of_daemon()
    os.kill(pid, signal.SIGSTOP)
    work(200)
    os.kill(pid, signal.SIGCONT)
    work()


def off_until_idle():
    observed.change(False, lambda: put('config/level', 'off'))
    quiet()
    observed.change(True, lambda: put('config/level', LEVEL))


def ends_filtered():
    global blind
    # only ftrace has an instance; the daemon cannot know what its filter leaves out
    for path in glob.glob('/sys/kernel/tracing/instances/gputrace-%d/events/gpu_scheduler/*' % pid_of_daemon()):
        name = os.path.basename(path)
        if name not in ('drm_sched_process_job', 'drm_sched_job_done'):
            continue
        before = len([j for j in gputruth.read() if j.t_done])
        with open(path + '/filter', 'w') as f:
            f.write('fence & 0x400' if name == 'drm_sched_process_job' else 'fence_seqno & 3')
        work(100)
        with open(path + '/filter', 'w') as f:
            f.write('0')
        blind += len([j for j in gputruth.read() if j.t_done]) - before
    work()


def killed():
    # Linux 6.1 leaks a fence where the job that runs ends while the scheduler frees those queued behind it
    victim = Load(1003, 7, 2000, 200, '300000')
    ok(wait(lambda: victim.submitted() >= 150, 60), '150 jobs are queued')
    victim.signal(signal.SIGKILL)
    victim.p.wait()
    died[victim.p.pid] = now()


def short_lived():
    """Each has a job, and ends at once"""
    quiet()
    for i in range(25):
        Load(1004, 100, 1, 1, '100').p.wait()


def check_users(jobs):
    bad = []
    for (uid,), own in gputruth.by(jobs, 'uid').items():
        try:
            s = keyed('%s/users/%d/stats' % (MNT, uid))
        except OSError:
            bad.append('no user %d' % uid)
            continue
        n = collections.Counter(event(j, 'submit') for j in own)
        between(bad, 'user %d submitted' % uid, int(s['submitted']), n[True] - lost_events(), n[True] + n[None])
        if s['in_flight'] != '0':
            bad.append('user %d in_flight: %s' % (uid, s['in_flight']))
    return bad


PHASES = began, off_and_on, stop_and_start, rescan, overflow, off_until_idle, ends_filtered, killed, short_lived


def main():
    os.makedirs(MNT, exist_ok=True)
    with open('conf', 'w') as f:
        f.write('[backend ftrace]\nbuffer_size = 65536\n')
    ok(work(100), 'work is under way')
    observed.change(True, mount)
    for phase in PHASES:
        if phase.__name__ not in os.environ.get('PHASES', phase.__name__).split():
            continue
        work()
        phase()
        check(phase.__name__)


try:
    main()
finally:
    for l in loads:
        l.signal(signal.SIGSTOP)
    wait(ended, 60)  # see killed()
    for l in loads:
        l.signal(signal.SIGKILL)
        l.p.wait()
    subprocess.run(['umount', MNT])
