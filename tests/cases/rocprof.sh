#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Results of rocprof as a tree: the same numbers as an independent computation, for whom they are.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
results="python3 $GT_SRC/tests/lib/rocprof.py"
work="python3 $GT_SRC/tests/lib/worktruth.py"
traces="python3 $GT_SRC/tests/lib/att.py"

$results generate run 1
chown -R 12345 run
all_read() { [ "$(cat "$mnt/backends/rocprof/state")" = ended ]; }
mount_gt "$mnt" -o replay=run || exit 1
ok "they are read to the end" wait_for 60 all_read
is "$(cat "$mnt/backends/rocprof/last_error")" "" "… with nothing wrong"
ok "counts, sums and percentiles are as computed" $results compare run -- "$mnt"
ok "kernels and copies are jobs, in every file alike" $work run -- "$mnt"
is "$(awk 'NR > 1 { print $3, $4, $5, $7, $9 }' "$mnt/rings" | sort -u)" "compute_queues COMPUTE - - -
copies COPY - - -" "… of rings of their own; what is not known of these is not 0"
is "$(ls "$mnt"/amdgpu*/ring*/ | grep -cxE 'depth|jobs')" 0 "… nor is their depth there"
is "$(awk 'FNR > 1 { print $NF }' "$mnt"/*/utilization | sort -u)" dispatches "where utilization is from"
is "$(cat "$mnt"/amdgpu*/by-name/compute_queues/engine | sort -u)" COMPUTE "they are found by name"
is "$(awk 'NR > 1 { print $9 }' "$mnt/gpus" | sort | tr '\n' ' ')" "0000:05:00.0 0000:75:00.0 " "GPUs by their place"
is "$(awk '$1 == "DISPATCH" || $1 == "COPY" { print $2 }' "$mnt/events_by_type" | tr '\n' ' ')" "3000 50 " "dispatches and copies are events"
is "$(awk '$1 == "LAUNCH" { print $2 }' "$mnt/events_by_type")" "$(grep -c hipLaunchKernel run/4242_hip_api_trace.csv)" "so are launches"
like "$(cat "$mnt/timeline")" ' DISPATCH .*pid=4242 .*exec_ns=[0-9]+ kernel=mul_float_int~[0-9a-f]+ queue=1' "the timeline names kernels"
is "$(cat "$mnt"/amdgpu*/queues/*/type | grep -c compute)" 6 "three queues on two GPUs"
is "$(awk '{ n += $2 } $1 == "completed" { c += $2 } END { print c }' "$mnt"/amdgpu*/queues/*/stats)" 3000 "… have all dispatches"
is "$(ls "$mnt"/amdgpu0/kernels | grep -c '[^A-Za-z0-9_.+~-]')" 0 "names of directories are plain"
k=$mnt/amdgpu0/kernels
ok "a plain name is the directory's" [ -d "$k/__amd_rocclr_copyBuffer" ]
is "$(cat "$k"/etc_passwd~*/name)" "../../../etc/passwd" "what is not is in name"
is "$(cat "$k"/line_break~*/name)" 'line\012break' "… in one line"
like "$(cat "$k/__amd_rocclr_copyBuffer/resources")" '^vgpr +32 +32$' "resources"
like "$(cat "$k/__amd_rocclr_copyBuffer/resources")" '^grid_x +256 +1280$' "… least and most"
is "$(count_rows "$k/__amd_rocclr_copyBuffer/dispatches")" 32 "the last dispatches"
first=$(awk -F, '/GPU/ { print $3, $1 }' run/4242_agent_info.csv | sort -n | awk '{ print $2; exit }') # by PCI address
sums() { $results sum run/4242_counter_collection.csv "Agent $first" "$1"; }
like "$(cat "$mnt/amdgpu0/counters")" "^TCC_HIT_sum +[0-9]+ +$(sums TCC_HIT_sum) " "counters of a GPU"
hit=$(sums TCC_HIT_sum) miss=$(sums TCC_MISS_sum)
like "$(cat "$mnt/amdgpu0/counters")" "^l2_hit_percent +- +- +- +$(python3 -c "print('%.2f' % (100 * $hit / ($hit + $miss)))" | sed 's/.$//')" "L2 hit rate"
like "$(cat "$mnt/amdgpu0/counters")" '^read_32b_percent +- +- +- +25.00 +-$' "32-byte reads"
ok "counters of a kernel" grep -q '^TCC_MISS_sum  *[1-9]' "$k/__amd_rocclr_copyBuffer/counters"
like "$(cat "$mnt/backends/rocprof/files")" "^read +kernel_trace +12345 +3000 +0 " "each file and its owner"
like "$(cat "$mnt/backends/rocprof/calls")" " hipMalloc\$" "calls by function"
readme() { for f in name stats latency resources dispatches counters kernel_stats; do grep -qE "^  $f " "$mnt/README" || return; done; }
ok "README has files of kernels, and their table" readme
ok "every file reads" sh -c "find $mnt/amdgpu0 -type f ! -name events ! -name trace -exec cat {} + >/dev/null"

# each line again
mkdir twice
for f in run/*.csv; do { cat "$f"; tail -n +2 "$f"; } >"twice/${f##*/}"; done
chown -R 12345 twice
umount_gt "$mnt"
mount_gt "$mnt" -o replay=twice || exit 1
ok "lines that are there twice are read to the end" wait_for 60 all_read
ok "a dispatch that is there twice is one, in every file" $work run -- "$mnt"
ok "… as the lines that are there once" $work twice -- "$mnt"
is "$(awk '$1 == "duplicates" { print $2 }' "$mnt/backends/rocprof/stats")" 3550 "what was left out is counted"
umount_gt "$mnt"
mount_gt "$mnt" -o replay=run || exit 1
ok "what is there once is read to the end" wait_for 60 all_read

# whose they are
ok "their owner sees them" as_uid 12345 cat "$k/__amd_rocclr_copyBuffer/stats"
is "$(as_uid 12345 ls "$mnt/amdgpu0/kernels" | wc -l)" "$(ls "$mnt/amdgpu0/kernels" | wc -l)" "… all of them"
ok "… and the counters" as_uid 12345 grep -q TCC_HIT "$mnt/amdgpu0/counters"
is "$(as_uid 12345 cat "$mnt/amdgpu0/kernel_stats")" "$(cat "$mnt/amdgpu0/kernel_stats")" "… and their table"
is "$(as_user ls "$mnt/amdgpu0" | grep -cE '^(kernels|kernel_stats|counters)$')" 0 "another user sees none of these"
ok "… by its name neither" sh -c "! setpriv --reuid 65534 --regid 65534 --clear-groups cat $mnt/amdgpu0/kernel_stats 2>/dev/null"
is "$(as_user awk 'NR > 1 { print $7, $(NF - 1) }' "$mnt/report" | sort -u)" "- -" "nor the owners of jobs"
is "$(as_user awk 'NR > 1 { print $1, $2, $NF }' "$mnt/top" | sort -u)" "- - -" "… in top"
ok "… nor finds one" sh -c "! setpriv --reuid 65534 --regid 65534 --clear-groups cat $k/__amd_rocclr_copyBuffer/stats 2>/dev/null"
ok "… nor reads counters by their name" sh -c "! setpriv --reuid 65534 --regid 65534 --clear-groups cat $mnt/amdgpu0/counters 2>/dev/null"
like "$(as_user cat "$mnt/timeline")" ' DISPATCH .*redacted' "whose work it was is blanked"
is "$(as_user cat "$mnt/timeline" | grep -c 'kernel=')" 0 "… and what it was"
umount_gt "$mnt"
mount_gt "$mnt" -o replay=run,visibility=all || exit 1
ok "they are read to the end" wait_for 60 all_read
ok "with visibility=all everybody sees their table" as_user grep -q __amd_rocclr_copyBuffer "$mnt/amdgpu0/kernel_stats"
ok "with visibility=all everybody sees them" as_user cat "$k/__amd_rocclr_copyBuffer/stats"

# to a time, and on
half=$(python3 -c "
import csv
ends = sorted(int(r['End_Timestamp']) for r in csv.DictReader(open('run/4242_kernel_trace.csv')))
print(ends[len(ends) // 2], sum(e < ends[len(ends) // 2] for e in ends))")
dispatched() { [ "$(awk '$1 == "DISPATCH" { print $2 }' "$mnt/events_by_type")" = "$1" ]; }
echo "seek ${half% *}ns" >"$mnt/control"
ok "seek: kernels that had ended by then" wait_for 60 dispatched "${half#* }"
is "$(cat "$mnt/backends/rocprof/state")" paused "… where it is paused"
echo play >"$mnt/control"
ok "play goes on to the end" wait_for 60 dispatched 3000
ok "… which it is" wait_for 60 all_read
umount_gt "$mnt"

"$GT_PROG" "$mnt" -o replay=run,speed=2 2>err && mounts+=("$mnt")
like "$(cat err)" "speed= is not for them" "they have no pace"

# what has no time is shown, too
printf '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs"\nadd,2,300,150,100,100,200\n' >only_kernel_stats.csv
"$GT_PROG" "$mnt" -o replay=only_kernel_stats.csv 2>err && mounts+=("$mnt")
ok "statistics are shown" grep -qE ' 2 +300 .* add$' "$mnt"/*/kernel_stats
is "$(cat err "$mnt/backends/rocprof/last_error")" "" "… without a warning that there is nothing"
umount_gt "$mnt"

# what is no result
mkdir bad
ln -s /etc/shadow bad/a.csv
mkfifo bad/b.csv
"$GT_PROG" "$mnt" -o replay=bad 2>err && mounts+=("$mnt")
like "$(cat err)" "no results in it" "a folder of a link and a FIFO is refused"
: >bad/empty.csv
head -c 100000 run/4242_kernel_trace.csv >bad/4242_kernel_trace.csv
mount_gt "$mnt" -o replay=bad || exit 1
ok "what is beside them is read" wait_for 60 all_read
like "$(cat "$mnt/backends/rocprof/problems")" "a.csv: is a symbolic link" "each fault has its name: a link"
like "$(cat "$mnt/backends/rocprof/problems")" "b.csv: is not a regular file" "a FIFO"
like "$(cat "$mnt/backends/rocprof/problems")" "empty.csv: is empty" "an empty file"
like "$(cat "$mnt/backends/rocprof/problems")" "4242_kernel_trace.csv: row [0-9]+ does not fit" "a cut one"
ok "nothing of /etc/shadow is anywhere" sh -c "! grep -rqs --exclude=events --exclude=trace 'root:' $mnt/amdgpu* $mnt/backends/rocprof"
umount_gt "$mnt"

# the database of ROCm 7
$results database r.db 2000
mount_gt "$mnt" -o replay=r.db || exit 1
ok "a rocpd database is read" wait_for 60 all_read
ok "… as computed" $results compare r.db -- "$mnt"
ok "… jobs in every file alike" $work r.db -- "$mnt"
is "$(cat "$mnt/backends/rocprof/last_error")" "" "… with nothing wrong"
is "$(awk 'NR > 1 { print $9 }' "$mnt/gpus" | tr '\n' ' ')" "0000:05:00.0 0000:75:00.0 " "… its GPUs by their place"
is "$(awk '$1 == "DISPATCH" || $1 == "COPY" || $1 == "LAUNCH" { print $1, $2 }' "$mnt/events_by_type" | sort | tr '\n' ' ')" "COPY 20 DISPATCH 2000 LAUNCH 20 " "… its events, a range named like a launch is none"
like "$(cat "$mnt/timeline")" ' COPY .* bytes=4096 time_ns=9' "… bytes of copies"
like "$(cat "$mnt/amdgpu1/counters")" '^SQ_WAVES +2000 +5000 ' "… counters"
like "$(cat "$mnt/backends/rocprof/allocations")" '^ *[0-9]+ +memory +1 +1 +8192 +1 +ALLOC$' "… allocations"
k=$mnt/amdgpu1/kernels
like "$(cat "$k/__amd_rocclr_copyBuffer/resources")" '^vgpr +32 +32$' "… resources"
is "$(grep -c ' pid=4242 .*tid=4243' "$mnt/timeline")" 2040 "… process and thread"
umount_gt "$mnt"
python3 - <<'P'
import shutil, sqlite3
shutil.copy('r.db', 'plain.db')
d = sqlite3.connect('plain.db')
d.executescript('DROP VIEW rocpd_event; CREATE VIEW rocpd_event AS SELECT id, correlation_id FROM rocpd_event_u')
d.commit()
P
mount_gt "$mnt" -o replay=plain.db || exit 1
ok "a database without categories is read" wait_for 60 all_read
is "$(awk '$1 == "LAUNCH" { print $2 }' "$mnt/events_by_type")" 21 "… all its calls"
umount_gt "$mnt"
mkfifo go
$results writing r.db 3000 2000 <go >state &
exec {go}>go
ok "somebody writes to it" wait_for 30 grep -q writing state
"$GT_PROG" "$mnt" -o replay=r.db 2>err && mounts+=("$mnt")
like "$(cat err)" "r.db: is being written: there is a journal" "one that is being written is refused"
echo >&$go
exec {go}>&-
wait
mount_gt "$mnt" -o replay=r.db || exit 1
ok "when it has been, it is read" wait_for 60 all_read
ok "… as computed" $results compare r.db -- "$mnt"
is "$(awk '$1 == "DISPATCH" { print $2 }' "$mnt/events_by_type")" 5000 "… all of it"
umount_gt "$mnt"
mkdir dbs
head -c 150000 r.db >dbs/cut.db
{ head -c 100000 r.db; head -c 100000 /dev/urandom; tail -c +200001 r.db; } >dbs/corrupt.db
{ printf 'SQLite format 3\0'; head -c 50000 /dev/urandom; } >dbs/random.db
python3 -c "import sqlite3; d = sqlite3.connect('dbs/other.db'); d.execute('CREATE TABLE a (b)'); d.commit()"
mount_gt "$mnt" -o replay=dbs || exit 1
ok "damaged databases are got over with" wait_for 60 all_read
problems=$(cat "$mnt/backends/rocprof/problems")
like "$problems" 'cut.db: .*malformed' "a cut one has its fault named"
like "$problems" 'corrupt.db: .*malformed' "a corrupt one too"
like "$problems" 'random.db: is no sound database' "what is none is refused"
like "$problems" 'other.db: is no database of rocprof.s' "so is somebody else's"
umount_gt "$mnt"

# JSON
python3 - <<'P'
import json
run = {'metadata': {'pid': 77}, 'agents': [{'id': {'handle': 9}, 'type': 2, 'location_id': 29952, 'domain': 1}],
       'counters': [{'id': {'handle': 5}, 'name': 'SQ_WAVES'}],
       'strings': {'buffer_records': [{'kind': 'NONE', 'operations': []}, {'kind': 'HIP', 'operations': ['hipFree', 'hipLaunchKernel']}]},
       'kernel_symbols': [{'kernel_id': 3, 'kernel_name': 'k.kd', 'formatted_kernel_name': 'k "1"', 'sgpr_count': 16, 'arch_vgpr_count': 8}],
       'callback_records': {'counter_collection': [{'dispatch_data': {'dispatch_info': {'agent_id': {'handle': 9}, 'kernel_id': 3}},
                                                    'records': [{'counter_id': {'handle': 5}, 'value': 2.5}]}]},
       'buffer_records': {'kernel_dispatch': [{'thread_id': 78, 'correlation_id': {'internal': i, 'external': 0}, 'start_timestamp': 1000 * i,
                                               'end_timestamp': 1000 * i + 300 - 400 * (i == 5),
                                               'dispatch_info': {'agent_id': {'handle': 9}, 'queue_id': {'handle': 1}, 'kernel_id': 3, 'dispatch_id': i,
                                                                 'workgroup_size': {'x': 64, 'y': 2, 'z': 1}, 'grid_size': {'x': 640, 'y': 2, 'z': 1}}}
                                              for i in range(1, 11)],
                          'hip_api': [{'kind': 1, 'operation': i % 2, 'start_timestamp': i, 'end_timestamp': i + 1} for i in range(6)],
                          'marker_api': [{'kind': 1, 'operation': 1, 'start_timestamp': 7, 'end_timestamp': 8}],
                          'memory_copy': [{'dst_agent_id': {'handle': 9}, 'src_agent_id': {'handle': 1}, 'bytes': 64, 'start_timestamp': 5, 'end_timestamp': 6}]}}
whole = json.dumps({'rocprofiler-sdk-tool': [run]})
open('j_results.json', 'w').write(whole)
open('cut_results.json', 'w').write(whole[:-300])
open('deep_results.json', 'w').write('{"rocprofiler-sdk-tool":' + '[' * 100000)
P
mount_gt "$mnt" -o replay=j_results.json || exit 1
ok "JSON is read" wait_for 60 all_read
is "$(awk 'NR > 1 { print $9 }' "$mnt/gpus")" 0001:75:00.0 "… its GPU"
is "$(awk '$1 == "DISPATCH" || $1 == "COPY" || $1 == "LAUNCH" { print $1, $2 }' "$mnt/events_by_type" | sort | tr '\n' ' ')" "COPY 1 DISPATCH 9 LAUNCH 3 " "… its events"
like "$(cat "$mnt/backends/rocprof/problems")" 'j_results.json: a record ends before it begins: left out' "… but for one of negative duration"
like "$(cat "$mnt"/amdgpu0/kernels/k_1~*/stats)" '^exec_ns 2700$' "… times"
like "$(cat "$mnt"/amdgpu0/kernels/k_1~*/resources)" '^workgroup_y +2 +2$' "… resources"
like "$(cat "$mnt"/amdgpu0/counters)" '^SQ_WAVES +1 +2.500000 ' "… counters"
like "$(cat "$mnt/timeline")" ' DISPATCH .*pid=77 .* kernel=k_1~' "… the process"
umount_gt "$mnt"
mount_gt "$mnt" -o replay=cut_results.json:deep_results.json || exit 1
wait_for 60 all_read
like "$(cat "$mnt/backends/rocprof/problems")" 'cut_results.json: is cut: it ends within its JSON' "cut JSON says so"
like "$(cat "$mnt/backends/rocprof/problems")" 'deep_results.json: is nested too deeply' "nesting has an end"
umount_gt "$mnt"
gzip -k j_results.json
gzip -c run/4242_kernel_trace.csv | head -c -20 >cut.csv.gz
mount_gt "$mnt" -o replay=j_results.json.gz:cut.csv.gz || exit 1
ok "… packed by gzip as well" wait_for 60 all_read
is "$(awk '$1 == "COPY" || $1 == "LAUNCH" { print $1, $2 }' "$mnt/events_by_type" | sort | tr '\n' ' ')" "COPY 1 LAUNCH 3 " "… its events"
like "$(cat "$mnt/backends/rocprof/problems")" 'cut.csv.gz: is cut or damaged: ' "what is cut of that says so"
umount_gt "$mnt"
# rocprof v1's: Chrome's trace events, where a copy is known by what it is shown under
cat >v1.json <<'J'
{ "traceEvents":[{}
,{"args":{"name":"CPU HIP API"},"ph":"M","pid":2,"name":"process_name","sort_index":0}
,{"args":{"name":"COPY"},"ph":"M","pid":1,"name":"process_name","sort_index":1}
,{"args":{"name":"Markers and Ranges"},"ph":"M","pid":0,"name":"process_name","sort_index":2}
,{"ph":"X","name":"hipLaunchKernel","pid":0,"tid":78,"ts":"1","dur":"1","args":{"BeginNs":"800","EndNs":"1000","pid":"77","tid":"78","Name":"hipLaunchKernel"}}
,{"ph":"X","name":"add(int) [clone .kd]","pid":15,"tid":78,"ts":"2","dur":"1","args":{"KernelName":"add(int) [clone .kd]","gpu-id":"9","queue-id":"1","pid":"77","tid":"78","grd":"1024","wgr":"256","lds":"0","scr":"0","arch_vgpr":"8","accum_vgpr":"0","sgpr":"16","sig":"0x0","DispatchNs":"1000","BeginNs":"1600","EndNs":"2000","CompleteNs":"2100"}}
,{"ph":"X","name":"hipLaunchKernel","pid":2,"tid":78,"ts":"1","dur":"1","args":{"BeginNs":"900","EndNs":"1000","pid":"77","tid":"78","Name":"hipLaunchKernel","args":"(1)","Data":""}}
,{"ph":"X","name":"async-copy","pid":1,"tid":78,"ts":"1","dur":"1","args":{"BeginNs":"100","EndNs":"300","Name":"async-copy","pid":"77","tid":"78"}}
,{"ph":"X","name":"add(int)","pid":15,"args":{"KernelName":"add(int)","gpu-id":"9","pid":"77","BeginNs":"5000","EndNs":"4000"}}
,{"ph":"X","name":"add(int)","pid":15,"args":{"KernelName":"add(int)","gpu-id":"9","pid":"-7","BeginNs":"5000","EndNs":"6000"}}
,{"ts":2,"ph":"s","cat":"DataFlow","id":0,"pid":3,"tid":78,"name":"dep"}
], "otherData": {"CMD": "x"}}
J
mount_gt "$mnt" -o replay=v1.json || exit 1
ok "JSON of rocprof v1 is read" wait_for 60 all_read
is "$(awk '$1 == "DISPATCH" || $1 == "COPY" || $1 == "LAUNCH" { print $1, $2 }' "$mnt/events_by_type" | sort | tr '\n' ' ')" "COPY 1 DISPATCH 1 LAUNCH 1 " "… its events"
like "$(cat "$mnt"/*/kernels/add*/latency)" '^exec +1 +400 ' "… times"
like "$(cat "$mnt"/*/kernels/add*/resources)" '^grid_x +1024 +1024$' "… resources"
is "$(value "$mnt/backends/rocprof/stats" faults)" 2 "… but for what ends before it begins, and a process that is none"
umount_gt "$mnt"
cp j_results.json run/4242_results.json
mount_gt "$mnt" -o replay=run || exit 1
wait_for 60 all_read
like "$(cat "$mnt/backends/rocprof/problems")" '4242_kernel_trace.csv: 4242_results.json has the same run' "a run written in two formats counts once"
umount_gt "$mnt"

# tables where each counter is a column
columns="python3 $GT_SRC/tests/lib/rpcounters.py"
mkdir wide
$columns generate wide/pmc_perf.csv 2718 40
mount_gt "$mnt" -o replay=wide || exit 1
ok "2718 columns are read" wait_for 60 all_read
ok "… as computed, kernel by kernel" $columns compare wide/pmc_perf.csv "$mnt"
is "$(value "$mnt/backends/rocprof/stats" faults)" 0 "… with nothing wrong"
umount_gt "$mnt"

# what is no result fails the mount
refused() { # refused FILE "what is said of it"
	"$GT_PROG" "$mnt" -o replay="$1" 2>err
	is $? 32 "$1 is not mounted"
	like "$(cat err)" "$2" "… and why"
	mountpoint -q "$mnt" && mounts+=("$mnt")
}
printf 'Dispatch_Id,Kernel_Name\n1,k\n' >nothing.csv
mkdir -p none && cp nothing.csv none/a.csv && cp nothing.csv none/b.csv
refused none 'a.csv: has no header of a table of rocprof.s: .*: play the table .*; nor can 1 other file'
echo '{"code":[[' >cut_code.json
refused cut_code.json 'is cut: it ends within its JSON'
"$GT_PROG" "$mnt" -o backend=rocprof 2>err
is $? 0 "backend=rocprof mounts, and waits for its setting: $(cat err)"
mounts+=("$mnt")
like "$(cat "$mnt/backends/rocprof/last_error")" "backends/rocprof/dirs" "… which is named"
mkdir watched
echo "$PWD/watched" >"$mnt/backends/rocprof/dirs"
rescan
begun() { [ "$(cat "$mnt/backends/rocprof/state")" = running ]; }
ok "… and begins when it is set" wait_for 60 begun
umount_gt "$mnt"

# a thread trace
att=att/ui_output_agent_5505_dispatch_42
mkdir -p $att
cat >$att/code.json <<'J'
{"code":[["; _Z3addPi",0,0,"add(int*)",4,0,0,0,0,0],["s_mov_b32 s20, s3",0,1,"/a b.py:192",4,0,16,68,4,496],
["v_add \u001b[1m",0,2,"",4,4,8,11812,11812,0],["s_endpgm",0,3,null,4,8,8,100,0,1],
["; mul",0,0,"",4,0,0,0,0,0],["s_nop 0",0,5,"m.py:1",4,0,0,0,0,0,7,3,[0,1]],["s_barrier",0,6,"m.py:2",4,0,0,0,0,0,0,90,[0,1]]],
"header":["ISA"],"version":"3.0.0"}
J
cat >$att/occupancy.json <<'J'
{"1":[[100,1,0,0,1,1],[110,1,1,0,1,1],[130,1,1,0,0,1],[200,1,0,0,0,1],[210,70,0,0,1,1]],"dispatches":{"0":"0 / 0x0","1":"add(int*)"},"version":"3.0.0"}
J
echo '{}' >$att/wstates1.json
mount_gt "$mnt" -o replay=att/ || exit 1
ok "a thread trace is read" wait_for 60 all_read
k=$(echo "$mnt"/amdgpu0/kernels/add_int~*)
cells() { awk 'NR > 1 { $1 = $1; print }' "$1"; }
is "$(cells "$k/hotspots")" '11812 11812 0 8 - - - v_add\040\033[1m
100 0 1 8 - - - s_endpgm
68 4 496 16 - - /a\040b.py:192 s_mov_b32\040s20,\040s3' "hotspots, the longest first"
is "$(xargs <"$k/hotspots_stats")" "instructions 3 with_source_percent 33.33 rows_left_out 0 latency_cycles 11980 stall_cycles 11816 idle_cycles 497" "… how many, and where from"
is "$(cells "$k/occupancy")" "1 1 2 2 1.20 100" "occupancy"
is "$(cells "$mnt/amdgpu0/kernels/mul/hotspots")" '- - - - 0 90 m.py:2 s_barrier
- - - - 7 3 m.py:1 s_nop\0400' "samples, where it is PC sampling"
like "$(cat "$mnt/backends/rocprof/problems")" 'occupancy.json: a wave of no dispatch or unit' "what cannot be is left out"
ok "both as computed" $traces $att/code.json $att/occupancy.json -- "$mnt"
umount_gt "$mnt"
# Where a comma is in numbers, a semicolon is between columns; and what else is in the folder is named
mkdir local comma
cp "$GT_SRC"/tests/data/rocprof/counters/*_counter_collection.csv comma/1_counter_collection.csv 2>/dev/null ||
	cp run/4242_kernel_trace.csv comma/1_kernel_trace.csv
python3 - comma/*.csv local/ <<'P'
import csv, os, sys
rows = list(csv.reader(open(sys.argv[1])))
number = lambda v: v.replace('.', ',') if v.replace('.', '', 1).isdigit() else v
with open(sys.argv[2] + os.path.basename(sys.argv[1]), 'w') as f:
    csv.writer(f, delimiter=';').writerows([[number(v) for v in r] for r in rows])
P
cp "$GT_SRC/tests/data/replay/sched_6.12.txt" local/trace.txt
for d in comma local; do
	mount_gt "$mnt" -o replay=$d || exit 1
	wait_for 60 all_read
	(cd "$mnt" && cat ./*/kernel_stats ./*/counters 2>/dev/null; awk "{ print \$1, \$2, \$4, \$5 }" backends/rocprof/files) >$d.shown
	like "$(cat $d.shown)" '^played|^read|csv' "$d: it is read"
	cp "$mnt/backends/rocprof/stats" $d.stats
	cp "$mnt/doctor" $d.doctor
	umount_gt "$mnt"
done
ok "a table with semicolons, and commas in numbers, is the same" diff comma.shown local.shown
is "$(sed -n 's/^file\(s_other\|_other0\) /\1 /p' local.stats | sed 's,/.*/,,' | tr '\n' ' ')" "s_other 1 _other0 trace.txt " "a file that is not played is named in stats"
like "$(cat local.doctor)" 'file_other0 .*local/trace.txt$' "… and in doctor"
is "$(value comma.stats files_other)" 0 "where there is none none is"

# a thread trace: in a folder its waves are left out by name, in an archive by what they are
python3 - <<'P'
import zipfile
code = open('att/ui_output_agent_5505_dispatch_42/code.json').read()
with zipfile.ZipFile('att.zip', 'w') as z:
    for i in range(300):
        z.writestr(f'ui_output_agent_5505_dispatch_42/se0_sm0_sl0_wv{i}.json', '{"duration":1,"wave":{"num_insts":1}}')
    z.writestr('ui_output_agent_5505_dispatch_42/code.json', code)
P
mount_gt "$mnt" -o replay=att.zip 2>err || exit 1
is "$(cat err)" "" "an archive with a thread trace is mounted without a warning"
is "$(grep -c 'att.zip/' "$mnt/backends/rocprof/files")" 1 "… its waves take no places"
umount_gt "$mnt"
# what no event comes of is something all the same
nothing() { # nothing FILE "what the mount says"
	mount_gt "$mnt" -o replay="$1" 2>err || exit 1
	ok "$1 is read" wait_for 60 grep -q ended "$mnt/backends/rocprof/state"
	like "$(cat "$mnt/backends/rocprof/last_error")" "$2" "… and of no event it says \"$2\""
	umount_gt "$mnt"
}
printf '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n"add(int*)",2,30,15.0,100.0,10,20,5.0\n' >x_kernel_stats.csv
printf '"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"\n"hipMalloc",2,30,15.0,100.0,10,20,5.0\n' >x_hip_api_stats.csv
printf 'Kind,Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n' >x_kernel_trace.csv
nothing x_kernel_stats.csv '^$'
nothing x_hip_api_stats.csv '^$'
nothing x_kernel_trace.csv '^none of its files has a row that can be shown$'
# copied to a folder of another name, with the table of its run
mkdir -p trace_data/20260325_153000_add
cp $att/*.json trace_data/20260325_153000_add
printf 'Kind,Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp\nK,Agent 4,add(int*),10,30\n' >trace_data/20260325_153000_add/out_kernel_trace.csv
mount_gt "$mnt" -o replay=trace_data || exit 1
wait_for 60 all_read
ok "in a folder of any name it is read as well" $traces $att/code.json $att/occupancy.json -- "$mnt"
is "$(ls -d "$mnt"/*/kernels/add_int~*/{hotspots,latency} | wc -l)" 2 "… of the kernel that ran"
is "$(awk 'NR > 1' "$mnt/gpus" | wc -l)" 1 "… on its GPU"
umount_gt "$mnt"
mount_gt "$mnt" -o replay=$att/code.json || exit 1
wait_for 60 all_read
ok "its code by itself, as computed" $traces $att/code.json -- "$mnt"
is "$(awk 'NR > 1 { print $1 }' "$mnt/gpus")" amdgpu0 "… its GPU by the folder's name"
umount_gt "$mnt"
echo '{"0":[[5,3,0,0,1,0],[7,3,0,1,1,0],[9,3,0,0,0,0],[6,3,1,0,1,4],[11,3,0,1,0,0],[12,3,1,0,0,4]],"dispatches":{"0":"waves"}}' >waves.json
mount_gt "$mnt" -o replay=waves.json || exit 1
wait_for 60 all_read
ok "waves by themselves, whatever the file is called, as computed" $traces waves.json -- "$mnt"
like "$(cat "$mnt/backends/rocprof/problems")" 'waves.json: the waves of dispatch 4 are of no kernel that is named' "… and which are left out"
umount_gt "$mnt"
# what means nothing without the files beside it
part_only() { # part_only FILE "what it is" "what is said of it"
	"$GT_PROG" "$mnt" -o replay="$1" 2>err && mounts+=("$mnt")
	like "$(cat err)" "$3" "$2 is refused, with what else to play"
}
while IFS='|' read -r what why text; do
	echo "$text" >part.json
	part_only part.json "$what" "part.json: $why"
done <<'J'
the list of waves|lists the waves .*: play code.json|{"counter_names": [], "gfxip": 9, "wave_filenames": {"1": {"0": {"0": {"0": ["se1_sm0_sl0_wv0.json", 1, 2]}}}}}
a wave|is one wave .*: play that|{"duration": 23400, "name": "SE1", "num_insts": 1842, "wave": {"begin": 1, "cu": 1, "instructions": [[1, 2, 0, 4, 1]]}}
states of waves|has how many waves .*: play occupancy.json|{"name":"wstates2.json","state":[2,3],"time":[1,2]}
two clocks|ties .* clock|{"SE0":[[7440,305231466421437],[229948,305231466431825]],"metadata":{"frequency":100000000}}
the sources|lists the sources .*: play code.json|{"/": {"work": {"a.py": "source_0_a.py"}}}
colours|gives .*: nothing in it was measured|{ "tokens": [["CUSTOM", "#ff0000"]] }
J
head -c 250 $att/code.json >cut && mv cut $att/code.json
mount_gt "$mnt" -o replay=att || exit 1
wait_for 60 all_read
like "$(cat "$mnt/backends/rocprof/problems")" 'code.json: is cut' "a cut one says so"
umount_gt "$mnt"

# real files, where they are
samples=$GT_SRC/../shared/samples/rocprof
[ -d "$samples" ] || samples=/work/shared/samples/rocprof
if [ -d "$samples" ]; then
	for f in "$samples"/*kernel_trace.csv "$samples"/rocprofv1_zhen_kernel.csv; do
		mount_gt "$mnt" -o replay="$f" || exit 1
		wait_for 60 all_read
		ok "${f##*/}: as computed" $results compare "$f" -- "$mnt"
		[[ $f == *rocprofv1* ]] || ok "${f##*/}: jobs in every file alike" $work "$f" -- "$mnt"
		umount_gt "$mnt"
	done
	gzip -dc "$samples/tracelens_908_results.json.gz" >908_results.json
	mount_gt "$mnt" -o replay="$samples/tracelens_908_results.json.gz" || exit 1
	wait_for 60 all_read
	ok "the JSON of ROCm 7: as computed" $results compare 908_results.json -- "$mnt"
	is "$(awk '$1 == "DISPATCH" { print $2 }' "$mnt/events_by_type")" 43915 "… 43,915 dispatches"
	ok "… jobs in every file alike" $work 908_results.json -- "$mnt"
	umount_gt "$mnt"
	real=("$samples/att_flydsl/code_first_rows_excerpt.json" "$samples/att_flydsl/occupancy_SE1_excerpt.json" "$samples/rcv_pcsampling_code.json")
	mount_gt "$mnt" -o replay="$(IFS=:; echo "${real[*]}")" || exit 1
	wait_for 60 all_read
	ok "real thread traces, each file by itself: as computed" $traces "${real[@]}" -- "$mnt"
	k=$(echo "$mnt"/*/kernels/flash_attn*)
	like "$(cells "$k/hotspots" | head -n 1)" '^20680 20680 0 16 - - .*flash_attn_gfx950.py:192 s_waitcnt.040vmcnt' "… where it waits"
	umount_gt "$mnt"
	for f in "$samples"/att_flydsl/* "$samples"/rcv_*; do
		[[ " ${real[*]} " == *" $f "* ]] || part_only "$f" "${f##*/}" ": (lists|is one wave|has how|ties|gives) .*(play|nothing)"
	done
	mount_gt "$mnt" -o replay="$samples" || exit 1
	wait_for 60 all_read
	ok "all samples in one folder" $results compare "$samples" -- "$mnt"
	is "$(value "$mnt/backends/rocprof/stats" faults)" 0 "… with nothing wrong"
	umount_gt "$mnt"
else
	skip_ok "real results" "../shared is not here"
fi
done_testing
