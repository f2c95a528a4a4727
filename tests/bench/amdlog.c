/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How fast a log of AMD's runtime is read, against the floor: finding the ends of its lines.
 *
 *	amdlog [MB]     a generated log of so many MB (64), as ROCm 7 writes it at level 4
 *	amdlog -c FILE  counts what it tells, for tests
 */
#include <time.h>

#include "../lib/amdhost.h"

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* One launch: what the runtime writes of it */
static int launch(char *buf, size_t len, unsigned long long us, unsigned int i)
{
	return snprintf(
		buf, len,
		":3:hip_module.cpp           :825 : %llu us: [pid:1234  tid: 0x7f0bd3392640] "
		"\033[32m hipLaunchKernel ( 0x201a40, {4,1,1}, {256,1,1}, 0x7ffd4fbe36a0, 0, "
		"stream:0xef26c0 ) \033[0m\n"
		":4:command.cpp              :357 : %llu us: [pid:1234  tid: 0x7f0bd3392640] "
		"Command (KernelExecution) enqueued: 0x564333fef350 to queue: 0x564331800a90\n"
		":3:rocvirtual.cpp           :3596: %llu us: [pid:1234  tid: 0x7f0bd3392640] "
		"ShaderName : void kernel%u<float, 256>(float*, int)\n"
		":4:rocvirtual.cpp           :1177: %llu us: [pid:1234  tid: 0x7f0bd3392640] "
		"SWq=0x7f0bd1848000, HWq=0x7f0ab9c00000, id=1, Dispatch Header = 0xb02 (type=2, "
		"barrier=1, acquire=1, release=1), setup=3, grid=[1024, 1, 1], workgroup=[256, 1, "
		"1], private_seg_size=0, group_seg_size=0, kernel_obj=0x7f0ab9a00100, "
		"kernarg_address=0x7f0ab9b00000, completion_signal=0x0, correlation_id=0, rptr=%u, "
		"wptr=%u\n"
		":3:hip_module.cpp           :826 : %llu us: [pid:1234  tid: 0x7f0bd3392640] "
		"hipLaunchKernel: Returned hipSuccess : : duration: 9 us\n",
		us, us + 1, us + 2, i % 100, us + 3, i - i % 4, i, us + 4);
}

static char *generate(size_t mb, size_t *len)
{
	size_t cap = mb << 20, used = 0;
	char *buf = malloc(cap + 4096);

	for (unsigned int i = 0; buf && used < cap; i++)
		used += (size_t)launch(buf + used, 4096, 48408751219ull + 10ull * i, i);
	*len = used;
	return buf;
}

enum how { FLOOR, LINES, MESSAGES, RECORDS, PROCESS };

static void tell(struct gt_amd_log *log, const struct gt_amd_item *item)
{
	gt_amd_log_line(log, item);
	if (log->count > GT_AMD_RECORDS / 2)
		log->head = log->count = 0;
}

static uint64_t run(enum how how, const char *p, size_t len, struct gt_amd_log *log)
{
	const char *end = p + len, *nl;
	struct gt_amd_head head = { .headed = false };
	struct gt_amd_item item;
	struct gt_amd_line line;
	struct gt_amd_msg m;
	uint64_t n = 0;

	for (; (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1) {
		n++;
		if (how == FLOOR)
			continue;
		if (how == RECORDS) {
			gt_amd_item(&head, p, (size_t)(nl - p), &item);
			tell(log, &item);
			continue;
		}
		n += gt_amd_line(p, (size_t)(nl - p), &line);
		if (how == MESSAGES)
			gt_amd_message(&line, &m);
	}
	return n;
}

/* As the daemon reads a file: the process takes its lines apart */
static uint64_t by_process(const char *p, size_t len, struct gt_amd_log *log)
{
	struct gt_amd_reader r = { .child = GT_SANDBOX_NONE };
	struct gt_amd_item item;
	uint64_t n = 0;

	for (const char *end = p + len; p < end;) {
		size_t most = (size_t)(end - p) < GT_AMD_BLOCK ? (size_t)(end - p) : GT_AMD_BLOCK;
		const char *nl = memrchr(p, '\n', most);

		if (!nl || gt_amd_read(&r, &log->line, p, most, false, false))
			break;
		for (; gt_amd_next(&r, &item); n++)
			tell(log, &item);
		p = nl + 1;
	}
	gt_amd_reader_end(&r);
	return n;
}

static int bench(size_t mb)
{
	static const char *const names[] = { "floor: memchr", "lines", "and messages",
					     "and records", "by the process" };
	struct ah *h = ah_new("", true);
	struct gt_amd a = { .p = &h->p };
	size_t len;
	char *text = generate(mb, &len);

	for (enum how how = FLOOR; text && how <= PROCESS; how++) {
		double best = 0;

		for (int i = 0; i < 5; i++) {
			struct gt_amd_log log;
			double began, mb_s;
			volatile uint64_t n;

			if (gt_amd_log_init(&log, &a))
				return 1;
			began = seconds();
			n = how == PROCESS ? by_process(text, len, &log)
					   : run(how, text, len, &log);
			mb_s = (double)len / 1e6 / (seconds() - began);
			best = mb_s > best ? mb_s : best;
			(void)n;
			gt_amd_log_free(&log);
		}
		printf("bench amdlog %-16s %8.0f MB/s\n", names[how], best);
	}
	free(text);
	free(a.numbers.free);
	ah_free(h);
	return 0;
}

static int count(const char *path)
{
	struct ah *h = ah_new(path, true);
	char text[4096];
	int ret = gt_amd_start(&h->p);

	for (text[0] = 0; ret >= 0; ret = gt_amd_drain(&h->p))
		gt_amd_doctor(&h->p, text, sizeof(text));
	gt_amd_doctor(&h->p, text, sizeof(text));
	printf("%s", text);
	for (int i = 0; i < 256; i++)
		if (h->types[i])
			printf("type_%d %llu\n", i, (unsigned long long)h->types[i]);
	printf("back %llu\nlast_error %s\n", (unsigned long long)h->back, h->error);
	ah_free(h);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "-c"))
		return count(argv[2]);
	return bench(argc > 1 ? (size_t)atoi(argv[1]) : 64);
}
