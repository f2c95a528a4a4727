/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plays recordings: streams saved from an `events` pipe, trace.dat, ftrace text, what was saved of
 * grtrace's relay files, and its annotator's text. Several files are merged by time.
 */
#include <linux/capability.h>

#include "replay.h"

#define TEN_YEARS  (3650LL * 86400 * 1000000000)
#define OPT(field) offsetof(struct gt_replay_options, field)

static const struct gt_option options[] = {
	{ .name = "files",
	  .type = GT_OPT_STR,
	  .flags = GT_OPT_HIDDEN,
	  .off = OPT(files),
	  .help = "recordings to play, separated by colons" },
	{ .name = "speed",
	  .type = GT_OPT_STR,
	  .flags = GT_OPT_RUNTIME,
	  .off = OPT(speed),
	  .def = "0",
	  .help = "times real time, such as 1 or 0.5; 0 plays as fast as it reads" },
	{ .name = "relay_clock_offset",
	  .type = GT_OPT_INT,
	  .off = OPT(relay_clock_offset),
	  .def = "0",
	  .min = -TEN_YEARS,
	  .max = TEN_YEARS,
	  .help = "ns added to the times of grtrace's dumps, if their clock is not that of the "
		  "other files" },
	{ .name = "relay_types",
	  .type = GT_OPT_STR,
	  .off = OPT(relay_types),
	  .help = "numbers of grtrace's types where its dumps have no table of them: "
		  "SUBMIT=0,START=4; "
		  "empty: grtrace's own" },
	{ .name = NULL },
};

GT_EXPORT const struct gt_backend gt_backend = {
	.abi = GT_BACKEND_ABI,
	.size = sizeof(struct gt_backend),
	.name = "replay",
	.version = "1",
	.help = "plays recordings: saved streams, trace.dat, grtrace's dumps, ftrace text",
	.flags = GT_BACKEND_RECORDING | GT_BACKEND_DEMAND,
	.options = options,
	.options_size = sizeof(struct gt_replay_options),
	.probe = gt_replay_probe,
	.start = gt_replay_start,
	.drain = gt_replay_drain,
	.stop = gt_replay_stop,
	.set = gt_replay_set,
	.control = gt_replay_control,
	.doctor = gt_replay_doctor,
	.probe_recording = gt_replay_knows,
	.start_caps = 1ULL << CAP_DAC_READ_SEARCH, /* root plays anybody's recording */
	.syscalls = "kill mkstemp", /* its child, which unpacks a trace.dat to a file of its own */
};
