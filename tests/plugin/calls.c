/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests/cases/privileges.sh: makes system calls that a plugin has no business with, and tells
 * in doctor what each came to. None needs a right or does harm: where no filter is, it says
 * something else than EPERM. What it may write is the folder that its option names.
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <gputrace/backend.h>

static char text[4096];

static void tell(const char *name, long ret)
{
	size_t n = strlen(text);

	snprintf(text + n, sizeof(text) - n, "call_%s %s\n", name,
		 ret < 0 ? strerrorname_np(errno) : "0");
	if (ret > 0 && (!strncmp(name, "socket", 6) || !strncmp(name, "open", 4)))
		close((int)ret);
}

struct options {
	char *place;
};

/* A file of root's that is there, and what is nowhere */
static void write_files(void)
{
	static const char file[] = "/etc/passwd", none[] = "/nowhere/at/all";
	uint64_t how[3] = { O_WRONLY };

	tell("open_write", open(file, O_WRONLY));
	tell("open_both", open(file, O_RDWR));
	tell("open_append", open(file, O_WRONLY | O_APPEND));
	tell("open_neither", open(file, O_ACCMODE));
	tell("open_truncate", open(none, O_RDONLY | O_TRUNC));
	tell("open_make", open(none, O_RDONLY | O_CREAT, 0600));
	tell("open_new", open(none, O_RDONLY | O_CREAT | O_EXCL, 0600));
	tell("open_unnamed", open(none, O_TMPFILE | O_RDWR, 0600));
	tell("openat2", syscall(SYS_openat2, AT_FDCWD, file, how, sizeof(how)));
#ifdef SYS_open
	tell("open_old", syscall(SYS_open, file, O_WRONLY));
	tell("creat", syscall(SYS_creat, none, 0600));
#endif
	tell("truncate", truncate(none, 0));
	tell("rename", rename(none, none));
	tell("renameat2", renameat2(AT_FDCWD, none, AT_FDCWD, none, 0));
	tell("link", link(none, none));
	tell("symlink", symlink(none, none));
	tell("unlink", unlink(none));
	tell("unlinkat", unlinkat(AT_FDCWD, none, 0));
	tell("rmdir", rmdir(none));
	tell("mkdir", mkdir(none, 0700));
	tell("mknod", mknod(none, S_IFREG | 0600, 0));
	tell("utimensat", utimensat(AT_FDCWD, none, NULL, 0));
	tell("setxattr", setxattr(none, "user.none", "", 0, 0));
	tell("open_read", open(file, O_RDONLY));
	tell("open_memory", memfd_create("calls", MFD_CLOEXEC));
}

static void emit_file(struct gt_plugin *p, const char *name, enum gt_file_op op, const char *in,
		      int flags)
{
	const struct options *o = p->options;
	char path[4096];
	long ret;

	snprintf(path, sizeof(path), "%s%s", *in == '!' ? "" : o->place, *in == '!' ? in + 1 : in);
	ret = p->host->file(p, op, path, flags);
	errno = ret < 0 ? (int)-ret : 0;
	if (ret > 0 && write((int)ret, "x", 1) != 1)
		ret = -1;
	tell(name, ret < 0 ? -1 : 0);
	if (ret > 0)
		close((int)ret);
}

static void write_place(struct gt_plugin *p)
{
	emit_file(p, "file_in", GT_FILE_OPEN, "/in", O_WRONLY | O_CREAT);
	emit_file(p, "file_mkdir", GT_FILE_MKDIR, "/dir", 0);
	emit_file(p, "file_deep", GT_FILE_OPEN, "/dir/in", O_WRONLY | O_CREAT);
	emit_file(p, "file_remove", GT_FILE_RMDIR, "/empty", 0);
	emit_file(p, "file_both", GT_FILE_OPEN, "/in", O_RDWR);
	emit_file(p, "file_up", GT_FILE_OPEN, "/../beside", O_WRONLY | O_CREAT);
	emit_file(p, "file_beside", GT_FILE_OPEN, "ment", O_WRONLY | O_CREAT);
	emit_file(p, "file_link", GT_FILE_OPEN, "/link", O_WRONLY);
	emit_file(p, "file_through", GT_FILE_OPEN, "/out/beside", O_WRONLY | O_CREAT);
	emit_file(p, "file_mkdir_out", GT_FILE_MKDIR, "/out/beside", 0);
	emit_file(p, "file_etc", GT_FILE_OPEN, "!/etc/passwd", O_WRONLY);
}

static void writes(struct gt_plugin *p, void (*add)(void *arg, const char *path), void *arg)
{
	const struct options *o = p->options;

	if (*o->place)
		add(arg, o->place);
}

static void *page(int prot)
{
	return mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void other_abi(void)
{
#ifdef __x86_64__
#ifndef NO_INT80
	long ret = 20; /* getpid(), as a program of 32 bits would; and then as one of x32 */

	__asm__ volatile("int $0x80" : "+a"(ret) : : "memory", "r8", "r9", "r10", "r11");
	errno = (int)-ret;
	tell("int80", ret < 0 ? -1 : 0);
#endif
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
	write_files();
	if (*((const struct options *)p->options)->place)
		write_place(p);
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

static const struct gt_option options[] = {
	{ .name = "place",
	  .type = GT_OPT_STR,
	  .off = offsetof(struct options, place),
	  .def = "",
	  .help = "a folder that is written to" },
	{ 0 },
};

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "calls",
	.version = "1",
	.help = "what the filter of system calls says to a plugin",
	.options = options,
	.options_size = sizeof(struct options),
	.probe = probe,
	.start = start,
	.drain = drain,
	.stop = stop,
	.doctor = doctor,
	.writes = writes,
	.syscalls = "no_such_call sched_rr_get_interval",
};
