// SPDX-License-Identifier: GPL-2.0
/* Files that do something: control, buffers, windows, emit. Settings of the gate are in knobs.c. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "internal.h"

#define TEXT_MAX 4096

/**
 * grt_file_text() - what was written, whole
 * @text: is set to it, without space around it; to be freed by kfree()
 *
 * Return: 0, -E2BIG, -EFAULT, -ENOMEM
 */
ssize_t grt_file_text(const char __user *buf, size_t len, char **text)
{
	char *p;

	if (len > TEXT_MAX)
		return -E2BIG;
	p = memdup_user_nul(buf, len);
	if (IS_ERR(p))
		return PTR_ERR(p);
	*text = p;
	return 0;
}

/* A seek reads, too, also of a file that is open for writing only */
static int file_show(struct seq_file *m, void *unused)
{
	const struct grt_file *f = m->private;

	if (!f->show)
		return 0;
	mutex_lock(&grt_lock);
	f->show(m);
	mutex_unlock(&grt_lock);
	return 0;
}

/* The mode of a file does not keep root from anything */
static int file_open(struct inode *inode, struct file *file)
{
	const struct grt_file *f = inode->i_private;

	if (((file->f_mode & FMODE_READ) && !f->show) || ((file->f_mode & FMODE_WRITE) && !f->set))
		return -EACCES;
	return single_open(file, file_show, inode->i_private);
}

static ssize_t file_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	const struct grt_file *f = ((struct seq_file *)file->private_data)->private;
	ssize_t r;
	char *text;

	r = grt_file_text(buf, len, &text);
	if (r)
		return r;
	mutex_lock(&grt_lock);
	r = f->set(strim(text));
	mutex_unlock(&grt_lock);
	kfree(text);
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

/** grt_file_add() - makes that file */
void grt_file_add(struct dentry *dir, const struct grt_file *f)
{
	debugfs_create_file(f->name, (f->show ? 0400 : 0) | (f->set ? 0200 : 0), dir, (void *)f,
			    &file_fops);
}

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

static void show_enabled(struct seq_file *m)
{
	seq_printf(m, "%d\n", grt_running());
}

static int set_enabled(char *text)
{
	bool on;
	int r = kstrtobool(text, &on);

	if (!r && on)
		return grt_start();
	if (!r)
		grt_stop();
	return r;
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

static void show_aggregator_enable(struct seq_file *m)
{
	seq_printf(m, "%d\n", grt_aggregate);
}

static int set_aggregator_enable(char *text)
{
	return kstrtobool(text, &grt_aggregate);
}

static void show_aggregator_window(struct seq_file *m)
{
	seq_printf(m, "%u\n", grt_window_ms);
}

static int set_aggregator_window(char *text)
{
	u32 ms;
	int r = kstrtou32(text, 0, &ms);

	if (r)
		return r;
	if (ms < 100 || ms > 60000)
		return -ERANGE;
	WRITE_ONCE(grt_window_ms, ms);
	return 0;
}

static int set_reset_stats(char *text)
{
	grt_stats_clear();
	return 0;
}

static const struct {
	u16 type;
	const char *name;
} types[] = {
#define X(number, text, payload) { number, text },
	GRT_TYPES(X)
#undef X
};

/* "submit CTX ENG RING SEQ [VALUE]" */
static int emit_line(char *line)
{
	struct grt_says e = {
		.source = GRT_SRC_DRIVER, .value = GRT_NONE64, .ref = GRT_NONE64, .name = "emit"
	};
	char name[20], ring[16];
	unsigned int number, engine;
	int n = sscanf(line, "%19s %llu %i %u %llu %llu", name, &e.ctx, &engine, &number, &e.seqno,
		       &e.value);

	if (n < 5 || engine & ~0x1f || number >= GRT_RINGS)
		return -EINVAL;
	for (int i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcasecmp(types[i].name, name))
			continue;
		snprintf(ring, sizeof(ring), "ring%u", number);
		e.ring = grt_ring_of(&types[i], ring, NULL, engine);
		e.type = types[i].type;
		grt_emit(&e);
		return 0;
	}
	return -EINVAL;
}

static int set_emit(char *text)
{
	char *line;
	int r = 0;

	while (!r && (line = strsep(&text, "\n")))
		r = emit_line(line);
	return r;
}

static const struct grt_file files[] = {
	{ "control", show_control, set_control },
	{ "enabled", show_enabled, set_enabled },
	{ "buffer_size", show_buffer_size, set_buffer_size },
	{ "buffer_mode", show_buffer_mode, set_buffer_mode },
	{ "aggregator_enable", show_aggregator_enable, set_aggregator_enable },
	{ "aggregator_window", show_aggregator_window, set_aggregator_window },
	{ "aggregator_stats", grt_window_show, NULL },
	{ "reset_stats", NULL, set_reset_stats },
	{ "emit", NULL, set_emit },
};

/** grt_files_init() - makes them */
void grt_files_init(struct dentry *dir)
{
	for (int i = 0; i < ARRAY_SIZE(files); i++)
		grt_file_add(dir, &files[i]);
}
