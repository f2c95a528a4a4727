/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pid_namespaces(7): a process has a pid in its own namespace and in each above it; NStgid in
 * /proc/<pid>/status has them from the reader's on down (proc(5)). Which namespaces those are,
 * NS_GET_PARENT tells (ioctl_ns(2)). The kernel gives the inode number of one that ended to
 * another, so each known one is held open until it has ended. What is known of its processes then
 * stays for those above.
 */
#include <fcntl.h>
#include <linux/nsfs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../backend/event.h"
#include "ended.h"
#include "told.h"

#define SPACES	  1024
#define HELD	  256 /* of them, that are held open */
#define SHARE	  64  /* that one user's, or one user namespace's, may be */
#define SWEEP_NS  10000000000ull
#define SCAN_NS	  60000000000ull
#define PROCESSES 16384
#define BUCKETS	  4096

/**
 * struct space - a namespace
 * @id: 0: free; @ino: of nsfs; @owner: inode of the user namespace it belongs to, 0 unknown
 * @uid: who made that user namespace, 0: root, or unknown
 * @depth: 1: right below the daemon's; @up: ids of those above it and itself, from depth 1 on
 * @users: processes in the table; @used: when it was last asked for
 * @fd: of nsfs; -1: it has ended, and @ino is 0
 */
struct space {
	uint64_t id, used;
	uint64_t ino, owner;
	uid_t uid;
	uint64_t up[GT_PIDNS_DEPTH];
	unsigned int depth, users;
	int fd;
};

/**
 * struct member - a process, of [@from, @until)
 * @pids: in the namespaces of depth 1 to @depth; @next: of the same hash, newer first
 */
struct member {
	uint64_t from, until;
	struct space *space;
	uint32_t pid, next;
	uint32_t pids[GT_PIDNS_DEPTH];
};

static struct {
	pthread_mutex_t lock;
	uint64_t own, userns; /* inodes of the daemon's */
	uint64_t last_id, clock, refused;
	struct space *spaces;
	struct member *members; /* a ring: [0] is none */
	uint32_t *heads;
	uint32_t at, count;
	unsigned int held; /* open */
	uint64_t swept, scanned;
} t = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void freep(struct gt_ended_space **p)
{
	free(*p);
}

static void unlock(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}

#define LOCK()                                                                                     \
	__attribute__((cleanup(unlock), unused)) pthread_mutex_t *locked_ = &t.lock;               \
	pthread_mutex_lock(locked_)

/* Memory only where there are namespaces. */
static bool ready(void)
{
	struct stat st;

	if (!t.own && !stat("/proc/self/ns/pid", &st))
		t.own = st.st_ino;
	if (!t.userns && !stat("/proc/self/ns/user", &st))
		t.userns = st.st_ino;
	if (!t.spaces)
		t.spaces = calloc(SPACES, sizeof(*t.spaces));
	if (!t.members)
		t.members = calloc(PROCESSES + 1, sizeof(*t.members));
	if (!t.heads)
		t.heads = calloc(BUCKETS, sizeof(*t.heads));
	return t.own && t.spaces && t.members && t.heads;
}

static struct space *by_ino(uint64_t ino)
{
	for (struct space *s = t.spaces; s < t.spaces + SPACES; s++)
		if (s->id && s->ino == ino)
			return s;
	return NULL;
}

/* Nothing is known of it any more that somebody could ask for. */
static void forget(struct space *s)
{
	if (s->fd >= 0) {
		close(s->fd);
		t.held--;
	}
	s->id = 0;
}

/* It has ended: nobody will be in it again, and another may get its inode number. */
static void let_go(struct space *s)
{
	close(s->fd);
	t.held--;
	s->fd = -1;
	s->ino = 0;
	if (!s->users)
		s->id = 0;
}

static bool is_open(const struct space *s)
{
	return s->id && s->fd >= 0;
}

/* Lets go of those that have ended; true if the kernel cannot tell. */
static bool let_go_ended(void)
{
	bool unknown = false;

	for (struct space *s = t.spaces; s && s < t.spaces + SPACES; s++) {
		enum gt_ended e = is_open(s) ? gt_pidns_ended(s->fd) : GT_ENDED_NO;

		if (e == GT_ENDED_YES)
			let_go(s);
		unknown |= e == GT_ENDED_UNKNOWN;
	}
	return unknown;
}

static bool of_same(const struct space *a, const struct space *b)
{
	return a->uid ? a->uid == b->uid : !b->uid && a->owner == b->owner;
}

/*
 * Everybody may make user namespaces, and PID namespaces in them: one user's must not be all.
 * False: whose @who is has its share already, each with processes.
 */
static bool has_share(const struct space *who)
{
	struct space *best = NULL;
	unsigned int n = 0;

	if (!who->uid && (!who->owner || who->owner == t.userns))
		return true;
	for (struct space *s = t.spaces; s < t.spaces + SPACES; s++) {
		if (!is_open(s) || !of_same(who, s))
			continue;
		n++;
		if (!s->users && (!best || s->used < best->used))
			best = s;
	}
	if (n >= SHARE && best)
		forget(best);
	return n < SHARE || best;
}

/* Free, or the one without processes that was not asked for longest; NULL: neither */
static struct space *room(const struct space *who)
{
	struct space *best = NULL, *empty = NULL;

	if (t.held >= SHARE)
		let_go_ended();
	if (!has_share(who))
		return NULL;
	for (struct space *s = t.spaces; s < t.spaces + SPACES; s++) {
		if (!s->id)
			empty = s;
		else if (!s->users && (!best || s->used < best->used))
			best = s;
	}
	if (empty && t.held < HELD)
		return empty;
	if (best)
		forget(best);
	return t.held < HELD ? best : NULL;
}

/* Takes @fd. NULL: not below the daemon's, too deep, or no room. */
static struct space *space_of(int fd, unsigned int levels)
{
	uint64_t ino = gt_nsfs_ino(fd);
	struct space *s = ino && ino != t.own ? by_ino(ino) : NULL, *up = NULL;
	struct space made = { .ino = ino, .fd = fd };
	int parent;

	if (s || !ino || ino == t.own || !levels) {
		close(fd);
		return s;
	}
	parent = ioctl(fd, NS_GET_PARENT);
	if (parent >= 0 && gt_nsfs_ino(parent) == t.own)
		close(parent);
	else if (parent < 0 || !(up = space_of(parent, levels - 1)))
		goto out;
	if (up)
		up->users++; /* not to make room of it */
	made.owner = gt_nsfs_owner(fd, &made.uid);
	s = up && up->depth == GT_PIDNS_DEPTH ? NULL : room(&made);
	if (up)
		up->users--;
	if (!s)
		goto out;
	*s = made;
	s->id = ++t.last_id;
	if (up)
		memcpy(s->up, up->up, sizeof(s->up));
	t.held++;
	s->depth = up ? up->depth + 1 : 1;
	s->up[s->depth - 1] = s->id;
	return s;
out:
	t.refused++;
	close(fd);
	return NULL;
}

static struct space *space_of_task(uint32_t tid)
{
	char path[64];
	struct space *s;
	int fd;

	if (!ready())
		return NULL;
	snprintf(path, sizeof(path), "/proc/%u/ns/pid", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	s = fd < 0 ? NULL : space_of(fd, GT_PIDNS_DEPTH);
	if (s)
		s->used = ++t.clock;
	return s;
}

uint64_t gt_pidns_of(uint32_t tid, const char *status)
{
	uint32_t pids[GT_PIDNS_DEPTH + 1];
	unsigned int n = gt_pidns_pids(status, "NStgid:", pids, GT_PIDNS_DEPTH + 1);
	const struct space *s;

	/* with one pid it is in the namespace of the mount of /proc */
	if (n == 1)
		return GT_PIDNS_OWN;
	if (!n || n > GT_PIDNS_DEPTH + 1)
		return GT_PIDNS_NONE;
	LOCK();
	s = space_of_task(tid);
	return s && s->depth + 1 == n ? s->id : GT_PIDNS_NONE;
}

static struct space *by_id(uint64_t id)
{
	for (struct space *s = t.spaces; s && s < t.spaces + SPACES; s++)
		if (s->id == id)
			return s;
	return NULL;
}

bool gt_pidns_used(uint64_t ns)
{
	struct space *s;

	if (ns == GT_PIDNS_OWN || ns == GT_PIDNS_NONE)
		return true;
	LOCK();
	s = by_id(ns);
	if (s)
		s->used = ++t.clock;
	return s;
}

bool gt_pidns_owner_is(uint64_t ns, uint64_t ino)
{
	const struct space *s;

	if (ns == GT_PIDNS_OWN || ns == GT_PIDNS_NONE || !ino)
		return false;
	LOCK();
	s = by_id(ns);
	return s && s->owner == ino;
}

/* The newest of a pid, or NULL. */
static struct member *newest(uint32_t pid)
{
	uint32_t i = t.heads ? t.heads[pid % BUCKETS] : 0;

	while (i && t.members[i].pid != pid)
		i = t.members[i].next;
	return i ? &t.members[i] : NULL;
}

static void take_out(struct member *m)
{
	uint32_t i = (uint32_t)(m - t.members), *link = &t.heads[m->pid % BUCKETS];

	while (*link && *link != i)
		link = &t.members[*link].next;
	if (*link)
		*link = m->next;
	if (!--m->space->users && m->space->fd < 0)
		m->space->id = 0;
	m->space = NULL;
	t.count--;
}

/* The oldest makes room: it has ended long ago, or there are more than anybody looks at. */
static struct member *member_new(struct space *s, uint32_t pid)
{
	struct member *m;

	t.at = t.at % PROCESSES + 1;
	m = &t.members[t.at];
	if (m->space) {
		t.refused += m->until == UINT64_MAX;
		take_out(m);
	}
	*m = (struct member){ .space = s, .pid = pid, .next = t.heads[pid % BUCKETS] };
	t.heads[pid % BUCKETS] = t.at;
	s->users++;
	t.count++;
	return m;
}

void gt_pidns_met(uint32_t pid, uint64_t from, uint64_t start, const char *status)
{
	uint32_t pids[GT_PIDNS_DEPTH + 1];
	unsigned int n = gt_pidns_pids(status, "NStgid:", pids, GT_PIDNS_DEPTH + 1);
	struct member *m;
	struct space *s;

	if (start && gt_pidns_began(start) < from)
		from = gt_pidns_began(start);
	LOCK();
	m = newest(pid);
	if (m && m->until > from)
		m->until = from;
	if (n < 2 || n > GT_PIDNS_DEPTH + 1)
		return;
	s = space_of_task(pid);
	if (!s || s->depth + 1 != n)
		return;
	m = member_new(s, pid);
	m->from = from;
	m->until = UINT64_MAX;
	memcpy(m->pids, pids + 1, (n - 1) * sizeof(*pids));
}

/* Its pid in @ns, or GT_NONE32 */
static uint32_t pid_in(const struct member *m, uint64_t ns)
{
	for (unsigned int d = 0; d < m->space->depth; d++)
		if (m->space->up[d] == ns)
			return m->pids[d];
	return GT_NONE32;
}

uint32_t gt_pidns_pid(uint64_t ns, uint32_t pid, uint64_t ts)
{
	if (ns == GT_PIDNS_OWN)
		return pid;
	if (ns == GT_PIDNS_NONE || pid == GT_NONE32)
		return GT_NONE32;
	LOCK();
	for (uint32_t i = t.heads ? t.heads[pid % BUCKETS] : 0; i; i = t.members[i].next) {
		const struct member *m = &t.members[i];

		if (m->pid == pid && ts >= m->from && ts < m->until)
			return pid_in(m, ns);
	}
	return GT_NONE32;
}

unsigned int gt_pidns_chain(uint32_t pid, uint64_t ns[GT_PIDNS_DEPTH])
{
	const struct member *m;

	LOCK();
	m = newest(pid);
	if (!m || m->until != UINT64_MAX)
		return 0;
	memcpy(ns, m->space->up, m->space->depth * sizeof(*ns));
	return m->space->depth;
}

uint32_t gt_pidns_find(uint64_t ns, uint32_t pid)
{
	const struct member *best = NULL;

	if (ns == GT_PIDNS_OWN)
		return pid;
	if (ns == GT_PIDNS_NONE)
		return GT_NONE32;
	LOCK();
	for (uint32_t i = 1; t.members && i <= PROCESSES; i++) {
		const struct member *m = &t.members[i];

		if (m->space && pid_in(m, ns) == pid && (!best || m->from > best->from))
			best = m;
	}
	return best ? best->pid : GT_NONE32;
}

/* Where the kernel cannot be asked; the look at all processes is without the lock. */
static void scan(void)
{
	__attribute__((cleanup(freep))) struct gt_ended_space *list = NULL;
	unsigned int n = 0;

	{
		LOCK();
		list = calloc(HELD, sizeof(*list));
		for (struct space *s = t.spaces; list && s < t.spaces + SPACES && n < HELD; s++)
			if (is_open(s))
				list[n++] = (struct gt_ended_space){ .ino = s->ino, .id = s->id };
	}
	if (!list || !gt_pidns_scan(list, n))
		return;
	LOCK();
	for (unsigned int i = 0; i < n; i++) {
		struct space *s = list[i].ended ? by_id(list[i].id) : NULL;

		if (s && is_open(s))
			let_go(s);
	}
}

uint64_t gt_pidns_sweep(uint64_t now)
{
	bool unknown = false, held;

	{
		LOCK();
		if (t.held && now >= t.swept + SWEEP_NS) {
			t.swept = now;
			unknown = let_go_ended();
		}
		unknown &= now >= t.scanned + SCAN_NS;
		if (unknown)
			t.scanned = now;
		held = t.held;
	}
	if (unknown)
		scan();
	return held ? now + SWEEP_NS : UINT64_MAX;
}

struct gt_pidns_stats gt_pidns_stats(void)
{
	struct gt_pidns_stats st = { 0 };

	LOCK();
	st.processes = t.count;
	st.refused = t.refused;
	for (const struct space *s = t.spaces; s && s < t.spaces + SPACES; s++)
		st.namespaces += is_open(s);
	return st;
}

void gt_pidns_forget(void)
{
	LOCK();
	for (struct space *s = t.spaces; s && s < t.spaces + SPACES; s++)
		if (s->id)
			forget(s);
	free(t.spaces);
	free(t.members);
	free(t.heads);
	t.spaces = NULL;
	t.members = NULL;
	t.heads = NULL;
	t.at = t.count = 0;
	t.swept = t.scanned = 0;
}
