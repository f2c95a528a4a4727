#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace's selftest of that name: the window limit holds in every second, for whole jobs, and is counted.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
export GPUTRACE_TEST=1

printf '[trace]\nrate_limit = 900\n[backend sim]\nrate = 30000\njobs = 35000\ntruth = %s/truth.csv\n' "$PWD" >conf
mount_gt "$mnt" -o conf=conf,backend=sim,level=off || exit 1
is "$(cat "$mnt/config/rate_limit") $(cat "$mnt/config/rate_limit_mode")" "900 [window] token_bucket" "gputrace.conf sets it"
cat "$mnt/events" >stream & reader=$!
wait_for 10 test -s stream
echo normal >"$mnt/config/level"
total() { awk '/^total/ { sub("count=", "", $2); n += $2 } END { print n + 0 }' "$mnt"/sim0/ring*/latency; }
all_done() { [ "$(total)" = 35000 ]; }
ok "35000 jobs are done" wait_for 60 all_done
caught_up() { [ "$(($(stat -c %s stream) / 64))" -ge "$(value "$mnt/status" events_recorded)" ]; }
wait_for 20 caught_up
cp "$mnt/status" status
kill $reader
wait $reader 2>/dev/null
cat >window.py <<'P'
import struct, sys
from tap import ok
E = struct.Struct('<QBBHHHQQIIIIQQ')
limit, jobs, other = int(sys.argv[1]), {}, {}
data = open('stream', 'rb').read()
for i in range(0, len(data) - 63, 64):
    ts, kind, _, _, gpu, ring, ctx, seqno = E.unpack_from(data, i)[:8]
    if kind in (0, 1, 3):
        jobs.setdefault((gpu, ring, ctx, seqno), []).append((ts, kind))
    elif kind < 32:
        other[ts // 10**9] = other.get(ts // 10**9, 0) + 1
ok(jobs and all(sorted(k for _, k in v) == [0, 1, 3] for v in jobs.values()), '%d jobs are whole' % len(jobs))
seconds = dict(other)
for v in jobs.values():
    s = min(v)[0] // 10**9
    seconds[s] = seconds.get(s, 0) + len(v)
print('#', sorted(seconds.items()))
ok(all(n <= limit + 2 for n in seconds.values()), 'no second has more than one job over %d' % limit)
whole = sorted(seconds)[1:-1]
ok(whole and all(seconds[s] >= limit for s in whole), 'and every whole one is used up')
P
python_checks window.py 900
seen=$(value status events_seen) limited=$(value status events_rate_limited) recorded=$(value status events_recorded)
is $((limited + recorded)) "$seen" "what was not recorded counts as rate limited"
is "$(value "$mnt/filter_stats" rate_limit)" "$limited" "filter_stats says so, too"
umount_gt "$mnt"
done_testing
