#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# repeat.sh N [NAME...] - builds, then runs the tests of `make test`, or those with a NAME in their name, N times, every
# second time beside `stress-ng --cpu 4 --io 2 --vm 1`. Prints a table: test, runs, failures, slowest in seconds.
#
# The runs of one commit may be spread: the table covers all that $O/repeat/COMMIT holds, also of earlier calls, and a
# run has stress-ng beside it if fewer of these had it than did not. With changes that are not committed the folder is
# COMMIT-modified. A run that did not end, or in which no test ran, is a failure, and not in the table.
set -u
cd "$(dirname "$0")/.." || exit 1
out=$(readlink -f "${O:-.output}")
n=${1:?"usage: repeat.sh N [NAME...]"}
shift
command -v stress-ng >/dev/null || tests/lib/apt.sh stress-ng || exit
make -s -j"$(nproc)" O="$out" tools || exit
dir=$out/repeat/$(git rev-parse --short HEAD)
[ -z "$(git status --porcelain)" ] || dir+=-modified
mkdir -p "$dir"

run= stress=
finish() {
	# shellcheck disable=SC2086 # none, one or two
	[ -z "$run$stress" ] || { kill $run $stress; wait; } 2>/dev/null
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

bad=0
for ((i = 1; i <= n; i++)); do
	beside=idle
	if [ "$(find "$dir" -name '*.stress*' | wc -l)" -lt "$(find "$dir" -name '*.idle*' | wc -l)" ]; then
		beside=stress
		stress-ng --quiet --cpu 4 --io 2 --vm 1 &
		stress=$!
	fi
	log=$dir/$(date +%Y%m%d-%H%M%S)-$$-$i.$beside
	O=$out tests/run.sh "$@" >"$log.unfinished" 2>&1 &
	run=$!
	wait $run
	run=
	[ -z "$stress" ] || { kill $stress && wait $stress; }
	stress=
	last=$(tail -n 1 "$log.unfinished")
	if [[ $last =~ ^[0-9]+\ passed,\ [0-9]+\ failed ]] && [[ $last != 0\ passed,\ 0\ failed* ]]; then
		mv "$log.unfinished" "$log"
	else
		bad=1 log+=.unfinished
	fi
	echo "run $i of $n, $beside: $last, $log"
done

echo
cat "$dir"/*.idle "$dir"/*.stress 2>/dev/null | sed -nE 's/^(passed|FAILED) +([^ ]+) .* checks, ([0-9]+) s.*/\2 \1 \3/p' |
	awk '{ runs[$1]++; bad[$1] += $2 == "FAILED"; if ($3 > most[$1]) most[$1] = $3 }
		END { for (t in runs) print t, runs[t], bad[t], most[t] + 0 }' | sort -k3,3nr -k4,4nr -k1 |
	awk 'NR == 1 { printf "%-24s %6s %8s %9s\n", "test", "runs", "failures", "slowest_s" } { printf "%-24s %6d %8d %9d\n", $1, $2, $3, $4; failed += $3 }
		END { exit failed > 0 || NR == 0 }' && [ $bad = 0 ]
