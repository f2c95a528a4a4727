#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# boot.sh RELEASE COMMAND...: boots that kernel of fetch.sh and runs COMMAND there as root.
#
# The guest sees this machine's files, read-only below a memory overlay, at the same paths: its
# programs are this machine's. What the command writes under $GT_SHARE (a folder here, tmp/ where
# boot.sh was called unless it is set) stays. Exits as the command does; 125 if the guest did not
# come so far (a panic, a kernel warning, no time left). Its console is in $GT_SHARE/console.
#
# GT_GUEST_ARGS: more arguments for QEMU; GT_GUEST_LIMIT: seconds, 2400 (each case has a limit of its own);
# GT_GUEST_NAME: put behind "console" and "output", for guests that share a folder.
set -u

here=$(cd "$(dirname "$0")" && pwd)
out=$(readlink -f "${O:-.output}")
release=$1
shift
kernel=$(readlink -f "$out/vm/$release")
share=${GT_SHARE:-$PWD/share}
limit=${GT_GUEST_LIMIT:-2400}
name=${GT_GUEST_NAME:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/gputrace-boot.XXXXXX")
trap 'rm -rf "$work"' EXIT
[ -e "$kernel/complete" ] || { echo "boot.sh: no kernel $release: run tests/vm/fetch.sh" >&2; exit 125; }
mkdir -p "$share" "$work/root/"{bin,dev,proc,lower,upper,new}

# What it takes to reach this machine's files; everything else is there then
modules=$(for m in virtio_pci 9pnet_virtio 9p overlay; do
	/sbin/modprobe -d "$kernel" -S "$release" --show-depends $m
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }')
for m in $modules; do
	case $m in
	*.xz) xz -dc "$m" >"$work/root/$(basename "$m" .xz)" ;;
	*) cp "$m" "$work/root/" ;;
	esac
	echo "insmod /$(basename "$m" .xz)"
done >"$work/root/modules"
cp /bin/busybox "$work/root/bin/"
cp "$here/init" "$work/root/init"
{
	echo "release=$release kernel=$kernel share=$share name=$name cwd=$PWD clock=$(date +%s)"
	printf 'export GT_GUEST=1'
	for v in PATH LANG GT_SRC GT_OUT GT_PROG GT_MODULES GT_SHARE GT_FUZZ_WRITES GT_FUZZ_RELOADS GT_FUZZ_SEED STRESS_SECONDS HOW PHASES O; do
		[ -z "${!v+x}" ] || printf ' %s=%q' "$v" "${!v}"
	done
	printf '\nset --'
	printf ' %q' "$@"
	echo
} >"$work/root/command"
(cd "$work/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initrd"

# No console on the GPU (fbdev_emulation): virtio_gpu, unloaded before the host has answered that the console's
# memory is given back, warns (drm_mm_takedown).
# One thread for both CPUs: with one each, patching of kernel code hangs the guest (facts, vm.md)
timeout -k 5 "$limit" qemu-system-x86_64 -M q35 -accel tcg,thread=single -smp 2 -cpu max -m "${GT_GUEST_MEMORY:-1024}" \
	-nodefaults -no-user-config -display none -no-reboot -serial "file:$share/console$name" \
	-device isa-debug-exit,iobase=0x501,iosize=1 \
	-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
	-virtfs "local,path=$share,mount_tag=share,security_model=none,multidevs=remap" \
	${GT_GUEST_ARGS:-} -kernel "$kernel/vmlinux" -initrd "$work/initrd" \
	-append "console=ttyS0 loglevel=5 panic=-1 panic_on_warn=1 oops=panic no_timer_check slub_debug=${GT_SLUB_DEBUG-FZPU} drm_kms_helper.fbdev_emulation=0" </dev/null
rc=$?
# isa-debug-exit makes it (rc << 1) | 1; a reboot after a panic is 0, timeout's own 124
if [ $rc = 124 ] || [ $((rc & 1)) = 0 ]; then
	echo "boot.sh: the guest did not end by itself ($([ $rc = 124 ] && echo "$limit s are over" || echo "exit $rc")); its console, from what the kernel complained of:" >&2
	if first=$(grep -nEf "$here/complaints" "$share/console$name"); then
		tail -n +"${first%%:*}" "$share/console$name" | head -n 120
	else
		tail -n 40 "$share/console$name"
	fi >&2
	exit 125
fi
exit $((rc >> 1))
