#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace's selftest of that name: the window limit holds in every second, for whole jobs, and is counted.
# Quick
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/simruns.sh"
is_root || skip "needs root to mount"
export GPUTRACE_TEST=1

printf '[trace]\nrate_limit = 900\n[backend sim]\nrate = 30000\njobs = 35000\ntruth = %s/truth.csv\n' "$PWD" >conf
mount_gt "$mnt" -o conf=conf,backend=sim,level=off || exit 1
is "$(cat "$mnt/config/rate_limit") $(cat "$mnt/config/rate_limit_mode")" "900 window" "gputrace.conf sets it"
played 35000
cat >window.py <<'P'
import collections, sys
from records import jobs_and_others, whole
from tap import ok
limit = int(sys.argv[1])
jobs, others = jobs_and_others('stream')
ok(whole(jobs), '%d jobs are whole' % len(jobs))
seconds = collections.Counter(ts // 10**9 for ts in others)
for v in jobs.values():
    s = min(v)[0] // 10**9
    seconds[s] += len(v)
print('#', sorted(seconds.items()))
ok(all(n <= limit + 2 for n in seconds.values()), 'no second has more than one job over %d' % limit)
inner = sorted(seconds)[1:-1]
ok(inner and all(seconds[s] >= limit for s in inner), 'and every whole one is used up')
P
python_checks window.py 900
seen=$(value status events_seen) limited=$(value status events_rate_limited) recorded=$(value status events_recorded)
is $((limited + recorded)) "$seen" "what was not recorded counts as rate limited"
is "$(value "$mnt/filter_stats" rate_limit)" "$limited" "filter_stats says so, too"
umount_gt "$mnt"
done_testing
