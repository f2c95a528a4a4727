#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a log of AMD's runtime holds, reckoned by regular expressions over its text alone: how many
lines of which kind, and how many records of which type. It shares nothing with backend/amdlog."""
import collections, re, sys

LINE = re.compile(r'(?:\x1b\[[\d;]*[A-Za-z]|[ \ufeff])*:(\d):[^\n]*?:\s*(\d+)\s*: (?:(\d+)d? us:(?= |$) ?)?(.*)$')
ROCR = re.compile(r':[^:]*:\d+\s*: \d+ us: .*\[\*\*\*rocr\*\*\*\]')
INNER = re.compile(r':(\d):[^:\n]*:(\d+)\s*: (\d+)d? us:(?= |$) ?(.*)$')
THREAD = re.compile(r'\s*(?:(\d+)\s*: \[tid:0x(\w+)\]|\[pid:(\d+)\s*(?:tid:\s*(?:0x)?\s*(\w+)\s*)?\]|\[(?:0x)?([0-9a-f]+)\])')
NAMES = [  # a message of use, and what it gives
    ('ShaderName : .', 'kernel'), (r'(SWq=\w+, )?HWq=(0x)?[0-9a-f]+.* (\w*Dispatch) Header = ', 'packet'),
    (r'(SWq=\w+, )?HWq=(0x)?[0-9a-f]+.*Barrier\w* Header = ', 'barrier'), (r'AQL dispatch failed', 'refused'),
    (r'Command \(KernelExecution\) enqueued: (0x)?[0-9a-fA-F]', 'command'), (r'Command \([^)]*\) enqueued: (0x)?[0-9a-fA-F]', 'othercommand'),
    (r'[aA]cquireQueue refCount: ?(0x)?[0-9a-f]+ \(\d', 'acquired'), (r'releaseQueue refCount: ?(0x)?[0-9a-f]+ \(\d', 'released'),
    (r'[sS]elected queue.*efCount: ?(0x)?[0-9a-f]+ \(\d', 'selected'), (r'[cC]reated (SWq=|hardware queue )(0x)?[0-9a-f]', 'created'),
    (r'Deleting hardware queue (0x)?[0-9a-f]', 'deleted'), (r'Signal = \((0x)?[0-9a-f]+\).*start/end = \d+ / \d', 'signal'),
    (r'Handler: .*value\(0\).*handle\((0x)?[0-9a-f]', 'handler'), (r'HSA .*src=.*size=\d|HSA .*size=\d.*src=', 'hsacopy'),
    (r'hip\w*: Returned ', 'return'), (r'hip\w* \(', 'call'), (r'Callback: Queue \S+ aborting', 'abort')]
BROKEN = re.compile(r'\[pid:|([aA]cquireQueue|releaseQueue) refCount:|ShaderName : *$|Command \([^)]*$|Command \([^)]*\) enqueued: ?$|'
                    r'(SWq=\S*, )?HWq=(?![0-9a-f])|Signal = \(|[cC]reated SWq=')

def read(path):
    """Lines by kind, what the used ones are, and the first damaged one."""
    kinds, used, first, head, now = collections.Counter(), [], None, None, False
    text = open(path, 'rb').read().decode('utf-8', 'surrogateescape')
    lines = text.split('\n')
    if lines[-1] == '':
        lines.pop()
    for i, line in enumerate(lines, 1):
        line = line.rstrip('\r')
        m = LINE.match(line)
        begins = re.match(r'(?:\x1b\[[\d;]*[A-Za-z]| )*:\d:', line)
        if '\0' in line:
            kinds['damaged'] += 1
            first = first or i
            continue
        if not m and not begins:
            m = next((INNER.match(line, k.start()) for k in re.finditer(':', line) if INNER.match(line, k.start())), None)
        if m:
            rest, us = m[4], m[3]
            t = THREAD.match(rest) if us else None
            msg, tid = (rest[t.end():], t[2] or t[4] or t[5]) if t else (rest, None)
            msg = re.sub(r'^(?:\x1b\[[\d;]*[A-Za-z]|[ !\t])*|(?:\x1b\[[\d;]*m|[ \r])*$', '', msg)
            now |= bool(us)
            head = (us, tid) if not msg else None
        elif head and not begins and line.strip():
            (us, tid), msg, head = head, line.strip(), None
        elif ROCR.match(line):
            kinds['other'] += 1
            continue
        else:
            head = None
            kinds['damaged' if begins else 'foreign'] += 1
            first = first or (i if begins else None)
            continue
        what = next((w for r, w in NAMES if re.match(r, msg)), None)
        if not what and BROKEN.match(msg):
            kinds['damaged'] += 1
            first = first or i
        elif not what:
            kinds['other'] += 1
        elif not now:
            kinds['untimed'] += 1
        else:
            kinds['other' if what in ('call', 'return') and not msg.startswith('hipMemcpy') else 'used'] += 1
            used.append((what, tid))
    kinds['lines'] = len(lines)
    return kinds, used, first

def records(used):
    n, waits = collections.Counter(), {}
    nearer = any(w in ('kernel', 'packet') for w, _ in used)
    for what, tid in used:
        if what == 'packet':
            n['DISPATCH'] += 1
            waits.pop(tid, None)
        elif what == 'kernel':
            n['DISPATCH'] += tid in waits
            waits[tid] = 1
        elif what == 'refused':
            n['ERROR'] += 1
            waits.pop(tid, None)
        elif what in ('call', 'return'):
            n['DISPATCH'] += waits.pop(tid, 0)
        elif what == 'command' and not nearer:
            n['DISPATCH'] += 1
        n['ERROR'] += what == 'abort'
    n['DISPATCH'] += sum(waits.values())
    return n

if __name__ == '__main__':
    for path in sys.argv[1:]:
        kinds, used, first = read(path)
        n = records(used)
        print(*('%s=%d' % (k, kinds[k]) for k in ('lines', 'used', 'other', 'foreign', 'untimed', 'damaged')),
              'first_damaged=%s' % (first or '-'), 'DISPATCH=%d ERROR=%d' % (n['DISPATCH'], n['ERROR']))
