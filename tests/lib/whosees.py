#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
whosees.py FOLDER GOLDEN [TOPS] - from what readers found (tests/tools/readways.c) to the table who_sees.txt.

FOLDER has reported/READER.RUN, secrets, gpus (as the file) and place (the path of the test's cgroup). The table goes to
FOLDER/table and is compared with GOLDEN; every check is a line of TAP. With WHO_SEES_WRITE=1 GOLDEN is
written instead; the rules at the end hold all the same.

With TOPS ("drm0,proc") only these folders of a mount of root's were looked at, by one visibility or more: that part
is compared, cell by cell, and what was left out is said.
"""
import difflib
import glob
import os
import re
import sys
import textwrap

from tap import ok

VIEWS = ['all', 'redacted', 'owner']
LETTER = {'OWNER': 'O', 'OTHER': 'T', 'BOX': 'B', 'ROOTLESS': 'U'}
HOME = {'BOX': 'box', 'ROOTLESS': 'rootless'}
SIM = {'5000000': 'SIM-OWNER', '5000001': 'SIM-OTHER', '5000002': 'SIM-OTHER2'}
NUMBERS = ('pid', 'nspid')

# Whom a reader may know of, where visibility is all; and where it is not
MAY = {'root': ('OTBU', 'OTBU'), 'group': ('OTBU', 'OTBU'), 'owner': ('OTBU', 'O'), 'other': ('OTBU', ''),
       'box-root': ('B', 'B'), 'box-user': ('B', 'B'), 'box-owner': ('B', ''), 'rootless-root': ('U', 'U'),
       'user': ('OTBU', 'OTBU'), 'not-root': ('', ''), 'not-owner': ('', ''), 'not-other': ('', '')}
WIDTH = {'mode': 14, 'owner': 11, 'other': 11}  # not by content: a change changes one line
THERE = ['user', 'not-root', 'not-owner', 'not-other']  # at a mount that a user made
HERE = [r for r in MAY if r not in THERE]

HEAD = '''\
# Whose identity is in what a reader gets: pid, comm, uid, context, cgroup or what they wrote. Made by
# tests/cases/who_sees.sh, which tells how to write it anew.
#
# Processes:  O a user's   T another user's   B a container's   U a rootless container's
# A small letter: by a pid that the process does not have in the reader's namespace. It must not be.
# Readers:    root; a member of the group; owner: O's user; other: any user; in the container root, B's
#             user, and O's user; root of the rootless container
# A cell:     .  there, and names nobody     -  not there     x  there, and refused
#             under visibility all / redacted / owner, once where that makes no difference
# For a directory it is what its listing tells, for a link where it leads. {...} are alike.

A mount of root's
=================
'''
MIDDLE = '''
A mount that an ordinary user made, of a recording of the same
==============================================================
# Readers:    that user; root, O's user and any other, whom the kernel does not let in
'''


def read_told(folder):
    """{(reader, view, path): [(run, way, result)]} and {pid: who} for each reader"""
    reported = {}
    for name in sorted(glob.glob(folder + '/reported/*.*')):
        reader, run = os.path.basename(name).split('.')
        for line in open(name, errors='replace'):
            view, path, way, result = line.rstrip('\n').split('\t')
            reported.setdefault((reader, view, path), []).append((run, way, result))
    return reported


class Names:
    """What differs from run to run gets the name of what it stands for; None: no concern of ours."""

    def __init__(self, folder):
        self.pids = dict(SIM)
        self.uids = {'2100000003': 'OTHER2'}
        self.gpus = {line.split()[0] for line in open(folder + '/gpus')} - {'gpu', 'drm0', 'sim0'}
        self.place = open(folder + '/place').read().strip().strip('/')
        for line in open(folder + '/secrets'):
            who, kind, value = line.split()
            if kind in NUMBERS and value not in SIM:
                self.pids[value] = who
            elif kind == 'uid' and value not in self.uids:
                self.uids[value] = who

    def group(self, path):
        full = path[len('cgroups/'):]
        if full == self.place or full.startswith(self.place + '/'):
            return 'cgroups/TEST' + full[len(self.place):].replace('SECRETCG_', '')
        return path if '/' not in full and full in ('latency', 'latency_10s', 'stats', 'utilization') else None

    def of(self, path):
        top = path.split('/')[0]
        if path.startswith('cgroups/'):
            return self.group(path)
        if top in self.gpus:
            return None
        path = re.sub(r'\bproc/(\d+)', lambda m: 'proc/' + self.pids.get(m[1], m[1]), path)
        path = re.sub(r'^users/(\d+)', lambda m: 'users/' + self.uids.get(m[1], m[1]), path)
        return re.sub(r'^sim0/ring\d+', 'sim0/ring{0,1}', path)


def letters(reader, result):
    """{letter: {kinds}} of a result like BOX:comm,BOX:pid"""
    found = {}
    for item in result.split(',') if ':' in result else []:
        who, kind = item.split(':')
        there = reader.startswith(HOME.get(who, 'nowhere') + '-')
        own = kind not in NUMBERS or (kind == 'nspid') == there
        found.setdefault(LETTER[who] if own else LETTER[who].lower(), set()).add(kind)
    return found


class Cell:
    """One file for one reader under one visibility, from all runs and ways"""

    def __init__(self, reader, path, entries):
        self.mode = self.owner = None
        self.there = False
        self.listed, self.errors, self.kinds, self.more = set(), set(), {}, set()
        self.sure, self.numbers, self.odd, self.found = None, None, [], []
        # Who held the ring longest in these rows may be another each time
        self.varies = re.search(r'\bproc/[A-Z0-9-]+/report$', path)
        for run, way, result in entries:
            self.take(reader, path, run, way, result)
        self.letters = (self.sure or set()) | (self.numbers or set())
        if len(self.errors) > 1 or (self.errors and (self.letters or self.absent() and self.there)):
            self.odd.append('refused, and not: %s' % sorted(self.errors))

    def absent(self):
        return 'ENOENT' in self.errors

    def take(self, reader, path, run, way, result):
        pipe = path.split('/')[-1] in ('events', 'trace')
        if way == 'listed':
            self.listed.add(result)
        elif way.endswith(' stat'):
            self.there, self.mode = True, way.split()[0]
            self.owner = ''.join(sorted(letters(reader, result)))
        elif pipe and way == 'sendfile':  # what came since, with a kernel that does it (6.1)
            for c, kinds in letters(reader, result).items():
                if kinds - set(NUMBERS):
                    self.more.add(c)
                    self.kinds.setdefault(c, set()).update(kinds)
        elif pipe and way == 'mmap':
            if result not in ('EINVAL', 'ENODEV', '.'):
                self.odd.append('%s by %s: %s' % (run, way, result))
        elif re.match('E[A-Z0-9]+$', result) and not (pipe and result == 'EAGAIN'):  # no event yet
            self.errors.add(result)
        else:
            self.add(run, way, letters(reader, result))

    def add(self, run, way, found):
        """A pid is any number: it counts if it is there each time. All else must be the same each time."""
        for c in found:
            self.kinds.setdefault(c, set()).update(found[c])
        sure = {c for c in found if found[c] - set(NUMBERS)}
        self.found.append(set(found))
        if self.sure not in (None, sure) and not self.varies:
            self.odd.append('%s by %s: %s, else %s' % (run, way, sorted(sure), sorted(self.sure)))
        self.sure = sure | (self.sure or set())
        self.numbers = set(found) if self.numbers is None else self.numbers & set(found)

    def bound(self, blame):
        """The report of a process: never without it, and nobody whom its blame does not show"""
        if not self.found or self.errors:
            return
        own = set.intersection(*self.found)
        if any(not own or f - blame.letters for f in self.found):
            self.odd.append('%s, but blame: %s' % ([sorted(f) for f in self.found], sorted(blame.letters)))
        self.letters = blame.letters

    def __str__(self):
        if self.errors:
            return '+'.join({'ENOENT': '-', 'EACCES': 'x'}.get(e, e) for e in sorted(self.errors))
        return ''.join(sorted(self.letters, key='OTBUotbu'.index)) or '.'


def build(folder):
    """{path: {reader: {view: Cell}}}; with what differs between files that stand in one line"""
    names, parts = Names(folder), {}
    for (reader, view, path), entries in read_told(folder).items():
        path = names.of(path)
        if path is not None:
            parts.setdefault((path, reader, view), []).append(Cell(reader, path, entries))
    table, differ = {}, []
    for (path, reader, view), cells in parts.items():
        cells.sort(key=lambda c: (c.absent(), str(c)))
        there = [c for c in cells if not c.absent()]  # of the names of one process, one is known
        if len({str(c) for c in there}) > 1:
            differ.append('%s %s %s: %s' % (path, reader, view, [str(c) for c in there]))
        table.setdefault(path, {}).setdefault(reader, {})[view] = cells[0]
    for path, reader, view, cell in each(table):
        if cell.varies and cell.letters:
            cell.bound(table[re.sub('report$', 'blame', path)][reader][view])
    return table, differ


def folded(values):
    return values[0] if len(set(values)) == 1 else '/'.join(values)


ABSENT = Cell('', '', [('', 'stat', 'ENOENT')])


def row(by_reader, readers, first, views):
    """Mode, whom it belongs to, and a cell for each reader"""
    def cell(r, v):
        return by_reader.get(r, {}).get(v, ABSENT)
    modes = folded([(cell(first, v).mode or '-')[:-1] or '-' for v in views])
    owners = folded([cell(first, v).owner or ('.' if cell(first, v).there else '-') for v in views])
    return [modes, owners.replace('.', first)] + [folded([str(cell(r, v)) for v in views]) for r in readers]


def section(directory, rows, width):
    lines = ['', (directory or 'the root') + ':']
    for cells in sorted(rows, key=lambda c: min(rows[c])):
        left = ' '.join('%-*s' % (w, c) for w, c in zip(width, cells))
        wrapped = textwrap.wrap(' '.join(sorted(rows[cells])), 64, break_long_words=False, break_on_hyphens=False)
        lines.append('  %s %s' % (left, wrapped[0]))
        lines += [' ' * (len(left) + 3) + more for more in wrapped[1:]]
    return lines


def render(table, readers, first, views=VIEWS):
    sections = {}
    for path, by_reader in table.items():
        if first not in by_reader:
            continue
        directory, _, name = path.rpartition('/')
        is_dir = any(c.mode and c.mode.endswith('d') for v in by_reader.values() for c in v.values())
        if path:
            cells = tuple(row(by_reader, readers, first, views))
            sections.setdefault(directory, {}).setdefault(cells, []).append(name + ('/' if is_dir else ''))
    heads = ['mode', 'of'] + readers
    width = [max(len(h), WIDTH.get(h, 4)) for h in heads]
    lines = ['', '  ' + ' '.join('%-*s' % (w, h) for w, h in zip(width, heads)) + ' files']
    for directory in sorted(sections):
        lines += section(directory, sections[directory], width)
    return '\n'.join(lines) + '\n'


def each(table):
    for path, by_reader in sorted(table.items()):
        for reader, by_view in by_reader.items():
            for view, cell in by_view.items():
                yield path, reader, view, cell


def may(reader, view, path, letter, kinds):
    """Under redacted it is no secret that a process is there, nor whose, as in /proc: pid and uid of
    those that all would show, in the listing and as the directory's owner."""
    if letter in MAY[reader][view != 'all']:
        return True
    return view == 'redacted' and letter in MAY[reader][0] and kinds <= {'pid', 'nspid', 'uid'} and \
        re.match(r'(\w+/)?proc(/[A-Z0-9-]+)?$', path)


def check_rules(table):
    wrong = ['%s for %s under %s: %s' % (p, r, v, c) for p, r, v, c in each(table)
             if any(not may(r, v, p, x, c.kinds.get(x, set())) for x in c.letters | c.more | set(c.owner or ''))]
    ok(not wrong, 'nobody sees more than they may know', wrong[:20])
    wrong = ['%s for %s under %s: %s' % (p, r, v, c.odd) for p, r, v, c in each(table) if c.odd]
    ok(not wrong, '… by no way, and in no order', wrong[:20])
    wrong = ['%s for %s under %s' % (p, r, v) for p, r, v, c in each(table)
             if p and (c.there and 'no' in c.listed or c.absent() and 'yes' in c.listed)]
    ok(not wrong, 'what is there is listed, and what is not is not', wrong[:20])
    modes = {}
    for p, r, v, c in each(table):
        modes.setdefault((p, v, r in THERE), set()).add(c.mode)
    wrong = [k for k, m in modes.items() if len(m - {None}) > 1]
    ok(not wrong, 'a mode is the same for everybody', wrong[:20])


def compare(text, golden):
    if os.environ.get('WHO_SEES_WRITE') == '1':
        open(golden, 'w').write(text)
    wanted = open(golden).read() if os.path.exists(golden) else ''
    diff = difflib.unified_diff(wanted.splitlines(), text.splitlines(), 'expected', 'seen', '', '', 2, '')
    ok(text == wanted, 'the table is %s' % os.path.basename(golden), '\n# '.join([''] + list(diff)[:60]))


def cells_of(text):
    """{path: its cells as written} of a table's first half, or of one"""
    cells, directory, row_now, heads = {}, '', [], 0
    for line in text.split(MIDDLE)[0].splitlines():
        if line.startswith('  mode '):
            heads = len(line.split()) - 1
        elif re.match(r'\w.*:$', line):
            directory = '' if line == 'the root:' else line[:-1] + '/'
        elif line.startswith('  '):
            words = line.split()
            if re.match(r'  \d{4}', line):
                row_now, words = words[:heads], words[heads:]
            cells.update({directory + name.rstrip('/'): row_now for name in words})
    return cells


def compare_some(table, golden, views, tops):
    """What of GOLDEN is of these views and folders, a line for each file"""
    def lines(cells):
        return ['%s  %s' % (p, ' '.join(cells[p])) for p in sorted(cells)]

    def of_views(cell):
        parts = cell.split('/')
        return folded([parts[VIEWS.index(v) % len(parts)] for v in views])
    everything = cells_of(open(golden).read())
    some = {p: [of_views(c) for c in everything[p]] for p in everything if '/' not in p or p.split('/')[0] in tops}
    seen = cells_of(render(table, HERE, 'root', views))
    diff = list(difflib.unified_diff(lines(some), lines(seen), 'expected', 'seen', '', '', 0, ''))
    what = '%d of the %d files in %s are as it says' % (len(seen), len(everything), os.path.basename(golden))
    ok(some and some == seen, what, '\n# '.join([''] + diff[:60]))
    left_out = sorted({p.split('/')[0] for p in everything if p not in some})
    print('# left out: visibility %s; %s; a mount of a user\'s' % (
        ' and '.join(v for v in VIEWS if v not in views), ' '.join(left_out)))


def main(folder, golden, tops=''):
    table, differ = build(folder)
    ok(not differ, 'files in one line are alike', differ[:20])
    check_rules(table)
    if tops:
        views = {view for _, _, view, _ in each(table)}
        compare_some(table, golden, [v for v in VIEWS if v in views], tops.split(','))
        return
    text = HEAD + render(table, HERE, 'root') + MIDDLE + render(table, THERE, 'user')
    open(folder + '/table', 'w').write(text)
    compare(text, golden)


main(*sys.argv[1:])
