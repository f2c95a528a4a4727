/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ftrace backend on this kernel, with a host made here: a mock program plays GPU jobs, uprobes
 * on it bear the names of the GPU scheduler's tracepoints, and what the backend delivers is
 * compared event for event with what the program says it did.
 */
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The vtable's file is the one of the plugin that is not in the tests' library. */
#include "../../backend/ftrace/ftrace.c"
#include "../lib/fds.h"
#include "../lib/mockrun.h"
#include "../lib/tap.h"
#include "../lib/tracefs.h"
#include "ftracebed.h"

/* The truth ---------------------------------------------------------------------------------- */

static struct mock_call *calls;
static size_t ncalls;

static void read_truth(void)
{
	free(calls);
	ncalls = mock_truth(&calls);
}

static bool same_call(const struct mock_call *c, const struct gt_event *ev, bool pids)
{
	if (ev->ring >= h.nrings || strcmp(h.ring[ev->ring], c->ring))
		return false;
	if (ev->ts < c->before || ev->ts > c->after)
		return false;
	if (ev->type == GT_SUBMIT)
		return ev->tid == c->tid && (!pids || (ev->pid == c->pid && ev->uid == 0));
	if (ev->type == GT_COMMIT)
		return ev->tid == c->tid;
	return ev->tid == GT_NONE32;
}

/*
 * Each ring makes its calls of a type one after another, so its k-th record is its k-th call; those
 * of different rings may be exchanged, by as many as others make while one is not given a CPU.
 * @from: where to look, which moves on
 */
static bool find_call(const struct gt_event *ev, size_t *from, bool pids)
{
	unsigned int tries = 0;

	for (size_t j = *from; j < ncalls && tries < 400; j++) {
		if (calls[j].type != ev->type || ev->ring >= h.nrings ||
		    strcmp(h.ring[ev->ring], calls[j].ring))
			continue;
		if (!tries++)
			*from = j;
		if (!same_call(&calls[j], ev, pids))
			continue;
		calls[j].type = GT_NTYPES;
		return true;
	}
	return false;
}

static void compare(const char *title, bool pids)
{
	static const enum gt_type types[] = { GT_SUBMIT, GT_COMMIT, GT_COMPLETE };
	static const char *const names[] = GT_TYPE_NAMES;
	size_t at[3][MAX_RINGS] = { 0 }, wrong = 0, back = 0, extra = 0, k;
	uint64_t last = 0;

	for (size_t i = 0; i < h.n; i++) {
		const struct gt_event *ev = &h.r[i].ev;

		back += ev->ts < last;
		last = ev->ts;
		if (ev->type >= GT_NTYPES)
			continue;
		for (k = 0; k < 3 && types[k] != ev->type; k++)
			;
		extra += k == 3;
		wrong += k < 3 && !find_call(ev, &at[k][ev->ring % MAX_RINGS], pids);
	}
	ok(!back && !h.below_mark, "%s: in order of time, none below a watermark", title);
	ok(!wrong && !extra, "%s: each record is a call that was made, at its time", title);
	for (k = 0; k < 3; k++) {
		size_t left = 0;

		for (size_t j = 0; j < ncalls; j++)
			left += calls[j].type == types[k];
		is(left, 0, "%s: no %s is missing of %zu calls", title, names[types[k]], ncalls);
	}
}

static unsigned int processes(void)
{
	unsigned int n = 0;

	for (size_t i = 0; i < h.n; i++)
		n += h.r[i].ev.type == GT_PROCESS && !strcmp(h.r[i].process.comm, "mockjobs") &&
		     h.r[i].process.uid == 0 && h.r[i].process.start != GT_NONE64;
	return n;
}

/* Tests -------------------------------------------------------------------------------------- */

static const char *tracefs;

static long long doctor_number(struct gt_plugin *p, const char *key)
{
	char text[8192], *at;

	gt_backend.doctor(p, text, sizeof(text));
	at = strstr(text, key);
	return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static void test_probe(struct gt_plugin *p)
{
	const char *real = p->tracefs;

	if (gt_backend.probe(p))
		ok(strstr(h.error, "gpu-sched"),
		   "no GPU tracepoints: a module that has them is named");
	else
		ok(true, "no GPU tracepoints # skip this machine has some");
	p->tracefs = NULL;
	is(gt_backend.probe(p), -ENOENT, "no tracefs: probe refuses");
	ok(strstr(h.error, "mount -t tracefs"), "and says how to mount it");
	p->tracefs = "/proc";
	ok(gt_backend.probe(p) < 0, "something that is not tracefs: probe refuses");
	p->tracefs = real;
	h.error[0] = '\0';
}

static void run(struct gt_plugin *p, const char *title, const char *jobs, const char *max_us,
		const char *names, bool pids)
{
	forget();
	mock_start(jobs, max_us, names);
	ok(mock_wait(p, true), "%s: the mock ran", title);
	read_truth();
	compare(title, pids);
	ok(h.timer == 0 && h.nfds > 0, "%s: idle again: no timer, buffers watched", title);
}

static void test_pause(struct gt_plugin *p)
{
	bool good;

	forget();
	mock_start("50", "50", "old");
	while (!mock_poll(true, &good))
		;
	read_truth();
	is(gt_backend.control(p, GT_CTL_PAUSE, 0), 0, "pause");
	compare("what was there before the pause, at once", false);
	forget();
	mock_start("50", "0", "old");
	ok(mock_wait(p, true) && !h.n, "nothing comes while paused");
	is(gt_backend.control(p, GT_CTL_RESUME, 0), 0, "resume");
	is(gt_backend.control(p, GT_CTL_SEEK, 0), -EOPNOTSUPP, "seek is for replays");
	run(p, "after a pause", "100", "0", "old", false);
}

/* Whatever makes the kernel empty the buffers, what is in them is reported. */
static void test_emptied(struct gt_plugin *p)
{
	struct ft_options *o = p->options;
	char *tracers = tfs_read(tracefs, NULL, "available_tracers");
	char *filter = tfs_read(tracefs, NULL, "set_ftrace_filter");
	bool good, can = tracers && filter && strstr(tracers, FT_FUNCTION_NAME);

	free(tracers);
	free(filter);
	if (!can) {
		ok(true, "with the function tracer # skip the kernel has none, or is locked down");
		return;
	}
	/* a function that is not called while this runs */
	o->functions = strdup("orderly_reboot");
	for (int i = 0; i < 3; i++) {
		static const char *const titles[] = { "switched on", "resumed", "switched off" };

		forget();
		mock_start("50", "50", "old");
		while (!mock_poll(true, &good))
			;
		read_truth();
		if (i == 2)
			o->functions[0] = '\0';
		if (i == 1) {
			gt_backend.control(p, GT_CTL_PAUSE, 0);
			is(gt_backend.control(p, GT_CTL_RESUME, 0), 0, "%s", titles[i]);
		} else {
			is(gt_backend.set(p, &gt_backend.options[1]), 0, "%s %s", titles[i],
			   h.error);
		}
		settle(p);
		compare(titles[i], false);
	}
	free(o->functions);
	o->functions = NULL;
}

/* What is newer than the moment a drain began stays for the next one. */
static void test_moment(struct gt_plugin *p)
{
	size_t older = 0, newer = 0;
	bool good;

	forget();
	mock_start("100", "50", "old");
	while (!mock_poll(true, &good))
		;
	read_truth();
	h.stopped = calls[ncalls / 2].before;
	gt_backend.drain(p);
	for (size_t i = 0; i < h.n; i++) {
		older += h.r[i].ev.ts < h.stopped;
		newer += h.r[i].ev.ts >= h.stopped;
	}
	ok(older && !newer, "a drain delivers what is older than its beginning: %zu", older);
	ok(h.mark == h.stopped && h.timer, "that is the watermark, and there is a timer");
	h.stopped = 0;
	settle(p);
	compare("the rest", false);
}

static void test_overrun(struct gt_plugin *p)
{
	uint64_t lost = 0, events = 0;

	forget();
	mock_start("4000", "0", "old");
	ok(mock_wait(p, false), "a mock that nobody listens to ran");
	read_truth();
	for (size_t i = 0; i < h.n; i++)
		if (h.r[i].ev.type == GT_LOST) {
			lost += h.r[i].lost.count;
			ok(h.r[i].lost.cpu != GT_NONE16 && h.r[i].lost.cause == GT_LOST_SOURCE,
			   "a loss has its CPU");
		}
	events = (uint64_t)doctor_number(p, "\nevents ");
	ok(lost > 0, "%" PRIu64 " events were lost", lost);
	is(events + lost, ncalls, "lost and delivered are all that was done");
	ok(!h.below_mark, "none below a watermark");
}

/* More than one drain takes, all at once */
static void test_burst(struct gt_plugin *p)
{
	long long full = doctor_number(p, "\ndrains_full ");

	forget();
	mock_start("30000", "0", "new");
	ok(mock_wait(p, false), "burst: the mock ran");
	read_truth();
	compare("burst", false);
	ok(doctor_number(p, "\ndrains_full ") > full, "burst: took more than one drain");
}

static void test_buffer(struct gt_plugin *p)
{
	struct ft_options *o = p->options;

	o->buffer_size = 1 << 30;
	is(gt_backend.set(p, &gt_backend.options[0]), 0, "1 GiB per CPU may be asked");
	is(doctor_number(p, "buffer_asked "), 1 << 30, "doctor says what was asked");
	ok(doctor_number(p, "buffer_granted ") == o->buffer_size && o->buffer_size < 1 << 30 &&
		   o->buffer_size > 4096,
	   "the option reads back what was granted");
	ok(doctor_number(p, "buffer_total ") <= (260ll << 20), "256 MiB in all");
}

static void stop_and_look(struct gt_plugin *p)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/instances/gputrace-%d", tracefs, getpid());
	ok(!access(path, F_OK), "the instance is there");
	gt_backend.stop(p);
	ok(access(path, F_OK) && !h.nfds && !h.timer, "nothing is left after stop()");
}

static void test_old_names(struct gt_plugin *p)
{
	struct ft_options *o = p->options;
	unsigned int files = count_fds();
	char path[300];
	pid_t dead = fork();

	if (!dead)
		_exit(0);
	waitpid(dead, NULL, 0);
	snprintf(path, sizeof(path), "%s/instances/gputrace-%d", tracefs, dead);
	mkdir(path, 0750);
	if (!ok(mock_probes(false), "stand-ins for the old tracepoints"))
		return;
	is(gt_backend.probe(p), 0, "probe accepts");
	if (!ok(!gt_backend.start(p), "start %s", h.error))
		return;
	ok(access(path, F_OK), "what a dead gputrace left is removed");
	rmdir(path);
	run(p, "old names", "1000", "1000", "old", true);
	is(processes(), 3, "a PROCESS record for each submitter");
	run(p, "short-lived", "30", "0", "old", false);
	test_pause(p);
	test_moment(p);
	test_emptied(p);
	test_buffer(p);
	stop_and_look(p);
	o->buffer_size = 8192;
	if (ok(!gt_backend.start(p), "start with a small buffer")) {
		test_overrun(p);
		stop_and_look(p);
	}
	is(count_fds(), files, "no file stays open");
}

static void test_new_names(struct gt_plugin *p)
{
	struct ft_options *o = p->options;

	o->buffer_size = 32 << 20;
	if (!ok(!gt_backend.start(p), "start again"))
		return;
	ok(mock_probes(true), "stand-ins for the new tracepoints, as from a module loaded later");
	is(gt_backend.control(p, GT_CTL_RESCAN, 0), 0, "rescan");
	run(p, "new names", "500", "200", "new", false);
	run(p, "both names", "200", "200", "both", false);
	test_burst(p);
	stop_and_look(p);
}

/* The maps: in the build folder, of which this program is in tests/. */
static const char *maps(const char *self)
{
	static char dir[700];
	const char *slash = strrchr(self, '/');

	if (getenv("GT_EVENTS_DIR"))
		return getenv("GT_EVENTS_DIR");
	snprintf(dir, sizeof(dir), "%.*s/../share/gputrace/events.d",
		 slash ? (int)(slash - self) : 1, slash ? self : ".");
	return dir;
}

int main(int argc, char **argv)
{
	struct ft_options o = { .buffer_size = 4 << 20, .level = 2 };
	struct gt_plugin p = { .host = &host, .options = &o };
	const char *why = mock_find(argv[0], &tracefs);

	if (why) {
		ok(true, "the ftrace backend on this kernel # skip %s", why);
		return done_testing();
	}
	p.tracefs = tracefs;
	p.events_dir = maps(argv[0]);
	h.r = calloc(MAX_RECORDS, sizeof(*h.r));
	if (argc > 1 && !strcmp(argv[1], "emptied")) {
		p.events_dir = mock_maps(p.events_dir);
		ok(mock_probes(false) && !gt_backend.start(&p), "start %s", h.error);
		test_emptied(&p);
		stop_and_look(&p);
	} else {
		test_probe(&p);
		p.events_dir = mock_maps(p.events_dir);
		ok(p.events_dir, "maps that name the stand-ins");
		test_old_names(&p);
		test_new_names(&p);
	}
	free(h.r);
	free(calls);
	return done_testing();
}
