/* SPDX-License-Identifier: GPL-2.0 */
/* Event maps where events of our own stand in for the scheduler's newer ones; waits; errors. */
#include <stdlib.h>

#include "../../backend/eventmap/internal.h"
#include "../lib/maphost.h"
#include "../lib/tap.h"

/* What an older kernel has */
static bool present(void *arg, const char *system, const char *event)
{
	return (!system || !strcmp(system, "gpu_scheduler")) &&
	       (!strcmp(event, "drm_sched_job") || !strcmp(event, "drm_run_job") ||
		!strcmp(event, "drm_sched_process_job"));
}

static struct gt_eventmap *load(bool stand_in)
{
	char err[512];
	struct gt_eventmap *m;
	struct gt_tp *tp;

	memset(&maphost, 0, sizeof(maphost));
	m = gt_eventmap_load(&maphost_plugin, source_path("conf/events.d"), err, sizeof(err));
	if (!m)
		exit(!ok(false, "the maps can be loaded: %s", err));
	gt_eventmap_select(m, present, NULL, 3);
	for (unsigned int i = 0; (tp = gt_eventmap_each(m, i)); i++)
		if (gt_tp_probe(tp))
			gt_tp_set_synth(tp, stand_in);
	gt_eventmap_select(m, present, NULL, 3);
	return m;
}

static union gt_record got[GT_TP_MAX_RECORDS];

static int text(struct gt_eventmap *m, uint64_t ts, const char *event, const char *line)
{
	struct gt_evctx c = { .ts = ts, .tid = 7, .pid = 5, .cpu = 1 };
	struct gt_tp *tp = gt_eventmap_find(m, NULL, event);

	memset(got, 0, sizeof(got));
	return tp ? gt_tp_text(tp, &c, line, strlen(line), got, GT_TP_MAX_RECORDS) : -1;
}

static void test_select(void)
{
	struct gt_eventmap *m = load(false);
	struct gt_tp *tp = gt_eventmap_find(m, "gpu_scheduler", "drm_sched_job_queue");

	ok(gt_eventmap_find(m, "gpu_scheduler", "drm_sched_job"), "the old event is used");
	ok(tp && gt_tp_probe(tp), "the new one can be made");
	ok(tp && gt_tp_probe(tp)->family, "with others of its kind");
	is_str(gt_tp_probe(tp)->module, "gpu_sched", "types are the module's");
	tp = gt_eventmap_find(m, "gpu_scheduler", "drm_sched_job_timedout");
	ok(tp && gt_tp_probe(tp)->function && !gt_tp_probe(tp)->family, "the timeout alone");
	gt_eventmap_free(m);

	m = load(true);
	ok(!gt_eventmap_find(m, "gpu_scheduler", "drm_sched_job") &&
		   !gt_eventmap_find(m, "gpu_scheduler", "drm_run_job") &&
		   !gt_eventmap_find(m, "gpu_scheduler", "drm_sched_process_job"),
	   "with stand-ins the old events are not used");
	ok(gt_eventmap_find(m, "gpu_scheduler", "drm_sched_job_queue"), "but the new ones");
	ok(!gt_eventmap_find(m, "amdgpu", "amdgpu_cs_ioctl"), "amdgpu's give way as ever");
	tp = gt_eventmap_find(m, "gpu_scheduler", "drm_sched_job_queue");
	gt_tp_set_synth(tp, false);
	gt_eventmap_select(m, present, NULL, 3);
	ok(gt_eventmap_find(m, "gpu_scheduler", "drm_sched_job"), "and back");
	gt_eventmap_free(m);
}

#define JOB_A "dev=mockgpu.0, ring=gfx_0.0.0, fence=4294967308:1"
#define JOB_B "dev=mockgpu.1, ring=gfx_0.0.0, fence=22:1"

/* dma_fence's events have the low 32 bits only. */
static void test_waits(void)
{
	struct gt_eventmap *m = load(true);
	uint16_t gpu, ring;

	text(m, 10, "drm_sched_job_queue", JOB_B);
	is(text(m, 10, "drm_sched_job_queue", JOB_A), 1, "a job of a context beyond 32 bits");
	gpu = got[0].ev.gpu;
	ring = got[0].ev.ring;
	is_str(maphost.gpu[gpu], "- mockgpu.0 -1", "its device");
	text(m, 20, "dma_fence_wait_start", "driver=x timeline=y context=12 seqno=1");
	ok(got[0].ev.gpu == gpu && got[0].ev.ring == ring, "a wait for it is at its ring");
	is(got[0].ev.ctx, 4294967308, "and has its whole context");
	text(m, 30, "drm_sched_job_done", "fence=4294967308:1 signaled");
	is(got[0].ev.type, GT_COMPLETE, "it ends");
	text(m, 40, "dma_fence_wait_end", "driver=x timeline=y context=12 seqno=1");
	is(got[0].ev.value, 20, "the wait's length");
	ok(got[0].ev.gpu == gpu && got[0].ev.ring == ring, "its end is at the ring too");
	is(got[0].ev.ctx, 4294967308, "with the whole context");
	text(m, 50, "dma_fence_wait_start", "driver=x timeline=y context=12 seqno=1");
	ok(got[0].ev.gpu == gpu && got[0].ev.ring == ring, "a wait for a job that has ended");
	text(m, 60, "dma_fence_wait_start", "driver=x timeline=y context=13 seqno=1");
	is(got[0].ev.gpu, GT_NONE16, "a fence of no job has no GPU");

	/* Two rings to choose from: the GPU is certain, the ring is not. */
	text(m, 70, "drm_sched_job_queue", "dev=mockgpu.0, ring=sdma0, fence=4294967308:2");
	text(m, 80, "dma_fence_wait_start", "driver=x timeline=y context=12 seqno=1");
	is(got[0].ev.gpu, gpu, "the GPU of a context with two rings");
	is(got[0].ev.ring, GT_NONE16, "its ring is unknown");
	gt_eventmap_free(m);
}

static void test_errors(void)
{
	struct gt_eventmap *m = load(true);
	uint16_t ring;

	text(m, 10, "drm_sched_job_queue", JOB_A);
	ring = got[0].ev.ring;
	text(m, 20, "drm_sched_job_timedout",
	     "name=\"gfx_0.0.0\" dev=\"mockgpu.0\" fence_context=4294967308 fence_seqno=1");
	ok(got[0].ev.type == GT_ERROR && got[0].ev.value == GT_ERR_TIMEOUT, "a timeout");
	ok(got[0].ev.ctx == 4294967308 && got[0].ev.seqno == 1 && got[0].ev.ring == ring,
	   "of the job");
	is(got[0].ev.pid, 5, "and its owner");
	is(text(m, 20, "drm_sched_job_timedout",
		"name=\"gfx_0.0.0\" dev=\"mockgpu.0\" fence_context=99 fence_seqno=7"),
	   1, "of a job that nobody knows");
	ok(got[0].ev.ring == ring && got[0].ev.ctx == GT_NONE64 && got[0].ev.seqno == GT_NONE64 &&
		   got[0].ev.pid == GT_NONE32,
	   "only the ring is known");
	text(m, 20, "drm_sched_job_timedout",
	     "name=\"sdma0\" dev=\"mockgpu.0\" fence_context=4294967308 fence_seqno=1");
	ok(got[0].ev.ring != ring && got[0].ev.ctx == GT_NONE64 && got[0].ev.pid == GT_NONE32,
	   "another ring's job is not it");
	text(m, 30, "drm_sched_stop", "name=\"gfx_0.0.0\" dev=\"mockgpu.0\"");
	ok(got[0].ev.value == GT_ERR_RESET && got[0].ev.ring == ring && got[0].ev.pid == GT_NONE32,
	   "a reset is nobody's");
	gt_eventmap_free(m);
}

/* As our events lie in a buffer: queue of 6.1. */
struct queue {
	uint8_t common[8];
	uint32_t name, dev;
	uint64_t context, seqno;
	char text[40];
} __attribute__((packed));

static const char format[] =
	"ID: 9\n\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] dev;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 fence_context;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u64 fence_seqno;\toffset:24;\tsize:8;\tsigned:0;\n";

static void test_faults(void)
{
	struct gt_eventmap *m = load(true);
	struct gt_evctx c = { .ts = 1, .tid = 7, .pid = 5, .cpu = 1 };
	struct gt_tp *tp = gt_eventmap_find(m, NULL, "drm_sched_job_queue");
	struct queue q = { .name = 32 | 5 << 16, .dev = 40 | 8 << 16, .context = 5, .seqno = 6 };
	int rc = tp ? gt_tp_bind(tp, format, strlen(format), NULL, NULL, 0) : -1;

	is(rc, 0, "our event can be bound");
	memcpy(q.text, "gfx0\0\0\0\0(fault)", 16);
	if (rc)
		return;
	is(gt_tp_raw(tp, &c, &q, sizeof(q), got, 1), 1, "a device that could not be read");
	is_str(maphost.gpu[0], "- - -1", "is unknown");
	q.dev = 40;
	gt_tp_raw(tp, &c, &q, sizeof(q), got, 1);
	is(maphost.gpus, 1, "nor is an empty one a name");
	memcpy(q.text, "(fault)", 8);
	q.name = 32 | 8 << 16;
	is(gt_tp_raw(tp, &c, &q, sizeof(q), got, 1), 0, "a ring that could not be read");
	is(text(m, 1, "drm_sched_job_queue",
		"name=\"gfx0\" dev=(fault) fence_context=5 fence_seqno=9"),
	   1, "text, likewise");
	is(maphost.gpus, 1, "has no device either");
	gt_eventmap_free(m);
}

int main(void)
{
	test_select();
	test_waits();
	test_errors();
	test_faults();
	return done_testing();
}
