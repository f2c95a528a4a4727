#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# modules.sh RELEASE: builds grtrace (backend/relay/kmod) and tests/vm/mockgpu, mocknv and mockgrt for
# that kernel of fetch.sh, with BTF, into $O/vm/RELEASE/modules/. Does nothing when no source and no header has changed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$(readlink -f "${O:-.output}")
kernel=$out/vm/$1
to=$kernel/modules
[ -e "$kernel/complete" ] || { echo "modules.sh: no kernel $1: run tests/vm/fetch.sh" >&2; exit 1; }

# One builds at a time: make test and a person's own call may meet
mkdir -p "$to"
exec 9>"$to/lock"
flock 9
# grtrace first: mockgrt calls it
sources=("$here/../../backend/relay/kmod" "$here/mockgpu" "$here/mocknv" "$here/mockgrt")
stamp=$(find "${sources[@]}" -type f -print0 | sort -z | xargs -0 cat "$0" "$kernel/build/Makefile" "$kernel/build/.config" | sha256sum)
[ "$(cat "$to/stamp" 2>/dev/null)" != "$stamp" ] || exit 0
rm -rf "$to/src" "$to/stamp" "$to"/*.ko

mkdir "$to/src"
log=$to/log
: >"$log"
symbols=
for m in "${sources[@]}"; do
	cp -r "$m" "$to/src/"
	make -C "$kernel/build" M="$to/src/${m##*/}" $symbols modules >>"$log" 2>&1 || { cat "$log" >&2; exit 1; }
	symbols=KBUILD_EXTRA_SYMBOLS=$to/src/kmod/Module.symvers
done
if grep -E 'warning:|WARNING:|Skipping BTF' "$log" >&2; then
	exit 1
fi
for ko in "$to"/src/*/*.ko; do
	strip -g "$ko"
	readelf -SW "$ko" | grep -q ' \.BTF ' || { echo "modules.sh: no BTF in $ko" >&2; exit 1; }
	mv "$ko" "$to/"
done
rm -rf "$to/src"
echo "$stamp" >"$to/stamp"
