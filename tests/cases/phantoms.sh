#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A recording and damaged ones: every file says what an independent program computes, no job whose end was
# missed stays anywhere, and no time is made up.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
truth="python3 $GT_SRC/tests/lib/ringtruth.py"

$truth generate 3 >invented.txt
files=(invented.txt)
sample=$GT_SRC/../shared/samples/ftrace/gpuvis/amdgpu_4.11_gpu_events_rendered.txt
if [ -f "$sample" ]; then files+=("$sample"); else skip_ok "the real 4.11 recording" "../shared is not here"; fi

played() { grep -q '^state ended$' "$mnt/status"; }
for f in "${files[@]}"; do
	n=$(basename "$f" .txt)
	for kind in whole front ends1 ends10 ends50 twice lost reused; do
		for seed in ${SEEDS:-1 3}; do
			[ $kind != whole ] || { [ "$seed" = 1 ] || continue; cp "$f" damaged.txt; }
			[ $kind = whole ] || $truth damage $kind "$seed" <"$f" >damaged.txt
			mount_gt "$mnt" -o replay=damaged.txt,speed=0 || exit 1
			wait_for 30 played
			ok "$n, $kind $seed: every file is as computed" $truth compare damaged.txt "$mnt"
			[ $kind = whole ] || ok "$n, $kind $seed: no time is made up" $truth against "$f" damaged.txt "$mnt"
			umount_gt "$mnt"
		done
	done
done
[ ${#files[@]} = 1 ] || {
	mount_gt "$mnt" -o replay="$sample",speed=0
	wait_for 30 played
	gfx=$mnt/$(awk '!/^#/ { print $1; exit }' "$mnt/gpus")/by-name/gfx
	is "$(awk '!/^#/ && $2 == "RenderThread" { n += $8 } END { print n }' "$mnt/blame")" 341356000 "RenderThread waited 341 ms, and not 2826"
	is "$(awk '{ print $2 }' "$gfx/depth" | paste -sd ' ')" "0 15.57 123" "none of 120 jobs stays in flight"
	is "$(awk '/ring0/ { print $2 }' "$mnt/perf")" 48.54 "the ring was busy for half of the last second"
	umount_gt "$mnt"
}
done_testing
