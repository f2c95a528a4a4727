#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The unit tests that use tracefs again under the address, undefined and leak sanitizers.
. "$GT_SRC/tests/lib/case.sh"
san=$GT_OUT/san # hostile.sh's
export UBSAN_OPTIONS=print_stacktrace=1
ok "SAN=all builds" flock "$GT_OUT/san.lock" make -s -C "$GT_SRC" O="$san" SAN=all tools
for c in $(grep -l 'lib/tracefs\.h' "$GT_SRC"/tests/unit/*.c); do
	t=$(basename "$c" .c)
	"$san/tests/$t" >unit.out 2>&1 </dev/null
	rc=$?
	[ $rc != 77 ] || { skip_ok "$t" "$(tail -n 1 unit.out)"; continue; }
	[ $rc = 0 ] || tail -n 15 unit.out | sed 's/^/# /'
	is $rc 0 "$t under the sanitizers"
done
done_testing
