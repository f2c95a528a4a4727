/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A resource manager: objects by client and handle, of which groups (TSGs), channels and their
 * scheduling mean something. A client is its file's, and goes with it.
 */
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mocknv.h"

#define MAX_OBJECTS 1024

/* @tsg: number on its runlist, as the hooks tell it */
struct object {
	struct list_head list;
	struct file *file;
	u32 client, handle, parent, class;
	u32 engine, runlist, tsg, interleave;
	u64 timeslice;
};

static LIST_HEAD(objects);
static DEFINE_MUTEX(lock);
static unsigned int count, last_handle;

static bool is_channel(u32 class)
{
	return (class & 0xff) == 0x6f;
}

static struct object *find(struct file *file, u32 client, u32 handle)
{
	struct object *o;

	list_for_each_entry(o, &objects, list)
		if (o->file == file && o->client == client && o->handle == handle)
			return o;
	return NULL;
}

/* Hooks ---------------------------------------------------------------------------------------- */

/* NV2080_ENGINE_TYPE to RM_ENGINE_TYPE of driver 575, as far as encoders */
static u32 __maybe_unused rm_engine(u32 engine)
{
	return engine >= 0x13 && engine <= 0x1d ? engine + 10 : engine;
}

static void emit_init(const struct object *o)
{
#ifdef HOOKS
	struct nv_gpu_task_init_ctx ctx = {
		.tsg_id = o->tsg,
		.engine_type = rm_engine(o->engine),
		.default_timeslice = o->timeslice,
		.default_interleave = 0,
		.runlist_id = o->runlist,
	};

	nv_gpu_sched_task_init(&ctx);
#endif
}

static bool may_bind(const struct object *o, u32 channels)
{
#ifdef HOOKS
	struct nv_gpu_bind_ctx ctx = {
		.tsg_id = o->tsg,
		.runlist_id = o->runlist,
		.channel_count = channels,
		.timeslice_us = o->timeslice,
		.interleave_level = o->interleave,
		.allow = 1,
	};

	BIND(&ctx);
	return ctx.allow;
#else
	return true;
#endif
}

static void emit_token(const struct object *group, u32 channel, u32 token)
{
#ifdef HOOKS
	struct nv_gpu_token_request_ctx ctx = {
		.channel_id = channel,
		.tsg_id = group->tsg,
		.token = token,
	};

	TOKEN(&ctx);
#endif
}

static void emit_destroy(const struct object *o)
{
#ifdef HOOKS
	struct nv_gpu_task_destroy_ctx ctx = { .tsg_id = o->tsg };

	nv_gpu_sched_task_destroy(&ctx);
#endif
}

/* Objects -------------------------------------------------------------------------------------- */

static void drop(struct object *o)
{
	if (o->class == KEPLER_CHANNEL_GROUP_A)
		emit_destroy(o);
	list_del(&o->list);
	kfree(o);
	count--;
}

/* What is below goes first. */
static void drop_all(struct object *o)
{
	struct object *c;
	bool again = true;

	while (again) {
		again = false;
		list_for_each_entry(c, &objects, list) {
			if (c == o || c->file != o->file || c->client != o->client ||
			    c->parent != o->handle)
				continue;
			drop_all(c);
			again = true;
			break;
		}
	}
	drop(o);
}

/* The document's run: graphics on runlist 0, its two copy engines on 13 and 14. */
static u32 runlist_of(u32 engine)
{
	return engine <= 8 ? 0 : engine + 2;
}

/* Parameters of a group: hObjectError, which has no other use here, is the number it gets. */
static int new_group(struct object *o, u64 params)
{
	u32 p[4];

	if (copy_from_user(p, u64_to_user_ptr(params), sizeof(p)))
		return -EFAULT;
	o->tsg = p[0];
	o->engine = p[3];
	o->runlist = runlist_of(o->engine);
	o->timeslice = 1024;
	emit_init(o);
	o->interleave = 1; /* MEDIUM, which RM sets when the rest is done */
	return 0;
}

static u32 rm_alloc(struct file *file, struct nv_alloc *a, int *err)
{
	bool root = a->class <= 1 || a->class == NV01_ROOT_CLIENT;
	struct object *o;

	if (!root && !find(file, a->client, a->client))
		return NV_ERR_INVALID_CLIENT;
	if (!root && !find(file, a->client, a->parent))
		return NV_ERR_INVALID_OBJECT;
	if (count == MAX_OBJECTS)
		return NV_ERR_BUSY_RETRY;
	o = kzalloc(sizeof(*o), GFP_KERNEL);
	if (!o) {
		*err = -ENOMEM;
		return NV_OK;
	}
	if (!a->object)
		a->object = 0xca000000 + ++last_handle;
	o->file = file;
	o->handle = a->object;
	o->client = root ? a->object : a->client;
	o->parent = root ? 0 : a->parent;
	o->class = a->class;
	if (a->class == KEPLER_CHANNEL_GROUP_A)
		*err = new_group(o, a->params);
	if (*err) {
		kfree(o);
		return NV_OK;
	}
	list_add(&o->list, &objects);
	count++;
	return NV_OK;
}

static u32 channels_of(const struct object *group)
{
	const struct object *o;
	u32 n = 0;

	list_for_each_entry(o, &objects, list)
		n += o->file == group->file && o->client == group->client &&
		     o->parent == group->handle && is_channel(o->class);
	return n;
}

static u32 on_group(struct object *o, u32 cmd, u32 *p)
{
	switch (cmd) {
	case 0xa06c0101: /* GPFIFO_SCHEDULE */
		if ((p[0] & 0xff) && !may_bind(o, channels_of(o)))
			return NV_ERR_BUSY_RETRY;
		return NV_OK;
	case 0xa06c0103: /* SET_TIMESLICE */
		o->timeslice = p[0] | (u64)p[1] << 32;
		return NV_OK;
	case 0xa06c0104: /* GET_TIMESLICE */
		p[0] = (u32)o->timeslice;
		p[1] = (u32)(o->timeslice >> 32);
		return NV_OK;
	case 0xa06c0106: /* GET_INFO */
		p[0] = o->tsg;
		return NV_OK;
	case 0xa06c0107: /* SET_INTERLEAVE_LEVEL */
		o->interleave = p[0];
		return NV_OK;
	case 0xa06c0108: /* GET_INTERLEAVE_LEVEL */
		p[0] = o->interleave;
		return NV_OK;
	}
	return NV_ERR_NOT_SUPPORTED;
}

static u32 rm_control(struct file *file, const struct nv_control *c, u32 *p)
{
	struct object *o = find(file, c->client, c->object), *group;

	if (!o)
		return NV_ERR_INVALID_OBJECT;
	if (o->class == KEPLER_CHANNEL_GROUP_A)
		return on_group(o, c->cmd, p);
	if (!is_channel(o->class) || c->cmd != 0xc36f0108) /* GPFIFO_GET_WORK_SUBMIT_TOKEN */
		return NV_ERR_NOT_SUPPORTED;
	group = find(file, o->client, o->parent);
	if (!group)
		return NV_ERR_INVALID_OBJECT;
	p[0] = 0x40000000 | group->runlist << 16 | (o->handle & 0xfff);
	emit_token(group, o->handle & 0xfff, p[0]);
	return NV_OK;
}

static u32 rm_free(struct file *file, const struct nv_free *f)
{
	struct object *o = find(file, f->client, f->object);

	if (!o)
		return NV_ERR_INVALID_OBJECT;
	drop_all(o);
	return NV_OK;
}

/* Calls ---------------------------------------------------------------------------------------- */

static long do_alloc(struct file *file, u32 size, void __user *arg)
{
	u32 at = size == 48 ? 40 : size == 40 ? 36 : 28, status;
	struct nv_alloc a;
	int err = 0;

	if (size != 32 && size != 40 && size != 48)
		return -EINVAL;
	if (copy_from_user(&a, arg, sizeof(a)))
		return -EFAULT;
	status = rm_alloc(file, &a, &err);
	if (!err &&
	    (copy_to_user(arg, &a, sizeof(a)) || put_user(status, (u32 __user *)(arg + at))))
		err = -EFAULT;
	return err;
}

static long do_control(struct file *file, u32 size, void __user *arg)
{
	u32 params[4] = { 0 }, n;
	struct nv_control c;

	if (size != sizeof(c))
		return -EINVAL;
	if (copy_from_user(&c, arg, sizeof(c)))
		return -EFAULT;
	n = min_t(u32, c.size, sizeof(params));
	if (copy_from_user(params, u64_to_user_ptr(c.params), n))
		return -EFAULT;
	c.status = rm_control(file, &c, params);
	if (copy_to_user(u64_to_user_ptr(c.params), params, n) || copy_to_user(arg, &c, sizeof(c)))
		return -EFAULT;
	return 0;
}

static long do_free(struct file *file, u32 size, void __user *arg)
{
	struct nv_free f;

	if (size != sizeof(f))
		return -EINVAL;
	if (copy_from_user(&f, arg, sizeof(f)))
		return -EFAULT;
	f.status = rm_free(file, &f);
	return copy_to_user(arg, &f, sizeof(f)) ? -EFAULT : 0;
}

static noinline long nvidia_unlocked_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	u32 nr = _IOC_NR(cmd), size = _IOC_SIZE(cmd);
	void __user *p = (void __user *)arg;
	struct nv_xfer x;
	long ret = -EINVAL;

	if (nr == NV_XFER_CMD) {
		if (copy_from_user(&x, p, sizeof(x)))
			return -EFAULT;
		nr = x.cmd;
		size = x.size;
		p = u64_to_user_ptr(x.arg);
	}
	mutex_lock(&lock);
	if (nr == NV_RM_ALLOC)
		ret = do_alloc(file, size, p);
	else if (nr == NV_RM_CONTROL)
		ret = do_control(file, size, p);
	else if (nr == NV_RM_FREE)
		ret = do_free(file, size, p);
	mutex_unlock(&lock);
	return ret;
}

static noinline int nvidia_close(struct inode *inode, struct file *file)
{
	struct object *o;
	bool again = true;

	mutex_lock(&lock);
	while (again) {
		again = false;
		list_for_each_entry(o, &objects, list) {
			if (o->file != file || o->parent)
				continue;
			drop_all(o);
			again = true;
			break;
		}
	}
	mutex_unlock(&lock);
	return 0;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = nvidia_unlocked_ioctl,
	.release = nvidia_close,
};

static int __init mocknv_init(void)
{
	return register_chrdev(NV_MAJOR, "nvidia", &fops);
}

static void __exit mocknv_exit(void)
{
	unregister_chrdev(NV_MAJOR, "nvidia");
}

module_init(mocknv_init);
module_exit(mocknv_exit);
MODULE_DESCRIPTION("NVIDIA's driver for gputrace's tests");
MODULE_VERSION("575.57.08");
MODULE_LICENSE("GPL");
