/* SPDX-License-Identifier: GPL-2.0 */
#include "mockrun.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracefs.h"

static char mock_dir[350], mock[400], truth_file[400], maps_dir[400];
static char group[64]; /* of the stand-ins: nobody but this test has maps that name it */
static const char *tracefs;
static pid_t mock_pid;
static unsigned int probes_added; /* bits, in the order of the mock's functions */

static void remove_probes(void)
{
	static const char *const probes[] = {
		"drm_sched_job",       "drm_run_job",	    "drm_sched_process_job",
		"drm_sched_job_queue", "drm_sched_job_run", "drm_sched_job_done",
	};
	char line[128];

	for (; probes_added; probes_added &= probes_added - 1) {
		snprintf(line, sizeof(line), "-:%s/%s\n", group,
			 probes[__builtin_ctz(probes_added)]);
		for (int i = 0; i < 500 && !tfs_append(tracefs, line, "uprobe_events"); i++)
			usleep(2000);
	}
}

static void remove_maps(void)
{
	DIR *d = opendir(maps_dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(maps_dir);
}

static void end_all(void)
{
	if (mock_pid > 0)
		kill(mock_pid, SIGKILL);
	remove_probes();
	remove_maps();
	unlink(mock);
	unlink(truth_file);
	rmdir(mock_dir);
}

/* A map's text, with the stand-ins' group for the scheduler's */
static bool copy_map(const char *from, const char *to)
{
	static const char system[] = "gpu_scheduler/";
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	char *line = NULL, *at, *hit;
	size_t cap = 0;
	bool good;

	while (in && out && getline(&line, &cap, in) >= 0) {
		for (at = line; (hit = strstr(at, system)); at = hit + sizeof(system) - 1)
			fprintf(out, "%.*s%s/", (int)(hit - at), at, group);
		fputs(at, out);
	}
	good = in && out && !ferror(in) && !ferror(out);
	free(line);
	if (in)
		fclose(in);
	return !(out && fclose(out)) && good;
}

const char *mock_maps(const char *dir)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct dirent *e;
	bool good = true;
	DIR *d;

	if (mkdir(maps_dir, 0755) || !(d = opendir(dir)))
		return NULL;
	while ((e = readdir(d))) { /* not those of other GPU events, which this machine may have */
		if (strncmp(e->d_name, "gpu_scheduler", 13))
			continue;
		snprintf(from, sizeof(from), "%s/%s", dir, e->d_name);
		snprintf(to, sizeof(to), "%s/%s", maps_dir, e->d_name);
		good &= copy_map(from, to);
	}
	closedir(d);
	return good ? maps_dir : NULL;
}

#define DONE "fence_context=%%di:u64 fence_seqno=%%si:u64"
#define OLD  "entity=%%di:x64 fence=%%si:x64 name=+0(%%dx):string id=%%cx:u64 job_count=%%r8:u32"
#define NEW                                                                                        \
	"name=+0(%%si):string job_count=%%r9:u32 dev=+0(%%di):string fence_context=%%dx:u64 "      \
	"fence_seqno=%%cx:u64 client_id=%%r8:u64"

bool mock_probes(bool new_names)
{
	unsigned int first = new_names ? 3 : 0;
	static const char *const lines[] = {
		"p:%s/drm_sched_job %s:%s " OLD "\n",
		"p:%s/drm_run_job %s:%s " OLD "\n",
		"p:%s/drm_sched_process_job %s:%s fence=%%di:x64\n",
		"p:%s/drm_sched_job_queue %s:%s " NEW "\n",
		"p:%s/drm_sched_job_run %s:%s " NEW "\n",
		"p:%s/drm_sched_job_done %s:%s " DONE "\n",
	};
	char command[420], name[32], at[32], line[800];
	bool good = true;
	FILE *f;

	snprintf(command, sizeof(command), "'%s' offsets", mock);
	f = popen(command, "r");
	for (unsigned int i = 0; f && fscanf(f, "%31s %31s", name, at) == 2; i++) {
		if (i < first || i > first + 2)
			continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(line, sizeof(line), lines[i], group, mock, at);
#pragma GCC diagnostic pop
		good &= tfs_append(tracefs, line, "uprobe_events");
		probes_added |= good ? 1u << i : 0;
	}
	if (f)
		pclose(f);
	return good && f;
}

void mock_start(const char *jobs, const char *max_us, const char *names)
{
	mock_pid = fork();
	if (!mock_pid) {
		execl(mock, mock, "-n", jobs, "-d", max_us, "-m", names, "-p", "3", "-o",
		      truth_file, (char *)NULL);
		_exit(127);
	}
}

bool mock_poll(bool wait, bool *good)
{
	int status;

	if (mock_pid > 0 && waitpid(mock_pid, &status, wait ? 0 : WNOHANG) != mock_pid)
		return false;
	*good = mock_pid > 0 && status == 0;
	mock_pid = 0;
	return true;
}

static bool parse(const char *line, struct mock_call *c)
{
	char what[16];

	if (sscanf(line, "%15[^,],%15[^,],%llu,%llu,%llu,%llu,%u,%u,%llu,%llu", what, c->ring,
		   &c->id, &c->ctx, &c->seqno, &c->fence, &c->pid, &c->tid, &c->before,
		   &c->after) != 10)
		return false;
	c->type = what[0] == 'q' ? GT_SUBMIT : what[0] == 'r' ? GT_COMMIT : GT_COMPLETE;
	return true;
}

size_t mock_truth(struct mock_call **calls)
{
	FILE *f = fopen(truth_file, "r");
	size_t n = 0, cap = 0;
	char line[300];

	*calls = NULL;
	while (f && fgets(line, sizeof(line), f)) {
		if (n == cap) {
			cap = cap ? 2 * cap : 1024;
			*calls = realloc(*calls, cap * sizeof(**calls));
			if (!*calls)
				abort();
		}
		n += parse(line, &(*calls)[n]);
	}
	if (f)
		fclose(f);
	return n;
}

/* A program of our own: uprobes are on a file, whoever runs it. */
static bool copy_mock(const char *from)
{
	char buf[65536];
	FILE *in = fopen(from, "re"), *out = in ? fopen(mock, "we") : NULL;
	bool good = in && out;
	size_t n;

	while (good && (n = fread(buf, 1, sizeof(buf), in)))
		good = fwrite(buf, 1, n, out) == n;
	good &= in && !ferror(in);
	if (in)
		fclose(in);
	return !(out && fclose(out)) && good && !chmod(mock, 0755);
}

const char *mock_find(const char *self, const char **dir)
{
	const char *slash = strrchr(self, '/'), *tmp = getenv("TMPDIR"), *why = NULL;
	const char *id = getenv("GT_ID"); /* by which tests/run.sh knows what is this test's */
	char path[400], from[400], pid[16];
	int where = slash ? (int)(slash - self) : 1;

	snprintf(pid, sizeof(pid), "%d", getpid());
	snprintf(group, sizeof(group), "gpu_scheduler_%.40s", id ? id : pid);
	snprintf(from, sizeof(from), "%.*s/tools/mockjobs", where, slash ? self : ".");
	*dir = tracefs = tfs_dir(&why);
	if (!tracefs)
		return why;
	snprintf(path, sizeof(path), "%s/uprobe_events", tracefs);
	if (access(path, W_OK))
		return "no uprobes here";
	if (access(from, X_OK))
		return "tests/tools/mockjobs is not built";
#ifndef __x86_64__
	return "the stand-ins name x86-64 registers";
#endif
	snprintf(mock_dir, sizeof(mock_dir), "%.300s/mock-%s", tmp ? tmp : "/tmp", pid);
	snprintf(mock, sizeof(mock), "%s/mockjobs", mock_dir);
	snprintf(truth_file, sizeof(truth_file), "%s/truth.csv", mock_dir);
	snprintf(maps_dir, sizeof(maps_dir), "%s/maps", mock_dir);
	tfs_at_exit(end_all);
	return !mkdir(mock_dir, 0755) && copy_mock(from) ? NULL
							 : "tests/tools/mockjobs cannot be copied";
}
