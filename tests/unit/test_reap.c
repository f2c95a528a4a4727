/* SPDX-License-Identifier: GPL-2.0 */
/* Children are ended, and waited for, but not for ever. */
#include <time.h>
#include <unistd.h>

#include "../../backend/lib/sandbox.h"
#include "../lib/held.h"
#include "../lib/tap.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool is_there(pid_t pid)
{
	return !kill(pid, 0);
}

static void test_stuck(void)
{
	pid_t pid = sleeper(), held = holder(pid);
	double start;
	int status = 0;

	waitpid(held, &status, WUNTRACED);
	if (!WIFSTOPPED(status)) {
		ok(true, "a child that does not end # skip nothing can be traced here");
		gt_reap(pid, false, NULL);
		return;
	}
	start = now();
	is(gt_reap(pid, false, NULL), -1, "a child that does not end");
	ok(now() - start < 20, "is waited for %.1f s", now() - start);
	is(gt_reap_left(), 1, "and left");
	kill(held, SIGKILL);
	waitpid(held, NULL, 0);
	for (int i = 0; i < 2000 && gt_reap_left(); i++)
		usleep(10000);
	is(gt_reap_left(), 0, "until it has ended");
	ok(!is_there(pid), "and nothing is left of it");
}

int main(void)
{
	pid_t pid = sleeper();
	int status;

	is(gt_reap(pid, false, NULL), -1, "a child that is killed");
	ok(!is_there(pid), "has gone");
	pid = fork();
	if (!pid)
		_exit(7);
	status = gt_reap(pid, true, NULL);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "one that ends by itself says how");
	is(gt_reap_left(), 0, "none is left");
	test_stuck();
	return done_testing();
}
