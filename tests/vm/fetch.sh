#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# fetch.sh DIR [KERNEL...]: kernels that Debian has, unpacked in DIR/<release>/, not installed.
#
# KERNEL is the beginning of a release, up to one of its dots or the end (6.1 is not 6.12), and
# stands for the newest release of that beginning: 6.12, 7.3.4, 7 for the newest 7.x. With -rt behind
# it, that of the PREEMPT_RT packages. --list prints all that can be had instead of fetching.
# Prints the releases, one for each KERNEL.
#
# The packages come from Debian 12's security archive (6.1, 6.12) and Debian 13's backports (all
# newer ones), by apt with a state and sources of its own in DIR/apt: the machine's apt knows nothing
# of them. apt checks the signature of the suites and through them each package. Backports keep old
# images, but not their headers: those are taken from the archive's pool if pool.sha256 has their
# checksums. What is there already is not fetched again, so that a machine without a network goes on
# with what it has. Each folder then holds
#
#	vmlinux		the uncompressed ELF: it boots in half the time of the bzImage
#	lib/modules/	the modules, with modules.dep
#	build/		the headers' build folder, for modules of our own
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
shift
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# One fetches at a time: make test and a person's own call may meet
exec 9>"$dir/lock"
flock 9

mirror() { # pattern, default - the address that the machine's apt has for such an archive
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		grep -E "$1" | head -n 1 | grep . || echo "$2"
}

apt_setup() { # NAME, sources... - from here on apt uses only these, with their state in DIR/NAME
	apt=$dir/$1
	shift
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	printf 'deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s\n' "$@" >"$apt/sources.list"
	: >"$apt/status"
	cat >"$apt/conf" <<-END
		Dir::Etc::SourceList "$apt/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::Etc::Preferences "/dev/null";
		Dir::Etc::PreferencesParts "/dev/null";
		Dir::State "$apt";
		Dir::State::Lists "$apt/lists";
		Dir::State::Status "$apt/status";
		Dir::Cache "$apt/cache";
		APT::Architecture "amd64";
		APT::Architectures { "amd64"; };
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Acquire::Retries "2";
		Acquire::http::Timeout "30";
		Acquire::GzipIndexes "true";
		Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
		Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";
	END
	export APT_CONFIG="$apt/conf"
	# Without a network the lists of the last time are used, or what has been unpacked
	apt-get -q update -o APT::Update::Error-Mode=any >"$apt/log" 2>&1 || {
		echo "fetch.sh: these lists could not be fetched:" "$@"
		grep -E '^(E|W|Err)' "$apt/log" | head -n 4
	} >&2
}

# Releases that can be had or are there, oldest first
releases() {
	{
		apt-cache --names-only search '^linux-image-[0-9]+[.][0-9]+[.][0-9].*-amd64$' 2>/dev/null |
			sed -n 's/^linux-image-\([^ ]*\) .*/\1/p'
		here
	} | grep -vE 'cloud|unsigned' | sort -Vu
}

here() { # those that are unpacked
	for d in "$dir"/*/complete; do [ ! -e "$d" ] || basename "$(dirname "$d")"; done
}

series() { # what there is, in short
	releases | grep -v -e -rt- | cut -d. -f1,2 | sort -Vu | paste -sd ' '
}

newest() { # KERNEL - of the releases that are read
	k=${1%-amd64}
	rt=-v
	case $k in *-rt) rt='' k=${k%-rt} ;; esac
	grep $rt -e -rt- | awk -v k="$k" 'index($0, k) == 1 && substr($0, length(k) + 1) ~ /^([.+-]|$)/' | sort -V | tail -n 1
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

depends() { # package, pattern - those dependencies
	apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *Depends: <\{0,1\}\([^<>]*\)>\{0,1\}$/\1/p' | grep -E "^$2" || true
}

listed() { # package - whether the suites still list it
	apt-cache show "$1" 2>/dev/null | grep -q '^Filename:'
}

from_pool() { # package, version: one that the suites no longer list
	name=$1_$(echo "$2" | sed 's/^[0-9]*://')
	line=$(grep -E "/$(echo "$name" | sed 's/[+.]/\\&/g')_(amd64|all)\.deb$" "$here/pool.sha256") || {
		echo "fetch.sh: $1 $2 is in no list, and pool.sha256 has no checksum for it" >&2
		return 1
	}
	path=${line#* }
	/usr/lib/apt/apt-helper download-file "$main${path# }" "${path##*/}" "SHA256:${line%% *}" >&2
}

# Makes the headers' build folder one that modules can be built with where it is, with this machine's
# compiler: what the kernel's own had and ours has not is left out
build_folder() {
	# The kernel's own is there, with the types that a module's refer to
	[ -e "$1/build/vmlinux" ] || ln -s ../../../vmlinux "$1/build/vmlinux"
	# Debian names the folders by absolute paths. Another KBUILD_OUTPUT than the current folder would be
	# written to.
	sed -i -E 's|^KBUILD_OUTPUT=.*|KBUILD_OUTPUT := $(CURDIR)|; s|^include /usr/src|include $(CURDIR)/..|' "$1/build/Makefile"
	for link in "$1"/usr/src/*/scripts "$1"/usr/src/*/tools; do
		target=$(readlink "$link") || continue
		case $target in
		/*) ln -sfn "../../lib/${target##*/lib/}" "$link" ;;
		esac
	done
	sed -i 's/gcc-[0-9]*/gcc/' "$1/build/.kernelvariables"
	{
		echo "override CONFIG_PAHOLE_VERSION := $(pahole --numeric_version)"
		echo 'override CONFIG_PAHOLE_HAS_LANG_EXCLUDE :='
		gcc -fmin-function-alignment=16 -E -x c /dev/null >/dev/null 2>&1 ||
			echo 'override CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT :='
		[ -e "$1/build/tools/bpf/resolve_btfids/resolve_btfids" ] ||
			echo 'override RESOLVE_BTFIDS := true'
	} >>"$1/build/.kernelvariables"
	# Programs of Debian 13 want a newer C library than Debian 12's
	find "$1"/usr/lib/linux-kbuild-*/scripts "$1"/usr/lib/linux-kbuild-*/tools -type f -perm -100 |
		while read -r program; do
			ldd "$program" 2>&1 | grep -q 'GLIBC.* not found' || continue
			libc || exit
			mv "$program" "$program.elf"
			lib=$dir/libc/usr/lib
			printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "${lib}64/ld-linux-x86-64.so.2" \
				"$lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu" "$program.elf" >"$program"
			chmod 755 "$program"
		done
}

libc() {
	[ ! -e "$dir/libc/complete" ] || return 0
	rm -rf "$dir/libc"
	mkdir "$dir/libc"
	(
		apt_setup apt-libc "$main trixie main"
		cd "$dir/libc" && apt-get -q download libc6 && dpkg -x libc6_*.deb . && rm libc6_*.deb && touch complete
	) >&2
}

fetch() { # release
	to=$dir/$1
	[ ! -e "$to/complete" ] || return 0
	rm -rf "$to"
	mkdir -p "$to/deb"
	image=linux-image-$1
	version=$(apt-cache show "$image" | sed -n 's/^Version: //p' | head -n 1)
	# From 6.19 on the image's package is empty, and what it depends on has the files; headers of a
	# flavour share those of "common", and programs to build with
	base=${1%-amd64}
	base=${base%-rt}
	if listed "linux-headers-$1"; then
		headers=$(depends "linux-headers-$1" 'linux-(headers|kbuild)')
	else
		headers="linux-headers-$base-common linux-kbuild-$base"
	fi
	(
		cd "$to/deb"
		for p in "$image" "linux-headers-$1" $headers $(depends "$image" 'linux-(binary|modules|base)-[0-9]'); do
			if listed "$p"; then
				apt-get -q download "$p" >&2
			else
				from_pool "$p" "$version"
			fi || exit
		done
	) || return
	for deb in "$to"/deb/*.deb; do
		dpkg -x "$deb" "$to"
	done
	rm -rf "$to/deb" "$to/usr/share"
	# Newer ones have their modules below usr, and the newest the kernel beside these
	if [ -d "$to/usr/lib/modules" ]; then
		mkdir -p "$to/lib/modules"
		cp -al "$to"/usr/lib/modules/. "$to/lib/modules/"
		rm -rf "$to/usr/lib/modules"
	fi
	bzimage=$to/boot/vmlinuz-$1
	[ -e "$bzimage" ] || bzimage=$to/lib/modules/$1/vmlinuz
	unpack_bzimage "$bzimage" "$to/vmlinux"
	rm -f "$bzimage"
	ln -s "usr/src/linux-headers-$1" "$to/build"
	build_folder "$to"
	# Large ones, which an emulated machine would take seconds to unpack
	find "$to"/lib/modules/*/kernel/drivers/gpu -name '*.ko.xz' -exec xz -d {} +
	depmod -b "$to" "$1"
	touch "$to/complete"
}

main=$(mirror '/debian/?$' http://deb.debian.org/debian/)
security=$(mirror '/debian-security/?$' http://deb.debian.org/debian-security/)
apt_setup apt "$security bookworm-security main" "$main trixie-backports main"
if [ "${1-}" = --list ]; then
	releases
	exit
fi
rc=0
for kernel; do
	release=$(releases | newest "$kernel")
	if [ -z "$release" ]; then
		echo "fetch.sh: no kernel's release begins with $kernel; there are $(series), each also with -rt" >&2
		rc=1
		continue
	fi
	fetch "$release" & # not where its status is asked for, or it would go on behind what fails
	if ! wait $!; then
		echo "fetch.sh: $release could not be fetched" >&2
		release=$(here | newest "$kernel")
		[ -z "$release" ] || echo "fetch.sh: $release is here from before" >&2
	fi
	[ -n "$release" ] && echo "$release" || rc=1
done
exit $rc
