# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced: event maps that make the system calls of `mockjobs -m calls` GPU events.

# calls_mock - for a case: sets mock, the program that plays such jobs, or skips
calls_mock() {
	is_root || skip "needs root to mount"
	mock=$GT_OUT/tests/tools/mockjobs
	[ -x "$mock" ] || skip "tests/tools/mockjobs is not built"
	[ -r /sys/kernel/tracing/events/syscalls/sys_enter_msync/id ] || skip "no tracepoints of system calls"
}

# calls_maps DIR [DEVICE] - the maps; the one that is no system call, and never comes, makes it a GPU kernel.
# DEVICE: the events name it
calls_maps() {
	local dev=${2:+"
dev = $2"}
	local rings='{flags|0,1,2,3,4,5,6,7,gfx,comp_1.1.0,comp_1.2.0,comp_1.3.0}'
	mkdir -p "$1"
	cat >"$1/calls.ini" <<EOF
[map]
driver = mock

[syscalls/sys_enter_msync]
event = SUBMIT
where = start & 0x4000000000000000
ctx = start
seqno = len
ring = $rings$dev
match = ctx seqno

[syscalls/sys_enter_mlock2]
event = COMMIT
where = start & 0x4000000000000000
ctx = start
seqno = len
ring = $rings$dev
match = ctx seqno

[syscalls/sys_enter_sync_file_range]
event = COMPLETE
where = offset & 0x4000000000000000
ctx = offset
seqno = nbytes
ring = $rings$dev
match = ctx seqno

[initcall/initcall_level]
event = CUSTOM0
name = boot
EOF
}

# calls_waits DIR - and of `mockjobs -W` the waits for jobs
calls_waits() {
	cat >>"$1/calls.ini" <<'EOF'

[syscalls/sys_enter_munlock]
event = SYNC_WAIT_ENTER
where = start & 0x4000000000000000
ctx = start
seqno = len
match = ctx seqno
unknown_job = keep
EOF
}
