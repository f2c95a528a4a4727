# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# To be sourced: uprobes on the mock program (tests/tools/mockjobs.c) that stand in for the GPU
# scheduler's tracepoints, under their names and with their fields' names, but in a group of this test's
# own (GT_ID), which only daemons with maps of its own know: to other daemons on the machine and to other
# runs of the tests they are no GPU events.
#
#	mock=$(uprobes_mock)	a mock of this test's own: a probe is on a file, whoever runs it
#	uprobes_usable || skip	tracefs and uprobes can be used here; else a reason in $uprobes_why
#	uprobes_add MOCK old	drm_sched_job, drm_run_job, drm_sched_process_job (up to Linux 6.16)
#	uprobes_add MOCK new	drm_sched_job_queue, _run, _done (from Linux 6.17)
#				then mount_gt mounts with $PWD/maps.uprobes, which knows them
#	uprobes_remove		removes what uprobes_add added; to be called from a trap, too
#
# The offsets of the fields are not the kernel's, and __probe_ip is the first of them.

uprobes_tracefs=/sys/kernel/tracing
[ -e "$uprobes_tracefs/uprobe_events" ] || uprobes_tracefs=/sys/kernel/debug/tracing
uprobes_group=gpu_scheduler_${GT_ID:-$$}
uprobes_added=

uprobes_mock() {
	cp "$GT_OUT/tests/tools/mockjobs" mockjobs && echo "$PWD/mockjobs"
}

uprobes_usable() {
	uprobes_why=
	[ "$(id -u)" = 0 ] || uprobes_why="not root"
	[ "$(uname -m)" = x86_64 ] || uprobes_why="the stand-ins name x86-64 registers"
	[ -w "$uprobes_tracefs/uprobe_events" ] || uprobes_why="no tracefs with uprobes"
	[ -z "$uprobes_why" ]
}

# NAME FUNCTION FIELDS...
uprobes_one() {
	_name=$1
	_at=$(echo "$uprobes_offsets" | sed -n "s/^$2 //p")
	shift 2
	[ -n "$_at" ] || return 1
	# ">" would delete every other probe of the machine
	echo "p:$uprobes_group/$_name $uprobes_at:$_at $*" >>"$uprobes_tracefs/uprobe_events" ||
		return 1
	uprobes_added="$uprobes_added $_name"
}

uprobes_add() {
	mount_args="events_dir=$PWD/maps.uprobes"
	mkdir -p maps.uprobes || return 1
	for _name in "$GT_OUT"/share/gputrace/events.d/*.ini; do
		sed "s|gpu_scheduler/|$uprobes_group/|g" "$_name" >"maps.uprobes/${_name##*/}" || return 1
	done
	uprobes_at=$(readlink -f "$1")
	uprobes_offsets=$("$uprobes_at" offsets) || return 1
	if [ "$2" = new ]; then
		_job='name=+0(%si):string job_count=%r9:u32 dev=+0(%di):string'
		_job="$_job fence_context=%dx:u64 fence_seqno=%cx:u64 client_id=%r8:u64"
		uprobes_one drm_sched_job_queue job_queue "$_job" &&
			uprobes_one drm_sched_job_run job_run "$_job" &&
			uprobes_one drm_sched_job_done job_done \
				'fence_context=%di:u64 fence_seqno=%si:u64'
	else
		_job='entity=%di:x64 fence=%si:x64 name=+0(%dx):string id=%cx:u64'
		_job="$_job job_count=%r8:u32 hw_job_count=%r9:s32"
		uprobes_one drm_sched_job sched_job "$_job" &&
			uprobes_one drm_run_job run_job "$_job" &&
			uprobes_one drm_sched_process_job process_job 'fence=%di:x64'
	fi
}

# A probe that is still enabled somewhere is busy: its user goes first, in a moment.
uprobes_remove() {
	for _name in $uprobes_added; do
		_tries=0
		until echo "-:$uprobes_group/$_name" >>"$uprobes_tracefs/uprobe_events"; do
			_tries=$((_tries + 1))
			[ $_tries -lt 50 ] || break
			sleep 0.1
		done 2>/dev/null
	done
	uprobes_added=
}
