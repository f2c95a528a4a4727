/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes on functions of files. The kernel takes a path: that of a descriptor, /proc/self/fd/N,
 * leads to the file itself, whatever its name is there, if it has one left.
 *
 * libbpf of Debian 12 (1.1) does not know the way for all of a library at once, struct
 * bpf_attr.link_create.uprobe_multi of Linux 6.6; one by one the kernel takes seconds to remove
 * them.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime.h"

#define UPROBE_MULTI	    48 /* enum bpf_attach_type: BPF_TRACE_UPROBE_MULTI */
#define UPROBE_MULTI_RETURN 1  /* BPF_F_UPROBE_MULTI_RETURN */
#define UPROBE_PMU	    "/sys/bus/event_source/devices/uprobe/"

/** struct multi_attr - union bpf_attr's link_create with uprobe_multi, include/uapi/linux/bpf.h */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, reserved;
};

static int multi(int prog, const char *path, const struct rt_probe *p, unsigned int n,
		 bool at_return)
{
	uint64_t offsets[RT_MAX_CALLS], cookies[RT_MAX_CALLS];
	struct multi_attr a = { .prog_fd = (uint32_t)prog, .attach_type = UPROBE_MULTI, .cnt = n };
	int fd;

	for (unsigned int i = 0; i < n; i++) {
		offsets[i] = p[i].offset;
		cookies[i] = p[i].cookie;
	}
	a.path = (uintptr_t)path;
	a.offsets = (uintptr_t)offsets;
	a.cookies = (uintptr_t)cookies;
	a.multi_flags = at_return ? UPROBE_MULTI_RETURN : 0;
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof(a));
	return fd < 0 ? -errno : fd;
}

static int perf_open(struct perf_event_attr *a)
{
	int fd;

	a->size = sizeof(*a);
	/* one CPU: the program runs on all */
	fd = (int)syscall(SYS_perf_event_open, a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The link keeps the event. */
static int perf_link(int prog, struct perf_event_attr *a, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .perf_event.bpf_cookie = cookie);
	int event = perf_open(a), link;

	if (event < 0)
		return event;
	link = bpf_link_create(prog, event, BPF_PERF_EVENT, &o);
	close(event);
	return link;
}

static int single(const struct rt_ways *w, int prog, const char *path, const struct rt_probe *p,
		  bool at_return)
{
	struct perf_event_attr a = { .type = w->type };

	a.config = at_return ? 1ull << w->retprobe : 0;
	a.config1 = (uintptr_t)path; /* uprobe_path */
	a.config2 = p->offset;	     /* probe_offset */
	return perf_link(prog, &a, p->cookie);
}

int rt_attach(const struct rt_ways *w, int prog, int fd, const struct rt_probe *p, unsigned int n,
	      bool at_return, int *links)
{
	int link = -ENOENT, got = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (w->multi) {
		link = multi(prog, path, p, n, at_return);
		if (link >= 0) {
			links[0] = link;
			return 1;
		}
	}
	/* one that the kernel does not take makes it refuse all */
	for (unsigned int i = 0; i < n; i++) {
		link = w->multi ? multi(prog, path, &p[i], 1, at_return)
				: single(w, prog, path, &p[i], at_return);
		if (link >= 0)
			links[got++] = link;
	}
	return got ? got : link;
}

static bool read_number(const char *path, const char *fmt, uint32_t *out)
{
	char buf[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	buf[n] = 0;
	return sscanf(buf, fmt, out) == 1;
}

int rt_attach_tracepoint(const char *tracefs, const char *name, int prog)
{
	struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT };
	uint32_t id;
	char path[4352];

	snprintf(path, sizeof(path), "%s/events/%s/id", tracefs, name);
	if (!read_number(path, "%u", &id))
		return -ENOENT;
	a.config = id;
	return perf_link(prog, &a, 0);
}

int rt_ways_find(struct rt_ways *w, char *err, size_t len)
{
	*w = (struct rt_ways){ 0 };
	if (!read_number(UPROBE_PMU "type", "%u", &w->type) ||
	    !read_number(UPROBE_PMU "format/retprobe", "config:%u", &w->retprobe) ||
	    w->retprobe > 63)
		return gb_sentence(err, len, EOPNOTSUPP,
				   "the kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
	return 0;
}

bool rt_knows_multi(int prog)
{
	static const struct rt_probe nowhere = { 0, 0 };
	int link = multi(prog, "/", &nowhere, 1, false);

	if (link >= 0)
		close(link);
	return link == -EBADF; /* it finds fault with the path only */
}

void rt_multi_type(struct bpf_program *prog)
{
	bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)UPROBE_MULTI);
}
