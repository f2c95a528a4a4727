/* SPDX-License-Identifier: GPL-2.0 */
/* Where queues are on the hardware: which queue is meant, what shows of it, and to whom. */
#include "../lib/treebed.h"

#define AT    0x7f0000010000ull
#define FILES "amdgpu0/queues/7/"
#define SLOTS "slot vmid rptr wptr\n"

static struct gt_queue_hw hw(uint32_t queue, uint32_t pid, uint64_t base)
{
	struct gt_queue_hw q = { .gpu = 0,
				 .queue = queue,
				 .pid = pid,
				 .active = true,
				 .address = 0x17000,
				 .doorbell = 0x4020,
				 .base = base,
				 .size = 65536,
				 .rptr = GT_NONE64,
				 .wptr = 9,
				 .nslots = 2 };

	q.slot[0] = (struct gt_queue_slot){ 0, 1, 2, 8, 16, 32 };
	q.slot[1] = (struct gt_queue_slot){ 1, 0, 3, GT_NONE16, GT_NONE64, 5 };
	return q;
}

static void tell(const struct gt_queue_hw *q, size_t n)
{
	GT_MODEL_LOCK(app.model);
	gt_model_queues_hw(app.model, q, n);
}

static void test_shown(void)
{
	const struct gt_view other = { .uid = 2000, .visibility = GT_VIS_REDACTED };
	const struct gt_view own = { .uid = 1000, .visibility = GT_VIS_REDACTED };
	struct gt_queue_hw q = hw(7, 100, AT);
	struct gt_entry e;

	is(find(FILES "hqd", &root_view, &e), -ENOENT, "where nobody can tell there is no hqd");
	tell(NULL, 0);
	is_str(show(FILES "hqd", &root_view), "unavailable\n", "where it is not known it says so");
	is_str(show(FILES "mqd", &root_view), "unavailable\n", "nor the descriptor");
	tell(&q, 1);
	is_str(table(FILES "hqd", &own), SLOTS "0.1.2 8 16 32\n1.0.3 - - 5\n",
	       "slots, without what is not known");
	is_str(table(FILES "hqd", &other), SLOTS "0.1.2 - 16 32\n1.0.3 - - 5\n",
	       "without an address space for others, which says which queues are of one process");
	is_str(show(FILES "mqd", &own),
	       "active 1\nsize_bytes 65536\nwptr 9\naddress 0x17000\ndoorbell 0x4020\n"
	       "base 0x7f0000010000\n",
	       "the descriptor");
	is_str(show(FILES "mqd", &other), "active 1\nsize_bytes 65536\nwptr 9\n",
	       "without addresses for others");
	look_late = true;
	is_str(show(FILES "hqd", &root_view), "unavailable\n",
	       "what was reported before is not shown");
	is_str(show(FILES "mqd", &root_view), "unavailable\n", "nor of the descriptor");
	look_late = false;
	q.sdma = true;
	q.nslots = 1;
	tell(&q, 1);
	is_str(table(FILES "hqd", &root_view), SLOTS "sdma1.2 8 16 32\n", "of SDMA");
	q.nslots = 0;
	tell(&q, 1);
	is_str(table(FILES "hqd", &root_view), SLOTS, "one that is mapped nowhere");
	tell(NULL, 0);
	is_str(show(FILES "hqd", &root_view), "unavailable\n",
	       "what is reported replaces all before");
}

static void event(enum gt_type type, uint32_t id, uint64_t ctx, uint8_t flags)
{
	struct gt_folded f;
	union gt_record r;

	gt_record_init(&r, gt_model_now(app.model) + 1, type);
	r.ev.gpu = 0;
	r.ev.queue = id;
	r.ev.pid = 100;
	r.ev.uid = 1000;
	r.ev.ctx = ctx;
	r.ev.flags = flags;
	GT_MODEL_LOCK(app.model);
	gt_model_event(app.model, &r, &f);
	gt_model_done(app.model, &f);
	if (type != GT_QUEUE_CREATE)
		return;
	gt_record_init(&r, r.ev.ts, GT_QUEUE);
	r.queue.flags = flags;
	r.queue.gpu = 0;
	r.queue.queue = id;
	r.queue.pid = 100;
	r.queue.uid = 1000;
	r.queue.kind = GT_QUEUE_COMPUTE;
	r.queue.ctx = ctx;
	gt_model_event(app.model, &r, &f);
	gt_model_done(app.model, &f);
}

static void test_by_base(void)
{
	struct gt_queue_hw q = hw(GT_NONE32, 100, AT + 4096);
	struct gt_entry e;

	event(GT_QUEUE_CREATE, 20, AT + 4096, 0);
	event(GT_QUEUE_CREATE, 21, AT + 8192, GT_F_RUNTIME);
	tell(&q, 1);
	is_str(table("amdgpu0/queues/20/hqd", &root_view), SLOTS "0.1.2 8 16 32\n1.0.3 - - 5\n",
	       "a queue that is known by where its packets are");
	is_str(show(FILES "hqd", &root_view), "unavailable\n", "and no other");
	is(find("amdgpu0/queues/21/hqd", &root_view, &e), -ENOENT,
	   "what only a program's runtime says is at an address has none");
	q.pid = 101;
	tell(&q, 1);
	is_str(show("amdgpu0/queues/20/hqd", &root_view), "unavailable\n", "nor is it another's");
	q.pid = 100;
	q.base = GT_NONE64;
	tell(&q, 1);
	is_str(show("amdgpu0/queues/20/hqd", &root_view), "unavailable\n",
	       "nor one without address");
	q = hw(GT_NONE32, 100, AT + 4096);
	q.gpu = 1;
	tell(&q, 1);
	is_str(show("amdgpu0/queues/20/hqd", &root_view), "unavailable\n", "nor of another GPU");
	q = hw(20, 100, AT);
	tell(&q, 1);
	event(GT_QUEUE_DESTROY, 20, GT_NONE64, 0);
	is(find("amdgpu0/queues/20/hqd", &root_view, &e), -ENOENT, "one that ended has none");
	event(GT_QUEUE_CREATE, 20, AT + 4096, 0);
	is_str(show("amdgpu0/queues/20/hqd", &root_view), "unavailable\n",
	       "nor one that has its number since");
}

int main(void)
{
	make_machine();
	test_shown();
	test_by_base();
	free_machine();
	return done_testing();
}
