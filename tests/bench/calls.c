/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a system call costs that the kernel refuses at once: msync() with flags that there are not.
 * An event map makes its tracepoint a GPU event, or one of no interest, by the address. Or what an
 * ioctl costs whose argument is all zeroes.
 *
 *	calls COUNT [none|interest|jobs] [RATE]
 *				prints ns per call, the least of rounds of 1000; RATE: at most so
 * many a second, in one round. jobs: each third call is a submission, a hand-over or end of a job
 *	calls COUNT ioctl PATH COMMAND
 *				likewise
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUND 1000 /* calls: shorter than a turn of the scheduler */
#define BURST 100

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int fd = -1;
static unsigned long command;

static double ioctls(unsigned long count)
{
	uint64_t begin = now(), data[32] = { 0 };

	for (unsigned long i = 0; i < count; i++)
		ioctl(fd, command, data);
	return (double)(now() - begin) / (double)count;
}

static void job_call(uint64_t address, uint64_t n)
{
	if (n % 3 == 0)
		syscall(SYS_msync, address, n / 3, 8);
	else if (n % 3 == 1)
		syscall(SYS_mlock2, address, n / 3, 8);
	else
		syscall(SYS_sync_file_range, -1, address, n / 3, 8);
}

static double round_of(unsigned long count, uint64_t address, unsigned long rate, int jobs,
		       uint64_t *seqno)
{
	uint64_t begin = now();

	for (unsigned long i = 0; i < count; i++) {
		if (rate && !(i % BURST))
			while ((double)(now() - begin) * (double)rate / 1e9 < (double)i)
				usleep(200);
		if (jobs)
			job_call(address, ++*seqno);
		else
			syscall(SYS_msync, address, ++*seqno, 8);
	}
	return (double)(now() - begin) / (double)count;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	int jobs = argc > 2 && !strcmp(argv[2], "jobs");
	int interest = jobs || (argc > 2 && !strcmp(argv[2], "interest"));
	unsigned long rate = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	double best = 1e9, ns;
	/* processes after one another are not the same job's */
	uint64_t seqno = 3ull * (uint64_t)getpid() << 24;

	if (!count) {
		fprintf(stderr, "usage: calls COUNT [none|interest|jobs] [RATE] | COUNT ioctl PATH "
				"COMMAND\n");
		return 2;
	}
	if (argc == 5 && !strcmp(argv[2], "ioctl")) {
		rate = 0;
		fd = open(argv[3], O_RDWR | O_CLOEXEC);
		command = strtoul(argv[4], NULL, 0);
		if (fd < 0) {
			perror(argv[3]);
			return 1;
		}
	}
	for (unsigned long i = 0; i < count; i += rate ? count : ROUND) {
		ns = fd >= 0 ? ioctls(ROUND)
			     : round_of(rate ? count : ROUND,
					interest ? 0x4000000000000064ull : 4096, rate, jobs,
					&seqno);
		best = ns < best ? ns : best;
	}
	printf("%.1f\n", best);
	return 0;
}
