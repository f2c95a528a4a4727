#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tests/run.sh itself: what it counts, what it finds left behind and whose, how a failing run ends, and where its
# logs stay.
# Quick
. "$GT_SRC/tests/lib/case.sh"

mkdir -p out/tests/tools cases units
ln -s "$GT_OUT/tests/tools/reap" out/tests/tools/
test_of() { # test_of FILE [MARK] - a case whose lines are read
	{ printf '#!/bin/bash\n# %s\n' "${2-}"; cat; } >"$1"
	chmod +x "$1"
}
test_of cases/good.sh Quick <<<'echo "ok 1 - good"; echo 1..1'
test_of cases/bad.sh Quick <<<'echo "ok 1 - good"; echo "not ok 2 - bad"; echo why >&2; exit 1'
test_of cases/slow.sh Long <<<'echo "ok 1 - good"; echo 1..1'
test_of cases/absent.sh <<<'echo "skipped: nothing here"; exit 77'
test_of cases/daemon.sh <<<'(cd /; sleep 300 >/dev/null 2>&1 & until [ "$(cat /proc/$!/comm)" = sleep ]; do sleep 0.01; done); echo "ok 1 - good"; echo 1..1'
test_of cases/stops.sh <<<'echo "ok 1 - good"; exit 0'
test_of cases/open.sh <<<'[ -e /proc/self/fd/9 ] && echo "not ok 1 - ours is open" || echo "ok 1 - closed"; echo 1..1'
test_of units/test_dies <<<'kill -SEGV $$'
suite() { env -u GT_GUEST -u GT_SHARE -u CLAIMS -u AGAIN O="$PWD/out" LINGER=1 CASES="$PWD/cases" UNITS="$PWD/units" "$@" >shown 2>&1; }
run=$GT_SRC/tests/run.sh

exec 9>lock
suite "$run"
is $? 1 "a run with failures fails"
exec 9>&-
is "$(tail -n 1 shown)" "5 passed, 4 failed, 1 skipped" "its last line counts"
is "$(sed -n '/^Failed/,/^Their/s/^  //p' shown | grep -v 'as it ran' | tr -s ' ' | sort | xargs -d '\n' printf '%s;')" \
	"$(printf "%s make test T==%s O=$PWD/out;" bad bad daemon daemon stops stops test_dies test_dies)" "before it is what failed, and how to run it again"
logs=$(sed -n 's/^Their logs are in //p' shown)
is "$(ls "$logs" | xargs)" "bad.log daemon.log stops.log test_dies.log" "… and where their logs are"
like "$(sed '1,/^Their/d' shown)" "^  bad: not ok 2 - bad$" "… and why, in the last lines"
like "$(sed '1,/^Their/d' shown)" "^  test_dies: # ended with 139, by SIGSEGV, after 0 checks$" "… of one that just ends, too"
like "$(cat "$logs/bad.log")" "^not ok 2 - bad$" "… which are whole"
like "$(cat "$logs/bad.log")" "^why$" "… with what went to standard error"
like "$(cat shown)" "^# left behind: process [0-9]+ sleep 300" "a process that leaves its folder and its parent is found"
like "$(cat shown)" "^# planned: nothing, but 1 checks ran" "a test that ends early with exit 0 fails"
sleeper=$(sed -n 's/^# left behind: process \([0-9]*\) sleep .*/\1/p' shown)
ok "… and ended" test ! -d "/proc/${sleeper:-self}"
like "$(cat shown)" "^skipped absent +nothing here$" "what is skipped says why"
like "$(cat shown)" "^passed  open " "a test has no file open of who started them"

suite "$run" --check
is "$(tail -n 1 shown)" "2 passed, 2 failed, 0 skipped" "--check: cases that are quick, and units"
like "$(cat shown)" "^  bad +make check T==bad O=$PWD/out$" "… run again in the same way"
suite "$run" --long
is "$? $(grep -c '^passed' shown) $(tail -n 1 shown)" "0 1 1 passed, 0 failed, 0 skipped" "--long: those that are long"
suite "$run" nowhere
like "$? $(cat shown)" "^1 no test of make test has a name with: nowhere" "a name that no test has is no success"
suite "$run" good
is "$? $(tail -n 1 shown)" "0 1 passed, 0 failed, 0 skipped" "one that passes"
is "$(grep -c 'Failed\|running:' shown)" 0 "… has no list, and no terminal's line in a file"
# Each of two waits until the other has begun
test_of cases/fails.sh <<<'touch ../fails.on; until [ -e ../fellow.on ]; do sleep 0.01; done; echo "not ok 1 - bad"; echo 1..1'
test_of cases/fellow.sh <<<'touch ../fellow.on; until [ -e ../fails.on ]; do sleep 0.01; done; echo "ok 1 - good"; echo 1..1'
if [ "$(nproc)" -gt 1 ]; then
	suite "$run" fellow fails
	like "$(cat shown)" "^ +as it ran +make test T='=fails =fellow' O=$PWD/out$" "a test that fails is run again beside what it ran with"
fi
suite "$run" goo
is "$(tail -n 1 shown)" "1 passed, 0 failed, 0 skipped" "a part of a name is enough"
suite "$run" =goo
like "$(cat shown)" "^no test of make test has a name with: =goo$" "… and none where the whole is asked for"
suite "$run" slow
like "$(cat shown)" "^slow is one of make test-long$" "where a long one is, it says"

# What is at work when a run is interrupted, or when its time is up, ends itself
test_of cases/waits.sh <<'C'
. "$GT_SRC/tests/lib/case.sh"
cleanup() { echo cleaned >>"$GT_SRC_OUT"; }
touch "$GT_SRC_OUT.on"
wait_for 600 test -e "nothing of the kind"
C
export GT_SRC_OUT=$PWD/ended
O="$PWD/out" LINGER=1 CASES="$PWD/cases" UNITS="$PWD/units" "$run" =waits >shown 2>&1 & interrupted=$!
wait_for 60 test -e ended.on
kill $interrupted
wait $interrupted
is "$? $(cat ended)" "143 cleaned" "a test cleans up when its run is interrupted"
TIME_LIMIT=1 suite "$run" =waits
is "$(wc -l <ended)" 2 "… and when it took too long"
like "$(cat "$(sed -n 's/^Their logs are in //p' shown)/waits.log")" "waiting for: test -e nothing of the kind" "… with what it waited for in its log"
rm cases/waits.sh

if is_root; then
	test_of cases/crash.sh <<-'C'
		. "$GT_SRC/tests/lib/case.sh"
		export GT_PROG=$GT_PROG_OF_SUITE
		mount_gt "$mnt" -o backend=sim
		pkill -ABRT -f "mount.gputrace $mnt( |\$)"
		wait_for 60 gone "$mnt"
		ok "it is there" test -e "$mnt/status"
		done_testing
	C
	GT_PROG_OF_SUITE=$GT_PROG suite "$run" =crash
	crash=$(cat "$(sed -n 's/^Their logs are in //p' shown)/crash.log")
	like "$crash" "^#\| no daemon serves .*/mnt any more$" "a test with a daemon that crashed says so"
	like "$crash" "^# process [0-9]+ was ended by signal 6$" "… and by which signal"
	rm cases/crash.sh
fi

mkdir out/logs/20000101-0000{01..12}-1
suite "$run" bad
is "$(ls out/logs | wc -l)" 10 "the logs of ten failing runs stay"

if command -v script >/dev/null; then
	suite script -qec "$run good" /dev/null
	like "$(tr '\r' '\n' <shown)" "running: good" "on a terminal it says what runs"
	is "$(tr '\r' '\n' <shown | sed -n 's/^.*\x1b\[K//p' | grep -c .)" "$(tr '\r' '\n' <shown | grep -c $'^\x1b\[K.')" "… in a line that is taken away again"
fi

instances=/sys/kernel/tracing/instances
if is_root && [ -w $instances ]; then
	(exit 0) & dead=$!
	wait $dead
	mkdir "$instances/gputrace-$dead"
	cleanup() { rmdir "$instances/gputrace-$dead" 2>/dev/null; }
	rm -r cases units && mkdir cases units
	test_of cases/slow.sh <<<'echo "ok 1 - good"; echo 1..1'
	suite "$run"
	is "$(tail -n 1 shown)" "1 passed, 0 failed, 0 skipped" "what another run's daemon left is not looked at"
else
	skip_ok "instances of another run" "no tracefs that may be written"
fi
done_testing
