#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Calls of GPU runtimes through BPF on the guests' kernels: the programs load there, probes are put as each
# kernel takes them, and calls of programs from before and after, in and out of a mount namespace, are
# counted exactly. What else there is to the part needs no other kernel: tests/cases/bpf_runtime*.sh.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockrt.sh"
[ "${GT_GUEST-}" = 1 ] || skip "for guests (tests/vm/run.sh)"
# What the guest has from its host is on a file system of the network, where no probe is put.
mkdir here
mount -t tmpfs tmpfs here && cd here || exit 1
build_all || skip "no compiler"
installed() { # the host has some: they are found, on a file system where none is touched
	ls /usr/lib*/lib{amdhip64,hsa-runtime64}[.-]*so* /usr/lib/*/lib{amdhip64,hsa-runtime64}[.-]*so* \
		/usr/local/lib/lib{amdhip64,hsa-runtime64}[.-]*so* \
		/opt/rocm*/lib*/lib{amdhip64,hsa-runtime64}[.-]*so* 2>/dev/null | grep -q .
}
cleanup() {
	local fd
	kill_progs
	wait 2>/dev/null
	for fd in ${to[@]+"${to[@]}"} ${from[@]+"${from[@]}"}; do exec {fd}>&-; done # which are in there
	cd .. && umount here
}

prog before "$PWD/lib/libamdhip64.so.6"
mount_gt "$mnt" -o backend=bpf || exit 1
set=$mnt/backends/bpf/runtimes
is "$(sed -n 's/^ *runtime unavailable: //p' "$mnt/doctor")" "" "the part runs"
like "$(cat "$mnt/backends/bpf/stats")" '^runtime running' "… as its stats say" || exit 1
way=multi
grep -qw bpf_uprobe_multi_link_attach /proc/kallsyms || way=single # Linux 6.6 has it
is "$(stat_of way)" $way "probes are put as this kernel takes them"

# The guest is slow: what takes its time is waited for
settled() { [ "$(stat_of attaching) $(stat_of closing)" = "0 0" ]; }
turn() { echo "$1" >"$set" && wait_for 60 settled; }
round() { # round RUNTIMES N - with one library; or two, and a call of one by the other is reported once
	ok "$1" turn "$1"
	has libraries "$2" "$1: $2 mapped"
	if installed; then
		skip_ok "$1: nothing is left alone" "the host has runtimes installed"
	else
		is "$(stat_of left_alone)" 0 "$1: nothing is left alone"
	fi
	tell before "hipLaunchKernel 100"
	more LAUNCH 100 "$1: launches of a program that was there before"
	tell before "hipMemcpy 3"
	tell before "hipMemcpyAsync 20"
	more COPY 23 "$1: copies"
	tell before "hipStreamSynchronize 5"
	more SYNC_WAIT_ENTER 5 "$1: waits begin"
	more SYNC_WAIT_EXIT 5 "$1: … and end"
	tell before "hipStreamCreate 4"
	more QUEUE_CREATE 4 "$1: streams"
	tell before "jump hipStreamDestroy 5"
	more SYNC_WAIT_ENTER 1 "$1: a wait that is left by longjmp(3)"
	more QUEUE_DESTROY 5 "$1: what is called then is not inside it"
	tell before "fork hipLaunchKernel 7"
	more LAUNCH 7 "$1: a child's"
}
round hip 1
libraries=$(stat_of libraries)
prog after "$PWD/lib/libamdhip64.so.6"
tell after "hipLaunchKernel 50"
more LAUNCH 50 "a program that began later"
mkdir inside
prog ns "$PWD/inside/libamdhip64.so.6" unshare -m sh -c \
	"mount -t tmpfs tmpfs inside && cp lib/libamdhip64.so.6 inside/ && exec \"\$@\"" sh
has libraries $((libraries + 1)) "a copy in another mount namespace is found"
tell ns "hipLaunchKernel 30"
more LAUNCH 30 "… and its calls are reported"
finish_prog ns
finish_prog after
rescan # what nobody maps goes at once
round hsa,hip 2
is "$(stat_of lost)" 0 "nothing was lost"
ok "off" turn ""
is "$(stat_of libraries) $(stat_of functions)" "0 0" "no probe is left"
ok "… and the program has not noticed" tell before "hipLaunchKernel 5"
umount_gt "$mnt"
done_testing
