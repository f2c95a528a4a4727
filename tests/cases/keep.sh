#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Settings survive a remount where the configuration says so, whatever ends the daemon; a file that cannot be
# used is refused, reported and left alone. And profiles.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

umask 077
mkdir kept
kept=$PWD/kept/settings
printf '[main]\nkeep = %s\n[trace]\nsampling = 90\n[backend sim]\nrate = 2000\n' "$kept" >conf
mounted() { mount_gt "$mnt" -o conf=conf,backend=sim "$@" || exit 1; }
set_to() { echo "$2" >"$mnt/config/$1"; }
now() { cat "$mnt/config/$1"; }

mounted
is "$(now sampling)" 90 "as configured"
ok "no file yet" test ! -e "$kept"
ok "a setting is changed" set_to aggregator_window 333
is "$(cat "$mnt/last_cmd_status")" ok "and kept"
is "$(stat -c '%a %u' "$kept")" "600 0" "in a file of root's"
set_to level verbose
set_to visibility owner
ok "what is refused is not" sh -c "! echo 99999 2>/dev/null >$mnt/config/aggregator_window"
is "$(grep -vc '^[[;]' "$kept")" 3 "three are kept"
umount_gt "$mnt"
mounted
is "$(now aggregator_window)" 333 "it is as it was"
is "$(now level)" "verbose" "… the others too"
is "$(now visibility)" "owner" "… all of them"
is "$(now sampling)" 90 "what was not changed is as configured"
is "$(value "$mnt/status" level)" verbose "the gate has it"
set_to aggregator_window 444
daemon=$(pgrep -f "mount.gputrace $mnt")
kill -KILL "$daemon"
wait_for 20 gone "$mnt"
umount -l "$mnt"
mounted -o level=stats
is "$(now aggregator_window)" 444 "after a crash, too"
is "$(now level)" "stats" "a mount option goes before"
ok "a profile" set_to profile debug
is "$(now sampling)" 100 "sets others"
is "$(now level)" "verbose" "… several"
umount_gt "$mnt"
mounted
is "$(now profile)" "debug" "a profile is kept"
is "$(now sampling)" 100 "… with what it sets"
set_to sampling 50
is "$(now profile)" "custom" "who changes one of them has a custom one"
set_to profile production
is "$(now profile) $(now sampling)" "production 10" "another"
umount_gt "$mnt"
rm "$kept"
cp conf plain
sed -i 's/^sampling = 90/profile = debug/' conf
mounted
set_to sampling 50
umount_gt "$mnt"
mounted
is "$(now profile) $(now sampling)" "custom 50" "the configuration's profile was left"
is "$(now level)" "verbose" "… what else it had set stays"
umount_gt "$mnt"
cp plain conf

refused() { # refused "what" WORDS: the mount goes on without
	before=$(md5sum <"$kept")
	mounted
	is "$(now sampling) $(now aggregator_window)" "90 1000" "$1: settings are as configured"
	like "$(cat "$mnt/doctor")" "keep: .*$2" "… doctor says why"
	set_to sampling 33
	is "$(now sampling)" 33 "… a setting can be changed"
	like "$(cat "$mnt/last_cmd_status")" "set, but not kept: keep: .*$2" "… and it is said that it is not kept"
	umount_gt "$mnt"
	is "$(md5sum <"$kept")" "$before" "… the file stays as it is"
}
echo 'sampling = ' >>"$kept"
refused "cut short" "sampling"
head -c 1000 /dev/urandom >"$kept"
refused "garbage" "$kept"
printf '[trace]\nsampling = 1\n' >"$kept"
chown 1000 "$kept"
refused "somebody else's" "belongs to uid 1000"
rm "$kept"
chmod 777 kept
mounted
like "$(cat "$mnt/doctor")" "keep: .*can be written by others" "a folder that others may write is none"
umount_gt "$mnt"
chmod 700 kept
mounted
set_to sampling 44
rm -r kept
set_to sampling 45
is "$(now sampling)" 45 "a folder that goes: the setting holds"
like "$(cat "$mnt/last_cmd_status")" "set, but not kept: $kept: No such file" "… and it is said"
umount_gt "$mnt"
done_testing
