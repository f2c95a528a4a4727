#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Each file of config/: what it takes to its bounds, what it refuses and with which words, 50 writers at
# once; visibility and what others see from then on; buffers that a source refuses.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"

printf '[backend sim]\nrate = 2000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
python_checks "$GT_SRC/tests/lib/settings.py" "$mnt" "$GT_SRC/conf/gputrace.conf"
is "$(cat "$mnt/config/level")" "off stats [normal] verbose" "everything is as it was"

pid() { ls "$mnt/proc" | head -n 1; }
ok "there are processes" wait_for 20 pid
seen() { as_user cat "$mnt/top" | awk '!/^#/ && $1 != "-" { print "whole"; exit } /^#/ { next } { n++ } END { print n ? "blank" : "" }' | head -n 1; }
busy() { [ "$(awk '!/^#/' "$mnt/top" | wc -l)" -gt 0 ]; }
ok "somebody uses the GPU" wait_for 20 busy
is "$(seen)" blank "redacted: others' rows are blank"
exec 8<"$mnt/proc/$(pid)/comm"
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
umount_gt "$mnt"
done_testing
