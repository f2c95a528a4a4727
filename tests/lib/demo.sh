#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# demo.sh - mounts the tree that was just built, and shows what is in it. O= is the build folder.
set -eu

dir=${GPUTRACE_DEMO_DIR:-/gputrace}
prog=$(readlink -f "$O/sbin/mount.gputrace")

if [ "$(id -u)" != 0 ] && [ "$dir" = /gputrace ]; then
	command -v sudo >/dev/null && exec sudo O="$O" "$0"
	echo "gputrace: only root can mount at /gputrace" >&2
	exit 1
fi
if grep -q " $dir fuse.gputrace " /proc/mounts && [ -e "$dir/version" ]; then
	echo "gputrace is mounted at $dir already"
else
	mkdir -p "$dir"
	"$prog" "$dir"
	if [ "$(wc -l <"$dir/gpus")" = 1 ]; then
		umount "$dir"
		"$prog" "$dir" -o backend=sim
	fi
fi

# A second or two of work, so that there are numbers; an idle GPU has none
timeout 2 head -n 3000 "$dir/trace" >/dev/null || true
gpu=$(awk 'NR == 2 { print $1 }' "$dir/gpus")
rings=$(($(wc -l <"$dir/rings") - 1)) # but for the names of the columns

show() {
	printf '\n$ cat %s\n' "$1"
	head -n "${2:-20}" "$1"
}

echo
if grep -q '^simulated 1' "$dir/status"; then
	echo "This machine has no GPU that gputrace can see: sim0 is SIMULATED, so that there is something"
	echo "to look at. On a machine with a GPU the same files show the GPU."
else
	echo "gputrace is mounted at $dir."
	if [ -z "$gpu" ]; then
		echo "No GPU is seen, so the tables below are empty. Why, in the words of $dir/doctor:"
	elif [ $rings = 0 ]; then
		echo "No GPU has had work since, so the tables below are empty: a ring is there from its first job on."
		echo "Start a program that uses the GPU and look again. What cannot be seen, in the words of $dir/doctor:"
	fi
	[ $rings != 0 ] || grep -E ' unavailable|^  error ' "$dir/doctor" | head -n 12 | sed 's/^/  /'
fi
show "$dir/gpus"
show "$dir/rings"
if [ -n "$gpu" ] && [ -e "$dir/$gpu/ring0" ]; then
	show "$dir/$gpu/ring0/latency"
	show "$dir/$gpu/utilization"
	printf '\n$ head -n 5 %s\n' "$dir/$gpu/trace"
	timeout 5 head -n 5 "$dir/$gpu/trace" || true
fi
cat <<EOF

Look further:
  less $dir/README            every file in a line
  cat $dir/doctor             what is seen here, what is not, and what would show it
  watch cat $dir/rings
  cat $dir/trace              events as they happen; needs no rights
  echo 25 > $dir/config/sampling
Unmount:
  umount $dir
EOF
