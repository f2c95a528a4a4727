# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by each case: TAP, mounts that end with the case, waiting for conditions.
#
# When the first check fails, or the case ends before its last one, the log gets in lines that begin with "#|" what
# each mount says of itself: status, doctor, error_log and the state of its backends; and what was waited for.
set -u
tap_n=0 tap_py=0 tap_bad=0
mnt=$PWD/mnt

explained=
explain() { # a user's own mount nobody else may read, not even root
	local d uid as
	while read -r d uid; do
		[[ " $explained " != *" $d "* ]] || continue
		explained+=" $d"
		as="timeout 20"
		[ "$uid" = 0 ] || [ "$(id -u)" != 0 ] || as+=" setpriv --reuid=$uid --regid=$uid --clear-groups"
		! $as stat "$d" 2>&1 | grep -q "not connected" || echo "#| no daemon serves $d any more"
		$as sh -c 'cd "$1" && grep -s "" /dev/null status doctor error_log last_cmd_status \
			backends/*/state backends/*/last_error backends/*/stats backends/*/files' sh "$d" | sed 's/^/#| /; s/:/: /'
	done < <(sed -nE "s|^[^ ]+ ($PWD/[^ ]+) fuse.gputrace .*user_id=([0-9]+).*|\1 \2|p" /proc/mounts)
}

failed() { # a check that failed is counted; its number and name have been printed
	tap_bad=$((tap_bad + 1))
	explain
	return 1
}

# A check that fails is reported and counted, and returns 1: where nothing makes sense then, `|| exit 1`.
ok() { # ok "what" COMMAND...
	local what=$1
	shift
	tap_n=$((tap_n + 1))
	if "$@" >ok.out 2>&1; then
		echo "ok $tap_n - $what"
	else
		echo "not ok $tap_n - $what"
		sed 's/^/# /' ok.out | head -n 20
		failed
	fi
}

is() { # is "got" "wanted" "what"
	tap_n=$((tap_n + 1))
	if [ "$1" = "$2" ]; then
		echo "ok $tap_n - $3"
	else
		echo "not ok $tap_n - $3"
		printf '# got    "%s"\n# wanted "%s"\n' "$1" "$2"
		failed
	fi
}

like() { # like "got" "extended regular expression" "what" - one line of it
	local line
	tap_n=$((tap_n + 1))
	while IFS= read -r line; do
		[[ $line =~ $2 ]] && echo "ok $tap_n - $3" && return
	done <<<"$1"
	echo "not ok $tap_n - $3"
	printf '# got "%s"\n# not like /%s/\n' "$1" "$2" | head -n 20
	failed
}

unlike() { # unlike "got" "extended regular expression" "what" - no line of it
	local line
	tap_n=$((tap_n + 1))
	while IFS= read -r line; do
		[[ $line =~ $2 ]] || continue
		echo "not ok $tap_n - $3"
		printf '# got "%s"\n# like /%s/\n' "$line" "$2"
		failed
		return
	done <<<"$1"
	echo "ok $tap_n - $3"
}

skip() { # the whole case
	finished=1
	echo "skipped: $*"
	exit 77
}

skip_ok() { # one check: skip_ok "what" "why"
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # skip $2"
}

waiting=
exec {never}<> <(:) # a pipe that nobody writes to
wait_for() { # wait_for SECONDS COMMAND... - until it succeeds
	local end=$((SECONDS + $1)) limit=$1
	shift
	waiting=$*
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || {
			echo "waited $limit s for: $*"
			declare -f "$1"
			waiting=
			return 1
		}
		read -rt 0.02 -u "$never" || :
	done
	waiting=
}

# With a trap a shell that gets a signal to end lets its command end first, so that who waits for it waits for both.
again_and_again() { # again_and_again COMMAND... & - until it is killed
	trap exit TERM
	while :; do "$@"; done
}

mounts=()
mount_args= # options for every mount
mount_gt() { # mount_gt DIR [ARGUMENTS...]
	local dir=$1
	shift
	mkdir -p "$dir"
	"$GT_PROG" "$dir" "$@" ${mount_args:+-o "$mount_args"} || return
	mounts+=("$dir")
}

gone() { # no daemon serves DIR any more
	! pgrep -f "mount.gputrace $1( |\$)" >/dev/null
}

rescan() { # sources look for what has come; on a busy machine that may take longer than a write waits
	echo rescan >"$mnt/control" 2>/dev/null || true
}
umount_gt() { # others, who look at all mounts, make one busy
	wait_for 60 umount "$1" && wait_for 60 gone "$1"
}

finished=
finish() {
	local d
	[ -n "$finished" ] || {
		[ -z "$waiting" ] || echo "#| waiting for: $waiting"
		explain
	}
	for d in ${mounts[@]+"${mounts[@]}"}; do
		mountpoint -q "$d" && { umount "$d" 2>/dev/null || umount -l "$d"; }
		wait_for 20 gone "$d"
	done
	if declare -F cleanup >/dev/null; then cleanup; fi
}
trap finish EXIT

done_testing() {
	finished=1
	echo "1..$((tap_n + tap_py))"
	[ $tap_bad = 0 ]
	exit
}

python_checks() { # python_checks SCRIPT ARGUMENTS... - prints its TAP; `from tap import ok`. GT_PYTHON: what runs it
	PYTHONPATH=$GT_SRC/tests/lib PYTHONDONTWRITEBYTECODE=1 ${GT_PYTHON:-python3} "$@" >py.out 2>&1
	is $? 0 "$1"
	cat py.out
	tap_py=$((tap_py + $(grep -cE '^(not )?ok ' py.out)))
	! grep -q '^not ok' py.out || failed
}

value() { # value FILE KEY - of a flat-keyed file
	local k v
	while read -r k v _; do [ "$k" != "$2" ] || { echo "$v" && return; }; done <"$1"
}

count_rows() { # count_rows FILE - of a table, without the line of its columns
	tail -n +2 "$1" | wc -l
}

stage() { # stage LATENCY STAGE KEY
	awk -v s="$2" -v k="$3" 'NR == 1 { while ($++i != k && i < NF); } $1 == s { print $i }' "$1"
}

as_uid() { # as_uid UID COMMAND...
	local uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

as_user() { # as_user COMMAND... - as an ordinary user
	as_uid 65534 "$@"
}

is_root() { [ "$(id -u)" = 0 ]; }
