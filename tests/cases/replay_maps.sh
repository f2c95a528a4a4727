#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Events of today's drivers, as text: user queues beside the scheduler, why jobs wait, the GTs of xe, an NPU.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to become other users"

mount_gt "$mnt" -o replay="$GT_SRC/tests/data/replay/jobs_7.3.txt" || exit 1
gpu=$(awk 'NR > 1 { print $1; exit }' "$mnt/gpus")
is "$(count_rows "$mnt/gpus")" 1 "events that name no device are of the only one that there is"
rings() { for r in "$mnt/$gpu"/ring[0-9]*; do echo "$(cat "$r/name") $(cat "$r/engine")"; done | sort | tr '\n' ' '; }
is "$(rings)" "gfx_0.0.0 GRAPHICS sdma0 COPY user_compute COMPUTE " "the scheduler's rings, and the user queues'"
of() { awk -v f="$1" 'NR > 1 && $5 == f { $1 = $1; print }' "$mnt/report"; }
is "$(count_rows "$mnt/report")" 5 "each job has ended once"
is "$(value "$mnt/status" jobs_begin_unseen)" 0 "no fence ended another's"
is "$(of 70 | cut -d' ' -f6,7,13)" "640 300 -
704 300 -" "jobs of the user queue end with their fences"
is "$(of 12 | cut -d' ' -f6,14-19)" "1 job 1000000 $gpu $(of 20 | cut -d' ' -f3) 1 400
2 job 300000 $gpu $(of 70 | head -n 1 | cut -d' ' -f3) 704 300" "why the scheduler's jobs waited, how long, and for whom"
is "$(of 20 | cut -d' ' -f14-19)" "- - - - - -" "one that did not wait has no reason"
like "$(cat "$mnt/timeline")" "job_dependency.* pid=300 .*waits_for=20:1 of_pid=400" "timeline: which fence"
like "$(cat "$mnt/timeline")" "COMMIT .*1040 us queue wait. .1000 us since a dependency kept it" "… and how long it kept the job"
is "$(awk 'NR > 1 && $9 == "dependency" { print $1, $4, $5, $6 }' "$mnt/blame" | sort)" "300 process 400 1000000
300 self 300 300000" "blame: for whom, as a dependency"
is "$(awk 'NR > 1 && $1 == 300 { n += $7 } END { print (n > 99.9 && n < 100.1) }' "$mnt/blame")" 1 "… rows of a waiter on a ring are all of its wait"
q=$(ls "$mnt/$gpu/queues")
is "$q" 1040 "the user queue is there, and none that could not be made"
is "$(cat "$mnt/$gpu/queues/$q/state")" destroyed "… and was destroyed"
umount_gt "$mnt"

cat >xe.txt <<'T'
cpus=1
            prog-300   [000]    10.000100: xe_exec_queue_create: dev=0000:03:00.0, 0:0x1, gt=0, width=1, guc_id=12, guc_state=0x0, flags=0x0
            prog-300   [000]    10.000200: xe_exec_queue_create: dev=0000:03:00.0, 3:0x1, gt=1, width=1, guc_id=12, guc_state=0x0, flags=0x0
            prog-300   [000]    10.000300: xe_sched_job_exec:    dev=0000:03:00.0, fence=00000000aabbcc01, seqno=5, lrc_seqno=4, gt=0, guc_id=12, batch_addr=0x000000000000, guc_state=0x0, flags=0x1, error=0
            prog-300   [000]    10.000400: xe_sched_job_exec:    dev=0000:03:00.0, fence=00000000aabbcc02, seqno=5, lrc_seqno=4, gt=1, guc_id=12, batch_addr=0x000000000000, guc_state=0x0, flags=0x1, error=0
          <idle>-0     [000]    10.000500: xe_hw_fence_signal:   dev=0000:03:00.0, ctx=0x0000000000000011, fence=00000000aabbcc02, seqno=5
          <idle>-0     [000]    10.000600: xe_hw_fence_signal:   dev=0000:03:00.0, ctx=0x0000000000000012, fence=00000000aabbcc01, seqno=5
          <idle>-0     [000]    10.000700: xe_guc_uncorrectable_error: dev=0000:03:00.0, 3:0x1, gt=1, width=1, guc_id=12, guc_state=0x0, flags=0x0
T
mount_gt "$mnt" -o replay=xe.txt || exit 1
gpu=$(awk 'NR > 1 { print $1; exit }' "$mnt/gpus")
is "$(ls "$mnt/$gpu/queues" | sort -n | tr '\n' ' ')" "12 65548 " "queues of one number in two GTs are two"
is "$(awk 'NR > 1 { print $5, $6, $1 }' "$mnt/report" | sort -n | cut -d' ' -f1,2 | tr '\n' ' ')" "12 5 65548 5 " "and so are their jobs"
like "$(cat "$mnt/$gpu/errors")" fault "an error that cannot be corrected"
umount_gt "$mnt"

cat >npu.txt <<'T'
cpus=1
            prog-300   [000]    10.000100: xdna_job: fence=(context:21, seqno:1), ctx300 seq#:0 job run, op=1
            prog-300   [000]    10.000400: xdna_job: fence=(context:21, seqno:1), ctx300 seq#:0 signaling fence, op=1
            prog-300   [000]    10.000500: xdna_job: fence=(context:21, seqno:1), ctx300 seq#:0 job free, op=1
T
mount_gt "$mnt" -o replay=npu.txt || exit 1
is "$(awk 'NR > 1 { print $4, $5, $6, $11 }' "$mnt/report")" "COMPUTE 21 1 300000" "a job of an NPU"
umount_gt "$mnt"
# ends, of a recording that lacks drm_sched_job_done: by the old names, whose key the old begins beside the new
# ones tell; by fences; and the old names alone
sched=$GT_SRC/tests/data/replay/sched_6.12.txt
with() { grep -E "^cpus| ($1): " "$sched" >ends.txt; }
jobs() { awk 'NR > 1 { print $3, $5, $7, $8 }' "$mnt/rings" | sort; }
ran() { awk 'NR > 1 { print $3, $5, $6 }' "$mnt/report" | sort; }
played() { grep -q '^state ended$' "$mnt/status"; }
all="comp_1.0.0 0 24 24
gfx_0.0.0 0 32 32
sdma0 0 24 24"
mount_gt "$mnt" -o replay="$sched",speed=0 || exit 1
wait_for 30 played
is "$(jobs)" "$all" "each job ends once where all names are there"
whole=$(ran)
umount_gt "$mnt"
new='drm_sched_job_queue|drm_sched_job_run' old='drm_sched_job|drm_run_job'
for k in "$new|$old|drm_sched_process_job" "$new|$old|drm_sched_process_job|dma_fence_[a-z_]*" \
	"$new|dma_fence_[a-z_]*" "$new|drm_sched_process_job|dma_fence_[a-z_]*"; do
	with "$k"
	mount_gt "$mnt" -o replay=ends.txt,speed=0 || exit 1
	wait_for 30 played
	is "$(jobs)" "$all" "ends where drm_sched_job_done is missing: $k"
	is "$(value "$mnt/status" jobs_begin_unseen)" 0 "... none of them is another's"
	is "$(ran)" "$whole" "... each is the same job's"
	umount_gt "$mnt"
done
for k in "$old|drm_sched_process_job" "$old|drm_sched_process_job|dma_fence_[a-z_]*"; do
	with "$k"
	mount_gt "$mnt" -o replay=ends.txt,speed=0 || exit 1
	wait_for 30 played
	is "$(jobs)" "$all" "ends by the old names alone: $k"
	umount_gt "$mnt"
done
# what names no device is of the one whose ring it is: the first event, and old names beside amdgpu's own
awk 'on { print } / drm_run_job: / && ++n == 3 { on = 1; print }' "$sched" >front.txt
mount_gt "$mnt" -o replay=front.txt,speed=0 || exit 1
wait_for 30 played
is "$(awk 'NR > 1 { print $1 }' "$mnt/gpus" | sort | tr '\n' ' ')" "mockgpu0 mockgpu1 " "a recording that begins with an event without a device has no other GPU"
umount_gt "$mnt"
awk '/ drm_run_job: / { l = $0; r = l; sub(/.* ring=/, "", r); sub(/,.*/, "", r)
	sub(/drm_run_job:.*/, "amdgpu_sched_run_job: sched_job=1, timeline=" r ", context=77, seqno=" NR ", ring_name=" r ", num_ibs=1", l); print l }
	/ (drm_sched_job|drm_run_job|drm_sched_process_job): / { print }' "$sched" >beside.txt
mount_gt "$mnt" -o replay=beside.txt,speed=0 || exit 1
wait_for 30 played
is "$(awk 'NR > 1 { print $1, $8 }' "$mnt/gpus")" "amdgpu0 amdgpu" "amdgpu's own events say whose the rings are"
is "$(jobs)" "$all" "... which have all jobs"
umount_gt "$mnt"
done_testing
