/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which functions of which library are what.
 *
 * Sources of the signatures: hsa: hsa.h and hsa_ext_amd.h of ROCm/ROCR-Runtime; hip:
 * hip_runtime_api.h of ROCm/HIP; cuda: cuda.h, cudart: cuda_runtime_api.h of NVIDIA's CUDA toolkit.
 * A dim3 is a structure of three u32, and so two words of the arguments. `_ptsz` and `_ptds` are
 * the same functions with another default stream, `_v2` those that take 64-bit sizes, `_spt`
 * likewise of HIP. Programs that nvcc 13 compiled call __cudaLaunchKernel()
 * (crt/device_functions.h), with a handle as the first argument. Which names there are was looked up
 * in libcudart.so.13, CUDA 13's libcuda, and Debian's libamdhip64 and libhsa-runtime64 5.2: a
 * version has not all.
 *
 * What HSA has no call for is a kernel's launch: a program writes a packet into the queue's memory
 * and rings its doorbell. Before that it reserves the packets' places by adding to the queue's
 * write index, which is emitted as LAUNCH; barriers are packets, too.
 */
#include "runtime.h"

#define LAUNCH(sym, stream)                                                                        \
	{                                                                                          \
		sym, GT_LAUNCH, stream, 0, 0, 0                                                    \
	}
#define COPY(sym, bytes)                                                                           \
	{                                                                                          \
		sym, GT_COPY, 0, bytes, 0, GT_RT_RETURN | GT_RT_AT_END                             \
	}
#define COPY_S(sym, bytes, stream)                                                                 \
	{                                                                                          \
		sym, GT_COPY, stream, bytes, 0, GT_RT_RETURN | GT_RT_AT_END                        \
	}
#define COPY_2D(sym, w, h)                                                                         \
	{                                                                                          \
		sym, GT_COPY, 0, w, h, GT_RT_RETURN | GT_RT_AT_END                                 \
	}
#define ASYNC(sym, bytes, stream)                                                                  \
	{                                                                                          \
		sym, GT_COPY, stream, bytes, 0, 0                                                  \
	}
#define ASYNC_2D(sym, w, h, s)                                                                     \
	{                                                                                          \
		sym, GT_COPY, s, w, h, 0                                                           \
	}
#define CREATE(sym, out)                                                                           \
	{                                                                                          \
		sym, GT_QUEUE_CREATE, out, 0, 0, GT_RT_RETURN | GT_RT_AT_END | GT_RT_OUT           \
	}
#define DESTROY(sym, stream)                                                                       \
	{                                                                                          \
		sym, GT_QUEUE_DESTROY, stream, 0, 0, 0                                             \
	}
#define SYNC(sym, stream)                                                                          \
	{                                                                                          \
		sym, GT_SYNC_WAIT_ENTER, stream, 0, 0, GT_RT_RETURN                                \
	}

static const struct rt_call hsa[] = {
	CREATE("hsa_queue_create", 8),
	DESTROY("hsa_queue_destroy", 1),
	LAUNCH("hsa_queue_add_write_index_relaxed", 1),
	LAUNCH("hsa_queue_add_write_index_scacquire", 1),
	LAUNCH("hsa_queue_add_write_index_scacq_screl", 1),
	LAUNCH("hsa_queue_add_write_index_screlease", 1),
	LAUNCH("hsa_queue_add_write_index_acquire", 1),
	LAUNCH("hsa_queue_add_write_index_acq_rel", 1),
	LAUNCH("hsa_queue_add_write_index_release", 1),
	LAUNCH("hsa_queue_store_write_index_relaxed", 1),
	LAUNCH("hsa_queue_store_write_index_screlease", 1),
	LAUNCH("hsa_queue_store_write_index_release", 1),
	COPY("hsa_memory_copy", 3),
	ASYNC("hsa_amd_memory_async_copy", 5, 0),
	ASYNC("hsa_amd_memory_async_copy_on_engine", 5, 0),
	ASYNC("hsa_amd_memory_async_copy_rect", 0, 0),
	SYNC("hsa_signal_wait_relaxed", 0),
	SYNC("hsa_signal_wait_scacquire", 0),
	SYNC("hsa_signal_wait_acquire", 0),
	SYNC("hsa_amd_signal_wait_all", 0),
	SYNC("hsa_amd_signal_wait_any", 0),
	{ 0 },
};

static const struct rt_call hip[] = {
	CREATE("hipStreamCreate", 1),
	CREATE("hipStreamCreateWithFlags", 1),
	CREATE("hipStreamCreateWithPriority", 1),
	CREATE("hipExtStreamCreateWithCUMask", 1),
	DESTROY("hipStreamDestroy", 1),
	LAUNCH("hipLaunchKernel", 8),
	LAUNCH("hipLaunchKernel_spt", 8),
	LAUNCH("hipExtLaunchKernel", 8),
	LAUNCH("hipLaunchKernelExC", 0),
	LAUNCH("hipLaunchByPtr", 0),
	LAUNCH("hipLaunchCooperativeKernel", 8),
	LAUNCH("hipLaunchCooperativeKernel_spt", 8),
	LAUNCH("hipModuleLaunchKernel", 9),
	LAUNCH("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_"
	       "P11ihip"
	       "Event_tS6_j",
	       9),
	LAUNCH("_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_"
	       "P11ihip"
	       "Event_tS6_",
	       9),
	LAUNCH("hipModuleLaunchCooperativeKernel", 9),
	LAUNCH("hipGraphLaunch", 2),
	LAUNCH("hipGraphLaunch_spt", 2),
	COPY("hipMemcpy", 3),
	COPY("hipMemcpy_spt", 3),
	COPY_S("hipMemcpyWithStream", 3, 5),
	COPY("hipMemcpyHtoD", 3),
	COPY("hipMemcpyDtoH", 3),
	COPY("hipMemcpyDtoD", 3),
	COPY("hipMemcpyPeer", 5),
	COPY("hipMemcpyToSymbol", 3),
	COPY("hipMemcpyFromSymbol", 3),
	COPY_2D("hipMemcpy2D", 5, 6),
	COPY("hipMemcpy3D", 0),
	COPY("hipMemcpyParam2D", 0),
	ASYNC("hipMemcpyAsync", 3, 5),
	ASYNC("hipMemcpyAsync_spt", 3, 5),
	ASYNC("hipMemcpyHtoDAsync", 3, 4),
	ASYNC("hipMemcpyDtoHAsync", 3, 4),
	ASYNC("hipMemcpyDtoDAsync", 3, 4),
	ASYNC("hipMemcpyPeerAsync", 5, 6),
	ASYNC("hipMemcpyToSymbolAsync", 3, 6),
	ASYNC("hipMemcpyFromSymbolAsync", 3, 6),
	ASYNC_2D("hipMemcpy2DAsync", 5, 6, 8),
	ASYNC("hipMemcpy3DAsync", 0, 2),
	ASYNC("hipMemcpyParam2DAsync", 0, 2),
	SYNC("hipDeviceSynchronize", 0),
	SYNC("hipCtxSynchronize", 0),
	SYNC("hipStreamSynchronize", 1),
	SYNC("hipStreamSynchronize_spt", 1),
	SYNC("hipEventSynchronize", 0),
	{ 0 },
};

static const struct rt_call cuda[] = {
	CREATE("cuStreamCreate", 1),
	CREATE("cuStreamCreateWithPriority", 1),
	DESTROY("cuStreamDestroy", 1),
	DESTROY("cuStreamDestroy_v2", 1),
	LAUNCH("cuLaunch", 0),
	LAUNCH("cuLaunchGrid", 0),
	LAUNCH("cuLaunchGridAsync", 4),
	LAUNCH("cuLaunchKernel", 9),
	LAUNCH("cuLaunchKernel_ptsz", 9),
	LAUNCH("cuLaunchKernelEx", 0),
	LAUNCH("cuLaunchKernelEx_ptsz", 0),
	LAUNCH("cuLaunchCooperativeKernel", 9),
	LAUNCH("cuLaunchCooperativeKernel_ptsz", 9),
	LAUNCH("cuGraphLaunch", 2),
	LAUNCH("cuGraphLaunch_ptsz", 2),
	COPY("cuMemcpy", 3),
	COPY("cuMemcpy_ptds", 3),
	COPY("cuMemcpyHtoD_v2", 3),
	COPY("cuMemcpyHtoD_v2_ptds", 3),
	COPY("cuMemcpyDtoH_v2", 3),
	COPY("cuMemcpyDtoH_v2_ptds", 3),
	COPY("cuMemcpyDtoD_v2", 3),
	COPY("cuMemcpyDtoD_v2_ptds", 3),
	COPY("cuMemcpyPeer", 5),
	COPY("cuMemcpyPeer_ptds", 5),
	COPY("cuMemcpy2D_v2", 0),
	COPY("cuMemcpy2D_v2_ptds", 0),
	COPY("cuMemcpy3D_v2", 0),
	COPY("cuMemcpy3D_v2_ptds", 0),
	ASYNC("cuMemcpyAsync", 3, 4),
	ASYNC("cuMemcpyAsync_ptsz", 3, 4),
	ASYNC("cuMemcpyHtoDAsync_v2", 3, 4),
	ASYNC("cuMemcpyHtoDAsync_v2_ptsz", 3, 4),
	ASYNC("cuMemcpyDtoHAsync_v2", 3, 4),
	ASYNC("cuMemcpyDtoHAsync_v2_ptsz", 3, 4),
	ASYNC("cuMemcpyDtoDAsync_v2", 3, 4),
	ASYNC("cuMemcpyDtoDAsync_v2_ptsz", 3, 4),
	ASYNC("cuMemcpyPeerAsync", 5, 6),
	ASYNC("cuMemcpyPeerAsync_ptsz", 5, 6),
	ASYNC("cuMemcpy2DAsync_v2", 0, 2),
	ASYNC("cuMemcpy2DAsync_v2_ptsz", 0, 2),
	ASYNC("cuMemcpy3DAsync_v2", 0, 2),
	ASYNC("cuMemcpy3DAsync_v2_ptsz", 0, 2),
	SYNC("cuCtxSynchronize", 0),
	SYNC("cuStreamSynchronize", 1),
	SYNC("cuStreamSynchronize_ptsz", 1),
	SYNC("cuEventSynchronize", 0),
	{ 0 },
};

static const struct rt_call cudart[] = {
	CREATE("cudaStreamCreate", 1),
	CREATE("cudaStreamCreateWithFlags", 1),
	CREATE("cudaStreamCreateWithPriority", 1),
	DESTROY("cudaStreamDestroy", 1),
	LAUNCH("cudaLaunch", 0),
	LAUNCH("__cudaLaunchKernel", 8),
	LAUNCH("__cudaLaunchKernel_ptsz", 8),
	LAUNCH("cudaLaunchKernel", 8),
	LAUNCH("cudaLaunchKernel_ptsz", 8),
	LAUNCH("cudaLaunchKernelExC", 0),
	LAUNCH("cudaLaunchKernelExC_ptsz", 0),
	LAUNCH("cudaLaunchCooperativeKernel", 8),
	LAUNCH("cudaLaunchCooperativeKernel_ptsz", 8),
	LAUNCH("cudaGraphLaunch", 2),
	LAUNCH("cudaGraphLaunch_ptsz", 2),
	COPY("cudaMemcpy", 3),
	COPY("cudaMemcpy_ptds", 3),
	COPY("cudaMemcpyPeer", 5),
	COPY("cudaMemcpyToSymbol", 3),
	COPY("cudaMemcpyToSymbol_ptds", 3),
	COPY("cudaMemcpyFromSymbol", 3),
	COPY("cudaMemcpyFromSymbol_ptds", 3),
	COPY_2D("cudaMemcpy2D", 5, 6),
	COPY_2D("cudaMemcpy2D_ptds", 5, 6),
	COPY("cudaMemcpy3D", 0),
	COPY("cudaMemcpy3D_ptds", 0),
	ASYNC("cudaMemcpyAsync", 3, 5),
	ASYNC("cudaMemcpyAsync_ptsz", 3, 5),
	ASYNC("cudaMemcpyPeerAsync", 5, 6),
	ASYNC("cudaMemcpyToSymbolAsync", 3, 6),
	ASYNC("cudaMemcpyToSymbolAsync_ptsz", 3, 6),
	ASYNC("cudaMemcpyFromSymbolAsync", 3, 6),
	ASYNC("cudaMemcpyFromSymbolAsync_ptsz", 3, 6),
	ASYNC_2D("cudaMemcpy2DAsync", 5, 6, 8),
	ASYNC_2D("cudaMemcpy2DAsync_ptsz", 5, 6, 8),
	ASYNC("cudaMemcpy3DAsync", 0, 2),
	ASYNC("cudaMemcpy3DAsync_ptsz", 0, 2),
	SYNC("cudaDeviceSynchronize", 0),
	SYNC("cudaThreadSynchronize", 0),
	SYNC("cudaStreamSynchronize", 1),
	SYNC("cudaStreamSynchronize_ptsz", 1),
	SYNC("cudaEventSynchronize", 0),
	{ 0 },
};

const struct rt_runtime rt_runtimes[RT_RUNTIMES] = {
	{ "hsa", "libhsa-runtime64", hsa },
	{ "hip", "libamdhip64", hip },
	{ "cuda", "libcuda", cuda },
	{ "cudart", "libcudart", cudart },
};

int rt_runtime_of(const char *name)
{
	for (int i = 0; i < RT_RUNTIMES; i++) {
		size_t n = strlen(rt_runtimes[i].library);

		if (strncmp(name, rt_runtimes[i].library, n))
			continue;
		/* wheels of Python have libcudart-0123abcd.so.11.0 */
		if ((name[n] == '.' || name[n] == '-') && strstr(name + n, ".so"))
			return i;
	}
	return -1;
}

int rt_parse(const char *list, unsigned int *set, char *err, size_t len)
{
	unsigned int out = 0;
	size_t n;

	for (const char *p = list; *list; p += n + 1) {
		int i = 0;

		n = strcspn(p, ",");
		while (i < RT_RUNTIMES &&
		       (strlen(rt_runtimes[i].name) != n || strncmp(p, rt_runtimes[i].name, n)))
			i++;
		if (i == RT_RUNTIMES)
			return gb_sentence(err, len, EINVAL,
					   "runtimes: '%.*s' is not one of hsa, hip, cuda, cudart",
					   n > 32 ? 32 : (int)n, p);
		if (out & 1U << i)
			return gb_sentence(err, len, EINVAL, "runtimes: %s is there twice",
					   rt_runtimes[i].name);
		out |= 1U << i;
		if (!p[n])
			break;
	}
	*set = out;
	return 0;
}
