/* SPDX-License-Identifier: GPL-2.0 */
/* Inode numbers and positions in directories as users see them, by a secret of the mount. */
#ifndef GT_SHOWN_H
#define GT_SHOWN_H

#include <stdint.h>
#include <sys/types.h>

/** struct gt_shown - the secret, which is another for each mount */
struct gt_shown {
	uint64_t key[2];
};

/** gt_shown_init() - a new secret; -EIO: the kernel gives no random numbers */
int gt_shown_init(struct gt_shown *s);
/** gt_shown_ino() - for the tree's @ino, always the same; 63 bits, and the root stays 1 */
ino_t gt_shown_ino(const struct gt_shown *s, ino_t ino);
/**
 * gt_shown_pos() - for position @pos of gt_tree_readdir() in directory @dir; 0 stays 0. At most three
 *	bits more than GT_POS_INDEX_BITS, so that it fits 31
 */
uint64_t gt_shown_pos(const struct gt_shown *s, ino_t dir, uint64_t pos);
/** gt_tree_pos() - the position that is shown so; of a number that never was, any */
uint64_t gt_tree_pos(const struct gt_shown *s, ino_t dir, uint64_t shown);
/** gt_siphash() - SipHash-2-4 of @n words, least significant byte first */
uint64_t gt_siphash(const uint64_t key[2], const uint64_t *word, unsigned int n);

#endif
