/* SPDX-License-Identifier: GPL-2.0 */
/* backend/sysfs: dumps of queues, of older and newer drivers, cut and made up. */
#include <stdlib.h>
#include <string.h>

#include "../../backend/sysfs/sysfs.h"
#include "../lib/tap.h"

static struct sf_dumped got[16];
static unsigned int n;

static void on(void *arg, const struct sf_dumped *q)
{
	if (n < 16)
		got[n] = *q;
	n++;
}

static struct sf_dump_about about;

static unsigned int parse(const char *text)
{
	n = 0;
	memset(got, 0, sizeof(got));
	about = (struct sf_dump_about){ .bad = 0 };
	return sf_dump_parse(text, on, NULL, &about);
}

static void test_lines(void)
{
	struct sf_hw hw;

	is(parse("Process 12 PASID 0x8002:\n  Compute queue on device f7bc\n"
		 "    00000000: c0310800 00000000\n"
		 "    00000200: 017ba000 00000001 00000001 00000003 40005301 00000001 00000007 "
		 "00000111\n"
		 "    00000220: 41b52000 0000007f 00000010 c1576080 00007f61 c1576038 00007f61 "
		 "00004022\n"
		 "    00000240: 00000000 14014511 00000000\n"
		 "    000002c0: 00002000 00ba6000 00000000 00000000 00000000 00000001 00000020 "
		 "00000001\n"
		 "    00000200: 11111111 00000000 00000000\n"
		 "  DIQ on device f7bc\n    00000000: 00000001\n"),
	   0, "descriptors of a process");
	is(n, 2, "two of them");
	ok(got[0].kind == SF_DUMP_MQD && got[0].pid == 12 && got[0].gpu_id == 0xf7bc, "of whom");
	ok(sf_dump_hw(&got[0], &hw) && hw.active && hw.mqd == 0x1017ba000 &&
		   hw.vmid == UINT64_MAX && hw.doorbell == 0x4020 && hw.base == 0x7f41b5200000 &&
		   hw.size == 1 << 20 && hw.rptr == 0x10 && hw.wptr == 0x100000020,
	   "what it says; of several compute parts' the first");
	ok(got[1].kind == SF_DUMP_MQD_OTHER && !sf_dump_hw(&got[1], &hw), "the driver's own");
	is(parse("Node 2, gpu_id f7bc:\n  HIQ on MEC 2 Pipe 0 Queue 1\n    0000c914: 00000000\n"
		 "  CP Pipe 1, Queue 3\n    0000c914: 00000000 00000000 00000001 00000404\n"
		 " Inst 5,  CP Pipe 0, Queue 2\n  SDMA Engine 3, RLC 7\n    00004e40: 03060025\n"),
	   0, "slots, of a driver that knows of one compute part and of a later one");
	is(n, 4, "four");
	ok(got[0].kind == SF_DUMP_HIQ && got[0].mec == 2 && got[0].queue == 1, "the driver's own");
	ok(got[1].kind == SF_DUMP_HQD && got[1].inst == 0 && got[1].pipe == 1 &&
		   got[1].queue == 3 && sf_dump_hw(&got[1], &hw) && hw.active && hw.vmid == 4 &&
		   hw.doorbell == UINT64_MAX && hw.base == UINT64_MAX && hw.size == UINT64_MAX &&
		   hw.wptr == UINT64_MAX,
	   "what is not in the dump is not known");
	ok(got[2].inst == 5 && !got[2].have && !sf_dump_hw(&got[2], &hw), "without registers");
	ok(got[3].kind == SF_DUMP_HQD_SDMA && got[3].pipe == 3 && got[3].queue == 7 &&
		   sf_dump_hw(&got[3], &hw) && hw.active && hw.size == 1 << 20,
	   "of SDMA");
}

static void test_hostile(void)
{
	static const char *const none[] = {
		"x\n",
		"Process -1 PASID 1:\n",
		"Process 99999999999 PASID 1:\n",
		"Node 2, gpu_id :\n",
		"  Compute queue on device \n",
		" Inst 0 CP Pipe 0, Queue 2\n",
		"  SDMA Engine , RLC 0\n",
		"    00000000: 00000000\n", /* of nothing */
	};
	char *text;
	struct sf_hw hw;

	is(parse(""), 0, "nothing");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		ok(parse(none[i]) == 1 && !n, "'%.*s' is no line of a dump",
		   (int)strcspn(none[i], "\n"), none[i]);
	parse("  Compute queue on device f7bc\n    00000000: deadbeef\n    00000208: 00000001\n");
	ok(got[0].kind == SF_DUMP_MQD_OTHER, "a descriptor of another layout is not read");
	parse("  Compute queue on device 1\n    fffffffc: 00000001 00000001 00000001\n"
	      "    00000201: 00000001\n    000002e0: 00000001\n    00000: 1\n    0000000g: 1\n");
	is(got[0].have, 0, "nor words that are elsewhere");
	parse("  CP Pipe 0, Queue 0\n    fffffff8: 00000001 00000001 00000001 00000001\n");
	ok(got[0].have == 3 && !sf_dump_hw(&got[0], &hw), "an address that runs over is none");
	parse("  SDMA Engine 0, RLC 0\n    00000000: ffffffff ffffffff ffffffff ffffffff "
	      "ffffffff\n");
	ok(sf_dump_hw(&got[0], &hw) && hw.size == UINT64_MAX && hw.wptr == UINT64_MAX,
	   "a size of 2^31 words is none");
	text = malloc((1 << 20) + 1);
	memset(text, '0', 1 << 20);
	text[1 << 20] = '\0';
	memcpy(text, "  CP Pipe 0, Queue 0\n    00000000:", 34);
	ok(!parse(text) || n <= 1, "a line of 1 MB");
	free(text);
}

static void test_owners(void)
{
	parse("Process 12 PASID 1:\n  SDMA queue on device 1\nNode 2, gpu_id f7bc:\n"
	      "  SDMA Engine 3, RLC 7\n");
	ok(n == 2 && got[0].pid == 12 && !got[1].pid,
	   "a slot is of no process, whatever is before it");
	is(parse("Process 12 PASID 1:\nProcess 4294967294 PASID 1:\n  SDMA queue on device 1\n"), 1,
	   "a process that there cannot be");
	ok(n == 1 && !got[0].pid, "what is below it is not of the one before");
}

/* Lines of the kernel's log between those of a dump, as a terminal has them; other ends of lines */
static void test_mixed(void)
{
	static const char queue[] =
		"  Compute queue on device f7bc\n    00000000: c0310800 00000000\n";

	is(parse("Process 12 PASID 1:\n[  12.3] amdgpu: Process information: process x\nProcess x "
		 "died\n"
		 "  SDMA queue on device 1\n"),
	   2, "two lines are none");
	ok(n == 1 && got[0].pid == 12 && about.first_bad == 2, "and change nobody's process");
	is(parse("Process 12 PASID 1:\nProcess 13 PAS\n  SDMA queue on device 1\n"), 1,
	   "a damaged one");
	ok(n == 1 && !got[0].pid, "does: its owner is unknown");
	is(parse("  SDMA queue on device 1\n    00000000: 00000001\n[ 1.2] usb\n    00000004: "
		 "00000002\n"),
	   1, "one within a queue");
	ok(n == 1 && got[0].have == 3 && got[0].word[1] == 2, "does not end it");
	is(parse("  SDMA queue on device 1\n    00000000: 00000001\n  SDMA queue on dev\n    "
		 "00000000: "
		 "00000003\n    00000004: 00000002\n"),
	   3, "but if its registers begin anew");
	ok(n == 1 && got[0].have == 1, "they are another's");
	is(parse("\xef\xbb\xbfProcess 12 PASID 1:\r\n  SDMA queue on device 1\r\n    00000000: "
		 "00000001 "
		 "00000002\r\n\r\n"),
	   0, "with CR and a byte order mark");
	ok(n == 1 && got[0].pid == 12 && got[0].have == 3, "the same");
	parse("Node 3, gpu_id f05b:\nNode 2, gpu_id f7bc:\n SDMA Engine 0, RLC 0\nNode 3, gpu_id "
	      "f05b:\n");
	ok(about.ngpus == 2 && about.gpu[0] == 0xf05b && about.gpu[1] == 0xf7bc,
	   "GPUs without a queue are named");
	ok(sf_dump_begins(queue, strlen(queue)), "a dump may begin with a queue");
}

static bool begins(const char *text)
{
	return sf_dump_begins(text, strlen(text));
}

static void test_begins(void)
{
	char text[64 * 4 + 32] = "";

	ok(begins("Process 12 PASID 0x8002:\n") && begins("\n# saved\nNode 2, gpu_id f7bc:\n x"),
	   "a dump is known by its first lines");
	ok(!begins("Node 2, gpu_id f7bc:") && !begins("") && !begins("a Process 12 PASID 1:\n") &&
		   !begins("Process 2147483648 PASID 1:\n"),
	   "not by less");
	for (int i = 0; i < 64; i++)
		strcat(text, "x y\n");
	ok(!begins(strcat(text, "Node 2, gpu_id f7bc:\n")), "nor by what comes late");
}

/* Each byte of a dump made another, and each length of it: nothing but what the bounds allow */
static void test_mutations(void)
{
	static const char whole[] =
		"Process 12 PASID 0x8002:\n  Compute queue on device f7bc\n"
		"    00000000: c0310800 00000000\n    00000200: 017ba000 00000001 00000001\n"
		"Node 2, gpu_id f7bc:\n Inst 0,  CP Pipe 1, Queue 3\n    0000c914: 00000000\n"
		"  SDMA Engine 3, RLC 7\n    00004e40: 03060025 00000000 0000007f\n";
	static const char bytes[] = "0f:\n ,\x01\xff-x";
	char text[sizeof(whole)];
	unsigned int most = 0, lines = 0, bad;
	struct sf_hw hw;

	for (size_t at = 0; at < sizeof(whole) - 1; at++) {
		for (size_t b = 0; b < sizeof(bytes); b++) { /* a NUL, too */
			memcpy(text, whole, sizeof(whole));
			text[at] = bytes[b];
			bad = parse(text);
			lines = bad > lines ? bad : lines;
			most = n > most ? n : most;
			for (unsigned int i = 0; i < n && i < 16; i++)
				sf_dump_hw(&got[i], &hw);
		}
	}
	ok(most <= 4 && lines <= 6, "whatever one byte is: %u queues, %u bad lines at most", most,
	   lines);
}

int main(void)
{
	test_lines();
	test_hostile();
	test_owners();
	test_mixed();
	test_begins();
	test_mutations();
	return done_testing();
}
