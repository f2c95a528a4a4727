/* SPDX-License-Identifier: GPL-2.0 */
/* Linux lib/kobject_uevent.c says what the messages hold, and that the kernel sends as port 0. */
#include <errno.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "uevent.h"

#define KERNEL_GROUP 1	  /* udev's own messages are in group 2 */
#define MESSAGE_MAX  8192 /* UEVENT_BUFFER_SIZE is 2048, and its header */
#define DRAIN_MAX    256

int gt_uevent_open(void)
{
	struct sockaddr_nl me = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);
	int on = 1;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&me, sizeof(me))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool is(const char *field, const char *key, const char *value)
{
	size_t n = strlen(key);

	return !strncmp(field, key, n) && !strcmp(field + n, value);
}

int gt_uevent_about(const char *msg, size_t len)
{
	const char *end = msg + len;
	bool drm = false, pci = false, module = false, driver = false;

	if (!len || end[-1] || !memchr(msg, '@', strlen(msg)))
		return 0;
	for (const char *f = msg + strlen(msg) + 1; f < end; f += strlen(f) + 1) {
		drm |= is(f, "SUBSYSTEM=", "drm");
		pci |= is(f, "SUBSYSTEM=", "pci");
		module |= is(f, "SUBSYSTEM=", "module");
		/* without a DRM device, as with NVIDIA's own driver, there is no more than this */
		driver |= is(f, "ACTION=", "bind") || is(f, "ACTION=", "unbind");
	}
	return (drm || (pci && driver) ? GT_UEVENT_DEVICE : 0) | (module ? GT_UEVENT_MODULE : 0);
}

/* The kernel's own: from port 0, with no process behind it. Anybody may send to this socket. */
static bool of_kernel(struct msghdr *h)
{
	const struct sockaddr_nl *from = h->msg_name;
	const struct cmsghdr *c = CMSG_FIRSTHDR(h);
	struct ucred cred;

	if (h->msg_namelen != sizeof(*from) || from->nl_pid || from->nl_groups != KERNEL_GROUP)
		return false;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
	    c->cmsg_len < CMSG_LEN(sizeof(cred)))
		return false;
	memcpy(&cred, CMSG_DATA(c), sizeof(cred));
	return !cred.pid && !cred.uid;
}

/* GT_UEVENT_* of the next message; -EAGAIN: there is none, else -errno */
static int next_message(int fd)
{
	char msg[MESSAGE_MAX], control[CMSG_SPACE(sizeof(struct ucred))]
		__attribute__((aligned(__alignof__(struct cmsghdr))));
	struct sockaddr_nl from;
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(msg) };
	struct msghdr h = { .msg_name = &from,
			    .msg_namelen = sizeof(from),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &h, 0);

	/* too many at once, and some are lost: there may be anything among them */
	if (n < 0)
		return errno == ENOBUFS ? GT_UEVENT_DEVICE | GT_UEVENT_MODULE : -errno;
	if (!of_kernel(&h) || (h.msg_flags & MSG_TRUNC))
		return 0;
	return gt_uevent_about(msg, (size_t)n);
}

int gt_uevent_drain(int fd)
{
	int what = 0, ret;

	for (int i = 0; i < DRAIN_MAX; i++) {
		ret = next_message(fd);
		if (ret == -EAGAIN)
			break;
		if (ret < 0 && ret != -EINTR)
			return ret;
		what |= ret > 0 ? ret : 0;
	}
	return what;
}
