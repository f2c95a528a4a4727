/* SPDX-License-Identifier: GPL-2.0 */
/* The caller of a request, by /proc (proc(5)), and what it may see. */
#include <assert.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../processes.h"
#include "../app.h"
#include "access.h"

unsigned int gt_pidns_pids(const char *status, const char *key, uint32_t *pids, unsigned int max)
{
	const char *p = gt_proc_line(status, key);
	unsigned int n = 0;

	while (p && n < max && *p && *p != '\n') {
		char *end;
		unsigned long v = strtoul(p, &end, 10);

		if (end == p)
			break;
		pids[n++] = (uint32_t)v;
		p = end + strspn(end, "\t ");
	}
	return !p || *p == '\n' ? n : max + 1; /* more than there is room for */
}

/** gt_pidns_innermost() - the last pid of a task's line @key ("NStgid:") in @status; 0 unknown */
static uint32_t gt_pidns_innermost(const char *status, const char *key)
{
	uint32_t pids[GT_PIDNS_DEPTH + 1];
	unsigned int n = gt_pidns_pids(status, key, pids, GT_PIDNS_DEPTH + 1);

	return n && n <= GT_PIDNS_DEPTH + 1 ? pids[n - 1] : 0;
}

#define TICK_NS 10000000 /* USER_HZ is 100 */

/* Start times count suspended time, events do not (proc(5), clock_gettime(2)). */
uint64_t gt_pidns_began(uint64_t start)
{
	struct timespec boot, mono;
	uint64_t asleep;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	asleep = (uint64_t)((boot.tv_sec - mono.tv_sec) * 1000000000 + boot.tv_nsec - mono.tv_nsec);
	return start > asleep ? start - asleep : 0;
}

uint64_t gt_pidns_since(uint64_t start)
{
	return gt_pidns_began(start) + TICK_NS;
}

/*
 * The callers that are known, in sets of which a task can be in one. A set that is full loses the
 * one longest not seen of who has most in it: nobody loses theirs to a user with many processes.
 */
#define SETS	     256
#define WAYS	     8
#define KNOWN	     (SETS * WAYS)
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */

struct known {
	uint32_t tid; /* 0: free */
	uid_t uid;
	gid_t gid;
	int pidfd; /* no other task gets the tid while the one it stands for has not ended */
	time_t looked;
	uint64_t seen;
	struct gt_caller c;
};

static struct {
	struct known known[SETS][WAYS];
	gid_t gids[GT_CALLER_GROUPS];
	unsigned int ngids;
	uint64_t userns, clock;
	time_t swept;
	_Atomic unsigned int n;
	_Atomic uint64_t dropped;
} t;

static void forget(struct known *k)
{
	if (!k->tid)
		return;
	close(k->pidfd);
	k->tid = 0;
	t.n--;
}

void gt_caller_groups(const gid_t *gids, unsigned int n)
{
	for (struct known *k = t.known[0]; k < t.known[0] + KNOWN; k++)
		forget(k);
	t.ngids = n < GT_CALLER_GROUPS ? n : GT_CALLER_GROUPS;
	if (t.ngids)
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

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

/* Those that have ended keep a descriptor no longer than a second and the next unknown caller. */
static void forget_ended(time_t now)
{
	struct known *of[KNOWN];
	struct pollfd p[KNOWN];
	nfds_t n = 0;

	if (now == t.swept)
		return;
	t.swept = now;
	for (struct known *k = t.known[0]; k < t.known[0] + KNOWN; k++) {
		if (!k->tid)
			continue;
		p[n] = (struct pollfd){ .fd = k->pidfd, .events = POLLIN };
		of[n++] = k;
	}
	if (poll(p, n, 0) <= 0)
		return;
	for (nfds_t i = 0; i < n; i++)
		if (p[i].revents)
			forget(of[i]);
}

static unsigned int count(const struct known *set, uid_t uid)
{
	unsigned int n = 0;

	for (int i = 0; i < WAYS; i++)
		n += set[i].tid && set[i].uid == uid;
	return n;
}

/* Does @a, of @na, make room for one of @uid rather than @b, of @nb? */
static bool gives(const struct known *a, unsigned int na, const struct known *b, unsigned int nb,
		  uid_t uid)
{
	if (na != nb)
		return na > nb;
	if ((a->uid == uid) != (b->uid == uid))
		return a->uid == uid;
	return a->seen < b->seen;
}

/* For one of @uid, which counts already */
static struct known *room(struct known *set, uid_t uid)
{
	struct known *best = NULL;
	unsigned int most = 0;

	for (struct known *k = set; k < set + WAYS; k++) {
		unsigned int n = count(set, k->uid) + (k->uid == uid);

		if (!k->tid)
			return k;
		if (!best || gives(k, n, best, most, uid)) {
			best = k;
			most = n;
		}
	}
	t.dropped++;
	forget(best);
	return best;
}

/* Is what is known of it still so? Who is in no namespace that is known may get into one. */
static bool holds(const struct known *k, time_t now)
{
	if (k->c.ns == GT_PIDNS_NONE && k->looked != now)
		return false;
	return !ended(k->pidfd) && gt_pidns_used(k->c.ns);
}

bool gt_caller_find(uint32_t tid, uid_t uid, gid_t gid, struct gt_caller *c)
{
	struct known *set = t.known[tid % SETS], *k;
	time_t now = now_s();
	int pidfd;

	if (!tid)
		return false;
	for (k = set; k < set + WAYS && k->tid != tid; k++)
		;
	if (k < set + WAYS) {
		if (k->uid == uid && k->gid == gid && holds(k, now)) {
			k->seen = ++t.clock;
			*c = k->c;
			return true;
		}
		forget(k);
	}
	if (!t.userns)
		t.userns = userns_of((uint32_t)getpid());
	forget_ended(now);
	if (!look(tid, uid, gid, c))
		return false;
	pidfd = pidfd_of(tid, c->tgid);
	if (pidfd < 0)
		return true;
	k = room(set, uid);
	*k = (struct known){
		.tid = tid,
		.uid = uid,
		.gid = gid,
		.pidfd = pidfd,
		.looked = now,
		.seen = ++t.clock,
		.c = *c,
	};
	t.n++;
	return true;
}

struct gt_caller_stats gt_caller_stats(void)
{
	return (struct gt_caller_stats){ .known = t.n, .dropped = t.dropped };
}

static_assert(GT_ACCESS_GROUPS <= GT_CALLER_GROUPS, "a bit each");

static struct {
	uid_t owner;		      /* of the mount: stands where root stands */
	bool has_gid;		      /* gids[0] stands there too */
	gid_t gids[GT_ACCESS_GROUPS]; /* that settings may belong to */
	unsigned int ngids;
} access_conf;

void gt_access_init(struct gt_app *app, int64_t gid)
{
	const struct group *g = NULL;

	access_conf.owner = getuid();
	if (gid < 0 && app->conf->group && *app->conf->group)
		g = getgrnam(app->conf->group);
	access_conf.has_gid = gid >= 0 || g;
	access_conf.gids[0] = gid >= 0 ? (gid_t)gid : g ? g->gr_gid : 0;
	access_conf.ngids = 1;
	gt_caller_groups(access_conf.gids, access_conf.ngids);
}

gid_t gt_access_gid(void)
{
	return access_conf.gids[0];
}

static int group_index(gid_t gid)
{
	for (unsigned int i = 0; i < access_conf.ngids; i++)
		if (access_conf.gids[i] == gid)
			return (int)i;
	return -1;
}

bool gt_access_add_group(gid_t gid)
{
	if (group_index(gid) >= 0)
		return true;
	if (access_conf.ngids == GT_ACCESS_GROUPS)
		return false;
	access_conf.gids[access_conf.ngids++] = gid;
	gt_caller_groups(access_conf.gids, access_conf.ngids);
	return true;
}

bool gt_access_in_group(const struct gt_view *v, gid_t gid)
{
	int i = group_index(gid);

	return i >= 0 && (v->groups & 1U << i);
}

bool gt_access_is_owner(uid_t uid)
{
	return uid == 0 || uid == access_conf.owner;
}

struct gt_view gt_access_view(const struct gt_app *app, uid_t uid, gid_t gid, uint32_t tid)
{
	struct gt_caller c;
	struct gt_view v;
	bool stands;

	if (!gt_caller_find(tid, uid, gid, &c) || c.ns == GT_PIDNS_NONE)
		return gt_view_nobody();
	stands = gt_access_is_owner(uid) || (access_conf.has_gid && (c.groups & 1));
	v = (struct gt_view){ .uid = uid,
			      .groups = c.groups,
			      .pid = c.tgid,
			      .own_pid = c.own_pid,
			      .ns = c.ns,
			      .there = c.there,
			      .visibility = (int)app->conf->visibility };
	v.all = stands && c.own_userns && c.ns == GT_PIDNS_OWN;
	return v;
}
