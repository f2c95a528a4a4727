/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bounds of the child that reads a trace.dat, and what it may still ask of the kernel, whatever the
 * file makes the library do: to read what is open, to write to what is open, and memory. It opens
 * nothing that is there already; a file of its own, in the folder for such, is where it unpacks a
 * compressed one.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_MEMORY 0 /* a sanitizer maps terabytes */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIMIT_MEMORY 0
#endif
#endif
#ifndef LIMIT_MEMORY
#define LIMIT_MEMORY 1
#endif

#define NOT_FORK                                                                                   \
	(uint64_t)(CLONE_VM | CLONE_THREAD | CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET |       \
		   CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS)

static const int allowed[] = {
	/* the file, the pipe, the unpacked file */
	SCMP_SYS(close), SCMP_SYS(dup), SCMP_SYS(fstat), SCMP_SYS(ftruncate), SCMP_SYS(lseek),
	SCMP_SYS(_llseek), SCMP_SYS(newfstatat), SCMP_SYS(pread64), SCMP_SYS(pwrite64),
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(statx), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
	SCMP_SYS(write), SCMP_SYS(writev),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(mremap), SCMP_SYS(munmap),
	/* the first reading, in a child of its own; see clone() below */
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(fork), SCMP_SYS(futex), SCMP_SYS(getpid),
	SCMP_SYS(getppid), SCMP_SYS(gettid), SCMP_SYS(prctl), SCMP_SYS(restart_syscall),
	SCMP_SYS(rseq), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_yield), SCMP_SYS(set_robust_list),
	SCMP_SYS(sigaltstack), SCMP_SYS(wait4), SCMP_SYS(waitid), SCMP_SYS(waitpid),
	/* a name for the unpacked file */
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_gettime64), SCMP_SYS(getrandom),
	SCMP_SYS(gettimeofday), SCMP_SYS(sysinfo)
};

/* Not those by which a file's owner, whoever that is made, is sent a signal when data comes. */
static const int fcntls[] = { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL };

/*
 * The kernel lets root's processes signal each other without any capability. abort() is what this
 * one needs; its own child, whose pid is another, then ends by SIGSEGV.
 */
static int keep_to_self(scmp_filter_ctx ctx)
{
	int ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				   SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)getpid()));

	for (size_t i = 0; i < sizeof(fcntls) / sizeof(*fcntls) && !ret; i++)
		ret = seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)fcntls[i]));
	return ret;
}

static int add_limited(scmp_filter_ctx ctx)
{
	const uint64_t new_file = O_CREAT | O_EXCL;
	int ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				   SCMP_A2(SCMP_CMP_MASKED_EQ, new_file, new_file));

	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* a process, no thread, and no namespace */
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, NOT_FORK, 0));
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return ret ? ret : keep_to_self(ctx);
}

/*
 * No filter sees a path, and root without a capability still owns /etc: where the kernel can
 * (Landlock), files are made and removed in the folder for such only.
 */
static void keep_to_tmp(void)
{
	const uint64_t file = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
			      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
	const struct landlock_ruleset_attr all = { .handled_access_fs =
							   (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 };
	struct landlock_path_beneath_attr tmp = { .allowed_access = file };
	int set = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);

	if (set < 0)
		return;
	tmp.parent_fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tmp.parent_fd >= 0) {
		syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &tmp, 0);
		close(tmp.parent_fd);
	}
	syscall(SYS_landlock_restrict_self, set, 0);
	close(set);
}

int gt_child_confine(void)
{
	scmp_filter_ctx ctx;
	int ret = 0;

	keep_to_tmp();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) && errno == EINVAL)
		return 0;
	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!ctx)
		return -ENOMEM;
	ret = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed) && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	if (!ret)
		ret = add_limited(ctx);
	if (!ret)
		ret = seccomp_load(ctx);
	seccomp_release(ctx);
	return ret;
}

static void limit(int what, uint64_t soft, uint64_t hard)
{
	struct rlimit r = { soft, hard };

	setrlimit(what, &r);
}

static uint64_t mapped(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f) {
		if (fscanf(f, "%llu", &pages) != 1)
			pages = 0;
		fclose(f);
	}
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What it needs is open: whatever the file makes the library do, it does with no rights. */
static void give_up_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &head, none))
		_exit(1);
}

void gt_child_begin(pid_t parent)
{
	sigset_t none;

	setpgid(0, 0);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

void gt_child_limit(uint64_t file, uint64_t cpu, uint64_t memory)
{
	uint64_t all = mapped() + memory;

	give_up_rights();
	limit(RLIMIT_CORE, 0, 0);
	limit(RLIMIT_CPU, cpu, cpu + 2);
	limit(RLIMIT_FSIZE, file, file);
	if (LIMIT_MEMORY)
		limit(RLIMIT_AS, all, all);
}
