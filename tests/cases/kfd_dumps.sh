#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Saved dumps of queues of AMD's compute driver are played: made ones, real ones, and hostile ones.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

# What the dumps hold, reckoned by words alone, and what the tree has of it
cat >check.py <<'P'
import os, re, sys
from collections import Counter
from tap import ok
m, files = sys.argv[1], sys.argv[2:]
read = lambda *f: open(os.path.join(m, *f)).read()
nodes = set()
blocks = []  # (what it begins with, GPU, pid, {address: word that came first})
gpu = pid = None
for line in (l.strip() for f in files for l in open(f, errors='replace', encoding='utf-8-sig')):
    if re.match(r'Process \d+ PASID', line):
        pid = int(line.split()[1])
    elif re.match('Node ', line):
        gpu, pid = int(line.split()[3].rstrip(':'), 16), None
        nodes.add(gpu)
    elif re.match('(Compute|SDMA) queue on device', line):
        blocks.append((line.split()[0], int(line.split()[4], 16), pid, {}))
    elif re.match(r'(Inst|CP|SDMA Engine|HIQ)\b', line):
        blocks.append((line, gpu, None, {}))
    elif re.match('[0-9a-f]{8}:', line):
        at = int(line[:8], 16)
        for i, w in enumerate(line[10:].split()):
            blocks[-1][3].setdefault(at + 4 * i, int(w, 16))
queues, slots = [], []
for what, gpu, pid, words in blocks:
    if not words or 'HIQ' in what:
        continue
    begin = 0x200 if what == 'Compute' else min(words)
    w = lambda i: words[begin + 4 * i]
    sdma = what.startswith('SDMA')
    if sdma:
        key = gpu, sdma, None, (w(2) << 32 | w(1)) << 8
        active = w(0) & 1
    else:
        key = gpu, sdma, w(15) & 0x0ffffffc, (w(9) << 32 | w(8)) << 8
        active = w(2) & 1
    if pid is not None:
        queues.append(key)
    elif active:
        n = [int(x) for x in re.findall(r'\d+', what)]
        slots.append((key, 'sdma%d.%d' % tuple(n) if sdma else '.'.join(map(str, n if len(n) == 3 else [0] + n))))
if not queues and not slots:
    sys.exit('nothing in them')
once = Counter(queues)
where = {k: sorted(s for key, s in slots if key == k) for k in once}
lost = Counter(k for k, _ in slots if once[k] != 1)
rows = [l.split() for l in read('backends/sysfs/hqds').splitlines()]
rows = [dict(zip(rows[0], r)) for r in rows[1:]]
num = lambda v: None if v == '-' else int(v, 0)
key = lambda r: (int(r['kfd_id']), r['type'] == 'sdma', num(r['doorbell']), num(r['base']))
named = [r for r in rows if r['pid'] != '-']
ok(Counter(map(key, named)) == once, 'each of %d queues is there once: %d' % (len(queues), len(named)))
got = {key(r): sorted(r['slots'].split(',')) if r['slots'] != '-' else [] for r in named if once[key(r)] == 1}
ok(got == {k: where[k] for k in got}, 'in its slots: %d of %d' % (sum(map(len, got.values())), len(slots)))
stray = Counter(key(r) for r in rows if r['pid'] == '-' for _ in r['slots'].split(','))
ok(stray == lost, 'others are of a queue that nobody knows: %d' % sum(lost.values()))
stats = dict(l.split(None, 1) for l in read('backends/sysfs/stats').splitlines())
every = lambda key: [int(stats['file%d_%s' % (i, key)]) for i in range(len(files))]
ok(sum(every('events')) == len(blocks) and sum(every('used')) == len(queues) + len(slots) and
   [a + b for a, b in zip(every('used'), every('skipped'))] == every('events'), 'stats says by file what became of %d of them' % len(blocks))
noise = [[i for i, l in enumerate(open(f, errors='replace'), 1) if re.match(r'\[ |Process Xorg', l)] for f in files]
# registers behind such a line, of another compute part, may be another queue's: they are left out, too
ok(all(bad >= len(n) and (n or not bad) for bad, n in zip(every('damaged'), noise)) and [int(stats.get('file%d_damaged_first_line' % i, 0)) for i in range(len(files))] == [(n + [0])[0] for n in noise],
   'and which lines are none of a dump: %s' % every('damaged'))
gpus = sorted({k[0] for k in list(once) + list(lost)} | nodes)
names = [l.split()[0] for l in read('gpus').splitlines()[1:]]
ok(names == ['amdgpu%d' % i for i in range(len(gpus))], 'GPUs in the order of their numbers: %s' % names)
bad, mapped = [], 0
for r in rows:
    d = m + '/%s/queues/%s/' % (names[gpus.index(int(r['kfd_id']))], r['queue'])
    one = lambda f: open(d + f).read()
    hqd = one('hqd').splitlines()
    mapped += len(hqd) - 1
    mqd = dict(l.split() for l in one('mqd').splitlines())
    if ','.join(l.split()[0] for l in hqd[1:]) != r['slots'].replace('-', '') or \
       mqd.get('base', '-') != r['base'] or mqd['active'] != r['active'] or one('type').strip() != r['type'] or \
       one('state').strip() != ('mapped' if (r['slots'] != '-' if int(r['kfd_id']) in nodes else r['active'] == '1') else 'unmapped') or \
       (os.path.exists(d + 'pid') and one('pid').strip() or '-') != r['pid']:
        bad.append((r, hqd, mqd))
ok(not bad, 'each is a directory with the same in it: %s' % bad[:2])
ok(mapped == len(slots) and sum(len(os.listdir('%s/%s/queues' % (m, g))) for g in names if os.path.isdir('%s/%s/queues' % (m, g))) == len(rows), '%d slots in all, %d queues' % (mapped, len(rows)))
P
cat >make.py <<'P'
import gputree
queue = lambda pid, n, gpu, type='compute', **more: dict(dict(pid=pid, number=n, gpu=gpu, type=type, active=1, vmid=8 + n, size=1 << 16 + n, rptr=n, wptr=(n << 33) + 5,
    mqd=0x1700000000 + 0x10000 * pid + 0x100 * n, doorbell=0x1000 * (pid % 8) + 8 * n, base=0x7f0000000000 + (pid << 24) + (n << 16)), **more)
A, B = 63420, 51221
q = [queue(300, 0, A), queue(300, 1, B), queue(300, 2, A, 'sdma'), queue(301, 3, B, 'sdma', base=0x7f00aa000000), queue(302, 4, B, 'sdma', base=0x7f00aa000000, active=0)]
open('mqds', 'w').write(gputree.mqds(q))
open('hqds', 'w').write(gputree.hqds([A, B], {(A, 0, 0, 2): q[0], (A, 1, 1, 3): q[0], (B, 1, 0, 2): q[1], (A, 1, 0): q[2], (B, 0, 0): q[3], (B, 0, 1, 3): queue(999, 3, B)}))
P
python_env() { PYTHONPATH=$GT_SRC/tests/lib PYTHONDONTWRITEBYTECODE=1 python3 "$@"; }
python_env make.py || exit 1
ended() { [ "$(cat "$mnt/backends/sysfs/state")" = ended ]; }
plays() { # FILES: they are mounted, and read
	mount_gt "$mnt" -o replay="$1" && wait_for 60 ended
}
cat mqds hqds >both
# The kernel's log on the same terminal, and a copy that was on Windows
awk '{ print } /^Process/ { print "[  123.456789] amdgpu 0000:c9:00.0: amdgpu: ring gfx timeout"; print "Process Xorg died" } NR % 7 == 0 { print "[  123.5] usb 1-1: x" }' mqds >log_mqds
{ printf '\xef\xbb\xbf'; sed 's/$/\r/' mqds; } >dos_mqds
for files in mqds:hqds hqds:mqds mqds hqds both log_mqds:hqds dos_mqds:hqds; do
	ok "$files" plays "$files"
	python_checks check.py "$mnt" ${files//:/ }
	umount_gt "$mnt"
done
cp log_mqds 'a:b\'
ok "a colon and a backslash in a name" plays 'a\:b\\:hqds'
python_checks check.py "$mnt" 'a:b\' hqds
like "$(cat "$mnt/backends/sysfs/last_error")" '/a:b\\: line [0-9]+ is none of a dump' "… which what is said of it has"
umount_gt "$mnt"
samples=$GT_SRC/../shared/samples/kfd
if [ -d "$samples" ]; then
	s=$(cd "$samples" && pwd)/mi308x_active_
	ok "a real one, of an MI308X with 16 streams" plays "${s}mqds_16streams.txt:${s}hqds_16streams.txt"
	python_checks check.py "$mnt" "${s}mqds_16streams.txt" "${s}hqds_16streams.txt"
	is "$(value "$mnt/backends/sysfs/stats" kfd_dump_bad_lines) $(value "$mnt/backends/sysfs/stats" kfd_dump_cut)" "0 0" "each line of it was understood"
	umount_gt "$mnt"
else
	skip_ok "real dumps" "../shared is not here"
fi

# Hostile: too many, cut, mixed with other things, of other lengths
python3 - <<'P'
t = open('hqds').read()
open('cut', 'w').write(t[:len(t) // 2 + 3])
open('noise', 'wb').write(b'Node 1, gpu_id c815:\n' + bytes(range(256)) * 4000 + t.encode() + b'\0' * 5000 + b'Process 7 PASID')
open('many', 'w').write('Process 5 PASID 1:\n' + ''.join('  SDMA queue on device %x\n    00000000: 00000025 %08x 00000000\n' % (i % 200 + 1, i) for i in range(5000)))
open('huge', 'w').write(t + 'x' * (9 << 20))
open('numbers', 'w').write('Process 4294967294 PASID 1:\n  SDMA queue on device ffffffff\n    00000000: ffffffff ffffffff ffffffff\nNode 0, gpu_id 99999999999999:\n CP Pipe 4294967294, Queue 4294967294\n'
                           '    00000000: 1 1 1\n    0000c914: 00000001 00000001 00000001\n')
open('none', 'w').write('Process 5 PASID 1:\n')
P
for f in cut noise many huge numbers none; do
	ok "$f: it is read to its end" plays $f
	ok "$f: it runs on" timeout 200 sh -c "cat '$mnt/gpus' '$mnt/backends/sysfs/hqds' '$mnt/backends/sysfs/stats' >/dev/null && ls -R '$mnt' >/dev/null"
	[ $f != many ] || ok "as many queues as there is room for, others counted" [ "$(value "$mnt/backends/sysfs/stats" kfd_dump_cut)" -ge 3976 ]
	[ $f != huge ] || is "$(value "$mnt/backends/sysfs/stats" file0_skipped_parts_beyond_8_mib)" 1 "… by file, too"
	[ $f != huge ] || is "$(value "$mnt/backends/sysfs/stats" kfd_dump_cut)" 1 "what is beyond 8 MiB is not read, which is counted"
	[ $f != none ] || like "$(cat "$mnt/backends/sysfs/last_error")" "no queue" "nothing in it: says so"
	umount_gt "$mnt"
done
ok "a speed is refused" sh -c "! $GT_PROG '$mnt' -o replay=mqds,speed=2 2>err"
like "$(cat err)" "speed=" "… with a sentence"
plays mqds:hqds
queues() { cat "$mnt"/*/queues/*/mqd | sort; }
queues >before
ok "queues of the dumps are described" test -s before
ok "seek is refused" sh -c "! echo 'seek 5' 2>/dev/null >'$mnt/control'"
like "$(cat "$mnt/last_cmd_status")" "sysfs: .*seek" "… with a sentence"
ok "… and they are played again" wait_for 60 ended
is "$(queues | cmp - before && cat "$mnt/control")" "play" "… to their end"
umount_gt "$mnt"
mount_gt "$mnt" -o replay=nothere 2>err && umount_gt "$mnt"
like "$(cat err)" "nothere" "one that is not there"
done_testing
