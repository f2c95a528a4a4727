#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The rules of the tree that no compiler knows: who includes whom, the format, the vocabulary, the manual pages,
# licences, what is on the top level.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is "$(python3 "$GT_SRC/tests/lib/house.py" "$GT_SRC")" "" "who includes whom, and the words"
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	sources=$(cd "$GT_SRC" && find fs backend bpf conf tests -name '*.[ch]')
	# shellcheck disable=SC2086
	is "$(cd "$GT_SRC" && clang-format --dry-run $sources 2>&1 | grep warning)" "" "the tree is clean under .clang-format"
else
	skip_ok "the tree is clean under .clang-format" "clang-format 14 formats it, another one differs"
fi
# Pages that are not installed are not found
lint() { mandoc -Tlint "$1" 2>&1 | grep -vE 'referenced manual not found|mandoc\.db'; }
wide() { mandoc -Tascii -O width=80 "$1" | sed 's|.\x08||g' | grep -E '.{81}'; }
if command -v mandoc >/dev/null; then
	for m in "$GT_SRC"/fs/*.[578] "$GT_SRC"/backend/*.[57] "$GT_SRC"/backend/*/*.[57] "$GT_SRC"/conf/*.[57]; do
		is "$(lint "$m")" "" "$(basename "$m"): mandoc finds nothing"
		is "$(wide "$m")" "" "… and it fits 80 columns"
	done
else
	skip_ok "the manual pages" "no mandoc"
fi
# A bare machine has no git: then whatever is there
files() {
	git -c safe.directory="$GT_SRC" -C "$GT_SRC" ls-files 2>/dev/null ||
		(cd "$GT_SRC" && find . -mindepth 1 -name '.*' -prune -o -type f -printf '%P\n')
}
ok "sources are listed" [ "$(files | grep -c '\.c$')" -gt 100 ]
no_spdx=$(cd "$GT_SRC" && files | grep -E '\.(c|h|sh|py|ini|def)$|Makefile$' | xargs -r grep -L SPDX-License-Identifier)
is "$no_spdx" "" "every source has its licence line"
top=$(files | cut -d/ -f1 | sort -u | grep -vxE 'fs|backend|bpf|conf|tests|Makefile|README.md|LICENSE|\..*')
is "$top" "" "the top level is as it should be"
done_testing
