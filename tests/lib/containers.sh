# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by cases that make containers: PID namespaces with a shell that does what it reads, and control
# groups where the daemon looks for them. The case ends ${inits[@]} in its cleanup.
inits=()

container() { # container NAME COMMAND BEFORE THE SHELL...
	local name=$1
	shift
	mkfifo "$name.in"
	chmod 666 "$name.in"
	install -m 666 /dev/null "$name.out"
	install -m 666 /dev/null "$name.rc"
	"$@" bash -c 'while read -r line <&3; do eval "$line" >"$0.out" 2>&1; echo $? >"$0.rc"; done 3<>"$0.in"' "$PWD/$name" &
	inits+=($!)
}

inside() { # inside NAME COMMAND - its output
	: >"$1.rc"
	echo "$2" >"$1.in"
	wait_for 100 test -s "$1.rc" || echo "no answer"
	cat "$1.out"
}

# In $cgroups the hierarchy that the daemon looks at, version 2 or the first one; in $cgroup_at our place there.
# Where it is mounted nowhere, as in many a chroot, it is in the case's folder until cgroups_leave.
# Return: whether there is one.
cgroups_mounted=
find_cgroups() {
	local id tree options=
	IFS=: read -r id tree cgroup_at < <(grep '^0::' /proc/self/cgroup || head -n 1 /proc/self/cgroup)
	if [ "${id:-0}" = 0 ]; then
		cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
		tree=cgroup2
	else
		cgroups=$(awk -v t="$tree" '$3 == "cgroup" && index("," $4 ",", "," t ",") { print $2; exit }' /proc/mounts)
		case $tree in name=*) options=none,$tree ;; *) options=$tree ;; esac
		tree=cgroup
	fi
	[ -z "$cgroups" ] || return 0
	mkdir -p "$PWD/hierarchy" && mount -t $tree ${options:+-o "$options"} none "$PWD/hierarchy" || return
	cgroups=$PWD/hierarchy cgroups_mounted=y
	: "${cgroup_at:=/}" # the kernel tells none of one that was never mounted
}

cgroups_leave() {
	[ -z "$cgroups_mounted" ] || umount "$cgroups"
	cgroups_mounted=
}
