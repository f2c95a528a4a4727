#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# adaptive.sh - does the daemon's use of a CPU come to within a fifth of sampling_budget, and stay there when
# there is ten times as much to do, and a tenth again? Many read the trace, so that a record is costly and it is
# sampling that matters. The budget is less than the smaller load takes when all is recorded.
set -u
O=$(readlink -f "${O:-.output}")
work=$(mktemp -d)
gt=$work/gt
readers=() bad=0
end() {
	[ ${#readers[@]} = 0 ] || kill "${readers[@]}"
	wait
	umount "$gt"
	rm -rf --one-file-system "$work"
}
trap 'end 2>/dev/null' EXIT

mkdir "$gt"
printf '[backend sim]\nrate = 10000\ngpus = 1\nseed = 9\n' >"$work/conf"
GPUTRACE_TEST=1 "$O/sbin/mount.gputrace" "$gt" -o "conf=$work/conf,backend=sim" || exit 1
daemon=$(pgrep -f "mount.gputrace $gt ")
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$daemon/stat"; } # proc(5): utime, stime; 10 ms each
use() { # use SECONDS - thousandths of a CPU
	local t=$EPOCHREALTIME n
	n=$(ticks)
	sleep "$1"
	echo $((($(ticks) - n) * 10000000 / (${EPOCHREALTIME/./} - ${t/./})))
}
load() { echo "$1" >"$gt/backends/sim/rate" && sleep 3; }

for _ in {1..24}; do cat "$gt/trace" >/dev/null & readers+=($!); done
load 10000
all=$(use 4)
budget=$((all * 8 / 100))
echo "$budget" >"$gt/config/sampling_budget" || exit 1
echo 0 >"$gt/config/sampling"
load 100000
none=$(use 4)
echo 100 >"$gt/config/sampling"
echo "bench adaptive.all $all thousandths of a CPU, with ten times the load and no record $none, budget $((budget * 10))"
[ "$none" -lt $((budget * 9)) ] || { echo "bench adaptive: here no sampling keeps that budget"; exit 0; }
echo adaptive >"$gt/config/sampling_mode"
for rate in 100000 10000 100000 10000; do
	load $rate
	used=$(use 6) good=ok
	[ "$used" -ge $((budget * 8)) ] && [ "$used" -le $((budget * 12)) ] || { good=MISSED; bad=1; }
	awk -v n="adaptive.$rate" -v u="$used" -v b=$budget -v g=$good \
		'BEGIN { printf "ratio %-28s %6.2f  (0.8 to 1.2) %s\n", n, u / b / 10, g }'
done
exit $bad
