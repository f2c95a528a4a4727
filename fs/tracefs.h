/* SPDX-License-Identifier: GPL-2.0 */
/* Where tracefs is. */
#ifndef GT_TRACEFS_H
#define GT_TRACEFS_H

/** gt_tracefs_find() - @wanted if given, else where it is mounted; root mounts it if it is nowhere.
 * @out is "" if there is none */
void gt_tracefs_find(const char *wanted, char *out, unsigned long len);

#endif
