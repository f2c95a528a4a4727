#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Each file of config/: what it takes to its bounds, what it refuses and with which words, 50 writers at
# once; visibility and what others see from then on; buffers that a source refuses.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

printf '[backend sim]\nrate = 2000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
python_checks "$GT_SRC/tests/lib/settings.py" "$mnt" "$GT_SRC/conf/gputrace.conf"

pid() { ls "$mnt/proc" | head -n 1; }
ok "there are processes" wait_for 20 pid
seen() { as_user cat "$mnt/top" | awk 'NR > 1 && $1 != "-" { print "whole"; exit } NR == 1 { next } { n++ } END { print n ? "blank" : "" }' | head -n 1; }
busy() { [ "$(awk 'NR > 1' "$mnt/top" | wc -l)" -gt 0 ]; }
ok "somebody uses the GPU" wait_for 20 busy
is "$(seen)" blank "redacted: others' rows are blank"
echo all >"$mnt/config/visibility"
is "$(seen)" whole "all: they are whole, at once"
p=$(pid)
like "$(as_user cat "$mnt/proc/$p/comm")" "." "… and so are others' directories"
echo owner >"$mnt/config/visibility"
is "$(seen)" "" "owner: there are none"
is "$(as_user ls "$mnt/proc")" "" "… nor directories"
ok "… by name neither" as_user sh -c "! cat $mnt/proc/$p/comm"
like "$(cat "$mnt/proc/$p/comm")" "." "root sees them as before"
echo redacted >"$mnt/config/visibility"
is "$(seen)" blank "redacted again"

rows() { count_rows "$mnt/report"; }
many() { [ "$(rows)" -gt 300 ]; }
echo clear >"$mnt/control"
ok "there is a history" wait_for 60 many
echo stop >"$mnt/control"
first=$(sed -n 2p "$mnt/report")
echo 33554432 >"$mnt/config/history_size" # more than the seconds until now can have filled
is "$(sed -n 2p "$mnt/report")" "$first" "another size: what is kept stays"
echo 100000 >"$mnt/config/history_size"
is "$(numfmt --from=iec <"$mnt/config/history_size")" "$(value "$mnt/status" history_max_bytes)" "what is read back is what is in effect"
is "$(cat "$mnt/config/history_size")" 98304 "… of 100000 bytes a power of two for each of the two"
echo start >"$mnt/control"
echo 0 >"$mnt/config/history_size"
is "$(cat "$mnt/config/history_size")" 0 "0 reads back as 0"
is "$(rows)" 0 "none: it is gone"
is "$(timeout 100 head -n 5 "$mnt/trace" | wc -l)" 5 "… pipes go on"
is "$(rows)" 0 "… and nothing is kept"
echo 65536 >"$mnt/config/history_size"
some() { [ "$(rows)" -gt 20 ]; }
ok "64 KiB: it is kept from now on" wait_for 20 some
ok "… as much as fits" [ "$(rows)" -le 256 ]
full() { [ "$(value "$mnt/status" history_bytes)" = 65536 ]; }
ok "in status it is in use whole" wait_for 20 full
is "$(value "$mnt/status" history_max_bytes)" 65536 "… which is the most, of records and jobs"
umount_gt "$mnt"
done_testing
