/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plays the files of the `files` option: reads each for the first time, gives the devices they name
 * their numbers, then hands over what they hold, merged by time, at the pace asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/detail.h"
#include "../lib/file.h"
#include "../lib/recording.h"
#include "replay.h"

/*
 * What a file is, by its content. A new kind of recording is a file with a struct gt_reader and a
 * line in the table.
 */

/* In this order: what has a magic number comes first, text last. */
static const struct gt_reader *const readers[] = {
	&gt_reader_stream,   &gt_reader_dat,	&gt_reader_grtrace,
	&gt_reader_annotate, &gt_reader_nvtext, &gt_reader_text,
};

#define HOLES_MATTER (256u << 20)
#define NREADERS     (sizeof(readers) / sizeof(*readers))

ssize_t gt_source_pread(const struct gt_source *s, void *buf, size_t len, uint64_t off)
{
	return off > INT64_MAX ? 0 : gt_pread(s->fd, buf, len, off);
}

/* A file's bytes in a sentence must not do anything to a terminal. */
static void printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
			*text = '?';
}

int gt_source_error(struct gt_source *s, int err, const char *fmt, ...)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printable(text);
	(void)gt_replay_reported(s->r);
	return p->host->error(p, err, "%s: %s", s->path, text);
}

void gt_source_skip(struct gt_source *s, uint64_t n)
{
	s->count.events += n;
	gt_file_skip(&s->count, "other_tracepoints", n);
}

void gt_source_fault(struct gt_source *s, enum gt_place place, uint64_t at, const char *fmt, ...)
{
	struct gt_plugin *p = gt_replay_plugin(s->r);
	char text[320];
	va_list ap;

	gt_file_damaged(&s->count, place, at);
	if (!gt_replay_reported(s->r))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printable(text);
	p->host->error(p, EBADMSG, "%s: %s", s->path, text);
}

void gt_item_lost(struct gt_item *it, uint64_t ts, uint64_t since, uint64_t until, uint64_t count,
		  uint16_t cpu)
{
	gt_record_init(&it->rec, ts, GT_LOST);
	it->rec.lost.cpu = cpu;
	it->rec.lost.count = count;
	it->rec.lost.since = since < ts ? since : ts;
	it->rec.lost.until = until > ts ? until : 0;
	it->rec.lost.cause = GT_LOST_SOURCE;
	it->kind = GT_ITEM_RECORD;
	it->ts = ts;
}

void gt_item_begin(struct gt_item *it, uint64_t ts, uint64_t since, uint16_t cpu)
{
	gt_item_lost(it, ts, since, 0, 0, cpu);
	it->rec.lost.cause = GT_LOST_BEGIN;
}

static const struct gt_reader *detect(struct gt_source *s, int *err)
{
	uint8_t *head = malloc(GT_REPLAY_HEAD);
	const struct gt_reader *found = NULL;
	ssize_t n;

	if (!head) {
		*err = gt_source_error(s, ENOMEM, "no memory");
		return NULL;
	}
	n = gt_source_pread(s, head, GT_REPLAY_HEAD, 0);
	for (size_t i = 0; n > 0 && i < NREADERS && !found; i++)
		if (readers[i]->detect(head, (size_t)n))
			found = readers[i];
	free(head);
	if (n < 0)
		*err = gt_source_error(s, (int)-n, "cannot be read: %s", strerror((int)-n));
	else if (!n)
		*err = gt_source_error(s, ENODATA, "is empty");
	else if (!found)
		*err = gt_source_error(
			s, EINVAL,
			"is no recording that is known here: neither a saved stream "
			"nor trace.dat nor grtrace's records nor text of "
			"ftrace, grtrace's annotator or gpu_sched_trace, nor results "
			"of rocprof, a log of AMD's runtime or a dump of KFD's queues");
	return found;
}

bool gt_replay_knows(const char *path, const uint8_t *head, size_t len)
{
	for (size_t i = 0; head && i < NREADERS; i++)
		if (readers[i]->detect(head, len))
			return true;
	return false;
}

int gt_source_reopen(struct gt_source *s, const struct gt_reader *reader)
{
	if (s->reader)
		s->reader->close(s);
	s->reader = reader;
	return reader->open(s);
}

/* File systems that compress, or write later, say less than there is: of little it is no matter. */
static uint64_t without_holes(uint64_t size, uint64_t stored)
{
	if (stored < HOLES_MATTER)
		stored = HOLES_MATTER;
	return stored < size ? stored : size;
}

/** source_open() - opens @path and its reader; -errno with the sentence reported to the host */
static int source_open(struct gt_replay *r, struct gt_source *s, const char *path)
{
	const struct gt_reader *reader;
	const char *damage;
	struct stat st;
	int err = 0;

	s->r = r;
	s->fd = -1;
	s->path = strdup(path);
	if (!s->path)
		return -ENOMEM;
	s->fd = gt_recording_open(gt_replay_plugin(r), path, &damage);
	if (s->fd < 0)
		return gt_source_error(s, -s->fd, "cannot be opened: %s", strerror(-s->fd));
	if (fstat(s->fd, &st) < 0)
		return gt_source_error(s, errno, "cannot be read: %s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return gt_source_error(s, EISDIR,
				       "is a folder without a result of rocprof: "
				       "name the files of other recordings one by one");
	if (!S_ISREG(st.st_mode))
		return gt_source_error(s, EINVAL, "is not a regular file");
	s->size = (uint64_t)st.st_size;
	s->stored = without_holes(s->size, (uint64_t)st.st_blocks * 512);
	if (damage)
		gt_source_fault(s, GT_PLACE_NONE, 0, "%s", damage);
	reader = detect(s, &err);
	return reader ? gt_source_reopen(s, reader) : err;
}

static void clocks_free(struct gt_source *s)
{
	free(s->clocks);
	s->clocks = NULL;
}

static void source_close(struct gt_source *s)
{
	if (s->reader)
		s->reader->close(s);
	s->reader = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	free(s->path);
	s->path = NULL;
	free(s->said);
	s->said = NULL;
	clocks_free(s);
}

static void gt_replay_select(struct gt_replay *r);

/* The pace of a replay: speed, pause, seek. */

#define SPEED_MAX 1e6
#define LEAD_NS	  1000000000u /* before the first event, so that readers can be there */

/* Real time since @base_now, ns; below 0 in the lead */
static double passed(const struct gt_replay *r)
{
	return (double)(int64_t)(r->p->host->now(r->p) - r->base_now);
}

/** gt_pace_parse() - the option's text; -EINVAL with the sentence reported */
static int gt_pace_parse(struct gt_plugin *p, const char *text, double *speed)
{
	double v = 0, digit = 1;
	const char *c = text;

	/* By hand: strtod() takes names, exponents and the locale's comma. */
	for (; *c >= '0' && *c <= '9'; c++)
		v = v * 10 + (*c - '0');
	if (*c == '.')
		for (c++; *c >= '0' && *c <= '9'; c++)
			v += (*c - '0') * (digit /= 10);
	if (*c || c == text || !strcmp(text, ".") || v > SPEED_MAX)
		return p->host->error(
			p, EINVAL, "speed \"%.40s\" is not a number from 0 to 1000000, such as 0.5",
			text);
	*speed = v;
	return 0;
}

/** gt_pace_position() - where it plays: time goes on between records, but never beyond the next */
static uint64_t gt_pace_position(const struct gt_replay *r)
{
	uint64_t pos;
	double ns;

	if (r->speed == 0 || !r->based || r->paused || r->seek)
		return r->pos;
	ns = passed(r) * r->speed;
	if (ns < 0 || ns > 9e18 - (double)r->base_ts)
		return r->pos;
	pos = r->base_ts + (uint64_t)ns;
	for (unsigned int i = 0; i < r->n; i++)
		if (r->src[i].have && r->src[i].item.ts < pos)
			pos = r->src[i].item.ts;
	return pos > r->pos ? pos : r->pos;
}

/** gt_pace_due() - ns until a record of time @ts is to be played, 0 if now */
static uint64_t gt_pace_due(struct gt_replay *r, uint64_t ts)
{
	double ns;

	if (r->seek && ts >= r->seek) {
		if (r->pos < r->seek)
			r->pos = r->seek;
		r->seek = 0;
		r->based = false;
	}
	if (r->seek)
		return 0;
	if (r->paused)
		return GT_REPLAY_SLEEP;
	if (r->speed == 0)
		return 0;
	if (!r->based) {
		r->base_ts = r->pos ? r->pos : ts;
		r->base_now = r->p->host->now(r->p) + (r->pos ? 0 : LEAD_NS);
		r->based = true;
	}
	ns = (ts > r->base_ts ? (double)(ts - r->base_ts) / r->speed : 0) - passed(r);
	if (ns < 1)
		return 0;
	return ns < GT_REPLAY_SLEEP ? (uint64_t)ns : GT_REPLAY_SLEEP;
}

int gt_replay_set(struct gt_plugin *p, const struct gt_option *o)
{
	const struct gt_replay_options *opt = p->options;
	struct gt_replay *r = p->priv;
	double speed;
	int ret;

	if (strcmp(o->name, "speed"))
		return -EOPNOTSUPP;
	ret = gt_pace_parse(p, opt->speed && *opt->speed ? opt->speed : "0", &speed);
	if (ret < 0 || !r)
		return ret;
	if (r->pos)
		r->pos = gt_pace_position(r);
	r->speed = speed;
	r->based = false;
	p->host->timer(p, 1);
	return 0;
}

int gt_replay_control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	struct gt_replay *r = p->priv;

	switch (what) {
	case GT_CTL_PAUSE:
		if (r->pos)
			r->pos = gt_pace_position(r);
		r->paused = true;
		if (r->pos) /* where it stands is what it is asked to go on from */
			p->host->watermark(p, r->pos);
		p->host->timer(p, 0);
		return 0;
	case GT_CTL_RESUME:
		r->paused = false;
		r->based = false;
		p->host->timer(p, 1);
		return 0;
	case GT_CTL_SEEK:
		r->seek = arg > 0 ? (uint64_t)arg : 0;
		p->host->timer(p, 1);
		return 0;
	case GT_CTL_LEVEL:
		r->level = arg > 2 ? (int)arg : 2; /* statistics need what records do */
		if (r->phase == GT_REPLAY_PLAYS)
			gt_replay_select(r);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * Names of a recording's processes. A trace names threads; a process is called what the thread that
 * leads it is, or, if that one is never seen, what the first thread is that acts for it.
 */

#define PROCS_SIZE 65536u /* a power of two */
#define PROCS_MAX  (PROCS_SIZE / 4 * 3)

struct proc {
	uint32_t pid;
	bool used, leader, reported;
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
		/* All names are emitted again: better than to remember without bounds. */
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
	e->reported = false;
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

const char *gt_procs_emit(struct gt_procs *p, uint32_t pid, uint32_t tid, const char *comm)
{
	struct proc *e = get(p, pid);

	name(e, comm, pid == tid);
	if (!*e->comm || e->reported)
		return NULL;
	e->reported = true;
	return e->comm;
}

/*
 * CPUs with different clocks: a job that ended before it was submitted, handed over or began ended on
 * a CPU with a clock behind that of the other, by as much at least. Jobs that were handed over long
 * before they were submitted show the same, but for one or two, where the thread that submits may
 * have been preempted. From then on no time is made of two that were measured on such CPUs. A CPU
 * that differs from several is the one that is wrong, and differs from all; of two of which neither
 * differs from a third, either may be, unless it agrees with a third: jobs that were submitted on
 * one were handed over on the other soon after, and the other way round.
 */

#define CTXS  64	    /* contexts, by number; others share a place */
#define JOBS  256	    /* of each that are remembered */
#define CPUS  512	    /* beyond, clocks count as the same */
#define RINGS 256	    /* by number; others share a place */
#define ENDS  8		    /* of a ring: one of another clock may have come after the latest */
#define RACE  100000ull	    /* ns: so late a submission may be noted after its hand-over */
#define RACES 3		    /* so many jobs of which it was later show that clocks differ */
#define MOST  1000000000ull /* ns: what comes later is another job with the same number */

/**
 * struct seen - what was seen of a job
 * @types: as bits; @ts, @cpu: of its end; @begin: when it was submitted; @hand: handed over
 * @submit, @commit, @start, @fin: on which CPU; @fin: its END, which was at @fin_ts
 */
struct seen {
	uint64_t ctx, seqno, ts, begin, hand, fin_ts;
	uint64_t types;
	uint16_t gpu, ring, cpu, submit, commit, start, fin;
};

/** struct ends - the CPUs of a ring's last ends, in a circle; @n: how many there were so far */
struct ends {
	uint64_t n;
	uint16_t cpu[ENDS];
};

/**
 * struct gt_clocks - of a recording
 * @differ: of each CPU, those with another clock, as far as jobs have shown it; @any: there are
 * some
 * @n: how many, @with: the last of them
 * @soon: of each CPU, those where what it submitted was handed over soon after
 * @agree: those of which that is so both ways
 * @races: jobs that were submitted long after their hand-over, by the CPUs of both
 * @odd: CPUs that count as different from all others
 * @ends: by ring
 */
struct gt_clocks {
	struct seen job[CTXS][JOBS];
	uint64_t differ[CPUS][CPUS / 64];
	bool any;
	uint16_t n[CPUS], with[CPUS];
	uint64_t soon[CPUS][CPUS / 64], agree[CPUS][CPUS / 64];
	uint8_t races[CPUS][CPUS];
	uint64_t odd[CPUS / 64];
	struct ends ends[RINGS];
};

#define BEGINS (GT_BIT(GT_SUBMIT) | GT_BIT(GT_COMMIT) | GT_BIT(GT_START))

static bool has(const uint64_t *set, unsigned int cpu)
{
	return set[cpu / 64] >> cpu % 64 & 1;
}

static void put(uint64_t *set, unsigned int cpu)
{
	set[cpu / 64] |= 1ull << cpu % 64;
}

/* Are the clocks of these CPUs known to differ, or may they? */
static bool differ(const struct gt_clocks *k, uint16_t a, uint16_t b)
{
	return a < CPUS && b < CPUS && a != b &&
	       (has(k->differ[a], b) || has(k->odd, a) || has(k->odd, b));
}

static bool agrees(const struct gt_clocks *k, unsigned int cpu)
{
	uint64_t some = 0;

	for (unsigned int i = 0; i < CPUS / 64; i++)
		some |= k->agree[cpu][i] & ~k->differ[cpu][i];
	return some;
}

static bool is_odd(const struct gt_clocks *k, unsigned int cpu)
{
	return k->n[cpu] > 1 || (k->n[cpu] == 1 && k->n[k->with[cpu]] == 1 && !agrees(k, cpu));
}

static void find_odd(struct gt_clocks *k)
{
	memset(k->odd, 0, sizeof(k->odd));
	for (unsigned int i = 0; i < CPUS; i++)
		if (is_odd(k, i))
			put(k->odd, i);
}

static void note_differ(struct gt_clocks *k, uint16_t a, uint16_t b)
{
	if (a >= CPUS || b >= CPUS || a == b || has(k->differ[a], b))
		return;
	put(k->differ[a], b);
	put(k->differ[b], a);
	k->with[a] = b;
	k->with[b] = a;
	k->n[a]++;
	k->n[b]++;
	k->any = true;
	find_odd(k);
}

/* A job was submitted on CPU @a and soon after handed over on @b */
static void note_soon(struct gt_clocks *k, uint16_t a, uint16_t b)
{
	if (a >= CPUS || b >= CPUS || a == b || has(k->soon[a], b))
		return;
	put(k->soon[a], b);
	if (!has(k->soon[b], a))
		return;
	put(k->agree[a], b);
	put(k->agree[b], a);
	if (k->any)
		find_odd(k);
}

/* A job was handed over on CPU @a and long after submitted on @b. Is that one too many? */
static bool note_race(struct gt_clocks *k, uint16_t a, uint16_t b)
{
	if (a >= CPUS || b >= CPUS)
		return false;
	k->races[a][b] += k->races[a][b] < RACES;
	return k->races[a][b] == RACES;
}

/* The clock of CPU @behind is at least @ns behind that of @ahead, if it is another one */
static void note_behind(struct gt_source *s, uint16_t behind, uint16_t ahead, uint64_t ns)
{
	struct gt_filecount *c = &s->count;

	if (behind == ahead || behind == GT_NONE16 || ahead == GT_NONE16)
		return;
	note_differ(s->clocks, behind, ahead);
	if (ns <= c->behind_ns)
		return;
	c->behind_ns = ns;
	c->behind = behind;
	c->ahead = ahead;
}

static bool same_job(const struct seen *j, const struct gt_event *e)
{
	return j->ctx == e->ctx && j->seqno == e->seqno && j->gpu == e->gpu && j->ring == e->ring;
}

static unsigned int place(const struct gt_event *e)
{
	return (e->ring + 61u * e->gpu) % RINGS;
}

/* Is there another clock than that of @cpu among these ends? */
static bool differs_from(const struct gt_clocks *k, uint16_t cpu, const struct ends *ends)
{
	for (unsigned int i = 0; i < ENDS && i < ends->n; i++)
		if (differ(k, cpu, ends->cpu[i]))
			return true;
	return false;
}

/* Which times of @e's job, of which @j was seen, are made of two clocks */
static uint8_t mixed(const struct gt_clocks *k, const struct gt_event *e, const struct seen *j)
{
	const struct ends *ends = &k->ends[place(e)];
	uint16_t hand = j->commit != GT_NONE16 ? j->commit : j->submit;
	uint16_t end = j->fin != GT_NONE16 ? j->fin : e->cpu;
	uint8_t flags = 0;

	/* of a job that has left the table the CPU is not known */
	if (e->type == GT_SUBMIT)
		return differ(k, j->submit, j->commit) ? GT_F_CLOCK : 0;
	if (e->type == GT_COMMIT)
		return j->submit == GT_NONE16 || differ(k, j->submit, j->commit) ? GT_F_CLOCK : 0;
	if (e->type != GT_COMPLETE)
		return 0;
	if (j->submit == GT_NONE16 || differ(k, j->submit, e->cpu))
		flags |= GT_F_CLOCK;
	if (differ(k, end, e->cpu))
		flags |= GT_F_CLOCK_END;
	if (j->start != GT_NONE16)
		flags |= differ(k, hand, j->start) || differ(k, j->start, end) ? GT_F_CLOCK_HW : 0;
	else if (hand == GT_NONE16 || differ(k, hand, end) || differs_from(k, end, ends) ||
		 differs_from(k, hand, ends))
		flags |= GT_F_CLOCK_HW;
	return flags;
}

/* What was seen of @e's job */
static struct seen *seen_of(struct gt_clocks *k, const struct gt_event *e)
{
	struct seen *j = &k->job[e->ctx % CTXS][e->seqno % JOBS];

	if (!j->types || !same_job(j, e) || (e->type == GT_SUBMIT && j->types & GT_BIT(GT_SUBMIT)))
		*j = (struct seen){ .ctx = e->ctx,
				    .seqno = e->seqno,
				    .gpu = e->gpu,
				    .ring = e->ring,
				    .submit = GT_NONE16,
				    .commit = GT_NONE16,
				    .start = GT_NONE16,
				    .fin = GT_NONE16 };
	return j;
}

/* Has the job of @e, which begins it, ended before? */
static bool note_early(struct gt_source *s, const struct gt_event *e, const struct seen *j)
{
	bool complete = j->types & GT_BIT(GT_COMPLETE);
	uint64_t ts = complete ? j->ts : j->fin_ts;

	if (!(complete || j->types & GT_BIT(GT_END)) || e->ts < ts || e->ts - ts >= MOST)
		return false;
	s->count.early++;
	note_behind(s, complete ? j->cpu : j->fin, e->cpu, e->ts - ts);
	return true;
}

static void note_begin(struct gt_source *s, const struct gt_event *e, struct seen *j)
{
	if (e->type == GT_COMMIT) {
		j->commit = e->cpu;
		j->hand = e->ts;
		if (j->types & GT_BIT(GT_SUBMIT) && e->ts - j->begin < RACE)
			note_soon(s->clocks, j->submit, e->cpu);
	}
	if (e->type == GT_START)
		j->start = e->cpu;
	if (e->type != GT_SUBMIT)
		return;
	j->submit = e->cpu;
	j->begin = e->ts;
	if (j->types & GT_BIT(GT_COMMIT) && e->ts >= j->hand + RACE && e->ts - j->hand < MOST &&
	    note_race(s->clocks, j->commit, e->cpu))
		note_behind(s, j->commit, e->cpu, e->ts - j->hand);
}

/** gt_clocks_see() - counts in s->count if @e is of a job that has ended before; sets GT_F_CLOCK
 * and GT_F_CLOCK_HW where the clocks of two CPUs are known to differ, or it is */
static void gt_clocks_see(struct gt_source *s, struct gt_event *e)
{
	struct gt_clocks *k = s->clocks ? s->clocks : calloc(1, sizeof(*k));
	struct ends *ends;
	struct seen *j;
	bool late = false;

	s->clocks = k;
	if (!k || e->type >= GT_NTYPES ||
	    !(GT_BIT(e->type) & (BEGINS | GT_BIT(GT_END) | GT_BIT(GT_COMPLETE))) ||
	    e->ctx == GT_NONE64 || e->seqno == GT_NONE64)
		return;
	j = seen_of(k, e);
	if (e->type == GT_COMPLETE) {
		j->ts = e->ts;
		j->cpu = e->cpu;
	} else if (e->type == GT_END) {
		j->fin_ts = e->ts;
		j->fin = e->cpu;
	} else if (!(j->types & GT_BIT(e->type))) {
		late = note_early(s, e, j);
		note_begin(s, e, j);
	}
	if (k->any)
		e->flags |= mixed(k, e, j);
	if (late)
		e->flags |= GT_F_CLOCK;
	if (e->type == GT_COMPLETE) {
		ends = &k->ends[place(e)];
		ends->cpu[ends->n++ % ENDS] = j->fin != GT_NONE16 ? j->fin : e->cpu;
	}
	j->types |= GT_BIT(e->type);
}

/** gt_clocks_emit() - at the end: the sentence, if clocks differ or lines were not in order */
static void gt_clocks_emit(struct gt_source *s)
{
	const struct gt_filecount *c = &s->count;

	if (c->behind_ns && gt_replay_reported(s->r))
		gt_source_error(s, EILSEQ,
				"the clock of CPU %u is at least %llu us behind that of CPU %u: "
				"events that came after the end of their job: %llu",
				c->behind, (unsigned long long)c->behind_ns / 1000, c->ahead,
				(unsigned long long)c->early);
	else if (c->late && gt_replay_reported(s->r))
		gt_source_error(s, EILSEQ,
				"lines that came too late to be put in order of time: %llu, by up "
				"to %llu us",
				(unsigned long long)c->late, (unsigned long long)c->late_ns / 1000);
}

#define FILES_MAX 64
#define DRAIN_MAX 16384	  /* records a call of drain() */
#define DRAIN_NS  5000000 /* and its time */
#define WAIT_NS	  1000000 /* until a file that had nothing yet is asked again */

struct gt_plugin *gt_replay_plugin(const struct gt_replay *r)
{
	return r->p;
}

struct gt_source *gt_replay_source(struct gt_replay *r, unsigned int i)
{
	return i < r->n ? &r->src[i] : NULL;
}

bool gt_replay_reported(struct gt_replay *r)
{
	bool first = !r->reported;

	r->reported = true;
	return first;
}

int gt_replay_probe(struct gt_plugin *p)
{
	const struct gt_replay_options *o = p->options;

	if (!o->files || !*o->files)
		return p->host->error(p, ENOENT, "no file to play: mount with -o replay=FILE");
	return 0;
}

static int open_files(struct gt_replay *r, const char *files)
{
	char *list = strdup(files), *rest = list;
	int ret = list ? 0 : -ENOMEM;

	r->src = calloc(FILES_MAX, sizeof(*r->src));
	if (!r->src)
		ret = -ENOMEM;
	for (char *f = ret ? NULL : gt_path_next(&rest, ':'); f && !ret;
	     f = gt_path_next(&rest, ':')) {
		if (r->n == FILES_MAX)
			ret = r->p->host->error(r->p, E2BIG, "more than %d files", FILES_MAX);
		else
			ret = source_open(r, &r->src[r->n++], f);
	}
	free(list);
	if (!ret && !r->n)
		ret = r->p->host->error(r->p, ENOENT, "no file to play");
	return ret;
}

void gt_replay_stop(struct gt_plugin *p)
{
	struct gt_replay *r = p->priv;

	if (!r)
		return;
	for (unsigned int i = 0; i < r->n; i++)
		source_close(&r->src[i]);
	free(r->src);
	free(r);
	p->priv = NULL;
}

int gt_replay_start(struct gt_plugin *p)
{
	const struct gt_replay_options *o = p->options;
	struct gt_replay *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return p->host->error(p, ENOMEM, "no memory");
	p->priv = r;
	r->p = p;
	r->level = 2;
	ret = gt_pace_parse(p, o->speed && *o->speed ? o->speed : "0", &r->speed);
	if (!ret)
		ret = gt_replay_probe(p);
	if (!ret)
		ret = open_files(r, o->files);
	if (ret < 0)
		gt_replay_stop(p);
	else
		p->host->timer(p, 1);
	return ret;
}

/* Devices of all files, in order of their names; the GPU's number is then that of its name. */
static void register_devices(struct gt_replay *r)
{
	unsigned int at[FILES_MAX] = { 0 };

	for (;;) {
		struct gt_gpu_desc d = { .minor = -1 };
		const char(*devs)[GT_REPLAY_DEV];
		unsigned int n;

		for (unsigned int i = 0; i < r->n; i++) {
			if (!r->src[i].events)
				continue;
			devs = gt_events_devs(r->src[i].events, &n);
			if (at[i] < n && (!d.dev || strcmp(devs[at[i]], d.dev) < 0))
				d.dev = devs[at[i]];
		}
		if (!d.dev)
			return;
		for (unsigned int i = 0; i < r->n; i++) {
			if (!r->src[i].events)
				continue;
			devs = gt_events_devs(r->src[i].events, &n);
			if (at[i] == n || strcmp(devs[at[i]], d.dev))
				continue;
			if (!d.driver)
				d.driver = gt_events_driver(r->src[i].events, at[i]);
			at[i]++;
		}
		r->p->host->gpu(r->p, &d);
	}
}

/** gt_replay_select() - the maps' level changed, or the first reading is done */
static void gt_replay_select(struct gt_replay *r)
{
	for (unsigned int i = 0; i < r->n; i++)
		if (r->src[i].events)
			gt_events_select(r->src[i].events, r->level);
}

/* A piece of the first reading. A file that fails here is played as far as it goes. */
static void scan(struct gt_replay *r, uint64_t deadline)
{
	for (unsigned int i = 0; i < r->n; i++) {
		struct gt_source *s = &r->src[i];

		while (!s->scanned) {
			int ret = s->reader->scan ? s->reader->scan(s) : 1;

			s->scanned = ret != 0;
			if (r->p->host->now(r->p) >= deadline)
				return;
		}
	}
	register_devices(r);
	gt_replay_select(r);
	r->phase = GT_REPLAY_PLAYS;
}

static void flush(struct gt_replay *r)
{
	if (r->batched)
		r->p->host->push(r->p, r->batch, r->batched);
	r->batched = 0;
}

static void add(struct gt_replay *r, const union gt_record *rec)
{
	if (rec->ev.ts > r->pos)
		r->pos = rec->ev.ts;
	if (r->batched == GT_REPLAY_BATCH)
		flush(r);
	r->batch[r->batched++] = *rec;
}

/* The name of whoever submits or calls, before the first. */
static int emit_process(struct gt_replay *r, struct gt_source *s, const union gt_record *rec)
{
	union gt_record proc;
	const char *comm;

	if ((rec->ev.type != GT_SUBMIT && rec->ev.type != GT_FUNCTION) || !s->events ||
	    rec->ev.pid == GT_NONE32 || !rec->ev.pid)
		return 0;
	comm = gt_procs_emit(gt_events_procs(s->events), rec->ev.pid, rec->ev.tid, s->item.comm);
	if (!comm)
		return 0;
	gt_procs_record(&proc, rec->ev.ts, rec->ev.pid, comm);
	add(r, &proc);
	return 1;
}

static int emit(struct gt_replay *r, struct gt_source *s)
{
	union gt_record out[GT_TP_MAX_RECORDS + GT_CALL_RECORDS];
	uint64_t damaged;
	int n, total = 0;

	s->have = false;
	/* names, processes, queues and losses are no events of the file */
	if (s->item.kind == GT_ITEM_RECORD && s->item.rec.ev.type >= GT_NTYPES) {
		add(r, &s->item.rec);
		return 1;
	}
	s->count.events++;
	if (s->item.kind == GT_ITEM_RECORD && s->item.rec.ev.type != GT_FUNCTION) {
		s->count.used++;
		gt_clocks_see(s, &s->item.rec.ev);
		add(r, &s->item.rec);
		return 1;
	}
	damaged = s->count.damaged;
	if (s->item.kind == GT_ITEM_RECORD)
		n = gt_call_again(&r->calls, s, &s->item.rec, out);
	else if (s->item.kind == GT_ITEM_CALL)
		n = gt_call_records(&r->calls, s, &s->item, out);
	else
		n = gt_events_decode(s->events, &s->item, out);
	for (int i = 0; i < n; i++, total++) {
		total += emit_process(r, s, &out[i]);
		gt_clocks_see(s, &out[i].ev);
		add(r, &out[i]);
	}
	if (n > 0)
		s->count.used++;
	else if (s->count.damaged == damaged)
		gt_file_skip(&s->count, "without_record", 1);
	return total;
}

/* The file with the earliest item; NULL: wait, or with @ended: all is over. */
static struct gt_source *earliest(struct gt_replay *r, bool *ended)
{
	struct gt_source *first = NULL;
	bool wait = false;

	*ended = true;
	for (unsigned int i = 0; i < r->n; i++) {
		struct gt_source *s = &r->src[i];

		if (!s->have && !s->ended) {
			int ret = s->reader->next(s);

			s->have = ret > 0;
			s->ended = ret < 0;
			wait |= !ret;
		}
		*ended &= s->ended;
		if (s->have && (!first || s->item.ts < first->item.ts))
			first = s;
	}
	return wait ? NULL : first;
}

/* Are there events that an event map names, and none of them gave a record? */
static bool gives_none(const struct gt_filecount *c)
{
	for (unsigned int i = 0; i < GT_FILE_KINDS && c->skipped[i].kind; i++)
		if (!strcmp(c->skipped[i].kind, "without_record"))
			return c->skipped[i].n;
	return false;
}

static const char *why_empty(const struct gt_source *s)
{
	if (s->empty)
		return s->empty;
	if (gives_none(&s->count))
		return "none of its events gives a record: an end counts only behind its job's "
		       "begin";
	return "has no event that an event map names, see gputrace-events.d(5)";
}

/* An empty tree says nothing: this is why it is empty. */
static void emit_empty(struct gt_replay *r)
{
	for (unsigned int i = 0; i < r->n; i++)
		if (!r->src[i].count.used && gt_replay_reported(r))
			r->p->host->error(r->p, ENODATA, "%s: %s", r->src[i].path,
					  why_empty(&r->src[i]));
}

static int play(struct gt_replay *r, uint64_t deadline)
{
	bool ended = false, idle = false;
	uint64_t sleep = 1;
	int n = 0;

	for (unsigned int i = 1; n < DRAIN_MAX; i++) {
		struct gt_source *s = earliest(r, &ended);

		if (!s) {
			sleep = ended ? 1 : WAIT_NS;
			break;
		}
		sleep = gt_pace_due(r, s->item.ts);
		idle = sleep != 0;
		if (idle)
			break;
		n += emit(r, s);
		sleep = 1;
		if (i % 256 == 0 && r->p->host->now(r->p) >= deadline)
			break;
	}
	flush(r);
	if (ended) {
		r->phase = GT_REPLAY_ENDED;
		emit_empty(r);
		for (unsigned int i = 0; i < r->n; i++)
			gt_clocks_emit(&r->src[i]);
	}
	if (r->pos)
		r->p->host->watermark(r->p, gt_pace_position(r));
	if (!idle || !r->paused)
		r->p->host->timer(r->p, sleep);
	/* 0 means that there is nothing to do: only while it waits for a record's time. */
	return n || idle ? n : 1;
}

int gt_replay_drain(struct gt_plugin *p)
{
	struct gt_replay *r = p->priv;
	uint64_t deadline = p->host->now(p) + DRAIN_NS;

	if (r->phase == GT_REPLAY_ENDED)
		return -ENODATA;
	if (r->phase == GT_REPLAY_PLAYS)
		return play(r, deadline);
	scan(r, deadline);
	p->host->timer(p, 1);
	return 1;
}

void gt_replay_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	static const char *const phases[] = { "scanning", "playing", "ended" };
	struct gt_replay *r = p->priv;
	struct gt_details d = { buf, len };

	if (!len)
		return;
	*buf = '\0';
	if (!r)
		return;
	gt_detail(&d, "phase %s\nposition_ns %llu\n", phases[r->phase], (unsigned long long)r->pos);
	for (unsigned int i = 0; i < r->n; i++) {
		const struct gt_source *s = &r->src[i];

		gt_file_detail(&d, i, s->path, s->reader->name, &s->count);
	}
}
