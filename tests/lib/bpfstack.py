# SPDX-License-Identifier: GPL-2.0
"""bpfstack.py OBJECT... - the deepest stack of each BPF program, as kernels before 6.13 add it up.

Each function's frame is rounded up to 32 bytes, and those of a chain of calls may have 512 together; a later kernel
gives some programs a stack of their own, so there nothing shows a program that is too large for others.

A program at a uprobe may run twice at once on a CPU, so the kernel must not give it one stack for each CPU, as it does
since 6.13 to a program with a function of 64 bytes or more, rounded up to 16 (kernel/bpf/verifier.c,
check_max_stack_depth_subprog())."""
import os
import struct
import sys

from tap import ok

MOST, ROUND, FRAMES = 512, 32, 8
PRIVATE, PRIVATE_ROUND = 64, 16
FUNC, SECTION = 2, 3            # kinds of symbols
LDX, ST, STX, ALU64, JMP = 1, 2, 3, 7, 5
MOV_X, ADD_K, CALL = 0xbf, 0x07, 0x85
PSEUDO_CALL = 1
STACK = 10                      # the register


def sections(data):
    at, size, n, names = struct.unpack_from('<Q', data, 40)[0], *struct.unpack_from('<HHH', data, 58)
    out = [struct.unpack_from('<IIQQQQIIQQ', data, at + i * size) for i in range(n)]
    base = out[names][4]
    return [(data[base + s[0]:data.index(b'\0', base + s[0])].decode(), *s[1:]) for s in out]


def functions(data, secs):
    """(section, first byte, behind the last): name; and all symbols, for relocations"""
    table = next(s for s in secs if s[1] == 2)
    strings = secs[table[6]][4]
    symbols, funcs = [], {}
    for at in range(table[4], table[4] + table[5], 24):
        name, info, _, sec, value, size = struct.unpack_from('<IBBHQQ', data, at)
        text = data[strings + name:data.index(b'\0', strings + name)].decode()
        symbols.append((text, info & 15, sec, value))
        if info & 15 == FUNC and size:
            funcs[sec, value] = text, value + size
    return symbols, funcs


def relocations(data, secs, symbols):
    """(section, place of an instruction): symbol"""
    out = {}
    for s in secs:
        if s[1] == 9:
            for at in range(s[4], s[4] + s[5], 16):
                place, info = struct.unpack_from('<QQ', data, at)
                out[s[7], place] = symbols[info >> 32]
    return out


def lowest(code):
    """How far below its top a function's frame is used: by accesses, and by addresses made of it"""
    low, made = 0, set()
    for op, regs, off, imm in struct.iter_unpack('<BBhi', code):
        dst, src = regs & 15, regs >> 4
        if (op & 7 == LDX and src == STACK) or (op & 7 in (ST, STX) and dst == STACK):
            low = min(low, off)
        if op == MOV_X and src == STACK:
            made.add(dst)
        elif op == ADD_K and dst in made:
            low = min(low, imm)
            made.discard(dst)
        elif op & 7 in (LDX, ALU64):
            made.discard(dst)
    return -low


def rounded(size, unit):
    return max(unit, (size + unit - 1) // unit * unit)


def frame(code):
    return rounded(lowest(code), ROUND)


def calls(code, sec, start, funcs, relocs):
    for i, (op, regs, _, imm) in enumerate(struct.iter_unpack('<BBhi', code)):
        if op != CALL or regs >> 4 != PSEUDO_CALL:
            continue
        place = start + 8 * i
        symbol = relocs.get((sec, place))
        if not symbol:
            yield sec, place + 8 * (imm + 1)
        elif symbol[1] == SECTION:  # a local function: its place in its section is in the instruction
            yield symbol[2], 8 * (imm + 1)
        else:
            yield symbol[2], symbol[3]


def deepest(at, code, funcs, relocs, known):
    """(bytes, names) of the chain of calls that takes most"""
    if at not in known:
        body = code[at]
        below = [deepest(c, code, funcs, relocs, known) for c in set(calls(body, *at, funcs, relocs))]
        size, names = max(below, default=(0, []))
        known[at] = size + frame(body), [funcs[at][0]] + names
    return known[at]


def reached(at, code, funcs, relocs):
    """The function and all that it calls"""
    out = {at}
    for c in calls(code[at], *at, funcs, relocs):
        out |= reached(c, code, funcs, relocs)
    return out


def check_uprobes(secs, code, funcs, relocs):
    for at in funcs:
        if secs[at[0]][0] not in ('uprobe', 'uretprobe'):
            continue
        sizes = {funcs[f][0]: rounded(lowest(code[f]), PRIVATE_ROUND) for f in reached(at, code, funcs, relocs)}
        ok(max(sizes.values()) < PRIVATE, '%s: no function has %d bytes of stack' % (funcs[at][0], PRIVATE), sizes)


def check(path):
    data = open(path, 'rb').read()
    secs = sections(data)
    symbols, funcs = functions(data, secs)
    relocs = relocations(data, secs, symbols)
    code = {(sec, start): data[secs[sec][4] + start:secs[sec][4] + end] for (sec, start), (_, end) in funcs.items()}
    known = {}
    size, names = max(deepest(at, code, funcs, relocs, known) for at in funcs)
    ok(size <= MOST, '%s: %d bytes of stack at most' % (os.path.basename(path), size), ' '.join(names))
    ok(len(names) <= FRAMES, '... and as many as %d functions' % len(names), ' '.join(names))
    check_uprobes(secs, code, funcs, relocs)


for path in sys.argv[1:]:
    check(path)
