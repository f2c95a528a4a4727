#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The text of gpu_sched_trace is played, with other ends of lines too; UTF-16 is refused with what to do.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
cat >nv.txt <<'T'
23:59:58.509353 [CPU01] TASK_INIT    PID=637320 python3          TSG=2    engine=UNKNOWN  timeslice=1024 us interleave=UNKNOWN runlist=13
23:59:59.561798 [CPU01] TASK_INIT    PID=637320 python3          TSG=1    engine=COPY     timeslice=1024 us interleave=UNKNOWN runlist=0
00:00:00.591625 [CPU01] SCHEDULE     PID=637320 python3          TSG=1    channels=8 timeslice=1024 us interleave=LOW allowed=yes
00:00:00.600243 [CPU01] TASK_INIT    PID=637320 python3          TSG=1    engine=UNKNOWN  timeslice=1024 us interleave=UNKNOWN runlist=14
00:00:00.100000 [CPU02] BIND         PID=637320 a TSG=7 b        TSG=1    channels=4 timeslice=2048 us interleave=LOW allowed=no
00:00:01.597801 [CPU01] WORK_SUBMIT  PID=637320 python3          TSG=1    channel=2 token=1073741826 gpu=0
00:00:01.697801 [CPU01] TASK_DESTROY PID=637320 cuda-EvtHandlr   TSG=2
=== Statistics ===
task_init:    3
00:00:0x.1 garbage
dropped:      7
T
cat >check.py <<'P'
import os, re, sys
from collections import Counter
from tap import ok
m, f = sys.argv[1:]
lines = [re.match(r'[\d:.]+ \[CPU\d+\] (\w+) +PID=(\d+) .* TSG=(\d+) *(.*)', l.strip()) for l in open(f, encoding='utf-8-sig')]
lines = [l.groups() for l in lines if l]
type = dict(TASK_INIT='QUEUE_CREATE', SCHEDULE='QUEUE_SCHEDULE', BIND='QUEUE_SCHEDULE', WORK_SUBMIT='QUEUE_TOKEN', TASK_DESTROY='QUEUE_DESTROY')
got = {r.split()[0]: int(r.split()[1]) for r in open(m + '/events_by_type').read().splitlines()[1:]}
want = Counter(type[l[0]] for l in lines)
ok(got == want, 'as many events of each type as lines: %s' % got, want)
q = os.path.join(m, [g for g in os.listdir(m) if g.startswith('nvidia')][0], 'queues')
one = lambda n, k: open('%s/%s/%s' % (q, n, k)).read().strip()
runlists = {int(re.search(r'runlist=(\d+)', l[3])[1]): l for l in lines if l[0] == 'TASK_INIT'}
ok(sorted(int(one(n, 'runlist')) for n in os.listdir(q)) == sorted(runlists), 'a queue for each runlist and group')
state = {int(one(n, 'runlist')): one(n, 'state') for n in os.listdir(q)}
ok(state == {13: 'destroyed', 0: 'mapped', 14: 'denied'}, 'each in its state, the newest of two of one number', state)
engine = {int(one(n, 'runlist')): one(n, 'engine') for n in os.listdir(q) if os.path.exists('%s/%s/engine' % (q, n))}
ok(engine.get(0) == 'GRAPHICS', "what the tool calls COPY is the driver's GR0", engine)
P
plays() { mount_gt "$mnt" -o replay="$1" 2>err && wait_for 20 grep -q ended "$mnt/backends/replay/state"; }
{ printf '\xef\xbb\xbf'; sed 's/$/\r/' nv.txt; } >dos.txt
for f in nv.txt dos.txt; do
	ok "$f is played" plays $f
	like "$(cat err)" "$f: line 10 is none of gpu_sched_trace's" "… and its damaged line is reported"
	python_checks check.py "$mnt" $f
	is "$(sed -n 's/^file0_\(events\|used\) //p' "$mnt/backends/replay/stats" | xargs)" "7 7" "… its lines are counted, and nothing made of them besides"
	is "$(value "$mnt/backends/replay/stats" lost) $(value "$mnt/backends/replay/stats" file0_lost)" "7 7" "… and what the tool dropped is lost"
	umount_gt "$mnt"
done
iconv -f UTF-8 -t UTF-16LE nv.txt >wide.txt
"$GT_PROG" "$mnt" -o "replay=$PWD/wide.txt" 2>err
like "$(cat err)" "wide.txt: is text in UTF-16: make it UTF-8 with iconv" "text in UTF-16 without a mark is refused"
{ cat nv.txt; printf '00:00:03.600243 [CPU01] TASK_INIT    PID=637320 python3          TSG=9    engine=UNKNOWN '; } >cut.txt
mount_gt "$mnt" -o "replay=$PWD/cut.txt,speed=0" 2>err || exit 1
ended() { grep -q '^state ended$' "$mnt/status"; }
wait_for 20 ended
is "$(ls -d "$mnt"/*/queues/2147483648 2>/dev/null)" "" "a line that is cut makes no queue"
umount_gt "$mnt"
iconv -f UTF-8 -t UTF-16 nv.txt >wide.txt
mount_gt "$mnt" -o replay=wide.txt 2>err
is $? 32 "text in UTF-16 is refused"
like "$(cat err)" "wide.txt: is text in UTF-16: make it UTF-8 with iconv" "… with what to do"
done_testing
