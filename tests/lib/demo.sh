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
fi

# A second or two of work, so that there are numbers; an idle GPU has none
timeout 2 head -n 3000 "$dir/trace" >/dev/null || true
gpu=$(awk '!/^#/ { print $1; exit }' "$dir/gpus")

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
fi
show "$dir/gpus"
show "$dir/rings"
if [ -n "$gpu" ] && [ -d "$dir/$gpu/ring0" ]; then
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
