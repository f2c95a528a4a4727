#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Calls of GPU runtimes through BPF: libraries with the names and functions of the real ones, called by
# programs that were there before and that come later, in and out of mount namespaces, of two users; files
# that are deleted, replaced, cut short, or no libraries. Each call is counted once.
# Alone
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
. "$GT_SRC/tests/lib/mockrt.sh"
# libraries are put where the machine has its own
if [ -z "${GT_OWN_MOUNTS-}" ]; then
	unshare -m true 2>err || skip "no mount namespace can be made: $(head -n 1 err)"
	exec env GT_OWN_MOUNTS=1 unshare -m --propagation private "$0"
fi

# … and those that the machine has are out of the way
for dir in /opt /usr/local; do
	case $PWD/:$GT_SRC/:$GT_OUT/ in
	*/usr/local/*) [ $dir = /opt ] || skip "libraries would be put into /usr/local, where this tree is" ;;&
	*"$dir"/*) ;;
	*) mount -t tmpfs tmpfs $dir && mkdir -p $dir/lib ;;
	esac
done
! ls /usr/lib*/lib{cuda,cudart,amdhip64,hsa-runtime64}[.-]*so* /usr/lib/*/lib{cuda,cudart,amdhip64,hsa-runtime64}[.-]*so* \
	/usr/lib/wsl/lib/libcuda* 2>/dev/null | grep -q . || skip "this machine has runtimes installed"

build_all || skip "no compiler"

cleanup() {
	kill_progs
	! mountpoint -q fuse_over || umount -l fuse_over
	! mountpoint -q fuse || umount -l fuse
	! mountpoint -q over1 || umount -l over1
	! mountpoint -q over2 || umount -l over2
	wait 2>/dev/null
}

byte_of() { python3 "$GT_SRC/tests/lib/funcbytes.py" "$@"; }
links() { grep -l '^link_type' /proc/"$(daemon)"/fdinfo/* 2>/dev/null | wc -l; }
links_are() { [ "$(links)" = "$1" ]; }

prog before "$PWD/lib/libamdhip64.so.6"
clean=$(byte_of "${pid[before]}" lib/libamdhip64.so.6 hipLaunchKernel)
mount_gt "$mnt" -o backend=bpf || skip "$(cat "$PWD"/*.log 2>/dev/null | tail -n 1)"
set=$mnt/backends/bpf/runtimes
like "$(cat "$mnt/backends/bpf/stats")" '^runtime running' "the part runs" || exit 1
other_links=$(links)

# Off, and how it is switched on
is "$(cat "$set")" "" "off by default"
tell before "hipLaunchKernel 10"
is "$(stat_of libraries) $(stat_of functions) $(stat_of processes_looked_at)" "0 0 0" "… and nothing is done"
is "$(byte_of "${pid[before]}" lib/libamdhip64.so.6 hipLaunchKernel)" "$clean" "… no probe is there"
for bad in nvml hip,opencl hip,hip ,hip "hip cuda"; do
	like "$(echo "$bad" 2>&1 >"$set")" "Invalid argument" "'$bad': EINVAL"
done
like "$(cat "$mnt/last_cmd_status")" "runtimes: 'hip cuda' .*cudart" "… with a sentence"
is "$(cat "$set")" "" "… and it stays off"
ok "hip" sh -c "echo hip >$set"
is "$(cat "$set")" hip "reads back"
wait_for 20 stat_is functions 7
has attaching 0 "and is in force"
is "$(stat_of libraries) $(stat_of functions)" "1 7" "the library of a program that was there has its probes"
[ "$(byte_of "${pid[before]}" lib/libamdhip64.so.6 hipLaunchKernel)" != "$clean" ]
is $? 0 "… in the program"

# What is reported
tell before "hipLaunchKernel 100"
more LAUNCH 100 "launches of a program that was there before"
tell before "hipMemcpy 3"
tell before "hipMemcpyAsync 20"
tell before "hipMemcpy2DAsync 10"
more COPY 33 "copies"
tell before "hipStreamSynchronize 5"
more SYNC_WAIT_ENTER 5 "waits begin"
more SYNC_WAIT_EXIT 5 "… and end"
tell before "hipStreamCreate 4"
tell before "hipStreamDestroy 6"
more QUEUE_CREATE 4 "streams are made"
more QUEUE_DESTROY 6 "… and destroyed"
dir=$mnt/proc/${pid[before]}
is "$(value "$dir/stats" launches) $(value "$dir/stats" copies) $(value "$dir/stats" copy_bytes)" \
	"100 33 $((23 * 4096 + 10 * 64 * 32))" "stats of the process"
ok "each wait took the millisecond that it takes" [ "$(value "$dir/stats" wait_ns)" -ge 5000000 ]
is "$(value "$dir/stats" waits)" 5 "… and they are five"
like "$(cat "$mnt/timeline")" "CPU LAUNCH cpu=[0-9]+ pid=${pid[before]} comm=calls ctx=20480" "timeline: the stream, and no GPU"
like "$(cat "$mnt/timeline")" "COPY .*bytes=4096 time_ns=[0-9]{7}" "timeline: a copy that waits, with its time"
like "$(cat "$mnt/timeline")" "SYNC_WAIT_EXIT .*ctx=20480 waited_ns=[0-9]{7}" "timeline: time waited"
is "$(awk '/ LAUNCH / { print $1 }' "$mnt/timeline" | sort -u | wc -l)" 100 "each at its own time"

tell before "jump hipStreamDestroy 5"
more SYNC_WAIT_ENTER 1 "a wait that is left by longjmp(3) begins"
more SYNC_WAIT_EXIT 0 "… and does not end"
more QUEUE_DESTROY 5 "… and what is called next from the same place is not inside it"
is "$(stat_of lost)" 0 "nothing is lost"
bytes=$(value "$dir/stats" copy_bytes)
tell before "bytes 9223372036854775808"
tell before "hipMemcpyAsync 3"
tell before "bytes 4096"
more COPY 3 "copies of more than any memory"
is "$(value "$dir/stats" copy_bytes)" "$bytes" "… have no size"

# Who comes later
prog after "$PWD/lib/libamdhip64.so.6"
tell after "hipLaunchKernel 50"
more LAUNCH 50 "a program that began later: from its first call on"
is "$(stat_of libraries)" 1 "… by the same probes"
mkdir inside elsewhere
prog ns "$PWD/inside/libamdhip64.so.6" unshare -m sh -c \
	"mount -t tmpfs tmpfs inside && cp lib/libamdhip64.so.6 inside/ && exec \"\$@\"" sh
has libraries 2 "a copy in another mount namespace is found"
tell ns "hipLaunchKernel 30"
more LAUNCH 30 "… and its calls are reported"
ok "it is not to be seen from here" test ! -e inside/libamdhip64.so.6
prog bound "$PWD/elsewhere/libamdhip64.so.6" unshare -m sh -c "mount --bind lib elsewhere && exec \"\$@\"" sh
tell bound "hipLaunchKernel 30"
more LAUNCH 30 "the same file under another path"
is "$(stat_of libraries)" 2 "… is the same library"

# Two users
chmod 755 . lib
if as_user test -x "$PWD/calls"; then
	prog theirs "$PWD/lib/libamdhip64.so.6" setpriv --reuid 1001 --regid 1001 --clear-groups
	tell theirs "hipLaunchKernel 7"
	more LAUNCH 7 "another user's"
	is "$(cat "$mnt/proc/${pid[theirs]}/uid")" 1001 "… are that user's"
	is "$(as_uid 1001 cat "$mnt/proc/${pid[theirs]}/stats" | awk '$1 == "launches" { print $2 }')" 7 "… who sees them"
	ok "… and not those of others" as_uid 1001 sh -c "! cat $dir/stats"
	mkdir -m 700 private
	cp calls lib/libamdhip64.so.6 private/
	chown -R 1001 private
	prog secret "$PWD/private/libamdhip64.so.6" setpriv --reuid 1001 --regid 1001 --clear-groups
	has libraries 3 "a library that only its user can read"
	tell secret "hipLaunchKernel 7"
	more LAUNCH 7 "… tells as well"
	finish_prog secret
else
	skip_ok "another user's calls" "an ordinary user cannot come here"
fi

# Files that a program answers for: while it does not, whoever asks waits
mkdir fuse fuse_over low over1 over2
"$GT_OUT/tests/tools/fusedir" "$PWD/lib" "$PWD/fuse" >fusedir.out 2>fusedir.err &
pid[fusedir]=$!
if wait_for 20 grep -q ready fusedir.out && mount -t tmpfs tmpfs low && mkdir low/up low/work; then
	echo rescan >"$mnt/control"
	has libraries 2 "what has gone is let go"
	had=$(stat_of left_alone) libraries=2
	prog on_fuse "$PWD/fuse/libamdhip64.so.6"
	left_more() { [ "$(stat_of left_alone)" -ge $((had + $1)) ]; }
	ok "a library on FUSE is left alone" wait_for 20 left_more 1
	fuse_libs=1
	if mount -t overlay overlay -o "lowerdir=fuse,upperdir=low/up,workdir=low/work" fuse_over 2>/dev/null; then
		prog over_fuse "$PWD/fuse_over/libamdhip64.so.6"
		ok "… below an overlay, too" wait_for 20 left_more 2
		fuse_libs=2
	else
		skip_ok "… below an overlay, too" "cannot be mounted here"
	fi
	kill -STOP "${pid[fusedir]}"
	wait_for 20 grep -q '^State:.T' "/proc/${pid[fusedir]}/status"
	had=$(stat_of left_alone)
	echo rescan >"$mnt/control"
	ok "its server stands still: so it is with a look at all" wait_for 20 left_more $fuse_libs
	is "$(stat_of libraries)" "$libraries" "… and no probe is there"
	prog meanwhile "$PWD/inside/libamdhip64.so.6" unshare -m sh -c \
		"mount -t tmpfs tmpfs inside && cp lib/libamdhip64.so.6 inside/ && exec \"\$@\"" sh
	has libraries $((libraries + 1)) "… meanwhile others are found"
	finish_prog meanwhile
	kill -CONT "${pid[fusedir]}"
	finish_prog on_fuse
	[ ! "${pid[over_fuse]-}" ] || finish_prog over_fuse
	! mountpoint -q fuse_over || wait_for 20 umount fuse_over
	prog by_user "$PWD/over1/libamdhip64.so.6" unshare -rm sh -c "mount -t tmpfs tmpfs low &&
		mkdir low/up low/work && mount -t overlay overlay -o lowerdir=lib,upperdir=low/up,workdir=low/work over1 &&
		exec \"\$@\"" sh &&
		ok "an overlay that a user has mounted, whatever is below it" wait_for 20 left_more $((fuse_libs + 1)) &&
		finish_prog by_user
	umount low
	umount fuse
	wait "${pid[fusedir]}"
	unset "pid[fusedir]"
	echo rescan >"$mnt/control"
	has libraries "$libraries" "… and let go"
else
	kill "${pid[fusedir]}"
	skip_ok "files on FUSE" "cannot be mounted here: $(cat fusedir.err)"
fi

# Overlays: what the kernel maps is the file below them, and its probes are on that
mount -t tmpfs tmpfs low && mkdir low/lib low/up1 low/work1 low/up2 low/work2 && cp lib/libamdhip64.so.6 low/lib/
if mount -t overlay overlay -o "lowerdir=low/lib,upperdir=low/up1,workdir=low/work1" over1 2>/dev/null &&
	mount -t overlay overlay -o "lowerdir=low/lib,upperdir=low/up2,workdir=low/work2" over2; then
	had=$(stat_of libraries)
	prog one "$PWD/over1/libamdhip64.so.6"
	has libraries $((had + 1)) "a library of an overlay"
	prog two "$PWD/over2/libamdhip64.so.6"
	tell two "hipLaunchKernel 10"
	more LAUNCH 10 "… and the same one of another"
	is "$(stat_of libraries)" $((had + 1)) "… is the same library"
	tell two "hipLaunchKernel 11"
	more LAUNCH 11 "a call in the one is reported once"
	tell one "hipLaunchKernel 12"
	more LAUNCH 12 "… and in the other"
	finish_prog two
	echo rescan >"$mnt/control"
	tell one "hipLaunchKernel 13"
	more LAUNCH 13 "… and the other tells on"
	finish_prog one
	echo rescan >"$mnt/control"
	has libraries 2 "both have gone"
	wait_for 20 umount over1 && wait_for 20 umount over2
else
	skip_ok "overlays" "cannot be mounted here"
fi
umount low

# Deleted, replaced
mkdir mine
cp lib/libamdhip64.so.6 mine/
prog mapped "$PWD/mine/libamdhip64.so.6"
rm mine/libamdhip64.so.6
echo >"$set"
has libraries 0 "off: no library has probes"
is "$(stat_of functions)" 0 "… nor any function"
has closing 0 "… nor is one on its way out"
wait_for 20 links_are "$other_links"
is "$(links)" "$other_links" "… and the kernel keeps nothing for us"
is "$(byte_of "${pid[before]}" lib/libamdhip64.so.6 hipLaunchKernel)" "$clean" "… nor in the program"
tell before "hipLaunchKernel 10"
ok "hip again" sh -c "echo hip >$set"
has attaching 0 "in force"
tell mapped "hipLaunchKernel 9"
more LAUNCH 9 "a library that was deleted, in a program that was there before"
had=$(stat_of libraries)
cp lib/libamdhip64.so.6 mine/
prog replaced "$PWD/mine/libamdhip64.so.6"
has libraries $((had + 1)) "one that replaced it is another"
tell replaced "hipLaunchKernel 8"
tell mapped "hipLaunchKernel 7"
more LAUNCH 15 "both tell"
finish_prog mapped
finish_prog replaced
finish_prog ns
[ ! "${pid[theirs]-}" ] || finish_prog theirs
echo rescan >"$mnt/control"
has libraries 1 "what nobody maps any more is dropped"
tell before "unmap"
tell before "map $PWD/lib/libamdhip64.so.6"
tell before "hipLaunchKernel 5"
more LAUNCH 5 "mapped anew"

# No libraries, whatever they are called
mkdir bad
echo hip,cuda >"$set"
like "$(cat "$set")" "^hip,cuda$" "another runtime beside it"
had=$(stat_of without_functions)
mkfifo bad.in
python3 "$GT_SRC/tests/lib/badlibs.py" "$PWD/lib/libcuda.so.1" bad <bad.in >bad.out &
pid[bad]=$!
exec {bad_in}>bad.in
wait_for 20 test -s bad.out
no_functions() { [ "$(stat_of without_functions)" -ge $((had + $(cat bad.out))) ]; }
ok "files that are no libraries are looked at and left alone" wait_for 20 no_functions
has libraries 1 "… none of them has probes"
is "$(cat "$mnt/backends/bpf/state")" running "… and all goes on"
finish_prog bad

# Calls inside calls are one
prog cuda "$PWD/lib/libcudart.so.12"
echo cudart,cuda >"$set"
has libraries 2 "cudart,cuda"
tell cuda "cudaLaunchKernel 40"
tell cuda "cudaDeviceSynchronize 2"
tell cuda "cudaMemcpyAsync 3"
more LAUNCH 40 "a launch that cudart hands on to cuda is one"
more SYNC_WAIT_EXIT 2 "a wait likewise"
more COPY 3 "a copy"
is "$(value "$mnt/backends/bpf/stats" runtime_other)" 42 "what was inside is counted apart"
echo cuda >"$set"
has libraries 1 "cuda alone"
tell cuda "cudaLaunchKernel 6"
more LAUNCH 6 "… tells what cudart asks of it"
finish_prog cuda
echo hsa,hip >"$set"
has libraries 2 "hsa,hip"
tell before "hipMemcpy 4"
tell before "hipLaunchKernel 4"
more COPY 4 "a copy that hip hands on to hsa is one"
more LAUNCH 4 "a launch likewise"
more SYNC_WAIT_EXIT 0 "and its wait is part of it"
prog hsa "$PWD/lib/libhsa-runtime64.so.1"
tell hsa "hsa_queue_create 2"
tell hsa "hsa_queue_destroy 2"
tell hsa "hsa_queue_add_write_index_screlease 64"
tell hsa "hsa_amd_memory_async_copy 3"
tell hsa "hsa_memory_copy 2"
tell hsa "hsa_signal_wait_acquire 3"
more QUEUE_CREATE 2 "hsa: queues"
more QUEUE_DESTROY 2 "… destroyed"
more LAUNCH 64 "… packets"
more COPY 5 "… copies"
more SYNC_WAIT_EXIT 3 "… a wait by its old name, which jumps to the new one, is one"
is "$(value "$mnt/proc/${pid[hsa]}/stats" copy_bytes)" $((5 * 4096)) "… and bytes"
finish_prog hsa

# Installed: probes are there before the first program
echo >"$set"
cp lib/libcuda.so.1 /usr/local/lib/libcuda.so.535.1
ln -s libcuda.so.535.1 /usr/local/lib/libcuda.so.1
mkfifo /usr/local/lib/libcuda.so.2
mkdir /usr/local/lib/libcuda.so.3
cp bad/libcuda.so.1.cut /usr/local/lib/libcuda.so.4
ln -s /nowhere /usr/local/lib/libcuda.so.5
echo cuda >"$set"
has libraries 1 "an installed library has probes before anybody maps it; a fifo and a folder do not hurt"
prog installed /usr/local/lib/libcuda.so.1
tell installed "cuLaunchKernel 21"
tell installed "cuMemcpyHtoD_v2 2"
more LAUNCH 21 "… and tells from the first call on"
more COPY 2 "… of each kind"
finish_prog installed

# The end
echo off >"$mnt/config/level"
wait_for 20 links_are 0
is "$(links)" 0 "level off: the kernel keeps nothing"
echo normal >"$mnt/config/level"
has libraries 1 "and on again: as it was"
echo hip >"$set"
has libraries 1 "hip"
kill -KILL "$(daemon)"
wait_for 60 gone "$mnt"
umount -l "$mnt"
restored() { [ "$(byte_of "${pid[before]}" lib/libamdhip64.so.6 hipLaunchKernel)" = "$clean" ]; }
ok "killed: its probes go" wait_for 20 restored
ok "… and the program has not noticed" tell before "hipLaunchKernel 5"

# As kernels before Linux 6.6 do it
printf '[backend bpf]\nruntimes = hip,hsa\nprobes_singly = 1\n' >conf
mount_gt "$mnt" -o conf=conf,backend=bpf || exit 1
total=()
has libraries 2 "one by one, and on from the start"
is "$(stat_of way)" single "… is what it is"
tell before "hipLaunchKernel 17"
tell before "hipMemcpy 3"
tell before "hipStreamSynchronize 2"
more LAUNCH 17 "… launches"
more COPY 3 "… copies"
more SYNC_WAIT_EXIT 2 "… waits"
echo >"$mnt/backends/bpf/runtimes"
has closing 0 "… off"
wait_for 60 restored
is "$(byte_of "${pid[before]}" lib/libamdhip64.so.6 hipLaunchKernel)" "$clean" "… nothing is left"
umount_gt "$mnt"
done_testing
