// SPDX-License-Identifier: GPL-2.0
/* The patched module, as it is now. */
#define BIND  nv_gpu_sched_bind
#define TOKEN nv_gpu_sched_token_request
#include "hooks.h"
#include "rm.h"
