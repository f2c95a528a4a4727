#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A recording and damaged ones: every file says what an independent program computes, no job whose end was
# missed stays anywhere, and nothing is made up. SEEDS="1 2 3 ..." MANY=1 plays more of them.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
SEEDS=${SEEDS:-2 4}
truth="python3 $GT_SRC/tests/lib/ringtruth.py"

$truth generate 3 >invented.txt
$truth generate 3 scheduler >scheduler.txt # the same as of Linux 6.17 and later
grep -E '^#|: drm_sched_job_(queue|run|done): ' "$GT_SRC/tests/data/replay/sched_6.12.txt" >guest.txt
files=(invented.txt scheduler.txt guest.txt)
sample=$GT_SRC/../shared/samples/ftrace/gpuvis/amdgpu_4.11_gpu_events_rendered.txt
if [ -f "$sample" ]; then files+=("$sample"); else skip_ok "the real 4.11 recording" "../shared is not here"; fi

played() { grep -q '^state ended$' "$mnt/status"; }
for f in "${files[@]}"; do
	n=$(basename "$f" .txt)
	seeds=$SEEDS
	[ "$n" = invented ] || [ -n "${MANY-}" ] || seeds=${SEEDS%% *}
	for kind in ${KINDS:-whole front fronts unmarked many middle cpu ends1 ends10 ends50 noends ringends lateends never twice lost reused order clock}; do
		# the scheduler's ends do not name their ring
		[ $kind = ringends ] && [[ $n == @(scheduler|guest) ]] && continue
		for seed in $seeds; do
			[ $kind != whole ] || { [ "$seed" = "${SEEDS%% *}" ] || continue; cp "$f" damaged.txt; }
			[ $kind = whole ] || $truth damage $kind "$seed" <"$f" >damaged.txt
			mount_gt "$mnt" -o replay=damaged.txt,speed=0 || exit 1
			wait_for 60 played || exit 1
			ok "$n, $kind $seed: every file is as computed" $truth compare damaged.txt "$mnt"
			[ $kind = whole ] || ok "$n, $kind $seed: nothing is made up" $truth against $kind "$f" damaged.txt "$mnt"
			umount_gt "$mnt"
		done
	done
done
$truth damage noends 1 <invented.txt >damaged.txt
mount_gt "$mnt" -o replay=damaged.txt,speed=0 || exit 1
wait_for 60 played
is "$(count_rows "$mnt/blame")" 0 "without any end nobody is blamed"
is "$(value "$mnt/status" jobs_in_flight)" "" "… and status leaves out how many are in flight"
like "$(<"$mnt/doctor")" '^endless amdgpu0 ring0 gfx: 900 jobs began and none was seen to end' "… and doctor says what is missing"
umount_gt "$mnt"
# Of one ring of two no hand-over is there
grep -v 'amdgpu_sched_run_job.*timeline=gfx' invented.txt >damaged.txt
mount_gt "$mnt" -o replay=damaged.txt,speed=0 || exit 1
wait_for 60 played
ok "a ring without hand-overs: every file is as computed" $truth compare damaged.txt "$mnt"
is "$(awk '$3 == "gfx" { print $6 }' "$mnt/rings")" - "… and how busy it was is not known"
like "$(<"$mnt/doctor")" '^unhanded amdgpu0 ring[0-9] gfx: jobs ended' "… which doctor says"
umount_gt "$mnt"
# Nor any end yet: whether a job runs nobody knows
grep -v 'amdgpu_sched_run_job\|dma_fence_signaled' invented.txt | head -n 40 >damaged.txt
mount_gt "$mnt" -o replay=damaged.txt,speed=0 || exit 1
wait_for 60 played
ok "submissions alone: every file is as computed" $truth compare damaged.txt "$mnt"
gfx=$mnt/$(awk '$3 == "gfx" { print $1 "/" $2 }' "$mnt/rings")
is "$(grep -c running "$gfx/jobs"), $(awk 'NR > 1 { print $2, $3, $4, $5 }' "$gfx/utilization")" "0, - - - -" "… and no job runs, nor is the ring idle"
umount_gt "$mnt"
[ ! -f "$sample" ] || {
	waited() { awk 'NR > 1 { n += $6 } END { print n < '"$1"' }' "$mnt/blame"; }
	awk '!/^#/ { t = $0; sub(/.*\] [^ ]+ +/, "", t); if (t + 0 > 630660.6 && t + 0 < 630661.6) next } 1' "$sample" >damaged.txt
	mount_gt "$mnt" -o replay=damaged.txt,speed=0
	wait_for 60 played
	is "$(waited 7e8)" 1 "a second is missing: nobody waited for 56 s for jobs that ended before a CPU's buffer begins"
	umount_gt "$mnt"
	mount_gt "$mnt" -o replay="$sample",speed=0
	wait_for 60 played
	gfx=$mnt/$(awk 'NR > 1 { print $1; exit }' "$mnt/gpus")/by-name/gfx
	is "$(awk 'NR > 1 && $10 == "RenderThread" { n += $6 } END { print n }' "$mnt/blame")" 341356000 "RenderThread waited 341 ms, and not 2826"
	is "$(awk '{ print $2 }' "$gfx/depth" | paste -sd ' ')" "0 0.92 3" "none of 120 jobs stays in flight"
	is "$(awk 'NR > 1 { print $3, $5, $6 }' "$mnt/rings" | paste -sd ' ')" "gfx 0 48.78 sdma0 0 0.00 sdma1 0 0.00" "nor on sdma0, for 3.4 s"
	is "$(awk '/ring0/ { print $2 }' "$mnt/perf")" 48.54 "the ring was busy for half of the last second"
	umount_gt "$mnt"
	# jobs are handed over on CPU 1 and end on others: 43 % if times are made of both
	$truth damage clock 4 <"$sample" >damaged.txt
	mount_gt "$mnt" -o replay=damaged.txt,speed=0
	wait_for 60 played
	like "$(cat "$mnt/doctor")" "CPU 0 is at least 1993 us behind that of CPU 1" "the clock of CPU 1 is 2 ms ahead"
	is "$(awk '/gfx/ { print $6 }' "$mnt/rings")" - "how busy the ring was is not known"
	is "$(awk 'NR > 1 { print $2, $3, $4, $5 }' "$(dirname "$(grep -l gfx "$mnt"/amdgpu0/ring*/name)")/utilization")" "- - - -" "... in its own file"
	is "$(awk '/ring0/ { print $2 }' "$mnt/perf")" - "... in perf"
	is "$(awk '/GRAPHICS/ && $1 != "-" { print $5, $6 }' "$mnt/top" | sort -u)" "- -" "... nor for whom"
	is "$(awk '/GRAPHICS/ { print $2, $3, $4, $5 }' "$mnt/amdgpu0/utilization")" "- - - -" "... nor the GPU"
	umount_gt "$mnt"
}
done_testing
