#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rocprof.sh - how fast a kernel trace is read, and in how much memory: MB a second of the wall, and of the CPU
# that the reader takes, which is what it is on a machine with nothing else to do. Alone: O=… tests/bench/rocprof.sh,
# with MB=… of another size. The exit status is 1 if it is less than the 150 MB/s that the issue asks for, by the
# reader's CPU, or if either process takes more memory than a small part of the file.
set -u
O=$(readlink -f "${O:-.output}")
work=$(mktemp -d)
mb=${MB:-1024}

sampler=
end() {
	[ -z "$sampler" ] || kill "$sampler" 2>/dev/null
	mountpoint -q "$work/gt" && umount "$work/gt"
	rm -rf --one-file-system "$work"
}
trap end EXIT
cd "$work" && mkdir gt || exit 1
python3 - "$mb" >k.csv <<'P'
import sys
left, i, t, w = int(sys.argv[1]) << 20, 0, 10 ** 12, sys.stdout.write
xyz = ['%s_Size_%s' % (a, b) for a in ('Workgroup', 'Grid') for b in 'XYZ']
w(','.join('"%s"' % c for c in ['Kind', 'Agent_Id', 'Queue_Id', 'Stream_Id', 'Thread_Id', 'Dispatch_Id', 'Kernel_Id', 'Kernel_Name', 'Correlation_Id',
                                'Start_Timestamp', 'End_Timestamp', 'LDS_Block_Size', 'Scratch_Size', 'VGPR_Count', 'Accum_VGPR_Count', 'SGPR_Count'] + xyz) + '\n')
while left > 0:
    rows = []
    for i in range(i + 1, i + 10001):
        ns = 1000 + i * 7919 % 50000
        rows.append('"KERNEL_DISPATCH","Agent 4",%d,0,4242,%d,%d,"void kernel_%d<float, 256>(float const*, float*, int)",%d,%d,%d,0,0,32,4,112,256,1,1,65536,1,1\n'
                    % (1 + i % 4, i, i % 50, i % 50, i, t, t + ns))
        t += ns // 4
    text = ''.join(rows)
    left -= len(text)
    w(text)
P
# the most that a process without the file system's descriptor holds: that is the reader
sample() {
	local most=0 now p
	until [ -e read ]; do
		for p in $(pgrep -f "mount.gputrace $work/gt"); do
			ls -l "/proc/$p/fd" 2>/dev/null | grep -q k.csv || continue
			ls -l "/proc/$p/fd" 2>/dev/null | grep -q /dev/fuse && continue
			now=$(awk '/VmRSS/ { print $2 }' "/proc/$p/status" 2>/dev/null)
			[ "${now:-0}" -gt $most ] && most=$now
		done
		sleep 0.1
	done
	echo "$most"
}
sample >peak & sampler=$!
begin=$(date +%s%N)
"$O/sbin/mount.gputrace" "$work/gt" -o replay=k.csv || exit 1
until [ "$(cat gt/backends/rocprof/state)" = ended ]; do sleep 0.05; done
ms=$((($(date +%s%N) - begin) / 1000000))
pid=$(pgrep -f "mount.gputrace $work/gt" | head -n 1) # the reader has ended: there is but one
touch read
wait $sampler
sampler=
bytes=$(stat -c %s k.csv)
awk -v b="$bytes" -v ms=$ms -v rows="$(awk '$1 == "rows" { print $2 }' gt/backends/rocprof/stats)" -v hwm="$(awk '/VmHWM/ { print $2 }' "/proc/$pid/status")" -v peak="$(cat peak)" '{
	reader = b / 1e6 / (($16 + $17) / 100)
	printf "bench rocprof: %d MB, %d rows: %.0f MB/s, %.0f MB/s of the reader'"'"'s CPU, %.0f of the daemon'"'"'s; at most %.0f MB of memory of the daemon, %.0f of the reader\n",
		b / 1e6, rows, b / 1e3 / ms, reader, b / 1e6 / (($14 + $15) / 100), hwm / 1024, peak / 1024
	exit reader < 150 || !peak || hwm > 262144 || peak > 262144 }' "/proc/$pid/stat"
