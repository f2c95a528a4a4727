#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make install: what is installed runs, by mount(8) too, where /sbin is /usr/sbin and where it is not, at once and by
# way of DESTDIR; make uninstall leaves nothing. The machines are overlays over this one, seen by this case only.
# Quick
if [ -z "${GT_OWN_MOUNTS-}" ]; then
	GT_OWN_MOUNTS=1 unshare -m --propagation private "$0" && exit
	rc=$?
	GT_OWN_MOUNTS=1 unshare -m true 2>/dev/null && exit $rc
	echo "skipped: needs root to make a mount namespace" && exit 77
fi
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to make other roots"
mkdir layers && mount -t tmpfs -o mode=755 none layers || skip "no tmpfs can be mounted"

put() { make -s -C "$GT_SRC" O="$GT_OUT" "$@"; }
inside() { # inside COMMAND - in the machine, with the build where it is here
	chroot root env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}

machine() { # machine KIND - a root like this machine's, with a /sbin of KIND
	mkdir -p root "layers/$1" && mkdir "layers/$1/upper" "layers/$1/work" &&
		mount -t overlay -o "lowerdir=/,upperdir=layers/$1/upper,workdir=layers/$1/work" none root || return
	rm -rf root/sbin && mkdir -p root/usr/sbin root/gt "root$GT_SRC" "root$GT_OUT" || return
	case $1 in
	*merged) ln -s usr/sbin root/sbin ;;
	*) mkdir root/sbin ;;
	esac
	mount -t proc proc root/proc && mount --rbind /dev root/dev && mount --bind "$GT_SRC" "root$GT_SRC" &&
		mount --bind "$GT_OUT" "root$GT_OUT"
	changed "$1" >before
}
# what is there besides directories; the linker's and the C library's caches, and this folder, are not ours
changed() { (cd "layers/$1/upper" && find . ! -type d -printf '/%P\n') | grep -vE "^(/var|/tmp|$PWD)/" | sort; }
left() { changed "$1" | comm -13 before -; }
leave() {
	umount -l root
}

runs() { # runs KIND PREFIX
	like "$(inside gputrace --version 2>&1)" '[0-9]\.[0-9]' "$1, $2: gputrace is a command" || ls -l root/usr/sbin/mount.* root/sbin/mount.*
	like "$(inside gputrace /nowhere 2>&1)" "^gputrace: /nowhere: No such file" "… and its messages begin with that name"
	ok "$1, $2: mount -t gputrace" inside mount -t gputrace gputrace /gt -o backend=sim
	like "$(cat root/gt/gpus)" "^sim0 " "… has its plugins"
	wait_for 60 inside umount /gt # like umount_gt()
	inside sh -c 'mkdir -p /gputrace && cd / && mount -t gputrace gputrace /gt -o backend=sim'
	like "$(cat root/gt/gpus)" "^sim0 " "… of this machine, though there is a /gputrace where mount(8) runs"
	wait_for 60 inside umount /gt
	like "$(inside ls -L /sbin)" "^mount.fuse.gputrace$" "… and the helper of fstab's type fuse.gputrace"
	ok "$1, $2: the program is no link to itself" test -f "root$2/sbin/mount.gputrace" -a ! -L "root$2/sbin/mount.gputrace"
}

declare -A is_merged=([merged]=y [split]=n)
for kind in merged split; do
	for prefix in /usr /usr/local; do
		stage="DESTDIR=$PWD/stage PREFIX=$prefix USRMERGE=${is_merged[$kind]}"
		machine $prefix-$kind 2>err || { skip_ok "$kind" "no such machine can be made: $(head -n 1 err)"; leave; continue; }
		# from a folder that was made on this machine, which is of the one kind or the other
		ok "$kind, $prefix: make install DESTDIR=stage" put install $stage
		ok "$kind, $prefix: … is laid over a machine" sh -c "tar -C stage -c . | tar -C root -x --keep-directory-symlink"
		runs "$kind, DESTDIR" $prefix
		put uninstall DESTDIR="$PWD/root" PREFIX=$prefix
		is "$(left $prefix-$kind)" "" "$kind, $prefix: make uninstall leaves nothing"
		ok "$kind, $prefix: make uninstall DESTDIR=stage" put uninstall $stage
		is "$(find stage ! -type d -o -name 'man[578]' -o -name 'systemd')" "" "… leaves nothing"
		# into the root of a machine, which says itself of which kind it is
		ok "$kind, $prefix: make install DESTDIR=root" put install DESTDIR="$PWD/root" PREFIX=$prefix
		runs "$kind, DESTDIR=root" $prefix
		put uninstall DESTDIR="$PWD/root" PREFIX=$prefix
		ok "$kind, $prefix: make install there" inside make -s -C "$GT_SRC" O="$GT_OUT" PREFIX=$prefix install
		runs "$kind" $prefix
		echo "# mine" >>root/etc/gputrace.conf
		inside make -s -C "$GT_SRC" O="$GT_OUT" PREFIX=$prefix uninstall
		is "$(left $prefix-$kind)" /etc/gputrace.conf "$kind, $prefix: make uninstall leaves a configuration that was changed, and nothing else"
		leave
	done
done

mkdir -p out bad && ln -s "$PWD/out" bad/sbin && ln -s "$PWD/out" bad/usr
ok "a DESTDIR whose folders lead out of it is refused" sh -c "! make -s -C $GT_SRC O=$GT_OUT DESTDIR=$PWD/bad PREFIX=/usr install 2>err"
like "$(cat err ok.out)" "leads out of $PWD/bad" "… with the reason"
is "$(ls out)" "" "… and nothing is written there"
done_testing
