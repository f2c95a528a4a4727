/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads all logs, and hands over their records merged by time. Live, inotify wakes it; as each
 * line is a wake-up, it then reads at intervals until nothing more comes. A recording is read to
 * its end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "../lib/detail.h"
#include "../lib/heap.h"
#include "../lib/recording.h"
#include "amdlog.h"

/*
 * Records of the logs, by time. A log's own records are mostly in order, and one that is not is put
 * in its place, unless that is far away: then all are sorted, once, before they are handed over.
 * Whatever order a log's lines have, it costs the same.
 */

#define NEAR  32 /* places that a record is moved ahead */
#define BATCH 256

void gt_amd_log_put(struct gt_amd_log *l, const union gt_record *r)
{
	uint32_t i = l->count, least = l->count > l->head + NEAR ? l->count - NEAR : l->head;

	if (r->ev.ts < l->since) {
		l->n.older++;
		return;
	}
	if (l->count == GT_AMD_RECORDS)
		return; /* never: who reads leaves room for GT_AMD_PER_LINE */
	while (!l->unsorted && i > least && l->out[i - 1].ev.ts > r->ev.ts)
		i--;
	if (!l->unsorted && i == least && i > l->head && l->out[i - 1].ev.ts > r->ev.ts) {
		l->unsorted = true;
		i = l->count;
	}
	memmove(&l->out[i + 1], &l->out[i], (l->count - i) * sizeof(*r));
	l->out[i] = *r;
	l->count++;
	l->n.records++;
}

/* Two runs of @n, of which the second may be shorter or not there, as one in @to */
static void merge_runs(const union gt_record *from, union gt_record *to, uint32_t n, uint32_t end)
{
	uint32_t a = 0, b = n < end ? n : end, mid = b;

	for (uint32_t i = 0; i < end; i++)
		to[i] = a < mid && (b == end || from[a].ev.ts <= from[b].ev.ts) ? from[a++]
										: from[b++];
}

/* Those of one time stay as they came. */
static void sort(struct gt_amd_log *l)
{
	union gt_record *from = l->out + l->head, *to = l->a->sorting, *t;
	uint32_t n = l->count - l->head;

	for (uint32_t run = 1; run < n; run *= 2) {
		for (uint32_t i = 0; i < n; i += 2 * run)
			merge_runs(from + i, to + i, run, n - i < 2 * run ? n - i : 2 * run);
		t = from;
		from = to;
		to = t;
	}
	if (from != l->out + l->head)
		memcpy(l->out + l->head, from, n * sizeof(*from));
	l->unsorted = false;
}

/** struct heap - logs with something to hand over, the earliest first */
struct heap {
	struct gt_amd_log *l[GT_AMD_FILES];
	unsigned int n;
};

static bool before(struct gt_amd_log *const *a, struct gt_amd_log *const *b)
{
	return (*a)->out[(*a)->head].ev.ts < (*b)->out[(*b)->head].ev.ts;
}

static void fill(struct gt_amd *a, struct heap *h)
{
	h->n = 0;
	for (unsigned int i = 0; i < a->n; i++) {
		struct gt_amd_log *l = &a->file[i]->log;

		if (l->head == l->count)
			continue;
		if (l->unsorted)
			sort(l);
		h->l[h->n++] = l;
	}
	GT_HEAP_MAKE(h->l, h->n, before);
}

/* Of a recording half of what was read stays: a line a little out of order finds its place there.
 */
static bool ready(const struct gt_amd_file *f)
{
	return f->eof || f->log.count - f->log.head >= GT_AMD_RECORDS / 2;
}

static bool all_ready(const struct gt_amd *a)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (!ready(a->file[i]))
			return false;
	return true;
}

/* Is the record at @ts one that waits? Where a seek ends it stays, if it is paused. */
static bool held(struct gt_amd *a, uint64_t ts)
{
	if (a->seek && ts < a->seek)
		return false;
	if (a->seek)
		a->pos = a->seek;
	a->seek = 0;
	return a->paused;
}

/** gt_amd_hand_over() - emits what waits, by time; how many records */
static int gt_amd_hand_over(struct gt_amd *a)
{
	bool all = !a->p->recording;
	union gt_record batch[BATCH];
	unsigned int n = 0;
	struct heap h;
	int total = 0;

	if (!all && !all_ready(a))
		return 0;
	fill(a, &h);
	while (h.n) {
		struct gt_amd_log *l = h.l[0];

		if (held(a, l->out[l->head].ev.ts))
			break;
		a->pos = l->out[l->head].ev.ts;
		batch[n++] = l->out[l->head++];
		total++;
		if (l->head == l->count)
			h.l[0] = h.l[--h.n];
		GT_HEAP_SINK(h.l, h.n, 0, before);
		if (n == BATCH) {
			a->p->host->push(a->p, batch, n);
			n = 0;
		}
		if (!all && !ready(gt_amd_file_of(l)))
			break;
	}
	if (n)
		a->p->host->push(a->p, batch, n);
	if (a->paused && !a->seek && a->pos)
		a->p->host->watermark(a->p, a->pos);
	return total;
}

/* What the backend shows of itself: counters, and a table of the logs that it follows. */

static void sum(const struct gt_amd *a, struct gt_amd_counts *to)
{
	uint64_t *t = (uint64_t *)to;

	*to = a->gone;
	for (unsigned int f = 0; f < a->n; f++)
		for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
			t[i] += ((const uint64_t *)&a->file[f]->log.n)[i];
}

void gt_amd_doctor(struct gt_plugin *p, char *buf, size_t len)
{
	const struct gt_amd *a = p->priv;
	struct gt_details t = { buf, len };
	struct gt_amd_counts n;
	size_t clock;

	if (!len)
		return;
	*buf = '\0';
	if (!a)
		return;
	sum(a, &n);
	clock = p->host->clock_lines(p, GT_CLOCK_ID_MONOTONIC, buf, len);
	t.p += clock;
	t.left -= clock;
#define LINE(key, v) gt_detail(&t, key " %llu\n", (unsigned long long)(v))
	LINE("logs", a->n);
	LINE("logs_closed", a->closed);
	LINE("logs_refused", a->refused);
	LINE("logs_over_share", a->over);
	LINE("user_waits", a->waits);
	LINE("readers_failed", a->readers_failed);
	LINE("folders", a->nfolders);
	LINE("folders_cut", a->left_out);
	LINE("lines", n.lines);
	LINE("lines_used", n.used);
	LINE("lines_other", n.other);
	LINE("lines_foreign", n.foreign);
	LINE("lines_untimed", n.untimed);
	LINE("lines_damaged", n.damaged);
	LINE("lines_too_long", n.too_long);
	LINE("lines_cut", n.cut);
	LINE("queues", n.queues);
	LINE("queues_refused", n.refused);
	LINE("dispatches", n.dispatches);
	LINE("dispatches_refused", n.refused_dispatches);
	LINE("barriers", n.barriers);
	LINE("completions", n.completions);
	LINE("commands", n.commands);
	LINE("copies", n.copies);
	LINE("events_before_the_start", n.older);
	LINE("pids_of_others", a->forged);
	for (unsigned int i = 0; p->recording && i < a->n; i++)
		gt_file_detail(&t, i, a->file[i]->path, "amd-log", &a->file[i]->log.filecount);
}

/* A line's number, from 1 */
static void place(struct gt_details *t, uint64_t line)
{
	if (line)
		gt_detail(t, " %llu", (unsigned long long)line);
	else
		gt_detail(t, " -");
}

static const char *state_of(const struct gt_amd_file *f)
{
	if (f->gone)
		return "deleted";
	if (f->user->waits && f->off < f->size)
		return "waiting";
	return f->eof ? "read" : "reading";
}

#define PATH_WORD 512 /* bytes of a path that are shown */
#define ROW_MAX	  (PATH_WORD + 300)
static_assert(GT_AMD_FILES * ROW_MAX < GT_BACKEND_TEXT_MAX, "all rows fit");

void gt_amd_show_logs(struct gt_plugin *p, char *buf, size_t len)
{
	const struct gt_amd *a = p->priv;
	struct gt_details t = { buf, len };

	for (unsigned int i = 0; a && i < a->n; i++) {
		const struct gt_amd_file *f = a->file[i];
		const struct gt_amd_counts *n = &f->log.n;
		char pid[12] = "-", path[PATH_WORD];

		if (f->log.pid)
			snprintf(pid, sizeof(pid), "%u", f->log.pid);
		gt_detail(&t, "%s %u %s %llu %llu %llu %llu %llu %llu %llu %llu %llu", state_of(f),
			  f->log.uid, pid, (unsigned long long)f->off, (unsigned long long)n->lines,
			  (unsigned long long)n->foreign,
			  (unsigned long long)(n->damaged + n->too_long),
			  (unsigned long long)n->records, (unsigned long long)f->truncated,
			  (unsigned long long)n->used, (unsigned long long)n->other,
			  (unsigned long long)n->untimed);
		place(&t, f->log.first_foreign);
		place(&t, f->log.filecount.first);
		gt_word(path, sizeof(path), f->path);
		gt_detail(&t, " %s\n", path);
	}
}

/* The last ones that were left out, and why */
void gt_amd_show_problems(struct gt_plugin *p, char *buf, size_t len)
{
	const struct gt_amd *a = p->priv;
	struct gt_details t = { buf, len };
	const struct gt_amd_problem *next;

	for (uint64_t nr = 0; a; nr = next->nr) { /* by number */
		next = NULL;
		for (unsigned int i = 0; i < GT_AMD_FAULTS; i++)
			if (a->fault[i].nr > nr && (!next || a->fault[i].nr < next->nr))
				next = &a->fault[i];
		if (!next)
			break;
		gt_detail(&t, "%s\n", next->text);
	}
}

#define DRAIN_NS    5000000u	/* of a drain */
#define START_NS    1000000000u /* of a start, which looks for the first record */
#define INTERVAL_NS 10000000u	/* between two while files grow */

/* The place of a problem: its own, if it is there already, else the oldest one's; of a user who has a
 * share of them, of their own */
static struct gt_amd_problem *place_of(struct gt_amd *a, const struct gt_amd_problem *problem)
{
	struct gt_amd_problem *oldest = a->fault, *own = NULL;
	unsigned int n = 0;

	for (struct gt_amd_problem *p = a->fault; p < a->fault + GT_AMD_FAULTS; p++) {
		if (p->nr < oldest->nr)
			oldest = p;
		if (!p->nr || p->uid != problem->uid)
			continue;
		if (!strcmp(p->text, problem->text))
			return p;
		n++;
		own = !own || p->nr < own->nr ? p : own;
	}
	return problem->uid && n >= GT_AMD_FAULTS / GT_AMD_SHARE ? own : oldest;
}

int gt_amd_fault(struct gt_amd *a, uint32_t uid, int err, const char *path, const char *why)
{
	struct gt_amd_problem problem = { .nr = ++a->refused, .uid = uid };
	char word[PATH_WORD];

	gt_word(word, sizeof(word), path ? path : "");
	snprintf(problem.text, sizeof(problem.text), "%s: %s", word, why);
	*place_of(a, &problem) = problem;
	if (a->reported)
		return err > 0 ? -err : -EIO;
	a->reported = true;
	if (a->p->recording)
		return a->p->host->error(a->p, err, "%s: %s", path ? path : "", why);
	return a->p->host->error(a->p, err,
				 "a log, or a folder of logs, was left out: see problems");
}

int gt_amd_probe(struct gt_plugin *p)
{
	const struct gt_amd_options *o = p->options;

	if (p->recording && o->speed && *o->speed && strcmp(o->speed, "0"))
		return p->host->error(p, EINVAL,
				      "logs of AMD's runtime are read as fast as it goes: speed= "
				      "is not for them");
	if (o->files && *o->files)
		return 1;
	return p->host->error(p, ENOENT,
			      "no logs are named: set files in [backend amdlog] to what "
			      "AMD_LOG_LEVEL_FILE names, such as /tmp/amdlog/*");
}

/* Reads each recording to its first record, which waits, or to its end, or as long as there is time.
 */
static bool give(struct gt_amd *a)
{
	bool any = false;

	a->deadline = a->p->host->now(a->p) + START_NS;
	for (unsigned int i = 0; i < a->n; i++) {
		struct gt_amd_log *l = &a->file[i]->log;
		ssize_t n;

		do {
			n = gt_amd_file_read(a->file[i]);
		} while (n > 0 && !l->count && !gt_amd_late(a));
		if (n <= 0 && !l->count)
			gt_amd_log_settle(l, true);
		any |= l->count;
	}
	return any;
}

/* The sentence of a log that gives nothing: what is in it instead */
static int emit_empty(struct gt_amd *a, const struct gt_amd_file *f)
{
	const struct gt_amd_counts *n = &f->log.n;
	char bad[64] = "";

	if (f->log.filecount.damaged)
		snprintf(bad, sizeof(bad), ", and %llu are damaged, the first is line %llu",
			 (unsigned long long)f->log.filecount.damaged,
			 (unsigned long long)f->log.filecount.first);
	return a->p->host->error(
		a->p, ENODATA,
		"%s: is a log of AMD's runtime, but none of its %llu lines is of a queue, "
		"a kernel or a copy%s: AMD_LOG_LEVEL=4 writes them, with AMD_LOG_MASK "
		"as it is by default",
		f->path, (unsigned long long)n->lines, bad);
}

static void open_recordings(struct gt_amd *a)
{
	const struct gt_amd_options *o = a->p->options;
	char *list = strdup(o->files ? o->files : ""), *rest = list;

	for (char *w = list ? gt_path_next(&rest, ':') : NULL; w; w = gt_path_next(&rest, ':'))
		if (a->n == GT_AMD_FILES)
			gt_amd_fault(a, 0, E2BIG, w, "more than 256 logs at a time");
		else if (!gt_amd_file_open(a, NULL, w, &a->file[a->n]))
			a->n++;
	free(list);
}

/* From now on what the option names is followed. */
static int begin(struct gt_amd *a)
{
	a->reported = false;
	if (a->p->recording) {
		open_recordings(a);
		if (!a->n)
			return -EINVAL; /* it has been reported */
		if (!give(a) && !gt_amd_late(a))
			return emit_empty(a, a->file[0]);
	} else {
		a->since = a->p->host->now(a->p);
		a->names = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (a->names < 0)
			return a->p->host->error(a->p, errno, "inotify: %s", strerror(errno));
		gt_amd_folders(a);
		gt_amd_find(a, DRAIN_NS);
	}
	a->awake = true;
	a->p->host->timer(a->p, 1);
	return 0;
}

bool gt_amd_knows(const char *path, const uint8_t *head, size_t len)
{
	const char *p = (const char *)head, *end = p + len, *nl;
	struct gt_amd_line l;

	for (; head && p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		if (gt_amd_line(p, (size_t)(nl - p), &l) && l.us != GT_NONE64)
			return true;
	}
	return false;
}

static int start(struct gt_amd *a)
{
	a->block = malloc(GT_AMD_BLOCK);
	a->sorting = malloc(GT_AMD_RECORDS * sizeof(*a->sorting));
	return a->block && a->sorting ? begin(a) : a->p->host->error(a->p, ENOMEM, "no memory");
}

int gt_amd_start(struct gt_plugin *p)
{
	struct gt_amd *a = calloc(1, sizeof(*a));
	int ret;

	if (!a)
		return p->host->error(p, ENOMEM, "no memory");
	a->p = p;
	a->names = -1;
	a->reader.child.fd = -1;
	p->priv = a;
	ret = start(a);
	if (ret)
		gt_amd_stop(p);
	return ret;
}

static void add_counts(struct gt_amd_counts *to, const struct gt_amd_counts *n)
{
	uint64_t *t = (uint64_t *)to;
	const uint64_t *f = (const uint64_t *)n;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
		t[i] += f[i];
}

static void drop(struct gt_amd *a, unsigned int i)
{
	add_counts(&a->gone, &a->file[i]->log.n);
	gt_amd_file_close(a->file[i]);
	a->file[i] = a->file[--a->n];
	a->closed++;
	if (a->waiting)
		gt_amd_find_again(a);
	a->waiting = false;
}

static void end(struct gt_amd *a)
{
	while (a->n)
		drop(a, a->n - 1);
	while (a->nfolders)
		gt_amd_folder_free(&a->folder[--a->nfolders]);
	a->heard = a->heard_at = 0;
	if (a->names < 0)
		return;
	if (!a->awake)
		a->p->host->watch(a->p, a->names, false);
	close(a->names);
	a->names = -1;
}

void gt_amd_stop(struct gt_plugin *p)
{
	struct gt_amd *a = p->priv;

	if (!a)
		return;
	end(a);
	gt_amd_reader_end(&a->reader);
	free(a->numbers.free);
	free(a->sorting);
	free(a->block);
	free(a);
	p->priv = NULL;
}

/* Reads on in file @i. False: it has gone, and another may be in its place. */
static bool read_on(struct gt_amd *a, unsigned int i, ssize_t *got)
{
	struct gt_amd_file *f = a->file[i];
	ssize_t n = gt_amd_file_read(f);

	*got += n > 0 ? n : 0;
	if (n == 0 && f->eof)
		gt_amd_log_settle(&f->log, a->p->recording);
	if (n < 0)
		gt_amd_fault(a, f->log.uid, (int)-n, f->path,
			     n == -ESTALE   ? "has another owner now"
			     : n == -EPROTO ? "the process that reads it has failed"
					    : strerror((int)-n));
	a->waiting |= n == -ESTALE; /* as the new owner's it is another log, which is found again */
	if (n >= 0 && !(f->gone && f->eof && !n && f->log.head == f->log.count))
		return true;
	if (!a->p->recording)
		gt_amd_log_end(&f->log);
	f->eof = true;
	if (f->log.head != f->log.count) { /* its records are handed over first */
		a->ending = true;
		return true;
	}
	drop(a, i);
	return false;
}

/* Users. Logs take turns by owner, so that who has many, or much in them, keeps nobody else waiting
 * for more than one of them. Beyond option user_records a user's logs are not read on for a while. */

struct gt_amd_user *gt_amd_user_of(struct gt_amd *a, uint32_t uid)
{
	struct gt_amd_user *oldest = NULL;

	for (unsigned int i = 0; i < GT_AMD_FILES; i++)
		if (a->user[i].used && a->user[i].uid == uid)
			return &a->user[i];
	for (unsigned int i = 0; i < GT_AMD_FILES; i++) {
		struct gt_amd_user *u = &a->user[i];
		unsigned int k = 0;

		while (k < a->n && a->file[k]->user != u)
			k++;
		if (k == a->n && (!oldest || u->turn < oldest->turn))
			oldest = u;
	}
	/* never NULL: there are as many accounts as logs, and the log that asks is not among them */
	*oldest = (struct gt_amd_user){ .uid = uid, .used = true };
	return oldest;
}

/* May another of that user's logs be read on? A recording has no users who could wait. */
static bool may_read(struct gt_amd *a, struct gt_amd_user *u)
{
	const struct gt_amd_options *o = a->p->options;
	uint64_t per_s = a->p->recording || !u->uid ? 0 : (uint64_t)o->user_records;
	bool waited = u->waits;

	u->waits = !gt_user_may(&u->rate, a->p->host->now(a->p), per_s);
	a->waits += u->waits && !waited;
	return !u->waits;
}

/* The file of @a->file that is next in this pass: of the user who had a turn longest ago the one that
 * had; a->n: all were */
static unsigned int next_file(const struct gt_amd *a)
{
	const struct gt_amd_file *next = NULL;
	unsigned int at = a->n;

	for (unsigned int i = 0; i < a->n; i++) {
		const struct gt_amd_file *f = a->file[i];

		if (f->pass == a->passes)
			continue;
		if (next && (f->user == next->user ? f->turn >= next->turn
						   : f->user->turn >= next->user->turn))
			continue;
		next = f;
		at = i;
	}
	return at;
}

/* Has that file's turn; bytes read */
static ssize_t take_turn(struct gt_amd *a, unsigned int i)
{
	struct gt_amd_user *u = a->file[i]->user;
	uint64_t records = a->file[i]->log.n.records, began = gt_thread_cpu_ns(), ns;
	uint64_t child_began = gt_child_cpu_ns(a->reader.child.pid), child;
	ssize_t got = 0;

	u->turn = a->file[i]->turn = ++a->turns;
	if (read_on(a, i, &got))
		records = a->file[i]->log.n.records - records;
	else
		records = 0; /* nothing more was in it */
	ns = gt_thread_cpu_ns() - began;
	child = gt_child_cpu_ns(a->reader.child.pid); /* another one, if that failed */
	gt_rate_more(&u->rate, (unsigned int)records);
	gt_user_spent(&u->rate, records, ns + child - (child >= child_began ? child_began : 0));
	return got;
}

/* A pass over all files, as long as there is time; bytes read */
static ssize_t read_all(struct gt_amd *a)
{
	ssize_t got = 0;
	unsigned int i;

	a->passes++;
	while ((i = next_file(a)) < a->n) {
		a->file[i]->pass = a->passes;
		if (!may_read(a, a->file[i]->user)) {
			gt_amd_file_look(a->file[i]); /* for its state */
			continue;
		}
		got += take_turn(a, i);
		if (gt_amd_late(a))
			break;
	}
	return got;
}

static bool anybody_waits(const struct gt_amd *a)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (a->file[i]->user->waits)
			return true;
	return false;
}

static bool finished(const struct gt_amd *a)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (!a->file[i]->eof || a->file[i]->log.head != a->file[i]->log.count)
			return false;
	return true;
}

/* Did none of them have a record, which start() did not see yet? */
static bool gave_nothing(const struct gt_amd *a)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (a->file[i]->log.n.records)
			return false;
	return a->n && !a->gone.records;
}

/* While something comes it looks again after a while; else inotify wakes it. */
static void wait_for_more(struct gt_amd *a, bool more)
{
	if (a->p->recording || more)
		a->p->host->timer(a->p, a->p->recording ? 1 : INTERVAL_NS);
	if (a->p->recording || more == a->awake)
		return;
	a->awake = more;
	a->p->host->watch(a->p, a->names, !more);
}

int gt_amd_drain(struct gt_plugin *p)
{
	struct gt_amd *a = p->priv;
	ssize_t got, all = 0;
	int n = 0;

	a->round++;
	a->ending = false;
	gt_amd_find(a, DRAIN_NS / 2);
	a->deadline = p->host->now(p) + DRAIN_NS / 2; /* many names do not keep it from reading */
	do {
		got = read_all(a);
		all += got;
		n += gt_amd_hand_over(a);
	} while (got && !gt_amd_late(a));
	if (p->recording && !n && finished(a)) {
		if (gave_nothing(a))
			emit_empty(a, a->file[0]);
		return -ENODATA;
	}
	if (a->paused && !a->seek)
		return n;
	/* where the time was up, other logs may have something */
	wait_for_more(a, gt_amd_finding(a) || a->ending || all > 0 || anybody_waits(a) ||
				 gt_amd_late(a));
	return n || !p->recording ? n : 1;
}

int gt_amd_set(struct gt_plugin *p, const struct gt_option *o)
{
	struct gt_amd_options *set = p->options;
	struct gt_amd *a = p->priv;

	if (!strcmp(o->name, "user_records"))
		return 0; /* it is asked at each turn */
	if (strcmp(o->name, "files"))
		return -EOPNOTSUPP;
	set->written = true;
	if (!a)
		return 0;
	for (unsigned int i = 0; i < a->n; i++)
		gt_amd_log_end(&a->file[i]->log);
	gt_amd_hand_over(a);
	end(a);
	return begin(a);
}

static int control_recording(struct gt_amd *a, enum gt_control what, int64_t arg)
{
	switch (what) {
	case GT_CTL_PAUSE:
		a->paused = true;
		if (a->pos)
			a->p->host->watermark(a->p, a->pos);
		a->p->host->timer(a->p, 0);
		return 0;
	case GT_CTL_RESUME:
		a->paused = false;
		break;
	case GT_CTL_SEEK:
		a->seek = arg > 0 ? (uint64_t)arg : 0;
		break;
	case GT_CTL_LEVEL:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
	a->p->host->timer(a->p, 1);
	return 0;
}

int gt_amd_control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	struct gt_amd *a = p->priv;

	if (p->recording)
		return control_recording(a, what, arg);
	switch (what) {
	case GT_CTL_PAUSE:
		if (!a->awake)
			p->host->watch(p, a->names, false);
		a->awake = true;
		p->host->timer(p, 0);
		return 0;
	case GT_CTL_RESUME:
		p->host->timer(p, 1);
		return 0;
	case GT_CTL_RESCAN:
		gt_amd_folders(a);
		gt_amd_find_again(a);
		p->host->timer(p, 1);
		return 0;
	case GT_CTL_LEVEL:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}
