#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make demo's last step: what it shows of a simulated GPU, of one that has had no work, and of none. Where tables
# are empty it says why.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

demo() { O=$GT_OUT GPUTRACE_DEMO_DIR=$mnt "$GT_SRC/tests/lib/demo.sh" >shown 2>&1; }

mkdir -p none/sys none/proc results maps
# with no maps, as another test may play a GPU's events on this machine
printf '[main]\nbackend = rocprof:ftrace\nsysroot = %s\nevents_dir = %s\n[backend rocprof]\ndirs = %s\n' \
	"$PWD/none" "$PWD/maps" "$PWD/results" >conf
mount_gt "$mnt" -o conf=conf || exit 1
ok "no GPU" demo
like "$(cat shown)" "^No GPU is seen, so the tables below are empty" "… it says that the tables are empty, and why" || cat shown
if grep -q '^backend ftrace unavailable' "$mnt/doctor"; then
	like "$(cat shown)" "^  backend ftrace unavailable" "… in doctor's words"
else
	skip_ok "… in doctor's words" "this kernel has tracepoints of GPUs"
fi
umount_gt "$mnt"

ok "a tree of a GPU" env PYTHONPATH="$GT_SRC/tests/lib" PYTHONDONTWRITEBYTECODE=1 python3 -c "
import gputree
gputree.amdgpu('idle', 1, '0000:03:00.0')"
mkdir -p idle/proc
mount_gt "$mnt" -o sysroot=idle || exit 1
ok "a GPU without work" demo
like "$(cat shown)" "^No GPU has had work" "… it says so" || cat shown
like "$(cat shown)" "^amdgpu0 " "… and shows the GPU"
umount_gt "$mnt"

mount_gt "$mnt" -o backend=sim || exit 1
ok "a simulated GPU" demo
like "$(cat shown)" "sim0 is SIMULATED" "… it says that it is"
is "$(grep -c 'tables below are empty' shown)" 0 "… and nothing of empty tables"
like "$(cat shown)" "^exec " "… and shows latencies"
umount_gt "$mnt"
done_testing
