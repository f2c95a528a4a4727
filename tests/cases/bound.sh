#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A file that root bound to another name, or gave away as a descriptor of O_PATH: whoever opens it sees what they
# would see at its own place, now, by whatever way they read; and nothing that another reader left behind.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to bind files"
unshare -m true 2>err || skip "no mount namespace can be made: $(head -n 1 err)"

printf '[backend sim]\nrate = 5000\nprocs = 12\nusers = 3\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim,visibility=owner || exit 1
busy() { [ "$(count_rows "$mnt/report")" -gt 500 ] && [ "$(count_rows "$mnt/top")" -gt 10 ]; }
ok "sim is at work" wait_for 60 busy
one=$(for p in "$mnt"/proc/[0-9]*; do stat -c %u "$p"; done | sort -u | head -n 1)
other=$(for p in "$mnt"/proc/[0-9]*; do [ "$(stat -c %u "$p")" = "$one" ] || echo "${p##*/}"; done | head -n 1)
mine=$(for p in "$mnt"/proc/[0-9]*; do [ "$(stat -c %u "$p")" = "$one" ] && echo "${p##*/}"; done)
export mnt one other mine GT_SRC

# Prints what it read of each file, in each way: WAY FILE and the pids there, or the error
cat >reads.py <<'END'
import mmap, os, re, sys
uid, how, names = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
paths = names
if how == "path":
    fds = [os.open(n, os.O_PATH) for n in names]
    paths = ["/proc/self/fd/%d" % fd for fd in fds]
if uid:
    os.setgroups([]), os.setresgid(uid, uid, uid), os.setresuid(uid, uid, uid)
def by_read(fd):
    return b"".join(iter(lambda: os.read(fd, 65536), b""))
def by_sendfile(fd):
    to = os.memfd_create("")
    while os.sendfile(to, fd, None, 1 << 20): pass
    return os.pread(to, 1 << 24, 0)
def by_mmap(fd):
    with mmap.mmap(fd, 1, mmap.MAP_PRIVATE, mmap.PROT_READ) as m: return m[:]
if how == "beside": # root's pages come after the user's open
    held = os.open(names[0], os.O_RDONLY)
    os.write(4, b"x"), os.read(5, 1)
    os.open = lambda path, flags: os.lseek(held, 0, 0) or os.dup(held)
for name, path in zip(names, paths):
    for way in by_read, by_sendfile:
        try:
            fd = os.open(path, os.O_RDONLY)
            text = way(fd)
            print(way.__name__, os.path.basename(name), *sorted({int(w) for w in re.findall(rb"\b\d+\b", text)} & set(map(int, os.environ["pids"].split()))))
            os.close(fd)
        except OSError as e:
            print(way.__name__, os.path.basename(name), e.strerror)
END
export pids
pids=$(cd "$mnt/proc" && echo [0-9]*)

cat >inside <<'END'
set -e
mkdir -p b
for f in top report proc/$other/comm; do touch "b/${f##*/}"; mount --bind "$mnt/$f" "b/${f##*/}"; done
for f in sim0/ring0/latency version; do touch "b/${f##*/}"; mount --bind "$mnt/$f" "b/${f##*/}"; done
set +e
wc -l <b/top >root.rows
/usr/bin/python3 reads.py 0 bound b/top b/report >root.read
/usr/bin/python3 reads.py "$one" bound b/top b/report b/comm >one.read
/usr/bin/python3 reads.py 65534 bound b/top b/report b/comm >nobody.read
/usr/bin/python3 reads.py "$one" path "$mnt/top" "$mnt/report" "$mnt/proc/$other/comm" >path.read
mkfifo opened go
/usr/bin/python3 reads.py "$one" beside b/report 4<>opened 5<>go >beside.read &
exec 4<>opened 5<>go
head -c 1 <&4 >/dev/null
exec 3<b/report
busybox cat <&3 >/dev/null
printf x >&5
wait
exec 3<&-
setpriv --reuid "$one" --regid "$one" --clear-groups busybox cat b/report >busybox.read
setpriv --reuid "$one" --regid "$one" --clear-groups cat b/version >version.read
stat -c %s b/report >size
count() { awk '/^total/ { print $2 }' b/latency; }
first=$(count)
for _ in $(seq 300); do [ "$(count)" -gt "$first" ] && echo moves >moves && break; sleep 0.1; done
umount b/*
END
ok "files are bound and read" unshare -m --propagation private bash inside
strangers() { # FILE: pids in it that are not the user's
	tr ' ' '\n' <"$1" | grep -x '[0-9]*' | sort -u | grep -vxF "$mine"
}
like "$(cat root.read)" "by_read report .*\b$other\b" "root sees others' jobs in a bound report"
for who in one path beside; do
	is "$(strangers $who.read)" "" "$who: a user sees none"
	like "$(cat $who.read)" "by_read report [0-9]" "… but the own"
done
like "$(cat one.read path.read)" "by_read top [0-9]" "… in top too"
is "$(tr ' ' '\n' <nobody.read | grep -x '[0-9]*')" "" "nobody sees no process"
is "$(cat one.read path.read | grep -c '^by_.* comm Permission denied')" 4 "a process of another's is closed"
ok "busybox's cat has the whole text" [ "$(count_rows busybox.read)" -gt 10 ]
is "$(awk 'NR > 1 { print $7 }' busybox.read | sort -u | grep -vxF "$mine")" "" "… and no more"
is "$(cat version.read)" "$(cat "$mnt/version")" "what is the same for all is"
is "$(cat size)" 1 "its size tells nothing"
is "$(cat moves)" moves "a bound text goes on"
is "$(stat -c %s "$mnt/top" "$mnt/doctor" "$mnt/users/$one/stats" | xargs)" "0 0 0" "a costly text is not rendered to be looked at"
# shellcheck disable=SC2016
like "$(/usr/bin/python3 -c '
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
first = os.pread(fd, 1 << 20, 0)
for _ in range(300):
    if os.pread(fd, 1 << 20, 0) != first: print("changes"); break
    time.sleep(0.1)' "$mnt/users/$one/stats")" changes "… but again by each read from its start"
umount_gt "$mnt"
done_testing
