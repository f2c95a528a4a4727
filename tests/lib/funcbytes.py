# SPDX-License-Identifier: GPL-2.0
"""funcbytes.py PID LIBRARY FUNCTION: the first bytes of a function as they are in a process now."""
import subprocess
import sys

pid, lib, func = sys.argv[1:]
symbols = subprocess.check_output(["nm", "-D", lib], text=True).splitlines()
symbol = next(int(line.split()[0], 16) for line in symbols if line.endswith(" T " + func))
with open(f"/proc/{pid}/maps") as f:
    base = next(int(line.split("-")[0], 16) for line in f if lib.split("/")[-1] in line)
with open(f"/proc/{pid}/mem", "rb") as f:
    f.seek(base + symbol)
    print(f.read(4).hex())
