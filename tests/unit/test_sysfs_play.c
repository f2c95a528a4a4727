/* SPDX-License-Identifier: GPL-2.0 */
/* backend/sysfs: saved dumps are read by a child: what it says is checked. */
#include "../../backend/sysfs/kfd_hw.c"
#include "../lib/tap.h"

static uint8_t received[RECEIVE_MAX + 1];
static struct sf_row rows[SF_ROWS];

static bool says(const struct sf_row *row, size_t at, uint8_t byte)
{
	struct play y = { .received = received, .rows.row = rows };
	struct sf_played head = { .n = 2 };

	memcpy(received, &head, sizeof(head));
	for (int i = 0; i < 2; i++)
		memcpy(received + sizeof(head) + i * sizeof(*row), row, sizeof(*row));
	y.len = sizeof(head) + 2 * sizeof(*row);
	if (at)
		received[sizeof(head) + sizeof(*row) + at] = byte;
	return play_take(&y);
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

int main(void)
{
	test_rows();
	return done_testing();
}
