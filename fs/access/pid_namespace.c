/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pid_namespaces(7): a process has a pid in its own namespace and in each above it; NStgid in
 * /proc/<pid>/status has them from the reader's on down (proc(5)). NS_GET_PARENT says which
 * namespaces those are (ioctl_ns(2)). The kernel gives the inode number of one that ended to
 * another, so each known one is held open until it has ended. What is known of its processes then
 * stays for those above.
 *
 * Everybody may make user namespaces, and PID namespaces in them. So each owner has a share of the
 * table, and only an owner's own namespaces make room for its next one: first those that have
 * ended, then those that nobody asks for any more. Without room a namespace is refused, and who is
 * in it is in none that is known.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../backend/event.h"
#include "access.h"

/*
 * Which PID namespaces have ended. One has when its first process has: no other can come to be in
 * it any more (pid_namespaces(7)). That one is asked for by its pid there; the kernel answers since
 * Linux 6.11. Before, all processes are looked at, which cannot miss it.
 */

#ifndef NS_GET_PID_FROM_PIDNS
#define NS_GET_PID_FROM_PIDNS _IOR(NSIO, 0x6, int)
#endif

/** gt_nsfs_ino() - of the namespace that @fd of nsfs is; 0 unknown */
static uint64_t gt_nsfs_ino(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

/** gt_nsfs_owner() - of the user namespace it belongs to; 0 unknown. @uid: who made that; 0: root, or
 * unknown */
static uint64_t gt_nsfs_owner(int fd, uid_t *uid)
{
	int user = ioctl(fd, NS_GET_USERNS);
	uint64_t ino = user < 0 ? 0 : gt_nsfs_ino(user);

	*uid = 0;
	if (user >= 0 && ioctl(user, NS_GET_OWNER_UID, uid))
		*uid = 0;
	if (user >= 0)
		close(user);
	return ino;
}

enum gt_ended { GT_ENDED_NO, GT_ENDED_YES, GT_ENDED_UNKNOWN };

/* Has the namespace below ours ended that @fd of nsfs is? Before Linux 6.11 it is not known */
static enum gt_ended has_ended(int fd)
{
	if (ioctl(fd, NS_GET_PID_FROM_PIDNS, 1) > 0)
		return GT_ENDED_NO;
	return errno == ESRCH ? GT_ENDED_YES : GT_ENDED_UNKNOWN;
}

static void strike(struct gt_ended_space *s, unsigned int n, uint64_t ino)
{
	for (unsigned int i = 0; i < n; i++)
		if (s[i].ino == ino)
			s[i].ended = false;
}

bool gt_pidns_scan(struct gt_ended_space *s, unsigned int n)
{
	DIR *proc = opendir("/proc");
	const struct dirent *d;
	bool whole = proc;
	struct stat st;

	for (unsigned int i = 0; i < n; i++)
		s[i].ended = true;
	while (whole && (d = readdir(proc))) {
		char path[64];

		/* the first one of this /proc is not below us, and may show less than others */
		if (*d->d_name < '0' || *d->d_name > '9' || !strcmp(d->d_name, "1"))
			continue;
		snprintf(path, sizeof(path), "%.20s/ns/pid", d->d_name);
		if (!fstatat(dirfd(proc), path, &st, 0))
			strike(s, n, st.st_ino);
		else
			whole = errno == ENOENT || errno == ESRCH; /* else it may be anywhere */
	}
	if (proc)
		closedir(proc);
	return whole;
}

#define SPACES	   1024 /* GT_ALL_PIDNS of them for other user namespaces than the daemon's */
#define IDLE_NS	   10000000000ull
#define PRESSED_NS 1000000000ull
#define SWEEP_NS   10000000000ull
#define SCAN_NS	   60000000000ull
#define PROCESSES  16384
#define BUCKETS	   4096
#define OWNERS	   256

/**
 * struct owner - who made the user namespace that PID namespaces belong to
 * @uid: that user; 0: root, or unknown, and then each user namespace, @userns, is one
 * @privileged: it is the daemon's user namespace
 * @n: of @spaces; @members: processes in them; @holds: it is being looked at
 */
struct owner {
	uint64_t userns;
	uid_t uid;
	bool privileged;
	unsigned int n, members, holds;
	LIST_HEAD(, space) spaces;
	LIST_ENTRY(owner) same_hash;
};

/**
 * struct space - a namespace
 * @id: 0: free; else @id % SPACES is its place
 * @ino: of nsfs; @userns: that of the user namespace it belongs to, 0 unknown
 * @depth: 1: right below the daemon's; @up: ids of those above it and itself, from depth 1 on
 * @parent: the one above it, NULL for depth 1; @below: how many have this one as their parent
 * @members: its processes, the oldest first; @used: when it was last asked for
 * @fd: of nsfs; -1: it has ended, and @ino is 0
 */
struct space {
	uint64_t id, ino, userns, used;
	struct owner *owner;
	struct space *parent;
	uint64_t up[GT_PIDNS_DEPTH];
	unsigned int depth, below;
	int fd;
	TAILQ_HEAD(, member) members;
	LIST_ENTRY(space) of_owner, same_ino;
};

/** struct there - member @m as it is known in one namespace */
struct there {
	struct member *m;
	LIST_ENTRY(there) same;
};

/**
 * struct member - a process, of [@from, @until)
 * @space: its innermost; @seq: that of an older one is smaller
 * @pids: in the namespaces of depth 1 to that of @space; @there: found by them
 */
struct member {
	uint64_t from, until, seq;
	struct space *space;
	uint32_t pid, pids[GT_PIDNS_DEPTH];
	struct there there[GT_PIDNS_DEPTH];
	TAILQ_ENTRY(member) of_space;
	LIST_ENTRY(member) same_pid; /* newer first; or of the unused ones */
};

LIST_HEAD(owners, owner);
LIST_HEAD(spaces, space);
LIST_HEAD(members, member);
LIST_HEAD(theres, there);

/* Memory only where there are namespaces. */
struct tables {
	struct space spaces[SPACES];
	struct member members[PROCESSES];
	struct owners owners[OWNERS];
	struct spaces by_ino[SPACES];
	struct members by_pid[BUCKETS], unused;
	struct theres by_there[BUCKETS];
	unsigned int fresh; /* of @members, from here on: never used */
};

static struct {
	pthread_mutex_t lock;
	uint64_t own, userns; /* inodes of the daemon's */
	uint64_t last_id, last_seq, refused;
	struct tables *tables;
	unsigned int spaces, ordinary, held, members; /* @held: open */
	uint64_t swept, scanned;
	bool unknown; /* the kernel does not say of all whether they have ended */
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

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool ready(void)
{
	struct stat st;

	if (!t.own && !stat("/proc/self/ns/pid", &st))
		t.own = st.st_ino;
	if (!t.userns && !stat("/proc/self/ns/user", &st))
		t.userns = st.st_ino;
	if (!t.tables)
		t.tables = calloc(1, sizeof(*t.tables));
	return t.own && t.tables;
}

static struct spaces *inos(uint64_t ino)
{
	return &t.tables->by_ino[ino % SPACES];
}

static struct members *pids(uint32_t pid)
{
	return &t.tables->by_pid[pid % BUCKETS];
}

static struct theres *theres(uint64_t ns, uint32_t pid)
{
	return &t.tables->by_there[((ns ^ (uint64_t)pid << 32) * 0x9e3779b97f4a7c15ull >> 32) %
				   BUCKETS];
}

static struct space *by_ino(uint64_t ino)
{
	struct space *s;

	LIST_FOREACH(s, inos(ino), same_ino)
	if (s->ino == ino)
		return s;
	return NULL;
}

static struct space *by_id(uint64_t id)
{
	struct space *s = t.tables ? &t.tables->spaces[id % SPACES] : NULL;

	return s && s->id == id ? s : NULL;
}

static struct owner *owner_of(uid_t uid, uint64_t userns)
{
	struct owners *owners = &t.tables->owners[(uid ? uid : userns) % OWNERS];
	struct owner *o;

	LIST_FOREACH(o, owners, same_hash)
	if (o->uid == uid && (uid || o->userns == userns))
		return o;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->uid = uid;
	o->userns = userns;
	o->privileged = !uid && (!userns || userns == t.userns);
	LIST_INSERT_HEAD(owners, o, same_hash);
	return o;
}

static void owner_put(struct owner *o)
{
	if (o->n || o->holds)
		return;
	LIST_REMOVE(o, same_hash);
	free(o);
}

static void take_out(struct member *m)
{
	struct space *s = m->space;

	for (unsigned int d = 0; d < s->depth; d++)
		LIST_REMOVE(&m->there[d], same);
	TAILQ_REMOVE(&s->members, m, of_space);
	LIST_REMOVE(m, same_pid);
	LIST_INSERT_HEAD(&t.tables->unused, m, same_pid);
	s->owner->members--;
	t.members--;
}

/* It has ended: nobody will be in it again, and another may get its inode number. */
static void let_go(struct space *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	t.held--;
	LIST_REMOVE(s, same_ino);
	s->fd = -1;
	s->ino = 0;
}

static bool is_empty(const struct space *s)
{
	return !s->below && TAILQ_EMPTY(&s->members);
}

static void forget_unused(struct space *s);

/* Nothing is known of it any more that somebody could ask for. */
static void forget(struct space *s)
{
	struct space *up = s->parent;
	struct member *m;

	while ((m = TAILQ_FIRST(&s->members)))
		take_out(m);
	let_go(s);
	LIST_REMOVE(s, of_owner);
	s->owner->n--;
	t.spaces--;
	t.ordinary -= !s->owner->privileged;
	owner_put(s->owner);
	s->id = 0;
	if (up && !--up->below)
		forget_unused(up);
}

/* It has ended, and nothing of it is known. */
static void forget_unused(struct space *s)
{
	if (s->id && s->fd < 0 && is_empty(s))
		forget(s);
}

/* Lets go of those that have ended. */
static void let_go_ended(uint64_t now)
{
	t.swept = now;
	for (struct space *s = t.tables->spaces; s < t.tables->spaces + SPACES; s++) {
		enum gt_ended e = s->id && s->fd >= 0 ? has_ended(s->fd) : GT_ENDED_NO;

		t.unknown |= e == GT_ENDED_UNKNOWN;
		if (e == GT_ENDED_YES)
			let_go(s);
		forget_unused(s);
	}
}

/* A user gets at most half of what the others leave, as in quota.c. */
static bool fits(const struct owner *o)
{
	if (o->privileged || t.spaces >= SPACES)
		return t.spaces < SPACES;
	return o->n < GT_USER_PIDNS && t.ordinary < GT_ALL_PIDNS &&
	       o->n < GT_ALL_PIDNS - t.ordinary;
}

/*
 * What @o misses least: of its namespaces that have ended the longest unused one, else of those
 * without processes that nobody has asked for in a while.
 */
static struct space *least_missed(const struct owner *o, uint64_t now)
{
	struct space *s, *best = NULL;

	LIST_FOREACH(s, &o->spaces, of_owner)
	{
		bool ended = s->fd < 0;

		if (s->below || (!ended && (!is_empty(s) || now < s->used + IDLE_NS)))
			continue;
		if (!best || (ended == (best->fd < 0) ? s->used < best->used : ended))
			best = s;
	}
	return best;
}

/* For one more of @o. To ask which have ended takes a call for each: once a second. */
static bool make_room(const struct owner *o)
{
	uint64_t now = now_ns();
	struct space *s;

	if (!fits(o) && now >= t.swept + PRESSED_NS)
		let_go_ended(now);
	while (!fits(o) && (s = least_missed(o, now)))
		forget(s);
	return fits(o);
}

static struct space *space_new(struct owner *o, struct space *up, uint64_t ino, int fd)
{
	struct space *s = t.tables->spaces;

	while (s->id)
		s++;
	*s = (struct space){ .owner = o, .parent = up, .ino = ino, .fd = fd };
	s->id = ++t.last_id * SPACES + (uint64_t)(s - t.tables->spaces);
	if (up) {
		up->below++;
		memcpy(s->up, up->up, sizeof(s->up));
		s->depth = up->depth;
	}
	s->up[s->depth++] = s->id;
	TAILQ_INIT(&s->members);
	LIST_INSERT_HEAD(&o->spaces, s, of_owner);
	LIST_INSERT_HEAD(inos(ino), s, same_ino);
	o->n++;
	t.spaces++;
	t.ordinary += !o->privileged;
	t.held++;
	return s;
}

/* Takes @fd. NULL: not below the daemon's, too deep, or no room. */
static struct space *space_of(int fd, unsigned int levels)
{
	uint64_t ino = gt_nsfs_ino(fd), userns = 0;
	struct space *s = ino && ino != t.own ? by_ino(ino) : NULL, *up = NULL;
	struct owner *o = NULL;
	uid_t uid;
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
		up->below++; /* not to make room of it */
	if (!up || up->depth < GT_PIDNS_DEPTH) {
		userns = gt_nsfs_owner(fd, &uid);
		o = owner_of(uid, userns);
	}
	if (o) {
		o->holds++;
		if (make_room(o))
			s = space_new(o, up, ino, fd);
		o->holds--;
		owner_put(o);
	}
	if (up)
		up->below--;
	if (s) {
		s->userns = userns;
		return s;
	}
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
		s->used = now_ns();
	return s;
}

uint64_t gt_pidns_of(uint32_t tid, const char *status)
{
	uint32_t pid[GT_PIDNS_DEPTH + 1];
	unsigned int n = gt_pidns_pids(status, "NStgid:", pid, GT_PIDNS_DEPTH + 1);
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

bool gt_pidns_used(uint64_t ns)
{
	struct space *s;

	if (ns == GT_PIDNS_OWN || ns == GT_PIDNS_NONE)
		return true;
	LOCK();
	s = by_id(ns);
	if (s)
		s->used = now_ns();
	return s;
}

bool gt_pidns_owner_is(uint64_t ns, uint64_t ino)
{
	const struct space *s;

	if (ns == GT_PIDNS_OWN || ns == GT_PIDNS_NONE || !ino)
		return false;
	LOCK();
	s = by_id(ns);
	return s && s->userns == ino;
}

/* The newest of a pid, or NULL. */
static struct member *newest(uint32_t pid)
{
	struct member *m = t.tables ? LIST_FIRST(pids(pid)) : NULL;

	while (m && m->pid != pid)
		m = LIST_NEXT(m, same_pid);
	return m;
}

/* Where there are too many processes, who has most there loses the oldest. */
static void drop_member(void)
{
	const struct owner *most = NULL, *o;
	struct member *m, *oldest = NULL;
	struct space *s;

	for (struct owners *l = t.tables->owners; l < t.tables->owners + OWNERS; l++)
		LIST_FOREACH(o, l, same_hash)
	if (!most || o->members > most->members)
		most = o;
	if (!most)
		return;
	LIST_FOREACH(s, &most->spaces, of_owner)
	{
		m = TAILQ_FIRST(&s->members);
		if (m && (!oldest || m->seq < oldest->seq))
			oldest = m;
	}
	if (!oldest)
		return;
	s = oldest->space;
	t.refused += oldest->until == UINT64_MAX;
	take_out(oldest);
	forget_unused(s);
}

static struct member *member_new(struct space *s, uint32_t pid, const uint32_t *inside)
{
	struct tables *a = t.tables;
	struct member *m;

	s->below++; /* it stays */
	if (t.members == PROCESSES)
		drop_member();
	s->below--;
	m = LIST_FIRST(&a->unused);
	if (m)
		LIST_REMOVE(m, same_pid);
	else
		m = &a->members[a->fresh++];
	*m = (struct member){ .space = s, .pid = pid, .seq = ++t.last_seq };
	for (unsigned int d = 0; d < s->depth; d++) {
		m->pids[d] = inside[d];
		m->there[d].m = m;
		LIST_INSERT_HEAD(theres(s->up[d], inside[d]), &m->there[d], same);
	}
	TAILQ_INSERT_TAIL(&s->members, m, of_space);
	LIST_INSERT_HEAD(pids(pid), m, same_pid);
	s->owner->members++;
	t.members++;
	return m;
}

void gt_pidns_add(uint32_t pid, uint64_t from, uint64_t start, const char *status)
{
	uint32_t inside[GT_PIDNS_DEPTH + 1];
	unsigned int n = gt_pidns_pids(status, "NStgid:", inside, GT_PIDNS_DEPTH + 1);
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
	m = member_new(s, pid, inside + 1);
	m->from = from;
	m->until = UINT64_MAX;
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
	const struct member *m;

	if (ns == GT_PIDNS_OWN)
		return pid;
	if (ns == GT_PIDNS_NONE || pid == GT_NONE32)
		return GT_NONE32;
	LOCK();
	for (m = t.tables ? LIST_FIRST(pids(pid)) : NULL; m; m = LIST_NEXT(m, same_pid))
		if (m->pid == pid && ts >= m->from && ts < m->until)
			return pid_in(m, ns);
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
	const struct there *p;

	if (ns == GT_PIDNS_OWN)
		return pid;
	if (ns == GT_PIDNS_NONE)
		return GT_NONE32;
	LOCK();
	for (p = t.tables ? LIST_FIRST(theres(ns, pid)) : NULL; p; p = LIST_NEXT(p, same))
		if ((!best || p->m->from > best->from) && pid_in(p->m, ns) == pid)
			best = p->m;
	return best ? best->pid : GT_NONE32;
}

/* Where the kernel cannot be asked; the look at all processes is without the lock. */
static void scan(void)
{
	__attribute__((cleanup(freep))) struct gt_ended_space *list = NULL;
	unsigned int n = 0;

	{
		LOCK();
		list = t.tables ? calloc(SPACES, sizeof(*list)) : NULL;
		for (unsigned int i = 0; list && i < SPACES; i++) {
			const struct space *s = &t.tables->spaces[i];

			if (s->id && s->fd >= 0)
				list[n++] = (struct gt_ended_space){ .ino = s->ino, .id = s->id };
		}
	}
	if (!list || !gt_pidns_scan(list, n))
		return;
	LOCK();
	for (unsigned int i = 0; i < n; i++) {
		struct space *s = list[i].ended ? by_id(list[i].id) : NULL;

		if (!s)
			continue;
		let_go(s);
		forget_unused(s);
	}
}

uint64_t gt_pidns_sweep(uint64_t now)
{
	bool unknown, held;

	{
		LOCK();
		if (t.held && now >= t.swept + SWEEP_NS)
			let_go_ended(now);
		unknown = t.unknown && now >= t.scanned + SCAN_NS;
		if (unknown) {
			t.scanned = now;
			t.unknown = false;
		}
		held = t.held;
	}
	if (unknown)
		scan();
	return held ? now + SWEEP_NS : UINT64_MAX;
}

struct gt_pidns_stats gt_pidns_stats(void)
{
	LOCK();
	return (struct gt_pidns_stats){ .namespaces = t.held,
					.processes = t.members,
					.refused = t.refused };
}

void gt_pidns_forget(void)
{
	LOCK();
	for (unsigned int i = 0; t.tables && i < SPACES; i++)
		if (t.tables->spaces[i].id) /* with their processes, whoever is below */
			forget(&t.tables->spaces[i]);
	free(t.tables);
	t.tables = NULL;
	t.unknown = false;
	t.swept = t.scanned = 0;
}
