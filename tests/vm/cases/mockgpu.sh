#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The mock GPU itself: what it says of its jobs holds, whatever is done to it, and nothing is left.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
tracing=/sys/kernel/tracing/instances/mock # as the top-level buffer may be small on 6.1
cleanup() {
	jobs -p | xargs -r kill -KILL 2>/dev/null
	wait
	echo 0 >$tracing/events/enable
	echo >$tracing/trace
	mock_unload
}
mock_load timeout_ms=500 || exit 1
mock_names amdgpu || exit 1

# Two users, two devices, all rings
"$gpujobs" --device 0 --jobs 400 --ring $rings --length-us 200-900 --contexts 3 >a.out &
as_user "$gpujobs" --device 1 --jobs 400 --ring $rings --length-us 200-900 --seed 9 --depend 3 >b.out &
wait
ok "all jobs have ended" wait_for 20 all_done
cp $truth truth.all
echo >$truth
is "$(wc -l <$truth)" 1 "the truth is cleared"

# The tracer sees what the truth says. The first events of a kind are slow, by TCG's translation of
# their code, so there are some that do not count.
mkdir $tracing
echo mono >$tracing/trace_clock
for n in gpu_scheduler amdgpu dma_fence; do
	echo 1 >$tracing/events/$n/enable
done
"$gpujobs" --jobs 20 --ring $rings --depend 1 >/dev/null
echo >$tracing/trace
echo >$truth
"$gpujobs" --jobs 100 --ring gfx_0.0.0,sdma0 --length-us 1000 --depth 10 --depend 1 >/dev/null &
traced=$!
wait
echo 0 >$tracing/events/enable
cp $tracing/trace trace
rmdir $tracing
cp $truth truth.trace

# A job that hangs: the timeout ends it, and the others go on
echo >$truth
for r in sdma0 comp_1.0.1; do
	"$gpujobs" --jobs 8 --hang --depth 8 --ring $r >out
	is "$(grep -c '^failed 1 62$' out)/$(grep -c failed out)" 1/1 "$r: ETIME for the hung job, for no other"
done
cp $truth truth.hang

# What a client has used
echo >$truth
mkfifo hold
"$gpujobs" --jobs 50 --ring $rings --length-us 500 --alloc 3145728 --hold <hold >out &
holder=$!
exec 8>hold
wait_for 20 eval 'all_done && [ $(wc -l <$truth) = 51 ]'
cat "$(grep -l drm-driver /proc/$holder/fdinfo/*)" >fdinfo
exec 8>&-
wait
cp $truth truth.used
python_checks "$GT_SRC/tests/vm/cases/mockgpu.py" $traced

# Killed while a job hangs: what is queued has a second yet, the rest never runs
echo >$truth
"$gpujobs" --jobs 100 --hang --depth 100 --ring sdma0 --length-us 50000 >out &
victim=$!
wait_for 20 eval '[ $(wc -l <$truth) = 101 ]'
kill -KILL $victim
wait $victim 2>/dev/null
ok "jobs of a killed process end" wait_for 20 all_done
ok "and those that did not run failed" awk 'NR > 1 && $13 == "-" && $NF < 0 { n++ } END { exit !n }' $truth

# Unbound while busy: jobs fail, open files say so, the other device goes on; bound again, it works
echo >$truth
"$gpujobs" --device 1 --jobs 300 --length-us 1000 --ring $rings >other &
other=$!
hang=([1]= [2]=--hang)
not_in_flight() { ! grep -q "^$1 .* -\$" $truth; }
for _ in 1 2 3 4; do
	rm -f busy1 busy2
	for j in 1 2; do
		"$gpujobs" --jobs 100000 --length-us 200-3000 --ring $rings --depth 300 --contexts 4 --seed $j ${hang[j]} >busy$j 2>&1 &
		busy[j]=$!
	done
	wait_for 20 eval 'test -s busy1 && test -s busy2'
	mock_unbind 0
	wait "${busy[1]}"
	a=$?
	wait "${busy[2]}"
	is "$a $?" "3 3" "unbound: both processes see ENODEV"
	ok "no job of theirs is left" not_in_flight mockgpu.0
	is "$(echo /sys/bus/platform/devices/mockgpu.*/drm)" /sys/bus/platform/devices/mockgpu.1/drm "its nodes are gone"
	mock_bind 0
done
ok "the other device does not notice" wait $other
is "$(wc -l <other)" 300 "all its jobs were taken"
is "$("$gpujobs" --jobs 5 | wc -l)" 5 "bound again, it works"
like "$(awk '$NF == -19' $truth)" "^mockgpu.0 gfx_0.0.0 .* -19$" "the truth says what failed"

# A table that is full
ok "unloaded" mock_unload
mock_load truth_max=10 || exit 1
"$gpujobs" --jobs 25 >/dev/null
is "$(wc -l <$truth) $(cat ${truth}_lost)" "11 15" "jobs beyond the table are counted"
ok "unloaded again" mock_unload
done_testing
