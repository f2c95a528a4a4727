// SPDX-License-Identifier: GPL-2.0
/* The files in debugfs, but for the records: settings and counters. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "internal.h"

#define TEXT_MAX 64 /* bytes of a setting */

/**
 * struct file_row - a file
 * @name: its name
 * @show: prints it
 * @set: takes what was written, without white space around it; NULL: it is read only
 */
struct file_row {
	const char *name;
	void (*show)(struct seq_file *m);
	int (*set)(char *text);
};

static void show_control(struct seq_file *m)
{
	seq_puts(m, grt_running() ? "start\n" : "stop\n");
}

static int set_control(char *text)
{
	if (!strcmp(text, "start"))
		return grt_start();
	if (strcmp(text, "stop"))
		return -EINVAL;
	grt_stop();
	return 0;
}

static const char *const levels[] = { "off", "stats", "normal", "verbose" };

static void show_level(struct seq_file *m)
{
	seq_printf(m, "%s\n", levels[grt_level]);
}

static int set_level(char *text)
{
	int level = match_string(levels, ARRAY_SIZE(levels), text);

	if (level < 0)
		return -EINVAL;
	WRITE_ONCE(grt_level, level);
	return 0;
}

static void show_buffer_size(struct seq_file *m)
{
	seq_printf(m, "%u\n", grt_buffer_size);
}

static int set_buffer_size(char *text)
{
	u32 bytes;
	int r = kstrtou32(text, 0, &bytes);

	if (r)
		return r;
	return grt_running() ? -EBUSY : grt_channel_size(bytes);
}

static void show_buffer_mode(struct seq_file *m)
{
	seq_puts(m, grt_overwrite ? "overwrite\n" : "no-overwrite\n");
}

static int set_buffer_mode(char *text)
{
	bool overwrite = !strcmp(text, "overwrite");

	if (!overwrite && strcmp(text, "no-overwrite"))
		return -EINVAL;
	if (grt_running())
		return -EBUSY;
	WRITE_ONCE(grt_overwrite, overwrite);
	return 0;
}

/* One counter of all CPUs; @at: where it is in struct grt_cpu */
static u64 sum_at(size_t at)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += *(const u64 *)((const char *)*per_cpu_ptr(grt_cpus, cpu) + at);
	return n;
}
#define SUM(counter) sum_at(offsetof(struct grt_cpu, n.counter))

static void show_stats(struct seq_file *m)
{
	u64 seen = 0;

	for (int i = 0; i < GRT_NTYPES; i++)
		seen += SUM(seen[i]);
	seq_printf(m, "enabled=%d\nsession_id=%llu\n", grt_running(), grt_session.id);
	seq_printf(m, "events_seen=%llu\nwrites_ok=%llu\nlost_events=%llu\nfiltered_level=%llu\n",
		   seen, SUM(written), SUM(lost), SUM(by_level));
	seq_printf(m, "bytes_written=%llu\noverruns=%llu\nsubbufs_consumed=%llu\n", SUM(bytes),
		   SUM(overruns), grt_channel_consumed());
	seq_printf(m, "duplicates=%llu\njobs_untracked=%llu\nrings_untracked=%llu\n", SUM(twice),
		   SUM(untracked), SUM(nameless));
	grt_hooks_stats(m);
}

static void show_by_type(struct seq_file *m)
{
	seq_puts(m, "# type seen recorded\n");
#define X(number, text, payload)                                                                   \
	if (SUM(seen[number]))                                                                     \
		seq_printf(m, "%s %llu %llu\n", text, SUM(seen[number]), SUM(kept[number]));
	GRT_TYPES(X)
#undef X
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

static const struct file_row rows[] = {
	{ "control", show_control, set_control },
	{ "level", show_level, set_level },
	{ "buffer_size", show_buffer_size, set_buffer_size },
	{ "buffer_mode", show_buffer_mode, set_buffer_mode },
	{ "stats", show_stats },
	{ "events_by_type", show_by_type },
	{ "rings", show_rings },
	{ "tracepoints", grt_hooks_list },
};

static int file_show(struct seq_file *m, void *unused)
{
	const struct file_row *f = m->private;

	mutex_lock(&grt_lock);
	f->show(m);
	mutex_unlock(&grt_lock);
	return 0;
}

/* The mode of a file does not keep root from anything. */
static int file_open(struct inode *inode, struct file *file)
{
	const struct file_row *f = inode->i_private;

	if ((file->f_mode & FMODE_WRITE) && !f->set)
		return -EACCES;
	return single_open(file, file_show, inode->i_private);
}

static ssize_t file_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	const struct file_row *f = ((struct seq_file *)file->private_data)->private;
	char text[TEXT_MAX + 1];
	int r;

	if (len > TEXT_MAX)
		return -E2BIG;
	if (copy_from_user(text, buf, len))
		return -EFAULT;
	text[len] = '\0';
	mutex_lock(&grt_lock);
	r = f->set(strim(text));
	mutex_unlock(&grt_lock);
	return r ?: len;
}

static const struct file_operations file_fops = {
	.owner = THIS_MODULE,
	.open = file_open,
	.read = seq_read,
	.write = file_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/** grt_files_init() - makes them */
void grt_files_init(struct dentry *dir)
{
	for (int i = 0; i < ARRAY_SIZE(rows); i++)
		debugfs_create_file(rows[i].name, rows[i].set ? 0600 : 0400, dir, (void *)&rows[i],
				    &file_fops);
}
