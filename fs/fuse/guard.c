/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Suspend. A kernel that goes to sleep freezes every process first, and one that waits for the
 * answer to a FUSE request cannot be frozen: it waits killably, whatever signal the freezer feigns.
 * The daemon cannot answer it either. The freezer reaches it in the same walk over all tasks, and a
 * thread that was reached does nothing more than end its system call. So a single parked read made
 * every suspend fail, after 20 s (Linux 6.1 and 6.12; FUSE is built so).
 *
 * What a thread may still do is end its system call, and io_submit(2) does many things in one. The
 * guard's thread sleeps in it: the first of its operations reads an eventfd that nobody writes to.
 * The freezer's feigned signal ends that read, as -EINTR, and io_submit goes on to the next
 * operations, which it takes from user memory one by one, when their turn comes: the answers,
 * EINTR, to all requests that wait now. Between the first and the others lies a delay, so that the
 * freezer has been at all tasks: a reader that was answered too early would be back with its next
 * read. A program that got EINTR without a signal reads again; coreutils, busybox and Python
 * do. While nobody suspends nothing runs here, and a read that is parked stores 8 bytes.
 *
 * The operations: wait; open the door; delay; the session's last request; each that is answered
 * later; then, in rounds with delays, whatever else lies in the session's queue.
 *
 * A daemon that is killed must answer nothing: its readers get the error of a crash. A killed
 * thread would run through its operations as well, but write(2) to a file fails for it: the second
 * operation writes the pointer to the third, and io_submit ends where it finds none.
 */
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "fuse.h"

/* A delay is a read of so many times so much of an empty file: no signal ends it early. */
#define DELAY_IOVS 1024
#define DELAY_LEN  (64U << 10)
#define DELAY_NS   4000000ULL /* of each; the freezer's walk over 10,000 tasks takes some ms */
#define DELAYS	   4
#define SLOTS	   8192 /* GT_Q_READS and GT_Q_OPENS of all, as far as there is room */
#define ROUNDS	   4
#define DRAIN	   32
/* libfuse's buffer has 1 MiB and a page; the kernel refuses to fill a smaller one */
#define MSG_MAX ((1U << 20) + (8U << 10))

enum {
	OP_WAIT,
	OP_DOOR,
	OP_DELAY,
	OP_LAST = OP_DELAY + DELAYS,
	OP_SLOT,
	TAIL = ROUNDS * (1 + 2 * DRAIN),
	OPS = OP_SLOT + SLOTS + TAIL,
};

#define SLOTS_MORE 64
#define SHARE	   64 /* a mount takes one in so many of the machine's AIO operations */
#define NO_SLOT	   GT_NONE32

#define DATA_WAIT  1
#define DATA_DRAIN 2 /* and above: index of the drained message */

/* A message that was taken from the session's queue and is still to be done */
struct taken {
	struct taken *next;
	size_t len;
	char msg[];
};

/*
 * struct gt_guard
 * @max: slots that the AIO context has room for
 * @list: what io_submit walks; the first bytes of @file
 * @file: memfd; behind the list it is empty, for the delay's reads
 */
struct gt_guard {
	struct gt_fs *fs;
	pthread_t thread;
	pthread_mutex_t lock; /* @nslots, @room and who has which */
	aio_context_t ctx;
	int wake, file;
	_Atomic bool ending;
	unsigned int nslots, room, max; /* of @room slots in @list; the tail lies behind */
	struct gt_guarded *owner[SLOTS];
	struct iocb **list;
	size_t list_len;
	struct iocb wait, door, delay, last, slot[SLOTS], idle, take[ROUNDS * DRAIN],
		give[ROUNDS * DRAIN];
	struct iovec delay_iov[DELAY_IOVS], last_iov[2], take_iov[ROUNDS * DRAIN][3];
	struct fuse_out_header answer[SLOTS], drained[ROUNDS * DRAIN], last_answer;
	struct iocb *first; /* behind the door */
	uint64_t count;
	int64_t waited;
	_Atomic(struct taken *) taken;
	_Atomic unsigned int rounds; /* how often it has answered, and is back from that */
	unsigned int rounds_seen;    /* by the session thread */
	char *msgs;		     /* ROUNDS * DRAIN of MSG_MAX, not in memory until used */
	char *scratch;
};

/* An answer to a request that there is none of: the kernel says ENOENT. */
#define NO_REQUEST (1ULL << 62)

static const struct fuse_out_header eintr = { .len = sizeof(eintr),
					      .error = -EINTR,
					      .unique = NO_REQUEST };

static struct iocb op(int fd, uint16_t opcode, const void *buf, size_t n, uint64_t off)
{
	return (struct iocb){
		.aio_fildes = (uint32_t)fd,
		.aio_lio_opcode = opcode,
		.aio_buf = (uint64_t)(uintptr_t)buf,
		.aio_nbytes = n,
		.aio_offset = (int64_t)off,
	};
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* How many of the parts take DELAY_NS: machines copy at 10 GB/s, emulated ones at 50 MB/s. */
static unsigned int delay_parts(struct gt_guard *g)
{
	uint64_t best = UINT64_MAX, since;

	for (int i = 0; i < 4; i++) {
		since = now_ns();
		if (pread(g->file, g->scratch, DELAY_LEN, (off_t)g->list_len) != DELAY_LEN)
			break;
		since = now_ns() - since;
		if (since < best)
			best = since;
	}
	best = DELAY_NS / (best ? best : 1);
	return best < 1 ? 1 : best > DELAY_IOVS ? DELAY_IOVS : (unsigned int)best;
}

static void make_first(struct gt_guard *g, int fuse)
{
	struct gt_fs *fs = g->fs;

	g->wait = op(g->wake, IOCB_CMD_PREAD, &g->count, sizeof(g->count), 0);
	g->wait.aio_data = DATA_WAIT;
	g->first = &g->delay;
	g->door = op(g->file, IOCB_CMD_PWRITE, &g->first, sizeof(g->first),
		     OP_DELAY * sizeof(*g->list));
	for (int i = 0; i < DELAY_IOVS; i++)
		g->delay_iov[i] = (struct iovec){ g->scratch, DELAY_LEN };
	g->delay = op(g->file, IOCB_CMD_PREADV, g->delay_iov, delay_parts(g), g->list_len);
	/* what the session read last, whether it has looked at it or not */
	g->last_answer = eintr;
	g->last_iov[0] =
		(struct iovec){ &g->last_answer, offsetof(struct fuse_out_header, unique) };
	g->last_iov[1] =
		(struct iovec){ (char *)fs->buf.mem + offsetof(struct fuse_in_header, unique),
				sizeof(uint64_t) };
	g->last = op(fuse, IOCB_CMD_PWRITEV, g->last_iov, 2, 0);
	g->idle = op(g->file, IOCB_CMD_PREAD, g->scratch, 0, 0);
}

/* A message is taken from the queue with its id going straight into the answer to it. */
static void make_drain(struct gt_guard *g, unsigned int i, int fuse)
{
	char *msg = g->msgs + (size_t)i * MSG_MAX;
	const size_t id = offsetof(struct fuse_in_header, unique), end = id + sizeof(uint64_t);

	g->drained[i] = eintr;
	g->take_iov[i][0] = (struct iovec){ msg, id };
	g->take_iov[i][1] = (struct iovec){ &g->drained[i].unique, sizeof(uint64_t) };
	g->take_iov[i][2] = (struct iovec){ msg + end, MSG_MAX - end };
	g->take[i] = op(fuse, IOCB_CMD_PREADV, g->take_iov[i], 3, 0);
	g->take[i].aio_data = DATA_DRAIN + i;
	g->give[i] = op(fuse, IOCB_CMD_PWRITE, &g->drained[i], sizeof(g->drained[i]), 0);
}

static void make_list(struct gt_guard *g, int fuse)
{
	struct iocb **at = g->list + OP_SLOT;

	make_first(g, fuse);
	g->list[OP_WAIT] = &g->wait;
	g->list[OP_DOOR] = &g->door;
	for (int i = 1; i < DELAYS; i++)
		g->list[OP_DELAY + i] = &g->delay;
	g->list[OP_LAST] = &g->last;
	for (unsigned int i = 0; i < ROUNDS * DRAIN; i++) {
		make_drain(g, i, fuse);
		*at++ = &g->take[i];
		*at++ = &g->give[i];
		if (i % DRAIN == DRAIN - 1)
			*at++ = &g->delay;
	}
}

/*
 * More slots, up to @max. Each unused one costs io_submit as much as a used one, so there are no
 * more than were needed once. At every moment of the move the list is whole: some of it is there
 * twice.
 */
static void make_room(struct gt_guard *g)
{
	struct iocb **tail = g->list + OP_SLOT + g->room;
	int fuse = fuse_session_fd(g->fs->se);

	for (unsigned int i = g->room; i < g->room + SLOTS_MORE; i++) {
		g->answer[i] = eintr;
		g->slot[i] = op(fuse, IOCB_CMD_PWRITE, &g->answer[i], sizeof(g->answer[i]), 0);
	}
	for (int i = TAIL - 1; i >= 0; i--)
		__atomic_store_n(&tail[i + SLOTS_MORE], tail[i], __ATOMIC_RELEASE);
	for (int i = 0; i < SLOTS_MORE; i++)
		__atomic_store_n(&tail[i], &g->idle, __ATOMIC_RELEASE);
	g->room += SLOTS_MORE;
}

/* A place for @r in the list; false: there is none. @g->lock held */
static bool take_slot(struct gt_guard *g, struct gt_guarded *r, uint64_t unique)
{
	unsigned int i;

	if (g->nslots == g->room && g->room < g->max)
		make_room(g);
	if (g->nslots == g->room)
		return false;
	i = g->nslots++;
	g->owner[i] = r;
	r->slot = i + 1;
	g->answer[i].unique = unique;
	__atomic_store_n(&g->list[OP_SLOT + i], &g->slot[i], __ATOMIC_RELEASE);
	return true;
}

/**
 * gt_guard_keep() - a request waits for its turn: for so short a time that no counter says so where
 *	the guard is full
 */
void gt_guard_keep(struct gt_fs *fs, struct gt_guarded *r, uint64_t unique)
{
	struct gt_guard *g = fs->guard;

	r->slot = 0;
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	take_slot(g, r, unique);
	pthread_mutex_unlock(&g->lock);
}

/**
 * gt_guard_add() - the request that is served now is answered later, or by the guard. It keeps the
 *	place that it had while it waited for its turn. Session thread
 */
void gt_guard_add(struct gt_fs *fs, struct gt_guarded *r)
{
	struct gt_guard *g = fs->guard;
	struct gt_guarded *kept = fs->serving_kept;

	r->slot = 0;
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	if (kept && kept->slot) {
		r->slot = kept->slot;
		g->owner[r->slot - 1] = r;
		kept->slot = 0;
	} else if (!take_slot(g, r, fs->serving)) {
		r->slot = NO_SLOT;
		atomic_fetch_add(&fs->app->no_slot, 1);
	}
	pthread_mutex_unlock(&g->lock);
}

/** gt_guard_del() - it has been answered: after, so that no moment finds it without an answerer */
void gt_guard_del(struct gt_fs *fs, struct gt_guarded *r)
{
	struct gt_guard *g = fs->guard;
	unsigned int i, last;

	if (!g || !r->slot)
		return;
	if (r->slot == NO_SLOT) {
		atomic_fetch_sub(&fs->app->no_slot, 1);
		r->slot = 0;
		return;
	}
	pthread_mutex_lock(&g->lock);
	i = r->slot - 1;
	last = --g->nslots;
	/* first there twice, then gone there */
	g->owner[i] = g->owner[last];
	g->owner[i]->slot = i + 1;
	__atomic_store_n(&g->answer[i].unique, g->answer[last].unique, __ATOMIC_RELEASE);
	__atomic_store_n(&g->list[OP_SLOT + last], &g->idle, __ATOMIC_RELEASE);
	r->slot = 0;
	pthread_mutex_unlock(&g->lock);
}

/* For the session thread; without memory something stays open until the end */
static void hand_over(struct gt_guard *g, const char *msg, size_t len)
{
	struct taken *t = malloc(sizeof(*t) + len);

	if (!t)
		return;
	t->len = len;
	memcpy(t->msg, msg, len);
	t->next = atomic_load(&g->taken);
	while (!atomic_compare_exchange_weak(&g->taken, &t->next, t))
		;
}

/*
 * What was taken from the queue: its caller got EINTR, so it is not done, but for what
 * ends something and has no caller. That is done by the session thread, which may still be at the
 * request that the kernel holds for answered. An interrupt has no caller either: it ends a read that
 * the session parked after the guard had answered those before.
 */
static void after_drain(struct gt_guard *g, unsigned int i, int64_t len)
{
	char *msg = g->msgs + (size_t)i * MSG_MAX;
	struct fuse_in_header *in = (struct fuse_in_header *)msg;

	if (len < (int64_t)sizeof(*in))
		return;
	in->unique = g->drained[i].unique;
	g->drained[i].unique = NO_REQUEST;
	if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET ||
	    in->opcode == FUSE_RELEASE || in->opcode == FUSE_RELEASEDIR ||
	    in->opcode == FUSE_INTERRUPT)
		hand_over(g, msg, (size_t)len);
	madvise(msg, MSG_MAX, MADV_DONTNEED);
}

/**
 * gt_guard_fired() - has the guard answered requests since the last call? Session thread
 *
 * It opens the door before it answers, and counts the round before it closes the door. So what the
 * kernel sends because a request has been answered always finds one of the two.
 */
bool gt_guard_fired(struct gt_fs *fs)
{
	struct gt_guard *g = fs->guard;
	unsigned int rounds;
	bool open;

	if (!g)
		return false;
	open = __atomic_load_n(&g->list[OP_DELAY], __ATOMIC_ACQUIRE);
	rounds = atomic_load(&g->rounds);
	if (rounds == g->rounds_seen)
		return open;
	g->rounds_seen = rounds;
	return true;
}

/** gt_guard_catch_up() - does what the guard took and may not do; session thread, between messages
 */
void gt_guard_catch_up(struct gt_fs *fs)
{
	struct taken *t = fs->guard ? atomic_exchange(&fs->guard->taken, NULL) : NULL, *next;

	if (t)
		gt_turns_check(fs);
	for (; t; t = next) {
		struct fuse_buf buf = { .mem = t->msg, .size = t->len };

		next = t->next;
		fuse_session_process_buf(fs->se, &buf);
		free(t);
	}
}

static void take_events(struct gt_guard *g)
{
	struct timespec none = { 0 };
	struct io_event ev[128];
	long n;

	g->waited = 0;
	while ((n = syscall(SYS_io_getevents, g->ctx, 0L, 128L, ev, &none)) > 0)
		for (long i = 0; i < n; i++) {
			if (ev[i].data == DATA_WAIT)
				g->waited = ev[i].res;
			else if (ev[i].data >= DATA_DRAIN)
				after_drain(g, (unsigned int)ev[i].data - DATA_DRAIN, ev[i].res);
		}
}

static void *guard_main(void *arg)
{
	struct gt_guard *g = arg;
	long n;

	do {
		n = syscall(SYS_io_submit, g->ctx, (long)OPS, g->list);
		atomic_fetch_add(&g->rounds, 1);
		__atomic_store_n(&g->list[OP_DELAY], NULL, __ATOMIC_RELEASE);
		take_events(g);
		/* should it be late for that, it does it after its next message */
		if (atomic_load(&g->taken))
			pthread_kill(g->fs->loop, SIGUSR1);
		/* back soon, before anybody suspends again: the notifier does what can wait */
		atomic_store(&g->fs->answered, true);
		gt_notify_wake(g->fs);
	} while (n > 0 && g->waited == -EINTR && !atomic_load(&g->ending));
	return NULL;
}

static void guard_free(struct gt_guard *g)
{
	struct taken *t;

	while ((t = g->taken)) {
		g->taken = t->next;
		free(t);
	}
	if (g->ctx)
		syscall(SYS_io_destroy, g->ctx);
	if (g->list)
		munmap(g->list, g->list_len);
	if (g->msgs)
		munmap(g->msgs, (size_t)ROUNDS * DRAIN * MSG_MAX + DELAY_LEN);
	if (g->file >= 0)
		close(g->file);
	if (g->wake >= 0)
		close(g->wake);
	free(g);
}

static int guard_maps(struct gt_guard *g)
{
	size_t len = (size_t)ROUNDS * DRAIN * MSG_MAX + DELAY_LEN;
	void *p;

	g->list_len = (OPS * sizeof(*g->list) + 4095) & ~4095UL;
	if (ftruncate(g->file, (off_t)(g->list_len + (size_t)DELAY_IOVS * DELAY_LEN)))
		return -errno;
	p = mmap(NULL, g->list_len, PROT_READ | PROT_WRITE, MAP_SHARED, g->file, 0);
	if (p == MAP_FAILED)
		return -errno;
	g->list = p;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	if (p == MAP_FAILED)
		return -errno;
	g->msgs = p;
	g->scratch = g->msgs + (size_t)ROUNDS * DRAIN * MSG_MAX;
	return 0;
}

/* The rest is for databases and other mounts: fs.aio-max-nr is 65536 by default */
static unsigned int max_slots(void)
{
	unsigned long long n = 0, least = OP_SLOT + TAIL + SLOTS_MORE;
	FILE *f = fopen("/proc/sys/fs/aio-max-nr", "re");

	if (f && fscanf(f, "%llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	n /= SHARE;
	n = n < least ? least : n > OPS ? OPS : n;
	return (unsigned int)(n - OP_SLOT - TAIL) / SLOTS_MORE * SLOTS_MORE;
}

static int guard_start(struct gt_guard *g)
{
	int fuse = fuse_session_fd(g->fs->se), err;
	sigset_t set, old;

	g->wake = eventfd(0, EFD_CLOEXEC);
	g->file = memfd_create("gputrace-suspend", MFD_CLOEXEC);
	if (g->wake < 0 || g->file < 0)
		return -errno;
	err = guard_maps(g);
	if (err)
		return err;
	make_list(g, fuse);
	g->max = max_slots();
	if (syscall(SYS_io_setup, OP_SLOT + g->max + TAIL, &g->ctx))
		return -errno;
	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, &old);
	err = pthread_create(&g->thread, NULL, guard_main, g);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/**
 * gt_guard_start() - from now on requests that wait do not keep the machine from suspending
 *
 * Called when the kernel's first message is being answered: that one must never be taken away.
 * Return: 0 or -errno: -EAGAIN if fs.aio-max-nr is used up, -ENOSYS where the kernel has no AIO
 */
int gt_guard_start(struct gt_fs *fs)
{
	struct gt_guard *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->fs = fs;
	g->wake = g->file = -1;
	pthread_mutex_init(&g->lock, NULL);
	err = guard_start(g);
	if (err)
		guard_free(g);
	else
		fs->guard = g;
	return err;
}

/** gt_guard_stop() - before the session's buffer goes */
void gt_guard_stop(struct gt_fs *fs)
{
	struct gt_guard *g = fs->guard;
	uint64_t one = 1;

	if (!g)
		return;
	atomic_store(&g->ending, true);
	g->list[OP_DOOR] = NULL;
	while (write(g->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(g->thread, NULL);
}

/** gt_guard_free() - when nothing is left that was guarded */
void gt_guard_free(struct gt_fs *fs)
{
	if (fs->guard)
		guard_free(fs->guard);
	fs->guard = NULL;
}
