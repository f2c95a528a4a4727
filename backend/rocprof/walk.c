/* SPDX-License-Identifier: GPL-2.0 */
#include "walk.h"

#include <stdlib.h>
#include <string.h>

#define PIECE (64u << 10)

int rp_walk_begin(struct rp_input *in, struct rp_walk *w, const yajl_callbacks *callbacks)
{
	w->buf = malloc(PIECE);
	w->yajl = yajl_alloc(callbacks, NULL, in);
	if (!w->buf || !w->yajl)
		return rp_fail(in, "no memory");
	yajl_config(w->yajl, yajl_dont_validate_strings, 1);
	return 0;
}

int rp_walk_piece(struct rp_input *in, struct rp_walk *w)
{
	ssize_t n = rp_pread(in, w->buf, PIECE, w->off);
	yajl_status status;

	if (n < 0)
		return rp_fail(in, "cannot be read: %s", strerror((int)-n));
	status = n ? yajl_parse(w->yajl, (unsigned char *)w->buf, (size_t)n)
		   : yajl_complete_parse(w->yajl);
	if (status == yajl_status_ok) {
		w->off += (uint64_t)n;
		return n > 0;
	}
	if (!n)
		return rp_fail(in, "is cut: it ends within its JSON, at byte %llu",
			       (unsigned long long)w->off);
	return rp_fail(in,
		       status == yajl_status_client_canceled ? "is nested too deeply at byte %llu"
							     : "is no JSON from byte %llu on",
		       (unsigned long long)(w->off + yajl_get_bytes_consumed(w->yajl)));
}

void rp_walk_done(struct rp_walk *w)
{
	if (w->yajl)
		yajl_free(w->yajl);
	w->yajl = NULL;
	free(w->buf);
	w->buf = NULL;
}
