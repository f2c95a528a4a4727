/* SPDX-License-Identifier: GPL-2.0 */
/*
 * nvidia_trace: the lines of gpu_sched_trace (eunomia-bpf/gpu_ext, extension/gpu_sched_trace.c),
 * with times that are the events' own and the driver's names of engines and levels. What is not
 * known is
 * "-" in a column, and left out among the rest.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "nvidia.h"

struct gv_line gv_line(const struct gv_at *at, uint16_t kind, uint32_t t)
{
	struct gv_line l;

	memset(&l, 0xff, sizeof(l));
	l.kind = kind;
	l.rm = at->n->kind > GT_NV_DESTROY;
	if (t) {
		l.tsg = at->v->tsg[t].tsg;
		l.runlist = at->v->tsg[t].runlist;
		l.channels = at->v->tsg[t].channels;
	}
	return l;
}

void gv_trace(struct gv_at *at, struct gv_line line)
{
	struct gv *v = at->v;

	line.ts = at->n->ts;
	line.cpu = at->n->cpu;
	line.pid = at->n->pid;
	memcpy(line.comm, at->n->comm, sizeof(line.comm));
	v->told[line.kind]++;
	v->line[v->lines++ % GV_LINES] = line;
}

struct out {
	char *p;
	size_t left;
};

static void __attribute__((format(printf, 2, 3))) put(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(o->p, o->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= o->left) {
		*o->p = '\0';
		o->left = 1; /* nothing more fits either */
		return;
	}
	o->p += n;
	o->left -= (size_t)n;
}

static void put_number(struct out *o, const char *before, uint32_t v, const char *after)
{
	if (v != GT_NONE32)
		put(o, "%s%u%s", before, v, after);
}

static void put_head(struct out *o, const struct gv_line *l, int64_t offset)
{
	static const char *const names[] = { [GT_NV_INIT] = "TASK_INIT",
					     [GT_NV_BIND] = "BIND",
					     [GT_NV_TOKEN] = "TOKEN_REQ",
					     [GT_NV_DESTROY] = "TASK_DESTROY" };
	uint64_t at = l->ts + (uint64_t)offset;
	time_t sec = (time_t)(at / 1000000000);
	char clock[16] = "", comm[17] = "", tsg[16] = "-", pid[16] = "-", cpu[8] = "--";
	struct tm tm;

	if (localtime_r(&sec, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	memcpy(comm, l->comm, 16);
	for (char *c = comm; *c; c++) /* no name makes a line of its own */
		*c = *c < ' ' || *c > '~' ? '?' : *c;
	if (l->tsg != GT_NONE32)
		snprintf(tsg, sizeof(tsg), "%u", l->tsg);
	if (l->pid != GT_NONE32)
		snprintf(pid, sizeof(pid), "%u", l->pid);
	if (l->cpu != GT_NONE16)
		snprintf(cpu, sizeof(cpu), "%02u", l->cpu);
	put(o, "%s.%06u [CPU%s] %-12s PID=%-6s %-16s TSG=%-4s", clock,
	    (unsigned int)(at % 1000000000 / 1000), cpu, names[l->kind], pid, *comm ? comm : "-",
	    tsg);
}

static void put_level(struct out *o, const struct gv_line *l)
{
	static const char *const levels[] = { "LOW", "MEDIUM", "HIGH" };

	if (l->interleave < 3)
		put(o, " interleave=%s", levels[l->interleave]);
	else if (l->interleave != 0xff)
		put(o, " interleave=%u", l->interleave);
}

static void put_line(struct out *o, const struct gv *v, const struct gv_line *l, int64_t offset)
{
	char engine[16] = "";

	put_head(o, l, offset);
	switch (l->kind) {
	case GT_NV_INIT:
		if (l->engine != GT_NONE16)
			gv_engine(v->driver || l->rm ? v->driver : GV_HOOK_DRIVER, !l->rm,
				  l->engine, engine);
		if (*engine)
			put(o, " engine=%-8s", engine);
		else if (l->engine != GT_NONE16)
			put(o, " engine=0x%-6x", l->engine);
		put_number(o, " timeslice=", l->timeslice, " us");
		put_level(o, l);
		put_number(o, " runlist=", l->runlist, "");
		break;
	case GT_NV_BIND:
		put_number(o, " channels=", l->channels, "");
		put_number(o, " timeslice=", l->timeslice, " us");
		put_level(o, l);
		put(o, " allowed=%s", l->allow ? "yes" : "no");
		break;
	case GT_NV_TOKEN:
		put_number(o, " channel=", l->channels, "");
		put_number(o, " token=", l->token, "");
		break;
	}
	put(o, "\n");
}

void gv_trace_text(const struct gv *v, const struct gv_counted *c, int64_t offset, char *buf,
		   size_t len)
{
	uint64_t first = v->lines > GV_LINES ? v->lines - GV_LINES : 0;
	struct out o = { buf, len };

	*buf = '\0';
	for (uint64_t i = first; i < v->lines; i++)
		put_line(&o, v, &v->line[i % GV_LINES], offset);
	put(&o,
	    "\n=== Statistics ===\n"
	    "task_init:    %" PRIu64 "\n"
	    "bind:         %" PRIu64 "\n"
	    "token_request: %" PRIu64 "\n"
	    "task_destroy: %" PRIu64 "\n"
	    "dropped:      %" PRIu64 "\n"
	    "read_failed:  %" PRIu64 "\n",
	    v->told[GT_NV_INIT], v->told[GT_NV_BIND], v->told[GT_NV_TOKEN], v->told[GT_NV_DESTROY],
	    c->dropped, c->read_failed);
}
