/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Results that gzip has packed: read as they are unpacked, from the begin to the end. Whoever reads
 * backwards has it unpacked anew, so that a database is refused.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

struct rp_packed {
	gzFile file;
	struct rp_input *in;
	bool told;
};

bool rp_is_packed(const void *head, size_t len)
{
	return len >= 3 && !memcmp(head, "\x1f\x8b\x08", 3); /* RFC 1952, 2.3.1: deflate */
}

int rp_packed_open(struct rp_input *in)
{
	struct rp_packed *p = calloc(1, sizeof(*p));
	int fd = p ? dup(in->s->fd) : -1;

	if (fd >= 0 && !lseek(fd, 0, SEEK_SET))
		p->file = gzdopen(fd, "rb");
	if (p && p->file) {
		p->in = in;
		in->packed = p;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	free(p);
	return -ENOMEM;
}

/* It is told once, and before what else is wrong because of it */
static void tell_damage(struct rp_packed *p)
{
	int err = Z_OK;

	gzerror(p->file, &err);
	if (err == Z_OK || p->told)
		return;
	p->told = true;
	rp_fault(p->in, "is not whole: what gzip packed is cut or damaged");
}

ssize_t rp_packed_pread(struct rp_packed *p, void *buf, size_t len, uint64_t off)
{
	int n;

	if (off > INT64_MAX || gzseek(p->file, (z_off_t)off, SEEK_SET) < 0)
		return -EIO;
	n = gzread(p->file, buf, len < INT32_MAX ? (unsigned int)len : INT32_MAX);
	tell_damage(p);
	return n < 0 ? -EBADMSG : n;
}

void rp_packed_close(struct rp_input *in)
{
	if (in->packed)
		gzclose_r(in->packed->file);
	free(in->packed);
	in->packed = NULL;
}
