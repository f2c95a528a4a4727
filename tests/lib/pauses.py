# SPDX-License-Identifier: GPL-2.0
"""pauses.py MOUNT: a simulation observed, paused by the level and by `control`, and observed again.

Averages are of the time that was observed. It is not known to the nanosecond when a write took effect: it
was between the moments before and after it, so each expected value has a lower and an upper bound.

The values hold while what was observed is within the average's 10 or 60 s. A machine that is too busy for that has
another attempt, from a clear on: an average that is wrong is so in each.
"""
import sys
import time

import tables
from tap import ok

mnt = sys.argv[1]
now = time.monotonic
WIDE = 0.002  # two decimals, and a job that ended between two reads
PATIENCE = 120  # s of attempts
found = []  # by this attempt: (good, what, got)


def check(cond, what, got=None):
    found.append((bool(cond), what, got))


def read(name):
    with open(mnt + '/' + name) as f:
        return f.read()


def write(name, text):
    before = now()
    with open(mnt + '/' + name, 'w') as f:
        f.write(text + '\n')
    return before, now()


def row(name, *first):
    """The row whose first cells are @first, as {column: cell}"""
    for r in tables.rows(mnt + '/' + name):
        if tuple(r.values())[:len(first)] == first:
            return r
    return None


def column(name, first, title):
    r = row(name, *first.split())
    return r and r[title]


def numbers(name, first):
    """{'avg1_per_second': 1.0, ...} of the row that begins with @first; what is not known is left out"""
    return {k: float(v) for k, v in row(name, first).items() if v[0].isdigit()}


def lengths(spans):
    """Shortest and longest that [(began, ended), ...] can have lasted together, each a pair of moments"""
    return (sum(e[0] - b[1] for b, e in spans), sum(e[1] - b[0] for b, e in spans))


def bounds(amounts, spans, wide=WIDE):
    """Of @amounts, (least, most), a second of @spans"""
    shortest, longest = lengths(spans)
    return amounts[0] / longest * (1 - wide) - 0.01, amounts[1] / shortest * (1 + wide) + 0.01


def is_part(measure, what):
    """@measure: (got, (low, high)). On a busy machine a file can be of a moment some milliseconds ago: once is enough.
    All of them together take less than the 10 s of avg10."""
    end = now() + 1.2
    while True:
        try:
            got, (low, high) = measure()
        except (KeyError, ValueError) as e:  # not known
            got, low, high = repr(e), 0, 0
        good = isinstance(got, float) and low <= got <= high
        if good or now() > end:
            break
        time.sleep(0.05)
    check(good, what, '%s, wanted %.3f to %.3f' % (got, low, high))


def percent_seconds(ns):
    return ns / 1e7


def moment(fn):
    before = now()
    got = fn()
    return got, (before, now())


def bounded(fn):
    """What @fn says, and how long the ring was busy before and after that: percent x seconds"""
    before = busy()['total_ns']
    got, at = moment(fn)
    return got, at, (percent_seconds(before), percent_seconds(busy()['total_ns']))


def busy():
    return {k: float(v) for k, v in tables.one_row(mnt + '/sim0/ring0/utilization').items() if v[0].isdigit()}


def wait(condition, what):
    end = now() + 60
    while not condition() and now() < end:
        time.sleep(0.05)
    check(condition(), what)


def none_observed(what):
    wait(lambda: column('rings', 'sim0 ring0', 'busy_percent') == '-', what + ': rings: no share')
    got = busy()
    check('avg1_percent' not in got and 'avg10_percent' not in got, what + ': utilization: no average', got)
    check('avg60_percent' in got and 'total_ns' in got, what + ': … but of what was observed before', got)
    check(column('perf', 'sim0/ring0', 'utilization_percent') == '-', what + ': perf: no share', read('perf'))
    check(column('aggregate', 'sim0 ring0', 'events') == '-', what + ': aggregate: no events')
    check(column('aggregate', 'sim0 ring0', 'avg_depth') == '-', what + ': aggregate: no depth')
    got = numbers('sim0/ring0/throughput', 'completed')
    check(list(got) == ['total'], what + ': throughput: no rate', got)
    check(column('events_by_type', 'SUBMIT', 'per_second') == '-', what + ': events_by_type: no rate')


def top_sum():
    return sum(float(r['busy_percent']) for r in tables.rows(mnt + '/top') if r['engine'] == 'GRAPHICS')


def observed_again(began, before, jobs, what):
    """@began: when it was observed again; @before, @jobs: busy time and ends of jobs up to then"""
    wait(lambda: now() - began[1] > 3, what)
    for name, fn, wide in (
            ('utilization', lambda: busy()['avg10_percent'], WIDE),
            ('rings', lambda: float(column('rings', 'sim0 ring0', 'busy_percent')), WIDE),
            ('utilization of the GPU', lambda: numbers('sim0/utilization', 'GRAPHICS')['avg10_percent'], WIDE),
            ('top, all processes', top_sum, 0.1)):
        def use():
            got, at, total = bounded(fn)
            return got, bounds([t - percent_seconds(before) for t in total], [(began, at)], wide)
        is_part(use, what + ': ' + name)

    def rate():
        got, at = moment(lambda: numbers('sim0/ring0/throughput', 'completed'))
        return got.get('avg10_per_second'), bounds([got['total'] - jobs] * 2, [(began, at)])
    is_part(rate, what + ': throughput')
    check(float(column('perf', 'sim0/ring0', 'utilization_percent')) > 0, what + ': perf')


def is_avg60(spans, what):
    """@spans: the last one, if it has no end, ends now"""
    def use():
        got, at = moment(busy)
        return got['avg60_percent'], bounds([percent_seconds(got['total_ns'])] * 2, [s if s[1] else (s[0], at) for s in spans])
    is_part(use, what + ': avg60 is of observed time')


def all_of_it():
    """From a clear on"""
    began = write('control', 'clear')
    time.sleep(3)
    off = write('config/level', 'off')
    wait(lambda: read('sim0/ring0/depth').startswith('now 0\n'), 'level off: nothing stays in flight')
    depth = read('sim0/ring0/depth')
    none_observed('level off')
    check(read('sim0/ring0/depth') == depth, 'level off: depth stays as it was', (depth, read('sim0/ring0/depth')))
    got = busy()
    is_avg60([(began, off)], 'level off')
    jobs = numbers('sim0/ring0/throughput', 'completed')['total']
    on = write('config/level', 'normal')
    observed_again(on, got['total_ns'], jobs, 'level normal')
    is_avg60([(began, off), (on, None)], 'level normal')

    paused = [on[0] - off[1], on[1] - off[0]]
    head = dict(line.split() for line in read('timeline_stats').splitlines())
    events, seconds = int(head['events']), int(head['duration_ns']) / 1e9
    got = float(head['events_per_second'])
    low, high = (events / (seconds - p) for p in paused)
    check(low * (1 - WIDE) <= got <= high * (1 + WIDE), 'timeline: rate', (head, low, high))

    stop = write('control', 'stop')
    none_observed('stop')
    got = busy()
    jobs = numbers('sim0/ring0/throughput', 'completed')['total']
    start = write('control', 'start')
    observed_again(start, got['total_ns'], jobs, 'start')


def attempt():
    found.clear()
    if read('control') == 'stop\n':
        write('control', 'start')
    if read('config/level') != 'normal\n':
        write('config/level', 'normal')
    try:
        all_of_it()
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as e:
        check(False, 'all values are known', repr(e))


last = now() + PATIENCE
attempt()
while now() < last and not all(good for good, _, _ in found):
    print('#', [f for f in found if not f[0]])
    attempt()
for good, what, got in found:
    ok(good, what, got)
