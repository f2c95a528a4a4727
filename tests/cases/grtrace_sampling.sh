#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace's selftest of that name: rates of sampling, what is recorded then, and the counters of it.
# Quick
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/simruns.sh"
is_root || skip "needs root to mount"

enough() { [ "$(awk '$1 == "COMPLETE" { print $2 }' "$mnt/events_by_type")" -ge 10000 ]; }
# within RATE - is the share of recorded jobs within 3 sigma of it?
within() {
	awk -v p="$1" '$1 == "SUBMIT" { n = $2; r = $3 } $1 == "COMPLETE" { c = $3 }
		END { s = 3 * sqrt(n * p * (1 - p)); print n, r, c; exit !(n && r == c && r >= n * p - s && r <= n * p + s) }' "$mnt/events_by_type"
}
sums() {
	awk '$1 == "events_seen" { s = $2 } /^events_(recorded|filtered|sampled|rate|lost)/ { t += $2 }
		END { print s, t; exit !(s == t) }' "$mnt/status"
}

# A seed has its jobs, of which a share is always the same: at another seed 1 of 370 would be outside of 3 sigma
printf '[backend sim]\nrate = 100000\njobs = 12000\nseed = 1\n' >conf
for rate in 100 50 25 10 1 0; do
	mount_gt "$mnt" -o conf=conf,backend=sim,level=off || exit 1
	echo $rate >"$mnt/config/sampling"
	echo normal >"$mnt/config/level"
	all_played() { [ "$(total)" = 12000 ]; }
	wait_for 60 all_played
	ok "sampling $rate: within 3 sigma, and jobs are whole" within "$(awk "BEGIN { print $rate / 100 }")"
	ok "… seen is the sum of what became of it" sums
	[ $rate = 0 ] || umount_gt "$mnt"
done
is "$(value "$mnt/filter_stats" sampling)" "$(value "$mnt/status" events_sampled_out)" "filter_stats counts the rest"
ok "sampling_stats, too" awk -v want="$(value "$mnt/status" events_sampled_out)" '!/^#/ { n += $8 } END { exit !(n <= want && n > want * 0.9) }' "$mnt/sampling_stats"
umount_gt "$mnt"

printf '[backend sim]\nrate = 100000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
echo 100 >"$mnt/config/sampling"
echo threshold >"$mnt/config/sampling_mode"
echo 100000 >"$mnt/config/sampling_threshold"
between enough
slow() { python3 - "$mnt" <<'P'
import sys
rows = [l.split() for l in open(sys.argv[1] + '/report').readlines()[1:]]
head = open(sys.argv[1] + '/report').readline().split()
q, w, x = (head.index(k) for k in ('t_queue_ns', 't_hw_wait_ns', 't_exec_ns'))
bad = [r for r in rows if '-' not in (r[q], r[w], r[x]) and sum(int(r[k]) for k in (q, w, x)) <= 100000]
print(len(rows), len(bad))
sys.exit(bool(bad) or not rows)
P
}
ok "threshold: slow jobs are recorded, and only these" slow
own_times() {
	sed -n 's/.* COMPLETE .*(\([0-9.]*\) us after submit).*/\1/p' "$mnt/timeline" >after
	awk '$1 < 100 { bad++ } END { print NR, bad + 0; exit !(NR && !bad) }' after
}
ok "… timeline reckons with the times when their events happened" own_times
ok "… the sum holds" sums
echo adaptive >"$mnt/config/sampling_mode"
echo start >"$mnt/control"
reported() { [ -n "$(value "$mnt/status" sampling_cpu_percent)" ]; }
ok "adaptive: what it takes of a CPU is reported" wait_for 20 reported
echo 1 >"$mnt/config/sampling_budget"
echo 1000000 >"$mnt/backends/sim/rate"
down() { awk '$1 == "sampling_percent" && $2 < 100 { low = 1 } END { exit !low }' "$mnt/status"; } # how far, test_adapt says
ok "… a load that is too much for the budget is sampled" wait_for 60 down
ok "… the sum holds" sums
umount_gt "$mnt"
done_testing
