/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Other clocks' times as CLOCK_MONOTONIC's. Two kinds:
 *
 * A clock that goes as CLOCK_MONOTONIC goes, but for jumps: CLOCK_BOOTTIME, which goes on while the
 * machine sleeps, and CLOCK_REALTIME, which is set. Its offset holds piece by piece: it is measured
 * at the start and at each change.
 *
 * One with a rate of its own: CLOCK_MONOTONIC_RAW, or a GPU's counter. It is a line through points
 * that were measured.
 *
 * Nothing here asks for more than clock_gettime(2), and a test brings clocks of its own.
 */
#ifndef GT_CLOCK_H
#define GT_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"

#define GT_CLOCK_PIECES 32
#define GT_CLOCK_POINTS 64

/**
 * struct gt_clock_piece - an offset and when it holds
 * @offset: to be added for CLOCK_MONOTONIC, ns; @uncertainty: of it
 * @from: the clock's own time from which on it is used
 * @doubt: from there up to @from a time may be of this piece or of the one before: @jump apart
 * @since: CLOCK_MONOTONIC when it was first seen, 0: the first measurement
 */
struct gt_clock_piece {
	int64_t offset;
	uint64_t uncertainty, from, doubt, jump, since;
};

/** struct gt_clock_steps - a clock with jumps; the oldest pieces are forgotten. @looked: when it
 * was measured last, CLOCK_MONOTONIC */
struct gt_clock_steps {
	struct gt_clock_piece piece[GT_CLOCK_PIECES];
	unsigned int n;
	uint64_t looked, changes;
};

/** struct gt_clock_line - a clock with a rate of its own: points, by time */
struct gt_clock_line {
	struct gt_clock_point {
		uint64_t at, mono, uncertainty;
	} point[GT_CLOCK_POINTS];
	unsigned int n;
};

/** struct gt_clocks - of this machine; @read: clock_gettime(2), ns, or a test's */
struct gt_clocks {
	struct gt_clock_steps boottime, realtime;
	struct gt_clock_line raw;
	uint64_t (*read)(void *arg, enum gt_clock_id clock);
	void *arg;
};

/** gt_clock_steps_add() - at @mono, CLOCK_MONOTONIC, the clock showed @at, @uncertainty ns at most
 * beside it. Return: true if that is a jump */
bool gt_clock_steps_add(struct gt_clock_steps *s, uint64_t at, uint64_t mono, uint64_t uncertainty);
/** gt_clock_steps_mono() - @at as CLOCK_MONOTONIC; @uncertainty: ns, may be NULL */
uint64_t gt_clock_steps_mono(const struct gt_clock_steps *s, uint64_t at, uint64_t *uncertainty);

/** gt_clock_line_add() - as gt_clock_steps_add(); a point that goes back begins anew, and points
 * too near to each other to tell a rate are one */
void gt_clock_line_add(struct gt_clock_line *l, uint64_t at, uint64_t mono, uint64_t uncertainty);
/** gt_clock_line_mono() - between points by them, outside by the rate of the nearest two; with one
 * point at CLOCK_MONOTONIC's rate */
uint64_t gt_clock_line_mono(const struct gt_clock_line *l, uint64_t at, uint64_t *uncertainty);

/** gt_clocks_init() - measures for the first time; @read NULL: this machine's clocks */
void gt_clocks_init(struct gt_clocks *c, uint64_t (*read)(void *arg, enum gt_clock_id clock),
		    void *arg);
/** gt_clocks_look() - measures again. Return: true if one jumped */
bool gt_clocks_look(struct gt_clocks *c);
/** gt_clocks_mono() - time @ts of @clock as CLOCK_MONOTONIC; what lies before the first measurement
 * is taken to be as it was then */
uint64_t gt_clocks_mono(const struct gt_clocks *c, enum gt_clock_id clock, uint64_t ts,
			uint64_t *uncertainty);
/** gt_clocks_offset() - what is added now to bring @clock to CLOCK_MONOTONIC */
int64_t gt_clocks_offset(const struct gt_clocks *c, enum gt_clock_id clock, uint64_t *uncertainty);
/** gt_clock_name() - "CLOCK_BOOTTIME" */
const char *gt_clock_name(enum gt_clock_id clock);
/** gt_clocks_lines() - the lines that a plugin's doctor() tells of its clock; their length */
size_t gt_clocks_lines(const struct gt_clocks *c, enum gt_clock_id clock, char *buf, size_t len);

#endif
