/* SPDX-License-Identifier: GPL-2.0 */
/* What programs of tests/fuzz share: numbers that a seed determines, and an end to what hangs. */
#ifndef GT_TESTS_FUZZ_H
#define GT_TESTS_FUZZ_H

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_S 60 /* to be given to alarm() */

static char what[128]; /* is being tried */
static uint64_t state;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void too_long(int sig)
{
	ssize_t n = write(2, "hangs: ", 7);

	n += write(2, what, strlen(what));
	n += write(2, "\n", 1);
	_exit(n ? 1 : 2);
}

static inline void fuzz_begin(const char *seed)
{
	state = strtoull(seed, NULL, 0) * 2654435761u + 88172645463325252u;
	signal(SIGALRM, too_long);
}

#endif
