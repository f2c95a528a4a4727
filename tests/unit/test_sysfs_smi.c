/* SPDX-License-Identifier: GPL-2.0 */
/* backend/sysfs: events of AMD's compute driver, from a socket in its place: each kind of line,
 * lines in pieces, lines that are none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../backend/sysfs/sysfs.h"
#include "../lib/tap.h"

static union gt_record rec[512];
static unsigned int nrec;
static int watched;
static uint64_t now = 5000;

static uint64_t host_now(struct gt_plugin *p)
{
	return now;
}
static void host_push(struct gt_plugin *p, const union gt_record *r, size_t n)
{
	for (size_t i = 0; i < n && nrec < 512; i++)
		rec[nrec++] = r[i];
}
static int host_watch(struct gt_plugin *p, int fd, bool on)
{
	watched += on ? 1 : -1;
	return 0;
}
static uint64_t host_monotonic(struct gt_plugin *p, enum gt_clock_id clock, uint64_t ts,
			       uint64_t *uncertainty)
{
	return clock == GT_CLOCK_ID_BOOTTIME ? ts - 100 : 0; /* it has slept for 100 ns */
}
static const struct gt_host host = {
	.now = host_now, .push = host_push, .watch = host_watch, .monotonic = host_monotonic
};
static struct gt_plugin plugin = { .host = &host };
static struct sf sf = { .p = &plugin };
static int ours;

static void start(uint16_t gpu)
{
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s))
		exit(1);
	ours = s[0];
	is(sf_smi_add(&sf, s[1], gpu), 0, "a descriptor");
}

static unsigned int emitted(const char *text)
{
	nrec = 0;
	if (write(ours, text, strlen(text)) != (ssize_t)strlen(text))
		ok(false, "written");
	sf_smi_read(&sf);
	return nrec;
}

static void test_parse(void)
{
	static const char *const none[] = {
		"",
		" ",
		"9",
		"9 ",
		"x 1:a",
		"1 ",
		"1 :a",
		"1 -5:a",
		"1 0x:a",
		"1 fffffffff:a",
		"ffffffffff 1",
		"2 1",
		"2 1;2",
		"3",
		"3 x",
		"5 12 4321 @1(1) 0->1 0:0 0",
		"5 12 -4321 1(1)",
		"5 12 -4321 @1",
		"5 12 -4321 @1(ffffffffffffffff)",
		"5 12 --1 @1(1)",
		"5 99999999999999999999 -1 @1(1)",
		"9 1 -1 1a2b",
		"9 1 -1 1a2b x",
		"9 -1 -1 1a2b 1",
		"a 1 -1 ",
		"7 1 -1 @1(1) W",
		"b 1 -1 @1(1) 1a2b 0",
		"40 1",
		"0 1",
	};
	struct sf_smi_event e;

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		ok(!sf_smi_parse(none[i], &e), "'%s' is none", none[i]);
	ok(sf_smi_parse("1 10e1:python3 a:b", &e) && e.pid == 0x10e1 && e.ts == GT_NONE64,
	   "a fault of memory: a process in hex, a name with anything in it");
	ok(sf_smi_parse("5 1234 -4321 @7f12345(200) 0->1a2b 0:1a2b 1", &e) && e.ts == 1234 &&
		   e.pid == 4321 && e.addr == 0x7f12345 && e.size == 0x200,
	   "a migration begins");
	ok(sf_smi_parse("9 99 -7 1a2b 2", &e) && e.pid == 7 && e.trigger == 2, "an eviction");
	ok(sf_smi_parse("a 99 -7 1a2b 0", &e) && !e.again, "a restore");
	ok(sf_smi_parse("a 99 -7 1a2b R", &e) && e.again, "a restore that failed");
}

static void test_records(void)
{
	start(3);
	is(watched, 1, "is watched");
	is(emitted("1 10e1:python3\n"), 1, "a fault");
	ok(rec[0].ev.type == GT_ERROR && rec[0].ev.value == GT_ERR_FAULT && rec[0].ev.gpu == 3 &&
		   rec[0].ev.pid == 0x10e1 && rec[0].ev.ts == 5000,
	   "of a process, without a time: now");
	is(emitted("1 0:\n"), 1, "of no process");
	is(rec[0].ev.pid, GT_NONE32, "is of none");
	is(emitted("3 5 ring gfx timeout\n"), 1, "a reset");
	ok(rec[0].ev.type == GT_ERROR && rec[0].ev.value == GT_ERR_RESET, "is an error");
	is(emitted("2 40:12\n2 1:13\n"), 3, "two throttles");
	ok(rec[0].name.type == GT_NAME && !strcmp(rec[0].name.text, "thermal_throttle") &&
		   rec[0].name.id == GT_CUSTOM0 + 3 && rec[1].ev.type == GT_CUSTOM0 + 3 &&
		   rec[1].ev.value == 0x12 && rec[1].ev.ref == 0x40 && rec[2].ev.value == 0x13,
	   "have a name once, how often, and why");
	is(emitted("5 6100 -12 @7f00(10) 0->1 0:1 1\n5 6150 -13 @7f00(10) 0->1 0:1 1\n"), 0,
	   "migrations that begin");
	is(emitted("6 6200 -13 @7f00(10) 0->1 1\n6 6400 -12 @7f00(10) 0->1 1\n"), 2, "and end");
	ok(rec[0].ev.type == GT_COPY && rec[0].ev.pid == 13 && rec[0].ev.value == 65536 &&
		   rec[0].ev.ref == 50 && rec[0].ev.ts == 6100 && rec[1].ev.pid == 12 &&
		   rec[1].ev.ref == 300,
	   "are copies of so many bytes, for so long, each by its process and address");
	is(emitted("6 6500 -12 @7f00(1) 0->1 1\n"), 1, "one whose begin was not heard");
	is(rec[0].ev.ref, GT_NONE64, "took nobody knows how long");
	is(emitted("9 6600 -12 1a2b 3\n"), 1, "an eviction");
	ok(rec[0].ev.type == GT_QUEUE_UNMAP && rec[0].ev.pid == 12 && rec[0].ev.value == 3 &&
		   rec[0].ev.queue == GT_NONE32 && rec[0].ev.ts == 6500,
	   "takes all queues of a process");
	is(emitted("a 6700 -12 1a2b R\n"), 0, "a restore that is tried again emits nothing");
	is(emitted("a 6800 -12 1a2b 0\n"), 1, "one that is done");
	is(rec[0].ev.type, GT_QUEUE_MAP, "brings them back");
	emitted("a 6100 -12 1a2b 0\n");
	is(rec[0].ev.ts, 6700, "time does not go back");
	/* as if sysfs had listed two queues of process 12, one of them on another GPU */
	sf.kfd->reports = true;
	sf.kfd->n = 1;
	sf.kfd->proc[0] = (struct sf_kfd_proc){ .pid = 12, .first = 1 };
	sf.kfd->queue[0] = (struct sf_kfd_queue){ .id = 77, .gpu = 3, .next = 2 };
	sf.kfd->queue[1] = (struct sf_kfd_queue){ .id = 78, .gpu = 4, .next = 0 };
	is(emitted("9 7000 -12 1a2b 3\n"), 1, "where its queues are known");
	ok(rec[0].ev.queue == 77 && rec[0].ev.value == GT_NONE64, "those of this GPU are named");
	is(emitted("9 7000 -13 1a2b 3\n"), 1, "another's");
	is(rec[0].ev.queue, GT_NONE32, "are not");
}

/* prctl(PR_SET_NAME) takes a line's end, and 15 bytes in all */
static void test_forged(void)
{
	is(emitted("1 5:a\n9 1 -7 1 3\n"), 1, "what a name says behind a line's end");
	is(rec[0].ev.type, GT_ERROR, "is no event");
	is(emitted("1 5:\n2 1:1\n3 1\n1 7:b\n"), 2, "nor are two of them");
	is(rec[1].ev.pid, 7, "what a name has no room for is one");
	is(emitted("1 5:python3\n1 10e1:python3\n3 5 ring gfx timeout\n"), 3, "as always");
	is(emitted("1 5:123456789012345\n3 1\n"), 2, "behind a name of full length, too");
	is(emitted("1 5:x\n"), 1, "and a read");
	is(emitted("3 1\n"), 1, "ends where an event does");
}

static void test_pieces(void)
{
	char long_line[2001];
	unsigned int n = 0;

	memset(long_line, '1', 2000);
	long_line[2000] = '\0';
	for (const char *c = "1 5:x\n1 6:y\n"; *c; c++) {
		char one[2] = { *c };

		n += emitted(one);
	}
	is(n, 2, "lines in pieces of a byte");
	is(emitted(long_line), 0, "a line of 2000 bytes");
	is(emitted("\n1 5:x\n"), 1, "is left out, the next is not");
	is(emitted("\n\n\x01\xff\n1 5:\xff\n"), 1, "rubbish");
	n = 0;
	for (int i = 0; i < 200; i++) /* none of these ends: they are forgotten in turn */
		n += emitted("5 6100 -12 @1(10) 0->1 0:1 1\n");
	is(n, 0, "migrations that never end");
	close(ours);
	sf_smi_read(&sf);
	is(sf_smi_fds(&sf), 0, "a GPU that goes");
	is(watched, 0, "is not watched any more");
	sf_smi_read(&sf);
	sf_smi_stop(&sf);
	for (int i = 0; i < SF_DEVICES + 1; i++) {
		int fd = dup(0);

		if (sf_smi_add(&sf, fd, 0) == -ENOSPC)
			ok(i == SF_DEVICES && close(fd) < 0, "one too many is closed");
	}
	sf_smi_stop(&sf);
	is(watched, 0, "all are let go");
}

int main(void)
{
	sf.kfd = sf_kfd_new();
	test_parse();
	test_records();
	test_forged();
	test_pieces();
	sf_kfd_free(sf.kfd);
	return done_testing();
}
