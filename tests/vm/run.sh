#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# run.sh RELEASE [NAME...]: builds the test modules for that kernel, boots it and runs there every
# executable case of tests/vm/cases, or those whose name holds a NAME; prints what tests/run.sh prints.
#
# Where there are two CPUs there are two guests, which share out the cases: an emulated machine has
# one thread. $GT_SHARE (a folder) keeps the guests' consoles, their output and what cases leave there.
set -u

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 1
export GT_SRC=$PWD GT_OUT GT_MODULES
GT_OUT=$(readlink -f "${O:-.output}")
export O=$GT_OUT GT_SHARE=${GT_SHARE:-$GT_OUT/vm/$1/share}
release=$1
shift
GT_MODULES=$GT_OUT/vm/$release/modules
mkdir -p "$GT_SHARE"
rm -rf "$GT_SHARE/claims"
mkdir "$GT_SHARE/claims"
tests/vm/modules.sh "$release" >"$GT_SHARE/modules.log" 2>&1 || {
	cat "$GT_SHARE/modules.log"
	echo "run.sh: the test modules do not build for $release"
	exit 1
}

guest() { # NAME - exits as the guest's tests do
	export GT_GUEST_NAME=.$1 GT_GUEST_ARGS="-device virtio-gpu-pci ${GT_GUEST_ARGS:-}"
	shift
	exec tests/vm/boot.sh "$release" env CASES=tests/vm/cases UNITS= CLAIMS="$GT_SHARE/claims" AGAIN="${AGAIN-}" \
		TIME_LIMIT="${TIME_LIMIT:-480}" tests/run.sh "$@"
}

rc=0 guests=()
for n in 1 2; do
	[ $n -le "$(nproc)" ] || break
	rm -f "$GT_SHARE/output.$n" "$GT_SHARE/console.$n"
	guest $n "$@" 2>"$GT_SHARE/boot.$n" &
	guests+=($!)
done
for n in "${!guests[@]}"; do
	wait "${guests[n]}"
	r=$?
	n=$((n + 1))
	cat "$GT_SHARE/boot.$n" "$GT_SHARE/output.$n"
	[ $r = 0 ] || rc=1
	[ $r -le 1 ] || echo "run.sh: guest $n ended with $r"
	if grep -Ef tests/vm/complaints "$GT_SHARE/console.$n"; then
		echo "run.sh: the kernel complained, see above"
		rc=1
	fi
done
exit $rc
