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

# levels_put LEVEL - fails if it is to be written again: an emulated or busy machine may take longer than a write
# waits. Then the change has begun (EINPROGRESS), or nothing has changed (ETIMEDOUT); anything else is added to $bad.
levels_put() {
	local said old now
	old=$(cat "$mnt/config/level")
	said=$({ echo "$1" >"$mnt/config/level"; } 2>&1) && return
	now=$(cat "$mnt/config/level")
	levels_late=$((levels_late + 1))
	case $said in
	*"now in progress"*) [ "$now" = "$1" ] || [ "$now" = "$old" ] ;;
	*"timed out"*) [ "$now" = "$old" ] ;;
	*) false ;;
	esac || bad+=" $1:reads_$now:${said##*: }"
	return 1
}

# levels_change N - each level that is written is read back; events are counted only where it is not off
levels_change() {
	local all=(off stats verbose normal off normal stats off verbose normal) level i n bad="" levels_late=0
	for ((i = 0; i < $1; i++)); do
		level=${all[i % ${#all[@]}]}
		wait_for 60 levels_put $level || bad+=" $i:$level:not_done"
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
	echo "# measured levels: of $1 writes $levels_late took longer than 5 s"
	ok "events come after the last" levels_events_come
}
