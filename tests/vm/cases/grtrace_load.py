# SPDX-License-Identifier: GPL-2.0
"""What grtrace_load.sh has read: sessions/, calls/, hotplug/, no-overwrite/ and overwrite/."""
import collections
from grtdecode import OVERWRITE, STOPPED, read
from tap import ok


def stats(path):
    return {k: int(v) for k, v in (line.strip().split('=') for line in open(path))}


def sound(files, what):
    ok(not [f.faults for f in files if f.faults], what + ': every record is as grtrace(5) says',
       [f.faults[:3] for f in files])
    ok(all(f.fields == (2, 2, 4, 8, 8, 8, 2, 2, 4, 4) for f in files), what + ': METADATA')


def numbered(files, what):
    """gseq: each number once, and in each file going up"""
    by = collections.defaultdict(list)
    for f in files:
        for e in f.events:
            by[e.session].append(e.gseq)
        up = all(a.gseq < b.gseq and a.ts <= b.ts for a, b in zip(f.events, f.events[1:])
                 if a.session == b.session)
        ok(up, '%s: cpu %d: numbers and times go up' % (what, f.cpu))
    ok(all(len(set(n)) == len(n) for n in by.values()), what + ': no number twice')


def overrun(mode):
    files, s = read(mode), stats(mode + '/stats')
    sound(files, mode)
    numbered(files, mode)
    seen, gaps = sum(len(f.events) for f in files), sum(sum(f.lost.values()) for f in files)
    kept = sum(int(l.split()[2]) for l in open(mode + '/types') if not l.startswith('#'))
    types = {l.split()[0]: int(l.split()[1]) for l in open(mode + '/types') if not l.startswith('#')}
    ok([types[t] for t in ('SUBMIT', 'COMMIT', 'COMPLETE')] == [600] * 3, mode + ': all were seen', types)
    ok(kept == s['writes_ok'] + s['lost_events'] == s['events_seen'], mode + ': the counters agree', s)
    ok(gaps > 0, mode + ': some were lost', s)
    ok(all(bool(f.info['features'] & OVERWRITE) == (mode == 'overwrite') for f in files), mode + ': is reported')
    print('# %s: read %d, lost by gaps %d, of %d' % (mode, seen, gaps, kept))
    ok(seen + gaps == kept, mode + ': read and lost is done', (seen, gaps, kept))
    ok(all(f.info['features'] & STOPPED for f in files), mode + ': the end is reported')
    if mode == 'no-overwrite':
        ok(seen == s['writes_ok'] and gaps == s['lost_events'], mode + ': what was written was read', (seen, s))
    else:
        ok(s['overruns'] > 0 and s['lost_events'] == 0, mode + ': the oldest went', s)


def sessions():
    files = read('sessions')
    sound(files, 'sessions')
    numbered(files, 'sessions')
    ok(all(len(f.sessions) == 2 and f.sessions == files[0].sessions for f in files),
       'two sessions, the same in each file', [f.sessions for f in files])
    first, second = files[0].sessions
    count = collections.Counter((e.session, e.type) for f in files for e in f.events)
    for session, jobs in (first, 30), (second, 20):
        got = [count[session, t] for t in ('SUBMIT', 'COMPLETE')]
        ok(got == [jobs, jobs], 'jobs of a session', got)
    table = {int(l.split()[0]): l.split()[1:] for l in open('sessions/table') if not l.startswith('#')}
    ok(all(table[n][1:] == [name, driver or '-', dev or '-'] for f in files
           for n, (dev, name, driver, _) in f.rings.items()), 'rings are those of the table')


def calls():
    files = read('calls')
    sound(files, 'calls')
    events = sorted((e for f in files for e in f.events), key=lambda e: e.gseq)
    none = 0xffffffffffffffff
    ok({f.rings[e.ring][1] for f in files for e in f.events} == {'mock'}, 'their ring')
    us = (events[0].pid, events[0].tid, events[0].uid)
    ok(us[0] > 0 and us[2] == 0 and all((e.pid, e.tid, e.uid) == us for e in events if e.type in (
        'COMMIT', 'START', 'END', 'COMPLETE', 'ERROR', 'SYNC_WAIT_EXIT')),
       "a job's events are its submitter's, in interrupts too", events)
    got = [(e.type, e.ctx, e.seqno, e.value, e.name) for e in events]
    ok(got == [('SUBMIT', 3, 4, none, None), ('COMMIT', 3, 4, none, None), ('START', 3, 4, none, None),
               ('CTX_SWITCH', 3, none, 2, None), ('SYNC_WAIT_ENTER', 3, 4, none, None),
               ('IRQ', none, none, 9, None), ('END', 3, 4, none, None),
               ('COMPLETE', 3, 4, none - 61, None), ('ERROR', 3, 4, 1, None),
               ('SYNC_WAIT_EXIT', 3, 4, 1000000, None), ('CUSTOM', none, none, 4711, 'sixteen letters!')],
       'each call is an event', got)
    want = {'CTX_SWITCH': 1, **{t: e.ts - events[0].ts for e in events for t in ('COMMIT', 'COMPLETE')
                                if e.type == t}}
    ok([e.ref for e in events] == [want.get(e.type, none) for e in events], 'and what its ref says')


def hotplug():
    files, s = read('hotplug'), stats('hotplug/stats')
    sound(files, 'hotplug')
    numbered(files, 'hotplug')
    seen = sum(len(f.events) for f in files)
    ok(seen == s['writes_ok'] and seen > 500, 'with CPUs coming and going: all that was written',
       (seen, s))
    ok(seen + s['lost_events'] == s['events_seen'], 'read and lost is seen', (seen, s))
    ok(s['lost_events'] == 0 and not any(sum(f.lost.values()) for f in files), 'nothing was lost')
    steps = collections.defaultdict(set)
    for f in files:
        for e in f.events:
            steps[e.ctx, e.seqno].add(e.type)
    whole = sum({'SUBMIT', 'COMMIT', 'COMPLETE'} <= t for t in steps.values())
    ok(whole > 100, 'jobs have all their steps, wherever these were', whole)


for m in 'no-overwrite', 'overwrite':
    overrun(m)
sessions()
calls()
hotplug()
