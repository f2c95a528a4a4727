/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process beside the daemon, for what the daemon itself is not to be able to do. It is forked
 * before the first thread, and the end of the socket between the two is the end of it.
 */
#ifndef GT_BESIDE_H
#define GT_BESIDE_H

#include <stddef.h>

#define GT_BESIDE_SOCK 3 /* descriptors of the process, which has /dev/null as the first three */
#define GT_BESIDE_KEPT 4

/**
 * gt_beside_start() - forks the process, which has nothing else open
 * @name: of the process, at most 15 bytes
 * @keep: a descriptor that is GT_BESIDE_KEPT there, or -1
 * @sock: out: this side's end of the socket; packets keep their bounds
 *
 * Return: 1 in the process, which never returns from there; 0 in the daemon; -errno with a sentence
 */
int gt_beside_start(const char *name, int keep, int *sock, char *err, size_t len);
/** gt_beside_put() - sends a packet, with descriptor @fd unless it is negative; 0 or -EPIPE */
int gt_beside_put(int sock, const void *data, size_t len, int fd);
/** gt_beside_get() - waits for a packet of @len bytes; @fd: out: the descriptor with it, or -1.
 * 0, or -EPIPE: the other side has ended */
int gt_beside_get(int sock, void *data, size_t len, int *fd);
/** gt_beside_wait() - waits until the other side has ended */
void gt_beside_wait(int sock);

#endif
