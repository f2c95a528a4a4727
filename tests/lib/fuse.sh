# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced: what ordinary users need to mount, for the time of a case that calls fuse_restore at its end.
fuse_mode= fuse_mtab=

# /dev/fuse open to users, as on any Debian that was booted, and /etc/mtab, which fusermount3 -u reads and
# debootstrap does not make
fuse_for_users() {
	fuse_mode=$(stat -c %a /dev/fuse)
	chmod 666 /dev/fuse
	if [ ! -e /etc/mtab ]; then ln -s ../proc/self/mounts /etc/mtab && fuse_mtab=ours; fi
}

fuse_restore() {
	[ -z "$fuse_mode" ] || chmod "$fuse_mode" /dev/fuse
	[ -z "$fuse_mtab" ] || rm -f /etc/mtab
	fuse_mode= fuse_mtab=
}
