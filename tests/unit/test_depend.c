/* SPDX-License-Identifier: GPL-2.0 */
/* Why a job waits, as the scheduler says: in the model, in report, timeline and blame, for those
 * who may know whose job the other is and those who not. */
#include "shown.h"

#include "../../fs/stream/stream.h"

#define DEPENDENCY (GT_CUSTOM0 + 2)
#define T	   (100 * S)

static void depends(uint64_t ts, uint16_t ring, uint64_t ctx, uint64_t seqno, uint64_t fence_ctx,
		    uint64_t fence_seqno, uint8_t flags)
{
	union gt_record r = event(ts, DEPENDENCY, ring, ctx, seqno);

	r.ev.ref = fence_ctx;
	r.ev.value = fence_seqno;
	r.ev.flags = flags;
	feed(&r);
}

static void waits(uint64_t ts, uint64_t ctx, uint64_t seqno, uint64_t fence_ctx,
		  uint64_t fence_seqno)
{
	depends(ts, 0, ctx, seqno, fence_ctx, fence_seqno, GT_F_DEPENDS | GT_F_WAITS);
}

static void name_event(void)
{
	union gt_record r;

	gt_record_init(&r, T, GT_NAME);
	r.name.id = DEPENDENCY;
	r.name.kind = GT_NAME_CUSTOM;
	r.name.part = 0;
	memset(r.name.text, 0, sizeof(r.name.text));
	strcpy(r.name.text, "job_dependency");
	feed(&r);
}

/* Of each row of @at's report, the cells `reason` to `for_pid`, in brackets */
static const char *reasons_at(const struct gt_obj *at, const struct gt_view *v)
{
	enum { REASON = 13, FOR_PID = 18 };
	static char out[1000];
	const char *t = text(at, "report", v);

	out[0] = '\0';
	for (t = strchr(t, '\n'); t && *++t; t = strchr(t, '\n')) {
		const char *cell = t, *from = NULL;

		for (unsigned int i = 0; i <= FOR_PID; i++) {
			from = i == REASON ? cell : from;
			cell += strcspn(cell, " \n") + 1;
		}
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "[%.*s]",
			 (int)(cell - 1 - from), from);
	}
	return out;
}

static const char *reasons(const struct gt_view *v)
{
	return reasons_at(&at_gfx, v);
}

/* 2000's job on sdma runs for 120 us; 1000's on gfx waits for it from its 10th us on. */
static void make_pair(void)
{
	name_event();
	submit(T, 1, 6, 1, 2000);
	job_event(T, GT_COMMIT, 1, 6, 1);
	submit(T + 10 * US, 0, 5, 1, 1000);
	waits(T + 20 * US, 5, 1, 6, 1);
	job_event(T + 120 * US, GT_COMPLETE, 1, 6, 1);
	job_event(T + 130 * US, GT_COMMIT, 0, 5, 1);
	job_event(T + 230 * US, GT_COMPLETE, 0, 5, 1);
}

static void test_views(void)
{
	const char *t;

	setup(1 << 20);
	make_pair();
	is_str(reasons(&root), "[job 110000 amdgpu0 ring1 1 2000]",
	       "report: another's job, for root");
	is_str(reasons(&user), "[job 110000 - - - -]", "of which its waiter is not to know whose");
	is_str(reasons(&owner), "[job 110000 - - - -]", "however little it sees of others");
	is_str(reasons_at(&at_sdma, &root), "[- - - - - -]", "the other job waited for nothing");

	t = text(&at_gfx, "blame", &root);
	ok(strstr(t, "1000 amdgpu0 ring0 process 2000 110000 91.66 1 dependency glxgears "
		     "#x\\040y\\012z\n"),
	   "blame: for whom it waited");
	ok(strstr(t, " 10000 8.33 1 - glxgears "), "the rest nobody held it up");
	ok(strstr(text(&at_gfx, "blame", &user),
		  "1000 amdgpu0 ring0 process - 110000 91.66 - dependency glxgears -\n"),
	   "whose job it was is not for everybody");
	ok(!strstr(text(&at_gfx, "blame", &owner), "dependency "),
	   "nor that there was one, where others are not shown");

	t = text(&at_gpu, "timeline", &root);
	ok(strstr(t, "[100.000020000] amdgpu0/gfx_0.0.0 job_dependency cpu=3 pid=1000 "
		     "comm=glxgears ctx=5 seqno=1 waits_for=6:1 of_pid=2000\n"),
	   "timeline: which fence, of which process");
	ok(strstr(t, " (120 us queue wait) (110 us since a dependency kept it)\n"), "and how long");
	t = text(&at_gpu, "timeline", &user);
	ok(strstr(t, "job_dependency cpu=3 pid=1000 comm=glxgears ctx=5 seqno=1 redacted\n"),
	   "not for the waiter");
	teardown();
}

static void test_kinds(void)
{
	setup(1 << 20);
	submit(T, 1, 7, 4, 1000);
	submit(T, 0, 5, 1, 1000);
	waits(T + 1 * US, 5, 1, 7, 4);
	job_event(T + 2 * US, GT_COMMIT, 0, 5, 1);
	waits(T + 3 * US, 5, 1, 99, 4);
	job_event(T + 4 * US, GT_COMPLETE, 0, 5, 1);
	is_str(reasons(&user), "[job 1000 amdgpu0 ring1 4 1000]",
	       "one's own job; what comes after the hand-over is no reason");

	submit(T + 5 * US, 0, 5, 2, 1000);
	waits(T + 6 * US, 5, 2, 6, 4);
	waits(T + 7 * US, 5, 2, 99, 1);
	job_event(T + 9 * US, GT_COMMIT, 0, 5, 2);
	job_event(T + 10 * US, GT_COMPLETE, 0, 5, 2);
	is_str(strchr(reasons(&root), ']') + 1, "[fence 3000 - - - -]",
	       "several: since the first, for the last, a fence of no job");
	ok(strstr(text(&at_gfx, "blame", &root), " unknown - 3000 "), "blame: of nobody known");

	submit(T + 11 * US, 0, 5, 3, 1000);
	waits(T + 12 * US, 5, 3, 6, 4);
	depends(T + 13 * US, 0, 5, 3, 1, 1, GT_F_DEPENDS);
	job_event(T + 14 * US, GT_COMMIT, 0, 5, 3);
	job_event(T + 15 * US, GT_COMPLETE, 0, 5, 3);
	is_str(strrchr(reasons(&root), '['), "[job 2000 amdgpu0 ring1 4 1000]",
	       "the fence of the context before: the job need only be handed over");

	submit(T + 16 * US, 0, 5, 4, 1000);
	depends(T + 17 * US, 0, 5, 4, 7, 4, GT_F_DEPENDS);
	job_event(T + 18 * US, GT_COMMIT, 0, 5, 4);
	job_event(T + 19 * US, GT_COMPLETE, 0, 5, 4);
	is_str(strrchr(reasons(&root), '['), "[- - - - - -]",
	       "what it merely depends on is no wait");
	waits(T + 20 * US, 5, 77, 7, 4);
	waits(T + 20 * US, GT_NONE64, GT_NONE64, GT_NONE64, GT_NONE64);
	ok(true, "of a job that is not known nothing is kept");
	teardown();
}

/* One that waits now */
static void test_in_flight(void)
{
	setup(1 << 20);
	submit(T, 0, 9, 1, 1000);
	job_event(T, GT_COMMIT, 0, 9, 1);
	job_event(T + 1 * MS, GT_COMPLETE, 0, 9, 1);
	submit(T + 2 * MS, 1, 6, 1, 2000);
	submit(T + 2 * MS, 0, 5, 1, 1000);
	waits(T + 3 * MS, 5, 1, 6, 1);
	gt_model_advance(app.model, T + 10 * MS);
	ok(strstr(text(&at_gfx, "blame", &root),
		  "process 2000 7000000 87.50 1 dependency glxgears "),
	   "a job in flight waits for its dependency until now");
	job_event(T + 10 * MS, GT_COMMIT, 0, 5, 1);
	gt_model_advance(app.model, T + 20 * MS);
	ok(strstr(text(&at_gfx, "blame", &root),
		  "process 2000 7000000 87.50 1 dependency glxgears "),
	   "and from its hand-over on no longer");
	teardown();
}

static void test_stream(void)
{
	union gt_record r = event(T, DEPENDENCY, 0, 5, 1), was;

	r.ev.flags = GT_F_DEPENDS | GT_F_WAITS;
	r.ev.pid = r.ev.uid = 1000;
	r.ev.tid = 2000;
	r.ev.ref = 6;
	r.ev.value = 1;
	was = r;
	ok(gt_redact(&r, &root) && !memcmp(&r, &was, sizeof(r)), "stream: root sees all");
	ok(gt_redact(&r, &user) && r.ev.ctx == 5 && r.ev.ref == GT_NONE64 &&
		   r.ev.value == GT_NONE64 && r.ev.tid == GT_NONE32 && r.ev.pid == 1000,
	   "the waiter its own job only");
	r = was;
	r.ev.tid = 1000;
	ok(gt_redact(&r, &user) && r.ev.ref == 6 && r.ev.value == 1,
	   "or both, if both are its own");
	r = was;
	r.ev.tid = GT_NONE32;
	ok(gt_redact(&r, &user) && r.ev.ref == GT_NONE64 && r.ev.value == GT_NONE64,
	   "a fence of which nobody knows whose it is may be anybody's");
	r = was;
	r.ev.pid = r.ev.uid = 2000;
	r.ev.tid = 1000;
	ok(gt_redact(&r, &user) && r.ev.ctx == GT_NONE64 && r.ev.ref == GT_NONE64 &&
		   r.ev.value == GT_NONE64 && r.ev.tid == GT_NONE32,
	   "another's job that waits for one's own");
}

int main(void)
{
	test_views();
	test_kinds();
	test_in_flight();
	test_stream();
	return done_testing();
}
