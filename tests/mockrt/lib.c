/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Libraries of GPU runtimes that do nothing, under the names and with the functions of the real
 * ones: built with -DHSA, -DHIP, -DCUDA or -DCUDART. Those that call another of them in truth do so
 * here, if built with -DBELOW. Which argument is what is as in the real ones: a dim3 goes by value.
 */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef struct {
	uint32_t x, y, z;
} dim3;

#define API __attribute__((visibility("default"), noinline))
#define NAP()                                                                                      \
	nanosleep(&(struct timespec){ 0, 1000000 },                                                \
		  NULL) /* what waits takes a millisecond        \
							   */

static uint64_t last = 0x1000;

#ifdef HIP
/* what hipStreamSynchronize() calls */
__attribute__((visibility("default"))) void (*mock_hook)(void);
#endif

#ifdef HSA
API int hsa_queue_create(uint64_t agent, uint32_t size, int type, void *cb, void *data,
			 uint32_t priv, uint32_t group, void **queue)
{
	if (!size)
		return 1;
	*queue = (void *)(uintptr_t)(last += 16);
	return 0;
}
API int hsa_queue_destroy(void *queue)
{
	return queue ? 0 : 1;
}
API uint64_t hsa_queue_add_write_index_screlease(void *queue, uint64_t n)
{
	return last += n;
}
API int hsa_memory_copy(void *dst, const void *src, size_t n)
{
	return n ? 0 : 1;
}
API int hsa_amd_memory_async_copy(void *dst, uint64_t da, const void *src, uint64_t sa, size_t n,
				  uint32_t deps, const void *dep, uint64_t signal)
{
	return n && signal ? 0 : 1;
}
API int64_t hsa_signal_wait_scacquire(uint64_t signal, int cond, int64_t value, uint64_t timeout,
				      int how)
{
	NAP();
	return value;
}
/* the old name is the new one: it jumps there */
API int64_t hsa_signal_wait_acquire(uint64_t signal, int cond, int64_t value, uint64_t timeout,
				    int how)
{
	return hsa_signal_wait_scacquire(signal, cond, value, timeout, how);
}
#endif

#ifdef HIP
#ifdef BELOW
int hsa_amd_memory_async_copy(void *, uint64_t, const void *, uint64_t, size_t, uint32_t,
			      const void *, uint64_t);
int64_t hsa_signal_wait_scacquire(uint64_t, int, int64_t, uint64_t, int);
uint64_t hsa_queue_add_write_index_screlease(void *, uint64_t);
#else
#define hsa_amd_memory_async_copy(...)		 ((void)last)
#define hsa_signal_wait_scacquire(...)		 NAP()
#define hsa_queue_add_write_index_screlease(...) ((void)last)
#endif
API int hipStreamCreate(void **stream)
{
	*stream = (void *)(uintptr_t)(last += 16);
	return 0;
}
API int hipStreamDestroy(void *stream)
{
	return stream ? 0 : 1;
}
API int hipLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
			void *stream)
{
	hsa_queue_add_write_index_screlease(stream, 1);
	return grid.x * block.x ? 0 : 1;
}
API int hipMemcpy(void *dst, const void *src, size_t n, int kind)
{
	hsa_amd_memory_async_copy(dst, 1, src, 2, n, 0, NULL, 3);
	hsa_signal_wait_scacquire(3, 0, 0, 0, 0);
	return 0;
}
API int hipMemcpyAsync(void *dst, const void *src, size_t n, int kind, void *stream)
{
	return n ? 0 : 1;
}
API int hipMemcpy2DAsync(void *dst, size_t dp, const void *src, size_t sp, size_t width,
			 size_t height, int kind, void *stream)
{
	return width * height ? 0 : 1;
}
API int hipStreamSynchronize(void *stream)
{
	if (mock_hook)
		mock_hook();
	hsa_signal_wait_scacquire(3, 0, 0, 0, 0);
	return 0;
}
#endif

#ifdef CUDA
API int cuStreamCreate(void **stream, unsigned int flags)
{
	*stream = (void *)(uintptr_t)(last += 16);
	return 0;
}
API int cuStreamDestroy_v2(void *stream)
{
	return stream ? 0 : 1;
}
API int cuLaunchKernel(void *f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
		       unsigned int by, unsigned int bz, unsigned int shared, void *stream,
		       void **params, void **extra)
{
	return gx * bx ? 0 : 1;
}
API int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t n)
{
	return n ? 0 : 1;
}
API int cuMemcpyAsync(uint64_t dst, uint64_t src, size_t n, void *stream)
{
	return n ? 0 : 1;
}
API int cuCtxSynchronize(void)
{
	NAP();
	return 0;
}
#endif

#ifdef CUDART
#ifdef BELOW
int cuLaunchKernel(void *, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
		   unsigned int, unsigned int, void *, void **, void **);
int cuCtxSynchronize(void);
#else
#define cuLaunchKernel(...) ((void)last)
#define cuCtxSynchronize()  NAP()
#endif
API int cudaStreamCreate(void **stream)
{
	*stream = (void *)(uintptr_t)(last += 16);
	return 0;
}
API int cudaStreamDestroy(void *stream)
{
	return stream ? 0 : 1;
}
API int cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
			 void *stream)
{
	cuLaunchKernel((void *)f, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0, stream,
		       args, NULL);
	return 0;
}
API int cudaMemcpy(void *dst, const void *src, size_t n, int kind)
{
	return n ? 0 : 1;
}
API int cudaMemcpyAsync(void *dst, const void *src, size_t n, int kind, void *stream)
{
	return n ? 0 : 1;
}
API int cudaDeviceSynchronize(void)
{
	cuCtxSynchronize();
	return 0;
}
#endif
