/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A child that reads a hostile file: how it ends, its limits, and the system calls that it may make
 * whatever the file makes a library do: it reads and writes what is open, and allocates memory. A
 * child that reads a trace.dat may also fork, and make a file of its own in /tmp to unpack a
 * compressed one; it opens nothing that exists already.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox.h"

/* The end of a child -------------------------------------------------------------------------- */

#define POLL_MS 2
#define POLLS	100
#define LEFT	64 /* children; a zombie beyond these stays until the daemon ends */

static struct {
	pthread_mutex_t lock;
	pid_t pid[LEFT];
	unsigned int n;
} left = { .lock = PTHREAD_MUTEX_INITIALIZER };

unsigned int gt_reap_left(void)
{
	unsigned int n = 0;

	pthread_mutex_lock(&left.lock);
	for (unsigned int i = 0; i < left.n; i++)
		if (!waitpid(left.pid[i], NULL, WNOHANG))
			left.pid[n++] = left.pid[i];
	left.n = n;
	pthread_mutex_unlock(&left.lock);
	return n;
}

void gt_reap_leave(pid_t pid)
{
	gt_reap_left();
	pthread_mutex_lock(&left.lock);
	if (left.n < LEFT)
		left.pid[left.n++] = pid;
	pthread_mutex_unlock(&left.lock);
}

bool gt_child_ended(pid_t pid)
{
	siginfo_t si = { 0 };

	return waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) || si.si_pid;
}

uint64_t gt_child_cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void gt_child_kill(pid_t pid)
{
	kill(-pid, SIGKILL); /* once it has a group of its own */
	kill(pid, SIGKILL);
}

static bool wait_for_end(pid_t pid)
{
	for (int i = 0; i < POLLS; i++) {
		if (gt_child_ended(pid))
			return true;
		poll(NULL, 0, POLL_MS);
	}
	return false;
}

int gt_reap(pid_t pid, bool await, struct rusage *used)
{
	bool itself = await && wait_for_end(pid);
	int status = -1;

	if (used)
		*used = (struct rusage){ 0 };
	gt_child_kill(pid);
	if (wait_for_end(pid))
		wait4(pid, &status, WNOHANG, used);
	else
		gt_reap_leave(pid);
	return itself ? status : -1;
}

/* What a child may do ------------------------------------------------------------------------- */

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
	/* the file, the pipe */
	SCMP_SYS(close), SCMP_SYS(dup), SCMP_SYS(fstat), SCMP_SYS(lseek), SCMP_SYS(_llseek),
	SCMP_SYS(newfstatat), SCMP_SYS(pread64), SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(statx),
	SCMP_SYS(write), SCMP_SYS(writev),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(mremap), SCMP_SYS(munmap),
	/* the C library's own, abort() and exit() */
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_gettime64), SCMP_SYS(exit), SCMP_SYS(exit_group),
	SCMP_SYS(futex), SCMP_SYS(getpid), SCMP_SYS(getrandom), SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday), SCMP_SYS(restart_syscall), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield), SCMP_SYS(set_robust_list), SCMP_SYS(sigaltstack), SCMP_SYS(sysinfo)
};

static const int allowed_dat[] = {
	/* the unpacked file */
	SCMP_SYS(ftruncate), SCMP_SYS(pwrite64), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
	/* a child of its own reads the file first; see clone() below */
	SCMP_SYS(fork), SCMP_SYS(getppid), SCMP_SYS(prctl), SCMP_SYS(wait4), SCMP_SYS(waitid),
	SCMP_SYS(waitpid)
};

/* Without F_SETOWN and F_SETSIG, which would send signals to any process. */
static const int fcntls[] = { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL };

/*
 * Root's processes may signal each other without any capability: only this process may be signalled,
 * which abort() needs. Its own child has another pid, and ends by SIGSEGV instead.
 */
static int add_own_signals(scmp_filter_ctx ctx)
{
	int ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				   SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)getpid()));

	for (size_t i = 0; i < sizeof(fcntls) / sizeof(*fcntls) && !ret; i++)
		ret = seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)fcntls[i]));
	return ret;
}

static int add_all(scmp_filter_ctx ctx, const int *calls, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	return ret;
}

static int add_limited(scmp_filter_ctx ctx)
{
	int ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				   SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));

	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return ret ? ret : add_own_signals(ctx);
}

static int add_dat(scmp_filter_ctx ctx)
{
	const uint64_t new_file = O_CREAT | O_EXCL;
	int ret = add_all(ctx, allowed_dat, sizeof(allowed_dat) / sizeof(*allowed_dat));

	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, new_file, new_file));
	/* a process, but no thread and no namespace */
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, NOT_FORK, 0));
	return ret;
}

/*
 * A system call filter cannot see paths, and root without capabilities still owns /etc. So, where
 * the kernel has Landlock, files can be made and removed in /tmp only, or nowhere unless @allow.
 */
static void restrict_to_tmp(bool allow)
{
	const uint64_t file = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
			      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
	const struct landlock_ruleset_attr all = { .handled_access_fs =
							   (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 };
	struct landlock_path_beneath_attr tmp = { .allowed_access = file };
	int set = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);

	if (set < 0)
		return;
	tmp.parent_fd = allow ? open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (tmp.parent_fd >= 0) {
		syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &tmp, 0);
		close(tmp.parent_fd);
	}
	syscall(SYS_landlock_restrict_self, set, 0);
	close(set);
}

static int confine(bool dat)
{
	scmp_filter_ctx ctx;
	int ret = 0;

	restrict_to_tmp(dat);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) && errno == EINVAL)
		return 0;
	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!ctx)
		return -ENOMEM;
	ret = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (!ret)
		ret = add_all(ctx, allowed, sizeof(allowed) / sizeof(*allowed));
	if (!ret)
		ret = add_limited(ctx);
	if (!ret && dat)
		ret = add_dat(ctx);
	if (!ret)
		ret = seccomp_load(ctx);
	seccomp_release(ctx);
	return ret;
}

int gt_child_confine(void)
{
	return confine(false);
}

int gt_child_confine_dat(void)
{
	return confine(true);
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

/* Everything it needs is open already. */
static void drop_caps(void)
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

	drop_caps();
	limit(RLIMIT_CORE, 0, 0);
	if (cpu)
		limit(RLIMIT_CPU, cpu, cpu + 2);
	limit(RLIMIT_FSIZE, file, file);
	if (LIMIT_MEMORY)
		limit(RLIMIT_AS, all, all);
}

void gt_child_arrange(int io, int *fds, unsigned int n)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), above = GT_SANDBOX_FIRST + (int)n;

	for (unsigned int i = 0; i < n; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, above);
	io = fcntl(io, F_DUPFD_CLOEXEC, above);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup2(io, GT_SANDBOX_IO) < 0)
		_exit(1);
	for (unsigned int i = 0; i < n; i++) {
		if (dup2(fds[i], GT_SANDBOX_FIRST + (int)i) < 0)
			_exit(1);
		fds[i] = GT_SANDBOX_FIRST + (int)i;
	}
	if (close_range((unsigned int)above, ~0u, 0) < 0)
		_exit(1);
}

static void __attribute__((noreturn)) child(const struct gt_sandbox_conf *c, int sock, pid_t parent)
{
	int fds[GT_SANDBOX_FILES];

	for (unsigned int i = 0; i < c->n; i++)
		fds[i] = c->fds[i];
	gt_child_begin(parent);
	gt_child_arrange(sock, fds, c->n);
	gt_child_limit(0, c->cpu_s, c->memory);
	if (gt_child_confine())
		_exit(1);
	c->run(c->arg);
	_exit(0);
}

int gt_sandbox_start(struct gt_sandbox *s, const struct gt_sandbox_conf *c)
{
	pid_t self = getpid();
	int pair[2], err;

	*s = (struct gt_sandbox)GT_SANDBOX_NONE;
	if (gt_reap_left() >= GT_SANDBOXES_LEFT)
		return -EBUSY;
	if (c->n > GT_SANDBOX_FILES)
		return -E2BIG;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	s->pid = fork();
	if (!s->pid)
		child(c, pair[1], self);
	err = s->pid < 0 ? -errno : 0;
	close(pair[1]);
	s->fd = pair[0];
	if (!err && fcntl(s->fd, F_SETFL, O_NONBLOCK) < 0)
		err = -errno;
	if (err)
		gt_sandbox_end(s);
	else
		setpgid(s->pid, s->pid); /* as the child does: whoever is first */
	return err;
}

void gt_sandbox_end(struct gt_sandbox *s)
{
	pid_t pid = s->pid;

	if (s->fd >= 0)
		close(s->fd);
	*s = (struct gt_sandbox)GT_SANDBOX_NONE;
	if (pid > 0)
		gt_reap(pid, false, NULL);
}

void gt_sandbox_write(const void *data, size_t len)
{
	const char *p = data;

	for (ssize_t n; len; p += n, len -= (size_t)n) {
		n = write(GT_SANDBOX_IO, p, len);
		if (n <= 0)
			_exit(1);
	}
}

bool gt_sandbox_read(void *data, size_t len)
{
	char *p = data;

	for (ssize_t n; len; p += n, len -= (size_t)n) {
		n = read(GT_SANDBOX_IO, p, len);
		if (n <= 0)
			return false;
	}
	return true;
}
