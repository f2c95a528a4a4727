#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Everything again under the address, undefined and leak sanitizers: the unit tests, each replay format cut
# at each of 1000 places and with bytes changed, and a mounted tree read by root and users. The unit tests that
# use tracefs, which the machine has once, are hostile_live.sh's.
# Long
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/san.sh"
for t in "$san"/tests/test_*; do
	[ -x "$t" ] || continue
	! grep -qs 'lib/tracefs\.h' "$GT_SRC/tests/unit/$(basename "$t").c" || continue
	san_unit "$(basename "$t")"
done

for f in "$GT_SRC"/tests/data/replay/*; do
	case $f in *README*) continue ;; esac
	n=1000
	[ "$(stat -c %s "$f")" -lt 300000 ] || n=200
	ok "$(basename "$f"): cut at each of $n places, and as often damaged" "$san/tests/fuzz/cut" "$f" $n 1
done
python3 "$GT_SRC/tests/lib/jobs.py" generate 7 >invented.txt
python3 "$GT_SRC/tests/lib/grtrace.py" dump invented.txt .
python3 "$GT_SRC/tests/lib/grtrace.py" annotate invented.txt >annotated.txt
for f in events0 annotated.txt; do
	ok "grtrace's $f: cut at each of 500 places, and as often damaged" "$san/tests/fuzz/cut" $f 500 1
done
ok "grtrace's records of all kinds, damaged, in pieces of any size" "$san/tests/fuzz/relay" 5000 1
samples=$GT_SRC/../shared/samples
if [ -d "$samples" ]; then
	for f in "$samples"/guest/6.1/trace.dat "$samples"/guest/6.12/drm_sched_old_and_617_names.trace.txt "$samples"/ftrace/*/*.txt "$samples"/ftrace/*.txt; do
		ok "$(basename "$f"): cut and damaged" "$san/tests/fuzz/cut" "$f" 60 2
	done
fi

if is_root; then
	GT_PROG=$san/sbin/mount.gputrace
	printf '[backend sim]\nrate = 20000\ngpus = 2\n' >conf
	mount_gt "$mnt" -o conf=conf,backend=sim 2>daemon.san
	timeout 3 cat "$mnt/events" >/dev/null & timeout 3 cat "$mnt/sim0/ring0/trace" >/dev/null &
	find "$mnt" -type f ! -name events ! -name trace -exec cat {} + >/dev/null 2>&1
	as_user find "$mnt" -type f ! -name events ! -name trace -exec cat {} + >/dev/null 2>&1
	head -c 100000 /dev/urandom >"$mnt/config/sampling" 2>/dev/null
	for i in 1 2 3; do echo clear >"$mnt/control"; echo verbose >"$mnt/config/level"; echo off >"$mnt/config/level"; echo normal >"$mnt/config/level"; done
	wait
	daemon=$(pgrep -f "mount.gputrace $mnt ")
	if grep -qs '^209 ' /proc/"$daemon"/task/*/syscall; then # it has a guard
		ok "the daemon is stopped and goes on while it is read" timeout 800 \
			python3 "$GT_SRC/tests/lib/stopstart.py" "$mnt" "$daemon" 100
		ok "… and no reader is left" wait_for 60 grep -qx "readers 0" "$mnt/status" || {
			grep -E "^(readers|files|requests|unguarded|users|memory)" "$mnt/status"
			for p in $(pgrep -f stopstart.py); do
				echo "$p: $(awk '{ print $3 }' /proc/$p/stat) $(cat /proc/$p/syscall) $(readlink /proc/$p/fd/*)"
			done
		} | sed 's/^/# /'
	fi
	umount_gt "$mnt"
	is "$(cat daemon.san)" "" "a mounted tree, read and written"
fi
done_testing
