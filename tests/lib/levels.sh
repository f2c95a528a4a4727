# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced: changes of the level while something causes events all the time.

levels_events() { value "$mnt/status" events_seen; }

levels_events_come() {
	local n
	n=$(levels_events)
	more() { [ "$(levels_events)" -gt "$n" ]; }
	wait_for 20 more
}

levels_detached() { [ -z "$(value "$mnt/status" detaching)" ]; }

# levels_change N - each level that is written is read back; events are counted only where it is not off
levels_change() {
	local all=(off stats verbose normal off normal stats off verbose normal) level i n bad=""
	for ((i = 0; i < $1; i++)); do
		level=${all[i % ${#all[@]}]}
		echo $level >"$mnt/config/level" || bad+=" $i:$level:refused"
		[ "$(cat "$mnt/config/level")" = $level ] || bad+=" $i:$level:reads_$(cat "$mnt/config/level")"
		if [ $level = off ]; then
			n=$(levels_events)
			read -rt 0.01 -u "$never"
			[ "$(levels_events)" = "$n" ] || bad+=" $i:off:counts"
		elif [ $((i % 10)) = 3 ]; then
			levels_events_come >&2 || bad+=" $i:$level:silent"
		fi
	done
	is "$bad" "" "$1 changes of the level: each is done, and true"
	ok "events come after the last" levels_events_come
}
