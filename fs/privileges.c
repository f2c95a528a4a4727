/* SPDX-License-Identifier: GPL-2.0 */
/* Capabilities and the seccomp filter of root's daemon. */
#include <asm/sockios.h>
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "privileges.h"

struct sets {
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

/* capset(2) is of the calling thread alone, with no library's state beside it */
static int get(struct sets *s)
{
	s->head = (struct __user_cap_header_struct){ .version = _LINUX_CAPABILITY_VERSION_3 };
	return (int)syscall(SYS_capget, &s->head, s->data);
}

static uint64_t change(uint64_t on, uint64_t off)
{
	struct sets s;
	uint64_t was, now;

	if (get(&s))
		return 0;
	was = s.data[0].effective | (uint64_t)s.data[1].effective << 32;
	on &= s.data[0].permitted | (uint64_t)s.data[1].permitted << 32;
	now = (was | on) & ~off;
	if (now == was)
		return 0;
	s.data[0].effective = (uint32_t)now;
	s.data[1].effective = (uint32_t)(now >> 32);
	return syscall(SYS_capset, &s.head, s.data) ? 0 : now & ~was;
}

uint64_t gt_privs_raise(uint64_t caps)
{
	return change(caps, 0);
}

void gt_privs_lower(uint64_t caps)
{
	if (caps)
		change(0, caps);
}

/* From what capng_get_caps_process() got. What a container has not got cannot be kept. */
static void select_caps(uint64_t effective, uint64_t all)
{
	unsigned int had[64] = { 0 };

	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++)
		had[i] = (unsigned int)capng_have_capability(CAPNG_PERMITTED, i);
	capng_clear(CAPNG_SELECT_ALL);
	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++) {
		if (!had[i] || !(all >> i & 1))
			continue;
		capng_update(CAPNG_ADD, CAPNG_PERMITTED | CAPNG_BOUNDING_SET, i);
		if (effective >> i & 1)
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, i);
	}
}

int gt_privs_drop(uint64_t effective, uint64_t raised, char *err, size_t len)
{
	bool bounds;
	int ret;

	umask(077);
	if (geteuid())
		return 0;
	capng_get_caps_process();
	bounds = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
	select_caps(effective, effective | raised);
	/* otherwise the bounding set stays, and libcap-ng would complain of that in the log */
	if (bounds)
		capng_apply(CAPNG_SELECT_BOUNDS);
	/* no_new_privs does the rest */
	ret = capng_apply(CAPNG_SELECT_CAPS);
	if (ret == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		ret = -1;
	if (ret) {
		snprintf(err, len, "rights cannot be given up: %s", strerror(errno));
		return errno ? -errno : -EPERM;
	}
	return 0;
}

/* Who looks for faults has the process write of them at its end. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(GT_COVERAGE)
#define REPORTS
#endif

/*
 * What is here is used by the daemon, by its plugins or by the libraries under them, in what form
 * that library's version likes best: a glibc of some years ago or to come takes another call for
 * the same thing. Names that are not this machine's are left out by libseccomp.
 */
static const char calls[] =
	/* files: /proc, sysfs, tracefs, recordings. See open() below */
	"access close close_range dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate "
	"fstat fstat64 fstatat64 fstatfs fstatfs64 ftruncate ftruncate64 getcwd getdents "
	"getdents64 getxattr _llseek lseek lstat lstat64 newfstatat pipe pipe2 pread64 preadv "
	"preadv2 "
	"pwrite64 pwritev pwritev2 read readlink readlinkat readv splice stat stat64 statfs "
	"statfs64 statx umask vmsplice write writev "
	/* the mount, with a capability that is in force for the moment; fs/fuse/guard.c */
	"mount umount umount2 io_cancel io_destroy io_getevents io_pgetevents "
	"io_pgetevents_time64 io_setup io_submit "
	/* waiting */
	"epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd "
	"eventfd2 poll ppoll ppoll_time64 pselect6 pselect6_time64 select _newselect signalfd "
	"signalfd4 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime "
	"timerfd_settime64 "
	/* the log: see socket() below; messages of the kernel, on a socket that is open already */
	"connect getsockname getsockopt recv recvfrom recvmmsg recvmmsg_time64 recvmsg "
	"send sendmmsg sendmsg sendto setsockopt shutdown "
	/* memory: see mmap() below */
	"brk madvise membarrier memfd_create mincore mremap msync munmap "
	/* threads, and processes: replay's reads a trace.dat. See clone() below */
	"arch_prctl exit exit_group fork futex futex_time64 futex_wait futex_waitv futex_wake "
	"get_robust_list getcpu getpgid getpgrp getpid getppid getpriority gettid "
	"pidfd_open prctl restart_syscall rseq sched_get_priority_max "
	"sched_get_priority_min sched_getaffinity sched_getparam sched_getscheduler "
	"sched_yield set_robust_list set_tid_address setpgid vfork wait4 waitid "
	"waitpid "
	/* signals */
	"rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend "
	"rt_sigtimedwait rt_sigtimedwait_time64 sigaction sigaltstack "
	"sigprocmask sigreturn "
	/* time and chance */
	"clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep "
	"clock_nanosleep_time64 getrandom gettimeofday nanosleep time times "
	/* what it is and has; rights and limits are only given up */
	"capget capset getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups "
	"getgroups32 getresgid getresuid getrlimit getrusage getuid getuid32 "
	"setrlimit sysinfo ugetrlimit uname "
	/* filters may be added, for a child that needs less */
	"landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp "
#ifdef REPORTS
	/* at the end it looks for leaks from without, and another program writes the report */
	"execve mkdir open openat personality process_vm_readv ptrace "
#endif
	;

#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID |              \
	 CLONE_NEWUSER | CLONE_NEWUTS)

#ifdef __s390__
#define CLONE_FLAGS 1
#else
#define CLONE_FLAGS 0
#endif

/* Of open(2): whatever changes a file, or makes one */
#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY))

/*
 * Those allowed with some arguments only: where the bits of @mask in argument @arg are @value.
 * Memory is never made a program: plugins were loaded before. No file is opened for writing: those
 * that were open go on, and writer.c opens others.
 */
static const struct limited {
	const char *name;
	unsigned int arg;
	scmp_datum_t mask, value;
} limited[] = {
	{ "clone", CLONE_FLAGS, NEW_NAMESPACES, 0 },
	{ "mmap", 2, PROT_EXEC, 0 },
	{ "mmap2", 2, PROT_EXEC, 0 },
	{ "mprotect", 2, PROT_EXEC, 0 },
	{ "pkey_mprotect", 2, PROT_EXEC, 0 },
	{ "kill", 1, UINT32_MAX, 0 }, /* is it there? Who ends processes asks for more: replay */
	{ "prlimit64", 0, UINT32_MAX, 0 },
	{ "socket", 0, UINT32_MAX, AF_UNIX },
	{ "socketpair", 0, UINT32_MAX, AF_UNIX },
#ifndef REPORTS
	{ "open", 1, WRITES, 0 },
	{ "openat", 2, WRITES, 0 },
#endif
};

#ifndef REPORTS
/* A new file, which was nobody's, as mkstemp(3) makes it */
static const struct limited new_file[] = {
	{ "open", 1, O_CREAT | O_EXCL, O_CREAT | O_EXCL },
	{ "openat", 2, O_CREAT | O_EXCL, O_CREAT | O_EXCL },
};
#endif

static int allow(scmp_filter_ctx ctx, const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	return nr == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
}

static int allow_limited(scmp_filter_ctx ctx, const struct limited *l)
{
	int nr = seccomp_syscall_resolve_name(l->name);

	if (nr == __NR_SCMP_ERROR)
		return 0;
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 1,
				SCMP_CMP(l->arg, SCMP_CMP_MASKED_EQ, l->mask, l->value));
}

static int allow_all_limited(scmp_filter_ctx ctx, const struct limited *l, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++)
		ret = allow_limited(ctx, &l[i]);
	return ret;
}

/* … and takes its name away */
static int allow_mkstemp(scmp_filter_ctx ctx)
{
	int ret = allow(ctx, "unlink");

#ifndef REPORTS
	if (!ret)
		ret = allow_all_limited(ctx, new_file, sizeof(new_file) / sizeof(*new_file));
#endif
	return ret;
}

/* "perf_event_open bpf" */
static int allow_words(scmp_filter_ctx ctx, const char *words)
{
	char name[64];
	size_t n;
	int ret = 0;

	for (words += strspn(words, " "); *words && !ret; words += n + strspn(words + n, " ")) {
		n = strcspn(words, " ");
		if (n >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)n, words);
		ret = strcmp(name, "mkstemp") ? allow(ctx, name) : allow_mkstemp(ctx);
	}
	return ret;
}

/* F_SETOWN and F_SETSIG are not among them: with these the kernel sends a file's owner signals. */
static const int fcntls[] = { F_DUPFD,	   F_GETFD,	F_SETFD,	F_GETFL,      F_SETFL,
			      F_GETLK,	   F_SETLK,	F_SETLKW,	F_GETPIPE_SZ, F_SETPIPE_SZ,
			      F_ADD_SEALS, F_GET_SEALS, F_DUPFD_CLOEXEC };

/*
 * All but FIOSETOWN and SIOCSPGRP (0x8901, 0x8902), which make a socket's owner as F_SETOWN does:
 * those that differ from them first in one bit of 31 to 2, and the two that differ in the last
 * ones. The kernel takes 32 bits of it.
 */
static int allow_ioctl(scmp_filter_ctx ctx)
{
	struct limited l = { "ioctl", 1, UINT32_MAX, FIOSETOWN & ~3U };
	int ret = allow_limited(ctx, &l);

	l.value = FIOSETOWN | 3U;
	if (!ret)
		ret = allow_limited(ctx, &l);
	for (unsigned int bit = 2; bit < 32 && !ret; bit++) {
		l.mask = UINT32_MAX << bit; /* of 32 bits */
		l.value = (FIOSETOWN ^ 1U << bit) & l.mask;
		ret = allow_limited(ctx, &l);
	}
	return ret;
}

/* Root may signal everybody: its daemon only itself. After the last fork. */
static int allow_own(scmp_filter_ctx ctx)
{
	const struct limited tgkill = { "tgkill", 0, UINT32_MAX, (uint32_t)getpid() };
	int ret = allow_limited(ctx, &tgkill);

	if (!ret)
		ret = allow_ioctl(ctx);
	for (size_t i = 0; i < sizeof(fcntls) / sizeof(*fcntls) && !ret; i++) {
		struct limited l = { "fcntl", 1, UINT32_MAX, (uint32_t)fcntls[i] };

		ret = allow_limited(ctx, &l);
		l.name = "fcntl64";
		if (!ret)
			ret = allow_limited(ctx, &l);
	}
	return ret;
}

static int add_rules(scmp_filter_ctx ctx, const char *more)
{
	int ret = allow_words(ctx, calls);

	if (!ret)
		ret = allow_all_limited(ctx, limited, sizeof(limited) / sizeof(*limited));
	if (!ret)
		ret = allow_own(ctx);
	/* clone3() has its flags in memory, where no filter sees them; glibc then takes clone() */
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (!ret && !strstr(more, "openat2"))
		ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0);
	return ret ? ret : allow_words(ctx, more);
}

/* @only: these calls, and not those of the tables */
static int install(const char *more, bool only)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int ret;

	if (!ctx)
		return -ENOMEM;
	ret = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (!ret)
		ret = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	/* a tree in place of a list, for kernels that do not remember what is always allowed */
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!ret)
		ret = only ? allow_words(ctx, more) : add_rules(ctx, more);
	if (!ret)
		ret = seccomp_load(ctx);
	seccomp_release(ctx);
	return ret;
}

static int drop(const char *more, bool only, char *err, size_t len)
{
	int ret;

	if (geteuid())
		return 0;
	/* a kernel that has filters stumbles over the address */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) && errno == EINVAL)
		return -EOPNOTSUPP;
	ret = install(more, only);
	if (ret)
		snprintf(err, len, "system calls cannot be given up (seccomp): %s", strerror(-ret));
	return ret;
}

int gt_seccomp_drop(const char *more, char *err, size_t len)
{
	return drop(more, false, err, len);
}

int gt_seccomp_only(const char *calls_left, char *err, size_t len)
{
#ifdef REPORTS
	return drop(calls_left, false, err, len);
#else
	return drop(calls_left, true, err, len);
#endif
}
