/* SPDX-License-Identifier: GPL-2.0 */
/*
 * calls LIBRARY: maps a mock library, says "mapped", and then does what the lines of its input
 * say, each answered by "done":
 *
 *	NAME N		calls function NAME N times
 *	unmap		closes the library
 *	map PATH	opens another
 *	bench NAME N	as above, and says how many ns of CPU time a call took
 *	bytes N		what is copied from now on, instead of 4096
 *	fork NAME N	as above, in a child
 *	jump NAME N	leaves hipStreamSynchronize() by a longjmp(3), and then as above from the
 *			same place of the stack
 *	exec PATH	becomes this program anew, with that library
 *
 * Every function is called with the arguments below, so that their values are known:
 * stream 0x5000, 4096 bytes or 64 x 32, handles for others. Ends at the end of its input.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
	uint32_t x, y, z;
} dim3;

#define STREAM ((void *)0x5000)
#define BYTES  bytes

static size_t bytes = 4096;

static void *lib;
static void *out;

static void call(const char *name, void *fn, unsigned long n)
{
	dim3 one = { 1, 1, 1 };

#define CASE(sym, type, ...)                                                                       \
	if (!strcmp(name, sym)) {                                                                  \
		for (unsigned long i = 0; i < n; i++)                                              \
			((long(*) type)fn)(__VA_ARGS__);                                           \
		return;                                                                            \
	}
	CASE("hsa_queue_create",
	     (uint64_t, uint32_t, int, void *, void *, uint32_t, uint32_t, void **), 1, 64, 0, 0, 0,
	     0, 0, &out)
	CASE("hsa_queue_destroy", (void *), STREAM)
	CASE("hsa_queue_add_write_index_screlease", (void *, uint64_t), STREAM, 1)
	CASE("hsa_memory_copy", (void *, void *, size_t), out, out, BYTES)
	CASE("hsa_amd_memory_async_copy",
	     (void *, uint64_t, void *, uint64_t, size_t, uint32_t, void *, uint64_t), out, 1, out,
	     2, BYTES, 0, NULL, 3)
	CASE("hsa_signal_wait_scacquire", (uint64_t, int, int64_t, uint64_t, int), 1, 0, 0, 0, 0)
	CASE("hsa_signal_wait_acquire", (uint64_t, int, int64_t, uint64_t, int), 1, 0, 0, 0, 0)
	CASE("hipLaunchKernel", (void *, dim3, dim3, void **, size_t, void *), NULL, one, one, NULL,
	     0, STREAM)
	CASE("hipMemcpy", (void *, void *, size_t, int), out, out, BYTES, 1)
	CASE("hipMemcpyAsync", (void *, void *, size_t, int, void *), out, out, BYTES, 1, STREAM)
	CASE("hipMemcpy2DAsync", (void *, size_t, void *, size_t, size_t, size_t, int, void *), out,
	     64, out, 64, 64, 32, 1, STREAM)
	CASE("cuStreamCreate", (void **, unsigned int), &out, 0)
	CASE("cuLaunchKernel",
	     (void *, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
	      unsigned int, unsigned int, void *, void **, void **),
	     NULL, 1, 1, 1, 1, 1, 1, 0, STREAM, NULL, NULL)
	CASE("cuMemcpyHtoD_v2", (uint64_t, void *, size_t), 1, out, BYTES)
	CASE("cuMemcpyAsync", (uint64_t, uint64_t, size_t, void *), 1, 2, BYTES, STREAM)
	CASE("cuCtxSynchronize", (void))
	CASE("cudaLaunchKernel", (void *, dim3, dim3, void **, size_t, void *), NULL, one, one,
	     NULL, 0, STREAM)
	CASE("cudaMemcpy", (void *, void *, size_t, int), out, out, BYTES, 1)
	CASE("cudaMemcpyAsync", (void *, void *, size_t, int, void *), out, out, BYTES, 1, STREAM)
	CASE("cudaDeviceSynchronize", (void))
	if (strstr(name, "StreamCreate")) {
		CASE(name, (void **), &out)
	} else {
		CASE(name, (void *), STREAM)
	}
}

static jmp_buf before;

static void jump(void)
{
	longjmp(before, 1);
}

/* One argument each: they begin at the same place. */
static void jump_and_call(const char *name, volatile unsigned long n)
{
	void (**hook)(void) = dlsym(lib, "mock_hook");
	int (*wait_for)(void *) = dlsym(lib, "hipStreamSynchronize");
	int (*fn)(void *) = dlsym(lib, name);

	*hook = jump;
	if (!setjmp(before))
		wait_for(STREAM);
	*hook = NULL;
	for (; n; n--)
		fn(STREAM);
}

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void open_library(const char *path)
{
	lib = dlopen(path, RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
}

static void serve(const char *what, const char *arg, unsigned long n)
{
	void *fn = lib ? dlsym(lib, what) : NULL;
	double t = cpu_now();

	if (!strcmp(what, "unmap")) {
		dlclose(lib);
		lib = NULL;
	} else if (!strcmp(what, "map")) {
		open_library(arg);
	} else if (!strcmp(what, "bytes")) {
		bytes = strtoul(arg, NULL, 10);
	} else if (!strcmp(what, "jump") && lib) {
		jump_and_call(arg, n);
	} else if (!strcmp(what, "exec")) {
		execl("/proc/self/exe", "calls", arg, NULL);
	} else if (!strcmp(what, "fork") && lib && (fn = dlsym(lib, arg))) {
		if (!fork()) {
			call(arg, fn, n);
			_exit(0);
		}
		wait(NULL);
	} else if (!strcmp(what, "bench") && lib && (fn = dlsym(lib, arg))) {
		call(arg, fn, n);
		printf("%.0f ", (cpu_now() - t) / (double)n);
	} else if (fn) {
		call(what, fn, strtoul(arg, NULL, 10));
	} else {
		printf("no %s ", what);
	}
}

int main(int argc, char **argv)
{
	char line[4096], what[64], arg[4000];
	unsigned long n;

	if (argc != 2)
		return 2;
	open_library(argv[1]);
	puts("mapped");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		n = 0;
		arg[0] = 0;
		if (sscanf(line, "%63s %3999s %lu", what, arg, &n) < 1)
			continue;
		serve(what, arg, n);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
