/* SPDX-License-Identifier: GPL-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../procfile.h"
#include "caller.h"
#include "pidns.h"

#define KNOWN	     256
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */

struct known {
	uint32_t tid; /* 0: free */
	uid_t uid;
	gid_t gid;
	int pidfd; /* no other task gets the tid while the one it stands for has not ended */
	struct gt_caller c;
};

static struct {
	struct known known[KNOWN];
	gid_t gids[GT_CALLER_GROUPS];
	unsigned int ngids;
	uint64_t userns;
	time_t swept;
} t;

static void forget(struct known *k)
{
	if (k->tid)
		close(k->pidfd);
	k->tid = 0;
}

void gt_caller_groups(const gid_t *gids, unsigned int n)
{
	for (struct known *k = t.known; k < t.known + KNOWN; k++)
		forget(k);
	t.ngids = n < GT_CALLER_GROUPS ? n : GT_CALLER_GROUPS;
	memcpy(t.gids, gids, t.ngids * sizeof(*gids));
}

static uint32_t bit_of(gid_t gid)
{
	for (unsigned int i = 0; i < t.ngids; i++)
		if (t.gids[i] == gid)
			return 1U << i;
	return 0;
}

/* The line "Groups:" of a task's status */
static uint32_t bits_of(const char *list)
{
	uint32_t bits = 0;
	char *end;

	while (*list && *list != '\n') {
		gid_t gid = (gid_t)strtoul(list, &end, 10);

		if (end == list)
			break;
		bits |= bit_of(gid);
		list = end + strspn(end, " \t");
	}
	return bits;
}

static uint64_t userns_of(uint32_t tid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/ns/user", tid);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* user_namespaces(7): lines of "first uid inside, first outside, how many" */
static bool is_root_inside(uint32_t tid, uid_t uid)
{
	gt_proc_auto char *map = gt_proc_text(tid, "uid_map");
	const char *p = map;

	while (p) {
		unsigned long in, out, n;

		if (sscanf(p, "%lu %lu %lu", &in, &out, &n) == 3 && in == 0 && n)
			return out == uid;
		p = strchr(p, '\n');
		p = p && p[1] ? p + 1 : NULL;
	}
	return false;
}

static bool stands_there(uint32_t tid, uid_t uid, const struct gt_caller *c, uint64_t userns)
{
	if (c->ns == GT_PIDNS_OWN || c->ns == GT_PIDNS_NONE)
		return false;
	if (c->own_userns)
		return uid == 0;
	return gt_pidns_owner_is(c->ns, userns) && is_root_inside(tid, uid);
}

/* The lines of /proc/<tid>/status that matter: thread group, namespaces, supplementary groups. */
static bool look(uint32_t tid, uid_t uid, gid_t gid, struct gt_caller *c)
{
	gt_proc_auto char *status = gt_proc_text(tid, "status");
	const char *p = gt_proc_line(status, "Tgid:");
	uint64_t userns;

	if (!p)
		return false;
	*c = (struct gt_caller){ .tgid = (uint32_t)strtoul(p, NULL, 10) };
	c->own_pid = gt_pidns_innermost(status, "NStgid:");
	c->ns = gt_pidns_of(tid, status);
	userns = userns_of(tid);
	c->own_userns = userns && userns == t.userns;
	c->there = stands_there(tid, uid, c, userns);
	p = gt_proc_line(status, "Groups:\t");
	c->groups = bit_of(gid) | (p ? bits_of(p) : 0);
	return c->tgid != 0;
}

static bool ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

static int pidfd_of(uint32_t tid, uint32_t tgid)
{
	return (int)syscall(SYS_pidfd_open, tid, tid == tgid ? 0 : PIDFD_THREAD);
}

/* Those that have ended keep a descriptor no longer than a second and the next unknown caller. */
static void forget_ended(void)
{
	struct pollfd p[KNOWN];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec == t.swept)
		return;
	t.swept = now.tv_sec;
	for (int i = 0; i < KNOWN; i++)
		p[i] = (struct pollfd){ .fd = t.known[i].tid ? t.known[i].pidfd : -1,
					.events = POLLIN };
	if (poll(p, KNOWN, 0) <= 0)
		return;
	for (int i = 0; i < KNOWN; i++)
		if (p[i].revents)
			forget(&t.known[i]);
}

bool gt_caller_find(uint32_t tid, uid_t uid, gid_t gid, struct gt_caller *c)
{
	struct known *k = &t.known[tid % KNOWN];
	int pidfd;

	if (!tid)
		return false;
	if (k->tid == tid && k->uid == uid && k->gid == gid && !ended(k->pidfd) &&
	    gt_pidns_used(k->c.ns)) {
		*c = k->c;
		return true;
	}
	if (!t.userns)
		t.userns = userns_of((uint32_t)getpid());
	forget(k);
	forget_ended();
	if (!look(tid, uid, gid, c))
		return false;
	pidfd = pidfd_of(tid, c->tgid);
	if (pidfd < 0)
		return true;
	*k = (struct known){ .tid = tid, .uid = uid, .gid = gid, .pidfd = pidfd, .c = *c };
	return true;
}
