/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host with plugins built here by cc, as anybody would build them: good ones, broken ones and
 * ones that fail while they run. Skipped without a compiler or the headers.
 */
#include <errno.h>

#include "../lib/fds.h"
#include "hostbed.h"

static void test_refused(void)
{
	struct gt_host_state *h;
	char err[512];
	char why[64];

	build("bad", "abi", "-DABI=99");
	build("bad", "hook", "-DNO_DRAIN");
	build("bad", "symbol", "-DSYMBOL=other");
	build("bad", "Name", "");
	build("bad", "writable", "");
	build("bad", "key", "");
	build("bad", "value", "");
	build("bad", "bounds", "-DMAXIMUM=-1");
	build("bad", "good", "-DTIMER");
	shell("chmod 666 %s/bad/writable.so; echo text > %s/bad/text.so; cp %s/bad/good.so "
	      "%s/bad/twin.so; ln -s good.so %s/bad/link.so",
	      dir, dir, dir, dir, dir);
	memcpy(settings,
	       ((const char *[8][3]){ { "key", "nope", "1" },
				      { "value", "n", "101" },
				      { "ghost", "a", "1" },
				      { "good", "n", "20" } }),
	       sizeof(settings));
	h = make("bad", NULL, 2, err, sizeof(err));
	if (!ok(h, "a folder with bad plugins: %s", err))
		return;
	snprintf(why, sizeof(why), "built for backend ABI 99, this is %d", GT_BACKEND_ABI);
	state_is(h, "abi", GT_BS_REFUSED, why);
	state_is(h, "hook", GT_BS_REFUSED, "has no drain() hook");
	state_is(h, "symbol", GT_BS_REFUSED, "exports no symbol gt_backend");
	state_is(h, "_ame", GT_BS_REFUSED, "its name is not");
	state_is(h, "writable", GT_BS_REFUSED, "can be written by others: chmod go-w it");
	state_is(h, "text", GT_BS_REFUSED, "text.so");
	state_is(h, "key", GT_BS_REFUSED, "section [backend key] has no key 'nope'");
	state_is(h, "value", GT_BS_REFUSED, "n: 101 is not within 0 to 100");
	state_is(h, "bounds", GT_BS_REFUSED, "option n: its bounds are the wrong way round");
	state_is(h, "twin", GT_BS_REFUSED, "another plugin is named good already");
	state_is(h, "link", GT_BS_REFUSED, "a link, which is not followed");
	state_is(h, "good", GT_BS_OFF, NULL);
	is(gt_host_count(h), 12, "one entry per file");
	is(gt_host_start(h, err, sizeof(err)), 0, "the good one starts");
	ok(gt_host_drained(h, 60000), "and drains");
	is(sink.records, 100, "its records arrive");
	state_is(h, "good", GT_BS_RUNNING, NULL);
	gt_host_option_get(h, (unsigned int)gt_host_find(h, "good"), "n", err, sizeof(err));
	is_str(err, "20", "with the configuration's setting");
	gt_host_free(h);
	memset(settings, 0, sizeof(settings));
}

/* A reader of places of queues waits for the answer: an older one may be of any time. */
static void test_looking(void)
{
	struct gt_host_state *h;
	char err[512];

	build("looks", "one", "-DLOOKS");
	h = make("looks", NULL, 2, err, sizeof(err));
	ok(gt_host_refresh_sensors(h, GT_REFRESH_SLOTS), "nobody runs who could look");
	gt_host_start(h, err, sizeof(err));
	ok(gt_host_refresh_sensors(h, GT_REFRESH_SLOTS), "a look that takes long is waited for");
	gt_host_free(h);
}

static void test_folder(void)
{
	struct gt_host_state *h;
	char err[512];

	build("open", "good", "");
	shell("chmod 777 %s/open", dir);
	ok(!make("open", NULL, 2, err, sizeof(err)), "a folder that others can write");
	ok(strstr(err, "chmod go-w"), "is refused: %s", err);
	ok(!make("nowhere", NULL, 2, err, sizeof(err)), "a folder that is not there");
	ok(strstr(err, "No such file"), "the error is reported: %s", err);
	ok(!make("bad", "good:nobody", 2, err, sizeof(err)), "a backend that is not there");
	ok(strstr(err, "no backend 'nobody'"), "the error is reported: %s", err);
	memcpy(settings, ((const char *[8][3]){ { "ghost", "a", "1" } }), sizeof(settings));
	gt_host_free(make("bad", "good", 2, err, sizeof(err)));
	ok(strstr(sink.log, "[backend ghost]: there is no such backend"),
	   "a section for nobody: %s", sink.log);
	build("old", "good", "");
	memcpy(settings, ((const char *[8][3]){ { "good", "gone", "1" } }), sizeof(settings));
	h = make("old", NULL, 2, err, sizeof(err));
	ok(h && strstr(sink.log, "gone has no effect any more"), "a key of an older version: %s",
	   sink.log);
	is(gt_host_option_set(h, (unsigned int)gt_host_find(h, "good"), "gone", "7", err,
			      sizeof(err)),
	   -ENOENT, "… cannot be set");
	gt_host_option_get(h, (unsigned int)gt_host_find(h, "good"), "n", err, sizeof(err));
	is_str(err, "10", "… and has nothing of another option's");
	gt_host_free(h);
	memset(settings, 0, sizeof(settings));
}

static void test_failing(void)
{
	struct gt_host_state *h;
	char err[512], flags[TMP_PATH_MAX + 64], says[TMP_PATH_MAX + 64];

	snprintf(flags, sizeof(flags), "'-DABSENT=\"%s/device\"' -DTIMER", dir);
	snprintf(says, sizeof(says), "no device: make %s/device", dir);
	build("mix", "absent", flags);
	build("mix", "busy", "-DFAIL_START");
	build("mix", "dies", "-DFAIL_DRAIN -DTIMER");
	build("mix", "ends", "-DENDS -DTIMER -DFLAGS=GT_BACKEND_RECORDING");
	build("mix", "good", "-DTIMER -DFLAGS=GT_BACKEND_LIVE_PIDS -DBAD_TYPE");
	build("mix", "ahead", "-DTIMER '-DFUTURE=UINT64_MAX - 1'");
	build("mix", "users", "-DTIMER '-DFUTURE=ts + 500000000' -DFLAGS=GT_BACKEND_USERS");
	build("mix", "asked", "-DFLAGS=GT_BACKEND_DEMAND -DON_GPU=3");
	build("mix", "stand_in", "-DFLAGS=GT_BACKEND_SIMULATED");
	h = make("mix", NULL, 2, err, sizeof(err));
	if (!ok(h, "a folder with failing plugins: %s", err))
		return;
	state_is(h, "absent", GT_BS_UNAVAILABLE, says);
	is(gt_host_start(h, err, sizeof(err)), 0, "the rest starts");
	ok(gt_host_drained(h, 60000), "and drains");
	state_is(h, "busy", GT_BS_QUARANTINED, "start failed: Device or resource busy");
	state_is(h, "dies", GT_BS_QUARANTINED, "the device is gone");
	state_is(h, "ends", GT_BS_ENDED, NULL);
	state_is(h, "good", GT_BS_RUNNING, NULL);
	state_is(h, "asked", GT_BS_OFF, NULL);
	state_is(h, "stand_in", GT_BS_OFF, NULL);
	is(info(h, "good").records, 50, "the good one's records are counted");
	is(info(h, "good").malformed, 50, "and those of no known type, which are dropped");
	is(info(h, "ahead").malformed, 50, "likewise records from the future");
	is(info(h, "users").malformed, 50, "half a second is too far where users write the times");
	ok(sink.mark <= gt_host_now() && sink.last <= gt_host_now(), "where no mark gets to");
	is(sink.records, 50 + 50 + 50 + 10 + 6, "all that was pushed arrives");
	is(sink.live, 50, "with the right kind of pids");
	ok(sink.idles > 0 && sink.mark > 0, "the sink hears of pauses and watermarks");
	shell("touch %s/device", dir);
	is(gt_host_control(h, GT_CTL_RESCAN, 0, err, sizeof(err)), 0, "rescan");
	state_is(h, "absent", GT_BS_RUNNING, NULL);
	ok(gt_host_drained(h, 60000) && info(h, "absent").records == 100, "the device is found");
	state_is(h, "dies", GT_BS_QUARANTINED, "the device is gone");
	gt_host_stop(h);
	state_is(h, "good", GT_BS_OFF, NULL);
	ok(gt_host_cpu_ns(h) > 0, "the thread's time is known after its end");
	gt_host_free(h);
}

/* Records a minute ahead of now, by a clock that is set @offset: how many are refused */
static uint64_t refused_beside(int64_t offset)
{
	struct gt_host_state *h;
	char err[512];
	uint64_t n;

	h = make("future", NULL, 2, err, sizeof(err));
	gt_host_clock_offset(h, (unsigned int)gt_host_find(h, "users"), offset);
	gt_host_start(h, err, sizeof(err));
	gt_host_drained(h, 60000);
	n = info(h, "users").malformed;
	ok(sink.last <= gt_host_now(), "nothing of users is of the future");
	gt_host_free(h);
	return n;
}

/* Users write times themselves: beside a clock offset, too, they get no further than now */
static void test_users_times(void)
{
	build("future", "users", "-DTIMER '-DFUTURE=ts + 60000000000' -DFLAGS=GT_BACKEND_USERS");
	is(refused_beside(-30000000000), 50, "what a clock offset leaves in the future is refused");
	is(refused_beside(-90000000000), 0, "what it brings into the past is not");
}

static void test_rings_observed(void)
{
	struct gt_host_state *h;
	char err[512];

	build("rings", "dies", "-DFAIL_DRAIN -DTIMER -DON_GPU=1");
	build("rings", "good", "-DTIMER -DON_GPU=2");
	build("rings", "last", "-DTIMER -DON_GPU=1");
	h = make("rings", "dies:good", 2, err, sizeof(err));
	if (!ok(h && !gt_host_start(h, err, sizeof(err)), "one that fails beside a good one"))
		return;
	ok(gt_host_drained(h, 60000), "and both are drained");
	ok(sink.observing & GT_OBSERVES_EVENTS, "events are observed");
	ok(sink.ring[1].known && !sink.ring[1].on, "but not of the ring of the one that failed");
	ok(sink.ring[2].known && sink.ring[2].on, "of the other's ring they are");
	ok(!sink.ring[0].known, "of a ring that nobody reported nothing is said");
	gt_host_free(h);
	h = make("rings", "dies:last", 2, err, sizeof(err));
	ok(h && !gt_host_start(h, err, sizeof(err)) && gt_host_drained(h, 60000),
	   "two that report one ring");
	ok(sink.ring[1].on, "it is observed while one of them runs");
	gt_host_free(h);
}

static void test_choice(void)
{
	struct gt_host_state *h;
	char err[512];

	build("alone", "stand_in", "-DFLAGS=GT_BACKEND_SIMULATED");
	h = make("alone", NULL, 2, err, sizeof(err));
	ok(h && !gt_host_start(h, err, sizeof(err)), "none runs: there is nothing to show");
	state_is(h, "stand_in", GT_BS_OFF, NULL);
	gt_host_free(h);
	h = make("alone", "stand_in", 2, err, sizeof(err));
	ok(h && !gt_host_start(h, err, sizeof(err)), "a simulation runs if it is named");
	state_is(h, "stand_in", GT_BS_RUNNING, NULL);
	gt_host_free(h);
	h = make("mix", "busy", 2, err, sizeof(err));
	is(gt_host_start(h, err, sizeof(err)), -ENODEV, "one that is named, and fails");
	ok(strstr(err, "busy: start failed"), "which is reported: %s", err);
	gt_host_free(h);
	h = make("mix", "asked:stand_in", 2, err, sizeof(err));
	ok(h && !gt_host_start(h, err, sizeof(err)), "whoever is named runs");
	state_is(h, "asked", GT_BS_RUNNING, NULL);
	state_is(h, "stand_in", GT_BS_RUNNING, NULL);
	state_is(h, "good", GT_BS_OFF, NULL);
	gt_host_free(h);
}

static void test_options(struct gt_host_state *h, unsigned int i)
{
	char err[512], text[64];

	is(gt_host_option_set(h, i, "n", "50", err, sizeof(err)), 0, "a setting");
	gt_host_option_get(h, i, "n", text, sizeof(text));
	is_str(text, "50", "is set");
	is(gt_host_option_set(h, i, "n", "66", err, sizeof(err)), -EINVAL, "a refused one");
	is_str(err, "66 is unlucky", "has the plugin's sentence");
	is(gt_host_option_set(h, i, "n", "101", err, sizeof(err)), -ERANGE, "out of bounds");
	is(gt_host_option_set(h, i, "n", "5x", err, sizeof(err)), -EINVAL, "not a number");
	is(gt_host_option_set(h, i, "n", " 5", err, sizeof(err)), -EINVAL, "nor this");
	gt_host_option_get(h, i, "n", text, sizeof(text));
	is_str(text, "50", "and the old value stays");
	is(gt_host_option_set(h, i, "s", "some text", err, sizeof(err)), 0, "a string");
	gt_host_option_get(h, i, "s", text, sizeof(text));
	is_str(text, "some text", "is set");
	is(gt_host_option_set(h, i, "b", "1", err, sizeof(err)), -EBUSY, "not while running");
	is(gt_host_option_set(h, i, "zz", "1", err, sizeof(err)), -ENOENT, "no such setting");
	is(gt_host_option_get(h, i, "zz", text, sizeof(text)), -ENOENT, "to read neither");
}

/* One byte into the plugin's pipe becomes two records, with no timer anywhere. */
static void test_idle(struct gt_host_state *h, unsigned int i)
{
	char err[512];
	uint64_t drains;

	ok(gt_host_drained(h, 60000), "a plugin with nothing to do is drained");
	is(h->armed, 0, "no timer is armed");
	drains = info(h, "asked").drains;
	is(gt_host_control(h, GT_CTL_SEEK, 1, err, sizeof(err)), 0, "its descriptor is readable");
	while (sink.records < 2)
		usleep(1000);
	ok(gt_host_drained(h, 60000), "and is drained");
	is(info(h, "asked").drains, drains + 1, "once");
	is(gt_host_doctor(h, i, err, sizeof(err)), 0, "doctor");
	is_str(err, "drains 1\n", "asks the plugin");
	is(gt_host_file(h, i, 0, err, sizeof(err)), 0, "a text of its own");
	is_str(err, "drains 1\n", "asks it too");
	is(gt_host_file(h, i, 1, err, sizeof(err)), 0, "one without an end");
	is(strlen(err), sizeof(err) - 1, "is cut");
}

static void test_control(struct gt_host_state *h, unsigned int i)
{
	char err[512];

	is(gt_host_control(h, GT_CTL_PAUSE, 0, err, sizeof(err)), 0, "pause");
	state_is(h, "asked", GT_BS_PAUSED, NULL);
	is(sink.observing, GT_OBSERVES_USE, "events are not observed while paused");
	while (!sink.lost)
		usleep(1000);
	is(sink.lost, 1, "a loss is reported, as its jobs may end unseen");
	sink.lost = 0;
	is(gt_host_control(h, GT_CTL_RESUME, 0, err, sizeof(err)), 0, "resume");
	state_is(h, "asked", GT_BS_RUNNING, NULL);
	is(sink.observing, GT_OBSERVES_EVENTS | GT_OBSERVES_USE, "and are after it");
	is(gt_host_control(h, GT_CTL_RESCAN, 0, err, sizeof(err)), 0, "rescan");
	while (!sink.lost)
		usleep(1000);
	is(sink.lost, 1, "is such a pause");
	is(gt_host_control(h, GT_CTL_LEVEL, 3, err, sizeof(err)), 0,
	   "a level is the gate's affair");
	is(gt_host_control(h, GT_CTL_LEVEL, 0, err, sizeof(err)), 0, "level off");
	state_is(h, "asked", GT_BS_OFF, NULL);
	is(sink.observing, 0, "nothing is observed at level off");
	while (sink.lost < 2)
		usleep(1000);
	is(sink.lost, 2, "likewise");
	is(gt_host_control(h, GT_CTL_PAUSE, 0, err, sizeof(err)), -EOPNOTSUPP, "nobody to pause");
	is(gt_host_option_set(h, i, "b", "1", err, sizeof(err)), 0, "now it can be set");
	is(gt_host_control(h, GT_CTL_LEVEL, 2, err, sizeof(err)), 0, "level normal");
	state_is(h, "asked", GT_BS_RUNNING, NULL);
	is(gt_host_control(h, GT_CTL_LEVEL, 9, err, sizeof(err)), -ERANGE, "no such level");
}

static bool plays(struct gt_host_state *h, const char *name)
{
	return h->be[gt_host_find(h, name)]->p.recording;
}

static void test_player(void)
{
	char err[512];
	struct gt_host_state *h = make("mix", "asked:ends", 2, err, sizeof(err));

	ok(h && plays(h, "ends"), "a player that is asked for plays a recording");
	ok(h && !plays(h, "asked"), "another backend does not");
	gt_host_free(h);
}

static void test_running(void)
{
	char err[512];
	struct gt_host_state *h = make("mix", "asked", 2, err, sizeof(err));
	unsigned int i;

	if (!ok(h && !gt_host_start(h, err, sizeof(err)), "one that waits for its descriptor"))
		return;
	ok(!plays(h, "ends"), "a player that nobody asked for plays no recording");
	i = (unsigned int)gt_host_find(h, "asked");
	test_idle(h, i);
	test_options(h, i);
	test_control(h, i);
	ok(!gt_host_replaying(h), "nothing is replayed");
	is(sink.resets, 0, "so the sink never begins anew");
	sink.lost = 0;
	gt_host_clock_offset(h, i, -5000000000);
	gt_host_control(h, GT_CTL_PAUSE, 0, err, sizeof(err));
	while (!sink.lost)
		usleep(1000);
	ok(sink.last + 4000000000 < gt_host_now(),
	   "a pause is reported at a time of the source's clock");
	gt_host_free(h);
	h = make("mix", "asked", 0, err, sizeof(err));
	is(gt_host_start(h, err, sizeof(err)), 0, "level off starts nobody, and is no error");
	state_is(h, "asked", GT_BS_OFF, NULL);
	is(sink.observing, 0, "so nothing is observed");
	is(gt_host_control(h, GT_CTL_LEVEL, 2, err, sizeof(err)), 0, "until it is raised");
	state_is(h, "asked", GT_BS_RUNNING, NULL);
	is(sink.observing, GT_OBSERVES_EVENTS | GT_OBSERVES_USE, "and then all is");
	gt_host_free(h);
}

/* Plugins that call for drain() over and over, though there is nothing for it. */
static void test_spinning(void)
{
	struct gt_host_state *h;
	struct gt_backend_info i;
	uint64_t began, ms;
	char err[512];

	ok(build("spin", "fd", "-DSPINS=0") && build("spin", "timer", "-DSPINS=1"), "plugins");
	h = make("spin", NULL, 2, err, sizeof(err));
	ok(h && !gt_host_start(h, err, sizeof(err)), "that spin run");
	began = gt_host_now();
	do
		usleep(500000);
	while ((info(h, "fd").drains <= 64 || info(h, "timer").drains <= 64) &&
	       gt_host_now() - began < 60000000000);
	i = info(h, "fd");
	ms = (gt_host_now() - began) / 1000000;
	ok(i.drains > 64 && i.drains < 4 * ms,
	   "one with a descriptor that stays readable is held back");
	i = info(h, "timer");
	ms = (gt_host_now() - began) / 1000000;
	ok(i.drains > 64 && i.drains < 4 * ms, "and one with a timer that is always due");
	state_is(h, "fd", GT_BS_RUNNING, NULL);
	gt_host_free(h);
}

/* The example for third parties. */
static void test_minimal(void)
{
	char err[512];
	struct gt_host_state *h;

	ok(shell("mkdir -p -m 755 %s/inst/include %s/min && ln -s '%s/backend' "
		 "%s/inst/include/gputrace && make -s -C '%s/tests/plugin' PREFIX=%s/inst O=%s/min "
		 "CFLAGS='-O2 -Wall -Wextra -Werror -Wno-unused-parameter' "
		 "CC=cc MAKEFLAGS= >&2",
		 dir, dir, root, dir, root, dir, dir),
	   "the example builds out of tree, without a warning");
	memcpy(settings, ((const char *[8][3]){ { "minimal", "jobs_per_second", "1000" } }),
	       sizeof(settings));
	h = make("min", NULL, 2, err, sizeof(err));
	ok(h && !gt_host_start(h, err, sizeof(err)), "and runs");
	while (h && sink.records < 30)
		usleep(1000);
	is(sink.back, 0, "its records come in order of time");
	gt_host_free(h);
	memset(settings, 0, sizeof(settings));
}

int main(void)
{
	unsigned int fds = count_fds();

	alarm(600);
	if (!shell("cc --version >/dev/null 2>&1") || !prepare()) {
		printf("1..0 # SKIP no compiler, or no sources\n");
		return 77;
	}
	test_refused();
	test_looking();
	test_folder();
	test_failing();
	test_users_times();
	test_rings_observed();
	test_choice();
	test_player();
	test_running();
	test_spinning();
	test_minimal();
	is(count_fds(), fds, "no descriptor leaks");
	shell("rm -rf %s", dir);
	return done_testing();
}
