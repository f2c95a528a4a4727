/* SPDX-License-Identifier: GPL-2.0 */
/*
 * nvcalls DEVICE: makes the calls of NVIDIA's resource manager that it reads, a line each, on
 * DEVICE, and answers each with a line: errno of the call, status and handle that it then found.
 *
 *	alloc CLIENT PARENT HANDLE CLASS VALUE [TSG]
 *				VALUE: the GPU's number, or the engine; TSG: the number of a group,
 *				with a driver that takes it (tests/vm/mocknv)
 *	free CLIENT HANDLE
 *	control CLIENT HANDLE COMMAND VALUE
 *				VALUE: the first 32 bits of the parameters, and the third
 *	status N		what the status field holds before each call: what stays if nobody
 *				answers
 *	layout 32|40|48|xfer	of alloc; xfer: through NV_ESC_IOCTL_XFER_CMD
 *	thread LINE		makes the call of LINE in a thread of its own
 *	open, close		the device; it is open at the start
 *	dup, swap		another descriptor of what is open; which of the two calls and close
 *				are for
 *	fork			a child goes on reading, with what is open, and this process ends;
 *				answers the child's pid
 *	many N LINE		N children make the call of LINE and stay until this process has
 *				ended; answers N
 *
 * A DEVICE that nobody answers for is opened by name only (O_PATH): its calls enter the kernel and
 * fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *device;
static int fd = -1, spare = -1, layout = 48;
static unsigned int status_before;

static int call(unsigned int nr, unsigned int size, void *arg)
{
	struct {
		uint32_t cmd, size;
		uint64_t arg;
	} x = { nr, size, (uintptr_t)arg };
	int ret;

	if (layout == 16)
		ret = ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'F', 0xd3, sizeof(x)), &x);
	else
		ret = ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'F', nr, size), arg);
	return ret < 0 ? errno : 0;
}

/* Where its status is: NVOS21 of 32 bytes, NVOS64 of 40 and 48, as of 535 and 530 */
static void do_alloc(const unsigned int *a)
{
	uint32_t w[12] = { a[0], a[1], a[2], a[3] }, params[16] = { a[5], 0, 0, a[4] };
	unsigned int size = layout == 16 ? 32 : (unsigned int)layout;
	unsigned int at = size == 48 ? 10 : size == 40 ? 9 : 7;
	uint64_t p = (uintptr_t)params;
	int err;

	if (a[3] == 0x80)
		params[0] = a[4];
	memcpy(w + 4, &p, 8);
	w[at] = status_before;
	err = call(0x2b, size, w);
	printf("%d %u 0x%x\n", err, w[at], w[2]);
}

static void do_free(const unsigned int *a)
{
	uint32_t w[4] = { a[0], 0, a[1], status_before };
	int err = call(0x29, sizeof(w), w);

	printf("%d %u 0x%x\n", err, w[3], w[2]);
}

static void do_control(const unsigned int *a)
{
	uint32_t params[16] = { a[3] }, w[8] = { a[0], a[1], a[2] };
	uint64_t p = (uintptr_t)params;
	int err;

	if (a[2] == 0x205) /* GET_ID_INFO_V2: the GPU's number is what CLIENT says */
		params[2] = a[0];
	memcpy(w + 4, &p, 8);
	w[6] = 4;
	w[7] = status_before;
	err = call(0x2a, sizeof(w), w);
	printf("%d %u 0x%x\n", err, w[7], params[0]);
}

static void do_line(char *line);

static void *in_thread(void *line)
{
	do_line(line);
	return NULL;
}

static void do_open(void)
{
	fd = open(device, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fd = open(device, O_PATH | O_CLOEXEC);
	printf("%d\n", fd < 0 ? errno : 0);
}

static void do_swap(void)
{
	int was = fd;

	fd = spare;
	spare = was;
	printf("0\n");
}

static void do_fork(void)
{
	pid_t pid = fork();

	if (pid > 0) {
		printf("%d\n", pid);
		fflush(stdout);
		_exit(0);
	}
}

static void do_many(char *line)
{
	int n = 0, made = 0, at = 0, ready[2];
	char c;

	if (sscanf(line, "%d %n", &n, &at) != 1 || pipe(ready))
		return;
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (!freopen("/dev/null", "w", stdout) || prctl(PR_SET_PDEATHSIG, SIGKILL))
				_exit(1);
			do_line(line + at);
			close(ready[0]);
			close(ready[1]);
			for (;;)
				pause();
		}
		made += pid > 0;
	}
	close(ready[1]);
	while (read(ready[0], &c, 1) > 0) /* until each has made its call */
		;
	close(ready[0]);
	printf("%d\n", made);
}

static void do_line(char *line)
{
	unsigned int a[6] = { 0 };
	pthread_t t;
	char word[16] = "";
	int n = 0;

	sscanf(line, "%15s %n", word, &n);
	sscanf(line + n, "%i %i %i %i %i %i", (int *)&a[0], (int *)&a[1], (int *)&a[2],
	       (int *)&a[3], (int *)&a[4], (int *)&a[5]);
	if (!strcmp(word, "alloc"))
		do_alloc(a);
	else if (!strcmp(word, "free"))
		do_free(a);
	else if (!strcmp(word, "control"))
		do_control(a);
	else if (!strcmp(word, "thread") && !pthread_create(&t, NULL, in_thread, line + n))
		pthread_join(t, NULL);
	else if (!strcmp(word, "open"))
		do_open();
	else if (!strcmp(word, "close"))
		printf("%d\n", close(fd) ? errno : 0);
	else if (!strcmp(word, "dup"))
		printf("%d\n", (spare = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0 ? errno : 0);
	else if (!strcmp(word, "swap"))
		do_swap();
	else if (!strcmp(word, "fork"))
		do_fork();
	else if (!strcmp(word, "many"))
		do_many(line + n);
	else if (!strcmp(word, "status"))
		printf("%u\n", status_before = a[0]);
	else if (!strcmp(word, "layout"))
		printf("%d\n", layout = strncmp(line + n, "xfer", 4) ? (int)a[0] : 16);
	else
		printf("what?\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[256];

	if (argc != 2)
		return 2;
	device = argv[1];
	do_open();
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		do_line(line);
	return 0;
}
