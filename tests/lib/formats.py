# SPDX-License-Identifier: GPL-2.0
"""formats.py MNT WHAT [UID]: every file of a mount, as that user reads it, is in gputrace-files(5), and has the format,
the columns or the keys that the page says; and other programs make the same of each table.

A table: names of columns, then rows of as many cells, each in its column. Keyed: a key and a value a line. A value: one
line. Numbers end with their unit, as far as a name says that it has one.
"""
import csv
import fnmatch
import io
import os
import re
import subprocess
import sys

try:
    import pandas
except ImportError:
    pandas = None

from tap import ok

NAME = re.compile(r'^[a-z][a-z0-9_]*$')
WRONG_UNIT = re.compile(r'_(ms|uw|uj|mw|millicelsius|sec|seconds)$|%')
KNOWN_UNITS = {'evicted_ms'}
ESCAPED = re.compile(r'^[^\s\\]*(\\[0-3][0-7]{2}[^\s\\]*)*$')
GPU = r'(?!(?:config|backends|proc|users|cgroups|by-id)\b)[^/]+'


class Page:
    """The list of files: [(directory as an expression, {name: (format, fields)})]"""

    def __init__(self, path):
        self.dirs = []
        files = item = None
        text = open(path).read().partition('BEGIN FILES')[2].partition('END FILES')[0]
        for line in text.splitlines():
            macro, _, rest = line.partition(' ')
            if macro == '.Ss':
                files, item = {}, None
                self.dirs.append(('' if rest == 'The root' else self.expression(rest) + '/', files))
            elif macro == '.It':
                name, what = re.match(r'Pa (\S+) Pq ([a-z ]+?)(?: ,.*)?$', rest).groups()
                item = files[self.expression(name)] = (what, [])
            elif macro == '.Cm':
                item[1].extend(rest.split())

    @staticmethod
    def expression(path):
        if ', ' in path:
            return '(?:%s)' % '|'.join(Page.expression(p) for p in path.split(', '))
        path = re.escape(path)
        return re.sub(r'<\w+>', '[^/]+', path.replace('<path>', '.+').replace('<gpu>', GPU))

    def find(self, path):
        """(format, fields) of a file; None if the page has no such file"""
        for folder, files in self.dirs:
            for name in files:
                if re.fullmatch(folder + name, path):
                    return files[name]
        return None


def lines_up(lines):
    """Each column begins, or for numbers ends, at one place"""
    spans = [[m.span() for m in re.finditer(r'\S+', line)] for line in lines]
    for c in range(len(spans[0])):
        if len({s[c][0] for s in spans}) > 1 and len({s[c][1] for s in spans}) > 1:
            return False
    return True


def name_fault(name):
    if not NAME.match(name):
        return 'no name: %r' % name
    if WRONG_UNIT.search(name) and name not in KNOWN_UNITS:
        return 'unit: ' + name
    return None


def table_fault(lines, columns):
    if lines[0].split() != columns:
        return 'columns %s' % lines[0]
    for line in lines[1:]:
        if len(line.split()) != len(columns):
            return '%d cells in %r' % (len(line.split()), line)
        for cell in line.split():
            if not ESCAPED.match(cell):
                return 'not escaped: ' + cell
    return None if lines_up(lines) else 'columns do not line up'


def keyed_fault(lines, keys):
    for line in lines:
        key, _, value = line.partition(' ')
        if not value or not any(fnmatch.fnmatchcase(key, k) for k in keys):
            return 'key %r' % line
        if name_fault(key):
            return name_fault(key)
    return None


def fault(text, what, fields):
    if what in ('text', 'value') and not text:
        return None
    if what != 'keyed' and not text:
        return 'empty'
    if text and not text.endswith('\n'):
        return 'the last line has no end'
    lines = text.splitlines()
    if what == 'text' or lines == ['unavailable']:
        return None
    if what == 'value':
        return None if len(lines) == 1 else '%d lines' % len(lines)
    if what == 'keyed':
        return keyed_fault(lines, fields)
    return next((name_fault(f) for f in fields if name_fault(f)), None) or table_fault(lines, fields)


def others_fault(path):
    """Whether column(1), Python's csv, awk and pandas, where it is installed, make the same of a table: of one text, as the
    next may have other rows"""
    with open(path) as f:
        text = f.read()
    cells = [line.split() for line in text.splitlines()]
    out = subprocess.run(['column', '-t'], input=text, capture_output=True, text=True).stdout
    if [line.split() for line in out.splitlines()] != cells:
        return 'column -t: ' + out[:200]
    if list(csv.reader(out.splitlines(), delimiter=' ', skipinitialspace=True)) != cells:
        return 'csv'
    n = subprocess.run(['awk', 'NR == 1 { n = NF } NF != n { print }'], input=text, capture_output=True, text=True).stdout
    if n:
        return 'awk: ' + n[:200]
    if pandas:
        frame = pandas.read_csv(io.StringIO(text), sep=r'\s+', dtype=str, keep_default_na=False)
        if [list(frame.columns)] + frame.values.tolist() != cells:
            return 'pandas'
    return None


def main(mnt, what, uid=None):
    if uid:
        os.setgroups([])
        os.setgid(int(uid))
        os.setuid(int(uid))
    page = Page(os.path.join(os.path.dirname(__file__), '../../fs/gputrace-files.5'))
    bad, n, tables, keyed, others = [], 0, 0, 0, []
    for folder, _, names in os.walk(mnt):
        for name in names:
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, mnt)
            form = page.find(inside)
            if not form:
                bad.append('%s is not in the page' % inside)
                continue
            if os.path.islink(path) or form[0].endswith('pipe'):
                continue
            try:
                with open(path, newline='', errors='surrogateescape') as f:
                    text = f.read()
            except OSError:
                continue
            n += 1
            tables += form[0] == 'table'
            keyed += form[0] == 'keyed'
            why = fault(text, *form)
            if why:
                bad.append('%s: %s: %s' % (inside, form[0], why))
            elif form[0] == 'table' and not uid and text != 'unavailable\n':
                others += [inside + ': ' + why for why in [others_fault(path)] if why]
    ok(not bad, '%s: every file is as gputrace-files(5) says' % what, bad[:6])
    if not uid:
        ok(not others, '%s: column, csv, awk and %s read every table' % (what, 'pandas' if pandas else '(pandas is not installed)'), others[:6])
    ok(n > 50 and tables > 10 and keyed > 5, '%s: %d files, %d tables, %d keyed' % (what, n, tables, keyed))


main(*sys.argv[1:])
