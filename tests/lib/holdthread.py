# SPDX-License-Identifier: GPL-2.0
"""holdthread.py TID: has that thread stand still, as one that the kernel keeps, until its input ends."""
import ctypes
import os
import sys

SEIZE, INTERRUPT = 0x4206, 0x4207
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
tid = int(sys.argv[1])
for what in (SEIZE, INTERRUPT):
    if libc.ptrace(what, tid, None, None):
        sys.exit(os.strerror(ctypes.get_errno()))
os.waitpid(tid, 0x40000000)  # __WALL
print("held", flush=True)
sys.stdin.read()
