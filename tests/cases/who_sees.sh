#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every file of the tree, by who reads it and by visibility: whose identity is in what they get. What
# is true today is tests/data/who_sees.txt; WHO_SEES_WRITE=1 tests/run.sh who_sees writes it anew, and
# its difference is to be read before it is committed. A file without a line there fails the test.
#
# Processes that differ by pid, comm, uid, context and cgroup, in namespaces of their own too, work
# while the readers read all that they can: in three ways (tests/tools/readways.c) from root down, up
# again, and an ordinary user while root holds the same open. Rules that no table can rewrite are in
# tests/lib/whosees.py. An emulated guest is ten times slower: there it is a part of this, and what that
# says is compared with the same table.
# Alone
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/uprobes.sh"
. "$GT_SRC/tests/lib/containers.sh"
. "$GT_SRC/tests/lib/fuse.sh"
. "$GT_SRC/tests/lib/others.sh"
is_root || skip "needs root to mount and to make namespaces"
table=$GT_SRC/tests/data/who_sees.txt # which may be written
others_reach
readways=$GT_OUT/tests/tools/readways
mock=$(uprobes_mock)
views=(all redacted owner)
tops=      # all of the tree's folders
pace=20000 # µs that a job takes at most
if [ "${GT_GUEST-}" = 1 ]; then # the host's files are there by overlay and 9p: no place for uprobes
	cp "$mock" /run/mockjobs && mock=/run/mockjobs # the guest ends with its tests
	views=(redacted)
	tops=drm0,proc,users,cgroups
	pace=80000
fi
uprobes_usable || skip "$uprobes_why"
unshare --fork --pid --mount --mount-proc true 2>err || skip "no PID namespace can be made: $(head -n 1 err)"
command -v fusermount3 >/dev/null || skip "fusermount3 is not installed"

declare -A uid=([OWNER]=2100000001 [OTHER]=2100000002 [BOX]=2100000004 [ROOTLESS]=2100000005)
declare -A ctx=([OWNER]=771000000000000001 [OTHER]=772000000000000001 [BOX]=773000000000000001 [ROOTLESS]=774000000000000001)
member=2100000006
keeper=65534 # fusermount3 wants a name
as() { echo "setpriv --reuid $1 --regid $1 --clear-groups"; }
rootless="$(as ${uid[ROOTLESS]}) unshare --fork --pid --mount --mount-proc --kill-child --user --map-root-user"
$rootless true 2>err || skip "no user namespace can be made: $(head -n 1 err)"

# Pids that no other number is: for a moment there are so many
pids_max=$(cat /proc/sys/kernel/pid_max) pids_last=$(cat /proc/sys/kernel/ns_last_pid)
pids_raised=
pids_restore() {
	echo "$pids_max" >/proc/sys/kernel/pid_max && echo "$pids_last" >/proc/sys/kernel/ns_last_pid
	pids_raised=
}
made=()
cleanup() {
	[ -z "$pids_raised" ] || pids_restore
	for visibility in "${views[@]}"; do
		grep -q " $PWD/user-$visibility " /proc/mounts && umount "$PWD/user-$visibility" # none of root's to look into
		wait_for 20 gone "$PWD/user-$visibility"
	done
	fuse_restore
	pkill -KILL -f "$PWD/SECRET"
	kill -KILL "${inits[@]}" 2>/dev/null
	for d in ${made[@]+"${made[@]}"}; do wait_for 20 rmdir "$d"; done
	cgroups_leave
	uprobes_remove
}

# A control group for each, where the daemon looks
find_cgroups || skip "there is no hierarchy of control groups"
cgroup=${cgroup_at%/}/gt-who-$$
mkdir "$cgroups$cgroup" || skip "no control group can be made"
made=("$cgroups$cgroup")
for who in "${!uid[@]}"; do
	mkdir "$cgroups$cgroup/SECRETCG_$who" && made=("$cgroups$cgroup/SECRETCG_$who" "${made[@]}")
	ln -s "$mock" SECRET_$who
done
join() { echo "echo \$BASHPID >$cgroups$cgroup/SECRETCG_$1/cgroup.procs"; }
joined() { # joined WHO COMMAND...
	eval "$(join "$1")"
	exec "${@:2}"
}

chmod 711 .
printf '%s\n' '[backend sim]' 'rate = 20000' 'jobs = 200' 'users = 3' 'procs = 3' 'rings = 2' \
	"first_uid = ${uid[OWNER]}" '[buffers]' 'history_size = 131072' '[limits]' 'max_pipes = 4096' \
	'[access]' 'config/level = 0666' >conf
uprobes_add "$mock" new
trees=()
for visibility in "${views[@]}"; do
	mount_gt "$PWD/$visibility" -o conf=conf,backend=ftrace:sim,gid=4000,visibility=$visibility || exit 1
	trees+=("$visibility=$PWD/$visibility")
done
sim_done() { awk '/^total/ { n += $2 } END { exit n != 200 }' "$1"/sim0/ring*/latency; }
for visibility in "${views[@]}"; do
	ok "$visibility: sim has done its jobs" wait_for 60 sim_done $visibility
	echo clear >$visibility/control
done

container BOX joined BOX unshare --fork --pid --mount --mount-proc --kill-child
container ROOTLESS joined ROOTLESS $rootless
run() { echo "$(as $2) $PWD/SECRET_$1 -n 1000000 -r 1 -p 1 -d $pace -m new -b -c ${ctx[$1]} -o /dev/null"; }
echo 4194304 >/proc/sys/kernel/pid_max || skip "the kernel's highest pid cannot be changed"
pids_raised=1
echo 4111000 >/proc/sys/kernel/ns_last_pid
for who in OWNER OTHER; do
	(
		eval "$(join $who)"
		exec $(run $who ${uid[$who]})
	) &
done
inside BOX "echo 4122000 >/proc/sys/kernel/ns_last_pid; $(run BOX ${uid[BOX]}) &"
inside ROOTLESS "echo 4133000 >/proc/sys/kernel/ns_last_pid; $(run ROOTLESS 0 | sed 's/.*clear-groups//') &"
works() { [ "$(awk '$NF ~ /^SECRET_/ { print $NF }' "$1/top" | sort -u | wc -l)" = 4 ]; }
for visibility in "${views[@]}"; do ok "$visibility: the processes are known" wait_for 60 works $visibility; done
pids_restore

# Refused writes that tell who they are
for visibility in "${views[@]}"; do
	for who in OWNER OTHER; do
		$(as ${uid[$who]}) bash -c "echo SECRETVAL_$who >$visibility/config/level" 2>/dev/null
	done
	inside BOX "$(as ${uid[BOX]}) bash -c 'echo SECRETVAL_BOX >$PWD/$visibility/config/level'" >/dev/null
	inside ROOTLESS "echo SECRETVAL_ROOTLESS >$PWD/$visibility/config/level" >/dev/null
done

# What is planted, and who is called how: WHO PID-OF-THE-HOST PID-INSIDE
for who in OWNER OTHER BOX ROOTLESS; do
	echo "$who comm SECRET_$who"
	echo "$who cgroup SECRETCG_$who"
	echo "$who value SECRETVAL_$who"
	echo "$who uid ${uid[$who]}"
	echo "$who ctx ${ctx[$who]}"
	for p in $(pgrep -f "^$PWD/SECRET_$who"); do
		awk -v who=$who '/^NStgid:/ { print who, "pid", $2; if (NF > 2) print who, "nspid", $NF }' /proc/$p/status
	done
done >secrets
printf '%s\n' "OWNER pid 5000000" "OTHER pid 5000001" "OTHER pid 5000002" "OTHER uid 2100000003" >>secrets
# Root sees every path; in a container those of its processes are called otherwise
all=${views[0]}
(cd $all && find . -mindepth 1 -printf '%P\n') >paths
for who in BOX ROOTLESS; do
	awk -v who=$who '$1 == who && $2 ~ /pid/ { if ($2 == "pid") p = $3; else print "s|proc/" p "$|proc/" $3 "|;s|proc/" p "/|proc/" $3 "/|" }' secrets >$who.sed
	sed -f $who.sed paths >paths.$who
done
chmod 644 secrets paths paths.*

# Readers, from who sees most to who sees least
readers=(root group owner other box-root box-user box-owner rootless-root)
reader() { # reader NAME OPTIONS FILE
	local p=$PWD/paths where= before= name=$1
	case $name in box-*) p+=.BOX where=BOX ;; rootless-*) p+=.ROOTLESS where=ROOTLESS ;; esac
	case $name in
	group) before="setpriv --reuid $member --regid $member --groups 4000" ;;
	owner | box-owner) before=$(as ${uid[OWNER]}) ;;
	other) before=$(as 65534) ;;
	box-user) before=$(as ${uid[BOX]}) ;;
	esac
	if [ -n "$where" ]; then
		inside $where "$before $readways $2 $PWD/secrets $p ${trees[*]}"
	else
		$before "$readways" $2 "$PWD/secrets" "$p" "${trees[@]}"
	fi >"$3" 2>>"$name.err"
}
# A mount of a user's, who has a recording of all that
of_a_user() {
	ok "there is a recording" wait $recorder
	chmod 644 recording
	fuse_for_users
	trees=()
	for visibility in "${views[@]}"; do
		mkdir user-$visibility
		chown $keeper user-$visibility
		$(as $keeper) "$GT_PROG" "$PWD/user-$visibility" -o replay=recording,visibility=$visibility || exit 1
		trees+=("$visibility=$PWD/user-$visibility")
	done
	$(as $keeper) find user-all -mindepth 1 -printf '%P\n' >paths
	for r in user not-root not-owner not-other; do
		case $r in
		user) $(as $keeper) "$readways" -p 0 secrets paths "${trees[@]}" ;;
		not-root) "$readways" -p 0 secrets paths "${trees[@]}" ;;
		not-owner) $(as ${uid[OWNER]}) "$readways" -p 0 secrets paths "${trees[@]}" ;;
		not-other) $(as $member) "$readways" -p 0 secrets paths "${trees[@]}" ;;
		esac >"reported/$r.down" 2>>$r.err
	done
}

mkdir reported
if [ -z "$tops" ]; then
	head -c 131072 all/events >recording & # takes as long as a reader or two
	recorder=$!
fi
for r in "${readers[@]}"; do reader "$r" "${tops:+-t $tops} -p 300" "reported/$r.down"; done
for ((i = ${#readers[@]} - 1; i >= 0; i--)); do reader "${readers[i]}" "${tops:+-t $tops} -r" "reported/${readers[i]}.up"; done
if [ -z "$tops" ]; then
	reader root "-u 65534" reported/other.beside-root
	reader root "-u ${uid[OWNER]}" reported/owner.beside-root
	of_a_user
fi
is "$(cat ./*.err)" "" "every reader could look at everything"
echo "$cgroup" >place
cat $all/gpus >gpus
pkill -KILL -f "$PWD/SECRET" # all has been said
python_checks "$GT_SRC/tests/lib/whosees.py" . "$table" $tops
done_testing
