# SPDX-License-Identifier: GPL-2.0
# house.py SOURCE: rules of the sources that a compiler does not know. A line for each place that breaks one.
import os
import re
import subprocess
import sys

os.chdir(sys.argv[1])

# Who includes whom: the first row that fits a file names the only folders and headers that it may include
# besides its own folder's.
INCLUDES = [
    (r'fs/model/', r'backend/([a-z_]+|lib/hash|lib/ioctl_names)\.h|fs/shares\.def'),
    (r'fs/text/', r''),
    (r'fs/gate/', r'backend/lib/rate\.h|conf/|fs/model/'),
    (r'fs/stream/', r'backend/(event|lib/file)\.h|fs/(text|access|model)/'),
    (r'fs/access/', r'backend/event\.h|fs/(app|processes|tree/|shares\.def)'),
    (r'fs/tree/', r'backend/([a-z_]+|host/host|lib/[a-z_]+)\.h|conf/|fs/(?!fuse/)'),
    (r'fs/', r'backend/([a-z_]+|host/host|lib/[a-z_]+)\.h|conf/|fs/'),
    (r'conf/', r'backend/[a-z_/]+\.h|fs/text/'),
    (r'bpf/', r'backend/([a-z_]+|lib/[a-z_]+)\.h'),
    (r'backend/relay/kmod/', r''),
    (r'backend/bpf/', r'bpf/|backend/([a-z_]+\.h|lib/|eventmap/)'),
    (r'backend/replay/', r'backend/([a-z_]+\.h|lib/|eventmap/)|backend/relay/'),
    (r'backend/relay/', r'backend/([a-z_]+\.h|lib/|eventmap/)'),
    (r'backend/ftrace/', r'backend/([a-z_]+\.h|lib/|eventmap/)'),
    (r'backend/lib/(threads|kernel_types)', r'backend/([a-z_]+\.h|lib/|eventmap/)'),
    (r'backend/(amdlog|sysfs|sim|eventmap)/', r'backend/([a-z_]+\.h|lib/)'),
    (r'backend/(host|lib)/', r'backend/([a-z_]+\.h|lib/|host/)'),
    (r'backend/', r'backend/([a-z_]+\.h|lib/)'),
    (r'tests/', r'.*'),
]
# Libraries that one folder has to itself
ONLY = [
    (r'fuse', r'fs/fuse/|tests/'),
    (r'tracefs', r'backend/(ftrace/|lib/(threads|kernel_types))|tests/'),
    (r'bpf/', r'backend/(bpf/|lib/(threads|kernel_types))|bpf/|tests/'),
    (r'sqlite3|yajl|csv\.h', r'backend/rocprof/|tests/'),
]
# Words that the vocabulary of tests/README.md replaces: in names, comments and messages
WORDS = re.compile(r'(?<![a-z])(told|tells?|teller|untold|whose|met)(?![a-z])', re.I)


def files():
    git = subprocess.run(['git', '-c', 'safe.directory=' + os.getcwd(), 'ls-files', '*.c', '*.h'],
                         capture_output=True, text=True)
    if git.returncode == 0 and git.stdout:
        return git.stdout.split()
    return [os.path.join(d, f)[2:] for d, _, names in os.walk('.') for f in names
            if f.endswith(('.c', '.h')) and not d.startswith('./.')]


def own(path):  # a plugin's folder has folders of its own
    parts = os.path.dirname(path).split('/')
    return '/'.join(parts[:2]) + '/' + ('' if len(parts) > 1 else r'[^/]+$')


def includes(path, text):
    allowed = next(a for p, a in INCLUDES if re.match(p, path))
    allowed = '(%s)' % '|'.join(filter(None, [own(path), allowed]))
    for kind, name in re.findall(r'^#include ([<"])([^">]+)', text, re.M):
        if kind == '<':
            for what, where in ONLY:
                if re.match(what, name) and not re.match(where, path):
                    print('%s includes <%s>' % (path, name))
            continue
        target = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if not os.path.exists(target):  # generated
            continue
        if not re.match(allowed, target):
            print('%s includes %s' % (path, target))


lines = 0
for path in files():
    text = open(path, errors='replace').read()
    includes(path, text)
    lines += text.count('\n')
    if path.startswith('tests/'):
        continue
    for number, line in enumerate(text.split('\n'), 1):
        for word in WORDS.findall(line):
            print('%s:%d: "%s" is none of our words: see tests/README.md' % (path, number, word))
if lines < 10000:
    print('only %d lines were found' % lines)
