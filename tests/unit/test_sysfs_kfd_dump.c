/* SPDX-License-Identifier: GPL-2.0 */
/* backend/sysfs: queues that AMD's compute driver lists, and what its dumps say of them. */
#include "../../backend/sysfs/sysfs.h"
#include "kfdbed.h"

/* A process's queues as the driver dumps them, the last first: device and where the packets are */
static void dump(int pid, int n, const char *const gpu[], const unsigned int base[])
{
	char path[512];
	FILE *f;

	shell("mkdir -p sys/kernel/debug/kfd");
	snprintf(path, sizeof(path), "%s/sys/kernel/debug/kfd/mqds", top);
	f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "Process %d PASID 0x8002:\n", pid);
	for (int i = 0; i < n; i++)
		fprintf(f,
			"  Compute queue on device %s\n    00000000: c0310800 00000000\n"
			"    00000200: 00000000 00000000 00000001 00000003 00000000 00000000 "
			"00000000 00000000\n"
			"    00000220: %08x 0000007f 00000000 00000000 00000000 00000000 00000000 "
			"00000000\n"
			"    00000240: 00000000 0000000f 00000000\n",
			gpu[i], base[i]);
	fclose(f);
}

/* The list lacks the address of a queue's packets; the dump of descriptors has it. */
static void test_places(void)
{
	static const char *const a[] = { "64", "64" }, *const b[] = { "65", "64" };
	static const unsigned int at[] = { 0x2222, 0x1111 };
	const union gt_record *last;
	struct sf sf;

	make_queue(30, 0, "100", "0", "262144");
	open_sf(&sf);
	is(look(&sf), 1, "a queue with an unknown place");
	ok(first(GT_QUEUE)->queue.ctx == GT_NONE64, "… nor where its packets are");
	make_queue(30, 1, "100", "0", "262144");
	dump(30, 2, b, at);
	sf.kfd->place_due = 0;
	is(look(&sf), 2, "a dump of other queues");
	is(sf.kfd->stats.placed, 0, "… has none");
	dump(30, 2, a, at);
	sf.kfd->unplaced = true;
	sf.kfd->place_due = 0;
	is(look(&sf), 2, "one of these has both");
	last = &rec[1];
	ok(first(GT_QUEUE)->queue.ctx + last->queue.ctx ==
			   2 * (0x7full << 40) + (0x1111ull << 8) + (0x2222ull << 8) &&
		   last->queue.pid == 30 && last->queue.type == GT_QUEUE,
	   "… where their packets are");
	ok((sf.kfd->queue[0].ino < sf.kfd->queue[1].ino) ==
		   (sf.kfd->queue[0].base < sf.kfd->queue[1].base),
	   "the one that was made last comes first");
	sf.kfd->unplaced = true;
	sf.kfd->place_due = 0;
	is(look(&sf), 0, "which is reported once");
	sf.kfd->queue[0].base = sf.kfd->queue[1].base = 0;
	sf.kfd->unplaced = true;
	sf.kfd->place_due = UINT64_MAX;
	is(look(&sf), 0, "the dump is not read more often than it may be");
	shell("mkdir -p sys/devices/d1/power && echo suspended "
	      ">sys/devices/d1/power/runtime_status");
	sf.kfd->place_due = 0;
	is(look(&sf), 0, "nor while a GPU sleeps");
	sf.kfd->place_due = 0;
	shell("rm -r sys/devices/d1/power");
	is(look(&sf), 2, "but when it is awake");
	close_sf(&sf);
	shell("rm -r " PROC "/30 sys/kernel");
}

static void another_queue(void)
{
	shell("rm -r " PROC "/30/queues/0");
	make_queue(30, 1, "100", "0", "262144");
}

static void another_queue_later(void)
{
	meanwhile = another_queue;
}

/* One queue is there before the dump, another like it in the dump */
static void test_places_meanwhile(void)
{
	static const char *const gpu[] = { "64" };
	static const unsigned int at[] = { 0x3333 };
	struct sf sf;

	make_queue(30, 0, "100", "0", "262144");
	make_queue(31, 0, "100", "0", "262144");
	open_sf(&sf);
	look(&sf);
	dump(30, 1, gpu, at);
	make_queue(31, 1, "100", "0", "262144");
	sf.kfd->unplaced = true;
	sf.kfd->place_due = 0;
	meanwhile = another_queue_later; /* when 30's queues have been looked at, and 31's are */
	sf_kfd_find_places(&sf);
	ok(sf.kfd->stats.placed == 0 && sf.kfd->unplaced,
	   "what changed while it was dumped is not believed");
	sf.kfd->place_due = 0;
	sf_kfd_find_places(&sf);
	is(sf.kfd->stats.placed, 1, "but when it is the same again");
	close_sf(&sf);
	shell("rm -r " PROC "/30 " PROC "/31 sys/kernel");
}

static char table[GT_BACKEND_TEXT_MAX];

static const char *show(struct sf *sf)
{
	plugin.priv = sf;
	sf->kfd->table_due = 0;
	sf_kfd_show(&plugin, table, sizeof(table));
	return table;
}

#define RING "    00000000: 00000025 41b52000 0000007f\\n"

static void test_slots(void)
{
	static const char mqds[] = "printf 'Process %d PASID 1:\\n  SDMA queue on device 64\\n" RING
				   "' >>sys/kernel/debug/kfd/mqds";
	struct sf sf;

	shell("mkdir -p sys/kernel/debug/kfd && printf 'Node 1, gpu_id 64:\\n  SDMA Engine 1, RLC "
	      "0\\n" RING "' >sys/kernel/debug/kfd/hqds");
	shell(mqds, 10);
	open_sf(&sf);
	ok(strstr(show(&sf), "100 10 - sdma 1 - - 0x7f41b5200000 1048576 - - sdma1.0\n"),
	   "a slot belongs to the process that has its ring");
	shell(mqds, 11);
	show(&sf);
	ok(strstr(table, "100 10 - sdma 1 - - 0x7f41b5200000 1048576 - - -\n") &&
		   strstr(table, "\n100 11 - sdma 1 - - 0x7f41b5200000 1048576 - - -\n") &&
		   strstr(table, "\n100 - - sdma 1 - - 0x7f41b5200000 1048576 - - sdma1.0\n"),
	   "of two that have one at the same address the owner is unknown");
	sf.kfd->table_due = UINT64_MAX;
	sf_kfd_hw_begin(&sf);
	is(placed, 0, "a new scan: earlier places are not known any more");
	ok(sf_kfd_hw_look(&sf) && placed == 2, "so it is read again at once");
	shell("d=sys/class/kfd/kfd/topology/nodes/3 && mkdir $d && echo 102 >$d/gpu_id");
	rounds = 0;
	is_str(show(&sf), "unavailable\n", "a GPU that came since may sleep: it is not woken");
	ok(rounds == 1 && !placed, "nobody knows then where queues are");
	for (int i = 0; i < 3; i++) {
		sf.kfd->asleep_until = i == 1 ? 0 : UINT64_MAX;
		show(&sf);
	}
	is(rounds, 1, "which is reported once");
	shell("mv sys/class/kfd/kfd/topology/nodes/3 nodes3");
	is_str(show(&sf), "unavailable\n", "for a moment it is not asked again");
	sf.kfd->asleep_until = 0;
	ok(strstr(show(&sf), "sdma1.0\n") && rounds == 2, "then it is");
	shell("mv nodes3 sys/class/kfd/kfd/topology/nodes/3");
	close_sf(&sf);
	shell("rm -r sys/kernel sys/class/kfd/kfd/topology/nodes/3");
}

static void test_bounds(void)
{
	struct sf sf;

	shell("mkdir -p sys/kernel/debug/kfd && cd sys/kernel/debug/kfd && "
	      "{ echo Process 10 PASID 1: && for i in $(seq 300); do printf '  SDMA queue on "
	      "device "
	      "64\\n" RING "'; done && echo Process 11 PASID 1: && printf '  SDMA queue on device "
	      "65\\n" RING "'; } >mqds && echo Node 1, gpu_id 64: >hqds");
	open_sf(&sf);
	sf_kfd_hw_begin(&sf);
	ok(strstr(show(&sf), "101 11 "), "one process's queues leave room for others'");
	is(placed, SF_ROWS / SF_SHARE + 1, "it has its share");
	is(sf.kfd->stats.dump_cut, 300 - SF_ROWS / SF_SHARE, "what it has more is counted");
	shell("yes | head -c 9000000 >>sys/kernel/debug/kfd/hqds");
	sf.kfd->stats.dump_cut = 0;
	is_str(show(&sf), "unavailable\n", "slots of which only some were read");
	is(placed, 0, "nobody knows then");
	is(sf.kfd->stats.dump_cut, 300 - SF_ROWS / SF_SHARE + 1, "which is counted");
	close_sf(&sf);
	shell("rm -r sys/kernel");
}

int main(void)
{
	if (!top_make())
		return 1;
	make_gpus();
	test_places();
	test_places_meanwhile();
	test_slots();
	test_bounds();
	top_drop();
	return done_testing();
}
