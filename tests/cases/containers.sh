#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A tree below a shared folder that containers have bound, as README says: a daemon that ends, is killed or
# is started anew leaves no dead mount in them.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount and to make namespaces"
unshare --fork --pid --mount --mount-proc true 2>err || skip "no namespaces can be made: $(head -n 1 err)"
share=$PWD/share
boxes=()
cleanup() {
	[ ${#boxes[@]} = 0 ] || kill -KILL "${boxes[@]}" 2>/dev/null
	umount -l "$share" 2>/dev/null
}
chmod 711 .
mkdir share box
mount -t tmpfs -o mode=755 none share && mount --make-shared share || skip "no shared folder can be made"
mkdir share/tree
printf '[backend sim]\nrate = 2000\n' >conf

# As runtimes do with -v DIR:DIR:rslave: all that is the host's becomes a slave, then the folder is bound
start_box() { # start_box NAME COMMAND BEFORE UNSHARE...
	local name=$1
	shift
	"$@" --mount --propagation slave --pid --fork --kill-child --mount-proc sh -c '
		mount --rbind "$1/share" "$1/box" && mount --make-rslave "$1/box" &&
		{ umount -l "$1/share" 2>/dev/null || :; } && echo ready >"$1/$0.ready" && exec sleep infinity' "$name" "$PWD" &
	boxes+=($!)
	ok "$name: bound" wait_for 20 test -s "$name.ready"
	eval "$name=\$(pgrep -P \$! -f 'sleep infinity')"
	ok "$name: runs" test -n "${!name}"
}
in_box() { # in_box NAME COMMAND...
	local pid=${!1} users=
	[ "$1" = root_box ] || users=--user
	shift
	nsenter --target "$pid" --mount --root --pid $users "$@"
}
in_boxes() { # in_boxes COMMAND... - in all of them
	local name
	for name in "${names[@]}"; do in_box "$name" "$@" || return; done
}
reads() { in_boxes grep -q '^state running' "$PWD/box/tree/status"; }
empty() { [ "$(in_box root_box ls -A "$PWD/box/tree" 2>&1)" = "" ]; }

touch root_box.ready user_box.ready && chmod 666 ./*.ready
start_box root_box unshare
names=(root_box)
rootless="setpriv --reuid 1003 --regid 1003 --clear-groups unshare --user --map-root-user"
if $rootless true 2>err; then
	start_box user_box $rootless
	names+=(user_box)
else
	skip_ok "a container without root" "$(head -n 1 err)"
fi

mount_gt share/tree -o conf=conf,backend=sim || exit 1
ok "a tree that was mounted after the containers began is there" wait_for 20 reads
ok "… and only its own processes" sh -c "! ls '$share/tree/proc' | grep -qx $$"
refused() { ! in_box root_box sh -c "echo 1 >$PWD/box/tree/config/sampling"; }
ok "a container writes no setting" refused
is "$(cat share/tree/config/sampling)" 100 "… and it is as it was"
ok "umount" umount_gt "$PWD/share/tree"
ok "the daemon has ended: nothing is left in the containers" wait_for 20 empty

mount_gt "$share/tree" -o conf=conf,backend=sim || exit 1
ok "started anew: it is there" wait_for 20 reads
pkill -KILL -f "mount.gputrace $share/tree( |\$)" # by its whole name: of another run there may be one, too
ok "killed" wait_for 20 gone "$share/tree"
like "$(in_box root_box ls "$PWD/box/tree" 2>&1)" "not connected|abort" "the mount is dead"
mount_gt "$share/tree" -o conf=conf,backend=sim || exit 1
ok "started anew: it is there, and the dead one is gone" wait_for 20 reads
is "$(in_box root_box grep -c " $PWD/box/tree " /proc/self/mountinfo)" 1 "one mount"
done_testing
