/* SPDX-License-Identifier: GPL-2.0 */
/* Streams saved from an `events` pipe: numbers of GPUs and rings, what is not known, and damage. */
#include <errno.h>
#include <unistd.h>

#include "../lib/replay_host.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

struct file {
	union gt_record r[64];
	size_t n;
};

static union gt_record *add(struct file *f, uint64_t ts, unsigned int type)
{
	union gt_record *r = &f->r[f->n++];

	gt_record_init(r, ts, (enum gt_type)type);
	return r;
}

static void header(struct file *f, uint64_t session)
{
	struct gt_header *h = &add(f, 0, GT_HEADER)->header;

	h->version = GT_RECORD_VERSION;
	h->record_size = GT_RECORD_SIZE;
	memcpy(h->magic, GT_RECORD_MAGIC, sizeof(GT_RECORD_MAGIC));
	h->session = session;
}

static void gpu(struct file *f, uint16_t n, const char *name, const char *dev)
{
	struct gt_gpu_name *g = &add(f, 0, GT_GPU_NAME)->gpu_name;

	g->gpu = n;
	memset(g->name, 0, sizeof(g->name));
	memset(g->dev, 0, sizeof(g->dev));
	memcpy(g->name, name, strlen(name));
	memcpy(g->dev, dev, strlen(dev));
}

static void ring(struct file *f, uint16_t g, uint16_t n, const char *name)
{
	struct gt_ring_name *r = &add(f, 0, GT_RING_NAME)->ring_name;

	r->gpu = g;
	r->ring = n;
	r->engine = 99; /* none that is known */
	memset(r->name, 0, sizeof(r->name));
	memcpy(r->name, name, strlen(name));
}

static union gt_record *submit(struct file *f, uint64_t ts, uint16_t g, uint16_t r, uint64_t seqno)
{
	union gt_record *rec = add(f, ts, GT_SUBMIT);

	rec->ev.gpu = g;
	rec->ev.ring = r;
	rec->ev.seqno = seqno;
	return rec;
}

static struct rh *play(const void *data, size_t len, int *ret)
{
	char path[TMP_PATH_MAX];
	int fd = tmp_file(path, "gt-replay");
	struct rh *h = rh_new(path, "", true);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		tap_ok(false, "temporary file");
	close(fd);
	*ret = rh_play(h);
	unlink(path);
	return h;
}

static struct file sample(void)
{
	struct file f = { .n = 0 };

	header(&f, 1);
	gpu(&f, 5, "i915-0", "0000:00:02.0");
	gpu(&f, 7, "amdgpu-any", "");
	ring(&f, 5, 9, "rcs0");
	ring(&f, 7, 9, "gfx");
	submit(&f, 100, 5, 9, 1);
	submit(&f, 200, 7, 9, 2);
	add(&f, 300, GT_PROCESS)->process.pid = 4;
	add(&f, 300, GT_LOST)->lost.count = 12;
	add(&f, 300, GT_NAME);
	add(&f, 300, GT_QUEUE)->queue.queue = 3;
	submit(&f, 400, 5, 9, 3);
	return f;
}

static void numbers(void)
{
	struct file f = sample();
	int ret;
	struct rh *h = play(f.r, f.n * GT_RECORD_SIZE, &ret);

	is(ret, -ENODATA, "a stream is played to the end");
	is(h->errors, 0, "without a complaint");
	is(h->bad, 0, "all records are well formed");
	ok(h->gpus == 2 && !strcmp(h->gpu[0].driver, "i915") &&
		   !strcmp(h->gpu[0].dev, "0000:00:02.0"),
	   "driver and device of i915-0");
	ok(!strcmp(h->gpu[1].driver, "amdgpu") && !strcmp(h->gpu[1].dev, "amdgpu-any"),
	   "and of amdgpu-any");
	ok(h->n == 7 && h->rec[0].ev.gpu == 0 && h->rec[0].ev.ring == 0 && h->rec[1].ev.gpu == 1 &&
		   h->rec[1].ev.ring == 0,
	   "numbers are the host's");
	ok(h->types[GT_PROCESS] == 1 && h->types[GT_LOST] == 1 && h->types[GT_NAME] == 1 &&
		   h->types[GT_QUEUE] == 1,
	   "descriptions go through");
	is(h->watermark, 400, "the watermark is the last time");
	is(gt_replay_source(h->p.priv, 0)->count.events, 3, "only events are counted");
	is(gt_replay_source(h->p.priv, 0)->count.used, 3, "… as used too");
	rh_free(h);
}

/* What a stream lacks is one record at least where it does not say how many. */
static void unknown_loss(void)
{
	struct file f = { 0 };
	struct rh *h;
	int ret;

	header(&f, 1);
	add(&f, 100, GT_LOST)->lost.count = 12;
	add(&f, 200, GT_LOST);
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	is(h->types[GT_LOST], 2, "a loss of which the number is not known goes through");
	ok(gt_replay_source(h->p.priv, 0)->count.lost == 12 &&
		   gt_replay_source(h->p.priv, 0)->count.uncounted == 1,
	   "… and is no number, but marked");
	rh_free(h);
}

static void odd(void)
{
	struct file f = sample();
	int ret;
	struct rh *h;

	add(&f, 500, 77);
	add(&f, 500, 40);
	submit(&f, 600, 99, 0, 4);
	submit(&f, 1ull << 60, 5, 9, 5);
	submit(&f, 700, 5, 9, 6);
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	is(h->types[GT_SUBMIT], 5,
	   "a record with a time far ahead is left out, the rest is played");
	is(h->types[77] + h->types[40], 0, "unknown types are left out");
	is(h->rec[h->n - 2].ev.gpu, GT_NONE16, "a GPU without a name is unknown");
	ok(strstr(h->first, "byte 768: a record of type 77"), "the first is reported: %s",
	   h->first);
	is(gt_replay_source(h->p.priv, 0)->count.damaged, 3, "all are counted");
	rh_free(h);
}

/* Names and queues alone: recorded while nothing ran */
static void idle(void)
{
	struct file f = { .n = 0 };
	int ret;
	struct rh *h;

	header(&f, 1);
	gpu(&f, 5, "i915-0", "0000:00:02.0");
	add(&f, 300, GT_PROCESS)->process.pid = 4;
	add(&f, 300, GT_QUEUE)->queue.queue = 3;
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	is(h->types[GT_QUEUE], 1, "what an idle stream describes is played");
	ok(strstr(h->error, "is a stream without an event"), "… and that is all: %s", h->error);
	rh_free(h);
}

static unsigned int pauses;

static int next_counted(struct gt_source *s)
{
	int ret = gt_reader_stream.next(s);

	pauses += !ret;
	return ret;
}

/* The thread that reads has other things to do */
static void nothing_but_odd(void)
{
	const size_t n = 50000;
	struct gt_reader counting = gt_reader_stream;
	struct file f = { .n = 0 };
	union gt_record *r = calloc(n, sizeof(*r));
	char path[TMP_PATH_MAX];
	int fd = tmp_file(path, "gt-replay");
	struct rh *h = rh_new(path, "", true);

	header(&f, 1);
	r[0] = f.r[0];
	for (size_t i = 1; i < n - 1; i++)
		gt_record_init(&r[i], 100, (enum gt_type)77);
	gt_record_init(&r[n - 1], 100, GT_SUBMIT);
	ok(write(fd, r, n * sizeof(*r)) == (ssize_t)(n * sizeof(*r)), "one record among %zu", n);
	close(fd);
	counting.next = next_counted;
	h->reader = &counting;
	is(rh_play(h), -ENODATA, "... is played to the end");
	is(h->types[GT_SUBMIT], 1, "... and found");
	is(gt_replay_source(h->p.priv, 0)->count.damaged, n - 2, "... the others are counted");
	ok(pauses >= 10, "... in parts: %u", pauses);
	unlink(path);
	rh_free(h);
	free(r);
}

/* A later run's stream behind the first: its numbers are others. */
static void appended(void)
{
	struct file f = sample();
	int ret;
	struct rh *h;

	header(&f, 2);
	gpu(&f, 5, "amdgpu-any", "");
	ring(&f, 5, 0, "sdma0");
	submit(&f, 50, 5, 0, 9);
	submit(&f, 60, 5, 9, 10);
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	ok(h->rec[h->n - 2].ev.gpu == 1 && h->rec[h->n - 2].ev.ring == 1,
	   "the second's numbers count");
	is(h->rec[h->n - 1].ev.ring, GT_NONE16, "the first's no more");
	is(h->errors, 0, "an earlier time behind a header is no damage");
	rh_free(h);
}

static void longer(void)
{
	struct file f = sample();
	uint8_t *data = calloc(f.n, 80);
	int ret;
	struct rh *h;

	f.r[0].header.record_size = 80;
	for (size_t i = 0; i < f.n; i++)
		memcpy(data + i * 80, &f.r[i], GT_RECORD_SIZE);
	h = play(data, f.n * 80, &ret);
	is(h->types[GT_SUBMIT], 3, "longer records are read by their first 64 bytes");
	rh_free(h);
	free(data);
}

static void versions(void)
{
	struct file f = sample();
	int ret;
	struct rh *h;

	f.r[0].header.version = 1;
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	ok(ret == -ENODATA && h->types[GT_SUBMIT] == 3 && !h->errors, "version 1 plays");
	rh_free(h);
	for (uint16_t version = 0; version < 4; version += 3) {
		char word[16];

		f.r[0].header.version = version;
		snprintf(word, sizeof(word), "version %u", version);
		h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
		ok(ret == -EPROTONOSUPPORT && strstr(h->error, word),
		   "another version is refused: %s", h->error);
		rh_free(h);
	}
	f.r[0].header.version = GT_RECORD_VERSION;
	add(&f, 9000, GT_MACHINE);
	add(&f, 9000, GT_CLOCK_SNAPSHOT);
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	is(h->n, 7, "the machine that it was recorded on, and its clocks, are not this one's");
	is(h->errors, 0, "… and no fault");
	rh_free(h);
	submit(&f, 10000, 0, 0, 11);
	f.r[f.n - 1].ev.type = GT_HEADER - 1;
	submit(&f, 10001, 0, 0, 12);
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	is(h->types[GT_SUBMIT], 4, "an event of a type to come is left out, the next is not");
	is(h->errors, 1, "and counted");
	rh_free(h);
}

static void cut(void)
{
	struct file f = sample();
	bool reported = true, whole = true;
	int ret;

	for (size_t len = 1; len < f.n * GT_RECORD_SIZE; len++) {
		struct rh *h = play(f.r, len, &ret);
		size_t records = len / GT_RECORD_SIZE;

		reported &= h->errors || len % GT_RECORD_SIZE == 0;
		whole &= h->n == (records > 5 ? records - 5 : 0);
		rh_free(h);
	}
	ok(reported, "each cut inside a record is reported");
	ok(whole, "each whole record before it is played");
}

static void function(struct file *f, uint64_t ts, uint64_t id, const char *name)
{
	union gt_record *r;

	for (uint32_t part = 0; name && part * 32 < strlen(name); part++) {
		r = add(f, ts, GT_NAME);
		r->name.id = id;
		r->name.kind = GT_NAME_FUNCTION;
		r->name.part = part;
		memset(r->name.text, 0, sizeof(r->name.text));
		memcpy(r->name.text, name + 32 * part, strnlen(name + 32 * part, 32));
	}
	r = add(f, ts, GT_FUNCTION);
	r->ev.value = id;
	r->ev.pid = 7;
}

/* Two streams joined: whoever wrote the second began to number anew */
static void functions(void)
{
	static const char name[] = "a_function_whose_name_has_more_letters_than_a_record";
	struct file f = { .n = 0 };
	uint64_t value[6];
	unsigned int n = 0;
	struct rh *h;
	int ret;

	header(&f, 1);
	function(&f, 100, 0, name);
	function(&f, 200, 0, NULL);
	header(&f, 2);
	function(&f, 250, 0, NULL);
	function(&f, 300, 0, "b");
	function(&f, 400, 1, name);
	function(&f, 500, 5, NULL);
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	for (size_t i = 0; i < h->n && n < 6; i++)
		if (h->rec[i].ev.type == GT_FUNCTION)
			value[n++] = h->rec[i].ev.value;
	is(h->errors, 0, "functions: played without a complaint");
	ok(n == 6 && value[0] == value[1] && value[3] != value[0] && value[4] == value[0] &&
		   value[5] == GT_NONE64,
	   "numbers are by name, and a name that was not reported has none");
	is(value[2], GT_NONE64, "what a number meant before a header it means no more");
	is(h->types[GT_NAME], 3, "each name once, in its pieces");
	ok(!strncmp(h->rec[0].name.text, name, 32) && h->rec[0].name.id == value[0] &&
		   !strcmp(h->rec[1].name.text, name + 32) && h->rec[1].name.part == 1,
	   "whole");
	is(h->types[GT_PROCESS], 0, "nobody is named who was not");
	rh_free(h);
}

/* The times of what was played, and how many were damaged */
static void times(const char *what, const uint64_t *ts, size_t n, const char *want)
{
	struct file f = { .n = 0 };
	char got[128] = "";
	struct rh *h;
	int ret;

	header(&f, 1);
	for (size_t i = 0; i < n; i++) {
		if (ts[i])
			submit(&f, ts[i], GT_NONE16, GT_NONE16, i);
		else
			header(&f, 2);
	}
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	for (size_t i = 0; i < h->n; i++)
		sprintf(got + strlen(got), "%llu ", (unsigned long long)h->rec[i].ev.ts);
	sprintf(got + strlen(got), "of %llu",
		(unsigned long long)(h->n + gt_replay_source(h->p.priv, 0)->count.damaged));
	is_str(got, want, "%s", what);
	rh_free(h);
}
#define TIMES(what, want, ...)                                                                     \
	times(what, (const uint64_t[]){ __VA_ARGS__ },                                             \
	      sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), want)

static void damaged_times(void)
{
	TIMES("one record alone has any time", "100 of 1", 100);
	TIMES("a time that does not go back is none", "100 100 200 of 3", 100, 100, 200);
	TIMES("one that is later than the next is damaged", "100 100 200 of 4", 100, 500, 100, 200);
	TIMES("also if the next is the last", "100 100 of 3", 100, 500, 100);
	TIMES("the last is damaged if it goes back", "100 200 of 3", 100, 200, 50);
	TIMES("behind a header time begins anew", "400 50 of 2", 400, 0, 50);
	TIMES("the record before it is not damaged", "100 400 50 60 of 4", 100, 400, 0, 50, 60);
}

static void beginning(void)
{
	const size_t least = offsetof(struct gt_header, magic) + sizeof(GT_RECORD_MAGIC);
	struct file f = { .n = 0 };
	const uint8_t *head = (const uint8_t *)f.r;

	header(&f, 1);
	ok(gt_reader_stream.detect(head, least), "a stream is known by its first bytes");
	ok(!gt_reader_stream.detect(head, least - 1), "not by less");
	ok(gt_reader_stream.detect(head, sizeof(f.r)), "nor are more in its way");
	f.r[0].header.magic[0]++;
	ok(!gt_reader_stream.detect(head, least), "by its magic");
}

/* A second header: what is wrong with it is said with its place */
static void second_header(void)
{
	static const uint16_t sizes[] = { GT_RECORD_SIZE - 1, 4097 };
	struct rh *h;
	int ret;

	for (int i = 0; i < 2; i++) {
		struct file f = sample();

		header(&f, 2);
		f.r[f.n - 1].header.record_size = sizes[i];
		h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
		ok(strstr(h->error, "byte 768: records of"), "records of %u bytes: %s", sizes[i],
		   h->error);
		is(h->types[GT_SUBMIT], 3, "what is before it is played");
		rh_free(h);
		f.r[f.n - 1].header.record_size = GT_RECORD_SIZE;
		f.r[f.n - 1].header.version = GT_RECORD_VERSION + 1;
		h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
		ok(strstr(h->error, "byte 768: a stream of version"), "a version to come: %s",
		   h->error);
		rh_free(h);
	}
}

/* Records of the longest size */
static void longest(void)
{
	enum { N = 100, LONG = 4096 };
	uint8_t *data = calloc(N, LONG);
	struct file f = { .n = 0 };
	struct rh *h;
	int ret;

	header(&f, 1);
	f.r[0].header.record_size = LONG;
	memcpy(data, f.r, GT_RECORD_SIZE);
	for (uint64_t i = 1; i < N; i++) {
		f.n = 0;
		submit(&f, 100 + i, GT_NONE16, GT_NONE16, i);
		memcpy(data + i * LONG, f.r, GT_RECORD_SIZE);
	}
	h = play(data, N * LONG, &ret);
	ok(h->types[GT_SUBMIT] == N - 1 && !h->errors, "records of 4096 bytes are read");
	rh_free(h);
	free(data);
}

/* As many records as are read at once, to the byte, and then more; @odd: bytes of another */
static void blocks(size_t n, size_t odd, const char *want)
{
	union gt_record *r = calloc(n + 1, sizeof(*r));
	struct file f = { .n = 0 };
	struct rh *h;
	int ret;

	header(&f, 1);
	r[0] = f.r[0];
	for (size_t i = 1; i <= n; i++)
		gt_record_init(&r[i], 100 + i, GT_SUBMIT);
	h = play(r, n * sizeof(*r) + odd, &ret);
	is(h->types[GT_SUBMIT], n - 1, "%zu records and %zu bytes", n, odd);
	ok(want ? strstr(h->error, want) != NULL : !h->errors, "... %s", h->error);
	is(gt_replay_source(h->p.priv, 0)->count.first, odd ? n * sizeof(*r) : 0,
	   "... counted there");
	rh_free(h);
	free(r);
}

static void gpus(void)
{
	static const struct {
		const char *name, *dev, *driver, *is;
	} known[] = {
		{ "mock9", "", "mock", "mock9" },
		{ "mock-10", "", "mock", "mock-10" },
		{ "mock0", "pci0", "mock", "pci0" },
		{ "mock", "pci1", "mock", "pci1" },
		{ "12", "", "", "12" },
		{ "-any", "", "-any", "-any" },
		{ "x-any", "pci2", "x", "x-any" },
		{ "a0b-19", "pci3", "a0b", "pci3" },
	};
	struct file f = { .n = 0 };
	const size_t n = sizeof(known) / sizeof(*known);
	struct rh *h;
	int ret;

	header(&f, 1);
	for (size_t i = 0; i < n; i++)
		gpu(&f, (uint16_t)i, known[i].name, known[i].dev);
	gpu(&f, 1023, "last-0", "pci4");
	gpu(&f, 1024, "beyond-0", "pci5");
	ring(&f, 1023, 7, "gfx");
	ring(&f, 1023, GT_NONE16, "none");
	ring(&f, 1024, 7, "none");
	ring(&f, 1023, 8, "");
	ring(&f, 9, 7, "none");
	submit(&f, 100, 1023, 7, 1);
	submit(&f, 101, 1024, 7, 2);
	submit(&f, 102, 1023, 8, 3);
	ring(&f, 1023, 7, "sdma");
	f.r[f.n - 1].ev.ts = 103;
	ring(&f, 1023, 8, "comp");
	f.r[f.n - 1].ev.ts = 103;
	submit(&f, 104, 1023, 7, 4);
	submit(&f, 105, 1023, 8, 5);
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	is(h->errors + h->bad, 0, "names of GPUs are played");
	for (size_t i = 0; i < n; i++) {
		is_str(h->gpu[i].driver, known[i].driver, "driver of %s", known[i].name);
		is_str(h->gpu[i].dev, known[i].is, "device of %s", known[i].name);
	}
	is(h->gpus, n + 1, "a number beyond the bound has no name");
	ok(h->n == 5 && h->rec[0].ev.gpu == n && h->rec[0].ev.ring == 0, "the last has one");
	ok(h->rec[1].ev.gpu == GT_NONE16 && h->rec[1].ev.ring == GT_NONE16,
	   "beyond it nothing is known");
	is(h->rec[2].ev.ring, GT_NONE16, "a ring without a name is not known");
	ok(h->rec[3].ev.ring == 1 && h->rec[4].ev.ring == 2, "a ring's latest name counts");
	is(h->gpu[n].rings, 3, "nothing else was taken for a ring");
	rh_free(h);
}

static unsigned int engines[8], nengines;

static uint16_t ring_asked(struct gt_plugin *p, uint16_t g, const char *name, enum gt_engine engine)
{
	if (nengines < 8)
		engines[nengines++] = engine;
	return rh_ring(p, g, name, engine);
}

/* More rings than are kept, and engines that are none */
static void rings(void)
{
	enum { N = 4100 };
	union gt_record *r = calloc(N + 6, sizeof(*r));
	struct gt_host host = rh_host;
	struct file f = { .n = 0 };
	char path[TMP_PATH_MAX];
	int fd = tmp_file(path, "gt-replay");
	struct rh *h = rh_new(path, "", true);
	size_t n = 0;

	host.ring = ring_asked;
	h->p.host = &host;
	header(&f, 1);
	gpu(&f, 0, "a0", "");
	r[n++] = f.r[0];
	r[n++] = f.r[1];
	for (unsigned int i = 0; i < N; i++) {
		f.n = 0;
		ring(&f, 0, (uint16_t)i, "gfx");
		f.r[0].ring_name.engine = i < 1	  ? GT_ENGINE_COPY
					  : i < 2 ? GT_NENGINES - 1
						  : GT_NENGINES;
		r[n++] = f.r[0];
	}
	f.n = 0;
	ring(&f, 0, 1, "sdma");
	submit(&f, 100, 0, 4095, 1);
	submit(&f, 101, 0, 4096, 1);
	submit(&f, 102, 0, 1, 1);
	memcpy(&r[n], f.r, f.n * sizeof(*r));
	n += f.n;
	ok(write(fd, r, n * sizeof(*r)) == (ssize_t)(n * sizeof(*r)), "many rings");
	close(fd);
	rh_play(h);
	ok(h->n == 3 && h->rec[0].ev.ring == 0 && h->rec[1].ev.ring == GT_NONE16,
	   "there is an end to rings");
	is(h->rec[2].ev.ring, 1, "those that are known may get another name");
	ok(engines[0] == GT_ENGINE_COPY && engines[1] == GT_NENGINES - 1 &&
		   engines[2] == GT_ENGINE_UNKNOWN,
	   "an engine that is none is not known");
	unlink(path);
	rh_free(h);
	free(r);
}

static void as_they_were(void)
{
	struct file f = { .n = 0 };
	struct rh *h;
	int ret;

	header(&f, 1);
	gpu(&f, 0, "a0", "");
	ring(&f, 0, 0, "gfx");
	memset((uint8_t *)submit(&f, 100, 0, 0, 0) + 16, 0x5a, GT_RECORD_SIZE - 16);
	memset(add(&f, 101, GT_PROCESS)->process.comm, 'c', sizeof(f.r->process.comm));
	h = play(f.r, f.n * GT_RECORD_SIZE, &ret);
	ok(h->n == 2 && !memcmp(&h->rec[0], &f.r[3], GT_RECORD_SIZE), "a record is as it was");
	ok(!h->rec[1].process.comm[sizeof(f.r->process.comm) - 1] &&
		   h->rec[1].process.comm[0] == 'c',
	   "but that a process's name has an end");
	rh_free(h);
}

/* Two streams at once */
static void merged(void)
{
	char a[TMP_PATH_MAX], b[TMP_PATH_MAX], both[2 * TMP_PATH_MAX];
	int fa = tmp_file(a, "gt-replay"), fb = tmp_file(b, "gt-replay");
	struct file f = { .n = 0 }, g = { .n = 0 };
	struct rh *h;

	header(&f, 1);
	submit(&f, 100, GT_NONE16, GT_NONE16, 1);
	submit(&f, 300, GT_NONE16, GT_NONE16, 3);
	header(&g, 1);
	submit(&g, 200, GT_NONE16, GT_NONE16, 2);
	submit(&g, 400, GT_NONE16, GT_NONE16, 4);
	ok(write(fa, f.r, f.n * GT_RECORD_SIZE) > 0 && write(fb, g.r, g.n * GT_RECORD_SIZE) > 0,
	   "two streams");
	close(fa);
	close(fb);
	snprintf(both, sizeof(both), "%s:%s", a, b);
	h = rh_new(both, "", true);
	rh_play(h);
	ok(h->n == 4 && h->rec[0].ev.seqno == 1 && h->rec[1].ev.seqno == 2 &&
		   h->rec[2].ev.seqno == 3 && h->rec[3].ev.seqno == 4,
	   "are played in order of time");
	unlink(a);
	unlink(b);
	rh_free(h);
}

int main(void)
{
	numbers();
	idle();
	functions();
	unknown_loss();
	odd();
	nothing_but_odd();
	appended();
	longer();
	versions();
	cut();
	beginning();
	damaged_times();
	second_header();
	longest();
	blocks(4096, 0, NULL);
	blocks(5000, 10, "byte 320000: ends inside a record, 10 bytes of 64");
	gpus();
	rings();
	as_they_were();
	merged();
	return done_testing();
}
