# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced after case.sh: runs of a mounted sim.

total() { # jobs that its GPUs' rings have counted
	awk '/^total/ { n += $2 } END { print n + 0 }' "$mnt"/sim?/ring*/latency
}

# played JOBS - from level off: all that sim has, into the file stream; then status is a copy
played() {
	local jobs=$1 reader
	cat "$mnt/events" >stream & reader=$!
	wait_for 20 test -s stream
	echo normal >"$mnt/config/level"
	all_played() { [ "$(total)" = "$jobs" ]; }
	ok "$jobs jobs are done" wait_for 60 all_played
	caught_up() { [ "$(($(stat -c %s stream) / 64))" -ge "$(value "$mnt/status" events_recorded)" ]; }
	wait_for 20 caught_up
	cp "$mnt/status" status
	kill $reader
	wait $reader 2>/dev/null
}

nothing_in_flight() { awk '$1 == "SUBMIT" { a = $2 } $1 == "COMPLETE" { b = $2 } END { exit !(a == b) }' "$mnt/events_by_type"; }
rest() { # stopped, with nothing in flight
	echo stop >"$mnt/control"
	wait_for 20 nothing_in_flight
}

# between COMMAND... - what happens from a clear on until COMMAND is true, with nothing in flight at either end
between() {
	rest
	echo clear >"$mnt/control"
	echo start >"$mnt/control"
	wait_for 60 "$@"
	rest
}
