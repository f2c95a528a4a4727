/* SPDX-License-Identifier: GPL-2.0 */
/* Reads results of rocprofv3 and rocprof: kernels that ran, copies, calls, counters. */
#include <linux/capability.h>

#include "internal.h"
#include "jobs/jobs.h"

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
	{ .name = NULL },
};

static const struct gt_backend_file files[] = {
	{ "files", "table: each file, what it is, whose, what came of it", rp_show_files },
	{ "calls", "table: calls of the runtimes' interfaces, by function", rp_file_calls },
	{ "memory", "table: allocations of memory and of scratch, by operation", rp_file_memory },
	{ 0 },
};

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "rocprof",
	.version = "1",
	.help = "results of rocprofv3 and rocprof: kernels, copies, calls, counters",
	.flags = GT_BACKEND_LIVE_PIDS | GT_BACKEND_STAYS,
	.options = options,
	.options_size = sizeof(struct rp_options),
	.probe = rp_probe,
	.start = rp_start,
	.drain = rp_drain,
	.stop = rp_stop,
	.set = rp_set,
	.control = rp_control,
	.doctor = rp_doctor,
	.start_caps = 1ULL << CAP_DAC_READ_SEARCH,	    /* root plays anybody's results */
	.syscalls = "kill inotify_init1 inotify_add_watch inotify_rm_watch", /* its child; folders */
	.files = files,
	.knows = rp_knows,
	.made = &rp_jobs,
};
