# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced after case.sh: what runs under the address, undefined and leak sanitizers, built into $san.
san=$GT_OUT/san # kept from one run to the next
export UBSAN_OPTIONS=print_stacktrace=1
ok "SAN=all builds" flock "$GT_OUT/san.lock" make -s -C "$GT_SRC" O="$san" SAN=all tools

san_unit() { # san_unit test_NAME
	local rc
	"$san/tests/$1" >unit.out 2>&1 </dev/null
	rc=$?
	[ $rc != 77 ] || { skip_ok "$1" "$(tail -n 1 unit.out)"; return; }
	[ $rc = 0 ] || { grep -A3 '^not ok' unit.out; tail -n 15 unit.out; } | sed 's/^/# /'
	is $rc 0 "$1 under the sanitizers"
}
