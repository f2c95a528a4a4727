# SPDX-License-Identifier: GPL-2.0
"""manylibs.py LIBRARY NAME N [flood]: makes N files NAME.0 … in the working folder, copies of LIBRARY or, if that
is "names", libraries of none but other names; maps all, says so, and stays until its input ends.
With "flood" it maps and unmaps the first as many times as a line of its input says, and says so."""
import mmap
import os
import struct
import sys

lib, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])


def other_names():
    """A library with 20000 functions that nobody looks for."""
    n = 20000
    strings = b"\0" + b"".join(b"cuNobody%07d\0" % i for i in range(n))
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", 1 + 16 * i, 0x12, 0, 1, 0x1000, 0) for i in range(n))
    at = 64 + 56 + 3 * 64
    machine = {"x86_64": 62, "aarch64": 183}[os.uname().machine]
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 120, 0, 64, 56, 1, 64, 3, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x1000, 0x1000, 4096, 4096, 4096)
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 0, 11, 0, 0, at, len(symbols), 2, 0, 8, 24)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, at + len(symbols), len(strings), 0, 0, 1, 0)
    return head + segment + sections + symbols + strings


def map_file(path):
    fd = os.open(path, os.O_RDONLY)
    m = mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    os.close(fd)
    return m


if lib == "names":
    content = other_names()
else:
    with open(lib, "rb") as f:
        content = f.read()
held = []
for i in range(count):
    with open(f"{name}.{i}", "wb") as f:
        f.write(content)
    held.append(map_file(f"{name}.{i}"))
print("mapped", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        map_file(f"{name}.0").close()
    print("done", flush=True)
