#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# run.sh [NAME...] - runs every unit test and every executable case, or those whose name holds a NAME;
# then the cases of tests/vm in a guest for each of Debian's kernels (--guests: only these).
#
# UNITS and CASES are the folders; in a guest CASES is tests/vm/cases. KERNEL=6.1 boots only the
# kernels whose release begins so.
#
# Cases that say "# Beside others" in a line of their own run beside all others: they have long work to do
# for one CPU, and use nothing that the machine has once. Those that say "# Early" begin before others, so
# that two guests that share the cases out end at about the same time. Those that say "# One kernel" are left
# out where AGAIN is set, as it is in the guests of all kernels but the first; what a case leaves out then it
# says itself.
#
# A test prints TAP, runs in a folder of its own, and may take TIME_LIMIT seconds. It fails if it says
# so, exits with anything but 0 or 77 (skipped: its last line says why), writes a sanitizer's report, or
# leaves a mount, a process or a tracefs instance behind.
set -u

cd "$(dirname "$0")/.." || exit 1
export GT_SRC=$PWD
export GT_OUT
GT_OUT=$(readlink -f "${O:-.output}")
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH # Debian's python3, not one that was put before it
export GT_PROG=$GT_OUT/sbin/mount.gputrace
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
limit=${TIME_LIMIT:-300}
work=$(mktemp -d "${TMPDIR:-/tmp}/gputrace-test.XXXXXX")
passed=0 failed=0 skipped=0 beside= lane=
counts='^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$'

wanted() {
	local w
	[ ${#names[@]} -eq 0 ] && return 0
	for w in "${names[@]}"; do [[ $1 == *$w* ]] && return 0; done
	return 1
}

claimed() { # by us: CLAIMS is a folder that two runs share, and each takes what the other has not
	[ -z "${CLAIMS-}" ] || mkdir "$CLAIMS/$1" 2>/dev/null
}

# Other daemons may be at work here (make demo's, a second run of this): ours mount below $work, and
# an instance is named after its daemon, so that one without a daemon was left behind.
orphans() {
	local i
	for i in /sys/kernel/tracing/instances/gputrace-*; do
		[ -d "$i" ] && [ ! -d "/proc/${i##*-}" ] && echo "$i"
	done
}

at_work() { # whose current folder is $1, or below it
	find /proc -maxdepth 2 -path '/proc/[0-9]*/cwd' \( -lname "$1" -o -lname "$1/*" \) 2>/dev/null | cut -d/ -f3
}

leftovers() { # below $1, and instances but for $2, which were there before
	grep -F "$1/" /proc/mounts
	pgrep -f "mount\.gputrace .*$1/" | sed 's/^/process /'
	at_work "$1" | sed 's/^/process in its folder: /'
	[ -z "$beside" ] || return # those are the others'
	orphans | grep -vxF "${2:-none}"
	grep -sF "$GT_OUT/" /sys/kernel/tracing/uprobe_events
}

clean() { # the same
	local m
	pkill -KILL -f "mount\.gputrace .*$1/" 2>/dev/null
	at_work "$1" | xargs -r kill -KILL 2>/dev/null
	grep -F "$1/" /proc/mounts | while read -r _ m _; do umount -l "$m" 2>/dev/null; done
	[ -z "$beside" ] || return
	orphans | grep -vxF "${2:-none}" | xargs -r rmdir 2>/dev/null
	# or the next tests would be said to have left them
	grep -sF "$GT_OUT/" /sys/kernel/tracing/uprobe_events | sed -n 's/^[pr]:\([^ ]*\) .*/-:\1/p' | sort -u |
		while read -r m; do echo "$m" >>/sys/kernel/tracing/uprobe_events; done
}

run() {
	local name=$1 dir=$work/$1 log rc left before ok not skip began=$SECONDS
	shift
	before=$(orphans)
	mkdir -p "$dir"
	chmod 755 "$work" "$dir"
	log=$dir/log
	(cd "$dir" && TMPDIR=$dir exec timeout -k 10 "$limit" "$@") >"$log" 2>&1 </dev/null
	rc=$?
	for _ in {1..30}; do # who was told to end may not have done so yet
		left=$(leftovers "$dir" "$before")
		[ -n "$left" ] || break
		sleep .1
	done
	ok=$(grep -cE '^ok ' "$log")
	skip=$(grep -cE '^ok .*# skip' "$log")
	not=$(grep -cE '^not ok ' "$log")
	if [ $rc = 77 ]; then
		skipped=$((skipped + 1))
		printf 'skipped %-24s %s\n' "$name" "$(grep -m1 '^skipped: ' "$log")"
		return
	fi
	if [ $rc = 124 ] || [ $rc = 137 ]; then echo "# took more than $limit s" >>"$log"; fi
	if [ $rc != 0 ] && [ "$not" = 0 ]; then not=1; fi
	if grep -qE 'Sanitizer|runtime error:' "$log" "$dir"/*.san* 2>/dev/null; then
		echo "# a sanitizer reported" >>"$log"
		not=$((not + 1))
	fi
	if [ -n "$left" ]; then
		printf '# left behind: %s\n' "$left" >>"$log"
		not=$((not + 1))
		clean "$dir" "$before"
	fi
	passed=$((passed + ok - skip)) failed=$((failed + not)) skipped=$((skipped + skip))
	if [ "$not" = 0 ]; then
		printf "passed  %-24s %d checks, %d s\n" "$name" "$((ok - skip))" $((SECONDS - began))
		grep -E '^(# bench|# measured|ok .*# skip)' "$log"
	else
		printf 'FAILED  %-24s %d of %d checks, exit %d\n' "$name" "$not" "$((ok + not))" "$rc"
		grep -E -A3 '^not ok|Sanitizer|^# ' "$log" | head -n 60
		[ "$ok" = 0 ] && tail -n 20 "$log"
	fi
}

count() { # of what was run elsewhere: $1 is what that printed
	local p f s
	while read -r p _ f _ s _; do
		passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	done < <(grep -E "$counts" "$1")
}

# Where nobody has mounted tracefs, it is there for the time of the tests
tracing=/sys/kernel/tracing mounted=
if [ "$(id -u)" = 0 ] && [ -d $tracing ] && [ ! -e $tracing/uprobe_events ]; then
	mount -t tracefs tracefs $tracing && mounted=$tracing
fi

# One kernel's guest: what it says is shown, and its counts are ours
guest() { # release
	local dir=$work/vm-$1 rc before=$failed
	mkdir -p "$dir"
	echo "guest $1:"
	O=$GT_OUT GT_SHARE=$dir TMPDIR=$dir AGAIN=$again tests/vm/run.sh "$1" ${names[@]+"${names[@]}"} >"$dir/log" 2>&1
	rc=$?
	grep -vE "$counts" "$dir/log" | sed 's/^/  /'
	count "$dir/log"
	[ $rc != 0 ] || again=1 # only what ran to its end has run once
	[ $rc = 0 ] || [ $failed -gt "$before" ] || failed=$((failed + 1)) # none that was counted
	true
}

guests() {
	local c some= release kernels booted= again=
	for c in "$GT_SRC"/tests/vm/cases/*.sh; do [ -x "$c" ] && wanted "$(basename "$c")" && some=1; done
	[ -n "$some" ] || return 0
	if ! kernels=$(tests/vm/fetch.sh "$GT_OUT/vm" 2>"$work/fetch.log"); then
		failed=$((failed + 1))
		echo "FAILED  guests: their kernels could not be fetched"
		tail -n 5 "$work/fetch.log"
	fi
	for release in $kernels; do
		case $release in "${KERNEL:-}"*) guest "$release" && booted=1 ;; esac
	done
	if [ -n "$kernels" ] && [ -z "$booted" ]; then
		failed=$((failed + 1))
		echo "FAILED  guests: no kernel's release begins with KERNEL=$KERNEL; there are:" $kernels
	fi
}

only_guests=
if [ "${1-}" = --guests ]; then only_guests=1 && shift; fi
names=("$@")
before=$(orphans)
trap '[ -z "$lane" ] || pkill -P "$lane"; clean "$work" "$before"; rm -rf --one-file-system "$work"; [ -z "$mounted" ] || umount "$mounted"' EXIT
cases() { # those that run beside others ($1: 0), or those that do not (1)
	local t
	# shellcheck disable=SC2046
	for t in $(cd "${CASES-tests/cases}" && grep -l '^# Early' ./*.sh; grep -L '^# Early' ./*.sh); do
		t=${CASES-tests/cases}/${t#./}
		[ -x "$t" ] && wanted "$(basename "$t")" || continue
		grep -q '^# Beside others' "$t"
		[ $? = "$1" ] || continue
		claimed "$(basename "$t")" || continue
		if [ -n "${AGAIN-}" ] && grep -q '^# One kernel' "$t"; then
			echo "left out $(basename "$t" .sh): it ran on another kernel"
			continue
		fi
		run "$(basename "$t" .sh)" "$(readlink -f "$t")"
	done
}

if [ -z "$only_guests" ]; then
	(
		trap - EXIT
		beside=y limit=$((2 * limit))
		cases 0
		echo "$passed passed, $failed failed, $skipped skipped"
	) >"$work/beside" &
	lane=$!
	for t in "${UNITS-$GT_OUT/tests}"/test_*; do
		[ -x "$t" ] && [ "${t%.d}" = "$t" ] && wanted "$(basename "$t")" && run "$(basename "$t")" "$t"
	done
	cases 1
	wait "$lane"
	lane=
	grep -vE "$counts" "$work/beside"
	count "$work/beside"
fi
[ -n "${GT_GUEST-}" ] || guests
if [ $((passed + failed + skipped)) = 0 ] && [ -z "${CLAIMS-}" ]; then
	echo "no test's name holds: ${names[*]-}"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && { [ $((passed + skipped)) -gt 0 ] || [ -n "${CLAIMS-}" ]; }
