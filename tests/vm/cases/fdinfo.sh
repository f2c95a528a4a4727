#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What processes use, by fdinfo alone: as much as the mock GPU's truth says; it stays when they have ended.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
rings=gfx_0.0.0,comp_1.0.0,sdma0,vcn_dec_0
cleanup() {
	jobs -p | xargs -r kill -KILL 2>/dev/null
	wait
	mock_unload
}
mock_load || exit 1
printf '[backend sysfs]\nsample = 200\n' >conf
mount_gt "$mnt" -o backend=sysfs,conf=conf || exit 1
is "$(cat "$mnt/backends/sysfs/state")" running "it runs on a kernel's own files"

mkfifo hold hold2
"$gpujobs" --device 0 --jobs 120 --ring $rings --length-us 2000-6000 --alloc 3145728 --hold <hold >a.out &
a=$!
setpriv --reuid 65534 --regid 65534 --clear-groups "$gpujobs" --device 1 --jobs 80 --ring $rings --length-us 3000 --seed 3 --alloc 1048576 --hold <hold2 >b.out &
b=$!
exec 8>hold 9>hold2
ok "all jobs have ended" wait_for 60 eval 'all_done && [ $(wc -l <$truth) = 201 ]'
cp $truth truth.csv
cat >check.py <<'P'
import collections, os, sys, time
import tables
from tap import ok
m, what, a, b = sys.argv[1:]
ran = collections.Counter()
head, *rows = [l.lstrip('# ').split() for l in open('truth.csv')]
for row in rows:
    j = dict(zip(head, row))
    engine = {'gfx': 'gfx', 'com': 'compute', 'sdm': 'dma', 'vcn': 'dec'}[j['ring'][:3]]
    ran[j['pid'], engine] += int(j['t_hw_end']) - int(j['t_hw_start'])
def lines(*f):
    try:
        rows = tables.rows(os.path.join(m, *f))
    except OSError:
        return {}
    out = {}
    for r in rows:
        key = '/'.join(r[k] for k in ('gpu', 'region', 'engine') if k in r)
        out[key] = {k: v for k, v in r.items() if k not in ('gpu', 'ring', 'region', 'engine') and v != '-'}
    return out
def used(*f):
    return {k.split('/')[-1]: int(v['total_ns']) for k, v in lines(*f).items() if v['source'] == 'fdinfo'}
def near(got, want):
    return set(got) == set(want) and all(abs(got[e] - want[e]) <= want[e] / 50 for e in want)
want = {p: {e: n for (q, e), n in ran.items() if q == p} for p in (a, b)}
def until(check):
    end = time.monotonic() + 20
    while not check() and time.monotonic() < end:
        time.sleep(0.05)
    return check()
stats = lambda: dict(l.split(' ', 1) for l in open(m + '/backends/sysfs/stats').read().splitlines())
if what == 'living':
    for p in (a, b):
        ok(want[p] and until(lambda: near(used('proc', p, 'utilization'), want[p])),
           'process %s: %s, as the truth says: %s' % (p, used('proc', p, 'utilization'), want[p]))
    ok(lines('proc', a, 'memory').get('mockgpu0/vram') == {'resident_bytes': '3145728'} and
       lines('proc', b, 'memory').get('mockgpu1/vram') == {'resident_bytes': '1048576'}, 'memory')
    ok(lines('users', '65534', 'memory').get('mockgpu1/vram') == {'resident_bytes': '1048576'}, "its user's too")
    held = [l.split() for l in open(m + '/memory').read().splitlines()[1:]]
    ok({r[0]: r[3] for r in held} == {a: '3145728', b: '1048576'}, 'memory of processes: %s' % held)
    ok(int(stats()['clients']) == 2, 'two clients: ' + stats()['clients'])
else:
    ok(until(lambda: int(stats()['clients_ended']) == 2), 'both clients have ended')
    ok(near(used('users', '65534', 'utilization'), want[b]), 'what one did stays in the total of its user: %s' % used('users', '65534', 'utilization'))
    ok(near(used('mockgpu0', 'utilization'), want[a]), "and in its GPU's: %s" % used('mockgpu0', 'utilization'))
    ok(near(used('proc', a, 'utilization'), want[a]) and not lines('proc', a, 'memory'), 'and its own directory, which holds no memory')
    ok(int(stats()['unseen_ns']) > 0, 'the time that nobody saw is counted: ' + stats()['unseen_ns'])
    print('# measured scan of all processes: %s us' % (int(stats()['scan_ns']) // 1000))
P
python_checks check.py "$mnt" living $a $b
exec 8>&- 9>&-
wait $a $b
python_checks check.py "$mnt" ended $a $b
umount_gt "$mnt"
cleanup
is "$(lsmod | grep -c '^mockgpu')" 0 "its files are let go: the driver can be unloaded"
done_testing
