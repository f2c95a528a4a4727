/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GT_CTF_H
#define GT_CTF_H

#include "../../backend/event.h"
#include "../text/text.h"
#include "stream.h"

/** struct gt_ctf_functions - names of functions by id; "" where there is none */
struct gt_ctf_functions {
	unsigned int n;
	const char (*name)[GT_FUNCTION_NAME];
};

/**
 * gt_ctf_metadata() - appends the CTF 1.8 metadata (TSDL) that describes a stream of records
 * @custom: gt_model.custom, names of the seven CUSTOM events; "" where there is none. Characters
 *	that are not [A-Za-z0-9_.:-] are printed as `_`. The model's lock is not taken: pass a copy
 * @f: gt_model.functions, a copy too; NULL: none. A name is the label of its number
 * @realtime_offset: gt_log.realtime_offset; 0 if times are those of a recording
 * @session: gt_log.session
 */
void gt_ctf_metadata(struct gt_text *t, const char (*custom)[32], const struct gt_ctf_functions *f,
		     int64_t realtime_offset, uint64_t session);

/**
 * gt_preamble_make() - fills @c->pre with what a reader must know before its first record
 * @c: log, model, view and scope are set; the array is owned by the cursor
 * @ts: time that all of it carries
 *
 * HEADER, then GPUs, rings, names of CUSTOM events and of functions, queues and living processes of the scope, as
 * the view may see them. The model's lock is held for one object at a time. Return: 0 or -ENOMEM.
 */
int gt_preamble_make(struct gt_cursor *c, uint64_t ts);

#endif
