#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Thread traces (ATT) by an independent computation: att.py FILE... -- MOUNTPOINT

FILE: code.json and occupancy.json, however they are called. Says what differs; exit status 1 then."""
import collections
import glob
import json
import sys

bad = []


def same(what, got, want):
    if got != want:
        bad.append("%s: %r, not %r" % (what, got, want))


def texts(mnt, which):
    """By kernel: the lines of its file"""
    out = {}
    for f in glob.glob(glob.escape(mnt) + "/*/kernels/*/" + which):
        with open(f.rsplit("/", 1)[0] + "/name") as n:
            name = n.read().rstrip("\n")
        with open(f, encoding="latin-1") as t:
            out[name] = t.read().splitlines()
    return out


def word(s, size):
    """As a cell of a table, in at most @size bytes with a NUL"""
    out = ""
    for b in s.encode("utf-8"):
        if len(out) + 5 > size:
            break
        out += chr(b) if 0x20 < b < 0x7f and b != 0x5c else "\\%03o" % b
    return out


def hotspots(code, got, stats):
    kernels, name = {}, None
    for row in code:
        if row[0].startswith("; "):
            name = row[3] or row[0][2:]
            kernels[name] = []
        else:
            kernels[name].append(row)
    for name, rows in kernels.items():
        lines = got.pop(name, None) if rows else None
        if not rows:
            continue
        if lines is None:
            bad.append("no hotspots of " + name)
            continue
        sampled = not any(r[7] for r in rows) and any(r[10] + r[11] for r in rows if len(r) > 11)
        value = (lambda r: r[10] + r[11]) if sampled else (lambda r: r[7])
        fields = (lambda r: ("-",) * 4 + tuple(r[10:12])) if sampled else (lambda r: (r[7], r[8], r[9], r[6], "-", "-"))
        body = [l.split() for l in lines[1:]]
        want = {"instructions": str(len(rows)), "rows_left_out": str(len(rows) - len(body)),
                "with_source_percent": "%.2f" % (100.0 * sum(bool(r[3]) for r in rows) / len(rows))}
        if not sampled:
            want.update({k: str(sum(r[i] for r in rows)) for k, i in (("latency_cycles", 7), ("stall_cycles", 8), ("idle_cycles", 9))})
        same(name + ": hotspots_stats", dict(l.split() for l in stats.get(name, [])), want)
        order = [int(b[4]) + int(b[5]) if sampled else int(b[0]) for b in body]
        same(name + ": order", order, sorted((value(r) for r in rows), reverse=True)[:len(body)])
        want = collections.Counter(tuple(str(x) for x in fields(r)) + (word(r[3] or "-", 256), word(r[0], 512)) for r in rows)
        for b in body:
            if want[tuple(b)] == 0:
                bad.append("%s: no such instruction: %r" % (name, b))
            want[tuple(b)] -= 1


def occupancy(doc, got):
    waves = collections.defaultdict(list)  # by dispatch and unit: (begin, end)
    for se, rows in doc.items():
        if not se.isdigit():
            continue
        begun = {}
        for t, cu, simd, slot, begins, dispatch, *_ in sorted(rows, key=lambda r: (r[0], r[4])):
            if begins:
                begun[cu, simd, slot] = (t, dispatch)
            elif (cu, simd, slot) in begun:
                since, of = begun.pop((cu, simd, slot))
                waves[of, int(se), cu].append((since, t))
    done = set()
    for i in sorted(map(int, doc["dispatches"])):
        name = doc["dispatches"][str(i)]
        units = sorted((k[1:], v) for k, v in waves.items() if k[0] == i)
        if not units or name in done:
            continue
        done.add(name)
        want = [["se", "cu", "waves", "peak", "avg_waves", "cycles"]]
        for (se, cu), w in units:
            first, last = min(b for b, _ in w), max(e for _, e in w)
            peak = max(sum(b <= at < e for b, e in w) for at, _ in w)
            row = "%d %d %d %d %.2f %d" % (se, cu, len(w), peak, sum(e - b for b, e in w) / (last - first), last - first)
            want.append(row.split())
        same(name + ": occupancy", [line.split() for line in got.pop(name, [])], want)


files, mnt = sys.argv[1:-2], sys.argv[-1]
shown = {"hotspots": texts(mnt, "hotspots"), "occupancy": texts(mnt, "occupancy")}
for f in files:
    with open(f) as source:
        read = json.load(source)
    if "code" in read:
        hotspots(read["code"], shown["hotspots"], texts(mnt, "hotspots_stats"))
    else:
        occupancy(read, shown["occupancy"])
bad += ["%s of %s: of no file" % (which, name) for which, all_ in shown.items() for name in all_]
print("\n".join(bad), file=sys.stderr)
sys.exit(bool(bad))
