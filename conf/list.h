/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Settings that are lists: values separated by commas, with no blanks, at most GT_LIST_MAX of them;
 * "" is the empty list. `!` before the first means all but these. One parser for gputrace.conf,
 * mount options and config/.
 */
#ifndef GT_LIST_H
#define GT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_LIST_MAX    64
#define GT_PATTERN_LEN 96 /* of a ring's, with its NUL */

/** struct gt_numbers - upwards, each once; @but: all but these */
struct gt_numbers {
	unsigned int n;
	bool but;
	uint64_t v[GT_LIST_MAX];
};

/** struct gt_patterns - [GPU/]RING, where GPU is a name or glob, and RING a number, a name or glob
 */
struct gt_patterns {
	unsigned int n;
	bool but;
	char v[GT_LIST_MAX][GT_PATTERN_LEN];
};

/* All return 0, or with a sentence -EINVAL, -ERANGE or -E2BIG; gt_parse_at has the place. */

int gt_list_numbers(const char *s, uint64_t max, bool but, struct gt_numbers *out, char *err,
		    size_t len);
int gt_list_rings(const char *s, bool but, struct gt_patterns *out, char *err, size_t len);

/** gt_ring_matches() - does one of them mean ring @id, called @ring, of @gpu? */
bool gt_ring_matches(const struct gt_patterns *p, const char *gpu, unsigned int id,
		     const char *ring);
/** gt_glob() - `*`, `?` and [a-c]; in time len(@pattern) * len(@s), whatever is in them */
bool gt_glob(const char *pattern, const char *s);

/* The kinds of lists of options.def */
int gt_check_pids(const char *s, char *err, size_t len);
int gt_check_uids(const char *s, char *err, size_t len);
int gt_check_rings(const char *s, char *err, size_t len);
int gt_check_engines(const char *s, char *err, size_t len);
int gt_check_events(const char *s, char *err, size_t len);
int gt_check_watchlist(const char *s, char *err, size_t len);
int gt_check_contexts(const char *s, char *err, size_t len);

int gt_list_engines(const char *s, uint64_t *out, char *err, size_t len);
int gt_list_events(const char *s, uint64_t *out, char *err, size_t len);

#endif
