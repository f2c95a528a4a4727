#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace's selftest of that name: the bucket lets its burst in at once, then its rate, never more and never less.
# Quick
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/simruns.sh"
is_root || skip "needs root to mount"

printf '[backend sim]\nrate = 30000\njobs = 30000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim,level=off || exit 1
echo 600 >"$mnt/config/rate_limit"
echo 3000 >"$mnt/config/rate_limit_burst"
echo token_bucket >"$mnt/config/rate_limit_mode"
played 30000
cat >bucket.py <<'P'
import sys
from records import jobs_and_others, whole
from tap import ok
rate, burst = int(sys.argv[1]), int(sys.argv[2])
jobs, others = jobs_and_others('stream')
ok(whole(jobs), '%d jobs are whole' % len(jobs))
charges = [(ts, 1) for ts in others] + [(min(v)[0], 3) for v in jobs.values()]
charges.sort()
worst = least = 0
for i in range(0, len(charges), 97):
    n = 0
    for ts, c in charges[i:]:
        n += c
        worst = max(worst, n - rate * (ts - charges[i][0]) / 1e9 - burst)
print('# at most %.1f over rate x t + burst' % worst)
ok(worst <= 3, 'never over rate x t + burst + one job')
span = (charges[-1][0] - charges[0][0]) / 1e9
n = sum(c for _, c in charges)
print('# %d records in %.2f s' % (n, span))
ok(n >= rate * span + burst - 2 * 16, 'and never idle while there are tokens')
P
python_checks bucket.py 600 3000
is $(($(value status events_rate_limited) + $(value status events_recorded))) "$(value status events_seen)" "what was not recorded is counted"
umount_gt "$mnt"
done_testing
