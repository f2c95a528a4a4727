#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every file of a simulation and of recordings of each kind is a value, keyed lines or a table, as gputrace-files(5) says.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

formats() { # formats WHAT OPTIONS - of a mount
	mount_gt "$mnt" -o "$2" || exit 1
	$3
	python_checks "$GT_SRC/tests/lib/formats.py" "$mnt" "$1"
	python_checks "$GT_SRC/tests/lib/formats.py" "$mnt" "$1, to another user" 65534
	GT_PYTHON="unshare --pid --fork --mount-proc python3" \
		python_checks "$GT_SRC/tests/lib/formats.py" "$mnt" "$1, in another PID namespace"
	umount_gt "$mnt"
}
busy() { wait_for 60 eval '[ "$(count_rows "$mnt/report")" -gt 100 ]'; }
played() { wait_for 60 grep -q '^state ended$' "$mnt/status"; }

formats "a simulation" backend=sim busy
PYTHONPATH=$GT_SRC/tests/lib python3 "$GT_SRC/tests/lib/ringtruth.py" generate 3 >trace.txt
formats "ftrace's text" replay=trace.txt played
formats "a trace.dat" replay="$GT_SRC/tests/data/replay/sched_6.12_v7.dat" played
python3 "$GT_SRC/tests/lib/rocprof.py" generate run 1
formats "results of rocprofv3" replay=run played
# The other kinds, beside each other in one mount: a saved stream, a dump of grtrace, perf script's text, a log of AMD's
# runtime, and dumps of KFD's queues
PYTHONPATH=$GT_SRC/tests/lib PYTHONDONTWRITEBYTECODE=1 python3 - <<'P' || exit 1
import gputree, re
lines = [re.match(r'\s*(.*)-(\d+)\s+.*?\[(\d+)\]\s+(?:\S+\s+)?([\d.]+):\s+(\w+):\s+(.*)', l) for l in open('trace.txt')]
with open('perf.txt', 'w') as f:
    for m in filter(None, lines):
        system = 'dma_fence' if m[5].startswith('dma') else 'gpu_scheduler' if m[5].startswith('drm') else 'amdgpu'
        f.write('%16s %7s [%s] %12s: %30s: %s\n' % (m[1], m[2], m[3], m[4], system + ':' + m[5], m[6]))
with open('hip_4711', 'w') as f:
    for us, text in ((1, 'Created SWq=0x7f8ec8e86000 to map on HWq=0x7f8eb5c00000 with size 16384 with priority 1, cooperative: 0'),
                     (75, 'acquireQueue refCount: 0x7f8eb5c00000 (1)'), (3711, 'ShaderName : void f<double>(double*)'),
                     (3755, 'hipLaunchKernel: Returned hipSuccess :')):
        f.write(':3:rocdevice.cpp            :2951: %d us:  %s\n' % (578897353351 + us, text))
q = dict(pid=300, number=0, gpu=63420, type='compute', active=1, vmid=8, size=65536, rptr=0, wptr=5, mqd=0x1700000000, doorbell=0x1000, base=0x7f0000000000)
open('mqds', 'w').write(gputree.mqds([q]))
open('hqds', 'w').write(gputree.hqds([63420], {(63420, 0, 0, 2): q}))
P
python3 "$GT_SRC/tests/lib/jobs.py" generate 7 >invented.txt && python3 "$GT_SRC/tests/lib/grtrace.py" dump invented.txt dump || exit 1
data=$GT_SRC/tests/data/replay
formats "recordings of other kinds" replay="$data/stream_v1:dump/events0:perf.txt:hip_4711:mqds:hqds:$data/amdgpu_4.11.txt" played
done_testing
