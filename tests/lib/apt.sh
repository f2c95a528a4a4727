#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# apt.sh PACKAGE... - installs what is missing, and starts no service. With OPTIONAL=1 only root does: others are
# shown what is missing, and go on without it.
set -eu

look() { # look PACKAGE... - which are missing
	missing=
	for p; do
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q ' installed$' || missing="$missing $p"
	done
}

look "$@"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	if [ -n "${OPTIONAL-}" ]; then
		echo "  not installed, which root would do here:$missing"
		exit 0
	fi
	command -v sudo >/dev/null || {
		echo "gputrace: these packages are missing, and only root can install them:$missing" >&2
		exit 1
	}
	exec sudo "$0" "$@"
fi

# make -j has several at once, and apt-get fails where another is at work
exec 9>>/run/gputrace-apt.lock
flock 9
look "$@"
[ -n "$missing" ] || exit 0

# A package's scripts start services only if this program agrees: it does not
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	trap 'exit 1' HUP INT TERM # else dash would leave it behind
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
fi

export DEBIAN_FRONTEND=noninteractive
echo "  APT    $missing"
log=$(mktemp)
# shellcheck disable=SC2086 # a list
if ! { apt-get update -q && apt-get install -q -y -o DPkg::Lock::Timeout=600 --no-install-recommends $missing; } >"$log" 2>&1 9>&-; then
	tail -n 20 "$log" >&2
	rm -f "$log"
	exit 1
fi
rm -f "$log"
