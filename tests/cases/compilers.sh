#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# gcc and clang, without a warning; the manual pages; what is in the tree.
# Long
. "$GT_SRC/tests/lib/case.sh"
quiet() { # quiet COMPILER TARGETS...
	command -v "${1%% *}" >/dev/null || { skip_ok "${1%% *}" "not installed"; return; }
	ok "${1%% *}: no warning" make -s -C "$GT_SRC" O="$PWD/${1%% *}" CC="$1" CFLAGS="-O1 -Werror" "${@:2}"
}
# gcc finds some where it optimizes, also across files (the daemon); clang all where it has read a file
quiet gcc all objects
quiet "clang -fsyntax-only" objects
# Pages that are not installed are not found
lint() { mandoc -Tlint "$1" 2>&1 | grep -vE 'referenced manual not found|mandoc\.db'; }
wide() { mandoc -Tascii -O width=80 "$1" | sed 's|.\x08||g' | grep -E '.{81}'; }
for m in "$GT_SRC"/fs/*.[578] "$GT_SRC"/backend/*.[57] "$GT_SRC"/backend/*/*.[57] "$GT_SRC"/conf/*.[57]; do
	is "$(lint "$m")" "" "$(basename "$m"): mandoc finds nothing"
	is "$(wide "$m")" "" "… and it fits 80 columns"
done
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
