#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# GPUs that come and go, on a sysfs made here: after `rescan` directories, tables and open files know.
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
if [ -z "${GT_OWN_SYS:-}" ]; then
	# In a mount namespace of our own, where /sys/class is ours
	unshare -m true 2>/dev/null || skip "no mount namespace here"
	mounts=()
	GT_OWN_SYS=1 unshare -m --propagation private "$0"
	exit
fi

dev=$PWD/devices
mkdir -p class/drm "$dev"
mount --bind "$PWD/class" /sys/class || skip "cannot mount over /sys/class"
card() { # card DEVICE DRIVER N - as a driver that binds makes them
	mkdir -p "$dev/$1/drm/card$3" "$dev/$1/drm/renderD$((128 + $3))" "$dev/$1/cards/$SECONDS.$RANDOM"
	ln -sfn "../bus/drivers/$2" "$dev/$1/driver"
	ln -sfn ../.. "$dev/$1/drm/card$3/device"
	ln -sfn "$dev/$1/drm/card$3" "class/drm/card$3"
}
uncard() { # uncard DEVICE N
	rm "class/drm/card$2"
	mv "$dev/$1/drm" "$dev/$1/was.$SECONDS.$RANDOM"
}
names() { (cd "$mnt" && ls -d amdgpu* i915* 2>/dev/null | tr '\n' ' '); }
listed() { awk '$1 ~ /^(amdgpu|i915)/ { printf "%s ", $1 }' "$mnt/gpus"; }

card 0000:03:00.0 amdgpu 0
card 0000:04:00.0 amdgpu 1
printf '[backend sim]\nrate = 2000\njobs = 100\n' >conf
mount_gt "$mnt" -o conf=conf,backend=sim || exit 1
is "$(names)" "amdgpu0 amdgpu1 " "two GPUs to begin with"

# What is open of one, while the other and the root go on
cat >watch.py <<'P'
import errno, os, select, subprocess, sys, threading, time
from tap import ok
mnt, dev = sys.argv[1], sys.argv[2]
gpu = mnt + '/amdgpu0/'

def rescan():  # GPUs have been looked for, though the sources may take longer than a write waits
    try:
        with open(mnt + '/control', 'w') as f:
            f.write('rescan')
    except OSError:
        pass

def err(fn, *args):
    try:
        fn(*args)
        return 'no error'
    except OSError as e:
        return errno.errorcode[e.errno]

def eventually(fn):
    end = time.monotonic() + 60
    while not fn() and time.monotonic() < end:
        time.sleep(0.01)
    return fn()

def parked():
    for line in open(mnt + '/status'):
        if line.startswith('reads_blocked '):
            return int(line.split()[1])

text = {n: os.open(gpu + n, os.O_RDONLY) for n in ('info', 'stats', 'rings', 'report')}
other = os.open(mnt + '/amdgpu1/stats', os.O_RDONLY)
folder = os.open(gpu, os.O_RDONLY | os.O_DIRECTORY)
for fd in text.values():
    os.pread(fd, 4096, 0)
pipes = {n: os.open(gpu + n, os.O_RDONLY) for n in ('events', 'trace')}
results, polled = {}, {}
# The preamble of a binary pipe is there to be read: after it the reader waits
def drain(name):
    try:
        while os.read(pipes[name], 65536):
            pass
        results[name] = 'end'
    except OSError as e:
        results[name] = errno.errorcode[e.errno]
def watch(name, fd, mask):
    p = select.poll()
    p.register(fd, mask)
    polled[name] = p.poll(60000)
    # others' records make a pipe ready for a moment, or a text change
    while polled[name] and not polled[name][0][1] & select.POLLERR:
        gone = err(os.read, fd, 4096) == 'ENODEV' # between the poll and the read
        polled[name] = p.poll(60000)
        if gone:
            break
fresh = os.open(gpu + 'info', os.O_RDONLY)
os.read(fresh, 4096)
threads = [threading.Thread(target=drain, args=(n,)) for n in pipes]
threads.append(threading.Thread(target=watch, args=('info', fresh, select.POLLPRI)))
quiet = os.open(gpu + 'trace', os.O_RDONLY | os.O_NONBLOCK)
ok(err(os.read, quiet, 4096) == 'EAGAIN', 'a pipe with nothing to read')
threads.append(threading.Thread(target=watch, args=('trace', quiet, select.POLLIN)))
for t in threads:
    t.start()
ok(eventually(lambda: parked() == 2), 'two readers wait')
subprocess.check_call(['bash', '-c', f'rm class/drm/card0; mv {dev}/0000:03:00.0/drm {dev}/0000:03:00.0/was'])
ok(len(os.pread(text['info'], 4096, 0)) > 0, 'before it is looked for nothing is gone')
rescan()
for t in threads:
    t.join(60)
for n in pipes:
    ok(results.get(n) == 'ENODEV', f'a parked read of {n} ends with ENODEV ({results.get(n)})')
for n in ('info', 'trace'):
    r = polled.get(n)
    ok(r and r[0][1] & select.POLLERR and r[0][1] & select.POLLHUP, f'who polls {n} is woken ({r})')
for n, fd in text.items():
    ok(err(os.pread, fd, 4096, 0) == 'ENODEV', f'an open {n}: ENODEV ({err(os.pread, fd, 4096, 0)})')
    ok(err(os.pread, fd, 4096, 10) == 'ENODEV', f'... from anywhere')
ok(err(os.read, quiet, 4096) == 'ENODEV', 'a pipe too')
def inside():
    os.open('info', os.O_RDONLY, dir_fd=folder)
ok(err(inside) == 'ENOENT', f'nor below a folder that was open ({err(inside)})')
ok(err(os.listdir, folder) in ('ENODEV', 'no error'), 'which lists nothing more')
ok(err(os.open, gpu + 'info', os.O_RDONLY) == 'ENOENT', 'by its path: ENOENT')
ok(eventually(lambda: not os.path.exists(gpu)), 'its directory has gone')
ok('amdgpu0' not in os.listdir(mnt), '... from the listing')
ok('amdgpu0' not in open(mnt + '/gpus').read(), '... from gpus')
ok(len(os.pread(other, 4096, 0)) > 0, 'the other GPU answers')
ok(open(mnt + '/rings').read().count('sim0') > 0, 'so does what works')

subprocess.check_call(['bash', '-c', f'mkdir -p {dev}/0000:03:00.0/drm/card0 {dev}/0000:03:00.0/drm/renderD128;'
    f'ln -s ../.. {dev}/0000:03:00.0/drm/card0/device; ln -s {dev}/0000:03:00.0/drm/card0 class/drm/card0'])
rescan()
ok(os.path.exists(gpu), 'bound again it is back')
ok('amdgpu0' in open(mnt + '/gpus').read(), '... in gpus')
ok(b'0000:03:00.0' in os.pread(os.open(gpu + 'info', os.O_RDONLY), 4096, 0), '... and reports itself')
for n, fd in list(text.items()) + [('trace', quiet)]:
    ok(err(os.read if n == 'trace' else os.pread, *((fd, 4096) if n == 'trace' else (fd, 4096, 0))) == 'ENODEV',
       f'{n} opened before stays ENODEV')
p = select.poll()
p.register(fresh, select.POLLPRI)
ok(p.poll(0)[0][1] & select.POLLERR, 'and polls as one that has gone')
P
python_checks watch.py "$mnt" "$dev"

# Numbers stay, whatever the order would make of them
card 0000:01:00.0 amdgpu 2
rescan
is "$(names)" "amdgpu0 amdgpu1 amdgpu2 " "a new one gets the next number, though it is the first in PCI order"
like "$(cat "$mnt/amdgpu2/info")" "pci 0000:01:00.0" "... and is the new one"
uncard 0000:03:00.0 0
rescan
is "$(names)" "amdgpu1 amdgpu2 " "one goes"
card 0000:05:00.0 amdgpu 0
rescan
is "$(names)" "amdgpu1 amdgpu2 amdgpu3 " "its number is kept for it, though another has its card"
like "$(cat "$mnt/amdgpu3/info")" "card card0" "... which that one tells"
uncard 0000:05:00.0 0
card 0000:03:00.0 amdgpu 0
rescan
is "$(names)" "amdgpu0 amdgpu1 amdgpu2 " "the first is back under its number"
is "$(listed)" "amdgpu0 amdgpu1 amdgpu2 " "gpus says so too"

# Gone and back between two looks is gone all the same for what was open
exec 7<"$mnt/amdgpu1/info"
uncard 0000:04:00.0 1
card 0000:04:00.0 amdgpu 1
rescan
is "$(cat <&7 2>&1)" "cat: -: No such device" "what was open of one that was bound anew meanwhile is gone"
exec 7<&-
like "$(cat "$mnt/amdgpu1/info")" "pci 0000:04:00.0" "... and it is there"

# A thousand rounds
fds() { ls -l "/proc/$pid/fd" | grep -vc pidfd; }
# What the kernel took away for others counts, too
sizes() { echo "$(fds) $(awk '/^(RssAnon|VmSwap):/ { n += $2 } END { print n }' "/proc/$pid/status")"; }
pid=$(pgrep -f "mount.gputrace $mnt( |\$)")
flap() {
	local i
	for ((i = 0; i < $1; i++)); do
		mv class/drm/card1 card1.away
		rescan
		[ ! -e "$mnt/amdgpu1/info" ] || echo "round $i: still there"
		mv card1.away class/drm/card1
		rescan
		read -r _ <"$mnt/amdgpu1/info" || echo "round $i: not back"
	done
}
is "$(flap 100)" "" "a hundred rounds"
before=$(sizes)
is "$(flap 1000)" "" "a thousand more"
# It may have one open just now, or had one then
ok "no descriptor more than ${before% *}" wait_for 60 eval '[ "$(fds)" -le "${before% *}" ]'
after=$(sizes)
ok "no memory more (KiB: $before, $after)" [ $((${after#* } - ${before#* })) -lt 1024 ]
is "$(names)" "amdgpu0 amdgpu1 amdgpu2 " "the same GPUs as before"
ok "unmount" umount_gt "$mnt"
umount /sys/class
done_testing
