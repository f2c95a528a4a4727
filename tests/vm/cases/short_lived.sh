#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# 271 processes of two users, each gone at once after its only job: the totals of their users are the mock GPU's
# truth, where another tracer keeps the kernel's list of threads and processes, too, which has no users.
# One kernel
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
. "$GT_SRC/tests/lib/grtrace.sh"
tracing=/sys/kernel/tracing/instances/short
cleanup() {
	wait
	[ ! -d $tracing ] || rmdir $tracing
	mock_unload
	[ ! -d /sys/module/grtrace ] || rmmod grtrace
}

short() { # short USER TIMES
	for ((i = 0; i < $2; i++)); do
		as_uid "$1" "$gpujobs" --device 0 --jobs 1 --length-us 100 --ring gfx_0.0.0 >/dev/null
	done
}
users() { # user, submitted and completed, as the tree says
	for u in "$mnt"/users/100[12]; do echo "${u##*/} $(value "$u/stats" submitted) $(value "$u/stats" completed)"; done
}
true_users() { awk 'NR > 1 { n[$5]++ } END { for (u in n) print u, n[u], n[u] }' $truth | sort; }
same_users() { [ "$(users)" = "$(true_users)" ]; }

mock_load && grt_load || exit 1
mkdir $tracing
echo record-tgid >$tracing/trace_options
echo 1 >$tracing/events/sched/sched_switch/enable
mount_gt "$mnt" -o backend=relay || exit 1
pid=$(pgrep -f "mount.gputrace $mnt( |\$)")
for ((round = 0; round < 3; round++)); do
	# the daemon reads when all of them are gone
	kill -STOP "$pid"
	short 1001 45 & a=$!
	short 1002 45
	wait $a
	kill -CONT "$pid"
done
short 1001 1
wait_for 20 all_done
is "$(($(wc -l <$truth) - 1))" 271 "the mock had 271 jobs"
wait_for 20 same_users
is "$(users)" "$(true_users)" "the users' totals are the truth"
umount_gt "$mnt"
done_testing
