# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced behind case.sh by cases in which other users run programs or read files of this tree. Those users may not
# reach it: a clone in /root or in a private home, or one that was made under a strict umask.

# others_can FOLDER... - may an ordinary user read all that is there, and run what root may run?
others_can() {
	local refused
	refused=$(as_user find "$@" \( ! -readable -o -type d ! -executable -o -type f -perm /100 ! -executable \) \
		-print -quit 2>&1)
	[ -z "$refused" ]
}

# others_reach - where they cannot reach it, GT_SRC, GT_OUT and GT_PROG lead to a copy in the case's folder
others_reach() {
	local d
	as_user test -x "$PWD" || skip "other users cannot come to $PWD: set TMPDIR to a folder that they can reach"
	others_can "$GT_SRC/tests" "$GT_OUT/sbin" "$GT_OUT/lib" "$GT_OUT/share" "$GT_OUT/tests/tools" && return
	echo "# other users cannot reach all of $GT_SRC and $GT_OUT: a copy is used"
	mkdir -p copy/src copy/out/tests &&
		cp -R "$GT_SRC/tests" copy/src/ &&
		cp -R "$GT_OUT/sbin" "$GT_OUT/lib" "$GT_OUT/share" copy/out/ &&
		cp -R "$GT_OUT/tests/tools" copy/out/tests/ &&
		chown -R 0:0 copy && chmod -R u=rwX,go=rX copy || exit 1
	trap 'finish; rm -rf "$PWD/copy"' EXIT
	GT_SRC=$PWD/copy/src GT_OUT=$PWD/copy/out GT_PROG=$PWD/copy/out/sbin/${GT_PROG##*/}
}
