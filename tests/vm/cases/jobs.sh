#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the mock GPU did equals what the files say: 10,000 jobs of three processes of two users on two
# GPUs with rings of the same names, under the scheduler's old tracepoints, Linux 6.17's, and all at once.
# Early
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
cgroup=/sys/fs/cgroup/gt-jobs
cleanup() { mock_unload; rmdir $cgroup 2>/dev/null; }

push() { # push JOBS OF EACH PROCESS - the first process is in a cgroup of its own
	(
		echo $BASHPID >$cgroup/cgroup.procs
		exec setpriv --reuid 1001 --regid 1001 --clear-groups "$gpujobs" --device 0 --jobs "$1" \
			--length-us 5000-6000 --ring $rings --depth 60 --contexts 2 --seed 1
	) >/dev/null &
	as_uid 1002 "$gpujobs" --device 1 --jobs "$1" --length-us 5000-6000 --ring $rings --depth 60 --seed 2 >/dev/null &
	as_uid 1001 "$gpujobs" --device 1 --jobs "$1" --length-us 5000-6000 --ring $rings --depth 60 --seed 3 >/dev/null &
	wait
}

counted() {
	[ "$(awk '$2 ~ /^ring/ { n += $8 } END { print n + 0 }' "$mnt/rings")" = $(($(wc -l <$truth) - 1)) ]
}

round() { # round WHAT JOBS [:contexts]
	mount_gt "$mnt" -o backend=ftrace || exit 1
	# the first of all may have been reported by the old names before the new ones were heard
	"$gpujobs" --device 0 --jobs 2 --ring gfx_0.0.0 --length-us 100000 >/dev/null && wait_for 20 counted
	echo clear >"$mnt/control"
	echo 0 >$truth
	# after a second of silence the old names tell the first job, whose GPU is what its submitter has open
	[ -z "${3-}" ] || read -rt 1.5 -u "$never"
	push "$2"
	ok "$1: the mock has ended all jobs" wait_for 20 all_done
	ok "$1: the tree has counted them all" wait_for 20 counted
	cat $truth >truth
	echo "# $1"
	python_checks "$GT_SRC/tests/lib/gpucompare.py" truth "$mnt${3-}"
	pid=$(awk '$1 == "mockgpu.0" { print $3; exit }' truth)
	like "$(cat "$mnt/proc/$pid/cgroup")" '/gt-jobs$' "$1: the submitter's cgroup"
	grep -E "^(pages_time_corrected|records_out_of_order|probe)" "$mnt/backends/ftrace/stats"
	is "$(value "$mnt/status" events_lost_source)" 0 "$1: nothing was lost"
	cat "$mnt"/*-any/report 2>/dev/null | head -n 5
	is "$(ls -d "$mnt"/*-any 2>/dev/null)" "" "$1: nothing is of an unknown GPU"
	umount_gt "$mnt"
}

mkdir -p $cgroup
mock_load || exit 1
round "the scheduler's own names" 100
mock_names amdgpu || exit 1
round "all names at once" 3334 :contexts

# The module with the names that are not the kernel's goes: as soon as that is known the kernel's are used
mount_gt "$mnt" -o backend=ftrace || exit 1
echo 0 >$truth
push 7
ok "jobs by all names" wait_for 20 counted
rmmod $(ls -d /sys/module/mockgpu_{names,old} 2>/dev/null | sed 's|.*/||')
rescan
push 7
ok "jobs when the module is gone" wait_for 20 counted
umount_gt "$mnt"
is "$(ls /sys/kernel/tracing/instances)" "" "no instance is left"
ok "the modules can be unloaded" mock_unload
done_testing
