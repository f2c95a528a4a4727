#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Logs of AMD's runtime on a real mount: one that a program writes on, one that another user owns, one that
# is forged.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount for others"

logs=$PWD/logs
mkdir -m 755 "$logs"
us() { # of CLOCK_MONOTONIC, now
	python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)'
}
line() { # line PID MESSAGE... - as ROCm 7 writes it at level 4
	printf ':4:rocvirtual.cpp           :1177: %s us: [pid:%s tid: 0x7f01] %s\n' "$(us)" "$1" "${*:2}"
}
packet() { # packet PID HWQ RPTR WPTR
	line "$1" "ShaderName : void saxpy<float>(int)"
	line "$1" "SWq=0x1, HWq=$2, id=1, Dispatch Header = 0xb02 (type=2, barrier=1, acquire=1, release=1), setup=3, grid=[1, 1, 1], workgroup=[1, 1, 1], private_seg_size=0, group_seg_size=0, kernel_obj=0x1, kernarg_address=0x2, completion_signal=0x0, correlation_id=0, rptr=$3, wptr=$4"
}
seen() { awk -v t="$2" '$1 == t { print $2 }' "$1/events_by_type"; }
has() { [ "$(seen "$mnt" "$1")" = "$2" ]; }
lines() { [ "$(value "$mnt/backends/amdlog/stats" lines)" = "$1" ]; }

sleep 1000 & mine=$!
setpriv --reuid 2100000001 --regid 2100000001 --clear-groups sleep 1000 & theirs=$!
cleanup() { kill $mine $theirs; }

# A log that has lines already: its queue is known, its past is not reported
log=$logs/hip_$mine
{
	line $mine "Created SWq=0x1 to map on HWq=0x7f0000 with size 16384 with priority 1, cooperative: 0"
	packet $mine 0x7f0000 0 0
} >"$log"
# A folder that only its owner may enter, which the configuration names
private=$PWD/private
mkdir -m 700 "$private" && chown 2100000001 "$private"
printf '[backend amdlog]\nfiles = %s/hip_*,%s/hip_*\n' "$logs" "$private" >conf
mount_gt "$mnt" -o conf=conf,backend=amdlog || exit 1
ok "what was there is read" wait_for 20 lines 3
is "$(seen "$mnt" DISPATCH)" "" "… but its past is not reported"
is "$(value "$mnt/backends/amdlog/stats" events_before_the_start)" 3 "… and counted"

packet $mine 0x7f0000 4 6 >>"$log"
packet $mine 0x7f0000 4 9 >>"$log"
ok "dispatches come as they are written" wait_for 20 has DISPATCH 2
q=$(echo "$mnt"/amdgpu*/queues/*)
is "$(cat "$q/pid")" $mine "the queue is its process's"
is "$(cat "$q/type")" compute "… a compute queue"
is "$(cat "$q/size")" 16384 "… of that size"
deep() { [ "$(value "$q/depth" now) $(value "$q/depth" peak)" = "5 5" ]; } # which is said a moment later
ok "… and holds that many packets" wait_for 20 deep
like "$(cat "$mnt/timeline")" "amdgpu[^ ]* DISPATCH pid=$mine .*seqno=9 (kernel=saxpy[^ ]*|late_from=[0-9.]+) queue=" "timeline reports the dispatch"
ok "… and of the depth" wait_for 20 grep -qE "COUNTER pid=$mine .*reading=5 (counter=depth|late_from=[0-9.]+) queue=" "$mnt/timeline"
{
	line $mine "SWq=0x1, HWq=0x7f0000, id=1, BarrierAND Header = 0x1503 (type=3), dep_signal=[0x0], completion_signal=0x99, rptr=9, wptr=10"
	line $mine "Handler: value(0), timestamp(0x1), handle(0x99)"
} >>"$log"
ok "a barrier's end is the kernels' before it" wait_for 20 has COMPLETE 3
is "$(stage "$q/latency" total count)" 3 "… which have a latency then"

printf 'no newline' >>"$log"
printf ' yet\n' >>"$log"
ok "what the program itself writes is counted" wait_for 20 grep -qx 'lines_foreign 1' "$mnt/backends/amdlog/stats"
: >"$log"
line $mine "Deleting hardware queue 0x7f0000 with refCount 0" >>"$log"
ok "a log that is cut is read anew" wait_for 20 grep -qx destroyed "$q/state"

# Another's log, in a folder that is found: it is theirs
other=$logs/hip_other
packet $theirs 0x5000 0 1 >"$PWD/new"
packet $mine 0x6000 0 1 >>"$PWD/new"
chown 2100000001 "$PWD/new"
mv "$PWD/new" "$other"
ok "another user's log" wait_for 20 has DISPATCH 4
is "$(cat "$mnt"/proc/$theirs/uid)" 2100000001 "is of their process"
ok "… on a GPU that they only claim to use" test -d "$mnt/amdgpu-claimed/proc/$theirs"
is "$(grep -c "DISPATCH.*pid=$mine " "$mnt/timeline")" 2 "and not of one that it claims"
is "$(value "$mnt/backends/amdlog/stats" pids_of_others)" 1 "… which is counted"
is "$(as_uid 2100000003 grep -c "pid=$theirs" "$mnt/timeline")" 0 "another user does not see whose it is"
others=$(as_uid 2100000003 grep -E "DISPATCH|COMPLETE|COUNTER" "$mnt/timeline")
like "$others" "DISPATCH redacted" "… but that there was a kernel"
is "$(grep -cE "seqno=|reading=|_ns=" <<<"$others")" 0 "… and none of what the log says of it"
ok "its owner does" as_uid 2100000001 grep -q "DISPATCH.*pid=$theirs" "$mnt/timeline"
ok "the table of logs is not for users" as_uid 2100000001 sh -c "! cat $mnt/backends/amdlog/logs"
like "$(cat "$mnt/backends/amdlog/logs")" "^read +2100000001 .* $other$" "… and shows root its owner"

packet $theirs 0x5000 1 2 >"$PWD/new"
chown 2100000001 "$PWD/new" && chmod 600 "$PWD/new"
mv "$PWD/new" "$private/hip_theirs"
ok "what only its owner may read" wait_for 20 has DISPATCH 5
is "$(cat "$mnt/backends/amdlog/"{stats,last_error} "$mnt/doctor" | grep -c "$private")" 0 "… which nothing names that everybody reads"
mv "$private/hip_theirs" "$PWD/away"

ln -s /etc/shadow "$logs/hip_link"
mkfifo "$logs/hip_pipe"
packet $mine 0x6000 0 1 >>"$log"
ok "links and pipes do no harm" wait_for 20 has DISPATCH 6
ok "… as root may see" wait_for 20 grep -q '/hip_link: .*symbolic' "$mnt/backends/amdlog/problems"
rows() { [ "$(grep -vc '^state' "$mnt/backends/amdlog/logs")" = "$1" ]; }
ok "… and are not read" wait_for 20 rows 3
is "$(grep -c hip_ "$mnt/backends/amdlog/last_error")" 0 "… and nobody else"
like "$(cat "$mnt/clocks")" '^amdlog +CLOCK_MONOTONIC +0 +0 ' "clocks reports its clock"

echo "$logs/none" >"$mnt/backends/amdlog/files"
ok "other files" wait_for 20 grep -qx 'logs 0' "$mnt/backends/amdlog/stats"
echo "$logs/" >"$mnt/backends/amdlog/files"
packet $mine 0x6000 1 2 >>"$log"
ok "a folder" wait_for 20 has DISPATCH 7
mv "$PWD/away" "$private/hip_theirs"
echo "$private/,$logs/" >"$mnt/backends/amdlog/files"
packet $mine 0x6000 2 3 >>"$log"
ok "a folder that is not for all, which was written" wait_for 20 has DISPATCH 8
is "$(grep -c hip_theirs "$mnt/backends/amdlog/logs")" 0 "… is not looked into"
ok "unmounted" umount_gt "$mnt"

# Played: the same tree, whoever's processes they were
cat >played <<'L'
what the program writes before
:3:rocdevice.cpp            :2951: 578897353351 us:  Created SWq=0x7f8ec8e86000 to map on HWq=0x7f8eb5c00000 with size 16384 with priority 1, cooperative: 0
:3:rocdevice.cpp            :3045: 578897353425 us:  acquireQueue refCount: 0x7f8eb5c00000 (1)
:3:rocvirtual.cpp           :3596: 578897390463 us:  ShaderName : void f<double>(double*)
:3:hip_module.cpp           :826 : 578897390507 us:  hipLaunchKernel: Returned hipSuccess :
:3:rocdevice.cpp            :3077: 578897391176 us:  releaseQueue refCount:0x7f8eb5c00000 (0)
L
cp played "played_4711"
mount_gt "$mnt" -o replay="$PWD/played_4711"
ok "a log is played to its end" wait_for 20 grep -qx ended "$mnt/backends/amdlog/state"
is "$(cat "$mnt"/amdgpu0/queues/*/{pid,state,channels,created} | tr '\n' ' ')" "4711 unmapped 0 578897.353351000 " "its queue"
is "$(cat "$mnt"/amdgpu0/kernels/*/name)" "void f<double>(double*)" "its kernel"
like "$(cat "$mnt/timeline")" '^.578897.390463000. amdgpu0/compute_queues DISPATCH pid=4711 kernel=f_double' "its dispatch"
echo "seek 578897.390463" >"$mnt/control"
is "$(cat "$mnt/backends/amdlog/state") $(seen "$mnt" QUEUE_CREATE) $(seen "$mnt" DISPATCH)" "paused 1 " "seek: what was until then"
ok "… rescan does not make it play on" sh -c "echo rescan >$mnt/control"
is "$(seen "$mnt" DISPATCH)" "" "… but play"
echo play >"$mnt/control"
ok "… does" wait_for 20 has DISPATCH 1
ok "… to the end" wait_for 20 grep -qx ended "$mnt/backends/amdlog/state" # a seek before that would play on
echo "seek 578897.390463" >"$mnt/control"
ok "… backwards" wait_for 20 has DISPATCH "" # a seek that takes longer than a second goes on by itself
echo "seek +1ns" >"$mnt/control"
ok "… and forwards" wait_for 20 has DISPATCH 1
is "$(seen "$mnt" QUEUE_UNMAP)" "" "… and no further"
umount_gt "$mnt"
"$GT_PROG" "$mnt" -o replay="$PWD/played_4711,speed=2" 2>err
is $? 32 "a speed is refused"
like "$(cat err)" "speed=" "… with a sentence"
: >empty
ok "an empty one is refused" sh -c "! $GT_PROG $mnt -o replay=$PWD/empty 2>err"
like "$(cat err)" "empty" "… with the reason"
done_testing
