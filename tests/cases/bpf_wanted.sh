#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the settings do not want in records is left out in the kernel where jobs are counted there. Two daemons see
# the same jobs, real system calls of a mock program: in one the BPF programs decide, in the other the daemon's
# gate does. Records and counters are the same under each setting; and what one leaves out is what the settings say.
# Alone
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/calls.sh"
. "$GT_SRC/tests/lib/others.sh"
is_root || skip "needs root to mount"
others_reach
calls_mock
calls_maps maps 0000:00:01.0
calls_waits maps
# contexts of its own: others may play jobs on this machine
sed -i 's/0x4000000000000000/0x1000000000000000/' maps/calls.ini
base=$((1 << 60)) call=$((1 << 62))
both=(kernel daemon)
printf '[backend bpf]\nrecord_rate = 0\n' >kernel.conf
printf '[backend bpf]\nmatch = daemon\n' >daemon.conf
mount_gt "$PWD/kernel" -o "conf=kernel.conf,events_dir=$PWD/maps,backend=bpf" || skip "BPF does not work here"
mount_gt "$PWD/daemon" -o "conf=daemon.conf,events_dir=$PWD/maps,backend=bpf" || exit 1

stat_of() { local v; v=$(value kernel/backends/bpf/stats "$1"); echo "${v:-0}"; }
is "$(stat_of counted_in)" kernel "in one the kernel counts"
is "$(value daemon/backends/bpf/stats counted_in)" daemon: "... and in the other the daemon"

setting() { # setting FILE VALUE - of both
	local m
	for m in "${both[@]}"; do echo "$2" >"$m/config/$1" || return; done
}
clear_both() { echo clear >kernel/control && echo clear >daemon/control; }
seen() { [ "$(value kernel/status events_seen) $(value daemon/status events_seen)" = "$1 $1" ]; }
ended() { # jobs of both, and none is left
	[ "$(awk '$2 ~ /^ring/ { n += $5; c += $8 } END { print n + 0, c + 0 }' kernel/rings daemon/rings)" = "0 $(($1 * 2))" ]
}
adds_up() { # at a look
	local k v sum=0 seen=-1
	while read -r k v; do
		case $k in
		events_seen) seen=$v ;;
		events_recorded | events_filtered | events_filtered_level | events_sampled_out | events_rate_limited | \
			events_over_share | events_lost_source | events_dropped_hold_full) sum=$((sum + v)) ;;
		esac
	done <"$1/status"
	[ $seen = $sum ]
}

# Of calls at the same time one daemon may see the other order, as its program can be preempted, and it is of this
# order whether exec is known: so one is made at a time
: >lock
lock="-l lock"
# Rings have numbers by first sight, and the choice of jobs goes by them
# The first processes get numbers that tracefs's lists of threads have as a thread of another process, long ago
again() { sh -c '{ echo $(($0 - 1)) >/proc/sys/kernel/ns_last_pid; } 2>/dev/null; exec "$@"' "$@"; }
mapfile -t old < <(awk '$1 != $2 { print $1 }' /sys/kernel/tracing/saved_tgids 2>/dev/null |
	while read -r tid; do [ -e "/proc/$tid" ] || echo "$tid"; done | shuf -n 3)
for i in 1 2 3; do
	again "${old[i - 1]-0}" "$mock" $lock -n 60 -p 1 -r $i -d 0 -m calls -c $base -o /dev/null
	wait_for 20 seen $((i * 180))
done
folded() { local f; f=$(stat_of count_folds); sleep 0.3; [ "$(stat_of count_folds)" = "$f" ]; }
wait_for 20 folded # now the program knows them, too
is "$(cat kernel/mock0/ring[0-9]/name)" "$(cat daemon/mock0/ring[0-9]/name)" "both number the rings alike"
# Those lists say nothing of processes that are no more
for m in "${both[@]}"; do
	is "$(cat "$m"/proc/[0-9]*/comm | sort | uniq -c | xargs)" "3 mockjobs" "$m: they have the names of their programs, and nobody else is there"
done

players=()
waits= # -W: each job is also waited for
ready() { # ready JOBS [MAX_US] - three processes of two users are about to submit them
	mkfifo go1 go2 2>/dev/null
	"$mock" -w $waits $lock -n $(($1 * 2 / 3)) -p 2 -r 3 -d ${2-100} -m calls -c $base -o truth1 <go1 >pids1 & players=($!)
	exec 8>go1
	as_uid 1001 "$mock" -w $waits $lock -n $(($1 / 3)) -p 1 -r 3 -d ${2-100} -m calls -c $((base + 1000)) <go2 >pids2 & players+=($!)
	exec 9>go2
	wait_for 20 eval '[ $(cat pids1 pids2 | wc -l) = 3 ]'
}
go() { # they do
	echo >&8; echo >&9
	exec 8>&- 9>&-
}
finished() { # JOBS
	wait "${players[@]}"
	tail -n +2 pids2 >truth2
	wait_for 20 seen $(($1 * (3 + ${#waits} / 2))) && wait_for 20 ended "$1"
}

readers=()
streams() {
	local m
	readers=()
	for m in "${both[@]}"; do
		rm -f "$m.stream"
		cat "$m/events" >"$m.stream" & readers+=($!)
		wait_for 20 test -s "$m.stream"
	done
}
same() { PYTHONDONTWRITEBYTECODE=1 python3 "$GT_SRC/tests/lib/wantedsame.py" "$@" >same.out 2>&1; }
compare() { same kernel daemon truth1:0 truth2:1001 "$@"; }

no_streams() {
	kill "${readers[@]}"
	wait "${readers[@]}" 2>/dev/null
}

round() { # round KEY SETTINGS [EXPECTED [TYPES]] - KEY: of filter_stats, whom the kernel refuses; -: nobody
	local key=$1 s settings left=0 sent expected=()
	ready 600
	read -r pid1 pid2 < <(paste -sd ' ' pids1)
	pid3=$(head -n 1 pids2)
	clear_both
	settings=$(eval "echo \"$2\"")
	for s in $settings; do setting "${s%%=*}" "${s#*=}" || exit 1; done
	[ $# -lt 3 ] || expected=(-- "$(eval "echo \"$3\"")" "${@:4}")
	streams
	[ "$key" = - ] || left=$(stat_of "left_in_kernel_$key")
	sent=$(stat_of tracepoint_records)
	LATER=$(stat_of count_later)
	export LATER
	go
	ok "$2: every event is seen, every job counted" finished 600
	ok "$2: records and counters are the same" wait_for 20 compare "${expected[@]}"
	sed 's/^#* */# /' same.out
	sent=$(($(stat_of tracepoint_records) - sent))
	if [ "$key" != - ]; then
		left=$(($(stat_of "left_in_kernel_$key") - left))
		[ "$key" = sampling ] && key=sampling_share
		is "$left" "$(value kernel/filter_stats "$key")" "$2: what is refused for that did not leave the kernel"
		# and who submitted, and that something comes
		ok "$2: ... nor did anything else that is in no record" test $((sent - $(value kernel/status events_recorded))) -le 6
	fi
	no_streams
	for s in $settings; do
		case ${s%%=*} in
		level) setting level normal ;;
		sampling) setting sampling 100 ;;
		rate_limit) setting rate_limit 0 ;;
		sampling_mode) setting sampling_mode static ;;
		*) setting "${s%%=*}" "" ;;
		esac
	done
}

setting filter_enabled 1
round sampling "sampling=25"
round filter_pid 'filter_pid=$pid2,$pid3' 'pid in ($pid2, $pid3)'
round filter_uid 'filter_uid=1001' 'uid == 1001'
round filter_ring 'filter_ring=gfx' 'name == \"gfx\"'
round filter_engine 'filter_engine=COMPUTE' 'name != \"gfx\"'
round watchlist 'watchlist=!gfx' 'name != \"gfx\"'
round watchlist_ctx "watchlist_ctx=!$((call + base)),$((call + base + 1000))" "ctx not in ($((call + base)), $((call + base + 1000)))"
round - 'filter_events=COMPLETE' True '{1}'
round filter_events 'filter_events=IRQ,IOCTL_ENTER' False
round level 'level=stats' False
round sampling 'sampling=50 filter_pid=$pid1,$pid3 watchlist=!gfx'

# Who waits for a job that left no record, in flight or ended, shows its ring all the same
waits=-W
round - "sampling=25"
round - "sampling=40 filter_ring=gfx"
round - "filter_uid=1001 watchlist=!gfx"
waits=

lock=
# Settings of whole jobs change all the time: at every look the counters add up, and each job is whole
ready 6000 1000
pid1=$(head -n 1 pids1)
clear_both
streams
go
looks=0 wrong=0 changes=0
look() {
	local m
	for m in "${both[@]}"; do
		looks=$((looks + 1))
		adds_up "$m" || wrong=$((wrong + 1))
	done
}
while kill -0 "${players[0]}" 2>/dev/null; do
	for s in sampling=40 "filter_pid=$pid1" filter_ring=gfx sampling=100 filter_uid=1001 filter_ring= filter_pid= \
		watchlist=!gfx sampling=10 "watchlist_ctx=$((call + base))" watchlist= filter_uid= \
		sampling_mode=adaptive watchlist_ctx= sampling_mode=static sampling=100; do
		setting "${s%%=*}" "${s#*=}"
		changes=$((changes + 1))
		look
	done
done
ok "changing: every event is seen, every job counted" finished 6000
is "$wrong" 0 "changing: at each of $looks looks, between $changes changes, the counters add up"
for m in "${both[@]}"; do
	ok "changing: what the $m left is whole jobs" wait_for 20 same "$m"
	cat same.out
done
no_streams
is "$(value kernel/status jobs_unmatched)" 0 "changing: no end without a beginning"
grep left_in_kernel kernel/backends/bpf/stats | sed 's/^/# /'
umount_gt "$PWD/kernel"
umount_gt "$PWD/daemon"
done_testing
