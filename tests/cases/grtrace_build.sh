#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace.ko compiles for every kernel whose headers are here, without a warning; its dkms.conf is
# what the module says.
# Long
. "$GT_SRC/tests/lib/case.sh"
kmod=$GT_SRC/backend/relay/kmod
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$kmod/dkms.conf")
built=
"$GT_SRC/tests/vm/fetch.sh" "$GT_OUT/vm" 6.1 7 >fetched 2>&1 || sed 's/^/# /' fetched # the guests' too
for build in "$GT_OUT"/vm/*/build /lib/modules/*/build; do
	[ -e "$build/Makefile" ] || continue
	release=$(basename "$(dirname "$build")")
	make -s -C "$GT_SRC" O="$PWD/out.$release" kmod KDIR="$build" >built 2>&1
	is "$? $(grep -vE 'BTF generation|^$' built)" "0 " "$release: no warning"
	info=$(modinfo "out.$release/kmod/grtrace.ko")
	like "$info" "^license: +GPL$" "$release: its licence" || continue
	like "$info" "^version: +$version$" "$release: dkms's version is the module's"
	like "$info" "^depends: +$" "$release: it depends on no driver"
	built=$((built + 1))
done
[ -n "$built" ] || skip "no kernel's headers, and none could be fetched: $(tail -n 1 fetched)"
done_testing
