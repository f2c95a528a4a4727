# SPDX-License-Identifier: GPL-2.0
"""settings.py TREE GPUTRACE.CONF: every file of config/ takes what it should and nothing else.

What a number or a choice takes is read from the commented gputrace.conf; of other settings it is in the
table below. A file of config/ that neither knows of fails the test."""
import errno
import multiprocessing
import os
import re
import sys

from tap import ok
from written import written

tree, conf = sys.argv[1:]
# name: (what it takes, as it reads back; what it does not take, and why)
OTHERS = {
    'filter_pid': ({'1': '1', '1234,5678': '1234,5678'}, {'x': errno.EINVAL, '1,': errno.EINVAL}),
    'filter_uid': ({'0': '0', '1000,0': '1000,0'}, {'x': errno.EINVAL, ',1': errno.EINVAL}),
    'filter_ring': ({'0': '0', 'sdma*,gfx': 'sdma*,gfx'}, {',': errno.EINVAL}),
    'filter_engine': ({'COPY': 'COPY', 'GRAPHICS,COMPUTE': 'GRAPHICS,COMPUTE'}, {'NOTHING': errno.EINVAL}),
    'filter_events': ({'SUBMIT,COMPLETE': 'SUBMIT,COMPLETE'}, {'SUBMITTED': errno.EINVAL}),
    'watchlist': ({'0,1': '0,1', '!2': '!2'}, {'!': errno.EINVAL}),
    'watchlist_ctx': ({'7,9': '7,9', '!7': '!7'}, {'x': errno.EINVAL}),
}
GARBAGE = ['x', '1 2', '0x1g', '1.5', '+1', 'é', '%s%n', '[', '1;2', '=']


def known():
    """{key: (least, most) or [names]} by the comments of gputrace.conf"""
    out, comment = {}, ''
    for line in open(conf):
        if line.startswith(';') and ' = ' not in line and not re.match(r';\w+ =$', line):
            comment += ' ' + line[1:].strip()
            continue
        key = re.match(r';(\w+) =', line)
        if key:
            number = re.search(r'\((\d+) to (\d+)\)', comment)
            names = re.search(r'\(one of ([^)]*)\)', comment)
            value = line.split('=')[1].strip()
            if number:
                out[key[1]] = int(number[1]), int(number[2])
            elif names:
                out[key[1]] = names[1].split(', ')
            elif value in ('0', '1'):
                out[key[1]] = ['0', '1']
        comment = ''
    return out


def read(name):
    return open('%s/%s' % (tree, name)).read().rstrip('\n')


def write(name, data):
    return written('%s/%s' % (tree, name), data)


def takes(what):
    """What is taken, and how it reads back; what is not, and with which errno"""
    if isinstance(what, tuple):
        low, high = what
        good = {str(v): str(v) for v in (low, high, (low + high) // 2)}
        bad = {str(high + 1): errno.ERANGE, '9' * 30: errno.ERANGE, '': errno.EINVAL}
        if low:
            bad[str(low - 1)] = errno.ERANGE
        return good, bad
    if what == ['0', '1']:
        return {'0': '0', '1': '1'}, {'2': errno.ERANGE, '': errno.EINVAL}
    good = {name: name for name in what}
    good.update({str(i): name for i, name in enumerate(what)})
    return good, {str(len(what)): errno.ERANGE, what[0] + 'x': errno.EINVAL, what[0].upper(): errno.EINVAL}


def writer(args):
    name, value = args
    return write(name, value)


def check(name, what):
    path = 'config/' + name
    good, bad = OTHERS[name] if what is None else takes(what)
    before = read(path)
    fault = []
    for value, reads in good.items():
        if write(path, value) or read(path) != reads or write(path, read(path)) or read(path) != reads:
            fault.append((value, read(path), open(tree + '/last_cmd_status').read()))
    ok(not fault, '%s takes what it should, to its bounds: %s' % (path, fault or ', '.join(good)))
    old, fault = read(path), []
    cases = dict(bad)
    cases.update({g: errno.EINVAL for g in (GARBAGE if what is not None else [])})
    cases.update({b'1\0': errno.EINVAL, b'\0' * 100: errno.EINVAL, b'1\n2\n': errno.EINVAL,
                  bytes(range(1, 256)): errno.EINVAL, b'1' * 4097: errno.E2BIG, os.urandom(1 << 20): errno.E2BIG,
                  b'1,' * (1 << 19): errno.E2BIG})
    for value, err in cases.items():
        got, said = write(path, value), open(tree + '/last_cmd_status').read()
        if got != err or read(path) != old or not said.startswith(path + ': ') or len(said) < len(path) + 12:
            fault.append((value[:20], errno.errorcode.get(got, got), errno.errorcode[err], read(path), said))
    ok(not fault, '%s refuses the rest, says why and stays as it was: %s' % (path, fault or ''))
    values = (list(good) + list(bad)) * 50
    with multiprocessing.Pool(50) as pool:
        got = pool.map(writer, [(path, v) for v in values[:50]], 1)
    wrong = [(v, g) for v, g in zip(values, got) if g != (0 if v in good else bad[v])]
    ok(not wrong and read(path) in good.values(), '%s: 50 writers at once: %s' % (path, wrong or read(path)))
    ok(write(path, before) == 0 and read(path) == before, path + ' is as it was: ' + before)


kinds = known()
names = sorted(n for n in os.listdir(tree + '/config') if not n.startswith('available_'))
ok(len(names) > 3, 'there are settings')
first = {n: read('config/' + n) for n in names}
for n in names:
    if n in kinds or n in OTHERS:
        check(n, None if n in OTHERS else kinds[n])
    else:
        ok(False, 'config/%s: what it takes is not known to this test' % n)
for n in names:
    if isinstance(kinds.get(n), list) and kinds[n] != ['0', '1']:
        ok(read('config/available_' + n).split(' ') == kinds[n], '%s: what there is to choose from is beside it' % n)
for n in sorted(names, key=lambda n: n != 'profile'):  # which sets others
    write('config/' + n, first[n])
now = {n: read('config/' + n) for n in names}
ok(now == first, 'all are as they were: %s' % {n: now[n] for n in names if now[n] != first[n]})
