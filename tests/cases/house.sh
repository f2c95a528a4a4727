#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The rules of the sources that no compiler knows: who includes whom, the format, the vocabulary.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is "$(python3 "$GT_SRC/tests/lib/house.py" "$GT_SRC")" "" "who includes whom, and the words"
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	sources=$(cd "$GT_SRC" && find fs backend bpf conf tests -name '*.[ch]')
	# shellcheck disable=SC2086
	is "$(cd "$GT_SRC" && clang-format --dry-run $sources 2>&1 | grep -c warning)" 0 "the tree is clean under .clang-format"
else
	skip_ok "the tree is clean under .clang-format" "clang-format 14 formats it, another one differs"
fi
done_testing
