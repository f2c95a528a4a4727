/* SPDX-License-Identifier: GPL-2.0 */
/* What att.c, which walks, and hotspots.c and occupancy.c, which sum up, share. */
#ifndef GT_ROCPROF_ATT_H
#define GT_ROCPROF_ATT_H

#include "internal.h"

#define RP_ATT_CELLS 12	  /* of a row that are looked at */
#define RP_ATT_TEXT  1024 /* bytes of one */

struct rp_hotspots;
struct rp_occupancy;

struct rp_hotspots *rp_hot_new(void);
/** rp_hot_row() - a row of code.json: text, -, line, source, object, address, hits, latency, stall,
 * idle, issued, stalled. Its texts may be taken: set to NULL then */
void rp_hot_row(struct rp_input *in, struct rp_hotspots *h, const double *number, char **text);
/** rp_hot_end() - there are no more: the last kernel is told, like each when the next begins */
void rp_hot_end(struct rp_input *in, struct rp_hotspots *h);
void rp_hot_free(struct rp_hotspots *h);

struct rp_occupancy *rp_occ_new(void);
/** rp_occ_row() - a row of occupancy.json: time, CU, SIMD, slot, began or ended, dispatch */
void rp_occ_row(struct rp_input *in, struct rp_occupancy *o, unsigned int se, const double *number,
		unsigned int n);
/** rp_occ_name() - which kernel dispatch @i is */
void rp_occ_name(struct rp_input *in, struct rp_occupancy *o, unsigned int i, const char *s,
		 size_t len);
void rp_occ_end(struct rp_input *in, struct rp_occupancy *o);

#endif
