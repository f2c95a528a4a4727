// SPDX-License-Identifier: GPL-2.0
/* Settings of the gate: a file for each, and all of them in config, as grtrace's documents have
 * them. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

/**
 * struct knob - a setting
 * @name: of its file; NULL: it is in config only
 * @key: in config; NULL: it is not there
 * @show: prints it
 * @set: takes it, or says what is wrong
 */
struct knob {
	const char *name, *key;
	void (*show)(struct seq_file *m, const struct grt_gate *g);
	int (*set)(struct grt_gate *g, char *text);
};

static int number(char *text, u32 most, u32 *to)
{
	u32 n;
	int r = kstrtou32(text, 0, &n);

	if (r)
		return r;
	if (n > most)
		return -ERANGE;
	*to = n;
	return 0;
}

static int choice(const char *const *names, int n, const char *text, u32 *to)
{
	int i = match_string(names, n, text);

	if (i < 0)
		return -EINVAL;
	*to = i;
	return 0;
}

#define NUMBER(field, most)                                                                        \
	static void show_##field(struct seq_file *m, const struct grt_gate *g)                     \
	{                                                                                          \
		seq_printf(m, "%u", g->field);                                                     \
	}                                                                                          \
	static int set_##field(struct grt_gate *g, char *text)                                     \
	{                                                                                          \
		return number(text, most, &g->field);                                              \
	}

NUMBER(percent, 100)
NUMBER(limit, 100000000)
NUMBER(burst, 100000000)

#define LIST(field)                                                                                \
	static void show_##field(struct seq_file *m, const struct grt_gate *g)                     \
	{                                                                                          \
		grt_list_show(m, &g->field);                                                       \
	}                                                                                          \
	static int set_##field(struct grt_gate *g, char *text)                                     \
	{                                                                                          \
		return grt_list_parse(&g->field, text);                                            \
	}

LIST(pids)
LIST(uids)
LIST(rings)
LIST(ctxs)

static const char *const levels[] = { "off", "stats", "normal", "verbose" };

static void show_level(struct seq_file *m, const struct grt_gate *g)
{
	seq_puts(m, levels[g->level]);
}

static int set_level(struct grt_gate *g, char *text)
{
	if (*text >= '0' && *text <= '9')
		return number(text, GRT_LEVEL_VERBOSE, &g->level);
	return choice(levels, ARRAY_SIZE(levels), text, &g->level);
}

static const char *const samplings[] = { "static", "adaptive", "threshold" };

static void show_sampling(struct seq_file *m, const struct grt_gate *g)
{
	seq_puts(m, samplings[g->sampling]);
}

static int set_sampling(struct grt_gate *g, char *text)
{
	return choice(samplings, ARRAY_SIZE(samplings), text, &g->sampling);
}

static void show_threshold(struct seq_file *m, const struct grt_gate *g)
{
	seq_printf(m, "%llu", g->threshold_ns);
}

static int set_threshold(struct grt_gate *g, char *text)
{
	return kstrtou64(text, 0, &g->threshold_ns);
}

static const char *const limits[] = { "window", "token_bucket" };

static void show_bucket(struct seq_file *m, const struct grt_gate *g)
{
	seq_puts(m, limits[g->bucket]);
}

static int set_bucket(struct grt_gate *g, char *text)
{
	u32 i = g->bucket;
	int r = *text == '0' || *text == '1' ? number(text, 1, &i)
					     : choice(limits, ARRAY_SIZE(limits), text, &i);

	g->bucket = i;
	return r;
}

static void show_filter_enabled(struct seq_file *m, const struct grt_gate *g)
{
	seq_printf(m, "%d", g->filter_enabled);
}

static int set_filter_enabled(struct grt_gate *g, char *text)
{
	return kstrtobool(text, &g->filter_enabled);
}

static void show_latency(struct seq_file *m, const struct grt_gate *g)
{
	seq_printf(m, "%llu", div_u64(g->latency_ns, 1000));
}

static int set_latency(struct grt_gate *g, char *text)
{
	u32 us;
	int r = kstrtou32(text, 0, &us);

	if (!r)
		g->latency_ns = us * 1000ull;
	return r;
}

static void show_types(struct seq_file *m, const struct grt_gate *g)
{
	seq_printf(m, "0x%x", g->types);
}

static int set_types(struct grt_gate *g, char *text)
{
	return kstrtou32(text, 0, &g->types);
}

static void show_engines(struct seq_file *m, const struct grt_gate *g)
{
	seq_printf(m, "0x%x", g->engines);
}

static int set_engines(struct grt_gate *g, char *text)
{
	return kstrtou16(text, 0, &g->engines);
}

/* config's own: a filter that is set there is on, and a ring is a watch list of one */
static int set_config_types(struct grt_gate *g, char *text)
{
	g->filter_enabled = true;
	return set_types(g, text);
}

static int set_config_engines(struct grt_gate *g, char *text)
{
	g->filter_enabled = true;
	return set_engines(g, text);
}

static void show_config_ring(struct seq_file *m, const struct grt_gate *g)
{
	if (g->rings.n == 1 && !g->rings.inverted)
		seq_printf(m, "%u", g->rings.id[0]);
	else
		seq_puts(m, "-1");
}

static int set_config_ring(struct grt_gate *g, char *text)
{
	if (!strcmp(text, "-1"))
		*text = '\0';
	return grt_list_parse(&g->rings, text);
}

static void show_watch_count(struct seq_file *m, const struct grt_gate *g)
{
	seq_printf(m, "%u", g->ctxs.n);
}

static void show_watch_ring_count(struct seq_file *m, const struct grt_gate *g)
{
	seq_printf(m, "%u", g->rings.n);
}

static const struct knob knobs[] = {
	{ "level", "level", show_level, set_level },
	{ "sampling", "sample", show_percent, set_percent },
	{ "sampling_rate", NULL, show_percent, set_percent },
	{ "sampling_mode", "sampling_mode", show_sampling, set_sampling },
	{ "sampling_threshold", "sampling_threshold", show_threshold, set_threshold },
	{ "rate_limit", "max_events_per_sec", show_limit, set_limit },
	{ "rate_limit_mode", "rate_limiter_mode", show_bucket, set_bucket },
	{ "rate_limit_burst", "rate_limit_burst", show_burst, set_burst },
	{ "filter_enabled", "filter_enabled", show_filter_enabled, set_filter_enabled },
	{ "filter_pid", "filter_pid", show_pids, set_pids },
	{ "filter_uid", "filter_uid", show_uids, set_uids },
	{ "filter_latency", "filter_latency", show_latency, set_latency },
	{ "filter_events", NULL, show_types, set_types },
	{ "filter_engine", NULL, show_engines, set_engines },
	{ NULL, "filter_type_mask", show_types, set_config_types },
	{ NULL, "filter_engine_mask", show_engines, set_config_engines },
	{ NULL, "filter_ring_id", show_config_ring, set_config_ring },
	{ "watchlist", NULL, show_rings, set_rings },
	{ "watchlist_ctx", NULL, show_ctxs, set_ctxs },
	{ NULL, "watch_count", show_watch_count, NULL },
	{ NULL, "watch_ring_count", show_watch_ring_count, NULL },
};

static const struct grt_gate *gate(void)
{
	return rcu_dereference_protected(grt_gate, lockdep_is_held(&grt_lock));
}

/* "key=value" lines */
static int set_config(struct grt_gate *g, char *text)
{
	char *line, *value;
	int i, r = 0;

	while (!r && (line = strsep(&text, "\n"))) {
		value = strchr(line, '=');
		if (!value)
			return -EINVAL;
		*value++ = '\0';
		for (i = 0; i < ARRAY_SIZE(knobs); i++)
			if (knobs[i].key && knobs[i].set && !strcmp(knobs[i].key, strim(line)))
				break;
		r = i < ARRAY_SIZE(knobs) ? knobs[i].set(g, strim(value)) : -EINVAL;
	}
	return r;
}

static int knob_show(struct seq_file *m, void *unused)
{
	const struct knob *k = m->private;

	mutex_lock(&grt_lock);
	if (k)
		k->show(m, gate());
	else
		for (int i = 0; i < ARRAY_SIZE(knobs); i++) {
			if (!knobs[i].key)
				continue;
			seq_printf(m, "%s=", knobs[i].key);
			knobs[i].show(m, gate());
			seq_putc(m, '\n');
		}
	mutex_unlock(&grt_lock);
	if (k)
		seq_putc(m, '\n');
	return 0;
}

static int knob_open(struct inode *inode, struct file *file)
{
	return single_open(file, knob_show, inode->i_private);
}

/* All of what is written is looked at before anything changes */
static int knob_set(const struct knob *k, char *text)
{
	struct grt_gate *new;
	int r;

	mutex_lock(&grt_lock);
	new = kmemdup(gate(), sizeof(*new), GFP_KERNEL);
	if (!new)
		r = -ENOMEM;
	else
		r = k ? k->set(new, text) : set_config(new, text);
	if (!r)
		r = grt_gate_set(new);
	mutex_unlock(&grt_lock);
	kfree(new);
	return r;
}

static ssize_t knob_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	char *text;
	ssize_t r = grt_file_text(buf, len, &text);

	if (r)
		return r;
	r = knob_set(((struct seq_file *)file->private_data)->private, strim(text));
	kfree(text);
	return r ?: len;
}

static const struct file_operations knob_fops = {
	.owner = THIS_MODULE,
	.open = knob_open,
	.read = seq_read,
	.write = knob_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/** grt_knobs_init() - makes the files */
void grt_knobs_init(struct dentry *dir)
{
	for (int i = 0; i < ARRAY_SIZE(knobs); i++)
		if (knobs[i].name)
			debugfs_create_file(knobs[i].name, 0600, dir, (void *)&knobs[i],
					    &knob_fops);
	debugfs_create_file("config", 0600, dir, NULL, &knob_fops);
}
