#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What perf script prints of tracepoints gives the same records as ftrace's text of them.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
text=$GT_SRC/tests/data/replay/sched_6.12.txt
python3 - "$text" <<'P'
import re, sys
plain, both, stacks, no_cpu, no_comm = [], [], ['# ========', '# captured on    : today', '#'], [], []
for l in open(sys.argv[1]):
    m = re.match(r'\s*(.*)-(\d+)\s+.*?\[(\d+)\]\s+(?:\S+\s+)?([\d.]+):\s+(?:\w+:)?(\w+):\s+(.*)', l)
    if not m:
        continue
    system = 'dma_fence' if m[5].startswith('dma') else 'gpu_scheduler'
    rest = '[%03d] %12s: %30s: %s' % (int(m[3]), m[4], system + ':' + m[5], m[6])
    plain.append('%16s %7d %s' % (m[1], int(m[2]), rest))
    stacks += ['%s %7d %s' % (m[1], int(m[2]), rest), '\tffffffff8139bb71 __traceiter_x+0x41 ([kernel.kallsyms])',
               '\t           2724a main+0x7a (/usr/lib/x-1 [000] %s: a:b: c)' % m[4], '']
    no_cpu.append('%16s %7d/%-7d %s' % (m[1], int(m[2]), int(m[2]), rest[6:]))
    no_comm.append('%7d/%-7d %s' % (int(m[2]), int(m[2]), rest))
    both.append('%16s %7d/%-7d %s' % (m[1] + ' [1] x', int(m[2]), int(m[2]), rest))
open('plain.txt', 'w').write('\n'.join(plain) + '\n')
open('both.txt', 'w').write('\n'.join(both) + '\n')
open('stacks.txt', 'w').write('\n'.join(stacks) + '\n')
open('no_cpu.txt', 'w').write('\n'.join(no_cpu) + '\n')
open('no_comm.txt', 'w').write('\n'.join(no_comm) + '\n')
lost = plain[:]
lost.insert(len(lost) // 2, '%s PERF_RECORD_LOST lost 7' % plain[len(plain) // 2].split(' gpu_')[0].split(' dma_')[0])
open('lost.txt', 'w').write('\n'.join(lost) + '\n')
P
shown() { # FILE: events by type and latencies, when it has been played
	mount_gt "$mnt" -o replay="$1" && wait_for 30 grep -q ended "$mnt/backends/replay/state"
	cat "$mnt/events_by_type" "$mnt"/*/ring*/latency
	umount_gt "$mnt"
}
shown "$text" >want
ok "ftrace's text has jobs" grep -q '^SUBMIT  *80' want
for f in plain both stacks no_cpu no_comm; do
	shown $f.txt >$f.got
	ok "perf script's $f: the same" diff want $f.got
done
mount_gt "$mnt" -o replay=lost.txt && wait_for 30 grep -q ended "$mnt/backends/replay/state"
is "$(awk '$1 == "file0_lost" { print $2 }' "$mnt/backends/replay/stats")" 7 "what perf says was lost is counted"
is "$(awk '$1 == "lost" { print $2 }' "$mnt/backends/replay/stats")" 7 "… as a loss"
umount_gt "$mnt"
for n in 18446744073709551614 18446744073709551600 5; do
	sed -n "s/lost 7$/lost $n/p" lost.txt
done >counts
sed '/lost 7$/ {
	r counts
	d
}' lost.txt >many.txt
mount_gt "$mnt" -o replay=many.txt && wait_for 30 grep -q ended "$mnt/backends/replay/state"
for f in backends/replay/stats:file0_lost backends/replay/stats:lost status:events_lost_source; do
	is "$(awk -v key="${f#*:}" '$1 == key { print $2 }' "$mnt/${f%:*}")" $((1 << 48)) \
		"counts that cannot be end a sum at its bound: ${f#*:}"
done
umount_gt "$mnt"
done_testing
