#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A buffer too small on purpose: what was seen and what was lost is what was done, and no latency is
# false because of a loss.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
cleanup() { kill -CONT "${daemon:-0}" 2>/dev/null; mock_unload; }

modprobe -qr virtio_gpu # its waits are events of the same buffers
mock_load || exit 1
printf '[backend ftrace]\nbuffer_size = 8192\n' >conf
mount_gt "$mnt" -o conf=conf,backend=ftrace || exit 1
daemon=$(pgrep -f "mount.gputrace $mnt( |\$)")
stats=$mnt/backends/ftrace/stats
ran() { "$gpujobs" --device "$1" --jobs "$2" --length-us 300-600 --ring gfx_0.0.0,sdma0,vcn_dec_0 --depth 24 --seed "$2" >/dev/null; }
ran 0 100
through() { [ "$(value "$stats" events)" -gt 0 ]; }
ok "events come through" wait_for 20 through
for round in 1 2 3; do
	kill -STOP "$daemon"
	ran 0 $((400 + round))
	ran 1 $((200 + round))
	kill -CONT "$daemon"
	ran 0 $((50 + round))
done
wait_for 20 all_done
cat $truth >truth
# three events of each job, and two of its process waiting for it
done_events() { echo $((5 * ($(wc -l <truth) - 1))); }
sum() { echo $(($(value "$stats" events) + $(value "$stats" lost))); }
all() { [ "$(sum)" = "$(done_events)" ]; }
wait_for 20 all
is "$(sum)" "$(done_events)" "seen and lost are what the mock did"
like "$(value "$stats" lost)" '^[1-9]' "and some were lost"
is "$(value "$mnt/status" events_lost_source)" "$(value "$stats" lost)" "status has the same count"
python_checks "$GT_SRC/tests/vm/cases/loss.py" truth "$mnt"
umount_gt "$mnt"
done_testing
