// SPDX-License-Identifier: GPL-2.0
/* grtrace: traces the rings of GPUs into relay files. Start, stop, and the module's beginning and
 * end. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/timekeeping.h>

#include "internal.h"

DEFINE_MUTEX(grt_lock);

static struct dentry *dir;
static bool running;

/** grt_running() - Return: whether a session is under way */
bool grt_running(void)
{
	return READ_ONCE(running);
}

static void session_begin(void)
{
	const struct grt_gate *g = rcu_dereference_protected(grt_gate, lockdep_is_held(&grt_lock));
	u64 now = ktime_get_mono_fast_ns(), id;

	do {
		id = get_random_u64();
	} while (!id);
	grt_session = (struct grt_session){
		.id = id,
		.started = now,
		.realtime = ktime_get_real_ns() - now,
		.boottime = ktime_get_boottime_ns() - now,
		.features = GRT_F_SIZE_SKIP | (g->bucket ? GRT_F_TOKEN_BUCKET : 0) |
			    (g->rings.n || g->ctxs.n ? GRT_F_WATCH_LIST : 0) |
			    (grt_overwrite ? GRT_F_OVERWRITE : 0),
	};
}

/** grt_start() - a session begins, unless one is under way. Return: 0 or -ENOMEM */
int grt_start(void)
{
	int r = grt_channel_ready();

	if (r || running)
		return r;
	grt_jobs_clear();
	grt_gseq_clear();
	session_begin();
	grt_channel_mark();
	WRITE_ONCE(running, true);
	grt_emit_on(true);
	grt_hooks_on();
	grt_tick_start();
	return 0;
}

/** grt_stop() - the session ends; what it wrote can be read yet */
void grt_stop(void)
{
	if (!running)
		return;
	grt_tick_stop();
	grt_hooks_off();
	WRITE_ONCE(running, false);
	grt_emit_on(false);
	grt_session.features |= GRT_F_STOPPED;
	grt_channel_mark();
}

static void grt_exit(void)
{
	grt_stats_exit();
	mutex_lock(&grt_lock);
	grt_stop();
	mutex_unlock(&grt_lock);
	grt_hooks_exit();
	grt_channel_exit();
	debugfs_remove_recursive(dir);
	grt_tick_exit();
	grt_state_exit();
}

static int __init grt_init(void)
{
	int r = grt_state_init();

	if (r) {
		grt_state_exit();
		return r;
	}
	dir = debugfs_create_dir("grtrace", NULL);
	if (IS_ERR(dir)) {
		grt_state_exit();
		return PTR_ERR(dir);
	}
	r = grt_channel_init(dir) ?: grt_stats_init(dir) ?: grt_hooks_init();
	if (r) {
		grt_exit();
		return r;
	}
	grt_files_init(dir);
	grt_knobs_init(dir);
	return 0;
}

module_init(grt_init);
module_exit(grt_exit);
MODULE_DESCRIPTION("GPU ring trace");
MODULE_VERSION(GRT_MODULE_VERSION);
MODULE_LICENSE("GPL");
