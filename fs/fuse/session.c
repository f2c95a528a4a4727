/* SPDX-License-Identifier: GPL-2.0 */
/* The session: threads, the loop that answers requests, and the end. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "../privileges.h"
#include "fuse.h"

static void nothing(int sig)
{
}

/* SIGUSR1 only interrupts the loop's read(); the rest comes through a descriptor. */
static int take_signals(void)
{
	struct sigaction sa = { .sa_handler = nothing };
	sigset_t set;

	sigaction(SIGUSR1, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/** gt_fs_new() - a session with FUSE's own options in @args; nothing is mounted yet. @mounter:
 * NULL: libfuse mounts. Of it, the session takes the descriptor of mountinfo */
struct gt_fs *gt_fs_new(struct gt_app *app, struct fuse_args *args, struct gt_mounter *mounter,
			char *err, size_t len)
{
	struct gt_view all = { .all = true };
	struct gt_fs *fs = calloc(1, sizeof(*fs));

	if (!fs) {
		snprintf(err, len, "not enough memory");
		return NULL;
	}
	fs->app = app;
	fs->root.fs = fs;
	fs->root.id = FUSE_ROOT_ID;
	clock_gettime(CLOCK_REALTIME, &fs->started);
	fs->jobs_tail = &fs->jobs;
	TAILQ_INIT(&fs->turns.waiting);
	pthread_mutex_init(&fs->lock, NULL);
	pthread_mutex_init(&fs->node_lock, NULL);
	pthread_cond_init(&fs->work, NULL);
	gt_quota_init(&app->quota, (unsigned int)app->conf->max_pipes);
	gt_tree_entry(app, &gt_tree_root, &all, &fs->root.entry);
	fs->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fs->mounter = mounter;
	fs->mountinfo = mounter && mounter->mountinfo >= 0
				? mounter->mountinfo
				: open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (mounter && !mounter->watches)
		gt_mounter_open(mounter);
	fs->signals = take_signals();
	fs->processes = fs->uevents = -1;
	fs->se = fuse_session_new(args, &gt_fuse_ops, sizeof(gt_fuse_ops), fs);
	if (!fs->se || fs->wake < 0 || fs->signals < 0 || gt_shown_init(&fs->shown)) {
		int why = fs->se ? errno : EINVAL;

		snprintf(err, len, fs->se ? "cannot set up: %s" : "FUSE refuses the mount options",
			 strerror(why));
		gt_fs_free(fs);
		errno = why;
		return NULL;
	}
	return fs;
}

/* A descriptor that is mounted already is all that libfuse gets to see. */
static int mount_by_mounter(struct gt_fs *fs, char *err, size_t len)
{
	int fd = gt_mounter_mount(fs->mounter, fs->dev);
	char path[32];

	if (fd < 0) {
		snprintf(err, len, "%s: cannot mount: %s", fs->mounter->dir, strerror(-fd));
		return fd;
	}
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	if (!fuse_session_mount(fs->se, path))
		return 0;
	close(fd);
	snprintf(err, len, "%s: libfuse takes no mount that is there", fs->mounter->dir);
	return -EINVAL;
}

int gt_fs_mount(struct gt_fs *fs, const char *dir, char *err, size_t len)
{
	uint64_t caps;
	bool by_kernel;
	int ret;

	if (fs->mounter && !fs->mounter->watches)
		return mount_by_mounter(fs, err, len);
	caps = gt_privs_raise(1ULL << CAP_SYS_ADMIN);
	errno = 0;
	ret = fuse_session_mount(fs->se, dir);
	gt_privs_lower(caps);
	if (!ret) {
		gt_mounted(fs->mountinfo, dir, fs->dev);
		if (fs->mounter)
			gt_mounter_report(fs->mounter, fs->dev);
		return 0;
	}
	by_kernel = errno;
	ret = by_kernel ? -errno : -EPERM;
	if (access("/dev/fuse", F_OK))
		snprintf(err, len, "%s: cannot mount: there is no /dev/fuse (modprobe fuse)", dir);
	else if (access("/dev/fuse", R_OK | W_OK))
		snprintf(err, len,
			 "%s: cannot mount: /dev/fuse is not open to this user (as root: chmod "
			 "0666 /dev/fuse, as udev does on most systems)",
			 dir);
	else
		snprintf(err, len, "%s: cannot mount: %s", dir,
			 !by_kernel ? "see the message of fusermount3 above" : strerror(-ret));
	return ret;
}

/*
 * Somebody has unmounted it: libfuse would try that again, and complain, unless its descriptor reports
 * the end. The kernel's does so a moment after the mount has gone, or, if it is still used somewhere,
 * not at all.
 */
static void end_descriptor(struct gt_fs *fs)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC))
		return;
	close(pair[0]); /* POLLERR */
	dup3(pair[1], fuse_session_fd(fs->se), O_CLOEXEC);
	close(pair[1]);
}

static void unmount(struct gt_fs *fs)
{
	if (!fs->mounter && *fs->dev && !gt_mounted_dev(fs->mountinfo, fs->dev))
		end_descriptor(fs);
	if (!fs->mounter || fs->mounter->watches) {
		gt_privs_raise(1ULL << CAP_SYS_ADMIN);
		fuse_session_unmount(fs->se);
		return;
	}
	/* libfuse closes its number later; what is behind that must have ended before */
	dup2(fs->wake, fuse_session_fd(fs->se));
	gt_mounter_stop(fs->mounter);
	gt_privs_raise(1ULL << CAP_SYS_ADMIN);
	gt_mounter_finish(fs->mounter, fs->dev);
}

/* At the end readers have this long to read what is left, and end of file. */
#define GRACE_NS 500000000L

/* It may wait for a page of a text that is being read: the loop must answer that. */
static bool worker_left(struct gt_fs *fs)
{
	pthread_mutex_lock(&fs->lock);
	fs->worker_stop = true;
	pthread_cond_signal(&fs->work);
	pthread_mutex_unlock(&fs->lock);
	return atomic_load(&fs->worker_left);
}

static bool grace_over(struct gt_fs *fs, struct timespec *since)
{
	struct timespec now;

	if (!atomic_load(&fs->ending))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!since->tv_sec)
		*since = now;
	if (atomic_load(&fs->app->quota.total[GT_Q_PIPES]) &&
	    (now.tv_sec - since->tv_sec) * 1000000000L + now.tv_nsec - since->tv_nsec < GRACE_NS)
		return false;
	return worker_left(fs);
}

static int loop(struct gt_fs *fs)
{
	struct timespec ending = { 0 };
	int n = 0;

	while (!fuse_session_exited(fs->se)) {
		if (grace_over(fs, &ending))
			break;
		n = gt_turns_serve(fs);
		if (n <= 0 && n != -EINTR)
			break;
		gt_guard_catch_up(fs);
	}
	return n < 0 && n != -ENODEV && n != -EINTR ? n : 0;
}

static int start_threads(struct gt_fs *fs)
{
	sigset_t set, old;
	int err;

	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, &old);
	fs->loop = pthread_self();
	err = pthread_create(&fs->notifier, NULL, gt_notifier_main, fs);
	if (!err) {
		err = pthread_create(&fs->worker, NULL, gt_worker_main, fs);
		if (err) {
			atomic_store(&fs->ended, true);
			gt_notify_wake(fs);
			pthread_join(fs->notifier, NULL);
		}
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static void stop_threads(struct gt_fs *fs)
{
	atomic_store(&fs->ending, true);
	atomic_store(&fs->ended, true);
	gt_notify_wake(fs);
	worker_left(fs);
	pthread_join(fs->notifier, NULL);
	pthread_join(fs->worker, NULL);
	gt_pipe_wake(fs, true);
}

int gt_fs_run(struct gt_fs *fs)
{
	int err = start_threads(fs);

	if (!err) {
		err = loop(fs);
		gt_guard_stop(fs);
		stop_threads(fs);
		fuse_session_exit(fs->se);
	}
	unmount(fs);
	return err;
}

void gt_fs_free(struct gt_fs *fs)
{
	if (fs->se)
		fuse_session_destroy(fs->se);
	gt_turns_free(fs);
	while (fs->handles)
		gt_handle_free(fs->handles);
	gt_guard_free(fs);
	gt_snap_flush(fs);
	gt_node_free_all(fs);
	gt_quota_free(&fs->app->quota);
	if (fs->wake >= 0)
		close(fs->wake);
	if (fs->signals >= 0)
		close(fs->signals);
	if (fs->mountinfo >= 0)
		close(fs->mountinfo);
	if (fs->uevents >= 0)
		close(fs->uevents);
	free(fs->buf.mem);
	free(fs->session_buf.buf);
	free(fs->notifier_buf.buf);
	free(fs);
}
