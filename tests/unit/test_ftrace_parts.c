/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of the ftrace backend that need neither root nor tracefs. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../../backend/ftrace/internal.h"
#include "../lib/tap.h"
#include "../lib/tracefs.h"

static void test_cap(void)
{
	is(ft_buffer_cap(64ll << 30, 4), 64ll << 20, "buffers: 256 MiB over 4 CPUs");
	is(ft_buffer_cap(6400ll << 20, 10), 10ll << 20, "buffers: a 64th of the memory");
	is(ft_buffer_cap(1 << 20, 64), FT_BUFFER_MIN, "buffers: not below the least");
}

/* Lost marks without a count: the CPU's stats file says how many there were. */
static void test_lost_count(void)
{
	char dir[] = "/tmp/gt-lost-XXXXXX", path[100];
	struct ft_cpu c = { .cpu = 3, .told = 200, .unknown = true };
	struct ft *ft = calloc(1, sizeof(*ft));

	if (!ft || !mkdtemp(dir))
		abort();
	snprintf(ft->dir, sizeof(ft->dir), "%s", dir);
	is(ft_cpu_lost(ft, &c), 1, "lost without a count, and no stats: at least one");
	snprintf(path, sizeof(path), "%s/per_cpu", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu3", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu3/stats", dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	tfs_write(dir, "entries: 1\noverrun: 500\ncommit overrun: 9\n", "per_cpu/cpu3/stats");
	c.unknown = true;
	is(ft_cpu_lost(ft, &c), 299, "lost without a count: what stats has more than was told");
	c.pending = 40;
	is(ft_cpu_lost(ft, &c), 1, "what a later page tells again is not told twice");
	is(ft_cpu_lost(ft, &c), 0, "nothing lost");
	unlink(path);
	for (char *slash; strcmp(path, dir) && (slash = strrchr(path, '/')); rmdir(path))
		*slash = '\0';
	rmdir(dir);
	free(ft);
}

/* This very thread, as the owner of what it does. */
static void test_tasks(void)
{
	struct ft_tasks *t = ft_tasks_new("/nonexistent");
	union gt_record r, process;

	if (!t)
		abort();
	ft_tasks_round(t, 1000000000);
	gt_record_init(&r, 5, GT_COMPLETE);
	r.ev.tid = (uint32_t)gettid();
	ok(!ft_tasks_fill(t, &r, &process), "a completion has no owner");
	ok(r.ev.pid == GT_NONE32 && r.ev.tid == GT_NONE32, "its thread was only interrupted");
	gt_record_init(&r, 6, GT_SUBMIT);
	r.ev.tid = (uint32_t)gettid();
	if (ft_tasks_foreign(t)) {
		ok(!ft_tasks_fill(t, &r, &process) && r.ev.pid == GT_NONE32,
		   "another PID namespace: unknown");
		ft_tasks_free(t);
		return;
	}
	ok(ft_tasks_fill(t, &r, &process), "a submission has, who is told at first sight");
	is(r.ev.pid, getpid(), "process");
	is(r.ev.uid, getuid(), "user");
	is(process.process.type, GT_PROCESS, "a PROCESS record");
	ok(process.process.pid == (uint32_t)getpid() && process.process.start != GT_NONE64 &&
		   process.process.ts == 6,
	   "with start, at the submission's time");
	ok(!strncmp(process.process.comm, program_invocation_short_name, 15), "and name");
	gt_record_init(&r, 7, GT_SUBMIT);
	r.ev.tid = (uint32_t)gettid();
	ft_tasks_round(t, 9000000000ull);
	ok(!ft_tasks_fill(t, &r, &process) && r.ev.pid == (uint32_t)getpid(),
	   "later it is the same, and not told again");
	gt_record_init(&r, 8, GT_SUBMIT);
	r.ev.tid = 0x7ffffff0;
	ok(!ft_tasks_fill(t, &r, &process) && r.ev.pid == GT_NONE32 && r.ev.tid == 0x7ffffff0,
	   "a thread that nobody knows: unknown");
	ft_tasks_free(t);
}

int main(void)
{
	test_cap();
	test_lost_count();
	test_tasks();
	return done_testing();
}
