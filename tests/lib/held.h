/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that do not end when they are killed, as those that wait for a disk: sleeper() makes
 * one, holder() a process that holds it, stopped as soon as it does, until it is killed itself. */
#ifndef GT_TESTS_HELD_H
#define GT_TESTS_HELD_H

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static inline pid_t sleeper(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

/* A process whose end nobody else sees while it lives, as of one that waits for a disk */
static inline pid_t holder(pid_t pid)
{
	pid_t own = fork();
	int ready[2];
	char c;

	if (own)
		return own;
	if (pipe(ready))
		_exit(1);
	c = ptrace(PTRACE_SEIZE, pid, NULL, NULL) ? 'x' : 'y';
	if (c == 'y')
		raise(SIGSTOP);
	_exit(1);
}

#endif
