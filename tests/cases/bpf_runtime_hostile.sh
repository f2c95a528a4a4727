#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What users can do to the part that finds GPU runtimes' libraries: floods of mappings, files without end,
# more libraries than there is room for, and a process that is waited for.
# Alone
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
. "$GT_SRC/tests/lib/mockrt.sh"
. "$GT_SRC/tests/lib/others.sh"
others_reach
build_all || skip "no compiler"
holds=()
cleanup() {
	local fd
	exec {held_in}>&-
	for fd in ${holds[@]+"${holds[@]}"}; do exec {fd}>&-; done
	kill_progs
	wait 2>/dev/null
}
exec {held_in}>/dev/null

chmod 755 . lib
declare -A in out
many() { # many NAME UID LIBRARY N [COMMAND...] - a user's process maps N files of its own
	local n=$1 uid=$2 lib=$3 count=$4 i o line
	shift 4
	mkdir "$n" && chown "$uid" "$n"
	mkfifo "$n.in" "$n.out"
	(cd "$n" && exec "${@:-setpriv}" --reuid "$uid" --regid "$uid" --clear-groups \
		python3 "$GT_SRC/tests/lib/manylibs.py" "$lib" libcuda.so "$count") <"$n.in" >"$n.out" &
	pid[$n]=$!
	exec {i}>"$n.in" {o}<"$n.out"
	in[$n]=$i out[$n]=$o
	read -rt 60 -u "$o" line && [ "$line" = mapped ]
}
again() { echo rescan >"$mnt/control"; }

mount_gt "$mnt" -o backend=bpf || skip "$(cat "$PWD"/*.log 2>/dev/null | tail -n 1)"
set=$mnt/backends/bpf/runtimes
like "$(cat "$mnt/backends/bpf/stats")" '^runtime running' "the part runs" || exit 1
echo cuda >"$set"
has libraries 0 "no library is there" || exit 1

# A user's share
ok "a user maps 16 libraries" many greedy 1001 "$PWD/lib/libcuda.so.1" 16
has libraries 16 "all have probes"
is "$(stat_of left_out_too_many)" 0 "… none is left out"
left_out() { [ "$(stat_of left_out_too_many)" -gt "$1" ]; }
mkfifo ns.in ns.out
setpriv --reuid 1001 --regid 1001 --clear-groups unshare -U sh -c 'echo here; exec cat' <ns.in >ns.out &
pid[ns]=$!
exec {ns_in}>ns.in {ns_out}<ns.out
if read -rt 20 -u "$ns_out" line && echo "0 200000 65536" >"/proc/${pid[ns]}/uid_map" &&
	echo "0 200000 65536" >"/proc/${pid[ns]}/gid_map" && mkdir sub && chown 200005 sub; then
	mkfifo sub.in sub.out
	(cd sub && exec nsenter -U -t "${pid[ns]}" -S 5 -G 5 python3 "$GT_SRC/tests/lib/manylibs.py" \
		../lib/libcuda.so.1 libcuda.so 1) <sub.in >sub.out 2>sub.err &
	pid[sub]=$!
	exec {sub_in}>sub.in {sub_out}<sub.out
	ok "the user's subordinate id maps one" read -rt 20 -u "$sub_out" line
	ok "… which counts as the user's" wait_for 20 left_out 0
	is "$(stat_of libraries)" 16 "… and has no probes"
	finish_prog sub
else
	skip_ok "a subordinate id" "no user namespaces"
fi
had=$(stat_of left_out_too_many)
ok "the user maps another one" many greedier 1001 "$PWD/lib/libcuda.so.1" 1
ok "… which is one too many" wait_for 20 left_out "$had"
is "$(stat_of libraries)" 16 "… and has no probes"
finish_prog greedier
ok "another user maps one" many modest 1002 "$PWD/lib/libcuda.so.1" 1
has libraries 17 "… and it has probes"
finish_prog modest
finish_prog greedy
again
has libraries 0 "all are let go"

# All the room there is
full=0
for u in $(seq 16); do many "full$u" $((2000 + u)) "$PWD/lib/libcuda.so.1" 16 && full=$((full + 16)); done
is $full 256 "16 users map 16 libraries each"
ok "all have probes" wait_for 120 stat_is libraries 256
had=$(stat_of left_out_too_many)
ok "one more is mapped" many last 2017 "$PWD/lib/libcuda.so.1" 1
ok "… and counted" wait_for 20 left_out "$had"
is "$(stat_of libraries)" 256 "… and has no probes"
finish_prog full1
again
roomy() { [ "$(stat_of libraries)" = 241 ]; }
ok "where one user's are let go there is room for it" wait_for 120 roomy
for u in $(seq 2 16); do finish_prog "full$u"; done
finish_prog last
again
ok "all are let go" wait_for 120 stat_is libraries 0
ok "… and their probes are gone" wait_for 120 stat_is closing 0

# Files that are looked through in vain
ok "a user maps 40 files that have other functions" many vain 1003 names 40
has without_functions 32 "32 of them are looked through"
had=$(stat_of looks_at_all)
looked_more() { [ "$(stat_of looks_at_all)" -gt "$1" ]; }
again
ok "everything is looked at anew" wait_for 20 looked_more "$had"
is "$(stat_of without_functions)" 32 "… but none of those files again, nor more of theirs now"
ok "another user maps one" many vain2 1004 names 1
has without_functions 33 "… it is looked through"
cp lib/libcuda.so.1 vain2/libcuda.so.0
again
has libraries 1 "… and again once it has become another"
finish_prog vain
finish_prog vain2
again
has libraries 0 "what nobody maps any more goes"

# Floods
ok "a user's process" many flood 1005 names 1
had=$(stat_of processes_looked_at) had_all=$(stat_of looks_at_all) put_off=$(stat_of looks_put_off)
echo 50000 >&"${in[flood]}"
read -rt 120 -u "${out[flood]}" line
is "$line" "done" "maps a file 50000 times"
# All processes of the machine are looked at now and then, the longer it takes the more often
looks=$(($(stat_of processes_looked_at) - had)) all=$(($(stat_of looks_at_all) - had_all))
processes=$(ls -d /proc/[0-9]* | wc -l)
ok "it was not looked at each time: $looks looks, and all $processes $all times" \
	[ $((looks - 2 * all * processes)) -lt 2500 ]
ok "… as it was put off" [ "$(stat_of looks_put_off)" -gt "$put_off" ]
prog meanwhile "$PWD/lib/libcuda.so.1"
has libraries 1 "others are found"
tell meanwhile "cuLaunchKernel 7"
more LAUNCH 7 "… and reported"
finish_prog flood

# exec and fork
prog forks "$PWD/lib/libcuda.so.1" sh -c 'exec "$@"' sh
tell forks "fork cuLaunchKernel 5"
more LAUNCH 5 "a child's calls"
tell forks "exec $PWD/lib/libcuda.so.1"
tell forks "cuLaunchKernel 3"
more LAUNCH 3 "… and those after an exec"
finish_prog forks

held_tids=
hold_it() { # hold_it TID
	local in out
	rm -f hold.in hold.out
	mkfifo hold.in hold.out
	python3 "$GT_SRC/tests/lib/holdthread.py" "$1" <hold.in >hold.out &
	exec {in}>hold.in {out}<hold.out
	holds+=("$in")
	held_tids="$held_tids $1 "
	read -rt 20 -u "$out" && exec {out}<&-
}
free_one() { # the part's thread that is not held, when it is at rest
	[ "$(stat_of attaching) $(stat_of libraries)" = "0 1" ] || return
	for tid in $(grep -lx gt-runtimes /proc/"$(daemon)"/task/*/comm | cut -d/ -f5); do
		case $held_tids in *" $tid "*) ;; *) return 0 ;; esac
	done
	return 1
}

# Somebody is waited for
tid=$(grep -lx gt-runtimes /proc/"$(daemon)"/task/*/comm | cut -d/ -f5)
mkfifo hold.in hold.out
python3 "$GT_SRC/tests/lib/holdthread.py" "$tid" <hold.in >hold.out &
pid[hold]=$!
exec {held_in}>hold.in {held_out}<hold.out
if read -rt 20 -u "$held_out" line && [ "$line" = held ]; then
	ok "a setting is taken while its thread stands still" sh -c "echo hip >$set"
	is "$(stat_of attaching)" 1 "… and is under way"
	ok "after some seconds doctor tells" wait_for 60 grep -q 'runtime_stalled_s [0-9]' "$mnt/doctor"
	is "$(grep -cE 'runtime_stalled.* '"${pid[meanwhile]}"'$|runtime_stalled_at' "$mnt/doctor")" 0 "… not of whom: that is not for everybody"
	like "$(echo cuda 2>&1 >"$set")" "busy" "no other setting is taken: EBUSY"
	like "$(cat "$mnt/last_cmd_status")" "runtimes: .* for [0-9]+ s" "… with a sentence"
	is "$(cat "$set")" hip "… and it reads back what is under way"
	exec {held_in}>&-
	has attaching 0 "it goes on: the setting is in force"
	has libraries 0 "… which was hip"
	ok "the next is taken" sh -c "echo cuda >$set"
	has libraries 1 "… and in force"
	# Threads that are not done yet are left behind, and waited for by nobody
	for ((i = 0; i < 5; i++)); do
		wait_for 20 free_one && hold_it "$tid"
		echo off >"$mnt/config/level"
		echo normal >"$mnt/config/level"
	done
	like "$(cat "$mnt/backends/bpf/stats")" '^runtime running' "five of them are in nobody's way"
	is "$(stat_of threads_abandoned)" 5 "… and counted"
	for fd in "${holds[@]}"; do exec {fd}>&-; done
	holds=()
	none_left() { [ -z "$(stat_of threads_abandoned)" ]; }
	ok "… until they end" wait_for 60 none_left
	has libraries 1 "the last one does its work"
else
	skip_ok "a thread that stands still" "ptrace is not allowed"
fi
finish_prog meanwhile
umount_gt "$mnt"
done_testing
