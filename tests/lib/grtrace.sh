# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by cases that run in a guest, behind mockgpu.sh: grtrace.ko (backend/relay/kmod).
grt=/sys/kernel/debug/grtrace

grt_load() { # grt_load [PARAMETER=VALUE...] - traces nothing yet
	insmod "$GT_MODULES/grtrace.ko" "$@"
}

grt_set() { # grt_set FILE VALUE - a file of its own, or any
	case $1 in
	/*) echo "$2" >"$1" ;;
	*) echo "$2" >"$grt/$1" ;;
	esac
}

grt_read() { # grt_read FOLDER - adds what there is to FOLDER/events0 and so on
	local f
	mkdir -p "$1"
	for f in $grt/events[0-9]*; do cat "$f" >>"$1/${f##*/}"; done
}

grt_recorded() { # grt_recorded TYPE
	awk -v t="$1" '$1 == t { n = $3 } END { print n + 0 }' $grt/events_by_type
}
