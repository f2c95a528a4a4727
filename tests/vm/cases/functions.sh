#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# backends/ftrace/functions: calls of kernel functions by ftrace's filter syntax, bad filters, modules
# that come and go; and buffer_size, which never takes the machine's memory.
# Early
. "$GT_SRC/tests/lib/case.sh"
tracing=/sys/kernel/tracing
map=$GT_OUT/share/gputrace/events.d/zz_functions.ini # the guest's own: this machine's is below an overlay
cleanup() {
	rm -f "$map"
	rmmod vgem mockgpu 2>/dev/null
}
# While no driver is there yet: uprobes play its events
modprobe -qra virtio_gpu amdgpu i915 xe gpu-sched
"$GT_OUT/tests/test_ftrace_live" emptied >emptied
is "$? $(grep -c "missing of 150" emptied)" "0 9" "nothing is lost when the tracer goes on and off"
rm emptied

modprobe -a gpu-sched fuse drm_shmem_helper
top_on=$(cat $tracing/tracing_on)
printf '[function/vgem_fence_open]\nevent = QUEUE_MAP\nvalue = 1\n' >"$map"
mount_gt "$mnt" -o backend=ftrace || exit 1
ftrace=$mnt/backends/ftrace
stats=$ftrace/stats
instance=$(echo $tracing/instances/gputrace-*)
filter() { # on a slow machine the answer may come too late (ETIMEDOUT, EINPROGRESS): it is asked for again
	{ printf '%s\n' "$1" >"$ftrace/functions"; } 2>filter.err && return
	grep -qE 'timed out|now in progress' filter.err || { cat filter.err >&2; return 1; }
	printf '%s\n' "$1" >"$ftrace/functions"
}
reported() { grep -q "$1" "$mnt/timeline"; }
vgem_card() { echo /dev/dri/"$(basename /sys/devices/*/vgem/drm/card*)"; } # platform/, or faux/
open_vgem() { wait_for 20 test -e "$(vgem_card)" && (exec 5<>"$(vgem_card)"); }
refused() { # refused "filter" "sentence" "what"
	filter "$1" 2>err
	like "$(cat err)" "Invalid argument" "$3: EINVAL"
	like "$(cat "$mnt/last_cmd_status")" "$2" "… with a sentence"
}

is "$(cat "$ftrace/functions")$(cat "$instance/current_tracer")" nop "off from the start"
# has its name before it is met
mkfifo go
cat go /proc/self/stat >/dev/null &
wait_for 20 grep -qx cat /proc/$!/comm
ok "names and patterns" filter 'vfs_open, ksys_[r]ead* !*readahead*'
is "$(cat "$ftrace/functions")" 'vfs_open, ksys_[r]ead* !*readahead*' "the filter reads back"
is "$(cat "$instance/current_tracer")" function "the tracer is on in our instance"
is "$(cat $tracing/current_tracer)" nop "… and only there"
like "$(grep -v kernel_halt "$instance/set_ftrace_filter" | sort | xargs)" "^ksys_read vfs_open$" "the kernel has these"
echo >go
ok "timeline shows calls by name" wait_for 20 reported "CPU FUNCTION .* comm=cat .*function=vfs_open"
daemon=$(pgrep -f "mount.gputrace $mnt( |\$)")
is "$(grep -cE "CPU FUNCTION .*pid=$daemon( |\$)" "$mnt/timeline")" 0 "what we call ourselves to read them is left out"
counted() { grep -q '^functions_traced 2$' "$stats"; }
ok "stats count the functions" wait_for 20 counted

refused 'nosuch_function' "'nosuch_function' means no function" "a name of nothing"
refused 'vfs_read nosuch_*' "'nosuch_\*' means no function" "… behind a good one"
refused 'nosuch*:mod:gpu_sched vfs_read' "gpu_sched. means no function" "… of a module that is loaded"
refused 'schedule:traceoff' "is a command" "a command"
refused ':snapshot' "is a command" "a command alone"
refused 'stacktrace' "means no function" "what is a command only behind a colon"
refused '12' "is a number" "a place in the kernel's list"
refused '!vfs_read' "only takes away" "nothing but exceptions"
refused 'vfs_open;reboot' "no function has" "a character of no name"
is "$(cat "$ftrace/functions")" 'vfs_open, ksys_[r]ead* !*readahead*' "the old one stays"
like "$(grep -v kernel_halt "$instance/set_ftrace_filter" | sort | xargs)" "^ksys_read vfs_open$" "… and is at work"
is "$(cat $tracing/tracing_on)" "$top_on" "the kernel's own tracing is as it was"

ok "a module that is not loaded" filter ':mod:vgem'
is "$(grep -c . <"$instance/set_ftrace_filter")" 2 "waits, and nothing else is traced meanwhile"
like "$(cat "$mnt/doctor")" "functions_pending :mod:vgem: module vgem is not loaded" "doctor says so"
cat "$mnt/trace" >trace & cat "$mnt/events" >events & readers=$(jobs -p)
wait_for 20 test -s events
modprobe vgem
ok "its very init is traced, and has its name" wait_for 20 reported "FUNCTION .*comm=modprobe .*function=vgem_init"
ok "it waits no more" sh -c "! grep -q pending $stats"
open_vgem
traced() { grep -qE "FUNCTION .* (bash|functions.sh) .*function=vgem_open$" trace; }
ok "trace shows calls with names" wait_for 20 traced
ok "a section of an event map makes its event of one" wait_for 20 reported "QUEUE_MAP .*comm=[bf]"
ok "… instead of the call" sh -c "! grep -q function=vgem_fence_open $mnt/timeline"
rmmod vgem
ok "it is gone" grep -q "functions_pending :mod:vgem" "$stats"
modprobe vgem
rescan
before=$(value "$stats" function_calls)
open_vgem
again() { [ "$(value "$stats" function_calls)" -ge $((before + 3)) ]; }
ok "and is traced when it comes again" wait_for 20 again
is "$(value "$stats" function_calls_unknown)" 0 "no call without a name"

# In CTF a name is the number's label; a new reader is reported the names first
kill $readers
mkdir ctf
cp "$mnt/metadata" ctf/metadata
cat "$mnt/events" >new & reader=$!
named() { grep -q vgem_open new; }
wait_for 20 named
kill $reader
wait $readers $reader 2>/dev/null
cp events ctf/events
like "$(babeltrace2 ctf 2>&1)" 'FUNCTION: .*value = \( "vgem_open" : container = ' "babeltrace2 prints names"
mkdir ctf2
cp "$mnt/metadata" new ctf2
for f in ctf ctf2; do
	babeltrace2 $f 2>/dev/null | sed -nE "s/.* NAME: .* id = ([0-9]+), kind = \( \"FUNCTION\" .*text = \"([^\"]*)\" .*/$f \1 \2/p"
done >names
is "$(sort -u -k 2 names | grep -c .)" "$(sort -u -k 3 names | grep -c .)" "one number for one name"
like "$(grep ^ctf2 names)" "vgem_open" "a new reader reads them"
like "$(as_user cat "$mnt/timeline")" "FUNCTION .*function=vgem_open.* redacted" "others see the call, not who made it"
is "$(as_user cat "$mnt/timeline" | grep -cE 'FUNCTION .*comm=(bash|functions|modprobe)')" 0 "… nor their names"
is "$(cat "$mnt/config/level")" "normal" "all that at level normal"

if [ -e "${GT_MODULES-}/mockgpu.ko" ]; then
	filter ':mod:mockgpu'
	insmod "$GT_MODULES/mockgpu.ko"
	ok "the mock GPU's init" wait_for 20 reported "FUNCTION .*comm=insmod .*function=mock"
	rmmod mockgpu
fi

ok "off" filter ''
is "$(cat "$instance/current_tracer") $(cat "$ftrace/functions")" "nop " "… it is"
like "$(head -1 "$instance/set_ftrace_filter")" "all functions" "no filter is left"
at_rest() { # what was called before may still come
	local calls
	calls=$(value "$stats" function_calls)
	read -rt 0.3 -u "$never"
	[ "$(value "$stats" function_calls)" = "$calls" ]
}
ok "no call comes any more" wait_for 20 at_rest

# 100 GB of buffers
free=$(value /proc/meminfo MemAvailable:)
ok "100 GB of buffer may be asked" sh -c "echo 100000000000 >$ftrace/buffer_size"
left=$(value /proc/meminfo MemAvailable:)
ok "MemAvailable falls by no more than an eighth ($free to $left kB)" [ $((left * 8)) -ge $((free * 7)) ]
granted=$(cat "$ftrace/buffer_size")
is "$(value "$stats" buffer_asked)" 100000000000 "stats say what was asked"
is "$(value "$stats" buffer_granted)" "$granted" "… and granted"
is "$(value "$stats" buffer_total)" $(($(cat "$instance/buffer_total_size_kb") * 1024)) "… over all CPUs"
ok "less than asked, and something" [ "$granted" -lt 100000000000 -a "$granted" -gt 65536 ]
like "$(cat "$mnt/doctor")" "buffer_asked 100000000000" "doctor says it"
like "$(cat "$mnt/doctor")" "buffer_granted $granted" "… both"

filter 'vfs_open'
ok "unmounted while it traces" umount_gt "$mnt"
ok "nothing is left" test ! -e "$instance"
is "$(cat $tracing/enabled_functions)" "" "no function is traced"

# From the configuration; a bad one
printf '[backend ftrace]\nfunctions = vfs_open\n[buffers]\nbuffer_size = 100000000000\n' >conf
mount_gt "$mnt" -o conf=conf,backend=ftrace
is "$(cat "$ftrace/functions") $(cat $tracing/instances/gputrace-*/current_tracer)" "vfs_open function" "from the configuration"
umount_gt "$mnt"
for bad in vfs_open:traceon nosuch_function; do
	printf '[backend ftrace]\nfunctions = %s\n' $bad >conf
	like "$(mount_gt "$mnt" -o conf=conf,backend=ftrace 2>&1)" "functions: '$bad'" "a bad one there is reported ($bad)"
done
is "$(ls $tracing/instances)" "" "and leaves nothing"

done_testing
