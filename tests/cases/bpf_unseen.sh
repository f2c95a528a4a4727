#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Jobs that BPF programs reported without an end: files have to say what an independent program computes,
# whichever of the jobs are recorded.
# Alone
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/calls.sh"
. "$GT_SRC/tests/lib/others.sh"
is_root || skip "needs root to mount"
case $(uname -m) in x86_64 | aarch64) ;; *) skip "the numbers of this machine's system calls are not known to the test" ;; esac
others_reach
calls_mock
calls_maps maps 0000:00:01.0
cat >>maps/calls.ini <<'EOS'

[syscalls/sys_enter_mlock]
event = ERROR
where = start & 0x4000000000000000
ring = {len|0,1,2,3,4,5,6,7,gfx,comp_1.1.0,comp_1.2.0}
dev = 0000:00:01.0
value = 2
EOS
# contexts of its own: others may play jobs on this machine, see unseencalls.py
sed -i 's/0x4000000000000000/0x2000000000000000/' maps/calls.ini
played=
for share in 100 0 40; do
	mount_gt "$mnt" -o "events_dir=$PWD/maps,backend=bpf" || skip "BPF does not work here"
	echo 1 >"$mnt/config/filter_enabled"
	if [ $share = 0 ]; then echo stats >"$mnt/config/level"; else echo $share >"$mnt/config/sampling"; fi
	PYTHONDONTWRITEBYTECODE=1 python3 "$GT_SRC/tests/lib/unseencalls.py" "$mnt" >out 2>&1
	while IFS= read -r line; do
		case $line in
		'ok '*) ok "$share % in records: ${line#* - }" true ;;
		'not ok '*) ok "$share % in records: ${line#* - }" false ;;
		1..*) played=$share ;;
		*) echo "${line/#\# /# }" ;;
		esac
	done <out
	is "$played" $share "$share % in records: all was played"
	umount_gt "$mnt"
done
done_testing
