/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests/cases/privileges.sh: makes system calls that a plugin has no business with, and tells
 * in doctor what each came to. None needs a right or does harm: where no filter is, it says
 * something else than EPERM.
 */
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <gputrace/backend.h>

static char text[2048];

static void tell(const char *name, long ret)
{
	size_t n = strlen(text);

	snprintf(text + n, sizeof(text) - n, "call_%s %s\n", name,
		 ret < 0 ? strerrorname_np(errno) : "0");
	if (ret > 0 && !strncmp(name, "socket", 6))
		close((int)ret);
}

static void *page(int prot)
{
	return mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void other_abi(void)
{
#ifdef __x86_64__
	long ret = 20; /* getpid(), as a program of 32 bits would; and then as one of x32 */

	__asm__ volatile("int $0x80" : "+a"(ret) : : "memory", "r8", "r9", "r10", "r11");
	errno = (int)-ret;
	tell("int80", ret < 0 ? -1 : 0);
	tell("x32", syscall(0x40000000 | SYS_getpid));
#endif
}

static void forbidden(void)
{
	void *rw = page(PROT_READ | PROT_WRITE);
	char *none[] = { NULL };
	pid_t own = getpid();

	tell("execve", execve("/nowhere/at/all", none, none));
	tell("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	tell("socket_inet", socket(AF_INET, SOCK_DGRAM, 0));
	tell("socket_netlink", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	tell("unshare", unshare(0));
	tell("setns", setns(-1, 0));
	tell("clone_newuser", syscall(SYS_clone, CLONE_NEWUSER | CLONE_THREAD, 0, 0, 0, 0));
	tell("setuid", setuid(0));
	tell("chmod", syscall(SYS_fchmodat, AT_FDCWD, "/nowhere/at/all", 0));
	tell("chown", syscall(SYS_fchownat, AT_FDCWD, "/nowhere/at/all", 0, 0, 0));
	tell("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 0));
	tell("process_vm_readv", syscall(SYS_process_vm_readv, getpid(), NULL, 0L, NULL, 0L, 0L));
	tell("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0L));
	tell("prlimit_other", prlimit(getppid(), RLIMIT_CORE, NULL, &(struct rlimit){ 0 }));
	tell("mmap_exec", page(PROT_READ | PROT_EXEC) == MAP_FAILED ? -1 : 0);
	tell("mprotect_exec", mprotect(rw, 4096, PROT_READ | PROT_EXEC));
	tell("tgkill_other", syscall(SYS_tgkill, getppid(), getppid(), 0));
	tell("tkill", syscall(SYS_tkill, gettid(), 0));
	tell("kill", kill(getpid(), SIGURG));
	tell("sigqueue", sigqueue(getpid(), SIGURG, (union sigval){ 0 }));
	tell("setown", fcntl(STDERR_FILENO, F_SETOWN, getpid()));
	tell("fiosetown", ioctl(STDERR_FILENO, FIOSETOWN, &own));
	tell("siocspgrp", ioctl(STDERR_FILENO, SIOCSPGRP, &own));
	other_abi();
	munmap(rw, 4096);
}

static int probe(struct gt_plugin *p)
{
	return 0;
}

static int start(struct gt_plugin *p)
{
	struct timespec ts;

	text[0] = '\0';
	forbidden();
	tell("clone3", syscall(SYS_clone3, NULL, 0L));
	tell("tgkill_own", syscall(SYS_tgkill, getpid(), gettid(), 0));
	tell("kill_0", kill(getppid(), 0));
	tell("asked_for", sched_rr_get_interval(0, &ts));
	return 0;
}

static int drain(struct gt_plugin *p)
{
	return 0;
}

static void stop(struct gt_plugin *p)
{
}

static void doctor(struct gt_plugin *p, char *buf, size_t len)
{
	snprintf(buf, len, "%s", text);
}

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "calls",
	.version = "1",
	.help = "what the filter of system calls says to a plugin",
	.probe = probe,
	.start = start,
	.drain = drain,
	.stop = stop,
	.doctor = doctor,
	.syscalls = "no_such_call sched_rr_get_interval",
};
