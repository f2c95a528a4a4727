/* SPDX-License-Identifier: GPL-2.0 */
/* The event log gets another size while it is written and read: what fits stays, in order and
 * whole. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../fs/stream/stream.h"
#include "../lib/fins.h"
#include "../lib/tap.h"

static pthread_mutex_t ingest = PTHREAD_MUTEX_INITIALIZER;
static uint64_t appended;

static union gt_record numbered(uint64_t n)
{
	union gt_record r;

	memset(&r, 0xff, sizeof(r));
	r.ev.ts = n + 1;
	r.ev.type = GT_SUBMIT;
	r.ev.seqno = n;
	r.ev.ctx = ~n;
	return r;
}

static bool intact(const union gt_record *r)
{
	return r->ev.ctx == ~r->ev.seqno && r->ev.ts == r->ev.seqno + 1;
}

static void append(struct gt_log *l, uint64_t n)
{
	for (; n; n--, appended++) {
		union gt_record r = numbered(appended);
		struct gt_finished f = { .seqno = appended, .ctx = ~appended, .ioctl = GT_NONE64 };

		gt_log_append(l, &r);
		gt_log_finished(l, &f);
	}
}

static struct gt_log *fresh(uint64_t bytes)
{
	appended = 0;
	return gt_log_new(bytes, false);
}

/* Records from @from to the head, whatever pieces they are read in; none before */
static bool holds(struct gt_log *l, uint64_t from)
{
	static union gt_record r[100];
	bool good = gt_log_oldest(l) == from && (!from || !gt_log_copy(l, from - 1, r, 1));

	for (uint64_t at = from, n; at < appended; at += n) {
		n = at % 7 ? 1 + at % 93 : 1;
		n = n < appended - at ? n : appended - at;
		good &= gt_log_copy(l, at, r, n);
		for (uint64_t i = 0; i < n; i++)
			good &= intact(&r[i]) && r[i].ev.seqno == at + i;
	}
	if (!good)
		printf("# oldest %" PRIu64 ", wanted %" PRIu64 "\n", gt_log_oldest(l), from);
	return good;
}

static bool is_number(const struct gt_finished *f, uint64_t n)
{
	return f && f->seqno == n && f->ctx == ~n;
}

/* Finished jobs: how many of the last are there, in order, by a walk in either direction and by one each */
static uint64_t fins(struct gt_log *l)
{
	struct gt_finished f;
	struct gt_fins w;
	uint64_t n = 0, on = 0, each = 0;

	gt_fins_init(&w, l);
	while (n < appended && is_number(gt_fins_get(&w, appended - 1 - n, true), appended - 1 - n))
		n++;
	gt_fins_init(&w, l);
	for (uint64_t i = 0; i < appended; i++)
		on += is_number(gt_fins_get(&w, i, false), i);
	while (each < appended && fin_get(l, appended - 1 - each, &f) &&
	       is_number(&f, appended - 1 - each))
		each++;
	return n == on && n == each ? n : UINT64_MAX;
}

static void test_grow(void)
{
	struct gt_log *l = fresh(131072);
	uint64_t cap = l->mask + 1, fin_cap = l->fin_mask + 1;
	struct gt_finished f;

	append(l, 1500);
	ok(holds(l, 1500 - cap), "as many as there is room for");
	is(gt_log_resize(l, 524288, &ingest), 0, "more room");
	is(l->mask + 1, 4 * cap, "four times as much");
	ok(holds(l, 1500 - cap), "what there was stays");
	is(fins(l), fin_cap, "finished jobs too");
	gt_log_fin_ioctl(l, 1490, 77);
	ok(fin_get(l, 1490, &f) && f.ioctl == 77, "and are completed still");
	append(l, 3000);
	ok(holds(l, 1500 - cap), "and more is kept than before");
	is(fins(l), 4 * fin_cap, "of jobs too");
	append(l, 500);
	ok(holds(l, 5000 - 4 * cap), "until there is no more room");
	append(l, 4 * cap);
	gt_log_tidy(l, &ingest);
	is(l->recs.n + l->fins.n, 0, "what nobody can reach is freed");
	ok(holds(l, appended - 4 * cap), "the rest is there");
	gt_log_free(l);
}

/* Of a size of which jobs get little more than a quarter. A walk that begins within the slots has jobs
 * from both of their ends */
static void test_few_fins(void)
{
	struct gt_log *l = fresh(90000);
	struct gt_fins w;
	uint64_t n = 0;

	is(l->fin_mask + 1, 128, "few slots for jobs");
	append(l, 356);
	gt_fins_init(&w, l);
	for (uint64_t i = 100; i < appended; i++)
		n += is_number(gt_fins_get(&w, i, false), i);
	is(n, 128, "a walk has what is in them");
	gt_log_free(l);
}

/* Pages of it that the process has */
static size_t resident(const char *p, size_t len)
{
	static unsigned char in[4096];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;

	if (mincore((void *)p, len, in))
		return SIZE_MAX;
	for (size_t i = 0; i < len / page; i++)
		n += in[i] & 1;
	return n;
}

/* What no longer fits is freed at once, not when more has come */
static void test_frees(void)
{
	struct gt_log *l = fresh(1 << 20);
	char *mem = (char *)l->rec;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	append(l, 30000);
	is(gt_log_bytes(l), 8192 * sizeof(*l->rec) + (l->fin_mask + 1) * sizeof(*l->fin),
	   "a full one");
	ok(resident(mem, 1 << 19) > (1 << 18) / page, "most of its memory is in use");
	gt_log_resize(l, 65536, &ingest);
	is(gt_log_bytes(l), 512 * sizeof(*l->rec) + (l->fin_mask + 1) * sizeof(*l->fin),
	   "made smaller it is so at once");
	ok(resident(mem, 1 << 19) <= 32768 / page + 2, "and so is its memory: %zu pages",
	   resident(mem, 1 << 19));
	ok(holds(l, 30000 - 512), "the latest stay");
	is(fins(l), l->fin_mask + 1, "of jobs too");
	append(l, 500);
	ok(holds(l, 30500 - 512), "old and new ones");
	gt_log_free(l);
}

/* All that is kept, of both kinds, takes no more than was asked for */
static void test_bound(void)
{
	static const uint64_t sizes[] = { 65536, 100000, 131071, 131072, 174762, 262144, 5000000 };
	const uint64_t slack = 2 * 65536; /* what tidy leaves for the next time */
	uint64_t most = 0, was = 0;
	bool within = true;
	struct gt_log *l;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		l = fresh(sizes[i]);
		append(l, 100000);
		ok(gt_log_bytes(l) <= sizes[i] && gt_log_room_bytes(l) <= sizes[i] &&
			   gt_log_bytes(l) >= sizes[i] / 2,
		   "%" PRIu64 " bytes: %" PRIu64 " are in use", sizes[i], gt_log_bytes(l));
		gt_log_free(l);
	}
	l = fresh(1 << 20);
	append(l, 30000);
	for (int i = 0; i < 40; i++) {
		gt_log_resize(l, i % 2 ? 1 << 20 : 1 << 19, &ingest);
		within &= gt_log_bytes(l) <= (i % 2 ? 1 << 20 : 1 << 19);
		for (int k = 0; k < 20 + i; k++) {
			append(l, 500);
			gt_log_tidy(l, &ingest);
			was = gt_log_bytes(l);
			most = was > most ? was : most;
		}
	}
	ok(within, "a change keeps to the new size at once");
	ok(most <= (1 << 20) + slack, "and while new records come: %" PRIu64 " bytes", most);
	gt_log_free(l);
}

static void test_many_changes(void)
{
	struct gt_log *l = fresh(262144);

	append(l, 3500);
	gt_log_clear(l);
	is(gt_log_from(l), 3500, "clear");
	for (int i = 0; i < 10; i++) {
		gt_log_resize(l, 65536u << i % 3, &ingest);
		append(l, 50);
	}
	ok(l->recs.n == GT_LOG_ERAS && holds(l, 4000 - 50 - 50 * GT_LOG_ERAS),
	   "of many changes the last few");
	gt_log_tidy(l, &ingest);
	is(l->recs.n, GT_LOG_ERAS, "which are not given up before their time");
	is(gt_log_resize(l, UINT64_MAX, &ingest), -ENOMEM, "more than there can be");
	ok(holds(l, 4000 - 50 - 50 * GT_LOG_ERAS), "changes nothing");
	gt_log_free(l);
}

static void test_none(void)
{
	static const struct gt_scope all = { GT_NONE16, GT_NONE16, GT_NONE32, GT_NONE32 };
	static const struct gt_view root = { .all = true };
	static struct gt_model m = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct gt_log *l = fresh(65536);
	static union gt_record r[4096];
	struct gt_cursor open, past;
	size_t n;

	append(l, 100);
	gt_cursor_init(&open, l, &m, &root, &all);
	n = gt_cursor_read(&open, r, 4096);
	append(l, 10);
	is(gt_log_resize(l, 0, &ingest), 0, "no history");
	is(l->recs.n + l->fins.n, 0, "its memory is given back");
	append(l, 10);
	n = gt_cursor_read(&open, r, 4096);
	ok(n == 11 && r[0].ev.type == GT_LOST && r[0].lost.count == 10 && r[1].ev.seqno == 110,
	   "an open reader goes on, and the loss of what it did not read in time is reported");
	append(l, 1);
	is(gt_cursor_read(&open, r, 4096), 1, "and on");
	gt_cursor_init(&past, l, &m, &root, &all);
	gt_cursor_history(&past);
	while (past.pre_at < past.npre)
		gt_cursor_read(&past, r, 1);
	is(gt_cursor_read(&past, r, 4096), 0, "there is no past");
	is(fins(l), 0, "no job either");
	is(gt_log_resize(l, 65536, &ingest), 0, "a history again");
	is(gt_log_from(l), appended, "that begins now");
	append(l, 5);
	is(fins(l), 5, "and is kept");
	gt_cursor_destroy(&open);
	gt_cursor_destroy(&past);
	gt_log_free(l);
	l = fresh(0);
	append(l, 5);
	ok(!fins(l) && gt_log_from(l) == 5, "none from the start");
	gt_log_free(l);
}

/* Threads ---------------------------------------------------------------------------------------
 */

static struct gt_log *shared;
static _Atomic bool over;
static _Atomic int at_work; /* readers that have read something */

/* Until each reader had its turn, which on a busy machine may be late */
static void *write_all(void *arg)
{
	for (int i = 0; i < 20000 || (at_work < 2 && i < 20000000); i++) {
		pthread_mutex_lock(&ingest);
		append(shared, 50);
		pthread_mutex_unlock(&ingest);
		if (i % 100 == 0)
			sched_yield();
	}
	over = true;
	return NULL;
}

/* What can be copied is what was appended */
static void *read_all(void *arg)
{
	static _Thread_local union gt_record r[200];
	uint64_t wrong = 0, good = 0;

	while (!over) {
		uint64_t at = gt_log_oldest(shared), head = atomic_load(&shared->head);
		struct gt_finished f;

		for (uint64_t n; at < head; at += n) {
			n = head - at < 200 ? head - at : 200;
			if (!gt_log_copy(shared, at, r, n))
				continue;
			at_work += !good;
			good += n;
			for (uint64_t i = 0; i < n; i++)
				wrong += !intact(&r[i]) || r[i].ev.seqno != at + i;
		}
		if (head && fin_get(shared, head - 1, &f))
			wrong += f.seqno != head - 1;
	}
	printf("# %" PRIu64 " records were read\n", good);
	return (void *)(uintptr_t)(wrong != 0);
}

static void test_threads(void)
{
	pthread_t w, r[2];
	void *bad[2];
	int n = 0, busy = 0;

	shared = fresh(65536);
	pthread_create(&w, NULL, write_all, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&r[i], NULL, read_all, NULL);
	for (; !over; n++) {
		busy += gt_log_resize(shared, n % 5 ? 65536u << n % 5 : 0, &ingest) == -EBUSY;
		gt_log_tidy(shared, &ingest);
		sched_yield();
	}
	pthread_join(w, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(r[i], &bad[i]);
	ok(!bad[0] && !bad[1], "whole and in order under %d changes, %d of them put off", n, busy);
	gt_log_free(shared);
}

/* Jobs @from to @end - 1 are there, without a record, and no other */
static bool holds_bare(struct gt_log *l, uint64_t from, uint64_t end)
{
	struct gt_fins w;
	uint64_t back = end;
	bool good = true;

	gt_fins_init(&w, l);
	w.bare = true;
	for (const struct gt_finished *f; back && (f = gt_fins_get(&w, back - 1, true)); back--)
		good &= f->seqno == back - 1 && f->ioctl == (back - 1) / 2;
	for (uint64_t i = from; i < end; i++) {
		const struct gt_finished *f = gt_fins_get(&w, i, false);

		good &= f && f->seqno == i;
	}
	return good && back == from && !gt_fins_get(&w, end, false);
}

/* Those without a record are beside the others, of which each knows the next */
static void test_bare(void)
{
	struct gt_log *l = gt_log_new(1, false);
	struct gt_finished f = { .ioctl = GT_NONE64 };
	uint64_t n = 0;

	for (; n < 1000; n++) {
		f.seqno = n;
		gt_log_finished_bare(l, &f);
		if (n % 2)
			gt_log_finished(l, &f);
	}
	is(gt_log_bare_bytes(l), GT_FINS * sizeof(f),
	   "jobs without a record: as many as there is room for");
	ok(holds_bare(l, 1000 - GT_FINS, 1000), "… the last of them");
	gt_log_resize(l, 1 << 20, &ingest);
	ok(holds_bare(l, 1000, 1000), "a resize leaves none");
	f.seqno = n++;
	gt_log_finished_bare(l, &f);
	ok(holds_bare(l, 1000, 1001), "… and they go on");
	gt_log_clear(l);
	ok(holds_bare(l, 1001, 1001), "a clear leaves none either");
	gt_log_resize(l, 0, &ingest);
	f.seqno = n++;
	gt_log_finished_bare(l, &f);
	ok(holds_bare(l, n, n), "without a history none is kept");
	gt_log_free(l);
}

int main(void)
{
	test_grow();
	test_few_fins();
	test_frees();
	test_bound();
	test_many_changes();
	test_none();
	test_threads();
	test_bare();
	return done_testing();
}
