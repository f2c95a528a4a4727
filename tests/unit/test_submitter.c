/* SPDX-License-Identifier: GPL-2.0 */
/* The GPU of events that name none: by job, submitter and context, as submitter.c has it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../../backend/eventmap/internal.h"
#include "../../fs/devices.h"
#include "../lib/maphost.h"
#include "../lib/tap.h"
#include "../lib/tmp.h"

#define SECOND 1000000000ull

static union gt_record got[GT_TP_MAX_RECORDS];

static struct gt_eventmap *load(bool recording)
{
	static struct gt_plugin plugin;
	struct gt_eventmap *m;
	char err[512];

	memset(&maphost, 0, sizeof(maphost));
	plugin = maphost_plugin;
	plugin.recording = recording;
	m = gt_eventmap_load(&plugin, source_path("conf/events.d"), err, sizeof(err));
	if (!m)
		exit(!ok(false, "the maps can be loaded: %s", err));
	gt_eventmap_select(m, NULL, NULL, 2);
	return m;
}

/* The GPU of what @event becomes; "" if nothing */
static const char *gpu(struct gt_eventmap *m, uint64_t ts, uint32_t tid, const char *event,
		       const char *line)
{
	struct gt_evctx c = { .ts = ts, .tid = tid, .pid = tid, .cpu = 1 };
	struct gt_tp *tp = gt_eventmap_find(m, NULL, event);

	if (!tp || gt_tp_text(tp, &c, line, strlen(line), got, GT_TP_MAX_RECORDS) != 1)
		return "";
	return got[0].ev.gpu < maphost.gpus ? maphost.gpu[got[0].ev.gpu] : "none";
}

#define JOB(entity, id, fence)                                                                     \
	"entity=00000000" entity ", id=" id ", fence=00000000" fence                               \
	", ring=gfx, job count:1, hw job count:0"
#define DONE(fence) "fence=00000000" fence " signaled"

static void test_live(void)
{
	struct gt_eventmap *m = load(false);

	maphost.open[5] = "pci:5";
	maphost.open[6] = "pci:6";
	is_str(gpu(m, 1000, 5, "drm_sched_job", JOB("aaaaaaa1", "1", "fffffff1")), "- pci:5 -1",
	       "the submitter's GPU");
	is_str(gpu(m, 1010, 6, "drm_sched_job", JOB("aaaaaaa2", "1", "fffffff2")), "- pci:6 -1",
	       "another submitter's");
	is_str(gpu(m, 1020, 9, "drm_run_job", JOB("aaaaaaa2", "1", "fffffff2")), "- pci:6 -1",
	       "a kernel thread hands over: by the job");
	is_str(gpu(m, 1030, 0, "drm_sched_process_job", DONE("fffffff2")), "- pci:6 -1",
	       "and its end");
	is_str(gpu(m, 1040, 0, "drm_sched_process_job", DONE("fffffff1")), "- pci:5 -1",
	       "the other's end");
	is(maphost.looks, 2, "each submitter was looked at once");

	is_str(gpu(m, 1050, 9, "drm_run_job", JOB("aaaaaaa1", "2", "fffffff3")), "- pci:5 -1",
	       "a job of which the submission was not seen: by its context");
	is_str(gpu(m, 1060, 7, "drm_sched_job", JOB("aaaaaaa1", "3", "fffffff4")), "- pci:5 -1",
	       "a submitter of whom nothing is known, in a known context");
	is_str(gpu(m, 1070, 7, "drm_sched_job", JOB("aaaaaaa3", "1", "fffffff5")), "- - -1",
	       "in an unknown one: the GPU that stands for all");
	is_str(gpu(m, 1080, 6, "drm_sched_job", JOB("aaaaaaa1", "4", "fffffff6")), "- pci:6 -1",
	       "a context's address used again by another: by the submitter");
	is_str(gpu(m, 1090, 9, "drm_run_job", JOB("aaaaaaa1", "4", "fffffff6")), "- pci:6 -1",
	       "and is remembered");

	maphost.open[7] = "pci:7";
	is_str(gpu(m, 1100, 7, "drm_sched_job", JOB("aaaaaaa3", "2", "fffffff7")), "- - -1",
	       "what was said holds for a second");
	is_str(gpu(m, 1070 + SECOND, 7, "drm_sched_job", JOB("aaaaaaa3", "3", "fffffff8")),
	       "- pci:7 -1", "then is asked again");
	gt_eventmap_free(m);
}

static void test_reported(void)
{
	struct gt_eventmap *m = load(false);

	maphost.open[5] = "pci:5";
	is_str(gpu(m, 1, 5, "drm_sched_job_queue",
		   "dev=pci:9, fence=12:1, ring=gfx, job count:1, hw job count:0, client_id:3"),
	       "- pci:9 -1", "a name in the event has priority");
	is(maphost.looks, 0, "and nobody is asked");
	gt_eventmap_free(m);
}

/* amdgpu's user queues: their events name a doorbell and no device */
static void test_queue(void)
{
	struct gt_eventmap *m = load(false);

	maphost.open[5] = "pci:5";
	is_str(gpu(m, 1, 5, "amdgpu_userq_create_end",
		   "queue=00000000aaaaaaa1, doorbell=7, type=0, state=0, xcp_id=0, result=0"),
	       "amdgpu pci:5 -1", "a queue is on the GPU that its maker has open");
	is_str(gpu(m, 2, 5, "amdgpu_userq_destroy_end",
		   "queue=00000000aaaaaaa1, doorbell=7, type=0, state=0, xcp_id=0, result=0"),
	       "amdgpu pci:5 -1", "and its end");
	is_str(gpu(m, 3, 9, "amdgpu_userq_state_changed", "client_id=9, type=0, doorbell=7, to=1"),
	       "amdgpu - -1", "a kernel thread's event is of the driver's only GPU");
	gt_eventmap_free(m);
}

/* One of 6.17's, with the fields that change */
#define NEW(fence) "dev=pci:5, fence=" fence ", ring=gfx, job count:1, hw job count:0, client_id:3"

static bool only_old(void *arg, const char *system, const char *event)
{
	return strncmp(event, "drm_sched_job_", 14) != 0;
}

static bool all_there(void *arg, const char *system, const char *event)
{
	return true;
}

static void test_twice(void)
{
	struct gt_eventmap *m = load(false);

	maphost.open[5] = "pci:5";
	maphost.open[6] = "pci:6";
	is_str(gpu(m, 5000, 5, "drm_sched_job", JOB("aaaaaaa1", "1", "fffffff1")), "- pci:5 -1",
	       "reported by the old name, as the new one is not known yet");
	is_str(gpu(m, 5500, 5, "drm_sched_job_queue", NEW("12:1")), "",
	       "then by the new one: nothing more is reported");
	is_str(gpu(m, 6000, 9, "drm_run_job", JOB("aaaaaaa1", "1", "fffffff1")), "",
	       "from now on the old ones say nothing");
	is_str(gpu(m, 6500, 9, "drm_sched_job_run", NEW("12:1")), "- pci:5 -1", "the new ones do");
	ok(got[0].ev.ctx == 1 && got[0].ev.seqno == 1, "with the numbers that were reported first");
	is_str(gpu(m, 6900, 0, "drm_sched_process_job", DONE("fffffff1")), "",
	       "the old end is of no job any more");
	is_str(gpu(m, 7000, 0, "drm_sched_job_done", "fence=12:1 signaled"), "- pci:5 -1",
	       "to its end");
	ok(got[0].ev.ctx == 1 && got[0].ev.seqno == 1, "with the same numbers");
	is_str(gpu(m, 6400, 5, "drm_sched_job", JOB("aaaaaaa1", "2", "fffffff2")), "",
	       "an old one that comes late says nothing either");
	is_str(gpu(m, 8000, 5, "drm_sched_job_queue", NEW("12:2")), "- pci:5 -1", "the next job");
	ok(got[0].ev.ctx == 12 && got[0].ev.seqno == 2, "has its own");

	is_str(gpu(m, 2 * SECOND, 5, "drm_sched_job", JOB("aaaaaaa1", "3", "fffffff1")),
	       "- pci:5 -1", "after a second of silence the old one is heard again");
	is_str(gpu(m, 2 * SECOND + 1, 6, "drm_sched_job", JOB("aaaaaaa2", "4", "fffffff2")),
	       "- pci:6 -1", "another thread's, too");
	is_str(gpu(m, 2 * SECOND + 2000000, 5, "drm_sched_job_queue", NEW("12:3")), "",
	       "the new one reports the first's again, some time later");
	is_str(gpu(m, 2 * SECOND + 3000000, 6, "drm_sched_job_queue", NEW("13:1")), "",
	       "and the other's");
	gt_eventmap_refresh(m, only_old, NULL);
	is_str(gpu(m, 2 * SECOND + 4000000, 5, "drm_sched_job", JOB("aaaaaaa1", "4", "fffffff4")),
	       "- pci:5 -1", "the new ones' module is gone: the old are heard at once");
	gt_eventmap_refresh(m, all_there, NULL);
	is_str(gpu(m, 4 * SECOND, 5, "drm_sched_job", JOB("aaaaaaa1", "5", "fffffff1")),
	       "- pci:5 -1", "silence again");
	is_str(gpu(m, 5 * SECOND + 1, 5, "drm_sched_job_queue", NEW("12:4")), "- pci:5 -1",
	       "one that comes a second later is another job");
	is_str(gpu(m, 7 * SECOND, 9, "drm_run_job", JOB("aaaaaaa3", "1", "fffffff9")), "",
	       "an old hand-over after a silence is not that of another job");
	is_str(gpu(m, 7 * SECOND + 1, 9, "drm_sched_job_run", NEW("12:4")), "- pci:5 -1",
	       "but the new one's");
	ok(got[0].ev.ctx == 12 && got[0].ev.seqno == 4, "with its numbers");
	gt_eventmap_free(m);
}

static void test_recording(void)
{
	struct gt_eventmap *m = load(true);

	maphost.open[5] = "pci:5";
	is_str(gpu(m, 1, 5, "drm_sched_job", JOB("aaaaaaa1", "1", "fffffff1")), "- - -1",
	       "a recording's threads are not this machine's");
	is(maphost.looks, 0, "nobody is asked");
	gt_eventmap_free(m);
}

static void test_many(void)
{
	struct gt_eventmap *m = load(false);
	char line[200];
	int n = 0;

	for (unsigned int i = 0; i < 3 * GT_MAP_SMALL; i++) {
		snprintf(line, sizeof(line),
			 "entity=%016x, id=1, fence=%016x, ring=gfx, job count:1, hw job count:0",
			 0x10000 + i, 0x20000 + i);
		n += !strcmp(gpu(m, 1, 100 + i, "drm_sched_job", line), "- - -1");
	}
	is(n, 3 * GT_MAP_SMALL, "more threads and contexts than are remembered");
	is(m->submitters.count, GT_MAP_SMALL, "the table is bounded");
	gt_eventmap_free(m);
}

/* A device node of DRM's, which no driver has to be behind: O_PATH opens none */
static int drm_fd(unsigned int minor)
{
	char path[TMP_PATH_MAX], node[TMP_PATH_MAX + 2];
	int fd;

	if (!tmp_dir(path, "gt-submitter"))
		return -1;
	snprintf(node, sizeof(node), "%s/x", path);
	fd = mknod(node, S_IFCHR | 0600, makedev(226, minor)) ? -1 : open(node, O_PATH | O_CLOEXEC);
	unlink(node);
	rmdir(path);
	return fd;
}

static void test_drmfds(void)
{
	unsigned int minors[4], look = 4096, none = 0, one = 1;
	uint32_t me = (uint32_t)getpid();
	int fd[3];

	is(gt_drmfds(me, minors, 4, &look), 0, "this test has no GPU open");
	ok(look < 4096, "it has some descriptors");
	is(gt_drmfds(0x7fffffff, minors, 4, &look), -ENOENT, "a process that is not there");
	fd[0] = drm_fd(128);
	if (fd[0] < 0) {
		ok(true, "GPUs # skip mknod is refused");
		return;
	}
	fd[1] = drm_fd(128);
	fd[2] = drm_fd(1);
	look = 4096;
	is(gt_drmfds(me, minors, 4, &look), 2, "two GPUs");
	ok(minors[0] == 128 && minors[1] == 1, "of these numbers");
	is(gt_drmfds(me, minors, 1, &look), -E2BIG, "more than there is room for");
	is(gt_drmfds(me, minors, 4, &none), -E2BIG, "none may be looked at");
	is(gt_drmfds(me, minors, 4, &one), -E2BIG, "some are left that were not looked at");
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}

/* A FUSE mount with a daemon that never answers: even stat(2) of its root would wait, killably. */
static void test_no_answer(void)
{
	char dir[TMP_PATH_MAX] = "", opts[80];
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), fd = -1;
	unsigned int minors[4], look = 4096;

	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || !tmp_dir(dir, "gt-submitter") || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("gt", dir, "fuse", 0, opts)) {
		ok(true, "a file system that does not answer # skip %s", strerror(errno));
	} else {
		fd = open(dir, O_PATH | O_CLOEXEC);
		alarm(60);
		is(gt_drmfds((uint32_t)getpid(), minors, 4, &look), 0,
		   "nobody waits for a file system that does not answer");
		alarm(0);
		umount2(dir, MNT_DETACH);
	}
	close(fd);
	close(fuse);
	rmdir(dir);
}

int main(void)
{
	test_live();
	test_reported();
	test_queue();
	test_twice();
	test_recording();
	test_many();
	test_drmfds();
	test_no_answer();
	return done_testing();
}
