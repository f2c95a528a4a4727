#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# fairness.sh [ATTACK...] - what one hostile user costs others. While that user's processes are at work, root and an
# honest user each read `latency` every millisecond. The same processes that do the same as often to other files, and burn
# the CPU time that the daemon took, show what the load alone costs: beside the attack the median and the 99th percentile
# of reads may be twice as long as beside that load, or without any where that is longer. Results that the honest user writes are read within 2 s, and the daemon's memory and descriptors stay within bounds. Alone:
# O=… tests/bench/fairness.sh, with SECONDS_EACH=… of another length and RATE=… for so many reads a second of the hostile
# processes together, 0 for as many as they can, of either file. The exit status is 1 if a bound is missed.
set -u
O=$(readlink -f "${O:-.output}")
work=$(mktemp -d)
seconds=${SECONDS_EACH:-3} most=${RATE:-400}
bad=0

end() {
	umount "$work/gt"
	rm -rf --one-file-system "$work"
}
trap end EXIT

as() { # as UID COMMAND...
	setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"
}
hostile=65534 honest=1001 # uids

# The attacks, each a function of its name with three arguments: the tree, or a folder with other files of the same names,
# how often a second it may do what it does, 0 for as often as it can, and how many ns of CPU time it burns each time. It says "ready" when it is at work, ends with
# its standard input, and says last how often it did it.
attacks=(readers namespaces storm blame doctor latency gpus memory writes dirs logs)
crowd() { as $hostile "$O/tests/bench/crowd" "$@"; }
readers() { crowd plain 600 "$1/top" "$2" "$3"; }
namespaces() { crowd apart 600 "$1/top" "$2" "$3"; }
storm() { crowd storm 100 "$1/top" "$2" "$3"; }
blame() { crowd plain 600 "$1/blame" "$2" "$3"; }
doctor() { crowd plain 600 "$1/doctor" "$2" "$3"; }
latency() { crowd plain 600 "$1/latency" "$2" "$3"; }
gpus() { crowd plain 600 "$1/gpus" "$2" "$3"; }
memory() { crowd plain 600 "$1/memory" "$2" "$3"; }
# a value that is too long, and jobs that come and go
writes() {
	local job=$1/backends/rocprof/jobs/long
	[ -d "${job%/*}" ] || job=$1/long
	as $hostile mkdir "$job" && as $hostile touch "$job/att_target_cu"
	crowd write 50 "$job/att_target_cu" "$2" "$3"
	as $hostile rm -f "$job/att_target_cu" 2>/dev/null
	as $hostile rmdir "$job"
}
dirs() {
	local job=$1/backends/rocprof/jobs/job
	[ -d "${job%/*}" ] || job=$1/job
	crowd dirs 50 "$job" "$2" "$3"
}

# 64 logs of AMD's runtime that grow by some 15 MB/s together, into a folder that the daemon follows or another; it has a
# rate of its own, and burns nothing
logs() {
	local dir=$work/logs
	[ -d "$1/backends" ] || dir=$work/proc/logs
	mkdir -p "$dir"
	chmod 1777 "$dir"
	python3 -c '
import os, select, sys, time
logs = [open("%s/hip_flood%d" % (sys.argv[1], i), "ab", 0) for i in range(64)]
for log in logs:
    os.chown(log.fileno(), int(sys.argv[2]), -1)
line = ":3:rocvirtual.cpp :3596: %d us: [pid:1 tid: 0x1] ShaderName : void flood<float>(float*, int)\n"
print("ready", flush=True)
n = 0
while not select.select([sys.stdin], [], [], 0.1)[0]:
    for log in logs:
        us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        log.write("".join(line % (us + i) for i in range(250)).encode())
    n += 1
print(n)' "$dir" $hostile
	rm -f "$dir"/hip_flood*
}

export GT_SRC=${GT_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$GT_SRC/tests/bench/fairness_rocprof.sh"
attacks+=("${rocprof_attacks[@]}")

memory_mib() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$daemon/status"; }
descriptors() { ls "/proc/$daemon/fd" | wc -l; }
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ print int(($14 + $15) * 1000 / hz) }' "/proc/$daemon/stat"; }
measure() { # measure WHAT - one line for each reader; figures in $work/WHAT.UID
	local uid before pids=()
	before=$(cpu_ms)
	for uid in 0 $honest; do
		as $uid "$O/tests/bench/reads" each "$latency" "$seconds" >"$work/$1.$uid" &
		pids+=($!)
	done
	wait "${pids[@]}"
	cpu=$((($(cpu_ms) - before) / seconds))
	for uid in 0 $honest; do
		printf 'bench fairness %-20s uid %-5s p50 %7d us  p99 %7d us  worst %7d us  daemon %4d ms/s %4d MiB %5d fds\n' \
			"$1" $uid $(cat "$work/$1.$uid") $cpu "$(memory_mib)" "$(descriptors)"
	done
}

beside() { # beside NAME TREE RATE BURN WHAT - measures while attack NAME is at work on TREE; $rate: how often it was
	local pid in out line
	rate=$most memory=$(memory_mib) fds=$(descriptors)
	coproc HOSTILE { "$1" "$2" "$3" "$4"; } 2>/dev/null
	pid=$HOSTILE_PID in=${HOSTILE[1]}
	exec {out}<&"${HOSTILE[0]}"
	if read -rt 50 -u "$out" line && [ "$line" = ready ]; then
		measure "$5"
		[ "$2" = "$work/proc" ] || others "$5"
	else
		echo "bench fairness $5: the attack did not start"
		bad=1
	fi
	exec {in}>&-
	read -rt 10 -u "$out" rate || { kill "$pid"; rate=$most bad=1; }
	exec {out}<&-
	wait "$pid" 2>/dev/null
	echo "bench fairness $5: $rate a second"
}

within() { # within NAME: the attack is bounded by what its load costs
	local uid
	for uid in 0 $honest; do
		awk -v name="$1" -v uid=$uid '
			FILENAME != ARGV[3] { # an idle CPU may make it slower than one at work
				p50 = $1 > p50 ? $1 : p50
				p99 = $2 > p99 ? $2 : p99
				next
			}
			{
				good = $1 <= 2 * p50 && $2 <= 2 * p99
				printf "ratio %-12s uid %-5s p50 %5.2f  p99 %5.2f  (at most 2) %s\n",
					name, uid, $1 / p50, $2 / p99, good ? "ok" : "MISSED"
				exit !good
			}' "$work/alone.$uid" "$work/$1-load.$uid" "$work/$1.$uid" || bad=1
	done
}
at_most() { # at_most WHAT VALUE LIMIT
	local good=ok
	[ "$2" -le "$3" ] || { good=MISSED; bad=1; }
	printf 'limit %-36s %6d  (at most %d) %s\n' "$1" "$2" "$3" $good
}

others() { # others NAME - while that attack is at work, what the others have
	at_most "$1.results_ms" "$(results_ms)" 2000
	[ "$1" != logs ] || at_most "$1.line_ms" "$(line_ms)" 2000
	at_most "$1.memory_mib" $(($(memory_mib) - memory)) 256
	at_most "$1.descriptors" $(($(descriptors) - fds)) 3000
}

line_ms() { # until a line that the honest user's program logs is seen as a dispatch of its kernel; at most 10 s
	local began at name=log$RANDOM$RANDOM
	began=$(date +%s%3N) at=$(date +%s%3N)
	as $honest sh -c "echo ':3:rocvirtual.cpp :3596: $(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)') us: [pid:1 tid: 0x1] ShaderName : $name' >>$work/logs/hip_honest"
	until as $honest grep -qsx 'calls 1' "$work"/gt/*/kernels/"$name"/stats || [ $((at - began)) -gt 10000 ]; do
		sleep 0.02
		at=$(date +%s%3N)
	done
	echo $(($(date +%s%3N) - began))
}

chmod 755 "$work"
mkdir "$work/gt" "$work/proc"
chmod 1777 "$work/proc"
for name in top blame doctor latency gpus memory; do ln -s /proc/loadavg "$work/proc/$name"; done
mkdir -m 1777 "$work/logs"
printf '[backend sim]\nrate = 1000\n[backend amdlog]\nfiles = %s/logs/hip_*\n' "$work" >"$work/conf"
"$O/sbin/mount.gputrace" "$work/gt" -o conf="$work/conf",backend=rocprof:sim:amdlog || exit 1
daemon=$(pgrep -f "mount.gputrace $work/gt")
latency=$work/gt/sim0/ring0/latency

results_begin
measure alone
idle=$cpu
for attack in "${@:-${attacks[@]}}"; do
	beside "$attack" "$work/gt" "$most" 0 "$attack"
	took=$((cpu > idle ? (cpu - idle) * 1000000 : 0))
	beside "$attack" "$work/proc" "$((most ? rate : 0))" $((rate ? took / rate : 0)) "$attack-load"
	within "$attack"
done
exit $bad
