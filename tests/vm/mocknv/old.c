// SPDX-License-Identifier: GPL-2.0
/* The patched module of older releases. */
#define BIND  nv_gpu_sched_schedule
#define TOKEN nv_gpu_sched_work_submit
#include "hooks.h"
#include "rm.h"
