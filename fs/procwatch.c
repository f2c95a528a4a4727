/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "access/pidns.h"
#include "procfile.h"
#include "procwatch.h"

#define ENDED_BATCH 64

static_assert(GT_MAX_NS == GT_PIDNS_DEPTH, "as many are kept of a process");

/* What is kept for a watched process: epoll gives it back. Freed when the process ends. */
struct watched {
	int fd;
	uint32_t pid, slot;
};

int gt_procwatch_new(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

/* proc(5): field 22 of stat is the start in clock ticks since boot; comm may hold any byte but NUL
 */
static uint64_t start_ns(const char *stat)
{
	const char *p = strrchr(stat, ')');
	unsigned long long ticks;

	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu", &ticks) != 1)
		return 0;
	return ticks * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void comm_of(const char *stat, char *comm, size_t len)
{
	const char *a = strchr(stat, '('), *b = strrchr(stat, ')');
	size_t n = a && b && b > a ? (size_t)(b - a - 1) : 0;

	if (n >= len)
		n = len - 1;
	if (n)
		memcpy(comm, a + 1, n);
	comm[n] = 0;
}

static uint32_t uid_of(uint32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) ? GT_NONE32 : st.st_uid;
}

/* The unified hierarchy's line "0::/path", else the first one. */
static void cgroup_of(uint32_t pid, char *out, size_t len)
{
	gt_proc_auto char *text = gt_proc_text(pid, "cgroup");
	const char *line = gt_proc_line(text, "0::"), *p;
	size_t n;

	*out = 0;
	if (!text)
		return;
	p = line ? line : text;
	p += strcspn(p, "/\n");
	n = strcspn(p, "\n");
	if (n < len) { /* a path that is cut is another's */
		memcpy(out, p, n);
		out[n] = 0;
	}
}

/* False: it has ended already. */
static bool watch(int epfd, uint32_t pid, uint32_t slot)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct watched *w = malloc(sizeof(*w));

	if (!w)
		return true;
	w->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	w->pid = pid;
	w->slot = slot;
	ev.data.ptr = w;
	if (w->fd < 0 || epoll_ctl(epfd, EPOLL_CTL_ADD, w->fd, &ev)) {
		bool ended = w->fd < 0 && errno == ESRCH;

		if (w->fd >= 0)
			close(w->fd);
		free(w);
		return !ended;
	}
	return true;
}

void gt_procwatch_add(struct gt_model *m, int epfd, uint32_t pid)
{
	gt_proc_auto char *status = gt_proc_text(pid, "status");
	char stat[1024], comm[16], cgroup[GT_CGROUP_MAX];
	struct gt_proc *p = gt_model_proc(m, pid);
	struct gt_ns ns;
	uint64_t from = p ? p->first_ts : gt_model_now(m);
	bool there = status && *status && gt_proc_read(pid, "stat", stat, sizeof(stat)) > 0;

	if (there && p && p->start && p->start != start_ns(stat))
		there = false; /* another has its number already */
	gt_pidns_add(pid, from, there ? start_ns(stat) : 0, there ? status : NULL);
	if (there) {
		comm_of(stat, comm, sizeof(comm));
		cgroup_of(pid, cgroup, sizeof(cgroup));
		ns.n = gt_pidns_chain(pid, ns.id);
		p = gt_model_process_in(m, pid, start_ns(stat), uid_of(pid), comm, cgroup, 0, &ns);
		if (!p || epfd < 0 || watch(epfd, pid, p->slot))
			return;
	}
	/* ended already: nothing will report that any more */
	p = gt_model_proc(m, pid);
	if (p)
		gt_model_exit(m, p->slot);
}

void gt_procwatch_ended(struct gt_model *m, int epfd)
{
	struct epoll_event ev[ENDED_BATCH];
	int n = epoll_wait(epfd, ev, ENDED_BATCH, 0);

	for (int i = 0; i < n; i++) {
		struct watched *w = ev[i].data.ptr;
		GT_MODEL_LOCK(m);

		if (w->slot < m->proc_slots && m->procs[w->slot] &&
		    m->procs[w->slot]->pid == w->pid && !m->procs[w->slot]->dead)
			gt_model_exit(m, w->slot);
		epoll_ctl(epfd, EPOLL_CTL_DEL, w->fd, NULL);
		close(w->fd);
		free(w);
	}
}
