// SPDX-License-Identifier: GPL-2.0
/* Files that show: stats, by type, by ring, and /proc/grtrace_stats. */
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "internal.h"

static struct proc_dir_entry *proc;

/** grt_ring_sum() - a ring's numbers of all CPUs; without windows */
static void grt_ring_sum(unsigned int ring, struct grt_ring_stat *sum)
{
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct grt_ring_stat *s = &(*per_cpu_ptr(grt_cpus, cpu))->ring[ring];

		sum->seen += s->seen;
		sum->kept += s->kept;
		sum->lost += s->lost;
		sum->all.jobs += s->all.jobs;
		sum->all.sum += s->all.sum;
	}
}

/** grt_totals() - the numbers of all CPUs but for rings' */
static void grt_totals(struct grt_cpu *sum)
{
	int cpu, i;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct grt_cpu *c = *per_cpu_ptr(grt_cpus, cpu);

		sum->written += c->written;
		sum->bytes += c->bytes;
		sum->lost += c->lost;
		sum->overruns += c->overruns;
		sum->twice += c->twice;
		sum->untracked += c->untracked;
		sum->nameless += c->nameless;
		for (i = 0; i < GRT_VERDICTS; i++)
			sum->verdict[i] += c->verdict[i];
		for (i = 0; i < GRT_NTYPES; i++) {
			sum->seen[i] += c->seen[i];
			sum->kept[i] += c->kept[i];
		}
	}
}

static u64 all(const u64 *n, int count)
{
	u64 sum = 0;

	while (count--)
		sum += n[count];
	return sum;
}

/* What the totals are is too much for a stack */
static void with_totals(struct seq_file *m, void (*show)(struct seq_file *, const struct grt_cpu *))
{
	struct grt_cpu *sum = kvmalloc(sizeof(*sum), GFP_KERNEL);

	if (!sum)
		return;
	grt_totals(sum);
	show(m, sum);
	kvfree(sum);
}

static void show_refused(struct seq_file *m, const struct grt_cpu *c)
{
	static const char *const names[GRT_VERDICTS] = {
		[GRT_BY_LEVEL] = "filtered_level",    [GRT_BY_TYPE] = "filtered_type",
		[GRT_BY_ENGINE] = "filtered_engine",  [GRT_BY_PID] = "filtered_pid",
		[GRT_BY_UID] = "filtered_uid",	      [GRT_BY_LATENCY] = "filtered_latency",
		[GRT_BY_WATCH] = "filtered_watch",    [GRT_BY_SAMPLING] = "sampled_out",
		[GRT_BY_RATE] = "rate_limited_drops",
	};

	for (int i = GRT_PASS + 1; i < GRT_VERDICTS; i++)
		seq_printf(m, "%s=%llu\n", names[i], c->verdict[i]);
}

static void totals(struct seq_file *m, const struct grt_cpu *c)
{
	seq_printf(m, "enabled=%d\nsession_id=%llu\n", grt_running(), grt_session.id);
	seq_printf(m, "events_seen=%llu\nwrites_ok=%llu\nlost_events=%llu\n",
		   all(c->seen, GRT_NTYPES), c->written, c->lost);
	show_refused(m, c);
	seq_printf(m, "bytes_written=%llu\noverruns=%llu\nsubbufs_consumed=%llu\n", c->bytes,
		   c->overruns, grt_channel_consumed());
	seq_printf(m, "duplicates=%llu\njobs_untracked=%llu\nrings_untracked=%llu\n", c->twice,
		   c->untracked, c->nameless);
	seq_printf(m, "in_nmi=%lld\n", atomic64_read(&grt_nmi));
	grt_hooks_show(m);
}

static void show_stats(struct seq_file *m)
{
	with_totals(m, totals);
}

static void show_filter_stats(struct seq_file *m)
{
	with_totals(m, show_refused);
}

static void by_type(struct seq_file *m, const struct grt_cpu *c)
{
	seq_puts(m, "# type seen recorded\n");
#define X(number, text, payload)                                                                   \
	if (c->seen[number])                                                                       \
		seq_printf(m, "%s %llu %llu\n", text, c->seen[number], c->kept[number]);
	GRT_TYPES(X)
#undef X
}

static void show_by_type(struct seq_file *m)
{
	with_totals(m, by_type);
}

static void show_rings(struct seq_file *m)
{
	seq_puts(m, "# ring_id engine name driver dev\n");
	for (unsigned int i = 0; i < grt_ring_count(); i++) {
		const struct grt_ring *r = grt_ring_at(i);

		seq_printf(m, "%u %s %s %s %s\n", r->id, grt_engine_name(r->engine),
			   r->name[0] ? r->name : "-", r->driver[0] ? r->driver : "-",
			   r->dev[0] ? r->dev : "-");
	}
}

static void show_sampling(struct seq_file *m)
{
	static const char *const modes[] = { "static", "adaptive", "threshold" };
	const struct grt_gate *g = rcu_dereference_protected(grt_gate, lockdep_is_held(&grt_lock));
	struct grt_ring_stat s;

	seq_printf(m, "Sampler mode: %s (rate=%u%%)\n", modes[g->sampling],
		   g->sampling == GRT_ADAPTIVE ? READ_ONCE(grt_percent) : g->percent);
	seq_puts(m, "Per-ring statistics:\nRing Total Events Sampled Events Sample Rate\n");
	for (unsigned int i = 0; i < grt_ring_count(); i++) {
		grt_ring_sum(i, &s);
		if (s.seen)
			seq_printf(m, "%u %llu %llu %llu%%\n", i, s.seen, s.kept,
				   div64_u64(s.kept * 100, s.seen));
	}
}

static void show_version(struct seq_file *m)
{
	seq_printf(m, "grtrace %s (gputrace)\nformat %d\n", GRT_MODULE_VERSION, GRT_VERSION);
}

/* In parts of 10,000: two digits behind the point */
static u64 parts(u64 of, u64 in)
{
	return in ? div64_u64(of, div64_u64(in, 10000) ?: 1) : 0;
}

static u64 busy_of(const struct grt_ring *r, u64 now)
{
	u64 busy = atomic64_read(&r->busy), since = READ_ONCE(r->busy_since);

	return busy +
	       (grt_running() && atomic_read(&r->on_hw) > 0 && now > since ? now - since : 0);
}

static int proc_show(struct seq_file *m, void *unused)
{
	u64 now = ktime_get_mono_fast_ns();
	struct grt_ring_stat s;

	seq_puts(m, "# ring_id utilization% drop_rate% avg_latency_us\n");
	for (unsigned int i = 0; i < grt_ring_count(); i++) {
		u64 busy = busy_of(grt_ring_at(i), now), used, dropped;

		grt_ring_sum(i, &s);
		if (!s.seen)
			continue;
		used = min(parts(busy, now - grt_session.started), 10000ull);
		dropped = s.kept ? div64_u64(s.lost * 10000, s.kept) : 0;
		seq_printf(m, "%u %llu.%02llu %llu.%02llu ", i, used / 100, used % 100,
			   dropped / 100, dropped % 100);
		if (s.all.jobs)
			seq_printf(m, "%llu\n", div64_u64(s.all.sum, s.all.jobs * 1000));
		else
			seq_puts(m, "-\n");
	}
	return 0;
}

static const struct grt_file files[] = {
	{ "stats", show_stats },
	{ "tracepoints", grt_hooks_list },
	{ "filter_stats", show_filter_stats },
	{ "sampling_stats", show_sampling },
	{ "events_by_type", show_by_type },
	{ "rings", show_rings },
	{ "version", show_version },
};

/** grt_stats_init() - makes the files. Return: 0 or -ENOMEM */
int grt_stats_init(struct dentry *dir)
{
	for (int i = 0; i < ARRAY_SIZE(files); i++)
		grt_file_add(dir, &files[i]);
	proc = proc_create_single("grtrace_stats", 0400, NULL, proc_show);
	return proc ? 0 : -ENOMEM;
}

/** grt_stats_exit() - the end of /proc's */
void grt_stats_exit(void)
{
	proc_remove(proc);
}
