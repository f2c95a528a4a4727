# SPDX-License-Identifier: GPL-2.0
"""badlibs.py LIBRARY DIR: fills DIR with files that are called like LIBRARY and are none, maps them as a
loader does, says so, and stays until its input ends."""
import mmap
import os
import sys

lib, folder = sys.argv[1:]
with open(lib, "rb") as f:
    good = f.read()
name = os.path.join(folder, os.path.basename(lib))
ones = b"\xff" * 8
bad = {
    "cut": good[:3000],
    "zeros": bytes(100000),
    "text": b"#!/bin/sh\nexit 0\n",
    "segments": good[:0x20] + ones + good[0x28:],  # where they are
    "sections": good[:0x28] + ones + good[0x30:],
    "many_segments": good[:0x38] + ones[:2] + good[0x3A:],
    "many_sections": good[:0x3C] + ones[:2] + good[0x3E:],
    "machine": good[:0x12] + ones[:2] + good[0x14:],
}
held = []
for how, data in bad.items():
    path = f"{name}.{how}"
    with open(path, "wb") as f:
        f.write(data)
    fd = os.open(path, os.O_RDONLY)
    held.append(mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
    os.close(fd)
    if how == "cut":
        os.truncate(path, 100)
print(len(held), flush=True)
sys.stdin.read()
