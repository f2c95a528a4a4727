/* SPDX-License-Identifier: GPL-2.0 */
/* TAP output for unit tests: ok(condition, "what"), is(got, wanted, "what"), done_testing(). */
#ifndef GT_TAP_H
#define GT_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

static inline bool __attribute__((format(printf, 2, 3))) tap_ok(bool good, const char *fmt, ...)
{
	va_list ap;

	tap_count++;
	if (!good)
		tap_failed++;
	printf("%sok %d - ", good ? "" : "not ", tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	return good;
}

#define ok(cond, ...) tap_ok(!!(cond), __VA_ARGS__)

/** is() - compares integers, and says both when they differ */
#define is(got, want, ...)                                                                         \
	do {                                                                                       \
		int64_t got_ = (int64_t)(got), want_ = (int64_t)(want);                            \
		if (!tap_ok(got_ == want_, __VA_ARGS__))                                           \
			printf("# got %" PRId64 ", wanted %" PRId64 " (%s:%d)\n", got_, want_,     \
			       __FILE__, __LINE__);                                                \
	} while (0)

/** is_str() - compares strings */
#define is_str(got, want, ...)                                                                     \
	do {                                                                                       \
		const char *got_ = (got), *want_ = (want);                                         \
		if (!tap_ok(got_ && !strcmp(got_, want_), __VA_ARGS__))                            \
			printf("# got \"%s\"\n# wanted \"%s\" (%s:%d)\n", got_ ? got_ : "(null)",  \
			       want_, __FILE__, __LINE__);                                         \
	} while (0)

static inline int done_testing(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif
