/* SPDX-License-Identifier: GPL-2.0 */
/* How a plugin opens recordings, and lists of their paths. */
#ifndef GT_RECORDING_H
#define GT_RECORDING_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../backend.h"

/**
 * gt_path_next() - takes the next path off a list, and overwrites *@list for that; NULL: the end
 * @sep: separator. In a path it is written with a backslash before it; a backslash before that, or at
 *	the end of a path, is doubled
 */
static inline char *gt_path_next(char **list, char sep)
{
	char *path, *out, *p;

	while (*list && **list == sep)
		(*list)++;
	if (!*list || !**list)
		return NULL;
	path = out = p = *list;
	while (*p && *p != sep) {
		size_t n = strspn(p, "\\"), keep = n;

		p += n;
		if (*p == sep || !*p)
			keep = n / 2 + (!*p && n % 2);
		memset(out, '\\', keep);
		out += keep;
		if (*p && (*p != sep || n % 2))
			*out++ = *p++;
	}
	*list = *p ? p + 1 : p;
	*out = '\0';
	return path;
}

/** gt_path_escape() - @path as written in such a list; the caller frees it. NULL: no memory */
static inline char *gt_path_escape(const char *path, char sep)
{
	char *escaped = malloc(2 * strlen(path) + 1), *out = escaped;

	while (escaped && *path) {
		size_t n = strspn(path, "\\");

		path += n;
		n *= *path == sep || !*path ? 2 : 1;
		n += *path == sep;
		memset(out, '\\', n);
		out += n;
		if (*path)
			*out++ = *path++;
	}
	if (escaped)
		*out = '\0';
	return escaped;
}

/**
 * gt_recording_open() - opens a recording of the option `files`: its unpacked data, or the file
 * @damage: NULL, or why part of the unpacked data is missing
 *
 * Return: a descriptor, to be read by pread(), or -errno.
 */
static inline int gt_recording_open(struct gt_plugin *p, const char *path, const char **damage)
{
	int fd = p->host->unpacked ? p->host->unpacked(p, path, damage) : -ENOENT;

	if (fd != -ENOENT)
		return fd;
	*damage = NULL;
	/* does not block on a pipe's writer or trace_pipe's next event */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

#endif
