/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plays GPU jobs without a GPU: functions for uprobes to stand in for the GPU scheduler's
 * tracepoints (tests/lib/uprobes.sh), and the truth about each call as CSV. With -m calls it makes
 * system calls instead, which the kernel refuses: their tracepoints are real (tests/lib/calls.sh).
 *
 *	mockjobs -n JOBS -r RINGS -p PROCESSES -d MAX_US -s SEED -m old|new|both|calls [-c CONTEXT] [-b]
 *		[-w] [-k] [-W] [-l FILE] [-o TRUTH.csv]
 *	mockjobs offsets	the functions' offsets in this file, for uprobe_events
 *
 * Each process submits its share of the jobs to rings taken at random; a thread per ring, in the
 * first process, hands them over in turn, waits a random time and completes them. With -b nobody
 * pauses between two jobs: the rings are full, and jobs are in flight at any time. With -w it
 * prints which processes will submit, and waits for a line before they do. With -k they stay when they
 * have submitted: it prints "played" once all jobs have ended and the truth is written, and ends with
 * them when its input does. With -W calls tell that each job is waited for: just before its end, or
 * just behind it. With -l one call is made at a time, of all programs that lock the same FILE: whoever
 * looks at them sees the same order. Truth, in the order of the calls' beginning, but for those:
 *
 *	call,ring,id,ctx,seqno,fence,pid,tid,before,after
 *
 * call: queue, run or done; times CLOCK_MONOTONIC in ns; the call was made between the two.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_RINGS     16
#define MAX_PROCESSES 64
#define DEPTH	      64 /* of a ring's queue */
#define FENCES	      (MAX_RINGS * DEPTH * 2)

/* The stand-ins. Their arguments are what the uprobes fetch, see tests/lib/uprobes.sh. ----------
 */

#if __has_attribute(noclone)
#define PROBE __attribute__((noinline, noclone, used, visibility("default")))
#else
#define PROBE __attribute__((noinline, used, visibility("default")))
#endif
#define KEEP __asm__ volatile("" ::: "memory")

PROBE void sched_job(uint64_t entity, uint64_t fence, const char *name, uint64_t id, uint32_t count,
		     int hw);
PROBE void run_job(uint64_t entity, uint64_t fence, const char *name, uint64_t id, uint32_t count,
		   int hw);
PROBE void process_job(uint64_t fence);
PROBE void job_queue(const char *dev, const char *name, uint64_t ctx, uint64_t seqno,
		     uint64_t client, uint32_t count);
PROBE void job_run(const char *dev, const char *name, uint64_t ctx, uint64_t seqno, uint64_t client,
		   uint32_t count);
PROBE void job_done(uint64_t ctx, uint64_t seqno);

void sched_job(uint64_t entity, uint64_t fence, const char *name, uint64_t id, uint32_t count,
	       int hw)
{
	KEEP;
}

void run_job(uint64_t entity, uint64_t fence, const char *name, uint64_t id, uint32_t count, int hw)
{
	KEEP;
}

void process_job(uint64_t fence)
{
	KEEP;
}

void job_queue(const char *dev, const char *name, uint64_t ctx, uint64_t seqno, uint64_t client,
	       uint32_t count)
{
	KEEP;
}

void job_run(const char *dev, const char *name, uint64_t ctx, uint64_t seqno, uint64_t client,
	     uint32_t count)
{
	KEEP;
}

void job_done(uint64_t ctx, uint64_t seqno)
{
	KEEP;
}

/* State, shared by the processes --------------------------------------------------------------- */

enum call { QUEUE, RUN, DONE };

struct job {
	uint64_t id, ctx, seqno, fence, entity, client;
	unsigned int ring;
};

struct truth {
	enum call call;
	struct job job;
	pid_t pid, tid;
	uint64_t before, after;
};

struct ring {
	pthread_mutex_t lock;
	pthread_cond_t more, room;
	struct job queue[DEPTH];
	unsigned int head, count, in_hw;
	uint64_t last_id;
	char name[16];
};

struct shared {
	struct ring ring[MAX_RINGS];
	pthread_mutex_t lock; /* of the fences */
	unsigned char fence_used[FENCES];
	unsigned int next_fence;
	atomic_size_t calls;
	struct truth truth[];
};

static struct shared *sh;
static unsigned int rings = 3, max_us = 200, processes = 2;
static unsigned long jobs = 300;
static uint64_t seed = 1, first_ctx = 100;
static int old_names = 1, new_names, calls, backlog, waits, keeps, waited_for;
static const char *lock_path;
static pid_t pid[MAX_PROCESSES]; /* who submit */
static const char *const device = "0000:03:00.0";

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint32_t rnd(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((*state >> 33) % below);
}

static void pause_us(uint64_t *state)
{
	uint32_t us = max_us ? rnd(state, max_us) : 0;

	if (us)
		nanosleep(&(struct timespec){ 0, (long)us * 1000 }, NULL);
}

/* Fence pointers are used again, as a kernel's are, but never for two jobs at a time. */
static uint64_t fence_get(void)
{
	unsigned int i;

	pthread_mutex_lock(&sh->lock);
	do
		i = sh->next_fence++ % FENCES;
	while (sh->fence_used[i]);
	sh->fence_used[i] = 1;
	pthread_mutex_unlock(&sh->lock);
	return 0xffff888012340000ull + 192ull * i;
}

static void fence_put(uint64_t fence)
{
	pthread_mutex_lock(&sh->lock);
	sh->fence_used[(fence - 0xffff888012340000ull) / 192] = 0;
	pthread_mutex_unlock(&sh->lock);
}

/* A context that no address of anybody's memory has, and flags that the kernel does not know. */
#define CALL_CTX(j)   (0x4000000000000000ull | (j)->ctx)
#define CALL_FLAGS(j) (8 + (j)->ring)

static void call_queue(const struct job *j, const char *name, unsigned int count)
{
	if (old_names)
		sched_job(j->entity, j->fence, name, j->id, count, (int)sh->ring[j->ring].in_hw);
	if (new_names)
		job_queue(device, name, j->ctx, j->seqno, j->client, count);
	if (calls)
		syscall(SYS_msync, CALL_CTX(j), j->seqno, CALL_FLAGS(j));
}

static void call_run(const struct job *j, const char *name, unsigned int count)
{
	if (old_names)
		run_job(j->entity, j->fence, name, j->id, count, 1);
	if (new_names)
		job_run(device, name, j->ctx, j->seqno, j->client, count);
	if (calls)
		syscall(SYS_mlock2, CALL_CTX(j), j->seqno, CALL_FLAGS(j));
}

static void call_done(const struct job *j)
{
	if (old_names)
		process_job(j->fence);
	if (new_names)
		job_done(j->ctx, j->seqno);
	if (calls)
		syscall(SYS_sync_file_range, -1, CALL_CTX(j), j->seqno, CALL_FLAGS(j));
}

static void wait_for(const struct job *j)
{
	if (calls && waited_for)
		syscall(SYS_munlock, CALL_CTX(j), j->seqno);
}

/* This thread's own: a lock of the file is its description's, which fork() shares. -1: none */
static int own_lock(void)
{
	static _Thread_local pid_t of;
	static _Thread_local int fd = -1;

	if (lock_path && of != getpid()) {
		of = getpid();
		fd = open(lock_path, O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

/* Makes one call, and notes the truth about it. */
static void make(enum call call, const struct job *j, unsigned int count)
{
	struct truth *t = &sh->truth[atomic_fetch_add(&sh->calls, 1)];
	const char *name = sh->ring[j->ring].name;
	int lock = own_lock();

	t->call = call;
	t->job = *j;
	t->pid = getpid();
	t->tid = gettid();
	if (lock >= 0)
		flock(lock, LOCK_EX);
	t->before = now();
	if (call == QUEUE)
		call_queue(j, name, count);
	else if (call == RUN)
		call_run(j, name, count);
	else
		call_done(j);
	t->after = now();
	if (lock >= 0)
		flock(lock, LOCK_UN);
}

/* A process that submits ----------------------------------------------------------------------- */

static void submit(struct job *j)
{
	struct ring *r = &sh->ring[j->ring];

	pthread_mutex_lock(&r->lock);
	while (r->count == DEPTH)
		pthread_cond_wait(&r->room, &r->lock);
	j->id = ++r->last_id;
	j->fence = fence_get();
	make(QUEUE, j, r->count);
	r->queue[(r->head + r->count++) % DEPTH] = *j;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
}

static void submitter(unsigned int nr)
{
	uint64_t state = seed * 1000 + nr, seqno[MAX_RINGS] = { 0 };
	unsigned long n = jobs / processes + (nr < jobs % processes);
	struct job j;

	for (; n; n--) {
		j = (struct job){ .ring = rnd(&state, rings), .client = 40 + nr };
		j.ctx = first_ctx + 2 * (nr * MAX_RINGS + j.ring);
		j.seqno = ++seqno[j.ring];
		j.entity = 0xffff888000100000ull + 256ull * (nr * MAX_RINGS + j.ring);
		submit(&j);
		if (!backlog)
			pause_us(&state);
	}
}

/* A ring ----------------------------------------------------------------------------------------
 */

static void *ring_thread(void *arg)
{
	struct ring *r = arg;
	uint64_t state = seed * 77 + (uint64_t)(r - sh->ring);
	struct job j;

	for (;;) {
		pthread_mutex_lock(&r->lock);
		while (!r->count)
			pthread_cond_wait(&r->more, &r->lock);
		j = r->queue[r->head];
		r->head = (r->head + 1) % DEPTH;
		r->count--;
		r->in_hw = 1;
		pthread_cond_signal(&r->room);
		pthread_mutex_unlock(&r->lock);
		if (!j.id)
			return NULL; /* the last one */
		make(RUN, &j, 0);
		pause_us(&state);
		if (j.seqno % 2)
			wait_for(&j);
		make(DONE, &j, 0);
		if (j.seqno % 2 == 0)
			wait_for(&j);
		fence_put(j.fence);
		r->in_hw = 0;
	}
}

static void end_ring(struct ring *r)
{
	pthread_mutex_lock(&r->lock);
	while (r->count == DEPTH)
		pthread_cond_wait(&r->room, &r->lock);
	r->queue[(r->head + r->count++) % DEPTH] = (struct job){ 0 };
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
}

/* Beginning and end -----------------------------------------------------------------------------
 */

static void set_up(void)
{
	size_t size = sizeof(*sh) + 3 * jobs * sizeof(struct truth);
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;

	sh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED) {
		perror("mockjobs: mmap");
		exit(1);
	}
	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
	pthread_condattr_init(&ca);
	pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&sh->lock, &ma);
	for (unsigned int i = 0; i < rings; i++) {
		pthread_mutex_init(&sh->ring[i].lock, &ma);
		pthread_cond_init(&sh->ring[i].more, &ca);
		pthread_cond_init(&sh->ring[i].room, &ca);
		snprintf(sh->ring[i].name, sizeof(sh->ring[i].name), i ? "comp_1.%u.0" : "gfx", i);
	}
}

static void announce(void)
{
	for (unsigned int i = 0; i < processes; i++)
		waitpid(pid[i], NULL, WUNTRACED);
	for (unsigned int i = 0; i < processes; i++)
		printf("%d\n", (int)pid[i]);
	fflush(stdout);
	while (getchar() != '\n' && !feof(stdin))
		;
	for (unsigned int i = 0; i < processes; i++)
		kill(pid[i], SIGCONT);
}

static void play(void)
{
	pthread_t thread[MAX_RINGS];

	/* Before there are threads: what is forked has none. They wait for the rings' first job. */
	for (unsigned int i = 0; i < processes; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also while it is stopped */
		if (waits)
			raise(SIGSTOP);
		submitter(i);
		if (keeps)
			raise(SIGSTOP);
		_exit(0);
	}
	if (waits)
		announce();
	for (unsigned int i = 0; i < rings; i++)
		pthread_create(&thread[i], NULL, ring_thread, &sh->ring[i]);
	for (unsigned int i = 0; i < processes; i++)
		while (waitpid(pid[i], NULL, keeps ? WUNTRACED : 0) < 0 && errno == EINTR)
			;
	for (unsigned int i = 0; i < rings; i++)
		end_ring(&sh->ring[i]);
	for (unsigned int i = 0; i < rings; i++)
		pthread_join(thread[i], NULL);
}

/* Who submitted goes when the input ends */
static void keep(void)
{
	puts("played");
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (unsigned int i = 0; i < processes; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct truth *x = a, *y = b;

	return x->before < y->before ? -1 : x->before > y->before;
}

static void write_truth(FILE *f)
{
	static const char *const names[] = { "queue", "run", "done" };
	size_t n = atomic_load(&sh->calls);

	qsort(sh->truth, n, sizeof(sh->truth[0]), by_time);
	fprintf(f, "call,ring,id,ctx,seqno,fence,pid,tid,before,after\n");
	for (size_t i = 0; i < n; i++) {
		const struct truth *t = &sh->truth[i];
		const struct job *j = &t->job;

		fprintf(f, "%s,%s,%llu,%llu,%llu,%llu,%d,%d,%llu,%llu\n", names[t->call],
			sh->ring[j->ring].name, (unsigned long long)j->id,
			(unsigned long long)j->ctx, (unsigned long long)j->seqno,
			(unsigned long long)j->fence, (int)t->pid, (int)t->tid,
			(unsigned long long)t->before, (unsigned long long)t->after);
	}
}

/* A uprobe is at an offset of the file: an address less that of its segment, plus where that is. */
static int print_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct {
		const char *name;
		uintptr_t at;
	} probes[] = {
		{ "sched_job", (uintptr_t)sched_job },	   { "run_job", (uintptr_t)run_job },
		{ "process_job", (uintptr_t)process_job }, { "job_queue", (uintptr_t)job_queue },
		{ "job_run", (uintptr_t)job_run },	   { "job_done", (uintptr_t)job_done },
	};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		for (size_t k = 0; k < sizeof(probes) / sizeof(probes[0]); k++)
			if (probes[k].at >= start && probes[k].at < start + ph->p_memsz)
				printf("%s 0x%llx\n", probes[k].name,
				       (unsigned long long)(probes[k].at - start + ph->p_offset));
	}
	return 1; /* the first is the program itself */
}

static int usage(void)
{
	fprintf(stderr, "usage: mockjobs [-n JOBS] [-r RINGS] [-p PROCESSES] [-d MAX_US] [-s SEED] "
			"[-m old|new|both|calls] [-c CONTEXT] [-b] [-w] [-k] [-W] [-l FILE] [-o "
			"TRUTH.csv]\n       "
			"mockjobs offsets\n");
	return 2;
}

static int options(int argc, char **argv, const char **truth)
{
	int c;

	while ((c = getopt(argc, argv, "n:r:p:d:s:m:c:bwkWl:o:")) != -1) {
		if (c == 'n')
			jobs = strtoul(optarg, NULL, 10);
		else if (c == 'r')
			rings = (unsigned int)atoi(optarg);
		else if (c == 'p')
			processes = (unsigned int)atoi(optarg);
		else if (c == 'd')
			max_us = (unsigned int)atoi(optarg);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (c == 'c')
			first_ctx = strtoull(optarg, NULL, 10);
		else if (c == 'b')
			backlog = 1;
		else if (c == 'w')
			waits = 1;
		else if (c == 'k')
			keeps = 1;
		else if (c == 'W')
			waited_for = 1;
		else if (c == 'l')
			lock_path = optarg;
		else if (c == 'o')
			*truth = optarg;
		else if (c == 'm') {
			calls = !strcmp(optarg, "calls");
			old_names = !calls && strcmp(optarg, "new") != 0;
			new_names = !calls && strcmp(optarg, "old") != 0;
		} else
			return -1;
	}
	return jobs && rings && rings <= MAX_RINGS && processes && processes <= MAX_PROCESSES &&
			       max_us < 1000000
		       ? 0
		       : -1;
}

int main(int argc, char **argv)
{
	const char *truth = NULL;
	FILE *f = stdout;

	if (argc == 2 && !strcmp(argv[1], "offsets"))
		return dl_iterate_phdr(print_offset, NULL) != 1;
	if (options(argc, argv, &truth))
		return usage();
	set_up();
	play();
	if (truth && !(f = fopen(truth, "w"))) {
		perror(truth);
		return 1;
	}
	write_truth(f);
	if (fclose(f))
		return 1;
	if (keeps)
		keep();
	return 0;
}
