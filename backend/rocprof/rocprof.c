/* SPDX-License-Identifier: GPL-2.0 */
/* Reads results of rocprofv3 and rocprof: kernels that ran, copies, calls, counters. */
#include <linux/capability.h>

#include "rocprof.h"
#include "jobs.h"

#define OPT(field) offsetof(struct rp_options, field)

static const struct gt_option options[] = {
	{ .name = "files",
	  .type = GT_OPT_STR,
	  .flags = GT_OPT_HIDDEN,
	  .off = OPT(files),
	  .help = "results to play, files or folders, separated by colons" },
	{ .name = "dirs",
	  .type = GT_OPT_STR,
	  .flags = GT_OPT_RUNTIME,
	  .off = OPT(dirs),
	  .help = "folders that are watched for results, separated by commas" },
	{ .name = "speed",
	  .type = GT_OPT_STR,
	  .flags = GT_OPT_HIDDEN,
	  .off = OPT(speed),
	  .def = "0",
	  .help = "0: results are read as fast as it goes" },
	{ .name = "user_rows",
	  .type = GT_OPT_INT,
	  .flags = GT_OPT_RUNTIME,
	  .off = OPT(user_rows),
	  .def = "50000",
	  .min = 0,
	  .max = GT_RATE_MAX,
	  .help = "rows a second of the results of any one user except root; 0 any number" },
	{ .name = NULL },
};

static const struct gt_backend_file files[] = {
	{ "files", "each file of results: kind, owner, what came of it", rp_show_files,
	  "state table uid rows faults path" },
	{ "problems", "what is wrong with files of results, a line each", rp_show_problems, NULL },
	{ "users", "each owner of results in watched folders: what was read, and what had to wait",
	  rp_show_users, "uid files reading readings failed rows waits cpu_ns over_share" },
	{ "calls", "calls of the runtimes' interfaces, by user and function", rp_file_calls,
	  "uid calls total_ns min_ns max_ns function" },
	{ "allocations", "of memory and of scratch, by user and operation", rp_file_allocations,
	  "uid kind gpu count bytes total_ns operation" },
	{ 0 },
};

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "rocprof",
	.version = "1",
	.help = "results of rocprofv3 and rocprof: kernels, copies, calls, counters",
	.flags = GT_BACKEND_LIVE_PIDS | GT_BACKEND_STAYS | GT_BACKEND_LATER | GT_BACKEND_USERS,
	.options = options,
	.options_size = sizeof(struct rp_options),
	.probe = rp_probe,
	.start = rp_start,
	.drain = rp_drain,
	.stop = rp_stop,
	.set = rp_set,
	.control = rp_control,
	.doctor = rp_doctor,
	.start_caps = 1ULL << CAP_DAC_READ_SEARCH,	  /* root plays anybody's results */
	.syscalls = "kill sched_setscheduler ioprio_set " /* its children */
		    "inotify_init1 inotify_add_watch inotify_rm_watch", /* folders */
	.files = files,
	.probe_recording = rp_knows,
	.userdirs = &rp_jobs,
	.packed = rp_packed,
};
