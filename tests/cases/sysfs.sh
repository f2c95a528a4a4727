#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# sysfs: what it reports of GPUs, from captured trees; one that sleeps is left alone; hostile trees.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

cat >make.py <<'P'
import json, sys
import gputree
root = sys.argv[1]
want = {}
_, want['amdgpu0'] = gputree.amdgpu(root, 1, '0000:03:00.0', kfd=51221)
asleep, _ = gputree.amdgpu(root, 0, '0000:c4:00.0', 'suspended')
_, want['xe0'] = gputree.xe(root, 2, '0000:05:00.0')
_, want['i915-0'] = gputree.i915(root, 3, '0000:00:02.0')
json.dump([want, asleep.dev], open('want.json', 'w'))
P
cat >check.py <<'P'
import ctypes, json, os, struct, sys, time
from tap import ok
m, root = sys.argv[1:3]
want, asleep = json.load(open('want.json'))
read = lambda *f: open(os.path.join(m, *f)).read()
# who opens or reads any file of the device that sleeps
libc = ctypes.CDLL(None, use_errno=True)
ino = libc.inotify_init1(os.O_NONBLOCK)
watched = {}
for d, _, files in os.walk(os.path.join(root, asleep)):
    for f in files:
        path = os.path.join(d, f)
        watched[libc.inotify_add_watch(ino, path.encode(), 0x1 | 0x20)] = path  # IN_ACCESS | IN_OPEN
for gpu, files in want.items():
    for f in ('memory', 'clock', 'power', 'temperature', 'activity'):
        if f not in files:
            ok(not os.path.exists(os.path.join(m, gpu, f)), '%s has no %s, as its driver tells none' % (gpu, f))
            continue
        got = dict(l.split(' ', 1) for l in read(gpu, f).splitlines())
        ok(got == {k: str(v) for k, v in files[f].items()}, '%s/%s is what the tree has: %s' % (gpu, f, got))
for f in ('memory', 'clock', 'power', 'temperature', 'activity'):
    ok(read('amdgpu1', f) == 'unavailable\n', 'the one that sleeps has %s, which is unavailable' % f)
ok('runtime_status suspended\n' in read('amdgpu1', 'info'), '… and info says why')
seen = set()
end = time.monotonic() + 60
while not seen and time.monotonic() < end:  # a look that is not answered from the one before
    read('amdgpu1', 'memory'), read('amdgpu1', 'info')
    try:
        data = os.read(ino, 65536)
    except BlockingIOError:
        data = b''
    while data:
        wd, _, _, n = struct.unpack_from('iIII', data)
        seen.add(os.path.relpath(watched[wd], os.path.join(root, asleep)))
        data = data[16 + n:]
ok(seen == {'power/runtime_status'}, 'only whether it sleeps was looked at: %s' % seen)
rows = [l.split() for l in read('gpus').splitlines()]
by = {r[0]: dict(zip(rows[0], r)) for r in rows[1:]}
ok(sorted(by) == ['amdgpu0', 'amdgpu1', 'i915-0', 'xe0'], 'the GPUs of the tree: %s' % sorted(by))
g = by['amdgpu0']
device = lambda *name: open(os.path.join(root, 'sys/class/drm/card1/device', *name)).read().strip()
ok([g[k] for k in ('driver', 'pci', 'memory_used_bytes', 'memory_total_bytes', 'clock_hz')] ==
   ['amdgpu', '0000:03:00.0', device('mem_info_vram_used'), device('mem_info_vram_total'), '1234000000'], 'a line of gpus: %s' % g)
ok([float(g[k]) for k in ('busy_percent', 'power_watts', 'temperature_celsius')] == [int(device('gpu_busy_percent')), 31, 45],
   '... with its readings')
ok({v for k, v in by['amdgpu1'].items() if '_' in k} == {'-'}, 'what sleeps has none: %s' % by['amdgpu1'])
info = dict(l.split(' ', 1) for l in read('amdgpu0', 'info').splitlines())
ok([info.get(k) for k in ('card', 'render', 'kfd_id', 'uuid', 'kfd_node', 'partition', 'runtime_status')] ==
   ['card1', 'renderD129', '51221', 'GPU-1f2e3d4c5b6a7901', '2', 'SPX/NPS1', 'active'], 'all names of one: %s' % info)
for link in ('0000:03:00.0', 'card1', 'renderD129', 'kfd-51221', 'GPU-1f2e3d4c5b6a7901'):
    ok(os.readlink(os.path.join(m, 'by-id', link)) == '../amdgpu0' and os.path.samefile(os.path.join(m, 'by-id', link), os.path.join(m, 'amdgpu0')), 'by-id/%s leads to it' % link)
ok(os.readlink(os.path.join(m, 'by-id/card2')) == '../xe0' and len(os.listdir(os.path.join(m, 'by-id'))) == 15, 'of all GPUs: %s' % os.listdir(os.path.join(m, 'by-id')))
P
mkdir tree && python_env() { PYTHONPATH=$GT_SRC/tests/lib PYTHONDONTWRITEBYTECODE=1 python3 "$@"; }
python_env make.py tree || exit 1
mount_gt "$mnt" -o sysroot=tree || exit 1
is "$(cat "$mnt/backends/sysfs/state")" running "sysroot= alone has the backend sysfs run"
like "$(cat "$mnt/backends/ftrace/state" "$mnt/backends/sim/state")" "off|unavailable" "… and no other"
python_checks check.py "$mnt" "$PWD/tree"

# Many readers are no load on the device
echo 60000 >"$mnt/backends/sysfs/interval"
cat "$mnt/amdgpu0/clock" >/dev/null
before=$(value "$mnt/backends/sysfs/stats" reads)
for i in 1 2 3 4 5 6 7 8; do cat "$mnt/amdgpu0/"{memory,clock,power,memory,clock,power} >/dev/null & done
wait
is "$(value "$mnt/backends/sysfs/stats" reads)" "$before" "48 reads of files within the interval read nothing off"
echo 10 >"$mnt/backends/sysfs/interval"
echo 99 >tree/sys/class/drm/card1/device/gpu_busy_percent
tells() { [ "$(value "$mnt/amdgpu0/activity" gpu_busy_percent)" = 99 ]; }
ok "after it the new value is reported" wait_for 20 tells
echo active >tree/sys/class/drm/card0/device/power/runtime_status
wakes() { grep -q vram_total "$mnt/amdgpu1/memory"; }
ok "what wakes up tells again" wait_for 20 wakes
umount_gt "$mnt"

# What processes use: fdinfo, each client once, whoever has it open how often
cat >procs.py <<'P'
import json, os, sys
import gputree
root = sys.argv[1]
gputree.amdgpu(root, 1, '0000:03:00.0', kfd=51221)
for pid, files in ((200, {'vram_51221': '4096', 'sdma_51221': '77\n', 'stats_51221/evicted_ms': '12\n', 'stats_51221/cu_occupancy': '38\n', 'pasid': '32770\n', 'vram_1': '9',
                         'queues/0/gpuid': '51221', 'queues/0/type': '0', 'queues/0/size': '262144',
                         'queues/3/gpuid': '51221', 'queues/3/type': '1', 'queues/3/size': '4096'}),
                   (201, {'vram_51221': '-1', 'stats_51221/evicted_ms': 'x'})):
    for name, text in files.items():
        gputree.put(root, 'sys/class/kfd/kfd/proc/%d/%s' % (pid, name), text)
    gputree.process(root, pid, 1002, 'rocm', {})
gputree.xe(root, 2, '0000:05.00.0'.replace('05.00', '05:00'))
gputree.amdgpu(root, 0, '0000:c4:00.0', 'suspended')
amd, xe, asleep = '/dev/dri/renderD129', '/dev/dri/renderD130', '/dev/dri/renderD128'
f = gputree.fdinfo
game = f(7, {'gfx': 5 * 10**9, 'dec': 10, 'compute': 0}, {'vram': 1000, 'gtt': 12})
gputree.process(root, 100, 1000, 'game', {0: ('/dev/null', 'pos:\t0\n'), 3: (amd, game), 4: (amd, game), 5: ('/dev/dri/card1', game)})
gputree.process(root, 101, 1000, 'child', {3: (amd, game), 4: (amd, f(8, {'gfx': 1}, {'vram': 5}))})
new = 'drm-driver:\txe\ndrm-client-id:\t9\ndrm-total-vram0:\t64 MiB\ndrm-resident-vram0:\t32 MiB\ndrm-shared-vram0:\t4096\ndrm-memory-vram0:\t1\n' \
      'drm-cycles-rcs:\t%d\ndrm-total-cycles-rcs:\t%d\ndrm-engine-capacity-rcs:\t2\n'
gputree.process(root, 102, 1001, 'intel', {3: (xe, new % (1000, 100000))})
gputree.process(root, 103, 1001, 'idle', {3: (asleep, f(11, {'gfx': 3}, {'vram': 1}))})
gputree.process(root, 104, 1001, 'none', {3: ('/dev/null', 'x\n')})
P
cat >used.py <<'P'
import os, sys, time
import gputree, tables
from tap import ok
m, root = sys.argv[1:3]
read = lambda *f: open(os.path.join(m, *f)).read()
amd = '/dev/dri/renderD129'
def lines(*f):
    out = {}
    for r in tables.rows(os.path.join(m, *f)):
        key = '/'.join(r[k] for k in ('gpu', 'region', 'engine') if k in r)
        out[key] = {k: v for k, v in r.items() if k not in ('gpu', 'ring', 'region', 'engine', 'source') and v != '-'}
    return out
def total(engine, *f):
    return int(lines(*f)[engine]['total_ns'])
def until(what, check):
    end = time.monotonic() + 60
    while not check() and time.monotonic() < end:
        time.sleep(0.02)
    ok(check(), what)
until('processes are looked at', lambda: len(os.listdir(m + '/proc')) == 4)
ok(sorted(os.listdir(m + '/proc'), key=int) == ['100', '101', '102', '200'], 'who has a GPU open that is awake, or uses AMD\'s compute driver: %s' % os.listdir(m + '/proc'))
ok(lines('proc/100/memory') == {'amdgpu0/vram': {'resident_bytes': '1024000'}, 'amdgpu0/gtt': {'resident_bytes': '12288'}}, 'memory of a client open three times, and in a child: once: %s' % read('proc/100/memory'))
ok(lines('proc/101/memory') == {'amdgpu0/vram': {'resident_bytes': '5120'}}, '… what is the child\'s own is its')
ok(lines('proc/102/memory') == {'xe0/vram0': {'total_bytes': str(64 << 20), 'resident_bytes': str(32 << 20), 'shared_bytes': '4096'}}, 'the newer keys, and units: %s' % read('proc/102/memory'))
ok(lines('users/1000/memory') == {'amdgpu0/vram': {'resident_bytes': '1029120'}, 'amdgpu0/gtt': {'resident_bytes': '12288'}}, 'a user\'s: %s' % read('users/1000/memory'))
ok(lines('cgroups/user.slice/memory')['xe0/vram0']['resident_bytes'] == str(32 << 20), 'a control group\'s')
ok(lines('amdgpu0/proc/100/memory') == lines('proc/100/memory'), 'below the GPU')
ok(read('proc/100/comm') == 'game\n' and read('proc/100/uid') == '1000\n', 'who it is, is from the tree')
ok(total('amdgpu0/gfx', 'proc/100/utilization') == 0, 'what was done before the daemon came does not count')
f = gputree.fdinfo
def client7(*what, of=((100, 3), (100, 4), (100, 5), (101, 3))):  # whichever of its descriptors is read
    for fd in of:
        gputree.put(root, 'proc/%d/fdinfo/%d' % fd, f(7, *what))
kfd = [{'gpu': 'amdgpu0', 'vram_bytes': '4096', 'sdma_us': '77', 'evicted_ms': '12', 'cu_occupancy': '38'}]
ok(tables.rows(m + '/proc/200/kfd') == kfd and read('amdgpu0/proc/200/kfd') == read('proc/200/kfd'), 'what the compute driver tells: %s' % read('proc/200/kfd'))
ok('kfd' not in os.listdir(m + '/proc/100'), '… of those that use it')
def queues():
    all = {}
    for q in os.listdir(m + '/amdgpu0/queues'):
        d = {f: read('amdgpu0/queues', q, f).strip() for f in ('type', 'engine', 'pid', 'uid', 'state', 'size')}
        all[q] = d, os.path.exists(m + '/amdgpu0/queues/%s/created' % q)
    return all
def alive():
    return sorted(d['size'] for d, _ in queues().values() if d['state'] != 'destroyed')
until('the queues that it lists', lambda: alive() == ['262144', '4096'])
by = {d['type']: (d, made) for d, made in queues().values()}
ok(by['compute'] == ({'type': 'compute', 'engine': 'COMPUTE', 'pid': '200', 'uid': '1002', 'state': 'created', 'size': '262144'}, False), 'a queue that was there before: %s' % (by,))
ok(by['sdma'][0]['engine'] == 'COPY' and by['sdma'][0]['pid'] == '200', 'one for copies')
links = sorted(os.readlink(m + '/proc/200/queues/' + l) for l in os.listdir(m + '/proc/200/queues'))
ok(links == sorted('../../../amdgpu0/queues/' + q for q in queues()), 'links to them below their process: %s' % links)
for name, text in (('gpuid', '51221'), ('type', '0'), ('size', '65536')):
    gputree.put(root, 'sys/class/kfd/kfd/proc/201/queues/1/' + name, text)
until('one that is made later, though nobody looks at processes', lambda: alive() == ['262144', '4096', '65536'])
new = [q for q, (d, made) in queues().items() if made]
ok(len(new) == 1 and read('amdgpu0/queues', new[0], 'pid') == '201\n' and read('proc/201/comm') == 'rocm\n', 'its process is known by it alone: %s' % new)
import shutil
shutil.rmtree(root + '/sys/class/kfd/kfd/proc/201')
until('it goes with its process', lambda: alive() == ['262144', '4096'])
ok(read('amdgpu0/queues', new[0], 'state') == 'destroyed\n', '… and stays a while, destroyed')
t = 'proc/100/utilization'
client7({'gfx': 5 * 10**9 + 700 * 10**6, 'dec': 10}, {'vram': 2000})
gputree.put(root, 'proc/102/fdinfo/3', 'drm-driver:\txe\ndrm-client-id:\t9\ndrm-cycles-rcs:\t51000\ndrm-total-cycles-rcs:\t200000\ndrm-engine-capacity-rcs:\t2\n')
until('engine time since then', lambda: total('amdgpu0/gfx', t) == 700 * 10**6)
ok(total('amdgpu0/dec', t) == 0 and lines('proc/100/memory') == {'amdgpu0/vram': {'resident_bytes': '2048000'}}, '… memory as it is now')
until('cycles: half of those that there were', lambda: total('xe0/rcs', 'proc/102/utilization') > 0)
ok('memory' not in os.listdir(m + '/proc/102'), 'a client that holds nothing has no file of it')
rows = tables.rows(m + '/top')
game = [r for r in rows if r['pid'] == '100'][0]
ok(rows[0]['pid'] in ('100', '102') and float(game['busy_percent']) > 0 and game['jobs'] == '-', 'top: %s' % rows)
rows = tables.rows(m + '/memory')
ok([r['resident_bytes'] for r in rows if r['pid'] == '100'] == ['2048000'], 'memory: %s' % rows)
ok({r['source'] for r in tables.rows(m + '/amdgpu0/utilization')} == {'fdinfo'}, 'the source is named')
client7({'gfx': 4 * 10**9}, {'vram': 2000})
gputree.put(root, 'proc/100/fdinfo/6', f(20, {'gfx': 10**9}, {'vram': 8}))
gputree.link(root, 'proc/100/fd/6', amd)
open(m + '/control', 'w').write('rescan')
until('what is opened later counts as a whole; what goes back counts nothing', lambda: total('amdgpu0/gfx', t) == 1700 * 10**6)
shutil.rmtree(root + '/proc/100')
stats = lambda: dict(l.split(' ', 1) for l in read('backends/sysfs/stats').splitlines())
until('who ended is noticed', lambda: int(stats()['clients_ended']) >= 2)
ok(total('amdgpu0/gfx', 'users/1000/utilization') == 1700 * 10**6 and
   total('gfx', 'amdgpu0/utilization') == 1700 * 10**6, 'what it did stays in the totals: %s' % read('users/1000/utilization'))
ok(int(stats()['unseen_ns']) > 0, 'the time that nobody saw is counted')
until('a client that another has open as well goes on', lambda: lines('proc/101/memory') == {'amdgpu0/vram': {'resident_bytes': str((2000 + 5) * 1024)}})
client7({'gfx': 6 * 10**9}, {'vram': 1000}, of=((101, 3),))
until('… from where it was', lambda: total('amdgpu0/gfx', 'proc/101/utilization') == 300 * 10**6)
P
mkdir used && python_env procs.py used || exit 1
printf '[backend sysfs]\ninterval = 10\nsample = 50\n' >conf
mount_gt "$mnt" -o sysroot=used,conf=conf || exit 1
python_checks used.py "$mnt" "$PWD/used"
python_checks "$GT_SRC/tests/lib/formats.py" "$mnt" "what processes use"
like "$(cat "$mnt/memory")" "^101 +1000 +amdgpu0 +$(awk 'NR > 1 { n += $4 } END { print n }' "$mnt/proc/101/memory") +- +child\$" "who holds memory is in the root's table"
is "$(as_user awk 'NR > 1 { print $1, $2, $NF }' "$mnt/memory" | sort -u)" "- - -" "... which does not say to others who it is"
umount_gt "$mnt"

# Which queues are on the hardware: what debugfs dumps, against what the dump was made of
cat >hqds.py <<'P'
import os, sys, time
import gputree, tables
from tap import ok
m, root = sys.argv[1:3]
def queue(pid, number, gpu, type='compute', **more):
    q = dict(pid=pid, number=number, gpu=gpu, type=type, active=1, vmid=8 + number, size=1 << 16 + number, rptr=number, wptr=(number << 33) + 5,
             mqd=0x1700000000 + 0x10000 * pid + 0x100 * number, doorbell=0x1000 * (pid % 8) + 8 * number, base=0x7f0000000000 + (pid << 24) + (number << 16))
    return dict(q, **more)
A, B = 51221, 63420
queues = [queue(300, 0, A), queue(300, 1, B), queue(300, 2, A, 'sdma', wptr=1 << 40), queue(301, 0, A, base=0x7f0000000000 + (300 << 24), rptr=7), queue(301, 4, A, active=0), queue(302, 0, B), queue(302, 1, B)]
stray = queue(999, 3, B)
for pid in (300, 301, 302):  # folders whose inodes are in the order in which queues are made, on any file system
    d = os.path.join(root, 'sys/class/kfd/kfd/proc/%d/queues' % pid)
    own = [q for q in queues if q['pid'] == pid]
    for i in range(len(own)):
        os.makedirs('%s/new%d' % (d, i))
    for q, name in zip(own, sorted(os.listdir(d), key=lambda n: os.stat(d + '/' + n).st_ino)):
        os.rename(d + '/' + name, '%s/%d' % (d, q['number']))
for q in queues:
    d = 'sys/class/kfd/kfd/proc/%d/queues/%d/' % (q['pid'], q['number'])
    for name, text in (('gpuid', q['gpu']), ('type', int(q['type'] == 'sdma')), ('size', q['size'])):
        gputree.put(root, d + name, str(text))
queues[5]['size'] *= 2  # of 302 the dump is of other queues than the list
slots = {(A, 0, 0, 2): queues[0], (A, 1, 1, 3): queues[0], (B, 1, 0, 2): queues[1], (A, 1, 0): queues[2], (A, 0, 1, 2): dict(queues[3], rptr=70, wptr=90), (B, 0, 1, 3): stray}
where = {0: '0.0.2,1.1.3', 1: '1.0.2', 2: 'sdma1.0', 3: '0.1.2'}
gputree.put(root, 'sys/kernel/debug/kfd/mqds', gputree.mqds(queues))
gputree.put(root, 'sys/kernel/debug/kfd/hqds', gputree.hqds([A, B], slots))
read = lambda *f: open(os.path.join(m, *f)).read()
def table():
    rows = [l.split() for l in read('backends/sysfs/hqds').splitlines()]
    return [dict(zip(rows[0], r)) for r in rows[1:]] if len(rows[0]) > 1 else rows
open(m + '/control', 'w').write('rescan')
end = time.monotonic() + 60
while len(table()) != 8 and time.monotonic() < end:
    time.sleep(0.02)
got = table()
ok(len(got) == 8, 'a row a queue: %s' % got)
hexed = lambda v: '0x%x' % v
for i, q in enumerate(queues):
    now = dict(q, **({'rptr': 70, 'wptr': 90} if i == 3 else {}))
    sdma = q['type'] == 'sdma'
    want = {'kfd_id': str(q['gpu']), 'pid': str(q['pid']), 'type': q['type'], 'active': str(q['active']), 'base': hexed(q['base']), 'size_bytes': str(q['size']), 'slots': where.get(i, '-'),
            'rptr': str(now['rptr']), 'wptr': str(now['wptr']), 'doorbell': '-' if sdma else hexed(q['doorbell']), 'vmid': str(q['vmid']) if i in where and not sdma else '-'}
    row = [r for r in got if (r['pid'], r['base']) == (want['pid'], want['base'])]
    ok(len(row) == 1 and {k: row[0][k] for k in want} == want, 'queue %d of %d is as it was made: %s' % (q['number'], q['pid'], row))
    id = row[0]['queue']
    if q['pid'] == 302:
        ok(id == '-', 'which of the list it is, is not guessed')
        continue
    gpu = {A: 'amdgpu0', B: 'amdgpu1'}[q['gpu']]
    last = gpu, 'queues', id
    slots = [{'slot': w, 'vmid': '-' if sdma else str(q['vmid']), 'rptr': str(now['rptr']), 'wptr': str(now['wptr'])}
             for w in where.get(i, '').split(',') if w]
    hqd = tables.rows('/'.join((m, gpu, 'queues', id, 'hqd')))
    ok(hqd == slots, '… and the slots are in its hqd: %s' % hqd)
    mqd = dict(l.split() for l in read(gpu, 'queues', id, 'mqd').splitlines())
    of = dict(active=q['active'], size_bytes=q['size'], rptr=q['rptr'], wptr=q['wptr'], base=hexed(q['base']), **({} if sdma else dict(address=hexed(q['mqd']), doorbell=hexed(q['doorbell']))))
    ok(mqd == {k: str(v) for k, v in of.items()}, '… and the descriptor in its mqd: %s' % mqd)
    ok(read(gpu, 'queues', id, 'size') == '%d\n' % q['size'] and read(gpu, 'queues', id, 'pid') == '%d\n' % q['pid'], 'it is %s/queues/%s' % (gpu, id))
row = [r for r in got if r['pid'] == '-']
ok(len(row) == 1 and row[0]['slots'] == '0.1.3' and row[0]['vmid'] == str(stray['vmid']), 'a slot of a queue that nobody knows: %s' % row)
stats = lambda k: int(dict(l.split(' ', 1) for l in read('backends/sysfs/stats').splitlines())[k])
dumps = stats('kfd_dumps')
read('amdgpu0/info'), read('proc/300/kfd'), read('top'), read('doctor')
ok(stats('kfd_dumps') == dumps, 'nothing is dumped but for who reads it')
other = [q for q in os.listdir(m + '/amdgpu1/queues') if read('amdgpu1/queues', q, 'pid') == '302\n']
ok(len(other) == 2 and {read('amdgpu1/queues', q, f) for q in other for f in ('hqd', 'mqd')} == {'unavailable\n'}, 'of a queue that is in no dump for sure: %s' % other)
dumps = stats('kfd_dumps')
status = [os.path.join(d, 'runtime_status') for d, _, f in os.walk(root + '/sys/devices') if 'runtime_status' in f and '04:00' in d]
open(status[0], 'w').write('suspended\n')
ok(table() == [['unavailable']] and stats('kfd_dumps') == dumps, 'nor when one of the GPUs sleeps')
end = time.monotonic() + 60
while read(*last, 'hqd') != 'unavailable\n' and time.monotonic() < end:
    time.sleep(0.02)
ok(read(*last, 'mqd') == 'unavailable\n' and stats('kfd_dumps') == dumps, '… for a queue either')
P
mkdir hw && python_env -c 'import gputree; [gputree.amdgpu("hw", i, "0000:0%d:00.0" % (3 + i), kfd=k) for i, k in enumerate((51221, 63420))]' || exit 1
mount_gt "$mnt" -o sysroot=hw,conf=conf || exit 1
python_checks hqds.py "$mnt" "$PWD/hw"
ok "a captured tree has no events to ask for" sh -c "! echo 1 >'$mnt/backends/sysfs/events'" 2>/dev/null
is "$(cat "$mnt/backends/sysfs/events")" 0 "… and the setting stays"
like "$(cat "$mnt/last_cmd_status")" "captured tree" "… which is said"
umount_gt "$mnt"

# Whatever is in a tree: nothing hangs, nothing is reported that is not a value, nothing of this machine
cat >hostile.py <<'P'
import os, sys
import gputree
root = sys.argv[1]
c, _ = gputree.amdgpu(root, 0, '0000:03:00.0')
d = os.path.join(root, c.dev)
def replace(f, make):
    os.path.lexists(os.path.join(d, f)) and os.remove(os.path.join(d, f))
    make(os.path.join(d, f))
text = lambda s: lambda p: open(p, 'w').write(s)
replace('gpu_busy_percent', os.mkfifo)
replace('mem_busy_percent', text('101\n'))
replace('mem_info_vram_total', text('-1\n'))
replace('mem_info_vram_used', text('99999999999999999999999\n'))
replace('mem_info_gtt_total', lambda p: os.symlink('/etc/machine-id', p))
replace('mem_info_gtt_used', lambda p: os.symlink('../../../../../../../../../../etc/passwd', p))
replace('mem_info_vis_vram_total', text('12abc\n'))
replace('mem_info_vis_vram_used', text('7' * (1 << 20)))
replace('pp_dpm_sclk', text('0: ' + '9' * 30 + 'Mhz *\n1: -5Mhz\n2: 9223372036854775Mhz\n' + ':' * 5000))
replace('pp_dpm_mclk', text('\0' * 100000))
replace('pp_dpm_fclk', os.mkdir)
replace('unique_id', lambda p: os.symlink('/etc/passwd', p))
replace('current_compute_partition', text('#a b\n\x1b[31m'))
replace('hwmon/hwmon3/temp1_label', text('../../x y\n'))
replace('hwmon/hwmon3/temp2_label', text('l' * (1 << 20)))
replace('hwmon/hwmon3/temp3_label', os.mkfifo)
replace('hwmon/hwmon3/power1_cap', lambda p: os.mknod(p, 0o020666, os.makedev(1, 5)))
open(os.path.join(d, 'hwmon/hwmon3/temp99999999999999999999_input'), 'w').write('1\n')
for i in range(3000):
    open(os.path.join(d, 'hwmon/hwmon3/temp%d_input' % i), 'w').write('%d\n' % i)
node = '/dev/dri/renderD128'
bad = 'drm-driver:\tx\ndrm-client-id:\t%s\n'
gputree.process(root, 7, 0, 'a) b (c', {
    1: (node, ''), 2: (node, bad % '-1' + 'drm-engine-gfx:\t-5 ns\n'), 3: (node, 'x' * (1 << 20)),
    4: (node, bad % 4 + 'drm-memory-%s:\t1\n' % ('n' * (1 << 20))), 5: (node, bad % ('9' * 40)),
    6: (node, bad % 6 + ''.join('drm-engine-e%d:\t1\n' % i for i in range(200)) + 'drm-memory-../x:\t1\ndrm-engine-a b:\t1\n'),
    7: ('/dev/dri/renderD99999999999999999999', bad % 8), 8: (node, bad % 9 + 'drm-total-vram:\t9223372036854775807 GiB\n' * 100)})
os.remove(os.path.join(root, 'proc/7/fdinfo/1'))
os.mkfifo(os.path.join(root, 'proc/7/fdinfo/1'))
os.symlink('/proc/1', os.path.join(root, 'proc/1'))
os.symlink('/proc', os.path.join(root, 'proc/9'))
os.makedirs(os.path.join(root, 'proc/99999999999/fd'))
os.symlink('loop', os.path.join(d, 'loop'))
os.symlink('card77', os.path.join(root, 'sys/class/drm/card77'))
os.symlink('/sys', os.path.join(root, 'sys/class/drm/card78'))
os.mkfifo(os.path.join(root, 'sys/class/drm/card79'))
os.makedirs(os.path.join(root, 'sys/class/drm/card' + '9' * 200))
os.makedirs(os.path.join(root, 'sys/class/kfd/kfd/topology/nodes/3'))
os.mkfifo(os.path.join(root, 'sys/class/kfd/kfd/topology/nodes/3/properties'))
P
mkdir bad && python_env hostile.py bad || exit 1
mount_gt "$mnt" -o sysroot=bad || exit 1
is "$(awk 'NR > 1 { print $1 }' "$mnt/gpus")" amdgpu0 "one GPU, whatever is beside it"
is "$(timeout 20 cat "$mnt/amdgpu0/memory")" unavailable "numbers that are none, links that lead out: no value"
is "$(timeout 20 awk 'NR > 1 && ($1 !~ /^e[0-9]+$/ || $NF != "fdinfo")' "$mnt/amdgpu0/utilization")" "" "a pipe is not waited for; no percentage over 100"
is "$(timeout 20 cat "$mnt/amdgpu0/power")" "power1_average_watts 31.000000" "a device is not opened"
is "$(timeout 20 grep -vcE '^(temp[0-9]+|mem|fan1)(_crit)?_(celsius [0-9]+\.[0-9]{3}|rpm [0-9]+)$' "$mnt/amdgpu0/temperature")" 0 "a label that is no word is none"
ok "as many values as there is room for" [ "$(grep -c . "$mnt/amdgpu0/temperature")" -le 96 ]
is "$(grep -c 'root:' "$mnt/gpus" "$mnt/amdgpu0/info" | grep -vc ':0')" 0 "nothing of this machine's /etc"
is "$(awk 'NR > 1 { print NF }' "$mnt/gpus"; grep -c '^partition ' "$mnt/amdgpu0/info")" "10
1" "a partition's name makes no column and no line"
is "$(ls "$mnt/proc")" 7 "a process whose files tell nonsense"
ok "… of which nothing is reported that is no value" timeout 20 sh -c "! tail -n +2 '$mnt/proc/7/utilization' | grep -vE '^amdgpu0 +- +e[0-9]+( +[0-9.]+){3} +[0-9]+ +fdinfo\$'"
ok "it runs on" grep -q running "$mnt/backends/sysfs/state"
umount_gt "$mnt"
mkdir none && mount_gt "$mnt" -o sysroot=none,backend=sysfs 2>err
like "$(cat err)" "no GPU with a driver in .*none/sys/class/drm" "a tree without GPUs: says so"
mount_gt "$mnt" -o sysroot=nothere 2>err
like "$(cat err)" "nothere: No such file" "a tree that is not there, too"
done_testing
