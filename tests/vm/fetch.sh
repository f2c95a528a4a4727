#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# fetch.sh DIR [META...]: the kernels that Debian offers, unpacked in DIR/<release>/, not installed.
#
# META is a metapackage, linux-image-amd64 or linux-image-6.12-amd64; without one, all that there
# are. Prints the releases. What is there already is not fetched again, so that a machine without
# a network goes on with what it has. Each folder then holds
#
#	vmlinux		the uncompressed ELF: it boots in half the time of the bzImage
#	lib/modules/	the modules, with modules.dep
#	build/		the headers' build folder, for modules of our own
set -eu
dir=$1
shift
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

metas() {
	apt-cache --names-only search '^linux-image-([0-9]+[.][0-9]+-)?amd64$' | cut -d' ' -f1 | sort -V
}

image_of() { # the image that a metapackage stands for
	apt-cache depends "$1" | sed -n 's/^ *Depends: \(linux-image-[0-9].*-amd64\)$/\1/p' | head -1
}

# The payload of a bzImage (Documentation/arch/x86/boot.rst: setup_sects at 0x1f1, payload_offset
# and payload_length at 0x248), whatever it is packed with
unpack_bzimage() {
	number() { od -An -t"$2" -j"$3" -N"$4" "$1" | tr -d ' '; }
	from=$((($(number "$1" u1 497 1) + 1) * 512 + $(number "$1" u4 584 4)))
	length=$(number "$1" u4 588 4)
	tail -c +$((from + 1)) "$1" | head -c "$length" >"$2.packed"
	case $(od -An -tx1 -N4 "$2.packed" | tr -d ' ') in
	fd377a58) xz -dc --single-stream <"$2.packed" ;;
	28b52ffd) zstd -dcq <"$2.packed" ;;
	1f8b*) gzip -dcq <"$2.packed" ;;
	*) echo "fetch.sh: $1 is packed in a way that is not known here" >&2 && false ;;
	esac >"$2" 2>/dev/null || [ -s "$2" ] # behind the payload stands its length: "trailing garbage"
	rm -f "$2.packed"
}

fetch() { # release, image package
	to=$dir/$1
	[ -e "$to/complete" ] && return
	# One fetches at a time: make test and a person's own call may meet
	exec 9>"$dir/lock"
	flock 9
	[ -e "$to/complete" ] && return
	rm -rf "$to"
	mkdir -p "$to/deb"
	common=$(apt-cache depends "linux-headers-$1" | sed -n 's/^ *Depends: \(linux-headers-.*-common\)$/\1/p')
	kbuild=$(apt-cache depends "linux-headers-$1" | sed -n 's/^ *Depends: \(linux-kbuild-.*\)$/\1/p')
	(cd "$to/deb" && apt-get -q -o APT::Sandbox::User=root download "$2" "linux-headers-$1" \
		"$common" "$kbuild" >&2)
	for deb in "$to"/deb/*.deb; do
		dpkg -x "$deb" "$to"
	done
	rm -rf "$to/deb" "$to"/usr/share
	unpack_bzimage "$to/boot/vmlinuz-$1" "$to/vmlinux"
	ln -s "usr/src/linux-headers-$1" "$to/build"
	# Debian's build folder names its other half by an absolute path
	find "$to/usr/src" -maxdepth 2 -name Makefile -exec sed -i "s|/usr/src/|$to/usr/src/|g" {} +
	for link in "$to"/usr/src/*/scripts "$to"/usr/src/*/tools; do
		target=$(readlink "$link") || continue
		case $target in
		/* | ../../lib/*) ln -sfn "$to/usr/lib/${target##*/lib/}" "$link" ;;
		esac
	done
	find "$to"/lib/modules -name '*.ko.xz' -exec xz -d {} +
	depmod -b "$to" "$1"
	touch "$to/complete"
}

[ $# -gt 0 ] || set -- $(metas)
for meta; do
	image=$(image_of "$meta")
	[ -n "$image" ] || { echo "fetch.sh: no package $meta: apt-get update?" >&2; exit 1; }
	release=${image#linux-image-}
	fetch "$release" "$image"
	echo "$release"
done
