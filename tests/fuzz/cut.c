/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cut FILE N SEED [EVENTS_DIR [dat6]]: plays a recording cut at each of N places, evenly spaced,
 * and N copies of it with random bytes changed. None may crash, hang, push a record that is not
 * well formed, or end early without a word. With N 0 it plays the file once and says what it holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../backend/relay/decode.h"
#include "../lib/fuzz.h"
#include "../lib/replay_host.h"
#include "../lib/tmp.h"

static const struct gt_reader *reader;
static uint8_t *slurp(const char *path, size_t *len)
{
	struct stat st;
	uint8_t *data = NULL;
	int fd = open(path, O_RDONLY);

	if (fd >= 0 && !fstat(fd, &st) && (data = malloc((size_t)st.st_size + 1)) != NULL &&
	    read(fd, data, (size_t)st.st_size) != st.st_size) {
		free(data);
		data = NULL;
	}
	if (fd >= 0)
		close(fd);
	*len = data ? (size_t)st.st_size : 0;
	return data;
}

static bool spew(const char *path, const uint8_t *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	bool good = fd >= 0 && write(fd, data, len) == (ssize_t)len;

	if (fd >= 0)
		close(fd);
	return good;
}

/* Of grtrace: each record has its size behind its type. */
static bool is_dump_boundary(const uint8_t *data, size_t at)
{
	uint16_t size = 1;
	size_t p = 0;

	for (; p < at && size; p += size)
		memcpy(&size, data + p + 2, sizeof(size));
	return p == at;
}

/* Where nothing is missing, though the file is cut: between two lines or two records. */
static bool is_boundary(const uint8_t *data, size_t at)
{
	unsigned int version;

	if (gt_grt_detect(data, at, &version))
		return is_dump_boundary(data, at);
	if (!at || data[at - 1] == '\n')
		return true;
	return data[8] == GT_HEADER && at % GT_RECORD_SIZE == 0;
}

static bool is_dat(const uint8_t *data, size_t len)
{
	return len > 3 && data[0] == 0x17;
}

/* Of a trace.dat only its pages may end early without a word, at a page's end: the rest is reported. */
static bool try(const char *path, const char *events, bool must_say, uint64_t *records)
{
	struct rh *h = rh_new(path, events, false);
	bool good = true;
	int ret;

	h->reader = reader;
	alarm(LIMIT_S);
	ret = rh_play(h);
	alarm(0);
	if (h->bad) {
		fprintf(stderr, "cut: %s: %llu bad records\n", what, (unsigned long long)h->bad);
		good = false;
	}
	if (ret != -ENODATA && !h->errors) {
		fprintf(stderr, "cut: %s: failed with %s and no sentence\n", what, strerror(-ret));
		good = false;
	}
	if (must_say && !h->errors) {
		fprintf(stderr, "cut: %s: nothing said\n", what);
		good = false;
	}
	*records = h->pushed;
	rh_free(h);
	return good;
}

static int cuts(const char *tmp, const char *events, const uint8_t *data, size_t len, int n)
{
	int bad = 0;

	for (int i = 0; i < n; i++) {
		size_t at = len * (size_t)i / (size_t)n;
		uint64_t records;

		snprintf(what, sizeof(what), "cut at byte %zu", at);
		if (!spew(tmp, data, at))
			return -1;
		bad += !try(tmp, events, !is_boundary(data, at) && at, &records);
	}
	return bad;
}

static int changes(const char *tmp, const char *events, const uint8_t *data, size_t len, int n)
{
	uint8_t *copy = malloc(len);
	int bad = 0;

	for (int i = 0; copy && i < n; i++) {
		unsigned int times = 1 + rnd() % 16;
		uint64_t records;

		snprintf(what, sizeof(what), "change %d (seed at %llx)", i,
			 (unsigned long long)state);
		memcpy(copy, data, len);
		while (times--)
			copy[rnd() % len] = (uint8_t)rnd();
		if (!spew(tmp, copy, len))
			bad = -1;
		else
			bad += !try(tmp, events, false, &records);
		if (bad < 0)
			break;
	}
	free(copy);
	return bad;
}

static int summary(const char *path, const char *events)
{
	static const char *const names[] = GT_TYPE_NAMES;
	struct rh *h = rh_new(path, events, false);
	char text[4096];
	int ret = gt_replay_start(&h->p);

	if (ret >= 0 && reader)
		ret = gt_source_reopen(gt_replay_source(h->p.priv, 0), reader);
	while (ret >= 0)
		ret = gt_replay_drain(&h->p);
	if (h->p.priv) {
		gt_replay_doctor(&h->p, text, sizeof(text));
		fputs(text, stdout);
	}
	printf("end %s\nerror %s\nrecords %llu\n", strerror(-ret), h->first,
	       (unsigned long long)h->pushed);
	for (unsigned int i = 0; i < 256; i++)
		if (h->types[i])
			printf("type %s %llu\n",
			       i < GT_NTYPES	 ? names[i]
			       : i == GT_PROCESS ? "process"
			       : i == GT_LOST	 ? "lost"
						 : "description",
			       (unsigned long long)h->types[i]);
	for (unsigned int g = 0; g < h->gpus; g++)
		for (unsigned int r = 0; r < h->gpu[g].rings; r++)
			printf("gpu%u %s %s ring%u %s: submit %llu commit %llu complete %llu\n", g,
			       h->gpu[g].driver, h->gpu[g].dev, r, h->gpu[g].ring[r],
			       (unsigned long long)h->by_ring[g][r][GT_SUBMIT],
			       (unsigned long long)h->by_ring[g][r][GT_COMMIT],
			       (unsigned long long)h->by_ring[g][r][GT_COMPLETE]);
	rh_free(h);
	return 0;
}

int main(int argc, char **argv)
{
	const char *events = argc > 4 ? argv[4] : "conf/events.d";
	char tmp[TMP_PATH_MAX];
	size_t len;
	uint8_t *data;
	int n, bad, fd;

	if (argc < 4) {
		fprintf(stderr, "usage: cut FILE N SEED [EVENTS_DIR [dat6]]\n");
		return 2;
	}
	if (argc > 5 && !strcmp(argv[5], "dat6"))
		reader = &gt_reader_dat6;
	n = atoi(argv[2]);
	if (!n)
		return summary(argv[1], events);
	fuzz_begin(argv[3]);
	data = slurp(argv[1], &len);
	fd = tmp_file(tmp, "gt-cut");
	if (!data || !len || fd < 0) {
		fprintf(stderr, "cut: %s: %s\n", argv[1], strerror(errno));
		return 2;
	}
	close(fd);
	bad = cuts(tmp, events, data, len, n);
	if (bad >= 0)
		bad += changes(tmp, events, data, len, n);
	printf("%s%s: %d cuts and %d changes, %d bad\n", is_dat(data, len) ? "trace.dat " : "",
	       argv[1], n, n, bad);
	unlink(tmp);
	free(data);
	return bad != 0;
}
