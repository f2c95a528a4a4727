#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Filters, watch lists and sampling against sim's ground truth: exactly what they mean is recorded, whole, and the
# statistics are the same under all of them.
# Quick
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/simruns.sh"
is_root || skip "needs root to mount"
export GPUTRACE_TEST=1

printf '[backend sim]\nrate = 30000\njobs = 4000\ngpus = 2\nseed = 9\ntruth = %s/truth.csv\n' "$PWD" >conf
all_done() { [ "$(total)" = 4000 ]; }
caught_up() { [ "$(($(stat -c %s stream) / 64))" -ge "$(value "$mnt/status" events_recorded)" ]; }

# gate "what" WANTED "KEYS of filter_stats" SETTING=VALUE...
gate() {
	local what=$1 wanted=$2 keys=$3 reader s
	shift 3
	mount_gt "$mnt" -o conf=conf,backend=sim,level=off || exit 1
	for s; do echo "${s#*=}" >"$mnt/config/${s%%=*}" || echo "# $s: $(cat "$mnt/last_cmd_status")"; done
	rm -f stream
	cat "$mnt/events" >stream & reader=$!
	wait_for 20 test -s stream
	echo normal >"$mnt/config/level"
	wait_for 60 all_done
	wait_for 20 caught_up
	# shellcheck disable=SC2086
	ok "$what" python3 "$GT_SRC/tests/lib/gatetruth.py" truth.csv "$mnt" stream "$wanted" $keys
	sed 's/^/# /' ok.out
	kill $reader
	wait $reader 2>/dev/null
	umount_gt "$mnt"
}

gate "filter_pid" "pid in (5000001, 5000003)" filter_pid filter_enabled=1 filter_pid=5000001,5000003
gate "filter_uid" "uid == 60002" filter_uid filter_enabled=1 filter_uid=60002
gate "filter_ring" "glob(name, 'c*') or (gpu == 1 and ring == 0)" filter_ring filter_enabled=1 'filter_ring=c*,sim1/ring0'
gate "filter_engine" "engine in ('COMPUTE', 'COPY')" filter_engine filter_enabled=1 filter_engine=COMPUTE,copy
gate "filter_latency" "total > 200000" filter_latency filter_enabled=1 filter_latency=200
export TYPES="(0, 1)"
gate "filter_events" True filter_events filter_enabled=1 filter_events=0x3
unset TYPES
gate "watchlist" "ring not in (0, 2)" watchlist 'watchlist=!0,2'
gate "watchlist_ctx" "ctx in (1, 2, 9)" watchlist_ctx watchlist_ctx=1,2,9
gate "threshold" "total > 150000" sampling_threshold sampling_mode=threshold sampling_threshold=150000
gate "several at once" "pid % 2 and ring != 1 and total > 100000" "filter_pid watchlist filter_latency" filter_enabled=1 \
	filter_pid=5000001,5000003,5000005,5000007,5000009 'watchlist=!1' filter_latency=100
done_testing
