/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lines to run, for sh(1): which kernels there are, which counters, then the job. Where the
 * program is not set they take it as their own arguments: sh -s PROGRAM … < command.
 */
#include <string.h>

#include "jobs.h"

/* struct line - what goes before and after rocprofv3's own words */
struct line {
	struct gt_details *d;
	const struct gt_made *m;
	const char *path;
	char env_text[4096], program_text[4096];
	char *env[RP_JOB_WORDS], *program[RP_JOB_WORDS];
	int nenv, nprogram;
};

static const char *container(const struct line *l)
{
	return l->m->value[RP_JOB_CONTAINER];
}

static const char *folder(const struct line *l)
{
	return l->m->value[RP_JOB_FOLDER];
}

static void begin(const struct line *l)
{
	bool in = *container(l);

	gt_detail(l->d, "%s", in ? "docker exec" : l->nenv ? "env" : "");
	for (int i = 0; i < l->nenv; i++) {
		gt_detail(l->d, "%s", in ? " -e " : " ");
		rp_quote(l->d, l->env[i], RP_SH);
	}
	if (in) {
		gt_detail(l->d, " ");
		rp_quote(l->d, container(l), RP_SH);
	}
	gt_detail(l->d, "%s", in || l->nenv ? " rocprofv3" : "rocprofv3");
}

static void end(const struct line *l)
{
	gt_detail(l->d, " --");
	if (!l->nprogram)
		gt_detail(l->d, " \"$@\"");
	for (int i = 0; i < l->nprogram; i++) {
		gt_detail(l->d, " ");
		rp_quote(l->d, l->program[i], RP_SH);
	}
	gt_detail(l->d, "\n");
}

/* @s, and @more after it, as one word */
static void joined(const struct line *l, const char *s, const char *more)
{
	char text[8192];

	snprintf(text, sizeof(text), "%s%s", s, more);
	gt_detail(l->d, " ");
	rp_quote(l->d, text, RP_SH);
}

static void discovery(const struct line *l)
{
	gt_detail(l->d,
		  "# 1. which kernels the program runs: choose kernel_include from their names\n");
	begin(l);
	gt_detail(l->d, " --stats --kernel-trace -f csv");
	if (*folder(l)) {
		gt_detail(l->d, " -d");
		joined(l, folder(l), "/discover");
	}
	end(l);
	gt_detail(l->d, "# 2. which counters the GPU has\n");
	begin(l);
	gt_detail(l->d, " --list-avail\n");
}

/* A container has another /tmp, and not this tree */
static void bring_input(const struct line *l)
{
	gt_detail(l->d, "docker exec -i");
	joined(l, container(l), "");
	gt_detail(l->d, " sh -c 'mkdir -p \"${1%%/*}\" && cat >\"$1\"' sh");
	joined(l, *folder(l) ? folder(l) : "/tmp", "/input.yaml");
	gt_detail(l->d, " <");
	joined(l, l->path, "/input.yaml");
	gt_detail(l->d, "\n");
}

static void bring_results(const struct line *l)
{
	char from[1024];

	if (!*folder(l))
		return;
	gt_detail(l->d, "mkdir -p");
	joined(l, folder(l), "");
	snprintf(from, sizeof(from), "%s:%s", container(l), folder(l));
	gt_detail(l->d, "\ndocker cp");
	joined(l, from, "/.");
	joined(l, folder(l), "");
	gt_detail(l->d, "\n");
}

static void run(const struct line *l)
{
	bool in = *container(l);

	gt_detail(l->d, "# 3. the job: runs of the program: %u\n", rp_job_runs(l->m));
	if (in)
		bring_input(l);
	begin(l);
	gt_detail(l->d, " -i");
	joined(l, !in ? l->path : *folder(l) ? folder(l) : "/tmp", "/input.yaml");
	end(l);
	if (in)
		bring_results(l);
}

void rp_job_command(struct gt_plugin *p, const struct gt_made *m, const char *path, char *buf,
		    size_t len)
{
	struct gt_details d = { buf, len };
	struct line l = { .d = &d, .m = m, .path = path };

	l.nenv = rp_words(m->value[RP_JOB_ENV], l.env_text, l.env, RP_JOB_WORDS);
	l.nprogram = rp_words(m->value[RP_JOB_PROGRAM], l.program_text, l.program, RP_JOB_WORDS);
	gt_detail(&d, "# job %s of uid %u: lines for sh; nothing of them is run by gputrace\n",
		  m->name, m->uid);
	if (!l.nprogram)
		gt_detail(&d, "# program is not set: give it to sh as arguments, sh -s PROGRAM ... "
			      "<command\n");
	discovery(&l);
	run(&l);
}
