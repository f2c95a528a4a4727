#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One mount for the host and for containers: who reads in a PID namespace of its own sees that
# namespace's processes, with the pids they have there; whoever reads first.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/uprobes.sh"
. "$GT_SRC/tests/lib/containers.sh"
. "$GT_SRC/tests/lib/others.sh"
is_root || skip "needs root to mount and to make namespaces"
others_reach
export LC_ALL=C # what ls says is compared
mock=$(uprobes_mock)
uprobes_usable || skip "$uprobes_why"
unshare --fork --pid --mount --mount-proc true 2>err || skip "no PID namespace can be made: $(head -n 1 err)"
cleanup() {
	kill -KILL "${inits[@]}" 2>/dev/null
	pkill -KILL -f "$PWD/SECRET"
	[ -z "${cgroup-}" ] || wait_for 20 rmdir "$cgroups$cgroup"
	cgroups_leave
	uprobes_remove
}

# Programs that differ by comm and context. What a caller must not see is looked for by these.
for who in HOST ANNA BERT USER; do ln -s "$mock" SECRET_$who; done
declare -A ctx=([HOST]=71000000 [ANNA]=72000000 [BERT]=73000000 [USER]=74000000)
run() { echo "$PWD/SECRET_$1 -n 1000000 -r 1 -p 1 -d 20000 -m new -c ${ctx[$1]} -o /dev/null"; }
as() { echo "setpriv --reuid $1 --regid $1 --clear-groups"; }

# All that somebody can read: texts, names, and what pipes bring in a moment. MOUNT FOLDER: where all may write
mkdir -m 1777 pipes
cat >all.sh <<'S'
cd "$1" || exit
export LC_ALL=C
pipes=$(mktemp "$2/pipes.XXXXXX") || exit
find . -printf '%p %u %l\n' 2>/dev/null
find . -type f ! -name events ! -name trace ! -path ./clocks ! -name stats -readable -exec cat {} + 2>/dev/null
for pipe in trace drm0/trace self/trace events; do timeout 0.3 cat $pipe; done >"$pipes" 2>/dev/null
od -An -v -t u8 -w8 "$pipes" | tr -d ' '
tr -c '[:print:]' '\n' <"$pipes" | grep ...
rm "$pipes"
S
secrets() { # secrets FILE - whose are in it, by comm and by context
	for who in ANNA BERT HOST USER; do
		grep -qE "SECRET_$who|(^|[^0-9])${ctx[$who]}([^0-9]|\$)" "$1" && echo "$who"
	done | xargs
}


# Reads everything: host's NAME, or as user of a container. READER FILE
read_all() {
	case $1 in
	root) bash all.sh "$mnt" "$PWD/pipes" ;;
	user[0-9]*) $(as "${1#user}") bash "$PWD/all.sh" "$mnt" "$PWD/pipes" ;;
	*:root) inside "${1%:*}" "bash $PWD/all.sh $mnt $PWD/pipes" ;;
	*:*) inside "${1%:*}" "$(as "${1#*:}") bash $PWD/all.sh $mnt $PWD/pipes" ;;
	esac >"$2" 2>&1
}

# Who may know of whom, by visibility
expected() { # VISIBILITY READER
	case $1:$2 in
	*:box:root) echo ANNA BERT ;;
	*:rootless:root) echo USER ;;
	*:root) echo ${all//SECRET_/} ;;
	all:user*) echo ${all//SECRET_/} ;;
	*:user1001) echo ANNA HOST ;;
	*:user65534) ;;
	all:box:*) echo ANNA BERT ;;
	*:box:1002) echo BERT ;;
	*:box:65534) ;;
	*) echo "no such reader $2" ;;
	esac
}
readers=(root user1001 user65534 box:root box:1002 box:65534)
all="SECRET_ANNA SECRET_BERT SECRET_HOST"
rootless="setpriv --reuid 1003 --regid 1003 --clear-groups unshare --fork --pid --mount --mount-proc --kill-child --user --map-root-user"
if $rootless true 2>err; then
	readers+=(rootless:root)
	all="$all SECRET_USER"
else
	skip_ok "a container without root" "$(head -n 1 err)"
	rootless=
fi
# Whose totals: HOST and ANNA are of one user, but not of one namespace
expected_users() { # VISIBILITY READER
	case $1:$2 in
	*:rootless:root) echo 1003 ;;
	all:box:* | *:box:root | *:box:1002) echo 1002 ;;
	*:box:*) ;;
	*:root | all:user*) echo 1001 1002 ${rootless:+1003} ;;
	*:user1001) echo 1001 ;;
	esac
}
names_in() { # READER DIRECTORY - what it lists there
	case $1 in
	root) ls "$2" ;;
	user[0-9]*) $(as "${1#user}") ls "$2" ;;
	*:root) inside "${1%:*}" "ls $2" ;;
	*:*) inside "${1%:*}" "$(as "${1#*:}") ls $2" ;;
	esac 2>&1 | xargs
}

# A control group for HOST, where the daemon looks
cgroup=
if find_cgroups 2>/dev/null; then
	cgroup=${cgroup_at%/}/gt-test-$$
	mkdir "$cgroups$cgroup" 2>/dev/null || cgroup=
fi

chmod 711 .
for visibility in redacted owner all; do
	uprobes_add "$mock" new
	mount_gt "$mnt" -o backend=ftrace,visibility=$visibility || exit 1
	container box unshare --fork --pid --mount --mount-proc --kill-child
	[ -z "$rootless" ] || container rootless $rootless
	(
		[ -z "$cgroup" ] || echo $BASHPID >"$cgroups$cgroup/cgroup.procs"
		exec $(as 1001) $(run HOST)
	) &
	inside box "$(as 1001) $(run ANNA) & $(as 1002) $(run BERT) &"
	[ -z "$rootless" ] || inside rootless "$(run USER) &"
	seen() { [ "$(cat "$mnt"/proc/*/comm 2>/dev/null | sort -u | xargs)" = "$all" ]; }
	ok "$visibility: the processes are known" wait_for 60 seen

	again=()
	[ $visibility != redacted ] || again=("${readers[@]}") # each after each
	for reader in "${readers[@]}" "${again[@]}"; do
		read_all "$reader" "$reader.all"
		is "$(secrets "$reader.all")" "$(expected $visibility $reader)" "$visibility: what $reader can read is of these"
	done

	for reader in "${readers[@]}"; do
		is "$(names_in "$reader" "$mnt/users")" "$(expected_users $visibility "$reader")" "$visibility: whose totals $reader sees"
		[ -n "$cgroup" ] || continue
		case $visibility:$reader in
		$visibility:root | *:user1001 | all:user*) shown="latency latency_10s stats utilization" ;;
		*) shown="ls: cannot access $mnt/cgroups$cgroup: No such file or directory" ;;
		esac
		is "$(names_in "$reader" "$mnt/cgroups$cgroup")" "$shown" "… and of HOST's control group"
	done
	[ -n "$cgroup" ] || skip_ok "totals of control groups" "no cgroup can be made here"

	# Names and numbers inside
	pids=$(inside box "pgrep SECRET_")
	shown=$(inside box "ls $mnt/proc | sort -n")
	is "$(inside box "for p in $mnt/proc/*; do [ -e /proc/\${p##*/} ] || echo \$p; done")" "" "$visibility: pids are the container's ($(echo $shown))"
	is "$(inside box "for p in $mnt/proc/*; do [ \$(cat \$p/comm) = \$(cat /proc/\${p##*/}/comm) ] || echo \$p; done")" "" "… of those who have them"
	ok "… and there are some" [ "$(echo "$shown" | wc -w)" -ge 2 ]
	for column in report:7 report:23 top:1 blame:1 blame:5; do
		wrong() { inside box "awk -v column=$1 'NR > 1 && \$column != \"-\" { print \$column }' $mnt/$2 | sort -u" | while read -r p; do grep -qx "$p" <<<"$pids" || echo "$p"; done; }
		is "$(wrong "${column#*:}" "${column%:*}")" "" "$visibility: the pids of $column, too"
	done
	set -- $(inside box "bash -c 'echo \$\$; exec readlink $mnt/self'")
	is "$2" "proc/$1" "$visibility: self is the reader, by its own pid"
	like "$(inside box "echo 50 >$mnt/config/sampling")" "not permitted" "$visibility: a container's root changes no setting"
	is "$(cat "$mnt/config/sampling")" 100 "… really"
	pkill -KILL -f "$PWD/SECRET"
	kill -KILL "${inits[@]}"
	wait "${inits[@]}" 2>/dev/null
	inits=()
	rm -f box.* rootless.*
	umount_gt "$mnt"
	uprobes_remove
done
done_testing
