/* SPDX-License-Identifier: GPL-2.0 */
/* fs/model/group.c: totals of users and cgroups against sums kept here, while processes come, end
 * and are freed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../backend/backend.h"
#include "../../fs/model/model.h"
#include "../lib/tap.h"

#define PIDS   40
#define ROUNDS 3000
#define STEP   1000000ULL

static struct gt_model *m;
static uint64_t now = 1000000000, seqno;
static const char *const paths[] = { "/", "/a", "/a/b", "/a/b/c", "/a/d", "/e//f/", "/stats" };
#define NPATHS (sizeof(paths) / sizeof(paths[0]))
/* what is known of each process, and what was done, by user and by the cgroup itself */
static struct {
	uint32_t pid;
	int user, path;
} proc[PIDS];
static uint64_t user_jobs[4], user_ns[4], path_jobs[NPATHS], path_ns[NPATHS];

static void make_model(unsigned int max_procs)
{
	const struct gt_limits limits = { .max_jobs = 64,
					  .max_job_age_ns = 600000000000,
					  .max_procs = max_procs,
					  .proc_linger_ns = 5 * STEP };
	struct gt_gpu *g;
	bool is_new;

	m = gt_model_new(&limits, false);
	g = gt_model_gpu(m, "gpu0", &is_new);
	gt_model_ring(m, g, "gfx", GT_ENGINE_GRAPHICS, &is_new);
	gt_model_ring(m, g, "sdma", GT_ENGINE_COPY, &is_new);
}

static void event(unsigned int type, uint32_t pid, uint16_t ring)
{
	struct gt_folded f;
	union gt_record r;

	gt_record_init(&r, now, (uint8_t)type);
	r.ev.gpu = 0;
	r.ev.ring = ring;
	r.ev.ctx = pid;
	r.ev.seqno = seqno;
	r.ev.pid = pid;
	gt_model_event(m, &r, &f);
	gt_model_done(m, &f);
}

static void job(uint32_t pid, uint16_t ring, uint64_t ns)
{
	seqno++;
	event(GT_SUBMIT, pid, ring);
	event(GT_COMMIT, pid, ring);
	now += ns;
	event(GT_COMPLETE, pid, ring);
}

static uint32_t cgroup(const char *path)
{
	uint32_t i = 0;
	char copy[512], *save, *name;

	snprintf(copy, sizeof(copy), "%s", path);
	for (name = strtok_r(copy, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
		uint32_t k = 0;

		while (k < m->ngroups &&
		       !(m->groups[k] && m->groups[k]->cgroup && m->groups[k]->parent == i &&
			 !strcmp(m->groups[k]->name, name)))
			k++;
		if (k == m->ngroups)
			return GT_NONE32;
		i = k;
	}
	return i;
}

/* Completed jobs and busy time of a group; the stages must say the same */
static uint64_t total(uint32_t group, uint64_t *ns)
{
	struct gt_work w = { 0 };
	uint64_t jobs = 0, sum = 0;
	struct gt_summary all;

	*ns = 0;
	if (group == GT_NONE32 ||
	    gt_group_work(m, group, m->groups[group]->serial, GT_WORK_BUSY | GT_WORK_STAGES, &w))
		return UINT64_MAX;
	for (const struct gt_proc_ring *r = w.rings; r; r = r->next) {
		gt_stage_summary(&r->stage[GT_ST_EXEC], now, &all, NULL);
		jobs += all.count;
		sum += all.sum;
		*ns += r->busy.total_ns;
	}
	if (jobs != w.counts.completed || sum != *ns || w.inflight)
		jobs = UINT64_MAX - 1;
	gt_work_free(&w);
	return jobs;
}

static bool below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return !strcmp(top, "/") || (!strncmp(path, top, n) && (!path[n] || path[n] == '/'));
}

static unsigned int compare(void)
{
	uint64_t jobs, ns, got, got_ns;
	unsigned int bad = 0;

	for (uint32_t u = 0; u < 4; u++) {
		got = total(gt_model_user(m, u), &got_ns);
		bad += user_jobs[u] && (got != user_jobs[u] || got_ns != user_ns[u]);
	}
	for (size_t top = 0; top < NPATHS; top++) {
		jobs = ns = 0;
		for (size_t i = 0; i < NPATHS; i++) {
			jobs += below(paths[i], paths[top]) ? path_jobs[i] : 0;
			ns += below(paths[i], paths[top]) ? path_ns[i] : 0;
		}
		got = total(cgroup(paths[top]), &got_ns);
		bad += jobs && (got != jobs || got_ns != ns);
	}
	return bad;
}

/* Its first job comes before anybody knows who it is */
static void start(unsigned int i, uint32_t pid)
{
	proc[i].pid = pid;
	proc[i].user = (int)(pid % 4);
	proc[i].path = (int)(pid * 7 % NPATHS);
	job(pid, 0, STEP);
	gt_model_process(m, pid, pid, (uint32_t)proc[i].user, "x", paths[proc[i].path], 0);
	user_jobs[proc[i].user]++;
	user_ns[proc[i].user] += STEP;
	path_jobs[proc[i].path]++;
	path_ns[proc[i].path] += STEP;
}

static void test_exact(void)
{
	unsigned int seed = 7, bad = 0, freed = 0, before;
	uint32_t pid = 100;

	make_model(PIDS + 600);
	for (unsigned int i = 0; i < PIDS; i++)
		start(i, pid++);
	for (unsigned int n = 0; n < ROUNDS; n++) {
		unsigned int i = (seed = seed * 1103515245 + 12345) >> 16, ns = 1000 + i % 50000;

		i %= PIDS;
		job(proc[i].pid, (uint16_t)(n & 1), ns);
		user_jobs[proc[i].user]++;
		user_ns[proc[i].user] += ns;
		path_jobs[proc[i].path]++;
		path_ns[proc[i].path] += ns;
		if (n % 5 == 0) {
			gt_model_exit(m, gt_model_proc(m, proc[i].pid)->slot);
			start(i, pid++);
		}
		before = m->nprocs;
		if (n % 97 == 0) {
			gt_model_reap(m);
			freed += before - m->nprocs;
		}
		if (n % 50 == 0)
			bad += compare();
	}
	is(bad, 0, "totals are what was done");
	ok(freed > 100 && m->procs_refused == 0, "%u processes were freed meanwhile", freed);
	is(compare(), 0, "in the end too");
	gt_model_clear(m);
	memset(user_jobs, 0, sizeof(user_jobs));
	memset(path_jobs, 0, sizeof(path_jobs));
	memset(user_ns, 0, sizeof(user_ns));
	memset(path_ns, 0, sizeof(path_ns));
	{
		uint64_t ns;

		is(total(0, &ns), 0, "a clear begins anew");
	}
	start(0, pid++);
	is(compare(), 0, "and counts from there");
	gt_model_free(m);
}

static void test_whose(void)
{
	static const struct gt_ns outer = { 1, { 5 } }, inner = { 2, { 5, 6 } };
	const struct gt_group *g;

	make_model(100);
	g = m->groups[0];
	ok(!g->counted, "nobody in the first group");
	gt_model_process_in(m, 1, 1, 1000, "x", "/a/b", 0, &inner);
	ok(g->counted && !g->mixed && g->uid == 1000 && g->ns.n == 2, "one user, in a namespace");
	gt_model_process_in(m, 2, 1, 1000, "x", "/a", 0, &outer);
	ok(!g->mixed && g->ns.n == 1 && g->ns.id[0] == 5, "what all are in");
	g = m->groups[cgroup("/a/b")];
	ok(!g->mixed && g->ns.n == 2, "below, what is so there");
	gt_model_process(m, 3, 1, 1001, "x", "/c", 0);
	g = m->groups[0];
	ok(g->mixed && !g->ns.n, "two users, and no namespace for all");
	g = m->groups[cgroup("/a")];
	ok(!g->mixed && g->ns.n == 1, "beside, nothing changes");
	gt_model_process(m, 4, 1, GT_NONE32, "x", "/d", 0);
	ok(m->groups[cgroup("/d")]->mixed, "a user that is not known is another");
	gt_model_process(m, 1, 1, 1005, "x", "/z", 0);
	is(cgroup("/z"), GT_NONE32, "who turns out to be another stays where it was counted");
	gt_model_free(m);
}

/* More groups than there is room for: none is lost in the total */
static void test_bounds(void)
{
	char path[600];
	uint64_t ns;
	struct gt_work w = { 0 };
	uint32_t first = 0;
	uint64_t serial = 0;

	make_model(16);
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/jobs/job_%u", i);
		job(10000 + i, 0, STEP);
		gt_model_process(m, 10000 + i, 1, 20000 + i, "x", path, 0);
		gt_model_exit(m, gt_model_proc(m, 10000 + i)->slot);
		if (i == 0) {
			first = cgroup(path);
			serial = m->groups[first]->serial;
		}
	}
	is(total(0, &ns), 5000, "5,000 cgroups: all are in the total");
	is(ns, 5000 * STEP, "with their time");
	is(total(cgroup("/jobs"), &ns), 5000, "and in the group above them");
	ok(m->cgroups_merged == 5001 - GT_MAX_CGROUPS && !m->cgroups_refused,
	   "the oldest made room: %llu", (unsigned long long)m->cgroups_merged);
	is(cgroup("/jobs/job_0"), GT_NONE32, "the first has gone");
	is(gt_group_work(m, first, serial, 0, &w), -ENODEV, "also for who has it open");
	is(total(cgroup("/jobs/job_4999"), &ns), 1, "the last is there");
	is(m->nusers, GT_MAX_USERS, "users are bounded");
	ok(m->users_evicted == 5000 - GT_MAX_USERS && !m->users_refused, "the oldest made room");
	is(gt_model_user(m, 20000), GT_NONE32, "the first has no total");
	ok(gt_model_user(m, 20000 + 4999) != GT_NONE32, "the last has");
	memset(path, 0, sizeof(path));
	for (int i = 0; i < 100; i++)
		strcat(path, "/x");
	gt_model_process(m, 1, 1, 20000, "x", path, 0);
	job(1, 0, STEP);
	is(m->cgroups_refused, 1, "deeper than is kept");
	is(total(0, &ns), 5001, "counts above");
	gt_model_free(m);
}

/* A job that runs is in the total before it ends, once */
static void test_running(void)
{
	uint32_t user;
	uint64_t ns;

	make_model(8);
	gt_model_process(m, 3, 1, 1001, "x", "/c", 0);
	user = gt_model_user(m, 1001);
	job(3, 0, STEP);
	seqno++;
	event(GT_SUBMIT, 3, 0);
	event(GT_COMMIT, 3, 0);
	now += 5 * STEP;
	gt_model_advance(m, now);
	total(user, &ns);
	is(ns, 6 * STEP, "a job that runs");
	event(GT_COMPLETE, 3, 0);
	total(user, &ns);
	is(ns, 6 * STEP, "... and ends at once");
	gt_model_free(m);
}

int main(void)
{
	test_exact();
	test_whose();
	test_bounds();
	test_running();
	is(gt_hist_memory(), 0, "no memory is left behind");
	return done_testing();
}
