/* SPDX-License-Identifier: GPL-2.0 */
/* What several parts ask of the kernel, or of this thread's rights. */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <syslog.h>
#include <unistd.h>

#include "../lib/threads.h"
#include "bpf.h"

/*
 * A thread that detaches programs. For each program at a tracepoint's record that takes the kernel a
 * grace period of RCU, some 20 to 100 ms. Whoever changes a setting does not wait for that: the
 * programs are switched off at once by a flag, and detached here a while later. If they are wanted
 * again before, they are taken back.
 *
 * The thread is there while there is something to end. It is the process's, not a plugin's: what it
 * ends may outlive a backend that is stopped, and begun anew.
 */

struct item {
	struct item *next;
	uint64_t id, due;
	void (*end)(void *what);
	void *what;
};

/*
 * @first, @last: in the order in which they came
 * @n: of these, and the one that is being ended
 * @holds: how many attach now: the kernel does that and detaching one after the other, so the
 *	thread lets them go first
 */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct item *first, **last;
	unsigned int n, holds;
	uint64_t id;
	bool running;
} detaching = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* The first that is due; NULL, and when to ask again: none is now. @every: due or not. Lock held */
static struct item *take_due(uint64_t *when, bool every)
{
	uint64_t now = gb_now();

	*when = UINT64_MAX;
	if (detaching.holds && !every)
		return NULL;
	for (struct item **at = &detaching.first, *i; (i = *at); at = &i->next) {
		if (i->due <= now || every) {
			*at = i->next;
			if (!*at)
				detaching.last = at;
			return i;
		}
		*when = i->due < *when ? i->due : *when;
	}
	return NULL;
}

/* Lock held */
static void wait_until(uint64_t when)
{
	struct timespec t = { (time_t)(when / 1000000000), (long)(when % 1000000000) };

	pthread_cond_clockwait(&detaching.changed, &detaching.lock, CLOCK_MONOTONIC, &t);
}

/* Until nothing is left. Lock held, but not while something is ended */
static void end_all(bool every)
{
	struct item *i;
	uint64_t when;

	while (detaching.n) {
		i = take_due(&when, every);
		if (!i) {
			wait_until(when);
			continue;
		}
		pthread_mutex_unlock(&detaching.lock);
		i->end(i->what);
		free(i);
		pthread_mutex_lock(&detaching.lock);
		detaching.n--;
		pthread_cond_broadcast(&detaching.changed);
	}
}

/* The end of the process: when it is gone nothing is attached, so that a driver can be unloaded. */
__attribute__((destructor)) static void end_rest(void)
{
	pthread_mutex_lock(&detaching.lock);
	end_all(true);
	pthread_mutex_unlock(&detaching.lock);
}

/* Who begins the thread may have raised rights, to attach. */
static void *detach_thread(void *unused)
{
	gt_caps_set(0, ~0ull);
	pthread_setname_np(pthread_self(), "gt-detach");
	pthread_mutex_lock(&detaching.lock);
	end_all(false);
	detaching.running = false;
	pthread_mutex_unlock(&detaching.lock);
	return unused;
}

/* Lock held; false: there is no thread, and none can be started */
static bool start_thread(void)
{
	pthread_t thread;

	if (detaching.running || gb_thread(&thread, detach_thread, NULL))
		return detaching.running;
	pthread_detach(thread);
	detaching.running = true;
	return true;
}

uint64_t gb_detach_later(void (*end)(void *what), void *what, uint64_t ns)
{
	struct item *i = malloc(sizeof(*i));
	uint64_t id = 0;

	pthread_mutex_lock(&detaching.lock);
	if (i && detaching.n < GB_DETACHING_MAX && start_thread()) {
		id = ++detaching.id;
		*i = (struct item){ NULL, id, gb_now() + ns, end, what };
		if (!detaching.first)
			detaching.last = &detaching.first;
		*detaching.last = i;
		detaching.last = &i->next;
		detaching.n++;
		pthread_cond_broadcast(&detaching.changed);
	}
	pthread_mutex_unlock(&detaching.lock);
	if (id)
		return id;
	free(i);
	end(what);
	return 0;
}

void *gb_detach_cancel(uint64_t id)
{
	struct item *i = NULL;
	void *what = NULL;

	pthread_mutex_lock(&detaching.lock);
	for (struct item **at = &detaching.first; id && *at; at = &(*at)->next) {
		if ((*at)->id != id)
			continue;
		i = *at;
		*at = i->next;
		if (!*at)
			detaching.last = at;
		detaching.n--;
		what = i->what;
		pthread_cond_broadcast(&detaching.changed);
		break;
	}
	pthread_mutex_unlock(&detaching.lock);
	free(i);
	return what;
}

/** gb_detach_hold() - nothing more begins to end until the same with @on false */
static void gb_detach_hold(bool on)
{
	pthread_mutex_lock(&detaching.lock);
	detaching.holds += on ? 1 : -1u;
	pthread_cond_broadcast(&detaching.changed);
	pthread_mutex_unlock(&detaching.lock);
}

unsigned int gb_detaching(void)
{
	unsigned int n;

	pthread_mutex_lock(&detaching.lock);
	n = detaching.n;
	pthread_mutex_unlock(&detaching.lock);
	return n;
}

int gb_read_number(const char *path, const char *fmt, int *out)
{
	FILE *f = fopen(path, "re");
	int ret = f ? 0 : -errno;

	if (f && fscanf(f, fmt, out) != 1)
		ret = -EINVAL;
	if (f)
		fclose(f);
	return ret;
}

/* The setting kernel.perf_event_paranoid */
static int paranoid_level(void)
{
	int paranoid = 0;

	gb_read_number("/proc/sys/kernel/perf_event_paranoid", "%d", &paranoid);
	return paranoid;
}

uint64_t gb_perf_rights(void)
{
	return paranoid_level() > 2 ? 1ull << CAP_SYS_ADMIN : 0;
}

int gb_thread(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

uint64_t gb_module_instance(const char *module)
{
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* Why the kernel refuses, and what to do about it: errors of bpf(2) alone say little. */

char gb_words[200];

/* The capabilities of this thread that are in force now */
static uint64_t caps_in_force(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &head, data))
		return ~0ull;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

/* Capabilities in a user namespace of one's own are none for BPF. */
static bool first_userns(void)
{
	gt_live_auto_free char *map = gt_live_read("/proc/self", "uid_map", NULL);
	unsigned int inside, outside, n;

	return !map || (sscanf(map, " %u %u %u", &inside, &outside, &n) == 3 && !inside &&
			!outside && n == 4294967295u);
}

void gb_facts(struct gb_facts *f)
{
	gt_live_auto_free char *lockdown = gt_live_read("/sys/kernel/security", "lockdown", NULL);
	struct utsname u;

	*f = (struct gb_facts){ .caps = caps_in_force(),
				.first_userns = first_userns(),
				.paranoid = paranoid_level() };
	f->locked = lockdown && strstr(lockdown, "[confidentiality]");
	if (!uname(&u))
		snprintf(f->release, sizeof(f->release), "%.60s", u.release);
}

static bool before(const char *release, int major, int minor)
{
	int a = 0, b = 0;

	if (sscanf(release, "%d.%d", &a, &b) != 2)
		return false;
	return a < major || (a == major && b < minor);
}

/* The kernel does not say EPERM then: its programs lack the functions that read its memory, and
 * some of tracefs' files are not made. */
static int locked_down(int e, char *err, size_t len)
{
	return gb_sentence(err, len, e,
			   "the kernel is locked down (confidentiality), which forbids BPF to read "
			   "its memory; boot with lockdown=integrity, or Secure Boot off");
}

bool gb_kernel_before(int major, int minor)
{
	struct utsname u;

	return !uname(&u) && before(u.release, major, minor);
}

static int not_allowed(const struct gb_facts *f, int e, char *err, size_t len)
{
	static const uint64_t bpf = 1ull << CAP_BPF, perfmon = 1ull << CAP_PERFMON,
			      admin = 1ull << CAP_SYS_ADMIN;
	bool b = f->caps & (bpf | admin), p = f->caps & (perfmon | admin);

	if (!b || !p)
		return gb_sentence(
			err, len, e,
			"%s%s%s %s missing: mount as root, or give the program both CAP_BPF "
			"and CAP_PERFMON",
			b ? "" : "CAP_BPF", b || p ? "" : " and ", p ? "" : "CAP_PERFMON",
			b || p ? "is" : "are");
	if (!f->first_userns)
		return gb_sentence(
			err, len, e,
			"in a user namespace the kernel allows no BPF, whatever capabilities "
			"there are; mount on the machine itself");
	if (f->paranoid > 2 && !(f->caps & admin))
		return gb_sentence(
			err, len, e,
			"kernel.perf_event_paranoid is %d: above 2 it takes CAP_SYS_ADMIN to "
			"attach to the kernel; mount as root, or sysctl "
			"kernel.perf_event_paranoid=2",
			f->paranoid);
	return gb_sentence(
		err, len, e,
		"the kernel forbids BPF though CAP_BPF and CAP_PERFMON are there: a security "
		"module or a container's seccomp filter does; allow bpf and perf_event_open");
}

int gb_why(const struct gb_facts *f, int e, const char *what, const char *words, char *err,
	   size_t len)
{
	if (f->locked)
		return locked_down(e, err, len);
	if ((e == EPERM || e == EACCES) && !words[0])
		return not_allowed(f, e, err, len);
	if (before(f->release, 5, 8))
		return gb_sentence(err, len, e,
				   "%s: Linux %s has no BPF ring buffer, which 5.8 brought", what,
				   f->release);
	if (before(f->release, 5, 15))
		return gb_sentence(
			err, len, e,
			"%s: Linux %s does not say to a BPF program which event it runs for; "
			"5.15 does",
			what, f->release);
	if (e == ENOSYS)
		return gb_sentence(err, len, e,
				   "this kernel has no BPF: it needs CONFIG_BPF_SYSCALL and "
				   "CONFIG_BPF_EVENTS");
	if (e == ENOMEM)
		return gb_sentence(
			err, len, e,
			"%s: no memory that BPF may use; raise the cgroup's memory.max, or "
			"lower buffer_size in [backend bpf] of gputrace.conf",
			what);
	if (words[0])
		return gb_sentence(err, len, e, "%s: the kernel refuses the program: %s", what,
				   words);
	return gb_sentence(err, len, e, "%s: %s", what, strerror(e));
}

int gb_refused(int e, const char *what, const char *words, char *err, size_t len)
{
	struct gb_facts f;

	gb_facts(&f);
	return gb_why(&f, e, what, words, err, len);
}

/* The last line of the verifier's log that says something. libbpf prints more than that, with lines
 * around the log. */
void gb_last_words(const char *log, char *out, size_t len)
{
	const char *at = log, *end;

	if (!strncmp(log, "libbpf", 6)) {
		at = strstr(log, "BEGIN PROG LOAD LOG");
		if (!at || !(at = strchr(at, '\n')))
			return;
	}
	for (; *at; at = end) {
		at += *at == '\n';
		end = at + strcspn(at, "\n");
		if (end == at || !strncmp(at, "processed ", 10) || !strncmp(at, "-- END", 6))
			continue;
		snprintf(out, len, "%.*s", (int)(end - at), at);
	}
}

int gb_btf(struct gb *b, char path[GB_PATH], char *err, size_t len)
{
	const char *dir = b->o->btf && *b->o->btf ? b->o->btf : GT_BTF_DIR;

	snprintf(path, GB_PATH, "%s/vmlinux", dir);
	if (!gt_live_access(path, R_OK))
		return 0;
	return gb_sentence(err, len, errno,
			   "%s cannot be read (%s): the kernel needs CONFIG_DEBUG_INFO_BTF", path,
			   strerror(errno));
}

int gb_tracefs(const struct gb *b, const char *call, char *err, size_t len)
{
	char path[4352];
	struct gb_facts f;

	if (!b->p->tracefs)
		return gb_sentence(err, len, ENOENT,
				   "tracefs is not mounted: mount -t tracefs nodev "
				   "/sys/kernel/tracing");
	snprintf(path, sizeof(path), "%s/events", b->p->tracefs);
	gb_facts(&f);
	if (gt_live_access(path, F_OK) && f.locked)
		return locked_down(EPERM, err, len);
	if (gt_live_access(path, F_OK) && errno == ENOENT)
		return gb_sentence(err, len, ENOENT,
				   "%s is not there: the kernel needs CONFIG_EVENT_TRACING", path);
	if (gt_live_access(path, R_OK | X_OK))
		return gb_sentence(
			err, len, errno,
			"%s may not be read by uid %u: mount as root, or let its group (mount -o "
			"remount,gid=GID %s)",
			path, (unsigned int)geteuid(), b->p->tracefs);
	if (!call)
		return 0;
	snprintf(path, sizeof(path), "%s/events/syscalls/sys_enter_%s/id", b->p->tracefs, call);
	if (gt_live_access(path, R_OK))
		return gb_sentence(err, len, errno,
				   "the kernel has no tracepoints for system calls "
				   "(CONFIG_FTRACE_SYSCALLS): %s",
				   strerror(errno));
	return 0;
}

static int perf_open(struct perf_event_attr *a)
{
	int fd;

	a->size = sizeof(*a);
	/* one CPU: the program runs on all */
	fd = (int)syscall(SYS_perf_event_open, a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int gb_perf_link(int prog, struct perf_event_attr *a, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .perf_event.bpf_cookie = cookie);
	int event = perf_open(a), link;

	if (event < 0)
		return event;
	link = bpf_link_create(prog, event, BPF_PERF_EVENT, &o);
	close(event);
	return link;
}

int gb_link_to_tracepoint(const char *tracefs, const char *system, const char *event, int prog)
{
	struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT };
	char path[4352];
	int id, ret;

	snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracefs, system, event);
	ret = gb_read_number(path, "%d", &id);
	if (ret)
		return ret;
	a.config = (uint32_t)id;
	return gb_perf_link(prog, &a, 0);
}

static const struct gb_part *const parts[GT_BPF_PARTS] = {
	[GT_BPF_IOCTL] = &gb_ioctl,
	[GT_BPF_TRACEPOINT] = &gb_tracepoint,
	[GT_BPF_NVIDIA] = &gb_nvidia,
	[GT_BPF_RUNTIME] = &gb_runtime,
};

const struct gb_part *gb_part(unsigned int i)
{
	return parts[i];
}

int gb_sentence(char *err, size_t len, int e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, len, fmt, ap);
	va_end(ap);
	return -e;
}

static int share(struct bpf_object *o, const char *name, int fd)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o, name);

	return m ? bpf_map__reuse_fd(m, fd) : 0;
}

/* A program's variables are read and set where its skeleton has them: the kernel's own take that
 * place, as bpf_object__load_skeleton() does it. */
static int map_variables(struct bpf_object *o)
{
	struct bpf_map *map;
	const void *at;
	size_t size;
	void *got;

	bpf_object__for_each_map(map, o) {
		at = bpf_map__initial_value(map, &size);
		if (!at || bpf_map__map_flags(map) & BPF_F_RDONLY_PROG)
			continue;
		got = mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED, bpf_map__fd(map), 0);
		if (got == MAP_FAILED)
			return -errno;
	}
	return 0;
}

int gb_object_load(struct gb *b, struct bpf_object *o, const char *what, char *err, size_t len)
{
	char path[GB_PATH];
	int ret = gb_btf(b, path, err, len);

	if (ret)
		return ret;
	ret = share(o, "gt_rings", b->ring.rings_fd);
	if (!ret)
		ret = share(o, "gt_wake", b->ring.wake_fd);
	if (!ret)
		ret = share(o, "gt_count", b->ring.count_fd);
	gb_words[0] = '\0';
	if (!ret)
		ret = bpf_object__load(o);
	if (!ret)
		ret = map_variables(o);
	return ret ? gb_refused(-ret, what, gb_words, err, len) : 0;
}

static void start(struct gb *b, unsigned int i)
{
	uint64_t raised = gt_caps_set(gb_perf_rights(), 0);
	char was[GB_SENTENCE];

	snprintf(was, sizeof(was), "%s", b->why[i]);
	b->why[i][0] = '\0';
	b->state[i] = parts[i]->probe(b, b->why[i], GB_SENTENCE);
	if (!b->state[i])
		b->state[i] = parts[i]->start(b, b->why[i], GB_SENTENCE);
	gt_caps_set(0, raised);
	if (b->state[i] && strcmp(was, b->why[i]) != 0)
		b->p->host->log(b->p, LOG_INFO, "%s: %s", parts[i]->name, b->why[i]);
}

int gb_parts_start(struct gb *b)
{
	int n = 0;

	gb_detach_hold(true);
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++) {
		start(b, i);
		n += !b->state[i];
	}
	gb_detach_hold(false);
	return n;
}

static void look(struct gb *b, unsigned int i)
{
	uint64_t raised = gt_caps_set(gb_perf_rights(), 0);

	b->state[i] = parts[i]->look(b, b->why[i], GB_SENTENCE);
	gt_caps_set(0, raised);
}

int gb_parts_look(struct gb *b)
{
	int n = 0;

	gb_detach_hold(true);
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++) {
		if (!b->state[i] && parts[i]->look)
			look(b, i);
		else if (b->state[i])
			start(b, i);
		n += !b->state[i];
	}
	gb_detach_hold(false);
	return n;
}

void gb_parts_stop(struct gb *b)
{
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++)
		if (!b->state[i])
			parts[i]->stop(b);
}

void gb_parts_park(struct gb *b)
{
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++) {
		if (b->state[i] || parts[i]->parks)
			continue;
		parts[i]->stop(b);
		b->state[i] = -ESHUTDOWN;
	}
}

/* What doctor and backends/bpf/stats say. */

bool gb_missed_by(int prog, uint64_t *n)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog, &info, &len))
		return false;
	*n += info.recursion_misses;
	return true;
}

uint64_t gb_missed(const struct bpf_object *o)
{
	struct bpf_program *p;
	uint64_t n = 0;

	bpf_object__for_each_program(p, o)
		if (bpf_program__fd(p) >= 0)
			gb_missed_by(bpf_program__fd(p), &n);
	return n;
}

static void part(struct gt_details *t, struct gb *b, unsigned int i)
{
	const char *name = gb_part(i)->name;
	struct gt_bpf_count c;

	gt_detail(t, "%s %s%s\n", name, b->state[i] ? "unavailable: " : "running", b->why[i]);
	if (b->state[i] || !gb_ring_counts(b, i, &c))
		return;
	gt_detail(t, "%s_events %" PRIu64 "\n", name, c.seen);
	gt_detail(t, "%s_other %" PRIu64 "\n", name, c.other);
	gt_detail(t, "%s_records %" PRIu64 "\n", name, c.sent);
	gt_detail(t, "%s_lost %" PRIu64 "\n", name, c.lost);
	if (gb_part(i)->doctor)
		gb_part(i)->doctor(b, t);
}

void gb_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	struct gt_details t = { buf, len };
	struct gb *b = p->priv;

	if (!b)
		return;
	for (unsigned int i = 0; i < GT_BPF_PARTS; i++)
		part(&t, b, i);
	gt_detail(&t, "buffer_total %zu\n", b->ring.size * b->ring.n_buffers);
	gt_detail(&t, "ring_drains %" PRIu64 "\n", b->ring.drains);
	gt_detail(&t, "ring_drains_full %" PRIu64 "\n", b->ring.full);
	gt_detail(&t, "records_invalid %" PRIu64 "\n", b->ring.left_out);
	gt_detail(&t, "records_out_of_order %" PRIu64 "\n", b->ring.late);
}
