/* SPDX-License-Identifier: GPL-2.0 */
/* Why the kernel refuses, and what to do about it: errors of bpf(2) alone say little. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../live/live.h"
#include "internal.h"

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
				.paranoid = gb_paranoid() };
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

/* Of a kernel built for more than one way the line says so, too, whichever it was booted with. */
bool gb_kernel_preemptible(void)
{
	struct utsname u;

	return uname(&u) || strstr(u.version, "PREEMPT");
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
			"%s: Linux %s does not tell a BPF program which event it runs for; "
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

/* The last line of the verifier's log that says something, of what libbpf prints around it */
void gb_last_words(const char *log, char *out, size_t len)
{
	const char *at = strstr(log, "BEGIN PROG LOAD LOG"), *end;

	if (!at || !(at = strchr(at, '\n')))
		return;
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
