#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Jobs whose end was missed, where BPF programs count them in the kernel and where the daemon does: both have to
# say what an independent program computes, whichever of the jobs are in records.
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
printf '[backend bpf]\nrecord_rate = 0\n' >kernel.conf
printf '[backend bpf]\nmatch = daemon\n' >daemon.conf
played=
for share in 100 0 40; do
	for m in kernel daemon; do
		mount_gt "$PWD/$m" -o "conf=$m.conf,events_dir=$PWD/maps,backend=bpf" || skip "BPF does not work here"
		echo 1 >$m/config/filter_enabled
		if [ $share = 0 ]; then echo stats >$m/config/level; else echo $share >$m/config/sampling; fi
	done
	PYTHONDONTWRITEBYTECODE=1 python3 "$GT_SRC/tests/lib/unseencalls.py" "$PWD/kernel" "$PWD/daemon" >out 2>&1
	while IFS= read -r line; do
		case $line in
		'ok '*) ok "$share % in records: ${line#* - }" true ;;
		'not ok '*) ok "$share % in records: ${line#* - }" false ;;
		1..*) played=$share ;;
		*) echo "${line/#\# /# }" ;;
		esac
	done <out
	is "$played" $share "$share % in records: all was played"
	umount_gt "$PWD/kernel"
	umount_gt "$PWD/daemon"
done
done_testing
