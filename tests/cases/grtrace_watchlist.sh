#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace's selftest of that name: white and black lists of rings and contexts, by number and name.
# Quick
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/simruns.sh"
is_root || skip "needs root to mount"

printf '[backend sim]\nrate = 50000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
# run LIST VALUE - rings with records, and those without, though they had jobs
run() {
	rest
	echo "$2" >"$mnt/config/$1"
	enough() { [ "$(awk 'NR > 1 && $6 > 300 { n++ } END { print n + 0 }' "$mnt/sampling_stats")" = 5 ]; }
	between enough
	echo "$(awk 'NR > 1 && $7 > 0 { sub("ring", "", $2); printf "%s", $2 }' "$mnt/sampling_stats")"
}
is "$(run watchlist "")" 01234 "no list: all rings"
is "$(run watchlist '!2')" 0134 "!2: all but"
is "$(run watchlist sim0/ring3)" 3 "a ring of one GPU"
is "$(run watchlist 'sim9/*')" "" "of a GPU that is not there: none"
is "$(value "$mnt/filter_stats" watchlist)" "$(value "$mnt/status" events_filtered)" "what is left out is counted"
is "$(total)" "$(awk '$1 == "COMPLETE" { print $2 }' "$mnt/events_by_type")" "statistics have every job all the same"
run watchlist "" >/dev/null
contexts() { awk 'NR > 1 { print $5 }' "$mnt/report" | sort -nu | tr '\n' ' '; }
run watchlist_ctx 3,9 >/dev/null
is "$(contexts)" "3 9 " "watchlist_ctx: only these"
run watchlist_ctx '!3' >/dev/null
ok "!3: all but it" sh -c "! awk 'NR > 1 && \$5 == 3' $mnt/report | grep -q ."
for bad in ',' '0,,1' '0,!1' '!' 'a b' 'x/y/z'; do
	is "$(bash -c "echo '$bad' >$mnt/config/watchlist" 2>&1 | grep -c "nvalid argument")" 1 "'$bad' is refused"
done
is "$(cat "$mnt/config/watchlist_ctx")" '!3' "what is refused changes nothing"
umount_gt "$mnt"
done_testing
