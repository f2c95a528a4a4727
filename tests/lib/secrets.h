/* SPDX-License-Identifier: GPL-2.0 */
/* What a test has planted, looked for in bytes. */
#ifndef GT_TEST_SECRETS_H
#define GT_TEST_SECRETS_H

#include <stddef.h>

#define GT_SECRETS 64

/**
 * gt_secrets_read() - takes what to look for from a file of lines "who kind value"
 *
 * A value that is a number is looked for as decimal word and as 4 or 8 bytes in memory, one of more
 * than 32 bits as hexadecimal word too; any other as it stands. At most GT_SECRETS.
 *
 * Return: 0, or a negative errno: -EINVAL for a value of less than four characters.
 */
int gt_secrets_read(const char *name);

/**
 * gt_secrets_in() - which of them are in @buf of @len bytes
 * @out: of @size bytes: "who:kind", each once, with commas between; "." for none
 */
void gt_secrets_in(char *out, size_t size, const char *buf, size_t len);

#endif
