/* SPDX-License-Identifier: GPL-2.0 */
/* The event log and its cursors, from one thread and from several. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../backend/backend.h"
#include "../../fs/stream/stream.h"
#include "../lib/fins.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static const struct gt_view root = { .all = true };
static const struct gt_scope everything = { GT_NONE16, GT_NONE16, GT_NONE32, GT_NONE32 };

/* A model made by hand: nothing but what a cursor looks at. */
struct small {
	struct gt_model *m;
	struct gt_gpu gpu;
	struct gt_ring ring[2];
	struct gt_queue queue;
	struct gt_proc proc[3], *procs[4];
};

static struct small *small_new(void)
{
	struct small *s = calloc(1, sizeof(*s));

	s->m = calloc(1, sizeof(*s->m));
	pthread_mutex_init(&s->m->lock, NULL);
	s->m->gpus[0] = &s->gpu;
	s->m->ngpus = 1;
	strcpy(s->gpu.name, "sim0");
	s->gpu.nrings = 2;
	for (unsigned int i = 0; i < 2; i++) {
		s->gpu.rings[i] = &s->ring[i];
		s->ring[i].id = (uint16_t)i;
		s->ring[i].engine = GT_ENGINE_COMPUTE;
	}
	memset(s->ring[1].name, 'x', sizeof(s->ring[1].name)); /* without an end */
	strcpy(s->m->custom[2], "dpm_change");
	memset(&s->queue.desc, 0xff, sizeof(s->queue.desc));
	s->queue.id = 77;
	s->queue.desc.flags = GT_F_END_REPORTED;
	s->queue.desc.uid = 1001;
	s->queue.desc.pid = 11;
	s->m->queues[0] = &s->queue;
	s->m->nqueues = 1;
	for (unsigned int i = 0; i < 3; i++) {
		s->procs[i + 1] = &s->proc[i];
		s->proc[i] = (struct gt_proc){ .pid = 10 + i, .uid = 1000 + i };
		strcpy(s->proc[i].comm, "worker");
	}
	s->proc[2].dead = true;
	s->m->procs = s->procs;
	s->m->proc_slots = 4;
	return s;
}

static void small_free(struct small *s)
{
	pthread_mutex_destroy(&s->m->lock);
	free(s->m);
	free(s);
}

/* A record that is wrong if any of its words is another's. */
static union gt_record numbered(uint64_t i)
{
	union gt_record r;

	gt_record_init(&r, i + 1, GT_SUBMIT);
	r.ev.gpu = 0;
	r.ev.ring = (uint16_t)(i & 1);
	r.ev.ctx = ~i;
	r.ev.seqno = i;
	r.ev.pid = (uint32_t)i;
	r.ev.uid = (uint32_t)i ^ 0x5555;
	r.ev.value = i * 3;
	r.ev.ref = i * 5;
	return r;
}

static bool intact(const union gt_record *r)
{
	union gt_record want = numbered(r->ev.seqno);

	return !memcmp(r, &want, sizeof(want));
}

static void append(struct gt_log *l, uint64_t from, uint64_t n)
{
	for (uint64_t i = from; i < from + n; i++) {
		union gt_record r = numbered(i);

		gt_log_append(l, &r);
	}
}

/* A cursor that has given its preamble away. */
static void open_cursor(struct gt_cursor *c, struct gt_log *l, struct small *s,
			const struct gt_scope *scope)
{
	union gt_record r;

	if (gt_cursor_init(c, l, s->m, &root, scope))
		ok(false, "no cursor");
	while (c->pre_at < c->npre)
		gt_cursor_read(c, &r, 1);
}

static void test_time(void)
{
	struct gt_log *l = gt_log_new(1, false);
	union gt_record r = numbered(99);

	is(l->mask + 1, 512, "the smallest log has 512 records");
	is(l->realtime_offset, 0, "a recording has no offset");
	gt_log_append(l, &r);
	r.ev.ts = 40;
	gt_log_append(l, &r);
	ok(l->rec[1].ev.ts == 100 && l->rec[1].ev.ref == 40 && l->rec[1].ev.flags == GT_F_LATE,
	   "a late event gets the last time and keeps its own");
	r.ev.type = GT_PROCESS;
	gt_log_append(l, &r);
	ok(l->rec[2].ev.ts == 100 && l->rec[2].ev.ref == r.ev.ref && !l->rec[2].ev.flags,
	   "a late description gets the last time");
	is(l->late, 1, "late events are counted");
	gt_log_floor(l, 500);
	gt_log_floor(l, 300);
	r = numbered(399);
	gt_log_append(l, &r);
	is(l->rec[3].ev.ts, 500, "the watermark is a floor, and does not fall");
	r.ev.ts = UINT64_MAX;
	gt_log_append(l, &r);
	gt_log_floor(l, UINT64_MAX);
	r.ev.ts = 501;
	gt_log_append(l, &r);
	ok(l->rec[4].ev.ts == 500 && l->rec[4].ev.ref == UINT64_MAX && l->rec[5].ev.ts == 501,
	   "a time that cannot be does not hold up what follows");
	gt_log_free(l);
	l = gt_log_new(1000000, true);
	is(l->mask + 1, 8192, "rounded down to a power of two");
	ok(l->realtime_offset && l->boottime_offset >= -1000000, "offsets of the other clocks");
	gt_log_free(l);
	ok(!gt_log_new(UINT64_MAX, false), "more than there can be is refused");
}

/* The first line of a file */
static const char *line_of(const char *path)
{
	static char line[300];
	FILE *f = fopen(path, "r");

	line[0] = '\0';
	if (f && fgets(line, sizeof(line), f))
		line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
	return line;
}

/* A live stream says of which machine it is, and when its clocks changed */
static void test_machine(struct small *s)
{
	struct gt_log *l = gt_log_new(1, true);
	char boot_id[64] = "", *to = boot_id;
	int64_t realtime = l->realtime_offset;
	union gt_record r[2], e = numbered(99);
	struct gt_cursor c;

	if (gt_cursor_init(&c, l, s->m, &root, &everything) || gt_cursor_read(&c, r, 2) < 2)
		ok(false, "no cursor");
	ok(r[0].ev.type == GT_HEADER && r[1].ev.type == GT_MACHINE, "the second record is MACHINE");
	for (int i = 0; i < 16; i++)
		to += sprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      r[1].machine.boot_id[i]);
	is_str(boot_id, line_of("/proc/sys/kernel/random/boot_id"), "with this boot's id");
	ok(!strncmp(r[1].machine.name, line_of("/proc/sys/kernel/hostname"), 32), "and its name");
	gt_cursor_destroy(&c);
	gt_log_append(l, &e);
	gt_log_clocks(l);
	is(l->head, 1, "clocks that go on have no record");
	l->realtime_offset -= 5000000000;
	gt_log_clocks(l);
	ok(l->head == 2 && l->rec[1].ev.type == GT_CLOCK_SNAPSHOT, "one that was set has one");
	is(l->rec[1].ev.ts, e.ev.ts, "at the last record's time");
	ok(llabs(l->rec[1].clock_snapshot.realtime_offset - realtime) < 1000000000 &&
		   l->rec[1].clock_snapshot.realtime_offset == l->realtime_offset,
	   "with the offset from now on");
	gt_log_free(l);
	l = gt_log_new(1, false);
	gt_log_clocks(l);
	is(l->head, 0, "a recording's clock is none of this machine's");
	gt_log_free(l);
}

static void test_preamble(struct small *s)
{
	static const uint8_t want[] = { GT_HEADER, GT_GPU_NAME, GT_RING_NAME, GT_RING_NAME,
					GT_NAME,   GT_QUEUE,	GT_PROCESS,   GT_PROCESS };
	struct gt_log *l = gt_log_new(65536, false);
	union gt_record r[16];
	struct gt_cursor c;
	bool types = true, times = true;

	append(l, 0, 50);
	is(gt_cursor_init(&c, l, s->m, &root, &everything), 0, "a cursor");
	append(l, 50, 2);
	ok(gt_cursor_ready(&c), "ready at once");
	is(gt_cursor_read(&c, r, 16), 10, "a preamble and what came since");
	for (int i = 0; i < 8; i++) {
		types &= r[i].ev.type == want[i];
		times &= r[i].ev.ts == 50;
	}
	ok(types, "its records in order");
	ok(times, "at the log's last time");
	ok(intact(&r[8]) && r[8].ev.seqno == 50 && intact(&r[9]), "then the log, from now on");
	ok(!strcmp(r[0].header.magic, GT_RECORD_MAGIC) && r[0].header.record_size == 64 &&
		   r[0].header.session == l->session,
	   "HEADER");
	is_str(r[1].gpu_name.name, "sim0", "GPU_NAME");
	is(strnlen(r[3].ring_name.name, 40), 39, "a name that does not end is cut");
	ok(r[4].name.id == GT_CUSTOM0 + 2 && !strcmp(r[4].name.text, "dpm_change"), "NAME");
	ok(r[5].queue.queue == 77 && r[5].queue.pid == 11 && r[5].queue.ctx == GT_NONE64 &&
		   r[5].queue.flags == GT_F_END_REPORTED,
	   "QUEUE");
	ok(r[6].process.pid == 10 && r[7].process.pid == 11 && r[6].process.start == GT_NONE64,
	   "PROCESS of the living");
	ok(!gt_cursor_ready(&c) && !gt_cursor_read(&c, r, 16), "then nothing");
	gt_cursor_destroy(&c);
	gt_log_free(l);
}

static void test_preamble_narrow(struct small *s)
{
	struct gt_view user = { .uid = 1000, .visibility = GT_VIS_REDACTED };
	struct gt_scope ring1 = { 0, 1, GT_NONE32, GT_NONE32 };
	struct gt_log *l = gt_log_new(65536, false);
	union gt_record r[16];
	struct gt_cursor c;

	gt_cursor_init(&c, l, s->m, &user, &ring1);
	is(gt_cursor_read(&c, r, 16), 6, "one ring, one user: HEADER GPU RING NAME QUEUE PROCESS");
	is(r[2].ring_name.ring, 1, "only the scope's ring");
	ok(r[4].queue.pid == GT_NONE32 && r[4].queue.flags == (GT_F_REDACTED | GT_F_END_REPORTED),
	   "another's queue is blanked");
	is(r[5].process.uid, 1000, "only the user's own process");
	gt_cursor_destroy(&c);
	gt_log_free(l);
}

static void test_lapped(struct small *s)
{
	struct gt_log *l = gt_log_new(131072, false);
	union gt_record r[2048];
	struct gt_cursor c;
	uint64_t given = 0;
	bool good = true;
	size_t n;

	open_cursor(&c, l, s, &everything);
	append(l, 0, 1024);
	is(gt_cursor_read(&c, r, 2048), 1024, "a full log is read whole");
	append(l, 1024, 1025);
	is(gt_cursor_read(&c, r, 1), 1, "lapped, room for one record");
	ok(r[0].ev.type == GT_LOST && r[0].lost.cause == GT_LOST_READER, "it is LOST");
	is(r[0].lost.since, 1024, "since the last that was given");
	n = gt_cursor_read(&c, r + 1, 2047);
	is(r[0].lost.ts, r[1].ev.ts, "with the time of the next");
	is(r[0].lost.count + n, 1025, "what is reported and what is given are all");
	is(r[0].lost.count, c.missed, "and the cursor has counted it");
	for (size_t i = 1; i <= n; i++)
		good &= intact(&r[i]);
	ok(good && r[n].ev.seqno == 2048, "the rest is whole, to the last");
	n = c.missed;
	append(l, 2049, 10000);
	while (gt_cursor_read(&c, r, 1))
		given += r[0].ev.type != GT_LOST;
	is(given + c.missed - n, 10000, "again, one by one");
	gt_cursor_destroy(&c);
	gt_log_free(l);
}

static void test_bounded_scan(struct small *s)
{
	struct gt_scope queue = { GT_NONE16, GT_NONE16, GT_NONE32, 5 };
	struct gt_log *l = gt_log_new(16 << 20, false);
	union gt_record r[2048];
	struct gt_cursor c;

	open_cursor(&c, l, s, &queue);
	append(l, 0, 65536 + 10);
	is(gt_cursor_read(&c, r, 2048), 0, "nothing in scope");
	ok(gt_cursor_ready(&c), "one call looks at so many records only");
	is(gt_cursor_read(&c, r, 1), 0, "the rest, one by one");
	ok(!gt_cursor_ready(&c), "then there is nothing more");
	gt_cursor_destroy(&c);
	gt_log_free(l);
}

static void test_history(struct small *s)
{
	struct gt_log *l = gt_log_new(131072, false);
	struct gt_finished f = { .seqno = 0 }, got;
	union gt_record r[2048];
	struct gt_cursor c, live;
	size_t n;

	append(l, 0, 3000);
	open_cursor(&live, l, s, &everything);
	gt_cursor_init(&c, l, s->m, &root, &everything);
	gt_cursor_history(&c);
	n = gt_cursor_read(&c, r, 2048);
	is(n, 8 + 1024, "the whole history");
	ok(r[0].ev.ts == r[8].ev.ts && r[8].ev.seqno == 3000 - 1024 && !c.missed,
	   "names are as old as the oldest record");
	gt_cursor_destroy(&c);

	append(l, 3000, 3);
	gt_log_clear(l);
	gt_cursor_init(&c, l, s->m, &root, &everything);
	gt_cursor_history(&c);
	is(gt_cursor_read(&c, r, 2048), 8, "after a clear there is none");
	append(l, 3003, 2);
	is(gt_cursor_read(&c, r, 2048), 2, "but what came since");
	is(gt_cursor_read(&live, r, 2048), 5, "an open reader misses nothing");
	gt_cursor_destroy(&c);
	gt_cursor_destroy(&live);

	ok(!fin_get(l, 0, &got), "no finished job yet");
	for (n = l->fin_mask + 1; f.seqno < n + 10; f.seqno++)
		gt_log_finished(l, &f);
	ok(!fin_get(l, 9, &got), "the oldest is overwritten");
	ok(fin_get(l, 10, &got) && got.seqno == 10, "the next is there");
	ok(fin_get(l, n + 9, &got) && got.seqno == n + 9, "the newest too");
	ok(!fin_get(l, n + 10, &got), "none after it");
	gt_log_clear(l);
	ok(!fin_get(l, n + 9, &got), "a clear takes them");
	gt_log_free(l);
}

static uint64_t mapped_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long long n, sum = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssFile: %llu", &n) == 1 ||
		    sscanf(line, "RssShmem: %llu", &n) == 1)
			sum += n;
	if (f)
		fclose(f);
	return sum;
}

/* Jobs in a file: who walks along them takes no memory for it */
static void test_file(void)
{
	const uint64_t n = 200000; /* 24 MiB */
	struct gt_log *l = gt_log_new(65536, false);
	struct gt_finished f = { .ioctl = GT_NONE64 };
	uint64_t good = 0, back = 0, looks = 0, before, after;
	unsigned int found = 0, blocks = 0;
	const struct gt_finished *j;
	char dir[TMP_PATH_MAX];
	struct gt_fins w;

	if (!tmp_dir(dir, "gt-stream") || gt_log_to_file(l, dir)) {
		printf("# no room for a file\n");
		gt_log_free(l);
		return;
	}
	rmdir(dir);
	f.ring = 1;
	for (; f.seqno < n; f.seqno++) {
		f.ring = f.seqno == 5 || f.seqno == 150000;
		f.pid = f.seqno == 100000 ? 7 : 1;
		gt_log_finished(l, &f);
	}
	before = mapped_kib();
	gt_fins_init(&w, l);
	for (uint64_t i = 0; i < n; i++)
		good += (j = gt_fins_get(&w, i, false)) && j->seqno == i;
	for (uint64_t i = n; i--;)
		back += (j = gt_fins_get(&w, i, true)) && j->seqno == i;
	after = mapped_kib();
	is(good, n, "all jobs of a file are read");
	is(back, n, "backwards, too");
	ok(after < before + 4096, "… and are not memory then: %" PRIu64 " KiB, %" PRIu64 " before",
	   after, before);
	for (uint64_t i = n; (i = gt_fins_before(&w, i, 0)) > 0; i--)
		looks++;
	is(looks, n, "a walk for all looks at all");
	w.rings = gt_fin_ring_bit(0, 1);
	for (uint64_t i = n; (i = gt_fins_before(&w, i, 3)) > 3; i--, blocks++)
		found += (j = gt_fins_get(&w, i - 1, true)) && j->ring == 1;
	ok(found == 2 && blocks <= 2 * GT_FIN_BLOCK, "one for a ring looks where it is: %u",
	   blocks);
	w.rings = UINT64_MAX;
	w.pids = gt_fin_pid_bit(7);
	for (uint64_t i = found = blocks = 0; (i = gt_fins_after(&w, i, n)) < n; i++, blocks++)
		found += (j = gt_fins_get(&w, i, false)) && j->pid == 7;
	ok(found == 1 && blocks == GT_FIN_BLOCK, "one for a process likewise: %u", blocks);
	gt_log_fin_ioctl(l, 5, 77);
	ok(fin_get(l, 5, &f) && f.ioctl == 77, "and are completed still");
	gt_log_free(l);
}

/* Threads ------------------------------------------------------------------------------------ */

#define RECORDS 5000000ULL
#define READERS 3

struct reader {
	pthread_t thread;
	struct gt_log *log;
	struct gt_cursor c;
	size_t max;
	uint64_t given, reported, torn, unordered, fin_torn, fins;
	atomic_bool *done;
};

static void check(struct reader *rd, const union gt_record *r, uint64_t *next)
{
	if (r->ev.type == GT_LOST) {
		rd->reported += r->lost.count;
		*next += r->lost.count;
		return;
	}
	rd->given++;
	rd->torn += !intact(r);
	rd->unordered += r->ev.seqno != *next;
	*next = r->ev.seqno + 1;
}

static void look_at_finished(struct reader *rd)
{
	uint64_t head = atomic_load(&rd->log->fin_head), cap = rd->log->fin_mask + 1;
	struct gt_finished f;

	if (head <= cap || !fin_get(rd->log, head - cap + 1, &f))
		return;
	rd->fins++;
	rd->fin_torn += f.seqno != head - cap + 1 || f.end != f.seqno || f.total != ~f.seqno;
}

static void *read_all(void *arg)
{
	struct reader *rd = arg;
	union gt_record *r = calloc(rd->max, sizeof(*r));
	uint64_t next = 0;

	for (;;) {
		bool last = atomic_load(rd->done);
		size_t n = gt_cursor_read(&rd->c, r, rd->max);

		for (size_t i = 0; i < n; i++)
			check(rd, &r[i], &next);
		look_at_finished(rd);
		if (!n && last && !gt_cursor_ready(&rd->c))
			break;
	}
	free(r);
	return NULL;
}

static void write_all(struct gt_log *l)
{
	union gt_record r = numbered(0);
	struct gt_finished f = { 0 };

	for (uint64_t i = 0; i < RECORDS; i++) {
		r.ev.ts = i + 1;
		r.ev.ring = (uint16_t)(i & 1);
		r.ev.ctx = ~i;
		r.ev.seqno = i;
		r.ev.pid = (uint32_t)i;
		r.ev.uid = (uint32_t)i ^ 0x5555;
		r.ev.value = i * 3;
		r.ev.ref = i * 5;
		gt_log_append(l, &r);
		f.seqno = f.end = i;
		f.total = ~i;
		gt_log_finished(l, &f);
	}
}

static void test_threads(struct small *s, uint64_t bytes)
{
	static const size_t maxima[READERS] = { 1, 100, 2048 };
	struct gt_log *l = gt_log_new(bytes, false);
	atomic_bool done = false;
	struct reader rd[READERS] = { 0 };

	for (int i = 0; i < READERS; i++) {
		rd[i].log = l;
		rd[i].max = maxima[i];
		rd[i].done = &done;
		open_cursor(&rd[i].c, l, s, &everything);
		pthread_create(&rd[i].thread, NULL, read_all, &rd[i]);
	}
	write_all(l);
	atomic_store(&done, true);
	for (int i = 0; i < READERS; i++) {
		pthread_join(rd[i].thread, NULL);
		printf("# %zu a read: %" PRIu64 " given, %" PRIu64 " lost, %" PRIu64 " finished\n",
		       rd[i].max, rd[i].given, rd[i].reported, rd[i].fins);
		is(rd[i].torn + rd[i].fin_torn, 0, "%zu a read: every record is whole", rd[i].max);
		is(rd[i].unordered, 0, "%zu a read: in order, and LOST tells each gap", rd[i].max);
		is(rd[i].given + rd[i].reported, RECORDS, "%zu a read: none unaccounted",
		   rd[i].max);
		is(rd[i].reported, rd[i].c.missed, "%zu a read: as the cursor counts", rd[i].max);
		gt_cursor_destroy(&rd[i].c);
	}
	gt_log_free(l);
}

int main(void)
{
	struct small *s = small_new();

	test_time();
	test_machine(s);
	test_preamble(s);
	test_preamble_narrow(s);
	test_lapped(s);
	test_bounded_scan(s);
	test_history(s);
	test_file();
	test_threads(s, 65536);
	test_threads(s, 8 << 20);
	small_free(s);
	return done_testing();
}
