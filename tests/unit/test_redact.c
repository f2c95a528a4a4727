/* SPDX-License-Identifier: GPL-2.0 */
/* Which records a scope has, and what a view leaves of them. */
#include "../../backend/backend.h"
#include "../../fs/stream/stream.h"
#include "../lib/tap.h"

#define ME    1000
#define OTHER 1001

static const struct gt_view all = { .all = true, .visibility = GT_VIS_OWNER };
static const struct gt_view open_view = { .uid = ME, .visibility = GT_VIS_ALL };
static const struct gt_view redacted = { .uid = ME, .visibility = GT_VIS_REDACTED };
static const struct gt_view owner = { .uid = ME, .visibility = GT_VIS_OWNER };

static union gt_record event(enum gt_type type, uint32_t pid, uint32_t uid, uint64_t ctx)
{
	union gt_record r;

	gt_record_init(&r, 1000, type);
	r.ev.gpu = 2;
	r.ev.ring = 3;
	r.ev.ctx = ctx;
	r.ev.seqno = 9;
	r.ev.pid = r.ev.tid = pid;
	r.ev.uid = uid;
	r.ev.value = 4;
	r.ev.ref = 5;
	return r;
}

static bool same(const union gt_record *a, const union gt_record *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Does @v get @r as it is? */
static bool whole(union gt_record r, const struct gt_view *v)
{
	union gt_record was = r;

	return gt_redact(&r, v) && same(&r, &was);
}

static bool left_out(union gt_record r, const struct gt_view *v)
{
	return !gt_redact(&r, v);
}

/* Does @v get @r with all that reports its process blanked, and nothing else? @owned: value and
 * seqno as well, where no ring of a driver has them */
static bool blanked_of(union gt_record r, const struct gt_view *v, bool owned)
{
	union gt_record want = r;

	if (owned && (r.ev.ring == GT_NONE16 || r.ev.type == GT_DISPATCH || r.ev.type == GT_COPY)) {
		want.ev.seqno = GT_NONE64;
		if (r.ev.type != GT_FUNCTION && r.ev.type != GT_IOCTL_ENTER &&
		    r.ev.type != GT_IOCTL_EXIT) /* which call it was */
			want.ev.value = GT_NONE64;
	}
	want.ev.flags |= GT_F_REDACTED;
	want.ev.pid = want.ev.tid = want.ev.uid = want.ev.queue = GT_NONE32;
	want.ev.ctx = want.ev.ref = GT_NONE64;
	if (r.ev.type == GT_QUEUE_TOKEN)
		want.ev.value = GT_NONE64;
	return gt_redact(&r, v) && same(&r, &want);
}

static bool blanked(union gt_record r, const struct gt_view *v)
{
	return blanked_of(r, v, true);
}

static void test_events(void)
{
	union gt_record mine = event(GT_SUBMIT, 10, ME, 1), other = event(GT_SUBMIT, 11, OTHER, 1);
	union gt_record nobody = event(GT_SUBMIT, GT_NONE32, GT_NONE32, 1);
	union gt_record halfknown = event(GT_IOCTL_ENTER, 11, GT_NONE32, GT_NONE64);
	union gt_record of_queue = event(GT_QUEUE_MAP, GT_NONE32, GT_NONE32, GT_NONE64);
	union gt_record no_owner = event(GT_ERROR, GT_NONE32, GT_NONE32, GT_NONE64);

	of_queue.ev.queue = 3;
	other.ev.queue = 3;
	ok(whole(other, &all) && whole(other, &open_view), "root, and visibility all, get all");
	ok(whole(mine, &redacted) && whole(mine, &owner), "the owner gets it");
	ok(blanked(other, &redacted), "redacted: another's is blanked");
	ok(left_out(other, &owner), "owner: another's is left out");
	ok(blanked(nobody, &redacted), "redacted: of an unknown owner: blanked");
	ok(left_out(nobody, &owner), "owner: a job of an unknown owner is left out");
	ok(blanked(halfknown, &redacted) && left_out(halfknown, &owner),
	   "pid without uid: another's");
	ok(blanked(of_queue, &redacted) && left_out(of_queue, &owner), "a queue's: another's");
	ok(blanked(no_owner, &redacted) && blanked(no_owner, &owner), "of no process: stays");
	no_owner.ev.type = GT_QUEUE_TOKEN;
	ok(blanked(no_owner, &redacted), "but for a token");
	no_owner.ev.type = GT_ERROR;
	no_owner.ev.ring = GT_NONE16;
	ok(blanked_of(no_owner, &redacted, false), "with what it tells, which is of no process");
	for (int type = 0; type < GT_NTYPES; type++) {
		union gt_record r = event((enum gt_type)type, 11, OTHER, 7);

		if (!blanked(r, &redacted) || !left_out(r, &owner))
			ok(false, "type %d shows another's", type);
		r.ev.ring = GT_NONE16;
		if (!blanked(r, &redacted) || !left_out(r, &owner) || !whole(r, &open_view))
			ok(false, "type %d shows another's without a ring", type);
	}
}

/* What a user's own files tell, results and logs, has the owner's uid and no ring */
static void test_files(void)
{
	union gt_record r = event(GT_COPY, GT_NONE32, OTHER, GT_NONE64);

	r.ev.ring = GT_NONE16;
	ok(blanked(r, &redacted) && left_out(r, &owner), "bytes of another's copy are theirs");
	r.ev.type = GT_COMPLETE;
	ok(blanked(r, &redacted), "so is the number of their packet");
	r.ev.uid = ME;
	ok(whole(r, &redacted) && whole(r, &owner), "one's own are there");
	r.ev.uid = OTHER;
	r.ev.type = GT_COUNTER;
	ok(blanked(r, &redacted), "and what their counters read");
	ok(gt_redact(&r, &redacted) && r.ev.value == GT_NONE64 && r.ev.seqno == GT_NONE64,
	   "is not reported");
}

static void test_devices(void)
{
	struct gt_view odd = { .uid = ME, .visibility = 17 };
	union gt_record r = event(GT_COUNTER, GT_NONE32, GT_NONE32, GT_NONE64);

	ok(whole(r, &redacted) && whole(r, &owner), "a GPU's counter keeps its id");
	r.ev.type = GT_POWER;
	ok(whole(r, &redacted) && whole(r, &owner), "so does its power");
	r.ev.type = GT_DISPATCH;
	ok(blanked_of(r, &redacted, false), "a kernel's id does not stay");
	ok(left_out(event(GT_SUBMIT, 11, OTHER, 1), &odd),
	   "an unknown visibility is the strictest");
}

static void test_descriptions(void)
{
	union gt_record p = { .process = { .type = GT_PROCESS, .pid = 11, .uid = OTHER } };
	union gt_record q = { .queue = { .type = GT_QUEUE, .ctx = 3, .pid = 11, .uid = OTHER } };
	union gt_record n = { .name = { .type = GT_NAME, .text = "name" } };
	union gt_record was = q;

	ok(whole(p, &all), "root: PROCESS");
	ok(left_out(p, &redacted) && left_out(p, &owner), "another's PROCESS is left out");
	p.process.uid = ME;
	ok(whole(p, &redacted) && whole(p, &owner), "one's own is there");
	ok(left_out(q, &owner), "owner: another's QUEUE is left out");
	ok(gt_redact(&q, &redacted), "redacted: another's QUEUE stays");
	was.queue.pid = was.queue.uid = GT_NONE32;
	was.queue.ctx = GT_NONE64;
	was.queue.flags = GT_F_REDACTED;
	ok(same(&q, &was), "without pid, uid and ctx");
	ok(whole(n, &owner), "NAME stays");
}

static bool has(uint16_t gpu, uint16_t ring, uint32_t pid, uint32_t queue, union gt_record r)
{
	struct gt_scope s = { gpu, ring, pid, queue };

	return gt_scope_has(&s, &r);
}

static void test_scope(void)
{
	const uint16_t any16 = GT_NONE16;
	const uint32_t any = GT_NONE32;
	union gt_record r = event(GT_SUBMIT, 10, ME, 1);

	r.ev.queue = 4;
	ok(has(any16, any16, any, any, r), "everything");
	ok(has(2, any16, any, any, r) && !has(1, any16, any, any, r), "by GPU");
	ok(has(2, 3, any, any, r) && !has(2, 4, any, any, r), "by ring");
	ok(has(any16, any16, 10, any, r) && !has(any16, any16, 11, any, r), "by process");
	ok(has(2, any16, any, 4, r) && !has(2, any16, any, 5, r), "by queue");
	r.ev.gpu = GT_NONE16;
	ok(has(any16, any16, any, any, r) && !has(2, any16, any, any, r),
	   "an unknown GPU is in the global scope only");
}

static void test_scope_descriptions(void)
{
	const uint16_t any16 = GT_NONE16;
	const uint32_t any = GT_NONE32;
	union gt_record r;

	gt_record_init(&r, 1, GT_GPU_NAME);
	r.ev.gpu = 2;
	ok(has(2, 3, any, any, r) && has(any16, any16, 10, any, r) && !has(1, any16, any, any, r),
	   "GPU_NAME");
	gt_record_init(&r, 1, GT_RING_NAME);
	r.ev.gpu = 2;
	r.ev.ring = 3;
	ok(has(2, 3, any, any, r) && !has(2, 4, any, any, r), "RING_NAME");
	gt_record_init(&r, 1, GT_PROCESS);
	r.process.pid = 10;
	ok(has(2, 3, 10, any, r) && has(2, 3, any, any, r) && !has(2, 3, 11, any, r), "PROCESS");
	gt_record_init(&r, 1, GT_NAME);
	ok(has(2, 3, 10, any, r), "NAME of no GPU is everybody's");
	gt_record_init(&r, 1, GT_LOST);
	ok(has(2, 3, 10, any, r), "LOST of any GPU concerns everybody");
	r.ev.gpu = 2;
	ok(has(2, 3, 10, any, r) && !has(1, any16, any, any, r), "LOST of one GPU concerns it");
	gt_record_init(&r, 1, GT_QUEUE);
	r.ev.gpu = 2;
	r.queue.queue = 4;
	r.queue.pid = 10;
	ok(has(2, 3, 10, 4, r) && !has(2, any16, any, 5, r) && !has(2, any16, 11, any, r), "QUEUE");
}

int main(void)
{
	test_events();
	test_files();
	test_devices();
	test_descriptions();
	test_scope();
	test_scope_descriptions();
	return done_testing();
}
