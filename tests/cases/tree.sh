#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every file: it is documented, reads, has the right mode and size; big trees are whole.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/simruns.sh"
is_root || skip "needs root to mount"

printf '[backend sim]\nrate = 5000\njobs = 3000\ngpus = 2\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
done_jobs() { [ "$(total)" = 3000 ]; }
ok "sim has done its jobs" wait_for 60 done_jobs
for d in "" sim0 sim0/ring0 config backends backends/sim; do
	for f in $(find "$mnt/$d" -maxdepth 1 -type f -printf '%f\n'); do
		ok "README has $d/$f" grep -qE "(^|[ \`/])$f([ \`,]|\$)" "$mnt/README"
	done
done
# Its size, sooner or later: a window that goes by changes a file between two looks at it
has_its_size() { # has_its_size FILE
	for _ in {1..20}; do
		[ "$(cat "$1" | wc -c)" != "$(stat -c %s "$1")" ] || return 0
	done
	return 1
}
find "$mnt" -type f ! -name events ! -name trace | while read -r f; do
	cat "$f" >text 2>err || { echo "# $f: $(cat err)"; echo x; continue; }
	LC_ALL=C grep -qP '[^\n\t\x20-\x7e\x80-\xff]' text && { echo "# $f has control characters"; echo x; }
	[ ! -s text ] || [ "$(tail -c 1 text)" = "" ] || { echo "# $f does not end in a newline"; echo x; }
	case $f in # rendered by open
	*/report | */timeline | */blame | */report_stats | */timeline_stats | */blame_stats) continue ;;
	*/rocprof/files | */rocprof/problems | */rocprof/users | */rocprof/calls | */rocprof/allocations | */amdlog/logs | */amdlog/problems | */sysfs/hqds) continue ;;
	"$mnt"/top | "$mnt"/doctor | "$mnt"/latency | "$mnt"/latency_10s | "$mnt"/gpus | "$mnt"/memory | "$mnt"/users/* | "$mnt"/cgroups/*) continue ;;
	"$mnt"/*/info | "$mnt"/*/utilization | "$mnt"/proc/*/utilization) continue ;;
	esac
	has_its_size "$f" || case $f in */status | */stats | */clocks | */error_log) ;; *) echo "# $f: size"; echo x ;; esac
done >bad
ok "every file reads, is text, ends in a newline and has its size" [ "$(grep -c '^x' bad)" = 0 ]
grep '^#' bad | head
ok "ls -lR" ls -lR "$mnt"
ok "find -L finds no loop but the links" find "$mnt" -type l
find "$mnt" -type l ! -name self | while read -r l; do [ -e "$l" ] || echo "$l"; done >dangling
is "$(cat dangling)" "" "links lead somewhere"
like "$(sh -c "readlink $mnt/self; :")" "^proc/[0-9]+$" "self is a link to proc/<pid>"
is "$(python3 -c "
import os, threading
r = []
t = threading.Thread(target=lambda: r.append(os.readlink('$mnt/self')))
t.start(); t.join()
print(r[0] == 'proc/%d' % os.getpid())")" True "… from any of its threads"
for f in stats latency latency_10s utilization blame report waits; do
	ok "a program without GPU work reads self/$f" cat "$mnt/self/$f"
done
like "$(cat "$mnt/self/stats")" "^submitted 0$" "… it did nothing"
is "$(sh -c "cd $mnt/self && echo \$\$ && ls" | sed "s/^[0-9]*$/PID/" | tr '\n' ' ')" "PID blame blame_stats events latency latency_10s report report_stats state stats trace uid utilization waits " "… its files"
ok "… and no other finds it" sh -c "! sh -c 'exec ls $mnt/proc/'\$\$ 2>/dev/null"
is "$(sh -c "ls $mnt/proc | grep -cx \$\$")" 0 "… nor is it listed"
python3 - "$mnt" <<'P'
import os, sys, threading
bad = []
def read():
    for i in range(100):
        p = os.popen('cat %s/self/stats %s/self/comm 2>&1' % (sys.argv[1], sys.argv[1])).read()
        if not p.startswith('submitted 0\n'):
            bad.append(p)
all = [threading.Thread(target=read) for i in range(4)]
for t in all:
    t.start()
for t in all:
    t.join()
print('self: many at once:', bad[:2])
sys.exit(len(bad) > 0)
P
is $? 0 "many at once find themselves"
like "$(cat "$mnt/gpus")" "^sim0 .* sim +- +-" "gpus"
like "$(cat "$mnt/doctor")" "(simulat|SIMULAT)" "doctor says that it is simulated"
like "$(cat "$mnt/README")" "(simulat|SIMULAT)" "README too"
is "$(value "$mnt/status" simulated)" 1 "status too"
is "$(ls "$mnt/sim0/by-name" | wc -l)" "$(ls -d "$mnt"/sim0/ring[0-9]* | wc -l)" "by-name has every ring"
r=$(ls "$mnt/sim0/by-name" | head -n 1)
is "$(cat "$mnt/sim0/by-name/$r/name")" "$r" "… and leads to it"
is "$(ls "$mnt/sim0" | sort | uniq -d)" "" "no name twice"

umount_gt "$mnt"

# many processes and rings
python3 - >many.txt <<'P'
print('# tracer: nop')
t = 10**9
for i in range(5000):
    ring, pid = 'ring%d' % (i % 250), 10000 + i
    for ev, task in (('drm_sched_job', 'job%d-%d' % (i, pid)), ('drm_run_job', 'w-99')):
        t += 3
        print('%20s [000] ..... %d.%06d: %s: entity=%016x, id=%d, fence=%016x, ring=%s, job count:0, hw job count:0' %
              (task, t // 10**6, t % 10**6, ev, 0xabc000 + i, i, 0xdef000 + i * 8, ring))
    t += 3
    print('%20s [000] d.h.. %d.%06d: drm_sched_process_job: fence=%016x signaled' % ('<idle>-0', t // 10**6, t % 10**6, 0xdef000 + i * 8))
P
mount_gt "$mnt" -o replay=many.txt || exit 1
gpu=$(awk 'NR > 1 { print $1; exit }' "$mnt/gpus")
is "$(ls "$mnt/proc" | wc -l)" 5000 "5000 processes"
is "$(ls -d "$mnt/$gpu"/ring[0-9]* | wc -l)" 250 "250 rings"
is "$(count_rows "$mnt/rings")" 250 "rings has them all"
umount_gt "$mnt"
done_testing
