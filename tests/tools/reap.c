/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs a test, and says which processes it has left behind: not by their names or folders, which
 * those of another run on this machine may have as well, but by descent.
 *
 *	reap FILE COMMAND...
 *
 * Processes that lose their parent, as daemons do, become this one's children
 * (PR_SET_CHILD_SUBREAPER). When COMMAND has ended FILE has a line for each of them and of theirs,
 * "ended PID SIGNAL", 0 for none, or "runs PID"; the latter go on. The exit status is that of COMMAND, 128 more than the
 * signal's number if one ended it, 127 if it cannot be run. Those that are killed together with it
 * (timeout(1)) are the caller's to end.
 */
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What ends the test is sent to its whole group, and this one has yet to report about it. */
static void go_on(int sig)
{
}

static int exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The parent of a process, 0 if there is none or it has ended; a name may have any character */
static pid_t parent_of(const char *pid)
{
	char path[64];
	int parent = 0, c;
	long at = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	for (long i = 0; (c = fgetc(f)) != EOF; i++)
		at = c == ')' ? i + 1 : at;
	if (fseek(f, at, SEEK_SET) || fscanf(f, " %*c %d", &parent) != 1)
		parent = 0;
	fclose(f);
	return parent;
}

static void print_ended(FILE *out, pid_t pid, int status)
{
	fprintf(out, "ended %d %d\n", pid, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

struct process {
	pid_t pid, parent;
	bool ours;
};

static size_t list(struct process **all)
{
	DIR *proc = opendir("/proc");
	size_t n = 0, room = 0;
	struct dirent *e;

	*all = NULL;
	while (proc && (e = readdir(proc))) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		if (n == room) {
			room = room ? 2 * room : 256;
			*all = realloc(*all, room * sizeof(**all));
			if (!*all)
				abort();
		}
		(*all)[n++] = (struct process){ atoi(e->d_name), parent_of(e->d_name), false };
	}
	if (proc)
		closedir(proc);
	return n;
}

/* Children, and theirs, and so on: pids start anew at some time, so that they have no order */
static void print_running(FILE *out)
{
	struct process *p;
	size_t n = list(&p);
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			bool ours = p[i].parent == getpid();

			for (size_t j = 0; j < n && !ours; j++)
				ours = p[j].ours && p[j].pid == p[i].parent;
			if (ours && !p[i].ours) {
				fprintf(out, "runs %d\n", p[i].pid);
				p[i].ours = more = true;
			}
		}
	}
	free(p);
}

int main(int argc, char **argv)
{
	pid_t child, pid;
	int status, rc = 127;
	struct rusage use;
	FILE *out;

	if (argc < 3 || !(out = fopen(argv[1], "we"))) {
		fprintf(stderr, "usage: reap FILE COMMAND...\n");
		return 127;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1)) {
		perror("reap");
		return 127;
	}
	/* handlers, which the test does not inherit as it would SIG_IGN */
	signal(SIGTERM, go_on);
	signal(SIGINT, go_on);
	signal(SIGHUP, go_on);
	child = fork();
	if (!child) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	while (child > 0 && (pid = wait(&status)) > 0) {
		if (pid == child) {
			rc = exit_code(status);
			break;
		}
		print_ended(out, pid, status);
	}
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		print_ended(out, pid, status);
	print_running(out);
	getrusage(RUSAGE_CHILDREN, &use);
	fprintf(out, "cpu %ld\n",
		(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 +
			(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000);
	return fclose(out) ? 127 : rc;
}
