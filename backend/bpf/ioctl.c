/* SPDX-License-Identifier: GPL-2.0 */
/* ioctls on GPU devices, as bpf/ioctl.bpf.c saw them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "bpf/ioctl.skel.h"

static int probe(struct gb *b, char *err, size_t len)
{
	char path[4352];

	if (!b->p->tracefs)
		return gb_sentence(err, len, ENOENT,
				   "tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing");
	snprintf(path, sizeof(path), "%s/events/syscalls/sys_enter_ioctl/id", b->p->tracefs);
	if (access(path, R_OK))
		return gb_sentence(err, len, errno,
				   "the kernel has no tracepoints for system calls (CONFIG_FTRACE_SYSCALLS): %s",
				   strerror(errno));
	return 0;
}

static void stop(struct gb *b)
{
	ioctl_bpf__destroy(b->priv[GT_BPF_IOCTL]);
}

static int start(struct gb *b, char *err, size_t len)
{
	struct ioctl_bpf *s = ioctl_bpf__open();
	int ret;

	if (!s)
		return gb_sentence(err, len, ENOMEM, "no memory");
	b->priv[GT_BPF_IOCTL] = s;
	ret = gb_object_load(b, s->obj, "ioctls", err, len);
	if (ret) {
		stop(b);
		return ret;
	}
	ret = ioctl_bpf__attach(s);
	if (ret) {
		stop(b);
		return gb_sentence(err, len, -ret,
				   "the tracepoints of ioctl() cannot be attached to: %s",
				   strerror(-ret));
	}
	return 0;
}

static bool record(struct gb *b, union gt_record *r)
{
	struct gt_gpu_desc desc = { .minor = r->ev.gpu };

	r->ev.gpu = b->p->host->gpu(b->p, &desc);
	return true;
}

const struct gb_part gb_ioctl = {
	.name = "ioctl",
	.probe = probe,
	.start = start,
	.stop = stop,
	.record = record,
};
