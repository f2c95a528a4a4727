/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the backends of the running kernel share: files, which tracepoints exist, and who a thread is.
 *
 * The process, user and name of a thread come from /proc at its first event; those of a thread that
 * has ended from saved_tgids and saved_cmdlines, where the caller says that these are kept. The cache has
 * one slot for each hash, so a collision only costs another read. Thread ids are used again: an entry
 * older than a second is valid only if the thread in /proc began when the entry says.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "threads.h"

#define FILE_MAX (4u << 20)

int gt_live_access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}

char *gt_live_read(const char *dir, const char *file, size_t *len)
{
	gt_live_auto_free char *buf = NULL;
	gt_live_auto_close int fd = -1;
	size_t n = 0, cap = 0;
	char path[PATH_MAX], *more;
	ssize_t got;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		if (n + 1 >= cap) {
			cap = cap ? cap * 2 : 8192;
			more = realloc(buf, cap);
			if (!more)
				return NULL;
			buf = more;
		}
		got = read(fd, buf + n, cap - n - 1);
		if (got < 0)
			return NULL;
		n += (size_t)got;
	} while (got && n < FILE_MAX);
	buf[n] = '\0';
	if (len)
		*len = n;
	more = buf;
	buf = NULL;
	return more;
}

/* Tracepoints -------------------------------------------------------------------------------- */

bool gt_tracepoint_exists(void *arg, const char *system, const char *event)
{
	const char *tracefs = arg;
	char path[PATH_MAX];
	bool found = false;
	struct dirent *d;
	DIR *dir;

	if (system) {
		int n = snprintf(path, sizeof(path), "%s/events/%s/%s/enable", tracefs, system,
				 event);

		return n < (int)sizeof(path) && !gt_live_access(path, F_OK);
	}
	snprintf(path, sizeof(path), "%s/events", tracefs);
	dir = opendir(path);
	while (dir && !found && (d = readdir(dir)))
		found = d->d_name[0] != '.' && gt_tracepoint_exists(arg, d->d_name, event);
	if (dir)
		closedir(dir);
	return found;
}

/* Systems that a kernel has without a GPU, too: they alone are no reason to run. */
static bool is_generic(const char *system)
{
	static const char *const names[] = { "dma_fence",  "fence",    "drm",	"gpu_mem",
					     "sync_trace", "syscalls", "sched", "raw_syscalls",
					     "power",	   "function" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(system, names[i]))
			return true;
	return false;
}

/* The module that has a system's tracepoints; its name may differ */
static const char *module_of(const char *system)
{
	static const struct {
		const char *system, *module;
	} names[] = {
		{ "gpu_scheduler", "gpu-sched" }, { "drm_msm_gpu", "msm" },
		{ "drm_msm_atomic", "msm" },	  { "virtio_gpu", "virtio-gpu" },
		{ "amdgpu_dm", "amdgpu" },	  { "amdkfd", "amdgpu" },
		{ "host1x", "tegra-drm" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(system, names[i].system))
			return names[i].module;
	return system;
}

static bool none_exists(void *arg, const char *system, const char *event)
{
	return false;
}

/* Appends the module of @system to the list in @buf, once */
static void add_module(char *buf, size_t len, const char *system)
{
	const char *module = module_of(system);
	size_t used = strlen(buf), n = strlen(module);

	for (const char *at = buf; (at = strstr(at, module)); at += n)
		if ((at == buf || at[-1] == ' ') && (!at[n] || at[n] == ','))
			return;
	if (used + n + 3 < len)
		snprintf(buf + used, len - used, "%s%s", used ? ", " : "", module);
}

static int no_tracepoints(struct gt_plugin *p, struct gt_eventmap *m, char *err, size_t len)
{
	char modules[300] = "";
	struct gt_tp *tp;

	/* as if no tracepoint existed, so that no section is left out in favour of another */
	gt_eventmap_select(m, none_exists, NULL, 3);
	for (unsigned int i = 0; (tp = gt_eventmap_each(m, i)); i++)
		if (gt_tp_system(tp) && !is_generic(gt_tp_system(tp)))
			add_module(modules, sizeof(modules), gt_tp_system(tp));
	snprintf(err, len,
		 "this kernel has none of the GPU tracepoints that the event maps in %s name; load "
		 "the GPU's driver (modprobe with one of: %s), then write rescan to control",
		 p->events_dir, modules);
	return -ENOENT;
}

int gt_live_check(struct gt_plugin *p, char *err, size_t len)
{
	char fault[300] = "";
	struct gt_eventmap *m = gt_eventmap_load(p, p->events_dir, fault, sizeof(fault));
	void *tracefs = (void *)(uintptr_t)p->tracefs;
	struct gt_tp *tp;
	bool found = false;
	int ret = 0;

	if (!m) {
		snprintf(err, len, "no event map can be used: %s", fault);
		return -EINVAL;
	}
	gt_eventmap_select(m, gt_tracepoint_exists, tracefs, 3);
	for (unsigned int i = 0; !found && (tp = gt_eventmap_each(m, i)); i++)
		found = gt_tp_system(tp) && !is_generic(gt_tp_system(tp)) &&
			gt_tracepoint_exists(tracefs, gt_tp_system(tp), gt_tp_event(tp));
	if (!found)
		ret = no_tracepoints(p, m, err, len);
	gt_eventmap_free(m);
	return ret;
}

void gt_live_report_handover(struct gt_plugin *p)
{
	uint64_t now = p->host->now(p);
	union gt_record r = { .lost = { .ts = now,
					.type = GT_LOST,
					.cpu = GT_NONE16,
					.gpu = GT_NONE16,
					.ring = GT_NONE16,
					.count = GT_NONE64,
					.since = now,
					.cause = GT_LOST_SOURCE } };

	p->host->push(p, &r, 1);
}

/* Threads ------------------------------------------------------------------------------------ */

#define KEEP_NS 1000000000ull
#define KTHREAD 0x00200000u /* PF_KTHREAD of include/linux/sched.h, in stat's flags */

/**
 * struct task - identity of a thread
 * @tid: GT_NONE32: a free slot
 * @start, @pid_start: of the thread and its process, ns since boot; GT_NONE64: unknown
 * @checked: when /proc was read last
 * @described: its PROCESS record was emitted
 * @kernel: a kernel thread
 */
struct task {
	uint32_t tid;
	uint32_t pid, uid;
	uint64_t start;
	uint64_t checked;
	bool described;
	bool kernel;
	char comm[16];
	uint64_t pid_start;
};

/**
 * struct gt_tasks - the cache
 * @tick: ns
 * @foreign: our /proc has other thread ids than the trace
 * @tgids, @comms: contents of the saved_* files in this round, if @saved_read
 */
struct gt_tasks {
	const char *tracefs;
	uint64_t now;
	uint64_t tick;
	bool foreign;
	bool saved_read;
	char *tgids, *comms;
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
	/* PROC_PID_INIT_INO: a trace has thread ids of the initial PID namespace */
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

/* Reads /proc/@tid/@name; false if the thread is gone */
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

/* The rest of the line of @text that starts with "@tid ", or NULL */
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

	if (!t->tracefs)
		return;
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

/* Is the entry still valid? It stays so for a thread that is gone. */
static bool is_valid(struct gt_tasks *t, struct task *k)
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
	/* exec() and prctl() change a process's name */
	return k->pid != k->tid || !memcmp(comm, k->comm, sizeof(comm));
}

static struct task *find(struct gt_tasks *t, uint32_t tid)
{
	struct task *k = &t->slot[(tid * 2654435761u) % GT_TASKS];

	if (k->tid == tid && is_valid(t, k))
		return k;
	*k = (struct task){
		.tid = tid,
		.pid = GT_NONE32,
		.uid = GT_NONE32,
		.start = GT_NONE64,
		.pid_start = GT_NONE64,
		.checked = t->now,
	};
	/* in another PID namespace the numbers are those of other processes */
	if (!t->foreign && !from_proc(t, k))
		from_saved(t, k);
	return k;
}

static void describe(const struct task *k, uint64_t ts, union gt_record *proc)
{
	gt_record_init(proc, ts, (enum gt_type)GT_PROCESS);
	proc->process.start = k->pid_start;
	proc->process.pid = k->pid;
	memcpy(proc->process.comm, k->comm, sizeof(proc->process.comm));
}

/* Of other types the thread is a worker of the scheduler, or any thread that was interrupted. */
bool gt_tasks_owner(unsigned int type)
{
	static const uint64_t types = GT_BIT(GT_SUBMIT) | GT_BIT(GT_SYNC_WAIT_ENTER) |
				      GT_BIT(GT_SYNC_WAIT_EXIT) | GT_BIT(GT_IOCTL_ENTER) |
				      GT_BIT(GT_IOCTL_EXIT) | GT_BIT(GT_QUEUE_CREATE) |
				      GT_BIT(GT_QUEUE_TOKEN) | GT_BIT(GT_QUEUE_DESTROY) |
				      GT_BIT(GT_LAUNCH) | GT_BIT(GT_FUNCTION);

	return type < GT_NTYPES && (types >> type & 1);
}

/* Sets pid and uid of @r, which @k caused; true: @proc must go before it */
static bool fill(struct task *k, union gt_record *r, union gt_record *proc)
{
	bool first;

	if (k->pid == GT_NONE32)
		return false;
	r->ev.pid = k->pid;
	/* a uid in the record is that of the event's time; /proc has the present one, or none */
	if (r->ev.uid == GT_NONE32)
		r->ev.uid = k->uid;
	first = !k->described;
	k->described = true;
	if (first) {
		describe(k, r->ev.ts, proc);
		proc->process.uid = r->ev.uid;
	}
	return first;
}

bool gt_tasks_fill(struct gt_tasks *t, union gt_record *r, union gt_record *proc)
{
	bool owner = gt_tasks_owner(r->ev.type);

	if (r->ev.type >= GT_NTYPES)
		return false;
	if (!owner && r->ev.type != GT_COMMIT)
		r->ev.tid = GT_NONE32;
	/* a pid of the tracepoint itself is valid for every type */
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
	/* KFD's kernel threads evict and restore queues of other processes */
	if (k->kernel && r->ev.type != GT_FUNCTION)
		return false;
	return fill(k, r, proc);
}
