#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# 100,000 simulated events a second: the files equal the ground truth, event for event.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/simruns.sh"
is_root || skip "needs root to mount"
export GPUTRACE_TEST=1

for measured in 0 1; do
	printf '[backend sim]\nrate = 100000\njobs = 120000\ngpus = 2\nseed = 5\nmeasured = %d\ntruth = %s/truth.csv\n' $measured "$PWD" >conf
	mount_gt "$mnt" -o conf=conf,backend=sim,level=off || exit 1
	rm -f stream
	cat "$mnt/events" >stream & reader=$!
	wait_for 20 test -s stream
	echo normal >"$mnt/config/level"
	done_jobs() { [ "$(total)" = 120000 ]; }
	ok "measured=$measured: 120000 jobs are done" wait_for 180 done_jobs
	cat "$mnt/blame" >blame
	cat "$mnt/blame_stats" >blame_stats
	cat "$mnt/report" >report
	caught_up() { [ "$(($(stat -c %s stream) / 64))" -ge "$(value "$mnt/status" events_recorded)" ]; }
	wait_for 60 caught_up
	ok "measured=$measured: the files equal the truth" python3 "$GT_SRC/tests/lib/truth.py" truth.csv "$mnt" stream
	ok "measured=$measured: who waited for whom, too" python3 "$GT_SRC/tests/lib/blametruth.py" truth.csv blame report
	kill $reader
	wait $reader
	umount_gt "$mnt"
done
done_testing
