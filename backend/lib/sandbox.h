/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A child process that parses files which somebody else wrote. It has no capabilities, few system
 * calls, limits, and nothing open but the files. Its parent checks everything that it sends.
 */
#ifndef GT_SANDBOX_H
#define GT_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define GT_SANDBOX_IO	 3 /* its descriptors: a socket to the parent, and the files */
#define GT_SANDBOX_FIRST 4
#define GT_SANDBOX_FILES 64
/* so many killed children that have not ended keep the daemon, or a plugin, from starting another */
#define GT_SANDBOXES_LEFT 16

/** struct gt_sandbox - the child: @pid, 0 for none; @fd: a non-blocking socket to it */
struct gt_sandbox {
	pid_t pid;
	int fd;
};

#define GT_SANDBOX_NONE                                                                            \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/**
 * struct gt_sandbox_conf - what the child gets
 * @fds: @n files to read; in the child they are GT_SANDBOX_FIRST and up
 * @cpu_s: seconds of CPU, 0: no limit
 * @memory: bytes above what is mapped now
 * @run: what the confined child runs, with @arg; the child ends when it returns
 */
struct gt_sandbox_conf {
	const int *fds;
	unsigned int n;
	uint64_t cpu_s, memory;
	void (*run)(void *arg);
	void *arg;
};

/**
 * gt_sandbox_start() - forks the child
 *
 * Return: 0; -EBUSY: too many killed children wait for their files; -errno. After an error
 * gt_sandbox_end() is not needed.
 */
int gt_sandbox_start(struct gt_sandbox *s, const struct gt_sandbox_conf *c);
/** gt_sandbox_end() - kills the child; one that waits for a disk or for NFS is left to gt_reap_left() */
void gt_sandbox_end(struct gt_sandbox *s);
/** gt_sandbox_write() - in the child: sends all of @data; ends the child if nobody listens */
void gt_sandbox_write(const void *data, size_t len);
/** gt_sandbox_read() - in the child: receives all of @data; false at the end */
bool gt_sandbox_read(void *data, size_t len);

/* The steps, for a child that is started in another way */

/**
 * gt_child_begin() - first step of the child: its own process group, default signals, and the end
 * of process @parent ends it
 */
void gt_child_begin(pid_t parent);
/**
 * gt_child_arrange() - moves the child's descriptors and closes all others
 * @io: becomes GT_SANDBOX_IO
 * @fds: @n files, which become GT_SANDBOX_FIRST and up; gets the new numbers
 *
 * 0 to 2 become /dev/null. The child ends if this fails.
 */
void gt_child_arrange(int io, int *fds, unsigned int n);
/**
 * gt_child_limit() - drops all capabilities and sets limits, at which the child ends
 * @file: bytes of a file that it writes
 * @cpu: seconds, 0: no limit
 * @memory: bytes above what is mapped now
 */
void gt_child_limit(uint64_t file, uint64_t cpu, uint64_t memory);
/**
 * gt_child_confine() - from now on the child may make only the system calls that reading open files
 * takes
 *
 * Return: 0, also where the kernel has no seccomp filters; -errno.
 */
int gt_child_confine(void);
/** gt_child_confine_dat() - likewise, and those of libtracecmd, which forks and makes a file */
int gt_child_confine_dat(void);

/**
 * gt_reap() - kills a child and its process group, and waits a short time for its end
 * @await: give it time to end by itself first
 * @used: gets the resources it used, 0 if it has not ended; may be NULL
 *
 * A child that waits for a disk or for NFS does not end before that answers, killed or not. A later
 * call reaps it.
 *
 * Return: the status of waitpid() if it ended by itself, else -1.
 */
int gt_reap(pid_t pid, bool await, struct rusage *used);

/** gt_child_ended() - has it ended? Its status can still be waited for */
bool gt_child_ended(pid_t pid);
/** gt_child_cpu_ns() - CPU time that it took so far; 0: unknown, or @pid is 0 */
uint64_t gt_child_cpu_ns(pid_t pid);
/** gt_child_kill() - kills it and its process group, and does not wait */
void gt_child_kill(pid_t pid);

/** gt_reap_leave() - has a later call reap @pid, which was killed and has not ended */
void gt_reap_leave(pid_t pid);

/** gt_reap_left() - number of killed children that have not ended yet */
unsigned int gt_reap_left(void);

#endif
