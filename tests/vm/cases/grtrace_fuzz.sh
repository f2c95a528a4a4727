#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# grtrace.ko's files: whatever is written to them, by several at once, in any way, while they are read in
# any way, jobs run, and the module goes and comes. Each write is taken or refused as a setting is,
# nothing of it stays, and the kernel has nothing to complain of.
# $GT_FUZZ_WRITES: how many writes, 2,000 otherwise; $GT_FUZZ_RELOADS: how often it goes and comes, 8;
# $GT_FUZZ_SEED: which.
. "$GT_SRC/tests/lib/case.sh"
. "$GT_SRC/tests/lib/mockgpu.sh"
. "$GT_SRC/tests/lib/grtrace.sh"
fuzz=$GT_OUT/tests/tools/grtfuzz
writes=${GT_FUZZ_WRITES:-2000}
reloads=${GT_FUZZ_RELOADS:-8}
seed=${GT_FUZZ_SEED:-1}
cleanup() {
	jobs -p | xargs -r kill 2>/dev/null
	wait
	[ ! -d /sys/module/grtrace ] || rmmod grtrace
	mock_unload
}
bg() { # jobs until it is killed
	again_and_again "$gpujobs" --device 0 --jobs 100 --length-us 200-400 --ring $rings --depth 40 >/dev/null
}
free_kb() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^MemAvailable/ { print $2 }' /proc/meminfo
}
relay_memory() { # how many areas relay's buffers and the module have in the kernel's address space, and their bytes
	awk '/ relay_|\[grtrace\]/ { n++; bytes += $2 } END { print n + 0, bytes + 0 }' /proc/vmallocinfo
}
all_settings() { # NAME VALUE, as they are
	local f
	for f in buffer_size buffer_mode level; do echo "$f $(cat $grt/$f)"; done
}
set_all() { # set_all FILE - as all_settings() wrote it
	local name value
	grt_set control stop
	while read -r name value; do
		grt_set "$name" "$value" || return
	done <"$1"
}

echo 1 >/proc/sys/kernel/panic_on_oops # who holds a lock then holds it for ever
modprobe -qr virtio_gpu # its commands and waits are events as well
mock_load || exit 1
grt_load || exit 1
grt_set buffer_size 1048576
all_settings >first
memory=$(free_kb)
buffers=$(relay_memory)
like "$buffers" "^[1-9][0-9]* [1-9]" "the kernel lists the relay buffers"

# Nothing but that
bg & load=$!
began=$SECONDS
"$fuzz" $grt "$writes" "$seed" >fuzz.out 2>&1
rc=$?
sed 's/^/# measured /' fuzz.out
is $rc 0 "each write is taken, or refused as a setting is"
like "$(cat fuzz.out)" "^writes [0-9]+ accepted [1-9][0-9]* gone 0 reads [1-9]" "some are taken, and all the while they are read"
echo "# measured $writes writes in $((SECONDS - began)) s"
all_settings >settings
ok "settings that are read can be written" set_all settings

# While it goes and comes
began=$SECONDS
"$fuzz" --reload "$GT_MODULES/grtrace.ko" $grt "$reloads" "$((seed + 1))" >reload.out 2>&1
rc=$?
sed 's/^/# measured /' reload.out
is $rc 0 "what is written while it is unloaded and loaded is taken, refused, or gone"
like "$(cat reload.out)" "^reloads $reloads pinned [0-9]+ writes [0-9]{3,} accepted [1-9][0-9]* " "it was unloaded and loaded that often"
like "$(cat reload.out)" "^not opened .*ENOENT [0-9]+.* ENXIO [1-9]" "and files were opened while it went"
echo "# measured $reloads times unloaded and loaded in $((SECONDS - began)) s"
kill $load
wait $load 2>/dev/null
wait_for 20 all_done

# And it is as good as new
ok "all can be set back" set_all first
is "$(all_settings)" "$(cat first)" "and are as they were"
echo 0 >$truth
grt_set control start
"$gpujobs" --jobs 20 --length-us 200 --ring gfx_0.0.0 --wait >/dev/null
wait_for 20 all_done
grt_set control stop
is "$(grt_recorded SUBMIT) $(grt_recorded COMMIT) $(grt_recorded COMPLETE)" "20 20 20" "jobs are recorded as before"
is "$(relay_memory)" "$buffers" "the relay buffers are as many and as large as before"
now=$(free_kb)
ok "MemAvailable falls by no more than an eighth ($memory to $now kB)" [ $((now * 8)) -ge $((memory * 7)) ]
ok "unloaded" eval 'rmmod grtrace && mock_unload'
is "$(relay_memory)" "0 0" "no relay buffer is left"
done_testing
