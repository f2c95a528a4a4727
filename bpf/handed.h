/* SPDX-License-Identifier: GPL-2.0 */
/* Between args.bpf.c and tracepoint.bpf.c, whose maps these are. */
#ifndef GT_BPF_HANDED_H
#define GT_BPF_HANDED_H

#include "kernel.h"
#include "shared.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GT_BPF_LEVELS);
	__type(key, uint32_t);
	__type(value, struct gt_bpf_handed);
} handed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} gt_next SEC(".maps");

#endif
