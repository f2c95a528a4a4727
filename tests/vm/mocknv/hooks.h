/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hooks of the patched module: functions that do nothing, for others to probe. The decision of
 * whoever decides is made inside, as the patched module's struct_ops do: parameter deny.
 *
 * BIND and TOKEN are their names.
 */
#include <linux/compiler.h>
#include <linux/export.h>
#include <linux/module.h>

#include "mocknv.h"

static bool deny;
module_param(deny, bool, 0644);
MODULE_PARM_DESC(deny, "nothing may be scheduled");

void nv_gpu_sched_task_init(struct nv_gpu_task_init_ctx *ctx);
void BIND(struct nv_gpu_bind_ctx *ctx);
void TOKEN(struct nv_gpu_token_request_ctx *ctx);
void nv_gpu_sched_task_destroy(struct nv_gpu_task_destroy_ctx *ctx);

noinline void nv_gpu_sched_task_init(struct nv_gpu_task_init_ctx *ctx)
{
	barrier_data(ctx);
}
EXPORT_SYMBOL(nv_gpu_sched_task_init);

noinline void BIND(struct nv_gpu_bind_ctx *ctx)
{
	WRITE_ONCE(ctx->allow, !deny);
	barrier_data(ctx);
}
EXPORT_SYMBOL(BIND);

noinline void TOKEN(struct nv_gpu_token_request_ctx *ctx)
{
	barrier_data(ctx);
}
EXPORT_SYMBOL(TOKEN);

noinline void nv_gpu_sched_task_destroy(struct nv_gpu_task_destroy_ctx *ctx)
{
	barrier_data(ctx);
}
EXPORT_SYMBOL(nv_gpu_sched_task_destroy);

#define HOOKS
