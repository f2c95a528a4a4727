/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs for rocprofv3: directories that users make in backends/rocprof/jobs/. Nothing is started
 * here: a job's settings are written as the file that `rocprofv3 -i` takes, and as lines to run.
 *
 *	jobs_settings.c  the table of files; what a setting may be: numbers, regular expressions, words as
 *		    sh(1) takes them, counters by passes of the hardware
 *	jobs_input.c     input.yaml, and the lines to run
 *	jobs_results.c   the way to the job's folder, results in it, and what is missing in them
 */
#ifndef GT_ROCPROF_JOBS_H
#define GT_ROCPROF_JOBS_H

#include "../lib/detail.h"
#include "rocprof.h"

/* Files of a job, in the order of the table */
enum rp_job_file {
	RP_JOB_PROGRAM,
	RP_JOB_INCLUDE,
	RP_JOB_EXCLUDE,
	RP_JOB_ITERATIONS,
	RP_JOB_COUNTERS,
	RP_JOB_TRACES,
	RP_JOB_ATT,
	RP_JOB_ATT_CU,
	RP_JOB_ATT_SE,
	RP_JOB_ATT_SIMD,
	RP_JOB_ATT_BUFFER,
	RP_JOB_ATT_SERIALIZE,
	RP_JOB_ATT_ACTIVITY,
	RP_JOB_ATT_CONSECUTIVE,
	RP_JOB_ATT_GPUS,
	RP_JOB_ATT_LIBRARY,
	RP_JOB_FOLDER,
	RP_JOB_FORMATS,
	RP_JOB_ENV,
	RP_JOB_CONTAINER,
	RP_JOB_YAML,
	RP_JOB_COMMAND,
	RP_JOB_PROBLEMS,
	RP_JOB_FILES
};

#define RP_JOB_LONG	    512 /* bytes of an expression or path */
#define RP_JOB_COUNTERS_MAX 64	/* of a job; so many passes at most */
#define RP_JOB_WORDS	    128 /* of a command, and variables of its environment */
#define RP_JOB_RANGES	    64

extern const struct gt_backend_userdirs rp_jobs;

/* jobs_settings.c */

/** rp_regex_check() - would rocprofv3 take @s (ECMAScript)? NULL, or what is wrong; @at: where */
const char *rp_regex_check(const char *s, size_t *at);

/* jobs_settings.c */

/**
 * rp_words() - splits a line as sh(1) does, with its quotes, but nothing is expanded
 * @buf: at least as long as the line; the words are put there, each with its NUL
 * Return: how many, or -EINVAL (a quote is open), -E2BIG
 */
int rp_words(const char *line, char *buf, char *word[], int max);
#define RP_SH	"'\\''"
#define RP_YAML "''"
/** rp_quote() - @s in single quotes; @quote: what stands for one in it, RP_SH in a word for sh(1) */
void rp_quote(struct gt_details *d, const char *s, const char *quote);
/** rp_list_next() - the next item of a list with commas, without blanks around it; NULL: no more */
char *rp_list_next(char **list);

/* jobs_settings.c */

/** struct rp_passes - counters; @pass: by counter: the pass it is read in */
struct rp_passes {
	char text[4096];
	char *name[RP_JOB_COUNTERS_MAX];
	unsigned int pass[RP_JOB_COUNTERS_MAX];
	unsigned int n, passes;
};
/** rp_passes() - spreads @list over passes of which the hardware does each at once; -E2BIG */
int rp_passes(struct rp_passes *p, const char *list);

/* jobs_settings.c */

/** rp_job_number() - a setting that was checked: decimal, or with 0x hexadecimal; @end: as strtoull's */
uint64_t rp_job_number(const char *v, char **end);

/* jobs_input.c */
void rp_job_yaml(struct gt_plugin *p, const struct gt_userdir *m, const char *path, char *buf,
		 size_t len);
void rp_job_command(struct gt_plugin *p, const struct gt_userdir *m, const char *path, char *buf,
		    size_t len);
/** rp_job_problems() - what is missing in the results, and what to change */
void rp_job_problems(struct gt_plugin *p, const struct gt_userdir *m, const char *path, char *buf,
		     size_t len);
/** rp_job_runs() - how many times the program runs for it */
unsigned int rp_job_runs(const struct gt_userdir *m);

#endif
