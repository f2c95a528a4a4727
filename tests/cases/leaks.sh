#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# 10,000 opens of each file, while events come, leak neither memory nor descriptors.
# Long
# Alone
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount, and to have the kernel forget names"

# The history is small, so that it is full at once
printf '[backend sim]\nrate = 20000\ngpus = 2\n[buffers]\nhistory_size = 1048576\n' >conf
# On one CPU, where a request and its answer are four times faster than between two
one=$(taskset -cp $$)
taskset -cp "${one##*[ ,-]}" $$ >/dev/null
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
pid=$(pgrep -f "mount.gputrace $mnt")
fds() { ls -l "/proc/$pid/fd" | grep -vc pidfd; } # but for those of callers, which are remembered
cat >opens.py <<'P'
import errno, glob, os, sys
long = ('report', 'timeline', 'blame', '/top', 'report_stats', 'timeline_stats', 'blame_stats') # rendered by open
for path in sys.stdin.read().split('\n'):
    if not path:
        continue
    n = int(sys.argv[2] if path.endswith(long) or '/users/' in path or '/cgroups/' in path else sys.argv[1])
    pipe = path.endswith(('/events', '/trace'))
    for _ in range(n):
        try:
            fd = os.open(path, os.O_RDONLY | (os.O_NONBLOCK if pipe else 0))
        except OSError as e: # queues go, and others come
            if '/queues/' not in path or e.errno not in (errno.ENOENT, errno.ENODEV):
                raise
            folder, name = path.split('/queues/')
            path = glob.glob(folder + '/queues/*/' + name.split('/')[1])[0]
            continue
        try:
            os.read(fd, 4096)
        except OSError as e:
            if e.errno != errno.EAGAIN and ('/queues/' not in path or e.errno != errno.ENODEV):
                raise
        os.close(fd)
P
# one of each kind: of all GPUs, rings, processes, queues and backends the same
list() { find "$mnt" -type f | awk '{ kind = $0; gsub(/[0-9]+/, "N", kind); sub(/backends\/[a-z]*/, "backends/N", kind) } !seen[kind]++'; }
forgotten() { echo 2 >/proc/sys/vm/drop_caches; [ "$(value "$mnt/status" nodes)" -lt 100 ]; }
# what the process holds, but for the model's own, which grows with what happens and is bounded itself
held() { echo $(($(awk '/VmRSS/ { print $2 }' "/proc/$pid/status") - $(value "$mnt/status" model_bytes) / 1024)); }
list >files
ok "2000 opens of each file of $(wc -l <files)" python3 opens.py 2000 300 <files
wait_for 60 forgotten
a=$(fds) before=$(held)
ok "10,000 more, 300 of those rendered by open" python3 opens.py 10000 300 <files
ok "nodes are forgotten" wait_for 60 forgotten
# It may have one open just now, or had one then
ok "no descriptor is left of 10,000 opens of each file ($a before)" wait_for 20 eval '[ "$(fds)" -le "$a" ]'
after=$(held)
ok "no memory either ($before kB, then $after kB)" [ $((after - before)) -lt 8192 ]
is "$(value "$mnt/status" readers)" 0 "no reader is left"
umount_gt "$mnt"
done_testing
