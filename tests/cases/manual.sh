#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The list of files in gputrace-files(5) is what the tables of files say, and that of shares in gputrace-security(7) what
# shares.def says; gputrace.conf(5) has every key of options.def and of the backends; README's output is the program's.
# Quick
. "$GT_SRC/tests/lib/case.sh"

page=$GT_SRC/fs/gputrace-files.5
has_part() { # has_part PAGE NAME ARG... - the page has what `make man` writes
	"$GT_OUT/tests/tools/filelist" "${@:3}" >wanted
	ok "filelist makes $2" test -s wanted
	sed -n "/^\.\\\\\" BEGIN $2/,/^\.\\\\\" END $2/p" "$1" | sed '1d;$d' >listed
	ok "… and ${1##*/} has it, as make man writes it" diff listed wanted
}
has_part "$page" FILES "$GT_OUT"/lib/gputrace/*.so
has_part "$GT_SRC/conf/gputrace-security.7" SHARES shares
"$GT_OUT/tests/tools/filelist" conf >wanted
sed -n '/^; What runs/,/^; Who may read/p' "$GT_SRC/conf/gputrace.conf" | sed '$d' >listed
ok "gputrace.conf has every key, as make man writes it" diff listed wanted

has_part "$GT_SRC/conf/gputrace.conf.5" KEYS keys

# README's output is what the program makes of the recording that it names
if is_root; then
	mount_gt "$mnt" -o replay="$GT_SRC/tests/data/replay/amdgpu_4.11.txt" || exit 1
	wait_for 60 grep -q '^state ended$' "$mnt/status"
	for f in amdgpu0/ring0/latency top; do
		sed -n "\#^    \$ cat /gputrace/$f\$#,/^\$/s/^    //p" "$GT_SRC/README.md" | sed 1d >readme
		ok "README's $f" diff readme "$mnt/$f"
	done
	umount_gt "$mnt"
else
	skip_ok "README's output" "needs root to mount"
fi

cat >keys.py <<'P'
import re, sys
from tap import ok
files = open(sys.argv[2]).read()
for name, values in re.findall(r'^\.Ss backends/(\w+)\n(.*?)(?=^\.Ss)', files, re.M | re.S):
    wanted = set(re.findall(r'^\.It Pa (\w+) Pq value', values, re.M))
    section = open(sys.argv[1]).read().partition('.SS [backend %s]' % name)[2].partition('\n.S')[0]
    has = set(w for l in re.findall(r'^\.TP\n\.BR? (.*)$', section, re.M) for w in re.findall(r'[a-z]\w+', l))
    ok(wanted == has, '… and those of [backend %s]' % name, wanted ^ has)
P
python_checks keys.py "$GT_SRC/conf/gputrace.conf.5" "$page"
done_testing
