/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sub-buffer walk, record for record against libtraceevent's kbuffer: on pages made here from a
 * seed, on pages of this kernel (root only), and on damaged ones, where nothing may be read outside
 * (each page is in a heap block of its own size, so that a sanitizer would see it).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <traceevent/kbuffer.h>

#include "../../backend/lib/ring_pages.h"
#include "../lib/tap.h"
#include "../lib/tracefs.h"

static uint64_t seed = 20240607;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % below);
}

/* Formats ------------------------------------------------------------------------------------ */

#define HEADER_PAGE(commit, data, size)                                                            \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"                                 \
	"\tfield: local_t commit;\toffset:8;\tsize:" commit ";\tsigned:1;\n"                       \
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"                                 \
	"\tfield: char data;\toffset:" data ";\tsize:" size ";\tsigned:1;\n"
#define HEADER_EVENT(types)                                                                        \
	"# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n"        \
	"\tarray       :   32 bits\n\n\tpadding     : type == 29\n"                                \
	"\ttime_extend : type == 30\n" types "\tdata max type_len  == 28\n"

static int parse(struct gt_page_format *f, const char *page, const char *event)
{
	return gt_page_format_parse(f, page, strlen(page), event, event ? strlen(event) : 0, false);
}

static void test_format(void)
{
	const char *event = HEADER_EVENT("\ttime_stamp : type == 31\n");
	const char *page = HEADER_PAGE("8", "16", "4080");
	struct gt_page_format f;

	is(parse(&f, page, event), 0, "header_page of a 64-bit kernel");
	ok(f.size == 4096 && f.data == 16 && f.commit == 8 && f.stamp == 0 && f.long_size == 8,
	   "its offsets");
	is(parse(&f, HEADER_PAGE("4", "12", "4084"), NULL), 0, "32-bit, no header_event");
	ok(f.size == 4096 && f.data == 12 && f.long_size == 4, "its offsets");
	is(parse(&f, HEADER_PAGE("8", "16", "65520"), HEADER_EVENT("")), 0, "64 KiB, before 4.17");
	is(f.size, 65536, "its size");
	is(parse(&f, HEADER_PAGE("2", "16", "4080"), event), -EINVAL, "commit of 2 bytes");
	is(parse(&f, HEADER_PAGE("8", "8", "4080"), event), -EINVAL, "data over the commit");
	is(parse(&f, HEADER_PAGE("8", "16", "99999999999"), event), -EINVAL, "a page too large");
	is(parse(&f, "field: u64 timestamp;", event), -EINVAL, "cut off");
	is(parse(&f, page, HEADER_EVENT("\ttime_stamp : type == 30\n")), -EINVAL, "other types");
	is(parse(&f, page, "nothing"), -EINVAL, "no header_event in the text");
	is(gt_page_format_parse(&f, page, strlen(page), event, strlen(event), true), -EOPNOTSUPP,
	   "big-endian pages are refused");
	is(gt_page_format_default(&f, 8192, 8), 0, "default layout");
	is(f.size, 8192, "its size");
	is(gt_page_format_default(&f, 16, 8), -EINVAL, "default layout without room");
	is(gt_page_format_default(&f, 4096, 2), -EINVAL, "default layout with a short long");
}

/* Comparison --------------------------------------------------------------------------------- */

/* Walks @page both ways; returns the number of events, or -1 at the first difference. */
static long compare(struct kbuffer *kb, const struct gt_page_format *f, void *page)
{
	unsigned long long kts;
	struct gt_page_iter it;
	struct gt_page_event ev;
	int64_t missed;
	uint8_t *want;
	long n = 0;

	if (gt_page_begin(&it, f, page, f->size) || kbuffer_load_subbuffer(kb, page))
		return -1;
	missed = it.missed == GT_PAGE_MISSED_UNKNOWN ? -1 : (int64_t)it.missed;
	if (missed != kbuffer_missed_events(kb))
		return -1;
	want = kbuffer_read_event(kb, &kts);
	for (; gt_page_next(&it, &ev); want = kbuffer_next_event(kb, &kts), n++)
		if (want != ev.data || kts != ev.ts || kbuffer_event_size(kb) != (int)ev.len)
			return -1;
	return want || it.malformed ? -1 : n;
}

/* Pages made here ---------------------------------------------------------------------------- */

struct maker {
	uint8_t *page;
	const struct gt_page_format *f;
	uint32_t used, room;
	uint64_t ts;
	unsigned long made[32]; /* of each type */
	unsigned long events;
};

static void word(struct maker *m, uint32_t v)
{
	memcpy(m->page + m->f->data + m->used, &v, sizeof(v));
	m->used += 4;
}

static void make_data(struct maker *m, uint32_t delta)
{
	uint32_t words = rnd(3) ? 1 + rnd(28) : 29 + rnd(100), type = words <= 28 ? words : 0;

	if (m->used + 8 + 4 * words > m->room)
		return;
	m->made[type ? 1 : 0]++;
	word(m, delta << 5 | type);
	if (!type)
		word(m, 4 * words + 4);
	for (uint32_t i = 0; i < words; i++)
		word(m, rnd(UINT32_MAX));
	m->ts += delta;
	m->events++;
}

static void make_one(struct maker *m, unsigned int kind)
{
	uint32_t delta = rnd(4) ? rnd(5000) : rnd(1u << 27), words = 1 + rnd(20);
	uint64_t stamp;

	if (kind == GT_PAGE_TYPE_EXTEND) {
		m->ts += (uint64_t)words << 27 | delta;
		word(m, delta << 5 | kind);
		word(m, words);
	} else if (kind == GT_PAGE_TYPE_TIMESTAMP) {
		stamp = m->ts += (uint64_t)words << 30 | delta;
		word(m, (uint32_t)(stamp & ((1u << 27) - 1)) << 5 | kind);
		word(m, (uint32_t)(stamp >> 27));
	} else if (kind == GT_PAGE_TYPE_PADDING) {
		if (m->used + 4 + 4 * words > m->room)
			return;
		word(m, (delta | 1) << 5 | kind);
		word(m, 4 * words);
		for (uint32_t i = 1; i < words; i++)
			word(m, rnd(UINT32_MAX));
		m->ts += delta | 1;
	} else {
		make_data(m, delta);
		return;
	}
	m->made[kind]++;
}

static void make_page(struct maker *m, uint64_t ts, unsigned int lost)
{
	uint32_t commit, end = m->room - rnd(m->room / 2);
	uint64_t count = 1 + rnd(1000000);

	memset(m->page, 0, m->f->size);
	m->used = 0;
	m->events = 0;
	m->ts = ts;
	memcpy(m->page + m->f->stamp, &ts, sizeof(ts));
	/* kbuffer reports lost events only if the page begins with data, as the kernel's do. */
	while (lost && !m->used)
		make_data(m, 0);
	while (m->used + 8 <= end)
		make_one(m, 25 + rnd(7));
	commit = m->used;
	if (lost)
		commit |= GT_PAGE_MISSED_EVENTS;
	if (lost == 2 && m->room - m->used >= m->f->long_size) {
		commit |= GT_PAGE_MISSED_STORED;
		memcpy(m->page + m->f->data + m->used, &count, m->f->long_size);
	}
	memcpy(m->page + m->f->commit, &commit, sizeof(commit));
}

static void test_made(uint32_t size, unsigned int long_size)
{
	struct kbuffer *kb = kbuffer_alloc(long_size == 8 ? KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
					   KBUFFER_ENDIAN_LITTLE);
	struct gt_page_format f;
	struct maker m = { .f = &f };
	long bad = 0, events = 0, n;
	uint64_t ts;

	gt_page_format_default(&f, size, long_size);
	m.room = f.size - f.data;
	m.page = malloc(size);
	for (int i = 0; i < 400; i++) {
		ts = 1000000000ull * rnd(1000000);
		make_page(&m, ts, rnd(3));
		n = compare(kb, &f, m.page);
		bad += n != (long)m.events;
		events += n;
	}
	ok(!bad && events > 1000, "%u bytes, long %u: %ld events in 400 pages as kbuffer has them",
	   size, long_size, events);
	ok(m.made[0] && m.made[1] && m.made[29] && m.made[30] && m.made[31],
	   "every type was there");
	free(m.page);
	kbuffer_free(kb);
}

/* Rules that kbuffer does not have, or not in every version. */
static void test_rules(void)
{
	uint64_t page[8] = { (3ull << 59) + 1000 };
	struct gt_page_format f;
	struct gt_page_iter it;
	struct gt_page_event ev;
	uint32_t w[12] = { 7 << 5 | 31, 16, 5 << 5 | 1, 42, 29, 12, 1 << 5 | 1, 43 };

	gt_page_format_default(&f, sizeof(page), 8);
	page[1] = sizeof(w) | 1ull << 31 | 1ull << 30;
	memcpy(page + 2, w, sizeof(w));
	is(gt_page_begin(&it, &f, page, sizeof(page)), 0, "a page that is full");
	ok(it.missed == GT_PAGE_MISSED_UNKNOWN, "no room for the count: unknown");
	ok(gt_page_next(&it, &ev), "an event after an absolute time");
	ok(ev.ts == (3ull << 59) + (16ull << 27) + 12, "upper bits are the page's");
	ok(!gt_page_next(&it, &ev) && !it.malformed, "padding without a time ends the page");
	page[0] = (4ull << 59) - 1;
	gt_page_begin(&it, &f, page, sizeof(page));
	gt_page_next(&it, &ev);
	ok(ev.ts == (4ull << 59) + (16ull << 27) + 12, "upper bits carry");
	is(gt_page_begin(&it, &f, page, 15), -EINVAL, "less than a header");
	ok(!gt_page_next(&it, &ev), "has no events");
	is(gt_page_begin(&it, &f, page, sizeof(page) - 4), -EINVAL, "a page cut short");
	ok(gt_page_next(&it, &ev) && it.malformed, "what there is can be read");
	page[1] = 0;
	is(gt_page_begin(&it, &f, page, f.data), 0, "a header alone");
	ok(!gt_page_next(&it, &ev) && !it.malformed, "is an empty page");
}

/* Damage ------------------------------------------------------------------------------------- */

/* Walks @bytes of a damaged page: returns false if an event is not inside. */
static bool inside(const struct gt_page_format *f, const uint8_t *page, size_t bytes,
		   unsigned long *sum)
{
	struct gt_page_event ev;
	struct gt_page_iter it;
	size_t n = 0;

	gt_page_begin(&it, f, page, bytes);
	while (gt_page_next(&it, &ev)) {
		if (ev.data < page + f->data || ev.data > page + bytes ||
		    ev.len > (size_t)(page + bytes - ev.data) || ++n > bytes)
			return false;
		for (uint32_t i = 0; i < ev.len; i++)
			*sum += ev.data[i];
	}
	return it.p == it.end;
}

static void damage(uint8_t *page, uint32_t bytes)
{
	uint32_t at = rnd(2) ? rnd(bytes) : rnd(24) % bytes;

	page[at] = (uint8_t)rnd(256);
}

static void test_damaged(void)
{
	unsigned long sum = 0, bad = 0;
	struct gt_page_format f;
	struct maker m = { .f = &f };
	uint8_t *copy;
	size_t bytes;

	gt_page_format_default(&f, 1024, 8);
	m.room = f.size - f.data;
	m.page = malloc(f.size);
	for (int i = 0; i < 20000; i++) {
		if (i % 50 == 0)
			make_page(&m, 1ull << 40, (unsigned int)i / 50 % 3);
		bytes = rnd(4) ? f.size : rnd(f.size + 1);
		copy = malloc(bytes ? bytes : 1);
		memcpy(copy, m.page, bytes);
		for (uint32_t k = rnd(20) + 1; bytes && k; k--)
			damage(copy, (uint32_t)bytes);
		bad += !inside(&f, copy, bytes, &sum);
		free(copy);
	}
	ok(!bad, "20000 damaged pages: every event inside, every walk ends");
	printf("# bytes summed to %lu\n", sum);
	free(m.page);
}

/* Pages of this kernel ----------------------------------------------------------------------- */

struct live {
	const char *dir;
	struct gt_page_format f;
	struct kbuffer *kb;
	uint8_t *page;
	long pages, events, lost_pages, differ, odd;
};

static bool live_format(struct live *l)
{
	size_t page_len = 0, event_len = 0;
	char *page = tfs_read(l->dir, &page_len, "../../events/header_page");
	char *event = tfs_read(l->dir, &event_len, "../../events/header_event");
	char *kb = tfs_read(l->dir, NULL, "buffer_subbuf_size_kb");
	int err = -ENOENT;

	if (page && event)
		err = gt_page_format_parse(&l->f, page, page_len, event, event_len, false);
	/* header_page has the top-level buffer's size, which an instance may differ from. */
	if (!err && kb && atoi(kb) > 0)
		err = gt_page_format_default(&l->f, (size_t)atoi(kb) * 1024, l->f.long_size);
	free(page);
	free(event);
	free(kb);
	return !err;
}

static void live_read(struct live *l, long cpu)
{
	char path[300];
	long n;
	int fd;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%ld/trace_pipe_raw", l->dir, cpu);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	while (fd >= 0 && read(fd, l->page, l->f.size) > 0) {
		n = compare(l->kb, &l->f, l->page);
		l->differ += n < 0;
		l->events += n < 0 ? 0 : n;
		l->lost_pages += l->page[l->f.commit + 3] >> 7;
		l->pages++;
	}
	if (fd >= 0)
		close(fd);
}

/* Lines of every length, long pauses for time extends, and the scheduler's and interrupts' events
 * that come in between (nested in one another, when one interrupts the writing of another). */
static void live_fill(const char *dir)
{
	static const char *const more[] = { "sched", "irq", "irq_vectors", "timer",
					    "raw_syscalls" };
	char text[1024];

	for (size_t i = 0; i < 5; i++)
		tfs_write(dir, "1", "events/%s/enable", more[i]);
	for (int i = 0; i < 3000; i++) {
		memset(text, 'a' + i % 26, sizeof(text));
		text[i % 900 + 1] = '\0';
		tfs_write(dir, text, "trace_marker");
		if (i % 1000 == 500)
			nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
	}
	for (size_t i = 0; i < 5; i++)
		tfs_write(dir, "0", "events/%s/enable", more[i]);
}

static void live_round(const char *name, const char *size_kb, const char *subbuf_kb, bool lossy)
{
	struct live l = { 0 };
	char own[64]; /* other runs on this machine have theirs */

	snprintf(own, sizeof(own), "gt-pages-%s-%d", name, (int)getpid());
	l.dir = tfs_instance(own);
	if (!l.dir) {
		ok(true, "%s # skip instances cannot be made here", name);
		return;
	}
	tfs_write(l.dir, subbuf_kb, "buffer_subbuf_size_kb");
	tfs_write(l.dir, size_kb, "buffer_size_kb");
	tfs_write(l.dir, "mono", "trace_clock");
	ok(live_format(&l), "%s: this kernel's format", name);
	l.page = malloc(l.f.size);
	l.kb = kbuffer_alloc(l.f.long_size == 8 ? KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
			     KBUFFER_ENDIAN_LITTLE);
	live_fill(l.dir);
	for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		live_read(&l, cpu);
	ok(l.pages > 4 && !l.differ, "%s: %ld pages of %u bytes, %ld events as kbuffer has them",
	   name, l.pages, l.f.size, l.events);
	if (lossy)
		ok(l.lost_pages > 0, "%s: %ld pages have lost events", name, l.lost_pages);
	free(l.page);
	kbuffer_free(l.kb);
	rmdir(l.dir);
}

static void test_live(void)
{
	const char *why;

	if (!tfs_dir(&why)) {
		ok(true, "pages of this kernel # skip %s", why);
		return;
	}
	live_round("large", "8192", "4", false);
	live_round("small", "64", "4", true);
	live_round("16k", "256", "16", true);
}

int main(void)
{
	test_format();
	test_made(4096, 8);
	test_made(4096, 4);
	test_made(65536, 8);
	test_rules();
	test_damaged();
	test_live();
	return done_testing();
}
