/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hardened unit of systemd lives in a mount namespace of its own, where a mount reaches nobody
 * else. So this process, which is forked while there are no threads, enters the namespace that
 * everybody is in, and keeps no right but that to mount. The daemon, which has to do with what
 * others say, never has it there. The end of the daemon is the end of the socket between the two.
 *
 * Of an ordinary user's daemon it has no more rights than that one, and only has fusermount3 unmount.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "../privs.h"
#include "../seccomp.h"
#include "mounted.h"
#include "mounter.h"

#define TYPE "fuse.gputrace"

/* What the daemon asks for, once; the session's descriptor comes with it */
struct request {
	unsigned long flags;
	char source[64];
	char options[1024];
};

/* What is answered; mountinfo comes with the first one */
struct answer {
	int err;
	char why[512];
	char dir[PATH_MAX];
	char dev[GT_DEV_LEN];
};

/* @fd: handed over too, unless negative */
static int put(int sock, const void *data, size_t len, int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} c = { .align = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { (void *)data, len };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&c.align), &fd, sizeof(fd));
		h.msg_control = &c;
		h.msg_controllen = sizeof(c);
	}
	do {
		n = sendmsg(sock, &h, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? 0 : -EPIPE;
}

/* @fd: what was handed over, or -1. -EPIPE at the end of the other side */
static int get(int sock, void *data, size_t len, int *fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} c;
	struct iovec iov = { data, len };
	struct msghdr h = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)
	};
	ssize_t n;

	*fd = -1;
	do {
		n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n > 0 && h.msg_controllen >= sizeof(c.align) && c.align.cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(&c.align), sizeof(*fd));
	return n == (ssize_t)len ? 0 : -EPIPE;
}

/* --- the process -------------------------------------------------------------------------------
 */

/* Descriptors of mountinfo: reading one in two processes would mix them up, it has one offset. */
struct place {
	int told, own;
};

/* /proc is that of the daemon's namespace; what it says of this process is what is where it is now.
 */
static int enter(const char *ns, struct place *p, struct answer *a)
{
	int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1, ret = 0;

	if (ns) {
		fd = open(ns, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0 || setns(fd, CLONE_NEWNS)) {
			ret = -errno;
			snprintf(a->why, sizeof(a->why), "mountns=%s: %s", ns, strerror(-ret));
		}
	}
	p->told = openat(self, "mountinfo", O_RDONLY | O_CLOEXEC);
	p->own = openat(self, "mountinfo", O_RDONLY | O_CLOEXEC);
	if (!ret && (p->told < 0 || p->own < 0)) {
		ret = -errno;
		snprintf(a->why, sizeof(a->why), "/proc/self/mountinfo: %s", strerror(-ret));
	}
	if (fd >= 0)
		close(fd);
	if (self >= 0)
		close(self);
	return ret;
}

/* The signals that end the daemon are not for this process, which ends after it. */
static void stand_alone(int sock)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_NAME, "gputrace-mount");
	setsid();
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		signal(ends[i], SIG_IGN);
	for (int i = 0; i <= STDERR_FILENO; i++)
		if (null >= 0)
			dup2(null, i);
	if (null > STDERR_FILENO)
		close(null);
	if (dup2(sock, STDERR_FILENO + 1) < 0 || close_range(STDERR_FILENO + 2, ~0u, 0))
		_exit(1);
}

static int mount_it(const struct request *r, const char *dir, int fuse)
{
	char options[sizeof(r->options) + 96];

	if (fuse < 0)
		return -EBADF;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0%s", fuse,
		 r->options);
	return mount(r->source, dir, TYPE, r->flags, options) ? -errno : 0;
}

/*
 * It may be gone already, and something else there: another daemon's mount, too, which gets the device
 * number that has become free. Of this one the session's descriptor is closed.
 */
static bool is_left(int mountinfo, const char *dir, const char *dev)
{
	char its[GT_DEV_LEN];

	return *dev && gt_mounted(mountinfo, dir, its) && !strcmp(its, dev) && gt_mount_dead(dir);
}

static int give_up_rights(struct answer *a)
{
	int err = gt_privs_drop(1ULL << CAP_SYS_ADMIN, 0, a->why, sizeof(a->why));

	if (!err)
		err = gt_seccomp_drop("", a->why, sizeof(a->why));
	return err == -EOPNOTSUPP ? 0 : err;
}

static int settle(const char *ns, const char *dir, struct place *p, struct answer *a)
{
	int err = enter(ns, p, a);

	if (!err)
		err = gt_mount_resolve(dir, a->dir, a->why, sizeof(a->why));
	if (!err)
		err = gt_mount_prepare(p->own, a->dir, a->why, sizeof(a->why));
	return err ? err : give_up_rights(a);
}

static void serve(int sock, const char *ns, const char *dir)
{
	static struct answer a;
	struct place p = { -1, -1 };
	struct request r;
	int fuse;
	char end;

	a.err = settle(ns, dir, &p, &a);
	if (put(sock, &a, sizeof(a), a.err ? -1 : p.told) || a.err)
		return;
	close(p.told);
	if (get(sock, &r, sizeof(r), &fuse))
		return;
	r.source[sizeof(r.source) - 1] = r.options[sizeof(r.options) - 1] = 0;
	a.err = mount_it(&r, a.dir, fuse);
	/* the daemon's alone from here on: the session ends with it */
	if (fuse >= 0)
		close(fuse);
	if (!a.err)
		gt_mounted(p.own, a.dir, a.dev);
	if (!put(sock, &a, sizeof(a), -1))
		while (recv(sock, &end, 1, 0) < 0 && errno == EINTR)
			;
	if (is_left(p.own, a.dir, a.dev))
		umount2(a.dir, MNT_DETACH);
}

/* An ordinary user's: fusermount3 has the right to unmount. Nothing of the caller's reaches it. */
static void watch(int sock, const char *dir)
{
	char dev[GT_DEV_LEN], end;
	int unused, fd;

	if (chdir("/") || get(sock, dev, sizeof(dev), &unused))
		return;
	dev[GT_DEV_LEN - 1] = 0;
	while (recv(sock, &end, 1, 0) < 0 && errno == EINTR)
		;
	fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (!is_left(fd, dir, dev) || close_range(STDERR_FILENO + 1, ~0u, 0) || clearenv() ||
	    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1))
		return;
	execlp("fusermount3", "fusermount3", "-u", "-z", "-q", "--", dir, (char *)NULL);
}

/* --- the daemon --------------------------------------------------------------------------------
 */

/* 1: this is the process; 0: the daemon; -errno. *@sock is that to the other one */
static int split(int *sock, char *err, size_t len)
{
	int pair[2], ret;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		ret = -errno;
		snprintf(err, len, "no socket: %s", strerror(-ret));
		return ret;
	}
	fflush(NULL);
	pid = fork();
	ret = pid < 0 ? -errno : !pid;
	if (pid < 0)
		snprintf(err, len, "no process: %s", strerror(-ret));
	if (!pid)
		stand_alone(pair[1]);
	*sock = pid ? pair[0] : STDERR_FILENO + 1;
	if (pid)
		close(pair[1]);
	return ret;
}

int gt_mounter_watch(struct gt_mounter *m, const char *dir, char *err, size_t len)
{
	int ret = split(&m->sock, err, len);

	if (ret > 0) {
		watch(m->sock, dir);
		_exit(0);
	}
	m->mountinfo = -1;
	m->watches = true;
	snprintf(m->dir, sizeof(m->dir), "%s", dir);
	return ret;
}

void gt_mounter_tell(struct gt_mounter *m, const char *dev)
{
	char text[GT_DEV_LEN] = "";

	snprintf(text, sizeof(text), "%s", dev);
	put(m->sock, text, sizeof(text), -1);
}

int gt_mounter_start(struct gt_mounter *m, const char *ns, const char *dir, char *err, size_t len)
{
	static struct answer a;
	int ret;

	m->mountinfo = -1;
	ret = split(&m->sock, err, len);
	if (ret < 0)
		return ret;
	if (ret) {
		serve(m->sock, ns, dir);
		_exit(0);
	}
	snprintf(a.why, sizeof(a.why), "the process that mounts does not answer");
	if (get(m->sock, &a, sizeof(a), &m->mountinfo))
		a.err = -EPIPE;
	if (a.err)
		snprintf(err, len, "%s", a.why);
	else
		snprintf(m->dir, sizeof(m->dir), "%s", a.dir);
	return a.err;
}

/* Those of root's mounts as they are without this process: libfuse's own are not the kernel's. */
static void translate(const char *fuse, struct request *r)
{
	char list[sizeof(r->options)], *save = NULL;
	size_t n = 0;

	r->flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	snprintf(r->source, sizeof(r->source), "gputrace");
	n += (size_t)snprintf(r->options, sizeof(r->options), ",allow_other,default_permissions");
	snprintf(list, sizeof(list), "%s", fuse ? fuse : "");
	for (char *o = strtok_r(list, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
		if (!strcmp(o, "ro"))
			r->flags |= MS_RDONLY;
		else if (!strncmp(o, "fsname=", 7))
			snprintf(r->source, sizeof(r->source), "%s", o + 7);
		else if ((!strncmp(o, "max_read=", 9) || strstr(o, "context=")) &&
			 n + strlen(o) + 2 < sizeof(r->options))
			n += (size_t)snprintf(r->options + n, sizeof(r->options) - n, ",%s", o);
	}
}

/* By the process beside the daemon */
static int mount_there(struct gt_mounter *m, const struct request *r, int fuse, char *dev)
{
	static struct answer a;
	int unused, ret;

	ret = put(m->sock, r, sizeof(*r), fuse);
	if (!ret)
		ret = get(m->sock, &a, sizeof(a), &unused);
	if (ret || a.err)
		return ret ? ret : a.err;
	snprintf(dev, GT_DEV_LEN, "%.*s", GT_DEV_LEN - 1, a.dev);
	return 0;
}

static int mount_here(const struct gt_mounter *m, const struct request *r, int fuse, char *dev)
{
	uint64_t caps = gt_privs_raise(1ULL << CAP_SYS_ADMIN);
	int fd, ret;

	ret = mount_it(r, m->dir, fuse);
	gt_privs_lower(caps);
	if (ret)
		return ret;
	fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	gt_mounted(fd, m->dir, dev);
	if (fd >= 0)
		close(fd);
	return 0;
}

int gt_mounter_mount(struct gt_mounter *m, char *dev)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC), ret;
	struct request r = { 0 };

	if (fd < 0)
		return -errno;
	translate(m->options, &r);
	ret = m->sock < 0 ? mount_here(m, &r, fd, dev) : mount_there(m, &r, fd, dev);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

void gt_mounter_stop(struct gt_mounter *m)
{
	char end;

	if (m->sock < 0)
		return;
	shutdown(m->sock, SHUT_WR);
	while (recv(m->sock, &end, 1, 0) < 0 && errno == EINTR)
		;
	close(m->sock);
	m->sock = -1;
}

void gt_mounter_lost(const struct gt_mounter *m)
{
	syslog(LOG_WARNING, "%s: the process beside the daemon has been killed: if the daemon is, too, "
	       "the mount stays", m->dir);
}

void gt_mounter_finish(const struct gt_mounter *m, const char *dev)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	if (is_left(fd, m->dir, dev) && umount2(m->dir, MNT_DETACH))
		syslog(LOG_WARNING, "%s: cannot be unmounted: %s", m->dir, strerror(errno));
	if (fd >= 0)
		close(fd);
}
