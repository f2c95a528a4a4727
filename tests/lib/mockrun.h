/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs the mock program (tests/tools/mockjobs.c) with uprobes on it that stand in for the GPU
 * scheduler's tracepoints, and reads what it says it did. Everything is undone at exit.
 */
#ifndef GT_TEST_MOCKRUN_H
#define GT_TEST_MOCKRUN_H

#include <stdbool.h>
#include <stddef.h>

#include "../../backend/event.h"

/** struct mock_call - one call the mock made, at a time from @before to @after */
struct mock_call {
	enum gt_type type; /* GT_SUBMIT, GT_COMMIT or GT_COMPLETE */
	char ring[16];
	unsigned long long id, ctx, seqno, fence, before, after;
	unsigned int pid, tid;
};

/**
 * mock_find() - copies the mock (tools/mockjobs beside the program @self) into $TMPDIR, and looks for
 * what it needs
 * @tracefs: out: where it is mounted
 *
 * Return: NULL, or why the mock cannot be used here.
 */
const char *mock_find(const char *self, const char **tracefs);

/**
 * mock_maps() - the scheduler's event maps of @dir, changed so that they name the stand-ins
 *
 * To other daemons and tests on this machine the stand-ins are no GPU events: their group is this test's own.
 *
 * Return: their folder, which goes at exit; NULL if it could not be made.
 */
const char *mock_maps(const char *dir);

/** mock_probes() - adds the stand-ins for the old names (@new_names false) or the new ones */
bool mock_probes(bool new_names);

/** mock_start() - runs it with options -n, -d and -m, and three processes that submit */
void mock_start(const char *jobs, const char *max_us, const char *names);
/** mock_poll() - has it ended? @wait: waits for that. *@good: with success */
bool mock_poll(bool wait, bool *good);

/** mock_truth() - what the last run did, by time of the calls' beginning; free() @calls */
size_t mock_truth(struct mock_call **calls);

#endif
