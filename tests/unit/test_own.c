/* SPDX-License-Identifier: GPL-2.0 */
/* Which maps' jobs a source may match and count itself, and what it is reported their records. */
#include <string.h>

#include "../lib/maphost.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

static char *formats, *older;
static const char *offered;

static bool present(void *arg, const char *system, const char *event)
{
	char word[128];

	snprintf(word, sizeof(word), " %s ", event);
	return strstr(offered, word);
}

static struct gt_eventmap *load(const char *dir, const char *offer)
{
	struct gt_eventmap *m;
	struct gt_tp *tp;
	char err[512];

	memset(&maphost, 0, sizeof(maphost));
	m = gt_eventmap_load(&maphost_plugin, dir, err, sizeof(err));
	if (!m)
		exit(!ok(false, "the maps can be loaded: %s", err));
	offered = offer;
	gt_eventmap_select(m, present, NULL, 2);
	for (unsigned int i = 0; (tp = gt_eventmap_each(m, i)); i++) {
		size_t n = 0;
		const char *f = find_format(formats, gt_tp_system(tp), gt_tp_event(tp), &n);

		if (!f)
			f = find_format(older, gt_tp_system(tp), gt_tp_event(tp), &n);
		if (f && present(NULL, NULL, gt_tp_event(tp)))
			gt_tp_bind(tp, f, n, NULL, NULL, 0);
	}
	return m;
}

static bool job(struct gt_eventmap *m, const char *system, const char *event, struct gt_tp_job *j)
{
	const struct gt_tp *tp = gt_eventmap_find(m, system, event);

	return tp && gt_tp_job(tp, j);
}

/* The scheduler's events of Linux 6.17, as distributions have them in 6.12 too */
static void check_scheduler(void)
{
	struct gt_eventmap *m = load(source_path("conf/events.d"),
				     " drm_sched_job_queue drm_sched_job_run drm_sched_job_done "
				     "dma_fence_signaled dma_fence_wait_start ");
	struct gt_tp_job q, r, d, w;

	ok(job(m, "gpu_scheduler", "drm_sched_job_queue", &q) && q.types == 1 << GT_SUBMIT &&
		   q.begins && q.key == (GT_KEY_CTX | GT_KEY_SEQNO),
	   "the scheduler's submissions are a source's to count");
	ok(q.npiece == 2 && q.piece[0].kind == GT_PIECE_DYN && q.piece[1].kind == GT_PIECE_DYN &&
		   q.ctx.size == 8 && q.seqno.size == 8,
	   "… their device and ring are reported by two strings, their job by two numbers");
	ok(job(m, "gpu_scheduler", "drm_sched_job_run", &r) && r.types == 1 << GT_COMMIT &&
		   !r.begins && r.seed == q.seed,
	   "a hand-over begins nothing where submissions are reported, and is of the same rings");
	ok(job(m, "gpu_scheduler", "drm_sched_job_done", &d) && d.types == 1 << GT_COMPLETE &&
		   !d.npiece,
	   "an end is of its job's ring");
	is(gt_tp_wait(gt_eventmap_find(m, "dma_fence", "dma_fence_wait_start"), &w), true,
	   "a wait's job is reported by the same key");
	gt_eventmap_free(m);
}

static void check_others(void)
{
	struct gt_eventmap *m =
		load(source_path("conf/events.d"),
		     " msm_gpu_submit msm_gpu_submit_flush msm_gpu_submit_retired ");
	struct gt_tp_job j;

	is(job(m, "drm_msm_gpu", "msm_gpu_submit", &j), false,
	   "a map that tells measured times is not");
	gt_eventmap_free(m);
	m = load(source_path("conf/events.d"), " v3d_submit_cl v3d_bcl_irq v3d_rcl_irq ");
	is(job(m, "v3d", "v3d_submit_cl", &j), false, "nor one that tells rings in several ways");
	gt_eventmap_free(m);
	m = load(source_path("conf/events.d"), " virtio_gpu_cmd_queue virtio_gpu_cmd_response ");
	is(job(m, "virtio_gpu", "virtio_gpu_cmd_queue", &j), false,
	   "nor a tracepoint of two sections");
	gt_eventmap_free(m);
	m = load(source_path("conf/events.d"),
		 " xe_sched_job_exec xe_sched_job_run xe_hw_fence_signal ");
	is(job(m, "xe", "xe_sched_job_exec", &j), false, "nor one with queues");
	gt_eventmap_free(m);
}

/* A map of its own, in which one thing differs at a time */
static bool with(const char *submit, const char *complete, const char *more)
{
	struct gt_tp_job j;
	struct gt_eventmap *m;
	char dir[TMP_PATH_MAX], path[TMP_PATH_MAX + 8], cmd[TMP_PATH_MAX + 8];
	FILE *f;
	bool can;

	if (!tmp_dir(dir, "gt-own"))
		return false;
	snprintf(path, sizeof(path), "%s/own.ini", dir);
	f = fopen(path, "w");
	fprintf(f,
		"[map]\ndriver = own\n[gpu_scheduler/drm_sched_job_queue]\nevent = SUBMIT\n%s"
		"[gpu_scheduler/drm_sched_job_done]\nevent = COMPLETE\n%s%s",
		submit, complete, more);
	fclose(f);
	m = load(dir, " drm_sched_job_queue drm_sched_job_run drm_sched_job_done ");
	can = job(m, "gpu_scheduler", "drm_sched_job_queue", &j);
	gt_eventmap_free(m);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return !system(cmd) && can;
}

#define KEY "ctx = fence_context\nseqno = fence_seqno\nmatch = ctx seqno\n"

static void check_one_by_one(void)
{
	static const char place[] = "dev = {dev}\nring = {name}\n" KEY;

	ok(with(place, KEY, ""), "a plain map's jobs are a source's to count");
	ok(!with("ring = {name}\n" KEY, KEY, ""), "not if no device is reported");
	ok(!with(place, "value = fence_seqno\n" KEY, ""), "not if an end tells what it measured");
	ok(!with("dev = {dev}\nring = {name}\nqueue = fence_seqno\n" KEY, KEY, ""),
	   "not with queues");
	ok(!with(place, "ctx = fence_context\nseqno = fence_seqno\nmatch = seqno\n", ""),
	   "not if the end has another key");
	ok(!with(place, KEY,
		 "[gpu_scheduler/drm_sched_job_run]\nevent = START\ndev = {dev}\nring = "
		 "{name}\n" KEY),
	   "not if the hardware's own begin is reported");
	ok(with(place, KEY,
		"[gpu_scheduler/drm_sched_job_run]\nevent = COMMIT\ndev = {dev}\nring = "
		"{name}\n" KEY),
	   "but with a hand-over");
	ok(!with(place, KEY,
		 "[gpu_scheduler/drm_sched_job_run]\nevent = COMMIT\ndev = {dev}\nring = "
		 "r{name}\n" KEY),
	   "not one that writes the ring otherwise");
	ok(!with(place, KEY, "[gpu_scheduler/drm_sched_job_done 2]\nevent = ERROR\n"),
	   "not if a tracepoint has two sections");
}

int main(void)
{
	maphost_plugin.recording = false;
	formats = read_text(source_path("tests/data/format/6.12.txt"));
	older = read_text(source_path("tests/data/format/6.1.txt"));
	check_scheduler();
	check_others();
	check_one_by_one();
	free(formats);
	free(older);
	return done_testing();
}
