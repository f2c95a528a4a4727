/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The notifier thread. It sleeps until the ingest thread has something for a waiting reader, a
 * process ends, a device comes or goes, a signal comes, or the mount or the process that unmounts
 * goes.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "../gpu_names.h"
#include "../processes.h"
#include "../tree/internal.h"
#include "../devices.h"
#include "fuse.h"

#define POLL_EVERY_NS 50000000ULL
#define POLL_CLOCK_NS 1000000000ULL

uint64_t gt_fs_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

void gt_notify_wake(struct gt_fs *fs)
{
	uint64_t one = 1;

	if (write(fs->wake, &one, sizeof(one)) < 0)
		return; /* the counter is full: it is awake */
}

/** gt_poll_add() - @h waits for the next change; takes @ph over; 0 or gt_quota_take()'s
 */
int gt_poll_add(struct gt_handle *h, struct fuse_pollhandle *ph)
{
	struct gt_fs *fs = h->fs;
	struct fuse_pollhandle *old;
	int err = 0;

	pthread_mutex_lock(&fs->lock);
	old = h->poll;
	if (!old)
		err = gt_quota_take(&fs->app->quota, h->user, GT_Q_POLLS);
	if (err) {
		pthread_mutex_unlock(&fs->lock);
		fuse_pollhandle_destroy(ph);
		return err;
	}
	h->poll = ph;
	if (!old) {
		h->poll_prev = NULL;
		h->poll_next = fs->polls;
		if (h->poll_next)
			h->poll_next->poll_prev = h;
		fs->polls = h;
	}
	atomic_store(&fs->waiting, true);
	pthread_mutex_unlock(&fs->lock);
	if (old)
		fuse_pollhandle_destroy(old);
	return 0;
}

/* fs->lock held */
static struct fuse_pollhandle *poll_take(struct gt_handle *h)
{
	struct fuse_pollhandle *ph = h->poll;

	if (!ph)
		return NULL;
	h->poll = NULL;
	gt_quota_give(&h->fs->app->quota, h->user, GT_Q_POLLS, 1);
	if (h->poll_prev)
		h->poll_prev->poll_next = h->poll_next;
	else
		h->fs->polls = h->poll_next;
	if (h->poll_next)
		h->poll_next->poll_prev = h->poll_prev;
	return ph;
}

void gt_poll_remove(struct gt_handle *h)
{
	struct fuse_pollhandle *ph;

	pthread_mutex_lock(&h->fs->lock);
	ph = poll_take(h);
	pthread_mutex_unlock(&h->fs->lock);
	if (ph)
		fuse_pollhandle_destroy(ph);
}

static bool changed(struct gt_handle *h)
{
	if (gt_is_pipe(&h->node->entry))
		return gt_pipe_ready(h);
	return atomic_load(&h->unread) ||
	       gt_poll_gen(h->fs->app, &h->node->entry, &h->view) != atomic_load(&h->seen_gen);
}

bool gt_poll_text(struct gt_handle *h)
{
	uint64_t now = gt_fs_now();

	if (!changed(h))
		return false;
	if (now < atomic_load(&h->poll_after)) {
		gt_notify_wake(h->fs); /* it sends the notice later */
		return false;
	}
	atomic_store(&h->poll_after, now + POLL_EVERY_NS);
	return true;
}

/* When a text that is polled is looked at next, though nothing comes: some move with the clock. */
static uint64_t look_again(struct gt_handle *h, uint64_t now, bool is_changed)
{
	return is_changed ? atomic_load(&h->poll_after) : now + POLL_CLOCK_NS;
}

/*
 * Takes up to POLLS pollers that are due a notice; @next: the earliest time to look at another again.
 */
#define POLLS 256
static unsigned int next_polls(struct gt_fs *fs, uint64_t now, uint64_t *next,
			       struct fuse_pollhandle **ph)
{
	struct gt_handle *h, *after;
	unsigned int n = 0;

	pthread_mutex_lock(&fs->lock);
	for (h = fs->polls; h && n < POLLS; h = after) {
		bool pipe = gt_is_pipe(&h->node->entry), news = changed(h);
		bool end = atomic_load(&fs->ending) || gt_tree_gone(fs->app, &h->node->entry.obj);
		uint64_t again = pipe ? UINT64_MAX : look_again(h, now, news);

		after = h->poll_next;
		if (end || (news && (pipe || now >= again)))
			ph[n++] = poll_take(h);
		else if (again < *next)
			*next = again;
	}
	pthread_mutex_unlock(&fs->lock);
	return n;
}

static uint64_t wake_polls(struct gt_fs *fs)
{
	uint64_t next = UINT64_MAX, now = gt_fs_now();
	struct fuse_pollhandle *ph[POLLS];
	unsigned int n;

	gt_model_tidy(fs->app->model);
	do {
		n = next_polls(fs, now, &next, ph);
		for (unsigned int i = 0; i < n; i++) {
			fuse_lowlevel_notify_poll(ph[i]);
			fuse_pollhandle_destroy(ph[i]);
		}
	} while (n == POLLS);
	pthread_mutex_lock(&fs->lock);
	atomic_store(&fs->waiting, fs->parked || fs->polls);
	pthread_mutex_unlock(&fs->lock);
	return next;
}

/* The session loop may be about to sleep in read(): the signal is sent again until it leaves. */
static void end_loop(struct gt_fs *fs)
{
	atomic_store(&fs->end_head, atomic_load(&fs->app->log->head));
	atomic_store(&fs->ending, true);
	gt_pipe_wake(fs, true);
	wake_polls(fs);
	while (!atomic_load(&fs->ended)) {
		struct timespec ts = { .tv_nsec = 20000000 };

		pthread_kill(fs->loop, SIGUSR1);
		nanosleep(&ts, NULL);
		gt_pipe_wake(fs, true);
	}
}

static bool stop_asked(struct gt_fs *fs, const struct pollfd *p)
{
	struct signalfd_siginfo si;

	if (p[1].revents && read(fs->signals, &si, sizeof(si)) == sizeof(si))
		return true;
	/* by device: the mount may be moved, and bound elsewhere */
	return (p[2].revents & (POLLPRI | POLLERR)) && *fs->dev &&
	       !gt_mounted_dev(fs->mountinfo, fs->dev);
}

static int timeout_ms(uint64_t next)
{
	uint64_t now = gt_fs_now();

	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}
/*
 * GPUs and drivers that come and go: the kernel's messages, or a write of rescan, lead to one look
 * at sysfs for a burst of them, and to a request to the backends to look for tracepoints again.
 */

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

/**
 * hotplug_turn() - notifier: hears what @p of gt_fs.uevents has, looks at devices and backends
 *	when that is due, and has the kernel forget the GPUs that went
 *
 * Return: when to be called again at the latest, UINT64_MAX: when something comes.
 */
static uint64_t hotplug_turn(struct gt_fs *fs, struct pollfd *p)
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

void *gt_notifier_main(void *arg)
{
	struct gt_fs *fs = arg;
	struct pollfd p[] = {
		{ .fd = fs->wake, .events = POLLIN },
		{ .fd = fs->signals, .events = POLLIN },
		{ .fd = fs->mountinfo, .events = POLLPRI },
		{ .fd = fs->processes, .events = POLLIN },
		{ .fd = fs->uevents, .events = POLLIN },
		{ .fd = fs->mounter ? fs->mounter->sock : -1 },
	};
	uint64_t next = UINT64_MAX, soon, n;

	while (!atomic_load(&fs->ended)) {
		if (poll(p, 6, timeout_ms(next)) < 0 && errno != EINTR)
			break;
		if (stop_asked(fs, p)) {
			end_loop(fs);
			break;
		}
		if (p[3].revents)
			gt_procwatch_ended(fs->app->model, fs->processes);
		if (p[5].revents) {
			gt_mounter_lost(fs->mounter);
			p[5].fd = -1;
		}
		if (p[0].revents && read(fs->wake, &n, sizeof(n)) < 0 && errno != EAGAIN)
			break;
		soon = hotplug_turn(fs, &p[4]);
		if (atomic_exchange(&fs->answered, false))
			gt_pipe_interrupt(fs);
		gt_pipe_wake(fs, false);
		next = wake_polls(fs);
		next = soon < next ? soon : next;
		soon = gt_pidns_sweep(gt_fs_now());
		next = soon < next ? soon : next;
	}
	return NULL;
}
