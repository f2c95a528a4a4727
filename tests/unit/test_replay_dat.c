/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.dat of version 6 and 7, by libtracecmd and by our own reader, against the same events as
 * trace-cmd prints them. The files are of Linux 6.12 with a mock GPU on the real scheduler.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../backend/lib/sandbox.h"
#include "../lib/fds.h"
#include "../lib/replay_host.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char src[256], maps[512];

static struct rh *play(const char *path, const struct gt_reader *reader, int *ret)
{
	struct rh *h = rh_new(path, maps, true);

	h->reader = reader;
	*ret = rh_play(h);
	return h;
}

static const char *data(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/tests/data/replay/%s", src, name);
	return path;
}

/* Names of custom events come before everything else and are of no interest here. */
static size_t next(const struct rh *h, size_t i)
{
	while (i < h->n && h->rec[i].ev.type == GT_NAME)
		i++;
	return i;
}

/* How many records differ; times may by @slack ns, as text is rounded. */
static unsigned int compare(const struct rh *a, const struct rh *b, uint64_t slack)
{
	unsigned int bad = 0;
	size_t i = next(a, 0), j = next(b, 0);

	for (; i < a->n && j < b->n; i = next(a, i + 1), j = next(b, j + 1)) {
		union gt_record x = a->rec[i], y = b->rec[j];
		uint64_t d = x.ev.ts > y.ev.ts ? x.ev.ts - y.ev.ts : y.ev.ts - x.ev.ts;

		x.ev.ts = y.ev.ts = 0;
		if (slack && x.ev.type == GT_SYNC_WAIT_EXIT)
			x.ev.value = y.ev.value = 0; /* a difference of times */
		if (slack && x.ev.type == GT_LOST)
			x.lost.since = y.lost.since = 0;
		bad += d > slack || memcmp(&x, &y, sizeof(x));
	}
	return bad + (i < a->n) + (j < b->n);
}

static bool same_gpus(const struct rh *a, const struct rh *b)
{
	return a->gpus == b->gpus && !memcmp(a->gpu, b->gpu, sizeof(a->gpu));
}

static void same(void)
{
	struct rh *text, *v[3];
	static const char *const names[] = { "version 7", "version 6",
					     "version 6 by our own reader" };
	int ret[4];

	text = play(data("sched_6.12.txt"), NULL, &ret[3]);
	v[0] = play(data("sched_6.12_v7.dat"), NULL, &ret[0]);
	v[1] = play(data("sched_6.12_v6.dat"), NULL, &ret[1]);
	v[2] = play(data("sched_6.12_v6.dat"), &gt_reader_dat6, &ret[2]);
	is(text->types[GT_SUBMIT], 80, "text: 80 jobs");
	for (int i = 0; i < 3; i++) {
		ok(ret[i] == -ENODATA && !v[i]->errors, "%s is played to the end %s", names[i],
		   v[i]->error);
		is(v[i]->types[GT_SUBMIT], 80, "%s: 80 jobs", names[i]);
		ok(same_gpus(v[i], text), "%s: GPUs and rings and their numbers as in text",
		   names[i]);
		is(compare(v[i], text, 500), 0, "%s: every record as in text, times rounded",
		   names[i]);
		is(compare(v[i], v[0], 0), 0, "%s: every record the same", names[i]);
	}
	for (int i = 0; i < 3; i++)
		rh_free(v[i]);
	rh_free(text);
}

/* A file cut or with bytes changed, into a temporary one. */
static void damaged(const char *name, long cut, long at, const char *bytes,
		    char path[static TMP_PATH_MAX])
{
	static uint8_t buf[1 << 18];
	int fd = open(data(name), O_RDONLY), out;
	ssize_t n = read(fd, buf, sizeof(buf));

	close(fd);
	out = tmp_file(path, "gt-replay");
	if (at >= 0)
		memcpy(buf + at, bytes, strlen(bytes));
	if (cut >= 0)
		n = cut;
	if (write(out, buf, (size_t)n) != n)
		tap_ok(false, "temporary file");
	close(out);
}

static void failures(void)
{
	char path[TMP_PATH_MAX];
	unsigned int before = count_fds();
	int ret;
	struct rh *h;

	damaged("sched_6.12_v7.dat", 9000, -1, NULL, path);
	h = play(path, NULL, &ret);
	ok(ret == -EBADMSG && strstr(h->error, path) && strstr(h->error, "options"),
	   "version 7, cut: refused: %s", h->error);
	rh_free(h);
	unlink(path);

	damaged("sched_6.12_v6.dat", 70000, -1, NULL, path);
	h = play(path, NULL, &ret);
	ok(ret == -ENODATA && h->errors && h->types[GT_SUBMIT] > 0,
	   "version 6, cut: what is there is played, and: %s", h->first);
	rh_free(h);
	unlink(path);

	damaged("sched_6.12_v6.dat", 300, -1, NULL, path);
	h = play(path, NULL, &ret);
	ok(ret == -EBADMSG && strstr(h->error, "byte "), "version 6, cut in its header: %s",
	   h->error);
	rh_free(h);
	unlink(path);

	damaged("sched_6.12_v6.dat", -1, 30, "XXXX", path);
	h = play(path, NULL, &ret);
	ok(ret < 0 && h->errors, "version 6, damaged header: %s", h->error);
	rh_free(h);
	unlink(path);
	damaged("sched_6.12_v7.dat", -1, 12, "\1", path);
	h = play(path, NULL, &ret);
	ok(ret == -EOPNOTSUPP && strstr(h->error, "other byte order"),
	   "version 7 of a big-endian machine: %s", h->error);
	rh_free(h);
	unlink(path);
	is(count_fds(), before, "no descriptor is left");
	for (int i = 0; i < 60000 && gt_reap_left(); i++) /* who ended late is waited for later */
		usleep(1000);
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and no process");
}

#define CPU0_MARKS                                                                                 \
	24587 /* in sched_6.12_v6.dat: the byte with the marks of that CPU's first page */

/* The buffer of a CPU that begins later than the other's had run over: the kernel marks its page. */
static void begins_late(const struct gt_reader *reader, const char *name)
{
	char path[TMP_PATH_MAX];
	const struct gt_lost *lost = NULL;
	struct rh *h;
	int ret;

	damaged("sched_6.12_v6.dat", -1, CPU0_MARKS, "\x80", path);
	h = play(path, reader, &ret);
	for (size_t i = 0; i < h->n; i++)
		if (h->rec[i].ev.type == GT_LOST)
			lost = &h->rec[i].lost;
	is(h->types[GT_LOST], 1, "%s: a buffer that begins late is a loss", name);
	ok(lost && lost->cpu == 0 && lost->count == GT_NONE64 && lost->since == 4347617924 &&
		   lost->ts == 4347617924 && lost->until == 4349342387,
	   "%s: from the recording's beginning to its first event", name);
	rh_free(h);
	unlink(path);
}

static const struct gt_lost *lost_of(const struct rh *h, size_t *at)
{
	for (*at = 0; *at < h->n; ++*at)
		if (h->rec[*at].ev.type == GT_LOST && h->rec[*at].lost.cause == GT_LOST_SOURCE)
			return &h->rec[*at].lost;
	return NULL;
}

static unsigned int lost_times(const struct rh *h)
{
	unsigned int n = 0;

	for (size_t i = 0; i < h->n; i++)
		n += h->rec[i].ev.type == GT_LOST && h->rec[i].lost.cause == GT_LOST_SOURCE;
	return n;
}

/* A loss is reported where its gap begins, by either reader: other CPUs go on within it. */
static void gap(void)
{
	char path[TMP_PATH_MAX];
	const struct gt_lost *a, *b;
	struct rh *lib, *own;
	size_t at, at_own;
	int ret;

	damaged("sched_6.12_v6.dat", -1, CPU0_MARKS + 4096, "\x80", path);
	lib = play(path, NULL, &ret);
	own = play(path, &gt_reader_dat6, &ret);
	a = lost_of(lib, &at);
	b = lost_of(own, &at_own);
	ok(a && a->ts == a->since && a->until > a->since && lost_times(lib) == 1,
	   "a gap begins when it begins");
	ok(a && b && !memcmp(a, b, sizeof(*a)), "for our own reader too");
	ok(at > 0 && at + 1 < lib->n && lib->rec[at - 1].ev.ts <= a->since &&
		   lib->rec[at + 1].ev.ts >= a->since && lib->rec[at + 1].ev.ts < a->until,
	   "others go on within it");
	is(compare(lib, own, 0), 0, "both read the same");
	rh_free(lib);
	rh_free(own);
	unlink(path);
}

/* The child is killed while it plays: the replay says so and ends. */
static void killed(void)
{
	char path[512], cmd[64];
	struct rh *h;
	int ret;
	FILE *f;
	long child = 0;

	strcpy(path, data("sched_6.12_v7.dat"));
	h = rh_new(path, maps, false);
	ret = gt_replay_start(&h->p);
	is(ret, 0, "started");
	snprintf(cmd, sizeof(cmd), "/proc/self/task/%d/children", getpid());
	f = fopen(cmd, "r");
	if (!f || fscanf(f, "%ld", &child) != 1 || child <= 0) {
		ok(true, "killing the child # skip the kernel does not list children");
	} else {
		kill(-(pid_t)child, SIGKILL);
		while ((ret = gt_replay_drain(&h->p)) >= 0)
			;
		/* It may have written everything before: then it ended well. Which signal it was is
		 * not known if its end took long. */
		ok(ret == -ENODATA && (h->types[GT_SUBMIT] == 80 || strstr(h->error, "signal 9") ||
				       strstr(h->error, "libtracecmd stopped")),
		   "a killed child is reported: %s", h->error);
	}
	if (f)
		fclose(f);
	rh_free(h);
}

#define TRIED 9

/* What a child that the file has taken over may do to others: nothing. Told to @out in order. */
static void try_others(int out, const char *path, int (*confine)(void))
{
	pid_t parent = getppid(), self = getpid();
	int r[TRIED], fds[2];
	pid_t pid;

	if (pipe(fds) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || confine())
		_exit(1);
	r[0] = syscall(SYS_tgkill, self, self, 0) ? errno : 0;
	r[1] = syscall(SYS_tgkill, parent, parent, 0) ? errno : 0;
	r[2] = syscall(SYS_tkill, parent, 0) ? errno : 0;
	r[3] = kill(parent, 0) ? errno : 0;
	r[4] = fcntl(fds[0], F_SETOWN, parent) ? errno : 0;
	r[5] = fcntl(fds[0], F_SETFL, O_NONBLOCK) ? errno : 0;
	r[6] = unlink(path) ? errno : 0;
	r[7] = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600) < 0 ? errno : 0;
	pid = fork();
	r[8] = pid < 0 ? errno : 0;
	if (!pid)
		_exit(0);
	_exit(write(out, r, sizeof(r)) != sizeof(r));
}

static bool tried(int (*confine)(void), int r[TRIED])
{
	char path[TMP_PATH_MAX];
	int fds[2], status = -1, file = tmp_file(path, "gt-replay");
	pid_t pid = pipe(fds) ? -1 : fork();

	if (!pid)
		try_others(fds[1], path, confine);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status ||
	    read(fds[0], r, TRIED * sizeof(*r)) != (ssize_t)(TRIED * sizeof(*r))) {
		ok(false, "a child that is confined");
		return false;
	}
	close(fds[0]);
	close(fds[1]);
	close(file);
	unlink(path);
	return true;
}

static void confined(void)
{
	int r[TRIED], dat[TRIED];

	if (!tried(gt_child_confine, r) || !tried(gt_child_confine_dat, dat))
		return;
	if (r[3] == 0) {
		ok(true, "what the child may do to others # skip this kernel has no filters");
		return;
	}
	is(r[0], 0, "the child may signal itself, as abort() does");
	is(r[1], EPERM, "not its parent");
	is(r[2], EPERM, "… by tkill(2)");
	is(r[3], EPERM, "… or kill(2)");
	is(r[4], EPERM, "nor have the kernel do it");
	is(r[5], 0, "other flags it may set");
	is(r[6], EPERM, "it removes no file");
	is(r[7], EPERM, "it makes none");
	is(r[8], EPERM, "nor another process");
	is(memcmp(r, dat, 6 * sizeof(*r)), 0, "who reads a trace.dat may do to others as little");
	is(dat[8], 0, "but it makes a process");
}

int main(void)
{
	const char *env = getenv("GT_SRC");

	snprintf(src, sizeof(src), "%s", env ? env : ".");
	snprintf(maps, sizeof(maps), "%s/conf/events.d", src);
	same();
	failures();
	begins_late(NULL, "libtracecmd");
	begins_late(&gt_reader_dat6, "our own reader");
	gap();
	killed();
	confined();
	return done_testing();
}
