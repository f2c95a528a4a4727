#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# gcc and clang, without a warning.
# Long
. "$GT_SRC/tests/lib/case.sh"
quiet() { # quiet COMPILER TARGETS...
	command -v "${1%% *}" >/dev/null || { skip_ok "${1%% *}" "not installed"; return; }
	ok "${1%% *}: no warning" make -s -C "$GT_SRC" O="$PWD/${1%% *}" CC="$1" CFLAGS="-O1 -Werror" "${@:2}"
}
# gcc finds some where it optimizes, also across files (the daemon); clang all where it has read a file
quiet gcc all objects
quiet "clang -fsyntax-only" objects
done_testing
