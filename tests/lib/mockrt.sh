# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by cases behind case.sh: mock libraries of GPU runtimes (tests/mockrt) and programs that call them.
case $(uname -m) in x86_64 | aarch64) ;; *) skip "no libraries of this machine are known" ;; esac

build() { # build MACRO SONAME [ARGUMENTS...]
	local macro=$1 soname=$2
	shift 2
	gcc -O2 -shared -fPIC -D"$macro" -Wl,-soname,"$soname" -Wl,-rpath,"$PWD/lib" -o "lib/$soname" \
		"$GT_SRC/tests/mockrt/lib.c" "$@"
}
build_all() { # into lib/, and ./calls
	mkdir lib
	build HSA libhsa-runtime64.so.1 && build CUDA libcuda.so.1 &&
		build HIP libamdhip64.so.6 -DBELOW lib/libhsa-runtime64.so.1 &&
		build CUDART libcudart.so.12 -DBELOW lib/libcuda.so.1 &&
		gcc -O2 -o calls "$GT_SRC/tests/mockrt/calls.c" -ldl
}

declare -A pid to from
prog() { # prog NAME LIBRARY [COMMAND...] - starts a program that maps the library
	local n=$1 lib=$2 in out line
	shift 2
	mkfifo "$n.in" "$n.out"
	"$@" ./calls "$lib" <"$n.in" >"$n.out" &
	pid[$n]=$!
	exec {in}>"$n.in" {out}<"$n.out"
	to[$n]=$in from[$n]=$out
	read -rt 100 -u "$out" line && [ "$line" = mapped ]
}
tell() { # tell NAME LINE - which is done when this returns
	local line
	echo "$2" >&"${to[$1]}" && read -rt 100 -u "${from[$1]}" line && [ "$line" = done ]
}
finish_prog() {
	kill "${pid[$1]}"
	wait "${pid[$1]}" 2>/dev/null
	unset "pid[$1]"
}
kill_progs() {
	local p
	for p in ${pid[@]+"${pid[@]}"}; do kill -KILL "$p" 2>/dev/null; done
}

stat_of() { value "$mnt/backends/bpf/stats" "runtime_$1"; }
stat_is() { [ "$(stat_of "$1")" = "$2" ]; }
has() { # has NAME N WHAT - of the backend's stats
	wait_for 60 stat_is "$1" "$2"
	is "$(stat_of "$1")" "$2" "$3"
}
declare -A total
seen() { awk -v t="$1" '$1 == t { n = $2 } END { print n + 0 }' "$mnt/events_by_type"; }
seen_is() { [ "$(seen "$1")" = "$2" ]; }
more() { # more TYPE N WHAT - N more were reported since the last time
	total[$1]=$((${total[$1]-0} + $2))
	wait_for 60 seen_is "$1" "${total[$1]}"
	is "$(seen "$1")" "${total[$1]}" "$3"
}
daemon() { pgrep -f "mount.gputrace $mnt( |\$)"; }
