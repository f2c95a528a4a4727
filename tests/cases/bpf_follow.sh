#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Events that the kernel lacks, made by a BPF program that follows pointers by the kernel's types: of a
# packet that is sent the tracepoint tells the length itself, and so does the structure that it points to.
# Alone
. "$GT_SRC/tests/lib/case.sh"
is_root || skip "needs root to mount"
[ -r /sys/kernel/tracing/events/net/net_dev_queue/id ] || skip "no tracepoints of packets"
[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no types"
ip link set lo up 2>/dev/null
mkdir maps
cat >maps/packets.ini <<'MAP'
[map]
driver = mock

[gt_none/packet]
event = CUSTOM0
name = packet
probe = net/net_dev_queue dev=$skbaddr<sk_buff>->dev->name reported=$name
	len=$skbaddr<sk_buff>->len plain=$len nothing=$skbaddr<sk_buff>->dev->nosuch
	head=$skbaddr<sk_buff>->head
ring = {dev}
value = len
ref = plain
seqno = head

[initcall/initcall_level]
event = CUSTOM1
name = boot
MAP
mount_gt "$mnt" -o "events_dir=$PWD/maps,backend=bpf" || skip "BPF does not work here"
stats=$(cat "$mnt/backends/bpf/stats")
like "$stats" "^probe gt_none/packet made, without nothing: struct net_device has no member nosuch" "it is made, but for what there is not"
cat "$mnt/events" >stream & reader=$!
wait_for 20 test -s stream
python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(500): s.sendto(b"x" * 1234, ("127.0.0.1", 9))'

cat >look.py <<'P'
import struct, sys
data, rings, mine, bad, lost = open('stream', 'rb').read(), {}, 0, [], 0
for at in range(0, len(data) - 63, 64):
    ts, kind, _, _, gpu, ring, _, seqno, _, tid = struct.unpack_from('<QBBHHHQQII', data, at)
    value, ref = struct.unpack_from('<QQ', data, at + 48)
    if kind == 66:
        rings[ring] = data[at + 24:at + 64].split(b'\0')[0].decode()
    elif kind == 70:
        lost += 1
    elif kind == 25:
        if value != ref:
            bad.append('followed to %d, reported %d' % (value, ref))
        if seqno != 2**64 - 1:
            bad.append('an address got out: %x' % seqno)
        if value == 1234 + 8 + 20 + 14:
            mine += 1
            if rings.get(ring) != 'lo':
                bad.append('by %s' % rings.get(ring))
print(mine, lost, bad[:5])
sys.exit(mine != 500 or bool(bad) or lost != 0)
P
ok "500 packets, each of the length that the kernel tells" wait_for 20 python3 look.py
python3 look.py | sed 's/^/# /'
kill $reader
wait $reader 2>/dev/null
umount_gt "$mnt"
done_testing
