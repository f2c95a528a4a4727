#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A third party builds a plugin against what `make install` puts there, and it runs.
# Quick
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
root=$PWD/root
install() { make -C "$GT_SRC" -s O="${O:-.output}" "$@" DESTDIR="$root" PREFIX=/usr; }

ok "make install" install install
missing() { # missing FILE... - those that are not there, or empty
	local f
	for f in "$@"; do [ -s "$root/$f" ] || echo "$f"; done
}
is "$(missing usr/sbin/mount.gputrace usr/include/gputrace/backend.h usr/include/gputrace/event.h usr/lib/gputrace/ftrace.so \
	usr/share/gputrace/events.d/gpu_scheduler.ini usr/share/man/man8/mount.gputrace.8 usr/share/man/man5/gputrace.conf.5 \
	usr/share/man/man5/gputrace-event.5 usr/share/man/man5/gputrace-events.d.5 usr/share/man/man5/gputrace-files.5 \
	usr/share/man/man7/gputrace{,-backends,-rocprof,-security}.7 etc/gputrace.conf)" "" "… brings all there is to be"
cp -r "$GT_SRC/tests/plugin" src
ok "built out of tree" make -C src O=. CFLAGS="-I$root/usr/include ${SAN:+-fsanitize=address,undefined}"
mkdir -m 755 plugins
cp src/minimal.so "$GT_OUT/lib/gputrace/replay.so" plugins/
mount_gt "$mnt" -o plugin_dir="$PWD/plugins" || exit 1
is "$(cat "$mnt/backends/minimal/state")" running "it runs"
is "$(cat "$mnt/backends/replay/state")" off "… and one that runs only where it is asked for does not"
gpu=$(awk 'NR > 1 { print $1; exit }' "$mnt/gpus")
some() { [ "$(stage "$mnt/$gpu/ring0/latency" total count)" -gt 1 ]; }
ok "its jobs are seen" wait_for 20 some
umount_gt "$mnt"

# One of two fails: how busy its ring is, is not known then
gcc -std=gnu11 -D_GNU_SOURCE "-I$root/usr/include" '-DNAME="dies"' -DFAIL_DRAIN -DTIMER -DON_GPU=gpu -shared -fPIC \
	-fvisibility=hidden -o plugins/dies.so src/faulty.c
mount_gt "$mnt" -o plugin_dir="$PWD/plugins" || exit 1
quarantined() { grep -qx quarantined "$mnt/backends/dies/state"; } # at its fourth drain
ok "a plugin fails" wait_for 20 quarantined
failed=$(awk -v gpu="$gpu" 'NR > 1 && $1 != gpu { print $1; exit }' "$mnt/gpus")
average() { awk 'NR > 1 { print $2 }' "$mnt/$1/ring0/utilization"; }
dead() { [ "$(average "$gpu")" != - ] && [ "$(average "$failed")" = - ]; }
ok "how busy its ring is, is not known" wait_for 20 dead
like "$(awk '$1 == "completed"' "$mnt/$failed/ring0/throughput")" "completed +- " "nor how many jobs end each second"
umount_gt "$mnt"
rm plugins/dies.so

printf 'int gt_backend = 7;\n' >bad.c
gcc -shared -fPIC -o plugins/bad.so bad.c
echo garbage >plugins/noise.so
mkfifo plugins/pipe.so
mount_gt "$mnt" -o plugin_dir="$PWD/plugins"
like "$(cat "$mnt/doctor")" "bad" "a plugin with a wrong ABI is refused, and doctor says why"
like "$(cat "$mnt/backends/pipe/last_error")" "pipe.so is not a regular file" "a FIFO does not keep it waiting"
is "$(cat "$mnt/backends/minimal/state")" running "… the rest goes on"
umount_gt "$mnt"
chmod 777 plugins
"$GT_PROG" "$mnt" -o plugin_dir="$PWD/plugins" 2>err && mounts+=("$mnt")
like "$(cat err "$mnt/doctor" 2>/dev/null)" "written by others" "a folder that others may write is refused"
mountpoint -q "$mnt" && umount_gt "$mnt"
done_testing
