/* SPDX-License-Identifier: GPL-2.0 */
/* fs/tree: settings, control, last_cmd_status and error_log, and what the root reports the daemon.
 */
#include "../../fs/access/access.h"
#include "../../fs/tree/tree.h"
#include "../lib/treebed.h"

static void test_settings(void)
{
	is_str(show("config/level", &root_view), "normal\n", "level reads");
	asked = -1;
	is(put("config/level", "stats\n"), 0, "level is written");
	ok(asked == GT_CTL_LEVEL && asked_arg == 1, "stats: the sources are reported");
	is_str(show("config/level", &root_view), "stats\n", "and reads back");
	is(put("config/level", "3"), 0, "level by number");
	ok(asked == GT_CTL_LEVEL && asked_arg == 3, "verbose: the sources are reported");
	is_str(show("last_cmd_status", &root_view), "ok\n", "ok");
	answer = -EIO;
	is(put("config/level", "off"), -EIO, "a source that fails");
	is(gate.wanted.types, UINT64_MAX, "leaves the old level");
	answer = 0;
	is(put("config/level", "loud"), -EINVAL, "no level");
	is(put("config/level", "4"), -ERANGE, "none either");
	is(put("config/level", "normal"), 0, "back to normal");
	is(put("config/sampling", "25\n"), 0, "sampling");
	is_str(show("config/sampling", &root_view), "25\n", "reads back");
	is(put("config/sampling", "101"), -ERANGE, "over the bound");
	is(put("config/sampling", "12x"), -EINVAL, "syntax");
	is(gate.wanted.share, GT_SHARE_ALL / 4, "a refused value changes nothing");
	is(put("status", "1"), -EACCES, "a file that cannot be written");
	is(put_raw("config/sampling", "1\0", 2, &root_view, false), -EINVAL, "a NUL byte");
	is(put("config/sampling", "1\n2\n"), -EINVAL, "two lines");
	is(put("config/sampling", ""), -EINVAL, "nothing");
	is(put("backends/ftrace/cpu", "0,1\n"), 0, "an option");
	is_str(show("backends/ftrace/cpu", &root_view), "0,1\n", "reads back");
	is(put("backends/ftrace/cpu", "bad"), -EINVAL, "refused by its backend");
	is_str(show("last_cmd_status", &root_view), "backends/ftrace/cpu: no such CPU\n",
	       "and says why");
	is(put("backends/ftrace/path", "x"), -EACCES, "a fixed option");
}

/* Taken, as rings and processes come and go */
static void test_names_nothing(void)
{
	static const struct {
		const char *key, *some, *none, *what;
	} cases[] = {
		{ "filter_pid", "100,4000000000", "4000000000", "process" },
		{ "filter_uid", "1000", "4000000000", "user" },
		{ "filter_ring", "gfx*", "nothing*", "ring" },
		{ "filter_engine", "COMPUTE", "VIDEO_ENCODE", "ring" },
		{ "watchlist", "0", "77", "ring" },
	};
	char path[64], want[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(path, sizeof(path), "config/%s", cases[i].key);
		is(put(path, cases[i].some), 0, "%s is set", cases[i].key);
		is_str(show("last_cmd_status", &root_view), "ok\n", "… to what there is");
		is(put(path, cases[i].none), 0, "to what there is not");
		snprintf(want, sizeof(want), "%s is set, but there is no such %s now\n",
			 cases[i].key, cases[i].what);
		is_str(show("last_cmd_status", &root_view), want, "… which is reported");
		is(put(path, ""), 0, "%s is empty", cases[i].key);
		is_str(show("last_cmd_status", &root_view), "ok\n", "… which is no slip");
	}
}

static void test_windows(void)
{
	is_str(show("config/aggregator_window", &root_view), "1000\n", "a window is a second");
	is(put("config/aggregator_window", "99"), -ERANGE, "too short");
	ok(strstr(show("last_cmd_status", &root_view), "100 to 60000"), "is reported: %s", text);
	is(put("config/aggregator_window", "60001"), -ERANGE, "too long");
	is(put("config/aggregator_window", "60000"), 0, "a minute");
	is(app.model->window_ns, 60000000000, "the model has it");
	is(put("config/aggregator_window", "1m"), 0, "the same with a unit");
	is(app.model->window_ns, 60000000000, "… is the same");
	is_str(show("config/aggregator_window", &root_view), "60000\n",
	       "it reads back in milliseconds");
	is(put("config/aggregator_window", "250000us"), 0, "a smaller unit");
	is_str(show("config/aggregator_window", &root_view), "250\n", "reads back alike");
	is(put("config/aggregator_window", "250500us"), -EINVAL, "no whole number of milliseconds");
	is(put("config/aggregator_window", "2h"), -ERANGE, "too long in hours");
	is(put("config/aggregator_window", "99999999999999999999s"), -ERANGE, "far too long");
	is(put("config/aggregator_window", "1K"), -EINVAL, "a unit of sizes");
	is(put("config/aggregator_window", "s"), -EINVAL, "a unit alone");
	is(put("config/sampling", "10s"), -EINVAL, "a percentage has no unit");
	is(put("config/history_size", "3M"), 0, "a size");
	is(put("config/sampling_mode", "adaptive\n"), 0, "a choice");
	is_str(show("config/sampling_mode", &root_view), "adaptive\n", "reads back");
	is_str(show("config/available_sampling_mode", &root_view), "static adaptive threshold\n",
	       "what there is to choose from");
	is(put("config/available_sampling_mode", "static"), -EACCES, "cannot be written");
	is(put("config/sampling_mode", "static [threshold]"), -EINVAL, "nor is it a choice");
	is(put("config/sampling_mode", "static"), 0, "back");
	is(put("config/aggregator_window", "60000"), 0, "a bare number is of milliseconds");
	is(put("config/aggregator_enable", "2"), -ERANGE, "neither on nor off");
	is(put("config/aggregator_enable", "0"), 0, "off");
	is(app.model->window_ns, 0, "there are no windows");
	is(put("config/aggregator_window", "130"), 0, "another length");
	is(app.model->window_ns, 0, "makes none");
	show("aggregate", &root_view);
	ok(strstr(squeeze(text), "\namdgpu0 ring0 gfx_0.0.0 - - - - - - - -\n"),
	   "nothing is known of any: %s", text);
	is(put("config/aggregator_enable", "1"), 0, "on");
	is(app.model->window_ns, 130000000, "it is of that length");
	ok(app.model->gpus[0]->rings[0]->cur.end % 130000000 == 0, "and begins now");
}

static void test_buffers(void)
{
	is_str(show("config/buffer_size", &root_view), "4096\n", "as its source has it");
	is(put("config/buffer_size", "8192"), 0, "asked");
	is_str(show("config/buffer_size", &root_view), "8192\n", "granted");
	is_str(show("last_cmd_status", &root_view), "ok\n", "and that is all");
	is(put("config/buffer_size", "4095"), -ERANGE, "too little");
	is(put("config/buffer_size", "1099511627776"), 0, "very much");
	is_str(show("config/buffer_size", &root_view), "1048576\n", "less is granted");
	is_str(show("last_cmd_status", &root_view), "ftrace grants 1048576\n",
	       "and that is reported");
	buffer_max[0] = -1;
	is(put("config/buffer_size", "8192"), -EBUSY, "refused");
	is_str(show("last_cmd_status", &root_view),
	       "config/buffer_size: ftrace keeps 1048576: it cannot now\n", "by whom, and why");
	is(conf.buffer_size, 1099511627776, "and nothing changes");
	buffer_max[1] = 1 << 16;
	is(put("config/buffer_size", "131072"), 0, "one refuses, one grants");
	is_str(show("last_cmd_status", &root_view),
	       "ftrace keeps 1048576: it cannot now; sim grants 65536\n", "which is reported");
	is_str(show("config/buffer_size", &root_view), "65536\n", "the least of what they have");
	buffer_max[0] = 1 << 20;
	is(put("config/buffer_size", "8192"), 0, "both grant");
	is_str(show("last_cmd_status", &root_view), "ok\n", "what was asked");
	ok(buffer_now[0] == 8192 && buffer_now[1] == 8192, "they have it");
	buffer_max[1] = 0;
}

static void test_profile(void)
{
	is_str(show("config/profile", &root_view), "custom\n", "none");
	is(put("config/profile", "debug"), 0, "a profile");
	is(asked_arg, GT_LEVEL_VERBOSE, "sources know its level");
	ok(conf.level == GT_LEVEL_VERBOSE && conf.sampling == 100, "it sets several");
	answer = -EIO;
	is(put("config/profile", "production"), -EIO, "another, which a source refuses");
	ok(strstr(show("last_cmd_status", &root_view), "level = normal: ") &&
		   strstr(text, "; nothing has changed"),
	   "is reported: %s", text);
	ok(conf.level == GT_LEVEL_VERBOSE && conf.sampling == 100 && conf.profile == 1,
	   "nothing has changed");
	answer = 0;
	is(put("config/sampling", "100"), 0, "a setting to what it is");
	is(conf.profile, 1, "changes no profile");
	is(put("config/aggregator_window", "500"), 0, "nor does one that no profile sets");
	is(conf.profile, 1, "none");
	is(put("config/sampling", "99"), 0, "another value");
	is_str(show("config/profile", &root_view), "custom\n", "makes it custom");
	is(put("config/profile", "production"), 0, "production");
	ok(conf.sampling == 10 && conf.level == GT_LEVEL_NORMAL, "narrows");
	is(put("config/profile", "custom"), 0, "custom");
	ok(conf.sampling == 10, "sets nothing");
	is(put("config/profile", "4"), -ERANGE, "no profile");
	is(put("config/profile", "fast"), -EINVAL, "nor this");
	is(put("config/sampling", "25"), 0, "as it was");
}

static void test_visibility(void)
{
	uint64_t gen = app.model->dir_gen;

	is_str(show("config/visibility", &root_view), "redacted\n", "visibility");
	is(put("config/visibility", "owner"), 0, "is a setting");
	is(conf.visibility, GT_VIS_OWNER, "that holds");
	ok(app.model->dir_gen != gen, "and directories are looked at anew");
	is(put("config/visibility", "none"), -EINVAL, "no visibility");
	is(put("config/visibility", "redacted"), 0, "as it was");
}

static void test_big_value(void)
{
	static char big[5000];

	memset(big, '7', sizeof(big));
	is(put_raw("config/sampling", big, 4097, &root_view, false), -E2BIG, "oversize");
	is(put_raw("config/sampling", big, 4096, &root_view, false), -ERANGE, "the largest value");
	ok(strstr(show("error_log", &root_view), "7777\"...\n"), "the log cuts it");
}

static void test_writelog(void)
{
	struct gt_view a = { .uid = 1,
			     .groups = 1,
			     .pid = (uint32_t)getpid(),
			     .own_pid = (uint32_t)getpid(),
			     .visibility = GT_VIS_ALL };
	struct gt_view b = { .uid = 2, .groups = 1, .visibility = GT_VIS_ALL };
	char want[256];
	const char *at;

	is(put_raw("config/sampling", "50%\n", 4, &a, false), -EINVAL, "refused");
	put_raw("config/sampling", "50%\n", 4, &a, true);
	put_raw("config/sampling", "\x1b[1m", 4, &b, false);
	ok(strstr(show("last_cmd_status", &a), "config/sampling: ") && strstr(text, "0 to 100"),
	   "the sentence: %s", text);
	snprintf(want, sizeof(want),
		 " config/sampling uid=1 pid=%d EINVAL\n    \"50%%\"\n       ^\n", getpid());
	at = strstr(show("error_log", &a), want);
	ok(at && strchr(text, ']'), "the log has place and caret");
	at = at ? strchr(at + strlen(want), '\n') : NULL; /* behind the sentence */
	is_str(at, "\n", "a repeated write is logged once");
	ok(!strstr(show("error_log", &a), "uid=2"), "others' entries are not shown");
	ok(strstr(show("error_log", &b), "\"\\033[1m\""), "values are quoted");
	ok(strstr(show("error_log", &root_view), "uid=1") && strstr(text, "uid=2"),
	   "root sees all");
	for (int i = 0; i < 20; i++)
		put_raw("config/sampling", "x", 1, &b, false);
	ok(!strstr(show("error_log", &b), "x1b"), "8 entries of a user are kept");
	ok(strstr(show("error_log", &root_view), "uid=1"),
	   "who writes much pushes out nobody else");
	b.uid = 3;
	is_str(show("last_cmd_status", &b), "ok\n", "who wrote nothing");
	for (uint32_t uid = 10; uid < 1000; uid++) {
		b.uid = uid;
		put_raw("config/sampling", "x", 1, &b, false);
	}
	ok(strstr(show("last_cmd_status", &b), "percent"), "the latest writer is remembered");
	is(gt_writelog_session((uint32_t)getpid()), getsid(0), "session of a process");
}

/* What is refused before it is parsed is shown as it was written. */
static void test_not_allowed(void)
{
	struct gt_view boxed = { .uid = 0, .there = true, .ns = 77, .own_pid = 5 };
	struct gt_view user = { .uid = 4, .visibility = GT_VIS_ALL };

	is(put_raw("config/sampling", "42\n", 3, &boxed, false), -EPERM, "from a container");
	ok(strstr(show("error_log", &boxed), "EPERM\n    \"42\"\n    settings are not"),
	   "its value is shown, and no place: %s", text);
	is(put_raw("config/sampling", "4\0\"", 3, &user, false), -EACCES, "by a user");
	ok(strstr(show("error_log", &user), "EACCES\n    \"4\\000\\042\"\n    uid 4 may not"),
	   "so is whatever it was: %s", text);
}

static const char *reported(struct gt_writelog *w, struct gt_view *v)
{
	struct gt_text t;

	gt_text_init(&t, 0);
	v->pid = (uint32_t)getpid();
	gt_writelog_show_status(w, &t, v);
	snprintf(text, sizeof(text), "%.*s", (int)t.len, t.buf ? t.buf : "");
	gt_text_free(&t);
	return text;
}

/* Root, a user, and root of containers, who writes from many sessions; then very many users. */
static void test_shares(void)
{
	struct gt_writelog *w = gt_writelog_new();
	struct gt_view root = { .all = true }, user = { .uid = 7 }, box = { .ns = 77 };
	uint32_t session = (uint32_t)getsid(0);

	gt_writelog_status(w, 0, GT_PIDNS_OWN, session, "root's");
	gt_writelog_status(w, 7, GT_PIDNS_OWN, session, "the user's");
	gt_writelog_status(w, 0, 77, session, "the box's");
	for (uint32_t i = 1; i <= 1000; i++)
		gt_writelog_status(w, 0, 77 + i % 100, 1000000 + i, "much");
	is_str(reported(w, &root), "root's\n", "root of containers pushes out neither root");
	is_str(reported(w, &user), "the user's\n", "nor a user");
	is_str(reported(w, &box), "ok\n", "but itself");
	for (uint32_t i = 1; i <= 200; i++)
		gt_writelog_status(w, 8 + i % 7, GT_PIDNS_OWN, 1000000 + i, "much");
	for (uint32_t i = 1; i <= 224; i++)
		gt_writelog_status(w, 1000 + i, GT_PIDNS_OWN, session, "another");
	is_str(reported(w, &user), "the user's\n", "where there is no room, who has most makes it");
	for (uint32_t i = 1; i <= 1000; i++)
		gt_writelog_status(w, 2000 + i, GT_PIDNS_OWN, session, "another");
	is_str(reported(w, &root), "root's\n", "root's stays whatever comes");
	is_str(reported(w, &user), "ok\n", "a user's not");
	gt_writelog_free(w);
}

static void test_control(void)
{
	const int64_t now = (int64_t)gt_model_now(app.model);
	const struct {
		const char *value;
		int what;
		int64_t arg;
	} seeks[] = {
		{ "seek +5s", GT_CTL_SEEK, now + 5000000000 },
		{ "seek -1500ms", GT_CTL_SEEK, now > 1500000000 ? now - 1500000000 : 0 },
		{ "seek -99999s", GT_CTL_SEEK, 0 },
		{ "seek 7us\n", GT_CTL_SEEK, 7000 },
		{ "seek  +3ns", GT_CTL_SEEK, now + 3 },
		{ "seek 2", GT_CTL_SEEK, 2000000000 },
		{ "seek 630659.230527001s", GT_CTL_SEEK, 630659230527001 },
		{ "seek 1.5ms", GT_CTL_SEEK, 1500000 },
		{ "pause", GT_CTL_PAUSE, 0 },
		{ "play", GT_CTL_RESUME, 0 },
	};
	static const char *const bad[] = { "seek",  "seek +", "seek 5m", "seek 5 s",
					   "seekx", "Start",  "" };

	is_str(show("control", &root_view), "start\n", "control reads");
	is(put("control", "stop"), 0, "stop");
	is(asked, GT_CTL_PAUSE, "the sources learn it");
	is_str(show("control", &root_view), "stop\n", "stopped");
	ok(strstr(show("status", &root_view), "state stopped\n"), "status says so");
	is(put("control", "start\n"), 0, "start");
	is(asked, GT_CTL_RESUME, "the sources learn it");
	is_str(show("available_control", &root_view), "start stop clear rescan\n", "what it takes");
	is(put("control", "clear"), 0, "clear");
	is(put("control", "rescan"), 0, "rescan");
	is(asked, GT_CTL_RESCAN, "is passed on");
	is_str(show("last_cmd_status", &root_view), "ok\n", "ok");
	is(put("control", "pause"), -EOPNOTSUPP, "pause without a replay");
	is(put("control", "seek 1s"), -EOPNOTSUPP, "seek without a replay");
	app.replay = true;
	is_str(show("control", &root_view), "play\n", "control of a replay");
	is_str(show("available_control", &root_view), "start stop clear rescan play pause seek\n",
	       "what it takes then");
	for (size_t i = 0; i < sizeof(seeks) / sizeof(seeks[0]); i++) {
		is(put("control", seeks[i].value), 0, "replay: case %zu", i);
		ok(asked == seeks[i].what && asked_arg == seeks[i].arg, "is passed on: %lld",
		   (long long)asked_arg);
	}
	seeks_slowly = true;
	is(put("control", "seek 7s"), 0, "a seek that takes long");
	is(put("control", "seek +1s"), 0, "another from where it goes");
	is(asked_arg, 8000000000, "not from where it is now");
	seeks_slowly = false;
	is(put("control", "seek +1s"), 0, "once it has ended");
	is(asked_arg, now + 1000000000, "from where it plays");
	is(put("control", "play"), 0, "play");
	refuse_seek = true;
	is(put("control", "seek 1"), -EOPNOTSUPP, "a seek that is refused");
	is_str(show("last_cmd_status", &root_view), "control: seek refused\n", "… says why");
	is_str(show("control", &root_view), "play\n", "… and does not stop it");
	is(asked, GT_CTL_RESUME, "… nor the sources");
	refuse_seek = false;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is(put("control", bad[i]), -EINVAL, "no command: \"%s\"", bad[i]);
	is(put("control", "seek 9223372037s"), -ERANGE, "seek too far");
	is(put("control", "seek 99999999999999999999"), -ERANGE, "and much too far");
	ok(strstr(show("status", &root_view), "state replaying\n"), "status of a replay");
	app.replay = false;
}

static uint64_t value_of(const char *key)
{
	char line[64];
	const char *p;

	snprintf(line, sizeof(line), "\n%s ", key);
	p = strstr(text, line);
	return p ? strtoull(p + strlen(line), NULL, 10) : UINT64_MAX;
}

static void test_about(void)
{
	struct gt_view other = { .uid = 78, .visibility = GT_VIS_REDACTED };
	unsigned int missing = 0;

	gate.n = (struct gt_gate_counts){ .seen = 100,
					  .recorded = 50,
					  .lost_source = 6,
					  .refused = { [GT_R_LEVEL] = 20,
						       [GT_R_RING] = 2,
						       [GT_R_CTX] = 3,
						       [GT_R_LATENCY] = 4,
						       [GT_R_SAMPLING] = 7,
						       [GT_R_THRESHOLD] = 3,
						       [GT_R_RATE] = 5 } };
	show("status", &root_view);
	is(value_of("events_recorded") + value_of("events_filtered_level") +
		   value_of("events_filtered") + value_of("events_sampled_out") +
		   value_of("events_rate_limited") + value_of("events_lost_source"),
	   value_of("events_seen"), "where every event went");
	is(value_of("queues"), 3, "status counts queues");
	is(value_of("ingest_cpu_ns"), 42, "and asks the host");
	ok(!strstr(text, "simulated"), "nothing is simulated");
	app.simulated = true;
	ok(strstr(show("status", &root_view), "simulated 1\n"), "status says simulated");
	ok(strstr(show("README", &root_view), "SIMULATED"), "README too");
	ok(strstr(show("doctor", &root_view), "simulated sim0"), "doctor too");
	app.simulated = false;
	ok(strstr(text, "backend sim unavailable\n  error not here:\n  error backend forged"),
	   "no backend's sentence makes a line of ours");
	show("README", &root_view);
	for (unsigned int k = 0; k < GT_NDIRS; k++)
		for (const struct gt_file *f = gt_tree_files[k]; f->name; f++) {
			missing += !f->help || !*f->help || !strstr(text, f->name);
			if (!f->help || !*f->help)
				printf("# no help: %s\n", f->name);
		}
	is(missing, 0, "README reports every file");
	ok(strstr(text, "cat /mnt/gpu/doctor"), "with this mount's own paths");
	show("clocks", &root_view);
	squeeze(text);
	ok(strstr(text, "\nftrace CLOCK_MONOTONIC 0 - - - -\n"),
	   "a backend's clock; what it does not tell is not known");
	ok(strstr(text,
		  "\nboottime CLOCK_BOOTTIME -3600000000000 30 60.000000000 - between_readings\n"
		  "boottime CLOCK_BOOTTIME 0 20 - 60.000000000 between_readings\n"
		  "realtime CLOCK_REALTIME 0 "),
	   "offsets before and after the machine slept");
	ok(strstr(text, "\nmonotonic_raw CLOCK_MONOTONIC_RAW 0 "),
	   "a clock with a rate of its own");
	ok(!strncmp(show("version", &root_view), "release ", 8), "version");
	ok(strstr(show("features", &root_view), "\nsampling\n"), "features");
	ok(strstr(show("features", &root_view),
		  "\nioctls\nruntime_calls\nkfd_queues\nnvidia_queues\n"),
	   "names of what BPF tells");
	ok(strstr(text, "\nsampling_modes\nrate_limit\nfilters\nwatchlists\n"),
	   "and of what the gate does");
	ok(strstr(text, "\ngpu_readings\nfdinfo\nkfd_processes\nsysroot\n"),
	   "and of what is read off");
	is_str(show("backends/sim/state", &root_view), "unavailable\n", "state of a backend");
	is_str(show("backends/ftrace/last", &root_view), "file 4 of 0\n", "a backend's own text");
	is_str(show("backends/ftrace/last", &other), "(error)", "is not for everybody");
}

static const char *init_perms(const char *rule, const char *value)
{
	static char err[256];

	err[0] = '\0';
	gt_conf_rules_free(conf.rules);
	conf.rules = NULL;
	if (gt_conf_rule_add(&conf.rules, NULL, strdup("conf:7"), rule, value, err, sizeof(err)) ||
	    gt_perms_init(&app, err, sizeof(err)))
		return err;
	return "";
}

static void test_perms(void)
{
	struct gt_view owner = { .uid = 77, .visibility = GT_VIS_ALL };
	struct gt_view member = { .uid = 78, .visibility = GT_VIS_ALL };
	struct gt_view there = { .uid = 0, .there = true, .visibility = GT_VIS_ALL };
	struct gt_entry e;

	if (geteuid()) {
		printf("ok %d - # skip lines of [access] hold in root's mounts\n", ++tap_count);
		return;
	}
	is(put_raw("config/sampling", "30", 2, &member, false), -EACCES, "no member of the group");
	ok(strstr(show("last_cmd_status", &member), "mode 0664, uid 0, gid 12345"), "says why: %s",
	   text);
	member.groups = 1;
	is(put_raw("config/sampling", "30", 2, &member, false), 0, "a member may");
	is_str(init_perms("config/samp*", "0640 77:99"), "", "a line of [access]");
	is(find("config/sampling", &root_view, &e), 0, "the file");
	ok(e.mode == (S_IFREG | 0640) && e.uid == 77 && e.gid == 99, "has mode, owner and group");
	is(find("config/level", &root_view, &e), 0, "another file");
	ok(e.mode == (S_IFREG | 0664) && e.uid == 0 && e.gid == 12345, "has not");
	is(put_raw("config/sampling", "31", 2, &owner, false), 0, "its owner may");
	is(put_raw("config/sampling", "32", 2, &member, false), -EACCES,
	   "who is in the usual group may not");
	member.groups = 2;
	is(put_raw("config/sampling", "32", 2, &member, false), -EACCES,
	   "nor who is in its group, which may only read");
	is(put_raw("config/sampling", "33", 2, &root_view, false), 0, "root may");
	there.ns = 1;
	is(put_raw("config/sampling", "34", 2, &there, false), -EPERM,
	   "a container's root may not");
	is(conf.sampling, 33, "what is refused changes nothing");
	is_str(init_perms("*/*/cpu", "0600"), "", "an option of a backend");
	is(find("backends/ftrace/cpu", &root_view, &e), 0, "is there");
	is(e.mode, S_IFREG | 0600, "and has its mode");
	is_str(init_perms("config/samplng", "0600"), "conf:7: there is no setting 'config/samplng'",
	       "a setting that is not there");
	is_str(init_perms("*/status", "0600"), "conf:7: there is no setting '*/status'",
	       "a file that is no setting");
	is_str(init_perms("/status", "0600"), "conf:7: there is no setting '/status'",
	       "nor with a slash before it");
	gt_conf_rules_free(conf.rules);
	conf.rules = NULL;
}

int main(void)
{
	make_machine();
	gt_access_init(&app, 12345);
	test_settings();
	test_names_nothing();
	test_windows();
	test_buffers();
	test_visibility();
	test_profile();
	test_big_value();
	test_writelog();
	test_not_allowed();
	test_shares();
	test_control();
	test_about();
	test_perms();
	is(locked_calls, 0, "the host is never called with the model's lock held");
	free_machine();
	return done_testing();
}
