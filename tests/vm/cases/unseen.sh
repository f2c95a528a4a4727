#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A daemon that comes in the midst of work, looks away and back, whose buffers overflow, that is not shown some
# ends, and a process that is killed with jobs queued: soon after, every file says what the mock GPU did in
# the time that was observed, and nothing is in flight.
# Long
# Early
# One kernel
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
. "$GT_SRC/tests/lib/grtrace.sh"
cleanup() {
	jobs -p | xargs -r kill -CONT 2>/dev/null
	jobs -p | xargs -r kill -KILL 2>/dev/null
	wait
	mock_unload
	[ ! -d /sys/module/grtrace ] || rmmod grtrace
}

modprobe -qr virtio_gpu # its waits are events of the same buffers
mock_load && grt_load || exit 1
install -m 755 "$gpujobs" gpujobs && gpujobs=$PWD/gpujobs # run by other users, who may not reach GT_OUT
# Also bpf and bpf,sampling=40 (HOW), which take minutes to load their programs in a guest
for how in ${HOW:-ftrace relay}; do
	echo "# $how"
	python_checks "$GT_SRC/tests/vm/cases/unseen.py" "$GT_PROG" "$mnt" "$gpujobs" "$how"
	wait_for 20 gone "$mnt"
	echo 0 >$truth
done
done_testing
