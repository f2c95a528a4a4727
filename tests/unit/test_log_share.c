/* SPDX-License-Identifier: GPL-2.0 */
/* The share of the history that records of a user's own files may take. */
#include "../../fs/stream/stream.h"
#include "../lib/tap.h"

#define SECOND 1000000000ull
#define ALICE  1001
#define BOB    1002

static struct gt_log *l;
static uint64_t now;

/* Of @uid's files, if there is room; with a finished job */
static bool put(uint32_t uid)
{
	unsigned int owner = uid ? gt_log_owner(l, uid) : 0;
	struct gt_finished f = { .end = ++now };
	union gt_record r = { .ev = { .ts = now, .type = GT_DISPATCH, .uid = uid } };

	if (!gt_log_has_room(l, owner, now, true))
		return false;
	gt_log_append_of(l, &r, owner);
	gt_log_finished_of(l, &f, owner);
	return true;
}

static uint64_t put_all(uint32_t uid, uint64_t n)
{
	uint64_t done = 0;

	while (n--)
		done += put(uid);
	return done;
}

/* Records of @uid that the history has; 0: of all others */
static uint64_t kept(uint32_t uid)
{
	uint64_t n = 0;
	union gt_record r;

	for (uint64_t i = gt_log_oldest(l); i < l->head; i++)
		n += gt_log_copy(l, i, &r, 1) && r.ev.uid == uid;
	return n;
}

int main(void)
{
	union gt_record r = { .ev = { .type = GT_DISPATCH, .uid = BOB } };
	uint64_t slots, fins, most;

	l = gt_log_new(1 << 20, false);
	l->user_percent = 25;
	slots = l->mask + 1;
	fins = l->fin_mask + 1;
	most = fins / 4; /* jobs are fewer, and each comes with a record here */
	now = 100 * SECOND;

	is(put_all(ALICE, fins), fins, "who is alone is not refused");
	is(put_all(0, 2 * slots), 2 * slots, "nor what is of no file");
	is(kept(ALICE), 0, "which pushes out what is older, whoever has that");

	l->users->refused = 0;
	is(put_all(ALICE, slots), most, "beside others a user gets a share");
	is(l->users->refused, slots - most, "what is beyond is counted");
	is(kept(0), slots - most, "others keep theirs");
	is(put_all(BOB, slots), most, "another user gets as much");
	is(put_all(0, fins - 2 * most), fins - 2 * most, "others go on");
	is(put_all(ALICE, slots), 0, "who has a whole share waits for others to push it out");
	r.ev.ts = 1;
	gt_log_append_of(l, &r, gt_log_owner(l, BOB));
	is(put_all(ALICE, 1), 0, "a record with an old time makes nobody alone");
	now += GT_LOG_ALONE_NS + SECOND;
	is(put_all(ALICE, slots), most, "... or until no others record: then the own make room");
	put_all(0, slots);
	put_all(ALICE, slots);
	now += GT_LOG_KEPT_NS + SECOND;
	is(put_all(ALICE, slots), slots, "records that were kept long make room");
	put_all(0, slots);
	put_all(ALICE, slots);
	gt_log_clear(l);
	is(put_all(ALICE, fins - 1), most, "after a clear a user has a whole share");

	l->user_percent = 100;
	put_all(0, slots);
	is(put_all(ALICE, slots), slots, "without a bound there is none");
	l->user_percent = 25;
	put_all(0, slots);
	is(gt_log_owner(l, 0), 0, "root has no bound");
	for (uint32_t uid = 5000; uid < 5600; uid++)
		put(uid);
	ok(put_all(9999, slots) < most, "users beyond those who are known share one share");
	put_all(0, slots);
	is(put_all(9998, slots), most, "users who have nothing left in the history make room");
	is(put_all(9997, slots), most, "for others, and each of these gets a share");
	gt_log_free(l);
	return done_testing();
}
