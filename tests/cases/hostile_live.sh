#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The unit tests that use tracefs again under the address, undefined and leak sanitizers.
# Alone
# Long
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/san.sh"
for c in $(grep -l 'lib/tracefs\.h' "$GT_SRC"/tests/unit/*.c); do
	san_unit "$(basename "$c" .c)"
done
done_testing
