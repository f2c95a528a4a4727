#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The big drivers load without their hardware, and the event maps find in them every event and field
# that they name. What a kernel does not have is listed here, so that a wrong name in a map fails.
. "$GT_SRC/tests/lib/case.sh"

case $(uname -r) in
6.1.*)
	drivers="amdgpu i915"
	absent="xe"
	;;
6.12.*)
	drivers="amdgpu i915 xe"
	# 6.1 has it, 6.12 no more
	absent="i915/intel_gpu_freq_change"
	;;
*) skip "what $(uname -r) has is not listed here" ;;
esac
# Systems: fence, the name of dma_fence before 4.10; amdkfd, of ROCm's own module; drivers of other
# machines. Events: the scheduler's since 6.17, and those that only probes make; i915's
# LOW_LEVEL_TRACEPOINTS, which Debian leaves out, and i915's names before 5.0.
absent="$absent fence amdkfd drm_msm_gpu lima v3d
gpu_scheduler/drm_sched_job_queue gpu_scheduler/drm_sched_job_run gpu_scheduler/drm_sched_job_done
gpu_scheduler/drm_sched_job_timedout gpu_scheduler/drm_sched_stop
i915/i915_request_in i915/i915_request_out
i915/i915_gem_request_queue i915/i915_gem_request_add i915/i915_gem_request_in
i915/i915_gem_request_retire i915/i915_gem_request_wait_begin i915/i915_gem_request_wait_end"
[[ $(uname -r) != 6.1.* ]] || absent="$absent virtio_gpu/virtio_gpu_cmd_queue:seqno virtio_gpu/virtio_gpu_cmd_response:seqno"

cleanup() { modprobe -ra $drivers virtio_gpu 2>/dev/null; }
modprobe -a virtio_gpu gpu-sched fuse
for d in $drivers; do
	ok "$d loads" modprobe "$d"
	ok "… and has its tracepoints" test -d "/sys/kernel/tracing/events/$d"
done

cat >maps.py <<'P'
# The maps, read with nothing of ours, against the kernel's own description of its events
import glob, os, re, sys
from tap import ok

EVENTS = '/sys/kernel/tracing/events/'
TEMPLATES, INTEGERS = ('dev', 'ring', 'engine'), ('minor', 'ctx', 'seqno', 'queue', 'value', 'ref', 'pid', 'fence')


def sections(path):
    name, keys = None, {}
    for line in open(path):
        line = re.sub(r'(^|\s);.*', '', line.rstrip('\n'))
        m = re.match(r'\[(.*)\]$', line)
        if m:
            if name:
                yield name, keys
            name, keys = m.group(1), {}
        elif re.match(r'\w+ *=', line):
            key, value = line.split('=', 1)
            keys[key.strip()] = value.strip()
    if name:
        yield name, keys


def fields(keys):
    for k in TEMPLATES:
        for f in re.findall(r'{(\w+)', keys.get(k, '')):
            yield f
    for k in INTEGERS + ('where',):
        m = re.match(r'#?([A-Za-z_]\w*)', keys.get(k, ''))
        if m:
            yield m.group(1)


def names_in(event):
    text = open(EVENTS + event + '/format').read()
    return set(re.findall(r'\b(\w+)(?:\[\w*\])?;\toffset', text))


def exists(event):
    return any(os.path.exists(EVENTS + e + '/format') for e in ([event] if '/' in event else [s + '/' + event for s in os.listdir(EVENTS)]))


absent, used, on, sources = set(sys.argv[2].split()), set(), set(), set()
n = 0
for path in sorted(glob.glob(sys.argv[1] + '/*.ini')):
    for name, keys in sections(path):
        event = name.split(' ')[0]
        system = event.split('/')[0]
        if '/' not in event or system == 'function':
            continue
        n += 1
        if not os.path.isdir(EVENTS + system):
            ok(system in absent, '%s: there is no %s' % (os.path.basename(path), system))
            used.add(system)
            continue
        if not exists(event):
            ok(event in absent, '%s: there is no %s' % (os.path.basename(path), event))
            used.add(event)
            # the daemon makes it itself, of another event or of a function
            if 'probe' in keys:
                on.add('gputrace/' + event.split('/')[1])
                sources.add(keys['probe'].split()[0])
            continue
        missing = {event + ':' + f for f in fields(keys)} - {event + ':' + f for f in names_in(event)}
        ok(missing <= absent, '%s: %s has all its fields%s' % (os.path.basename(path), name, ''.join(' but ' + m for m in sorted(missing))))
        used |= missing
        if not any(exists(u) for u in keys.get('unless', '').split()):
            on.add(event)
ok(n > 40, '%d sections were read' % n)
ok(used == absent, 'what is said to be absent is' + ''.join(' ' + a for a in sorted(absent - used)))
open('wanted', 'w').write(''.join(e + '\n' for e in sorted(on - sources)))
P
maps=$GT_OUT/share/gputrace/events.d
[ -d "$maps" ] || maps=$GT_SRC/conf/events.d
python_checks maps.py "$maps" "$absent"

# The daemon at work with all of them
enabled() { # events that are on in the daemon's instance; those it made itself as gputrace/EVENT
	(cd /sys/kernel/tracing/instances/gputrace-*/events && grep -lx 1 ./*/*/enable 2>/dev/null) |
		sed 's|^\./||; s|/enable$||; s|^gputrace_[0-9]*/|gputrace/|' | LC_ALL=C sort
}
settled() { [ "$(enabled)" = "$1" ]; }
level() { # level LEVEL FILE - all events of FILE are on, and nothing complains
	ok "level $1" sh -c "echo $1 >$mnt/config/level"
	wait_for 30 settled "$(cat "$2")"
	is "$(enabled)" "$(cat "$2")" "$1: the events that the maps name are on"
	is "$(cat "$mnt/backends/ftrace/last_error")" "" "$1: no error"
	is "$(grep -E 'error|cannot|fault|\.ini' "$mnt/doctor" | grep -v '^  tracepoint ')" "" "$1: doctor has nothing to say of them"
}
mount_gt "$mnt" -o backend=ftrace || exit 1
wait_for 60 grep -qx running "$mnt/backends/ftrace/state"
grep -vxE 'amdgpu/amdgpu_iv|xe/xe_exec_queue_scheduling_enable' wanted >normal
is "$(LC_ALL=C comm -13 normal wanted | tr '\n' ' ')" \
	"amdgpu/amdgpu_iv $([ -d /sys/kernel/tracing/events/xe ] && echo 'xe/xe_exec_queue_scheduling_enable ')" "those of level verbose"
level normal normal
level verbose wanted
level normal normal
ok "unmounted" umount_gt "$mnt"
is "$(ls /sys/kernel/tracing/instances)" "" "no instance is left"
done_testing
