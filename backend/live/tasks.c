/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who a thread is: its process, user and name, from /proc at first sight. For a thread that has
 * ended already: from what the kernel saved with the trace, saved_tgids and saved_cmdlines.
 *
 * The cache is a table of fixed size where a thread has one place; a collision only costs a look.
 * A thread id may be used again: an entry older than a second is good only if the thread in /proc
 * began when the entry says.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "live.h"

#define KEEP_NS 1000000000ull
#define KTHREAD 0x00200000u /* PF_KTHREAD of include/linux/sched.h, in stat's flags */

/* Identity of a process; @start in ns since boot, GT_NONE64 if unknown. */
struct task {
	uint32_t tid; /* GT_NONE32: free */
	uint32_t pid, uid;
	uint64_t start; /* of the thread */
	uint64_t checked;
	bool told;   /* its PROCESS record went out */
	bool kernel; /* a thread of the kernel itself */
	char comm[16];
	uint64_t pid_start;
};

struct gt_tasks {
	const char *tracefs;
	uint64_t now;
	uint64_t tick; /* ns */
	bool foreign;  /* our /proc has other thread ids than the trace */
	bool saved_read;
	char *tgids, *comms; /* the saved_* files, as of this round */
	struct task slot[GT_TASKS];
};

struct gt_tasks *gt_tasks_new(const char *tracefs)
{
	struct gt_tasks *t = calloc(1, sizeof(*t));
	char ns[64] = "";

	if (!t)
		return NULL;
	t->tracefs = tracefs;
	t->tick = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	for (size_t i = 0; i < GT_TASKS; i++)
		t->slot[i].tid = GT_NONE32;
	/* PROC_PID_INIT_INO: the trace has thread ids of the first PID namespace */
	t->foreign = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1) > 0 &&
		     strcmp(ns, "pid:[4026531836]");
	return t;
}

static void forget_saved(struct gt_tasks *t)
{
	free(t->tgids);
	free(t->comms);
	t->tgids = t->comms = NULL;
	t->saved_read = false;
}

void gt_tasks_free(struct gt_tasks *t)
{
	if (!t)
		return;
	forget_saved(t);
	free(t);
}

bool gt_tasks_foreign(const struct gt_tasks *t)
{
	return t->foreign;
}

void gt_tasks_round(struct gt_tasks *t, uint64_t now)
{
	t->now = now;
	if (t->saved_read)
		forget_saved(t);
}

/* /proc/@tid/@name into @buf; false if the thread is gone. */
static bool proc_read(uint32_t tid, const char *name, char *buf, size_t len)
{
	gt_live_auto_close int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, len - 1);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* Fields 22 and 9 of stat, and the comm before them, which may contain anything: proc(5). */
static bool proc_stat(struct gt_tasks *t, uint32_t tid, uint64_t *start, uint32_t *flags,
		      char comm[16])
{
	unsigned long long ticks;
	char buf[1024], *open, *close;
	size_t n;

	if (!proc_read(tid, "stat", buf, sizeof(buf)))
		return false;
	open = strchr(buf, '(');
	close = strrchr(buf, ')');
	if (!open || !close || close < open ||
	    sscanf(close + 1,
		   " %*c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d"
		   " %*d %*d %*d %llu",
		   flags, &ticks) != 2)
		return false;
	*start = ticks * t->tick;
	n = (size_t)(close - open - 1);
	n = n > 15 ? 15 : n;
	memset(comm, 0, 16);
	memcpy(comm, open + 1, n);
	return true;
}

static bool proc_start(struct gt_tasks *t, uint32_t tid, uint64_t *start, char comm[16])
{
	uint32_t flags;

	return proc_stat(t, tid, start, &flags, comm);
}

static bool proc_number(const char *status, const char *key, uint32_t *out)
{
	const char *at = strstr(status, key);

	return at && sscanf(at + strlen(key), " %u", out) == 1;
}

static bool from_proc(struct gt_tasks *t, struct task *k)
{
	char status[2048], comm[16];
	uint32_t flags;

	if (!proc_stat(t, k->tid, &k->start, &flags, k->comm) ||
	    !proc_read(k->tid, "status", status, sizeof(status)))
		return false;
	if (!proc_number(status, "\nTgid:", &k->pid))
		return false;
	proc_number(status, "\nUid:", &k->uid);
	k->kernel = flags & KTHREAD;
	k->pid_start = k->start;
	if (k->pid != k->tid && proc_start(t, k->pid, &k->pid_start, comm))
		memcpy(k->comm, comm, sizeof(comm));
	return true;
}

/* What stands behind "@tid " at the start of a line of @text; NULL if none does. */
static const char *saved_line(const char *text, uint32_t tid)
{
	char key[24];
	size_t n = (size_t)snprintf(key, sizeof(key), "\n%u ", tid);
	const char *at;

	if (!text)
		return NULL;
	if (!strncmp(text, key + 1, n - 1))
		return text + n - 1;
	at = strstr(text, key);
	return at ? at + n : NULL;
}

static void from_saved(struct gt_tasks *t, struct task *k)
{
	const char *tgid, *comm;
	size_t n;

	if (!t->saved_read) {
		t->saved_read = true;
		t->tgids = gt_live_read(t->tracefs, "saved_tgids", NULL);
		t->comms = gt_live_read(t->tracefs, "saved_cmdlines", NULL);
	}
	tgid = saved_line(t->tgids, k->tid);
	if (!tgid)
		return;
	k->pid = (uint32_t)strtoul(tgid, NULL, 10);
	comm = saved_line(t->comms, k->pid);
	if (!comm)
		comm = saved_line(t->comms, k->tid);
	if (!comm)
		return;
	n = strcspn(comm, "\n");
	memcpy(k->comm, comm, n > 15 ? 15 : n);
}

/* Is what the cache says of @k still true? A thread that is gone has not been replaced. */
static bool current(struct gt_tasks *t, struct task *k)
{
	uint64_t start;
	char comm[16];

	if (t->now - k->checked < KEEP_NS)
		return true;
	k->checked = t->now;
	if (t->foreign)
		return true;
	if (!proc_start(t, k->tid, &start, comm))
		return k->pid != GT_NONE32;
	if (start != k->start)
		return false;
	/* exec() and prctl() give a process another name */
	return k->pid != k->tid || !memcmp(comm, k->comm, sizeof(comm));
}

static struct task *find(struct gt_tasks *t, uint32_t tid)
{
	struct task *k = &t->slot[(tid * 2654435761u) % GT_TASKS];

	if (k->tid == tid && current(t, k))
		return k;
	*k = (struct task){
		.tid = tid,
		.pid = GT_NONE32,
		.uid = GT_NONE32,
		.start = GT_NONE64,
		.pid_start = GT_NONE64,
		.checked = t->now,
	};
	/* Numbers of another PID namespace would name the wrong processes: rather none. */
	if (!t->foreign && !from_proc(t, k))
		from_saved(t, k);
	return k;
}

static void describe(const struct task *k, uint64_t ts, union gt_record *proc)
{
	gt_record_init(proc, ts, (enum gt_type)GT_PROCESS);
	proc->process.start = k->pid_start;
	proc->process.pid = k->pid;
	proc->process.uid = k->uid;
	memcpy(proc->process.comm, k->comm, sizeof(proc->process.comm));
}

/* Does the running thread say whose doing the event is? Elsewhere it is a scheduler's worker, or
 * whatever an interrupt found. */
bool gt_tasks_owner(unsigned int type)
{
	static const uint32_t types =
		1u << GT_SUBMIT | 1u << GT_SYNC_WAIT_ENTER | 1u << GT_SYNC_WAIT_EXIT |
		1u << GT_IOCTL_ENTER | 1u << GT_IOCTL_EXIT | 1u << GT_QUEUE_CREATE |
		1u << GT_QUEUE_TOKEN | 1u << GT_QUEUE_DESTROY | 1u << GT_LAUNCH | 1u << GT_FUNCTION;

	return type < GT_NTYPES && (types >> type & 1);
}

/* @k is whose doing @r is. */
static bool fill(struct task *k, union gt_record *r, union gt_record *proc)
{
	bool first;

	if (k->pid == GT_NONE32)
		return false;
	r->ev.pid = k->pid;
	r->ev.uid = k->uid;
	first = !k->told;
	k->told = true;
	if (first)
		describe(k, r->ev.ts, proc);
	return first;
}

bool gt_tasks_fill(struct gt_tasks *t, union gt_record *r, union gt_record *proc)
{
	bool owner = gt_tasks_owner(r->ev.type);

	if (r->ev.type >= GT_NTYPES)
		return false;
	if (!owner && r->ev.type != GT_COMMIT)
		r->ev.tid = GT_NONE32;
	/* A pid that the tracepoint itself tells is good for every type. */
	if (r->ev.pid == GT_NONE32 && !owner)
		return false;
	return fill(find(t, r->ev.pid != GT_NONE32 ? r->ev.pid : r->ev.tid), r, proc);
}

bool gt_tasks_own(struct gt_tasks *t, union gt_record *r, union gt_record *proc)
{
	struct task *k;

	if (r->ev.pid == GT_NONE32 && r->ev.tid == GT_NONE32)
		return false;
	k = find(t, r->ev.pid != GT_NONE32 ? r->ev.pid : r->ev.tid);
	/* KFD's workers evict and restore a process's queues, and are not that process. */
	if (k->kernel && r->ev.type != GT_FUNCTION)
		return false;
	return fill(k, r, proc);
}
