#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# apt.sh PACKAGE... - installs what is missing, and starts no service. With OPTIONAL=1 only root does: others are
# shown what is missing, and go on without it.
set -eu

missing=
for p; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q ' installed$' || missing="$missing $p"
done
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
if ! { apt-get update -q && apt-get install -q -y --no-install-recommends $missing; } >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	rm -f "$log"
	exit 1
fi
rm -f "$log"
