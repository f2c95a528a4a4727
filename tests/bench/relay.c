/* SPDX-License-Identifier: GPL-2.0 */
/*
 * relay: how fast grtrace's records and its annotator's text are decoded, in MB/s, beside a
 * memcpy() of the same bytes in the same run. "decoded" is backend/relay alone; "played" is all of
 * the replay backend: read from a file in memory, decoded, merged and handed over.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "../../backend/relay/decode.h"
#include "../lib/grtstream.h"
#include "../lib/maphost.h"
#include "../lib/replay_host.h"

#define BYTES  (256u << 20)
#define ROUNDS 5

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may run here, too */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void tell(const char *what, size_t bytes, double s)
{
	printf("bench relay.%s %.0f MB/s\n", what, (double)bytes / s / 1e6);
}

/* What a job's three events are, from two rings */
static struct gs records(void)
{
	static const unsigned int types[] = { GRT_SUBMIT, GRT_COMMIT, GRT_COMPLETE };
	struct gs s = { .ts = 1000 };

	s.p = malloc(BYTES + 4096);
	s.cap = BYTES + 4096;
	gs_start(&s, 1);
	gs_metadata(&s);
	gs_ring(&s, 0, "0000:04:00.0", "gfx", GRT_ENGINE_GRAPHICS);
	gs_ring(&s, 1, "0000:04:00.0", "sdma0", GRT_ENGINE_COPY);
	for (uint64_t i = 0; s.len < BYTES; i++) {
		struct grt_event e = gs_job(i / 3 % 2, 7, i / 3);

		gs_event(&s, types[i % 3], &e);
	}
	return s;
}

static size_t text(char *p)
{
	size_t len = 0;

	for (uint64_t i = 0; len < BYTES; i++)
		len += (size_t)sprintf(
			p + len, "[%llu.%06llu] IOCTL_%s pid=%llu tid=%llu comm=glxgears %s\n",
			1234567 + (unsigned long long)(i / 1000000),
			(unsigned long long)(i % 1000000), i % 2 ? "EXIT" : "ENTER",
			5000 + (unsigned long long)(i / 2 % 8),
			5000 + (unsigned long long)(i / 2 % 8),
			i % 2 ? "ret=0 duration_ns=333000" : "cmd=0xc0106444 arg=0x7ffc12345678");
	return len;
}

/* Into the space of one record, as the decoder does, piece by piece through a buffer. */
static double floor_of(const uint8_t *p, size_t len)
{
	static uint8_t buf[GT_GRT_CAP];
	double best = 1e9;

	for (int r = 0; r < ROUNDS; r++) {
		double t = seconds();

		for (size_t at = 0; at < len; at += sizeof(buf)) {
			memcpy(buf, p + at, len - at < sizeof(buf) ? len - at : sizeof(buf));
			__asm__ volatile("" ::: "memory");
		}
		t = seconds() - t;
		best = t < best ? t : best;
	}
	return best;
}

static uint64_t decode(const uint8_t *p, size_t len)
{
	struct gt_grt_set set;
	struct gt_grt g;
	union gt_record r;
	uint64_t n = 0;
	char err[100];

	if (gt_grt_set_init(&set, &maphost_plugin, "", err, sizeof(err)) ||
	    gt_grt_init(&g, &set, GT_NONE32, true))
		exit(1);
	for (size_t at = 0, room; at < len; at += room) {
		uint8_t *to = gt_grt_room(&g, &room);

		room = room < len - at ? room : len - at;
		memcpy(to, p + at, room);
		gt_grt_filled(&g, room);
		while (gt_grt_next(&g, &r))
			n++;
	}
	gt_grt_free(&g);
	return n;
}

static double decoded(const uint8_t *p, size_t len)
{
	double best = 1e9;

	for (int r = 0; r < ROUNDS; r++) {
		double t = seconds();
		uint64_t n = decode(p, len);

		t = seconds() - t;
		best = t < best ? t : best;
		if (!n)
			exit(1);
	}
	return best;
}

static double played(const void *p, size_t len)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);
	double best = 1e9;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, (const char *)p + at, len - at);

		if (n <= 0)
			exit(1);
		at += (size_t)n;
	}
	for (int r = 0; r < ROUNDS; r++) {
		struct rh *h = rh_new(path, "", false);
		double t = seconds();

		rh_play(h);
		t = seconds() - t;
		best = t < best ? t : best;
		if (h->errors || !h->pushed)
			fprintf(stderr, "relay: %s\n", h->first);
		rh_free(h);
	}
	close(fd);
	return best;
}

int main(void)
{
	struct gs s = records();
	char *t = malloc(BYTES + 4096);
	size_t len;

	if (!s.p || !t)
		return 1;
	tell("memcpy", s.len, floor_of(s.p, s.len));
	tell("binary_decoded", s.len, decoded(s.p, s.len));
	tell("binary_played", s.len, played(s.p, s.len));
	free(s.p);
	len = text(t);
	tell("text_played", len, played(t, len));
	free(t);
	return 0;
}
