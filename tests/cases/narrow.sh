#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A pipe of one ring finds its next record behind very many of another's, though nothing more comes.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

python3 - >trace.txt <<'P'
def job(t, ring, n):
    print('          submit-167   [000]     %.6f: drm_sched_job_queue:  dev=mockgpu.0, fence=%d:%d, ring=%s, '
          'job count:0, hw job count:0, client_id:2' % (t, 18 if ring == 'gfx' else 32, n, ring))
job(1, 'sdma0', 1)
for i in range(200000):
    job(2 + i * 5e-6, 'gfx', i)
job(3.5, 'sdma0', 2)
P
mount_gt "$mnt" -o "replay=$PWD/trace.txt,speed=1" || exit 1
ring=$mnt/mockgpu0/by-name/sdma0/events
ok "the ring is there" wait_for 20 test -e "$ring"
exec 3<"$ring"
dd bs=64 count=1 <&3 >first 2>/dev/null
ended() { [ "$(value "$mnt/status" state)" = ended ]; }
ok "all is played" wait_for 60 ended
submits() { od -An -v -t u1 -w64 first | awk '$9 == 0' | wc -l; }
while [ "$(submits)" = 0 ] && timeout 60 dd bs=65536 count=1 <&3 >part 2>/dev/null && [ -s part ]; do
	cat part >>first
done
is "$(submits)" 1 "a reader who was far behind gets the last one"
exec 3<&-
umount_gt "$mnt"
done_testing
