/* SPDX-License-Identifier: GPL-2.0 */
/* A file's JSON through yajl, a piece at a time: for whoever has callbacks for what is in it. */
#ifndef GT_ROCPROF_JSON_STREAM_H
#define GT_ROCPROF_JSON_STREAM_H

#include <yajl/yajl_parse.h>

#include "rocprof.h"

/** struct rp_walk - how far it is; @off: the next byte */
struct rp_walk {
	yajl_handle yajl;
	char *buf;
	uint64_t off;
};

/** rp_walk_at() - the byte that it stands at */
uint64_t rp_walk_at(const struct rp_walk *w);
/** rp_walk_begin() - the callbacks get @in; 0 or what rp_fail() gives */
int rp_walk_begin(struct rp_input *in, struct rp_walk *w, const yajl_callbacks *callbacks);
/** rp_walk_piece() - the next piece; returns what struct rp_format's @feed does */
int rp_walk_piece(struct rp_input *in, struct rp_walk *w);
/** rp_walk_done() - whether it has begun or not */
void rp_walk_done(struct rp_walk *w);

#endif
