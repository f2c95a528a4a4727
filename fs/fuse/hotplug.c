/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPUs and drivers that come and go: the kernel's messages, or a write of rescan, lead to one look
 * at sysfs for a burst of them, and to a request to the backends to look for tracepoints again.
 */
#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "../naming.h"
#include "../tree/node.h"
#include "../uevent.h"
#include "fuse.h"

#define SETTLE_NS   10000000ULL	  /* a driver that is bound sends a handful of messages */
#define DEVICES_NS  50000000ULL	  /* sysfs is looked at so often at most */
#define FAILED_NS   1000000000ULL /* and if it cannot be read: that may last */
#define BACKENDS_NS 200000000ULL  /* tracepoints */

static void hear(struct gt_fs *fs, struct pollfd *p)
{
	uint64_t due = gt_fs_now() + SETTLE_NS;
	int what = gt_uevent_drain(fs->uevents);

	if (what < 0) {
		syslog(LOG_WARNING, "no more word of devices: %s; write rescan to control",
		       strerror(-what));
		p->fd = -1;
		return;
	}
	if (what && due > fs->hotplug.devices_at && !fs->hotplug.devices)
		fs->hotplug.devices_at = due;
	fs->hotplug.devices |= (what & GT_UEVENT_DEVICE) != 0;
	fs->hotplug.backends |= (what & GT_UEVENT_MODULE) != 0;
}

/* What is open below such a directory fails by itself: only the name is known to the kernel. */
static void forget_gone(struct gt_fs *fs)
{
	char escaped[GT_NAME_MAX];
	struct gt_stale s;

	while (gt_naming_stale(fs->app->naming, &s)) {
		gt_name_escape(escaped, s.name, sizeof(s.name));
		/* -ENOENT: it had never looked */
		fuse_lowlevel_notify_inval_entry(fs->se, FUSE_ROOT_ID, escaped, strlen(escaped));
		gt_naming_forgotten(fs->app->naming, &s);
	}
}

/*
 * A path that was being walked leads into the directory of before; if there is one again, ESTALE
 * makes the kernel walk anew.
 */
int gt_gone_error(struct gt_fs *fs, const struct gt_obj *obj, int err)
{
	const struct gt_model *m = fs->app->model;
	GT_MODEL_LOCK(fs->app->model);

	return obj->gpu < m->ngpus && !m->gpus[obj->gpu]->gone ? ESTALE : err;
}

static void look_at_devices(struct gt_fs *fs, uint64_t now)
{
	int n = gt_naming_scan(fs->app->naming);

	fs->hotplug.devices_at = now + (n < 0 ? FAILED_NS : DEVICES_NS);
	fs->hotplug.devices = n < 0; /* no memory or descriptors: again, then */
	/* they know GPUs by number: which of them have an own record may change now */
	fs->hotplug.backends |= n > 0;
}

uint64_t gt_hotplug_turn(struct gt_fs *fs, struct pollfd *p)
{
	uint64_t now = gt_fs_now(), next = UINT64_MAX;

	if (!fs->app->naming)
		return next;
	if (p->fd >= 0 && p->revents)
		hear(fs, p);
	if (fs->hotplug.devices && now >= fs->hotplug.devices_at)
		look_at_devices(fs, now);
	forget_gone(fs);
	if (fs->hotplug.backends && now >= fs->hotplug.backends_at) {
		gt_host_rescan(fs->app->host);
		fs->hotplug.backends = false;
		fs->hotplug.backends_at = now + BACKENDS_NS;
	}
	if (fs->hotplug.devices)
		next = fs->hotplug.devices_at;
	if (fs->hotplug.backends && fs->hotplug.backends_at < next)
		next = fs->hotplug.backends_at;
	return next;
}
