/* SPDX-License-Identifier: GPL-2.0 */
#include "mockrun.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracefs.h"

static char mock[400], truth_file[450];
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
		snprintf(line, sizeof(line), "-:gpu_scheduler/%s\n",
			 probes[__builtin_ctz(probes_added)]);
		for (int i = 0; i < 500 && !tfs_append(tracefs, line, "uprobe_events"); i++)
			usleep(2000);
	}
}

static void end_all(void)
{
	if (mock_pid > 0)
		kill(mock_pid, SIGKILL);
	remove_probes();
	unlink(truth_file);
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
		"p:gpu_scheduler/drm_sched_job %s:%s " OLD "\n",
		"p:gpu_scheduler/drm_run_job %s:%s " OLD "\n",
		"p:gpu_scheduler/drm_sched_process_job %s:%s fence=%%di:x64\n",
		"p:gpu_scheduler/drm_sched_job_queue %s:%s " NEW "\n",
		"p:gpu_scheduler/drm_sched_job_run %s:%s " NEW "\n",
		"p:gpu_scheduler/drm_sched_job_done %s:%s " DONE "\n",
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
		snprintf(line, sizeof(line), lines[i], mock, at);
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

const char *mock_find(const char *self, const char **dir)
{
	const char *slash = strrchr(self, '/'), *env = getenv("GT_MOCK"), *why = NULL;
	char path[400];

	snprintf(mock, sizeof(mock), "%.*s/tools/mockjobs", slash ? (int)(slash - self) : 1,
		 slash ? self : ".");
	if (env)
		snprintf(mock, sizeof(mock), "%s", env);
	snprintf(truth_file, sizeof(truth_file), "%s.truth-%d.csv", mock, getpid());
	*dir = tracefs = tfs_dir(&why);
	if (!tracefs)
		return why;
	snprintf(path, sizeof(path), "%s/uprobe_events", tracefs);
	if (access(path, W_OK))
		return "no uprobes here";
	snprintf(path, sizeof(path), "%s/events/gpu_scheduler", tracefs);
	if (!access(path, F_OK))
		return "this kernel has the true tracepoints, or another test runs";
	if (access(mock, X_OK))
		return "tests/tools/mockjobs is not built";
#ifndef __x86_64__
	return "the stand-ins name x86-64 registers";
#endif
	tfs_at_exit(end_all);
	return NULL;
}
