# SPDX-License-Identifier: GPL-2.0
"""The mock GPU's truth (debugfs, mockgpu/truth), for the parts of a case written in Python."""
import types

TRUTH = '/sys/kernel/debug/mockgpu/truth'
TEXT = ('device', 'ring', 'comm')


def read(path=TRUTH):
    """A list of jobs as they were submitted: an attribute for each column of the heading; numbers
    are int, what did not happen is None."""
    lines = open(path).read().splitlines()
    names = lines[0].lstrip('# ').split()
    return [types.SimpleNamespace(**{
        n: v if n in TEXT else None if v == '-' else int(v) for n, v in zip(names, line.split())})
        for line in lines[1:]]


def by(jobs, *names):
    """Jobs in lists by the values of these attributes, in the order they had."""
    out = {}
    for j in jobs:
        out.setdefault(tuple(getattr(j, n) for n in names), []).append(j)
    return out
