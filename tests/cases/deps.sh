#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make -j installs packages one list after the other, and none twice. With an apt-get that installs nothing.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "only root installs packages"
mkdir bin have
export HERE=$PWD PATH=$PWD/bin:$PATH
cat >bin/dpkg-query <<'END'
#!/bin/sh
for p; do :; done
[ ! -e "$HERE/have/$p" ] || printf 'install ok installed'
END
cat >bin/apt-get <<'END'
#!/bin/sh
mkdir "$HERE/at_work" 2>/dev/null || { echo "E: Could not get lock"; exit 100; }
sleep .3
for p; do [ "$1" != install ] || echo "$p" >>"$HERE/installed"; done
[ "$1" != install ] || (cd "$HERE/have" && shift && touch -- "$@")
rmdir "$HERE/at_work"
END
chmod +x bin/*
ok "three lists at once" make -s -j3 -C "$GT_SRC" O="$PWD/out" deps deps-test deps-vm
packages=$(grep -v -e '^-' -e '^install$' -e = installed | sort)
like "$packages" "^qemu-system-x86$" "all of them are installed"
is "$(uniq -d <<<"$packages")" "" "none twice"
done_testing
