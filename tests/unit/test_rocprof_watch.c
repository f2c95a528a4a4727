/* SPDX-License-Identifier: GPL-2.0 */
/* Results in folders that are watched: looked for, read, read on, given up. */
#include <signal.h>
#include <sys/inotify.h>

#include "../../backend/lib/sandbox.h"
#include "../../backend/rocprof/rocprof.h"
#include "../../backend/rocprof/jobs.h"
#include "../lib/held.h"
#include "../lib/rocprof_host.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

#define SECOND 1000000000ull
#define HEAD   "Kind,Agent_Id,Queue_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n"
#define ROW    "KERNEL_DISPATCH,Agent 4,1,k,1000,1500\n"

static char dir[TMP_PATH_MAX];
static struct ph h;

static struct rp *rp(void)
{
	return h.p.priv;
}

static const char *at(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void append(const char *name, const char *text)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		perror(name);
	close(fd);
}

static bool is_busy(void)
{
	bool due = rp()->reading || rp()->dirty;

	for (unsigned int i = 0; i < rp()->files.n; i++)
		due |= rp()->files.file[i].changed && rp()->files.file[i].there;
	return due;
}

/* Until all is read that there is; some time has passed then. While another process reads, only real
 * time passes: otherwise that process would be given up before it had its turn. */
static void settle(void)
{
	rp_watch_look(rp());
	for (int i = 0; i < 120000 && is_busy(); i++) {
		if (rp()->reading)
			usleep(500);
		else
			h.ahead += SECOND / 100;
		rp_drain(&h.p);
	}
	ok(!is_busy(), "all is read");
}

static struct rp_file *file(const char *end)
{
	for (unsigned int i = 0; i < rp()->files.n; i++)
		if (strstr(rp()->files.file[i].path, end))
			return &rp()->files.file[i];
	return NULL;
}

static void follow(void)
{
	ph_init(&h);
	h.opt.dirs = dir;
	is(rp_start(&h.p), 0, "a folder is watched");
}

static void done(const char *name)
{
	ph_done(&h);
	unlink(at(name));
}

/* Inodes' numbers are used again: of another owner, or of another time, it is another file */
static void test_inode_again(void)
{
	char was[512];

	follow();
	append("1_kernel_trace.csv", HEAD ROW);
	settle();
	is(h.types[GT_DISPATCH], 1, "a row is reported");
	append("1_kernel_trace.csv", ROW);
	settle();
	is(h.types[GT_DISPATCH], 2, "and the next one when it comes, alone");
	snprintf(was, sizeof(was), "%s", at("1_kernel_trace.csv"));
	rename(was, at("2_kernel_trace.csv"));
	append("2_kernel_trace.csv", ROW);
	settle();
	is(h.types[GT_DISPATCH], 3, "by another name it is read on");
	file("2_kernel")->uid++;
	append("2_kernel_trace.csv", ROW);
	settle();
	is(h.types[GT_DISPATCH], 7, "another user's of that inode is read from its beginning");
	if (file("2_kernel")->born) {
		file("2_kernel")->born++;
		append("2_kernel_trace.csv", ROW);
		settle();
		is(h.types[GT_DISPATCH], 12, "as is one that was made at another time");
		file("2_kernel")->born = 0;
		append("2_kernel_trace.csv", ROW);
		settle();
		is(h.types[GT_DISPATCH], 13, "but not one of which that was not reported once");
		ok(file("2_kernel")->born, "… and now is");
	}
	is(rp()->files.n, 1, "what was before it is forgotten");
	done("2_kernel_trace.csv");
}

/* What inotify does not report is found, and what could not be opened is tried again */
static void test_anyway(void)
{
	char gone[1024], lost[4096];

	follow();
	settle();
	append("8_kernel_trace.csv", HEAD ROW);
	ok(read(rp()->files.inotify, lost, sizeof(lost)) > 0, "what inotify reports is lost");
	h.ahead += 31 * SECOND;
	rp_drain(&h.p);
	ok(file("8_kernel") != NULL, "a file that nothing reported is found");
	settle();
	is(h.types[GT_DISPATCH], 1, "… and read");

	append("8_kernel_trace.csv", ROW);
	rp_watch_look(rp());
	snprintf(gone, sizeof(gone), "%s.gone", at("8_kernel_trace.csv"));
	rename(at("8_kernel_trace.csv"), gone);
	rp_drain(&h.p); /* it is due, and not there */
	rename(gone, at("8_kernel_trace.csv"));
	is_str(file("8_kernel")->state, "gone", "one that cannot be opened is not read");
	settle();
	is(h.types[GT_DISPATCH], 2, "… and read when it can be");
	done("8_kernel_trace.csv");
}

/* The reader ends in the middle of its work: what was reported is not reported again */
static void test_failed(void)
{
	const struct rp_file *f;
	uint64_t reported;

	follow();
	for (int i = 0; i < 50; i++) { /* it may be done before it is killed */
		append("3_kernel_trace.csv", i ? ROW : HEAD ROW);
		rp_watch_look(rp());
		rp_drain(&h.p);
		if (rp()->reading)
			kill(rp()->reader[0].child.pid, SIGKILL);
		settle();
		if (!strcmp(file("3_kernel")->state, "failed"))
			break;
	}
	f = file("3_kernel");
	is_str(f->state, "failed", "a reader that fails is reported");
	ok(strstr(h.error, "signal 9") || strstr(h.error, "failed"), "… why: %s", h.error);
	reported = h.types[GT_DISPATCH];
	append("3_kernel_trace.csv", ROW);
	append("4_kernel_trace.csv", HEAD ROW);
	settle();
	is(h.types[GT_DISPATCH], reported + 1,
	   "other results are read, and nothing is reported again");
	ok(strstr(file("3_kernel")->error, "not read again"), "… which is reported");
	ph_done(&h);
	unlink(at("3_kernel_trace.csv"));
	unlink(at("4_kernel_trace.csv"));
}

static void test_groups(void)
{
	struct rp_files f = { .live = true, .inotify = -1, .groups = GT_NONE16 - 3 };
	const struct rp_file *a;
	char path[64];
	bool twice = false, none = false;

	ph_init(&h);
	for (unsigned int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/run%u/1_kernel_trace.csv", i);
		rp_file_add(&h.p, &f, path, 7);
	}
	for (unsigned int i = 0; i < f.n; i++) {
		none |= f.file[i].source.group == GT_NONE16;
		for (unsigned int k = 0; k < i; k++)
			twice |= f.file[k].source.group == f.file[i].source.group;
	}
	ok(f.n == 8 && !twice && !none, "runs have numbers of their own when these begin anew");
	f.groups = f.file[7].source.group; /* which is in use */
	a = rp_file_add(&h.p, &f, "/run8/1_kernel_trace.csv", 7);
	ok(a->source.group != f.file[7].source.group, "one that is in use is not given");
	is(rp_file_add(&h.p, &f, "/run8/1_agent_info.csv", 7)->source.group, f.file[8].source.group,
	   "the files of a run have one");
	ok(rp_file_add(&h.p, &f, "/run8/1_hip_api_trace.csv", 8)->source.group !=
		   f.file[8].source.group,
	   "but not two users'");
	rp_files_free(&f);
}

/* A folder that two ways lead to is one, and is watched though there is no room for another */
static void test_watches(void)
{
	static struct rp_files f = { .live = true };
	int one = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int other = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	f.inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	f.watches = RP_WATCHES - 1;
	ok(rp_watch_folder(&f, one) && f.watches == RP_WATCHES, "a folder takes the last room");
	ok(rp_watch_folder(&f, one), "it is watched when it is met again");
	ok(!rp_watch_folder(&f, other) && f.watches == RP_WATCHES, "another one is not");
	close(one);
	close(other);
	close(f.inotify);
}

/* Readers ----------------------------------------------------------------------------------------
 */

/* A killed process ends late on a busy machine */
static void wait_for_all(void)
{
	for (int i = 0; i < 60000 && gt_reap_left(); i++)
		usleep(1000);
}

/* As many hang as may: nothing is opened for a reader that cannot begin, and it is reported once */
static void test_full(void)
{
	struct rp_child c = { .fd = -1 };
	struct rp_source s = { .fd = -1 };
	pid_t pid[RP_CHILDREN_LEFT];
	unsigned int tries = 0;

	wait_for_all();
	for (unsigned int i = 0; i < RP_CHILDREN_LEFT; i++)
		gt_reap_leave(pid[i] = sleeper());
	ph_init(&h);
	is(rp_child_start(&h.p, &c, &s, 1, 1), -EBUSY, "no more begin than may hang");
	rp_child_end(&c, NULL);
	append("5_kernel_trace.csv", HEAD ROW);
	follow();
	for (uint64_t end = SECOND * 60; h.ahead < end && tries < 1000; tries++) {
		rp_drain(&h.p);
		h.ahead += h.timer;
	}
	is(h.errors, 1, "which is reported once");
	ok(tries > 2 && tries < 60, "it is tried again, every few seconds: %u in a minute", tries);
	is_str(file("5_kernel")->state, "waiting", "what is there waits");
	ph_done(&h);
	is(gt_reap_left(), RP_CHILDREN_LEFT, "a stop of the backend does not forget them");
	follow();
	for (unsigned int i = 0; i < RP_CHILDREN_LEFT; i++)
		kill(pid[i], SIGKILL);
	wait_for_all();
	is(gt_reap_left(), 0, "until they have ended");
	settle();
	is(h.types[GT_DISPATCH], 1, "then it is read");
	done("5_kernel_trace.csv");
}

/* A reader with little of the CPU is not waited for when it is ended: its user's next one begins when it is gone */
static void test_left(void)
{
	struct rp_child c = { .fd = -1, .idle = true };
	struct rp_user *u;
	siginfo_t si;
	pid_t left;

	c.pid = sleeper();
	left = rp_child_end(&c, NULL);
	ok(left && waitpid(left, NULL, 0) == left, "an idle reader is killed");
	c.pid = sleeper();
	kill(c.pid, SIGKILL);
	waitid(P_PID, (id_t)c.pid, &si, WEXITED | WNOWAIT);
	left = c.pid;
	ok(!rp_child_end(&c, NULL) && waitpid(left, NULL, WNOHANG) < 0,
	   "one that has ended is no more");

	follow();
	u = rp_user_of(rp(), getuid());
	left = u->left = sleeper();
	u->left_at = ph_now(&h.p);
	append("7_kernel_trace.csv", HEAD ROW);
	for (int i = 0; i < 50; i++) {
		rp_drain(&h.p);
		h.ahead += SECOND / 10;
	}
	is_str(file("7_kernel")->state, "waiting",
	       "where one of the user's is left no other begins");
	kill(left, SIGKILL);
	settle();
	is(h.types[GT_DISPATCH], 1, "until it has ended");
	is(u->left, 0, "and nothing of it is left");
	left = u->left = sleeper();
	u->left_at = ph_now(&h.p);
	h.ahead += 60 * SECOND;
	rp_drain(&h.p);
	ok(!u->left && gt_reap_left() == 1, "one that hangs counts with those of all users");
	kill(left, SIGKILL);
	wait_for_all();
	done("7_kernel_trace.csv");
}

/* Jobs -------------------------------------------------------------------------------------------
 */

static char *value[RP_JOB_FILES];
static struct gt_userdir made = { .name = "a", .serial = 5, .value = value };

static void follow_job(const char *folder, uint32_t uid)
{
	ph_init(&h);
	for (unsigned int i = 0; i < RP_JOB_FILES; i++)
		value[i] = strdup(rp_jobs.files[i].def ? rp_jobs.files[i].def : "");
	free(value[RP_JOB_FOLDER]);
	value[RP_JOB_FOLDER] = strdup(at(folder));
	made.uid = uid;
	h.made = &made;
	is(rp_start(&h.p), 0, "a job's folder is watched");
}

static void job_done(void)
{
	ph_done(&h);
	for (unsigned int i = 0; i < RP_JOB_FILES; i++)
		free(value[i]);
}

static const char *problems(void)
{
	static char text[GT_USERDIR_TEXT_MAX];

	rp_job_problems(&h.p, &made, "/", text, sizeof(text));
	return text;
}

/* Time passes as the timer says; how often it looked in @seconds */
static unsigned int looks(unsigned int seconds)
{
	uint64_t end = h.ahead + seconds * SECOND;
	unsigned int n = 0;

	for (; h.ahead < end && n < 100000 && h.timer; n++) {
		h.ahead += h.timer;
		rp_drain(&h.p);
		if (rp()->files.job[0].there)
			break;
	}
	return n;
}

static void test_missing(void)
{
	unsigned int before, n;

	follow_job("late", getuid());
	rp_drain(&h.p);
	before = h.looks;
	n = looks(10);
	ok(n >= 3 && n <= 10, "a folder that is not there is looked for soon: %u", n);
	n = looks(3600);
	ok(n >= 3600 / 40 && n <= 3600 / 20 + 3600 / 30, "later less often: %u in an hour", n);
	ok(h.looks - before <= 3600 / 30 + 1, "others are looked at every 30 s: %u times",
	   h.looks - before);
	mkdir(at("late"), 0755);
	n = looks(3600);
	ok(rp()->files.job[0].there && n <= 3, "it is found when it has come");
	is(rp_jobs_due(&rp()->files), 0, "then nothing is looked for any more");
	rmdir(at("late"));
	job_done();
}

static void remove_all(const char *name)
{
	char cmd[600];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", at(name));
	if (system(cmd))
		printf("# %s\n", cmd);
}

static void test_cut(void)
{
	char name[64];

	mkdir(at("many"), 0755);
	for (int i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		append(name, "");
	}
	follow_job("many", getuid());
	ok(strstr(problems(), "\ncut more than 512 names"), "more names than are looked at: %s",
	   problems());
	job_done();
	remove_all("many");
	follow_job("deep", getuid());
	ok(!strstr(problems(), "\ncut"), "nothing is missing where nothing is");
	job_done();
	strcpy(name, "deep");
	for (int i = 0; i < 7; i++, strcat(name, "/d"))
		mkdir(at(name), 0755);
	follow_job("deep", getuid());
	ok(strstr(problems(), "\ncut 1 folders are too far below"), "a folder too far below: %s",
	   problems());
	job_done();
	remove_all("deep");
}

/* Results of another user, @from up to @to */
static void others(unsigned int from, unsigned int to)
{
	char name[64];

	for (unsigned int i = from; i < to; i++) {
		snprintf(name, sizeof(name), "over/%u_kernel_trace.csv", i);
		append(name, HEAD);
		if (chown(at(name), 7777, 7777))
			perror(name);
	}
}

static void look_again(void)
{
	char buf[4096];

	while (read(rp()->files.inotify, buf, sizeof(buf)) > 0)
		;
	rp_watch_look(rp());
}

/* What has gone makes room for what came at the same time, though nothing reports that again */
static void test_rerun(void)
{
	const unsigned int most = RP_USER_FILES;
	char name[64];

	if (getuid() && ok(true, "more results than a user may have # skip it takes root"))
		return;
	mkdir(at("over"), 0755);
	others(0, most + 2);
	follow();
	ok(rp()->files.n == most && rp()->files.left_out == 2, "two are left out");
	look_again();
	ok(rp()->files.left_out == 2 && !rp()->dirty,
	   "as many in the next look, which is the last");
	others(1000, 1000 + most);
	for (unsigned int i = 0; i < most + 2; i++) {
		snprintf(name, sizeof(name), "over/%u_kernel_trace.csv", i);
		unlink(at(name));
	}
	look_again();
	h.ahead += SECOND;
	rp()->rests = 0;
	rp_drain(&h.p);
	ok(rp()->files.n == most && !rp()->files.left_out && file("/1000_kernel"),
	   "they have gone, and others have their room: %u", rp()->files.n);
	ph_done(&h);
	remove_all("over");
}

static void test_over(void)
{
	if (getuid())
		return;
	mkdir(at("over"), 0755);
	others(0, RP_USER_FILES + 3);
	if (chown(at("over"), 7777, 7777) || chmod(dir, 0755))
		perror("over");
	follow_job("over", 7777);
	ok(strstr(problems(), "\ncut 3 results are more than uid 7777 may have"),
	   "more results than a user may have: %.300s", problems());
	job_done();
	remove_all("over");
}

/* Users ------------------------------------------------------------------------------------------
 */

static void test_users(void)
{
	struct rp_user *u, *other;
	unsigned int quick = 0, readings;
	bool idle;

	follow();
	u = rp_user_of(rp(), 77);
	other = rp_user_of(rp(), 78);
	ok(u != other && u == rp_user_of(rp(), 77), "each user has an account");
	is(rp_user_begins(rp(), u, 32, &idle), 32, "the first reading has all of its time");
	ok(!idle && u->turn > other->turn, "at once, and the next turn is another's");
	for (int i = 0; i < 2; i++)
		rp_user_ended(rp(), u, SECOND, true);
	is(rp_user_begins(rp(), u, 32, &idle), 8, "each failure halves it");
	ok(u->again > ph_now(&h.p) + SECOND, "and the next begins later");
	rp_user_ended(rp(), u, SECOND, false);
	is(rp_user_begins(rp(), u, 32, &idle), 16, "what does not fail brings it back");
	for (int i = 0; i < 100; i++)
		rp_user_ended(rp(), u, 0, true);
	is(rp_user_begins(rp(), u, 32, &idle), 1, "there is always some");
	for (int i = 0; i < 100; i++) {
		rp_user_begins(rp(), u, 32, &idle);
		quick += !idle;
	}
	ok(quick < 10, "who reads all the time has what others leave of the CPU: %u", quick);
	h.ahead += 60 * SECOND;
	rp_user_begins(rp(), u, 32, &idle);
	ok(!idle, "and after a while the CPU as others");
	h.opt.user_rows = 100;
	for (int i = 0; i < 1000 && rp_user_may(rp(), u, 5 * SECOND); i++)
		rp_user_took(u);
	is(u->rows, 400, "rows of four seconds come at once");
	ok(rp_user_may(rp(), u, 5 * SECOND + SECOND / 50), "then as many as a second has");
	ok(rp_user_may(rp(), other, 5 * SECOND), "which is nothing to others");
	gt_user_spent(&other->rate, 400, 400 * 4000);
	ok(rp_user_may(rp(), other, 5 * SECOND), "rows that cost little count as they are");
	gt_user_spent(&other->rate, 100, 500 * 4000);
	ok(!rp_user_may(rp(), other, 5 * SECOND), "one that takes long counts as several");
	gt_user_spent(&other->rate, 0, UINT64_MAX);
	ok(!rp_user_may(rp(), other, 60 * SECOND), "and what it took is waited for");
	u = rp_user_of(rp(), 77);
	h.opt.user_rows = 50000;
	for (readings = 0; readings < 1000 && rp_user_may(rp(), u, 70 * SECOND); readings++)
		rp_user_begins(rp(), u, 32, &idle);
	is(readings, 200, "readings without rows are bounded, too");
	for (int i = 0; i < 10000; i++)
		rp_user_took(rp_user_of(rp(), 0));
	ok(rp_user_may(rp(), rp_user_of(rp(), 0), 5 * SECOND), "root has no bound");
	for (uint32_t uid = 1000; uid < 1000 + 2 * RP_USERS; uid++)
		rp_user_of(rp(), uid);
	ok(rp_user_of(rp(), 5), "there is room for another, whoever has been there");
	ph_done(&h);
}

/* The host is asked for no more devices than there is room for, however many a file names */
static void test_agents(void)
{
	char row[128];

	follow();
	append("6_kernel_trace.csv", HEAD);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < RP_AGENTS + 50; i++) {
			snprintf(row, sizeof(row), "KERNEL_DISPATCH,Agent %d,1,k,1000,1500\n",
				 2000 + i);
			append("6_kernel_trace.csv", row);
		}
	settle();
	is(h.types[GT_DISPATCH], 2 * RP_AGENTS,
	   "rows of more devices than there is room for are left out");
	is(h.asked, RP_AGENTS, "the host is asked for as many as there is room for");
	done("6_kernel_trace.csv");
}

/* Queues that one user's files name leave room to others */
static void test_queues(void)
{
	char row[128];

	if (getuid())
		return;
	append("8_kernel_trace.csv", HEAD);
	for (int i = 0; i < RP_QUEUES; i++) {
		snprintf(row, sizeof(row), "KERNEL_DISPATCH,Agent 4,%d,k,1000,1500\n", i);
		append("8_kernel_trace.csv", row);
	}
	if (chown(at("8_kernel_trace.csv"), 7777, 7777))
		perror("chown");
	append("9_kernel_trace.csv", HEAD ROW);
	follow();
	settle();
	is(h.types[GT_DISPATCH], RP_QUEUES + 1, "rows of many queues come");
	is(h.types[GT_QUEUE], RP_QUEUES / RP_SHARE + 1,
	   "a user's queues have a share, and others theirs");
	is(rp()->emitter->queues.refused, RP_QUEUES - RP_QUEUES / RP_SHARE,
	   "what is beyond is counted");
	unlink(at("9_kernel_trace.csv"));
	append("10_kernel_trace.csv", HEAD ROW);
	if (chown(at("10_kernel_trace.csv"), 7777, 7777))
		perror("chown");
	settle();
	is(h.types[GT_QUEUE], RP_QUEUES / RP_SHARE + 2, "queues of a user's next run have room");
	is(rp()->emitter->queues.refused, RP_QUEUES - RP_QUEUES / RP_SHARE, "and none is refused");
	unlink(at("10_kernel_trace.csv"));
	done("8_kernel_trace.csv");
}

/* Functions that one user's files name leave room to others */
static void test_calls(void)
{
	char row[128];

	if (getuid())
		return;
	append("6_hip_api_trace.csv", "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_"
				      "Timestamp,End_Timestamp\n");
	for (int i = 0; i < RP_CALLS_MAX; i++) {
		snprintf(row, sizeof(row), "HIP_RUNTIME_API,hip%d,1,1,%d,%d,%d\n", i, i, i + 1,
			 i + 2);
		append("6_hip_api_trace.csv", row);
	}
	if (chown(at("6_hip_api_trace.csv"), 7777, 7777))
		perror("chown");
	follow();
	settle();
	is(rp()->emitter->ncalls, RP_CALLS_MAX / RP_SHARE, "a user's functions have a share");
	done("6_hip_api_trace.csv");
}

int main(void)
{
	if (!tmp_dir(dir, "gt-rpwatch"))
		return 1;
	test_inode_again();
	test_anyway();
	test_failed();
	test_groups();
	test_watches();
	test_full();
	test_left();
	test_missing();
	test_cut();
	test_over();
	test_rerun();
	test_users();
	test_agents();
	test_queues();
	test_calls();
	rmdir(dir);
	return done_testing();
}
