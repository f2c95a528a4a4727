/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process that reads saved dumps: no rights, few system calls, and no descriptor but the files
 * and a pipe. All that it says are rows of one size, which are checked.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../replay/internal.h" /* gt_child_*() */
#include "kfd_rows.h"
#include "play.h"

#define CPU_S  30
#define MEMORY (64u << 20)

/* The beginning of a file, "" if it cannot be read; a text ends at a NUL, a file does not */
static void read_file(int fd, char *text, struct sf_rows *all)
{
	size_t n = 0;
	ssize_t got = 1;

	while (n < SF_DUMP_MAX - 1 &&
	       (got = pread(fd, text + n, SF_DUMP_MAX - 1 - n, (off_t)n)) > 0)
		n += (size_t)got;
	all->cut += got > 0;
	for (char *nul = text; (nul = memchr(nul, '\0', n - (size_t)(nul - text)));)
		*nul = '?';
	text[n] = '\0';
}

static void write_all(const void *data, size_t len)
{
	const char *p = data;

	for (ssize_t n; len; p += n, len -= (size_t)n) {
		n = write(SF_PLAY_OUT, p, len);
		if (n <= 0)
			_exit(1);
	}
}

/* Descriptors first: slots are told by them. A line that is none is counted once. */
static void read_all(unsigned int n, char *text, struct sf_rows *all)
{
	for (unsigned int i = 0; i < n; i++) {
		read_file(SF_PLAY_FIRST + (int)i, text, all);
		all->bad += sf_dump_parse(text, sf_rows_mqd, all);
	}
	for (unsigned int i = 0; i < n; i++) {
		read_file(SF_PLAY_FIRST + (int)i, text, &(struct sf_rows){ .n = 0 });
		sf_dump_parse(text, sf_rows_hqd, all);
	}
}

void sf_play_child(unsigned int n, int parent)
{
	struct sf_rows all = { .n = 0 };
	struct sf_played head;
	char *text;

	gt_child_begin(parent);
	gt_child_limit(0, CPU_S, MEMORY);
	if (gt_child_confine())
		_exit(1);
	text = malloc(SF_DUMP_MAX);
	all.row = calloc(SF_ROWS, sizeof(*all.row));
	if (!text || !all.row)
		_exit(1);
	read_all(n, text, &all);
	head = (struct sf_played){ all.n, all.cut, all.bad };
	write_all(&head, sizeof(head));
	write_all(all.row, all.n * sizeof(*all.row));
	_exit(0);
}
