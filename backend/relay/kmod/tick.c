// SPDX-License-Identifier: GPL-2.0
/* What is done from time to time: windows are closed, and adaptive sampling adapts. */
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"

bool grt_aggregate;
u32 grt_window_ms = 1000;

static DEFINE_MUTEX(closed_lock); /* for what is in @closed; inside grt_lock */

/* The window that ended last */
static struct {
	struct grt_spread s;
	u32 peak;
} * closed;

static u64 lost_before;

static void spread_sum(struct grt_spread *to, const struct grt_spread *s)
{
	to->events += s->events;
	to->depth += s->depth;
	to->sum += s->sum;
	if (s->jobs && (!to->jobs || s->min < to->min))
		to->min = s->min;
	to->max = max(to->max, s->max);
	to->jobs += s->jobs;
}

static void close_window(void)
{
	unsigned int which = grt_window_now & 1;
	int cpu;

	/* Events go into the other from here on, and those on their way have arrived */
	WRITE_ONCE(grt_window_now, grt_window_now + 1);
	synchronize_rcu();
	mutex_lock(&closed_lock);
	memset(closed, 0, GRT_RINGS * sizeof(*closed));
	for (unsigned int i = 0; i < grt_ring_count(); i++) {
		struct grt_ring *r = grt_ring_at(i);

		for_each_possible_cpu(cpu) {
			struct grt_ring_stat *s = &(*per_cpu_ptr(grt_cpus, cpu))->ring[i];

			spread_sum(&closed[i].s, &s->window[which]);
			memset(&s->window[which], 0, sizeof(s->window[which]));
		}
		closed[i].peak = xchg(&r->window_peak, max(atomic_read(&r->depth), 0));
	}
	mutex_unlock(&closed_lock);
}

static void window_tick(struct work_struct *work);
static void adapt_tick(struct work_struct *work);
static DECLARE_DELAYED_WORK(window_work, window_tick);
static DECLARE_DELAYED_WORK(adapt_work, adapt_tick);

/* Not with grt_lock held: a stop waits for this with the lock */
static void window_tick(struct work_struct *work)
{
	if (READ_ONCE(grt_aggregate))
		close_window();
	schedule_delayed_work(&window_work, msecs_to_jiffies(READ_ONCE(grt_window_ms)));
}

static void adapt_tick(struct work_struct *work)
{
	const struct grt_gate *g;
	u64 lost = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		lost += (*per_cpu_ptr(grt_cpus, cpu))->lost +
			(*per_cpu_ptr(grt_cpus, cpu))->overruns;
	rcu_read_lock();
	g = rcu_dereference(grt_gate);
	WRITE_ONCE(grt_percent, grt_adapt(grt_percent, g->percent, lost > lost_before));
	rcu_read_unlock();
	lost_before = lost;
	schedule_delayed_work(&adapt_work, HZ);
}

/** grt_window_show() - the window that ended last */
void grt_window_show(struct seq_file *m)
{
	seq_printf(m, "Aggregation Window: %u ms\nStatus: %s\n", grt_window_ms,
		   grt_aggregate ? "enabled" : "disabled");
	seq_puts(m, "Ring | Events | Avg Latency | Min Latency | Max Latency | Avg Depth | Peak "
		    "Depth\n");
	mutex_lock(&closed_lock);
	for (unsigned int i = 0; closed && i < grt_ring_count(); i++) {
		const struct grt_spread *s = &closed[i].s;

		if (!s->events)
			continue;
		seq_printf(m, "%u | %llu | ", i, s->events);
		if (s->jobs)
			seq_printf(m, "%llu | %llu | %llu", div64_u64(s->sum, s->jobs), s->min,
				   s->max);
		else
			seq_puts(m, "- | - | -");
		seq_printf(m, " | %llu | %u\n", div64_u64(s->depth, s->events), closed[i].peak);
	}
	mutex_unlock(&closed_lock);
}

/** grt_tick_start() - from now on */
void grt_tick_start(void)
{
	if (!closed)
		closed = kvcalloc(GRT_RINGS, sizeof(*closed), GFP_KERNEL);
	lost_before = 0;
	schedule_delayed_work(&adapt_work, HZ);
	if (closed)
		schedule_delayed_work(&window_work, msecs_to_jiffies(grt_window_ms));
}

/** grt_tick_stop() - no more; returns when none is at work */
void grt_tick_stop(void)
{
	cancel_delayed_work_sync(&window_work);
	cancel_delayed_work_sync(&adapt_work);
}

/** grt_tick_exit() - after the last stop */
void grt_tick_exit(void)
{
	kvfree(closed);
	closed = NULL;
}
