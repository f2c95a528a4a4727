#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A user who takes all there is to take: descriptors, names, texts, pipes, polls, processes; who writes what cannot
# be written and asks for what is not there. Others are served all the time, and afterwards nothing is missing.
# Long
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/others.sh"
is_root || skip "needs root to mount for others"
others_reach
tool=$GT_OUT/tests/tools/greedy

printf '[backend sim]\nrate = 50000\n[limits]\nproc_linger_s = 1\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
daemon=$(pgrep -f "mount.gputrace $mnt ")
fds() { ls -l "/proc/$daemon/fd" | grep -vc -e pidfd -e 'pid:'; } # but for callers' and namespaces', which are remembered
status() { value "$mnt/status" "$1"; }
rss() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$daemon/status"; }
mkfifo hold
as=as_user
greedy() { # greedy NAME MODE... - as a user, in the background, until `enough`
	exec {hold}<>hold
	$as "$tool" "${@:2}" <hold >"$1.out" 2>&1 {hold}>&- &
	wait_for 120 grep -q ready "$1.out" || echo "# $1 is not ready"
	exec {go}>hold {hold}>&-
}
enough() { exec {go}>&-; wait; }
got() { awk -v what="$2" '$1 == what { n = $2 } END { print n + 0 }' "$1.out"; }
below() { # below "got" "bound" "what"
	ok "$3: $1 of $2" [ "$1" -le "$2" ]
}
nobody() { # holds anything
	! grep -E '^(readers|reads_blocked|descriptors|opens_waiting|polls) ' "$mnt/status" | grep -v ' 0$'
}
given_back() {
	ok "… and nothing of it is left" wait_for 20 nobody
}
served() { # served "while what": root, and another user, with a text, a long one and a pipe
	local uid
	for uid in 0 1001; do
		# shellcheck disable=SC2016
		ok "$1: uid $uid is served" as_uid $uid timeout 60 bash -c '
			cd "$1" && cat version sim0/stats top >/dev/null && ls -l sim0 >/dev/null &&
			[ "$(head -n 2 report | wc -l)" = 2 ] && [ "$(head -c 128 events | wc -c)" = 128 ]' sh "$mnt"
	done
}

ok "sim has a history" wait_for 60 sh -c "[ \$(wc -c <'$mnt/report') -gt 6000000 ]"
before=$(fds)
served "at first"

greedy files files 10000 10 o "$mnt/version"
is "$(($(got files got) + $(got files EMFILE)))" 100000 "100,000 opens"
is "$(got files got)" 16384 "… of which a user keeps so many"
below "$(status descriptors)" 16390 "descriptors"
served "16384 descriptors"
enough
given_back
if unshare -pf true 2>unshare.err; then
	as="unshare -pf" greedy box files 5000 4 o "$mnt/version"
	is "$(got box got)" 16384 "… which is what a container's root keeps, too"
	enough
	given_back
else
	echo "# no PID namespace can be made: $(head -n 1 unshare.err)"
fi
greedy dirs files 5000 4 d "$mnt" "$mnt/sim0"
is "$(got dirs got)" 16384 "… or of directories"
enough
given_back

greedy paths files 9000 4 p "$mnt/version" "$mnt/sim0/ring0/latency" "$mnt/sim0/ring0/histogram"
below "$(got paths got)" 32800 "names kept"
below 32700 "$(got paths got)" "… at least"
like "$(cat paths.out)" "^EMFILE [1-9]" "… then EMFILE"
served "names held"
below "$(rss)" 400 "MiB of the daemon"
enough
ok "… and then the user is served again" as_user cat "$mnt/version"

greedy part part "$mnt/report" "$mnt/timeline" "$mnt/sim0/ring0/report"
like "$(cat part.out)" "^ENOMEM [1-9]" "long texts that nobody reads to the end: ENOMEM"
below "$(($(status text_bytes) >> 20))" 170 "MiB of texts"
ok "… whose holder may read short ones" as_user cat "$mnt/version" "$mnt/sim0/stats"
served "128 MiB of texts"
below "$(rss)" 400 "MiB of the daemon"
enough
given_back
ok "… and the holder reads a long one again" as_user cat "$mnt/report"

echo off >"$mnt/config/level"
greedy reads reads 500 "$mnt/events" "$mnt/trace" "$mnt/sim0/ring0/events" "$mnt/sim0/trace"
is "$(got reads got) $(got reads EMFILE)" "96 404" "a user's pipes, then EMFILE"
ok "all wait" wait_for 20 grep -qx "reads_blocked 96" "$mnt/status"
like "$(cat reads.out)" "^EINTR [1-9]" "signals end reads"
echo normal >"$mnt/config/level"
served "96 reads that wait"
enough
given_back

greedy polls polls 3000 "$mnt/version" # never changes: it is polled for good
is "$(got polls refused)" 952 "polls beyond 2048: POLLERR"
served "2048 polls"
enough
given_back

greedy bomb bomb 400 "$mnt/config"
is "$(got bomb got) $(got bomb bad)" "$((400 * $(find "$mnt/config" -type f | wc -l))) 0" "400 processes at once read all settings"
enough
# On a busy machine they may have had their turns before anybody looks: then they come again
for _ in {1..5}; do
	as_user "$tool" files 1 64 o "$mnt/sim0/ring0/report" </dev/null >long.out 2>&1 &
	long=$! crowded=
	while kill -0 $long 2>/dev/null; do
		[ "$(status opens_waiting)" -le 40 ] || { crowded=y && break; }
	done
	as_uid 1001 sh -c "head -c 1 '$mnt/sim0/ring0/report' >/dev/null; cat '$mnt/status'" >turn
	wait $long
	[ -z "$crowded" ] || [ "$(value turn opens_waiting)" = 0 ] || break
done
is "$crowded" y "64 processes wait for a long text"
ok "… and another's turn comes before theirs is over: $(value turn opens_waiting) wait" [ "$(value turn opens_waiting)" -gt 0 ]
is $(($(got long got) + $(got long ENOMEM))) 64 "… who get it, or the error that they hold too much"
ok "… and some do: $(got long got)" [ "$(got long got)" -gt 0 ]
given_back

# What they write, and what they ask for
tail -n +1 "$mnt"/config/* >settings
as_user "$tool" writes "$mnt"/config/* "$mnt/control" "$mnt/version" "$mnt/events" >writes.out
is "$(grep took writes.out)" "" "1.5 MiB by a user"
"$tool" writes "$mnt"/config/* "$mnt/control" "$mnt/version" "$mnt/backends/sim/rate" >writes.out
is "$(grep took writes.out)" "" "1.5 MiB by root"
like "$(cat writes.out)" "^E2BIG [1-9]" "… E2BIG"
is "$(tail -n +1 "$mnt"/config/* | diff - settings)" "" "… and all settings are what they were"
# but in the one folder where users may make some
mapfile -t dirs < <(find "$mnt" -type d ! -path "$mnt/backends/rocprof/jobs" | awk '{ kind = $0; gsub(/[0-9]+/, "N", kind) } !seen[kind]++')
for uid in 0 65534; do
	as_uid $uid "$tool" names "${dirs[@]}" >names.out 2>&1
	is "$(grep -v '^E' names.out)" "" "names that are not there, in ${#dirs[@]} kinds of directories, uid $uid"
done

# The queues of sim are destroyed after a while
queues=("$mnt"/sim0/queues/[0-9]*)
one_gone() { for q in "${queues[@]}"; do [ -e "$q" ] || return 0; done; return 1; }
greedy reap reap "${queues[@]}" "${queues[@]/%//uid}" "${queues[@]/%//stats}" "${queues[@]/%//events}" "${queues[@]/%//trace}"
ok "a queue goes, of which there are descriptors" wait_for 60 one_gone
echo >&"$go"
ok "… that can be read and closed" wait_for 20 sh -c "[ \$(grep -c . reap.out) -gt 1 ]"
enough
given_back
served "afterwards"

is "$(status events_lost_source)" 0 "no event was lost"
is "$(awk '/_over_quota / && $2 == 0 { print $1 }' "$mnt/status" | tr '\n' ' ')" "reads_over_quota opens_over_quota " "refusals are counted"
same_fds() { [ "$(fds)" = "$before" ]; }
ok "the daemon has the descriptors that it had" wait_for 20 same_fds
below "$(status text_bytes)" 9000000 "bytes of texts of names"

# The kernel has a page of a text locked while it is read, and the worker that renders the text again waits for it
echo off >"$mnt/config/level"
# shellcheck disable=SC2016
as_user /usr/bin/python3 -c '
import os, sys
fd, null = os.open(sys.argv[1], os.O_RDONLY), os.open("/dev/null", os.O_WRONLY)
size = os.fstat(fd).st_size
reader = os.fork() == 0
os.fork()
os.write(1, b"ready\n") # print() may write the line in two parts, between which another comes
while True:
    try:
        if reader:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.sendfile(null, fd, size - 4096, 8192)
        else:
            os.close(os.open("/proc/self/fd/%d" % fd, os.O_RDONLY))
    # One that is refused is no end of it. sendfile may give EACCES: processes that see other things have opened the
    # file, so that the kernel gets no page of it, but does not know that yet. open may not.
    except OSError as e:
        os.write(1, (b"sendfile: " if reader else b"open: ") + e.strerror.encode() + b"\n")
' "$mnt/report" >again 2>&1 &
has_opened() { [ "$(grep -c ready again)" = 4 ] && [ "$(status opens_waiting)" -gt 0 ]; }
ok "a long text is opened and read again and again" wait_for 60 has_opened ||
	{ sort again | uniq -c | head; grep -E '^(opens|refused|held|readers|descriptors)' "$mnt/status"; } | sed 's/^/# /'
is "$(grep -c '^open: Permission' again)" 0 "… and no open of it is denied"
kill "$daemon"
ok "… which does not keep the daemon from ending" wait_for 100 gone "$mnt"
mountpoint -q "$mnt" && umount -f "$mnt"
pkill -KILL -f "posix_fadvise.*$mnt/report" # what they read may be in the page cache for ever
wait

# A tree with more names than one user may keep
printf '[backend sim]\nrate = 20000\nprocs = 620\ngpus = 4\njobs = 20000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim,visibility=all || exit 1
all_played() { [ "$(awk '/^total/ { n += $2 } END { print n + 0 }' "$mnt"/sim?/ring*/latency)" = 20000 ]; }
ok "sim has done its jobs" wait_for 60 all_played # each process has its names on each GPU then
is "$(find "$mnt/proc" -mindepth 1 -maxdepth 1 | wc -l)" 620 "there are 620 processes"
walk() { as_user find "$mnt" -type f ! -name events ! -name trace -size -9M; }
walk >files
ok "a user walks $(wc -l <files) names, of which each is there" [ "$(wc -l <files)" -gt 40000 ]
below "$(status text_bytes)" 5000000 "bytes of their texts"
for _ in 1 2 3; do walk >again & done
wait
is "$(status names_over_quota)" 0 "… and is never refused"
kept() { [ "$(status names_in_use)" -lt 100 ]; }
ok "… as the kernel keeps one of each" wait_for 20 kept
ok "… and all can be read" as_user sh -c "grep /proc/ files | head -n 200 | xargs cat"
# shellcheck disable=SC2016
as_user /usr/bin/python3 -c '
import os, sys
def opened(path):
    fd, to = os.open("/proc/self/fd/%d" % path, os.O_RDONLY), os.memfd_create("")
    sent = 0
    while n := os.sendfile(to, fd, None, 1 << 20): sent += n
    size, text = os.fstat(fd).st_size, os.pread(fd, 1 << 20, 1)
    os.close(fd)
    return size if size == sent and text == os.pread(to, 1 << 20, 1) and len(text) == max(size - 1, 0) else -1
def there(what, *args): # or None: queues go
    try: return what(*args)
    except OSError: return None
names = [name.strip() for name in open(sys.argv[1])]
paths = [path for path in (there(os.open, name, os.O_PATH) for name in names[::100]) if path]
before = [os.fstat(path).st_size for path in paths]
for name in names: there(os.stat, name)
after = [there(opened, path) for path in paths]
change = [a - b for a, b in zip(after, before) if a is not None and a >= 0]
print(len(paths) - after.count(None), len(change), sum(n < 0 for n in change), sum(n > 0 for n in change))
' files >late 2>&1
read -r all whole shorter longer <late
is "$whole" "$all" "texts that were dropped are whole when they are opened, and have their sizes"
echo "# $shorter are shorter than before, $longer longer"
umount_gt "$mnt"
done_testing
