/* SPDX-License-Identifier: GPL-2.0 */
/* backend/sysfs: saved dumps are read by a child: what it says is checked, and it may hang. */
#include "../../backend/sysfs/play.c"
#include "../lib/held.h"
#include "../lib/tap.h"

static uint8_t said[SAID + 1];
static struct sf_row rows[SF_ROWS];

static bool says(const struct sf_row *row, size_t at, uint8_t byte)
{
	struct play y = { .said = said, .rows.row = rows };
	struct sf_played head = { .n = 2 };

	memcpy(said, &head, sizeof(head));
	for (int i = 0; i < 2; i++)
		memcpy(said + sizeof(head) + i * sizeof(*row), row, sizeof(*row));
	y.len = sizeof(head) + 2 * sizeof(*row);
	if (at)
		said[sizeof(head) + sizeof(*row) + at] = byte;
	return take(&y);
}

static void test_rows(void)
{
	size_t q = offsetof(struct sf_row, q);
	struct sf_row row = { .gpu_id = 1 };

	ok(says(&row, 0, 0), "rows");
	ok(says(&row, q + offsetof(struct gt_queue_hw, sdma), 1), "of SDMA");
	ok(!says(&row, q + offsetof(struct gt_queue_hw, sdma), 2), "a truth that is none");
	ok(!says(&row, q + offsetof(struct gt_queue_hw, active), 255), "another");
	row.q.nslots = GT_QUEUE_SLOTS + 1;
	ok(!says(&row, 0, 0), "more slots than there can be");
}

static void test_stuck(void)
{
	struct play y = { .fd = -1, .pid = sleeper() };
	pid_t held = holder(y.pid);
	int status = 0;

	waitpid(held, &status, WUNTRACED);
	if (!WIFSTOPPED(status)) {
		ok(true, "one that does not end # skip nothing can be traced here");
		end_child(&y);
		return;
	}
	end_child(&y);
	ok(is_left() && !y.pid, "one that does not end is not waited for");
	kill(held, SIGKILL);
	waitpid(held, NULL, 0);
	for (int i = 0; i < 60000 && is_left(); i++)
		usleep(1000);
	ok(!is_left(), "it is no more when it has ended");
}

int main(void)
{
	test_rows();
	test_stuck();
	return done_testing();
}
