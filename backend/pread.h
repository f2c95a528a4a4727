/* SPDX-License-Identifier: GPL-2.0 */
/* All of what a file has there, however often it takes. */
#ifndef GT_PREAD_H
#define GT_PREAD_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/** gt_pread() - reads @len bytes at @off, or up to the end of the file; bytes, or -errno if none
 * could be read */
static inline ssize_t gt_pread(int fd, void *buf, size_t len, uint64_t off)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)buf + done, len - done, (off_t)(off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return done ? (ssize_t)done : -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

#endif
