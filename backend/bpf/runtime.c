/* SPDX-License-Identifier: GPL-2.0 */
/* The part `runtime`: calls of GPU runtimes' libraries, as bpf/runtime.bpf.c saw them. */
#include <inttypes.h>
#include <sys/eventfd.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "runtime.h"
#include "bpf/runtime.skel.h"

static int probe(struct gb *b, char *err, size_t len)
{
	struct rt_ways w;
	int ret = gb_tracefs(b, "mmap", err, len);

	return ret ? ret : rt_ways_find(&w, err, len);
}

/* Threads that were left behind, with what is theirs. */
static struct {
	pthread_mutex_t lock;
	struct rt *rt[RT_LEFT_MAX];
} left = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* @was takes the place of @is: NULL is a free one. */
static void put_left(const struct rt *was, struct rt *is)
{
	unsigned int i = 0;

	pthread_mutex_lock(&left.lock);
	while (i < RT_LEFT_MAX && left.rt[i] != was)
		i++;
	if (i < RT_LEFT_MAX)
		left.rt[i] = is;
	pthread_mutex_unlock(&left.lock);
}

/* How many; @stuck: which wait for somebody, others are busy */
static unsigned int count_left(unsigned int *stuck)
{
	uint64_t now = gb_now(), since;
	unsigned int n = 0;

	*stuck = 0;
	pthread_mutex_lock(&left.lock);
	for (unsigned int i = 0; i < RT_LEFT_MAX; i++) {
		if (!left.rt[i])
			continue;
		since = left.rt[i]->stats.since;
		*stuck += since && now > since && now - since > RT_STUCK_NS;
		n++;
	}
	pthread_mutex_unlock(&left.lock);
	return n;
}

/*
 * A thread that is killed while the kernel removes its probe leaves that in programs for good: it
 * cannot get at their memory any more. So the end of the daemon waits for those that are busy, but
 * not for those that wait for somebody.
 */
__attribute__((destructor)) static void wait_for_left(void)
{
	const struct timespec tick = { 0, RT_END_TICK_NS };
	unsigned int stuck, n = count_left(&stuck);

	for (int i = 0; n > stuck && i < RT_END_TICKS; i++) {
		nanosleep(&tick, NULL);
		n = count_left(&stuck);
	}
}

/* No more than so many are left behind; 0, or -EBUSY with a sentence */
static int may_begin(char *err, size_t len)
{
	unsigned int stuck, n = count_left(&stuck);

	if (stuck >= RT_LEFT_STUCK)
		return gb_sentence(err, len, EBUSY,
				   "%u threads of before still wait for processes that do not "
				   "answer",
				   stuck);
	if (n == RT_LEFT_MAX)
		return gb_sentence(err, len, EBUSY, "%u threads of before still remove probes", n);
	return 0;
}

void rt_free(struct rt *rt)
{
	if (rt->left)
		put_left(rt, NULL);
	ring_buffer__free(rt->mapped);
	runtime_bpf__destroy(rt->skel);
	if (rt->wake >= 0)
		close(rt->wake);
	pthread_cond_destroy(&rt->cond);
	pthread_mutex_destroy(&rt->lock);
	free(rt);
}

/* Does the kernel's code of a program use a stack that all its runs on a CPU share? Not every kernel
 * shows that code to everybody: then there is nothing to see. */
static bool has_private_stack(const struct bpf_program *p)
{
#ifdef __x86_64__
	/* arch/x86/net/bpf_jit_comp.c, emit_priv_frame_ptr(): add %gs:this_cpu_off, %r9, which no
	 * register of a program is kept in */
	static const uint8_t frame[] = { 0x65, 0x4c, 0x03, 0x0c, 0x25 };
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info), n;
	gb_auto_free uint8_t *image = NULL;

	if (bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size))
		return false;
	n = info.jited_prog_len;
	image = n ? calloc(1, n) : NULL;
	if (!image)
		return false;
	info = (struct bpf_prog_info){ .jited_prog_len = n, .jited_prog_insns = (uintptr_t)image };
	return !bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size) &&
	       memmem(image, n, frame, sizeof(frame));
#else
	return false;
#endif
}

/* A program at a uprobe may run twice at once on a CPU, see bpf/runtime.bpf.c */
static int check_stacks(const struct runtime_bpf *o, char *err, size_t len)
{
	const struct bpf_program *p[] = { o->progs.gt_rt_enter, o->progs.gt_rt_leave };

	for (unsigned int i = 0; i < 2; i++)
		if (has_private_stack(p[i]))
			return gb_sentence(err, len, EOPNOTSUPP,
					   "this kernel gave program %s one stack for each CPU: "
					   "run twice at once it could crash the kernel, so it is "
					   "not used; please report this kernel",
					   bpf_program__name(p[i]));
	return 0;
}

static int load(struct gb *b, struct rt *rt, bool multi, char *err, size_t len)
{
	struct bpf_program *p;
	int ret;

	rt->skel = runtime_bpf__open();
	if (!rt->skel)
		return gb_sentence(err, len, ENOMEM, "no memory");
	bpf_map__set_max_entries(rt->skel->maps.mapped, (uint32_t)sysconf(_SC_PAGESIZE));
	bpf_object__for_each_program(p, rt->skel->obj)
		if (multi && bpf_program__type(p) == BPF_PROG_TYPE_KPROBE)
			rt_multi_type(p);
	ret = gb_object_load(b, rt->skel->obj, "runtimes", err, len);
	return ret ? ret : check_stacks(rt->skel, err, len);
}

/* For the way that the kernel has: before Linux 6.6 it takes programs of the other, but not for it.
 */
static int load_for(struct gb *b, struct rt *rt, char *err, size_t len)
{
	int ret = b->o->probes_singly ? 0 : load(b, rt, true, err, len);

	rt->ways.multi =
		!ret && rt->skel && rt_knows_multi(bpf_program__fd(rt->skel->progs.gt_rt_enter));
	if (rt->ways.multi)
		return 0;
	runtime_bpf__destroy(rt->skel);
	return load(b, rt, false, err, len);
}

static int prepare(struct gb *b, struct rt *rt, char *err, size_t len)
{
	int ret = rt_ways_find(&rt->ways, err, len);

	if (!ret)
		ret = rt_parse(b->o->runtimes, &rt->want, err, len);
	if (!ret)
		ret = load_for(b, rt, err, len);
	if (!ret && !rt_can_look(rt))
		ret = gb_sentence(err, len, EOPNOTSUPP,
				  "no BPF iterator on one process: which file system a library is "
				  "on cannot be known before it is touched; Linux 6.1 has it");
	if (ret)
		return ret;
	rt->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rt->mapped = ring_buffer__new(bpf_map__fd(rt->skel->maps.mapped), rt_on_mapped, rt, NULL);
	if (rt->wake < 0 || !rt->mapped)
		return gb_sentence(err, len, errno, "no descriptors or memory: %s",
				   strerror(errno));
	return 0;
}

static int begin(struct rt *rt, char *err, size_t len)
{
	int ret = gb_thread(&rt->thread, rt_thread, rt);

	return ret ? gb_sentence(err, len, ret, "no thread: %s", strerror(ret)) : 0;
}

static int start(struct gb *b, char *err, size_t len)
{
	struct rt *rt;
	int ret = may_begin(err, len);

	if (ret)
		return ret;
	rt = calloc(1, sizeof(*rt));
	if (!rt)
		return gb_sentence(err, len, ENOMEM, "no memory");
	rt->tracefs = b->p->tracefs;
	rt->wake = rt->trigger[0] = rt->trigger[1] = -1;
	pthread_mutex_init(&rt->lock, NULL);
	pthread_cond_init(&rt->cond, NULL);
	ret = prepare(b, rt, err, len);
	if (!ret)
		ret = begin(rt, err, len);
	if (ret) {
		rt_free(rt);
		return ret;
	}
	b->priv[GT_BPF_RUNTIME] = rt;
	return 0;
}

static void wake(struct gb *b, struct rt *rt)
{
	const uint64_t one = 1;

	/* EAGAIN: it is to wake up already */
	if (write(rt->wake, &one, sizeof(one)) < 0 && errno != EAGAIN)
		b->p->host->log(b->p, LOG_ERR, "eventfd: %s", strerror(errno));
}

/* Until the thread has done what was asked for the @mine'th time, or has ended; @ms at most */
static bool is_done(struct rt *rt, uint64_t mine, int ms)
{
	uint64_t end = gb_now() + (uint64_t)ms * 1000000;
	struct timespec until = { (time_t)(end / 1000000000), (long)(end % 1000000000) };
	bool done;

	pthread_mutex_lock(&rt->lock);
	while (rt->done < mine && !rt->ended)
		if (pthread_cond_clockwait(&rt->cond, &rt->lock, CLOCK_MONOTONIC, &until))
			break;
	done = rt->done >= mine || rt->ended;
	pthread_mutex_unlock(&rt->lock);
	return done;
}

/* Of this thread or, if it has not begun with what it was asked for, of that; seconds, 0: no */
static uint64_t stuck_for(struct rt *rt)
{
	uint64_t since = rt->stats.since, now = gb_now();

	pthread_mutex_lock(&rt->lock);
	if (rt->done < rt->asked && (!since || rt->asked_at < since))
		since = rt->asked_at;
	pthread_mutex_unlock(&rt->lock);
	return since && now > since && now - since > RT_STUCK_NS ? (now - since) / 1000000000 : 0;
}

/* Which process it is, not everybody may know. */
static void log_stuck(struct gb *b, const struct rt *rt, uint64_t s)
{
	unsigned int pid = (unsigned int)rt->stats.at;

	if (pid && rt->stats.since)
		b->p->host->log(
			b->p, LOG_ERR,
			"runtime: process %u has not answered for %u s: probes stay until it does",
			pid, (unsigned int)s);
}

/*
 * One that hangs in the kernel is left behind, with all that is its: it frees that when it ends.
 * One that only has much to remove likewise.
 */
static void stop(struct gb *b)
{
	struct rt *rt = b->priv[GT_BPF_RUNTIME];
	uint64_t stuck = stuck_for(rt);

	b->priv[GT_BPF_RUNTIME] = NULL;
	pthread_mutex_lock(&rt->lock);
	rt->quit = true;
	pthread_mutex_unlock(&rt->lock);
	wake(b, rt);
	is_done(rt, UINT64_MAX, RT_SET_MS);
	if (stuck)
		log_stuck(b, rt, stuck);
	pthread_mutex_lock(&rt->lock);
	rt->left = !rt->ended;
	if (rt->left) {
		pthread_detach(rt->thread);
		put_left(NULL, rt);
	}
	stuck = rt->left;
	pthread_mutex_unlock(&rt->lock);
	if (stuck)
		return;
	pthread_join(rt->thread, NULL);
	rt_free(rt);
}

static int refuse(struct gb *b, struct rt *rt, uint64_t s, char *err, size_t len)
{
	const char *who = rt->stats.since ? "a process that has a library mapped has not answered"
					  : "the last change is under way, and has been";

	log_stuck(b, rt, s);
	return gb_sentence(err, len, EBUSY,
			   "runtimes: %s for %u s: nothing changes before that is over", who,
			   (unsigned int)s);
}

/*
 * Mostly it is in force when this returns; else doctor says that it is under way. Records come on
 * meanwhile.
 */
static int set(struct gb *b, char *err, size_t len)
{
	struct rt *rt = b->priv[GT_BPF_RUNTIME];
	uint64_t mine, stuck = stuck_for(rt);
	unsigned int want = 0;
	int ret = rt_parse(b->o->runtimes, &want, err, len);

	if (ret)
		return ret;
	if (stuck)
		return refuse(b, rt, stuck, err, len);
	pthread_mutex_lock(&rt->lock);
	if (rt->done == rt->asked)
		rt->asked_at = gb_now();
	rt->want = want;
	mine = ++rt->asked;
	pthread_mutex_unlock(&rt->lock);
	wake(b, rt);
	for (int ms = 0; ms < RT_SET_MS && !is_done(rt, mine, RT_DRAIN_MS); ms += RT_DRAIN_MS)
		gb_ring_drain(b);
	return 0;
}

static int look(struct gb *b, char *err, size_t len)
{
	struct rt *rt = b->priv[GT_BPF_RUNTIME];

	pthread_mutex_lock(&rt->lock);
	rt->look = true;
	pthread_mutex_unlock(&rt->lock);
	wake(b, rt);
	return 0;
}

/* The library does not say which GPU it is for: it stays unknown. */
static bool record(struct gb *b, union gt_record *r)
{
	return true;
}

static void doctor(struct gb *b, struct gt_details *t)
{
	struct rt *rt = b->priv[GT_BPF_RUNTIME];
	uint64_t stuck = stuck_for(rt);
	unsigned int waiting, behind = count_left(&waiting);
	const struct rt_stats *s = &rt->stats;
	const struct {
		const char *name;
		uint64_t n;
	} lines[] = {
		{ "libraries", s->libraries },
		{ "functions", s->probes },
		{ "closing", s->closing },
		{ "processes_looked_at", s->looks },
		{ "looks_put_off", s->put_off },
		{ "looks_at_all", s->full_looks },
		{ "found", s->found },
		{ "without_functions", s->no_functions },
		{ "left_alone", s->unsafe },
		{ "left_out_much_mapped", s->cut },
		{ "left_out_too_many", s->full },
		{ "left_out_refused", s->refused },
	};

	gt_detail(t, "runtime_missed %" PRIu64 "\n", gb_missed(rt->skel->obj));
	gt_detail(t, "runtime_way %s\n", rt->ways.multi ? "multi" : "single");
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		gt_detail(t, "runtime_%s %" PRIu64 "\n", lines[i].name, lines[i].n);
	gt_detail(t, "runtime_attaching %d\n", !is_done(rt, rt->asked, 0));
	if (stuck)
		gt_detail(t, "runtime_stalled_s %" PRIu64 "\n", stuck);
	if (behind)
		gt_detail(t, "runtime_threads_abandoned %u\n", behind);
}

const struct gb_part gb_runtime = {
	.name = "runtime",
	.probe = probe,
	.start = start,
	.stop = stop,
	.record = record,
	.look = look,
	.doctor = doctor,
	.option = "runtimes",
	.set = set,
};

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
