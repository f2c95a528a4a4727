#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A job that hangs is seen while it does, with its owner and age, and its end is an error of its owner.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
cleanup() { mock_unload; }

mock_load timeout_ms=5000 || exit 1
mount_gt "$mnt" -o backend=ftrace || exit 1
as_uid 1001 "$gpujobs" --device 1 --ring sdma0 --jobs 1 --hang >/dev/null & hung=$!
in_jobs() {
	ring=$(readlink -f "$mnt/mockgpu1/by-name/sdma0") && cat "$ring/jobs" >jobs && awk 'NR == 2 { found = $4 == "running" } END { exit !found }' jobs
}
ok "the hung job is in flight" wait_for 20 in_jobs
read -r ctx seqno pid state age comm < <(tail -n 1 jobs)
is "$comm $state" "gpujobs running" "whose it is, and that it runs"
is "$(cat "/proc/$pid/comm")" gpujobs "its process is that one"
older() { [ "$(awk 'NR == 2 { print $5 }' "$ring/jobs")" -gt $((age + 200000000)) ]; }
ok "its age grows" wait_for 20 older
wait $hung
reported() { grep -q timeout "$ring/errors"; }
ok "after the scheduler's timeout it is an error" wait_for 20 reported
like "$(grep timeout "$ring/errors")" " mockgpu1 +ring[0-9]+ +$ctx +$seqno +$pid +timeout$" "of its ring, job and process"
reset() { grep -q reset "$mnt/mockgpu1/errors"; }
ok "the reset is reported, too" wait_for 20 reset
is "$(value "$ring/stats" errors)" 2 "and counted"
none() { [ -z "$(sed 1d "$ring/jobs")" ]; }
ok "nothing is in flight any more" wait_for 20 none
as_uid 1001 "$gpujobs" --device 1 --ring sdma0 --jobs 3 >/dev/null
after() { [ "$(value "$ring/stats" completed)" = 4 ]; }
ok "the ring goes on" wait_for 20 after
umount_gt "$mnt"
done_testing
