#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The stack of each BPF program is one that kernels before 6.13 have room for, whatever this one allows.
# Quick
. "$GT_SRC/tests/lib/case.sh"
python_checks "$GT_SRC/tests/lib/bpfstack.py" "$GT_OUT"/obj/bpf/*.bpf.o
done_testing
