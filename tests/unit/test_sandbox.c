/* SPDX-License-Identifier: GPL-2.0 */
/* backend/lib/sandbox.c: what a process that reads hostile files may do, and that it may hang. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "../../backend/lib/sandbox.c"
#include "../lib/held.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

/* What of this it could do, a bit each */
static void tries(void *arg)
{
	unsigned int done = 0;
	char text[8] = "";

	done |= open("/etc/passwd", O_RDONLY) >= 0;
	done |= (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) << 1;
	done |= (fork() > 0) << 2;
	done |= !kill(getppid(), 0) << 3;
	done |= (fcntl(GT_SANDBOX_FIRST + 1, F_GETFD) >= 0) << 4;
	if (read(GT_SANDBOX_FIRST, text, sizeof(text) - 1) < 0)
		done |= 1 << 5;
	gt_sandbox_write(&done, sizeof(done));
	gt_sandbox_write(text, sizeof(text));
	gt_sandbox_write(arg, 5);
}

static void twice(void *arg)
{
	char byte;

	while (gt_sandbox_read(&byte, 1)) {
		byte = (char)(2 * byte);
		gt_sandbox_write(&byte, 1);
	}
}

static void spins(void *arg)
{
	for (;;)
		;
}

/* What it says next; -1: nothing for two minutes, or an error, 0: it has ended */
static ssize_t hear(const struct gt_sandbox *s, void *to, size_t len)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	return poll(&p, 1, 120000) == 1 ? read(s->fd, to, len) : -1;
}

/* All of @len bytes; false: it ended before */
static bool hears(const struct gt_sandbox *s, void *to, size_t len)
{
	for (char *at = to; len;) {
		ssize_t n = hear(s, at, len);

		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* gt_reap() waits for a short time, which may be too short on a busy machine: until none is left */
static void wait_for_all(void)
{
	for (int i = 0; i < 60000 && gt_reap_left(); i++)
		usleep(1000);
	is(gt_reap_left(), 0, "none is left");
}

static void test_reap(void)
{
	pid_t pid = sleeper();
	siginfo_t si;
	int status;

	is(gt_reap(pid, false, NULL), -1, "a child that is killed");
	wait_for_all();
	ok(kill(pid, 0), "… nothing of it");
	pid = fork();
	if (!pid)
		_exit(7);
	waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT);
	status = gt_reap(pid, true, NULL);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "one that ends by itself says how");
}

static void test_tries(void)
{
	char name[TMP_PATH_MAX], text[8], arg[6] = "given";
	int file = tmp_file(name, "gt-sandbox"), other = dup(file);
	struct gt_sandbox_conf c = {
		.fds = &file, .n = 1, .memory = 1 << 20, .run = tries, .arg = arg
	};
	struct gt_sandbox s;
	unsigned int done = 99;

	unlink(name);
	if (pwrite(file, "in it", 5, 0) != 5)
		ok(false, "a file");
	is(gt_sandbox_start(&s, &c), 0, "it starts");
	ok(hears(&s, &done, sizeof(done)) && hears(&s, text, sizeof(text)), "it says something");
	is(done, 0, "it opens nothing, starts nothing, asks for nobody, and has nothing open");
	is_str(text, "in it", "… but what it is to read");
	memset(arg, 0, sizeof(arg));
	ok(hears(&s, arg, 5), "it has its argument");
	is_str(arg, "given", "… which is that");
	is(hear(&s, text, 1), 0, "it ends");
	gt_sandbox_end(&s);
	ok(s.fd < 0 && !s.pid, "it is no more");
	close(file);
	close(other);
}

static void test_talk(void)
{
	struct gt_sandbox_conf c = { .memory = 1 << 20, .run = twice };
	struct gt_sandbox s;
	char byte = 21;

	is(gt_sandbox_start(&s, &c), 0, "one that is asked");
	ok(write(s.fd, &byte, 1) == 1 && hears(&s, &byte, 1), "… answers");
	is(byte, 42, "… that");
	gt_sandbox_end(&s);
}

static void test_bounds(void)
{
	struct gt_sandbox_conf c = { .cpu_s = 1, .memory = 1 << 20, .run = spins };
	struct gt_sandbox s;
	char byte;

	is(gt_sandbox_start(&s, &c), 0, "one that does not end by itself");
	is(hear(&s, &byte, 1), 0, "… is ended by its bounds");
	gt_sandbox_end(&s);
	c.n = GT_SANDBOX_FILES + 1;
	is(gt_sandbox_start(&s, &c), -E2BIG, "too many files");
}

static void test_stuck(void)
{
	pid_t pid = sleeper(), held = holder(pid);
	struct gt_sandbox s = { .fd = -1, .pid = pid };
	int status = 0;

	wait_for_all();
	waitpid(held, &status, WUNTRACED);
	if (!WIFSTOPPED(status)) {
		ok(true, "one that does not end # skip nothing can be traced here");
		gt_sandbox_end(&s);
		return;
	}
	gt_sandbox_end(&s);
	ok(gt_reap_left() == 1 && !s.pid, "one that does not end is not waited for");
	kill(held, SIGKILL);
	waitpid(held, NULL, 0);
	wait_for_all();
	ok(kill(pid, 0), "it is no more when it has ended");
}

int main(void)
{
	test_reap();
	test_tries();
	test_talk();
	test_bounds();
	test_stuck();
	return done_testing();
}
