/* SPDX-License-Identifier: GPL-2.0 */
/* fs/tree: names, inode numbers, positions, owners and views. */
#include "../../fs/tree/internal.h"
#include "treewalk.h"

static void test_by_id(void)
{
	struct gt_gpu *a = app.model->gpus[0], *b = app.model->gpus[1];
	struct gt_view someone = { .uid = 1000, .visibility = GT_VIS_REDACTED };
	struct gt_entry e;

	is(find("by-id", &root_view, &e), -ENOENT, "no GPU has another name: no by-id");
	snprintf(a->pci, sizeof(a->pci), "0000:03:00.0");
	snprintf(a->card, sizeof(a->card), "card1");
	snprintf(a->render, sizeof(a->render), "renderD129");
	snprintf(a->uuid, sizeof(a->uuid), "GPU-1/2");
	a->kfd_id = 51221;
	snprintf(b->pci, sizeof(b->pci), "0000:03:00.0");
	snprintf(b->card, sizeof(b->card), "..");
	is_str(list("by-id", &root_view), "0000:03:00.0 card1 renderD129 GPU-1%2F2 kfd-51221 %2E. ",
	       "all names; of one that two have, one");
	ok(!find("by-id/kfd-51221", &root_view, &e) && e.kind == GT_ENTRY_LINK, "a link");
	is_str(e.target, "../amdgpu0", "to its GPU");
	ok(!find("by-id/0000:03:00.0", &root_view, &e) && !strcmp(e.target, "../amdgpu0"),
	   "what two have is the first one's");
	a->gone = true;
	ok(!find("by-id/0000:03:00.0", &root_view, &e) && !strcmp(e.target, "../i915-0"),
	   "until it goes");
	is(find("by-id/card1", &root_view, &e), -ENOENT, "nothing is left of it");
	is_str(list("by-id", &someone), "0000:03:00.0 %2E. ", "for everybody");
	a->gone = false;
}

static void test_names(void)
{
	static const char *const missing[] = {
		"nothing",
		"amdgpu1",
		"amdgpu0/ring3",
		"amdgpu0/ring00",
		"amdgpu0/ring",
		"amdgpu0/ring-1",
		"amdgpu0/ring 0",
		"amdgpu0/ring65536",
		"proc/0100",
		"proc/+100",
		"proc/101",
		"proc/4294967396",
		"proc/",
		"amdgpu0/proc/200",
		"amdgpu0/queues/8",
		"amdgpu0/queues/07",
		"backends/x",
		"backends/ftrace/secret",
		"config/nothing",
		"amdgpu0/by-name/gfx",
		"proc/100/queues/7",
	};
	struct gt_entry e;
	char longname[300];

	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (strcmp(missing[i], "proc/"))
			is(find(missing[i], &root_view, &e), -ENOENT, "%s is not there",
			   missing[i]);
	memset(longname, 'x', sizeof(longname) - 1);
	longname[sizeof(longname) - 1] = '\0';
	is(find(longname, &root_view, &e), -ENAMETOOLONG, "a long name");
	is_str(list("amdgpu0/by-name", &root_view), "gfx_0.0.0 a%2Fb%25%FF %2E. ",
	       "escaped ring names");
	ok(!find("amdgpu0/by-name/a%2Fb%25%FF", &root_view, &e) && e.kind == GT_ENTRY_LINK,
	   "by-name");
	is_str(e.target, "../ring1", "by-name links to its ring");
	is_str(list("proc/100/queues", &root_view), "amdgpu0-7 i915-0-9 ", "queues of a process");
	ok(!find("proc/100/queues/i915-0-9", &root_view, &e), "one of them");
	is_str(e.target, "../../../i915-0/queues/9", "links to its GPU");
	ok(!find("amdgpu0/proc/100/queues/7", &root_view, &e), "the same in a GPU");
	is_str(e.target, "../../../queues/7", "links within it");
	is_str(list("amdgpu0/proc", &root_view), "100 300 ", "processes of a GPU");
	is_str(list("i915-0/proc", &root_view), "100 200 ", "a queue alone counts too");
	is_str(list("backends/ftrace", &root_view),
	       "state version stats last_error clock_offset cpu path seen last made ",
	       "a backend's options and texts are files");
	ok(!find("backends/ftrace/seen", &root_view, &e) && e.mode == (S_IFREG | 0444) && !e.shared,
	   "a text of its own is each caller's own");
	is(find("backends/ftrace/nothing", &root_view, &e), -ENOENT, "one that nobody writes");
}

static void test_links(void)
{
	struct gt_view v = { .uid = 1000, .pid = 100, .own_pid = 100, .visibility = GT_VIS_OWNER };
	struct gt_entry e;

	ok(!find("self", &v, &e) && e.kind == GT_ENTRY_LINK && !e.shared, "self");
	is_str(e.target, "proc/100", "self is the reader");
	v.own_pid = 0;
	ok(!find("self", &v, &e), "self without a pid");
	is(find(e.target, &v, &e), -ENOENT, "dangles");
}

/* A reader of a live tree without GPU work */
static void test_own(void)
{
	const struct gt_view v = {
		.uid = 1000, .pid = 555, .own_pid = 55, .visibility = GT_VIS_OWNER
	};
	const struct gt_view other = { .uid = 1000, .pid = 556, .own_pid = 56 };
	const struct gt_view again = { .uid = 1000, .pid = 100, .own_pid = 100 };
	struct gt_entry e, f;
	struct gt_show s = { .app = &app, .view = other };
	uint32_t dead;

	is(find("proc/55/stats", &v, &e), -ENOENT, "in a recording the reader has no directory");
	app.model->wall = true;
	is_str(show("proc/55/stats", &v),
	       "submitted 0\ncompleted 0\nin_flight 0\n"
	       "errors 0\nlost 0\ngiven_up 0\ndropped_table_full 0\nbegin_unseen 0\nended_unseen "
	       "0\nbusy_ns 0\n",
	       "self: it did nothing");
	is_str(show("proc/55/latency", &v),
	       "gpu ring stage count total_ns avg_ns p50_ns p90_ns p99_ns max_ns\n",
	       "self: and waited for nothing");
	is_str(show("proc/55/uid", &v), "1000\n", "self: who it is");
	ok(!strncmp(show("proc/55/blame", &v), "waiter_pid ", 11) && !strstr(text, "\n55"),
	   "self: blame has no row");
	ok(strchr(show("proc/55/report", &v), '\n')[1] == '\0', "self: nor has report");
	is(find("proc/56", &v, &e), -ENOENT, "another's is not there");
	is(find("proc/555", &v, &e), -ENOENT, "nor its own by another's pid");
	is(find("amdgpu0/proc/55", &v, &e), -ENOENT, "nor below a GPU");
	is(find("proc/55/queues", &v, &e), -ENOENT, "it has no queues");
	ok(!strstr(list("proc", &v), "55"), "it is not listed");
	ok(!find("proc/55", &v, &e) && !find("proc/56", &other, &f) && e.ino == f.ino && !e.shared,
	   "however many there are, it is one directory");
	is(gt_tree_lookup(&app, &e.obj, "stats", &root_view, &f), -EACCES,
	   "who has no pid is not in it");
	ok(gt_tree_alive(&app, &e.obj), "it stays");
	is(gt_tree_scope(&app, &e.obj, &v).pid, 555, "its pipes are the reader's");
	s.obj = e.obj;
	is(gt_obj_proc(&s)->pid, 556, "another who has it open finds themself");
	s.view = again;
	is(gt_obj_proc(&s)->first_ts != GT_NONE64, 1, "who has GPU work since, that");
	ok(!find("proc/100/queues", &again, &e), "who had it before has the usual one");
	dead = e.obj.id;
	app.model->procs[dead]->dead = true;
	ok(!find("proc/100", &again, &e) && gt_obj_is_own(&e.obj),
	   "one that died with this pid was another");
	app.model->procs[dead]->dead = false;
	app.model->wall = false;
}

static void test_attributes(void)
{
	static const struct gt_view bare = { .all = true };
	struct gt_entry e;

	ok(!find("", &root_view, &e) && e.ino == 1 && e.mode == (S_IFDIR | 0555) && e.shared,
	   "root");
	ok(!find("config/level", &root_view, &e) && e.mode == (S_IFREG | 0664) && e.uid == getuid(),
	   "a setting");
	ok(!find("proc/100", &root_view, &e) && e.uid == 1000 && e.mode == (S_IFDIR | 0550) &&
		   !e.shared,
	   "a process's directory is its user's");
	ok(!find("proc/100/stats", &root_view, &e) && e.uid == 1000, "and the files in it");
	ok(!find("proc/300", &root_view, &e) && e.uid == getuid(), "a user that is not known");
	ok(!find("proc/100", &bare, &e) && e.mode == (S_IFDIR | 0550), "whoever looks at it");
	conf.visibility = GT_VIS_ALL;
	ok(!find("proc/100", &bare, &e) && e.mode == (S_IFDIR | 0555), "visibility all: open");
	conf.visibility = GT_VIS_REDACTED;
	ok(!find("backends/ftrace/cpu", &root_view, &e) && e.mode == (S_IFREG | 0664), "option");
	is_str(e.file->name, "cpu", "its description is there");
	ok(!find("backends/ftrace/path", &root_view, &e) && e.mode == (S_IFREG | 0444),
	   "fixed option");
	ok(!find("last_cmd_status", &root_view, &e) && !e.shared, "a file that differs by caller");
	ok(!find("status", &root_view, &e) && e.shared, "one that does not");
	is(gt_tree_nlink(&gt_tree_root), 1, "nlink of a directory that changes");
	ok(!find("amdgpu0/ring0", &root_view, &e) && gt_tree_nlink(&e.obj) == 2, "of a ring");
	ok(!find("proc/100", &root_view, &e) && gt_tree_nlink(&e.obj) == 3, "of a process");
}

static void test_scope(void)
{
	struct gt_scope s;
	struct gt_entry e;

	s = gt_tree_scope(&app, &gt_tree_root, &root_view);
	ok(s.gpu == GT_NONE16 && s.ring == GT_NONE16 && s.pid == GT_NONE32 && s.queue == GT_NONE32,
	   "scope of the root");
	find("amdgpu0/ring1", &root_view, &e);
	s = gt_tree_scope(&app, &e.obj, &root_view);
	ok(s.gpu == 0 && s.ring == 1 && s.pid == GT_NONE32, "of a ring");
	find("i915-0/queues/9", &root_view, &e);
	s = gt_tree_scope(&app, &e.obj, &root_view);
	ok(s.gpu == 1 && s.queue == 9 && s.ring == GT_NONE16, "of a queue");
	find("amdgpu0/proc/100", &root_view, &e);
	s = gt_tree_scope(&app, &e.obj, &root_view);
	ok(s.gpu == 0 && s.pid == 100, "of a process in a GPU");
}

static void test_views(void)
{
	struct gt_view redacted = { .uid = 1000, .visibility = GT_VIS_REDACTED };
	struct gt_view owner = { .uid = 1000, .visibility = GT_VIS_OWNER };
	struct gt_view all = { .uid = 1000, .visibility = GT_VIS_ALL };
	struct gt_entry e;

	is_str(list("proc", &redacted), "100 200 300 ", "redacted: others are listed");
	ok(!find("proc/200", &redacted, &e), "and can be looked at");
	is(find("proc/200/stats", &redacted, &e), -EACCES, "but not into");
	is(find("proc/300/stats", &redacted, &e), -EACCES, "nor whose user is not known");
	ok(!find("proc/100/stats", &redacted, &e), "one's own can");
	is_str(list("proc/200", &redacted), "(error)", "nor listed");
	is_str(list("proc", &owner), "100 ", "owner: others are not there");
	is(find("proc/200", &owner, &e), -ENOENT, "by name neither");
	is_str(list("i915-0/queues", &owner), "9 ", "nor their queues");
	is(find("i915-0/queues/7", &owner, &e), -ENOENT, "by name neither");
	is_str(list("i915-0/queues", &redacted), "7 9 ", "redacted: queues are");
	ok(!find("proc/200/stats", &all, &e), "all: everything is open");
	is_str(list("proc", &root_view), "100 200 300 ", "root sees all");
}

/* One name at a time, while processes come and go: who stays is listed once. */
static void test_positions(void)
{
	struct names one = { .max = 1 };
	unsigned int seen100 = 0, seen200 = 0, seen300 = 0, rounds = 0;
	struct gt_entry e;
	uint64_t pos = 0;

	find("proc", &root_view, &e);
	do {
		memset(&one, 0, sizeof(one));
		one.max = 1;
		gt_tree_readdir(&app, &e.obj, &root_view, pos, collect, &one);
		pos = one.next;
		seen100 += !strcmp(one.all, "100 ");
		seen200 += !strcmp(one.all, "200 ");
		seen300 += !strcmp(one.all, "300 ");
		GT_MODEL_LOCK(app.model);
		if (rounds < 20)
			make_proc(1000 + rounds, 1, GT_NONE16);
	} while (one.n && ++rounds < 100);
	ok(seen100 == 1 && seen200 == 1 && seen300 == 1, "each is listed once");
	ok(rounds < 100, "and the listing ends");
	for (pos = 0; pos < 8ULL << 24; pos += 999983)
		gt_tree_readdir(&app, &e.obj, &root_view, pos, collect, &one);
	find("backends/ftrace", &root_view, &e);
	for (pos = 0; pos < 8ULL << 24; pos += 999983)
		gt_tree_readdir(&app, &e.obj, &root_view, pos, collect, &one);
	gt_tree_readdir(&app, &e.obj, &root_view, UINT64_MAX, collect, &one);
	ok(true, "positions that never were given do no harm");
}

static void test_gone(void)
{
	struct gt_entry e;
	struct gt_obj proc, gpu;
	ino_t ino;

	find("proc/1000", &root_view, &e);
	proc = e.obj;
	ino = e.ino;
	ok(gt_tree_alive(&app, &proc), "a process");
	{
		GT_MODEL_LOCK(app.model);
		gt_model_exit(app.model, proc.id);
	}
	ok(gt_tree_alive(&app, &proc), "a dead one stays for a while");
	gt_model_advance(app.model, 200000000000);
	{
		GT_MODEL_LOCK(app.model);
		gt_model_reap(app.model);
	}
	ok(!gt_tree_alive(&app, &proc), "then it has gone");
	is(gt_tree_entry(&app, &proc, &root_view, &e), -ENODEV, "its directory too");
	is(gt_tree_lookup(&app, &proc, "stats", &root_view, &e), -ENODEV, "and what was in it");
	is(find("proc/1000", &root_view, &e), -ENOENT, "and its name");
	{
		GT_MODEL_LOCK(app.model);
		make_proc(5555, 1000, GT_NONE16);
	}
	ok(!find("proc/5555", &root_view, &e) && e.obj.id == proc.id && e.ino != ino,
	   "who gets its slot gets no inode number of it");
	find("i915-0", &root_view, &e);
	gpu = e.obj;
	app.model->gpus[1]->gone = true;
	is(gt_tree_entry(&app, &gpu, &root_view, &e), -ENODEV, "a GPU that has gone");
	is(find("i915-0", &root_view, &e), -ENOENT, "by name");
	is_str(list("proc/100/queues", &root_view), "amdgpu0-7 ", "and links to its queues");
	app.model->gpus[1]->gone = false;
}

/* What a cgroup's path says has files, and only that. */
static void test_container(void)
{
	struct gt_entry e;

	{
		GT_MODEL_LOCK(app.model);
		gt_model_process(app.model, 100, 1000, 1000, NULL,
				 "/system.slice/slurmstepd.scope/job_7/step_0", 1);
	}
	is_str(show("proc/100/runtime", &root_view), "slurm\n", "runtime");
	is_str(show("proc/100/job", &root_view), "7.0\n", "job");
	is_str(show("proc/100/unit", &root_view), "slurmstepd.scope\n", "unit");
	is_str(show("amdgpu0/proc/100/job", &root_view), "7.0\n", "below a GPU too");
	is(find("proc/100/container", &root_view, &e), -ENOENT, "no container");
	is(find("proc/100/pod", &root_view, &e), -ENOENT, "no pod");
	is(find("proc/200/runtime", &root_view, &e), -ENOENT, "a path that says nothing");
}

/* Totals: only for who may know of every process in them */
static void test_groups(void)
{
	static const struct gt_ns box = { 1, { 77 } };
	struct gt_view anna = { .uid = 31, .visibility = GT_VIS_REDACTED }, there = anna,
		       all = anna;
	struct gt_view owner = { .uid = 31, .visibility = GT_VIS_OWNER };
	struct gt_entry e;
	struct gt_obj o;

	{
		GT_MODEL_LOCK(app.model);
		gt_model_process(app.model, 3101, 31010, 31, "a", "/s/anna/x y", 0);
		gt_model_process(app.model, 3102, 1, 31, "a", "/s/anna/stats", 0);
		gt_model_process_in(app.model, 3201, 1, 32, "b", "/s/box", 0, &box);
		make_proc(3101, 31, 0);
	}
	there.ns = 77;
	there.uid = 0;
	there.there = true;
	all.visibility = GT_VIS_ALL;
	ok(strstr(list("users", &root_view), "31 32 "), "root sees users");
	ok(strstr(list("users", &all), "31 32 "), "all: everybody");
	is_str(list("users", &anna), "31 ", "a user sees the own");
	is_str(list("users", &owner), "31 ", "owner: too");
	is_str(list("users", &there), "32 ", "in a namespace: that of its processes");
	is(find("users/32", &anna, &e), -ENOENT, "by name neither");
	is(find("users/031", &root_view, &e), -ENOENT, "a name that is none");
	ok(strstr(show("users/31/stats", &anna), "submitted 1\n"), "what is counted");
	show("users/31/latency", &anna);
	ok(strstr(squeeze(text), "\namdgpu0 ring0 total 0 0 - - - - -\n"), "latency");
	ok(strstr(show("users/31/utilization", &anna), "amdgpu0 ring0 "), "utilization");
	is_str(list("cgroups", &anna), "s ", "cgroups: those on the way, without their totals");
	is_str(list("cgroups/s", &anna), "anna ", "to the own");
	is(find("cgroups/stats", &anna, &e), -ENOENT, "no total of others");
	is(find("cgroups/s/stats", &anna, &e), -ENOENT, "nor on the way");
	is(find("cgroups/s/box", &anna, &e), -ENOENT, "nor another's group");
	is_str(list("cgroups/s/anna", &anna), "stats latency latency_10s utilization x y %73tats ",
	       "a cgroup called as a file");
	ok(strstr(show("cgroups/s/anna/stats", &anna), "submitted 1\n"), "all below counts");
	ok(strstr(show("cgroups/s/anna/%73tats/stats", &anna), "submitted 0\n"), "not beside");
	is_str(list("cgroups/s", &there), "box ", "in a namespace: that of its processes");
	is_str(list("cgroups/s/box", &there), "stats latency latency_10s utilization ",
	       "with its total");
	there.ns = GT_PIDNS_NONE;
	is_str(list("cgroups", &there), "", "of nobody known: nothing");
	is_str(list("users", &there), "", "no users either");
	ok(strstr(show("cgroups/stats", &root_view), "submitted "), "root sees the total of all");
	ok(!find("users/31", &anna, &e) && !e.shared, "shared with nobody");
	o = e.obj;
	is(gt_tree_entry(&app, &o, &owner, &e), 0, "it is the same for the same user");
	owner.uid = 33;
	is(gt_tree_entry(&app, &o, &owner, &e), -ENOENT, "not for another who has its directory");
}

static bool count_one(void *arg, const char *name, ino_t ino, mode_t type, uint64_t next)
{
	++*(unsigned int *)arg;
	return true;
}

static void test_many(void)
{
	struct gt_gpu *g;
	struct gt_entry e;
	char name[64];
	unsigned int n = 0;

	{
		GT_MODEL_LOCK(app.model);
		g = make_gpu("big0");
		for (unsigned int i = 0; i < 256; i++) {
			snprintf(name, sizeof(name), "ring_%u", i);
			make_ring(g, name);
		}
		for (uint32_t i = 0; i < 5000; i++)
			make_proc(20000 + i, 1000, 2);
	}
	find("big0/proc", &root_view, &e);
	gt_tree_readdir(&app, &e.obj, &root_view, 0, count_one, &n);
	is(n, 5000, "5,000 processes are listed");
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "%u", 20000 + i);
		n -= gt_tree_lookup(
			     &app,
			     &(struct gt_obj){ .kind = GT_DIR_PROCS, .gpu = 2, .ring = GT_NONE16 },
			     name, &root_view, &e) == 0;
	}
	is(n, 0, "and looked up");
	find("big0", &root_view, &e);
	gt_tree_readdir(&app, &e.obj, &root_view, 0, count_one, &n);
	ok(n >= 256 + 3, "256 rings are listed");
}

int main(void)
{
	make_machine();
	test_walk();
	test_by_id();
	test_names();
	test_links();
	test_own();
	test_attributes();
	test_scope();
	test_views();
	test_container();
	test_groups();
	test_positions();
	test_gone();
	test_many();
	test_walk();
	is(locked_calls, 0, "the host is never called with the model's lock held");
	free_machine();
	return done_testing();
}
