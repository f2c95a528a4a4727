// SPDX-License-Identifier: GPL-2.0
/*
 * Makes ioctls as programs on a GPU do, where there is none: gpuioctl COMMAND...
 *
 *	call PATH COUNT THREADS CMD...	COUNT rounds of these ioctls in each of THREADS;
 *					stays until its input ends
 *	tricks PATH			descriptors that are none, or not for long
 *	queues PATH			does what the letters of its input say, see queue_step()
 *	wait PATH MS			one AMDGPU_WAIT_CS of MS
 *	serve DIR			mounts a file "gpu" on DIR whose ioctls succeed
 *
 * PATH may be a device node without a driver: it is opened with O_PATH, so that its number is in
 * the descriptor table, and ioctl() fails with EBADF. The file of "serve" is opened for good.
 */
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Layouts of include/uapi/linux/kfd_ioctl.h and drm/amdgpu_drm.h, as far as they are looked at */
struct create {
	uint64_t ring, unused[3];
	uint32_t ring_size, gpu_id, type, percentage, priority, queue_id;
	uint64_t more[5];
};
struct destroy {
	uint32_t queue_id, pad;
};
struct update {
	uint64_t ring;
	uint32_t queue_id, ring_size, percentage, priority;
};
struct userq {
	uint32_t op, queue_id, ip_type, doorbell, offset, flags;
	uint64_t va, size, more[4];
};
#define CREATE_QUEUE  _IOWR('K', 0x02, struct create)
#define DESTROY_QUEUE _IOWR('K', 0x03, struct destroy)
#define UPDATE_QUEUE  _IOW('K', 0x07, struct update)
#define USERQ	      _IOWR('d', 0x56, struct userq)
#define WAIT_CS	      _IOWR('d', 0x49, uint64_t)

static int die(const char *what)
{
	fprintf(stderr, "gpuioctl: %s: %s\n", what, strerror(errno));
	return 1;
}

static int open_gpu(const char *path)
{
	struct stat st;

	return open(path, stat(path, &st) || S_ISREG(st.st_mode) ? O_RDWR : O_PATH);
}

/* The server ------------------------------------------------------------------------------------
 */

static int gpu_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	bool top = !strcmp(path, "/");

	if (!top && strcmp(path, "/gpu") != 0)
		return -ENOENT;
	st->st_mode = top ? S_IFDIR | 0755 : S_IFREG | 0666;
	st->st_nlink = 1;
	return 0;
}

/* Makes queue 1, always: numbers are used again */
static int gpu_ioctl(const char *path, unsigned int cmd, void *arg, struct fuse_file_info *fi,
		     unsigned int flags, void *data)
{
	struct userq *u = data;

	switch (cmd) {
	case CREATE_QUEUE:
		((struct create *)data)->queue_id = 1;
		return 0;
	case USERQ:
		if (u->op == 1)
			u->op = 1;
		return 0;
	case WAIT_CS:
		/* a signal comes when who waits is killed */
		return usleep((useconds_t)(*(uint64_t *)data * 1000)) ? -errno : 0;
	default:
		return 0;
	}
}

static void *gpu_init(struct fuse_conn_info *conn, struct fuse_config *cfg)
{
	cfg->intr = 1;
	cfg->intr_signal = SIGUSR1;
	return NULL;
}

static void interrupted(int sig)
{
}

static int serve(const char *dir)
{
	const struct sigaction act = { .sa_handler = interrupted };
	static const struct fuse_operations ops = { .init = gpu_init,
						    .getattr = gpu_getattr,
						    .ioctl = gpu_ioctl };
	char *argv[] = { "gpuioctl", "-oallow_other", (char *)dir, NULL };

	sigaction(SIGUSR1, &act, NULL); /* libfuse asks for it in init(), and has no handler yet */
	return fuse_main(3, argv, &ops, NULL);
}

/* Who calls -------------------------------------------------------------------------------------
 */

struct calls {
	int fd;
	unsigned long count, cmd[16];
	unsigned int n;
};

static void *call_thread(void *arg)
{
	const struct calls *c = arg;
	uint64_t data[32] = { 0 };

	for (unsigned long i = 0; i < c->count; i++)
		for (unsigned int k = 0; k < c->n; k++)
			ioctl(c->fd, c->cmd[k], data);
	return NULL;
}

static int call(int fd, char **argv)
{
	struct calls c = { .fd = fd, .count = strtoul(argv[0], NULL, 0) };
	unsigned long threads = strtoul(argv[1], NULL, 0);
	pthread_t t[64];

	for (; c.n < 16 && argv[2 + c.n]; c.n++)
		c.cmd[c.n] = strtoul(argv[2 + c.n], NULL, 0);
	for (unsigned long i = 0; i < threads && i < 64 && threads > 1; i++)
		if (pthread_create(&t[i], NULL, call_thread, &c))
			return die("thread");
	if (threads <= 1)
		call_thread(&c);
	for (unsigned long i = 0; i < threads && i < 64 && threads > 1; i++)
		pthread_join(t[i], NULL);
	while (getchar() != EOF)
		;
	return 0;
}

static int other_fd[2];
static _Atomic bool closing = true;

static void *close_thread(void *arg)
{
	while (closing) {
		close(other_fd[0]);
		dup2(other_fd[1], other_fd[0]);
	}
	return NULL;
}

/* What is none, or another's, or goes meanwhile: 5 that are none, and 2000 that may be one */
static int tricks(int fd)
{
	static const int none[] = { -1, 1 << 20, 0x7fffffff, (int)0x80000000, 999 };
	pthread_t t;

	for (unsigned int i = 0; i < 5; i++)
		ioctl(none[i], WAIT_CS, NULL);
	other_fd[0] = dup(fd);
	other_fd[1] = fd;
	if (pthread_create(&t, NULL, close_thread, NULL))
		return die("thread");
	for (int i = 0; i < 2000; i++)
		ioctl(other_fd[0], WAIT_CS, (void *)-8);
	closing = false;
	pthread_join(t, NULL);
	return 0;
}

/* The struct as the page of a file that is not in memory: the call finds it, who looks does not */
static int unread_userq(int fd, const struct userq *q)
{
	FILE *f = tmpfile();
	void *page;
	int ret;

	if (!f || fwrite(q, sizeof(*q), 1, f) != 1 || fflush(f))
		return -1;
	page = mmap(NULL, sizeof(*q), PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	ret = page == MAP_FAILED ? -1 : ioctl(fd, USERQ, page);
	fclose(f);
	return ret;
}

/*
 * c, d: a KFD queue is made, and destroyed; u, r: it loses its share of the GPU, and has one again,
 * beside a choice of the hardware's part; q, f: likewise a user queue; p: one from a page that is
 * not present; s: the file is closed, whose duplicate stays for the first time; x: another program
 * takes over, which stays until its input ends
 */
static int queue_step(int fd, int step)
{
	struct create c = { .ring = 4096,
			    .ring_size = 65536,
			    .gpu_id = 7,
			    .type = 2,
			    .percentage = 100,
			    .priority = 11 };
	struct update u = { .ring = 4096,
			    .queue_id = 1,
			    .ring_size = 131072,
			    .percentage = step == 'r' ? 0x164 : 0x100,
			    .priority = 3 };
	struct userq q = { .op = 1, .ip_type = 0, .flags = 2, .size = 8192 };
	struct userq end = { .op = 2, .queue_id = 1 };
	struct destroy d = { .queue_id = 1 };

	switch (step) {
	case 'c':
		return ioctl(fd, CREATE_QUEUE, &c);
	case 'd':
		return ioctl(fd, DESTROY_QUEUE, &d);
	case 'u':
	case 'r':
		return ioctl(fd, UPDATE_QUEUE, &u);
	case 'q':
		return ioctl(fd, USERQ, &q);
	case 'f':
		return ioctl(fd, USERQ, &end);
	case 'p':
		return unread_userq(fd, &q);
	case 's':
		return close(fd);
	case 'x':
		return execl("/bin/cat", "cat", NULL);
	}
	return 0;
}

/* Each line of letters is answered when all is done */
static int queues(int fd)
{
	int other = dup(fd);
	bool closed = false;

	for (int c = getchar(); c != EOF; c = getchar()) {
		if (c == '\n')
			puts("done");
		else if (queue_step(closed ? other : fd, c))
			return die("queue");
		closed |= c == 's';
		fflush(stdout);
	}
	return 0;
}

static int wait_ms(int fd, const char *ms)
{
	uint64_t data = strtoull(ms, NULL, 0);

	return ioctl(fd, WAIT_CS, &data) ? die("wait") : 0;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc < 3)
		return 2;
	fd = open_gpu(argv[2]);
	if (fd < 0)
		return die(argv[2]);
	if (argc > 5 && !strcmp(argv[1], "call"))
		return call(fd, argv + 3);
	if (!strcmp(argv[1], "tricks"))
		return tricks(fd);
	if (!strcmp(argv[1], "queues"))
		return queues(fd);
	if (argc == 4 && !strcmp(argv[1], "wait"))
		return wait_ms(fd, argv[3]);
	return 2;
}
