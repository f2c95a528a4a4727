#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Root, the owner of a process, and others: what each sees, as visibility is by default. Under other visibilities:
# config, namespaces and who_sees.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to become other users"

printf '[backend sim]\nrate = 5000\njobs = 2000\nusers = 3\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
done_jobs() { [ "$(awk '/^total/ { n += $2 } END { print n + 0 }' "$mnt"/sim0/ring*/latency)" = 2000 ]; }
ok "sim has done its jobs" wait_for 60 done_jobs

# blame is of the last seconds, so it is read first, by both while it stays the same
same_blame() {
	cat "$mnt/blame" >blame.root
	as_user cat "$mnt/blame" >blame.nobody
	cat "$mnt/blame" | cmp -s - blame.root
}
ok "blame is read" wait_for 60 same_blame

uids=$(for p in "$mnt"/proc/*; do stat -c %u "$p"; done | sort -u)
ok "processes of several users" [ "$(echo "$uids" | wc -l)" -gt 1 ]
one=$(echo "$uids" | head -n 1)
own=$(for p in "$mnt"/proc/*; do [ "$(stat -c %u "$p")" = "$one" ] && echo "${p##*/}"; done | head -n 1)
other=$(for p in "$mnt"/proc/*; do [ "$(stat -c %u "$p")" != "$one" ] && echo "${p##*/}"; done | head -n 1)
be() { setpriv --reuid "$one" --regid 65534 --clear-groups "$@"; }

ok "everybody reads a ring" be grep -q '^total  *[0-9]' "$mnt/sim0/ring0/latency"
ok "the owner reads the own process" be grep -q . "$mnt/proc/$own/comm"
ok "… not another's" sh -c "! setpriv --reuid $one --regid 65534 --clear-groups cat $mnt/proc/$other/comm 2>/dev/null"
is "$(stat -c %a "$mnt/proc/$other")" 550 "… whose mode says so"
rows() { awk 'NR > 1 { print $7 }' "$1" | sort | uniq -c | sort -rn; }
all=$(count_rows "$mnt/report")
is "$(be cat "$mnt/report" | tail -n +2 | wc -l)" "$all" "redacted: others' jobs are there"
is "$(be cat "$mnt/report" | awk 'NR > 1 && $7 != "-" { print $7 }' | sort -u | while read -r p; do stat -c %u "$mnt/proc/$p"; done | sort -u)" "$one" "… without their pids"
ok "root sees every pid" [ "$(awk 'NR > 1 && $7 == "-"' "$mnt/report" | wc -l)" = 0 ]
blamed() { awk 'NR > 1 { print $1; print $5 }' "$1" | grep -vx -e - | sort -u; }
is "$(blamed blame.nobody)" "" "redacted: nobody is blamed by name for others' waits"
is "$(be cat "$mnt/blame" >blame.one; blamed blame.one | while read -r p; do stat -c %u "$mnt/proc/$p"; done | grep -vx "$one")" "" "… nor waits, but the own processes"
is "$(grep -vc ' process ' blame.nobody)" "$(grep -vc ' process ' blame.root)" "… whose rows are there"
setpriv --reuid "$one" --regid 65534 --clear-groups cat "$mnt/events" >stream & reader=$! # names come with the header, though sim is done
named() {
	python3 -c "
import struct
d = open('stream', 'rb').read()
print(sorted({struct.unpack_from('<I', d, i + 36)[0] for i in range(0, len(d), 64) if d[i + 8] == 67}))"
}
some_named() { [ "$(named)" != "[]" ]; }
ok "a pipe names processes" wait_for 20 some_named
still() { # still FILE - nothing more has come to it for a while
	local size=$(stat -c %s "$1") _
	read -rt 0.3 -u "$never" _ || [ "$(stat -c %s "$1")" = "$size" ]
}
ok "… until all are" wait_for 20 still stream # another's name may be the last
kill $reader
wait $reader 2>/dev/null
is "$(named)" "[$one]" "a pipe names only the reader's own processes"
ok "settings are not everybody's" sh -c "! setpriv --reuid $one --regid 65534 --clear-groups sh -c 'echo 1 > $mnt/config/sampling' 2>/dev/null"
is "$(cat "$mnt/config/sampling")" 100 "… and stay"

# Totals of users
jobs_of() { for p in "$mnt"/proc/*; do [ "$(stat -c %u "$p")" = "$1" ] && value "$p/stats" completed; done | awk '{ n += $1 } END { print n + 0 }'; }
for uid in $uids; do
	is "$(value "$mnt/users/$uid/stats" completed)" "$(jobs_of "$uid")" "users/$uid counts what its processes did"
done
is "$(be ls "$mnt/users" | xargs)" "$one" "a user sees the own total"
is "$(be cat "$mnt/users/$one/stats")" "$(cat "$mnt/users/$one/stats")" "… whole"
like "$(be cat "$mnt/users/$one/latency")" '^sim0 +ring[0-9]+ +total +[1-9]' "… with latency"
is "$(ls "$mnt/users" | sort -n | xargs)" "$(echo "$uids" | sort -n | xargs)" "root sees all"
is "$(be cat "$mnt/users/$one/stats" >/dev/null; be find "$mnt/users" -name stats | wc -l)" 1 "nothing of others comes from a cache"
umount_gt "$mnt"
done_testing
