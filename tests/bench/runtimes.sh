#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# runtimes.sh - what a call of a GPU runtime costs its program when it is reported: with no probe, with one where
# it begins, with another where it ends, and with several runtimes on, which probes all ends. The library is a
# mock (tests/mockrt) whose functions do nothing. Most functions begin with a push, which the kernel emulates;
# other first instructions it steps over, which is measured, too (step).
set -u
O=$(readlink -f "${O:-.output}")
src=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
pin="taskset -c $(($(nproc) - 1))"
count=${COUNT:-20000}

end() {
	mountpoint -q "$work/gt" && umount "$work/gt"
	rm -rf --one-file-system "$work"
}
trap end EXIT
cd "$work" || exit 1
mkdir push step gt
lib() { gcc -O2 -shared -fPIC -DCUDART -Wl,-soname,libcudart.so.12 -o "$1/libcudart.so.12" "${@:2}" "$src/tests/mockrt/lib.c"; }
lib push -O0 -fcf-protection=none && lib step -fcf-protection=branch &&
	gcc -O2 -o calls "$src/tests/mockrt/calls.c" -ldl || exit 1

ns() { # ns KIND FUNCTION - of a call, by the CPU time of its process
	echo "bench $2 $count" | $pin ./calls "$work/$1/libcudart.so.12" | awk '/done/ { print $1 }'
}
median() { # median KIND FUNCTION
	for _ in 1 2 3 4 5; do ns "$@"; done | sort -n | sed -n 3p
}
stat_of() { awk -v k="runtime_$1" '$1 == k { print $2 }' gt/backends/bpf/stats; }
turn() {
	echo "$1" >gt/backends/bpf/runtimes
	until [ "$(stat_of attaching) $(stat_of closing)" = "0 0" ]; do sleep 0.1; done
}
round() { # round WHAT
	for kind in push step; do
		echo "bench runtimes.$1 $kind: launch $(median $kind cudaLaunchKernel) ns," \
			"copy that waits $(median $kind cudaMemcpy) ns"
	done
}

"$O/sbin/mount.gputrace" gt -o backend=bpf || exit 0
[ "$(stat_of way)" ] || { echo "bench runtimes: not here"; exit 0; }
# processes keep the libraries, so that probes are there when the others begin
mkfifo in
./calls "$work/push/libcudart.so.12" <in >/dev/null &
./calls "$work/step/libcudart.so.12" <in >/dev/null &
exec 3>in
echo "bench runtimes.way $(stat_of way), load $(cut -d' ' -f1 /proc/loadavg)"
round none
turn cudart
round one
turn cuda,cudart
round several
turn ""
round again_none
echo "bench runtimes.lost $(stat_of lost) of $(stat_of events)"
exec 3>&-
wait
