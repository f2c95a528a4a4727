/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Converts times of other clocks to CLOCK_MONOTONIC. There are two kinds of clocks:
 *
 * A clock with the rate of CLOCK_MONOTONIC, except for jumps: CLOCK_BOOTTIME, which goes on while the
 * machine sleeps, and CLOCK_REALTIME, which can be set. Its offset is constant between jumps; it is
 * measured at the start and at each change.
 *
 * A clock with a rate of its own: CLOCK_MONOTONIC_RAW, or a GPU's counter. It is a line through measured
 * points.
 *
 * All of it needs only clock_gettime(2), which a test replaces.
 */
#ifndef GT_CLOCK_H
#define GT_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../backend.h"

#define GT_CLOCK_PIECES 32
#define GT_CLOCK_POINTS 64

/**
 * struct gt_clock_piece - an offset, and when it is valid
 * @offset: added to a time gives CLOCK_MONOTONIC, ns
 * @uncertainty: of @offset
 * @from: the clock's own time from which on it is used
 * @doubt: between this and @from a time may belong to this piece or to the one before, which is @jump
 *	different
 * @since: CLOCK_MONOTONIC when it was first measured, 0: the first measurement
 */
struct gt_clock_piece {
	int64_t offset;
	uint64_t uncertainty, from, doubt, jump, since;
};

/** struct gt_clock_steps - a clock with jumps, of which the oldest pieces are dropped; @looked:
 * CLOCK_MONOTONIC of the last measurement */
struct gt_clock_steps {
	struct gt_clock_piece piece[GT_CLOCK_PIECES];
	unsigned int n;
	uint64_t looked, changes;
};

/** struct gt_clock_line - a clock with a rate of its own: points in order of time */
struct gt_clock_line {
	struct gt_clock_point {
		uint64_t at, mono, uncertainty;
	} point[GT_CLOCK_POINTS];
	unsigned int n;
};

/** struct gt_clocks - clocks of this machine; @read: clock_gettime(2) in ns, or a test's */
struct gt_clocks {
	struct gt_clock_steps boottime, realtime;
	struct gt_clock_line raw;
	uint64_t (*read)(void *arg, enum gt_clock_id clock);
	void *arg;
};

/** gt_clock_steps_add() - adds a measurement: the clock showed @at at @mono, CLOCK_MONOTONIC, +/-
 * @uncertainty ns. Return: true if that is a jump */
bool gt_clock_steps_add(struct gt_clock_steps *s, uint64_t at, uint64_t mono, uint64_t uncertainty);

/** gt_clock_line_add() - adds a measurement; one that goes back starts a new line, and points too close to
 * each other for a rate are one */
void gt_clock_line_add(struct gt_clock_line *l, uint64_t at, uint64_t mono, uint64_t uncertainty);
/** gt_clock_line_mono() - @at as CLOCK_MONOTONIC: interpolated, or extrapolated by the nearest two points;
 * with one point, by CLOCK_MONOTONIC's rate */
uint64_t gt_clock_line_mono(const struct gt_clock_line *l, uint64_t at, uint64_t *uncertainty);

/** gt_clocks_init() - measures for the first time; @read NULL: this machine's clocks */
void gt_clocks_init(struct gt_clocks *c, uint64_t (*read)(void *arg, enum gt_clock_id clock),
		    void *arg);
/** gt_clocks_measure() - measures again. Return: true if one jumped */
bool gt_clocks_measure(struct gt_clocks *c);
/** gt_clocks_mono() - time @ts of @clock as CLOCK_MONOTONIC; before the first measurement the offset is
 * taken to have been the same */
uint64_t gt_clocks_mono(const struct gt_clocks *c, enum gt_clock_id clock, uint64_t ts,
			uint64_t *uncertainty);
/** gt_clocks_offset() - what added to @clock gives CLOCK_MONOTONIC now */
int64_t gt_clocks_offset(const struct gt_clocks *c, enum gt_clock_id clock, uint64_t *uncertainty);
/** gt_clock_name() - "CLOCK_BOOTTIME" */
const char *gt_clock_name(enum gt_clock_id clock);
/** gt_clocks_lines() - writes the lines about a clock for a plugin's doctor(). Return: their length */
size_t gt_clocks_lines(const struct gt_clocks *c, enum gt_clock_id clock, char *buf, size_t len);

#endif
