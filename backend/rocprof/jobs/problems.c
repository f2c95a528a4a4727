/* SPDX-License-Identifier: GPL-2.0 */
/* What is missing in the results of a job, and what to change. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../play.h"
#include "jobs.h"

/* struct found - what the files tell; @kernels: rows of dispatches; @matched: of kernels that
 * kernel_include means; @known: it was one that could be told here; @readings: rows of counters;
 * @whole: there are results that may have anything in them */
struct found {
	unsigned int files;
	uint64_t kernels, matched, readings, instructions;
	double mapped;
	bool known, whole, tables, counters;
};

static uint64_t number(const struct gt_made *m, enum rp_job_file f)
{
	return rp_job_number(m->value[f], NULL);
}

static void __attribute__((format(printf, 3, 4)))
problem(struct gt_details *d, const char *what, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_detail(d, "%s %s\n", what, text);
}

/* The hash of what is asked for: rows are counted by what it was when they came */
static uint64_t hash_of(const char *include)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *include; include++)
		h = (h ^ (uint8_t)*include) * 0x100000001b3ULL;
	return h | 1;
}

static bool is_plain(const char *include)
{
	return !include[strcspn(include, "\\[](){}*+?|^$.")];
}

/* NULL: the job has gone, or has an expression */
static const char *means(struct gt_plugin *p, const struct rp_job *j)
{
	const struct gt_made *m;

	for (unsigned int i = 0; p->host->made && (m = p->host->made(p, i)); i++)
		if (m->serial == j->serial)
			return is_plain(m->value[RP_JOB_INCLUDE]) ? m->value[RP_JOB_INCLUDE] : NULL;
	return NULL;
}

void rp_job_asks(struct gt_plugin *p, const struct rp_files *f, struct rp_file *file)
{
	const char *is = NULL;
	uint64_t asked;

	for (unsigned int k = 0; k < f->jobs && !is; k++)
		if (rp_job_has(&f->job[k], file))
			is = means(p, &f->job[k]);
	free(file->means);
	file->means = is ? strdup(is) : NULL;
	asked = file->means ? hash_of(file->means) : 0;
	/* rows that came when something else was asked for are not told apart */
	file->asked = !file->rows || file->asked == asked ? asked : GT_NONE64;
}

void rp_job_hotspots(struct rp_file *file, const char *text)
{
	unsigned int n;
	double share;

	if (sscanf(text, "# instructions: %u\n# with a source: %lf", &n, &share) != 2)
		return;
	file->instructions += n;
	file->mapped += n * share / 100;
}

static void settings(struct gt_details *d, const struct gt_made *m)
{
	const char *formats = m->value[RP_JOB_FORMATS];

	if (!*m->value[RP_JOB_FOLDER])
		problem(d, "no_folder", "output_directory is not set: results are not picked up");
	if (!strstr(formats, "csv") && !strstr(formats, "json") && !strstr(formats, "rocpd"))
		problem(d, "format",
			"nothing in output_format is read here: add csv, json or rocpd");
}

static void count(struct found *f, const struct rp_file *file, uint64_t asked)
{
	f->files++;
	f->whole |= !strcmp(file->table, "json") || !strcmp(file->table, "rocpd");
	if (!strcmp(file->table, "kernel_trace")) {
		f->tables = true;
		f->kernels += file->rows;
		f->matched += file->matched;
		f->known |= file->asked == asked;
	}
	if (!strcmp(file->table, "counter_collection")) {
		f->counters = true;
		f->readings += file->rows;
	}
	f->instructions += file->instructions;
	f->mapped += file->mapped;
}

/* What is wrong with each file itself, as backends/rocprof/files has it */
static void fault(struct gt_details *d, const struct rp_job *j, const struct rp_file *file)
{
	if (!*file->error && strcmp(file->state, "refused") && strcmp(file->state, "unreadable"))
		return;
	char name[512];

	rp_path_word(name, sizeof(name), file->path + strlen(j->path) + 1);
	problem(d, "file", "%s %s: %s", name, file->state, *file->error ? file->error : "not read");
}

static uint64_t first_iteration(const char *list)
{
	uint64_t first = UINT64_MAX, n;

	for (const char *s = list; *s; s += *s == ',') {
		n = strtoull(s, NULL, 10);
		first = n < first ? n : first;
		s += strcspn(s, ",");
	}
	return *list ? first : 1;
}

/* Kernels ran, and none of those that were asked for was traced */
static void not_matched(struct gt_details *d, const struct gt_made *m, const struct found *f)
{
	const char *include = m->value[RP_JOB_INCLUDE];
	bool known = f->known && is_plain(include);
	uint64_t first = first_iteration(m->value[RP_JOB_ITERATIONS]);

	if (!f->tables || !f->kernels)
		return;
	if (known && !f->matched)
		problem(d, "no_match",
			"%" PRIu64
			" kernels ran, none has kernel_include in its name: choose it from those "
			"that the first line of command tells",
			f->kernels);
	else if (known && f->matched < first)
		problem(d, "iterations",
			"kernel_iterations begins at %" PRIu64
			", and what kernel_include means ran %" PRIu64
			" times: write 1-2 to it, or let the program run longer",
			first, f->matched);
	else
		problem(d, "no_match",
			"%" PRIu64
			" kernels ran, none was traced: kernel_include means none of them, or "
			"kernel_iterations is past how often it ran: try 1-2",
			f->kernels);
}

static void thread_trace(struct gt_details *d, const struct gt_made *m, const struct rp_job *j,
			 const struct found *f)
{
	uint64_t size = number(m, RP_JOB_ATT_BUFFER);

	if (j->raw && !j->traces)
		problem(d, "no_decoder",
			"%u .att files, and no ui_output_agent_*: rocprofv3 did not find the trace "
			"decoder: "
			"install rocprof-trace-decoder, and write its folder to att_library_path",
			j->raw);
	if (j->traces > j->decoded)
		problem(d, "empty_trace",
			"%u of %u ui_output_agent_* have no code.json: kernel_include matched "
			"nothing there, "
			"or decoder and ROCm do not fit together (INVALID_SHADER_DATA): update "
			"both",
			j->traces - j->decoded, j->traces);
	if (j->raw && j->raw_size >= size - size / 64)
		problem(d, "truncated",
			"an .att file has %" PRIu64
			" bytes, as att_buffer_size: its end is missing: write "
			"%" PRIu64 " to that",
			j->raw_size, size <= 1u << 30 ? 2 * size : 2147483648u);
	if (f->instructions && f->mapped < 0.01 * (double)f->instructions)
		problem(d, "no_source",
			"%" PRIu64
			" instructions, none with a source line: env needs what makes the compiler "
			"keep them (FLYDSL_DEBUG_ENABLE_DEBUG_INFO=1, TRITON_DISABLE_LINE_INFO=0; "
			"-g for HIP), "
			"and caches of compiled kernels must be empty",
			f->instructions);
	if (number(m, RP_JOB_ATT) && !j->raw && !j->traces && !f->whole)
		not_matched(d, m, f);
}

/* Where a bound ended the look: what is not told of may be there */
static void not_all(struct gt_details *d, const struct rp_job *j)
{
	if (j->cut)
		problem(d, "cut",
			"more than %u names are in the folder and below: not all were looked at: "
			"give the job a folder of its own, or remove what is old",
			j->cut);
	if (j->deep)
		problem(d, "cut", "%u folders are too far below it: they were not looked at",
			j->deep);
	if (j->over)
		problem(d, "cut",
			"%u results are more than uid %u may have, or than there is room for, in "
			"all folders: remove what is old",
			j->over, j->uid);
	if (j->unwatched)
		problem(d, "unwatched",
			"%u folders are more than are watched: what comes there is found when "
			"something changes elsewhere, or by rescan to control",
			j->unwatched);
}

static void results(struct gt_details *d, const struct gt_made *m, const struct rp_job *j,
		    const struct rp_files *files)
{
	struct found f = { 0 };

	for (unsigned int i = 0; i < files->n; i++)
		if (rp_job_has(j, &files->file[i])) {
			count(&f, &files->file[i], hash_of(m->value[RP_JOB_INCLUDE]));
			fault(d, j, &files->file[i]);
		}
	if (j->others)
		problem(d, "others",
			"%u files or folders are not uid %u's, and not looked at: chown them, or "
			"run as that "
			"user",
			j->others, j->uid);
	not_all(d, j);
	if (!f.files && !j->raw && !j->traces)
		problem(d, "nothing", "no result is there yet: run command");
	thread_trace(d, m, j, &f);
	if (*m->value[RP_JOB_COUNTERS] && f.files && !f.whole && !f.readings)
		problem(d, "no_counters",
			"%s: kernel_include means no kernel that ran, or a job hung: see what "
			"rocprofv3 said, "
			"and take fewer counters",
			f.counters ? "counter_collection.csv has no row"
				   : "no counter_collection.csv");
}

void rp_job_problems(struct gt_plugin *p, const struct gt_made *m, const char *path, char *buf,
		     size_t len)
{
	struct gt_details d = { buf, len };
	const struct rp *r = p->priv;
	const struct rp_job *j = NULL;

	gt_detail(&d, "# problem what is missing, and what to change\n");
	settings(&d, m);
	for (unsigned int i = 0; r && i < r->files.jobs; i++)
		if (r->files.job[i].serial == m->serial)
			j = &r->files.job[i];
	if (!*m->value[RP_JOB_FOLDER])
		return;
	if (!r)
		problem(&d, "not_running",
			"the backend does not run: see state and last_error, beside jobs");
	else if (!j)
		problem(&d, "not_yet", "the folder has not been looked at yet");
	else if (!j->there)
		problem(&d, "no_folder",
			"there is no folder of uid %u by the name in output_directory that gputrace "
			"may look at: no links, no file system but of this machine, and others may "
			"pass (x) on the way",
			m->uid);
	else if (j->whole && !m->whole)
		problem(&d, "rights",
			"results were looked for with the rights of who sees everything: only such "
			"a one is told what was found");
	else
		results(&d, m, j, &r->files);
}
