/* SPDX-License-Identifier: GPL-2.0 */
/* PID namespaces: which a task is in, and what processes are called there. */
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../backend/backend.h"
#include "../../fs/access/access.h"
#include "../../fs/processes.h"
#include "../../fs/stream/stream.h"
#include "../lib/fds.h"
#include "../lib/tap.h"

#define MS 1000000ull

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static const char *status_of(pid_t pid)
{
	static char buf[8192];
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static int first_gate, first_word; /* which keep it waiting */
static uid_t made_by;

/*
 * A process that waits, the first of a namespace of its own; and in *@inner, if that is wanted, the
 * first of one below. Both are named by the pids they have here.
 */
static pid_t first_of_namespace(pid_t *inner)
{
	int reported[2], gate[2];
	pid_t pid, seen[2];

	if (pipe(reported) || pipe(gate))
		return -1;
	pid = fork();
	if (!pid) {
		if (made_by && (setgid(made_by) || setuid(made_by)))
			_exit(1);
		/* in a chroot there are no user namespaces */
		if (unshare(CLONE_NEWUSER | CLONE_NEWPID) && unshare(CLONE_NEWPID))
			_exit(1);
		pid = fork();
		if (!pid) {
			if (inner && unshare(CLONE_NEWPID))
				_exit(1);
			seen[1] = inner ? fork() : 0;
			if (seen[1] || !inner)
				write(reported[1], "x", 1);
			close(gate[1]);
			read(gate[0], seen, 1);
			_exit(0);
		}
		write(reported[1], &pid, sizeof(pid));
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	close(gate[0]); /* gate[1] stays open: they wait until this test ends */
	close(reported[1]);
	first_gate = gate[1];
	first_word = reported[0];
	return pid;
}

/* Children of @pid, the first; waits for it. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	long child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	for (int i = 0; i < 60000; i++) {
		FILE *f = fopen(path, "r");
		int got = f ? fscanf(f, "%ld", &child) : 0;

		if (f)
			fclose(f);
		if (got == 1)
			return (pid_t)child;
		usleep(1000);
	}
	return -1;
}

static pid_t outer, a, b;
static bool own_userns; /* they have one */

static uint64_t userns_of(const char *format, pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), format, pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

static bool start(void)
{
	pid_t inner;

	outer = first_of_namespace(&inner);
	a = outer > 0 ? child_of(outer) : -1;
	b = a > 0 ? child_of(a) : -1;
	own_userns =
		b > 0 && userns_of("/proc/%d/ns/user", a) != userns_of("/proc/self/ns/user", 0);
	return b > 0;
}

static void test_spaces(void)
{
	uint64_t ns_a = gt_pidns_of((uint32_t)a, status_of(a));
	uint64_t ns_b = gt_pidns_of((uint32_t)b, status_of(b)), t0 = now();

	ok(gt_pidns_of((uint32_t)getpid(), status_of(getpid())) == GT_PIDNS_OWN,
	   "this one is in its own");
	ok(ns_a != GT_PIDNS_OWN && ns_a != GT_PIDNS_NONE, "the first of a namespace is in another");
	ok(ns_b != ns_a && ns_b != GT_PIDNS_NONE, "one below in yet another");
	ok(gt_pidns_of((uint32_t)a, status_of(a)) == ns_a, "which keep their ids");
	ok(gt_pidns_owner_is(ns_a, userns_of("/proc/%d/ns/user", a)), "its user namespace owns it");
	ok(gt_pidns_owner_is(ns_a, userns_of("/proc/self/ns/user", 0)) == !own_userns,
	   "ours does not, if that is another");

	is(gt_pidns_pid(ns_a, (uint32_t)a, t0), GT_NONE32, "who was not met has no pid there");
	gt_pidns_add((uint32_t)a, t0, 0, status_of(a));
	gt_pidns_add((uint32_t)b, t0, 0, status_of(b));
	is(gt_pidns_pid(ns_a, (uint32_t)a, t0), 1, "its first");
	is(gt_pidns_pid(ns_a, (uint32_t)b, t0), 2, "the one below is seen from above");
	is(gt_pidns_pid(ns_b, (uint32_t)b, t0), 1, "and is the first in its own");
	is(gt_pidns_pid(ns_b, (uint32_t)a, t0), GT_NONE32, "but not the other way round");
	is(gt_pidns_pid(ns_a, (uint32_t)getpid(), t0), GT_NONE32, "this process has none there");
	is(gt_pidns_pid(GT_PIDNS_NONE, (uint32_t)a, t0), GT_NONE32,
	   "nor has anybody who knows where");
	is(gt_pidns_pid(GT_PIDNS_OWN, (uint32_t)a, t0), (uint32_t)a, "here it has its own");
	is(gt_pidns_find(ns_a, 2), (uint32_t)b, "found by the pid there");
	is(gt_pidns_find(ns_b, 2), GT_NONE32, "or not");
	is(gt_pidns_pid(ns_a, (uint32_t)a, t0 - 1), GT_NONE32,
	   "before it was met it was another's");
	is(gt_pidns_stats().processes, 2, "two processes");
	is(gt_pidns_stats().namespaces, 2, "of two namespaces");
}

static void test_view(void)
{
	struct gt_view v = { .uid = 1000, .ns = gt_pidns_of((uint32_t)a, status_of(a)) };
	union gt_record r;
	uint64_t t = now();

	v.visibility = GT_VIS_ALL;
	ok(gt_view_sees(&v, (uint32_t)b, 5, t), "visibility all: others of the namespace");
	ok(!gt_view_sees(&v, (uint32_t)getpid(), 1000, t), "but nobody outside, whatever the uid");
	ok(gt_view_blanks(&v), "they are blanked");
	v.visibility = GT_VIS_REDACTED;
	ok(!gt_view_sees(&v, (uint32_t)b, 5, t), "redacted: not others of the namespace");
	ok(gt_view_sees(&v, (uint32_t)b, 1000, t), "the own ones");
	v.there = true;
	ok(gt_view_sees(&v, (uint32_t)b, 5, t), "its root sees all of it");
	ok(!gt_view_sees(&v, (uint32_t)getpid(), 5, t), "and no more");

	gt_record_init(&r, t, GT_SUBMIT);
	r.ev.pid = r.ev.tid = (uint32_t)b;
	r.ev.uid = 5;
	ok(gt_redact(&r, &v), "an event of it");
	gt_translate(&r, &v);
	is(r.ev.pid, 2, "tells the pid that it has there");
	is(r.ev.tid, 2, "and the thread");
	r.ev.pid = (uint32_t)b;
	r.ev.tid = (uint32_t)b + 1;
	gt_redact(&r, &v);
	is(r.ev.tid, GT_NONE32, "what other threads are called there is not known");
	v.ns = GT_PIDNS_NONE;
	ok(!gt_view_sees(&v, (uint32_t)b, 1000, t) && !gt_view_blanks(&v),
	   "who is nowhere sees nobody, not even blanked");
}

static void test_used_again(void)
{
	uint64_t ns = gt_pidns_of((uint32_t)a, status_of(a)), t1 = now() + MS;

	gt_pidns_add((uint32_t)b, t1, 0, NULL);
	is(gt_pidns_pid(ns, (uint32_t)b, t1 - 1), 2, "until another has its pid");
	is(gt_pidns_pid(ns, (uint32_t)b, t1), GT_NONE32, "from then on it is not in the namespace");
	gt_pidns_add((uint32_t)b, t1 + MS, 0, "Name:\tx\nNStgid:\t77\n");
	is(gt_pidns_pid(ns, (uint32_t)b, t1 + 2 * MS), GT_NONE32, "nor is one with one pid");
	gt_pidns_add((uint32_t)b, t1 + 3 * MS, 0, "NStgid:\t1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\n");
	is(gt_pidns_pid(ns, (uint32_t)b, t1 + 4 * MS), GT_NONE32,
	   "nor one too deep to be reported apart");
	gt_pidns_add((uint32_t)b, t1 + 5 * MS, 0, "NStgid:\n");
	gt_pidns_add((uint32_t)b, t1 + 5 * MS, 0, "NStgid:\tx y\n");
	gt_pidns_add((uint32_t)b, t1 + 5 * MS, 0, "");
	is(gt_pidns_find(ns, 1), (uint32_t)a, "what is no status changes nothing");
	for (uint32_t i = 0; i < 40000; i++)
		gt_pidns_add((uint32_t)a, t1 + i, 0, status_of(a));
	ok(gt_pidns_stats().processes <= 16384, "the table is bounded");
}

static void test_caller(void)
{
	struct gt_caller c;

	const gid_t gids[] = { 4242, getgid(), 4243 };

	gt_caller_groups(gids, 3);
	ok(gt_caller_find((uint32_t)getpid(), getuid(), getgid(), &c) && c.ns == GT_PIDNS_OWN &&
		   c.own_userns && c.tgid == (uint32_t)getpid() && c.own_pid == c.tgid && !c.there,
	   "this process");
	is(c.groups, 2, "which of the groups are its own");
	ok(gt_caller_find((uint32_t)getpid(), getuid(), getgid(), &c) && c.own_pid == c.tgid,
	   "once more, as it is remembered");
	ok(gt_caller_find((uint32_t)a, getuid(), getgid(), &c) && c.tgid == (uint32_t)a &&
		   c.own_pid == 1 && c.own_userns == !own_userns &&
		   c.ns == gt_pidns_of((uint32_t)a, status_of(a)),
	   "the first of a namespace");
	ok(!gt_caller_find(0, 0, 0, &c), "one from outside");
	kill(b, SIGKILL);
	kill(a, SIGKILL);
	waitpid(outer, NULL, 0);
	ok(!gt_caller_find((uint32_t)a, getuid(), getgid(), &c),
	   "one that has ended is not remembered");
}

/* Both have ended: nothing keeps their namespaces, and what was known stays. */
static void test_ended(uint64_t ns_a)
{
	is(gt_pidns_sweep(now() + 3600000 * MS) != UINT64_MAX, gt_pidns_stats().namespaces != 0,
	   "it wants to be asked again while there are some");
	is(gt_pidns_stats().namespaces, 0, "namespaces that have ended are let go of");
	is(gt_pidns_find(ns_a, 1), (uint32_t)a, "who was who there is still known");
}

/* Looking at all processes, as before Linux 6.11 */
static void test_scan(void)
{
	pid_t first = first_of_namespace(NULL), p = first > 0 ? child_of(first) : -1;
	struct gt_ended_space s[2] = { { .ino = userns_of("/proc/%d/ns/pid", p) }, { .ino = 1 } };

	if (!gt_pidns_scan(s, 2)) {
		ok(true, "looking at all processes # skip it takes root");
	} else {
		ok(!s[0].ended && s[1].ended, "a namespace with a process has not ended");
		kill(p, SIGKILL);
		waitpid(first, NULL, 0);
		ok(gt_pidns_scan(s, 1) && s[0].ended, "without one it has");
		return;
	}
	kill(p, SIGKILL);
	waitpid(first, NULL, 0);
}

#define SHARE 64 /* of one user */

static bool users_differ(void)
{
	return own_userns && !getuid();
}

/* However many come and go, and even if nobody sweeps */
static void test_bound(void)
{
	unsigned int most = 0, before = count_fds(), bound = users_differ() ? SHARE : 300;

	made_by = users_differ() ? 65534 : 0;
	for (int i = 0; i < 300; i++) {
		pid_t first = first_of_namespace(NULL), p = first > 0 ? child_of(first) : -1;

		gt_pidns_of((uint32_t)p, status_of(p));
		kill(p, SIGKILL);
		waitpid(first, NULL, 0);
		close(first_gate);
		close(first_word);
		most = count_fds() > most ? count_fds() : most;
	}
	made_by = 0;
	ok(most > before && most <= before + bound + 8, "descriptors are bounded: %u",
	   most - before);
	gt_pidns_forget();
}

#define FULL (SHARE + 6)

static bool is_known(pid_t pid)
{
	return gt_pidns_of((uint32_t)pid, status_of(pid)) != GT_PIDNS_NONE;
}

/* A user has a share, and only what is the user's own makes room for more. */
static void test_share(void)
{
	pid_t first[FULL + 1], p[FULL + 1];
	uint64_t ns[SHARE], other, refused;
	unsigned int known = 0, kept = 0;

	for (int i = 0; i <= FULL; i++) {
		made_by = i < FULL ? 65534 : 65533;
		first[i] = first_of_namespace(NULL);
		p[i] = first[i] > 0 ? child_of(first[i]) : -1;
		if (i == FULL)
			break;
		gt_pidns_add((uint32_t)p[i], now(), 0, status_of(p[i]));
		if (is_known(p[i]))
			known++;
		if (i < SHARE)
			ns[i] = gt_pidns_of((uint32_t)p[i], status_of(p[i]));
	}
	made_by = 0;
	is(known, SHARE, "one user has so many namespaces with processes");
	other = gt_pidns_of((uint32_t)p[FULL], status_of(p[FULL]));
	ok(other != GT_PIDNS_NONE, "another has one then, too");
	refused = gt_pidns_stats().refused;
	ok(!is_known(p[SHARE]) && gt_pidns_stats().refused > refused,
	   "one more of the first is refused, and counted");
	for (int i = 0; i < SHARE; i++)
		kept += gt_pidns_of((uint32_t)p[i], status_of(p[i])) == ns[i];
	is(kept, SHARE, "none of those that are known was dropped for it");
	ok(gt_pidns_used(other), "nor the other user's");
	kill(p[0], SIGKILL);
	waitpid(first[0], NULL, 0);
	for (int i = 0; i < 6000 && !is_known(p[SHARE]); i++)
		usleep(10000);
	ok(is_known(p[SHARE]), "when one has ended, there is room for it");
	ok(!is_known(p[SHARE + 1]), "and for one only");
	is(gt_pidns_find(ns[0], 1), GT_NONE32, "what was known of that one is gone");
	is(gt_pidns_find(ns[1], 1), (uint32_t)p[1], "of the others it is known still");
	for (int i = 1; i <= FULL; i++) {
		kill(p[i], SIGKILL);
		waitpid(first[i], NULL, 0);
	}
}

#define CROWD 3072

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t tid[CROWD];
	unsigned int n;
	bool end;
} crowd = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *one_of_crowd(void *unused)
{
	pthread_mutex_lock(&crowd.lock);
	crowd.tid[crowd.n++] = (uint32_t)gettid();
	pthread_cond_broadcast(&crowd.changed);
	while (!crowd.end)
		pthread_cond_wait(&crowd.changed, &crowd.lock);
	pthread_mutex_unlock(&crowd.lock);
	return NULL;
}

static void ask_as(uid_t uid, unsigned int from, unsigned int to)
{
	struct gt_caller c;

	for (unsigned int i = from; i < to; i++)
		gt_caller_find(crowd.tid[i], uid, 0, &c);
}

#define HONEST 100 /* of the crowd: callers of others */

/* Who calls from many processes pushes out none of another's. */
static void test_crowd(void)
{
	pthread_t thread[CROWD];
	pthread_attr_t small;
	unsigned int n = 0;
	uint64_t dropped;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	while (n < CROWD && !pthread_create(&thread[n], &small, one_of_crowd, NULL))
		n++;
	pthread_mutex_lock(&crowd.lock);
	while (crowd.n < n)
		pthread_cond_wait(&crowd.changed, &crowd.lock);
	pthread_mutex_unlock(&crowd.lock);
	gt_caller_groups(NULL, 0);
	ask_as(5, HONEST, n);
	if (n < CROWD || !gt_caller_stats().known) {
		ok(true, "a crowd # skip it takes %d threads, and pidfds of threads (Linux 6.9)",
		   CROWD);
	} else {
		ok(gt_caller_stats().known <= 2048 && gt_caller_stats().dropped,
		   "%u of %u callers of one user are known", gt_caller_stats().known, n);
		ask_as(0, 0, HONEST / 2);
		ask_as(6, HONEST / 2, HONEST);
		ask_as(5, HONEST, n);
		dropped = gt_caller_stats().dropped;
		ask_as(0, 0, HONEST / 2);
		ask_as(6, HONEST / 2, HONEST);
		is(gt_caller_stats().dropped, dropped, "and all of the others stay known");
	}
	pthread_mutex_lock(&crowd.lock);
	crowd.end = true;
	pthread_cond_broadcast(&crowd.changed);
	pthread_mutex_unlock(&crowd.lock);
	while (n)
		pthread_join(thread[--n], NULL);
	gt_caller_groups(NULL, 0);
}

#define MANY 65536 /* NGROUPS_MAX */

/* Calls itself like a line of status, and where that is allowed has a status of 700 KiB. */
static void be_odd(int reported, int gate)
{
	static gid_t many[MANY];
	char c;

	for (int i = 0; i < MANY; i++)
		many[i] = 4000000000u + (gid_t)i;
	many[MANY - 1] = 4242;
	prctl(PR_SET_NAME, "NStgid:\t5\t6");
	c = (char)!setgroups(MANY, many);
	if (write(reported, &c, 1) == 1)
		_exit((int)read(gate, &c, 1));
	_exit(1);
}

static void test_odd(void)
{
	int reported[2], gate[2];
	struct gt_caller c = { 0 };
	char many = 0;
	pid_t pid = pipe(reported) || pipe(gate) ? -1 : fork();

	if (!pid) {
		close(gate[1]);
		be_odd(reported[1], gate[0]);
	}
	is(read(reported[0], &many, 1), 1, "a process with an odd name");
	ok(gt_caller_find((uint32_t)pid, getuid(), getgid(), &c) && c.ns == GT_PIDNS_OWN &&
		   c.tgid == (uint32_t)pid && c.own_pid == c.tgid,
	   "is who it is");
	if (many)
		is(c.groups & 1, 1, "and of %d groups the last one is found", MANY);
	else
		ok(true, "many groups # skip it takes root");
	close(gate[1]);
	waitpid(pid, NULL, 0);
	is(strcmp(gt_proc_line("Name:\tTgid:\t1\nTgid:\t2\n", "Tgid:\t"), "2\n"), 0,
	   "a line is what it begins with");
	ok(!gt_proc_line("Name:\tTgid:", "Tgid:") && !gt_proc_line("", "T") &&
		   !gt_proc_line(NULL, "T"),
	   "no line");
}

int main(void)
{
	uint64_t ns_a;

	if (!start()) {
		printf("skipped: no PID namespaces can be made here\n");
		return 77;
	}
	test_spaces();
	test_view();
	test_used_again();
	ns_a = gt_pidns_of((uint32_t)a, status_of(a));
	test_caller();
	test_ended(ns_a);
	test_scan();
	gt_pidns_forget();
	test_bound();
	if (users_differ())
		test_share();
	else
		ok(true, "shares of users # skip it takes root and user namespaces");
	test_odd();
	test_crowd();
	gt_pidns_forget();
	return done_testing();
}
