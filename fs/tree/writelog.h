/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What became of writes: the last one of each user and session (last_cmd_status) and the last
 * refused ones (error_log). Both are bounded, and nobody pushes others out of them; any thread.
 */
#ifndef GT_WRITELOG_H
#define GT_WRITELOG_H

#include "../stream/stream.h"
#include "../text/text.h"

/*
 * How many entries there are, and how many of these one user may have: one more pushes out the
 * oldest own one. Where there is no room otherwise, who has most loses the oldest; root's stay. All
 * who have one uid in other PID namespaces are one user.
 */
#define GT_WRITELOG_ERRORS    64
#define GT_WRITELOG_ERRORS_1  8
#define GT_WRITELOG_CALLERS   256 /* users and sessions */
#define GT_WRITELOG_CALLERS_1 32
#define GT_WRITELOG_VALUE     64 /* bytes of a refused value that are kept */
#define GT_WRITELOG_SENTENCE  256
#define GT_WRITELOG_PATH      128
#define GT_WRITELOG_STATUS    (GT_WRITELOG_PATH + GT_WRITELOG_SENTENCE + 3) /* "path: sentence" */

/**
 * struct gt_refused - one refused write
 * @realtime: CLOCK_REALTIME, seconds
 * @len: of the value as it was written; more than GT_WRITELOG_VALUE of it is cut
 * @at: offset of the fault in the value, or GT_NONE32
 */
struct gt_refused {
	int64_t realtime;
	uint32_t pid, own_pid, uid; /* pid as the daemon and as the writer know it */
	uint64_t ns;		    /* the writer's PID namespace */
	int err;		    /* errno, positive */
	char path[GT_WRITELOG_PATH];
	char value[GT_WRITELOG_VALUE];
	size_t len;
	uint32_t at;
	char sentence[GT_WRITELOG_SENTENCE];
};

/** gt_writelog_new() - NULL if there is no memory */
struct gt_writelog *gt_writelog_new(void);
void gt_writelog_free(struct gt_writelog *w);

/** gt_writelog_session() - session id of @pid by /proc; 0 if it is not there */
uint32_t gt_writelog_session(uint32_t pid);

/** gt_writelog_status() - @sentence is what last_cmd_status says to @uid of PID namespace @ns in
 * @session from now on */
void gt_writelog_status(struct gt_writelog *w, uint32_t uid, uint64_t ns, uint32_t session,
			const char *sentence);

/** gt_writelog_show_status() - the sentence, or "ok" to who has written nothing */
void gt_writelog_show_status(struct gt_writelog *w, struct gt_text *t, const struct gt_view *v);
/** gt_writelog_show_errors() - the viewer's own entries, oldest first; all of them to root, and
 * those of a PID namespace to its root */
void gt_writelog_show_errors(struct gt_writelog *w, struct gt_text *t, const struct gt_view *v);
/** gt_writelog_gen() - changes with every write */
uint64_t gt_writelog_gen(struct gt_writelog *w);

#endif
