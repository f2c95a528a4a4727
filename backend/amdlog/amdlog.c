/* SPDX-License-Identifier: GPL-2.0 */
/* Follows, or plays, the logs that AMD's runtime writes where AMD_LOG_LEVEL and AMD_LOG_LEVEL_FILE
 * are set. */
#include <linux/capability.h>

#include "amdlog.h"

static const struct gt_option options[] = {
	{ .name = "files",
	  .type = GT_OPT_STR,
	  .flags = GT_OPT_RUNTIME,
	  .off = offsetof(struct gt_amd_options, files),
	  .help = "logs to follow: files, folders or patterns, separated by commas" },
	{ .name = "speed",
	  .type = GT_OPT_STR,
	  .flags = GT_OPT_HIDDEN,
	  .off = offsetof(struct gt_amd_options, speed),
	  .def = "0",
	  .help = "0: recordings are read as fast as it goes" },
	{ .name = "user_records",
	  .type = GT_OPT_INT,
	  .flags = GT_OPT_RUNTIME,
	  .off = offsetof(struct gt_amd_options, user_records),
	  .def = "50000",
	  .min = 0,
	  .max = GT_RATE_MAX,
	  .help = "records a second of the logs of any one user except root; 0 any number" },
	{ .name = NULL },
};

static const struct gt_backend_file files[] = {
	{ .name = "logs",
	  .help = "logs that are followed: owner, position, lines that were not understood",
	  .show = gt_amd_show_logs,
	  .columns = "state uid pid bytes lines foreign damaged records truncated used other "
		     "untimed first_foreign first_damaged log" },
	{ .name = "problems",
	  .help = "the last logs and folders that were left out, and why, a line each",
	  .show = gt_amd_show_problems },
	{ .name = NULL },
};

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "amdlog",
	.version = "1",
	.help = "follows and plays logs of AMD's runtime (AMD_LOG_LEVEL): queues, dispatches, "
		"copies",
	.flags = GT_BACKEND_LIVE_PIDS | GT_BACKEND_USERS,
	.options = options,
	.options_size = sizeof(struct gt_amd_options),
	.probe = gt_amd_probe,
	.start = gt_amd_start,
	.drain = gt_amd_drain,
	.stop = gt_amd_stop,
	.set = gt_amd_set,
	.control = gt_amd_control,
	.doctor = gt_amd_doctor,
	.start_caps = 1ULL << CAP_DAC_READ_SEARCH, /* users' logs are theirs; see file.c */
	.syscalls = "kill inotify_init1 inotify_add_watch inotify_rm_watch",
	.files = files,
	.probe_recording = gt_amd_knows,
};
