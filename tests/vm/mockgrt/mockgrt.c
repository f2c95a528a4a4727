// SPDX-License-Identifier: GPL-2.0
/* A driver that tells grtrace of a job itself: each call once, from an interrupt where one would
 * come. */
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/module.h>

#include "grtrace.h"

static DECLARE_COMPLETION(ended);
static struct hrtimer timer;

static enum hrtimer_restart interrupt(struct hrtimer *t)
{
	grtrace_irq("mock", 9);
	grtrace_end("mock", 4, 3);
	grtrace_complete("mock", 4, 3, -ETIME);
	grtrace_error("mock", 4, 3, 1);
	complete(&ended);
	return HRTIMER_NORESTART;
}

static void timer_init(void)
{
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(&timer, interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	timer.function = interrupt;
#endif
}

static int __init mock_init(void)
{
	grtrace_submit("mock", 4, 3);
	grtrace_commit("mock", 4, 3);
	grtrace_start("mock", 4, 3);
	grtrace_ctx_switch("mock", 2, 3, true);
	grtrace_sync_wait_enter("mock", 4, 3);
	timer_init();
	hrtimer_start(&timer, ns_to_ktime(1000000), HRTIMER_MODE_REL_HARD);
	wait_for_completion(&ended);
	hrtimer_cancel(&timer);
	grtrace_sync_wait_exit("mock", 4, 3, 1000000);
	grtrace_custom_event("sixteen letters!", "mock", 4711);
	return 0;
}

static void __exit mock_exit(void)
{
}

module_init(mock_init);
module_exit(mock_exit);
MODULE_DESCRIPTION("A driver that calls grtrace");
MODULE_LICENSE("GPL");
