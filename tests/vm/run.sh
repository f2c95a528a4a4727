#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# run.sh RELEASE [NAME...]: builds the test modules for that kernel, boots it once and runs there every
# executable case of tests/vm/cases, or those whose name holds a NAME; prints what tests/run.sh prints.
#
# $GT_SHARE (a folder) keeps the guest's console, its output and what cases leave there.
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
tests/vm/modules.sh "$release" >"$GT_SHARE/modules.log" 2>&1 || {
	cat "$GT_SHARE/modules.log"
	echo "run.sh: the test modules do not build for $release"
	exit 1
}
GT_GUEST_ARGS="-device virtio-gpu-pci ${GT_GUEST_ARGS:-}" tests/vm/boot.sh "$release" \
	env CASES=tests/vm/cases UNITS= TIME_LIMIT=120 tests/run.sh "$@"
rc=$?
cat "$GT_SHARE/output"
[ $rc -le 1 ] || echo "run.sh: the guest ended with $rc"
if grep -E 'WARNING:|BUG:|BUG |Oops|general protection|Call Trace|INFO: task .* blocked' "$GT_SHARE/console"; then
	echo "run.sh: the kernel complained, see above"
	rc=1
fi
exit $rc
