#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Who may read and write settings: the default, lines of [access], and the daemon's own check.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to become other users"

# as UID GID GROUPS COMMAND...
as() { setpriv --reuid "$1" --regid "$2" --groups "$3" "${@:4}"; }
writes() { as "$1" "$2" "$3" bash -c "echo $5 >$mnt/$4" 2>/dev/null; }
reads() { as "$1" "$2" "$3" cat "$mnt/$4"; }
refused() { ! writes "$@"; }

cat >conf <<'C'
[access]
config/* = 0660 :4001
config/sampling = 0640 1001:4002
control = 0600
backends/*/* = :4003
C
mount_gt "$mnt" -o conf=conf,backend=sim,gid=4000 || exit 1
is "$(stat -c '%a %u %g' "$mnt/config/level")" "660 0 4001" "config/*"
is "$(stat -c '%a %u %g' "$mnt/config/sampling")" "640 1001 4002" "a later line wins"
is "$(stat -c '%a %u %g' "$mnt/control")" "600 0 4000" "a mode alone"
is "$(stat -c '%a %u %g' "$mnt/backends/sim/clock_offset")" "664 0 4003" "a group alone"
is "$(stat -c '%a %u %g' "$mnt/status")" "444 0 4000" "what is no setting stays"
is "$(grep -c setting_permissions "$mnt/features")" 1 "features tells"

ok "the owner writes" writes 1001 1001 5 config/sampling 71
is "$(reads 1001 1001 5 config/sampling)" 71 "… and reads"
ok "its group reads" reads 1002 1002 4002 config/sampling
ok "… but does not write" refused 1002 1002 4002 config/sampling 72
ok "another group writes, if it is a supplementary one" writes 1002 1002 7,4001 config/level stats
ok "… or the first" writes 1002 4001 7 config/level normal
ok "the group of all settings does not" refused 1002 1002 4000 config/level stats
ok "others do not read" sh -c "! setpriv --reuid 1003 --regid 1003 --clear-groups cat $mnt/config/sampling"
ok "root writes" writes 0 0 0 config/sampling 73
ok "a group of a backend's settings" writes 1002 1002 4003 backends/sim/clock_offset 5
ok "… and only of these" refused 1002 1002 4003 config/level stats

# CAP_DAC_OVERRIDE opens the file; the daemon looks at who that is
dac() { setpriv --reuid 1003 --regid 1003 --groups 9 --inh-caps +dac_override --ambient-caps +dac_override "$@"; }
dac bash -c "echo 74 >$mnt/config/sampling; cat $mnt/last_cmd_status" >reported 2>&1
like "$(cat reported)" "ermission denied" "who overrides the kernel's check does not write"
like "$(cat reported)" "^config/sampling: uid 1003 .*0640, uid 1001, gid 4002" "… and reads why"
dac cat "$mnt/config/sampling" >reported 2>&1
like "$(cat reported)" "ermission denied" "… nor read"
is "$(cat "$mnt/config/sampling")" 73 "nothing changed"
ok "error_log has it" grep -q "config/sampling uid=1003 .*EACCES" "$mnt/error_log"

# a descriptor keeps what its opener may
exec 8>"$mnt/config/sampling"
as 1003 1003 9 bash -c 'echo 75 >&8'
is "$(cat "$mnt/config/sampling")" 75 "a descriptor handed on"
exec 8>&-
umount_gt "$mnt"

# faults
fault() { # LINE WORD [OPTION] - refused, with the line's number and that word
	printf '[access]\n\n%s\n' "$1" >bad
	"$GT_PROG" "$mnt" ${3-} -o conf=bad,backend=sim >said 2>&1
	is "$? $(grep -cF "bad:3: " said) $(grep -cF "'$2'" said)" "1 1 1" "refused${3:+ by $3}: $1"
}
fault "config/samplin = 0660" config/samplin
fault "config/samplin = 0660" config/samplin -f
fault "/config/level = 0660" /config/level
fault "config/[ = 0600" "config/["
fault "backends/sim/seed = 0660" backends/sim/seed
fault "config/sampling = 0777" 0777
fault "backends/sim/* = 0660 root:nobody-here" nobody-here
ok "nothing is mounted" sh -c "! mountpoint -q $mnt"
done_testing
