/* SPDX-License-Identifier: GPL-2.0 */
/* grtrace's dumps and its annotator's text, played: each by itself, and merged by time. */
#include <errno.h>
#include <unistd.h>

#include "../lib/grtstream.h"
#include "../lib/replay_host.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char name[4][TMP_PATH_MAX];

/* A file of these bytes, until the test's end */
static const char *file(unsigned int i, const void *data, size_t len)
{
	int fd = tmp_file(name[i], "gt-relay");

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		tap_ok(false, "temporary file");
	close(fd);
	return name[i];
}

static struct rh *play(const char *files, const char *types, int64_t offset, int *ret)
{
	struct rh *h = rh_new(files, "", true);

	h->opt.relay_types = (char *)types;
	h->opt.relay_clock_offset = offset;
	*ret = rh_play(h);
	return h;
}

static struct rh *play_text(const char *text, int *ret)
{
	struct rh *h = play(file(0, text, strlen(text)), "", 0, ret);

	unlink(name[0]);
	return h;
}

static void ioctls(void)
{
	int ret;
	struct rh *h = play_text(
		"Tracing DRM ioctls... Hit Ctrl-C to end.\n"
		"[1234567.123456] IOCTL_ENTER pid=5678 tid=5679 comm=glxgears cmd=0xc0106444 "
		"arg=0x7ffc12345678\n"
		"[1234567.123789] IOCTL_EXIT pid=5678 tid=5679 comm=glxgears ret=0 "
		"duration_ns=333000\n"
		"[1234567.123790123] IOCTL_EXIT pid=5678 tid=5678 comm=a b=c pid=1 ret=-22 "
		"duration_ns=12\r\n"
		"[1234567.1] IOCTL_ENTER pid=1234 tid=1234 comm=x\n"
		"[1234567.2] IOCTL_ENTER pid=77 tid=77 comm=ninebytes cmd=0x9A09fF90 arg=0x1\n"
		"[1234567.3] IOCTL_EXIT pid=78 tid=78 comm=a cmd= ret=-0\n",
		&ret);

	is(ret, -ENODATA, "it is played to its end");
	ok(!h->errors, "without a complaint %s", h->first);
	is(h->types[GT_IOCTL_ENTER] + h->types[GT_IOCTL_EXIT], 6, "six ioctls");
	ok(h->rec[0].ev.type == GT_PROCESS && h->rec[0].process.pid == 1234 &&
		   !strcmp(h->rec[0].process.comm, "x"),
	   "the earliest first, with who that is");
	ok(h->rec[3].ev.ts == 1234567123456000 && h->rec[3].ev.pid == 5678 &&
		   h->rec[3].ev.tid == 5679 && h->rec[3].ev.value == 0xc0106444,
	   "what an ioctl has");
	ok(h->rec[4].ev.value == 0 && h->rec[4].ev.ref == 333000, "and its end");
	ok(h->rec[5].ev.type == GT_PROCESS && !strcmp(h->rec[5].process.comm, "a b=c pid=1"),
	   "a name may hold anything: %.16s", h->rec[5].process.comm);
	ok(h->rec[6].ev.pid == 5678 && h->rec[6].ev.value == (uint64_t)-22 &&
		   h->rec[6].ev.ts == 1234567123790123,
	   "what stands behind it is read, fractions of nine digits too");
	ok(h->rec[h->n - 3].ev.value == 0x9a09ff90 && h->rec[h->n - 3].ev.pid == 77,
	   "a number's digits are of either case");
	rh_free(h);
}

static void jobs(void)
{
	int ret;
	struct rh *h = play_text(
		"[12.345800000] SUBMIT ctx=0x1234 engine=GRAPHICS ring=0 seq=100\n"
		"[12.345850000] GPU START ctx_id=0x1234, engine=GRAPHICS, ring=0, seqno=100\n"
		"[12.345900000] CPU IOCTL_EXIT ret=0, duration_ns=333000\n"
		"[12.356000000] END ctx=0x1234 engine=COPY ring=3 seq=100 status=0\n",
		&ret);

	is(h->n, 4, "events as other tools of grtrace print them");
	ok(h->rec[0].ev.ctx == 0x1234 && h->rec[0].ev.seqno == 100 && h->rec[0].ev.ring == 0 &&
		   h->rec[1].ev.seqno == 100 && h->rec[1].ev.ctx == 0x1234 &&
		   h->rec[3].ev.ring == 1,
	   "with job and ring, in either form");
	ok(h->rec[2].ev.type == GT_IOCTL_EXIT && h->rec[2].ev.pid == GT_NONE32, "of nobody known");
	rh_free(h);
}

static void bad_text(void)
{
	int ret;
	struct rh *h = play_text("[1.5] SUBMIT ctx=1 ring=0 seq=1\n"
				 "[1.x] SUBMIT ctx=1 ring=0 seq=1\n"
				 "[1.6] NOTHING ctx=1\n"
				 "[99999999999999999999.6] SUBMIT ctx=1\n"
				 "[1.7] IOCTL_ENTER pid=abc tid=1\n"
				 "[1.7] SUBMIT ctx= seq=0x seq=0x11111111111111111 ring=4096\n"
				 "[1.8] SUBMIT ctx=1 ring=0 seq=2",
				 &ret);

	is(h->n, 3, "what is right is played");
	is(gt_replay_source(h->p.priv, 0)->count.damaged, 5,
	   "each bad line and the cut one are reported");
	ok(strstr(h->first, "line 2 is none"), "the first of them: %s", h->first);
	ok(h->rec[1].ev.ring == GT_NONE16 && h->rec[1].ev.ctx == GT_NONE64 &&
		   h->rec[1].ev.seqno == GT_NONE64,
	   "no number, no value");
	rh_free(h);
}

static struct gs cpu(uint32_t n, uint64_t ts)
{
	struct gs s = { .cpu = n, .ts = ts };

	gs_start(&s, 1);
	gs_metadata(&s);
	gs_ring(&s, 0, "0000:04:00.0", "gfx", GRT_ENGINE_GRAPHICS);
	return s;
}

/* Two CPUs' dumps and who submitted: by time, with one clock moved to the other. */
static void merged(void)
{
	struct gs a = cpu(0, 1000000), b = cpu(1, 1000000);
	static const char text[] = "[0.000999] IOCTL_ENTER pid=7 tid=7 comm=app cmd=0x40\n";
	char files[4 * TMP_PATH_MAX];
	int ret;
	const struct gt_lost *lost = NULL;
	struct rh *h;
	bool sorted = true;

	for (uint64_t i = 0; i < 100; i++) {
		struct gs *s = i % 3 ? &a : &b;

		s->ts = 2000000 + i * 10;
		gs_submit(s, 0, i);
	}
	a.cseq += 4;
	gs_submit(&a, 0, 100);
	snprintf(files, sizeof(files), "%s:%s:%s", file(0, a.p, a.len), file(1, b.p, b.len),
		 file(2, text, strlen(text)));
	h = play(files, "", -1500000, &ret);
	for (size_t i = 1; i < h->n; i++)
		sorted &= h->rec[i].ev.ts >= h->rec[i - 1].ev.ts;
	ok(sorted && h->n == 104, "all by time: %zu", h->n);
	is(h->rec[0].ev.seqno, 0, "the dumps' clock was moved before the text's");
	is(h->rec[0].ev.ts, 500000, "by so much");
	is(h->types[GT_LOST], 1, "a gap is reported");
	for (size_t i = 1; i < h->n; i++)
		if (h->rec[i].ev.type == GT_LOST)
			lost = &h->rec[i].lost;
	ok(lost && lost->since == 500980 && lost->until == 501080,
	   "from the record before it to the one behind it");
	is(gt_replay_source(h->p.priv, 0)->count.lost, 4, "with its count");
	is(h->gpus, 1, "both mean the same GPU");
	is(h->bad, 0, "all is well formed");
	rh_free(h);
	for (int i = 0; i < 3; i++)
		unlink(name[i]);
	free(a.p);
	free(b.p);
}

/* A dump named twice, and one that holds itself twice: events come twice, and none is lost. */
static void twice(void)
{
	struct gs s = cpu(0, 1000000);
	char files[2 * TMP_PATH_MAX];
	struct rh *h;
	size_t once;
	int ret;

	for (uint64_t i = 0; i < 10; i++)
		gs_submit(&s, 0, i);
	snprintf(files, sizeof(files), "%s:%s", file(0, s.p, s.len), name[0]);
	h = play(files, "", 0, &ret);
	ok(h->types[GT_SUBMIT] == 20 && !h->types[GT_LOST] &&
		   !gt_replay_source(h->p.priv, 0)->count.lost &&
		   !gt_replay_source(h->p.priv, 1)->count.lost,
	   "the same dump twice: nothing is lost");
	rh_free(h);
	unlink(name[0]);
	once = s.len;
	memcpy(gs_room(&s, once), s.p, once);
	h = play(file(0, s.p, s.len), "", 0, &ret);
	ok(h->types[GT_SUBMIT] == 20 && !gt_replay_source(h->p.priv, 0)->count.lost,
	   "nor where a file holds it twice: %llu",
	   (unsigned long long)gt_replay_source(h->p.priv, 0)->count.lost);
	is(h->types[GT_LOST], 0, "… and no loss is reported");
	rh_free(h);
	unlink(name[0]);
	free(s.p);
}

static void refused(void)
{
	struct gs s = cpu(0, 1);
	int ret;
	struct rh *h;

	h = play(file(0, s.p, s.len), "SUBMIT=x", 0, &ret);
	ok(ret == -EINVAL && strstr(h->error, "relay_types"), "bad numbers are refused: %s",
	   h->error);
	rh_free(h);
	unlink(name[0]);
	s.p[36] = 9;
	h = play(file(0, s.p, s.len), "", 0, &ret);
	ok(ret == -EPROTONOSUPPORT && strstr(h->error, "version 9"), "another version: %s",
	   h->error);
	rh_free(h);
	unlink(name[0]);
	free(s.p);
}

static void cut(void)
{
	struct gs s = cpu(0, 5000);
	int ret, unreported = 0, wrong = 0;
	size_t begin = s.len;

	for (uint64_t i = 0; i < 20; i++)
		gs_submit(&s, 0, i);
	for (size_t len = begin; len <= s.len; len++) {
		struct rh *h = play(file(0, s.p, len), "", 0, &ret);

		unreported += !h->errors && (len - begin) % 80;
		wrong += h->types[GT_SUBMIT] != (len - begin) / 80;
		rh_free(h);
		unlink(name[0]);
	}
	is(unreported, 0, "each cut inside a record is reported");
	is(wrong, 0, "each whole one before it is played");
	free(s.p);
}

int main(void)
{
	ioctls();
	jobs();
	bad_text();
	merged();
	twice();
	refused();
	cut();
	return done_testing();
}
