#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A program that somebody has made set-uid or set-gid does not start, whatever the caller's environment has in it.
# One with capabilities of its file runs as the caller, without the caller's libraries and folders.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to make a program set-uid"
as_user test -x "$PWD" || skip "other users cannot come to $PWD: set TMPDIR to a folder that they can reach"

mkdir -p "$mnt" bin lib
chmod 755 . bin lib
chmod 777 "$mnt"
cp "$GT_PROG" bin/uid
cp "$GT_PROG" bin/gid
chmod 4755 bin/uid
chmod 2755 bin/gid
cp "$(type -P true)" bin/true
cp "$(command -v id)" bin/id && chmod 4755 bin/id
[ "$(as_user bin/id -u)" = 0 ] || skip "set-uid programs do not work in $PWD"
printf 'not-for-users = 1\n' >secret.conf
chmod 600 secret.conf

environment=(GPUTRACE_TEST=1 TMPDIR="$PWD/lib" LD_LIBRARY_PATH="$PWD/lib" LD_PRELOAD="$PWD/lib/none.so"
	NOTIFY_SOCKET="$PWD/lib/socket")
for how in uid gid; do
	for options in backend=sim conf=secret.conf "replay=$GT_SRC/tests/data/replay/sched_6.12.txt"; do
		as_user env "${environment[@]}" bin/$how "$mnt" -o "$options" >out 2>&1
		is $? 1 "set-$how, ${options%%=*}: refused"
		like "$(cat out)" "^$how: is set-uid or set-gid, which it must not be" "… and says why"
		is "$(grep -c not-for-users out)" 0 "… and nothing of a file"
	done
done
ok "nothing is mounted" sh -c "! mountpoint -q $mnt"
ok "and no process is left" gone "$mnt"
is "$(ls lib)" "" "nothing was made where the environment says"
as_user bin/uid --version >out 2>&1
is $? 1 "not even its version is said"

echo '__attribute__((constructor)) static void loaded(void) { __builtin_trap(); }' >none.c
ok "a library that ends its program builds" cc -shared -fPIC -o lib/none.so none.c
chmod 755 lib/none.so
is "$(as_user env LD_PRELOAD="$PWD/lib/none.so" bin/true; echo $?)" 132 "where the environment is believed it does"
mkdir -p caps/sbin
cp "$GT_PROG" caps/sbin/mount.gputrace
cp -r "$GT_OUT/lib" caps/
# struct vfs_cap_data, revision 2, effective: CAP_SYS_ADMIN (uapi/linux/capability.h)
python3 -c 'import os, struct, sys
os.setxattr(sys.argv[1], "security.capability", struct.pack("<5I", 0x02000001, 1 << 21, 0, 0, 0))' caps/sbin/mount.gputrace
as_user env "${environment[@]}" caps/sbin/mount.gputrace --version >out 2>&1
is $? 0 "with capabilities of its file: it runs"
like "$(cat out)" "^gputrace " "… and loads no library of the caller's"
as_user env "${environment[@]}" caps/sbin/mount.gputrace "$mnt" -o backend=sim,conf=secret.conf >out 2>&1
is "$(grep -c not-for-users out)" 0 "… and reads no file that the caller may not read"
is "$(ls lib)" "none.so" "nothing was made where the environment says"
done_testing
