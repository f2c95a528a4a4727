#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ioctls through BPF: of two users and many threads, counted exactly, with names, results and times; on
# devices that are no GPU, and descriptors that are none; queues that they make; who is killed in one.
# There is no driver: a device node opened with O_PATH fails every ioctl, and a file of FUSE's takes them.
# Alone
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
tool=$GT_OUT/tests/tools/gpuioctl
[ -x "$tool" ] || skip "tests/tools/gpuioctl is not built"
cleanup() { mountpoint -q f && umount -l f; }
cs=0xc0186444 wait_cs=0xc0206449 mmap=0xc0086441

mknod card0 c 226 0 && mknod render c 226 128 && mknod other c 226 64 && mknod null c 1 3 &&
	mknod nvidiactl c 195 255 && mknod nvidia0 c 195 0 ||
	skip "device nodes cannot be made here"
mkdir f && "$tool" serve f || skip "a file system of FUSE's cannot be mounted"
"$tool" call null 1 1 $cs 2>/dev/null || skip "this folder's device nodes cannot be opened"
gpu=amdgpu/0000:04:00.0
devices="d/226/0/$gpu d/226/128/$gpu d/0/0/$gpu K/0/0/kfd/- G/7/0/$gpu F/195/0/nvidia/-"
n() { value "$mnt/backends/bpf/stats" "ioctl_$1"; }
waits() { cat "$mnt/proc/$1/waits"; }
reached() { [ "$(n "$1")" = "$2" ]; }
others() { [ "$(n other)" -ge "$1" ]; } # a console may have calls of the same kinds
reported() { [ "$(value "$mnt/backends/bpf/stats" records)" = "$1" ]; }

# A file that was opened by name only takes no call: who has no right to a device can have one
printf '[backend bpf]\nioctl_devices = %s\n' "$devices" >conf
mount_gt "$mnt" -o conf=conf,backend=bpf 2>mount.err || skip "BPF: $(cat mount.err)"
blocker=$(sed -n 's/^ *ioctl unavailable: //p' "$mnt/doctor")
[ -z "$blocker" ] || skip "BPF: $blocker"
chmod 600 card0
"$tool" call card0 100 1 $cs
as_uid 1001 "$tool" call card0 100 1 $cs
ok "calls on such a file are of no device" wait_for 20 others 200
is "$(value "$mnt/backends/bpf/stats" records)" 0 "and reported to nobody"
umount_gt "$mnt"

# For what follows they count
mkdir logs
printf 'o_path = 1\n[backend amdlog]\nfiles = %s/logs/*\n' "$PWD" >>conf
mount_gt "$mnt" -o conf=conf,backend=bpf:amdlog || exit 1
is "$(n devices)" 5 "the devices that the setting names"
is "$(n drm_by) $(n kfd_by)" "tracepoints tracepoints" "seen where every ioctl passes, as no driver has these"

# Two users, four threads each: a submit, a wait, and one of no interest
mkfifo stay
as_uid 1001 "$tool" call render 100 4 $cs $wait_cs $mmap <stay & one=$!
as_uid 1002 "$tool" call card0 50 4 $cs $wait_cs $mmap <stay & two=$!
exec {stay}>stay
ok "both have been seen" wait_for 20 reported 2400
named() { [ "$(cat "$mnt"/proc/[0-9]*/comm | grep -cx gpuioctl)" = 2 ]; }
ok "and what they are called" wait_for 20 named
exec {stay}>&-
wait $one $two
folded() { [ "$(value "$mnt/events_by_type" IOCTL_EXIT)" = 1200 ]; }
wait_for 20 folded
is "$(n events) $(n unwanted) $(n no_gpu)" "1200 600 0" "all, and what is not wanted"
other=$(n other)
pid_of() { awk -v u="$1" '$0 == u { sub("/uid$", "", FILENAME); n = split(FILENAME, a, "/"); print a[n] }' "$mnt"/proc/*/uid; }
like "$(waits "$(pid_of 1001)")" "^ioctl +800 +[1-9]" "the first's, in its waits"
like "$(waits "$(pid_of 1002)")" "^ioctl +400 +[1-9]" "the second's"
cat "$mnt/amdgpu0/timeline" >timeline
is "$(grep -c "CPU IOCTL_ENTER .* cmd=$cs command=AMDGPU_CS$\|CPU IOCTL_ENTER .* cmd=$cs command=AMDGPU_CS tid=" timeline)" 600 "timeline: submits by name"
is "$(grep -c 'CPU IOCTL_EXIT .* result=-9 inside_ns=[1-9][0-9]* command=AMDGPU_WAIT_CS' timeline)" 600 "timeline: results and times of waits"
is "$(grep -c MMAP timeline)" 0 "timeline: nothing of no interest"
is "$(awk '/IOCTL_/ { for (i = 1; i <= NF; i++) if ($i ~ /^tid=/) print $i }' timeline | sort -u | wc -l)" 8 "of eight threads"
is "$(as_uid 1001 cat "$mnt/amdgpu0/timeline" | grep -c 'IOCTL_EXIT.*comm=gpuioctl')" 800 "a user sees whose the own are"
is "$(as_uid 1001 cat "$mnt/amdgpu0/timeline" | grep -c 'IOCTL_EXIT.*redacted')" 400 "and of others that they were"
ok "another's waits are not to be read" sh -c "! setpriv --reuid 1001 --clear-groups cat $mnt/proc/$(pid_of 1002)/waits"

# What is no GPU
gpus=$(ls "$mnt")
"$tool" call other 7 1 $cs
ok "a DRM device that is no GPU is counted" wait_for 20 reached no_gpu 7
"$tool" call null 5 1 $cs
ok "another device as well" wait_for 20 others $((other + 5))
is "$(value "$mnt/backends/bpf/stats" records)" 2400 "and not reported"
"$tool" tricks card0
ok "descriptors that are none, or closed by another thread" wait_for 20 reached events $((1200 + 12 + 2005))
balanced() { [ $(($(n other) - other - 5 + ($(value "$mnt/backends/bpf/stats" records) - 2400) / 2)) -ge 2005 ]; }
ok "each was reported or counted" wait_for 20 balanced
is "$(ls "$mnt")" "$gpus" "no GPU was made up"
is "$(ls -d "$mnt"/*/queues | wc -l)" 1 "there is the one"

echo verbose >"$mnt/config/level"
before=$(value "$mnt/backends/bpf/stats" records)
"$tool" call render 10 1 $mmap
ok "verbose: everything" wait_for 20 reported $((before + 20))
by_name() { grep -q "cmd=$mmap command=AMDGPU_GEM_MMAP" "$mnt/amdgpu0/timeline"; }
ok "by its name" wait_for 20 by_name
echo normal >"$mnt/config/level"
"$tool" call render 10 1 $mmap
is "$(value "$mnt/backends/bpf/stats" records)" $((before + 20)) "normal again"

# Queues: by arguments that are read when the call has succeeded
maker() { # maker COMMAND... - a process that makes queues
	coproc make { exec "$@" "$tool" queues f/gpu; }
	maker=$make_PID in=${make[1]} out=${make[0]}
}
make() { # make LETTERS
	echo "$1" >&"$in"
	read -rt 100 -u "$out" _
}
ends() {
	exec {in}>&-
	wait "$maker" 2>/dev/null
}
q=$mnt/amdgpu0/queues
is_now() { [ "$(cat "$q/$1/state" 2>/dev/null)" = "$2" ]; }
maker setpriv --reuid 1001 --regid 1001 --clear-groups
make c
ok "a queue is made" wait_for 20 is_now 1 created
is "$(cat "$q/1/type" "$q/1/engine" "$q/1/size" "$q/1/priority" "$q/1/uid" | xargs)" "compute COMPUTE 65536 11 1001" "KFD's"
is "$(readlink -f "$mnt/proc/$(cat "$q/1/pid")/queues/"* | grep -c queues/1)" 1 "its process has it"
make r
ok "changed, it runs" wait_for 20 is_now 1 mapped
is "$(cat "$q/1/size" "$q/1/priority" | xargs)" "131072 3" "with another ring"
make u
ok "without a share of the GPU it does not" wait_for 20 is_now 1 unmapped
make q
ok "amdgpu's own" wait_for 20 is_now 2 created
is "$(cat "$q/2/type" "$q/2/engine" "$q/2/size" "$q/2/priority" | xargs)" "user GRAPHICS 8192 2" "as it was asked for"
make f
ok "has ended" wait_for 20 is_now 2 destroyed
is "$(n unreadable)" 0 "all arguments could be read"
make q
ok "another one" wait_for 20 is_now 2 created
before=$(value "$mnt/backends/bpf/stats" records)
make s
make c
ok "of a file that is still open elsewhere" wait_for 20 reported $((before + 2 + 3))
is "$(cat "$q/2/state")" created "it stays"
make s
ok "closed at last, it has gone" wait_for 20 is_now 2 destroyed
is "$(cat "$q/1/state")" created "but not the process's"
ends
maker setpriv --reuid 1001 --regid 1001 --clear-groups
make c
ok "a queue" wait_for 20 is_now 1 created
make p
ok "what could not is counted" wait_for 20 reached unreadable 1
make d
ok "KFD's ends, too" wait_for 20 is_now 1 destroyed
like "$(cat "$mnt/timeline")" "CPU IOCTL_EXIT .* result=0 inside_ns=[0-9]* command=KFD_CREATE_QUEUE" "by name"
make c
ok "one of the same number is another" wait_for 20 is_now 1 created
is "$(cat "$q/1/size" "$q/1/priority" | xargs)" "65536 11" "of which nothing else is known"
# The runtime's log names the place of the queue's packets, which the call gave the driver as well
runtime() { # runtime MESSAGE... - a line of the process's, in a log of its user
	local us
	us=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)')
	printf ':3:rocdevice.cpp            :3045: %s us: [pid:%s tid: 0x1] %s\n' "$us" "$maker" "$*" >>"$log"
}
log=runtime.log
runtime "Created SWq=0x7f00 to map on HWq=0x1000 with size 16384 with priority 1, cooperative: 0"
runtime "acquireQueue refCount: 0x1000 (1)"
chown 1001 $log && mv $log logs/ && log=logs/$log
is_lent() { [ "$(cat "$q/1/channels" 2>/dev/null)" = 1 ]; }
ok "the runtime reports the queue as well" wait_for 20 is_lent
is "$(ls "$mnt/proc/$maker/queues" | wc -l)" 1 "… which is one"
is "$(cat "$q/1/size" "$q/1/state" | xargs)" "65536 created" "… and as the driver says"
like "$(cat "$mnt/timeline")" "QUEUE_MAP pid=$maker comm=gpuioctl ctx=4096 queue=1" "timeline has what both tell by its number"
runtime "acquireQueue refCount: 0x2000 (1)"
ok "another one" wait_for 20 eval '[ "$(ls "$mnt/proc/$maker/queues" | wc -l)" = 2 ]'
ends
ok "a queue ends with its process" wait_for 20 is_now 1 destroyed
maker env
make c
ok "a queue of another program" wait_for 20 is_now 1 created
echo x >&"$in" # another program, which does not answer
ok "and with its program" wait_for 20 is_now 1 destroyed
is "$(cat "$mnt/proc/$maker/state")" alive "whose process goes on"
ends
# What ended in a pause is looked for at its end
maker env
make c
ok "a queue lives" wait_for 20 is_now 1 created
found() { grep "amdgpu0 QUEUE_DESTROY .*queue=1 inferred$" "$mnt/timeline" | wc -l; }
before=$(found)
echo stop >"$mnt/control"
ends
echo start >"$mnt/control"
found_more() { [ "$(found)" = $((before + 1)) ]; }
ok "the end of a pause finds out" wait_for 20 found_more

maker env
before=$(value "$mnt/backends/bpf/stats" records)
make "$(printf 'cd%.0s' {1..500})c"
ok "of many that are made and end" wait_for 20 reported $((before + 2 * 1001 + 2 * 501 + 500))
is "$(ls "$q" | wc -l)" 2 "none takes room for long"
ends
ok "the last ends" wait_for 20 is_now 1 destroyed
is "$(n queues_refused) $(n unknown_queues)" "0 0" "none was refused, or not known"

# NVIDIA's, on whichever of its devices
nv_alloc=0xc030462b nv_info=0xc04846c8 strange=$(n no_gpu)
is "$(n nvidia_by)" tracepoints "NVIDIA's driver takes calls, too"
"$tool" call nvidiactl 20 1 $nv_alloc $nv_info </dev/null & one=$!
"$tool" call nvidia0 10 1 $nv_alloc </dev/null & two=$!
wait $one $two
calls() { [ "$(grep -cE "CPU IOCTL_EXIT .* pid=($one|$two) .*result=-9 inside_ns=[0-9]* command=NV_ESC_RM_ALLOC$" "$mnt/timeline")" = 30 ]; }
ok "those that may make queues are reported, by name, with result and time" wait_for 20 calls
is "$(grep -cE "CPU IOCTL_.* pid=($one|$two) " "$mnt/timeline")" 60 "and no others"
is "$(n no_gpu)" "$strange" "none is of no GPU"

# Times, and the end of a process within a call
"$tool" wait f/gpu 300 & waiter=$!
wait $waiter
ok "a wait is reported" wait_for 20 test -e "$mnt/proc/$waiter/waits"
left() { grep -q "^ioctl  *1 " "$mnt/proc/$1/waits"; }
ok "its end, too" wait_for 20 left $waiter
ok "for as long as it took" test "$(awk '/^ioctl/ { print $3 }' "$mnt/proc/$waiter/waits")" -ge 300000000
"$tool" wait f/gpu 600000 & waiter=$!
inside() { grep -q "pid=$waiter .*command=AMDGPU_WAIT_CS" "$mnt/timeline"; }
ok "one that is inside" wait_for 20 inside
before=$(value "$mnt/backends/bpf/stats" records)
"$tool" call render 20 60 $cs </dev/null
ok "which keeps out nobody" wait_for 20 reported $((before + 2400))
kill -KILL $waiter
wait $waiter 2>/dev/null
ok "is killed: its call has ended" wait_for 20 left $waiter
dead() { [ "$(cat "$mnt/proc/$waiter/state")" = dead ]; }
ok "and it has" wait_for 20 dead
is "$(value "$mnt/status" events_lost_source) $(n table_full) $(n exits_missing)" "0 0 0" "nothing was lost"
umount_gt "$mnt"

# What the compute driver lists: queues of before, and those that ended while nothing was reported
sleep 600 & old=$!
list=$PWD/sys/class/kfd/kfd/proc/$old/queues
mkdir -p "$list/5" && printf 7 >"$list/5/gpuid" && printf 1 >"$list/5/type" && printf 4096 >"$list/5/size"
cp -r "$list/5" "$list/6"
sed -i "/^o_path/a sysfs = $PWD/sys" conf
mount_gt "$mnt" -o conf=conf,backend=bpf || exit 1
ok "queues that were made before" wait_for 20 test -e "$q/2/type"
is "$(cat "$q"/{1,2}/{type,engine,size,state,pid,uid} | xargs)" \
	"sdma COPY 4096 created $old 0 sdma COPY 4096 created $old 0" "as they are listed"
echo stop >"$mnt/control"
rm -r "$list/6"
cp -r "$list/5" "$list/7"
echo start >"$mnt/control"
ok "after a pause the list is looked at" wait_for 20 test -e "$q/3/type"
ends_of() { [ "$(cat "$q"/*/state | sort | xargs)" = "$1" ]; }
ok "what is not in it has ended" wait_for 20 ends_of "created created destroyed"
kill -KILL $old
wait $old 2>/dev/null
ok "the others end with their process" wait_for 20 ends_of "destroyed destroyed destroyed"
like "$(cat "$mnt/timeline")" "amdgpu0 QUEUE_DESTROY .*queue=1 inferred" "which is reported at once"
umount_gt "$mnt"
sed -i '/^sysfs/d' conf

# The drivers' functions are tried first: they are not there, which is reported with what is done instead
printf '[backend bpf]\nioctl_devices = %s\no_path = 1\nioctl_by = fentry kprobe tracepoint\n' "$devices" >conf
if grep -qE ' (drm|kfd)_ioctl\b' /proc/kallsyms; then
	skip_ok "what is in the way of a function" "this kernel has them"
else
	mount_gt "$mnt" -o conf=conf,backend=bpf || exit 1
	like "$(cat "$mnt/doctor")" "ioctl_drm_by tracepoints .*no fentry: .*drm_ioctl\(\).*no kprobe on drm_ioctl\(\)" "what is in the way of drm_ioctl()"
	like "$(cat "$mnt/doctor")" "ioctl_kfd_by tracepoints .*no kprobe on kfd_ioctl\(\)" "and of kfd_ioctl()"
	"$tool" call render 10 2 $cs
	ok "each is reported once all the same" wait_for 20 reported 40
	is "$(n events) $(n exits_missing)" "20 0" "and counted once"
	umount_gt "$mnt"
	sed -i 's/^ioctl_by.*/ioctl_by = fentry kprobe/' conf
	mount_gt "$mnt" -o conf=conf,backend=bpf || exit 1
	like "$(cat "$mnt/doctor")" "^ *ioctl unavailable: no kprobe on [a-z_]*_ioctl\(\)" "without tracepoints the part says that it cannot"
	umount_gt "$mnt"
fi
done_testing
