# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced behind case.sh: a process that makes calls of NVIDIA's resource manager (tests/tools/nvcalls.c).
nvcalls=$GT_OUT/tests/tools/nvcalls
# NVIDIA's numbers
tsg=0xa06c channel=0xc56f client=0x41 device=0x80
schedule=0xa06c0101 set_timeslice=0xa06c0103 set_interleave=0xa06c0107 get_token=0xc36f0108 get_id_info=0x205

nv_begin() { # nv_begin DEVICE [COMMAND...] - $nv_pid is its process
	local dev=$1
	shift
	coproc nv { exec "$@" "$nvcalls" "$dev"; }
	nv_pid=$nv_PID nv_in=${nv[1]} nv_out=${nv[0]}
	read -rt 100 -u "$nv_out" nv_answer
}

nv() { # nv LINE - its answer is in $nv_answer: errno, status, handle
	echo "$*" >&"$nv_in"
	read -rt 100 -u "$nv_out" nv_answer
}

nv_end() { # its input ends, and so it does
	exec {nv_in}>&-
	wait "$nv_pid" 2>/dev/null
}

nv_fork() { # its child goes on, with what it has open
	local was_in=$nv_in was_out=$nv_out in out
	exec {in}>&"$nv_in" {out}<&"$nv_out" # the shell closes those of the process it knows
	nv fork
	wait "$nv_pid" 2>/dev/null
	exec {was_in}>&- {was_out}<&-
	nv_pid=$nv_answer nv_in=$in nv_out=$out
}

nv_kill() {
	kill -KILL "$nv_pid"
	exec {nv_in}>&-
	wait "$nv_pid" 2>/dev/null
}

reads() { # reads FILE VALUE
	[ "$(cat "$1" 2>/dev/null)" = "$2" ]
}
