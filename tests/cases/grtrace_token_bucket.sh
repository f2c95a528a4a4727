#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace's selftest of that name: the bucket lets its burst in at once, then its rate, never more and never less.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

printf '[backend sim]\nrate = 30000\njobs = 30000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim,level=off || exit 1
echo 600 >"$mnt/config/rate_limit"
echo 3000 >"$mnt/config/rate_limit_burst"
echo token_bucket >"$mnt/config/rate_limit_mode"
is "$(cat "$mnt/config/rate_limit_mode")" "window [token_bucket]" "the mode reads back"
cat "$mnt/events" >stream & reader=$!
wait_for 10 test -s stream
echo normal >"$mnt/config/level"
total() { awk '/^total/ { sub("count=", "", $2); n += $2 } END { print n + 0 }' "$mnt"/sim0/ring*/latency; }
all_done() { [ "$(total)" = 30000 ]; }
ok "30000 jobs are done" wait_for 60 all_done
caught_up() { [ "$(($(stat -c %s stream) / 64))" -ge "$(value "$mnt/status" events_recorded)" ]; }
wait_for 20 caught_up
cp "$mnt/status" status
kill $reader
wait $reader 2>/dev/null
cat >bucket.py <<'P'
import struct, sys
from tap import ok
E = struct.Struct('<QBBHHHQQIIIIQQ')
rate, burst, jobs, charges = int(sys.argv[1]), int(sys.argv[2]), {}, []
data = open('stream', 'rb').read()
for i in range(0, len(data) - 63, 64):
    ts, kind, _, _, gpu, ring, ctx, seqno = E.unpack_from(data, i)[:8]
    if kind in (0, 1, 3):
        jobs.setdefault((gpu, ring, ctx, seqno), []).append((ts, kind))
    elif kind < 32:
        charges.append((ts, 1))
ok(jobs and all(sorted(k for _, k in v) == [0, 1, 3] for v in jobs.values()), '%d jobs are whole' % len(jobs))
charges += [(min(v)[0], 3) for v in jobs.values()]
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
