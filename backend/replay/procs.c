/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of a recording's processes. A trace names threads; a process is called what the thread that
 * leads it is, or, if that one is never seen, what the first thread is that acts for it.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define PROCS_SIZE 65536u /* a power of two */
#define PROCS_MAX  (PROCS_SIZE / 4 * 3)

struct proc {
	uint32_t pid;
	bool used, leader, told;
	char comm[GT_REPLAY_COMM];
};

struct gt_procs {
	unsigned int n;
	struct proc proc[PROCS_SIZE];
};

struct gt_procs *gt_procs_new(void)
{
	return calloc(1, sizeof(struct gt_procs));
}

void gt_procs_free(struct gt_procs *p)
{
	free(p);
}

void gt_comm_set(char out[GT_REPLAY_COMM], const char *comm, size_t len)
{
	memset(out, 0, GT_REPLAY_COMM);
	if (len >= GT_REPLAY_COMM)
		len = GT_REPLAY_COMM - 1;
	if (len == 5 && !memcmp(comm, "<...>", 5))
		return;
	memcpy(out, comm, len);
}

static struct proc *get(struct gt_procs *p, uint32_t pid)
{
	uint32_t i = (pid * 2654435761u) >> 16;

	if (p->n >= PROCS_MAX) {
		/* All names are told again: better than to remember without bounds. */
		memset(p->proc, 0, sizeof(p->proc));
		p->n = 0;
	}
	while (p->proc[i].used && p->proc[i].pid != pid)
		i = (i + 1) & (PROCS_SIZE - 1);
	if (!p->proc[i].used) {
		p->proc[i].used = true;
		p->proc[i].pid = pid;
		p->n++;
	}
	return &p->proc[i];
}

static void name(struct proc *e, const char *comm, bool leader)
{
	if (!*comm || (e->leader && !leader) || (*e->comm && e->leader == leader && !leader))
		return;
	e->leader = leader;
	if (!strcmp(e->comm, comm))
		return;
	gt_comm_set(e->comm, comm, strlen(comm));
	e->told = false;
}

void gt_procs_learn(struct gt_procs *p, uint32_t tid, const char *comm)
{
	name(get(p, tid), comm, true);
}

void gt_procs_record(union gt_record *r, uint64_t ts, uint32_t pid, const char *comm)
{
	gt_record_init(r, ts, GT_PROCESS);
	r->process.pid = pid;
	r->process.start = 0;
	gt_comm_set(r->process.comm, comm, strlen(comm));
}

const char *gt_procs_tell(struct gt_procs *p, uint32_t pid, uint32_t tid, const char *comm)
{
	struct proc *e = get(p, pid);

	name(e, comm, pid == tid);
	if (!*e->comm || e->told)
		return NULL;
	e->told = true;
	return e->comm;
}
