/* SPDX-License-Identifier: GPL-2.0 */
/*
 * input.yaml: a job of rocprofv3 for the traces, and one for each pass of counters. Each is a run
 * of the program; a thread trace and counters are never in one. All text is in single quotes, in
 * which YAML knows nothing but two of them for one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"

static void text(struct gt_details *d, const char *key, const char *value)
{
	if (!*value)
		return;
	gt_detail(d, "    %s: ", key);
	rp_quote(d, value, RP_YAML);
	gt_detail(d, "\n");
}

static uint64_t number(const struct gt_userdir *m, enum rp_job_file f)
{
	return rp_job_number(m->value[f], NULL);
}

/* "1,3-5" as "[1, [3-5]]" */
static void iterations(struct gt_details *d, const char *value)
{
	char list[RP_JOB_LONG + 1], *rest = list, *item;
	const char *between = "";

	if (!*value)
		return;
	snprintf(list, sizeof(list), "%s", value);
	gt_detail(d, "    kernel_iteration_range: '[");
	while ((item = rp_list_next(&rest))) {
		gt_detail(d, strchr(item, '-') ? "%s[%s]" : "%s%s", between, item);
		between = ", ";
	}
	gt_detail(d, "]'\n");
}

static void formats(struct gt_details *d, const char *value)
{
	char list[256], *rest = list, *item;
	const char *between = "";

	snprintf(list, sizeof(list), "%s", value);
	gt_detail(d, "    output_format: [");
	while ((item = rp_list_next(&rest))) {
		gt_detail(d, "%s%s", between, item);
		between = ", ";
	}
	gt_detail(d, "]\n");
}

/* What all jobs have alike */
static void common(struct gt_details *d, const struct gt_userdir *m)
{
	text(d, "kernel_include_regex", m->value[RP_JOB_INCLUDE]);
	text(d, "kernel_exclude_regex", m->value[RP_JOB_EXCLUDE]);
	iterations(d, m->value[RP_JOB_ITERATIONS]);
	text(d, "output_directory", m->value[RP_JOB_FOLDER]);
	formats(d, m->value[RP_JOB_FORMATS]);
}

static void traces(struct gt_details *d, const struct gt_userdir *m)
{
	char list[256], *rest = list, *item;

	snprintf(list, sizeof(list), "%s", m->value[RP_JOB_TRACES]);
	while (*m->value[RP_JOB_TRACES] && (item = rp_list_next(&rest)))
		gt_detail(d, "    %s_trace: true\n", item);
}

static void thread_trace(struct gt_details *d, const struct gt_userdir *m)
{
	gt_detail(d, "    advanced_thread_trace: true\n    att_target_cu: %" PRIu64 "\n",
		  number(m, RP_JOB_ATT_CU));
	gt_detail(d, "    att_shader_engine_mask: '0x%" PRIx64 "'\n", number(m, RP_JOB_ATT_SE));
	gt_detail(d, "    att_simd_select: '0x%" PRIx64 "'\n", number(m, RP_JOB_ATT_SIMD));
	gt_detail(d, "    att_buffer_size: '0x%" PRIx64 "'\n", number(m, RP_JOB_ATT_BUFFER));
	if (number(m, RP_JOB_ATT_SERIALIZE))
		gt_detail(d, "    att_serialize_all: true\n");
	if (number(m, RP_JOB_ATT_ACTIVITY))
		gt_detail(d, "    att_activity: %" PRIu64 "\n", number(m, RP_JOB_ATT_ACTIVITY));
	if (number(m, RP_JOB_ATT_CONSECUTIVE))
		gt_detail(d, "    att_consecutive_kernels: %" PRIu64 "\n",
			  number(m, RP_JOB_ATT_CONSECUTIVE));
	text(d, "att_gpu_index", m->value[RP_JOB_ATT_GPUS]);
	if (*m->value[RP_JOB_ATT_LIBRARY]) {
		gt_detail(d, "    att_library_path: [");
		rp_quote(d, m->value[RP_JOB_ATT_LIBRARY], RP_YAML);
		gt_detail(d, "]\n");
	}
}

static void counters(struct gt_details *d, const struct rp_passes *p, unsigned int pass)
{
	const char *between = "";

	gt_detail(d, "    pmc: [");
	for (unsigned int i = 0; i < p->n; i++) {
		if (p->pass[i] != pass)
			continue;
		gt_detail(d, "%s'%s'", between, p->name[i]);
		between = ", ";
	}
	gt_detail(d, "]\n");
}

/* With counters alone nothing else is traced: that would take a run more */
static bool has_traces(const struct gt_userdir *m)
{
	return number(m, RP_JOB_ATT) || !*m->value[RP_JOB_COUNTERS];
}

unsigned int rp_job_runs(const struct gt_userdir *m)
{
	struct rp_passes p;

	rp_passes(&p, m->value[RP_JOB_COUNTERS]);
	return p.passes + has_traces(m);
}

void rp_job_yaml(struct gt_plugin *p, const struct gt_userdir *m, const char *path, char *buf,
		 size_t len)
{
	struct gt_details d = { buf, len };
	struct rp_passes passes;

	rp_passes(&passes, m->value[RP_JOB_COUNTERS]);
	gt_detail(&d, "jobs:\n");
	if (has_traces(m)) {
		gt_detail(&d, "  -\n");
		common(&d, m);
		traces(&d, m);
		if (number(m, RP_JOB_ATT))
			thread_trace(&d, m);
	}
	for (unsigned int i = 0; i < passes.passes; i++) {
		gt_detail(&d, "  -\n");
		counters(&d, &passes, i);
		common(&d, m);
	}
}

/*
 * The lines to run, for sh(1): which kernels there are, which counters, then the job. Where the
 * program is not set they take it as their own arguments: sh -s PROGRAM … < command.
 */

/* struct line - what goes before and after rocprofv3's own words */
struct line {
	struct gt_details *d;
	const struct gt_userdir *m;
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

void rp_job_command(struct gt_plugin *p, const struct gt_userdir *m, const char *path, char *buf,
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
