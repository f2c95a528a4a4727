/* SPDX-License-Identifier: GPL-2.0 */
/* Event maps as shipped: tracepoints of several kernels, raw and as text, become records. */
#include <stddef.h>
#include <stdlib.h>

#include "../../backend/eventmap/internal.h"
#include "../lib/maphost.h"
#include "../lib/tap.h"

static const char *const kernels[] = { "4.x", "6.1", "6.12", "6.17", "rocm", "6.18", "7.3", "arm" };
#define KERNELS 8
static char *formats[KERNELS];
static const char *offered; /* " a b c ": the tracepoints that are present */

static bool present(void *arg, const char *system, const char *event)
{
	char word[128];

	snprintf(word, sizeof(word), " %s ", event);
	return offered && strstr(offered, word);
}

static struct gt_eventmap *load(const char *offer)
{
	char err[512];
	struct gt_eventmap *m;

	memset(&maphost, 0, sizeof(maphost));
	m = gt_eventmap_load(&maphost_plugin, source_path("conf/events.d"), err, sizeof(err));
	if (err[0])
		printf("# %s\n", err);
	if (!m)
		exit(!ok(false, "the maps can be loaded"));
	offered = offer;
	gt_eventmap_select(m, present, NULL, 3);
	return m;
}

static struct gt_tp *bound(struct gt_eventmap *m, int kernel, const char *system, const char *event)
{
	struct gt_tp *tp = gt_eventmap_find(m, system, event);
	char err[256] = "no format";
	size_t n = 0;
	const char *f = find_format(formats[kernel], system, event, &n);

	if (!tp || !f || gt_tp_bind(tp, f, n, NULL, err, sizeof(err)))
		printf("# %s/%s cannot be bound: %s\n", system, event, err);
	return tp;
}

static union gt_record got[GT_TP_MAX_RECORDS];

/* One line of text, from thread 7 of process 5; the number of records. */
static int text(struct gt_eventmap *m, uint64_t ts, const char *event, const char *line)
{
	struct gt_evctx c = { .ts = ts, .tid = 7, .pid = 5, .cpu = 1 };
	struct gt_tp *tp = gt_eventmap_find(m, NULL, event);

	memset(got, 0, sizeof(got));
	return tp ? gt_tp_text(tp, &c, line, strlen(line), got, GT_TP_MAX_RECORDS) : -1;
}

static int raw(struct gt_tp *tp, const void *rec, size_t len)
{
	struct gt_evctx c = { .ts = 1, .tid = 7, .pid = 5, .cpu = 1 };

	memset(got, 0, sizeof(got));
	return gt_tp_raw(tp, &c, rec, len, got, GT_TP_MAX_RECORDS);
}

/* Binds to the event that a probe makes, but that its strings are those of which a name is made. */
static int bind_probe(struct gt_tp *tp, const struct gt_probe *b)
{
	char format[2000] = "ID: 7\n";

	for (unsigned int i = 0; i < b->n; i++) {
		const char *name = b->field[i].name;
		bool string = !strcmp(name, "name") || !strcmp(name, "dev");

		sprintf(format + strlen(format),
			"\tfield:%s %s;\toffset:%u;\tsize:%d;\tsigned:0;\n",
			string ? "__data_loc char[]" : "u64", name, 8 + 8 * i, string ? 4 : 8);
	}
	return !gt_tp_bind(tp, format, strlen(format), NULL, NULL, 0);
}

/* Every section of every map is right for at least one kernel's format. */
static void test_bind_all(void)
{
	struct gt_eventmap *m = load(NULL);
	struct gt_tp *tp;
	int total = 0, unbound = 0, probes = 0, probed = 0;

	for (unsigned int i = 0; (tp = gt_eventmap_each(m, i)); i++) {
		struct gt_section *sections[8] = { NULL };
		bool done[8] = { false };
		int n = 0;

		if (!strcmp(tp->system, "function"))
			continue; /* calls have no format of their own */
		for (struct gt_section *s = tp->sections; s && n < 8; s = s->next)
			sections[n++] = s;
		for (int k = 0; k < KERNELS; k++) {
			size_t len;
			const char *f = find_format(formats[k], tp->system, tp->event, &len);

			if (f)
				gt_tp_bind(tp, f, len, NULL, NULL, 0);
			for (int j = 0; f && j < n; j++)
				done[j] |= sections[j]->bound;
		}
		if (n && sections[0]->probe) {
			probed += bind_probe(tp, sections[0]->probe);
			probes++;
			done[0] |= sections[0]->bound;
		}
		for (int j = 0; j < n; j++, total++) {
			unbound += !done[j];
			if (!done[j])
				printf("# %s/%s (%s:%d)\n", tp->system, tp->event,
				       sections[j]->file, sections[j]->line);
		}
	}
	ok(total > 60, "%d sections", total);
	is(unbound, 0, "each can be bound to a format");
	ok(probes > 4, "%d with probes", probes);
	is(probed, probes, "each probe gives what its section needs");
	gt_eventmap_free(m);
}

/* As drm_sched_job and drm_run_job of 6.1 lie in a ring buffer. */
struct old_job {
	uint8_t common[8];
	uint64_t entity, fence;
	uint32_t name;
	uint32_t pad;
	uint64_t id;
	uint32_t job_count, hw_job_count;
	char text[12];
};

static const struct old_job a_job = { .entity = 0xffff888005c4ac28,
				      .fence = 0xffff88800434fb80,
				      .name = offsetof(struct old_job, text) | 10 << 16,
				      .id = 33,
				      .text = "gfx_0.0.0" };

static void test_old_raw(void)
{
	struct gt_eventmap *m = load(" drm_sched_job drm_run_job drm_sched_process_job ");
	struct gt_tp *submit = bound(m, 1, "gpu_scheduler", "drm_sched_job");
	struct gt_tp *run = bound(m, 1, "gpu_scheduler", "drm_run_job");
	struct gt_tp *done = bound(m, 1, "gpu_scheduler", "drm_sched_process_job");
	struct old_job j = a_job;
	uint64_t end[2] = { 0, a_job.fence };
	const struct gt_eventmap_stats *st = gt_eventmap_stats(m);
	size_t len, good = 0;

	is(raw(submit, &j, sizeof(j)), 1, "drm_sched_job gives a record");
	is(got[0].ev.type, GT_SUBMIT, "SUBMIT");
	is(got[0].ev.ctx, 1, "the entity's number, not its address");
	is(got[0].ev.seqno, 33, "seqno is the id");
	is(got[0].ev.pid, 5, "pid is the submitter's");
	is_str(maphost.ring[got[0].ev.ring], "0 gfx_0.0.0 0", "the ring by name");
	is_str(maphost.gpu[got[0].ev.gpu], "- - -1", "the GPU is unknown");

	is(raw(run, &j, sizeof(j)), 1, "drm_run_job gives a record");
	is(got[0].ev.type, GT_COMMIT, "COMMIT");
	is(got[0].ev.pid, 5, "pid is the job's owner's");
	is(maphost.calls, 3, "the host is asked once per section, or ring");

	is(raw(done, end, sizeof(end)), 1, "drm_sched_process_job gives a record");
	ok(got[0].ev.type == GT_COMPLETE && got[0].ev.ctx == 1 && got[0].ev.seqno == 33 &&
		   got[0].ev.ring == 0 && got[0].ev.pid == 5,
	   "COMPLETE of that job");
	is(raw(done, end, sizeof(end)), 1, "a job ends once");
	is(st->unmatched, 1, "then it is counted as unmatched");
	ok(got[0].ev.type == GT_COMPLETE && got[0].ev.ring == GT_NONE16 &&
		   got[0].ev.gpu == GT_NONE16,
	   "and of no ring");

	j.id = 34;
	raw(submit, &j, sizeof(j));
	raw(done, end, sizeof(end));
	is(got[0].ev.seqno, 34, "a fence may be used again");
	j.id = 35;
	raw(run, &j, sizeof(j));
	is(got[0].ev.pid, GT_NONE32, "a job seen first at its hand-over has no known owner");

	for (len = 0; len < sizeof(j); len++)
		good += raw(submit, &j, len) > 0;
	is(good, sizeof(j) - 58, "a record cut short is refused, unless only padding is missing");
	is(st->malformed, 58, "and counted");
	is(raw(done, end, 15), 0, "so is one cut within an integer");
	j.name = 0xffffffff;
	is(raw(submit, &j, sizeof(j)), 0, "a string outside the record");
	gt_eventmap_free(m);
}

/* A recording that has old and new names, as the test guest makes it, has each job once. */
static void test_new_text(void)
{
	struct gt_eventmap *m = load(" drm_sched_job drm_run_job drm_sched_process_job "
				     "drm_sched_job_queue drm_sched_job_run drm_sched_job_done ");

	is(text(m, 1, "drm_sched_job_queue",
		"dev=mockgpu.0, fence=12:1, ring=gfx_0.0.0, job count:0, hw job count:0, "
		"client_id:9"),
	   1, "drm_sched_job_queue");
	ok(got[0].ev.type == GT_SUBMIT && got[0].ev.ctx == 12 && got[0].ev.seqno == 1 &&
		   got[0].ev.ref == 9 && got[0].ev.pid == 5 && got[0].ev.tid == 7 &&
		   got[0].ev.cpu == 1 && got[0].ev.value == GT_NONE64,
	   "its fields");
	is_str(maphost.gpu[got[0].ev.gpu], "- mockgpu.0 -1", "its device");
	is(text(m, 1, "drm_sched_job",
		"entity=00000000cee29b27, id=1, fence=00000000cb6d5a27, ring=gfx_0.0.0, job "
		"count:0, "
		"hw job count:0"),
	   0, "the old name is left out where the new one was heard just now");
	is(text(m, 2, "dma_fence_wait_start",
		"driver=drm_sched timeline=gfx_0.0.0 context=12 seqno=1"),
	   1, "a wait begins");
	ok(got[0].ev.type == GT_SYNC_WAIT_ENTER && got[0].ev.gpu == 0 && got[0].ev.ring == 0,
	   "for a job that is known");
	is(text(m, 3, "drm_sched_job_done", "fence=12:1 signaled"), 1, "drm_sched_job_done");
	ok(got[0].ev.type == GT_COMPLETE && got[0].ev.gpu == 0 && got[0].ev.ring == 0 &&
		   got[0].ev.pid == 5 && got[0].ev.tid == GT_NONE32,
	   "gets GPU, ring and owner from the job");
	text(m, 9, "dma_fence_wait_end", "driver=drm_sched timeline=gfx_0.0.0 context=12 seqno=1");
	ok(got[0].ev.type == GT_SYNC_WAIT_EXIT && got[0].ev.value == 7 && got[0].ev.gpu == 0,
	   "the wait's end has its length and its GPU");
	is(text(m, 3000000000, "drm_sched_process_job", "fence=00000000cb6d5a27 signaled"), 0,
	   "an end by the old name is the other's job, though nothing was heard for a while");
	is(gt_eventmap_stats(m)->unmatched, 0, "and is not unmatched");
	gt_eventmap_free(m);
}

static void test_old_text(void)
{
	static const char *const forms[] = {
		"entity=0000000012345678, id=1, fence=00000000cb6d5a27, ring=gfx_0.0.0, job "
		"count:0",
		"       entity=0xffff8880052f28d8, id=2, fence=0xffff8880051badc0, ring=gfx_0.0.0, "
		"job",
		"entity =0xffff8880052f28d9 id: 3 fence = 0xffff8880051badc8 ring =gfx_0.0.0",
		"(0x55d0) entity=0x7f0001 fence=0x7f0002 name=\"gfx_0.0.0\" id=4 job_count=0",
	};
	struct gt_eventmap *m = load(" drm_sched_job drm_run_job drm_sched_process_job ");
	char line[300];

	for (int i = 0; i < 4; i++) {
		is(text(m, 1, "drm_sched_job", forms[i]), 1, "text form %d", i);
		ok(got[0].ev.seqno == (uint64_t)i + 1 && got[0].ev.ctx == (uint64_t)i + 1 &&
			   got[0].ev.ring == 0,
		   "its seqno, the number of its entity, its ring");
	}
	is(text(m, 1, "drm_sched_process_job", "fence=0x1ffff8880051badc0 signaled"), 1,
	   "an end with more digits than an address has");
	ok(got[0].ev.seqno != 2, "is not that of a job with the same last digits");
	text(m, 1, "drm_sched_process_job", "fence=0xffff8880051badc0 signaled");
	is(got[0].ev.seqno, 2, "its own is");
	is(text(m, 1, "drm_sched_process_job", "fence=00000000cb6d5a27 signaled"), 1, "its end");
	is(text(m, 1, "drm_sched_process_job", "fence=(____ptrval____) signaled"), 0, "no pointer");
	is(text(m, 1, "drm_sched_job",
		"id=51757, fence=(context:7914, seqno:920), ring=gfx_0.0.0, job count:0, "
		"dependencies:{}"),
	   0, "a layout that never was in a kernel");
	is(gt_eventmap_stats(m)->malformed, 2, "both are counted");
	for (size_t i = 0; i < 200; i++) {
		snprintf(line, sizeof(line), "%.*s", (int)i, forms[i % 4]);
		text(m, 1, "drm_run_job", line);
	}
	ok(true, "lines cut anywhere do no harm");
	gt_eventmap_free(m);
}

static void test_amdgpu(void)
{
	struct gt_eventmap *m = load(" amdgpu_cs_ioctl amdgpu_sched_run_job dma_fence_signaled ");
	const struct gt_eventmap_stats *st = gt_eventmap_stats(m);

	text(m, 1, "amdgpu_cs_ioctl",
	     "sched_job=3489726, timeline=gfx, context=4929, seqno=3200, "
	     "ring_name=ffff91cb1ab1bdd0, num_ibs=1");
	ok(got[0].ev.type == GT_SUBMIT && got[0].ev.ctx == 4929 && got[0].ev.seqno == 3200, "4.11");
	is_str(maphost.ring[0], "0 gfx 0", "the timeline is the ring");
	text(m, 2, "amdgpu_sched_run_job",
	     "timeline=gfx, fence=4929:3200, ring_name=gfx, num_ibs=1");
	ok(got[0].ev.type == GT_COMMIT && got[0].ev.ctx == 4929 && got[0].ev.seqno == 3200 &&
		   got[0].ev.pid == 5,
	   "6.17's form of the same");
	is(text(m, 3, "dma_fence_signaled",
		"driver=amd_sched timeline=gfx context=4928 seqno=3200"),
	   0, "the scheduler's own fence is no job");
	is(st->ignored, 1, "it is ignored");
	is(text(m, 4, "dma_fence_signaled",
		"driver=amd_sched timeline=gfx context=4929 seqno=3200"),
	   1, "the job's is");
	is(got[0].ev.type, GT_COMPLETE, "its end");
	is(text(m, 5, "dma_fence_signaled",
		"driver=amd_sched timeline=gfx context=4929 seqno=3199"),
	   1, "the end of a job from before the trace, though others of its context were seen");
	ok(got[0].ev.type == GT_COMPLETE && got[0].ev.gpu == 0 && got[0].ev.ring == 0 &&
		   got[0].ev.pid == GT_NONE32,
	   "is one of its context's ring");
	is(st->unmatched, 1, "and is unmatched");
	text(m, 6, "amdgpu_sched_run_job", "timeline=sdma0, fence=4929:3201, num_ibs=1");
	is(text(m, 7, "dma_fence_signaled",
		"driver=amd_sched timeline=gfx context=4929 seqno=3198"),
	   0, "not of a context of two rings");
	is(st->unmatched, 2, "though it is unmatched, too");
	gt_eventmap_free(m);

	m = load(" amdgpu_cs_ioctl drm_run_job ");
	is(text(m, 1, "amdgpu_cs_ioctl", "timeline=gfx, fence=1:1"), -1,
	   "left out where the scheduler reports the same");
	gt_eventmap_free(m);
}

static void test_amdgpu_raw(void)
{
	struct {
		uint8_t common[8];
		uint64_t job;
		uint32_t timeline, context, seqno, pad;
		uint64_t ring_name;
		uint32_t num_ibs;
		char text[8];
	} rec = { .timeline = 44 | 4 << 16,
		  .context = 7,
		  .seqno = 9,
		  .ring_name = 0xffff91cb1ab1bdd0,
		  .text = "gfx" };
	struct gt_eventmap *m = load(" amdgpu_cs_ioctl ");
	struct gt_tp *tp = bound(m, 0, "amdgpu", "amdgpu_cs_ioctl");

	is(raw(tp, &rec, sizeof(rec)), 1, "4.11, where ring_name is a pointer");
	ok(got[0].ev.ctx == 7 && got[0].ev.seqno == 9, "its fields");
	is_str(maphost.ring[0], "0 gfx 0", "its ring");
	gt_eventmap_free(m);
}

static void test_i915(void)
{
	struct gt_eventmap *m = load(NULL);

	text(m, 1, "i915_request_queue", "dev=0, engine=0:0, ctx=7, seqno=3, flags=0x0");
	ok(got[0].ev.type == GT_SUBMIT && got[0].ev.ctx == 7 && got[0].ev.seqno == 3, "queue");
	is_str(maphost.gpu[0], "i915 - 0", "the GPU by its card's number");
	is_str(maphost.ring[0], "0 rcs0 1", "class 0 is rcs, graphics");
	text(m, 2, "i915_request_in", "dev=0, engine=0:0, ctx=7, seqno=3, prio=0, port=0");
	is(got[0].ev.type, GT_START, "in is START");
	is(text(m, 3, "i915_request_out", "dev=0, engine=0:0, ctx=7, seqno=3, completed?=0"), 0,
	   "out of a job that was preempted");
	is(text(m, 4, "i915_request_out", "dev=0, engine=0:0, ctx=7, seqno=3, completed?=1"), 1,
	   "out of a job that is done");
	is(text(m, 5, "i915_request_retire", "dev=0, engine=0:0, ctx=7, seqno=3, tail=8"), 1,
	   "retire");
	ok(got[0].ev.type == GT_COMPLETE && got[0].ev.pid == 5, "COMPLETE, with the owner");
	text(m, 5, "i915_request_queue", "dev=0, engine=0:0, ctx=7, seqno=4, flags=0x0");
	is(text(m, 5, "dma_fence_signaled", "driver=i915 timeline=x context=7 seqno=4"), 1,
	   "the fence gives the end");
	is(text(m, 5, "i915_request_retire", "dev=0, engine=0:0, ctx=7, seqno=4, tail=8"), 0,
	   "and then the retirement does not, again");
	text(m, 6, "i915_request_add", "dev=1, engine=2:1, ctx=8, seqno=1, tail=8");
	is_str(maphost.ring[1], "1 vcs1 4", "another card's second video engine");
	text(m, 7, "i915_gem_request_add", "dev=1, ring=4, ctx=8, seqno=2, global=9");
	is_str(maphost.ring[2], "1 vecs0 0", "an old kernel's engine number");
	text(m, 8, "i915_request_wait_begin", "dev=0, engine=1:0, ctx=7, seqno=4, flags=0x1");
	text(m, 28, "i915_request_wait_end", "dev=0, engine=1:0, ctx=7, seqno=4, tail=0");
	ok(got[0].ev.type == GT_SYNC_WAIT_EXIT && got[0].ev.value == 20 && got[0].ev.pid == 5,
	   "a wait of 20 ns");
	text(m, 9, "intel_gpu_freq_change", "new_freq=1150");
	is(got[0].ev.value, 1150000000, "MHz become Hz");
	gt_eventmap_free(m);
}

static void test_virtio(void)
{
	struct {
		uint8_t common[8];
		int32_t dev;
		uint32_t vq;
		uint64_t name;
		uint32_t type, flags;
		uint64_t fence_id;
		uint32_t ctx_id, pad;
	} rec = { .dev = 1, .name = 0xffffffffc0123456 };
	struct gt_eventmap *m = load(NULL);
	struct gt_tp *queue = bound(m, 1, "virtio_gpu", "virtio_gpu_cmd_queue");
	struct gt_tp *reply = bound(m, 1, "virtio_gpu", "virtio_gpu_cmd_response");

	is(raw(reply, &rec, sizeof(rec)), 0, "a response to nothing");
	is(raw(queue, &rec, sizeof(rec)), 2, "a command is submitted and handed over");
	is(raw(queue, &rec, sizeof(rec)), 2, "another");
	ok(got[0].ev.type == GT_SUBMIT && got[1].ev.type == GT_COMMIT && got[1].ev.seqno == 2,
	   "they are numbered");
	is_str(maphost.gpu[0], "virtio_gpu virtio1 -1", "the device");
	is_str(maphost.ring[0], "0 control 0", "the ring by its number, as its name is a pointer");
	is(raw(reply, &rec, sizeof(rec)), 1, "a response");
	is(got[0].ev.seqno, 1, "is of the first that waits");
	raw(reply, &rec, sizeof(rec));
	is(got[0].ev.seqno, 2, "then of the second");
	is(raw(reply, &rec, sizeof(rec)), 0, "then of none");
	rec.vq = 1;
	is(raw(queue, &rec, sizeof(rec)), 0, "a cursor command has no end there, so no begin");

	text(m, 1, "virtio_gpu_cmd_queue",
	     "vdev=1 vq=1 name=cursor type=0x300 flags=0x0 fence_id=0 ctx_id=0 num_free=16 "
	     "seqno=6");
	is(text(m, 1, "virtio_gpu_cmd_response",
		"vdev=1 vq=1 name=cursor type=0x0 flags=0x0 fence_id=0 ctx_id=0 num_free=16 "
		"seqno=6"),
	   1, "6.12 has a seqno");
	gt_eventmap_free(m);
}

#define NEW_NAMES                                                                                  \
	" drm_sched_job_queue drm_sched_job_run drm_sched_job_done drm_sched_job_unschedulable "   \
	"drm_sched_job_add_dep dma_fence_wait_start "

/* Which fence a job waits for, from 6.17 on */
static void test_dependencies(void)
{
	struct {
		uint8_t common[8];
		uint64_t context, seqno, dep_context, dep_seqno;
	} rec = { .context = 12, .seqno = 1, .dep_context = 1ull << 40 | 9, .dep_seqno = 77 };
	struct gt_eventmap *m = load(NEW_NAMES);
	struct gt_tp *waits = bound(m, 5, "gpu_scheduler", "drm_sched_job_unschedulable");

	text(m, 1, "drm_sched_job_queue",
	     "dev=0000:03:00.0, fence=12:1, ring=gfx_0.0.0, job count:0, hw job count:0, "
	     "client_id:9");
	is(raw(waits, &rec, sizeof(rec)), 1, "a job that waits for a fence");
	ok(got[0].ev.ctx == 12 && got[0].ev.seqno == 1 && got[0].ev.ref == (1ull << 40 | 9) &&
		   got[0].ev.value == 77,
	   "which job, which fence");
	ok(got[0].ev.flags == (GT_F_DEPENDS | GT_F_WAITS), "that it waits now");
	ok(got[0].ev.gpu == 0 && got[0].ev.ring == 0 && got[0].ev.pid == 5 &&
		   got[0].ev.tid == GT_NONE32,
	   "the place and the owner of the job, not of who runs the scheduler");
	is_str(maphost.last.name.text, "job_dependency", "it has a name");
	is(text(m, 2, "drm_sched_job_unschedulable",
		"fence=12:1 depends on unsignalled fence=13:5"),
	   1, "text");
	ok(got[0].ev.ctx == 12 && got[0].ev.seqno == 1 && got[0].ev.ref == 13 &&
		   got[0].ev.value == 5 && got[0].ev.flags & GT_F_WAITS,
	   "the same of it");
	is(text(m, 3, "drm_sched_job_add_dep", "fence=12:1 depends on fence=14:6"), 1,
	   "what it may have to wait for");
	ok(got[0].ev.ref == 14 && got[0].ev.value == 6 && got[0].ev.flags == GT_F_DEPENDS,
	   "is no wait yet");
	text(m, 4, "amdgpu_userq_wait_deps",
	     "dev=0000:03:00.0, client_id=9, type=0, doorbell=1040, context=17 depends on "
	     "fence=12:3");
	ok(got[0].ev.queue == 1040 && got[0].ev.ctx == 17 && got[0].ev.seqno == GT_NONE64 &&
		   got[0].ev.ref == 12 && got[0].ev.value == 3 && got[0].ev.pid == 5 &&
		   got[0].ev.flags == GT_F_DEPENDS,
	   "what a user queue's next work waits for");
	gt_eventmap_select(m, present, NULL, 2);
	ok(!gt_eventmap_find(m, NULL, "drm_sched_job_add_dep"),
	   "dependencies are for level verbose");
	gt_eventmap_free(m);
}

/* As amdgpu_userq_emit_fence of 7.3 lies in a ring buffer. */
struct user_fence {
	uint8_t common[8];
	uint64_t context, seqno;
	uint32_t dev, pad;
	uint64_t doorbell, client;
	uint32_t type;
	char text[16];
};

static const struct user_fence a_fence = { .context = 0x100000011,
					   .seqno = 640,
					   .dev = offsetof(struct user_fence, text) | 13 << 16,
					   .doorbell = 1040,
					   .client = 9,
					   .type = 1,
					   .text = "0000:03:00.0" };

/* Live, where the scheduler's events are, fences end those of user queues and no others. */
static void test_user_queues(void)
{
	struct gt_eventmap *m = load(" drm_sched_job_queue drm_sched_job_run drm_sched_job_done "
				     "dma_fence_signaled amdgpu_userq_emit_fence ");
	const struct gt_eventmap_stats *st = gt_eventmap_stats(m);
	struct gt_tp *emit = bound(m, 6, "amdgpu", "amdgpu_userq_emit_fence");
	struct gt_tp *end = bound(m, 6, "dma_fence", "dma_fence_signaled");
	struct user_fence f = a_fence;
	uint32_t fence[6] = { 0, 0, 0, 0, 0x11, 640 };

	is(raw(emit, &f, sizeof(f)), 1, "a user queue's fence is a submission");
	ok(got[0].ev.type == GT_SUBMIT && got[0].ev.ctx == 0x100000011 && got[0].ev.seqno == 640 &&
		   got[0].ev.queue == 1040 && got[0].ev.ref == 9 && got[0].ev.pid == 5,
	   "its context, number, queue, client and process");
	is_str(maphost.gpu[got[0].ev.gpu], "amdgpu 0000:03:00.0 -1", "its device");
	is_str(maphost.ring[got[0].ev.ring], "0 user_compute 2", "the ring of its type");
	is(text(m, 2, "dma_fence_wait_start",
		"driver=amdgpu_userq_fence timeline=game context=17 seqno=640"),
	   1, "a wait for it");
	ok(got[0].ev.gpu == 0 && got[0].ev.ring == 0, "finds its ring");

	text(m, 3, "drm_sched_job_queue",
	     "dev=0000:03:00.0, fence=12:1, ring=gfx_0.0.0, job count:0, hw job count:0, "
	     "client_id:9");
	fence[4] = 12;
	fence[5] = 1;
	is(raw(end, fence, sizeof(fence)), 0, "a scheduler's job does not end with its fence");
	is(st->unmatched, 0, "which is not counted");
	is(st->ignored, 1, "but ignored");
	is(text(m, 4, "drm_sched_job_done", "fence=12:1 signaled"), 1,
	   "it ends as the scheduler says");
	is(raw(end, fence, sizeof(fence)), 0, "and once");
	is(st->unmatched, 0, "a fence behind that is ignored, too");

	fence[4] = 0x11;
	fence[5] = 640;
	is(raw(end, fence, sizeof(fence)), 1, "the user queue's job ends with its fence");
	ok(got[0].ev.type == GT_COMPLETE && got[0].ev.ctx == 0x100000011 &&
		   got[0].ev.seqno == 640 && got[0].ev.pid == 5 && got[0].ev.ring == 0,
	   "COMPLETE of that job, with its owner");
	fence[5] = 576;
	is(raw(end, fence, sizeof(fence)), 1, "one that was submitted before the trace");
	ok(got[0].ev.ring == 0 && st->unmatched == 1, "is unmatched, and of its ring");

	fence[5] = 704;
	is(raw(end, fence, sizeof(fence)), 1, "a fence that signals before its event comes");
	f.seqno = 704;
	is(raw(emit, &f, sizeof(f)), 2, "its job ends as it begins");
	ok(got[0].ev.type == GT_SUBMIT && got[1].ev.type == GT_COMPLETE && got[1].ev.seqno == 704 &&
		   got[1].ev.flags == GT_F_INFERRED && got[1].ev.ref == GT_NONE64 &&
		   got[1].ev.pid == 5,
	   "which is concluded");
	is(raw(emit, &f, sizeof(f)), 2, "and so does one that asks again, with no work between");
	f.seqno = 705;
	is(raw(emit, &f, sizeof(f)), 1, "not the next");
	gt_eventmap_free(m);

	m = load(" drm_sched_job_queue drm_sched_job_run drm_sched_job_done dma_fence_signaled ");
	ok(!gt_eventmap_find(m, NULL, "dma_fence_signaled"),
	   "a kernel without user queues is spared all these fences");
	gt_eventmap_free(m);

	m = load(" dma_fence_signaled amdgpu_userq_emit_fence amdgpu_cs_ioctl ");
	text(m, 1, "amdgpu_userq_emit_fence",
	     "dev=0000:03:00.0, client_id=9, type=0, doorbell=1040, fence=17:640");
	is_str(maphost.ring[got[0].ev.ring], "0 user_gfx 1", "text");
	ok(got[0].ev.ctx == 17 && got[0].ev.seqno == 640 && got[0].ev.queue == 1040, "its fields");
	text(m, 1, "amdgpu_cs_ioctl", "timeline=gfx, fence=4929:3200, ring_name=gfx, num_ibs=1");
	is(text(m, 2, "dma_fence_signaled", "driver=x timeline=y context=17 seqno=640"), 1,
	   "without a scheduler's events both kinds end");
	is(text(m, 3, "dma_fence_signaled", "driver=x timeline=y context=4929 seqno=3200"), 1,
	   "each once");
	gt_eventmap_free(m);
}

/* In a recording a fence ends a job that has no other end: that was lost, or the job freed unrun. */
static void test_second_ends(void)
{
	struct gt_eventmap *m = load(" drm_sched_job_queue drm_sched_job_run drm_sched_job_done "
				     "dma_fence_signaled amdgpu_userq_emit_fence ");
	const struct gt_eventmap_stats *st = gt_eventmap_stats(m);

	for (int i = 1; i < 4; i++) {
		char job[128];

		snprintf(job, sizeof(job),
			 "dev=0000:03:00.0, fence=12:%d, ring=gfx_0.0.0, job count:0, hw job "
			 "count:0, client_id:9",
			 i);
		is(text(m, 1, "drm_sched_job_queue", job), 1, "job %d is queued", i);
	}
	is(text(m, 2, "drm_sched_job_done", "fence=12:1 signaled"), 1, "the first ends");
	is(text(m, 2, "dma_fence_signaled", "driver=x timeline=y context=12 seqno=1"), 0,
	   "which its fence says again");
	is(text(m, 3, "dma_fence_signaled", "driver=x timeline=y context=12 seqno=2"), 1,
	   "the second ends with its fence");
	ok(got[0].ev.type == GT_COMPLETE && got[0].ev.ctx == 12 && got[0].ev.seqno == 2,
	   "which is its end");
	is(text(m, 3, "drm_sched_job_done", "fence=12:3 signaled"), 1, "the third ends");
	is(text(m, 3, "dma_fence_signaled", "driver=x timeline=y context=13 seqno=3"), 0,
	   "a fence of the hardware is no job's");
	is(st->unmatched, 0, "nothing is unmatched");
	text(m, 4, "amdgpu_userq_emit_fence",
	     "dev=0000:03:00.0, client_id=9, type=0, doorbell=1040, fence=17:640");
	is(text(m, 5, "dma_fence_signaled", "driver=x timeline=y context=17 seqno=640"), 1,
	   "a user queue's job ends once");
	is(text(m, 6, "dma_fence_signaled", "driver=x timeline=y context=17 seqno=704"), 1,
	   "and so does one that was not seen");
	is(st->unmatched, 1, "which is counted");
	gt_eventmap_free(m);
}

static void test_user_queue_states(void)
{
	struct gt_eventmap *m = load(" amdgpu_userq_create_end ");
	int n;

	n = text(m, 1, "amdgpu_userq_create_end",
		 "queue=00000000cb6d5a27, doorbell=1040, type=1, state=1, xcp_id=0, result=0");
	ok(n == 2 && got[0].ev.type == GT_QUEUE_CREATE && got[1].ev.type == GT_QUEUE_MAP,
	   "a user queue is made, and mapped");
	ok(got[0].ev.queue == 1040 && got[0].ev.pid == 5, "its number and its process");
	is(text(m, 1, "amdgpu_userq_create_end",
		"queue=00000000cb6d5a27, doorbell=0, type=1, state=0, xcp_id=0, result=-12"),
	   0, "one that could not be made is none");
	text(m, 1, "amdgpu_userq_state_changed", "client_id=9, type=1, doorbell=1040, to=2");
	ok(got[0].ev.type == GT_QUEUE_UNMAP && got[0].ev.queue == 1040 && got[0].ev.ref == 9,
	   "preempted");
	text(m, 1, "amdgpu_userq_state_changed", "client_id=9, type=1, doorbell=1040, to=1");
	is(got[0].ev.type, GT_QUEUE_MAP, "mapped again");
	text(m, 1, "amdgpu_userq_state_changed", "client_id=9, type=1, doorbell=1040, to=3");
	ok(got[0].ev.type == GT_ERROR && got[0].ev.value == GT_ERR_TIMEOUT, "hung");
	text(m, 1, "amdgpu_userq_state_changed", "client_id=9, type=1, doorbell=1040, to=4");
	ok(got[0].ev.type == GT_ERROR && got[0].ev.value == GT_ERR_FAULT, "its memory is gone");
	text(m, 1, "amdgpu_userq_destroy_end",
	     "queue=00000000cb6d5a27, doorbell=1040, type=1, state=0, xcp_id=0, result=0");
	ok(got[0].ev.type == GT_QUEUE_DESTROY && got[0].ev.queue == 1040, "destroyed");
	gt_eventmap_free(m);
}

/* Every event of a queue that 7.3 has, and nothing of two GTs is taken for one. */
static void test_xe_gts(void)
{
	static const struct {
		const char *event;
		int type;
		uint64_t value;
	} events[] = {
		{ "xe_exec_queue_create", GT_QUEUE_CREATE, GT_NONE64 },
		{ "xe_exec_queue_create_multi_queue", GT_QUEUE_CREATE, GT_NONE64 },
		{ "xe_exec_queue_register", GT_QUEUE_MAP, GT_NONE64 },
		{ "xe_exec_queue_cgp_context_error", GT_ERROR, GT_ERR_RESET },
		{ "xe_guc_uncorrectable_error", GT_ERROR, GT_ERR_FAULT },
		{ "xe_exec_queue_destroy", GT_QUEUE_DESTROY, GT_NONE64 },
	};
	struct gt_eventmap *m = load(NULL);
	char line[200];

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		for (unsigned int gt = 0; gt < 2; gt++) {
			snprintf(line, sizeof(line),
				 "dev=0000:03:00.0, 3:0x1, gt=%u, width=1 guc_id=12, "
				 "guc_state=0x0, flags=0x0, primary=3",
				 gt);
			text(m, 1, events[i].event, line);
			ok(got[0].ev.type == events[i].type && got[0].ev.value == events[i].value &&
				   got[0].ev.queue == gt * 65536 + 12,
			   "%s of GT %u", events[i].event, gt);
		}
	}
	text(m, 1, "xe_exec_queue_reach_max_job_count",
	     "dev=0000:03:00.0, job count exceeded the maximum limit (2000) per exec queue. "
	     "engine_class=0x0, logical_mask=0x1, guc_id=12");
	ok(got[0].ev.type == GT_ERROR && got[0].ev.gpu == 0 && got[0].ev.queue == GT_NONE32,
	   "a submission that is refused: of which queue is not certain");
	for (unsigned int gt = 0; gt < 2; gt++) {
		snprintf(line, sizeof(line),
			 "dev=0000:03:00.0, fence=00000000aabbcc%02x, seqno=5, lrc_seqno=4, gt=%u, "
			 "guc_id=12, batch_addr=0x0000, guc_state=0x0, flags=0x1, error=0",
			 gt, gt);
		text(m, 1, "xe_sched_job_exec", line);
		ok(got[0].ev.ctx == gt * 65536 + 12 && got[0].ev.queue == gt * 65536 + 12,
		   "a job of GT %u", gt);
		is_str(maphost.ring[got[0].ev.ring], gt ? "0 gt1_guc12 0" : "0 gt0_guc12 0",
		       "its ring");
	}
	gt_eventmap_free(m);
}

/* xdna_job of 7.3 */
static void test_npu(void)
{
	struct {
		uint8_t common[8];
		uint32_t name, str;
		uint64_t context, seqno, seq;
		uint32_t op;
		char text[36];
	} rec = { .context = 21, .seqno = 4 };
	struct gt_eventmap *m = load(" xdna_job ");
	struct gt_tp *tp = bound(m, 6, "amdxdna", "xdna_job");

	rec.name = (uint32_t)offsetof(__typeof__(rec), text) | 5 << 16;
	rec.str = (uint32_t)(offsetof(__typeof__(rec), text) + 8) | 8 << 16;
	memcpy(rec.text, "ctx1\0\0\0\0job run", 16);
	is(raw(tp, &rec, sizeof(rec)), 2, "an NPU's job is handed over");
	ok(got[0].ev.type == GT_SUBMIT && got[1].ev.type == GT_COMMIT && got[0].ev.ctx == 21 &&
		   got[0].ev.seqno == 4,
	   "by its fence");
	is_str(maphost.ring[got[0].ev.ring], "0 npu 2", "its ring");
	is(text(m, 2, "xdna_job", "fence=(context:21, seqno:4), ctx1 seq#:4 job free, op=1"), 0,
	   "another step is ignored");
	is(text(m, 2, "xdna_job", "fence=(context:21, seqno:4), ctx1 seq#:4 signaling fence, op=1"),
	   1, "its end");
	ok(got[0].ev.type == GT_COMPLETE && got[0].ev.ctx == 21 && got[0].ev.ring == 0,
	   "COMPLETE, of its ring");
	text(m, 3, "xdna_job", "fence=(context:21, seqno:5), ctx1 seq#:5 job run");
	is(got[0].ev.seqno, 5, "6.18's text");
	text(m, 4, "xdna_job", "fence=(context:21, seqno:5), ctx1 seq#:5 job timedout");
	ok(got[0].ev.type == GT_ERROR && got[0].ev.value == GT_ERR_TIMEOUT && got[0].ev.seqno == 5,
	   "its timeout");
	is(text(m, 5, "xdna_job", "fence=(context:21, seqno:5), ctx1 seq#:5 signaled fence"), 1,
	   "its end, in the older words");
	gt_eventmap_free(m);
	m = load(" xdna_job drm_sched_job_run ");
	is(text(m, 1, "xdna_job", "fence=(context:21, seqno:5), ctx1 seq#:5 job run"), 0,
	   "left to the scheduler where its events are");
	gt_eventmap_free(m);
}

static void test_arm(void)
{
	struct {
		uint8_t common[8];
		uint32_t dev, events, duration;
		char text[12];
	} irq = { .dev = 20 | 9 << 16, .events = 0x80000001, .duration = 5250, .text = "fb000000" };
	struct gt_eventmap *m = load(NULL);

	raw(bound(m, 7, "panthor", "gpu_job_irq"), &irq, sizeof(irq));
	ok(got[0].ev.type == GT_IRQ && got[0].ev.value == 0x80000001 && got[0].ev.ref == 5250,
	   "an interrupt of panthor's, and how long it took");
	is_str(maphost.gpu[got[0].ev.gpu], "panthor fb000000 -1", "its device");
	text(m, 1, "gpu_job_irq", "fb000000.gpu: events=0x80000001 duration_ns=5250");
	ok(got[0].ev.value == 0x80000001 && got[0].ev.ref == 5250, "text");

	is(text(m, 1, "v3d_cpu_job_begin", "dev=0, job_type=2"), 2, "a CPU job of V3D");
	is_str(maphost.ring[got[0].ev.ring] + 2, "cpu 0", "its ring");
	is(text(m, 2, "v3d_cpu_job_end", "dev=0, job_type=2"), 1, "its end");
	ok(got[0].ev.type == GT_COMPLETE && got[0].ev.seqno == 1 && got[0].ev.pid == 5,
	   "of the job that began");
	is(text(m, 3, "v3d_cpu_job_end", "dev=0, job_type=2"), 0, "and of no other");
	gt_eventmap_free(m);
}

static void test_others(void)
{
	struct gt_eventmap *m = load(NULL);
	char buf[32] = "";
	const char *line = "dev=0000:03:00.0, 3:0x1, gt=0, width=1, guc_id=12, guc_state=0x0";
	struct gt_tp *tp = gt_eventmap_find(m, "xe", "xe_exec_queue_create");

	text(m, 1, "xe_exec_queue_create", line);
	ok(got[0].ev.type == GT_QUEUE_CREATE && got[0].ev.queue == 12, "an exec queue of Xe");
	ok(tp && gt_tp_text_dev(tp, line, strlen(line), buf, sizeof(buf)), "its device is found");
	is_str(buf, "0000:03:00.0", "whole");
	ok(!gt_tp_text_dev(tp, "guc_id=1", 8, buf, sizeof(buf)), "or is not");
	line = "dev=0000:03:00.0, fence=00000000aabbccdd, lrc_seqno=4, seqno=5, guc_id=12, "
	       "flags=0x1";
	text(m, 1, "xe_sched_job_exec", line);
	ok(got[0].ev.type == GT_SUBMIT && got[0].ev.seqno == 5 && got[0].ev.ctx == 12, "its job");
	text(m, 1, "xe_hw_fence_signal",
	     "dev=0000:03:00.0, ctx=0x11, fence=00000000aabbccdd, seqno=5");
	ok(got[0].ev.type == GT_COMPLETE && got[0].ev.seqno == 5, "ends with its hardware fence");

	text(m, 1, "msm_gpu_submit", "id=41 pid=99 ring=0 bos=3 cmds=1");
	is(text(m, 1, "msm_gpu_submit_retired",
		"id=41 pid=99 ring=0:7 elapsed=123456 ns mhz=500 start=1 end=2"),
	   1, "Adreno");
	ok(got[0].ev.value == 123456 && got[0].ev.pid == 5 && got[0].ev.seqno == 41,
	   "has the measured time and the job's owner");

	text(m, 1, "v3d_submit_cl", "dev=0, RCL, seqno=17, 0x00010000..0x00020000");
	is_str(maphost.ring[got[0].ev.ring] + 2, "rcl 1", "V3D's list is a word in text");
	is(text(m, 1, "v3d_rcl_irq", "dev=0, seqno=17"), 1, "and its end is the interrupt");

	text(m, 1, "kfd_map_memory_to_gpu_end",
	     "Process pid = 4321, array_size =\t2, StatusMsg=ok");
	ok(got[0].ev.type == GT_CUSTOM0 + 4 && got[0].ev.pid == 4321 && got[0].ev.value == 0,
	   "KFD");
	ok(maphost.last.name.type == GT_NAME && maphost.last.name.id == GT_CUSTOM0 + 4,
	   "the name of a custom event is pushed");
	is_str(maphost.last.name.text, "kfd_map_memory", "rightly");
	text(m, 1, "kfd_map_memory_to_gpu_start", "Process pid =4321");
	is(maphost.pushed, 1, "once");
	gt_eventmap_select(m, NULL, NULL, 2);
	ok(!gt_eventmap_find(m, NULL, "amdgpu_iv"), "interrupts are for level verbose");
	gt_eventmap_free(m);
}

/* What the host has no room for is malformed, and asked for again. */
static void test_full_host(void)
{
	struct gt_eventmap *m = load(NULL);
	const char *line = "task=1, context=1 seqno=1 pipe=lima_gp";

	maphost.full = true;
	is(text(m, 1, "lima_task_submit", line), 0, "a host that is full");
	is(gt_eventmap_stats(m)->malformed, 1, "is counted");
	maphost.full = false;
	is(text(m, 1, "lima_task_submit", line), 1, "and asked again");
	gt_eventmap_free(m);
}

int main(void)
{
	char path[64];

	for (int i = 0; i < KERNELS; i++) {
		snprintf(path, sizeof(path), "tests/data/format/%s.txt", kernels[i]);
		formats[i] = read_text(source_path(path));
	}
	test_bind_all();
	test_old_raw();
	test_new_text();
	test_old_text();
	test_amdgpu();
	test_amdgpu_raw();
	test_i915();
	test_virtio();
	test_dependencies();
	maphost_plugin.recording = false;
	test_user_queues();
	maphost_plugin.recording = true;
	test_second_ends();
	test_user_queue_states();
	test_xe_gts();
	test_npu();
	test_arm();
	test_others();
	test_full_host();
	for (int i = 0; i < KERNELS; i++)
		free(formats[i]);
	return done_testing();
}
