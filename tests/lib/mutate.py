# SPDX-License-Identifier: GPL-2.0
"""mutate.py [N [SEED [PATH...]]] - do the tests see one-line faults? Makes N (40), one at a time, in a copy of the tree.

A fault is one of: a comparison that is another one, && for ||, a sum for a difference, a statement that updates
something and is gone, true for false, a flag or a `gen` of a file's row that is gone. Its place is chosen at random in
the PATHs (fs and backend), from lines that gcc compiles on this machine, and none is made twice. For each fault the
copy is built and `run.sh --check` runs; then, if nothing failed, the host's cases with a word of the file's path in
their name, and those NEAREST to its folder. Prints a line for each fault: where, what, and the test that failed first, or MISSED. Takes a minute or two
for each.
"""
import os
import random
import re
import resource
import shutil
import subprocess
import sys

SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), '../..'))
COPY = os.environ.get('MUTATE_DIR', '/var/tmp/gputrace-mutate')
CC = 'ccache cc' if shutil.which('ccache') else 'cc'
# what to change, to what; first the BOUNDS
BOUNDS = 4
FAULTS = [
    (r'(?<=[\w\])]) < (?=[\w(])', ' <= '), (r'(?<=[\w\])]) > (?=[\w(])', ' >= '),
    (r' <= ', ' < '), (r' >= ', ' > '),
    (r' == ', ' != '), (r' != ', ' == '),
    (r' && ', ' || '), (r' \|\| ', ' && '), (r'(?<=\w) \+ (?=\w)', ' - '), (r'(?<=\w) - (?=\w)', ' + '),
    (r'\btrue\b', 'false'), (r'\bfalse\b', 'true'),
    (r'^(\t+)[\w.>\[\]-]+ (?:[+|&-]?=) [^;{}]+;$', r'\1;'), (r'^(\t+)[\w.>\[\]-]+(?:\+\+|--);$', r'\1;'),
    (r'^(\t\s*)\.flags = (\w+) \| .*,$', r'\1.flags = \2,'), (r'^(\t\s*)\.gen = \w+,$', r'\1'),
]
# whether a bound belongs to the smaller or the greater one of two makes no difference, in one line or in two
EITHER = re.compile(r'(\S+) [<>]=? (\S+) \? ((\1|\2) : (\1|\2)|(\1 - \2|\2 - \1) : 0)\b'
                    r'|if \((\S+) [<>]=? (\S+)\)\n\s*(\7 = \8|\8 = \7);')

# cases that compare what a folder does with what another program says, without its name
NEAREST = {'fs/model': 'truth phantoms pauses windows handed', 'backend/replay': 'phantoms packed perf nvidia_text',
           'backend/eventmap': 'bpf_tracepoint bpf_args bpf_jobs'}


def run(command, **how):
    return subprocess.run(command, shell=True, cwd=COPY, capture_output=True, text=True, errors='replace', **how)


def places(paths):
    out = []
    for path in run('git ls-files -- ' + ' '.join(paths)).stdout.split():
        if not path.endswith('.c') or '/kmod/' in path:  # a kernel's: not built here
            continue
        lines = open(os.path.join(COPY, path)).readlines()
        for at, line in enumerate(lines):
            if re.match(r'\s*(/?\*|#|//)|.*(for \(|"|gt_log)', line):
                continue
            either = EITHER.search(line + ''.join(lines[at + 1:at + 2]))
            either = either and either.start() < len(line)
            out += [(path, at, f) for f in range(len(FAULTS)) if re.search(FAULTS[f][0], line.rstrip('\n')) and not (
                either and f < BOUNDS)]
    return out


def failed(output):
    m = re.search(r'^FAILED +(\S+)', output, re.M)
    return m.group(1) if m else None


def caught(path):
    built = run('make -s -j2 tools CC="%s"' % CC)
    if built.returncode:
        return 'make'
    check = failed(run('tests/run.sh --check test_').stdout) or failed(run('tests/run.sh --check').stdout)
    if check:
        return check
    words = [w for w in re.split(r'[/_.]', path)[1:-1] if len(w) > 3] + NEAREST.get(os.path.dirname(path), '').split()
    return failed(run('tests/run.sh ' + ' '.join(words)).stdout) if words else None


def main(n=40, seed=1, *paths):
    shutil.rmtree(COPY, ignore_errors=True)
    subprocess.run(['git', 'clone', '-q', SOURCE, COPY], check=True)
    os.environ.update(CCACHE_BASEDIR=COPY, CCACHE_NOHASHDIR='1', TIME_LIMIT='150')
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))  # a fault may take all there is
    rand, missed, done = random.Random(int(seed)), 0, 0
    found = places(paths or ('fs', 'backend'))
    by = caught('')
    if by:
        sys.exit('without a fault: %s fails' % by)
    while done < int(n):
        fault = rand.randrange(len(FAULTS))
        choice = [p for p in found if p[2] == fault]
        if not choice:
            continue
        path, at, _ = place = rand.choice(choice)
        found.remove(place)
        whole = open(os.path.join(COPY, path)).read()
        lines = whole.split('\n')
        was = lines[at]
        where = rand.choice(list(re.finditer(FAULTS[fault][0], was)))
        lines[at] = was[:where.start()] + where.expand(FAULTS[fault][1]) + was[where.end():]
        with open(os.path.join(COPY, path), 'w') as f:
            f.write('\n'.join(lines))
        by = caught(path)
        with open(os.path.join(COPY, path), 'w') as f:
            f.write(whole)
        if by == 'make':  # no fault that a test could see
            continue
        done += 1
        missed += by is None
        print('%s:%d: %s -> %s: %s' % (path, at + 1, was.strip(), lines[at].strip() or 'nothing', by or 'MISSED'), flush=True)
    print('%d of %d faults were found' % (done - missed, done))
    shutil.rmtree(COPY)


main(*sys.argv[1:])
