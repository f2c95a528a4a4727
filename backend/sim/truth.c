/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ground truth: one CSV row per job, once it is complete or the simulation ends, and a row
 * "#TYPE,ts,gpu,ring,ctx,seqno,pid,queue,value" for every other event. What has not been pushed, or
 * is not known, is empty.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "sim.h"

struct gt_sim_truth {
	FILE *f;
};

static const char header[] = "gpu,ring,ring_name,ctx,seqno,pid,uid,comm,submit,commit,start,end,"
			     "complete,queue,hw_wait,exec,complete_ns,total\n";

struct gt_sim_truth *gt_sim_truth_open(struct gt_plugin *p, const char *path)
{
	struct gt_sim_truth *t = calloc(1, sizeof(*t));
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || ftruncate(fd, 0) < 0)) {
		close(fd);
		fd = -1;
		errno = EINVAL;
	}
	if (t && fd >= 0)
		t->f = fdopen(fd, "w");
	if (t && t->f) {
		fputs(header, t->f);
		return t;
	}
	p->host->log(p, LOG_WARNING, "ground truth %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(t);
	return NULL;
}

static void put(FILE *f, bool known, uint64_t v)
{
	if (known)
		fprintf(f, ",%" PRIu64, v);
	else
		putc(',', f);
}

static bool told(const struct gt_sim_job *j, enum gt_sim_step s)
{
	return j->told & 1u << s;
}

void gt_sim_truth_job(struct gt_sim_truth *t, const struct gt_sim_job *j, const char *ring_name,
		      const char *comm, bool measured)
{
	const uint64_t *at = j->at;
	bool done = told(j, GT_SIM_COMPLETE);
	bool commit = told(j, GT_SIM_COMMIT);

	if (!t)
		return;
	fprintf(t->f, "%u,%u,%s,%" PRIu64 ",%" PRIu64 ",%u,%u,%s", j->gpu, j->ring, ring_name,
		j->ctx, j->seqno, j->pid, j->uid, comm);
	for (unsigned int s = 0; s < GT_SIM_STEPS; s++)
		put(t->f, told(j, s), at[s]);
	put(t->f, commit, at[GT_SIM_COMMIT] - at[GT_SIM_SUBMIT]);
	put(t->f, measured ? told(j, GT_SIM_START) : done, at[GT_SIM_START] - at[GT_SIM_COMMIT]);
	put(t->f, measured ? told(j, GT_SIM_END) : done, at[GT_SIM_END] - at[GT_SIM_START]);
	put(t->f, measured && done, at[GT_SIM_COMPLETE] - at[GT_SIM_END]);
	put(t->f, done, at[GT_SIM_COMPLETE] - at[GT_SIM_SUBMIT]);
	putc('\n', t->f);
}

void gt_sim_truth_event(struct gt_sim_truth *t, const union gt_record *r)
{
	static const char *const names[] = GT_TYPE_NAMES;
	const struct gt_event *e = &r->ev;

	if (!t || e->type >= GT_NTYPES)
		return;
	fprintf(t->f, "#%s", names[e->type]);
	put(t->f, true, e->ts);
	put(t->f, e->gpu != GT_NONE16, e->gpu);
	put(t->f, e->ring != GT_NONE16, e->ring);
	put(t->f, e->ctx != GT_NONE64, e->ctx);
	put(t->f, e->seqno != GT_NONE64, e->seqno);
	put(t->f, e->pid != GT_NONE32, e->pid);
	put(t->f, e->queue != GT_NONE32, e->queue);
	put(t->f, e->value != GT_NONE64, e->value);
	putc('\n', t->f);
}

void gt_sim_truth_flush(struct gt_sim_truth *t)
{
	if (t)
		fflush(t->f);
}

void gt_sim_truth_close(struct gt_sim_truth *t)
{
	if (!t)
		return;
	fclose(t->f);
	free(t);
}
