// SPDX-License-Identifier: GPL-2.0
/*
 * What happened to each job, as the mock itself knows it: debugfs, mockgpu/truth. A table of
 * bounded size; jobs that found it full are counted in mockgpu/truth_lost.
 */
#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "mockgpu.h"

static unsigned int truth_max = 65536;
module_param(truth_max, uint, 0444);
MODULE_PARM_DESC(truth_max, "jobs to keep the truth of");

static DEFINE_MUTEX(truth_lock);
static struct mock_truth **table;
static unsigned int count;
static u64 lost;
static atomic_t live;
static struct dentry *dir;

/**
 * mock_truth_new() - of a job that this thread is about to submit
 * Return: it, with a reference of the caller's; NULL without memory
 */
struct mock_truth *mock_truth_new(const struct mock_ring *ring, const struct mock_client *client)
{
	struct mock_truth *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	kref_init(&t->ref);
	strscpy(t->device, dev_name(ring->dev->drm.dev), sizeof(t->device));
	t->ring = ring->name;
	get_task_comm(t->comm, current);
	for (char *c = t->comm; *c; c++)
		if (*c <= ' ')
			*c = '_';
	t->pid = task_tgid_nr(current);
	t->tid = task_pid_nr(current);
	t->uid = from_kuid(&init_user_ns, current_uid());
	t->client = client->id;
	t->result = 1;
	atomic_inc(&live);
	return t;
}

static void truth_free(struct kref *ref)
{
	kfree(container_of(ref, struct mock_truth, ref));
	atomic_dec(&live);
}

/** mock_truth_put() - gives back a reference */
void mock_truth_put(struct mock_truth *t)
{
	kref_put(&t->ref, truth_free);
}

/** mock_truth_publish() - into the table, with a reference of its own; counts it if full */
void mock_truth_publish(struct mock_truth *t)
{
	mutex_lock(&truth_lock);
	if (count < truth_max) {
		kref_get(&t->ref);
		table[count++] = t;
	} else {
		lost++;
	}
	mutex_unlock(&truth_lock);
}

static void truth_clear(void)
{
	mutex_lock(&truth_lock);
	while (count)
		mock_truth_put(table[--count]);
	lost = 0;
	mutex_unlock(&truth_lock);
}

/* Position 0 is the heading */
static void *truth_at(loff_t pos)
{
	return pos <= count ? (void *)(unsigned long)(pos + 1) : NULL;
}

static void *truth_seq_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&truth_lock);
	return truth_at(*pos);
}

static void *truth_seq_next(struct seq_file *m, void *v, loff_t *pos)
{
	return truth_at(++*pos);
}

static void truth_seq_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&truth_lock);
}

static void show_time(struct seq_file *m, const u64 *t)
{
	u64 ns = READ_ONCE(*t);

	if (ns)
		seq_printf(m, " %llu", ns);
	else
		seq_puts(m, " -");
}

static int truth_seq_show(struct seq_file *m, void *v)
{
	unsigned long at = (unsigned long)v - 1;
	const struct mock_truth *t;
	int result;

	if (at == 0) {
		seq_puts(m, "# device ring pid tid uid comm client ctx seqno id length "
			    "t_submit t_run t_hw_start t_hw_end t_done "
			    "before_submit before_run before_done result\n");
		return 0;
	}
	t = table[at - 1];
	seq_printf(m, "%s %s %d %d %u %s %llu %llu %llu %llu %llu", t->device, t->ring, t->pid,
		   t->tid, t->uid, t->comm[0] ? t->comm : "-", t->client, t->context, t->seqno,
		   t->id, t->length);
	show_time(m, &t->submit);
	show_time(m, &t->run);
	show_time(m, &t->hw_start);
	show_time(m, &t->hw_end);
	show_time(m, &t->done);
	show_time(m, &t->before_submit);
	show_time(m, &t->before_run);
	show_time(m, &t->before_done);
	result = READ_ONCE(t->result);
	if (result <= 0)
		seq_printf(m, " %d\n", result);
	else
		seq_puts(m, " -\n");
	return 0;
}

static const struct seq_operations truth_seq = {
	.start = truth_seq_start,
	.next = truth_seq_next,
	.stop = truth_seq_stop,
	.show = truth_seq_show,
};

static int truth_open(struct inode *inode, struct file *file)
{
	return seq_open(file, &truth_seq);
}

static ssize_t truth_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	truth_clear();
	return len;
}

static const struct file_operations truth_fops = {
	.owner = THIS_MODULE,
	.open = truth_open,
	.read = seq_read,
	.write = truth_write,
	.llseek = seq_lseek,
	.release = seq_release,
};

/** mock_truth_start() - the table and its files. Return: 0 or -errno */
int mock_truth_start(void)
{
	table = kvcalloc(truth_max, sizeof(table[0]), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	dir = debugfs_create_dir("mockgpu", NULL);
	debugfs_create_file("truth", 0600, dir, NULL, &truth_fops);
	debugfs_create_u64("truth_lost", 0400, dir, &lost);
	return 0;
}

/** mock_truth_stop() - the end of it, when there are no jobs any more */
void mock_truth_stop(void)
{
	debugfs_remove_recursive(dir);
	truth_clear();
	WARN_ON(atomic_read(&live));
	kvfree(table);
}
