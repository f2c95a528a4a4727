#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# run.sh [--check|--long|--guests] [NAME...] - runs the unit tests and the executable cases of tests/cases, but for
# those with a line "# Long"; with NAMEs those with one of them in their name, or of the name N for =N.
#
#	--check		the unit tests, and the cases with a line "# Quick"
#	--long		the cases with a line "# Long"
#	--guests	the cases of tests/vm, in guests of four kernels. KERNEL=6.17 boots that kernel instead, and
#			KERNEL="6.12-rt 7" two: tests/vm/fetch.sh lists them
#
# UNITS and CASES are the folders; in a guest CASES is tests/vm/cases.
#
# Two tests run at a time where there are two CPUs (LANES=1: one). Lines of its own in a case say more:
#
#	# Long		a part of --long only, in guests of all runs: takes long, and may take twice TIME_LIMIT
#	# Early		begins before others, so that two guests that share the cases out end together
#	# Alone		uses what the machine has once: no other such test, of another run either, is at work then
#	# Quick		a part of --check: takes a few seconds, and needs no other user
#	# One kernel	left out where AGAIN is set, as it is in the guests of all kernels but the first; what a
#			case leaves out then it says itself
#
# A unit test is alone if it uses tests/lib/tracefs.h.
#
# A test prints TAP, runs in a folder of its own, and may take TIME_LIMIT seconds. It fails if it says
# so, exits with anything but 0 or 77 (skipped: its last line says why), ends without the plan `1..N` or with
# another number of checks, writes a sanitizer's report, or
# leaves a mount, a process, a tracefs instance or a probe behind. What others on this machine have, another
# run of this too, is not looked at: processes are ours by descent (tests/tools/reap.c), instances are named
# after their daemon's pid, and probes after GT_ID, which each test has its own of.
set -u

cd "$(dirname "$0")/.." || exit 1
mode=test
case ${1-} in
--check | --long | --guests) mode=${1#--} && shift ;;
esac
case ${1-} in
-*) echo "run.sh: $1: --check, --long or --guests comes first, alone" >&2 && exit 2 ;;
esac
export LC_ALL=C.UTF-8 # tests compare what ls, cat and awk print
export GT_SRC=$PWD
export GT_OUT
GT_OUT=$(readlink -f "${O:-.output}")
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH # Debian's python3, not one that was put before it
export GT_PROG=$GT_OUT/sbin/mount.gputrace
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
limit=${TIME_LIMIT:-900} # ten times what the longest takes where nothing else runs
began=${BEGAN:-$(date +%s)}
reap=$GT_OUT/tests/tools/reap
[ -x "$reap" ] || { echo "run.sh: $reap is not built: make tools" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/gputrace-test.XXXXXX") || exit 1
case $GT_SRC$GT_OUT$work in *[[:space:]]*)
	echo "run.sh: $GT_SRC, $GT_OUT or $work has a blank in its path, which make cannot handle" >&2
	rmdir "$work"
	exit 2
	;;
esac
chmod 755 "$work"
if [ "$(id -u)" = 0 ] && [ -z "${GT_GUEST-}" ] && ! setpriv --reuid=65534 --regid=65534 --clear-groups test -r "$work"; then
	echo "run.sh: tests of other users need a folder that they may enter: TMPDIR=/tmp, not ${work%/*}" >&2
	rmdir "$work"
	exit 2
fi
mkdir "$work/claims" "$work/now"
: >"$work/counts" >"$work/failures" >"$work/reasons" >"$work/ran" >"$work/shown"
passed=0 failed=0 skipped=0 lanes=()
counts='^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$'
tracing=/sys/kernel/tracing
[ $mode != guests ] || export STRESS_SECONDS=${STRESS_SECONDS:-24}
target=test
case $mode in
check) target=check ;;
long) target=test-long ;;
guests) target=test-vm ;;
esac
names=("$@")
# What else make was called with, to be said again
options=
[ "${O:-.output}" = .output ] || options+=" O=$O"
[ "${CC:-cc}" = cc ] || options+=" CC=$CC"
for v in SAN COVERAGE; do [ -z "${!v-}" ] || options+=" $v=${!v}"; done

wanted() { # wanted FILE
	local w name=${1##*/}
	[ ${#names[@]} -eq 0 ] && return 0
	for w in "${names[@]}"; do
		case $w in
		=*) [ "${name%.sh}" != "${w#=}" ] || return 0 ;;
		*) [[ $name != *$w* ]] || return 0 ;;
		esac
	done
	return 1
}

# Two lanes take from one list, each what the other has not; CLAIMS is a folder that two guests share
claimed() { mkdir "${CLAIMS:-$work/claims}/$1" 2>/dev/null; }

# Where it goes ------------------------------------------------------------------------------

# On a terminal the last line says what runs now. Both lanes write.
show() { # show [FILE] - its text, above that line
	(
		flock 9
		[ ! -t 1 ] || printf '\r\033[K'
		[ $# = 0 ] || tee -a "$work/shown" <"$1"
		[ -t 1 ] || exit 0
		local now
		now=$(cat "$work"/now/* 2>/dev/null | xargs)
		[ -z "$now" ] || printf '%.*s' $((columns - 1)) "running: $now"
	) 9>"$work/terminal"
}
columns=80
[ ! -t 1 ] || columns=$(stty size <&1 2>/dev/null | cut -d' ' -f2)
[ "${columns:-0}" -gt 20 ] || columns=80

# The logs of tests that fail stay, those of the last ten such runs. A guest's go through the folder it shares.
logs=${GT_SHARE:+$GT_SHARE/logs}
logs=${logs:-$GT_OUT/logs/$(date +%Y%m%d-%H%M%S)-$$}
keep_log() { # keep_log NAME FILE
	mkdir -p "$logs" 2>/dev/null && cp "$2" "$logs/$1.log" 2>/dev/null
	# shellcheck disable=SC2012 # names are ours
	[ -n "${GT_SHARE-}" ] || ls -d "$GT_OUT"/logs/* 2>/dev/null | head -n -10 | xargs -r rm -rf
}

count() { # of what was run elsewhere: $1 is what that printed, $2 the kernel's release
	local p f s name
	while read -r p _ f _ s _; do
		passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	done < <(grep -E "$counts" "$1")
	sed -n 's/^FAILED  \([^ ]*\) .*/\1/p' "$1" | while read -r name; do
		echo "$name make test-vm KERNEL=${2-} T=$name"
		[ ! -e "$(dirname "$1")/logs/$name.log" ] || keep_log "$name.${2-}" "$(dirname "$1")/logs/$name.log"
		awk -v name="$name" '/^(FAILED|passed|skipped)/ { on = $1 == "FAILED" && $2 == name }
			on && /^not ok/' "$1" | head -n 3 | sed "s/^/$name on ${2-}: /" >>"$work/reasons"
	done >>"$work/failures"
}

# What a test leaves behind -------------------------------------------------------------------

instances() { # of daemons that are no more; $1 is what reap wrote
	local what pid _
	while read -r what pid _; do
		[ "$what" != cpu ] && [ -d "$tracing/instances/gputrace-$pid" ] && [ ! -d "/proc/$pid" ] &&
			echo "$tracing/instances/gputrace-$pid"
	done <"$1"
}

probes() { # names of a test's, by its id
	[ -r $tracing/uprobe_events ] && sed -n "s/^[pr]:\([^ ]*_$1\/[^ ]*\) .*/\1/p" $tracing/uprobe_events | sort -u
}

running() { # processes, without those that have ended in the meantime
	local what pid _
	while read -r what pid _; do
		[ "$what" != runs ] || [ ! -d "/proc/$pid" ] || echo "$pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
	done <"$1" 2>/dev/null
}

leftovers() { # leftovers FOLDER REAPED ID
	grep -F "$1/" /proc/mounts
	pgrep -f "mount\.gputrace .*$1/" | sed 's/^/process /'
	running "$2" | sed 's/^/process /'
	instances "$2"
	probes "$3"
}

at_work() { # whose current folder is $1, or below it
	find /proc -maxdepth 2 -path '/proc/[0-9]*/cwd' \( -lname "$1" -o -lname "$1/*" \) 2>/dev/null | cut -d/ -f3
}

crashed() { # daemons and others that did not end by themselves, nor because they should; $1 is what reap wrote
	sed -nE 's/^ended ([0-9]+) (4|6|7|8|11|31)$/# process \1 was ended by signal \2/p' "$1"
}

clean() { # clean FOLDER [REAPED ID]
	local m
	pkill -KILL -f "mount\.gputrace .*$1/" 2>/dev/null
	at_work "$1" | xargs -r kill -KILL 2>/dev/null
	[ $# = 1 ] || running "$2" | cut -d' ' -f1 | xargs -r kill -KILL 2>/dev/null
	grep -F "$1/" /proc/mounts | while read -r _ m _; do umount -l "$m" 2>/dev/null; done
	[ $# -gt 1 ] || return
	instances "$2" | xargs -r rmdir 2>/dev/null
	for m in $(probes "$3"); do echo "-:$m" >>$tracing/uprobe_events; done 2>/dev/null
}

# Running ------------------------------------------------------------------------------------

# What the machine has once is used by one test at a time, of all runs
machine=/run/gputrace-tests.lock
[ "$(id -u)" = 0 ] && : 2>/dev/null >>$machine || machine=$work/machine.lock

alone() { # alone FILE
	case $1 in
	*.sh) grep -q '^# Alone' "$1" ;;
	*) grep -qsE 'lib/(tracefs|mockrun)\.h' "$GT_SRC/tests/unit/$(basename "$1").c" ;;
	esac
}

# What our caller, or we, have open is no test's. Without a redirection: the shell keeps what that replaces in a
# descriptor that would be closed as well, and the test would have no standard error.
close_all() {
	local fd
	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		[ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
	done
}

run() { # run NAME FILE LANE
	local name=$1 file=$2 lane=$3 dir=$work/$1 log=$work/$1/log reaped=$work/reaped.$3 out=$work/out.$3
	local i max=$limit rc left ok not plan skip cpu start turn=()
	local -x GT_ID=$$_$lane$((ran += 1))
	mkdir -p "$dir"
	chmod 755 "$dir"
	case $file in *.sh) ! grep -q '^# Long' "$file" || max=$((2 * limit)) ;; esac
	if alone "$file"; then turn=(flock -o "$machine"); fi
	echo "$name" >"$work/now/$lane"
	show
	: >"$reaped"
	echo "$dir $reaped $GT_ID" >"$work/at.$lane"
	start=$SECONDS
	(close_all; cd "$dir" && TMPDIR=$dir exec ${turn[@]+"${turn[@]}"} timeout -k 30 "$max" "$reap" "$reaped" "$file") \
		>"$log" 2>&1 </dev/null
	rc=$?
	for ((i = 0; i < ${LINGER:-15} * 10; i++)); do # a process that is ending needs time on a busy machine
		left=$(leftovers "$dir" "$reaped" "$GT_ID")
		[ -n "$left" ] || break
		sleep .1
	done
	ok=$(grep -cE '^ok ' "$log")
	skip=$(grep -cE '^ok .*# skip' "$log")
	not=$(grep -cE '^not ok ' "$log")
	if [ $rc = 77 ]; then
		ok=1 skip=1 not=0
	elif [ $rc != 0 ] && [ "$not" = 0 ]; then
		not=1
	fi
	plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$log" | tail -n 1)
	if [ $rc = 0 ] && [ "${plan:-none}" != $((ok + not)) ]; then
		echo "# planned: ${plan:-nothing}, but $((ok + not)) checks ran" >>"$log"
		not=$((not + 1))
	fi
	if [ $rc = 124 ] || [ $rc = 137 ]; then
		echo "# took more than $max s" >>"$log"
	elif [ $rc != 0 ] && [ $rc != 77 ] && ! grep -q '^not ok' "$log"; then
		echo "# ended with $rc$([ $rc -le 128 ] || echo ", by SIG$(kill -l $((rc - 128)))"), after $ok checks" >>"$log"
	fi
	[ "$not" = 0 ] || crashed "$reaped" >>"$log"
	if grep -qE 'Sanitizer|runtime error:' "$log" "$dir"/*.san* 2>/dev/null; then
		echo "# a sanitizer reported" >>"$log"
		not=$((not + 1))
	fi
	if [ -n "$left" ]; then
		echo "$left" | sed 's/^/# left behind: /' >>"$log"
		not=$((not + 1))
		clean "$dir" "$reaped" "$GT_ID"
	fi
	echo "$((ok - skip)) passed, $not failed, $skip skipped" >>"$work/counts"
	if [ "$not" != 0 ]; then
		printf 'FAILED  %-24s %d of %d checks, %d s, exit %d\n' "$name" "$not" "$((ok + not))" $((SECONDS - start)) "$rc"
		grep -E -A3 '^not ok|Sanitizer|^# ' "$log" | head -n 60
		[ "$ok" != 0 ] || tail -n 20 "$log"
		echo "$name make $target T==$name$options" >>"$work/failures"
		keep_log "$name" "$log"
		grep -E '^not ok|Sanitizer|^# (left behind|took more|planned|ended with|process .* was ended)' "$log" | head -n 3 | sed "s/^/$name: /" >>"$work/reasons"
	elif [ $rc = 77 ]; then
		printf 'skipped %-24s %s\n' "$name" "$(grep -E '^skipped: ' "$log" | tail -n 1 | cut -c10-)"
	else
		cpu=$(sed -n 's/^cpu //p' "$reaped")
		printf 'passed  %-24s %d checks, %d s, %d.%d of CPU\n' "$name" "$((ok - skip))" $((SECONDS - start)) \
			$((${cpu:-0} / 1000)) $((${cpu:-0} / 100 % 10))
		grep -E '^(# bench|# measured|ok .*# skip)' "$log"
	fi >"$out"
	: >"$work/now/$lane"
	echo "$name $lane $start $SECONDS" >>"$work/ran"
	show "$out"
	[ "$not" != 0 ] || rm -rf --one-file-system "$dir"
}

# One kernel's guest: what it says is shown, and its counts are ours
guest() { # release
	local dir=$work/vm-$1 rc before=$failed
	mkdir -p "$dir"
	echo "guest $1:" | tee -a "$work/shown"
	O=$GT_OUT GT_SHARE=$dir TMPDIR=$dir AGAIN=$again tests/vm/run.sh "$1" ${names[@]+"${names[@]}"} >"$dir/log" 2>&1
	rc=$?
	grep -vE "$counts" "$dir/log" | sed 's/^/  /' | tee -a "$work/shown"
	count "$dir/log" "$1"
	[ $rc != 0 ] || again=1 # only what ran to its end has run once
	if [ $rc != 0 ] && [ $failed = "$before" ]; then # no test's failure: the guest's own
		failed=$((failed + 1))
		echo "guest-$1 make test-vm KERNEL=$1" >>"$work/failures"
		keep_log "guest-$1" "$dir/log"
		grep -hE '^(run|boot)\.sh: ' "$dir/log" | sed "s/^/guest-$1: /" >>"$work/reasons"
	fi
}

guests() {
	local c some= release kernel again=
	for c in "$GT_SRC"/tests/vm/cases/*.sh; do [ -x "$c" ] && wanted "$c" && some=1; done
	[ -n "$some" ] || return
	for kernel in ${KERNEL:-6.1 6.12 6.18 7}; do
		if release=$(tests/vm/fetch.sh "$GT_OUT/vm" "$kernel" 2>"$work/fetch.log"); then
			guest "$release"
		else
			failed=$((failed + 1))
			echo "FAILED  guests: no kernel $kernel:"
			grep -v '^Get:\|^Fetched' "$work/fetch.log" | tail -n 5
		fi
	done
}

# Where nobody has mounted tracefs, it is there for the time of the tests: until the last run has ended
mount_tracefs() {
	[ "$(id -u)" = 0 ] && [ -d $tracing ] || return
	exec 7>>"$machine.users" && flock -s 7
	if [ ! -e $tracing/uprobe_events ]; then
		mount -t tracefs tracefs $tracing && echo mounted >&7
	fi
}
umount_tracefs() {
	{ flock -n 7; } 2>/dev/null || return # others are at work
	[ ! -s "$machine.users" ] || umount $tracing 2>/dev/null || return # busy: the next run does it
	: >"$machine.users"
}

# The run was interrupted: tests that are at work end as those do that take too long
end_tests() {
	local p i at
	kill -KILL "${lanes[@]}"
	wait "${lanes[@]}"
	for p in $(at_work "$work"); do [ "$(cat "/proc/$p/comm")" != timeout ] || kill "$p"; done
	for ((i = 0; i < 300; i++)); do
		[ -n "$(at_work "$work")" ] || break
		sleep .1
	done
	for at in "$work"/at.*; do
		# shellcheck disable=SC2046 # FOLDER REAPED ID
		[ ! -s "$at" ] || clean $(cat "$at")
	done
}

finish() {
	trap '' INT TERM
	[ ${#lanes[@]} = 0 ] || { end_tests; } 2>/dev/null
	clean "$work"
	rm -rf --one-file-system "$work"
	umount_tracefs
	[ ! -t 1 ] || printf '\r\033[K'
}

of_this_mode() { # of_this_mode CASE
	case $mode in
	check) grep -q '^# Quick' "$1" ;;
	long) grep -q '^# Long' "$1" ;;
	*) [ -n "${GT_GUEST-}" ] || ! grep -q '^# Long' "$1" ;;
	esac
}

cases() { # files, those that begin early first
	local t
	# shellcheck disable=SC2046
	for t in $(cd "${CASES-tests/cases}" && grep -l '^# Early' ./*.sh; grep -L '^# Early' ./*.sh); do
		t=${CASES-tests/cases}/${t#./}
		[ -x "$t" ] && wanted "$t" && of_this_mode "$t" || continue
		if [ -n "${AGAIN-}" ] && grep -q '^# One kernel' "$t"; then
			echo "left out $(basename "$t" .sh): it ran on another kernel" >&2
			continue
		fi
		readlink -f "$t"
	done
}

units() {
	local t
	[ $mode != long ] || return
	for t in "${UNITS-$GT_OUT/tests}"/test_*; do
		# a program without its source was built before that was removed
		[ -n "${UNITS-}" ] || [ -e "$GT_SRC/tests/unit/${t##*/}.c" ] || continue
		[ -x "$t" ] && wanted "$t" && echo "$t"
	done
}

lane() { # lane NUMBER FILE... - each that the other has not begun
	local number=$1 t ran=0
	shift
	for t; do
		! claimed "$(basename "$t")" || run "$(basename "$t" .sh)" "$t" "$number"
	done
}

# What is said at the end ---------------------------------------------------------------------

beside() { # beside NAME - that test, and what ran in the other lane meanwhile
	awk -v name="$1" '{ lane[$1] = $2; from[$1] = $3; to[$1] = $4 }
		END { printf "=%s", name
			for (t in lane) if (lane[t] != lane[name] && from[t] <= to[name] && to[t] >= from[name]) printf " =%s", t }' \
		"$work/ran"
}

# Each case that took a second or more, the longest first
seconds() {
	sed -nE 's/^ *(passed|FAILED) +([^ ]+) .* checks, ([0-9]+) s,.*/\3 \2 \1/p; s/^guest (.*):$/guest \1/p' "$1" |
		awk '$1 == "guest" { kernel = $2; next } $1 > 0 { print $1, $2, $3, kernel }' | sort -rn |
		awk 'NR == 1 { printf "\n%8s  %-8s %s\n", "seconds", "result", "case" } { printf "%8d  %-8s %s %s\n", $1, $3, $2, $4 }'
}

report() {
	local name how checkout took=$(($(date +%s) - began))
	case $mode in long | guests) seconds "$work/shown" ;; esac
	if [ -s "$work/failures" ]; then
		echo
		echo "Failed, and how to run each again:"
		while read -r name how; do
			printf '  %-24s %s\n' "$name" "$how"
			[ $mode = guests ] || [ "$(beside "$name")" = "=$name" ] ||
				printf '  %-24s %s\n' "  as it ran" "make $target T='$(beside "$name")'$options"
		done <"$work/failures"
		[ ! -d "$logs" ] || echo "Their logs are in $logs"
		# A log's last lines are often all that is left of it
		head -n 15 "$work/reasons" | cut -c1-200 | sed 's/^/  /'
	fi
	[ $mode = test ] && [ ${#names[@]} = 0 ] && [ -z "${CASES-}" ] || return
	echo "$((took / 60)) min $((took % 60)) s${BEGAN:+, building included}"
	# Of a linked worktree too this is in the main one
	checkout=$(git -c safe.directory="$GT_SRC" rev-parse --path-format=absolute --git-common-dir 2>/dev/null) || return
	mkdir -p "${checkout%/.git}/.output" && {
		echo "${tested% *}"
		[ "$(tree)" = "$tested" ] && echo "${tested#* }" || echo modified
		echo "$passed passed, $failed failed, $skipped skipped, $took seconds"
	} >"${checkout%/.git}/.output/last-test"
}

tree() { # the commit, and whether there are changes
	echo "$(git -c safe.directory="$GT_SRC" rev-parse HEAD 2>/dev/null)" \
		"$([ -z "$(git -c safe.directory="$GT_SRC" status --porcelain 2>/dev/null)" ] && echo clean || echo modified)"
}
tested=$(tree)

mount_tracefs
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
if [ $mode != guests ]; then
	mapfile -t all < <(cases; units)
	# The first lane begins with those that take turns: else both would come to one at a time, and one wait
	mapfile -t turns < <(for t in ${all[@]+"${all[@]}"}; do ! alone "$t" || echo "$t"; done)
	mapfile -t free < <(for t in ${all[@]+"${all[@]}"}; do alone "$t" || echo "$t"; done)
	both=2
	[ "$(nproc)" -gt 1 ] && [ -z "${GT_GUEST-}" ] || both=1
	(trap - EXIT; lane 1 ${turns[@]+"${turns[@]}"} ${free[@]+"${free[@]}"}) &
	lanes+=($!)
	if [ "${LANES:-$both}" != 1 ]; then
		(trap - EXIT; lane 2 ${free[@]+"${free[@]}"} ${turns[@]+"${turns[@]}"}) &
		lanes+=($!)
	fi
	wait "${lanes[@]}"
	lanes=()
	count "$work/counts"
fi
[ $mode != guests ] || guests
if [ $((passed + failed + skipped)) = 0 ] && [ -z "${CLAIMS-}" ]; then
	echo "no test of make $target has a name with: ${names[*]-}"
	for t in "${CASES-tests/cases}"/*.sh; do
		[ $mode = guests ] || ! wanted "$t" || ! grep -q '^# Long' "$t" || echo "$(basename "$t" .sh) is one of make test-long"
	done
fi
[ -n "${GT_GUEST-}" ] || report
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && { [ $((passed + skipped)) -gt 0 ] || [ -n "${CLAIMS-}" ]; }
