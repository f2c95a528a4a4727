#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The big drivers load without their hardware, and the event maps find in them every event and field
# that they name. What this kernel does not have another has: its description is in tests/data/format.
. "$GT_SRC/tests/lib/case.sh"
drivers=
for d in amdgpu i915 xe amdxdna; do ! modinfo "$d" >/dev/null 2>&1 || drivers="$drivers $d"; done
# those that only probes make
made="gpu_scheduler/drm_sched_job_timedout gpu_scheduler/drm_sched_stop"

cleanup() { for d in $drivers virtio_gpu; do rmmod "$d" 2>/dev/null; done; }
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
        for part in keys.get(k, '').split('+'):
            m = re.match(r'\s*#?([A-Za-z_]\w*)', part)
            if m:
                yield m.group(1)


def names_in(event):
    text = open(EVENTS + event + '/format').read()
    return set(re.findall(r'\b(\w+)(?:\[\w*\])?;\toffset', text))


def exists(event):
    return any(os.path.exists(EVENTS + e + '/format') for e in ([event] if '/' in event else [s + '/' + event for s in os.listdir(EVENTS)]))


def described(paths):
    """The events of files of `format` files, and the fields of each"""
    events, system, name = {}, None, None
    for line in (line for p in paths for line in open(p)):
        key, _, value = line.strip().partition(': ')
        if key == 'system':
            system = value
        elif key == 'name':
            name = events.setdefault(system + '/' + value, set())
        elif m := re.search(r'\b(\w+)(?:\[\w*\])?;\toffset', line):
            name.add(m.group(1))
    return events


made, on, sources = set(sys.argv[3].split()), set(), set()
known = described(sorted(glob.glob(sys.argv[2] + '/*.txt')))
n = there = 0
for path in sorted(glob.glob(sys.argv[1] + '/*.ini')):
    for name, keys in sections(path):
        event = name.split(' ')[0]
        system = event.split('/')[0]
        if '/' not in event or system == 'function':
            continue
        n += 1
        if not exists(event):
            ok(event in made or event in known, '%s: %s is another kernel\'s' % (os.path.basename(path), event))
            # the daemon makes it itself, of another event or of a function
            if 'probe' in keys and os.path.isdir(EVENTS + system):
                on.add('gputrace/' + event.split('/')[1])
                sources.add(keys['probe'].split()[0])
            continue
        there += 1
        missing = set(fields(keys)) - names_in(event) - known.get(event, set())
        ok(not missing, '%s: %s has all its fields%s' % (os.path.basename(path), name, ''.join(' but ' + m for m in sorted(missing))))
        wanted = keys.get('requires', '').split()
        if not any(exists(u) for u in (keys.get('unless', '') + ' ' + keys.get('unless_live', '')).split()) and (not wanted or any(exists(w) for w in wanted)):
            on.add(event)
ok(n > 40 and there > 15, '%d sections were read, and the events of %d are here' % (n, there))
open('wanted', 'w').write(''.join(e + '\n' for e in sorted(on - sources)))
P
maps=$GT_OUT/share/gputrace/events.d
[ -d "$maps" ] || maps=$GT_SRC/conf/events.d
python_checks maps.py "$maps" "$GT_SRC/tests/data/format" "$made"

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
verbose="amdgpu/amdgpu_iv gpu_scheduler/drm_sched_job_add_dep xe/xe_exec_queue_scheduling_enable"
grep -vxE "${verbose// /|}" wanted >normal
is "$(LC_ALL=C comm -13 normal wanted | tr '\n' ' ')" \
	"$(for e in $verbose; do [ ! -d "/sys/kernel/tracing/events/$e" ] || printf '%s ' "$e"; done)" "those of level verbose"
level normal normal
level verbose wanted
level normal normal
ok "unmounted" umount_gt "$mnt"
is "$(ls /sys/kernel/tracing/instances)" "" "no instance is left"
done_testing
